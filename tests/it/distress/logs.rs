//! Logs that are no plain files, or too large, or grow: one clear warning, and the rest of the pass goes on.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{LIMITED, ends_on};
use crate::support::TestBoard;

const ODD: &str = "t_00000001";

fn board() -> (TestBoard, std::path::PathBuf) {
    let b = TestBoard::new();
    b.given_up("t_00000002", LIMITED);
    b.give_up(ODD, "pid 4242 not alive", 600);
    let log = b.path().join(format!("kanban/logs/{ODD}.log"));
    (b, log)
}

#[track_caller]
fn warned(b: &TestBoard, what: &str) {
    let began = Instant::now();
    let told = b.distress(&[]);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(told.code, 1, "{told:?}");
    let lines: Vec<&str> = told.err.lines().filter(|l| l.contains(ODD)).collect();
    assert!(lines.len() == 1 && lines[0].contains(what), "one clear warning, not {told:?}");
    assert_eq!(b.cards(), ["[BLOCKED] t_00000002 rate_limited"], "the rest of the pass goes on");
}

#[test]
fn a_log_that_is_no_plain_file() {
    let (b, log) = board();
    fs::create_dir(&log).unwrap();
    warned(&b, "not a regular file");

    let (b, log) = board();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &log, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    warned(&b, "not a regular file");

    let (b, log) = board();
    let real = b.path().join("elsewhere");
    fs::write(&real, ends_on(ODD, LIMITED)).unwrap();
    symlink(&real, &log).unwrap();
    warned(&b, "symbolic link");

    let (b, log) = board();
    symlink("/dev/zero", &log).unwrap();
    warned(&b, "symbolic link");
}

#[test]
fn two_gibibytes_without_a_line_and_with_one_at_the_end() {
    let (b, log) = board();
    let mut file = OpenOptions::new().create_new(true).append(true).open(&log).unwrap();
    file.set_len(2 << 30).unwrap();
    warned(&b, "no line ends in its last");
    file.write_all(format!("\n{}", ends_on(ODD, LIMITED)).as_bytes()).unwrap();
    let began = Instant::now();
    b.distress(&[]).ok();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(b.cards().len(), 2);
}

#[test]
fn a_log_that_grows_while_it_is_read() {
    let (b, log) = board();
    fs::write(&log, format!("Query: work kanban task {ODD}\nInitializing agent...\n")).unwrap();
    let (stop, path) = (AtomicBool::new(false), log.clone());
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            let chunk = "  ┊ terminal: HTTP 429, HTTP 503, 401 lines by the author\n".repeat(2_000);
            let began = Instant::now();
            while !stop.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(20) {
                file.write_all(chunk.as_bytes()).unwrap();
            }
        });
        for _ in 0..5 {
            let told = b.distress(&[]);
            assert_eq!((told.code, b.cards().len()), (0, 1), "{told:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    let mut file = OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(ends_on(ODD, LIMITED).as_bytes()).unwrap();
    b.distress(&[]).ok();
    assert_eq!(b.cards().len(), 2);
}
