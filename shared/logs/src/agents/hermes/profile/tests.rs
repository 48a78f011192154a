use super::*;

const S: &str = "20261121_135756_e65a62";

fn read(log: &str, only: Option<&str>) -> (LogEnd, Vec<Signal>) {
    let mut reader = Reader::new(only).in_zone(3_600);
    let mut out = Vec::new();
    let mut at = 0;
    for text in log.split_inclusive('\n') {
        let line = Line { text: text.trim_end(), offset: at, is_cut: false, seen: Time(5) };
        reader.line(&line, &mut out);
        // The state is all there is between two lines.
        let json = serde_json::to_string(&reader).unwrap();
        assert!(json.len() < 4_096);
        reader = serde_json::from_str(&json).unwrap();
        at += text.len() as u64;
    }
    (reader.end(), out)
}

fn entry(level: &str, session: &str, rest: &str) -> String {
    format!("2026-11-21 08:17:34,678 {level} [{session}] {rest}\n")
}

fn retry(summary: &str) -> String {
    entry(
        "WARNING",
        S,
        &format!(
            "agent.conversation_loop: API call failed (attempt 1/2) error_type=RateLimitError thread=Thread-5 (run_agent):1 provider=custom base_url=http://u:p@127.0.0.1:18733/r429/v1 model=m1 summary={summary}"
        ),
    )
}

fn failed(detail: &str) -> String {
    entry("ERROR", S, &format!("agent.conversation_loop: {detail}"))
}

#[test]
fn a_failure_with_its_time_and_place() {
    let end =
        "API call failed after 2 retries. HTTP 429: Rate limit reached | provider=custom model=m1 msgs=2";
    let log = format!("{}{}", retry("HTTP 429: Rate limit reached"), failed(end));
    let (end, signals) = read(&log, None);
    let LogEnd::Ended(e) = end else { panic!("{end:?}") };
    assert_eq!(
        (e.cause, e.http, e.endpoint_host.as_deref()),
        (Cause::RateLimit, Some(429), Some("127.0.0.1:18733"))
    );
    assert_eq!(e.at, Time::parse("2026-11-21T07:17:34Z"));
    assert_eq!(usize::try_from(e.offset).unwrap(), retry("HTTP 429: Rate limit reached").len());
    assert!(e.words.starts_with("2026-11-21 08:17:34,678 ERROR"));
    let kinds: Vec<_> = signals.iter().map(|s| (s.kind, s.evidence.cause)).collect();
    assert_eq!(kinds, [(SignalKind::Retry, Cause::RateLimit), (SignalKind::Terminal, Cause::RateLimit)]);
}

#[test]
fn what_the_lines_mean() {
    let call = entry("INFO", S, "agent.conversation_loop: API call #2: model=m1 provider=custom in=10");
    for (log, cause) in [
        (failed("Non-retryable client error: Error code: 401 - {'error': {}}"), Some(Cause::Credential)),
        (failed("API call failed after 2 retries. Connection error. | provider=x model=y"), Some(Cause::ConnectionRefused)),
        (failed("API call failed after 2 retries. odd 429 | provider=x"), Some(Cause::Unknown)),
        (failed("Invalid API response after 3 retries."), Some(Cause::MalformedCall)),
        (failed("Turn ended: reason=max_iterations_reached(6/6) model=m1"), Some(Cause::IterationBudget)),
        (failed("Turn ended: reason=text_response(finish_reason=stop) model=m1"), None),
        (format!("{}{call}", failed("API call failed after 2 retries. HTTP 503: x | provider=x")), None),
        (retry("HTTP 503: x"), None),
        (entry("WARNING", S, "tools.x: API call failed after 2 retries. HTTP 429: x | provider=x"), None),
        ("2026-11-21 08:17:34,678 ERROR agent.conversation_loop: API call failed after 2 retries. HTTP 429: x\n".into(), None),
        ("API call failed after 2 retries. HTTP 429: x | provider=x\n".into(), None),
    ] {
        let end = read(&log, None).0;
        let seen = if let LogEnd::Ended(e) = &end { Some(e.cause) } else { None };
        assert_eq!(seen, cause, "{log}");
    }
}

#[test]
fn sessions_are_kept_apart() {
    let other = entry("INFO", "other", "agent.turn_context: conversation turn: session=other");
    let log = format!("{}{other}", failed("API call failed after 2 retries. HTTP 503: x | provider=x"));
    assert_eq!(read(&log, None).0, LogEnd::NoEvidence, "the newest session is another");
    assert!(matches!(read(&log, Some(S)).0, LogEnd::Ended(_)));
    assert_eq!(read(&log, Some("other")), (LogEnd::NoEvidence, vec![]));
}

#[test]
fn a_stated_time_that_does_not_exist_is_the_time_it_was_seen() {
    let reader = Reader::new(None).in_zone(1 << 30);
    let stated = NaiveDateTime::parse_from_str("2026-11-21 08:00:00", "%Y-%m-%d %H:%M:%S").unwrap();
    assert_eq!(reader.time(stated, Time(5)), None);
    assert_eq!(Reader::new(None).in_zone(-3_600).time(stated, Time(5)), Time::parse("2026-11-21T09:00:00Z"));
}

#[test]
fn a_worker_that_waits_by_itself_says_until_when() {
    let begins =
        entry("INFO", S, "agent.turn_context: conversation turn: session=x msg='work kanban task t_1'");
    let cycle = entry(
        "WARNING",
        S,
        "agent.conversation_loop: Provider unavailable (overloaded) — auto-recovery cycle 3/5, retrying in 69s thread=x",
    );
    let turn = |task: &str| {
        format!(
            "2026-11-21 08:18:34,678 WARNING agent.kanban_turn_recovery: [kanban] provider failure on {task} — retrying the \
             turn in place (attempt 1/3) after 15s; session context preserved\n"
        )
    };
    let at = |text: &str| Some(Time::parse(text).unwrap());
    for (log, until) in [
        (begins.clone(), None),
        (format!("{begins}{cycle}"), at("2026-11-21T08:18:43+01:00")),
        (format!("{begins}{cycle}{}", turn("t_1")), at("2026-11-21T08:18:49+01:00")),
        (format!("{begins}{cycle}{}", turn("t_12")), at("2026-11-21T08:18:43+01:00")),
        (format!("{begins}{}", cycle.replace("69s", "99999s")), None),
    ] {
        let mut reader = Reader::of_task("t_1").in_zone(3_600);
        for text in log.lines() {
            reader.line(&Line { text, offset: 0, is_cut: false, seen: Time(5) }, &mut Vec::new());
        }
        assert_eq!(reader.waits(), until, "{log}");
    }
}

/// A night in Berlin: at 03:00 (01:00Z) the clock is set back to 02:00.
#[test]
fn lines_of_the_hour_that_comes_twice() {
    let utc = |text: &str| Time::parse(&format!("2026-10-25T{text}Z")).unwrap();
    let read = |lines: &[(&str, &str)]| -> Vec<Time> {
        let mut above = None;
        let of_one = |(wall, seen): &(&str, &str)| {
            let stated = NaiveDateTime::parse_from_str(&format!("2026-10-25 {wall}"), "%Y-%m-%d %H:%M:%S");
            let readings =
                chrono_tz::Europe::Berlin.from_local_datetime(&stated.unwrap()).map(|at| at.timestamp());
            let seen = utc(seen);
            let at = one_of(readings, |a, b| is_after_the_change(Time(a), Time(b), above, seen)).map(Time);
            above = at;
            at.unwrap()
        };
        lines.iter().map(of_one).collect()
    };
    // Each line is seen by a pass within minutes, whatever stands above it.
    for (wall, seen, want) in [
        ("01:59:59", "00:01:00", "23:59:59"),
        ("02:00:00", "00:01:00", "00:00:00"),
        ("02:10:00", "00:10:00", "00:10:00"),
        ("02:10:00", "01:09:57", "00:10:00"),
        ("02:10:00", "01:09:58", "01:10:00"),
        ("02:10:00", "01:10:30", "01:10:00"),
        ("02:59:59", "01:02:00", "00:59:59"),
        ("02:59:59", "02:02:00", "01:59:59"),
        ("03:00:00", "02:02:00", "02:00:00"),
    ] {
        let want = if want.starts_with("23") { utc(want).plus(-86_400) } else { utc(want) };
        assert_eq!(read(&[(wall, seen)]), [want], "{wall} {seen}");
    }
    // Seen in the morning, the order of the lines tells: a local time that goes back is the second one, and what follows is, too.
    let at_eight = |wall| (wall, "07:00:00");
    assert_eq!(
        read(&["02:20:00", "02:50:00", "02:49:55", "02:05:00", "02:40:00", "03:01:00"].map(at_eight)),
        ["00:20:00", "00:50:00", "00:49:55", "01:05:00", "01:40:00", "02:01:00"].map(utc)
    );
    // A night without a change of the clock, and a time that never comes.
    let at = |wall: &str| {
        let stated = NaiveDateTime::parse_from_str(wall, "%Y-%m-%d %H:%M:%S").unwrap();
        let readings = chrono_tz::Europe::Berlin.from_local_datetime(&stated).map(|at| at.timestamp());
        one_of(readings, |_, _| true).map(Time)
    };
    assert_eq!(at("2026-10-24 02:10:00"), Time::parse("2026-10-24T00:10:00Z"));
    assert_eq!(at("2026-03-29 02:10:00"), None);
}
