//! One part of the steps of an `apply`, in one transaction.
//!
//! READ COMMITTED: first all rows that the part touches are locked, in the order of their ids, then each statement sees all that was committed
//! before it. Where two parts could each rest on what the other one changes, both lock the same row.

use std::cell::Cell as Note;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use base::time::Time;
use board::change::{Change, NewTask, Outcome, Step};
use board::image::{Cell, Column};
use board::rows::{End, Past, Rows, To, may_be_refused, step};
use board::several_hosts::OVERTAKEN;
use board::{Answer, Begin, Detail, EventKind, Status, Task};
use serde_json::Value;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::epochs;
use crate::reads::{TASK, TASK_WIDTH, comments, lock_next, look, mark_of, task, timeline_of};
use crate::server::{Access, Arg, Fault, Server, args};

/// What a part is carried out with.
pub(crate) struct Part<'a> {
    pub(crate) now: Time,
    pub(crate) steps: &'a [Step],
    /// The same for each try: a try whose answer was lost is not done twice.
    pub(crate) uuid: &'a str,
    pub(crate) host: &'a str,
    /// The board's own id, which its advisory locks are named after.
    pub(crate) board: &'a str,
    /// The pass of a watcher that it is a part of.
    pub(crate) pass: Option<&'a epochs::Pass>,
    /// Each step under a savepoint of its own: one that the server does not take is refused alone.
    pub(crate) one_by_one: bool,
    pub(crate) patience: Duration,
    /// A commit was sent, and it is not known whether it took place.
    pub(crate) unsure: &'a Note<bool>,
}

/// Carries out a part, whole or not at all.
pub(crate) fn write(server: &mut Server, part: &Part<'_>) -> Result<Vec<Outcome>, Fault> {
    server.begin(WRITE, part.patience)?;
    match enter(server, part)? {
        Some(done) => Ok(done),
        None if is_of_before(part.steps, server.timeline) => {
            server.batch("ROLLBACK")?;
            Ok(vec![Outcome::Moved { what: "the server changed over".into() }; part.steps.len()])
        }
        None => carry_out(server, part),
    }
}

/// Whether a step rests on what was seen before this timeline began: what was said then may be lost, and its numbers given again.
fn is_of_before(steps: &[Step], timeline: u32) -> bool {
    steps.iter().filter_map(|step| timeline_of(&step.expect.as_ref()?.mark)).any(|seen| seen != timeline)
}

/// Takes the next free task of these profiles; `part` has no steps, and its answer gives the one that is carried out. `taken` keeps what
/// was offered for a try whose answer is lost.
pub(crate) fn take(
    server: &mut Server,
    part: &Part<'_>,
    (of, begin): (&[Option<&str>], Begin<'_>),
    taken: &mut Option<Detail>,
    answer: &mut dyn FnMut(&Detail) -> Answer,
) -> Result<Option<(Detail, Outcome)>, Fault> {
    let (mut begin, mut passed) = (begin, Vec::new());
    loop {
        server.begin(WRITE, part.patience)?;
        let tried = part.unsure.get();
        if tried && let Some(done) = enter(server, part)? {
            return Ok(taken.take().zip(done.into_iter().next()));
        }
        let locked = match lock_next(server, of, begin, &passed) {
            // Another connection holds it for long: another task is begun with.
            Err(fault) if fault.is_locked() => {
                begin = Begin::At(0);
                server.batch("ROLLBACK")?;
                continue;
            }
            locked => locked?,
        };
        let Some(id) = locked else { break };
        let seen = look(server, &[&id])?.remove(&id).filter(|d| d.may_be_claimed(true).is_ok());
        match seen.map(|seen| (answer(&seen), seen)) {
            Some((Answer::Take(step), mut seen)) => {
                seen.comments = comments(server, &[&id], true)?.remove(&id).unwrap_or_default();
                *taken = Some(seen);
                if !tried && let Some(done) = enter(server, part)? {
                    return Ok(taken.take().zip(done.into_iter().next()));
                }
                let done = carry_out(server, &Part { steps: std::slice::from_ref(&step), ..*part })?;
                return Ok(taken.take().zip(done.into_iter().next()));
            }
            Some((Answer::Stop, _)) => break,
            // In a new transaction, so that others are offered this one.
            Some((Answer::Next, _)) | None => passed.push(id),
        }
        server.batch("ROLLBACK")?;
    }
    server.batch("ROLLBACK")?;
    Ok(None)
}

/// Each statement sees all that was committed before it.
pub(crate) const WRITE: Access = Access { isolation: "READ COMMITTED", writes: true };

/// Notes that the transaction is that of this part. Where an earlier try was committed it gives what became of it, and ends the transaction.
fn enter(server: &mut Server, part: &Part<'_>) -> Result<Option<Vec<Outcome>>, Fault> {
    // Waits for a transaction of the same part that still runs, over a connection that was lost.
    let claimed = "INSERT INTO writes (id, at, host) VALUES ($1::uuid, now_s(), $2) ON CONFLICT DO NOTHING RETURNING at";
    let is_new = server.row(claimed, args![part.uuid, part.host])?.is_some();
    let stored = match is_new {
        true => None,
        false => server.row("SELECT outcomes FROM writes WHERE id = $1::uuid", args![part.uuid])?,
    };
    part.unsure.set(false);
    if is_new {
        return Ok(None);
    }
    server.batch("COMMIT")?;
    let outcomes: Option<String> = stored.and_then(|row| row.get(0));
    // It was committed with them, or not at all.
    outcomes.and_then(|text| serde_json::from_str(&text).ok()).ok_or(Fault::Again).map(Some)
}

/// Carries out the steps of a part in its transaction, and commits it.
fn carry_out(server: &mut Server, part: &Part<'_>) -> Result<Vec<Outcome>, Fault> {
    let decides = |step: &Step| part.pass.is_some_and(|pass| pass.decides(step));
    let is_overtaken = match part.pass.filter(|_| part.steps.iter().any(decides)) {
        Some(pass) => !pass.is_newest(server)?,
        None => false,
    };
    let links = part.steps.iter().any(|s| s.changes.iter().any(|c| matches!(c, Change::Link { .. })));
    if links {
        // Two links that close a circle together touch no common row.
        let sql = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
        server.rows(sql, args![format!("{}:links", part.board).as_str()])?;
    }
    // Before the tasks, as every pass that takes the work of another host.
    let taking = match part.pass {
        Some(pass) if epochs::Pass::takes(server, part.steps)? => Some(pass),
        _ => None,
    };
    let mut open = Open { server, tasks: BTreeMap::new(), sets: BTreeMap::new() };
    open.lock(part.steps)?;
    // After the last wait for a lock.
    let left = match taking {
        Some(pass) => pass.left(open.server, part.steps)?,
        None => vec![None; part.steps.len()],
    };
    let mut outcomes = Vec::with_capacity(part.steps.len());
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for (step, left) in part.steps.iter().zip(left) {
        if let Some(first) = step.after.iter().find(|t| !done.contains(t.as_str())) {
            outcomes.push(Outcome::Moved { what: format!("{first} was not changed") });
            continue;
        }
        if is_overtaken && decides(step) {
            outcomes.push(Outcome::Moved { what: OVERTAKEN.to_owned() });
            continue;
        }
        if let Some(what) = left {
            outcomes.push(Outcome::Moved { what });
            continue;
        }
        let outcome = open.step(part, step)?;
        if matches!(outcome, Outcome::Applied { .. }) {
            done.insert(&step.task);
        }
        outcomes.push(outcome);
    }
    if let Some(pass) = part.pass.filter(|pass| pass.did(part.steps, &outcomes)) {
        pass.tell(server)?;
    }
    let told = serde_json::to_string(&outcomes).unwrap_or_default();
    server.rows("UPDATE writes SET outcomes = $2 WHERE id = $1::uuid", args![part.uuid, told.as_str()])?;
    part.unsure.set(true);
    server.batch("COMMIT")?;
    part.unsure.set(false);
    Ok(outcomes)
}

/// The rows of the board inside the transaction of a part.
struct Open<'s> {
    server: &'s mut Server,
    /// Rows as they are now, with their marks; none that was changed since it was read.
    tasks: BTreeMap<String, Option<(Task, String)>>,
    /// Columns that are not written yet: one statement for each task and step.
    sets: BTreeMap<String, Vec<(&'static str, Cell)>>,
}

impl Open<'_> {
    /// Locks every row that the steps look at or change, in the order of the ids, and reads them.
    fn lock(&mut self, steps: &[Step]) -> Result<(), Fault> {
        let (mut touched, mut freeing) = (BTreeSet::new(), BTreeSet::new());
        for step in steps {
            touched.insert(step.task.as_str());
            for change in &step.changes {
                match change {
                    Change::Link { parent } => _ = touched.insert(parent),
                    Change::ArchiveAnother { id, .. } => _ = touched.insert(id),
                    Change::Require { task, .. } => _ = touched.insert(task),
                    Change::PromoteChildren { .. } => _ = freeing.insert(step.task.as_str()),
                    _ => {}
                }
            }
        }
        // Children before their parents' end is looked at: of two parents that end at once the second one waits here for the
        // first, and then sees that it has ended.
        let children = self.children(&freeing)?;
        let all: BTreeSet<&str> =
            touched.iter().copied().chain(children.iter().map(String::as_str)).collect();
        let ids = || -> Arg<'_> { all.iter().copied().collect() };
        self.server
            .rows("SELECT id FROM tasks WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE", &[ids()])?;
        // A new statement, and so a new snapshot: after the wait.
        for row in
            self.server.rows(&format!("SELECT {TASK}, mark FROM tasks WHERE id = ANY($1)"), &[ids()])?
        {
            let task = task(&row);
            let mark = mark_of(self.server.timeline, row.get(TASK_WIDTH));
            self.tasks.insert(task.id.clone(), Some((task, mark)));
        }
        // A child that came in between is not locked, and locking it now would be out of order.
        if self.children(&freeing)?.iter().any(|child| !all.contains(child.as_str())) {
            return Err(Fault::Again);
        }
        Ok(())
    }

    fn children(&mut self, of: &BTreeSet<&str>) -> Result<BTreeSet<String>, Fault> {
        if of.is_empty() {
            return Ok(BTreeSet::new());
        }
        let of: Arg<'_> = of.iter().copied().collect();
        let rows = self.server.rows("SELECT child_id FROM task_links WHERE parent_id = ANY($1)", &[of])?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Carries out a step; of one that is refused nothing is left.
    fn step(&mut self, part: &Part<'_>, of: &Step) -> Result<Outcome, Fault> {
        let saved = part.one_by_one || may_be_refused(of);
        if saved {
            self.server.batch("SAVEPOINT step")?;
        }
        let carried = step(self, part.now, of).and_then(|outcome| {
            // What a refused step put off is not written.
            if matches!(outcome, Outcome::Applied { .. }) {
                self.flush()?
            }
            Ok(outcome)
        });
        let outcome = match carried {
            Err(fault) if part.one_by_one && fault.is_of_one_step() => {
                Outcome::Refused { why: format!("the board does not take it: {}", fault.said()) }
            }
            carried => carried?,
        };
        self.sets.clear();
        if saved && !matches!(outcome, Outcome::Applied { .. }) {
            self.server.batch("ROLLBACK TO SAVEPOINT step; RELEASE SAVEPOINT step")?;
            self.tasks.clear();
        } else if saved {
            self.server.batch("RELEASE SAVEPOINT step")?;
        }
        Ok(outcome)
    }

    /// Writes what was put off, before something reads it.
    fn flush(&mut self) -> Result<(), Fault> {
        for (id, cells) in std::mem::take(&mut self.sets) {
            self.tasks.remove(&id);
            let (mut sql, mut args) = ("UPDATE tasks SET ".to_owned(), vec![Arg::from(id.as_str())]);
            for (nth, (column, cell)) in cells.iter().enumerate() {
                let comma = if nth == 0 { "" } else { ", " };
                let value = match cell {
                    Cell::None => "NULL".to_owned(),
                    Cell::Number(n) => {
                        args.push((*n).into());
                        format!("${}", args.len())
                    }
                    Cell::Text(text) => {
                        args.push(text.as_str().into());
                        format!("${}", args.len())
                    }
                };
                _ = write!(sql, "{comma}{column} = {value}");
            }
            sql.push_str(" WHERE id = $1");
            self.server.rows(&sql, &args)?;
        }
        Ok(())
    }

    fn exists(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<bool, Fault> {
        Ok(self.server.row(&format!("SELECT EXISTS ({sql})"), args)?.is_some_and(|row| row.get(0)))
    }
}

impl Rows for Open<'_> {
    type Fault = Fault;

    fn task(&mut self, id: &str) -> Result<Option<(Task, String)>, Fault> {
        self.flush()?;
        if !self.tasks.contains_key(id) {
            let row = self.server.row(&format!("SELECT {TASK}, mark FROM tasks WHERE id = $1"), args![id])?;
            let mark = |row: &Row| mark_of(self.server.timeline, row.get(TASK_WIDTH));
            self.tasks.insert(id.to_owned(), row.map(|row| (task(&row), mark(&row))));
        }
        Ok(self.tasks.get(id).cloned().flatten())
    }

    fn mark(&mut self, id: &str) -> Result<String, Fault> {
        let none = mark_of(self.server.timeline, 0);
        Ok(self.task(id)?.map_or(none, |(_, mark)| mark))
    }

    fn cell(&mut self, id: &str, column: Column) -> Result<Option<Cell>, Fault> {
        if !has(column.as_str()) {
            return Ok(None);
        }
        let row =
            self.server.row(&format!("SELECT {} FROM tasks WHERE id = $1", column.as_str()), args![id])?;
        Ok(row.map(|row| match *row.columns()[0].type_() {
            Type::INT8 => row.get::<_, Option<i64>>(0).map_or(Cell::None, Cell::Number),
            _ => row.get::<_, Option<String>>(0).map_or(Cell::None, Cell::Text),
        }))
    }

    fn is_there(&mut self, id: &str) -> Result<bool, Fault> {
        self.exists("SELECT FROM tasks WHERE id = $1", args![id])
    }

    fn waits(&mut self, task: &str, parent: &str) -> Result<bool, Fault> {
        self.exists("SELECT FROM task_links WHERE parent_id = $1 AND child_id = $2", args![parent, task])
    }

    fn leads(&mut self, from: &str, to: &str) -> Result<bool, Fault> {
        self.exists(
            "WITH RECURSIVE below(id) AS (SELECT $1 COLLATE \"C\" UNION SELECT next.child_id FROM below b, \
             LATERAL (SELECT child_id FROM task_links WHERE parent_id = b.id LIMIT 100000) next) \
             SELECT FROM below WHERE id = $2",
            args![from, to],
        )
    }

    fn free_children(&mut self, parent: &str) -> Result<Vec<String>, Fault> {
        self.flush()?;
        let sql = "SELECT c.id FROM task_links l JOIN tasks c ON c.id = l.child_id \
             WHERE l.parent_id = $1 AND c.status = 'todo' AND NOT EXISTS (SELECT FROM task_links m \
             JOIN tasks p ON p.id = m.parent_id WHERE m.child_id = c.id AND p.status NOT IN ('done', 'archived')) \
             ORDER BY c.id";
        Ok(self.server.rows(sql, args![parent])?.iter().map(|row| row.get(0)).collect())
    }

    fn set(&mut self, id: &str, to: &[(&'static str, To<'_>)]) -> Result<(), Fault> {
        let sets = self.sets.entry(id.to_owned()).or_default();
        for (column, to) in to.iter().filter(|(column, _)| has(column)) {
            let cell = match to {
                To::Nothing => Cell::None,
                To::Number(n) => Cell::Number(*n),
                To::Text(text) => Cell::Text((*text).to_owned()),
            };
            sets.retain(|(known, _)| known != column);
            sets.push((column, cell));
        }
        if sets.is_empty() {
            self.sets.remove(id);
        }
        Ok(())
    }

    fn began(&mut self, id: &str, at: Time) -> Result<(), Fault> {
        // Known from the guard, as a rule; then it goes with the claim.
        match self.tasks.get(id) {
            Some(Some((task, _))) if task.started_at.is_some() => return Ok(()),
            Some(Some(_)) => return self.set(id, &[("started_at", To::Number(at.0))]),
            _ => self.flush()?,
        }
        let sql = "UPDATE tasks SET started_at = $2 WHERE id = $1 AND started_at IS NULL";
        self.server.rows(sql, args![id, at.0]).map(drop)
    }

    fn insert(
        &mut self,
        at: Time,
        id: &str,
        status: &Status,
        new: &NewTask,
    ) -> Result<Result<(), String>, Fault> {
        self.tasks.remove(id);
        let sql = "INSERT INTO tasks (id, title, body, assignee, status, priority, created_by, created_at, \
             workspace_kind, workspace_path, tenant, idempotency_key, max_retries, max_runtime_seconds) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING RETURNING id";
        let all = args![
            id,
            new.title.as_str(),
            new.body.as_deref(),
            new.assignee.as_deref(),
            status.as_str(),
            new.priority,
            new.created_by.as_deref(),
            at.0,
            new.workspace_kind.as_deref().unwrap_or("scratch"),
            new.workspace_path.as_deref(),
            new.tenant.as_deref(),
            new.idempotency_key.as_deref(),
            new.max_retries,
            new.max_runtime_seconds,
        ];
        if self.server.row(sql, all)?.is_some() {
            return Ok(Ok(()));
        }
        let same_key = match &new.idempotency_key {
            Some(key) => crate::reads::with_key(self.server, key)?,
            None => None,
        };
        Ok(Err(match same_key {
            Some(other) => format!("{other} already has this key"),
            None => format!("{id} exists already"),
        }))
    }

    fn event(
        &mut self,
        at: Time,
        task: &str,
        kind: &EventKind,
        payload: &Value,
        run: Option<i64>,
    ) -> Result<(), Fault> {
        self.tasks.remove(task);
        let payload = (!payload.is_null()).then(|| payload.to_string());
        let sql = "INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES ($1, $2, $3, $4, $5)";
        self.server.rows(sql, args![task, run, kind.as_str(), payload.as_deref(), at.0]).map(drop)
    }

    fn comment(&mut self, at: Time, task: &str, author: &str, body: &str) -> Result<(), Fault> {
        let sql = "INSERT INTO task_comments (task_id, author, body, created_at) VALUES ($1, $2, $3, $4)";
        self.server.rows(sql, args![task, author, body, at.0]).map(drop)
    }

    fn start_run(&mut self, at: Time, task: &str, profile: Option<&str>) -> Result<i64, Fault> {
        self.flush()?;
        let sql = "INSERT INTO task_runs (task_id, profile, status, claim_lock, claim_expires, worker_pid, \
             max_runtime_seconds, started_at) SELECT id, COALESCE($2, assignee), 'running', claim_lock, claim_expires, \
             worker_pid, max_runtime_seconds, $3 FROM tasks WHERE id = $1 RETURNING id";
        Ok(self.server.row(sql, args![task, profile, at.0])?.map_or(0, |row| row.get(0)))
    }

    fn last_end(&mut self, task: &str) -> Result<Option<Time>, Fault> {
        let row = self.server.row("SELECT max(ended_at) FROM task_runs WHERE task_id = $1", args![task])?;
        Ok(row.and_then(|row| row.get::<_, Option<i64>>(0)).map(Time))
    }

    fn past_run(&mut self, task: &str, past: Past<'_>) -> Result<i64, Fault> {
        self.flush()?;
        let metadata = past.metadata.map(Value::to_string);
        let sql = "INSERT INTO task_runs (task_id, profile, status, outcome, summary, metadata, started_at, ended_at) \
             SELECT id, assignee, $2, $3, $4, $5, $6, $6 FROM tasks WHERE id = $1 RETURNING id";
        let all = args![task, past.status(), past.outcome, past.summary, metadata.as_deref(), past.at.0];
        Ok(self.server.row(sql, all)?.map_or(0, |row| row.get(0)))
    }

    fn end_run(&mut self, task: &str, run: i64, end: End<'_>) -> Result<(), Fault> {
        let metadata = end.metadata.map(Value::to_string);
        let sql = "UPDATE task_runs SET status = $3, outcome = $4, summary = COALESCE($5, summary), error = $6, \
             metadata = $7, ended_at = $8, claim_lock = NULL, claim_expires = NULL, worker_pid = NULL \
             WHERE id = $1 AND task_id = $2 AND ended_at IS NULL";
        let all =
            args![run, task, end.status, end.outcome, end.summary, end.error, metadata.as_deref(), end.at.0];
        self.server.rows(sql, all).map(drop)
    }

    fn beat_run(&mut self, at: Time, task: &str, expires: Time) -> Result<(), Fault> {
        self.flush()?;
        let sql = "UPDATE task_runs SET claim_expires = $2, last_heartbeat_at = $3 \
             WHERE id = (SELECT current_run_id FROM tasks WHERE id = $1) AND ended_at IS NULL";
        self.server.rows(sql, args![task, expires.0, at.0]).map(drop)
    }

    fn mark_run(&mut self, _: &str, _: &str) -> Result<(), Fault> {
        Ok(())
    }

    fn link(&mut self, parent: &str, child: &str) -> Result<(), Fault> {
        let sql = "INSERT INTO task_links (parent_id, child_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        self.server.rows(sql, args![parent, child]).map(drop)
    }

    fn unlink(&mut self, parent: &str, child: &str) -> Result<(), Fault> {
        let sql = "DELETE FROM task_links WHERE parent_id = $1 AND child_id = $2";
        self.server.rows(sql, args![parent, child]).map(drop)
    }
}

/// Whether tasks have this column. Nobody but Hermes reads the one they lack.
fn has(column: &str) -> bool {
    column != "worker_started_at"
}
