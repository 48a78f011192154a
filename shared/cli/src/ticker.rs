//! A line on a terminal while a pass takes long, as the first read of large logs does. cron and timers see nothing of it.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Common;

/// A moment's work needs none.
const FIRST: Duration = Duration::from_secs(1);
const NEXT: Duration = Duration::from_millis(250);

/// Tells until it is dropped, and leaves nothing behind.
pub(super) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Begins to tell how long a pass takes and how much it has read, where stderr is a terminal.
    pub(super) fn start(program: &'static str, common: &Common) -> Ticker {
        if common.quiet || common.json || !std::io::stderr().is_terminal() {
            return Ticker { stop: None, thread: None };
        }
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            let (began, mut wait) = (Instant::now(), FIRST);
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = NEXT;
                let (seconds, read) = (began.elapsed().as_secs(), read().map_or(0, |bytes| bytes >> 20));
                let _ = write!(std::io::stderr(), "\r{program}: {seconds}s, {read} MiB read\u{1b}[K");
            }
            if wait == NEXT {
                let _ = write!(std::io::stderr(), "\r\u{1b}[K");
            }
        });
        Ticker { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Bytes this process has read so far, by the kernel's count (proc(5), `/proc/self/io`).
fn read() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/self/io").ok()?;
    counts.lines().find_map(|l| l.strip_prefix("rchar: "))?.parse().ok()
}
