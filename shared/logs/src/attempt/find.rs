//! Finding the logs of agents that are an attempt's.

use std::path::{Path, PathBuf};

use super::log::count;
use crate::agents::newest::MAX_FILES;
use crate::agents::{Known, UsageAsk};
use crate::cache::Cache;
use crate::handle::Owner;
use crate::usage::window::Window;
use crate::vitals::Worker;
use base::reason::Reason;

/// Logs of sessions that worked in the task's folder during the attempt.
#[derive(Default)]
pub(crate) struct Found {
    /// By agent, the one last written first.
    pub(crate) paths: Vec<PathBuf>,
    /// There are more than were looked at.
    pub(crate) is_more: bool,
    /// Sessions that are older than the task are left out.
    pub(crate) is_older: bool,
}

/// The log that is surely the worker's, whichever agent it is.
pub(crate) fn own_log(
    ask: &UsageAsk<'_>,
    worker: Option<Worker>,
    cache: &mut Cache,
) -> Result<Option<PathBuf>, Reason> {
    for agent in Known::all() {
        if let Some(path) = agent.own_log(ask, worker, cache)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The sessions of all agents in the task's folder. One that is older than the task is the worker's only where no other is: an
/// agent may claim a task in the session that it works in, but more often it is a person's.
pub(crate) fn in_folder(ask: &UsageAsk<'_>, cache: &mut Cache) -> Found {
    let mut found = Found::default();
    let Some(Ok(real)) = ask.workspace.map(std::fs::canonicalize) else { return found };
    let starts = Window::new(ask.from, ask.to, ask.next, ask.now).starts;
    let begins = Window::new(ask.began, ask.to, ask.next, ask.now).from;
    let mut older = Vec::new();
    for agent in Known::all() {
        let all = agent.in_folder(ask, &real, cache);
        found.is_more |= all.len() > MAX_FILES;
        for path in all.into_iter().take(MAX_FILES) {
            let Ok(Some(counted)) = count(ask, &path, Owner::Ourselves, cache) else { continue };
            let log = &counted.count;
            // Different folders may have one name; what a session itself says is right.
            let is_here = agent.is_sure_of_folder()
                || log.record.cwd.as_deref().is_some_and(|cwd| Path::new(cwd) == real);
            let clock = &log.gate.clock;
            if is_here && clock.first().is_some_and(|first| first <= starts) {
                let is_older = clock.oldest().is_some_and(|oldest| oldest < begins);
                if is_older { older.push(path) } else { found.paths.push(path) }
            }
        }
    }
    found.is_older = !found.paths.is_empty() && !older.is_empty();
    if found.paths.is_empty() {
        found.paths = older;
    }
    found
}
