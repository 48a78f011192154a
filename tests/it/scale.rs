//! A pass costs what is active, not what is stored.

use std::collections::BTreeMap;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, StatementStatus, ToSql};
use serde_json::Value;
use shared::base::time::Time;
use shared::board::Mode;
use shared::board::sqlite::SqliteBoard;
use shared::board::{BoardId, MAX_COMMENTS, MAX_EVENTS, MAX_RUNS};
use testkit::generate::{Sizes, generate};

use crate::support::{TestBoard, now};

/// A thousand open tasks, however many there are in all.
fn sizes(tasks: usize) -> Sizes {
    Sizes { tasks, running: 400, blocked: 300, ready: 300, todo: 0 }
}

/// Ten of the four hundred workers are dead.
const DEAD_SHARE: f64 = 0.025;

fn board(tasks: usize, now: i64) -> TestBoard {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("kanban.db");
    generate(&db, sizes(tasks), 7, Time(now), DEAD_SHARE).unwrap();
    TestBoard { dir, db, config: "[host]\npid_namespace = \"same\"\n".into() }
}

fn reads(b: &TestBoard) -> Vec<(&'static str, String)> {
    let id = BoardId { at: b.db.clone().into(), slug: None, root: None };
    SqliteBoard::open(id, Mode::Look, std::time::Duration::from_secs(5)).unwrap().reads()
}

#[test]
fn no_statement_scans_a_table_or_sorts_one() {
    let b = TestBoard::new();
    assert!(reads(&b).len() >= 14, "{:?}", reads(&b));
    assert_eq!(scans(&b), [""; 0]);
    // Hermes 0.19 has one more index than a board of Watchbill; it must not mislead the query planner.
    b.sql("CREATE INDEX IF NOT EXISTS idx_events_run ON task_events(run_id, id)");
    assert_eq!(scans(&b), [""; 0]);
    let own = TestBoard::own();
    assert!(reads(&own).iter().any(|(name, _)| *name == "first free"));
    assert_eq!(scans(&own), [""; 0]);
}

/// What the plans of all reading statements scan or sort.
fn scans(b: &TestBoard) -> Vec<String> {
    let conn = b.open();
    let mut bad = Vec::new();
    for (name, sql) in reads(b) {
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        // Nothing bound: every parameter is NULL, and the plan is the same.
        let mut rows = statement.raw_query();
        let mut steps = 0;
        while let Some(row) = rows.next().unwrap() {
            let detail: String = row.get("detail").unwrap();
            steps += 1;
            if detail.contains("SCAN") || detail.contains("TEMP B-TREE") || detail.contains("AUTOMATIC") {
                bad.push(format!("{name}: {detail}"));
            }
        }
        assert!(steps > 0, "{name}: no plan");
    }
    bad
}

/// What SQLite did for one statement, run to its end.
#[derive(Debug, PartialEq, Eq)]
struct Cost {
    rows: usize,
    steps: i32,
    scanned: i32,
    sorted: i32,
}

fn cost(conn: &Connection, sql: &str, values: &[&dyn ToSql]) -> Cost {
    let mut statement = conn.prepare(sql).unwrap();
    let mut rows = statement.query(values).unwrap();
    let mut n = 0;
    while rows.next().unwrap().is_some() {
        n += 1;
    }
    drop(rows);
    Cost {
        rows: n,
        steps: statement.get_status(StatementStatus::VmStep),
        scanned: statement.get_status(StatementStatus::FullscanStep),
        sorted: statement.get_status(StatementStatus::Sort)
            + statement.get_status(StatementStatus::AutoIndex),
    }
}

/// The task whose statements are counted.
const WATCHED: &str = "t_5ca1ab1e";

/// The same end on every board: one task with a history, and windows of events and runs that are full of other tasks' rows.
fn same_end(b: &TestBoard, now: i64) {
    let many = |n: u32, from: u32| {
        format!(
            "WITH RECURSIVE n(i) AS (SELECT {from} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {from} + {n})"
        )
    };
    b.sql(&format!(
        "INSERT INTO tasks (id, title, body, status, created_at) VALUES
           ('{WATCHED}', 'Watched', 'b', 'done', {now}), ('t_5ca1ab1f', 'Child', 'b', 'done', {now}),
           ('t_5ca1ab10', 'Parent', 'b', 'done', {now}), ('t_5ca1ab11', 'Other', 'b', 'done', {now});
         INSERT INTO tasks (id, title, status, created_at, idempotency_key) VALUES
           ('t_5ca1ab12', '[BLOCKED] {WATCHED} rate_limited', 'archived', {now}, 'distress:{WATCHED}:rate_limit:1');
         INSERT INTO tasks (id, title, status, assignee, created_at) VALUES ('t_5ca1ab13', 'Next', 'ready', 'solveig', {now});
         INSERT INTO task_links VALUES ('{WATCHED}', 't_5ca1ab13');
         INSERT INTO task_links VALUES ('t_5ca1ab10', '{WATCHED}'), ('t_5ca1ab12', '{WATCHED}'), ('{WATCHED}', 't_5ca1ab1f');
         {runs} INSERT INTO task_runs (task_id, status, started_at, ended_at) SELECT '{WATCHED}', 'done', {now} - i * 60, {now} FROM n;
         {events} INSERT INTO task_events (task_id, kind, payload, created_at)
           SELECT '{WATCHED}', iif(i % 3 = 0, 'heartbeat', 'commented'), NULL, {now} - 400 + i FROM n;
         {comments} INSERT INTO task_comments (task_id, author, body, created_at) SELECT '{WATCHED}', 'rosa', 'b', {now} - i FROM n;
         {window} INSERT INTO task_events (task_id, kind, created_at) SELECT 't_5ca1ab11', 'commented', {now} - i FROM n;
         {window} INSERT INTO task_runs (task_id, status, started_at) SELECT 't_5ca1ab11', 'done', {now} - i FROM n;",
        runs = many(7, 0),
        events = many(300, 0),
        comments = many(20, 0),
        window = many(4_000, 0),
    ));
}

/// The cost of every reading statement, with values a pass uses, for one task.
fn costs(b: &TestBoard, now: i64) -> BTreeMap<String, Cost> {
    let conn = b.open();
    // As a pass has it: else SQLite plans anew for each value.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
    let running = WATCHED.to_owned();
    let (from, to) = (format!("distress:{running}:"), format!("distress:{running};"));
    let (since, window) = (now - 7_200, 4_000);
    let newest = conn.query_row("SELECT max(id) FROM task_events", [], |r| r.get::<_, i64>(0)).unwrap();
    let after = newest - window;
    let mut all = BTreeMap::new();
    for (name, sql) in reads(b) {
        if name == "glance" {
            for status in ["running", "blocked", "ready", "todo", "scheduled"] {
                all.insert(format!("glance {status}"), cost(&conn, &sql, &[&status]));
            }
            continue;
        }
        let values: &[&dyn ToSql] = match name {
            "runs" => &[&running, &(MAX_RUNS as i64)],
            "task events" | "task turns" => &[&running, &(MAX_EVENTS as i64)],
            "comments" => &[&running, &(MAX_COMMENTS as i64)],
            "markers" => &[&running, &"watchbill:%"],
            "board events" | "turns" => &[&after, &newest, &since],
            "latest" => &[&after, &newest],
            "ended" => &[&window, &since],
            "coordinated" => &[&after, &1_000],
            "recent runs" => &[&window],
            "cards" => &[&from, &to],
            "free" | "any free" => &[&"solveig", &"ready"],
            "history" => &[],
            "key" => &[&"distress:t_00000000:rate_limit:1"],
            _ => &[&running],
        };
        all.insert(name.to_owned(), cost(&conn, &sql, values));
    }
    all
}

#[test]
fn every_statement_costs_the_same_however_much_is_stored() {
    let now = now();
    let [few, many] = [10_000, 100_000].map(|tasks| {
        let b = board(tasks, now);
        same_end(&b, now);
        costs(&b, now)
    });
    assert_eq!(few, many, "ten times the board, and not one step more");
    for (name, cost) in &many {
        assert_eq!((cost.scanned, cost.sorted), (0, 0), "{name}: {cost:?}");
    }
    for (state, n) in [("running", 400), ("blocked", 300), ("ready", 301), ("todo", 0), ("scheduled", 0)] {
        assert_eq!(many[&format!("glance {state}")].rows, n, "{state}");
    }
    for (name, rows) in [
        ("free", 1),
        ("titled", 1),
        ("recent runs", 4_000),
        ("board events", 4_000),
        ("runs", 7),
        ("task events", 200),
        ("comments", 20),
        ("parents", 2),
        ("cards", 1),
        ("children", 2),
    ] {
        assert_eq!(many[name].rows, rows, "{name}");
    }
}

#[test]
fn a_pass_over_a_hundred_thousand_tasks_reads_only_what_is_active() {
    let now = now();
    let large = board(100_000, now);
    // A pass looks closely at the ten dead, at the hundred that the breaker gave up and at the 390 at work, whose heartbeats
    // say nothing of how they fare; it changes the ten.
    let before: i64 = large.value("SELECT max(id) FROM task_events").parse().unwrap();
    let dead: Vec<String> = ids(&large, "SELECT id FROM tasks WHERE worker_pid >= 5000000 ORDER BY id");
    let at = now.to_string();
    let args = ["--db", large.db.to_str().unwrap(), "--now", &at, "--json"];
    let looked = large.heal(&[&args[..], &["-n", "-v"]].concat()).json();
    assert_eq!(looked["boards"][0]["seen"]["tasks"].as_array().unwrap().len(), 500);
    let report = large.heal(&args).json();
    let steps = report["boards"][0]["steps"].as_array().unwrap();
    let mut healed: Vec<&str> =
        steps.iter().filter(|s| outcome(s) == "applied").filter_map(|s| s["task"].as_str()).collect();
    healed.sort_unstable();
    assert_eq!((healed, steps.len()), (dead.iter().map(String::as_str).collect(), 10));

    assert_eq!(large.value("SELECT count(*) FROM tasks WHERE status = 'running'"), "390");
    assert_eq!(
        ids(
            &large,
            "SELECT DISTINCT id FROM tasks WHERE status = 'ready' AND id IN
        (SELECT task_id FROM task_runs WHERE error = 'worker gone (heal)') ORDER BY id"
        ),
        dead
    );
    let touched = format!("SELECT DISTINCT task_id FROM task_events WHERE id > {before} ORDER BY 1");
    assert_eq!(ids(&large, &touched), dead, "nobody else's history grew");
    assert_eq!(large.value("SELECT count(*) FROM task_runs WHERE ended_at IS NULL"), "390");
    assert_eq!(large.value("SELECT count(*) FROM tasks"), "100000");
    assert!(large.heal(&args).json()["boards"][0]["steps"].as_array().unwrap().is_empty());
}

/// The word of a step's outcome, which a report gives as a word or under its name.
fn outcome(step: &Value) -> &str {
    step["outcome"].as_str().or(step["outcome"]["outcome"].as_str()).unwrap_or("none")
}

fn ids(b: &TestBoard, sql: &str) -> Vec<String> {
    let conn = b.open();
    let mut statement = conn.prepare(sql).unwrap();
    statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
}
