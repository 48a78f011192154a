//! Real processes: killed, recycled, orphaned, in another namespace. No stranger is harmed, no live worker called gone.

use std::process::{Command, Stdio};

use crate::support::{Kept, TestBoard, dead_pid, hostname, now, stranger, until, worker};

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
    assert!(said.contains("t_000000e1 left alone: worker alive"), "{said}");
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
    b.run_it("t_000000e4", Some(other.pid()), 60);
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
fn elsewhere(line: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", line]);
    command
}

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

#[test]
fn a_worker_in_another_namespace_is_never_called_gone() {
    if !may_unshare() {
        return;
    }
    // In there it is a low pid; out here that number is nobody, or somebody else.
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
        let lock = format!("{}:{}", hostname(), dead_pid());
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

#[test]
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
