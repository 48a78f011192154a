//! A person decides behind our back, at every point of a task's way: what they decided stands, and nothing is stuck.

use super::super::home::Home;
use super::super::provider::Provider;

/// What a person may do to the source.
const DEEDS: [&str; 5] = ["unblock", "promote", "archive", "schedule", "assign"];

/// Whether Hermes did it: it refuses some with an exit code of 0.
fn does(home: &Home, deed: &str, task: &str) -> bool {
    let before = home.kinds(task);
    let more: &[&str] = match deed {
        "assign" => &["sol"],
        "promote" => &["--force"],
        _ => &[],
    };
    let _ = home.hermes(&[&[deed, task], more].concat());
    home.kinds(task) != before
}

/// Tasks whose provider refuses them, one for each deed, at one point of their way.
fn at(point: &str) {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.configure("[distress]\nmax_open_cards = 100\nstorm = \"off\"\n");
    home.profile("luna", &provider.mode("r429"));
    home.profile("sol", &provider.mode("ok"));
    home.profile("mira", &provider.mode("ok"));
    home.profile("tuesday", &provider.mode("slow"));
    let tasks: Vec<String> = DEEDS.iter().map(|_| home.create(&[])).collect();
    home.ends_on("luna", "r429.t_79a491c3.log", &provider.mode("r429"));
    let card = |task: &str| home.cards(task).into_iter().next().map(|c| c.id);
    match point {
        "before" => {}
        "carded" => {
            home.round();
        }
        _ => {
            home.round();
            for task in &tasks {
                let card = card(task).unwrap();
                home.hermes(&["claim", &card]).ok();
                if point == "answered" {
                    home.hermes(&["complete", &card, "--summary", "looked at it"]).ok();
                }
            }
        }
    }
    let stood: Vec<String> = tasks.iter().map(|t| home.way(t)).collect();
    home.age(60);
    let done: Vec<bool> = DEEDS.iter().zip(&tasks).map(|(deed, task)| does(&home, deed, task)).collect();
    let after = |task: &str| (home.task(task, "status"), home.task(task, "assignee"));
    let decided: Vec<_> = tasks.iter().map(|t| after(t)).collect();
    let mut waiting = true;
    for _ in 0..4 {
        home.round();
        home.age(60);
        if waiting && point == "claimed" {
            // Only now its orchestrator decides, and it comes too late.
            for (task, _) in tasks.iter().zip(&done).filter(|(_, done)| **done) {
                let route =
                    serde_json::json!({"route": {"task": task, "action": "reassign", "assignee": "mira"}});
                let card = card(task).unwrap();
                home.hermes(&["complete", &card, "--summary", "mira", "--metadata", &route.to_string()]).ok();
            }
            waiting = false;
        }
    }
    // Assigned to another profile and nothing more: it goes on when its hold is over.
    for _ in 0..4 {
        home.age(600);
        home.round();
    }
    for (i, (deed, task)) in DEEDS.iter().zip(&tasks).enumerate() {
        let story = format!("{point}, {deed} ({}): {} | {}", done[i], stood[i], home.way(task));
        let (status, assignee) = after(task);
        let open: Vec<_> = home
            .cards(task)
            .into_iter()
            .filter(|c| !["done", "archived"].contains(&c.status.as_str()))
            .collect();
        eprintln!(
            "{story}: {:?} -> {:?}, cards {:?}",
            decided[i],
            (&status, &assignee),
            open.iter().map(|c| &c.status).collect::<Vec<_>>()
        );
        if !done[i] {
            continue;
        }
        match *deed {
            // The operator said no, or not now: no watcher touches it again.
            "archive" | "schedule" => assert_eq!(status, decided[i].0, "{story}"),
            // Assigned to a profile: never taken away again.
            "assign" => assert_eq!((status.as_str(), assignee.as_str()), ("ready", "sol"), "{story}"),
            // Requeued: it may run at once, whatever its provider did before, and no card stands in its way.
            _ => assert_eq!(status, "ready", "{story}"),
        }
        assert!(open.is_empty(), "a card stays behind: {story}");
        assert_ne!(assignee, "mira", "{story}");
    }
    home.accepts(
        &tasks
            .iter()
            .zip(DEEDS)
            .filter(|(_, d)| *d != "archive")
            .map(|(t, _)| t.as_str())
            .collect::<Vec<_>>(),
    );
}

#[test]
fn before_anybody_wrote_a_card() {
    at("before");
}

#[test]
fn while_a_card_is_open() {
    at("carded");
}

#[test]
fn while_an_orchestrator_works_on_the_card() {
    at("claimed");
}

#[test]
fn after_the_card_was_completed() {
    at("answered");
}
