//! The cards that asked about a task, as its own history says.

use serde_json::Value;

use crate::authorship;
use crate::cards::identity::is_writer;
use base::registry::ROUTE_BLOCKED;
use base::time::Time;
use board::{Detail, Event, EventKind, Status};

/// A card that was written about one attempt.
pub struct Asked {
    /// The id of the card.
    pub card: String,
    /// The attempt it is about.
    pub run: i64,
    /// When it was written.
    pub at: Time,
    /// Where the card stands; `None` where it is gone.
    pub status: Option<Status>,
}

/// Every card this task was tied to, oldest first: an incident's has no key of its own, but each tie is an event.
pub fn asked(d: &Detail) -> Vec<Asked> {
    let mut all: Vec<Asked> = Vec::new();
    for e in d.events.iter().filter(|e| is_writer(e)) {
        let Some(trail) = e.trail() else { continue };
        let Some(card) = trail.get("card").and_then(Value::as_str) else { continue };
        if all.iter().any(|a| a.card == card) {
            continue;
        }
        let run = trail.get("run").and_then(Value::as_i64).unwrap_or(0);
        all.push(Asked { card: card.to_owned(), run, at: e.at, status: status_of(d, card).cloned() });
    }
    // What the history is too long to show still has its key: `distress:<task>:<word>:<run>`.
    for c in &d.cards_made {
        if all.iter().any(|a| a.card == c.id) {
            continue;
        }
        let about = c.key.strip_prefix(&format!("distress:{}:", d.task.id));
        let run = about.and_then(|a| a.split(':').nth(1)?.parse().ok()).unwrap_or(0);
        all.push(Asked { card: c.id.clone(), run, at: c.created_at, status: Some(c.status.clone()) });
    }
    all.sort_by_key(|a| a.at);
    all
}

/// How a card stands that a task was tied to; `None` where it is gone.
pub fn status_of<'a>(d: &'a Detail, card: &str) -> Option<&'a Status> {
    let made = d.cards_made.iter().find(|c| c.id == card).map(|c| &c.status);
    made.or_else(|| d.parents.iter().find(|p| p.id == card).map(|p| &p.status))
}

/// Whether an event says that a step of route-blocked was undone: it acts upon cards.
pub fn is_of_answer(undone: &Event) -> bool {
    authorship::undid(undone) == Some(ROUTE_BLOCKED)
}

/// Whether route-blocked saw that a card was completed without a decision, and leaves it to be asked once more.
pub fn is_to_be_asked_again(d: &Detail, card: &str) -> bool {
    let says = |e: &Event| {
        e.kind == EventKind::Unanswered
            && e.by() == Some(ROUTE_BLOCKED)
            && e.payload.get("card").and_then(Value::as_str) == Some(card)
    };
    d.events.iter().any(says)
}
