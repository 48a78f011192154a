//! How long a task stands still after its worker died or was refused: nights at the shipped timers, and the same nights with Hermes
//! alone. Nothing else goes wrong in them: no reboots, no slipped clocks, nobody at the board.

use std::collections::BTreeMap;

use shared::base::cause::Cause;

use super::passes::{Fortune, Program};
use super::trials::Dispatch;
use super::truth::{Job, Plan, Truth};
use super::{Engine, Night, Sim, each_seed};

/// The length of a night in seconds: eight hours.
const NIGHT: i64 = 28_800;
/// `budget-check` comes in every eighth round, as its timer does beside the others.
const BUDGET: i64 = 8;

/// What starts what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arm {
    /// Seconds between two rounds of the watchers; `None`: Hermes alone.
    pub interval: Option<i64>,
    /// A gateway dispatches, and collects its own workers; else cron starts `hermes kanban dispatch` once a minute.
    pub gateway: bool,
}

/// Why a task stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// Its worker died without a word.
    Died,
    /// Its provider limits requests for 10 to 60 minutes.
    Limited,
    /// A quota at its provider is used up for the rest of the night.
    Quota,
    /// The key of its provider is refused for the rest of the night.
    Key,
}

/// The stops of a night, or of many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// For each stop the seconds until an attempt began that was not refused; `None` where none began before the morning.
    pub stops: BTreeMap<Stop, Vec<Option<i64>>>,
    /// Attempts that ended on a refusal.
    pub refused: u64,
    /// Tasks that were done in the morning, and all tasks.
    pub done: u64,
    /// All tasks, without cards.
    pub tasks: u64,
}

impl Recovery {
    /// Adds another one.
    pub fn add(&mut self, other: Recovery) {
        for (stop, mut seconds) in other.stops {
            self.stops.entry(stop).or_default().append(&mut seconds);
        }
        self.refused += other.refused;
        self.done += other.done;
        self.tasks += other.tasks;
    }
}

/// What a night knows of its stops.
#[derive(Debug, Clone, Default)]
pub(super) struct Stops {
    open: BTreeMap<String, (Stop, i64)>,
    over: Recovery,
}

/// Lets the night of a seed pass.
///
/// # Panics
/// A promise was broken in it.
pub fn recovery(seed: u64, arm: Arm) -> Recovery {
    let night = Night { is_plain: true, is_taught: false, ..Night::new(seed) }.on(Engine::Memory);
    let sim = Sim::new(night, None);
    {
        let mut truth = sim.truth.borrow_mut();
        truth.stops = Some(Stops::default());
        truth.machine.is_tidy = true;
        truth.trials.dispatch = if arm.gateway { Dispatch::Gateway } else { Dispatch::CommandLine };
    }
    sim.set_out();
    let mut faults = faults(&mut sim.truth.borrow_mut());
    let mut round = 0;
    while sim.truth.borrow().second < NIGHT {
        let second = sim.truth.borrow().second;
        faults.retain(|(at, provider, refuses)| {
            let is_due = *at <= second;
            if is_due {
                sim.truth.borrow_mut().providers[*provider].refuses = Some(*refuses);
            }
            !is_due
        });
        sim.pass_time(30);
        let due = arm.interval.map(|interval| sim.truth.borrow().second / interval);
        if due.is_some_and(|n| n > round) {
            round = due.unwrap_or_default();
            for program in Program::ALL.into_iter().filter(|p| *p != Program::Budget || round % BUDGET == 0) {
                super::passes::run(&sim, program, Fortune { depth: 0, disturbed: false, killed_at: None });
            }
        }
        assert!(!sim.is_broken(), "night {seed}: {:?}", sim.broken.borrow());
    }
    let all = sim.all();
    let mut truth = sim.truth.borrow_mut();
    let refused = truth.tally.refusals;
    let Stops { open, mut over } = truth.stops.take().unwrap_or_default();
    for (task, (stop, _)) in open {
        // What was finished by other means did not stand still until the morning.
        if all.get(&task).is_some_and(|d| d.task.status.frees_children()) {
            continue;
        }
        over.stops.entry(stop).or_default().push(None);
    }
    let work = all.values().filter(|d| !d.task.is_card());
    over.tasks = work.clone().count() as u64;
    over.done = work.filter(|d| d.task.status.frees_children()).count() as u64;
    over.refused = refused;
    over
}

/// The nights of the seeds from `from` to before `to`, on as many threads as there are processors.
///
/// # Panics
/// A promise was broken in one.
pub fn recoveries(from: u64, to: u64, arm: Arm) -> Recovery {
    let mut sum = Recovery::default();
    for part in each_seed(from, to, |seed| recovery(seed, arm)) {
        sum.add(part);
    }
    sum
}

/// When which provider begins to refuse, with what, and until when, in seconds of the night. At most two of three.
fn faults(truth: &mut Truth) -> Vec<(i64, usize, (Cause, i64))> {
    let mut all = Vec::new();
    for provider in 0..2 {
        let at = truth.chance.between(0, 3_600);
        let fault = match truth.chance.below(4) {
            0 => (Cause::RateLimit, at + truth.chance.between(600, 3_600)),
            1 => (Cause::Quota, NIGHT),
            2 if provider == 0 => (Cause::Credential, NIGHT),
            _ => continue,
        };
        all.push((at, provider, fault));
    }
    all
}

/// How an attempt goes in such a night, and after how many seconds it comes to that.
pub(super) fn fate(truth: &mut Truth, profile: &str, is_card: bool) -> (Plan, i64) {
    if let Some((cause, _)) = truth.provider_of(profile).and_then(|p| p.refuses) {
        return (Plan::Refused(cause), truth.chance.between(5, 120));
    }
    match truth.chance.below(100) {
        _ if is_card => (Plan::Decide, truth.chance.between(60, 300)),
        0..25 => (Plan::Die, truth.chance.between(60, 3_000)),
        _ => (Plan::Finish, truth.chance.between(600, 5_400)),
    }
}

/// An attempt begins.
pub(super) fn began(truth: &mut Truth, task: &str, plan: Plan) {
    let second = truth.second;
    let Some(stops) = truth.stops.as_mut().filter(|_| !matches!(plan, Plan::Refused(_))) else { return };
    if let Some((stop, since)) = stops.open.remove(task) {
        stops.over.stops.entry(stop).or_default().push(Some(second - since));
    }
}

/// An attempt ended.
pub(super) fn ended(truth: &mut Truth, job: &Job) {
    let second = truth.second;
    let stop = match job.plan {
        Plan::Die => Stop::Died,
        Plan::Refused(Cause::RateLimit) => Stop::Limited,
        Plan::Refused(Cause::Quota) => Stop::Quota,
        Plan::Refused(Cause::Credential) => Stop::Key,
        _ => return,
    };
    // An attempt that decides about a card does not count as work that stands still.
    let is_work = truth.known.contains(&job.task) && job.profile != "tuesday";
    if let Some(stops) = truth.stops.as_mut().filter(|_| is_work) {
        stops.open.entry(job.task.clone()).or_insert((stop, second));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_done_by_the_morning_than_by_the_dispatcher_alone() {
        let of = |interval| recoveries(0, 12, Arm { interval, gateway: true });
        let (alone, watched) = (of(None), of(Some(120)));
        assert_eq!(alone.tasks, watched.tasks, "the same evenings");
        assert!(watched.done > alone.done, "{} and {} of {}", alone.done, watched.done, watched.tasks);
        let all: Vec<_> = watched.stops.values().flatten().collect();
        assert!(all.iter().any(|s| s.is_some()) && watched.refused > 0, "{watched:?}");
    }

    #[test]
    fn the_same_night_goes_the_same_way() {
        let arm = Arm { interval: Some(120), gateway: false };
        assert_eq!(recovery(7, arm), recovery(7, arm));
    }
}
