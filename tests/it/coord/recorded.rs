//! Recorded sessions of a real opencode beside a board, and a server that says what a test wants of them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::web::{Reply, Web};
use crate::support::{Ran, TestBoard, hostname, ran};

/// Used by no test that starts a process in its name.
pub const TASK: &str = "t_0000c0de";

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/opencode").join(name)
}

/// A recorded session by its scenario.
pub fn session(name: &str) -> String {
    let index = std::fs::read_to_string(fixture("sessions.json")).unwrap();
    serde_json::from_str::<Value>(&index).unwrap()[name].as_str().unwrap().to_owned()
}

/// Puts the recorded store beside a board, as opencode's data folder.
pub fn keeps_sessions(board: &TestBoard) {
    std::fs::create_dir_all(board.path().join("data/opencode")).unwrap();
    std::fs::copy(fixture("sessions.db"), store(board).join("opencode.db")).unwrap();
}

pub fn store(board: &TestBoard) -> PathBuf {
    board.path().join("data/opencode")
}

/// A server that says `states` of every folder, and of every session that it is the one of [`TASK`] and its first run.
pub fn answers(states: Value) -> Web {
    Web::new(move |asked| match asked.line.split(['?', ' ']).nth(1) {
        Some("/session/status") => Reply::json(&states.to_string()),
        Some("/question" | "/permission") => Reply::json("[]"),
        Some(path) if path.ends_with("/message") => Reply::Text(404, "application/json", "{}".into()),
        Some(path) if path.starts_with("/session/") => {
            let id = path.rsplit('/').next().unwrap();
            let metadata = json!({"task_id": TASK, "run": 1});
            let session = json!({"id": id, "directory": "/home/dev/oc/proj", "metadata": metadata});
            Reply::json(&session.to_string())
        }
        // Its events break off at once: nobody can be called silent.
        Some("/global/event") => Reply::Text(200, "text/event-stream", "data: {}\n\n".into()),
        _ => Reply::page(),
    })
}

/// A running task at which this session of a server works.
pub fn maps(board: &TestBoard, session: &str, server: &str) {
    board.add(TASK, "ready");
    let run = board.run_it(TASK, None, 60);
    let payload = json!({
        "runtime": "opencode", "session": session, "parent": null, "server": server,
        "host": hostname(), "directory": "/home/dev/oc/proj", "branch": "wt/x", "by": "coord",
    });
    board.sql(&format!(
        "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
           VALUES ('{TASK}', {run}, 'coord.spawned', '{payload}', strftime('%s', 'now'))"
    ));
}

/// The recorded tool of a session runs since then.
pub fn tool_since(board: &TestBoard, session: &str, begun: i64) {
    let db = rusqlite::Connection::open(store(board).join("opencode.db")).unwrap();
    let set = format!(
        "UPDATE part SET data = json_set(data, '$.state.time.start', {begun}000), time_updated = {begun}000
           WHERE session_id = '{session}' AND json_extract(data, '$.type') = 'tool'"
    );
    db.execute_batch(&set).unwrap();
}

/// `coord detect`, with a server for what the board names none for.
pub fn detect(board: &TestBoard, server: &str, args: &[&str]) -> Ran {
    let mut command = board.command("coord");
    command.arg("--db").arg(&board.db).args(["detect", "--server", server]);
    if !args.contains(&"--store") {
        command.arg("--store").arg(store(board));
    }
    ran(command.args(args))
}

/// A board, the recorded store, and such a server.
pub struct Ground {
    pub board: TestBoard,
    pub server: Web,
}

impl Ground {
    pub fn new(states: Value) -> Ground {
        let board = TestBoard::own();
        keeps_sessions(&board);
        Ground { board, server: answers(states) }
    }

    pub fn maps(&self, session: &str) {
        maps(&self.board, session, &self.server.url);
    }

    pub fn tool_since(&self, session: &str, begun: i64) {
        tool_since(&self.board, session, begun);
    }

    pub fn detect(&self, args: &[&str]) -> Ran {
        detect(&self.board, &self.server.url, args)
    }

    /// The board's rows of detections: type and state, in their order.
    pub fn recorded(&self) -> Vec<String> {
        let sql = "SELECT group_concat(json_extract(payload, '$.type') || ' ' || json_extract(payload, '$.state'), ', ')
                     FROM task_events WHERE kind = 'coord.detection'";
        let said = self.board.value(sql);
        said.split(", ").map(str::to_owned).filter(|s| s != "NULL").collect()
    }
}
