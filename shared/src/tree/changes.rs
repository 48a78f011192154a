//! Which files really changed since a task began: on its branch and in its working tree.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// Most changed files that are kept.
pub const MOST_CHANGED: usize = 2_000;

/// How a file changed, seen from the base. A renamed file is one deleted and one added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It was not there.
    Added,
    /// Its content, mode or kind is another.
    Modified,
    /// It is gone.
    Deleted,
    /// It is there, and neither tracked nor ignored.
    Untracked,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Changed {
    /// From the top folder on. Bytes that are no UTF-8 are replaced. Untrusted.
    pub path: String,
    /// How.
    pub how: How,
}

/// What the changes are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// Where the branch left the default branch.
    Fork,
    /// Where the branch was made.
    Created,
    /// The last commit before the task's first attempt.
    Start,
    /// Nothing was committed before.
    Nothing,
}

/// What changed in one working tree. All text comes from the repository and is untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The top folder.
    pub root: String,
    /// The branch; `None` where the head is detached.
    pub branch: Option<String>,
    /// The commit the head is on; `None` before the first commit.
    pub head: Option<String>,
    /// When that was committed.
    pub head_at: Option<Time>,
    /// What it is compared with.
    pub base: Base,
    /// That commit; `None` for [`Base::Nothing`].
    pub base_commit: Option<String>,
    /// Commits since the base.
    pub commits: u64,
    /// The files, by path, each once; the first [`MOST_CHANGED`].
    pub files: Vec<Changed>,
    /// How many there are.
    pub count: usize,
    /// There are more than could be read: the count is the least there is.
    pub is_cut: bool,
    /// Names of packages, by the folder of the manifest that says so (`""` is the top folder), for every folder that a changed
    /// file lies in or below.
    pub packages: BTreeMap<String, Vec<String>>,
}
