//! `[detect]`: from when on the health checks of `heal` and the detectors of `coord detect` find something.

use std::time::Duration;

use serde::Serialize;

use super::{minutes, span};
use crate::money::Money;

/// Thresholds of the health checks and of the detectors of sessions. Where nothing else is said, the defaults of checks are
/// those of claudectl 0.64.0, and those of detectors are our own, measured on opencode 1.18.33.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detect {
    /// How long nothing is written, while it is the model's turn, before that is told of (alkdev hub: 60 s).
    #[serde(serialize_with = "span::serialize")]
    pub session_stall: Duration,
    /// How long before it counts as stalled.
    #[serde(serialize_with = "span::serialize")]
    pub stall: Duration,
    /// How long a tool may run before it counts as none. Our own choice: no tool of any agent runs for a day.
    #[serde(serialize_with = "span::serialize")]
    pub tool_limit: Duration,
    /// Equal failing calls in a row that are a loop.
    pub loop_calls: u32,
    /// Times one question is asked with the same answer, and nothing else done, that are a repetition.
    pub repetition: u32,
    /// The newest stretch that errors and costs are compared in. Our own choice.
    #[serde(serialize_with = "span::serialize")]
    pub recent: Duration,
    /// Failing calls in that stretch that are many (alkdev hub: 5).
    pub errors: u32,
    /// So many times the share of failing calls before is an acceleration.
    pub error_growth: u32,
    /// Calls the runtime could not use that are a degradation (alkdev hub: 1).
    pub malformed: u32,
    /// What an attempt must have cost before its costs are compared.
    #[serde(serialize_with = "money")]
    pub cost_from: Option<Money>,
    /// Costs now in percent of those before that are a spike.
    pub cost_warning: u32,
    /// The same, critical.
    pub cost_critical: u32,
    /// Percent of the context above which a compaction may be considered.
    pub context_compact: u32,
    /// Percent above which it is high.
    pub context_high: u32,
    /// Percent above which it is full.
    pub context_full: u32,
    /// Tokens of input before the cache is looked at.
    pub cache_from: u32,
    /// Percent of the input from the cache below which that is low.
    pub cache_warning: u32,
    /// The same, critical.
    pub cache_critical: u32,
    /// Edits before which their tokens are not compared.
    pub pace_edits: u32,
    /// So many times the tokens of the first edits are too many.
    pub pace_growth: u32,
    /// The score from which decay is early.
    pub decay_early: u32,
    /// From which it is significant.
    pub decay_high: u32,
    /// From which it is severe.
    pub decay_severe: u32,
    /// How long a session's stream is listened to before its silence is judged; 0 does not listen.
    #[serde(serialize_with = "span::serialize")]
    pub listen: Duration,
    /// The silence that is a stall where nobody listened: a model that streams slowly writes no row for minutes.
    #[serde(serialize_with = "span::serialize")]
    pub unheard_stall: Duration,
    /// How long a session's tool may run before that is told of, where the call itself allows no more. Not measured.
    #[serde(serialize_with = "span::serialize")]
    pub tool_long: Duration,
    /// How long a person may leave a session's question unanswered. Not measured.
    #[serde(serialize_with = "span::serialize")]
    pub human_wait: Duration,
    /// How long an open answer that no server knows of is left alone.
    #[serde(serialize_with = "span::serialize")]
    pub orphan_after: Duration,
    /// How long a prompt may wait for an answer to begin.
    #[serde(serialize_with = "span::serialize")]
    pub unanswered: Duration,
    /// Repetitions of a refused request that are pressure.
    pub retries: u32,
    /// Of the last 10 answers those that broke off, from which on a session is a runaway.
    pub broken_streams: u32,
    /// Compactions by the agent itself within `compaction_window` that are a runaway.
    pub compactions: u32,
    /// The window they are counted in.
    #[serde(serialize_with = "span::serialize")]
    pub compaction_window: Duration,
    /// Of the last 8 calls those that are one and the same, from which on a session is a runaway.
    pub same_calls: u32,
    /// Calls whose arguments do not fit that are a degradation, too; 0 counts none.
    pub schema_errors: u32,
    /// Whether marks of calls in plain words are a degradation, too.
    #[serde(serialize_with = "super::on_or_off")]
    pub raw_calls: bool,
    /// Whether a command that ends with another code than 0 is a failed call.
    #[serde(serialize_with = "super::on_or_off")]
    pub bash_exit: bool,
}

impl Default for Detect {
    fn default() -> Detect {
        Detect {
            session_stall: minutes(1),
            stall: minutes(30),
            tool_limit: minutes(24 * 60),
            loop_calls: 10,
            repetition: 3,
            recent: minutes(5),
            errors: 5,
            error_growth: 2,
            malformed: 1,
            cost_from: Some(Money(1_000_000_000)),
            cost_warning: 250,
            cost_critical: 500,
            context_compact: 50,
            context_high: 80,
            context_full: 90,
            cache_from: 10_000,
            cache_warning: 30,
            cache_critical: 10,
            pace_edits: 8,
            pace_growth: 2,
            decay_early: 30,
            decay_high: 60,
            decay_severe: 80,
            listen: Duration::from_secs(4),
            unheard_stall: minutes(5),
            tool_long: minutes(10),
            human_wait: minutes(5),
            orphan_after: Duration::from_secs(15),
            unanswered: minutes(1),
            retries: 3,
            broken_streams: 3,
            compactions: 3,
            compaction_window: minutes(10),
            same_calls: 5,
            schema_errors: 0,
            raw_calls: false,
            bash_exit: false,
        }
    }
}

fn money<S: serde::Serializer>(amount: &Option<Money>, s: S) -> Result<S::Ok, S::Error> {
    amount.map(Money::exact).serialize(s)
}
