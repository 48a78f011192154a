//! What only a person can decide.

use serde_json::Value;

use crate::remedy::Lacking;
use crate::{Profiles, authorship};
use base::cause::{self, Cause};
use base::names::is_of_profile;
use base::registry::{HEAL, ROUTE_BLOCKED};
use base::time::Time;
use board::{Detail, Event, EventKind, Run, Status, hermes};

/// The key of a worker that outlived its attempt.
pub const OLDER_WORKER: &str = "older-worker";

/// The key of a host that refuses to start a worker.
pub const HOST_REFUSES: &str = "host-refuses";

/// The key of a worker that said it ends and lives on.
pub const EXITED: &str = "exited-worker";

/// The key of a worker that a signal stopped.
pub const STOPPED: &str = "stopped-worker";

/// The key of a worker whose agent asked a person.
pub const ASKING: &str = "asking-worker";

/// The key of a living worker of which nothing was heard for hours.
pub const SILENT: &str = "silent-worker";

/// The key of a ready task that nobody takes.
pub const NO_ASSIGNEE: &str = "no-assignee";

/// Under this key the step that holds a task for its card says that what refused it is nothing to it any more: it was moved.
pub const MOVED: &str = "moved";

/// What was told of a worker names its processes under this key.
pub const PIDS: &str = "pids";

/// What a person runs to let stopped processes go on.
pub fn go_on(pids: &[i64]) -> String {
    let pids: Vec<String> = pids.iter().map(i64::to_string).collect();
    format!("kill -CONT {}", pids.join(" "))
}

/// Whether what was told of a worker is over once its attempt is ended by the task: nothing else is to be done about it first.
pub fn is_ended_by_its_task(told: &Event) -> bool {
    !key(told).is_some_and(|key| [OLDER_WORKER, HOST_REFUSES, EXITED, STOPPED].contains(&key))
}

/// The same by what was told of a worker, where that is stopped.
pub fn goes_on_by(told: &Event) -> Option<String> {
    let pids = pids(told).filter(|pids| !pids.is_empty() && key(told) == Some(STOPPED))?;
    Some(go_on(&pids))
}

/// The process of an ended attempt that still runs, by what was told of it.
pub fn outlives(told: &Event) -> Option<i64> {
    pids(told).filter(|_| key(told) == Some(OLDER_WORKER))?.first().copied()
}

fn pids(told: &Event) -> Option<Vec<i64>> {
    Some(told.trail()?.get(PIDS)?.as_array()?.iter().filter_map(Value::as_i64).collect())
}

/// What holds a task, by our hold, else by the step that tied it to its open card, or to any card of its newest attempt while it stays
/// blocked: the trail of that step, and the cause. Nothing where it was moved away from that.
pub fn held_for(d: &Detail) -> Option<(&Value, Cause)> {
    let cause_of = |trail: &Value| {
        let of_hold = || authorship::cause_in(trail.get("hold")?);
        authorship::cause_in(trail).or_else(of_hold)
    };
    let trail = match authorship::our_hold(d) {
        Some((e, _)) => e.trail()?,
        None => {
            let ours = d.events.iter().enumerate().rev().filter(|(_, e)| authorship::is_ours(e));
            let ours = ours.filter_map(|(at, e)| Some((at, e.trail()?)));
            // A decision that cannot be carried out leaves it blocked as it was, without a block of its own.
            let stays = d.task.status == Status::Blocked && !hermes::is_sticky(&d.events);
            let claimed = d.events.iter().rposition(|e| e.kind == EventKind::Claimed);
            let is_tied = |(at, trail): &(usize, &Value)| {
                let card = trail.get("card").and_then(Value::as_str);
                let is_of_it = stays && claimed.is_none_or(|claimed| *at > claimed);
                card.is_some_and(|card| is_of_it || d.cards.iter().any(|open| open == card))
                    // The card of an incident names none: the task's own did.
                    && cause_of(trail).is_some()
            };
            ours.into_iter().find(is_tied)?.1
        }
    };
    let is_moved = trail.get(MOVED).and_then(Value::as_bool) == Some(true);
    Some((trail, cause_of(trail).filter(|_| !is_moved)?))
}

/// Why a task that is held or has an open card needs a person all the same: its key was refused, or a quota or the money at its
/// provider is used up. A watcher that knew another profile for it would have moved it. `None` while it runs, since nothing holds
/// it then.
pub fn lacking(d: &Detail) -> Option<Lacking> {
    if d.task.status == Status::Running {
        return None;
    }
    held_for(d).and_then(|(_, cause)| Lacking::of(cause))
}

/// When the limit ends that the newest attempt at a task ran into, where its provider stated that: then time mends it, whatever else
/// would.
pub fn stated_end(d: &Detail) -> Option<Time> {
    let run = d.newest_run()?.id;
    let ours = d.events.iter().rev().filter(|e| authorship::is_ours(e)).filter_map(Event::trail);
    let of_run = |trail: &&Value| trail.get("run").and_then(Value::as_i64) == Some(run);
    ours.filter(of_run).find_map(|trail| trail.get("resets")?.as_i64()).map(Time)
}

/// The error with which the starts of a task's worker fail, where another start meets the same: a path, a right or a program of this
/// host. Once is enough where the breaker of the runtime gave up; else it failed so twice in a row.
pub fn unstarted(d: &Detail) -> Option<&str> {
    let mut failed = d.runs.iter().filter(|r| r.ended_at.is_some()).map(|r| r.error.as_deref());
    let newest = failed.next()??;
    let is_again = failed.next().flatten() == Some(newest);
    let is_open = match d.task.status {
        Status::Blocked => !hermes::is_sticky(&d.events),
        Status::Ready | Status::Running => is_again,
        _ => false,
    };
    (is_open && cause::stays(newest)).then_some(newest)
}

/// Since when a card waits for a worker to take it, where that is longer than `patience` seconds.
pub fn untaken(card: &Detail, now: Time, patience: i64) -> Option<Time> {
    // The end of a leaked claim does not count as a turn of the card.
    let is_leak = |e: &Event| {
        e.kind == EventKind::Reclaimed && e.by() == Some(HEAL) && e.payload.get("prev_lock").is_some()
    };
    let is_turn = |e: &&Event| authorship::is_turn(e) && !is_leak(e) && !e.at.is_ahead_of(now);
    let turn = card.events.iter().rev().find(is_turn).map(|e| e.at);
    let since = turn.unwrap_or(card.task.created_at);
    let is_long = since.is_ahead_of(now) || now.since(since) >= patience;
    (card.task.status == Status::Ready && is_long).then_some(since.min(now))
}

/// Kinds of events after which a card stands differently.
fn is_card_turn(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::GaveUp
            | EventKind::Blocked
            | EventKind::BlockLoopDetected
            | EventKind::Unblocked
            | EventKind::Promoted
            | EventKind::PromotedManual
            | EventKind::Specified
            | EventKind::Claimed
            | EventKind::Scheduled
            | EventKind::Created
    )
}

/// What brought a card to where it stands.
pub fn card_turn(card: &Detail) -> Option<&Event> {
    card.events.iter().rev().find(|e| is_card_turn(&e.kind))
}

/// The question with which a task was sent to triage: it was blocked twice in a row with `needs_input`. A person answers that as they do a
/// question that blocks it. Nothing where something else happened to it since.
pub fn asked_in_triage(d: &Detail) -> Option<&Event> {
    let is_loop = |e: &&Event| e.kind == EventKind::BlockLoopDetected && d.task.status == Status::Triage;
    // Another assignee answers nothing.
    let is_turn = |e: &&Event| authorship::is_turn(e) && e.kind != EventKind::Assigned;
    let turn = d.events.iter().rev().find(is_turn).filter(is_loop)?;
    (d.block_kind(Some(turn)) == Some("needs_input")).then_some(turn)
}

/// Whether a stopped card waits for a person: its orchestrator asks by blocking it. Where that gave up, or was blocked twice for one reason,
/// `route-blocked` closes the card.
pub fn is_asking(card: &Detail) -> bool {
    card.task.status == Status::Blocked && card_turn(card).is_some_and(|e| e.kind == EventKind::Blocked)
}

/// What a watcher told a person of a living worker, or of a host that starts none, as long as it stands: nothing happened to the task
/// since, and it was not noted as over. A start that the host refused is nothing.
pub fn told(d: &Detail) -> Option<&Event> {
    let unstarted = |r: &&Run| r.outcome.as_deref() == Some("spawn_failed");
    let is_refused =
        |e: &Event| e.run.is_some_and(|run| d.runs.iter().filter(unstarted).any(|r| r.id == run));
    let since =
        d.events.iter().rposition(|e| authorship::is_turn(e) && !is_refused(e)).map_or(0, |at| at + 1);
    let newest = d.events[since..].iter().rev().find(|e| is_told(e))?;
    (newest.payload.get("over").is_none()).then_some(newest)
}

fn is_told(e: &Event) -> bool {
    let of_worker = |key: &str| {
        [OLDER_WORKER, HOST_REFUSES, EXITED, STOPPED, ASKING, SILENT].contains(&key)
            || key.starts_with("health:")
    };
    let by_watcher = |key: &str| match e.by() {
        Some(HEAL) => of_worker(key),
        Some(ROUTE_BLOCKED) => key == OLDER_WORKER,
        _ => false,
    };
    e.kind == EventKind::Detected && key(e).is_some_and(by_watcher)
}

/// What it was told of.
pub fn key(e: &Event) -> Option<&str> {
    e.payload.get("key").and_then(Value::as_str)
}

/// Whether nobody will ever take a ready task: Hermes skips these without a word. While the profiles are not known, none is missing.
pub fn is_nobodys(assignee: Option<&str>, known: &Profiles, own_board: bool) -> bool {
    match assignee {
        None => !own_board,
        Some(name) => {
            let known = known.names();
            let is_known =
                known.iter().map(String::as_str).chain(["default"]).any(|k| is_of_profile(name, k));
            !known.is_empty() && !is_known
        }
    }
}
