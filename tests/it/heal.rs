//! What one pass leaves on the board: rows, events, comments, counters; and what it skips.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::{TestBoard, dead_pid, hostname, now, ran};

#[test]
fn a_requeue_leaves_the_row_run_and_event_hermes_would() {
    let b = TestBoard::new();
    b.add("t_00000f01", "ready");
    let pid = dead_pid();
    let run = b.run_it("t_00000f01", Some(pid), 0);
    let lock = b.task("t_00000f01", "claim_lock");
    assert_eq!(
        b.later(900, &[]).ok(),
        format!("t_00000f01 requeue: worker {pid} gone, last heard from 15m ago (failure 1 of 2)\n")
    );
    let run_row = b.value(&format!(
        "SELECT json_object('status', status, 'outcome', outcome, 'error', error, 'lock', claim_lock, 'pid', worker_pid,
         'expires', claim_expires, 'ended', ended_at IS NOT NULL) FROM task_runs WHERE id = {run}"
    ));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&run_row).unwrap(),
        json!({"status": "crashed", "outcome": "crashed", "error": "worker gone (heal)", "lock": null, "pid": null,
               "expires": null, "ended": 1})
    );
    assert_eq!(b.task("t_00000f01", "current_run_id"), "NULL");
    assert_eq!(b.task("t_00000f01", "last_failure_error"), "worker gone (heal)");
    let payload = b.payload("t_00000f01", "crashed");
    assert_eq!(
        (&payload["pid"], &payload["claimer"], &payload["by"]),
        (&json!(pid), &json!(lock), &json!("heal"))
    );
    let ours = &payload["watchbill"];
    assert_eq!(
        (&ours["v"], &ours["case"], &ours["cause"]),
        (&json!(1), &json!("dead-worker"), &json!("worker_gone"))
    );
    assert_eq!(ours["before"]["status"], "running");
    assert_eq!(ours["after"]["status"], "ready");
    assert_eq!(ours["before"]["claim_lock"], json!(lock));
    assert!(ours["pass"].as_str().unwrap().contains("-heal-"));
}

// A foreign writer took milliseconds for the unit. Read as seconds, the attempt would begin in the year 58,000, and never be quiet.
#[test]
fn an_attempt_that_began_in_milliseconds_is_requeued_as_any_other() {
    let b = TestBoard::new();
    b.add("t_00000f01", "ready");
    let pid = dead_pid();
    b.run_it("t_00000f01", Some(pid), 0);
    b.sql("UPDATE tasks SET started_at = started_at * 1000; UPDATE task_runs SET started_at = started_at * 1000");
    assert_eq!(
        b.later(900, &[]).ok(),
        format!("t_00000f01 requeue: worker {pid} gone, last heard from 15m ago (failure 1 of 2)\n")
    );
    assert_eq!(b.task("t_00000f01", "status"), "ready");
}

#[test]
fn the_second_death_blocks_and_a_pass_right_after_changes_nothing() {
    let b = TestBoard::new();
    b.add("t_00000f02", "ready");
    b.sql("UPDATE tasks SET consecutive_failures = 1");
    b.run_it("t_00000f02", Some(dead_pid()), 0);
    assert!(b.later(900, &[]).ok().contains("t_00000f02 block: "));
    assert_eq!(b.kinds("t_00000f02"), "created claimed spawned crashed gave_up");
    assert_eq!(b.task("t_00000f02", "status"), "blocked");
    let gave_up = b.payload("t_00000f02", "gave_up");
    assert_eq!((&gave_up["failures"], &gave_up["limit_source"]), (&json!(2), &json!("dispatcher")));
    let before = b.dump();
    assert_eq!(b.later(900, &[]).ok(), "");
    assert_eq!(b.dump(), before);
}

#[test]
fn hermes_failure_limit_is_read_from_its_configuration() {
    let b = TestBoard::new();
    fs::write(b.path().join("config.yaml"), "kanban:\n  failure_limit: 5\n").unwrap();
    b.add("t_00000f03", "ready");
    b.sql("UPDATE tasks SET consecutive_failures = 1");
    b.run_it("t_00000f03", Some(dead_pid()), 0);
    assert!(b.later(900, &[]).ok().contains("(failure 2 of 5)"));
    assert_eq!(b.task("t_00000f03", "status"), "ready");
}

#[test]
fn a_failure_limit_that_cannot_be_read_gives_up_nothing() {
    let b = TestBoard::new();
    fs::write(b.path().join("config.yaml"), "kanban: {failure_limit: 5\n").unwrap();
    let failed = ["t_00000f03", "t_00000f04", "t_00000f05"];
    for id in failed {
        b.add(id, "ready");
        b.sql(&format!("UPDATE tasks SET consecutive_failures = 1 WHERE id = '{id}'"));
    }
    // One has a limit of its own; another was given up once, at a limit that is written there.
    b.sql("UPDATE tasks SET max_retries = 2 WHERE id = 't_00000f04'");
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000f05', 'gave_up',
           '{{\"effective_limit\":3,\"limit_source\":\"dispatcher\"}}', {at}), ('t_00000f05', 'unblocked', NULL, {at})",
        at = now() - 60
    ));
    for id in failed {
        b.run_it(id, Some(dead_pid()), 0);
    }
    let said = b.later(900, &[]);
    let why = "/config.yaml cannot be read: line 2 is not valid YAML: the failure limit is not known";
    assert!(said.code == 1 && said.err.matches(why).count() == 1, "{said:?}");
    for (id, counted, status) in [
        ("t_00000f03", "(failure 2 of a limit that is not known)", "ready"),
        ("t_00000f04", "(failure 2 of 2)", "blocked"),
        ("t_00000f05", "(failure 2 of 3)", "ready"),
    ] {
        assert!(said.out.lines().any(|l| l.starts_with(id) && l.contains(counted)), "{id}: {said:?}");
        assert_eq!(b.task(id, "status"), status, "{id}");
    }
}

#[test]
fn a_crash_loop_is_reset_three_times_and_escalated_once() {
    let b = TestBoard::new();
    b.give_up("t_00000f04", "pid 4 not alive", 900);
    let db = b.db.to_str().unwrap().to_owned();
    let mut at = now();
    for n in 1..=3 {
        let said = b.heal(&["--db", &db, "--now", &at.to_string()]).ok();
        assert!(said.contains(&format!("reset {n}")), "{said}");
        assert_eq!(b.task("t_00000f04", "status"), "ready");
        assert_eq!(b.payload("t_00000f04", "unblocked")["watchbill"]["reset"], json!(n));
        assert_eq!(b.payload("t_00000f04", "unblocked")["watchbill"]["clock"], "given");
        // It dies again, and Hermes gives up again.
        at += 60;
        b.sql(&format!(
            "UPDATE tasks SET status = 'blocked', consecutive_failures = 2, last_failure_error = 'pid 5 not alive';
             INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000f04', 'gave_up',
             '{{\"limit_source\":\"dispatcher\",\"error\":\"pid 5 not alive\"}}', {at});"
        ));
        if n < 3 {
            assert_eq!(b.heal(&["--db", &db, "--now", &at.to_string()]).ok(), "", "the wait doubles");
        }
        at += 7_200 * 2;
    }
    let said = b.heal(&["--db", &db, "--now", &at.to_string()]).ok();
    assert!(said.contains("t_00000f04 escalate: reset 3 times"), "{said}");
    let before = b.dump();
    for _ in 0..3 {
        at += 90_000;
        assert_eq!(b.heal(&["--db", &db, "--now", &at.to_string()]).ok(), "");
    }
    assert_eq!(b.dump(), before);
    assert_eq!(b.kinds("t_00000f04").matches("watchbill_escalated").count(), 1);
    // A person takes it up again: the counters start afresh.
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, created_at) VALUES ('t_00000f04', 'unblocked', {at});
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000f04', 'gave_up',
         '{{\"limit_source\":\"dispatcher\",\"error\":\"pid 6 not alive\"}}', {at});"
    ));
    at += 900;
    assert!(b.heal(&["--db", &db, "--now", &at.to_string()]).ok().contains("reset 1"));
}

#[test]
fn a_reset_tells_the_next_worker() {
    let b = TestBoard::new();
    b.give_up("t_00000f05", "pid 4 not alive", 900);
    b.heal(&[]).ok();
    assert_eq!(b.value("SELECT author FROM task_comments"), "heal");
    assert_eq!(b.value("SELECT count(*) FROM task_comments"), "1");
    assert!(b.kinds("t_00000f05").ends_with("gave_up unblocked commented"));
    assert_eq!(b.task("t_00000f05", "consecutive_failures"), "0");
    assert_eq!(b.task("t_00000f05", "last_failure_error"), "NULL");
}

#[test]
fn rate_limited_work_is_parked_and_resumed_once_its_hold_is_over() {
    let b = TestBoard::new();
    b.add("t_00000f06", "ready");
    b.run_it("t_00000f06", Some(dead_pid()), 0);
    let recording = include_str!("../fixtures/hermes-logs/r429.t_79a491c3.log");
    b.log("t_00000f06", &recording.replace("t_79a491c3", "t_00000f06"));
    // Just written: still quiet for too short a time.
    assert_eq!(b.heal(&[]).ok(), "");
    let db = b.db.to_str().unwrap().to_owned();
    let later = now() + 300;
    let said = b.heal(&["--db", &db, "--now", &later.to_string()]).ok();
    assert!(said.contains("t_00000f06 park: ") && said.contains("rate_limit"), "{said}");
    assert_eq!(b.task("t_00000f06", "status"), "scheduled");
    assert_eq!(b.value("SELECT outcome FROM task_runs"), "rate_limited");
    assert_eq!(b.task("t_00000f06", "consecutive_failures"), "0", "a hold is no failure");
    let hold = b.payload("t_00000f06", "scheduled");
    assert_eq!(hold["watchbill"]["hold"]["owner"], "heal");
    let until = hold["until"].as_i64().unwrap();
    assert!((later + 900..=later + 1_080).contains(&until));
    for at in [later, until - 1] {
        assert_eq!(b.heal(&["--db", &db, "--now", &at.to_string()]).ok(), "");
    }
    let said = b.heal(&["--db", &db, "--now", &until.to_string()]).ok();
    assert!(said.contains("t_00000f06 resume: "), "{said}");
    assert_eq!(b.task("t_00000f06", "status"), "ready");
    assert!(b.kinds("t_00000f06").ends_with("scheduled unblocked"));
}

#[test]
fn work_whose_worker_left_it_open_once_goes_on_without_a_card_and_the_second_time_gets_one() {
    let b = TestBoard::new();
    b.add("t_00000f0c", "ready");
    let recording = include_str!("../fixtures/hermes-logs/chat.t_8f3a3353.log");
    let one = recording.split("Query: ").nth(1).unwrap().replace("t_8f3a3353", "t_00000f0c");
    let attempt = |n: usize, began: i64| {
        b.run_it("t_00000f0c", Some(dead_pid()), now() - began);
        b.log("t_00000f0c", &format!("Query: {one}").repeat(n));
        let log = fs::File::options().append(true).open(b.path().join("kanban/logs/t_00000f0c.log")).unwrap();
        log.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(began as u64 + 20)).unwrap();
    };
    let start = now() - 600;
    attempt(1, start);
    let said = b.heal(&[]).ok();
    assert!(
        said.contains("t_00000f0c requeue: ") && said.contains("protocol_violation (for the first time)"),
        "{said}"
    );
    assert_eq!(b.task("t_00000f0c", "status"), "ready");
    assert_eq!(b.task("t_00000f0c", "consecutive_failures"), "0", "Hermes does not count it either");
    assert_eq!(b.payload("t_00000f0c", "reclaimed")["watchbill"]["cause"], "protocol_violation");
    assert_eq!(b.pass_of("synthesize-distress", 60, &[]).ok(), "", "nobody is asked about it");

    attempt(2, now() + 100);
    let said = b.later(1_000, &[]).ok();
    assert!(said.contains("t_00000f0c park: ") && said.contains("protocol_violation"), "{said}");
    let said = b.pass_of("synthesize-distress", 1_060, &[]).ok();
    assert!(said.contains("t_00000f0c card: The last attempt ended on protocol_violation"), "{said}");
}

#[test]
fn a_log_that_cannot_be_read_means_hands_off() {
    let b = TestBoard::new();
    for id in ["t_00000f07", "t_00000f08"] {
        b.add(id, "ready");
        b.run_it(id, Some(dead_pid()), 0);
    }
    let logs = b.path().join("kanban/logs");
    std::os::unix::fs::symlink("/etc/hostname", logs.join("t_00000f07.log")).unwrap();
    fs::create_dir(logs.join("t_00000f08.log")).unwrap();
    let before = b.dump();
    let said = b.later(900, &["-v"]);
    assert_eq!((said.code, said.out.matches("its log cannot be read").count()), (1, 2), "{said:?}");
    assert_eq!(b.dump(), before);
    // Without a word more each is told on a line of its own.
    let said = b.later(900, &[]);
    let told: Vec<&str> = said.err.lines().filter(|l| l.contains("its log cannot be read")).collect();
    assert!(said.code == 1 && told.len() == 2 && told[0].contains("t_00000f07"), "{said:?}");
}

#[test]
fn a_log_of_the_profile_that_cannot_be_read_means_hands_off_as_well() {
    let b = TestBoard::new();
    for id in ["t_00000f07", "t_00000f08"] {
        b.add(id, "ready");
        b.run_it(id, Some(dead_pid()), 0);
    }
    // What the worker's own log tells needs no other.
    b.log(
        "t_00000f08",
        "Query: work kanban task t_00000f08\n❌ API failed after 2 retries — HTTP 503: busy\n",
    );
    fs::create_dir_all(b.path().join("profiles/luna/logs/agent.log")).unwrap();
    let said = b.later(900, &[]);
    let why = "t_00000f07: ";
    let log = b.path().join("profiles/luna/logs/agent.log");
    let told =
        format!("but its log cannot be read: the log of its profile: {}: not a regular file", log.display());
    assert!(said.code == 1 && said.err.contains(why) && said.err.contains(&told), "{said:?}");
    assert_eq!(said.err.matches("cannot be read").count(), 1, "{said:?}");
    assert_eq!(
        (b.task("t_00000f07", "status"), b.task("t_00000f08", "status")),
        ("running".into(), "scheduled".into())
    );
}

#[test]
fn what_a_person_said_stands() {
    let b = TestBoard::new();
    for (n, id) in ["t_00000f10", "t_00000f11", "t_00000f12"].iter().enumerate() {
        b.add(id, "ready");
        b.run_it(id, Some(dead_pid()), i64::try_from(n).unwrap());
    }
    b.sql("UPDATE tasks SET body = 'Do it.' || char(10) || 'watchbill: no-heal' WHERE id = 't_00000f10'");
    b.hand(&["comment", "t_00000f11", "watchbill: no-heal", "--author", "maria"]).ok();
    b.hand(&["comment", "t_00000f12", "watchbill: no-heal", "--author", "luna"]).ok();
    b.give_up("t_00000f13", "pid 4 not alive", 9_000);
    b.sql(
        "UPDATE task_events SET payload = json_set(payload, '$.limit_source', 'task') WHERE kind = 'gave_up'",
    );
    b.give_up("t_00000f14", "pid 4 not alive", 9_000);
    b.sql("INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000f14', 'blocked', '{}', 5)");
    b.add("t_00000f15", "scheduled");
    b.sql("INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000f15', 'scheduled', '{}', 5)");
    let said = b.later(900, &["-v"]).ok();
    let about = |id: &str| said.lines().find(|l| l.starts_with(id)).unwrap_or("").to_owned();
    assert!(about("t_00000f10").contains("no-heal") && about("t_00000f11").contains("no-heal"), "{said}");
    assert!(about("t_00000f12").contains("requeue"), "a worker cannot opt out: {said}");
    assert!(about("t_00000f13").contains("limit set by hand"), "{said}");
    assert!(about("t_00000f14").contains("blocked by hand"), "{said}");
    assert!(about("t_00000f15").contains("scheduled outside Watchbill"), "{said}");
}

#[test]
fn whom_the_configuration_names_is_a_person_though_a_profile_has_that_name() {
    let mut b = TestBoard::new();
    for profile in ["anna", "luna"] {
        fs::create_dir_all(b.path().join("profiles").join(profile)).unwrap();
    }
    for id in ["t_00000f16", "t_00000f17"] {
        b.add(id, "ready");
        b.run_it(id, Some(dead_pid()), 600);
        b.hand(&["comment", id, "watchbill: no-heal", "--author", "anna"]).ok();
    }
    // This one she, or a worker of her name, worked on before.
    b.sql(
        "INSERT INTO task_runs (task_id, profile, status, outcome, started_at, ended_at)
             VALUES ('t_00000f17', 'anna', 'crashed', 'crashed', unixepoch() - 900, unixepoch() - 800)",
    );
    let of = |said: &str, id: &str| said.lines().find(|l| l.starts_with(id)).unwrap_or("").to_owned();
    let said = b.later(900, &["-n", "-v"]).ok();
    assert!(of(&said, "t_00000f16").contains("requeue"), "a profile is a worker: {said}");
    b.config.push_str("[people]\nassignee = \"anna\"\n");
    let said = b.later(900, &["-v"]).ok();
    assert!(of(&said, "t_00000f16").contains("marked `watchbill: no-heal`"), "{said}");
    assert!(of(&said, "t_00000f17").contains("requeue"), "{said}");
}

#[test]
fn a_row_with_a_time_in_milliseconds_is_named_and_stops_nothing() {
    let b = TestBoard::new();
    b.add("t_00000f20", "ready");
    b.run_it("t_00000f20", Some(dead_pid()), 900);
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, created_at) VALUES ('t_00000f20', 'commented', {})",
        now() * 1_000
    ));
    let r = b.heal(&[]);
    assert_eq!((r.code, b.task("t_00000f20", "status").as_str()), (1, "ready"), "{r:?}");
    assert!(r.err.contains("event `commented` of t_00000f20") && r.err.contains("milliseconds"), "{r:?}");
}

#[test]
fn a_pass_that_can_remember_nothing_says_so() {
    let b = TestBoard::new();
    b.add("t_00000f20", "ready");
    b.run_it("t_00000f20", Some(dead_pid()), 900);
    let state = b.path().join("state/watchbill");
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    let r = b.heal(&[]);
    assert_eq!((r.code, b.task("t_00000f20", "status").as_str()), (1, "ready"), "{r:?}");
    assert!(r.err.contains("nothing of this pass is remembered"), "{r:?}");
}

#[test]
fn a_clock_that_jumped_or_a_board_from_the_future_stops_it() {
    let b = TestBoard::new();
    b.add("t_00000f20", "ready");
    b.run_it("t_00000f20", Some(dead_pid()), 900);
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, created_at) VALUES ('t_00000f20', 'edited', {})",
        now() + 500
    ));
    let before = b.dump();
    let r = b.heal(&[]);
    assert_eq!(r.code, 1, "{r:?}");
    assert!(r.err.contains("in the future"), "{r:?}");
    assert_eq!(b.dump(), before);
    b.sql("DELETE FROM task_events WHERE kind = 'edited'");
    let before = b.dump();

    // The cache remembers the clock from the pass above; now the clock seems to be set back by a day.
    let cache = rusqlite::Connection::open(b.path().join("state/watchbill/state.db")).unwrap();
    cache.execute_batch("UPDATE clock SET offset = offset + 86400").unwrap();
    drop(cache);
    let r = b.heal(&[]);
    assert_eq!(r.code, 1, "{r:?}");
    assert!(r.err.contains("the wall clock moved"), "{r:?}");
    assert_eq!(b.dump(), before);
    // Noticed once, and then the new clock is the clock.
    assert!(b.heal(&[]).ok().contains("requeue"));
}

#[test]
fn an_idle_pass_remembers_nothing() {
    let b = TestBoard::new();
    b.add("t_00000f21", "ready");
    assert_eq!(b.heal(&[]).ok(), "");
    assert!(!b.path().join("state").exists());
}

#[test]
fn a_pass_with_nothing_to_decide_still_sees_that_the_clock_was_set() {
    let b = TestBoard::new();
    b.give_up("t_00000f23", "pid 4 not alive", 900);
    b.heal(&[]).ok();
    let cache = rusqlite::Connection::open(b.path().join("state/watchbill/state.db")).unwrap();
    let times_set = || {
        let sql = "SELECT count(*) FROM sightings WHERE key LIKE 'clock-set:%'";
        cache.query_row(sql, [], |r| r.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((b.heal(&[]).ok().as_str(), times_set()), ("", 0));
    cache.execute_batch("UPDATE clock SET offset = offset + 86400").unwrap();
    assert_eq!((b.heal(&[]).ok().as_str(), times_set()), ("", 1));

    // Without any memory yet, a worker at work is enough: its silence will be measured.
    let b = TestBoard::new();
    b.add("t_00000f24", "ready");
    b.run_it("t_00000f24", Some(i64::from(std::process::id())), 5);
    assert_eq!(b.heal(&[]).ok(), "");
    let cache = rusqlite::Connection::open(b.path().join("state/watchbill/state.db")).unwrap();
    assert_eq!(cache.query_row("SELECT count(*) FROM clock", [], |r| r.get::<_, i64>(0)).unwrap(), 1);
}

#[test]
fn losing_the_cache_changes_no_decision() {
    let b = TestBoard::new();
    b.give_up("t_00000f22", "pid 4 not alive", 900);
    b.heal(&[]).ok();
    let first = b.payload("t_00000f22", "unblocked")["watchbill"]["reset"].clone();
    let _ = fs::remove_dir_all(b.path().join("state"));
    b.sql(&format!(
        "UPDATE tasks SET status = 'blocked', consecutive_failures = 2, last_failure_error = 'pid 5 not alive';
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000f22', 'gave_up',
         '{{\"limit_source\":\"dispatcher\",\"error\":\"pid 5 not alive\"}}', {});",
        now()
    ));
    let later = (now() + 3_000).to_string();
    b.heal(&["--db", b.db.to_str().unwrap(), "--now", &later]).ok();
    assert_eq!(
        (first, b.payload("t_00000f22", "unblocked")["watchbill"]["reset"].clone()),
        (json!(1), json!(2))
    );
}

#[test]
fn json_is_one_object_also_when_there_is_nothing_to_say() {
    let b = TestBoard::new();
    let report = b.heal(&["--json"]).json();
    assert_eq!(report["schema"], "watchbill.report/1");
    assert_eq!(report["boards"][0]["steps"], json!([]));
    assert_eq!(report["boards"][0]["board"], "default");
    assert_eq!(report["dry_run"], false);
    assert!(report["now"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn pass_ids_can_be_fixed_and_terminals_are_not_steered() {
    let b = TestBoard::new();
    b.add("t_00000f30", "ready");
    b.run_it("t_00000f30", Some(dead_pid()), 900);
    b.sql("UPDATE tasks SET claim_lock = 'other' || char(27) || '[31mhost:5'");
    let r = ran(b.command("heal").args(["-v", "--json"]).env("WATCHBILL_PASS", "P1"));
    assert_eq!(r.json()["pass"], "P1");
    assert!(!b.heal(&["-v"]).ok().contains('\u{1b}'));
}

#[test]
fn every_board_of_the_root_gets_its_pass() {
    let b = TestBoard::new();
    b.add("t_00000f40", "ready");
    b.run_it("t_00000f40", Some(dead_pid()), 900);
    for slug in ["alpha", "beta", "put-away", "Not A Slug"] {
        let folder = b.path().join("kanban/boards").join(slug);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(&b.db, folder.join("kanban.db")).unwrap();
    }
    fs::write(b.path().join("kanban/boards/put-away/board.json"), "{\"archived\": true}").unwrap();
    let report = b.heal(&["-n", "--json"]).json();
    let names: Vec<_> = report["boards"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["board"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["default", "alpha", "beta"]);
    let text = b.heal(&["-n"]).ok();
    assert!(text.contains("[alpha] t_00000f40 requeue"), "{text}");
    assert_eq!(b.heal(&["-n", "--board", "beta", "--json"]).json()["boards"].as_array().unwrap().len(), 1);
    let pinned = ran(b.command("heal").args(["-n", "--json"]).env("HERMES_KANBAN_BOARD", "alpha"));
    assert_eq!(pinned.json()["boards"][0]["board"], "alpha");
    let pinned =
        ran(b.command("heal").args(["-n", "--json"]).env("HERMES_HOME", b.path().join("profiles/luna")));
    assert_eq!(pinned.json()["boards"].as_array().unwrap().len(), 3, "a profile's home is the root's");
    // A board that is announced but not there yet pins all the same, as in Hermes: not every board of the root.
    fs::create_dir_all(b.path().join("kanban/boards/gamma")).unwrap();
    fs::write(b.path().join("kanban/boards/gamma/board.json"), "{}").unwrap();
    assert!(ran(b.command("heal").env("HERMES_KANBAN_BOARD", "gamma")).fails(66).contains("gamma"));
}

/// Hermes takes another board without a word; so do we, with one.
#[test]
fn a_board_that_the_environment_names_and_that_is_not_there_is_told() {
    let b = TestBoard::new();
    b.add("t_00000f40", "ready");
    let folder = b.path().join("kanban/boards/alpha");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(&b.db, folder.join("kanban.db")).unwrap();
    let root = b.path().display().to_string();
    let said = |program: &str, args: &[&str], slug: &str| {
        let r = ran(b.command(program).args(args).env("HERMES_KANBAN_BOARD", slug));
        (r.code, r.err)
    };
    let line = |slug: &str, taken: &str| {
        format!(
            "HERMES_KANBAN_BOARD: there is no board {slug} in {root}; as Hermes would, this takes what it takes without that variable: {taken}\n"
        )
    };
    assert_eq!(said("heal", &["-n"], "typo"), (0, String::new()), "not in each pass of a timer");
    assert_eq!(said("board", &["list"], " Typo "), (0, line("Typo", "default")));
    assert_eq!(said("board", &["list"], "../up"), (0, line("../up", "default")));
    fs::write(b.path().join("kanban/current"), "alpha\n").unwrap();
    assert_eq!(said("board", &["list", "--json"], "typo"), (0, line("typo", "alpha")));
    for (args, slug) in [
        (&["list"][..], "alpha"),
        (&["list"], "default"),
        (&["list"], " "),
        (&["list", "-q"], "typo"),
        (&["list", "--board", "alpha"], "typo"),
        (&["list", "--db", b.db.to_str().unwrap()], "typo"),
        (&["list", "--hermes-root", &root], "typo"),
    ] {
        assert_eq!(said("board", args, slug), (0, String::new()), "{args:?} {slug}");
    }
}

#[test]
fn a_storm_is_probed_one_at_a_time() {
    let b = TestBoard::new();
    for n in 0..12 {
        b.give_up(&format!("t_0000e{n:03}"), "pid 4 not alive", 1_500 + n);
    }
    assert_eq!(b.heal(&["--task", "t_0000e003"]).ok().matches(" reset: ").count(), 1);
    assert_eq!(b.heal(&[]).ok(), "", "the next probe is ten minutes away");
    assert_eq!(b.heal(&["--task", "t_0000e004"]).ok(), "", "asking one by one does not get round it");
    let later = (now() + 601).to_string();
    let said = b.heal(&["--db", b.db.to_str().unwrap(), "--now", &later]).ok();
    assert_eq!(said.matches(" reset: ").count(), 1, "{said}");
}

#[test]
fn claims_of_this_host_only() {
    let b = TestBoard::new();
    b.add("t_00000f50", "ready");
    let past = now() - 5_000;
    b.sql(&format!("UPDATE tasks SET claim_lock = '{}:1', claim_expires = {past}", hostname()));
    let said = b.heal(&[]).ok();
    assert!(said.contains("t_00000f50 release: a claim on a ready task"), "{said}");
    assert_eq!(b.task("t_00000f50", "claim_lock"), "NULL");
    assert_eq!(b.payload("t_00000f50", "reclaimed")["prev_lock"], json!(format!("{}:1", hostname())));
}

#[test]
fn a_hands_off_is_heard_through_any_number_of_comments() {
    let b = TestBoard::new();
    b.add("t_00000f60", "ready");
    b.run_it("t_00000f60", Some(dead_pid()), 0);
    b.hand(&["comment", "t_00000f60", "watchbill: no-heal", "--author", "maria"]).ok();
    let conn = b.open();
    for n in 0..60 {
        conn.execute(
            "INSERT INTO task_comments (task_id, author, body, created_at) VALUES ('t_00000f60', 'luna', ?1, ?2)",
            (format!("note {n}"), now() + 1),
        )
        .unwrap();
    }
    let said = b.later(900, &["-v"]).ok();
    assert!(said.contains("t_00000f60 skipped: marked"), "{said}");
}

#[test]
fn another_hosts_row_that_lost_its_claim_is_still_another_hosts() {
    let b = TestBoard::new();
    b.add("t_00000f61", "ready");
    b.run_it("t_00000f61", Some(dead_pid()), 0);
    b.sql(
        "UPDATE task_runs SET claim_lock = 'otherhost:77';
         UPDATE tasks SET claim_lock = NULL, claim_expires = NULL, worker_pid = NULL;
         UPDATE task_events SET payload = '{\"lock\":\"otherhost:77\"}' WHERE kind = 'claimed'",
    );
    let before = b.dump();
    let said = b.later(900, &["-v"]).ok();
    assert!(said.contains("t_00000f61 unknown") && said.contains("otherhost"), "{said}");
    assert_eq!(b.dump(), before);
}

#[test]
fn a_board_that_lies_outside_its_root_keeps_its_logs() {
    let b = TestBoard::new();
    b.add("t_00000f62", "ready");
    b.run_it("t_00000f62", Some(dead_pid()), 0);
    let recording = include_str!("../fixtures/hermes-logs/r429.t_79a491c3.log");
    b.log("t_00000f62", &recording.replace("t_79a491c3", "t_00000f62"));
    let elsewhere = b.path().join("data");
    fs::create_dir(&elsewhere).unwrap();
    let moved = elsewhere.join("kanban.db");
    b.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    fs::rename(&b.db, &moved).unwrap();
    let at = (now() + 900).to_string();
    let pinned = ran(b.command("heal").args(["-n", "--now", &at]).env("HERMES_KANBAN_DB", &moved));
    assert!(pinned.clone().ok().contains("t_00000f62 park"), "{pinned:?}");
    // A link in the root, named as it lies there.
    std::os::unix::fs::symlink(&moved, &b.db).unwrap();
    assert!(b.later(900, &["-n"]).ok().contains("t_00000f62 park"));
    let root = b.path().to_str().unwrap();
    let named = ["-n", "--now", &at, "--db", moved.to_str().unwrap(), "--hermes-root", root];
    assert!(b.heal(&named).ok().contains("t_00000f62 park"));
}

#[test]
fn a_crash_loop_whose_worker_still_runs_is_left() {
    let b = TestBoard::new();
    b.give_up("t_00000f63", "pid 4 not alive", 900);
    let mut child = crate::support::worker("t_00000f63", 1);
    // Of which the board knows no worker: then it may be that worker itself.
    let said = b.heal(&["-n"]).ok();
    assert!(said.contains(&format!("t_00000f63 tell: process {}", child.pid())), "{said}");
    b.sql(&format!(
        "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
           VALUES ('t_00000f63', 1, 'spawned', '{{\"pid\":{}}}', {})",
        dead_pid(),
        now() - 950
    ));
    let said = b.heal(&["-v"]).ok();
    assert!(said.contains("t_00000f63 skipped: worker gone, waiting"), "{said}");
    assert!(child.is_running());
    child.kill();
    assert!(b.heal(&[]).ok().contains("t_00000f63 reset"));
}

#[test]
fn an_odd_counter_does_not_cost_its_neighbour_the_pass() {
    let b = TestBoard::new();
    for id in ["t_00000f64", "t_00000f65"] {
        b.add(id, "ready");
        b.run_it(id, Some(dead_pid()), 900);
    }
    b.sql(&format!("UPDATE tasks SET consecutive_failures = {} WHERE id = 't_00000f64'", i64::MAX));
    assert_eq!(b.heal(&[]).ok().lines().count(), 2);
    assert_eq!(b.task("t_00000f65", "status"), "ready");
}

#[test]
fn a_gateway_that_is_gone_gets_no_head_start() {
    let b = TestBoard::new();
    let lock = b.path().join("kanban/.dispatcher.lock");
    let mut gateway = std::process::Command::new("flock");
    gateway.arg("--no-fork").arg(&lock).args(["sleep", "600"]).stdin(std::process::Stdio::null());
    let mut gateway = crate::support::Kept(gateway.spawn().unwrap());
    let (ours, its) = (std::process::id(), gateway.pid());
    crate::support::until("the lock is held", || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|l| l.contains("FLOCK") && l.contains(&format!(" {its} ")))
    });
    b.add("t_00000001", "ready");
    b.run_it("t_00000001", Some(dead_pid()), 100);
    b.sql(&format!(
        "UPDATE task_events SET payload = replace(payload, ':{ours}\"', ':{its}\"');
         UPDATE tasks SET claim_lock = replace(claim_lock, ':{ours}', ':{its}');
         UPDATE task_runs SET claim_lock = replace(claim_lock, ':{ours}', ':{its}')"
    ));
    b.later(0, &[]).ok();
    gateway.kill();
    for (seconds, status) in [(1, "running"), (20, "running"), (40, "ready")] {
        b.later(seconds, &[]).ok();
        assert_eq!(b.task("t_00000001", "status"), status, "{seconds} s later");
    }
}

#[test]
fn a_task_of_a_profile_whose_key_is_refused_is_not_reset_by_time_alone() {
    let b = TestBoard::new();
    let home = b.path().join("profiles/luna");
    std::fs::create_dir_all(&home).unwrap();
    let config = "model:\n  default: m1\n  provider: custom\n  base_url: https://api.example/v1\n";
    std::fs::write(home.join("config.yaml"), config).unwrap();
    for id in ["t_00000f71", "t_00000f72"] {
        b.give_up(id, "pid 4242 not alive", 600);
    }
    b.log(
        "t_00000f71",
        "Query: work kanban task t_00000f71\nInitializing agent...\n\
         ⚠️  API call failed (attempt 1/2): AuthenticationError [HTTP 401]\n   🔌 Provider: custom  Model: m1\n   \
         🌐 Endpoint: https://api.example/v1\n❌ Non-retryable error (HTTP 401): HTTP 401: Incorrect API key provided\n",
    );
    let reset = || b.later(1_800, &["-n", "-v", "--task", "t_00000f72"]).ok();
    assert!(reset().contains("t_00000f72 reset"), "nobody noted it yet: {}", reset());
    ran(b.command("synthesize-distress").args(["--task", "t_00000f71"])).ok();
    let said = reset();
    assert!(said.contains("t_00000f72 skipped: the key of luna is refused"), "{said}");
    // Another key, and it goes on. (What the configuration said before was noted by the pass above.)
    std::fs::write(home.join("config.yaml"), config.replace("m1", "m2")).unwrap();
    b.later(1_860, &["-v", "--task", "t_00000f72"]).ok();
    assert_ne!(b.task("t_00000f72", "status"), "blocked", "{}", reset());
}

/// At 01:00Z the clock of Berlin is set back from 03:00 to 02:00, and Hermes writes the local time into its log.
#[test]
fn work_that_was_limited_in_the_hour_that_comes_twice_is_parked() {
    for (hour, wall) in [("00", "02"), ("01", "02"), ("02", "03")] {
        let b = TestBoard::new();
        b.add("t_00000d57", "ready");
        b.run_it("t_00000d57", Some(dead_pid()), 1_500);
        let at = shared::base::time::Time::parse(&format!("2026-10-25T{hour}:30:00Z")).unwrap().0;
        let by = at - now();
        b.sql(&format!(
            "UPDATE tasks SET created_at = created_at + {by}, started_at = started_at + {by},
               claim_expires = claim_expires + {by}, last_heartbeat_at = last_heartbeat_at + {by};
             UPDATE task_runs SET started_at = started_at + {by}, claim_expires = claim_expires + {by};
             UPDATE task_events SET created_at = created_at + {by};"
        ));
        let line = |minute: u32, rest: &str| format!("2026-10-25 {wall}:{minute:02}:00,380 {rest}\n");
        let begins = "INFO [s_1] agent.turn_context: conversation turn: session=s_1 model=m1 provider=custom platform=cli history=0";
        let refused = "WARNING [s_1] agent.conversation_loop: API call failed (attempt 1/9) error_type=RateLimitError provider=custom base_url=http://127.0.0.1:1/v1 model=m1 summary=HTTP 429: Rate limit reached, please slow down.";
        let mut log = line(10, &format!("{begins} msg='work kanban task t_00000d57'"));
        (11..15).for_each(|minute| log += &line(minute, refused));
        b.log("t_00000d57", "Query: work kanban task t_00000d57\nInitializing agent...\n");
        let file = b.path().join("profiles/luna/logs/agent.log");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, log).unwrap();
        let written = u64::try_from(at - 1_800 + 14 * 60).unwrap();
        let written = std::time::UNIX_EPOCH + std::time::Duration::from_secs(written);
        for file in [file, b.path().join("kanban/logs/t_00000d57.log")] {
            fs::File::options().append(true).open(file).unwrap().set_modified(written).unwrap();
        }
        let mut heal = b.command("heal");
        heal.env("TZ", "CET-1CEST,M3.5.0,M10.5.0/3").args(["-n", "-v", "--now", &at.to_string()]);
        let said = ran(&mut heal).ok();
        assert!(said.contains("t_00000d57 park") && !said.contains("requeue"), "{hour}: {said}");
    }
}
