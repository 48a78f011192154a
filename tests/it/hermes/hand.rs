//! The real Hermes on rows that `board` wrote: a worker's own card, and what is decided on it.

use super::home::Home;

#[test]
fn hermes_takes_a_card_and_its_decision_as_its_own() {
    let Some(home) = Home::new() else { return };
    for name in ["nova", "tuesday"] {
        home.profile(name, "http://127.0.0.1:9/nobody/v1");
    }
    let task = home.claimed(&["--priority", "4"], None);
    home.hand(&["block", &task, "--type", "scope_boundary", "--completed", "half", "the lamps"]).ok();
    let card = home.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
    home.accepts(&[&task, &card]);
    assert_eq!(home.would_start(), std::slice::from_ref(&card), "the card at once, its task not at all");
    let shown = home.ask(&["show", &task]);
    assert!(shown["comments"].to_string().contains(&card), "{shown}");
    // Hermes finds a repetition by its own key.
    let key = home.task(&card, "idempotency_key");
    let again = home.ask(&["create", "again", "--idempotency-key", &key]);
    assert_eq!(again["id"], card.as_str());

    // Reassigning and unblocking a task of Hermes is not refused: it waits for the card, as with its own tasks.
    home.hermes(&["claim", &card]).ok();
    home.hand(&["reassign", &task, "nova", "--reason", "nova knows lamps"]).ok();
    home.hand(&["unblock", &task, "--reason", "the lamps are nova's"]).ok();
    assert_eq!(home.task(&task, "status || assignee || consecutive_failures"), "todonova0");
    home.accepts(&[&task, &card]);
    home.hermes(&["complete", &card, "--summary", "nova does it"]).ok();
    assert_eq!(home.task(&task, "status"), "ready", "promoted by Hermes itself");
    assert_eq!(home.would_start(), std::slice::from_ref(&task));
    home.accepts(&[&task, &card]);

    // Blocked again and again by cards it is never taken for a loop.
    home.hand(&["block", &task, "--type", "env_blocker"]).ok();
    home.hand(&["unblock", &task]).ok();
    home.sql("UPDATE tasks SET status = 'done' WHERE title LIKE '[BLOCKED]%'");
    home.ask(&["dispatch", "--max", "0"]);
    home.hand(&["block", &task, "--type", "env_blocker"]).ok();
    assert_eq!(home.task(&task, "status || block_recurrences"), "blocked0");
    assert!(home.ran(home.run("hermes").args(["kanban", "unblock", &task])).ok().contains(&task));
}
