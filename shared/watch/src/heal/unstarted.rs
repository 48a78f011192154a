//! Ready rows that newer Hermes does not start, or would start with a heartbeat of another worker.

use super::seen::TaskSeen;
use super::{Rules, Verb, Verdict};
use base::time::{Time, words};
use board::{Detail, Event, EventKind, Rule, StepAction, hermes};
use policy::{authorship, needs_operator};

/// Seconds for which a host may refuse to start a worker before a person is told: Hermes counts no such refusal and tries for ever.
const REFUSED: i64 = 3_600;

impl Rules<'_> {
    pub(super) fn ready(&self, t: &TaskSeen) -> Verdict {
        match self.jammed(t) {
            Verdict::Fine => self.refused_by_host(t).unwrap_or_else(|| self.inherited(t)),
            other => other,
        }
    }

    /// The host refuses to start its worker (Hermes' guard `infrastructure_cooldown`).
    fn refused_by_host(&self, t: &TaskSeen) -> Option<Verdict> {
        let refused = self.seen.now.since(refused_since(&t.detail)?);
        if refused < REFUSED {
            return Some(Verdict::Leave(format!(
                "this host refuses to start its worker, for {}; Hermes tries on",
                words(refused)
            )));
        }
        let error = t.detail.task.last_failure_error.as_deref().unwrap_or("no reason was recorded");
        let because = format!("this host has refused to start its worker for {}: {error}", words(refused));
        let mend = "mend what the reason names on this host; Hermes then starts it by itself";
        Some(self.tell(t, needs_operator::HOST_REFUSES, because, mend))
    }

    /// Clears the heartbeat that the next claim would inherit (hermes-agent #119155): a pass is in time for it in most cases.
    fn inherited(&self, t: &TaskSeen) -> Verdict {
        let row = &t.detail.task;
        let Some(at) = row.last_heartbeat_at.filter(|_| super::seen::inherits(row, self.seen.now)) else {
            return Verdict::Fine;
        };
        let touched = self.touched(&t.detail);
        if self.seen.own_board || self.seen.now.since(touched) < self.grace() {
            return Verdict::Fine;
        }
        let because = format!(
            "its last worker's heartbeat of {} ago would be taken for the next one's silence",
            words(self.seen.now.since(at))
        );
        self.step(t, Verb::new(StepAction::Clear, Rule::InheritedHeartbeat, because), |trail| {
            hermes::heartbeat_cleared(&t.detail, trail)
        })
    }
}

/// Since when the host has refused every start of a task's worker.
fn refused_since(d: &Detail) -> Option<Time> {
    let is_refusal = |e: &Event| {
        e.kind == EventKind::SpawnFailed
            && e.payload.get("infrastructure").and_then(|v| v.as_bool()) == Some(true)
    };
    let goes_on = |e: &&Event| is_refusal(e) || e.kind == EventKind::Claimed || !authorship::is_turn(e);
    d.events.iter().rev().take_while(goes_on).filter(|e| is_refusal(e)).last().map(|e| e.at)
}
