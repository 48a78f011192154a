//! What only a person can decide.

use serde_json::Value;

use crate::board::{Detail, Event, EventKind, Run, Status, hermes};
use crate::policy::authorship;
use crate::registry::HEAL;
use crate::time::Time;

/// The key of a worker that outlived its attempt.
pub(crate) const OLDER_WORKER: &str = "older-worker";

/// The key of a host that refuses to start a worker.
pub(crate) const HOST_REFUSES: &str = "host-refuses";

/// The key of a worker that said it ends and lives on.
pub(crate) const EXITED: &str = "exited-worker";

/// Why a task waits for a person, and since when, if it does: a block that only a person lifts, about which no card asks
/// anybody else, or a worker that lives and about which a person was told.
pub(crate) fn waits(d: &Detail) -> Option<(String, Option<Time>)> {
    if let Some(e) = told(d) {
        let because = e.trail().and_then(|t| t.get("because")?.as_str()).unwrap_or_default();
        return Some((format!("{}: {because}", key(e).unwrap_or_default()), Some(e.at)));
    }
    if d.task.status != Status::Blocked || !hermes::is_sticky(&d.events) || !d.cards.is_empty() {
        return None;
    }
    let block = d.events.iter().rev().find(|e| e.kind == EventKind::Blocked);
    let text = |key: &str| block.and_then(|e| e.payload.get(key)?.as_str());
    let said = [text("cause"), text("reason")].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let why = if said.is_empty() { "blocked, and nobody says why".to_owned() } else { said };
    Some((why, block.map(|e| e.at)))
}

/// What `heal` told a person of a living worker, or of a host that starts none, as long as it stands: nothing happened to the task
/// since, and it was not noted as over. A start that the host refused is nothing.
pub(crate) fn told(d: &Detail) -> Option<&Event> {
    let unstarted = |r: &&Run| r.outcome.as_deref() == Some("spawn_failed");
    let is_refused =
        |e: &Event| e.run.is_some_and(|run| d.runs.iter().filter(unstarted).any(|r| r.id == run));
    let since =
        d.events.iter().rposition(|e| authorship::is_turn(e) && !is_refused(e)).map_or(0, |at| at + 1);
    let newest = d.events[since..].iter().rev().find(|e| is_told(e))?;
    (newest.payload.get("over").is_none()).then_some(newest)
}

fn is_told(e: &Event) -> bool {
    let of_worker =
        |key: &str| [OLDER_WORKER, HOST_REFUSES, EXITED].contains(&key) || key.starts_with("health:");
    e.kind == EventKind::Detected && e.by() == Some(HEAL) && key(e).is_some_and(of_worker)
}

/// What it was told of.
pub(crate) fn key(e: &Event) -> Option<&str> {
    e.payload.get("key").and_then(Value::as_str)
}

/// Whether nobody will ever take a ready task: Hermes skips these without a word.
pub(crate) fn is_nobodys(assignee: Option<&str>, known: &[String], own_board: bool) -> bool {
    match assignee {
        None => !own_board,
        Some(name) => !known.is_empty() && name != "default" && !known.iter().any(|k| k == name),
    }
}
