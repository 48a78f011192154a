//! What only a person can decide.

use crate::board::{Detail, Status, hermes};
use crate::time::Time;

/// Why a task waits for a person, and since when, if it does: a block that only a person lifts, about which no card asks
/// anybody else.
pub(crate) fn waits(d: &Detail) -> Option<(String, Option<Time>)> {
    if d.task.status != Status::Blocked || !hermes::is_sticky(&d.events) || !d.cards.is_empty() {
        return None;
    }
    let block = d.events.iter().rev().find(|e| e.kind == "blocked");
    let text = |key: &str| block.and_then(|e| e.payload.get(key)?.as_str());
    let said = [text("cause"), text("reason")].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let why = if said.is_empty() { "blocked, and nobody says why".to_owned() } else { said };
    Some((why, block.map(|e| e.at)))
}
