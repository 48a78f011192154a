//! What each check finds, and what it does not.

use super::*;
use crate::usage::Tokens;
use crate::vitals::{Pace, Repeat, Slice, Turn};
use base::money::Money;

const NOW: Time = Time(1_800_000_000);

fn detect() -> Detect {
    Detect::default()
}

/// A worker that does well: it wrote something a second ago.
fn well() -> Vitals {
    Vitals {
        turn: Turn::Model,
        began: Some(NOW.plus(-3_600)),
        active: Some(NOW.plus(-1)),
        context: Some(20_000),
        window: Some(200_000),
        tokens: Some(Tokens { input: 1_000, cache_write: 9_000, cache_read: 90_000, output: 1_000 }),
        cost: Some(Money(500_000_000)),
        turns: Some(20),
        calls: Some(40),
        errors: Some(1),
        malformed: Some(0),
        edits: Some(4),
        ..Vitals::default()
    }
}

/// Names and severities, worst first.
fn found(v: &Vitals) -> Vec<(&'static str, Severity)> {
    alerts(v, &detect(), NOW).iter().map(|a| (a.check.as_str(), a.severity)).collect()
}

fn names(v: &Vitals) -> Vec<&'static str> {
    found(v).into_iter().map(|(name, _)| name).collect()
}

fn slice(ago: i64, calls: u64, errors: u64, cents: u64) -> Slice {
    let cost = Some(Money(cents * 10_000_000));
    Slice { from: NOW.plus(-ago), seconds: 10, calls, errors, tokens: Tokens::default(), cost }
}

#[test]
fn names_are_those_of_claudectl_and_go_both_ways() {
    assert_eq!(
        Check::ALL.map(Check::as_str),
        [
            "Stalled",
            "Loop detected",
            "Repetition",
            "Error acceleration",
            "Cost spike",
            "Context saturation",
            "Cognitive decay",
            "Low cache",
            "Consider compact",
            "Token efficiency",
            "MODEL_DEGRADATION",
            "HIGH_ERROR_COUNT",
            "SESSION_STALL",
        ]
    );
    for check in Check::ALL {
        assert_eq!(Check::named(check.as_str()), Some(check));
        assert_eq!(serde_json::to_value(check).unwrap(), check.as_str());
        assert!(!super::rule(check, &detect()).is_empty());
    }
    assert_eq!(Check::named("stalled"), None);
    let acting: Vec<_> = Check::ALL.into_iter().filter(|c| c.default_action() != Action::Ignore).collect();
    assert_eq!(
        acting,
        [Check::Stalled, Check::LoopDetected, Check::Repetition, Check::ErrorAcceleration],
        "claudectl's table"
    );
}

#[test]
fn a_worker_that_does_well_is_not_spoken_of() {
    assert_eq!(found(&well()), []);
    assert_eq!(found(&Vitals::default()), []);
    assert_eq!(found(&Vitals { turn: Turn::Model, active: None, ..well() }), [], "no time is no silence");
}

#[test]
fn silence_counts_only_on_the_models_turn() {
    let quiet =
        |turn: Turn, seconds: i64| names(&Vitals { turn, active: Some(NOW.plus(-seconds)), ..well() });
    for turn in [Turn::Model, Turn::Stream] {
        assert_eq!(quiet(turn, 59), [""; 0]);
        assert_eq!(quiet(turn, 60), ["SESSION_STALL"]);
        assert_eq!(quiet(turn, 1_799), ["SESSION_STALL"]);
        assert_eq!(quiet(turn, 1_800), ["Stalled", "SESSION_STALL"]);
    }
    let since = NOW.plus(-7_200);
    for turn in [Turn::Tool { since }, Turn::Person { since }, Turn::Over, Turn::Unknown] {
        assert_eq!(quiet(turn, 7_200), [""; 0], "{turn:?}");
    }
    let days = |days: i64| quiet(Turn::Tool { since: NOW.plus(-days * 86_400) }, days * 86_400);
    assert_eq!((days(1), days(2)), (vec![], vec!["Stalled", "SESSION_STALL"]));
    assert_eq!(quiet(Turn::Person { since: NOW.plus(-900_000) }, 900_000), [""; 0], "a person may take days");
    // Written by a clock that is ahead of this one.
    assert_eq!(quiet(Turn::Model, -5_000), [""; 0]);
}

#[test]
fn a_loop_is_ten_equal_failing_calls() {
    let run = |times| Vitals { failing: Some(Repeat { times, call: "Bash: make".into() }), ..well() };
    assert_eq!((names(&run(9)), names(&run(10))), (vec![], vec!["Loop detected"]));
    assert_eq!(alerts(&run(12), &detect(), NOW)[0].said, "failed 12 times in a row: Bash: make");
    let strict = Detect { loop_calls: 3, ..detect() };
    assert_eq!(alerts(&run(3), &strict, NOW).len(), 1);
}

#[test]
fn a_repetition_is_one_question_asked_three_times() {
    let again = |times| Vitals { asked_again: Some(Repeat { times, call: "Read: /a".into() }), ..well() };
    assert_eq!((names(&again(2)), names(&again(3))), (vec![], vec!["Repetition"]));
}

#[test]
fn errors_accelerate_by_their_share() {
    // (calls, errors) before and now.
    let errors = |before: (u64, u64), now: (u64, u64)| {
        let slices = vec![slice(3_000, before.0, before.1, 0), slice(20, now.0, now.1, 0)];
        names(&Vitals { slices, errors: Some(0), ..well() }).contains(&"Error acceleration")
    };
    for (before, now, is) in [
        ((20, 0), (8, 5), true),
        ((20, 0), (10, 5), false), // half of them is what debugging looks like
        ((20, 0), (8, 4), false),  // too few to tell
        ((9, 0), (8, 8), false),   // too little before
        ((20, 8), (10, 8), false), // 80 %, after 40 %
        ((20, 8), (10, 9), true),
        ((20, 20), (10, 10), false),
        ((1_000, 10), (6, 6), true),
    ] {
        assert_eq!(errors(before, now), is, "{before:?} {now:?}");
    }
    // All errors at once do not count as an acceleration.
    let once = Vitals { slices: vec![slice(20, 40, 39, 0)], ..well() };
    assert!(!names(&once).contains(&"Error acceleration"));
    assert!(names(&once).contains(&"HIGH_ERROR_COUNT"));
}

#[test]
fn costs_spike_against_what_as_much_work_cost_before() {
    let spike = |cost: u64, slices: Vec<Slice>| {
        let v = Vitals { slices, cost: Some(Money(cost * 10_000_000)), ..well() };
        found(&v).into_iter().find(|(name, _)| *name == "Cost spike").map(|(_, severity)| severity)
    };
    let before = || vec![slice(3_000, 1, 0, 10), slice(2_000, 1, 0, 10), slice(1_000, 1, 0, 10)];
    let with = |cents| [before(), vec![slice(20, 1, 0, cents)]].concat();
    assert_eq!(spike(200, with(25)), None);
    assert_eq!(spike(200, with(26)), Some(Severity::Warning));
    assert_eq!(spike(200, with(51)), Some(Severity::Critical));
    assert_eq!(spike(99, with(51)), None, "under a dollar nothing is compared");
    assert_eq!(spike(100, with(51)), Some(Severity::Critical));
    // Waiting for an hour in between makes nothing dearer.
    assert_eq!(spike(200, vec![slice(9_000, 1, 0, 10), slice(20, 1, 0, 10)]), None);
    let unpriced = [before(), vec![Slice { cost: None, ..slice(20, 1, 0, 0) }]].concat();
    assert_eq!(spike(200, unpriced), None);
    assert_eq!(spike(200, vec![slice(20, 1, 0, 900)]), None, "nothing to compare with");
}

#[test]
fn contexts_fill() {
    let full = |percent: u64| found(&Vitals { context: Some(percent * 2_000), ..well() });
    for (percent, want) in [
        (50, vec![]),
        (51, vec![("Consider compact", Severity::Info)]),
        (80, vec![("Consider compact", Severity::Info)]),
        (81, vec![("Context saturation", Severity::Warning)]),
        (90, vec![("Context saturation", Severity::Warning), ("Cognitive decay", Severity::Info)]),
        (91, vec![("Context saturation", Severity::Critical), ("Cognitive decay", Severity::Info)]),
    ] {
        assert_eq!(full(percent), want, "{percent}");
    }
    assert_eq!(found(&Vitals { context: Some(199_000), window: None, ..well() }), [], "of an unknown size");
}

#[test]
fn decay_is_the_sum_of_its_parts() {
    let decay =
        |v: &Vitals| found(v).into_iter().find(|(name, _)| *name == "Cognitive decay").map(|(_, s)| s);
    let full = Vitals { context: Some(200_000), ..well() };
    assert_eq!(decay(&full), Some(Severity::Info), "40");
    let slow = Vitals { pace: Some(Pace { edits: 9, first: 100, newest: 400 }), ..full.clone() };
    assert_eq!(decay(&slow), Some(Severity::Warning), "60");
    let again = Vitals { asked_again: Some(Repeat { times: 5, call: String::new() }), ..slow.clone() };
    assert_eq!(decay(&again), Some(Severity::Warning), "75");
    let slices = vec![slice(3_000, 20, 0, 0), slice(20, 10, 10, 0)];
    assert_eq!(decay(&Vitals { slices, ..again }), Some(Severity::Critical), "100");
}

#[test]
fn caches_edits_and_calls_nobody_can_use() {
    let cache = |read: u64, write: u64, turns: u64| {
        let tokens =
            Tokens { input: 100_000 - read - write, cache_write: write, cache_read: read, output: 0 };
        found(&Vitals { tokens: Some(tokens), turns: Some(turns), ..well() })
    };
    assert_eq!(cache(30_000, 1_000, 9), []);
    assert_eq!(cache(29_000, 1_000, 9), [("Low cache", Severity::Warning)]);
    assert_eq!(cache(9_000, 1_000, 9), [("Low cache", Severity::Critical)]);
    assert_eq!(cache(9_000, 1_000, 2), [], "it cannot be warm yet");
    assert_eq!(cache(0, 0, 9), [], "no cache is told of");
    let small = Tokens { input: 9_000, cache_write: 999, ..Tokens::default() };
    assert_eq!(found(&Vitals { tokens: Some(small), ..well() }), []);

    let pace = |edits, first, newest| names(&Vitals { pace: Some(Pace { edits, first, newest }), ..well() });
    assert_eq!(pace(8, 100, 201), ["Token efficiency"]);
    assert_eq!(pace(8, 100, 200), [""; 0]);
    assert_eq!(pace(7, 100, 900), [""; 0]);
    assert_eq!(pace(8, 99, 900), [""; 0]);

    assert_eq!(found(&Vitals { malformed: Some(1), ..well() }), [("MODEL_DEGRADATION", Severity::Critical)]);
    assert_eq!(names(&Vitals { errors: Some(4), ..well() }), [""; 0]);
    assert_eq!(names(&Vitals { errors: Some(5), ..well() }), ["HIGH_ERROR_COUNT"]);
    // Long ago is not now.
    let old = Vitals { errors: Some(9), slices: vec![slice(3_000, 9, 9, 0), slice(20, 1, 0, 0)], ..well() };
    assert_eq!(names(&old), [""; 0]);
}

#[test]
fn the_worst_comes_first_and_then_the_order_of_claudectl() {
    let v = Vitals {
        began: Some(NOW.plus(-9_000)),
        active: Some(NOW.plus(-7_200)),
        failing: Some(Repeat { times: 12, call: "Bash: make".into() }),
        slices: vec![slice(9_000, 1, 0, 10), slice(7_200, 1, 0, 900)],
        cost: Some(Money(9_100_000_000)),
        ..well()
    };
    assert_eq!(names(&v), ["Cost spike", "Stalled", "Loop detected", "SESSION_STALL"]);
    let hidden = Vitals { hidden: Some("closed".into()), ..v };
    assert_eq!(names(&hidden), [""; 0]);
}
