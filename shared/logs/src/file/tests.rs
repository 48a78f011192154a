use std::fs::{self, FileTimes, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::Mode;

use super::*;
use crate::SignalKind;
use crate::handle::{is_denied, refused};
use base::cause::Cause;

const NOW: Time = Time(4_000_000_000);
const START: &str = "Query: work kanban task t_1\nInitializing agent...\n";
const FAILED: &str = "❌ API failed after 2 retries — HTTP 503: busy\n";
/// A line of Codex.
const REFUSED: &str = r#"{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}"#;
const TOOL: &str = "  ┊ 💻 $ ls  0.1s\n";

struct Log {
    dir: tempfile::TempDir,
    cache: Cache,
}

impl Log {
    fn new(text: &str) -> Log {
        let log = Log { dir: tempfile::tempdir().unwrap(), cache: Cache::in_memory() };
        log.write(text);
        log
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("t_1.log")
    }

    fn write(&self, text: impl AsRef<[u8]>) {
        fs::write(self.path(), text).unwrap();
    }

    fn append(&self, text: impl AsRef<[u8]>) {
        OpenOptions::new().append(true).open(self.path()).unwrap().write_all(text.as_ref()).unwrap();
    }

    /// Overwrites bytes so that nothing but the bytes tells: size and time stay.
    fn forge(&self, from: usize, text: &str) {
        let times = fs::metadata(self.path()).unwrap().modified().unwrap();
        let file = OpenOptions::new().write(true).open(self.path()).unwrap();
        file.write_at(text.as_bytes(), from as u64).unwrap();
        file.set_times(FileTimes::new().set_modified(times)).unwrap();
    }

    fn forge_rotated(&self, text: &str) {
        let file = OpenOptions::new().write(true).open(self.dir.path().join("t_1.log.1")).unwrap();
        file.write_at(text.as_bytes(), 0).unwrap();
    }

    fn rotate(&self) {
        fs::rename(self.path(), self.dir.path().join("t_1.log.1")).unwrap();
    }

    fn read(&mut self) -> Reading {
        read(&ask(&self.path()), &mut self.cache)
    }

    /// What a pass finds that remembers nothing.
    fn afresh(&self) -> Reading {
        read(&ask(&self.path()), &mut Cache::in_memory())
    }
}

fn ask(path: &Path) -> Ask<'_> {
    Ask { path, of: Of::Task("t_1"), since: Time(0), now: NOW }
}

fn look_at(path: &Path) -> Reading {
    read(&ask(path), &mut Cache::in_memory())
}

fn cause(reading: &Reading) -> Option<Cause> {
    match &reading.end {
        LogEnd::Ended(e) => Some(e.cause),
        LogEnd::NoEvidence => None,
        other => panic!("{other:?}"),
    }
}

fn why(reading: &Reading) -> &str {
    match &reading.end {
        LogEnd::Unreadable(why) => why,
        other => panic!("{other:?}"),
    }
}

/// All but the place of the attempt, which is unknown to a pass that saw only the end of a log.
fn told(reading: &Reading) -> (Option<Cause>, Vec<(SignalKind, Cause, u64)>) {
    let signals = reading.signals.iter().map(|s| (s.kind, s.evidence.cause, s.evidence.offset)).collect();
    (cause(reading), signals)
}

/// Without the times of lines that state none: they are known only of what was added since an earlier look.
fn undated(mut reading: Reading) -> Reading {
    reading.signals.iter_mut().for_each(|s| s.evidence.at = None);
    if let LogEnd::Ended(e) = &mut reading.end {
        e.at = None;
    }
    reading
}

#[test]
fn what_stood_there_at_the_first_look_has_no_time() {
    let mut log = Log::new(&format!("{START}{FAILED}"));
    assert_eq!(log.read().signals[0].evidence.at, None);
    log.append(FAILED);
    let times: Vec<bool> = log.read().signals.iter().map(|s| s.evidence.at.is_some()).collect();
    assert_eq!(times, [false, true]);
}

#[test]
fn no_log_is_no_evidence_but_an_unreadable_one_is_said() {
    let log = Log::new(FAILED);
    let dir = log.dir.path();
    assert_eq!(look_at(&dir.join("none.log")), Reading::of(LogEnd::Absent, None));
    let link = dir.join("link.log");
    symlink(log.path(), &link).unwrap();
    symlink(dir.join("gone"), dir.join("dangling.log")).unwrap();
    let fifo = dir.join("fifo.log");
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.join("socket.log")).unwrap();
    let begun = Instant::now();
    for (path, said) in [
        (dir, "not a regular file: move it away"),
        (Path::new("/dev/zero"), "a device, and no file: name another log"),
        (Path::new("/dev/null"), "a device, and no file: name another log"),
        (&fifo, "not a regular file: move it away"),
        (&dir.join("socket.log"), "not a regular file: move it away"),
        (&link, "a symbolic link: put the file itself in its place"),
        (&dir.join("dangling.log"), "a symbolic link: put the file itself in its place"),
        (&log.path().join("below"), "Not a directory (os error 20)"),
    ] {
        let reading = look_at(path);
        let name = path.display().to_string();
        assert_eq!((why(&reading), reading.modified), (format!("{name}: {said}").as_str(), None));
        assert_eq!(reading.file, Some(name));
        assert!(read_all(path, None, NOW, Some(&mut |_, _, _| panic!("a line of it"))).is_err());
    }
    assert!(begun.elapsed().as_secs() < 2);
    // What is put in the place of a log between the glance and the opening is refused as well.
    assert_eq!(open(&link).unwrap_err().to_string(), "a symbolic link: put the file itself in its place");
    let opened = open(&fifo).unwrap().unwrap();
    let refused = check(&opened.metadata().unwrap(), Owner::Ourselves).unwrap_err().to_string();
    assert_eq!(refused, "not a regular file: move it away");
}

#[test]
fn a_log_that_somebody_else_may_read_says_so() {
    let said = refused(std::io::ErrorKind::PermissionDenied.into()).to_string();
    let me = rustix::process::geteuid().as_raw();
    assert!(said.contains(&format!(": let user {me} read it (chmod")), "{said}");
    let denied = refused(rustix::io::Errno::ACCESS.into()).to_string();
    assert!(
        is_denied(&denied) && denied.starts_with("Permission denied (os error 13): let user"),
        "{denied}"
    );
    let broken = refused(rustix::io::Errno::IO.into()).to_string();
    assert_eq!((broken.as_str(), is_denied(&broken)), ("Input/output error (os error 5)", false));
}

#[test]
fn a_named_log_must_be_our_own() {
    let log = Log::new(FAILED);
    let path = log.path();
    let named = Ask { of: Of::Named, ..ask(&path) };
    assert_eq!(read(&named, &mut Cache::in_memory()).end, LogEnd::NoEvidence);
    // Only root can give a file away; for others a file of root's does.
    let theirs = match rustix::process::geteuid().is_root() {
        true => {
            std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
            path.clone()
        }
        false => PathBuf::from("/etc/passwd"),
    };
    let reading = read(&Ask { path: &theirs, ..named }, &mut Cache::in_memory());
    let name = theirs.display();
    assert_eq!(why(&reading), format!("{name}: it belongs to another user: run this as that user"));
}

#[test]
fn a_log_not_written_since_the_start_has_nothing_of_the_attempt() {
    let mut log = Log::new(&format!("{START}{FAILED}"));
    let written = log.read().modified.unwrap();
    for (since, expected) in [(2, Some(Cause::Overloaded)), (3, None)] {
        let path = log.path();
        for cache in [&mut log.cache, &mut Cache::in_memory()] {
            let reading = read(&Ask { since: written.plus(since), ..ask(&path) }, cache);
            assert_eq!((cause(&reading), reading.modified), (expected, Some(written)), "{since}");
            assert_eq!(reading.signals.is_empty(), expected.is_none());
        }
    }
}

#[test]
fn an_end_that_was_seen_before_the_attempt_began_is_that_of_an_earlier_one() {
    // A start that no reader knows: the interpreter found no module, a wrapper said hello.
    for last in ["ModuleNotFoundError: No module named 'hermes_cli'\n", "Killed\n"] {
        let mut log = Log::new(&format!("{START}{FAILED}"));
        let written = |log: &Log, at: u64| {
            let file = File::open(log.path()).unwrap();
            file.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(at)))
                .unwrap();
        };
        written(&log, 1_000_000);
        assert_eq!(cause(&log.read()), Some(Cause::Overloaded));
        log.append(last);
        written(&log, 1_000_900);
        let path = log.path();
        let mut since = |since: i64| read(&Ask { since: Time(since), ..ask(&path) }, &mut log.cache);
        assert_eq!(cause(&since(1_000_000)), Some(Cause::Overloaded), "{last}");
        let newest = since(1_000_600);
        assert_eq!((cause(&newest), newest.signals), (None, vec![]), "{last}");
        assert_eq!(newest.earlier[0].as_ref().map(|e| e.cause), Some(Cause::Overloaded), "{last}");
    }
}

#[test]
fn an_unchanged_log_is_not_read() {
    let mut log = Log::new(&format!("{START}{FAILED}"));
    let first = log.read();
    assert_eq!(cause(&first), Some(Cause::Overloaded));
    assert_eq!(first.signals.len(), 1);
    log.forge(START.len(), "    ");
    assert_eq!(log.read(), first);
    assert_eq!(cause(&log.afresh()), None, "the forgery would show");
}

#[test]
fn of_a_grown_log_only_the_growth_is_read() {
    let mut log = Log::new(&format!("{START}{}{FAILED}", TOOL.repeat(10)));
    log.read();
    // Far enough from the end that the fingerprint does not see it.
    log.forge(0, "Query: work kanban task t_2");
    log.append(FAILED);
    let reading = log.read();
    assert_eq!(told(&reading).1.len(), 2);
    assert_eq!(log.afresh().end, LogEnd::NoEvidence, "another task's, from the start");
    log.append(TOOL);
    assert_eq!(cause(&log.read()), None);
}

#[test]
fn a_last_line_without_its_end_counts_and_is_read_again_when_it_has_one() {
    let (half, rest) = FAILED.split_at(FAILED.find("503").unwrap());
    let mut log = Log::new(&format!("{START}{half}"));
    assert_eq!(cause(&log.read()), Some(Cause::Unknown));
    log.append(rest);
    let reading = log.read();
    assert_eq!(
        told(&reading),
        (Some(Cause::Overloaded), vec![(SignalKind::Terminal, Cause::Overloaded, START.len() as u64)])
    );
    assert_eq!(undated(reading), undated(log.afresh()));
    log.append("  ┊ 💻 $ l");
    assert_eq!(cause(&log.read()), None, "a tool was begun");
    log.append("s");
    assert_eq!(log.read(), log.afresh());
}

#[test]
fn truncated_replaced_and_rewritten_logs_are_read_from_the_start() {
    // The end of it is beyond what a fingerprint sees of the rest.
    let whole = format!("{START}{FAILED}{}", "\n".repeat(100));
    let other =
        format!("{START}❌ Non-retryable error (HTTP 401): HTTP 401: no such key {}\n", "x".repeat(100));
    for change in ["truncated", "replaced", "rewritten", "rewritten to the same size"] {
        let mut log = Log::new(&whole);
        assert_eq!(cause(&log.read()), Some(Cause::Overloaded));
        let expected = match change {
            "truncated" => {
                log.write(START);
                None
            }
            "replaced" => {
                fs::remove_file(log.path()).unwrap();
                // So that the number of the old file is taken.
                fs::write(log.dir.path().join("x"), "").unwrap();
                log.write(&other);
                Some(Cause::Credential)
            }
            "rewritten" => {
                log.write(&other);
                Some(Cause::Credential)
            }
            _ => {
                log.write(whole.replace("HTTP 503: busy", "HTTP 401: busy"));
                let later = SystemTime::now() + Duration::from_secs(5);
                let file = OpenOptions::new().write(true).open(log.path()).unwrap();
                file.set_times(FileTimes::new().set_modified(later)).unwrap();
                Some(Cause::Credential)
            }
        };
        let reading = log.read();
        assert_eq!(cause(&reading), expected, "{change}");
        assert_eq!(reading, log.afresh(), "{change}");
    }
}

#[test]
fn an_attempt_goes_on_over_a_rotation() {
    let unread = "❌ API failed after 2 retries — HTTP 529: full\n";
    for known in [true, false] {
        let mut log = Log::new(&format!("{START}{FAILED}"));
        if known {
            log.read();
            // Only the unread rest is read of it.
            log.forge(0, "Query: work kanban task t_2");
        }
        log.append(unread);
        log.rotate();
        log.write("");
        let empty = log.read();
        log.write("   💀 Final error: HTTP 529: full\n");
        let reading = log.read();
        let causes: Vec<_> = reading.signals.iter().map(|s| s.evidence.http).collect();
        assert_eq!(
            (cause(&reading), causes),
            (Some(Cause::Overloaded), vec![Some(503), Some(529)]),
            "{known}"
        );
        assert_eq!(told(&empty).1, told(&reading).1);
        log.append(TOOL);
        assert_eq!(cause(&log.read()), None);
        log.append(format!("{START}❌ API failed after 2 retries — HTTP 500: x\n"));
        let next = log.read();
        assert_eq!(told(&next).1.len(), 1, "{:?}", next.signals);
        assert_eq!(cause(&next), Some(Cause::ServerError));
    }
}

#[test]
fn an_attempt_that_begins_with_its_file_needs_no_older_one() {
    let mut log = Log::new(&format!("{START}{FAILED}"));
    log.read();
    log.rotate();
    log.write(START);
    assert_eq!(told(&log.read()), (None, vec![]));
    assert_eq!(told(&log.afresh()), (None, vec![]));
    log.append(FAILED);
    assert_eq!(log.read().signals.len(), 1);
    assert_eq!(undated(log.read()), undated(log.afresh()));
}

#[test]
fn a_huge_log_costs_its_end_only() {
    let mut log = Log::new("");
    let file = OpenOptions::new().append(true).open(log.path()).unwrap();
    let hole = 2 << 30;
    file.set_len(hole).unwrap();
    let begun = Instant::now();
    let name = log.path().display().to_string();
    assert_eq!(why(&log.read()), format!("{name}: no line ends in its last 1024 KiB"));
    log.append(format!("\n{START}{FAILED}"));
    let reading = log.read();
    let LogEnd::Ended(evidence) = &reading.end else { panic!("{reading:?}") };
    assert_eq!(evidence.offset, hole + 1 + START.len() as u64);
    assert_eq!(evidence.attempt, hole + 1);
    // More than may be read at once since then.
    let len = fs::metadata(log.path()).unwrap().len();
    file.set_len(len + MAX_GROWTH + 1).unwrap();
    log.append(format!("\n{FAILED}"));
    assert_eq!(log.read(), log.afresh());
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

#[test]
fn a_progress_bar_without_a_newline_is_read_from_one_of_its_returns() {
    let bar = "\rdownloading 42 %".repeat(100_000);
    let (mut log, refused) = (Log::new(&bar), "\rError: 429 Too Many Requests");
    assert!(bar.len() as u64 > FIRST_LOOK);
    assert_eq!(log.read().end, LogEnd::NoEvidence);
    log.append(refused);
    assert_eq!(told(&log.read()), told(&log.afresh()), "grown, and at a first look");
    assert_eq!(cause(&log.afresh()), Some(Cause::RateLimit), "{:?}", log.afresh());
    // What overwrites it is younger.
    log.append("\rdownloading 43 %".repeat(5));
    assert_eq!((cause(&log.read()), cause(&log.afresh())), (None, None));
    // In a worker's log a return begins no line: it may be what a tool printed.
    let hermes = format!("{START}  ┊ 💻 $ printf '\r{}'  0.1s\n", FAILED.trim_end());
    assert_eq!(look_at(&Log::new(&hermes).path()).end, LogEnd::NoEvidence);
}

#[test]
fn the_first_line_of_a_window_is_torn_and_dropped_unless_it_is_whole() {
    let window = usize::try_from(FIRST_LOOK).unwrap();
    let close = "Resume this session with:\n";
    for (within, expected) in [(0, Some(Cause::Overloaded)), (1, None), (FAILED.len() - 1, None)] {
        let blank = "\n".repeat(window - FAILED.len() - close.len() + within);
        let log = Log::new(&format!("{START}{TOOL}{FAILED}{blank}{close}"));
        assert_eq!(cause(&log.afresh()), expected, "the window begins {within} bytes into the failure");
    }
}

#[test]
fn a_log_that_grows_while_it_is_read_is_read_to_where_it_was() {
    let mut log = Log::new(START);
    let path = log.path();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            // Bounded, so that a slow reader has an end as well.
            for _ in 0..20_000 {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                file.write_all(format!("{TOOL}{FAILED}").as_bytes()).unwrap();
            }
        });
        for _ in 0..50 {
            let reading = log.read();
            assert!(matches!(reading.end, LogEnd::Ended(_) | LogEnd::NoEvidence), "{reading:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    // A first look may begin within the attempt, so only the verdict is the same.
    let (last, afresh) = (log.read(), log.afresh());
    assert_eq!((cause(&last), last.modified), (cause(&afresh), afresh.modified));
}

#[test]
fn what_is_no_text_and_what_has_no_end_costs_no_memory() {
    let mut log = Log::new(START);
    log.append([0xff, 0xfe, b'\r', b'\n']);
    log.append("❌ API failed after 2 retries — HTTP 503: ");
    log.append([0xe2, 0x80]);
    log.append("\r\n");
    let LogEnd::Ended(evidence) = log.read().end else { panic!() };
    assert_eq!(evidence.words, "❌ API failed after 2 retries — HTTP 503: \u{fffd}");

    let cut = crate::signal::MAX_LINE;
    let path = log.dir.path().join("long");
    let mut text = vec![b'x'; cut];
    text.push(b'\n');
    text.extend(vec![b'y'; cut + 1]);
    text.extend(b"\nz\nw");
    fs::write(&path, text).unwrap();
    let mut seen = Vec::new();
    read_all(&path, None, NOW, Some(&mut |l, _, _| seen.push((l.text.len(), l.offset, l.is_cut)))).unwrap();
    let (one, two) = (cut as u64 + 1, 2 * cut as u64 + 3);
    assert_eq!(seen, [(cut, 0, false), (cut, one, true), (1, two, false), (1, two + 2, false)]);
}

#[test]
fn a_format_that_shows_only_later_is_read_from_the_start() {
    let mut log = Log::new("Working on it.\n");
    assert_eq!(cause(&log.read()), None);
    log.append("API call failed after 2 retries: HTTP 429: slow down\n\nsession_id: x\n");
    assert_eq!(log.read(), log.afresh());
    log.append("API call failed after 2 retries: HTTP 429: slow down\n\nsession_id: x\n");
    assert_eq!(cause(&log.read()), Some(Cause::RateLimit));
}

/// Half a line of one format may be the front of a line of another.
#[test]
fn half_a_line_shows_no_format_for_long() {
    let codex = &*format!("\"payload\":{{}}}}\n{REFUSED}\n");
    for (half, rest) in [
        ("{\"type\":\"session_meta\",\"session_id\":\"x\",", codex),
        ("Working on it.\n{\"type\":\"session_meta\",\"session_id\":\"x\",", codex),
        ("{\"event\": {\"type\":\"turn.started\",", "\"n\": 1}}\nError code: 429 - {'error': {}}\n"),
    ] {
        let mut log = Log::new(half);
        assert_eq!(log.read(), log.afresh(), "{half}");
        // Not finished by the next pass either.
        log.append(&rest[..3]);
        assert_eq!(log.read(), log.afresh(), "{half}");
        log.append(&rest[3..]);
        let reading = log.read();
        assert_eq!(cause(&reading), Some(Cause::RateLimit), "{half}");
        assert_eq!(undated(reading), undated(log.afresh()), "{half}");
    }
}

#[test]
fn one_line_that_nobody_ever_ends_is_read_by_what_it_shows() {
    for (line, expected) in [
        ("⚠️  Provider resolver returned an empty API key", Cause::Credential),
        (REFUSED, Cause::RateLimit),
        ("Error code: 402 - {'error': 'Insufficient credits'}", Cause::Quota),
    ] {
        let mut log = Log::new(line);
        assert_eq!(cause(&log.read()), Some(expected), "{line}");
        assert_eq!(cause(&log.read()), Some(expected), "{line}");
        let mut shown = Vec::new();
        let whole =
            read_all(&log.path(), Some("t_1"), NOW, Some(&mut |_, said, _| shown.push(said.len()))).unwrap();
        assert_eq!((cause(&whole), shown), (Some(expected), vec![1]), "{line}");
        log.append("\n");
        assert_eq!(undated(log.read()), undated(log.afresh()), "{line}");
    }
}

#[test]
fn whether_an_attempt_goes_on_over_a_rotation_a_whole_line_tells() {
    let other = &*format!("{REFUSED}\n");
    let on = "   💀 Final error: HTTP 529: full\n";
    for (line, expected, http) in
        [(other, Cause::RateLimit, vec![Some(429)]), (on, Cause::Overloaded, vec![Some(503)])]
    {
        for at in [0, 1, 2, line.find(':').unwrap(), line.len() - 2] {
            // A pass may end within a letter.
            let (half, rest) = line.as_bytes().split_at(at);
            let mut log = Log::new(&format!("{START}{FAILED}"));
            log.read();
            log.rotate();
            log.write(half);
            // A second may pass between the two.
            assert_eq!(undated(log.read()), undated(log.afresh()), "{line} {at}");
            // What was learnt of the older file is not read again.
            log.forge_rotated("Query: work kanban task t_2");
            log.append(rest);
            let reading = log.read();
            let causes: Vec<_> = reading.signals.iter().map(|s| s.evidence.http).collect();
            assert_eq!((cause(&reading), causes), (Some(expected), http.clone()), "{line} {at}");
            log.append(FAILED);
            assert_eq!(log.read().signals.len(), http.len() + usize::from(line == on), "{line} {at}");
        }
    }
}

#[test]
fn a_lost_or_damaged_cursor_changes_no_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.db");
    let log = Log::new(&format!("{START}{FAILED}"));
    let path = log.path();
    let pass = |damage: Option<&str>| {
        let mut cache = Cache::open(Some(state.clone()));
        let reading = read(&ask(&path), &mut cache);
        assert_eq!(cache.save(), None);
        if let Some(body) = damage {
            let conn = rusqlite::Connection::open(&state).unwrap();
            conn.execute("UPDATE logs SET body = ?1", [body]).unwrap();
        }
        reading
    };
    let first = pass(None);
    let written = fs::metadata(&state).unwrap().modified().unwrap();
    assert_eq!(pass(None), first);
    assert_eq!(fs::metadata(&state).unwrap().modified().unwrap(), written, "an idle pass writes nothing");
    for damage in ["", "{}", "{\"version\":1}", "{\"version\":1,\"offset\":-1}"] {
        pass(Some(damage));
        assert_eq!(pass(None), first, "{damage}");
    }
    fs::remove_file(&state).unwrap();
    assert_eq!(pass(None), first);
}

#[test]
fn a_cursor_in_use_is_marked_once_a_day() {
    let mut log = Log::new(&format!("{START}{FAILED}"));
    log.read();
    let path = log.path();
    let key = Of::Task("t_1").key(&path).unwrap();
    for (later, used) in [(DAY - 1, 0), (DAY, DAY)] {
        read(&Ask { now: NOW.plus(later), ..ask(&path) }, &mut log.cache);
        assert_eq!(log.cache.log(&key).unwrap().used, NOW.plus(used));
    }
}

#[test]
fn every_recording_in_pieces_is_the_same_as_in_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hermes-logs");
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let mut log = Log::new("");
        let mut at = 0;
        for step in [1, 700, 33, 1_501, 7].into_iter().cycle() {
            let end = (at + step).min(bytes.len());
            log.append(&bytes[at..end]);
            at = end;
            let (grown, mut afresh) = (log.read(), log.afresh());
            for (s, g) in afresh.signals.iter_mut().zip(&grown.signals) {
                // When it was first seen is what a cursor is for.
                s.evidence.at = g.evidence.at;
            }
            if let (LogEnd::Ended(a), LogEnd::Ended(g)) = (&mut afresh.end, &grown.end) {
                a.at = g.at;
            }
            assert_eq!(grown, afresh);
            if at == bytes.len() {
                break;
            }
        }
    }
}

/// What stands in a store of sessions does not count as a line of a log, whatever it looks like.
#[test]
fn a_store_says_nothing_as_a_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    std::fs::write(&path, b"SQLite format 3\0\nHTTP 429: Rate limit reached\n").unwrap();
    let ask = Ask { path: &path, of: Of::Named, since: Time(0), now: Time(4_000_000_000) };
    let reading = read(&ask, &mut Cache::in_memory());
    assert_eq!((reading.end, reading.signals.len()), (LogEnd::NoEvidence, 0));
}
