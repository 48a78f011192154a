//! A whole board copied onto an empty one, whatever their engines.
//!
//! Rows go from one to the other in parts, so that no board is ever held in memory. Engines read and write plain rows; what is copied, and
//! what becomes of it on the way, is told here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;

use crate::hermes::{self, Trail};
use crate::image::Cell;
use crate::{Board, Detail, EventKind, Location, Status};
use base::error::{Error, Kind, Result};
use base::hash::Fnv;
use base::named_enum::named_enum;
use base::time::Time;

/// Most rows of a part.
pub const PART: usize = 1_000;

/// How an attempt ends that was left running.
const LEFT: &str = "left running by board copy";

named_enum! {
    /// What the rows of a board are in.
    pub enum Table {
        /// Attempts.
        Runs = "task_runs",
        /// Comments.
        Comments = "task_comments",
        /// Events.
        Events = "task_events",
        /// Tasks.
        Tasks = "tasks",
        /// Which task waits for which.
        Links = "task_links",
    }
}

impl Table {
    /// What its rows are called.
    pub fn rows(self) -> &'static str {
        self.as_str().trim_start_matches("task_")
    }

    /// Whether its rows have numbers, which the board gives.
    pub fn is_numbered(self) -> bool {
        matches!(self, Table::Runs | Table::Comments | Table::Events)
    }

    /// The columns that it has on every board, and those that Hermes alone reads: a server has none of these.
    fn known(self) -> (&'static [Field], &'static [Field]) {
        match self {
            Table::Runs => (&RUNS, &RUNS_IN_FILES),
            Table::Comments => (&COMMENTS, &[]),
            Table::Events => (&EVENTS, &[]),
            Table::Tasks => (&TASKS, &TASKS_IN_FILES),
            Table::Links => (&LINKS, &[]),
        }
    }

    /// The columns that it has on every board.
    pub fn columns(self) -> Vec<String> {
        self.known().0.iter().map(|field| field.name.to_owned()).collect()
    }

    /// The columns that are copied to a board there, of a table that has these.
    pub fn fields(self, at: &Location, has: &[String]) -> Vec<Field> {
        let (all, of_hermes) = self.known();
        let of_hermes = if at.file().is_some() { of_hermes } else { &[] };
        all.iter()
            .chain(of_hermes)
            .filter(|field| has.iter().any(|name| name == field.name))
            .copied()
            .collect()
    }
}

/// A column, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name on the board.
    pub name: &'static str,
    /// Numbers, or texts.
    pub is_number: bool,
    /// What stands in it where a board that must not leave it empty is given nothing. Hermes takes more than we do.
    needs: Option<&'static str>,
}

impl Field {
    fn filled(&self, cell: Cell) -> Cell {
        match (cell, self.needs) {
            (Cell::None, Some(_)) if self.is_number => Cell::Number(0),
            (Cell::None, Some(text)) => Cell::Text(text.to_owned()),
            (cell, _) => cell,
        }
    }
}

const fn text(name: &'static str) -> Field {
    Field { name, is_number: false, needs: None }
}

const fn text_or(name: &'static str, needs: &'static str) -> Field {
    Field { name, is_number: false, needs: Some(needs) }
}

const fn number(name: &'static str) -> Field {
    Field { name, is_number: true, needs: None }
}

const fn number_or_0(name: &'static str) -> Field {
    Field { name, is_number: true, needs: Some("0") }
}

static TASKS: [Field; 29] = [
    text("id"),
    text_or("title", ""),
    text("body"),
    text("assignee"),
    text_or("status", "triage"),
    number_or_0("priority"),
    text("created_by"),
    number_or_0("created_at"),
    number("started_at"),
    number("completed_at"),
    text_or("workspace_kind", "scratch"),
    text("workspace_path"),
    text("branch_name"),
    text("tenant"),
    text("result"),
    text("idempotency_key"),
    text("claim_lock"),
    number("claim_expires"),
    number("worker_pid"),
    number("last_heartbeat_at"),
    number("current_run_id"),
    number_or_0("consecutive_failures"),
    text("last_failure_error"),
    number("max_retries"),
    number("max_runtime_seconds"),
    text("model_override"),
    text("provider_override"),
    text("block_kind"),
    number_or_0("block_recurrences"),
];
static TASKS_IN_FILES: [Field; 7] = [
    text("project_id"),
    text("workflow_template_id"),
    text("current_step_key"),
    text("skills"),
    number_or_0("goal_mode"),
    number("goal_max_turns"),
    text("session_id"),
];
static RUNS: [Field; 15] = [
    number("id"),
    text_or("task_id", ""),
    text("profile"),
    text_or("status", ""),
    text("claim_lock"),
    number("claim_expires"),
    number("worker_pid"),
    number("max_runtime_seconds"),
    number("last_heartbeat_at"),
    number_or_0("started_at"),
    number("ended_at"),
    text("outcome"),
    text("summary"),
    text("metadata"),
    text("error"),
];
static RUNS_IN_FILES: [Field; 1] = [text("step_key")];
static COMMENTS: [Field; 5] = [
    number("id"),
    text_or("task_id", ""),
    text_or("author", ""),
    text_or("body", ""),
    number_or_0("created_at"),
];
static EVENTS: [Field; 6] = [
    number("id"),
    text_or("task_id", ""),
    number("run_id"),
    text_or("kind", ""),
    text("payload"),
    number_or_0("created_at"),
];
static LINKS: [Field; 2] = [text("parent_id"), text("child_id")];

/// The fingerprint of a worker says nothing on a board to which its process is unknown.
const OF_PROCESSES: &str = "worker_started_at";

/// Cells in the order of the columns that were asked for.
pub type Row = Vec<Cell>;

/// How a task stands, by which two boards are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The task.
    pub id: String,
    /// Where it stands.
    pub status: String,
    /// Who has it.
    pub assignee: Option<String>,
    /// How many events it has.
    pub events: i64,
}

/// One snapshot of a board, to be copied.
pub trait Source {
    /// The columns that a table has; none where there is no such table.
    fn columns(&self, table: Table) -> Vec<String>;

    /// All rows of a table in parts, as many at once as memory may hold. No link to a task that is not there, or of a task to itself.
    ///
    /// # Errors
    /// The board cannot be read; what `each` says.
    fn rows(
        &mut self,
        table: Table,
        fields: &[Field],
        each: &mut dyn FnMut(Vec<Row>) -> Result<()>,
    ) -> Result<()>;

    /// How many rows those are.
    ///
    /// # Errors
    /// The board cannot be read.
    fn count(&mut self, table: Table) -> Result<i64>;

    /// How each task stands, in any order.
    ///
    /// # Errors
    /// The board cannot be read.
    fn standings(&mut self, each: &mut dyn FnMut(Standing)) -> Result<()>;

    /// The tasks that are running, are claimed, or have an attempt that has not ended.
    ///
    /// # Errors
    /// The board cannot be read.
    fn running(&mut self) -> Result<BTreeSet<String>>;

    /// The highest number that a table gave to a row, whether or not that row is there still.
    ///
    /// # Errors
    /// The board cannot be read.
    fn last(&mut self, table: Table) -> Result<i64>;

    /// In how many rows something stands in a column: no empty text, and no 0.
    ///
    /// # Errors
    /// The board cannot be read.
    fn used(&mut self, table: Table, column: &str) -> Result<i64>;

    /// What else the board holds that no copy has, and how much of it.
    ///
    /// # Errors
    /// The board cannot be read.
    fn besides(&mut self) -> Result<Vec<(&'static str, i64)>> {
        Ok(Vec::new())
    }
}

/// A board inside the one transaction in which it is filled. Nobody else writes to it meanwhile.
pub trait Target: Source {
    /// Writes rows as they are, with their numbers.
    ///
    /// # Errors
    /// The board does not take them.
    fn put(&mut self, table: Table, fields: &[Field], rows: Vec<Row>) -> Result<()>;

    /// From now on the rows of a table get higher numbers than this.
    ///
    /// # Errors
    /// The board cannot be written.
    fn go_on_after(&mut self, table: Table, last: i64) -> Result<()>;
}

/// What two boards that hold the same have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many rows of each table there are.
    pub rows: BTreeMap<Table, i64>,
    /// Over how every task stands, in any order.
    pub hash: u64,
}

impl Sum {
    /// Of a snapshot, with each task as `like` has it.
    fn of<S: Source + ?Sized>(source: &mut S, like: impl Fn(&mut Standing)) -> Result<Sum> {
        let mut sum = Sum::default();
        for table in Table::ALL {
            sum.rows.insert(table, source.count(table)?);
        }
        source.standings(&mut |mut task| {
            like(&mut task);
            let mut hash = Fnv::new();
            hash.part(task.id.as_bytes());
            hash.part(task.status.as_bytes());
            hash.part(task.assignee.as_deref().unwrap_or("\0").as_bytes());
            hash.add(&task.events.to_le_bytes());
            sum.hash = sum.hash.wrapping_add(hash.value());
        })?;
        Ok(sum)
    }

    /// How many rows of a table there are.
    pub fn count(&self, table: Table) -> i64 {
        self.rows.get(&table).copied().unwrap_or(0)
    }
}

/// What a copy would do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What there is to be copied, as it is now.
    pub sum: Sum,
    /// Tasks that are running, are claimed, or have an attempt that has not ended.
    pub running: Vec<Detail>,
    /// What the copy will not have, and how much of it.
    pub left_out: Vec<(String, i64)>,
}

/// Looks at a board that is to be copied to a place.
///
/// # Errors
/// The board cannot be read, or is too old.
pub fn plan(from: &mut dyn Board, to: &Location) -> Result<Plan> {
    // One that is too old for us to write holds its rows in another way.
    from.writable()?;
    let (mut sum, mut running, mut left_out) = (Sum::default(), BTreeSet::new(), Vec::new());
    from.snapshot(&mut |source| {
        sum = Sum::of(source, |_| {})?;
        running = source.running()?;
        for table in Table::ALL {
            let has = source.columns(table);
            let fields = table.fields(to, &has);
            let lacks = has.iter().filter(|name| *name != OF_PROCESSES);
            for name in lacks.filter(|name| fields.iter().all(|field| field.name != name.as_str())) {
                left_out.push((format!("{}.{name}", table.as_str()), source.used(table, name)?));
            }
        }
        left_out.extend(source.besides()?.into_iter().map(|(what, many)| (what.to_owned(), many)));
        Ok(())
    })?;
    left_out.retain(|(_, many)| *many > 0);
    let running: Vec<String> = running.into_iter().collect();
    Ok(Plan { sum, running: from.look(&running)?, left_out })
}

/// Whether a board holds nothing.
///
/// # Errors
/// The board cannot be read.
pub fn is_empty(board: &mut dyn Board) -> Result<bool> {
    let mut all = 0;
    board.snapshot(&mut |source| {
        all = rows_of(source)?;
        Ok(())
    })?;
    Ok(all == 0)
}

fn rows_of<S: Source + ?Sized>(source: &mut S) -> Result<i64> {
    Table::ALL.iter().map(|table| source.count(*table)).sum()
}

/// Says that a board is not empty.
pub fn not_empty(at: &Location) -> Error {
    Error::new(Kind::Partial, at, "this board is not empty; nothing was copied").hint("copy to a new one")
}

/// Copies all that was planned, in one transaction of the board it goes to, and compares both boards at its end. Tasks that run are ready there.
///
/// # Errors
/// Nothing was written: the board it goes to is not empty or does not take a row, one of both cannot be reached, or what is copied was changed
/// meanwhile.
pub fn copy(
    from: &mut dyn Board,
    to: &mut dyn Board,
    plan: &Plan,
    now: Time,
    trail: &Trail<'_>,
    patience: Duration,
) -> Result<Sum> {
    let (from_at, to_at) = (from.id().at.clone(), to.id().at.clone());
    let left = Left::of(&plan.running, now, trail);
    let changed = || {
        let what = "this board was changed while it was copied; nothing was written";
        Error::new(Kind::Partial, &from_at, what).hint("stop what works on it, and try again")
    };
    let mut copied = Sum::default();
    to.fill(patience, &mut |target| {
        if rows_of(target)? > 0 {
            return Err(not_empty(&to_at));
        }
        let mut wanted = Sum::default();
        from.snapshot(&mut |source| {
            if Sum::of(source, |_| {})? != plan.sum {
                return Err(changed());
            }
            for table in Table::ALL {
                left.pour(table, &to_at, source, target)?;
            }
            wanted = left.sum(source)?;
            Ok(())
        })?;
        from.snapshot(&mut |source| if left.sum(source)? == wanted { Ok(()) } else { Err(changed()) })?;
        copied = Sum::of(target, |_| {})?;
        if copied == wanted {
            return Ok(());
        }
        let what = format!("the copy would not be equal to {from_at}; nothing was written");
        Err(Error::new(Kind::Bug, &to_at, what))
    })?;
    Ok(copied)
}

/// What was left running, by its task: what the task becomes, and what its history says of that.
struct Left<'a> {
    tasks: BTreeMap<&'a str, (&'a Detail, Option<Status>)>,
    now: Time,
    trail: &'a Trail<'a>,
}

impl<'a> Left<'a> {
    fn of(running: &'a [Detail], now: Time, trail: &'a Trail<'a>) -> Left<'a> {
        let to = |seen: &Detail| (seen.task.status == Status::Running).then(|| hermes::origin(seen));
        Left {
            tasks: running.iter().map(|seen| (seen.task.id.as_str(), (seen, to(seen)))).collect(),
            now,
            trail,
        }
    }

    /// What both boards have in common when the copy is done.
    fn sum<S: Source + ?Sized>(&self, source: &mut S) -> Result<Sum> {
        let mut sum = Sum::of(source, |task| {
            let Some((_, to)) = self.tasks.get(task.id.as_str()) else { return };
            task.events += 1;
            if let Some(to) = to {
                task.status = to.as_str().to_owned();
            }
        })?;
        *sum.rows.entry(Table::Events).or_default() += i64::try_from(self.tasks.len()).unwrap_or(i64::MAX);
        Ok(sum)
    }

    /// Copies one table.
    fn pour(
        &self,
        table: Table,
        to: &Location,
        source: &mut dyn Source,
        target: &mut dyn Target,
    ) -> Result<()> {
        let fields = table.fields(to, &source.columns(table));
        if fields.is_empty() {
            return Ok(());
        }
        source.rows(table, &fields, &mut |mut rows| {
            for row in &mut rows {
                for (cell, field) in row.iter_mut().zip(&fields) {
                    *cell = field.filled(std::mem::replace(cell, Cell::None));
                }
                self.end(table, &fields, row);
            }
            target.put(table, &fields, rows)
        })?;
        if !table.is_numbered() {
            return Ok(());
        }
        let mut last = source.last(table)?;
        if table == Table::Events && !self.tasks.is_empty() {
            let events: Vec<Row> = self.events(&fields, last);
            last += i64::try_from(events.len()).unwrap_or(0);
            target.put(table, &fields, events)?;
        }
        target.go_on_after(table, last)
    }

    /// Ends in its row what runs.
    fn end(&self, table: Table, fields: &[Field], row: &mut [Cell]) {
        let said = |text: &str| Cell::Text(text.to_owned());
        match (table, at(fields, row, "id")) {
            (Table::Runs, _) if at(fields, row, "ended_at") == Some(&Cell::None) => {
                for name in ["claim_lock", "claim_expires", "worker_pid"] {
                    set(fields, row, name, Cell::None);
                }
                set(fields, row, "status", said("reclaimed"));
                set(fields, row, "outcome", said("reclaimed"));
                set(fields, row, "error", said(LEFT));
                set(fields, row, "ended_at", Cell::Number(self.now.0));
            }
            (Table::Tasks, Some(Cell::Text(id))) => {
                let Some((_, to)) = self.tasks.get(id.as_str()) else { return };
                for name in ["claim_lock", "claim_expires", "worker_pid", "current_run_id"] {
                    set(fields, row, name, Cell::None);
                }
                if let Some(to) = to {
                    set(fields, row, "status", said(to.as_str()));
                }
            }
            _ => {}
        }
    }

    /// The events that say so, numbered after the last one.
    fn events(&self, fields: &[Field], last: i64) -> Vec<Row> {
        let said = |seen: &Detail| {
            let task = &seen.task;
            let keys = json!({"prev_lock": task.claim_lock, "worker_pid": task.worker_pid, "reason": LEFT, "manual": true});
            hermes::payload(self.trail, keys)
        };
        let row = |(nth, (id, (seen, _))): (i64, (&&str, &(&Detail, Option<Status>)))| {
            let cell = |field: &Field| match field.name {
                "id" => Cell::Number(last + nth),
                "task_id" => Cell::Text((*id).to_owned()),
                "run_id" => seen.task.current_run.map_or(Cell::None, Cell::Number),
                "kind" => Cell::Text(EventKind::Reclaimed.as_str().to_owned()),
                "payload" => Cell::Text(said(seen).to_string()),
                "created_at" => Cell::Number(self.now.0),
                _ => Cell::None,
            };
            fields.iter().map(cell).collect()
        };
        (1..).zip(&self.tasks).map(row).collect()
    }
}

fn at<'r>(fields: &[Field], row: &'r [Cell], name: &str) -> Option<&'r Cell> {
    row.get(fields.iter().position(|field| field.name == name)?)
}

fn set(fields: &[Field], row: &mut [Cell], name: &str, to: Cell) {
    let nth = fields.iter().position(|field| field.name == name);
    if let Some(cell) = nth.and_then(|nth| row.get_mut(nth)) {
        *cell = to;
    }
}
