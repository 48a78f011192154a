//! The user's own list of files that git ignores in every repository (`gitignore(5)`).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Instant;

use super::shadow::Shadow;

/// What git finds the user's configuration by.
const VARIABLES: [&str; 3] = ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"];

/// Where the user's configuration of git is. The default is that of a user without one.
#[derive(Default)]
pub(super) struct User(pub(super) Vec<(&'static str, OsString)>);

impl User {
    /// By the variables of this process.
    pub(super) fn own() -> User {
        User(VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect())
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_os_str())
    }

    fn folder(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The list: what the user's configuration names, else the file that git looks for without it. Nothing else of that
    /// configuration is read, and a damaged one names no list.
    pub(super) fn ignored(&self, shadow: &Shadow<'_>, until: Instant) -> Option<PathBuf> {
        if self.0.is_empty() {
            return None;
        }
        let get = ["config", "--global", "--includes", "--type=path", "--get", "core.excludesFile"];
        let variables = VARIABLES.into_iter().map(|name| (name, self.variable(name)));
        if let Ok(Some(mut said)) = shadow.ask_with(&get, variables, until) {
            said.bytes.pop_if(|end| *end == b'\n');
            return Some(PathBuf::from(OsString::from_vec(said.bytes)))
                .filter(|p| p.as_os_str() != OsStr::new(""));
        }
        let usual = self.folder("XDG_CONFIG_HOME").or_else(|| Some(self.folder("HOME")?.join(".config")));
        Some(usual?.join("git/ignore"))
    }
}
