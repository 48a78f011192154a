//! Beside a Hermes process that has lost its own locks: since 0.19 each commit of Hermes opens and closes the board
//! file, which drops them all.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::MetadataExt;
use std::process::{ChildStdin, ChildStdout, Stdio};

use super::home::Home;
use crate::support::{Kept, dead_pid, ran};

/// A real Hermes process that keeps its connection and writes a comment for each line it is told.
struct Gateway {
    process: Kept,
    tell: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

const HELD_OPEN: &str = "
import sys
from hermes_cli import kanban_db as kb
conn = kb.connect()
print('open', flush=True)
for line in sys.stdin:
    try:
        kb.add_comment(conn, sys.argv[1], 'anna', line.strip())
        print('kept', flush=True)
    except Exception as e:
        print(repr(e), flush=True)
";

impl Gateway {
    fn new(home: &Home, task: &str) -> Gateway {
        let mut command = home.run("python");
        command.args(["-c", HELD_OPEN, task]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Kept(command.spawn().unwrap());
        let tell = process.0.stdin.take().unwrap();
        let mut said = BufReader::new(process.0.stdout.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), "open");
        Gateway { process, tell, said }
    }

    /// Whether Hermes acknowledged the comment.
    fn comment(&mut self, text: &str) -> bool {
        writeln!(self.tell, "{text}").unwrap();
        self.said.next().unwrap().unwrap() == "kept"
    }

    /// Record locks this process has: on anything, and on the board file itself.
    fn locks(&self, home: &Home) -> (usize, usize) {
        let board = format!(":{} ", std::fs::metadata(&home.db).unwrap().ino());
        let pid = format!(" {} ", self.process.pid());
        let all = std::fs::read_to_string("/proc/locks").unwrap();
        let its: Vec<_> = all.lines().filter(|l| l.contains("POSIX") && l.contains(&pid)).collect();
        (its.len(), its.iter().filter(|l| l.contains(&board)).count())
    }
}

/// Tasks whose workers are dead since an hour, made at one stroke.
fn dead_tasks(home: &Home, n: usize) -> Vec<String> {
    let tasks: Vec<String> = (0..n).map(|i| format!("t_{i:08x}")).collect();
    let pid = dead_pid();
    for task in &tasks {
        home.add(task, "ready");
        home.run_it(task, Some(pid), 3_000);
    }
    tasks
}

#[test]
fn nobody_loses_a_write_beside_a_hermes_without_locks() {
    let Some(home) = Home::new() else { return };
    let watched = home.create(&[]);
    let tasks = dead_tasks(&home, 20);
    let mut gateway = Gateway::new(&home, &watched);
    assert!(gateway.comment("first"));
    let (any, board) = gateway.locks(&home);
    assert!(any > 0 && board == 0, "this Hermes keeps its locks: the test shows nothing any more");
    let mut kept = vec!["first".to_owned()];
    for (i, task) in tasks.iter().enumerate() {
        let mut pass = home.command("heal").args(["--task", task]).stdout(Stdio::piped()).spawn().unwrap();
        // While the pass runs, and once more between two passes.
        for word in ["during", "again", "still"] {
            let text = format!("{word} {i}");
            if gateway.comment(&text) {
                kept.push(text);
            }
        }
        assert!(pass.wait().unwrap().success());
        let text = format!("between {i}");
        if gateway.comment(&text) {
            kept.push(text);
        }
    }
    drop(gateway);
    assert!(kept.len() > 60, "Hermes itself failed too often: {}", kept.len());
    for text in &kept {
        let found = home.value(&format!("SELECT count(*) FROM task_comments WHERE body = '{text}'"));
        assert_eq!(found, "1", "Hermes' acknowledged comment is lost: {text}");
    }
    for task in &tasks {
        assert_eq!(home.task(task, "status"), "ready");
        let ended = home.value(&format!(
            "SELECT group_concat(kind) FROM task_events WHERE task_id = '{task}' AND kind IN ('crashed', 'reclaimed')"
        ));
        assert!(
            ["crashed", "reclaimed"].contains(&ended.as_str()),
            "our own write is lost or doubled: {ended}"
        );
    }
    assert_eq!(home.value("PRAGMA integrity_check"), "ok");
    home.accepts(&[&watched]);
}

#[test]
fn a_split_board_is_named_and_never_written() {
    let Some(home) = Home::new() else { return };
    let watched = home.create(&[]);
    let task = dead_tasks(&home, 1).remove(0);
    let mut gateway = Gateway::new(&home, &watched);
    assert!(gateway.comment("before"));
    // Any process with an older SQLite that now opens, writes and closes takes itself for the last one.
    let code = "import sqlite3, sys; print(sqlite3.sqlite_version); c = sqlite3.connect(sys.argv[1]); \
                c.execute('UPDATE tasks SET priority = 1'); c.commit(); c.close()";
    let version = ran(home.run("python").args(["-c", code, home.db.to_str().unwrap()])).ok();
    let wal = home.path().join("kanban.db-wal");
    if wal.exists() {
        eprintln!("SQLite {} spares the write-ahead log, so it is removed by hand", version.trim());
        std::fs::remove_file(&wal).unwrap();
        std::fs::remove_file(home.path().join("kanban.db-shm")).unwrap();
    }
    assert!(gateway.comment("into the deleted copy"));

    let bytes = std::fs::read(&home.db).unwrap();
    for args in [&[][..], &["--dry-run"], &["--task", &task]] {
        let said = home.heal(args).fails(65);
        assert!(said.contains(&gateway.process.pid().to_string()), "{said}");
        assert!(said.contains("split"), "{said}");
    }
    assert!(std::fs::read(&home.db).unwrap() == bytes, "a split board was written");
    let wal_len = std::fs::metadata(&wal).map_or(0, |m| m.len());
    assert_eq!(wal_len, 0, "a split board was written");
    assert!(gateway.process.is_running());

    // Once that process is gone, the board is one again.
    gateway.process.kill();
    home.heal(&[]).ok();
    assert_eq!(home.task(&task, "status"), "ready");
    assert_eq!(home.value("PRAGMA integrity_check"), "ok");
}
