//! The worker of a task: whether it lives, how its attempt fares, and what the attempt used.

use serde_json::Value;

use crate::attempts::session;
use crate::{Printed, UseAsk, World};
use base::time::Time;
use board::several_hosts::log_is_on;
use board::{Detail, Event, EventKind, Run, Status, claim_host, claimer_pid};
use host::{Ask, Birth, Life, Look, Target};
use logs::usage::Usage;
use logs::vitals::{Vitals, Worker};

/// The worker of a running task.
pub struct AtWork {
    /// Whether it lives.
    pub look: Look,
    /// It, where it lives and may be stopped.
    pub target: Option<Target>,
    /// How its attempt fares.
    pub vitals: Option<Vitals>,
}

/// Looks at the worker of a task; `None`: the task is not running.
pub fn worker(world: &mut World<'_>, detail: &Detail, now: Time) -> Option<AtWork> {
    workers(world, &[detail], now).pop()?
}

/// The same for several tasks, in their order, by one look at all processes.
pub fn workers(world: &mut World<'_>, details: &[&Detail], now: Time) -> Vec<Option<AtWork>> {
    let running = |d: &&Detail| ask(d).filter(|_| d.task.status == Status::Running);
    let asks: Vec<Option<Ask>> = details.iter().map(running).collect();
    let mut looks = world.host.look(&asks.iter().flatten().cloned().collect::<Vec<_>>()).into_iter();
    let one = |(detail, ask): (&&Detail, Option<Ask>)| {
        let ask = ask?;
        let look = looks.next()?;
        let (target, vitals) = match look.life {
            Life::Alive => fares(world, detail, Some(&ask), &look, now),
            Life::Gone | Life::Unknown => (None, None),
        };
        Some(AtWork { look, target, vitals })
    };
    details.iter().zip(asks).map(one).collect()
}

/// How the present attempt fares, and its worker where that lives and may be stopped.
pub fn fares(
    world: &mut World<'_>,
    detail: &Detail,
    ask: Option<&Ask>,
    look: &Look,
    now: Time,
) -> (Option<Target>, Option<Vitals>) {
    let t = &detail.task;
    let run = detail.current_run().or(detail.newest_run());
    let living = look.worker_pid.filter(|_| look.life == Life::Alive);
    let target = living.and_then(|pid| world.host.target(&t.id, t.current_run, pid));
    let born = ask.and_then(|a| a.birth.as_ref()).map(|b| b.ticks);
    let ticks = target.as_ref().map(|t| t.start_ticks).or(born);
    // What a dead worker's pid points to is its own only where its start is known.
    let pid = living.or(t.worker_pid.filter(|_| ticks.is_some()));
    let of_hermes = ask.is_some_and(|a| a.hermes_spawned);
    let worker = pid.map(|pid| Worker { pid, ticks, of_hermes });
    let ask = attempt(world, detail, run, now);
    (target, (world.vitals)(&ask, worker, world.cache))
}

/// How the newest attempt of a task fared that does not run any more, or that is a session's.
pub fn fared(world: &mut World<'_>, detail: &Detail, now: Time) -> Option<Vitals> {
    let run = detail.newest_run().filter(|_| world.abroad(detail).is_none())?;
    let ask = attempt(world, detail, Some(run), now);
    if run.ended_at.is_none() && ask.session.is_none() {
        return None;
    }
    (world.vitals)(&ask, None, world.cache)
}

/// What a running attempt used so far.
pub fn used(world: &mut World<'_>, detail: &Detail, run: &Run, now: Time) -> Usage {
    if let Some(host) = world.abroad(detail) {
        return Usage::unknown(log_is_on(&host));
    }
    let ask = attempt(world, detail, Some(run), now);
    (world.usage)(&ask, world.cache)
}

/// The question about one attempt.
pub fn attempt<'a>(world: &World<'_>, detail: &'a Detail, run: Option<&'a Run>, now: Time) -> UseAsk<'a> {
    let t = &detail.task;
    let from = run.map(|r| r.started_at).or(t.started_at).unwrap_or(t.created_at);
    let began = detail.runs.iter().map(|r| r.started_at).min().unwrap_or(from);
    UseAsk {
        own_board: world.board.is_own(),
        task: &t.id,
        profile: run.and_then(|r| r.profile.as_deref()).or(t.assignee.as_deref()),
        file: detail.newest_claim().and_then(Event::trail).and_then(|t| t.get("log")?.as_str()),
        printed: Printed::OfBoard,
        session: run.and_then(|r| session::here(world, detail, r.id)),
        workspace: detail.place.path.as_deref(),
        began,
        from,
        to: run.and_then(|r| r.ended_at),
        next: None,
        now,
    }
}

/// What to ask about the worker of a task.
pub fn ask(detail: &Detail) -> Option<Ask> {
    let t = &detail.task;
    let in_run = |e: &&Event| e.run.is_some() && e.run == t.current_run;
    let claimed = detail.newest_claim();
    match t.status {
        Status::Running => {
            let run = detail.current_run();
            let spawned = detail
                .events
                .iter()
                .rev()
                .filter(in_run)
                .find(|e| e.kind == EventKind::Spawned && e.by().is_none());
            // The pid is written right after the worker is started, so this is never before its start.
            let since =
                spawned.map(|e| e.at).or(run.map(|r| r.started_at)).or(t.started_at).unwrap_or(t.created_at);
            let workers = detail.workers();
            // A row that lost its claim lost the pid with it. The history of the run still says which one it was.
            let of_run =
                workers.iter().rev().find(|(run, _)| Some(*run) == t.current_run).map(|(_, pid)| *pid);
            Some(Ask {
                task: t.id.clone(),
                run: t.current_run,
                pid: t.worker_pid.or(of_run),
                claim_host: t.claim_host().map(str::to_owned),
                claimer_pid: t.claimer_pid(),
                since,
                hermes_spawned: spawned.is_some(),
                birth: birth(t.worker_started_at.as_deref(), claimed),
                workers,
                recorded: detail.recorded().into_iter().filter(|r| r.run != t.current_run).collect(),
                namespace: namespace(claimed),
            })
        }
        Status::Scheduled if t.claim_lock.is_none() => None,
        Status::Blocked | Status::Ready | Status::Todo | Status::Scheduled => {
            // A leaked claim, or the newest claimer of a crash loop.
            let lock = t.claim_lock.as_deref().or(detail.newest_lock())?;
            Some(Ask {
                task: t.id.clone(),
                run: t.current_run,
                pid: t.worker_pid,
                claim_host: Some(claim_host(lock).to_owned()),
                claimer_pid: claimer_pid(lock),
                since: claimed.map_or(t.created_at, |e| e.at),
                hermes_spawned: false,
                birth: None,
                workers: detail.workers(),
                recorded: Vec::new(),
                namespace: namespace(claimed),
            })
        }
        _ => None,
    }
}

/// Where else a task is worked on: `board lend` says so in its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lent<'a> {
    /// The file of the other board.
    pub board: &'a str,
    /// The task there.
    pub task: &'a str,
}

/// Where a running task was lent to, as long as the claim of the loan is on it.
pub fn lent_to(detail: &Detail) -> Option<Lent<'_>> {
    let claim = detail.newest_claim()?;
    let is_its = claim.payload.get("lock")?.as_str() == detail.task.claim_lock.as_deref();
    let told = claim.trail()?.get("lent_to").filter(|_| is_its)?;
    Some(Lent { board: told.get("board")?.as_str()?, task: told.get("task")?.as_str()? })
}

/// What to ask about the worker of a lent task: it knows the other board's task alone, whose runs have other numbers.
pub fn ask_of_loan(lent: Lent<'_>, asked: &Ask) -> Ask {
    Ask {
        task: lent.task.to_owned(),
        run: None,
        pid: None,
        claimer_pid: None,
        hermes_spawned: false,
        birth: None,
        workers: Vec::new(),
        recorded: Vec::new(),
        namespace: None,
        ..asked.clone()
    }
}

/// What was recorded of the worker's start: by the newest Hermes in the row, by `board claim` in its event.
fn birth(row: Option<&str>, claimed: Option<&Event>) -> Option<Birth> {
    row.and_then(Birth::parse_hermes)
        .or_else(|| serde_json::from_value(recorded(claimed, "birth")?.clone()).ok())
}

/// The pid namespace that `board claim` recorded.
fn namespace(claimed: Option<&Event>) -> Option<String> {
    recorded(claimed, "namespace")?.as_str().map(str::to_owned)
}

fn recorded<'a>(claimed: Option<&'a Event>, key: &str) -> Option<&'a Value> {
    claimed.and_then(Event::trail).and_then(|t| t.get(key))
}
