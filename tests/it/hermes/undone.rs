//! What an undo restores, before the real dispatcher.

use super::home::Home;
use crate::support::{Ran, dead_pid, ran};

fn undo(home: &Home, task: &str) -> Ran {
    ran(home.command("watchbill").args(["undo", task]))
}

#[test]
fn a_task_that_is_blocked_again_stays_so_through_its_ticks() {
    let Some(home) = Home::new() else { return };
    let task = home.create(&[]);
    home.give_up_for_real(&task);
    home.age(900);
    let row = "status || consecutive_failures || ifnull(last_failure_error, '-')";
    let before = home.task(&task, row);
    let said = home.pass();
    assert!(said.of(&task).starts_with("reset crash-loop"), "{}", said.of(&task));
    undo(&home, &task).ok();
    assert_eq!(home.task(&task, row), before);
    home.accepts(&[&task]);
    assert!(home.would_start().is_empty());
    for _ in 0..2 {
        home.hermes(&["dispatch"]).ok();
        assert_eq!(home.task(&task, row), before, "{}", home.kinds(&task));
    }
    home.age(30_000);
    let said = home.pass();
    assert!(said.of(&task).starts_with("left: undone by hand at"), "{}", said.of(&task));
}

/// A sticky block below the failure limit: Hermes promotes it unless the newest word says `blocked`.
#[test]
fn a_workers_own_block_is_told_again() {
    let Some(home) = Home::new() else { return };
    let task = home.create(&[]);
    home.hermes(&["block", &task, "the tide is out"]).ok();
    // A second task, so that the dispatcher has work.
    let task_two = home.create(&[]);
    home.hermes(&["dispatch"]).ok();
    assert_eq!(home.task(&task, "status"), "blocked");
    let freed = "{\"by\":\"route-blocked\",\"watchbill\":{\"pass\":\"p\",\"case\":\"decision\",\"before\":{\"status\":\"blocked\"},\"after\":{\"status\":\"ready\"}}}";
    home.sql(&format!(
        "UPDATE tasks SET status = 'ready' WHERE id = '{task}';
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{task}', 'unblocked', '{freed}', strftime('%s'));
         UPDATE tasks SET status = 'archived' WHERE id = '{task_two}'"
    ));
    undo(&home, &task).ok();
    assert!(
        home.kinds(&task).ends_with("unblocked blocked watchbill_undone commented"),
        "{}",
        home.kinds(&task)
    );
    for _ in 0..2 {
        home.hermes(&["dispatch"]).ok();
        assert_eq!(home.task(&task, "status"), "blocked", "{}", home.kinds(&task));
    }
}

#[test]
fn a_requeue_that_is_undone_makes_no_second_owner() {
    let Some(home) = Home::new() else { return };
    let task = home.claimed(&[], Some(dead_pid()));
    home.age(900);
    let row = "status || claim_lock || worker_pid || current_run_id";
    let before = home.task(&task, row);
    let said = home.pass();
    assert!(said.of(&task).starts_with("requeue"), "{}", said.of(&task));
    undo(&home, &task).ok();
    assert_eq!(home.task(&task, row), before);
    // No look of Hermes' in between: even its dry run would find the dead process, and say so.
    home.age(900);
    let said = home.pass();
    assert!(said.of(&task).starts_with("left: undone by hand at"), "{}", said.of(&task));
    // The dispatcher finds the dead process, or the claim that ran out, and books that as its own; then it starts one attempt.
    home.hermes(&["dispatch"]).ok();
    let since = home.kinds(&task).rsplit("watchbill_undone commented ").next().unwrap_or_default().to_owned();
    assert!(since.starts_with("reclaimed ") || since.starts_with("crashed"), "{since}");
    assert!(since.matches("spawned").count() <= 1, "{since}");
    let open = format!("SELECT count(*) FROM task_runs WHERE task_id = '{task}' AND ended_at IS NULL");
    assert!(home.value(&open).parse::<u32>().unwrap() <= 1, "two owners");
}
