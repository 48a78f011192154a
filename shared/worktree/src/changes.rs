//! Which files really changed since a task began: on its branch and in its working tree.

mod base_commit;
mod files;
mod packages;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::find::{self, Place};
use super::shadow::Shadow;
use super::user::User;
use base::reason::Reason;
use base::time::Time;

/// Most changed files that are kept.
pub const MAX_CHANGED: usize = 2_000;

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
    /// The files, by path, each once; the first [`MAX_CHANGED`].
    pub files: Vec<Changed>,
    /// How many there are.
    pub count: usize,
    /// There are more than could be read: the count is the least there is.
    pub is_cut: bool,
    /// The folder asked about, from the top folder on; empty where it is that. Only files in it are told of.
    #[serde(default)]
    pub below: String,
    /// What there is at the top of the tree, at most 1,000 names.
    #[serde(default)]
    pub top: Vec<String>,
    /// Names of packages, by the folder of the manifest that says so (`""` is the top folder), for every folder that a changed
    /// file lies in or below, and for others near the top.
    pub packages: BTreeMap<String, Vec<String>>,
}

/// Looks at what changed in the working tree that `path` is in, since the task that began at `started`, for at most about
/// `limit`. As with [`super::look`], nothing in the tree or the repository is written or run, submodules are not looked into,
/// and neither are other repositories within the tree.
///
/// The files of the working tree, tracked or neither tracked nor ignored, are compared with one commit of the past: the one
/// with the fewest commits up to the head among where the branch left a default branch, where it was made, and the last
/// commit before the task. So what was committed and undone again does not count, nor does what came in with a merge. On a
/// default branch itself what was pushed is the task's own all the same. A file that nobody touched since `started` is not the
/// task's. A head that is wholly part of a default branch has no commits of its own.
///
/// # Errors
/// One phrase that says why nothing is known, as from [`super::look`].
pub fn changes(path: &Path, started: Time, limit: Duration) -> Result<Changes, Reason> {
    changes_with(&super::git()?, path, Since { commits: started, touched: started }, limit)
}

/// From when on. One moment but in tests: a commit can be given any date, the time of an inode none.
#[derive(Clone, Copy)]
struct Since {
    commits: Time,
    touched: Time,
}

fn changes_with(program: &Path, path: &Path, since: Since, limit: Duration) -> Result<Changes, Reason> {
    let until = Instant::now() + limit;
    let place = find::find(path)?;
    let shadow = Shadow::make(program, &place, &User::own(), until)?;
    shadow.copy_index(&place, until)?;
    let branch = branch(&shadow, until)?;
    let head = head(&shadow, &place, branch.as_deref(), until)?;
    let base = match &head {
        Some(head) => base_commit::find(&shadow, &place, branch.as_deref(), head, since.commits, until)?,
        None => base_commit::Found::nothing(0),
    };
    let head_at = match &head {
        Some(head) => committed(&shadow, head, until)?,
        None => None,
    };
    let below = path
        .canonicalize()
        .ok()
        .and_then(|p| Some(p.strip_prefix(&place.root).ok()?.to_string_lossy().into_owned()));
    let below = below.unwrap_or_default();
    let mut found = files::find(&shadow, &place, base.commit.as_deref(), since.touched, until)?;
    if !below.is_empty() {
        found.keep_below(&below);
    }
    let packages = packages::find(&place.root, &found.files, until)?;
    Ok(Changes {
        root: place.root.to_string_lossy().into_owned(),
        branch,
        head,
        head_at,
        base: base.base,
        base_commit: base.commit,
        commits: base.commits,
        files: found.files,
        count: found.count,
        is_cut: found.is_cut,
        below,
        top: packages::top(&place.root),
        packages,
    })
}

fn branch(shadow: &Shadow<'_>, until: Instant) -> Result<Option<String>, Reason> {
    let said = shadow.ask(&["symbolic-ref", "-q", "HEAD"], until)?;
    Ok(said.map(|s| s.line()).and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned)))
}

/// The commit the head is on.
fn head(
    shadow: &Shadow<'_>,
    place: &Place,
    branch: Option<&str>,
    until: Instant,
) -> Result<Option<String>, Reason> {
    if let Some(said) = shadow.ask(&["rev-parse", "-q", "--verify", "HEAD"], until)? {
        return Ok(Some(said.line()));
    }
    // git says the same of a branch without a commit and of one whose file is damaged; all files of the latter would seem new.
    let file = branch.and_then(|b| find::beneath(&place.common, &format!("refs/heads/{b}")));
    if file.is_some() || branch.is_none() { Err("its head cannot be read".into()) } else { Ok(None) }
}

/// When a commit was made.
fn committed(shadow: &Shadow<'_>, commit: &str, until: Instant) -> Result<Option<Time>, Reason> {
    let log =
        ["log", "-1", "--no-show-signature", "--no-notes", "--no-mailmap", "--format=%ct", commit, "--"];
    Ok(shadow.run(&log, until)?.line().parse().ok().map(Time))
}

#[cfg(test)]
mod tests;
