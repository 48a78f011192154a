use serde_json::json;

use super::opencode::World;
use crate::support::now;

#[test]
fn t1_busy_retry_idle_completed_unreachable_orphaned() {
    let Some(mut world) = World::new() else { return };
    let (_, hangs) = world.spawned("hang", &[]);
    let (_, refused) = world.spawned("refuse", &[]);
    let (done, ends) = world.spawned("ok", &[]);
    world.until_state(&hangs, "busy");
    let retry = world.until_state(&refused, "retry");
    assert!(retry["attempt"].as_u64().unwrap() >= 1 && retry["next"].is_string(), "{retry}");
    assert_eq!(retry["message"], "fake 503: overloaded");
    world.until_state(&ends, "idle");
    world.board.hand(&["complete", &done, "--summary", "done"]).ok();
    let row = world.status(&ends);
    assert_eq!((&row["mapping"], &row["state"]), (&json!("completed"), &json!("ended")));
    let before = world.board.dump();
    world.server.kill();
    for row in world.coord(&["status", "--active", "--json"]).json()["sessions"].as_array().unwrap() {
        assert_eq!(
            (&row["state"], &row["because"]),
            (&json!("unreachable"), &json!("nothing listens there"))
        );
    }
    world.restart();
    // As it will be in a minute: an answer that was just begun may still be.
    let later = (now() + 60).to_string();
    let row = world.coord(&["status", &hangs, "--json", "--now", &later]).json();
    assert_eq!(row["sessions"][0]["state"], "orphaned", "{row}");
    assert_eq!(world.board.dump(), before, "and looking wrote nothing");
}

/// The states a server gives without a directory are those of its own folder.
#[test]
fn t2_a_session_in_another_tree_is_asked_for_there() {
    let Some(world) = World::new() else { return };
    let (_, session) = world.spawned("hang", &[]);
    world.until_state(&session, "busy");
    let without = world.server.get("/session/status");
    assert!(without.get(&session).is_none(), "{without}");
}

#[test]
fn inside_a_spawned_session_its_siblings_are_shown() {
    let Some(world) = World::new() else { return };
    let (one, other) = (world.coordinator(), world.coordinator());
    let (task, first) = world.spawned("ok", &["--parent", &one]);
    let (_, second) = world.spawned("ok", &["--parent", &one]);
    let (_, third) = world.spawned("ok", &["--parent", &other]);
    let inside = world.repo.join(".worktrees").join(&task);
    let said = world.coord_in(&inside, &["status", "--json"]).json();
    let rows: Vec<_> = said["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (s["session"].clone(), s["me"].clone()))
        .collect();
    assert_eq!(rows, [(json!(first), json!(true)), (json!(second), json!(false))]);
    let outside = world.coord(&["status"]).ok();
    assert!(outside.contains(&third) && outside.lines().count() == 3, "{outside}");
    let theirs = world.coord(&["status", "--parent", &other]).ok();
    assert!(theirs.contains(&third) && theirs.lines().count() == 1, "{theirs}");
}
