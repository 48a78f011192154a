//! `board lend`: what becomes of a task that this host borrowed from another board, as plain data. That board is the truth: the local task
//! says how the work goes, and nothing else.

use base::count::pick;
use base::hash::fnv;
use base::redact::redact;
use base::time::Time;
use board::{Detail, Event, EventKind, HandOver, Status};
use policy::attempts::worker;
use serde_json::{Value, json};

/// How the idempotency key of a borrowed task begins.
const KEY: &str = "lent:";
/// For how many seconds a task that its board gave up is left to the watchers of that board.
const LEFT: i64 = 900;
/// Kinds of blocks that mean the same on every board.
const KINDS: [&str; 3] = ["capability", "needs_input", "transient"];
/// The kind of every other block: a person is asked.
const ASKS: &str = "needs_input";

/// One claim of a task that was lent: the task on the board it belongs to, and the part of the claim that was never there before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loan {
    /// The task there.
    pub task: String,
    /// The last part of what it is claimed with.
    pub nonce: String,
}

/// What is to be done about a loan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Nothing.
    Nothing,
    /// The local task is made.
    Make,
    /// The claim is extended.
    Renew,
    /// The task is done, with this summary.
    Complete(Option<String>),
    /// The work is done, but the task waits for this one meanwhile: its claim is released.
    Wait(String, Option<String>),
    /// The task is blocked, with this kind and for this reason.
    Block(&'static str, String),
    /// The claim is released, for this reason: nobody began.
    GiveBack(String),
    /// The local task is blocked, for this reason: the claim is lost.
    Stop(String),
    /// The local task is archived, for this reason: it is blocked, and what is asked is asked on the board that lends.
    Archive(String),
}

impl Loan {
    /// The loan of a task that is claimed with this.
    pub fn of_lock(task: &str, lock: &str) -> Option<Loan> {
        let nonce = lock.splitn(3, ':').nth(2)?;
        Some(Loan { task: task.to_owned(), nonce: nonce.to_owned() })
    }

    /// The loan that a local task is made for.
    pub fn of_key(key: Option<&str>) -> Option<Loan> {
        let (task, nonce) = key?.strip_prefix(KEY)?.rsplit_once(':')?;
        Some(Loan { task: task.to_owned(), nonce: nonce.to_owned() })
    }

    /// The idempotency key of the local task.
    pub fn key(&self) -> String {
        format!("{KEY}{}:{}", self.task, self.nonce)
    }

    /// The id of the local task. It follows from the loan, so that it is found again in every state, and is never made twice.
    pub fn local(&self) -> String {
        let hash = fnv(self.key().bytes());
        format!("t_{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
    }

    /// Whether a task is still claimed under this loan.
    pub fn holds(&self, seen: &Detail) -> bool {
        let lock = seen.task.claim_lock.as_deref().and_then(|lock| Loan::of_lock(&seen.task.id, lock));
        seen.task.status == Status::Running && lock.as_ref() == Some(self)
    }

    /// Whether a task was ever claimed under it: then the local task was made for this one, and not for one of the same id on another board.
    pub fn was_of(&self, seen: &Detail) -> bool {
        let lock = |e: &Event| Loan::of_lock(&seen.task.id, e.payload.get("lock")?.as_str()?);
        let claims = seen.events.iter().filter(|e| e.kind == EventKind::Claimed);
        claims.filter_map(lock).any(|loan| loan == *self)
    }
}

/// What the claim of a task says of the board that it is lent to, and the creation of the local task of the board that it is lent from.
pub fn mark(board: &str, task: &str) -> Value {
    json!({"board": board, "task": task})
}

/// The loan under which a running task was lent; `None`: its claim is not a loan's.
pub fn lent(seen: &Detail) -> Option<Loan> {
    worker::lent_to(seen)?;
    Loan::of_lock(&seen.task.id, seen.task.claim_lock.as_deref()?)
}

/// Whether a loan is one to this board. Its own local task proves it, whatever the board and the host were called when it was claimed.
/// Before that is made, the claim says so. `is_here`: it was claimed on this host.
pub fn is_to(loan: &Loan, there: &Detail, local: Option<&Detail>, board: &str, is_here: bool) -> bool {
    let is_named = || worker::lent_to(there).is_some_and(|lent| lent.board == board);
    local.is_some_and(|local| is_made_for(loan, local)) || (is_here && is_named())
}

/// Whether a local task says that it was lent from this board.
pub fn is_lent_from(local: &Detail, board: &str) -> bool {
    let says_so = |e: &Event| Some(e.trail()?.get("lent_from")?.get("board")? == board);
    local.events.iter().any(|e| e.kind == EventKind::Created && says_so(e) == Some(true))
}

/// The clocks of both boards, and how long a claim lasts.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// The time on the board that lends.
    pub there: Time,
    /// The time on the local board.
    pub here: Time,
    /// Seconds that a claim lasts.
    pub ttl: i64,
}

/// Decides what becomes of a loan, by the task on the board that lends and by the local one.
pub fn decide(loan: &Loan, there: Option<&Detail>, local: Option<&Detail>, clocks: Clocks) -> Deed {
    use Status::{Blocked, Ready, Review, Running, Scheduled, Todo, Triage};
    let Some(held) = there.filter(|seen| loan.holds(seen)) else {
        return match local {
            Some(local) if is_made_for(loan, local) => match local.task.status {
                Todo | Scheduled | Ready | Running | Review => Deed::Stop(lost(loan, there)),
                Blocked | Triage if !is_stopped(local) => Deed::Archive(lost(loan, there)),
                _ => Deed::Nothing,
            },
            _ => Deed::Nothing,
        };
    };
    // The first heartbeat comes once the local task is there.
    let was_made = held.current_run().is_some_and(|run| run.last_heartbeat_at.is_some());
    let Some(local) = local else {
        return match was_made {
            false => Deed::Make,
            true => Deed::Block(ASKS, format!("its local task {} was deleted", loan.local())),
        };
    };
    if !is_made_for(loan, local) {
        return Deed::GiveBack(format!("another task has the id {} there", local.task.id));
    }
    let done = local.runs.iter().find(|run| run.outcome.as_deref() == Some("completed"));
    let is_done = match local.task.status {
        Status::Done => true,
        Status::Archived => done.is_some(),
        _ => false,
    };
    if is_done {
        let summary = done.and_then(|run| run.summary.clone());
        let open = held.parents.iter().find(|parent| !parent.status.frees_children());
        return match open {
            Some(parent) => Deed::Wait(parent.id.clone(), summary),
            None => Deed::Complete(summary),
        };
    }
    if local.task.status == Status::Archived {
        return Deed::Block(ASKS, format!("its local task {} was archived", local.task.id));
    }
    if let Some(deed) = blocked(local, clocks.here) {
        return deed;
    }
    let left = held.task.claim_expires.map_or(0, |until| until.since(clocks.there));
    if was_made && left > clocks.ttl * 2 / 3 { Deed::Nothing } else { Deed::Renew }
}

/// What a local task that is blocked for good comes to. One with an open card, and one that was given up a short while ago, is left
/// to the watchers there: they requeue it, or its card is decided.
fn blocked(local: &Detail, now: Time) -> Option<Deed> {
    if !matches!(local.task.status, Status::Blocked | Status::Triage) || !local.cards.is_empty() {
        return None;
    }
    let stops = [EventKind::Blocked, EventKind::BlockLoopDetected, EventKind::GaveUp];
    let stop = local.events.iter().rev().find(|e| stops.contains(&e.kind));
    if stop.is_some_and(|e| e.kind == EventKind::GaveUp && now.since(e.at) < LEFT) {
        return None;
    }
    let text = |e: &Event| {
        let text = e.payload.get("reason").or_else(|| e.payload.get("error"))?.as_str()?.trim();
        (!text.is_empty()).then(|| redact(text).into_owned())
    };
    let reason = stop.and_then(text).unwrap_or_else(|| "blocked without a reason".to_owned());
    let reason = match stop {
        Some(e) if e.kind == EventKind::GaveUp => {
            let failures = local.task.failures;
            format!("given up after {failures} {}: {reason}", pick(failures, "failure", "failures"))
        }
        _ => reason,
    };
    let kind = KINDS.into_iter().find(|kind| local.task.block_kind.as_deref() == Some(kind));
    Some(Deed::Block(kind.unwrap_or(ASKS), reason))
}

/// Whether a local task was blocked because its claim was lost. A person archives it, once they saw that.
fn is_stopped(local: &Detail) -> bool {
    let block = local.events.iter().rev().find(|e| e.kind == EventKind::Blocked);
    let cause = block.and_then(|e| e.payload.get("cause")?.as_str());
    cause == Some(HandOver::LeaseLost.as_str())
}

fn is_made_for(loan: &Loan, local: &Detail) -> bool {
    local.task.idempotency_key.as_deref() == Some(&loan.key())
}

/// Why a claim is lost.
fn lost(loan: &Loan, there: Option<&Detail>) -> String {
    let id = &loan.task;
    let Some(there) = there else { return format!("{id} is not on the board that lent it any more") };
    match (&there.task.status, &there.task.claim_lock) {
        (Status::Running, Some(lock)) => format!("the claim of {id} is lost: it is claimed by {lock} now"),
        (status, _) => format!("the claim of {id} is lost: it is {status} on the board that lent it"),
    }
}

#[cfg(test)]
mod tests;
