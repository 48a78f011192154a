//! Old tasks of a board of our own, and their removal.

use std::collections::BTreeSet;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::SqliteBoard;
use super::rows::text;
use crate::prune::{self, Asked, OVER, Old, PART, Rows, Sum};
use base::error::Result;
use base::time::Time;

/// The rows of tasks, which are a list in JSON, in every table that has some.
const THESE: &str = "IN (SELECT value FROM json_each(?1))";
/// What else Hermes keeps of a task.
const MORE: [&str; 2] = ["task_attachments", "kanban_notify_subs"];

impl SqliteBoard {
    /// See [`crate::Board::prune`].
    pub(super) fn pruned(
        &mut self,
        asked: &Asked,
        after: &str,
        patience: Duration,
    ) -> Result<Option<(String, Sum)>> {
        if !asked.dry {
            self.changes()?;
            return self.write(patience, |tx| prune::part(&mut Within(tx), asked, after));
        }
        let read = || -> rusqlite::Result<Option<(String, Sum)>> {
            let tx = self.conn.unchecked_transaction()?;
            let part = prune::part(&mut Within(&tx), asked, after)?;
            tx.finish()?;
            Ok(part)
        };
        read().map_err(|e| self.fault(&e))
    }
}

/// A board inside a transaction.
struct Within<'c>(&'c Connection);

impl Within<'_> {
    fn ids<P: rusqlite::Params>(&self, sql: &str, of: P) -> rusqlite::Result<Vec<String>> {
        let mut statement = self.0.prepare_cached(sql)?;
        let mut rows = statement.query(of)?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            ids.extend(text(row, 0));
        }
        Ok(ids)
    }

    fn number(&self, from: &str, ids: &str) -> rusqlite::Result<i64> {
        self.0.prepare_cached(&format!("SELECT count(*) FROM {from}"))?.query_row([ids], |row| row.get(0))
    }
}

fn list<'a>(ids: impl IntoIterator<Item = &'a String>) -> String {
    serde_json::Value::from_iter(ids.into_iter().cloned()).to_string()
}

fn links() -> String {
    format!("task_links WHERE parent_id {THESE} OR child_id {THESE}")
}

impl Rows for Within<'_> {
    type Fault = rusqlite::Error;

    fn over(&mut self, after: &str) -> rusqlite::Result<Vec<String>> {
        // By the index of ids: the one of states would sort all that are over, part for part.
        self.ids(
            &format!("SELECT id FROM tasks WHERE id > ?1 AND +status IN {OVER} ORDER BY id LIMIT {PART}"),
            [after],
        )
    }

    fn old(&mut self, ids: &[String], before: Time) -> rusqlite::Result<Vec<Old>> {
        let mut statement = self.0.prepare_cached(&prune::old(&format!("t.id {THESE}"), "?2"))?;
        let mut rows = statement.query(params![list(ids), before.0])?;
        let mut old = Vec::new();
        while let Some(row) = rows.next()? {
            old.push(Old {
                id: text(row, 0).unwrap_or_default(),
                title: text(row, 1).unwrap_or_default(),
                key: text(row, 2),
                is_archived: row.get(3)?,
                is_free: row.get(4)?,
            });
        }
        Ok(old)
    }

    fn open(&mut self, ids: &BTreeSet<String>) -> rusqlite::Result<BTreeSet<String>> {
        let sql = format!("SELECT id FROM tasks WHERE id {THESE} AND status NOT IN {OVER}");
        Ok(self.ids(&sql, [list(ids)])?.into_iter().collect())
    }

    fn lock(&mut self, ids: Vec<String>) -> rusqlite::Result<Vec<String>> {
        // Nobody else writes in this transaction.
        Ok(ids)
    }

    fn count(&mut self, ids: &[String]) -> rusqlite::Result<Sum> {
        let ids = list(ids);
        let of = |table: &str| self.number(&format!("{table} WHERE task_id {THESE}"), &ids);
        Ok(Sum {
            tasks: self.number(&format!("tasks WHERE id {THESE}"), &ids)?,
            comments: of("task_comments")?,
            events: of("task_events")?,
            runs: of("task_runs")?,
            kept: 0,
        })
    }

    fn remove(&mut self, ids: &[String]) -> rusqlite::Result<()> {
        let ids = list(ids);
        let of_tasks = ["task_comments", "task_events", "task_runs"].into_iter().chain(MORE);
        let of_tasks = of_tasks.map(|table| format!("{table} WHERE task_id {THESE}"));
        for from in of_tasks.chain([links(), format!("tasks WHERE id {THESE}")]) {
            self.0.prepare_cached(&format!("DELETE FROM {from}"))?.execute([&ids])?;
        }
        Ok(())
    }
}
