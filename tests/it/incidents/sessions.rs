//! Agent sessions of opencode: a task that was claimed for one, its recorded rows in opencode's own store, and a server that says
//! how it stands.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::world::{Act, World};
use crate::coord::recorded::{fixture, session};
use crate::coord::web::{Reply, Web};
use crate::support::{hostname, now};

/// Where a recording tells a time, in milliseconds.
const TIMES: [(&str, &str); 6] = [
    ("message", "$.time.created"),
    ("message", "$.time.completed"),
    ("part", "$.time.start"),
    ("part", "$.time.end"),
    ("part", "$.state.time.start"),
    ("part", "$.state.time.end"),
];

/// What the server says of one session.
struct Said {
    task: String,
    run: i64,
    /// Nothing where it does not work on it.
    state: Option<Value>,
    /// A call of it that waits for a person.
    gate: Option<String>,
}

/// The sessions of a home.
pub struct Sessions {
    said: Arc<Mutex<BTreeMap<String, Said>>>,
    server: Web,
}

impl Sessions {
    fn new() -> Sessions {
        let said: Arc<Mutex<BTreeMap<String, Said>>> = Arc::default();
        let told = Arc::clone(&said);
        let server = Web::new(move |asked| {
            let mut all = told.lock().unwrap();
            match asked.line.split(['?', ' ']).nth(1) {
                Some(path) if path.ends_with("/abort") => {
                    let said = path.split('/').nth(2).and_then(|id| all.get_mut(id));
                    said.into_iter().for_each(|s| (s.state, s.gate) = (None, None));
                    Reply::json("true")
                }
                Some(path) if path.ends_with("/children") || path.ends_with("/message") => Reply::json("[]"),
                Some("/session/status") => {
                    let states: BTreeMap<&String, &Value> =
                        all.iter().filter_map(|(id, s)| Some((id, s.state.as_ref()?))).collect();
                    Reply::json(&json!(states).to_string())
                }
                Some("/question") => {
                    let gate = |(id, s): (&String, &Said)| {
                        Some(json!({"sessionID": id, "tool": {"callID": s.gate.as_ref()?}}))
                    };
                    Reply::json(&json!(all.iter().filter_map(gate).collect::<Vec<_>>()).to_string())
                }
                Some("/permission") => Reply::json("[]"),
                Some(path) if path.starts_with("/session/") => {
                    let id = path.rsplit('/').next().unwrap_or_default();
                    match all.get(id) {
                        Some(s) => Reply::json(
                            &json!({"id": id, "directory": "/home/dev/oc/proj", "metadata": {"task_id": s.task, "run": s.run}})
                                .to_string(),
                        ),
                        None => Reply::Text(404, "application/json", "{}".into()),
                    }
                }
                // Its events break off at once: nobody can be called silent before `detect.unheard_stall`.
                Some("/global/event") => Reply::Text(200, "text/event-stream", "data: {}\n\n".into()),
                _ => Reply::Text(404, "application/json", "{}".into()),
            }
        });
        Sessions { said, server }
    }
}

impl World {
    /// A task that was claimed more than five minutes ago for a session, recorded in this scenario, which wrote its last row a few
    /// seconds ago; its server says this of it.
    #[track_caller]
    pub fn session(&mut self, scenario: &str, state: Option<Value>) -> String {
        let task = self.task(json!({}));
        self.call("claim_task", json!([task]));
        // No renewal falls due within a second of a look.
        self.age(330);
        let id = session(scenario);
        let run: i64 = self.home.task(&task, "current_run_id").parse().unwrap();
        let sessions = self.sessions.get_or_insert_with(Sessions::new);
        let said = Said { task: task.clone(), run, state, gate: None };
        sessions.said.lock().unwrap().insert(id.clone(), said);
        let payload = json!({
            "runtime": "opencode", "session": id, "parent": null, "server": sessions.server.url,
            "host": hostname(), "directory": "/home/dev/oc/proj", "branch": "wt/x", "by": "coord",
        });
        self.home.sql(&format!(
            "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
               VALUES ('{task}', {run}, 'coord.spawned', '{payload}', strftime('%s', 'now') - 320)"
        ));
        self.freshen_sessions();
        task
    }

    /// Its tool asks a person something and waits for the answer.
    pub fn asks(&mut self, scenario: &str) {
        let (id, db) = (session(scenario), self.store());
        let sql = format!(
            "UPDATE part SET data = json_remove(json_set(data, '$.state.status', 'running'), '$.state.time.end', '$.state.error')
               WHERE session_id = '{id}' AND json_extract(data, '$.type') = 'tool';
             UPDATE message SET data = json_remove(data, '$.time.completed', '$.error')
               WHERE session_id = '{id}' AND json_extract(data, '$.role') = 'assistant'"
        );
        db.execute_batch(&sql).unwrap();
        let call = "SELECT json_extract(data, '$.callID') FROM part WHERE session_id = ?1 AND json_extract(data, '$.type') = 'tool'";
        let call: String = db.query_row(call, [&id], |r| r.get(0)).unwrap();
        let mut all = self.sessions.as_ref().unwrap().said.lock().unwrap();
        all.get_mut(&id).unwrap().gate = Some(call);
    }

    /// The orchestrator stops the session of a task before it assigns the task to another profile.
    pub fn is_stopped_first(&mut self, task: &str) {
        self.act(
            "tuesday",
            Act::Stops(task.to_owned(), json!({"task": "SOURCE", "action": "reassign", "assignee": "sol"})),
        );
    }

    /// The sessions are at it still: what they wrote last was written a few seconds ago.
    pub fn freshen_sessions(&mut self) {
        let db = self.store();
        let ids: Vec<String> = self
            .sessions
            .iter()
            .flat_map(|s| s.said.lock().unwrap().keys().cloned().collect::<Vec<_>>())
            .collect();
        for id in ids {
            let last: i64 = db
                .query_row("SELECT max(time_updated) FROM message WHERE session_id = ?1", [&id], |r| r.get(0))
                .unwrap();
            shift(&db, &id, (now() - 5) * 1_000 - last);
        }
    }

    /// The sessions wrote so much earlier.
    pub fn age_sessions(&self, seconds: i64) {
        let Some(sessions) = self.sessions.as_ref().filter(|_| self.opencode().exists()) else { return };
        let db = self.store();
        for id in sessions.said.lock().unwrap().keys() {
            shift(&db, id, -seconds * 1_000);
        }
    }

    /// Where opencode keeps its sessions in this home.
    pub fn opencode(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// Says whether a second worker was started beside a session that its server still works on.
    pub fn note_second_worker(&mut self, started: &[String]) {
        let Some(sessions) = &self.sessions else { return };
        let beside = |s: &Said| s.state.is_some() && started.contains(&s.task);
        let note = "**a second worker began beside the session**";
        if sessions.said.lock().unwrap().values().any(beside) && !self.notes.iter().any(|n| n == note) {
            self.note(note);
        }
    }

    fn store(&self) -> rusqlite::Connection {
        let folder = self.opencode().join("opencode");
        let db = folder.join("opencode.db");
        if !db.exists() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::copy(fixture("sessions.db"), &db).unwrap();
        }
        rusqlite::Connection::open(db).unwrap()
    }
}

fn shift(db: &rusqlite::Connection, session: &str, millis: i64) {
    let mut sql = String::new();
    for table in ["message", "part"] {
        sql += &format!(
            "UPDATE {table} SET time_created = time_created + {millis}, time_updated = time_updated + {millis}
               WHERE session_id = '{session}';"
        );
    }
    for (table, path) in TIMES {
        sql += &format!(
            "UPDATE {table} SET data = json_set(data, '{path}', json_extract(data, '{path}') + {millis})
               WHERE session_id = '{session}' AND json_type(data, '{path}') = 'integer';"
        );
    }
    db.execute_batch(&sql).unwrap();
}
