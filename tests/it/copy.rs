//! `board copy`: a board moved to another place, whole or not at all.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use shared::base::time::Time;
use testkit::generate::{Sizes, generate};

use crate::dry::unchanged;
use crate::hermes::home::Home;
use crate::support::{Kept, Ran, TestBoard, now, ran, until};
use crate::wrong_inputs::as_nobody;

const TABLES: [&str; 5] = ["tasks", "task_runs", "task_events", "task_comments", "task_links"];

fn copy(b: &TestBoard, to: &Path, flags: &[&str]) -> Ran {
    ran(b.command("board").arg("copy").arg(&b.db).arg(to).args(flags))
}

/// Every row that a copy has, and the numbers that the tables gave last; of these columns, or of all.
fn rows(db: &Path, columns: Option<&[&str]>) -> Vec<String> {
    let conn = Connection::open(db).unwrap();
    let mut all = Vec::new();
    let chosen = columns.map_or_else(|| "*".to_owned(), |columns| columns.join(", "));
    for table in TABLES.into_iter().chain(["sqlite_sequence"]) {
        let columns = if table == "tasks" { &chosen } else { "*" };
        let filter = if table == "sqlite_sequence" { "WHERE name LIKE 'task_%s' AND seq > 0" } else { "" };
        let mut statement = conn.prepare(&format!("SELECT {columns} FROM {table} {filter}")).unwrap();
        let n = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<_> = (0..n).map(|i| format!("{:?}", row.get_ref(i).unwrap())).collect();
            all.push(format!("{table}: {}", values.join(" | ")));
        }
    }
    all.sort();
    all
}

fn count(db: &Path) -> i64 {
    let conn = Connection::open(db).unwrap();
    TABLES
        .iter()
        .map(|t| conn.query_row(&format!("SELECT count(*) FROM {t}"), [], |r| r.get::<_, i64>(0)).unwrap())
        .sum()
}

/// A board with something in every column, a task in every state, and texts that are longer than a pass would read.
fn full() -> TestBoard {
    let b = TestBoard::own();
    for (nth, state) in
        ["triage", "todo", "scheduled", "ready", "blocked", "review", "done", "archived"].iter().enumerate()
    {
        b.add(&format!("t_0000000{nth}"), state);
    }
    b.sql(
        "INSERT INTO task_links VALUES ('t_00000003', 't_00000001'), ('t_00000006', 't_00000001');
         INSERT INTO task_comments (task_id, author, body, created_at) VALUES ('t_00000001', 'luna', printf('%.*c', 2000000, 'x'), 8);
         INSERT INTO task_runs (task_id, profile, step_key, status, claim_lock, claim_expires, worker_pid, max_runtime_seconds,
           last_heartbeat_at, started_at, ended_at, outcome, summary, metadata, error)
           VALUES ('t_00000001', 'luna', 's', 'crashed', 'h:1', 2, 3, 4, 5, 6, 7, 'crashed', 'it''s', '{', 'é');
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES
           ('t_00000001', 1, 'heartbeat', 'no JSON', 9), ('t_00000001', NULL, 'of another program', NULL, 10);
         DELETE FROM task_events WHERE created_at = 10;",
    );
    let conn = b.open();
    let mut columns = conn.prepare("SELECT name, type FROM pragma_table_info('tasks')").unwrap();
    let columns = columns.query_map([], |r| Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?))).unwrap();
    for (nth, column) in columns.enumerate() {
        let (name, kind) = column.unwrap();
        if !["id", "status", "claim_lock"].contains(&name.as_str()) {
            let value = if kind == "INTEGER" { (100 + nth).to_string() } else { format!("'{name} in full'") };
            conn.execute_batch(&format!("UPDATE tasks SET {name} = {value} WHERE id = 't_00000001'"))
                .unwrap();
        }
    }
    b
}

/// What pauses a board: that it was moved, or its folder.
pub(crate) fn pause(b: &TestBoard) -> Option<String> {
    let files = ["kanban.db.watchbill.pause", "watchbill.pause"].map(|name| b.path().join(name));
    files.iter().find_map(|file| std::fs::read_to_string(file).ok())
}

/// An answer on the file that was left would be lost.
#[test]
fn what_waits_for_a_person_is_told_of_the_moved_board_where_it_is_now() {
    let b = TestBoard::own();
    b.add("t_00000001", "ready");
    let db = b.db.to_str().unwrap().to_owned();
    let hand = |args: &[&str]| ran(b.command("board").args(["--db", &db]).args(args)).ok();
    hand(&["block", "t_00000001", "--kind", "needs_input", "MIT?"]);
    let status = || ran(b.command("watchbill").args(["status", "--db", &db])).out;
    assert!(status().contains(" comment t_00000001 "), "{}", status());
    let to = b.path().join("new/night.db");
    copy(&b, &to, &[]).ok();
    let said = status();
    let asks = |l: &&str| {
        l.starts_with("! default: ") && l.ends_with("1 task needs a person there: answer nothing here")
    };
    assert!(said.contains("moved to ") && said.lines().filter(asks).count() == 1, "{said}");
    assert!(!said.contains(" comment t_00000001 ") && said.contains("unpause --db "), "{said}");
}

/// The first page of a board is written before its tables: where the disk is full then, it is left without any.
#[test]
fn a_board_whose_making_failed_can_be_made_again() {
    let b = TestBoard::own();
    let at = b.path().join("half.db");
    Connection::open(&at).unwrap().execute_batch("PRAGMA journal_mode = WAL").unwrap();
    assert!(at.metadata().unwrap().len() > 0);
    let init = || ran(b.command("board").arg("init").arg(&at));
    init().ok();
    assert!(init().fails(1).contains("already exists"));
    let other = b.path().join("other.db");
    for is in ["CREATE TABLE a (b)", "PRAGMA application_id = 12345", "PRAGMA user_version = 7"] {
        let _ = std::fs::remove_file(&other);
        Connection::open(&other).unwrap().execute_batch(is).unwrap();
        let before = std::fs::read(&other).unwrap();
        assert!(ran(b.command("board").arg("init").arg(&other)).fails(1).contains("already exists"), "{is}");
        assert_eq!(std::fs::read(&other).unwrap(), before, "{is}");
    }
}

#[test]
fn a_board_is_copied_whole_and_the_old_one_stays_paused() {
    let b = full();
    let before = rows(&b.db, None);
    let to = b.path().join("new/night.db");
    unchanged(&b, "a dry run", || {
        let said = copy(&b, &to, &["-n"]).ok();
        assert!(said.starts_with("would copy ") && said.contains("8 tasks, 2 links, 1 comments, "), "{said}");
        assert!(!to.exists());
    });
    let said = copy(&b, &to, &[]).ok();
    assert!(
        said.starts_with("copied ") && said.contains(&format!("is paused: moved to {}", to.display())),
        "{said}"
    );
    assert!(!said.contains("not copied") && !said.contains("Hermes"), "{said}");
    assert_eq!((rows(&to, None), rows(&b.db, None)), (before.clone(), before));

    let held = b.heal(&["--db", b.db.to_str().unwrap()]).fails(75);
    assert!(held.contains("moved to "), "{held}");
    let added = ran(b.command("board").args(["add", "more", "--db"]).arg(&to)).ok();
    assert!(count(&to) > count(&b.db), "{added}");
    let kept = pause(&b);
    let refused = copy(&b, &to, &[]).fails(1);
    assert!(refused.contains("not empty"), "{refused}");
    assert_eq!(pause(&b), kept);
    // Two boards would be worked on in its place.
    let third = b.path().join("third/night.db");
    for flags in [&[][..], &["-n"]] {
        let refused = copy(&b, &third, flags).fails(1);
        let was = format!("was moved to {}; nothing was copied", to.display());
        assert!(refused.contains(&was) && refused.contains("watchbill unpause --db "), "{refused}");
    }
    assert!(!third.exists());
    assert_eq!(pause(&b), kept);
    ran(b.command("watchbill").args(["unpause", "--db"]).arg(&b.db)).ok();
    let json = copy(&b, &third, &["--json"]).json();
    assert_eq!(
        (&json["tasks"], &json["dry_run"], &json["left_out"]),
        (&8.into(), &false.into(), &serde_json::json!({}))
    );
}

#[test]
fn a_moved_board_is_paused_and_no_other_board_of_its_folder() {
    let b = TestBoard::own();
    b.add("t_00000001", "todo");
    let [beside, to, link] = ["beside.db", "to.db", "link.db"].map(|name| b.path().join(name));
    ran(b.command("board").arg("init").arg(&beside)).ok();
    copy(&b, &to, &[]).ok();
    std::os::unix::fs::symlink(&b.db, &link).unwrap();
    for (db, is_paused) in [(&b.db, true), (&link, true), (&beside, false), (&to, false)] {
        let held = b.heal(&["--db", db.to_str().unwrap()]);
        assert_eq!((held.code == 75, held.err.contains("moved to ")), (is_paused, is_paused), "{held:?}");
    }
}

#[test]
fn a_board_is_not_copied_twice_at_once() {
    let b = TestBoard::own();
    b.add("t_00000001", "todo");
    let other = std::fs::File::open(b.path()).unwrap();
    rustix::fs::flock(&other, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let to = b.path().join("new/night.db");
    assert!(copy(&b, &to, &[]).fails(75).contains("another copy of a board of its folder is at work"));
    assert!(!to.exists() && pause(&b).is_none());
    drop(other);
    copy(&b, &to, &[]).ok();
}

#[test]
fn a_board_with_running_tasks_is_not_copied_unless_they_are_left() {
    let b = TestBoard::own();
    for id in ["t_00000001", "t_00000002"] {
        b.add(id, "ready");
    }
    let run = b.run_it("t_00000001", None, 60);
    let to = b.path().join("new/night.db");
    for flags in [&[][..], &["-n"]] {
        let refused = copy(&b, &to, flags).fails(1);
        assert!(
            refused.contains("1 task is still running (t_00000001)") && refused.contains("--leave-running"),
            "{refused}"
        );
    }
    assert!(!to.exists() && pause(&b).is_none());
    let said = copy(&b, &to, &["--leave-running"]).ok();
    assert!(said.contains("1 task is running at ") && said.contains(", and ready at "), "{said}");
    let there = TestBoard { dir: tempfile::tempdir().unwrap(), db: to, config: String::new() };
    assert_eq!(
        there.task("t_00000001", "status || ifnull(claim_lock, '-') || ifnull(current_run_id, '-')"),
        "ready--"
    );
    assert_eq!(
        there.value(&format!("SELECT outcome || (ended_at > 0) FROM task_runs WHERE id = {run}")),
        "reclaimed1"
    );
    assert_eq!(there.kinds("t_00000001"), "created claimed reclaimed");
    assert_eq!(there.payload("t_00000001", "reclaimed")["by"], "board");
    assert_eq!(there.kinds("t_00000002"), "created");
    assert_eq!(b.task("t_00000001", "status"), "running", "of the old board nothing is changed");
    there.hand(&["claim", "t_00000001", "--worker", "luna"]).ok();
}

#[test]
fn nothing_is_copied_onto_a_board_of_hermes_or_itself() {
    let (b, hermes) = (full(), TestBoard::new());
    let refused = copy(&b, &hermes.db, &[]).fails(65);
    assert!(refused.contains("board of Hermes"), "{refused}");
    assert_eq!((count(&hermes.db), pause(&b)), (0, None));
    let refused = copy(&b, &b.db, &[]).fails(2);
    assert!(refused.contains("the same board"), "{refused}");
    let link = b.path().join("link.db");
    std::os::unix::fs::symlink(&b.db, &link).unwrap();
    assert!(copy(&b, &link, &[]).fails(2).contains("the same board"));
    let missing = ran(b.command("board").args(["copy", "nothing.db", "new/night.db"])).fails(66);
    assert!(missing.contains("no such board") && !b.path().join("new/night.db").exists(), "{missing}");
}

#[test]
fn of_a_copy_that_fails_nothing_is_left_and_the_pause_is_as_it_was() {
    let b = full();
    let to = b.path().join("new/night.db");
    ran(b.command("board").arg("init").arg(&to)).ok();
    let other = Connection::open(&to).unwrap();
    // Links are written last.
    other
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON task_links BEGIN SELECT RAISE(ABORT, 'no more room'); END",
        )
        .unwrap();
    let failed = copy(&b, &to, &[]).fails(65);
    assert!(failed.contains("no more room"), "{failed}");
    assert_eq!((count(&to), pause(&b)), (0, None));
    ran(b.command("watchbill").args(["pause", "--reason", "the cellar is wet", "--db"]).arg(&b.db)).ok();
    let kept = pause(&b);
    copy(&b, &to, &[]).fails(65);
    assert_eq!((count(&to), pause(&b)), (0, kept));
    other.execute_batch("DROP TRIGGER full").unwrap();
    let said = copy(&b, &to, &[]).ok();
    assert_eq!(rows(&to, None), rows(&b.db, None));
    // The reason of the earlier pause stays readable.
    let both = format!("moved to {}; before that paused", to.display());
    let kept = pause(&b).unwrap();
    for text in [&said, &kept] {
        assert!(text.contains(&both) && text.contains(": the cellar is wet"), "{text}");
    }
}

#[test]
fn a_board_that_may_not_be_paused_is_refused_before_anything_is_made() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (b, other) = (full(), tempfile::tempdir().unwrap());
    for (path, mode) in [(b.path(), 0o755), (other.path(), 0o777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let (from, to) = (b.db.display().to_string(), other.path().join("new/night.db"));
    for flags in [&["-n"][..], &[]] {
        let args = [&["copy", &from, to.to_str().unwrap()], flags].concat();
        let refused = as_nobody(&b, "board", &args).fails(77);
        assert!(refused.contains("watchbill.pause: cannot be written; nothing was changed"), "{refused}");
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0, "{flags:?}");
    }
    // Something else has the name of the pause.
    std::fs::create_dir(b.path().join("watchbill.pause")).unwrap();
    for flags in [&["-n"][..], &[]] {
        assert!(copy(&b, &to, flags).fails(74).contains("not a plain file"));
        assert!(!to.exists(), "{flags:?}");
    }
}

#[test]
fn of_a_copy_that_is_killed_nothing_is_left_and_it_can_be_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("kanban.db");
    let sizes = Sizes { tasks: 10_000, running: 0, blocked: 50, ready: 50, todo: 50 };
    generate(&db, sizes, 7, Time(now()), 0.0).unwrap();
    let b = TestBoard { dir, db, config: String::new() };
    let (to, log) = (b.path().join("new/night.db"), b.path().join("new/night.db-wal"));
    ran(b.command("board").arg("init").arg(&to)).ok();
    let mut command = b.command("board");
    let mut copying = Kept(command.arg("copy").arg(&b.db).arg(&to).spawn().unwrap());
    until("it writes", || log.metadata().is_ok_and(|m| m.len() > 1 << 20));
    assert!(copying.is_running());
    copying.kill();
    assert_eq!(count(&to), 0);
    assert!(pause(&b).unwrap().contains("moved to "));
    let said = copy(&b, &to, &[]).ok();
    assert!(said.contains("10000 tasks") && said.contains("stop its gateway"), "{said}");
    assert_eq!(rows(&to, None), rows(&b.db, None));
}

#[test]
fn what_no_copy_has_is_told() {
    let b = full();
    b.sql(
        "INSERT INTO task_links VALUES ('t_00000001', 't_gone'), ('t_00000002', 't_00000002');
         INSERT INTO task_attachments (task_id, filename, stored_path, created_at) VALUES ('t_00000001', 'a', '/a', 1);
         ALTER TABLE tasks ADD COLUMN worker_started_at TEXT; ALTER TABLE tasks ADD COLUMN mood TEXT;
         ALTER TABLE tasks ADD COLUMN provider_override TEXT;
         UPDATE tasks SET worker_started_at = 'x', mood = 'calm', provider_override = 'anthropic' WHERE id = 't_00000001';",
    );
    let to: PathBuf = b.path().join("new/night.db");
    let said = copy(&b, &to, &[]).ok();
    let told = "not copied: 1 tasks.mood, 1 attachments, 2 links of tasks that are not there\n";
    assert!(said.contains(told), "{said}");
    let value: String = Connection::open(&to)
        .unwrap()
        .query_row("SELECT provider_override FROM tasks WHERE id = 't_00000001'", [], |r| r.get(0))
        .unwrap();
    assert_eq!(value, "anthropic");
}

#[test]
fn a_board_of_the_real_hermes_is_copied_and_hermes_reads_the_copy() {
    let Some(home) = Home::new() else { return };
    let first = home.create(&["--priority", "4", "--idempotency-key", "night-1"]);
    let second = home.create(&["--parent", &first]);
    home.hermes(&["comment", &second, "mind the gap"]).ok();
    home.hermes(&["claim", &first]).ok();
    let to = home.path().join("own/night.db");
    assert!(copy(&home, &to, &[]).fails(1).contains(&first));
    home.hermes(&["complete", &first, "--summary", "counted"]).ok();
    let third = home.create(&[]);
    home.hermes(&["block", &third, "which lamp?"]).ok();
    let said = copy(&home, &to, &[]).ok();
    assert!(said.contains("3 tasks, 1 links, 2 comments") && said.contains("stop its gateway"), "{said}");
    let conn = Connection::open(&to).unwrap();
    let mut columns = conn.prepare("SELECT name FROM pragma_table_info('tasks') ORDER BY 1").unwrap();
    let columns: Vec<String> = columns.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    assert_eq!(rows(&to, Some(&columns)), rows(&home.db, Some(&columns)));
    let there = home
        .ran(home.run("hermes").args(["kanban", "show", &second, "--json"]).env("HERMES_KANBAN_DB", &to))
        .json();
    assert!(there.to_string().contains("mind the gap") && there.to_string().contains(&first), "{there}");
    // The copy is a board of Watchbill, on which a worker goes on.
    let claimed = ran(home.command("board").args(["claim", "--worker", "luna", "--db"]).arg(&to)).ok();
    assert_eq!(claimed.trim(), second);
}
