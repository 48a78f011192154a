//! A line for a person, made of untrusted text.

use std::cell::OnceCell;
use std::fmt::{self, Debug, Display, Formatter};
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::summary::MAX_LINE;
use base::quote;

/// Words that are made fit to be shown when they are first read: of the tasks of a board a few are shown.
#[derive(Clone)]
pub(crate) struct Line {
    /// As they were found; empty where they are known as they are shown alone.
    found: String,
    shown: OnceCell<String>,
}

impl Line {
    /// These words, to be shown as [`quote::line`] makes them, in at most [`MAX_LINE`] characters.
    pub(crate) fn of(found: String) -> Line {
        Line { found, shown: OnceCell::new() }
    }

    /// The words as they were found, for what is made fit itself.
    pub(super) fn found(&self) -> &str {
        if self.found.is_empty() { self } else { &self.found }
    }
}

/// A text that is fit to be shown.
impl From<String> for Line {
    fn from(shown: String) -> Line {
        Line { found: String::new(), shown: OnceCell::from(shown) }
    }
}

impl From<&str> for Line {
    fn from(shown: &str) -> Line {
        Line::from(shown.to_owned())
    }
}

impl Deref for Line {
    type Target = str;

    fn deref(&self) -> &str {
        self.shown.get_or_init(|| quote::line(&self.found, MAX_LINE))
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Line) -> bool {
        **self == **other
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&**self, f)
    }
}

impl Debug for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&**self, f)
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Line, D::Error> {
        // Another host wrote it.
        String::deserialize(deserializer).map(Line::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_reads_it_reads_it_fit_to_be_shown() {
        let found = "in its tree:\nAPI_KEY=lantern7lantern7lantern and more";
        let (line, shown) = (Line::of(found.to_owned()), "in its tree: API_KEY=[redacted: api key] and more");
        assert_eq!(line.found(), found);
        assert_eq!((line.to_string(), format!("{line:?}")), (shown.to_owned(), format!("{shown:?}")));
        let json = serde_json::to_string(&line).unwrap();
        assert_eq!(json, format!("{shown:?}"));
        let read: Line = serde_json::from_str(&json).unwrap();
        assert_eq!((&read, read.found(), &Line::from(shown)), (&line, shown, &line));
        assert_eq!((&*Line::of(String::new()), Line::of(String::new()).found()), ("", ""));
    }
}
