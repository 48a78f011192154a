//! Nights of three hosts on one board: each with harnesses and watchers, cut off, switched off and suspended, on a server from which another
//! one takes over. One seed is one night, the same every time.
//!
//! `observe`, `decide`, the judgement of processes, the last looks before a write, the changes of every command and the guards of a step are
//! the real ones; a board is [`MemoryBoard`], which keeps hosts, leases, epochs and timelines as PostgreSQL does. Told here in small is the
//! harness (`board run`), whose code needs real processes: when it claims, when it beats, what it takes for its own, its fence, and how
//! long it tries to say how its command ended.

mod laws;
mod passes;
mod strikes;
mod work;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use shared::base::error::{Error, Kind, Result};
use shared::base::time::Time;
use shared::board::hermes::{self, Trail};
use shared::board::{Board, Change, Detail, NewTask, Outcome, Status, Step};
use shared::config::Config;
use shared::logs::LogEnd;
use shared::logs::cache::Cache;

use self::passes::Program;
use self::work::Worker;
use super::laws::unsettled;
use super::machine::Machine;
use crate::chance::Chance;
use crate::memory::MemoryBoard;

/// The hosts, as their claims name them.
const HOSTS: [&str; 3] = ["harbour@1", "quay@2", "reef@3"];
/// Who works on each of them.
const SLOTS: [&str; 3] = ["luna", "nova", "tuesday"];
/// How long a claim lasts, in seconds: `board.claim_ttl`.
const TTL: i64 = 900;
/// `host.gone_after`, in seconds.
const GONE: i64 = 1_800;
/// The clock goes on by so many seconds at a time.
const TICK: i64 = 5;
/// Lines of the story that are kept.
const STORY: usize = 240;
/// Rounds of two minutes, and then rounds of ten, after which a well world must be settled.
const SHORT_ROUNDS: u32 = 45;
const LONG_ROUNDS: u32 = 190;

const NO_ANSWER: &str = "the server of this board does not answer";

/// A guard that is left out, so that it is seen whether the laws notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// The write of a pass does not compare the task's history.
    History,
    /// A pass decides for the whole board although another host did meanwhile.
    Epoch,
    /// What was seen before another server took over is written after it.
    Timeline,
    /// A worker's commands ask for the run alone, and not for the claim.
    Claim,
    /// A harness that cannot reach the board does not stop its command.
    Fence,
    /// A harness does not stop its command where another attempt has the task.
    Taken,
    /// A pass whose own host was away judges the others.
    Doubt,
    /// A claim that ran out is taken for its host being gone.
    Patience,
    /// A host that was found gone is not looked for again before the write.
    Back,
    /// A task is claimed while a process of this host works on it.
    Living,
}

impl Without {
    /// All of them.
    pub const ALL: [Without; 10] = [
        Without::History,
        Without::Epoch,
        Without::Timeline,
        Without::Claim,
        Without::Fence,
        Without::Taken,
        Without::Doubt,
        Without::Patience,
        Without::Back,
        Without::Living,
    ];
}

macro_rules! sums {
    ($($(#[$doc:meta])* $name:ident: $words:literal,)*) => {
        /// What happened in a night, or in many.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Sum {
            $($(#[$doc])* #[doc = $words] pub $name: u64,)*
        }

        impl Sum {
            /// Adds another one.
            pub fn add(&mut self, other: &Sum) {
                $(self.$name += other.$name;)*
            }

            /// Each with its words.
            pub fn rows(&self) -> Vec<(&'static str, u64)> {
                vec![$(($words, self.$name)),*]
            }
        }
    };
}

sums! {
    nights: "nights",
    passes: "passes of our programs",
    lost: "passes that lost the board",
    applied: "steps applied",
    moved: "steps that found the world moved",
    overtaken: "of these: another host had decided meanwhile",
    changed_over: "of these: another server had taken over",
    came_back: "of these: heal ran again on the host that was gone",
    claims: "tasks claimed",
    ends: "ends of tasks that were acknowledged",
    refused: "words of workers that the board refused",
    deaths: "workers killed",
    orphans: "harnesses killed, their workers going on",
    limited: "attempts that a provider refused",
    cuts: "times a host was cut off for less than its lease",
    long_cuts: "times a host was cut off for longer",
    most: "times most hosts were cut off or suspended at once",
    dropped: "writes whose answer was lost",
    unsent: "writes that were lost",
    sleeps: "times a host was suspended",
    offs: "times a host was switched off",
    no_heal: "times no heal ran on a host that works",
    burnt: "hosts that never came back",
    failovers: "times another server took over and knew all",
    lossy: "times another server took over and lost the last words",
    taken: "acknowledged ends that were lost with it",
    gone: "tasks that went on elsewhere since their host was gone",
    doubts: "passes that called nobody gone since most hosts seemed so, or their own was away",
    fenced: "commands that their harness stopped before their claim ended",
    robbed: "commands that their harness stopped since another attempt had the task",
    meddled: "times others acted in the middle of a pass",
    done: "tasks finished in the end",
    with_person: "tasks with a person in the end",
}

/// A night in which something happened that must never happen.
#[derive(Debug, Clone)]
pub struct Broken {
    /// The night.
    pub seed: u64,
    /// What must never happen.
    pub what: String,
    /// How it came to that, oldest first: second of the night, what happened.
    pub story: Vec<String>,
    /// What happened in it.
    pub sum: Sum,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.what)?;
        writeln!(f, "How it came to that:\n{}", self.story.join("\n"))?;
        write!(
            f,
            "To see it again: cargo run --release -p watchbill-testkit --example nights -- {0} {1} --hosts",
            self.seed,
            self.seed + 1
        )
    }
}

/// Lets a night pass.
///
/// # Errors
/// What was broken first, with its story.
pub fn night(seed: u64, without: Option<Without>) -> std::result::Result<Sum, Box<Broken>> {
    let night = Night::new(seed, without);
    night.set_out();
    night.storm();
    strikes::calm(&night);
    night.settle();
    let truth = night.truth.into_inner();
    match night.broken.into_inner() {
        None => Ok(truth.sum),
        Some(what) => Err(Box::new(Broken { seed, what, story: truth.story.into(), sum: truth.sum })),
    }
}

/// Lets the nights of the seeds from `from` to before `to` pass, on as many threads as there are processors: what they came to, and those in
/// which something was broken, by seed.
pub fn nights(from: u64, to: u64, without: Option<Without>) -> (Sum, Vec<Broken>) {
    let (mut sum, mut broken) = (Sum::default(), Vec::new());
    for night in super::each_seed(from, to, |seed| night(seed, without)) {
        sum.add(night.as_ref().unwrap_or_else(|b| &b.sum));
        broken.extend(night.err().map(|b| *b));
    }
    (sum, broken)
}

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Actor {
    Watcher(Program, usize),
    /// Who claims on a host.
    Claimer(usize),
    /// A worker, or its harness, by its number.
    Worker(u64),
    Operator,
}

/// A host as it is.
#[derive(Debug)]
struct Host {
    machine: Machine,
    is_off: bool,
    is_asleep: bool,
    /// It is cut off from the board.
    is_cut: bool,
    /// Switched off for good.
    is_burnt: bool,
    /// Seconds of this boot in which it was suspended.
    slept: i64,
    /// Its clock is ahead of the board's by so many seconds.
    ahead: i64,
    /// What its passes remember.
    memory: Cache,
    /// When each of its watchers runs next, and each of its harnesses looks for work.
    next: [i64; Program::ALL.len()],
    looks: [i64; SLOTS.len()],
    /// Since when it is on, awake and not cut off; `None`: it is not.
    well_since: Option<i64>,
    /// When the board heard of it last, when of its `heal`, and when of the `heal` before that one.
    heard: i64,
    healed: Option<i64>,
    before: Option<i64>,
    /// Until when no `heal` runs there, as where its timer was not installed.
    no_heal: i64,
    /// Since when `heal` runs there in each lease.
    steady_since: Option<i64>,
}

impl Host {
    fn runs(&self) -> bool {
        !self.is_off && !self.is_asleep
    }

    fn reaches(&self) -> bool {
        self.runs() && !self.is_cut
    }
}

/// What becomes due at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Mend,
    Wake,
    Boot,
}

/// What another server will know that takes over at a moment, where the last words do not reach it.
#[derive(Debug)]
struct Loss {
    at: i64,
    knows: MemoryBoard,
    ended: BTreeSet<String>,
    held: BTreeMap<String, i64>,
    decided: u64,
}

/// Everything that is true, whether or not any program can see it.
#[derive(Debug)]
struct Truth {
    chance: Chance,
    now: i64,
    began: i64,
    hosts: Vec<Host>,
    workers: Vec<Worker>,
    /// The newest number of a worker.
    last: u64,
    /// By host and task: how the newest attempt there ended by its log, and when that was written.
    logs: BTreeMap<(usize, String), (LogEnd, Time)>,
    /// Until when each provider refuses.
    limits: [i64; SLOTS.len()],
    due: Vec<(i64, usize, Due)>,
    /// Tasks whose worker or harness was told that they are done.
    ended: BTreeSet<String>,
    /// Tasks that the operator blocked, and until when.
    held: BTreeMap<String, i64>,
    loss: Option<Loss>,
    /// How often the board lost words, when it last did, and when another server took over last.
    losses: u64,
    lossy_at: i64,
    over_at: i64,
    /// How often another server took over.
    servers: u64,
    /// The number of the newest decision for the whole board that the board knows, and of the newest one at all.
    decided: u64,
    decisions: u64,
    passing: BTreeSet<(usize, Program)>,
    /// By two workers of one task: for how many seconds both worked on it.
    beside: BTreeMap<(u64, u64), i64>,
    /// By run and task: since when its worker is not there.
    alone: BTreeMap<(i64, String), i64>,
    left: BTreeMap<(String, Program, usize), String>,
    /// No other server takes over in this night.
    is_one_server: bool,
    is_calm: bool,
    sum: Sum,
    story: VecDeque<String>,
}

impl Truth {
    fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.story.len() == STORY {
            self.story.pop_front();
        }
        self.story.push_back(format!("{:>6} {}", self.now - self.began, what()));
    }

    fn clock(&self, host: usize) -> Time {
        Time(self.now + self.hosts[host].ahead)
    }
}

struct Night {
    board: MemoryBoard,
    config: Config,
    without: Option<Without>,
    truth: RefCell<Truth>,
    broken: RefCell<Option<String>>,
}

fn trail(by: &'static str, because: &'static str) -> Trail<'static> {
    let more = serde_json::Map::new();
    Trail { by, pass: "p", clock_given: false, case: because.into(), cause: None, because, more }
}

fn name(host: usize) -> &'static str {
    shared::board::several_hosts::shown(HOSTS[host])
}

impl Night {
    fn new(seed: u64, without: Option<Without>) -> Night {
        let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9).wrapping_add(3));
        let now = 1_800_000_000;
        let is_skewed = chance.percent(25);
        let host = |n: usize, chance: &mut Chance| {
            let mut machine = Machine::new(HOSTS[n], chance.between(4_000, 500_000));
            machine.is_tidy = true;
            machine.boot = 100 * (1 + u32::try_from(n).unwrap_or(0));
            Host {
                machine,
                is_off: false,
                is_asleep: false,
                is_cut: false,
                is_burnt: false,
                slept: 0,
                ahead: if is_skewed { chance.between(-50, 51) } else { chance.between(-4, 5) },
                memory: Cache::in_memory(),
                next: [0; 3].map(|_: i64| now + chance.between(0, 120)),
                looks: [0; 3].map(|_: i64| now + chance.between(0, 30)),
                well_since: Some(now),
                heard: now,
                healed: None,
                before: None,
                no_heal: 0,
                steady_since: None,
            }
        };
        let hosts = (0..HOSTS.len()).map(|n| host(n, &mut chance)).collect();
        let mut config = Config::default();
        if without == Some(Without::Patience) {
            config.host.gone_after = Duration::ZERO;
        }
        if chance.percent(50) {
            config.people.assignee = Some("anna".into());
        }
        let is_one_server = chance.percent(50);
        let truth = Truth {
            chance,
            now,
            began: now,
            hosts,
            workers: Vec::new(),
            last: 0,
            logs: BTreeMap::new(),
            limits: [0; SLOTS.len()],
            due: Vec::new(),
            ended: BTreeSet::new(),
            held: BTreeMap::new(),
            loss: None,
            losses: 0,
            lossy_at: 0,
            over_at: 0,
            servers: 0,
            decided: 0,
            decisions: 0,
            passing: BTreeSet::new(),
            beside: BTreeMap::new(),
            alone: BTreeMap::new(),
            left: BTreeMap::new(),
            is_one_server,
            is_calm: false,
            sum: Sum { nights: 1, ..Sum::default() },
            story: VecDeque::new(),
        };
        let board = MemoryBoard::new(true).shared(Time(now));
        Night { board, config, without, truth: RefCell::new(truth), broken: RefCell::new(None) }
    }

    fn is(&self, without: Without) -> bool {
        self.without == Some(without)
    }

    /// Notes the first thing that must never happen.
    fn broken(&self, what: String) {
        let mut broken = self.broken.borrow_mut();
        if broken.is_none() {
            self.truth.borrow_mut().tell(|| format!("BROKEN: {what}"));
            *broken = Some(what);
        }
    }

    fn is_broken(&self) -> bool {
        self.broken.borrow().is_some()
    }

    /// The evening: some tasks, some of them behind others.
    fn set_out(&self) {
        let tasks = 4 + self.truth.borrow_mut().chance.below(8);
        let mut known: Vec<String> = Vec::new();
        for n in 0..tasks {
            let id = format!("t_{:08x}", 0xa000 + n);
            let mut truth = self.truth.borrow_mut();
            let parent = truth.chance.percent(25).then(|| truth.chance.pick(&known).cloned()).flatten();
            let profile = if truth.chance.percent(60) { SLOTS[0] } else { SLOTS[1] };
            let now = Time(truth.now);
            drop(truth);
            let status = if parent.is_some() { Status::Todo } else { Status::Ready };
            let title = format!("Count the lanterns of quay {n}");
            let task = NewTask { title, assignee: Some(profile.into()), ..NewTask::default() };
            let parents: Vec<String> = parent.into_iter().collect();
            let changes = hermes::created(status, task, &parents, &trail("board", "create"));
            let step = Step::unguarded(&id, "create".into(), "create".into(), changes);
            let made = self.board.clone().apply(now, &[step], Duration::ZERO);
            if !matches!(made.as_deref(), Ok([Outcome::Applied { .. }])) {
                self.broken(format!("{id} cannot be made: {made:?}"));
            }
            known.push(id);
        }
    }

    /// The bad hours.
    fn storm(&self) {
        let until = {
            let mut truth = self.truth.borrow_mut();
            truth.now + truth.chance.between(7_200, 16_000)
        };
        while self.truth.borrow().now < until && !self.is_broken() {
            let (pause, strikes) = {
                let mut truth = self.truth.borrow_mut();
                (truth.chance.between(30, 240), truth.chance.percent(22))
            };
            self.pass_time(pause, 0);
            if strikes {
                strikes::strike(self);
            }
        }
    }

    /// Time passes, and everybody does what is due. `depth`: in how many passes it does.
    fn pass_time(&self, seconds: i64, depth: u32) {
        let mut left = seconds;
        while left > 0 && !self.is_broken() {
            let part = left.min(TICK);
            left -= part;
            {
                let mut truth = self.truth.borrow_mut();
                truth.now += part;
                self.board.hosts_mut().now = Time(truth.now);
                for host in truth.hosts.iter_mut().filter(|h| !h.is_off) {
                    host.machine.up += part;
                    host.slept += if host.is_asleep { part } else { 0 };
                }
            }
            strikes::due(self);
            for host in 0..HOSTS.len() {
                work::work(self, host);
            }
            laws::now(self, part);
            for (host, program) in self.due(depth) {
                passes::run(self, host, program, depth);
            }
        }
    }

    /// The watchers whose time has come.
    fn due(&self, depth: u32) -> Vec<(usize, Program)> {
        let truth = self.truth.borrow();
        let mut due = Vec::new();
        for (n, host) in truth.hosts.iter().enumerate().filter(|(_, h)| h.runs()) {
            for program in Program::ALL {
                let is_left_out = program == Program::Heal && host.no_heal > truth.now;
                let is_time = host.next[program as usize] <= truth.now && !is_left_out;
                if is_time && depth < 2 && !truth.passing.contains(&(n, program)) {
                    due.push((n, program));
                }
            }
        }
        due
    }

    /// Perhaps others do something in the middle of a pass of this host, or of a word there.
    fn meddle(&self, host: usize, depth: u32, percent: u64) {
        if self.is_broken() || depth > 1 || self.truth.borrow().is_calm {
            return;
        }
        let which = {
            let mut truth = self.truth.borrow_mut();
            if !truth.chance.percent(percent) {
                return;
            }
            truth.sum.meddled += 1;
            truth.tell(|| "-- meanwhile".into());
            truth.chance.below(10)
        };
        let seconds = self.truth.borrow_mut().chance.between(1, 40);
        match which {
            0 | 1 => self.pass_time(seconds, depth + 1),
            2 | 3 => {
                strikes::rush(self);
                self.pass_time(seconds, depth + 1);
            }
            // It hangs, as a program that is stopped does.
            4 => self.pass_time(seconds * 60, depth + 1),
            5 | 6 => {
                strikes::suspend(self, host, seconds * 90);
                self.pass_time(seconds * 90 + TICK, depth + 1);
            }
            7 => strikes::fail_over(self),
            8 => {
                strikes::will_lose(self, 6);
                strikes::rush(self);
                self.pass_time(seconds, depth + 1);
            }
            _ => strikes::strike(self),
        }
        self.truth.borrow_mut().tell(|| "-- back".into());
    }

    /// Perhaps a host that a pass found gone comes back before the pass writes.
    fn perhaps_back(&self, gone: &str, depth: u32) {
        let Some(host) = HOSTS.iter().position(|h| *h == gone) else { return };
        if depth > 1 || self.truth.borrow().is_calm || !self.truth.borrow_mut().chance.percent(25) {
            return;
        }
        self.truth.borrow_mut().tell(|| "-- meanwhile".into());
        strikes::comes_back(self, host);
        self.pass_time(20, depth + 1);
        self.truth.borrow_mut().tell(|| "-- back".into());
    }

    /// A step of an actor, from a host; the operator's comes from none.
    fn say(&self, actor: Actor, host: Option<usize>, at: Time, step: Step) -> Result<Outcome> {
        let lost = || Err(Error::new(Kind::Busy, "memory", NO_ANSWER));
        let (is_cut, fate) = {
            let mut truth = self.truth.borrow_mut();
            let is_cut = host.is_some_and(|h| !truth.hosts[h].reaches());
            (is_cut, if truth.is_calm || host.is_none() { 99 } else { truth.chance.below(100) })
        };
        if is_cut {
            return lost();
        }
        if let (0, Some(host)) = (fate, host) {
            self.truth.borrow_mut().sum.unsent += 1;
            strikes::flap(self, host);
            return lost();
        }
        let outcome = self.write(actor, &mut self.board.clone(), at, &[step])?.pop();
        if let (1, Some(host)) = (fate, host) {
            self.truth.borrow_mut().sum.dropped += 1;
            strikes::flap(self, host);
            return lost();
        }
        outcome.map_or_else(lost, Ok)
    }

    /// Writes, and holds what comes of it against the laws.
    fn write(&self, actor: Actor, board: &mut MemoryBoard, at: Time, steps: &[Step]) -> Result<Vec<Outcome>> {
        let before = self.board.rows().tasks.clone();
        let is_worth = steps.iter().any(|s| !s.changes.iter().all(|c| matches!(c, Change::Heartbeat { .. })));
        if is_worth && self.truth.borrow_mut().chance.percent(2) {
            strikes::will_lose(self, 6);
        }
        let outcomes = board.apply(at, steps, Duration::ZERO)?;
        if let Some(what) = laws::wrote(self, actor, &before, steps, &outcomes) {
            self.broken(what);
        }
        Ok(outcomes)
    }

    /// All that is on the board.
    fn all(&self) -> BTreeMap<String, Detail> {
        let ids: Vec<String> = self.board.rows().tasks.keys().cloned().collect();
        let all = self.board.clone().look(&ids).unwrap_or_default();
        all.into_iter().map(|d| (d.task.id.clone(), d)).collect()
    }

    fn open_ends(&self) -> Vec<String> {
        let all = self.all();
        let known: Vec<String> = all.keys().cloned().collect();
        let told = laws::told(&all);
        known.iter().filter(|id| !told.contains(*id)).filter_map(|id| unsettled(&all, id, &known)).collect()
    }

    /// The morning: everything is well, and everything must come to its end.
    fn settle(&self) {
        for round in 0..SHORT_ROUNDS + LONG_ROUNDS {
            if self.is_broken() {
                return;
            }
            self.pass_time(if round < SHORT_ROUNDS { 120 } else { 600 }, 0);
            let is_idle = self.truth.borrow().workers.is_empty();
            if is_idle && self.open_ends().is_empty() {
                break;
            }
        }
        let left = self.open_ends();
        if !left.is_empty() {
            let truth = self.truth.borrow();
            let said = truth
                .left
                .iter()
                .map(|((task, by, host), why)| format!("{by:?} on {} of {task}: {why}", name(*host)));
            let (left, said) = (left.join("\n"), said.collect::<Vec<_>>().join("\n"));
            drop(truth);
            self.broken(format!("not settled a day after the world was well: {left}\n{said}"));
        }
        if let Some(what) = laws::kept(self) {
            self.broken(what);
        }
        let all = self.all();
        let mut truth = self.truth.borrow_mut();
        let done = all.values().filter(|d| d.task.status.frees_children()).count() as u64;
        truth.sum.done += done;
        truth.sum.with_person += all.len() as u64 - done;
    }
}
