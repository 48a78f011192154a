//! Attempts that end again and again in ways that no limit counts.

use crate::authorship::{is_ours, is_turn, starts_anew};
use board::{Detail, Event, EventKind, Run};

/// So many uncounted ends in a row need a person.
pub const UNCOUNTED: usize = 5;

/// The attempts at a task that ended in a row without completion, the newest first, where at least [`UNCOUNTED`] of them counted as no failure.
/// They begin anew with the act of a person, with a step of a watcher, which counts its own steps, and with another task to wait for. A request
/// for a review does not count as an end, nor does what took no time.
pub fn in_vain(d: &Detail) -> Option<Vec<&Run>> {
    let is_step = |e: &Event| {
        let is_note = e.kind == EventKind::Promoted || e.kind.as_str().starts_with("coord.");
        is_ours(e) && is_turn(e) && !is_note
    };
    let is_new = |e: &&Event| e.kind == EventKind::Linked || is_step(e) || starts_anew(d, e);
    let since = d.events.iter().rev().find(is_new).map(|e| e.at);
    let is_since = |run: &&Run| since.is_none_or(|since| run.started_at >= since);
    let ended = d.runs.iter().filter(|run| run.ended_at.is_some());
    let ends = ended.take_while(|run| is_since(run) && run.outcome.as_deref() != Some("completed"));
    let is_end = |run: &&Run| run.has_worked() && run.outcome.as_deref() != Some("review_requested");
    let ends: Vec<&Run> = ends.filter(is_end).collect();
    let counted = usize::try_from(d.task.failures).unwrap_or(0);
    (ends.len().saturating_sub(counted) >= UNCOUNTED).then_some(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::testing::{ago, detail, event, run};
    use board::{Detail, Status};
    use serde_json::json;

    /// Ended so, the oldest first, each for a minute.
    fn ended(outcomes: &[&str]) -> Detail {
        let mut d = detail("t_00000001", Status::Ready);
        for (n, outcome) in (0..).zip(outcomes) {
            let began = ago(8_000 - n * 100);
            let run = Run {
                started_at: began,
                ended_at: Some(began.plus(60)),
                ..run(n + 1, "luna", Some(outcome))
            };
            d.runs.insert(0, run);
        }
        d
    }

    #[track_caller]
    fn counts(d: &Detail, expected: Option<usize>) {
        assert_eq!(in_vain(d).map(|runs| runs.len()), expected);
    }

    #[test]
    fn ends_that_nobody_counts_add_up() {
        for outcome in ["stale", "reclaimed", "rate_limited", "blocked", "changes_requested"] {
            counts(&ended(&[outcome; 4]), None);
            counts(&ended(&[outcome; 6]), Some(6));
        }
        counts(&ended(&["stale", "stale", "stale", "completed", "stale", "stale"]), None);
        // Five times work and review.
        counts(&ended(&["review_requested", "changes_requested"].repeat(5)), Some(5));
        counts(&ended(&["review_requested", "changes_requested"].repeat(4)), None);
        let mut d = ended(&["stale"; 6]);
        d.runs[0].ended_at = Some(d.runs[0].started_at);
        counts(&d, Some(5));
        // The newest one is open.
        d.runs[0].ended_at = None;
        counts(&d, Some(5));
        d.task.failures = 1;
        counts(&d, None);
    }

    #[test]
    fn the_act_of_a_person_or_a_watcher_begins_them_anew() {
        let by = |who: &str| json!({"by": who, "watchbill": {"pass": "p"}});
        for (kind, payload, is_new) in [
            ("unblocked", json!({}), true),
            ("assigned", json!({"assignee": "sol"}), true),
            ("reclaimed", json!({"manual": true}), true),
            ("linked", json!({"parent": "t_00000002"}), true),
            ("scheduled", by("route-blocked"), true),
            ("reclaimed", by("heal"), true),
            ("reclaimed", by("board"), false),
            ("reclaimed", json!({}), false),
            ("promoted", by("heal"), false),
            ("promoted", json!({}), false),
            ("dependency_wait", json!({"reason": "the schema"}), false),
            ("watchbill_detected", by("heal"), false),
            ("watchbill_signal", by("synthesize-distress"), false),
            ("commented", json!({"author": "luna"}), false),
        ] {
            let mut d = ended(&["stale"; 6]);
            d.events.push(event(kind, 7_850, payload));
            assert_eq!(in_vain(&d).is_none(), is_new, "{kind}");
        }
    }
}
