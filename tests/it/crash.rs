//! Killed, starved of disk or robbed of its board at every system call that writes: from outside, by `strace`, without a
//! hook in the programs.
//!
//! `WATCHBILL_STRACE=skip` leaves out what needs strace, and says so. What no system call does cannot be caught this way: the
//! stores into the mapped shared memory of a log (`-shm`). They hold nothing that is not also in the log, and the first
//! process that opens the board after a crash makes them anew from it.

mod killed; // at every call, by `kill -9` and by systemd's TERM; and the next pass ends the same
mod replaced; // another board at its place, or none, in the middle of a pass
mod scene; // boards on which one pass has many different things to do
mod starved; // no space, a broken disk, and a file system that became read-only
pub(crate) mod strace; // the calls of a pass, and one of them disturbed

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does the jobs on two threads, as many as the smallest machine has cores; fails with every complaint of all of them.
#[track_caller]
fn in_parallel<J: Sync, T: Send>(jobs: &[J], job: impl Fn(&J) -> Result<T, String> + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(one) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = job(one);
                    done.lock().unwrap().push(result);
                }
            });
        }
    });
    let (mut fine, mut complaints) = (Vec::new(), Vec::new());
    for result in done.into_inner().unwrap() {
        match result {
            Ok(value) => fine.push(value),
            Err(what) => complaints.push(what),
        }
    }
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), jobs.len(), complaints.join("\n"));
    fine
}

/// An error of one job.
fn must(so: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if so { Ok(()) } else { Err(what()) }
}

/// Said even where the test passes and its output is swallowed: figures, and what was left out.
pub(crate) fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}
