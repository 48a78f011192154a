//! A machine as one pass sees it: what is known of it, what the configuration says of it, and its processes.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::{self, Attempt, Sight};
use super::proc::{Probe, Processes, Scan};
use super::{Ask, AtWork, Freed, HostFacts, Look, Proof, Recheck};

/// Everything a verdict on a worker rests on. [`super::Host`] makes one of the real machine; a simulation of another.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// What was read about the machine.
    pub facts: &'a HostFacts,
    /// Its other names.
    pub aliases: &'a [String],
    /// The configuration says that workers share our pid namespace.
    pub same_namespace: bool,
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
        // Where no pid is recorded, whoever hides its environment may be the worker.
        let pidless = asks.iter().filter(|a| a.pid.is_none() && !a.hermes_spawned);
        if let Some(since) = pidless.map(|a| a.since).min() {
            let seconds = since.since(self.facts.boot_time).saturating_sub(judge::START_SLACK);
            let from = u64::try_from(seconds).unwrap_or(0).saturating_mul(self.hertz);
            self.processes.settle(&mut scan, &tasks, from);
        }
        // One dispatcher claimed most of them.
        let mut known: BTreeMap<i64, Probe> = BTreeMap::new();
        let mut probe = |pid| known.entry(pid).or_insert_with(|| self.processes.probe(pid)).clone();
        let look = |ask: &Ask| {
            let sight = Sight {
                facts: self.facts,
                hertz: self.hertz,
                here: ask.claim_host.as_deref().is_none_or(|name| self.is_here(name)),
                same_namespace: self.same_namespace,
                recorded: ask.pid.map(&mut probe),
                claimer: ask.claimer_pid.map(&mut probe),
                scan: &scan,
            };
            judge::judge(ask, &sight)
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
            at_work: freed.iter().map(|f| at_work(&scan, f)).collect(),
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

/// What still works on a task: a worker first, else what one left behind.
pub(super) fn at_work(scan: &Scan, freed: &Freed<'_>) -> Option<AtWork> {
    let attempt = Attempt { task: freed.task, run: None, pid: None, workers: freed.workers };
    let worker = judge::worker_in(scan, attempt);
    let worker = worker.map(|(p, _)| AtWork { pid: p.pid, is_worker: true });
    worker.or_else(|| {
        let child = judge::children(scan, freed.task).next()?;
        Some(AtWork { pid: child.pid, is_worker: false })
    })
}
