//! Work that dead workers left behind.

use super::home::Home;
use super::provider::Provider;
use crate::support::{dead_pid, stranger};

/// Long enough that a dispatcher which ticked lately had its chance, short enough to be within any boot.
const QUIET: i64 = 300;

#[test]
fn a_killed_worker_is_requeued_and_the_real_dispatcher_finishes_the_work() {
    let Some(home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("slow"));
    let task = home.create(&["--body", "Count them all."]);
    home.hermes(&["dispatch"]).ok();
    provider.await_question("slow");

    // At work, however old the row says it is.
    home.age(QUIET);
    let said = home.pass();
    assert!(said.of(&task).starts_with("left: worker alive"), "{}", said.of(&task));
    assert_eq!(home.task(&task, "status"), "running");

    home.kill_worker(&task);
    home.age(QUIET);
    let said = home.pass();
    assert!(said.of(&task).starts_with("requeue dead-worker"), "{}", said.of(&task));
    assert_eq!(home.task(&task, "status"), "ready");
    let before = home.dump();
    assert_eq!(home.pass().steps(), 0);
    assert!(home.dump() == before, "rows changed");
    home.accepts(&[&task]);

    home.profile("luna", &provider.mode("ok"));
    home.hermes(&["dispatch"]).ok();
    home.await_status(&task, "done");
    home.accepts(&[&task]);
    let runs = home.ask(&["runs", &task]);
    let outcomes: Vec<_> = runs.as_array().unwrap().iter().map(|r| r["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
    assert!(outcomes.contains(&"completed"), "{outcomes:?}");
}

#[test]
fn a_recycled_pid_frees_the_task_and_the_stranger_lives() {
    let Some(home) = Home::new() else { return };
    let (mut one, mut two) = (stranger(), stranger());
    // Hermes alone would extend the first claim for ever, and kill the second stranger.
    let held = home.claimed(&[], Some(one.pid()));
    let hunted = home.claimed(&[], Some(two.pid()));
    home.age(1_000);
    home.sql(&format!(
        "UPDATE tasks SET started_at = started_at - 4000, last_heartbeat_at = started_at - 2700 WHERE id = '{hunted}';
         UPDATE task_runs SET started_at = started_at - 4000, last_heartbeat_at = started_at - 2700 WHERE task_id = '{hunted}';"
    ));
    let said = home.pass();
    for task in [&held, &hunted] {
        assert!(said.of(task).starts_with("requeue recycled-pid"), "{}", said.of(task));
        assert_eq!(home.task(task, "status"), "ready");
    }
    assert!(one.is_running() && two.is_running());
    home.accepts(&[&held, &hunted]);
    assert!(one.is_running() && two.is_running());
    let start = home.would_start();
    assert!(start.contains(&held) && start.contains(&hunted), "{start:?}");
}

#[test]
fn another_hosts_worker_is_unknown_and_a_claim_without_a_pid_is_a_lease() {
    let Some(home) = Home::new() else { return };
    let away = home.claimed(&[], Some(dead_pid()));
    let lease = home.claimed(&[], None);
    home.sql(&format!(
        "UPDATE tasks SET claim_lock = 'otherhost:77' WHERE id = '{away}';
         UPDATE task_runs SET claim_lock = 'otherhost:77' WHERE task_id = '{away}';"
    ));
    home.age(QUIET);
    let before = home.dump();
    let said = home.pass();
    assert!(said.of(&away).starts_with("unknown: "), "{}", said.of(&away));
    assert!(said.of(&away).contains("otherhost"), "{}", said.of(&away));
    assert!(
        said.of(&lease).starts_with("left: no worker known; the claim runs until"),
        "{}",
        said.of(&lease)
    );
    assert!(home.dump() == before, "rows changed");

    home.age(900);
    let said = home.pass();
    assert!(said.of(&away).starts_with("unknown: "), "still not ours to say: {}", said.of(&away));
    assert_eq!(home.task(&away, "status"), "running");
    assert!(said.of(&lease).starts_with("requeue no-pid"), "{}", said.of(&lease));
    assert_eq!(home.task(&lease, "consecutive_failures"), "0", "nobody failed");
    home.accepts(&[&lease]);
    assert!(home.would_start().contains(&lease));
}

#[test]
fn a_running_row_that_lost_its_claim_is_freed() {
    let Some(home) = Home::new() else { return };
    let task = home.claimed(&[], Some(dead_pid()));
    home.sql(&format!(
        "UPDATE tasks SET claim_lock = NULL, claim_expires = NULL, worker_pid = NULL WHERE id = '{task}'"
    ));
    home.age(25 * 3_600);
    // The real dispatcher never sees it.
    home.hermes(&["dispatch"]).ok();
    assert_eq!(home.task(&task, "status"), "running");
    let said = home.pass();
    assert!(said.of(&task).starts_with("requeue orphan-row"), "{}", said.of(&task));
    home.accepts(&[&task]);
    assert!(home.would_start().contains(&task));
}

#[test]
fn leaked_claims_are_freed_and_the_dispatcher_takes_the_tasks() {
    let Some(home) = Home::new() else { return };
    let (ready, unblocked) = (home.claimed(&[], None), home.claimed(&[], None));
    home.sql(&format!(
        "UPDATE tasks SET status = 'ready' WHERE id = '{ready}';
         UPDATE tasks SET status = 'blocked' WHERE id = '{unblocked}';"
    ));
    // Hermes' own unblock leaves the claim in place.
    home.hermes(&["unblock", &unblocked]).ok();
    assert_ne!(home.task(&unblocked, "claim_lock"), "NULL");
    let before = home.dump();
    assert_eq!(home.pass().steps(), 0, "the claims still run");
    assert!(home.dump() == before, "rows changed");
    home.age(1_000);
    assert_eq!(home.would_start(), [""; 0]);
    let said = home.pass();
    for task in [&ready, &unblocked] {
        assert!(said.of(task).starts_with("release leaked-claim"), "{}", said.of(task));
    }
    home.accepts(&[&ready, &unblocked]);
    let start = home.would_start();
    assert!(start.contains(&ready) && start.contains(&unblocked), "{start:?}");
}
