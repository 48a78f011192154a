//! Plan first, apply later: exactly those steps, under the same guards.

use std::fs;

use serde_json::Value;

use crate::support::{TestBoard, dead_pid, hostname, now};

fn board() -> TestBoard {
    let b = TestBoard::new();
    for n in 1..=3 {
        let id = format!("t_000000c{n}");
        b.add(&id, "ready");
        b.run_it(&id, Some(dead_pid()), 900);
    }
    b
}

fn plan(b: &TestBoard) -> (String, Value) {
    let text = b.heal(&["--dry-run", "--json"]).ok();
    let file = b.path().join("plan.json");
    fs::write(&file, &text).unwrap();
    (file.to_str().unwrap().to_owned(), serde_json::from_str(&text).unwrap())
}

#[test]
fn shows_every_step_with_what_it_expects_and_applies_just_those() {
    let b = board();
    let before = b.dump();
    let (file, report) = plan(&b);
    assert_eq!(b.dump(), before);
    assert_eq!(report["schema"], "watchbill.report/1");
    assert_eq!(report["plan"]["schema"], "watchbill.plan/1");
    let steps = report["boards"][0]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3);
    for step in steps {
        assert_eq!(step["outcome"], "planned");
        assert_eq!(step["expect"]["status"], "running");
        assert!(step["expect"]["claim_lock"].is_string() && step["because"].is_string());
    }
    // Meanwhile one worker reported in, one task was edited by hand, and a fourth died.
    b.sql(&format!(
        "UPDATE tasks SET claim_expires = {}, last_heartbeat_at = {} WHERE id = 't_000000c1'",
        now() + 900,
        now()
    ));
    b.sql(
        "INSERT INTO task_events (task_id, kind, created_at) VALUES ('t_000000c2', 'edited', strftime('%s'))",
    );
    b.add("t_000000c4", "ready");
    b.run_it("t_000000c4", Some(dead_pid()), 900);
    let report = b.heal(&["--plan", &file, "--json"]).json();
    let outcome = |n: usize| report["boards"][0]["steps"][n]["outcome"].as_str().unwrap().to_owned();
    assert_eq!([outcome(0), outcome(1), outcome(2)], ["moved", "moved", "applied"]);
    assert_eq!(report["boards"][0]["steps"][0]["moved"], "claim expiry");
    assert_eq!(report["boards"][0]["steps"][1]["moved"], "history");
    assert_eq!(b.task("t_000000c3", "status"), "ready");
    assert_eq!(b.task("t_000000c4", "status"), "running", "it was not in the plan");

    // The same plan again holds nothing any more.
    let dump = b.dump();
    let report = b.heal(&["--plan", &file, "--json"]).json();
    assert!(report["boards"][0]["steps"].as_array().unwrap().iter().all(|s| s["outcome"] == "moved"));
    assert_eq!(b.dump(), dump);
}

#[test]
fn a_plan_for_another_machine_board_day_or_program_is_refused() {
    let b = board();
    let (file, report) = plan(&b);
    let before = b.dump();
    let with = |edit: &dyn Fn(&mut Value)| {
        let mut plan = report["plan"].clone();
        edit(&mut plan);
        fs::write(&file, plan.to_string()).unwrap();
        b.heal(&["--plan", &file]).fails(65)
    };
    assert!(with(&|p| p["host"] = "elsewhere".into()).contains(&hostname()));
    assert!(with(&|p| p["now"] = (now() - 90_000).into()).contains("not within a day"));
    assert!(with(&|p| p["program"] = "route-blocked".into()).contains("route-blocked"));
    assert!(with(&|p| p["schema"] = "watchbill.plan/9".into()).contains("watchbill.plan/9"));
    assert!(
        with(&|p| p["boards"][0]["steps"][0]["changes"] = serde_json::json!([{"drop_table": 1}]))
            .contains("not a plan")
    );
    fs::write(&file, "{").unwrap();
    assert!(b.heal(&["--plan", &file]).fails(65).contains("not JSON"));
    assert!(b.heal(&["--plan", "/no/such/plan"]).fails(66).contains("/no/such/plan"));
    let linked = b.path().join("linked.db");
    std::os::unix::fs::symlink(&b.db, &linked).unwrap();
    let moved = |p: &mut Value| p["boards"][0]["path"] = linked.to_str().unwrap().into();
    assert!(with(&moved).contains("another board now"));
    assert_eq!(b.dump(), before);
}

#[test]
fn a_worker_that_came_back_after_the_plan_is_left_alone() {
    let b = TestBoard::new();
    b.add("t_000000d1", "ready");
    let run = b.run_it("t_000000d1", Some(dead_pid()), 900);
    let (file, _) = plan(&b);
    let mut worker = crate::support::worker("t_000000d1", run);
    // Its pid is the one on the row now, as if the number had been given again to the worker itself.
    b.sql(&format!("UPDATE tasks SET worker_pid = {} WHERE id = 't_000000d1'", worker.pid()));
    let report = b.heal(&["--plan", &file, "--json"]).json();
    assert_eq!(report["boards"][0]["steps"][0]["outcome"], "moved");
    assert_eq!(b.task("t_000000d1", "status"), "running");
    assert!(worker.is_running());
}

#[test]
fn a_plan_names_its_own_boards_and_tasks() {
    let b = board();
    let (file, _) = plan(&b);
    for args in
        [&["--db", "/no/such.db"][..], &["--board", "x"], &["--hermes-root", "/"], &["--task", "t_000000c1"]]
    {
        let mut all = vec!["--plan", &file];
        all.extend(args);
        assert_eq!(b.heal(&all).code, 2, "{args:?}");
    }
    assert_eq!(b.task("t_000000c1", "status"), "running");
}

#[test]
fn task_narrows_to_one() {
    let b = board();
    assert!(b.heal(&["--task", "t_ffffffff"]).fails(1).contains("no such task"));
    assert_eq!(b.heal(&["--task", "t_000000c2"]).ok().lines().count(), 1);
    assert_eq!(b.task("t_000000c2", "status"), "ready");
    assert_eq!(b.task("t_000000c1", "status"), "running");
}

#[test]
fn what_was_seen_can_be_decided_again() {
    let b = board();
    let text = b.heal(&["-n", "-v", "--json"]).ok();
    let file = b.path().join("seen.json");
    fs::write(&file, &text).unwrap();
    let again = b.heal(&["--facts", file.to_str().unwrap(), "--json"]).json();
    let first: Value = serde_json::from_str(&text).unwrap();
    let because = |r: &Value| -> Vec<String> {
        r["boards"][0]["steps"].as_array().unwrap().iter().map(|s| s["because"].to_string()).collect()
    };
    assert_eq!(because(&again), because(&first));
    assert_eq!(because(&first).len(), 3);
}
