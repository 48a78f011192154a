//! Overfills a generated board: long comments, and distress cards by the thousand.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, params};
use shared::base::time::Time;

/// A line of a log, as people and agents paste it into comments.
const LINE: &str =
    "2026-11-21 03:12:05 INFO  importer: read 412 rows of region north, kept 400, 12 without a key\n";

/// What a distress card by hand says: no template, no word of any program.
const BODY: &str = "The worker stopped. Its provider says that the limit of this minute is used up; please decide who goes on.";

/// Types a card's title may name.
const BLOCKERS: [&str; 3] = ["rate_limited", "env_blocker", "credential_failure"];

/// Opens a board to be filled, in one transaction that nothing makes safe before its end.
fn open(board: &Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open(board)?;
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -65536; BEGIN IMMEDIATE")?;
    Ok(conn)
}

/// Open tasks that are no cards, in the order of their ids.
fn work(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT id FROM tasks WHERE status NOT IN ('done', 'archived') AND title NOT LIKE '[BLOCKED]%' ORDER BY id";
    conn.prepare(sql)?.query_map([], |r| r.get(0))?.collect()
}

/// Adds comments of `bytes` bytes each to the first `tasks` open tasks, `each` to every one of them, all of the hour before
/// `now`.
///
/// # Errors
/// The board cannot be written.
pub fn comments(board: &Path, tasks: usize, each: usize, bytes: usize, now: Time) -> Result<()> {
    let conn = open(board)?;
    let body: String = LINE.chars().cycle().take(bytes).collect();
    {
        let sql = "INSERT INTO task_comments (task_id, author, body, created_at)
            SELECT ?1, coalesce((SELECT assignee FROM tasks WHERE id = ?1), 'rosa'), ?2, ?3";
        let mut add = conn.prepare(sql)?;
        for id in work(&conn)?.iter().take(tasks) {
            for n in 0..each {
                add.execute(params![id, body, now.0 - 3_600 + n as i64])?;
            }
        }
    }
    conn.execute_batch("COMMIT")?;
    Ok(())
}

/// Adds ready distress cards that a user wrote by hand, about each open task in turn.
///
/// # Errors
/// The board cannot be written.
pub fn cards(board: &Path, cards: usize, now: Time) -> Result<()> {
    let conn = open(board)?;
    {
        let mut add = conn.prepare(
            "INSERT INTO tasks (id, title, body, assignee, status, priority, created_by, created_at, workspace_kind)
             VALUES (?1, ?2, ?3, 'tuesday', 'ready', 1, 'rosa', ?4, 'scratch')",
        )?;
        let mut tell = conn.prepare(
            "INSERT INTO task_events (task_id, kind, payload, created_at)
             VALUES (?1, 'created', '{\"assignee\":\"tuesday\",\"status\":\"ready\",\"parents\":[]}', ?2)",
        )?;
        for (n, source) in work(&conn)?.iter().cycle().take(cards).enumerate() {
            // Not the ids of `generate`, which end in other digits.
            let id = format!("t_{n:08x}ca");
            let at = now.0 - 1_200 + (n % 600) as i64;
            add.execute(params![id, format!("[BLOCKED] {source} {}", BLOCKERS[n % 3]), BODY, at])?;
            tell.execute(params![id, at])?;
        }
    }
    conn.execute_batch("COMMIT")?;
    Ok(())
}

/// Makes every other task that the breaker gave up one that a provider's limit ended.
///
/// # Errors
/// The board cannot be written.
pub fn limits(board: &Path) -> Result<()> {
    let conn = open(board)?;
    conn.execute_batch(
        "CREATE TEMP TABLE limited AS SELECT id FROM tasks WHERE status = 'blocked' AND consecutive_failures > 0 AND rowid % 2 = 0;
         UPDATE tasks SET last_failure_error = 'HTTP 429: Rate limit reached' WHERE id IN limited;
         UPDATE task_runs SET error = 'HTTP 429: Rate limit reached' WHERE outcome = 'crashed' AND task_id IN limited;
         UPDATE task_events SET kind = 'crashed', payload = '{\"error\":\"HTTP 429: Rate limit reached\"}'
           WHERE kind = 'protocol_violation' AND task_id IN limited;
         COMMIT; DROP TABLE limited",
    )?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::generate::{Sizes, generate};

    #[test]
    fn a_crowd_is_as_large_as_it_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kanban.db");
        let now = Time(1_800_000_000);
        generate(&path, Sizes { tasks: 60, running: 20, blocked: 20, ready: 10, todo: 0 }, 1, now, 0.5)
            .unwrap();
        limits(&path).unwrap();
        comments(&path, 40, 3, 10_000, now).unwrap();
        cards(&path, 70, now).unwrap();
        let conn = Connection::open(&path).unwrap();
        let count = |sql: &str| conn.query_row(sql, [], |r| r.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM task_comments WHERE length(body) = 10000"), 120);
        assert_eq!(
            count("SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED] t_%' AND status = 'ready'"),
            70
        );
        assert!(count("SELECT count(*) FROM task_runs WHERE error LIKE 'HTTP 429%'") > 0);
    }
}
