//! A board whose file is damaged: named with what to do, never written, and looked at again once it is repaired.

use std::os::unix::fs::FileExt;
use std::process::Command;

use crate::support::{TestBoard, dead_pid, program, ran};
use crate::tools;

/// A board with work to do for `heal`, of which an index lacks entries: as a split leaves it (Hermes 0.19, ended by TERM).
pub fn with_bad_index() -> TestBoard {
    let b = TestBoard::new();
    unindexed(&b, &["t_00000001", "t_00000002"]);
    b
}

/// Adds tasks whose workers are gone, of which an index knows nothing.
fn unindexed(b: &TestBoard, ids: &[&str]) {
    let index = "idx_tasks_status";
    let root: i64 =
        b.value(&format!("SELECT rootpage FROM sqlite_schema WHERE name = '{index}'")).parse().unwrap();
    let sql = b.value(&format!("SELECT sql FROM sqlite_schema WHERE name = '{index}'"));
    b.sql(&format!("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = '{index}'"));
    for id in ids {
        b.add(id, "ready");
        b.run_it(id, Some(dead_pid()), 3_000);
    }
    b.sql(&format!(
        "PRAGMA writable_schema = ON;
         INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('index', '{index}', 'tasks', {root}, '{sql}')"
    ));
}

/// The copy that Hermes leaves when it refuses a board.
fn refused_by_hermes(b: &TestBoard, token: &str) {
    std::fs::copy(&b.db, b.path().join(format!("kanban.db.corrupt.{token}.bak"))).unwrap();
}

/// Every watcher refuses the board, and nothing of it changes.
#[track_caller]
fn refused(b: &TestBoard, what: &str) {
    let (rows, bytes) =
        (|| b.value("SELECT count(*) FROM task_events NOT INDEXED"), || std::fs::read(&b.db).unwrap());
    let before = (rows(), bytes());
    for name in shared::base::registry::NAMES.iter().copied() {
        for args in [&[][..], &["--task", "t_00000001"], &["--dry-run"]] {
            if name == "budget-check" && !args.is_empty() {
                continue;
            }
            let said = ran(b.command(name).args(args)).fails(65);
            assert!(said.contains(what) && said.contains("damaged"), "{name}: {said}");
            assert!(said.contains("REINDEX"), "{name}: {said}");
        }
    }
    let said = b.hand(&["comment", "t_00000001", "one more lantern"]);
    assert_eq!(said.code, 65, "{said:?}");
    assert_eq!((rows(), bytes() == before.1), (before.0, true), "a damaged board was written");
}

#[test]
fn a_board_that_hermes_refuses_is_not_written_until_it_is_repaired() {
    let b = with_bad_index();
    refused_by_hermes(&b, "0123456789abcdef");
    refused(&b, "wrong # of entries in index idx_tasks_status");
    // Also where a user removed the copies.
    std::fs::remove_file(b.path().join("kanban.db.corrupt.0123456789abcdef.bak")).unwrap();
    refused(&b, "wrong # of entries");

    b.sql("REINDEX");
    refused_by_hermes(&b, "0123456789abcdef");
    b.heal(&[]).ok();
    assert_eq!(b.task("t_00000001", "status"), "ready", "repaired, and an old copy stops nobody");
}

#[test]
fn a_board_that_doctor_found_damaged_is_not_written() {
    let b = with_bad_index();
    let said = tools::run(&b, &["doctor"]);
    assert!(said.out.contains("board-damaged") && said.out.contains("nothing is written here"), "{said:?}");
    // No copy of Hermes and no failed pass: doctor alone knows.
    refused(&b, "wrong # of entries in index idx_tasks_status");
    let said = tools::run(&b, &["check"]);
    assert!(said.code == 2 && said.out.contains("wrong # of entries"), "{said:?}");
    b.sql("REINDEX");
    b.heal(&[]).ok();
    assert_eq!(b.task("t_00000001", "status"), "ready", "repaired");
}

#[test]
fn why_of_a_damaged_board_begins_with_the_damage_and_offers_no_unblock() {
    let b = with_bad_index();
    assert_eq!(tools::run(&b, &["doctor"]).code, 1);
    let said = tools::run(&b, &["why", "t_00000001"]).ok();
    let first = said.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("t_00000001 is ") && first.contains("this board is damaged (wrong # of"),
        "{said}"
    );
    assert!(said.contains("REINDEX") && !said.contains("unblock"), "{said}");
    // A count from a damaged index is not reported.
    let said = tools::run(&b, &["report"]);
    assert!(said.code == 1 && said.err.contains("wrong # of entries"), "{said:?}");
    assert!(!said.out.contains("0 running"), "{said:?}");
}

/// What Hermes prints of a tool whose error it cuts.
const REFUSED: &str = "  ┊ ⚡ kanban_complete  0.1s [kanban_complete: Refusing to open corrupt kan...]";

#[test]
fn the_last_words_of_a_worker_that_hermes_refused_have_the_board_checked() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    b.run_it("t_00000001", Some(dead_pid()), 3_000);
    unindexed(&b, &["t_00000002"]);
    let log = format!("Query: work kanban task t_00000001\nInitializing agent...\n{REFUSED}\n");
    b.log("t_00000001", &log);
    // Nothing else gives the first pass a reason; it reads the log of a worker that is gone.
    b.heal(&[]).ok();
    let said = b.heal(&[]).fails(65);
    assert!(said.contains("wrong # of entries"), "{said}");
    b.sql("REINDEX");
    let doubts = || {
        let conn = rusqlite::Connection::open(b.path().join("state/watchbill/state.db")).unwrap();
        let sql = "SELECT count(*) FROM sightings WHERE key LIKE 'damage:doubt:%'";
        conn.query_row(sql, [], |r| r.get::<_, i64>(0)).unwrap()
    };
    b.heal(&[]).ok();
    b.heal(&[]).ok();
    assert_eq!(doubts(), 0, "its words are a reason once");

    let file = b.path().join("kanban/logs/t_00000001.log");
    let said = ran(Command::new(program("watchbill")).arg("match").arg(file)).ok();
    assert!(said.contains("board: refused by Hermes on line 3, its file is damaged"), "{said}");
    assert!(!said.contains("no failure that is understood"), "{said}");
}

#[test]
fn a_page_that_cannot_be_read_stops_the_passes_until_somebody_repairs_it() {
    let b = with_bad_index();
    b.sql("REINDEX; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
    let root: u64 = b.value("SELECT rootpage FROM sqlite_schema WHERE name = 'tasks'").parse().unwrap();
    let size: u64 = b.value("PRAGMA page_size").parse().unwrap();
    let file = std::fs::File::options().write(true).open(&b.db).unwrap();
    file.write_all_at(&[0x55; 200], (root - 1) * size).unwrap();
    let said = b.heal(&[]).fails(65);
    assert!(said.contains("damaged (") && said.contains("malformed"), "{said}");
    let said = tools::run(&b, &["doctor"]);
    assert!(said.out.contains("error    board-damaged"), "{said:?}");
}

#[test]
fn doctor_and_check_name_a_damaged_board() {
    let b = with_bad_index();
    let said = tools::run(&b, &["doctor"]);
    assert_eq!(said.code, 1, "{said:?}");
    let line = said.out.lines().find(|l| l.contains("board-damaged")).unwrap_or_else(|| panic!("{said:?}"));
    assert!(
        line.starts_with("error") && line.contains("wrong # of entries in index idx_tasks_status"),
        "{line}"
    );
    assert!(said.out.contains("REINDEX"), "{said:?}");
    assert!(!said.out.contains("board-found"), "{said:?}");
    refused_by_hermes(&b, "0123456789abcdef");
    let said = tools::run(&b, &["check"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(
        said.out.starts_with("WATCHBILL CRITICAL") && said.out.contains("wrong # of entries"),
        "{said:?}"
    );
}

#[test]
fn a_board_that_is_damaged_only_where_its_tasks_are_read_is_told() {
    let b = TestBoard::new();
    b.add("t_00000001", "blocked");
    let long = "c".repeat(400);
    for _ in 0..40 {
        b.sql(&format!(
            "INSERT INTO task_comments (task_id, author, body, created_at) VALUES ('t_00000001', 'me', '{long}', 1)"
        ));
    }
    b.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let page: u64 =
        b.value("SELECT rootpage FROM sqlite_schema WHERE name = 'task_comments'").parse().unwrap();
    let size: u64 = b.value("PRAGMA page_size").parse().unwrap();
    let file = std::fs::File::options().write(true).open(&b.db).unwrap();
    file.write_all_at(&vec![0xff; size as usize], (page - 1) * size).unwrap();
    for (program, code) in [("status", 1), ("check", 2)] {
        let said = tools::run(&b, &[program]);
        assert_eq!(said.code, code, "{said:?}");
        assert!(
            said.out.contains("default: this board is damaged (database disk image is malformed)"),
            "{said:?}"
        );
    }
    let said = tools::run(&b, &["doctor"]);
    assert!(said.code == 1 && said.out.contains("board-damaged"), "{said:?}");
}

#[test]
fn a_well_board_is_checked_once_for_a_copy_and_then_left_alone() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    refused_by_hermes(&b, "0123456789abcdef");
    b.heal(&[]).ok();
    let known = || {
        let conn = rusqlite::Connection::open(b.path().join("state/watchbill/state.db")).unwrap();
        conn.query_row("SELECT count(*) FROM sightings WHERE key LIKE 'damage:%'", [], |r| r.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(known(), 1, "the copy is answered for, and nothing is doubted");
    b.heal(&[]).ok();
    assert_eq!(known(), 1);
}
