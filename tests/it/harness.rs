//! `board run`: a command that claims, works, and is seen to end, with real processes.

mod living;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal};

use crate::support::{Kept, Ran, TestBoard, birth, is_gone, now, ran, start_ticks, until};

/// A board with one task for luna that is worked on in a folder of its own.
struct Desk {
    b: TestBoard,
    task: String,
    folder: PathBuf,
}

impl Desk {
    fn new() -> Desk {
        let b = TestBoard::own();
        let folder = fs::canonicalize(b.path()).unwrap().join("work");
        fs::create_dir(&folder).unwrap();
        let added =
            b.hand(&["add", "Light the lanterns", "--assignee", "luna", "--body", "All nine of them."]);
        let task = added.ok().trim().to_owned();
        b.sql(&format!("UPDATE tasks SET workspace_kind = 'dir', workspace_path = '{}'", folder.display()));
        Desk { b, task, folder }
    }

    fn command(&self, args: &[&str], script: &str) -> Command {
        let mut command = self.b.command("board");
        command.arg("--db").arg(&self.b.db).args(["run", "--assignee", "Luna"]).args(args);
        command.args(["--", "sh", "-c", script]);
        command
    }

    fn run(&self, script: &str) -> Ran {
        ran(&mut self.command(&[], script))
    }

    /// A harness whose command has begun.
    fn started(&self, args: &[&str], script: &str) -> Kept {
        let mut command = self
            .command(args, &format!("{script_head}{script}", script_head = "echo $$ > pid; mv pid begun; "));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let harness = Kept(command.spawn().unwrap());
        until("the command begins", || self.folder.join("begun").exists());
        harness
    }

    /// A harness that waits for a task, and listens to signals.
    fn waiting(&self) -> Kept {
        let mut command = self.command(&["--wait", "1s"], "true");
        let harness = Kept(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        until("it listens to SIGTERM", || {
            let status = fs::read_to_string(format!("/proc/{}/status", harness.pid())).unwrap();
            let caught = status.lines().find_map(|l| l.strip_prefix("SigCgt:")).unwrap();
            u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (Signal::TERM.as_raw() - 1)) != 0
        });
        harness
    }

    /// Puts a copy of the board into its place, as after a restore.
    fn restore_a_copy(&self) {
        let copy = self.b.path().join("copy.db");
        self.b.sql(&format!("VACUUM INTO '{}'", copy.display()));
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", self.b.db.display()));
        }
        fs::rename(copy, &self.b.db).unwrap();
    }

    /// The command's own pid.
    fn pid(&self) -> i64 {
        self.read("begun").trim().parse().unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap()
    }

    fn status(&self) -> String {
        self.b.task(&self.task, "status")
    }

    fn run_row(&self, what: &str) -> String {
        self.b.value(&format!("SELECT {what} FROM task_runs ORDER BY id DESC LIMIT 1"))
    }

    /// What the command printed.
    fn log(&self) -> String {
        fs::read_to_string(self.b.path().join(format!("kanban/logs/{}.log", self.task))).unwrap()
    }
}

fn signal(pid: i64, signal: Signal) {
    rustix::process::kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn its_claim_carries_the_fingerprint_of_the_command() {
    // Done, requeued, and killed with its harness, so that `heal` requeues it.
    for (ends, status) in [("exit 0", "done"), ("exit 3", "ready"), ("kill -9 $PPID $$", "ready")] {
        let d = Desk::new();
        d.b.keeps_starts();
        let harness = d.started(&[], &format!("while [ ! -e stop ]; do sleep 0.1; done; {ends}"));
        until("it is claimed", || d.b.task(&d.task, "status") == "running");
        let (pid, want) = (d.pid().to_string(), birth(&start_ticks(d.pid())));
        assert_eq!(d.b.starts(&d.task), [want.clone(), want.clone()], "{ends}");
        let lock = d.b.task(&d.task, "claim_lock");
        fs::write(d.folder.join("stop"), "").unwrap();
        until("it ends", || is_gone(harness.pid()) && is_gone(d.pid()));
        if ends.starts_with("kill") {
            for later in [120, 180] {
                d.b.later(later, &[]).ok();
            }
        }
        // A newer Hermes can still tell a worker that outlives its attempt; the task itself has none.
        assert_eq!(d.b.task(&d.task, "status"), status, "{ends}");
        assert_eq!(d.b.starts(&d.task), ["NULL".to_owned(), want], "{ends}");
        let left = d.b.value("SELECT claim_lock || '|' || worker_pid FROM task_runs");
        assert_eq!(left, format!("{lock}|{pid}"), "{ends}");
        assert_eq!(d.b.task(&d.task, "coalesce(claim_lock, worker_pid)"), "NULL", "{ends}");
    }
}

/// A provider that refuses is not seen in a log that takes no more.
#[test]
#[cfg(feature = "real")]
fn code_0_on_a_full_disk_is_not_done() {
    let completes = concat!(
        "head -c 40000000 /dev/zero; ",
        env!("CARGO_BIN_EXE_board"),
        " complete $HERMES_KANBAN_TASK; exit 0"
    );
    for (script, code, status) in [
        ("head -c 40000000 /dev/zero; echo 'error: 429 Too Many Requests'; exit 0", 1, "blocked"),
        ("head -c 4000 /dev/zero; echo done; exit 0", 0, "done"),
        // It said itself that it is done.
        (completes, 0, "done"),
    ] {
        let d = Desk::new();
        let logs = d.b.path().join("kanban/logs");
        fs::create_dir_all(&logs).unwrap();
        let inner = d.command(&[], script);
        let mut small = Command::new("unshare");
        let line = format!("mount -t tmpfs -o size=1m tmpfs {} && exec \"$@\"", logs.display());
        small.args(["--mount", "--map-root-user", "sh", "-c", &line, "sh"]).arg(inner.get_program());
        small.args(inner.get_args()).env_clear();
        small.envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?)))).stdin(Stdio::null());
        let said = ran(&mut small);
        assert_eq!((said.code, d.status().as_str()), (code, status), "{script}: {said:?}");
        if code == 1 {
            assert!(said.err.contains("took no more (disk full); it is blocked"), "{said:?}");
            assert!(said.err.contains("make room"), "{said:?}");
            let report = ran(d.b.command("watchbill").args(["status", "--db"]).arg(&d.b.db));
            assert!(report.out.contains("disk full"), "{report:?}");
        }
    }
}

#[test]
fn the_logs_of_the_last_attempts_are_kept() {
    let d = Desk::new();
    for n in 1..=8 {
        d.run(&format!("echo {n}; exit 3")).fails(1);
        d.b.sql("UPDATE tasks SET status = 'ready', consecutive_failures = 0");
    }
    assert_eq!(d.log(), "8\n");
    let log = d.b.path().join(format!("kanban/logs/{}.log", d.task));
    let kept: Vec<_> =
        (1..=6).map(|n| fs::read_to_string(format!("{}.{n}", log.display())).unwrap_or_default()).collect();
    assert_eq!(kept, ["7\n", "6\n", "5\n", "4\n", "3\n", ""]);
}

#[test]
fn a_log_that_is_no_plain_file_is_refused_before_anything_is_claimed() {
    let d = Desk::new();
    let place = |name: &str| d.folder.join(name);
    assert!(Command::new("mkfifo").arg(place("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink(place("pipe"), place("link")).unwrap();
    for path in [place("pipe"), place("link"), d.folder.clone(), "/dev/null".into()] {
        let path = path.to_str().unwrap();
        let said = ran(&mut d.command(&["--log", path], "true")).fails(2);
        assert!(said.ends_with(&format!("board: --log {path}: not a plain file")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!((d.status().as_str(), d.b.value("SELECT count(*) FROM task_runs").as_str()), ("ready", "0"));
    fs::write(place("plain"), "first\n").unwrap();
    std::os::unix::fs::symlink(place("plain"), place("to-plain")).unwrap();
    ran(&mut d.command(&["--log", place("to-plain").to_str().unwrap()], "echo second")).ok();
    assert_eq!(d.read("plain"), "first\nsecond\n");
}

#[test]
fn a_prompt_whose_harness_was_killed_goes_with_the_next_one() {
    let d = Desk::new();
    let tmp = d.b.path().join("tmp");
    fs::create_dir(&tmp).unwrap();
    let file = |name: &str, age: u64| {
        let file = fs::File::create(tmp.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        file
    };
    file("watchbill-prompt-left", 7_200);
    file("watchbill-prompt-young", 60);
    file("somebodys-prompt", 7_200);
    let at_work = file("watchbill-prompt-at-work", 7_200);
    at_work.try_lock().unwrap();
    std::os::unix::fs::symlink(tmp.join("somebodys-prompt"), tmp.join("watchbill-prompt-link")).unwrap();
    ran(d.command(&[], "true").env("TMPDIR", &tmp)).ok();
    let mut names: Vec<_> = fs::read_dir(&tmp).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    let kept =
        ["somebodys-prompt", "watchbill-prompt-at-work", "watchbill-prompt-link", "watchbill-prompt-young"];
    assert_eq!(names, kept);
}

#[test]
fn a_command_is_told_what_it_works_on_and_its_end_is_the_tasks() {
    let d = Desk::new();
    d.b.hand(&["comment", &d.task, "the ninth\nis broken", "--author", "maria"]).ok();
    let said =
        d.run("cat > stdin; cat \"$WATCHBILL_PROMPT_FILE\" > file; env > env; echo lit; echo half >&2");
    assert_eq!(said.clone().ok(), format!("{} done\n", d.task));
    let prompt = d.read("stdin");
    assert_eq!(d.read("file"), prompt);
    let head = format!("All nine of them.\n\nTask {}: Light the lanterns\n\nComments:\n- maria, ", d.task);
    assert!(prompt.starts_with(&head) && prompt.ends_with("Z: the ninth is broken\n"), "{prompt}");
    let (env, db) = (d.read("env"), d.b.db.display().to_string());
    let claim = d.b.payload(&d.task, "claimed")["lock"].as_str().unwrap().to_owned();
    let var =
        |name: &str| env.lines().find_map(|l| l.strip_prefix(&format!("{name}="))).unwrap_or("").to_owned();
    for (name, want) in [
        ("HERMES_KANBAN_TASK", d.task.as_str()),
        ("HERMES_KANBAN_RUN_ID", "1"),
        ("HERMES_KANBAN_DB", &db),
        ("HERMES_KANBAN_WORKSPACE", d.folder.to_str().unwrap()),
        ("HERMES_PROFILE", "luna"),
        ("WATCHBILL_CLAIM", &format!("{} {claim}", d.task)),
    ] {
        assert_eq!(var(name), want, "{name}");
    }
    let ours: Vec<&str> = env.lines().filter(|l| l.starts_with("WATCHBILL_")).collect();
    let left = |l: &&&str| {
        ["TASK", "RUN", "DB", "WORKSPACE", "PROFILE"]
            .iter()
            .any(|n| l.starts_with(&format!("WATCHBILL_{n}=")))
    };
    assert_eq!(ours.iter().find(left), None, "those are of boards that several hosts share");
    assert!(!PathBuf::from(var("WATCHBILL_PROMPT_FILE")).exists(), "it goes with its command");
    assert_eq!(d.log(), "lit\nhalf\n");
    assert_eq!(d.b.kinds(&d.task), "created commented claimed completed");
    assert_eq!(d.run_row("profile || outcome || (ended_at IS NOT NULL)"), "lunacompleted1");
    let claimed = d.b.payload(&d.task, "claimed");
    assert!(
        claimed["watchbill"]["tree"].is_string() && claimed["watchbill"]["birth"].is_object(),
        "{claimed}"
    );
    // No task is ready any more, for this worker or another one.
    assert_eq!(d.run("touch again").ok(), "");
    assert!(!d.folder.join("again").exists());
}

#[test]
fn a_worker_whose_task_has_another_claim_of_the_same_run_may_say_nothing_of_it() {
    let d = Desk::new();
    let mut harness = d.started(&[], "exec sleep 600");
    let claim = d.b.task(&d.task, "claim_lock");
    let told = |claim: &str, args: &[&str]| {
        let mut command = d.b.command("board");
        command.arg("--db").arg(&d.b.db).env("HERMES_KANBAN_TASK", &d.task).env("HERMES_KANBAN_RUN_ID", "1");
        ran(command.env("WATCHBILL_CLAIM", format!("{} {claim}", d.task)).args(args))
    };
    let rows = |what: &str| d.b.value(&format!("SELECT count(*) FROM {what}"));
    let before = (rows("task_events"), rows("task_comments"), rows("tasks"));
    for args in [
        &["heartbeat", &d.task][..],
        &["packet", &d.task, "--step", "the ninth"],
        &["complete", &d.task],
        &["complete", &d.task, "--run", "1"],
        &["block", &d.task, "which?", "--kind", "needs_input"],
        &["block", &d.task, "no driver", "--type", "env_blocker"],
    ] {
        let said = told(&format!("{claim}9"), args).fails(1);
        let want = format!("{}: {claim}9 no longer holds it: another worker has this task (run 1)", d.task);
        assert!(said.contains(&want) && said.contains("stop working on it"), "{args:?}: {said}");
    }
    assert_eq!((rows("task_events"), rows("task_comments"), rows("tasks")), before);
    told(&claim, &["heartbeat", &d.task]).ok();
    // Of no other task it says anything.
    let other = d.b.hand(&["add", "B"]).ok().trim().to_owned();
    let mut command = d.b.command("board");
    command
        .arg("--db")
        .arg(&d.b.db)
        .env("WATCHBILL_CLAIM", format!("{} elsewhere:1", d.task))
        .args(["claim", &other]);
    ran(&mut command).ok();
    told(&claim, &["complete", &d.task]).ok();
    assert_eq!(d.status(), "done");
    signal(harness.pid(), Signal::TERM);
    let _ = harness.0.wait();
}

/// As a worker of a board that several hosts share is told.
#[test]
fn a_worker_that_is_told_by_our_variables_is_known_by_them() {
    let d = Desk::new();
    let run = d.b.hand(&["claim", &d.task, "--worker", "luna", "--json"]).json()["run"].to_string();
    let claim = d.b.task(&d.task, "claim_lock");
    let as_run = |run: &str, args: &[&str]| {
        let mut command = d.b.command("board");
        command.env_remove("HERMES_KANBAN_DB").env("WATCHBILL_DB", &d.b.db).env("WATCHBILL_TASK", &d.task);
        command
            .env("WATCHBILL_RUN", run)
            .env("WATCHBILL_CLAIM", format!("{} {claim}", d.task))
            .env("WATCHBILL_PROFILE", "luna");
        ran(command.args(args))
    };
    let said = as_run("9", &["heartbeat", &d.task]).fails(1);
    assert!(said.contains("run 9 is no longer its open run: another worker has this task (run 1)"), "{said}");
    as_run(&run, &["heartbeat", &d.task, "--note", "the ninth"]).ok();
    let other = d.b.hand(&["add", "B", "--assignee", "luna"]).ok().trim().to_owned();
    let said = as_run(&run, &["complete", &other]).fails(1);
    assert!(said.contains("is not your task (WATCHBILL_TASK)"), "{said}");
    as_run(&run, &["comment", &d.task, "the ninth burns"]).ok();
    assert_eq!(d.b.value("SELECT author FROM task_comments"), "luna");
    // A claim is made for the profile of the environment.
    assert_eq!(as_run(&run, &["claim"]).ok().trim(), other);
    assert_eq!(d.run_row("profile"), "luna");
    as_run(&run, &["complete", &d.task]).ok();
    assert_eq!(d.status(), "done");
}

#[test]
fn only_what_is_ready_and_this_profiles_is_taken_the_first_one_first() {
    let d = Desk::new();
    d.b.sql("UPDATE tasks SET workspace_kind = 'scratch', workspace_path = NULL");
    let add = |args: &[&str]| d.b.hand(&[&["add"], args].concat()).ok().trim().to_owned();
    let (nova, nobody) =
        (add(&["N", "--assignee", "nova", "--priority", "9"]), add(&["X", "--priority", "9"]));
    let first = add(&["First", "--assignee", "luna", "--priority", "5"]);
    let next = add(&["Next", "--assignee", "luna", "--parent", &first, "--priority", "7"]);
    for id in [&first, &next, &d.task] {
        assert_eq!(d.run("true").ok(), format!("{id} done\n"));
    }
    assert_eq!(d.run("true").ok(), "");
    for id in [nova, nobody] {
        assert_eq!(d.b.task(&id, "status"), "ready");
    }
}

#[test]
fn a_name_that_no_task_has_is_said_once_and_is_no_error() {
    let d = Desk::new();
    let run = |d: &Desk, who: &str, more: &[&str]| {
        let mut command = d.b.command("board");
        command.arg("--db").arg(&d.b.db).args(["run", "--assignee", who]).args(more).args(["--", "true"]);
        command
    };
    // What is said by one that waits, in time for several looks.
    let waits = |d: &Desk, who: &str| {
        let err = d.b.path().join("err");
        let stderr = fs::File::create(&err).unwrap();
        let mut command = run(d, who, &["--wait", "1s"]);
        let harness = Kept(command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap());
        std::thread::sleep(Duration::from_millis(2_500));
        drop(harness);
        fs::read_to_string(&err).unwrap()
    };
    let line = "board: no task of this board is assigned to nosuch, and none was lately: waits for one\n";
    assert_eq!(waits(&d, "NoSuch"), line);
    // One that ends at once says by that what it has to say.
    let r = ran(&mut run(&d, "nosuch", &[]));
    assert_eq!((r.code, r.err), (0, String::new()));
    // Whose task waits, is done, or was given away is known.
    d.b.hand(&["block", &d.task, "not yet", "--kind", "needs_input"]).ok();
    assert_eq!(waits(&d, "luna"), "");
    d.b.hand(&["unblock", &d.task]).ok();
    d.run("true").ok();
    d.b.sql("DELETE FROM task_runs");
    assert_eq!(waits(&d, "luna"), "", "by the task that is done");
    let d = Desk::new();
    assert_eq!(d.run("exit 3").code, 1);
    d.b.hand(&["reassign", &d.task, "sol"]).ok();
    assert_eq!(waits(&d, "luna"), "", "by its attempt");
}

#[test]
fn a_command_that_fails_is_an_attempt_that_failed() {
    let d = Desk::new();
    let why = d.run("echo broken; exit 3").fails(1);
    let log = d.b.payload(&d.task, "crashed")["watchbill"]["log"].as_str().unwrap().to_owned();
    let said = "worker exited with code 3 (board run); it is ready again; its output: ";
    assert_eq!(why, format!("board: {}: {said}{log}", d.task));
    assert_eq!(d.status(), "ready");
    assert_eq!(d.run_row("outcome || ': ' || error"), "crashed: worker exited with code 3 (board run)");
    assert_eq!(d.b.task(&d.task, "consecutive_failures"), "1");
    let crashed = d.b.payload(&d.task, "crashed");
    assert_eq!((&crashed["by"], &crashed["watchbill"]["exit_code"]), (&"board".into(), &3.into()));
    assert!(crashed["watchbill"]["log"].as_str().unwrap().ends_with(".log"), "{crashed}");
    // The next one is told of it, and begins a log of its own.
    let why = d.run("cat > stdin; kill -9 $$").fails(1);
    assert!(why.ends_with("worker killed by signal 9 (board run); failed too often, it is blocked"), "{why}");
    assert!(d.b.kinds(&d.task).ends_with("crashed gave_up"), "{}", d.b.kinds(&d.task));
    assert!(d.read("stdin").contains("You are resuming an interrupted task."), "{}", d.read("stdin"));
    assert_eq!(d.log(), "");
    assert_eq!(d.b.payload(&d.task, "crashed")["watchbill"]["signal"], 9);
}

#[test]
fn what_the_worker_said_itself_stands() {
    let d = Desk::new();
    let board = format!("{} --db {}", crate::support::program("board"), d.b.db.display());
    let said =
        d.run(&format!("{board} block \"$HERMES_KANBAN_TASK\" 'which lamps?' --kind needs_input; exit 1"));
    assert_eq!(said.ok(), format!("{} is blocked, as its worker said\n", d.task));
    assert_eq!(d.b.kinds(&d.task), "created claimed blocked");
}

#[test]
fn a_worker_at_work_is_alive_and_a_killed_one_is_gone() {
    let d = Desk::new();
    let mut harness = d.started(&["--ttl", "10s"], "exec sleep 600");
    assert_eq!(d.b.task(&d.task, "worker_pid"), d.pid().to_string());
    let said = d.b.later(120, &["-v"]).ok();
    assert!(said.contains("worker alive"), "{said}");
    // Its claim is renewed before it runs out, for as long again.
    let expires = || d.b.task(&d.task, "claim_expires").parse::<i64>().unwrap();
    let first = expires();
    until("a heartbeat", || d.b.kinds(&d.task).contains("heartbeat"));
    let beat = d.b.task(&d.task, "last_heartbeat_at").parse::<i64>().unwrap();
    assert!(beat < first, "{beat}, {first}");
    // Both of one beat, as the next one may come at any time.
    assert_eq!(d.b.task(&d.task, "claim_expires - last_heartbeat_at"), "10");
    // Without its harness the command goes on, and heal still knows it.
    harness.kill();
    assert!(d.b.later(120, &["-v"]).ok().contains("worker alive"));
    signal(d.pid(), Signal::KILL);
    until("the command ends", || is_gone(d.pid()));
    assert!(d.b.later(120, &[]).ok().contains("note: worker"));
    let said = d.b.later(180, &[]).ok();
    assert!(
        said.contains("requeue: worker") && said.contains("the dispatcher that started it is gone too"),
        "{said}"
    );
    assert_eq!(d.status(), "ready");
}

/// `nohup` starts it with SIGHUP ignored, the `&` of a shell with SIGINT.
#[test]
fn a_signal_that_was_ignored_as_it_started_does_not_stop_it() {
    let d = Desk::new();
    let asked = d.command(&[], "echo $$ > pid; mv pid begun; while [ ! -e stop ]; do sleep 0.1; done");
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' HUP INT; exec \"$@\"", "sh"])
        .arg(asked.get_program())
        .args(asked.get_args());
    command.env_clear().envs(d.b.environment()).current_dir(d.b.path());
    let mut harness = Kept(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("the command begins", || d.folder.join("begun").exists());
    let both = [Signal::HUP, Signal::INT].iter().fold(0, |all, signal| all | 1 << (signal.as_raw() - 1));
    for pid in [harness.pid(), d.pid()] {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let ignored = status.lines().find_map(|l| l.strip_prefix("SigIgn:")).unwrap();
        assert_eq!(u64::from_str_radix(ignored.trim(), 16).unwrap() & both, both, "{pid}");
    }
    signal(harness.pid(), Signal::HUP);
    signal(harness.pid(), Signal::INT);
    fs::write(d.folder.join("stop"), "").unwrap();
    assert_eq!((harness.0.wait().unwrap().code(), d.status().as_str()), (Some(0), "done"));
}

#[test]
fn a_harness_that_is_told_to_stop_stops_its_command_first() {
    for word in [Signal::TERM, Signal::INT] {
        let d = Desk::new();
        // It does not want to end, and has a tool in a session of its own.
        let mut harness = d.started(
            &[],
            "trap 'echo no > asked' TERM INT; echo > trapped; setsid sleep 600 & while :; do sleep 0.1; done",
        );
        until("it listens", || d.folder.join("trapped").exists());
        let pid = d.pid();
        signal(harness.pid(), word);
        let ended = harness.0.wait().unwrap();
        assert_eq!((ended.code(), ended.signal()), (Some(1), None));
        assert_eq!(d.read("asked"), "no\n", "asked first");
        assert!(is_gone(pid));
        assert_eq!(d.status(), "ready");
        assert_eq!(d.b.task(&d.task, "consecutive_failures"), "0", "nobody's fault");
        assert_eq!(
            d.run_row("outcome || ': ' || error"),
            "reclaimed: worker stopped with its harness (board run)"
        );
        let mark = format!("HERMES_KANBAN_TASK={}", d.task);
        let marked = fs::read_dir("/proc").unwrap().flatten().filter(|e| {
            let environ = fs::read(e.path().join("environ")).unwrap_or_default();
            environ.split(|b| *b == 0).any(|v| v == mark.as_bytes())
        });
        assert_eq!(marked.count(), 0, "nothing of it is left");
    }
}

/// A wrapper that clears the environment, as `bwrap --clearenv`, `su -` and `env -i` do: nothing names the run of its agent.
const UNNAMED: &str =
    "env -i /bin/sh -c 'echo $$ > agent; mv agent works; trap \"\" TERM; while :; do sleep 0.1; done'";

#[test]
fn an_agent_without_a_name_is_stopped_with_its_wrapper() {
    for apart in ["", "setsid "] {
        let d = Desk::new();
        let mut harness = d.started(&[], &format!("{apart}{UNNAMED} & wait"));
        until("its agent works", || d.folder.join("works").exists());
        let agent: i64 = d.read("works").trim().parse().unwrap();
        signal(harness.pid(), Signal::TERM);
        assert_eq!(harness.0.wait().unwrap().code(), Some(1));
        assert!(is_gone(agent), "{apart:?}");
        assert_eq!(d.status(), "ready");
    }
}

#[test]
fn an_agent_without_a_name_is_waited_for_where_its_wrapper_failed() {
    for apart in ["", "setsid "] {
        let d = Desk::new();
        let mut harness = d.started(
            &[],
            &format!("{apart}{UNNAMED} & while [ ! -e works ]; do sleep 0.1; done; kill -9 $$"),
        );
        until("its agent works", || d.folder.join("works").exists());
        until("its wrapper is gone", || is_gone(d.pid()));
        let agent: i64 = d.read("works").trim().parse().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        assert!(harness.is_running() && !is_gone(agent), "{apart:?}");
        until("it is the worker", || d.b.task(&d.task, "worker_pid") == agent.to_string());
        d.b.later(900, &["-v"]).ok();
        d.b.later(1_000, &["-v"]).ok();
        assert_eq!(d.status(), "running", "heal requeues nothing meanwhile");
        signal(agent, Signal::KILL);
        assert_eq!(harness.0.wait().unwrap().code(), Some(1));
        assert_eq!(d.status(), "ready");
        assert_eq!(d.run_row("error"), "worker killed by signal 9 (board run)");
    }
}

/// Such as the server of a tool, which ends when its agent does.
#[test]
fn how_what_a_failed_command_left_ends_says_nothing_of_it() {
    let d = Desk::new();
    let said = d.run("env -i sleep 2 & kill -9 $$");
    assert!(said.code == 1 && said.err.contains("still runs: waits 15m at most"), "{said:?}");
    assert_eq!(d.status(), "ready");
    assert_eq!(d.run_row("error"), "worker killed by signal 9 (board run)");
    // The claim says of it what heal needs: that it is gone, and where the log of the attempt is.
    let d = Desk::new();
    let said = d.run("echo 'API Error: Rate limit reached'; env -i sleep 2 & exit 1");
    assert!(said.err.contains("its log ends on rate_limit: heal goes on with it"), "{said:?}");
    let healed = d.b.later(120, &[]).ok();
    assert!(healed.contains("park: worker") && d.status() == "scheduled", "{healed}");
}

#[test]
fn where_sigchld_is_ignored_no_end_is_lost() {
    let d = Desk::new();
    let board = d.command(&[], "sleep 1; exit 3");
    let line = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])";
    let mut python = Command::new("python3");
    python.args(["-c", line]).arg(board.get_program()).args(board.get_args()).env_clear();
    python.envs(board.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let why = ran(python.current_dir(&d.folder)).fails(1);
    assert!(why.contains("code 3"), "{why}");
    assert_eq!(d.status(), "ready");
}

/// A worker started it for another task.
#[test]
fn a_harness_within_a_harness_is_not_stopped_with_it() {
    for is_killed in [false, true] {
        within(is_killed);
    }
}

fn within(is_killed: bool) {
    let d = Desk::new();
    let added = d.b.hand(&["add", "Trim the wicks", "--assignee", "nova", "--body", "x"]);
    let second = added.ok().trim().to_owned();
    let board = crate::support::program("board");
    let nested = format!(
        "setsid nohup {} --db {} run --assignee nova -- sh -c 'echo $$ > second; mv second works; exec sleep 600' \
         > /dev/null 2>&1 & echo $! > nested; wait",
        board,
        d.b.db.display()
    );
    let mut harness = d.started(&[], &nested);
    until("the second one works", || d.folder.join("works").exists() || d.b.path().join("works").exists());
    let worker: i64 = d.b.task(&second, "worker_pid").parse().unwrap();
    let nested: i64 = d.read("nested").trim().parse().unwrap();
    if is_killed {
        signal(nested, Signal::KILL);
    }
    signal(harness.pid(), Signal::TERM);
    assert_eq!(harness.0.wait().unwrap().code(), Some(1));
    assert_eq!((d.status(), d.b.task(&second, "status")), ("ready".into(), "running".into()));
    assert!(!is_gone(worker));
    if is_killed {
        return signal(worker, Signal::KILL);
    }
    signal(nested, Signal::TERM);
    until("it is stopped by itself", || is_gone(worker) && is_gone(nested));
}

/// `setsid` forks where it leads a process group; then nothing tells how its command ends.
#[test]
fn a_command_that_its_wrapper_puts_into_the_background_is_the_worker() {
    for (interpreter, ends, code, status) in
        [("/bin/sh", "exit 0", 0, "done"), ("/usr/bin/env -S sh -u", "exit 3", 1, "ready")]
    {
        let d = Desk::new();
        let agent = d.folder.join("agent");
        fs::write(
            &agent,
            format!(
                "#!{interpreter}\necho $$ > pid; mv pid works; while [ ! -e stop ]; do sleep 0.1; done; {ends}\n"
            ),
        )
        .unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&agent).status().unwrap().success());
        let mut command = d.b.command("board");
        command
            .arg("--db")
            .arg(&d.b.db)
            .args(["run", "--assignee", "luna", "--", "nice", "setsid"])
            .arg(&agent)
            .arg("-x");
        let mut harness = Kept(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        until("it works", || d.folder.join("works").exists());
        let agent: i64 = d.read("works").trim().parse().unwrap();
        until("it is the worker", || d.b.task(&d.task, "worker_pid") == agent.to_string());
        assert!(harness.is_running());
        let said = d.b.later(900, &["-v"]).ok();
        assert!(said.contains("worker alive"), "{said}");
        fs::write(d.folder.join("stop"), "").unwrap();
        assert_eq!((harness.0.wait().unwrap().code(), d.status().as_str()), (Some(code), status));
    }
    // A subshell has the arguments of its script. Here `setsid` ends when the agent does.
    for wrapper in [&["setsid", "-w"][..], &["timeout", "1h", "setsid"]] {
        let d = Desk::new();
        let agent = d.folder.join("agent");
        fs::write(
            &agent,
            "#!/bin/sh\n( while [ ! -e stop ]; do sleep 0.1; done ) > /dev/null 2>&1 &\nsleep 1\n",
        )
        .unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&agent).status().unwrap().success());
        let mut command = d.b.command("board");
        command.arg("--db").arg(&d.b.db).args(["run", "--assignee", "luna", "--"]).args(wrapper).arg(&agent);
        let said = ran(command.current_dir(&d.folder));
        fs::write(d.folder.join("stop"), "").unwrap();
        assert_eq!((said.code, d.status().as_str()), (0, "done"), "{wrapper:?}: {said:?}");
        assert!(!said.err.contains("in the background"), "{said:?}");
    }
    // Another process that a command leaves is told.
    let d = Desk::new();
    let said = d.run("setsid sleep 600 > /dev/null 2>&1 & echo $! > left");
    assert_eq!((said.code, d.status().as_str()), (0, "done"));
    let left = d.read("left");
    assert!(
        said.err.contains(&format!("process {} that its command started still runs", left.trim())),
        "{said:?}"
    );
    signal(left.trim().parse().unwrap(), Signal::KILL);
}

/// As where a machine is switched off, or a unit ends that kills all of its processes at once.
#[test]
fn a_command_that_was_told_to_stop_with_its_harness_is_neither_done_nor_failed() {
    for ends in ["trap 'exit 0' TERM", "true"] {
        let d = Desk::new();
        let mut harness = d.started(&[], &format!("{ends}; echo > ready; while :; do sleep 0.05; done"));
        until("it is ready", || d.folder.join("ready").exists());
        signal(d.pid(), Signal::TERM);
        signal(harness.pid(), Signal::TERM);
        assert_eq!(harness.0.wait().unwrap().code(), Some(1));
        assert_eq!(
            (d.status(), d.b.task(&d.task, "consecutive_failures")),
            ("ready".into(), "0".into()),
            "{ends}"
        );
    }
}

/// `helper & exec board run ...`: its child was there before.
#[test]
fn what_a_harness_was_started_with_is_not_its_commands() {
    let d = Desk::new();
    let board = crate::support::program("board");
    let script = format!(
        "sleep 600 > /dev/null 2>&1 & echo $! > helper; exec {board} --db {} run --assignee luna -- sh -c 'exit 3'",
        d.b.db.display()
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .current_dir(&d.folder)
        .env("HOME", d.b.path())
        .env("XDG_STATE_HOME", d.b.path());
    let said = ran(&mut command).fails(1);
    assert!(said.contains("code 3") && !said.contains("still runs"), "{said}");
    let helper: i64 = d.read("helper").trim().parse().unwrap();
    assert!(!is_gone(helper));
    signal(helper, Signal::KILL);
}

#[test]
fn a_worker_of_another_board_with_the_same_task_is_let_be() {
    let (a, mut b) = (Desk::new(), Desk::new());
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", b.b.db.display()));
    }
    a.b.sql(&format!("VACUUM INTO '{}'", b.b.db.display()));
    b.b.sql(&format!("UPDATE tasks SET workspace_path = '{}'", b.folder.display()));
    b.task.clone_from(&a.task);
    let mut theirs = b.started(&[], "exec sleep 600");
    let mut ours = a.started(&[], "exec sleep 600");
    signal(ours.pid(), Signal::TERM);
    assert_eq!(ours.0.wait().unwrap().code(), Some(1));
    assert!(is_gone(a.pid()));
    assert_eq!((a.status(), b.status()), ("ready".into(), "running".into()));
    assert!(theirs.is_running() && !is_gone(b.pid()), "it works on for its own board");
    // Nor does it hold the task of this one.
    let mut again = a.command(&[], "exec sleep 600");
    let mut again = Kept(again.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("it is claimed", || a.status() == "running");
    let worker: i64 = a.b.task(&a.task, "worker_pid").parse().unwrap();
    again.kill();
    signal(worker, Signal::KILL);
    a.b.later(900, &[]).ok();
    let said = a.b.later(1_000, &["-v"]).ok();
    assert!(said.contains(&format!("{} requeue: worker {worker} gone", a.task)), "{said}");
    let said = b.b.later(900, &["-v"]).ok();
    assert!(said.contains("worker alive"), "{said}");
    signal(theirs.pid(), Signal::TERM);
    assert_eq!(theirs.0.wait().unwrap().code(), Some(1));
}

#[test]
fn what_a_worker_of_a_board_that_was_moved_left_running_holds_its_task() {
    let mut d = Desk::new();
    // A child of its own session, which lives on.
    let mut harness = d.started(&[], "setsid sleep 600 & echo $! > child; mv child left; exec sleep 600");
    until("its child runs", || d.folder.join("left").exists());
    let child: i64 = d.read("left").trim().parse().unwrap();
    harness.kill();
    signal(d.pid(), Signal::KILL);
    let (old, moved) = (d.b.db.clone(), d.b.path().join("moved.db"));
    d.b.sql(&format!("VACUUM INTO '{}'", moved.display()));
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", old.display()));
    }
    d.b.db = moved;
    // The file that its environment names is not there: nobody knows that it is of another board.
    let said = d.b.later(400, &["-v"]).ok();
    assert!(said.contains(&format!("waiting up to 15m for its child {child} (sleep)")), "{said}");
    assert_eq!(d.status(), "running");
    signal(child, Signal::KILL);
    until("its child is gone", || is_gone(child));
    // Its working tree is noted first.
    d.b.later(500, &[]).ok();
    let said = d.b.later(600, &["-v"]).ok();
    assert!(said.contains(&format!("{} requeue: worker ", d.task)), "{said}");
}

#[test]
fn a_command_whose_run_was_taken_away_is_stopped() {
    let d = Desk::new();
    let mut harness = d.started(&["--ttl", "10s"], "exec sleep 600");
    d.b.hand(&["block", &d.task, "not now", "--kind", "needs_input"]).ok();
    assert_eq!(harness.0.wait().unwrap().code(), Some(1));
    assert!(is_gone(d.pid()));
    assert_eq!(d.status(), "blocked");
    assert_eq!(d.b.kinds(&d.task).replace(" heartbeat", ""), "created claimed blocked");
}

#[test]
fn what_is_heals_to_judge_is_left_to_it() {
    // What it left running would work beside the next one.
    let d = Desk::new();
    let why = d.run("setsid sleep 600 >/dev/null 2>&1 & exit 4").fails(1);
    assert!(why.contains("code 4") && why.ends_with("still runs: heal goes on with it"), "{why}");
    assert_eq!(d.status(), "running");
    assert_eq!(d.b.payload(&d.task, "watchbill_ended")["watchbill"]["exit_code"], 4);
    let said = d.b.later(120, &["-v"]).ok();
    assert!(said.contains("waiting up to 15m for its child"), "{said}");
    let left: i64 = said.split("its child ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    signal(left, Signal::KILL);
    // A provider that refuses would refuse the next one too.
    let d = Desk::new();
    let log =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hermes-logs/r429.t_79a491c3.log");
    let script = format!("sed \"s/t_79a491c3/$HERMES_KANBAN_TASK/\" {}; exit 1", log.display());
    let why = d.run(&script).fails(1);
    assert!(why.contains("its log ends on rate_limit: heal goes on with it"), "{why}");
    let said = d.b.later(120, &[]).ok();
    assert!(said.contains("park: worker") && said.contains("its log ends on rate_limit"), "{said}");
    assert_eq!(d.status(), "scheduled");
    // Some agents exit with 0 then. What it said may still be a part of what it was to do.
    for (said, is_done) in [
        ("API Error: Rate limit reached", false),
        ("mended how we answer to API Error: Rate limit reached", true),
        ("the tests of the parser fail: exit status 1", true),
        // It went on after that.
        ("API Error (429 rate limit reached) · Retrying in 5 seconds…\nI mended the parser.", true),
        ("API Error: Rate limit reached\nApplied the edit\nCommit 1a2b3c4", true),
    ] {
        let d = Desk::new();
        let ended = d.run(&format!("printf '%s\\n' '{said}'; exit 0"));
        if is_done {
            ended.ok();
            assert_eq!(d.status(), "done", "{said}");
            continue;
        }
        let why = ended.fails(1);
        assert!(
            why.contains("code 0 (board run); its log ends on rate_limit: heal goes on with it"),
            "{why}"
        );
        let healed = d.b.later(120, &[]).ok();
        assert!(healed.contains("park: worker") && d.status() == "scheduled", "{healed}");
    }
}

/// One round of all watchers, so many seconds from now.
fn round(b: &TestBoard, later: i64) -> String {
    let at = (now() + later).to_string();
    ran(b.command("watchbill").args(["run", "--now", &at, "--db"]).arg(&b.db)).ok()
}

// A hold of heal's, a card that nobody takes, and no fallback: with no Hermes on the machine there is no more than that.
#[test]
fn limited_work_goes_to_a_fallback_that_is_named_later_else_on_once_its_limit_is_over() {
    let limited = || {
        let d = Desk::new();
        d.run("echo 'error: 429 Too Many Requests'; exit 1").fails(1);
        let said = round(&d.b, 60);
        assert!(said.contains(" park: worker") && said.contains(" card: "), "{said}");
        let card = d.b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
        assert_eq!(round(&d.b, 120), "");
        (d, card)
    };
    let why = |d: &Desk| d.b.pass_of("route-blocked", 150, &["-n", "-v"]).ok();

    let (mut d, card) = limited();
    let said = why(&d);
    let held = format!("{} skipped: held until ", d.task);
    assert!(said.contains(&held) && said.contains("no fallback is named for luna"), "{said}");
    d.b.config.push_str(
        "[profiles.luna]\nprovider = 'moon'\nfallbacks = ['sol']\n[profiles.sol]\nprovider = 'star'\n",
    );
    let said = round(&d.b, 180);
    assert!(said.contains(&format!("{} move: luna to sol: ", d.task)), "{said}");
    assert_eq!(d.b.task(&d.task, "assignee || ' ' || status"), "sol ready");
    assert_eq!(d.b.task(&card, "status"), "done");

    let (d, card) = limited();
    let said = round(&d.b, 1_200);
    assert!(said.contains(&format!("{} release: ", d.task)), "{said}");
    assert_eq!(d.b.task(&d.task, "assignee || ' ' || status"), "luna ready");
    assert_eq!(d.b.task(&card, "status"), "done");
}

// An orchestrator may think for longer than the hold of the task lasts, or answer in the round in which it ends.
#[test]
fn what_an_orchestrator_decides_after_the_hold_is_carried_out() {
    for (action, want) in [("unblock", "luna ready"), ("reassign", "sol ready"), ("split", "luna todo")] {
        let d = Desk::new();
        d.run("echo 'error: 429 Too Many Requests'; exit 1").fails(1);
        round(&d.b, 60);
        let card = d.b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
        let hand = |later: i64, args: &[&str]| {
            let at = (now() + later).to_string();
            d.b.hand(&[&["--now", at.as_str()][..], args].concat()).ok()
        };
        hand(400, &["claim", &card, "--worker", "tuesday", "--ttl", "2h"]);
        for later in [600, 1_200] {
            assert!(!round(&d.b, later).contains(&d.task), "its card is open");
        }
        let route = serde_json::json!({"task": d.task, "action": action, "assignee": "sol", "reason": "luna answers again",
            "children": [{"title": "The first three"}]});
        let metadata = serde_json::json!({"route": route}).to_string();
        hand(1_390, &["complete", &card, "--metadata", &metadata]);
        let said = round(&d.b, 1_400);
        assert!(said.contains(&format!("decided on card {card}")) && !said.contains("hand-over"), "{said}");
        assert_eq!(d.b.task(&d.task, "assignee || ' ' || status"), want, "{said}");
        let noted = format!(
            "SELECT count(*) FROM task_events WHERE task_id = '{card}' AND kind = 'watchbill_decided'"
        );
        assert_eq!(d.b.value(&noted), "1");
    }
}

// A gateway in front of the provider has words of its own. No Hermes is on this machine.
#[test]
fn a_refusal_only_the_user_knows_is_a_hold_and_no_crash() {
    let script = "echo reading; echo 'ACME-GW: capacity limit hit, back in 1200 s'; exit 1";
    let mut d = Desk::new();
    let why = d.run(script).fails(1);
    assert!(why.contains("worker exited with code 1 (board run); it is ready again; its output: "), "{why}");
    assert_eq!(d.run_row("outcome"), "crashed");

    d.b.config.push_str(
        "[[match]]\nregex = 'ACME-GW: capacity limit hit(, back in (?<seconds>[0-9]+) s)?'\ncause = 'overloaded'\n",
    );
    let why = d.run(script).fails(1);
    assert!(why.contains("its log ends on overloaded: heal goes on with it"), "{why}");
    let said = d.b.later(120, &[]).ok();
    assert!(said.contains("park: worker") && said.contains("its log ends on overloaded"), "{said}");
    assert_eq!(d.status(), "scheduled");
    assert_eq!(d.b.payload(&d.task, "scheduled")["cause"], "overloaded");
}

// A user's home changes all the time, and not only by workers. A shell begins there.
#[test]
fn a_worker_that_began_in_the_home_is_healed_whatever_else_changed_there() {
    let b = TestBoard::own();
    let (home, link) = (b.path().join("home"), b.path().join("link"));
    let project = home.join("project");
    fs::create_dir_all(&project).unwrap();
    std::os::unix::fs::symlink(&home, &link).unwrap();
    let dies_in = |title: &str, named: &Path, folder: &Path| {
        let id = b.hand(&["add", title, "--assignee", "luna"]).ok().trim().to_owned();
        let mut command = b.command("board");
        command.env("HOME", named).current_dir(folder).arg("--db").arg(&b.db).args([
            "run",
            "--assignee",
            "luna",
        ]);
        command.args(["--", "sh", "-c", "kill -9 $PPID; exit 1"]);
        assert_ne!(ran(&mut command).code, 0);
        (b.task(&id, "coalesce(workspace_path, 'none')"), id)
    };
    let (path, plain) = dies_in("From home", &home, &home);
    assert_eq!(path, "none");
    let (path, linked) = dies_in("From home by a link", &link, &home);
    assert_eq!(path, "none");
    let (path, _) = dies_in("In a project", &home, &project);
    assert_eq!(path, fs::canonicalize(&project).unwrap().to_str().unwrap());

    // A first pass notes what is in a folder, where there is one; a second one requeues.
    let first = b.later(120, &[]).ok();
    fs::write(home.join("notes"), "somebody else's").unwrap();
    let said = first + &b.later(180, &[]).ok();
    for id in [&plain, &linked] {
        assert!(said.contains(&format!("{id} requeue: worker")), "{said}");
        assert_eq!(b.task(id, "status"), "ready");
    }
}

#[test]
fn what_cannot_run_claims_nothing() {
    let d = Desk::new();
    let mut command = d.b.command("board");
    command.arg("--db").arg(&d.b.db).args(["run", "--assignee", "luna", "--", "no-such-program"]);
    assert_eq!(
        ran(&mut command).fails(2),
        "board: command no-such-program: no such program; put it on the PATH, or give its whole path"
    );
    // Each ready task would fail on it, one after the other.
    let script = d.b.path().join("worker-luna");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    let mut command = d.b.command("board");
    command.arg("--db").arg(&d.b.db).args(["run", "--assignee", "luna", "--"]).arg(&script);
    let script = script.display();
    assert_eq!(
        ran(&mut command).fails(2),
        format!("board: command {script}: is not executable; chmod +x {script}")
    );
    for (line, missing) in [
        ("#! /no/such/shell -e", "/no/such/shell"),
        ("#!/bin/sh\r", "/bin/sh\\r"),
        ("#!/usr/bin/env no-such-agent", "no-such-agent"),
    ] {
        let path = d.b.path().join("worker-nova");
        crate::support::executable(&path, format!("{line}\n"));
        let mut command = d.b.command("board");
        command.arg("--db").arg(&d.b.db).args(["run", "--assignee", "luna", "--"]).arg(&path);
        let path = path.display();
        assert_eq!(
            ran(&mut command).fails(2),
            format!(
                "board: command {path}: its first line names {missing}, which is not there; install that program, or \
                 correct the line"
            )
        );
    }
    assert_eq!(d.b.kinds(&d.task), "created");
    // Where env looks then is not known.
    let path = d.b.path().join("worker-sol");
    crate::support::executable(&path, "#!/usr/bin/env -S PATH=/no/such:/usr/bin:/bin sh\n");
    let mut command = d.b.command("board");
    command.arg("--db").arg(&d.b.db).args(["run", "--assignee", "luna", "--"]).arg(&path);
    assert_eq!(ran(command.current_dir(&d.folder)).ok(), format!("{} done\n", d.task));
}

#[test]
fn a_task_whose_folder_is_missing_is_a_failed_start_and_holds_up_no_other() {
    let d = Desk::new();
    let other = d.b.hand(&["add", "Sweep the hall", "--assignee", "luna"]).ok().trim().to_owned();
    d.b.sql(&format!("UPDATE tasks SET workspace_path = '/nowhere', priority = 1 WHERE id = '{}'", d.task));
    let line = format!(
        "board: {}: workspace: [Errno 2] No such file or directory: '/nowhere'; counted as a failed start",
        d.task
    );
    let mut first = d.command(&[], "true");
    let first = ran(first.current_dir(&d.folder));
    assert_eq!((first.code, first.err.trim(), first.out), (0, &*line, format!("{other} done\n")));
    assert_eq!(d.b.kinds(&d.task), "created claimed spawn_failed");
    assert_eq!((d.status().as_str(), &*d.b.task(&d.task, "consecutive_failures")), ("ready", "1"));
    assert_eq!(d.run("true").fails(1), line);
    assert_eq!(d.b.kinds(&d.task), "created claimed spawn_failed claimed gave_up");
    let rows = ["outcome", "status", "error"].map(|what| d.run_row(what));
    assert_eq!(rows, ["gave_up", "gave_up", "workspace: [Errno 2] No such file or directory: '/nowhere'"]);
    let row = ["status", "consecutive_failures", "claim_lock"].map(|what| d.b.task(&d.task, what));
    assert_eq!(row, ["blocked", "2", "NULL"]);
    assert_eq!(d.run("true").ok(), "", "and nothing is left to do");
    let asked = d.b.command("watchbill").args(["status", "--db"]).arg(&d.b.db).output().unwrap();
    let asked = String::from_utf8(asked.stdout).unwrap();
    assert!(asked.contains("    do: /nowhere is not there; then run\n"), "{asked}");
    let mend = format!("    $ mkdir -p /nowhere && board --db {} unblock {}", d.b.db.display(), d.task);
    assert!(asked.contains(&mend), "{asked}");
}

#[test]
fn a_worker_waits_until_a_task_is_ready() {
    let d = Desk::new();
    d.b.hand(&["block", &d.task, "not yet", "--kind", "needs_input"]).ok();
    let mut harness = d.waiting();
    assert_eq!(d.run("true").ok(), "", "another one finds no task");
    assert!(harness.is_running());
    d.restore_a_copy();
    d.b.hand(&["unblock", &d.task]).ok();
    assert_eq!(harness.0.wait().unwrap().code(), Some(0));
    assert_eq!(d.status(), "done");
}

#[test]
fn a_worker_that_waits_for_work_waits_for_the_board_as_well() {
    let d = Desk::new();
    let config = d.b.path().join("busy.toml");
    fs::write(&config, "[board]\nbusy_timeout = \"1s\"\n").unwrap();
    let other = d.b.open();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let asked = || d.command(&["--config", config.to_str().unwrap(), "--wait", "1s"], "true");
    let said = d.b.path().join("said");
    let mut harness = Kept(asked().stderr(fs::File::create(&said).unwrap()).spawn().unwrap());
    let lines = || fs::read_to_string(&said).unwrap();
    until("it says that it cannot reach the board", || lines().contains("; tried again every 1s\n"));
    let busy = ran(d.command(&["--config", config.to_str().unwrap()], "true").current_dir(&d.folder));
    assert_eq!(busy.code, 75, "{busy:?}");
    assert!(harness.is_running());
    drop(other);
    assert_eq!(harness.0.wait().unwrap().code(), Some(0));
    assert_eq!((d.status().as_str(), lines().lines().count()), ("done", 1), "{}", lines());
}

#[test]
fn a_worker_that_waits_ends_when_it_is_told_to() {
    let d = Desk::new();
    d.b.hand(&["complete", &d.task]).ok();
    let mut harness = d.waiting();
    signal(harness.pid(), Signal::TERM);
    assert_eq!(harness.0.wait().unwrap().code(), Some(0));
    for (wait, why) in [("500ms", "must be between 1s and 1h"), ("soon", "expected number at 0")] {
        let said = ran(&mut d.command(&["--wait", wait], "true"));
        assert!(said.code == 2 && said.err.contains(why), "{said:?}");
    }
}

#[test]
fn a_worker_that_completed_its_task_may_go_on_for_as_long_as_a_claim_lasts() {
    let d = Desk::new();
    // Of a claim of 10 s there is a heartbeat each 3.3 s: the second one finds it over, the fourth ends it.
    let board = crate::support::program("board");
    let complete =
        format!("{board} --db {} complete \"$HERMES_KANBAN_TASK\" --summary lit; ", d.b.db.display());
    let mut short = d.started(&["--ttl", "10s"], &format!("{complete} sleep 8; touch pushed"));
    assert_eq!(short.0.wait().unwrap().code(), Some(0));
    assert!(d.folder.join("pushed").exists());
    assert_eq!(d.b.kinds(&d.task), "created claimed completed");

    d.b.hand(&["add", "More", "--assignee", "luna"]).ok();
    fs::remove_file(d.folder.join("begun")).unwrap();
    let mut command = d.command(&["--ttl", "10s"], &format!("{complete} echo $$ > begun; exec sleep 600"));
    command.current_dir(&d.folder).stdout(Stdio::null()).stderr(Stdio::null());
    let mut long = Kept(command.spawn().unwrap());
    assert_eq!(long.0.wait().unwrap().code(), Some(1));
    assert!(is_gone(d.pid()));
}

#[test]
fn the_end_of_a_worker_is_written_as_soon_as_the_board_is_free() {
    let d = Desk::new();
    let config = d.b.path().join("busy.toml");
    fs::write(&config, "[board]\nbusy_timeout = \"1s\"\n").unwrap();
    let mut harness =
        d.started(&["--config", config.to_str().unwrap()], "until [ -e go ]; do sleep 0.05; done");
    let other = d.b.open();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    fs::write(d.folder.join("go"), "").unwrap();
    until("the command is gone", || is_gone(d.pid()));
    // Longer than one try waits.
    std::thread::sleep(Duration::from_millis(2_500));
    assert!(harness.is_running());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(harness.0.wait().unwrap().code(), Some(0));
    assert_eq!(d.status(), "done");
}

#[test]
fn a_worker_ends_on_the_board_that_lies_in_its_place() {
    let d = Desk::new();
    let mut harness = d.started(&[], "until [ -e go ]; do sleep 0.05; done");
    d.restore_a_copy();
    // It opens that before it writes: nobody is told to end it meanwhile.
    assert_eq!(ran(&mut d.b.command("heal")).ok(), "");
    fs::write(d.folder.join("go"), "").unwrap();
    assert_eq!(harness.0.wait().unwrap().code(), Some(0));
    assert_eq!((d.status().as_str(), &*d.b.kinds(&d.task)), ("done", "created claimed completed"));
}

#[test]
fn a_run_of_an_older_copy_of_the_board_is_not_the_workers() {
    let d = Desk::new();
    let mut harness = d.started(&["--ttl", "10s"], "exec sleep 600");
    // As after a restore: the same run number, claimed by another worker.
    d.b.sql("UPDATE tasks SET claim_lock = 'elsewhere:7'");
    assert_eq!(harness.0.wait().unwrap().code(), Some(1));
    assert!(is_gone(d.pid()));
    assert_eq!((d.status(), d.b.task(&d.task, "claim_lock")), ("running".into(), "elsewhere:7".into()));
}

#[test]
fn an_end_that_the_board_does_not_take_is_no_success() {
    for (sql, why) in [
        // A copy from before the claim.
        (
            "DELETE FROM task_runs; UPDATE tasks SET status = 'ready', claim_lock = NULL, current_run_id = NULL",
            "its attempt is not on the board any more",
        ),
        (
            "UPDATE task_runs SET outcome = 'crashed', status = 'crashed', ended_at = started_at; \
             UPDATE tasks SET status = 'ready', claim_lock = NULL, current_run_id = NULL",
            "its attempt was recorded as crashed before",
        ),
    ] {
        let d = Desk::new();
        let mut command = d.command(&[], "echo $$ > pid; mv pid begun; until [ -e go ]; do sleep 0.05; done");
        let harness = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until("the command begins", || d.folder.join("begun").exists());
        d.b.sql(sql);
        fs::write(d.folder.join("go"), "").unwrap();
        let ended = harness.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let want = format!("worker exited with code 0; {why}, so this end is not recorded; it is ready");
        assert!((ended.status.code(), said.contains(&want)) == (Some(1), true), "{said}");
        assert_eq!(d.status(), "ready");
    }
}

#[test]
fn two_at_once_do_not_take_one_task_twice() {
    let d = Desk::new();
    d.b.hand(&["add", "More", "--assignee", "luna"]).ok();
    let start = || {
        let mut command = d.command(&[], "echo $HERMES_KANBAN_TASK | tee -a taken; sleep 0.3");
        command.current_dir(&d.folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let all: Vec<_> = (0..4).map(|_| start()).collect();
    for mut one in all {
        assert_eq!(one.wait().unwrap().code(), Some(0));
    }
    let mut taken: Vec<String> = d.read("taken").lines().map(str::to_owned).collect();
    taken.sort();
    taken.dedup();
    assert_eq!((taken.len(), d.read("taken").lines().count()), (2, 2));
    // Who was slower took nobody's log away, and left none of its own.
    let logs = fs::read_dir(d.b.path().join("kanban/logs")).unwrap().map(|e| e.unwrap().path());
    let mut logs: Vec<(String, String)> = logs
        .map(|p| (p.file_name().unwrap().to_str().unwrap().into(), fs::read_to_string(&p).unwrap()))
        .collect();
    logs.sort();
    let own: Vec<_> = taken.iter().map(|id| (format!("{id}.log"), format!("{id}\n"))).collect();
    assert_eq!(logs, own);
    assert_eq!(d.b.value("SELECT group_concat(DISTINCT status) FROM tasks"), "done");
}

#[test]
fn without_a_hermes_root_its_words_are_kept_beside_our_memory() {
    let d = Desk::new();
    let logs = d.b.path().join("state/watchbill/logs");
    // Two boards, and both may have a task of one id.
    for (name, count) in [("night.db", 1), ("day.db", 2)] {
        let db = d.b.path().join(name);
        let board = |args: &[&str]| {
            let mut command = d.b.command("board");
            ran(command.env("HERMES_HOME", d.b.path().join("none")).arg("--db").arg(&db).args(args)).ok()
        };
        board(&["init"]);
        let id = board(&["add", "Elsewhere", "--assignee", "luna"]).trim().to_owned();
        board(&["run", "--assignee", "luna", "--", "echo", "lit"]);
        let folders: Vec<_> = fs::read_dir(&logs).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(folders.len(), count, "each has a folder of its own: {folders:?}");
        let log = folders.iter().map(|f| f.join(format!("{id}.log"))).find(|log| log.exists());
        assert_eq!(fs::read_to_string(log.unwrap()).unwrap(), "lit\n");
    }
    assert!(!d.b.path().join("none").exists());
    // Named, it is not the agent's own log: that would hide the one an agent keeps itself.
    let log = d.b.path().join("named");
    let mut command = d.command(&["--log", log.to_str().unwrap()], "echo lit");
    ran(&mut command).ok();
    assert_eq!(fs::read_to_string(&log).unwrap(), "lit\n");
    let claimed = &d.b.payload(&d.task, "claimed")["watchbill"];
    assert_eq!(
        (&claimed["output"], &claimed["log"]),
        (&log.to_str().unwrap().into(), &serde_json::Value::Null)
    );
}

#[test]
fn a_named_log_is_of_one_worker_at_a_time() {
    let d = Desk::new();
    let log = d.b.path().join("luna.log");
    let args = ["--log", log.to_str().unwrap()];
    // What a command leaves in the background keeps nobody out.
    let first = d.started(&args, "sleep 60 & echo $! > left; while [ ! -e stop ]; do sleep 0.1; done");
    d.b.hand(&["add", "Sweep the hall", "--assignee", "luna"]).ok();
    let said = ran(d.command(&args, "true").current_dir(&d.folder)).fails(75);
    let want = format!(
        "board: --log {}: another worker writes to this file (process {}); nothing was started; wait for its end, \
         or give each worker its own --log, or none: then each task has its own",
        log.display(),
        first.pid()
    );
    assert_eq!(said, want);
    assert_eq!(d.b.value("SELECT count(*) FROM task_runs"), "1");
    fs::write(d.folder.join("stop"), "").unwrap();
    until("it ends", || is_gone(first.pid()));
    ran(d.command(&args, "true").current_dir(&d.folder)).ok();
    signal(d.read("left").trim().parse().unwrap(), Signal::KILL);
}

#[test]
fn a_named_log_is_of_a_worker_that_outlives_its_harness() {
    let d = Desk::new();
    let log = d.b.path().join("luna.log");
    let args = ["--log", log.to_str().unwrap()];
    let first = d.started(&args, "while [ ! -e stop ]; do sleep 0.1; done");
    d.b.hand(&["add", "Sweep the hall", "--assignee", "luna"]).ok();
    signal(first.pid(), Signal::KILL);
    until("the harness is gone", || is_gone(first.pid()));
    let said = ran(d.command(&args, "true").current_dir(&d.folder)).fails(75);
    let by = format!("another worker writes to this file (process {}); nothing was started", d.pid());
    assert!(said.contains(&by), "{said}");
    assert_eq!(d.b.value("SELECT count(*) FROM task_runs"), "1");
    fs::write(d.folder.join("stop"), "").unwrap();
    until("its command ends", || is_gone(d.pid()));
    ran(d.command(&args, "true").current_dir(&d.folder)).ok();
}

/// The whole way with no Hermes on the machine: its worker stops, tuesday decides, another one does the work.
#[test]
fn without_hermes_what_luna_cannot_do_is_decided_by_tuesday_and_done_by_nova() {
    let d = Desk::new();
    let db = d.b.path().join("night.db");
    let command = |program: &str, args: &[&str]| {
        let bin = PathBuf::from(crate::support::program("board"));
        let mut command = d.b.command(program);
        command.env("HERMES_HOME", d.b.path().join("none"));
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.parent().unwrap().display()));
        command.arg("--db").arg(&db).args(args);
        ran(&mut command)
    };
    let board = |args: &[&str]| command("board", args).ok();
    let works = |who: &str, script: &str| board(&["run", "--assignee", who, "--", "sh", "-c", script]);
    let value = |sql: &str| -> String {
        rusqlite::Connection::open(&db).unwrap().query_row(sql, [], |r| r.get(0)).unwrap()
    };
    board(&["init"]);
    let task =
        board(&["add", "Light the lanterns", "--assignee", "luna", "--body", "All nine."]).trim().to_owned();
    let said = works(
        "luna",
        r#"board --db "$HERMES_KANBAN_DB" block "$HERMES_KANBAN_TASK" --type env_blocker "no lamp driver" && exit 1"#,
    );
    assert_eq!(said, format!("{task} is blocked, as its worker said\n"));
    let card = value("SELECT id || ' ' || title || ' ' || status FROM tasks WHERE assignee = 'tuesday'");
    assert!(card.ends_with(&format!("[BLOCKED] {task} env_blocker ready")), "{card}");
    // Nobody but tuesday gets the card, and nobody the task.
    assert_eq!(works("luna", "true") + &works("nova", "true"), "");
    // What it is asked is all it knows.
    let decide = r#"
        source=$(sed -n 's/.*\[BLOCKED\] \(t_[0-9a-f]*\) .*/\1/p' "$WATCHBILL_PROMPT_FILE" | head -1)
        board --db "$HERMES_KANBAN_DB" complete "$HERMES_KANBAN_TASK" --summary "nova has the driver" \
            --metadata "{\"route\": {\"task\": \"$source\", \"action\": \"reassign\", \"assignee\": \"nova\"}}""#;
    let said = works("tuesday", decide);
    assert!(said.starts_with(card.split(' ').next().unwrap()), "{said}");
    let routed = command("route-blocked", &[]).ok();
    assert!(routed.contains(&task) && routed.contains("nova"), "{routed}");
    assert_eq!(works("luna", "true"), "");
    let told = d.b.path().join("told");
    let said = works("nova", &format!("cat > {}", told.display()));
    assert_eq!(said, format!("{task} done\n"));
    let told = fs::read_to_string(told).unwrap();
    assert!(told.contains("All nine.") && told.contains("no lamp driver"), "{told}");
    let rows =
        "SELECT group_concat(profile || ' ' || outcome, ', ') FROM (SELECT * FROM task_runs ORDER BY id)";
    assert_eq!(value(rows), "luna blocked, tuesday completed, nova completed");
    assert_eq!(value("SELECT group_concat(DISTINCT status) FROM tasks"), "done");
    assert_eq!(command("route-blocked", &[]).ok() + &command("heal", &[]).ok(), "");
    assert!(!d.b.path().join("none").exists());
}

#[test]
fn a_task_that_waits_for_another_one_as_its_command_ends_is_given_back() {
    let d = Desk::new();
    let parent = d.b.hand(&["add", "Find the oil", "--assignee", "sol"]).ok().trim().to_owned();
    let mut harness = d.started(&[], "while [ ! -e go ]; do sleep 0.1; done");
    d.b.sql(&format!("INSERT INTO task_links (parent_id, child_id) VALUES ('{parent}', '{}')", d.task));
    fs::write(d.folder.join("go"), "").unwrap();
    assert_eq!(harness.0.wait().unwrap().code(), Some(1));
    assert_eq!(
        (d.b.task(&d.task, "status"), d.b.task(&d.task, "claim_lock")),
        ("todo".into(), "NULL".into())
    );
    let run =
        d.b.value(&format!("SELECT outcome || ': ' || error FROM task_runs WHERE task_id = '{}'", d.task));
    let why =
        format!("reclaimed: worker exited with code 0 (board run); it waits for {parent}, which is ready");
    assert_eq!(run, why);
    d.b.hand(&["complete", &parent]).ok();
    assert_eq!(d.b.task(&d.task, "status"), "ready");
    d.run("true").ok();
    assert_eq!(d.b.task(&d.task, "status"), "done");
}
