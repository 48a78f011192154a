//! The user's own list of files that git ignores in every repository (`gitignore(5)`).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// What git finds the user's configuration by.
const VARIABLES: [&str; 3] = ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"];

/// What git is asked for the list that the user's configuration names. Nothing else of that configuration is read, and a damaged one names
/// none.
pub(super) const LIST: [&str; 6] =
    ["config", "--global", "--includes", "--type=path", "--get", "core.excludesFile"];

/// Where the user's configuration of git is. The default is that of a user without one.
#[derive(Default)]
pub(super) struct User(pub(super) Vec<(&'static str, OsString)>);

impl User {
    /// By the variables of this process.
    pub(super) fn own() -> User {
        User(VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect())
    }

    /// Whether nothing tells where the configuration is.
    pub(super) fn is_nobody(&self) -> bool {
        self.0.is_empty()
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_os_str())
    }

    fn folder(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The variables that a question about the user's configuration is asked with.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, Option<&OsStr>)> {
        VARIABLES.into_iter().map(|name| (name, self.variable(name)))
    }

    /// The list: what git said to [`LIST`], else the file that it looks for without it.
    pub(super) fn ignored(&self, said: Option<Vec<u8>>) -> Option<PathBuf> {
        if let Some(mut said) = said {
            said.pop_if(|end| *end == b'\n');
            return Some(PathBuf::from(OsString::from_vec(said))).filter(|p| p.as_os_str() != OsStr::new(""));
        }
        let usual = self.folder("XDG_CONFIG_HOME").or_else(|| Some(self.folder("HOME")?.join(".config")));
        Some(usual?.join("git/ignore"))
    }
}
