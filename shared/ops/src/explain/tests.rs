//! Tables of how tasks stand, what they had, and what a person is told to run.

use std::sync::Arc;

use serde_json::{Value, json};

use super::facts::{Facts, Refused, Take, Verdict};
use super::standing::{self, Kind};
use super::summary::Shared;
use super::{Answer, deeds, diagnosis, suggestions};
use base::cause::Cause;
use base::error::Error;
use base::time::Time;
use board::testing::{NOW, ago, detail, event, run};
use board::{Detail, Event, Kin, Run, Status};
use config::QuietHours;
use host::Life;
use logs::provider::Id;
use logs::{Evidence, LogEnd, Reading};
use policy::Profiles;
use policy::endless::Endless;
use policy::needs_operator;
use policy::remedy::Lacking;
use policy::routing::reach::Unreached;
use policy::runtime::{Dispatcher, Runtime};

mod still;

fn facts(detail: Detail) -> Facts {
    Facts {
        board: "default".into(),
        hand: "hermes kanban".into(),
        flags: String::new(),
        own_board: false,
        is_shared: false,
        now: NOW,
        paused: None,
        refused: None,
        person: None,
        harness: Some(Life::Alive),
        life: None,
        outlived_by: None,
        is_for_people: false,
        woke: None,
        no_orchestrator: None,
        refused_orchestrators: None,
        is_passed_over: false,
        detail,
        reading: Reading::of(LogEnd::Absent, None),
        kin: Vec::new(),
        card: None,
        has_turn: false,
        instead: None,
        runtime: Runtime {
            dispatcher: Dispatcher::Alive(7),
            is_daemon: true,
            failure_limit: Some(2),
            profiles: ["luna", "sol"].into_iter().collect(),
            auto_decompose: Some(true),
            review_dispatch: Some(true),
            ..Runtime::absent()
        },
        wedged: None,
        takers: None,
        queued: None,
        retried_at: None,
        quiet_hours: None,
        unreached: None,
        endless: Arc::default(),
        providers: [].into(),
        unanswered: None,
        beyond: None,
        patience: 1_800,
        claim_ceiling: 86_400,
        takes: Vec::new(),
    }
}

fn task(status: Status, events: Vec<Event>) -> Facts {
    let mut d = detail("t_00000001", status);
    d.events.extend(events);
    facts(d)
}

/// An event of Watchbill.
fn ours(kind: &str, seconds: i64, by: &str, case: &str, more: Value) -> Event {
    let mut payload = json!({"by": by, "watchbill": {"pass": format!("p{seconds}"), "case": case, "because": "for a reason"}});
    for (key, value) in more.as_object().into_iter().flatten() {
        match key.as_str() {
            "hold" => payload["watchbill"][key] = value.clone(),
            "of" => payload["watchbill"]["cause"] = value.clone(),
            _ => payload[key] = value.clone(),
        }
    }
    event(kind, seconds, payload)
}

fn take(watcher: &'static str, verdict: Verdict, next: Option<i64>) -> Take {
    Take {
        watcher,
        verdict,
        because: "so it is".into(),
        next: next.map(|s| NOW.plus(s)),
        stuck: None,
        elsewhere: false,
        frees: false,
    }
}

fn acts(action: &str) -> Verdict {
    Verdict::Acts { action: action.into(), case: "dead-worker".into() }
}

#[track_caller]
fn stands(f: &Facts, kind: Kind, says: &str, more: Option<&str>) {
    let stand = standing::of(f);
    assert_eq!((stand.kind, stand.says.as_str(), stand.more.as_deref()), (kind, says, more), "{stand:?}");
}

#[test]
fn a_block_says_who_lifts_it() {
    let by_us = json!({"cause": "tree-drift", "reason": "tree-drift, changed: a"});
    stands(
        &task(Status::Blocked, vec![ours("blocked", 600, "heal", "tree-drift", by_us)]),
        Kind::NeedsPerson,
        "blocked 10m ago, and needs a person (tree-drift): tree-drift, changed: a",
        Some("Nobody but a person lifts that, and nothing else went wrong with it"),
    );
    // What its worker had said before nobody could help it.
    let first = Event { run: Some(1), ..event("blocked", 900, json!({"reason": "need a key"})) };
    let later = json!({"cause": "no-decision", "reason": "its card was closed"});
    let mut f =
        task(Status::Blocked, vec![first, ours("blocked", 600, "route-blocked", "no-decision", later)]);
    f.detail.runs = vec![run(1, "luna", Some("blocked"))];
    let stand = standing::of(&f);
    assert_eq!(stand.more.as_deref(), Some("Behind it: it was blocked with the words: need a key"));
    let by_hand = event("blocked", 600, json!({"reason": "which licence?"}));
    stands(
        &task(Status::Blocked, vec![by_hand.clone()]),
        Kind::NeedsPerson,
        "blocked by hand 10m ago: which licence?",
        Some("Only a person can unblock it; nobody else is asked"),
    );
    let mut f = task(Status::Blocked, vec![Event { run: Some(1), ..by_hand }]);
    f.detail.task.block_kind = Some("needs_input".into());
    f.detail.runs = vec![run(1, "luna", Some("blocked"))];
    stands(
        &f,
        Kind::NeedsPerson,
        "blocked: its worker luna asks a person (needs_input) 10m ago: which licence?",
        Some("Only the operator unblocks it"),
    );
    // Without a kind a person may have said it, under the worker; and of what nobody worked on Hermes makes an attempt up.
    (f.detail.task.block_kind, f.detail.events[1].payload) = (None, json!({"reason": "stop"}).into());
    assert_eq!(standing::of(&f).says, "blocked: stopped while luna worked on it, 10m ago: stop");
    f.detail.runs[0].started_at = ago(1_200);
    assert_eq!(standing::of(&f).says, "blocked by hand 10m ago: stop");
    // A question is a person's to answer, even if no worker wrote it.
    f.detail.task.block_kind = Some("needs_input".into());
    let stand = standing::of(&f);
    assert_eq!(
        (stand.kind, &*stand.says),
        (Kind::NeedsPerson, "blocked: a person is asked (needs_input) 10m ago: stop")
    );
    // The reason of a block that was lifted does not count.
    let lifted = vec![event("blocked", 900, json!({})), event("unblocked", 600, json!({}))];
    let nothing = "blocked 10m ago, and nothing on the board says why";
    assert_eq!(standing::of(&task(Status::Blocked, lifted)).says, nothing);
}

#[test]
fn the_log_of_the_attempt_that_failed_wins() {
    let gave_up = event("gave_up", 1_200, json!({"error": "pid 7 not alive"}));
    let mut f = task(Status::Blocked, vec![gave_up]);
    f.detail.task.failures = 2;
    f.detail.runs = vec![run(1, "luna", Some("crashed"))];
    f.detail.runs[0].error = Some("pid 7 not alive".into());
    let of_board = "blocked after 2 failures, 20m ago: its worker died, and nothing says why (worker_gone)";
    assert_eq!(standing::of(&f).says, of_board);
    f.reading.end = LogEnd::Ended(Evidence {
        http: Some(402),
        endpoint_host: Some("moon:1".into()),
        words: "HTTP 402: no credits".into(),
        ..Evidence::new(Cause::Quota, 9)
    });
    stands(
        &f,
        Kind::LeftAlone,
        "blocked after 2 failures, 20m ago: a quota or the money at its provider was used up (quota)",
        Some("Attempt 1 of luna, 20m ago, HTTP 402 at moon:1; its log: HTTP 402: no credits"),
    );
    // What a watcher waits for is said, and what it would do.
    f.takes = vec![take("heal", Verdict::Leaves, Some(300))];
    assert_eq!((standing::of(&f).kind, standing::of(&f).until), (Kind::Waits, Some(NOW.plus(300))));
    f.takes = vec![take("route-blocked", acts("move"), None)];
    let stand = standing::of(&f);
    assert_eq!(stand.kind, Kind::Due);
    assert!(stand.more.unwrap().ends_with("; route-blocked acts with its next pass: move (dead-worker)"));
    // The log belongs to the newest attempt: one that went well has another.
    f.detail.runs[0].outcome = Some("completed".into());
    assert_eq!(diagnosis::newest(&f, None), None);
}

#[test]
fn what_went_wrong_is_told_of_work_that_is_over() {
    let requeued = ours("reclaimed", 900, "heal", "recycled-pid", json!({"of": "worker_gone"}));
    let done = event("completed", 300, json!({}));
    let mut f = task(Status::Done, vec![requeued, done.clone()]);
    f.detail.runs = vec![run(2, "sol", Some("completed")), run(1, "luna", Some("reclaimed"))];
    f.detail.runs[0].summary = Some("counted".into());
    stands(
        &f,
        Kind::Over,
        "done by sol in attempt 2, 5m ago: counted",
        Some(
            "On the way: its worker died, and nothing says why (worker_gone); heal requeued it 15m ago (recycled-pid): for a \
             reason",
        ),
    );
    // Of a worker that was stopped nobody says that it just died, nor of one whose claim ran out.
    let stopped = ours("crashed", 900, "heal", "health:Stalled", json!({"of": "worker_gone"}));
    let told = diagnosis::newest(&task(Status::Done, vec![stopped]), None).map(|t| t.says());
    assert_eq!(told.as_deref(), Some("heal requeued it 15m ago (health:Stalled): for a reason"));
    let mut lost = task(Status::Done, vec![]);
    lost.detail.runs = vec![run(1, "luna", Some("reclaimed"))];
    lost.detail.runs[0].error = Some("stale_lock=h:77".into());
    let told = diagnosis::newest(&lost, None).map(|t| t.says());
    let ran_out = "attempt 1 of luna, 20m ago: reclaimed, its claim was revoked: stale_lock=h:77";
    assert_eq!(told.as_deref(), Some(ran_out));
    // A failure after our deed is the newer trouble.
    f.detail.runs.insert(0, run(3, "sol", Some("timed_out")));
    f.detail.runs[0].ended_at = Some(ago(400));
    let says = diagnosis::newest(&f, None).map(|t| t.says());
    assert_eq!(says.as_deref(), Some("it ran out of time (timed_out); attempt 3 of sol, 6m ago: timed_out"));
    let well = task(Status::Done, vec![done]);
    stands(&well, Kind::Over, "done, 5m ago", Some("Nothing went wrong with it, as far as this board tells"));
}

#[test]
fn what_waits_says_for_what() {
    let hold = json!({"cause": "rate_limit", "until": NOW.plus(3_600).0});
    let held = |hold: Value| ours("scheduled", 60, "route-blocked", "provider-hold", json!({"hold": hold}));
    let stand = standing::of(&task(Status::Scheduled, vec![held(hold.clone())]));
    assert_eq!((stand.kind, stand.until), (Kind::Waits, Some(NOW.plus(3_600))));
    assert!(stand.says.ends_with("(1h): its provider limited requests (rate_limit)"), "{}", stand.says);
    let over = json!({"cause": "rate_limit", "until": ago(60).0});
    assert_eq!(standing::of(&task(Status::Scheduled, vec![held(over)])).kind, Kind::Due);
    let foreign = event("scheduled", 60, json!({"reason": "not now"}));
    assert_eq!(standing::of(&task(Status::Scheduled, vec![foreign])).kind, Kind::LeftAlone);

    let mut f = task(Status::Todo, vec![]);
    let parent = task(Status::Blocked, vec![event("blocked", 60, json!({}))]).detail;
    let kin = |id: &str, status| Kin { id: id.into(), title: "P".into(), status, stray_title: false };
    f.detail.parents = vec![kin("t_00000009", Status::Done), kin("t_00000001", Status::Blocked)];
    f.kin = vec![parent];
    stands(
        &f,
        Kind::Fine,
        "in todo: it waits for t_00000001 P (blocked)",
        Some("t_00000001 is blocked by hand 1m ago: no reason given"),
    );
}

#[test]
fn what_its_worker_parked_needs_a_person_and_what_a_person_scheduled_does_not() {
    // The attempt lasted from 20 minutes ago to 10 minutes ago, unless a row says otherwise.
    let parked = |ago_s: i64, reason: Value| {
        let scheduled = Event { run: Some(1), ..event("scheduled", ago_s, json!({"reason": reason})) };
        let claimed = Event { run: Some(1), ..event("claimed", ago_s + 600, json!({})) };
        let mut f = task(Status::Scheduled, vec![claimed, scheduled]);
        let (from, to) = (ago(ago_s + 600), Some(ago(ago_s)));
        f.detail.runs = vec![Run { started_at: from, ended_at: to, ..run(1, "luna", Some("scheduled")) }];
        f
    };
    let until = |seconds: i64| json!(format!("SCHEDULED_UNTIL={}, when the limit ends", NOW.plus(seconds)));
    let more = "No timer ends that: only an orchestrator or a person lets it go on";
    stands(
        &parked(7_200, json!("try again in 2 hours")),
        Kind::NeedsPerson,
        "scheduled while luna worked on it, 2h ago: try again in 2 hours",
        Some(more),
    );
    for (f, kind) in [
        (parked(7_200, Value::Null), Kind::NeedsPerson),
        (parked(1_800, json!("later")), Kind::NeedsPerson),
        (parked(1_799, json!("later")), Kind::LeftAlone),
        // The time that its worker names counts, and as long behind it as a card may wait.
        (parked(7_200, until(60)), Kind::LeftAlone),
        (parked(7_200, until(-1_799)), Kind::LeftAlone),
        (parked(7_200, until(-1_800)), Kind::NeedsPerson),
        (parked(7_200, until(-90_000)), Kind::NeedsPerson),
        (parked(7_200, json!("SCHEDULED_UNTIL=soon")), Kind::NeedsPerson),
        // No worker may ask for more than a week.
        (parked(7 * 86_400, until(9 * 86_400)), Kind::LeftAlone),
        (parked(7 * 86_400 + 1_800, until(9 * 86_400)), Kind::NeedsPerson),
    ] {
        assert_eq!(standing::of(&f).kind, kind, "{f:?}");
    }
    let mut queued = task(
        Status::Scheduled,
        vec![event("scheduled", 600, json!({"by": "board", "reason": "queued behind other cards"}))],
    );
    assert_eq!(standing::of(&queued).kind, Kind::LeftAlone, "no card");
    queued.detail.task.title = "[BLOCKED] t_00000002 dependency".into();
    stands(
        &queued,
        Kind::Waits,
        "queued 10m ago: queued behind other cards",
        Some("synthesize-distress releases it in its turn"),
    );
    queued.detail.events.push(event("watchbill_undone", 60, json!({"by": "undo"})));
    assert_eq!(standing::of(&queued).kind, Kind::LeftAlone, "nobody releases it");
    let by_hand = |change: &dyn Fn(&mut Facts)| {
        let mut f = parked(7_200, json!("not now"));
        change(&mut f);
        let stand = standing::of(&f);
        (stand.kind, stand.says.starts_with("scheduled outside Watchbill"))
    };
    let said = |author: &'static str, seconds: i64| {
        move |f: &mut Facts| {
            let (author, body) = (author.to_owned(), "SCHEDULED: not now".to_owned());
            f.detail.comments.push(board::Comment { author, body, at: ago(seconds) });
        }
    };
    let person = (Kind::LeftAlone, true);
    assert_eq!(by_hand(&said("anna", 7_200)), person, "who scheduled it under its worker");
    assert_eq!(by_hand(&said("luna", 7_200)), (Kind::NeedsPerson, false), "its worker, at a command line");
    assert_eq!(by_hand(&said("anna", 9_000)), (Kind::NeedsPerson, false), "another time");
    assert_eq!(by_hand(&|f| f.detail.events.truncate(1)), person, "no event");
    // Of what no attempt worked on Hermes makes one up that took no time.
    let made_up = |f: &mut Facts| {
        f.detail.events.retain(|e| e.kind != board::EventKind::Claimed);
        f.detail.runs[0].started_at = ago(7_200);
    };
    assert_eq!(by_hand(&made_up), person);
    assert_eq!(by_hand(&|f| f.detail.runs.clear()), person, "no run");
    assert_eq!(by_hand(&|f| f.detail.runs[0].outcome = Some("reclaimed".into())), person);
}

#[test]
fn what_waits_for_ever_needs_a_person_and_says_how_that_ends() {
    let endless = |own_board: bool, why: Endless| {
        let mut f = task(Status::Todo, vec![]);
        (f.own_board, f.endless) = (own_board, Arc::new([("t_00000001".to_owned(), why)].into()));
        f.hand = if own_board { "board".into() } else { f.hand };
        f
    };
    for (own, why, says, run) in [
        (
            true,
            Endless::Missing("x".into()),
            "it waits for x, which is not on this board",
            "board unlink x t_00000001",
        ),
        (
            true,
            Endless::Circle("t_00000001".into(), 1),
            "it waits for itself",
            "board unlink t_00000001 t_00000001",
        ),
        (
            false,
            Endless::Circle("-b".into(), 2),
            "it waits for -b, which waits for it",
            "hermes kanban unlink -- -b t_00000001",
        ),
        (
            true,
            Endless::Circle("b".into(), 3),
            "it waits for b, which waits for it in a circle of 3 tasks",
            "board unlink b t_00000001",
        ),
    ] {
        let f = endless(own, why);
        let stand = standing::of(&f);
        assert_eq!(
            (stand.kind, stand.says.as_str()),
            (Kind::NeedsPerson, &*format!("in todo: {says}; that never happens"))
        );
        assert_eq!(suggestions::of(&f, &stand)[0].run, run);
    }
    // What waits behind one of them does not: it goes on with that one.
    let mut f = endless(true, Endless::Circle("t_00000001".into(), 1));
    f.kin = vec![f.detail.clone()];
    f.detail.task.id = "t_00000002".into();
    f.detail.parents =
        vec![Kin { id: "t_00000001".into(), title: "P".into(), status: Status::Todo, stray_title: false }];
    stands(
        &f,
        Kind::Fine,
        "in todo: it waits for t_00000001 P (todo)",
        Some("t_00000001 is in todo: it waits for itself; that never happens"),
    );
}

#[test]
fn what_lets_a_log_be_read_comes_before_the_unblock() {
    let cause = json!({"cause": "log-unreadable", "reason": "its log cannot be read"});
    let unread = |why: &str| {
        let mut f = task(Status::Blocked, vec![ours("blocked", 60, "heal", "log-unreadable", cause.clone())]);
        let end = LogEnd::Unreadable(format!("/l/a b.log: {why}"));
        f.reading = Reading { file: Some("/l/a b.log".into()), ..Reading::of(end, None) };
        f
    };
    for (why, first) in [
        (
            "Permission denied (os error 13): let user 7 read it",
            r#"sudo chgrp "$(id -g)" '/l/a b.log' && sudo chmod ug+r '/l/a b.log'"#,
        ),
        ("not a regular file: move it away", "ls -ld '/l/a b.log'"),
    ] {
        let f = unread(why);
        let all: Vec<String> = suggestions::of(&f, &standing::of(&f)).into_iter().map(|c| c.run).collect();
        assert_eq!(all[..2], [first, "hermes kanban unblock t_00000001"], "{all:?}");
    }
    let mut f = unread("a symbolic link");
    f.reading = Reading::of(LogEnd::NoEvidence, None);
    assert_eq!(suggestions::of(&f, &standing::of(&f))[0].run, "hermes kanban unblock t_00000001");
}

#[test]
fn a_decision_that_was_refused_is_told_of_the_card_that_was_answered() {
    let of = |refused: i64| {
        let because = "Refused, and nothing changed by it: reassign t_00000001: there is no profile ghost.";
        let route = json!({"action": "reassign", "task": "t_00000001", "assignee": "ghost"});
        let mut card = detail("t_0000ca4d", Status::Done);
        card.runs = vec![Run { route: Some(route), ..run(1, "tuesday", Some("completed")) }];
        card.events.push(event("completed", 120, json!({})));
        let trail = json!({"pass": "p", "case": "decision", "because": because});
        let keys =
            json!({"by": "route-blocked", "accepted": 1 - refused, "refused": refused, "watchbill": trail});
        card.events.push(event("watchbill_decided", 60, keys));
        let f = Facts { card: Some(card), ..task(Status::Scheduled, vec![]) };
        Answer::of(&f, "/b.db", &[]).card.unwrap().decision.unwrap()
    };
    let refused = "reassign t_00000001. Refused, and nothing changed by it: reassign t_00000001: there is no profile ghost.";
    assert_eq!((of(0), of(1)), ("reassign t_00000001".to_owned(), refused.to_owned()));
}

#[test]
fn a_log_of_which_no_line_is_known_is_named() {
    let of = |outcome: &str, end: LogEnd, modified: i64| {
        let mut f = task(Status::Ready, vec![]);
        f.detail.runs =
            vec![Run { started_at: ago(600), ended_at: Some(ago(60)), ..run(1, "luna", Some(outcome)) }];
        let reading = Reading::of(end, Some(ago(modified)));
        f.reading = Reading { file: Some("/l/a b.log".into()), ..reading };
        let all = Answer::of(&f, "/b.db", &[]).evidence;
        all.into_iter().find(|line| line.contains("its log"))
    };
    let named = Some("its log has no line that Watchbill knows; read it: tail '/l/a b.log'".to_owned());
    assert_eq!(of("crashed", LogEnd::NoEvidence, 70), named);
    // It was written by an attempt before, or nothing failed.
    assert_eq!(of("crashed", LogEnd::NoEvidence, 700), None);
    assert_eq!(of("completed", LogEnd::NoEvidence, 70), None);
    assert_eq!(of("crashed", LogEnd::Absent, 70), None);
}

#[test]
fn a_held_review_is_unblocked_by_our_own_command_and_other_work_by_hermes() {
    let hold = json!({"cause": "rate_limit", "until": NOW.plus(3_600).0});
    let hold = ours("scheduled", 60, "heal", "exited", json!({"hold": hold}));
    let claimed = |from: &str| event("claimed", 600, json!({"source_status": from}));
    for (from, own_board, flags, want) in [
        ("ready", false, "", "hermes kanban unblock t_00000001"),
        ("review", false, "", "board unblock t_00000001"),
        ("review", false, " --board side", "board unblock t_00000001 --board side"),
        ("review", true, " --db b.db", "hermes kanban unblock t_00000001"),
    ] {
        let f = task(Status::Scheduled, vec![claimed(from), hold.clone()]);
        let f = Facts { own_board, flags: flags.into(), ..f };
        let lines: Vec<String> = suggestions::of(&f, &standing::of(&f)).into_iter().map(|c| c.run).collect();
        assert!(lines.iter().any(|l| l == want), "{want}: {lines:?}");
    }
}

#[test]
fn that_the_last_log_is_on_another_host_keeps_no_work_in_the_queue() {
    let mut f = task(Status::Ready, vec![event("created", 7_000, json!({}))]);
    f.own_board = true;
    let because = board::several_hosts::log_is_on("mars@1f2e");
    f.takes = vec![Take { because, elsewhere: true, ..take("synthesize-distress", Verdict::Unknown, None) }];
    let stand = standing::of(&f);
    assert_eq!(stand.kind, Kind::Fine, "{stand:?}");
    assert!(stand.says.ends_with("a worker must claim it"), "{stand:?}");
    (f.takes[0].because, f.takes[0].elsewhere) = ("its log cannot be read".into(), false);
    let stand = standing::of(&f);
    assert!(stand.says.ends_with("nobody takes it: its log cannot be read"), "{stand:?}");
}

#[test]
fn ready_work_says_why_nobody_takes_it() {
    let ready = || task(Status::Ready, vec![]);
    assert_eq!(
        standing::of(&ready()).says,
        "ready for luna since 2h 30m: the dispatcher (process 7, every 1m) starts it"
    );
    let mut f = ready();
    f.runtime.dispatcher = Dispatcher::Absent;
    assert_eq!(standing::of(&f).kind, Kind::Waits);
    let mut f = ready();
    f.wedged = Some("dispatcher-wedged: process 9".into());
    assert_eq!(standing::of(&f).says, "ready, and its dispatcher does nothing: dispatcher-wedged: process 9");
    assert_eq!(standing::of(&f).kind, Kind::Waits, "that is told once, of the board");
    let mut f = ready();
    f.detail.task.assignee = Some("nobody".into());
    assert_eq!(
        standing::of(&f).says,
        "ready and for nobody, and there is no such profile, so nobody takes it"
    );
    f.own_board = true;
    f.runtime.profiles = Profiles::default();
    assert_eq!(standing::of(&f).kind, Kind::Fine, "on a board without profiles nobody is unknown");
    // What Hermes assigns by itself, and a name that takes its tasks itself, also where it was told before.
    let told = json!({"mend": "hermes x", "key": needs_operator::NO_ASSIGNEE});
    let told = ours("watchbill_detected", 60, "route-blocked", "notice", told);
    for (who, default, lane, kind, says) in [
        (None, None, None, Kind::NeedsPerson, "for a reason"),
        (
            None,
            Some("sol"),
            None,
            Kind::Fine,
            "ready for sol since 2h 30m: the dispatcher (process 7, every 1m) starts it",
        ),
        (Some("orion"), Some("sol"), None, Kind::NeedsPerson, "for a reason"),
        (
            Some("orion"),
            None,
            Some("orion"),
            Kind::Fine,
            "ready for orion since 2h 30m: orion claims its tasks itself",
        ),
        (Some("orion"), None, Some("other"), Kind::NeedsPerson, "for a reason"),
    ] {
        let mut f = task(Status::Ready, vec![told.clone()]);
        f.detail.task.assignee = who.map(str::to_owned);
        f.runtime.default_assignee = default.map(str::to_owned);
        f.runtime.lanes = lane.into_iter().map(str::to_owned).collect();
        let stand = standing::of(&f);
        assert_eq!((stand.kind, stand.says.as_str()), (kind, says), "{who:?} {default:?} {lane:?}");
        // Nobody took it for hours.
        f.is_passed_over = true;
        assert_eq!(standing::of(&f).kind, Kind::NeedsPerson, "{who:?} {default:?} {lane:?}");
    }

    let said = |seconds: i64, by: &str| {
        let mut told = ours("watchbill_detected", seconds, by, "notice", json!({"mend": "hermes x"}));
        told.payload["watchbill"]["because"] =
            json!("t_00000001 is ready, and the guard holds it back; hermes x");
        told
    };
    let told = task(Status::Ready, vec![said(60, "route-blocked")]);
    stands(&told, Kind::NeedsPerson, "ready, and the guard holds it back", Some("What mends it: hermes x"));
    // Not what another author says, nor what was said before the task was unblocked.
    assert_eq!(standing::of(&task(Status::Ready, vec![said(60, "luna")])).kind, Kind::Fine);
    let since = task(Status::Ready, vec![said(60, "route-blocked"), event("unblocked", 30, json!({}))]);
    assert_eq!(standing::of(&since).kind, Kind::Fine);
    // A person's `unblock` releases it at once; another profile alone does not.
    for (kind, lock, want) in [
        ("unblocked", None, Kind::Fine),
        ("unblocked", Some("host:7"), Kind::LeftAlone),
        ("assigned", None, Kind::LeftAlone),
    ] {
        let mut f = task(Status::Ready, vec![event(kind, 30, json!({}))]);
        f.detail.task.claim_lock = lock.map(str::to_owned);
        f.takes = vec![take("route-blocked", Verdict::Leaves, None)];
        assert_eq!(standing::of(&f).kind, want, "{kind} {lock:?}");
    }
    // What was said of a worker is over with that worker.
    let looped = json!({"key": "health:Loop detected", "mend": "look at what process 7 does"});
    let looped = ours("watchbill_detected", 600, "heal", "health:Loop detected", looped);
    let gone = event("reclaimed", 300, json!({"by": "heal", "stale_lock": "host:7"}));
    assert_eq!(standing::of(&task(Status::Ready, vec![looped, gone])).kind, Kind::Fine);
}

#[test]
fn a_running_task_is_as_its_worker() {
    let running = |verdict: Option<Verdict>, next| {
        let mut f = task(Status::Running, vec![]);
        f.takes.extend(verdict.map(|v| take("heal", v, next)));
        standing::of(&f)
    };
    for (verdict, next, kind) in [
        (Some(acts("requeue")), None, Kind::Due),
        (Some(Verdict::Leaves), None, Kind::Fine),
        (Some(Verdict::Leaves), Some(60), Kind::Waits),
        (Some(Verdict::Unknown), None, Kind::LeftAlone),
        (Some(Verdict::Nothing), None, Kind::Fine),
        (None, None, Kind::Fine),
    ] {
        assert_eq!(running(verdict.clone(), next).kind, kind, "{verdict:?}");
    }
    let mut marked = task(Status::Running, vec![]);
    marked.detail.body = "watchbill: no-heal".into();
    marked.takes = vec![take("heal", Verdict::Leaves, None)];
    assert!(standing::of(&marked).says.contains("skipped on purpose"));
}

#[test]
fn one_pass_is_one_deed_and_only_ours_are() {
    let events = [
        ours("linked", 600, "synthesize-distress", "gave-up", json!({})),
        ours("assigned", 600, "synthesize-distress", "gave-up", json!({"of": "quota"})),
        ours("unblocked", 600, "synthesize-distress", "gave-up", json!({})),
        ours("reclaimed", 300, "heal", "dead-worker", json!({})),
        ours("reclaimed", 200, "luna", "dead-worker", json!({})),
        event("reclaimed", 100, json!({"by": "heal"})),
    ];
    let all = deeds::of(&events);
    let told: Vec<_> = all.iter().map(|d| (d.did, d.cause, d.at)).collect();
    assert_eq!(told, [("moved", Some(Cause::Quota), ago(600)), ("requeued", None, ago(300))]);
    assert!(all.iter().all(deeds::Deed::helps));
}

/// A task of luna that is held for this cause.
fn held(cause: &str) -> Facts {
    let hold = json!({"cause": cause, "key": "provider:moon (moon.example)", "until": NOW.plus(600).0});
    let mut f =
        task(Status::Scheduled, vec![ours("scheduled", 60, "route-blocked", "x", json!({"hold": hold}))]);
    f.detail.task.assignee = Some("luna".into());
    f
}

#[test]
fn one_account_has_one_name_whatever_it_is_called() {
    let id = |name, host| Id::new(Some(name), Some(host));
    let providers = [
        ("luna", id("moon", "a:1")),
        ("mira", id("star", "a:1")),
        ("nova", id("star", "b:1")),
        ("sol", id("sun", "c:1")),
    ];
    let providers: Arc<[(String, Id)]> = providers.map(|(name, id)| (name.to_owned(), id)).into();
    let at = |assignee: &str, cause: &str, hold: Value| {
        let mut f =
            task(Status::Scheduled, vec![ours("scheduled", 60, "route-blocked", "x", json!({"hold": hold}))]);
        (f.detail.task.assignee, f.providers) = (Some(assignee.into()), providers.clone());
        Shared::of(&f).map(|shared| (shared.at, shared.cause.to_string() == cause))
    };
    for (assignee, cause, key, want) in [
        ("luna", "quota", Some("provider:moon (a:1)"), "moon"),
        ("mira", "quota", Some("provider:star (a:1)"), "moon"),
        ("mira", "quota", Some("provider:a:1"), "moon"),
        ("mira", "quota", None, "moon"),
        ("sol", "quota", Some("provider:c:1"), "sun"),
        ("luna", "quota", Some("provider:elsewhere"), "elsewhere"),
        ("gone", "quota", None, "gone"),
        // A key is a profile's own.
        ("mira", "credential", Some("provider:star (a:1)"), "mira"),
    ] {
        let hold = json!({"cause": cause, "key": key, "until": NOW.plus(600).0});
        assert_eq!(at(assignee, cause, hold), Some((want.to_owned(), true)), "{assignee} {key:?}");
    }
}

#[test]
fn what_is_in_a_queue_that_moves_needs_nobody() {
    for cause in ["credential", "quota"] {
        let mut f = held(cause);
        f.queued = Some(ago(1_799));
        assert_eq!(standing::of(&f).kind, Kind::Waits, "{cause}");
        // For half an hour nothing went on there.
        f.queued = Some(ago(1_800));
        assert_eq!(standing::of(&f).kind, Kind::NeedsPerson, "{cause}");
        f.queued = Some(ago(60));
        let mut card = detail("t_0000caf1", Status::Ready);
        card.cards_made.clear();
        (f.detail.cards, f.card) = (vec![card.task.id.clone()], Some(card));
        assert_eq!(standing::of(&f).kind, Kind::NeedsPerson, "nobody takes its card");
    }
    // A watcher moves it with its next pass, or sets it free.
    for (action, kind) in [("move", Kind::Due), ("release", Kind::Due), ("extend", Kind::NeedsPerson)] {
        let mut f = held("quota");
        f.takes = vec![take("route-blocked", acts(action), None)];
        assert_eq!(standing::of(&f).kind, kind, "{action}");
    }
}

#[test]
fn an_address_where_nobody_answers_needs_a_person_until_one_does() {
    let gave_up = event("gave_up", 60, json!({"error": "pid 7 not alive"}));
    let mut f = task(Status::Blocked, vec![gave_up]);
    f.takes = vec![take("heal", Verdict::Leaves, Some(600))];
    assert_eq!(standing::of(&f).kind, Kind::Waits);
    f.unreached = Some(Unreached {
        id: Id::new(Some("moon"), Some("127.0.0.1:9")),
        since: ago(1_860),
        tries: 4,
        task: "t_00000002".into(),
        tasks: [f.detail.task.id.clone()].into(),
    });
    let stand = standing::of(&f);
    assert_eq!(stand.kind, Kind::NeedsPerson);
    let says = "nobody has answered at 127.0.0.1:9 for 31m, in 4 attempts";
    assert!(stand.says.ends_with(says), "{}", stand.says);
    let shared = Shared::of(&f).unwrap();
    assert_eq!((shared.at.as_str(), shared.cause), ("127.0.0.1:9", Cause::ConnectionRefused));
    let run = |f: &Facts| suggestions::of(f, &standing::of(f)).remove(0).run;
    assert_eq!(run(&f), "hermes kanban reassign t_00000001 PROFILE && hermes kanban unblock t_00000001");
    f.takers = Some(Vec::new());
    assert_eq!(run(&f), "hermes kanban unblock t_00000001");
    // While an attempt tries it, it is not better yet, and nothing is to be unblocked.
    f.detail.task.status = Status::Running;
    assert_eq!(standing::of(&f).kind, Kind::NeedsPerson);
    assert!(!run(&f).contains("unblock"));
    f.detail.body = String::new();
    f.detail.events.push(ours("watchbill_undone", 60, "undo", "crash-loop", json!({})));
    assert_eq!(standing::of(&f).kind, Kind::LeftAlone, "somebody wants it so");
}

#[test]
fn a_start_that_fails_the_same_way_again_is_told_at_once() {
    let error = "workspace: [Errno 2] No such file or directory: '/srv/the x'";
    let gave_up = event("gave_up", 60, json!({"error": error}));
    let mut f = task(Status::Blocked, vec![gave_up]);
    f.takes = vec![take("heal", acts("reset"), None)];
    f.detail.runs = [(2, "gave_up"), (1, "spawn_failed")]
        .map(|(id, outcome)| Run { error: Some(error.into()), ..run(id, "luna", Some(outcome)) })
        .into();
    let stand = standing::of(&f);
    assert_eq!(stand.kind, Kind::NeedsPerson);
    assert!(stand.says.ends_with(&format!("; the same each time: {error}")), "{}", stand.says);
    let first = suggestions::of(&f, &stand).remove(0);
    assert_eq!(first.run, "mkdir -p '/srv/the x' && hermes kanban unblock t_00000001");
    let together = first.together.unwrap().line(&["t_1".into(), "t_2".into()]);
    assert_eq!(together, "mkdir -p '/srv/the x' && hermes kanban unblock t_1 t_2");
    // Tried once more it failed so twice; once does not count yet.
    f.detail.task.status = Status::Ready;
    assert_eq!(standing::of(&f).kind, Kind::NeedsPerson);
    f.detail.runs.pop();
    assert_ne!(standing::of(&f).kind, Kind::NeedsPerson);
    // What may be better by itself is tried again first.
    f.detail.task.status = Status::Blocked;
    f.detail.runs[0].error = Some("workspace: [Errno 28] No space left on device: '/srv/x'".into());
    assert_ne!(standing::of(&f).kind, Kind::NeedsPerson);
}

#[test]
fn what_a_person_alone_can_give_needs_one() {
    for (cause, kind, at) in [
        ("credential", Kind::NeedsPerson, "luna"),
        ("quota", Kind::NeedsPerson, "moon"),
        ("rate_limit", Kind::Waits, "moon"),
    ] {
        let f = held(cause);
        assert_eq!(standing::of(&f).kind, kind, "{cause}");
        let shared = Shared::of(&f).unwrap();
        assert_eq!((shared.at.as_str(), shared.cause.as_str()), (at, cause));
    }
    assert!(standing::of(&held("credential")).more.unwrap().starts_with("Put a working key into"));
    // Nor does it come by the end of a hold that no watcher ends.
    let mut over = held("quota");
    over.now = NOW.plus(900);
    assert_eq!(standing::of(&over).kind, Kind::NeedsPerson);
    over.takes = vec![take("route-blocked", acts("probe"), None)];
    assert_eq!(standing::of(&over).kind, Kind::Due);
    // What runs is held by nothing: with a refused key, too, a living worker waits for its card.
    let of = json!({"by": "synthesize-distress", "watchbill": {"card": "t_0000caf1", "cause": "credential"}});
    let mut tied = detail("t_00000001", Status::Todo);
    (tied.events, tied.cards) = (vec![event("linked", 60, of)], vec!["t_0000caf1".into()]);
    assert_eq!(needs_operator::lacking(&tied), Some(Lacking::Key));
    tied.task.status = Status::Running;
    assert_eq!(needs_operator::lacking(&tied), None);
    // What waits in todo for a card that the watchers skip goes on by nobody.
    let mut waits = task(Status::Todo, Vec::new());
    let mut card = detail("t_0000caf1", Status::Blocked);
    let kin =
        Kin { id: card.task.id.clone(), title: "C".into(), status: Status::Blocked, stray_title: false };
    (waits.detail.parents, waits.detail.cards) = (vec![kin], vec![card.task.id.clone()]);
    waits.card = Some(card.clone());
    assert_eq!(standing::of(&waits).kind, Kind::Fine, "route-blocked goes on with a blocked card");
    card.events = vec![ours("watchbill_undone", 60, "undo", "normalise", json!({}))];
    waits.card = Some(card);
    let stand = standing::of(&waits);
    assert!(
        stand.says.ends_with("; its card t_0000caf1 is blocked, and the watchers skip that"),
        "{stand:?}"
    );
    assert_eq!(stand.kind, Kind::NeedsPerson);
    let first = suggestions::of(&waits, &stand).swap_remove(0).run;
    assert_eq!(first, "hermes kanban comment t_0000caf1 'watchbill: heal'");
    // A card that nobody takes: after its time, and not before a worker could claim it.
    for (status, seconds, kind) in [
        (Status::Ready, 1_799, Kind::Waits),
        (Status::Ready, 1_800, Kind::NeedsPerson),
        (Status::Running, 9_000, Kind::Waits),
        (Status::Scheduled, 9_000, Kind::Waits),
    ] {
        let mut f = held("rate_limit");
        let mut card = detail("t_0000caf1", status.clone());
        let leaked = ours("reclaimed", 60, "heal", "leaked-claim", json!({"prev_lock": "host:7"}));
        (card.events, card.task.created_at) =
            (vec![event("promoted", seconds, json!({})), leaked], ago(9_000));
        f.card = Some(card);
        let stand = standing::of(&f);
        assert_eq!(stand.kind, kind, "{status} {seconds}");
        assert_eq!(
            stand.says.contains("nobody has taken card t_0000caf1 for 30m"),
            kind == Kind::NeedsPerson
        );
        f.runtime.dispatcher = Dispatcher::Absent;
        let more = standing::of(&f).more.unwrap_or_default();
        assert_eq!(
            more.starts_with("Start the gateway: `hermes gateway start`"),
            kind == Kind::NeedsPerson,
            "{more}"
        );
        let first = suggestions::of(&f, &standing::of(&f)).remove(0);
        assert_eq!(first.run == "hermes kanban dispatch", kind == Kind::NeedsPerson, "{first:?}");
    }
}

#[test]
fn what_nobody_moves_needs_a_person_after_a_while() {
    let lies = |seconds: i64| {
        // An event that says another thing than the row does, as any process may write one.
        let asked = event("blocked", 9_000, json!({"reason": "which licence?", "kind": "needs_input"}));
        let mut f = task(Status::Blocked, vec![asked, event("unblocked", seconds, json!({"by": "heal"}))]);
        f.detail.task.failures = 2;
        f
    };
    assert_eq!(standing::of(&lies(1_799)).kind, Kind::LeftAlone);
    assert_eq!(standing::of(&lies(1_800)).kind, Kind::NeedsPerson);
    // A dispatcher that works sets it free with its next tick.
    let mut below = lies(1_800);
    below.detail.task.failures = 1;
    assert_eq!(standing::of(&below).kind, Kind::LeftAlone);
    below.runtime.dispatcher = Dispatcher::Absent;
    assert_eq!(standing::of(&below).kind, Kind::NeedsPerson);
    // A watcher that acts on it, or will, is waited for; and what the operator wants skipped is.
    let mut waits = lies(1_800);
    waits.detail.events.push(event("gave_up", 1_800, json!({"error": "pid 7 not alive"})));
    waits.takes = vec![take("heal", Verdict::Leaves, Some(300))];
    assert_eq!(standing::of(&waits).kind, Kind::Waits);
    waits.takes = vec![take("heal", Verdict::Unknown, None)];
    assert_eq!(standing::of(&waits).kind, Kind::NeedsPerson, "its log cannot be read");
    let parked = task(Status::Scheduled, vec![event("scheduled", 9_000, json!({"reason": "not tonight"}))]);
    assert_eq!(standing::of(&parked).kind, Kind::LeftAlone);
}

#[test]
fn a_second_question_in_triage_is_asked_at_once_like_the_first() {
    let loops = |seconds: i64, kind: &str| {
        event("block_loop_detected", seconds, json!({"reason": "which country?", "kind": kind}))
    };
    let f = task(Status::Triage, vec![loops(30, "needs_input"), event("assigned", 20, json!({}))]);
    let stand = standing::of(&f);
    assert_eq!(stand.kind, Kind::NeedsPerson);
    let says = "in triage: a person is asked (needs_input) 30s ago, not for the first time: which country?";
    assert_eq!(stand.says, says);
    assert_eq!(f.asked(), Some(ago(30)), "it is another question than the first");
    let claimed = Event { run: Some(1), ..event("claimed", 90, json!({})) };
    let by_worker = Event { run: Some(1), ..loops(30, "needs_input") };
    let mut f = task(Status::Triage, vec![claimed, by_worker]);
    f.detail.runs = vec![run(1, "luna", Some("blocked"))];
    assert!(
        standing::of(&f).says.starts_with("in triage: its worker luna asks a person (needs_input) 30s ago")
    );
    // Another loop is the orchestrator's. What went on since does not ask any more.
    for events in [
        vec![loops(30, "capability")],
        vec![loops(30, "needs_input"), event("status", 20, json!({"status": "triage"}))],
    ] {
        let f = task(Status::Triage, events);
        assert_eq!(f.asked(), None);
        assert!(standing::of(&f).says.starts_with("in triage, blocked again and again"));
    }
}

#[test]
fn a_card_that_nobody_takes_is_told_however_its_task_stands() {
    for (status, verdict) in [
        (Status::Running, Verdict::Unknown),
        (Status::Running, Verdict::Nothing),
        (Status::Todo, Verdict::Nothing),
    ] {
        let mut f = task(status.clone(), vec![]);
        f.takes = vec![take("heal", verdict, None)];
        let mut card = detail("t_0000caf1", Status::Ready);
        (card.events, card.task.created_at) = (vec![event("promoted", 1_800, json!({}))], ago(9_000));
        f.card = Some(card);
        assert_eq!(standing::of(&f).kind, Kind::NeedsPerson, "{status}");
    }
}

#[test]
fn a_card_that_stopped_is_told_with_what_lets_it_go_on() {
    let asks = || Event { run: Some(1), ..event("blocked", 60, json!({"reason": "which model?"})) };
    let by_hand = || event("scheduled", 60, json!({"reason": "later"}));
    let held = || {
        let hold = json!({"hold": {"owner": "synthesize-distress", "until": NOW.0 + 300}});
        ours("scheduled", 60, "synthesize-distress", "no-orchestrator", hold)
    };
    let gave_up = || event("gave_up", 60, json!({}));
    let nobody = || Some(("there is no profile ada".to_owned(), "hermes profile create ada".to_owned()));
    for (status, events, nobody, says) in [
        (
            Status::Blocked,
            vec![asks()],
            None,
            "card t_0000caf1 waits for a person: which model?|hermes kanban comment t_0000caf1",
        ),
        // It is closed with the next pass.
        (Status::Blocked, vec![asks(), gave_up()], None, ""),
        (Status::Triage, vec![event("block_loop_detected", 60, json!({}))], None, ""),
        (Status::Review, vec![event("claimed", 1_799, json!({}))], None, ""),
        (
            Status::Review,
            vec![event("claimed", 1_800, json!({}))],
            None,
            "card t_0000caf1 is in review, and its task waits for that|board complete t_0000caf1",
        ),
        (
            Status::Scheduled,
            vec![by_hand()],
            None,
            "card t_0000caf1 was scheduled outside Watchbill, and nobody takes it before that ends|hermes kanban unblock t_0000caf1",
        ),
        (Status::Scheduled, vec![event("scheduled", 60, json!({"by": "board"}))], None, ""),
        (
            Status::Scheduled,
            vec![
                event("scheduled", 600, json!({"by": "board"})),
                event("watchbill_undone", 60, json!({"by": "undo"})),
            ],
            None,
            "the release of card t_0000caf1 was undone by hand, so no watcher releases it|hermes kanban unblock t_0000caf1",
        ),
        (Status::Scheduled, vec![held()], None, ""),
        (
            Status::Scheduled,
            vec![held(), event("watchbill_undone", 1, json!({"by": "undo"}))],
            None,
            "the release of card t_0000caf1 was undone by hand, so no watcher releases it|hermes kanban unblock t_0000caf1",
        ),
        (
            Status::Scheduled,
            vec![held()],
            nobody(),
            "there is no profile ada, so nobody takes card t_0000caf1|hermes profile create ada",
        ),
        (Status::Other("deferred".into()), vec![event("claimed", 1_799, json!({}))], None, ""),
        (
            Status::Other("deferred".into()),
            vec![event("claimed", 1_800, json!({}))],
            None,
            "card t_0000caf1 is in a state that this version does not know (deferred), and its task waits for that|hermes kanban show t_0000caf1",
        ),
    ] {
        let mut f = task(Status::Blocked, vec![gave_up()]);
        (f.detail.task.failures, f.no_orchestrator) = (2, nobody);
        let mut card = detail("t_0000caf1", status.clone());
        (card.events, card.task.created_at) = (events, ago(9_000));
        f.card = Some(card);
        let stand = standing::of(&f);
        let (says, run) = says.split_once('|').unwrap_or_default();
        let kind = if says.is_empty() { Kind::Waits } else { Kind::NeedsPerson };
        assert_eq!(stand.kind, kind, "{status}: {stand:?}");
        assert!(stand.says.ends_with(says), "{status}: {stand:?}");
        let command = suggestions::of(&f, &stand).swap_remove(0);
        assert!(command.run.starts_with(run), "{status}: {command:?}");
    }
}

#[test]
fn a_card_whose_orchestrators_are_all_refused_needs_a_person() {
    let refused = || {
        let (names, why) = (vec!["tuesday".to_owned()], "the key of tuesday is refused".to_owned());
        Some(Refused { names, why, at: "tuesday".into(), lacking: Lacking::Key })
    };
    let says = "; the key of tuesday is refused, so nobody takes card t_0000caf1";
    let held = json!({"hold": {"cause": "tuesday cannot take it", "until": NOW.0}});
    let held = ours("scheduled", 60, "route-blocked", "no-orchestrator", held);
    let gave_up = || event("gave_up", 60, json!({"error": "x"}));
    for (status, events, who, refused, kind) in [
        (Status::Scheduled, vec![held.clone()], "tuesday", refused(), Kind::NeedsPerson),
        // It is tried again.
        (Status::Ready, vec![], "tuesday", refused(), Kind::NeedsPerson),
        (Status::Running, vec![], "tuesday", refused(), Kind::NeedsPerson),
        (Status::Blocked, vec![gave_up()], "tuesday", refused(), Kind::NeedsPerson),
        // Another decider has it, or none is refused for good.
        (Status::Ready, vec![], "sol", refused(), Kind::Waits),
        (Status::Scheduled, vec![held.clone()], "tuesday", None, Kind::Waits),
    ] {
        let mut f = task(Status::Blocked, vec![gave_up()]);
        (f.detail.task.failures, f.refused_orchestrators) = (2, refused);
        let mut card = detail("t_0000caf1", status.clone());
        (card.events, card.task.created_at) = (events, ago(60));
        card.task.assignee = Some(who.into());
        f.card = Some(card);
        let stand = standing::of(&f);
        assert_eq!(stand.kind, kind, "{status} {who}: {stand:?}");
        assert_eq!(stand.says.ends_with(says), kind == Kind::NeedsPerson, "{status}: {stand:?}");
    }
}

#[test]
fn what_stands_still_after_a_person_changed_it_is_asked_anew() {
    let blocked = || event("blocked", 900, json!({"reason": "MIT or Apache?"}));
    let unblocked = || event("unblocked", 600, json!({}));
    let given = || event("assigned", 660, json!({"assignee": "lunna"}));
    let mut made = task(Status::Ready, vec![]);
    made.detail.task.created_at = ago(5_000);
    for (f, seconds, why) in [
        (made, 5_000, "nobody touched it"),
        (task(Status::Blocked, vec![blocked()]), 900, "it was blocked"),
        (
            task(Status::Ready, vec![blocked(), given(), unblocked()]),
            600,
            "it was answered, with a typing error",
        ),
        (
            task(Status::Blocked, vec![blocked(), given()]),
            900,
            "it is given to another one, and not answered",
        ),
        (
            task(Status::Ready, vec![unblocked(), ours("requeued", 60, "heal", "dead-worker", json!({}))]),
            600,
            "a watcher is nobody",
        ),
    ] {
        assert_eq!(f.anew(), ago(seconds), "{why}");
    }
}

#[test]
fn a_new_try_is_one_by_a_person_that_ended_like_the_one_before() {
    let unblocked = |by: Value| event("unblocked", 600, by);
    let person = || unblocked(json!({}));
    let key = Some(Cause::Credential);
    for (before, events, runs, retried, why) in [
        (key, vec![person()], &[900, 300][..], true, "it failed again"),
        (None, vec![person()], &[900, 300], false, "something else had stopped it"),
        (Some(Cause::Quota), vec![person()], &[900, 300], false, "another thing was refused"),
        (key, vec![person()], &[900, 700, 300], false, "it ended on something else since"),
        (key, vec![person()], &[900], false, "it was not tried yet"),
        (key, vec![person()], &[300], false, "it never failed before"),
        (key, vec![], &[900, 300], false, "it was tried by itself"),
        (key, vec![unblocked(json!({"by": "heal"}))], &[900, 300], false, "a watcher is nobody"),
        (
            key,
            vec![event("blocked", 700, json!({"kind": "needs_input", "by": "board"})), person()],
            &[900, 300],
            false,
            "its question was answered",
        ),
        (
            key,
            vec![event("blocked", 700, json!({"by": "heal"})), person()],
            &[900, 300],
            true,
            "heal had blocked it",
        ),
    ] {
        let mut f = task(Status::Blocked, events);
        if let Some(cause) = before {
            let noted = ours("scheduled", 850, "heal", "dead-worker", json!({"of": cause}));
            f.detail.events.insert(0, Event { run: Some(1), ..noted });
        }
        let attempt =
            |(at, id): (&i64, i64)| Run { started_at: ago(*at), ..run(id, "luna", Some("crashed")) };
        f.detail.runs = runs.iter().zip(1..).map(attempt).collect();
        f.detail.runs.reverse();
        assert_eq!(f.retried(Cause::Credential), retried.then(|| ago(600)), "{why}");
    }
}

#[test]
fn a_used_up_quota_is_one_also_behind_a_card_that_was_answered() {
    let of = json!({"by": "synthesize-distress", "watchbill": {"pass": "p", "card": "t_0000caf1", "cause": "quota"}});
    let claimed = event("claimed", 2_000, json!({}));
    let gave_up = event("gave_up", 1_200, json!({"error": "worker exited cleanly"}));
    let mut f = task(Status::Blocked, vec![claimed.clone(), gave_up, event("linked", 1_100, of.clone())]);
    f.detail.task.failures = 2;
    f.takes = vec![take("route-blocked", Verdict::Leaves, None)];
    assert_eq!(standing::of(&f).kind, Kind::NeedsPerson);
    assert_eq!(needs_operator::lacking(&f.detail), Some(Lacking::Quota));
    let joined = json!({"by": "synthesize-distress", "watchbill": {"pass": "p", "card": "t_0000caf2"}});
    f.detail.events.push(event("linked", 1_000, joined));
    assert_eq!(needs_operator::lacking(&f.detail), Some(Lacking::Quota), "one incident with others");
    // Not of another attempt, and not where it was blocked since.
    let mut later = f.clone();
    later.detail.events.push(Event { at: ago(900), ..claimed });
    assert_eq!(needs_operator::lacking(&later.detail), None);
    f.detail.events.push(event("blocked", 600, json!({"reason": "which licence?"})));
    assert_eq!(needs_operator::lacking(&f.detail), None);
}

/// The local minutes between these moments, as quiet hours.
fn quiet(from: Time, to: Time) -> Option<QuietHours> {
    let minute = |at: Time| at.local_minute()[..5].to_owned();
    let hours = QuietHours::parse(&format!("{}-{}", minute(from), minute(to)));
    assert!(hours.is_some());
    hours
}

#[test]
fn a_hold_that_ends_in_quiet_hours_lasts_until_those_end() {
    let (end, mut f) = (NOW.plus(7_200), held("rate_limit"));
    f.takes = vec![take("route-blocked", Verdict::Leaves, Some(600))];
    for (from, until, says) in [
        (NOW.plus(1_200), NOW.plus(600), "(10m): "),
        (NOW.plus(-600), end, "(2h), the end of the quiet hours: "),
        (NOW.plus(300), end, "(2h), the end of the quiet hours: "),
    ] {
        f.quiet_hours = quiet(from, end);
        let stand = standing::of(&f);
        let line = format!("held until {} {says}its provider limited requests", until.local_moment(NOW));
        assert!(stand.says.starts_with(&line), "{line}\n{}", stand.says);
        assert_eq!((stand.kind, stand.until), (Kind::Waits, Some(until)));
        let answer = Answer::of(&f, "/b.db", &[]);
        let routed = answer.next.iter().find(|n| n.watcher == "route-blocked").unwrap();
        assert_eq!(routed.at, Some(until));
        let hold = answer.hold.unwrap();
        assert_eq!((hold.until, hold.quiet_until), (Some(NOW.plus(600)), (until == end).then_some(end)));
    }
    // The watchers say so themselves of one that is over by its own end.
    f.now = NOW.plus(900);
    f.takes = vec![take("route-blocked", acts("extend"), None)];
    let stand = standing::of(&f);
    assert_eq!((stand.kind, stand.until), (Kind::Waits, Some(end)), "{stand:?}");
    f.takes = vec![take("route-blocked", acts("release"), None)];
    assert_eq!(standing::of(&f).kind, Kind::Due);
    // A decision is carried out in them.
    f.takes = vec![take("route-blocked", Verdict::Leaves, None)];
    f.card = Some(detail("t_0000caf1", Status::Running));
    let stand = standing::of(&f);
    assert_eq!((stand.kind, stand.until), (Kind::Waits, Some(NOW.plus(600))), "{stand:?}");
}

#[test]
fn of_a_hold_that_is_over_it_says_what_holds_the_task_on() {
    let passed = |take: Option<Take>| {
        let mut f = held("rate_limit");
        (f.now, f.takes) = (NOW.plus(900), take.into_iter().collect());
        f
    };
    let said = |watcher, because: &str, verdict, next| Take {
        because: because.into(),
        ..take(watcher, verdict, next)
    };
    let extends =
        said("route-blocked", "waits until 04:00: another task probes moon first", acts("extend"), None);
    let over = format!(
        "held until {} (passed): its provider limited requests (rate_limit)",
        NOW.plus(600).local_moment(NOW.plus(900))
    );
    let mut asked = passed(None);
    asked.card = Some(detail("t_0000caf1", Status::Running));
    for (f, kind, says) in [
        (asked, Kind::Waits, "; its card t_0000caf1 decides"),
        (
            passed(Some(extends.clone())),
            Kind::Waits,
            "; it waits until 04:00: another task probes moon first",
        ),
        (
            passed(Some(take("route-blocked", acts("probe"), None))),
            Kind::Due,
            "; route-blocked acts with its next pass: probe (dead-worker)",
        ),
        (
            passed(Some(said("heal", "quiet hours until 06:00", Verdict::Leaves, Some(60)))),
            Kind::Waits,
            "; quiet hours until 06:00",
        ),
        (passed(None), Kind::Due, ""),
    ] {
        let stand = standing::of(&f);
        assert_eq!((stand.kind, stand.says.as_str()), (kind, format!("{over}{says}").as_str()));
    }
    // A pass over it alone would not see whose turn it is.
    let runs = |f: &Facts| suggestions::of(f, &standing::of(f));
    assert!(runs(&passed(Some(extends))).iter().all(|c| !c.run.contains("--task")));
    let probes = runs(&passed(Some(take("route-blocked", acts("probe"), None))));
    assert_eq!(probes[0].run, "route-blocked --task t_00000001");
    assert_eq!(probes[1].to, "not wait any longer");
}

#[test]
fn an_id_that_begins_like_a_flag_is_none() {
    let named = |events: Vec<Event>| {
        let mut f = task(Status::Blocked, events);
        (f.detail.task.id, f.flags) = ("-x".into(), " --board ops".into());
        suggestions::of(&f, &standing::of(&f))
    };
    let runs = |f: Vec<Event>| named(f).into_iter().map(|c| c.run).collect::<Vec<_>>();
    let all = runs(vec![event("blocked", 60, json!({}))]);
    let want =
        ["hermes kanban unblock -- -x", "heal --print-packet=-x --board ops", "board show --board ops -- -x"];
    assert_eq!(all, want);
    let answer = "hermes kanban comment -- -x 'YOUR ANSWER' && hermes kanban unblock -- -x";
    assert_eq!(runs(vec![event("blocked", 60, json!({"reason": "MIT or Apache?"}))])[0], answer);
    let together = named(vec![event("blocked", 60, json!({}))]).remove(0).together.unwrap();
    let ids = ["t_1".to_owned(), card::task_word("-x")];
    assert_eq!(together.line(&ids), "hermes kanban unblock -- t_1 -x");
    let each = suggestions::Together::Loop("board unblock \"$id\"".into());
    assert_eq!(each.line(&ids), "for id in t_1 -x; do board unblock -- \"$id\"; done");
}

#[test]
fn commands_are_whole_and_fit_the_state() {
    let runs = |f: &Facts| -> Vec<String> {
        suggestions::of(f, &standing::of(f)).into_iter().map(|c| c.run).collect()
    };
    let blocked = task(Status::Blocked, vec![event("blocked", 60, json!({}))]);
    let packet = "heal --print-packet t_00000001";
    assert_eq!(runs(&blocked), ["hermes kanban unblock t_00000001", packet, "board show t_00000001"]);
    // The person who is asked something answers and unblocks it in one line.
    let answer = "hermes kanban comment t_00000001 'YOUR ANSWER' && hermes kanban unblock t_00000001";
    let asked = |payload: Value| task(Status::Blocked, vec![event("blocked", 60, payload)]);
    let ours = |cause: &str| {
        asked(
            json!({"reason": "the quota must be raised", "cause": cause, "by": "route-blocked", "watchbill": {"v": 1}}),
        )
    };
    for (f, want) in [
        (asked(json!({"reason": "MIT or Apache?"})), answer),
        (asked(json!({"kind": "needs_input"})), answer),
        (ours("orchestrator"), answer),
        (ours("no-decision"), answer),
        (ours("card-unclaimed"), answer),
        (ours("card-failed"), answer),
        (ours("no-orchestrator"), answer),
        (ours("provider-given-up"), "hermes kanban unblock t_00000001"),
        (asked(json!({"reason": "lost", "cause": "lease-lost"})), "hermes kanban archive t_00000001"),
    ] {
        assert_eq!(runs(&f)[0], want);
    }
    // What one line does for several tasks: Hermes' `unblock` takes them all, ours takes one.
    let together = |f: &Facts| {
        let all = suggestions::of(f, &standing::of(f));
        let unblock =
            all.into_iter().find(|c| c.run.ends_with(" unblock t_00000001") && c.together.is_some());
        unblock.unwrap().together.unwrap().line(&["t_1".to_owned(), "t_2".to_owned()])
    };
    assert_eq!(together(&blocked), "hermes kanban unblock t_1 t_2");
    let mut ours_alone = task(Status::Blocked, vec![event("blocked", 60, json!({}))]);
    (ours_alone.own_board, ours_alone.hand) = (true, "board".into());
    assert_eq!(together(&ours_alone), "for id in t_1 t_2; do board unblock \"$id\"; done");
    let mut own = asked(json!({"reason": "MIT or Apache?"}));
    (own.own_board, own.hand) = (true, "board --db '/my boards/b.db'".into());
    let want = "board --db '/my boards/b.db' comment t_00000001 'YOUR ANSWER' --author \"$USER\" && board --db '/my boards/b.db' unblock t_00000001";
    assert_eq!(runs(&own)[0], want);
    // What a second question sent to triage is answered like the first. Hermes specifies it.
    let looped = json!({"reason": "and which year?", "kind": "needs_input"});
    own.detail.task.status = Status::Triage;
    own.detail.events.push(event("block_loop_detected", 30, looped));
    assert_eq!(runs(&own)[0], want);
    assert!(!runs(&own).iter().any(|run| run.contains("specify")), "{:?}", runs(&own));
    (own.own_board, own.hand) = (false, "hermes kanban".into());
    let answered = "hermes kanban comment t_00000001 'YOUR ANSWER' && hermes kanban specify t_00000001";
    assert_eq!(runs(&own)[..2], [answered, "hermes kanban specify t_00000001"]);
    for command in &suggestions::of(&own, &standing::of(&own))[..2] {
        assert!(command.to.ends_with(" (a model specifies it, which costs tokens)"), "{command:?}");
    }
    own.detail.events.push(event(
        "block_loop_detected",
        20,
        json!({"reason": "no key", "kind": "capability"}),
    ));
    assert_eq!(runs(&own)[0], "hermes kanban specify t_00000001");
    // Unblocked under the same key it is refused again.
    let move_it = "hermes kanban reassign t_00000001 PROFILE && hermes kanban unblock t_00000001";
    assert_eq!(suggestions::of(&held("credential"), &standing::of(&held("credential")))[0].run, move_it);
    let offered = |cause: &str, takers: &[&str]| {
        let takers = Some(takers.iter().map(|p| (*p).to_owned()).collect());
        let f = Facts { takers, ..held(cause) };
        let stand = standing::of(&f);
        let all = suggestions::of(&f, &stand).into_iter();
        let all: Vec<_> = all.filter(|c| c.run.contains("reassign") || c.run.contains("unblock")).collect();
        (all, stand.more.unwrap())
    };
    for cause in ["credential", "quota"] {
        let (all, _) = offered(cause, &["sol", "nova"]);
        assert_eq!(all[0].run, move_it.replace("PROFILE", "sol"));
        assert_eq!(all[0].to, "assign it to sol, which may take it now; so may nova");
        assert!(all[1].to.starts_with("try it again, once its pro"), "{all:?}");
        let (all, more) = offered(cause, &[]);
        assert!(
            all.len() == 1 && all[0].to.starts_with("try it again, once"),
            "no profile is named: {all:?}"
        );
        assert!(more.contains("unblock it") && more.contains(", no other profile may take it now"), "{more}");
        // To read its card mends nothing.
        let card = Some(detail("t_0000caf1", Status::Ready));
        let f = Facts { takers: Some(Vec::new()), card, ..held(cause) };
        let first = suggestions::of(&f, &standing::of(&f)).remove(0);
        assert_eq!(first.run, "hermes kanban unblock t_00000001");
    }
    assert_eq!(runs(&held("rate_limit"))[0], "hermes kanban unblock t_00000001");
    let mut f = task(Status::Running, vec![]);
    (f.paused, f.flags) = (Some("paused".into()), " --board night".into());
    f.takes = vec![take("heal", acts("requeue"), None)];
    assert_eq!(
        runs(&f),
        [
            "watchbill unpause --board night",
            "heal --task t_00000001 --board night",
            "board show t_00000001 --board night"
        ]
    );
    f.flags.clear();
    assert_eq!(runs(&f)[0], "watchbill unpause --board default");
    let mut nobodys = task(Status::Ready, vec![]);
    (nobodys.detail.task.assignee, nobodys.takers) = (None, Some(vec!["luna".into(), "sol".into()]));
    assert_eq!(runs(&nobodys)[0], "hermes kanban reassign t_00000001 luna");
    let mut marked = task(Status::Blocked, vec![]);
    marked.detail.body = "watchbill: no-heal".into();
    assert_eq!(runs(&marked)[0], "hermes kanban comment t_00000001 'watchbill: heal'");
    // An id is untrusted text, too.
    let mut odd = task(Status::Blocked, vec![]);
    odd.detail.task.id = "t_1; rm -rf /".into();
    assert!(runs(&odd)[0].ends_with("'t_1; rm -rf /'"));
}

mod summary {
    use super::*;
    use crate::explain::summary::{Counts, Found, Read, RefusedKey, Summary, text};
    use crate::needs::{self, BoardNow};
    use policy::said::{self, Said};

    fn read(facts: Vec<Facts>) -> Summary {
        read_but(facts, &[])
    }

    /// The same where this could not be looked at.
    fn read_but(facts: Vec<Facts>, blind: &[&str]) -> Summary {
        Summary::of(read_of(facts, blind), ago(43_200), NOW)
    }

    fn read_of(facts: Vec<Facts>, blind: &[&str]) -> Read {
        let ids = || facts.iter().map(|f| f.detail.task.id.as_str());
        let odd = ids().map(|id| found(Said::from(format!("{id} is odd")).about(id)));
        let blind = blind.iter().map(|what| {
            let said = Said::from(*what).about_all(ids().filter(|id| what.starts_with(id)));
            Found { is_blind: true, ..found(said) }
        });
        // What is about one of the tasks is told there.
        let findings = odd.chain(blind).collect();
        let counts = Counts { done: 4, running: 1, ready: 0 };
        Read {
            board: "default".into(),
            path: "/b".into(),
            paused: None,
            facts,
            findings,
            idle: None,
            unknown: Vec::new(),
            cut: None,
            counts,
            overview: None,
            refused_keys: Vec::new(),
            refused_orchestrators: None,
        }
    }

    fn found(said: impl Into<Said>) -> Found {
        Found { said: said.into(), is_blind: false, is_passing: false }
    }

    #[test]
    fn whether_a_finding_is_a_need_hangs_on_what_it_is_and_never_on_its_words() {
        let mut asks = named("t_00000001", task(Status::Blocked, vec![event("blocked", 60, json!({}))]));
        asks.card = Some(detail("t_0000ca4d", Status::Ready));
        let says = "cards that wait: 1; the clock is wrong, not looked at in this pass";
        let about = |id: &str| Said::from(says).about(id);
        for (said, is_passing, want) in [
            (says.into(), false, (0, 1)),
            (says.into(), true, (1, 0)),
            (Said::of(said::Kind::CardsWait, says.into()), true, (0, 0)),
            (about("t_00000001"), false, (0, 0)),
            (about("t_0000ca4d"), true, (0, 0)),
            (about("t_0000ca4e"), false, (0, 1)),
        ] {
            let findings = vec![Found { is_passing, ..found(said.clone()) }];
            let s = Summary::of(Read { findings, ..read_of(vec![asks.clone()], &[]) }, ago(43_200), NOW);
            assert_eq!((s.beside.len(), s.to_mend.len()), want, "{said:?} {is_passing}");
        }
        // `doctor` says this of the board.
        let idle = Some("no dispatcher is seen, and 2 ready tasks wait for one".to_owned());
        let cut = Some("only the newest 9 events were read".to_owned());
        let s = Summary::of(Read { idle, cut, ..read_of(Vec::new(), &[]) }, ago(43_200), NOW);
        assert_eq!((s.findings.len(), s.to_mend.len()), (2, 0));
        assert_eq!(BoardNow::of(&s).findings, ["only the newest 9 events were read"]);
    }

    #[test]
    fn a_task_of_which_something_cannot_be_read_is_unknown_until_a_person_is_asked() {
        let asked = event("blocked", 60, json!({"kind": "needs_input", "reason": "which one?"}));
        let facts = || {
            vec![
                named("t_00000001", task(Status::Running, vec![])),
                named("t_00000002", task(Status::Blocked, vec![asked.clone()])),
            ]
        };
        let blind = ["t_00000001: its log cannot be read", "t_00000002: its log cannot be read"];
        let s = read_but(facts(), &blind);
        assert_eq!(
            (s.unknown.as_slice(), s.needs_you.len()),
            (&["t_00000001: its log cannot be read".to_owned()][..], 1)
        );
        assert!(!s.is_quiet() && text::lines(&s, false).contains("\n? t_00000001: its log cannot be read\n"));
        assert_eq!(read(facts()).unknown, [""; 0]);
    }

    fn named(id: &str, mut f: Facts) -> Facts {
        f.detail.task.id = id.into();
        f
    }

    fn night() -> Vec<Facts> {
        let requeued = |n| ours("reclaimed", n, "heal", "dead-worker", json!({}));
        let ended = event("completed", 300, json!({}));
        let hold = json!({"cause": "rate_limit", "until": NOW.plus(600).0});
        let mut card = named("t_00000006", task(Status::Blocked, vec![event("blocked", 60, json!({}))]));
        card.detail.task.title = "[BLOCKED] t_00000003 rate_limited".into();
        vec![
            named("t_00000001", task(Status::Done, vec![requeued(900), requeued(600), ended.clone()])),
            named("t_00000002", task(Status::Done, vec![ended.clone()])),
            named("t_00000003", task(Status::Done, vec![requeued(90_000), ended])),
            named(
                "t_00000004",
                task(Status::Scheduled, vec![ours("scheduled", 60, "heal", "x", json!({"hold": hold}))]),
            ),
            named(
                "t_00000005",
                task(
                    Status::Blocked,
                    vec![ours("blocked", 60, "heal", "x", json!({"cause": "resume-cap", "reason": "<b>"}))],
                ),
            ),
            card,
            named("t_00000007", task(Status::Scheduled, vec![event("scheduled", 90_000, json!({}))])),
            named("t_00000008", task(Status::Ready, vec![])),
        ]
    }

    #[test]
    fn every_task_is_in_one_list_at_most() {
        let s = read(night());
        let of =
            |list: &[crate::explain::summary::Entry]| list.iter().map(|e| e.task.clone()).collect::<Vec<_>>();
        assert_eq!(of(&s.healed), ["t_00000001"], "only what was helped in that time");
        assert_eq!(of(&s.waiting), ["t_00000004"]);
        assert_eq!(of(&s.needs_you), ["t_00000005"], "a card is told with its task");
        assert_eq!(of(&s.left_alone), ["t_00000007"]);
        // One that was split waits for the tasks that were made of it.
        let freed = ours("unblocked", 60, "route-blocked", "decision", json!({}));
        let mut split = named("t_00000009", task(Status::Todo, vec![freed]));
        split.detail.parents = vec![detail("t_00000010", Status::Ready).task.clone().into()];
        assert_eq!(read(vec![split.clone()]).healed.len(), 0);
        split.detail.parents[0].status = Status::Done;
        assert_eq!(read(vec![split]).helped().1.len(), 1);
        assert_eq!(s.healed[0].done(), "requeued ×2");
        assert_eq!(s.healed[0].because(), Some("for a reason"));
        assert!(!s.is_quiet());
        let said = text::lines(&s, false);
        assert!(
            said.contains("1 task needs you, 1 waits, 1 healed, 1 skipped; 4 done, 1 running, 0 ready"),
            "{said}"
        );
        assert!(said.find("needs you\n") < said.find("waiting\n"), "{said}");
        assert!(said.contains("requeued ×2 (for a reason); now done"), "{said}");
    }

    #[test]
    fn work_of_a_host_that_is_away_needs_a_person_once_for_the_host() {
        let todo = "Bring it back, or set host.gone";
        let of = |id: &str, host: &str| {
            let mut f = facts(detail(id, Status::Running));
            let stuck = policy::Stuck { host: host.into(), since: NOW.plus(-2_820), todo: todo.into() };
            let because = format!("host {host} was last seen 47m ago; left running (`host.gone`)");
            f.takes = vec![Take { because, stuck: Some(stuck), ..take("heal", Verdict::Leaves, None) }];
            f
        };
        let says = "running, and nobody goes on with it: host moon was last seen 47m ago; left running (`host.gone`)";
        stands(&of("t_00000001", "moon"), Kind::NeedsPerson, says, Some(todo));
        let of_host = said::Kind::Hosts(vec!["moon".into()]);
        let gone = "host moon was last seen 47m ago: its tasks are left running (`host.gone`) (2)";
        let findings = vec![found(Said::of(of_host, gone.into())), found("sol has workers and no heal")];
        let facts = vec![of("t_00000001", "moon"), of("t_00000002", "moon"), of("t_00000003", "sol")];
        let s = Summary::of(Read { findings, ..read_of(facts, &[]) }, ago(43_200), NOW);
        assert_eq!(s.findings, ["sol has workers and no heal"], "what is a need is no finding beside");
        let told: Vec<_> = crate::needs::of_tasks(&s)
            .into_iter()
            .map(|n| (n.key, n.says, n.tasks.len(), n.since, n.todo))
            .collect();
        let of_host = |host: &str, tasks: usize, n: &str| {
            let says = format!("host {host} is away, and nobody goes on with its work; {n}");
            (
                format!("worker_gone:default:{host}"),
                says,
                tasks,
                Some(NOW.plus(-2_820)),
                Some(todo.to_owned()),
            )
        };
        assert_eq!(told, [of_host("moon", 2, "2 tasks"), of_host("sol", 1, "1 task")]);
    }

    #[test]
    fn what_hermes_assigns_is_one_need_with_the_other_work_of_that_profile() {
        let of = |id: &str, who: Option<&str>| {
            let mut f = named(id, task(Status::Ready, vec![]));
            f.detail.task.assignee = who.map(str::to_owned);
            f.runtime.default_assignee = Some("luna".into());
            f.is_passed_over = true;
            f
        };
        let s = read(vec![of("t_00000001", Some("luna")), of("t_00000002", None)]);
        let needs = crate::needs::of_tasks(&s);
        assert_eq!(needs.iter().map(|n| n.key.as_str()).collect::<Vec<_>>(), ["not-started:default:luna"]);
        assert!(s.needs_you.iter().all(|e| e.says.found().starts_with("ready for luna since ")));
    }

    #[test]
    fn a_finding_is_of_the_tasks_that_it_is_about_whatever_else_it_says() {
        let findings =
            vec![found(Said::from("42 is odd").about("42")), found("42 more tasks were not looked at")];
        let read = Read { findings, ..read_of(vec![facts(detail("42", Status::Running))], &[]) };
        let s = Summary::of(read, ago(43_200), NOW);
        assert_eq!(s.findings, ["42 more tasks were not looked at"]);
        let of_board = "the settings of 42 profiles cannot be read";
        let read = |what| read_but(vec![facts(detail("42", Status::Running))], &[what]).unknown;
        assert_eq!((read(of_board).len(), read("42: its log cannot be read").len()), (0, 1));
    }

    #[test]
    fn a_refused_key_is_told_once_whether_or_not_a_task_waits_for_it() {
        let of = |facts: Vec<Facts>, profile: &str| {
            let key = RefusedKey { profile: profile.into(), at: None, since: ago(420) };
            let read = Read { findings: Vec::new(), refused_keys: vec![key], ..read_of(facts, &[]) };
            let s = Summary::of(read, ago(43_200), NOW);
            let needs = needs::of_board(&s).into_iter().map(|n| n.key).collect::<Vec<_>>().join(" ");
            assert_eq!(BoardNow::of(&s).findings, [""; 0], "it is a need");
            (s.findings.join(""), needs)
        };
        let said = |profile: &str| {
            format!(
                "the key of {profile} has been refused for 7m; put a working key into the configuration of {profile}"
            )
        };
        let (luna, sol) = ("credential:default:luna", "credential:default:sol");
        let waits = || vec![named("t_00000001", held("credential"))];
        assert_eq!(of(waits(), "luna"), (String::new(), luna.to_owned()), "its task says so");
        assert_eq!(of(waits(), "sol"), (said("sol"), format!("{luna} {sol}")));
        assert_eq!(of(Vec::new(), "luna"), (said("luna"), luna.to_owned()));
        let quota = vec![named("t_00000001", held("quota"))];
        assert_eq!(of(quota, "luna"), (said("luna"), format!("quota:default:moon {luna}")));
        // A task that gets to another profile in its turn needs nobody, but the key does, and stays the same need.
        let mut turn = named("t_00000001", held("credential"));
        turn.queued = Some(NOW);
        assert_eq!(of(vec![turn], "luna"), (String::new(), luna.to_owned()));
    }

    #[test]
    fn what_shares_a_cause_is_told_once() {
        let of = |id: &str, cause: &str| named(id, held(cause));
        let s = read(vec![
            of("t_00000001", "quota"),
            of("t_00000002", "quota"),
            of("t_00000003", "credential"),
            of("t_00000004", "rate_limit"),
            of("t_00000005", "rate_limit"),
        ]);
        let said = text::lines(&s, false);
        let until = NOW.plus(600).local_moment(NOW);
        let quota =
            format!("  moon: a quota or the money at its provider was used up; 2 tasks, next try {until}\n");
        assert_eq!(said.matches(&quota).count(), 1, "{said}");
        let limit = format!("  moon: its provider limited requests; 2 tasks, next try {until}\n");
        assert!(said.find("waiting\n") < said.find(&limit), "{said}");
        assert!(said.contains("    t_00000002 Count the lanterns\n"), "{said}");
        assert!(!said.contains("luna: its key"), "one alone is told as it is: {said}");
        // What route-blocked does not try at the end of the hold has no next try.
        let until = NOW.plus(7_200);
        let lasts = |id: &str| {
            let takes = vec![take("route-blocked", Verdict::Leaves, None)];
            Facts { takes, retried_at: Some(until), ..of(id, "quota") }
        };
        let needs = crate::needs::of_tasks(&read(["t_00000001", "t_00000002"].map(lasts).into()));
        assert!(needs[0].says.ends_with("2 tasks") && needs[0].next.is_none(), "{needs:?}");
        // Nor has what heal held as often as it may.
        let capped = |id: &str| {
            let mut f = Facts { retried_at: Some(until), ..of(id, "quota") };
            f.detail.task.status = Status::Blocked;
            let handed = json!({"cause": "hold-cap", "of": "quota"});
            f.detail.events.push(ours("blocked", 30, "heal", "provider-hold", handed));
            let trail = json!({"pass": "p20", "case": "handed-over", "cause": "quota", "card": "t_0000caf1"});
            let linked = json!({"by": "synthesize-distress", "parent": "t_0000caf1", "watchbill": trail});
            f.detail.events.push(event("linked", 20, linked));
            f.detail.cards.push("t_0000caf1".into());
            f
        };
        let needs = crate::needs::of_tasks(&read(["t_00000001", "t_00000002"].map(capped).into()));
        assert!(needs[0].says.ends_with("2 tasks") && needs[0].next.is_none(), "{needs:?}");
        // The hold of a task may end before that of its provider, which then holds it on.
        let of_provider = |id: &str| Facts { retried_at: Some(until), ..of(id, "quota") };
        let needs = crate::needs::of_tasks(&read(["t_00000001", "t_00000002"].map(of_provider).into()));
        assert!(
            needs[0].says.ends_with(&format!("2 tasks, next try {}", until.local_moment(NOW))),
            "{needs:?}"
        );
        assert_eq!(needs[0].next, Some(until));
        let end = until.plus(3_600);
        let in_quiet = |id: &str| Facts { quiet_hours: super::quiet(NOW, end), ..of_provider(id) };
        let needs = crate::needs::of_tasks(&read(["t_00000001", "t_00000002"].map(in_quiet).into()));
        assert_eq!(needs[0].next, Some(end));
        let next = format!(", next try {}, after the quiet hours", end.local_moment(NOW));
        assert!(needs[0].says.ends_with(&next), "{needs:?}");
        let both = "$ for id in t_00000001 t_00000002; do hermes kanban reassign \"$id\" PROFILE && hermes kanban unblock \"$id\"; done\n";
        assert_eq!(said.matches(both).count(), 1, "{said}");
        let alone = "$ hermes kanban reassign t_00000003 PROFILE && hermes kanban unblock t_00000003\n";
        assert_eq!(said.matches(alone).count(), 1, "{said}");
        // One line names a bounded number of tasks, and says so.
        let many = (0..20).map(|n| of(&format!("t_000000{n:02}"), "quota")).collect();
        let said = text::lines(&read(many), false);
        assert!(said.contains("t_00000015; do hermes kanban reassign"), "{said}");
        assert!(said.contains("(16 of 20 tasks):\n"), "{said}");
    }

    #[test]
    fn a_card_that_no_task_waits_for_needs_a_person_while_its_orchestrator_does_not_end() {
        let card = |status: Status| {
            let mut f = task(status, Vec::new());
            f.detail.task.id = "t_0000caf1".into();
            f.detail.task.title = "[BLOCKED] t_00000001 dependency".into();
            let stuck = policy::Stuck { host: "b".into(), since: ago(600), todo: "see it".into() };
            f.takes = vec![Take { stuck: Some(stuck), ..take("heal", Verdict::Leaves, None) }];
            f
        };
        let needs = |all: Vec<Facts>| read(all).needs_you.into_iter().map(|e| e.task).collect::<Vec<_>>();
        assert!(card(Status::Running).is_card());
        assert_eq!(needs(vec![card(Status::Running)]), ["t_0000caf1"]);
        let mut asks = task(Status::Blocked, vec![event("gave_up", 60, json!({}))]);
        asks.card = Some(card(Status::Running).detail);
        assert_eq!(needs(vec![card(Status::Running), asks.clone()]), ["t_0000caf1"], "its task only waits");
        let mut works = card(Status::Running);
        (works.takes, works.detail.task.started_at) = (Vec::new(), Some(ago(4 * 1_800)));
        assert_eq!(needs(vec![works.clone()]), ["t_0000caf1"], "however it beats");
        let stand = standing::of(&works);
        let says = "running; luna has worked on it for 2h without a decision";
        assert_eq!((stand.kind, stand.says.as_str()), (Kind::NeedsPerson, says), "{stand:?}");
        asks.card = Some(works.detail.clone());
        assert_eq!(needs(vec![works.clone(), asks]), ["t_00000001"], "told with its task");
        works.detail.task.started_at = Some(ago(4 * 1_800 - 1));
        assert_eq!(needs(vec![works]), Vec::<String>::new());
    }

    #[test]
    fn a_night_in_which_nothing_happened_is_quiet() {
        let quiet = vec![night().swap_remove(1), night().swap_remove(6), night().swap_remove(7)];
        let s = read(quiet);
        assert!(s.is_quiet());
        assert_eq!(text::lines(&s, false), "", "what was skipped before is no news");
        assert!(text::lines(&s, true).contains("all is well; 4 done"));
        let mut found = Summary { findings: vec!["luna is odd".into()], ..s.clone() };
        assert!(!found.is_quiet());
        assert!(text::lines(&found, false).contains("! luna is odd"));
        (found.findings, found.paused) = (Vec::new(), Some("paused".into()));
        assert!(!found.is_quiet(), "a pause somebody forgot");
    }
}

#[test]
fn what_was_found_of_its_session_comes_first() {
    let keys =
        json!({"session": "ses_1", "server": "http://a:1", "host": "h", "directory": "/w", "by": "coord"});
    let found = |kind: &str, severity: &str, state: &str, seconds: i64| {
        let keys = json!({"session": "ses_1", "type": kind, "severity": severity, "episode": "m", "state": state,
            "said": format!("{kind} it is"), "by": "coord"});
        Event { run: Some(1), ..event("coord.detection", seconds, keys) }
    };
    let spawned = Event { run: Some(1), ..event("coord.spawned", 900, keys) };
    let worked = |more: Vec<Event>| {
        let mut f = task(Status::Running, [vec![spawned.clone()], more].concat());
        f.detail.task.current_run = Some(1);
        f.detail.runs = vec![run(1, "luna", None)];
        f.takes = vec![take("heal", Verdict::Leaves, None)];
        f
    };
    stands(&worked(vec![]), Kind::Fine, "running, and nothing is wrong: so it is", None);
    let waits = Facts { unanswered: Some(NOW.plus(-660)), ..worked(vec![]) };
    let says = "running, and waits for an answer: the provider of luna has not answered since the attempt began 11m ago";
    stands(&waits, Kind::Fine, says, Some("So it is"));
    let ended = vec![found("RUNAWAY", "high", "found", 90), found("RUNAWAY", "high", "ended", 60)];
    stands(&worked(ended), Kind::Fine, "running, and nothing is wrong: so it is", None);
    let two = || vec![found("RUNAWAY", "high", "found", 90), found("TOOL_LONG", "low", "found", 60)];
    let ill = "its session ses_1: RUNAWAY: RUNAWAY it is";
    stands(&worked(two()), Kind::LeftAlone, &format!("running, but {ill}"), Some("So it is"));
    // Of an attempt that is over nothing ends any more, and its row says only that the claim ran out.
    let mut f = worked(two());
    (f.detail.task.status, f.detail.task.current_run) = (Status::Ready, None);
    f.detail.runs[0] = run(1, "luna", Some("reclaimed"));
    let trouble = diagnosis::newest(&f, None).unwrap();
    assert!(trouble.detail.contains(&format!(": {ill}; reclaimed, its claim was revoked")), "{trouble:?}");
}

#[test]
fn a_task_of_a_board_that_is_refused_says_so_first_and_nothing_is_unblocked() {
    let damaged = board::sqlite::damaged("/b/kanban.db", "wrong # of entries in index idx_tasks_status");
    let odd = board::sqlite::damaged("/b/it's `mine`/kanban.db", "wrong # of entries in index x");
    let refused = Some(
        Error::new(base::error::Kind::Data, "/b/kanban.db", "this board is split: process 7 writes")
            .hint("run `kill -9 7` now, not a restart"),
    );
    for (refused, what, run) in [
        (
            Some(damaged),
            "blocked, and this board is damaged (wrong # of entries",
            "sqlite3 '/b/kanban.db' REINDEX",
        ),
        (
            Some(odd),
            "blocked, and this board is damaged (wrong # of entries",
            r"sqlite3 '/b/it'\''s `mine`/kanban.db' REINDEX",
        ),
        (refused, "blocked, and this board is split: process 7 writes", "kill -9 7"),
    ] {
        let f =
            Facts { refused, ..task(Status::Blocked, vec![event("blocked", 600, json!({"reason": "x"}))]) };
        let stand = standing::of(&f);
        assert!(stand.says.starts_with(what), "{stand:?}");
        assert_eq!(stand.kind, Kind::NeedsPerson);
        let commands = suggestions::of(&f, &stand);
        assert_eq!(commands[0].run, run);
        assert!(!commands.iter().any(|c| c.run.contains("unblock")), "{commands:?}");
    }
}
