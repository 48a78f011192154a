//! What newly goes wrong with Hermes 0.22.2, brought about with its own dispatcher and its own workers.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use super::home::{Home, key};
use super::provider::Provider;
use crate::support::{Ran, executable, marked, ran, until};

/// Workers outlive their dispatcher, and must not outlive the test.
struct Workers(Vec<String>);

impl Drop for Workers {
    fn drop(&mut self) {
        self.0.iter().flat_map(|task| marked(task)).for_each(kill);
    }
}

fn kill(pid: i64) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
}

/// A worker in the place of Hermes' own: it says this and stays.
fn stays(home: &Home, says: &str) -> PathBuf {
    let script = home.path().join("stays");
    executable(&script, format!("#!/bin/sh\ncat <<'END'\n{says}END\nexec sleep 600\n"));
    script
}

/// One call of the real dispatcher.
fn dispatch(home: &Home, worker: &Path, more: &[&str]) -> Command {
    let mut command = home.run("hermes");
    command.args(["kanban", "dispatch"]).args(more).env("HERMES_BIN", worker);
    command.env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "1");
    command.env("HERMES_KANBAN_RATE_LIMIT_COOLDOWN_SECONDS", "0").env("HERMES_KANBAN_TURN_RECOVERY", "0");
    command
}

fn pass(home: &Home, program: &str, more: &[&str]) -> Ran {
    let mut command = home.command(program);
    let ran = ran(command.arg("--db").arg(&home.db).arg("-v").args(more));
    assert!([0, 1].contains(&ran.code), "{program}: {ran:?}");
    ran
}

fn worker(home: &Home, task: &str) -> i64 {
    home.task(task, "worker_pid").parse().unwrap()
}

#[test]
fn the_heartbeat_of_an_earlier_worker_ends_no_later_one() {
    let Some(home) = Home::newer() else { return };
    home.profile("luna", "http://127.0.0.1:9/nobody/v1");
    let stays = stays(&home, "");
    let [cleared, left] = [(); 2].map(|()| home.create(&[]));
    let _workers = Workers(vec![cleared.clone(), left.clone()]);
    let both = [&cleared, &left];
    ran(&mut dispatch(&home, &stays, &[])).ok();
    for task in both {
        home.hermes(&["heartbeat", task]).ok();
        let pid = worker(&home, task);
        assert!(marked(task).contains(&pid));
        kill(pid);
        home.await_end(pid);
    }
    home.age(7_200);
    ran(&mut dispatch(&home, &stays, &["--max", "0"])).ok();
    home.age(600);
    for task in both {
        assert_eq!(home.task(task, "status"), "ready", "{}", home.kinds(task));
        assert_ne!(home.task(task, "last_heartbeat_at"), "NULL", "Hermes keeps it");
    }
    let said = pass(&home, "heal", &["--task", &cleared]).out;
    assert!(said.contains(&format!("{cleared} clear: its last worker's heartbeat of 2h")), "{said}");
    assert_eq!(home.task(&cleared, "last_heartbeat_at"), "NULL");

    // Both work again. A claim that runs out before the first heartbeat is judged by what the column says.
    ran(dispatch(&home, &stays, &[]).env("HERMES_KANBAN_CLAIM_TTL_SECONDS", "1")).ok();
    let pids = both.map(|task| worker(&home, task));
    until("both claims ran out", || {
        let over =
            "SELECT count(*) FROM tasks WHERE status = 'running' AND claim_expires < strftime('%s', 'now')";
        home.value(over) == "2"
    });
    ran(&mut dispatch(&home, &stays, &["--max", "0"])).ok();
    let ended = both.map(|task| home.kinds(task).matches(" reclaimed").count());
    assert_eq!(ended, [1, 2], "{} and {}", home.kinds(&cleared), home.kinds(&left));
    home.await_end(pids[1]);
    assert_eq!((home.task(&cleared, "status"), worker(&home, &cleared)), ("running".into(), pids[0]));
    assert!(marked(&cleared).contains(&pids[0]), "its worker lives");
}

/// One tick of a gateway that systemd started, on a host that gives it no scope for its workers. Whether it is such a gateway is
/// the one thing that is not asked here.
const NO_SCOPE: &str = "
import os
os.environ['INVOCATION_ID'] = 'a unit'
from tools import process_registry
process_registry._is_supervised_gateway_process = lambda: True
from hermes_cli.kanban_db_connect import connect_closing
from hermes_cli.kanban_db_dispatch import dispatch_once
with connect_closing() as conn:
    r = dispatch_once(conn)
print(r.spawned, r.respawn_guarded)
";

#[test]
fn a_host_that_refuses_to_start_a_worker_is_told_after_an_hour() {
    let Some(home) = Home::newer() else { return };
    home.profile("luna", "http://127.0.0.1:9/nobody/v1");
    let task = home.create(&[]);
    let _workers = Workers(vec![task.clone()]);
    let tick = || {
        let mut command = home.run("python");
        // No systemd-run is found.
        let bin = home.real_worker().parent().unwrap().to_owned();
        ran(command.env("PATH", bin).args(["-c", NO_SCOPE])).ok()
    };
    for times in 1..=5 {
        tick();
        assert_eq!(home.kinds(&task).matches("spawn_failed").count(), times, "{}", home.kinds(&task));
        let said = tick();
        assert!(said.contains("infrastructure_cooldown"), "{said}");
        if times < 5 {
            let said = pass(&home, "heal", &[]);
            assert!(
                said.err.contains("this host refuses to start its worker")
                    || said.out.contains("this host refuses to start its worker"),
                "{said:?}"
            );
            home.age(901);
        }
    }
    assert_eq!(
        (home.task(&task, "status"), home.task(&task, "consecutive_failures")),
        ("ready".into(), "0".into())
    );
    let said = pass(&home, "heal", &[]);
    let want = format!("{task} tell: this host has refused to start its worker for 1h");
    assert!(said.out.contains(&want) && said.out.contains("systemd-run"), "{said:?}");
    let comments = format!("SELECT count(*) FROM task_comments WHERE task_id = '{task}'");
    assert_eq!(home.value(&comments), "1");
    let _ = pass(&home, "heal", &[]);
    assert_eq!(home.value(&comments), "1", "told once");

    // The reason is gone: Hermes starts it by itself.
    home.age(901);
    ran(&mut dispatch(&home, &stays(&home, ""), &[])).ok();
    assert_eq!(home.task(&task, "status"), "running");
    let said = pass(&home, "heal", &[]);
    assert!(!said.out.contains("refuse"), "{said:?}");
}

#[test]
fn a_claim_that_ran_out_twice_without_a_worker_is_a_start_that_failed() {
    let Some(home) = Home::newer() else { return };
    home.profile("luna", "http://127.0.0.1:9/nobody/v1");
    let task = home.create(&[]);
    let nobody = stays(&home, "");
    for _ in 0..2 {
        home.hermes(&["claim", &task]).ok();
        home.age(3_600);
        ran(&mut dispatch(&home, &nobody, &["--max", "0"])).ok();
        home.age(60);
    }
    assert!(home.kinds(&task).ends_with("gave_up"), "{}", home.kinds(&task));
    assert_eq!(home.task(&task, "status"), "blocked");
    home.age(1_200);
    let said = pass(&home, "heal", &[]).out;
    assert!(said.contains(&format!("{task} reset: gave up")) && said.contains("on spawn_error"), "{said}");
    assert_eq!(home.task(&task, "status"), "ready");
}

#[test]
fn a_worker_that_cannot_be_started_is_tried_again_later() {
    let Some(home) = Home::newer() else { return };
    home.profile("luna", "http://127.0.0.1:9/nobody/v1");
    let task = home.create(&[]);
    let _workers = Workers(vec![task.clone()]);
    let missing = home.path().join("no-such-program");
    for _ in 0..3 {
        let _ = ran(&mut dispatch(&home, &missing, &[]));
        home.age(60);
    }
    assert_eq!(home.task(&task, "status"), "blocked", "{}", home.kinds(&task));
    assert!(home.kinds(&task).contains("gave_up"), "{}", home.kinds(&task));
    home.age(1_200);
    let said = pass(&home, "heal", &[]).out;
    assert!(said.contains(&format!("{task} reset: gave up")) && said.contains("on spawn_error"), "{said}");
    ran(&mut dispatch(&home, &stays(&home, ""), &[])).ok();
    assert_eq!(home.task(&task, "status"), "running");
}

#[test]
fn a_worker_that_reported_its_exit_and_stays_is_told_of() {
    let Some(home) = Home::newer() else { return };
    home.profile("luna", "http://127.0.0.1:9/nobody/v1");
    let said =
        "Query: work kanban task\nSession:        20261123_080029_950a81\n\n[kanban-worker-exit] rc=75\n";
    let worker_that_stays = stays(&home, said);
    let task = home.create(&[]);
    let _workers = Workers(vec![task.clone()]);
    ran(&mut dispatch(&home, &worker_that_stays, &[])).ok();
    let log = home.path().join(format!("kanban/logs/{task}.log"));
    until("its last line", || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("rc=75")));
    let pid = worker(&home, &task);
    // To Hermes it is one that works.
    home.age(1_300);
    ran(&mut dispatch(&home, &worker_that_stays, &[])).ok();
    assert_eq!((home.task(&task, "status"), worker(&home, &task)), ("running".into(), pid));
    let said = pass(&home, "heal", &[]).out;
    let want = format!("{task} tell: its worker wrote its exit code 21m ago and still runs (pid {pid})");
    assert!(said.contains(&want), "{said}");
    assert!(marked(&task).contains(&pid), "nobody ends it");

    // What it advises helps.
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::TERM).unwrap();
    home.await_end(pid);
    ran(&mut dispatch(&home, &worker_that_stays, &[])).ok();
    ran(&mut dispatch(&home, &worker_that_stays, &[])).ok();
    assert_eq!(home.task(&task, "status"), "running", "{}", home.kinds(&task));
    assert_ne!(worker(&home, &task), pid);
}

#[test]
fn a_quota_is_asked_without_end_by_hermes_and_not_once_it_is_held() {
    let Some(home) = Home::newer() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("quota"));
    home.profile("tuesday", &provider.mode("ok"));
    let task = home.create(&[]);
    let real = home.real_worker();
    let tick = |more: &[&str]| {
        ran(&mut dispatch(&home, &real, more)).ok();
        home.await_workers();
    };
    let runs = || home.value(&format!("SELECT count(*) FROM task_runs WHERE task_id = '{task}'"));
    (0..3).for_each(|_| tick(&[]));
    tick(&["--max", "0"]);
    assert_eq!((runs(), home.task(&task, "status")), ("3".into(), "ready".into()), "{}", home.kinds(&task));
    assert_eq!(home.task(&task, "consecutive_failures"), "0", "it would go on for ever");
    home.round();
    (0..2).for_each(|_| tick(&[]));
    assert_eq!(runs(), "3", "{}", home.kinds(&task));
    let card = "SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%' AND assignee = 'tuesday'";
    assert_eq!(home.value(card), "1", "and somebody is told");
}

#[test]
fn a_worker_that_waits_for_its_provider_by_itself_is_left_alone_until_it_is_answered() {
    let Some(home) = Home::newer() else { return };
    let provider = Provider::new(&home);
    let name = "luna";
    let text = format!(
        "model: {{provider: fake, default: m1}}\nproviders:\n  fake: {{base_url: '{}', api_key: {}, default_model: m1}}\n\
         agent: {{api_max_retries: 3, max_turns: 6}}\n",
        provider.mode("r503"),
        key()
    );
    home.configured(name, &text);
    let task = home.create(&[]);
    let _workers = Workers(vec![task.clone()]);
    home.hermes(&["dispatch"]).ok();
    let log = home.path().join(format!("kanban/logs/{task}.log"));
    until("it to wait by itself", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("(cycle 1/5)"))
    });
    // Hermes writes the log of a profile on a thread of its own, later than that.
    let log = home.path().join("profiles").join(name).join("logs/agent.log");
    until("its log to say so", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("auto-recovery cycle 1/5"))
    });
    let said = pass(&home, "synthesize-distress", &[]);
    assert!(
        said.out.contains("its worker waits by itself") || said.err.contains("its worker waits by itself"),
        "{said:?}"
    );
    assert_eq!(home.value("SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%'"), "0");
    // Silent for long after that, it would get its card.
    let later = (crate::support::now() + 400).to_string();
    let said = pass(&home, "synthesize-distress", &["-n", "--now", &later]).out;
    assert!(said.contains("overloaded"), "{said}");
    // Its provider answers again, and it goes on by itself.
    provider.turn("r503", "ok");
    home.await_status(&task, "done");
    home.round();
    assert_eq!(home.value("SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%'"), "0");
    assert_eq!(home.value("SELECT count(*) FROM task_runs"), "1");
}
