//! What must hold where the next attempt goes on: no drift is passed over, only the worker is stopped, the resumes of an
//! episode are bounded, and what the next attempt is told has its form.

use std::collections::{BTreeMap, BTreeSet};

use shared::board::{Change, Detail, Event, EventKind, Status, Step};
use shared::config::TreeDrift;
use shared::host::Target;
use shared::worktree::state::TreeState;

use super::super::machine::Who;
use super::super::trials::End;
use super::super::{Sim, fares, trees};
use super::began;

/// Most bytes of a packet, so that Hermes shows the next worker all of it.
const MAX_PACKET: usize = 2_000;
/// Seconds without a word after which a worker counts as stalled: `detect.stall`.
const STALL: i64 = 1_800;
/// Seconds for which a worker may wait for one tool: `detect.tool_limit`.
const TOOL: i64 = 24 * 3_600;

/// What a step of heal's on a running task would break. `quiet`: nobody did anything since the pass began.
pub(super) fn before(sim: &Sim, d: &Detail, step: &Step, quiet: bool) -> Option<String> {
    let to = step.changes.iter().find_map(|c| match c {
        Change::SetStatus(to) => Some(to),
        _ => None,
    });
    let goes_on = to == Some(&Status::Ready);
    if goes_on && let Some(what) = packet(d, step) {
        return Some(what);
    }
    // What a living worker leaves behind is its own.
    if !quiet || step.stop.is_some() {
        return None;
    }
    let drifted = drift(sim, d)?;
    let is_told =
        step.changes.iter().any(|c| matches!(c, Change::AddComment { body, .. } if body.contains("WARNING")));
    match (step.case.as_str(), sim.config.heal.tree_drift) {
        ("tree-drift", _) if drifted == Ground::Same => Some("sees drift where nothing changed".into()),
        ("tree-drift", _) if drifted == Ground::Unknown => Some("sees drift where nothing is known".into()),
        ("tree-drift", TreeDrift::Warn) => Some("hands drift over that is only to be told".into()),
        (_, TreeDrift::Escalate) if goes_on && drifted == Ground::Drifted => {
            Some("goes on over a tree that others changed".into())
        }
        (_, TreeDrift::Warn) if goes_on && drifted == Ground::Drifted && !is_told => {
            Some("does not tell that others changed the tree".into())
        }
        _ => None,
    }
}

/// What is true of a dead worker's tree since it was noted.
#[derive(Debug, PartialEq, Eq)]
enum Ground {
    Same,
    Drifted,
    Unknown,
}

/// `None` where it was never noted, or nothing can be said for sure.
fn drift(sim: &Sim, d: &Detail) -> Option<Ground> {
    let truth = sim.truth.borrow();
    let (folder, attempt) = (d.place.path.as_deref()?, d.current_run().or(d.newest_run())?);
    let run = Some(attempt.id);
    let heard = attempt.last_heartbeat_at.max(d.task.last_heartbeat_at).unwrap_or(attempt.started_at);
    let noted = |e: &&Event| {
        let ours = e.kind == EventKind::Detected && e.by() == Some("heal") && e.run == run;
        let then = e.trail().and_then(|t| t.get("heard")?.as_i64());
        ours && then == Some(heard.0)
    };
    let state = |e: &Event| serde_json::from_value::<TreeState>(e.trail()?.get("tree")?.clone()).ok();
    let before = d.events.iter().filter(noted).find_map(state)?;
    let Ok(now) = trees::state(&truth, folder) else { return Some(Ground::Unknown) };
    if now.method != before.method {
        return Some(Ground::Unknown);
    }
    if now.hash == before.hash {
        return Some(Ground::Same);
    }
    let shared = truth.folders.iter().filter(|(task, f)| *f == folder && **task != d.task.id);
    let shared: BTreeSet<&String> = shared.map(|(task, _)| task).collect();
    if !shared.is_empty() {
        // Whose a change is nobody can say; when the others worked is their business.
        return None;
    }
    if now.head != before.head {
        return Some(Ground::Drifted);
    }
    let files = |s: &TreeState| -> BTreeMap<String, String> {
        s.paths.iter().map(|p| (p.path.clone(), p.hash.clone())).collect()
    };
    let (was, is) = (files(&before), files(&now));
    let own = fares::edited(&truth, &d.task.id, run);
    let hidden = truth.logs.get(&d.task.id).is_some_and(|log| log.unreadable);
    let changed = was.keys().chain(is.keys()).filter(|p| was.get(*p) != is.get(*p));
    let foreign = changed.filter(|p| !own.contains(&format!("{folder}/{p}"))).count();
    match foreign {
        // With its log it may be its own; without, nobody knows of it.
        0 if hidden => None,
        0 => Some(Ground::Same),
        _ => Some(Ground::Drifted),
    }
}

/// One comment for the next attempt, that fits, and that begins with what the worker itself recorded.
fn packet(d: &Detail, step: &Step) -> Option<String> {
    let told: Vec<&String> = step
        .changes
        .iter()
        .filter_map(|c| match c {
            Change::AddComment { author, body } if author == "heal" => Some(body),
            _ => None,
        })
        .collect();
    let [one] = told[..] else { return Some(format!("tells the next attempt {} times", told.len())) };
    if one.len() > MAX_PACKET {
        return Some(format!("a packet of {} bytes", one.len()));
    }
    let recorded = d.events.iter().any(|e| e.kind == EventKind::PacketRecorded);
    let begins = if recorded { "Read this before any mission file" } else { "You are resuming" };
    (!one.starts_with(begins)).then(|| format!("a packet that does not begin with {begins:?}: {one}"))
}

/// Heal's own resumes since the last success or decision of the operator are bounded, but for those that are proven to be no
/// fault of the task: what was refused did not die.
pub(super) fn bounds(sim: &Sim, d: &Detail) -> Option<String> {
    let truth = sim.truth.borrow();
    let began = began(&truth, d);
    let refused = |run: i64| {
        let end = truth.trials.ends.get(&(d.task.id.clone(), run));
        matches!(end, Some((End::Refused, _)))
    };
    let resumes = d.events[began..].iter().filter(|e| e.by() == Some("heal")).filter(|e| {
        let Some(trail) = e.trail().filter(|_| !e.run.is_some_and(refused)) else { return false };
        let back = trail.get("transitions").is_some_and(|t| t.to_string().contains("RESUMING>PENDING"));
        back && trail.get("uncounted").is_none()
    });
    let (resumes, most) = (resumes.count(), sim.config.heal.max_resumes as usize);
    (resumes > most).then(|| format!("{resumes} resumes in one episode, {most} are allowed"))
}

/// Why a process must not be stopped.
pub(in crate::sim) fn stop(sim: &Sim, target: &Target) -> Option<String> {
    let said = |what: String| Some(format!("heal stops pid {} of {}: {what}", target.pid, target.task));
    if !sim.config.heal.allow_stop {
        return said("nobody may be stopped".into());
    }
    let truth = sim.truth.borrow();
    let who = truth.machine.who(target.pid);
    let is_its =
        |w: &Who| matches!(w, Who::Worker(task, run) if *task == target.task && Some(*run) == target.run);
    if !who.is_some_and(is_its) {
        return said(format!("it is {who:?}"));
    }
    let Some(fare) = truth.fares.get(&target.task) else { return said("nobody knows how it fares".into()) };
    let silent = truth.second - fare.active_second;
    match () {
        () if fare.in_tool && silent < TOOL => said("it waits for its tool".into()),
        // Slips are small.
        () if silent < STALL - 120 => said(format!("it wrote {silent} s ago")),
        () => None,
    }
}
