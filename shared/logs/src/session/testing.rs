//! Feeding recordings to readers, whole and in pieces.

use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Format, Line, LogEnd, Reader, Signal};
use base::time::Time;

/// When lines without a time were seen.
pub(crate) const SEEN: Time = Time(1_795_250_000);

/// A recording from `tests/fixtures/agents`.
pub(crate) fn recording(name: &str) -> String {
    let place = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/agents").join(name);
    std::fs::read_to_string(&place).unwrap_or_else(|e| panic!("{}: {e}", place.display()))
}

/// What `expected.json` says of the recordings of one agent, by file.
pub(crate) fn expected(agent: &str) -> Vec<(String, Value)> {
    let all: Value = serde_json::from_str(&recording("expected.json")).unwrap();
    all[agent].as_object().unwrap().iter().map(|(f, v)| (format!("{agent}/{f}"), v.clone())).collect()
}

/// Reads a whole text; gives the signals.
pub(crate) fn feed<F: Format>(reader: &mut F, text: &str) -> Vec<Signal> {
    let mut out = Vec::new();
    let mut offset = 0;
    for raw in text.split_inclusive('\n') {
        let line = raw.strip_suffix('\n').unwrap_or(raw);
        reader.line(&Line { text: line, offset, is_cut: false, seen: SEEN }, &mut out);
        offset += raw.len() as u64;
    }
    out
}

/// Reads a whole text; gives the reader behind it, and the signals.
pub(crate) fn read<F: Format>(mut reader: F, text: &str) -> (F, Vec<Signal>) {
    let signals = feed(&mut reader, text);
    (reader, signals)
}

/// What the session tells besides its end, field by field.
#[track_caller]
pub(crate) fn told(reader: &Reader, fields: &[&str]) -> Value {
    let session = reader.session().unwrap();
    fields.iter().map(|field| session[*field].clone()).collect()
}

/// Reads line by line, with the reader written to JSON and read again in between. It must come to the same.
#[track_caller]
pub(crate) fn pieces<F>(new: F, text: &str) -> F
where
    F: Format + Clone + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let (whole, signals) = read(new.clone(), text);
    let mut reader = new;
    let mut out = Vec::new();
    let mut offset = 0;
    for raw in text.split_inclusive('\n') {
        let json = serde_json::to_string(&reader).unwrap();
        reader = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
        let line = raw.strip_suffix('\n').unwrap_or(raw);
        reader.line(&Line { text: line, offset, is_cut: false, seen: SEEN }, &mut out);
        offset += raw.len() as u64;
    }
    assert_eq!(reader, whole);
    assert_eq!(out, signals);
    reader
}

/// Every field `expected` has, as numbers are equal rather than as they are written.
#[track_caller]
pub(crate) fn agrees(found: &impl Serialize, expected: &Value, what: &str) {
    let found = serde_json::to_value(found).unwrap();
    let mut wrong = Vec::new();
    for (field, want) in expected.as_object().unwrap() {
        let got = found.get(field);
        let same = match (got.and_then(Value::as_f64), want.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-12,
            _ => got == Some(want),
        };
        if !same {
            wrong.push(format!("{field}: {got:?}, not {want}"));
        }
    }
    assert!(wrong.is_empty(), "{what}\n{}", wrong.join("\n"));
}

/// The cause and the status an attempt ended on.
pub(crate) fn ended(reader: &impl Format) -> Option<(base::cause::Cause, Option<u16>)> {
    match reader.end() {
        LogEnd::Ended(e) => Some((e.cause, e.http)),
        LogEnd::NoEvidence => None,
        other => panic!("{other:?}"),
    }
}

/// Every recording of an agent is read as `expected.json` says, whole and in pieces; there are at least so many.
#[track_caller]
pub(crate) fn recordings_agree(agent: &str, at_least: usize) {
    let new = || Reader::named(agent, None).with_session();
    let all = expected(agent);
    assert!(all.len() >= at_least, "{} recordings of {agent}", all.len());
    for (file, expected) in all {
        let text = recording(&file);
        agrees(&read(new(), &text).0.session().unwrap(), &expected, &file);
        agrees(&pieces(new(), &text).session().unwrap(), &expected, &file);
    }
}
