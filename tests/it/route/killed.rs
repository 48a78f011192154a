//! `kill -9` inside a pass of `route-blocked`, and two passes at once: every move is whole, and none is done twice.

use std::process::Stdio;

use super::*;
use crate::support::{Kept, killed_anywhere};

const WAITING: usize = 8;

/// Cards that were made while there was no fallback, which there is now.
fn board() -> TestBoard {
    let mut b = TestBoard::new();
    b.config.push_str("[distress]\nstorm = \"off\"\n[routing]\nat_once = 100\n");
    for i in 0..WAITING {
        b.died_of(&format!("t_{i:08x}"), LIMITED);
    }
    b.settled(0).ok();
    b.config.push_str(FLEET);
    b
}

/// Moved with everything that belongs to it, or not at all.
fn whole(b: &TestBoard) -> String {
    assert_eq!(b.value("PRAGMA integrity_check"), "ok");
    for half in [
        "SELECT count(*) FROM tasks t WHERE t.assignee = 'sol' AND (SELECT count(*) FROM task_events e
           WHERE e.task_id = t.id AND e.kind = 'assigned') != 1",
        "SELECT count(*) FROM tasks t WHERE t.assignee = 'sol' AND (t.status != 'ready' OR NOT EXISTS
           (SELECT 1 FROM task_comments c WHERE c.task_id = t.id AND c.author = 'route-blocked'))",
        "SELECT count(*) FROM tasks t JOIN task_links l ON l.child_id = t.id JOIN tasks c ON c.id = l.parent_id
           WHERE t.assignee = 'sol' AND c.status != 'done'",
        "SELECT count(*) FROM task_runs WHERE ended_at IS NULL",
    ] {
        assert_eq!(b.value(half), "0", "{half}");
    }
    b.count("tasks WHERE assignee = 'sol'")
}

#[test]
fn killed_anywhere_the_next_pass_moves_the_rest() {
    killed_anywhere("route-blocked", board, whole, &WAITING.to_string(), |b| {
        ran(&mut b.command("route-blocked")).ok();
    });
}

#[test]
fn two_passes_at_once_move_each_task_once() {
    for _ in 0..5 {
        let b = board();
        let start = || {
            let mut command = b.command("route-blocked");
            Kept(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
        };
        for child in &mut [start(), start(), start()] {
            let code = child.0.wait().unwrap().code();
            assert!(matches!(code, Some(0 | 75)), "{code:?}");
        }
        ran(&mut b.command("route-blocked")).ok();
        assert_eq!(whole(&b), WAITING.to_string());
    }
}
