//! From one limited provider to the other and back: that ends.

use super::super::home::Home;
use super::super::provider::Provider;
use crate::support::now;

/// Half hours a task is watched.
const ROUNDS: usize = 24;

#[test]
fn work_between_two_limited_providers_comes_to_rest_with_a_person() {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.configure(
        "[routing]\nmax_moves = 2\nmax_probes = 2\n\
         [profiles.luna]\nfallbacks = [\"sol\"]\n[profiles.sol]\nfallbacks = [\"luna\"]\n",
    );
    home.profile("luna", &provider.mode("r429"));
    home.profile("sol", &provider.mode("r529"));
    // Decides nothing, however often it is asked.
    home.profile("tuesday", &provider.mode("decide"));
    let task = home.create(&[]);
    let mut attempts = Vec::new();
    for _ in 0..ROUNDS {
        let started = home.would_start();
        let who = home.task(&task, "assignee");
        match who.as_str() {
            _ if !started.contains(&task) => {}
            "luna" => home.ends_on("luna", "r429.t_79a491c3.log", &provider.mode("r429")),
            _ => home.ends_on("sol", "r529.t_da3df14d.log", &provider.mode("r529")),
        }
        if started.contains(&task) {
            attempts.push(who);
        } else if !started.is_empty() {
            home.tick(&[]);
            home.await_workers();
        }
        home.round();
        let status = home.task(&task, "status");
        let waits =
            status != "scheduled" || home.payload(&task, "scheduled")["until"].as_i64().unwrap() > now();
        assert!(waits, "a hold without an end: {}", home.way(&task));
        home.accepts(&[&task]);
        home.age(1_800);
    }
    let way = home.way(&task);
    let ours = "json_extract(payload, '$.watchbill.sent.move') = 1";
    let moves = home.value(&format!(
        "SELECT count(*) FROM task_events WHERE task_id = '{task}' AND kind = 'assigned' AND {ours}"
    ));
    assert!(moves.parse::<i32>().unwrap() <= 2, "{moves} moves: {way}");
    assert!(attempts.len() <= 6, "{attempts:?}: {way}");
    assert_eq!(home.task(&task, "status"), "blocked", "{way}");
    assert!(home.payload(&task, "blocked")["cause"].is_string(), "nobody is asked: {way}");
    let before = home.dump();
    home.round();
    assert!(home.dump() == before, "rows changed");
}
