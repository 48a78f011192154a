//! Watchers at once over the same rows: with themselves, with each other, and with whoever answers a card.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use testkit::generate::NO_PID;

use crate::route::REFUSED_KEY;
use crate::support::{Kept, TestBoard, now, ran};

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
