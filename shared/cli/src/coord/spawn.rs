//! `coord spawn`: a task is claimed, gets a working tree and a session, and the session is told what to do: all of it or
//! nothing. But once a worker or a session may have begun, its working tree and its branch stay, whatever fails then. The second
//! call for a task finds what the first one made.

mod order;
mod words;
mod worker;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Child;

use clap::Args;
use serde_json::{Value, json};

use super::message::again::{Claim, taken_again};
use super::worktree::{Made, tree_and_branch, with_left};
use super::{Coord, arrived, message_id, millis, refused, silent, utf8, warn};
use crate::board::speaker;
use crate::one_of;
use base::error::{Error, Kind, Result};
use board::hermes::Decider;
use board::{BoardId, Change, Detail, EventKind, HandOver, NewTask, Outcome, Place, RunRef, Status, hermes};
use config::span;
use coord::mapping::{self, Spawned};
use coord::opencode::rest::Server;
use coord::{Mapping, NewSession, Prompt, Role, Runtime, SessionId, Silence};
use host::Witness;
use policy::worktree_note::{TreeNote, beside};

pub(super) use order::{Again, Order, Repo, gone, lost};

use order::Begin;

#[derive(Debug, Args)]
pub(crate) struct Spawn {
    /// Start a session for this task [default: add a new task]
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Run the session with this
    #[arg(long, default_value_t = Runtime::Opencode, value_parser = one_of(&Runtime::ALL, how))]
    runtime: Runtime,
    /// Work on this branch; a new one begins at the HEAD of the folder of --repo [default: wt/ and the task's id]
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Name the folder below .worktrees of the repository [default: the task's id]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Set the title of the session; without --task also of the new task
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Use this agent of the runtime [default: that of the runtime]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Send this prompt instead of the task's text; without --task also set the text of the new task
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Set the coordinator of the new session: a session, person:NAME or script:NAME
    #[arg(long, value_name = "WHO")]
    parent: Option<String>,
    /// Work in the repository of this folder [default: the folder of the task, else the current folder]
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// More arguments for the command of claude or codex, such as its permissions
    #[arg(last = true, value_name = "ARGUMENT")]
    more: Vec<OsString>,
}

impl Spawn {
    /// Whether its session is a command of this host, and no session of a server.
    pub(super) fn is_a_command(&self) -> bool {
        self.runtime.headless().is_some()
    }
}

fn how(runtime: Runtime) -> Option<&'static str> {
    Some(match runtime {
        Runtime::Opencode => "opencode, on the server of --server",
        Runtime::Claude => "Claude Code, as a command: claude -p",
        Runtime::Codex => "Codex, as a command: codex exec",
    })
}

/// What was made so far.
#[derive(Default)]
struct Traces {
    tree: Made,
    session: Option<SessionId>,
    /// The session may have its prompt.
    is_told: bool,
    /// What the worker lives under.
    harness: Option<Child>,
    /// Bytes of the session's transcript before it was started.
    before: u64,
    /// Where the board said that the task is worked on, before it was told otherwise.
    place: Option<Place>,
}

impl Traces {
    /// Whether the harness, and with it the worker, has ended.
    fn has_ended(&mut self) -> bool {
        self.harness.as_mut().is_some_and(|h| !matches!(h.try_wait(), Ok(None)))
    }
}

impl Coord<'_> {
    pub(super) fn spawn(&mut self, args: &Spawn) -> Result<u8> {
        let server = self.servers.at(&self.servers.named);
        let order = match self.order(args, &server) {
            Ok(Begin::Found(mapping)) => return self.found(&mapping),
            Ok(Begin::Go(order)) => *order,
            Err(e) => return Err(self.or_lost(args, e)),
        };
        let (session, is_seen) = self.carry_out(Some(&server), &order)?;
        self.told(&order, &session, is_seen)
    }

    /// Why a claim came too late.
    pub(super) fn outrun(&mut self, task: &str, what: &str) -> Error {
        match self.hand.look(task) {
            Ok(seen) if seen.task.status == Status::Running => lost(&seen),
            _ => Error::new(Kind::Busy, task, format!("changed meanwhile ({what}); nothing was started")),
        }
    }

    /// What is in the way of a spawn may be another one's work, which was claimed meanwhile.
    fn or_lost(&mut self, args: &Spawn, e: Error) -> Error {
        let seen = args.task.as_ref().filter(|_| e.kind == Kind::Partial).map(|id| self.hand.look(id));
        match seen {
            Some(Ok(seen)) if seen.task.status == Status::Running => lost(&seen),
            _ => e,
        }
    }

    /// Claims, builds, and undoes what was built where a part of it fails. The session, and whether it was seen.
    pub(super) fn carry_out(&mut self, server: Option<&Server>, order: &Order) -> Result<(SessionId, bool)> {
        let seen = self.take(order)?;
        let mut traces = Traces::default();
        let built = match (order.runtime.headless(), server) {
            (Some(headless), _) => self.start(headless, order, &seen, &mut traces),
            (None, Some(server)) => {
                self.build(server, order, &seen, &mut traces).map(|session| (session, true))
            }
            (None, None) => Err(Error::new(Kind::Bug, &order.task, "a session of no server")),
        };
        match built {
            Ok((session, is_seen)) => {
                if order.runtime.headless().is_some() {
                    self.is_well(order, &session, seen.task.current_run, &mut traces)?;
                }
                Ok((session, is_seen))
            }
            // What another spawn began is not this one's to undo: its worker may be at work.
            Err(e) if seen.task.worker_pid.is_some() => Err(e),
            // Nor is a session that may be at work. It is on the board.
            Err(e) if traces.is_told => {
                let kept = tree_and_branch(&order.place, &order.branch);
                let what = format!("{}; it keeps {}, {kept}", e.what, order.task);
                Err(Error { what, ..e }
                    .hint("coord status shows how it fares; coord abort stops it and requeues its task"))
            }
            Err(e) => {
                let began = traces.harness.is_some();
                let left = self.undo(server, order, &seen, &mut traces);
                let now = match began {
                    // Its worker may even have completed it.
                    true => self
                        .hand
                        .look(&order.task)
                        .map(|now| format!("{} is {}", order.task, now.task.status)),
                    false => Ok("this spawn took back what it had done".to_owned()),
                };
                let what = now.map_or_else(|_| e.what.clone(), |now| format!("{}; {now}", e.what));
                Err(Error { what: with_left(what, left), ..e })
            }
        }
    }

    fn found(&self, m: &Mapping) -> Result<u8> {
        let json = json!({
            "session": m.session, "runtime": m.runtime, "task": m.task, "directory": m.directory, "again": true,
        });
        self.hand.answer(&json, &format!("{}\n", m.session))
    }

    /// Says what was made, and what of it was not seen yet.
    fn told(&self, order: &Order, session: &SessionId, is_seen: bool) -> Result<u8> {
        let directory = utf8(&order.place)?;
        let task = &order.task;
        let json = json!({
            "session": session, "runtime": order.runtime, "task": task, "directory": directory, "again": false,
            "seen": is_seen,
        });
        if !is_seen {
            warn(&format!(
                "{session}: its worker began, and left no transcript yet; coord status shows how it fares"
            ));
        }
        self.hand.answer(&json, &format!("{session}\n"))
    }

    /// Claims the task, or takes over a claim whose spawn died; what is seen of it then.
    fn take(&mut self, order: &Order) -> Result<Detail> {
        let expires = self.hand.here.now.plus(span::seconds(self.hand.config.board.claim_ttl));
        let lock = self.hand.lock(None);
        let id = &order.task;
        let mut trail = self.hand.trail("spawn");
        if order.runtime.headless().is_some() {
            // What another spawn goes on with, should this one die.
            trail.more.insert("runtime".into(), json!(order.runtime));
            trail.more.insert("session".into(), json!(order.session));
        }
        let outcome = match (&order.seen, &order.again) {
            (None, _) => {
                let task = NewTask {
                    title: order.title.clone(),
                    body: Some(order.prompt.clone()).filter(|p| !p.is_empty()),
                    created_by: Some(speaker(None)),
                    ..NewTask::default()
                };
                // In one step, so that no dispatcher finds it ready in between.
                let mut changes = hermes::created(Status::Running, task, &[], &trail);
                changes.extend(hermes::claim(&lock, expires, None, None, &trail));
                self.hand.apply(id, None, changes)?
            }
            (Some(seen), Some(again)) => {
                trail.more.extend(tree_fact(self.hand.board.id(), &order.place));
                let claim = Claim { lock: &lock, expires, text: &again.text };
                self.hand.apply(id, Some(seen), taken_again(&again.mapping, seen, &claim, &trail))?
            }
            (Some(seen), None) if order.resumes => {
                self.hand.apply(id, Some(seen), hermes::heartbeat(seen, expires, Some("spawn goes on")))?
            }
            (Some(seen), None) => {
                // What the attempt begins with, where there is a tree to begin with.
                trail.more.extend(tree_fact(self.hand.board.id(), &order.place));
                let mut changes = Vec::new();
                if seen.task.status == Status::Todo {
                    changes.extend(hermes::promoted(seen, &trail));
                }
                changes.extend(hermes::claimed(seen, &lock, expires, None, None, &trail));
                self.hand.apply(id, Some(seen), changes)?
            }
        };
        match outcome {
            Outcome::Applied { .. } => self.hand.look(id),
            Outcome::Moved { what } => Err(self.outrun(id, &what)),
            Outcome::Refused { why } => Err(refused(id, why)),
            Outcome::Planned => Err(Error::new(Kind::Bug, id, "a command only planned its step")),
        }
    }

    /// Tree, session, mapping, prompt, in this order.
    fn build(
        &mut self,
        server: &Server,
        order: &Order,
        seen: &Detail,
        traces: &mut Traces,
    ) -> Result<SessionId> {
        traces.tree = order.repo.make(&order.plan, &order.place, &order.branch, order.held.is_some())?;
        let session = self.session(server, order, seen, traces)?;
        let fails = |e| silent(server, &session, &e);
        let made = server.session(&session).map_err(fails)?;
        let same_place =
            std::fs::canonicalize(&made.directory).ok() == std::fs::canonicalize(&order.place).ok();
        if !same_place
            || made.parent.as_ref() != order.servers_parent()
            || made.task.as_deref() != Some(&order.task)
        {
            let why = format!("{} made it otherwise than asked for", server.address());
            return Err(refused(session.as_str(), why));
        }
        self.map(server, order, seen, &session)?;
        traces.place = Some(seen.place.clone());
        let prompted = server.messages(&session, 1).map_err(fails)?.iter().any(|m| m.role == Role::User);
        if !prompted {
            let text = words::prompt(order, seen, &self.hand.board_file());
            let run = seen.task.current_run.unwrap_or(0).to_string();
            let message = message_id(millis(), &[session.as_str(), &run, "spawn"]);
            let agent = order.agent.as_deref();
            let prompt = Prompt { message: &message, text: &text, agent, wake: true };
            tell(server, &session, &prompt, traces)?;
        }
        Ok(session)
    }

    /// The session of this very attempt, made where there is none.
    fn session(
        &self,
        server: &Server,
        order: &Order,
        seen: &Detail,
        traces: &mut Traces,
    ) -> Result<SessionId> {
        let run = seen.task.current_run;
        let fails = |e| refused(server.address().as_str(), e);
        if order.resumes {
            let all = server.sessions(&order.place).map_err(fails)?;
            let ours = all.into_iter().find(|s| s.task.as_deref() == Some(&order.task) && s.run == run);
            if let Some(ours) = ours {
                return Ok(ours.id);
            }
        }
        let title = format!("{} {}", order.task, order.title);
        let new = NewSession {
            title: &title,
            parent: order.servers_parent(),
            agent: order.agent.as_deref(),
            task: Some((&order.task, run)),
            board: &self.hand.board_file(),
            host: &self.hand.here.host.facts().hostname,
        };
        let session = server.create(&order.place, &new).map_err(fails)?;
        traces.session = Some(session.clone());
        Ok(session)
    }

    /// Puts the mapping on the board, and where the task is worked on now.
    fn map(&mut self, server: &Server, order: &Order, seen: &Detail, session: &SessionId) -> Result<()> {
        let changes = vec![
            settled(&order.place)?,
            self.mapped(order, seen, session, Some(server.address().to_string()))?,
        ];
        self.hand.must(&order.task, Some(seen), changes).map(|_| ())
    }

    /// The event that says which session works on the task.
    fn mapped(
        &self,
        order: &Order,
        seen: &Detail,
        session: &SessionId,
        server: Option<String>,
    ) -> Result<Change> {
        let spawned = Spawned {
            runtime: order.runtime,
            session: session.clone(),
            parent: order.parent.clone(),
            server,
            host: self.hand.here.host.facts().hostname.clone(),
            directory: utf8(&order.place)?.to_owned(),
            branch: Some(order.branch.clone()).filter(|branch| !branch.is_empty()),
        };
        let mut trail = self.hand.trail("spawn");
        trail.more.extend(tree_fact(self.hand.board.id(), &order.place));
        trail.more.insert("place".into(), json!({"kind": seen.place.kind, "path": seen.place.path}));
        Ok(Change::AddEvent {
            kind: EventKind::SessionSpawned,
            payload: hermes::payload(&trail, spawned.keys()),
            run: seen.task.current_run.map(RunRef::Id),
        })
    }

    /// Undoes what was made, the last first, and says what could not be.
    fn undo(
        &mut self,
        server: Option<&Server>,
        order: &Order,
        was: &Detail,
        traces: &mut Traces,
    ) -> Option<String> {
        let mut left = Vec::new();
        let began = traces.harness.is_some();
        if let Some(mut harness) = traces.harness.take() {
            let stopped = self.hand.here.host.stop_child(&mut harness, &order.task, was.task.current_run);
            if let Err(why) = stopped {
                // It may be at work, so it keeps its tree and its claim.
                return Some(format!("its worker, with tree and claim ({why}): heal goes on with it"));
            }
        }
        if let Some(session) = &traces.session
            && server.is_some_and(|server| server.delete(session).is_err())
        {
            left.push(format!("the session {session}"));
        }
        let kept = || tree_and_branch(&order.place, &order.branch);
        match self.hand.here.host.inside(&order.place).first() {
            // Where a worker began is where the next one goes on.
            _ if began => {
                left.push(kept());
                traces.place = None;
            }
            Some(p) => left.push(format!("{} (process {} works there)", kept(), p.pid)),
            None => left.extend(order.repo.undo(&traces.tree, &order.place, &order.branch)),
        }
        if let Err(e) = self.give_back(order, was, traces) {
            left.push(format!("the claim of {} ({e})", order.task));
        }
        (!left.is_empty()).then(|| left.join(" and "))
    }

    /// Gives the task back as it was: ready, or put away where it was made for this.
    fn give_back(&mut self, order: &Order, was: &Detail, traces: &Traces) -> Result<()> {
        let seen = self.hand.look(&order.task)?;
        let trail = self.hand.trail("spawn-undone");
        // A run that its harness ended is over already, and another worker may have the task by now.
        let is_ours = seen.task.current_run == was.task.current_run;
        let asked = order.again.as_ref().filter(|again| is_ours && again.mapping.waits);
        let mut changes = match (is_ours, asked) {
            (true, Some(again)) => waits_again(&again.mapping, order, &seen, trail.clone()),
            (true, None) => hermes::taken_back(&seen, "spawn undone", false, &trail),
            (false, _) if seen.task.current_run.is_some() => return Ok(()),
            (false, _) => Vec::new(),
        };
        if let Some(place) = &traces.place {
            let kind = place.kind.clone().unwrap_or_else(|| "scratch".into());
            changes.push(Change::SetPlace { kind, path: place.path.clone() });
        }
        if order.seen.is_none() && seen.task.status != Status::Done {
            changes.extend(hermes::archived(&seen, &trail));
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.hand.must(&order.task, Some(&seen), changes).map(|_| ())
    }
}

/// Gives a session its prompt. What it was told, or may have been, is known whatever becomes of the answer.
fn tell(server: &Server, session: &SessionId, prompt: &Prompt<'_>, traces: &mut Traces) -> Result<()> {
    let said = server.prompt(session, prompt);
    // A server that refuses it took nothing up.
    traces.is_told = !matches!(said, Err(Silence::Missing | Silence::Refused(400..=499, _)));
    match said.and_then(|()| arrived(server, session, prompt.message)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused(
            session.as_str(),
            format!("{} took its prompt and does not show it", server.address()),
        )),
        Err(e) if traces.is_told => Err(refused(
            session.as_str(),
            format!("{} {e}; whether {session} has its prompt is unknown", server.address()),
        )),
        Err(e) => Err(silent(server, session, &e)),
    }
}

/// A session that could not be told its answer waits for it as before, under the run that was begun for it.
fn waits_again(m: &Mapping, order: &Order, seen: &Detail, mut trail: hermes::Trail<'_>) -> Vec<Change> {
    let asked = order.seen.iter().flat_map(|was| &was.events).rfind(|e| e.kind == EventKind::Blocked);
    let word = |key: &str| asked.and_then(|e| e.payload.get(key)?.as_str());
    let card = asked.and_then(|e| e.trail()?.get("card")?.as_str());
    let decider = match card {
        Some(card) => Decider::Card(card),
        None => Decider::Person {
            why: word("cause").map_or(HandOver::CardBlocked, HandOver::from),
            assignee: None,
        },
    };
    trail.more.insert(mapping::ASKS.into(), json!(m.session));
    trail.more.extend(card.map(|card| ("card".to_owned(), json!(card))));
    hermes::stopped(seen, word("reason").unwrap_or("waits for an answer"), decider, &trail)
}

/// Where a task is worked on from now on: a folder that stays, also for the next worker.
fn settled(place: &Path) -> Result<Change> {
    Ok(Change::SetPlace { kind: "dir".into(), path: Some(utf8(place)?.to_owned()) })
}

/// The working tree as it is now, for an event; none before there is one.
fn tree_fact(board: &BoardId, place: &Path) -> Option<(String, Value)> {
    let path = place.to_str().filter(|_| place.is_dir());
    Some(TreeNote::of(path, &beside(board))?.fact())
}
