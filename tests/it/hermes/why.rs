//! `watchbill why` on boards of the real Hermes: what the operator said is not taken for a worker's block, and every command it
//! offers is one that Hermes takes.

use serde_json::Value;

use super::home::Home;
use crate::support::ran;

fn why(home: &Home, task: &str) -> Value {
    let before = home.rows(task);
    let said = ran(home.command("watchbill").args(["why", task, "--json"])).json();
    assert_eq!(home.rows(task), before, "looking wrote");
    said
}

/// Runs the first command that begins so.
#[track_caller]
fn take(home: &Home, answer: &Value, begins: &str) {
    let all = answer["commands"].as_array().unwrap();
    let command = all.iter().filter_map(|c| c["run"].as_str()).find(|c| c.starts_with(begins));
    let command = command.unwrap_or_else(|| panic!("no {begins}: {all:?}"));
    let words: Vec<&str> = command.split(' ').collect();
    let (program, args) = words.split_first().unwrap();
    let args: Vec<String> = joined(args);
    ran(home.run(program).args(args)).ok();
}

/// Words of a shell line, of which one may be quoted.
fn joined(words: &[&str]) -> Vec<String> {
    let line = words.join(" ");
    let parts = line.split('\'');
    let parts = parts.enumerate().flat_map(|(n, part)| match n % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    parts.collect()
}

#[test]
fn what_it_says_of_real_rows_is_so_and_what_it_offers_works() {
    let Some(home) = Home::new() else { return };
    for name in ["luna", "nova"] {
        home.profile(name, "http://127.0.0.1:9/nobody/v1");
    }
    let task = home.create(&["--assignee", "luna"]);
    home.hermes(&["block", &task, "which grammar?"]).ok();
    let said = why(&home, &task);
    assert!(said["says"].as_str().unwrap().contains("blocked by hand"), "nobody worked on it: {said}");
    assert_eq!(said["kind"], "needs_person");
    take(&home, &said, "hermes kanban unblock");
    assert_eq!(home.task(&task, "status"), "ready");

    home.hermes(&["comment", &task, "watchbill: no-heal"]).ok();
    let said = why(&home, &task);
    assert!(said["says"].as_str().unwrap().contains("no-heal"), "{said}");
    take(&home, &said, "hermes kanban comment");
    assert!(!why(&home, &task)["says"].as_str().unwrap().contains("no-heal"));

    let claimed = home.claimed(&["--assignee", "luna"], None);
    home.hermes(&["block", &claimed, "which lanterns?", "--kind", "needs_input"]).ok();
    let said = why(&home, &claimed);
    assert!(said["says"].as_str().unwrap().contains("its worker luna asks a person (needs_input)"), "{said}");
    assert_eq!(said["kind"], "needs_person");
    take(&home, &said, "hermes kanban comment");
    take(&home, &said, "hermes kanban unblock");

    let orphan = home.create(&[]);
    home.sql(&format!("UPDATE tasks SET assignee = NULL WHERE id = '{orphan}'"));
    let said = why(&home, &orphan);
    assert!(said["says"].as_str().unwrap().contains("assigned to nobody"), "{said}");
    take(&home, &said, "hermes kanban reassign");
    assert_ne!(home.task(&orphan, "assignee"), "NULL");
}
