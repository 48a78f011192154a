//! The command line of `board`: one small transaction a call, guarded by what was seen.

mod args;
pub(super) mod card;
mod copy;
mod decide;
mod environment;
mod lend;
mod living;
mod neighbours;
pub(super) mod packet;
mod prune;
mod run;
mod show;
mod tasks;
mod work;

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

pub(super) use args::Command;
pub(super) use run::{Handed, runnable};

use super::{Common, Here, env, print, print_json};
use ::board::several_hosts::{self, Duty};
use ::board::{Board, BoardId, Change, Detail, Expect, Location, Mode, Outcome, Step};
use base::error::{Error, Kind, Result};
use base::quote;
use board::hermes::Trail;
use config::Config;
use environment::Own;
use logs::cache::Cache;
use ops::report::{printable, say};
use policy::authorship::HAND;

/// How often a task is written to anew where others write to it too: a heartbeat moves its row.
const TRIES: usize = 5;

/// One call: the board, the clock, and how to answer.
pub(super) struct Hand<'a> {
    pub(super) board: Box<dyn Board>,
    pub(super) here: Here,
    /// The boot clock when the present time was read: what a claim lasts is counted from then.
    opened: i64,
    pub(super) config: &'a Config,
    pub(super) common: &'a Common,
    /// The program, as events name it.
    pub(super) by: &'static str,
    pub(super) pass: String,
}

pub(super) fn run(command: &Command, common: &Common) -> Result<u8> {
    if let Command::Protocol { role, skill } = command {
        return tell(*role, *skill, common.json);
    }
    if let Command::Run(asked) = command {
        return run::work(asked, common);
    }
    if let Command::Copy(asked) = command {
        return copy::run(asked, common);
    }
    if let Command::Lend(asked) = command {
        return lend::run(asked, common);
    }
    let config = common.load()?.config;
    if let Command::Init { path } = command {
        let path = path.as_ref().or_else(|| common.db.first()).ok_or_else(|| {
            Error::new(Kind::Usage, "init", "no file named").hint("board init PATH, or --db PATH")
        })?;
        let path = Location::read(path.as_os_str()).map_err(|why| Error::new(Kind::Config, "init", why))?;
        ::board::create(&path, config.board.busy_timeout)?;
        let text = format!("made {path}; use it with --db, or set board.db in the configuration\n");
        return print(&if common.json { format!("{}\n", json!({"made": path})) } else { text });
    }
    if let Command::Grant(grant) = command {
        let at = the_board(common, &config)?.at;
        return granted(&at, grant, config.board.busy_timeout, common);
    }
    if let Command::Upgrade { at } = command {
        let named = |path: &PathBuf| {
            Location::read(path.as_os_str()).map_err(|why| Error::new(Kind::Config, "board upgrade", why))
        };
        let at = at.as_ref().map_or_else(|| Ok(the_board(common, &config)?.at), named)?;
        return upgraded(&at, config.board.busy_timeout, common);
    }
    let mode = if command.only_reads() { Mode::Look } else { Mode::Change };
    let looks = matches!(command, Command::Host(_) | Command::Prune(_));
    let duty = if looks { Duty::Looks } else { Duty::Asks };
    let mut hand = Hand::open(common, &config, mode, HAND, duty)?;
    match command {
        // Answered before.
        Command::Init { .. }
        | Command::Grant(_)
        | Command::Copy(_)
        | Command::Upgrade { .. }
        | Command::Lend(_)
        | Command::Protocol { .. }
        | Command::Run(_) => Ok(0),
        Command::Host(args::Host::List) => hand.hosts(),
        Command::Host(args::Host::Forget { name }) => hand.forget(name),
        Command::Prune(prune) => hand.prune(prune),
        Command::Add(add) => hand.add(add),
        Command::List { status, assignee } => hand.list(status, assignee.as_deref()),
        Command::Show { id } => hand.show(id),
        Command::Claim(claim) => hand.claim(claim),
        Command::Heartbeat { id, note, ttl, run } => hand.heartbeat(id, note.as_deref(), *ttl, *run),
        Command::Comment { id, text, author } => hand.comment(id, text, author.as_deref()),
        Command::Packet(packet) => hand.packet(packet),
        Command::Block(block) => hand.block(block),
        Command::Complete(complete) => hand.complete(complete),
        Command::Link { parent, child } => hand.link(parent, child),
        Command::Unlink { parent, child } => hand.unlink(parent, child),
        Command::Reassign { id, profile, reason, force } => {
            hand.reassign(id, profile, reason.as_deref(), *force)
        }
        Command::Unblock { id, reason } => hand.unblock(id, reason.as_deref()),
    }
}

/// The text for a worker or an orchestrator, to be put where it reads its rules.
fn tell(role: ::card::protocol::Role, skill: bool, json: bool) -> Result<u8> {
    let text = if skill { role.skill() } else { role.text().to_owned() };
    print(&if json { format!("{:#}\n", json!({"role": role.as_str(), "text": text})) } else { text })
}

/// Lets roles of a server use a board.
fn granted(at: &Location, grant: &args::Grant, patience: Duration, common: &Common) -> Result<u8> {
    ::board::grant(at, &grant.worker, &grant.watcher, patience)?;
    let json = json!({"workers": grant.worker, "watchers": grant.watcher});
    let lines = |roles: &[String], what: &str| -> String {
        roles.iter().map(|role| format!("{} may {what} on this board\n", printable(role))).collect()
    };
    let text = format!("{}{}", lines(&grant.worker, "work"), lines(&grant.watcher, "work and watch"));
    answered(common, &json, &text)
}

/// Brings the tables of a board on a server up to date.
fn upgraded(at: &Location, patience: Duration, common: &Common) -> Result<u8> {
    let (from, to) = ::board::upgrade(at, patience)?;
    let at = at.to_string();
    let text = match from == to {
        true => format!("{}: its tables are of version {to} already\n", printable(&at)),
        false => format!("{}: its tables were of version {from} and are of version {to}\n", printable(&at)),
    };
    answered(common, &json!({"board": at, "from": from, "to": to}), &text)
}

/// What is printed of an answer, as the flags say.
fn answered(common: &Common, json: &Value, text: &str) -> Result<u8> {
    match (common.json, common.quiet) {
        (true, _) => print_json(json),
        (false, true) => Ok(0),
        (false, false) => print(text),
    }
}

/// The one board a command works on: named, or the one `hermes kanban boards switch` chose.
fn the_board(common: &Common, config: &Config) -> Result<BoardId> {
    let (which, found) = common.found(BTreeSet::new(), config)?;
    let id = the_one(common, config, found)?;
    common.tell_of_another(&which, std::slice::from_ref(&id));
    Ok(id)
}

fn the_one(common: &Common, config: &Config, mut found: Vec<BoardId>) -> Result<BoardId> {
    // A board in the configuration is there to be worked on; Hermes' own are only watched beside it.
    let configured = found.iter().position(|b| Some(&b.at) == config.board.db.as_ref());
    if let Some(nth) = configured.filter(|_| common.db.is_empty() && common.board.is_empty()) {
        return Ok(found.swap_remove(nth));
    }
    if found.len() > 1 {
        let root = found.iter().find_map(|b| b.root.clone());
        let current = root.and_then(|r| base::untrusted_file::text(&r.join("kanban").join("current")));
        let slug = current.map_or_else(|| "default".to_owned(), |c| c.trim().to_lowercase());
        let named = common.db.len() > 1 || common.board.len() > 1;
        found.retain(|b| !named && b.slug.as_deref() == Some(slug.as_str()));
    }
    found.into_iter().next().ok_or_else(|| {
        let what = if common.board.is_empty() {
            "needed, as there are several boards"
        } else {
            "names more than one board"
        };
        Error::new(Kind::Usage, "--board", what).hint("name one, here or with --db")
    })
}

/// A warning of one line on standard error.
fn warn(line: &str) {
    let _ = say(&mut std::io::stderr().lock(), '4', HAND, line);
}

pub(super) fn refused(at: &str, why: impl std::fmt::Display) -> Error {
    Error::new(Kind::Partial, at, why)
}

impl<'a> Hand<'a> {
    /// Opens the one board that is meant. `duty`: what is said of this host there, where something is to be changed.
    pub(super) fn open(
        common: &'a Common,
        config: &'a Config,
        mode: Mode,
        by: &'static str,
        duty: Duty,
    ) -> Result<Hand<'a>> {
        let id = the_board(common, config)?;
        if common.now.is_some() && mode == Mode::Change && common.db.is_empty() {
            return Err(Error::new(Kind::Usage, "--now", "changes a board only with an explicit --db"));
        }
        Hand::open_at(id, common, config, mode, by, duty)
    }

    /// Opens this board.
    fn open_at(
        id: BoardId,
        common: &'a Common,
        config: &'a Config,
        mode: Mode,
        by: &'static str,
        duty: Duty,
    ) -> Result<Hand<'a>> {
        let here = Here::look(common, config)?;
        let opened = here.host.boot_clock();
        if mode == Mode::Change {
            ops::pass::open::refuse_split(&id, &id.known_as(&here.host)?)?;
        }
        let mut board = board::open(&id, mode, config.board.busy_timeout)?;
        // The board's own id: the address of a server can be spelt in several ways, and workers are given one of them.
        let here = Here { host: board.id().known_as(&here.host)?, ..here };
        if mode == Mode::Change || board.is_shared() {
            // What watchers remember is only read here, but for the timeline of a server.
            let mut cache = Cache::open(Cache::place(&env));
            ops::pass::timeline::refuse(&mut *board, &cache)?;
            if mode == Mode::Change {
                ops::pass::timeline::note(&*board, &mut cache, here.now);
                // Where it cannot be written, the next command notes it.
                drop(cache.save());
                ops::pass::damage::refuse(&*board, &mut cache, here.now)?;
            }
        }
        let pass = super::pass_id(by, here.now);
        let mut hand = Hand { board, here, opened, config, common, by, pass };
        if mode == Mode::Change {
            hand.attend(duty)?;
        }
        Ok(hand)
    }

    /// The board's file, as any working folder would name it.
    pub(super) fn board_file(&self) -> String {
        self.board.id().address()
    }

    /// Takes the clock of a board that several hosts share. One that works on says so as well.
    fn attend(&mut self, duty: Duty) -> Result<()> {
        let attended = several_hosts::attend(&mut *self.board, &self.here.host, self.by, duty)?;
        let attended = attended.filter(|_| !self.here.clock_given);
        self.here.now = attended.map_or(self.here.now, |attended| attended.now);
        Ok(())
    }

    pub(super) fn look(&mut self, id: &str) -> Result<Detail> {
        // Other runtimes have ids of other shapes; the board knows them.
        let absent = || match board::is_task_id(id) || id.starts_with("t_") {
            true => refused(id, "no such task on this board"),
            false => refused(id, "not a task id").hint("they look like t_1a2b3c4d"),
        };
        let mut seen = self.board.look(&[id.to_owned()])?.pop().ok_or_else(absent)?;
        // A person or a worker reads them whole.
        seen.comments = self.board.comments(id)?;
        Ok(seen)
    }

    pub(super) fn trail<'t>(&'t self, case: &'t str) -> Trail<'t> {
        Trail {
            by: self.by,
            pass: &self.pass,
            clock_given: self.here.clock_given,
            case: case.into(),
            cause: None,
            because: case,
            more: Map::new(),
        }
    }

    /// Applies one step; a lost race is a refusal here, because the caller wants to know.
    pub(super) fn apply(&mut self, id: &str, seen: Option<&Detail>, changes: Vec<Change>) -> Result<Outcome> {
        let step = step(id, seen, changes);
        let patience = self.config.board.busy_timeout;
        let outcome = self.board.apply(self.here.now, &[step], patience)?.pop();
        outcome.ok_or_else(|| Error::new(Kind::Bug, id, "a step without an outcome"))
    }

    /// Writes what there is to write of a task as it stands, and anew where another process wrote to it meanwhile. `false`:
    /// by what it shows there is nothing to write.
    ///
    /// # Errors
    /// What `changes` says of it; a refusal by the board; another process that never stops writing to it.
    pub(super) fn write(
        &mut self,
        id: &str,
        mut changes: impl FnMut(&mut Self, &Detail) -> Result<Option<Vec<Change>>>,
    ) -> Result<bool> {
        let mut last = String::new();
        for _ in 0..TRIES {
            let seen = self.look(id)?;
            let Some(now) = changes(self, &seen)? else { return Ok(false) };
            match self.apply(id, Some(&seen), now)? {
                Outcome::Applied { .. } => return Ok(true),
                Outcome::Moved { what } => last = what,
                Outcome::Refused { why } => return Err(refused(id, why)),
                Outcome::Planned => return Err(Error::new(Kind::Bug, id, "a command only planned its step")),
            }
        }
        Err(refused(id, format!("changed again at each try to write it ({last})"))
            .hint("run the command again"))
    }

    pub(super) fn must(
        &mut self,
        id: &str,
        seen: Option<&Detail>,
        changes: Vec<Change>,
    ) -> Result<Option<i64>> {
        match self.apply(id, seen, changes)? {
            Outcome::Applied { run } => Ok(run),
            Outcome::Moved { what } => {
                Err(refused(id, format!("changed meanwhile ({what}); nothing was done")).hint("try again"))
            }
            Outcome::Refused { why } => Err(refused(id, why)),
            Outcome::Planned => Err(Error::new(Kind::Bug, id, "a command only planned its step")),
        }
    }

    /// An answer that is empty: a person at a terminal is told so, a script sees the empty output.
    pub(super) fn nothing(&self, json: &Value, what: &str) -> Result<u8> {
        if !self.common.json && !self.common.quiet && std::io::stdout().is_terminal() {
            let _ = writeln!(std::io::stderr(), "{what}");
        }
        self.answer(json, "")
    }

    pub(super) fn answer(&self, json: &Value, text: &str) -> Result<u8> {
        answered(self.common, json, text)
    }
}

/// What a command does with a task, under the guard of what was seen of it.
fn step(id: &str, seen: Option<&Detail>, changes: Vec<Change>) -> Step {
    Step { expect: seen.map(Expect::of), ..Step::unguarded(id, "hand".into(), "hand".into(), changes) }
}

/// The run a command is for: the one that is named, else the one that a worker is told in its environment.
fn told_run(task: &str, run: Option<i64>) -> Option<i64> {
    run.or_else(|| Own::is(task)?.run)
}

/// Who has a task whose worker has lost it.
fn owner(seen: &Detail) -> String {
    match seen.task.current_run {
        Some(run) => format!("another worker has this task (run {run})"),
        None => format!("the task is {} and no worker has it", seen.task.status),
    }
}

/// Refuses a command for a run that no longer has the task. The number of a run may have been given again, by a restored copy or by a
/// server that replaced one; a claim is nobody else's.
fn same_run(seen: &Detail, run: Option<i64>) -> Result<()> {
    let id = &seen.task.id;
    let lost = |what: String| Err(refused(id, format!("{what}: {}", owner(seen))).hint("stop working on it"));
    match told_run(id, run) {
        Some(run) if seen.task.current_run != Some(run) => {
            lost(format!("run {run} is no longer its open run"))
        }
        _ => match Own::is(id).as_ref().and_then(|own| own.lost_claim(seen)) {
            Some(claim) => lost(format!("{} no longer holds it", quote::inline(claim, 80))),
            None => Ok(()),
        },
    }
}

/// Refuses a worker's command on what is not its own: another worker's task, or the decision about itself. Hermes' own tools
/// refuse the same (0.19, `_enforce_worker_task_ownership`). The worker on the card of a task may decide about it.
fn own_business(board: &mut dyn Board, seen: &Detail, decides: bool) -> Result<()> {
    let Some(own) = Own::here() else { return Ok(()) };
    let id = &seen.task.id;
    if own.task == *id {
        return match decides {
            true => Err(refused(id, "is your own task; the orchestrator or the operator decides about it")
                .hint("stop here: its card tells the orchestrator")),
            false => Ok(()),
        };
    }
    let mine = board.look(std::slice::from_ref(&own.task))?.pop();
    let named = mine
        .as_ref()
        .and_then(|m| ::card::read_title(&m.task.title))
        .is_some_and(|(source, _)| source == *id);
    let waits =
        mine.as_ref().is_some_and(|m| m.task.is_card() && seen.parents.iter().any(|p| p.id == m.task.id));
    if named || waits {
        return Ok(());
    }
    let why = format!("is not your task ({}), nor is your task its card", own.names.task);
    Err(refused(id, why).hint("do not change it"))
}

/// Who signs what a worker says about its task: its profile by the environment, else by the claim.
fn worker_of(seen: &Detail) -> String {
    let claimed = seen.current_run().and_then(|r| r.profile.clone());
    speaker(environment::profile().or(claimed).as_deref())
}

pub(super) fn speaker(given: Option<&str>) -> String {
    let given = given.map(str::to_owned).or_else(environment::profile).or_else(|| env("USER"));
    given.map(|g| g.trim().to_owned()).filter(|g| !g.is_empty()).unwrap_or_else(|| "user".into())
}
