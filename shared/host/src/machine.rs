//! A machine as one pass sees it: what is known of it, what the configuration says of it, and its processes.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::judge::{self, Attempt, Sight};
use super::proc::{Probe, Process, Processes, Scan};
use super::{Ask, AtWork, Freed, HostFacts, Look, Proof, Recheck, Recorded};

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
            let look = judge::judge(ask, &sight);
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
        let attempt = Attempt { task: freed.task, run: None, pid: None, workers: freed.workers };
        let named = judge::worker_in(scan, attempt).map(|(p, _)| AtWork { pid: p.pid, is_worker: true });
        let recorded = || {
            let living = freed.recorded.iter().filter(|r| self.lives(r, exempt));
            let last = living.min_by_key(|r| r.has_blocked)?;
            Some(AtWork { pid: last.pid, is_worker: !last.has_blocked })
        };
        let child = || {
            let child = judge::children(scan, freed.task).next()?;
            Some(AtWork { pid: child.pid, is_worker: false })
        };
        named.or_else(recorded).or_else(child)
    }

    /// Whether the very process lives whose start is recorded. One whose first thread ended lives while others of it do.
    fn lives(&self, worker: &Recorded, exempt: &dyn Fn(&Process) -> bool) -> bool {
        match self.processes.probe(worker.pid) {
            Probe::Present(p) => judge::is_same(&worker.birth, &p, self.facts) && !exempt(&p),
            Probe::Absent | Probe::Exited | Probe::Unclear(_) => false,
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
