//! Beside a real gateway that ticks every second: who acts first, and what becomes of the board when the gateway is killed,
//! stopped in a tick, or loses its write-ahead log.
//!
//! `hermes kanban` never writes here while a gateway ticks, and the board is only read in a way that cannot take its log away:
//! Hermes 0.19 would damage the board.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::home::{Home, PATIENCE};
use super::provider::Provider;
use crate::support::{Kept, Ran, executable, marked, ran};
use crate::tools;

mod kills; // workers, passes and the gateway killed at random
mod night; // tasks of all kinds beside it, and the faults of a night one after the other

/// A gateway of its own session, killed at the end of the test.
struct Gateway(Kept);

impl Gateway {
    fn start(home: &Home, more: &[(&str, &str)]) -> Gateway {
        let out = File::create(home.path().join("gateway.out")).unwrap();
        let mut command = home.run("hermes");
        command.args(["gateway", "run", "-v"]).env("NO_PROXY", "*").env("HERMES_NO_UPDATE_CHECK", "1");
        command.envs(more.iter().copied()).stdin(Stdio::null());
        command.stdout(out.try_clone().unwrap()).stderr(out).process_group(0);
        Gateway(Kept(command.spawn().unwrap()))
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.0.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Whether it holds the lock of a tick now.
    fn ticks(&self, home: &Home) -> bool {
        let Ok(lock) = std::fs::metadata(home.path().join("kanban.db.dispatch.lock")) else { return false };
        let (file, pid) = (format!(":{} ", lock.ino()), format!(" {} ", self.0.pid()));
        let all = std::fs::read_to_string("/proc/locks").unwrap();
        all.lines().any(|l| l.contains("FLOCK") && l.contains(&file) && l.contains(&pid))
    }

    /// Whether it writes into a log that has no name any more.
    fn is_split(&self) -> bool {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.0.pid())).unwrap().flatten();
        files.filter_map(|f| std::fs::read_link(f.path()).ok()).any(|f| {
            let name = f.to_string_lossy().into_owned();
            name.contains("kanban.db") && name.ends_with("(deleted)")
        })
    }
}

/// Workers of a gateway outlive it, and must not outlive the test.
struct Workers(Vec<String>);

impl Drop for Workers {
    fn drop(&mut self) {
        for pid in self.0.iter().flat_map(|task| marked(task)) {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

/// One value of the board, read without a chance to take its log away.
fn seen(home: &Home, sql: &str) -> String {
    let conn = Connection::open_with_flags(&home.db, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    conn.busy_timeout(Duration::from_secs(10)).unwrap();
    conn.query_row(sql, [], |r| r.get::<_, Option<String>>(0)).unwrap().unwrap_or_default()
}

fn status(home: &Home, task: &str) -> String {
    seen(home, &format!("SELECT status FROM tasks WHERE id = '{task}'"))
}

/// How often something happened to a task: a condition on its events.
fn events(home: &Home, task: &str, what: &str) -> i64 {
    let sql = format!("SELECT CAST(count(*) AS TEXT) FROM task_events WHERE task_id = '{task}' AND {what}");
    seen(home, &sql).parse().unwrap()
}

#[track_caller]
fn wait(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// One round of the watchers as timers run them.
fn round(home: &Home) -> Vec<Ran> {
    let names = ["heal", "synthesize-distress", "route-blocked"];
    names.map(|name| ran(&mut home.command(name))).into()
}

fn worker(home: &Home, task: &str) -> Option<i64> {
    let pid = seen(home, &format!("SELECT CAST(worker_pid AS TEXT) FROM tasks WHERE id = '{task}'"));
    pid.parse().ok().filter(|_| status(home, task) == "running")
}

/// `kill -9` for the worker that runs now, which is proven to be this task's.
#[track_caller]
fn kill_worker(home: &Home, task: &str) {
    let pid = worker(home, task).unwrap();
    assert!(marked(task).contains(&pid), "{pid} is not the worker of {task}");
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

/// The id of a task that `hermes kanban create` made, or none where the stopped gateway is in a transaction: Hermes says so on
/// stderr, and ends with 0.
fn created(home: &Home) -> Option<String> {
    let mut hermes = home.run("hermes");
    hermes.env("HERMES_KANBAN_BUSY_TIMEOUT_MS", "1000");
    let said = ran(hermes.args(["kanban", "create", "Count the lanterns", "--assignee", "luna", "--json"]));
    let made: Option<Value> = serde_json::from_str(&said.out).ok();
    if made.is_none() {
        println!("not made: {said:?}");
    }
    made.map(|made| made["id"].as_str().unwrap().to_owned())
}

const TICKS: &str = "kanban: {dispatch_interval_seconds: 1, max_in_progress: 3, failure_limit: 40}\n";

#[test]
fn a_gateway_goes_first_and_what_it_cannot_do_is_done() {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("r429"));
    home.profile("sol", &provider.mode("ok"));
    home.profile("nova", &provider.mode("steady"));
    home.configure("[profiles.luna]\nfallbacks = [\"sol\"]\n");
    std::fs::write(
        home.path().join("config.yaml"),
        "kanban: {dispatch_interval_seconds: 1, max_in_progress: 3}\n",
    )
    .unwrap();
    let [killed, orphan] = [(); 2].map(|()| home.create(&["--assignee", "nova"]));
    let limited = [(); 2].map(|()| home.create(&["--assignee", "luna"]));
    let _workers = Workers([&[killed.clone(), orphan.clone()][..], &limited].concat());
    let mut gateway = Gateway::start(&home, &[]);

    // A killed worker: the gateway books it, and starts the next one.
    wait("both of nova's workers to ask", || {
        let asked =
            |task: &String| provider.questions("steady").iter().filter(|q| q.task == *task).count() > 1;
        asked(&killed) && asked(&orphan)
    });
    round(&home);
    provider.turn("steady", "ok");
    kill_worker(&home, &killed);
    round(&home);
    wait("the gateway to book the death", || events(&home, &killed, "kind = 'crashed'") > 0);
    wait("the next attempt to do the work", || status(&home, &killed) == "done");
    let ours = "kind IN ('reclaimed', 'crashed', 'unblocked') AND json_extract(payload, '$.by') IS NOT NULL";
    assert_eq!(events(&home, &killed, ours), 0, "heal left it to the gateway");

    // What Hermes itself writes into a profile's configuration does not count as a change.
    let config = home.path().join("profiles/nova/config.yaml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}onboarding: {{seen: {{tool_progress_prompt: true}}}}\n")).unwrap();
    let said = ran(&mut home.command("route-blocked"));
    assert!(!said.err.contains("configuration") && !said.out.contains("configuration"), "{said:?}");
    assert_eq!(events(&home, &orphan, "payload LIKE '%profile-changed%'"), 0);

    // A limited provider: its work goes to the other one.
    wait("the limited work to be done elsewhere", || {
        round(&home);
        limited.iter().all(|task| status(&home, task) == "done")
    });
    for task in &limited {
        assert!(
            events(&home, task, "kind = 'assigned' AND payload LIKE '%sol%'") > 0,
            "{}",
            home.kinds(task)
        );
    }

    // The gateway is killed, and a worker after it: requeued once the grace is over, not before.
    assert_eq!(status(&home, &orphan), "running");
    gateway.0.kill();
    kill_worker(&home, &orphan);
    for (later, as_it_is) in [(0, "running"), (20, "running"), (70, "running"), (75, "ready")] {
        let said = home.later(later, &[]);
        assert!([0, 1].contains(&said.code), "{said:?}");
        // The first pass that may act notes the tree of the dead worker.
        if as_it_is == "ready" || later < 30 {
            assert_eq!(status(&home, &orphan), as_it_is, "{later} s later: {said:?}");
        }
    }
    assert_eq!(home.value("PRAGMA integrity_check"), "ok");
    let twice =
        "SELECT count(*) FROM (SELECT 1 FROM task_events WHERE kind IN ('crashed', 'reclaimed', 'timed_out')
        AND run_id IS NOT NULL GROUP BY run_id HAVING count(*) > 1)";
    assert_eq!(home.value(twice), "0", "a run ended twice");
}

#[test]
fn a_split_in_a_tick_is_named_and_ended_by_kill_loses_nothing() {
    let Some(home) = Home::new() else { return };
    std::fs::write(home.path().join("config.yaml"), TICKS).unwrap();
    let tasks: Vec<String> = (0..6).map(|_| home.create(&[])).collect();
    let by_hand = home.create(&["--assignee", "nobody-yet"]);
    // Workers that fail at once give each tick something to write.
    let fails = home.path().join("fails");
    executable(&fails, "#!/bin/sh\nsleep 0.3\nexit 1\n");
    let _workers = Workers(tasks.clone());
    let mut gateway = Gateway::start(&home, &[("HERMES_BIN", fails.to_str().unwrap())]);
    wait("the first attempt to fail", || {
        seen(&home, "SELECT count(*) || '' FROM task_runs WHERE ended_at > 0") != "0"
    });

    let mut made = Vec::new();
    wait("a tick to be caught behind its first write", || {
        let caught = Instant::now();
        while !gateway.ticks(&home) && caught.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_micros(300));
        }
        std::thread::sleep(Duration::from_millis(30));
        gateway.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(50));
        if gateway.ticks(&home) {
            made.extend(created(&home));
            if gateway.is_split() {
                return true;
            }
        }
        gateway.signal(Signal::CONT);
        false
    });
    made.push(home.create(&[]));
    home.hermes(&["complete", &by_hand, "--summary", "by hand"]).ok();
    let pid = gateway.0.pid();
    for name in ["heal", "synthesize-distress", "route-blocked"] {
        let said = ran(&mut home.command(name)).fails(65);
        assert!(
            said.contains(&format!("process {pid} writes")) && said.contains(&format!("kill -9 {pid}")),
            "{said}"
        );
    }
    let doctor: Value = serde_json::from_str(&tools::run(&home, &["doctor", "--json"]).out).unwrap();
    let is_told = |id: &str| doctor["findings"].as_array().unwrap().iter().any(|f| f["id"] == id);
    assert!(is_told("board-split") && is_told("dispatcher-stopped"), "{doctor:#}");

    gateway.0.kill();
    assert_eq!(home.value("PRAGMA integrity_check"), "ok");
    for task in &made {
        assert_eq!(
            home.value(&format!("SELECT count(*) FROM tasks WHERE id = '{task}'")),
            "1",
            "{task} is lost"
        );
    }
    assert_eq!(home.task(&by_hand, "status"), "done", "a completion is lost");
    assert!([0, 1].contains(&home.heal(&[]).code));
}

#[test]
fn a_gateway_stopped_in_a_tick_is_busy_then_wedged() {
    let Some(home) = Home::new() else { return };
    std::fs::write(home.path().join("config.yaml"), TICKS).unwrap();
    let tasks: Vec<String> = (0..6).map(|_| home.create(&[])).collect();
    let fails = home.path().join("fails");
    executable(&fails, "#!/bin/sh\nsleep 0.3\nexit 1\n");
    let _workers = Workers(tasks.clone());
    let mut gateway = Gateway::start(&home, &[("HERMES_BIN", fails.to_str().unwrap())]);
    wait("a tick to be caught", || {
        let caught = Instant::now();
        while !gateway.ticks(&home) && caught.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_micros(300));
        }
        std::thread::sleep(Duration::from_millis(30));
        gateway.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(50));
        // Some attempt runs, so that there is a dead worker for heal.
        if gateway.ticks(&home) && seen(&home, "SELECT count(*) || '' FROM tasks WHERE worker_pid > 0") != "0"
        {
            return true;
        }
        gateway.signal(Signal::CONT);
        false
    });
    wait("its workers to end", || tasks.iter().all(|task| marked(task).is_empty()));
    let noted = home.later(100, &[]);
    assert!([0, 1, 75].contains(&noted.code), "{noted:?}");
    let busy = home.later(300, &["-v"]);
    assert!(busy.code == 75 && busy.err.contains("the dispatcher is at work"), "{busy:?}");
    let wedged = home.later(620, &["--dry-run"]);
    assert!([0, 1].contains(&wedged.code), "{wedged:?}");
    let at = (crate::support::now() + 620).to_string();
    let doctor: Value =
        serde_json::from_str(&tools::run(&home, &["doctor", "--json", "--now", &at]).out).unwrap();
    let all = doctor["findings"].as_array().unwrap();
    let wedge = all.iter().find(|f| f["id"] == "dispatcher-wedged").unwrap_or_else(|| panic!("{doctor:#}"));
    assert!(wedge["todo"].as_str().unwrap().contains("kill -9"), "{wedge}");
    gateway.0.kill();
    assert_eq!(home.value("PRAGMA integrity_check"), "ok");
}

#[test]
fn what_hermes_refuses_to_open_is_not_written() {
    let Some(home) = Home::new() else { return };
    let root = home.value("SELECT rootpage FROM sqlite_schema WHERE name = 'idx_tasks_status'");
    let sql = home.value("SELECT sql FROM sqlite_schema WHERE name = 'idx_tasks_status'");
    home.sql("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'idx_tasks_status'");
    home.add("t_00000001", "ready");
    home.run_it("t_00000001", Some(crate::support::dead_pid()), 3_000);
    home.sql(&format!(
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql)
         VALUES ('index', 'idx_tasks_status', 'tasks', {root}, '{sql}')"
    ));
    let refused = home.hermes(&["list"]);
    assert!(refused.err.contains("Refusing to open corrupt kanban DB"), "{refused:?}");
    let rows = || home.value("SELECT count(*) FROM task_events NOT INDEXED");
    let before = rows();
    let said = home.heal(&[]).fails(65);
    assert!(said.contains("wrong # of entries in index") && said.contains("REINDEX"), "{said}");
    assert_eq!(rows(), before, "a damaged board was written");
    // The advice, by the SQLite of Hermes' own Python: this machine may have no `sqlite3`.
    let code = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('REINDEX')";
    ran(home.run("python").args(["-c", code, home.db.to_str().unwrap()])).ok();
    assert!(home.hermes(&["list"]).ok().contains("t_00000001"));
    home.heal(&[]).ok();
    assert!(rows() > before, "heal goes on, although the copy still lies there");
}
