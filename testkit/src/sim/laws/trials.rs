//! What must hold of what trials on real boards taught.

use serde_json::Value;
use shared::base::cause::Cause;
use shared::base::time::Time;
use shared::board::{Board, Change, Detail, Event, EventKind, Rule, Status, Step, StepAction};
use shared::card;

use super::super::hands::look;
use super::super::machine::Who;
use super::super::trials::End;
use super::super::{Sim, trials};
use super::{all, is_fresh};

/// Seconds for which the children of a dead worker are waited for: `heal.orphan_wait`, less what a look may come late.
const CHILDREN: i64 = 900 - 90;
/// The longest wait before a refused key is tried again by the clock alone: `heal.hold_max`.
const MAX_WAIT: i64 = 6 * 3_600;

/// What a step would break if it were applied now. `quiet`: nobody did anything since the pass began.
pub(super) fn before(
    sim: &Sim,
    board: &mut dyn Board,
    by: &str,
    d: &Detail,
    step: &Step,
    quiet: bool,
) -> Option<String> {
    if !sim.truth.borrow().trials.on {
        return None;
    }
    capped(sim, d, step)
        .or_else(|| tireless(sim, by, d, step))
        .or_else(|| hasty(sim, d, step))
        .or_else(|| believed(sim, board, d, step))
        .or_else(|| bothered(sim, board, by, d, step, quiet))
        .or_else(|| again(sim, board, by, d, step, quiet))
}

/// Limited work is not taken away for deaths that it did not die. Who said something and left did not do its work, and nothing
/// explains that. Of a card nobody writes down how its attempts ended. Of a log that was last written before the newest attempt began,
/// by a clock that was set back since, nobody can tell which part is whose: there only what one of us wrote down before is known.
fn capped(sim: &Sim, d: &Detail, step: &Step) -> Option<String> {
    if step.case != Rule::ResumeCap || d.task.is_card() {
        return None;
    }
    let truth = sim.truth.borrow();
    let began = d.events.iter().rev().find(|e| is_fresh(&truth, d, e)).map(|e| e.at);
    let tells_nothing = truth.logs.get(&d.task.id).is_some_and(|log| log.written < log.began);
    let noted: Vec<i64> =
        d.events.iter().filter_map(|e| refused(&d.task.id, &e.payload)).map(|(_, run)| run).collect();
    let counts = |run: &&shared::board::Run| {
        let end = truth.trials.ends.get(&(d.task.id.clone(), run.id));
        let is_of_episode = run.ended_at.is_none() || began.is_none_or(|at| run.started_at >= at);
        let is_known = !tells_nothing || noted.contains(&run.id);
        is_of_episode && !(is_known && matches!(end, Some((End::Refused, _))))
    };
    let how = |run: &shared::board::Run| {
        let end = truth.trials.ends.get(&(d.task.id.clone(), run.id)).map(|(end, _)| *end);
        format!("{}: {:?}, {end:?}", run.id, run.outcome)
    };
    let all: Vec<String> = d.runs.iter().map(how).collect();
    let (died, most) = (d.runs.iter().filter(counts).count(), sim.config.heal.max_resumes as usize);
    (died <= most)
        .then(|| format!("a cap of {most} deaths is told of {died}; attempts {all:?} since {began:?}"))
}

/// A task whose workers died too often goes to the operator, whatever an orchestrator says by command line. An attempt that was refused
/// behind a clock that was set back does not count as a death here: once later attempts wrote theirs, the log may tell of it, and then it
/// rightly does not count. (It may count all the same; see [`capped`].)
fn tireless(sim: &Sim, by: &str, d: &Detail, step: &Step) -> Option<String> {
    let back = step.changes.iter().any(|c| matches!(c, Change::SetStatus(Status::Ready)));
    if by != "heal" || !back || d.task.status == Status::Scheduled {
        return None;
    }
    let truth = sim.truth.borrow();
    let began = d.events.iter().rev().find(|e| is_fresh(&truth, d, e)).map(|e| e.at);
    let died = |run: &&shared::board::Run| {
        let end = truth.trials.ends.get(&(d.task.id.clone(), run.id));
        let booked = matches!(run.outcome.as_deref(), Some("crashed" | "stale"));
        let booked = booked && run.error.as_deref().is_some_and(|e| e.starts_with("pid "));
        booked && began.is_none_or(|at| run.started_at >= at) && matches!(end, Some((End::Died, _)))
    };
    let (died, most) = (d.runs.iter().filter(died).count(), sim.config.heal.max_resumes as usize);
    (died > most + 1).then(|| format!("goes on after {died} deaths, {most} are allowed"))
}

/// What a dead worker left running is waited for, counted from the death.
fn hasty(sim: &Sim, d: &Detail, step: &Step) -> Option<String> {
    let frees = step.changes.iter().any(|c| matches!(c, Change::SetStatus(Status::Ready)));
    if !frees || step.action == StepAction::Release {
        return None;
    }
    let truth = sim.truth.borrow();
    let run = d.task.current_run.or(d.newest_run().map(|r| r.id))?;
    let (_, died) = truth.trials.ends.get(&(d.task.id.clone(), run))?;
    let is_child = |who: &Who| matches!(who, Who::Child(task, of) if *task == d.task.id && *of == run);
    let children = truth.machine.pids(is_child);
    let waited = truth.second - died;
    let told = truth.clock_set < *died && waited < CHILDREN && !children.is_empty();
    told.then(|| {
        format!("sets free what pids {children:?} still work on, {waited} s after their worker died")
    })
}

/// Nobody's own words are taken for its provider's.
fn believed(sim: &Sim, board: &mut dyn Board, d: &Detail, step: &Step) -> Option<String> {
    for change in &step.changes {
        let Change::AddEvent { payload, .. } = change else { continue };
        let Some((task, run)) = refused(&d.task.id, payload) else { continue };
        let end = sim.truth.borrow().trials.ends.get(&(task.clone(), run)).copied();
        // A number that is given to another attempt of another board's task is not this one.
        let profile = look(board, &task)?.runs.iter().find(|r| r.id == run)?.profile.clone();
        if matches!(end, Some((End::Talked, _))) {
            return Some(format!("holds the provider of {profile:?} for what the worker of {task} said"));
        }
    }
    None
}

/// The attempt that a trail calls refused by its provider.
fn refused(task: &str, payload: &Value) -> Option<(String, i64)> {
    let trail = payload.get("watchbill").filter(|t| t.get("pass").is_some())?;
    let cause: Cause = serde_json::from_value(trail.get("cause")?.clone()).ok()?;
    let named = trail.get("provider").or(trail.get("host")).is_some_and(Value::is_string);
    let run = trail.get("run")?.as_i64().filter(|_| named && cause.lies_with_provider())?;
    let task = trail.get("source").and_then(Value::as_str).unwrap_or(task);
    Some((task.to_owned(), run))
}

/// Nobody is told anything of a worker that is well, however long it says nothing, and nothing is done about it. Of a configuration that was changed
/// before its attempt began, and written once more since, a pass may say that it was changed where none knew that before: nothing but the time of the file
/// tells when that was.
fn bothered(
    sim: &Sim,
    board: &mut dyn Board,
    by: &str,
    d: &Detail,
    step: &Step,
    quiet: bool,
) -> Option<String> {
    // What its budget allows is a matter of its own, and so is a worker of an earlier attempt that still lives.
    if by == "budget-check" || step.case == Rule::OlderWorker || !quiet {
        return None;
    }
    if by == "synthesize-distress" && is_about_another(d, step) {
        return None;
    }
    let about = step.changes.iter().find_map(|c| match c {
        Change::AddTask { task, .. } => card::read_title(&task.title).map(|(source, _)| source),
        _ => None,
    });
    let about = about.unwrap_or_else(|| d.task.id.clone());
    let d = look(board, &about)?;
    let run = d.task.current_run.filter(|_| d.task.status == Status::Running)?;
    let truth = sim.truth.borrow();
    let profile = d.current_run().and_then(|r| r.profile.clone()).unwrap_or_default();
    let key = truth.trials.keys.get(&profile).copied().unwrap_or_default();
    let began = d.current_run().map(|r| r.started_at);
    let told = by == "route-blocked" && step.because.contains("configuration");
    let known = truth.trials.remembered.get(&(profile, key.version));
    let is_first = known.is_none_or(|at| truth.wants.began_at(&about, run).is_some_and(|began| *at > began));
    let is_doubtful = is_first && key.changed.is_some() && key.written > began;
    if told && key.changed.is_none_or(|at| Some(at) <= began) && !is_doubtful {
        return Some(format!("{about} runs on the configuration it began with"));
    }
    let (task, at) = (about.clone(), truth.second);
    // How long it was silent, nobody can tell where the memory of a clock that was set is lost.
    let blinded = truth.forgot_clock && step.case.rule() == Rule::Health;
    // Whose refusal it is cannot be told where a worker of an earlier attempt wrote it to the same log.
    let is_anothers = truth.logs.get(&about).is_some_and(|log| log.by != run);
    let healthy = truth.trials.healthy.contains(&(about, run)) && !told && !blinded && !is_anothers;
    healthy.then(|| format!("bothers {task} at {at}, whose worker is well and only takes long"))
}

/// Whether all that a step adds are notes about attempts before the present one.
fn is_about_another(d: &Detail, step: &Step) -> bool {
    step.changes.iter().all(|c| match c {
        Change::AddEvent { payload, .. } => {
            let run = payload.get("watchbill").and_then(|t| t.get("run")?.as_i64());
            run.is_some() && run != d.task.current_run
        }
        _ => false,
    })
}

/// A refused key is not tried again by the clock alone.
fn again(sim: &Sim, board: &mut dyn Board, by: &str, d: &Detail, step: &Step, quiet: bool) -> Option<String> {
    let frees = step.changes.iter().any(|c| matches!(c, Change::SetStatus(Status::Ready)));
    let stands = matches!(d.task.status, Status::Blocked | Status::Scheduled);
    if !frees || !stands || !quiet || d.task.is_card() {
        return None;
    }
    let to = step.changes.iter().find_map(|c| match c {
        Change::Assign(to) => Some(to.clone()),
        _ => None,
    });
    let profile = to.unwrap_or(d.task.assignee.clone())?;
    let ids: Vec<String> = board.glance(&all()).ok()?.into_iter().map(|t| t.id).collect();
    let details = board.look(&ids).ok()?;
    let truth = sim.truth.borrow();
    let at = details.iter().flat_map(|d| d.events.iter().filter_map(|e| refused_key(e, &profile))).max()?;
    let waited = truth.now.since(at);
    let changed = truth.trials.keys.get(&profile).and_then(|k| k.changed).is_some_and(|c| c >= at);
    let spoke = details.iter().any(|d| d.events.iter().any(|e| e.at >= at && is_fresh(&truth, d, e)));
    let works = details.iter().flat_map(|d| &d.runs).any(|r| {
        let good = r.outcome.as_deref() == Some("completed") || r.last_heartbeat_at.is_some();
        r.profile.as_deref() == Some(&profile) && r.started_at >= at && good
    });
    let told = !changed && !spoke && !works && waited < MAX_WAIT;
    let told = told && truth.second.saturating_sub(truth.clock_set) > waited;
    told.then(|| {
        format!("{by} tries the refused key of {profile} again after {waited} s, by the clock alone")
    })
}

/// When a profile's key was seen to be refused, by what a watcher noted. A note that names no provider does not tell of a refusal seen
/// now: it may tell of an attempt of hours ago, and no pass holds anything for it.
fn refused_key(e: &Event, profile: &str) -> Option<Time> {
    let trail = e.trail().filter(|t| t.get("pass").is_some() && t.get("run").is_some())?;
    // What route-blocked writes is made of what others saw.
    if e.by() == Some("route-blocked") {
        return None;
    }
    let text = |key: &str| trail.get(key).and_then(Value::as_str);
    let cause: Cause = serde_json::from_value(trail.get("cause")?.clone()).ok()?;
    let is_named = text("provider").or(text("host")).is_some();
    let seen = trail.get("seen").and_then(Value::as_i64).map(Time).unwrap_or(e.at);
    (cause == Cause::Credential && is_named && text("profile") == Some(profile)).then_some(seen)
}

/// What a pass of heal keeps to itself: a task that it leaves because its log cannot be read, without telling the operator.
pub(in crate::sim) fn silence(sim: &Sim, decision: &shared::policy::Decision) -> Option<String> {
    let truth = sim.truth.borrow();
    if !truth.trials.on || !decision.findings.is_empty() {
        return None;
    }
    let hidden = |l: &&shared::policy::Left| {
        trials::is_veiled(&truth, &l.task) && l.unknown && l.because.contains("log cannot be read")
    };
    let left = decision.left.iter().find(hidden)?;
    Some(format!("heal says to nobody of {}: {}", left.task, left.because))
}

/// What nobody goes on with: route-blocked leaves a hold of heal's to the card that is to be written, and that was written and completed.
pub(in crate::sim) fn circle(board: &mut dyn Board, decision: &shared::policy::Decision) -> Option<String> {
    let waits = |l: &&shared::policy::Left| l.because == "synthesize-distress looks first at what heal held";
    decision.left.iter().filter(waits).find_map(|l| {
        let d = look(board, &l.task)?;
        let held = d.events.iter().rfind(|e| e.kind == EventKind::Scheduled)?.at;
        let card = d.cards_made.iter().find(|c| c.status == Status::Done && c.created_at > held)?;
        Some(format!("nobody goes on with {}: its card {} was completed", l.task, card.id))
    })
}
