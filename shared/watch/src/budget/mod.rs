//! `budget-check`: compares work with what it was to touch and to use, and says so while it costs little.
//!
//! It changes no task's state, ever. What it finds is shown; where that is asked for, a comment says it once to the worker of
//! the task, or a card asks the orchestrator, with a draft of narrower tasks.

mod endings;
mod judge;
mod limits;
mod observe;
mod page;
pub mod seen;
mod steps;
#[cfg(test)]
mod tests;
mod unmeasured;
mod verdict;

use std::collections::BTreeMap;

use self::seen::Seen;
use super::watcher::{Spec, Watcher};
use ::page::Overview;
use base::error::Result;
use base::time::Time;
use board::{Detail, Rule, StepAction};
use config::Config;
use policy::{Decision, Left, OtherPolicy, Pass, Said, World, said};

/// The watcher, and what it was asked to do besides looking.
#[derive(Debug, Clone, Default)]
pub struct BudgetCheck {
    /// One comment for each task and threshold.
    pub comment: bool,
    /// A card for running work that is over its bounds.
    pub distress: bool,
    /// Who set each key of the configuration: `default`, a file or a variable.
    pub origin: BTreeMap<String, String>,
}

impl Watcher for BudgetCheck {
    type Seen = Seen;
    const SPEC: Spec = Spec {
        about: "Compare tasks with their scope and budget, and recommend splits; never change a task's state",
        acts: false,
        every: 900,
        without: "no task is compared with its budget",
        page: Some("budget.html"),
    };
    const ACTIONS: &'static [StepAction] = &[StepAction::Card, StepAction::Comment];
    const RULES: &'static [Rule] = &[
        Rule::Churning,
        Rule::NeedsPerson,
        Rule::OutOfScope,
        Rule::OverBudget,
        Rule::OverCost,
        Rule::OverIterations,
        Rule::OverTime,
        Rule::StuckProgress,
        Rule::TooManyFiles,
    ];

    fn new(origin: &BTreeMap<String, String>) -> BudgetCheck {
        BudgetCheck { origin: origin.clone(), ..BudgetCheck::default() }
    }

    fn observe(&self, world: &mut World<'_>, pass: &Pass) -> Result<Seen> {
        observe::observe(world, pass, self.distress)
    }

    fn decide(&self, seen: &Seen, pass: &Pass, config: &Config) -> Decision {
        decide(self, seen, pass, config)
    }

    fn only_looks(&self) -> bool {
        !self.comment && !self.distress
    }

    fn overview(&self, seen: &Seen, pass: &Pass, config: &Config) -> Option<Overview> {
        let judged = judge::all(seen, config, &self.origin, pass.only.as_deref());
        Some(page::overview(seen, &judged, config))
    }

    fn silence(_detail: &Detail, _now: Time) -> String {
        "nothing of it runs or ran lately".into()
    }

    fn under(seen: &mut Seen, other: &OtherPolicy<'_>) {
        seen.now = other.at;
        seen.routing.under(other);
    }
}

/// Decides on everything that was seen. Pure: the same facts give the same steps.
pub fn decide(watcher: &BudgetCheck, seen: &Seen, pass: &Pass, config: &Config) -> Decision {
    let fault = seen.clock_fault.as_deref();
    let mut decision = fault.map_or_else(Decision::default, |fault| Decision::of_broken_clock(fault, true));
    // Not everything could be looked at: that is exit 1, and a line.
    decision.findings.extend(seen.unknown.iter().map(|said| Said::of(said::Kind::Cut, said.clone())));
    if fault.is_some() {
        return decision;
    }
    let judged = judge::all(seen, config, &watcher.origin, pass.only.as_deref());
    for one in &judged {
        let task = &one.work.detail.task.id;
        let unknown = one.unknown.iter();
        decision.left.extend(unknown.map(|why| Left::new(task, why).unknown()));
    }
    decision.beyond = judged.iter().filter_map(judge::Judged::beyond).collect();
    unmeasured::tell(&judged, seen, config, &mut decision);
    steps::decide(watcher, seen, &judged, pass, config, &mut decision);
    decision
}
