//! The least that a read-only pass of `heal` can cost: the same reads, and nothing else.
//!
//! `floor BOARD STATEMENTS NOW [lean]` opens the board read-only with the same SQLite, runs the same statements for the same
//! rows, takes every column of them into memory, and looks at the same processes. No flags, no configuration, no
//! decision, no report. `STATEMENTS` is a file with the statements of the pass, one a line, so that the two cannot drift
//! apart. `lean` looks at the recorded pids only, where a pass reads the whole process table (a worker may live under
//! another pid). Prints how many rows were glanced at, how many looked at, and how many cells were read.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, OpenFlags, Params};

/// One row, as it is kept.
type Row = Vec<Value>;

/// Where the columns lie in the statement `glance`.
const ID: usize = 0;
const STATUS: usize = 3;
const STARTED: usize = 6;
const CLAIM: usize = 7;
const PID: usize = 9;
const HEARD: usize = 10;
const FAILURE: usize = 13;

/// Seconds of silence, or of work, after which `heal` looks closely, where nobody dispatches.
const QUIET: i64 = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (board, statements, now) = match &args[..] {
        [board, statements, now, ..] => (board, statements, now.parse::<i64>()?),
        _ => return Err("usage: floor BOARD STATEMENTS NOW [lean]".into()),
    };
    let lean = args.get(3).is_some_and(|a| a == "lean");
    let sql = std::fs::read_to_string(statements)?;
    let sql: Vec<&str> = sql.lines().collect();
    let [glance, task, runs, events, comments, parents, cards, board_events] = sql[..] else {
        return Err("eight statements are needed".into());
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(board, flags)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;

    let tx = conn.unchecked_transaction()?;
    let mut rows: Vec<Row> = Vec::new();
    let mut statement = tx.prepare_cached(glance)?;
    for status in ["running", "ready", "blocked", "todo", "scheduled"] {
        read(&mut statement, [status], &mut rows)?;
    }
    drop(statement);
    tx.finish()?;

    let suspects: Vec<&Row> = rows.iter().filter(|r| is_suspect(r, now)).collect();
    let mut looked: Vec<Row> = Vec::new();
    let tx = conn.unchecked_transaction()?;
    for row in &suspects {
        let Value::Text(id) = &row[ID] else { continue };
        read(&mut tx.prepare_cached(task)?, [id], &mut looked)?;
        read(&mut tx.prepare_cached(runs)?, (id, 30), &mut looked)?;
        read(&mut tx.prepare_cached(events)?, (id, 1_000), &mut looked)?;
        read(&mut tx.prepare_cached(comments)?, (id, 50), &mut looked)?;
        read(&mut tx.prepare_cached(parents)?, [id], &mut looked)?;
        let (from, to) = (format!("distress:{id}:"), format!("distress:{id};"));
        read(&mut tx.prepare_cached(cards)?, [from, to], &mut looked)?;
    }
    tx.finish()?;
    let mut bytes = 0;
    if !suspects.is_empty() {
        newest(&conn, board_events, now - 7_200, &mut looked)?;
        bytes = if lean { recorded(&suspects) } else { everybody()? + recorded(&suspects) };
    }
    let cells: usize = rows.iter().chain(&looked).map(Vec::len).sum();
    let mut out = std::io::stdout();
    writeln!(out, "{} {} {cells} {}", rows.len(), suspects.len(), bytes.min(1))?;
    Ok(())
}

fn read(
    statement: &mut CachedStatement<'_>,
    values: impl Params,
    into: &mut Vec<Row>,
) -> rusqlite::Result<()> {
    let width = statement.column_count();
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        into.push((0..width).map(|i| row.get(i)).collect::<rusqlite::Result<Row>>()?);
    }
    Ok(())
}

/// The newest 4,000 events in halves, the older one only where the newer one was not all too old.
fn newest(conn: &Connection, sql: &str, since: i64, into: &mut Vec<Row>) -> rusqlite::Result<()> {
    let mut to: i64 = conn.query_row("SELECT max(id) FROM task_events", [], |r| r.get(0))?;
    let before = into.len();
    for _ in 0..2 {
        read(&mut conn.prepare_cached(sql)?, (to - 2_000, to, since), into)?;
        if into.len() == before {
            break;
        }
        to -= 2_000;
    }
    Ok(())
}

/// What `heal` looks at closely on a board that Hermes made.
fn is_suspect(row: &Row, now: i64) -> bool {
    let Value::Text(status) = &row[STATUS] else { return false };
    let is_claimed = row[CLAIM] != Value::Null;
    match status.as_str() {
        // Also where it was heard from just now: a heartbeat does not prove progress.
        "running" => {
            [HEARD, STARTED].iter().any(|c| matches!(row[*c], Value::Integer(at) if now - at >= QUIET))
        }
        "blocked" => is_claimed || row[FAILURE] != Value::Null,
        "ready" | "todo" => is_claimed,
        "scheduled" => true,
        _ => false,
    }
}

/// State and start of the processes the board names.
fn recorded(suspects: &[&Row]) -> usize {
    let pid = |row: &&Row| match row[PID] {
        Value::Integer(pid) => std::fs::read(format!("/proc/{pid}/stat")).map_or(0, |b| b.len()),
        _ => 0,
    };
    suspects.iter().map(pid).sum()
}

/// What every process shows of itself: a worker is known by its command line or by its environment.
fn everybody() -> std::io::Result<usize> {
    let mut bytes = 0;
    for entry in std::fs::read_dir("/proc")? {
        let path = entry?.path();
        if path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) {
            let part = |name: &str| std::fs::read(Path::new(&path).join(name)).map_or(0, |b| b.len());
            bytes += part("stat") + part("cmdline") + part("environ");
        }
    }
    Ok(bytes)
}
