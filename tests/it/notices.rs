//! What lasts is said when it begins, changes and ends, and not every two minutes.

use std::fs;
use std::process::Command;

use rustix::fs::{FlockOperation, flock};

use crate::support::{Ran, TestBoard, now, ran, worker};

/// So many rounds, two minutes apart, the first one in `from` minutes.
fn rounds(b: &TestBoard, from: i64, count: i64) -> Vec<Ran> {
    let one = |n: i64| {
        let at = (now() + (from + 2 * n) * 60).to_string();
        ran(b.command("watchbill").arg("run").arg("--db").arg(&b.db).args(["--now", &at]))
    };
    (0..count).map(one).collect()
}

/// Lines of all rounds with this text.
fn said(rounds: &[Ran], what: &str) -> usize {
    let lines = rounds.iter().flat_map(|r| r.out.lines().chain(r.err.lines()));
    lines.filter(|line| line.contains(what)).count()
}

fn codes(rounds: &[Ran]) -> Vec<i32> {
    let mut codes: Vec<i32> = rounds.iter().map(|r| r.code).collect();
    codes.dedup();
    codes
}

fn forget(b: &TestBoard) {
    fs::remove_file(b.path().join("state/watchbill/state.db")).unwrap();
}

#[test]
fn a_notice_that_the_board_has_is_said_once() {
    let b = TestBoard::new();
    fs::create_dir_all(b.path().join("profiles/luna")).unwrap();
    b.add("t_000000a1", "ready");
    b.sql("UPDATE tasks SET assignee = 'ghost'");
    let first = rounds(&b, 10, 20);
    assert_eq!((said(&first, "there is no such profile"), codes(&first)), (1, vec![0]), "{first:?}");
    assert!(said(&first, "hermes profile create ghost --clone, or hermes kanban reassign") == 1, "{first:?}");
    forget(&b);
    let lost = rounds(&b, 50, 5);
    assert_eq!((said(&lost, "no such profile"), codes(&lost)), (0, vec![0]), "the board has it: {lost:?}");
    // Assigning it to another profile begins another episode.
    b.sql(&format!(
        "UPDATE tasks SET assignee = 'shade';
         INSERT INTO task_events (task_id, kind, payload, created_at)
           VALUES ('t_000000a1', 'assigned', '{{\"assignee\": \"shade\"}}', {})",
        now() + 3_600
    ));
    let other = rounds(&b, 70, 5);
    assert_eq!((said(&other, "ready for shade"), codes(&other)), (1, vec![0]), "{other:?}");
    // A call with `-v` or `--json` still tells it.
    let asked = b.pass_of("route-blocked", 5_000, &["-v"]);
    assert!(asked.err.contains("ready for shade"), "{asked:?}");
    let report = b.pass_of("route-blocked", 5_000, &["--json"]).json();
    let board = &report["boards"][0];
    assert_eq!((&board["notices"][0]["phase"], &board["exit"]), (&"lasts".into(), &0.into()), "{report:#}");
    assert_eq!(board["warnings"][0], board["notices"][0]["said"]);
}

#[test]
fn a_notice_of_no_task_is_said_when_it_begins_changes_and_ends() {
    let mut b = TestBoard::fleet();
    fs::create_dir_all(b.path().join("profiles/luna")).unwrap();
    let yaml = b.path().join("profiles/luna/config.yaml");
    fs::write(&yaml, "model: {provider: openai}\n").unwrap();
    b.add("t_000000a1", "ready");
    let clash = "profiles.luna says provider moon, its config.yaml says";
    let first = rounds(&b, 0, 20);
    assert_eq!((said(&first, clash), codes(&first)), (1, vec![0]), "{first:?}");
    forget(&b);
    let lost = rounds(&b, 40, 5);
    assert_eq!((said(&lost, clash), codes(&lost)), (1, vec![0]), "once more: {lost:?}");
    fs::write(&yaml, "model: {provider: anthropic}\n").unwrap();
    let other = rounds(&b, 50, 5);
    assert_eq!((said(&other, "says anthropic; make"), codes(&other)), (1, vec![0]), "{other:?}");
    assert_eq!(said(&other, &format!("no longer: {clash} openai")), 1, "{other:?}");
    // A dry run says what stands, and nothing of it counts as said.
    for _ in 0..2 {
        let looked = b.pass_of("route-blocked", 3_600, &["-n"]);
        assert!(looked.code == 0 && looked.err.contains("says anthropic"), "{looked:?}");
    }
    // What could not be looked at ends nothing.
    b.config = b.config.replace("provider = \"moon\"", "provider = \"anthropic\"");
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_000000a1', 'edited', '{{}}', {})",
        now() + 86_400
    ));
    let blind = rounds(&b, 60, 1);
    assert_eq!((said(&blind, "no longer"), codes(&blind)), (0, vec![1]), "{blind:?}");
    b.sql("DELETE FROM task_events WHERE kind = 'edited'");
    let over = rounds(&b, 62, 5);
    assert_eq!(
        (said(&over, "no longer"), said(&over, "config.yaml"), codes(&over)),
        (1, 1, vec![0]),
        "{over:?}"
    );
}

#[test]
fn a_stuck_dispatcher_is_said_once_by_one_watcher() {
    let b = TestBoard::new();
    b.add("t_000000a1", "ready");
    let held = fs::File::create(b.path().join("kanban.db.dispatch.lock")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    rounds(&b, 0, 1)[0].clone().ok();
    let wedged = rounds(&b, 6, 20);
    // The exit code says as long as it lasts that the pass is not whole.
    assert_eq!((said(&wedged, "dispatcher-wedged: "), codes(&wedged)), (1, vec![1]), "{wedged:?}");
    assert!(b.pass_of("heal", 3_000, &["-v"]).err.contains("has held"), "-v says it again");
    flock(&held, FlockOperation::Unlock).unwrap();
    let free = rounds(&b, 50, 5);
    assert_eq!((said(&free, "no longer: dispatcher-wedged"), codes(&free)), (1, vec![0]), "{free:?}");
    assert_eq!(said(&free, "dispatcher-wedged"), 1, "{free:?}");
}

#[test]
fn a_configuration_that_was_edited_under_a_healthy_worker_ends_nobody() {
    let b = TestBoard::new();
    fs::create_dir_all(b.path().join("profiles/luna")).unwrap();
    let yaml = b.path().join("profiles/luna/config.yaml");
    fs::write(&yaml, "model: {provider: openai, default: a}\n").unwrap();
    b.add("t_0000e17a", "ready");
    let mut works = worker("t_0000e17a", 1);
    b.run_it("t_0000e17a", Some(works.pid()), 30);
    assert_eq!(rounds(&b, 0, 1)[0].clone().ok(), "");
    fs::write(&yaml, "model: {provider: openai, default: b}\n").unwrap();
    let all = rounds(&b, 2, 4);
    assert_eq!(
        (said(&all, "the configuration of luna was last written"), codes(&all)),
        (1, vec![0]),
        "{all:?}"
    );
    assert_eq!((said(&all, "kill"), said(&all, "")), (0, 1), "{all:?}");
    assert_eq!(b.value("SELECT count(*) FROM task_comments"), "0");
    let mut why = b.command("watchbill");
    let why = ran(why.args(["why", "t_0000e17a", "--db"]).arg(&b.db)).ok();
    assert!(!why.contains("kill"), "{why}");
    assert!(works.is_running());
}

#[test]
fn a_pause_is_said_once_also_by_who_only_looks() {
    let b = TestBoard::new();
    b.add("t_000000a1", "ready");
    fs::write(b.path().join("watchbill.pause"), "").unwrap();
    let look = |args: &[&str]| {
        let mut pass: Command = b.command("budget-check");
        ran(pass.args(args))
    };
    let first = look(&[]);
    assert!(first.code == 0 && first.err.contains("nothing is changed meanwhile"), "{first:?}");
    for _ in 0..20 {
        let again = look(&[]);
        assert_eq!((again.code, again.err.as_str()), (0, ""));
    }
    assert!(look(&["-v"]).err.contains("nothing is changed meanwhile"));
}
