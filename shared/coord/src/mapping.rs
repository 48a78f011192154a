//! Which session works on which task, as the board's history says it: append-only events, of which the latest wins.
//!
//! A mapping's state is never written: it follows the run it was spawned for. Every user of the board can write an event, so a
//! mapping may be a reason to look, and never one to send a secret to the server it names.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Coordinator, Operation, Runtime, SessionId};
use base::named_enum::named_enum;
use base::time::Time;
use board::{Detail, Event, EventKind, Run, Status};

/// The key in our part of a `blocked` event that names the session which asked for help by it.
pub const ASKS: &str = "session";

named_enum! {
    /// Where a mapping stands. Follows the run.
    pub enum MappingStatus {
        /// The run it was spawned for is open, or it asked for help and waits for the answer: [`Mapping::waits`].
        Active = "active",
        /// That run completed the task.
        Completed = "completed",
        /// It was stopped by `coord abort`.
        Aborted = "aborted",
        /// The run ended in any other way.
        Failed = "failed",
    }
}

/// A session that was spawned for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// What runs it.
    pub runtime: Runtime,
    /// The session.
    pub session: SessionId,
    /// Who coordinates it.
    pub parent: Option<Coordinator>,
    /// The server that owns it: `http://127.0.0.1:4096`; `None` of a runtime without servers.
    pub server: Option<String>,
    /// The host it was spawned from.
    pub host: String,
    /// Its working tree.
    pub directory: String,
    /// The branch of that.
    pub branch: Option<String>,
    /// The task it works on.
    pub task: String,
    /// The run of that task.
    pub run: Option<i64>,
    /// When it was spawned.
    pub at: Time,
    /// Where it stands.
    pub status: MappingStatus,
    /// Whether it asked for help, and nobody has decided about its task since. Its run has ended then.
    #[serde(default)]
    pub waits: bool,
}

/// What an event of [`EventKind::SessionSpawned`] says, its run and time apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawned {
    /// See [`Mapping::runtime`]; opencode where nothing is said.
    #[serde(default)]
    pub runtime: Runtime,
    /// See [`Mapping::session`].
    pub session: SessionId,
    /// See [`Mapping::parent`].
    #[serde(default)]
    pub parent: Option<Coordinator>,
    /// See [`Mapping::server`].
    #[serde(default)]
    pub server: Option<String>,
    /// See [`Mapping::host`].
    pub host: String,
    /// See [`Mapping::directory`].
    pub directory: String,
    /// See [`Mapping::branch`].
    #[serde(default)]
    pub branch: Option<String>,
}

impl Spawned {
    /// What a mapping was made of.
    pub fn of(m: &Mapping) -> Spawned {
        Spawned {
            runtime: m.runtime,
            session: m.session.clone(),
            parent: m.parent.clone(),
            server: m.server.clone(),
            host: m.host.clone(),
            directory: m.directory.clone(),
            branch: m.branch.clone(),
        }
    }

    /// The event's own keys.
    pub fn keys(&self) -> Value {
        let mut keys = json!({
            "runtime": self.runtime, "session": self.session, "parent": self.parent, "host": self.host,
            "directory": self.directory, "branch": self.branch,
        });
        if let Some(server) = &self.server {
            keys["server"] = json!(server);
        }
        keys
    }
}

/// Every session that was spawned for a task, oldest first.
pub fn of(task: &Detail) -> Vec<Mapping> {
    let spawned = task.events.iter().filter(|e| e.kind == EventKind::SessionSpawned);
    let mut all: Vec<Mapping> = Vec::new();
    for event in spawned {
        let Some(mapping) = read(task, event) else { continue };
        all.retain(|m| m.session != mapping.session);
        all.push(mapping);
    }
    all
}

/// The session that works on a task now: the latest of its open run.
pub fn active(task: &Detail) -> Option<Mapping> {
    open(task).filter(|m| !m.waits)
}

/// The session that works on a task, or waits for an answer about it.
pub fn open(task: &Detail) -> Option<Mapping> {
    of(task).into_iter().rev().find(|m| m.status == MappingStatus::Active)
}

/// Every session of one run whose server can be asked, oldest first, each with every server and folder that was ever named for
/// it: an event more can then only add one that must be asked.
pub fn of_run(task: &Detail, run: i64) -> Vec<Mapping> {
    let spawned = task.events.iter().filter(|e| e.kind == EventKind::SessionSpawned && e.run == Some(run));
    let mut all: Vec<Mapping> = Vec::new();
    for mapping in spawned.filter_map(|event| read(task, event)).filter(|m| m.server.is_some()) {
        let same = |m: &Mapping| {
            (&m.session, &m.server, &m.directory, &m.host)
                == (&mapping.session, &mapping.server, &mapping.directory, &mapping.host)
        };
        if !all.iter().any(same) {
            all.push(mapping);
        }
    }
    all
}

/// The newest session of a run in opencode's store and the host it was spawned from, as the event has them.
pub fn named(task: &Detail, run: i64) -> Option<(&str, &str)> {
    let newest =
        task.events.iter().rev().find(|e| e.kind == EventKind::SessionSpawned && e.run == Some(run))?;
    let word = |key: &str| newest.payload.get(key)?.as_str();
    let is_stored = |s: &&str| SessionId::parse(s).is_some_and(|id| id.is_opencodes());
    Some((word("session").filter(is_stored)?, word("host")?))
}

fn read(task: &Detail, event: &Event) -> Option<Mapping> {
    let said: Spawned = Spawned::deserialize(&*event.payload).ok()?;
    // Every user of the board can write one: a server is asked about sessions of its own kind, and nobody else has one.
    let has_server = said.runtime.lacks(Operation::Ask).is_none();
    if said.server.is_some() != has_server || said.session.is_opencodes() != has_server {
        return None;
    }
    // Of this run: a session that was stopped may have been given its task again.
    let aborted = task.events.iter().rev().find(|e| {
        let of_it = || e.payload.get("session").and_then(Value::as_str) == Some(said.session.as_str());
        e.kind == EventKind::SessionAborted && e.run == event.run && of_it()
    });
    let run = event.run.and_then(|id| task.runs.iter().find(|r| r.id == id));
    let ended = aborted.and_then(|e| e.payload.get("status")?.as_str());
    let waits = ended.is_none() && run.is_some_and(|run| waits(task, run, &said.session));
    let status = match ended {
        Some("aborted") => MappingStatus::Aborted,
        Some("failed") => MappingStatus::Failed,
        _ if waits => MappingStatus::Active,
        _ => following(task, run),
    };
    let Spawned { runtime, session, parent, server, host, directory, branch } = said;
    let task = task.task.id.clone();
    Some(Mapping {
        runtime,
        session,
        parent,
        server,
        host,
        directory,
        branch,
        task,
        run: event.run,
        at: event.at,
        status,
        waits,
    })
}

/// Whether a session stopped its run to ask for help, and the task is blocked since. A block by another writer does not count.
fn waits(task: &Detail, run: &Run, session: &SessionId) -> bool {
    let asks = |e: &Event| {
        let by = || e.trail()?.get(ASKS)?.as_str();
        e.kind == EventKind::Blocked && e.run == Some(run.id) && by() == Some(session.as_str())
    };
    let newest = || task.events.iter().rev().find(|e| e.kind == EventKind::Unblocked || asks(e));
    task.task.status == Status::Blocked
        && task.newest_run().is_some_and(|newest| newest.id == run.id)
        && newest().is_some_and(asks)
}

fn following(task: &Detail, run: Option<&Run>) -> MappingStatus {
    match run {
        Some(run) if run.ended_at.is_none() && task.task.current_run == Some(run.id) => MappingStatus::Active,
        Some(run) if run.outcome.as_deref() == Some("completed") => MappingStatus::Completed,
        _ => MappingStatus::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "ses_1";

    /// A task with one run and one session, whose run ended so (`None`: it is open), after these events.
    fn task(current: Option<i64>, outcome: Option<&str>, later: &[Value]) -> Detail {
        let spawned = Spawned {
            runtime: Runtime::Opencode,
            session: SessionId::parse(SESSION).unwrap(),
            parent: None,
            server: Some("http://127.0.0.1:1".into()),
            host: "h".into(),
            directory: "/srv/w".into(),
            branch: None,
        };
        let first =
            json!({"kind": EventKind::SessionSpawned, "at": 100, "run": 7, "payload": spawned.keys()});
        let events: Vec<Value> = std::iter::once(first).chain(later.iter().cloned()).collect();
        serde_json::from_value(json!({
            "task": {"id": "t_00000001", "title": "T", "status": "running", "priority": 0, "created_at": 0,
                     "current_run": current, "failures": 0, "block_recurrences": 0},
            "body": "", "events": events, "comments": [], "parents": [], "cards": [], "mark": "e1",
            "runs": [{"id": 7, "status": "x", "outcome": outcome, "started_at": 90,
                      "ended_at": outcome.map(|_| 200)}],
        }))
        .unwrap()
    }

    #[test]
    fn a_mapping_follows_its_run() {
        let aborted = |status: &str| json!({"kind": EventKind::SessionAborted, "at": 150, "run": 7, "payload": {"session": SESSION, "status": status}});
        let other = json!({"kind": EventKind::SessionAborted, "at": 150, "run": 7, "payload": {"session": "ses_2", "status": "aborted"}});
        for (current, outcome, later, want) in [
            (Some(7), None, vec![], MappingStatus::Active),
            (Some(7), None, vec![other], MappingStatus::Active),
            (None, Some("completed"), vec![], MappingStatus::Completed),
            (None, Some("crashed"), vec![], MappingStatus::Failed),
            (None, Some("blocked"), vec![], MappingStatus::Failed),
            (None, Some("reclaimed"), vec![aborted("aborted")], MappingStatus::Aborted),
            (None, Some("reclaimed"), vec![aborted("failed")], MappingStatus::Failed),
            // Another attempt has the task, and its run is the open one.
            (Some(8), Some("reclaimed"), vec![], MappingStatus::Failed),
            (Some(8), None, vec![], MappingStatus::Failed),
        ] {
            let task = task(current, outcome, &later);
            let all = of(&task);
            assert_eq!(all.len(), 1);
            assert_eq!(all[0].status, want, "{current:?} {outcome:?} {later:?}");
            assert_eq!(active(&task).is_some(), want == MappingStatus::Active);
        }
    }

    /// A session that stopped to ask for help waits for a decision about its task, and has not failed.
    #[test]
    fn who_asked_for_help_waits() {
        let blocked = |run: i64, by: &str| json!({"kind": "blocked", "at": 150, "run": run, "payload": {"watchbill": {"session": by}}});
        let event = |kind: &str| json!({"kind": kind, "at": 160, "run": null, "payload": {"session": SESSION, "status": "aborted"}});
        let aborted = json!({"kind": EventKind::SessionAborted, "at": 160, "run": 7, "payload": {"session": SESSION, "status": "aborted"}});
        for (status, later, want) in [
            ("blocked", vec![blocked(7, SESSION)], Some(true)),
            // A watcher that asks the operator after its card found nobody, and a comment.
            ("blocked", vec![blocked(7, SESSION), event("blocked"), event("commented")], Some(true)),
            ("blocked", vec![blocked(7, "ses_2")], None),
            ("blocked", vec![blocked(6, SESSION)], None),
            ("blocked", vec![event("blocked")], None),
            ("blocked", vec![blocked(7, SESSION), event("unblocked")], None),
            ("blocked", vec![blocked(7, SESSION), aborted], None),
            ("ready", vec![blocked(7, SESSION)], None),
            ("scheduled", vec![blocked(7, SESSION)], None),
        ] {
            let mut task = task(None, Some("blocked"), &later);
            task.task.status = Status::from(status.to_owned());
            let found = open(&task);
            assert_eq!(found.map(|m| m.waits), want, "{status} {later:?}");
            assert_eq!(active(&task), None, "no watcher takes it for one at work");
        }
    }

    #[test]
    fn the_latest_word_on_a_session_wins_and_what_is_none_is_passed_over() {
        let again = |payload: Value| json!({"kind": EventKind::SessionSpawned, "at": 300, "run": 7, "payload": payload});
        let elsewhere =
            json!({"session": SESSION, "server": "http://127.0.0.1:2", "host": "h", "directory": "/srv/x"});
        let other =
            json!({"session": "ses_2", "server": "http://127.0.0.1:2", "host": "h", "directory": "/srv/x"});
        let bad = [json!(null), json!({"session": "../x"}), json!({"session": 1}), json!("ses_3")];
        let later: Vec<Value> = [elsewhere, other].into_iter().chain(bad).map(again).collect();
        let all = of(&task(Some(7), None, &later));
        let told: Vec<_> = all.iter().map(|m| (m.session.as_str(), m.directory.as_str())).collect();
        assert_eq!(told, [(SESSION, "/srv/x"), ("ses_2", "/srv/x")]);
    }

    /// A mapping without a server is not a session of opencode's, whatever an event says of it.
    #[test]
    fn who_has_no_server_is_asked_nothing() {
        const UUID: &str = "01a20200-bf1b-7e90-afaf-1c042f18d165";
        let server = json!("http://127.0.0.1:2");
        for (runtime, session, server, want) in [
            (Some("claude"), UUID, None, Some(Runtime::Claude)),
            (Some("codex"), UUID, None, Some(Runtime::Codex)),
            (Some("opencode"), "ses_2", Some(&server), Some(Runtime::Opencode)),
            (None, "ses_2", Some(&server), Some(Runtime::Opencode)),
            // What no spawn writes.
            (Some("claude"), UUID, Some(&server), None),
            (Some("claude"), "ses_2", None, None),
            (Some("opencode"), "ses_2", None, None),
            (None, UUID, Some(&server), None),
            (Some("gemini"), UUID, None, None),
        ] {
            let mut payload = json!({"session": session, "host": "h", "directory": "/srv/x"});
            if let Some(runtime) = runtime {
                payload["runtime"] = json!(runtime);
            }
            if let Some(server) = server {
                payload["server"] = server.clone();
            }
            let later = json!({"kind": EventKind::SessionSpawned, "at": 300, "run": 7, "payload": payload});
            let task = task(Some(7), None, &[later]);
            let known = of(&task).into_iter().find(|m| m.session.as_str() == session);
            assert_eq!(known.as_ref().map(|m| m.runtime), want, "{payload}");
            assert_eq!(known.map(|m| m.server.is_some()), want.map(|r| r == Runtime::Opencode));
            let asked = of_run(&task, 7).iter().any(|m| m.session.as_str() == session);
            assert_eq!(asked, want == Some(Runtime::Opencode), "{payload}");
            assert_eq!(named(&task, 7).is_some(), session == "ses_2", "{payload}");
        }
    }
}
