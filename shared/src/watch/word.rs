//! Who spoke last: a person's or an orchestrator's word stands, and starts what we count afresh.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::board::{Detail, Event, Status};

/// The name of `budget-check`, whose cards every watcher knows.
pub(crate) const BUDGET_CHECK: &str = "budget-check";

/// Programs whose events are ours; everybody else's word starts the counters afresh.
pub(crate) const OURS: [&str; 4] = ["heal", "synthesize-distress", "route-blocked", BUDGET_CHECK];

pub(crate) fn is_ours(e: &Event) -> bool {
    e.by().is_some_and(|by| OURS.contains(&by))
}

/// The event that says who parked a task which is parked now. An `unblocked` behind it released nothing, for the row says
/// otherwise: whoever wrote that would let the hold last for ever.
pub(crate) fn parked(d: &Detail) -> Option<&Event> {
    let newest = d.events.iter().rev().find(|e| matches!(e.kind.as_str(), "scheduled" | "status"));
    newest.filter(|e| e.kind == "scheduled")
}

/// A person, an orchestrator or the work itself said: from the top.
pub(crate) fn is_fresh_start(e: &Event) -> bool {
    let by_hand = match e.kind.as_str() {
        "unblocked" | "promoted_manual" | "completed" => true,
        // The dispatcher filling in its default is nobody's decision.
        "assigned" => e.payload.get("source").is_none(),
        "reclaimed" => e.payload.get("manual").and_then(Value::as_bool) == Some(true),
        _ => false,
    };
    by_hand && !is_ours(e)
}

/// Whether somebody who may say so wants this task left alone: a body line `watchbill: no-heal`, or a comment that
/// begins with it, by an author that is no worker. `watchbill: heal` in a later comment takes it back.
pub(crate) fn is_opted_out(seen: &Detail, profiles: &[String]) -> bool {
    let mut out = seen.body.lines().any(|l| l.trim() == "watchbill: no-heal");
    let workers: BTreeSet<String> = seen
        .runs
        .iter()
        .filter_map(|r| r.profile.as_deref())
        .chain(seen.task.assignee.as_deref())
        .chain(profiles.iter().map(String::as_str))
        // `default` is what Hermes calls a person at the command line as well; their word must be heard.
        .filter(|name| *name != "default")
        .map(str::to_lowercase)
        .collect();
    for c in seen.comments.iter().filter(|c| !workers.contains(&c.author.to_lowercase())) {
        match c.body.lines().next().map(str::trim_end) {
            Some("watchbill: no-heal") => out = true,
            Some("watchbill: heal") => out = false,
            _ => {}
        }
    }
    out
}

/// The hold we put on a task that still stands, with the event that says so.
pub(crate) fn our_hold(d: &Detail) -> Option<(&Event, &Value)> {
    if d.task.status != Status::Scheduled {
        return None;
    }
    let newest = parked(d)?;
    let ours = is_ours(newest);
    // Nothing of ours is ever put over somebody else's schedule; what says so is forged.
    let at = d.events.iter().rposition(|e| e == newest).map_or(0, |at| at + 1);
    let steps = d.events[..at].iter().rev();
    let steps = steps.take_while(|e| !matches!(e.kind.as_str(), "unblocked" | "status" | "claimed"));
    if steps.into_iter().any(|e| e.kind == "scheduled" && !is_ours(e)) {
        return None;
    }
    Some((newest, newest.trail().filter(|_| ours)?.get("hold")?))
}

/// `base` doubled `n` times, at most `most`, plus up to a fifth of deterministic scatter, all in seconds. The same task
/// gets the same answer in every pass, and sixty tasks do not come back in one second.
pub(crate) fn backoff(base: i64, n: i64, most: i64, task: &str) -> i64 {
    let doubled =
        base.saturating_mul(1_i64.checked_shl(u32::try_from(n.clamp(0, 30)).unwrap_or(0)).unwrap_or(1));
    let wait = doubled.min(most);
    let hash = crate::hash::fnv(task.bytes().chain(n.to_le_bytes()));
    let scatter = i64::try_from(hash >> 40).unwrap_or(0) % 20;
    wait + wait * scatter / 100
}
