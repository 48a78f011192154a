//! What an orchestrator decides on its card: carried out where it is sound, refused with the reason where it is not.

use serde_json::{Value, json};

use super::super::home::Home;
use super::super::provider::Provider;
use crate::support::dead_pid;

/// Cards, each with its task.
type Cards = Vec<(String, String)>;

/// A home with tasks that ended on a model that is not there, each with a card for its orchestrator.
fn asked(tasks: usize, tuesday: &str) -> Option<(Home, Provider, Cards)> {
    let mut home = Home::new()?;
    let provider = Provider::new(&home);
    home.configure("[distress]\nmax_open_cards = 100\nstorm = \"off\"\n");
    home.profile("luna", &provider.mode("r404"));
    home.profile("sol", &provider.mode("ok"));
    home.profile("tuesday", &provider.mode(tuesday));
    let tasks: Vec<String> = (0..tasks).map(|_| home.create(&["--body", "Count them all."])).collect();
    home.ends_on("luna", "r404.t_f1037397.log", &provider.mode("r404"));
    home.round();
    let cards = tasks.into_iter().map(|task| (home.card(&task).id, task)).collect();
    Some((home, provider, cards))
}

/// What stands on a card about its decision: the event's numbers and the words of the comment.
#[track_caller]
fn noted(home: &Home, card: &str) -> (i64, i64, String) {
    let event = home.payload(card, "watchbill_decided");
    let comment = home.value(&format!(
        "SELECT body FROM task_comments WHERE task_id = '{card}' AND author = 'route-blocked' ORDER BY id DESC LIMIT 1"
    ));
    (event["accepted"].as_i64().unwrap(), event["refused"].as_i64().unwrap(), comment)
}

#[test]
fn a_real_orchestrators_decisions_are_carried_out() {
    let Some((home, provider, cards)) = asked(4, "decide") else { return };
    let [(_, moved), (_, freed), (_, split), (_, left)] = &cards[..] else { panic!("{cards:?}") };
    let child = json!({
        "title": "Count the left half", "body": "Only the left half.", "assignee": "sol",
        "in_scope": ["left/**"], "out_of_scope": ["right/**"], "max_files": 3, "iterations": 20,
    });
    let other = json!({"title": "Count the right half", "assignee": "sol", "in_scope": ["right/**"]});
    for (task, decision) in [
        (moved, json!({"action": "reassign", "assignee": "sol", "reason": "sol has a model"})),
        (freed, json!({"action": "unblock"})),
        (split, json!({"action": "split", "children": [child, other]})),
        (left, json!({"action": "human", "reason": "the owner knows which half"})),
    ] {
        let mut decision = decision;
        decision["task"] = json!(task);
        provider.decides(task, &decision);
    }
    home.hermes(&["dispatch"]).ok();
    for (card, _) in &cards {
        home.await_status(card, "done");
    }
    home.await_workers();
    for (card, task) in &cards {
        assert_ne!(home.task(task, "status"), "ready", "nothing goes on before the decision is read: {card}");
    }

    home.route();
    for (card, _) in &cards {
        let (accepted, refused, said) = noted(&home, card);
        assert_eq!((accepted, refused), (1, 0), "{said}");
    }
    let place = |task: &str| (home.task(task, "assignee"), home.task(task, "status"));
    assert_eq!(place(moved), ("sol".into(), "ready".into()), "{}", home.way(moved));
    assert_eq!(place(freed), ("luna".into(), "ready".into()), "{}", home.way(freed));
    assert_eq!(place(split), ("luna".into(), "todo".into()), "{}", home.way(split));
    assert_eq!(place(left), ("luna".into(), "blocked".into()), "{}", home.way(left));
    assert_eq!(home.payload(left, "blocked")["cause"], "orchestrator");

    // The parts are tasks like any other, and parents of the whole.
    let open = "status NOT IN ('done', 'archived')";
    let parts = home.value(&format!(
        "SELECT group_concat(id) FROM tasks JOIN task_links ON id = parent_id WHERE child_id = '{split}' AND {open}"
    ));
    let parts: Vec<&str> = parts.split(',').collect();
    assert_eq!(parts.len(), 2);
    for part in &parts {
        let body = home.task(part, "body");
        assert!(body.contains("## Scope"), "{body}");
        assert_eq!(place(part), ("sol".into(), "ready".into()));
    }
    let first = parts.iter().map(|p| home.task(p, "body")).find(|b| b.contains("left/**")).unwrap();
    assert!(first.contains("Only the left half.") && first.contains("right/**"), "{first}");
    let tasks: Vec<&str> = cards.iter().flat_map(|(card, task)| [card.as_str(), task.as_str()]).collect();
    home.accepts(&[&tasks[..], &parts[..]].concat());

    // A second pass has nothing to add.
    let before = home.dump();
    home.route();
    assert!(home.dump() == before, "rows changed");

    // Hermes lets the whole go on when its parts are done.
    home.profile("luna", &provider.mode("ok"));
    assert!(!home.would_start().contains(split));
    home.hermes(&["dispatch"]).ok();
    for part in &parts {
        home.await_status(part, "done");
    }
    home.await_workers();
    home.hermes(&["dispatch"]).ok();
    for task in [moved, freed, split] {
        home.await_status(task, "done");
    }
    home.await_workers();
    assert_eq!(place(left), ("luna".into(), "blocked".into()));
    home.accepts(&[split, left]);
}

#[test]
fn a_decision_that_cannot_be_is_refused_on_its_card() {
    let Some((home, _provider, cards)) = asked(8, "slow") else { return };
    let elsewhere = "t_0000dead";
    let decisions: [(&str, &str); 8] = [
        (r#"{"task": "SOURCE", "action": "reassign", "assignee": "nobody"}"#, "there is no profile nobody"),
        (r#"{"task": "t_0000dead", "action": "unblock"}"#, "not the task of this card"),
        (r#"{"task": "CARD", "action": "unblock"}"#, "names the card itself"),
        (r#""{broken""#, "not valid JSON"),
        (r#"{"task": "SOURCE", "action": "delete"}"#, "is not reassign, unblock, split or human"),
        (r#"{"task": "SOURCE", "action": "split", "children": []}"#, "1 to 12"),
        (r#"{"task": "SOURCE", "action": "reassign", "assignee": "sol"}"#, "moved on"),
        (r#"{"task": "SOURCE", "action": "reassign", "assignee": "sol"}"#, "without being dispatched"),
    ];
    let last = cards.len() - 1;
    for (i, ((card, task), (route, _))) in cards.iter().zip(decisions).enumerate() {
        home.hermes(&["claim", card]).ok();
        if i != last {
            // What a dispatcher does that a claim on the command line does not.
            home.spawned(card, dead_pid());
        }
        if decisions[i].1 == "moved on" {
            // The operator assigns it to sol, who goes on without the card.
            home.hermes(&["assign", task, "sol"]).ok();
        }
        let route: Value =
            serde_json::from_str(&route.replace("SOURCE", task).replace("CARD", card)).unwrap();
        let metadata = json!({"route": route}).to_string();
        home.hermes(&["complete", card, "--summary", "decided", "--metadata", &metadata]).ok();
    }
    let before: Vec<String> = cards.iter().map(|(_, task)| home.rows(task)).collect();
    let said = home.route();
    for (((card, task), (_, why)), before) in cards.iter().zip(decisions).zip(before) {
        let (accepted, refused, words) = noted(&home, card);
        assert_eq!((accepted, refused), (0, 1), "{why}: {words}");
        assert!(words.contains(why), "{why}: {words}");
        assert!(said.contains(card), "nobody is told of {card}: {said}");
        if why == "moved on" {
            let now = (home.task(task, "status"), home.task(task, "assignee"));
            assert_eq!(now, ("ready".into(), "sol".into()), "as the operator wanted it");
            continue;
        }
        assert_eq!(home.rows(task), before, "{why}: rows changed");
    }
    assert_eq!(home.value(&format!("SELECT count(*) FROM tasks WHERE id = '{elsewhere}'")), "0");
    let after = home.dump();
    home.route();
    assert!(home.dump() == after, "told twice");
    let tasks: Vec<&str> = cards.iter().flat_map(|(card, task)| [card.as_str(), task.as_str()]).collect();
    home.accepts(&tasks);
}
