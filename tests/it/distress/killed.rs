//! `kill -9` inside a pass of `synthesize-distress`: one card afterwards, and a whole one.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Instant;

use super::{BUDGET, LIMITED, REFUSED_KEY};
use crate::support::{Kept, TestBoard, ran};

const ROUNDS: u32 = 30;
const SOURCES: usize = 6;

fn board() -> TestBoard {
    let b = TestBoard::new();
    for i in 0..SOURCES {
        b.given_up(&format!("t_{i:08x}"), [LIMITED, REFUSED_KEY, BUDGET][i % 3]);
    }
    b
}

/// Every card is there with its link, its event and its comment, or not at all.
fn whole(b: &TestBoard) -> String {
    assert_eq!(b.value("PRAGMA integrity_check"), "ok");
    for half in [
        "SELECT count(*) FROM tasks c WHERE c.title LIKE '[BLOCKED]%' AND NOT EXISTS
           (SELECT 1 FROM task_links l WHERE l.parent_id = c.id)",
        "SELECT count(*) FROM tasks c WHERE c.title LIKE '[BLOCKED]%' AND NOT EXISTS
           (SELECT 1 FROM task_events e WHERE e.task_id = c.id AND e.kind = 'created')",
        "SELECT count(*) FROM task_links l WHERE NOT EXISTS
           (SELECT 1 FROM task_comments c WHERE c.task_id = l.child_id)",
        "SELECT count(*) FROM task_links l WHERE NOT EXISTS
           (SELECT 1 FROM task_events e WHERE e.task_id = l.child_id AND e.kind = 'linked')",
    ] {
        assert_eq!(b.value(half), "0", "{half}");
    }
    b.value("SELECT count(*) FROM task_links")
}

#[test]
fn killed_anywhere_the_next_pass_leaves_one_whole_card_each() {
    let undisturbed = board();
    let began = Instant::now();
    ran(&mut undisturbed.command("synthesize-distress")).ok();
    let mut took = began.elapsed();
    assert_eq!(whole(&undisturbed), SOURCES.to_string());

    let mut killed = 0;
    for round in 0..ROUNDS {
        let b = board();
        let mut command = b.command("synthesize-distress");
        let mut child = Kept(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let began = Instant::now();
        while began.elapsed() * ROUNDS < took * round && child.is_running() {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        let _ = child.0.kill();
        match child.0.wait().unwrap().signal() {
            Some(9) => killed += 1,
            // The first one was held up, and this is how long it takes.
            _ => took = took.min(began.elapsed()),
        }
        whole(&b);
        let _ = b.distress(&[]);
        assert_eq!(whole(&b), SOURCES.to_string(), "round {round}");
        assert_eq!(b.cards().len(), SOURCES, "round {round}: {:?}", b.cards());
    }
    assert!(killed >= 8, "only {killed} of {ROUNDS} rounds were killed");
}
