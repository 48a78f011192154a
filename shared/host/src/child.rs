//! A process that was started by us, and has a bounded time.

use std::io::{self, Read, Write};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(5);
/// How long the rest of what it said may take, once it has ended: what it left running may hold the pipe.
const REST: Duration = Duration::from_secs(1);

/// How it ended.
#[derive(Debug)]
pub struct Finished {
    /// Its status.
    pub status: ExitStatus,
    /// What it wrote to its output, where that is a pipe.
    pub out: String,
    /// What it wrote to its error output, where that is a pipe.
    pub err: String,
    /// Whether `out` is all that it wrote there, to the byte.
    pub is_whole: bool,
}

/// Gives a process its input, reads what it says, at most `most` bytes of each output, and waits for its end. `None`: it still runs
/// after `patience`, and is the caller's to kill.
///
/// # Errors
/// It cannot be waited for.
pub fn finish(
    child: &mut Child,
    input: Option<String>,
    patience: Duration,
    most: u64,
) -> io::Result<Option<Finished>> {
    finish_unless(child, input, patience, most, || false)
}

/// As [`finish`]; `None` also as soon as `stops` says that nobody wants to know any more.
///
/// # Errors
/// It cannot be waited for.
pub fn finish_unless(
    child: &mut Child,
    input: Option<String>,
    patience: Duration,
    most: u64,
    stops: impl Fn() -> bool,
) -> io::Result<Option<Finished>> {
    if let Some((mut pipe, text)) = child.stdin.take().zip(input) {
        // A process that does not read its input, or leaves it to others, must not hold us. It says by how it ends what it missed.
        thread::spawn(move || drop(pipe.write_all(text.as_bytes())));
    }
    let (out, err) = (reader(child.stdout.take(), most), reader(child.stderr.take(), most));
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            let rest = |said: Receiver<(String, bool)>| said.recv_timeout(REST).unwrap_or_default();
            let ((out, is_whole), (err, _)) = (rest(out), rest(err));
            return Ok(Some(Finished { status, out, err, is_whole }));
        }
        if began.elapsed() >= patience || stops() {
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// What comes out of a pipe, and whether that is all of it, to the byte.
fn reader(pipe: Option<impl Read + Send + 'static>, most: u64) -> Receiver<(String, bool)> {
    let (tell, said) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let is_read = pipe.is_none_or(|mut pipe| pipe.by_ref().take(most).read_to_end(&mut bytes).is_ok());
        let is_whole = is_read && (bytes.len() as u64) < most && std::str::from_utf8(&bytes).is_ok();
        let _ = tell.send((String::from_utf8_lossy(&bytes).into_owned(), is_whole));
    });
    said
}
