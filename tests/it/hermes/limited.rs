//! Workers that died of a provider's limit: their work never goes back to the provider that limited it.

use super::home::Home;
use super::provider::Provider;

#[test]
fn work_that_died_of_a_limit_waits_and_is_resumed_once() {
    let Some(home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("r429"));
    let (parked, spent) = (home.create(&[]), home.create(&[]));
    home.hermes(&["dispatch"]).ok();
    for task in [&parked, &spent] {
        home.await_end(home.task(task, "worker_pid").parse().unwrap());
    }
    home.age(300);

    // A dead claim is released and the task held, in one step.
    home.heal(&["--task", &parked]).ok();
    assert_eq!(home.task(&parked, "status"), "scheduled");
    assert_eq!(home.way(&parked), "created claimed spawned scheduled commented");
    let hold = &home.payload(&parked, "scheduled")["watchbill"]["hold"];
    assert_eq!((&hold["owner"], &hold["cause"]), (&"heal".into(), &"rate_limit".into()), "{hold}");

    // The other one is tried again by Hermes and given up by its breaker, whose words hide the cause.
    home.hermes(&["dispatch"]).ok();
    home.await_end(home.task(&spent, "worker_pid").parse().unwrap());
    home.age(60);
    home.hermes(&["dispatch"]).ok();
    home.accepts(&[&parked, &spent]);
    assert_eq!(home.task(&spent, "status"), "blocked", "{}", home.kinds(&spent));
    let before = home.dump();
    let said = home.pass();
    assert!(said.of(&spent).starts_with("left: gave up: its log ends on rate_limit"), "{}", said.of(&spent));
    assert!(said.of(&parked).starts_with("left: held until"), "{}", said.of(&parked));
    assert!(home.dump() == before, "rows changed");

    // A quarter of an hour and its scatter later the hold is over; the other is for another watcher to move.
    home.age(1_200);
    let said = home.pass();
    assert!(said.of(&parked).starts_with("resume hold-over"), "{}", said.of(&parked));
    assert!(said.of(&spent).starts_with("left: gave up: its log ends on rate_limit"), "{}", said.of(&spent));
    assert_eq!(home.pass().steps(), 0);
    assert_eq!(home.way(&parked), "created claimed spawned scheduled commented unblocked");
    home.accepts(&[&parked, &spent]);

    home.profile("luna", &provider.mode("ok"));
    home.hermes(&["dispatch"]).ok();
    home.await_status(&parked, "done");
    home.accepts(&[&parked]);
}
