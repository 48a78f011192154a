//! `board copy`, from a file to a server and back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use base::time::Time;
use board::copy::{Field, Row, Table, Target};
use board::image::Cell;
use board::sqlite::SqliteBoard;
use board::{Board, BoardId, Location, Mode};
use rusqlite::Connection;
use testkit::generate::{Sizes, generate};
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::kills::forgetful;
use crate::programs::Machine;
use crate::server::{PATIENCE, Place, Server, shared, wait_for};

const NOW: Time = Time(1_700_000_000);

/// Every row of a board in the columns that every board has, and the numbers that were given last.
fn rows(board: &mut dyn Board) -> BTreeMap<Table, Vec<String>> {
    let on_a_server = Location::Server(String::new());
    let mut all = BTreeMap::new();
    board
        .snapshot(&mut |source| {
            for table in Table::ALL {
                let fields = table.fields(&on_a_server, &source.columns(table));
                let mut rows: Vec<String> = Vec::new();
                source.rows(table, &fields, &mut |part: Vec<Row>| {
                    rows.extend(part.iter().map(|row| {
                        // Where a board must not be empty, nothing is 0.
                        let is_empty = |cell: &Cell| matches!(cell, Cell::None | Cell::Number(0));
                        let cells = fields.iter().zip(row).filter(|(_, cell)| !is_empty(cell));
                        format!("{:?}", cells.map(|(f, c)| (f.name, c)).collect::<BTreeMap<_, _>>())
                    }));
                    Ok(())
                })?;
                rows.sort();
                if table.is_numbered() {
                    rows.push(source.last(table)?.to_string());
                }
                all.insert(table, rows);
            }
            Ok(())
        })
        .unwrap();
    all
}

fn in_file(path: &Path) -> SqliteBoard {
    let id = BoardId { at: path.to_owned().into(), slug: None, root: None };
    SqliteBoard::open(id, Mode::Look, PATIENCE).unwrap()
}

/// A board of Hermes' shape, on which nothing runs.
fn hermes(folder: &Path, tasks: usize, running: usize) -> PathBuf {
    let path = folder.join("hermes.db");
    generate(&path, Sizes { tasks, running, blocked: 9, ready: 9, todo: 9 }, 7, NOW, 0.0).unwrap();
    path
}

fn copy(machine: &Machine, from: &str, to: &str, flags: &[&str]) -> Output {
    machine.call(&[&["board", "copy", from, to], flags].concat())
}

#[track_caller]
fn done(copied: &Output) -> String {
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    String::from_utf8(copied.stdout.clone()).unwrap()
}

#[track_caller]
fn refused(copied: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&copied.stderr).trim().to_owned();
    assert_eq!((copied.status.code(), said.lines().count()), (Some(code), 1), "{said}");
    said
}

#[test]
fn a_board_goes_to_a_server_and_back_and_is_the_same() {
    let Some(server) = shared() else { return };
    let (first, second) = (server.url("watchbill", "copied"), server.url("watchbill", "copied_again"));
    let machine = Machine::new("h1", &first);
    let folder = machine.home();
    let from = hermes(folder, 2_500, 0);
    // What Hermes takes and a server would not.
    let broken = "UPDATE tasks SET priority = NULL, created_at = 1700000000.5 WHERE rowid = 1;
         UPDATE tasks SET title = 'a' || char(0) || 'b', provider_override = 'anthropic' WHERE rowid = 2;
         INSERT INTO task_links VALUES ('t_gone', 't_gone'), ('t_gone', 't_lost');
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_gone', 'heartbeat', 'no JSON', 7);
         DELETE FROM task_runs WHERE id = (SELECT max(id) FROM task_runs);";
    let hand = Connection::open(&from).unwrap();
    hand.execute_batch("ALTER TABLE tasks ADD COLUMN provider_override TEXT").unwrap();
    hand.execute_batch(broken).unwrap();
    let (from, back) = (from.display().to_string(), folder.join("back/own.db"));

    let planned = done(&copy(&machine, &from, &first, &["-n"]));
    assert!(
        planned.contains("2500 tasks") && planned.contains("2 links of tasks that are not there"),
        "{planned}"
    );
    assert!(PostgresBoard::open(&first, Mode::Look, PATIENCE, &Secrets::default()).is_err());
    done(&copy(&machine, &from, &first, &[]));
    let open = |url: &str| PostgresBoard::open(url, Mode::Look, PATIENCE, &Secrets::default()).unwrap();
    let on_server = rows(&mut open(&first));
    let mut as_told = rows(&mut in_file(Path::new(&from)));
    for line in as_told.values_mut().flatten() {
        *line = line.replace("a\\0b", "a\u{fffd}b");
    }
    assert_eq!(on_server, as_told);
    let unmarked = "SELECT count(*) FROM copied.tasks t WHERE mark <> (SELECT count(*) FROM copied.task_events e \
         WHERE e.task_id = t.id AND kind NOT IN ('heartbeat', 'claim_extended', 'respawn_guarded', 'reclaim_deferred'))";
    let mut client = postgres::Client::connect(&server.plain(), postgres::NoTls).unwrap();
    assert_eq!(client.query_one(unmarked, &[]).unwrap().get::<_, i64>(0), 0);

    machine.said(&["heal"]);
    done(&copy(&machine, &first, &back.display().to_string(), &[]));
    assert_eq!(rows(&mut in_file(&back)), on_server);
    assert!(refused(&machine.call(&["heal"]), 75).contains("moved to "));
    done(&copy(&machine, &back.display().to_string(), &second, &[]));
    assert_eq!(rows(&mut open(&second)), on_server);
    // The next numbers are new ones.
    let there = Machine::new("h1", &second);
    let task = there.said(&["board", "add", "one more", "--assignee", "luna"]);
    there.said(&["board", "claim", &task, "--worker", "luna"]);
    there.said(&["heal"]);
}

#[test]
fn what_runs_is_left_only_when_asked_and_a_full_board_is_refused() {
    let Some(server) = shared() else { return };
    let to = server.url("watchbill", "left_running");
    let machine = Machine::new("h1", &to);
    let from = hermes(machine.home(), 200, 7).display().to_string();
    let said = refused(&copy(&machine, &from, &to, &[]), 1);
    assert!(said.contains("7 tasks are still running"), "{said}");
    let said = done(&copy(&machine, &from, &to, &["--leave-running"]));
    assert!(said.contains("7 tasks are running at "), "{said}");
    let mut client = postgres::Client::connect(&server.plain(), postgres::NoTls).unwrap();
    let mut count = |sql: &str| {
        client.query_one(&format!("SELECT count(*) FROM left_running.{sql}"), &[]).unwrap().get::<_, i64>(0)
    };
    assert_eq!(count("tasks WHERE status = 'running' OR claim_lock IS NOT NULL"), 0);
    assert_eq!(count("task_runs WHERE ended_at IS NULL"), 0);
    assert_eq!(
        count("task_events WHERE kind = 'reclaimed' AND payload LIKE '%left running by board copy%'"),
        7
    );
    assert_eq!(count("task_runs WHERE error = 'left running by board copy' AND outcome = 'reclaimed'"), 7);
    let said = refused(&copy(&machine, &from, &to, &["--leave-running"]), 1);
    assert!(said.contains("not empty"), "{said}");
    machine.said(&["heal"]);
}

#[test]
fn what_the_server_does_not_take_leaves_it_empty() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let machine = Machine::new("h1", &place.url);
    let from = hermes(machine.home(), 100, 0);
    let hand = Connection::open(&from).unwrap();
    hand.execute_batch("UPDATE tasks SET idempotency_key = 'twice', status = 'ready' WHERE rowid < 3")
        .unwrap();
    let said = refused(&copy(&machine, &from.display().to_string(), &place.url, &[]), 65);
    assert!(said.contains("does not take a row") && said.contains("twice"), "{said}");
    assert_eq!(written(&place), 0);
    assert!(!from.with_extension("db.watchbill.pause").exists());
}

fn written(place: &Place<'_>) -> i64 {
    let sql = "SELECT (SELECT count(*) FROM tasks) + (SELECT count(*) FROM task_events) + (SELECT count(*) FROM task_runs)";
    place.hand().query_one(sql, &[]).unwrap().get(0)
}

/// A copy to a board on which it stops before the last table until `meanwhile` is over.
fn stopped(
    place: &Place<'_>,
    copying: &mut Command,
    meanwhile: impl FnOnce(&mut std::process::Child),
) -> Output {
    let mut gate = place.hand();
    gate.batch_execute(
        "CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           PERFORM pg_advisory_xact_lock(hashtextextended(TG_TABLE_SCHEMA, 7)); RETURN NULL; END $$;
         CREATE TRIGGER gate BEFORE INSERT ON task_links FOR EACH STATEMENT EXECUTE FUNCTION gate();
         SELECT pg_advisory_lock(hashtextextended(current_schema(), 7))",
    )
    .unwrap();
    let mut child =
        copying.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND \
         (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 7)";
    let until = Instant::now() + Duration::from_secs(60);
    while gate.query_one(waits, &[&place.name]).unwrap().get::<_, i64>(0) == 0 {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "it never came that far");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(written(place), 0, "nobody sees a half of it");
    meanwhile(&mut child);
    gate.batch_execute("SELECT pg_advisory_unlock_all(); DROP TRIGGER gate ON task_links").unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_board_is_not_copied_twice_at_once() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let machine = Machine::new("h1", &place.url);
    machine.said(&["board", "add", "write the report"]);
    // Each sees that the board is not paused, and waits to pause it.
    let mut gate = place.hand();
    gate.batch_execute("BEGIN; SELECT FROM meta FOR UPDATE").unwrap();
    let begin = |to: &str| {
        let mut copying = machine.command(&["board", "copy", &place.url, to]);
        copying.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let mut all = place.hand();
    let mut waiting = || {
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'UPDATE meta SET paused_until%' \
             AND wait_event_type = 'Lock'";
        all.query_one(waits, &[]).unwrap().get::<_, i64>(0)
    };
    let first = begin("one.db");
    wait_for("the first copy", || waiting() == 1);
    let mut second = begin("two.db");
    wait_for("the second copy", || second.try_wait().unwrap().is_some() || waiting() == 2);
    gate.batch_execute("ROLLBACK").unwrap();
    done(&first.wait_with_output().unwrap());
    let said = refused(&second.wait_with_output().unwrap(), 75);
    assert!(said.contains("another copy of this board is at work; nothing was copied"), "{said}");
    assert!(!machine.home().join("two.db").exists());
}

#[test]
fn a_copy_that_is_killed_leaves_the_server_empty() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let machine = Machine::new("h1", &place.url);
    let from = hermes(machine.home(), 300, 0).display().to_string();
    let mut copying = machine.command(&["board", "copy", &from, &place.url]);
    let killed = stopped(&place, &mut copying, |child| child.kill().unwrap());
    assert!(!killed.status.success());
    // The server notices at its next word to it.
    let until = Instant::now() + Duration::from_secs(60);
    while place
        .hand()
        .query_one(
            "SELECT count(*) FROM pg_locks WHERE relation = 'tasks'::regclass AND mode = 'ExclusiveLock'",
            &[],
        )
        .unwrap()
        .get::<_, i64>(0)
        > 0
    {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(written(&place), 0);
    done(&copy(&machine, &from, &place.url, &[]));
    assert!(written(&place) > 300);
}

#[test]
fn what_is_changed_meanwhile_is_not_lost() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let machine = Machine::new("h1", &place.url);
    let from = hermes(machine.home(), 300, 0);
    let mut copying = machine.command(&["board", "copy", &from.display().to_string(), &place.url]);
    let failed = stopped(&place, &mut copying, |_| {
        let hand = Connection::open(&from).unwrap();
        hand.execute_batch("UPDATE tasks SET status = 'blocked' WHERE status = 'ready'").unwrap();
    });
    let said = refused(&failed, 1);
    assert!(said.contains("was changed while it was copied"), "{said}");
    assert_eq!(written(&place), 0);
    assert!(!from.with_extension("db.watchbill.pause").exists());
}

#[test]
fn a_copy_whose_last_answer_was_lost_is_there() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let folder = tempfile::tempdir().unwrap();
    let _listener = forgetful(&server.folder, folder.path());
    let mut board = behind(server, &place, folder.path());
    let task = Table::Tasks;
    let fields = task.fields(
        &Location::Server(String::new()),
        &["id", "title", "status", "created_at"].map(str::to_owned),
    );
    let cell = |field: &Field| {
        if field.is_number { Cell::Number(7) } else { Cell::Text(format!("t_{}", field.name)) }
    };
    let row: Row = fields.iter().map(cell).collect();
    let filled =
        board.fill(PATIENCE, &mut |target: &mut dyn Target| target.put(task, &fields, vec![row.clone()]));
    filled.unwrap();
    assert_eq!(written(&place), 1);
}

fn behind(server: &Server, place: &Place<'_>, folder: &Path) -> PostgresBoard {
    let encoded = |path: &Path| path.display().to_string().replace('/', "%2F");
    let url = place.url.replace(&encoded(&server.folder), &encoded(folder));
    PostgresBoard::open(&url, Mode::Change, PATIENCE, &Secrets::default()).unwrap()
}
