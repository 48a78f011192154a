//! Who still works on a task that is free on the board: an attempt may end before its worker does.

use std::collections::{BTreeMap, BTreeSet};

use super::{Hand, refused, warn};
use base::error::{Error, Result};
use base::time::Time;
use board::{Board, Detail, Shared, Task};
use config::{Config, span};
use host::{Freed, Host, Witness};

/// Of how many tasks processes are looked for at first: of more than the places at which a worker begins, see `run/queue.rs`.
const FIRST: usize = 512;

/// What the processes of this host showed, before the board was locked.
#[derive(Default)]
pub(super) struct Living {
    /// The newest attempt of the board by then.
    newest: Option<i64>,
    /// The tasks that processes were looked for of.
    tasks: BTreeSet<String>,
    /// The process that works on a task.
    at_work: BTreeMap<String, i64>,
}

impl Living {
    /// Whether it tells of a task as that stands now: no attempt at it began since.
    pub(super) fn knows(&self, seen: &Detail) -> bool {
        self.tasks.contains(&seen.task.id) && seen.newest_run().is_none_or(|run| Some(run.id) <= self.newest)
    }

    /// Whether a process works on a task that it tells of.
    pub(super) fn is_at_work_on(&self, seen: &Detail) -> bool {
        self.knows(seen) && self.at_work.contains_key(&seen.task.id)
    }
}

impl Hand<'_> {
    /// Refuses the claim of a task on which an earlier attempt is still at work. `worker`: for whom it is claimed.
    pub(super) fn nobody_works_on(&mut self, seen: &Detail, worker: Option<i64>) -> Result<()> {
        match self.living(seen, &[], &Living::default(), worker)?.at_work.get(&seen.task.id) {
            Some(pid) => {
                Err(at_work(&seen.task.id, *pid).hint(format!("wait for its end, or stop it: kill {pid}")))
            }
            None => Ok(()),
        }
    }

    /// Looks for processes of a task that is offered, and of those that may be offered next to a worker of these profiles: many
    /// workers at once lose one task after the other to each other. Of twice as many as the last time, so that the end of a list of which all are
    /// passed over is reached.
    pub(super) fn living(
        &mut self,
        offered: &Detail,
        of: &[Option<&str>],
        last: &Living,
        worker: Option<i64>,
    ) -> Result<Living> {
        let newest = self.board.recent_runs(1)?.last().map(|(_, run)| run.id);
        let newest = newest.max(offered.newest_run().map(|run| run.id));
        // A task that is claimed by its id is asked about alone.
        let free = match of {
            [] => Shared::default(),
            _ => self.board.next_of(of, FIRST.max(2 * last.tasks.len()))?,
        };
        let all: Vec<&Task> = free.iter().chain([&offered.task]).collect();
        let at_work = works_on(&mut *self.board, &self.here.host, self.here.now, self.config, &all, worker)?;
        let tasks = all.into_iter().map(|t| t.id.clone()).collect();
        Ok(Living { newest, tasks, at_work })
    }

    /// Says of tasks that were passed over why, once each.
    pub(super) fn passed_over(&self, tasks: &[String], living: &Living, said: &mut BTreeSet<(String, i64)>) {
        for (id, pid) in tasks.iter().filter_map(|id| living.at_work.get_key_value(id)) {
            if said.insert((id.clone(), *pid)) && !self.common.quiet {
                let line = at_work(id, *pid).hint("it is passed over until that process ends").to_string();
                warn(&line);
            }
        }
    }
}

/// Which process still works on a task, of those of these tasks on which one does. `worker`: for whom that is asked.
pub(super) fn works_on(
    board: &mut dyn Board,
    host: &Host,
    now: Time,
    config: &Config,
    tasks: &[&Task],
    worker: Option<i64>,
) -> Result<BTreeMap<String, i64>> {
    // Nobody ever worked on most of them.
    let begun = tasks.iter().filter(|t| t.started_at.is_some()).map(|t| t.id.as_str());
    let begun: BTreeSet<&str> = begun.collect();
    let tasks: BTreeSet<&str> = tasks.iter().map(|t| t.id.as_str()).collect();
    let asked: Vec<Freed<'_>> = tasks.iter().map(|task| Freed::named(task)).collect();
    let named = tasks.iter().zip(host.at_work(&asked));
    let named = named.filter(|(task, process)| process.is_some() || begun.contains(*task));
    let named = board.look(&named.map(|(task, _)| (*task).to_owned()).collect::<Vec<_>>())?;
    let asked: Vec<Freed<'_>> = named.iter().map(Detail::freed).collect();
    let found = host.at_work_beside(&asked, worker);
    let orphan_wait = span::seconds(config.heal.orphan_wait);
    let holds = |(seen, process): (&Detail, Option<host::AtWork>)| {
        let process = process.filter(|p| p.is_worker || is_waited_for(seen, now, orphan_wait))?;
        Some((seen.task.id.clone(), process.pid))
    };
    Ok(named.iter().zip(found).filter_map(holds).collect())
}

/// Whether what a worker left running is waited for: it blocked its task a short while ago. Any other end is `heal`'s, which waits
/// before it sets the task free.
fn is_waited_for(seen: &Detail, now: Time, orphan_wait: i64) -> bool {
    let blocked = seen.newest_run().filter(|run| run.outcome.as_deref() == Some("blocked"));
    blocked.and_then(|run| run.ended_at).is_some_and(|at| now.since(at) < orphan_wait)
}

fn at_work(task: &str, pid: i64) -> Error {
    refused(task, format!("process {pid} of an earlier attempt still works on it"))
}
