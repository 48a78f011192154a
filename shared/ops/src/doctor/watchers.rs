//! The watchers: what starts each, when it last did its work, and how that ended.

use super::{BoardSeen, Finding};
use crate::metrics::Record;
use crate::timers::{By, Ended, ROUND, Starter, Watched};
use base::registry::NAMES;
use base::time::{Time, words};
use policy::clock::Awake;
use policy::remedy;
use std::collections::BTreeMap;

/// The record of a pass and systemd's record of its start lie at most this many seconds apart.
const SAME: i64 = 30;

/// Seconds after which it is a finding that a board is busy in each pass.
const BUSY: i64 = 15 * 60;

/// What a pass ends with on a board that is damaged, missing, of an unknown form or not permitted.
const EXPLAINED: [u8; 3] = [65, 66, 77];

/// Most boards that are named of those on which a pass failed.
const MAX_BOARDS: usize = 5;

/// One watcher, as it is found.
pub struct WatcherSeen {
    /// Which.
    pub watched: Watched,
    /// What starts it.
    pub starters: Vec<Starter>,
    /// What its last pass left, the newest of several.
    pub record: Option<Record>,
    /// The boards on which that pass failed, each with the exit code.
    pub failed: BTreeMap<String, u8>,
    /// When a pass last looked at each board, by the place of the board; empty where no record says that.
    pub boards: BTreeMap<String, Time>,
    /// When this machine was on and awake: else nothing could start it.
    pub awake: Awake,
    /// No record is there, and its file can be looked for: nobody who writes one made a pass.
    pub unrecorded: bool,
}

impl WatcherSeen {
    /// When its last pass began, by its own record or by that of systemd, whichever is newer. A record of the future does not
    /// count: the clock was wrong then.
    pub fn last(&self, now: Time) -> Option<Time> {
        self.on_record(now).filter(|at| !at.is_ahead_of(now))
    }

    fn on_record(&self, now: Time) -> Option<Time> {
        // A round leaves a record of each pass it has made; where there is one, its own start says nothing of this watcher.
        let of_it = |s: &&&Starter| !s.round || s.metrics.is_none() || self.record.is_none();
        // A `notify` that another one keeps from its work leaves no record.
        let is_kept = |s: &Starter| is_busy(s) && s.metrics.is_some() && self.record.is_some();
        let tells = |s: &&&Starter| of_it(s) && !is_kept(s);
        let on = self.on();
        let told = on.iter().filter(tells).filter_map(|s| s.last);
        let all: Vec<Time> = self.record.map(|r| r.at).into_iter().chain(told).collect();
        // One from the future counts only where there is no other.
        all.iter().copied().filter(|at| !at.is_ahead_of(now)).max().or(all.iter().copied().max())
    }

    /// The pass on record that lies in the future, where there is no other. Only of what changes work: it comes every few minutes, and what
    /// comes less often is not late yet when a clock was put right.
    pub fn ahead(&self, now: Time) -> Option<Time> {
        self.on_record(now).filter(|at| self.changes_work() && at.is_ahead_of(now))
    }

    fn changes_work(&self) -> bool {
        NAMES.contains(&self.watched.program) && self.watched.is_needed
    }

    /// The exit code of the last pass, where it is known and no start after it failed.
    pub fn exit(&self) -> Option<u8> {
        match self.failed_start() {
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

    /// Whether cron alone starts it, and no cron daemon runs; `cron_runs`: whether one does, where that is known.
    pub fn is_stuck(&self, cron_runs: Option<bool>) -> bool {
        cron_runs == Some(false) && self.is_started() && self.on().iter().all(|s| s.by == By::Cron)
    }

    /// Whether its last start failed. Exit 1 is a pass that was made, with something to say.
    pub fn is_failing(&self) -> bool {
        self.failed_start().is_some_and(|(_, ended)| ended.status != 1)
    }

    /// A timer whose last start failed, and was not followed by a pass that left a record: a program that cannot be
    /// started leaves none.
    fn failed_start(&self) -> Option<(&Starter, &Ended)> {
        let failed = self.on().into_iter().filter_map(|s| Some((s, s.ended.as_ref()?)));
        let mut failed = failed.filter(|(_, ended)| ended.result != "success");
        let is_newer = |s: &Starter| {
            self.record.is_some_and(|r| {
                s.last.is_none_or(|at| if s.round { r.at >= at } else { r.at > at.plus(SAME) })
            })
        };
        // A round that was made, and failed in another watcher: this one was not due.
        let not_due = |s: &Starter, ended: &Ended| {
            s.round && self.watched.every > ROUND && self.record.is_some() && is_pass(ended)
        };
        failed.find(|(s, ended)| !is_newer(s) && !not_due(s, ended))
    }

    /// Leaves out what a finding of a board says already: why its last pass failed on that. `is_told`: whether the board has such a finding.
    pub fn leave_told(&mut self, is_told: impl Fn(&str) -> bool) {
        let Some(record) = &mut self.record else { return };
        let had_any = !self.failed.is_empty();
        self.failed.retain(|board, code| !EXPLAINED.contains(code) || !is_told(board));
        if !had_any || !self.failed.is_empty() || !EXPLAINED.contains(&record.exit) {
            return;
        }
        for starter in &mut self.starters {
            let is_its_own = starter.last.is_none_or(|at| record.at.plus(SAME) >= at);
            starter.ended = starter.ended.take().filter(|ended| !is_its_own || ended.status != record.exit);
        }
        record.exit = 0;
    }

    /// On which boards its last pass failed, as the end of a sentence. Of several boards one may fail in each pass, and the pass itself ends
    /// with 1.
    fn failed_on(&self) -> Option<String> {
        let one = |(board, code): (&String, &u8)| format!("{code} on board {board}");
        let said: Vec<String> = self.failed.iter().take(MAX_BOARDS).map(one).collect();
        let more = if self.failed.len() > said.len() { ", ..." } else { "" };
        (!said.is_empty()).then(|| format!("{}{more}", said.join(", ")))
    }

    /// Each of these: a board and the exit code.
    fn failures(&self) -> Vec<String> {
        self.failed.iter().map(|(board, code)| format!("{board} {code}")).collect()
    }

    /// What starts it for these boards: timers of other users are not counted.
    fn ours(&self) -> impl Iterator<Item = &Starter> {
        self.starters.iter().filter(|s| s.other_user.is_none())
    }

    fn on(&self) -> Vec<&Starter> {
        self.ours().filter(|s| s.is_on != Some(false)).collect()
    }

    /// Whether its next pass is late. One that never did anything is late only where it is known since when something starts it.
    pub fn is_overdue(&self, now: Time) -> bool {
        let since = self.last(now).or_else(|| self.installed());
        self.ahead(now).is_some() || since.is_some_and(|at| !self.is_in_time(at, now))
    }

    /// Whether its last pass is on record and no later one is missing, whatever made it.
    pub fn came(&self, now: Time) -> bool {
        self.last(now).is_some_and(|at| self.is_in_time(at, now))
    }

    /// Whether nothing is missing after a pass at that time. While the machine was off or suspended no pass could come.
    fn is_in_time(&self, last: Time, now: Time) -> bool {
        self.awake.seconds_since(last, now) <= self.watched.overdue()
    }

    /// Since when all that starts it is installed, where each pass would have left a record since then and none did.
    pub fn installed(&self) -> Option<Time> {
        // By a line or a unit that names no metrics file it may come and leave none; so may one of a systemd that does not answer.
        let tells = |s: &Starter| s.since.filter(|_| s.metrics.is_some() && s.is_on == Some(true));
        let all: Option<Vec<Time>> = self.on().into_iter().map(tells).collect();
        all.filter(|_| self.unrecorded)?.into_iter().max()
    }

    /// Whether its passes go by a board that had open work before the newest of them: what starts it names other boards.
    fn goes_by(&self, board: &str, oldest: Time, now: Time) -> bool {
        let comes = self.is_started() && !self.is_overdue(now);
        let looked = self.boards.get(board).is_some_and(|at| self.is_in_time(*at, now));
        let newest = self.boards.values().max().is_some_and(|at| *at > oldest);
        self.changes_work() && comes && newest && !looked
    }
}

/// Whether its last start ended with 75.
fn is_busy(s: &Starter) -> bool {
    s.ended.as_ref().is_some_and(|ended| ended.status == 75)
}

/// A board that the passes of watchers go by, though they come: their timers name other boards. `board`: its place, as records have it.
pub fn unwatched(all: &[WatcherSeen], seen: &BoardSeen, board: &str, now: Time) -> Option<Finding> {
    let oldest = seen.read.as_ref().ok()?.oldest?;
    let left: Vec<&WatcherSeen> = all.iter().filter(|w| w.goes_by(board, oldest, now)).collect();
    let names: Vec<&str> = left.iter().map(|w| w.watched.program).collect();
    let last = left.first()?.boards.get(board);
    let since = last.map_or_else(String::new, |at| format!(" for {}", words(now.since(*at))));
    let mut places: Vec<&str> = left.iter().flat_map(|w| w.on()).map(|s| s.place.as_str()).collect();
    places.dedup();
    let what = format!(
        "no pass of {} has looked at this board{since}: what starts them ({}) names others",
        names.join(", "),
        places.join(", ")
    );
    let todo =
        "let the timers name this board too, or none at all: `watchbill timers status` shows where they are";
    Some(Finding::error("board-unwatched", &seen.name, what).todo(todo))
}

/// What is known of those who start programs on this machine; `None` where that cannot be seen.
#[derive(Debug, Clone, Copy, Default)]
pub struct StartersSeen {
    /// The user's own systemd outlives its sessions.
    pub lingers: Option<bool>,
    /// A cron daemon runs.
    pub cron_runs: Option<bool>,
}

/// Judges them all.
pub fn watchers(all: &[WatcherSeen], seen: StartersSeen, now: Time) -> Vec<Finding> {
    let one = |w| [started(w), passed(w, seen.cron_runs, now)];
    let mut found: Vec<Finding> = all.iter().flat_map(one).flatten().collect();
    let by_user = all.iter().any(|w| w.is_started_by(By::User));
    if by_user && seen.lingers == Some(false) {
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
            let what = format!("not scheduled, {}", w.watched.without);
            let other = w.starters.iter().find_map(|s| s.other_user.as_deref());
            let other = other.map(|user| {
                format!(" by timers of this user (run doctor as {user} to see what those of {user} watch)")
            });
            let make = if w.watched.is_needed { Finding::error } else { Finding::warning };
            let what = format!("{what}{}", other.unwrap_or_default());
            make("timers-missing", name, &what).todo(remedy::NOT_SCHEDULED)
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

/// Whether this is how a program of Watchbill ends, and not how one ends that could not be started or was called wrongly.
fn is_pass(ended: &Ended) -> bool {
    ended.result == "exit-code" && matches!(ended.status, 1 | 64..=78)
}

/// Where what a pass prints is found.
fn log(w: &WatcherSeen) -> String {
    let on = w.on();
    let Some(starter) = on.first() else { return "the mail of cron".to_owned() };
    let timer = starter.place.rsplit('/').next().unwrap_or_default();
    let service = timer.trim_end_matches(".timer");
    match starter.by {
        By::System => format!("`journalctl -u {service}.service`"),
        By::User => format!("`journalctl --user -u {service}.service`"),
        By::Cron => "the mail of cron".to_owned(),
    }
}

fn passed(w: &WatcherSeen, cron_runs: Option<bool>, now: Time) -> Option<Finding> {
    let name = w.watched.program;
    let is_stuck = w.is_stuck(cron_runs);
    if let Some((starter, ended)) = w.failed_start() {
        return Some(failed(w, starter, ended, now));
    }
    if let Some(at) = w.ahead(now).filter(|_| !w.on().is_empty()) {
        let what =
            format!("no pass since the clock was set back: the last one on record is of {at}, in the future");
        let todo = "see whether its timer, or cron, runs; `watchbill timers status`";
        return Some(Finding::error("pass-overdue", name, what).todo(todo));
    }
    let Some(last) = w.last(now) else {
        let todo = format!("wait for its next turn, then read {}", log(w));
        // systemd remembers the last start itself.
        let by_cron = w.is_started_by(By::Cron);
        if is_stuck {
            let what = "only cron starts it, no cron daemon runs here, and no pass of it is on record";
            return Some(Finding::error("pass-never", name, what).todo(remedy::NO_CRON));
        }
        if let Some(since) = w.installed().filter(|_| w.is_overdue(now)) {
            let what =
                format!("no pass of it is on record, and it was installed {} ago", words(now.since(since)));
            let todo = format!("see whether its timer, or cron, runs, and read {}", log(w));
            return Some(Finding::error("pass-never", name, what).todo(todo));
        }
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
        let daemon = if is_stuck { "; no cron daemon runs here" } else { "" };
        let every = words(w.watched.every);
        let what = format!("last pass {ago} ago, and one is due every {every}{daemon}");
        let todo = if is_stuck {
            remedy::NO_CRON
        } else {
            "see whether its timer, or cron, runs; `watchbill timers status`"
        };
        return Some(Finding::error("pass-overdue", name, what).todo(todo));
    }
    let todo = format!("run `{} -v` by hand and read what it says", w.watched.command);
    // One pass that was refused says little of one that comes every quarter of an hour.
    let most = BUSY.max(2 * w.watched.every);
    let busy = w.record.and_then(|r| r.busy_since).map(|since| now.since(since)).filter(|busy| *busy >= most);
    if let Some(busy) = busy {
        let what =
            format!("no pass could change a board for {}: it was busy, or its server away", words(busy));
        let todo =
            format!("{todo}; of a file, `fuser -v` names the process that writes there, if that hangs");
        return Some(Finding::error("pass-failed", name, what).todo(todo));
    }
    Some(match w.exit() {
        // 75: the board was busy, or is paused.
        None | Some(0 | 75) => Finding::ok("pass-recent", name, format!("its last pass was {ago} ago")),
        Some(1) => match w.failed_on() {
            Some(on) => {
                let what = format!("its last pass, {ago} ago, ended with {on}");
                Finding { also: w.failures(), ..Finding::error("pass-failed", name, what).todo(todo) }
            }
            None => {
                let what =
                    format!("its last pass, {ago} ago, could not look at or change everything (exit 1)");
                Finding::warning("pass-failed", name, what).todo(todo)
            }
        },
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
    // The record of the pass that this start made.
    let is_its_own = |at: Time| w.record.is_some_and(|r| r.at.plus(SAME) >= at);
    let on = w.failed_on().filter(|_| ended.status == 1 && starter.last.is_some_and(is_its_own));
    let make = if ended.status == 1 && on.is_none() { Finding::warning } else { Finding::error };
    let on = on.map(|on| format!(" ({on})")).unwrap_or_default();
    let also = if on.is_empty() { Vec::new() } else { w.failures() };
    let made = make("pass-failed", name, &format!("its last start{ago} failed: {why}{on}"));
    Finding { also, ..made.todo(format!("read {}", log(w))) }
}

#[cfg(test)]
mod tests {
    use super::super::{Severity, worst};
    use super::*;
    use crate::timers::{NOTIFY, WATCHED};

    fn by_cron(last: Option<Time>) -> WatcherSeen {
        let starter = Starter {
            program: WATCHED[0].program,
            by: By::Cron,
            place: "crontab".into(),
            is_on: Some(true),
            last,
            ended: None,
            metrics: None,
            other_user: None,
            round: false,
            since: None,
        };
        WatcherSeen {
            watched: WATCHED[0],
            starters: vec![starter],
            record: None,
            failed: BTreeMap::new(),
            boards: BTreeMap::new(),
            awake: Awake::default(),
            unrecorded: last.is_none(),
        }
    }

    #[test]
    fn what_was_installed_and_never_came_is_overdue_where_each_pass_leaves_a_record() {
        let now = Time(1_800_000_000);
        let overdue = WATCHED[0].overdue();
        let own = || Starter { metrics: Some("/s/heal.prom".into()), ..by_cron(None).starters.remove(0) };
        let at = |ago: i64| Starter { since: Some(now.plus(-ago)), ..own() };
        for (starters, up, unrecorded, is_late, why) in [
            (vec![at(overdue)], None, true, false, "it was installed just now"),
            (vec![at(overdue + 1)], None, true, true, "no pass came"),
            (vec![at(9_000)], Some(60), true, false, "the machine was started since"),
            (vec![at(9_000)], Some(overdue + 1), true, true, "long ago"),
            (vec![at(9_000), at(60)], None, true, false, "one of two was installed just now"),
            (vec![at(9_000)], None, false, false, "its file cannot be looked at"),
            (vec![own()], None, true, false, "nobody knows since when"),
            (vec![Starter { metrics: None, ..at(9_000) }], None, true, false, "its passes leave no record"),
            (vec![Starter { is_on: None, ..at(9_000) }], None, true, false, "systemd could not be asked"),
            (vec![Starter { is_on: Some(false), ..at(9_000) }], None, true, false, "nothing starts it"),
            (vec![], None, true, false, "passes are run by hand"),
        ] {
            let is_on = starters.iter().any(|s| s.is_on != Some(false));
            let awake = Awake { since: up.map(|ago| now.plus(-ago)), slept: 0 };
            let seen = WatcherSeen { starters, awake, unrecorded, ..by_cron(None) };
            assert_eq!(seen.is_overdue(now), is_late, "{why}");
            let found = watchers(&[seen], StartersSeen { lingers: None, cron_runs: Some(true) }, now);
            let never = found.iter().find(|f| f.id == "pass-never").map(|f| f.severity);
            let severity = if is_late { Severity::Error } else { Severity::Warning };
            assert_eq!(never, is_on.then_some(severity), "{why}: {found:?}");
        }
    }

    #[test]
    fn a_machine_that_was_off_has_its_passes_in_time() {
        let now = Time(1_800_000_000);
        let overdue = WATCHED[0].overdue();
        for (last, since, slept, late) in [
            (28_800, None, 0, true),
            (28_800, Some(60), 0, false),
            (28_800, Some(overdue), 0, false),
            (28_800, Some(overdue + 1), 0, true),
            (60, Some(28_800), 0, false),
            (28_800, Some(90_000), 28_700, false),
            // Passes that do not come any more see nothing of it.
            (28_800, Some(90_000), 28_300, true),
        ] {
            let at = now.plus(-last);
            let record = Some(Record { at, exit: 0, busy_since: None });
            let boards = BTreeMap::from([("/a".to_owned(), at)]);
            let awake = Awake { since: since.map(|ago| now.plus(-ago)), slept };
            let seen = WatcherSeen { record, boards, awake, ..by_cron(None) };
            assert_eq!(seen.is_overdue(now), late, "{last} {awake:?}");
            assert!(!seen.goes_by("/a", now.plus(-90_000), now), "{last} {awake:?}");
            let found = watchers(&[seen], StartersSeen { lingers: None, cron_runs: Some(true) }, now);
            assert_eq!(found[1].id, if late { "pass-overdue" } else { "pass-recent" }, "{last} {awake:?}");
        }
    }

    #[test]
    fn a_board_that_is_busy_in_every_pass_is_told_after_a_while() {
        let now = Time(1_800_000_000);
        for (busy, id, severity) in [
            (None, "pass-recent", Severity::Ok),
            (Some(899), "pass-recent", Severity::Ok),
            (Some(900), "pass-failed", Severity::Error),
        ] {
            for exit in [0, 75] {
                let at = now.plus(-60);
                let record = Record { at, exit, busy_since: busy.map(|s| now.plus(-s)) };
                let seen = WatcherSeen { record: Some(record), ..by_cron(Some(at)) };
                let found = watchers(&[seen], StartersSeen { lingers: None, cron_runs: Some(true) }, now);
                assert_eq!((found[1].id, worst(&found)), (id, severity), "{busy:?} {exit}: {found:?}");
            }
        }
    }

    #[test]
    fn a_start_that_another_pass_kept_from_its_work_is_no_pass() {
        let now = Time(1_800_000_000);
        for (status, metrics, overdue) in [
            (75, Some("/s/notify.prom".into()), true),
            (75, None, false),
            (0, Some("/s/notify.prom".into()), false),
        ] {
            let ended = Some(Ended { result: "success".into(), status });
            let starter = Starter { ended, metrics, ..by_cron(Some(now.plus(-60))).starters.remove(0) };
            let record = Some(Record { at: now.plus(-9_000), exit: 0, busy_since: None });
            let seen = WatcherSeen { watched: NOTIFY, starters: vec![starter], record, ..by_cron(None) };
            assert_eq!(seen.is_overdue(now), overdue, "{status}");
        }
    }

    #[test]
    fn a_board_on_which_each_pass_fails_is_told_beside_others_that_go_on() {
        let now = Time(1_800_000_000);
        let at = now.plus(-60);
        let error = |said: &'static str| (Severity::Error, said);
        for (exit, failed, want) in [
            (0, &[][..], (Severity::Ok, "1m ago")),
            (1, &[], (Severity::Warning, "could not look at or change everything (exit 1)")),
            (1, &[("night", 65)], error("its last pass, 1m ago, ended with 65 on board night")),
            (1, &[("a", 65), ("b", 74)], error("ended with 65 on board a, 74 on board b")),
            (65, &[("a", 65), ("b", 65)], error("its last pass, 1m ago, ended with 65")),
            (
                1,
                &[("a", 65), ("b", 65), ("c", 65), ("d", 65), ("e", 65), ("f", 65)],
                error("65 on board e, ..."),
            ),
        ] {
            let failed: BTreeMap<_, _> = failed.iter().map(|(b, code)| ((*b).to_owned(), *code)).collect();
            let record = Some(Record { at, exit, busy_since: None });
            let seen = || WatcherSeen { record, failed: failed.clone(), ..by_cron(Some(at)) };
            let cron = StartersSeen { lingers: None, cron_runs: Some(true) };
            let found = watchers(&[seen()], cron, now);
            assert_eq!(found[1].severity, want.0, "{found:?}");
            assert!(found[1].what.ends_with(want.1), "{found:?}");
            let also: Vec<String> = failed.iter().map(|(board, code)| format!("{board} {code}")).collect();
            assert_eq!(found[1].also, if exit == 1 { also } else { Vec::new() }, "{found:?}");
            // systemd says of the same pass only that it ended with 1.
            let ended = Ended { result: "exit-code".into(), status: exit };
            let starter = |ago: i64| Starter {
                by: By::System,
                last: Some(now.plus(-ago)),
                ended: Some(ended.clone()),
                ..by_cron(None).starters.remove(0)
            };
            let by_systemd =
                |ago| watchers(&[WatcherSeen { starters: vec![starter(ago)], ..seen() }], cron, now);
            if exit != 0 {
                assert_eq!(by_systemd(61)[1].severity, want.0, "{:?}", by_systemd(61));
            }
            // A start after it that failed before its pass left a record.
            if exit == 1 {
                assert_eq!(by_systemd(20)[1].severity, Severity::Warning, "{:?}", by_systemd(20));
            }
        }
    }

    #[test]
    fn why_a_pass_failed_on_a_board_is_not_told_beside_the_board() {
        let now = Time(1_800_000_000);
        let at = now.plus(-60);
        for (exit, failed, told, want) in [
            (65, &[("a", 65)][..], &["a"][..], None),
            (66, &[("a", 66), ("b", 66)], &["a", "b"], None),
            (66, &[("a", 66), ("b", 66)], &["a"], Some("ended with 66")),
            (1, &[("a", 66), ("b", 74)], &["a", "b"], Some("ended with 74 on board b")),
            (1, &[("a", 66)], &["a"], None),
            (74, &[("a", 74)], &["a"], Some("ended with 74")),
            (78, &[], &["a"], Some("ended with 78")),
            (66, &[], &[], Some("ended with 66")),
        ] {
            let failed: BTreeMap<_, _> = failed.iter().map(|(b, code)| ((*b).to_owned(), *code)).collect();
            let record = Some(Record { at, exit, busy_since: None });
            let ended = Ended { result: "exit-code".into(), status: exit };
            let by_systemd =
                Starter { by: By::System, ended: Some(ended), ..by_cron(Some(at)).starters.remove(0) };
            for starter in [by_systemd, by_cron(Some(at)).starters.remove(0)] {
                let is_by_cron = starter.by == By::Cron;
                let mut seen =
                    WatcherSeen { record, failed: failed.clone(), starters: vec![starter], ..by_cron(None) };
                seen.leave_told(|board| told.contains(&board));
                let found = watchers(&[seen], StartersSeen { lingers: None, cron_runs: Some(true) }, now);
                let error = found.iter().find(|f| f.severity == Severity::Error);
                assert_eq!(error.is_some(), want.is_some(), "{exit} {failed:?}: {found:?}");
                let says = |f: &Finding| !is_by_cron || f.what.ends_with(want.unwrap_or_default());
                assert!(error.is_none_or(says), "{exit} {failed:?}: {found:?}");
            }
        }
    }

    #[test]
    fn a_pass_on_record_for_the_future_is_none() {
        let now = Time(1_800_000_000);
        let record = |ahead: i64| Some(Record { at: now.plus(ahead), exit: 0, busy_since: None });
        for (ahead, systemd, overdue) in [
            (120, None, false),
            (121, None, true),
            (86_400, None, true),
            // systemd started it since.
            (86_400, Some(-60), false),
            (-60, Some(86_400), false),
        ] {
            let started = systemd.map(|s| now.plus(s));
            let seen = WatcherSeen { record: record(ahead), ..by_cron(started) };
            assert_eq!(seen.is_overdue(now), overdue, "{ahead} {systemd:?}");
            assert_eq!(seen.last(now).is_none(), overdue, "{ahead} {systemd:?}");
            let found = watchers(&[seen], StartersSeen { lingers: None, cron_runs: Some(true) }, now);
            let id = if overdue { "pass-overdue" } else { "pass-recent" };
            assert_eq!(found[1].id, id, "{ahead} {systemd:?}: {found:?}");
        }
        for watched in WATCHED.into_iter().filter(|w| !w.is_needed).chain([NOTIFY]) {
            let seen = WatcherSeen { watched, record: record(86_400), ..by_cron(None) };
            assert!(!seen.is_overdue(now) && seen.last(now).is_none(), "{}", watched.program);
        }
    }

    #[test]
    fn passes_that_name_other_boards_do_not_count_for_this_one() {
        let now = Time(1_800_000_000);
        let record = Some(Record { at: now.plus(-60), exit: 0, busy_since: None });
        let at = |boards: &[(&str, i64)]| {
            let boards = boards.iter().map(|(board, ago)| ((*board).to_owned(), now.plus(-ago))).collect();
            WatcherSeen { record, boards, ..by_cron(None) }
        };
        let overdue = WATCHED[0].overdue();
        for (boards, work, want, why) in [
            (&[][..], 9_000, false, "no record says which"),
            (&[("/a", 60)], 9_000, false, "it was looked at"),
            (&[("/b", 60)], 9_000, true, "another one was"),
            (&[("/a", overdue), ("/b", 60)], 9_000, false, "not long ago"),
            (&[("/a", overdue + 1), ("/b", 60)], 9_000, true, "too long ago"),
            (&[("/b", 60)], 30, false, "its work is newer than the last pass"),
        ] {
            assert_eq!(at(boards).goes_by("/a", now.plus(-work), now), want, "{why}");
        }
        let late = WatcherSeen {
            record: Some(Record { at: now.plus(-9_000), exit: 0, busy_since: None }),
            ..at(&[("/b", 60)])
        };
        assert!(!late.goes_by("/a", now.plus(-9_000), now), "that it is overdue is told already");
    }

    #[test]
    fn what_cron_would_start_stands_still_without_cron() {
        let now = Time(1_800_000_000);
        for (last, cron_runs, id, severity, part) in [
            (None, Some(true), "pass-never", Severity::Warning, "no pass of it is on record"),
            (None, None, "pass-never", Severity::Warning, "no pass of it is on record"),
            (None, Some(false), "pass-never", Severity::Error, "no cron daemon runs here"),
            (
                Some(now.plus(-86_400)),
                Some(false),
                "pass-overdue",
                Severity::Error,
                "; no cron daemon runs here",
            ),
            // Whatever its process is called: it did its work.
            (Some(now.plus(-60)), Some(false), "pass-recent", Severity::Ok, "1m ago"),
        ] {
            let seen = StartersSeen { lingers: None, cron_runs };
            let found = watchers(&[by_cron(last)], seen, now);
            assert_eq!((found[1].id, worst(&found)), (id, severity), "{found:?}");
            assert!(found[1].what.contains(part), "{found:?}");
        }
        // What systemd starts as well does not depend on it.
        let mut both = by_cron(None);
        both.starters.push(Starter { by: By::System, ..both.starters[0].clone() });
        let seen = StartersSeen { lingers: None, cron_runs: Some(false) };
        assert!(worst(&watchers(&[both], seen, now)) < Severity::Error);
    }
}
