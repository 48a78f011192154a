//! What a process that can write the board forges on it. It may make us more careful, never bolder; and careful comes to an
//! end, or says so.

use serde_json::{Value, json};

use super::WATCHERS;
use crate::support::{TestBoard, now};

const ID: &str = "t_00000001";

/// A hold as our watchers write it.
fn hold(by: &str, until: i64) -> Value {
    let hold =
        json!({"owner": by, "cause": "rate_limit", "since": now() - 4_000, "next": until, "until": until});
    json!({"by": by, "until": until, "watchbill": {"v": 1, "hold": hold}})
}

fn cards(b: &TestBoard) -> String {
    b.value("SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%'")
}

#[test]
fn forged_resets_bring_the_card_sooner_and_nothing_else() {
    // The number in the event means nothing, and a forged escalation is one.
    for forged in [
        vec![("unblocked", json!({"by": "heal", "watchbill": {"v": 1, "reset": i64::MAX}})); 3],
        vec![
            ("unblocked", json!({"by": "heal", "watchbill": {"v": 1, "reset": -9, "cause": "worker_gone"}}));
            3
        ],
        vec![("watchbill_escalated", json!({"by": "heal"}))],
    ] {
        let b = TestBoard::new();
        b.crash_loop(ID);
        for (kind, payload) in &forged {
            b.forge(ID, kind, payload, now() - 3_000);
        }
        b.forge(
            ID,
            "gave_up",
            &json!({"limit_source": "dispatcher", "error": "pid 9 not alive"}),
            now() - 2_900,
        );
        b.heal(&[]).ok();
        assert_eq!(b.task(ID, "status"), "blocked", "it is not started again");
        b.pass("synthesize-distress", &[]).ok();
        assert_eq!(cards(&b), "1", "somebody is asked");
    }
    // One of them, with the largest number there is, is still one.
    let b = TestBoard::new();
    b.crash_loop(ID);
    b.forge(ID, "unblocked", &json!({"by": "heal", "watchbill": {"v": 1, "reset": i64::MAX}}), now() - 3_000);
    b.forge(ID, "gave_up", &json!({"limit_source": "dispatcher", "error": "pid 9 not alive"}), now() - 2_900);
    assert!(b.heal(&[]).ok().contains("reset 2"));
}

#[test]
fn a_forged_hold_ends() {
    let end_of_time = 4_102_444_800;
    for by in ["heal", "synthesize-distress", "route-blocked"] {
        for until in [end_of_time, i64::MAX] {
            let b = TestBoard::new();
            b.add(ID, "scheduled");
            b.forge(ID, "scheduled", &hold(by, until), now() - 2_000);
            for watcher in WATCHERS.iter().copied() {
                b.pass(watcher, &[]).ok();
            }
            assert_eq!(b.task(ID, "status"), "scheduled", "{by} {until}");
            b.pass_later("heal", 28_800, &[]).ok();
            assert_eq!(b.task(ID, "status"), "ready", "{by} {until}: eight hours later it goes on");
        }
    }
}

#[test]
fn a_hold_dated_in_the_future_ends_too() {
    let b = TestBoard::new();
    b.add(ID, "scheduled");
    b.forge(ID, "scheduled", &hold("heal", 4_102_444_800), 4_102_444_000);
    // While it is among the newest events the whole board waits; after that it is only this task's.
    b.sql(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4100)
         INSERT INTO task_events (task_id, kind, created_at) SELECT 't_other', 'commented', {} FROM n",
        now() - 50
    ));
    b.heal(&[]).ok();
    assert_eq!(b.task(ID, "status"), "scheduled");
    b.pass_later("heal", 28_800, &[]).ok();
    assert_eq!(b.task(ID, "status"), "ready");
}

#[test]
fn an_event_from_the_future_stops_the_board_and_every_watcher_says_so() {
    let b = TestBoard::new();
    b.crash_loop(ID);
    b.forge("t_other", "commented", &json!({}), now() + 90_000);
    let before = b.dump();
    for watcher in WATCHERS.iter().copied() {
        let told = b.pass(watcher, &[]);
        assert!(told.code == 1 && told.err.contains("in the future"), "{watcher}: {told:?}");
    }
    assert_eq!(b.dump(), before);
    // It ends by itself once that time has come.
    b.pass_later("heal", 90_000, &[]).ok();
    assert_eq!(b.task(ID, "status"), "ready");
}

#[test]
fn nothing_forged_lifts_what_a_person_stopped() {
    let b = TestBoard::new();
    b.add(ID, "scheduled");
    b.forge(ID, "scheduled", &json!({"reason": "next week"}), now() - 3_000);
    for by in ["heal", "route-blocked", "synthesize-distress"] {
        b.forge(ID, "scheduled", &hold(by, now() - 100), now() - 2_000);
        for watcher in WATCHERS.iter().copied() {
            b.pass_later(watcher, 7_200, &[]).ok();
        }
        assert_eq!(b.task(ID, "status"), "scheduled", "forged as {by}");
    }
    // A person's block under a forged one of the breaker's.
    let b = TestBoard::new();
    b.crash_loop(ID);
    b.forge(ID, "blocked", &json!({"reason": "wait for me"}), now() - 3_000);
    b.forge(ID, "gave_up", &json!({"limit_source": "dispatcher", "error": "pid 9 not alive"}), now() - 2_000);
    for watcher in WATCHERS.iter().copied() {
        b.pass_later(watcher, 7_200, &[]).ok();
    }
    assert_eq!(b.task(ID, "status"), "blocked");
}

#[test]
fn a_forged_before_image_is_put_back_by_nobody() {
    let b = TestBoard::new();
    b.add(ID, "ready");
    let images = json!({
        "before": {"status": "done", "assignee": "mallory", "title": "another one", "body": "rm -rf /"},
        "after": {"status": "ready", "assignee": "luna"},
    });
    for (kind, by) in [("unblocked", "heal"), ("assigned", "route-blocked"), ("watchbill_undone", "heal")] {
        let payload =
            json!({"by": by, "watchbill": {"v": 1, "before": images["before"], "after": images["after"]}});
        b.forge(ID, kind, &payload, now() - 2_000);
    }
    let before = b.dump();
    for watcher in WATCHERS.iter().copied() {
        b.pass(watcher, &[]).ok();
        b.pass_later(watcher, 90_000, &[]).ok();
    }
    assert_eq!(b.dump(), before);
}

#[test]
fn a_worker_that_writes_without_end_gets_its_card() {
    let b = TestBoard::new();
    b.crash_loop(ID);
    b.sql(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
         INSERT INTO task_events (task_id, kind, payload, created_at) SELECT '{ID}', 'commented', '{{}}', {} FROM n",
        now() - 3_000
    ));
    assert!(b.heal(&[]).ok().contains("its history is too long to count its resets"));
    assert_eq!(b.task(ID, "status"), "blocked", "nothing bolder");
    b.pass("synthesize-distress", &[]).ok();
    assert_eq!(cards(&b), "1", "and not left in silence");
    let rows = b.dump();
    b.heal(&[]).ok();
    b.pass("synthesize-distress", &[]).ok();
    assert_eq!(b.dump(), rows, "once");
}

#[test]
fn a_forged_card_keeps_its_source_still_and_is_spoken_of() {
    let b = TestBoard::new();
    b.crash_loop(ID);
    b.add("t_0000cafe", "ready");
    b.sql(&format!(
        "UPDATE tasks SET title = '[BLOCKED] {ID} env_blocker', body = 'x' WHERE id = 't_0000cafe'"
    ));
    for watcher in WATCHERS.iter().copied() {
        b.pass(watcher, &[]).ok();
    }
    assert_eq!(b.task(ID, "status"), "blocked", "nobody sets a task free behind a card");
    assert_eq!(b.task("t_0000cafe", "assignee"), "tuesday", "the forger does not answer it");
    let told = b.pass_later("route-blocked", 3_600, &[]);
    assert!(told.code == 0 && told.out.contains("was not claimed"), "{told:?}");
    // Completed by the forger's own run, with a decision: words for a person.
    b.sql(&format!(
        "UPDATE tasks SET status = 'done', completed_at = {at} WHERE id = 't_0000cafe';
         INSERT INTO task_runs (task_id, profile, status, outcome, metadata, started_at, ended_at) VALUES ('t_0000cafe', 'luna',
           'done', 'completed', '{{\"route\":{{\"task\":\"{ID}\",\"action\":\"reassign\",\"to\":\"mallory\"}}}}', {at}, {at});
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES
           ('t_0000cafe', last_insert_rowid(), 'completed', '{{}}', {at});",
        at = now()
    ));
    for watcher in WATCHERS.iter().copied() {
        assert!(b.pass_later(watcher, 1_200, &[]).code <= 1);
    }
    assert_eq!((b.task(ID, "assignee").as_str(), b.task(ID, "status").as_str()), ("luna", "blocked"));
}
