//! What our programs did with tasks, as their own events tell it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::facts::text;
use super::line::Line;
use base::cause::Cause;
use base::time::Time;
use board::{Event, EventKind};
use policy::authorship::{cause_in, is_ours};

/// One of the words of [`DONE`].
type Did = &'static str;

/// What one pass did with a task: one entry, however many events it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Deed {
    /// When.
    pub at: Time,
    /// The program.
    pub(crate) by: String,
    /// What it did, in one word.
    #[serde(deserialize_with = "known")]
    pub(crate) did: Did,
    /// Its rule.
    pub(crate) case: String,
    /// Why the worker had ended, where that was known.
    #[serde(default, deserialize_with = "if_known")]
    pub cause: Option<Cause>,
    /// The reason, in one line.
    pub because: Line,
    /// The pass.
    pub pass: String,
}

/// What our programs did, oldest first.
pub(crate) fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Deed> {
    let mut all: Vec<Deed> = Vec::new();
    for e in events {
        let Some(deed) = deed(e) else { continue };
        let same = |d: &&mut Deed| d.pass == deed.pass && d.case == deed.case;
        match all.last_mut().filter(|d| same(d)) {
            // One pass may write several events about one thing: the one that says most names it.
            Some(last) => {
                if rank(deed.did) > rank(last.did) {
                    last.did = deed.did;
                }
                last.cause = last.cause.or(deed.cause);
            }
            None => all.push(deed),
        }
    }
    all
}

fn deed(e: &Event) -> Option<Deed> {
    let trail = e.trail().filter(|_| is_ours(e))?;
    let word = |key: &str| trail.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Deed {
        at: e.at,
        by: e.by()?.to_owned(),
        did: did(e, &word("case")),
        case: word("case"),
        cause: cause_in(trail),
        because: Line::of(word("because")),
        pass: word("pass"),
    })
}

/// What an event of Watchbill did.
fn did(e: &Event, case: &str) -> &'static str {
    match e.kind {
        EventKind::Reclaimed if case == "leaked-claim" => "released",
        EventKind::Reclaimed | EventKind::Crashed => "requeued",
        EventKind::Assigned => "moved",
        EventKind::Unblocked | EventKind::Promoted => "freed",
        EventKind::Scheduled => "held",
        EventKind::Blocked if text(e, "cause").is_some() => "handed_over",
        EventKind::GaveUp | EventKind::Blocked => "blocked",
        EventKind::Linked => "asked",
        EventKind::Completed => "closed",
        EventKind::Created => "made",
        EventKind::Escalated => "escalated",
        EventKind::GuardCleared => "cleared",
        _ => "noted",
    }
}

/// Every word for what is done, with how people say it; of several in one pass the later one says more.
const DONE: [(&str, &str); 13] = [
    ("noted", "noted something about it"),
    ("made", "made it"),
    ("closed", "closed it"),
    ("asked", "asked about it"),
    ("cleared", "cleared its failure text"),
    ("released", "released its claim"),
    ("requeued", "requeued it"),
    ("escalated", "escalated it"),
    ("freed", "released it"),
    ("held", "held it"),
    ("blocked", "blocked it"),
    ("moved", "moved it"),
    ("handed_over", "gave it to a person"),
];

/// One of those words; of one that this version does not know, the one that says least.
fn known<'de, D: Deserializer<'de>>(from: D) -> Result<Did, D::Error> {
    String::deserialize(from).map(|did| DONE[rank(&did)].0)
}

/// What this version knows of it; nothing where another one has a value of its own.
pub(super) fn if_known<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Value::deserialize(from).map(|value| serde_json::from_value(value).unwrap_or(None))
}

fn rank(did: &str) -> usize {
    DONE.iter().position(|(d, _)| *d == did).unwrap_or(0)
}

impl Deed {
    /// Whether it brought the work on its way again.
    pub(crate) fn helps(&self) -> bool {
        matches!(self.did, "requeued" | "released" | "moved" | "freed" | "cleared")
    }

    /// `moved it`.
    pub(crate) fn words(&self) -> &'static str {
        DONE[rank(self.did)].1
    }
}
