//! What is true of a working tree: branch, commit, changes, stashes. Read through the `git` program, and never a reason
//! for it to start another.
//!
//! A repository names programs that git runs while it only looks: `core.fsmonitor`, filters, external diffs, a helper
//! that fetches what a partial clone lacks. A watcher looks into folders in which agents write, so the repository's own
//! configuration is never in force here. git is given a folder of Watchbill instead, with links to the repository's objects,
//! references and index, and a configuration of a few harmless keys copied from the repository's (`shadow.rs`). Switching
//! the known keys off one by one (`-c core.fsmonitor=false ...`) would leave the next one on, and a filter that is
//! written between looking and reading. What the user's and the system's configuration say is not in force either, but
//! for the user's list of ignored files (`user.rs`).
//!
//! A repository that belongs to another user is not looked at, as git itself refuses it: `safe.directory` would only
//! switch that off. The time limit is for git; opening the few files that say where the repository is has none.

pub mod changes;
mod filtered;
mod find;
mod read;
mod shadow;
pub mod state;
mod user;

use filtered::By;
pub use shadow::Late;
use user::User;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use base::reason::Reason;
use base::time::Time;

/// Most paths of changed files that are kept.
pub const MAX_DIRTY: usize = 50;
/// Most stashes whose names are kept.
pub const MAX_STASHES: usize = 3;

/// Where git is looked for. The caller's own `PATH` is not used: cron has a short one, and an agent's may begin with a
/// folder it can write to.
const PLACES: [&str; 6] = [
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/run/current-system/sw/bin",
    "/opt/homebrew/bin",
    "/opt/local/bin",
];

/// What changes together with a folder: the top folder of its working tree, or the folder itself where it is in none. Links are
/// followed; a folder that cannot be looked at is named as it was given.
pub fn top_of(folder: &Path) -> PathBuf {
    match find::search(folder) {
        Ok(Some(place)) => place.root,
        _ => folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
    }
}

/// A working tree. All text comes from the repository and is untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// The top folder.
    pub root: PathBuf,
    /// The branch; `None` where the head is detached.
    pub branch: Option<String>,
    /// The commit the head is on; `None` before the first commit.
    pub commit: Option<String>,
    /// The first line of that commit's message.
    pub subject: Option<String>,
    /// When that commit was made, by its committer's clock.
    #[serde(default)]
    pub committed: Option<Time>,
    /// Paths of tracked files that differ from the commit, staged or not, from the top folder on: the first
    /// [`MAX_DIRTY`]. Bytes that are no UTF-8 are replaced.
    pub dirty: Vec<String>,
    /// How many tracked files differ.
    pub dirty_count: usize,
    /// How many files or whole folders are neither tracked nor ignored by the repository.
    pub untracked_count: usize,
    /// There are more changes than could be read (1 MiB of paths): the counts are the least there are.
    #[serde(default)]
    pub is_cut: bool,
    /// The newest stashes, newest first: `stash@{0}: WIP on main: ...`, at most [`MAX_STASHES`].
    pub stashes: Vec<String>,
    /// How many stashes there are.
    pub stash_count: usize,
    /// Commits that the branch's upstream does not have; `None` without an upstream.
    pub ahead: Option<u32>,
    /// What was begun and not finished: `merge`, `rebase`, `cherry-pick`, `revert` or `bisect`.
    #[serde(default)]
    pub under_way: Option<String>,
}

/// Looks at the working tree that `path` is in, for at most about `limit`. Submodules are not looked into. Nothing in the
/// tree or the repository is written or run.
///
/// # Errors
/// One phrase that says why nothing is known: no such folder, not a git repository, another user's, no git, too slow,
/// damaged.
pub fn look(path: &Path, limit: Duration) -> Result<Tree, Reason> {
    look_with(&git()?, path, limit)
}

/// The `git` program.
pub fn git() -> Result<PathBuf, Reason> {
    let mut all = PLACES.iter().map(|p| Path::new(p).join("git"));
    all.find(|p| p.is_file()).ok_or_else(|| "git is not installed".into())
}

fn look_with(program: &Path, path: &Path, limit: Duration) -> Result<Tree, Reason> {
    let until = Instant::now() + limit;
    let place = find::find(path)?;
    let shadow = shadow::Shadow::make(program, &place, &User::own(), until)?;
    let mut tree = Tree { root: place.root.clone(), under_way: place.under_way(), ..Tree::default() };
    let status = shadow.run(
        &[
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=normal",
            "--no-renames",
            "--ignore-submodules=all",
        ],
        until,
    )?;
    let untouched = match status.records().into_iter().any(|r| read::unstaged(r).is_some()) {
        true => filtered::untouched(&shadow, &place, By::Content, until)?,
        false => BTreeSet::new(),
    };
    read::status(&status, &untouched, &mut tree)?;
    if tree.commit.is_some() {
        let log = shadow.run(
            &["log", "-1", "--no-show-signature", "--no-notes", "--no-mailmap", "--format=%ct %s", "HEAD"],
            until,
        )?;
        let text = String::from_utf8_lossy(&log.bytes);
        let (at, subject) = text.trim_end().split_once(' ').unwrap_or((text.trim_end(), ""));
        (tree.committed, tree.subject) = (at.parse().ok().map(Time), Some(subject.to_owned()));
    }
    let stashes = [
        "log",
        "--ignore-missing",
        "-g",
        "-z",
        "--no-show-signature",
        "--no-mailmap",
        "--format=%gd: %gs",
        "refs/stash",
        "--",
    ];
    read::stashes(&shadow.run(&stashes, until)?, &mut tree);
    Ok(tree)
}

#[cfg(test)]
mod tests;
