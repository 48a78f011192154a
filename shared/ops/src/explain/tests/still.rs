//! What stands still with nobody who goes on with it.

use super::*;
use crate::explain::standing::Stand;
use crate::explain::still::Unattended;
use crate::explain::suggestions::Command;
use board::{Rule, StepAction};
use policy::Beyond;

/// Undone by hand a minute ago.
fn undone() -> Event {
    ours("watchbill_undone", 60, "undo", "rate-limit", json!({}))
}

/// What a person reads, and the first command.
fn told(f: &Facts) -> (Stand, String) {
    let stand = standing::of(f);
    let run = suggestions::of(f, &stand).remove(0).run;
    (stand, run)
}

#[track_caller]
fn is_to_be_decided(f: &Facts, begins: &str) {
    let (stand, run) = told(f);
    assert_eq!(stand.kind, Kind::NeedsPerson, "{stand:?}");
    assert!(stand.says.starts_with(begins), "{stand:?}");
    assert!(stand.says.contains("; a step of the watchers was undone by hand at "), "{stand:?}");
    assert_eq!(run, "hermes kanban comment t_00000001 'watchbill: heal'");
}

#[test]
fn what_was_undone_needs_a_person_once_it_would_be_due() {
    // A hold that was undone, before and after its end.
    for (until, is_due) in [(600, false), (-1, true)] {
        let until = json!({"cause": "rate_limit", "until": NOW.plus(until).0});
        let hold = ours("scheduled", 3_600, "heal", "rate-limit", json!({"hold": until}));
        let mut f = task(Status::Scheduled, vec![hold, undone()]);
        f.takes = vec![take("heal", Verdict::Leaves, None)];
        match is_due {
            true => is_to_be_decided(&f, "held until "),
            false => assert_eq!(standing::of(&f).kind, Kind::Waits),
        }
        // Its card is asked still.
        let card = detail("t_0000caf1", Status::Running);
        (f.detail.cards, f.card) = (vec![card.task.id.clone()], Some(card));
        assert_ne!(standing::of(&f).kind, Kind::NeedsPerson);
    }
    // At the failure limit no dispatcher sets it free; below it one does.
    let mut f = task(Status::Blocked, vec![event("gave_up", 600, json!({"error": "x"})), undone()]);
    f.detail.task.failures = f.runtime.failure_limit.unwrap();
    is_to_be_decided(&f, "blocked; ");
    f.detail.task.failures = 0;
    assert_eq!(standing::of(&f).kind, Kind::LeftAlone);
    f.own_board = true;
    assert_eq!(standing::of(&f).kind, Kind::NeedsPerson);
    // A worker that lives works on.
    let mut f = task(Status::Running, vec![undone()]);
    f.life = Some(Life::Gone);
    assert_eq!(standing::of(&f).kind, Kind::LeftAlone, "its dispatcher requeues it with the next tick");
    f.runtime.dispatcher = Dispatcher::Absent;
    for (life, is_due) in [(Life::Alive, false), (Life::Unknown, false), (Life::Gone, true)] {
        f.life = Some(life);
        match is_due {
            true => is_to_be_decided(&f, "running, and its worker is gone"),
            false => assert_eq!(standing::of(&f).kind, Kind::LeftAlone),
        }
    }
    // A worker of which nothing is known, and nothing was heard for long.
    for (heard, is_due) in [(21_599, false), (21_600, true)] {
        let mut f = task(Status::Running, vec![undone()]);
        (f.life, f.own_board) = (Some(Life::Unknown), true);
        f.detail.task.started_at = Some(ago(30_000));
        f.detail.task.last_heartbeat_at = Some(ago(heard));
        let stand = standing::of(&f);
        match is_due {
            true => {
                let says = "running, and whether its worker lives is not known; a step of the watchers was undone by hand at ";
                assert!(stand.kind == Kind::NeedsPerson && stand.says.starts_with(says), "{stand:?}");
            }
            false => assert_eq!(stand.kind, Kind::LeftAlone, "{stand:?}"),
        }
        f.woke = Some(ago(60));
        assert_eq!(standing::of(&f).kind, Kind::LeftAlone, "the host woke up just now");
    }
    let mut f = task(Status::Ready, vec![undone()]);
    f.detail.task.assignee = Some("nobody".into());
    is_to_be_decided(&f, "ready for nobody");
    f.detail.task.assignee = Some("luna".into());
    assert_eq!(standing::of(&f).kind, Kind::LeftAlone, "a dispatcher starts it");
}

#[test]
fn what_somebody_marked_is_no_undo() {
    let mut f = task(Status::Blocked, vec![event("gave_up", 600, json!({"error": "x"})), undone()]);
    f.detail.task.failures = 9;
    f.detail.body = "watchbill: no-heal".into();
    assert_eq!(standing::of(&f).kind, Kind::LeftAlone);
}

/// What the mark `watchbill: no-heal` leaves to a person, with the command that lifts it.
#[track_caller]
fn is_left_by_its_mark(f: &Facts, says: &str) {
    let (stand, run) = told(f);
    assert_eq!(stand.kind, Kind::NeedsPerson, "{stand:?}");
    let mark = "it is marked `watchbill: no-heal`, so the watchers skip it";
    assert_eq!(stand.says, format!("{says}; {mark}"));
    assert_eq!(run, "hermes kanban comment t_00000001 'watchbill: heal'");
}

#[test]
fn what_is_marked_needs_a_person_where_a_watcher_would_go_on_with_it() {
    let marked = |status: Status, events: Vec<Event>| {
        let mut f = task(status, events);
        f.detail.body = "Count them.\nwatchbill: no-heal".into();
        f.takes = vec![take("heal", Verdict::Leaves, None)];
        f
    };
    // Blocked at the failure limit, and nobody moves it.
    let gave_up = |seconds: i64| {
        let mut f = marked(Status::Blocked, vec![event("gave_up", seconds, json!({"error": "x"}))]);
        f.detail.task.failures = f.runtime.failure_limit.unwrap();
        f
    };
    assert_eq!(standing::of(&gave_up(1_799)).kind, Kind::LeftAlone);
    is_left_by_its_mark(&gave_up(1_800), "blocked for 30m");
    let mut f = gave_up(1_800);
    f.detail.task.failures = 0;
    assert_eq!(standing::of(&f).kind, Kind::LeftAlone, "a dispatcher sets it free");
    f.is_passed_over = true;
    assert_eq!(told(&f).0.unattended, Some(Unattended::NotPromoted), "none does");
    assert_eq!(told(&f).1, "hermes kanban show t_00000001");
    let mut f = gave_up(9_000);
    f.unreached = None;
    f.detail.runs = vec![run(1, "luna", Some("spawn_failed"))];
    f.detail.runs[0].error = Some("workspace: [Errno 2] No such file or directory: '/w/a'".into());
    assert_eq!(told(&f).1, "mkdir -p /w/a && hermes kanban unblock t_00000001", "what mends it");
    // A worker of a running row that is gone, and one of which nothing is known.
    for (heard, life, kind) in [
        (599, Life::Gone, Kind::LeftAlone),
        (600, Life::Gone, Kind::NeedsPerson),
        (90_000, Life::Alive, Kind::LeftAlone),
        (21_599, Life::Unknown, Kind::LeftAlone),
        (21_600, Life::Unknown, Kind::NeedsPerson),
    ] {
        let mut f = marked(Status::Running, Vec::new());
        (f.detail.task.started_at, f.life) = (Some(ago(90_000)), Some(life));
        f.detail.task.last_heartbeat_at = Some(ago(heard));
        assert_eq!(standing::of(&f).kind, kind, "{heard} {life:?}: {:?}", standing::of(&f));
        match (kind, life) {
            (Kind::NeedsPerson, Life::Gone) => is_left_by_its_mark(&f, "running, and its worker is gone"),
            (Kind::NeedsPerson, _) => assert_eq!(told(&f).1, "board show t_00000001", "no watcher acts"),
            _ => {}
        }
    }
    // Specifying and reviewing do not depend on the mark, and lifting it would help nobody.
    for (status, says, run) in [
        (Status::Triage, "in triage for 2h, and nobody specifies it", "hermes kanban specify t_00000001"),
        (Status::Review, "in review for 2h, and nobody reviews it", "hermes kanban show t_00000001"),
    ] {
        let f = marked(status.clone(), vec![event("status", 7_199, json!({}))]);
        assert_eq!(standing::of(&f).kind, Kind::Fine);
        let (stand, first) = told(&marked(status, vec![event("status", 7_200, json!({}))]));
        assert_eq!((stand.kind, &*stand.says, &*first), (Kind::NeedsPerson, says, run));
    }
    // What heal makes ready on a board without a dispatcher.
    let mut f = marked(Status::Todo, vec![event("created", 7_200, json!({}))]);
    f.own_board = true;
    f.detail.parents = vec![Kin::from(detail("t_0000000a", Status::Done).task.clone())];
    let (stand, first) = told(&f);
    assert_eq!(stand.kind, Kind::NeedsPerson, "{stand:?}");
    assert!(stand.says.starts_with("in todo, and what it waits for is done; it is marked "), "{stand:?}");
    assert_eq!(first, "hermes kanban comment t_00000001 'watchbill: heal' --author \"$USER\"");
    f.detail.parents = vec![Kin::from(detail("t_0000000a", Status::Running).task.clone())];
    assert_eq!(standing::of(&f).kind, Kind::Fine, "it waits");
    f.detail.parents.clear();
    assert_eq!(
        standing::of(&f).kind,
        Kind::Fine,
        "nobody promotes what waits for nothing, and it is told so"
    );
    // The same where a step on it was undone.
    for (seconds, kind, says) in [
        (7_199, Kind::Fine, "in todo: all it waits for is done; no watcher promotes it"),
        (
            7_200,
            Kind::NeedsPerson,
            "in todo, and what it waits for is done; a step of the watchers was undone by hand at ",
        ),
    ] {
        let undone = ours("watchbill_undone", seconds, "undo", "rate-limit", json!({}));
        let mut f = task(Status::Todo, vec![undone]);
        f.own_board = true;
        f.detail.parents = vec![Kin::from(detail("t_0000000a", Status::Done).task.clone())];
        let stand = standing::of(&f);
        assert!((stand.kind, stand.says.starts_with(says)) == (kind, true), "{stand:?}");
    }
    // Ready work is started whatever is written on it, where a worker can take it.
    let mut f = marked(Status::Ready, vec![event("created", 90_000, json!({}))]);
    f.detail.task.assignee = Some("luna".into());
    assert_eq!(standing::of(&f).kind, Kind::LeftAlone);
    (f.detail.task.assignee, f.takers) = (None, Some(vec!["luna".into(), "sol".into()]));
    let (stand, first) = told(&f);
    assert_eq!((stand.kind, first.as_str()), (Kind::NeedsPerson, "hermes kanban reassign t_00000001 luna"));
    (f.detail.task.assignee, f.is_passed_over, f.own_board) = (Some("luna".into()), true, true);
    assert_eq!(told(&f).1, "hermes kanban run --assignee luna -- YOUR_AGENT");
}

#[test]
fn what_an_older_worker_still_works_on_waits_for_its_end() {
    let mut f = task(Status::Ready, vec![event("unblocked", 60, json!({}))]);
    (f.detail.task.assignee, f.own_board, f.outlived_by) = (Some("luna".into()), true, Some(77));
    let (stand, _) = told(&f);
    let says = "and process 77 of an earlier attempt still works on it: no worker claims it before that ends";
    assert!(stand.kind == Kind::Waits && stand.says.ends_with(says), "{stand:?}");
    f.detail.events.push(event("unblocked", f.patience, json!({})));
    let stand = standing::of(&f);
    assert!(stand.kind == Kind::NeedsPerson && stand.says.ends_with(says), "{stand:?}");
    // A worker of another host does not see that process.
    let shared = standing::of(&Facts { is_shared: true, ..f.clone() });
    assert!(
        shared.kind == Kind::Waits
            && shared.says.contains("a worker must claim it; none of this host does while process 77"),
        "{shared:?}"
    );
    let all = suggestions::of(&f, &stand);
    let runs: Vec<&str> = all.iter().map(|c| c.run.as_str()).collect();
    assert!(runs.starts_with(&["ps -fp 77", "kill 77"]), "{runs:?}");
    assert!(!runs.iter().any(|run| run.contains(" run ")), "it would be passed over: {runs:?}");
    // A dispatcher of Hermes does not wait for it.
    f = Facts { own_board: false, outlived_by: Some(77), ..task(Status::Ready, Vec::new()) };
    f.detail.task.assignee = Some("luna".into());
    let (stand, first) = told(&f);
    let more =
        "Process 77 of an earlier attempt still works on it, and Hermes starts the next worker beside it";
    assert_eq!((stand.kind, stand.more.as_deref(), &*first), (Kind::Fine, Some(more), "ps -fp 77"));
    // What its worker blocked goes on once that has ended.
    let asked = event("blocked", 60, json!({"reason": "which licence?", "kind": "needs_input"}));
    for outlived_by in [None, Some(77)] {
        let f = Facts { outlived_by, ..task(Status::Blocked, vec![asked.clone()]) };
        let all = suggestions::of(&f, &standing::of(&f));
        let unblocks = |c: &&Command| c.run.ends_with("unblock t_00000001");
        let to: Vec<&str> = all.iter().filter(unblocks).map(|c| c.to.as_str()).collect();
        let says_so = |to: &&str| to.ends_with(", once process 77 has ended");
        assert!(to.len() == 2 && to.iter().all(|to| says_so(to) == outlived_by.is_some()), "{to:?}");
        assert_eq!(all.iter().any(|c| c.run == "kill 77"), outlived_by.is_some());
    }
    // As does what it asked for the second time.
    let looped = event("block_loop_detected", 60, json!({"reason": "which licence?", "kind": "needs_input"}));
    let reaped = event("terminal_worker_reaped", 30, json!({"pid": 76}));
    for (own_board, outlived_by) in [(false, None), (false, Some(77)), (true, None), (true, Some(77))] {
        let f =
            Facts { outlived_by, own_board, ..task(Status::Triage, vec![looped.clone(), reaped.clone()]) };
        let stand = standing::of(&f);
        assert!(stand.kind == Kind::NeedsPerson && stand.says.contains("a person is asked"), "{stand:?}");
        let all = suggestions::of(&f, &stand);
        let says_so = |c: &&Command| c.to.contains(", once process 77 has ended");
        assert_eq!(all.iter().filter(says_so).count(), if outlived_by.is_some() { 2 } else { 0 }, "{all:?}");
        assert_eq!(all.iter().any(|c| c.run == "kill 77"), outlived_by.is_some());
    }
    // A watcher waits for its end, too.
    let due = Take { frees: true, ..take("route-blocked", acts("move"), None) };
    for (outlived_by, frees, when) in [
        (None, true, "with its next pass"),
        (Some(77), true, "once process 77 of an earlier attempt has ended"),
        (Some(77), false, "with its next pass"),
    ] {
        let mut f = task(Status::Blocked, Vec::new());
        f.takes = vec![Take { frees, ..due.clone() }];
        f.outlived_by = outlived_by;
        let stand = standing::of(&f);
        let says = format!("route-blocked acts {when}: move (dead-worker): so it is");
        let is_offered =
            suggestions::of(&f, &stand).iter().any(|c| c.run == "route-blocked --task t_00000001");
        assert_eq!((stand.kind, stand.more), (Kind::Due, Some(says)));
        assert_eq!(is_offered, when == "with its next pass");
    }
}

#[test]
fn why_a_watcher_does_nothing_about_a_ready_task_keeps_no_worker_away() {
    let (starts, waits) =
        ("ready for luna since 1m: a worker must claim it", "ready, and nobody takes it: so it is");
    for (watcher, before, card, next, says) in [
        ("synthesize-distress", "gave_up", None, None, starts),
        ("route-blocked", "gave_up", None, None, waits),
        ("route-blocked", "unblocked", None, None, starts),
        ("heal", "gave_up", None, None, waits),
        ("synthesize-distress", "gave_up", None, Some(600), waits),
        ("synthesize-distress", "gave_up", Some(Status::Running), None, waits),
    ] {
        // A watcher promoted it, when it closed its card.
        let promoted = ours("promoted", 60, "route-blocked", "close-card", json!({}));
        let mut f = task(Status::Ready, vec![event(before, 90, json!({})), promoted]);
        (f.detail.task.assignee, f.own_board) = (Some("luna".into()), true);
        f.card = card.map(|status| detail("t_0000caf1", status));
        f.takes = vec![take(watcher, Verdict::Leaves, next)];
        assert_eq!(standing::of(&f).says, says, "{watcher} {before} {next:?}");
    }
}

#[test]
fn what_is_marked_and_put_off_or_blocked_by_hand_is_as_without_the_mark() {
    let hold = json!({"cause": "rate_limit", "until": NOW.plus(600).0});
    for (status, e, kind) in [
        (
            Status::Scheduled,
            event("scheduled", 90_000, json!({"reason": "after the release"})),
            Kind::LeftAlone,
        ),
        (Status::Scheduled, ours("scheduled", 60, "heal", "rate-limit", json!({"hold": hold})), Kind::Waits),
        (Status::Blocked, event("blocked", 60, json!({"reason": "which licence?"})), Kind::NeedsPerson),
    ] {
        let mut f = task(status.clone(), vec![e]);
        let (before, run) = told(&f);
        f.detail.body = "watchbill: no-heal".into();
        f.takes = vec![take("heal", Verdict::Leaves, None)];
        let (stand, first) = told(&f);
        assert_eq!((stand.kind, &stand.says), (kind, &before.says));
        let is_asked = kind == Kind::NeedsPerson;
        assert!(!is_asked || first == run, "no watcher lifts a block by hand: {first}");
    }
}

#[test]
fn what_a_living_dispatcher_does_not_start_needs_a_person() {
    let mut f = task(Status::Ready, Vec::new());
    f.detail.task.assignee = Some("luna".into());
    assert_eq!(standing::of(&f).kind, Kind::Fine);
    f.is_passed_over = true;
    let (stand, run) = told(&f);
    assert_eq!(stand.kind, Kind::NeedsPerson, "{stand:?}");
    assert!(stand.says.ends_with("a running dispatcher does not start it"), "{stand:?}");
    assert_eq!(run, "hermes kanban show t_00000001");
    f.runtime.dispatcher = Dispatcher::Unknown("in a container".into());
    let (stand, run) = told(&f);
    assert_eq!((stand.kind, stand.unattended), (Kind::NeedsPerson, Some(Unattended::Unseen)));
    let says = "and nothing starts it; whether a dispatcher runs cannot be seen from here";
    assert!(stand.says.ends_with(says), "{stand:?}");
    assert_eq!(run, "hermes kanban show t_00000001");
    f.wedged = Some("process 7".into());
    assert_ne!(standing::of(&f).unattended, Some(Unattended::Unseen), "that is told once, of the board");
    f.wedged = None;
    f.own_board = true;
    let (stand, run) = told(&f);
    assert!(stand.kind == Kind::NeedsPerson && stand.says.ends_with("nobody claims it"), "{stand:?}");
    assert_eq!(run, "hermes kanban run --assignee luna -- YOUR_AGENT");
    let mut of_nobody = f.clone();
    of_nobody.detail.task.assignee = None;
    assert_eq!(told(&of_nobody).1, "hermes kanban reassign t_00000001 PROFILE", "no such worker takes it");
    f.own_board = false;
    f.runtime.dispatcher = Dispatcher::Absent;
    assert_eq!(standing::of(&f).kind, Kind::Waits, "that is told once, of the board");
}

#[test]
fn what_no_dispatcher_may_start_needs_a_person() {
    let mut f = task(Status::Ready, vec![event("created", 3_600, json!({}))]);
    f.detail.task.assignee = Some("nova".into());
    (f.runtime.unlisted, f.takers) = (vec!["nova".into()], Some(vec!["luna".into(), "sol".into()]));
    let (stand, run) = told(&f);
    let says = "ready for nova, and `kanban.dispatch_profiles` does not list it: nobody starts it";
    assert_eq!((stand.kind, stand.says.as_str()), (Kind::NeedsPerson, says));
    assert_eq!(run, "hermes kanban reassign t_00000001 luna");
    f.detail.events.push(event("promoted", 60, json!({})));
    assert_eq!(standing::of(&f).kind, Kind::Fine, "another home that shares the board may start it");
}

#[test]
fn what_is_in_review_or_in_triage_waits_for_a_person_where_nobody_goes_on_with_it() {
    for (status, column, command) in [
        (Status::Review, "in review", "hermes kanban show t_00000001"),
        (Status::Triage, "in triage", "hermes kanban specify t_00000001"),
    ] {
        let at = |seconds: i64| task(status.clone(), vec![event("status", seconds, json!({}))]);
        let mut f = at(1_800);
        assert_eq!(standing::of(&f).kind, Kind::Fine, "a dispatcher goes on with it");
        f.is_for_people = true;
        let (stand, run) = told(&f);
        assert_eq!(stand.kind, Kind::NeedsPerson, "{stand:?}");
        assert!(stand.says.starts_with(&format!("{column} for 30m, and nobody ")), "{stand:?}");
        assert_eq!(run, command);
        f.detail.task.claim_lock = Some("host:7".into());
        f.detail.task.claim_expires = Some(NOW.plus(1));
        assert_eq!(standing::of(&f).kind, Kind::Fine, "somebody is at it");
        f.detail.task.claim_expires = Some(ago(60));
        let (stand, _) = told(&f);
        let left = "A claim by host:7 was left on it and ran out 1m ago: newer Hermes starts only what nobody claims";
        assert_eq!((stand.kind, stand.more.as_deref()), (Kind::NeedsPerson, Some(left)));
        let mut held = at(90_000);
        held.detail.task.claim_lock = Some("host:7".into());
        held.detail.task.claim_expires = Some(NOW.plus(864_000));
        assert_eq!(standing::of(&held).kind, Kind::NeedsPerson, "no claim counts for longer than that");
        held.claim_ceiling = 604_800;
        assert_eq!(standing::of(&held).kind, Kind::Fine, "`heal.claim_ceiling` is set");
        let mut f = at(1_799);
        f.is_for_people = true;
        assert_eq!(standing::of(&f).kind, Kind::Fine);
        assert_eq!(standing::of(&at(7_200)).kind, Kind::NeedsPerson, "whoever should have gone on");
    }
}

#[test]
fn a_claim_that_nobody_can_judge_needs_a_person_until_it_is_released() {
    for status in [Status::Ready, Status::Todo, Status::Blocked] {
        let mut f = task(status.clone(), vec![event("gave_up", 40_000, json!({"error": "x"}))]);
        f.takes = vec![take("heal", Verdict::Unknown, None)];
        f.detail.task.claim_lock = Some("box7:12".into());
        f.detail.task.claim_expires = Some(ago(1_800));
        let (stand, run) = told(&f);
        assert_eq!(stand.kind, Kind::NeedsPerson, "{stand:?}");
        let says = "; the claim by box7:12 ran out 30m ago, and nothing starts what is claimed";
        assert!(stand.says.ends_with(says), "{stand:?}");
        assert_eq!(run, "board unblock t_00000001", "{status}");
        let all = suggestions::of(&f, &stand);
        assert!(
            all.iter().all(|c| !c.run.contains("reassign") && !c.run.contains("kanban unblock")),
            "{all:?}"
        );
        // Another change of the task takes nothing away.
        for kind in ["assigned", "unblocked"] {
            f.detail.events.push(event(kind, 1, json!({})));
            assert_eq!(standing::of(&f).kind, Kind::NeedsPerson, "{kind}");
        }
        let mut fresh = f.clone();
        fresh.detail.task.claim_expires = Some(ago(1_799));
        assert_ne!(standing::of(&fresh).kind, Kind::NeedsPerson);
        // Without an end, or with one that is too far, it counts for as long as any claim may last.
        let mut endless = f.clone();
        endless.detail.task.claim_expires = Some(NOW.plus(864_000));
        endless.detail.events.insert(0, event("claimed", 86_400 + 1_799, json!({})));
        assert_ne!(standing::of(&endless).kind, Kind::NeedsPerson);
        endless.detail.events[0] = event("claimed", 86_400 + 1_800, json!({}));
        assert_eq!(told(&endless), told(&f));
        for verdict in [Verdict::Leaves, acts("release")] {
            let mut known = f.clone();
            known.takes = vec![take("heal", verdict, None)];
            assert_ne!(standing::of(&known).kind, Kind::NeedsPerson, "heal goes on with it");
        }
        f.detail.task.claim_lock = None;
        assert!(!told(&f).1.starts_with("board unblock"));
        (f.own_board, f.hand, f.detail.task.claim_lock) = (true, "board --db b".into(), Some("h:1".into()));
        assert_eq!(told(&f).1, "board --db b unblock t_00000001");
    }
    // A question is answered, and the claim is released with it.
    let mut f = task(
        Status::Blocked,
        vec![event("blocked", 40_000, json!({"reason": "which?", "kind": "needs_input"}))],
    );
    f.takes = vec![take("heal", Verdict::Unknown, None)];
    (f.detail.task.claim_lock, f.detail.task.claim_expires) = (Some("box7:12".into()), Some(ago(1_800)));
    let answer = "hermes kanban comment t_00000001 'YOUR ANSWER' && board unblock t_00000001";
    assert_eq!(told(&f).1, answer);
}

#[test]
fn a_worker_that_stays_unknown_is_told_once_it_was_silent_for_six_hours() {
    let hours = |n: i64| ago(3_600 * n);
    let mut f = task(Status::Running, Vec::new());
    f.takes = vec![take("heal", Verdict::Unknown, None)];
    f.detail.task.started_at = Some(hours(30));
    f.detail.task.claim_lock = Some("box7:12".into());
    f.detail.task.worker_pid = Some(12);
    // A dispatcher extends the claim of any living process; one of `board claim --ttl` was asked for.
    let by_worker = || vec![ours("claimed", 100_000, "board", "claim", json!({}))];
    for (events, heard, expires, is_due) in [
        (by_worker(), 29, 28, true),
        (by_worker(), 6, 7, true),
        (by_worker(), 5, 28, false),
        (by_worker(), 28, 5, false),
        (Vec::new(), 28, 5, true),
        (Vec::new(), 5, 28, false),
    ] {
        f.detail.events = events;
        f.detail.task.last_heartbeat_at = Some(hours(heard));
        f.detail.task.claim_expires = Some(hours(expires));
        let stand = standing::of(&f);
        let want = if is_due { Kind::NeedsPerson } else { Kind::LeftAlone };
        assert_eq!(stand.kind, want, "{heard} {expires}: {stand:?}");
    }
    // Nobody's claim counts for longer than a day.
    f.detail.events = by_worker();
    f.detail.task.claim_expires = Some(NOW.plus(864_000));
    for (heard, want) in [(29, Kind::LeftAlone), (30, Kind::NeedsPerson)] {
        f.detail.task.last_heartbeat_at = Some(hours(heard));
        f.detail.task.started_at = Some(hours(heard));
        assert_eq!(standing::of(&f).kind, want, "{heard}");
    }
    f.detail.task.started_at = Some(hours(30));
    f.detail.events = Vec::new();
    f.detail.task.last_heartbeat_at = Some(hours(28));
    f.detail.task.claim_expires = None;
    let (stand, run) = told(&f);
    assert_eq!(stand.says, "running, and whether its worker lives is not known, for 1d 4h: so it is");
    let more = "Claimed by box7:12. Look there; where no worker is at it, release its claim";
    let signals = "`hermes kanban schedule t_00000001 released && hermes kanban unblock t_00000001`, which signals nothing; `reclaim` may end process 12";
    assert_eq!(stand.more, Some(format!("{more}: {signals}")));
    let mut pidless = f.clone();
    pidless.detail.task.worker_pid = None;
    let (stand, _) = told(&pidless);
    assert_eq!(stand.more, Some(format!("{more}: `hermes kanban reclaim t_00000001`")));
    assert_eq!(run, "board show t_00000001", "nothing that could end a healthy worker");
    // A machine that woke up gives it the time for a sign of life.
    for (woke, want) in [(899, Kind::LeftAlone), (900, Kind::NeedsPerson)] {
        f.woke = Some(ago(woke));
        assert_eq!(standing::of(&f).kind, want, "{woke}");
    }
    f.takes = vec![take("heal", Verdict::Leaves, None)];
    assert_ne!(standing::of(&f).kind, Kind::NeedsPerson);
}

#[test]
fn what_no_dispatcher_makes_ready_needs_a_person() {
    let parent = |status| Kin::from(detail("t_0000000a", status).task.clone());
    let mut todo = task(Status::Todo, Vec::new());
    todo.detail.parents = vec![parent(Status::Done)];
    let mut below = task(Status::Blocked, vec![event("status", 9_000, json!({}))]);
    below.detail.task.failures = 1;
    for (mut f, begins) in [
        (todo, "in todo, and what it waits for is done, for more than 2h; "),
        (below, "blocked below the failure limit, for more than 2h; "),
    ] {
        assert_ne!(standing::of(&f).kind, Kind::NeedsPerson, "a tick makes it ready");
        f.is_passed_over = true;
        let (stand, run) = told(&f);
        assert_eq!(stand.kind, Kind::NeedsPerson, "{stand:?}");
        assert_eq!(stand.says, format!("{begins}no dispatcher makes it ready"));
        let says_why = f.detail.task.status == Status::Blocked;
        assert_eq!(stand.more.is_some(), says_why, "nothing that a dispatcher would do: {stand:?}");
        assert_eq!(run, "hermes kanban show t_00000001");
        f.runtime.dispatcher = Dispatcher::Absent;
        let (stand, run) = told(&f);
        assert_eq!(stand.kind, Kind::NeedsPerson, "{stand:?}");
        if f.detail.task.status == Status::Todo {
            assert_eq!(run, "hermes kanban dispatch");
        }
        f.runtime.dispatcher = Dispatcher::Unknown("in a container".into());
        assert_eq!(told(&f).0.unattended, Some(Unattended::NotPromoted));
        f.runtime.dispatcher = Dispatcher::Alive(7);
        f.wedged = Some("process 7".into());
        assert_ne!(
            standing::of(&f).unattended,
            Some(Unattended::NotPromoted),
            "that is told once, of the board"
        );
        f.wedged = None;
        f.own_board = true;
        assert_ne!(standing::of(&f).unattended, Some(Unattended::NotPromoted), "heal makes it ready");
    }
    let mut f = task(Status::Todo, Vec::new());
    f.is_passed_over = true;
    f.detail.parents = vec![parent(Status::Running)];
    assert_eq!(standing::of(&f).kind, Kind::Fine, "it waits");
}

#[test]
fn what_waits_for_no_other_task_needs_a_person_where_no_dispatcher_promotes_it() {
    let mut f = task(Status::Todo, vec![event("created", 9_000, json!({}))]);
    let promotes = |f: &Facts| standing::of(f).says;
    assert!(promotes(&f).ends_with("; a dispatcher promotes it"));
    f.own_board = true;
    assert!(promotes(&f).ends_with("; only a person promotes it"));
    assert_eq!(standing::of(&f).kind, Kind::Fine, "it may be in the making");
    f.is_passed_over = true;
    let (stand, run) = told(&f);
    assert_eq!((stand.kind, stand.unattended), (Kind::NeedsPerson, Some(Unattended::Unlinked)));
    assert_eq!(stand.says, "in todo, and waits for no other task, for 2h 30m; nobody makes it ready");
    assert_eq!(run, "hermes kanban unblock t_00000001");
    f.detail.parents = vec![Kin::from(detail("t_0000000a", Status::Done).task.clone())];
    assert!(promotes(&f).ends_with("; heal promotes it"));
}

#[test]
fn what_is_skipped_on_purpose_is_told_with_what_starts_it() {
    let mut f = task(Status::Ready, vec![event("created", 9_000, json!({}))]);
    f.detail.task.assignee = Some("luna".into());
    f.detail.body = "watchbill: no-heal".into();
    (f.own_board, f.is_passed_over) = (true, true);
    let (stand, run) = told(&f);
    assert_eq!(stand.unattended, Some(Unattended::Unclaimed));
    assert_eq!(run, "hermes kanban run --assignee luna -- YOUR_AGENT");
    let mut f = task(Status::Blocked, vec![event("gave_up", 600, json!({"error": "x"}))]);
    (f.detail.task.failures, f.detail.body) = (2, "watchbill: no-heal".into());
    f.no_orchestrator = Some(("there is no profile ada".into(), "hermes profile create ada".into()));
    let hold = json!({"hold": {"cause": "queued", "until": NOW.0}});
    let mut card = detail("t_0000caf1", Status::Scheduled);
    card.events = vec![ours("scheduled", 60, "synthesize-distress", "no-orchestrator", hold)];
    f.card = Some(card);
    let (stand, run) = told(&f);
    assert_eq!(stand.unattended, Some(Unattended::NoOrchestrator), "{stand:?}");
    assert_eq!(run, "hermes profile create ada");
    let all = suggestions::of(&f, &stand);
    assert!(all.iter().any(|c| c.run.ends_with("'watchbill: heal'")), "{all:?}");
}

#[test]
fn a_card_that_a_person_has_is_no_work_for_a_dispatcher() {
    let mut card = detail("t_0000caf1", Status::Ready);
    card.task.assignee = Some("anna".into());
    card.events = vec![event("assigned", 1_801, json!({"assignee": "anna"}))];
    card.task.created_at = ago(9_000);
    for own in [false, true] {
        let mut f = task(Status::Blocked, vec![event("gave_up", 9_000, json!({"error": "x"}))]);
        f.detail.task.failures = 2;
        (f.own_board, f.runtime.dispatcher) = (own, Dispatcher::Absent);
        f.card = Some(card.clone());
        assert!(standing::of(&f).says.contains("; nobody has taken card t_0000caf1 for "), "a worker's");
        f.instead = Some("tuesday".into());
        let (stand, run) = told(&f);
        assert_eq!(stand.kind, Kind::NeedsPerson);
        let says = "; card t_0000caf1 waits for a decision of anna; no worker of that name is known";
        assert!(stand.says.ends_with(says), "{stand:?}");
        let more = stand.more.unwrap_or_default();
        assert!(!more.contains("gateway") && !more.contains("board claim"), "{more}");
        assert_eq!(run, "hermes kanban reassign t_0000caf1 tuesday");
        let all = suggestions::of(&f, &standing::of(&f));
        assert!(!all.iter().any(|c| c.run.contains("dispatch")), "{all:?}");
        f.now = ago(60);
        assert_eq!(standing::of(&f).kind, Kind::Waits, "they have just got it");
    }
}

/// A person was told a minute ago that these processes are stopped.
fn stopped(pids: &[i64]) -> Event {
    let about = json!({"key": "stopped-worker", "mend": "let it go on"});
    let mut told = ours("watchbill_detected", 60, "heal", "stopped-worker", about);
    told.payload["watchbill"]["pids"] = json!(pids);
    told
}

#[test]
fn a_card_that_is_worked_on_for_hours_needs_a_person() {
    let with_card = |began: i64, events: Vec<Event>| {
        let mut card = detail("t_0000caf1", Status::Running);
        card.task.current_run = Some(1);
        card.task.worker_pid = Some(77);
        card.task.assignee = Some("tuesday".into());
        card.runs = vec![Run { started_at: ago(began), ended_at: None, ..run(1, "tuesday", None) }];
        card.events.push(event("claimed", began, json!({})));
        card.events.extend(events);
        let mut f = task(Status::Blocked, vec![event("blocked", 20_000, json!({"reason": "may I?"}))]);
        f.detail.cards = vec![card.task.id.clone()];
        f.card = Some(card);
        f
    };
    assert_eq!(standing::of(&with_card(7_199, Vec::new())).kind, Kind::Waits);
    let stand = standing::of(&with_card(7_200, Vec::new()));
    assert_eq!(stand.kind, Kind::NeedsPerson, "{stand:?}");
    assert!(
        stand.says.ends_with("; tuesday has worked on card t_0000caf1 for 2h without a decision"),
        "{stand:?}"
    );
    let more = stand.more.unwrap_or_default();
    assert!(more.starts_with("Its worker is process 77; once that has ended"), "{more}");
    // At once where a person was told of that worker: with the command that fits.
    let f = with_card(900, vec![stopped(&[77, 70])]);
    let (stand, run) = told(&f);
    assert_eq!((stand.kind, run.as_str()), (Kind::NeedsPerson, "kill -CONT 77 70"), "{stand:?}");
    let more = stand.more.unwrap_or_default();
    assert!(more.starts_with("For a reason. What a person can do: let it go on"), "{more}");
}

#[test]
fn a_stopped_worker_is_told_with_the_command_that_lets_it_go_on() {
    let f = task(Status::Running, vec![event("claimed", 9_000, json!({})), stopped(&[77])]);
    let (stand, run) = told(&f);
    assert_eq!((stand.kind, run.as_str()), (Kind::NeedsPerson, "kill -CONT 77"), "{stand:?}");
}

#[test]
fn a_state_that_this_version_does_not_know_is_told_after_a_while() {
    let at = |seconds: i64| task(Status::Other("paused".into()), vec![event("status", seconds, json!({}))]);
    assert_eq!(standing::of(&at(1_799)).kind, Kind::LeftAlone);
    let (stand, run) = told(&at(1_800));
    let says = "in a state this version does not know (paused), so it is skipped";
    assert_eq!((stand.kind, stand.says.as_str()), (Kind::NeedsPerson, says));
    assert_eq!(stand.unattended, Some(Unattended::UnknownState), "a person is told once of all of them");
    assert_eq!(run, "board show t_00000001");
}

#[test]
fn what_ends_again_and_again_uncounted_needs_a_person() {
    for (status, begins, second) in [
        (Status::Running, "running, and", "hermes kanban block t_00000001 unfinished"),
        (Status::Ready, "ready, and", "hermes kanban block t_00000001 unfinished"),
        (Status::Review, "in review, and", "hermes kanban show t_00000001"),
        (Status::Todo, "in todo, and", ""),
    ] {
        let mut f = task(status.clone(), vec![event("promoted", 60, json!({}))]);
        f.takes = vec![take("heal", Verdict::Leaves, Some(600))];
        f.detail.runs = (1..=5).rev().map(|id| run(id, "luna", Some("stale"))).collect();
        (f.detail.runs[4].started_at, f.detail.runs[0].error) = (ago(8_400), Some("no heartbeat".into()));
        let says = " its last 5 attempts ended without completion (stale ×5, in 2h); no limit counts that";
        let stop = if f.detail.task.status == Status::Review { "accept it" } else { "block it" };
        let more =
            format!("See why; then {stop}, or assign it to another profile. The last one: no heartbeat");
        stands(&f, Kind::NeedsPerson, &format!("{begins}{says}"), Some(&more));
        let (stand, run) = told(&f);
        assert_eq!((stand.in_vain, run.as_str()), (Some(ago(8_400)), "board show t_00000001"));
        assert_eq!(suggestions::of(&f, &stand).get(1).map_or("", |c| c.run.as_str()), second);
        // A watcher does something, or a card asks.
        f.takes = vec![take("heal", acts("hold"), None)];
        if status != Status::Review {
            assert_eq!(standing::of(&f).kind, Kind::Due);
        }
        f.takes.clear();
        f.card = Some(detail("t_0000caf1", Status::Running));
        assert_ne!(standing::of(&f).kind, Kind::NeedsPerson);
    }
    let mut f = task(Status::Scheduled, Vec::new());
    f.detail.runs = (1..=9).rev().map(|id| run(id, "luna", Some("stale"))).collect();
    assert_ne!(standing::of(&f).kind, Kind::NeedsPerson);
}

/// A worker that lives, as heal found.
fn at_work(events: Vec<Event>) -> Facts {
    let mut f = task(Status::Running, events);
    (f.detail.runs, f.detail.task.current_run) = (vec![run(1, "luna", None)], Some(1));
    (f.detail.runs[0].started_at, f.detail.task.worker_pid) = (ago(900), Some(7));
    f.takes = vec![take("heal", Verdict::Leaves, None)];
    f
}

fn runs(f: &Facts) -> Vec<String> {
    suggestions::of(f, &standing::of(f)).into_iter().map(|c| c.run).collect()
}

#[test]
fn work_beyond_its_bounds_is_not_called_well() {
    let beyond = |is_far: bool| {
        let says = "over time: 3h in this attempt, 10m allowed (task)".to_owned();
        let mut f = at_work(vec![]);
        f.beyond = Some(Beyond { task: f.detail.task.id.clone(), says, is_far });
        f
    };
    let says = "running, and over time: 3h in this attempt, 10m allowed (task)";
    stands(&beyond(false), Kind::Fine, says, Some("So it is"));
    stands(&beyond(true), Kind::NeedsPerson, says, Some("So it is"));
    // Each attempt is told once.
    assert_eq!(beyond(true).anew(), ago(900));
    let look = "budget-check --task t_00000001 -v";
    assert_eq!(runs(&beyond(true))[..2], [look, "hermes kanban reclaim t_00000001"]);
    // The decider of its card knows of it, a watcher acts, or a person wants it so.
    let mut asked = beyond(true);
    asked.card = Some(detail("t_0000caf1", Status::Running));
    assert_eq!(standing::of(&asked).kind, Kind::Waits);
    let mut due = beyond(true);
    due.takes = vec![take("heal", acts("stop"), None)];
    assert_eq!(standing::of(&due).kind, Kind::Due);
    let mut marked = beyond(true);
    marked.detail.body = "watchbill: no-heal".into();
    assert_eq!(standing::of(&marked).kind, Kind::LeftAlone);
}

/// A note of the same rule begins what is told of it, and ends it.
#[test]
fn what_is_told_of_an_older_worker_stands_until_its_end_is_noted() {
    let tell = |task: Facts| {
        let acts = Verdict::Acts { action: StepAction::Tell, case: Rule::OlderWorker };
        Facts {
            takes: vec![Take {
                because: "process 7 still works on it".into(),
                ..take("route-blocked", acts, None)
            }],
            ..task
        }
    };
    let blocked = || event("blocked", 1_800, json!({"reason": "which licence?", "kind": "dependency"}));
    let told = |by: &str| {
        let payload = json!({"key": "older-worker", "mend": "look", "watchbill": {"pids": [7]}});
        ours("watchbill_detected", 60, by, "older-worker", payload)
    };
    let stand = standing::of(&tell(task(Status::Blocked, vec![blocked()])));
    assert_eq!((stand.kind, stand.says.as_str()), (Kind::Due, "blocked: process 7 still works on it"));
    let f = task(Status::Blocked, vec![blocked(), told("route-blocked")]);
    assert!(standing::of(&f).says.contains("needs a person (said "), "{:?}", standing::of(&f));
    let stand = standing::of(&tell(f));
    assert!(
        stand.kind != Kind::Due && !stand.says.contains("(said "),
        "its end is about to be noted: {stand:?}"
    );
}

#[test]
fn a_person_is_told_how_to_look_at_a_living_worker_and_how_to_stop_it() {
    let told = |key: &str| ours("watchbill_detected", 60, "heal", key, json!({"key": key, "mend": "look"}));
    let look = "budget-check --task t_00000001 -v";
    for key in ["silent-worker", "asking-worker", "health:Stalled"] {
        assert_eq!(runs(&at_work(vec![told(key)]))[..2], [look, "hermes kanban reclaim t_00000001"], "{key}");
    }
    for key in ["older-worker", "exited-worker", "stopped-worker", "host-refuses"] {
        assert_eq!(runs(&at_work(vec![told(key)])), ["board show t_00000001"], "{key}");
    }
    let own = |events: Vec<Event>| {
        let mut f = at_work(events);
        (f.own_board, f.hand, f.flags) = (true, "board --db b.db".into(), " --db b.db".into());
        f.detail.task.claim_lock = Some("vm:5".into());
        f.reading = Reading { file: Some("/l/a b.log".into()), ..Reading::of(LogEnd::NoEvidence, None) };
        f
    };
    let look = [format!("{look} --db b.db"), "tail '/l/a b.log'".to_owned()];
    let by_harness = json!({"watchbill": {"output": "/l/a b.log"}, "by": "board", "lock": "vm:5"});
    let claimed = Event { run: Some(1), ..event("claimed", 900, by_harness) };
    let session = json!({"runtime": "claude", "session": "5d1ef4b2-0000-4000-8000-000000000001", "host": "vm", "directory": "/w", "by": "coord"});
    let session = Event { run: Some(1), ..event("coord.spawned", 800, session) };
    for (events, stop) in [
        (vec![], "kill 7"),
        (vec![claimed.clone()], "kill 5"),
        (vec![claimed.clone(), session], "coord abort t_00000001 --db b.db"),
    ] {
        let f = own(events.into_iter().chain([told("silent-worker")]).collect());
        assert_eq!(runs(&f)[..3], [&look[0], &look[1], stop], "{stop}");
    }
    // Its number may be another process by now.
    for harness in [Some(Life::Gone), Some(Life::Unknown), None] {
        let f = Facts { harness, ..own(vec![claimed.clone(), told("silent-worker")]) };
        assert_eq!(runs(&f)[2], "kill 7", "{harness:?}");
    }
}

#[test]
fn what_was_given_to_a_person_goes_back_to_who_worked_on_it() {
    let asked = ours("blocked", 60, "route-blocked", "decision", json!({"cause": "orchestrator"}));
    let given = |person: Option<&str>, ran: &str| {
        let mut f = task(Status::Blocked, vec![asked.clone()]);
        f.detail.runs = vec![run(1, ran, Some("blocked"))];
        f.detail.task.assignee = Some("Anna".into());
        f.person = person.map(str::to_owned);
        runs(&f)
    };
    let back = "hermes kanban reassign t_00000001 luna && hermes kanban unblock t_00000001";
    let all = given(Some("anna"), "luna");
    assert!(all.contains(&back.to_owned()), "{all:?}");
    assert!(all.contains(&format!("hermes kanban comment t_00000001 'YOUR ANSWER' && {back}")), "{all:?}");
    for (person, ran) in [(None, "luna"), (Some("bert"), "luna"), (Some("anna"), "anna")] {
        let all = given(person, ran);
        assert!(!all.iter().any(|run| run.contains("reassign")), "{person:?} {ran}: {all:?}");
        assert!(all.contains(&"hermes kanban unblock t_00000001".to_owned()), "{all:?}");
    }
}

#[test]
fn a_session_that_waits_is_answered_and_not_given_up() {
    let id = "5d1ef4b2-0000-4000-8000-000000000001";
    let spawned = json!({"runtime": "claude", "session": id, "host": "vm", "directory": "/w", "by": "coord"});
    let asks = json!({"by": "board", "reason": "which one?", "watchbill": {"session": id}});
    let of_run = |kind: &str, seconds: i64, keys: Value| Event { run: Some(1), ..event(kind, seconds, keys) };
    let events = vec![of_run("coord.spawned", 900, spawned), of_run("blocked", 60, asks)];
    let mut f = task(Status::Blocked, events);
    (f.own_board, f.hand, f.flags) = (true, "board --db b.db".into(), " --db b.db".into());
    f.detail.runs = vec![run(1, "luna", Some("blocked"))];
    let all = runs(&f);
    assert_eq!(all[0], "coord message t_00000001 'YOUR ANSWER' --db b.db");
    assert!(!all.iter().any(|run| run.contains("comment")), "{all:?}");
    f.detail.events.push(event("unblocked", 30, json!({})));
    assert!(!runs(&f).iter().any(|run| run.starts_with("coord")), "it waits no more");
}

#[test]
fn work_is_given_to_who_may_take_it_now() {
    let mut f = task(Status::Ready, vec![]);
    f.detail.task.assignee = Some("ghost".into());
    for (takers, run, to) in [
        (vec!["sol".to_owned(), "vega".to_owned()], "sol", "assign it to one of sol, vega"),
        (vec![], "PROFILE", "assign it to a profile"),
    ] {
        f.takers = Some(takers);
        let first = suggestions::of(&f, &standing::of(&f)).remove(0);
        assert_eq!(
            (first.run, first.to),
            (format!("hermes kanban reassign t_00000001 {run}"), to.to_owned())
        );
    }
}
