//! Other users of the host, and processes that claim to be a task's worker.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::process::{Command, Stdio};

use crate::support::{Kept, TestBoard, dead_pid, until};

/// Used by one test each, and by none elsewhere: all of them see the processes of these.
const CLAIMED: &str = "t_7a11e401";
const NEIGHBOUR: &str = "t_7a11e402";
const MARKED: &str = "t_7a11e403";
const ID: &str = "t_7a11e404";

/// A process with these arguments behind it, of another user where we may start one. It does nothing.
fn pretender(arguments: &[&str], environment: &[(&str, &str)]) -> Kept {
    let mut command = if rustix::process::geteuid().is_root() {
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh"]);
        other
    } else {
        Command::new("sh")
    };
    // A shell that waits for a line nobody writes; what stands behind its script are only words.
    command.args(["-c", "read -r line"]).args(arguments);
    command.env_clear().env("PATH", "/usr/bin:/bin").envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let kept = Kept(command.spawn().unwrap());
    let at = format!("/proc/{}/cmdline", kept.pid());
    until("a pretender", || fs::read(&at).is_ok_and(|c| c.starts_with(b"sh\0")));
    kept
}

#[test]
fn a_process_that_says_it_is_the_worker_holds_its_task_back_and_no_other() {
    let b = TestBoard::new();
    for id in [CLAIMED, NEIGHBOUR] {
        b.add(id, "ready");
        b.run_it(id, Some(dead_pid()), 900);
    }
    let key = ["sk-proj", "-", &"Ab3".repeat(16)].concat();
    let words = |task: &str| format!("work kanban task {task}");
    let marks = [("HERMES_KANBAN_TASK", CLAIMED)];
    let mut kept = pretender(&["hermes", "--api-key", &key, "chat", "-q", &words(CLAIMED)], &marks);
    // An operator's search for the words of a worker: its environment can be read, and names no task.
    let _search = pretender(&["grep", &words(NEIGHBOUR)], &[]);
    let told = b.heal(&["-v"]).ok();
    assert!(told.contains(&format!("{CLAIMED} skipped: worker alive: pid {}", kept.pid())), "{told}");
    assert!(told.contains(&format!("{NEIGHBOUR} requeue")), "{told}");
    assert!(!told.contains(&key[8..]) && !b.dump().contains(&key[8..]), "nobody's arguments are quoted");
    // It stands still as long as that process lives, and the time is told.
    let told = b.pass_later("budget-check", 90_000, &[]).ok();
    assert!(told.contains(CLAIMED) && told.contains("over time"), "{told}");
    kept.kill();
    assert!(b.heal(&[]).ok().contains(&format!("{CLAIMED} requeue")));
}

#[test]
fn a_process_that_carries_a_runs_marks_is_waited_for_and_not_for_ever() {
    let b = TestBoard::new();
    b.add(MARKED, "ready");
    let run = b.run_it(MARKED, Some(dead_pid()), 900).to_string();
    let key = ["sk-proj", "-", &"Ab3".repeat(16)].concat();
    let marks =
        [("HERMES_KANBAN_TASK", MARKED), ("HERMES_KANBAN_RUN_ID", run.as_str()), ("API_KEY", key.as_str())];
    // As the same user: another user's environment is seen by root alone.
    let mut command = Command::new("sh");
    command
        .args(["-c", "read -r line", "--token", &key])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(marks);
    let mut kept = Kept(command.stdin(Stdio::piped()).spawn().unwrap());
    let at = format!("/proc/{}/cmdline", kept.pid());
    until("marks", || fs::read(&at).is_ok_and(|c| c.starts_with(b"sh\0")));
    let told = b.heal(&["-v"]).ok();
    assert!(told.contains("waiting up to 15m for its child"), "{told}");
    let told = b.later(3_700, &["-v"]).ok();
    assert!(told.contains(&format!("{MARKED} requeue")) && told.contains("its children still run"), "{told}");
    assert!(!told.contains(&key[8..]) && !b.dump().contains(&key[8..]));
    assert!(kept.is_running(), "and nobody is signalled");
}

#[test]
fn a_board_of_another_user_stays_that_users() {
    let b = TestBoard::new();
    b.crash_loop(ID);
    // A user who is not root cannot give files away, and may not write another's: see it::exits::what_is_not_permitted_is_77.
    let owner =
        if rustix::process::geteuid().is_root() { 65_534 } else { rustix::process::geteuid().as_raw() };
    for name in ["", "kanban", "kanban/logs", "kanban.db"] {
        chown(b.path().join(name), Some(owner), None).unwrap();
    }
    for beside in ["kanban.db-wal", "kanban.db-shm"] {
        let _ = fs::remove_file(b.path().join(beside));
    }
    b.heal(&[]).ok();
    for entry in fs::read_dir(b.path()).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("kanban.db") {
            assert_eq!(entry.metadata().unwrap().uid(), owner, "{name} would keep its owner out");
        }
    }
    assert_eq!(b.task(ID, "status"), "ready");
}
