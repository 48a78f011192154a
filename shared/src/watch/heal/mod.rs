//! `heal`: requeues what dead workers left behind, resets infrastructure crash loops, clears jams and leaked claims,
//! and says so once when it was reset too often.
//!
//! It never signals a process, never lifts a block somebody else made, and never raises a cap. Work whose last attempt
//! ended on a provider's or a configuration's error is not its business: it only frees the dead claim and parks it.

mod history;
mod observe;
mod running;
pub mod seen;
mod stuck;
pub(in crate::watch) use observe::ask;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use self::seen::{Seen, TaskSeen};
use super::{Decision, Left, Pass, Watcher, World, word};
use crate::board::hermes::{self, Trail};
use crate::board::{Change, Expect, Status, Step};
use crate::cause::Cause;
use crate::config::span::seconds;
use crate::config::{Config, Heal as Policy};
use crate::error::Result;
use crate::host::Proof;
use crate::time::Time;

/// The watcher.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heal;

impl Watcher for Heal {
    type Seen = Seen;
    const NAME: &'static str = "heal";

    fn observe(&self, world: &mut World<'_>, pass: &Pass) -> Result<Seen> {
        observe::observe(world, pass)
    }

    fn decide(&self, seen: &Seen, pass: &Pass, config: &Config) -> Decision {
        decide(seen, pass, &config.heal, config.people.assignee.as_deref())
    }

    fn glanced(seen: &Seen) -> usize {
        seen.glanced
    }

    fn seen_at(seen: &Seen) -> Time {
        seen.now
    }
}

/// What one candidate comes to.
enum Verdict {
    /// Change it.
    Act(Box<Step>),
    /// Leave it, for this reason.
    Leave(String),
    /// Leave it, because something is not known.
    Unknown(String),
    /// Nothing is wrong with it.
    Fine,
}

/// What every rule may look at.
struct Rules<'a> {
    seen: &'a Seen,
    pass: &'a Pass,
    policy: &'a Policy,
    person: Option<&'a str>,
}

/// Counted resets of a task in its present episode, as `heal` itself counts them.
pub(crate) fn resets(d: &crate::board::Detail, config: &Config) -> u64 {
    let tally = history::tally(d, crate::config::span::seconds(config.heal.decay));
    u64::try_from(tally.resets).unwrap_or(0)
}

/// Decides on everything that was seen. Pure: the same facts give the same steps.
///
/// `person` is assigned what needs one.
pub fn decide(seen: &Seen, pass: &Pass, policy: &Policy, person: Option<&str>) -> Decision {
    let rules = Rules { seen, pass, policy, person };
    let mut decision = Decision::default();
    if let Some(fault) = &seen.clock_fault {
        if !seen.tasks.is_empty() {
            decision.findings.push(format!("clock: {fault}; nothing is done by time until it is sane"));
        }
        return decision;
    }
    let mut resets = stuck::Resets::plan(&rules);
    let asked = |t: &&TaskSeen| pass.only.as_ref().is_none_or(|only| *only == t.detail.task.id);
    for t in seen.tasks.iter().filter(asked) {
        let (because, unknown) = match rules.one(t, &mut resets) {
            Verdict::Act(step) => {
                decision.steps.push(*step);
                continue;
            }
            Verdict::Fine => continue,
            Verdict::Leave(because) => (because, false),
            Verdict::Unknown(because) => (because, true),
        };
        decision.left.push(Left { task: t.detail.task.id.clone(), because, unknown });
    }
    decision
}

impl Rules<'_> {
    fn one(&self, t: &TaskSeen, resets: &mut stuck::Resets) -> Verdict {
        let profiles = self.seen.runtime.as_ref().map(|r| r.profiles.as_slice()).unwrap_or_default();
        if word::is_opted_out(&t.detail, profiles) {
            return Verdict::Leave("marked `watchbill: no-heal`".into());
        }
        let row = &t.detail.task;
        match row.status {
            Status::Running => self.running(t),
            Status::Ready | Status::Blocked | Status::Todo if row.claim_lock.is_some() => {
                self.leaked_claim(t)
            }
            Status::Ready => self.jammed(t),
            Status::Blocked => self.gave_up(t, resets),
            Status::Todo => self.unpromoted(t),
            Status::Scheduled => self.held(t),
            _ => Verdict::Fine,
        }
    }

    /// Seconds to wait before acting on a death: a living dispatcher goes first.
    fn grace(&self) -> i64 {
        let Some(runtime) = &self.seen.runtime else { return seconds(self.policy.grace) };
        match runtime.dispatcher {
            super::Dispatcher::Absent => seconds(self.policy.lonely_grace),
            _ => seconds(self.policy.grace).max(3 * runtime.interval),
        }
    }

    fn failure_limit(&self) -> i64 {
        self.seen.runtime.as_ref().map_or(hermes::FAILURE_LIMIT, |r| r.failure_limit)
    }

    fn step(&self, t: &TaskSeen, verb: Verb<'_>, changes: impl FnOnce(&Trail<'_>) -> Vec<Change>) -> Verdict {
        let trail = Trail {
            by: Self::NAME,
            pass: &self.pass.id,
            clock_given: self.pass.clock_given,
            case: verb.case,
            cause: verb.cause,
            because: &verb.because,
            more: verb.more,
        };
        let changes = changes(&trail);
        Verdict::Act(Box::new(Step {
            task: t.detail.task.id.clone(),
            action: verb.action.into(),
            case: verb.case.into(),
            cause: verb.cause,
            expect: Some(Expect::of(&t.detail)),
            proof: verb.proof,
            after: Vec::new(),
            changes,
            because: verb.because,
        }))
    }

    const NAME: &'static str = Heal::NAME;
}

/// The words of one step.
struct Verb<'a> {
    action: &'a str,
    case: &'a str,
    cause: Option<Cause>,
    because: String,
    proof: Option<Proof>,
    more: Map<String, Value>,
}

impl<'a> Verb<'a> {
    fn new(action: &'a str, case: &'a str, because: String) -> Verb<'a> {
        Verb { action, case, cause: None, because, proof: None, more: Map::new() }
    }

    fn cause(mut self, cause: Option<Cause>) -> Self {
        self.cause = cause;
        self
    }

    fn proof(mut self, proof: Option<Proof>) -> Self {
        self.proof = proof;
        self
    }

    fn fact(mut self, key: &str, value: Value) -> Self {
        self.more.insert(key.into(), value);
        self
    }
}

/// A hold's own record: who holds it, why, since when, and when it ends.
fn hold(cause: Cause, key: &str, since: crate::time::Time, until: crate::time::Time) -> Value {
    json!({"owner": Heal::NAME, "cause": cause, "key": key, "since": since.0, "next": until.0, "until": until.0})
}
