//! Reading what git says (`git-status(1)`, porcelain format 2 with `-z`).

use std::collections::BTreeSet;

use super::shadow::Said;
use base::reason::Reason;

use super::{MAX_DIRTY, MAX_STASHES, Tree};

/// Takes in branch, commit and changes, but for files that are known to be as git wrote them.
pub(super) fn status(said: &Said, untouched: &BTreeSet<Vec<u8>>, tree: &mut Tree) -> Result<(), Reason> {
    tree.is_cut = said.is_cut;
    let mut head = false;
    for record in said.records() {
        if unstaged(record).is_some_and(|path| untouched.contains(path)) {
            continue;
        }
        let text = String::from_utf8_lossy(record);
        let (kind, rest) = text.split_once(' ').unwrap_or((&text, ""));
        match kind {
            "#" => head |= header(rest, tree),
            "1" => changed(rest, 7, tree),
            "2" => changed(rest, 8, tree),
            "u" => changed(rest, 9, tree),
            "?" => tree.untracked_count += 1,
            _ => {}
        }
    }
    if head { Ok(()) } else { Err("git says nothing of the head".into()) }
}

/// The path of a file whose change is not staged.
pub(super) fn unstaged(record: &[u8]) -> Option<&[u8]> {
    record.strip_prefix(b"1 .M ")?.splitn(7, |b| *b == b' ').nth(6)
}

/// One fact about the head; whether it was which commit it is on.
fn header(fact: &str, tree: &mut Tree) -> bool {
    match fact.split_once(' ') {
        Some(("branch.oid", oid)) => {
            tree.commit = (oid != "(initial)").then(|| oid.to_owned());
            return true;
        }
        Some(("branch.head", name)) => tree.branch = (name != "(detached)").then(|| name.to_owned()),
        Some(("branch.ab", counts)) => {
            tree.ahead =
                counts.split(' ').next().and_then(|n| n.strip_prefix('+')).and_then(|n| n.parse().ok());
        }
        _ => {}
    }
    false
}

/// A changed file, whose path stands behind so many other fields.
fn changed(record: &str, fields: usize, tree: &mut Tree) {
    tree.dirty_count += 1;
    if let Some(path) = record.splitn(fields + 1, ' ').nth(fields).filter(|_| tree.dirty.len() < MAX_DIRTY) {
        tree.dirty.push(path.to_owned());
    }
}

/// Takes in the stashes, one a record.
pub(super) fn stashes(said: &Said, tree: &mut Tree) {
    let all: Vec<&[u8]> = said.bytes.split(|b| *b == 0).filter(|r| !r.is_empty()).collect();
    tree.stash_count = all.len();
    tree.stashes =
        all.into_iter().take(MAX_STASHES).map(|r| String::from_utf8_lossy(r).trim().to_owned()).collect();
}
