//! Looking never writes, and a second pass right after the first changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;

use crate::support::{Kept, TestBoard, dead_pid, hostname, now, ran, stranger, worker};

/// Every file under the root of a board, with bytes and time of change, read from a copy that another process made: a
/// test that opened the file itself would drop the locks of its own connections.
fn files(b: &TestBoard) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let copy = tempfile::tempdir().unwrap();
    ran(Command::new("cp").arg("-a").arg(b.path()).arg(copy.path().join("root"))).ok();
    let mut all = BTreeMap::new();
    collect(&copy.path().join("root"), "", &mut all);
    // Our own configuration is written anew for every command; the shared memory of readers is not board content.
    all.retain(|name, (bytes, _)| {
        let empty_wal = name.ends_with("-wal") && bytes.is_empty();
        name != "watchbill.toml" && name != "told" && !name.ends_with("-shm") && !empty_wal
    });
    all
}

fn collect(folder: &Path, under: &str, all: &mut BTreeMap<String, (Vec<u8>, SystemTime)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{under}{}", entry.file_name().to_str().unwrap());
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            collect(&entry.path(), &format!("{name}/"), all);
        } else {
            all.insert(name, (std::fs::read(entry.path()).unwrap(), meta.modified().unwrap()));
        }
    }
}

/// Fails where something was written meanwhile under the root of a board.
#[track_caller]
pub fn unchanged(b: &TestBoard, what: &str, f: impl FnOnce()) {
    let before = files(b);
    f();
    assert_same(what, &before, b);
}

/// Says which file differs; their bytes are of no use to a reader.
#[track_caller]
fn assert_same(what: &str, before: &BTreeMap<String, (Vec<u8>, SystemTime)>, b: &TestBoard) {
    let after = files(b);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs: Vec<String> = names
        .into_iter()
        .filter(|n| before.get(*n) != after.get(*n))
        .map(|n| {
            let bytes =
                |all: &BTreeMap<String, (Vec<u8>, SystemTime)>| all.get(n).map(|(bytes, _)| bytes.clone());
            let same = bytes(before) == bytes(&after);
            format!("{n}: {}", if same { "same bytes, written again" } else { "other bytes" })
        })
        .collect();
    assert!(differs.is_empty(), "{what}: {differs:?}");
}

/// Everything that only looks, on a board that has task `t_00000001`.
fn looks_change_nothing(b: &TestBoard) {
    let before = files(b);
    for args in [
        &["--dry-run"][..],
        &["-n", "-v"],
        &["-n", "--json"],
        &["-n", "--json", "-v"],
        &["-n", "--task", "t_00000001"],
        &["-n", "--now", "2099-01-01T00:00:00Z"],
    ] {
        let ran = b.heal(args);
        assert!(ran.code <= 1, "{ran:?}");
        assert_same(&format!("heal {args:?}"), &before, b);
    }
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["list", "--status", "running"],
        &["show", "t_00000001"],
        &["packet", "t_00000001", "--json"],
    ] {
        let said = b.hand(args).ok();
        assert!(said.contains("t_00000001") || args.contains(&"running"), "{said}");
        assert_same(&format!("board {args:?}"), &before, b);
    }
}

/// A dead worker, a recycled pid and a living worker.
fn work(b: &TestBoard) -> (Kept, Kept) {
    for id in ["t_00000002", "t_00000003", "t_00000004"] {
        b.add(id, "ready");
    }
    b.run_it("t_00000002", Some(dead_pid()), 900);
    let other = stranger();
    b.run_it("t_00000003", Some(other.pid()), 900);
    let run = b.run_it("t_00000004", None, 900);
    let living = worker("t_00000004", run);
    b.sql(&format!("UPDATE tasks SET worker_pid = {} WHERE id = 't_00000004'", living.pid()));
    (other, living)
}

#[test]
fn looking_at_an_idle_board_writes_nothing() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    looks_change_nothing(&b);
    assert!(!b.path().join("state").exists(), "not even a memory of our own");
    let own = TestBoard::own();
    own.add("t_00000001", "ready");
    looks_change_nothing(&own);
}

#[test]
fn looking_at_a_board_with_work_writes_nothing_and_touches_no_process() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    let (mut other, mut living) = work(&b);
    looks_change_nothing(&b);
    assert!(!b.path().join("state").exists());
    assert!(other.is_running() && living.is_running());

    // The control: what was only planned is real work, and doing it is seen by the same eyes.
    let before = files(&b);
    let planned = b.heal(&["-n", "--json"]).json();
    assert_eq!(planned["boards"][0]["steps"].as_array().unwrap().len(), 2);
    b.heal(&[]).ok();
    assert_ne!(before, files(&b));
    assert_eq!(
        (b.task("t_00000002", "status").as_str(), b.task("t_00000003", "status").as_str()),
        ("ready", "ready")
    );
    assert!(other.is_running() && living.is_running(), "healing touches no process either");

    // And with a memory from that pass, which a look may not change.
    assert!(b.path().join("state").exists());
    let _kept = work_again(&b);
    looks_change_nothing(&b);
}

fn work_again(b: &TestBoard) -> Kept {
    b.add("t_00000005", "ready");
    b.run_it("t_00000005", Some(dead_pid()), 900);
    // A dead worker's child at work is what a pass remembers; a look must not.
    b.add("t_00000006", "ready");
    let run = b.run_it("t_00000006", Some(dead_pid()), 900);
    worker("t_00000006", run)
}

#[test]
fn looking_at_a_board_somebody_writes_to_leaves_its_log_alone() {
    for with_work in [false, true] {
        let b = TestBoard::new();
        b.add("t_00000001", "ready");
        let other = b.open();
        other
            .execute_batch("PRAGMA wal_autocheckpoint = 0; UPDATE tasks SET title = 'only in the log'")
            .unwrap();
        let _kept = with_work.then(|| work(&b));
        assert!(files(&b).contains_key("kanban.db-wal"), "the log is alive");
        looks_change_nothing(&b);
        assert!(b.hand(&["show", "t_00000001"]).ok().contains("only in the log"));

        // In the middle of another process's transaction as well.
        other.execute_batch("BEGIN IMMEDIATE; UPDATE tasks SET title = 'not yet said'").unwrap();
        looks_change_nothing(&b);
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(b.value("PRAGMA integrity_check"), "ok");
    }
}

/// The board as a killed writer leaves it: what it said last is only in the log, and nobody has the file open.
fn left_behind(of: &TestBoard) -> TestBoard {
    let dir = tempfile::tempdir().unwrap();
    let (from, db) = (of.db.to_str().unwrap(), dir.path().join("kanban.db"));
    ran(Command::new("cp").arg("-a").arg(from).arg(format!("{from}-wal")).arg(dir.path())).ok();
    TestBoard { dir, db, config: of.config.clone() }
}

#[test]
fn looking_at_what_a_killed_writer_left_leaves_it_there() {
    for made in [TestBoard::new(), TestBoard::own()] {
        let other = made.open();
        made.add("t_00000001", "ready");
        other
            .execute_batch("PRAGMA wal_autocheckpoint = 0; UPDATE tasks SET title = 'only in the log'")
            .unwrap();
        let _kept = work(&made);
        let b = left_behind(&made);
        looks_change_nothing(&b);
        assert!(files(&b).contains_key("kanban.db-wal"), "the log is still there");
        assert!(b.hand(&["show", "t_00000001"]).ok().contains("only in the log"));
    }
}

/// Steps of a report by task: case and outcome.
fn steps(report: &Value) -> BTreeMap<String, String> {
    let steps = report["boards"][0]["steps"].as_array().unwrap();
    let one = |s: &Value| {
        let outcome = s["outcome"].as_str().or(s["outcome"]["outcome"].as_str()).unwrap();
        assert_eq!(outcome, "applied", "{s}");
        (s["task"].as_str().unwrap().to_owned(), s["case"].as_str().unwrap().to_owned())
    };
    steps.iter().map(one).collect()
}

/// A watcher's hold that ended a minute ago.
fn hold_over(b: &TestBoard, id: &str) {
    let (since, until) = (now() - 1_000, now() - 60);
    b.add(id, "scheduled");
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', 'scheduled',
           '{{\"until\":{until},\"by\":\"heal\",\"watchbill\":{{\"v\":1,\"hold\":{{\"owner\":\"heal\",\"since\":{since},\"until\":{until}}}}}}}', {since})"
    ));
}

/// A task that was reset three times and gave up again.
fn used_up(b: &TestBoard, id: &str) {
    b.give_up(id, "pid 9 not alive", 4_000);
    b.sql(&format!("DELETE FROM task_events WHERE task_id = '{id}' AND kind = 'gave_up'"));
    let at = now() - 3_900;
    for n in 1..=3 {
        b.sql(&format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', 'unblocked',
               '{{\"by\":\"heal\",\"watchbill\":{{\"v\":1,\"reset\":{n}}}}}', {at} + {n})"
        ));
    }
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', 'gave_up',
           '{{\"failures\":2,\"limit_source\":\"dispatcher\",\"error\":\"pid 9 not alive\"}}', {at} + 10)"
    ));
}

/// One task for every case, and one for everything that must be skipped. Returns what must be done.
pub(crate) fn every_case(b: &TestBoard) -> (BTreeMap<String, String>, Vec<Kept>) {
    let mut due: BTreeMap<String, String> = BTreeMap::new();
    let mut kept = Vec::new();
    let mut is_due = |id: &str, case: &str| {
        due.insert(id.to_owned(), case.to_owned());
    };
    let (host, later) = (hostname(), now() - 1_000);

    for id in ["t_00000011", "t_00000012", "t_00000013", "t_00000014", "t_00000015"] {
        b.add(id, "ready");
    }
    b.run_it("t_00000011", Some(dead_pid()), 900);
    is_due("t_00000011", "dead-worker");
    b.run_it("t_00000012", Some(dead_pid()), 900);
    // A limit set by hand means that every death counts, whatever its cause; so the breaker trips.
    b.sql("UPDATE tasks SET consecutive_failures = 1, max_retries = 2 WHERE id = 't_00000012'");
    is_due("t_00000012", "dead-worker");
    kept.push(stranger());
    b.run_it("t_00000013", Some(kept[0].pid()), 900);
    is_due("t_00000013", "recycled-pid");
    b.run_it("t_00000014", Some(dead_pid()), 900);
    b.sql(
        "UPDATE tasks SET claim_lock = NULL, claim_expires = NULL, worker_pid = NULL WHERE id = 't_00000014'",
    );
    is_due("t_00000014", "orphan-row");
    b.run_it("t_00000015", None, 1_900);
    b.sql(&format!("UPDATE tasks SET claim_expires = {later} WHERE id = 't_00000015'"));
    is_due("t_00000015", "no-pid");

    for (id, status) in [("t_00000021", "ready"), ("t_00000022", "blocked"), ("t_00000023", "todo")] {
        b.add(id, status);
        b.sql(&format!(
            "UPDATE tasks SET claim_lock = '{host}:{}', claim_expires = {later} WHERE id = '{id}'",
            dead_pid()
        ));
        is_due(id, "leaked-claim");
    }
    b.give_up("t_00000024", "pid 9 not alive", 3_600);
    is_due("t_00000024", "crash-loop");
    b.add("t_00000025", "ready");
    b.sql("UPDATE tasks SET consecutive_failures = 1, last_failure_error = 'the author is away' WHERE id = 't_00000025'");
    is_due("t_00000025", "guard-jam");
    hold_over(b, "t_00000026");
    is_due("t_00000026", "hold-over");
    used_up(b, "t_00000027");
    is_due("t_00000027", "crash-loop");
    b.add("t_79a491c3", "ready");
    b.run_it("t_79a491c3", Some(dead_pid()), 900);
    b.log("t_79a491c3", include_str!("../fixtures/hermes-logs/r429.t_79a491c3.log"));
    let log = std::fs::File::options().write(true).open(b.path().join("kanban/logs/t_79a491c3.log")).unwrap();
    log.set_modified(SystemTime::now() - std::time::Duration::from_secs(800)).unwrap();
    is_due("t_79a491c3", "dead-worker");

    // Skipped: alive, on another host, marked by the operator, not for `heal` to decide.
    for id in ["t_00000031", "t_00000032", "t_00000033"] {
        b.add(id, "ready");
    }
    let run = b.run_it("t_00000031", None, 900);
    kept.push(worker("t_00000031", run));
    b.sql(&format!("UPDATE tasks SET worker_pid = {} WHERE id = 't_00000031'", kept[1].pid()));
    b.run_it("t_00000032", Some(dead_pid()), 900);
    b.sql("UPDATE tasks SET claim_lock = 'elsewhere:1' WHERE id = 't_00000032'");
    b.run_it("t_00000033", Some(dead_pid()), 900);
    b.sql("UPDATE tasks SET body = 'watchbill: no-heal' WHERE id = 't_00000033'");
    b.add("t_00000034", "blocked");
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000034', 'blocked', '{{\"reason\":\"wait\"}}', {later})"
    ));
    b.add("t_00000035", "scheduled");
    b.give_up("t_00000036", "pid 9 not alive", 3_600);
    b.sql("UPDATE tasks SET max_retries = 1 WHERE id = 't_00000036'");
    b.give_up("t_00000037", "HTTP 429: Rate limit reached", 3_600);
    for (id, status) in [("t_00000038", "triage"), ("t_00000039", "review"), ("t_0000003a", "done")] {
        b.add(id, status);
        b.sql(&format!(
            "UPDATE tasks SET last_failure_error = 'pid 9 not alive', claim_lock = 'x:1' WHERE id = '{id}'"
        ));
    }
    (due, kept)
}

#[test]
fn a_second_pass_right_after_the_first_changes_no_row() {
    let b = TestBoard::new();
    let (due, mut kept) = every_case(&b);
    let first = b.heal(&["--json"]);
    let report: Value = serde_json::from_str(&first.out).unwrap_or_else(|e| panic!("{e}: {first:?}"));
    assert_eq!(steps(&report), due);
    for (id, status, last) in [
        ("t_00000011", "ready", "commented"),
        ("t_00000012", "blocked", "gave_up"),
        ("t_00000024", "ready", "commented"),
        ("t_00000026", "ready", "unblocked"),
        ("t_00000027", "blocked", "watchbill_escalated"),
        ("t_79a491c3", "scheduled", "scheduled"),
    ] {
        let kinds = b.kinds(id);
        assert_eq!(
            (b.task(id, "status").as_str(), kinds.split(' ').next_back()),
            (status, Some(last)),
            "{id}: {kinds}"
        );
    }
    let rows = b.dump();
    for args in [&["--json"][..], &["--json", "-v"]] {
        let report = b.heal(args).json();
        assert_eq!(steps(&report), BTreeMap::new());
        assert!(b.dump() == rows, "a row changed");
    }
    // Not even written again, neither the board nor our own memory.
    let all = files(&b);
    b.heal(&[]).ok();
    assert_same("an idle pass", &all, &b);
    assert!(kept.iter_mut().all(Kept::is_running));
}

#[test]
fn a_second_pass_in_a_storm_of_deaths_changes_no_row() {
    let b = TestBoard::new();
    for n in 0..7 {
        b.give_up(&format!("t_{n:08x}"), "Connection error.", 1_300 + n * 5);
    }
    let first = steps(&b.heal(&["--json"]).json());
    assert_eq!(first.len(), 1, "one probe: {first:?}");
    let rows = b.dump();
    assert_eq!(steps(&b.heal(&["--json"]).json()), BTreeMap::new());
    assert!(b.dump() == rows);
}

#[test]
fn a_second_pass_on_a_board_of_our_own_changes_no_row() {
    let b = TestBoard::own();
    b.add("t_00000001", "done");
    b.add("t_00000002", "todo");
    b.sql("INSERT INTO task_links VALUES ('t_00000001', 't_00000002')");
    b.add("t_00000003", "todo");
    b.add("t_00000004", "ready");
    b.run_it("t_00000004", Some(dead_pid()), 900);
    let due = [("t_00000002", "unpromoted"), ("t_00000004", "dead-worker")];
    assert_eq!(steps(&b.heal(&["--json"]).json()), due.map(|(id, case)| (id.into(), case.into())).into());
    let rows = b.dump();
    assert_eq!(steps(&b.heal(&["--json"]).json()), BTreeMap::new());
    assert!(b.dump() == rows);
}
