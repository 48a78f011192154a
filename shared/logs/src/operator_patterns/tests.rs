use super::*;
use crate::cache::Cache;
use crate::file::{Ask, Of, read_taught};
use crate::plain;

const SEEN: Time = Time(1_795_300_000);

fn keys(regex: &str, cause: Cause) -> MatchKeys {
    MatchKeys {
        regex: regex.to_owned(),
        cause,
        logs: vec!["plain".to_owned(), "hermes".to_owned(), "profile".to_owned()],
        profiles: Vec::new(),
        place: MatchPlace::End,
    }
}

fn acme() -> MatchKeys {
    keys("ACME-GW: capacity limit hit(, back in (?<seconds>[0-9]+) s)?", Cause::Overloaded)
}

/// Cause, status and reset of an end, and the pattern that says so.
type Ended = (Cause, Option<u16>, Option<Time>, Option<usize>);

/// How a plain log ends by these patterns, and which of them says so.
fn ended(all: &[MatchKeys], text: &str) -> Option<Ended> {
    let patterns = Patterns::of(all);
    let (mut reader, mut taught) = (Reader::Plain(plain::Reader::new()), Taught::default());
    let (mut offset, mut out) = (0, Vec::new());
    for text in text.lines() {
        let line = Line { text, offset, is_cut: false, seen: SEEN };
        reader.line(&line, &mut out);
        taught.line(&line, &reader, patterns.of_any_profile());
        offset += text.len() as u64 + 1;
    }
    match taught.end(reader.end(), reader.attempt()) {
        (LogEnd::Ended(e), rule) => Some((e.cause, e.http, e.resets, rule)),
        _ => None,
    }
}

#[test]
fn a_pattern_says_what_no_built_in_rule_does() {
    let end = |text: &str| ended(&[acme()], text);
    assert_eq!(ended(&[], "ACME-GW: capacity limit hit\n"), None);
    assert_eq!(end("ACME-GW: capacity limit hit\n"), Some((Cause::Overloaded, None, None, Some(1))));
    let coloured = "work\n\u{1b}[31m[gw] ACME-GW: \u{1b}[0mcapacity limit hit, back in 90 s\nbye\n";
    assert_eq!(end(coloured), Some((Cause::Overloaded, None, Some(SEEN.plus(90)), Some(1))));
    assert_eq!(end(&format!("ACME-GW: capacity limit hit\n{}", "work\n".repeat(4))), None);
    assert_eq!(end("acme-gw: capacity limit hit\n"), None);
}

#[test]
fn a_pattern_goes_before_the_built_in_rules_on_its_lines_alone() {
    let own = [keys("HTTP 429: .*acme", Cause::Quota)];
    let rate = Some((Cause::RateLimit, Some(429), None, None));
    let quota = Some((Cause::Quota, Some(429), None, Some(1)));
    assert_eq!(ended(&own, "HTTP 429: by acme\n"), quota);
    assert_eq!(ended(&own, "HTTP 429: by others\n"), rate);
    // The newest line counts.
    assert_eq!(ended(&own, "HTTP 429: by acme\nHTTP 429: by others\n"), rate);
    assert_eq!(ended(&own, "HTTP 429: by others\nHTTP 429: by acme\n"), quota);
    // Of two patterns the first.
    let two = [keys("429", Cause::Overloaded), keys("HTTP 429", Cause::Quota)];
    assert_eq!(ended(&two, "HTTP 429: x\n").map(|e| e.3), Some(Some(1)));
}

#[test]
fn groups_say_when_a_limit_ends() {
    let resets = |regex: &str, text: &str| ended(&[keys(regex, Cause::Credential)], text).unwrap().2;
    assert_eq!(resets("wait (?<seconds>[0-9.]+)", "wait 1.5 please"), Some(SEEN.plus(2)));
    assert_eq!(resets("until (?<epoch>[0-9]+)", "until 1795300600"), Some(Time(1_795_300_600)));
    assert_eq!(resets("until (?<epoch>[0-9]+)", "until 1795300600000"), Some(Time(1_795_300_600)));
    assert_eq!(
        resets("back (?<time>.+)!", "back 2026-11-22T10:00:00Z!"),
        Some(Time::parse("2026-11-22T10:00:00Z").unwrap())
    );
    // A moment in the past or too far off does not count.
    for text in ["until 1795200000", "until 1995300600", "until 99999999999999999999"] {
        assert_eq!(resets("until (?<epoch>[0-9]+)", text), None, "{text}");
    }
    assert_eq!(resets("wait (?<seconds>[0-9]+)?", "wait for it"), None);
}

#[test]
fn a_place_and_a_kind_of_log_are_kept_to() {
    let anywhere = MatchKeys { place: MatchPlace::Anywhere, ..acme() };
    let long = format!("ACME-GW: capacity limit hit\n{}", "work\n".repeat(99));
    assert_eq!(ended(&[anywhere], &long).map(|e| e.0), Some(Cause::Overloaded));
    let elsewhere = MatchKeys { logs: vec!["hermes".to_owned()], ..acme() };
    assert_eq!(ended(&[elsewhere], "ACME-GW: capacity limit hit\n"), None);
}

#[test]
fn files_are_read_with_the_patterns_of_their_profile_and_again_when_those_change() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("x.log");
    std::fs::write(&log, "work\nACME-GW: capacity limit hit\nexit status 1\n").unwrap();
    let ask = Ask { path: &log, of: Of::Named, since: Time(0), now: Time(4_000_000_000) };
    let mut cache = Cache::in_memory();
    let mut cause = |all: &[MatchKeys], profile: Option<&str>| {
        let reading = read_taught(&ask, Patterns::of(all).of_profile(profile), &mut cache);
        let kinds: Vec<_> = reading.signals.iter().map(|s| (s.kind, s.evidence.cause)).collect();
        match reading.end {
            LogEnd::Ended(e) => {
                assert_eq!(kinds, [(SignalKind::Terminal, e.cause)]);
                Some(e.cause)
            }
            _ => None,
        }
    };
    assert_eq!(cause(&[], None), None);
    assert_eq!(cause(&[acme()], None), Some(Cause::Overloaded));
    assert_eq!(cause(&[MatchKeys { cause: Cause::Quota, ..acme() }], None), Some(Cause::Quota));
    let lunas = MatchKeys { profiles: vec!["luna".to_owned()], ..acme() };
    assert_eq!(cause(std::slice::from_ref(&lunas), Some("nova")), None);
    assert_eq!(cause(std::slice::from_ref(&lunas), None), None);
    assert_eq!(cause(&[lunas], Some("luna")), Some(Cause::Overloaded));
    assert_eq!(cause(&[], None), None);
}

#[test]
fn a_log_that_grows_is_read_on() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("x.log");
    let patterns = Patterns::of(&[acme()]);
    let mut cache = Cache::in_memory();
    let mut text = String::new();
    // What has no time of its own has that of the log as it was first read: both readings must find one.
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_800_000_000);
    for (more, want) in [
        ("work\n", false),
        ("ACME-GW: capa", false),
        ("city limit hit\n", true),
        ("a\nb\n", true),
        ("c\nd\n", false),
    ] {
        text += more;
        std::fs::write(&log, &text).unwrap();
        std::fs::File::options().write(true).open(&log).unwrap().set_modified(at).unwrap();
        let ask = Ask { path: &log, of: Of::Named, since: Time(0), now: Time(4_000_000_000) };
        let on = read_taught(&ask, patterns.of_profile(None), &mut cache);
        let anew = read_taught(&ask, patterns.of_profile(None), &mut Cache::in_memory());
        assert_eq!((matches!(on.end, LogEnd::Ended(_)), on.end == anew.end), (want, true), "{text}");
    }
}

#[test]
fn other_sessions_of_a_profile_are_none_of_it() {
    let patterns = Patterns::of(&[acme()]);
    let mut reader = Reader::Profile(crate::profile::Reader::new(Some("s1")));
    let mut taught = Taught::default();
    let mut line = |session: &str| {
        let text = format!("2026-11-21 08:17:34,678 ERROR [{session}] gw: ACME-GW: capacity limit hit");
        let line = Line { text: &text, offset: 0, is_cut: false, seen: SEEN };
        reader.line(&line, &mut Vec::new());
        taught.line(&line, &reader, patterns.of_any_profile()).is_some()
    };
    assert!(line("s1"));
    assert!(!line("s2"));
}
