//! Logs as files that grow between two passes: what is learnt is what one look at the whole would teach.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use shared::base::redact::redact;
use shared::base::time::Time;
use shared::logs::agents::{Homes, UsageAsk};
use shared::logs::attempt;
use shared::logs::cache::Cache;
use shared::logs::file::{self, Ask, Of};
use shared::logs::session::Prices;
use shared::logs::usage::Usage;
use shared::logs::{LogEnd, Reading};
use tempfile::TempDir;

use super::secret::{hidden_in, is_own, planted};
use super::text::{number, text};

/// When every file was last written, and the pass after that.
const WRITTEN: u64 = 1_795_250_000;
pub(crate) const NOW: Time = Time(1_795_250_060);

thread_local! {
    static DESK: TempDir = TempDir::new().expect("a folder for temporary files");
}

pub(crate) fn place(name: &str) -> PathBuf {
    DESK.with(|desk| desk.path().join(name))
}

/// Writes a file anew, or more of it. The time is given, for the readers go by it.
pub(crate) fn write(path: &Path, bytes: &[u8], is_more: bool) {
    let mut file: File = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(!is_more)
        .append(is_more)
        .open(path)
        .expect("a file in a folder of our own");
    file.write_all(bytes).expect("room in the folder for temporary files");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(WRITTEN)).expect("a time of our own file");
}

/// A log read in two pieces, cut at any byte, says what it says in one; and no key in it is told.
pub fn log_file(data: &[u8]) {
    let [which, data @ ..] = data else { return };
    let (at, rest) = number(data);
    let (front, back) = rest.split_at(at % (rest.len() + 1));
    let path = place("worker.log");
    let of = match which % 4 {
        0 => Of::Named,
        1 => Of::Profile(None),
        2 => Of::ProfileOf("t_1a2b3c4d"),
        _ => Of::Task("t_1a2b3c4d"),
    };
    let ask = Ask { path: &path, of, since: Time(0), now: NOW };
    let mut cache = Cache::in_memory();
    write(&path, front, false);
    file::read(&ask, &mut cache);
    write(&path, back, true);
    let pieces = file::read(&ask, &mut cache);
    assert_eq!(file::read(&ask, &mut cache), pieces, "a second look at the same says something else");
    let whole = file::read(&ask, &mut Cache::in_memory());
    assert_eq!(undated(pieces), undated(whole.clone()), "what a log says depends on where a pass ended");
    clean(&whole);
    if !is_own(&text(rest)) {
        write(&path, format!("\n{} ", planted()).as_bytes(), true);
        told(&file::read(&ask, &mut Cache::in_memory()), false);
    }
}

/// Lines without a time have none at the first look, and that of the pass at a later one.
fn undated(mut reading: Reading) -> Reading {
    let seen = Some(Time(1_795_250_000));
    let ended = match &mut reading.end {
        LogEnd::Ended(e) => Some(e),
        _ => None,
    };
    for e in reading.signals.iter_mut().map(|s| &mut s.evidence).chain(ended) {
        e.at = e.at.filter(|at| Some(*at) != seen);
    }
    reading
}

fn clean(reading: &Reading) {
    assert!(reading.signals.len() <= 32);
    told(reading, true);
}

fn told(reading: &Reading, may_hold_it: bool) {
    let mut all: Vec<&str> = reading.signals.iter().map(|s| s.evidence.words.as_str()).collect();
    all.extend(reading.last_words.iter().map(String::as_str));
    if let LogEnd::Ended(e) = &reading.end {
        all.push(&e.words);
    }
    for words in all {
        assert_eq!(redact(words), words, "a secret is left");
        assert!(may_hold_it || !hidden_in(words), "{words}");
    }
}

/// The same for what an attempt used.
pub fn usage(data: &[u8]) {
    let [which, data @ ..] = data else { return };
    let (at, rest) = number(data);
    let (front, back) = rest.split_at(at % (rest.len() + 1));
    let path = place("session.jsonl");
    let prices = Prices::default();
    let ask = attempt(*which, &path, &prices);
    let mut cache = Cache::in_memory();
    write(&path, front, false);
    attempt::usage::read(&ask, &mut cache);
    write(&path, back, true);
    let pieces = attempt::usage::read(&ask, &mut cache);
    assert_eq!(
        attempt::usage::read(&ask, &mut cache),
        pieces,
        "a second look at the same says something else"
    );
    let whole = attempt::usage::read(&ask, &mut Cache::in_memory());
    assert_eq!(pieces, whole, "what was used depends on where a pass ended");
    bounded(&whole);
}

/// An attempt with this log, named by the board or by its claim, that began long ago or lately.
pub(crate) fn attempt<'a>(which: u8, path: &'a Path, prices: &'a Prices) -> UsageAsk<'a> {
    let is_named = which.is_multiple_of(2);
    UsageAsk {
        task: "t_1a2b3c4d",
        profile: Some("sol"),
        root: None,
        worker_log: (!is_named).then_some(path),
        output: None,
        named: is_named.then_some(path),
        workspace: None,
        homes: Homes::NONE,
        held: &[],
        began: Time(0),
        from: if which % 4 < 2 { Time(0) } else { Time(1_795_248_000) },
        to: None,
        next: None,
        now: NOW,
        prices,
    }
}

/// Something is known or it is said why not, and what is quoted is short and plain.
pub(crate) fn bounded(usage: &Usage) {
    assert!(usage.turns.is_some() || usage.tokens.is_some() || !usage.unknown.is_empty(), "{usage:?}");
    assert!(usage.rereads.len() <= 5 && usage.unknown.len() <= 64, "{usage:?}");
    let quoted = usage.model.iter().chain(usage.rereads.iter().map(|r| &r.file)).chain(&usage.unknown);
    for words in quoted {
        assert!(words.chars().count() <= 400 && !words.contains(|c: char| c.is_control()), "{words:?}");
    }
    assert!(usage.tool_errors <= usage.tool_calls, "{usage:?}");
    let json = serde_json::to_string(usage).expect("usage as JSON");
    let again: Usage = serde_json::from_str(&json).expect("its own JSON");
    assert_eq!(serde_json::to_string(&again).expect("usage as JSON"), json);
}
