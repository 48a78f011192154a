//! Containers that stay small whatever a log holds.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::hermes::skip_escape;
use base::clip::{clip, clip_words};
use base::hash::fnv;
use base::redact::{redact, visible};

/// Adds to the newest `most`.
pub(crate) fn push_newest<T>(all: &mut VecDeque<T>, one: T, most: usize) {
    all.push_back(one);
    while all.len() > most {
        all.pop_front();
    }
}

/// A map of the `most` keys touched last. Longer keys than [`MAX_KEY`] are not taken: cut ones would be mixed up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Newest<V>(VecDeque<(String, V)>);

/// In bytes. Ids are far shorter, and so are the paths of source files.
const MAX_KEY: usize = 1024;

impl<V> Default for Newest<V> {
    fn default() -> Newest<V> {
        Newest(VecDeque::new())
    }
}

impl<V> Newest<V> {
    /// The value of `key`, which becomes the newest; a new one where there was none.
    pub(crate) fn touch(&mut self, key: &str, most: usize, new: impl FnOnce() -> V) -> Option<&mut V> {
        if key.is_empty() || key.len() > MAX_KEY {
            return None;
        }
        let key = kept(key);
        let value = self.taken(&key).unwrap_or_else(new);
        push_newest(&mut self.0, (key.into_owned(), value), most);
        self.0.back_mut().map(|(_, v)| v)
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<V> {
        self.taken(&kept(key))
    }

    fn taken(&mut self, key: &str) -> Option<V> {
        // What is asked for was nearly always touched just before.
        let place = self.0.iter().rposition(|(k, _)| k == key)?;
        self.0.remove(place).map(|(_, v)| v)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        let key = kept(key);
        self.0.iter_mut().rev().find(|(k, _)| *k == key).map(|(_, v)| v)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&V> {
        let key = kept(key);
        self.0.iter().rev().find(|(k, _)| *k == key).map(|(_, v)| v)
    }

    pub(crate) fn holds(&self, key: &str) -> bool {
        let key = kept(key);
        self.0.iter().rev().any(|(k, _)| *k == key)
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// The values, oldest first.
    pub(crate) fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.0.iter().map(|(_, v)| v)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, v)| v)
    }

    /// The keys, oldest first.
    pub(crate) fn keys(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().map(|(k, _)| told(k))
    }
}

impl<V: Clone> Newest<V> {
    /// So many of the keys touched last.
    pub(crate) fn newest(&self, most: usize) -> BTreeMap<String, V> {
        self.0.iter().rev().take(most).map(|(k, v)| (told(k).to_owned(), v.clone())).collect()
    }

    pub(crate) fn to_map(&self) -> BTreeMap<String, V> {
        self.0.iter().map(|(k, v)| (told(k).to_owned(), v.clone())).collect()
    }
}

/// Stands between a key that was redacted and the hash of all of it.
const REDACTED: char = '\u{1f}';

/// A key as it is kept: a secret in it gives way to a hash, so that no two keys become one.
fn kept(key: &str) -> Cow<'_, str> {
    match redact(key) {
        Cow::Owned(clean) if clean != visible(key) => {
            format!("{clean}{REDACTED}{:x}", fnv(key.bytes())).into()
        }
        _ => Cow::Borrowed(key),
    }
}

/// The key without the hash.
fn told(kept: &str) -> &str {
    kept.split_once(REDACTED).map_or(kept, |(clean, _)| clean)
}

/// Marks of texts, those that were new last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Marks(VecDeque<u64>);

impl Marks {
    /// Whether a text is not among the `most` that were new last; if so, it is added to them. An empty text is always new.
    pub(crate) fn is_new(&mut self, text: &str, most: usize) -> bool {
        let mark = fnv(text.bytes());
        let is_known = !text.is_empty() && self.0.contains(&mark);
        if !is_known {
            push_newest(&mut self.0, mark, most);
        }
        !is_known
    }
}

/// Equal things in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    mark: u64,
    length: u64,
    /// The longest run so far.
    pub(crate) longest: u64,
}

impl Run {
    pub(crate) fn next(&mut self, mark: u64) {
        self.length = if self.mark == mark { self.length + 1 } else { 1 };
        self.mark = mark;
        self.longest = self.longest.max(self.length);
    }
}

/// Tells two things apart that have two parts each.
pub(crate) fn mark(parts: [&[u8]; 2]) -> u64 {
    fnv(parts.into_iter().flat_map(|part| part.iter().copied().chain([0xff])))
}

/// A text as evidence: without terminal escapes and control characters, at most `most` bytes.
pub(crate) fn words(text: &str, most: usize) -> String {
    let mut out = String::new();
    // Escapes only make it shorter; twice as much is read so that a coloured line is not cut to nothing.
    let mut chars = clip(text, most.saturating_mul(2)).trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            c if c.is_control() && c != '\u{7}' => out.push(' '),
            '\u{7}' => {}
            c => out.push(c),
        }
    }
    // Looked through for secrets when it is shown; a key cut in two would not be known as one by then.
    clip_words(&out, most).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_carry_no_escapes() {
        for (text, want) in [
            ("  plain \n", "plain"),
            ("\u{1b}[31mred\u{1b}[0m line\nnext", "red line next"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{7}", "link"),
            ("\u{1b}]0;title\u{7}said", "said"),
        ] {
            assert_eq!(words(text, 400), want);
        }
        assert_eq!(words("ééé", 5), "éé");
    }

    #[test]
    fn only_the_newest_stay() {
        let mut all = Newest::default();
        for key in ["a", "b", "a", "c"] {
            *all.touch(key, 2, || 0).unwrap() += 1;
        }
        assert_eq!(all.to_map(), BTreeMap::from([("a".into(), 2), ("c".into(), 1)]));
        assert_eq!((all.take("c"), all.take("c"), all.len()), (Some(1), None, 1));
        assert!(all.holds("a") && !all.holds("c"));
        assert!(all.touch("", 2, || 0).is_none() && all.touch(&"x".repeat(1025), 2, || 0).is_none());
    }

    #[test]
    fn runs_are_of_equal_things_only() {
        let mut run = Run::default();
        for (name, input) in [("Read", "a"), ("Read", "a"), ("Rea", "da"), ("Read", "a"), ("Read", "b")] {
            run.next(mark([name.as_bytes(), input.as_bytes()]));
        }
        assert_eq!(run.longest, 2);
        run.next(mark([b"Read", b"b"]));
        run.next(mark([b"Read", b"b"]));
        assert_eq!(run.longest, 3);
    }
}
