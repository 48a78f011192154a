//! What an attempt used, as the agent's own log or store tells: turns, tool calls, tokens, money, and the signs of churn.

use serde::{Deserialize, Serialize};

use base::money::Money;

pub(crate) mod bill;
pub(crate) mod files;
pub(crate) mod scan;
pub mod store;
pub(crate) mod window;

/// Tokens of the API calls of an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input that was not cached.
    pub input: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
}

impl Tokens {
    /// All of them.
    pub fn total(self) -> u64 {
        [self.cache_write, self.cache_read, self.output].iter().fold(self.input, |a, b| a.saturating_add(*b))
    }

    /// The sums.
    #[must_use]
    pub fn plus(self, more: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(more.input),
            cache_write: self.cache_write.saturating_add(more.cache_write),
            cache_read: self.cache_read.saturating_add(more.cache_read),
            output: self.output.saturating_add(more.output),
        }
    }
}

/// What one attempt used. Whatever is not known is `None`, never 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Where it is from: a file, and the session in it where it holds several. Untrusted.
    pub source: Option<String>,
    /// The others, where it is from several sessions. Untrusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_sources: Vec<String>,
    /// `claude`, `codex`, `hermes` or `opencode`.
    pub format: Option<String>,
    /// The model of the last call. Untrusted.
    pub model: Option<String>,
    /// API calls that were answered: the agent's iterations. Those of its subagents are not among them; tokens, money, tool
    /// calls and edits are theirs as well.
    pub turns: Option<u64>,
    /// Tool calls.
    pub tool_calls: Option<u64>,
    /// Of those, calls that failed.
    pub tool_errors: Option<u64>,
    /// Tokens.
    pub tokens: Option<Tokens>,
    /// What they cost at list prices.
    pub cost: Option<Money>,
    /// Where that is not known since a model has no price: what the other calls cost, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_at_least: Option<Money>,
    /// How often the context was compacted.
    pub compactions: Option<u64>,
    /// The most calls in a row with the same tool, the same arguments and, as far as they are told, the same answers.
    pub identical_calls: Option<u64>,
    /// Calls that change a file.
    pub edits: Option<u64>,
    /// Files read again and again since they were last edited, the most-read ones first, at most 5. Untrusted.
    pub rereads: Vec<Reread>,
    /// Turns, calls, tokens and money are the least there were: a part of the log could not be read, or is of a size that is
    /// not read, or (money) the call behind a compaction is in no log.
    pub is_least: bool,
    /// What is not known and why, one phrase each.
    pub unknown: Vec<String>,
}

/// A file that was read again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reread {
    /// Which. Untrusted.
    pub file: String,
    /// How often since it was last edited.
    pub times: u64,
}

impl Usage {
    /// Nothing is known, for this reason.
    pub fn unknown(why: impl Into<String>) -> Usage {
        Usage { unknown: vec![why.into()], ..Usage::default() }
    }

    /// What is known of the cost: all of it, or of the calls that have a price.
    pub fn known_cost(&self) -> Option<Money> {
        self.cost.or(self.cost_at_least)
    }

    /// Takes what [`Sum`](bill::Sum) tells.
    pub(crate) fn bill(&mut self, sum: bill::Sum) {
        self.cost = sum.whole();
        self.cost_at_least = sum.part();
        self.unknown = sum.unknown;
    }

    /// What is told is the least there was, for this reason.
    pub(crate) fn least(&mut self, why: impl Into<String>) {
        self.is_least = true;
        self.unknown.push(why.into());
    }
}
