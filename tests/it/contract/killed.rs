//! `kill -9` inside a pass: the board stays sound, and the next pass ends where an undisturbed one would have.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use testkit::generate::NO_PID;

use crate::support::{Kept, TestBoard, hostname, now, ran};

/// Enough for four transactions of a pass.
const DEAD: i64 = 320;
const ROUNDS: u64 = 20;

/// A board whose every worker is dead, in a file nobody has open.
pub(super) fn template(now: i64) -> TestBoard {
    let b = TestBoard::new();
    let (began, host, claimer) = (now - 1_800, hostname(), std::process::id());
    b.sql(&format!(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {DEAD})
         INSERT INTO tasks (id, title, assignee, status, created_at, started_at, claim_lock, claim_expires, worker_pid, current_run_id)
           SELECT printf('t_7e57%04x', n), 'Task ' || n, 'luna', 'running', {began} - 600, {began}, '{host}:{claimer}',
             {began} + 900, {NO_PID} + n, n FROM n;
         INSERT INTO task_runs (id, task_id, profile, status, claim_lock, claim_expires, worker_pid, started_at)
           SELECT current_run_id, id, assignee, 'running', claim_lock, claim_expires, worker_pid, started_at FROM tasks;
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
           SELECT id, NULL, 'created', '{{}}', created_at FROM tasks UNION ALL
           SELECT id, current_run_id, 'claimed', json_object('lock', claim_lock), started_at FROM tasks UNION ALL
           SELECT id, current_run_id, 'spawned', json_object('pid', worker_pid), started_at FROM tasks;"
    ));
    b
}

/// A copy in a folder of its own, with the log a killed writer left, of a board nobody has open.
fn copy(of: &TestBoard) -> TestBoard {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("kanban.db");
    for file in [&of.db, &wal(of)].into_iter().filter(|f| f.exists()) {
        ran(Command::new("cp").arg("-a").arg(file).arg(dir.path())).ok();
    }
    TestBoard { dir, db, config: of.config.clone() }
}

fn wal(b: &TestBoard) -> PathBuf {
    b.path().join("kanban.db-wal")
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len())
}

fn heal(b: &TestBoard, now: i64) -> Command {
    let mut command = b.command("heal");
    command.arg("--db").arg(&b.db).args(["--now", &now.to_string()]);
    command.env("WATCHBILL_PASS", "20270115T080000Z-heal-0000").stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// How many tasks are whole, after checking that each is either wholly before or wholly after the pass.
fn done(b: &TestBoard) -> i64 {
    assert_eq!(b.value("PRAGMA integrity_check"), "ok");
    for half in [
        "SELECT count(*) FROM tasks WHERE (status = 'running') != (current_run_id IS NOT NULL)",
        "SELECT count(*) FROM tasks WHERE (status = 'running') != (claim_lock IS NOT NULL)",
        "SELECT count(*) FROM task_runs r JOIN tasks t ON t.id = r.task_id
           WHERE (r.ended_at IS NULL) != (t.status = 'running')",
        "SELECT count(*) FROM tasks t WHERE (SELECT count(*) FROM task_events e WHERE e.task_id = t.id
           AND e.kind IN ('crashed', 'reclaimed')) != (t.status != 'running')",
    ] {
        assert_eq!(b.value(half), "0", "{half}");
    }
    b.value("SELECT count(*) FROM tasks WHERE status != 'running'").parse().unwrap()
}

#[test]
fn a_pass_killed_anywhere_leaves_a_sound_board_and_the_next_one_ends_the_same() {
    let now = now();
    let template = template(now);
    let undisturbed = copy(&template);
    let began = Instant::now();
    ran(&mut heal(&undisturbed, now)).ok();
    let (took, full) = (began.elapsed(), size(&wal(&undisturbed)));
    assert!(full > 100_000, "a pass on a board of Hermes leaves its log: {full}");
    assert_eq!(done(&undisturbed), DEAD);
    let end = undisturbed.dump();

    let (mut killed, mut partly) = (0, 0);
    let luck = u64::from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos());
    for round in 0..ROUNDS {
        let b = copy(&template);
        let part = (round * 1_000 + luck % 1_000) * full / (ROUNDS * 1_000);
        let mut child = Kept(heal(&b, now).spawn().unwrap());
        let began = Instant::now();
        // Half of the rounds die at a byte of the log that is being written, half at a moment of the pass.
        let reached = || match round % 2 {
            0 => size(&wal(&b)) > part,
            _ => began.elapsed() * 1_000 > took * u32::try_from(round * 50 + luck % 50).unwrap(),
        };
        while !reached() && child.is_running() {
            std::hint::spin_loop();
        }
        let _ = child.0.kill();
        killed += i32::from(child.0.wait().unwrap().signal() == Some(9));

        // Looked at in a copy, so that the next pass is the first to find what the dead one left.
        partly += i32::from((1..DEAD).contains(&done(&copy(&b))));
        ran(&mut heal(&b, now)).ok();
        assert_eq!(done(&b), DEAD, "round {round}, luck {luck}");
        assert!(b.dump() == end, "round {round}, luck {luck}: another end than the undisturbed one");
    }
    assert!(killed >= 8, "only {killed} of {ROUNDS} rounds were killed");
    assert!(partly >= 1, "no round was killed between two transactions of a pass");
}
