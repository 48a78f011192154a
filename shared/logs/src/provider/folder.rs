//! The profiles of a Hermes root, as its folder has them.

use std::fs::DirEntry;
use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::io::Errno;

use base::names::is_profile;
use base::reason::Reason;

/// The folder of the profiles, in that of Hermes.
pub const PROFILES: &str = "profiles";

/// The profiles that exist; a Hermes of one profile has none but `default`, the root itself.
///
/// # Errors
/// They cannot be listed, be it one of them: of a list with a gap nobody knows what is missing.
pub fn list(root: &Path) -> Result<Vec<String>, Reason> {
    let entries = match std::fs::read_dir(root.join(PROFILES)) {
        Ok(entries) => Some(entries),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(e.into()),
    };
    let mut names = Vec::new();
    for entry in entries.into_iter().flatten() {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().filter(|name| is_profile(name));
        if let Some(name) = name
            && is_folder(&entry).map_err(|e| Reason::of(&name, e))?
        {
            names.push(name);
        }
    }
    names.sort();
    // Without its settings there is no Hermes here at all.
    if names.is_empty() && root.join("config.yaml").is_file() {
        names.push("default".into());
    }
    Ok(names)
}

/// Whether an entry is a folder, or a link to one.
fn is_folder(entry: &DirEntry) -> io::Result<bool> {
    let kind = entry.file_type()?;
    if !kind.is_symlink() {
        return Ok(kind.is_dir());
    }
    match std::fs::metadata(entry.path()) {
        Ok(meta) => Ok(meta.is_dir()),
        Err(e) if leads_nowhere(&e) => Ok(false),
        Err(e) => Err(e),
    }
}

fn leads_nowhere(e: &io::Error) -> bool {
    matches!(Errno::from_io_error(e), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn profiles_are_what_hermes_takes_for_profiles() {
        let dir = tempfile::tempdir().unwrap();
        let profiles = || list(dir.path()).unwrap();
        assert_eq!(profiles(), [""; 0], "no Hermes is here");
        std::fs::write(dir.path().join("config.yaml"), "").unwrap();
        assert_eq!(profiles(), ["default"]);
        let folder = dir.path().join(PROFILES);
        for name in ["luna", ".git", "__pycache__", "luna.bak", "a b", "Nova"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        assert_eq!(profiles(), ["luna"]);
        std::fs::write(folder.join("file"), "").unwrap();
        for (to, name) in [("luna", "sol"), ("none", "gone"), ("loop", "loop"), ("file/x", "through")] {
            symlink(to, folder.join(name)).unwrap();
        }
        assert_eq!(profiles(), ["luna", "sol"]);
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_not_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(PROFILES), "").unwrap();
        assert_eq!(list(dir.path()), Err("Not a directory (os error 20)".into()));
    }
}
