//! What `budget-check` sees: plain data, so that a pass can be shown, saved and decided again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use base::time::Time;
use board::{Detail, Event};
use logs::usage::Usage;
use policy::routing::facts::Routing;
use policy::runtime::Runtime;
use worktree::Tree;
use worktree::changes::Changes;

/// Everything one pass of `budget-check` rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The one reading of the clock.
    pub now: Time,
    /// How far back ended attempts were looked for.
    pub since: Time,
    /// The board's runtime; `None` where nothing needed it.
    pub runtime: Option<Runtime>,
    /// How many open rows were glanced at.
    pub glanced: usize,
    /// The board was made by `board init`.
    pub own_board: bool,
    /// What to call it.
    pub name: String,
    /// Its slug, where it is one of a Hermes root's named boards.
    pub slug: Option<String>,
    /// Commands that name no board take another one: see [`board::discover::is_switched_from`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub switched: bool,
    /// Its file.
    pub db: String,
    /// Why nothing may be decided by time, if so.
    pub clock_fault: Option<String>,
    /// Open tasks by state.
    pub counts: BTreeMap<String, usize>,
    /// Tasks that run, ran since then, or wait for a person.
    pub work: Vec<Work>,
    /// Open distress cards.
    pub cards: Vec<Detail>,
    /// Who runs where, and how providers stand.
    pub routing: Routing,
    /// Events by which work moved, started over or stopped, on the whole board, oldest first.
    pub turns: Vec<(String, Event)>,
    /// What could not be looked at, one sentence each.
    pub unknown: Vec<String>,
}

/// One task and what is true of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Its whole story.
    pub detail: Detail,
    /// What its newest attempt used.
    pub usage: Usage,
    /// What attempts before that used, newest first, at most [`MAX_EARLIER_RUNS`].
    pub earlier: Vec<Used>,
    /// Which files it changed.
    pub files: FilesSeen,
    /// Its working tree as a card shows it; only where a card may be written.
    pub tree: Option<Tree>,
    /// Attempts that a provider refused, by their number: what they ended on is not the task's own error.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub refused: BTreeSet<i64>,
    /// Seconds for which this machine was suspended since a pass first saw the newest attempt.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slept: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(n: &i64) -> bool {
    *n == 0
}

/// What one attempt used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Used {
    /// Its number.
    pub run: i64,
    /// What it used.
    pub usage: Usage,
}

/// What is known of the files a task changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FilesSeen {
    /// What git says.
    pub changes: Option<Changes>,
    /// Why it is not known.
    pub why_not: Option<String>,
}

impl FilesSeen {
    pub(super) fn unknown(why: impl Into<String>) -> FilesSeen {
        FilesSeen { changes: None, why_not: Some(why.into()) }
    }
}

/// Most earlier attempts of a task whose use is read.
pub const MAX_EARLIER_RUNS: usize = 5;
