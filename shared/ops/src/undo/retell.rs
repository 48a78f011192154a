//! What the runtime reads in a task's history, told again where the action had told the opposite: a row that says `blocked`
//! is promoted by Hermes' next tick unless the newest word of the history says so too.

use serde_json::{Value, json};

use super::Action;
use board::hermes::{self, Trail};
use board::{Change, Detail, Event, EventKind, Status};

/// Kinds that stop a task or set it free.
const STOPS: [EventKind; 6] = [
    EventKind::Blocked,
    EventKind::GaveUp,
    EventKind::Unblocked,
    EventKind::Promoted,
    EventKind::PromotedManual,
    EventKind::Claimed,
];

/// The events that make the history agree with the row as it is restored, which then has this status.
pub(super) fn retold(d: &Detail, action: &Action, status: &Status, trail: &Trail<'_>) -> Vec<Change> {
    let (before, did) = (&d.events[..action.span.0], &d.events[action.span.0..=action.span.1]);
    let did = |kind: EventKind| did.iter().any(|e| e.kind == kind && e.by() == Some(&action.by));
    let was_sticky = hermes::is_sticky(before);
    let mut told = Vec::new();
    if did(EventKind::Assigned) && action.before.contains_key("assignee") {
        let keys = json!({"assignee": action.before["assignee"], "from": d.task.assignee});
        told.push(hermes::noted(EventKind::Assigned, keys, trail));
    }
    if did(EventKind::Blocked) && !was_sticky {
        told.push(hermes::noted(EventKind::Unblocked, json!({"status": status}), trail));
    }
    if did(EventKind::Unblocked) && *status == Status::Blocked {
        let newest = |kinds: &[EventKind]| before.iter().rev().find(|e| kinds.contains(&e.kind));
        let sticky = newest(&[EventKind::Blocked]).filter(|_| was_sticky);
        let stop = newest(&STOPS).filter(|e| e.kind == EventKind::GaveUp);
        told.extend(sticky.into_iter().chain(stop).map(|e| hermes::noted(e.kind.clone(), keys(e), trail)));
    }
    if did(EventKind::Completed) {
        told.push(hermes::noted(EventKind::Status, json!({"status": status}), trail));
    }
    told
}

/// What an event says in the runtime's own words.
fn keys(e: &Event) -> Value {
    let mut keys = Value::clone(&e.payload);
    if let Some(map) = keys.as_object_mut() {
        map.remove("watchbill");
        map.remove("by");
    }
    keys
}
