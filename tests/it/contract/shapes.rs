//! SQLite only: schemas older and newer than Hermes 0.19, rows nobody should have written, a busy file.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shared::base::error::Kind;
use shared::base::time::Time;
use shared::board::Mode;
use shared::board::hermes;
use shared::board::sqlite::SqliteBoard;
use shared::board::{Board, BoardId, Change, NewTask, Outcome, Status};
use testkit::generate::NO_PID;

use super::{BEGAN, PATIENCE, kinds, open, step, trail};
use crate::support::{TestBoard, dead_pid, hostname, now};

const A: &str = "t_000000a1";
const B: &str = "t_000000b2";

/// Columns and tables that came after Hermes 0.13.
const SINCE_0_13: &str = "DROP INDEX idx_tasks_session_id; DROP TABLE task_attachments;
    ALTER TABLE tasks DROP COLUMN branch_name; ALTER TABLE tasks DROP COLUMN model_override;
    ALTER TABLE tasks DROP COLUMN session_id; ALTER TABLE tasks DROP COLUMN goal_mode;
    ALTER TABLE tasks DROP COLUMN goal_max_turns; ALTER TABLE tasks DROP COLUMN project_id;
    ALTER TABLE tasks DROP COLUMN block_kind; ALTER TABLE tasks DROP COLUMN block_recurrences;";

/// What Hermes 0.12 had instead of runs and of one failure counter; its ids were texts.
const AS_IN_0_12: &str = "DROP TABLE task_runs; DROP TABLE task_events; DROP TABLE task_comments;
    ALTER TABLE tasks DROP COLUMN current_run_id; ALTER TABLE tasks DROP COLUMN consecutive_failures;
    ALTER TABLE tasks DROP COLUMN last_failure_error; ALTER TABLE tasks DROP COLUMN max_retries;
    ALTER TABLE tasks ADD COLUMN spawn_failures INTEGER; ALTER TABLE tasks ADD COLUMN last_spawn_error TEXT;
    CREATE TABLE task_events (id TEXT PRIMARY KEY, task_id TEXT, kind TEXT, payload TEXT, created_at INTEGER);
    CREATE TABLE task_comments (id TEXT PRIMARY KEY, task_id TEXT, author TEXT, body TEXT, created_at INTEGER);";

/// The same tables without a single constraint, so that rows can be as wrong as rows can be.
fn unconstrained(b: &TestBoard) {
    for table in ["tasks", "task_runs", "task_events", "task_comments"] {
        b.sql(&format!(
            "CREATE TABLE loose AS SELECT * FROM {table}; DROP TABLE {table}; ALTER TABLE loose RENAME TO {table};"
        ));
    }
}

#[test]
fn a_board_of_0_13_is_read_and_written() {
    let b = TestBoard::new();
    b.sql(SINCE_0_13);
    assert_eq!(b.value("SELECT count(*) FROM pragma_table_info('tasks')"), "27");
    let mut board = open(&b.db, Mode::Change);
    board.writable().unwrap();
    b.add(A, "ready");
    b.add(B, "todo");
    let mut does = |id: &str, changes: &dyn Fn(&shared::board::Detail) -> Vec<Change>| {
        let seen = board.look(&[id.into()]).unwrap().remove(0);
        let outcome =
            board.apply(BEGAN, &[step(id, Some(&seen), changes(&seen))], PATIENCE).unwrap().remove(0);
        assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
        board.look(&[id.into()]).unwrap().remove(0)
    };
    does(B, &|_| vec![Change::Link { parent: A.into() }]);
    does(A, &|d| hermes::claimed(d, "host:7", BEGAN.plus(900), Some(9), None, &trail()));
    does(A, &|d| hermes::heartbeat(d, BEGAN.plus(901), None));
    let d = does(A, &|d| hermes::crashed(d, Some(9), 2, &trail()));
    assert_eq!((d.task.status.clone(), d.task.failures), (Status::Ready, 1));
    // There is no column that could count blocks of one kind, so the second is a block like the first.
    for _ in 0..2 {
        let d = does(A, &|d| hermes::blocked(d, "which?", Some("needs_input"), &trail()));
        assert_eq!((d.task.status.clone(), d.task.block_kind.clone()), (Status::Blocked, None));
        does(A, &|d| hermes::unblocked(d, &trail()));
    }
    // Nothing to clear, and no error.
    does(A, &|_| vec![Change::ClearOverrides]);
    let d = does(A, &|d| hermes::completed(d, Some("42"), None, &trail()));
    assert_eq!(
        (d.task.status.clone(), b.task(A, "result").as_str(), b.task(B, "status").as_str()),
        (Status::Done, "42", "ready")
    );
}

#[test]
fn heal_requeues_on_a_board_of_0_13() {
    let b = TestBoard::new();
    b.sql(SINCE_0_13);
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 900);
    b.heal(&[]).ok();
    assert_eq!((b.task(A, "status").as_str(), b.task(A, "claim_lock").as_str()), ("ready", "NULL"));
}

#[test]
fn a_board_without_runs_is_read_and_never_written() {
    let b = TestBoard::new();
    b.sql(SINCE_0_13);
    b.sql(AS_IN_0_12);
    b.sql(&format!(
        "INSERT INTO tasks (id, title, status, created_at, started_at, claim_lock, worker_pid, spawn_failures)
           VALUES ('{A}', 'Old', 'running', 5, {began}, '{host}:1', {NO_PID}, 1);
         INSERT INTO task_events VALUES ('e-1', '{A}', 'created', NULL, 5), ('e-2', '{A}', 'claimed', NULL, 6);
         INSERT INTO task_comments VALUES ('c-1', '{A}', 'rosa', 'old words', 6);",
        began = now() - 900,
        host = hostname(),
    ));
    let before = b.dump_without_runs();
    let mut board = open(&b.db, Mode::Change);
    assert_eq!(board.glance(&[Status::Running]).unwrap().len(), 1);
    let seen = board.look(&[A.into()]).unwrap().remove(0);
    assert_eq!((kinds(&seen), seen.comments.len(), seen.runs.len()), (vec!["created", "claimed"], 1, 0));
    assert_eq!((seen.task.failures, seen.task.current_run), (0, None));
    assert_eq!(board.events(Time(0), 10).unwrap().len(), 2);
    assert!(board.recent_runs(10).unwrap().is_empty());
    assert_eq!(board.titled(&[A.into()]).unwrap(), std::slice::from_ref(&seen.task));

    let refused = board.writable().unwrap_err();
    assert_eq!((refused.kind, refused.hint.is_some()), (Kind::Data, true), "{refused}");
    let refused =
        board.apply(BEGAN, &[step(A, Some(&seen), hermes::escalated(&trail()))], PATIENCE).unwrap_err();
    assert_eq!(refused.kind, Kind::Data);
    assert_eq!(b.dump_without_runs(), before);
    b.heal(&["-q"]).fails(65);
    assert_eq!(b.dump_without_runs(), before);
}

#[test]
fn one_missing_column_is_enough_not_to_write() {
    for lost in [
        "ALTER TABLE tasks DROP COLUMN current_run_id",
        "ALTER TABLE tasks DROP COLUMN consecutive_failures",
        "ALTER TABLE task_events DROP COLUMN run_id",
        "DROP TABLE task_runs",
    ] {
        let b = TestBoard::new();
        b.add(A, "ready");
        b.sql(lost);
        let mut board = open(&b.db, Mode::Change);
        assert_eq!(board.writable().unwrap_err().kind, Kind::Data, "{lost}");
        let seen = board.look(&[A.into()]).unwrap().remove(0);
        let refused = board.apply(BEGAN, &[step(A, Some(&seen), hermes::escalated(&trail()))], PATIENCE);
        assert_eq!(refused.unwrap_err().kind, Kind::Data, "{lost}");
        assert_eq!(b.kinds(A), "created", "{lost}");
    }
}

#[test]
fn without_a_column_every_board_has_it_is_none() {
    for (broken, word) in [
        ("DROP TABLE tasks", "no table `tasks`"),
        (
            "DROP INDEX watchbill_tasks_next; DROP INDEX idx_tasks_status; DROP INDEX idx_tasks_assignee_status; ALTER TABLE tasks DROP COLUMN status",
            "`status`",
        ),
        ("DROP INDEX watchbill_tasks_next; ALTER TABLE tasks DROP COLUMN claim_lock", "`claim_lock`"),
    ] {
        let b = TestBoard::new();
        b.sql(broken);
        let id = BoardId { at: b.db.clone().into(), slug: None, root: None };
        let Err(refused) = SqliteBoard::open(id, Mode::Look, PATIENCE) else { panic!("{broken}") };
        assert_eq!(refused.kind, Kind::Data);
        assert!(refused.to_string().contains(word), "{refused}");
    }
}

#[test]
fn the_newest_schema_loses_the_workers_birth_with_its_claim() {
    let b = TestBoard::new();
    b.sql("ALTER TABLE tasks ADD COLUMN worker_started_at TEXT; ALTER TABLE task_runs ADD COLUMN worker_started_at TEXT;
           ALTER TABLE tasks ADD COLUMN provider_override TEXT; ALTER TABLE tasks ADD COLUMN completion_contract TEXT;");
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 900);
    b.sql("UPDATE tasks SET worker_started_at = 'fc89d26c-7fdb-41ec-b056-2f6d5e9169ff:22|4711', provider_override = 'other'");
    let seen = open(&b.db, Mode::Look).look(&[A.into()]).unwrap().remove(0);
    assert_eq!(seen.task.worker_started_at.as_deref(), Some("fc89d26c-7fdb-41ec-b056-2f6d5e9169ff:22|4711"));
    let mut board = open(&b.db, Mode::Change);
    let steps = [step(A, Some(&seen), hermes::reclaimed(&seen, &trail()))];
    assert_eq!(board.apply(BEGAN, &steps, PATIENCE).unwrap(), [Outcome::Applied { run: None }]);
    // A birth that outlived its claim would make Hermes distrust the next worker.
    assert_eq!((b.task(A, "worker_started_at").as_str(), b.task(A, "worker_pid").as_str()), ("NULL", "NULL"));
    assert_eq!(b.task(A, "provider_override"), "other", "a column nobody speaks of is carried through");
}

#[test]
fn overrides_are_read_and_taken_back_where_the_board_has_them() {
    let b = TestBoard::new();
    b.sql("ALTER TABLE tasks ADD COLUMN provider_override TEXT");
    b.add(A, "ready");
    b.sql("UPDATE tasks SET model_override = 'moon', provider_override = 'other', body = 'text', tenant = 'acme'");
    let mut board = open(&b.db, Mode::Change);
    let seen = board.look(&[A.into()]).unwrap().remove(0);
    let (pin, place) = (&seen.task.pin, &seen.place);
    assert_eq!(
        (pin.model.as_deref(), pin.provider.as_deref(), place.tenant.as_deref()),
        (Some("moon"), Some("other"), Some("acme"))
    );
    assert_eq!(seen.body, "text");
    let steps = [step(A, Some(&seen), vec![Change::ClearOverrides])];
    assert_eq!(board.apply(BEGAN, &steps, PATIENCE).unwrap(), [Outcome::Applied { run: None }]);
    let after = (b.task(A, "model_override"), b.task(A, "provider_override"), b.task(A, "tenant"));
    assert_eq!(after, ("NULL".into(), "NULL".into(), "acme".into()));
}

#[test]
fn what_no_reader_shows_of_a_past_is_written_too() {
    let b = TestBoard::new();
    b.add(A, "ready");
    let mut board = open(&b.db, Mode::Change);
    let seen = board.look(&[A.into()]).unwrap().remove(0);
    let task = NewTask { title: "Was done by hand".into(), ..NewTask::default() };
    let metadata = Some(json!({"route": 1, "more": 2}));
    let changes = vec![
        Change::AddAnother {
            id: B.into(),
            status: Status::Done,
            task: Box::new(task),
            events: vec![],
            done: Some("in one go".into()),
        },
        Change::PastRun { outcome: "reclaimed".into(), summary: None, metadata },
    ];
    assert_eq!(
        board.apply(BEGAN, &[step(A, Some(&seen), changes)], PATIENCE).unwrap(),
        [Outcome::Applied { run: Some(2) }]
    );
    assert_eq!((b.task(B, "completed_at"), b.task(B, "result")), (BEGAN.0.to_string(), "NULL".into()));
    assert_eq!(b.task(A, "completed_at"), "NULL");
    assert_eq!(b.value("SELECT metadata FROM task_runs WHERE id = 1"), "NULL");
    assert_eq!(b.value("SELECT metadata FROM task_runs WHERE id = 2"), r#"{"more":2,"route":1}"#);
}

#[test]
fn rows_nobody_should_have_written_are_read_for_what_they_are() {
    let b = TestBoard::new();
    unconstrained(&b);
    b.sql(&format!(
        "INSERT INTO tasks (id, title, status, created_at, priority, worker_pid, claim_lock, claim_expires,
           current_run_id, consecutive_failures, last_failure_error, started_at, last_heartbeat_at)
         VALUES ('{A}', NULL, 'ready', '1800000000', 'high', ' 4711 ', 5, 'soon', 0, NULL, x'fe41', 1.8e9, x'00');
         INSERT INTO tasks (id, status) VALUES ('{B}', NULL), (NULL, 'ready');
         INSERT INTO task_runs (id, task_id, started_at) VALUES (NULL, '{A}', NULL), ('two', '{A}', 'then');
         INSERT INTO task_events (id, task_id, kind, payload, created_at) VALUES
           (1, '{A}', 'created', NULL, NULL), (2, '{A}', 'edited', x'7b7d', 7), (NULL, '{A}', NULL, NULL, 8);
         INSERT INTO task_comments (task_id) VALUES ('{A}');"
    ));
    let mut board = open(&b.db, Mode::Change);
    let ready = board.glance(&[Status::Ready]).unwrap();
    assert_eq!(ready.len(), 2);
    let seen = board.look(&[A.into()]).unwrap().remove(0);
    let t = &seen.task;
    assert_eq!((t.title.as_str(), t.priority, t.created_at), ("", 0, Time(1_800_000_000)));
    assert_eq!((t.worker_pid, t.claim_lock.as_deref(), t.claim_expires), (Some(4_711), Some("5"), None));
    assert_eq!((t.current_run, t.failures, t.started_at), (None, 0, Some(Time(1_800_000_000))));
    assert_eq!((t.last_failure_error.as_deref(), t.last_heartbeat_at), (Some("\u{fffd}A"), None));
    assert_eq!((seen.runs.len(), kinds(&seen), seen.comments.len()), (2, vec!["created", "edited"], 1));
    assert_eq!(board.look(&[B.into()]).unwrap()[0].task.status, Status::Other(String::new()));

    // What was read is also what the guard compares.
    let steps = [step(A, Some(&seen), hermes::escalated(&trail()))];
    assert_eq!(board.apply(BEGAN, &steps, PATIENCE).unwrap(), [Outcome::Applied { run: None }]);
    assert_eq!(b.payload(A, "watchbill_escalated")["by"], "heal");

    let ran = b.heal(&["-v", "--json"]);
    assert!(ran.code <= 1, "{ran:?}");
    assert_eq!(b.task(A, "worker_pid").trim(), "4711", "nobody knows what this row is, so nobody touches it");
}

#[test]
fn a_payload_that_is_no_json_is_nothing_and_fails_nothing() {
    let b = TestBoard::new();
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 900);
    let at = now() - 800;
    for (n, payload) in
        ["{\"by\":\"heal\",", "", "\u{1}", "[1,", "nul", "{\"by\":{\"a\":1}}", "17", "\"heal\""]
            .iter()
            .enumerate()
    {
        b.sql(&format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{A}', 'note', '{payload}', {})",
            at + n as i64
        ));
    }
    let mut board = open(&b.db, Mode::Change);
    let seen = board.look(&[A.into()]).unwrap().remove(0);
    let notes: Vec<&Value> =
        seen.events.iter().filter(|e| e.kind.as_str() == "note").map(|e| &*e.payload).collect();
    assert_eq!(
        notes,
        [
            &Value::Null,
            &Value::Null,
            &Value::Null,
            &Value::Null,
            &Value::Null,
            &json!({"by": {"a": 1}}),
            &json!(17),
            &json!("heal")
        ]
    );
    assert!(seen.events.iter().all(|e| e.by().is_none() && e.trail().is_none()));
    assert_eq!(board.events(Time(0), 100).unwrap().len(), 11);
    drop(board);
    b.heal(&[]).ok();
    assert_eq!(b.task(A, "status"), "ready");
}

#[test]
fn a_busy_board_is_waited_for_and_then_left() {
    let b = TestBoard::new();
    b.add(A, "ready");
    let mut board = open(&b.db, Mode::Change);
    let seen = board.look(&[A.into()]).unwrap().remove(0);
    let steps = [step(A, Some(&seen), hermes::escalated(&trail()))];

    let other = b.open();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let before = Instant::now();
    let busy = board.apply(BEGAN, &steps, Duration::from_millis(150)).unwrap_err();
    let waited = before.elapsed();
    assert_eq!(busy.kind, Kind::Busy, "{busy}");
    // A wait far above the given one means that another timeout counted: the five seconds of the opening.
    assert!((Duration::from_millis(150)..Duration::from_secs(4)).contains(&waited), "{waited:?}");
    // Looking never waits for another process that writes.
    assert_eq!(board.look(&[A.into()]).unwrap().remove(0), seen);

    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        other.execute_batch("ROLLBACK").unwrap();
    });
    assert_eq!(board.apply(BEGAN, &steps, PATIENCE).unwrap(), [Outcome::Applied { run: None }]);
    release.join().unwrap();
    assert_eq!(b.kinds(A), "created watchbill_escalated");
}

#[test]
fn what_somebody_wrote_while_we_waited_is_seen_under_the_lock() {
    let b = TestBoard::new();
    b.add(A, "ready");
    let mut board = open(&b.db, Mode::Change);
    let seen = board.look(&[A.into()]).unwrap().remove(0);
    let other = b.open();
    other
        .execute_batch("BEGIN IMMEDIATE; UPDATE tasks SET claim_lock = 'host:8', status = 'running'")
        .unwrap();
    let commit = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        other.execute_batch("COMMIT").unwrap();
    });
    let steps = [step(A, Some(&seen), hermes::escalated(&trail()))];
    assert_eq!(board.apply(BEGAN, &steps, PATIENCE).unwrap(), [Outcome::Moved { what: "status".into() }]);
    commit.join().unwrap();
    assert_eq!(b.kinds(A), "created");
}

#[test]
fn a_board_opened_for_looking_cannot_write() {
    let b = TestBoard::new();
    b.add(A, "ready");
    let mut board = open(&b.db, Mode::Look);
    let seen = board.look(&[A.into()]).unwrap().remove(0);
    let refused = board.apply(BEGAN, &[step(A, Some(&seen), hermes::escalated(&trail()))], PATIENCE);
    assert_eq!(refused.unwrap_err().kind, Kind::Bug);
    assert_eq!(b.kinds(A), "created");
    assert!(!open(&b.db, Mode::Look).is_own());
    assert!(open(&TestBoard::own().db, Mode::Look).is_own());
}

#[test]
fn what_was_done_before_a_failure_is_reported() {
    let now = now();
    let b = super::killed::template(now);
    // A trigger stands for any error, such as one of the disk: the second transaction of the pass fails.
    b.sql(
        "CREATE TRIGGER t BEFORE UPDATE ON tasks WHEN NEW.id = 't_7e570096' BEGIN SELECT RAISE(ABORT, 'not this one'); END",
    );
    let ran = b.heal(&["--json", "--db", b.db.to_str().unwrap(), "--now", &now.to_string()]);
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    assert_eq!(b.value("SELECT count(*) FROM tasks WHERE status != 'running'"), "100");
    assert_eq!(report["boards"][0]["steps"].as_array().unwrap().len(), 100);
    assert_eq!(ran.code, 65, "{}", report["boards"][0]["error"]);
}

#[test]
fn a_stamp_is_another_one_as_soon_as_somebody_else_wrote() {
    let b = TestBoard::new();
    b.add(A, "ready");
    let mut board = open(&b.db, Mode::Look);
    let first = board.stamp().unwrap();
    assert!(first.is_some());
    board.look(&[A.to_owned()]).unwrap();
    assert_eq!(board.stamp().unwrap(), first, "looking changes nothing");
    b.sql("UPDATE tasks SET priority = priority + 1");
    assert_ne!(board.stamp().unwrap(), first);
}

#[test]
fn the_newest_events_are_read_back_as_far_as_their_time_goes() {
    let b = TestBoard::new();
    b.add(A, "ready");
    let many = |n: u32, kind: &str, at: i64| {
        b.sql(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n})
             INSERT INTO task_events (task_id, kind, created_at) SELECT '{A}', '{kind}', {at} FROM n"
        ));
    };
    b.sql("DELETE FROM task_events");
    let (since, now) = (BEGAN, BEGAN.plus(60));
    let count = |most: u32| {
        let mut board = open(&b.db, Mode::Look);
        let [all, turns] = [board.events(since, most), board.turns(since, most)].map(|e| e.unwrap().len());
        (all, turns)
    };
    assert_eq!(count(10), (0, 0));
    many(1, "blocked", now.0);
    many(1_999, "commented", since.0 - 1);
    many(1, "commented", now.0);
    assert_eq!(count(50_000), (2, 1), "a clock that was set back for a while hides nothing");
    assert_eq!((count(2_001), count(2_000), count(1)), ((2, 1), (1, 0), (1, 0)), "the newest of a number");
    many(4_000, "heartbeat", now.0);
    assert_eq!(count(50_000), (4_002, 1), "nor do thousands of another kind");
    b.sql("DELETE FROM task_events WHERE kind = 'heartbeat'");
    many(1, "commented", now.0);
    assert_eq!(count(50_000), (3, 1), "nor a gap of deleted ones");
    many(4_000, "commented", since.0 - 1);
    assert_eq!(count(50_000), (0, 0), "behind thousands that are too old nothing is looked for");
}
