//! The state a working tree is in, as one short value that can be kept on the board and compared with a later one: whether
//! the tree changed between two moments, and where.
//!
//! In a repository the state is the commit and the branch the head is on, and for every path that differs from that commit
//! what is staged and what stands in the tree: content, whether it can be executed, a link's target. Contents are read
//! by ourselves and whole, so that a changed file that changes again is another state. What the repository ignores is left out,
//! and so are other repositories within the tree (linked trees of other tasks, clones), but for those that `.gitmodules`
//! names: they have a state of their own, that is part of this one. Stashes are no part of it, nor is when a file was
//! written. Of a repository only the folder asked about counts.
//!
//! Where there is no repository at all, or the one above ignores the folder, it is every name below the folder, on the
//! same file system and through no link, with size, time and content; a repository in it counts as above. Which of the two
//! it was is the [`Method`]: two states of different methods are never compared. A repository that cannot be read is not
//! taken for a plain folder.
//!
//! Either the hash covers all of that or there is no state: a tree that is too large is not half looked at. Of one file
//! that is too large ([`MAX_FILE`]) or may not be read, its size, its number and the times of its content and of its inode
//! stand for the content; no program can set the last back.
//!
//! Files that a person told git to take for unchanged, or left out of a sparse tree and there all the same, count like all others.
//! git says which tracked files may differ, by size, inode and times to the second: a file rewritten in place within the
//! second it was last compared in, with the same length and a forged time, is not seen while it was the commit's own before.
//!
//! The hash tells change from no change. It does not protect against forgery: two trees can be made to have the same one.

mod drift;
mod file;
mod gather;

use std::cmp::Reverse;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use self::file::Bounds;
use self::gather::{Gather, Head};
use super::find;
use base::clip::{lossy, printable};
use base::count::things_or;
use base::hash::Fnv;
use base::named_enum::named_enum;
use base::reason::Reason;

pub use self::drift::{Drift, MAX_NAMED, drift};

/// Most bytes of a state as JSON. An event that holds one has 4 KiB.
pub const MAX_BYTES: usize = 2 << 10;
/// Most bytes of one file that are read.
pub const MAX_FILE: u64 = 16 << 20;
/// Most bytes of all files together that are read.
pub const MAX_TOTAL: u64 = 256 << 20;
/// Most files and folders that are looked at: in a repository those that differ, else all.
pub const MAX_ENTRIES: usize = 100_000;
/// Most folders within each other, without a repository.
pub const MAX_DEPTH: usize = 64;
/// Most repositories within one tree.
pub const MAX_REPOSITORIES: usize = 32;

const BOUNDS: Bounds = Bounds {
    file: MAX_FILE,
    total: MAX_TOTAL,
    entries: MAX_ENTRIES,
    depth: MAX_DEPTH,
    repositories: MAX_REPOSITORIES,
};

named_enum! {
    /// How a tree was read.
    pub enum Method {
        /// Through its repository.
        Git = "git",
        /// File by file.
        Files = "files",
    }
}

named_enum! {
    /// What stands at a path.
    pub enum Kind {
        /// A file.
        File = "file",
        /// A file that its owner may execute.
        Executable = "executable",
        /// A symbolic link.
        Link = "link",
        /// A folder.
        Folder = "folder",
        /// Nothing any more.
        Gone = "gone",
        /// Another repository; its hash is of the commit and the branch it is on.
        Repository = "repository",
        /// A pipe, a socket, a device.
        Other = "other",
    }
}

/// What counts at one path. As JSON one string, kind, hash, time and path: `file 9f2c11ab 1795230725123 src/a.rs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathState {
    /// From the top folder on. Bytes that are no UTF-8 are replaced. Untrusted.
    pub path: String,
    /// What stands there.
    pub kind: Kind,
    /// Eight hexadecimal digits of the hash of what is staged and of what stands there.
    pub hash: String,
    /// When the inode last changed, in milliseconds since the epoch. By it the paths are in order, so a path that changes
    /// comes to the front. The same for all that have no such time: 0 for folders, `i64::MAX` for what is gone and for
    /// repositories.
    pub at: i64,
}

impl PathState {
    /// What the kept paths are sorted by: the last changed first.
    fn key(&self) -> (Reverse<i64>, &str) {
        (Reverse(self.at), &self.path)
    }
}

impl From<PathState> for String {
    fn from(p: PathState) -> String {
        let at = if p.at == i64::MAX { "-".to_owned() } else { p.at.to_string() };
        format!("{} {} {at} {}", p.kind.as_str(), p.hash, p.path)
    }
}

impl TryFrom<String> for PathState {
    type Error = Reason;

    fn try_from(text: String) -> Result<PathState, Reason> {
        let mut parts = text.splitn(4, ' ');
        let mut read = || {
            let kind = Kind::named(parts.next()?)?;
            let hash = parts.next()?.to_owned();
            let at = parts.next()?;
            let at = if at == "-" { i64::MAX } else { at.parse().ok()? };
            Some(PathState { path: parts.next()?.to_owned(), kind, hash, at })
        };
        read().ok_or_else(|| "not the state of a path".into())
    }
}

/// The state of a working tree. At most [`MAX_BYTES`] as JSON. All text comes from the tree and is untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeState {
    /// How it was read.
    pub method: Method,
    /// A hash of everything that counts, behind the method's name: `git:9f2c11ab03d4e5f6`.
    pub hash: String,
    /// The top folder, without links on the way.
    pub root: String,
    /// The folder asked about, as it was asked; empty where that is the top folder.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked: String,
    /// The folder asked about, from the top folder on; empty where it is that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub below: String,
    /// The commit the head is on; `None` before the first commit, and without a repository.
    pub head: Option<String>,
    /// The branch; `None` where the head is detached, and without a repository.
    pub branch: Option<String>,
    /// How many tracked files differ from the commit; without a repository, how many files and folders there are.
    pub changed_count: usize,
    /// How many files are neither tracked nor ignored.
    pub untracked_count: usize,
    /// The paths that count, the last changed first: those that differ from the commit; without a repository, all.
    pub paths: Vec<PathState>,
    /// `paths` has all of them, not only the first. The hash covers them all either way.
    pub is_all: bool,
}

/// Looks at the state of the working tree that `path` is in, for at most about `limit`. Nothing in the tree or the repository
/// is written or run. `left_out`: files and folders that do not count, nor what is in these; absolute, without links on the way, perhaps
/// absent.
///
/// # Errors
/// One phrase that says why nothing is known: no such folder; no git, another user's, damaged, bare, too slow, as from
/// [`super::look`]; too large.
pub fn state(path: &Path, left_out: &[PathBuf], limit: Duration) -> Result<TreeState, Reason> {
    state_with(super::git(), (path, left_out), limit, BOUNDS)
}

fn state_with(
    git: Result<PathBuf, Reason>,
    (path, left_out): (&Path, &[PathBuf]),
    limit: Duration,
    bounds: Bounds,
) -> Result<TreeState, Reason> {
    let until = Instant::now() + limit;
    let place = find::search(path)?;
    let folder = path.canonicalize().map_err(|e| Reason::of("the folder cannot be opened", e))?;
    let mut found = Gather::new(git, left_out.to_vec(), until, bounds);
    if let Some(place) = place {
        let below =
            folder.strip_prefix(&place.root).map_err(|e| Reason::caused("the folder was moved", e))?;
        let below = below.to_str().ok_or("its path is not UTF-8")?;
        if let Some(head) = found.repository(&place, below, &[])? {
            return made(Method::Git, (path, &place.root, below), head, &found);
        }
    }
    found.folder(&folder)?;
    made(Method::Files, (path, &folder, ""), Head::default(), &found)
}

fn made(
    method: Method,
    (path, root, below): (&Path, &Path, &str),
    head: Head,
    found: &Gather,
) -> Result<TreeState, Reason> {
    let asked = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let text = |p: &Path| p.to_str().map(str::to_owned).ok_or("its path is not UTF-8");
    let untracked = found.entries.values().filter(|e| e.is_untracked).count();
    let mut state = TreeState {
        method,
        hash: hash(method, below, &head, found),
        root: text(root)?,
        asked: if asked == root { String::new() } else { text(&asked)? },
        below: below.to_owned(),
        head: head.commit,
        branch: head.branch,
        changed_count: found.entries.len() - untracked,
        untracked_count: untracked,
        paths: Vec::new(),
        is_all: false,
    };
    let bare = serde_json::to_string(&state)?.len();
    let room = MAX_BYTES.checked_sub(bare).ok_or("its path is too long")?;
    (state.paths, state.is_all) = kept(found, room);
    Ok(state)
}

/// The first paths, as many as there is room for, and whether those are all.
fn kept(found: &Gather, room: usize) -> (Vec<PathState>, bool) {
    let one = |(path, entry): (&Vec<u8>, &gather::Entry)| PathState {
        path: lossy(path).into_owned(),
        kind: entry.kind,
        hash: format!("{:08x}", (entry.print >> 32) ^ (entry.print & 0xffff_ffff)),
        at: entry.at,
    };
    let mut all: Vec<PathState> = found.entries.iter().map(one).collect();
    all.sort_by(|a, b| a.key().cmp(&b.key()));
    let mut used = 0;
    let fits = |p: &&PathState| {
        used += serde_json::to_string(p).map_or(usize::MAX / 2, |json| json.len() + 1);
        used <= room
    };
    let count = all.iter().take_while(fits).count();
    let is_all = count == all.len();
    all.truncate(count);
    (all, is_all)
}

fn hash(method: Method, below: &str, head: &Head, found: &Gather) -> String {
    let mut hash = Fnv::new();
    hash.part(below.as_bytes());
    for text in [&head.commit, &head.branch] {
        hash.part(text.as_deref().unwrap_or_default().as_bytes());
    }
    for (path, entry) in &found.entries {
        hash.part(path);
        hash.add(&entry.print.to_le_bytes());
        hash.part(entry.kind.as_str().as_bytes());
    }
    format!("{}:{:016x}", method.as_str(), hash.value())
}

/// The first seven digits of a commit's name.
fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// One line for a packet: `branch fix-login at 3f2a91c, 2 files changed, 1 untracked, tree git:9f2c11ab03d4e5f6`.
impl fmt::Display for TreeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changed = match self.method {
            Method::Files => things_or(self.changed_count, "file or folder", "files and folders"),
            Method::Git => {
                match &self.branch {
                    Some(branch) => write!(f, "branch {}", printable(branch))?,
                    None => write!(f, "no branch")?,
                }
                match &self.head {
                    Some(head) => write!(f, " at {}, ", printable(short(head)))?,
                    None => write!(f, " before its first commit, ")?,
                }
                things_or(self.changed_count, "file changed", "files changed")
            }
        };
        write!(f, "{changed}, ")?;
        if self.method == Method::Git {
            write!(f, "{} untracked, ", self.untracked_count)?;
        }
        write!(f, "tree {}", printable(&self.hash))
    }
}

#[cfg(test)]
mod tests;
