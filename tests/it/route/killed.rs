//! `kill -9` inside a pass of `route-blocked`, and two passes at once: every move is whole, and none is done twice.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Instant;

use super::*;
use crate::support::Kept;

const ROUNDS: u32 = 30;
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
    let undisturbed = board();
    let began = Instant::now();
    ran(&mut undisturbed.command("route-blocked")).ok();
    let mut took = began.elapsed();
    assert_eq!(whole(&undisturbed), WAITING.to_string());
    let mut killed = 0;
    for round in 0..ROUNDS {
        let b = board();
        let mut command = b.command("route-blocked");
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
        ran(&mut b.command("route-blocked")).ok();
        assert_eq!(whole(&b), WAITING.to_string(), "round {round}");
    }
    assert!(killed >= 8, "only {killed} of {ROUNDS} rounds were killed");
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
