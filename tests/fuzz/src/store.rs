//! A store of opencode with any rows.

use std::cell::OnceCell;
use std::path::PathBuf;

use rusqlite::Connection;
use shared::base::time::Time;
use shared::logs::agents::{Homes, UsageAsk};
use shared::logs::attempt;
use shared::logs::cache::Cache;
use shared::logs::session::Prices;

use super::log::{bounded, place};
use super::resume::faring;

/// The columns that all versions of opencode from 1.2 to 1.18 share.
const TABLES: &str = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
    CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT NOT NULL, time_created INTEGER NOT NULL);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
        time_updated INTEGER NOT NULL, data TEXT NOT NULL);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
        time_updated INTEGER NOT NULL, data TEXT NOT NULL);
    INSERT INTO session VALUES ('ses_1', NULL, '/srv/tree', 1795248000000), ('ses_2', 'ses_1', '/srv/tree', 1795248000000);";

const MESSAGE: &str = "INSERT INTO message VALUES (?1, ?2, ?3, ?3, CAST(?4 AS TEXT))";
const PART: &str = "INSERT INTO part VALUES (?1, 'm', ?2, ?3, ?3, CAST(?4 AS TEXT))";

thread_local! {
    static STORE: OnceCell<(PathBuf, Connection)> = const { OnceCell::new() };
}

/// One row a line: a message where it has a role, else a part; every fifth in a session of a subagent.
pub fn opencode(data: &[u8]) {
    STORE.with(|store| {
        let (path, conn) = store.get_or_init(made);
        let (mut messages, mut parts) = (0, 0);
        conn.execute_batch("BEGIN; DELETE FROM message; DELETE FROM part").expect("a store of our own");
        for (n, row) in data.split(|b| *b == b'\n').take(64).enumerate() {
            let session = if n % 5 == 4 { "ses_2" } else { "ses_1" };
            let is_message = row.windows(6).any(|w| w == b"\"role\"");
            let sql = if is_message { MESSAGE } else { PART };
            *(if is_message { &mut messages } else { &mut parts }) += 1;
            let at = 1_795_248_001_000 + 1_000 * n as i64;
            conn.prepare_cached(sql)
                .and_then(|mut s| s.execute(rusqlite::params![format!("{n}"), session, at, row]))
                .expect("a row");
        }
        conn.execute_batch("COMMIT").expect("a store of our own");
        let named = PathBuf::from(format!("{}#ses_1", path.display()));
        let usage = attempt::usage::read(&ask(&named, &Prices::default()), &mut Cache::in_memory());
        assert!(usage.turns.is_some_and(|n| n <= messages), "{usage:?}");
        assert!(usage.tool_calls.is_some_and(|n| n <= parts), "{usage:?}");
        assert!(usage.identical_calls <= usage.tool_calls && usage.edits <= usage.tool_calls, "{usage:?}");
        bounded(&usage);
        let prices = Prices::default();
        let fares =
            attempt::vitals::read(&ask(&named, &prices), None, &mut Cache::in_memory()).expect("a session");
        if fares.hidden.is_none() {
            assert!(fares.turns <= Some(messages) && fares.calls <= Some(parts), "{fares:?}");
        }
        faring(&fares);
    });
}

fn made() -> (PathBuf, Connection) {
    let path = place("opencode.db");
    let conn = Connection::open(&path).expect("a store of our own");
    conn.execute_batch(TABLES).expect("the tables");
    (path, conn)
}

fn ask<'a>(named: &'a std::path::Path, prices: &'a Prices) -> UsageAsk<'a> {
    UsageAsk {
        task: "t_1a2b3c4d",
        profile: None,
        root: None,
        worker_log: None,
        output: None,
        named: Some(named),
        workspace: None,
        homes: Homes::NONE,
        held: &[],
        began: Time(0),
        from: Time(1_795_248_000),
        to: None,
        next: None,
        now: Time(1_795_260_000),
        prices,
    }
}
