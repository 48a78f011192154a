//! The page for the morning: what runs and ran on a board, what it used, what it may use, and what needs a person. Plain data
//! and one renderer for each form (`text`, `html`); they do not depend on who makes it.

pub mod html;
mod plain;
pub mod text;
mod words;

#[cfg(any(test, feature = "testing"))]
pub mod sample;

use std::collections::BTreeMap;

use serde::Serialize;

use base::money::Money;
use base::time::Time;
use logs::usage::{Tokens, Usage};

/// One board. All text in it comes from the board, logs or repositories, and is untrusted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// What to call the board.
    pub board: String,
    /// When it was seen.
    pub now: Time,
    /// How far back attempts, resets and provider health reach.
    pub since: Time,
    /// Open tasks by state, and `done` of those that ended since then.
    pub counts: BTreeMap<String, usize>,
    /// Tasks that run, ran since then, or are blocked; those with verdicts first.
    pub tasks: Vec<TaskView>,
    /// Resets, moves and reassignments, oldest first.
    pub interventions: Vec<Intervention>,
    /// Providers that refused work since then, or do now.
    pub providers: Vec<ProviderView>,
    /// Where time and money went, the most money first, then the most time.
    pub spent: Vec<Spent>,
    /// What could not be seen, one sentence each.
    pub unknown: Vec<String>,
    /// So many of these, the first ones, are findings of the pass as well.
    #[serde(skip)]
    pub found: usize,
}

impl Overview {
    /// Of a board that could not be looked at.
    pub fn nothing(board: &str, now: Time) -> Overview {
        Overview {
            board: board.to_owned(),
            now,
            since: now,
            counts: BTreeMap::new(),
            tasks: Vec::new(),
            interventions: Vec::new(),
            providers: Vec::new(),
            spent: Vec::new(),
            unknown: Vec::new(),
            found: 0,
        }
    }
}

/// One task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskView {
    /// Its id.
    pub task: String,
    /// Its title.
    pub title: String,
    /// Its state.
    pub status: String,
    /// Its profile.
    pub assignee: Option<String>,
    /// Its attempts since [`Overview::since`] and the newest before, oldest first.
    pub attempts: Vec<AttemptView>,
    /// How many attempts it had, of the newest 30.
    pub attempt_count: usize,
    /// Seconds of all its attempts.
    pub seconds: i64,
    /// How often it was reset, by the present count.
    pub resets: u64,
    /// How often it was given to another profile.
    pub reassigned: u64,
    /// What its newest attempt used.
    pub usage: Usage,
    /// What all its attempts cost, as far as is known.
    pub cost: Option<Money>,
    /// They cost more than that: not every attempt is known, or a model has no price.
    pub cost_is_least: bool,
    /// What it may use and what it did.
    pub gauges: Vec<Gauge>,
    /// Files it changed.
    pub files: Option<FilesView>,
    /// Errors its attempts ended on, the most frequent first.
    pub errors: Vec<Recurring>,
    /// What is wrong.
    pub verdicts: Vec<Verdict>,
    /// What could not be judged and why.
    pub unknown: Vec<String>,
    /// Narrower tasks, where the evidence says that it is too much for one.
    pub draft: Option<Draft>,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptView {
    /// Its number on the board.
    pub run: i64,
    /// Who worked.
    pub profile: Option<String>,
    /// How it ended; `None` while it runs.
    pub outcome: Option<String>,
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub to: Option<Time>,
}

/// What one number is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Things.
    Count,
    /// Billionths of a US dollar.
    NanoUsd,
}

/// One limit, and how far it is used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gauge {
    /// `time`, `iterations`, `cost`, `files`, `resets` or `exhaustions`.
    pub what: String,
    /// What was used; `None` is unknown.
    pub used: Option<u64>,
    /// The true number may be higher.
    pub is_least: bool,
    /// What may be used.
    pub limit: u64,
    /// What both count.
    pub unit: Unit,
    /// Who set the limit: `task`, `default`, or the file or variable of the configuration.
    pub source: String,
}

/// An error that attempts ended on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recurring {
    /// Its text without numbers, ids and times.
    pub error: String,
    /// How many attempts ended on it.
    pub times: usize,
}

/// Files a task changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FilesView {
    /// How many.
    pub count: usize,
    /// The true number may be higher.
    pub is_least: bool,
    /// Those outside its scope.
    pub out_of_scope: Vec<String>,
    /// Those of which the scope does not say where they belong.
    pub unclear: Vec<String>,
    /// What it is compared with, in words.
    pub base: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// `over time`, `over iterations`, `over cost`, `out of scope`, `too many files`, `churning`, `stuck progress` or `over
    /// attempts`.
    pub verdict: String,
    /// The numbers, in one sentence.
    pub because: String,
    /// What shows it, one line each.
    pub evidence: Vec<String>,
}

/// Narrower tasks in the place of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Draft {
    /// Why, in one sentence.
    pub because: String,
    /// Commands that make them, one a line.
    pub commands: Vec<String>,
    /// The same as a decision that `route-blocked` carries out.
    pub decision: serde_json::Value,
}

/// A reset, a move or a reassignment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Intervention {
    /// When.
    pub at: Time,
    /// Which task.
    pub task: String,
    /// `reset`, `held`, `moved`, `reassigned` or `escalated`.
    pub what: String,
    /// Who did it.
    pub by: Option<String>,
    /// Why.
    pub because: Option<String>,
}

/// How one provider did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProviderView {
    /// Its name or host.
    pub name: String,
    /// How it stands now, in the words of [`logs::provider::ledger::State`]: `healthy`, `half open`, `limited`, ...
    pub state: String,
    /// When it refused work: from when to when, and why, oldest first.
    pub refusals: Vec<Refusal>,
}

/// A time in which a provider refused work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refusal {
    /// When that was noticed.
    pub from: Time,
    /// Until when it was said to last.
    pub until: Time,
    /// The cause.
    pub cause: String,
}

/// What one profile used since [`Overview::since`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spent {
    /// The profile.
    pub profile: String,
    /// Its provider, where that is known.
    pub provider: Option<String>,
    /// Attempts.
    pub attempts: usize,
    /// Seconds.
    pub seconds: i64,
    /// Turns, of the attempts whose turns are known.
    pub turns: Option<u64>,
    /// Tokens, of the attempts whose tokens are known.
    pub tokens: Option<Tokens>,
    /// Money, as far as it is known.
    pub cost: Option<Money>,
    /// There may be more: not every attempt is known.
    pub is_least: bool,
}
