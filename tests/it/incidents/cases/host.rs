//! Dispatcher and host, and several at once.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::super::incident::Incident;
use super::super::verdict::Expect::{Handed, Recovered};
use super::super::world::{Act, World};
use crate::support::{Kept, dead_pid};

pub fn all() -> Vec<Incident> {
    vec![
        Incident::new("G14", "a worker died, and no dispatcher runs", "32457, 39225", |w| {
            w.halted = true;
            w.dead();
        }, Recovered)
        .cron()
        .short()
        .remark("Back in the queue: the first tick of whatever dispatcher comes starts it. Who restarts a dispatcher is not here."),
        Incident::new("H6", "the gateway is restarted twice, and kills its workers", "PR 70864, 62790, 105756, 113840", |w| {
            w.act("luna", Act::Lives);
            w.task(json!({}));
        }, Recovered)
        .each(|w| match w.minute {
            2 | 5 => w.restart(),
            6 => w.act("luna", Act::Works),
            _ => {}
        })
        .pids(),
        Incident::new("R12", "a wedged dispatcher: a process holds the lock of the tick all night", "gc#324, 32457", |w| {
            let lock = w.home.path().join("kanban.db.dispatch.lock");
            let hold = format!("exec 9>>{}; flock 9; exec sleep 600", lock.display());
            let hold = Command::new("sh").args(["-c", &hold]).stdin(Stdio::null()).spawn().unwrap();
            w.keep(Kept(hold));
            // The first round must find it locked, or all is two minutes later.
            let free = || Command::new("flock").arg("-n").arg(&lock).arg("true").status().unwrap().success();
            while free() {
                std::thread::sleep(Duration::from_millis(20));
            }
            w.dead();
        }, Handed("dispatcher-wedged"))
        .remark("Said with exit code 1, but only by passes that have something to change; one that finds nothing to do does not look at the lock."),
        Incident::new("R13", "a clock that ran ahead for an hour, and a dead worker whose pid is another process now", "by experiment", |w| {
            let pid = w.stranger();
            let task = w.claimed(Some(pid));
            w.home.sql(&format!(
                "INSERT INTO task_events (task_id, kind, created_at) VALUES ('{task}', 'heartbeat', unixepoch() + 3600)"
            ));
        }, Recovered)
        .minutes(90, 1)
        .remark("Nothing that depends on time is done until the clock has caught up; then it is."),
        Incident::new("F1", "a dry run: `dispatch --dry-run`, or our four programs with `--dry-run`", "94916, PR 109334", |w| {
            for _ in 0..3 {
                let task = w.task(json!({}));
                w.home.sql(&format!("UPDATE tasks SET status = 'blocked' WHERE id = '{task}'"));
            }
            looks(w);
        }, Recovered),
    ]
}

pub fn concurrency() -> Vec<Incident> {
    vec![
        Incident::new("C1", "eight rows nobody holds, and four `heal` at once beside the dispatcher", "53819, 32424, 21141", |w| {
            for _ in 0..8 {
                let task = w.claimed(Some(dead_pid()));
                w.home.sql(&format!(
                    "UPDATE tasks SET claim_lock = NULL, claim_expires = NULL, worker_pid = NULL WHERE id = '{task}'"
                ));
            }
        }, Recovered)
        .each(|w| {
            if w.watched && w.minute == 5 {
                let start = |_| {
                    let mut heal = w.home.command("heal");
                    Kept(heal.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
                };
                let all: Vec<Kept> = (0..4).map(start).collect();
                for mut one in all {
                    let code = one.0.wait().unwrap().code().unwrap();
                    assert!([0, 75].contains(&code), "exit {code}");
                }
            }
        })
        .after(|w| {
            let twice = w.home.value(
                "SELECT count(*) FROM (SELECT 1 FROM task_events WHERE kind IN ('crashed', 'reclaimed')
                   GROUP BY run_id HAVING count(*) > 1)",
            );
            w.note(format!("{twice} runs ended twice"));
        }),
    ]
}

/// How many tasks a dry run changed.
fn looks(w: &mut World) {
    let states =
        |w: &World| w.home.value("SELECT group_concat(status) FROM (SELECT status FROM tasks ORDER BY id)");
    let before = states(w);
    if w.watched {
        let rows = w.home.dump();
        for name in shared::base::registry::NAMES.iter().copied() {
            let _ = crate::support::ran(w.home.command(name).arg("--dry-run"));
        }
        assert!(w.home.dump() == rows, "a dry run of ours wrote");
    } else {
        w.home.hermes(&["dispatch", "--dry-run"]).ok();
    }
    let after = states(w);
    let changed = before.split(',').zip(after.split(',')).filter(|(a, b)| a != b).count();
    w.note(format!("looking changed {changed} tasks"));
}
