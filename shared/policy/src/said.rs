//! What a watcher says of a board. What is decided by it hangs on its kind and on what it is about, and never on its words.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

/// Words for a person, with what they are and what they are about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Said {
    /// The words.
    pub text: String,
    /// What they are.
    #[serde(skip)]
    pub kind: Kind,
    /// The tasks that they are about; without one it is the board.
    #[serde(skip)]
    pub tasks: BTreeSet<String>,
}

/// What is said, as far as something is decided by it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Kind {
    /// Anything else.
    #[default]
    Other,
    /// The clock cannot be trusted.
    Clock,
    /// A pass had no time to look at everything: the next one looks at others.
    Cut,
    /// Cards wait for an orchestrator: what needs a person for that is told of their tasks.
    CardsWait,
    /// What is around the board cannot be read.
    Unread,
    /// The row of an event has a time that cannot be.
    WrongRow,
    /// Another board lies in the place of one that passes looked at.
    Replaced,
    /// The work of these hosts, as people know them.
    Hosts(Vec<String>),
}

impl Kind {
    /// Whether it ends by itself, or is no more than told.
    pub fn is_passing(&self) -> bool {
        matches!(self, Kind::Clock | Kind::Cut | Kind::CardsWait)
    }
}

impl Said {
    /// What is known to be of a kind.
    pub fn of(kind: Kind, text: String) -> Said {
        Said { text, kind, tasks: BTreeSet::new() }
    }

    /// It is about this task as well.
    #[must_use]
    pub fn about(self, task: &str) -> Said {
        self.about_all([task])
    }

    /// It is about these tasks as well.
    #[must_use]
    pub fn about_all<'t>(mut self, tasks: impl IntoIterator<Item = &'t str>) -> Said {
        self.tasks.extend(tasks.into_iter().map(str::to_owned));
        self
    }
}

impl From<String> for Said {
    fn from(text: String) -> Said {
        Said::of(Kind::Other, text)
    }
}

impl From<&str> for Said {
    fn from(text: &str) -> Said {
        text.to_owned().into()
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Only tests look into the words.
#[cfg(any(test, feature = "testing"))]
mod testing {
    use super::Said;

    impl std::ops::Deref for Said {
        type Target = str;

        fn deref(&self) -> &str {
            &self.text
        }
    }

    impl<T: AsRef<str>> PartialEq<T> for Said {
        fn eq(&self, other: &T) -> bool {
            self.text == other.as_ref()
        }
    }
}
