//! A worker that writes its card itself.

use super::super::home::Home;
use super::super::provider::Provider;

#[test]
fn a_worker_told_the_protocol_stops_and_writes_its_card() {
    let Some(home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.login_path();
    for name in ["told", "untold"] {
        home.profile(name, &provider.mode("guided"));
    }
    home.profile("tuesday", &provider.mode("ok"));
    let text = crate::support::ran(home.command("board").args(["protocol", "worker"])).ok();
    std::fs::write(home.path().join("profiles/told/SOUL.md"), text).unwrap();
    let told = home.create(&["--assignee", "told"]);
    let goal = home.create(&["--assignee", "told", "--goal", "--goal-max-turns", "3"]);
    let untold = home.create(&["--assignee", "untold"]);
    home.tick(&[]);
    let pids = [&told, &goal].map(|task| home.payload(task, "spawned")["pid"].as_i64().unwrap());
    home.await_status(&untold, "done");
    // Hermes urges them to complete what they just handed over, and the first one gives in.
    pids.into_iter().for_each(|pid| home.await_end(pid));

    stopped(&home, &told);
    stopped(&home, &goal);
}

/// The card is there, and the source waits for a decision on it.
#[track_caller]
fn stopped(home: &Home, told: &str) {
    assert_eq!(home.task(told, "status"), "blocked", "{}", home.kinds(told));
    let card = home.card(told);
    assert_eq!(card.blocker, "scope_boundary");
    assert_eq!((card.status.as_str(), card.assignee.as_str()), ("ready", "tuesday"));
    for said in
        ["- Worker: told", "- Completed: counted the lanterns", "- Needs: somebody who may touch the lamps"]
    {
        assert!(card.body.lines().any(|l| l == said), "{said}: {}", card.body);
    }
    assert_eq!(home.task(told, "claim_lock"), "NULL");
    assert_eq!(
        home.value(&format!("SELECT outcome FROM task_runs WHERE task_id = '{told}'")),
        "blocked",
        "the run is closed"
    );
    assert!(home.way(told).starts_with("created claimed spawned"), "{}", home.way(told));
    home.accepts(&[told, &card.id]);

    // Nobody but a decision lifts it: neither the dispatcher nor we.
    let rows = home.rows(told);
    home.distress(&[]).ok();
    home.heal(&[]).ok();
    let started = home.would_start();
    assert!(started.contains(&card.id) && !started.iter().any(|t| t == told), "{started:?}");
    assert_eq!(home.rows(told), rows);
    assert_eq!(home.cards(told).len(), 1);
}
