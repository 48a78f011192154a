//! `--distress`: a card about living work with a draft on it, and the decision that waits until the attempt has ended.

use serde_json::{Value, json};

use super::SCOPE;
use crate::support::{TestBoard, ran};

/// A board with a task of luna's that is over its time, and the card about it.
fn asked() -> (TestBoard, String) {
    let b = TestBoard::own();
    let run = b.runs("t_0000000a", "## Scope\n- In scope: `api/**`, `web/**`\n- Time budget: 10m\n", 700);
    let said = b.budget(&["--distress"]).ok();
    assert!(said.contains("t_0000000a card: Its worker still runs. Over time"), "{said}");
    let card = b.value("SELECT id FROM tasks WHERE title = '[BLOCKED] t_0000000a iteration_budget'");
    assert_eq!(b.task("t_0000000a", "status"), "running");
    assert_eq!(b.task("t_0000000a", "current_run_id"), run.to_string());
    assert_eq!(b.value("SELECT count(*) FROM task_links"), "0", "living work waits for nothing");
    (b, card)
}

/// The decision as the card shows it, carried back by an orchestrator.
fn decide(b: &TestBoard, card: &str) {
    let body = b.task(card, "body");
    let draft = body.lines().find(|l| l.starts_with("{\"route\":")).unwrap_or_else(|| panic!("{body}"));
    let draft: Value = serde_json::from_str(draft.trim()).unwrap_or_else(|e| panic!("{e}: {draft}"));
    let taken = b.hand(&["claim", card, "--worker", "tuesday", "--json"]).json();
    let run = taken["run"].to_string();
    b.hand(&["complete", card, "--run", &run, "--metadata", &draft.to_string()]).ok();
}

#[test]
fn a_card_is_written_once_and_the_other_watchers_leave_it_and_its_task_alone() {
    let (b, card) = asked();
    let after = b.dump();
    b.budget(&["--distress"]).ok();
    for watcher in ["synthesize-distress", "route-blocked", "heal"] {
        ran(&mut b.command(watcher)).ok();
    }
    assert_eq!(b.dump(), after);
    let body = b.task(&card, "body");
    assert!(body.contains("## Draft of a split") && body.contains("--in-scope='api/**'"), "{body}");
    assert_eq!(b.task(&card, "status"), "ready");
    assert_eq!(b.task(&card, "assignee"), "tuesday");
    assert!(body.len() < 8_000, "a worker is shown 8 KB of it");
}

#[test]
fn what_is_decided_about_living_work_happens_when_its_attempt_has_ended() {
    let (b, card) = asked();
    decide(&b, &card);
    let before = b.dump();
    let said = ran(b.command("route-blocked").arg("-v")).ok();
    assert!(
        said.contains(&format!("decided on card {card}; carried out once its worker has ended")),
        "{said}"
    );
    assert_eq!(b.dump(), before);
    // Its own limit ends the attempt, and the breaker gives the task up.
    let at = crate::support::now();
    b.sql(&format!(
        "UPDATE task_runs SET status = 'crashed', outcome = 'crashed', error = 'Iteration budget exhausted (30/30)',
           ended_at = {at}, claim_lock = NULL, claim_expires = NULL WHERE task_id = 't_0000000a';
         UPDATE tasks SET status = 'blocked', claim_lock = NULL, claim_expires = NULL, current_run_id = NULL,
           consecutive_failures = 2, last_failure_error = 'Iteration budget exhausted (30/30)' WHERE id = 't_0000000a';
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES
           ('t_0000000a', 1, 'crashed', '{{}}', {at}),
           ('t_0000000a', NULL, 'gave_up', '{{\"failures\":2,\"effective_limit\":2,\"error\":\"Iteration budget exhausted (30/30)\"}}', {at});"
    ));
    ran(&mut b.command("synthesize-distress")).ok();
    let said = ran(&mut b.command("route-blocked")).ok();
    assert!(said.contains("split"), "{said}");
    let children = b.value(
        "SELECT group_concat(title, ' | ') FROM tasks WHERE id IN (SELECT parent_id FROM task_links WHERE child_id = 't_0000000a') AND title NOT LIKE '[BLOCKED]%'",
    );
    assert!(children.contains("api/**") && children.contains("web/**"), "{children}");
    assert_eq!(b.task("t_0000000a", "status"), "todo");
    assert_eq!(
        b.value(
            "SELECT count(*) FROM tasks WHERE body LIKE '%- In scope: `api/**`%- Out of scope: `web/**`%'"
        ),
        "1"
    );
}

#[test]
fn out_of_scope_work_gets_a_card_of_that_type() {
    let b = TestBoard::own();
    let tree = b.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    super::git(&tree, &["init", "-q"]);
    super::write(&tree, "a", "a");
    super::git(&tree, &["add", "-A"]);
    super::git(&tree, &["commit", "-qm", "a"]);
    super::git(&tree, &["checkout", "-qb", "wt/x"]);
    super::write(&tree, "src/cli/x.rs", "x");
    b.runs("t_0000000a", SCOPE, 60);
    b.open()
        .execute("UPDATE tasks SET workspace_path = ?1, workspace_kind = 'dir'", [tree.to_str().unwrap()])
        .unwrap();
    b.budget(&["--distress", "--comment"]).ok();
    let card = b.value("SELECT id FROM tasks WHERE title = '[BLOCKED] t_0000000a scope_boundary'");
    let body = b.task(&card, "body");
    assert!(body.contains("src/cli/x.rs (untracked): out of scope by src/cli/**"), "{body}");
    assert!(body.contains("- Branch: wt/x") && body.contains("- State: uncommitted"), "{body}");
    assert_eq!(
        b.value("SELECT count(*) FROM task_comments WHERE author = 'budget-check'"),
        "2",
        "the tie and the verdict"
    );
    assert_eq!(b.payload("t_0000000a", "watchbill_signal")["card"], json!(card));
}

/// The runtime would try it again at once; what was decided comes first.
#[test]
fn a_decision_comes_before_the_next_attempt() {
    let (b, card) = asked();
    decide(&b, &card);
    let at = crate::support::now();
    b.sql(&format!(
        "UPDATE task_runs SET status = 'crashed', outcome = 'crashed', ended_at = {at}, claim_lock = NULL,
           claim_expires = NULL WHERE task_id = 't_0000000a';
         UPDATE tasks SET status = 'ready', claim_lock = NULL, claim_expires = NULL, current_run_id = NULL,
           consecutive_failures = 1 WHERE id = 't_0000000a';
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
           VALUES ('t_0000000a', 1, 'crashed', '{{}}', {at});"
    ));
    let said = ran(&mut b.command("route-blocked")).ok();
    assert!(said.contains("t_0000000a split"), "{said}");
    assert_eq!(b.task("t_0000000a", "status"), "todo");
    let after = b.dump();
    for watcher in shared::base::registry::NAMES.iter().copied() {
        ran(&mut b.command(watcher)).ok();
    }
    assert_eq!(b.dump(), after);
}
