//! What scripts and boards depend on stays: every word of the first version (commit 671e248, read from its manual pages, sample
//! configuration, `docs/json.md`, `docs/doctor.md` and sources) is still understood or written.

use std::process::Command;

use serde_json::Value;
use shared::board::{EventKind, Rule, StepAction};

use super::{place, text};
use crate::support::{program, ran};

/// A field that is gone on purpose.
const GONE: [&str; 1] = [
    // Of the overview: what needs a person is one list for all programs, `needs_you`.
    "people",
];

fn first() -> Value {
    serde_json::from_str(&text("tests/fixtures/first-vocabulary.json")).unwrap()
}

fn words<'a>(of: &'a Value, list: &str) -> Vec<&'a str> {
    let all: Vec<&str> = of[list].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert!(!all.is_empty(), "{list}");
    all
}

#[test]
fn every_flag_of_the_first_version_is_still_read() {
    let first = first();
    for (command, of) in first["commands"].as_object().unwrap() {
        let mut parts = command.split(' ');
        let (name, sub) = (parts.next().unwrap(), parts.next());
        for flag in words(of, "flags").into_iter().filter(|flag| !["--help", "--version"].contains(flag)) {
            // The flag that does not exist keeps the command from being run.
            let mut asked = Command::new(program(name));
            let said = ran(asked.env("HOME", "/nonexistent").args(sub).args([flag, "--no-such-flag"]));
            let why = &said.err;
            assert!(!why.contains(&format!("unexpected argument '{flag}'")), "{command} {flag}: {said:?}");
            let is_refused = why.contains("--no-such-flag") || why.contains(&format!("'{flag}"));
            assert!([2, 3].contains(&said.code) && is_refused, "{command} {flag}: {said:?}");
        }
    }
}

#[test]
fn every_exit_code_of_the_first_version_means_something() {
    let first = first();
    let mut seen = 0;
    for (command, of) in first["commands"].as_object().unwrap() {
        let page = std::fs::read_to_string(place(&format!("contrib/man/{}.1", command.replace(' ', "-"))))
            .unwrap_or_else(|e| panic!("{command}: {e}"));
        let codes = page.split("Exit codes:").nth(1).unwrap_or_default();
        for code in of["exit_codes"].as_array().unwrap() {
            let is_there = codes.lines().any(|line| line.trim_start().starts_with(&format!("{code}  ")));
            assert!(is_there, "{command}: {code} in {codes}");
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn every_configuration_key_of_the_first_version_is_still_one() {
    let sample = text("contrib/watchbill.toml");
    let mut section = String::new();
    let mut keys = Vec::new();
    for line in sample.lines().map(|line| line.trim_start_matches('#').trim_start()) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.split(']').next()) {
            section = name.to_owned();
        } else if let Some((key, _)) = line.split_once('=') {
            keys.push(format!("{section}.{}", key.trim()));
        }
    }
    for key in words(&first(), "config") {
        assert!(keys.iter().any(|k| k == key), "{key}");
    }
}

#[test]
fn every_event_action_and_rule_of_the_first_version_is_still_one() {
    let first = first();
    for kind in words(&first, "event_kinds") {
        assert!(!matches!(EventKind::from(kind), EventKind::Other(_)), "event kind {kind}");
    }
    for action in words(&first, "actions") {
        assert!(!matches!(StepAction::from(action), StepAction::Other(_)), "action {action}");
    }
    for case in words(&first, "cases") {
        assert!(!matches!(Rule::from(case), Rule::Other(_)), "case {case}");
    }
}

#[test]
fn every_field_and_finding_of_the_first_version_is_still_documented() {
    let first = first();
    let doctor = text("docs/doctor.md");
    for id in words(&first, "doctor") {
        assert!(doctor.lines().any(|line| line.starts_with(&format!("| `{id}` |"))), "doctor: {id}");
    }
    let pages = ["json", "status", "check", "report", "why", "page", "undo", "replay", "doctor"];
    let pages: String = pages.iter().map(|page| text(&format!("docs/{page}.md"))).collect();
    for field in words(&first, "json").into_iter().filter(|field| !GONE.contains(field)) {
        assert!(pages.contains(&format!("`{field}`")), "JSON field {field}");
    }
    assert!(GONE.iter().all(|field| !pages.contains(&format!("| `{field}` |"))), "{GONE:?} is back");
}
