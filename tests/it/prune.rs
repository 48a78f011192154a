//! `board prune`: what is over for long goes, and nothing that something open needs.

use std::collections::BTreeSet;

use testkit::pruning::{GOES, KEPT, REST, ROWS, rows};

use crate::dry::unchanged;
use crate::support::{Ran, TestBoard, now, ran};

fn prune(b: &TestBoard, flags: &[&str]) -> Ran {
    b.hand(&[&["prune", "--older-than", "90d"], flags].concat())
}

fn full() -> TestBoard {
    let b = TestBoard::own();
    b.sql(&rows(now()));
    b.sql("INSERT INTO task_attachments (task_id, filename, stored_path, created_at) VALUES ('t_a0000001', 'a', '/a', 1)");
    b
}

fn ids(b: &TestBoard) -> BTreeSet<String> {
    let conn = b.open();
    let mut statement = conn.prepare("SELECT id FROM tasks").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn count(b: &TestBoard, of: &str) -> i64 {
    b.open().query_row(&format!("SELECT count(*) FROM {of}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn what_is_over_for_long_goes_from_a_file_too() {
    let b = full();
    let all = || GOES.into_iter().chain(KEPT).chain(REST).map(str::to_owned);
    let [comments, events, runs] = ROWS;
    unchanged(&b, "board prune -n", || {
        let told = prune(&b, &["-n", "--json"]).json();
        for (field, many) in [
            ("tasks", GOES.len() as i64),
            ("comments", comments),
            ("events", events),
            ("runs", runs),
            ("kept", KEPT.len() as i64),
        ] {
            assert_eq!(told[field], many, "{field}: {told}");
        }
        assert_eq!((&told["dry_run"], &told["board"]), (&true.into(), &b.db.to_str().unwrap().into()));
    });
    assert_eq!(ids(&b), all().collect());
    let said = prune(&b, &[]).ok();
    let sum = "9 tasks, 2 comments, 8 events, 2 attempts; 9 tasks as old stay\n";
    assert!(said.starts_with("removed from ") && said.ends_with(sum) && said.lines().count() == 1, "{said}");
    assert_eq!(ids(&b), all().skip(GOES.len()).collect());
    let left = ["task_comments", "task_events", "task_runs", "task_links", "task_attachments"];
    assert_eq!(left.map(|table| count(&b, table)), [1, 1, 2, 3, 0]);
    let said = prune(&b, &[]).ok();
    assert!(said.contains(": 0 tasks, 0 comments, 0 events, 0 attempts; 9 tasks as old stay"), "{said}");
    assert!(b.heal(&[]).code < 2);
}

/// The newest event of the board may be one of a task that goes: that does not mean an older board in its place.
#[test]
fn a_board_that_lost_its_newest_events_to_prune_is_no_other_one() {
    let b = TestBoard::own();
    b.add("t_00000001", "ready");
    let old = now() - 100 * 86_400;
    b.sql(&format!(
        "INSERT INTO tasks (id, title, status, created_at) VALUES ('t_00000002', 'Old', 'done', {old});
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
         INSERT INTO task_events (task_id, kind, created_at) SELECT 't_00000002', 'commented', {old} FROM n"
    ));
    b.heal(&[]).ok();
    assert!(prune(&b, &[]).ok().contains(": 1 task, 0 comments, 500 events, 0 attempts\n"));
    let after = ran(b.command("watchbill").args(["doctor", "--json", "--db"]).arg(&b.db));
    assert!(!after.out.contains("board-replaced"), "{after:?}");
    let pass = b.heal(&[]);
    assert!(pass.code == 0 && !pass.err.contains("another board"), "{pass:?}");
}

#[test]
fn a_board_of_hermes_a_worker_and_a_short_time_are_refused() {
    let hermes = TestBoard::new();
    hermes.add("t_00000001", "done");
    unchanged(&hermes, "board prune of a board of Hermes", || {
        for flags in [&[][..], &["-n"]] {
            let said = prune(&hermes, flags).fails(1);
            assert!(said.contains("is a board of Hermes: Hermes alone removes its tasks"), "{said}");
        }
    });
    let b = full();
    for (time, what) in [
        ("6d", "must be at least 7d"),
        ("3M", "counts months or years, and minutes are a small `m`"),
        ("90", "has no unit"),
    ] {
        let r = b.hand(&["prune", "--older-than", time]);
        assert!(r.code == 2 && r.err.contains(what), "{r:?}");
    }
    assert_eq!(b.hand(&["prune"]).code, 2, "nobody removes by a time that was not named");
    let mut command = b.command("board");
    command.args(["prune", "--older-than", "90d", "--db"]).arg(&b.db);
    let said = ran(command.env("HERMES_KANBAN_TASK", "t_d0000001")).fails(1);
    assert!(said.contains("t_d0000001: a worker removes no tasks"), "{said}");
    assert_eq!(ids(&b).len(), GOES.len() + KEPT.len() + REST.len());
}
