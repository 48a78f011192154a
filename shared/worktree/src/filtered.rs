//! Files whose content git compares only through a program (Git LFS, git-crypt). No such program is run here, so git takes
//! each of them for changed whose content it looks at. What the index notes about a file when git writes it tells instead.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use super::find::Place;
use super::shadow::Shadow;
use base::reason::Reason;

/// Asks for tracked files that differ from the index and that have a filter, whatever its name, with what the index notes.
const DIFFERENT: [&str; 8] = [
    "--no-literal-pathspecs",
    "ls-files",
    "--modified",
    "--debug",
    "-z",
    "--",
    ":(exclude,attr:!filter)",
    ":(exclude,attr:-filter)",
];

/// What of a file is compared with the index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Its size and when it was written: a copied tree has both.
    Content,
    /// Also which file it is, and when that changed.
    All,
}

/// The files with a filter that differ in content from the index, but not in what git noted of them when it wrote them. The
/// index given to git is a new copy after this.
pub(super) fn untouched(
    shadow: &Shadow<'_>,
    place: &Place,
    by: By,
    until: Instant,
) -> Result<BTreeSet<Vec<u8>>, Reason> {
    // git may have changed its notes in the one that it was given.
    shadow.copy_index(place, until)?;
    let said = shadow.run(&DIFFERENT, until)?;
    if said.is_cut {
        return Err("more files with a filter than can be compared".into());
    }
    // The notes stand behind the end of the path that they are about, and the next path behind them.
    let mut found = BTreeSet::new();
    let mut path: &[u8] = &[];
    for piece in said.bytes.split(|b| *b == 0) {
        let notes = piece.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(4).map(|(at, _)| at + 1);
        let (notes, next) = piece.split_at(if path.is_empty() { 0 } else { notes.unwrap_or(0) });
        let file = place.root.join(OsStr::from_bytes(path));
        if !path.is_empty() && file.symlink_metadata().is_ok_and(|meta| is_noted(notes, &meta, by)) {
            found.insert(path.to_vec());
        }
        path = next;
    }
    Ok(found)
}

/// Whether a file is as the notes say (`git ls-files --debug`).
fn is_noted(notes: &[u8], meta: &Metadata, by: By) -> bool {
    let text = String::from_utf8_lossy(notes);
    let mut words = text.split_ascii_whitespace();
    let mut values = BTreeMap::new();
    while let Some(key) = words.next() {
        values.insert(key, words.next().unwrap_or_default());
    }
    let number = |key: &str| values.get(key).and_then(|v| v.parse::<u32>().ok());
    // The index has room for 32 bits of each. Some writers and file systems know no part of a second.
    let is_at = |key: &str, second: i64, part: i64| {
        let noted = values.get(key).and_then(|v| v.split_once(':'));
        let noted = noted.and_then(|(s, p)| Some((s.parse::<u32>().ok()?, p.parse::<i64>().ok()?)));
        noted.is_some_and(|(s, p)| s == second as u32 && (p == part || p == 0 || part == 0))
    };
    let is_written = is_at("mtime:", meta.mtime(), meta.mtime_nsec());
    let is_content = number("size:") == Some(meta.len() as u32) && is_written;
    let is_file = || number("ino:") == Some(meta.ino() as u32);
    is_content && (by == By::Content || is_file() && is_at("ctime:", meta.ctime(), meta.ctime_nsec()))
}
