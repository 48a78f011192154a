//! Where a board is stored.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where a board is stored. As text it is the path, or the address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Location {
    /// A file, as it was named or found.
    File(PathBuf),
    /// A server: the address of the board on it, which holds no password.
    Server(String),
}

/// How the address of a server begins, as libpq reads it.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

impl Location {
    /// Reads a path or an address.
    ///
    /// # Errors
    /// Why it is refused, without what it says: an address with a password, or one that is not UTF-8.
    pub fn read(text: &OsStr) -> Result<Location, &'static str> {
        if !SCHEMES.iter().any(|s| text.as_encoded_bytes().starts_with(s.as_bytes())) {
            return Ok(Location::File(text.into()));
        }
        let address = text.to_str().ok_or("is not UTF-8")?;
        let (_, rest) = address.split_once("://").unwrap_or_default();
        let (server, query) = rest.split_once('?').unwrap_or((rest, ""));
        let user = server.split('/').next().and_then(|authority| authority.rsplit_once('@'));
        let names_password = |part: &str| part.split('=').next().is_some_and(|key| key.ends_with("password"));
        if user.is_some_and(|(user, _)| user.contains(':')) || query.split('&').any(names_password) {
            return Err("holds a password, which everybody sees, as in `ps`; put it into ~/.pgpass");
        }
        Ok(Location::Server(address.to_owned()))
    }

    /// The file, where it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Location::File(path) => Some(path),
            Location::Server(_) => None,
        }
    }

    /// What names it to a program: the path, whatever bytes it has, or the address.
    pub fn as_os_str(&self) -> &OsStr {
        match self {
            Location::File(path) => path.as_os_str(),
            Location::Server(address) => OsStr::new(address),
        }
    }

    /// The folder that holds the file, where it is one.
    pub fn folder(&self) -> Option<PathBuf> {
        let parent = self.file()?.parent().filter(|p| !p.as_os_str().is_empty());
        Some(parent.map_or_else(|| PathBuf::from("."), PathBuf::from))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File(path) => path.display().fmt(f),
            Location::Server(address) => address.fmt(f),
        }
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Location {
        Location::File(path)
    }
}

impl From<&str> for Location {
    fn from(text: &str) -> Location {
        text.to_owned().into()
    }
}

impl From<String> for Location {
    fn from(text: String) -> Location {
        Location::read(OsStr::new(&text)).unwrap_or_else(|_| Location::File(text.into()))
    }
}

impl From<Location> for String {
    fn from(location: Location) -> String {
        location.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_by_its_scheme_and_holds_no_password() {
        let read = |text: &str| Location::read(OsStr::new(text));
        for file in ["/srv/kanban.db", "kanban.db", "", "postgres:/x", "./postgres://h/d"] {
            assert_eq!(read(file), Ok(Location::File(file.into())), "{file}");
        }
        for server in ["postgres://h/d", "postgresql://anna@h:5433/d?board=night", "postgres:///d?host=/run"]
        {
            assert_eq!(read(server), Ok(Location::Server(server.into())), "{server}");
        }
        for secret in
            ["postgres://a:b@h/d", "postgres://h/d?password=b", "postgres://h/d?board=x&sslpassword=b"]
        {
            let why = read(secret).unwrap_err();
            assert!(why.contains("password") && !why.contains("b@h"), "{secret}");
        }
    }

    #[test]
    fn as_text_it_comes_back() {
        for text in ["/srv/kanban.db", "postgres://h/d"] {
            let location = Location::from(text);
            let json = serde_json::to_string(&location).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Location>(&json).unwrap(), location);
        }
    }

    #[test]
    fn a_name_that_is_no_text_is_kept() {
        let odd: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"/srv/\xff.db");
        assert_eq!(Location::read(odd).unwrap().as_os_str(), odd);
        assert_eq!(Location::from("postgres://h/d").as_os_str(), "postgres://h/d");
    }

    #[test]
    fn a_file_lies_in_a_folder() {
        assert_eq!(Location::from("/a/b.db").folder(), Some("/a".into()));
        assert_eq!(Location::from("b.db").folder(), Some(".".into()));
        assert_eq!(Location::from("postgres://h/d").folder(), None);
    }
}
