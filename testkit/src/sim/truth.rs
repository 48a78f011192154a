//! What is true in a simulated night, whether or not any program can see it.

use std::collections::{BTreeMap, VecDeque};

use shared::base::cause::Cause;
use shared::base::time::Time;
use shared::board::Detail;
use shared::logs::cache::Cache;
use shared::logs::provider::Profile;
use shared::logs::{Evidence, LogEnd, MAX_EARLIER};

use super::fares::Fare;
use super::machine::{Guise, Machine};
use super::trees::Tree;
use super::trials::{self, Trials};
use super::wants::{self, Need, Wants};
use crate::chance::Chance;

/// Lines of the story that are kept for the one who has to find out what went wrong.
const STORY: usize = 160;

/// How many kinds of needs there are.
pub(super) const NEEDS: usize = Need::ALL.len();

/// A provider as it is.
#[derive(Debug, Clone)]
pub(super) struct Provider {
    pub(super) name: &'static str,
    /// What it refuses requests with, and the second of the night in which it stops doing so.
    pub(super) refuses: Option<(Cause, i64)>,
}

impl Provider {
    pub(super) fn host(&self) -> String {
        format!("api.{}.example", self.name)
    }
}

/// Who works, and with whom: names, the provider's place in the list, and fallbacks.
pub(super) const PROFILES: [(&str, usize, &[&str]); 5] = [
    ("luna", 0, &["nova", "vega"]),
    ("vega", 0, &["nova"]),
    ("nova", 1, &["luna", "orion"]),
    ("orion", 2, &[]),
    ("tuesday", 2, &[]),
];

/// Profiles that work on tasks.
pub(super) const WORKERS: [&str; 4] = ["luna", "vega", "nova", "orion"];

/// How a worker's attempt goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// It completes its task.
    Finish,
    /// It dies and leaves no word.
    Die,
    /// It dies, and a tool of it lives on for some time.
    DieLeaving,
    /// It lives and does nothing any more.
    Hang,
    /// Its provider refuses it for good: its log says so, and it ends.
    Refused(Cause),
    /// Its provider refuses it again and again, and it goes on trying.
    Starve(Cause),
    /// Its iterations are used up.
    Exhaust,
    /// It says something that reads like a failure, and leaves.
    Talk,
    /// It asks a person and ends.
    Ask,
    /// It asks a person and lives on.
    AskAndStay,
    /// It decides about the card it works on.
    Decide,
}

/// A worker at work.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) task: String,
    pub(super) run: i64,
    /// Its process here; `None` on another machine.
    pub(super) pid: Option<i64>,
    pub(super) profile: String,
    pub(super) plan: Plan,
    /// The second of the night in which its plan comes true.
    pub(super) ends: i64,
    /// The second of its next sign of life.
    pub(super) beats: i64,
}

/// What a task's log says of its newest attempt.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub(super) end: LogEnd,
    pub(super) refusals: Vec<Evidence>,
    pub(super) written: Time,
    /// When the newest attempt began that writes to it.
    pub(super) began: Time,
    /// The attempt that wrote the end: an older one may still live and write to the same file.
    pub(super) by: i64,
    pub(super) unreadable: bool,
    /// How the attempts before it ended, the newest of them first.
    pub(super) earlier: Vec<Option<Evidence>>,
}

impl Log {
    /// How the attempts ended that it tells of, for the one that writes on in the same file.
    pub(super) fn before(&self) -> Vec<Option<Evidence>> {
        let last = match &self.end {
            LogEnd::Ended(evidence) => Some(evidence.clone()),
            _ => None,
        };
        std::iter::once(last).chain(self.earlier.iter().cloned()).take(MAX_EARLIER).collect()
    }
}

/// Everything that is true.
pub(super) struct Truth {
    pub(super) chance: Chance,
    /// A chance of its own for trees and logs of agents, so that everything else of a night is as it would be without them.
    pub(super) more: Chance,
    /// Tasks have working trees in this night, and agents their logs.
    pub(super) has_trees: bool,
    /// What trials on real boards taught.
    pub(super) trials: Trials,
    /// What needs a person.
    pub(super) wants: Wants,
    /// In a night of [`super::recovery`]: tasks that stand still.
    pub(super) stops: Option<super::recovery::Stops>,
    /// By folder.
    pub(super) trees: BTreeMap<String, Tree>,
    /// Where each task is worked on.
    pub(super) folders: BTreeMap<String, String>,
    /// By task: how its newest attempt fares.
    pub(super) fares: BTreeMap<String, Fare>,
    /// The second in which the wall clock was last set; before the night where it never was.
    pub(super) clock_set: i64,
    /// What our programs remembered was lost after the clock was set by more than they let pass.
    pub(super) forgot_clock: bool,
    /// The clock was set so at some time.
    pub(super) clock_jumped: bool,
    /// Some pass of this boot remembered the clock.
    pub(super) remembers: bool,
    /// The wall clock, which people and programs may set.
    pub(super) now: Time,
    /// Seconds since the night began, which nobody can set.
    pub(super) second: i64,
    pub(super) machine: Machine,
    pub(super) providers: Vec<Provider>,
    pub(super) jobs: Vec<Job>,
    pub(super) logs: BTreeMap<String, Log>,
    /// The dispatcher's process.
    pub(super) dispatcher: Option<i64>,
    pub(super) next_tick: i64,
    /// What our programs remember between passes.
    pub(super) memory: Cache,
    /// Everything is well from now on.
    pub(super) calm: bool,
    /// Changes whenever anything but the pass did something.
    pub(super) stir: u64,
    /// Every task that was ever made.
    pub(super) known: Vec<String>,
    pub(super) tally: Tally,
    /// What each program last said of a task it skipped.
    pub(super) left: BTreeMap<(String, &'static str), String>,
    pub(super) story: VecDeque<String>,
}

/// What happened in a night, or in many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Nights.
    pub nights: u64,
    /// Passes of our programs.
    pub passes: u64,
    /// Steps that were applied.
    pub applied: u64,
    /// Steps that found the world moved.
    pub moved: u64,
    /// Passes killed between two writes.
    pub killed: u64,
    /// Times something else happened in the middle of a pass.
    pub disturbed: u64,
    /// Workers that died without a word, reboots included.
    pub deaths: u64,
    /// Refusals by providers that ended an attempt.
    pub refusals: u64,
    /// Reboots, renames and clock jumps.
    pub upheavals: u64,
    /// Living workers that heal stopped.
    pub stopped: u64,
    /// Living workers whose task heal handed to a person.
    pub unwell: u64,
    /// Dead workers whose tree others changed, and that heal said so of.
    pub drifts: u64,
    /// Strangers that Hermes' own dispatcher killed because they had a dead worker's pid.
    pub hermes_killed_strangers: u64,
    /// Tasks that Hermes' own dispatcher started a second time beside a living worker.
    pub hermes_doubles: u64,
    /// Times the clock slipped by seconds.
    pub slips: u64,
    /// Gateways that were started again.
    pub restarts: u64,
    /// Configurations that were written without a change that decides.
    pub rewrites: u64,
    /// Healthy attempts that gave no sign of life for a long time.
    pub hushed: u64,
    /// Attempts whose last words quote a failure.
    pub talked: u64,
    /// Attempts that a provider refused for their key.
    pub keys: u64,
    /// Tasks that an orchestrator unblocked by command line.
    pub by_hand: u64,
    /// Nights in which providers limit for 8 to 30 hours.
    pub long: u64,
    /// Tasks that were finished.
    pub done: u64,
    /// Tasks that were with a person in the end.
    pub with_person: u64,
    /// What needed a person, and what was said to.
    pub needs: Needs,
    /// The longest time until everything was settled once the world was well, in minutes.
    pub slowest: u64,
}

/// What needed a person by the truth, and what was said to, in the rounds of one night or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Rounds after which it was asked.
    pub rounds: u64,
    /// Needs by the truth, one for each round and each task or finding, by kind.
    pub needed: [u64; NEEDS],
    /// Of those, that lasted for more than one round and were not said, by kind.
    pub missed: [u64; NEEDS],
    /// What was said to need a person, one for each round and each task or finding.
    pub said: u64,
    /// Of those, what did not, for more than one round.
    pub untrue: u64,
}

impl Needs {
    fn add(&mut self, other: &Needs) {
        self.rounds += other.rounds;
        self.said += other.said;
        self.untrue += other.untrue;
        for (sum, more) in self.needed.iter_mut().zip(other.needed) {
            *sum += more;
        }
        for (sum, more) in self.missed.iter_mut().zip(other.missed) {
            *sum += more;
        }
    }

    /// The kinds, in the order of the figures by kind.
    pub fn kinds() -> [&'static str; NEEDS] {
        Need::ALL.map(|(_, what)| what)
    }
}

impl Tally {
    /// Adds another one.
    pub fn add(&mut self, other: &Tally) {
        self.nights += other.nights;
        self.passes += other.passes;
        self.applied += other.applied;
        self.moved += other.moved;
        self.killed += other.killed;
        self.disturbed += other.disturbed;
        self.deaths += other.deaths;
        self.refusals += other.refusals;
        self.upheavals += other.upheavals;
        self.stopped += other.stopped;
        self.unwell += other.unwell;
        self.drifts += other.drifts;
        self.hermes_killed_strangers += other.hermes_killed_strangers;
        self.hermes_doubles += other.hermes_doubles;
        self.slips += other.slips;
        self.restarts += other.restarts;
        self.rewrites += other.rewrites;
        self.hushed += other.hushed;
        self.talked += other.talked;
        self.keys += other.keys;
        self.by_hand += other.by_hand;
        self.long += other.long;
        self.done += other.done;
        self.with_person += other.with_person;
        self.needs.add(&other.needs);
        self.slowest = self.slowest.max(other.slowest);
    }
}

impl Truth {
    pub(super) fn new(seed: u64, taught: bool, asked: bool) -> Truth {
        let mut chance = Chance(seed);
        let up = chance.between(200, 400_000);
        let mut more = Chance(seed ^ 0x7472_6565_7300_0001);
        let has_trees = more.percent(75);
        let provider = |name| Provider { name, refuses: None };
        Truth {
            chance,
            more,
            has_trees,
            trials: Trials::new(seed, taught),
            wants: Wants::new(seed, asked),
            stops: None,
            trees: BTreeMap::new(),
            folders: BTreeMap::new(),
            fares: BTreeMap::new(),
            clock_set: i64::MIN,
            forgot_clock: false,
            clock_jumped: false,
            remembers: false,
            now: Time(1_800_000_000),
            second: 0,
            machine: Machine::new("harbour", up),
            providers: ["moon", "star", "sun"].map(provider).to_vec(),
            jobs: Vec::new(),
            logs: BTreeMap::new(),
            dispatcher: None,
            next_tick: 0,
            memory: Cache::in_memory(),
            calm: false,
            stir: 0,
            known: Vec::new(),
            tally: Tally { nights: 1, ..Tally::default() },
            left: BTreeMap::new(),
            story: VecDeque::new(),
        }
    }

    pub(super) fn tell(&mut self, line: impl FnOnce() -> String) {
        if self.story.len() >= STORY {
            self.story.pop_front();
        }
        let (second, now) = (self.second, self.now.0);
        self.story.push_back(format!("{second:>6} {now} {}", line()));
    }

    pub(super) fn provider_of(&self, profile: &str) -> Option<&Provider> {
        let (_, at, _) = PROFILES.iter().find(|(name, _, _)| *name == profile)?;
        self.providers.get(*at)
    }

    /// What its configuration says.
    pub(super) fn profile(&self, name: &str) -> Option<Profile> {
        let (_, at, fallbacks) = PROFILES.iter().find(|(n, _, _)| *n == name)?;
        let provider = self.providers.get(*at)?;
        Some(Profile {
            name: name.into(),
            provider: Some(provider.name.into()),
            endpoint: Some(provider.host()),
            fallbacks: fallbacks
                .iter()
                .filter(|_| self.trials.has_fallbacks)
                .map(|f| (*f).to_owned())
                .collect(),
            written: self.trials.keys.get(name).and_then(|k| k.written),
            says: Some(self.trials.keys.get(name).map_or(0, |k| k.version)),
            ..Profile::default()
        })
    }

    /// Whether the worker of this run lives, here or anywhere.
    ///
    /// One that wrote over all that names it is seen by the pid that the board has of it, or by nobody.
    pub(super) fn lives(&self, d: &Detail) -> bool {
        let (task, run) = (&d.task.id, d.task.current_run);
        let away = |j: &Job| j.pid.is_none() && j.task == *task && Some(j.run) == run;
        let seen = |(pid, _): &(i64, i64)| {
            self.machine.guise(*pid) != Some(Guise::Overwritten) || d.task.worker_pid == Some(*pid)
        };
        self.machine.workers_of(task).iter().any(seen) || self.jobs.iter().any(away)
    }

    /// An attempt came to its end.
    pub(super) fn ended(&mut self, job: &Job) {
        trials::ended(self, &job.task, job.run, trials::end_of(job.plan));
        wants::ended(self, job);
        super::recovery::ended(self, job);
        trials::forget(self, job);
    }
}
