//! Workers at work: signs of life, and how their attempts end.

use serde_json::{Value, json};
use shared::base::cause::Cause;
use shared::base::time::Time;
use shared::board::hermes::FAILURE_LIMIT;
use shared::board::{Board, Change, Detail};
use shared::card;
use shared::logs::{Evidence, LogEnd};

use super::hands::{act, asked, completed, failed, look};
use super::machine::Who;
use super::trials::{self, Dispatch};
use super::truth::{Job, Plan, Truth, WORKERS};
use super::{Sim, fares};

/// Lets every worker do what is due by now.
pub(super) fn work(sim: &Sim) {
    let due = |t: &Truth, j: &Job| j.beats <= t.second || j.ends <= t.second;
    let jobs: Vec<Job> = {
        let truth = sim.truth.borrow();
        truth.jobs.iter().filter(|j| due(&truth, j)).cloned().collect()
    };
    if jobs.is_empty() {
        return;
    }
    let mut board = sim.open();
    for job in jobs {
        if job.ends <= sim.truth.borrow().second {
            end(sim, &mut *board, &job);
        } else {
            beat(sim, &mut *board, &job);
        }
    }
}

fn own(board: &mut dyn Board, job: &Job) -> Option<Detail> {
    look(board, &job.task).filter(|d| d.task.current_run == Some(job.run))
}

fn beat(sim: &Sim, board: &mut dyn Board, job: &Job) {
    let now = {
        let mut truth = sim.truth.borrow_mut();
        let (second, now) = (truth.second, truth.now);
        if truth.trials.silent.contains(&(job.task.clone(), job.run)) {
            if let Some(mine) = truth.jobs.iter_mut().find(|j| is_same(j, job)) {
                mine.beats = second + 60;
            }
            return;
        }
        if let Some(mine) = truth.jobs.iter_mut().find(|j| is_same(j, job)) {
            mine.beats = second + 60;
        }
        if let Plan::Starve(cause) = job.plan {
            let evidence = evidence(&mut truth, &job.profile, cause);
            if let Some(log) = truth.logs.get_mut(&job.task) {
                log.refusals.push(evidence);
                log.by = job.run;
            }
        }
        let folder = truth.folders.get(&job.task).cloned();
        fares::beat(&mut truth, job, folder.as_deref());
        if job.plan != Plan::Hang
            && let Some(log) = truth.logs.get_mut(&job.task)
        {
            log.written = now;
        }
        now
    };
    if job.plan == Plan::Hang {
        return;
    }
    if let Some(d) = own(board, job) {
        act(board, now, &d, vec![Change::Heartbeat { expires: now.plus(900) }]);
    }
    let records = {
        let mut truth = sim.truth.borrow_mut();
        truth.has_trees && truth.more.percent(8)
    };
    if let Some(d) = own(board, job).filter(|_| records) {
        fares::record(board, now, &d, job.run);
    }
}

fn is_same(a: &Job, b: &Job) -> bool {
    (&a.task, a.run) == (&b.task, b.run)
}

fn end(sim: &Sim, board: &mut dyn Board, job: &Job) {
    let now = sim.truth.borrow().now;
    let mine = own(board, job);
    // A worker that lost its task is refused by its runtime and ends.
    let Some(d) = mine else { return leave(sim, job, false) };
    match job.plan {
        Plan::Finish => {
            act(board, now, &d, completed(&d, None));
            leave(sim, job, false);
        }
        Plan::Decide => {
            if trials::decides(sim, &d) {
                act(board, now, &d, completed(&d, None));
                return leave(sim, job, false);
            }
            let route = decision(&mut sim.truth.borrow_mut(), &d);
            let metadata = route.map(|r| json!({"route": r}));
            act(board, now, &d, completed(&d, metadata));
            leave(sim, job, false);
        }
        Plan::Die | Plan::DieLeaving => {
            sim.truth.borrow_mut().tally.deaths += 1;
            leave(sim, job, job.plan == Plan::DieLeaving);
        }
        Plan::Hang => {
            // It hangs on, until it is ended or the world is well.
            let mut truth = sim.truth.borrow_mut();
            if truth.calm {
                drop(truth);
                return leave(sim, job, false);
            }
            let again = truth.second + 3_600;
            if let Some(j) = truth.jobs.iter_mut().find(|j| is_same(j, job)) {
                j.ends = again;
            }
        }
        Plan::Starve(_) => {
            let mut truth = sim.truth.borrow_mut();
            let well = truth.provider_of(&job.profile).is_some_and(|p| p.refuses.is_none());
            let second = truth.second;
            if let Some(j) = truth.jobs.iter_mut().find(|j| is_same(j, job)) {
                j.ends = second + 300;
                j.plan = if well { Plan::Finish } else { j.plan };
            }
            if well {
                truth.wants.starved.insert((job.task.clone(), job.run));
            }
            if let Some(log) = truth.logs.get_mut(&job.task).filter(|_| well) {
                log.refusals.clear();
            }
        }
        Plan::Refused(cause) => {
            let mut truth = sim.truth.borrow_mut();
            truth.tally.refusals += 1;
            let evidence = evidence(&mut truth, &job.profile, cause);
            let written = truth.now;
            if let Some(log) = truth.logs.get_mut(&job.task) {
                (log.end, log.written, log.by) = (LogEnd::Ended(evidence), written, job.run);
            }
            drop(truth);
            // A worker that ends with 0 under its own dispatcher is booked for its manners (Hermes 0.19).
            if cause == Cause::Credential {
                sim.truth.borrow_mut().tally.keys += 1;
            }
            sim.truth.borrow_mut().wants.owned.insert((job.task.clone(), job.run));
            trials::under(sim);
            let mixed = sim.truth.borrow().trials.dispatch == Dispatch::Mixed;
            let manners = mixed && sim.truth.borrow_mut().chance.percent(60);
            if manners {
                let error = "worker exited cleanly (rc=0) without calling kanban_complete or kanban_block — protocol violation";
                act(board, now, &d, failed(&d, "protocol_violation", "crashed", error, FAILURE_LIMIT));
            }
            leave(sim, job, false);
        }
        Plan::Talk => {
            let mut truth = sim.truth.borrow_mut();
            truth.tally.talked += 1;
            let (end, written) = (trials::talk(&mut truth, &job.task), truth.now);
            if let Some(log) = truth.logs.get_mut(&job.task) {
                (log.end, log.written, log.by) = (end, written, job.run);
            }
            drop(truth);
            leave(sim, job, false);
        }
        Plan::Exhaust => {
            let error = "Iteration budget exhausted (6/6) — task could not complete";
            let mut truth = sim.truth.borrow_mut();
            let (evidence, written) = (Evidence::new(Cause::IterationBudget, 64), truth.now);
            if let Some(log) = truth.logs.get_mut(&job.task) {
                (log.end, log.written, log.by) = (LogEnd::Ended(evidence), written, job.run);
            }
            drop(truth);
            act(board, now, &d, failed(&d, "timed_out", "timed_out", error, FAILURE_LIMIT));
            leave(sim, job, false);
        }
        Plan::Ask | Plan::AskAndStay => {
            if act(board, now, &d, asked(&d)) {
                sim.truth.borrow_mut().wants.asked.insert(job.task.clone());
            }
            if job.plan == Plan::Ask {
                return leave(sim, job, false);
            }
            // It is blocked and its process lives on for a while (hermes-agent #111059).
            let mut truth = sim.truth.borrow_mut();
            let until = truth.second + 1_800;
            if let Some(j) = truth.jobs.iter_mut().find(|j| is_same(j, job)) {
                (j.plan, j.ends) = (Plan::Die, until);
            }
        }
    }
}

/// The worker's process ends.
fn leave(sim: &Sim, job: &Job, leaving: bool) {
    let mut truth = sim.truth.borrow_mut();
    truth.jobs.retain(|j| !is_same(j, job));
    truth.ended(job);
    truth.tell(|| format!("{} run {} ends: {:?}", job.task, job.run, job.plan));
    let Some(pid) = job.pid else { return };
    if truth.machine.who(pid) != Some(&Who::Worker(job.task.clone(), job.run)) {
        return;
    }
    let mut chance = truth.chance.clone();
    truth.machine.end(pid, &mut chance);
    truth.chance = chance;
    if leaving {
        truth.machine.start(Who::Child(job.task.clone(), job.run), false);
    }
}

/// The line with which a provider refuses. What it says about when it will answer again may be wrong.
fn evidence(truth: &mut Truth, profile: &str, cause: Cause) -> Evidence {
    let ends =
        truth.provider_of(profile).and_then(|p| p.refuses).map_or(600, |(_, ends)| ends - truth.second);
    let host = truth.provider_of(profile).map(super::truth::Provider::host);
    let (now, lie) = (truth.now, truth.chance.below(10));
    let resets = match lie {
        0..=3 => None,
        4..=6 => Some(now.plus(ends.max(1))),
        7 | 8 => Some(now.plus(-3_600)),
        _ => Some(now.plus(40 * 3_600)),
    };
    let pressure = cause.is_provider_pressure();
    Evidence {
        http: if pressure { Some(429) } else { None },
        endpoint_host: host.filter(|_| !truth.chance.percent(20)),
        at: Some(now),
        resets: resets.filter(|_| pressure),
        words: "API call failed".into(),
        ..Evidence::new(cause, 128)
    }
}

/// What an orchestrator writes into its card: mostly a decision, sometimes nonsense.
fn decision(truth: &mut Truth, card: &Detail) -> Option<Value> {
    let (source, _) = card::read_title(&card.task.title)?;
    let to = truth.chance.pick(&WORKERS).copied().unwrap_or("luna");
    if truth.calm || truth.stops.is_some() {
        return Some(json!({"task": source, "action": "unblock", "reason": "all is well"}));
    }
    match truth.chance.below(12) {
        0..=3 => {
            Some(json!({"task": source, "action": "reassign", "assignee": to, "reason": "try this one"}))
        }
        4..=6 => Some(json!({"task": source, "action": "unblock"})),
        7 => Some(json!({"task": source, "action": "human", "reason": "money"})),
        8 => Some(json!({"task": source, "action": "split", "children": [
            {"title": "First half", "body": "one"}, {"title": "Second half", "body": "two"}]})),
        9 => Some(json!("{broken")),
        10 => Some(json!({"task": "t_ffffffff", "action": "unblock"})),
        _ => None,
    }
}

/// How a log is seen at a moment: nothing of it was written for an attempt that began after its last line.
pub(super) fn reading(truth: &Truth, task: &str, since: Time) -> shared::logs::Reading {
    use shared::logs::{Reading, Signal, SignalKind};
    let Some(log) = truth.logs.get(task) else { return Reading::of(LogEnd::Absent, None) };
    if let Some(why) = truth.trials.veiled.get(task) {
        return Reading::of(LogEnd::Unreadable((*why).into()), None);
    }
    if log.unreadable && !truth.calm {
        return Reading::of(LogEnd::Unreadable("permission denied".into()), None);
    }
    if log.written < since {
        return Reading::of(LogEnd::NoEvidence, Some(log.written));
    }
    let kind = SignalKind::Retry;
    let signals = log.refusals.iter().rev().take(8).rev();
    let signals = signals.map(|e| Signal { kind, evidence: e.clone() }).collect();
    let earlier = log.earlier.clone();
    Reading { signals, earlier, ..Reading::of(log.end.clone(), Some(log.written)) }
}
