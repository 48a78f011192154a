//! Finding the logs of agents that are an attempt's.

use std::path::{Path, PathBuf};

use super::UsageAsk;
use super::agent::count;
use super::window::Window;
use crate::agents::Known;
use crate::cache::Cache;
use crate::handle::Owner;
use crate::vitals::Worker;

/// Most logs of each agent that are looked at.
pub(crate) const MAX_FILES: usize = 20;

/// Most entries of a folder that are looked at.
pub(crate) const MAX_ENTRIES: usize = 10_000;

/// Logs of sessions that worked in the task's folder during the attempt.
#[derive(Default)]
pub(crate) struct Found {
    /// By agent, the one last written first.
    pub(crate) paths: Vec<PathBuf>,
    /// There are more than were looked at.
    pub(crate) is_more: bool,
}

/// The log that is surely the worker's, whichever agent it is.
pub(crate) fn own_log(
    ask: &UsageAsk<'_>,
    worker: Option<Worker>,
    cache: &mut Cache,
) -> Result<Option<PathBuf>, String> {
    for agent in Known::all() {
        if let Some(path) = agent.own_log(ask, worker, cache)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The sessions of all agents in the task's folder.
pub(crate) fn in_folder(ask: &UsageAsk<'_>, cache: &mut Cache) -> Found {
    let mut found = Found::default();
    let Some(Ok(real)) = ask.workspace.map(std::fs::canonicalize) else { return found };
    let starts = Window::new(ask.from, ask.to, ask.next, ask.now).starts;
    for agent in Known::all() {
        let all = agent.in_folder(ask, &real, cache);
        found.is_more |= all.len() > MAX_FILES;
        for path in all.into_iter().take(MAX_FILES) {
            let Ok(Some(counted)) = count(ask, &path, Owner::Ourselves, cache) else { continue };
            let log = &counted.count;
            // Different folders may have one name; what a session itself says is right.
            let is_here = agent.is_sure_of_folder()
                || log.record.cwd.as_deref().is_some_and(|cwd| Path::new(cwd) == real);
            if is_here && log.gate.clock.first().is_some_and(|first| first <= starts) {
                found.paths.push(path);
            }
        }
    }
    found
}

/// The regular files of a folder with fitting names, the one last written first. A folder that is none has none.
pub(crate) fn newest(folder: &Path, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    if !folder.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(folder).map(|all| all.take(MAX_ENTRIES).flatten().collect::<Vec<_>>());
    let named = entries.unwrap_or_default().into_iter().filter(|e| e.file_name().to_str().is_some_and(&fits));
    let mut dated: Vec<_> = named
        .filter_map(|e| {
            Some((e.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?, e.path()))
        })
        .collect();
    dated.sort_by(|a, b| b.cmp(a));
    dated.into_iter().map(|(_, path)| path).collect()
}
