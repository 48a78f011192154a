//! Real processes: killed, recycled, orphaned, in another namespace. No stranger is harmed, no live worker called gone.

use std::process::{Command, Stdio};

use crate::support::{Kept, TestBoard, birth, dead_pid, now, start_ticks, stranger, until, worker};

/// A board with this machine's real rules about namespaces, not the ones that make tests portable.
fn strict() -> TestBoard {
    TestBoard { config: String::new(), ..TestBoard::new() }
}

fn is_initial_namespace() -> bool {
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|l| l.to_str() == Some("pid:[4026531836]"))
}

#[test]
fn the_living_are_left_alone() {
    let b = TestBoard::new();
    b.add("t_000000e1", "ready");
    let mut w = worker("t_000000e1", 1);
    let run = b.run_it("t_000000e1", Some(w.pid()), 0);
    assert_eq!(run, 1);
    let before = b.dump();
    let said = b.later(900, &["-v"]).ok();
    assert!(said.contains("t_000000e1 skipped: worker alive"), "{said}");
    assert_eq!(b.dump(), before);
    assert!(w.is_running());
}

#[test]
fn killed_reaped_or_not_is_gone() {
    let b = TestBoard::new();
    b.add("t_000000e2", "ready");
    b.add("t_000000e3", "ready");
    let mut reaped = worker("t_000000e2", 1);
    b.run_it("t_000000e2", Some(reaped.pid()), 0);
    // A zombie: killed, and its parent (this test) has not looked yet.
    let mut zombie = worker("t_000000e3", 2);
    b.run_it("t_000000e3", Some(zombie.pid()), 0);
    reaped.kill();
    zombie.0.kill().unwrap();
    let pid = zombie.pid();
    until("a zombie", || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| s.contains(") Z "))
    });
    let said = b.later(900, &[]).ok();
    assert_eq!(said.lines().count(), 2, "{said}");
    for id in ["t_000000e2", "t_000000e3"] {
        assert_eq!(b.task(id, "status"), "ready");
        assert_eq!(b.task(id, "claim_lock || claim_expires || worker_pid"), "NULL");
        assert_eq!(b.kinds(id), "created claimed spawned crashed commented");
        assert_eq!(b.task(id, "consecutive_failures"), "1");
    }
    let _ = zombie.0.wait();
}

#[test]
fn a_recycled_pid_frees_the_task_and_spares_its_new_owner() {
    let b = TestBoard::new();
    b.add("t_000000e4", "ready");
    let mut other = stranger();
    b.run_it("t_000000e4", Some(other.pid()), 120);
    let said = b.later(900, &[]).ok();
    assert!(said.contains("its pid is another process now"), "{said}");
    assert_eq!(b.task("t_000000e4", "status"), "ready");
    assert!(other.is_running(), "the stranger lives");
}

#[test]
fn a_child_of_a_killed_worker_is_waited_for_and_never_killed() {
    let b = TestBoard::new();
    b.add("t_000000e5", "ready");
    // As a worker's tool: a session of its own, the marks in its environment, and a parent that is killed.
    let script = "setsid sleep 60 & echo $!; exec sleep 60";
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.env("HERMES_KANBAN_TASK", "t_000000e5").env("HERMES_KANBAN_RUN_ID", "1");
    let mut parent = Kept(command.spawn().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(parent.0.stdout.take().unwrap()), &mut line)
        .unwrap();
    let child: i32 = line.trim().parse().unwrap();
    let run = b.run_it("t_000000e5", Some(parent.pid()), 0);
    assert_eq!(run, 1);
    until("the tool runs", || {
        std::fs::read(format!("/proc/{child}/environ"))
            .is_ok_and(|e| e.windows(10).any(|w| w == b"t_000000e5"))
    });
    parent.kill();

    let said = b.later(900, &["-v"]).ok();
    assert!(said.contains("waiting up to") && said.contains(&child.to_string()), "{said}");
    assert_eq!(b.task("t_000000e5", "status"), "running");
    // A quarter of an hour later it goes on, and says which process is still there.
    let later = (now() + 900 + 901).to_string();
    let said = b.heal(&["--db", b.db.to_str().unwrap(), "--now", &later]).ok();
    assert!(said.contains("its children still run") && said.contains(&child.to_string()), "{said}");
    assert_eq!(b.task("t_000000e5", "status"), "ready");
    let alive = std::path::Path::new(&format!("/proc/{child}")).exists();
    assert!(alive, "it is not ours to kill");
    let pid = rustix::process::Pid::from_raw(child).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// A worker as Hermes leaves it where `setproctitle` can be imported: its title is `hermes` and nothing else. It waits for its
/// stdin, which is ours.
fn renamed(task: &str, run: i64) -> Kept {
    let mut command = Command::new("/bin/sh");
    std::os::unix::process::CommandExt::arg0(&mut command, "hermes");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("HERMES_KANBAN_TASK", task).env("HERMES_KANBAN_RUN_ID", run.to_string());
    let child = Kept(command.spawn().unwrap());
    let cmdline = format!("/proc/{}/cmdline", child.pid());
    until("its title", || std::fs::read(&cmdline).is_ok_and(|c| c == b"hermes\0"));
    child
}

/// Hermes called the worker of the first attempt dead, and the second attempt's worker died.
fn outlived(b: &TestBoard, task: &str, worker: i64) {
    b.add(task, "ready");
    assert_eq!(b.run_it(task, Some(worker), 4_000), 1);
    let ended = now() - 3_000;
    b.sql(&format!(
        "UPDATE task_runs SET status = 'crashed', outcome = 'crashed', ended_at = {ended}, worker_pid = NULL"
    ));
    assert_eq!(b.run_it(task, Some(dead_pid()), 2_000), 2);
}

#[test]
fn a_living_worker_of_an_earlier_attempt_holds_its_task_whatever_its_title() {
    let b = TestBoard::new();
    let task = "t_11fe00f0";
    let mut first = renamed(task, 1);
    outlived(&b, task, first.pid());
    // The board's record of that worker is not needed either.
    for forgotten in [false, true] {
        if forgotten {
            b.sql("DELETE FROM task_events WHERE kind = 'spawned' AND run_id = 1");
        }
        let said = b.later(0, &["-n", "-v"]).ok();
        assert!(said.contains(&format!("process {} of an ended attempt", first.pid())), "{said}");
    }
    assert!(b.later(0, &[]).ok().starts_with(&format!("{task} tell: process {}", first.pid())));
    assert_eq!((b.task(task, "status"), b.task(task, "current_run_id")), ("running".into(), "2".into()));
    // Once, and not by time alone.
    let before = b.dump();
    assert_eq!(b.later(60, &[]).ok(), "");
    assert_eq!(b.later(30 * 86_400, &[]).ok(), "");
    assert_eq!(b.dump(), before);
    let report = crate::support::ran(b.command("watchbill").args(["report", "--json"])).json();
    assert_eq!(report["boards"][0]["needs_you"][0]["task"], task, "{report}");
    assert!(first.is_running());
    first.kill();
    assert!(b.later(600, &[]).ok().starts_with(&format!("{task} requeue")));
}

#[test]
fn a_given_up_task_waits_for_the_living_worker_of_an_earlier_attempt() {
    let b = TestBoard::new();
    let task = "t_11fe00f1";
    let mut first = renamed(task, 1);
    b.give_up(task, "pid 4 not alive", 1_200);
    let run = b.value("SELECT max(id) FROM task_runs");
    assert_eq!(run, "1");
    b.sql(&format!(
        "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
           VALUES ('{task}', 1, 'spawned', '{{\"pid\":{}}}', {})",
        first.pid(),
        now() - 1_260
    ));
    // It is not a child of a dead worker, for which a quarter of an hour is long enough.
    assert!(b.later(7_200, &[]).ok().starts_with(&format!("{task} tell: process {}", first.pid())));
    assert_eq!((b.later(90_000, &[]).ok().as_str(), b.task(task, "status").as_str()), ("", "blocked"));
    first.kill();
    assert!(b.later(7_300, &[]).ok().starts_with(&format!("{task} reset")));
}

#[test]
fn what_an_earlier_attempt_left_running_does_not_hold_its_task() {
    let b = TestBoard::new();
    let task = "t_11fe00f2";
    let mut left = worker(task, 1);
    outlived(&b, task, dead_pid());
    let said = b.later(0, &[]).ok();
    assert!(said.contains("requeue") && said.contains(&format!("still run: {}", left.pid())), "{said}");
    assert!(left.is_running(), "it is not ours to kill");
}

#[test]
fn children_of_a_worker_that_was_silent_for_an_hour_are_waited_for_from_its_death() {
    let b = TestBoard::new();
    let task = "t_11fe00f3";
    b.add(task, "ready");
    let mut child = worker(task, 1);
    b.run_it(task, Some(dead_pid()), 3_900);
    let said = b.later(0, &[]).ok();
    assert!(
        said.starts_with(&format!("{task} note: worker gone, waiting up to 15m for its child")),
        "{said}"
    );
    let before = b.dump();
    // What we remember is lost, and the board is not.
    let forget = || drop(std::fs::remove_dir_all(b.path().join("state")));
    for later in [0, 60, 890] {
        forget();
        assert_eq!(b.later(later, &[]).ok(), "");
        assert_eq!(b.dump(), before);
    }
    forget();
    let said = b.later(901, &[]).ok();
    assert!(said.contains("requeue") && said.contains("its children still run"), "{said}");
    assert!(child.is_running());
}

/// Writes zeros over arguments and environment, as programs do that give themselves a title.
const OVERWRITES: &str = "
import sys, time
stat = open('/proc/self/stat').read().rsplit(')', 1)[1].split()
start, end = int(stat[48 - 3]), int(stat[51 - 3])
with open('/proc/self/mem', 'r+b', buffering=0) as memory:
    memory.seek(start)
    memory.write(b'busy'.ljust(end - start, b'\\0'))
print('up', flush=True)
time.sleep(600)
";

#[test]
fn a_step_of_the_clock_makes_no_living_worker_a_stranger() {
    // As the clock was set forward by so much after the spawn: the start that is computed now lies after the claim.
    for (nth, (stepped, minutes)) in [(8, 15), (30, 15), (59, 15), (3_600, 75)].into_iter().enumerate() {
        let b = TestBoard::new();
        let task = format!("t_11fef4{nth:02}");
        b.add(&task, "ready");
        let mut command = Command::new("python3");
        command.args(["-c", OVERWRITES]).stdin(Stdio::null()).stdout(Stdio::piped());
        command.env("HERMES_KANBAN_TASK", &task).env("HERMES_KANBAN_RUN_ID", "1");
        let mut w = Kept(command.spawn().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(w.0.stdout.take().unwrap()), &mut line)
            .unwrap();
        b.run_it(&task, Some(w.pid()), stepped);
        let before = b.dump();
        let said = b.later(minutes * 60, &["-v"]).ok();
        assert!(
            said.contains(&format!("{task} unknown: ")) && said.contains("cannot tell"),
            "{stepped}: {said}"
        );
        assert_eq!(b.dump(), before);
        assert!(w.is_running());
    }
}

/// As Hermes later than 0.21.3 writes the start of a process.
fn fingerprint(pid: i64) -> String {
    birth(&start_ticks(pid))
}

#[test]
fn a_fingerprint_by_hermes_says_who_it_is() {
    let b = TestBoard::new();
    b.keeps_starts();
    let (mut own, mut other) = (stranger(), stranger());
    let boot = now() - uptime();
    for (task, pid) in [("t_11fe00f5", own.pid()), ("t_11fe00f6", other.pid())] {
        b.add(task, "ready");
        b.run_it(task, Some(pid), 900);
        // Every clock says that it began before the machine was started.
        b.sql(&format!(
            "UPDATE tasks SET started_at = {at}, last_heartbeat_at = {heard}, worker_started_at = '{}' WHERE id = '{task}';
             UPDATE task_runs SET started_at = {at} WHERE task_id = '{task}';
             UPDATE task_events SET created_at = {at} WHERE task_id = '{task}'",
            fingerprint(pid),
            at = boot - 9_000,
            heard = now() - 3_600
        ));
    }
    let another = format!("{}9", fingerprint(other.pid()));
    b.sql(&format!("UPDATE tasks SET worker_started_at = '{another}' WHERE id = 't_11fe00f6'"));
    let said = b.later(0, &["-v"]).ok();
    assert!(said.contains("t_11fe00f5 skipped: worker alive"), "{said}");
    assert!(
        said.contains("t_11fe00f6 requeue: ") && said.contains("its pid is another process now"),
        "{said}"
    );
    assert!(!said.contains("restarted"), "{said}");
    assert!(own.is_running() && other.is_running());
}

/// Seconds since this machine was started.
fn uptime() -> i64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap();
    text.split('.').next().unwrap().parse().unwrap()
}

#[test]
fn our_claims_carry_a_fingerprint_where_the_board_has_a_place_for_it() {
    let b = TestBoard::new();
    b.keeps_starts();
    for (task, known) in [("t_11fe00f7", true), ("t_11fe00f8", false)] {
        b.add(task, "ready");
        // Who names a task of which no attempt is open would be an earlier worker.
        let w = if known { worker(task, 1) } else { stranger() };
        let pid = w.pid().to_string();
        let args: &[&str] = if known { &["--pid", &pid] } else { &[] };
        b.hand(&[&["claim", task, "--worker", "luna"], args].concat()).ok();
        let want = if known { fingerprint(w.pid()) } else { "unverified".to_owned() };
        assert_eq!(b.task(task, "worker_started_at"), want);
        let run = |column: &str| b.value(&format!("SELECT {column} FROM task_runs WHERE task_id = '{task}'"));
        assert_eq!(run("worker_started_at"), want);
        let lock = b.task(task, "claim_lock");
        b.hand(&["complete", task]).ok();
        // So that a newer Hermes can end a worker that outlives its attempt, and nobody else.
        assert_eq!(b.task(task, "coalesce(worker_started_at, claim_lock, worker_pid)"), "NULL");
        assert_eq!((run("worker_started_at"), run("claim_lock")), (want, lock));
        assert_eq!(run("worker_pid"), if known { pid } else { "NULL".to_owned() });
    }
    // A board without the columns is as before.
    let old = TestBoard::new();
    old.add("t_11fe00f9", "ready");
    old.hand(&["claim", "t_11fe00f9"]).ok();
    old.hand(&["complete", "t_11fe00f9"]).ok();
    assert_eq!(old.value("SELECT claim_lock FROM task_runs"), "NULL");
}

#[test]
fn another_host_is_unknown_and_a_former_name_is_not() {
    let mut b = TestBoard::new();
    b.add("t_000000e6", "ready");
    b.run_it("t_000000e6", Some(dead_pid()), 60);
    b.sql("UPDATE tasks SET claim_lock = 'otherhost:77'; UPDATE task_runs SET claim_lock = 'otherhost:77'");
    let before = b.dump();
    let said = b.later(900, &["-v"]).ok();
    assert!(said.contains("t_000000e6 unknown") && said.contains("otherhost"), "{said}");
    assert_eq!(b.dump(), before);
    b.config = "[host]\npid_namespace = \"same\"\naliases = [\"otherhost\"]\n".into();
    assert!(b.later(900, &[]).ok().contains("requeue"));
}

/// Runs a line in a pid namespace of its own, with its own /proc, on this same hostname.
#[cfg(feature = "real")]
fn elsewhere(line: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", line]);
    command
}

#[cfg(feature = "real")]
fn may_unshare() -> bool {
    let ok = elsewhere("true").stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    assert!(
        ok || std::env::var("WATCHBILL_UNSHARE").is_ok_and(|v| v == "skip"),
        "no right to make a pid namespace (run as root, or set WATCHBILL_UNSHARE=skip to leave these tests out)"
    );
    if !ok {
        eprintln!("left out: WATCHBILL_UNSHARE=skip");
    }
    ok
}

/// The number that the board has of it is its number in there: pid 2 of the first namespace is a kernel thread as old as the boot, and can be
/// nobody's proof.
#[test]
#[cfg(feature = "real")]
fn a_worker_in_a_namespace_below_is_found_by_its_command_line() {
    use shared::base::time::Time;
    use shared::host::{Ask, Host, HostPolicy, Life, Witness};
    let host = Host::here(&HostPolicy::default(), Time::of_clock()).unwrap();
    let ask = Ask {
        task: format!("t_container_{}", std::process::id()),
        run: Some(7),
        pid: Some(2),
        claim_host: Some(host.facts().hostname),
        claimer_pid: Some(4_194_305),
        since: Time::of_clock(),
        hermes_spawned: true,
        birth: None,
        workers: Vec::new(),
        recorded: Vec::new(),
        namespace: None,
    };
    let look = || host.look(std::slice::from_ref(&ask)).remove(0);
    if !host.facts().initial_pid_namespace || !host.facts().sees_all {
        // From here nobody is ever called gone.
        assert_eq!(look().life, Life::Unknown);
        return;
    }
    let mut command = Command::new("unshare");
    // Only the shell inside has the worker's arguments.
    let inside = "exec sh -c 'read x; :' chat -q \"work kanban task $0\"";
    command.args(["--user", "--pid", "--fork", "--kill-child", "sh", "-c", inside, &ask.task]);
    command.env("HERMES_KANBAN_TASK", &ask.task);
    let container =
        Kept(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("a worker that lives", || look().life == Life::Alive);
    let alive = look();
    assert!(!matches!(alive.worker_pid, Some(2) | None), "{}", alive.because);
    drop(container);
    until("a worker that is not there", || look().life != Life::Alive);
    assert_eq!(look().life, Life::Unknown, "{}", look().because);
}

#[test]
#[cfg(feature = "real")]
fn a_worker_in_another_namespace_is_never_called_gone() {
    if !may_unshare() {
        return;
    }
    // In there it is a low pid; out here that number is free, or another process.
    for marks in ["HERMES_KANBAN_TASK=t_000000e7 HERMES_KANBAN_RUN_ID=1", "NOTHING=1"] {
        let b = strict();
        b.add("t_000000e7", "ready");
        let mut inside = elsewhere(&format!("echo ready; exec env {marks} sleep 60"));
        let mut inside = Kept(inside.stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(inside.0.stdout.take().unwrap()), &mut line)
            .unwrap();
        b.run_it("t_000000e7", Some(dead_pid()), 60);
        // Its claimer lives in there too, so it cannot be seen from here.
        let lock = format!("{}:{}", crate::support::hostname(), dead_pid());
        b.sql(&format!(
            "UPDATE tasks SET claim_lock = '{lock}'; UPDATE task_runs SET claim_lock = '{lock}';
             DELETE FROM task_events WHERE kind = 'spawned';
             UPDATE task_events SET payload = json_set(payload, '$.lock', '{lock}') WHERE kind = 'claimed'"
        ));
        let before = b.dump();
        let said = b.later(900, &["-v"]).ok();
        assert!(said.contains("t_000000e7 unknown"), "{said}");
        assert_eq!(b.dump(), before);
        assert!(inside.is_running());
    }
}

/// The number of its claimer in there is a kernel thread's out here, which lives and is older than any claim.
#[test]
#[cfg(feature = "real")]
fn a_claim_that_names_another_namespace_is_never_called_gone() {
    if !may_unshare() {
        return;
    }
    let board = crate::support::program("board");
    for line in [
        "true; sh -c '\"$0\" --db \"$1\" claim t_000000f7 --worker luna --pid $$ --ttl 12h; exec sleep 60' \"$0\" \"$1\"; true",
        "export HERMES_KANBAN_TASK=t_000000f7 HERMES_KANBAN_RUN_ID=1
         true; sh -c '\"$0\" --db \"$1\" claim t_000000f7 --worker luna --pid $$ --ttl 12h; exec sleep 60' \"$0\" \"$1\"; true",
        "true; \"$0\" --db \"$1\" run --assignee luna -- sleep 60; true",
    ] {
        let b = strict();
        b.add("t_000000f7", "ready");
        let mut inside = elsewhere(line);
        inside.arg(board).arg(&b.db).env_clear().envs(b.environment());
        let mut inside = Kept(inside.stdout(Stdio::null()).spawn().unwrap());
        until("a claim with a pid", || b.task("t_000000f7", "worker_pid") != "NULL");
        let before = b.dump();
        for seconds in [40, 900, 3_000] {
            let said = b.later(seconds, &["-v"]).ok();
            assert!(said.contains("t_000000f7 unknown: ") && said.contains("another pid namespace"), "{said}");
        }
        assert_eq!(b.dump(), before);
        assert!(inside.is_running());
    }
}

#[test]
#[cfg(feature = "real")]
fn from_inside_a_namespace_nobody_outside_is_called_gone() {
    if !may_unshare() {
        return;
    }
    let b = strict();
    b.add("t_000000e8", "ready");
    let mut w = worker("t_000000e8", 1);
    b.run_it("t_000000e8", Some(w.pid()), 60);
    let line =
        format!("exec {} -v --db {} --now {}", crate::support::program("heal"), b.db.display(), now() + 900);
    let r = crate::support::ran(elsewhere(&line).env_clear().envs(b.environment()));
    assert!(r.out.contains("t_000000e8 unknown") && r.out.contains("namespace"), "{r:?}");
    // The configuration is wrong where heal is pid 1 of the namespace itself (PrivatePIDs= of systemd): no worker can be in it.
    let mut b = b;
    b.config = "[host]\npid_namespace = \"same\"\n".into();
    let r = crate::support::ran(elsewhere(&line).env_clear().envs(b.environment()));
    assert!(r.out.contains("t_000000e8 unknown") && r.out.contains("namespace"), "{r:?}");
    assert_eq!(b.task("t_000000e8", "status"), "running");
    assert!(w.is_running());
}

#[test]
fn a_dead_worker_of_hermes_is_seen_without_any_configuration() {
    let b = strict();
    b.add("t_000000e9", "ready");
    b.run_it("t_000000e9", Some(dead_pid()), 60);
    let said = b.later(900, &["-v"]).ok();
    // In a container it takes a word of configuration, and says which.
    let want = if is_initial_namespace() { "t_000000e9 requeue" } else { "host.pid_namespace" };
    assert!(said.contains(want), "{said}");
}

/// From a user namespace no environment of the workers can be read: systemd's `PrivateUsers=`, which sandbox options
/// imply in user units from 254 on. What a dead worker left running cannot be seen then.
#[test]
#[cfg(feature = "real")]
fn from_inside_a_user_namespace_nobody_is_called_gone() {
    let board = TestBoard::new();
    board.add("t_000000ea", "ready");
    let run = board.run_it("t_000000ea", Some(dead_pid()), 3_600);
    let _orphan = worker("t_000000ea", run);
    let mut inside = Command::new("unshare");
    inside.args(["--user", "--map-root-user", crate::support::program("heal"), "-v"]);
    let outer = board.command("heal");
    inside.env_clear().envs(outer.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let said = crate::support::ran(&mut inside).ok();
    assert!(said.starts_with("t_000000ea unknown: "), "{said}");
    assert_eq!(board.task("t_000000ea", "status"), "running");
}
