//! Whether a dispatcher works on a board, by what it wrote there of late.

use std::collections::BTreeSet;

use crate::needs_operator::is_nobodys;
use crate::runtime::{Dispatcher, Runtime, gateway};
use crate::{World, authorship};
use base::time::Time;
use board::{Event, EventKind, Status, Task};
use card::is_card;
use config::span::seconds;

/// Most events read for that.
pub const MAX_TICKS: u32 = 4_000;
/// A dispatcher that did something within these seconds is taken for alive.
pub const TICKED: i64 = 600;

/// A dispatcher that cron starts is seen by what it does alone, and does nothing while all places are taken: for so many seconds it
/// is not missed while something runs.
pub const BUSY: i64 = 3_600;

/// How many tasks of these have been ready for one of `known` for so long that a dispatcher would have started them, by the newest
/// events of the board. Cards do not count, nor does what no dispatcher starts: what is for nobody, and what somebody claims.
pub fn waiting(rows: &[Task], known: &[String], events: &[(String, Event)], now: Time) -> usize {
    // Who claimed it made it no readier.
    let is_start = |e: &Event| matches!(e.kind, EventKind::Claimed | EventKind::Spawned);
    let lately = |e: &Event| now.since(e.at) <= TICKED && authorship::is_turn(e) && !is_start(e);
    let turned: BTreeSet<&str> =
        events.iter().filter(|(_, e)| lately(e)).map(|(task, _)| task.as_str()).collect();
    let stands = |t: &&Task| {
        let is_taken = t.assignee.is_none() || t.claim_lock.is_some();
        let is_new = now.since(t.created_at) <= TICKED || turned.contains(t.id.as_str());
        t.status == Status::Ready && !is_taken && !is_new
    };
    let all = rows.iter().filter(|t| !is_card(t)).filter(stands);
    all.filter(|t| !is_nobodys(t.assignee.as_deref(), known, false)).count()
}

/// For how many seconds a dispatcher may do nothing before it is taken for none.
pub fn patience(rows: &[Task], runtime: &Runtime) -> i64 {
    let runs = rows.iter().any(|t| t.status == Status::Running);
    if runs && !runtime.is_daemon { BUSY } else { TICKED }
}

/// Events that only a dispatcher's tick writes, or a hand that does its work.
const TICKS: [EventKind; 12] = [
    EventKind::Claimed,
    EventKind::Spawned,
    EventKind::ClaimExtended,
    EventKind::RespawnGuarded,
    EventKind::Crashed,
    EventKind::ProtocolViolation,
    EventKind::RateLimited,
    EventKind::TimedOut,
    EventKind::Stale,
    EventKind::GaveUp,
    EventKind::Promoted,
    EventKind::Reclaimed,
];

/// Whether a dispatcher left this event.
pub fn is_tick(e: &Event) -> bool {
    e.by().is_none() && TICKS.contains(&e.kind)
}

/// The runtime, with what its newest events tell of its dispatcher.
pub fn runtime(world: &World<'_>, events: &[(String, Event)], now: Time) -> Runtime {
    let mut runtime = (world.runtime)();
    if runtime.dispatcher != Dispatcher::Absent || world.board.is_own() {
        return runtime;
    }
    // A restart takes a moment: for that long a gateway that is gone is one that comes back.
    let long_enough = |since: Time| now.since(since) >= seconds(world.config.heal.lonely_grace);
    let gone = gateway::gone(world.board.id(), world.cache).filter(|g| g.since.is_some_and(long_enough));
    let tick = |e: &Event| is_tick(e) && now.since(e.at) <= TICKED && gone.is_none_or(|g| g.is_not_by(e));
    if events.iter().any(|(_, e)| tick(e)) {
        runtime.dispatcher = Dispatcher::Ticked;
    }
    runtime
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::testing::{NOW, ago, detail, event};

    #[test]
    fn only_work_that_a_dispatcher_would_have_started_waits_for_one() {
        let known = ["luna".to_owned()];
        let row = |change: &dyn Fn(&mut Task)| {
            let mut t = Task { assignee: Some("luna".into()), ..detail("t_00000001", Status::Ready).task };
            t.created_at = ago(9_000);
            change(&mut t);
            t
        };
        let count = |t: Task, seconds: i64| {
            let freed = event("unblocked", seconds, serde_json::json!({"by": "route-blocked"}));
            let claimed = event("claimed", 60, serde_json::json!({}));
            waiting(std::slice::from_ref(&t), &known, &[(t.id.clone(), freed), (t.id.clone(), claimed)], NOW)
        };
        assert_eq!(count(row(&|_| {}), 601), 1);
        assert_eq!(count(row(&|_| {}), 600), 0, "it was set free a moment ago");
        assert_eq!(count(row(&|t| t.created_at = ago(600)), 9_000), 0);
        assert_eq!(count(row(&|t| t.assignee = Some("anna".into())), 9_000), 0, "nobody takes it");
        assert_eq!(count(row(&|t| t.claim_lock = Some("host:7".into())), 9_000), 0, "somebody claims it");
        assert_eq!(count(row(&|t| t.status = Status::Blocked), 9_000), 0);
    }

    #[test]
    fn one_that_cron_starts_is_missed_later_while_something_runs() {
        let runtime = |is_daemon| Runtime {
            dispatcher: Dispatcher::Absent,
            is_daemon,
            failure_limit: 2,
            interval: 60,
            profiles: Vec::new(),
            orchestrator: None,
        };
        let (runs, ready) =
            (detail("t_00000001", Status::Running).task, detail("t_00000002", Status::Ready).task);
        for (rows, is_daemon, want) in [
            (vec![runs.clone(), ready.clone()], false, BUSY),
            (vec![runs, ready.clone()], true, TICKED),
            (vec![ready], false, TICKED),
        ] {
            assert_eq!(patience(&rows, &runtime(is_daemon)), want);
        }
    }
}
