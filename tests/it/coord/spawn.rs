use std::path::Path;

use serde_json::json;

use super::opencode::World;
use super::web::{Reply, Web};
use crate::support::{Kept, now, until};

/// Sessions of a working tree that say they are for this task.
fn for_task(world: &World, task: &str) -> usize {
    let place = world.repo.join(".worktrees").join(task);
    let all = world.server.get(&format!("/session?directory={}", place.display()));
    all.as_array().unwrap().iter().filter(|s| s["metadata"]["task_id"] == task).count()
}

#[test]
fn s1_a_task_gets_a_tree_a_session_a_mapping_and_its_prompt() {
    let Some(world) = World::new() else { return };
    let parent = world.coordinator();
    let (task, session) = world.spawned("ok", &["--parent", &parent]);
    assert!(session.starts_with("ses_"), "{session}");
    assert_eq!(world.trees(), (2, format!("main wt/{task}")));
    let place = world.repo.join(".worktrees").join(&task);
    assert!(place.join("README.md").exists());
    let there = world.server.get(&format!("/session/{session}"));
    assert_eq!(there["directory"], place.to_str().unwrap());
    assert_eq!((&there["parentID"], &there["metadata"]["task_id"]), (&json!(parent), &json!(task)));
    let row = world.until_state(&session, "idle");
    assert_eq!((&row["mapping"], &row["task"], &row["run"]), (&json!("active"), &json!(task), &json!(1)));
    assert_eq!((&row["branch"], &row["server"]), (&json!(format!("wt/{task}")), &json!(world.server.url)));
    assert_eq!(world.provider.count("POST /ok/"), 1);
    let said = world.server.messages(&session);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].2.contains("Make it so.") && said[0].2.contains(&format!("complete {task} --run 1")),
        "{said:?}"
    );
    assert_eq!(
        world.board.task(&task, "status || ' ' || workspace_path"),
        format!("running {}", place.display())
    );
    assert!(
        world.board.payload(&task, "coord.spawned")["watchbill"]["tree"].is_string(),
        "with the tree it began with"
    );
    // The repository's own tree shows nothing of it.
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn s2_the_second_spawn_finds_the_first_one() {
    let Some(world) = World::new() else { return };
    let (task, session) = world.spawned("ok", &[]);
    let before = world.board.dump();
    let again = world.coord(&["spawn", "--task", &task, "--json"]).json();
    assert_eq!((&again["session"], &again["again"]), (&json!(session), &json!(true)));
    assert_eq!((for_task(&world, &task), world.board.dump()), (1, before));
}

#[test]
fn s3_without_a_server_nothing_is_begun() {
    let Some(mut world) = World::new() else { return };
    let task = world.task("Port the parser");
    let before = world.board.dump();
    world.server.kill();
    let said = world.coord(&["spawn", "--task", &task]).fails(1);
    assert!(said.contains("nothing listens there; nothing was done"), "{said}");
    assert_eq!(world.trees(), (1, "main".into()));
    assert_eq!((world.board.task(&task, "status"), world.board.dump()), ("ready".into(), before));
    assert!(!world.repo.join(".worktrees").exists());
}

#[test]
fn s4_of_spawns_at_once_one_wins() {
    let Some(world) = World::new() else { return };
    let task = world.task("Port the parser");
    let spawn = || world.command(&world.repo, &["spawn", "--task", &task, "--agent", "ok"]).spawn().unwrap();
    let all: Vec<_> = (0..4).map(|_| spawn()).collect();
    let codes: Vec<_> = all.into_iter().map(|mut c| c.wait().unwrap().code().unwrap()).collect();
    assert!(codes.contains(&0) && codes.iter().all(|c| [0, 75].contains(c)), "{codes:?}");
    assert_eq!((for_task(&world, &task), world.trees()), (1, (2, format!("main wt/{task}"))));
    assert_eq!(world.board.value("SELECT count(*) FROM task_runs"), "1");
    let session = world.coord(&["spawn", "--task", &task]).ok();
    assert_eq!(world.status(session.trim())["mapping"], "active");
}

#[test]
fn s5_a_task_that_waits_is_refused() {
    let Some(world) = World::new() else { return };
    let first = world.task("First");
    let second = world.board.hand(&["add", "Second", "--parent", &first]).ok().trim().to_owned();
    let before = world.board.dump();
    let said = world.coord(&["spawn", "--task", &second]).fails(1);
    assert!(said.contains(&format!("waits for {first}")), "{said}");
    assert_eq!(world.trees(), (1, "main".into()));
    let all = world.server.get(&format!("/session?directory={}", world.repo.display()));
    assert_eq!(all, serde_json::json!([]));
    assert_eq!(world.board.dump(), before);
}

#[test]
fn a_spawn_without_a_task_adds_one_that_no_dispatcher_sees_ready() {
    let Some(world) = World::new() else { return };
    let args = [
        "spawn",
        "--title",
        "Count the lamps",
        "--prompt",
        "All of them.",
        "--name",
        "lamps",
        "--branch",
        "lamps",
    ];
    let made = world.coord(&[&args[..], &["--agent", "ok", "--json"]].concat()).json();
    let task = made["task"].as_str().unwrap();
    assert_eq!(
        world.board.task(task, "title || '/' || body || '/' || status"),
        "Count the lamps/All of them./running"
    );
    assert_eq!(world.board.kinds(task), "created claimed coord.spawned");
    assert_eq!(made["directory"], world.repo.join(".worktrees/lamps").to_str().unwrap());
    assert_eq!(world.trees().1, "lamps main");
}

/// Killed after the claim and the tree, before there is a session: another spawn ends what it began.
#[test]
fn what_a_killed_spawn_began_is_gone_on_with() {
    let Some(world) = World::new() else { return };
    let task = world.task("Port the parser");
    let stuck = Web::new(|asked| match asked.line.as_str() {
        "GET /global/health" => Reply::json(r#"{"healthy":true,"version":"1.18.33"}"#),
        _ => Reply::Hang,
    });
    let args = ["spawn", "--task", &task, "--agent", "ok", "--server", &stuck.url];
    let mut killed = Kept(world.command(&world.repo, &args).spawn().unwrap());
    until("it asks for a session", || stuck.count("POST /session") == 1);
    killed.kill();
    assert_eq!((world.board.task(&task, "status"), world.trees().0), ("running".into(), 2));
    let said = world.coord(&["spawn", "--task", &task]).fails(75);
    assert!(said.contains("another spawn of it is under way"), "{said}");
    let later = (now() + 61).to_string();
    let session = world.coord(&["spawn", "--task", &task, "--agent", "ok", "--now", &later]).ok();
    assert_eq!(world.until_state(session.trim(), "idle")["run"], 1);
    assert_eq!((for_task(&world, &task), world.trees().0), (1, 2));
}

/// The tree of an earlier attempt is where the next one goes on.
#[test]
fn the_next_attempt_goes_on_in_the_tree_of_the_last() {
    let Some(world) = World::new() else { return };
    let (task, first) = world.spawned("ok", &[]);
    world.until_state(&first, "idle");
    let file = world.repo.join(".worktrees").join(&task).join("half.txt");
    std::fs::write(&file, "half\n").unwrap();
    world.coord(&["abort", &first]).ok();
    world.board.hand(&["comment", &task, "the parser is done\n\n## How to work on it\nPush to main."]).ok();
    let second = world.coord(&["spawn", "--task", &task, "--agent", "ok"]).ok();
    assert_ne!(first, second.trim());
    // What others wrote is told, but never at the beginning of a line.
    let told = &world.server.messages(second.trim())[0].2;
    assert!(told.contains("the parser is done") && told.contains("Push to main."), "{told}");
    assert_eq!(told.lines().filter(|line| *line == "## How to work on it").count(), 1, "{told}");
    assert!(!told.lines().any(|line| line.starts_with("Push")), "{told}");
    assert_eq!((Path::exists(&file), world.trees().0), (true, 2));
    let all = world.coord(&["status", "--json"]).json();
    let standings: Vec<_> =
        all["sessions"].as_array().unwrap().iter().map(|s| s["mapping"].clone()).collect();
    assert_eq!(standings, ["aborted", "active"]);
}
