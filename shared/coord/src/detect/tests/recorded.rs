//! What becomes of detections on a board.

use board::EventKind;
use serde_json::json;

use super::record::{news, recorded};
use super::*;
use board::Event;

fn limits() -> Detect {
    Detect::default()
}

/// Records what a judge finds, as an event of that moment; how many events that took.
fn record(history: &mut Vec<Event>, evidence: &Evidence, seconds: i64) -> usize {
    let now = Time(T0 + seconds);
    let limits = limits();
    let judge = Judge { evidence, limits: &limits, since: None, now };
    let all = news(&judge, &recorded(history, &evidence.session));
    let events = all.iter().map(|n| Event {
        kind: EventKind::SessionDetection,
        at: now,
        run: None,
        payload: n.keys(&evidence.session).into(),
    });
    history.extend(events.collect::<Vec<_>>());
    all.len()
}

fn stalled() -> Evidence {
    let messages = vec![prompt("p", 0), answer("a", 1, open(), vec![])];
    Evidence { stream: Stream::Silent, ..evidence(State::Busy, messages) }
}

#[test]
fn an_issue_is_recorded_once_and_its_end_once() {
    let mut history = Vec::new();
    let stall = stalled();
    assert_eq!([70, 80, 90].map(|s| record(&mut history, &stall, s)), [1, 0, 0]);
    assert_eq!(
        history[0].payload,
        json!({
            "session": "ses_1", "type": "SESSION_STALL", "severity": "medium", "episode": "a", "state": "found",
            "said": "nothing written for 1m, the model was asked",
        })
    );
    let moves = Evidence { stream: Stream::Moves, ..stall.clone() };
    assert_eq!([100, 110].map(|s| record(&mut history, &moves, s)), [1, 0]);
    assert_eq!(history[1].payload["state"], "ended");
    // The same again is another event, and lasts since then.
    assert_eq!(record(&mut history, &stall, 120), 1);
    assert_eq!(recorded(&history, &session())[0].since, Time(T0 + 120));
}

#[test]
fn nothing_is_known_to_end_while_nothing_is_known() {
    let mut history = Vec::new();
    record(&mut history, &stalled(), 70);
    let blind = Evidence { server: State::Unreachable { why: "refused".into() }, ..stalled() };
    assert_eq!(record(&mut history, &blind, 80), 0, "and no event tells of the silence itself");
    assert!(!recorded(&history, &session())[0].has_ended);
    let blind = Evidence { rows: Err("busy".into()), ..stalled() };
    assert_eq!(record(&mut history, &blind, 90), 0);
}

#[test]
fn the_next_time_is_another_issue() {
    let mut history = Vec::new();
    let mut stall = stalled();
    record(&mut history, &stall, 70);
    let rows = stall.rows.as_mut().unwrap();
    rows.messages.extend([prompt("p2", 100), answer("a2", 101, open(), vec![])]);
    assert_eq!(record(&mut history, &stall, 170), 2);
    let states: Vec<_> = history.iter().map(|e| (&e.payload["episode"], &e.payload["state"])).collect();
    assert_eq!(
        states,
        [(&json!("a"), &json!("found")), (&json!("a"), &json!("ended")), (&json!("a2"), &json!("found"))]
    );
    assert_eq!(record(&mut history, &stall, 171), 0);
}

#[test]
fn more_of_the_same_is_the_same_issue() {
    let mut history = Vec::new();
    let calls = |n: u64| (0..n).map(|i| call(&format!("c{i}"), 2 + i as i64, Stands::Malformed, i)).collect();
    let with = |n| evidence(State::Busy, vec![prompt("p", 0), answer("a", 1, open(), calls(n))]);
    assert_eq!(record(&mut history, &with(1), 10), 1);
    assert_eq!(record(&mut history, &with(6), 20), 0);
    assert_eq!(history[0].payload["episode"], "p");
}

#[test]
fn an_issue_that_got_worse_is_told_again() {
    let mut history = Vec::new();
    record(&mut history, &stalled(), 70);
    history[0].payload["severity"] = json!("low");
    assert_eq!(record(&mut history, &stalled(), 80), 1);
    let now = recorded(&history, &session());
    assert_eq!((now[0].severity, now[0].since), (Some(Severity::Medium), Time(T0 + 70)));
}

#[test]
fn what_others_wrote_and_what_is_no_detection_is_passed_over() {
    let mut history = Vec::new();
    record(&mut history, &stalled(), 70);
    let other = |key: &str, value: serde_json::Value| {
        let mut event = history[0].clone();
        event.payload[key] = value;
        event
    };
    let odd = vec![
        other("session", json!("ses_2")),
        other("session", json!("../x")),
        other("type", json!("STALLED")),
        other("state", json!("over")),
        other("episode", json!(7)),
        Event { kind: "comment".into(), ..other("state", json!("ended")) },
        Event { payload: json!(null).into(), ..history[0].clone() },
    ];
    assert_eq!(recorded(&odd, &session()), []);
    assert_eq!(recorded(&history, &session()).len(), 1);
}
