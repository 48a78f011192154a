//! What becomes of a dead worker's task by its working tree and by how many attempts died.

use super::*;
use crate::heal::seen::ResumeSeen;
use board::EventKind;
use config::TreeDrift;
use logs::vitals::{Turn, Vitals};
use worktree::state::{Method, TreeState};

fn tree(hash: &str, head: &str) -> TreeState {
    TreeState {
        method: Method::Git,
        hash: format!("git:{hash}"),
        root: "/work".into(),
        asked: String::new(),
        below: String::new(),
        head: Some(head.into()),
        branch: Some("main".into()),
        changed_count: 0,
        untracked_count: 0,
        paths: Vec::new(),
        is_all: true,
    }
}

/// Its worker is gone, and the tree looks like this now.
fn dead(now: Option<TreeState>, why_not: Option<&str>) -> TaskSeen {
    with!(running(Life::Gone, 900), |t| {
        t.detail.place.path = Some("/work".into());
        let tree_unknown = why_not.map(str::to_owned);
        t.resume = Some(ResumeSeen { tree: now, tree_unknown, ..ResumeSeen::default() });
    })
}

fn with_policy(heal: Policy) -> Config {
    Config { heal, ..config() }
}

fn note(run: i64, seconds: i64, by: &str, tree: &TreeState) -> Event {
    let trail = json!({"by": by, "watchbill": {"run": run, "tree": tree}});
    Event { run: Some(run), ..event("watchbill_detected", seconds, trail) }
}

#[test]
fn an_attempt_whose_row_is_lost_is_noted_once_and_requeued() {
    for runs in [vec![], vec![run(1, 9_000, Some(8_000), Some("crashed"))]] {
        let lost = with!(dead(Some(tree("1", "a")), None), |t| {
            (t.detail.task.current_run, t.detail.runs) = (Some(999), runs);
        });
        let d = decided(lost.clone());
        assert!(line(&d).starts_with("note worker-gone"), "{}", line(&d));
        let Change::AddEvent { payload, run, .. } = &d.steps[0].changes[0] else { panic!("{d:?}") };
        let noted = event("watchbill_detected", 60, serde_json::to_value(payload).unwrap());
        let later = with!(lost, |t| t.detail.events.push(Event { run: Some(999), ..noted }));
        assert!(format!("{run:?}").contains("999"), "{run:?}");
        let d = decided(later);
        assert!(line(&d).starts_with("requeue dead-worker"), "{}", line(&d));
        assert_eq!(status_after(&d), Some(Status::Ready));
    }
}

#[test]
fn a_tree_is_noted_first_and_compared_later() {
    let (old, new) = (tree("1", "a"), tree("2", "b"));
    says(
        dead(Some(old.clone()), None),
        "note worker-gone: worker 42 gone, last heard from 15m ago; its working tree is noted first, and a later pass requeues it",
    );
    // Within the dispatcher's head start it is noted as well, so that nothing waits for it.
    says(
        with!(dead(Some(old.clone()), None), |t| t.detail.task.last_heartbeat_at = Some(ago(20))),
        "note worker-gone: worker gone",
    );
    let noted =
        |now: &TreeState, note: Event| with!(dead(Some(now.clone()), None), |t| t.detail.events.push(note));
    says(
        noted(&old, note(1, 29, "heal", &old)),
        "- worker 42 gone, last heard from 15m ago; its working tree was noted 29s ago",
    );
    assert_eq!(decided(noted(&old, note(1, 29, "heal", &old))).left[0].next, Some(NOW.plus(1)));
    says(noted(&old, note(1, 30, "heal", &old)), "requeue dead-worker");
    says(
        noted(&new, note(1, 30, "heal", &old)),
        "hand-over tree-drift: worker 42 gone, last heard from 15m ago; tree-drift, ",
    );
    // A note by another author, of another attempt, or from before the worker's last sign of life does not count.
    for odd in [note(1, 300, "board", &old), note(7, 300, "heal", &old), note(1, 901, "heal", &old)] {
        says(noted(&new, odd), "note worker-gone");
    }
    says(
        with!(noted(&new, note(1, 300, "heal", &old)), |t| t.detail.task.last_heartbeat_at = Some(ago(299))),
        "note worker-gone",
    );
}

// Two attempts of one second, or a clock that was set back: the open one is the one that died, wherever it stands.
#[test]
fn the_note_of_the_open_attempt_is_found_behind_a_younger_one() {
    let tree = tree("1", "a");
    let t = with!(dead(Some(tree.clone()), None), |t| {
        t.detail.runs.insert(0, run(9, 900, Some(900), Some("reclaimed")));
        t.detail.events.push(note(1, 60, "heal", &tree));
    });
    says(t, "requeue dead-worker");
}

#[test]
fn a_note_stands_where_the_clock_was_set_back_since_the_last_word() {
    let tree = tree("1", "a");
    let mut t =
        with!(dead(Some(tree.clone()), None), |t| t.detail.task.last_heartbeat_at = Some(NOW.plus(65)));
    let d = decided(t.clone());
    assert!(line(&d).starts_with("note worker-gone"), "{d:?}");
    let Some(Change::AddEvent { kind, payload, .. }) = d.steps[0].changes.first() else { panic!("{d:?}") };
    let noted = Event { kind: kind.clone(), at: NOW, run: Some(1), payload: payload.clone().into() };
    t.detail.events.push(noted);
    assert_eq!(decided(t.clone()).steps, [], "not noted twice");
    // It lived on after all.
    t.detail.task.last_heartbeat_at = Some(NOW.plus(70));
    says(t.clone(), "note worker-gone");
    // What sends heartbeats for it may do so for ever.
    let again = t.detail.events.last().cloned().unwrap();
    t.detail.events.extend([again.clone(), again]);
    says(t, "- worker gone, but only quiet for");
}

#[test]
fn a_card_that_needs_a_person_stays_its_orchestrators() {
    let drifted = with!(dead(Some(tree("2", "b")), None), |t| {
        t.detail.events.push(note(1, 60, "heal", &tree("1", "a")));
    });
    let capped = with!(running(Life::Gone, 900), |t| {
        t.detail.runs.push(run(8, 1_900, Some(1_800), Some("timed_out")));
    });
    let mut config = with_policy(Policy { max_resumes: 1, ..policy() });
    config.people.assignee = Some("maria".into());
    for (t, case) in [(drifted, "tree-drift"), (capped, "resume-cap")] {
        let assigns = |t: &TaskSeen| {
            let d = decide(&seen(vec![t.clone()]), &pass(), &config);
            assert_eq!(d.steps[0].case, case, "{d:?}");
            d.steps[0].changes.contains(&Change::Assign(Some("maria".into())))
        };
        assert!(assigns(&t), "{case}");
        assert!(
            !assigns(&with!(t, |t| t.detail.task.title = "[BLOCKED] t_00000009 rate_limited".into())),
            "{case}"
        );
    }
}

#[test]
fn a_tree_that_is_not_known_stops_nobody() {
    says(
        dead(None, Some("git is not installed")),
        "requeue dead-worker: worker 42 gone, last heard from 15m ago; its working tree is not known: git is not installed (failure 1 of 2)",
    );
    let files = TreeState { method: Method::Files, hash: "files:1".into(), ..tree("1", "a") };
    let old = note(1, 60, "heal", &tree("1", "a"));
    let d = decided(with!(dead(Some(files), None), |t| t.detail.events.push(old)));
    assert!(
        line(&d).contains("requeue dead-worker") && line(&d).contains("its working tree is not known"),
        "{d:?}"
    );
    let told = d.steps[0].changes.iter().find_map(|c| match c {
        Change::AddComment { body, .. } => Some(body.clone()),
        _ => None,
    });
    assert!(told.unwrap().contains("WARNING: "), "{d:?}");
}

#[test]
fn drift_is_a_warning_where_that_is_wanted_or_others_work_there() {
    let drifted = with!(dead(Some(tree("2", "b")), None), |t| {
        t.detail.events.push(note(1, 60, "heal", &tree("1", "a")));
    });
    let d = decide(
        &seen(vec![drifted.clone()]),
        &pass(),
        &with_policy(Policy { tree_drift: TreeDrift::Warn, ..policy() }),
    );
    assert!(
        line(&d).starts_with("requeue dead-worker") && line(&d).contains("changed by others since"),
        "{d:?}"
    );
    says(
        with!(drifted.clone(), |t| t.resume.as_mut().unwrap().shares = vec!["t_00000009".into()]),
        "requeue dead-worker: worker 42 gone, last heard from 15m ago; its working tree is not known: t_00000009 works or worked in the same tree",
    );
    // A person gets it, with the claim freed, and the attempt after that is told.
    let mut config = config();
    config.people.assignee = Some("maria".into());
    let d = decide(&seen(vec![drifted]), &pass(), &config);
    assert_eq!(status_after(&d), Some(Status::Blocked));
    assert_eq!(kinds(&d), "assigned blocked commented");
    assert!(comments(&d)[0].contains("WARNING: the working tree changed"), "{d:?}");
    assert!(d.steps[0].changes.contains(&Change::Assign(Some("maria".into()))));
    assert!(d.steps[0].changes.contains(&Change::ReleaseClaim));
}

#[test]
fn a_worker_that_left_its_task_open_once_is_started_again_and_the_second_time_is_held() {
    let open = |edit: &dyn Fn(&mut TaskSeen)| {
        with!(running(Life::Gone, 900), |t| {
            t.log = ended(Cause::ProtocolViolation);
            t.detail.task.current_run = Some(2);
            t.detail.runs = vec![run(2, 900, None, None), run(1, 2_000, Some(1_900), Some("crashed"))];
            (t.refused, t.left_open) = (vec![2], vec![2]);
            edit(&mut t);
        })
    };
    let first = "requeue dead-worker: worker 42 gone, last heard from 15m ago; its log ends on protocol_violation (for the first time)";
    let second = "park dead-worker: worker 42 gone, last heard from 15m ago; its log ends on protocol_violation; held until ";
    let alone = open(&|t| _ = t.detail.runs.pop());
    let d = decided(alone.clone());
    assert_eq!(line(&d), first);
    assert_eq!((kinds(&d).as_str(), status_after(&d)), ("reclaimed commented", Some(Status::Ready)));
    assert!(!d.steps[0].changes.iter().any(|c| matches!(c, Change::SetFailures { .. })), "not counted");
    // The next pass knows by that.
    let Change::AddEvent { payload, .. } =
        d.steps[0].changes.iter().find(|c| matches!(c, Change::AddEvent { .. })).unwrap()
    else {
        panic!("{d:?}")
    };
    let written = Event { run: Some(1), ..event("reclaimed", 1_900, serde_json::to_value(payload).unwrap()) };
    says(open(&|t| t.detail.events.push(written.clone())), second);

    let noted =
        |cause: &str| Event { run: Some(1), ..ours("watchbill_signal", 1_800, json!({"cause": cause})) };
    let booked = |t: &mut TaskSeen| {
        let error = "worker exited cleanly (rc=0) without calling kanban_complete or kanban_block — protocol violation";
        t.detail.runs[1].error = Some(error.into());
    };
    let refused = |t: &mut TaskSeen| t.refused.push(1);
    let left = |t: &mut TaskSeen| {
        t.refused.push(1);
        t.left_open.push(1);
    };
    let fresh = |t: &mut TaskSeen| t.detail.events.push(event("unblocked", 1_000, json!({})));
    type Edit<'a> = &'a dyn Fn(&mut TaskSeen);
    let table: [(&str, &[Edit<'_>], &str); 11] = [
        ("the attempt before it died", &[], first),
        ("the log says that of the one before as well", &[&left], second),
        ("a gateway booked that one so", &[&booked], second),
        ("and its log says what refused it", &[&booked, &refused], first),
        (
            "one of us wrote down that it left the task open",
            &[&|t| t.detail.events.push(noted("protocol_violation"))],
            second,
        ),
        ("or what refused it", &[&booked, &|t| t.detail.events.push(noted("rate_limit"))], first),
        ("somebody spoke since", &[&booked, &fresh], first),
        (
            "it was done since",
            &[&booked, &|t| t.detail.runs.insert(1, run(3, 1_500, Some(1_400), Some("completed")))],
            first,
        ),
        ("too long to see", &[&|t| t.detail.is_truncated = true], second),
        (
            "its card is open",
            &[&|t| t.detail.cards.push("t_0000cafe".into())],
            "park dead-worker: worker 42 gone",
        ),
        (
            "a limit set by hand counts each",
            &[&|t| t.detail.task.max_retries = Some(3)],
            "requeue dead-worker: worker 42 gone, last heard from 15m ago; its log ends on protocol_violation (failure 1 of 3)",
        ),
    ];
    for (what, edits, want) in table {
        let got = line(&decided(open(&|t| edits.iter().for_each(|edit| edit(t)))));
        assert!(got.starts_with(want), "{what}: {got}");
    }
    // What is limited or out of iterations is held the first time.
    says(with!(alone, |t| t.log = ended(Cause::IterationBudget)), "park dead-worker");
}

#[test]
fn attempts_that_died_are_counted_since_the_last_success_or_the_last_word() {
    let at = |n: i64| 900 + 100 * n;
    let ended = |n: i64, how: &str| run(10 - n, at(n), Some(at(n) - 50), Some(how));
    let of = |n: i64, error: &str| Run { error: Some(error.into()), ..ended(n, "crashed") };
    let dead = |runs: Vec<Run>, events: Vec<Event>| {
        with!(running(Life::Gone, 900), |t| {
            t.detail.runs.extend(runs);
            t.detail.events.extend(events);
        })
    };
    let two = with_policy(Policy { max_resumes: 2, ..policy() });
    let capped = |t: TaskSeen| {
        let d = decide(&seen(vec![t]), &pass(), &two);
        line(&d).starts_with("hand-over resume-cap")
    };
    let crashed = |n: i64| of(n, if n == 1 { "pid 4 not alive" } else { "worker gone (heal)" });
    assert!(!capped(dead(vec![crashed(1)], vec![])), "the second death of two");
    assert!(capped(dead(vec![crashed(1), crashed(2)], vec![])), "the third");
    assert!(capped(dead(vec![crashed(1), ended(2, "timed_out")], vec![])));
    for other in ["connection refused", "worker exited cleanly (rc=0) without calling kanban_complete"] {
        assert!(!capped(dead(vec![crashed(1), of(2, other)], vec![])), "{other}");
    }
    for other in ["rate_limited", "reclaimed", "blocked", "spawn_failed"] {
        assert!(!capped(dead(vec![crashed(1), ended(2, other)], vec![])), "{other}");
    }
    assert!(!capped(dead(vec![crashed(1), ended(2, "completed"), crashed(3), crashed(4)], vec![])));
    let retry = event("unblocked", at(2) - 60, json!({}));
    assert!(!capped(dead(vec![crashed(1), crashed(2), crashed(3)], vec![retry])), "an operator's retry");
    // A word that came while the present attempt ran does not make its death uncounted.
    let none = with_policy(Policy { max_resumes: 0, ..policy() });
    let late = dead(vec![], vec![event("assigned", 500, json!({}))]);
    assert!(line(&decide(&super::seen(vec![late]), &pass(), &none)).starts_with("hand-over resume-cap"));
    let ours = ours("unblocked", at(2) - 60, json!({"reset": 1}));
    assert!(capped(dead(vec![crashed(1), crashed(2), crashed(3)], vec![ours])), "our own reset is none");
    // What a provider refused died of that, though its dispatcher only saw that the pid is gone.
    let three = || dead(vec![crashed(1), crashed(2), crashed(3)], vec![]);
    assert!(capped(three()), "four deaths");
    let told = |runs: &[i64]| with!(three(), |t| t.refused = runs.to_vec());
    assert!(!capped(told(&[9, 8])), "two of them in the log");
    assert!(capped(told(&[9])), "one of them: three are left");
    // The log reaches back so far only: what ended the attempts before that nobody can tell, so they count for nothing.
    let kept = i64::try_from(logs::MAX_EARLIER).unwrap();
    let many = dead((1..=kept + 2).map(crashed).collect(), vec![]);
    let cap =
        |t: &TaskSeen| line(&decide(&super::seen(vec![t.clone()]), &pass(), &none)).contains("resume-cap");
    let newest: Vec<i64> = many.detail.runs.iter().map(|r| r.id).take(1 + logs::MAX_EARLIER).collect();
    assert!(
        !cap(&with!(many.clone(), |t| t.refused = newest.clone())),
        "all that the log tells were refused"
    );
    assert!(cap(&with!(many, |t| t.refused = newest[..newest.len() - 1].to_vec())), "all but one");
    // A living worker is stopped only where its own death would not be over the cap, whatever refused it meanwhile.
    let stops = |t: &TaskSeen| !super::super::resume::is_capped(t, &two.heal);
    assert!(stops(&dead(vec![crashed(1)], vec![])) && !stops(&dead(vec![crashed(1), crashed(2)], vec![])));
    let open = dead(vec![], vec![]).detail.current_run().unwrap().id;
    let refused = |runs: Vec<Run>| with!(dead(runs, vec![]), |t| t.refused = vec![open]);
    assert!(stops(&refused(vec![crashed(1)])) && !stops(&refused(vec![crashed(1), crashed(2)])));
    let wrote = |by: &str, kind: &str, cause: &str, run: i64| {
        let trail = json!({"by": by, "watchbill": {"cause": cause, "run": run}});
        event(kind, at(1) - 60, trail)
    };
    for (by, kind, cause, counts) in [
        ("synthesize-distress", "watchbill_signal", "rate_limit", false),
        ("synthesize-distress", "scheduled", "quota", false),
        ("route-blocked", "assigned", "overloaded", false),
        ("heal", "scheduled", "credential", false),
        ("heal", "crashed", "worker_gone", true),
        ("board", "watchbill_signal", "rate_limit", true),
    ] {
        let t = with!(three(), |t| t
            .detail
            .events
            .extend([wrote(by, kind, cause, 9), wrote(by, kind, cause, 8)]));
        assert_eq!(capped(t), counts, "{by} {kind} {cause}");
    }
    // An orchestrator's command line, while it works on the task's card, is nobody's fresh start.
    let unblocked = event("unblocked", at(2) - 60, json!({}));
    let mut by_card = dead(vec![crashed(1), crashed(2), crashed(3)], vec![unblocked]);
    assert!(!capped(by_card.clone()), "a person's is");
    by_card.detail.card_work = vec![(ago(at(2)), Some(ago(at(2) - 90)))];
    assert!(capped(by_card));
    // A reboot is nobody's attempt.
    let mut seen = seen(vec![dead(vec![crashed(1), crashed(2)], vec![])]);
    seen.host.as_mut().unwrap().boot_time = ago(100);
    assert!(!line(&decide(&seen, &pass(), &two)).contains("resume-cap"));
    // Its worker was seen to start in this boot: then a clock was stepped, and nothing was restarted.
    let birth = host::Birth { boot: host::Boot::Id("b".into()), ticks: 77 };
    let claimed = seen.tasks[0].detail.events.iter_mut().find(|e| e.kind == EventKind::Claimed).unwrap();
    claimed.payload["watchbill"] = json!({"birth": birth});
    assert!(line(&decide(&seen, &pass(), &two)).contains("resume-cap"));
    // At the breaker, too.
    let gave_up = with!(given_up("pid 4 not alive", 9_000), |t| {
        t.detail.runs = vec![crashed(1), crashed(2), crashed(3)];
    });
    let d = decide(&super::seen(vec![gave_up.clone()]), &pass(), &two);
    assert!(line(&d).starts_with("hand-over resume-cap: 3 attempts died"), "{d:?}");
    // Not while an older attempt's worker lives, or the log cannot be read: nobody knows what ended the attempts then.
    let beside_older = with!(gave_up, |t| t.worker = Some(look(Life::Alive)));
    let d = decide(&super::seen(vec![beside_older]), &pass(), &two);
    assert!(line(&d).starts_with("tell older-worker"), "{d:?}");
    assert!(!capped(with!(three(), |t| t.log = LogEnd::Unreadable("permission denied".into()))));
}

#[test]
fn the_next_attempt_is_told_and_the_states_are_in_one_event() {
    let d = decided(running(Life::Gone, 900));
    let Some(Change::AddEvent { kind, payload, .. }) =
        d.steps[0].changes.iter().find(|c| matches!(c, Change::AddEvent { .. }))
    else {
        panic!("{d:?}")
    };
    assert_eq!(kind, "crashed");
    let want = json!(["RUNNING>RESUMING:session_died", "RESUMING>PENDING:resume-ready"]);
    assert_eq!(payload["watchbill"]["transitions"], want);
    assert_eq!(kinds(&d), "crashed commented");
    // Where the breaker blocks, the reset tells it.
    assert_eq!(
        kinds(&decided(with!(running(Life::Gone, 900), |t| t.detail.task.failures = 1))),
        "crashed gave_up"
    );
}

#[test]
fn an_attempt_that_was_cut_off_in_a_tool_has_no_time_but_its_heartbeats() {
    let told = |turn: Turn, beat: Option<i64>| {
        let t = with!(running(Life::Gone, 900), |t| {
            t.detail.runs[0].last_heartbeat_at = beat.map(ago);
            let (began, active) = (Some(ago(5_000)), Some(ago(4_000)));
            t.vitals = Some(Vitals { turn, began, active, calls: Some(1), ..Vitals::default() });
        });
        let d = decided(t);
        let comment = d.steps[0].changes.iter().find_map(|c| match c {
            Change::AddComment { body, .. } => Some(body.clone()),
            _ => None,
        });
        let comment = comment.unwrap();
        comment.lines().find_map(|l| l.strip_prefix("- Attempt: ")).unwrap().to_owned()
    };
    let tool = Turn::Tool { since: ago(4_000) };
    assert_eq!(told(tool, None), "1 tool call");
    assert_eq!(told(tool, Some(4_100)), "1 tool call", "older than the call");
    assert_eq!(told(tool, Some(1_400)), "1h, 1 tool call");
    assert_eq!(told(Turn::Model, Some(1_400)), "16m, 1 tool call");
}

/// What the first step tells.
fn comments(d: &Decision) -> Vec<&str> {
    let changes = d.steps[0].changes.iter();
    changes
        .filter_map(|c| match c {
            Change::AddComment { body, .. } => Some(body.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn the_next_attempt_is_told_once_by_every_step_that_ends_one() {
    let packet = json!({"by": "board", "watchbill": {"packet": {"step": "the lexer", "next": "its errors"}}});
    let recorded = |t: TaskSeen| {
        with!(t, |t| {
            let record = Event { run: Some(1), ..event("watchbill_packet", 990, packet.clone()) };
            t.detail.events.splice(0..0, [event("claimed", 995, json!({})), record]);
        })
    };
    let limited = with!(dead(Some(tree("1", "a")), None), |t| t.log = ended(Cause::RateLimit));
    let unreadable = with!(running(Life::Gone, 30_000), |t| t.log = LogEnd::Unreadable("denied".into()));
    let capped = with!(running(Life::Gone, 900), |t| {
        t.detail.runs.push(run(8, 1_900, Some(1_800), Some("timed_out")));
    });
    let gave_up = with!(given_up("pid 42 not alive", 900), |t| {
        t.detail.runs =
            vec![run(2, 999, Some(900), Some("timed_out")), run(1, 1_900, Some(1_800), Some("timed_out"))];
    });
    let config = with_policy(Policy { max_resumes: 1, ..policy() });
    for (t, case) in [
        (limited, "dead-worker"),
        (unreadable, "log-unreadable"),
        (capped, "resume-cap"),
        (gave_up, "resume-cap"),
    ] {
        let told = |t: &TaskSeen| {
            let d = decide(&seen(vec![t.clone()]), &pass(), &config);
            assert!(line(&d).contains(case), "{case}: {d:?}");
            comments(&d).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let text = told(&recorded(t.clone()));
        assert!(text.len() == 1 && text[0].contains("- Step: the lexer"), "{case}: {text:?}");
        let again = with!(recorded(t.clone()), |t| {
            t.detail.events.push(event("commented", 60, json!({"author": "heal"})));
            t.detail.comments.push(board::Comment {
                author: "heal".into(),
                body: text[0].clone(),
                at: ago(60),
            });
        });
        assert!(told(&again).is_empty(), "{case}: told twice");
        assert!(told(&t).is_empty(), "{case}: there is nothing to tell");
    }
}
