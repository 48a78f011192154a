//! What an attempt used, as the agent's own log or store tells: turns, tool calls, tokens, money, and the signs of churn.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agents::{Homes, hermes};
use crate::cache::Cache;
use crate::session::Prices;
use base::money::Money;
use base::time::Time;

pub(crate) mod agent;
pub(crate) mod agent_usage;
pub(crate) mod bill;
pub(crate) mod files;
pub(crate) mod find;
pub(crate) mod scan;
pub mod store;
pub mod vitals;
pub(crate) mod window;

#[cfg(test)]
mod tests;

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
    /// How often the context was compacted.
    pub compactions: Option<u64>,
    /// The most calls in a row with the same tool and the same arguments.
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
}

/// Whose usage is asked for, where it may be told of, and in which time.
#[derive(Debug, Clone, Copy)]
pub struct UsageAsk<'a> {
    /// The task.
    pub task: &'a str,
    /// The profile that works on it.
    pub profile: Option<&'a str>,
    /// The Hermes root; `None` for a board of our own.
    pub root: Option<&'a Path>,
    /// The log the board keeps of the task.
    pub worker_log: Option<&'a Path>,
    /// The file its claim names: a transcript of Claude Code, a rollout of Codex, what either prints, or a store of opencode
    /// (`/path/opencode.db`, with `#ses_...` behind it where one session of it is meant). Then nothing else is looked at.
    pub named: Option<&'a Path>,
    /// The folder the task is worked on in.
    pub workspace: Option<&'a Path>,
    /// The folders of the agents. Of one that has none no log is looked for by the workspace.
    pub homes: &'a Homes,
    /// Files below those folders which the worker holds open, where it lives.
    pub held: &'a [PathBuf],
    /// The start of the attempt.
    pub from: Time,
    /// Its end; `None` while it runs.
    pub to: Option<Time>,
    /// When the next attempt began that may write to the same log: what is written from then on is not this one's.
    pub next: Option<Time>,
    /// The time of the pass.
    pub now: Time,
    /// What tokens cost.
    pub prices: &'a Prices,
}

/// What the attempt used, as far as anything tells: from 2 s before its start to 120 s after its end, or after now while it
/// runs. What cannot be read is said in [`Usage::unknown`]; nothing is an error. `cache` knows how far files were read, so
/// that only what is new is read again.
pub fn read(ask: &UsageAsk<'_>, cache: &mut Cache) -> Usage {
    let mut usage = match ask.named {
        Some(named) => agent_usage::of_named(ask, named, cache),
        None => unnamed(ask, cache),
    };
    let mut seen = std::collections::BTreeSet::new();
    usage.unknown.retain(|why| seen.insert(why.clone()));
    usage
}

/// Goes through the places where an attempt is told of though its claim names none.
fn unnamed(ask: &UsageAsk<'_>, cache: &mut Cache) -> Usage {
    // The first place that tells something is the one; what the others could not say is not asked for then.
    let mut why = Vec::new();
    let places = [hermes::usage::read, agent_usage::of_worker_log, agent_usage::of_folder];
    for place in places {
        match place(ask, cache) {
            Ok(Some(usage)) => return usage,
            Ok(None) => {}
            Err(reason) => why.push(reason),
        }
    }
    if why.is_empty() {
        why.push("no log or store tells what this attempt used".into());
    }
    Usage { unknown: why, ..Usage::default() }
}
