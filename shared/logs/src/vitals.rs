//! How an attempt fares, as the agent's own log tells: whose turn it is, how full its context is, what fails again and again.
//!
//! Where [`crate::usage`] adds up what an attempt used, this keeps the signs by which [`crate::health`] judges it and by which
//! the next attempt learns of it. Found in the same places and read in the same window of time, so that both speak of one
//! session; each with a cursor of its own, so that a later pass reads only what is new. All of it is bounded.

use serde::{Deserialize, Serialize};

use crate::usage::{Tokens, Usage};
use base::money::Money;
use base::named_enum::named_enum;
use base::time::Time;

/// Most files that are named as edited: those touched last.
pub const MAX_EDITED: usize = 500;
/// Most calls that are told in words: the last ones.
pub const MAX_CALLS_TOLD: usize = 5;
/// Most findings.
pub const MAX_FINDINGS: usize = 5;
/// Most slices of time.
pub const MAX_SLICES: usize = 96;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// The operator should look.
    Warning,
    /// Something is going wrong.
    Critical,
}

/// How one attempt fares. Whatever the log does not tell is `None`, never 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vitals {
    /// Where it is from: a file, and the session in it where it holds several. Untrusted.
    pub source: Option<String>,
    /// `claude`, `codex`, `hermes` or `opencode`.
    pub format: Option<String>,
    /// The session, as the agent calls it. Untrusted.
    pub session: Option<String>,
    /// The model of the last call. Untrusted.
    pub model: Option<String>,
    /// Why nothing is known although there is something to know: a log or a pointer to one that cannot be read, or two
    /// sessions of which nobody can say which is the worker's. Nothing is judged then.
    pub hidden: Option<String>,
    /// Whose turn it is.
    pub turn: Turn,
    /// When the attempt's first line was written.
    pub began: Option<Time>,
    /// When something was last written, subagents included. Not the file's own time, which copies change, unless no line
    /// states one.
    pub active: Option<Time>,
    /// Tokens in the context of the last call.
    pub context: Option<u64>,
    /// How many the model can hold; `None` where neither log nor model's name says so.
    pub window: Option<u64>,
    /// Tokens.
    pub tokens: Option<Tokens>,
    /// What they cost at list prices.
    pub cost: Option<Money>,
    /// API calls that were answered.
    pub turns: Option<u64>,
    /// Tool calls, those of subagents included.
    pub calls: Option<u64>,
    /// Of those, calls that failed.
    pub errors: Option<u64>,
    /// Of those, calls the runtime could not use: no JSON, wrong arguments, no such tool.
    pub malformed: Option<u64>,
    /// Calls that change a file.
    pub edits: Option<u64>,
    /// How often the context was compacted.
    pub compactions: Option<u64>,
    /// The newest calls, where they are one call that failed each time.
    pub failing: Option<Repeat>,
    /// A question that was asked again with the same answer, while nothing else was done.
    pub asked_again: Option<Repeat>,
    /// Tokens from one edit to the next.
    pub pace: Option<Pace>,
    /// What happened when, oldest first, at most [`MAX_SLICES`].
    pub slices: Vec<Slice>,
    /// What went wrong on the way, worst first, at most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
    /// Where the session works, as it says itself: relative names in `edited` are of this folder. Untrusted.
    pub cwd: Option<String>,
    /// Files the agent was to change, at most [`MAX_EDITED`]. What a shell command changes is not told. Untrusted.
    pub edited: Vec<String>,
    /// The last calls in words, oldest first, at most [`MAX_CALLS_TOLD`]. Untrusted.
    pub last_calls: Vec<String>,
    /// Not all of it is told: a part of the log was not read, or more files were edited than are named.
    pub is_part: bool,
    /// What is not known and why, one phrase each.
    pub unknown: Vec<String>,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// A tool's: it was called and did not answer yet, or a subagent is at work.
    Tool {
        /// When it was called.
        since: Time,
    },
    /// A person's: the agent asked something.
    Person {
        /// When it asked.
        since: Time,
    },
    /// The model's, which was asked and did not answer yet.
    Model,
    /// The model's, which stopped in the middle of an answer: it speaks on, or its stream was cut.
    Stream,
    /// Nobody's: the agent is done, or failed, and waits for the next word.
    Over,
    /// The log does not tell.
    #[default]
    Unknown,
}

/// A call that was made again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// How often.
    pub times: u64,
    /// Which, in words. Untrusted.
    pub call: String,
}

/// Tokens from one edit to the next: input that was new and output, so that a growing context alone does not count as a loss of pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Edits so far.
    pub edits: u64,
    /// Tokens before each of the first 5, on average.
    pub first: u64,
    /// Tokens before each of the last 5, on average.
    pub newest: u64,
}

/// What happened within a stretch of wall-clock time in which anything did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Its start.
    pub from: Time,
    /// Its length.
    pub seconds: i64,
    /// Tool calls that were answered.
    pub calls: u64,
    /// Of those, calls that failed.
    pub errors: u64,
    /// Tokens of the API calls in it.
    pub tokens: Tokens,
    /// What they cost; `None` where a model has no price.
    pub cost: Option<Money>,
}

/// One thing that went wrong on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which sort.
    pub category: Category,
    /// How bad.
    pub severity: Severity,
    /// In words. Untrusted.
    pub said: String,
}

named_enum! {
    /// Sorts of findings; names and thresholds are those of claudectl 0.64.0 (`brain::autopsy`).
    pub enum Category {
        /// One tool failed again and again: 2 times in a row, from 3 on a warning, from 5 on critical.
        ErrorCascade = "ErrorCascade",
        /// One file was read again and again without an edit of it: 3 times, from 5 on a warning.
        WastedReads = "WastedReads",
        /// One file was edited, something failed, and it was edited again: 2 times, from 4 on critical.
        UndoRedoLoop = "UndoRedoLoop",
        /// 8 API calls without an edit filled more than 15 % of the context, from 30 % on critical.
        ContextBloat = "ContextBloat",
    }
}

/// A living process that may have left a pointer to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker {
    /// Its pid.
    pub pid: i64,
    /// Its start in clock ticks after boot, where that is known.
    pub ticks: Option<u64>,
    /// Hermes started it, so that no session of another agent in its folder is its own.
    pub of_hermes: bool,
}

impl Vitals {
    /// Nothing is known although there is something to know, for this reason.
    pub fn hidden(why: impl Into<String>) -> Vitals {
        Vitals { hidden: Some(why.into()), ..Vitals::default() }
    }

    /// Seconds since anything was written; `None` where no time is known.
    pub fn quiet(&self, now: Time) -> Option<i64> {
        self.active.map(|at| now.since(at).max(0))
    }

    /// How full the context is, in whole percent; `None` where its size is not known.
    pub fn context_percent(&self) -> Option<u64> {
        let (context, window) = (self.context?, self.window.filter(|w| *w > 0)?);
        Some(context.saturating_mul(100) / window)
    }

    /// As much as sums alone tell.
    pub(crate) fn of_usage(usage: Usage) -> Vitals {
        Vitals {
            source: usage.source,
            format: usage.format,
            model: usage.model,
            tokens: usage.tokens,
            cost: usage.cost,
            turns: usage.turns,
            calls: usage.tool_calls,
            errors: usage.tool_errors,
            edits: usage.edits,
            compactions: usage.compactions,
            // Which files it edited is not told at all.
            is_part: true,
            unknown: usage.unknown,
            ..Vitals::default()
        }
    }
}
