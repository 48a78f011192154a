//! What a watcher asks about processes, of this host or of a simulated one.

use std::path::Path;

use super::{
    Ask, AtWork, Freed, Frozen, Host, HostFacts, Look, Orphan, Proof, Recheck, Target, freezer, host_facts,
};
use base::reason::Reason;

/// Who can be asked about processes; the real one reads `/proc`.
pub trait Witness {
    /// What is known of this machine.
    fn facts(&self) -> HostFacts;
    /// Whether a claim's host is this machine, under its present or a former name.
    fn is_here(&self, host: &str) -> bool;
    /// Looks at the workers of some attempts, in that order, by one scan of all processes.
    fn look(&self, asks: &[Ask]) -> Vec<Look>;
    /// Looks at the workers of tasks of another board, which is a file of this machine; at none where nobody can look.
    fn look_on(&self, _board: &Path, _asks: &[Ask]) -> Vec<Look> {
        Vec::new()
    }
    /// Looks once more, just before the board is changed: whether these workers still are gone, and who works on these
    /// tasks.
    fn recheck(&self, proofs: &[Option<Proof>], freed: &[Freed<'_>]) -> Recheck;
    /// Who works on these tasks, in that order.
    fn at_work(&self, freed: &[Freed<'_>]) -> Vec<Option<AtWork>> {
        self.recheck(&[], freed).at_work
    }
    /// Seconds since this machine was started, now; `None` where nobody can tell.
    fn boot_clock(&self) -> Option<i64> {
        None
    }
    /// Seconds of this boot in which the machine was suspended; `None` where nobody can tell. A time namespace shifts both clocks;
    /// there only a change of this figure means something.
    fn slept(&self) -> Option<i64> {
        None
    }
    /// Processes that work in a folder or below it, ourselves apart, as far as we may see where they work.
    fn inside(&self, _folder: &Path) -> Vec<Orphan> {
        Vec::new()
    }
    /// The frozen cgroup that holds a process; `None` also where nothing tells.
    fn frozen(&self, _pid: i64) -> Option<Frozen> {
        None
    }
    /// A living worker as it may be stopped; `None` where nothing proves who it is.
    fn target(&self, _task: &str, _run: Option<i64>, _pid: i64) -> Option<Target> {
        None
    }
    /// Stops a worker and what it started; gives the proof that they are gone.
    ///
    /// # Errors
    /// Why it was not, in words.
    fn stop(&self, _target: &Target) -> Result<Proof, Reason> {
        Err("this host stops no worker".into())
    }
}

impl Witness for Host {
    fn facts(&self) -> HostFacts {
        Host::facts(self)
    }
    fn is_here(&self, host: &str) -> bool {
        Host::is_here(self, host)
    }
    fn look(&self, asks: &[Ask]) -> Vec<Look> {
        self.view(&self.processes()).look(asks)
    }
    fn look_on(&self, board: &Path, asks: &[Ask]) -> Vec<Look> {
        self.of_board(board).look(asks)
    }
    fn recheck(&self, proofs: &[Option<Proof>], freed: &[Freed<'_>]) -> Recheck {
        self.view(&self.processes()).recheck(proofs, freed)
    }
    fn boot_clock(&self) -> Option<i64> {
        Some(host_facts::boot_clock())
    }
    fn slept(&self) -> Option<i64> {
        Some(host_facts::slept())
    }
    fn inside(&self, folder: &Path) -> Vec<Orphan> {
        self.inside_but(folder, |_| false)
    }
    fn frozen(&self, pid: i64) -> Option<Frozen> {
        freezer::frozen(&self.proc, pid)
    }
    fn target(&self, task: &str, run: Option<i64>, pid: i64) -> Option<Target> {
        Host::target(self, task, run, pid)
    }
    fn stop(&self, target: &Target) -> Result<Proof, Reason> {
        Host::stop(self, target)
    }
}
