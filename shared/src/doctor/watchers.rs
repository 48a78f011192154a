//! The watchers: what starts each, when it last did its work, and how that ended.

use super::Finding;
use crate::metrics::Record;
use crate::time::{Time, words};
use crate::timers::{By, Ended, Starter, Watched};

/// The record of a pass and systemd's record of its start lie at most this many seconds apart.
const SAME: i64 = 30;

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
    /// When its last pass began, by its own record or by that of systemd, whichever is newer.
    pub fn last(&self) -> Option<Time> {
        let told = self.on().iter().filter_map(|s| s.last).max();
        self.record.map(|r| r.at).max(told)
    }

    /// The exit code of the last pass, where it is known and no start after it failed.
    pub fn exit(&self) -> Option<u8> {
        match self.failed() {
            Some((_, ended)) => Some(ended.status).filter(|status| *status != 0),
            None => self.record.map(|r| r.exit).or_else(|| {
                let ended = |s: &&Starter| s.last.and(s.ended.as_ref()).map(|e| e.status);
                self.on().iter().find_map(ended)
            }),
        }
    }

    /// Whether something starts it for these boards.
    pub fn is_started(&self) -> bool {
        !self.on().is_empty()
    }

    /// Whether this is what starts it.
    pub fn is_started_by(&self, by: By) -> bool {
        self.on().iter().any(|s| s.by == by)
    }

    /// Whether its last start failed. Exit 1 is a pass that was made, with something to say.
    pub fn is_failing(&self) -> bool {
        self.failed().is_some_and(|(_, ended)| ended.status != 1)
    }

    /// A timer whose last start failed, and was not followed by a pass that left a record: a program that cannot be
    /// started leaves none.
    fn failed(&self) -> Option<(&Starter, &Ended)> {
        let failed = self.on().into_iter().filter_map(|s| Some((s, s.ended.as_ref()?)));
        let mut failed = failed.filter(|(_, ended)| ended.result != "success");
        let is_newer =
            |s: &Starter| self.record.is_some_and(|r| s.last.is_none_or(|at| r.at > at.plus(SAME)));
        failed.find(|(s, _)| !is_newer(s))
    }

    /// What starts it for these boards: timers of other users are not counted.
    fn ours(&self) -> impl Iterator<Item = &Starter> {
        self.starters.iter().filter(|s| s.other_user.is_none())
    }

    fn on(&self) -> Vec<&Starter> {
        self.ours().filter(|s| s.is_on != Some(false)).collect()
    }

    /// Whether its next pass is late. One that never did anything is not late: it may just have been installed.
    pub fn is_overdue(&self, now: Time) -> bool {
        self.last().is_some_and(|at| now.since(at) > self.watched.overdue())
    }
}

/// Judges them all. `lingers` says whether the user's own systemd outlives its sessions; `None` where that is not known.
pub fn watchers(all: &[WatcherSeen], lingers: Option<bool>, now: Time) -> Vec<Finding> {
    let mut found: Vec<Finding> = all.iter().flat_map(|w| [started(w), passed(w, now)]).flatten().collect();
    let by_user = all.iter().any(|w| w.is_started_by(By::User));
    if by_user && lingers == Some(false) {
        let what = "timers of a user stop when that user's last session ends";
        let todo = "sudo loginctl enable-linger $USER";
        found.push(Finding::warning("linger-off", "timers", what).todo(todo));
    }
    found
}

fn started(w: &WatcherSeen) -> Option<Finding> {
    let name = w.watched.program;
    let on = w.on();
    let places = |all: &[&Starter]| all.iter().map(|s| s.place.as_str()).collect::<Vec<_>>().join(", ");
    let off = w.ours().next();
    Some(match (on.as_slice(), off) {
        ([], None) => {
            let what = format!("nothing starts it: {}", w.watched.without);
            let other = w.starters.iter().find_map(|s| s.other_user.as_deref());
            let other = other.map(|user| format!(" (the timers of {user} watch other boards)"));
            let make = if w.watched.is_needed { Finding::error } else { Finding::warning };
            let what = format!("{what}{}", other.unwrap_or_default());
            make("timers-missing", name, &what).todo("watchbill timers install")
        }
        ([], Some(off)) => {
            let timer = off.place.rsplit('/').next().unwrap_or(&off.place);
            Finding::error("timers-off", name, format!("{} is there and does not run", off.place))
                .todo(format!("{} enable --now {timer}", manager(off)))
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

fn manager(starter: &Starter) -> &'static str {
    if starter.by == By::User { "systemctl --user" } else { "systemctl" }
}

/// Where what a pass prints is found.
fn log(w: &WatcherSeen) -> String {
    let name = w.watched.program;
    match w.on().first().map(|s| s.by) {
        Some(By::System) => format!("`journalctl -u watchbill-{name}.service`"),
        Some(By::User) => format!("`journalctl --user -u watchbill-{name}.service`"),
        Some(By::Cron) | None => "the mail of cron".to_owned(),
    }
}

fn passed(w: &WatcherSeen, now: Time) -> Option<Finding> {
    let name = w.watched.program;
    if let Some((starter, ended)) = w.failed() {
        return Some(failed(w, starter, ended, now));
    }
    let Some(last) = w.last() else {
        let todo = format!("wait for its next turn, then read {}", log(w));
        // systemd remembers the last start itself.
        let by_cron = w.is_started_by(By::Cron);
        if by_cron && !w.watched.is_recorded {
            return None;
        }
        let what = "no pass of it is on record";
        let how = if by_cron { " (a pass leaves one where its timer names --metrics)" } else { "" };
        let what = format!("{what}{how}");
        return (!w.on().is_empty()).then(|| Finding::warning("pass-never", name, &what).todo(todo));
    };
    let ago = words(now.since(last));
    if w.is_overdue(now) {
        let what = format!("its last pass was {ago} ago, and one is due every {}", words(w.watched.every));
        let todo = "see whether its timer, or cron, runs; `watchbill timers status`";
        return Some(Finding::error("pass-overdue", name, what).todo(todo));
    }
    let todo = format!("run `{} -v` by hand and read what it says", w.watched.command);
    Some(match w.exit() {
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

/// A start that failed by systemd's own record: exit 1 is a pass that says so itself, everything else is worse.
fn failed(w: &WatcherSeen, starter: &Starter, ended: &Ended, now: Time) -> Finding {
    let name = w.watched.program;
    let ago = starter.last.map(|at| format!(", {} ago,", words(now.since(at)))).unwrap_or_default();
    let why = match (ended.result.as_str(), ended.status) {
        ("exit-code", 126 | 127 | 203) => {
            format!("the program could not be started (status {})", ended.status)
        }
        ("exit-code", status) => format!("exit {status}"),
        (result, _) => format!("systemd says: {result}"),
    };
    let make = if ended.status == 1 { Finding::warning } else { Finding::error };
    make("pass-failed", name, &format!("its last start{ago} failed: {why}")).todo(format!("read {}", log(w)))
}
