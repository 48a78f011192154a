use serde_json::json;

use super::opencode::World;

#[test]
fn n1_a_coordinator_is_told_once_and_left_in_peace() {
    let Some(world) = World::new() else { return };
    let parent = world.coordinator();
    let (task, session) = world.spawned("ok", &["--parent", &parent]);
    world.until_state(&session, "idle");
    let asked = world.provider.asked().len();
    let inside = world.repo.join(".worktrees").join(&task);
    for again in [false, true] {
        let args = ["notify", "two formats, which one?", "--level", "blocking", "--no-wake", "--json"];
        // Inside its tree nobody has to say who speaks.
        let from: &[&str] = if again { &["--from", &task] } else { &[] };
        let said = world.coord_in(&inside, &[&args[..], from].concat()).json();
        assert_eq!((&said["again"], &said["parent"]), (&json!(again), &json!(parent)));
    }
    let text = format!("⚠️ BLOCKING [{task}] two formats, which one?");
    assert_eq!(world.server.messages(&parent), [("user".into(), String::new(), text)]);
    assert_eq!(world.provider.asked().len(), asked, "the model was not asked");
    assert!(!world.server.is_busy(&parent, &world.repo));
    let events = "SELECT count(*) FROM task_events WHERE kind = 'coord.notified'";
    assert_eq!(world.board.value(events), "1");
}

#[test]
fn n2_a_coordinator_is_woken_where_it_is_asked_for() {
    let Some(world) = World::new() else { return };
    let parent = world.coordinator();
    let (task, session) = world.spawned("ok", &["--parent", &parent]);
    world.until_state(&session, "idle");
    let asked = world.provider.count("POST /ok/");
    world.coord(&["notify", "look at it", "--from", &task, "--level", "warning", "--wake"]).ok();
    let said = world.server.until("it answers", || {
        Some(world.server.messages(&parent)).filter(|m| m.len() == 2 && m[1].1 == "stop")
    });
    assert_eq!(said[0].2, format!("⚠️ WARNING [{task}] look at it"));
    // One for the answer. (opencode names a session that has no name of its own by one more; this one has one.)
    assert_eq!(world.provider.count("POST /ok/"), asked + 1);
    // A block wakes by itself.
    world.coord(&["notify", "I cannot go on", "--from", &session, "--level", "blocking"]).ok();
    world
        .server
        .until("it answers again", || Some(()).filter(|()| world.server.messages(&parent).len() == 4));
}

#[test]
fn n3_a_block_is_a_card_and_a_note_is_none() {
    let Some(world) = World::new() else { return };
    let parent = world.coordinator();
    let (task, session) = world.spawned("ok", &["--parent", &parent]);
    world.coord(&["notify", "half of it is done", "--from", &task]).ok();
    assert_eq!(world.status(&session)["mapping"], "active");
    assert_eq!(world.board.task(&task, "status"), "running");
    let args = ["notify", "tried both formats, the tests fail", "--from", &task, "--level", "blocking"];
    let said = world.coord(&[&args[..], &["--type", "env_blocker"]].concat()).ok();
    let card = world.board.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
    assert!(said.contains(&format!("{task} is blocked, with card {card}")), "{said}");
    assert_eq!(world.board.task(&card, "title"), format!("[BLOCKED] {task} env_blocker"));
    assert!(world.board.task(&card, "body").contains("tried both formats, the tests fail"));
    assert_eq!(world.board.task(&task, "status"), "blocked");
    assert_eq!(world.status(&session)["mapping"], "active");
}

/// Asking for help is not failing: it is seen to wait, answered, and ends its task under a claim of its own.
#[test]
fn n4_who_asked_for_help_waits_and_is_answered() {
    let Some(world) = World::new() else { return };
    let (task, session) = world.spawned("ok", &[]);
    world.until_state(&session, "idle");
    let said = world.coord(&["notify", "which one?", "--from", &task, "--level", "blocking"]).ok();
    assert!(said.contains("has no coordinator, so nobody was told directly"), "{said}");
    let row = world.until_state(&session, "waiting");
    assert_eq!((&row["mapping"], &row["waits"]), (&json!("active"), &json!(true)));
    let said = world.coord(&["spawn", "--task", &task]).fails(1);
    assert!(said.contains("waits for an answer"), "{said}");
    let said = world.coord(&["message", &task, "The first one."]).ok();
    assert_eq!(said, format!("{session} was told, and has {task} again as run 2\n"));
    let row = world.until_state(&session, "idle");
    assert_eq!((&row["run"], &row["mapping"], &row["waits"]), (&json!(2), &json!("active"), &json!(false)));
    let told = &world.server.messages(&session)[2].2;
    assert!(told.starts_with("The first one.") && told.contains("--run 2"), "{told}");
    assert_eq!(world.board.hand(&["complete", &task, "--run", "2"]).code, 0);
    assert_eq!(world.status(&session)["mapping"], "completed");
}
