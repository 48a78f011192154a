use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::opencode::{World, chunk, streamed};
use super::web::{Asked, Reply};
use crate::support::{Ran, now};

/// Everything a provider or a model does wrong here, by the name of the scenario.
pub(super) const MODES: [&str; 17] = [
    "ok",
    "badtool",
    "badjson",
    "badargs",
    "toolerr5",
    "toolerr4",
    "bashfail6",
    "hang",
    "sleeptool",
    "question",
    "slowstream",
    "err503",
    "limited",
    "flaky",
    "drop",
    "ctxover",
    "loop",
];

fn said(delta: Value, finish: &str) -> Reply {
    let text = chunk(delta, Value::Null) + &chunk(json!({}), json!(finish)) + "data: [DONE]\n\n";
    Reply::Text(200, "text/event-stream", text)
}

/// The model calls a tool; each call has an id of its own.
fn calls(tool: &str, arguments: &str, turn: usize) -> Reply {
    let call = json!({"index": 0, "id": format!("call_{turn}"), "type": "function",
                      "function": {"name": tool, "arguments": arguments}});
    said(json!({"role": "assistant", "tool_calls": [call]}), "tool_calls")
}

fn fails(code: u16, kind: &'static str, message: &str) -> Reply {
    Reply::Text(code, kind, json!({"error": {"message": message, "type": "fake"}}).to_string())
}

/// Requests of the scenario `flaky`, of which there is one.
static FLAKY: AtomicUsize = AtomicUsize::new(0);

/// What the provider answers: by the mode, and by how many tools were answered so far.
pub(super) fn provider(asked: &Asked) -> Reply {
    let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let turn =
        body["messages"].as_array().map_or(0, |all| all.iter().filter(|m| m["role"] == "tool").count());
    let piece = |text: &str| chunk(json!({"role": "assistant", "content": text}), Value::Null);
    let json = "application/json";
    match (asked.line.split('/').nth(1).unwrap_or_default(), turn) {
        ("badtool", 0) => calls("tool", "{}", turn),
        ("badjson", 0) => calls("read", "{\"filePath\": \"/etc/hos", turn),
        ("badargs", 0) => calls("read", "{\"file\": 42}", turn),
        ("toolerr5", 0..5) | ("toolerr4", 0..4) => {
            calls("read", &format!("{{\"filePath\": \"/nonexistent/{turn}\"}}"), turn)
        }
        ("bashfail6", 0..6) => {
            calls("bash", &format!("{{\"command\": \"exit {}\", \"description\": \"fail\"}}", turn + 1), turn)
        }
        ("sleeptool", 0) => calls(
            "bash",
            r#"{"command": "sleep 600; echo done", "description": "s", "timeout": 700000}"#,
            turn,
        ),
        ("question", 0) => calls(
            "question",
            r#"{"questions": [{"question": "Which?", "header": "pick", "options": [{"label": "a", "description": "a"}]}]}"#,
            turn,
        ),
        ("loop", _) => calls("read", "{\"filePath\": \"/nonexistent/same\"}", turn),
        ("hang", _) => Reply::Pieces { pieces: vec![piece("thinking")], pause: Duration::ZERO, hangs: true },
        ("slowstream", _) => {
            let pieces = (0..600).map(|n| piece(&format!("w{n} "))).collect();
            Reply::Pieces { pieces, pause: Duration::from_secs(1), hangs: false }
        }
        ("drop", _) => {
            Reply::Pieces { pieces: vec![piece("partial")], pause: Duration::from_millis(200), hangs: false }
        }
        ("err503", _) => fails(503, json, "fake 503: overloaded"),
        ("limited", _) => fails(429, "application/json\r\nRetry-After: 2", "fake 429: rate_limit_error"),
        // Twice, and then it works.
        ("flaky", _) if FLAKY.fetch_add(1, Ordering::SeqCst) < 2 => {
            fails(429, "application/json\r\nRetry-After: 1", "fake 429: rate_limit_error")
        }
        // A context that does not fit, however often it is compacted. The compaction itself is asked for without tools.
        ("ctxover", _) if body["tools"].is_array() => fails(
            400,
            json,
            "This model's maximum context length is 100000 tokens, you requested 200000 tokens",
        ),
        _ => Reply::Text(200, "text/event-stream", streamed("All good.")),
    }
}

fn world() -> Option<World> {
    World::with(&MODES, provider)
}

fn store(world: &World) -> PathBuf {
    world.board.path().join("xdg/data/opencode")
}

pub(super) fn detect(world: &World, args: &[&str]) -> Ran {
    let store = store(world);
    world.coord(&[&["detect", "--store", store.to_str().unwrap()], args].concat())
}

/// The kinds of issues of a session, as `--json` says them.
fn kinds(said: &Value, session: &str) -> Vec<String> {
    let row = said.as_array().unwrap().iter().find(|row| row["sessionId"] == session);
    let issues = row.unwrap_or_else(|| panic!("{session} is not in {said}"))["issues"].as_array().unwrap();
    issues.iter().map(|issue| issue["type"].as_str().unwrap().to_owned()).collect()
}

/// What is found of a session now.
pub(super) fn found(world: &World, session: &str, more: &[&str]) -> Vec<String> {
    kinds(&detect(world, &[&["--session", session, "--json"], more].concat()).json(), session)
}

/// Waits until this is found of a session, and nothing else. Says when the look began that found it.
#[track_caller]
fn until_found(world: &World, session: &str, expected: &[&str]) -> Instant {
    world.server.until(&format!("{session}: {expected:?}"), || {
        let began = Instant::now();
        (found(world, session, &[]) == expected).then_some(began)
    })
}

#[test]
fn d1_calls_nobody_can_use_are_a_degradation_and_wrong_arguments_are_none() {
    let Some(world) = world() else { return };
    let all = ["badtool", "badjson", "badargs"].map(|mode| world.spawned(mode, &[]).1);
    for session in &all {
        world.until_state(session, "idle");
    }
    let said = detect(&world, &["--json"]).json();
    assert_eq!(kinds(&said, &all[0]), ["MODEL_DEGRADATION"]);
    assert_eq!(kinds(&said, &all[1]), ["MODEL_DEGRADATION"]);
    assert_eq!(kinds(&said, &all[2]), [""; 0]);
    assert_eq!(said[0]["severity"], "high");
}

#[test]
fn d2_five_failing_calls_are_many_and_four_are_not() {
    let Some(world) = world() else { return };
    let all = ["toolerr5", "toolerr4", "bashfail6"].map(|mode| world.spawned(mode, &[]).1);
    for session in &all {
        world.until_state(session, "idle");
    }
    let said = detect(&world, &["--json"]).json();
    assert_eq!(kinds(&said, &all[0]), ["HIGH_ERROR_COUNT"]);
    assert_eq!(kinds(&said, &all[1]), [""; 0]);
    assert_eq!(kinds(&said, &all[2]), [""; 0]);
}

/// The clock is given: 66 s after each of them fell silent. What is listened to is their real streams.
#[test]
fn d3_of_sessions_busy_and_silent_for_66_s_exactly_the_hung_one_is_stalled() {
    let Some(world) = world() else { return };
    let all =
        ["hang", "sleeptool", "question", "slowstream", "err503"].map(|mode| world.spawned(mode, &[]).1);
    let [hang, sleeptool, question, slowstream, err503] = &all;
    for session in &all {
        world.server.until(&format!("{session} is at work"), || {
            let state = world.status(session)["state"].clone();
            (state == "busy" || state == "retry").then_some(())
        });
    }
    // Every one has come to where it stays.
    let parts = |session: &str, so: &str| {
        let sql = format!("SELECT count(*) FROM part WHERE session_id = '{session}' AND {so}");
        let db = rusqlite::Connection::open(store(&world).join("opencode.db")).unwrap();
        db.query_row(&sql, [], |r| r.get::<_, i64>(0)).unwrap() > 0
    };
    let runs = "json_extract(data, '$.state.status') = 'running'";
    let speaks = "json_extract(data, '$.type') = 'text' AND json_extract(data, '$.time.start') > 0";
    world.server.until("all of them are where they stay", || {
        let stay = parts(sleeptool, runs)
            && parts(question, runs)
            && parts(hang, speaks)
            && parts(slowstream, speaks);
        (stay && world.status(err503)["state"] == "retry").then_some(())
    });
    let at = (now() + 66).to_string();
    // A server that is too busy to greet us in time is one of which nothing is known.
    let said = world.server.until("the one that hangs is found", || {
        let said = detect(&world, &["--json", "--now", &at]).json();
        (kinds(&said, hang) == ["SESSION_STALL"]).then_some(said)
    });
    for session in [sleeptool, question, slowstream] {
        assert_eq!(kinds(&said, session), [""; 0], "{said}");
    }
    assert!(!kinds(&said, err503).contains(&"SESSION_STALL".to_owned()), "{said}");
    // Nobody listened: four minutes more are needed.
    let deaf = |seconds: i64| {
        let at = (now() + seconds).to_string();
        let mut command = world.command(&world.repo, &["detect", "--json", "--session", hang, "--now", &at]);
        let store = store(&world);
        crate::support::ran(command.arg("--store").arg(store).env("WATCHBILL_DETECT_LISTEN", "0s")).json()
    };
    assert_eq!(kinds(&deaf(66), hang), [""; 0]);
    assert_eq!(kinds(&deaf(310), hang), ["SESSION_STALL"]);
    // A person may have been asked for long.
    let at = (now() + 310).to_string();
    assert_eq!(found(&world, question, &["--now", &at]), ["WAITING_HUMAN"]);
}

#[test]
fn d4_a_server_killed_and_started_again_leaves_an_orphan_and_no_stall() {
    let Some(mut world) = world() else { return };
    let (_, session) = world.spawned("hang", &[]);
    world.until_state(&session, "busy");
    world.server.kill();
    let at = (now() + 66).to_string();
    assert_eq!(found(&world, &session, &["--now", &at]), ["NO_VERDICT"]);
    world.restart();
    let at = (now() + 66).to_string();
    assert_eq!(found(&world, &session, &["--now", &at]), ["SESSION_ORPHANED"]);
    // It was not the named server that spawned it: two servers over one store do not know each other's sessions.
    let second = world.second();
    let foreign = world
        .server
        .post(&format!("/session?directory={}", world.repo.display()), &json!({"title": "foreign"}))["id"]
        .as_str()
        .unwrap()
        .to_owned();
    world.coord(&["message", &foreign, "go", "--agent", "hang"]).ok();
    world.server.until("it hangs", || world.server.is_busy(&foreign, &world.repo).then_some(()));
    let at = (now() + 66).to_string();
    assert_eq!(found(&world, &foreign, &["--server", &second.url, "--now", &at]), [""; 0]);
}

#[test]
fn d5_a_provider_that_refuses_again_and_again_presses() {
    let Some(world) = world() else { return };
    let (_, session) = world.spawned("limited", &[]);
    world.until_state(&session, "retry");
    let began = Instant::now();
    // How long the look itself takes is the machine's business.
    let took = until_found(&world, &session, &["PROVIDER_PRESSURE"]).duration_since(began);
    assert!(took < Duration::from_secs(12), "{took:?}");
    // It gives up in the end, and that is the same issue.
    world.until_state(&session, "idle");
    assert_eq!(found(&world, &session, &[]), ["PROVIDER_PRESSURE"]);
    let (_, flaky) = world.spawned("flaky", &[]);
    world.until_state(&flaky, "idle");
    assert_eq!(found(&world, &flaky, &[]), [""; 0]);
}

#[test]
fn d6_sessions_that_go_round_in_circles_are_runaways() {
    let Some(world) = world() else { return };
    for (mode, expected) in
        [("drop", &["RUNAWAY"][..]), ("loop", &["HIGH_ERROR_COUNT", "RUNAWAY"]), ("ctxover", &["RUNAWAY"])]
    {
        let (_, session) = world.spawned(mode, &[]);
        until_found(&world, &session, expected);
        // Stopped, for it would go on as long as the test.
        world.server.post(&format!("/session/{session}/abort"), &json!({}));
    }
}

#[test]
fn d7_what_is_recorded_three_times_is_recorded_once() {
    let Some(world) = world() else { return };
    let (task, session) = world.spawned("badtool", &[]);
    world.until_state(&session, "idle");
    let rows = || world.board.value("SELECT count(*) FROM task_events");
    let before = rows();
    let looked = |seconds: i64| {
        let at = (now() + seconds).to_string();
        detect(&world, &["--record", "--json", "--now", &at]).json()[0]["issues"][0].clone()
    };
    let first = looked(0);
    let after = rows();
    assert_ne!(before, after);
    let (second, third) = (looked(30), looked(60));
    assert_eq!(rows(), after);
    assert_eq!(second["first_seen"], first["first_seen"]);
    assert_eq!(third["first_seen"], first["first_seen"]);
    assert!(third["last_seen"].as_str() > second["last_seen"].as_str());
    let payload = world.board.payload(&task, "coord.detection");
    assert_eq!((&payload["type"], &payload["severity"]), (&json!("MODEL_DEGRADATION"), &json!("high")));
    // A coordinator asks the session to go on: that ends the detection.
    world.coord(&["message", &session, "Go on.", "--agent", "ok"]).ok();
    world.until_state(&session, "idle");
    until_found(&world, &session, &[]);
    detect(&world, &["--record"]).ok();
    assert_eq!(world.board.payload(&task, "coord.detection")["state"], "ended");
}

#[test]
fn d8_a_store_that_is_gone_is_said_so_and_the_server_still_tells() {
    let Some(mut world) = world() else { return };
    let (_, session) = world.spawned("badtool", &[]);
    world.until_state(&session, "idle");
    // As the server lists it, where the store is elsewhere.
    let nowhere = world.board.path().join("nowhere");
    let blind = |world: &World| {
        let args = ["detect", "--json", "--session", &session, "--store", nowhere.to_str().unwrap()];
        world.coord(&args)
    };
    assert_eq!(kinds(&blind(&world).json(), &session), ["MODEL_DEGRADATION"]);
    world.server.kill();
    let said = blind(&world);
    assert_eq!(said.code, 66, "{said:?}");
    assert!(said.err.contains("no store of opencode; name opencode's data folder with --store"), "{said:?}");
    assert_eq!(kinds(&serde_json::from_str(&said.out).unwrap(), &session), ["NO_VERDICT"]);
    // Another process locks the store exclusively.
    let holder = rusqlite::Connection::open(store(&world).join("opencode.db")).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM todo").unwrap();
    let said = detect(&world, &["--session", &session]);
    assert_eq!(said.code, 75, "{said:?}");
    assert!(said.err.contains("busy: another process is writing"), "{said:?}");
}
