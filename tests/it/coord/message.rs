use serde_json::json;

use super::opencode::World;

#[test]
fn m1_an_idle_session_answers() {
    let Some(world) = World::new() else { return };
    let (task, session) = world.spawned("ok", &[]);
    world.until_state(&session, "idle");
    world.coord(&["message", &task, "Please go on."]).ok();
    let said = world.server.until("it answers", || {
        Some(world.server.messages(&session)).filter(|m| m.len() == 4 && m[3].1 == "stop")
    });
    assert_eq!((said[2].0.as_str(), said[2].2.as_str()), ("user", "Please go on."));
    let told = world.board.payload(&task, "coord.messaged");
    assert_eq!(
        (&told["session"], &told["text"], &told["by"]),
        (&json!(session), &json!("Please go on."), &json!("coord"))
    );
}

#[test]
fn m2_a_hung_session_queues_and_is_recovered() {
    let Some(world) = World::new() else { return };
    let (_, session) = world.spawned("hang", &[]);
    world.until_state(&session, "busy");
    world
        .server
        .until("the provider is asked", || Some(()).filter(|()| world.provider.count("POST /hang/") == 1));
    let queued = world.coord(&["message", &session, "Are you there?"]);
    assert_eq!(queued.code, 75, "{queued:?}");
    assert!(queued.out.contains("queued, session busy"), "{queued:?}");
    assert_eq!(world.provider.count("POST /hang/"), 1, "it hangs still");
    world.coord(&["message", &session, "Go on.", "--recover", "--agent", "ok"]).ok();
    let said = world.server.until("it answers", || {
        Some(world.server.messages(&session)).filter(|m| m.last().is_some_and(|m| m.1 == "stop"))
    });
    assert_eq!(said[1].1, "MessageAbortedError", "{said:?}");
}

#[test]
fn m3_an_unknown_session_is_refused() {
    let Some(world) = World::new() else { return };
    let said = world.coord(&["message", "ses_00000000000000000000000000", "Hello?"]).fails(1);
    assert!(said.contains("knows no such session"), "{said}");
}
