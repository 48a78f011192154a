//! `[budget]`: what one task may use where it says nothing itself, and how closely `budget-check` looks.

use std::time::Duration;

use serde::Serialize;

use super::{minutes, span};
use crate::money::Money;

/// What one task may use where its own scope says nothing, and how closely `budget-check` looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// The longest one attempt should take.
    #[serde(serialize_with = "span::serialize")]
    pub time: Duration,
    /// Turns one attempt should take at most. Hermes 0.19 itself stops at 90.
    pub iterations: u32,
    /// Money all attempts at one task should cost at most; `None` is no limit.
    #[serde(serialize_with = "money")]
    pub cost: Option<Money>,
    /// Files one task should change at most; 0 is no limit.
    pub max_files: u32,
    /// Resets after which a person is asked.
    pub resets: u32,
    /// Attempts that used up their iterations, after which a person is asked.
    pub exhaustions: u32,
    /// Equal tool calls in a row that count as churning.
    pub repeats: u32,
    /// Compactions in one attempt that count as churning.
    pub compactions: u32,
    /// Reads of one file since it was last edited that count as churning.
    pub rereads: u32,
    /// Tool calls without any edit that count as churning, for a task that is to change files.
    pub idle_calls: u32,
    /// Attempts in a row that ended on the same error and left nothing behind: no progress.
    pub same_errors: u32,
    /// Top-level folders one atomic task may be about.
    pub max_areas: u32,
    /// How far back ended attempts are looked at.
    #[serde(serialize_with = "span::serialize")]
    pub recent: Duration,
    /// The longest look at one working tree.
    #[serde(serialize_with = "span::serialize")]
    pub tree_limit: Duration,
    /// The longest look at all working trees of a board together.
    #[serde(serialize_with = "span::serialize")]
    pub trees_limit: Duration,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            time: minutes(60),
            iterations: 90,
            cost: None,
            max_files: 0,
            resets: 2,
            exhaustions: 2,
            repeats: 5,
            compactions: 3,
            rereads: 8,
            idle_calls: 60,
            same_errors: 3,
            max_areas: 3,
            recent: minutes(24 * 60),
            tree_limit: Duration::from_secs(10),
            trees_limit: minutes(1),
        }
    }
}

fn money<S: serde::Serializer>(amount: &Option<Money>, s: S) -> Result<S::Ok, S::Error> {
    amount.map(Money::exact).serialize(s)
}
