//! What happens to a board at night besides work: providers that refuse, machines that restart, clocks that are set, rows
//! that lose half of what they say, and people who help.

use serde_json::{Value, json};
use shared::base::cause::Cause;
use shared::board::{Board, Change, EventKind, Status, Task};

use super::Sim;
use super::hands::{act, claim, completed, event, look, unblocked};
use super::machine::Who;
use super::trials::{self, End};
use super::truth::{Job, Plan, WORKERS};
use super::wants;

/// Lets one thing happen that nobody asked for.
pub(super) fn strike(sim: &Sim) {
    let which = sim.truth.borrow_mut().chance.below(26);
    match which {
        0..=4 => outage(sim),
        5 => recover(sim),
        6 => reboot(sim),
        7 => set_clock(sim),
        8 => rename(sim),
        9 => stop_dispatcher(sim),
        10 => start_dispatcher(sim),
        11 => forget(sim),
        12 => sim.truth.borrow_mut().machine.is_blind ^= true,
        13..=19 => break_row(sim),
        _ => person(sim),
    }
}

/// From now on everything goes well: what the operator would wish to find in the morning, and no more.
pub(super) fn calm(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    truth.calm = true;
    truth.machine.is_blind = false;
    for p in &mut truth.providers {
        p.refuses = None;
    }
    for key in truth.trials.keys.values_mut() {
        key.is_refused = false;
    }
    // What hangs is ended, what is away comes to its end.
    let second = truth.second;
    for j in &mut truth.jobs {
        j.ends = j.ends.min(second + 600);
        if !matches!(j.plan, Plan::Hang) {
            j.plan = if matches!(j.plan, Plan::Decide) { Plan::Decide } else { Plan::Finish };
        }
    }
    // A stranger on a worker's number is told from it only by when it started; behind a clock that was set that says
    // nothing, and the task waits until the stranger ends.
    for pid in truth.machine.pids(|w| matches!(w, Who::Child(..) | Who::Stranger)) {
        truth.machine.forget(pid);
    }
    wants::calm(&mut truth);
    truth.tell(|| "the world is well".into());
    drop(truth);
    // What only the operator can know is told by now.
    *sim.names.borrow_mut() = vec!["harbour".into(), "quay".into()];
    start_dispatcher(sim);
}

fn outage(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    let kinds = [Cause::RateLimit, Cause::Quota, Cause::Overloaded, Cause::ServerError, Cause::Credential];
    let kind = truth.chance.pick(&kinds).copied().unwrap_or(Cause::RateLimit);
    let until = truth.second + truth.chance.between(120, 14_400);
    let which = truth.chance.below(3) as usize;
    if let Some(p) = truth.providers.get_mut(which) {
        p.refuses = Some((kind, until));
        let name = p.name;
        truth.tell(|| format!("{name} refuses: {kind}"));
    }
}

fn recover(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    let which = truth.chance.below(3) as usize;
    if let Some(p) = truth.providers.get_mut(which) {
        p.refuses = None;
    }
}

fn reboot(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    let local = truth.jobs.iter().filter(|j| j.pid.is_some()).count() as u64;
    truth.tally.deaths += local;
    truth.tally.upheavals += 1;
    let dead: Vec<Job> = truth.jobs.iter().filter(|j| j.pid.is_some()).cloned().collect();
    for job in &dead {
        trials::ended(&mut truth, &job.task, job.run, End::Died);
        trials::forget(&mut truth, job);
    }
    truth.jobs.retain(|j| j.pid.is_none());
    let mut chance = truth.chance.clone();
    truth.machine.reboot(&mut chance);
    truth.chance = chance;
    truth.dispatcher = None;
    truth.remembers = false;
    truth.tell(|| "the machine restarts".into());
}

/// The state file is lost, and with it when the clock was set.
fn forget(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    truth.memory = shared::logs::cache::Cache::in_memory();
    truth.forgot_clock |= truth.clock_jumped;
    truth.remembers = false;
    truth.tell(|| "what our programs remember is lost".into());
}

fn set_clock(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    let by = truth.chance.between(-1_800, 7_200);
    let before = truth.now;
    truth.wants.sees_clock(before);
    truth.now = truth.now.plus(by);
    truth.clock_set = truth.second;
    truth.clock_jumped = true;
    truth.forgot_clock |= !truth.remembers;
    truth.tally.upheavals += 1;
    truth.tell(|| format!("the clock is set by {by} s"));
}

fn rename(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    truth.machine.name = if truth.machine.name == "harbour" { "quay" } else { "harbour" }.into();
    truth.tally.upheavals += 1;
    let name = truth.machine.name.clone();
    truth.tell(|| format!("the machine is called {name}"));
}

pub(super) fn stop_dispatcher(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    if let Some(pid) = truth.dispatcher.take() {
        truth.machine.forget(pid);
        truth.tell(|| "the dispatcher stops".into());
    }
}

pub(super) fn start_dispatcher(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    if truth.dispatcher.is_none() {
        let pid = truth.machine.start(Who::Dispatcher, false);
        truth.dispatcher = Some(pid);
        (truth.wants.halted, truth.wants.idle) = (truth.second, None);
        truth.tell(|| format!("a dispatcher starts, pid {pid}"));
    }
}

/// One open task by chance.
fn some(sim: &Sim, board: &mut dyn Board, of: &[Status]) -> Option<Task> {
    let all = board.glance(of).ok()?;
    sim.truth.borrow_mut().chance.pick(&all).cloned()
}

/// A row that a fault, a crash or an old version left in a state that nobody heals.
fn break_row(sim: &Sim) {
    let mut board = sim.open();
    let which = sim.truth.borrow_mut().chance.below(6);
    let of = if which == 1 { Status::Running } else { Status::Ready };
    let Some(t) = some(sim, &mut *board, &[of]) else { return };
    let Some(d) = look(&mut *board, &t.id) else { return };
    // What another machine claimed is for that one to heal.
    if t.claim_host() == Some("lighthouse") {
        return;
    }
    let (now, name) = {
        let truth = sim.truth.borrow();
        (truth.now, truth.machine.name.clone())
    };
    sim.truth.borrow_mut().tell(|| format!("{} is broken, way {which}", t.id));
    let gone = format!("{name}:399999");
    let leak = |pid| Change::TakeClaim { lock: gone.clone(), expires: now.plus(900), pid };
    let changes = match which {
        0 => vec![leak(None)],
        1 => vec![Change::ReleaseClaim],
        2 => vec![Change::SetStatus(Status::Blocked)],
        // A text from a start that failed; one from an attempt with a log of its own is that log's business.
        3 if d.runs.is_empty() => {
            let error = "[Errno 13] Permission denied: '/srv/author/x'";
            vec![Change::SetFailures { count: 1, error: Some(error.into()) }]
        }
        // A claim by hand: no worker is known, and it never comes.
        3 | 4 => {
            wants::ticked(&mut sim.truth.borrow_mut());
            claim(&d, &format!("{name}:399998"), now, None)
        }
        _ => return abroad(sim, &mut *board, &t),
    };
    act(&mut *board, now, &d, changes);
}

/// A task that another machine claims, where its worker may live or die.
fn abroad(sim: &Sim, board: &mut dyn Board, t: &Task) {
    let Some(d) = look(board, &t.id) else { return };
    let now = sim.truth.borrow().now;
    if !act(board, now, &d, claim(&d, "lighthouse:77", now, Some(3_333))) {
        return;
    }
    let Some(run) = look(board, &t.id).and_then(|d| d.task.current_run) else { return };
    let mut truth = sim.truth.borrow_mut();
    wants::ticked(&mut truth);
    let lasts = truth.chance.between(60, 3_000);
    let dies = truth.chance.percent(30);
    let (ends, beats) = (truth.second + lasts, truth.second + 60);
    let plan = if dies { Plan::Die } else { Plan::Finish };
    let (task, profile) = (t.id.clone(), t.assignee.clone().unwrap_or_default());
    wants::begun_abroad(&mut truth, &task, run);
    truth.jobs.push(Job { task, run, pid: None, profile, plan, ends, beats });
}

/// What a person does who is awake for a moment.
fn person(sim: &Sim) {
    let mut board = sim.open();
    let open = [Status::Ready, Status::Blocked, Status::Todo, Status::Scheduled];
    let Some(t) = some(sim, &mut *board, &open) else { return };
    let Some(d) = look(&mut *board, &t.id) else { return };
    let (now, which, to) = {
        let mut truth = sim.truth.borrow_mut();
        let to = truth.chance.pick(&WORKERS).copied().unwrap_or("luna");
        (truth.now, truth.chance.below(12), to)
    };
    let changes = match which {
        0..=2 if matches!(t.status, Status::Blocked | Status::Scheduled) => unblocked(&d),
        3 | 4 => vec![
            Change::Assign(Some(to.into())),
            Change::SetFailures { count: 0, error: None },
            event(EventKind::Assigned, json!({"assignee": to})),
        ],
        5 => vec![
            Change::SetStatus(Status::Archived),
            Change::ReleaseClaim,
            event(EventKind::Archived, Value::Null),
        ],
        6 => completed(&d, None),
        7 => vec![
            Change::SetStatus(Status::Scheduled),
            event(EventKind::Scheduled, json!({"reason": "not tonight"})),
        ],
        8 => vec![
            Change::AddComment { author: "anna".into(), body: "watchbill: no-heal".into() },
            event(EventKind::Commented, json!({"author": "anna", "len": 18})),
        ],
        // A worker can write events as well; no such word may make us bolder.
        9 => vec![event(
            EventKind::Unblocked,
            json!({"by": "heal", "watchbill": {"v": 1, "reset": 99, "cause": "worker_gone"}}),
        )],
        10 => vec![event(
            EventKind::Assigned,
            json!({"by": "route-blocked", "assignee": to, "watchbill": {"v": 1, "sent":
            {"profile": to, "provider": "moon", "move": true}}}),
        )],
        _ => return,
    };
    sim.truth.borrow_mut().tell(|| format!("somebody touches {} ({}), way {which}", t.id, t.status));
    if act(&mut *board, now, &d, changes) {
        wants::touched(&mut sim.truth.borrow_mut(), &t.id, which);
    }
}
