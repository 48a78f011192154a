//! What a spawn is about to do, with everything that can be known before anything is changed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::left::they_work;
pub(in super::super) use super::super::worktree::Repo;
use super::super::worktree::{Hold, Plan, is_same};
use super::super::{Coord, coordinator_named, refused, silent};
use super::{Mapping, Server, Spawn};
use crate::board::runnable;
use crate::random_hex;
use base::error::{Error, Kind, Result};
use board::{Detail, Event, EventKind, Status};
use config::span;
use coord::{Coordinator, MappingStatus, Operation, Runtime, SessionId, mapping};
use host::Life;

/// How long another spawn of the same task may take, in seconds, before it counts as dead.
const UNDER_WAY: i64 = 60;

/// Where a spawn begins.
pub(super) enum Begin {
    /// There is nothing to do.
    Found(Box<Mapping>),
    /// There is.
    Go(Box<Order>),
}

/// What is to be done.
pub(in super::super) struct Order {
    pub(in super::super) runtime: Runtime,
    /// Its name, where it gets one from us.
    pub(in super::super) session: Option<SessionId>,
    /// More arguments for the runtime's command.
    pub(in super::super) more: Vec<OsString>,
    pub(in super::super) task: String,
    /// The task as it was seen; `None` where it is to be made.
    pub(in super::super) seen: Option<Detail>,
    /// An earlier spawn claimed it and died.
    pub(in super::super) resumes: bool,
    /// A session of an earlier run goes on.
    pub(in super::super) again: Option<Again>,
    pub(in super::super) title: String,
    /// The text of a new task.
    pub(in super::super) prompt: String,
    /// What the session is told, where that was given or can be known before the claim: what is left of an attempt is told
    /// of the newest one, which then is this one.
    pub(in super::super) told: Option<String>,
    pub(in super::super) agent: Option<String>,
    pub(in super::super) parent: Option<Coordinator>,
    pub(in super::super) repo: Repo,
    pub(in super::super) place: PathBuf,
    pub(in super::super) branch: String,
    pub(in super::super) plan: Plan,
    /// Where the working tree is there already.
    pub(in super::super) held: Option<Hold>,
}

/// A session that goes on with its task.
pub(in super::super) struct Again {
    /// As it was.
    pub(in super::super) mapping: Mapping,
    /// What it is told.
    pub(in super::super) text: String,
}

impl Order {
    /// The coordinator, where a server can be told of it.
    pub(super) fn servers_parent(&self) -> Option<&SessionId> {
        self.parent.as_ref().and_then(Coordinator::session).filter(|p| p.is_opencodes())
    }
}

impl Coord<'_> {
    pub(super) fn order(&mut self, args: &Spawn, server: &Server) -> Result<Begin> {
        let runtime = args.runtime;
        may_be(runtime, args)?;
        let parent = args.parent.as_deref().map(coordinator_named).transpose()?;
        let prompt = args.prompt.as_deref().unwrap_or_default().trim().to_owned();
        let mut session = runtime
            .headless()
            .filter(|h| h.is_named_by_caller())
            .and_then(|_| SessionId::parse(&random_uuid()));
        let (seen, resumes) = match &args.task {
            None => (None, false),
            Some(id) => {
                let seen = self.hand.look(id)?;
                match mapping::open(&seen) {
                    Some(waiting) if waiting.waits => return Err(waits(&waiting)),
                    Some(mapping) => {
                        is_of(mapping.runtime.as_str(), runtime)?;
                        self.lives(&seen, &mapping)?;
                        return Ok(Begin::Found(Box::new(mapping)));
                    }
                    None => {}
                }
                let resumes = match self.unfinished(&seen)? {
                    None => false,
                    Some(claim) => {
                        session = begun(claim, runtime, session)?;
                        true
                    }
                };
                if !resumes {
                    self.may_take(&seen)?;
                    self.has_ended(&seen)?;
                }
                (Some(seen), resumes)
            }
        };
        let told = match &seen {
            _ if !prompt.is_empty() => Some(prompt.clone()),
            Some(seen) if !resumes => Some(self.hand.prompt(&seen.task.id)?),
            _ => None,
        };
        let own = |seen: &Detail| seen.task.title.clone();
        let title = args.title.clone().or_else(|| seen.as_ref().map(own)).map(|t| t.trim().to_owned());
        let title = title.filter(|t| !t.is_empty() && !t.contains('\n')).ok_or_else(|| {
            Error::new(Kind::Usage, "--title", "a new task needs one line that says what is to be done")
                .hint("give --title, or --task for one that is there")
        })?;
        let task = args.task.clone().unwrap_or_else(|| format!("t_{}", random_hex()));
        let repo = repository(args.repo.as_deref(), seen.as_ref())?;
        let place = repo.place(args.name.as_deref().unwrap_or(&task))?;
        let held = Hold::of(&place);
        // Its agent may have left its tree on another branch than it was made with.
        let folder = seen.as_ref().and_then(|seen| seen.place.path.as_deref());
        let is_its = args.branch.is_none() && folder.is_some_and(|folder| is_same(Path::new(folder), &place));
        let left_on = is_its.then(|| repo.branch_at(&place)).flatten();
        let (branch, plan) = match left_on {
            Some(branch) => (branch, Ok(Plan::Use)),
            None => {
                let branch = args.branch.clone().unwrap_or_else(|| format!("wt/{task}"));
                let plan = repo.plan(&place, &branch);
                (branch, plan)
            }
        };
        let held = match held {
            // Another spawn may have begun one meanwhile.
            Ok(None) => Hold::of(&place),
            held => held,
        };
        let held = match held {
            Ok(held) => held,
            Err(taken) => {
                // The board may know already whose it is.
                self.is_free(&place, &task)?;
                // A tree of another name may be another task's.
                return Err(match args.name {
                    Some(_) => taken.hint("try again, or give another --name and --branch"),
                    None => taken,
                });
            }
        };
        let plan = plan?;
        self.is_free(&place, &task)?;
        if !resumes {
            self.is_left(&place)?;
        }
        match runtime.headless() {
            Some(headless) => runnable(headless.program().as_ref())?,
            None => {
                server.health().map_err(|why| {
                    refused(server.address().as_str(), format!("{why}; nothing was done"))
                        .hint("start it with opencode serve, or name another one with --server")
                })?;
            }
        }
        // Of a coordinator that is a command, a person or a script nobody can be asked.
        let asked = parent.as_ref().and_then(Coordinator::session).filter(|p| p.is_opencodes());
        if let Some(parent) = asked {
            server.session(parent).map_err(|e| silent(server, parent, &e))?;
        }
        let agent = args.agent.clone();
        Ok(Begin::Go(Box::new(Order {
            runtime,
            session,
            more: args.more.clone(),
            task,
            seen,
            resumes,
            again: None,
            title,
            prompt,
            told,
            agent,
            parent,
            repo,
            place,
            branch,
            plan,
            held,
        })))
    }

    /// The claim of a spawn that died before it said which session works on this task.
    fn unfinished<'d>(&self, seen: &'d Detail) -> Result<Option<&'d Event>> {
        let Some(run) = seen.current_run().filter(|_| seen.task.status == Status::Running) else {
            return Ok(None);
        };
        let ours = |e: &&Event| e.by() == Some(super::super::COORD) && e.run == Some(run.id);
        let Some(claim) = seen.newest_claim().filter(ours) else { return Ok(None) };
        let wait = UNDER_WAY - self.hand.here.now.since(claim.at);
        if wait > 0 {
            return Err(Error::new(Kind::Busy, &seen.task.id, "another spawn of it is under way")
                .hint(format!("if that spawn died, try again in {wait}s")));
        }
        // The first one says how it was begun; the one of its worker may have followed.
        Ok(seen.events.iter().find(|e| e.kind == EventKind::Claimed && ours(e)))
    }

    /// Refuses to name a session that is a command, and whose process is gone: nothing works on its task before `heal` gives it back.
    fn lives(&mut self, seen: &Detail, m: &Mapping) -> Result<()> {
        // One that goes on again has its claim before its worker.
        let may_be_gone = m.runtime.headless().is_some() && seen.task.worker_pid.is_some();
        if !may_be_gone || self.worker(seen)?.is_none_or(|worker| worker.look.life != Life::Gone) {
            return Ok(());
        }
        Err(gone(m, "nothing was started"))
    }

    /// Refuses a second session while the last one of the task still works: its run may have ended before it did. Where nobody
    /// can tell, the end of the run on the board counts.
    fn has_ended(&mut self, seen: &Detail) -> Result<()> {
        let Some(m) = mapping::of(seen).pop() else { return Ok(()) };
        let works = match self.server_of(&m) {
            Ok(at) => {
                let state = self.servers.at(&at).state(&m.session, Path::new(&m.directory));
                state.is_ok_and(|state| state.is_under_way())
            }
            Err(_) => self.alive(&m).is_ok_and(|left| !left.is_empty()),
        };
        if !works {
            return Ok(());
        }
        let why = format!("its session {} still works, though its run has ended", m.session);
        Err(Error::new(Kind::Busy, &m.task, why).hint("try again when it has ended its turn, or abort it"))
    }

    /// Refuses a working tree in which another task is worked on, or whose session waits for an answer.
    fn is_free(&mut self, place: &Path, own: &str) -> Result<()> {
        let is_it = |folder: &str| is_same(Path::new(folder), place);
        let running = self.hand.board.glance(&[Status::Running])?;
        let running: Vec<String> = running.into_iter().map(|t| t.id).filter(|id| id != own).collect();
        let at_work = self.hand.board.look(&running)?;
        // One that was only begun has no session yet.
        let begun = at_work.iter().filter(|d| d.place.path.as_deref().is_some_and(is_it));
        let mapped = self.mappings()?;
        let is_open =
            |m: &&Mapping| m.status == MappingStatus::Active && m.task != own && is_it(&m.directory);
        let mapped = mapped.iter().filter(is_open).map(|m| &m.task);
        let Some(other) = begun.map(|d| &d.task.id).chain(mapped).next() else { return Ok(()) };
        let why = format!("is the working tree of {other}, which is at work; nothing was started");
        Err(Error::new(Kind::Busy, place.display(), why).hint("give another --name and --branch"))
    }

    /// Refuses a working tree in which something of its last session still runs: it would write beside the new one.
    fn is_left(&mut self, place: &Path) -> Result<()> {
        let last = self.mappings()?.into_iter().rfind(|m| is_same(Path::new(&m.directory), place));
        let Some(last) = last else { return Ok(()) };
        // As long as heal waits for what a dead worker left running.
        let wait = span::seconds(self.hand.config.heal.orphan_wait);
        let ended = self.hand.look(&last.task).ok().and_then(|seen| {
            seen.runs.iter().find(|run| Some(run.id) == last.run).and_then(|run| run.ended_at)
        });
        let is_over = ended.is_some_and(|at| self.hand.here.now.since(at) >= wait);
        let left = if is_over { Vec::new() } else { self.left_by_last(&last) };
        if left.is_empty() {
            return Ok(());
        }
        let why = format!("{} in this tree; nothing was started", they_work(&left));
        Err(Error::new(Kind::Busy, place.display(), why)
            .hint("try again when that has ended, or give another --name and --branch"))
    }

    fn may_take(&self, seen: &Detail) -> Result<()> {
        match &seen.task.status {
            Status::Running => Err(lost(seen)),
            _ => self.hand.may_claim(seen).map_err(|why| refused(&seen.task.id, why)),
        }
    }
}

/// Refuses a task that another worker has: it may be free again later.
pub(in super::super) fn lost(seen: &Detail) -> Error {
    let lock = seen.task.claim_lock.as_deref().map_or(String::new(), |lock| format!(" (claimed by {lock})"));
    Error::new(Kind::Busy, &seen.task.id, format!("another worker has the task{lock}; nothing was started"))
}

/// The process of a session is gone, and its task not free yet. `then`: what was not done.
pub(in super::super) fn gone(m: &Mapping, then: &str) -> Error {
    let why = format!("its process is gone, and its task is still claimed for it; {then}");
    Error::new(Kind::Busy, m.session.as_str(), why).hint("try again after the next pass of heal")
}

/// The repository of `--repo`, else that of the task's folder, else that of the current folder. A task with a folder in a
/// repository stays in that.
fn repository(named: Option<&Path>, seen: Option<&Detail>) -> Result<Repo> {
    // What Hermes makes for one attempt is not a folder of the task.
    let kept = seen.filter(|seen| seen.place.kind.as_deref() != Some("scratch"));
    let folder = kept.and_then(|seen| seen.place.path.as_deref()).map(Path::new);
    // A tree that is gone was in the repository above it.
    let there = |f: &Path| if f.is_dir() { Some(f.to_owned()) } else { Repo::above_tree(f) };
    let own = folder.and_then(there).map(|f| Repo::around(&f)).transpose()?.flatten();
    let here = || std::env::current_dir().map_err(|e| Error::io("this folder", &e));
    match (named, own) {
        // The tree of a session says where it works, and not where another one begins.
        (None, Some(own)) if folder.is_some_and(|folder| own.has_made(folder)) => {
            let repo = here().and_then(|here| Repo::find(&here));
            Ok(repo.ok().filter(|repo| is_same(&own.top, &repo.top)).unwrap_or_else(|| own.at_top()))
        }
        (None, Some(own)) => Ok(own),
        (None, None) => Repo::find(&here()?),
        (Some(named), own) => {
            let repo = Repo::find(named)?;
            if own.is_none_or(|own| is_same(&own.top, &repo.top)) {
                return Ok(repo);
            }
            let folder = folder.unwrap_or(named).display();
            let why =
                format!("the folder of the task is {folder}, in another repository; nothing was started");
            Err(refused(&named.display().to_string(), why)
                .hint("leave --repo out to work in that one, or add another task"))
        }
    }
}

/// Refuses a second session beside one that waits.
fn waits(m: &Mapping) -> Error {
    refused(&m.task, format!("its session {} waits for an answer", m.session))
        .hint("coord message answers it, coord abort ends it")
}

/// Refuses what a runtime cannot be asked for.
fn may_be(runtime: Runtime, args: &Spawn) -> Result<()> {
    let word = runtime.as_str();
    if let Some(why) = runtime.lacks(Operation::Agent).filter(|_| args.agent.is_some()) {
        return Err(Error::new(Kind::Usage, "--agent", format!("{word} {why}")));
    }
    if runtime.headless().is_none() && !args.more.is_empty() {
        let why = format!("{word} takes no arguments");
        return Err(Error::new(Kind::Usage, "--", why).hint("leave them out, or give another --runtime"));
    }
    Ok(())
}

/// The name of the session that a spawn began, which must have been the same runtime's.
fn begun(claim: &Event, runtime: Runtime, fresh: Option<SessionId>) -> Result<Option<SessionId>> {
    let said = |key: &str| claim.trail().and_then(|t| t.get(key)?.as_str());
    is_of(said("runtime").unwrap_or(Runtime::Opencode.as_str()), runtime)?;
    Ok(said("session").and_then(SessionId::parse).or(fresh))
}

/// Refuses a session that a spawn began with another runtime than the one that is asked for.
fn is_of(before: &str, runtime: Runtime) -> Result<()> {
    if before == runtime.as_str() {
        return Ok(());
    }
    let why = format!("a spawn began it with {}", base::quote::inline(before, 20));
    Err(Error::new(Kind::Usage, "--runtime", why).hint("give that one, or abort it first"))
}

/// A UUID of version 4.
fn random_uuid() -> String {
    let digits: String = (0..4).map(|_| random_hex()).collect();
    let (a, b, c, d, e) = (&digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..32]);
    format!("{a}-{b}-4{c}-8{d}-{e}")
}
