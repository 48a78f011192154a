//! Two looks: at every open row, then closely at the few that may be stuck.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::exited::LEAVING;
use super::gone;
use super::resume;
use super::seen::{GLANCED, Recent, Seen, TaskSeen, suspect};
use super::stopped;
use base::cause::Cause;
use base::error::Result;
use base::time::Time;
use board::{Detail, Event, EventKind, Rule, Status, Step, StepAction, Task, claim_host, hermes};
use config::span::seconds;
use host::{Ask, Life, Look};
use logs::provider::ledger::State;
use logs::{LogEnd, Reading};
use policy::attempts::worker::{Lent, ask, ask_of_loan, fares, lent_to};
use policy::attempts::{ended, session};
use policy::cards::answer;
use policy::dispatcher::{MAX_TICKS, runtime};
use policy::routing::facts::{self, About};
use policy::routing::router::Router;
use policy::{Pass, Profiles, World, authorship, clock};

/// How far back deaths, resets and dispatcher ticks are read, in seconds.
const RECENT: i64 = 2 * 3_600;

pub(super) fn observe(world: &mut World<'_>, pass: &Pass) -> Result<Seen> {
    let (now, policy) = (pass.now, &world.config.heal);
    let own_board = world.board.is_own();
    let quiet_enough = seconds(policy.grace.min(policy.lonely_grace));
    let rows = world.board.glance(&GLANCED)?;
    let held = if pass.only.is_none() { gone::held_elsewhere(world, &rows) } else { BTreeSet::new() };
    let mut suspects: Vec<&Task> = meant(&rows, pass.only.as_deref())
        .filter(|t| suspect(t, now, quiet_enough, own_board) && !held.contains(t.id.as_str()))
        .collect();
    // A todo row without a claim is only looked at for a parent that ended, and most have none.
    let may_wait = |t: &Task| t.status == Status::Todo && t.claim_lock.is_none();
    if pass.only.is_none() && suspects.iter().any(|t| may_wait(t)) {
        let waiting = world.board.waiting()?;
        suspects.retain(|t| !may_wait(t) || !waiting.contains(&t.id));
    }
    let ids: Vec<String> = suspects.into_iter().map(|t| t.id.clone()).collect();
    let quiet_until = world.config.routing.quiet_until(now);
    let mut seen = Seen { glanced: rows.len(), own_board, quiet_until, ..Seen::blank(now) };
    seen.hosts = gone::observe(world, &rows);
    if ids.is_empty() {
        clock::remember(world, pass, &rows);
        return Ok(seen);
    }
    let mut details = world.board.look(&ids)?;
    know_by_title(&mut details, &rows);
    let mut events = world.board.events(now.plus(-RECENT), MAX_TICKS)?;
    seen.clock_fault = clock::fault(world, pass, &mut events)?;
    seen.steady_since = clock::steady_since(world, pass);
    seen.known_since = clock::known_since(world, pass);
    seen.runtime = Some(runtime(world, &events, now));
    seen.recent = recent(events);
    seen.probes = probes(world, &seen.recent)?;
    seen.host = Some(world.host.facts());
    seen.tasks = closer(world, details, pass)?;
    let mut steps = super::decide(&seen, pass, world.config).steps;
    seen.answered = answered(world, &seen, &steps)?;
    if !seen.answered.is_empty() {
        steps = super::decide(&seen, pass, world.config).steps;
    }
    seen.refused_keys = refused_keys(world, &seen, pass, &rows, &steps)?;
    if !seen.refused_keys.is_empty() {
        steps = super::decide(&seen, pass, world.config).steps;
    }
    let goes_on = goes_on(&seen, steps);
    resume::observe(world, &mut seen, &goes_on)?;
    Ok(seen)
}

/// The finished cards of tasks whose hold these steps end, or that they requeue.
fn answered(world: &mut World<'_>, seen: &Seen, steps: &[Step]) -> Result<Vec<Detail>> {
    let goes_on = |s: &&Step| {
        matches!(s.case, Rule::HoldOver | Rule::NoDecision)
            || matches!(s.action, StepAction::Requeue | StepAction::Block | StepAction::Reset)
    };
    let tasks: BTreeSet<&str> = steps.iter().filter(goes_on).map(|s| s.task.as_str()).collect();
    let details = seen.tasks.iter().map(|t| &t.detail).filter(|d| tasks.contains(d.task.id.as_str()));
    let ids: BTreeSet<String> = details.flat_map(answer::finished_of).cloned().collect();
    match ids.is_empty() {
        true => Ok(Vec::new()),
        false => world.board.look(&ids.into_iter().collect::<Vec<_>>()),
    }
}

/// Profiles whose key is refused, of those whose work these steps would try again by time alone, and such tasks with a pin of their
/// own. The provider ledger is read only where a step would.
fn refused_keys(
    world: &mut World<'_>,
    seen: &Seen,
    pass: &Pass,
    rows: &[Task],
    steps: &[Step],
) -> Result<BTreeSet<String>> {
    let by_time = |s: &&Step| s.action == StepAction::Reset || s.case == Rule::HoldOver;
    let ids: BTreeSet<&str> = steps.iter().filter(by_time).map(|s| s.task.as_str()).collect();
    if ids.is_empty() {
        return Ok(BTreeSet::new());
    }
    let details: Vec<&Detail> = seen.tasks.iter().map(|t| &t.detail).collect();
    let given = |d: &&&Detail| ids.contains(d.task.id.as_str()) && d.task.assignee.is_some();
    let theirs: Vec<&Task> = details.iter().filter(given).map(|d| &d.task).collect();
    if theirs.is_empty() {
        return Ok(BTreeSet::new());
    }
    let known = Profiles::of(seen.runtime.as_ref());
    let about = About { rows, details, known, clock_given: pass.clock_given };
    let routing = facts::observe(world, &about, seen.now)?;
    let router = Router::new(&routing, world.config, seen.now, known, Vec::new());
    let refused = theirs.into_iter().filter(|t| router.state_for(t) == State::CredentialBroken);
    let name = |t: &Task| if t.pin.is_none() { t.assignee.clone() } else { Some(t.id.clone()) };
    Ok(refused.filter_map(name).collect())
}

/// Tasks of which these steps, decided without their trees, tell the next attempt, and those whose dead worker's tree is to be noted.
fn goes_on(seen: &Seen, steps: Vec<Step>) -> BTreeSet<String> {
    let is_back = |s: &Step| {
        let tells = [
            StepAction::Requeue,
            StepAction::Block,
            StepAction::Reset,
            StepAction::Park,
            StepAction::HandOver,
        ];
        tells.contains(&s.action) || s.stop.is_some()
    };
    let back = steps.into_iter().filter(is_back).map(|s| s.task);
    let dead = seen.tasks.iter().filter(|t| resume::is_to_be_noted(t)).map(|t| t.detail.task.id.clone());
    back.chain(dead).collect()
}

/// One task as a pass would see it that puts it back into the queue, whatever state it is in; `None`: there is no such task.
pub(super) fn one(world: &mut World<'_>, pass: &Pass, id: &str) -> Result<Option<Seen>> {
    let details = world.board.look(&[id.to_owned()])?;
    if details.is_empty() {
        return Ok(None);
    }
    let mut seen = Seen::blank(pass.now);
    seen.tasks = closer(world, details, pass)?;
    resume::observe(world, &mut seen, &BTreeSet::from([id.to_owned()]))?;
    Ok(Some(seen))
}

/// Adds the open cards that say only in their title whose they are: a worker makes them with its own tools, without a key
/// and often without a link.
pub(super) fn know_by_title(details: &mut [Detail], rows: &[Task]) {
    let mut named: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for row in rows {
        let read = card::read_title(&row.title).map(|(source, _)| source);
        if let Some(source) = read.or_else(|| card::guess_title(&row.title).map(str::to_owned)) {
            named.entry(source).or_default().push(&row.id);
        }
    }
    for d in details {
        for card in named.get(&d.task.id).into_iter().flatten() {
            if !d.cards.iter().any(|c| c == card) && !authorship::has_left(d, card) {
                d.cards.push((*card).to_owned());
            }
        }
    }
}

/// The tasks a pass is about: all of them, or the one asked for. A blocked one is judged among all that are blocked:
/// whether they are a storm cannot be seen from one.
pub(super) fn meant<'a>(rows: &'a [Task], only: Option<&'a str>) -> impl Iterator<Item = &'a Task> {
    let is_blocked = |t: &Task| t.status == Status::Blocked;
    let in_crowd = rows.iter().any(|t| only == Some(t.id.as_str()) && is_blocked(t));
    rows.iter().filter(move |t| only.is_none_or(|only| only == t.id) || (in_crowd && is_blocked(t)))
}

/// What the storm brake needs: our resets.
pub(super) fn recent(events: Vec<(String, Event)>) -> Vec<Recent> {
    let ours = |e: &Event| authorship::is_ours(e) && e.kind == EventKind::Unblocked;
    events.into_iter().filter(|(_, e)| ours(e)).map(|(task, event)| Recent { task, event }).collect()
}

fn probes(world: &mut World<'_>, recent: &[Recent]) -> Result<Vec<Detail>> {
    let storm = |e: &Event| e.trail().is_some_and(|t| t.get("storm").is_some());
    let ids: BTreeSet<String> = recent.iter().filter(|r| storm(&r.event)).map(|r| r.task.clone()).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    world.board.look(&ids.into_iter().collect::<Vec<_>>())
}

/// Processes and logs, for the candidates only.
fn closer(world: &mut World<'_>, details: Vec<Detail>, pass: &Pass) -> Result<Vec<TaskSeen>> {
    let now = pass.now;
    let asks: Vec<Option<Ask>> = details.iter().map(|d| ask(d).map(|a| from_abroad(a, d, world))).collect();
    let asked: Vec<Ask> = asks.iter().flatten().cloned().collect();
    // One scan of /proc answers for all; none is made where nobody asks.
    let mut looks = if asked.is_empty() { Vec::new() } else { world.host.look(&asked) };
    of_loans(world, &details, &asks, &mut looks);
    at_other_tasks(world, &mut looks)?;
    let mut looks = looks.into_iter();
    // A worker may have died since the pass read its clock.
    let looked = world.later_than(pass);
    let board = world.board.id().clone();
    let mut sessions = session::observe(world, &details, now);
    // What nobody remembers would be seen for the first time in each pass.
    let is_kept = !pass.clock_given && world.cache.is_kept();
    let mut still = BTreeSet::new();
    let mut tasks = Vec::new();
    for (detail, ask) in details.into_iter().zip(asks) {
        let mut worker = ask.as_ref().and_then(|_| looks.next());
        let session = sessions.remove(&detail.task.id);
        // What its server left running goes on in its folder, without a mark of the run.
        if let Some((look, s)) = worker.as_mut().zip(session.as_ref()) {
            look.orphans.extend(s.left.iter().cloned());
        }
        let abroad = world.abroad(&detail);
        let since = reads_log(&detail, worker.as_ref(), now).filter(|_| abroad.is_none());
        let reading = since.map(|since| {
            let profile = detail.newest_run().and_then(|r| r.profile.as_deref());
            let profile = profile.or(detail.task.assignee.as_deref());
            let log = world.log(&detail.task.id, profile, detail.words_file(), since, now);
            ended::by_board(&detail, log)
        });
        // A worker that lives has not ended on anything, whatever it said last.
        let lives = is_alive(worker.as_ref());
        let output_at =
            (lives && abroad.is_none() && detail.is_beaten_for()).then(|| written(&detail)).flatten();
        let left = reading.as_ref().filter(|r| lives && r.is_left).and_then(|r| r.modified);
        let told = reading.as_ref().filter(|_| !lives).map(|r| told(&detail, r)).unwrap_or_default();
        let (log, log_at) = match reading.filter(|_| !lives) {
            Some(reading) => (reading.end, reading.modified),
            None => (LogEnd::NoEvidence, None),
        };
        let log = match &session {
            Some(s) if matches!(log, LogEnd::Absent | LogEnd::NoEvidence) => s.end.clone(),
            _ => log,
        };
        // How a worker of a lent task fares is looked at on the other board.
        let running = |_: &Look| detail.task.status == Status::Running && lent_to(&detail).is_none();
        let (target, vitals) = match worker.as_ref().filter(|w| w.life != Life::Unknown && running(w)) {
            Some(look) => fares(world, &detail, ask.as_ref(), look, now),
            None => (None, None),
        };
        let going = worker.as_ref().filter(|w| w.life == Life::Alive && w.stopped.is_empty() && running(w));
        let frozen = going.and_then(|w| w.worker_pid).and_then(|pid| {
            let detect = &world.config.detect;
            let is_asked = stopped::may_be_frozen(&detail, vitals.as_ref(), output_at, detect, now);
            is_asked.then(|| world.host.frozen(pid))?
        });
        let mut sighted = |key: String| {
            let since = world.cache.sight(&key, looked);
            still.insert(key);
            since
        };
        let gone_since =
            waits(&detail, worker.as_ref(), now).map(|key| sighted(format!("gone:{}:{key}", board.at)));
        let stopped = worker.as_ref().filter(|w| !w.stopped.is_empty() || frozen.is_some());
        let stopped_since = stopped.map(|_| {
            let (task, run) = (&detail.task.id, detail.task.current_run.unwrap_or(0));
            sighted(format!("stopped:{}:{task}:{run}", board.at))
        });
        let over_since = over(&detail, now).map(|end| match is_kept {
            true => sighted(format!("over:{}:{}:{}", board.at, detail.task.id, end.0)),
            false => end,
        });
        let unreadable_since =
            Some(&log).filter(|log| is_kept && matches!(log, LogEnd::Unreadable(_))).map(|_| {
                let run = detail.newest_run().map_or(0, |run| run.id);
                sighted(format!("unreadable:{}:{}:{run}", board.at, detail.task.id))
            });
        let left_here = abroad.as_ref().and_then(|_| gone::left_here(world, &detail));
        let claim_here = detail.task.claim_host().is_some_and(|h| world.host.is_here(h));
        tasks.push(TaskSeen {
            detail,
            claim_here,
            abroad,
            left_here,
            worker,
            log,
            log_at,
            output_at,
            left,
            frozen,
            stopped_since,
            refused: told.keys().copied().collect(),
            left_open: runs_of(&told, Cause::ProtocolViolation),
            gone_since,
            over_since,
            unreadable_since,
            vitals,
            target,
            session,
            resume: None,
        });
    }
    // A pass over one task says nothing of the others.
    if pass.only.is_none() {
        for what in ["gone", "stopped", "over", "unreadable"] {
            world.cache.forget(&format!("{what}:{}:", board.at), &still);
        }
    }
    Ok(tasks)
}

/// When anything was last written into the files that the claim of `board run` names.
fn written(detail: &Detail) -> Option<Time> {
    let trail = detail.newest_claim()?.trail()?;
    let files = ["log", "output"].into_iter().filter_map(|key| trail.get(key)?.as_str());
    files.filter_map(|file| Time::written(Path::new(file))).max()
}

/// The end of a watcher's hold that is over by what it says itself.
fn over(detail: &Detail, now: Time) -> Option<Time> {
    let (_, hold) = authorship::our_hold(detail)?;
    authorship::end_in(hold).filter(|until| *until <= now)
}

/// A lent task is worked on while a process of this host works on the task of the other board. Which one is the worker is known there alone,
/// so each of them may be it. One look for each board.
fn of_loans(world: &World<'_>, details: &[Detail], asks: &[Option<Ask>], looks: &mut [Look]) {
    let mut loans: BTreeMap<&str, Vec<(Lent<'_>, Ask, &mut Look)>> = BTreeMap::new();
    let asked = details.iter().zip(asks).filter_map(|(d, ask)| Some((d, ask.as_ref()?)));
    for ((detail, ask), look) in asked.zip(looks).filter(|(_, look)| look.life != Life::Alive) {
        let Some(lent) = lent_to(detail) else { continue };
        loans.entry(lent.board).or_default().push((lent, ask_of_loan(lent, ask), look));
    }
    for (board, loans) in loans {
        let asks: Vec<Ask> = loans.iter().map(|(_, ask, _)| ask.clone()).collect();
        for ((lent, _, look), there) in loans.into_iter().zip(world.host.look_on(Path::new(board), &asks)) {
            let Some(pid) = there.worker_pid.or(there.orphans.first().map(|o| o.pid)) else { continue };
            look.because = format!("pid {pid} works on {} of {board}", lent.task);
            (look.life, look.worker_pid, look.proof) = (Life::Alive, Some(pid), None);
        }
    }
}

/// Who blocked its task and works on another one since does not work beside the present worker.
fn at_other_tasks(world: &mut World<'_>, looks: &mut [Look]) -> Result<()> {
    if !looks.iter().any(|look| look.stands_aside) {
        return Ok(());
    }
    let rows = world.board.glance(&[Status::Running])?;
    let here = rows.iter().filter(|t| t.claim_host().is_some_and(|host| world.host.is_here(host)));
    let at_work: BTreeSet<i64> = here.filter_map(|t| t.worker_pid).collect();
    for look in looks.iter_mut().filter(|look| look.stands_aside) {
        look.beside = look.beside.filter(|(_, pid)| !at_work.contains(pid));
        look.stands_aside = look.beside.is_some();
    }
    Ok(())
}

/// A row that lost its claim still says in its run or history whose it was. Another host's stays another host's.
fn from_abroad(ask: Ask, detail: &Detail, world: &World<'_>) -> Ask {
    if ask.claim_host.is_some() {
        return ask;
    }
    let lock = detail.newest_run().and_then(|r| r.claim_lock.as_deref()).or(detail.newest_lock());
    let host = lock.map(claim_host).filter(|h| !world.host.is_here(h));
    Ask { claim_host: host.map(str::to_owned), ..ask }
}

/// The attempt whose worker is not there any more, as a name to remember it by: of a running task, or where its children are still there. The worker
/// of a running task of which nothing is known may live: with children of an earlier attempt beside it the time would be over when it dies.
/// A claim without a pid is remembered all the same where it was made by a clock that was ahead: nothing else tells how long it has lasted.
pub(super) fn waits(detail: &Detail, worker: Option<&Look>, now: Time) -> Option<String> {
    let is_pidless = detail.task.worker_pid.is_none();
    let is_ahead = || is_pidless && detail.current_run().is_some_and(|run| run.started_at.is_ahead_of(now));
    let is_over = |life: Life| match detail.task.status {
        Status::Running => life == Life::Gone || (life == Life::Unknown && is_ahead()),
        _ => life != Life::Alive,
    };
    let runs = detail.task.status == Status::Running;
    worker.filter(|w| is_over(w.life) && (runs || !w.orphans.is_empty()))?;
    let run = detail.task.current_run.or(detail.newest_run().map(|r| r.id)).unwrap_or(0);
    Some(format!("{}:{run}", detail.task.id))
}

/// Attempts whose end the log explains, by their number. The newest one is asked about where its worker is gone, whether or not
/// the board says that it ended.
fn told(detail: &Detail, reading: &Reading) -> BTreeMap<i64, Cause> {
    let told = ended::told(detail, reading).into_iter().map(|(run, e)| (run.id, e.cause));
    let newest = match &reading.end {
        LogEnd::Ended(e) => detail.newest_run().map(|run| (run.id, e.cause)),
        _ => None,
    };
    told.chain(newest).filter(|(_, cause)| ended::explains(*cause)).collect()
}

/// Those that ended on this.
fn runs_of(told: &BTreeMap<i64, Cause>, cause: Cause) -> Vec<i64> {
    told.iter().filter(|(_, c)| **c == cause).map(|(run, _)| *run).collect()
}

fn is_alive(worker: Option<&Look>) -> bool {
    worker.is_some_and(|w| w.life == Life::Alive)
}

/// From when on the log matters, where its end decides anything.
fn reads_log(detail: &Detail, worker: Option<&Look>, now: Time) -> Option<Time> {
    let newest = detail.newest_run().map(|r| r.started_at);
    match detail.task.status {
        Status::Running => {
            let run = detail.current_run().map(|r| r.started_at).or(newest).or(detail.task.started_at);
            let since = run.unwrap_or(detail.task.created_at);
            // A worker of Hermes that lives beats every minute. One that does not may have said that it ends, and be there still.
            let is_silent =
                || now.since(detail.task.last_heartbeat_at.map_or(since, |at| at.max(since))) >= LEAVING;
            (!is_alive(worker) || is_silent()).then_some(since)
        }
        Status::Blocked if hermes::is_sticky(&detail.events) => None,
        Status::Blocked | Status::Ready => newest,
        // Freed of its claim it is promoted as soon as its parents are done.
        Status::Todo if detail.task.claim_lock.is_some() => newest,
        _ => None,
    }
}
