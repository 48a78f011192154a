//! Each card is a session of its own, with an orchestrator whose provider answers.

use super::super::home::Home;
use super::super::provider::Provider;

/// A conversation without what Hermes itself tells of the assignee's finished tasks in any session: their titles and one
/// line each, once one of two sessions ends before the other one reads its card.
fn without_recent(prompt: &str) -> String {
    let mut parts = prompt.split("## Recent work by @");
    let first = parts.next().unwrap_or_default().to_owned();
    // It is the end of a text in JSON.
    parts.fold(first, |all, part| all + part.split_once('"').map_or("", |(_, rest)| rest))
}

#[test]
fn two_cards_are_two_sessions_that_know_nothing_of_each_other() {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.configure("[distress]\nmax_open_cards = 2\n");
    home.profile("luna", &provider.mode("r404"));
    home.profile("tuesday", &provider.mode("decide"));
    let words = ["amber", "cobalt"];
    let tasks = words.map(|word| home.create(&["--body", &format!("Count the {word} ones.")]));
    home.ends_on("luna", "r404.t_f1037397.log", &provider.mode("r404"));
    home.round();
    let cards = tasks.each_ref().map(|task| home.card(task).id);
    home.tick(&[]);
    cards.iter().for_each(|card| home.await_status(card, "done"));
    home.await_workers();

    let questions = provider.questions("decide");
    let mut sessions = Vec::new();
    for (i, card) in cards.iter().enumerate() {
        let asked: Vec<_> = questions.iter().filter(|q| q.task == *card).collect();
        assert!(asked.len() >= 2, "{card} was not asked about");
        let all: String = asked.iter().map(|q| without_recent(&q.prompt)).collect();
        assert!(all.contains(&tasks[i]), "its prompt does not name its task");
        let other = 1 - i;
        for foreign in [&cards[other], &tasks[other], words[other]] {
            assert!(!all.contains(foreign), "the session of {card} knows of {foreign}");
        }
        home.await_end(home.payload(card, "spawned")["pid"].as_i64().unwrap());
        let log = std::fs::read_to_string(home.path().join(format!("kanban/logs/{card}.log"))).unwrap();
        let session = log.lines().find_map(|l| l.strip_prefix("Session:")).unwrap().trim().to_owned();
        sessions.push(session);
    }
    assert_ne!(sessions[0], sessions[1]);
}

#[test]
fn an_orchestrator_on_the_limited_provider_is_stood_in_for() {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.configure("[orchestrator]\nfallbacks = [\"wednesday\"]\n");
    home.profile("luna", &provider.mode("r429"));
    // Of luna's provider, and so never asked while that refuses.
    home.profile("tuesday", &provider.beside("r402", "r429"));
    home.profile("wednesday", &provider.mode("decide"));
    home.profile("sol", &provider.mode("ok"));
    let task = home.create(&[]);
    home.ends_on("luna", "r429.t_79a491c3.log", &provider.mode("r429"));
    home.round();
    let card = home.card(&task);
    assert_eq!((card.assignee.as_str(), card.status.as_str()), ("wednesday", "ready"));
    provider.decides(&task, &serde_json::json!({"task": task, "action": "reassign", "assignee": "sol"}));
    home.tick(&[]);
    home.await_status(&card.id, "done");
    home.await_workers();
    home.round();
    assert_eq!((home.task(&task, "assignee"), home.task(&task, "status")), ("sol".into(), "ready".into()));
    assert!(provider.questions("r402").is_empty(), "tuesday was asked");
    home.accepts(&[&task, &card.id]);
}

#[test]
fn a_card_whose_orchestrator_dies_of_a_limit_moves_and_is_no_second_card() {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.configure("[orchestrator]\nfallbacks = [\"wednesday\"]\n");
    home.profile("luna", &provider.mode("r404"));
    home.profile("tuesday", &provider.mode("r429"));
    home.profile("wednesday", &provider.mode("decide"));
    let task = home.create(&[]);
    home.ends_on("luna", "r404.t_f1037397.log", &provider.mode("r404"));
    home.round();
    let card = home.card(&task);
    assert_eq!((card.assignee.as_str(), card.status.as_str()), ("tuesday", "ready"));
    home.ends_on("tuesday", "r429.t_79a491c3.log", &provider.mode("r429"));
    home.round();
    home.round();
    let card = home.card(&task);
    let way = home.way(&card.id);
    assert_eq!((card.assignee.as_str(), card.status.as_str()), ("wednesday", "ready"), "{way}");
    provider.decides(&task, &serde_json::json!({"task": task, "action": "human"}));
    home.tick(&[]);
    home.await_status(&card.id, "done");
    home.await_workers();
    home.round();
    assert_eq!(home.payload(&task, "blocked")["cause"], "orchestrator", "{}", home.way(&task));
    home.accepts(&[&task, &card.id]);
}

#[test]
fn without_any_orchestrator_that_works_a_card_waits_with_an_end() {
    let Some(home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("r429"));
    home.profile("tuesday", &provider.beside("ok", "r429"));
    let task = home.create(&[]);
    home.ends_on("luna", "r429.t_79a491c3.log", &provider.mode("r429"));
    home.round();
    let said = home.round();
    assert!(said.contains("orchestrator.fallbacks"), "nobody is told: {said}");
    let card = home.card(&task);
    assert_eq!((card.assignee.as_str(), card.status.as_str()), ("tuesday", "scheduled"));
    assert!(home.payload(&card.id, "scheduled")["until"].as_i64().unwrap() > crate::support::now());
    assert!(home.would_start().is_empty());
    // The hold of the provider ends: the task itself probes it, or the card is asked about.
    for _ in 0..4 {
        home.age(1_200);
        home.round();
    }
    assert!(!home.would_start().is_empty(), "{} and {}", home.way(&task), home.way(&card.id));
    home.accepts(&[&task, &card.id]);
}
