//! Files a worker holds open: some agents leave no other pointer to their session.

use std::fs;
use std::path::{Path, PathBuf};

use super::Host;
use super::locks::listing;
use super::proc::{Probe, Processes};

/// Most processes of one worker, and most open files of one of them, that are looked at.
const MAX_PROCESSES: usize = 64;
const MAX_FILES: usize = 4_096;

impl Host {
    /// Files below a folder that a process or its children hold open, each once. None where the pid is not the process that
    /// started then, or nothing of it can be seen.
    pub fn open_below(&self, pid: i64, ticks: Option<u64>, folder: &Path) -> Vec<PathBuf> {
        let Ok(folder) = fs::canonicalize(folder) else { return Vec::new() };
        match self.processes().probe(pid) {
            Probe::Present(p) if !p.zombie && (ticks.is_none() || p.ticks == ticks) => {}
            _ => return Vec::new(),
        }
        let mut found = Vec::new();
        let mut family = vec![pid];
        let mut at = 0;
        while let Some(pid) = family.get(at).copied().filter(|_| at < MAX_PROCESSES) {
            at += 1;
            let process = self.proc.join(pid.to_string());
            let files = entries(&process.join("fd")).filter_map(|fd| fs::read_link(fd).ok());
            found.extend(files.filter(|file| file.starts_with(&folder)));
            family.extend(entries(&process.join("task")).flat_map(|thread| children(&thread)));
        }
        found.sort();
        found.dedup();
        found
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().take(MAX_FILES).flatten().map(|e| e.path())
}

/// Those a thread started. Where the kernel does not list them (`CONFIG_PROC_CHILDREN`), none.
fn children(thread: &Path) -> Vec<i64> {
    let text = listing(&thread.join("children")).map(|(text, _)| text).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
