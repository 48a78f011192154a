use serde_json::{Value, json};

use super::recorded::{Ground, TASK, session, store};
use crate::support::ran;

fn kinds(row: &Value) -> Vec<&str> {
    row["issues"].as_array().unwrap().iter().map(|i| i["type"].as_str().unwrap()).collect()
}

/// An hour after the recording.
const LATER: &str = "2026-11-21T10:00:00Z";

#[test]
fn recorded_sessions_are_told_in_one_array_and_nothing_is_written() {
    let ground = Ground::new(json!({}));
    let names = ["ok", "badtool", "toolerr6", "err429", "authbad", "drop", "hang", "bashfail6"];
    let sessions = names.map(session);
    let args: Vec<&str> = sessions.iter().flat_map(|s| ["--session", s.as_str()]).collect();
    let before = ground.board.dump();
    let said = ground.detect(&[&args[..], &["--json", "--now", LATER]].concat()).json();
    let rows = said.as_array().unwrap();
    let found: Vec<_> = rows.iter().map(|row| (kinds(row), row["severity"].clone())).collect();
    assert_eq!(
        found,
        [
            (vec![], Value::Null),
            (vec!["MODEL_DEGRADATION"], json!("high")),
            (vec!["HIGH_ERROR_COUNT"], json!("medium")),
            (vec!["PROVIDER_PRESSURE"], json!("high")),
            (vec!["CREDENTIAL"], json!("high")),
            (vec!["RUNAWAY"], json!("high")),
            (vec!["SESSION_ORPHANED"], json!("high")),
            (vec![], Value::Null),
        ]
    );
    assert_eq!(rows[1]["sessionId"], json!(sessions[1]));
    assert_eq!(ground.board.dump(), before);
    // One question about states for the one folder; and nobody was told anything.
    assert_eq!(ground.server.count("GET /session/status"), 1);
    assert!(ground.server.asked().iter().all(|a| a.line.starts_with("GET ")));
    // For people, a line for each that is found.
    let lines = ground.detect(&[&args[..], &["--now", LATER]].concat()).ok();
    assert_eq!(lines.lines().count(), 6, "{lines}");
    let line = format!("{}  -  HIGH_ERROR_COUNT  medium  6 calls failed within 5m", sessions[2]);
    assert!(lines.contains(&line), "{lines}");
    // What was before that moment does not count.
    let late = ground.detect(&["--session", &sessions[1], "--now", LATER, "--since", "10m"]).ok();
    assert_eq!(late, "");
}

#[test]
fn with_nothing_to_look_at_nothing_is_said() {
    let ground = Ground::new(json!({}));
    assert_eq!(ground.detect(&[]).ok(), "");
    assert_eq!(ground.detect(&["--json", "--record"]).json(), json!([]));
    assert_eq!(ground.server.asked().len(), 0);
}

#[test]
fn d8_a_store_that_cannot_be_read_is_said_in_one_line() {
    let ground = Ground::new(json!({}));
    let session = session("badtool");
    let args = ["--session", session.as_str()];
    let db = store(&ground.board).join("opencode.db");
    let holder = rusqlite::Connection::open(&db).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM todo").unwrap();
    let said = ground.detect(&args).fails(75);
    assert!(said.ends_with("busy: another process is writing"), "{said}");
    drop(holder);
    std::fs::write(&db, "no database, and long enough for one").unwrap();
    ground.detect(&args).fails(65);
    std::fs::remove_file(&db).unwrap();
    let said = ground.detect(&args).fails(66);
    assert!(said.ends_with("no store of opencode; name opencode's data folder with --store"), "{said}");
    // The old store of files is one; it does not hold this session, and its server does not, either.
    std::fs::create_dir_all(store(&ground.board).join("storage/message")).unwrap();
    let said = ground.detect(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(kinds(&said[0]), ["NO_VERDICT"]);
    // With a server that nobody reaches, too.
    let said = ground.detect(&[&args[..], &["--json", "--server", "http://127.0.0.1:1"]].concat());
    assert_eq!(said.code, 2, "--server was given twice: {said:?}");
}

#[test]
fn what_is_found_is_recorded_once_and_so_is_its_end() {
    let hang = session("hang");
    let ground = Ground::new(json!({hang.as_str(): {"type": "busy"}}));
    ground.maps(&hang);
    let look = |more: &[&str]| ground.detect(&[&["--record"], more].concat());
    for _ in 0..3 {
        look(&[]).ok();
    }
    assert_eq!(ground.recorded(), ["SESSION_STALL found"]);
    let payload = ground.board.payload(TASK, "coord.detection");
    assert_eq!((&payload["by"], &payload["session"]), (&json!("coord"), &json!(hang)));
    let events =
        ran(ground.board.command("coord").arg("--db").arg(&ground.board.db).args(["events", "--json"]))
            .json();
    assert!(events["events"].as_array().unwrap().iter().any(|e| e["kind"] == "coord.detection"));
    // Its server is gone: nobody knows whether it ended.
    ground.board.sql(
        "UPDATE task_events SET payload = json_set(payload, '$.server', 'http://127.0.0.1:1') WHERE kind = 'coord.spawned'",
    );
    look(&[]).ok();
    assert_eq!(ground.recorded(), ["SESSION_STALL found"]);
    // It is idle now: the stall is over, and it turns out to be orphaned.
    let idle = Ground::new(json!({}));
    let url = &idle.server.url;
    ground.board.sql(&format!(
        "UPDATE task_events SET payload = json_set(payload, '$.server', '{url}') WHERE kind = 'coord.spawned'"
    ));
    look(&[]).ok();
    look(&[]).ok();
    assert_eq!(ground.recorded(), ["SESSION_STALL found", "SESSION_STALL ended", "SESSION_ORPHANED found"]);
    // On a paused board nothing is recorded; looking goes on.
    let pause = ground.board.path().join("watchbill.pause");
    std::fs::write(&pause, "").unwrap();
    let refused = look(&[]).fails(75);
    assert!(refused.contains("paused") && refused.contains("`watchbill unpause --db "), "{refused}");
    ground.detect(&[]).ok();
    // A pause that ended by itself does not count.
    std::fs::write(&pause, format!("until = {:?}\n", "2001-01-01T00:00:00Z")).unwrap();
    look(&[]).ok();
}

#[test]
fn a_session_without_a_running_task_is_told_and_not_recorded() {
    let ground = Ground::new(json!({}));
    let before = ground.board.dump();
    let said = ground.detect(&["--session", &session("badtool"), "--record"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("MODEL_DEGRADATION"), "{said:?}");
    assert!(said.err.contains("no task is running with it, so nothing is recorded"), "{said:?}");
    assert_eq!(ground.board.dump(), before);
}

/// Its tool runs for 40 minutes, and writes no row in that time. The clock is given, as cron would start it.
#[test]
fn a_session_at_work_keeps_its_claim_for_as_long_as_it_works() {
    let name = session("kill-sleeptool");
    let ground = Ground::new(json!({name.as_str(): {"type": "busy"}}));
    ground.maps(&name);
    let expires = || ground.board.task(TASK, "claim_expires").parse::<i64>().unwrap();
    let begun: i64 = crate::support::now();
    ground.tool_since(&name, begun);
    let mut beats = 0;
    let mut was = expires();
    for minute in 0..40 {
        let now = begun + minute * 60;
        assert!(expires() > now, "minute {minute}: any dispatcher may take it");
        ground.detect(&["--record", "--now", &now.to_string()]).ok();
        let is = expires();
        beats += i64::from(is != was);
        was = is;
    }
    assert!((5..=10).contains(&beats), "{beats} renewals");
    assert_eq!(ground.board.task(TASK, "last_heartbeat_at").parse::<i64>().unwrap(), was - 900);
    assert_eq!(ground.recorded(), ["TOOL_LONG found"]);
    // Its server forgets it: nobody renews anything.
    let forgotten = Ground::new(json!({}));
    let url = &forgotten.server.url;
    ground.board.sql(&format!(
        "UPDATE task_events SET payload = json_set(payload, '$.server', '{url}') WHERE kind = 'coord.spawned'"
    ));
    let later = (begun + 50 * 60).to_string();
    ground.detect(&["--record", "--now", &later]).ok();
    assert_eq!(expires(), was);
    // Another run has the task by now: what is found of the old session is nobody's.
    ground.board.sql(&format!("UPDATE tasks SET current_run_id = current_run_id + 1 WHERE id = '{TASK}'"));
    assert_eq!(ground.detect(&["--json"]).json(), json!([]));
}
