//! The chapters.

use serde_json::{Value, json};
use shared::base::cause::Cause;
use shared::base::time::Time;
use shared::board::hermes::{self, WORKER_GONE};
use shared::board::{
    Change, EventKind, HandOver, MAX_COMMENTS, MAX_EVENTS, MAX_FRONT, MAX_LINE, MAX_RUNS, NewTask, Outcome,
    RunRef, Status,
};

use super::{BEGAN, Foreign, Teller, kinds, newest, on_both, step, trail};

const A: &str = "t_000000a1";
const B: &str = "t_000000b2";
const C: &str = "t_000000c3";

#[test]
fn a_new_task_is_there_whole() {
    on_both(|t| {
        let task = NewTask {
            title: "Read the new column".into(),
            body: Some("and keep the old one".into()),
            assignee: Some("luna".into()),
            priority: 3,
            created_by: Some("rosa".into()),
            idempotency_key: Some("import-7".into()),
            max_retries: Some(1),
            ..NewTask::default()
        };
        let outcome = t.step(A, None, hermes::created(Status::Ready, task, &[], &trail()));
        assert_eq!(outcome, Outcome::Applied { run: None });
        let d = t.look(A);
        assert_eq!((d.task.title.as_str(), d.body.as_str()), ("Read the new column", "and keep the old one"));
        assert_eq!((d.task.status.clone(), d.task.priority, d.task.created_at), (Status::Ready, 3, BEGAN));
        assert_eq!((d.task.max_retries, d.task.failures, d.task.block_recurrences), (Some(1), 0, 0));
        assert_eq!(d.task.idempotency_key.as_deref(), Some("import-7"));
        assert_eq!((d.task.claim_lock.clone(), d.task.current_run, d.runs.len()), (None, None, 0));
        let created = newest(&d, "created");
        assert_eq!((created.by(), created.at), (Some("heal"), BEGAN));
        assert_eq!(created.payload["assignee"], "luna");
    });
}

#[test]
fn an_id_and_a_key_are_taken_once() {
    on_both(|t| {
        let keyed = |key: Option<&str>| {
            let key = key.map(str::to_owned);
            let task = NewTask { title: "Once".into(), idempotency_key: key, ..NewTask::default() };
            hermes::created(Status::Ready, task, &[], &trail())
        };
        assert_eq!(t.step(A, None, keyed(Some("k"))), Outcome::Applied { run: None });
        let refused = |o: Outcome| if let Outcome::Refused { why } = o { why } else { panic!("{o:?}") };
        assert!(refused(t.step(A, None, keyed(None))).contains("exists already"));
        assert_eq!(refused(t.step(B, None, keyed(Some("k")))), format!("{A} already has this key"));
        assert_eq!(kinds(&t.look(A)), ["created"]);
        assert!(t.board.look(&[B.into()]).unwrap().is_empty());
        assert_eq!(t.board.events(Time(0), 100).unwrap().len(), 1, "a refused step leaves no event behind");

        // Another program archived the first one: the key is free again.
        t.other(Foreign::Set(A, "status", json!("archived")));
        assert_eq!(t.step(B, None, keyed(Some("k"))), Outcome::Applied { run: None });
        assert_eq!(kinds(&t.look(B)), ["created"]);
    });
}

#[test]
fn a_claim_opens_a_run_and_heartbeats_keep_it() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        let d = t.does(A, |d| {
            hermes::claimed(d, "host:7", BEGAN.plus(900), Some(4_711), Some("nova".into()), &trail())
        });
        let run = d.current_run().unwrap().clone();
        assert_eq!((d.task.status.clone(), d.task.started_at), (Status::Running, Some(BEGAN)));
        assert_eq!(
            (d.task.claim_lock.as_deref(), d.task.claim_expires),
            (Some("host:7"), Some(BEGAN.plus(900)))
        );
        assert_eq!((d.task.worker_pid, d.task.current_run), (Some(4_711), Some(run.id)));
        assert_eq!((run.status.as_str(), run.outcome, run.ended_at), ("running", None, None));
        assert_eq!((run.profile.as_deref(), run.claim_lock.as_deref()), (Some("nova"), Some("host:7")));
        assert_eq!((run.worker_pid, run.started_at), (Some(4_711), BEGAN));
        assert_eq!(newest(&d, "claimed").run, Some(run.id));

        t.now = BEGAN.plus(300);
        assert_eq!(t.board.beat_note(A).unwrap(), None);
        let beat = t.does(A, |d| hermes::heartbeat(d, BEGAN.plus(1_200), Some("tests run")));
        assert_eq!(t.board.beat_note(A).unwrap().as_deref(), Some("tests run"));
        assert_eq!(beat.task.last_heartbeat_at, Some(BEGAN.plus(300)));
        assert_eq!(beat.task.claim_expires, Some(BEGAN.plus(1_200)));
        assert_eq!(beat.current_run().unwrap().last_heartbeat_at, Some(BEGAN.plus(300)));
        assert_eq!(beat.mark, d.mark, "a heartbeat is no history");
        assert_eq!(kinds(&beat), ["created", "claimed"]);
    });
}

#[test]
fn a_claim_closes_the_run_that_was_left_open() {
    on_both(|t| {
        let first = t.running(A).task.current_run.unwrap();
        t.other(Foreign::Set(A, "status", json!("ready")));
        let d = t.does(A, |d| hermes::claimed(d, "host:8", BEGAN.plus(900), None, None, &trail()));
        assert_eq!(d.runs.len(), 2);
        assert_ne!(d.task.current_run, Some(first));
        let old = d.runs.iter().find(|r| r.id == first).unwrap();
        assert_eq!((old.status.as_str(), old.ended_at), ("reclaimed", Some(BEGAN)));
        assert_eq!(
            d.current_run().unwrap().profile.as_deref(),
            Some("luna"),
            "the assignee works unless told"
        );
    });
}

#[test]
fn a_comment_is_a_word_and_an_event() {
    on_both(|t| {
        let before = t.adds(A, Status::Ready, &[]);
        let d = t.does(A, |_| hermes::commented("heal", "look at https://github.com/o/r/pull/9 first"));
        assert_eq!(d.comments.len(), 1);
        assert_eq!(
            (d.comments[0].author.as_str(), d.comments[0].body.as_str()),
            ("heal", "look at o/r#9 first")
        );
        assert_eq!((newest(&d, "commented").payload["len"].clone(), d.comments[0].at), (json!(19), BEGAN));
        assert_ne!(d.mark, before.mark);
    });
}

#[test]
fn a_link_makes_a_child_wait_and_no_circle() {
    on_both(|t| {
        let parent = t.adds(A, Status::Ready, &[]).task.clone();
        t.adds(B, Status::Ready, &[]);
        let kin = shared::board::Kin::from(parent);
        let d = t.does(B, |d| hermes::linked(d, &kin, &trail()));
        assert_eq!((d.task.status.clone(), d.parents.len()), (Status::Todo, 1));
        assert_eq!((d.parents[0].id.as_str(), newest(&d, "linked").payload["parent"].clone()), (A, json!(A)));
        let c = t.adds(C, Status::Todo, &[B, A]);
        assert_eq!(c.parents.iter().map(|k| k.id.as_str()).collect::<Vec<_>>(), [A, B]);

        // The event before the refusal, and the status, must not stay either.
        let link = |parent: &str| {
            vec![
                Change::SetStatus(Status::Triage),
                Change::AddEvent { kind: "linked".into(), payload: json!({}), run: None },
                Change::Link { parent: parent.into() },
            ]
        };
        t.adds("t_000000d4", Status::Todo, &[C]);
        for (child, parent) in [(A, B), (A, C), (B, C), (A, A), (A, "t_000000d4")] {
            let why = t.is_refused(child, |_| link(parent));
            assert!(why.contains("cycle"), "{child} under {parent}: {why}");
        }
        assert_eq!(t.is_refused(A, |_| link("t_deadbeef")), "t_deadbeef: no such task");
        let again = t.does(B, |_| vec![Change::Link { parent: A.into() }]);
        assert_eq!(again.parents.len(), 1, "a link twice is one link");
    });
}

#[test]
fn completion_closes_the_run_and_lets_the_children_go() {
    on_both(|t| {
        t.running(A);
        t.adds(B, Status::Todo, &[A]);
        t.adds("t_00000004", Status::Ready, &[]);
        t.adds(C, Status::Todo, &[A, "t_00000004"]);
        t.adds("t_00000005", Status::Ready, &[]);
        t.other(Foreign::Set("t_00000005", "status", json!("archived")));
        t.adds("t_00000006", Status::Todo, &[A, "t_00000005"]);
        t.adds("t_00000007", Status::Blocked, &[A]);
        t.now = BEGAN.plus(60);
        let d = t.does(A, |d| hermes::completed(d, Some("42"), Some("all read\nin full"), &trail()));
        assert_eq!(
            (d.task.status.clone(), d.task.claim_lock.clone(), d.task.worker_pid),
            (Status::Done, None, None)
        );
        assert_eq!((d.task.current_run, d.task.failures), (None, 0));
        let run = d.newest_run().unwrap();
        assert_eq!((run.status.as_str(), run.outcome.as_deref()), ("done", Some("completed")));
        assert_eq!((run.summary.as_deref(), run.ended_at), (Some("all read\nin full"), Some(BEGAN.plus(60))));
        assert_eq!((run.claim_lock.clone(), run.worker_pid), (None, None));
        assert_eq!(newest(&d, "completed").payload["summary"], "all read");
        assert_eq!(newest(&d, "completed").run, Some(run.id));

        let b = t.look(B);
        assert_eq!((b.task.status.clone(), newest(&b, "promoted").by()), (Status::Ready, Some("heal")));
        assert_eq!(t.look(C).task.status, Status::Todo, "its other parent is not done");
        assert_eq!(t.look("t_00000006").task.status, Status::Ready, "an archived parent waits for nobody");
        assert_eq!(t.look("t_00000007").task.status, Status::Blocked, "only what waits is promoted");
    });
}

#[test]
fn completion_without_a_run_keeps_what_is_handed_on() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        let d = t.does(A, |d| hermes::completed(d, None, Some("was there already"), &trail()));
        let run = d.newest_run().unwrap();
        assert_eq!((run.status.as_str(), run.outcome.as_deref()), ("done", Some("completed")));
        assert_eq!(
            (run.started_at, run.ended_at, run.profile.as_deref()),
            (BEGAN, Some(BEGAN), Some("luna"))
        );
        assert_eq!(newest(&d, "completed").run, Some(run.id));
        t.adds(B, Status::Ready, &[]);
        let d = t.does(B, |d| hermes::completed(d, None, None, &trail()));
        assert_eq!((d.runs.len(), newest(&d, "completed").run), (0, None));
    });
}

#[test]
fn a_block_waits_stands_and_at_the_second_goes_to_triage() {
    on_both(|t| {
        t.running(A);
        let d = t.does(A, |d| hermes::blocked(d, "needs B", Some("dependency"), &trail()));
        assert_eq!((d.task.status.clone(), d.task.block_recurrences), (Status::Todo, 0));
        assert_eq!(d.newest_run().unwrap().outcome.as_deref(), Some("blocked"));
        newest(&d, "dependency_wait");

        t.running(B);
        let d = t.does(B, |d| hermes::blocked(d, "which column?", Some("needs_input"), &trail()));
        assert_eq!(
            (d.task.status.clone(), d.task.block_kind.as_deref()),
            (Status::Blocked, Some("needs_input"))
        );
        assert_eq!(
            (d.task.block_recurrences, d.task.claim_lock.clone(), d.task.current_run),
            (1, None, None)
        );
        assert_eq!(d.newest_run().unwrap().summary.as_deref(), Some("which column?"));
        assert!(hermes::is_sticky(&d.events));

        let d = t.does(B, |d| hermes::unblocked(d, &trail()));
        assert_eq!((d.task.status.clone(), hermes::is_sticky(&d.events)), (Status::Ready, false));
        assert_eq!(d.task.block_kind.as_deref(), Some("needs_input"), "the kind outlives the block");
        let d = t.does(B, |d| hermes::blocked(d, "which one?", Some("needs_input"), &trail()));
        assert_eq!((d.task.status.clone(), d.task.block_recurrences), (Status::Triage, 2));
        assert_eq!(newest(&d, "block_loop_detected").payload["limit"], 2);
        assert_eq!(d.runs.len(), 2, "a block without a run leaves one that was never open");
    });
}

#[test]
fn a_death_is_counted_until_the_breaker_trips() {
    on_both(|t| {
        let run = t.running(A).task.current_run;
        t.now = BEGAN.plus(600);
        let d = t.does(A, |d| hermes::crashed(d, Some(4_711), 2, &trail()));
        assert_eq!((d.task.status.clone(), d.task.failures), (Status::Ready, 1));
        assert_eq!(d.task.last_failure_error.as_deref(), Some(WORKER_GONE));
        assert_eq!((d.task.claim_lock.clone(), d.task.claim_expires, d.task.worker_pid), (None, None, None));
        let closed = d.newest_run().unwrap();
        assert_eq!((closed.status.as_str(), closed.outcome.as_deref()), ("crashed", Some("crashed")));
        assert_eq!((closed.ended_at, closed.error.as_deref()), (Some(BEGAN.plus(600)), Some(WORKER_GONE)));
        assert_eq!((closed.claim_lock.clone(), d.task.current_run), (None, None));
        let event = newest(&d, "crashed");
        assert_eq!((event.run, event.payload["pid"].clone()), (run, json!(4_711)));
        let before = &event.trail().unwrap()["before"];
        assert_eq!(
            (before["status"].clone(), before["claim_lock"].clone()),
            (json!("running"), json!("host:7"))
        );

        t.does(A, |d| hermes::claimed(d, "host:7", BEGAN.plus(1_500), Some(4_712), None, &trail()));
        let d = t.does(A, |d| hermes::crashed(d, Some(4_712), 2, &trail()));
        assert_eq!((d.task.status.clone(), d.task.failures), (Status::Blocked, 2));
        let gave_up = newest(&d, "gave_up");
        assert_eq!(gave_up.payload["limit_source"], "dispatcher");
        assert_eq!(
            (gave_up.payload["failures"].clone(), gave_up.payload["effective_limit"].clone()),
            (json!(2), json!(2))
        );
        assert!(!hermes::is_sticky(&d.events), "the breaker's block is nobody's word");

        t.running(B);
        t.other(Foreign::Set(B, "max_retries", json!(1)));
        let d = t.does(B, |d| hermes::crashed(d, Some(4_711), 2, &trail()));
        assert_eq!(
            (d.task.status.clone(), newest(&d, "gave_up").payload["limit_source"].clone()),
            (Status::Blocked, json!("task"))
        );
    });
}

#[test]
fn a_claim_taken_back_is_not_counted() {
    on_both(|t| {
        t.running(A);
        let d = t.does(A, |d| hermes::reclaimed(d, &trail()));
        assert_eq!(
            (d.task.status.clone(), d.task.failures, d.task.last_failure_error.clone()),
            (Status::Ready, 0, None)
        );
        assert_eq!(d.newest_run().unwrap().outcome.as_deref(), Some("reclaimed"));
        assert_eq!(
            (newest(&d, "reclaimed").payload["stale_lock"].clone(), d.task.claim_lock.clone()),
            (json!("host:7"), None)
        );

        // Claimed from review it goes back to review.
        t.running(B);
        t.other(Foreign::Event(B, "claimed", json!({"lock": "host:7", "source_status": "review"}), BEGAN));
        let d = t.does(B, |d| hermes::reclaimed(d, &trail()));
        assert_eq!(
            (d.task.status.clone(), newest(&d, "reclaimed").payload["retry_status"].clone()),
            (Status::Review, json!("review"))
        );

        // But not where its reviewer asked for changes since.
        t.running(C);
        t.other(Foreign::Event(C, "claimed", json!({"lock": "host:7", "source_status": "review"}), BEGAN));
        t.other(Foreign::Event(C, "changes_requested", json!({"implementer": "luna"}), BEGAN));
        let d = t.does(C, |d| hermes::reclaimed(d, &trail()));
        assert_eq!(
            (d.task.status.clone(), newest(&d, "reclaimed").payload.get("retry_status")),
            (Status::Ready, None)
        );
    });
}

#[test]
fn parking_and_handing_over_free_the_claim_at_once() {
    on_both(|t| {
        let until = BEGAN.plus(900);
        t.running(A);
        let d = t.does(A, |d| hermes::parked(d, Cause::RateLimit, until, &trail()));
        assert_eq!(
            (d.task.status.clone(), d.task.claim_lock.clone(), d.task.failures),
            (Status::Scheduled, None, 0)
        );
        assert_eq!(d.newest_run().unwrap().outcome.as_deref(), Some("rate_limited"));
        assert_eq!(
            (newest(&d, "scheduled").payload["until"].clone(), d.task.current_run),
            (json!(until.0), None)
        );

        t.running(B);
        let d = t.does(B, |d| {
            hermes::handed_to_person(d, Cause::Misconfigured, &HandOver::HoldCap, None, &trail())
        });
        assert_eq!(
            (d.task.status.clone(), d.newest_run().unwrap().outcome.as_deref()),
            (Status::Blocked, Some("crashed"))
        );
        assert_eq!((hermes::is_sticky(&d.events), d.task.worker_pid), (true, None));
    });
}

#[test]
fn an_unblocked_task_goes_where_it_came_from() {
    on_both(|t| {
        let fail = |t: &mut Teller<'_>, id: &str| {
            t.other(Foreign::Set(id, "consecutive_failures", json!(2)));
            t.other(Foreign::Set(id, "last_failure_error", json!("pid 9 not alive")));
            t.other(Foreign::Set(id, "claim_lock", json!("host:9")));
        };
        t.adds(A, Status::Blocked, &[]);
        fail(t, A);
        let d = t.does(A, |d| hermes::unblocked(d, &trail()));
        assert_eq!(
            (d.task.status.clone(), d.task.failures, d.task.last_failure_error.clone()),
            (Status::Ready, 0, None)
        );
        assert_eq!((d.task.claim_lock.clone(), newest(&d, "unblocked").payload.get("status")), (None, None));

        t.adds(B, Status::Blocked, &[A]);
        fail(t, B);
        let d = t.does(B, |d| hermes::unblocked(d, &trail()));
        assert_eq!(
            (d.task.status.clone(), newest(&d, "unblocked").payload["status"].clone()),
            (Status::Todo, json!("todo"))
        );

        t.running(C);
        t.other(Foreign::Event(C, "claimed", json!({"source_status": "review"}), BEGAN));
        t.other(Foreign::Set(C, "status", json!("blocked")));
        let d = t.does(C, |d| hermes::unblocked(d, &trail()));
        assert_eq!(
            (d.task.status.clone(), newest(&d, "unblocked").payload["status"].clone()),
            (Status::Review, json!("review"))
        );
        assert_eq!((d.newest_run().unwrap().status.as_str(), d.task.current_run), ("reclaimed", None));
    });
}

#[test]
fn small_repairs_touch_only_what_they_name() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        t.other(Foreign::Set(A, "consecutive_failures", json!(1)));
        t.other(Foreign::Set(A, "last_failure_error", json!("Permission denied")));
        assert!(hermes::is_guard_jammed(&t.look(A)));
        let d = t.does(A, |d| hermes::guard_cleared(d, &trail()));
        assert_eq!(
            (d.task.failures, d.task.last_failure_error.clone(), d.task.status.clone()),
            (1, None, Status::Ready)
        );
        assert_eq!(newest(&d, "watchbill_guard_cleared").payload["was"], "Permission denied");

        let before = d.task.clone();
        let d = t.does(A, |_| hermes::escalated(&trail()));
        newest(&d, "watchbill_escalated");
        assert_eq!(d.task, before, "an escalation is a word, not a change");

        t.running(B);
        t.other(Foreign::Set(B, "status", json!("ready")));
        let d = t.does(B, |d| hermes::leak_cleared(d, &trail()));
        assert_eq!(
            (d.task.status.clone(), d.task.claim_lock.clone(), d.task.current_run),
            (Status::Ready, None, None)
        );
        assert_eq!(
            (newest(&d, "reclaimed").payload["prev_lock"].clone(), d.runs[0].status.as_str()),
            (json!("host:7"), "reclaimed")
        );

        t.adds(C, Status::Todo, &[]);
        let d = t.does(C, |d| hermes::promoted(d, &trail()));
        assert_eq!((d.task.status.clone(), newest(&d, "promoted").by()), (Status::Ready, Some("heal")));
    });
}

#[test]
fn the_rest_of_the_primitives() {
    on_both(|t| {
        let run = t.running(A).task.current_run.unwrap();
        let end = |summary: Option<&str>| Change::EndRun {
            run,
            status: "blocked".into(),
            outcome: "blocked".into(),
            summary: summary.map(str::to_owned),
            error: None,
            metadata: Some(json!({"by": "heal"})),
        };
        let closed = t.does(A, |_| vec![end(Some("half done"))]);
        assert_eq!((closed.task.current_run, closed.runs[0].summary.as_deref()), (None, Some("half done")));
        // A run ends once: a second end only clears the pointer that another program left.
        t.now = BEGAN.plus(60);
        t.other(Foreign::Set(A, "current_run_id", json!(run)));
        let again = t.does(A, |_| vec![end(Some("other"))]);
        assert_eq!((again.task.current_run, &again.runs), (None, &closed.runs));
        t.other(Foreign::Set(A, "current_run_id", json!(run)));
        assert_eq!(t.does(A, |_| vec![Change::ForgetRun]).task.current_run, None);

        let d = t.does(A, |_| vec![Change::Assign(Some("nova".into())), Change::SetResult(Some("x".into()))]);
        assert_eq!(d.task.assignee.as_deref(), Some("nova"));
        assert_eq!(t.does(A, |_| vec![Change::Assign(None)]).task.assignee, None);
        // Without a run of its own a step has none to speak of.
        let orphan = Change::AddEvent { kind: "edited".into(), payload: Value::Null, run: Some(RunRef::New) };
        let d = t.does(A, |_| vec![orphan]);
        assert_eq!((newest(&d, "edited").run, &*newest(&d, "edited").payload), (None, &Value::Null));
        // No open run, no sign of life on one.
        let d = t.does(A, |_| vec![Change::Heartbeat { expires: BEGAN.plus(1_000) }]);
        assert_eq!((d.task.last_heartbeat_at, d.runs[0].last_heartbeat_at), (Some(BEGAN.plus(60)), None));
    });
}

#[test]
fn a_step_whose_task_moved_does_nothing_and_says_what_moved() {
    on_both(|t| {
        let moves = [
            ("status", json!("blocked"), "status"),
            ("assignee", json!("nova"), "assignee"),
            ("assignee", Value::Null, "assignee"),
            ("claim_lock", json!("host:8"), "claim"),
            ("claim_lock", Value::Null, "claim"),
            ("claim_expires", json!(BEGAN.0 + 901), "claim expiry"),
            ("worker_pid", json!(4_712), "worker"),
            ("worker_pid", Value::Null, "worker"),
            ("current_run_id", json!(999), "run"),
            ("current_run_id", Value::Null, "run"),
            ("consecutive_failures", json!(1), "failure count"),
            ("last_failure_error", json!("pid 9 not alive"), "failure text"),
        ];
        for (n, (column, value, word)) in moves.into_iter().enumerate() {
            let id = format!("t_{n:08x}");
            let seen = t.running(&id);
            t.other(Foreign::Set(&id, column, value));
            let there = t.look(&id);
            let outcome = t.step(&id, Some(&seen), hermes::crashed(&seen, Some(4_711), 2, &trail()));
            assert_eq!(outcome, Outcome::Moved { what: word.into() }, "{column}");
            assert_eq!(t.look(&id), there, "{column}");
        }
        let seen = t.running(A);
        t.other(Foreign::Event(A, "edited", Value::Null, BEGAN));
        let there = t.look(A);
        assert_eq!(
            t.step(A, Some(&seen), hermes::reclaimed(&seen, &trail())),
            Outcome::Moved { what: "history".into() }
        );
        assert_eq!(t.look(A), there);
        // What was seen last still holds, so that the next pass can act.
        assert!(matches!(
            t.step(A, Some(&there), hermes::reclaimed(&there, &trail())),
            Outcome::Applied { .. }
        ));
        let seen = t.look(A);
        t.other(Foreign::Delete(A));
        let gone = Outcome::Moved { what: "the task is gone".into() };
        assert_eq!(t.step(A, Some(&seen), hermes::escalated(&trail())), gone);
        assert!(t.board.look(&[A.into()]).unwrap().is_empty());
    });
}

#[test]
fn what_a_slow_clock_writes_is_news_too() {
    on_both(|t| {
        let seen = t.running(A);
        t.other(Foreign::Event(A, "commented", json!({"author": "rosa"}), BEGAN.plus(-600)));
        assert_ne!(t.look(A).mark, seen.mark);
        let outcome = t.step(A, Some(&seen), hermes::reclaimed(&seen, &trail()));
        assert_eq!(outcome, Outcome::Moved { what: "history".into() });
    });
}

#[test]
fn a_step_changes_its_own_task_and_never_unseen() {
    on_both(|t| {
        t.running(A);
        let b = t.running(B);
        let end = |run: i64| {
            let (status, outcome) = ("crashed".into(), "crashed".into());
            vec![Change::EndRun { run, status, outcome, summary: None, error: None, metadata: None }]
        };
        t.does(A, |_| end(b.task.current_run.unwrap()));
        assert_eq!(t.look(B), b, "a run of another task is not this step's to end");

        let mixed = [hermes::escalated(&trail()), vec![Change::SetStatus(Status::Done)]].concat();
        for changes in [mixed, end(b.runs[0].id), hermes::crashed(&b, None, 2, &trail())] {
            let outcome = t.step(B, None, changes);
            assert_eq!(outcome.word(), "refused");
        }
        assert_eq!(t.look(B), b);
        // A word needs no guard: whatever became of the task, it was said.
        let outcome = t.step(B, None, hermes::commented("rosa", "watchbill: no-heal"));
        assert_eq!((outcome.word(), t.look(B).comments.len()), ("applied", 1));
    });
}

#[test]
fn noise_is_no_history() {
    on_both(|t| {
        let seen = t.running(A);
        for kind in EventKind::NOISE {
            t.other(Foreign::Event(A, kind.as_str(), json!({"reason": "blocker_auth"}), BEGAN.plus(5)));
        }
        let now = t.look(A);
        assert_eq!((&now.mark, &now.events), (&seen.mark, &seen.events));
        assert!(matches!(
            t.step(A, Some(&seen), hermes::reclaimed(&seen, &trail())),
            Outcome::Applied { .. }
        ));
    });
}

#[test]
fn one_refused_or_moved_step_takes_no_other_with_it() {
    on_both(|t| {
        let mut steps = Vec::new();
        for n in 0..150 {
            let seen = t.running(&format!("t_{n:08x}"));
            steps.push(step(&seen.task.id, Some(&seen), hermes::crashed(&seen, Some(4_711), 2, &trail())));
        }
        // One moved in each of the two transactions, one refused after it has already changed the row.
        t.other(Foreign::Set("t_00000003", "assignee", json!("nova")));
        t.other(Foreign::Event("t_00000078", "edited", Value::Null, BEGAN));
        steps[50].changes.push(Change::Link { parent: "t_deadbeef".into() });
        let outcomes = t.board.apply(t.now, &steps, super::PATIENCE).unwrap();
        let outcomes = t.hear(outcomes);
        assert_eq!(outcomes.len(), 150);
        for (n, outcome) in outcomes.iter().enumerate() {
            let left = t.look(&steps[n].task);
            let (word, status) = match n {
                3 | 120 => ("moved", Status::Running),
                50 => ("refused", Status::Running),
                _ => ("applied", Status::Ready),
            };
            assert_eq!((outcome.word(), left.task.status.clone()), (word, status), "{n}");
        }
        assert_eq!(t.board.apply(t.now, &[], super::PATIENCE).unwrap(), []);
    });
}

#[test]
fn a_glance_is_in_dispatch_order_and_only_of_what_was_asked() {
    on_both(|t| {
        let rows = [
            ("t_00000001", "ready", 0, 30),
            ("t_00000002", "ready", 5, 40),
            ("t_00000003", "running", 5, 20),
            ("t_00000004", "ready", 0, 10),
            ("t_00000005", "ready", 0, 10),
            ("t_00000006", "done", 9, 1),
            ("t_00000007", "ready", -1, 1),
            ("t_00000008", "paused by moon", 9, 1),
        ];
        for (id, status, priority, at) in rows {
            t.adds(id, Status::Ready, &[]);
            t.other(Foreign::Set(id, "status", json!(status)));
            t.other(Foreign::Set(id, "priority", json!(priority)));
            t.other(Foreign::Set(id, "created_at", json!(at)));
        }
        let mut ids = |of: &[Status]| -> Vec<String> {
            let tasks = t.board.glance(of).unwrap();
            t.hear(tasks).iter().map(|x| x.id[9..].to_owned()).collect()
        };
        assert_eq!(ids(&[Status::Ready, Status::Running]), ["3", "2", "4", "5", "1", "7"]);
        assert_eq!(ids(&[Status::Running]), ["3"]);
        assert_eq!(ids(&[Status::Blocked, Status::Scheduled]), [""; 0]);
        assert_eq!(ids(&[Status::Other("paused by moon".into())]), ["8"], "an unknown word is kept");
        let open = t.board.all_open().unwrap();
        let open: Vec<&str> = open.iter().map(|x| &x.id[9..]).collect();
        assert_eq!(open, ["8", "3", "2", "4", "5", "1", "7"], "whatever is not over");
        let states = t.board.states().unwrap();
        assert_eq!(
            states.iter().filter(|s| matches!(s, Status::Other(_))).count(),
            1,
            "each once: {states:?}"
        );
    });
}

#[test]
fn a_look_leaves_out_who_is_not_there() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        t.adds(B, Status::Ready, &[]);
        let ids = [B, "t_deadbeef", "", "' OR 1=1 --", A].map(str::to_owned);
        let found = t.board.look(&ids).unwrap();
        assert_eq!(t.hear(found).iter().map(|d| d.task.id.as_str()).collect::<Vec<_>>(), [B, A]);
        assert!(t.board.look(&[]).unwrap().is_empty());
    });
}

#[test]
fn a_look_reads_the_newest_and_tells_it_oldest_first() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        for n in 0..MAX_EVENTS as i64 + 20 {
            t.other(Foreign::Event(A, "edited", json!({"n": n}), BEGAN.plus(n)));
        }
        for n in 0..MAX_COMMENTS as i64 + 5 {
            t.other(Foreign::Comment(A, "rosa", BEGAN.plus(n)));
        }
        for n in 0..MAX_RUNS as i64 + 5 {
            t.other(Foreign::Run(A, "crashed", BEGAN.plus(n), BEGAN.plus(n + 1)));
        }
        let d = t.look(A);
        // How it came to be is told as well, however long ago that was.
        assert_eq!(d.events[0].kind.as_str(), "created");
        assert_eq!(
            (d.events.len(), d.comments.len(), d.runs.len()),
            (MAX_EVENTS + 1, MAX_COMMENTS, MAX_RUNS)
        );
        assert_eq!(
            (d.events[1].payload["n"].clone(), d.events[400].payload["n"].clone()),
            (json!(20), json!(419))
        );
        assert_eq!((d.comments[0].body.as_str(), d.comments[49].body.as_str()), ("note 6", "note 55"));
        assert_eq!((d.runs[0].started_at, d.runs[29].started_at), (BEGAN.plus(34), BEGAN.plus(5)));
    });
}

/// A comment with a long log below its first line.
fn long(first: &str) -> String {
    format!("{first}{}", "\na line of somebody's log".repeat(3_000))
}

#[test]
fn a_look_keeps_the_front_of_a_comment_and_its_whole_text_is_asked_for() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        let said = [
            ("luna", long("one")),
            ("rosa", long("watchbill: no-heal")),
            ("rosa", format!("watchbill: heal {}", "x".repeat(MAX_FRONT))),
            ("luna", "short".to_owned()),
            ("rosa", long("two")),
        ];
        for (author, text) in &said {
            t.does(A, |_| hermes::commented(author, text));
        }
        let d = t.look(A);
        let bytes: Vec<usize> = d.comments.iter().map(|c| c.body.len()).collect();
        assert!(bytes[4] <= MAX_FRONT && bytes[4] > MAX_FRONT - 64, "the newest of its author: {bytes:?}");
        assert!(bytes[..4].iter().all(|n| *n <= MAX_LINE), "{bytes:?}");
        let first: Vec<_> = d.comments.iter().map(|c| c.body.lines().next().unwrap()).collect();
        assert_eq!((first[0], first[1], first[3], first[4]), ("one", "watchbill: no-heal", "short", "two"));
        assert!(
            first[2].ends_with('…'),
            "a line that was cut is not the line that was cut off: {}",
            first[2]
        );
        let whole = t.board.comments(A).unwrap();
        let same = t
            .hear(whole)
            .iter()
            .zip(&said)
            .all(|(c, (author, text))| (&*c.author, &*c.body) == (*author, text));
        assert!(same, "{:?}", d.comments.iter().map(|c| c.body.len()).collect::<Vec<_>>());
    });
}

#[test]
fn the_events_of_the_board_come_from_a_window() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        for n in 1..=10 {
            t.other(Foreign::Event([A, B][n as usize % 2], "edited", json!({"n": n}), BEGAN.plus(n)));
        }
        let mut window = |since: i64, most: u32| -> Vec<i64> {
            let events = t.board.events(BEGAN.plus(since), most).unwrap();
            t.hear(events).iter().map(|(_, e)| e.payload["n"].as_i64().unwrap_or(0)).collect()
        };
        assert_eq!(window(0, 100), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(window(8, 100), [8, 9, 10]);
        assert_eq!(window(0, 3), [8, 9, 10]);
        assert_eq!(window(10, 3), [10]);
        assert_eq!(window(11, 100), [0; 0]);
        assert_eq!(window(0, 0), [0; 0]);
    });
}

#[test]
fn open_cards_are_found_by_key_and_by_link() {
    on_both(|t| {
        t.adds(A, Status::Blocked, &[]);
        let card = |id: &str, key: Option<&str>, title: &str, t: &mut Teller<'_>| {
            t.adds(id, Status::Ready, &[]);
            t.other(Foreign::Set(id, "title", json!(title)));
            t.other(Foreign::Set(id, "idempotency_key", key.map_or(Value::Null, |k| json!(k))));
        };
        card("t_00000001", Some("distress:t_000000a1:rate_limit:4"), "[BLOCKED] t_000000a1 rate_limited", t);
        card("t_00000002", Some("distress:t_000000a1:rate_limit:5"), "closed", t);
        t.other(Foreign::Set("t_00000002", "status", json!("done")));
        card("t_00000003", Some("distress:t_000000a10:rate_limit:4"), "of another", t);
        card("t_00000004", None, "[BLOCKED] t_000000a1: made by a worker", t);
        card("t_00000005", None, "[BLOCKED] t_000000a1: closed", t);
        t.other(Foreign::Set("t_00000005", "status", json!("archived")));
        card("t_00000006", None, "only a parent", t);
        for parent in ["t_00000001", "t_00000004", "t_00000005", "t_00000006"] {
            t.does(A, |_| vec![Change::Link { parent: parent.into() }]);
        }
        assert_eq!(t.look(A).cards, ["t_00000001", "t_00000004"]);
    });
}

#[test]
fn a_step_comes_after_others_or_not_at_all() {
    on_both(|t| {
        let mut steps = Vec::new();
        for n in 0..104 {
            let seen = t.adds(&format!("t_{n:08x}"), Status::Ready, &[]);
            steps.push(step(&seen.task.id, Some(&seen), hermes::assigned(&seen, "nova", &trail())));
        }
        // Behind one that was applied, behind one that moved, and behind one in the same transaction although that is full.
        t.other(Foreign::Set("t_00000003", "assignee", json!("sol")));
        for (n, before) in [(5, "t_00000004"), (6, "t_00000003"), (100, "t_00000063")] {
            steps[n].after = vec![before.into()];
        }
        let outcomes = t.board.apply(t.now, &steps, super::PATIENCE).unwrap();
        let outcomes = t.hear(outcomes);
        for (n, outcome) in outcomes.iter().enumerate() {
            let word = if matches!(n, 3 | 6) { "moved" } else { "applied" };
            assert_eq!(outcome.word(), word, "{n}: {outcome:?}");
        }
        assert_eq!(t.look("t_00000006").task.assignee.as_deref(), Some("luna"));
    });
}

#[test]
fn what_holds_a_task_is_read_however_much_was_written_since() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        t.does(A, |d| hermes::held(d, "rate_limit", BEGAN.plus(900), &trail()));
        for _ in 0..1_001 {
            t.other(Foreign::Event(A, "commented", json!({"author": "mallory"}), BEGAN.plus(5)));
        }
        let seen = t.look(A);
        assert!(seen.is_truncated);
        assert_eq!(kinds(&seen)[..3], ["created", "scheduled", "commented"]);
        assert_eq!(seen.events.len(), 1_002);
    });
}
