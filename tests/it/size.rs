//! What a pass holds and how much it does on boards that grew beyond all reason.

use std::process::Command;

use shared::time::Time;
use testkit::crowd;
use testkit::generate::{Sizes, generate};

use crate::support::{TestBoard, now, ran};

const WATCHERS: [&str; 4] = ["heal", "synthesize-distress", "route-blocked", "budget-check"];

/// KiB of memory of its own that a pass over the board below may take.
const MOST_KIB: u32 = 48 << 10;

fn board(tasks: usize) -> TestBoard {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("kanban.db");
    generate(&db, Sizes::crowd(tasks), 7, Time(now()), 0.4).unwrap();
    crowd::limits(&db).unwrap();
    TestBoard { dir, db, config: "[host]\npid_namespace = \"same\"\n".into() }
}

/// The same command, with no more memory of its own than so many KiB.
fn bounded(command: &Command, kib: u32) -> Command {
    let mut outer = Command::new("/bin/sh");
    outer.args(["-c", &format!("ulimit -d {kib} && exec \"$0\" \"$@\"")]);
    outer.arg(command.get_program()).args(command.get_args()).env_clear();
    outer.envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))));
    outer
}

#[test]
fn what_a_pass_holds_does_not_grow_with_the_comments() {
    let b = board(40);
    let at = now();
    crowd::comments(&b.db, 40, 60, 64 << 10, Time(at)).unwrap();
    crowd::cards(&b.db, 40, Time(at)).unwrap();
    let at = at.to_string();
    let args = ["--db", b.db.to_str().unwrap(), "--now", &at, "-n", "--json", "-v"];
    for watcher in WATCHERS {
        // 150 MiB of comments, of which each task shows 50.
        let report = ran(&mut bounded(b.command(watcher).args(args), MOST_KIB));
        let report = report.json();
        let seen = report["boards"][0]["seen"].to_string();
        assert!(seen.contains("importer: read 412 rows"), "{watcher}: it looked at the comments");
        assert!(seen.len() < 4 << 20, "{watcher}: {} bytes", seen.len());
    }
}
