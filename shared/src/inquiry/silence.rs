//! Why a watcher has nothing to say about a task: it tells in its report only what it looked at closely. Pure.

use crate::board::{Detail, Status};
use crate::distress::is_card;
use crate::time::{Time, words};
use crate::watch::{distress, heal};

/// The reason, in one line.
pub(super) fn of(watcher: &str, d: &Detail, now: Time) -> String {
    let t = &d.task;
    let said = match (&t.status, watcher) {
        (Status::Done | Status::Archived, _) => "it is over",
        (Status::Other(_), _) => "a state it does not know is left alone",
        (_, distress::NAME) if is_card(t) => "no card is made about a card",
        (Status::Running, heal::NAME) => {
            let heard = t.last_heartbeat_at.max(t.started_at).unwrap_or(t.created_at);
            return format!("heard from {} ago: too lately to look closer", words(now.since(heard)));
        }
        (Status::Ready, heal::NAME) => {
            "no claim was left on it, and no failure text keeps the dispatcher from it"
        }
        (Status::Blocked, heal::NAME) => "blocked without a failure: whoever blocked it decides",
        (Status::Todo, heal::NAME) => "it waits its turn",
        (Status::Review, heal::NAME) => "a reviewer has it",
        (Status::Triage, heal::NAME) => "what is in triage is no dead worker's",
        (Status::Triage | Status::Todo | Status::Ready, distress::NAME) if d.runs.is_empty() => {
            "it was never tried, so nothing failed"
        }
        (Status::Running, distress::NAME) => "its log shows no provider that refuses it again and again",
        (_, distress::NAME) => "its last attempt did not end on what a card could help with",
        (Status::Running, _) => "it runs, and nothing about its profile changed meanwhile",
        _ => "no card, no hold and no provider that refuses it",
    };
    said.to_owned()
}
