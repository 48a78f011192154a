//! What the history of tasks says: which give-up still counts, how a storm of deaths goes, which claimers tell nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::seen::{Recent, Seen};
use base::cause::Cause;
use base::registry::HEAL;
use base::time::Time;
use board::{Detail, Event, EventKind};
use policy::authorship::{HAND, cause_in};

/// The newest breaker event of a task that still counts.
pub(super) fn gave_up(seen: &Detail) -> Option<&Event> {
    let newest = seen.events.iter().rev().find(|e| {
        matches!(
            e.kind,
            EventKind::GaveUp
                | EventKind::Blocked
                | EventKind::Unblocked
                | EventKind::Promoted
                | EventKind::PromotedManual
                | EventKind::Claimed
        )
    })?;
    (newest.kind == EventKind::GaveUp).then_some(newest)
}

/// How a storm of deaths of one cause stands, and what may be reset in this pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Brake {
    /// Few died; each goes at its own pace.
    Off,
    /// Many died: this many may go now, as probes or as a step of the release.
    Slow {
        /// How many resets this pass may still do.
        allowed: usize,
        /// When the next one may go, for the report.
        next: Time,
    },
}

/// Numbers of the storm brake, in seconds and tasks.
#[derive(Debug, Clone, Copy)]
pub(super) struct StormPolicy {
    pub(super) tasks: usize,
    pub(super) window: i64,
    pub(super) probe: i64,
    pub(super) probe_max: i64,
}

/// Whether deaths of `cause` came as a storm, and how far its release has come.
///
/// `waiting` are the deaths of tasks still blocked by it. The deaths for which tasks were reset within the window count too, so that
/// neither the release itself ends the storm nor a probe that died again.
pub(super) fn brake(cause: Cause, waiting: &[(&str, Time)], seen: &Seen, p: StormPolicy) -> Brake {
    let now = seen.now;
    let is_past = |r: &&Recent| !r.event.at.is_ahead_of(now);
    let of_cause = seen.recent.iter().filter(|r| reset_cause(&r.event) == Some(cause));
    let resets: Vec<&Recent> = of_cause.filter(is_past).collect();
    let mut deaths = waiting.to_vec();
    let released = resets.iter().filter(|r| now.since(r.event.at) < p.window);
    deaths
        .extend(released.map(|r| (r.task.as_str(), r.event.trail().and_then(died_at).unwrap_or(r.event.at))));
    let crowded = most_tasks_within(deaths, p.window) >= p.tasks.max(1);
    if !crowded {
        return Brake::Off;
    }
    let probes: Vec<&&Recent> =
        resets.iter().filter(|r| r.event.trail().is_some_and(|t| t.get("storm").is_some())).collect();
    let Some(last) = probes.last() else { return Brake::Slow { allowed: 1, next: now } };
    let held_up = probes.iter().filter_map(|r| healthy_since(seen, r, p.probe)).min();
    if let Some(healthy) = held_up {
        // Two at first, doubling with every healthy stretch.
        let steps = u32::try_from((now.since(healthy) / p.probe).clamp(0, 16)).unwrap_or(16);
        let budget = 2_usize.saturating_mul(2_usize.saturating_pow(steps));
        let done = probes.iter().filter(|r| r.event.at >= healthy).count();
        let next = healthy.plus(p.probe * (i64::from(steps) + 1));
        return Brake::Slow { allowed: budget.saturating_sub(done), next };
    }
    let n = i64::try_from(probes.len()).unwrap_or(1).max(1) - 1;
    let wait = p.probe.saturating_mul(1 << n.min(10)).min(p.probe_max);
    let next = last.event.at.plus(wait);
    Brake::Slow { allowed: usize::from(now >= next), next }
}

/// How many tasks died within one stretch of so many seconds, at the most.
fn most_tasks_within(mut deaths: Vec<(&str, Time)>, window: i64) -> usize {
    deaths.sort_unstable_by_key(|(_, at)| *at);
    let mut within: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut first, mut most) = (0, 0);
    for (task, at) in &deaths {
        *within.entry(task).or_default() += 1;
        while at.since(deaths[first].1) > window {
            let left = deaths[first].0;
            first += 1;
            match within.get_mut(left) {
                Some(n) if *n > 1 => *n -= 1,
                _ => drop(within.remove(left)),
            }
        }
        most = most.max(within.len());
    }
    most
}

fn reset_cause(e: &Event) -> Option<Cause> {
    if e.by() != Some(HEAL) || e.kind != EventKind::Unblocked {
        return None;
    }
    cause_in(e.trail()?)
}

fn died_at(trail: &Value) -> Option<Time> {
    trail.get("died")?.as_i64().map(Time)
}

/// Since when a probe counts as healthy: it worked for `long_enough` seconds, or finished.
fn healthy_since(seen: &Seen, probe: &Recent, long_enough: i64) -> Option<Time> {
    let detail = seen.probes.iter().find(|d| d.task.id == probe.task)?;
    let run = detail.runs.iter().rfind(|r| r.started_at >= probe.event.at)?;
    let finished = run.outcome.as_deref() == Some("completed");
    match (finished, run.ended_at) {
        (true, Some(end)) => Some(end),
        (false, None) => {
            let proven = run.started_at.plus(long_enough);
            let heard = run.last_heartbeat_at.unwrap_or(run.started_at);
            (seen.now >= proven && heard >= proven).then_some(proven)
        }
        _ => None,
    }
}

/// Whether a claimer that is gone tells nothing about the newest attempt's end: it was the worker itself, or a harness that
/// saw its worker end and said so.
pub(super) fn claimer_tells_nothing(d: &Detail) -> bool {
    let run = d.newest_run().map(|r| r.id);
    let ended =
        |e: &Event| matches!(e.kind, EventKind::CommandEnded | EventKind::Crashed) && e.by() == Some(HAND);
    d.is_self_claimed() || d.events.iter().any(|e| ended(e) && e.run.is_some() && e.run == run)
}
