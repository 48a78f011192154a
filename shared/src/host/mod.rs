//! This host: whether a recorded worker lives, who holds a lock, whether the board file is split.
//!
//! Every answer has an `Unknown`, and `Unknown` never leads to an action. Nothing here sends a signal, opens
//! a board file or reads the wall clock. What was read is judged by pure functions (`judge`, the parsers), so
//! that every case a kernel can show has its row in a table.

mod here;
mod judge;
mod locks;
mod proc;
mod split;
mod types;

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::error::Result;
use crate::time::Time;
use judge::Sight;
use proc::Probe;
pub use proc::{Kin, Marks, Process};
pub use types::{
    Ask, Birth, Boot, Holders, HostFacts, HostPolicy, Life, Look, Orphan, PidNamespace, Proof, Split,
};

/// This host, read once per pass.
#[derive(Debug, Clone)]
pub struct Host {
    /// Where the process file system is; another folder only in tests.
    proc: PathBuf,
    aliases: Vec<String>,
    same_namespace: bool,
    /// Clock ticks per second, the unit of process starts.
    hertz: u64,
    facts: HostFacts,
}

impl Host {
    /// Reads this host. `now` is the wall clock at this moment, not a given time: boot time follows from it.
    ///
    /// # Errors
    /// Where `/proc` cannot be read, or shows another pid namespace than ours, so that no pid would mean
    /// what it says.
    pub fn here(policy: &HostPolicy, now: Time) -> Result<Host> {
        here::read(PathBuf::from("/proc"), policy, now)
    }

    /// What was read about this host.
    pub fn facts(&self) -> HostFacts {
        self.facts.clone()
    }

    /// Whether `name` (the part of a claim lock before the first colon) is this host.
    pub fn is_here(&self, name: &str) -> bool {
        name == self.facts.hostname || self.aliases.iter().any(|a| a == name)
    }

    /// Seconds between wall clock and boot clock. Between two passes of one boot this changes only when
    /// somebody steps the wall clock (or by the second that rounding costs).
    pub fn wall_minus_boot(&self, now: Time) -> i64 {
        now.0.saturating_sub(here::boot_clock())
    }

    /// Judges every attempt asked about, in that order, by one scan of all processes.
    pub fn look(&self, asks: &[Ask]) -> Vec<Look> {
        if asks.is_empty() {
            return Vec::new();
        }
        let tasks: BTreeSet<&str> = asks.iter().map(|a| a.task.as_str()).collect();
        let scan = proc::scan(&self.proc, &tasks);
        let probe = |pid| proc::probe(&self.proc, pid);
        let look = |ask: &Ask| {
            let sight = Sight {
                facts: &self.facts,
                hertz: self.hertz,
                here: ask.claim_host.as_deref().is_none_or(|name| self.is_here(name)),
                same_namespace: self.same_namespace,
                recorded: ask.pid.map(probe),
                claimer: ask.claimer_pid.map(probe),
                scan: &scan,
            };
            judge::judge(ask, &sight)
        };
        asks.iter().map(look).collect()
    }

    /// When a process started, to recognise it again by; `None` where there is no such process.
    pub fn birth_of(&self, pid: i64) -> Option<Birth> {
        match proc::probe(&self.proc, pid) {
            Probe::Present(p) if !p.zombie => {
                Some(Birth { boot: Boot::Id(self.facts.boot_id.clone()), ticks: p.ticks? })
            }
            _ => None,
        }
    }

    /// Whether what was proven gone still is, to be asked just before the board is changed.
    ///
    /// `false` is no news about the worker, only an end of this proof: look again in the next pass.
    pub fn still_gone(&self, proof: &Proof) -> bool {
        self.still_gone_all(&[Some(proof.clone())]) == [true]
    }

    /// [`Host::still_gone`] for many by one scan of all processes; where there is no proof there is nothing to ask.
    pub fn still_gone_all(&self, proofs: &[Option<Proof>]) -> Vec<bool> {
        let tasks: BTreeSet<&str> = proofs.iter().flatten().map(|p| p.task.as_str()).collect();
        if tasks.is_empty() {
            return vec![true; proofs.len()];
        }
        let scan = proc::scan(&self.proc, &tasks);
        proofs.iter().map(|p| p.as_ref().is_none_or(|p| self.holds_still(p, &scan))).collect()
    }

    fn holds_still(&self, proof: &Proof, scan: &proc::Scan) -> bool {
        let in_sight = self.sees_namespace() || proof.namespace.as_deref() == Some(&self.facts.pid_namespace);
        if proof.boot_id != self.facts.boot_id || !in_sight {
            return false;
        }
        let pid_is_free = match proof.pid.map(|pid| proc::probe(&self.proc, pid)) {
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
        let back = judge::worker_by_command(scan, &proof.task)
            // Without a pid nothing tells the worker from its tools.
            .or_else(|| judge::marked_with(scan, &proof.task, proof.run).filter(|_| proof.pid.is_none()));
        scan.gap.is_none() && back.is_none()
    }

    /// Whether a pid on the board, or a lock in `/proc/locks`, can be taken at its word.
    fn sees_namespace(&self) -> bool {
        self.facts.initial_pid_namespace || self.same_namespace
    }
}

#[cfg(test)]
mod tests;
