//! One board: whether it is there, what it is, who may write it, who dispatches on it, and whom its cards go to.

use std::path::PathBuf;

use super::Finding;
use crate::explain::summary::{Read, Refused};
use crate::pass::history;
use crate::pass::lock::Wedge;
use crate::pass::open::{split_todo, split_what};
use base::count::things;
use base::error::{Error, Kind};
use base::time::{Time, words};
use board::pause::Pause;
use board::several_hosts::{is_off, off_by, shown};
use board::sqlite::repair;
use board::{Attended, Board, Location, Neighbour, Run};
use config::Config;
use host::Split;
use policy::cards::writer::orchestrators;
use policy::clock::{self, FUTURE, Newest};
use policy::dispatcher::{self, is_tick};
use policy::remedy::{self, Lacking};
use policy::runtime::gateway::Gone;
use policy::runtime::{Dispatcher, Runtime, TICKED};

/// How far back the work of a dispatcher is looked for, in seconds, and in how many events.
const BACK: i64 = 7 * 86_400;
const MAX_EVENTS: u32 = 4_000;

/// In so many of the newest attempts is looked who works on a board.
const MAX_RUNS: u32 = 1_000;

/// So many unreadable files are named.
const MAX_UNREADABLE: usize = 4;

/// What is seen of a board without writing to it.
pub struct BoardSeen {
    /// What to call it.
    pub name: String,
    /// Where it is stored.
    pub at: Location,
    /// What it says, or why it says nothing.
    pub read: Result<BoardRead, Error>,
    /// Files and folders beside it that cannot be written and must be.
    pub locked: Vec<PathBuf>,
    /// Whether it is split.
    pub split: Split,
    /// What is wrong with the file, where it is damaged.
    pub damage: Option<String>,
    /// A dispatcher that is stuck in its lock.
    pub wedge: Option<Wedge>,
    /// The pause in force.
    pub pause: Option<Pause>,
    /// Who owns the file, where that is another user than this one.
    pub owner: Option<u32>,
}

/// What a board says.
pub struct BoardRead {
    /// Which Hermes made tables of this shape.
    pub shape: &'static str,
    /// It was made by `board init`.
    pub is_own: bool,
    /// Why its tables must not be written, if so.
    pub refused: Option<Error>,
    /// What is so where its tables are older than this program, which works on them.
    pub outdated: Option<Error>,
    /// Tasks that are neither done nor archived.
    pub open: usize,
    /// When the oldest of them was made.
    pub oldest: Option<Time>,
    /// Tasks that a dispatcher would have started by now.
    pub waiting: usize,
    /// Its newest event, and one whose row is wrong.
    pub newest: Newest,
    /// The last thing its dispatcher is known to have done.
    pub ticked: Option<Time>,
    /// For how many seconds it may do nothing.
    pub patience: i64,
    /// The gateway that earlier passes saw, where its lock is free now and nothing shows another dispatcher.
    pub gone: Option<i64>,
    /// The same, where it ended a moment ago and may only restart.
    pub restarts: Option<i64>,
    /// The process that holds the dispatcher's lock is stopped.
    pub stopped: bool,
    /// What is around it.
    pub runtime: Runtime,
    /// systemd runs here, and a service of the gateway is installed.
    pub has_service: bool,
    /// On a board that several hosts share: those that attend with a clock that is too far off to judge by.
    pub off: Vec<Neighbour>,
    /// The others that run the watchers, did so lately, and are silent; each with the seconds since it was seen.
    pub silent: Vec<(String, i64)>,
    /// Settings and logs of Hermes that cannot be read, with the reason.
    pub unreadable: Vec<String>,
    /// What is so where another board lies in the place of one that passes looked at.
    pub replaced: Option<String>,
    /// Whether a worker by the name of `people.assignee` worked on it lately.
    pub person_works: bool,
}

/// What is around a board: the runtime, and what of it is known beside.
pub struct Around {
    /// The runtime.
    pub runtime: Runtime,
    /// The gateway that earlier passes saw.
    pub gone: Option<Gone>,
    /// For so many seconds a gateway that is gone may only restart.
    pub grace: i64,
    /// The process that holds the dispatcher's lock is stopped.
    pub stopped: bool,
    /// systemd runs here, and a service of the gateway is installed.
    pub has_service: bool,
    /// What a board that several hosts share says of them.
    pub hosts: Option<Attended>,
    /// Settings and logs of Hermes that cannot be read, with the reason.
    pub unreadable: Vec<String>,
    /// What is so where another board lies in the place of one that passes looked at.
    pub replaced: Option<String>,
    /// Whom the configuration names as `people.assignee`.
    pub person: Option<String>,
}

/// Whether a worker of this name took any time over an attempt lately.
fn works(board: &mut dyn Board, name: &str) -> Result<bool, Error> {
    let is_theirs = |run: &Run| run.profile.as_deref().is_some_and(|p| p.eq_ignore_ascii_case(name));
    let runs = board.recent_runs(MAX_RUNS)?;
    Ok(runs.iter().any(|(_, run)| run.has_worked() && is_theirs(run)))
}

impl BoardRead {
    /// Reads a board.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(board: &mut dyn Board, around: Around, now: Time) -> Result<BoardRead, Error> {
        let (shape, is_own, refused) = (board.shape(), board.is_own(), board.writable().err());
        let outdated = board.outdated();
        let rows = board.all_open()?;
        let mut events = board.events(now.plus(-BACK), MAX_EVENTS)?;
        let newest = clock::newest(board, &mut events, now)?;
        let Around { runtime, gone, grace, stopped, has_service, hosts, unreadable, replaced, person } =
            around;
        let person_works = person.map(|person| works(board, &person)).transpose()?.unwrap_or(false);
        let free = runtime.dispatcher == Dispatcher::Absent && runtime.is_daemon;
        // What a clock that was ahead noted does not show that it lives.
        let past = events.iter().map(|(_, e)| e).filter(|e| !e.at.is_ahead_of(now));
        let lately = past.clone().filter(|e| now.since(e.at) <= TICKED);
        let ticked = past.filter(|e| is_tick(e)).map(|e| e.at).max();
        let restarts = gone.filter(|g| free && g.may_return(grace, ticked, now)).map(|g| g.pid);
        let gone = gone.filter(|g| free && !lately.clone().any(|e| is_tick(e) && g.is_not_by(e)));
        let gone = gone.filter(|_| restarts.is_none());
        // Where the gateway is known to be gone, no work is too new to wait for one.
        let turns = if gone.is_some() { &[] } else { events.as_slice() };
        let cadence = dispatcher::cadence(board, &runtime)?;
        Ok(BoardRead {
            shape,
            is_own,
            refused,
            outdated,
            open: rows.len(),
            oldest: rows.iter().map(|t| t.created_at).min(),
            waiting: dispatcher::waiting(&runtime.assigned(&rows), &runtime.profiles, turns, now, cadence),
            patience: dispatcher::patience(&rows, &runtime, cadence),
            newest,
            gone: gone.map(|g| g.pid),
            restarts,
            stopped,
            ticked,
            runtime,
            has_service,
            silent: hosts.as_ref().map(silent).unwrap_or_default(),
            off: hosts.map(off).unwrap_or_default(),
            unreadable,
            replaced,
            person_works,
        })
    }
}

/// Judges one board.
pub fn board(seen: &BoardSeen, config: &Config, now: Time) -> Vec<Finding> {
    let mut all = vec![file(seen)];
    if let Some(pause) = &seen.pause {
        let unpause = format!("`watchbill unpause --db {}`", card::shell_word(&seen.at.to_string()));
        let todo = match pause.is_move() {
            true => format!("use the board there; only if that one is not used: {unpause}"),
            false => format!("{unpause} once the reason is gone; nothing is changed until then"),
        };
        all.push(Finding::warning("board-paused", &seen.name, pause.words(now)).todo(todo));
    }
    if let Some(owner) = seen.owner {
        let what = format!(
            "its file belongs to user {owner}: the environment of that user's workers cannot be read"
        );
        let todo = "run the watchers as the user who runs the workers";
        all.push(Finding::warning("other-user", &seen.name, what).todo(todo));
    }
    let Ok(read) = &seen.read else { return all };
    all.extend(
        read.replaced
            .as_ref()
            .map(|what| Finding::error("board-replaced", &seen.name, what).todo(history::todo(&seen.at))),
    );
    all.extend(read.outdated.as_ref().map(|e| {
        let todo = e.hint.as_deref().unwrap_or("`board upgrade`");
        Finding::warning("board-outdated", &seen.name, &e.what).todo(todo)
    }));
    let newest = clock(seen, read, now);
    // A host that is slow sees what the others wrote in its future.
    if read.off.is_empty() || newest.id == "clock-sane" {
        all.push(newest);
    }
    all.extend(read.off.iter().map(|host| wrong_clock(seen, host)));
    all.extend(read.silent.iter().map(|(host, ago)| is_silent(seen, host, *ago)));
    if let Some(person) = config.people.assignee.as_ref().filter(|_| read.person_works) {
        let what = format!(
            "people.assignee names {person}, and a worker of that name works on tasks: comments of that worker on tasks of others count as comments of a person"
        );
        let todo = "name a person in `people.assignee` who does not work on tasks, or remove it";
        all.push(Finding::warning("person-works", &seen.name, what).todo(todo));
    }
    if !read.is_own {
        all.push(dispatcher(seen, read, now));
        all.extend(unreadable(seen, read));
        all.extend(profiles(seen, read, config));
    }
    all
}

/// What providers refuse to the profiles of a board, and time does not mend. `name`: what to call the board.
pub fn refusals(name: &str, read: &Read, now: Time) -> Vec<Finding> {
    let cards = read.refused_orchestrators.iter().map(|refused| {
        let what = format!("{}: cards wait, and nobody decides", refused.why);
        Finding::error("orchestrator-refused", name, what).todo(refused.todo())
    });
    let is_told = |profile: &String| {
        let of_key = |r: &&Refused| r.lacking == Lacking::Key && r.at == *profile;
        read.refused_orchestrators.as_ref().is_some_and(|r| of_key(&r))
    };
    let keys = read.refused_keys.iter().filter(|key| !is_told(&key.profile)).map(|key| {
        let what = format!("{}, for {}", key.says(), words(now.since(key.since)));
        Finding::warning("key-refused", name, what).todo(Lacking::Key.look(&key.profile))
    });
    cards.chain(keys).collect()
}

/// A board that is damaged only where the look at its tasks reads. `why`: why these could not be looked at. `told`: what else is found of it.
pub fn damaged_tasks(name: &str, why: &Error, told: &[Finding]) -> Option<Finding> {
    let is_told = told.iter().any(|f| ["board-damaged", "board-split"].contains(&f.id));
    let is_new = why.kind == Kind::Damaged && !is_told;
    let todo = || why.hint.clone().unwrap_or_else(|| repair(&why.at));
    is_new.then(|| Finding::error("board-damaged", name, &why.what).todo(todo()))
}

/// No board at all, and why.
pub fn none(why: &Error) -> Finding {
    let hint = why.hint.as_deref().unwrap_or("name a board with --db");
    let none = Finding::error("board-none", &why.at, &why.what);
    if why.kind == Kind::NoInput {
        none.todo(format!("{hint}; {}", remedy::NO_BOARD))
    } else {
        none.todo(hint)
    }
}

fn file(seen: &BoardSeen) -> Finding {
    let path = seen.at.to_string();
    // A board without a name is called by its path.
    let at = if seen.name == path { String::new() } else { format!("{path}: ") };
    let lost = format!(
        "check its name: `watchbill doctor` without --board and --db looks at every board. Mount its disk, or put a copy of a lost file back. If \
         it is gone on purpose: `{}`; take it out of `board.db` where the configuration names it, and run `hermes kanban boards rm` where Hermes \
         lists it",
        history::command(&path)
    );
    let on = |id, e: &Error| {
        let todo = e.hint.as_deref().unwrap_or(match e.kind {
            Kind::NoInput => &lost,
            Kind::Busy if seen.at.file().is_none() => "see that its server runs and can be reached from here",
            Kind::Permission if seen.at.file().is_none() => {
                "see that its role may log in, and the password in ~/.pgpass"
            }
            Kind::Permission => "run this as the user who owns the board, or let this user into its folder",
            Kind::Busy => "see which process keeps it locked: `fuser -v` names it",
            _ => "see what it is; restore it from a copy where it is damaged",
        });
        Finding::error(id, &seen.name, format!("{at}{}", e.what)).todo(todo)
    };
    if let Split::Split { pids } = &seen.split {
        return Finding::error("board-split", &seen.name, split_what(pids)).todo(split_todo(pids));
    }
    if let Some(what) = &seen.damage {
        let what = format!("{at}{what}; Hermes refuses it, and nothing is written here");
        return Finding::error("board-damaged", &seen.name, what).todo(repair(&path));
    }
    let read = match &seen.read {
        Ok(read) => read,
        Err(e) if e.kind == Kind::Damaged => return on("board-damaged", e),
        Err(e) => return on("board-unreadable", e),
    };
    if let Some(e) = &read.refused {
        // A role that may not write, or a board that a newer program made.
        let id = if seen.at.file().is_none() { "board-unwritable" } else { "board-too-old" };
        return on(id, e);
    }
    if !seen.locked.is_empty() {
        let files: Vec<_> = seen.locked.iter().map(|p| p.display().to_string()).collect();
        let todo = "run as the user who owns the board, or give this one the right to write there";
        return Finding::error("board-unwritable", &seen.name, format!("not writable: {}", files.join(", ")))
            .todo(todo);
    }
    let tasks = things(read.open, "open task");
    Finding::ok("board-found", &seen.name, format!("{at}{}, {tasks}", read.shape))
}

fn clock(seen: &BoardSeen, read: &BoardRead, now: Time) -> Finding {
    let newest = read.newest.event.as_ref().map(|(task, e)| (task, &e.kind, e.at));
    match (newest, &read.newest.wrong) {
        (Some((task, kind, at)), _) if at.is_ahead_of(now) => {
            let ahead = at.since(now);
            let what = format!(
                "its newest event, `{kind}` of {task}, is {} in the future, at {at}: nothing is decided by time",
                words(ahead)
            );
            let until = at.plus(-FUTURE);
            let todo = format!(
                "set the clock of this machine, or of the machine that wrote that event; where both are right, {}; it ends by itself at {until}",
                clock::CORRECT
            );
            Finding::error("clock-behind", &seen.name, what).todo(todo)
        }
        (_, Some(wrong)) => {
            Finding::warning("clock-behind", &seen.name, clock::wrong_row(wrong, now)).todo(clock::CORRECT)
        }
        (Some((_, _, newest)), None) => {
            let what = format!("its newest event is {} old", words(now.since(newest)));
            Finding::ok("clock-sane", &seen.name, what)
        }
        (None, None) => Finding::ok("clock-sane", &seen.name, "it has no event yet"),
    }
}

/// Hosts that attend and whose clock is off.
fn off(all: Attended) -> Vec<Neighbour> {
    let now = all.now;
    all.hosts.into_iter().filter(|h| h.attends(now) && is_off(h.skew_ms)).collect()
}

/// Hosts that ran `heal` and were seen lately, but whose lease is over: as people know them, with the seconds since. Not those that were
/// forgotten, nor those whose machine attends under another name.
fn silent(all: &Attended) -> Vec<(String, i64)> {
    let now = all.now;
    let is_silent = |h: &&Neighbour| {
        h.healed_at.is_some() && !h.attends(now) && now.since(h.seen_at) <= BACK && !h.is_forgotten()
    };
    let found = all.hosts.iter().filter(is_silent).filter(|h| all.new_name(h).is_none());
    found.map(|h| (shown(&h.host).to_owned(), now.since(h.seen_at))).collect()
}

fn is_silent(seen: &BoardSeen, host: &str, ago: i64) -> Finding {
    let what = format!("host {host} was seen {} ago, and is silent since", words(ago));
    let todo = format!(
        "see that it is up and reaches the board; if it will not come back: `board host forget {host}`"
    );
    Finding::warning("host-silent", &seen.name, what).todo(todo)
}

fn wrong_clock(seen: &BoardSeen, host: &Neighbour) -> Finding {
    let (name, by) = (shown(&host.host), off_by(host.skew_ms));
    let what = format!("the clock of host {name} is {by} the board's: its workers are not judged");
    Finding::error("clock-behind", &seen.name, what).todo(format!("set the clock of host {name}"))
}

fn dispatcher(seen: &BoardSeen, read: &BoardRead, now: Time) -> Finding {
    if let Some(wedge) = &seen.wedge {
        return Finding::error("dispatcher-wedged", &seen.name, wedge.what()).todo(remedy::WEDGED);
    }
    let last = read.ticked.map(|at| format!("it last did something {} ago", words(now.since(at))));
    let recent = read.ticked.is_some_and(|at| now.since(at) <= read.patience);
    match &read.runtime.dispatcher {
        Dispatcher::Alive(pid) if read.stopped => {
            let what = format!("process {pid} holds its lock and is stopped (state T): no worker is started");
            let todo = format!(
                "`kill -9 {pid}`, then start it again: if you continue it, it may overwrite newer data"
            );
            Finding::error("dispatcher-stopped", &seen.name, what).todo(todo)
        }
        Dispatcher::Alive(pid) => {
            let last = last.unwrap_or_else(|| "nothing of it is on the board yet".into());
            Finding::ok("dispatcher-alive", &seen.name, format!("process {pid} holds its lock; {last}"))
        }
        Dispatcher::Unknown(why) => Finding::info("dispatcher-hidden", &seen.name, why),
        _ if recent && read.gone.is_none() => {
            Finding::ok("dispatcher-alive", &seen.name, last.unwrap_or_default())
        }
        _ if read.restarts.is_some() => {
            let pid = read.restarts.unwrap_or_default();
            let what = format!(
                "the gateway (process {pid}) left its lock a moment ago: one that restarts takes it again"
            );
            Finding::info("dispatcher-absent", &seen.name, what)
        }
        _ => {
            let last = last.unwrap_or_else(|| "nothing on the board was done by one".into());
            let what = match read.gone {
                Some(pid) => format!("the gateway that an earlier pass saw (process {pid}) is gone; {last}"),
                None => format!("no dispatcher holds its lock; {last}"),
            };
            match read.waiting {
                0 => Finding::warning("dispatcher-absent", &seen.name, what),
                1 => Finding::error("dispatcher-absent", &seen.name, format!("1 ready task waits: {what}")),
                n => Finding::error("dispatcher-absent", &seen.name, format!("{n} ready tasks wait: {what}")),
            }
            .mends(remedy::dispatcher(read.has_service))
        }
    }
}

/// What decides about work and cannot be read.
fn unreadable(seen: &BoardSeen, read: &BoardRead) -> Option<Finding> {
    let all = &read.unreadable;
    if all.is_empty() {
        return None;
    }
    let mut what = all.iter().take(MAX_UNREADABLE).cloned().collect::<Vec<_>>().join("; ");
    if all.len() > MAX_UNREADABLE {
        what.push_str(&format!("; and {} more", all.len() - MAX_UNREADABLE));
    }
    let todo = "let the user who runs the watchers read it, and mend what is not valid YAML: until then a limit, a provider, the failure limit or who takes cards is not known";
    Some(Finding::error("hermes-unreadable", &seen.name, what).todo(todo))
}

/// Each profile that the configuration names must exist.
fn profiles(seen: &BoardSeen, read: &BoardRead, config: &Config) -> Vec<Finding> {
    let known = &read.runtime.profiles;
    // A root without profiles is not a Hermes with workers. Names are not checked there, nor where it is unknown which there are.
    if known.names().is_empty() {
        return Vec::new();
    }
    let is_there = |name: &String| known.has(name) == Some(true);
    let mut all = Vec::new();
    let deciders = orchestrators(config, read.runtime.orchestrator.clone());
    match deciders.iter().find(|p| is_there(p)) {
        Some(one) => all.push(Finding::ok("orchestrator-found", &seen.name, format!("cards go to {one}"))),
        None => {
            let what = format!("no profile {}: cards wait, and nobody decides", deciders.join(", nor "));
            let todo = "make that profile, or name one with `distress.orchestrator`";
            let is_named = config.distress.orchestrator.is_some() || read.runtime.orchestrator.is_some();
            let make = if is_named { Finding::error } else { Finding::warning };
            all.push(make("orchestrator-missing", &seen.name, what).todo(todo));
        }
    }
    let stand_ins = config.orchestrator.fallbacks.iter().map(|p| ("orchestrator.fallbacks".to_owned(), p));
    let named = config.profiles.iter();
    let named = named
        .flat_map(|(of, keys)| keys.fallbacks.iter().map(move |p| (format!("profiles.{of}.fallbacks"), p)));
    for (key, profile) in stand_ins.chain(named).filter(|(_, p)| !is_there(p)) {
        let what = format!("{key} names {profile}, and there is no such profile");
        let todo = "make that profile, or remove the name: no task is rerouted there";
        all.push(Finding::error("fallback-missing", &seen.name, what).todo(todo));
    }
    if read.runtime.auto_decompose == Some(true) {
        let what = "kanban.auto_decompose is on: Hermes may rewrite a task in triage before its card is read";
        let todo = "set `kanban: {auto_decompose: false}` in Hermes' config.yaml";
        all.push(Finding::warning("auto-decompose-on", &seen.name, what).todo(todo));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_that_is_damaged_where_its_tasks_are_read_is_told_once() {
        let why = |kind| Error::new(kind, "/b", "damaged (malformed)");
        let found = |id| Finding::error(id, "night", "no");
        for (kind, told, want) in [
            (Kind::Damaged, "board-found", true),
            (Kind::Damaged, "board-damaged", false),
            (Kind::Damaged, "board-split", false),
            (Kind::Busy, "board-found", false),
        ] {
            let damaged = damaged_tasks("night", &why(kind), &[found(told)]);
            assert_eq!(damaged.is_some(), want, "{kind:?} {told}");
            let todo = damaged.and_then(|f| f.todo);
            assert!(todo.is_none_or(|todo| todo.contains("REINDEX")), "{kind:?} {told}");
        }
    }

    #[test]
    fn a_host_that_attends_with_a_wrong_clock_is_told() {
        let now = Time(1_800_000_000);
        let host = |name: &str, lease: i64, skew_ms: i64| Neighbour {
            host: name.into(),
            since: now,
            seen_at: now,
            lease_until: now.plus(lease),
            healed_at: None,
            skew_ms,
            forgotten_at: None,
        };
        let hosts = vec![
            host("h1@a", 300, 60_000),
            host("h2@b", 300, 60_001),
            host("h3@c", 1, -240_000),
            host("h4@d", 0, 90_000),
        ];
        let off = off(Attended { now, before: None, hosts });
        let told: Vec<_> = off.iter().map(|h| format!("{} {}", shown(&h.host), off_by(h.skew_ms))).collect();
        assert_eq!(told, ["h2 61 s ahead of", "h3 240 s behind"]);
    }
    #[test]
    fn a_host_that_ran_the_watchers_and_fell_silent_is_told_until_it_is_forgotten() {
        let now = Time(1_800_000_000);
        let host = |name: &str, seen: i64| Neighbour {
            host: name.into(),
            since: now.plus(-900_000),
            seen_at: now.plus(-seen),
            lease_until: now.plus(300 - seen),
            healed_at: Some(now.plus(-seen)),
            skew_ms: 0,
            forgotten_at: None,
        };
        let hosts = vec![
            host("here@a", 10),
            host("late@b", 299),
            host("sol@c", 300),
            host("week@d", BACK),
            host("old@e", BACK + 1),
            // It has another name now, was forgotten, only ever worked.
            host("was-here@a", 900),
            Neighbour { forgotten_at: Some(now.plus(-60)), ..host("burnt@f", 900) },
            Neighbour { healed_at: None, ..host("worker@g", 900) },
            // It came back after that, and is silent again.
            Neighbour { forgotten_at: Some(now.plus(-901)), ..host("again@h", 900) },
        ];
        let told = silent(&Attended { now, before: None, hosts });
        let want = [("sol", 300), ("week", BACK), ("again", 900)];
        assert_eq!(told, want.map(|(name, ago)| (name.to_owned(), ago)));
    }
}
