//! The watchers: what starts each, when it last did its work, and how that ended.

use super::Finding;
use crate::metrics::Record;
use crate::time::{Time, words};
use crate::timers::{By, Starter, Watched};

/// One watcher, as it is found.
pub struct WatcherSeen {
    /// Which.
    pub watched: Watched,
    /// What starts it.
    pub starters: Vec<Starter>,
    /// What its last pass left, the newest of several.
    pub record: Option<Record>,
}

impl WatcherSeen {
    /// When its last pass began, by its own word or else by that of systemd.
    pub fn last(&self) -> Option<Time> {
        let told = self.starters.iter().filter_map(|s| s.last).max();
        self.record.map(|r| r.at).max(told)
    }

    fn on(&self) -> Vec<&Starter> {
        self.starters.iter().filter(|s| s.is_on != Some(false)).collect()
    }

    /// Whether its next pass is late. One that never did anything is not late: it may just have been installed.
    pub fn is_overdue(&self, now: Time) -> bool {
        self.last().is_some_and(|at| now.since(at) > self.watched.overdue())
    }
}

/// Judges them all. `lingers` says whether the user's own systemd outlives its sessions; `None` where that is not known.
pub fn watchers(all: &[WatcherSeen], lingers: Option<bool>, now: Time) -> Vec<Finding> {
    let mut found: Vec<Finding> = all.iter().flat_map(|w| [started(w), passed(w, now)]).flatten().collect();
    let by_user = all.iter().any(|w| w.on().iter().any(|s| s.by == By::User));
    if by_user && lingers == Some(false) {
        let what = "timers of a user stop when that user's last session ends";
        let todo = "loginctl enable-linger";
        found.push(Finding::warning("linger-off", "timers", what).todo(todo));
    }
    found
}

fn started(w: &WatcherSeen) -> Option<Finding> {
    let name = w.watched.program;
    let on = w.on();
    let places = |all: &[&Starter]| all.iter().map(|s| s.place.as_str()).collect::<Vec<_>>().join(", ");
    Some(match (on.as_slice(), w.starters.as_slice()) {
        ([], []) => {
            let what = match w.watched.is_needed {
                true => "nothing starts it: a hold that another watcher makes may last for ever",
                false => "nothing starts it: no page for the morning is made",
            };
            let make = if w.watched.is_needed { Finding::error } else { Finding::warning };
            make("timers-missing", name, what).todo("watchbill timers install")
        }
        ([], [off, ..]) => {
            let manager = if off.by == By::User { "systemctl --user" } else { "systemctl" };
            let timer = off.place.rsplit('/').next().unwrap_or(&off.place);
            Finding::error("timers-off", name, format!("{} is there and does not run", off.place))
                .todo(format!("{manager} enable --now {timer}"))
        }
        ([one], _) => {
            let asked =
                if one.is_on.is_none() { " (systemd could not be asked whether it runs)" } else { "" };
            Finding::ok("timers-installed", name, format!("{}{asked}", one.place))
        }
        (many, _) => Finding::warning("timers-twice", name, format!("started by {}", places(many)))
            .todo("take all but one away; two passes at once do no harm and cost twice"),
    })
}

fn passed(w: &WatcherSeen, now: Time) -> Option<Finding> {
    let name = w.watched.program;
    let Some(last) = w.last() else {
        let todo = "wait for its next turn, then look into its log: `journalctl --user -u watchbill-*`, or the mail of cron";
        let what = "no pass of it is on record (a pass leaves one where its timer names --metrics)";
        return (!w.on().is_empty()).then(|| Finding::warning("pass-never", name, what).todo(todo));
    };
    let ago = words(now.since(last));
    if w.is_overdue(now) {
        let what = format!("its last pass was {ago} ago, and one is due every {}", words(w.watched.every));
        let todo = "see whether its timer, or cron, runs; `watchbill timers status`";
        return Some(Finding::error("pass-overdue", name, what).todo(todo));
    }
    let exit = w.record.filter(|r| r.at == last).map(|r| r.exit);
    let todo = format!("run `{name} -v` by hand and read what it says");
    Some(match exit {
        // 75: the board was busy, or is paused.
        None | Some(0 | 75) => Finding::ok("pass-recent", name, format!("its last pass was {ago} ago")),
        Some(1) => {
            let what = format!("its last pass, {ago} ago, could not look at or change everything (exit 1)");
            Finding::warning("pass-failed", name, what).todo(todo)
        }
        Some(code) => {
            Finding::error("pass-failed", name, format!("its last pass, {ago} ago, ended with {code}"))
                .todo(todo)
        }
    })
}
