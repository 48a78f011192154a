//! All rows of a board, read for a copy of it or written as one.

use std::any::Any;
use std::cell::Cell as Note;
use std::collections::BTreeSet;
use std::time::Duration;

use base::error::{Error, Kind, Result};
use base::quote;
use board::EventKind;
use board::copy::{Field, Row, Source, Standing, Table, Target};
use board::image::Cell;

use crate::address::{Address, Secrets};
use crate::server::{Arg, Fault, READ, Server, args};
use crate::writes::WRITE;
use crate::{Held, PostgresBoard, alone, tried};

/// Between two statements the other board is waited for. Who is gone without a word still blocks nobody for ever.
const WAITS: &str = "SET LOCAL idle_in_transaction_session_timeout = '10min'";

/// Longer than a copy takes. Who is gone without a word still keeps nobody out for ever.
const HOLDS: &str = "SET LOCAL idle_in_transaction_session_timeout = '1h'";

/// Rows of one round trip. The client holds them all, however long their texts are.
const FETCHED: usize = 100;

/// No other connection writes until the end; a reader sees an empty board.
const LOCK: &str = "LOCK TABLE task_runs, task_comments, task_events, tasks, task_links IN EXCLUSIVE MODE";

/// Else the first passes go by guesses, until the server looks by itself.
const ANALYZE: &str = "ANALYZE task_runs, task_comments, task_events, tasks, task_links";

impl PostgresBoard {
    /// See [`board::BoardId::hold_for_copy`]: a transaction of its own, with a lock that no other copy has.
    ///
    /// # Errors
    /// As [`PostgresBoard::open`].
    pub fn hold_for_copy(url: &str, patience: Duration, secrets: &Secrets) -> Result<Option<Box<dyn Any>>> {
        let (address, mut held) = (Address::read(url)?, Held::default());
        let lock = format!("watchbill copy:{}", address.schema);
        let is_free = tried(&mut held, &address, secrets, patience, |server, left| {
            server.begin(READ, left)?;
            server.batch(HOLDS)?;
            let sql = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))";
            Ok(server.row(sql, args![lock.as_str()])?.is_some_and(|row| row.get(0)))
        })?;
        Ok(is_free.then(|| -> Box<dyn Any> { Box::new(held) }))
    }

    /// See [`board::Board::snapshot`].
    pub(crate) fn copied(&mut self, of: &mut dyn FnMut(&mut dyn Source) -> Result<()>) -> Result<()> {
        let address = &self.address;
        tried(&mut self.server, address, &self.secrets, self.patience, |server, left| {
            server.begin(READ, left)?;
            server.batch(WAITS)?;
            // From here on nothing is tried again: `of` was told a part.
            of(&mut Whole { server, address }).map_err(Fault::Ours)?;
            server.batch("COMMIT").map_err(|fault| Fault::Ours(fault.told(address)))
        })
    }

    /// See [`board::Board::fill`].
    pub(crate) fn filled(
        &mut self,
        patience: Duration,
        of: &mut dyn FnMut(&mut dyn Target) -> Result<()>,
    ) -> Result<()> {
        self.changes()?;
        let (address, sent) = (&self.address, Note::new(false));
        let done = tried(&mut self.server, address, &self.secrets, patience, |server, left| {
            server.begin(WRITE, left)?;
            server.batch(WAITS)?;
            alone(server, address)?;
            server.batch(LOCK)?;
            of(&mut Whole { server, address }).map_err(Fault::Ours)?;
            let last = server.batch(ANALYZE).and_then(|()| {
                sent.set(true);
                server.batch("COMMIT")
            });
            last.map_err(|fault| Fault::Ours(fault.told(address)))
        });
        match done {
            Err(lost) if sent.get() => self.settled(lost),
            done => done,
        }
    }

    /// What became of a copy whose last answer was lost.
    fn settled(&mut self, lost: Error) -> Result<()> {
        let address = self.address.clone();
        let there = self.within(WRITE, |server| {
            // Waits for the end of that transaction, if the server has not noticed yet that nobody hears it.
            alone(server, &address)?;
            server.row("SELECT EXISTS (SELECT FROM tasks)", args![])
        });
        match there {
            Ok(row) if row.as_ref().is_some_and(|row| row.get(0)) => Ok(()),
            Ok(_) => Err(lost),
            Err(_) => Err(lost.hint("it did not say whether the copy is written; look at it first")),
        }
    }
}

/// A board inside the transaction of a copy.
struct Whole<'s> {
    server: &'s mut Server,
    address: &'s Address,
}

impl Whole<'_> {
    fn told<T>(&self, done: std::result::Result<T, Fault>) -> Result<T> {
        done.map_err(|fault| {
            if !fault.is_of_one_step() {
                return fault.told(self.address);
            }
            let detail = match &fault {
                Fault::Server(e) => e.as_db_error().and_then(|db| db.detail()).unwrap_or_default().to_owned(),
                _ => String::new(),
            };
            let what = format!("does not take a row: {} {detail}", fault.said());
            Error::new(Kind::Data, self.address, quote::inline(what.trim_end(), 400))
        })
    }

    fn number(&mut self, sql: &str) -> Result<i64> {
        let row = self.server.row(sql, args![]);
        Ok(self.told(row)?.map_or(0, |row| row.get(0)))
    }

    /// Reads in parts of [`FETCHED`] rows, of which each is one round trip.
    fn parts(
        &mut self,
        sql: &str,
        each: &mut dyn FnMut(Vec<tokio_postgres::Row>) -> Result<()>,
    ) -> Result<()> {
        let opened = self.server.batch(&format!("DECLARE part NO SCROLL CURSOR FOR {sql}"));
        self.told(opened)?;
        loop {
            let part = self.server.rows(&format!("FETCH {FETCHED} FROM part"), args![]);
            let part = self.told(part)?;
            let is_last = part.len() < FETCHED;
            each(part)?;
            if is_last {
                let closed = self.server.batch("CLOSE part");
                return self.told(closed);
            }
        }
    }
}

impl Source for Whole<'_> {
    fn columns(&self, table: Table) -> Vec<String> {
        table.columns()
    }

    fn rows(
        &mut self,
        table: Table,
        fields: &[Field],
        each: &mut dyn FnMut(Vec<Row>) -> Result<()>,
    ) -> Result<()> {
        let key = if table == Table::Links { "parent_id, child_id" } else { "id" };
        let sql = format!("SELECT {} FROM {} ORDER BY {key}", names(fields), table.as_str());
        self.parts(&sql, &mut |part| {
            let cell = |row: &tokio_postgres::Row, nth: usize, field: &Field| match field.is_number {
                true => row.get::<_, Option<i64>>(nth).map_or(Cell::None, Cell::Number),
                false => row.get::<_, Option<String>>(nth).map_or(Cell::None, Cell::Text),
            };
            let row =
                |row: &tokio_postgres::Row| fields.iter().enumerate().map(|(n, f)| cell(row, n, f)).collect();
            let rows: Vec<Row> = part.iter().map(row).collect();
            if rows.is_empty() { Ok(()) } else { each(rows) }
        })
    }

    fn count(&mut self, table: Table) -> Result<i64> {
        self.number(&format!("SELECT count(*) FROM {}", table.as_str()))
    }

    fn standings(&mut self, each: &mut dyn FnMut(Standing)) -> Result<()> {
        let sql = "SELECT t.id, t.status, t.assignee, coalesce(e.many, 0) FROM tasks t LEFT JOIN \
             (SELECT task_id, count(*) AS many FROM task_events GROUP BY task_id) e ON e.task_id = t.id";
        self.parts(sql, &mut |part| {
            for row in &part {
                each(Standing {
                    id: row.get(0),
                    status: row.get(1),
                    assignee: row.get(2),
                    events: row.get(3),
                });
            }
            Ok(())
        })
    }

    fn running(&mut self) -> Result<BTreeSet<String>> {
        let sql = "SELECT id FROM tasks WHERE status = 'running' OR claim_lock IS NOT NULL \
             OR id IN (SELECT task_id FROM task_runs WHERE ended_at IS NULL)";
        let rows = self.server.rows(sql, args![]);
        Ok(self.told(rows)?.iter().map(|row| row.get(0)).collect())
    }

    fn last(&mut self, table: Table) -> Result<i64> {
        // The sequence tells it to its owner alone.
        let given =
            "SELECT last_value FROM pg_sequences WHERE schemaname = current_schema() AND sequencename";
        let table = table.as_str();
        self.number(&format!(
            "SELECT greatest((SELECT max(id) FROM {table}), ({given} = '{table}_id_seq'), 0)::bigint"
        ))
    }

    fn used(&mut self, _: Table, _: &str) -> Result<i64> {
        // Every column is copied.
        Ok(0)
    }
}

impl Target for Whole<'_> {
    fn put(&mut self, table: Table, fields: &[Field], rows: Vec<Row>) -> Result<()> {
        let mut columns: Vec<Arg<'_>> = Vec::with_capacity(fields.len());
        for (nth, field) in fields.iter().enumerate() {
            let cells = rows.iter().map(|row| row.get(nth).unwrap_or(&Cell::None));
            columns.push(match field.is_number {
                true => cells.map(|c| if let Cell::Number(n) = c { Some(*n) } else { None }).collect(),
                false => cells.map(|c| if let Cell::Text(t) = c { Some(t.as_str()) } else { None }).collect(),
            });
        }
        let kinds = (1..)
            .zip(fields)
            .map(|(n, f)| format!("${n}::{}[]", if f.is_number { "bigint" } else { "text" }));
        let (names, kinds) = (names(fields), kinds.collect::<Vec<_>>().join(", "));
        let keeps = if table.is_numbered() { "OVERRIDING SYSTEM VALUE " } else { "" };
        let (mark, counted) = match table {
            Table::Tasks => (", mark", marked()),
            _ => ("", String::new()),
        };
        let sql = format!(
            "INSERT INTO {table} ({names}{mark}) {keeps}SELECT r.*{counted} FROM unnest({kinds}) AS r({names})",
            table = table.as_str()
        );
        let done = self.server.rows(&sql, &columns);
        self.told(done).map(drop)
    }

    fn go_on_after(&mut self, table: Table, last: i64) -> Result<()> {
        if last == 0 {
            return Ok(());
        }
        let sql = "SELECT setval(pg_get_serial_sequence($1, 'id'), $2)";
        let done = self.server.row(sql, args![table.as_str(), last]);
        self.told(done).map(drop)
    }
}

/// The mark of a task: its events were written before it, when the trigger found no task to count them in.
fn marked() -> String {
    let noise = EventKind::quoted(EventKind::NOISE);
    format!(", (SELECT count(*) FROM task_events e WHERE e.task_id = r.id AND e.kind NOT IN ({noise}))")
}

fn names(fields: &[Field]) -> String {
    fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
}
