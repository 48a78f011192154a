//! The table of cases: facts in, verb and reason out.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::seen::{Recent, Seen, TaskSeen, suspect};
use super::{Policy, decide, history};
use base::cause::Cause;
use base::time::Time;
use board::testing::{self, NOW, ago, detail, event};
use board::{CardMade, Change, Comment, Detail, Event, EventKind, Kin, Run, Status, Task};
use config::Config;
use config::span::seconds;
use host::{HostFacts, Life, Look, Orphan, Proof};
use logs::{Evidence, LogEnd};
use policy::needs_operator;
use policy::runtime::{Dispatcher, Runtime};
use policy::{Decision, Pass};

fn policy() -> Policy {
    Config::default().heal
}

fn config() -> Config {
    Config::default()
}

fn pass() -> Pass {
    Pass { id: "p".into(), program: "heal", now: NOW, clock_given: false, only: None, dry: false }
}

fn ours(kind: &str, seconds: i64, trail: Value) -> Event {
    event(kind, seconds, json!({"by": "heal", "watchbill": trail}))
}

fn run(id: i64, began: i64, ended: Option<i64>, outcome: Option<&str>) -> Run {
    Run { started_at: ago(began), ended_at: ended.map(ago), ..testing::run(id, "luna", outcome) }
}

fn blank(status: Status) -> TaskSeen {
    let mut detail = detail("t_00000001", status);
    detail.task.priority = 0;
    detail.task.created_at = ago(90_000);
    detail.events = vec![event("created", 90_000, json!({"status": "ready"}))];
    TaskSeen {
        detail,
        claim_here: true,
        abroad: None,
        left_here: None,
        worker: None,
        log: LogEnd::Absent,
        log_at: None,
        left: None,
        frozen: None,
        stopped_since: None,
        refused: Vec::new(),
        left_open: Vec::new(),
        gone_since: None,
        over_since: None,
        unreadable_since: None,
        output_at: None,
        vitals: None,
        target: None,
        session: None,
        resume: None,
    }
}

fn look(life: Life) -> Look {
    let proof = Proof {
        task: "t_00000001".into(),
        run: Some(1),
        pid: Some(42),
        start_ticks: None,
        boot_id: "b".into(),
        namespace: None,
        workers: Vec::new(),
    };
    Look {
        life,
        because: "as seen".into(),
        worker_pid: None,
        is_older: false,
        beside: None,
        stands_aside: false,
        stopped: Vec::new(),
        orphans: Vec::new(),
        claimer: Life::Alive,
        proof: (life == Life::Gone).then_some(proof),
    }
}

/// The note of a death that was seen so long ago, of an attempt that was last heard from at `heard`.
fn death(seconds: i64, heard: i64) -> Event {
    let trail = json!({"case": "worker-gone", "heard": ago(heard).0});
    Event { run: Some(1), ..ours("watchbill_detected", seconds, trail) }
}

/// Claimed and spawned `began` seconds ago by a claimer that still lives.
fn running(life: Life, began: i64) -> TaskSeen {
    let mut t = blank(Status::Running);
    t.detail.task.claim_lock = Some("host:7".into());
    t.detail.task.claim_expires = Some(NOW.plus(600));
    t.detail.task.worker_pid = Some(42);
    t.detail.task.current_run = Some(1);
    t.detail.task.started_at = Some(ago(began));
    t.detail.runs = vec![run(1, began, None, None)];
    t.detail.events.push(event("claimed", began, json!({"lock": "host:7"})));
    t.worker = Some(look(life));
    t
}

#[test]
fn only_hermes_own_spawn_of_this_run_says_when_its_worker_began() {
    let spawned = |run, seconds, by: &str| {
        let payload = if by.is_empty() { json!({"pid": 42}) } else { json!({"by": by}) };
        Event { run: Some(run), ..event("spawned", seconds, payload) }
    };
    for (events, since, hermes) in [
        (vec![spawned(1, 250, "")], 250, true),
        (vec![spawned(1, 250, ""), Event { run: Some(1), ..event("heartbeat", 9, json!({})) }], 250, true),
        (vec![spawned(1, 250, "board")], 300, false),
        (vec![spawned(2, 250, "")], 300, false),
        (vec![], 300, false),
    ] {
        let mut t = running(Life::Alive, 300);
        t.detail.events.extend(events.clone());
        let ask = policy::attempts::worker::ask(&t.detail).unwrap();
        assert_eq!((ask.since, ask.hermes_spawned), (ago(since), hermes), "{events:?}");
    }
}

#[test]
fn of_what_does_not_run_only_its_newest_claimer_is_asked_for() {
    let mut t = detail("t_00000001", Status::Blocked);
    assert_eq!(policy::attempts::worker::ask(&t), None, "nobody ever claimed it");
    t.events.push(event("claimed", 700, json!({"lock": "box:41"})));
    t.events.push(event("claimed", 500, json!({"lock": "box:42"})));
    for status in [Status::Blocked, Status::Ready, Status::Todo] {
        t.task.status = status;
        let ask = policy::attempts::worker::ask(&t).unwrap();
        assert_eq!((ask.claim_host.as_deref(), ask.claimer_pid, ask.pid), (Some("box"), Some(42), None));
        assert_eq!((ask.since, ask.hermes_spawned), (ago(500), false));
    }
    t.task.claim_lock = Some("barn:43".into());
    assert_eq!(
        policy::attempts::worker::ask(&t).unwrap().claim_host.as_deref(),
        Some("barn"),
        "a claim that leaked"
    );
    t.task.status = Status::Scheduled;
    assert_eq!(policy::attempts::worker::ask(&t).unwrap().claim_host.as_deref(), Some("barn"));
    t.task.claim_lock = None;
    assert_eq!(policy::attempts::worker::ask(&t), None, "held, and nobody claims it");
    t.task.claim_lock = Some("barn:43".into());
    for status in [Status::Done, Status::Archived, Status::Triage] {
        t.task.status = status;
        assert_eq!(policy::attempts::worker::ask(&t), None);
    }
}

#[test]
fn what_was_recorded_of_a_workers_start_is_asked_for() {
    let birth = host::Birth { boot: host::Boot::Id("b".into()), ticks: 77 };
    let mut t = running(Life::Alive, 300);
    assert_eq!(policy::attempts::worker::ask(&t.detail).unwrap().birth, None);
    t.detail.events[1].payload["watchbill"] = json!({"birth": birth});
    assert_eq!(policy::attempts::worker::ask(&t.detail).unwrap().birth, Some(birth));
}

#[test]
fn a_blocked_task_that_is_asked_for_is_looked_at_among_all_that_are_blocked() {
    let row = |id: &str, status: Status| detail(id, status).task.clone();
    let rows = [
        row("t_a", Status::Blocked),
        row("t_b", Status::Running),
        row("t_c", Status::Blocked),
        row("t_d", Status::Ready),
    ];
    for (only, want) in [
        (None, "t_a t_b t_c t_d"),
        (Some("t_a"), "t_a t_c"),
        (Some("t_b"), "t_b"),
        (Some("t_d"), "t_d"),
        (Some("t_e"), ""),
    ] {
        let ids: Vec<&str> = super::observe::meant(&rows, only).map(|t| t.id.as_str()).collect();
        assert_eq!(ids.join(" "), want, "{only:?}");
    }
}

#[test]
fn only_our_own_resets_count_in_a_storm() {
    let of = |kind: &str, by: Value| ("t_00000001".to_owned(), event(kind, 9, json!({"by": by})));
    let all = vec![
        of("unblocked", json!("heal")),
        of("unblocked", json!("anna")),
        of("unblocked", Value::Null),
        of("crashed", json!("heal")),
    ];
    let kept = super::observe::recent(all.clone());
    assert_eq!(kept.iter().map(|r| &r.event).collect::<Vec<_>>(), [&all[0].1]);
}

/// Given up `since` seconds ago with this text.
fn given_up(error: &str, since: i64) -> TaskSeen {
    let mut t = blank(Status::Blocked);
    t.detail.task.failures = 2;
    t.detail.task.last_failure_error = Some(error.into());
    t.detail.runs = vec![run(1, since + 60, Some(since), Some("crashed"))];
    t.detail.events.push(event("claimed", since + 60, json!({"lock": "host:7"})));
    t.detail.events.push(event(
        "gave_up",
        since,
        json!({"failures": 2, "effective_limit": 2, "limit_source": "dispatcher", "error": error}),
    ));
    t.worker = Some(look(Life::Gone));
    t
}

fn jammed(error: &str) -> TaskSeen {
    let mut t = blank(Status::Ready);
    t.detail.task.failures = 1;
    t.detail.task.last_failure_error = Some(error.into());
    t.detail.runs = vec![run(1, 4_000, Some(3_900), Some("crashed"))];
    t
}

fn ended(cause: Cause) -> LogEnd {
    LogEnd::Ended(Evidence::new(cause, 0))
}

fn seen(tasks: Vec<TaskSeen>) -> Seen {
    Seen {
        now: NOW,
        host: Some(HostFacts {
            hostname: "host".into(),
            boot_id: "b".into(),
            boot_time: ago(500_000),
            init_ticks: Some(1),
            initial_pid_namespace: true,
            pid_namespace: "pid:[1]".into(),
            sees_all: true,
            is_time_shifted: false,
        }),
        runtime: Some(Runtime {
            is_daemon: true,
            failure_limit: Some(2),
            profiles: ["luna", "nova"].into_iter().collect(),
            auto_decompose: Some(true),
            review_dispatch: Some(true),
            ..Runtime::absent()
        }),
        glanced: 1,
        own_board: false,
        clock_fault: None,
        steady_since: None,
        known_since: None,
        hosts: None,
        refused_keys: std::collections::BTreeSet::new(),
        answered: Vec::new(),
        quiet_until: None,
        tasks,
        recent: Vec::new(),
        probes: Vec::new(),
    }
}

fn decided(t: TaskSeen) -> Decision {
    decide(&seen(vec![t]), &pass(), &config())
}

/// `verb case: because`, or `- because`, or `? because` for what is unknown, or nothing at all.
#[track_caller]
fn line(d: &Decision) -> String {
    assert!(d.steps.len() + d.left.len() <= 1, "{d:?}");
    if let Some(s) = d.steps.first() {
        return format!("{} {}: {}", s.action, s.case, s.because);
    }
    let left = d.left.first().map(|l| format!("{} {}", if l.unknown { "?" } else { "-" }, l.because));
    left.unwrap_or_default()
}

#[track_caller]
fn says(t: TaskSeen, want: &str) {
    let got = line(&decided(t));
    assert!(got.starts_with(want) && (want.is_empty() == got.is_empty()), "wanted {want:?}\n   got {got:?}");
}

fn kinds(d: &Decision) -> String {
    let event = |c: &Change| match c {
        Change::AddEvent { kind, .. } => Some(kind.to_string()),
        _ => None,
    };
    d.steps.iter().flat_map(|s| s.changes.iter().filter_map(event)).collect::<Vec<_>>().join(" ")
}

fn status_after(d: &Decision) -> Option<Status> {
    d.steps.first()?.changes.iter().find_map(|c| match c {
        Change::SetStatus(s) => Some(s.clone()),
        _ => None,
    })
}

macro_rules! with {
    ($make:expr, |$t:ident| $($edit:tt)*) => {{ let mut $t = $make; { $($edit)* } $t }};
}

// Below the macro they use.
mod gone;
mod living;
mod resume;
mod session;

#[test]
fn dead_workers() {
    says(running(Life::Alive, 900), "- worker alive");
    says(running(Life::Unknown, 900), "? worker unknown: as seen");
    says(
        running(Life::Gone, 900),
        "requeue dead-worker: worker 42 gone, last heard from 15m ago (failure 1 of 2)",
    );
    says(running(Life::Gone, 20), "- worker gone, but only quiet for 20s");
    let beat = with!(running(Life::Gone, 900), |t| t.detail.task.last_heartbeat_at = Some(ago(10)));
    says(beat, "- worker gone, but only quiet for 10s");
    let wrote = with!(running(Life::Gone, 900), |t| t.log_at = Some(ago(5)));
    says(wrote, "- worker gone, but only quiet for 5s");
    // A heartbeat of an earlier attempt does not count as a sign of life of this one.
    let older = with!(running(Life::Gone, 900), |t| t.detail.task.last_heartbeat_at = Some(ago(5_000)));
    says(older, "requeue dead-worker: worker 42 gone, last heard from 15m ago");
    let none = with!(running(Life::Gone, 900), |t| t.worker = None);
    says(none, "? its worker could not be looked at");
}

#[test]
fn what_others_write_into_the_log_of_a_dead_worker_is_waited_for_as_long_as_its_children() {
    let grows = |seen_gone: Option<i64>| {
        with!(running(Life::Gone, 7_200), |t| {
            t.log_at = Some(ago(1));
            t.gone_since = seen_gone.map(ago);
        })
    };
    says(grows(None), "- worker gone, but only quiet for 1s");
    says(grows(Some(899)), "- worker gone, but only quiet for 1s");
    says(grows(Some(900)), "requeue dead-worker: worker 42 gone, last heard from 2h ago (failure 1 of 2)");
    // What the board says counts where our memory was lost.
    let noted = with!(grows(None), |t| t.detail.events.push(death(900, 7_200)));
    says(noted, "requeue dead-worker");
    let orphan = || vec![Orphan { pid: 77, command: "vite".into(), run: None }];
    let child = |seen: i64| with!(grows(Some(seen)), |t| t.worker.as_mut().unwrap().orphans = orphan());
    says(child(0), "note worker-gone: worker gone, waiting up to 15m for its child 77 (vite) to end");
    let noted = |seen: i64| with!(child(seen), |t| t.detail.events.push(death(seen, 7_200)));
    says(noted(899), "- worker gone, waiting up to 1s for its child 77");
    says(
        noted(900),
        "requeue dead-worker: worker 42 gone, last heard from 2h ago; its children still run: 77",
    );
    // A log that nobody can read is given up in time, too, though it grows.
    let unreadable = |seen: i64| with!(grows(Some(seen)), |t| t.log = LogEnd::Unreadable("no".into()));
    says(unreadable(900), "? worker 42 gone, but its log cannot be read");
    let long = with!(unreadable(30_000), |t| {
        t.detail.task.started_at = Some(ago(30_000));
        t.detail.runs[0].started_at = ago(30_000);
    });
    says(long.clone(), "hand-over log-unreadable");
    // A machine that was off all night could not read it either.
    says(
        with!(long.clone(), |t| t.unreadable_since = Some(ago(60))),
        "? worker 42 gone, but its log cannot be read",
    );
    says(with!(long, |t| t.unreadable_since = Some(ago(21_600))), "hand-over log-unreadable");
}

#[test]
fn heartbeats_for_a_dead_worker_are_told_once() {
    let beats = |seen_gone: i64| {
        with!(running(Life::Gone, 90_000), |t| {
            t.gone_since = Some(ago(seen_gone));
            t.detail.task.last_heartbeat_at = Some(ago(5));
        })
    };
    says(beats(1_000), "- worker gone, but only quiet for 5s");
    // What sends them may be its child; its death is not noted in each pass.
    let child = |notes: usize| {
        with!(beats(60), |t| {
            let orphan = Orphan { pid: 77, command: "beats".into(), run: None };
            t.worker.as_mut().unwrap().orphans = vec![orphan];
            t.detail.events.extend((0..notes).map(|_| death(60, 90_000)));
        })
    };
    says(child(2), "note worker-gone: worker gone, waiting up to 14m for its child 77 (beats) to end");
    says(child(3), "- worker gone, but only quiet for 5s");
    says(
        beats(6 * 3_600),
        "tell silent-worker: its worker has been gone for 6h, and heartbeats for it still come",
    );
}

#[test]
fn a_living_dispatcher_goes_first() {
    let at = |dispatcher: Dispatcher, interval: i64, quiet: i64| {
        let mut s = seen(vec![running(Life::Gone, quiet)]);
        s.runtime = s.runtime.map(|r| Runtime { dispatcher, interval, ..r });
        line(&decide(&s, &pass(), &config())).starts_with("requeue")
    };
    assert!(at(Dispatcher::Absent, 60, 31));
    assert!(!at(Dispatcher::Absent, 60, 29));
    for d in [Dispatcher::Alive(9), Dispatcher::Ticked, Dispatcher::Unknown("?".into())] {
        assert!(!at(d.clone(), 60, 179));
        assert!(at(d.clone(), 60, 181));
        assert!(!at(d, 300, 899));
    }
}

#[test]
fn the_breaker_trips_as_hermes_would() {
    let second = with!(running(Life::Gone, 900), |t| t.detail.task.failures = 1);
    let d = decided(second);
    assert_eq!(line(&d), "block dead-worker: worker 42 gone, last heard from 15m ago (failure 2 of 2)");
    assert_eq!((kinds(&d).as_str(), status_after(&d)), ("crashed gave_up", Some(Status::Blocked)));

    let by_hand = with!(running(Life::Gone, 900), |t| t.detail.task.max_retries = Some(1));
    let d = decided(by_hand);
    assert_eq!(status_after(&d), Some(Status::Blocked));
    // Also where it would be excused: a limit set by hand means run once.
    let excused = with!(running(Life::Gone, 900), |t| {
        t.detail.task.max_retries = Some(1);
        t.worker.as_mut().unwrap().claimer = Life::Gone;
    });
    assert_eq!(status_after(&decided(excused)), Some(Status::Blocked));
}

#[test]
fn what_is_no_fault_of_the_task_is_not_counted() {
    let claimer = with!(running(Life::Gone, 900), |t| t.worker.as_mut().unwrap().claimer = Life::Gone);
    let d = decided(claimer.clone());
    assert_eq!(
        line(&d),
        "requeue dead-worker: worker 42 gone, last heard from 15m ago (the dispatcher that started it is gone too)"
    );
    assert_eq!(kinds(&d), "reclaimed commented");
    says(
        running(Life::Gone, 600_000),
        "requeue dead-worker: worker 42 gone, last heard from 6d 22h ago (the machine",
    );
    // A worker that claimed for itself is gone, and nobody besides.
    let itself = with!(claimer.clone(), |t| t.detail.task.claim_lock = Some("host:42".into()));
    says(itself, "requeue dead-worker: worker 42 gone, last heard from 15m ago (failure 1 of 2)");
    // But not for ever: after five in a row they count.
    let often = with!(claimer, |t| {
        for n in 1..=5 {
            t.detail.events.push(ours("reclaimed", 5_000 - n, json!({"uncounted": n})));
        }
    });
    says(often, "requeue dead-worker: worker 42 gone, last heard from 15m ago (failure 1 of 2)");
}

#[test]
fn a_dispatcher_that_cron_starts_is_gone_by_nature() {
    let claimer = with!(running(Life::Gone, 900), |t| t.worker.as_mut().unwrap().claimer = Life::Gone);
    let excused = "(the dispatcher that started it is gone too)";
    for (is_daemon, own_board, end) in
        [(true, false, excused), (false, false, "(failure 1 of 2)"), (false, true, excused)]
    {
        let mut seen = Seen { own_board, ..seen(vec![claimer.clone()]) };
        seen.runtime.as_mut().unwrap().is_daemon = is_daemon;
        let d = decide(&seen, &pass(), &config());
        assert!(line(&d).ends_with(end), "{is_daemon:?} {}", line(&d));
    }
}

#[test]
fn a_harness_that_said_how_its_worker_ended_was_no_dispatcher() {
    let claimer = with!(running(Life::Gone, 900), |t| t.worker.as_mut().unwrap().claimer = Life::Gone);
    let ended =
        |by: &str, run: Option<i64>| Event { run, ..event("watchbill_ended", 900, json!({"by": by})) };
    for (event, counts) in [
        (ended("board", Some(1)), true),
        (ended("board", Some(7)), false),
        (ended("board", None), false),
        (ended("luna", Some(1)), false),
    ] {
        let end = if counts { "(failure 1 of 2)" } else { "(the dispatcher that started it is gone too)" };
        let d = decided(with!(claimer.clone(), |t| t.detail.events.push(event)));
        assert!(line(&d).ends_with(end), "{}", line(&d));
    }
}

#[test]
fn a_worker_that_claimed_for_itself_is_told_by_row_or_history() {
    let mut d = running(Life::Gone, 900).detail;
    assert!(!d.is_self_claimed());
    d.task.claim_lock = Some("host:42".into());
    assert!(d.is_self_claimed());
    // Row and run have lost it all; the event keeps it.
    (d.task.claim_lock, d.task.worker_pid) = (None, None);
    let claimed =
        |pid| event("claimed", 900, json!({"lock": "host:42", "by": "board", "watchbill": {"pid": pid}}));
    d.events.push(claimed(42));
    assert!(d.is_self_claimed());
    d.events.push(claimed(43));
    assert!(!d.is_self_claimed());
}

#[test]
fn recycled_pid_orphan_row_and_lease() {
    let recycled = with!(running(Life::Gone, 900), |t| {
        t.worker.as_mut().unwrap().proof.as_mut().unwrap().start_ticks = Some(99);
    });
    says(recycled, "requeue recycled-pid: worker 42 gone, its pid is another process now");
    let orphan = with!(running(Life::Gone, 90_000), |t| {
        t.detail.task.claim_lock = None;
        t.detail.task.claim_expires = None;
        t.detail.task.worker_pid = None;
    });
    let d = decided(orphan);
    assert!(line(&d).starts_with("requeue orphan-row: no worker, last heard from"), "{}", line(&d));
    assert_eq!(kinds(&d), "reclaimed commented");

    let lease = |expires: i64, life: Life| {
        with!(running(life, 4_000), |t| {
            t.detail.task.worker_pid = None;
            t.detail.task.claim_expires = Some(ago(expires));
        })
    };
    says(lease(-60, Life::Gone), "- no worker known; the claim runs until");
    says(lease(59, Life::Gone), "- no worker known; the claim runs until");
    says(lease(61, Life::Unknown), "requeue no-pid: no worker known, claim ran out 1m ago");
    says(lease(61, Life::Alive), "- worker alive");
    let foreign = with!(lease(61, Life::Unknown), |t| t.claim_here = false);
    says(foreign, "? worker unknown");
    // A claim that says it holds for years is cut to its ceiling.
    let years = with!(lease(-900_000_000, Life::Gone), |t| {
        t.detail.task.started_at = Some(ago(100_000));
        t.detail.runs = vec![run(1, 100_000, None, None)];
    });
    says(years, "requeue no-pid");
}

#[test]
fn time_alone_tries_no_refused_key_again() {
    let refused = |t: TaskSeen, profile: &str| {
        let seen = Seen { refused_keys: [profile.to_owned()].into(), ..seen(vec![t]) };
        line(&decide(&seen, &pass(), &config()))
    };
    let reset = given_up("pid 4 not alive", 9_000);
    let held = with!(blank(Status::Scheduled), |t| {
        let hold = json!({"hold": {"owner": "heal", "cause": "rate_limit", "until": NOW.0}});
        t.detail.events.push(event("scheduled", 900, json!({"by": "heal", "watchbill": hold})));
    });
    let marked = with!(held.clone(), |t| t.detail.body = "watchbill: no-heal".into());
    for (t, done) in
        [(reset, "reset crash-loop"), (held, "resume hold-over"), (marked, "resume hold-over: held for 15m")]
    {
        let said = refused(t.clone(), "luna");
        assert!(
            said.starts_with("- the key of luna is refused; tried again once its configuration"),
            "{said}"
        );
        assert!(refused(t, "nova").starts_with(done), "another's key");
    }
}

#[test]
fn leases_and_waits_begin_anew_where_the_clock_was_set() {
    let set = |t: &TaskSeen, seconds: i64| {
        let seen = Seen { steady_since: Some(ago(seconds)), ..seen(vec![t.clone()]) };
        line(&decide(&seen, &pass(), &config()))
    };
    // Fifteen minutes from an hour ago on.
    let lease = with!(running(Life::Unknown, 3_600), |t| {
        t.detail.task.worker_pid = None;
        t.detail.task.claim_expires = Some(ago(2_700));
    });
    says(lease.clone(), "requeue no-pid: no worker known, claim ran out 45m ago");
    assert!(set(&lease, 900).starts_with("- no worker known; the claim runs until"), "{}", set(&lease, 900));
    assert!(set(&lease, 961).starts_with("requeue no-pid"), "{}", set(&lease, 961));
    assert!(set(&lease, 5_000).starts_with("requeue no-pid"), "set before it was claimed");
    let left = with!(running(Life::Gone, 9_000), |t| {
        t.worker.as_mut().unwrap().orphans = vec![Orphan { pid: 77, command: "make".into(), run: None }];
        t.detail.events.push(death(4_000, 9_000));
    });
    says(left.clone(), "requeue dead-worker");
    assert!(set(&left, 60).starts_with("- worker gone, waiting up to 14m"), "{}", set(&left, 60));
}

#[test]
fn a_pass_right_after_the_one_that_gave_a_task_up_changes_nothing() {
    let gave_up = |by: &str, seconds: i64| {
        with!(given_up("pid 4 not alive", seconds), |t| {
            t.detail.is_truncated = true;
            t.detail.events.last_mut().unwrap().payload["by"] = json!(by);
        })
    };
    says(gave_up("heal", 29), "- given up a moment ago");
    says(gave_up("heal", 30), "escalate crash-loop");
    says(gave_up("luna", 0), "escalate crash-loop");
}

#[test]
fn what_a_worker_left_is_waited_for_from_its_proven_end() {
    let orphan = Orphan { pid: 77, command: "make".into(), run: None };
    for (status, life, waits) in [
        (Status::Running, Life::Gone, true),
        // It may live, beside what an earlier attempt left.
        (Status::Running, Life::Unknown, false),
        (Status::Running, Life::Alive, false),
        (Status::Blocked, Life::Gone, true),
        (Status::Blocked, Life::Unknown, true),
        (Status::Blocked, Life::Alive, false),
    ] {
        let (d, seen) =
            (detail("t_00000001", status.clone()), Look { orphans: vec![orphan.clone()], ..look(life) });
        assert_eq!(super::observe::waits(&d, Some(&seen), NOW).is_some(), waits, "{status} {life:?}");
        let alone = super::observe::waits(&d, Some(&look(life)), NOW).is_some();
        assert_eq!(alone, waits && status == Status::Running, "{status} {life:?}");
    }
}

#[test]
fn children_of_a_dead_worker_are_waited_for() {
    let orphan = Orphan { pid: 77, command: "cargo test".into(), run: None };
    let waiting = with!(running(Life::Gone, 900), |t| {
        t.worker.as_mut().unwrap().orphans = vec![orphan];
    });
    let noted = |seconds: i64| with!(waiting.clone(), |t| t.detail.events.push(death(seconds, 900)));
    // Its death is noted on the board: what we remember may be lost.
    says(
        waiting.clone(),
        "note worker-gone: worker gone, waiting up to 15m for its child 77 (cargo test) to end",
    );
    says(noted(60), "- worker gone, waiting up to 14m for its child 77 (cargo test) to end");
    says(with!(noted(60), |t| t.gone_since = Some(NOW)), "- worker gone, waiting up to 14m");
    let over =
        "requeue dead-worker: worker 42 gone, last heard from 15m ago; its children still run: 77 (failure";
    says(noted(900), over);
    says(with!(noted(900), |t| t.gone_since = Some(NOW)), over);
    // However long it was silent before it died.
    let silent = |seconds: Option<i64>| {
        with!(running(Life::Gone, 90_000), |t| {
            t.worker.as_mut().unwrap().orphans = vec![Orphan { pid: 77, command: "make".into(), run: None }];
            t.detail.events.extend(seconds.map(|seconds| death(seconds, 90_000)));
        })
    };
    says(silent(None), "note worker-gone: worker gone, waiting up to 15m");
    says(silent(Some(899)), "- worker gone, waiting up to 1s");
    says(silent(Some(900)), "requeue dead-worker");
    // A pass that was suspended between its clock and its look has a time before the death.
    let early = with!(silent(Some(901)), |t| {
        t.detail.events.last_mut().unwrap().payload["watchbill"]["gone"] = json!(ago(600).0);
    });
    says(early, "- worker gone, waiting up to 5m");
    // A note from before its last sign of life is of another death, and one by another author does not count.
    says(with!(silent(Some(800)), |t| t.detail.task.last_heartbeat_at = Some(ago(700))), "note worker-gone");
    let forged = with!(silent(Some(800)), |t| {
        t.detail.events.last_mut().unwrap().payload["by"] = json!("luna");
    });
    says(forged, "note worker-gone");
}

#[test]
fn what_an_earlier_attempt_left_running_was_waited_for_then() {
    let left = |of: i64, ended: i64| {
        with!(running(Life::Gone, 900), |t| {
            t.detail.runs.push(run(0, 9_000, Some(ended), Some("crashed")));
            t.worker.as_mut().unwrap().orphans =
                vec![Orphan { pid: 77, command: "make".into(), run: Some(of) }];
        })
    };
    says(
        left(0, 901),
        "requeue dead-worker: worker 42 gone, last heard from 15m ago; its children still run: 77",
    );
    says(left(1, 901), "note worker-gone");
}

#[test]
fn a_worker_that_outlived_its_attempt_is_told_of_once() {
    let alive = |began: i64, is_older: bool| {
        with!(running(Life::Alive, began), |t| {
            let look = t.worker.as_mut().unwrap();
            (look.is_older, look.worker_pid) = (is_older, Some(77));
        })
    };
    says(alive(2_000, false), "- worker alive: as seen");
    says(alive(899, true), "- worker alive: as seen");
    let told = "process 77 of an ended attempt still works on it, 15m after that attempt ended: no watcher requeues it while it \
                runs, but a dispatcher of Hermes may start another worker beside it";
    says(alive(900, true), &format!("tell older-worker: {told}"));
    let d = decided(alive(900, true));
    assert_eq!((kinds(&d).as_str(), status_after(&d)), ("watchbill_detected commented", None));
    let again = with!(alive(900, true), |t| {
        t.detail.events.push(event("watchbill_detected", 60, json!({"by": "heal", "key": "older-worker"})));
    });
    says(again.clone(), &format!("- {told}"));
    assert_eq!(needs_operator::told(&again.detail).map(|e| e.at), Some(ago(60)));
    let later = with!(again, |t| t.detail.events.push(event("claimed", 30, json!({"lock": "host:7"}))));
    assert_eq!(needs_operator::told(&later.detail), None, "another attempt began");
    // Beside the worker of the present attempt, from when its own one ended.
    let beside = |ended: i64| {
        with!(alive(9_000, false), |t| {
            t.worker.as_mut().unwrap().beside = Some((0, 66));
            t.detail.runs.push(run(0, 90_000, Some(ended), Some("blocked")));
        })
    };
    says(beside(899), "- worker alive: as seen");
    let told = "process 66 of an ended attempt still runs beside its worker, 15m after that attempt ended: no watcher requeues";
    says(beside(900), &format!("tell older-worker: {told}"));
    let own = Seen { own_board: true, ..seen(vec![alive(900, true)]) };
    let d = decide(&own, &pass(), &config());
    assert!(line(&d).ends_with("ended: nothing is requeued while it runs"), "{}", line(&d));
    // It may do something else by now.
    let aside = with!(beside(900), |t| t.worker.as_mut().unwrap().stands_aside = true);
    let told = "process 66 of an ended attempt still runs beside its worker, 15m after that attempt ended: it blocked the task, and \
                nothing waits for its end";
    says(aside.clone(), &format!("tell older-worker: {told}"));
    // It did another task meanwhile.
    let note = |seconds: i64, payload: Value| Event {
        run: Some(1),
        ..event("watchbill_detected", seconds, payload)
    };
    let again = with!(aside, |t| {
        let pids = json!({"by": "heal", "key": "older-worker", "watchbill": {"pids": [66]}});
        t.detail.events.push(note(600, pids));
        t.detail.events.push(note(300, json!({"by": "heal", "key": "older-worker", "over": true})));
    });
    says(again.clone(), "- worker alive: as seen");
    let works = with!(again, |t| t.worker.as_mut().unwrap().stands_aside = false);
    says(works, "tell older-worker: process 66 of an ended attempt still runs beside its worker");
    // The note names its process, and is written anew where the worker beside it has ended.
    let was = |is_beside: bool| {
        let trail = json!({"pids": [77], "beside": is_beside});
        let told = json!({"by": "heal", "key": "older-worker", "watchbill": trail});
        event("watchbill_detected", 60, told)
    };
    for (t, pids, is_beside) in [
        (beside(900), json!([66]), true),
        (alive(900, true), json!([77]), false),
        (with!(alive(900, true), |t| t.detail.events.push(was(true))), json!([77]), false),
    ] {
        let d = decided(t);
        let Change::AddEvent { payload, .. } = &d.steps[0].changes[0] else { panic!("{d:?}") };
        let trail = &payload["watchbill"];
        assert_eq!((&trail["pids"], &trail["beside"]), (&pids, &json!(is_beside)), "{d:?}");
    }
    says(
        with!(beside(900), |t| t.detail.events.push(was(true))),
        "- process 66 of an ended attempt still runs beside its worker",
    );
    let stands = with!(alive(900, true), |t| t.detail.events.push(was(false)));
    assert!(line(&decided(stands.clone())).starts_with("- "), "{}", line(&decided(stands)));
    let over = with!(beside(900), |t| {
        t.worker.as_mut().unwrap().beside = None;
        t.detail.events.push(event("watchbill_detected", 60, json!({"by": "heal", "key": "older-worker"})));
    });
    says(over, "tell older-worker: older-worker is over: worker alive");
    // It hides nothing of the present worker, and no two things are told in turn.
    let stopped = with!(beside(900), |t| {
        t.worker.as_mut().unwrap().stopped = vec![42];
        t.stopped_since = Some(ago(700));
    });
    says(stopped.clone(), "tell stopped-worker: ");
    let told = with!(stopped, |t| {
        t.detail.events.push(event("watchbill_detected", 60, json!({"by": "heal", "key": "stopped-worker"})));
    });
    assert!(line(&decided(told.clone())).starts_with("- "), "{}", line(&decided(told)));
    let told = with!(beside(900), |t| {
        t.detail.events.push(event("watchbill_detected", 60, json!({"by": "heal", "key": "older-worker"})));
    });
    says(told, "- process 66 of an ended attempt still runs beside its worker");
}

#[test]
fn a_log_that_ends_on_a_provider_parks_the_task() {
    for (cause, outcome) in [
        (Cause::RateLimit, "rate_limited"),
        (Cause::Quota, "rate_limited"),
        (Cause::Overloaded, "rate_limited"),
        (Cause::Credential, "crashed"),
        (Cause::ModelMissing, "crashed"),
        (Cause::Misconfigured, "crashed"),
        (Cause::IterationBudget, "crashed"),
    ] {
        let d = decided(with!(running(Life::Gone, 900), |t| t.log = ended(cause)));
        assert!(line(&d).starts_with("park dead-worker: worker 42 gone"), "{}", line(&d));
        assert_eq!((kinds(&d).as_str(), status_after(&d)), ("scheduled", Some(Status::Scheduled)));
        let closed =
            d.steps[0].changes.iter().any(|c| matches!(c, Change::EndRun { outcome: o, .. } if o == outcome));
        assert!(closed, "{cause:?}");
        let counted = d.steps[0].changes.iter().any(|c| matches!(c, Change::SetFailures { .. }));
        assert!(!counted, "a hold is no failure of the task");
    }
    says(with!(running(Life::Gone, 900), |t| t.log = ended(Cause::ConnectionRefused)), "requeue dead-worker");
    says(with!(running(Life::Gone, 900), |t| t.log = LogEnd::NoEvidence), "requeue dead-worker");
    says(
        with!(running(Life::Gone, 900), |t| t.log = LogEnd::Unreadable("a FIFO".into())),
        "? worker 42 gone, but its log",
    );
}

#[test]
fn holds_grow_end_and_are_bounded() {
    let held = |n: i64| {
        with!(running(Life::Gone, 900), |t| {
            t.log = ended(Cause::RateLimit);
            for k in 0..n {
                t.detail.events.push(ours("scheduled", 9_000 - k, json!({"hold": {"until": 1}})));
            }
        })
    };
    let ends = |d: &Decision| {
        let Change::AddEvent { payload, .. } = d.steps[0].changes.last().unwrap().clone() else { panic!() };
        payload["until"].as_i64().unwrap() - NOW.0
    };
    let until = |n: i64| ends(&decided(held(n)));
    assert!((900..=1_080).contains(&until(0)), "{}", until(0));
    assert!((1_800..=2_160).contains(&until(1)), "{}", until(1));
    // A reset that the log states counts, within the longest hold. After one that has passed the next pass sets the task free.
    let stated = |n: i64, after: i64| {
        let d = decided(with!(held(n), |t| {
            let said = Evidence { resets: Some(NOW.plus(after)), ..Evidence::new(Cause::RateLimit, 0) };
            t.log = LogEnd::Ended(said);
        }));
        ends(&d)
    };
    let most = seconds(config().heal.hold_max);
    assert_eq!([stated(0, 20), stated(2, 20), stated(0, 5_000), stated(0, most + 1)], [20, 20, 5_000, most]);
    assert_eq!(
        [stated(0, 0), stated(0, -1), stated(2, -90_000)],
        [1, 1, 1],
        "a pass in this second changes nothing"
    );
    let d = decided(held(3));
    assert!(line(&d).starts_with("hand-over dead-worker"), "{}", line(&d));
    assert_eq!((kinds(&d).as_str(), status_after(&d)), ("blocked", Some(Status::Blocked)));

    let hold = |until: i64, by: &str| {
        with!(blank(Status::Scheduled), |t| {
            let hold = json!({"by": by, "watchbill": {"hold": {"until": until}}});
            t.detail.events.push(event("scheduled", 1_000, hold));
        })
    };
    says(hold(NOW.0 - 1, "heal"), "resume hold-over: held for 16m, the hold is over");
    says(hold(NOW.0 + 60, "heal"), "- held until");
    // route-blocked lets its own go one by one. A machine that was off all night must not start them all in the first pass.
    let routed = |over: i64, seen: Option<i64>| {
        with!(hold(NOW.0 - over, "route-blocked"), |t| t.over_since = seen.map(ago))
    };
    says(routed(1_799, None), "- its hold is over; route-blocked carries on with it");
    says(routed(1_800, None), "resume hold-over");
    says(routed(30_000, Some(1_799)), "- its hold is over; route-blocked carries on with it");
    says(routed(30_000, Some(1_800)), "resume hold-over");
    says(routed(1_799, Some(2_000)), "- its hold is over; route-blocked carries on with it");
    says(hold(NOW.0 - 1, "somebody"), "- scheduled outside Watchbill");
    let by_board = |title: &str| {
        with!(blank(Status::Scheduled), |t| {
            t.detail.task.title = title.into();
            t.detail.events.push(event("scheduled", 60, json!({"by": "board"})));
        })
    };
    says(
        by_board("[BLOCKED] t_00000001 dependency"),
        "- a card that waits its turn; synthesize-distress releases it",
    );
    says(by_board("Paint the door"), "- scheduled outside Watchbill");
    says(blank(Status::Scheduled), "- scheduled outside Watchbill");
    // Its card is gone without a word: nothing but a provider answers again by itself.
    let carded = |cause: Option<Cause>| {
        with!(hold(NOW.0 - 1, "heal"), |t| {
            t.detail.events[1].payload["watchbill"]["hold"]["card"] = json!("t_0000cafe");
            t.detail.events[1].payload["watchbill"]["hold"]["cause"] = json!(cause.map(Cause::as_str));
        })
    };
    says(carded(None), "hand-over no-decision: held for 16m, and its card was closed without a decision");
    says(carded(Some(Cause::Credential)), "hand-over no-decision");
    says(carded(Some(Cause::RateLimit)), "resume hold-over");
    // A card that was tied to it later, and one that was tied to it before for something else.
    let tied = |events: Vec<(&'static str, &'static str)>| {
        with!(hold(NOW.0 - 1, "heal"), |t| {
            let (id, title) = ("t_0000cafe".into(), "[BLOCKED] t_00000001 rate_limited".into());
            t.detail.parents = vec![Kin { id, title, status: Status::Done, stray_title: false }];
            let held = t.detail.events.iter().position(|e| e.kind == EventKind::Scheduled).unwrap();
            for (when, parent) in events {
                let link = event("linked", 500, json!({"parent": parent}));
                t.detail.events.insert(if when == "later" { held + 1 } else { held }, link);
            }
        })
    };
    says(tied(vec![("later", "t_0000cafe")]), "hand-over no-decision");
    says(tied(vec![("before", "t_0000cafe")]), "resume hold-over");
    says(tied(vec![("before", "t_0000cafe"), ("later", "t_00000bad")]), "resume hold-over");
    // Ours over a person's schedule is forged.
    let forged =
        with!(hold(NOW.0 - 1, "heal"), |t| t.detail.events.insert(0, event("scheduled", 9_000, Value::Null)));
    says(forged, "- scheduled outside Watchbill");
    // A hold that claims to be of the future counts from what came before it.
    let late = |ago: i64| {
        let later = json!({"by": "heal", "watchbill": {"hold": {"until": 4_102_444_800_i64}}});
        let before = event("commented", ago, Value::Null);
        with!(blank(Status::Scheduled), |t| t.detail.events =
            vec![before, event("scheduled", -90_000, later)])
    };
    says(late(25_000), "- held until");
    says(late(26_000), "resume hold-over: held for 7h 13m, the hold is over");
    // A person scheduled it again after our hold: theirs counts.
    let again = with!(hold(NOW.0 - 1, "heal"), |t| t.detail.events.push(event("scheduled", 10, Value::Null)));
    says(again, "- scheduled outside Watchbill");
    // An end far in the future is cut.
    let far = with!(hold(NOW.0 + 900_000, "heal"), |t| t.detail.events[1].at = ago(100_000));
    says(far, "resume hold-over");
}

/// A card of `t_00000001` that tuesday finished so long ago, with a decision or without.
fn finished(seconds: i64, decides: bool) -> Detail {
    let mut card = detail("t_0000cafe", Status::Done);
    let route = decides.then(|| json!({"task": "t_00000001", "action": "unblock"}));
    card.runs = vec![Run { route, ..run(9, seconds + 60, Some(seconds), Some("completed")) }];
    card.events = vec![event("created", 90_000, json!({})), event("completed", seconds, json!({}))];
    card
}

#[test]
fn what_a_finished_card_says_is_route_blocked_s_to_carry_out() {
    let noted = |seconds: i64, by: &str| event("watchbill_decided", seconds, json!({"by": by, "refused": 1}));
    let with_note = |mut card: Detail, e: Event| {
        card.events.push(e);
        card
    };
    let mut closed = finished(2_000, true);
    closed.events[1].payload = json!({"by": "route-blocked"}).into();
    let mut again = with_note(finished(5_000, true), noted(4_900, "route-blocked"));
    again.events.push(event("completed", 4_000, json!({})));
    let (undone, lately) = (
        "- its card t_0000cafe was completed with a decision;",
        "- its card t_0000cafe was completed lately;",
    );
    let person = "hand-over no-decision: held for 16m, and its card was closed without a decision";
    for (card, want) in [
        (finished(200, true), undone),
        (finished(90_000, true), undone),
        (with_note(finished(5_000, true), noted(4_900, "tuesday")), undone),
        (again, undone),
        (with_note(finished(5_000, true), noted(1_799, "route-blocked")), lately),
        (with_note(finished(5_000, true), noted(1_800, "route-blocked")), person),
        (finished(0, false), lately),
        (finished(1_799, false), lately),
        (finished(1_800, false), person),
        (closed, person),
    ] {
        for named in [true, false] {
            let mut t = blank(Status::Scheduled);
            let name = named.then_some("t_0000cafe");
            let hold = json!({"until": NOW.0 - 1, "card": name, "cause": "rate_limit"});
            t.detail.events.push(ours("scheduled", 1_000, json!({"hold": hold})));
            let (id, key) = ("t_0000cafe".into(), "distress:t_00000001:rate_limit:1".into());
            let created_at = ago(if named { 5_000 } else { 999 });
            t.detail.cards_made = vec![CardMade { id, key, status: Status::Done, created_at }];
            let seen = Seen { answered: vec![card.clone()], ..seen(vec![t]) };
            let got = line(&decide(&seen, &pass(), &config()));
            assert!(got.starts_with(want), "wanted {want:?}\n   got {got:?}\n   for {card:?}");
        }
    }
    // What was decided on an older card than the hold is not carried out by waiting either; what was only said then is over.
    for (card, want) in [(finished(5_000, true), undone), (finished(1_200, false), "resume hold-over")] {
        let mut t = blank(Status::Scheduled);
        t.detail.events.push(ours("scheduled", 1_000, json!({"hold": {"until": NOW.0 - 1}})));
        let (id, key) = ("t_0000cafe".into(), "distress:t_00000001:rate_limit:1".into());
        t.detail.cards_made = vec![CardMade { id, key, status: Status::Done, created_at: ago(6_000) }];
        let seen = Seen { answered: vec![card], ..seen(vec![t]) };
        let got = line(&decide(&seen, &pass(), &config()));
        assert!(got.starts_with(want), "wanted {want:?}\n   got {got:?}");
    }
}

#[test]
fn a_decision_that_is_not_read_yet_is_not_overtaken_by_another_attempt() {
    let made = |status: Status| {
        let key = "distress:t_00000001:over_budget:1".into();
        CardMade { id: "t_0000cafe".into(), key, status, created_at: ago(3_000) }
    };
    let dead = with!(running(Life::Gone, 900), |t| t.detail.cards_made = vec![made(Status::Done)]);
    let gave_up =
        with!(given_up("pid 4 not alive", 1_200), |t| t.detail.cards_made = vec![made(Status::Done)]);
    let unread = finished(500, true);
    let mut read = unread.clone();
    read.events.push(event("watchbill_decided", 400, json!({"by": "route-blocked", "refused": 1})));
    for (t, card, want) in [
        (
            &dead,
            &unread,
            "park dead-worker: worker 42 gone, last heard from 15m ago; its card t_0000cafe was completed with a decision",
        ),
        (&dead, &read, "requeue dead-worker"),
        (&dead, &finished(500, false), "requeue dead-worker"),
        (&gave_up, &unread, "- its card t_0000cafe was completed with a decision;"),
        (&gave_up, &read, "reset crash-loop"),
    ] {
        let seen = Seen { answered: vec![card.clone()], ..seen(vec![t.clone()]) };
        let got = line(&decide(&seen, &pass(), &config()));
        assert!(got.starts_with(want), "wanted {want:?}\n   got {got:?}");
    }
}

#[test]
fn crash_loops_are_reset_and_then_escalated_once() {
    says(given_up("pid 4 not alive", 1_200), "reset crash-loop: gave up 20m ago on worker_gone, reset 1");
    says(given_up("pid 4 not alive", 599), "- gave up 9m ago; next reset in");
    says(given_up("worker gone (heal)", 1_200), "reset crash-loop");
    let resets = |n: i64, extra: Option<Event>| {
        with!(given_up("pid 4 not alive", 90_000), |t| {
            let at = t.detail.events.len() - 2;
            for k in 1..=n {
                t.detail.events.insert(at, ours("unblocked", 95_000 - k, json!({"reset": k})));
            }
            t.detail.events.extend(extra);
        })
    };
    says(resets(2, None), "reset crash-loop: gave up 1d 1h ago on worker_gone, reset 3");
    let d = decided(resets(3, None));
    assert_eq!(
        line(&d),
        "escalate crash-loop: reset 3 times and failed again; left to a person or an orchestrator"
    );
    assert_eq!(kinds(&d), "watchbill_escalated");
    says(resets(3, Some(ours("watchbill_escalated", 80_000, json!({})))), "- escalated");
    // Unblocked by hand, it is counted from the top.
    let again = with!(resets(3, None), |t| {
        let gave_up = t.detail.events.iter().position(|e| e.kind == EventKind::GaveUp).unwrap();
        t.detail.events.insert(gave_up, ours("watchbill_escalated", 94_000, json!({})));
        let gave_up = gave_up + 1;
        t.detail.events.insert(gave_up, event("unblocked", 93_000, Value::Null));
    });
    says(again, "reset crash-loop: gave up 1d 1h ago on worker_gone, reset 1");
}

#[test]
fn the_reset_is_an_unblock_and_says_so() {
    let d = decided(given_up("pid 4 not alive", 1_200));
    assert_eq!((kinds(&d).as_str(), status_after(&d)), ("unblocked commented", Some(Status::Ready)));
    let waits = with!(given_up("pid 4 not alive", 1_200), |t| {
        t.detail.parents =
            vec![Kin { id: "t_p".into(), title: "p".into(), status: Status::Archived, stray_title: false }];
    });
    // As `hermes kanban unblock`: an archived parent still means todo.
    assert_eq!(status_after(&decided(waits)), Some(Status::Todo));
}

#[test]
fn what_is_not_heals_to_reset() {
    let blocked_by_hand = with!(given_up("pid 4 not alive", 9_000), |t| t
        .detail
        .events
        .insert(1, event("blocked", 20_000, json!({}))));
    says(blocked_by_hand, "- blocked by hand");
    let task_limit = with!(given_up("pid 4 not alive", 9_000), |t| {
        t.detail.events.last_mut().unwrap().payload["limit_source"] = json!("task");
    });
    says(task_limit.clone(), "- gave up at a limit set by hand");
    let hidden = with!(task_limit, |t| t.log = LogEnd::Unreadable("it is a fifo".into()));
    assert_eq!(decided(hidden.clone()).findings.len(), 1);
    let long = with!(hidden, |t| t.detail.events.last_mut().unwrap().at = ago(7 * 3_600));
    says(long, "hand-over log-unreadable: gave up, but its log cannot be read");
    let card = with!(given_up("pid 4 not alive", 9_000), |t| t.detail.cards = vec!["t_c".into()]);
    says(card, "- its distress card t_c is open");
    let raw = with!(blank(Status::Blocked), |t| t.detail.task.last_failure_error = Some("x".into()));
    says(raw, "- blocked, but not by the failure breaker");
    for text in [
        "HTTP 429: Too Many Requests",
        "Iteration budget exhausted (6/6)",
        "worker exited cleanly (rc=0) without calling kanban_complete or kanban_block",
        "pid 9 exited with code 1",
        "something else",
    ] {
        says(given_up(text, 9_000), "- gave up: its failure is not one of the infrastructure");
    }
    let log = with!(given_up("pid 4 not alive", 9_000), |t| t.log = ended(Cause::RateLimit));
    says(log, "- gave up: its log ends on rate_limit; not heal's to reset");
    let unreadable =
        with!(given_up("pid 4 not alive", 9_000), |t| t.log = LogEnd::Unreadable("denied".into()));
    says(unreadable, "? gave up, but its log cannot be read: denied");
}

#[test]
fn the_guards_jam() {
    says(jammed("pid 429 not alive"), "clear guard-jam: held by Hermes' guard for 1h");
    says(jammed("Permission denied: '/srv/x'"), "clear guard-jam");
    says(jammed("the author left"), "clear guard-jam");
    says(jammed("pid 17 not alive"), "");
    says(jammed("HTTP 401: invalid api key"), "- held by Hermes' guard for a reason: credential");
    says(
        with!(jammed("pid 429 not alive"), |t| t.log = ended(Cause::Quota)),
        "- held by Hermes' guard, and its log",
    );
    says(
        with!(jammed("pid 429 not alive"), |t| t.detail.runs[0].ended_at = Some(ago(9))),
        "- held by Hermes' guard for only",
    );
    let cooling =
        with!(jammed("pid 429 not alive"), |t| t.detail.runs[0].outcome = Some("rate_limited".into()));
    says(cooling, "");
    let third = with!(jammed("pid 429 not alive"), |t| {
        for n in 1..=3 {
            t.detail.events.push(ours("watchbill_guard_cleared", 9_000, json!({"reset": n})));
        }
    });
    says(third, "escalate guard-jam: reset 3 times");
}

/// A ready row whose worker the host refused to start `times` times, every five minutes.
fn refused_by_host(times: i64) -> TaskSeen {
    with!(blank(Status::Ready), |t| {
        t.detail.task.last_failure_error =
            Some("cannot create restart-safe systemd scope for gateway child: no bus".into());
        t.detail.runs = (1..=times).map(|n| run(n, n * 300, Some(n * 300), Some("spawn_failed"))).collect();
        for n in (1..=times).rev() {
            t.detail.events.push(Event { run: Some(n), ..event("claimed", n * 300, json!({"lock": "h:1"})) });
            let refused = json!({"error": "no scope", "failures": 0, "infrastructure": true});
            t.detail.events.push(Event { run: Some(n), ..event("spawn_failed", n * 300, refused) });
            let guarded = json!({"reason": "infrastructure_cooldown"});
            t.detail.events.push(event("respawn_guarded", n * 300 - 60, guarded));
        }
    })
}

#[test]
fn a_host_that_starts_no_worker_is_told_once_after_an_hour() {
    let t = refused_by_host(3);
    assert!(suspect(&t.detail.task, NOW, 30, false));
    says(t, "- this host refuses to start its worker, for 15m");
    let t = refused_by_host(13);
    let d = decided(t.clone());
    assert!(
        line(&d).starts_with("tell host-refuses: this host has refused to start its worker for 1h"),
        "{}",
        line(&d)
    );
    assert_eq!(status_after(&d), None, "Hermes goes on trying");
    // Told is told, also after further refusals.
    let told = with!(t, |t| {
        let at = t.detail.events.len() - 4;
        let word = json!({"by": "heal", "key": "host-refuses", "watchbill": {"because": "x"}});
        t.detail.events.insert(at, event(EventKind::Detected, 400, word));
    });
    says(told.clone(), "- this host has refused");
    assert!(needs_operator::told(&told.detail).is_some());
    // A start that came about ends it.
    let began = with!(told, |t| {
        t.detail.runs.insert(0, run(99, 20, Some(10), Some("crashed")));
        t.detail.events.push(Event { run: Some(99), ..event("claimed", 20, json!({})) });
        t.detail.events.push(Event { run: Some(99), ..event("crashed", 10, json!({})) });
    });
    assert!(needs_operator::told(&began.detail).is_none());
    says(began, "");
    let counted = with!(refused_by_host(13), |t| {
        for e in t.detail.events.iter_mut().filter(|e| e.kind == EventKind::SpawnFailed) {
            e.payload = json!({"error": "no scope", "failures": 1}).into();
        }
    });
    says(counted, "");
}

#[test]
fn the_heartbeat_of_an_earlier_worker_is_cleared_before_the_next_one_inherits_it() {
    let beat =
        |seconds: i64| with!(blank(Status::Ready), |t| t.detail.task.last_heartbeat_at = Some(ago(seconds)));
    let old = beat(4_000);
    assert!(suspect(&old.detail.task, NOW, 30, false));
    let d = decided(old.clone());
    assert!(
        line(&d).starts_with("clear inherited-heartbeat: its last worker's heartbeat of 1h"),
        "{}",
        line(&d)
    );
    assert!(d.steps[0].changes.contains(&Change::ForgetHeartbeat));
    assert_eq!((kinds(&d).as_str(), status_after(&d)), ("watchbill_heartbeat_cleared", None));
    // The operator who made it ready a moment ago may start it himself.
    let touched = with!(old.clone(), |t| t.detail.events.push(event("unblocked", 5, json!({}))));
    says(touched, "");
    let fresh = beat(600);
    assert!(!suspect(&fresh.detail.task, NOW, 30, false));
    says(fresh, "");
    let own = decide(&Seen { own_board: true, ..seen(vec![old.clone()]) }, &pass(), &config());
    assert!(own.steps.is_empty());
    let marked = with!(old, |t| t.detail.comments =
        vec![Comment { author: "anna".into(), body: "watchbill: no-heal".into(), at: ago(9) }]);
    says(marked, "- marked `watchbill: no-heal`");
}

#[test]
fn a_task_given_up_without_a_worker_was_never_started() {
    let t = with!(given_up("stale_lock=host:7", 9_000), |t| {
        t.detail.runs[0].error = Some("stale_lock=host:7".into());
        t.detail.runs[0].outcome = Some("reclaimed".into());
    });
    says(t.clone(), "reset crash-loop: gave up 2h 30m ago on spawn_error");
    let run = t.detail.runs[0].id;
    let spawned = with!(t, |t| {
        t.detail.events.insert(1, Event { run: Some(run), ..event("spawned", 10_000, json!({"pid": 7})) });
    });
    says(spawned, "reset crash-loop: gave up 2h 30m ago on worker_gone");
}

#[test]
fn what_a_clock_that_was_ahead_wrote_on_a_task_holds_nothing() {
    let ahead = |t: TaskSeen| with!(t, |t| t.detail.events.push(event("commented", -31_000_000, json!({}))));
    let leak = with!(blank(Status::Ready), |t| {
        t.detail.task.claim_lock = Some("host:7".into());
        t.detail.task.claim_expires = Some(ago(300));
        t.detail.events.push(event("claimed", 2_000, json!({"lock": "host:7"})));
    });
    says(ahead(leak), "release leaked-claim: a claim on a ready task, run out 5m ago");
    let jam = with!(jammed("worker gone, author unknown"), |t| {
        t.detail.runs[0].ended_at = Some(ago(-31_000_000));
        t.detail.events.push(event("crashed", 3_900, json!({})));
    });
    says(ahead(jam), "clear guard-jam: held by Hermes' guard for 1h 5m over");
    let died =
        with!(given_up("pid 4 not alive", 9_000), |t| t.detail.runs[0].ended_at = Some(ago(-31_000_000)));
    says(died, "reset crash-loop: gave up 2h 30m ago");
    // An attempt that it began counts from when its worker was seen gone, and a claim lasts as long as it was made for.
    let of_future = |pid: Option<i64>, gone: i64| {
        with!(running(Life::Gone, -432_000), |t| {
            t.detail.task.worker_pid = pid;
            t.detail.task.claim_expires = Some(ago(-432_900));
            t.gone_since = Some(ago(gone));
        })
    };
    says(of_future(Some(42), 29), "- worker gone, but only quiet for 29s");
    says(of_future(Some(42), 300), "requeue dead-worker: worker 42 gone, last heard from 5m ago");
    says(of_future(None, 959), "- no worker known; the claim runs until");
    says(of_future(None, 960), "requeue no-pid: no worker known, claim ran out 1m ago");
    let renewed = |ahead: i64| {
        with!(of_future(None, 30_000), |t| {
            t.detail.task.last_heartbeat_at = Some(ago(240));
            t.detail.task.claim_expires = Some(ago(-660));
            t.detail.runs[0].started_at = ago(-ahead);
        })
    };
    says(renewed(432_000), "- no worker known; the claim runs until");
    says(renewed(500), "- no worker known; the claim runs until");
    let of_right_clock = with!(of_future(None, 960), |t| t.detail.task.claim_expires = Some(ago(-660)));
    says(of_right_clock, "- no worker known; the claim runs until");
    let unknown = with!(of_future(None, 60), |t| t.worker = Some(look(Life::Unknown)));
    says(unknown.clone(), "- no worker known; the claim runs until");
    let remembered = |d: &Detail| super::observe::waits(d, Some(&look(Life::Unknown)), NOW);
    assert_eq!(remembered(&running(Life::Unknown, 300).detail), None);
    assert!(remembered(&unknown.detail).is_some(), "nothing else tells how long it has lasted");
    assert_eq!(
        remembered(&of_future(Some(42), 60).detail),
        None,
        "its children are waited for from its death"
    );
    // A probe of the future delays no other.
    let mut many = storm(20, 2_000);
    probe(&mut many, "t_probe", -31_000_000, None);
    assert_eq!(resets(&many), 1);
}

#[test]
fn leaked_claims() {
    let leak = |status: Status, expires: Option<i64>| {
        with!(blank(status), |t| {
            t.detail.task.claim_lock = Some("host:7".into());
            t.detail.task.claim_expires = expires.map(ago);
            t.detail.events.push(event("claimed", 2_000, json!({"lock": "host:7"})));
        })
    };
    for status in [Status::Ready, Status::Blocked, Status::Todo] {
        let d = decided(leak(status.clone(), Some(300)));
        assert_eq!(line(&d), format!("release leaked-claim: a claim on a {status} task, run out 5m ago"));
        assert_eq!((kinds(&d).as_str(), status_after(&d)), ("reclaimed", None));
    }
    says(leak(Status::Ready, Some(-5)), "- a claim on a ready task, not run out");
    says(leak(Status::Ready, None), "release leaked-claim: a claim on a ready task, run out 33m ago");
    let fresh = with!(leak(Status::Ready, Some(300)), |t| {
        t.detail.runs = vec![run(1, 2_000, Some(1_000), Some("completed"))];
    });
    says(fresh, "- a leaked claim, but it was completed within the hour");
    let limited = with!(leak(Status::Ready, Some(300)), |t| t.log = ended(Cause::RateLimit));
    says(limited.clone(), "park leaked-claim");
    // What was released since is tried again, and the refusal of a profile says nothing of the one that has the task by now.
    let freed = with!(limited.clone(), |t| {
        t.detail.runs = vec![run(1, 4_000, Some(3_000), Some("crashed"))];
        t.detail.events.insert(0, event("unblocked", 2_500, json!({})));
    });
    says(freed, "release leaked-claim");
    let moved = with!(limited, |t| {
        t.detail.runs =
            vec![Run { profile: Some("vega".into()), ..run(1, 4_000, Some(3_000), Some("crashed")) }];
        t.detail.task.assignee = Some("nova".into());
    });
    says(moved, "release leaked-claim");
    let alive = with!(leak(Status::Ready, Some(300)), |t| t.worker = Some(look(Life::Alive)));
    says(alive, "- a claim on a ready task, but");
}

#[test]
fn a_claim_left_on_a_held_task_ends_as_soon_as_it_may_and_the_hold_goes_on() {
    let held = |by: &str, expires: i64| {
        with!(blank(Status::Scheduled), |t| {
            t.detail.task.claim_lock = Some("host:7".into());
            t.detail.task.claim_expires = Some(ago(expires));
            let hold =
                json!({"by": by, "watchbill": {"hold": {"card": "t_card", "until": NOW.plus(3_000).0}}});
            t.detail.events.push(event("claimed", 2_000, json!({"lock": "host:7"})));
            t.detail.events.push(event("scheduled", 1_000, hold));
            t.detail.cards = vec!["t_card".into()];
            t.log = ended(Cause::RateLimit);
        })
    };
    let d = decided(held("synthesize-distress", 300));
    assert_eq!(line(&d), "release leaked-claim: a claim on a scheduled task, run out 5m ago");
    assert_eq!((kinds(&d).as_str(), status_after(&d)), ("reclaimed", None));
    says(held("synthesize-distress", -300), "- held until");
    let alive = with!(held("synthesize-distress", 300), |t| t.worker = Some(look(Life::Alive)));
    says(alive, "- held until");
    says(held("somebody", 300), "- scheduled outside Watchbill");
}

#[test]
fn what_still_runs_is_not_started_again() {
    let orphan = || Orphan { pid: 77, command: "cargo".into(), run: None };
    let at_work = |mut t: TaskSeen, life: Life, orphans: Vec<Orphan>| {
        t.worker = Some(Look { orphans, ..look(life) });
        t.gone_since = Some(ago(60));
        t
    };
    let recent = || given_up("pid 4 not alive", 1_200);
    says(at_work(recent(), Life::Alive, vec![]), "tell older-worker: ");
    says(at_work(given_up("pid 4 not alive", 899), Life::Alive, vec![]), "- worker alive");
    says(
        at_work(recent(), Life::Unknown, vec![orphan()]),
        "- worker gone, waiting up to 14m for its child 77",
    );
    says(at_work(recent(), Life::Unknown, vec![]), "reset crash-loop");
    assert!(decided(recent()).steps[0].proof.is_some(), "looked at again before the write");
    let jam = with!(jammed("pid 429 not alive"), |t| {
        (t.detail.runs[0].started_at, t.detail.runs[0].ended_at) = (ago(3_000), Some(ago(2_900)));
    });
    says(at_work(jam.clone(), Life::Alive, vec![]), "tell older-worker: ");
    says(at_work(jam, Life::Unknown, vec![orphan()]), "- worker gone, waiting");
    let leak = with!(blank(Status::Ready), |t| {
        t.detail.task.claim_lock = Some("host:7".into());
        t.detail.task.claim_expires = Some(ago(300));
        t.detail.task.started_at = Some(ago(3_000));
        t.detail.events.push(event("claimed", 3_000, json!({"lock": "host:7"})));
    });
    says(at_work(leak, Life::Unknown, vec![orphan()]), "- worker gone, waiting");
    // Even where nothing is remembered between passes, not for ever.
    for (ended, want) in [(3_599, "- worker gone, waiting"), (3_600, "reset crash-loop")] {
        let mut forgetful = at_work(given_up("pid 4 not alive", ended), Life::Unknown, vec![orphan()]);
        forgetful.gone_since = Some(NOW);
        says(forgetful, want);
    }
}

#[test]
fn a_source_with_an_open_card_is_never_set_free() {
    let card = vec!["t_cccccccc".to_owned()];
    let d = decided(with!(running(Life::Gone, 900), |t| t.detail.cards = card.clone()));
    assert_eq!(
        (kinds(&d).as_str(), status_after(&d)),
        ("scheduled", Some(Status::Scheduled)),
        "{}",
        line(&d)
    );
    for status in [Status::Ready, Status::Todo] {
        let leak = with!(blank(status), |t| {
            t.detail.task.claim_lock = Some("host:7".into());
            t.detail.task.claim_expires = Some(ago(300));
            t.detail.events.push(event("claimed", 3_000, json!({"lock": "host:7"})));
        });
        let carded = with!(leak.clone(), |t| t.detail.cards = card.clone());
        assert_eq!(status_after(&decided(carded)), Some(Status::Scheduled));
        let limited = with!(leak, |t| t.log = ended(Cause::Quota));
        assert_eq!(status_after(&decided(limited)), Some(Status::Scheduled));
    }
}

#[test]
fn a_history_too_long_to_count_in_makes_nothing_bolder() {
    let t = with!(given_up("pid 4 not alive", 9_000), |t| t.detail.is_truncated = true);
    says(t, "escalate crash-loop: its history is too long to count its resets; left to a person");
    let t = with!(running(Life::Gone, 900), |t| {
        t.detail.is_truncated = true;
        t.worker.as_mut().unwrap().claimer = Life::Gone;
    });
    says(t, "requeue dead-worker: worker 42 gone, last heard from 15m ago (failure 1 of 2)");
}

#[test]
fn signs_of_life_from_the_future_are_none() {
    let millis =
        with!(running(Life::Gone, 900), |t| t.detail.task.last_heartbeat_at = Some(Time(NOW.0 * 1_000)));
    says(millis, "requeue dead-worker: worker 42 gone, last heard from 15m ago");
    says(with!(running(Life::Gone, 900), |t| t.log_at = Some(NOW.plus(9_000))), "requeue dead-worker");
}

#[test]
fn every_open_run_is_closed() {
    let ended = |pointed: Option<i64>| -> Vec<i64> {
        let t = with!(running(Life::Gone, 900), |t| {
            t.detail.task.claim_lock = None;
            t.detail.task.worker_pid = None;
            t.detail.task.current_run = pointed;
            t.detail.runs = vec![
                run(4, 900, None, None),
                run(3, 9_000, Some(8_000), Some("crashed")),
                run(2, 900, None, None),
            ];
        });
        let ends = |c: &Change| match c {
            Change::EndRun { run, .. } => Some(*run),
            _ => None,
        };
        decided(t).steps[0].changes.iter().filter_map(ends).collect()
    };
    assert_eq!(ended(None), [4, 2]);
    assert_eq!(ended(Some(2)), [2, 4], "each of them once");
}

#[test]
fn a_counter_at_its_end_stays_there() {
    let t = with!(running(Life::Gone, 900), |t| t.detail.task.failures = i64::MAX);
    says(t, "block dead-worker");
}

#[test]
fn a_persons_word_stands() {
    let comment =
        |author: &str, body: &str| Comment { author: author.into(), body: body.into(), at: ago(10) };
    let marked = |comments: Vec<Comment>, body: &str| {
        with!(running(Life::Gone, 900), |t| {
            t.detail.comments = comments;
            t.detail.body = body.into();
        })
    };
    says(marked(vec![], "do it\nwatchbill: no-heal\n"), "- marked `watchbill: no-heal`");
    says(marked(vec![comment("maria", "watchbill: no-heal\nI look at it")], ""), "- marked");
    says(marked(vec![comment("default", "watchbill: no-heal")], ""), "- marked");
    says(marked(vec![comment("luna", "watchbill: no-heal")], ""), "requeue");
    says(marked(vec![comment("nova", "watchbill: no-heal")], ""), "requeue");
    let by_worker = vec![comment("maria", "watchbill: no-heal"), comment("Luna", "watchbill: heal")];
    says(marked(by_worker, ""), "- marked");
    says(marked(vec![comment("maria", "please watchbill: no-heal")], ""), "requeue");
    let back = vec![comment("maria", "watchbill: no-heal"), comment("maria", "watchbill: heal")];
    says(marked(back, ""), "requeue");
}

#[test]
fn a_clock_that_jumped_stops_everything() {
    let mut s = seen(vec![running(Life::Gone, 900), given_up("pid 4 not alive", 9_000)]);
    s.clock_fault = Some("the wall clock moved by 3600 s since the last pass".into());
    let d = decide(&s, &pass(), &config());
    assert!(d.steps.is_empty() && d.findings.len() == 1, "{d:?}");
    // What runs stands still with it: nobody can tell whether its worker lives.
    let left: Vec<_> = d.left.iter().map(|l| (l.unknown, l.because.as_str())).collect();
    assert_eq!(left, [(true, "the wall clock moved by 3600 s since the last pass")]);
}

#[test]
fn own_boards_promote_what_is_free() {
    let child = |status: Status| {
        with!(blank(Status::Todo), |t| {
            t.detail.parents = vec![Kin { id: "t_p".into(), title: "p".into(), status, stray_title: false }];
        })
    };
    let on = |own: bool, t: TaskSeen| {
        let s = Seen { own_board: own, ..seen(vec![t]) };
        line(&decide(&s, &pass(), &config()))
    };
    assert_eq!(on(true, child(Status::Done)), "promote unpromoted: everything it waits for is done");
    assert_eq!(on(false, child(Status::Done)), "");
    assert_eq!(on(true, child(Status::Running)), "");
    assert_eq!(on(true, blank(Status::Todo)), "- waits in todo without a parent");
}

// ---- many at once ----

fn storm(n: usize, died: i64) -> Seen {
    let tasks = (0..n)
        .map(|k| {
            with!(given_up("pid 4 not alive", died + i64::try_from(k).unwrap()), |t| {
                t.detail.task.id = format!("t_{k:08x}");
            })
        })
        .collect();
    seen(tasks)
}

fn resets(s: &Seen) -> usize {
    decide(s, &pass(), &config()).steps.iter().filter(|s| s.action == "reset").count()
}

fn probe(s: &mut Seen, task: &str, at: i64, run_of: Option<Run>) {
    let trail = json!({"reset": 1, "storm": 1, "cause": "worker_gone", "died": ago(at + 900).0});
    s.recent.push(Recent { task: task.into(), event: ours("unblocked", at, trail) });
    let mut d = blank(Status::Running).detail;
    d.task.id = task.into();
    d.runs = run_of.into_iter().collect();
    s.probes.push(d);
}

#[test]
fn a_storm_is_slowed_not_stopped() {
    assert_eq!(resets(&storm(4, 2_000)), 4, "four are no storm");
    assert_eq!(resets(&storm(20, 2_000)), 1, "the first probe");
    let mut waiting = storm(20, 2_000);
    probe(&mut waiting, "t_probe", 300, None);
    assert_eq!(resets(&waiting), 0, "one probe per ten minutes");
    let mut second = storm(20, 2_000);
    probe(&mut second, "t_probe", 601, None);
    assert_eq!(resets(&second), 1);
    let mut third = storm(20, 9_000);
    probe(&mut third, "t_a", 1_300, None);
    probe(&mut third, "t_b", 700, None);
    assert_eq!(resets(&third), 0, "the wait doubles");
    let mut healthy = storm(20, 9_000);
    let lives = Run { last_heartbeat_at: Some(ago(1)), ..run(9, 700, None, None) };
    probe(&mut healthy, "t_a", 710, Some(lives));
    assert_eq!(resets(&healthy), 2, "a probe lived ten minutes: two at first");
    let mut finished = storm(20, 9_000);
    probe(&mut finished, "t_a", 1_000, Some(run(9, 990, Some(650), Some("completed"))));
    assert_eq!(resets(&finished), 4, "and twice as many ten minutes later");
    // Five died at once. One was reset, and died again: the others wait all the more.
    let mut again = storm(5, 3_000);
    let died_again = again.tasks[4].detail.task.id.clone();
    again.tasks[4] = with!(given_up("pid 4 not alive", 5), |t| t.detail.task.id.clone_from(&died_again));
    let trail = json!({"reset": 1, "storm": 1, "cause": "worker_gone", "died": ago(3_004).0});
    again.recent.push(Recent { task: died_again, event: ours("unblocked", 300, trail) });
    assert_eq!(resets(&again), 0, "its probe died");
}

#[test]
fn the_next_of_a_storm_goes_at_the_next_healthy_stretch() {
    let policy = history::StormPolicy { tasks: 5, window: 3_600, probe: 600, probe_max: 3_600 };
    let waiting: Vec<(String, Time)> = (0..20).map(|k| (format!("t_{k:08x}"), ago(2_000 + k))).collect();
    let waiting: Vec<(&str, Time)> = waiting.iter().map(|(id, at)| (id.as_str(), *at)).collect();
    let brake = |lasted: &[(i64, i64)]| {
        let mut s = seen(Vec::new());
        for (at, end) in lasted {
            probe(&mut s, &format!("t_{at}"), *at, Some(run(9, at - 10, Some(*end), Some("completed"))));
        }
        history::brake(Cause::WorkerGone, &waiting, &s, policy)
    };
    let slow = |allowed, seconds| history::Brake::Slow { allowed, next: NOW.plus(seconds) };
    assert_eq!(brake(&[]), slow(1, 0));
    assert_eq!(brake(&[(1_000, 50)]), slow(2, 550), "healthy since 50 s");
    assert_eq!(brake(&[(1_000, 650)]), slow(4, 550), "one stretch of 600 s later");
    assert_eq!(brake(&[(9_000, 1_250)]), slow(8, 550), "two");
    assert_eq!(brake(&[(1_000, 650), (300, 20)]), slow(3, 550), "one of the four went 300 s ago");
}

#[test]
fn requeues_are_not_braked() {
    let tasks = (0..30)
        .map(|k| with!(running(Life::Gone, 900), |t| t.detail.task.id = format!("t_{k:08x}")))
        .collect();
    assert_eq!(decide(&seen(tasks), &pass(), &config()).steps.len(), 30);
}

#[test]
fn backoff_doubles_to_its_end_and_scatters_the_same_way_every_time() {
    for n in 0..40 {
        let b = base::time::backoff(600, n, 7_200, "t_1");
        let plain = (600_i64 << n.min(10)).min(7_200);
        assert!(b >= plain && b <= (plain + plain / 5).min(7_200), "{n}: {b}");
        assert_eq!(b, base::time::backoff(600, n, 7_200, "t_1"));
    }
    let all: std::collections::BTreeSet<i64> =
        (0..50).map(|k| base::time::backoff(600, 0, 7_200, &format!("t_{k}"))).collect();
    assert!(all.len() > 8, "sixty tasks must not come back in one second: {all:?}");
}

#[test]
fn healthy_work_decays_the_count() {
    let mut t = given_up("pid 4 not alive", 1_200);
    t.detail.events.insert(1, ours("unblocked", 60_000, json!({"reset": 3})));
    let tally = |t: &TaskSeen| policy::attempts::tally::tally(&t.detail, 21_600).resets;
    assert_eq!(tally(&t), 1);
    // A row that merely stayed open for a day proves nothing.
    t.detail.runs.push(run(2, 59_000, Some(2_000), Some("crashed")));
    assert_eq!(tally(&t), 1);
    t.detail.runs[1].last_heartbeat_at = Some(ago(30_000));
    assert_eq!(tally(&t), 0);
}

#[test]
fn rows_worth_a_closer_look() {
    let row = |status: Status, edit: &dyn Fn(&mut Task)| {
        let mut t = blank(status).detail.task.clone();
        edit(&mut t);
        t
    };
    let s = |t: &Task| suspect(t, NOW, 30, false);
    assert!(s(&row(Status::Running, &|t| t.started_at = Some(ago(31)))));
    assert!(!s(&row(Status::Running, &|t| t.started_at = Some(ago(29)))));
    assert!(
        s(&row(Status::Running, &|t| t.last_heartbeat_at = Some(ago(3)))),
        "a heartbeat is no proof of progress"
    );
    assert!(
        s(&row(Status::Running, &|t| t.started_at = Some(NOW.plus(500)))),
        "a start in the future is a finding"
    );
    assert!(!s(&row(Status::Ready, &|_| ())));
    assert!(s(&row(Status::Ready, &|t| t.claim_lock = Some("h:1".into()))));
    assert!(s(&row(Status::Ready, &|t| t.last_failure_error = Some("pid 429 not alive".into()))));
    assert!(!s(&row(Status::Ready, &|t| t.last_failure_error = Some("pid 42 not alive".into()))));
    assert!(!s(&row(Status::Blocked, &|_| ())));
    assert!(!s(&row(Status::Todo, &|_| ())));
    for status in [Status::Review, Status::Triage, Status::Done, Status::Archived, Status::Other("x".into())]
    {
        assert!(!s(&row(status, &|t| t.claim_lock = Some("h:1".into()))));
    }
}

// ---- properties ----

fn any_life() -> impl Strategy<Value = Life> {
    prop_oneof![Just(Life::Alive), Just(Life::Gone), Just(Life::Unknown)]
}

fn any_status() -> impl Strategy<Value = Status> {
    prop_oneof![
        Just(Status::Triage),
        Just(Status::Todo),
        Just(Status::Scheduled),
        Just(Status::Ready),
        Just(Status::Running),
        Just(Status::Blocked),
        Just(Status::Review),
        Just(Status::Done),
        Just(Status::Archived),
    ]
}

prop_compose! {
    fn any_task()(
        life in any_life(), status in any_status(), began in -400_i64..200_000, expires in -9_000_i64..9_000,
        pid in proptest::option::of(1_i64..99_999), lock in any::<bool>(), failures in 0_i64..5,
        error in proptest::option::of("(pid 429 not alive|pid 4 not alive|HTTP 401|author|boom)"),
        log in prop_oneof![Just(LogEnd::Absent), Just(LogEnd::NoEvidence), Just(LogEnd::Unreadable("x".into())),
            Just(ended(Cause::RateLimit)), Just(ended(Cause::ConnectionRefused))],
        sticky in any::<bool>(), hand in any::<bool>(), claimer in any_life(), here in any::<bool>(),
    ) -> TaskSeen {
        let mut t = running(life, began);
        t.detail.task.status = status;
        t.detail.task.worker_pid = pid;
        t.detail.task.claim_expires = Some(ago(expires));
        t.detail.task.failures = failures;
        t.detail.task.last_failure_error = error.clone();
        t.detail.task.max_retries = hand.then_some(1);
        if !lock { t.detail.task.claim_lock = None; }
        t.detail.events.push(event("gave_up", began - 5, json!({"error": error})));
        if sticky { t.detail.events.push(event("blocked", 5, json!({"reason": "mine"}))); }
        t.worker.as_mut().unwrap().claimer = claimer;
        t.log = log;
        t.claim_here = here;
        t
    }
}

proptest! {
    #[test]
    fn never_acts_on_doubt_and_never_on_a_persons_word(t in any_task()) {
        let d = decided(t.clone());
        prop_assert!(d.steps.len() <= 1);
        let Some(step) = d.steps.first() else { return Ok(()) };
        let row = &t.detail.task;
        let life = t.worker.as_ref().unwrap().life;
        if row.status == Status::Running {
            // Of a living worker a person is told, and nothing else.
            if life == Life::Alive {
                prop_assert!(step.only_adds() && step.stop.is_none(), "{step:?}");
                return Ok(());
            }
            // The one exception is a lease: no worker was ever recorded, and its claim ran out here.
            let lease = row.worker_pid.is_none() && row.claim_lock.is_some() && t.claim_here;
            prop_assert!(life == Life::Gone || lease, "{step:?}");
        }
        prop_assert!(!matches!(row.status, Status::Review | Status::Triage | Status::Done | Status::Archived));
        let lifts = row.status == Status::Blocked
            && step.changes.iter().any(|c| matches!(c, Change::SetStatus(to) if *to != Status::Blocked));
        if lifts {
            prop_assert!(!board::hermes::is_sticky(&t.detail.events));
            prop_assert!(row.max_retries.is_none());
        }
        if matches!(t.log, LogEnd::Unreadable(_)) {
            let of_claim = matches!(row.status, Status::Blocked | Status::Todo | Status::Scheduled)
                && row.claim_lock.is_some();
            // Telling a person changes no row.
            let tells = step.changes.iter().all(|c| matches!(c, Change::AddEvent { .. } | Change::AddComment { .. }));
            prop_assert!(of_claim || tells || step.case == "log-unreadable", "{step:?}");
            let to = step.changes.iter().find_map(|c| if let Change::SetStatus(to) = c { Some(to.clone()) } else { None });
            prop_assert!(to.is_none_or(|to| to == Status::Blocked), "{step:?}");
        }
        let frees = step.changes.iter().any(|c| matches!(c, Change::SetStatus(Status::Ready | Status::Review)));
        if frees && matches!(&t.log, LogEnd::Ended(e) if e.cause == Cause::RateLimit) {
            prop_assert!(row.status == Status::Scheduled, "rate-limited work is not set free: {step:?}");
        }
        prop_assert!(step.expect.is_some());
    }

    #[test]
    fn order_does_not_matter_and_the_same_facts_give_the_same_steps(
        mut tasks in proptest::collection::vec(any_task(), 1..6)
    ) {
        for (n, t) in tasks.iter_mut().enumerate() {
            t.detail.task.id = format!("t_{n:08x}");
        }
        let there = decide(&seen(tasks.clone()), &pass(), &config());
        tasks.reverse();
        let mut back = decide(&seen(tasks), &pass(), &config());
        back.steps.reverse();
        // The storm brake gives out its few probes in order; below it, order does not matter.
        prop_assert_eq!(there.steps, back.steps);
    }

    #[test]
    fn what_was_seen_survives_being_saved(t in any_task()) {
        let s = seen(vec![t]);
        let text = serde_json::to_string(&s).unwrap();
        let again: Seen = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&again, &s);
        prop_assert_eq!(decide(&again, &pass(), &config()), decide(&s, &pass(), &config()));
    }
}

#[test]
fn a_log_that_cannot_be_read_is_told_and_after_six_hours_a_persons() {
    let blind = |mut t: TaskSeen| {
        t.log = LogEnd::Unreadable("a symbolic link".into());
        decided(t)
    };
    const HOURS: i64 = 6 * 3_600;
    let what =
        "its log cannot be read: a symbolic link; nothing is decided about it, and in 1s a person is asked";
    for t in [running(Life::Gone, HOURS - 1), given_up("pid 4 not alive", HOURS - 1)] {
        let d = blind(t);
        assert_eq!((d.steps.len(), d.findings.len(), d.left.len()), (0, 1, 1), "{d:?}");
        assert!(d.findings[0].starts_with("t_00000001: ") && d.findings[0].ends_with(what), "{d:?}");
        assert!(d.left[0].unknown);
    }
    for t in [running(Life::Gone, HOURS), given_up("pid 4 not alive", HOURS)] {
        let d = blind(t);
        assert!(
            line(&d).starts_with("hand-over log-unreadable: ") && line(&d).contains("needs a person"),
            "{d:?}"
        );
        let says = |c: &Change| matches!(c, Change::AddEvent { kind, payload, .. } if kind == "blocked" && payload["cause"] == "log-unreadable");
        assert!(d.steps[0].changes.iter().any(says) && d.findings.is_empty(), "{d:?}");
    }
    assert_eq!(blind(running(Life::Alive, HOURS - 1)).steps, []);
    assert_eq!(blind(running(Life::Unknown, HOURS)).findings, [""; 0], "whether it died is not known either");
}

#[test]
fn a_hold_of_ours_ends_also_where_somebody_marked_the_task_since() {
    let marked = |until: i64, by: &str| {
        with!(blank(Status::Scheduled), |t| {
            let hold = json!({"hold": {"owner": by, "cause": "rate_limit", "until": NOW.plus(until).0}});
            t.detail.events.push(event("scheduled", 900, json!({"by": by, "watchbill": hold})));
            t.detail.body = "Do it.\nwatchbill: no-heal\n".into();
        })
    };
    says(marked(60, "route-blocked"), "- marked `watchbill: no-heal`; held until ");
    for by in ["route-blocked", "heal", "synthesize-distress"] {
        says(marked(0, by), "resume hold-over: held for 15m, the hold is over; marked `watchbill: no-heal`");
    }
    says(marked(0, "anna"), "- marked `watchbill: no-heal`");
    // Nothing else is done about it.
    let due = |change: &dyn Fn(&mut TaskSeen)| {
        let mut t = marked(0, "synthesize-distress");
        change(&mut t);
        decided(t).steps.first().map(|s| s.action.to_string())
    };
    assert_eq!(due(&|t| t.detail.task.status = Status::Ready), None);
    let card = |t: &mut TaskSeen| t.detail.task.title = "[BLOCKED] t_00000009 rate_limited".into();
    assert_eq!(due(&card), None, "a card that waits its turn");
    let tried = |t: &mut TaskSeen| (card(t), t.detail.task.started_at = Some(ago(2_000))).1;
    assert_eq!(due(&tried).as_deref(), Some("resume"), "its source would wait behind it for ever");
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let p = policy();
    assert_eq!(p.grace, Duration::from_secs(180));
    assert_eq!(p.max_resets, 3);
    assert_eq!(p.backoff, Duration::from_secs(600));
    assert_eq!(p.decay, Duration::from_secs(6 * 3_600));
}

#[test]
fn a_block_that_nobody_explains_is_a_persons_after_a_while() {
    let blocked = |newest: Event, failures: i64| {
        let mut t = blank(Status::Blocked);
        t.detail.task.failures = failures;
        t.detail.events.push(event("gave_up", 9_000, json!({"limit_source": "dispatcher"})));
        t.detail.events.push(newest);
        line(&decided(t))
    };
    // A row that says blocked, and a newer word that says it is not.
    let forged = || event("unblocked", 2_000, json!({"by": "heal"}));
    assert!(blocked(forged(), 2).starts_with("hand-over unexplained-block: "), "{}", blocked(forged(), 2));
    let leave = "- blocked, but not by the failure breaker";
    assert_eq!(blocked(event("unblocked", 1_700, json!({})), 2), leave, "somebody may be about to");
    assert_eq!(blocked(forged(), 1), leave, "the dispatcher promotes it");
    let t = Task { failures: 1, ..blank(Status::Blocked).detail.task.clone() };
    assert!(suspect(&t, NOW, 30, false), "also without a text of its failure");
}

#[test]
fn an_unblock_that_released_nothing_does_not_make_a_hold_endless() {
    let mut t = blank(Status::Scheduled);
    let hold = json!({"hold": {"owner": "heal", "cause": "rate_limit", "until": ago(60).0}});
    t.detail.events.push(ours("scheduled", 3_000, hold));
    t.detail.events.push(event("unblocked", 2_000, json!({"by": "heal"})));
    assert!(line(&decided(t)).starts_with("resume hold-over: "));
}

#[test]
fn a_card_is_known_by_its_title_unless_its_task_was_taken_off_it() {
    let mut card = detail("t_0000beef", Status::Scheduled).task.clone();
    card.title = "[BLOCKED] t_00000001 rate_limited".into();
    let knows = |events: Vec<Event>| {
        let mut all = vec![detail("t_00000001", Status::Ready)];
        all[0].events.extend(events);
        super::observe::know_by_title(&mut all, std::slice::from_ref(&card));
        !all[0].cards.is_empty()
    };
    let parted = |by: &str| event("unlinked", 60, json!({"by": by, "parent": "t_0000beef"}));
    assert!(knows(vec![]));
    assert!(!knows(vec![parted("route-blocked")]), "it goes on for others");
    assert!(knows(vec![parted("anna")]), "whoever does that by hand leaves the card open about it");
    assert!(knows(vec![parted("route-blocked"), event("linked", 30, json!({"parent": "t_0000beef"}))]));
}
