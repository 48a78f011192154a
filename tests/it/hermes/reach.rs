//! What is tried again by itself and only a person mends: an address where nobody answers, and a worker that cannot be started.

use serde_json::Value;

use super::home::Home;
use super::provider::Provider;
use crate::tools;

/// What needs a person of this cause now.
fn need(home: &Home, cause: &str) -> Option<Value> {
    let said = tools::run(home, &["status", "--json"]).json();
    said["needs"].as_array().unwrap().iter().find(|n| n["cause"] == cause).cloned()
}

/// How the provider of luna stands.
fn state(home: &Home) -> Value {
    let said = tools::run(home, &["providers", "--json"]).json();
    let all = said["providers"].as_array().unwrap().iter();
    let of_luna = |p: &&Value| p["profiles"].as_array().unwrap().iter().any(|name| name == "luna");
    all.clone().find(of_luna).unwrap()["state"].clone()
}

/// A tick of the dispatcher, the end of what it starts, and a pass of `heal` ten minutes later.
fn round(home: &Home) {
    home.tick(&[]);
    home.await_workers();
    home.age(60);
    home.hermes(&["dispatch"]).ok();
    home.await_workers();
    home.age(600);
    home.heal(&[]).ok();
}

#[test]
fn an_address_where_nobody_answers_needs_a_person_after_a_quarter_of_an_hour() {
    let Some(home) = Home::new() else { return };
    let tasks = [(); 2].map(|()| home.create(&[]));
    home.tick(&[]);
    home.await_workers();
    home.age(60);
    assert_eq!(need(&home, "connection_refused"), None, "a line that was cut for a minute wakes nobody");
    assert_eq!(state(&home), "healthy");
    for _ in 0..4 {
        round(&home);
    }
    let told = need(&home, "connection_refused").expect("a need");
    assert!(
        told["says"].as_str().unwrap().starts_with("127.0.0.1:9: nobody answers at this address; "),
        "{told}"
    );
    let named = told["tasks"].as_array().unwrap();
    assert!(tasks.iter().all(|task| named.iter().any(|t| t["id"] == **task)), "{told}");
    assert_eq!(told["key"], "connection_refused:default:127.0.0.1:9");
    assert_eq!(state(&home), "unreachable");

    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("ok"));
    for task in &tasks {
        let _ = home.hermes(&["unblock", task]);
    }
    home.tick(&[]);
    home.await_workers();
    assert_eq!(need(&home, "connection_refused"), None);
    assert_eq!(state(&home), "healthy");
}

#[test]
fn a_path_that_is_in_the_way_of_a_worker_is_told_as_soon_as_hermes_gave_up() {
    let Some(home) = Home::new() else { return };
    let file = home.path().join("a file");
    std::fs::write(&file, "no folder").unwrap();
    let path = file.join("work");
    let task = home.create(&["--workspace", &format!("dir:{}", path.display())]);
    home.tick(&[]);
    assert_eq!(need(&home, "spawn_error"), None, "once is no sign yet");
    home.tick(&[]);
    assert_eq!(home.task(&task, "status"), "blocked");
    let told = need(&home, "spawn_error").expect("a need");
    assert!(told["says"].as_str().unwrap().contains(&path.display().to_string()), "{told}");
    assert!(told["todo"].as_str().unwrap().contains("a file is in the way of "), "{told}");
    assert_eq!(told["run"], format!("hermes kanban unblock {task}"));
    // What heal tries meanwhile changes nothing of that.
    home.age(900);
    home.heal(&[]).ok();
    assert_eq!(home.task(&task, "status"), "ready");
    assert!(need(&home, "spawn_error").is_some());
    home.tick(&[]);
    home.await_workers();
    assert!(need(&home, "spawn_error").is_some());
}
