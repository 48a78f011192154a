//! Running rows whose worker lives: whether it is well, and what becomes of it where it is not.
//!
//! Gone beats alerts, and unknown beats everything: neither comes here. Of several alerts the worst that is not ignored wins.
//!
//! **A task that needs a person while its worker lives** keeps its claim and its run: the worker may be right and the check
//! wrong, and then its `complete` must succeed. One event with a comment tells the person, once an episode; the task is
//! listed as one that needs a person until the alert is over, which is noted as well, or until something happens to it.
//!
//! **A resume of a living worker** needs it gone first. Only where `heal.allow_stop` is on, and its environment proves who it
//! is, the step carries it as what is to be stopped; the rest of the step is that of a dead worker, counted as one. In every
//! other case a resume is an escalation that says why.

use board::{Event, EventKind, StepAction};
use serde_json::{Value, json};

use super::resume::{self, Warnings};
use super::seen::TaskSeen;
use super::{Rules, Verb, Verdict, count, stopped};
use base::cause::Cause;
use base::quote;
use base::registry::HEAL;
use base::time::{Time, words};
use board::hermes;
use config::span::seconds;
use host::{Look, Target};
use logs::health::{self, Action, Alert, Check};
use logs::vitals::{Turn, Vitals};
use policy::needs_operator;

/// Most bytes of what an alert found that stand in a reason.
const MAX_SAID: usize = 200;
/// Under this key a note of an older worker says whether another one worked beside it.
const BESIDE: &str = "beside";

impl Rules<'_> {
    /// A running row whose worker lives.
    pub(super) fn living(&self, t: &TaskSeen, look: &Look) -> Verdict {
        if look.is_older {
            return self.outlived(t, look);
        }
        let own = self.present(t, look);
        // What is wrong with the present worker is said first, and of two things one is told at a time.
        let is_said = needs_operator::told(&t.detail)
            .is_some_and(|e| needs_operator::key(e) != Some(needs_operator::OLDER_WORKER));
        match &own {
            Verdict::Leave(_) if look.beside.is_some() && !is_said => self.outlived(t, look),
            _ => own,
        }
    }

    /// The same of the worker of the present attempt alone.
    fn present(&self, t: &TaskSeen, look: &Look) -> Verdict {
        let alive = format!("worker alive: {}", look.because);
        let passing = self.stopped(t, look).or_else(|| self.goes_on(t, &alive));
        if let Some(verdict) = passing.or_else(|| self.still_there(t, look)) {
            return verdict;
        }
        if let Some(why) = t.vitals.as_ref().and_then(|vitals| vitals.hidden.as_ref()) {
            return Verdict::Unknown(format!("{alive}; its health is unknown: {why}"));
        }
        let steady = self.seen.steady_since.max(stopped::went_on(t));
        let well = |alive: &str| {
            if let Some(verdict) = self.silent(t, look, steady) {
                return verdict;
            }
            match needs_operator::told(&t.detail).and_then(needs_operator::key) {
                Some(key) if key != needs_operator::OLDER_WORKER || look.beside.is_none() => {
                    self.no_more(t, key, alive)
                }
                _ => Verdict::Leave(alive.to_owned()),
            }
        };
        let Some(vitals) = &t.vitals else { return well(&alive) };
        let alerts = self.alerts(vitals, steady);
        let acting = alerts.iter().find(|a| self.policy.action(a.check) != Action::Ignore);
        let Some(alert) = acting else {
            let ignored: Vec<_> = alerts.iter().map(|a| format!("{} ({})", a.check, said(a))).collect();
            let told =
                if ignored.is_empty() { String::new() } else { format!("; ignored: {}", ignored.join(", ")) };
            return well(&format!("{alive}{told}"));
        };
        if let Some(card) = t.detail.cards.first() {
            let because = format!(
                "{alive}; {}, but its distress card {card} is open; route-blocked owns it",
                alert.check
            );
            return Verdict::Leave(because);
        }
        let found = format!("{}: {}", alert.check, said(alert));
        if self.policy.action(alert.check) == Action::Escalate {
            return self.to_person(t, look, alert.check, &found);
        }
        match &t.target {
            Some(target) if self.policy.allow_stop && !resume::is_capped(t, self.policy) => {
                match self
                    .seen
                    .known_since
                    .filter(|known| !self.is_seen_since(vitals, alert, steady.max(Some(*known))))
                {
                    None => self.resume(t, target, alert.check, &found),
                    Some(known) => {
                        let why = format!(
                            "nothing is remembered from before {}, and the clock may have been set or the machine \
                             suspended then",
                            known.local_moment(self.seen.now)
                        );
                        self.to_person(t, look, alert.check, &format!("{found}; {why}"))
                    }
                }
            }
            Some(_) if self.policy.allow_stop => {
                let found = format!("{found}; too many attempts died since the last success (resume-cap)");
                self.to_person(t, look, alert.check, &found)
            }
            Some(_) => {
                let found =
                    format!("{found}; a resume would have to stop its worker, and heal.allow_stop is off");
                self.to_person(t, look, alert.check, &found)
            }
            None => {
                let why = "a resume would have to stop its worker, which nothing proves to be this process";
                self.to_person(t, look, alert.check, &format!("{found}; {why}"))
            }
        }
    }

    /// What is not well, as if the last sign of life had come no earlier than at that time, when the clock was last set: how long ago
    /// that sign was, nobody knows.
    fn alerts(&self, vitals: &Vitals, steady: Option<Time>) -> Vec<Alert> {
        let mut vitals = vitals.clone();
        if let Some(steady) = steady {
            vitals.active = vitals.active.map(|at| at.max(steady));
            if let Turn::Tool { since } = &mut vitals.turn {
                *since = (*since).max(steady);
            }
        }
        health::alerts(&vitals, self.detect, self.seen.now)
    }

    /// Whether this would be found by what happened since then alone.
    fn is_seen_since(&self, vitals: &Vitals, alert: &Alert, since: Option<Time>) -> bool {
        self.alerts(vitals, since).iter().any(|a| a.check == alert.check)
    }

    /// Tells a person of a worker that lives and is not stopped. Claim and run stay as they are.
    fn to_person(&self, t: &TaskSeen, look: &Look, check: Check, found: &str) -> Verdict {
        let pid = look.worker_pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        let because = format!("{found}; its worker{pid} is not stopped, a person must look");
        let mend = match look.worker_pid {
            Some(pid) => {
                format!("look at what process {pid} does; once it has ended, heal requeues the task")
            }
            None => "look at what its worker does; once it has ended, heal requeues the task".to_owned(),
        };
        let transitions = json!([format!("RUNNING>NEEDS_HUMAN:{}", check.cause())]);
        self.tell_with(t, &check.cause(), because, &mend, [("transitions", transitions)])
    }

    /// A worker that outlived its attempt: no watcher requeues its task under it. That is said once it lasts longer than what a dead
    /// worker leaves behind, and again where the worker beside it has ended since.
    pub(super) fn outlived(&self, t: &TaskSeen, look: &Look) -> Verdict {
        let alive = format!("worker alive: {}", look.because);
        let worker = look.beside.map(|(_, pid)| pid).or(look.worker_pid);
        // The newest one that had this pid.
        let of_pid = || t.detail.workers().into_iter().rev().find(|(_, pid)| worker == Some(*pid));
        let its = look.beside.or_else(of_pid).map(|(run, _)| run);
        let ended = t.detail.runs.iter().find(|r| its == Some(r.id) && r.ended_at.is_some());
        let began = ended.or(t.detail.newest_run()).map(|r| r.ended_at.unwrap_or(r.started_at));
        let since = began.map_or(0, |at| self.seen.now.since(at));
        if began.map_or(0, |at| self.awake_since(at)) < seconds(self.policy.orphan_wait) {
            return Verdict::Leave(alive);
        }
        let told = told_of(t, needs_operator::OLDER_WORKER);
        // Beside its other tasks it comes back here again and again: that is told once in an attempt.
        let is_known = |e: &Event| {
            e.run == t.detail.task.current_run
                && e.by() == Some(HEAL)
                && needs_operator::outlives(e) == worker
        };
        if look.stands_aside && told.is_none() && t.detail.events.iter().any(is_known) {
            return Verdict::Leave(alive);
        }
        let pid = worker.map_or_else(|| "a worker".to_owned(), |pid| format!("process {pid}"));
        let is_beside = look.beside.is_some();
        let does = if is_beside { "still runs beside its worker" } else { "still works on it" };
        let (kept, by) = match () {
            () if look.stands_aside => ("it blocked the task, and nothing waits for its end", ""),
            () if self.seen.own_board => ("nothing is requeued while it runs", ""),
            () => (
                "no watcher requeues it while it runs, but a dispatcher of Hermes may start another worker beside it",
                ", if no dispatcher did",
            ),
        };
        let after = words(since);
        let because = format!("{pid} of an ended attempt {does}, {after} after that attempt ended: {kept}");
        let mend = match look.beside {
            Some((_, pid)) => {
                format!(
                    "look at what process {pid} does, and end it (`kill {pid}`) if it has nothing more to do"
                )
            }
            None => format!("look at what {pid} does; heal goes on with the task once it has ended{by}"),
        };
        let pids: Vec<i64> = worker.into_iter().collect();
        let facts =
            [("transitions", json!([])), (needs_operator::PIDS, json!(pids)), (BESIDE, json!(is_beside))];
        let was_beside = |e: &Event| e.trail().and_then(|trail| trail.get(BESIDE)?.as_bool()) == Some(true);
        if !is_beside && told.is_some_and(was_beside) {
            return self.say(t, needs_operator::OLDER_WORKER, because, &mend, facts);
        }
        self.tell_with(t, needs_operator::OLDER_WORKER, because, &mend, facts)
    }

    /// Says on the board what only a person can judge, once an episode.
    pub(super) fn tell(&self, t: &TaskSeen, key: &str, because: String, mend: &str) -> Verdict {
        self.tell_with(t, key, because, mend, [("transitions", json!([]))])
    }

    /// The same, with these facts in its trail.
    pub(super) fn tell_with<const N: usize>(
        &self,
        t: &TaskSeen,
        key: &str,
        because: String,
        mend: &str,
        facts: [(&str, Value); N],
    ) -> Verdict {
        if let Some(told) = told_of(t, key) {
            let at = told.at.local_moment(self.seen.now);
            return Verdict::Leave(format!("{because}; a person was told at {at}"));
        }
        self.say(t, key, because, mend, facts)
    }

    fn say<const N: usize>(
        &self,
        t: &TaskSeen,
        key: &str,
        because: String,
        mend: &str,
        facts: [(&str, Value); N],
    ) -> Verdict {
        let note = format!("{because}. Nothing was changed. What a person can do: {mend}.");
        let verb = Verb::new(StepAction::Tell, key.into(), because);
        let verb = facts.into_iter().fold(verb, |verb, (key, value)| verb.fact(key, value));
        let run = t.detail.task.current_run.or(t.detail.newest_run().map(|r| r.id));
        self.step(t, verb, |trail| {
            let mut changes =
                vec![hermes::noted_in(run, EventKind::Detected, json!({"key": key, "mend": mend}), trail)];
            changes.extend(hermes::commented(HEAL, &note));
            changes
        })
    }

    /// Notes that what a person was told of is over.
    pub(super) fn no_more(&self, t: &TaskSeen, key: &str, how: &str) -> Verdict {
        let because = format!("{key} is over: {how}");
        let verb = Verb::new(StepAction::Tell, key.into(), because);
        let run = t.detail.task.current_run;
        self.step(t, verb, |trail| {
            vec![hermes::noted_in(run, EventKind::Detected, json!({"key": key, "over": true}), trail)]
        })
    }

    /// Stops the worker and requeues its task.
    fn resume(&self, t: &TaskSeen, target: &Target, check: Check, found: &str) -> Verdict {
        let cause = check.cause();
        let limit = self.failure_limit(&t.detail);
        let (blocks, counted) = count(&t.detail, limit);
        let because = format!("{found}; its worker (pid {}) is stopped ({counted})", target.pid);
        let mut verb = Verb::new(StepAction::Resume, cause.as_str().into(), because)
            .cause(Some(Cause::WorkerGone))
            .stop(target.clone())
            .fact(
                "transitions",
                json!([format!("RUNNING>RESUMING:{cause}"), "RESUMING>PENDING:resume-ready"]),
            );
        if blocks {
            verb.action = StepAction::Block;
            verb = verb.fact("transitions", json!([format!("RUNNING>RESUMING:{cause}")]));
        }
        let pid = t.detail.task.worker_pid;
        self.step(t, verb, |trail| {
            let mut changes = hermes::crashed(&t.detail, pid, limit.unwrap_or(i64::MAX), trail);
            if !blocks {
                changes.extend(resume::told(t, &Warnings::default()));
            }
            changes
        })
    }
}

/// What a person was told under that key, as long as it stands.
fn told_of<'t>(t: &'t TaskSeen, key: &str) -> Option<&'t Event> {
    needs_operator::told(&t.detail).filter(|e| needs_operator::key(e) == Some(key))
}

/// What was found, on one line. It may hold what an agent wrote.
fn said(alert: &Alert) -> String {
    quote::line(&alert.said, MAX_SAID)
}
