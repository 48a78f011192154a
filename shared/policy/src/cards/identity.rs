//! A distress card as the board has it: who wrote it, which tasks it is about, and what happened to them since.

use serde_json::Value;

use crate::Profiles;
use crate::authorship::HAND;
use base::registry::{BUDGET_CHECK, ROUTE_BLOCKED, SYNTHESIZE_DISTRESS};
use board::{Detail, Event, EventKind, is_task_id};
use card::{self, Distress};

/// The programs that write cards.
pub(crate) const WRITERS: [&str; 3] = [SYNTHESIZE_DISTRESS, HAND, BUDGET_CHECK];

/// Whether one of the programs that write cards left an event.
pub(crate) fn is_writer(e: &Event) -> bool {
    e.by().is_some_and(|by| WRITERS.contains(&by))
}

/// Whether a card is about one cause that stopped many tasks.
pub fn is_incident(card: &Detail) -> bool {
    card::is_incident(card.task.idempotency_key.as_deref())
}

/// Written by one of our programs, in the one form there is.
pub fn is_ours(card: &Detail) -> bool {
    let by = card.events.iter().find(|e| e.kind == EventKind::Created).and_then(|e| e.by());
    by.is_some_and(|by| WRITERS.contains(&by) || by == ROUTE_BLOCKED)
}

/// The event with which one of us made a card.
pub fn made(card: &Detail) -> Option<&Event> {
    card.events.iter().find(|e| e.kind == EventKind::Created && is_writer(e))
}

/// The task a card is about: its title's; only without one there, what its first event or its body says.
pub fn named(card: &Detail) -> Option<String> {
    let guessed = || card::guess_title(&card.task.title).map(str::to_owned);
    titled(card).or_else(|| Distress::parse_any(&card.body).map(|d| d.source)).or_else(guessed)
}

/// The task a card is about by its title. A title shows an id of another shape than Hermes' as one clean line; the first event
/// of a card of Watchbill has it as the board does.
pub fn titled(card: &Detail) -> Option<String> {
    let read = card::read_title(&card.task.title).map(|(source, _)| source);
    if read.as_deref().is_some_and(is_task_id) {
        return read;
    }
    let created = card.events.iter().find(|e| e.kind == EventKind::Created).filter(|_| is_ours(card));
    let recorded = created.and_then(|e| e.payload.get("source_task")?.as_str().map(str::to_owned));
    recorded.or(read)
}

/// Whether the author of a card may speak for a task: a worker of it, or a name that is known not to be a worker.
pub fn speaks_for(card: &Detail, source: &Detail, known: &Profiles) -> bool {
    let Some(maker) = card.place.made_by.as_deref() else { return true };
    let worked = source.runs.iter().any(|r| r.profile.as_deref() == Some(maker));
    let is_no_worker = || known.unknown().is_none() && !known.names().iter().any(|k| k == maker);
    worked || source.task.assignee.as_deref() == Some(maker) || is_no_worker()
}

/// What happened to a task since its card was made: since it was tied to it, in the order of its own history; by the clock
/// only where nothing ties them.
pub fn since_card<'d>(d: &'d Detail, card: &Detail) -> &'d [Event] {
    let ties = |e: &Event| {
        (e.kind == EventKind::Linked && e.names_parent(&card.task.id))
            || e.trail().and_then(|t| t.get("card")).and_then(Value::as_str) == Some(&card.task.id)
    };
    let tied = d.events.iter().position(ties).map(|at| at + 1);
    let later = || d.events.iter().position(|e| e.at > card.task.created_at);
    &d.events[tied.or_else(later).unwrap_or(d.events.len())..]
}
