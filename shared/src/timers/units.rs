//! Timers of systemd that start a watcher: by their files, and what systemd itself says of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{By, Starter, Tool, line};
use crate::foreign;
use crate::time::Time;

/// Finds them in the folders of units. The first file of a name counts, as for systemd.
pub(super) fn look(by: By, folders: &[PathBuf], home: Option<&Path>) -> Vec<Starter> {
    let mut known = BTreeSet::new();
    let mut all = Vec::new();
    for folder in folders {
        for timer in timers(folder).into_iter().filter(|t| known.insert(t.clone())) {
            let place = folder.join(&timer);
            let Some(text) = foreign::text(&place) else { continue };
            let stem = timer.trim_end_matches(".timer");
            let service = value(&text, "Unit").map_or_else(|| format!("{stem}.service"), str::to_owned);
            let started = folders.iter().find_map(|f| foreign::text(&f.join(&service)));
            let started = started.as_deref().and_then(|text| value(text, "ExecStart"));
            let Some(job) = started.and_then(|line| line::job(line, home)) else { continue };
            let is_wanted =
                |f: &PathBuf| f.join("timers.target.wants").join(&timer).symlink_metadata().is_ok();
            all.push(Starter {
                program: job.program,
                by,
                place: place.display().to_string(),
                // Known to be off where nothing would start it; whether it is on, systemd has to say.
                is_on: (!folders.iter().any(is_wanted)).then_some(false),
                last: None,
                metrics: job.metrics,
            });
        }
    }
    ask(by, &mut all);
    all
}

fn timers(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
    names.retain(|n| n.ends_with(".timer"));
    names.sort();
    names
}

/// The last value of a key, which is the one that counts for the keys looked at here.
fn value<'a>(unit: &'a str, key: &str) -> Option<&'a str> {
    unit.lines().filter_map(|l| l.strip_prefix(key)?.strip_prefix('=')).map(str::trim).next_back()
}

/// Asks systemd which of them are at work, and since when.
fn ask(by: By, all: &mut [Starter]) {
    if all.is_empty() {
        return;
    }
    let names: Vec<String> =
        all.iter().filter_map(|s| Some(s.place.rsplit_once('/')?.1.to_owned())).collect();
    let manager = if by == By::User { "--user" } else { "--system" };
    let keys = ["--property=Id,ActiveState,LastTriggerUSec", "--timestamp=unix"];
    let call = Tool::new("systemctl").args(&[manager, "show"]).args(&keys).args(&names);
    // Where systemd does not run, or is another user's, nobody can be asked.
    let Some(told) = call.said() else { return };
    for block in told.split("\n\n") {
        let Some(id) = value(block, "Id") else { continue };
        let Some(one) = all.iter_mut().find(|s| s.place.ends_with(&format!("/{id}"))) else { continue };
        one.is_on = value(block, "ActiveState").map(|state| state == "active");
        let last = value(block, "LastTriggerUSec").and_then(|at| at.strip_prefix('@')?.parse().ok());
        one.last = last.map(Time).filter(|at| at.0 > 0);
    }
}
