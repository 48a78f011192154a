//! `watchbill match` shows what is read out of a log.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Ran, program, ran};

fn recording(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn matched(args: &[&str]) -> Ran {
    ran(Command::new(program("watchbill")).arg("match").args(args))
}

fn of(name: &str, more: &[&str]) -> Value {
    let place = recording(name);
    let mut args = vec!["--json", place.to_str().unwrap()];
    args.extend(more);
    matched(&args).json()
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn formats_are_told_and_ends_are_found() {
    for (name, format, attempts, end) in [
        ("agents/claude/api_429_exhausted.jsonl", "claude", 1, Some("rate_limit")),
        ("agents/claude/api_529_exhausted.jsonl", "claude", 1, Some("overloaded")),
        ("agents/claude/auth_401.jsonl", "claude", 1, Some("credential")),
        ("agents/claude/connection_refused.jsonl", "claude", 1, Some("connection_refused")),
        ("agents/claude/prompt_too_long_400.jsonl", "claude", 1, Some("unknown")),
        ("agents/claude/stream_cut_midmessage.jsonl", "claude", 1, None),
        ("agents/claude/tools_errors_then_compact_resume.jsonl", "claude", 3, None),
        ("agents/codex/429_turn_failed.jsonl", "codex", 1, Some("rate_limit")),
        ("agents/codex/tools_errors_ok.jsonl", "codex", 1, None),
        ("hermes-logs/r429.t_79a491c3.log", "hermes", 4, Some("rate_limit")),
        ("hermes-logs/ok.t_87fada95.log", "hermes", 1, None),
    ] {
        let whole = of(name, &[]);
        assert_eq!(whole["schema"], "watchbill.match/1");
        assert_eq!((&whole["format"], &whole["attempts"]), (&json!(format), &json!(attempts)), "{name}");
        assert_eq!(whole["end"]["cause"].as_str(), end, "{name}");
        let text = fs::read_to_string(recording(name)).unwrap();
        assert_eq!(whole["line_count"], text.lines().count(), "{name}");
        assert_eq!(whole["session"].is_null(), format == "hermes", "{name}");
        assert_eq!(whole["not_understood"], json!([]), "{name}");
    }
}

#[test]
fn every_line_shown_is_where_it_says() {
    for name in ["agents/claude/tools_errors_then_compact_resume.jsonl", "hermes-logs/r429.t_79a491c3.log"] {
        let text = fs::read_to_string(recording(name)).unwrap();
        for extra in [&[][..], &["--all"]] {
            let whole = of(name, extra);
            let lines = whole["lines"].as_array().unwrap();
            assert!(lines.len() >= 6);
            for one in lines {
                let (nth, offset) = (one["line"].as_u64().unwrap(), one["offset"].as_u64().unwrap());
                let before = &text[..usize::try_from(offset).unwrap()];
                assert_eq!(before.matches('\n').count() as u64 + 1, nth, "{name}: {one}");
                assert!(before.is_empty() || before.ends_with('\n'));
            }
        }
        assert_eq!(of(name, &["--all"])["lines"].as_array().unwrap().len(), text.lines().count());
    }
}

#[test]
fn a_session_tells_its_facts() {
    let expected: Value =
        serde_json::from_str(&fs::read_to_string(recording("agents/expected.json")).unwrap()).unwrap();
    for agent in ["claude", "codex"] {
        for (file, facts) in expected[agent].as_object().unwrap() {
            let session = of(&format!("agents/{agent}/{file}"), &[])["session"].clone();
            for (field, want) in facts.as_object().unwrap() {
                let same = match (session[field].as_f64(), want.as_f64()) {
                    (Some(a), Some(b)) => (a - b).abs() < 1e-9,
                    _ => session[field] == *want,
                };
                assert!(same, "{file} {field}: {}, not {want}", session[field]);
            }
        }
    }
}

#[test]
fn words_for_people() {
    let place = recording("agents/claude/api_529_exhausted.jsonl");
    let shown = matched(&[place.to_str().unwrap()]).ok();
    let first = shown.lines().next().unwrap();
    assert!(
        first.starts_with(
            "6 @1541 attempt 1: terminal overloaded, HTTP 529, 127.0.0.1:18992 | API Error: 529"
        )
    );
    for line in ["format: claude", "lines: 7", "end: on line 6, overloaded, HTTP 529, 127.0.0.1:18992"] {
        assert!(shown.lines().any(|l| l == line), "{line}\n{shown}");
    }
}

#[test]
fn another_format_may_be_forced() {
    let dir = scratch();
    let log = dir.path().join("x.log");
    fs::write(&log, "2026-11-21 08:17:34,678 WARNING [s1] agent.x: hello\nHTTP 429: slow down\n").unwrap();
    let forced = matched(&["--json", "--format", "plain", log.to_str().unwrap()]).json();
    assert_eq!((&forced["format"], &forced["format_given"]), (&json!("plain"), &json!(true)));
    assert_eq!(
        forced["end"],
        json!({
            "line": 2, "offset": 52, "cause": "rate_limit", "http": 429, "endpoint": null,
            "at": forced["end"]["at"], "resets": null, "words": "HTTP 429: slow down",
        })
    );
    assert_eq!(matched(&["--format", "syslog", log.to_str().unwrap()]).code, 2);
}

#[test]
fn what_is_not_understood_is_listed() {
    let dir = scratch();
    let log = dir.path().join("x.log");
    let strange = "the gateway reports: rate limit of the moon\u{1b}[31m\n";
    fs::write(&log, format!("begin\n{}", strange.repeat(30))).unwrap();
    let whole = matched(&["--json", log.to_str().unwrap()]).json();
    assert_eq!((&whole["end"], &whole["not_understood_count"]), (&Value::Null, &json!(30)));
    let listed = whole["not_understood"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[19]["line"]), (20, &json!(31)));
    let shown = matched(&[log.to_str().unwrap()]).ok();
    assert!(shown.contains("not understood, though like a failure: 30") && !shown.contains('\u{1b}'));
}

#[test]
fn a_file_that_is_none_is_refused_in_one_line() {
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    symlink(recording("hermes-logs/ok.t_87fada95.log"), path("link")).unwrap();
    assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    for (name, code) in [("none", 66), ("link", 65), ("fifo", 65), (".", 65)] {
        let said = matched(&[path(name).to_str().unwrap()]).fails(code);
        assert!(said.contains(name), "{said}");
        let json = matched(&["--json", path(name).to_str().unwrap()]);
        assert_eq!(json.code, code);
        assert!(serde_json::from_str::<Value>(&json.out).unwrap()["error"].is_string());
    }
    fs::write(path("empty"), "").unwrap();
    let whole = matched(&["--json", path("empty").to_str().unwrap()]).json();
    assert_eq!(
        (&whole["line_count"], &whole["attempts"], &whole["end"]),
        (&json!(0), &json!(0), &Value::Null)
    );
}

#[test]
fn more_lines_than_one_object_holds() {
    let dir = scratch();
    let log = dir.path().join("x.log");
    fs::write(&log, "HTTP 429: slow down\n".repeat(12_000)).unwrap();
    let whole = matched(&["--json", log.to_str().unwrap()]).json();
    assert_eq!((whole["lines"].as_array().unwrap().len(), &whole["lines_left_out"]), (10_000, &json!(2_000)));
    assert_eq!(whole["causes"]["rate_limit"]["terminal"], 12_000);
}

const ACME: &str = "[[match]]
regex = 'ACME-GW: (capacity|slot) limit hit(, back in (?<seconds>[0-9]+) s)?'
cause = 'overloaded'
[[match]]
regex = 'HTTP 429: .* of the moon'
cause = 'quota'
profiles = ['luna']
";

#[test]
fn a_pattern_of_the_user_decides_its_lines_and_is_named() {
    let dir = scratch();
    let (log, config) = (dir.path().join("x.log"), dir.path().join("c.toml"));
    let (log, config) = (log.to_str().unwrap(), config.to_str().unwrap());
    fs::write(log, "begin\nHTTP 429: limit of the moon\nHTTP 503: busy\nACME-GW: capacity limit hit, back in 90 s\nbye\n")
        .unwrap();
    fs::write(config, ACME).unwrap();
    // Without one, nothing is known of it.
    assert_eq!(matched(&["--json", log]).json()["end"]["line"], 3);
    let whole = matched(&["--json", "--explain", "--config", config, log]).json();
    let told: Vec<_> = whole["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| [&l["line"], &l["cause"], &l["http"], &l["rule"]])
        .collect();
    assert_eq!(
        told,
        [
            [&json!(2), &json!("quota"), &json!(429), &json!("match 2")],
            [&json!(3), &json!("overloaded"), &json!(503), &json!("built-in plain")],
            [&json!(4), &json!("overloaded"), &Value::Null, &json!("match 1")],
        ]
    );
    let end = &whole["end"];
    assert_eq!(
        (&end["line"], &end["rule"], &end["cause"]),
        (&json!(4), &json!("match 1"), &json!("overloaded"))
    );
    assert!(end["resets"].is_string(), "{end}");
    assert_eq!(whole["rules_file"], json!(config));
    // The patterns of others do not count.
    let novas = matched(&["--json", "--explain", "--profile", "nova", "--config", config, log]).json();
    assert_eq!(
        (&novas["lines"][0]["cause"], &novas["lines"][0]["rule"]),
        (&json!("rate_limit"), &json!("built-in plain"))
    );
    let shown = matched(&["--explain", "--config", config, log]).ok();
    for line in [
        "end: on line 4, overloaded, resets ",
        "3 @34 attempt 1: terminal overloaded, HTTP 503, by built-in plain | HTTP 503: busy",
    ] {
        assert!(shown.lines().any(|l| l.starts_with(line)), "{line}\n{shown}");
    }
    assert!(shown.contains(", by match 1\n") && shown.contains(&format!("patterns: {config}\n")), "{shown}");
    // It is not asked for: it is not shown.
    let plain = matched(&["--json", "--config", config, log]).json();
    assert_eq!((&plain["end"]["cause"], &plain["end"]["rule"]), (&json!("overloaded"), &Value::Null));
}

#[test]
fn a_pattern_that_is_none_ends_every_program_with_one_line() {
    let dir = scratch();
    let (log, config) = (dir.path().join("x.log"), dir.path().join("c.toml"));
    fs::write(&log, "x\n").unwrap();
    fs::write(&config, format!("{ACME}[[match]]\ncause = 'quota'\nregex = 'limit (?<sec'\n")).unwrap();
    let (log, config) = (log.to_str().unwrap(), config.to_str().unwrap());
    let said = matched(&["--config", config, log]).fails(78);
    assert!(
        said.contains(&format!(
            "{config}:10:9: match 3: regex is not a regular expression at its character 13: "
        )),
        "{said}"
    );
    let said = ran(Command::new(program("heal")).args(["--config", config])).fails(78);
    assert!(said.contains(":10:9: match 3: regex"), "{said}");
}
