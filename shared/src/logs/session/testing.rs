//! Feeding recordings to readers, whole and in pieces.

use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::logs::{Format, Line, LogEnd, Signal};
use crate::time::Time;

/// When lines without a time were seen.
pub(in crate::logs) const SEEN: Time = Time(1_795_250_000);

/// A recording from `tests/fixtures/agents`.
pub(in crate::logs) fn recording(name: &str) -> String {
    let place = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/agents").join(name);
    std::fs::read_to_string(&place).unwrap_or_else(|e| panic!("{}: {e}", place.display()))
}

/// What `expected.json` says of the recordings of one agent, by file.
pub(in crate::logs) fn expected(agent: &str) -> Vec<(String, Value)> {
    let all: Value = serde_json::from_str(&recording("expected.json")).unwrap();
    all[agent].as_object().unwrap().iter().map(|(f, v)| (format!("{agent}/{f}"), v.clone())).collect()
}

/// Reads a whole text; gives the signals.
pub(in crate::logs) fn feed<F: Format>(reader: &mut F, text: &str) -> Vec<Signal> {
    let mut out = Vec::new();
    let mut offset = 0;
    for raw in text.split_inclusive('\n') {
        let line = raw.strip_suffix('\n').unwrap_or(raw);
        reader.line(&Line { text: line, offset, is_cut: false, seen: SEEN }, &mut out);
        offset += raw.len() as u64;
    }
    out
}

/// A reader of a whole text.
pub(in crate::logs) fn read<F: Format + Default>(text: &str) -> (F, Vec<Signal>) {
    let mut reader = F::default();
    let signals = feed(&mut reader, text);
    (reader, signals)
}

/// Reads line by line, with the reader written to JSON and read again in between. It must come to the same.
#[track_caller]
pub(in crate::logs) fn pieces<F>(text: &str) -> F
where
    F: Format + Default + Clone + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let (whole, signals) = read::<F>(text);
    let mut reader = F::default();
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
pub(in crate::logs) fn agrees(found: &impl Serialize, expected: &Value, what: &str) {
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
pub(in crate::logs) fn ended(reader: &impl Format) -> Option<(crate::cause::Cause, Option<u16>)> {
    match reader.end() {
        LogEnd::Ended(e) => Some((e.cause, e.http)),
        LogEnd::NoEvidence => None,
        other => panic!("{other:?}"),
    }
}
