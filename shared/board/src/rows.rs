//! What each [`Change`] means, told once over the rows of an engine.
//!
//! An engine implements [`Rows`] inside one write transaction in which nobody else changes the rows that a step touches. [`step`] looks at
//! all guards before its first write; what a refused step did before it was refused is the engine's to undo.

use serde_json::Value;

use crate::image::{Cell, Column};
use crate::{Change, EventKind, NewTask, Outcome, RunRef, Status, Step, Task};
use base::time::Time;

/// What is written into a column of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To<'a> {
    /// NULL.
    Nothing,
    /// A number.
    Number(i64),
    /// A text.
    Text(&'a str),
}

impl<'a> From<Option<&'a str>> for To<'a> {
    fn from(text: Option<&'a str>) -> To<'a> {
        text.map_or(To::Nothing, To::Text)
    }
}

impl From<Option<i64>> for To<'_> {
    fn from(number: Option<i64>) -> Self {
        number.map_or(To::Nothing, To::Number)
    }
}

impl<'a> From<&'a Cell> for To<'a> {
    fn from(cell: &'a Cell) -> To<'a> {
        match cell {
            Cell::None => To::Nothing,
            Cell::Number(n) => To::Number(*n),
            Cell::Text(text) => To::Text(text),
        }
    }
}

/// A run that was never open.
#[derive(Debug, Clone, Copy)]
pub struct Past<'a> {
    /// When it began and ended.
    pub at: Time,
    /// How it ended.
    pub outcome: &'a str,
    /// What is handed on.
    pub summary: Option<&'a str>,
    /// Details.
    pub metadata: Option<&'a Value>,
}

impl Past<'_> {
    /// The state of such a run.
    pub fn status(&self) -> &str {
        if self.outcome == "completed" { "done" } else { self.outcome }
    }
}

/// How an open run ends.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// When.
    pub at: Time,
    /// State of the run.
    pub status: &'a str,
    /// How it ended.
    pub outcome: &'a str,
    /// What is handed on; without one, what was noted before stays.
    pub summary: Option<&'a str>,
    /// Error text.
    pub error: Option<&'a str>,
    /// Details.
    pub metadata: Option<&'a Value>,
}

/// The rows of a board inside one write transaction.
#[allow(clippy::missing_errors_doc, reason = "each fails where the store does")]
pub trait Rows {
    /// How the store fails.
    type Fault;

    /// A task with its mark.
    fn task(&mut self, id: &str) -> Result<Option<(Task, String)>, Self::Fault>;
    /// The mark alone, also of a task that is not there.
    fn mark(&mut self, id: &str) -> Result<String, Self::Fault>;
    /// What stands in a column of a task that is there; `None` where the board has no such column.
    fn cell(&mut self, id: &str, column: Column) -> Result<Option<Cell>, Self::Fault>;
    /// Whether there is such a task.
    fn is_there(&mut self, id: &str) -> Result<bool, Self::Fault>;
    /// Whether a task waits for this parent.
    fn waits(&mut self, task: &str, parent: &str) -> Result<bool, Self::Fault>;
    /// Whether `to` waits for `from` through any number of links, or is the same task.
    fn leads(&mut self, from: &str, to: &str) -> Result<bool, Self::Fault>;
    /// The `todo` children of a task whose parents are all done or archived, sorted.
    fn free_children(&mut self, parent: &str) -> Result<Vec<String>, Self::Fault>;

    /// Writes columns of a task; those that the board does not have are left out.
    fn set(&mut self, id: &str, to: &[(&'static str, To<'_>)]) -> Result<(), Self::Fault>;
    /// Notes when the first attempt began, unless that is noted.
    fn began(&mut self, id: &str, at: Time) -> Result<(), Self::Fault>;
    /// Makes a task, unless its id or its key is taken: then it says so.
    fn insert(
        &mut self,
        at: Time,
        id: &str,
        status: &Status,
        task: &NewTask,
    ) -> Result<Result<(), String>, Self::Fault>;
    /// Adds an event.
    fn event(
        &mut self,
        at: Time,
        task: &str,
        kind: &EventKind,
        payload: &Value,
        run: Option<i64>,
    ) -> Result<(), Self::Fault>;
    /// Adds a comment.
    fn comment(&mut self, at: Time, task: &str, author: &str, body: &str) -> Result<(), Self::Fault>;
    /// Opens a run under the claim of the row.
    fn start_run(&mut self, at: Time, task: &str, profile: Option<&str>) -> Result<i64, Self::Fault>;
    /// When the newest run of a task ended.
    fn last_end(&mut self, task: &str) -> Result<Option<Time>, Self::Fault>;
    /// Adds a run that was never open.
    fn past_run(&mut self, task: &str, past: Past<'_>) -> Result<i64, Self::Fault>;
    /// Ends a run of a task, if it is open.
    fn end_run(&mut self, task: &str, run: i64, end: End<'_>) -> Result<(), Self::Fault>;
    /// Records a sign of life on the open run.
    fn beat_run(&mut self, at: Time, task: &str, expires: Time) -> Result<(), Self::Fault>;
    /// Records the worker's fingerprint on the open run, where runs have a column for it.
    fn mark_run(&mut self, task: &str, fingerprint: &str) -> Result<(), Self::Fault>;
    /// Adds a link between two tasks that are there, unless it is there.
    fn link(&mut self, parent: &str, child: &str) -> Result<(), Self::Fault>;
    /// Removes a link, if it is there.
    fn unlink(&mut self, parent: &str, child: &str) -> Result<(), Self::Fault>;
}

/// Carries out a step: all guards first, then all changes in order.
///
/// # Errors
/// The store failed.
pub fn step<R: Rows>(rows: &mut R, now: Time, step: &Step) -> Result<Outcome, R::Fault> {
    if let Some(expect) = &step.expect {
        let Some((task, mark)) = rows.task(&step.task)? else {
            return Ok(Outcome::Moved { what: "the task is gone".into() });
        };
        // A look under the write lock is as good as a guard in the UPDATE, and can say what moved.
        if let Some(what) = expect.differs(&task, &mark) {
            return Ok(Outcome::Moved { what: what.into() });
        }
    } else if !step.only_adds() {
        // A plan comes from a file that the operator or a program may have edited.
        return Ok(Outcome::Refused { why: "a step that expects nothing may only add something".into() });
    }
    for change in &step.changes {
        if let Some(what) = moved(rows, &step.task, change)? {
            return Ok(Outcome::Moved { what });
        }
    }
    let mut opened = None;
    for change in &step.changes {
        if let Err(why) = carry_out(rows, now, &step.task, change, &mut opened)? {
            return Ok(Outcome::Refused { why });
        }
    }
    Ok(Outcome::Applied { run: opened })
}

/// Whether a step may be refused after it has written something.
pub fn may_be_refused(step: &Step) -> bool {
    step.changes.iter().any(|c| {
        matches!(
            c,
            Change::AddTask { .. } | Change::AddAnother { .. } | Change::Link { .. } | Change::PutBack(_)
        )
    })
}

/// What a change requires and does not find.
fn moved<R: Rows>(rows: &mut R, id: &str, change: &Change) -> Result<Option<String>, R::Fault> {
    Ok(match change {
        Change::Require { task, parent: None } => {
            (!rows.is_there(task)?).then(|| format!("{task} was not made"))
        }
        Change::Require { task, parent: Some(parent) } => {
            (!rows.waits(task, parent)?).then(|| format!("{task} does not wait for {parent}"))
        }
        Change::PutBack(row) => {
            for (column, from) in row.iter().filter_map(|(c, turn)| Some((*c, turn.from.as_ref()?))) {
                if let Some(is) = rows.cell(id, column)?.filter(|is| is != from) {
                    return Ok(Some(format!("{} is {is} and was {from}", column.as_str())));
                }
            }
            None
        }
        Change::ArchiveAnother { id, mark, .. } => {
            (rows.mark(id)? != *mark).then(|| format!("something happened to {id}"))
        }
        _ => None,
    })
}

/// Carries out one primitive; the inner error is a refusal that undoes the whole step.
fn carry_out<R: Rows>(
    rows: &mut R,
    now: Time,
    id: &str,
    change: &Change,
    opened: &mut Option<i64>,
) -> Result<Result<(), String>, R::Fault> {
    match change {
        Change::AddTask { status, task } => return rows.insert(now, id, status, task),
        Change::AddAnother { id, status, task, events, done } => {
            if let Err(why) = rows.insert(now, id, status, task)? {
                return Ok(Err(why));
            }
            let mut run = None;
            if let Some(summary) = done {
                rows.set(id, &[("result", To::Nothing), ("completed_at", To::Number(now.0))])?;
                run = Some(past_run(rows, now, id, "completed", Some(summary), None)?);
            }
            for first in events {
                let run = run.filter(|_| first.kind == EventKind::Completed);
                rows.event(now, id, &first.kind, &first.payload, run)?;
            }
        }
        // Looked at before anything was done.
        Change::Require { .. } => {}
        Change::SetStatus(status) => rows.set(id, &[("status", To::Text(status.as_str()))])?,
        Change::ReleaseClaim => rows.set(
            id,
            &["claim_lock", "claim_expires", "worker_pid", "worker_started_at"].map(|c| (c, To::Nothing)),
        )?,
        Change::TakeClaim { lock, expires, pid } => {
            let claim = [
                ("claim_lock", To::Text(lock)),
                ("claim_expires", To::Number(expires.0)),
                ("worker_pid", (*pid).into()),
            ];
            rows.set(id, &claim)?;
            rows.began(id, now)?;
        }
        Change::Fingerprint(text) => {
            rows.set(id, &[("worker_started_at", To::Text(text))])?;
            rows.mark_run(id, text)?;
        }
        Change::Heartbeat { expires } => {
            let beat = [("claim_expires", To::Number(expires.0)), ("last_heartbeat_at", To::Number(now.0))];
            rows.set(id, &beat)?;
            rows.beat_run(now, id, *expires)?;
        }
        Change::ForgetHeartbeat => rows.set(id, &[("last_heartbeat_at", To::Nothing)])?,
        Change::StartRun { profile } => {
            let run = rows.start_run(now, id, profile.as_deref())?;
            *opened = Some(run);
            rows.set(id, &[("current_run_id", To::Number(run))])?;
        }
        Change::PastRun { outcome, summary, metadata } => {
            *opened = Some(past_run(rows, now, id, outcome, summary.as_deref(), metadata.as_ref())?);
        }
        Change::EndRun { run, status, outcome, summary, error, metadata } => {
            let end = End {
                at: now,
                status,
                outcome,
                summary: summary.as_deref(),
                error: error.as_deref(),
                metadata: metadata.as_ref(),
            };
            rows.end_run(id, *run, end)?;
            rows.set(id, &[("current_run_id", To::Nothing)])?;
        }
        Change::ForgetRun => rows.set(id, &[("current_run_id", To::Nothing)])?,
        Change::SetFailures { count, error } => {
            let failures = To::Number(*count);
            let text = error.as_deref().into();
            rows.set(id, &[("consecutive_failures", failures), ("last_failure_error", text)])?;
        }
        Change::Assign(to) => rows.set(id, &[("assignee", to.as_deref().into())])?,
        Change::SetBlock { kind, recurrences } => {
            let kind = kind.as_deref().into();
            rows.set(id, &[("block_kind", kind), ("block_recurrences", To::Number(*recurrences))])?;
        }
        Change::SetResult(result) => {
            let result = result.as_deref().into();
            rows.set(id, &[("result", result), ("completed_at", To::Number(now.0))])?;
        }
        Change::AddEvent { kind, payload, run } => {
            let run = run.and_then(|r| match r {
                RunRef::Id(id) => Some(id),
                RunRef::New => *opened,
            });
            rows.event(now, id, kind, payload, run)?;
        }
        Change::AddComment { author, body } => rows.comment(now, id, author, body)?,
        Change::Link { parent } => {
            if !rows.is_there(parent)? {
                return Ok(Err(format!("{parent}: no such task")));
            }
            if rows.leads(id, parent)? {
                return Ok(Err(format!("{parent} already waits for {id}: this would make a cycle")));
            }
            rows.link(parent, id)?;
        }
        Change::Unlink { parent } => rows.unlink(parent, id)?,
        Change::Reword { title, body } => {
            let title = title.as_deref().map(|t| ("title", To::Text(t)));
            let body = body.as_deref().map(|b| ("body", To::Text(b)));
            rows.set(id, &title.into_iter().chain(body).collect::<Vec<_>>())?;
        }
        Change::SetPlace { kind, path } => {
            let path = path.as_deref().into();
            rows.set(id, &[("workspace_kind", To::Text(kind)), ("workspace_path", path)])?;
        }
        Change::SetPriority(to) => rows.set(id, &[("priority", To::Number(*to))])?,
        Change::ClearOverrides => {
            rows.set(id, &[("model_override", To::Nothing), ("provider_override", To::Nothing)])?;
        }
        Change::PutBack(row) => {
            if let Some((column, turn)) = row.iter().find(|(c, turn)| !c.takes(&turn.to)) {
                return Ok(Err(format!("{} cannot be {}", column.as_str(), turn.to)));
            }
            let to: Vec<_> = row.iter().map(|(c, turn)| (c.as_str(), To::from(&turn.to))).collect();
            rows.set(id, &to)?;
        }
        Change::ArchiveAnother { id, mark: _, payload } => {
            rows.set(id, &[("status", To::Text(Status::Archived.as_str()))])?;
            rows.event(now, id, &EventKind::Archived, payload, None)?;
        }
        Change::PromoteChildren { payload } => {
            for child in rows.free_children(id)? {
                rows.set(&child, &[("status", To::Text(Status::Ready.as_str()))])?;
                rows.event(now, &child, &EventKind::Promoted, payload, None)?;
            }
        }
    }
    Ok(Ok(()))
}

/// Adds a run that was never open; returns its id.
fn past_run<R: Rows>(
    rows: &mut R,
    now: Time,
    task: &str,
    outcome: &str,
    summary: Option<&str>,
    metadata: Option<&Value>,
) -> Result<i64, R::Fault> {
    // Hermes takes the run that ended last for the newest one, and of two that ended in one second the older.
    let at = rows.last_end(task)?.map_or(now, |end| now.max(end.plus(1)));
    rows.past_run(task, Past { at, outcome, summary, metadata })
}
