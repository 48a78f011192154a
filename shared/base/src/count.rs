//! What is counted, in words for people.

use std::fmt::Display;

/// A number of things.
pub trait Count: Copy + Display + PartialEq + From<u8> {}

impl<N: Copy + Display + PartialEq + From<u8>> Count for N {}

/// `1 task`, `3 tasks`.
pub fn things(n: impl Count, one: &str) -> String {
    format!("{n} {}", noun(n, one))
}

/// The same where several are not called by an `s`: `1 entry`, `3 entries`.
pub fn things_or(n: impl Count, one: &str, several: &str) -> String {
    format!("{n} {}", pick(n, one, several))
}

/// The word alone: `task`, `tasks`.
pub fn noun(n: impl Count, one: &str) -> String {
    pick(n, one, &format!("{one}s")).to_owned()
}

/// The word for one, or for several.
pub fn pick<N: Count, T>(n: N, one: T, several: T) -> T {
    if n == N::from(1) { one } else { several }
}

/// `once`, `3 times`.
pub fn times(n: impl Count) -> String {
    pick(n, "once".to_owned(), format!("{n} times"))
}

/// The first `most` of these names, and how many more there are: `a, b and 3 more`.
pub fn first_few(most: usize, names: impl ExactSizeIterator<Item: AsRef<str>>) -> String {
    let more = names.len().saturating_sub(most);
    let mut text = String::new();
    for name in names.take(most) {
        text += if text.is_empty() { "" } else { ", " };
        text += name.as_ref();
    }
    if more == 0 { text } else { format!("{text} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        let said =
            |n: u64| (things(n, "task"), things_or(n, "entry", "entries"), times(n), pick(n, "is", "are"));
        let words = |a: &str, b: &str, c: &str, d| (a.to_owned(), b.to_owned(), c.to_owned(), d);
        assert_eq!(said(0), words("0 tasks", "0 entries", "0 times", "are"));
        assert_eq!(said(1), words("1 task", "1 entry", "once", "is"));
        assert_eq!(said(12), words("12 tasks", "12 entries", "12 times", "are"));
        assert_eq!((noun(1_i64, "task"), noun(2_usize, "task")), ("task".into(), "tasks".into()));
    }

    #[test]
    fn of_many_the_first_few_are_named() {
        for (names, said) in
            [(&[][..], ""), (&["a"], "a"), (&["a", "b"], "a, b"), (&["a", "b", "c"], "a, b and 1 more")]
        {
            assert_eq!(first_few(2, names.iter()), said);
        }
    }
}
