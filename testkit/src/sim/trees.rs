//! Working trees: what stands in them, who writes into them, and what a look at one tells.

use std::collections::BTreeMap;

use shared::base::reason::Reason;
use shared::worktree::state::{Kind, Method, PathState, TreeState};

use super::Sim;
use super::truth::Truth;

/// Most files that differ from the commit; an event that notes a tree has room for so many names.
const MAX_FILES: usize = 12;

/// A folder in which tasks are worked on.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    /// Files that differ from the commit: what they hold, and when that was written, counted up.
    files: BTreeMap<String, (u64, i64)>,
    commit: u64,
    writes: i64,
    /// There is no repository any more.
    is_plain: bool,
    /// Why nobody can look at it: git refuses, hangs, is not there.
    refuses: Option<&'static str>,
}

impl Tree {
    /// A worker or a user writes a file.
    pub(super) fn write(&mut self, path: &str) {
        self.writes += 1;
        if self.files.len() >= MAX_FILES && !self.files.contains_key(path) {
            self.commit();
        }
        let now = self.files.get(path).map_or(0, |(text, _)| *text);
        self.files.insert(path.to_owned(), (now + 1, self.writes));
    }

    fn commit(&mut self) {
        self.commit += 1;
        self.files.clear();
    }

    /// What a look at it tells.
    fn state(&self, folder: &str) -> Result<TreeState, Reason> {
        if let Some(why) = self.refuses {
            return Err(why.into());
        }
        let method = if self.is_plain { Method::Files } else { Method::Git };
        let path = |(path, (text, at)): (&String, &(u64, i64))| PathState {
            path: path.clone(),
            kind: Kind::File,
            hash: format!("{text:08x}"),
            at: *at,
        };
        let mut paths: Vec<PathState> = self.files.iter().map(path).collect();
        paths.sort_by_key(|p| std::cmp::Reverse(p.at));
        // Without a repository a commit changes nothing.
        let head = (!self.is_plain).then(|| format!("{:07x}", self.commit));
        let all = format!("{:?} {:?} {:?}", method, head, self.files);
        let print = all.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Ok(TreeState {
            method,
            hash: format!("{}:{print:016x}", method.as_str()),
            root: folder.to_owned(),
            asked: String::new(),
            below: String::new(),
            head,
            branch: (!self.is_plain).then(|| "main".to_owned()),
            changed_count: paths.len(),
            untracked_count: 0,
            paths,
            is_all: true,
        })
    }
}

/// The state of a folder's tree, as any pass would see it now.
///
/// # Errors
/// Why it is not known.
pub(super) fn state(truth: &Truth, folder: &str) -> Result<TreeState, Reason> {
    truth.trees.get(folder).ok_or("no such folder")?.state(folder)
}

/// A user changes a tree, not a worker. The task of a dead worker may still wait there.
pub(super) fn strike(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    let folders: Vec<String> = truth.trees.keys().cloned().collect();
    let Some(folder) = truth.more.pick(&folders).cloned() else { return };
    let (way, file) = (truth.more.below(12), truth.more.below(4));
    let Some(tree) = truth.trees.get_mut(&folder) else { return };
    match way {
        0..=4 => tree.write(&format!("notes/{file}")),
        // A file that a worker may have written too.
        5 | 6 => tree.write(&format!("src/{file}")),
        7 => tree.commit(),
        8 => tree.refuses = Some("git is not installed"),
        9 => tree.refuses = Some("took longer than 2 s"),
        10 => tree.refuses = None,
        _ => tree.is_plain ^= true,
    }
    truth.tell(|| format!("somebody is at {folder}, way {way}"));
}
