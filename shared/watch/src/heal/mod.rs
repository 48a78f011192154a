//! `heal`: requeues what dead workers left behind, resets infrastructure crash loops, clears jams and leaked claims,
//! and says so once when it was reset too often.
//!
//! It signals a process only where the configuration allows it and the process itself proves to be the worker. It never lifts
//! a block that was made outside Watchbill, and never raises a cap. Work whose last attempt ended on a provider's or a
//! configuration's error is not its business: it only ends the dead claim and holds the task.

mod exited;
mod gone;
mod health;
mod history;
mod observe;
mod resume;
mod running;
pub mod seen;
mod silent;
mod stopped;
mod stuck;
#[cfg(test)]
mod tests;
mod unstarted;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use self::gone::Hosts;
use self::seen::{Seen, TaskSeen};
use super::watcher::{Spec, Watcher};
use base::cause::Cause;
use base::error::Result;
use base::registry::HEAL;
use base::time::{Time, words};
use board::hermes::{self, Trail};
use board::{Change, Detail, Event, EventKind, Rule, Status, Step, StepAction};
use card::packet::Packet;
use config::span::seconds;
use config::{Config, Detect, Heal as Policy};
use host::{Proof, Target};
use policy::attempts::ended;
use policy::runtime::Dispatcher;
use policy::{Decision, Left, OtherPolicy, Pass, Profiles, Said, Stuck, World, authorship, said};

/// The watcher.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heal;

impl Watcher for Heal {
    type Seen = Seen;
    const SPEC: Spec =
        Spec::of_round("Requeue tasks of dead workers, reset crash loops, clear jams and leaked claims");
    const ACTIONS: &'static [StepAction] = &[
        StepAction::Block,
        StepAction::Clear,
        StepAction::Escalate,
        StepAction::HandOver,
        StepAction::Note,
        StepAction::Park,
        StepAction::Promote,
        StepAction::Release,
        StepAction::Requeue,
        StepAction::Reset,
        StepAction::Resume,
        StepAction::Tell,
    ];
    const RULES: &'static [Rule] = &[
        Rule::AskingWorker,
        Rule::CrashLoop,
        Rule::DeadWorker,
        Rule::DispatcherRestart,
        Rule::ExitedWorker,
        Rule::GuardJam,
        Rule::Health,
        Rule::HoldOver,
        Rule::HostGone,
        Rule::HostRefuses,
        Rule::InheritedHeartbeat,
        Rule::LeakedClaim,
        Rule::LogUnreadable,
        Rule::NoDecision,
        Rule::NoPid,
        Rule::OlderWorker,
        Rule::OrphanRow,
        Rule::RecycledPid,
        Rule::ResumeCap,
        Rule::SessionOrphaned,
        Rule::SilentWorker,
        Rule::StoppedWorker,
        Rule::TreeDrift,
        Rule::UnexplainedBlock,
        Rule::Unpromoted,
        Rule::WorkerGone,
    ];

    fn new(_origin: &BTreeMap<String, String>) -> Heal {
        Heal
    }

    fn observe(&self, world: &mut World<'_>, pass: &Pass) -> Result<Seen> {
        observe::observe(world, pass)
    }

    fn decide(&self, seen: &Seen, pass: &Pass, config: &Config) -> Decision {
        decide(seen, pass, config)
    }

    fn silence(detail: &Detail, now: Time) -> String {
        let t = &detail.task;
        let said = match t.status {
            Status::Running => {
                let heard = t.last_heartbeat_at.max(t.started_at).unwrap_or(t.created_at);
                return format!("heard from {} ago: too lately to look closer", words(now.since(heard)));
            }
            Status::Ready => "no claim was left on it, and no failure text keeps the dispatcher from it",
            Status::Blocked => "blocked without a failure: an operator or agent decides",
            Status::Todo => "it waits its turn",
            Status::Review => "a reviewer has it",
            Status::Triage => "no worker died on what is in triage",
            Status::Scheduled => "no watcher holds it",
            Status::Done | Status::Archived | Status::Other(_) => "nothing is to be done",
        };
        said.to_owned()
    }

    fn under(seen: &mut Seen, other: &OtherPolicy<'_>) {
        // Leases are as they were seen: a moment so late that hosts would have renewed them finds this one out of date as well.
        let later = other.at.since(seen.now);
        if let Some(hosts) = &mut seen.hosts {
            hosts.attended.now = hosts.attended.now.plus(later);
        }
        seen.now = other.at;
        seen.quiet_until = other.policy.routing.quiet_until(other.at);
    }
}

/// What one candidate comes to.
enum Verdict {
    /// Change it.
    Act(Box<Step>),
    /// Leave it, for this reason.
    Leave(String),
    /// Leave it, for this reason, and nobody else goes on with it.
    Stuck(String, Stuck),
    /// Leave it until then, for this reason.
    Wait(String, Time),
    /// Leave it, because something is not known.
    Unknown(String),
    /// The same: its log is on another host.
    Elsewhere(String),
    /// The same, and tell the operator: what stops it does not pass by itself.
    Blind(String),
    /// Nothing is wrong with it.
    Fine,
}

/// What every rule may look at.
struct Rules<'a> {
    seen: &'a Seen,
    pass: &'a Pass,
    policy: &'a Policy,
    detect: &'a Detect,
    hosts: Option<Hosts<'a>>,
    person: Option<&'a str>,
}

/// What the next attempt at a task would be told now, with the task itself; `None`: there is no such task.
///
/// # Errors
/// The board cannot be read.
pub fn handover(world: &mut World<'_>, pass: &Pass, id: &str) -> Result<Option<(Detail, Packet)>> {
    let config = world.config;
    let Some(mut seen) = observe::one(world, pass, id)? else { return Ok(None) };
    let Some(t) = seen.tasks.pop() else { return Ok(None) };
    let rules =
        Rules { seen: &seen, pass, policy: &config.heal, detect: &config.detect, hosts: None, person: None };
    let packet = resume::now(&t, &rules);
    Ok(Some((t.detail, packet)))
}

/// Most workers stopped in one pass: each may take its time to end.
const MAX_STOPS: usize = 4;

/// Decides on everything that was seen. Pure: the same facts give the same steps.
pub fn decide(seen: &Seen, pass: &Pass, config: &Config) -> Decision {
    let person = config.people.assignee.as_deref();
    let hosts = Hosts::of(seen, &config.host);
    let rules = Rules { seen, pass, policy: &config.heal, detect: &config.detect, hosts, person };
    let mut stops = 0;
    let mut decision = Decision::default();
    let asked = |t: &&TaskSeen| pass.only.as_ref().is_none_or(|only| *only == t.detail.task.id);
    if let Some(fault) = &seen.clock_fault {
        let runs = seen.tasks.iter().filter(asked).filter(|t| t.detail.task.status == Status::Running);
        let left = runs.map(|t| Left::new(&t.detail.task.id, fault).unknown());
        return Decision { left: left.collect(), ..Decision::of_broken_clock(fault, !seen.tasks.is_empty()) };
    }
    let mut resets = stuck::Resets::plan(&rules);
    for t in seen.tasks.iter().filter(asked) {
        let left = |because: String| Left::new(&t.detail.task.id, because);
        let left = match rules.one(t, &mut resets) {
            Verdict::Act(step) if step.stop.is_some() && stops == MAX_STOPS => {
                left("its worker is stopped in a later pass: so many at once take too long".to_owned())
            }
            Verdict::Act(step) => {
                stops += usize::from(step.stop.is_some());
                decision.steps.push(*step);
                continue;
            }
            Verdict::Fine => continue,
            Verdict::Leave(because) => left(because),
            Verdict::Stuck(because, stuck) => left(because).stuck(stuck),
            Verdict::Wait(because, until) => left(because).until(Some(until)),
            Verdict::Unknown(because) => left(because).unknown(),
            Verdict::Elsewhere(because) => left(because).elsewhere(),
            Verdict::Blind(because) => {
                let id = &t.detail.task.id;
                decision.find(id, format!("{id}: {because}"));
                left(because).unknown()
            }
        };
        decision.left.push(left);
    }
    decision.findings.extend(seen.runtime.as_ref().and_then(|r| r.unreadable.as_ref()).map(|why| {
        let said = format!("{why}: the failure limit is not known, and no task is given up by the default");
        Said::of(said::Kind::Unread, said)
    }));
    let told = rules
        .hosts
        .iter()
        .flat_map(|hosts| hosts.findings(seen.tasks.iter().filter(asked), pass.only.is_none()));
    decision.findings.extend(told);
    for t in seen.tasks.iter().filter(asked) {
        if let Some(said) = gone::told_left(t) {
            decision.find(&t.detail.task.id, said);
        }
    }
    decision
}

/// Whether one more failure reaches the limit, and both in words.
fn count(d: &Detail, limit: Option<i64>) -> (bool, String) {
    let failures = d.task.failures.saturating_add(1);
    let most = limit.map_or_else(|| "a limit that is not known".to_owned(), |limit| limit.to_string());
    (limit.is_some_and(|limit| failures >= limit), format!("failure {failures} of {most}"))
}

impl Rules<'_> {
    fn one(&self, t: &TaskSeen, resets: &mut stuck::Resets) -> Verdict {
        let profiles = Profiles::of(self.seen.runtime.as_ref());
        if let Some(why) = authorship::hands_off(&t.detail, profiles, self.person, self.seen.now) {
            return self.let_go(t, profiles).unwrap_or(Verdict::Leave(why));
        }
        let row = &t.detail.task;
        match row.status {
            Status::Running => self.running(t),
            Status::Ready | Status::Blocked | Status::Todo if row.claim_lock.is_some() => {
                self.leaked_claim(t)
            }
            Status::Ready => self.ready(t),
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
            Dispatcher::Absent => seconds(self.policy.lonely_grace),
            _ => seconds(self.policy.grace).max(3 * runtime.interval),
        }
    }

    /// Who gets a task that needs a person. A card stays its orchestrator's: reassigned, it would only be returned.
    fn person_for(&self, t: &TaskSeen) -> Option<&str> {
        let row = &t.detail.task;
        self.person.filter(|_| !row.is_card())
    }

    /// The failures at which a task is given up: its own limit, else its board's, else the one at which it was given up before; `None`
    /// where that is unknown. Then a failure is counted, and the dispatcher, which knows the limit, gives up.
    fn failure_limit(&self, d: &Detail) -> Option<i64> {
        let board = self.seen.runtime.as_ref().map_or(Some(hermes::FAILURE_LIMIT), |r| r.failure_limit);
        let gave_up = |e: &&Event| {
            e.kind == EventKind::GaveUp
                && e.payload.get("limit_source").and_then(|v| v.as_str()) == Some("dispatcher")
        };
        let recorded = || d.events.iter().rfind(gave_up)?.payload.get("effective_limit")?.as_i64();
        d.task.max_retries.or(board).or_else(recorded)
    }

    fn step(&self, t: &TaskSeen, mut verb: Verb, changes: impl FnOnce(&Trail<'_>) -> Vec<Change>) -> Verdict {
        ended::explain(&t.detail, t.refused.iter().copied(), &mut verb.more);
        let (cause, more) = (verb.cause, verb.more);
        let trail = Trail { cause, more, ..self.pass.trail(verb.case.clone(), &verb.because) };
        let step = Step::on(&t.detail, verb.action, verb.case, changes(&trail));
        Verdict::Act(Box::new(Step {
            cause,
            because: verb.because,
            proof: verb.proof,
            stop: verb.stop,
            ..step
        }))
    }
}

/// The words of one step.
struct Verb {
    action: StepAction,
    case: Rule,
    cause: Option<Cause>,
    because: String,
    proof: Option<Proof>,
    stop: Option<Target>,
    more: Map<String, Value>,
}

impl Verb {
    fn new(action: StepAction, case: Rule, because: String) -> Verb {
        Verb { action, case, cause: None, because, proof: None, stop: None, more: Map::new() }
    }

    fn cause(mut self, cause: Option<Cause>) -> Self {
        self.cause = cause;
        self
    }

    fn proof(mut self, proof: Option<Proof>) -> Self {
        self.proof = proof;
        self
    }

    fn stop(mut self, target: Target) -> Self {
        self.stop = Some(target);
        self
    }

    fn fact(mut self, key: &str, value: Value) -> Self {
        self.more.insert(key.into(), value);
        self
    }
}

/// A hold's own record: who holds it, why, since when, and when it ends.
fn hold(cause: Cause, key: &str, since: base::time::Time, until: base::time::Time) -> Value {
    json!({"owner": HEAL, "cause": cause, "key": key, "since": since.0, "next": until.0, "until": until.0})
}
