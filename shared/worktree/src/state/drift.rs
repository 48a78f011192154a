//! What changed between two states of a tree, and whether the dead worker's own edits explain it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Kind, PathState, TreeState, short};
use base::clip::{clip, printable};

/// Most paths that are named.
pub const MAX_NAMED: usize = 20;

/// What became of a tree between two looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drift {
    /// Nothing changed.
    Same,
    /// Only files changed that the dead worker itself had edited.
    Own,
    /// Something else did.
    Changed {
        /// Another branch or another commit: `branch main..side`, `commit 3f2a91c..9b1c22d`.
        moved: Vec<String>,
        /// Changed paths that are not the worker's own, from the top folder on: the first [`MAX_NAMED`]. Untrusted.
        paths: Vec<String>,
        /// There may be more of them.
        more: bool,
    },
    /// The two cannot be compared, and why.
    Unknown(String),
}

/// What changed from `before` to `after`. `own` are paths the worker is known to have edited before it died, absolute or from
/// the folder it worked in or the top folder on; nothing is looked up, so links on the way to an absolute one are not followed.
///
/// A head on another branch or commit is never the worker's own: it is dead. The paths of two commits are not compared but where
/// both states have them, for a commit may take a file in as it is.
#[must_use]
pub fn drift(before: &TreeState, after: &TreeState, own: &BTreeSet<String>) -> Drift {
    if let Some(why) = incomparable(before, after) {
        return Drift::Unknown(why);
    }
    if before.hash == after.hash {
        return Drift::Same;
    }
    let moved = moved(before, after);
    let is_one_commit = before.head == after.head;
    let own = Own::new(after, own);
    let changed = changed(before, after, is_one_commit);
    let foreign: Vec<&str> = changed.iter().filter(|(p, f)| !own.has(p, **f)).map(|(p, _)| *p).collect();
    let is_all = is_one_commit && before.is_all && after.is_all;
    if is_all && moved.is_empty() && foreign.is_empty() && !changed.is_empty() {
        return Drift::Own;
    }
    // That they differ although all known paths are alike can only lie in what was not kept of them.
    let is_hidden = moved.is_empty() && foreign.is_empty();
    Drift::Changed {
        moved,
        more: !is_all || is_hidden || foreign.len() > MAX_NAMED,
        paths: foreign.into_iter().take(MAX_NAMED).map(str::to_owned).collect(),
    }
}

fn incomparable(before: &TreeState, after: &TreeState) -> Option<String> {
    let word = |s: &TreeState| s.method.as_str();
    let is_odd = |s: &TreeState| s.hash.strip_prefix(word(s)).and_then(|h| h.strip_prefix(':')).is_none();
    if before.method != after.method {
        Some(format!("the tree was read by {} before and by {} now", word(before), word(after)))
    } else if is_odd(before) || is_odd(after) {
        Some("the tree's hash is of another method".into())
    } else if (&before.root, &before.below) != (&after.root, &after.below) {
        Some("the tree is another folder now".into())
    } else {
        None
    }
}

fn moved(before: &TreeState, after: &TreeState) -> Vec<String> {
    let branch = |s: &TreeState| s.branch.as_deref().map_or("none".into(), printable);
    let commit = |s: &TreeState| s.head.as_deref().map_or("none".into(), |c| printable(short(c)));
    let mut moved = Vec::new();
    if before.branch != after.branch {
        moved.push(format!("branch {}..{}", branch(before), branch(after)));
    }
    if before.head != after.head {
        moved.push(format!("commit {}..{}", commit(before), commit(after)));
    }
    moved
}

/// The paths that differ as far as the lists tell, and whether nothing but a folder stood or stands there.
///
/// A list that is not all begins with what changed last. So it has every path with a key before that of its end, and a path of
/// the other list with such a key that it has not, or has otherwise, changed.
fn changed<'a>(before: &'a TreeState, after: &'a TreeState, is_one_commit: bool) -> BTreeMap<&'a str, bool> {
    let mut differing: BTreeMap<&str, bool> = BTreeMap::new();
    for (from, other) in [(before, after), (after, before)] {
        let is_told = |p: &PathState| other.is_all || other.paths.last().is_some_and(|l| p.key() <= l.key());
        let theirs: BTreeSet<(&str, Kind, &str)> = other.paths.iter().map(what).collect();
        let names: BTreeSet<&str> = other.paths.iter().map(|p| p.path.as_str()).collect();
        for path in &from.paths {
            let name = path.path.as_str();
            // Of two commits one may have it as the tree has it.
            let is_due = names.contains(name) || is_one_commit && is_told(path);
            let is_other = is_due && !theirs.contains(&what(path));
            if is_other {
                let is_folder = path.kind == Kind::Folder;
                differing.entry(name).and_modify(|all| *all &= is_folder).or_insert(is_folder);
            }
        }
    }
    differing
}

fn what(path: &PathState) -> (&str, Kind, &str) {
    (&path.path, path.kind, &path.hash)
}

/// The worker's own paths, from the top folder on.
struct Own {
    files: BTreeSet<String>,
    /// All folders above them.
    folders: BTreeSet<String>,
}

impl Own {
    fn new(state: &TreeState, own: &BTreeSet<String>) -> Own {
        let mut all = BTreeSet::new();
        for path in own {
            if !path.starts_with('/') {
                all.extend(plain("", path));
                all.extend(plain(&state.below, path));
                continue;
            }
            all.extend(within(&state.root, path).and_then(|p| plain("", &p)));
            if !state.asked.is_empty() {
                all.extend(within(&state.asked, path).and_then(|p| plain(&state.below, &p)));
            }
        }
        let above = |p: &String| -> Vec<String> {
            p.match_indices('/').filter_map(|(end, _)| p.get(..end).map(str::to_owned)).collect()
        };
        let folders = all.iter().flat_map(above).collect();
        Own { files: all, folders }
    }

    /// A path with bytes that were replaced may be any of several, so it is nobody's. Who wrote a file made its folders.
    fn has(&self, path: &str, is_folder: bool) -> bool {
        let is_own = self.files.contains(path) || is_folder && self.folders.contains(path);
        is_own && !path.contains('\u{fffd}')
    }
}

/// An absolute path from a folder on.
fn within(folder: &str, path: &str) -> Option<String> {
    let (folder, path) = (plain("", folder)?, plain("", path)?);
    if folder.is_empty() {
        return Some(path);
    }
    path.strip_prefix(&folder)?.strip_prefix('/').map(str::to_owned)
}

/// A path without `.`, `..` and doubled slashes; `None` where it leads out of where it begins.
fn plain(below: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in below.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// One line: `branch main..side; changed: a, src/b.rs; perhaps more`.
impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Drift::Same => write!(f, "the tree is unchanged"),
            Drift::Own => write!(f, "only files changed that the worker had edited"),
            Drift::Unknown(why) => write!(f, "not known whether the tree changed: {}", printable(why)),
            Drift::Changed { moved, paths, more } => {
                let mut parts: Vec<String> = moved.iter().map(|m| printable(m)).collect();
                if !paths.is_empty() {
                    let named: Vec<String> =
                        paths.iter().map(|p| clip(&printable(p), 200).to_owned()).collect();
                    parts.push(format!("changed: {}", named.join(", ")));
                }
                if *more {
                    parts.push(if paths.is_empty() { "paths unknown" } else { "perhaps more" }.to_owned());
                }
                write!(f, "{}", parts.join("; "))
            }
        }
    }
}

#[cfg(test)]
mod tests;
