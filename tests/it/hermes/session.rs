//! A session that works on a task beside the real dispatcher, which sees a claim without a process.

use serde_json::json;

use super::home::Home;
use crate::coord::recorded;
use crate::support::{dead_pid, executable, hostname, now, ran};

/// As long as its server says that it works, `coord detect --record` renews its claim. Time is let pass, not waited for.
#[test]
fn a_session_of_40_minutes_is_never_dispatched_twice() {
    let Some(home) = Home::new() else { return };
    let (task, name) = (recorded::TASK, recorded::session("kill-sleeptool"));
    let server = recorded::answers(json!({name.as_str(): {"type": "busy"}}));
    recorded::keeps_sessions(&home);
    recorded::maps(&home, &name, &server.url);
    // The command that spawned it has ended.
    let lock = format!("{}:{}", hostname(), dead_pid());
    home.sql(&format!("UPDATE tasks SET claim_lock = '{lock}'; UPDATE task_runs SET claim_lock = '{lock}'"));
    let (worker, started) = (home.path().join("worker"), home.path().join("started"));
    executable(&worker, format!("#!/bin/sh\necho $HERMES_KANBAN_TASK >> {}\n", started.display()));
    let dispatch =
        || home.ran(home.run("hermes").args(["kanban", "dispatch"]).env("HERMES_BIN", &worker)).ok();
    for minute in 1..=40 {
        home.age(60);
        recorded::tool_since(&home, &name, now() - minute * 60);
        recorded::detect(&home, &server.url, &["--record"]).ok();
        if minute % 4 == 0 {
            dispatch();
            ran(home.command("heal").env("XDG_DATA_HOME", home.path().join("data"))).ok();
        }
        assert_eq!(home.task(task, "status || claim_lock"), format!("running{lock}"), "minute {minute}");
    }
    assert!(!started.exists());
    assert_eq!(home.value("SELECT count(*) FROM task_runs"), "1");
    let beats = home.value("SELECT count(*) FROM task_events WHERE kind = 'heartbeat'");
    assert!((5..=10).contains(&beats.parse().unwrap()), "{beats} renewals");
    home.accepts(&[task]);
    // Nobody looks any more: then it is dispatched, so that it would have been.
    home.age(20 * 60);
    dispatch();
    dispatch();
    assert!(std::fs::read_to_string(&started).unwrap().starts_with(task));
}
