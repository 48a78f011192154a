//! Watchers and workers at once over the same rows: with themselves, with each other, and with the worker that answers a card.

use std::collections::BTreeSet;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use testkit::generate::NO_PID;

use crate::route::REFUSED_KEY;
use crate::support::{Kept, TestBoard, now, ran, until};

const ROUNDS: u64 = 8;
const AT_ONCE: usize = 8;

fn start(b: &TestBoard, program: &str, args: &[&str]) -> Kept {
    let mut command = b.command(program);
    Kept(command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// Waits for all; how many found the board busy. Everything else has to be done.
#[track_caller]
fn wait(all: &mut [Kept]) -> usize {
    let codes: Vec<_> = all.iter_mut().map(|p| p.0.wait().unwrap().code()).collect();
    assert!(codes.iter().all(|c| matches!(c, Some(0 | 75))), "{codes:?}");
    codes.iter().filter(|c| **c == Some(75)).count()
}

#[test]
fn eight_passes_over_one_death_book_it_once() {
    for _ in 0..ROUNDS {
        let b = TestBoard::new();
        b.add("t_00000001", "ready");
        b.run_it("t_00000001", Some(NO_PID), 0);
        let (db, later) = (b.db.to_str().unwrap(), (now() + 900).to_string());
        let args = ["--db", db, "--now", &later];
        let mut all: Vec<_> = (0..AT_ONCE).map(|_| start(&b, "heal", &args)).collect();
        assert_eq!(wait(&mut all), 0);
        assert_eq!(b.kinds("t_00000001"), "created claimed spawned crashed commented");
        assert_eq!(b.task("t_00000001", "consecutive_failures || status"), "1ready");
        assert_eq!(b.value("SELECT count(*) FROM task_runs WHERE ended_at IS NOT NULL"), "1");
    }
}

#[test]
fn eight_passes_over_one_failure_write_one_card() {
    for _ in 0..ROUNDS {
        let b = TestBoard::new();
        b.died_of("t_00000001", REFUSED_KEY);
        let mut all: Vec<_> = (0..AT_ONCE).map(|_| start(&b, "synthesize-distress", &[])).collect();
        assert_eq!(wait(&mut all), 0);
        assert_eq!(b.value("SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%'"), "1");
        assert_eq!(b.value("SELECT count(*) FROM task_links"), "1");
        assert_eq!(b.value("SELECT count(*) FROM task_comments"), "1");
    }
}

#[test]
fn an_orchestrator_that_answers_while_its_card_is_looked_at_is_heard_once() {
    for round in 0..ROUNDS {
        let b = TestBoard::own();
        b.died_of("t_00000001", REFUSED_KEY);
        ran(&mut b.command("synthesize-distress")).ok();
        let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
        b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
        let route = json!({"route": {"task": "t_00000001", "action": "reassign", "assignee": "nova"}});
        let db = b.db.to_str().unwrap();
        let mut answer = None;
        let mut all = Vec::new();
        for n in 0..AT_ONCE {
            // Each round the answer comes at another place among them.
            if n as u64 == round {
                answer = Some(start(
                    &b,
                    "board",
                    &["--db", db, "complete", &card, "--metadata", &route.to_string()],
                ));
            }
            all.push(start(&b, "route-blocked", &[]));
            std::thread::sleep(Duration::from_millis(round));
        }
        wait(&mut all);
        assert_eq!(answer.unwrap().0.wait().unwrap().code(), Some(0), "an answer is never refused");
        ran(&mut b.command("route-blocked")).ok();
        assert_eq!(b.task("t_00000001", "assignee || status"), "novaready");
        let once = |kind: &str| {
            b.value(&format!(
                "SELECT count(*) FROM task_events WHERE task_id = 't_00000001' AND kind = '{kind}'"
            ))
        };
        assert_eq!(
            (once("assigned"), once("unblocked")),
            ("1".into(), "1".into()),
            "{}",
            b.kinds("t_00000001")
        );
        assert_eq!(b.task(&card, "status"), "done");
        let said = format!(
            "SELECT count(*) FROM task_comments WHERE task_id = '{card}' AND author = 'route-blocked'"
        );
        assert_eq!(b.value(&said), "1");
        assert_eq!(b.value("PRAGMA integrity_check"), "ok");
    }
}

/// A board with one task for each of those that are at once.
fn queue() -> TestBoard {
    let mut b = TestBoard::own();
    // So long that nobody gives up before the last one waits.
    b.config.push_str("[board]\nbusy_timeout = \"60s\"\n");
    (0..AT_ONCE).for_each(|n| b.add(&format!("t_{n:08x}"), "ready"));
    b
}

/// What each command says that is started while the board is locked. Once all of them wait, another process writes to the first task
/// and releases the lock.
fn while_the_first_task_is_written_to(b: &TestBoard, command: &dyn Fn() -> Command) -> Vec<String> {
    let writer = b.open();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut all: Vec<Kept> = (0..AT_ONCE)
        .map(|_| Kept(command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
        .collect();
    for one in &all {
        // Twice, a moment apart: it may have slept for another reason.
        let waits = || {
            let file = |name: &str| format!("/proc/{}/{name}", one.pid());
            let open = std::fs::read_dir(file("fd")).unwrap().flatten();
            let has_board = open.filter_map(|fd| std::fs::read_link(fd.path()).ok()).any(|path| path == b.db);
            let state = std::fs::read_to_string(file("stat")).unwrap();
            has_board && state.rsplit(") ").next().unwrap().starts_with('S')
        };
        until("it waits for the board", || {
            waits() && {
                std::thread::sleep(Duration::from_millis(50));
                waits()
            }
        });
    }
    let said =
        "INSERT INTO task_events (task_id, kind, created_at) VALUES ('t_00000000', 'edited', 1); COMMIT";
    writer.execute_batch(said).unwrap();
    all.iter_mut()
        .map(|one| {
            let (mut out, mut err) = (String::new(), String::new());
            one.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
            one.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
            assert_eq!((one.0.wait().unwrap().code(), err.as_str()), (Some(0), ""));
            out
        })
        .collect()
}

#[test]
fn of_as_many_claims_as_tasks_each_gets_one_whatever_is_written_meanwhile() {
    let b = queue();
    let claim = || {
        let mut command = b.command("board");
        command.arg("--db").arg(&b.db).args(["claim", "--worker", "luna"]);
        command
    };
    let said = while_the_first_task_is_written_to(&b, &claim);
    let taken: BTreeSet<&str> = said.iter().map(String::as_str).collect();
    let want: Vec<String> = (0..AT_ONCE).map(|n| format!("t_{n:08x}\n")).collect();
    assert_eq!(taken, want.iter().map(String::as_str).collect());
    let once = "SELECT count(*) || '/' || count(DISTINCT task_id) FROM task_events WHERE kind = 'claimed'";
    assert_eq!(b.value(once), format!("{AT_ONCE}/{AT_ONCE}"));
    assert_eq!(ran(&mut claim()).ok(), "");
}

#[test]
fn of_as_many_harnesses_as_tasks_each_works_on_one_whatever_is_written_meanwhile() {
    let b = queue();
    let run = || {
        let mut command = b.command("board");
        command.arg("--db").arg(&b.db).args(["run", "--assignee", "luna", "--", "true"]);
        command
    };
    let said = while_the_first_task_is_written_to(&b, &run);
    let done: BTreeSet<&str> = said.iter().map(String::as_str).collect();
    let want: Vec<String> = (0..AT_ONCE).map(|n| format!("t_{n:08x} done\n")).collect();
    assert_eq!(done, want.iter().map(String::as_str).collect());
    let runs = "SELECT count(*) || '/' || count(DISTINCT task_id) FROM task_runs WHERE outcome = 'completed'";
    assert_eq!(b.value(runs), format!("{AT_ONCE}/{AT_ONCE}"));
    assert_eq!(b.value("PRAGMA integrity_check"), "ok");
}

/// A worker that waits for a task asks again and again: that neither waits for a writer nor holds one up.
#[test]
fn with_nothing_ready_nobody_waits_for_the_board() {
    let b = TestBoard::own();
    b.add("t_00000001", "blocked");
    b.add("t_00000002", "todo");
    b.sql("INSERT INTO task_links VALUES ('t_00000001', 't_00000002')");
    let writer = b.open();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(b.hand(&["claim", "--worker", "luna"]).ok(), "");
    assert_eq!(b.hand(&["run", "--assignee", "luna", "--", "true"]).ok(), "");
}
