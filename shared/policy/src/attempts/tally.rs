//! How often `heal` helped a task in its present episode, as the events of the task say.

use crate::authorship::starts_help_anew;
use base::registry::HEAL;
use board::{Detail, Event, EventKind, Run};
use config::Config;
use config::span::seconds;

/// How often `heal` helped a task in its present episode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Counted resets.
    pub resets: i64,
    /// Requeues that were proven not the task's fault.
    pub uncounted: i64,
    /// Times it was held.
    pub holds: i64,
    /// We said we are done with it.
    pub escalated: bool,
}

/// The events of the present episode, which began at the last event that starts these counts anew or after `decay`
/// seconds of proven healthy work, whichever is later.
pub fn episode(seen: &Detail, decay: i64) -> impl Iterator<Item = &Event> {
    let healthy = seen.runs.iter().filter(|r| lived(r) >= decay).map(|r| r.started_at.plus(decay)).max();
    let began = seen.events.iter().rposition(|e| starts_help_anew(seen, e)).map_or(0, |i| i + 1);
    seen.events[began..].iter().filter(move |e| healthy.is_none_or(|h| e.at >= h))
}

/// Counts within the present episode.
pub fn tally(seen: &Detail, decay: i64) -> Tally {
    let mut tally = Tally::default();
    for e in episode(seen, decay).filter(|e| e.by() == Some(HEAL)) {
        let has = |key: &str| e.trail().is_some_and(|t| t.get(key).is_some_and(|v| !v.is_null()));
        tally.resets += i64::from(has("reset"));
        tally.uncounted += i64::from(has("uncounted"));
        tally.holds += i64::from(has("hold"));
        tally.escalated |= e.kind == EventKind::Escalated || has("handed_over");
    }
    tally
}

/// Seconds an attempt is proven to have worked. A row that merely stayed open proves nothing.
fn lived(r: &Run) -> i64 {
    let finished = matches!(r.outcome.as_deref(), Some("completed" | "blocked"));
    let last = r.last_heartbeat_at.max(r.ended_at.filter(|_| finished));
    last.map_or(0, |t| t.since(r.started_at))
}

/// Counted resets of a task in its present episode, as `heal` itself counts them.
pub fn resets(d: &Detail, config: &Config) -> u64 {
    let tally = tally(d, seconds(config.heal.decay));
    u64::try_from(tally.resets).unwrap_or(0)
}
