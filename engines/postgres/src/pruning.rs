//! Old tasks of a board, and their removal by its owner.

use std::collections::BTreeSet;

use base::time::Time;
use board::EventKind;
use board::prune::{self, OVER, Old, PART, Rows, Sum};

use crate::reads::rest;
use crate::server::{Arg, Fault, Server, args};

/// On a board that nobody analysed the rows of a part are guessed to be all that there are.
pub(crate) const BY_INDEX: &str = "SET LOCAL enable_seqscan = off";

/// A board inside a transaction.
pub(crate) struct Within<'s>(pub(crate) &'s mut Server);

fn these<'a>(ids: impl IntoIterator<Item = &'a String>) -> Arg<'a> {
    ids.into_iter().map(String::as_str).collect()
}

/// The events of some tasks, each part by an index of its own.
fn events() -> [String; 3] {
    [
        format!("kind NOT IN ({})", EventKind::quoted(EventKind::NOISE)),
        "kind = 'heartbeat'".to_owned(),
        format!("kind IN ({})", EventKind::quoted(&rest())),
    ]
    .map(|kinds| format!("task_events WHERE task_id = ANY($1) AND {kinds}"))
}

const LINKS: [&str; 2] = ["task_links WHERE parent_id = ANY($1)", "task_links WHERE child_id = ANY($1)"];
const COMMENTS: &str = "task_comments WHERE task_id = ANY($1)";
const RUNS: &str = "task_runs WHERE task_id = ANY($1)";
const TASKS: &str = "tasks WHERE id = ANY($1)";

impl Rows for Within<'_> {
    type Fault = Fault;

    fn over(&mut self, after: &str) -> Result<Vec<String>, Fault> {
        let sql = format!("SELECT id FROM tasks WHERE id > $1 AND status IN {OVER} ORDER BY id LIMIT {PART}");
        Ok(self.0.rows(&sql, args![after])?.iter().map(|row| row.get(0)).collect())
    }

    fn old(&mut self, ids: &[String], before: Time) -> Result<Vec<Old>, Fault> {
        let rows = self.0.rows(&prune::old("t.id = ANY($1)", "$2"), &[these(ids), before.0.into()])?;
        let old = |row: &tokio_postgres::Row| Old {
            id: row.get(0),
            title: row.get(1),
            key: row.get(2),
            is_archived: row.get(3),
            is_free: row.get(4),
        };
        Ok(rows.iter().map(old).collect())
    }

    fn open(&mut self, ids: &BTreeSet<String>) -> Result<BTreeSet<String>, Fault> {
        let sql = format!("SELECT id FROM tasks WHERE id = ANY($1) AND status NOT IN {OVER}");
        Ok(self.0.rows(&sql, &[these(ids)])?.iter().map(|row| row.get(0)).collect())
    }

    fn lock(&mut self, ids: Vec<String>) -> Result<Vec<String>, Fault> {
        // A link, a card, a comment and an event of a task lock its row: an earlier writer is seen, and a later one finds no task.
        let sql = "SELECT id FROM tasks WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED";
        Ok(self.0.rows(sql, &[these(&ids)])?.iter().map(|row| row.get(0)).collect())
    }

    fn count(&mut self, ids: &[String]) -> Result<Sum, Fault> {
        let many = |from: &str| format!("(SELECT count(*) FROM {from})");
        let events = events().map(|from| many(&from)).join(" + ");
        let sql = format!("SELECT {}, {events}, {}", many(COMMENTS), many(RUNS));
        let row = self.0.row(&sql, &[these(ids)])?.ok_or(Fault::Again)?;
        Ok(Sum {
            tasks: i64::try_from(ids.len()).unwrap_or(i64::MAX),
            comments: row.get(0),
            events: row.get(1),
            runs: row.get(2),
            kept: 0,
        })
    }

    fn remove(&mut self, ids: &[String]) -> Result<(), Fault> {
        let events = events();
        let events = events.iter().map(String::as_str);
        for from in LINKS.into_iter().chain(events).chain([COMMENTS, RUNS, TASKS]) {
            self.0.rows(&format!("DELETE FROM {from}"), &[these(ids)])?;
        }
        Ok(())
    }
}
