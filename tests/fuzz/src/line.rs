//! The readers of logs, line by line: what one says does not depend on where a pass ended, lies in the log, and is bounded.

use shared::base::time::Time;
use shared::logs::reader::{Reader, Shown, sniff};
use shared::logs::signal::MAX_WORDS;
use shared::logs::{Format, Line, LogEnd, Signal, profile};

use super::text::number;

/// When lines without a time were seen.
const SEEN: Time = Time(1_795_250_000);

/// The log of a Hermes worker.
pub fn hermes(data: &[u8]) {
    read(Reader::named("hermes", Some("t_1a2b3c4d")), data, 16 << 10);
}

/// A transcript of Claude Code.
pub fn claude(data: &[u8]) {
    read(Reader::named("claude", None).with_session(), data, 500_000);
}

/// A rollout of Codex.
pub fn codex(data: &[u8]) {
    read(Reader::named("codex", None).with_session(), data, 500_000);
}

/// Any other log, the log of a Hermes profile, and whichever of all formats the first lines show.
pub fn plain(data: &[u8]) {
    let [which, rest @ ..] = data else { return };
    let new = match which % 5 {
        0 => Reader::Profile(profile::Reader::new(None).in_zone(3_600)),
        1 => Reader::Profile(profile::Reader::of_task("t_1a2b3c4d").in_zone(-3_600)),
        2 => {
            let text = String::from_utf8_lossy(rest);
            let first: Vec<&str> = text.split('\n').collect();
            match sniff(&first, None, Some("t_1a2b3c4d")) {
                Shown::Surely(reader) | Shown::SoFar(reader) => reader,
                Shown::Not => return,
            }
        }
        _ => Reader::named("plain", None),
    };
    read(new, rest, 64 << 10);
}

/// Reads it at once, and again with the reader saved and loaded on the way.
fn read(new: Reader, data: &[u8], most: usize) {
    let (at, log) = number(data);
    let starts = starts(log);
    let (whole, said) = feed(new.clone(), log, &starts, &[], most);
    let cuts = [at % starts.len(), at / 7 % starts.len()];
    let (pieces, again) = feed(new, log, &starts, &cuts, most);
    assert_eq!(pieces, whole, "the reader depends on where a pass ended");
    assert_eq!(again, said, "what it says depends on where a pass ended");
    judge(&whole, &said, &starts, log.len());
}

/// Where lines start, and the end.
fn starts(log: &[u8]) -> Vec<usize> {
    let lines = log.split_inclusive(|b| *b == b'\n');
    let mut starts: Vec<usize> = lines.scan(0, |at, l| Some(std::mem::replace(at, *at + l.len()))).collect();
    starts.push(log.len());
    starts
}

fn feed(
    mut reader: Reader,
    log: &[u8],
    starts: &[usize],
    cuts: &[usize],
    most: usize,
) -> (Reader, Vec<Signal>) {
    let mut said = Vec::new();
    for (n, place) in starts.windows(2).enumerate() {
        if cuts.contains(&n) {
            let json = serde_json::to_string(&reader).expect("a reader as JSON");
            assert!(json.len() < most, "{} bytes of state", json.len());
            reader = serde_json::from_str(&json).expect("a reader out of its own JSON");
        }
        let raw = &log[place[0]..place[1]];
        let text = String::from_utf8_lossy(raw.strip_suffix(b"\n").unwrap_or(raw));
        let text = text.trim_end_matches('\r');
        reader.line(&Line { text, offset: place[0] as u64, is_cut: false, seen: SEEN }, &mut said);
    }
    (reader, said)
}

fn judge(reader: &Reader, said: &[Signal], starts: &[usize], length: usize) {
    let is_line = |at: u64| usize::try_from(at).is_ok_and(|at| starts.binary_search(&at).is_ok());
    let mut all: Vec<_> = said.iter().map(|s| &s.evidence).collect();
    let end = reader.end();
    match &end {
        LogEnd::Ended(evidence) => all.push(evidence),
        LogEnd::NoEvidence => {}
        other => panic!("a reader cannot know {other:?}"),
    }
    for e in all {
        assert!(is_line(e.offset), "byte {} starts no line", e.offset);
        assert!(e.words.len() <= MAX_WORDS, "{} bytes of words", e.words.len());
        assert!(e.endpoint_host.as_ref().is_none_or(|h| h.len() <= 300), "a long host");
    }
    assert!(is_line(reader.attempt()), "byte {} starts no attempt", reader.attempt());
    assert!(usize::try_from(reader.worked()).is_ok_and(|at| at <= length));
    let words = reader.last_words();
    assert!(words.len() <= 5 && words.iter().all(|w| w.len() <= MAX_WORDS), "{words:?}");
}
