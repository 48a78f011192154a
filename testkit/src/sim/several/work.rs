//! Workers and their harnesses, as `board run` has them: claim, heartbeat, fence, and the end of a command.

use serde_json::json;
use shared::base::cause::Cause;
use shared::base::time::Time;
use shared::board::hermes::{self, FAILURE_LIMIT};
use shared::board::{Attendance, Board, Change, Detail, Duty, EventKind, Outcome, Status, Step};
use shared::card;
use shared::host::{Birth, Boot};
use shared::logs::{Evidence, LogEnd};
use shared::policy::Witness;

use super::super::hands::{self, look};
use super::super::machine::{HERTZ, Who};
use super::passes::Here;
use super::{Actor, HOSTS, Night, SLOTS, TICK, TTL, Truth, Without, name, trail};

/// How long before its end a harness stops its command, in seconds.
const MARGIN: i64 = 30;
/// The time between two heartbeats, and after one that did not reach the board.
const BEAT: i64 = 60;
const AGAIN: i64 = 5;
/// How long a harness tries to write how its command ended, in seconds.
const BUSY: i64 = 600;

/// How a worker goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// It says that its task is done (`board complete`), and ends a moment later.
    Complete,
    /// It asks a person, and ends a moment later.
    Ask,
    /// It said its last word.
    Said,
    /// Its command ends with 0, or not.
    Done,
    Failed,
    /// It is killed.
    Die,
    /// Its provider refuses it: that is in its log.
    Refused,
}

/// A worker, with its harness where that lives.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    pub(super) no: u64,
    pub(super) task: String,
    run: i64,
    pub(super) host: usize,
    pub(super) slot: usize,
    lock: String,
    pid: i64,
    pub(super) has_harness: bool,
    /// Its command runs.
    pub(super) lives: bool,
    /// When the last renewal was sent that the board confirmed.
    renewed: i64,
    beats: i64,
    /// Since when its run is over, as its harness found.
    over: Option<i64>,
    pub(super) plan: Plan,
    pub(super) ends: i64,
    /// When its command ended.
    ended: i64,
    pub(super) began: i64,
    /// Its claim ended by its own word, or by the operator's: another attempt may begin while it comes to its end.
    pub(super) is_loose: bool,
}

impl Worker {
    pub(super) fn holds(&self, t: &shared::board::Task) -> bool {
        t.status == Status::Running
            && t.current_run == Some(self.run)
            && t.claim_lock.as_ref() == Some(&self.lock)
    }

    /// What its commands ask before they write.
    fn may(&self, night: &Night, t: &shared::board::Task) -> bool {
        let by_run = t.status == Status::Running && t.current_run == Some(self.run);
        self.holds(t) || (night.is(Without::Claim) && by_run)
    }
}

/// A worker and its process are gone.
pub(super) fn forget(truth: &mut Truth, no: u64) {
    if let Some(at) = truth.workers.iter().position(|w| w.no == no) {
        let w = truth.workers.remove(at);
        truth.hosts[w.host].machine.forget(w.pid);
    }
}

fn on<T>(night: &Night, no: u64, f: impl FnOnce(&mut Worker) -> T) -> Option<T> {
    night.truth.borrow_mut().workers.iter_mut().find(|w| w.no == no).map(f)
}

/// Everybody on a host does what is due.
pub(super) fn work(night: &Night, host: usize) {
    let (all, first) = {
        let mut truth = night.truth.borrow_mut();
        if !truth.hosts[host].runs() {
            return;
        }
        let all: Vec<u64> = truth.workers.iter().filter(|w| w.host == host).map(|w| w.no).collect();
        // Who is faster after the host awoke is chance.
        let first = !all.is_empty() && truth.chance.percent(10);
        (all, first)
    };
    for no in all {
        if first {
            goes_on(night, no);
        }
        harness(night, no);
        goes_on(night, no);
    }
    for slot in 0..SLOTS.len() {
        let is_due = {
            let mut truth = night.truth.borrow_mut();
            let is_busy = truth.workers.iter().any(|w| (w.host, w.slot, w.has_harness) == (host, slot, true));
            let now = truth.now;
            let is_due = !is_busy && truth.hosts[host].looks[slot] <= now && truth.hosts[host].reaches();
            if is_due {
                truth.hosts[host].looks[slot] = now + 30;
            }
            is_due
        };
        if is_due {
            claim(night, host, slot);
        }
    }
}

/// Says on the board that a host is there; when that was, by the board's clock. `None`: it cannot.
pub(super) fn attend(night: &Night, host: usize, program: &str) -> Option<Time> {
    let (facts, up) = {
        let truth = night.truth.borrow();
        if !truth.hosts[host].reaches() {
            return None;
        }
        let machine = &truth.hosts[host].machine;
        (machine.facts(truth.clock(host)), machine.up)
    };
    let boot = &facts.boot_id;
    let me = Attendance { host: HOSTS[host], boot, uptime: up, age: up, program, duty: Duty::Works };
    let attended = night.board.clone().attend(&me).ok()??;
    let mut truth = night.truth.borrow_mut();
    truth.hosts[host].heard = truth.now;
    Some(attended.now)
}

/// What the harness of a worker does: its fence first, then how its command ended, then a heartbeat.
fn harness(night: &Night, no: u64) {
    let Some(w) = on(night, no, |w| w.clone()).filter(|w| w.has_harness) else { return };
    let now = night.truth.borrow().now;
    if !w.lives {
        if now >= w.beats {
            settle(night, &w);
        }
        return;
    }
    if now - w.renewed >= TTL - MARGIN && !night.is(Without::Fence) {
        let mut truth = night.truth.borrow_mut();
        truth.sum.fenced += 1;
        truth.tell(|| {
            format!("{}: the harness of {} stops its command: it lost the board", name(w.host), w.task)
        });
        return forget(&mut truth, no);
    }
    if now < w.beats {
        return;
    }
    let seen =
        attend(night, w.host, "board").and_then(|at| Some((at, look(&mut night.board.clone(), &w.task)?)));
    let Some((at, seen)) = seen else {
        on(night, no, |w| (w.over, w.beats) = (None, now + AGAIN));
        return;
    };
    if !w.may(night, &seen.task) {
        // Where another server took over, another attempt may have the same number.
        let is_its = seen.newest_lock() == Some(&w.lock);
        let is_done =
            is_its && seen.runs.iter().any(|r| r.id == w.run && r.outcome.as_deref() == Some("completed"));
        let most = if is_done { TTL } else { BEAT };
        let is_taken = seen.task.status == Status::Running && !night.is(Without::Taken);
        if is_taken || w.over.is_some_and(|since| now - since >= most) {
            let mut truth = night.truth.borrow_mut();
            truth.sum.robbed += u64::from(is_taken);
            truth.tell(|| {
                format!("{}: the harness of {} stops its command: its run is over", name(w.host), w.task)
            });
            return forget(&mut truth, no);
        }
        on(night, no, |w| (w.over, w.renewed, w.beats) = (w.over.or(Some(now)), now, now + BEAT));
        return;
    }
    let step = own(&seen, hermes::heartbeat(&seen, at.plus(TTL), None));
    let is_there =
        matches!(night.say(Actor::Worker(no), Some(w.host), at, step), Ok(Outcome::Applied { .. }));
    on(night, no, |w| {
        w.over = None;
        w.beats = now + if is_there { BEAT } else { AGAIN };
        w.renewed = if is_there { now } else { w.renewed };
    });
}

fn own(seen: &Detail, changes: Vec<Change>) -> Step {
    Step::on(seen, "hand".into(), "hand".into(), changes)
}

/// What a worker itself does.
fn goes_on(night: &Night, no: u64) {
    let Some(w) = on(night, no, |w| w.clone()).filter(|w| w.lives) else { return };
    let (now, is_calm) = (night.truth.borrow().now, night.truth.borrow().is_calm);
    if now < w.ends {
        return;
    }
    match w.plan {
        Plan::Complete | Plan::Ask => word(night, &w),
        Plan::Said | Plan::Done | Plan::Failed | Plan::Die | Plan::Refused => {
            let mut truth = night.truth.borrow_mut();
            if w.plan == Plan::Refused && !is_calm {
                truth.sum.limited += 1;
                let end = LogEnd::Ended(evidence(&mut truth, w.slot));
                truth.logs.insert((w.host, w.task.clone()), (end, Time(now)));
            }
            truth.sum.deaths += u64::from(w.plan == Plan::Die);
            truth.tell(|| format!("{}: the command of {} ends: {:?}", name(w.host), w.task, w.plan));
            if !w.has_harness {
                return forget(&mut truth, no);
            }
            truth.hosts[w.host].machine.forget(w.pid);
            drop(truth);
            on(night, no, |w| (w.lives, w.ended, w.beats) = (false, now, now));
        }
    }
}

/// The line with which a provider refuses, with or without when it will answer again.
fn evidence(truth: &mut Truth, slot: usize) -> Evidence {
    let (now, until) = (Time(truth.now), Time(truth.limits[slot]));
    let resets = truth.chance.percent(40).then_some(until).filter(|at| *at > now);
    Evidence {
        http: Some(429),
        endpoint_host: Some(format!("api.{}.example", provider(slot))),
        at: Some(now),
        resets,
        words: "API call failed".into(),
        ..Evidence::new(Cause::RateLimit, 128)
    }
}

pub(super) fn provider(slot: usize) -> &'static str {
    ["moon", "star", "sun"][slot]
}

/// `board complete` or `board block` by the worker itself.
fn word(night: &Night, w: &Worker) {
    let now = night.truth.borrow().now;
    let is_there = night.truth.borrow().hosts[w.host].reaches();
    let seen = look(&mut night.board.clone(), &w.task).filter(|_| is_there);
    let Some(seen) = seen else {
        // It tries again, as agents do.
        on(night, w.no, |w| w.ends = now + 20);
        return;
    };
    let waits = seen.parents.iter().any(|p| !p.status.frees_children());
    if !w.may(night, &seen.task) || waits {
        let mut truth = night.truth.borrow_mut();
        truth.sum.refused += u64::from(!waits);
        truth.tell(|| format!("{}: the word of the worker of {} is refused", name(w.host), w.task));
        drop(truth);
        on(night, w.no, |w| (w.plan, w.ends) = (Plan::Said, now + 30));
        return;
    }
    night.meddle(w.host, 1, 2);
    let trail = trail("board", "complete");
    let changes = match w.plan {
        Plan::Ask => hermes::blocked(&seen, "Which of the two?", Some("needs_input"), &trail),
        _ if seen.task.is_card() => hands::completed(&seen, decision(night, &seen)),
        _ => hermes::completed(&seen, None, Some("done"), &trail),
    };
    let said = night.say(Actor::Worker(w.no), Some(w.host), Time(now), own(&seen, changes));
    let mut truth = night.truth.borrow_mut();
    let (now, rest) = (truth.now, truth.chance.between(0, 120));
    let is_said = matches!(said, Ok(Outcome::Applied { .. }));
    if is_said && w.plan == Plan::Complete {
        ended(&mut truth, &w.task);
    }
    truth.tell(|| format!("{}: the worker of {} says {:?}: {}", name(w.host), w.task, w.plan, told(&said)));
    drop(truth);
    on(night, w.no, |w| match is_said {
        true => (w.plan, w.ends, w.is_loose) = (Plan::Said, now + rest, true),
        // It may have taken place. Its next try says so.
        false => (w.ends, w.is_loose) = (now + 20, true),
    });
}

fn told(said: &shared::base::error::Result<Outcome>) -> String {
    match said {
        Ok(Outcome::Moved { what }) => format!("moved: {what}"),
        Ok(other) => other.word().to_owned(),
        Err(_) => "no answer".to_owned(),
    }
}

fn ended(truth: &mut Truth, task: &str) {
    truth.sum.ends += 1;
    truth.ended.insert(task.to_owned());
}

/// What an orchestrator writes into its card.
fn decision(night: &Night, seen: &Detail) -> Option<serde_json::Value> {
    let (source, _) = card::read_title(&seen.task.title)?;
    let mut truth = night.truth.borrow_mut();
    let to = SLOTS[truth.chance.below(2) as usize];
    let route = match truth.chance.below(9) {
        _ if truth.is_calm => json!({"task": source, "action": "unblock", "reason": "all is well"}),
        0..=2 => json!({"task": source, "action": "reassign", "assignee": to, "reason": "try this one"}),
        3 | 4 => json!({"task": source, "action": "unblock"}),
        5 => json!({"task": source, "action": "human", "reason": "money"}),
        8 => json!({"task": source, "action": "split", "children": [
            {"title": "First half", "body": "one"}, {"title": "Second half", "body": "two"}]}),
        6 => json!({"task": "t_ffffffff", "action": "unblock"}),
        _ => return None,
    };
    Some(json!({"route": route}))
}

/// A harness writes how its command ended.
fn settle(night: &Night, w: &Worker) {
    let now = night.truth.borrow().now;
    let gives_up = now - w.ended >= BUSY;
    let is_there = night.truth.borrow().hosts[w.host].reaches();
    let seen = look(&mut night.board.clone(), &w.task).filter(|_| is_there);
    let later = || {
        if gives_up {
            forget(&mut night.truth.borrow_mut(), w.no);
        } else {
            on(night, w.no, |w| w.beats = now + AGAIN);
        }
    };
    let Some(seen) = seen else { return later() };
    if !w.may(night, &seen.task) {
        return forget(&mut night.truth.borrow_mut(), w.no);
    }
    night.meddle(w.host, 1, 2);
    let waits = seen.parents.iter().any(|p| !p.status.frees_children());
    let trail = trail("board", "run");
    let failed = |how: &str| hermes::failed(&seen, how, Some(w.pid), FAILURE_LIMIT, &trail);
    let is_done = matches!(w.plan, Plan::Done | Plan::Said | Plan::Complete | Plan::Ask);
    let changes = match w.plan {
        _ if is_done && waits => hermes::released_to_wait(&seen, "it waits", &trail),
        _ if is_done => hermes::completed(&seen, None, Some("worker exited with code 0 (board run)"), &trail),
        Plan::Die => failed("worker killed by signal 9 (board run)"),
        Plan::Refused => vec![hermes::noted_in(Some(w.run), EventKind::CommandEnded, json!({}), &trail)],
        _ => failed("worker exited with code 1 (board run)"),
    };
    let said = night.say(Actor::Worker(w.no), Some(w.host), Time(now), own(&seen, changes));
    night.truth.borrow_mut().tell(|| {
        format!(
            "{}: the harness of {} says that it ended ({:?}): {}",
            name(w.host),
            w.task,
            w.plan,
            told(&said)
        )
    });
    match said {
        Ok(Outcome::Applied { .. }) => {
            let mut truth = night.truth.borrow_mut();
            if is_done && !waits {
                ended(&mut truth, &w.task);
            }
            forget(&mut truth, w.no);
        }
        _ => later(),
    }
}

/// A harness looks for work, and takes the first that is free.
fn claim(night: &Night, host: usize, slot: usize) {
    let profile = SLOTS[slot];
    let opened = night.truth.borrow().now;
    let Some(now) = attend(night, host, "board") else { return };
    let mut board = night.board.clone();
    let free = board.glance(&[Status::Ready, Status::Todo]).unwrap_or_default();
    for task in free.into_iter().filter(|t| t.assignee.as_deref() == Some(profile)) {
        let Some(seen) = look(&mut board, &task.id).filter(|d| d.may_be_claimed(true).is_ok()) else {
            continue;
        };
        if !night.is(Without::Living) && is_at_work(night, host, &seen) {
            continue;
        }
        return take(night, (host, slot), &seen, (opened, now));
    }
}

/// Whether a process of a host works on a task.
fn is_at_work(night: &Night, host: usize, seen: &Detail) -> bool {
    let here = Here { night, host };
    here.at_work(&[seen.freed()]).into_iter().flatten().any(|p| p.is_worker)
}

fn take(night: &Night, (host, slot): (usize, usize), seen: &Detail, (opened, at): (i64, Time)) {
    let id = seen.task.id.clone();
    let (no, pid, lock, trail) = {
        let mut truth = night.truth.borrow_mut();
        truth.last += 1;
        let no = truth.last;
        let machine = &mut truth.hosts[host].machine;
        let pid = machine.start(Who::Stranger, false);
        let facts = machine.facts(at);
        let ticks = u64::try_from(machine.up).unwrap_or(0) * HERTZ + 7;
        let mut trail = trail("board", "claim");
        let birth = Birth { boot: Boot::Id(facts.boot_id), ticks };
        trail.more.insert("birth".into(), json!(birth));
        trail.more.insert("pid".into(), json!(pid));
        trail.more.insert("namespace".into(), json!(facts.pid_namespace));
        (no, pid, format!("{}:{pid}:{no}", HOSTS[host]), trail)
    };
    let mut changes = Vec::new();
    if seen.task.status == Status::Todo {
        changes.extend(hermes::promoted(seen, &trail));
    }
    changes.extend(hermes::claimed(seen, &lock, at.plus(TTL), Some(pid), Some(SLOTS[slot].into()), &trail));
    night.meddle(host, 1, 2);
    let said = night.say(Actor::Claimer(host), Some(host), at, own(seen, changes));
    let mut truth = night.truth.borrow_mut();
    truth.tell(|| format!("{} claims {id}: {}", name(host), told(&said)));
    let Ok(Outcome::Applied { run: Some(run) }) = said else {
        return truth.hosts[host].machine.forget(pid);
    };
    let now = truth.now;
    if now - opened >= TTL - MARGIN || !truth.hosts[host].runs() {
        // What is claimed too late never begins.
        return truth.hosts[host].machine.forget(pid);
    }
    truth.sum.claims += 1;
    truth.hosts[host].machine.is_now(pid, Who::Worker(id.clone(), run));
    truth.logs.insert((host, id.clone()), (LogEnd::NoEvidence, Time(now)));
    let is_card = seen.task.is_card();
    let plan = match truth.chance.below(20) {
        _ if truth.limits[slot] > now => Plan::Refused,
        _ if is_card => Plan::Complete,
        _ if truth.is_calm => Plan::Done,
        0..=7 => Plan::Complete,
        8..=13 => Plan::Done,
        14 | 15 => Plan::Failed,
        16 => Plan::Ask,
        _ => Plan::Die,
    };
    let ends = now
        + match plan {
            Plan::Refused => truth.chance.between(5, 120),
            _ if is_card || truth.is_calm => truth.chance.between(20, 400),
            Plan::Die => truth.chance.between(60, 1_500),
            _ => truth.chance.between(60, 4_000),
        };
    truth.workers.push(Worker {
        no,
        task: id,
        run,
        host,
        slot,
        lock,
        pid,
        has_harness: true,
        lives: true,
        renewed: opened,
        beats: now + BEAT - TICK,
        over: None,
        plan,
        ends,
        ended: 0,
        began: now,
        is_loose: false,
    });
}
