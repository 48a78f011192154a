//! Which files an agent changed, and which it read again and again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Reread;
use crate::session::{MAX_FILES, Newest, words};
use base::clip::clip;
use base::redact::redact;

/// Reads of one file without an edit in between that are worth telling, and most files told of.
const OFTEN: u64 = 3;
const MAX_REREADS: usize = 5;

/// Longest name of a file that is told, in bytes.
const MAX_NAME: usize = 400;

/// Edits and reads in the order they were made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Files {
    pub(crate) edits: u64,
    reads: Newest<u64>,
}

impl Files {
    pub(crate) fn edit(&mut self, file: Option<&str>) {
        self.edits += 1;
        if let Some(file) = file {
            self.reads.take(file);
        }
    }

    pub(crate) fn read(&mut self, file: &str) {
        self.reads.touch(file, MAX_FILES, || 0).into_iter().for_each(|n| *n += 1);
    }

    pub(crate) fn rereads(&self) -> Vec<Reread> {
        rereads(&self.reads.to_map())
    }
}

/// The files read most since they were last edited, fit to be shown.
pub(crate) fn rereads(reads: &BTreeMap<String, u64>) -> Vec<Reread> {
    let mut often: Vec<(&String, u64)> =
        reads.iter().map(|(f, n)| (f, *n)).filter(|(_, n)| *n >= OFTEN).collect();
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
            (0..times).for_each(|_| files.read(name));
        }
        files.edit(Some("b"));
        files.edit(None);
        let told: Vec<_> = files.rereads().into_iter().map(|r| (r.file, r.times)).collect();
        let want = [("g", 7), ("f", 6), ("e", 5), ("d", 4), ("a", 3)].map(|(f, n)| (f.to_owned(), n));
        assert_eq!((told, files.edits), (want.to_vec(), 2));
    }

    #[test]
    fn names_are_short_and_without_secrets() {
        let key = format!("/x/sk-proj-{}", "aB3".repeat(20));
        assert!(!shown(&key).contains("aB3aB3aB3"), "{}", shown(&key));
        assert_eq!(shown(&"é".repeat(900)).len(), 400);
        assert_eq!(shown("a\n\u{1b}[31mb"), "a b");
    }
}
