//! Which files an agent changed, and which it read again and again.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::Reread;
use crate::session::{MAX_FILES, Newest, push_newest, words};
use base::clip::clip;
use base::redact::redact;

/// Reads of one file without an edit in between that are worth telling, and most files told of.
const OFTEN: u64 = 3;
const MAX_REREADS: usize = 5;

/// Longest name of a file that is told, in bytes.
const MAX_NAME: usize = 400;

/// Parts of one file that are told apart: those read last.
const MAX_PARTS: usize = 16;

/// How often each part of a file was read since its last edit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Reads(VecDeque<(u64, u64)>);

impl Reads {
    /// A part is read; says how often it was.
    pub(crate) fn read(&mut self, part: u64) -> u64 {
        let known = self.0.iter().position(|(known, _)| *known == part).and_then(|at| self.0.remove(at));
        let times = known.map_or(0, |(_, times)| times) + 1;
        push_newest(&mut self.0, (part, times), MAX_PARTS);
        times
    }

    /// How often the part was read that was read most.
    pub(crate) fn most(&self) -> u64 {
        self.0.iter().map(|(_, times)| *times).max().unwrap_or_default()
    }
}

/// Edits and reads in the order they were made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Files {
    pub(crate) edits: u64,
    reads: Newest<Reads>,
}

impl Files {
    pub(crate) fn edit(&mut self, file: Option<&str>) {
        self.edits += 1;
        if let Some(file) = file {
            self.reads.take(file);
        }
    }

    pub(crate) fn read(&mut self, file: &str, part: u64) {
        self.reads.touch(file, MAX_FILES, Reads::default).map(|reads| reads.read(part));
    }

    pub(crate) fn rereads(&self) -> Vec<Reread> {
        rereads(&self.reads.to_map())
    }
}

/// The files of which a part was read most since they were last edited, fit to be shown.
pub(crate) fn rereads(reads: &BTreeMap<String, Reads>) -> Vec<Reread> {
    let mut often: Vec<(&String, u64)> =
        reads.iter().map(|(f, reads)| (f, reads.most())).filter(|(_, n)| *n >= OFTEN).collect();
    often.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    often.iter().take(MAX_REREADS).map(|(file, times)| Reread { file: shown(file), times: *times }).collect()
}

/// A name from outside without secrets and control characters, and no longer than a line can bear. More than is kept is
/// looked at, so that a key is known before it is cut.
pub(crate) fn shown(name: &str) -> String {
    clip(&redact(&words(name, 4 * MAX_NAME)), MAX_NAME).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_again_and_again_since_its_last_edit() {
        let mut files = Files::default();
        for (name, times) in [("a", 3), ("b", 9), ("c", 2), ("d", 4), ("e", 5), ("f", 6), ("g", 7)] {
            (0..times).for_each(|_| files.read(name, 0));
        }
        files.edit(Some("b"));
        files.edit(None);
        let told: Vec<_> = files.rereads().into_iter().map(|r| (r.file, r.times)).collect();
        let want = [("g", 7), ("f", 6), ("e", 5), ("d", 4), ("a", 3)].map(|(f, n)| (f.to_owned(), n));
        assert_eq!((told, files.edits), (want.to_vec(), 2));
    }

    #[test]
    fn parts_of_a_file_are_told_apart() {
        for (what, parts, most) in [
            ("one after another", (0..40).collect::<Vec<u64>>(), 1),
            ("the whole", vec![0; 9], 9),
            ("one of them again", vec![1, 2, 3, 2, 4, 2, 5], 3),
            ("more than are told apart", (0..17).chain(0..17).collect(), 1),
        ] {
            let mut files = Files::default();
            parts.iter().for_each(|part| files.read("a", *part));
            assert_eq!(files.reads.get("a").unwrap().most(), most, "{what}");
            files.edit(Some("a"));
            assert!(files.reads.get("a").is_none(), "{what}");
        }
    }

    #[test]
    fn names_are_short_and_without_secrets() {
        let key = format!("/x/sk-proj-{}", "aB3".repeat(20));
        assert!(!shown(&key).contains("aB3aB3aB3"), "{}", shown(&key));
        assert_eq!(shown(&"é".repeat(900)).len(), 400);
        assert_eq!(shown("a\n\u{1b}[31mb"), "a b");
    }
}
