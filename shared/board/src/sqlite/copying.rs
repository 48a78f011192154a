//! All rows of a board, read for a copy of it or written as one.

use std::collections::BTreeSet;
use std::time::Duration;

use rusqlite::types::{Null, ToSql, ToSqlOutput};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteBoard;
use super::rows::{int, whole};
use crate::copy::{self, Field, PART, Source, Standing, Table, Target};
use crate::image::Cell;
use base::error::{Error, Kind, Result};

/// Most bytes of text after which a part is full.
const PART_BYTES: usize = 1 << 20;

const LINKS: &str = "task_links WHERE parent_id <> child_id AND EXISTS (SELECT 1 FROM tasks WHERE id = parent_id) \
     AND EXISTS (SELECT 1 FROM tasks WHERE id = child_id)";
const Q_STANDINGS: &str =
    "SELECT id, status, assignee, (SELECT count(*) FROM task_events e WHERE e.task_id = t.id) FROM tasks t";
const Q_RUNNING: &str = "SELECT id FROM tasks WHERE status = 'running' OR claim_lock IS NOT NULL \
     OR id IN (SELECT task_id FROM task_runs WHERE ended_at IS NULL)";
const Q_GIVEN: &str = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
const Q_HAS: &str = "SELECT EXISTS (SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2)";
const W_GIVEN: &str = "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1";
const W_FIRST_GIVEN: &str = "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)";
/// What Hermes has since 0.20, and Watchbill's own boards only where a task needs it.
const PROVIDER: &str = "provider_override";
const W_PROVIDER: &str = "ALTER TABLE tasks ADD COLUMN provider_override TEXT";

impl SqliteBoard {
    /// See [`crate::Board::snapshot`].
    pub(super) fn copied(&self, of: &mut dyn FnMut(&mut dyn Source) -> Result<()>) -> Result<()> {
        let tx = self.conn.unchecked_transaction().map_err(|e| self.fault(&e))?;
        of(&mut Whole { board: self, conn: &tx })?;
        tx.finish().map_err(|e| self.fault(&e))
    }

    /// See [`crate::Board::fill`].
    pub(super) fn filled(
        &mut self,
        patience: Duration,
        of: &mut dyn FnMut(&mut dyn Target) -> Result<()>,
    ) -> Result<()> {
        self.changes()?;
        if !self.own {
            return Err(Error::new(Kind::Bug, &self.id.at, "a copy onto a board of Hermes"));
        }
        self.write_whole(patience, |tx| of(&mut Whole { board: self, conn: tx }))
    }
}

/// A board inside the transaction of a copy.
struct Whole<'c> {
    board: &'c SqliteBoard,
    conn: &'c Connection,
}

impl Whole<'_> {
    fn told<T>(&self, done: rusqlite::Result<T>) -> Result<T> {
        done.map_err(|e| self.board.fault(&e))
    }

    fn number(&self, sql: &str) -> Result<i64> {
        self.told(self.conn.query_row(sql, [], |row| row.get(0)))
    }

    fn has(&self, table: Table) -> bool {
        self.board.columns.contains_key(table.as_str())
    }

    /// Whether tasks may name a provider of their own now.
    fn has_provider(&self) -> Result<bool> {
        self.told(self.conn.query_row(Q_HAS, params![Table::Tasks.as_str(), PROVIDER], |row| row.get(0)))
    }
}

/// The rows of a table that are copied.
fn copied(table: Table) -> &'static str {
    if table == Table::Links { LINKS } else { table.as_str() }
}

impl Source for Whole<'_> {
    fn columns(&self, table: Table) -> Vec<String> {
        self.board.columns.get(table.as_str()).into_iter().flatten().cloned().collect()
    }

    fn rows(
        &mut self,
        table: Table,
        fields: &[Field],
        each: &mut dyn FnMut(Vec<copy::Row>) -> Result<()>,
    ) -> Result<()> {
        let sql = format!("SELECT {} FROM {}", names(fields).join(", "), copied(table));
        let mut statement = self.told(self.conn.prepare(&sql))?;
        let mut rows = self.told(statement.query([]))?;
        let (mut part, mut bytes) = (Vec::new(), 0);
        while let Some(row) = self.told(rows.next())? {
            let cells: copy::Row =
                fields.iter().enumerate().map(|(nth, field)| cell(row, nth, field)).collect();
            bytes += cells
                .iter()
                .map(|cell| if let Cell::Text(text) = cell { text.len() } else { 8 })
                .sum::<usize>();
            part.push(cells);
            if part.len() >= PART || bytes >= PART_BYTES {
                each(std::mem::take(&mut part))?;
                bytes = 0;
            }
        }
        if part.is_empty() { Ok(()) } else { each(part) }
    }

    fn count(&mut self, table: Table) -> Result<i64> {
        if !self.has(table) {
            return Ok(0);
        }
        self.number(&format!("SELECT count(*) FROM {}", copied(table)))
    }

    fn standings(&mut self, each: &mut dyn FnMut(Standing)) -> Result<()> {
        let mut statement = self.told(self.conn.prepare(Q_STANDINGS))?;
        let mut rows = self.told(statement.query([]))?;
        while let Some(row) = self.told(rows.next())? {
            each(Standing {
                id: whole(row, 0).unwrap_or_default(),
                status: whole(row, 1).unwrap_or_default(),
                assignee: whole(row, 2),
                events: int(row, 3).unwrap_or(0),
            });
        }
        Ok(())
    }

    fn running(&mut self) -> Result<BTreeSet<String>> {
        let mut statement = self.told(self.conn.prepare(Q_RUNNING))?;
        let mut rows = self.told(statement.query([]))?;
        let mut all = BTreeSet::new();
        while let Some(row) = self.told(rows.next())? {
            all.extend(whole(row, 0));
        }
        Ok(all)
    }

    fn last(&mut self, table: Table) -> Result<i64> {
        let there = self.number(&format!("SELECT coalesce(max(id), 0) FROM {}", table.as_str()))?;
        // No such table where no table counts its rows.
        let counts = self.number("SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'")? > 0;
        let given = || self.conn.query_row(Q_GIVEN, [table.as_str()], |row| row.get(0)).optional();
        let given: Option<i64> = if counts { self.told(given())? } else { None };
        Ok(there.max(given.unwrap_or(0)))
    }

    fn used(&mut self, table: Table, column: &str) -> Result<i64> {
        let column = column.replace('"', "\"\"");
        self.number(&format!(
            "SELECT count(*) FROM {} WHERE \"{column}\" IS NOT NULL AND \"{column}\" NOT IN (0, '')",
            copied(table)
        ))
    }

    fn besides(&mut self) -> Result<Vec<(&'static str, i64)>> {
        let mut all = Vec::new();
        for (table, what) in [("task_attachments", "attachments"), ("kanban_notify_subs", "subscriptions")] {
            let there =
                format!("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '{table}'");
            if self.number(&there)? > 0 {
                all.push((what, self.number(&format!("SELECT count(*) FROM {table}"))?));
            }
        }
        if self.has(Table::Links) {
            let links = self.number("SELECT count(*) FROM task_links")?;
            all.push(("links of tasks that are not there", links - self.count(Table::Links)?));
        }
        Ok(all)
    }
}

impl Target for Whole<'_> {
    fn put(&mut self, table: Table, fields: &[Field], rows: Vec<copy::Row>) -> Result<()> {
        // The one column that Watchbill's own boards may lack.
        let provider = fields.iter().position(|field| field.name == PROVIDER);
        let mut skipped = None;
        if let Some(nth) = provider
            && !self.has_provider()?
        {
            match rows.iter().any(|row| row.get(nth) != Some(&Cell::None)) {
                true => self.told(self.conn.execute_batch(W_PROVIDER))?,
                false => skipped = Some(nth),
            }
        }
        let kept = fields.iter().enumerate().filter(|(nth, _)| Some(*nth) != skipped);
        let (places, fields): (Vec<usize>, Vec<Field>) = kept.map(|(nth, field)| (nth, *field)).unzip();
        let marks: Vec<String> = (1..=fields.len()).map(|n| format!("?{n}")).collect();
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            table.as_str(),
            names(&fields).join(", "),
            marks.join(", ")
        );
        let mut statement = self.told(self.conn.prepare(&sql))?;
        for row in &rows {
            let values = places.iter().map(|nth| row.get(*nth).unwrap_or(&Cell::None));
            self.told(statement.execute(rusqlite::params_from_iter(values)))?;
        }
        Ok(())
    }

    fn go_on_after(&mut self, table: Table, last: i64) -> Result<()> {
        if last > 0 && self.told(self.conn.execute(W_GIVEN, params![table.as_str(), last]))? == 0 {
            self.told(self.conn.execute(W_FIRST_GIVEN, params![table.as_str(), last]))?;
        }
        Ok(())
    }
}

fn names(fields: &[Field]) -> Vec<&'static str> {
    fields.iter().map(|field| field.name).collect()
}

fn cell(row: &Row<'_>, nth: usize, field: &Field) -> Cell {
    match field.is_number {
        true => int(row, nth).map_or(Cell::None, Cell::Number),
        false => whole(row, nth).map_or(Cell::None, Cell::Text),
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Cell::None => Ok(Null.into()),
            Cell::Number(n) => n.to_sql(),
            Cell::Text(text) => text.to_sql(),
        }
    }
}
