//! What others do on a board, in the primitives that every engine has: Hermes' commands, in our own words
//! (`docs` of the board name the columns; see `shared::board::hermes` for what we ourselves do).

use serde_json::{Value, json};
use shared::base::time::Time;
use shared::board::{Board, Change, Detail, EventKind, RunRef, Status, Step};

/// Looks at one task.
pub(super) fn look(board: &mut dyn Board, task: &str) -> Option<Detail> {
    board.look(&[task.to_owned()]).ok()?.pop()
}

/// Does something to a task that was just looked at. Whether it could be done.
pub(super) fn act(board: &mut dyn Board, now: Time, seen: &Detail, changes: Vec<Change>) -> bool {
    let step = Step::on(seen, "act".into(), "act".into(), changes);
    let outcome = board.apply(now, &[step], std::time::Duration::from_secs(5));
    matches!(outcome.as_deref(), Ok([shared::board::Outcome::Applied { .. }]))
}

pub(super) fn event(kind: impl Into<EventKind>, payload: Value) -> Change {
    Change::AddEvent { kind: kind.into(), payload, run: None }
}

pub(super) fn in_run(kind: impl Into<EventKind>, payload: Value, run: Option<i64>) -> Change {
    Change::AddEvent { kind: kind.into(), payload, run: run.map(RunRef::Id) }
}

/// The end of the open run, if there is one.
pub(super) fn end_run(d: &Detail, status: &str, outcome: &str, error: Option<&str>) -> Option<Change> {
    Some(Change::EndRun {
        run: d.task.current_run?,
        status: status.into(),
        outcome: outcome.into(),
        summary: None,
        error: error.map(str::to_owned),
        metadata: None,
    })
}

/// A claim, and the start of its worker.
pub(super) fn claim(d: &Detail, lock: &str, now: Time, pid: Option<i64>) -> Vec<Change> {
    let expires = now.plus(900);
    let mut changes = vec![
        Change::SetStatus(Status::Running),
        Change::TakeClaim { lock: lock.into(), expires, pid },
        Change::StartRun { profile: d.task.assignee.clone() },
        Change::AddEvent {
            kind: EventKind::Claimed,
            payload: json!({"lock": lock, "expires": expires.0}),
            run: Some(RunRef::New),
        },
    ];
    if let Some(pid) = pid {
        let payload = json!({"pid": pid});
        changes.push(Change::AddEvent { kind: EventKind::Spawned, payload, run: Some(RunRef::New) });
    }
    changes
}

/// An attempt that failed, counted by the breaker. `kind` is the event of its end.
pub(super) fn failed(d: &Detail, kind: &str, outcome: &str, error: &str, limit: i64) -> Vec<Change> {
    let t = &d.task;
    let failures = t.failures + 1;
    let (limit, source) = t.max_retries.map_or((limit, "dispatcher"), |n| (n, "task"));
    let gave_up = failures >= limit;
    let mut changes = vec![Change::SetStatus(if gave_up { Status::Blocked } else { Status::Ready })];
    changes.push(Change::ReleaseClaim);
    changes.extend(end_run(d, outcome, outcome, Some(error)));
    changes.push(Change::SetFailures { count: failures, error: Some(error.into()) });
    changes.push(in_run(kind, json!({"pid": t.worker_pid, "error": error}), t.current_run));
    if gave_up {
        changes.push(event(
            EventKind::GaveUp,
            json!({"failures": failures, "effective_limit": limit, "limit_source": source, "error": error,
                   "trigger_outcome": outcome}),
        ));
    }
    changes
}

/// A claim that is reclaimed without a failure.
pub(super) fn reclaimed(d: &Detail, payload: Value) -> Vec<Change> {
    let mut changes = vec![Change::SetStatus(Status::Ready), Change::ReleaseClaim];
    changes.extend(end_run(d, "reclaimed", "reclaimed", Some("stale_lock")));
    changes.push(in_run("reclaimed", payload, d.task.current_run));
    changes
}

/// A completion, by its worker or by hand.
pub(super) fn completed(d: &Detail, metadata: Option<Value>) -> Vec<Change> {
    let mut changes = vec![Change::SetStatus(Status::Done), Change::ReleaseClaim];
    match d.task.current_run {
        Some(run) => changes.push(Change::EndRun {
            run,
            status: "done".into(),
            outcome: "completed".into(),
            summary: Some("done".into()),
            error: None,
            metadata,
        }),
        None => changes.push(Change::PastRun { outcome: "completed".into(), summary: None, metadata }),
    }
    changes.push(Change::SetBlock { kind: None, recurrences: 0 });
    changes.push(Change::SetFailures { count: 0, error: None });
    changes.push(in_run("completed", json!({"result_len": 4}), d.task.current_run));
    changes.push(Change::PromoteChildren { payload: Value::Null });
    changes
}

/// A worker's question to a person.
pub(super) fn asked(d: &Detail) -> Vec<Change> {
    let mut changes = vec![Change::SetStatus(Status::Blocked), Change::ReleaseClaim];
    changes.push(Change::SetBlock { kind: Some("needs_input".into()), recurrences: 1 });
    changes.extend(end_run(d, "blocked", "blocked", None));
    let payload = json!({"reason": "which of the two?", "kind": "needs_input", "recurrences": 1});
    changes.push(in_run("blocked", payload, d.task.current_run));
    changes
}

/// A blocked or held task that the operator unblocks.
pub(super) fn unblocked(d: &Detail) -> Vec<Change> {
    let free = d.parents.iter().all(|p| p.status == Status::Done);
    vec![
        Change::SetStatus(if free { Status::Ready } else { Status::Todo }),
        Change::ForgetRun,
        Change::SetFailures { count: 0, error: None },
        event(EventKind::Unblocked, Value::Null),
    ]
}
