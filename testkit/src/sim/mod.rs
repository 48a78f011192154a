//! Simulated nights: a board, a dispatcher with Hermes' habits, workers, providers, a machine and people, and the real
//! programs among them. One seed is one night, the same every time.
//!
//! The programs observe through the same [`shared::policy::World`], decide by the same code, judge processes by the same
//! [`shared::host::View`] and write through the same [`shared::ops::pass::apply::Checked`] as in life. What is made up is what they look
//! at. What a log says is given as what a reader of it makes of it: the readers have tests of their own.

mod fares;
mod hands;
mod hermes;
mod laws;
mod machine;
pub mod model;
mod passes;
pub mod recovery;
pub mod several;
mod trees;
mod trials;
mod truth;
mod upheaval;
mod wants;
mod work;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use shared::board::Mode;
use shared::board::sqlite::SqliteBoard;
use shared::board::{Board, BoardId, Change, Detail, EventKind, NewTask, Outcome, Status, Step};
use shared::config::{Config, TreeDrift};
use shared::logs::cache::Stored;

use self::passes::{Fortune, Program, bare_world};
pub use self::truth::{Needs, Tally};
use self::truth::{Truth, WORKERS};
use crate::memory::MemoryBoard;

/// Rounds of two minutes after which a well world must be settled, and then rounds of ten: 33 hours in all, since the
/// longest hold lasts six hours and a night's bounds decay within a day.
const SHORT_ROUNDS: u32 = 45;
const LONG_ROUNDS: u32 = 190;

/// The Hermes root of the board. What its profiles say is made up, so nobody looks there.
const ROOT: &str = "/hermes";

/// On what the board lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Maps in memory: fast, for many nights.
    Memory,
    /// A real SQLite file: what the maps leave out.
    Sqlite,
}

enum Store {
    Memory(MemoryBoard),
    /// The folder goes with it.
    Sqlite(BoardId, #[allow(dead_code, reason = "it is held")] tempfile::TempDir),
}

/// Who hears of passes.
pub type Listener = Box<dyn FnMut(Stored, &Config)>;

/// One night.
#[derive(Debug, Clone, Copy)]
pub struct Night {
    seed: u64,
    engine: Engine,
    is_plain: bool,
    is_taught: bool,
    is_asked: bool,
}

/// A night in which something happened that must never happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The night.
    pub seed: u64,
    /// What must never happen.
    pub what: String,
    /// How it came to that, oldest first: second of the night, wall clock, what happened.
    pub story: Vec<String>,
    /// What happened in it.
    pub tally: Tally,
    /// It was asked what needs a person.
    pub asked: bool,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seed = self.seed;
        let night = match self.asked {
            true => {
                format!("Night::new({seed}).asked().run().unwrap_or_else(|broken| panic!(\"{{broken}}\"))")
            }
            false => format!("night({seed}, Engine::Memory)"),
        };
        writeln!(f, "{}", self.what)?;
        writeln!(f, "How it came to that:\n{}", self.story.join("\n"))?;
        write!(
            f,
            "To see it again, paste this into tests/it/simulate.rs:\n\n\
             #[test]\nfn night_{seed}() {{\n    {night};\n}}\n"
        )
    }
}

impl Night {
    /// The night of a seed.
    pub fn new(seed: u64) -> Night {
        Night { seed, engine: Engine::Memory, is_plain: false, is_taught: true, is_asked: false }
    }

    /// The same night without working trees and logs of agents, as it was before there were any.
    #[must_use]
    pub fn plain(self) -> Night {
        Night { is_plain: true, is_taught: false, ..self }
    }

    /// The same night without what trials on real boards taught, as it was before those.
    #[must_use]
    pub fn untaught(self) -> Night {
        Night { is_taught: false, ..self }
    }

    /// The same night with what only people mend, and after each round the question what needs one: the programs' answer is held
    /// against the truth. It takes its own course.
    #[must_use]
    pub fn asked(self) -> Night {
        Night { is_asked: true, ..self }
    }

    /// The same night on another engine.
    #[must_use]
    pub fn on(self, engine: Engine) -> Night {
        Night { engine, ..self }
    }

    /// Lets it pass.
    ///
    /// # Errors
    /// What was broken first, with its story.
    pub fn run(self) -> Result<Tally, Box<Broken>> {
        self.go(None)
    }

    /// The same, and tells of every pass that has something to say as it would be kept for a replay.
    ///
    /// # Errors
    /// What was broken first, with its story.
    pub fn heard(self, listener: Listener) -> Result<Tally, Box<Broken>> {
        self.go(Some(listener))
    }

    fn go(self, listener: Option<Listener>) -> Result<Tally, Box<Broken>> {
        let sim = Sim::new(self, listener);
        sim.set_out();
        sim.storm();
        upheaval::calm(&sim);
        sim.settle();
        let truth = sim.truth.into_inner();
        let (seed, tally, asked) = (self.seed, truth.tally, self.is_asked);
        let broken = sim.broken.into_inner().map(|what| (what, truth.story.into()));
        match broken.or(truth.wants.missed) {
            None => Ok(tally),
            Some((what, story)) => Err(Box::new(Broken { seed, what, story, tally, asked })),
        }
    }
}

/// Lets the nights of the seeds from `from` to before `to` pass, on as many threads as there are processors. What they came
/// to, and those in which something was broken, by seed. `asked`: with the question what needs a person, see [`Night::asked`].
pub fn nights(from: u64, to: u64, engine: Engine, asked: bool) -> (Tally, Vec<Broken>) {
    let nights = each_seed(from, to, |seed| {
        let night = Night::new(seed).on(engine);
        if asked { night.asked() } else { night }.run()
    });
    let (mut sum, mut broken) = (Tally::default(), Vec::new());
    for night in nights {
        sum.add(night.as_ref().unwrap_or_else(|b| &b.tally));
        broken.extend(night.err().map(|b| *b));
    }
    (sum, broken)
}

/// What something gives for each seed from `from` to before `to`, in that order, on as many threads as there are processors.
fn each_seed<T: Send>(from: u64, to: u64, night: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(from);
    let seed = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < to);
    let share = || std::iter::from_fn(seed).map(|seed| (seed, night(seed))).collect::<Vec<_>>();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut nights: Vec<(u64, T)> = thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(share)).collect();
        all.into_iter().flat_map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    nights.sort_by_key(|(seed, _)| *seed);
    nights.into_iter().map(|(_, night)| night).collect()
}

struct Sim {
    store: Store,
    config: Config,
    /// The names of this machine that the operator has told.
    names: RefCell<Vec<String>>,
    truth: RefCell<Truth>,
    broken: RefCell<Option<String>>,
    /// Hears of every pass that has something to say, and by which policy it decided.
    listener: RefCell<Option<Listener>>,
}

impl Sim {
    fn new(night: Night, listener: Option<Listener>) -> Sim {
        let mut truth = Truth::new(night.seed, night.is_taught, night.is_asked);
        truth.has_trees &= !night.is_plain;
        let mut config = Config::default();
        let knows = truth.chance.percent(50);
        let names = if knows { vec!["harbour".to_owned(), "quay".into()] } else { Vec::new() };
        if truth.chance.percent(50) {
            config.orchestrator.fallbacks = vec!["orion".into()];
        }
        if truth.chance.percent(50) {
            config.people.assignee = Some("anna".into());
        }
        if truth.has_trees {
            config.heal.allow_stop = truth.more.percent(50);
            if truth.more.percent(30) {
                config.heal.tree_drift = TreeDrift::Warn;
            }
            config.heal.max_resumes = [0, 1, 2, 8][truth.more.below(4) as usize];
        }
        Sim {
            store: Store::new(night.engine),
            config,
            names: RefCell::new(names),
            truth: RefCell::new(truth),
            broken: RefCell::new(None),
            listener: RefCell::new(listener),
        }
    }

    /// A connection of one's own.
    fn open(&self) -> Box<dyn Board> {
        match &self.store {
            Store::Memory(board) => Box::new(board.clone()),
            Store::Sqlite(id, _) => match SqliteBoard::open(id.clone(), Mode::Change, Duration::from_secs(5))
            {
                Ok(board) => Box::new(board),
                Err(e) => {
                    self.broken(|| format!("the board cannot be opened: {e}"));
                    Box::new(MemoryBoard::new(false))
                }
            },
        }
    }

    /// Notes the first thing that must never happen.
    fn broken(&self, what: impl FnOnce() -> String) {
        let mut broken = self.broken.borrow_mut();
        if broken.is_none() {
            let what = what();
            self.truth.borrow_mut().tell(|| format!("BROKEN: {what}"));
            *broken = Some(what);
        }
    }

    fn is_broken(&self) -> bool {
        self.broken.borrow().is_some()
    }

    /// Tasks that a pass made must be there from now on.
    fn note_new(&self, steps: &[Step]) {
        let mut board = self.open();
        let made = steps.iter().flat_map(|s| {
            s.changes.iter().filter_map(|c| match c {
                Change::AddTask { .. } => Some(s.task.clone()),
                Change::AddAnother { id, .. } => Some(id.clone()),
                _ => None,
            })
        });
        let made: Vec<String> = made.collect();
        let there = board.titled(&made).unwrap_or_default().into_iter().map(|t| t.id);
        self.truth.borrow_mut().known.extend(there);
    }

    /// The evening: some tasks, some of them behind others.
    fn set_out(&self) {
        let mut board = self.open();
        let tasks = 2 + self.truth.borrow_mut().chance.below(8);
        for n in 0..tasks {
            let (id, parent, assignee, now, by_hand) = {
                let mut truth = self.truth.borrow_mut();
                let id = format!("t_{:08x}", 0xa000 + n);
                let known = truth.known.clone();
                let parent = truth.chance.percent(25).then(|| truth.chance.pick(&known).cloned());
                let assignee = truth.chance.pick(&WORKERS).copied().unwrap_or("luna");
                (id, parent.flatten(), assignee, truth.now, truth.chance.percent(5))
            };
            let status = if parent.is_some() { Status::Todo } else { Status::Ready };
            let task = NewTask {
                title: format!("Count the lanterns of quay {n}"),
                assignee: Some(assignee.into()),
                max_retries: by_hand.then_some(1),
                ..NewTask::default()
            };
            let mut changes = vec![Change::AddTask { status: status.clone(), task: Box::new(task) }];
            changes.extend(parent.map(|parent| Change::Link { parent }));
            changes.extend(self.place(&id, n));
            self.truth.borrow_mut().trials.mark(&id);
            changes.push(hands::event(EventKind::Created, json!({"status": status})));
            let step = Step::unguarded(&id, "create".into(), "create".into(), changes);
            let made = board.apply(now, &[step], Duration::from_secs(5));
            if !matches!(made.as_deref(), Ok([Outcome::Applied { .. }])) {
                self.broken(|| format!("{id} cannot be made: {made:?}"));
            }
            self.truth.borrow_mut().known.push(id);
        }
        upheaval::start_dispatcher(self);
    }

    /// Where a task is worked on: mostly in a folder of its own.
    fn place(&self, id: &str, n: u64) -> Option<Change> {
        let mut truth = self.truth.borrow_mut();
        if !truth.has_trees || truth.more.percent(20) {
            return None;
        }
        let n = if truth.more.percent(15) { n / 2 } else { n };
        let folder = format!("/work/{n}");
        truth.trees.entry(folder.clone()).or_default();
        truth.folders.insert(id.to_owned(), folder.clone());
        Some(Change::SetPlace { kind: "dir".into(), path: Some(folder) })
    }

    /// The bad hours.
    fn storm(&self) {
        if self.truth.borrow().trials.is_long {
            return self.long_night();
        }
        let rounds = 20 + self.truth.borrow_mut().chance.below(40);
        for _ in 0..rounds {
            let (pause, strikes) = {
                let mut truth = self.truth.borrow_mut();
                let long = truth.chance.percent(6);
                let pause =
                    if long { truth.chance.between(600, 7_200) } else { truth.chance.between(30, 240) };
                (pause, truth.chance.percent(35))
            };
            self.pass_time(pause);
            if strikes {
                upheaval::strike(self);
            }
            trials::strikes::strike(self);
            wants::woes::strike(self);
            self.touch_trees(25);
            if !self.round() {
                return;
            }
        }
    }

    /// One pass of each program, or not. Whether the night goes on.
    fn round(&self) -> bool {
        for program in Program::ALL {
            if self.is_broken() {
                return false;
            }
            let fortune = {
                let mut truth = self.truth.borrow_mut();
                let left_out = truth.chance.percent(if program == Program::Budget { 80 } else { 10 });
                let killed_at = truth.chance.percent(6).then(|| truth.chance.below(4) as u32);
                let disturbed = truth.chance.percent(25);
                (!left_out).then_some(Fortune { depth: 0, disturbed, killed_at })
            };
            if let Some(fortune) = fortune {
                self.twice(program, fortune);
            }
        }
        wants::compare(self);
        true
    }

    /// A day in which nothing is wrong but that providers limit, and nobody looks.
    fn long_night(&self) {
        let until = trials::set_limits(self);
        while self.truth.borrow().second < until + 3_600 {
            let pause = self.truth.borrow_mut().trials.chance.between(300, 1_200);
            self.pass_time(pause);
            if !self.round() {
                return;
            }
        }
    }

    /// A pass, and where nobody disturbed it another one right after it, which must change nothing.
    fn twice(&self, program: Program, fortune: Fortune) -> usize {
        let stir = self.truth.borrow().stir;
        let Some(applied) = passes::run(self, program, fortune) else { return 0 };
        if applied == 0 || self.truth.borrow().stir != stir || self.is_broken() {
            return applied;
        }
        let again = passes::run(self, program, Fortune { depth: 0, disturbed: false, killed_at: None });
        if again != Some(0) {
            let what = again.map_or("could not write".to_owned(), |n| format!("changed {n} things"));
            self.broken(|| format!("a second pass of {program:?} right after the first {what}"));
        }
        applied
    }

    /// Perhaps a user changes a tree.
    fn touch_trees(&self, percent: u64) {
        let touches = {
            let mut truth = self.truth.borrow_mut();
            truth.has_trees && truth.more.percent(percent)
        };
        if touches {
            trees::strike(self);
        }
    }

    /// Perhaps something else happens in the middle of a pass.
    fn meddle(&self, depth: u32) {
        if self.is_broken() || !self.truth.borrow_mut().chance.percent(12) {
            return;
        }
        let which = {
            let mut truth = self.truth.borrow_mut();
            truth.stir += 1;
            truth.tally.disturbed += 1;
            truth.tell(|| "-- meanwhile".into());
            truth.chance.below(10)
        };
        self.touch_trees(30);
        let seconds = self.truth.borrow_mut().chance.between(1, 30);
        match which {
            0..=2 => self.pass_time(seconds),
            3 | 4 => hermes::tick(self),
            5 => upheaval::strike(self),
            // A pass that was suspended.
            6 => self.pass_time(seconds * 40),
            _ if depth < 2 => {
                let program = self.truth.borrow_mut().chance.pick(&Program::ALL).copied();
                let fortune = Fortune { depth: depth + 1, disturbed: true, killed_at: None };
                passes::run(self, program.unwrap_or(Program::Heal), fortune);
            }
            _ => {}
        }
        self.truth.borrow_mut().tell(|| "-- back".into());
    }

    /// Time passes, and everybody does what is due.
    fn pass_time(&self, seconds: i64) {
        let mut left = seconds;
        while left > 0 {
            let part = left.min(30);
            left -= part;
            {
                let mut truth = self.truth.borrow_mut();
                truth.second += part;
                truth.now = truth.now.plus(part);
                truth.machine.up += part;
                let second = truth.second;
                for p in &mut truth.providers {
                    p.refuses = p.refuses.filter(|(_, until)| *until > second);
                }
            }
            work::work(self);
            trials::due(self);
            wants::woes::due(self);
            let due = self.truth.borrow().next_tick <= self.truth.borrow().second;
            if due {
                let next = self.truth.borrow().second + 60;
                self.truth.borrow_mut().next_tick = next;
                hermes::tick(self);
            }
        }
    }

    /// All that is on the board.
    fn all(&self) -> BTreeMap<String, Detail> {
        let mut board = self.open();
        let ids: Vec<String> =
            board.glance(&laws::all()).unwrap_or_default().into_iter().map(|t| t.id).collect();
        board.look(&ids).unwrap_or_default().into_iter().map(|d| (d.task.id.clone(), d)).collect()
    }

    fn open_ends(&self) -> Vec<String> {
        let all = self.all();
        let known: Vec<String> = all.keys().cloned().collect();
        let truth = self.truth.borrow();
        let told = |id: &&String| laws::is_told_unknown(&truth, &all[*id]);
        all.keys().filter(|id| !told(id)).filter_map(|id| laws::unsettled(&all, id, &known)).collect()
    }

    /// The morning: everything is well, and everything must come to its end.
    fn settle(&self) {
        let began = self.truth.borrow().second;
        for round in 0..SHORT_ROUNDS + LONG_ROUNDS {
            if self.is_broken() {
                return;
            }
            self.pass_time(if round < SHORT_ROUNDS { 120 } else { 600 });
            let mut applied = 0;
            for program in [Program::Heal, Program::Distress, Program::Route] {
                applied += self.twice(program, Fortune { depth: 0, disturbed: false, killed_at: None });
            }
            wants::compare(self);
            if applied == 0 && self.open_ends().is_empty() {
                break;
            }
        }
        if self.is_broken() {
            return;
        }
        let left = self.open_ends();
        if !left.is_empty() {
            let said: Vec<String> = self
                .truth
                .borrow()
                .left
                .iter()
                .map(|((task, by), why)| format!("{by} of {task}: {why}"))
                .collect();
            let (left, said) = (left.join("\n"), said.join("\n"));
            self.broken(|| format!("not settled a day after the world was well: {left}\n{said}"));
        }
        let all = self.all();
        let mut truth = self.truth.borrow_mut();
        let done = |d: &&Detail| matches!(d.task.status, Status::Done | Status::Archived);
        let done = all.values().filter(done).count() as u64;
        truth.tally.done += done;
        truth.tally.with_person += all.len() as u64 - done;
        let took = u64::try_from((truth.second - began) / 60).unwrap_or(0);
        truth.tally.slowest = truth.tally.slowest.max(took);
    }
}

impl Store {
    fn new(engine: Engine) -> Store {
        let file = || -> Option<Store> {
            let dir = tempfile::tempdir().ok()?;
            let path = dir.path().join("kanban.db");
            SqliteBoard::create(&path, Duration::from_secs(5)).ok()?;
            // Hermes leaves the application id 0; Watchbill's mark would make it a board without a dispatcher.
            rusqlite::Connection::open(&path).ok()?.execute_batch("PRAGMA application_id = 0").ok()?;
            Some(Store::Sqlite(BoardId { at: path.into(), slug: None, root: Some(ROOT.into()) }, dir))
        };
        match engine {
            Engine::Memory => Store::Memory(MemoryBoard::new(false).below(ROOT)),
            Engine::Sqlite => file().unwrap_or_else(|| Store::Memory(MemoryBoard::new(false))),
        }
    }
}
