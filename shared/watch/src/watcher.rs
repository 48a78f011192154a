//! What a watcher is: it observes through one value, decides purely, and returns steps with their reasons.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use base::error::Result;
use base::time::Time;
use board::{Detail, Rule, Step, StepAction};
use config::Config;
use page::Overview;
use policy::{Decision, OtherPolicy, Pass, World};

/// What the list of the watchers says of one.
pub trait Listed {
    /// Its program.
    const NAME: &'static str;
    /// How many open tasks the pass glanced at.
    fn glanced(seen: &Self::Seen) -> usize
    where
        Self: Watcher;
    /// When it was seen.
    fn seen_at(seen: &Self::Seen) -> Time
    where
        Self: Watcher;
}

/// What is known of a watcher without a board.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// What it does, in one line, for its help.
    pub about: &'static str,
    /// Whether it changes what work is done, by whom or when; else it only tells. Of one that does, passes are kept, to be decided
    /// again under another policy (`replay`).
    pub acts: bool,
    /// Seconds between two passes, as its timer and the crontab have it.
    pub every: i64,
    /// What is not done where it is not scheduled.
    pub without: &'static str,
    /// The page that its timer has it make by `--html`, in the folder of the state file.
    pub page: Option<&'static str>,
}

impl Spec {
    /// One of those that do their work together, each every two minutes.
    pub(super) const fn of_round(about: &'static str) -> Spec {
        let without = "held tasks stay held";
        Spec { about, acts: true, every: 120, without, page: None }
    }
}

/// One of the programs that keep a board moving.
pub trait Watcher: Listed {
    /// What it sees.
    type Seen: Serialize + DeserializeOwned;
    /// What is known of it without a board.
    const SPEC: Spec;
    /// What its steps do: every action that it may report.
    const ACTIONS: &'static [StepAction];
    /// The rules its steps follow, without what some of them carry behind a colon.
    const RULES: &'static [Rule];
    /// Whether a step is one that it may report. Debug builds check each step: what can be undone is held against these lists.
    fn lists(step: &Step) -> bool {
        Self::ACTIONS.contains(&step.action) && Self::RULES.contains(&step.case.rule())
    }
    /// The watcher as one look needs it. `origin`: where each value of the configuration comes from.
    fn new(origin: &BTreeMap<String, String>) -> Self;
    /// Looks, and changes nothing on the board.
    ///
    /// # Errors
    /// The board cannot be read.
    fn observe(&self, world: &mut World<'_>, pass: &Pass) -> Result<Self::Seen>;
    /// Decides, touching nothing.
    fn decide(&self, seen: &Self::Seen, pass: &Pass, config: &Config) -> Decision;
    /// The same for a caller that asks only what it comes to: long texts that the steps would write may be missing.
    fn outline(&self, seen: &Self::Seen, pass: &Pass, config: &Config) -> Decision {
        self.decide(seen, pass, config)
    }
    /// Whether nothing will be written, whatever is found.
    fn only_looks(&self) -> bool {
        false
    }
    /// The page for a person, where this watcher makes one.
    fn overview(&self, _seen: &Self::Seen, _pass: &Pass, _config: &Config) -> Option<Overview> {
        None
    }
    /// Why it says nothing about a task that is open: a report names only what was looked at closely. One line.
    fn silence(detail: &Detail, now: Time) -> String;
    /// Turns what was seen into what would have been seen at another moment under another policy.
    fn under(seen: &mut Self::Seen, other: &OtherPolicy<'_>);
}

/// What is done with every watcher in turn.
pub trait Visit {
    /// Does it with one.
    fn one<W: Watcher>(&mut self, watcher: &W);
}
