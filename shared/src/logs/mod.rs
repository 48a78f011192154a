//! What the end of a worker's log says about its last attempt. One file per format; here is only the reading.
//!
//! A log is written by a worker we do not trust and may be anything at all: only a regular file is read,
//! never through a link, never more than its last 256 KiB.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::time::Time;

pub mod hermes;

/// Most bytes ever read of a log, from its end.
pub const TAIL_BYTES: u64 = 256 * 1024;

/// How much earlier than the attempt's start a log may have been written last and still belong to it, in
/// seconds: the board and the file system round to whole seconds, each in its own way.
const SLACK_SECONDS: i64 = 2;

/// What the log of a task says about how its last attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogEnd {
    /// There is no log.
    Absent,
    /// There is one, but what it says could not be learnt, and why. Leave the task alone.
    Unreadable(String),
    /// It was read, and the attempt did not end on a line we know.
    NoEvidence,
    /// The attempt ended on this line.
    Ended(Evidence),
}

/// The line an attempt ended on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What the line means.
    pub cause: Cause,
    /// The HTTP status, where the line names one.
    pub http: Option<u16>,
    /// Where the line starts, in bytes from the start of the file.
    pub offset: u64,
    /// The host (and port) of the endpoint that failed, where the log names it. Provider names hide behind
    /// `custom`.
    pub endpoint_host: Option<String>,
}

/// Reads how the last attempt at `task` ended from its log at `path`, and when that log was last written.
///
/// `since` is the start of the attempt asked about: a log not written since then has nothing of it.
pub fn end_of(path: &Path, task: &str, since: Time) -> (LogEnd, Option<Time>) {
    let file = match open(path) {
        Ok(Some(file)) => file,
        Ok(None) => return (LogEnd::Absent, None),
        Err(why) => return (LogEnd::Unreadable(why), None),
    };
    let meta = match file.metadata() {
        Ok(meta) if meta.is_file() => meta,
        Ok(_) => return (LogEnd::Unreadable("not a regular file".into()), None),
        Err(e) => return (LogEnd::Unreadable(e.to_string()), None),
    };
    let written = Time(meta.mtime());
    if written < since.plus(-SLACK_SECONDS) {
        return (LogEnd::NoEvidence, Some(written));
    }
    let end = match tail(&file, meta.len()) {
        Ok((bytes, from)) => of_tail(&bytes, from, task),
        Err(e) => LogEnd::Unreadable(e.to_string()),
    };
    (end, Some(written))
}

/// `None` where there is no such file.
fn open(path: &Path) -> Result<Option<File>, String> {
    // Without NONBLOCK a FIFO in the log's place would hold the whole pass for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(rustix::io::Errno::LOOP) => Err("a symbolic link".into()),
        Err(e) => Err(std::io::Error::from(e).to_string()),
    }
}

/// The last bytes of the file and where they start.
fn tail(file: &File, len: u64) -> std::io::Result<(Vec<u8>, u64)> {
    let from = len.saturating_sub(TAIL_BYTES);
    let mut bytes = vec![0; usize::try_from(len - from).map_err(std::io::Error::other)?];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], from + filled as u64) {
            // Cut short under our hands; what is left is what there is.
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(filled);
    Ok((bytes, from))
}

fn of_tail(bytes: &[u8], from: u64, task: &str) -> LogEnd {
    let torn = match (from, bytes.iter().position(|b| *b == b'\n')) {
        (0, _) => 0,
        (_, Some(newline)) => newline + 1,
        (_, None) => {
            return LogEnd::Unreadable(format!("no line ends in its last {} KiB", TAIL_BYTES / 1024));
        }
    };
    match hermes::last_attempt_end(&bytes[torn..], from + torn as u64, task) {
        Some(evidence) => LogEnd::Ended(evidence),
        None => LogEnd::NoEvidence,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::time::Instant;

    use super::*;

    const EPOCH: Time = Time(0);
    const FAILED: &str = "Query: work kanban task t_1\n❌ API failed after 2 retries — HTTP 503: busy\n";

    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn cause_of(end: &LogEnd) -> Option<Cause> {
        match end {
            LogEnd::Ended(e) => Some(e.cause),
            _ => None,
        }
    }

    #[test]
    fn no_log_is_no_evidence_but_an_unreadable_one_is_said() {
        let dir = scratch();
        assert_eq!(end_of(&dir.path().join("none.log"), "t_1", EPOCH), (LogEnd::Absent, None));
        let unreadable = |path: &Path| match end_of(path, "t_1", EPOCH) {
            (LogEnd::Unreadable(why), None) => why,
            other => panic!("{}: {other:?}", path.display()),
        };
        assert_eq!(unreadable(dir.path()), "not a regular file");
        assert_eq!(unreadable(Path::new("/dev/null")), "not a regular file");

        let log = dir.path().join("t_1.log");
        fs::write(&log, FAILED).unwrap();
        let link = dir.path().join("link.log");
        symlink(&log, &link).unwrap();
        assert_eq!(unreadable(&link), "a symbolic link");
        symlink(dir.path().join("gone"), dir.path().join("dangling.log")).unwrap();
        assert_eq!(unreadable(&dir.path().join("dangling.log")), "a symbolic link");
        assert!(unreadable(&log.join("below")).contains("Not a directory"));
    }

    #[test]
    fn a_fifo_does_not_hold_the_pass() {
        let dir = scratch();
        let fifo = dir.path().join("t_1.log");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        let begun = Instant::now();
        assert_eq!(end_of(&fifo, "t_1", EPOCH).0, LogEnd::Unreadable("not a regular file".into()));
        assert!(begun.elapsed().as_secs() < 2);
    }

    #[test]
    fn a_log_not_written_since_the_start_has_nothing_of_the_attempt() {
        let dir = scratch();
        let log = dir.path().join("t_1.log");
        fs::write(&log, FAILED).unwrap();
        let (end, written) = end_of(&log, "t_1", EPOCH);
        assert_eq!(cause_of(&end), Some(Cause::Overloaded));
        let written = written.unwrap();
        assert_eq!(cause_of(&end_of(&log, "t_1", written.plus(2)).0), Some(Cause::Overloaded));
        assert_eq!(end_of(&log, "t_1", written.plus(3)), (LogEnd::NoEvidence, Some(written)));
    }

    #[test]
    fn a_huge_log_costs_its_tail_only() {
        let dir = scratch();
        let log = dir.path().join("t_1.log");
        let mut file = OpenOptions::new().create_new(true).append(true).open(&log).unwrap();
        file.set_len(100 * 1024 * 1024).unwrap();
        let begun = Instant::now();
        let (end, _) = end_of(&log, "t_1", EPOCH);
        assert_eq!(end, LogEnd::Unreadable("no line ends in its last 256 KiB".into()));

        file.write_all(b"\n").unwrap();
        file.write_all(FAILED.as_bytes()).unwrap();
        let (end, _) = end_of(&log, "t_1", EPOCH);
        let LogEnd::Ended(evidence) = end else { panic!("{end:?}") };
        assert_eq!(evidence.offset, 100 * 1024 * 1024 + 1 + FAILED.find('❌').unwrap() as u64);
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
        assert_eq!(tail(&File::open(&log).unwrap(), 1 << 60).unwrap().0.len(), 0);
    }

    #[test]
    fn a_file_cut_short_under_our_hands_is_read_as_far_as_it_goes() {
        let dir = scratch();
        let log = dir.path().join("t_1.log");
        fs::write(&log, "abc\n").unwrap();
        assert_eq!(tail(&File::open(&log).unwrap(), 100).unwrap(), (b"abc\n".to_vec(), 0));
    }

    #[test]
    fn an_empty_log_is_no_evidence() {
        let dir = scratch();
        let log = dir.path().join("t_1.log");
        fs::write(&log, "").unwrap();
        assert_eq!(end_of(&log, "t_1", EPOCH).0, LogEnd::NoEvidence);
    }

    #[test]
    fn the_first_line_of_a_window_is_torn_and_dropped() {
        let torn = "❌ API failed after 2 retries — HTTP 503: half of an answer\nResume this session with:\n";
        assert_eq!(
            cause_of(&of_tail(torn.as_bytes(), 0, "t_1")),
            Some(Cause::Overloaded),
            "whole, it is one"
        );
        assert_eq!(of_tail(torn.as_bytes(), 7, "t_1"), LogEnd::NoEvidence);
        let whole = of_tail(format!("x\n{FAILED}").as_bytes(), 7, "t_1");
        assert_eq!(cause_of(&whole), Some(Cause::Overloaded));
    }

    #[test]
    fn goes_through_json_unchanged() {
        let evidence =
            Evidence { cause: Cause::Quota, http: Some(402), offset: 9, endpoint_host: Some("h:1".into()) };
        for end in
            [LogEnd::Absent, LogEnd::Unreadable("x".into()), LogEnd::NoEvidence, LogEnd::Ended(evidence)]
        {
            let json = serde_json::to_string(&end).unwrap();
            assert_eq!(serde_json::from_str::<LogEnd>(&json).unwrap(), end, "{json}");
        }
    }
}
