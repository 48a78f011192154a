use serde_json::json;

use super::opencode::World;

#[test]
fn a1_a_hung_session_stops() {
    let Some(world) = World::new() else { return };
    let (task, session) = world.spawned("hang", &[]);
    world.until_state(&session, "busy");
    let said = world.coord(&["abort", &task, "--reason", "it hangs"]).ok();
    assert!(
        said.contains(&format!("{session} stopped; its mapping is aborted, and {task} is free")),
        "{said}"
    );
    assert_eq!(world.server.messages(&session)[1].1, "MessageAbortedError");
    assert_eq!(world.status(&session)["mapping"], "aborted");
    assert_eq!(world.board.task(&task, "status || ' ' || ifnull(claim_lock, '-')"), "ready -");
    assert_eq!(world.board.payload(&task, "coord.aborted")["reason"], "it hangs");
    let events = world.coord(&["events", "--json"]).json();
    let kinds: Vec<_> = events["events"].as_array().unwrap().iter().map(|e| e["kind"].clone()).collect();
    assert_eq!(kinds, ["coord.spawned", "coord.aborted"]);
    let since = events["events"][0]["id"].to_string();
    let later = world.coord(&["events", "--json", "--since", &since]).json();
    assert_eq!((later["events"].as_array().unwrap().len(), &later["next"]), (1, &events["next"]));
}

#[test]
fn a2_an_unknown_session_is_not_stopped_whatever_the_server_says() {
    let Some(world) = World::new() else { return };
    let (task, session) = world.spawned("ok", &[]);
    let unknown = "ses_00000000000000000000000000";
    assert_eq!(world.server.post(&format!("/session/{unknown}/abort"), &json!({})), json!(true));
    let said = world.coord(&["abort", unknown]).fails(1);
    assert!(said.contains("knows no such session"), "{said}");
    // The same where the board knows a session that its server has lost.
    let before = world.board.dump();
    assert_eq!(world.status(&session)["mapping"], "active");
    let swap = |was: &str, is: &str| {
        let sql = format!(
            "UPDATE task_events SET payload = replace(payload, '{was}', '{is}') WHERE kind = 'coord.spawned'"
        );
        world.board.sql(&sql);
    };
    swap(&session, unknown);
    world.coord(&["abort", &task]).fails(1);
    swap(unknown, &session);
    assert_eq!(world.board.dump(), before);
}

/// Two servers over one store: the wrong one says yes, and its owner works on.
#[test]
fn a3_through_another_server_it_is_still_busy() {
    let Some(world) = World::new() else { return };
    let (task, session) = world.spawned("hang", &[]);
    world.until_state(&session, "busy");
    let second = world.second();
    let said = world.coord(&["abort", &session, "--server", &second.url]).fails(1);
    assert!(said.contains(&format!("still is busy at {}", world.server.url)), "{said}");
    assert_eq!(world.status(&session)["mapping"], "active");
    assert_eq!(world.board.task(&task, "status"), "running");
    assert!(world.server.is_busy(&session, &world.repo.join(".worktrees").join(&task)));
}

#[test]
fn a4_a_forgotten_session_failed() {
    let Some(mut world) = World::new() else { return };
    let (task, session) = world.spawned("hang", &[]);
    world.until_state(&session, "busy");
    world.restart();
    let said = world.coord(&["abort", &session]).fails(1);
    assert!(said.contains("forgotten by its server"), "{said}");
    assert_eq!(world.status(&session)["mapping"], "failed");
    assert_eq!(world.board.payload(&task, "coord.aborted")["status"], "failed");
    assert_eq!(world.board.task(&task, "status"), "ready", "and somebody else may take it");
}
