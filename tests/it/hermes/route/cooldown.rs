//! Hermes waits 300 s after a run that ended on a limit, whichever profile has the task by then. A move lifts that.

use super::super::dispatcher::Dispatcher;
use super::super::home::Home;
use super::super::provider::Provider;

#[test]
fn moved_work_starts_with_the_next_tick_and_work_given_by_hand_waits() {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.configure("[profiles.luna]\nfallbacks = [\"sol\"]\n");
    home.profile("luna", &provider.mode("r429"));
    home.profile("sol", &provider.mode("ok"));
    home.profile("tuesday", &provider.mode("slow"));
    let (moved, given) = (home.create(&[]), home.create(&[]));
    // Hermes 0.19 knows the exit code of a limit, but its workers give it only in rare modes; later ones always do.
    let limited = home.ending("luna", "r429.t_79a491c3.log", &provider.mode("r429"), 75);
    let mut dispatcher = Dispatcher::with(&home, 4, &[("HERMES_BIN", &limited)]);
    assert_eq!(dispatcher.starts().len(), 2);
    home.await_workers();
    std::thread::sleep(std::time::Duration::from_secs(1)); // the grace of a crash
    let tick = dispatcher.tick();
    assert_eq!(tick["spawned"].as_array().unwrap().len(), 0, "{tick}");
    for task in [&moved, &given] {
        assert!(home.way(task).contains("claimed spawned rate_limited"), "{}", home.way(task));
    }

    // By hand, as the documentation of Hermes has it: the pause stays, for it hangs on the newest run.
    home.hermes(&["assign", &given, "sol"]).ok();
    home.round();
    assert_eq!(home.task(&moved, "assignee"), "sol", "{}", home.way(&moved));
    let newest = format!("task_runs WHERE task_id = '{moved}' ORDER BY id DESC LIMIT 1");
    assert_eq!(home.value(&format!("SELECT outcome FROM {newest}")), "reclaimed");
    assert_eq!(home.value(&format!("SELECT ended_at - started_at FROM {newest}")), "0");
    home.accepts(&[&moved, &given]);

    let tick = dispatcher.tick();
    assert_eq!(tick["spawned"], serde_json::json!([[moved, "sol"]]), "{tick}");
    assert_eq!(tick["guarded"], serde_json::json!([[given, "rate_limit_cooldown"]]), "{tick}");
    home.await_status(&moved, "done");
    home.await_workers();
    assert!(home.round().is_empty());
    home.age(300);
    assert_eq!(dispatcher.starts(), [(given.clone(), "sol".to_owned())]);
    home.await_status(&given, "done");
    home.accepts(&[&moved, &given]);
}
