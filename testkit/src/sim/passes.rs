//! Passes of the real programs over a simulated world: the same observation, decision and write, with others at work between
//! any two of their looks and writes, and an end by `kill -9` wherever chance has it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use shared::base::error::{Error, Kind, Result};
use shared::base::reason::Reason;
use shared::base::registry::{HEAL, NAMES, ROUTE_BLOCKED};
use shared::base::time::Time;
use shared::board::change::parts;
use shared::board::testing::{Call, Over};
use shared::board::{Board, Outcome, Rule, Status, Step, StepAction};
use shared::config::Config;
use shared::host::{
    Ask, Freed, HostFacts, Life, Look, Marks, Probe, Processes, Proof, Recheck, Target, View,
};
use shared::logs::Reading;
use shared::logs::cache::Cache;
use shared::logs::provider::Profile;
use shared::logs::usage::Usage;
use shared::logs::vitals::Worker;
use shared::ops::pass::apply::{Checked, stop_workers};
use shared::ops::replay::stored;
use shared::policy::runtime::{Dispatcher, LogAsk, LogReader, Runtime};
use shared::policy::{Decision, Pass, UseAsk, Witness, World};
use shared::watch::Watcher;
use shared::watch::budget::BudgetCheck;
use shared::watch::distress::SynthesizeDistress;
use shared::watch::heal::Heal;
use shared::watch::heal::seen::Seen as HealSeen;
use shared::watch::route::RouteBlocked;

use super::machine::Who;
use super::trials::{self, Dispatch, End};
use super::truth::PROFILES;
use super::{Sim, fares, laws, trees, wants, work};

/// Steps in one write. A real pass takes a hundred; here every pass of three steps has an inside.
const MAX_STEPS: usize = 2;

/// Which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Program {
    Heal,
    Distress,
    Route,
    Budget,
}

impl Program {
    pub(super) const ALL: [Program; NAMES.len()] =
        [Program::Heal, Program::Distress, Program::Route, Program::Budget];
}

/// How one pass goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fortune {
    /// How deep in passes within passes this one is.
    pub(super) depth: u32,
    /// Others may be at work in the middle of it.
    pub(super) disturbed: bool,
    /// It is killed before this write, counted from 0; the memory between passes is the last one.
    pub(super) killed_at: Option<u32>,
}

/// Runs one pass. How many steps were applied; `None` where it was killed.
pub(super) fn run(sim: &Sim, program: Program, fortune: Fortune) -> Option<usize> {
    if !wants::starts(sim, program) {
        return Some(0);
    }
    let applied = match program {
        Program::Heal => pass(sim, &Heal, fortune, &unknown),
        Program::Distress => pass(sim, &SynthesizeDistress, fortune, &|_| BTreeSet::new()),
        Program::Route => pass(sim, &RouteBlocked, fortune, &|_| BTreeSet::new()),
        Program::Budget => {
            let watcher = BudgetCheck { comment: true, distress: true, ..BudgetCheck::default() };
            pass(sim, &watcher, fortune, &|_| BTreeSet::new())
        }
    };
    wants::passed(sim, program, applied.is_some());
    applied
}

/// Tasks of whose recorded worker nobody knows whether it lives.
fn unknown(seen: &HealSeen) -> BTreeSet<String> {
    let unknown = seen.tasks.iter().filter(|t| {
        let row = &t.detail.task;
        row.status == Status::Running
            && (row.worker_pid.is_some() || row.claim_lock.is_none())
            && t.worker.as_ref().is_none_or(|w| w.life == Life::Unknown)
    });
    unknown.map(|t| t.detail.task.id.clone()).collect()
}

fn pass<W: Watcher>(
    sim: &Sim,
    watcher: &W,
    fortune: Fortune,
    unknown: &dyn Fn(&W::Seen) -> BTreeSet<String>,
) -> Option<usize> {
    let (pass, mut cache, stir) = {
        let mut truth = sim.truth.borrow_mut();
        truth.tally.passes += 1;
        let id = format!("20270115T080000Z-{}-{:04x}", W::NAME, truth.tally.passes & 0xffff);
        let now = truth.now;
        let pass = Pass { id, program: W::NAME, now, clock_given: false, only: None, dry: false };
        (pass, truth.memory.recall(), truth.stir)
    };
    let mut board = Watched { sim, inner: sim.open(), by: W::NAME, fortune, stir, writes: Cell::new(0) };
    let here = Here { sim };
    let Ok(seen) = around(sim, &mut board, &mut cache, |world| watcher.observe(world, &pass)) else {
        sim.broken(|| format!("{} cannot look", W::NAME));
        return Some(0);
    };
    let decision = watcher.decide(&seen, &pass, &sim.config);
    if let Some(step) = decision.steps.iter().find(|s| !W::lists(s)) {
        sim.broken(|| format!("{} {} ({}) is on no list", W::NAME, step.action, step.case));
    }
    if W::NAME == HEAL
        && let Some(what) = laws::trials::silence(sim, &decision)
    {
        sim.broken(|| what);
    }
    if W::NAME == ROUTE_BLOCKED
        && let Some(what) = laws::trials::circle(&mut *sim.open(), &decision)
    {
        sim.broken(|| what);
    }
    tell::<W>(sim, &pass, &seen, &decision);
    {
        let mut truth = sim.truth.borrow_mut();
        truth.left.retain(|(_, by), _| *by != W::NAME);
        truth.left.extend(decision.left.iter().map(|l| ((l.task.clone(), W::NAME), l.because.clone())));
    }
    let unknown = unknown(&seen);
    if let Some(step) = decision.steps.iter().find(|s| unknown.contains(&s.task) && !s.only_adds()) {
        sim.broken(|| format!("{} acts on {}, of whose worker nothing is known", W::NAME, step.task));
    }
    let mut applied = 0;
    if !decision.steps.is_empty() {
        board.meddle();
        let mut done = Vec::new();
        let Ok(steps) = stop_workers(&mut board, decision.steps, &here, &mut done) else {
            sim.broken(|| format!("{} cannot look again", W::NAME));
            return Some(0);
        };
        let checked = Checked::of(steps, &here, pass.now, sim.config.heal.orphan_wait);
        let (applied_now, fault) =
            checked.apply(&mut board, pass.now, Duration::from_secs(1), &mut || Ok(()));
        done.extend(applied_now);
        if fault.is_some() {
            sim.truth.borrow_mut().tally.killed += 1;
            return None;
        }
        for (step, outcome) in &done {
            let mut truth = sim.truth.borrow_mut();
            truth.tell(|| {
                let (by, what) = (W::NAME, outcome.word());
                format!("{by} {} {} {} {what}: {}", step.action, step.case, step.task, step.because)
            });
            match outcome {
                Outcome::Applied { .. } => {
                    applied += 1;
                    wants::applied(&mut truth, W::NAME, step);
                    truth.tally.applied += 1;
                    truth.tally.drifts += u64::from(
                        step.case == Rule::TreeDrift || step.because.contains("changed by others since"),
                    );
                    truth.tally.unwell +=
                        u64::from(step.action == StepAction::Tell && step.case.rule() == Rule::Health);
                }
                Outcome::Moved { .. } => {
                    truth.tally.moved += 1;
                    // That is news, and the next pass may make something of it.
                    truth.stir += 1;
                }
                Outcome::Refused { why } => {
                    let why = why.clone();
                    drop(truth);
                    sim.broken(|| format!("{} {}: refused: {why}", W::NAME, step.task));
                }
                Outcome::Planned => {}
            }
        }
        board.meddle();
    }
    if fortune.killed_at.is_some_and(|at| at <= board.writes.get()) {
        sim.truth.borrow_mut().tally.killed += 1;
        return None;
    }
    let mut truth = sim.truth.borrow_mut();
    truth.memory.remember(&cache);
    truth.remembers = true;
    trials::remembered(&mut truth);
    Some(applied)
}

/// Lets `f` look at the world around the board.
pub(super) fn around<T>(
    sim: &Sim,
    board: &mut dyn Board,
    cache: &mut Cache,
    f: impl FnOnce(&mut World<'_>) -> T,
) -> T {
    let here = Here { sim };
    let clock_offset = {
        let truth = sim.truth.borrow();
        truth.now.0 - truth.machine.up
    };
    let profile = |name: &str| sim.truth.borrow().profile(name);
    let runtime = || runtime(sim);
    let state = |folder: &Path, _| trees::state(&sim.truth.borrow(), &folder.to_string_lossy());
    let vitals = |ask: &UseAsk<'_>, _: Option<Worker>, _: &mut Cache| fares::vitals(&sim.truth.borrow(), ask);
    let usage = |ask: &UseAsk<'_>, _: &mut Cache| wants::usage(&sim.truth.borrow(), ask);
    let bare = bare_world(board, &here, cache, &profile, &sim.config);
    f(&mut World { runtime: &runtime, state: &state, vitals: &vitals, usage: &usage, clock_offset, ..bare })
}

/// A world in which nothing but the board, a machine with its logs and the profiles can be asked.
pub(super) fn bare_world<'a, H: Witness + LogReader>(
    board: &'a mut dyn Board,
    here: &'a H,
    cache: &'a mut Cache,
    profile: &'a dyn Fn(&str) -> Option<Profile>,
    config: &'a Config,
) -> World<'a> {
    World {
        board,
        host: here,
        logs: here,
        cache,
        runtime: &Runtime::absent,
        profile,
        tree: &|_, _| Err("no tree here".into()),
        changes: &|_, _, _| Err("no tree here".into()),
        state: &|_: &Path, _| Err("no tree here".into()),
        vitals: &|_: &UseAsk<'_>, _: Option<Worker>, _: &mut Cache| None,
        sessions: &|_| Vec::new(),
        usage: &|_: &UseAsk<'_>, _: &mut Cache| Usage::unknown("nobody counts here"),
        hosts: None,
        clock_offset: 0,
        found: Vec::new(),
        config,
    }
}

/// Tells the listener of a pass as it would be kept.
fn tell<W: Watcher>(sim: &Sim, pass: &Pass, seen: &W::Seen, decision: &Decision) {
    let mut listener = sim.listener.borrow_mut();
    let Some(listen) = listener.as_mut() else { return };
    if let Some(stored) = stored::<W>("memory", pass, seen, decision) {
        listen(stored, &sim.config);
    }
}

pub(super) fn runtime(sim: &Sim) -> Runtime {
    let truth = sim.truth.borrow();
    let is_daemon = truth.trials.dispatch != Dispatch::CommandLine;
    Runtime {
        // Between two ticks nobody sees a command line; what it did is on the board.
        dispatcher: match truth.dispatcher.filter(|_| is_daemon) {
            Some(pid) => Dispatcher::Alive(pid),
            None => Dispatcher::Absent,
        },
        is_daemon,
        failure_limit: Some(2),
        profiles: PROFILES.iter().map(|(name, _, _)| *name).collect(),
        orchestrator: Some("tuesday".into()),
        ..Runtime::absent()
    }
}

/// The machine as a pass sees it.
struct Here<'a> {
    sim: &'a Sim,
}

impl Here<'_> {
    /// The start of a living process that carries the marks of a run.
    fn known(&self, task: &str, run: Option<i64>, pid: i64) -> Option<u64> {
        let truth = self.sim.truth.borrow();
        let Probe::Present(p) = truth.machine.probe(pid) else { return None };
        let Marks::Read { task: of, run: in_run } = &p.marks else { return None };
        let is_its = of.as_deref() == Some(task) && *in_run == run.map(|r| r.to_string());
        p.ticks.filter(|_| is_its)
    }

    fn with<T>(&self, f: impl FnOnce(&View<'_>) -> T) -> T {
        let truth = self.sim.truth.borrow();
        let facts = truth.machine.facts(truth.now);
        let names = self.sim.names.borrow();
        f(&truth.machine.view(&facts, &names))
    }
}

impl Witness for Here<'_> {
    fn facts(&self) -> HostFacts {
        self.with(|v| v.facts.clone())
    }
    fn is_here(&self, host: &str) -> bool {
        self.with(|v| v.is_here(host))
    }
    fn look(&self, asks: &[Ask]) -> Vec<Look> {
        self.with(|v| v.look(asks))
    }
    fn recheck(&self, proofs: &[Option<Proof>], freed: &[Freed<'_>]) -> Recheck {
        self.with(|v| v.recheck(proofs, freed))
    }
    fn boot_clock(&self) -> Option<i64> {
        Some(self.sim.truth.borrow().machine.up)
    }
    /// As `Host` does it: by start and environment.
    fn target(&self, task: &str, run: Option<i64>, pid: i64) -> Option<Target> {
        let start_ticks = self.known(task, run, pid)?;
        let boot_id = self.facts().boot_id;
        Some(Target { task: task.into(), run, pid, start_ticks, boot_id })
    }
    fn stop(&self, target: &Target) -> std::result::Result<Proof, Reason> {
        if target.boot_id != self.facts().boot_id {
            return Err("it was seen in another boot".into());
        }
        if self.known(&target.task, target.run, target.pid) != Some(target.start_ticks) {
            return Err(format!("pid {} is another process now", target.pid).into());
        }
        if let Some(what) = laws::resume::stop(self.sim, target) {
            self.sim.broken(|| what);
        }
        let mut truth = self.sim.truth.borrow_mut();
        if let Some(run) = target.run {
            trials::ended(&mut truth, &target.task, run, End::Died);
        }
        truth.jobs.retain(|j| j.pid != Some(target.pid));
        let is_its = |who: &Who| matches!(who, Who::Worker(task, run) | Who::Child(task, run) if *task == target.task && Some(*run) == target.run);
        for pid in truth.machine.pids(is_its) {
            truth.machine.forget(pid);
        }
        truth.tally.stopped += 1;
        truth.tell(|| format!("heal stops pid {} of {}", target.pid, target.task));
        Ok(Proof {
            task: target.task.clone(),
            run: target.run,
            pid: Some(target.pid),
            start_ticks: None,
            boot_id: target.boot_id.clone(),
            namespace: Some(truth.machine.facts(truth.now).pid_namespace),
            workers: Vec::new(),
        })
    }
}

impl LogReader for Here<'_> {
    fn read(&self, ask: &LogAsk<'_>, _cache: &mut shared::logs::cache::Cache) -> Reading {
        work::reading(&self.sim.truth.borrow(), ask.task, ask.since)
    }
}

/// A board on which others are at work between any two accesses, and on which every write is held against the laws.
struct Watched<'a> {
    sim: &'a Sim,
    inner: Box<dyn Board>,
    by: &'static str,
    fortune: Fortune,
    stir: u64,
    writes: Cell<u32>,
}

impl Watched<'_> {
    fn meddle(&self) {
        if self.fortune.disturbed {
            self.sim.meddle(self.fortune.depth);
        }
    }

    fn is_undisturbed(&self) -> bool {
        self.sim.truth.borrow().stir == self.stir
    }
}

impl Over for Watched<'_> {
    fn inner(&self) -> &dyn Board {
        &*self.inner
    }

    fn is_of_several(&self) -> bool {
        false
    }

    fn reach(&mut self, call: Call<'_>) -> Result<&mut dyn Board> {
        if matches!(call, Call::Look(_) | Call::Events) {
            self.meddle();
        }
        Ok(&mut *self.inner)
    }

    fn write(&mut self, now: Time, steps: &[Step], patience: Duration) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        for part in parts(steps, MAX_STEPS) {
            self.meddle();
            if self.fortune.killed_at == Some(self.writes.get()) {
                return Err(Error::new(Kind::Busy, "pass", "killed"));
            }
            let quiet = self.is_undisturbed();
            let broken: Vec<Option<String>> =
                part.iter().map(|s| laws::before(self.sim, &mut *self.inner, self.by, s, quiet)).collect();
            let done = self.inner.apply(now, part, patience)?;
            self.writes.set(self.writes.get() + 1);
            for (what, outcome) in broken.into_iter().zip(&done) {
                if let Some(what) = what.filter(|_| matches!(outcome, Outcome::Applied { .. })) {
                    self.sim.broken(|| what);
                }
            }
            let pairs: Vec<(&Step, &Outcome)> = part.iter().zip(&done).collect();
            self.sim.note_new(part);
            if let Some(what) = laws::after(self.sim, &mut *self.inner, self.by, &pairs) {
                self.sim.broken(|| what);
            }
            outcomes.extend(done);
        }
        Ok(outcomes)
    }
}
