//! What still works on a task that a worker is about to claim.

use std::collections::BTreeSet;

use super::proc::{Kin, Process, Processes, Scan};
use super::{AtWork, Freed, Host};

impl Host {
    /// For each task what an earlier attempt at it left at work; what names no attempt and is not a recorded worker only waits for its
    /// own claim. The claimer's own processes do not count: `worker`, the callers of this program that name the task, and what
    /// those started.
    pub fn at_work_beside(&self, freed: &[Freed<'_>], worker: Option<i64>) -> Vec<Option<AtWork>> {
        let tasks: BTreeSet<&str> = freed.iter().map(|f| f.task).collect();
        if tasks.is_empty() {
            return Vec::new();
        }
        let processes = self.processes();
        let (scan, view) = (processes.scan(&tasks), self.view(&processes));
        let at_work = |f: &Freed<'_>| {
            let claimers = claimers(&scan, f, worker);
            let exempt = |p: &Process| scan.own.contains(&p.pid) || view.comes_from(p, &claimers);
            view.at_work(&beside(&scan, f, &exempt), f, &exempt)
        };
        freed.iter().map(at_work).collect()
    }
}

/// The worker for whom a task is claimed, and the callers of this program that name the task.
fn claimers(scan: &Scan, freed: &Freed<'_>, worker: Option<i64>) -> BTreeSet<i64> {
    let names_it = |p: &&Process| p.kin(freed.task, None) == Kin::ThisRun;
    let callers = scan.marked.iter().filter(names_it).map(|p| p.pid).filter(|pid| scan.own.contains(pid));
    callers.chain(worker).collect()
}

/// A scan of those alone that name the task, without those that are `exempt`, and those that wait for a claim.
fn beside(scan: &Scan, freed: &Freed<'_>, exempt: &dyn Fn(&Process) -> bool) -> Scan {
    // Asked first: whether one is exempt is read from `/proc`, and others name other tasks.
    let names_it = |p: &Process| p.worker_of() == Some(freed.task) || p.kin(freed.task, None) == Kin::ThisRun;
    let began = |p: &Process| {
        p.run().is_some() || p.worker_of().is_some() || freed.workers.iter().any(|(_, pid)| *pid == p.pid)
    };
    let is_beside = |p: &&Process| names_it(p) && began(p) && !exempt(p);
    Scan {
        marked: scan.marked.iter().filter(is_beside).cloned().collect(),
        own: scan.own.clone(),
        ..Scan::default()
    }
}
