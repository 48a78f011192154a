//! A machine as one pass sees it: what is known of it, what the configuration says of it, and its processes.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::judge::{self, Attempt, Sight};
use super::proc::{Probe, Process, Processes, Scan};
use super::{Ask, AtWork, Freed, HostFacts, Look, Proof, Recheck, Recorded};

/// Most ancestors of a process that are looked at.
const ANCESTORS: usize = 100;

/// Everything a verdict on a worker rests on. [`super::Host`] makes one of the real machine; a simulation of another.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// What was read about the machine.
    pub facts: &'a HostFacts,
    /// Its other names.
    pub aliases: &'a [String],
    /// The configuration says that workers share our pid namespace.
    pub same_namespace: bool,
    /// The board is of one machine alone: what was claimed in this boot and pid namespace is of this one, whatever it was called then.
    pub is_alone: bool,
    /// Clock ticks per second, the unit of process starts.
    pub hertz: u64,
    /// Its processes.
    pub processes: &'a dyn Processes,
}

impl View<'_> {
    /// Whether `name` (the part of a claim lock before the first colon) is this machine.
    pub fn is_here(&self, name: &str) -> bool {
        name == self.facts.hostname || self.aliases.iter().any(|a| a == name)
    }

    /// Judges every attempt asked about, in that order, by one scan of all processes.
    pub fn look(&self, asks: &[Ask]) -> Vec<Look> {
        if asks.is_empty() {
            return Vec::new();
        }
        let tasks: BTreeSet<&str> = asks.iter().map(|a| a.task.as_str()).collect();
        let mut scan = self.processes.scan(&tasks);
        // Where no pid is recorded, a process that hides its environment may be the worker. What another host claimed is not judged by
        // the processes of this one.
        let is_proven = |a: &Ask| self.is_alone && judge::claimed_in_ours(a, self.facts);
        let is_here = |a: &Ask| a.claim_host.as_deref().is_none_or(|name| self.is_here(name)) || is_proven(a);
        let pidless = asks.iter().filter(|a| a.pid.is_none() && !a.hermes_spawned && is_here(a));
        if let Some(since) = pidless.map(|a| a.since).min() {
            let seconds = since.since(self.facts.boot_time).saturating_sub(judge::START_SLACK);
            let from = u64::try_from(seconds).unwrap_or(0).saturating_mul(self.hertz);
            self.processes.settle(&mut scan, &tasks, from);
        }
        // One dispatcher claimed most of them.
        let mut known: BTreeMap<i64, Probe> = BTreeMap::new();
        let nested = OnceCell::new();
        let nested = |pid| nested.get_or_init(|| self.processes.nested()).get(&pid).copied();
        let mut probe = |pid| known.entry(pid).or_insert_with(|| self.processes.probe(pid)).clone();
        let look = |ask: &Ask| {
            let sight = Sight {
                facts: self.facts,
                hertz: self.hertz,
                here: is_here(ask),
                same_namespace: self.same_namespace,
                recorded: ask.pid.map(&mut probe),
                claimer: ask.claimer_pid.map(&mut probe),
                nested: &nested,
                scan: &scan,
            };
            let look = self.with_recorded(ask, judge::judge(ask, &sight), &scan);
            let stopped = look.worker_pid.map_or_else(Vec::new, |pid| stopped(pid, &mut probe));
            Look { stopped, ..look }
        };
        asks.iter().map(look).collect()
    }

    /// Looks once more at what was proven gone, and for who works on these tasks, by one scan of all processes.
    pub fn recheck(&self, proofs: &[Option<Proof>], freed: &[Freed<'_>]) -> Recheck {
        let proven = proofs.iter().flatten().map(|p| p.task.as_str());
        let asked: BTreeSet<&str> = proven.chain(freed.iter().map(|f| f.task)).collect();
        if asked.is_empty() {
            return Recheck { still_gone: vec![true; proofs.len()], at_work: Vec::new() };
        }
        let scan = self.processes.scan(&asked);
        let holds = |p: &Option<Proof>| p.as_ref().is_none_or(|p| self.holds_still(p, &scan));
        Recheck {
            still_gone: proofs.iter().map(holds).collect(),
            at_work: freed.iter().map(|f| self.at_work(&scan, f, &|_| false)).collect(),
        }
    }

    /// What still works on a task: a worker first, else what one left behind. Recorded workers that are `exempt` do not count.
    pub(super) fn at_work(
        &self,
        scan: &Scan,
        freed: &Freed<'_>,
        exempt: &dyn Fn(&Process) -> bool,
    ) -> Option<AtWork> {
        let attempt = Attempt { task: freed.task, run: None, pid: None, workers: &freed.workers };
        let at_work = |p: &Process, is_worker| AtWork { pid: p.pid, command: judge::short(p), is_worker };
        let named = judge::worker_in(scan, attempt).map(|(p, _)| at_work(p, true));
        let recorded = || {
            let living = freed.recorded.iter().filter_map(|r| Some((self.living(r, exempt)?, r.has_blocked)));
            let (last, has_blocked) = living.min_by_key(|(_, has_blocked)| *has_blocked)?;
            Some(at_work(&last, !has_blocked))
        };
        let child = || Some(at_work(judge::children(scan, freed.task).next()?, false));
        named.or_else(recorded).or_else(child)
    }

    /// What a look came to, and a worker of an earlier attempt that nothing but its recorded start tells of. Not one of which the present
    /// worker was started, or the other way round: it is of the same work.
    fn with_recorded(&self, ask: &Ask, look: Look, scan: &Scan) -> Look {
        let Some(worker) = look.worker_pid.filter(|_| !look.is_older && look.beside.is_none()) else {
            return look;
        };
        let present = || match self.processes.probe(worker) {
            Probe::Present(p) => Some(p),
            Probe::Absent | Probe::Exited | Probe::Unclear(_) => None,
        };
        let is_of_it = |p: &Process| {
            scan.own.contains(&p.pid)
                || self.comes_from(p, &BTreeSet::from([worker]))
                || present().is_some_and(|w| self.comes_from(&w, &BTreeSet::from([p.pid])))
        };
        let living = ask.recorded.iter().rev().filter_map(|r| {
            self.living(r, &is_of_it)?;
            Some(((r.run?, r.pid), r.has_blocked))
        });
        let Some((beside, stands_aside)) = living.min_by_key(|(_, has_blocked)| *has_blocked) else {
            return look;
        };
        Look { beside: Some(beside), stands_aside, ..look }
    }

    /// Whether a process is one of these, or was started by one.
    pub(super) fn comes_from(&self, process: &Process, these: &BTreeSet<i64>) -> bool {
        let (mut pid, mut parent) = (process.pid, process.parent);
        for _ in 0..ANCESTORS {
            if these.contains(&pid) {
                return true;
            }
            let Probe::Present(next) = self.processes.probe(parent) else { return false };
            (pid, parent) = (next.pid, next.parent);
        }
        false
    }

    /// The very process whose start is recorded, where it lives. One whose first thread ended lives while others of it do.
    fn living(&self, worker: &Recorded, exempt: &dyn Fn(&Process) -> bool) -> Option<Process> {
        match self.processes.probe(worker.pid) {
            Probe::Present(p) => (judge::is_same(&worker.birth, &p, self.facts) && !exempt(&p)).then_some(p),
            Probe::Absent | Probe::Exited | Probe::Unclear(_) => None,
        }
    }

    fn holds_still(&self, proof: &Proof, scan: &Scan) -> bool {
        let sees_namespace = self.facts.initial_pid_namespace || self.same_namespace;
        let in_sight = sees_namespace || proof.namespace.as_deref() == Some(&self.facts.pid_namespace);
        if proof.boot_id != self.facts.boot_id || !in_sight {
            return false;
        }
        let pid_is_free = match proof.pid.map(|pid| self.processes.probe(pid)) {
            None | Some(Probe::Absent | Probe::Exited) => true,
            Some(Probe::Unclear(_)) => false,
            // The same stranger as before, and it did not turn into the worker meanwhile.
            Some(Probe::Present(p)) => {
                p.ticks.is_some()
                    && p.ticks == proof.start_ticks
                    && !judge::is_recorded_worker(&p, &proof.task, proof.run)
            }
        };
        if !pid_is_free {
            return false;
        }
        let attempt = Attempt { task: &proof.task, run: proof.run, pid: proof.pid, workers: &proof.workers };
        let back = judge::worker_in(scan, attempt)
            .map(|(p, _)| p.pid)
            // Without a pid nothing tells the worker from its tools.
            .or_else(|| judge::marked_with(scan, &proof.task, proof.run).filter(|_| proof.pid.is_none()));
        scan.gap.is_none() && back.is_none()
    }
}

/// A process where it is stopped, and its parent where that is stopped with it.
fn stopped(pid: i64, mut probe: impl FnMut(i64) -> Probe) -> Vec<i64> {
    let mut stopped = |pid: i64| match probe(pid) {
        Probe::Present(p) if p.stopped => Some(p),
        _ => None,
    };
    let Some(worker) = stopped(pid) else { return Vec::new() };
    let parent = stopped(worker.parent).map(|p| p.pid);
    std::iter::once(worker.pid).chain(parent).collect()
}
