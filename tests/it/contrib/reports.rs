//! What the reports of a few boards print, word for word: a change of words is reviewed as words.
//! `WATCHBILL_BLESS=1 cargo test --test it -- contrib::reports` writes the files that changed.

use std::fs;

use super::night::comparable;
use super::{place, text};
use crate::check::{ticks, watched};
use crate::report::morning;
use crate::support::{TestBoard, hostname};
use crate::tools;

/// Each command with its exit code and what it prints. The home and the name of this machine read as in the docs.
fn printed(b: &TestBoard, asked: &[&str]) -> String {
    let mut all = String::new();
    for line in ["status", "report", "check"].iter().chain(asked) {
        let ran = tools::run(b, &line.split(' ').collect::<Vec<_>>());
        all.push_str(&format!("$ watchbill {line} # exit {}\n{}{}\n", ran.code, ran.out, ran.err));
    }
    all.replace(b.path().to_str().unwrap(), "/home/you").replace(&hostname(), "tower")
}

#[track_caller]
fn stands(name: &str, printed: &str) {
    let file = format!("tests/fixtures/reports/{name}.txt");
    if std::env::var("WATCHBILL_BLESS").is_ok_and(|v| v == "1") {
        let before = fs::read_to_string(place(&file)).unwrap_or_default();
        if comparable(&before) != comparable(printed) {
            fs::write(place(&file), printed).unwrap();
        }
        return;
    }
    let before = text(&file);
    assert_eq!(comparable(&before), comparable(printed), "{file} differs; WATCHBILL_BLESS=1 writes it anew");
}

#[test]
fn the_reports_of_an_empty_board() {
    let b = watched();
    ticks(&b);
    stands("empty", &printed(&b, &["why t_00000001"]));
}

#[test]
fn the_reports_of_a_quiet_board() {
    let b = watched();
    b.add("t_00000001", "ready");
    b.add("t_00000002", "done");
    ticks(&b);
    stands("quiet", &printed(&b, &["why t_00000001", "why t_00000002"]));
}

/// No watcher is scheduled. A worker died, an attempt gave up, a worker asks a person, and a person scheduled a task.
#[test]
fn the_reports_of_a_bad_night() {
    let asked = ["why t_00000001", "why t_00000002", "why t_00000003", "why t_00000004", "why t_00000005"];
    stands("bad-night", &printed(&morning(), &asked));
}
