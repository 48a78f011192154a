//! What trials on real boards taught: dispatchers that collect their children and such as cron starts, workers that hide what they
//! are, clocks that slip by seconds, logs that nobody can read, keys that are refused, and long work that is healthy.

pub(super) mod strikes;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use shared::base::cause::Cause;
use shared::base::time::Time;
use shared::board::hermes::FAILURE_LIMIT;
use shared::board::{Change, Detail, Status, Task};
use shared::card;
use shared::logs::hermes::Reader;
use shared::logs::{Format, Line, LogEnd};

use super::hands::{act, end_run, failed, in_run, look, unblocked};
use super::machine::{Guise, Who};
use super::truth::{Job, PROFILES, Plan, Truth};
use super::upheaval;
use super::{ROOT, Sim};
use crate::chance::Chance;

/// How many protocol violations in a row Hermes counts as one failure.
const STREAK: u32 = 3;
/// Seconds of one generation that takes long, and of a build that takes longer.
const GENERATION: i64 = 1_260;
const BUILD: i64 = 3_960;

/// Who starts workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dispatch {
    /// It books a dead worker by its pid, and some refused ones for their manners at once.
    Mixed,
    /// One process that collects its own children, and so knows how they ended; of the children of the one before it knows
    /// the pid alone.
    Gateway,
    /// A command line that cron starts once a minute. It is nobody's parent by the time its workers end.
    CommandLine,
}

/// How an attempt ended in truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its worker was there and then was not.
    Died,
    /// Its provider refused it, as its log says.
    Refused,
    /// The same, while its log looked older than it by a clock that was set back: whether a later look tells it from a death depends on what
    /// is written after it.
    Unsure,
    /// It said something and left.
    Talked,
    /// It came to an end of its own that the board or the log tells.
    Told,
}

/// A profile's key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) is_refused: bool,
    /// What its configuration says, as a number, and when it last said something else.
    pub(super) version: u64,
    pub(super) changed: Option<Time>,
    /// When its file was last written.
    pub(super) written: Option<Time>,
}

/// What one night has of it.
#[derive(Debug, Clone)]
pub(super) struct Trials {
    /// A chance of its own, so that everything else of a night is as it would be without this.
    pub(super) chance: Chance,
    pub(super) on: bool,
    pub(super) dispatch: Dispatch,
    /// Workers call themselves `hermes`; some write over their environment as well.
    renames: bool,
    overwrites: bool,
    pub(super) has_fallbacks: bool,
    /// A night in which providers limit for 8 to 30 hours.
    pub(super) is_long: bool,
    /// The gateway starts again under each worker that is refused.
    falls: bool,
    /// Orchestrators decide by command line.
    decides_by_hand: bool,
    veils: bool,
    /// In this night some tasks kill every worker that works on them.
    has_hopeless: bool,
    hopeless: BTreeSet<String>,
    /// Tasks whose log nobody can read, for good.
    pub(super) veiled: BTreeMap<String, &'static str>,
    /// By task and run, with the second of the night.
    pub(super) ends: BTreeMap<(String, i64), (End, i64)>,
    /// Attempts that give no sign of life until they end.
    pub(super) silent: BTreeSet<(String, i64)>,
    /// Attempts that will finish, however long they are silent.
    pub(super) healthy: BTreeSet<(String, i64)>,
    /// What orchestrators unblocked by command line, and when.
    pub(super) by_hand: BTreeSet<(String, Time)>,
    pub(super) keys: BTreeMap<String, Key>,
    /// By profile and what its configuration said: the second in which a pass first remembered that.
    pub(super) remembered: BTreeMap<(String, u64), i64>,
    /// When a gateway that was killed is started again.
    returns: Option<i64>,
    /// Protocol violations in a row.
    violations: BTreeMap<String, u32>,
}

impl Trials {
    pub(super) fn new(seed: u64, taught: bool) -> Trials {
        let mut chance = Chance(seed ^ 0x7472_6961_6c73_0001);
        let on = taught && chance.percent(75);
        let dispatch = match chance.below(10) {
            _ if !on => Dispatch::Mixed,
            0..=1 => Dispatch::Mixed,
            2..=5 => Dispatch::Gateway,
            _ => Dispatch::CommandLine,
        };
        let mut has = |percent| on && chance.percent(percent);
        let (renames, overwrites) = (has(40), has(20));
        let (bare, is_long, falls) = (has(35), has(6), has(30));
        let (decides_by_hand, veils, has_hopeless) = (has(30), has(25), has(15));
        Trials {
            chance,
            on,
            dispatch,
            renames,
            overwrites,
            has_fallbacks: !bare,
            is_long,
            falls,
            decides_by_hand,
            veils,
            has_hopeless,
            hopeless: BTreeSet::new(),
            veiled: BTreeMap::new(),
            ends: BTreeMap::new(),
            silent: BTreeSet::new(),
            healthy: BTreeSet::new(),
            by_hand: BTreeSet::new(),
            keys: BTreeMap::new(),
            remembered: BTreeMap::new(),
            returns: None,
            violations: BTreeMap::new(),
        }
    }

    /// How the worker of an attempt shows itself.
    pub(super) fn guise(&mut self) -> Guise {
        match () {
            () if self.overwrites && self.chance.percent(25) => Guise::Overwritten,
            () if self.renames => Guise::Renamed,
            () => Guise::Plain,
        }
    }

    /// A task is made: perhaps nobody will ever read its log, perhaps it kills its workers.
    pub(super) fn mark(&mut self, task: &str) {
        let why = [
            "it is a fifo",
            "it is a symbolic link",
            "permission denied",
            "no line ends in its last 1024 KiB",
        ];
        if self.veils && self.chance.percent(20) {
            let why = self.chance.pick(&why).copied().unwrap_or("it is a fifo");
            self.veiled.insert(task.to_owned(), why);
        }
        if self.has_hopeless && self.chance.percent(35) {
            self.hopeless.insert(task.to_owned());
        }
    }

    fn is_clean(&self, job: &(String, i64)) -> Option<bool> {
        self.ends.get(job).map(|(end, _)| !matches!(end, End::Died | End::Unsure))
    }

    /// What stands in the way of a profile's own requests.
    pub(super) fn is_refused(&self, profile: &str) -> bool {
        self.keys.get(profile).is_some_and(|k| k.is_refused)
    }
}

/// Whether the log of a task cannot be read now.
pub(super) fn is_veiled(truth: &Truth, task: &str) -> bool {
    truth.trials.veiled.contains_key(task)
        || (!truth.calm && truth.logs.get(task).is_some_and(|l| l.unreadable))
}

/// An attempt came to its end in truth. What its log cannot tell, nobody knows.
pub(super) fn ended(truth: &mut Truth, task: &str, run: i64, end: End) {
    // Of a log whose last line is from before its attempt began, by a clock that was set back meanwhile, none is this attempt's.
    let is_old = truth.logs.get(task).is_some_and(|log| log.written < log.began);
    let end = match end {
        End::Refused if is_veiled(truth, task) => End::Died,
        End::Refused if is_old => End::Unsure,
        end => end,
    };
    let second = truth.second;
    if end == End::Died {
        truth.wants.died(task, run);
    }
    truth.trials.ends.insert((task.to_owned(), run), (end, second));
}

/// How an attempt ends by its plan.
pub(super) fn end_of(plan: Plan) -> End {
    match plan {
        Plan::Die | Plan::DieLeaving | Plan::Hang => End::Died,
        Plan::Refused(_) | Plan::Starve(_) => End::Refused,
        Plan::Talk => End::Talked,
        Plan::Finish | Plan::Exhaust | Plan::Ask | Plan::AskAndStay | Plan::Decide => End::Told,
    }
}

/// Where the trials have their own word about how an attempt goes: the plan, and after how many seconds it comes true.
pub(super) fn fate(truth: &mut Truth, task: &str, profile: &str, is_card: bool) -> Option<(Plan, i64, bool)> {
    let trials = &mut truth.trials;
    if !trials.on || truth.calm {
        return None;
    }
    if trials.is_refused(profile) {
        let soon = trials.chance.between(5, 120);
        return Some((Plan::Refused(Cause::Credential), soon, false));
    }
    if truth.providers.iter().zip(0..).any(|(p, at)| p.refuses.is_some() && is_at(profile, at)) {
        return None;
    }
    let trials = &mut truth.trials;
    if trials.hopeless.contains(task) {
        return Some((Plan::Die, trials.chance.between(20, 200), false));
    }
    match trials.chance.below(100) {
        0..4 => Some((Plan::Talk, trials.chance.between(10, 200), false)),
        4..8 if !is_card => Some((Plan::Finish, GENERATION, true)),
        8..10 if !is_card => Some((Plan::Finish, BUILD, true)),
        10..14 if !is_card => Some((Plan::DieLeaving, trials.chance.between(3_000, 3_590), true)),
        // In a long night nothing but the limit is to be seen.
        14..95 if trials.is_long => {
            let done = if is_card { Plan::Decide } else { Plan::Finish };
            Some((done, trials.chance.between(60, 900), false))
        }
        _ => None,
    }
}

/// An attempt that nobody will hear of until it ends.
pub(super) fn hush(truth: &mut Truth, task: &str, run: i64, plan: Plan, lasts: i64) {
    let key = (task.to_owned(), run);
    if plan == Plan::Finish {
        truth.trials.healthy.insert(key.clone());
        truth.tally.hushed += 1;
    }
    truth.trials.silent.insert(key);
    if let Some(fare) = truth.fares.get_mut(task) {
        fare.in_tool = plan == Plan::Finish && lasts == BUILD;
        fare.loops = false;
    }
}

fn is_at(profile: &str, provider: usize) -> bool {
    PROFILES.iter().any(|(name, at, _)| *name == profile && *at == provider)
}

/// What a real reader makes of the log of a worker that quotes a failure in its last words.
pub(super) fn talk(truth: &mut Truth, task: &str) -> LogEnd {
    let words = [
        "HTTP 429: this is what the server under test answers now",
        "HTTP 402: Payment Required is what the billing endpoint answers now",
        "API call failed after 3 retries: HTTP 401: that was the report of the tool",
        "Rate limited after 3 retries, says the page; I leave it at that.",
    ];
    let words = truth.trials.chance.pick(&words).copied().unwrap_or_default();
    let text = format!(
        "Query: work kanban task {task}\nInitializing agent...\n\n ─  ⚕ Hermes  ────────────────\n\n     {words}\n\n \
         ─────────────────────────────\n\nResume this session with:\n  hermes --resume 20261121_050709_2e9af5\n\n\
         Session:        20261121_050709_2e9af5\nDuration:       3s\nMessages:       2 (1 user, 0 tool calls)\n"
    );
    let (mut reader, mut out, mut offset) = (Reader::new(task), Vec::new(), 0);
    for line in text.lines() {
        reader.line(&Line { text: line, offset, is_cut: false, seen: truth.now }, &mut out);
        offset += line.len() as u64 + 1;
    }
    reader.end()
}

/// What a gateway that collected a worker books; `None` where nobody collected it.
pub(super) fn collected(truth: &Truth, t: &Task, own: i64) -> Option<bool> {
    if truth.trials.dispatch != Dispatch::Gateway || t.claimer_pid() != Some(own) {
        return None;
    }
    let alive = t.worker_pid.is_some_and(|pid| {
        matches!(truth.machine.who(pid), Some(Who::Worker(task, run)) if *task == t.id && Some(*run) == t.current_run)
    });
    truth.trials.is_clean(&(t.id.clone(), t.current_run?)).filter(|_| !alive)
}

/// The booking of a worker that its own gateway collected.
pub(super) fn booked(sim: &Sim, d: &Detail, is_clean: bool) -> Vec<Change> {
    let pid = d.task.worker_pid.unwrap_or(0);
    if !is_clean {
        sim.truth.borrow_mut().trials.violations.remove(&d.task.id);
        return failed(d, "crashed", "crashed", &format!("pid {pid} killed by signal 9"), FAILURE_LIMIT);
    }
    let error =
        "worker exited cleanly (rc=0) without calling kanban_complete or kanban_block — protocol violation";
    let streak = {
        let mut truth = sim.truth.borrow_mut();
        let n = truth.trials.violations.entry(d.task.id.clone()).or_insert(0);
        *n += 1;
        *n
    };
    if streak >= STREAK {
        return failed(d, "protocol_violation", "crashed", error, d.task.failures + 1);
    }
    let mut changes = vec![Change::SetStatus(Status::Ready), Change::ReleaseClaim];
    changes.extend(end_run(d, "crashed", "crashed", Some(error)));
    changes.push(Change::SetFailures { count: d.task.failures, error: Some(error.into()) });
    changes.push(in_run("protocol_violation", json!({"pid": pid, "error": error}), d.task.current_run));
    changes
}

/// A worker whose provider refused it is about to end: perhaps its gateway is started again just now.
pub(super) fn under(sim: &Sim) {
    let falls = {
        let truth = sim.truth.borrow();
        truth.trials.falls && truth.trials.dispatch == Dispatch::Gateway
    };
    if falls {
        upheaval::stop_dispatcher(sim);
        upheaval::start_dispatcher(sim);
        sim.truth.borrow_mut().tally.restarts += 1;
    }
}

/// What is due by itself.
pub(super) fn due(sim: &Sim) {
    let back = {
        let mut truth = sim.truth.borrow_mut();
        let second = truth.second;
        let back = truth.trials.returns.is_some_and(|at| at <= second);
        if back {
            truth.trials.returns = None;
        }
        back
    };
    if back {
        upheaval::start_dispatcher(sim);
    }
}

/// An orchestrator does by command line what its card is about, and says no more in it. Whether it does.
pub(super) fn decides(sim: &Sim, card: &Detail) -> bool {
    let (by_hand, now) = {
        let mut truth = sim.truth.borrow_mut();
        let by_hand = truth.trials.decides_by_hand && !truth.calm && truth.trials.chance.percent(70);
        (by_hand, truth.now)
    };
    let Some((source, _)) = card::read_title(&card.task.title).filter(|_| by_hand) else { return false };
    let mut board = sim.open();
    let Some(d) = look(&mut *board, &source) else { return false };
    let stuck = matches!(d.task.status, Status::Blocked | Status::Scheduled);
    if !stuck || !act(&mut *board, now, &d, unblocked(&d)) {
        return false;
    }
    let mut truth = sim.truth.borrow_mut();
    truth.tell(|| format!("the orchestrator of {} unblocks {source} by command line", card.task.id));
    super::wants::freed(&mut truth, &source);
    truth.trials.by_hand.insert((source, now));
    truth.tally.by_hand += 1;
    true
}

/// Long hours in which one provider limits, or two, and nothing else is wrong.
pub(super) fn set_limits(sim: &Sim) -> i64 {
    let mut truth = sim.truth.borrow_mut();
    let hours = truth.trials.chance.between(8, 31);
    let two = truth.trials.chance.percent(50);
    let cause = if truth.trials.chance.percent(50) { Cause::RateLimit } else { Cause::Quota };
    let until = truth.second + hours * 3_600;
    let count = if two { 2 } else { 1 };
    for p in truth.providers.iter_mut().take(count) {
        p.refuses = Some((cause, until));
    }
    truth.tally.long += 1;
    truth.tell(|| format!("{count} providers limit for {hours} hours: {cause}"));
    until
}

/// A pass wrote down what it remembers.
pub(super) fn remembered(truth: &mut Truth) {
    let second = truth.second;
    for (name, _, _) in PROFILES {
        let says = truth.trials.keys.get(name).map_or(0, |k| k.version);
        let known = truth.memory.newest(&format!("profile:{ROOT}:{name}:"));
        if known.is_some_and(|(key, _)| key.ends_with(&format!(":{says:016x}"))) {
            truth.trials.remembered.entry((name.to_owned(), says)).or_insert(second);
        }
    }
}

/// A worker of the task ended; a note for the next look at who is healthy.
pub(super) fn forget(truth: &mut Truth, job: &Job) {
    let key = (job.task.clone(), job.run);
    truth.trials.silent.remove(&key);
    truth.trials.healthy.remove(&key);
}
