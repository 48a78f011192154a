//! The primitives of change, and the step that bundles them under one guard.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::image::{Cell, Column, Turn};
use super::{Detail, EventKind, Rule, Status, StepAction, Task};
use base::cause::Cause;
use base::redact::redact;
use base::time::Time;
use host::{Freed, Proof, Recorded, Target};

/// Most steps in one write transaction: beyond about this, writers beside us wait noticeably (measured: 13 to 57 ms
/// at the 99th percentile from 200 on, 1 to 6 ms below).
pub const MAX_STEPS: usize = 100;

/// Parts of at most `most` steps, one for each transaction. A step stays with those it comes after, and with all that stand
/// between them, also where a part is longer by that.
pub fn parts(steps: &[Step], most: usize) -> Vec<&[Step]> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    // For each step the place of the first one that it comes after, or its own.
    let mut reaches: Vec<usize> = Vec::with_capacity(steps.len());
    for (place, step) in steps.iter().enumerate() {
        let first = step.after.iter().filter_map(|task| places.get(task.as_str())).min();
        reaches.push(first.copied().unwrap_or(place));
        places.entry(&step.task).or_insert(place);
    }
    // The same for a step and all that follow it: a cut in front of it parts nothing where none of them reaches back over it.
    for place in (1..steps.len()).rev() {
        reaches[place - 1] = reaches[place - 1].min(reaches[place]);
    }
    let (mut parts, mut from) = (Vec::new(), 0);
    for (i, reaches) in reaches.into_iter().enumerate() {
        if i - from >= most && reaches >= i {
            parts.push(&steps[from..i]);
            from = i;
        }
    }
    parts.push(&steps[from..]);
    parts.retain(|p| !p.is_empty());
    parts
}

/// One decided change to one task: what, why, and what must still be true for it to happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The task it changes.
    pub task: String,
    /// The verb of the change, such as `requeue`.
    pub action: StepAction,
    /// Which rule of the watcher it follows, such as `dead-worker`.
    pub case: Rule,
    /// Why the worker ended, where that is known.
    pub cause: Option<Cause>,
    /// The reason in one line.
    pub because: String,
    /// The row as it was seen; `None` only for a task that does not exist yet.
    pub expect: Option<Expect>,
    /// What was seen of a process that is gone; looked at again just before the write.
    pub proof: Option<Proof>,
    /// A living worker that is stopped before the write, once everything that is known of it is proven again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Target>,
    /// Tasks whose step must have been applied in the same write; else the world moved for this one too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// What is done, in order.
    pub changes: Vec<Change>,
}

impl Step {
    /// A step without a guard: one that makes its task, or only says something about it. It names no cause, gives no reason, and has no
    /// process to look at again.
    pub fn unguarded(task: &str, action: StepAction, case: Rule, changes: Vec<Change>) -> Step {
        Step {
            task: task.to_owned(),
            action,
            case,
            cause: None,
            because: String::new(),
            expect: None,
            proof: None,
            stop: None,
            after: Vec::new(),
            changes,
        }
    }

    /// The same on a task that was seen, under the guard that its row is still as it was.
    pub fn on(d: &Detail, action: StepAction, case: Rule, changes: Vec<Change>) -> Step {
        Step { expect: Some(Expect::of(d)), ..Step::unguarded(&d.task.id, action, case, changes) }
    }

    /// Whether it makes work that is not running available to the next worker.
    pub fn sets_free(&self) -> bool {
        let Some(was) = self.expect.as_ref().map(|e| &e.status).filter(|s| **s != Status::Running) else {
            return false;
        };
        let becomes = self.changes.iter().rev().find_map(|c| match c {
            Change::SetStatus(to) => Some(to.clone()),
            Change::PutBack(row) => match &row.get(&Column::Status)?.to {
                Cell::Text(to) => Some(Status::from(to.clone())),
                _ => None,
            },
            _ => None,
        });
        let assigns = self.changes.iter().any(|c| matches!(c, Change::Assign(_)));
        let next = |s: &Status| matches!(s, Status::Ready | Status::Todo);
        becomes.as_ref().is_some_and(next) || (becomes.is_none() && assigns && next(was))
    }

    /// The task that it makes available to the next worker, and who worked on it.
    pub fn freed(&self) -> Option<Freed<'_>> {
        let expect = self.expect.as_ref();
        let workers = expect.map_or(&[][..], |e| &e.workers);
        let recorded = expect.map_or(&[][..], |e| &e.recorded);
        self.sets_free().then_some(Freed {
            task: &self.task,
            workers: workers.into(),
            recorded: recorded.into(),
        })
    }

    /// Whether it touches no row that is there already: it makes its task, or only says something about one. Anything
    /// else needs a guard.
    pub fn only_adds(&self) -> bool {
        let says = |c: &Change| {
            matches!(c, Change::AddEvent { .. } | Change::AddComment { .. } | Change::Require { .. })
        };
        matches!(self.changes.first(), Some(Change::AddTask { .. })) || self.changes.iter().all(says)
    }
}

/// The guard of a step: every column a decision rests on, and the newest event of the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// State.
    pub status: Status,
    /// Assignee.
    pub assignee: Option<String>,
    /// Claim.
    pub claim_lock: Option<String>,
    /// A heartbeat between look and write moves this one.
    pub claim_expires: Option<Time>,
    /// Worker.
    pub worker_pid: Option<i64>,
    /// Open run.
    pub current_run: Option<i64>,
    /// Failure counter.
    pub failures: i64,
    /// Failure text, without its secrets: a report and a plan show what was expected.
    pub last_failure_error: Option<String>,
    /// Newest event that matters, as an opaque token.
    pub mark: String,
    /// No part of the comparison: run and pid of every worker the board has a record of, for the last look at processes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<(i64, i64)>,
    /// Nor is this one: those of them that claimed by themselves, by their recorded starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<Recorded>,
    /// No part of the comparison either: when the newest attempt ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Time>,
}

impl Expect {
    /// Exactly what was seen.
    pub fn of(seen: &Detail) -> Expect {
        let t = &seen.task;
        Expect {
            status: t.status.clone(),
            assignee: t.assignee.clone(),
            claim_lock: t.claim_lock.clone(),
            claim_expires: t.claim_expires,
            worker_pid: t.worker_pid,
            current_run: t.current_run,
            failures: t.failures,
            last_failure_error: failure_text(t).map(Cow::into_owned),
            mark: seen.mark.clone(),
            workers: seen.workers(),
            recorded: seen.recorded(),
            ended: seen.newest_run().and_then(|r| r.ended_at),
        }
    }

    /// What of a row differs from what was expected, or `None` where it still holds.
    pub fn differs(&self, t: &Task, mark: &str) -> Option<&'static str> {
        let checks = [
            (self.status == t.status, "status"),
            (self.assignee == t.assignee, "assignee"),
            (self.claim_lock == t.claim_lock, "claim"),
            (self.claim_expires == t.claim_expires, "claim expiry"),
            (self.worker_pid == t.worker_pid, "worker"),
            (self.current_run == t.current_run, "run"),
            (self.failures == t.failures, "failure count"),
            (self.last_failure_error.as_deref() == failure_text(t).as_deref(), "failure text"),
            (self.mark == mark, "history"),
        ];
        checks.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
    }
}

fn failure_text(t: &Task) -> Option<Cow<'_, str>> {
    t.last_failure_error.as_deref().map(redact)
}

/// A run that a change speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunRef {
    /// One that was seen.
    Id(i64),
    /// The one this step opened with [`Change::StartRun`] or [`Change::PastRun`].
    New,
}

/// A task to be made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NewTask {
    /// One line, not blank.
    pub title: String,
    /// Text.
    pub body: Option<String>,
    /// Profile, lower case.
    pub assignee: Option<String>,
    /// Dispatch order.
    pub priority: i64,
    /// Who makes it.
    pub created_by: Option<String>,
    /// `scratch`, `dir` or `worktree`.
    pub workspace_kind: Option<String>,
    /// Where it is worked on.
    pub workspace_path: Option<String>,
    /// Tenant.
    pub tenant: Option<String>,
    /// Key that makes a repetition find it again.
    pub idempotency_key: Option<String>,
    /// Breaker limit for this task.
    pub max_retries: Option<i64>,
    /// Wall-clock cap for one attempt, in seconds.
    pub max_runtime_seconds: Option<i64>,
}

/// An event a task is born with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstEvent {
    /// What happened.
    pub kind: EventKind,
    /// An object, or null.
    pub payload: Value,
}

/// One primitive of change. Engines implement these and know no watcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Creates the step's task in this state; fails the step if the id exists or the key is taken.
    AddTask {
        /// Its state.
        status: Status,
        /// The rest.
        task: Box<NewTask>,
    },
    /// Creates another task beside the step's own, with events of its own; fails the step as [`Change::AddTask`] does.
    AddAnother {
        /// Its id.
        id: String,
        /// Its state.
        status: Status,
        /// The rest.
        task: Box<NewTask>,
        /// Its first events, in order.
        events: Vec<FirstEvent>,
        /// It is born finished, with this summary: completed now, without a result, and with a past run that its
        /// `completed` events belong to. Its state is still what `status` says.
        #[serde(default)]
        done: Option<String>,
    },
    /// Nothing by itself: the step counts as moved where this other task is not there, or does not wait for `parent`. For
    /// steps that rest on an earlier one of the same pass.
    Require {
        /// The other task.
        task: String,
        /// What it must wait for.
        parent: Option<String>,
    },
    /// Moves the task to another state.
    SetStatus(Status),
    /// Clears claim and worker.
    ReleaseClaim,
    /// Takes the claim for a worker.
    TakeClaim {
        /// `<hostname>:<pid>`.
        lock: String,
        /// When it runs out.
        expires: Time,
        /// The worker's process, where it is known.
        pid: Option<i64>,
    },
    /// Records the worker's fingerprint beside its claim, on task and open run, where the board has a column for it. A newer
    /// Hermes may signal a bare pid that has none.
    Fingerprint(String),
    /// Extends the claim and records a sign of life, on task and open run.
    Heartbeat {
        /// When the claim now runs out.
        expires: Time,
    },
    /// Forgets the sign of life that an earlier worker left on the row of a task that does not run. Its run keeps its own.
    ForgetHeartbeat,
    /// Opens a run under the claim just taken.
    StartRun {
        /// Who works.
        profile: Option<String>,
    },
    /// Adds a run that was never open, to keep a summary for the next attempt.
    PastRun {
        /// How it ended.
        outcome: String,
        /// What is handed on.
        summary: Option<String>,
        /// Details, an object.
        #[serde(default)]
        metadata: Option<Value>,
    },
    /// Closes a run that is still open and clears the row's pointer to it.
    EndRun {
        /// Which.
        run: i64,
        /// Run state.
        status: String,
        /// How it ended.
        outcome: String,
        /// What is handed on.
        summary: Option<String>,
        /// Error text.
        error: Option<String>,
        /// Details, an object.
        metadata: Option<Value>,
    },
    /// Clears the row's pointer to a run that is not open any more.
    ForgetRun,
    /// Sets failure counter and text.
    SetFailures {
        /// The counter.
        count: i64,
        /// The text, at most 500 characters.
        error: Option<String>,
    },
    /// Gives the task to a profile.
    Assign(Option<String>),
    /// Records why it is blocked, and how often for the same kind.
    SetBlock {
        /// Typed reason.
        kind: Option<String>,
        /// Same-kind repetitions.
        recurrences: i64,
    },
    /// Records result and time of completion.
    SetResult(Option<String>),
    /// Adds an event to the task's history.
    AddEvent {
        /// Its kind.
        kind: EventKind,
        /// An object, or null.
        payload: Value,
        /// The run it belongs to.
        run: Option<RunRef>,
    },
    /// Adds a comment (its `commented` event is a change of its own).
    AddComment {
        /// Who speaks.
        author: String,
        /// The text.
        body: String,
    },
    /// Makes another task a parent of this one; refused where that makes a cycle or the parent is unknown.
    Link {
        /// The parent.
        parent: String,
    },
    /// Lets the task wait for this parent no longer; nothing where it does not.
    Unlink {
        /// The parent.
        parent: String,
    },
    /// Replaces what is given of title and text.
    Reword {
        /// One line, not blank.
        title: Option<String>,
        /// Text.
        body: Option<String>,
    },
    /// Says where the task is worked on.
    SetPlace {
        /// `scratch`, `dir` or `worktree`.
        kind: String,
        /// Its folder.
        path: Option<String>,
    },
    /// Sets the dispatch order: higher first.
    SetPriority(i64),
    /// Clears the model and the provider that were set for this task alone.
    ClearOverrides,
    /// Writes columns back as they were; the step counts as moved where one of them is not what it must be. For undoing what
    /// a step did: only then a row may point at a run that is over.
    PutBack(BTreeMap<Column, Turn>),
    /// Archives another task, which an earlier step made beside its own; the step counts as moved where anything happened to
    /// that one since it was looked at.
    ArchiveAnother {
        /// Its id.
        id: String,
        /// Its [`Story::mark`](crate::Story::mark) when it was looked at.
        mark: String,
        /// What its `archived` event says.
        payload: Value,
    },
    /// Promotes every `todo` child whose parents are all done or archived, with a `promoted` event each.
    PromoteChildren {
        /// Payload of those events.
        payload: Value,
    },
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[must_use]
pub enum Outcome {
    /// Done.
    Applied {
        /// The id of a run it opened.
        run: Option<i64>,
    },
    /// The world moved between look and write: news, not an error.
    Moved {
        /// What was not as expected any more.
        what: String,
    },
    /// A dry run.
    Planned,
    /// It may not be done.
    Refused {
        /// Why.
        why: String,
    },
}

impl Outcome {
    /// The word reports use.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Applied { .. } => "applied",
            Outcome::Moved { .. } => "moved",
            Outcome::Planned => "planned",
            Outcome::Refused { .. } => "refused",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_written_together_with_all_it_comes_after() {
        let step = |(task, after): &(&str, &[&str])| Step {
            after: after.iter().map(|t| (*t).to_owned()).collect(),
            ..Step::unguarded(task, "act".into(), "act".into(), Vec::new())
        };
        let cut = |steps: &[(&str, &[&str])]| {
            let steps: Vec<Step> = steps.iter().map(step).collect();
            let word = |p: &&[Step]| p.iter().map(|s| s.task.as_str()).collect::<String>();
            parts(&steps, 2).iter().map(word).collect::<Vec<_>>().join(" ")
        };
        for (steps, want) in [
            (&[][..], ""),
            (&[("a", &[][..]), ("b", &[]), ("c", &[]), ("d", &[]), ("e", &[])], "ab cd e"),
            (&[("a", &[]), ("b", &["a"]), ("c", &[]), ("d", &["c"]), ("e", &[])], "ab cd e"),
            // Three tasks and the card that is closed after all of them.
            (&[("a", &[]), ("b", &[]), ("c", &[]), ("d", &["a", "b", "c"]), ("e", &[])], "abcd e"),
            (&[("a", &[]), ("b", &[]), ("c", &[]), ("d", &["b"]), ("e", &["c"])], "abcde"),
            (&[("a", &[]), ("b", &["z", "b"]), ("c", &["d"]), ("d", &[]), ("e", &[])], "ab cd e"),
        ] {
            assert_eq!(cut(steps), want, "{steps:?}");
        }
    }
}
