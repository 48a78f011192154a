//! Each rule at its edges.

use super::*;
use crate::OtherState;
use crate::evidence::Failure;

fn limits() -> Detect {
    Detect::default()
}

fn turn(parts: Vec<Part>) -> Evidence {
    evidence(State::Absent, vec![prompt("p", 0), answer("a", 1, done(60, "stop"), parts)])
}

fn calls(stands: Stands, n: u64) -> Vec<Part> {
    (0..n).map(|i| call(&format!("c{i}"), 2 + i as i64, stands, i)).collect()
}

fn of<'a>(evidence: &'a Evidence, limits: &'a Detect, seconds: i64) -> Judge<'a> {
    Judge { evidence, limits, since: None, now: Time(T0 + seconds) }
}

#[test]
fn one_call_that_cannot_be_used_is_a_degradation_until_somebody_asks_again() {
    let mut evidence = turn(calls(Stands::Malformed, 1));
    assert_eq!(found(&evidence, &limits(), 100), ["MODEL_DEGRADATION"]);
    let strict = Detect { malformed: 2, ..limits() };
    assert_eq!(found(&evidence, &strict, 100), [""; 0]);
    let rows = evidence.rows.as_mut().unwrap();
    rows.messages.push(prompt("p2", 70));
    rows.messages.push(answer("a2", 71, done(72, "stop"), vec![]));
    assert_eq!(found(&evidence, &limits(), 100), [""; 0]);
}

#[test]
fn what_came_before_the_moment_asked_for_is_not_counted() {
    let evidence = turn(calls(Stands::Malformed, 1));
    let limits = limits();
    let since = |seconds: i64| Judge { since: Some(Time(T0 + seconds)), ..of(&evidence, &limits, 100) };
    assert_eq!(detect(&since(1)).len(), 1);
    assert_eq!(detect(&since(2)).len(), 0);
}

#[test]
fn five_calls_that_failed_lately_are_many() {
    assert_eq!(found(&turn(calls(Stands::Failed, 4)), &limits(), 100), [""; 0]);
    assert_eq!(found(&turn(calls(Stands::Failed, 5)), &limits(), 100), ["HIGH_ERROR_COUNT"]);
    assert_eq!(found(&turn(calls(Stands::Unfit, 5)), &limits(), 100), ["HIGH_ERROR_COUNT"]);
    for other in [Stands::Interrupted, Stands::BadExit, Stands::Done] {
        assert_eq!(found(&turn(calls(other, 7)), &limits(), 100), [""; 0], "{other:?}");
    }
    let strict = Detect { bash_exit: true, ..limits() };
    assert_eq!(found(&turn(calls(Stands::BadExit, 5)), &strict, 100), ["HIGH_ERROR_COUNT"]);
    // Long ago, by the session's own time.
    let mut parts = calls(Stands::Failed, 5);
    parts.push(call("late", 2 + 4 + 301, Stands::Done, 99));
    assert_eq!(found(&turn(parts), &limits(), 400), [""; 0]);
}

#[test]
fn a_stall_needs_the_servers_word_the_models_turn_and_silence() {
    let stalled = evidence(State::Busy, vec![prompt("p", 0), answer("a", 1, open(), vec![])]);
    let silent = Evidence { stream: Stream::Silent, ..stalled.clone() };
    for (what, evidence, seconds, expected) in [
        ("silent", silent.clone(), 61, &["SESSION_STALL"][..]),
        ("not for long", silent.clone(), 60, &[]),
        ("unheard", stalled.clone(), 300, &[]),
        ("unheard for long", stalled.clone(), 301, &["SESSION_STALL"]),
        ("heard", Evidence { stream: Stream::Moves, ..stalled.clone() }, 999, &[]),
        ("retries", Evidence { server: retry(1), ..silent.clone() }, 999, &[]),
        ("new word", Evidence { server: other(), ..silent.clone() }, 999, &[]),
        ("in the future", silent.clone(), -500, &[]),
    ] {
        assert_eq!(found(&evidence, &limits(), seconds), expected, "{what}");
    }
    // The tool runs, and may.
    let runs = |stands| {
        let mut evidence = silent.clone();
        evidence.rows.as_mut().unwrap().messages[1].parts = vec![call("c", 2, stands, 1)];
        evidence
    };
    assert_eq!(found(&runs(Stands::Open), &limits(), 500), [""; 0]);
    assert_eq!(found(&runs(Stands::Done), &limits(), 500), ["SESSION_STALL"]);
    // No tool of any agent runs for a day: as the health check has it.
    assert_eq!(found(&runs(Stands::Open), &limits(), 90_000), ["SESSION_STALL", "TOOL_LONG"]);
}

fn other() -> State {
    State::Other(OtherState { word: "image_processing".into() })
}

fn retry(attempt: u32) -> State {
    State::Retry { attempt, message: "overloaded".into(), next: 0 }
}

#[test]
fn a_tool_may_run_as_long_as_its_call_says() {
    let mut evidence = evidence(
        State::Busy,
        vec![prompt("p", 0), answer("a", 1, open(), vec![call("c", 0, Stands::Open, 1)])],
    );
    assert_eq!(found(&evidence, &limits(), 600), [""; 0]);
    assert_eq!(found(&evidence, &limits(), 601), ["TOOL_LONG"]);
    if let What::Tool(call) = &mut evidence.rows.as_mut().unwrap().messages[1].parts[0].what {
        call.allowed = Some(1_200_000);
    }
    assert_eq!(found(&evidence, &limits(), 1_200), [""; 0]);
    assert_eq!(found(&evidence, &limits(), 1_201), ["TOOL_LONG"]);
    // Whether it waits for a person is not known.
    evidence.gates = None;
    assert_eq!(found(&evidence, &limits(), 9_999), [""; 0]);
}

#[test]
fn a_question_counts_while_its_call_runs() {
    let asks = |stands, open: bool| {
        let part = call("c", 0, stands, 1);
        let says = if open { self::open() } else { done(5, "stop") };
        let mut e = evidence(State::Busy, vec![prompt("p", 0), answer("a", 1, says, vec![part])]);
        e.gates = Some(vec![gate("call_c")]);
        e
    };
    assert_eq!(found(&asks(Stands::Open, true), &limits(), 300), [""; 0]);
    assert_eq!(found(&asks(Stands::Open, true), &limits(), 301), ["WAITING_HUMAN"]);
    // It is not a tool that runs too long, nor a stall: a person may take a night.
    assert_eq!(found(&asks(Stands::Open, true), &limits(), 80_000), ["WAITING_HUMAN"]);
    // The entry is left over from a call that was stopped.
    let stale = Evidence { server: State::Absent, ..asks(Stands::Interrupted, false) };
    assert_eq!(found(&stale, &limits(), 301), [""; 0]);
}

#[test]
fn an_open_answer_that_no_server_knows_of_is_orphaned() {
    let open = evidence(State::Absent, vec![prompt("p", 0), answer("a", 1, open(), vec![])]);
    assert_eq!(found(&open, &limits(), 16), [""; 0]);
    assert_eq!(found(&open, &limits(), 17), ["SESSION_ORPHANED"]);
    for server in [State::Busy, retry(1), other()] {
        assert_eq!(found(&Evidence { server, ..open.clone() }, &limits(), 17), [""; 0]);
    }
    // A newer one was answered.
    let mut later = open.clone();
    later
        .rows
        .as_mut()
        .unwrap()
        .messages
        .extend([prompt("p2", 20), answer("a2", 21, done(22, "stop"), vec![])]);
    assert_eq!(found(&later, &limits(), 400), [""; 0]);
}

#[test]
fn a_prompt_that_nobody_took_up_is_told_of() {
    let note = |id: &str, seconds| message(id, seconds, From::Note { wants_answer: false }, vec![]);
    let own = |id: &str, seconds| message(id, seconds, From::Note { wants_answer: true }, vec![]);
    let finished = || answer("a", 1, done(2, "stop"), vec![]);
    for (what, messages, expected) in [
        ("answered", vec![prompt("p", 0), finished()], &[][..]),
        ("not answered", vec![prompt("p", 0), finished(), prompt("p2", 3)], &["PROMPT_UNANSWERED"]),
        ("the first one", vec![prompt("p", 3)], &["PROMPT_UNANSWERED"]),
        ("a note", vec![prompt("p", 0), finished(), note("n", 3)], &[]),
        ("only notes", vec![note("n", 0)], &[]),
        ("a note behind it", vec![prompt("p", 3), note("n", 4)], &["PROMPT_UNANSWERED"]),
        ("the agent's own", vec![prompt("p", 0), finished(), own("n", 3)], &["PROMPT_UNANSWERED"]),
        ("nothing at all", vec![], &[]),
    ] {
        let evidence = evidence(State::Absent, messages);
        assert_eq!(found(&evidence, &limits(), 64), expected, "{what}");
        assert_eq!(found(&evidence, &limits(), 63), [""; 0], "{what}");
    }
}

#[test]
fn a_provider_presses_from_the_third_repetition_on_or_when_it_said_so_last() {
    let waits = |n| evidence(retry(n), vec![prompt("p", 0), answer("a", 1, open(), vec![])]);
    assert_eq!(found(&waits(2), &limits(), 100), [""; 0]);
    assert_eq!(found(&waits(3), &limits(), 100), ["PROVIDER_PRESSURE"]);
    // The server says so; no row is needed for it.
    let blind = Evidence { rows: Err("busy".into()), ..waits(3) };
    assert_eq!(found(&blind, &limits(), 100), ["PROVIDER_PRESSURE", "NO_VERDICT"]);
    for (status, is_retryable, expected) in [
        (Some(429), true, &["PROVIDER_PRESSURE"][..]),
        (Some(503), true, &["PROVIDER_PRESSURE"]),
        (Some(529), true, &["PROVIDER_PRESSURE"]),
        (Some(500), true, &[]),
        (Some(401), false, &["CREDENTIAL"]),
        (Some(403), false, &["CREDENTIAL"]),
        (Some(401), true, &[]),
        (Some(404), false, &[]),
        (None, false, &[]),
    ] {
        let failure = Some(Failure { status, is_retryable, said: "APIError: no".into() });
        let failed = Answer { completed: Some(at(9)), failure, ..open() };
        let mut evidence = evidence(State::Absent, vec![prompt("p", 0), answer("a", 1, failed, vec![])]);
        assert_eq!(found(&evidence, &limits(), 30), expected, "{status:?} {is_retryable}");
        // There was a prompt since.
        evidence.rows.as_mut().unwrap().messages.push(prompt("p2", 20));
        assert_eq!(found(&evidence, &limits(), 30), [""; 0], "{status:?} asked again");
    }
}

#[test]
fn a_runaway_is_known_by_any_of_three_signs() {
    let answers = |n: i64, finish: &str| {
        let mut all = vec![prompt("p", 0)];
        all.extend((0..n).map(|i| answer(&format!("a{i}"), i, done(i, finish), vec![])));
        all
    };
    let judged = |messages| found(&evidence(State::Absent, messages), &limits(), 40);
    assert_eq!(judged(answers(2, "unknown")), [""; 0]);
    assert_eq!(judged(answers(3, "unknown")), ["RUNAWAY"]);
    let mut better = answers(3, "unknown");
    better.extend((10..20).map(|i| answer(&format!("b{i}"), i, done(i, "stop"), vec![])));
    assert_eq!(judged(better), [""; 0], "its last ten are well");

    let compaction =
        |i: i64, is_auto| Part { id: format!("k{i}"), at: at(i), what: What::Compaction { is_auto } };
    let compacted = |times: &[i64], is_auto| {
        let own = From::Note { wants_answer: true };
        let mut all = vec![prompt("p", 0)];
        for (n, i) in times.iter().enumerate() {
            all.push(message(&format!("k{n}"), *i, own.clone(), vec![compaction(*i, is_auto)]));
            all.push(answer(&format!("a{n}"), *i, done(*i, "stop"), vec![]));
        }
        found(&evidence(State::Absent, all), &limits(), 4_000)
    };
    assert_eq!(compacted(&[1, 2], true), [""; 0]);
    assert_eq!(compacted(&[1, 2, 3], true), ["RUNAWAY"]);
    assert_eq!(compacted(&[1, 2, 3], false), [""; 0], "somebody asked for them");
    assert_eq!(compacted(&[1, 2, 603], true), [""; 0], "not within ten minutes");

    let same = |marks: &[u64]| {
        let calls = marks.iter().enumerate();
        let parts = calls.map(|(i, mark)| call(&format!("c{i}"), i as i64, Stands::Done, *mark)).collect();
        found(&turn(parts), &limits(), 100)
    };
    assert_eq!(same(&[7, 7, 7, 7]), [""; 0]);
    assert_eq!(same(&[7, 7, 7, 7, 7]), ["RUNAWAY"]);
    assert_eq!(same(&[1, 7, 2, 7, 3, 7, 7, 7]), ["RUNAWAY"]);
    assert_eq!(same(&[7, 7, 7, 7, 7, 1, 2, 3, 4]), [""; 0], "four of the last eight");

    let answered = |prints: &[Option<u64>]| {
        let with = |(i, print): (usize, &Option<u64>)| {
            let mut part = call(&format!("c{i}"), i as i64, Stands::Done, 7);
            if let What::Tool(call) = &mut part.what {
                call.print = *print;
            }
            part
        };
        found(&turn(prints.iter().enumerate().map(with).collect()), &limits(), 100)
    };
    assert_eq!(answered(&[1, 2, 3, 4, 5, 6, 7, 8].map(Some)), [""; 0], "a look at what goes on");
    assert_eq!(answered(&[1, 2, 1, 2, 1, 2, 1, 2].map(Some)), [""; 0], "four with each answer");
    assert_eq!(answered(&[1, 2, 1, 2, 1, 1, 1].map(Some)), ["RUNAWAY"]);
    assert_eq!(answered(&[Some(1), Some(1), Some(1), Some(2), None, None]), ["RUNAWAY"], "two without one");
    assert_eq!(answered(&[Some(1), Some(2), Some(3), None, None, None]), [""; 0]);
}

#[test]
fn what_a_provider_says_is_quoted_and_not_obeyed() {
    let said = format!("\u{1b}[2Jsk-{} {}", "a1B2c3D4".repeat(6), "x".repeat(5_000));
    let evidence = evidence(State::Retry { attempt: 9, message: said, next: 0 }, vec![]);
    let limits = limits();
    let issues = detect(&of(&evidence, &limits, 0));
    assert!(issues[0].said.len() < 300, "{}", issues[0].said);
    assert!(!issues[0].said.contains("a1B2c3D4") && !issues[0].said.contains('\u{1b}'), "{}", issues[0].said);
}

#[test]
fn a_session_is_at_work_only_by_its_servers_word() {
    let works = |evidence: &Evidence, seconds| of(evidence, &Detect::default(), seconds).is_at_work();
    let asked = evidence(State::Busy, vec![prompt("p", 0), answer("a", 1, open(), vec![])]);
    assert!(works(&asked, 100));
    assert!(!works(&asked, 301), "stalled");
    let runs = evidence(
        State::Busy,
        vec![prompt("p", 0), answer("a", 1, open(), vec![call("c", 2, Stands::Open, 1)])],
    );
    assert!(works(&runs, 2_400), "a test suite of forty minutes");
    assert!(works(&Evidence { server: retry(5), ..asked.clone() }, 9_999));
    for server in [State::Absent, other(), State::Unreachable { why: "refused".into() }] {
        assert!(!works(&Evidence { server, ..asked.clone() }, 10));
    }
    assert!(!works(&Evidence { rows: Err("busy".into()), ..asked }, 10));
}
