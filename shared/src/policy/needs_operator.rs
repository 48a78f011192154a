//! What only a person can decide.

use serde_json::Value;

use crate::board::{Detail, Event, EventKind, Run, Status, hermes};
use crate::cause::Cause;
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
    if let Some(cause) = lacking(d) {
        let what = if cause == Cause::Credential { "a new key" } else { "money or a new quota" };
        let why = format!("{cause}: it is held, and only {what} or another profile helps");
        return Some((why, authorship::our_hold(d).map(|(e, _)| e.at)));
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

/// What holds a task, by our hold, else by the step that tied it to its open card: the trail of that step, and the cause.
pub(crate) fn held_for(d: &Detail) -> Option<(&Value, Cause)> {
    let trail = match authorship::our_hold(d) {
        Some((e, _)) => e.trail()?,
        None => {
            let ours = d.events.iter().rev().filter(|e| authorship::is_ours(e)).filter_map(Event::trail);
            let is_tied = |trail: &&Value| {
                let card = trail.get("card").and_then(Value::as_str);
                card.is_some_and(|card| d.cards.iter().any(|open| open == card))
            };
            ours.into_iter().find(is_tied)?
        }
    };
    let of_hold = || authorship::cause_in(trail.get("hold")?);
    Some((trail, authorship::cause_in(trail).or_else(of_hold)?))
}

/// Why a task that is held or has an open card needs a person all the same: its key was refused, or a quota or the money at its
/// provider is used up. A watcher that knew another profile for it would have moved it. `None` while it runs, since nothing holds
/// it then.
pub(crate) fn lacking(d: &Detail) -> Option<Cause> {
    if d.task.status == Status::Running {
        return None;
    }
    held_for(d).map(|(_, cause)| cause).filter(|cause| matches!(cause, Cause::Credential | Cause::Quota))
}

/// Since when a card waits for somebody to take it, where that is longer than `patience` seconds.
pub(crate) fn untaken(card: &Detail, now: Time, patience: i64) -> Option<Time> {
    let turn = card.events.iter().rev().find(|e| authorship::is_turn(e)).map(|e| e.at);
    let since = turn.unwrap_or(card.task.created_at);
    (card.task.status == Status::Ready && now.since(since) >= patience).then_some(since)
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
