//! Eight passes of every watcher at once, beside a real Hermes that dispatches and another that writes without a pause.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::generate::NO_PID;

use super::home::Home;
use crate::route::{LIMITED, REFUSED_KEY};
use crate::support::Kept;

const ROUNDS: usize = 4;
const OF_EACH: usize = 8;
/// How long the writer writes alone before each round.
const ALONE: Duration = Duration::from_millis(2_500);
const WATCHERS: [(&str, &[&str]); 4] = [
    ("heal", &[]),
    ("synthesize-distress", &[]),
    ("route-blocked", &[]),
    ("budget-check", &["--comment", "--distress"]),
];

/// Both in one process, as a gateway has them. Two processes of Hermes 0.19 are a split board as soon as the second one
/// opens its connection (`beside`), and no pass of a watcher writes to that.
const GATEWAY: &str = "
import json, os, queue, sqlite3, sys, threading, time
from hermes_cli import kanban_db as kb
told, conn, task = queue.Queue(), kb.connect(), sys.argv[1]
looked, ticks, stumbles, stop = 0, 0, 0, threading.Event()
def alive(pid):
    # One death a tick, as deaths come in life; else the first tick would take them all.
    global looked
    looked += 1
    return looked > 1
kb._pid_alive = alive
def dispatch():
    global looked, ticks, stumbles
    conn = kb.connect()
    while not stop.is_set():
        looked = 0
        try:
            kb.dispatch_once(conn, max_spawn=0)
            ticks += 1
        except sqlite3.DatabaseError as e:
            # Hermes 0.19 looks at the file after each commit and takes a checkpoint in its midst for damage.
            assert 'torn-extend' in str(e) or 'locked' in str(e), e
            stumbles += 1
        time.sleep(0.05)
dispatcher = threading.Thread(target=dispatch)
dispatcher.start()
threading.Thread(target=lambda: [told.put(l.strip()) for l in sys.stdin], daemon=True).start()
took, kept, failed, window, n = {}, [], [], 'start', 0
print('open', flush=True)
while True:
    while not told.empty():
        window = told.get()
        print(window, flush=True)
    if window == 'stop':
        break
    n += 1
    began = time.perf_counter()
    try:
        if n % 2:
            kb.add_comment(conn, task, 'anna', f'word {n}')
            kept.append(f'word {n}')
        else:
            kb.heartbeat_worker(conn, task, note=f'beat {n}')
    except Exception as e:
        failed.append(repr(e))
    took.setdefault(window, []).append(time.perf_counter() - began)
stop.set()
dispatcher.join()
print(json.dumps({'took': took, 'kept': kept, 'failed': failed, 'ticks': ticks, 'stumbles': stumbles}), flush=True)
";

/// A process of Hermes that hears lines and says lines.
struct Process {
    _kept: Kept,
    tell: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn new(home: &Home, code: &str, args: &[&str]) -> Process {
        let mut command = home.run("python");
        command.args(["-c", code]).args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut kept = Kept(command.spawn().unwrap());
        let tell = kept.0.stdin.take().unwrap();
        let mut said = BufReader::new(kept.0.stdout.take().unwrap()).lines();
        said.next().unwrap().unwrap();
        Process { _kept: kept, tell, said }
    }

    /// Tells it something and waits for its word.
    fn ask(&mut self, word: &str) -> String {
        writeln!(self.tell, "{word}").unwrap();
        self.hear()
    }

    fn hear(&mut self) -> String {
        self.said.next().unwrap().unwrap()
    }
}

/// What a night brings: dead workers, tasks that were given up over a provider or a key, and work over its time.
fn bring(home: &Home, round: usize) -> Vec<String> {
    let id = |n: usize| format!("t_{round:02}{n:06}");
    let (dead, failed, long) = (0..16, 16..24, 24..28);
    for n in dead.clone() {
        home.add(&id(n), "ready");
        home.run_it(&id(n), Some(NO_PID + i64::try_from(round * 100 + n).unwrap()), 3_000);
    }
    for n in failed.clone() {
        home.died_of(&id(n), if n % 2 == 0 { LIMITED } else { REFUSED_KEY });
    }
    for n in long.clone() {
        home.runs(&id(n), "## Scope\n- In scope: `api/**`, `web/**`\n- Time budget: 10m\n", 700);
    }
    dead.chain(failed).chain(long).map(id).collect()
}

fn percentiles(took: &Value, of: &str) -> (usize, f64, f64) {
    let mut all: Vec<f64> = Vec::new();
    for (window, times) in took.as_object().unwrap() {
        if window.starts_with(of) {
            all.extend(times.as_array().unwrap().iter().map(|t| t.as_f64().unwrap() * 1_000.0));
        }
    }
    all.sort_by(f64::total_cmp);
    let at = |part: usize| all.get(all.len() * part / 100).copied().unwrap_or(0.0);
    (all.len(), at(50), at(99))
}

/// Every watcher so many times at once; how many were done, and how many found the board busy.
#[track_caller]
fn crowd(home: &Home, more: &[&str]) -> (usize, usize) {
    let start = |n: usize| {
        let (program, args) = WATCHERS[n % WATCHERS.len()];
        let mut command = home.command(program);
        let args = if more.is_empty() { args } else { more };
        command.args(args).stdout(Stdio::null()).stderr(Stdio::piped());
        (program, Kept(command.spawn().unwrap()))
    };
    let all: Vec<_> = (0..WATCHERS.len() * OF_EACH).map(start).collect();
    let (mut done, mut busy) = (0, 0);
    for (program, mut pass) in all {
        let mut err = String::new();
        std::io::Read::read_to_string(&mut pass.0.stderr.take().unwrap(), &mut err).unwrap();
        match pass.0.wait().unwrap().code() {
            Some(0) => done += 1,
            Some(75) => busy += 1,
            code => panic!("{program}: {code:?}: {err}"),
        }
    }
    (done, busy)
}

#[test]
fn every_watcher_eight_times_at_once_beside_a_dispatcher_and_a_writer() {
    let Some(mut home) = Home::new() else { return };
    // The endpoint that the logs name, another one, and the orchestrator's; nobody ever calls them.
    home.profile("luna", "https://api.example/moon/v1");
    home.profile("sol", "https://other.example/star/v1");
    home.profile("tuesday", "https://third.example/week/v1");
    home.configure("[profiles.luna]\nfallbacks = [\"sol\"]\n");
    std::fs::create_dir_all(home.path().join("kanban/logs")).unwrap();
    // The profiles were like that long before any attempt.
    home.age(7_200);
    let watched = home.claimed(&[], Some(i64::from(std::process::id())));
    let mut gateway = Process::new(&home, GATEWAY, &[&watched]);
    let (mut tasks, mut busy, mut done) = (Vec::new(), 0, 0);
    for round in 0..ROUNDS {
        gateway.ask(&format!("between {round}"));
        tasks.extend(bring(&home, round));
        gateway.ask(&format!("alone {round}"));
        std::thread::sleep(ALONE);
        // What as many processes cost on this machine, whatever they write: the same passes, which only look.
        gateway.ask(&format!("looking {round}"));
        crowd(&home, &["--dry-run"]);
        gateway.ask(&format!("beside {round}"));
        let (so_many, so_busy) = crowd(&home, &[]);
        (done, busy) = (done + so_many, busy + so_busy);
    }
    gateway.ask("stop");
    let said: Value = serde_json::from_str(&gateway.hear()).unwrap();
    let (ticks, stumbles) = (&said["ticks"], &said["stumbles"]);

    let none =
        |why: &str, rows: &str| assert_eq!(home.value(&format!("SELECT count(*) FROM {rows}")), "0", "{why}");
    none(
        "a run ended twice",
        "(SELECT 1 FROM task_events WHERE kind IN ('crashed', 'reclaimed', 'timed_out', 'stale', 'gave_up')
        AND run_id IS NOT NULL AND kind != 'gave_up' GROUP BY task_id, run_id HAVING count(*) > 1)",
    );
    none(
        "a run open on a task that does not run",
        "task_runs r JOIN tasks t ON t.id = r.task_id
        WHERE r.ended_at IS NULL AND (t.status != 'running' OR t.current_run_id IS NOT r.id)",
    );
    none(
        "a running task without its run",
        "tasks t WHERE t.status = 'running' AND NOT EXISTS
        (SELECT 1 FROM task_runs r WHERE r.id = t.current_run_id AND r.ended_at IS NULL)",
    );
    none(
        "a key twice",
        "(SELECT 1 FROM tasks WHERE status != 'archived' AND idempotency_key IS NOT NULL
        GROUP BY idempotency_key HAVING count(*) > 1)",
    );
    none(
        "two open cards of one cause",
        "(SELECT 1 FROM tasks WHERE title LIKE '[BLOCKED]%'
        AND status NOT IN ('done', 'archived') GROUP BY title HAVING count(*) > 1)",
    );
    none("a death counted twice", "tasks WHERE id LIKE 't_0%' AND consecutive_failures > 2");
    for task in &tasks {
        assert_eq!(
            home.value(&format!("SELECT count(*) FROM tasks WHERE id = '{task}'")),
            "1",
            "{task} is lost"
        );
    }
    let kept = said["kept"].as_array().unwrap();
    let there =
        home.value(&format!("SELECT group_concat(body, ',') FROM task_comments WHERE task_id = '{watched}'"));
    let there: std::collections::BTreeSet<&str> = there.split(',').collect();
    let lost: Vec<_> = kept.iter().filter(|text| !there.contains(text.as_str().unwrap())).collect();
    assert!(lost.is_empty(), "acknowledged by Hermes, and lost: {lost:?}");
    assert_eq!(home.value("PRAGMA integrity_check"), "ok");

    let failed = said["failed"].as_array().unwrap();
    let known = |e: &&Value| e.as_str().unwrap().contains("torn-extend");
    assert_eq!(failed.iter().filter(|e| !known(e)).count(), 0, "{failed:?}");
    crate::crash::say(&format!(
        "{} passes in {ROUNDS} rounds: {done} done, {busy} busy; {ticks} ticks of the dispatcher, {stumbles} more stumbled; \
         writer: {} comments kept, {} false alarms of its own",
        ROUNDS * OF_EACH * WATCHERS.len(),
        kept.len(),
        failed.len()
    ));
    for (window, what) in [
        ("alone", "beside its dispatcher only"),
        ("looking", "beside 32 passes that only look"),
        ("beside", "beside 32 passes"),
    ] {
        let (n, p50, p99) = percentiles(&said["took"], window);
        crate::crash::say(&format!("  writer {what}: {n} writes, p50 {p50:.2} ms, p99 {p99:.2} ms"));
    }
    home.accepts(&[&tasks[0], &tasks[17], &watched]);
}
