//! Whether a dispatcher works on a board, by what it wrote there of late.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::clock::is_within;
use crate::needs_operator::{self, SILENT, is_nobodys, untaken};
use crate::runtime::{Dispatcher, Runtime, TICKED, gateway};
use crate::{Profiles, World, authorship};
use base::error::Result;
use base::names::is_of_profile;
use base::time::Time;
use board::{Board, Detail, Event, EventKind, Link, Run, Status, Task};
use config::span::seconds;

/// Most events read for that.
pub const MAX_TICKS: u32 = 4_000;

/// A dispatcher that cron starts is seen by what it does alone, and does nothing while all places are taken: for so many seconds it
/// is not missed while something runs.
pub const BUSY: i64 = 3_600;

/// Newest attempts by which the time between two ticks is told.
const MAX_STARTS: u32 = 100;
/// Attempts that begin within so many seconds are of one tick.
const ONE_TICK: i64 = 60;

/// For how many seconds a dispatcher may leave ready work. One that cron starts can be known by nothing but the attempts that it began.
///
/// # Errors
/// The board cannot be read.
pub fn cadence(board: &mut dyn Board, runtime: &Runtime) -> Result<i64> {
    if runtime.is_daemon || runtime.dispatcher != Dispatcher::Absent || board.is_own() {
        return Ok(TICKED);
    }
    let runs = board.recent_runs(MAX_STARTS)?;
    Ok(between_ticks(runs.into_iter().map(|(_, run)| run.started_at).collect()))
}

/// Twice the time between two ticks, by when attempts began. A tick with nothing to start is not seen, so most gaps are too long, and one by
/// hand makes one too short: the shortest quarter tells.
fn between_ticks(mut at: Vec<Time>) -> i64 {
    at.sort_unstable();
    let mut gaps: Vec<i64> =
        at.windows(2).map(|two| two[1].since(two[0])).filter(|gap| *gap > ONE_TICK).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 4).map_or(TICKED, |gap| gap.saturating_mul(2).clamp(TICKED, BUSY))
}

/// For so many seconds a name that claimed tasks on a board is taken for one that claims the next one, too.
const LANE: i64 = 2 * 86_400;
/// Newest attempts in which such names are looked for.
const MAX_LANE_RUNS: u32 = 1_000;

/// Names for which tasks are ready and which are no profiles, but claim their tasks themselves: terminals, which Hermes skips.
///
/// # Errors
/// The board cannot be read.
pub fn lanes(board: &mut dyn Board, rows: &[Task], runtime: &Runtime, now: Time) -> Result<BTreeSet<String>> {
    let is_meant = |t: &&Task| {
        let who = t.assignee.as_deref();
        let is_named = who.is_some() && !runtime.is_unlisted(who);
        t.status == Status::Ready && is_named && is_nobodys(who, &runtime.profiles, false)
    };
    let names: BTreeSet<String> = rows.iter().filter(is_meant).filter_map(|t| t.assignee.clone()).collect();
    if names.is_empty() || board.is_own() {
        return Ok(BTreeSet::new());
    }
    let runs = board.recent_runs(MAX_LANE_RUNS)?;
    let events = board.events(now.plus(-LANE), MAX_TICKS)?;
    Ok(names.into_iter().filter(|name| claims_itself(name, &runs, &events, now)).collect())
}

/// Whether a worker of this name claimed a task lately, and worked on it: it gave a sign of life, or completed it after some time. No
/// dispatcher may have started one of that name: a profile that was removed claims nothing any more.
fn claims_itself(name: &str, runs: &[(String, Run)], events: &[(String, Event)], now: Time) -> bool {
    let is_its = |run: &Run| run.profile.as_deref().is_some_and(|profile| is_of_profile(profile, name));
    let lately = |kind: EventKind, run: &Run| {
        let is_of_run = |e: &Event| e.kind == kind && e.run == Some(run.id) && e.by().is_none();
        events.iter().any(|(_, e)| is_of_run(e) && is_within(e.at, now, LANE))
    };
    let is_alive = |run: &Run| {
        let is_done = run.outcome.as_deref() == Some("completed") && run.has_worked();
        is_done || run.worker_pid.is_some() || run.last_heartbeat_at.is_some()
    };
    let its: Vec<&Run> = runs.iter().map(|(_, run)| run).filter(|run| is_its(run)).collect();
    its.iter().any(|run| is_alive(run) && lately(EventKind::Claimed, run))
        && !its.iter().any(|run| lately(EventKind::Spawned, run))
}

/// How many tasks of these have been ready for one of `known` for longer than `cadence` seconds, so that a dispatcher would have started
/// them, by the newest events of the board. Cards do not count, nor does what no dispatcher starts: tasks without an assignee, and claimed
/// ones.
pub fn waiting(
    rows: &[Task],
    known: &Profiles,
    events: &[(String, Event)],
    now: Time,
    cadence: i64,
) -> usize {
    // Who claimed it made it no readier.
    use EventKind::{Claimed, Spawned};
    let turned = tasks_of(events, |e| {
        is_within(e.at, now, cadence) && authorship::is_turn(e) && !matches!(e.kind, Claimed | Spawned)
    });
    let stands = |t: &&Task| {
        let is_taken = t.assignee.is_none() || t.claim_lock.is_some();
        let is_new = is_within(t.created_at, now, cadence) || turned.contains(t.id.as_str());
        t.status == Status::Ready && !is_taken && !is_new
    };
    let all = rows.iter().filter(|t| !t.is_card()).filter(stands);
    all.filter(|t| !is_nobodys(t.assignee.as_deref(), known, false)).count()
}

/// Seconds after which ready work that a living dispatcher does not start needs a person.
pub const PASSED_OVER: i64 = 7_200;

/// Seconds after which ready work needs a person where nothing was started for that long, whatever runs meanwhile: how many places a
/// dispatcher has is not known, and one long attempt may take the only one.
pub const STALLED: i64 = 12 * 3_600;

/// Whether nothing was started on a board for that long. `started`: when the newest attempt began.
pub fn is_stalled(started: Option<Time>, now: Time) -> bool {
    !started.is_some_and(|at| is_within(at, now, STALLED - 1))
}

/// Ready tasks of a board that [`is_stalled`]. `events` reach back as far as [`STALLED`].
pub fn stalled(rows: &[Task], events: &[(String, Event)], now: Time) -> BTreeSet<String> {
    let turned = tasks_of(events, |e| is_within(e.at, now, STALLED) && authorship::is_turn(e));
    let is_left = |t: &&Task| {
        let is_new = is_within(t.created_at, now, STALLED - 1) || turned.contains(t.id.as_str());
        t.status == Status::Ready && t.assignee.is_some() && t.claim_lock.is_none() && !is_new
    };
    ids(rows, is_left)
}

/// The tasks of such events.
pub fn tasks_of(events: &[(String, Event)], is_such: impl Fn(&Event) -> bool) -> BTreeSet<&str> {
    events.iter().filter(|(_, e)| is_such(e)).map(|(task, _)| task.as_str()).collect()
}

/// The ids of such tasks.
fn ids(rows: &[Task], is_such: impl Fn(&&Task) -> bool) -> BTreeSet<String> {
    rows.iter().filter(is_such).map(|t| t.id.clone()).collect()
}

/// Whether a ready task was claimed. Newer Hermes keeps a place for reviews alone: the start of one tells nothing of ready tasks.
fn is_start(e: &Event) -> bool {
    let is_review =
        || e.payload.get("source_status").and_then(|s| s.as_str()) == Some(Status::Review.as_str());
    e.kind == EventKind::Claimed && !is_review()
}

/// Tasks that a dispatcher's tick would have made ready in that time: in `todo` or blocked, with nothing open among what they wait for, and
/// nothing happened to them or to that. `links` are those of these states. Whether a block is lifted by a dispatcher is not asked here.
pub fn not_promoted(
    rows: &[Task],
    links: &[Link],
    events: &[(String, Event)],
    now: Time,
) -> BTreeSet<String> {
    let is_recent = |e: &Event| is_within(e.at, now, PASSED_OVER);
    let heard = tasks_of(events, is_recent);
    let turned = tasks_of(events, |e| is_recent(e) && authorship::is_turn(e));
    // What is not on the board any more Hermes takes for done.
    let is_open = |l: &&Link| {
        l.status.as_ref().is_some_and(|s| !s.frees_children()) || heard.contains(l.parent.as_str())
    };
    let waiting: BTreeSet<&str> = links.iter().filter(is_open).map(|l| l.child.as_str()).collect();
    let is_left = |t: &&Task| {
        let is_new = is_within(t.created_at, now, PASSED_OVER - 1) || turned.contains(t.id.as_str());
        let stands = matches!(t.status, Status::Todo | Status::Blocked) && t.claim_lock.is_none();
        stands && !is_new && !waiting.contains(t.id.as_str()) && !t.is_card()
    };
    ids(rows, is_left)
}

/// Tasks in `todo` on a board without a dispatcher that wait for no other task, and to which nothing happened in that time. `heal` makes
/// ready what waited for others; here the operator may have meant it so. `links` are those of this state.
pub fn waits_for_nothing(
    rows: &[Task],
    links: &[Link],
    events: &[(String, Event)],
    now: Time,
) -> BTreeSet<String> {
    let mut left = not_promoted(rows, links, events, now);
    let waits: BTreeSet<&str> = links.iter().map(|l| l.child.as_str()).collect();
    let todo: BTreeSet<&str> =
        rows.iter().filter(|t| t.status == Status::Todo).map(|t| t.id.as_str()).collect();
    left.retain(|id| todo.contains(id.as_str()) && !waits.contains(id.as_str()));
    left
}

/// Ready tasks that a dispatcher has passed over for that long: it started work of the same profile that comes behind them, or nothing of
/// their profile, while it started what comes behind them or had nothing to run. `events` reach back as far; `started`: the tasks among
/// them that are not open any more. Work that waits for its turn is not meant.
pub fn passed_over(
    rows: &[Task],
    started: &[Task],
    events: &[(String, Event)],
    now: Time,
) -> BTreeSet<String> {
    let turned = tasks_of(events, |e| is_within(e.at, now, PASSED_OVER) && authorship::is_turn(e));
    let starts = Starts::of(rows, started, events, now, PASSED_OVER);
    let is_left = |t: &&Task| {
        let is_new = is_within(t.created_at, now, PASSED_OVER - 1) || turned.contains(t.id.as_str());
        let stands = t.status == Status::Ready && t.assignee.is_some() && t.claim_lock.is_none();
        stands && !is_new && starts.pass_over(t)
    };
    ids(rows, is_left)
}

/// Whether a running task shows that no dispatcher ticked on its board for [`PASSED_OVER`] seconds: each tick of Hermes extends a claim
/// that is over, or ends it.
fn misses_ticks(t: &Task, now: Time) -> bool {
    t.claim_lock.is_some() && t.claim_expires.is_some_and(|at| now.since(at) >= PASSED_OVER)
}

/// What a dispatcher started within some seconds, and what runs.
struct Starts<'a> {
    started: Vec<&'a Task>,
    runs: Vec<&'a Task>,
}

impl<'a> Starts<'a> {
    fn of(
        rows: &'a [Task],
        started: &'a [Task],
        events: &[(String, Event)],
        now: Time,
        within: i64,
    ) -> Starts<'a> {
        let claimed = tasks_of(events, |e| is_within(e.at, now, within) && is_start(e));
        let all = rows.iter().chain(started);
        let runs: Vec<&Task> = rows.iter().filter(|t| t.status == Status::Running).collect();
        let ticks = !runs.iter().any(|t| misses_ticks(t, now));
        Starts {
            started: all.filter(|t| claimed.contains(t.id.as_str())).collect(),
            // Where no tick came, no place is what anything waits for.
            runs: if ticks { runs } else { Vec::new() },
        }
    }

    /// Whether nothing was started and nothing runs: no work takes a place.
    fn is_none(&self) -> bool {
        self.started.is_empty() && self.runs.is_empty()
    }

    /// Whether a ready task could have been started meanwhile.
    fn pass_over(&self, t: &Task) -> bool {
        let is_behind = |o: &&&Task| o.priority <= t.priority && o.created_at > t.created_at;
        let is_same = |o: &&&Task| o.assignee == t.assignee;
        let behind = self.started.iter().filter(is_behind);
        let is_idle = self.started.iter().chain(&self.runs).filter(is_same).count() == 0;
        behind.clone().any(|o| is_same(&o)) || (is_idle && (self.is_none() || behind.count() > 0))
    }
}

/// What is asked about cards that may wait for their turn.
pub struct InTurn<'a> {
    /// The open rows of the board.
    pub rows: &'a [Task],
    /// Seconds after which it is asked at all.
    pub patience: i64,
    /// Since when a card could be taken, where it waited longer.
    pub since: Option<Time>,
}

/// Those of these cards that nobody has taken for so long because a dispatcher that works has no place for them: other work
/// has those, and nothing that comes behind them was started. So long a card waits for its turn, but no longer than [`PASSED_OVER`].
///
/// # Errors
/// The board cannot be read.
pub fn in_turn<'a>(
    board: &mut dyn Board,
    runtime: &Runtime,
    ask: &InTurn<'_>,
    cards: impl Iterator<Item = &'a Detail>,
    now: Time,
) -> Result<BTreeSet<String>> {
    let rows = ask.rows;
    let late: Vec<(&Detail, i64)> =
        cards.filter_map(|card| Some((card, late(card, now, ask.patience, ask.since)?))).collect();
    if board.is_own() {
        let in_turn = late.iter().filter(|(card, _)| is_taker_busy(card, rows, now));
        return Ok(in_turn.map(|(card, _)| card.task.id.clone()).collect());
    }
    let Some(longest) = late.iter().map(|(_, waited)| *waited).max() else {
        return Ok(BTreeSet::new());
    };
    let events = board.events(now.plus(-longest), MAX_TICKS)?;
    let started = started(board, rows, &events)?;
    let waits = |(card, waited): &(&Detail, i64)| waits(card, runtime, rows, &started, &events, now, *waited);
    Ok(late.iter().filter(|late| waits(late)).map(|(card, _)| card.task.id.clone()).collect())
}

/// Whether the worker that takes a card on a board without a dispatcher works on another task: it takes one after the other.
fn is_taker_busy(card: &Detail, rows: &[Task], now: Time) -> bool {
    let heard = |t: &Task| t.last_heartbeat_at.max(t.started_at);
    let is_at_work =
        |t: &Task| t.status == Status::Running && heard(t).is_some_and(|at| is_within(at, now, PASSED_OVER));
    // What is for nobody may be its, too.
    let is_its = |t: &Task| t.assignee.is_none() || t.assignee == card.task.assignee;
    card.task.assignee.is_some() && rows.iter().any(|t| t.id != card.task.id && is_its(t) && is_at_work(t))
}

/// Tasks that were claimed by these events and are not among the open ones any more.
///
/// # Errors
/// The board cannot be read.
pub fn started(board: &mut dyn Board, rows: &[Task], events: &[(String, Event)]) -> Result<Vec<Task>> {
    let open: BTreeSet<&str> = rows.iter().map(|t| t.id.as_str()).collect();
    let claimed = tasks_of(events, |e| e.kind == EventKind::Claimed);
    let closed = claimed.into_iter().filter(|id| !open.contains(id)).map(str::to_owned);
    board.titled(&closed.collect::<Vec<_>>())
}

/// For how long nobody has taken a card, where that is longer than `patience` and not longer than any wait for its turn.
fn late(card: &Detail, now: Time, patience: i64, since: Option<Time>) -> Option<i64> {
    let waits_since = Some(untaken(card, now, patience)?).max(since)?;
    Some(now.since(waits_since)).filter(|waited| (patience..PASSED_OVER).contains(waited))
}

/// Seconds for which a place that became free may not be taken again yet: some ticks of a dispatcher.
const FREED: i64 = 300;

/// Whether one card, which has waited for so many seconds, waits for its turn.
fn waits(
    card: &Detail,
    runtime: &Runtime,
    rows: &[Task],
    started: &[Task],
    events: &[(String, Event)],
    now: Time,
    waited: i64,
) -> bool {
    // In the second in which it became ready, others were before it.
    let starts = Starts::of(rows, started, events, now, waited - 1);
    let is_at_work = match runtime.dispatcher {
        Dispatcher::Alive(_) | Dispatcher::Ticked => true,
        // One that cron starts is seen by what it does alone.
        Dispatcher::Absent => !runtime.is_daemon && !starts.started.is_empty(),
        Dispatcher::Unknown(_) => !starts.started.is_empty(),
    };
    // What Hermes' own guard holds back waits for no place.
    let is_held = |e: &Event| e.kind == EventKind::RespawnGuarded && is_within(e.at, now, waited);
    let is_held = card.events.iter().any(is_held);
    // What ended a while ago has no place any more.
    let newest = events
        .iter()
        .filter(|(task, e)| *task != card.task.id && !authorship::is_ours(e))
        .map(|(_, e)| e.at)
        .max();
    let is_busy = !starts.runs.is_empty() || newest.is_some_and(|at| is_within(at, now, FREED));
    is_at_work && !is_held && !starts.is_none() && is_busy && !starts.pass_over(&card.task)
}

/// Seconds after which ready work on a board without a dispatcher needs a person, where no worker of its profile is at work.
pub const UNCLAIMED: i64 = 3_600;

/// Who works on a task: of each one that is for no profile and runs or was claimed, of those that have run for a profile for [`STALLED`]
/// seconds, and of all others where a ready task is for no profile.
pub type Workers = BTreeMap<String, Worker>;

/// The newest attempt at a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Its profile, where that is known.
    pub profile: Option<String>,
    /// When it began.
    pub since: Time,
    /// A person was told that nothing is heard of its living worker, whatever beats for it.
    pub is_silent: bool,
    /// It is of `board run`, which takes what is assigned to its profile alone.
    pub is_harness: bool,
}

/// Looks at the newest attempts of such tasks. `started` as with [`passed_over`].
///
/// # Errors
/// The board cannot be read.
pub fn workers(
    board: &mut dyn Board,
    rows: &[Task],
    started: &[Task],
    events: &[(String, Event)],
    now: Time,
) -> Result<Workers> {
    let claimed = tasks_of(events, is_start);
    // The row of most running ones tells enough. `board run` beats for a command that does nothing, too.
    let is_fresh = |t: &Task| t.started_at.is_some_and(|at| is_within(at, now, STALLED - 1));
    let has_nobodys = rows.iter().any(|t| t.status == Status::Ready && t.assignee.is_none());
    let is_meant = |t: &&Task| match &t.assignee {
        Some(_) if !has_nobodys => t.status == Status::Running && !is_fresh(t),
        _ => t.status == Status::Running || claimed.contains(t.id.as_str()),
    };
    let all: Vec<String> = rows.iter().chain(started).filter(is_meant).map(|t| t.id.clone()).collect();
    if all.is_empty() {
        return Ok(Workers::new());
    }
    Ok(board.look(&all)?.iter().filter_map(|d| Some((d.task.id.clone(), who_works_on(d)?))).collect())
}

fn who_works_on(d: &Detail) -> Option<Worker> {
    let is_silent = needs_operator::told(d).and_then(needs_operator::key) == Some(SILENT);
    let is_harness = d.is_beaten_for();
    let run = d.newest_run()?;
    Some(Worker { profile: run.profile.clone(), since: run.started_at, is_silent, is_harness })
}

/// Ready tasks of a board without a dispatcher that nobody has claimed for that long, while nobody claimed or worked on anything else of
/// their profile. `started` as with [`passed_over`]; what is for no profile any worker may take. An attempt counts for [`STALLED`] seconds
/// since it began or gave a sign of life, and no longer than until a person is told that nothing is heard of its worker. One of an unknown
/// profile may be of any: it counts since it began.
pub fn unclaimed(
    rows: &[Task],
    started: &[Task],
    events: &[(String, Event)],
    workers: &Workers,
    now: Time,
) -> BTreeSet<String> {
    let is_lately = |e: &Event| is_within(e.at, now, UNCLAIMED - 1) && authorship::is_turn(e);
    let turned = tasks_of(events, is_lately);
    let claimed = tasks_of(events, |e| is_lately(e) && is_start(e));
    // Its worker may be dead, and no watcher may touch it: it must not hide work for ever.
    let is_alive = |t: &Task| {
        let worker = workers.get(&t.id);
        let began = worker.map(|w| w.since).or(t.started_at);
        let heard = began.max(t.last_heartbeat_at).is_none_or(|at| is_within(at, now, STALLED - 1));
        heard && !worker.is_some_and(|w| w.is_silent)
    };
    let is_at_work =
        |t: &&Task| (t.status == Status::Running && is_alive(t)) || claimed.contains(t.id.as_str());
    let at_work: Vec<&Task> = rows.iter().chain(started).filter(is_at_work).collect();
    let may_be_of = |o: &Task, who: &str| match (&o.assignee, workers.get(&o.id)) {
        (Some(profile), _) | (None, Some(Worker { profile: Some(profile), .. })) => profile == who,
        (None, Some(Worker { profile: None, since, .. })) => is_within(*since, now, STALLED - 1),
        (None, None) => true,
    };
    let is_left = |t: &&Task| {
        let is_new = is_within(t.created_at, now, UNCLAIMED - 1) || turned.contains(t.id.as_str());
        let is_same = |o: &&Task| match t.assignee.as_deref() {
            Some(who) => may_be_of(o, who),
            // `board claim` takes what is for nobody, too.
            None => o.assignee.is_none() || workers.get(&o.id).is_none_or(|w| !w.is_harness),
        };
        t.status == Status::Ready && t.claim_lock.is_none() && !is_new && !at_work.iter().any(is_same)
    };
    ids(rows, is_left)
}

/// For how many seconds a dispatcher may do nothing before it is taken for none.
pub fn patience(rows: &[Task], runtime: &Runtime, cadence: i64) -> i64 {
    let runs = rows.iter().any(|t| t.status == Status::Running);
    if runs && !runtime.is_daemon { BUSY } else { cadence }
}

/// Events that only a dispatcher's tick writes, or a command that does its work.
const TICKS: [EventKind; 12] = [
    EventKind::Claimed,
    EventKind::Spawned,
    EventKind::ClaimExtended,
    EventKind::RespawnGuarded,
    EventKind::Crashed,
    EventKind::ProtocolViolation,
    EventKind::RateLimited,
    EventKind::TimedOut,
    EventKind::Stale,
    EventKind::GaveUp,
    EventKind::Promoted,
    EventKind::Reclaimed,
];

/// Whether a dispatcher left this event. `hermes kanban reclaim` says in its own that a person ran it (`manual`, Hermes 0.19).
pub fn is_tick(e: &Event) -> bool {
    let is_manual = e.payload.get("manual").and_then(Value::as_bool) == Some(true);
    e.by().is_none() && !is_manual && TICKS.contains(&e.kind)
}

/// The runtime, with what its newest events tell of its dispatcher.
pub fn runtime(world: &World<'_>, events: &[(String, Event)], now: Time) -> Runtime {
    let mut runtime = (world.runtime)();
    if runtime.dispatcher != Dispatcher::Absent || world.board.is_own() {
        return runtime;
    }
    // A restart takes a moment: for that long a gateway that is gone is one that comes back.
    let long_enough = |since: Time| now.since(since) >= seconds(world.config.heal.lonely_grace);
    let gone = gateway::gone(world.board.id(), world.cache).filter(|g| g.since.is_some_and(long_enough));
    let tick = |e: &Event| is_tick(e) && is_within(e.at, now, TICKED) && gone.is_none_or(|g| g.is_not_by(e));
    if events.iter().any(|(_, e)| tick(e)) {
        runtime.dispatcher = Dispatcher::Ticked;
    }
    runtime
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::testing::{NOW, ago, detail, event, run};

    fn runtime(dispatcher: Dispatcher, is_daemon: bool) -> Runtime {
        Runtime { dispatcher, is_daemon, ..Runtime::absent() }
    }

    #[test]
    fn what_a_person_reclaims_is_no_tick() {
        let of = |payload: Value| is_tick(&event("reclaimed", 5, payload));
        assert!(of(serde_json::json!({"reason": "expired"})) && of(Value::Null));
        assert!(!of(serde_json::json!({"manual": true})) && !of(serde_json::json!({"by": "heal"})));
    }

    #[test]
    fn only_work_that_a_dispatcher_would_have_started_waits_for_one() {
        let known = ["luna"].into_iter().collect();
        let row = |change: &dyn Fn(&mut Task)| {
            let mut t =
                Task { assignee: Some("luna".into()), ..detail("t_00000001", Status::Ready).task.clone() };
            t.created_at = ago(9_000);
            change(&mut t);
            t
        };
        let count = |t: Task, seconds: i64| {
            let freed = event("unblocked", seconds, serde_json::json!({"by": "route-blocked"}));
            let claimed = event("claimed", 60, serde_json::json!({}));
            waiting(
                std::slice::from_ref(&t),
                &known,
                &[(t.id.clone(), freed), (t.id.clone(), claimed)],
                NOW,
                TICKED,
            )
        };
        assert_eq!(count(row(&|_| {}), 601), 1);
        assert_eq!(count(row(&|_| {}), 600), 0, "it was set free a moment ago");
        assert_eq!(count(row(&|t| t.created_at = ago(600)), 9_000), 0);
        assert_eq!(count(row(&|t| t.created_at = ago(-9_000)), -9_000), 1, "nothing from the future is new");
        assert_eq!(count(row(&|t| t.assignee = Some("anna".into())), 9_000), 0, "nobody takes it");
        assert_eq!(count(row(&|t| t.claim_lock = Some("host:7".into())), 9_000), 0, "somebody claims it");
        assert_eq!(count(row(&|t| t.status = Status::Blocked), 9_000), 0);
    }

    #[test]
    fn a_name_that_claimed_tasks_lately_and_was_started_by_no_dispatcher_is_a_lane() {
        let at = |kind: &str, id: i64, seconds: i64| {
            let e = event(kind, seconds, serde_json::json!({"lock": "host:9"}));
            ("t_00000001".to_owned(), Event { run: Some(id), ..e })
        };
        let run = |id: i64, outcome: Option<&str>| ("t_00000001".to_owned(), run(id, "orion-cc", outcome));
        let is_lane =
            |runs: &[(String, Run)], events: &[(String, Event)]| claims_itself("Orion-cc", runs, events, NOW);
        let claimed = [at("claimed", 1, 1_300)];
        let change = |outcome: Option<&str>, change: &dyn Fn(&mut Run)| {
            let mut run = run(1, outcome);
            change(&mut run.1);
            is_lane(&[run], &claimed)
        };
        assert!(change(Some("completed"), &|_| {}), "it did its work");
        assert!(!change(Some("completed"), &|r| r.ended_at = Some(r.started_at)), "it took no time");
        assert!(!change(Some("reclaimed"), &|_| {}), "nothing was heard of it");
        assert!(!change(None, &|_| {}), "nothing was heard of it yet");
        assert!(change(None, &|r| r.worker_pid = Some(7)), "it has a worker");
        assert!(change(None, &|r| r.last_heartbeat_at = Some(ago(9))), "it gave a sign of life");
        assert!(!change(Some("completed"), &|r| r.profile = Some("ghost".into())), "another name");
        assert!(!change(Some("completed"), &|r| r.profile = None));
        let done = [run(1, Some("completed"))];
        assert!(is_lane(&done, &[at("claimed", 1, LANE)]));
        assert!(!is_lane(&done, &[at("claimed", 1, LANE + 1)]), "too long ago");
        assert!(!is_lane(&done, &[at("claimed", 2, 1_300)]), "not its claim");
        assert!(!is_lane(&done, &[]));
        // A profile that was removed.
        let spawned = [at("claimed", 1, 1_300), at("spawned", 1, 1_299)];
        assert!(!is_lane(&done, &spawned));
        let both = [run(2, Some("crashed")), run(1, Some("completed"))];
        assert!(!is_lane(&both, &[at("claimed", 1, 1_300), at("claimed", 2, 900), at("spawned", 2, 899)]));
    }

    #[test]
    fn what_a_dispatcher_passes_over_is_no_work_that_waits_for_its_turn() {
        let row = |id: &str, status: Status, who: &str, created: i64| {
            let t = detail(id, status).task.clone();
            Task { assignee: Some(who.into()), created_at: ago(created), ..t }
        };
        let left = row("t_00000001", Status::Ready, "luna", 9_000);
        let claimed =
            |id: &str, seconds: i64| (id.to_owned(), event("claimed", seconds, serde_json::json!({})));
        let is_left = |others: &[Task], done: &[Task], events: &[(String, Event)]| {
            let rows: Vec<Task> = std::iter::once(left.clone()).chain(others.iter().cloned()).collect();
            passed_over(&rows, done, events, NOW).contains("t_00000001")
        };
        let other = |status: Status, who: &str, created: i64| row("t_00000002", status, who, created);
        let started = [claimed("t_00000002", 60)];
        assert!(is_left(&[], &[], &[]), "there is nothing else to run");
        assert!(!is_left(&[other(Status::Running, "sol", 9_900)], &[], &[]), "all places may be taken");
        let claimed_until = |seconds: i64, lock: Option<&str>| {
            let (claim_lock, claim_expires) = (lock.map(str::to_owned), Some(ago(seconds)));
            Task { claim_lock, claim_expires, ..other(Status::Running, "sol", 9_900) }
        };
        assert!(is_left(&[claimed_until(7_200, Some("host:7"))], &[], &[]), "no tick extended its claim");
        assert!(!is_left(&[claimed_until(7_199, Some("host:7"))], &[], &[]), "one may have");
        assert!(!is_left(&[claimed_until(7_200, None)], &[], &[]), "there is no claim to extend");
        let beside = [claimed_until(9_000, Some("host:7")), claimed_until(-900, Some("host:8"))];
        assert!(is_left(&beside, &[], &[]), "a heartbeat extended the other one");
        assert!(!is_left(&[claimed_until(-900, Some("host:7"))], &[], &[]), "its claim is in force");
        assert!(!is_left(&[other(Status::Running, "luna", 9_900)], &[], &started), "that was its turn");
        assert!(
            is_left(&[other(Status::Running, "luna", 600)], &[], &started),
            "what came later was started"
        );
        assert!(is_left(&[], &[other(Status::Done, "luna", 600)], &started));
        assert!(is_left(&[other(Status::Running, "sol", 600)], &[], &started), "its profile does nothing");
        let more = [row("t_00000003", Status::Running, "luna", 9_900), other(Status::Running, "sol", 600)];
        assert!(!is_left(&more, &[], &started), "its profile is at work");
        let urgent = Task { priority: 9, ..other(Status::Running, "luna", 600) };
        assert!(!is_left(&[urgent], &[], &started), "what is more urgent goes first");
        let review = event("claimed", 60, serde_json::json!({"source_status": "review"}));
        let review = [("t_00000002".to_owned(), review)];
        assert!(
            !is_left(&[other(Status::Running, "luna", 600)], &[], &review),
            "reviews have a place of their own"
        );
        let freed = ("t_00000001".to_owned(), event("unblocked", 7_000, serde_json::json!({})));
        assert!(!is_left(&[], &[], &[freed]), "it was set free since");
        let freed = ("t_00000001".to_owned(), event("unblocked", -9_000, serde_json::json!({})));
        assert!(is_left(&[], &[], &[freed]), "nothing from the future is new");
    }

    #[test]
    fn a_card_waits_for_its_turn_while_others_have_the_places() {
        let card = |seconds: i64| {
            let mut d = detail("t_0000cafe", Status::Ready);
            d.task.title = "[BLOCKED] t_00000001 rate_limited".into();
            (d.task.assignee, d.task.priority, d.task.created_at) = (Some("tuesday".into()), 1, ago(seconds));
            d.events = vec![event("created", seconds, serde_json::json!({"by": "synthesize-distress"}))];
            d
        };
        let row = |id: &str, status: Status, who: &str, created: i64| Task {
            assignee: Some(who.into()),
            priority: 0,
            created_at: ago(created),
            ..detail(id, status).task.clone()
        };
        let long = [row("t_00000002", Status::Running, "luna", 9_000)];
        let started = |id: &str, seconds: i64| {
            (id.to_owned(), event("claimed", seconds, serde_json::json!({"lock": "host:7"})))
        };
        let first = [started("t_00000002", 1_200)];
        let quick = [row("t_00000003", Status::Done, "luna", 9_000)];
        let later = [row("t_00000002", Status::Running, "luna", 600)];
        let deciding = [row("t_0000beef", Status::Running, "tuesday", 9_000)];
        let guarded = {
            let mut d = card(1_900);
            d.events.push(event("respawn_guarded", 300, serde_json::json!({"reason": "recent_success"})));
            d
        };
        let (alive, cron) = (runtime(Dispatcher::Alive(7), true), runtime(Dispatcher::Absent, false));
        let (gone, unknown) =
            (runtime(Dispatcher::Absent, true), runtime(Dispatcher::Unknown("?".into()), true));
        type Case<'a> = (&'a str, &'a Runtime, &'a [Task], &'a [Task], &'a [(String, Event)], bool);
        let table: [Case<'_>; 14] = [
            ("one long attempt may have the only place", &alive, &long, &[], &[], true),
            ("one that was started since", &alive, &long, &[], &first, true),
            ("one that was started and is over", &alive, &[], &quick, &[started("t_00000003", 60)], true),
            ("and its place is free for long", &alive, &[], &quick, &[started("t_00000003", 301)], false),
            ("nothing runs", &alive, &[], &[], &[], false),
            ("what came later was started instead", &alive, &later, &[], &first, false),
            (
                "in the second in which it was made",
                &alive,
                &later,
                &[],
                &[started("t_00000002", 1_900)],
                true,
            ),
            ("its orchestrator is at work on another card", &alive, &deciding, &[], &[], true),
            (
                "and what came later was started besides",
                &alive,
                &[deciding[0].clone(), later[0].clone()],
                &[],
                &first,
                true,
            ),
            ("the gateway is gone", &gone, &long, &[], &first, false),
            ("one that cron starts did something", &cron, &long, &[], &first, true),
            ("one that cron starts did nothing", &cron, &long, &[], &[], false),
            ("nobody can tell, and something was started", &unknown, &long, &[], &first, true),
            ("nobody can tell", &unknown, &long, &[], &[], false),
        ];
        for (what, runtime, rows, done, events, want) in table {
            assert_eq!(waits(&card(1_900), runtime, rows, done, events, NOW, 1_900), want, "{what}");
        }
        assert!(!waits(&guarded, &alive, &long, &[], &first, NOW, 1_900), "Hermes' guard holds it back");

        let late = |seconds: i64| late(&card(seconds), NOW, 1_800, None);
        assert_eq!(
            [late(1_799), late(1_800), late(7_199), late(7_200)],
            [None, Some(1_800), Some(7_199), None]
        );
    }

    #[test]
    fn what_a_dispatcher_should_have_made_ready_is_told_from_what_waits() {
        let row = |status: Status, created: i64| Task {
            created_at: ago(created),
            ..detail("t_00000001", status).task.clone()
        };
        let link = |status: Option<Status>| {
            vec![Link { child: "t_00000001".into(), parent: "t_00000002".into(), status }]
        };
        let happened = |task: &str, kind: &str, seconds: i64| {
            vec![(task.to_owned(), event(kind, seconds, serde_json::json!({})))]
        };
        let left = |t: &Task, links: &[Link], events: &[(String, Event)]| {
            !not_promoted(std::slice::from_ref(t), links, events, NOW).is_empty()
        };
        let todo = row(Status::Todo, 7_200);
        // On a board without a dispatcher: only what waits for no other task, and never what is blocked.
        let unlinked = |t: &Task, links: &[Link]| {
            !waits_for_nothing(std::slice::from_ref(t), links, &[], NOW).is_empty()
        };
        assert!(unlinked(&todo, &[]) && !unlinked(&row(Status::Todo, 7_199), &[]));
        assert!(!unlinked(&row(Status::Blocked, 7_200), &[]));
        for status in [Some(Status::Done), Some(Status::Running), None] {
            assert!(!unlinked(&todo, &link(status)));
        }
        for status in [Some(Status::Done), Some(Status::Archived), None] {
            assert!(left(&todo, &link(status), &[]));
        }
        assert!(left(&todo, &[], &[]) && left(&row(Status::Blocked, 7_200), &[], &[]));
        assert!(!left(&row(Status::Todo, 7_199), &[], &[]));
        assert!(!left(&row(Status::Ready, 9_000), &[], &[]));
        assert!(!left(&todo, &link(Some(Status::Running)), &[]), "it waits");
        let done = link(Some(Status::Done));
        assert!(!left(&todo, &done, &happened("t_00000002", "completed", 7_200)), "a moment ago it waited");
        assert!(left(&todo, &done, &happened("t_00000002", "completed", 7_201)));
        assert!(!left(&todo, &done, &happened("t_00000001", "unblocked", 60)));
        assert!(left(&todo, &done, &happened("t_00000001", "unblocked", -9_000)), "it makes nothing new");
        assert!(left(&todo, &done, &happened("t_00000001", "commented", 60)));
        assert!(!left(&Task { claim_lock: Some("h:7".into()), ..todo.clone() }, &done, &[]));
        let card = "[BLOCKED] t_0000000a rate_limited".into();
        assert!(!left(&Task { title: card, ..todo }, &done, &[]), "a card is told with its task");
    }

    #[test]
    fn one_long_attempt_hides_ready_work_for_half_a_day_at_most() {
        let row = |id: &str, status: Status, created: i64| {
            let t = detail(id, status).task.clone();
            Task { assignee: Some("luna".into()), created_at: ago(created), ..t }
        };
        let rows = |created: i64| {
            [row("t_00000001", Status::Running, 90_000), row("t_00000002", Status::Ready, created)]
        };
        let left = |created: i64, started: i64, events: &[(String, Event)]| {
            let left = || stalled(&rows(created), events, NOW).into_iter().next();
            is_stalled(Some(ago(started)), NOW).then(left).flatten()
        };
        let second = Some("t_00000002".to_owned());
        assert_eq!(left(43_200, 43_200, &[]), second);
        assert_eq!(left(43_199, 43_200, &[]), None);
        assert_eq!(left(43_200, 43_199, &[]), None, "something was started");
        assert_eq!(left(43_200, -9_000, &[]), second, "nothing is started in the future");
        let freed = event("promoted", 600, serde_json::json!({}));
        assert_eq!(left(50_000, 50_000, &[("t_00000002".to_owned(), freed)]), None, "it is new");
        let freed = event("promoted", -9_000, serde_json::json!({}));
        assert_eq!(
            left(50_000, 50_000, &[("t_00000002".to_owned(), freed)]),
            second,
            "that makes nothing new"
        );
    }

    #[test]
    fn a_card_waits_for_a_worker_that_is_busy_with_another_task() {
        let of = |id: &str, status: Status, who: Option<&str>, heard: i64| {
            let mut d = detail(id, status);
            (d.task.assignee, d.task.last_heartbeat_at) = (who.map(str::to_owned), Some(ago(heard)));
            d
        };
        let busy =
            |card: &Detail, other: Detail| is_taker_busy(card, &[card.task.clone(), other.task.clone()], NOW);
        let card = of("t_0000caf1", Status::Ready, Some("tuesday"), 60);
        let runs = |who: Option<&str>, heard: i64| of("t_0000caf2", Status::Running, who, heard);
        assert!(
            busy(&card, runs(Some("tuesday"), PASSED_OVER))
                && !busy(&card, runs(Some("tuesday"), PASSED_OVER + 1))
        );
        assert!(busy(&card, runs(None, 60)), "what is for nobody may be its");
        assert!(!busy(&card, runs(Some("luna"), 60)));
        assert!(!busy(&card, of("t_0000caf2", Status::Blocked, Some("tuesday"), 60)));
        assert!(
            !busy(&card, of("t_0000caf1", Status::Running, Some("tuesday"), 60)),
            "another task than itself"
        );
        assert!(!busy(&of("t_0000caf1", Status::Ready, None, 60), runs(None, 60)));
    }

    #[test]
    fn what_no_worker_claims_for_an_hour_is_left_where_none_is_at_work() {
        let row = |id: &str, status: Status, who: Option<&str>, created: i64| {
            let t = detail(id, status).task.clone();
            Task { assignee: who.map(str::to_owned), created_at: ago(created), ..t }
        };
        let claimed =
            |seconds: i64| ("t_00000002".to_owned(), event("claimed", seconds, serde_json::json!({})));
        let left = |t: Task, others: &[Task], events: &[(String, Event)]| {
            let id = t.id.clone();
            unclaimed(&[&[t], others].concat(), &[], events, &Workers::new(), NOW).contains(&id)
        };
        let ready = |created: i64| row("t_00000001", Status::Ready, Some("luna"), created);
        let other = |status: Status, who: Option<&str>| [row("t_00000002", status, who, 9_000)];
        assert!(left(ready(3_600), &[], &[]) && !left(ready(3_599), &[], &[]));
        assert!(!left(ready(9_000), &other(Status::Running, Some("luna")), &[]), "its worker is busy");
        assert!(left(ready(9_000), &other(Status::Running, Some("sol")), &[]));
        assert!(!left(ready(9_000), &other(Status::Running, None), &[]), "any worker may be hers");
        let of_nobody = || row("t_00000001", Status::Ready, None, 9_000);
        assert!(!left(of_nobody(), &other(Status::Running, Some("luna")), &[]), "she may take it next");
        let beside = |who: Option<&str>, is_harness: bool| {
            let profile = Some("luna".to_owned());
            let worker = Worker { profile, since: ago(60), is_silent: false, is_harness };
            let rows = [&[of_nobody()], &other(Status::Running, who)[..]].concat();
            unclaimed(&rows, &[], &[], &[("t_00000002".to_owned(), worker)].into(), NOW)
                .contains("t_00000001")
        };
        assert!(beside(Some("luna"), true), "`board run` takes what is hers alone");
        assert!(!beside(Some("luna"), false) && !beside(None, true));
        let works = |who: Option<&str>, since: i64, is_silent: bool| -> Workers {
            let worker =
                Worker { profile: who.map(str::to_owned), since: ago(since), is_silent, is_harness: false };
            [("t_00000002".to_owned(), worker)].into()
        };
        let by = |who: Option<&str>, since: i64| {
            let workers = works(who, since, false);
            let rows = [&[ready(90_000)], &other(Status::Running, None)[..]].concat();
            unclaimed(&rows, &[], &[], &workers, NOW).contains("t_00000001")
        };
        assert!(
            by(Some("sol"), 60) && !by(Some("luna"), STALLED - 1),
            "what is for nobody a worker of one profile has"
        );
        // A worker of which nothing is heard may be dead, and its task marked.
        assert!(by(Some("luna"), STALLED));
        let hides_so = |profile: Option<&str>, began: i64, heard: Option<i64>, is_silent: bool| {
            let workers = works(Some("luna"), began, is_silent);
            let mut runs = row("t_00000002", Status::Running, profile, 900_000);
            (runs.started_at, runs.last_heartbeat_at) = (Some(ago(800_000)), heard.map(ago));
            !unclaimed(&[ready(900_000), runs], &[], &[], &workers, NOW).contains("t_00000001")
        };
        let hides =
            |profile: Option<&str>, began: i64, heard: Option<i64>| hides_so(profile, began, heard, false);
        let nobodys = |began: i64| {
            let workers = works(Some("luna"), began, false);
            let mut free = ready(900_000);
            free.assignee = None;
            let mut runs = row("t_00000002", Status::Running, None, 900_000);
            runs.started_at = Some(ago(800_000));
            !unclaimed(&[free, runs], &[], &[], &workers, NOW).contains("t_00000001")
        };
        assert!(nobodys(STALLED - 1) && !nobodys(STALLED));
        for profile in [Some("luna"), None] {
            assert!(hides(profile, STALLED - 1, None) && !hides(profile, STALLED, None));
            assert!(hides(profile, 700_000, Some(STALLED - 1)) && !hides(profile, 700_000, Some(STALLED)));
            assert!(!hides_so(profile, 700_000, Some(9), true), "a person was told that it is silent");
        }
        assert!(!by(None, STALLED - 1) && by(None, STALLED), "that of an unknown one hides it for a while");
        assert!(!left(ready(9_000), &other(Status::Todo, Some("luna")), &[claimed(3_599)]));
        assert!(left(ready(9_000), &other(Status::Todo, Some("luna")), &[claimed(3_600)]));
    }

    #[test]
    fn one_that_cron_starts_is_missed_later_while_something_runs() {
        let (runs, ready) = (
            detail("t_00000001", Status::Running).task.clone(),
            detail("t_00000002", Status::Ready).task.clone(),
        );
        for (rows, is_daemon, want) in [
            (vec![runs.clone(), ready.clone()], false, BUSY),
            (vec![runs, ready.clone()], true, TICKED),
            (vec![ready], false, TICKED),
        ] {
            assert_eq!(patience(&rows, &runtime(Dispatcher::Absent, is_daemon), TICKED), want);
        }
    }

    #[test]
    fn who_works_on_what_is_for_no_profile_is_told_by_its_newest_attempt() {
        let mut d = detail("t_00000001", Status::Running);
        assert_eq!(who_works_on(&d), None);
        let attempt =
            |id: i64, profile: &str, began: i64| Run { started_at: ago(began), ..run(id, profile, None) };
        d.runs = vec![attempt(2, "luna", 60), attempt(1, "nova", 9_000)];
        let works = |is_silent| {
            Some(Worker { profile: Some("luna".into()), since: ago(60), is_silent, is_harness: false })
        };
        assert_eq!(who_works_on(&d), works(false));
        let told = |over: bool| {
            let word = serde_json::json!({"by": "heal", "key": SILENT, "watchbill": {"because": "x"}});
            let mut told = event("watchbill_detected", 60, word);
            if over {
                told.payload["over"] = true.into();
            }
            told
        };
        d.events.push(told(false));
        assert_eq!(who_works_on(&d), works(true));
        d.events.push(told(true));
        assert_eq!(who_works_on(&d), works(false));
    }

    #[test]
    fn ready_work_waits_for_two_ticks_of_the_dispatcher_that_cron_starts() {
        let of = |seconds: &[i64]| between_ticks(seconds.iter().map(|s| ago(*s)).collect());
        assert_eq!([of(&[]), of(&[840]), of(&[840, 839, 800])], [TICKED; 3], "one tick tells nothing");
        assert_eq!(
            of(&[840, 840, 1_740, 2_640, 9_840]),
            1_800,
            "every 15 minutes, and nothing to start for a while"
        );
        assert_eq!(of(&[840, 1_000, 1_740, 2_640, 3_540, 4_440]), 1_480, "one by hand in between");
        assert_eq!(of(&[60, 121, 185, 900, 9_000]), TICKED, "each minute");
        assert_eq!(of(&[60, 90_000]), BUSY);
        // Nothing was started in the day: work is new for as long.
        let known = ["luna"].into_iter().collect();
        let task = |seconds: i64| Task {
            assignee: Some("luna".into()),
            created_at: ago(seconds),
            ..detail("t_00000001", Status::Ready).task.clone()
        };
        let count = |seconds: i64| waiting(&[task(seconds)], &known, &[], NOW, 1_800);
        assert_eq!([count(1_800), count(1_801)], [0, 1]);
    }
}
