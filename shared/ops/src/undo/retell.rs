//! What the runtime reads in a task's history, told again where the action had told the opposite: a row that says `blocked`
//! is promoted by Hermes' next tick unless the newest word of the history says so too.

use serde_json::{Map, Value, json};

use super::Action;
use board::hermes::{self, Trail};
use board::{Change, Detail, Event, EventKind, RunRef, Status};
use policy::authorship;

/// What an event says of the step that wrote it, and not of its task.
const OWN: [&str; 8] = ["v", "pass", "case", "cause", "because", "clock", "before", "after"];

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
        told.extend(sticky.into_iter().map(|e| block(e, trail)));
        told.extend(stop.into_iter().map(|e| hermes::noted(e.kind.clone(), keys(e), trail)));
    }
    if did(EventKind::Completed) {
        told.push(hermes::noted(EventKind::Status, json!({"status": status}), trail));
    }
    told
}

/// A block again: a worker's own as its own, with its attempt and what it said, or the watchers would take it for a person's.
fn block(e: &Event, trail: &Trail<'_>) -> Change {
    if authorship::is_ours(e) {
        return hermes::noted(e.kind.clone(), keys(e), trail);
    }
    let facts = e.trail().and_then(Value::as_object).into_iter().flatten();
    let facts = facts.filter(|(key, _)| !OWN.contains(&key.as_str()));
    let mut more: Map<String, Value> = facts.map(|(key, value)| (key.clone(), value.clone())).collect();
    more.extend(trail.more.clone());
    let mut payload = hermes::payload(&Trail { more, ..trail.clone() }, keys(e));
    if let Some(map) = payload.as_object_mut() {
        match e.by() {
            Some(by) => map.insert("by".into(), json!(by)),
            None => map.remove("by"),
        };
    }
    Change::AddEvent { kind: e.kind.clone(), payload, run: e.run.map(RunRef::Id) }
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
