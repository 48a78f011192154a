//! What a pass holds and how much it does on boards that grew beyond all reason.

use shared::base::registry::NAMES as WATCHERS;
use std::process::Command;

use shared::base::time::Time;
use testkit::crowd;
use testkit::generate::{Sizes, generate};

use crate::support::{TestBoard, now, ran};

/// KiB of memory of its own that a pass over the board below may take.
const MAX_KIB: u32 = 48 << 10;

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
    for watcher in WATCHERS.iter().copied() {
        // 150 MiB of comments, of which each task shows 50.
        let report = ran(&mut bounded(b.command(watcher).args(args), MAX_KIB));
        let report = report.json();
        let seen = report["boards"][0]["seen"].to_string();
        assert!(seen.contains("importer: read 412 rows"), "{watcher}: it looked at the comments");
        assert!(seen.len() < 4 << 20, "{watcher}: {} bytes", seen.len());
    }
}

/// Counted by valgrind, so in the second tier.
#[cfg(feature = "real")]
mod counted {
    use std::process::Stdio;

    use super::*;
    use crate::counters::have;

    /// What a pass over so many cards on a hundred tasks executes.
    fn instructions(cards: usize, watcher: &str) -> u64 {
        let b = board(100);
        let at = now();
        crowd::cards(&b.db, cards, Time(at)).unwrap();
        let at = at.to_string();
        let inner = b.command(watcher);
        let file = b.path().join("instructions");
        let mut outer = Command::new("valgrind");
        outer.args(["-q", "--tool=callgrind", &format!("--callgrind-out-file={}", file.display())]);
        outer
            .arg(inner.get_program())
            .args(["--db", b.db.to_str().unwrap(), "--now", &at, "-n", "-q"])
            .env_clear();
        outer.envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?))));
        let done = ran(outer.stdin(Stdio::null()));
        assert!(matches!(done.code, 0 | 1), "{watcher}: {done:?}");
        let text = std::fs::read_to_string(file).unwrap();
        let counted = text.lines().find_map(|l| l.strip_prefix("summary: ").or(l.strip_prefix("totals: ")));
        counted.unwrap().trim().parse().unwrap()
    }

    #[test]
    fn twice_the_cards_are_twice_the_work() {
        if !have("valgrind", "WATCHBILL_VALGRIND") {
            return;
        }
        for watcher in ["route-blocked", "synthesize-distress"] {
            let [few, some, many] = [150, 300, 600].map(|cards| instructions(cards, watcher));
            let grew = (many - some) as f64 / (some - few) as f64;
            // 2 where each card costs the same, 4 where each is held against each other.
            assert!(grew < 3.0, "{watcher}: {few}, {some}, {many}: {grew:.2} times");
        }
    }
}
