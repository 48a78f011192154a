//! What a task's own history and its log say, apart from any rule.

use super::trouble::Verdict;
use base::cause::Cause;
use board::{Detail, Event, Status, hermes};
use logs::Evidence;
use policy::authorship;
use policy::cards::seen::Seen;

/// What is to be made of a task whose card is closed: what the card says is route-blocked's to carry out.
pub(super) fn closed(d: &Detail, card: &str, status: Option<&Status>) -> Verdict {
    match status {
        Some(Status::Archived) => {
            Verdict::Leave(format!("its card {card} was archived, so no other card is written"))
        }
        Some(_) => Verdict::Leave(format!(
            "its card {card} is closed; route-blocked carries out what was decided on it, if anything"
        )),
        None => {
            let said = format!("{} is {}, and its card {card} is gone", d.task.id, d.task.status);
            Verdict::Notice(said.clone(), said)
        }
    }
}

/// Whether a dispatcher would set a blocked task free by itself: no explicit block, and below the failure limit
/// (`recompute_ready` of Hermes 0.19).
pub(super) fn is_loose(d: &Detail, seen: &Seen) -> bool {
    // Where nobody knows the limit, it may be below.
    let limit = seen.runtime.as_ref().map_or(hermes::FAILURE_LIMIT, |r| r.failure_limit.unwrap_or(i64::MAX));
    !hermes::is_sticky(&d.events) && d.task.failures < hermes::breaker(&d.task, limit).0
}

/// Causes that the next attempt meets again, so that trying it only burns requests or iterations.
pub(super) fn meets_a_wall(cause: Cause) -> bool {
    cause.is_provider_pressure()
        || matches!(
            cause,
            Cause::Credential | Cause::ModelMissing | Cause::Misconfigured | Cause::IterationBudget
        )
}

/// `rate_limit (HTTP 429) at api.example, until 2026-11-21T10:00:00Z`.
pub(super) fn told(e: &Evidence) -> String {
    let mut said = e.cause.to_string();
    if let Some(status) = e.http {
        said.push_str(&format!(" (HTTP {status})"));
    }
    if let Some(host) = &e.endpoint_host {
        said.push_str(&format!(" at {host}"));
    }
    if let Some(until) = e.resets {
        said.push_str(&format!(", until {until}"));
    }
    said
}

/// The cause that a watcher recorded in an event.
pub(super) fn recorded(event: &Event) -> Option<Cause> {
    authorship::cause_in(event.trail()?)
}
