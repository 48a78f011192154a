//! Timers of systemd that start a watcher: by their files, and what systemd itself says of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{By, Ended, Owner, Starter, Tool, changed, line};
use base::time::Time;
use base::untrusted_file;

/// Finds them in the folders of units. The first file of a name counts, as for systemd.
pub(super) fn look(by: By, folders: &[PathBuf], home: Option<&Path>, owner: &Owner) -> Vec<Starter> {
    let mut known = BTreeSet::new();
    let mut all = Vec::new();
    for folder in folders {
        for timer in timers(folder).into_iter().filter(|t| known.insert(t.clone())) {
            let place = folder.join(&timer);
            let Some(text) = untrusted_file::text(&place) else { continue };
            let stem = timer.trim_end_matches(".timer");
            let service = value(&text, "Unit").map_or_else(|| format!("{stem}.service"), str::to_owned);
            let started = folders.iter().find_map(|f| untrusted_file::text(&f.join(&service)));
            let started = started.as_deref().and_then(|text| value(text, "ExecStart"));
            let jobs = started.map(|line| line::jobs(line, home)).unwrap_or_default();
            let enabled = folders.iter().filter_map(|f| changed(&f.join("timers.target.wants").join(&timer)));
            let enabled = enabled.max();
            // Known to be off where nothing would start it; whether it is on, systemd has to say.
            let is_on = enabled.is_none().then_some(false);
            let since = changed(&place).max(enabled);
            for job in jobs {
                let starter = Starter { is_on, since, ..Starter::of(job, by, place.display().to_string()) };
                all.push((service.clone(), starter));
            }
        }
    }
    ask(by, &mut all, owner);
    all.into_iter().map(|(_, starter)| starter).collect()
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

/// The properties that are asked for. `LastTriggerUSec` of a timer is left out: `--timestamp=unix` changes only properties
/// that end in `Timestamp` (seen on systemd 252 and 257), so that the service has to say when it was started.
const ASKED: &str = "--property=Id,ActiveState,ExecMainStartTimestamp,ExecMainStatus,Result,User,Environment";

/// Asks systemd which timers are at work, and what became of the services they start.
fn ask(by: By, all: &mut [(String, Starter)], owner: &Owner) {
    if all.is_empty() {
        return;
    }
    let timer = |s: &Starter| s.place.rsplit('/').next().unwrap_or_default().to_owned();
    let names: BTreeSet<String> = all.iter().flat_map(|(service, s)| [timer(s), service.clone()]).collect();
    let names: Vec<String> = names.into_iter().collect();
    let manager = if by == By::User { "--user" } else { "--system" };
    let call = Tool::new("systemctl").args(&[manager, "show", ASKED, "--timestamp=unix"]).args(&names);
    // Where systemd does not run, or is another user's, nobody can be asked.
    let Some(told) = call.said() else { return };
    for block in told.split("\n\n") {
        let Some(id) = value(block, "Id") else { continue };
        for (service, starter) in all.iter_mut() {
            if timer(starter) == id {
                starter.is_on = value(block, "ActiveState").map(|state| state == "active");
            } else if service == id {
                passed(block, by, starter, owner);
            }
        }
    }
}

/// What systemd says of a service.
fn passed(block: &str, by: By, starter: &mut Starter, owner: &Owner) {
    let started = value(block, "ExecMainStartTimestamp").and_then(|at| at.strip_prefix('@')?.parse().ok());
    starter.last = started.map(Time).filter(|at| at.0 > 0);
    starter.ended = value(block, "Result").map(|result| Ended {
        result: result.to_owned(),
        status: value(block, "ExecMainStatus").and_then(|s| s.parse().ok()).unwrap_or(0),
    });
    if by == By::System {
        let user = value(block, "User").filter(|u| !u.is_empty()).unwrap_or("root");
        let set = line::words(value(block, "Environment").unwrap_or_default());
        starter.other_user = owner.other(user, line::set(&set, "HERMES_HOME").as_deref());
    }
}
