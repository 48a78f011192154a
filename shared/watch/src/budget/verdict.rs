//! The words for what is wrong with a task.

use base::named_enum::named_enum;

named_enum! {
    /// What may be wrong.
    pub(super) enum Kind {
        /// One attempt takes longer than it should.
        OverTime = "over time",
        /// One attempt takes more turns than it should.
        OverIterations = "over iterations",
        /// Its attempts cost more than they should.
        OverCost = "over cost",
        /// It changed files outside its scope.
        OutOfScope = "out of scope",
        /// It changed more files than it should.
        TooManyFiles = "too many files",
        /// It does the same again and again.
        Churning = "churning",
        /// Its attempts end on the same error and leave nothing behind.
        StuckProgress = "stuck progress",
        /// It was helped as often as makes sense. Whether it needs a person now is for `ops::needs` to say.
        OverAttempts = "over attempts",
    }
}

impl Kind {
    /// The word in keys of events and comments, which stays the same for ever.
    pub(super) fn key(self) -> String {
        let word = if self == Kind::OverAttempts { "needs a person" } else { self.as_str() };
        word.replace(' ', "_")
    }
}

/// One thing that is wrong with one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    /// What.
    pub(super) kind: Kind,
    /// The limit it went over, in a form that stays the same from pass to pass; empty where there is none.
    pub(super) threshold: String,
    /// A person decides whether work that is so far beyond its bounds goes on.
    pub(super) is_far: bool,
    /// The numbers, in one sentence.
    pub(super) because: String,
    /// What shows it, one line each; untrusted.
    pub evidence: Vec<String>,
}
