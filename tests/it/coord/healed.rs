//! `heal` and tasks that a session works on: recorded sessions of a real opencode, and servers that answer what a test says.

use serde_json::{Value, json};

use super::recorded::{Ground, TASK, session};
use super::web::{Reply, Web};
use crate::support::{Kept, Ran, hostname, now, ran};

impl Ground {
    /// `heal` as it will be in so many seconds.
    fn heal(&self, seconds: i64, args: &[&str]) -> Ran {
        let at = (now() + seconds).to_string();
        let mut command = self.board.command("heal");
        command.env("XDG_DATA_HOME", self.board.path().join("data"));
        ran(command.arg("--db").arg(&self.board.db).args(["--now", &at]).args(args))
    }

    /// Its attempt began when this session was recorded.
    fn begun_with(&self, session: &str) {
        let db = rusqlite::Connection::open(super::recorded::store(&self.board).join("opencode.db")).unwrap();
        let first = format!("SELECT min(time_created) / 1000 FROM message WHERE session_id = '{session}'");
        let at: i64 = db.query_row(&first, [], |r| r.get(0)).unwrap();
        self.board
            .sql(&format!("UPDATE task_runs SET started_at = {at}; UPDATE tasks SET started_at = {at}"));
    }

    /// Another event that names this session, and a server that answers so of it.
    fn names(&self, server: &str, host: &str) {
        let sql = format!(
            "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
               SELECT task_id, run_id, kind, json_set(payload, '$.server', '{server}', '$.host', '{host}'), created_at
                 FROM task_events WHERE kind = 'coord.spawned' LIMIT 1"
        );
        self.board.sql(&sql);
    }

    fn status(&self) -> String {
        self.board.task(TASK, "status")
    }
}

/// An answer that is open for ever, at a server that knows nothing of it.
fn orphan() -> Ground {
    let ground = Ground::new(json!({}));
    ground.maps(&session("hang"));
    ground
}

#[test]
fn a_forgotten_session_is_requeued_like_a_dead_worker() {
    let ground = orphan();
    ground.begun_with(&session("hang"));
    let before = ground.board.dump();
    // The packet tells what the store holds of it.
    let packet = ground.heal(0, &["--print-packet", TASK]).ok();
    assert!(packet.contains("model hang, 2s"), "{packet}");
    assert_eq!(ground.board.dump(), before);
    // Its claim still lasts; `heal` does not wait for its end.
    let said = ground.heal(0, &[]).ok();
    let head =
        format!("{TASK} requeue: session {} is orphaned: its server knows nothing of it", session("hang"));
    assert!(said.contains(&head) && said.contains("(its server was started again since)"), "{said}");
    assert_eq!(ground.status(), "ready");
    let row = "outcome || ' ' || (SELECT consecutive_failures FROM tasks)";
    assert_eq!(ground.board.value(&format!("SELECT {row} FROM task_runs")), "reclaimed 0");
    assert_eq!(ground.board.payload(TASK, "reclaimed")["watchbill"]["case"], "session-orphaned");
    let comment = ground.board.value("SELECT body FROM task_comments");
    assert!(comment.contains("You are resuming an interrupted task."), "{comment}");
    let after = ground.board.dump();
    assert_eq!(ground.heal(0, &[]).ok(), "");
    assert_eq!(ground.board.dump(), after);
    // It was only asked.
    assert!(ground.server.asked().iter().all(|a| a.line.starts_with("GET ")));
}

#[test]
fn what_is_not_proven_changes_nothing() {
    let hang = session("hang");
    let dead = "http://127.0.0.1:1";
    let busy = json!({hang.as_str(): {"type": "busy"}});
    let busy_server = Ground::new(busy.clone());
    type Edit<'a> = &'a dyn Fn(&Ground);
    let table: [(&str, Value, Edit<'_>, &str); 8] = [
        ("busy", busy.clone(), &|_| {}, "is idle; the claim runs until"),
        ("a state of a later version", json!({hang.as_str(): {"type": "dreams"}}), &|_| {}, "unknown"),
        (
            "its server is gone, and an event says that it is orphaned",
            json!({}),
            &|g| {
                g.board.sql(&format!(
                    "UPDATE task_events SET payload = json_set(payload, '$.server', '{dead}') WHERE kind = 'coord.spawned';
                     INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES ('{TASK}', 1, 'coord.detection',
                       '{{\"session\": \"{hang}\", \"type\": \"SESSION_ORPHANED\", \"severity\": \"high\", \"episode\": \"e\", \"state\": \"found\"}}',
                       strftime('%s', 'now'))"
                ));
            },
            "nothing listens there",
        ),
        (
            "another server is named besides",
            json!({}),
            &|g| g.names(dead, &hostname()),
            "nothing listens there",
        ),
        ("one that works on it", json!({}), &|g| g.names(&busy_server.server.url, &hostname()), "is idle"),
        (
            "another machine's address",
            json!({}),
            &|g| g.names("http://10.0.0.7:1", &hostname()),
            "is not this machine's own",
        ),
        ("another host", json!({}), &|g| g.names(dead, "elsewhere"), "was spawned from elsewhere"),
        (
            "a session of something else",
            json!({}),
            &|g| {
                g.board.sql("UPDATE task_events SET payload = json_set(payload, '$.session', 'ses_other') WHERE kind = 'coord.spawned'")
            },
            "unknown",
        ),
    ];
    for (name, states, edit, says) in table {
        let ground = Ground::new(states);
        ground.maps(&hang);
        edit(&ground);
        let before = ground.board.dump();
        let said = ground.heal(300, &["-v"]).ok();
        assert!(said.contains(says), "{name}: {said}");
        assert_eq!(ground.board.dump(), before, "{name}");
    }
}

#[test]
fn a_session_that_its_server_knows_as_anothers_is_nobodys() {
    let hang = session("hang");
    for (metadata, requeued) in [
        (json!({"task_id": TASK, "run": 1}), true),
        (json!({"task_id": TASK, "run": 2}), false),
        (json!({"task_id": "t_0000000b", "run": 1}), false),
        (Value::Null, false),
    ] {
        let ground = orphan();
        let answer = json!({"id": hang, "directory": "/home/dev/oc/proj", "metadata": metadata});
        let server = Web::new(move |asked| match asked.line.split(['?', ' ']).nth(1) {
            Some("/session/status") => Reply::json("{}"),
            _ => Reply::json(&answer.to_string()),
        });
        let url = &server.url;
        ground.board.sql(&format!(
            "UPDATE task_events SET payload = json_set(payload, '$.server', '{url}') WHERE kind = 'coord.spawned'"
        ));
        let said = ground.heal(0, &["-v"]).ok();
        assert_eq!(ground.status() == "ready", requeued, "{metadata}: {said}");
        assert!(requeued || said.contains("knows it as the session of something else"), "{metadata}: {said}");
    }
}

#[test]
fn a_session_at_work_keeps_its_task_beyond_its_claim() {
    let name = session("kill-sleeptool");
    let ground = Ground::new(json!({name.as_str(): {"type": "busy"}}));
    ground.maps(&name);
    ground.tool_since(&name, now());
    let before = ground.board.dump();
    let said = ground.heal(3_600, &["-v"]).ok();
    assert!(said.contains(&format!("session {name} is at work")), "{said}");
    assert_eq!(ground.board.dump(), before);
}

/// A tool of a killed server lives on, without a mark of the run.
#[test]
fn what_still_runs_in_its_folder_is_waited_for() {
    let ground = orphan();
    let folder = ground.board.path().join("tree");
    std::fs::create_dir(&folder).unwrap();
    ground.board.sql(&format!(
        "UPDATE task_events SET payload = json_set(payload, '$.directory', '{}') WHERE kind = 'coord.spawned'",
        folder.display()
    ));
    let mut tool = std::process::Command::new("sleep");
    let mut tool = Kept(tool.arg("600").env_clear().current_dir(&folder).spawn().unwrap());
    let said = ground.heal(0, &[]).ok();
    assert!(said.contains("note: worker gone, waiting up to 15m"), "{said}");
    let before = ground.board.dump();
    let said = ground.heal(0, &["-v"]).ok();
    assert!(said.contains(&format!("for its child {} (sleep) to end", tool.pid())), "{said}");
    assert_eq!(ground.board.dump(), before);
    tool.kill();
    ground.heal(0, &[]).ok();
    assert_eq!(ground.status(), "ready");
}

/// What it gave up on would be refused to the next attempt as well.
#[test]
fn a_session_that_gave_up_on_its_provider_is_parked_when_its_claim_runs_out() {
    let ground = Ground::new(json!({}));
    ground.maps(&session("err429"));
    let said = ground.heal(300, &["-v"]).ok();
    assert!(said.contains("is idle; the claim runs until"), "{said}");
    let said = ground.heal(1_200, &[]).ok();
    assert!(said.contains("park: no worker known") && said.contains("its log ends on rate_limit"), "{said}");
    assert_eq!(ground.status(), "scheduled");
}

#[test]
fn without_a_mapping_nobody_is_asked() {
    let ground = Ground::new(json!({}));
    ground.board.add(TASK, "ready");
    ground.board.run_it(TASK, None, 60);
    ground.heal(300, &[]).ok();
    assert_eq!(ground.server.asked().len(), 0);
}
