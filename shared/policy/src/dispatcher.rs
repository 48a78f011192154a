//! Whether a dispatcher works on a board, by what it wrote there of late.

use std::collections::BTreeSet;

use crate::clock::is_within;
use crate::needs_operator::is_nobodys;
use crate::runtime::{Dispatcher, Runtime, gateway};
use crate::{Profiles, World, authorship};
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
pub fn waiting(rows: &[Task], known: &Profiles, events: &[(String, Event)], now: Time) -> usize {
    // Who claimed it made it no readier.
    let is_start = |e: &Event| matches!(e.kind, EventKind::Claimed | EventKind::Spawned);
    let lately = |e: &Event| is_within(e.at, now, TICKED) && authorship::is_turn(e) && !is_start(e);
    let turned: BTreeSet<&str> =
        events.iter().filter(|(_, e)| lately(e)).map(|(task, _)| task.as_str()).collect();
    let stands = |t: &&Task| {
        let is_taken = t.assignee.is_none() || t.claim_lock.is_some();
        let is_new = is_within(t.created_at, now, TICKED) || turned.contains(t.id.as_str());
        t.status == Status::Ready && !is_taken && !is_new
    };
    let all = rows.iter().filter(|t| !is_card(t)).filter(stands);
    all.filter(|t| !is_nobodys(t.assignee.as_deref(), known, false)).count()
}

/// Seconds after which ready work that a living dispatcher does not start needs a person.
pub const PASSED_OVER: i64 = 7_200;

/// Ready tasks that a dispatcher has passed over for that long: it started work of the same profile that comes behind them, or nothing of
/// their profile, while it started what comes behind them or had nothing to run. `events` reach back as far; `started`: the tasks among
/// them that are not open any more. Work that waits for its turn is not meant.
pub fn passed_over(
    rows: &[Task],
    started: &[Task],
    events: &[(String, Event)],
    now: Time,
) -> BTreeSet<String> {
    let is_recent = |e: &Event| is_within(e.at, now, PASSED_OVER);
    let recent = events.iter().filter(|(_, e)| is_recent(e));
    let of = |wanted: fn(&Event) -> bool| -> BTreeSet<&str> {
        recent.clone().filter(|(_, e)| wanted(e)).map(|(task, _)| task.as_str()).collect()
    };
    let (claimed, turned) = (of(|e| e.kind == EventKind::Claimed), of(authorship::is_turn));
    let started: Vec<&Task> =
        rows.iter().chain(started).filter(|t| claimed.contains(t.id.as_str())).collect();
    let runs: Vec<&Task> = rows.iter().filter(|t| t.status == Status::Running).collect();
    let is_left = |t: &&Task| {
        let is_new = is_within(t.created_at, now, PASSED_OVER - 1) || turned.contains(t.id.as_str());
        if t.status != Status::Ready || t.assignee.is_none() || t.claim_lock.is_some() || is_new {
            return false;
        }
        let is_behind = |o: &&&Task| o.priority <= t.priority && o.created_at > t.created_at;
        let is_same = |o: &&&Task| o.assignee == t.assignee;
        let (behind, same) = (started.iter().filter(is_behind), started.iter().chain(&runs).filter(is_same));
        let is_idle = same.count() == 0;
        let has_room = started.is_empty() && runs.is_empty();
        behind.clone().any(|o| is_same(&o)) || (is_idle && (has_room || behind.count() > 0))
    };
    rows.iter().filter(is_left).map(|t| t.id.clone()).collect()
}

/// Seconds after which ready work on a board without a dispatcher needs a person, where no worker of its profile is at work.
const UNCLAIMED: i64 = 3_600;

/// Ready tasks of a board without a dispatcher that nobody has claimed for that long, while nobody claimed or worked on anything else of
/// their profile. `started` as with [`passed_over`]; what is for no profile any worker may take.
pub fn unclaimed(rows: &[Task], started: &[Task], events: &[(String, Event)], now: Time) -> BTreeSet<String> {
    let lately = events.iter().filter(|(_, e)| is_within(e.at, now, UNCLAIMED - 1) && authorship::is_turn(e));
    let turned: BTreeSet<&str> = lately.clone().map(|(task, _)| task.as_str()).collect();
    let claimed: BTreeSet<&str> =
        lately.filter(|(_, e)| e.kind == EventKind::Claimed).map(|(task, _)| task.as_str()).collect();
    let is_at_work = |t: &&Task| t.status == Status::Running || claimed.contains(t.id.as_str());
    let at_work: Vec<&Task> = rows.iter().chain(started).filter(is_at_work).collect();
    let is_left = |t: &&Task| {
        let is_new = is_within(t.created_at, now, UNCLAIMED - 1) || turned.contains(t.id.as_str());
        let is_same = |o: &&Task| t.assignee.is_none() || o.assignee.is_none() || o.assignee == t.assignee;
        t.status == Status::Ready && t.claim_lock.is_none() && !is_new && !at_work.iter().any(is_same)
    };
    rows.iter().filter(is_left).map(|t| t.id.clone()).collect()
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
    let tick = |e: &Event| is_tick(e) && is_within(e.at, now, TICKED) && gone.is_none_or(|g| g.is_not_by(e));
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
        let known = ["luna"].into_iter().collect();
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
        assert_eq!(count(row(&|t| t.created_at = ago(-9_000)), -9_000), 1, "nothing from the future is new");
        assert_eq!(count(row(&|t| t.assignee = Some("anna".into())), 9_000), 0, "nobody takes it");
        assert_eq!(count(row(&|t| t.claim_lock = Some("host:7".into())), 9_000), 0, "somebody claims it");
        assert_eq!(count(row(&|t| t.status = Status::Blocked), 9_000), 0);
    }

    #[test]
    fn what_a_dispatcher_passes_over_is_no_work_that_waits_for_its_turn() {
        let row = |id: &str, status: Status, who: &str, created: i64| {
            let t = detail(id, status).task;
            Task { assignee: Some(who.into()), created_at: ago(created), ..t }
        };
        let left = row("t_00000001", Status::Ready, "luna", 9_000);
        let claimed =
            |id: &str, seconds: i64| (id.to_owned(), event("claimed", seconds, serde_json::json!({})));
        let is_left = |others: &[Task], done: &[Task], events: &[(String, Event)]| {
            let rows: Vec<Task> = std::iter::once(left.clone()).chain(others.iter().cloned()).collect();
            passed_over(&rows, done, events, NOW).contains("t_00000001")
        };
        let other = |status: Status, who: &str, created: i64| row("t_00000002", status, who, created);
        let started = [claimed("t_00000002", 60)];
        assert!(is_left(&[], &[], &[]), "there is nothing else to run");
        assert!(!is_left(&[other(Status::Running, "sol", 9_900)], &[], &[]), "all places may be taken");
        assert!(!is_left(&[other(Status::Running, "luna", 9_900)], &[], &started), "that was its turn");
        assert!(
            is_left(&[other(Status::Running, "luna", 600)], &[], &started),
            "what came later was started"
        );
        assert!(is_left(&[], &[other(Status::Done, "luna", 600)], &started));
        assert!(is_left(&[other(Status::Running, "sol", 600)], &[], &started), "its profile does nothing");
        let more = [row("t_00000003", Status::Running, "luna", 9_900), other(Status::Running, "sol", 600)];
        assert!(!is_left(&more, &[], &started), "its profile is at work");
        let urgent = Task { priority: 9, ..other(Status::Running, "luna", 600) };
        assert!(!is_left(&[urgent], &[], &started), "what is more urgent goes first");
        let freed = ("t_00000001".to_owned(), event("unblocked", 7_000, serde_json::json!({})));
        assert!(!is_left(&[], &[], &[freed]), "it was set free since");
        let freed = ("t_00000001".to_owned(), event("unblocked", -9_000, serde_json::json!({})));
        assert!(is_left(&[], &[], &[freed]), "nothing from the future is new");
    }

    #[test]
    fn what_no_worker_claims_for_an_hour_is_left_where_none_is_at_work() {
        let row = |id: &str, status: Status, who: Option<&str>, created: i64| {
            let t = detail(id, status).task;
            Task { assignee: who.map(str::to_owned), created_at: ago(created), ..t }
        };
        let claimed =
            |seconds: i64| ("t_00000002".to_owned(), event("claimed", seconds, serde_json::json!({})));
        let left = |t: Task, others: &[Task], events: &[(String, Event)]| {
            let id = t.id.clone();
            unclaimed(&[&[t], others].concat(), &[], events, NOW).contains(&id)
        };
        let ready = |created: i64| row("t_00000001", Status::Ready, Some("luna"), created);
        let other = |status: Status, who: Option<&str>| [row("t_00000002", status, who, 9_000)];
        assert!(left(ready(3_600), &[], &[]) && !left(ready(3_599), &[], &[]));
        assert!(!left(ready(9_000), &other(Status::Running, Some("luna")), &[]), "its worker is busy");
        assert!(left(ready(9_000), &other(Status::Running, Some("sol")), &[]));
        assert!(!left(ready(9_000), &other(Status::Running, None), &[]), "any worker may be hers");
        assert!(!left(ready(9_000), &other(Status::Todo, Some("luna")), &[claimed(3_599)]));
        assert!(left(ready(9_000), &other(Status::Todo, Some("luna")), &[claimed(3_600)]));
    }

    #[test]
    fn one_that_cron_starts_is_missed_later_while_something_runs() {
        let runtime = |is_daemon| Runtime {
            dispatcher: Dispatcher::Absent,
            is_daemon,
            failure_limit: Some(2),
            interval: 60,
            profiles: Profiles::default(),
            orchestrator: None,
            unlisted: Vec::new(),
            unreadable: None,
            auto_decompose: None,
            review_dispatch: None,
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
