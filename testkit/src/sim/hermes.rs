//! One tick of a dispatcher as Hermes 0.19 does it, in the order of its own loop, with the faults it has.

use serde_json::json;
use shared::base::cause::Cause;
use shared::base::time::Time;
use shared::board::hermes::{FAILURE_LIMIT, is_guard_jammed, is_sticky};
use shared::board::{Board, Detail, EventKind, Status, Task};

use super::Sim;
use super::hands::{act, claim, event, failed, look, reclaimed};
use super::machine::Who;
use super::trials::{self, Dispatch, End};
use super::truth::{Job, Log, PROFILES, Plan, Truth};
use super::wants;
use shared::logs::LogEnd;

/// Workers at once.
pub(super) const PLACES: usize = 4;

/// One tick, where a dispatcher lives.
pub(super) fn tick(sim: &Sim) {
    let Some(own) = sim.truth.borrow().dispatcher.filter(|_| !wants::is_stuck(sim)) else { return };
    if sim.truth.borrow().trials.dispatch != Dispatch::CommandLine {
        return tick_as(sim, own);
    }
    let own = sim.truth.borrow_mut().machine.start(Who::Dispatcher, false);
    tick_as(sim, own);
    sim.truth.borrow_mut().machine.forget(own);
}

fn tick_as(sim: &Sim, own: i64) {
    let mut board = sim.open();
    let rows = |board: &mut dyn Board, of: &[Status]| board.glance(of).unwrap_or_default();
    for t in rows(&mut *board, &[Status::Running]) {
        release_or_bury(sim, &mut *board, &t, own);
    }
    for t in rows(&mut *board, &[Status::Todo, Status::Blocked]) {
        promote(sim, &mut *board, &t);
    }
    for t in rows(&mut *board, &[Status::Ready]) {
        spawn(sim, &mut *board, &t, own);
    }
}

fn lock_of(truth: &Truth, pid: i64) -> String {
    format!("{}:{pid}", truth.machine.name)
}

/// `release_stale_claims` and `detect_crashed_workers`.
fn release_or_bury(sim: &Sim, board: &mut dyn Board, t: &Task, own: i64) {
    let Some(d) = look(board, &t.id) else { return };
    let now = sim.truth.borrow().now;
    let collected = trials::collected(&sim.truth.borrow(), t, own);
    if let Some(is_clean) = collected {
        act(board, now, &d, trials::booked(sim, &d, is_clean));
        return;
    }
    let here = t.claim_host() == Some(sim.truth.borrow().machine.name.as_str());
    let alive = t.worker_pid.is_some_and(|pid| here && sim.truth.borrow().machine.is_alive(pid));
    if t.claim_expires.is_some_and(|e| e < now) {
        let silent = t.last_heartbeat_at.is_some_and(|b| now.since(b) > 3_600);
        let (Some(lock), Some(pid)) = (&t.claim_lock, t.worker_pid) else {
            act(board, now, &d, reclaimed(&d, json!({"stale_lock": t.claim_lock})));
            return;
        };
        if alive && !silent {
            let expires = now.plus(900);
            let take = shared::board::Change::TakeClaim { lock: lock.clone(), expires, pid: Some(pid) };
            act(board, now, &d, vec![take, event(EventKind::ClaimExtended, json!({"reason": "pid_alive"}))]);
            return;
        }
        if alive {
            kill(&mut sim.truth.borrow_mut(), pid);
        }
        act(board, now, &d, reclaimed(&d, json!({"stale_lock": lock})));
        return;
    }
    let settled = t.started_at.is_none_or(|s| now.since(s) > 30);
    if let Some(pid) = t.worker_pid.filter(|_| here && !alive && settled) {
        let error = format!("pid {pid} not alive");
        act(board, now, &d, failed(&d, "crashed", "crashed", &error, FAILURE_LIMIT));
    }
}

/// Hermes has no guard against a pid that was given again.
fn kill(truth: &mut Truth, pid: i64) {
    if truth.machine.who(pid) == Some(&Who::Stranger) {
        truth.tally.hermes_killed_strangers += 1;
    }
    let killed: Vec<Job> = truth.jobs.iter().filter(|j| j.pid == Some(pid)).cloned().collect();
    for job in &killed {
        trials::ended(truth, &job.task, job.run, End::Died);
        trials::forget(truth, job);
    }
    truth.jobs.retain(|j| j.pid != Some(pid));
    let mut chance = truth.chance.clone();
    truth.machine.end(pid, &mut chance);
    truth.chance = chance;
    truth.tell(|| format!("hermes kills pid {pid}"));
}

/// `recompute_ready`.
fn promote(sim: &Sim, board: &mut dyn Board, t: &Task) {
    let Some(d) = look(board, &t.id) else { return };
    if d.parents.iter().any(|p| !p.status.frees_children()) {
        return;
    }
    let below = t.failures < t.max_retries.unwrap_or(FAILURE_LIMIT);
    if t.status == Status::Blocked && (is_sticky(&d.events) || !below) {
        return;
    }
    let now = sim.truth.borrow().now;
    let ready = shared::board::Change::SetStatus(Status::Ready);
    act(board, now, &d, vec![ready, event(EventKind::Promoted, serde_json::Value::Null)]);
}

/// Claim and spawn, behind the respawn guard.
fn spawn(sim: &Sim, board: &mut dyn Board, t: &Task, own: i64) {
    let known = |p: &str| PROFILES.iter().any(|(name, _, _)| *name == p);
    let Some(profile) = t.assignee.clone().filter(|p| known(p) && t.claim_lock.is_none()) else { return };
    let Some(d) = look(board, &t.id) else { return };
    let now = sim.truth.borrow().now;
    if d.parents.iter().any(|p| !p.status.frees_children()) {
        let todo = shared::board::Change::SetStatus(Status::Todo);
        act(board, now, &d, vec![todo, event("claim_rejected", json!({"reason": "parents_not_done"}))]);
        return;
    }
    if let Some(reason) = guard(&d, now) {
        act(board, now, &d, vec![event(EventKind::RespawnGuarded, json!({"reason": reason}))]);
        return;
    }
    let mut truth = sim.truth.borrow_mut();
    if truth.jobs.iter().filter(|j| j.pid.is_some()).count() >= PLACES {
        truth.wants.halted = truth.second;
        return;
    }
    if !truth.machine.workers_of(&t.id).is_empty() {
        truth.tally.hermes_doubles += 1;
    }
    let run = d.runs.iter().map(|r| r.id).max().unwrap_or(0);
    let lock = lock_of(&truth, own);
    // Its run is known only when it is there; the process is given it before any program looks.
    let pid = truth.machine.start(Who::Worker(t.id.clone(), run), true);
    drop(truth);
    let done = act(board, now, &d, claim(&d, &lock, now, Some(pid)));
    let run = look(board, &t.id).and_then(|d| d.task.current_run).filter(|_| done);
    let mut truth = sim.truth.borrow_mut();
    let Some(run) = run else {
        truth.machine.forget(pid);
        return;
    };
    truth.machine.is_now(pid, Who::Worker(t.id.clone(), run));
    let guise = truth.trials.guise();
    truth.machine.disguise(pid, guise);
    let is_card = t.is_card();
    let taught = trials::fate(&mut truth, &t.id, &profile, is_card);
    wants::begun(&mut truth, &t.id, run, is_card);
    let (plan, lasts, silent) = match taught {
        Some(fate) => fate,
        None => {
            let (plan, lasts) = fate(&mut truth, &profile, is_card);
            (plan, lasts, false)
        }
    };
    super::recovery::began(&mut truth, &t.id, plan);
    let (second, written) = (truth.second, truth.now);
    truth.tell(|| format!("hermes starts {} run {run} pid {pid} by {profile}: {plan:?} in {lasts} s", t.id));
    let unreadable = !truth.calm && truth.stops.is_none() && truth.chance.percent(2);
    let earlier = truth.logs.get(&t.id).map(Log::before).unwrap_or_default();
    let (end, refusals, began) = (LogEnd::NoEvidence, Vec::new(), written);
    let log = Log { end, refusals, written, began, by: run, unreadable, earlier };
    truth.logs.insert(t.id.clone(), log);
    if !is_card {
        super::fares::begin(&mut truth, &d, run);
    }
    if silent {
        trials::hush(&mut truth, &t.id, run, plan, lasts);
    }
    let (task, pid, ends, beats) = (t.id.clone(), Some(pid), second + lasts, second + 60);
    truth.jobs.push(Job { task, run, pid, profile, plan, ends, beats });
}

fn guard(d: &Detail, now: Time) -> Option<&'static str> {
    let newest = d.runs.iter().filter(|r| r.ended_at.is_some()).max_by_key(|r| r.ended_at);
    let limited = newest.is_some_and(|r| {
        r.outcome.as_deref() == Some("rate_limited") && r.ended_at.is_some_and(|e| now.since(e) < 300)
    });
    let finished = d.runs.iter().any(|r| {
        r.outcome.as_deref() == Some("completed") && r.ended_at.is_some_and(|e| now.since(e) < 3_600)
    });
    match () {
        () if limited => Some("rate_limit_cooldown"),
        () if is_guard_jammed(d) => Some("blocker_auth"),
        () if finished => Some("recent_success"),
        () => None,
    }
}

/// How an attempt goes, and after how many seconds it comes to that.
fn fate(truth: &mut Truth, profile: &str, is_card: bool) -> (Plan, i64) {
    let refuses = truth.provider_of(profile).and_then(|p| p.refuses).map(|(cause, _)| cause);
    if truth.stops.is_some() {
        return super::recovery::fate(truth, profile, is_card);
    }
    let done = if is_card { Plan::Decide } else { Plan::Finish };
    if truth.calm {
        return (done, 100);
    }
    let soon = truth.chance.between(5, 120);
    let later = truth.chance.between(30, 2_400);
    if let Some(cause) = refuses {
        // Who finds nobody ends soon: Hermes asks a few times and gives up.
        let starves = !is_card && truth.chance.percent(15) && cause != Cause::ConnectionRefused;
        return if starves { (Plan::Starve(cause), later) } else { (Plan::Refused(cause), soon) };
    }
    match truth.chance.below(100) {
        0..45 => (done, later),
        45..63 => (Plan::Die, later.min(soon * 10)),
        63..68 => (Plan::DieLeaving, later),
        68..74 => (Plan::Hang, soon),
        74..79 => (Plan::Refused(Cause::ConnectionRefused), soon),
        79..84 => (Plan::Exhaust, later),
        84..88 if !is_card => (Plan::Ask, later),
        88..90 if !is_card => (Plan::AskAndStay, later),
        90..93 => (Plan::Refused(Cause::ModelMissing), soon),
        _ => (done, later),
    }
}
