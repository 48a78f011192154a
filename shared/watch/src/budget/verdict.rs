//! The words for what is wrong with a task.

/// What may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// One attempt takes longer than it should.
    OverTime,
    /// One attempt takes more turns than it should.
    OverIterations,
    /// Its attempts cost more than they should.
    OverCost,
    /// It changed files outside its scope.
    OutOfScope,
    /// It changed more files than it should.
    TooManyFiles,
    /// It does the same again and again.
    Churning,
    /// Its attempts end on the same error and leave nothing behind.
    StuckProgress,
    /// It was helped as often as makes sense. Whether it needs a person now is for `ops::needs` to say.
    OverAttempts,
}

impl Kind {
    /// The words of reports.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::OverTime => "over time",
            Kind::OverIterations => "over iterations",
            Kind::OverCost => "over cost",
            Kind::OutOfScope => "out of scope",
            Kind::TooManyFiles => "too many files",
            Kind::Churning => "churning",
            Kind::StuckProgress => "stuck progress",
            Kind::OverAttempts => "over attempts",
        }
    }

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
