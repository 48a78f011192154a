//! A worker that outlives its attempt: nobody is started beside it.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Desk, signal};
use crate::copy::pause;
use crate::support::{Kept, is_gone, now, program, ran, until, worker};

impl Desk {
    /// What a worker's script says to block its task.
    fn blocks(&self) -> String {
        let board = format!("{} --db {}", program("board"), self.b.db.display());
        format!("{board} block \"$HERMES_KANBAN_TASK\" 'MIT or Apache?' --kind needs_input; ")
    }

    /// The person answers.
    fn answered(&self) {
        until("it is blocked", || self.status() == "blocked");
        self.b.hand(&["comment", &self.task, "MIT", "--author", "maria"]).ok();
        self.b.hand(&["unblock", &self.task]).ok();
    }

    /// Why its claim is refused, while this process works on it.
    fn held_by(&self, pid: i64) -> String {
        format!("board: {}: process {pid} of an earlier attempt still works on it; ", self.task)
    }
}

#[test]
fn nobody_is_started_beside_a_worker_that_outlives_its_block() {
    let d = Desk::new();
    let mut first = d.started(&[], &format!("{} exec sleep 600", d.blocks()));
    d.answered();
    let line = d.held_by(d.pid());
    let passed = format!("{line}it is passed over until that process ends\n");
    let second = d.run("touch second");
    assert_eq!((second.code, &*second.out, &*second.err), (0, "", &*passed));
    let claim = d.b.hand(&["claim", "--worker", "luna"]);
    assert_eq!((claim.code, &*claim.out, &*claim.err), (0, "", &*passed));
    let stop = format!("kill {}", d.pid());
    let why = d.b.hand(&["claim", &d.task]).fails(1);
    assert_eq!(why, format!("{line}wait for its end, or stop it: {stop}"));
    assert_eq!(
        (d.status().as_str(), &*d.b.kinds(&d.task)),
        ("ready", "created claimed blocked commented unblocked")
    );
    // A `board run` that waits is told once, and gets the next task in line.
    let mut waiting = d.command(&["--wait", "1s"], "touch second");
    let mut waiting = Kept(waiting.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let folder = d.folder.to_str().unwrap();
    let more = d.b.hand(&["add", "More", "--assignee", "luna", "--priority", "-1", "--workspace", folder]);
    let more = more.ok().trim().to_owned();
    assert_eq!(waiting.0.wait().unwrap().code(), Some(0));
    let mut err = String::new();
    std::io::Read::read_to_string(&mut waiting.0.stderr.take().unwrap(), &mut err).unwrap();
    assert_eq!((err, d.b.task(&more, "status")), (passed, "done".into()));
    fs::remove_file(d.folder.join("second")).unwrap();

    // As it was advised.
    assert!(Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    assert_eq!(first.0.wait().unwrap().code(), Some(0));
    assert_eq!(d.run("touch second").ok(), format!("{} done\n", d.task));
    assert!(d.folder.join("second").exists());
}

#[test]
fn a_board_is_not_copied_beside_a_worker_that_outlives_its_block() {
    let d = Desk::new();
    let mut first = d.started(&[], &format!("{} exec sleep 600", d.blocks()));
    until("it is blocked", || d.status() == "blocked");
    let to = d.b.path().join("new/night.db");
    let copy = |flags: &[&str]| ran(d.b.command("board").arg("copy").arg(&d.b.db).arg(&to).args(flags));
    let stop = format!("kill {}", d.pid());
    for flags in [&[][..], &["-n"]] {
        let why = copy(flags).fails(1);
        let works = format!(
            "process {} of an earlier attempt still works on {}; nothing was copied",
            d.pid(),
            d.task
        );
        assert!(why.contains(&works) && why.contains(&stop), "{why}");
        assert!(!to.exists() && pause(&d.b).is_none());
    }
    assert!(copy(&["-n", "--leave-running"]).ok().starts_with("would copy "));
    // As it was advised.
    assert!(Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    assert_eq!(first.0.wait().unwrap().code(), Some(0));
    assert!(copy(&[]).ok().starts_with("copied "));
}

#[test]
fn what_a_worker_left_running_as_it_blocked_its_task_is_waited_for() {
    let d = Desk::new();
    let left = "setsid sleep 600 >/dev/null 2>&1 & echo $! > child; ";
    d.run(&format!("{left}{}", d.blocks())).ok();
    d.answered();
    let child: i64 = d.read("child").trim().parse().unwrap();
    let said = d.run("touch second");
    assert_eq!((said.code, said.out.as_str()), (0, ""));
    assert!(said.err.starts_with(&d.held_by(child)), "{}", said.err);
    // For so long, as heal does. It is not ours to stop.
    let later = (now() + 901).to_string();
    let said = ran(&mut d.command(&["--now", &later], "true"));
    assert_eq!((said.err.as_str(), said.out.as_str()), ("", &*format!("{} done\n", d.task)));
    assert!(!is_gone(child));
    signal(child, Signal::KILL);
}

#[test]
fn a_worker_that_names_no_task_is_known_by_its_recorded_start() {
    let d = Desk::new();
    let mut silent = Command::new("sleep");
    silent.arg("600").env_clear().stdin(Stdio::null());
    let mut silent = Kept(silent.spawn().unwrap());
    d.b.hand(&["claim", &d.task, "--worker", "luna", "--pid", &silent.pid().to_string()]).ok();
    d.b.hand(&["block", &d.task, "MIT or Apache?", "--kind", "needs_input"]).ok();
    d.answered();
    let why = d.b.hand(&["claim", &d.task, "--worker", "sol"]).fails(1);
    assert!(why.starts_with(&d.held_by(silent.pid())), "{why}");
    let said = d.run("touch second");
    assert_eq!((said.code, said.out.as_str()), (0, ""));
    // It may do something else by now.
    let later = (now() + 901).to_string();
    assert_eq!(ran(&mut d.command(&["--now", &later], "true")).ok(), format!("{} done\n", d.task));
    assert!(silent.is_running());
}

#[test]
fn a_recorded_worker_that_blocked_its_task_is_told_of_beside_the_next_one() {
    let d = Desk::new();
    let sleeps = || {
        let mut silent = Command::new("sleep");
        Kept(silent.arg("600").env_clear().stdin(Stdio::null()).spawn().unwrap())
    };
    let (first, next) = (sleeps(), sleeps());
    let claim = |who: &str, task: &str, pid: &Kept, later: i64| {
        let (pid, at) = (pid.pid().to_string(), (now() + later).to_string());
        d.b.hand(&["--now", &at, "claim", task, "--worker", who, "--pid", &pid]).ok();
    };
    claim("luna", &d.task, &first, 0);
    d.b.hand(&["block", &d.task, "MIT or Apache?", "--kind", "needs_input"]).ok();
    d.answered();
    claim("sol", &d.task, &next, 901);
    let heal = |later: i64| {
        let mut heal = d.b.command("heal");
        ran(heal.args(["--now", &(now() + later).to_string(), "--db"]).arg(&d.b.db)).ok()
    };
    let pid = first.pid();
    let said = heal(1_200);
    let told = format!("tell: process {pid} of an ended attempt still runs beside its worker");
    assert!(said.contains(&told), "{said}");
    assert_eq!(heal(1_260), "");
    let mut why = d.b.command("watchbill");
    why.args(["why", &d.task, "--now", &(now() + 1_260).to_string(), "--db"]).arg(&d.b.db);
    let why = ran(&mut why).ok();
    assert!(why.contains(&format!("ps -fp {pid}")) && why.contains(&format!("kill {pid}")), "{why}");
    // A worker that goes on to other tasks works beside nobody.
    let other = d.b.hand(&["add", "More", "--assignee", "luna"]).ok().trim().to_owned();
    claim("luna", &other, &first, 1_300);
    let said = heal(1_500);
    assert!(said.contains("older-worker is over"), "{said}");
}

#[test]
fn a_command_that_waits_for_its_claim_holds_no_task() {
    let d = Desk::new();
    d.run(&d.blocks()).ok();
    d.answered();
    // As that of another `board run`, which was offered the same task.
    let mut gate = Command::new("sleep");
    gate.arg("600").env("HERMES_KANBAN_TASK", &d.task).env("HERMES_KANBAN_DB", &d.b.db);
    let mut gate = Kept(gate.stdin(Stdio::null()).spawn().unwrap());
    assert_eq!(d.run("true").ok(), format!("{} done\n", d.task));
    assert!(gate.is_running());
}

#[test]
fn a_claimers_own_processes_are_not_in_its_way() {
    let d = Desk::new();
    // It has a tool, is its own caller, and claims for itself.
    let claim = format!(
        "{} --db {} claim \"$HERMES_KANBAN_TASK\" --pid $$ > claimed 2>&1; ",
        program("board"),
        d.b.db.display()
    );
    let script =
        format!("sleep 600 & {} until [ -e go ]; do sleep 0.05; done; {claim} exec sleep 600", d.blocks());
    let mut harness = d.started(&[], &script);
    d.answered();
    fs::write(d.folder.join("go"), "").unwrap();
    until("it claims its task again", || {
        !fs::read_to_string(d.folder.join("claimed")).unwrap_or_default().is_empty()
    });
    assert_eq!(d.read("claimed"), format!("{}\n", d.task));
    assert_eq!((d.status(), d.b.task(&d.task, "worker_pid")), ("running".into(), d.pid().to_string()));
    signal(harness.pid(), Signal::TERM);
    assert_eq!(harness.0.wait().unwrap().code(), Some(1));
    assert!(is_gone(d.pid()));

    // Of an attempt that the board lost: it is refused, but for the process itself.
    let d = Desk::new();
    let other = worker(&d.task, 1);
    let why = d.b.hand(&["claim", &d.task]).fails(1);
    assert!(why.starts_with(&d.held_by(other.pid())), "{why}");
    d.b.hand(&["claim", &d.task, "--pid", &other.pid().to_string()]).ok();
}

#[test]
fn a_command_is_stopped_at_once_where_another_attempt_has_its_task() {
    let d = Desk::new();
    // Of a claim of 45 s there is a heartbeat each 15 s.
    let mut harness = d.started(&["--ttl", "45s"], "exec sleep 600");
    let began = Instant::now();
    d.b.sql("UPDATE tasks SET claim_lock = 'elsewhere:7'");
    assert_eq!(harness.0.wait().unwrap().code(), Some(1));
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    assert!(is_gone(d.pid()));
}
