//! What a pass costs, counted from outside: system calls under strace, functions under valgrind. No clock decides anything
//! here. Instructions, memory and sizes mean something only of programs built for release: `watchbill-bench --gate`.

use shared::base::registry::NAMES as WATCHERS;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;

use crate::support::{TestBoard, now, ran, worker};

/// Bytes at which SQLite locks a `-shm` for writing (`WAL_WRITE_LOCK`, wal.c).
const WRITE_LOCK: &str = "l_type=F_WRLCK, l_whence=SEEK_SET, l_start=120, l_len=1";

/// Whether `program` may be used. A missing one fails, unless `variable` says to leave out what needs it.
pub fn have(program: &str, variable: &str) -> bool {
    if std::env::var(variable).is_ok_and(|v| v == "skip") {
        let test = std::thread::current().name().unwrap_or("?").to_owned();
        // Not eprintln: what a passing test prints that way is swallowed.
        let _ = writeln!(std::io::stderr(), "left out, because {variable}=skip: {test}");
        return false;
    }
    let there = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    assert!(there, "{program} does not run; install it, or leave these tests out with {variable}=skip");
    true
}

/// The same command under another program.
fn under(outer: &[&str], inner: &Command) -> Command {
    let mut command = Command::new(outer[0]);
    command.args(&outer[1..]).arg(inner.get_program()).args(inner.get_args()).env_clear();
    command.envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?))));
    command
}

/// The system calls of a pass that ends well, one a line, with the paths behind descriptors.
#[track_caller]
fn traced(b: &TestBoard, watcher: &str, args: &[&str]) -> Vec<String> {
    let file = b.path().join("calls");
    let outer = ["strace", "-f", "-y", "-qq", "-s", "0", "-o", file.to_str().unwrap()];
    let done = ran(under(&outer, b.command(watcher).args(args)).stdin(std::process::Stdio::null()));
    assert_eq!(done.code, 0, "{watcher}: {done:?}");
    std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect()
}

/// Calls of one of these names.
fn of<'a>(calls: &'a [String], names: &'a [&str]) -> Vec<&'a String> {
    let name = |c: &String| {
        c.split_once(' ').and_then(|(_, c)| c.trim_start().split_once('(')).map(|(n, _)| n.to_owned())
    };
    calls.iter().filter(|c| name(c).is_some_and(|n| names.contains(&n.as_str()))).collect()
}

/// What was made safe on a disk.
fn syncs(calls: &[String]) -> Vec<&String> {
    of(calls, &["fsync", "fdatasync", "msync", "sync_file_range", "syncfs", "sync"])
}

/// Write transactions that began on the board.
fn transactions(calls: &[String]) -> usize {
    let locks = |c: &&String| c.contains("kanban.db-shm") && c.contains(WRITE_LOCK) && c.ends_with(" = 0");
    calls.iter().filter(locks).count()
}

/// A board on which everything is well: living workers heard from just now, whose logs say nothing bad.
fn healthy() -> TestBoard {
    let b = TestBoard::new();
    for n in 0..20 {
        let id = format!("t_{n:08x}");
        b.add(&id, "ready");
        b.run_it(&id, Some(i64::from(std::process::id())), 60);
        b.log(&id, &format!("Query: work kanban task {id}\nInitializing agent...\n"));
    }
    b.add("t_0000aaaa", "ready");
    b.sql(&format!("UPDATE tasks SET last_heartbeat_at = {} WHERE status = 'running'", now() + 60));
    b.sql("UPDATE tasks SET last_heartbeat_at = last_heartbeat_at - 60; PRAGMA application_id = 0");
    b
}

/// Another process that has the board open and wrote to it, as a gateway does: the first writer to a new log syncs its head as well.
fn holder(b: &TestBoard) -> rusqlite::Connection {
    let conn = b.open();
    conn.execute("UPDATE tasks SET priority = priority + 1", []).unwrap();
    conn
}

#[test]
fn nothing_to_do_writes_nothing_syncs_nothing_and_opens_no_log() {
    if !have("strace", "WATCHBILL_STRACE") {
        return;
    }
    let b = healthy();
    let _holder = holder(&b);
    for watcher in WATCHERS.iter().copied() {
        // The first one may remember how far it read.
        ran(b.command(watcher).args(["--db", b.db.to_str().unwrap()])).ok();
        let calls = traced(&b, watcher, &["--db", b.db.to_str().unwrap()]);
        assert!(calls.len() > 100, "{watcher}: strace told of {} calls", calls.len());
        assert_eq!(syncs(&calls), [""; 0], "{watcher}");
        assert_eq!(transactions(&calls), 0, "{watcher}");
        let writes: Vec<_> =
            of(&calls, &["write", "pwrite64", "writev", "pwritev", "ftruncate", "unlink", "rename"]);
        assert_eq!(writes, [""; 0], "{watcher}");
        let logs: Vec<_> =
            of(&calls, &["open", "openat"]).into_iter().filter(|c| c.contains(".log\"")).collect();
        assert_eq!(logs, [""; 0], "{watcher}");
    }
}

#[test]
fn processes_are_listed_once_however_many_workers_there_are() {
    if !have("strace", "WATCHBILL_STRACE") {
        return;
    }
    let b = TestBoard::new();
    let running = |n: usize| {
        let id = format!("t_{n:08x}");
        b.add(&id, "ready");
        let worker = worker(&id, i64::try_from(n).unwrap());
        let run = b.run_it(&id, Some(worker.pid()), 3_000);
        assert_eq!(run, i64::try_from(n).unwrap(), "the run that its environment names");
        b.log(&id, &format!("Query: work kanban task {id}\nInitializing agent...\n"));
        worker
    };
    let _workers: Vec<_> = (1..=12).map(running).collect();
    // They have worked for long enough to show whether their provider answers, and it refused one.
    b.sql(&format!("UPDATE task_runs SET last_heartbeat_at = {}", now()));
    b.add("t_0000bbbb", "ready");
    b.run_it("t_0000bbbb", None, 600);
    let refused = "HTTP 429: Too Many Requests";
    b.sql(&format!(
        "UPDATE tasks SET status = 'blocked', claim_lock = NULL, current_run_id = NULL WHERE id = 't_0000bbbb';
         UPDATE task_runs SET status = 'rate_limited', outcome = 'rate_limited', error = '{refused}', ended_at = {at}
           WHERE task_id = 't_0000bbbb';
         INSERT INTO task_events (task_id, kind, payload, created_at)
           VALUES ('t_0000bbbb', 'gave_up', '{{\"error\":\"{refused}\"}}', {at})",
        at = now() - 60
    ));
    for watcher in WATCHERS.iter().copied() {
        let calls = traced(&b, watcher, &["--db", b.db.to_str().unwrap(), "--dry-run"]);
        let lists = of(&calls, &["openat"]).into_iter().filter(|c| c.contains("\"/proc\",")).count();
        assert!(lists <= 2, "{watcher} listed the processes {lists} times");
    }
}

#[test]
fn something_to_do_is_one_transaction_and_at_most_two_syncs() {
    if !have("strace", "WATCHBILL_STRACE") {
        return;
    }
    for broken in [1, 20] {
        let b = healthy();
        let dead =
            format!("id IN (SELECT id FROM tasks WHERE status = 'running' ORDER BY id LIMIT {broken})");
        let of_dead = format!("task_id IN (SELECT id FROM tasks WHERE {dead})");
        b.sql(&format!(
            "UPDATE task_runs SET worker_pid = 5000001, started_at = started_at - 3000 WHERE {of_dead};
             UPDATE task_events SET created_at = created_at - 3000 WHERE {of_dead};
             UPDATE tasks SET worker_pid = 5000001, last_heartbeat_at = last_heartbeat_at - 3000, started_at = started_at - 3000
               WHERE {dead}"
        ));
        for log in std::fs::read_dir(b.path().join("kanban/logs")).unwrap() {
            let file = std::fs::File::options().write(true).open(log.unwrap().path()).unwrap();
            file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3_000)).unwrap();
        }
        let _holder = holder(&b);
        let calls = traced(&b, "heal", &["--db", b.db.to_str().unwrap()]);
        let healed = b.value("SELECT count(*) FROM task_runs WHERE error = 'worker gone (heal)'");
        assert_eq!(healed, broken.to_string(), "{:?}", b.heal(&["-v"]));
        assert_eq!(transactions(&calls), 1, "{broken}");
        assert!(syncs(&calls).len() <= 2, "{broken}: {:#?}", syncs(&calls));
        // Nothing slow while others wait: no process, no log, no look at anything between lock and commit.
        let from = calls.iter().position(|c| c.contains(WRITE_LOCK) && c.ends_with(" = 0")).unwrap();
        let held: Vec<_> = calls[from..]
            .iter()
            .take_while(|c| !(c.contains("F_UNLCK") && c.contains("l_start=120")))
            .collect();
        let slow: Vec<_> = held
            .iter()
            .filter(|c| c.contains("/proc") || c.contains(".log\"") || c.contains("sleep"))
            .collect();
        assert!(slow.is_empty(), "{broken}: {slow:#?}");
    }
}

#[test]
fn of_a_log_that_grew_only_what_is_new_is_read() {
    if !have("strace", "WATCHBILL_STRACE") {
        return;
    }
    let b = TestBoard::new();
    let id = "t_0000000a";
    b.give_up(id, "pid 4242 not alive", 600);
    let old = format!(
        "Query: work kanban task {id}\nInitializing agent...\n{}",
        "  a line of work\n".repeat(20_000)
    );
    b.log(id, &old);
    let new = "  another line of work\n".repeat(2_000);
    for watcher in ["heal", "synthesize-distress"] {
        b.log(id, &old);
        ran(b.command(watcher).args(["--db", b.db.to_str().unwrap()])).ok();
        b.log(id, &format!("{old}{new}"));
        let calls = traced(&b, watcher, &["--db", b.db.to_str().unwrap()]);
        let log = format!("{id}.log>");
        let read: u64 = of(&calls, &["read", "pread64"])
            .into_iter()
            .filter(|c| c.contains(&log))
            .filter_map(|c| c.rsplit_once(" = ")?.1.parse::<u64>().ok())
            .sum();
        let most = new.len() as u64 + 256;
        assert!(
            (new.len() as u64..=most).contains(&read),
            "{watcher}: {read} bytes of {} new ones",
            new.len()
        );
    }
}

/// The functions a pass called, of those whose names hold one of these words.
#[track_caller]
fn called(b: &TestBoard, watcher: &str, args: &[&str], words: &[&str]) -> BTreeSet<String> {
    let file = b.path().join("functions");
    let out = format!("--callgrind-out-file={}", file.display());
    let outer = ["valgrind", "-q", "--tool=callgrind", &out];
    let mut command = b.command(watcher);
    command.args(["--db", b.db.to_str().unwrap()]).args(args);
    let done = ran(under(&outer, &command).stdin(std::process::Stdio::null()));
    assert_eq!(done.code, 0, "{watcher}: {done:?}");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("sqlite3_step"), "{watcher}: no names of functions");
    let names = text
        .lines()
        .filter_map(|l| l.split_once(") ").filter(|(k, _)| k.starts_with("fn=") || k.starts_with("cfn=")));
    names.map(|(_, n)| n.to_owned()).filter(|n| words.iter().any(|w| n.contains(w))).collect()
}

#[test]
fn nothing_to_do_compiles_no_pattern_and_loads_no_zone() {
    if !have("valgrind", "WATCHBILL_VALGRIND") {
        return;
    }
    let words = ["regex_automata", "regex_syntax", "aho_corasick", "globset", "tzdb"];
    let b = healthy();
    for watcher in WATCHERS.iter().copied() {
        assert_eq!(called(&b, watcher, &[], &words), BTreeSet::new(), "{watcher}");
    }
    // Scopes are made of patterns, and this reads them: so it would be seen. (Not by their files: valgrind before 3.21 knows
    // no pidfd_open, without which no end of git is seen.)
    b.sql("UPDATE tasks SET body = '## Scope\n- Concern: x\n- In scope: `src/**`\n' WHERE id = 't_00000001'");
    let seen = called(&b, "budget-check", &["--lint"], &words);
    assert!(!seen.is_empty());
}
