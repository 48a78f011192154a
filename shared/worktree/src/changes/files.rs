//! The files that differ from the base.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use super::{Changed, How, MAX_CHANGED};
use crate::filtered::{self, By};
use crate::find::Place;
use crate::shadow::{Said, Shadow};
use base::reason::Reason;
use base::time::Time;

/// The changed files.
pub(super) struct Found {
    pub(super) files: Vec<Changed>,
    pub(super) count: usize,
    pub(super) is_cut: bool,
}

impl Found {
    /// Leaves out what lies outside a folder: it may be the work of another task or user.
    pub(super) fn keep_below(&mut self, folder: &str) {
        let unseen = self.count - self.files.len();
        self.files.retain(|f| f.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')));
        // What was not kept may lie anywhere.
        self.is_cut |= unseen > 0;
        self.count = self.files.len();
    }
}

/// Compares the working tree with a commit, or with nothing.
///
/// What nobody touched since the task began (by the time its inode changed, which writing, renaming and unpacking all set, and no
/// program can set back) is not the task's doing, and left out.
pub(super) fn find(
    shadow: &Shadow<'_>,
    place: &Place,
    base: Option<&str>,
    started: Time,
    until: Instant,
) -> Result<Found, Reason> {
    let base = match base {
        Some(base) => base.to_owned(),
        // What the empty tree is called depends on the repository's form.
        None => shadow.run(&["hash-object", "-t", "tree", "/dev/null"], until)?.line(),
    };
    let against = |more: &[&str]| {
        let mut args = vec!["diff", "--name-status", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
        args.extend(["--no-relative", "--ignore-submodules=all"]);
        args.extend(more);
        args.extend([base.as_str(), "--"]);
        shadow.run(&args, until)
    };
    let diff = against(&[])?;
    let others = shadow.run(&["ls-files", "--others", "--exclude-standard", "-z"], until)?;
    let untouched = match pairs(&diff).any(|(how, _)| how == b"M") {
        true => filtered::untouched(shadow, place, By::Content, until)?,
        false => BTreeSet::new(),
    };
    // Such a file is as the index has it, which may differ from the base.
    let staged = if untouched.is_empty() { None } else { Some(against(&["--cached"])?) };
    let staged: BTreeSet<&[u8]> = staged.iter().flat_map(pairs).map(|(_, path)| path).collect();
    let is_same = |path: &[u8]| untouched.contains(path) && !staged.contains(path);
    // The board counts whole seconds. Of what is gone, the folder it was in tells.
    let is_older = |path: &[u8]| {
        let path = place.root.join(OsStr::from_bytes(path));
        let nearest = path.ancestors().find_map(|p| p.symlink_metadata().ok());
        nearest.is_some_and(|m| m.ctime() < started.0)
    };
    Ok(both(&diff, &others, &|path| is_same(path) || is_older(path)))
}

/// How each file differs, by git's letter, and its path.
fn pairs(diff: &Said) -> impl Iterator<Item = (&[u8], &[u8])> {
    let records = diff.records();
    let pairs: Vec<_> = records.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter()
}

/// Puts together what differs and what is not tracked.
fn both(diff: &Said, others: &Said, is_left_out: &dyn Fn(&[u8]) -> bool) -> Found {
    let mut all: BTreeMap<&[u8], How> = BTreeMap::new();
    for (letter, path) in pairs(diff) {
        let how = match letter.first() {
            Some(b'A') => How::Added,
            Some(b'D') => How::Deleted,
            _ => How::Modified,
        };
        // A file with conflicts is told of twice: as unmerged, and as it is.
        all.entry(path).and_modify(|h| *h = How::Modified).or_insert(how);
    }
    // A folder is another repository within the tree, whose files are its own.
    for path in others.records().into_iter().filter(|p| !p.ends_with(b"/")) {
        // Deleted from the index only, it is still there.
        all.entry(path).and_modify(|h| *h = How::Modified).or_insert(How::Untracked);
    }
    all.retain(|path, _| !is_left_out(path));
    let count = all.len();
    let text = |p: &[u8]| String::from_utf8_lossy(p).into_owned();
    let files = all.into_iter().take(MAX_CHANGED).map(|(p, how)| Changed { path: text(p), how });
    let mut files: Vec<_> = files.collect();
    files.sort();
    Found { files, count, is_cut: diff.is_cut || others.is_cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, is_cut: bool) -> Said {
        Said { bytes: text.as_bytes().to_vec(), is_cut }
    }

    #[test]
    fn each_file_once_by_path() {
        let diff = "M\0b\0A\0a\0D\0c\0T\0d\0U\0e\0M\0e\0D\0f\0";
        let found = both(&said(diff, false), &said("f\0new/x\0other/\0old\0", false), &|p| p == b"old");
        let got: Vec<_> = found.files.iter().map(|c| (c.path.as_str(), c.how)).collect();
        let want = [
            ("a", How::Added),
            ("b", How::Modified),
            ("c", How::Deleted),
            ("d", How::Modified),
            ("e", How::Modified),
            ("f", How::Modified),
            ("new/x", How::Untracked),
        ];
        assert_eq!((got.as_slice(), found.count, found.is_cut), (&want[..], 7, false));
    }

    #[test]
    fn what_was_cut_is_left_out_and_said() {
        for (diff, want) in [("M\0a\0M\0b", 1), ("M\0a\0M\0", 1), ("M\0a\0M", 1), ("", 0)] {
            let found = both(&said(diff, true), &said("", false), &|_| false);
            assert_eq!((found.files.len(), found.count, found.is_cut), (want, want, true), "{diff:?}");
        }
        let many: String = (0..MAX_CHANGED + 5).map(|n| format!("{n:05}\0")).collect();
        let found = both(&said("", false), &said(&many, false), &|_| false);
        assert_eq!((found.files.len(), found.count, found.is_cut), (MAX_CHANGED, MAX_CHANGED + 5, false));
    }
}
