//! What the watchers make of sessions of a real opencode: `heal` brings the task of a forgotten one back, `synthesize-distress`
//! asks about what one of them does not come out of, `budget-check` counts what they used.

use serde_json::{Value, json};

use super::detected::{MODES, detect, found, provider};
use super::opencode::{World, chunk};
use super::web::{Asked, Reply};
use crate::support::{Ran, now, ran};

/// The scenarios of detections, and some more.
fn world() -> Option<World> {
    let modes = [&MODES[..], &["denied", "halfway", "priced"]].concat();
    World::with(&modes, |asked| match asked.line.split('/').nth(1) {
        Some("denied") => {
            let said =
                json!({"error": {"message": "fake 401: invalid api key", "type": "invalid_request_error"}});
            Reply::Text(401, "application/json", said.to_string())
        }
        Some("halfway") => halfway(asked),
        Some("priced") => priced(),
        _ => provider(asked),
    })
}

/// Writes a file, and then hangs.
fn halfway(asked: &Asked) -> Reply {
    let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    if body["messages"].as_array().is_some_and(|all| all.iter().any(|m| m["role"] == "tool")) {
        return Reply::Hang;
    }
    let arguments = json!({"command": "echo half > half.txt", "description": "begin"}).to_string();
    let call = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "bash", "arguments": arguments}});
    let text = chunk(json!({"role": "assistant", "tool_calls": [call]}), Value::Null)
        + &chunk(json!({}), json!("tool_calls"))
        + "data: [DONE]\n\n";
    Reply::Text(200, "text/event-stream", text)
}

/// An answer that says what it used.
fn priced() -> Reply {
    let used = json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 200, "total_tokens": 1_200},
    });
    let said = chunk(json!({"role": "assistant", "content": "Done."}), Value::Null);
    Reply::Text(200, "text/event-stream", format!("{said}data: {used}\n\ndata: [DONE]\n\n"))
}

/// A watcher as it will be in so many seconds, in the environment of the user who started the server.
fn watcher(world: &World, program: &str, seconds: i64, args: &[&str]) -> Ran {
    let at = (now() + seconds).to_string();
    let mut command = world.board.command(program);
    command.env("XDG_DATA_HOME", world.board.path().join("xdg/data"));
    ran(command.arg("--db").arg(&world.board.db).args(["--now", &at]).args(args))
}

fn heal(world: &World, seconds: i64, args: &[&str]) -> Ran {
    watcher(world, "heal", seconds, args)
}

#[test]
fn d4_heal_brings_back_the_task_of_a_session_whose_server_was_killed() {
    let Some(mut world) = world() else { return };
    let (task, session) = world.spawned("halfway", &[]);
    let half = world.repo.join(".worktrees").join(&task).join("half.txt");
    world.server.until("its first tool wrote", || half.exists().then_some(()));
    world.server.until("its second answer is open", || {
        let answers = world.server.messages(&session);
        (answers.iter().filter(|m| m.0 == "assistant").count() == 2).then_some(())
    });
    let left = |seconds: i64, world: &World| {
        let before = world.board.dump();
        let said = heal(world, seconds, &["-v"]).ok();
        assert_eq!(world.board.dump(), before, "{said}");
        said
    };
    assert!(left(66, &world).contains(&format!("session {session} is at work")));
    world.server.kill();
    let said = left(66, &world);
    assert!(
        said.contains(&format!("session {session} unknown")) && said.contains("nothing listens there"),
        "{said}"
    );
    world.restart();
    assert_eq!(found(&world, &session, &["--now", &(now() + 66).to_string()]), ["SESSION_ORPHANED"]);
    // A git that the killed server left in the tree is waited for, and on a slow machine it is still there.
    world.server.until("the killed server's children have ended", || {
        let said = heal(&world, 66, &["-n", "-v"]).ok();
        (!said.contains("for its child")).then_some(())
    });
    // As for any dead worker, its tree is noted first.
    let said = heal(&world, 66, &[]).ok();
    assert!(said.contains(&format!("{task} note: session {session} is orphaned")), "{said}");
    let said = heal(&world, 100, &[]).ok();
    assert!(said.contains(&format!("{task} requeue: session {session} is orphaned")), "{said}");
    assert_eq!(world.board.task(&task, "status || ' ' || consecutive_failures"), "ready 0");
    assert_eq!(world.board.payload(&task, "reclaimed")["watchbill"]["case"], "session-orphaned");
    // What its store tells of it.
    let packet = world.board.value("SELECT body FROM task_comments ORDER BY id DESC LIMIT 1");
    for what in ["1 tool call,", "echo half > half.txt", "half.txt", &format!("wt/{task}")] {
        assert!(packet.contains(what), "{what}: {packet}");
    }
    assert!(!left(130, &world).contains(&task));
    // And it goes on in the same tree, with another session.
    let again = world.coord(&["spawn", "--task", &task, "--agent", "ok"]).ok().trim().to_owned();
    assert_ne!(again, session);
    world.until_state(&again, "idle");
    assert!(half.exists());
}

#[test]
fn each_anomaly_ends_as_one_card_and_the_session_is_left_alone() {
    let Some(world) = world() else { return };
    let table = [
        ("limited", "PROVIDER_PRESSURE", "rate_limited"),
        ("denied", "CREDENTIAL", "credential_failure"),
        ("drop", "RUNAWAY", "iteration_budget"),
        ("badtool", "MODEL_DEGRADATION", "env_blocker"),
        ("toolerr5", "HIGH_ERROR_COUNT", "env_blocker"),
        ("question", "WAITING_HUMAN", "dependency"),
    ];
    let all = table.map(|(mode, kind, blocker)| (world.spawned(mode, &[]), kind, blocker));
    // A person is asked for long by then, however long the others take.
    let later = 600;
    let at = (now() + later).to_string();
    for ((_, session), kind, _) in &all {
        world.server.until(&format!("{session}: {kind}"), || {
            found(&world, session, &["--now", &at]).contains(&(*kind).to_owned()).then_some(())
        });
    }
    // It would go on as long as the test.
    world.server.post(&format!("/session/{}/abort", all[2].0.1), &json!({}));
    for ((_, session), ..) in &all[..5] {
        world.until_state(session, "idle");
    }
    let said = || all.iter().map(|((_, session), ..)| world.server.messages(session)).collect::<Vec<_>>();
    let before = said();
    // Looking alone asks nobody.
    detect(&world, &["--now", &at]).ok();
    let distress = || watcher(&world, "synthesize-distress", later, &[]).ok();
    assert_eq!(distress(), "");
    detect(&world, &["--record", "--now", &at]).ok();
    distress();
    let cards = |task: &str| {
        let sql = format!(
            "SELECT coalesce(group_concat(title, '; '), '') FROM tasks WHERE title LIKE '[BLOCKED]%{task}%'"
        );
        world.board.value(&sql)
    };
    for ((task, session), kind, blocker) in &all {
        assert_eq!(cards(task), format!("[BLOCKED] {task} {blocker}"), "{kind}");
        let card = format!("title = '[BLOCKED] {task} {blocker}'");
        let body = world.board.value(&format!("SELECT body FROM tasks WHERE {card}"));
        assert!(body.contains(kind) && body.contains(session) && body.contains("coord --db"), "{body}");
        // The task runs on, and nothing waits for the card.
        assert_eq!(world.board.task(task, "status"), "running", "{kind}");
        assert_eq!(world.board.value("SELECT count(*) FROM task_links"), "0");
    }
    assert_eq!(said(), before, "nobody was told anything");
    // One cause, one open card.
    let board = world.board.dump();
    distress();
    detect(&world, &["--record", "--now", &at]).ok();
    distress();
    assert_eq!(world.board.dump(), board);
    // When a claim has run out, its card is what its task waits for.
    let (denied, _) = &all[1].0;
    let said = heal(&world, 1_300, &["--task", denied]).ok();
    assert!(said.contains("park: no worker known") && said.contains("its log ends on credential"), "{said}");
    watcher(&world, "synthesize-distress", 1_310, &["--task", denied]).ok();
    assert_eq!(
        world.board.value(&format!("SELECT count(*) FROM task_links WHERE child_id = '{denied}'")),
        "1"
    );
    assert_eq!(cards(denied), format!("[BLOCKED] {denied} credential_failure"));
}

#[test]
fn what_a_session_used_is_counted_from_its_store() {
    let Some(mut world) = world() else { return };
    world.board.config.push_str("[prices.m]\ninput = 10.0\noutput = 50.0\n");
    let (task, session) = world.spawned("toolerr5", &[]);
    let (other, second) = world.spawned("priced", &[]);
    world.until_state(&session, "idle");
    world.until_state(&second, "idle");
    let usage = |task: &str| {
        let said = watcher(&world, "budget-check", 5, &["--json"]).json();
        let all = said["boards"][0]["overview"]["tasks"].as_array().unwrap();
        all.iter().find(|t| t["task"] == task).unwrap_or_else(|| panic!("{said}"))["usage"].clone()
    };
    let used = usage(&task);
    let counted = ["format", "turns", "tool_calls", "tool_errors"].map(|key| used[key].clone());
    assert_eq!(counted, [json!("opencode"), json!(6), json!(5), json!(5)], "{used}");
    assert!(used["source"].as_str().unwrap().ends_with(&format!("opencode.db#{session}")), "{used}");
    let used = usage(&other);
    assert_eq!(
        (&used["turns"], &used["tokens"]["input"], &used["tokens"]["output"]),
        (&json!(1), &json!(1_000), &json!(200)),
        "{used}"
    );
    assert_eq!(used["cost"], json!(0.02), "{used}");
    // Its own turns, however many were made before another caller's prompt.
    world.coord(&["message", &second, "Once more.", "--agent", "priced"]).ok();
    world.until_state(&second, "idle");
    assert_eq!(usage(&other)["turns"], json!(2));
}
