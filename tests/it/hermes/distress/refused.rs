//! Nobody at the endpoint: such things pass, so heal's resets come first.

use super::super::home::Home;

#[test]
fn a_refused_connection_gets_its_card_once_the_resets_are_used_up() {
    let Some(home) = Home::new() else { return };
    home.profile("tuesday", "http://127.0.0.1:9/nobody/v1");
    let task = home.create(&[]);
    home.tick(&[]);
    home.await_workers();
    // The first attempt is real; those after it say the same, without the minute they would take.
    let log = home.path().join(format!("kanban/logs/{task}.log"));
    let (echo, said) = (home.path().join("echo"), home.path().join("said"));
    std::fs::copy(&log, &said).unwrap();
    crate::support::executable(&echo, format!("#!/bin/sh\ncat {}\n", said.display()));
    let attempt = || {
        home.ran(home.run("hermes").args(["kanban", "dispatch"]).env("HERMES_BIN", &echo)).ok();
        home.await_workers();
        home.age(60);
    };
    home.age(60);
    for round in 0.. {
        while home.task(&task, "status") != "blocked" {
            attempt();
        }
        home.distress(&[]).ok();
        assert!(home.cards(&task).is_empty() || round == 3, "a card before reset {}", round + 1);
        if round == 3 {
            break;
        }
        home.age(3_000);
        let said = home.pass();
        assert!(said.of(&task).starts_with("reset crash-loop"), "{}", said.of(&task));
    }
    home.pass();
    home.distress(&[]).ok();
    let card = home.card(&task);
    assert_eq!((card.blocker.as_str(), card.status.as_str()), ("env_blocker", "ready"));
    assert!(card.body.contains("Connection error"), "{}", card.body);
    let before = home.dump();
    home.pass();
    home.distress(&[]).ok();
    assert!(home.dump() == before, "rows changed");
    home.accepts(&[&task, &card.id]);
}
