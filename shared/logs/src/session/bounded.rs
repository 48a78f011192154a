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

/// Equal calls in a row, as far as their answers are equal too: the same question with another answer is a look at what goes on.
/// A call whose answer is not told counts as one with the same answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    mark: u64,
    /// What the newest answer is told from others by.
    print: Option<u64>,
    /// Calls in a row with that answer.
    same: u64,
    /// Calls without an answer, and the newest of them by the hash of their id.
    open: u64,
    awaited: VecDeque<u64>,
    /// The longest run before this one.
    before: u64,
}

/// Most calls of a run whose answer is waited for.
const MAX_AWAITED: usize = 16;

impl Run {
    /// A call was made; equal calls have equal marks.
    pub(crate) fn called(&mut self, id: &str, mark: u64) {
        if self.mark != mark {
            *self = Run { mark, before: self.longest(), ..Run::default() };
        }
        self.open += 1;
        push_newest(&mut self.awaited, fnv(id.bytes()), MAX_AWAITED);
    }

    /// A call was answered; equal answers have equal prints.
    pub(crate) fn answered(&mut self, id: &str, print: impl FnOnce() -> u64) {
        let id = fnv(id.bytes());
        let Some(at) = self.awaited.iter().position(|known| *known == id) else { return };
        self.awaited.remove(at);
        let print = Some(print());
        if self.print != print {
            (self.before, self.same) = (self.before.max(self.same), 0);
        }
        (self.print, self.same, self.open) = (print, self.same + 1, self.open - 1);
    }

    /// The longest run so far.
    pub(crate) fn longest(&self) -> u64 {
        self.before.max(self.same + self.open)
    }

    /// Takes over the longest run of another agent.
    pub(crate) fn join(&mut self, other: &Run) {
        self.before = self.before.max(other.longest());
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
            run.called("", mark([name.as_bytes(), input.as_bytes()]));
        }
        assert_eq!(run.longest(), 2);
        run.called("", mark([b"Read", b"b"]));
        run.called("", mark([b"Read", b"b"]));
        assert_eq!(run.longest(), 3);
    }

    #[test]
    fn runs_are_of_equal_answers_only() {
        // Calls are capitals with a number as their id, answers small letters with that of their call.
        for (what, told, longest) in [
            ("polls", "A1 a1 A2 b2 A3 c3 A4 d4", 1),
            ("repeats itself", "A1 a1 A2 a2 A3 a3 A4 a4", 4),
            ("waits for the fourth", "A1 a1 A2 a2 A3 a3 A4", 4),
            ("is never answered", "A1 A2 A3 A4", 4),
            ("now and then no answer", "A1 a1 A2 A3 a3 A4 a4", 4),
            ("another answer last", "A1 a1 A2 a2 A3 a3 A4 b4", 3),
            ("another answer first", "A1 b1 A2 a2 A3 a3 A4 a4", 3),
            ("another call between", "A1 a1 A2 a2 B3 a3 A4 a4", 2),
            ("at once", "A1 A2 A3 a3 a2 a1", 3),
            ("at once, and other answers", "A1 A2 A3 a1 b2 c3", 1),
            ("answers that come late", "A1 B2 a1 B3 b2 b3", 2),
            ("answers twice", "A1 a1 a1 A2 a2", 2),
        ] {
            let mut run = Run::default();
            for word in told.split(' ') {
                let (name, id) = word.split_at(1);
                match name.chars().all(char::is_uppercase) {
                    true => run.called(id, mark([name.as_bytes(), b""])),
                    false => run.answered(id, || fnv(name.bytes())),
                }
            }
            assert_eq!(run.longest(), longest, "{what}");
        }
        let (mut all, mut run) = (Run::default(), Run::default());
        (0..500).for_each(|_| run.called("", 7));
        all.join(&run);
        assert_eq!((all.longest(), run.awaited.len()), (500, MAX_AWAITED));
    }
}
