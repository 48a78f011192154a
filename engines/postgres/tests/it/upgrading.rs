//! A board that an older program made: worked on as far as that goes, and brought up to date by its owner.

use std::time::Duration;

use base::error::Kind;
use board::{Board, Mode, Status};
use postgres::Client;
use serde_json::Value;
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::programs::{Machine, owner_after};
use crate::races::{add, look};
use crate::server::{PATIENCE, Server, shared};

const NONE: Secrets = Secrets { file: None };

/// A board of version 1.
pub fn old(server: &Server, name: &str) -> (String, Client) {
    let schema = include_str!("schema_1.sql").replace("{schema}", name);
    let mut hand = owner_after(server, &format!("BEGIN; {schema}; COMMIT"));
    hand.batch_execute(&format!("SET search_path = {name}")).unwrap();
    (server.url("watchbill", name), hand)
}

pub fn version(hand: &mut Client) -> (i32, i32, i32) {
    let row = hand.query_one("SELECT version, min_reader, min_writer FROM meta", &[]).unwrap();
    (row.get(0), row.get(1), row.get(2))
}

/// All that a schema is made of, without its name.
pub fn shape(hand: &mut Client) -> Vec<String> {
    let sql = "SELECT 'column ' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') \
           FROM information_schema.columns WHERE table_schema = current_schema() \
         UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = current_schema() \
         UNION ALL SELECT 'constraint ' || conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint \
           WHERE connamespace = current_schema()::regnamespace \
         UNION ALL SELECT 'trigger ' || pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid \
           WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal \
         UNION ALL SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace";
    let name: String = hand.query_one("SELECT current_schema()::text", &[]).unwrap().get(0);
    let told = |row: &postgres::Row| row.get::<_, String>(0).replace(&name, "BOARD");
    let mut shape: Vec<String> = hand.query(sql, &[]).unwrap().iter().map(told).collect();
    shape.sort();
    shape
}

#[test]
fn an_older_board_is_worked_on_and_upgraded_once_whoever_does_it_at_the_same_time() {
    let Some(server) = shared() else { return };
    let (url, mut hand) = old(server, "old_one");
    let open = || PostgresBoard::open(&url, Mode::Change, PATIENCE, &NONE).unwrap();
    let mut board = open();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    assert_eq!(board.shape(), "made by an older `board init`, in PostgreSQL");
    let before = look(&mut board, "t_000000a1");

    let upgraded = || PostgresBoard::upgrade(&url, PATIENCE, &NONE).unwrap();
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..6).map(|_| scope.spawn(upgraded)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    all.sort_unstable();
    assert_eq!(all, [(1, 2), (2, 2), (2, 2), (2, 2), (2, 2), (2, 2)]);
    assert_eq!(version(&mut hand), (2, 1, 1), "older programs go on");
    assert_eq!(upgraded(), (2, 2), "and once more changes nothing");

    // It is as one that is made now.
    let place = server.board();
    let (made, upgraded) = (shape(&mut place.hand()), shape(&mut hand));
    assert!(made.len() > 100 && made.iter().any(|line| line.contains("events_noise")), "{made:#?}");
    assert_eq!(upgraded, made);
    assert_eq!(look(&mut board, "t_000000a1"), before, "who had it open goes on");
    assert_eq!(open().shape(), "made by `board init`, in PostgreSQL");
    add(&mut board, "t_000000b2", Status::Ready, &[]);
}

#[test]
fn what_a_program_cannot_do_on_an_older_board_says_how_to_upgrade_it() {
    let Some(server) = shared() else { return };
    let (url, mut hand) = old(server, "old_two");
    let machine = Machine::new("h1", &url);
    let role = "CREATE ROLE upupa LOGIN PASSWORD 'geheim'";
    hand.batch_execute(role).unwrap();
    machine.said(&["board", "grant", "--watcher", "upupa"]);
    machine.said(&["board", "add", "write the report", "--assignee", "luna"]);
    machine.said(&["heal"]);
    let of_owner = url.replace("watchbill@", "");
    let found = |machine: &Machine, id: &str| {
        let done = machine.call(&["watchbill", "doctor", "--json"]);
        let told: Value = serde_json::from_slice(&done.stdout).unwrap();
        let findings = told["findings"].as_array().unwrap().iter().filter(|f| f["id"] == id);
        let word = |f: &Value, key: &str| f[key].as_str().unwrap_or_default().to_owned();
        findings.map(|f| ["severity", "what", "todo"].map(|key| word(f, key)).join(" | ")).collect::<Vec<_>>()
    };
    let refused = |machine: &Machine, line: &[&str], code: i32| {
        let done = machine.call(line);
        let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        assert_eq!((done.status.code(), said.lines().count()), (Some(code), 1), "{line:?}: {said}");
        said
    };
    let told = format!(
        "warning | what needs newer tables than it has is refused (tables of version 1; this needs 2) | its owner runs: board upgrade '{of_owner}'"
    );
    assert_eq!(found(&machine, "board-outdated"), [told]);
    let prune = ["board", "prune", "--older-than", "90d"];
    let said = refused(&machine, &prune, 65);
    let advised = format!("(tables of version 1; this needs 2); its owner runs: board upgrade '{of_owner}'");
    assert!(said.contains("nothing was removed ") && said.ends_with(&advised), "{said}");

    // Who does not own it upgrades nothing.
    let watcher = Machine::of_role(server, "upupa", "old_two");
    let said = refused(&watcher, &["board", "upgrade"], 77);
    assert!(
        said.contains("only the owner of this board upgrades it; log in as that: postgres://watchbill@"),
        "{said}"
    );
    assert_eq!(version(&mut hand), (1, 1, 1));
    // As it is advised.
    let said = machine.said(&["board", "upgrade", &url]);
    assert_eq!(said, format!("{url}: its tables were of version 1 and are of version 2"));
    let told: Value = serde_json::from_str(&machine.said(&["board", "--json", "upgrade"])).unwrap();
    assert_eq!(
        (told["from"].as_i64(), told["to"].as_i64(), told["board"].as_str()),
        (Some(2), Some(2), Some(&*url))
    );
    machine.said(&prune);
    watcher.said(&["heal"]);
    assert_eq!(found(&machine, "board-outdated"), [""; 0]);

    // A board that nothing here can work on, and one that is newer than this program.
    hand.batch_execute("UPDATE meta SET version = 0").unwrap();
    for line in [&["board", "list"][..], &["heal"], &["board", "add", "another"]] {
        let said = refused(&machine, line, 65);
        let is_told = said.contains("made by an older Watchbill (tables of version 0; this needs 1)");
        assert!(is_told && said.contains(&format!("board upgrade '{of_owner}'")), "{said}");
    }
    assert!(refused(&machine, &["board", "upgrade"], 65).contains("of version 0, which nothing upgrades"));
    let told = found(&machine, "board-unreadable");
    assert!(
        told[0].starts_with("error | ") && told[0].ends_with(&format!("board upgrade '{of_owner}'")),
        "{told:?}"
    );
    hand.batch_execute("UPDATE meta SET version = 3").unwrap();
    let said = refused(&machine, &["board", "upgrade"], 65);
    assert!(
        said.contains("made by a newer Watchbill") && said.contains("upgrade Watchbill on this host first"),
        "{said}"
    );
    assert_eq!(version(&mut hand), (3, 1, 1));
    // One that it may not write.
    hand.batch_execute("UPDATE meta SET min_writer = 3").unwrap();
    let told = found(&machine, "board-unwritable");
    assert!(
        told[0].starts_with("error | ") && told[0].ends_with("upgrade Watchbill on this host first"),
        "{told:?}"
    );
    let said = refused(&machine, &["board", "upgrade", "night.db"], 1);
    assert!(said.contains("is a file, whose tables need no upgrade"), "{said}");
}

#[test]
fn an_upgrade_that_does_not_go_through_leaves_the_board_as_it_was() {
    let Some(server) = shared() else { return };
    let (url, mut hand) = old(server, "old_three");
    let before = shape(&mut hand);
    let mut other = owner_after(server, "SET search_path = old_three");
    let mut writes = other.transaction().unwrap();
    writes.batch_execute("LOCK TABLE task_events IN ROW EXCLUSIVE MODE").unwrap();
    let error = PostgresBoard::upgrade(&url, Duration::from_millis(300), &NONE).unwrap_err();
    assert_eq!(error.kind, Kind::Busy, "{error}");
    writes.rollback().unwrap();
    // Or the board takes the number of a version not, after the tables were changed.
    hand.batch_execute("ALTER TABLE meta ADD CONSTRAINT no CHECK (version < 2)").unwrap();
    PostgresBoard::upgrade(&url, PATIENCE, &NONE).unwrap_err();
    hand.batch_execute("ALTER TABLE meta DROP CONSTRAINT no").unwrap();
    assert_eq!((shape(&mut hand), version(&mut hand)), (before, (1, 1, 1)));
    assert_eq!(PostgresBoard::upgrade(&url, PATIENCE, &NONE).unwrap(), (1, 2));
}
