//! Passes of the real programs on a host: the same observation, decision and write, over a link that may fail between any two of their
//! looks and writes.

use std::cell::Cell;
use std::time::Duration;

use shared::base::error::{Error, Kind, Result};
use shared::base::registry::HEAL;
use shared::base::time::Time;
use shared::board::change::parts;
use shared::board::several_hosts::OVERTAKEN;
use shared::board::testing::{Call, Over};
use shared::board::{Attendance, Attended, Board, Duty, HOST_LEASE, Outcome, Rule, Status, Step, claim_host};
use shared::host::{Ask, Freed, HostFacts, Look, Proof, Recheck, View};
use shared::logs::cache::Cache;
use shared::logs::provider::Profile;
use shared::logs::{LogEnd, Reading};
use shared::ops::pass::apply::{Checked, left_to_their_hosts, stop_workers};
use shared::policy::runtime::{LogAsk, LogReader};
use shared::policy::{Pass, Witness, World};
use shared::watch::Watcher;
use shared::watch::distress::SynthesizeDistress;
use shared::watch::heal::Heal;
use shared::watch::route::RouteBlocked;

use super::super::bare_world;
use super::work::provider;
use super::{Actor, HOSTS, NO_ANSWER, Night, SLOTS, Without, laws, name, strikes};
use crate::memory::MemoryBoard;

/// Steps in one write. A real pass takes a hundred; here every pass of three steps has an inside.
const MAX_STEPS: usize = 2;

/// Which program. `budget-check` changes nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Program {
    Heal,
    Distress,
    Route,
}

impl Program {
    pub(super) const ALL: [Program; 3] = [Program::Heal, Program::Distress, Program::Route];

    fn every(self) -> i64 {
        if self == Program::Heal { 120 } else { 180 }
    }
}

/// Runs one pass on a host.
pub(super) fn run(night: &Night, host: usize, program: Program, depth: u32) {
    {
        let mut truth = night.truth.borrow_mut();
        if !truth.hosts[host].runs() || !truth.passing.insert((host, program)) {
            return;
        }
        truth.sum.passes += 1;
    }
    let done = match program {
        Program::Heal => pass(night, &Heal, host, program, depth),
        Program::Distress => pass(night, &SynthesizeDistress, host, program, depth),
        Program::Route => pass(night, &RouteBlocked, host, program, depth),
    };
    let mut truth = night.truth.borrow_mut();
    truth.passing.remove(&(host, program));
    let late = truth.chance.between(0, 15);
    truth.hosts[host].next[program as usize] = truth.now + program.every() + late;
    if let Err(e) = done {
        truth.sum.lost += 1;
        if e.what != NO_ANSWER {
            truth.tell(|| format!("{program:?} on {}: {}", name(host), e.what));
        }
    }
}

fn pass<W: Watcher>(night: &Night, watcher: &W, host: usize, program: Program, depth: u32) -> Result<()> {
    let (pass, mut cache, began, drops_at) = {
        let mut truth = night.truth.borrow_mut();
        let id = format!("20270115T080000Z-{}-{:04x}", W::NAME, truth.sum.passes & 0xffff);
        let now = truth.clock(host);
        let pass = Pass { id, program: W::NAME, now, clock_given: false, only: None, dry: false };
        let is_unlucky = !truth.is_calm && truth.chance.percent(2);
        let drops_at = is_unlucky.then(|| truth.chance.below(6));
        let began = laws::Began::default();
        (pass, truth.hosts[host].memory.recall(), began, drops_at)
    };
    let (inner, accesses) = (night.board.clone(), Cell::new(0));
    let mut board = Linked { night, host, program, by: W::NAME, inner, depth, drops_at, accesses, began };
    let here = Here { night, host };
    let duty = if W::NAME == HEAL { Duty::Heals } else { Duty::Works };
    let mut hosts = board.attends(W::NAME, duty)?;
    if night.is(Without::Doubt)
        && let Some(hosts) = &mut hosts
    {
        hosts.before = Some(hosts.now);
    }
    let seen =
        around(night, host, &mut board, &mut cache, hosts.clone(), |world| watcher.observe(world, &pass))?;
    let decision = watcher.decide(&seen, &pass, &night.config);
    if let Some(step) = decision.steps.iter().find(|s| !W::lists(s)) {
        night.broken(format!("{} {} ({}) is on no list", W::NAME, step.action, step.case));
    }
    laws::decided(night, host, hosts.as_ref(), &decision);
    {
        let mut truth = night.truth.borrow_mut();
        truth.left.retain(|(_, by, at), _| (*by, *at) != (program, host));
        let left = decision.left.iter();
        truth.left.extend(left.map(|l| ((l.task.clone(), program, host), l.because.clone())));
        truth.hosts[host].memory.remember(&cache);
    }
    if decision.steps.is_empty() {
        return Ok(());
    }
    night.meddle(host, depth, 15);
    if let Some(step) = decision.steps.iter().find(|s| s.case.rule() == Rule::HostGone) {
        let lock = step.expect.as_ref().and_then(|e| e.claim_lock.as_deref());
        night.perhaps_back(lock.map(claim_host).unwrap_or_default(), depth);
    }
    let mut done = Vec::new();
    let mut steps = stop_workers(&mut board, decision.steps, &here, &mut done)?;
    let is_abroad = |s: &Step| {
        let expect = s.expect.as_ref().filter(|e| e.status == Status::Running);
        expect.and_then(|e| e.claim_lock.as_deref()).is_some_and(|lock| !here.is_here(claim_host(lock)))
    };
    if steps.iter().any(is_abroad)
        && !night.is(Without::Back)
        && let Some(all) = board.attends(W::NAME, Duty::Looks)?
    {
        steps = left_to_their_hosts(steps, &here, &all, night.config.host.gone_after, &mut done);
    }
    if let Some(what) = laws::back(night, &steps) {
        night.broken(what);
    }
    let checked = Checked::of(steps, &here, pass.now, night.config.heal.orphan_wait);
    let (applied, fault) = checked.apply(&mut board, pass.now, Duration::from_secs(1), &mut || Ok(()));
    done.extend(applied);
    for (step, outcome) in &done {
        let mut truth = night.truth.borrow_mut();
        truth.tell(|| {
            let what = match outcome {
                Outcome::Moved { what } => format!("moved: {what}"),
                other => other.word().to_owned(),
            };
            let (by, at) = (W::NAME, name(host));
            format!("{by} on {at} {} {} {} {what}: {}", step.action, step.case, step.task, step.because)
        });
        match outcome {
            Outcome::Applied { .. } => truth.sum.applied += 1,
            Outcome::Moved { what } => {
                truth.sum.moved += 1;
                truth.sum.overtaken += u64::from(what == OVERTAKEN);
                truth.sum.changed_over += u64::from(what == "the server changed over");
                truth.sum.came_back += u64::from(what.ends_with("heal runs there again"));
            }
            Outcome::Refused { why } => {
                let what = format!("{} {}: refused: {why}", W::NAME, step.task);
                drop(truth);
                night.broken(what);
            }
            Outcome::Planned => {}
        }
    }
    fault.map_or(Ok(()), Err)
}

fn around<T>(
    night: &Night,
    host: usize,
    board: &mut dyn Board,
    cache: &mut Cache,
    hosts: Option<Attended>,
    f: impl FnOnce(&mut World<'_>) -> T,
) -> T {
    let here = Here { night, host };
    let clock_offset = {
        let truth = night.truth.borrow();
        truth.clock(host).0 - truth.hosts[host].machine.up
    };
    f(&mut World { hosts, clock_offset, ..bare_world(board, &here, cache, &profile, &night.config) })
}

fn profile(of: &str) -> Option<Profile> {
    let slot = SLOTS.iter().position(|name| *name == of)?;
    let fallbacks = if slot == 0 { vec![SLOTS[1].to_owned()] } else { Vec::new() };
    Some(Profile {
        name: of.into(),
        provider: Some(provider(slot).into()),
        endpoint: Some(format!("api.{}.example", provider(slot))),
        fallbacks,
        says: Some(0),
        ..Profile::default()
    })
}

/// A host as those on it see it.
pub(super) struct Here<'a> {
    pub(super) night: &'a Night,
    pub(super) host: usize,
}

impl Here<'_> {
    fn with<T>(&self, f: impl FnOnce(&View<'_>) -> T) -> T {
        let truth = self.night.truth.borrow();
        let machine = &truth.hosts[self.host].machine;
        let facts = machine.facts(truth.clock(self.host));
        f(&machine.view(&facts, &[]))
    }
}

impl Witness for Here<'_> {
    fn facts(&self) -> HostFacts {
        self.with(|v| v.facts.clone())
    }
    fn is_here(&self, host: &str) -> bool {
        host == HOSTS[self.host]
    }
    fn look(&self, asks: &[Ask]) -> Vec<Look> {
        self.with(|v| v.look(asks))
    }
    fn recheck(&self, proofs: &[Option<Proof>], freed: &[Freed<'_>]) -> Recheck {
        self.with(|v| v.recheck(proofs, freed))
    }
    fn boot_clock(&self) -> Option<i64> {
        Some(self.night.truth.borrow().hosts[self.host].machine.up)
    }
    fn slept(&self) -> Option<i64> {
        Some(self.night.truth.borrow().hosts[self.host].slept)
    }
}

impl LogReader for Here<'_> {
    fn read(&self, ask: &LogAsk<'_>, _cache: &mut Cache) -> Reading {
        let truth = self.night.truth.borrow();
        match truth.logs.get(&(self.host, ask.task.to_owned())) {
            None => Reading::of(LogEnd::Absent, None),
            Some((_, written)) if *written < ask.since => Reading::of(LogEnd::NoEvidence, Some(*written)),
            Some((end, written)) => Reading::of(end.clone(), Some(*written)),
        }
    }
}

/// The board over the link of a host, on which others are at work between any two accesses.
struct Linked<'a> {
    night: &'a Night,
    host: usize,
    program: Program,
    by: &'static str,
    inner: MemoryBoard,
    depth: u32,
    /// At which access the link fails.
    drops_at: Option<u64>,
    accesses: Cell<u64>,
    began: laws::Began,
}

impl Linked<'_> {
    fn meddle(&self) {
        self.night.meddle(self.host, self.depth, 2);
    }

    fn lost<T>(&self) -> Result<T> {
        Err(Error::new(Kind::Busy, "memory", NO_ANSWER))
    }

    /// Whether the board is reached; where its link fails with this access, whether what is sent still takes place.
    fn reached(&self) -> Result<bool> {
        let nth = self.accesses.get();
        self.accesses.set(nth + 1);
        if !self.night.truth.borrow().hosts[self.host].reaches() {
            return self.lost();
        }
        if self.drops_at != Some(nth) {
            return Ok(true);
        }
        let is_sent = self.night.truth.borrow_mut().chance.percent(60);
        strikes::flap(self.night, self.host);
        let mut truth = self.night.truth.borrow_mut();
        match is_sent {
            true => truth.sum.dropped += 1,
            false => truth.sum.unsent += 1,
        }
        drop(truth);
        if is_sent { Ok(false) } else { self.lost() }
    }

    fn reads(&self) -> Result<()> {
        if self.reached()? { Ok(()) } else { self.lost() }
    }

    fn attends(&mut self, program: &str, duty: Duty) -> Result<Option<Attended>> {
        let answers = self.reached()?;
        let (facts, up) = {
            let truth = self.night.truth.borrow();
            let machine = &truth.hosts[self.host].machine;
            (machine.facts(truth.clock(self.host)), machine.up)
        };
        let boot = &facts.boot_id;
        let me = Attendance { host: HOSTS[self.host], boot, uptime: up, age: up, program, duty };
        let attended = self.inner.attend(&me)?;
        let mut truth = self.night.truth.borrow_mut();
        let now = truth.now;
        if duty != Duty::Looks {
            truth.hosts[self.host].heard = now;
            self.began.decided.set(truth.decided);
            self.began.losses.set(truth.losses);
            self.began.at.set(now);
        }
        if duty == Duty::Heals {
            let h = &mut truth.hosts[self.host];
            let is_steady = h.healed.is_some_and(|at| now - at <= HOST_LEASE);
            h.steady_since = h.steady_since.filter(|_| is_steady).or(Some(now));
            (h.before, h.healed) = (h.healed, Some(now));
        }
        drop(truth);
        if answers { Ok(attended) } else { self.lost() }
    }
}

impl Over for Linked<'_> {
    fn inner(&self) -> &dyn Board {
        &self.inner
    }

    fn reach(&mut self, call: Call<'_>) -> Result<&mut dyn Board> {
        if let Call::Look(_) = call {
            self.meddle();
        }
        if call != Call::Writable {
            self.reads()?;
        }
        if let Call::Look(ids) = call {
            let servers = self.night.truth.borrow().servers;
            self.began.looked.borrow_mut().extend(ids.iter().map(|id| (id.clone(), servers)));
        }
        Ok(&mut self.inner)
    }

    fn hosts(&mut self, me: &Attendance<'_>) -> Result<Option<Attended>> {
        self.reach(Call::Read)?.attend(me)
    }

    fn write(&mut self, now: Time, steps: &[Step], _: Duration) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        for part in parts(steps, MAX_STEPS) {
            self.meddle();
            let answers = self.reached()?;
            let mut part = part.to_vec();
            self.weaken(&mut part);
            let actor = Actor::Watcher(self.program, self.host);
            let done = self.night.write(actor, &mut self.inner, now, &part)?;
            if let Some(what) = laws::beside(self.night, &self.began, self.by, &part, &done) {
                self.night.broken(what);
            }
            if !answers {
                return self.lost();
            }
            outcomes.extend(done);
        }
        Ok(outcomes)
    }
}

impl Linked<'_> {
    /// Takes out the guard that is left out.
    fn weaken(&mut self, part: &mut [Step]) {
        let without = self.night.without;
        if without == Some(Without::Epoch) {
            self.inner.looks_anew();
        }
        for step in part.iter_mut() {
            let Some(is) = super::super::hands::look(&mut self.night.board.clone(), &step.task) else {
                continue;
            };
            let Some(expect) = step.expect.as_mut() else { continue };
            let number = |mark: &str| mark.split('.').next().unwrap_or_default().to_owned();
            let is_meant = match without {
                Some(Without::History) => true,
                Some(Without::Timeline) => number(&expect.mark) == number(&is.mark),
                _ => false,
            };
            if is_meant {
                expect.mark = is.mark.clone();
            }
        }
    }
}
