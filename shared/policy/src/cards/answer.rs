//! What a finished card says, and whether `route-blocked` dealt with it. Pure.

use serde_json::Value;

use crate::authorship;
use base::time::Time;
use board::{Detail, Event, EventKind, Run, Status};

/// The finished cards that a task was tied to.
pub fn finished_of(d: &Detail) -> impl Iterator<Item = &String> {
    let made = d.cards_made.iter().filter(|c| c.status == Status::Done).map(|c| &c.id);
    let kin = d.parents.iter().filter(|p| p.status == Status::Done && p.is_card());
    made.chain(kin.map(|p| &p.id))
}

/// When a card was finished; another process may have written only its state.
pub fn finished(card: &Detail) -> Time {
    let completed = card.events.iter().rev().find(|e| e.kind == EventKind::Completed).or(card.events.last());
    completed.map_or(card.task.created_at, |e| e.at)
}

/// Whether a finished card has nothing to say: it was one of us who closed it.
pub fn is_settled(card: &Detail) -> bool {
    card.events.iter().rev().find(|e| e.kind == EventKind::Completed).is_some_and(authorship::is_ours)
}

/// The event that says what became of a finished card's decision; what it said before it was opened again does not count.
pub fn read_in(card: &Detail) -> Option<&Event> {
    let from = card.events.iter().rposition(|e| e.kind == EventKind::Completed).unwrap_or(0);
    card.events[from..].iter().rev().find(|e| e.kind == EventKind::DecisionNoted && authorship::is_ours(e))
}

/// The decision of a finished card that was neither carried out nor refused yet, with the attempt that made it.
pub fn unread(card: &Detail) -> Option<(&Run, &Value)> {
    if is_settled(card) || read_in(card).is_some() {
        return None;
    }
    let run = card.runs.iter().find(|r| r.outcome.as_deref() == Some("completed"))?;
    Some((run, run.route.as_ref()?))
}
