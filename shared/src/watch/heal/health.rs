//! Running rows whose worker lives: whether it is well, and what becomes of it where it is not.
//!
//! Gone beats alerts, and unknown beats everything: neither comes here. Of several alerts the worst that is not ignored wins.
//!
//! **A task that needs a person while its worker lives** is blocked as `hermes kanban block` does: the claim is released and the
//! run ends as `blocked`, in one step with a sticky `blocked` event that names the check. The worker is not killed. So nobody
//! claims the task until a person lifts the block, and what the worker still says meets Hermes' own guards: with its run id
//! it is refused, since that run is over, and nothing it does counts as the next attempt's. To keep the run open instead
//! would leave a claim on a row that does not run, which Hermes never clears and no dispatcher understands (#22926).
//!
//! **A resume of a living worker** needs it gone first. Only where `heal.allow_stop` is on, and its environment proves who it
//! is, the step carries it as what is to be stopped; the rest of the step is that of a dead worker, counted as one. In every
//! other case a resume is an escalation that says why.

use serde_json::json;

use super::resume::{self, Warnings};
use super::seen::TaskSeen;
use super::{Rules, Verb, Verdict};
use crate::board::hermes::{self, Decider};
use crate::cause::Cause;
use crate::health::{self, Action, Alert, Check};
use crate::host::{Look, Target};
use crate::quote;

/// Most bytes of what an alert found that stand in a reason.
const MOST_SAID: usize = 200;

impl Rules<'_> {
    /// A running row whose worker lives.
    pub(super) fn living(&self, t: &TaskSeen, look: &Look) -> Verdict {
        let alive = format!("worker alive: {}", look.because);
        let Some(vitals) = &t.vitals else { return Verdict::Leave(alive) };
        if let Some(why) = &vitals.hidden {
            return Verdict::Unknown(format!("{alive}; how it fares is not known: {why}"));
        }
        let alerts = health::alerts(vitals, self.detect, self.seen.now);
        let acting = alerts.iter().find(|a| self.policy.action(a.check) != Action::Ignore);
        let Some(alert) = acting else {
            let ignored: Vec<_> = alerts.iter().map(|a| format!("{} ({})", a.check, said(a))).collect();
            let told =
                if ignored.is_empty() { String::new() } else { format!("; ignored: {}", ignored.join(", ")) };
            return Verdict::Leave(format!("{alive}{told}"));
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
                self.resume(t, target, alert.check, &found)
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

    /// Blocks the task for a person, once: it does not run any more then.
    fn to_person(&self, t: &TaskSeen, look: &Look, check: Check, found: &str) -> Verdict {
        let pid = look.worker_pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        let because = format!("{found}; its worker{pid} is not stopped, a person must look");
        let cause = check.cause();
        let case = cause.clone();
        let verb = Verb::new("hand-over", &case, because.clone())
            .fact("transitions", json!([format!("RUNNING>NEEDS_HUMAN:{cause}")]));
        let assignee = self.person_for(t);
        let note = format!(
            "Blocked by heal for a person ({cause}): {because}. Look at what the worker does, and stop it before you unblock the \
             task: it may still work in the task's folder."
        );
        self.step(t, verb, |trail| {
            let mut changes =
                hermes::stopped(&t.detail, &because, Decider::Person { why: &cause, assignee }, trail);
            changes.extend(hermes::commented(Self::NAME, &note));
            changes
        })
    }

    /// Stops the worker and puts its task back into the queue.
    fn resume(&self, t: &TaskSeen, target: &Target, check: Check, found: &str) -> Verdict {
        let cause = check.cause();
        let (failures, limit) = (
            t.detail.task.failures.saturating_add(1),
            hermes::breaker(&t.detail.task, self.failure_limit()).0,
        );
        let because =
            format!("{found}; its worker (pid {}) is stopped (failure {failures} of {limit})", target.pid);
        let case = cause.clone();
        let mut verb =
            Verb::new("resume", &case, because).cause(Some(Cause::WorkerGone)).stop(target.clone()).fact(
                "transitions",
                json!([format!("RUNNING>RESUMING:{cause}"), "RESUMING>PENDING:resume-ready"]),
            );
        if failures >= limit {
            verb.action = "block";
            verb = verb.fact("transitions", json!([format!("RUNNING>RESUMING:{cause}")]));
        }
        let pid = t.detail.task.worker_pid;
        self.step(t, verb, |trail| {
            let mut changes = hermes::crashed(&t.detail, pid, self.failure_limit(), trail);
            if failures < limit {
                changes.extend(resume::told(t, &Warnings::default()));
            }
            changes
        })
    }
}

/// What was found, on one line. It may hold what an agent wrote.
fn said(alert: &Alert) -> String {
    quote::line(&alert.said, MOST_SAID)
}
