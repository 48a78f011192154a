//! The real dispatcher and `heal` at once over many dead tasks.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::home::Home;
use crate::support::{Kept, dead_pid};

/// The dispatcher's tick in a loop until nothing runs. `locked` is how a gateway ticks; `bare` leaves out its lock, so
/// that only the guards in the statements stand between us. Each tick finds one worker dead, as deaths come in life,
/// else the first tick would take them all and there would be no race.
const DISPATCHER: &str = "
import sqlite3, sys, time
from hermes_cli import kanban_db as kb
tick = kb.dispatch_once if sys.argv[1] == 'locked' else kb._dispatch_once_locked
looked = 0
def alive(pid):
    global looked
    looked += 1
    return looked > 1
kb._pid_alive = alive
conn, ends = kb.connect(), time.time() + 60
print('ticking', flush=True)
while time.time() < ends and conn.execute(\"SELECT count(*) FROM tasks WHERE status = 'running'\").fetchone()[0]:
    looked = 0
    try:
        tick(conn, max_spawn=0)
    except sqlite3.DatabaseError as e:
        # Hermes 0.19 looks at the file after each commit and takes a checkpoint in its midst for damage.
        assert 'torn-extend' in str(e), e
    time.sleep(0.01)
";

/// Several at a time: one pass for each task, from the last one on so that we meet the dispatcher half way, or passes
/// over the whole board.
enum Passes {
    Narrow(usize),
    Whole(usize),
}

/// Until both had a part in it: who is first on a busy machine, nobody knows.
fn race(how: &str, passes: &Passes) {
    let both = (0..5).any(|_| raced(how, passes).is_none_or(|by| (1..60).contains(&by)));
    assert!(both, "no race in five times");
}

/// How many of sixty runs were ended by `heal`.
fn raced(how: &str, passes: &Passes) -> Option<i32> {
    let home = Home::new()?;
    let pid = dead_pid();
    let tasks: Vec<String> = (0..60).map(|i| format!("t_{i:08x}")).collect();
    for task in &tasks {
        home.add(task, "ready");
        home.run_it(task, Some(pid), 3_000);
    }
    let mut dispatcher = home.run("python");
    let mut dispatcher =
        Kept(dispatcher.args(["-c", DISPATCHER, how]).stdout(Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(dispatcher.0.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "ticking");

    let start = |args: &[&str]| {
        let mut command = home.command("heal");
        Kept(command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    let wait = |all: Vec<Kept>| {
        for mut pass in all {
            let code = pass.0.wait().unwrap().code().unwrap();
            assert!([0, 75].contains(&code), "exit {code}");
        }
    };
    match passes {
        Passes::Narrow(n) => {
            tasks.rchunks(*n).for_each(|few| wait(few.iter().map(|t| start(&["--task", t])).collect()))
        }
        Passes::Whole(n) => wait((0..*n).map(|_| start(&[])).collect()),
    }
    assert!(dispatcher.0.wait().unwrap().success());

    let one = |sql: &str| home.value(sql);
    let ends = "task_events WHERE kind IN ('crashed', 'reclaimed') GROUP BY run_id";
    assert_eq!(one(&format!("SELECT count(*) FROM (SELECT 1 FROM {ends})")), "60", "each run ended");
    assert_eq!(
        one(&format!("SELECT count(*) FROM (SELECT 1 FROM {ends} HAVING count(*) > 1)")),
        "0",
        "and only once"
    );
    assert_eq!(one("SELECT count(*) FROM task_runs"), "60");
    assert_eq!(one("SELECT count(*) FROM task_runs WHERE ended_at IS NULL OR outcome IS NULL"), "0");
    assert_eq!(
        one("SELECT count(*) FROM tasks WHERE current_run_id IS NOT NULL OR claim_lock IS NOT NULL"),
        "0"
    );
    assert_eq!(one("SELECT count(*) FROM tasks WHERE status = 'ready'"), "60");
    assert_eq!(one("SELECT count(*) FROM tasks WHERE consecutive_failures > 1"), "0", "counted twice");
    assert_eq!(one("PRAGMA integrity_check"), "ok");
    let by = one("SELECT count(*) FROM task_events WHERE json_extract(payload, '$.by') = 'heal'");
    eprintln!("{how}: {by} of 60 by heal, the rest by the dispatcher");
    home.accepts(&[&tasks[0], &tasks[30], &tasks[59]]);
    by.parse().ok()
}

#[test]
fn the_dispatcher_and_one_pass_after_another() {
    race("locked", &Passes::Narrow(1));
}

#[test]
fn the_dispatcher_and_four_passes_at_a_time() {
    race("locked", &Passes::Narrow(4));
}

#[test]
fn a_dispatcher_without_its_lock_and_four_passes_at_a_time() {
    race("bare", &Passes::Narrow(4));
}

#[test]
fn a_dispatcher_without_its_lock_and_four_passes_over_everything() {
    race("bare", &Passes::Whole(4));
}
