//! What the runtime reads in a task's history, told again where the action had told the opposite: a row that says `blocked`
//! is promoted by Hermes' next tick unless the newest word of the history says so too.

use serde_json::{Value, json};

use super::Action;
use crate::board::hermes::{self, Trail};
use crate::board::{Change, Detail, Event, Status};

/// Kinds that stop a task or set it free.
const STOPS: [&str; 6] = ["blocked", "gave_up", "unblocked", "promoted", "promoted_manual", "claimed"];

/// The events that make the history agree with the row as it is put back, which then has this status.
pub(super) fn retold(d: &Detail, action: &Action, status: &Status, trail: &Trail<'_>) -> Vec<Change> {
    let (before, did) = (&d.events[..action.span.0], &d.events[action.span.0..=action.span.1]);
    let did = |kind: &str| did.iter().any(|e| e.kind == kind && e.by() == Some(&action.by));
    let was_sticky = hermes::is_sticky(before);
    let mut told = Vec::new();
    if did("assigned") && action.before.contains_key("assignee") {
        let keys = json!({"assignee": action.before["assignee"], "from": d.task.assignee});
        told.push(hermes::noted("assigned", keys, trail));
    }
    if did("blocked") && !was_sticky {
        told.push(hermes::noted("unblocked", json!({"status": status}), trail));
    }
    if did("unblocked") && *status == Status::Blocked {
        let newest = |kinds: &[&str]| before.iter().rev().find(|e| kinds.contains(&e.kind.as_str()));
        let sticky = newest(&["blocked"]).filter(|_| was_sticky);
        let stop = newest(&STOPS).filter(|e| e.kind == "gave_up");
        told.extend(sticky.into_iter().chain(stop).map(|e| hermes::noted(&e.kind, keys(e), trail)));
    }
    if did("completed") {
        told.push(hermes::noted("status", json!({"status": status}), trail));
    }
    told
}

/// What an event says in the runtime's own words.
fn keys(e: &Event) -> Value {
    let mut keys = e.payload.clone();
    if let Some(map) = keys.as_object_mut() {
        map.remove("watchbill");
        map.remove("by");
    }
    keys
}
