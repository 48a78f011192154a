//! What the next attempt at a task is told, and what it rests on: logs that say how an attempt fared, records and checks that
//! workers leave on a board, and states of working trees as they were noted there.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shared::base::time::Time;
use shared::board::{Detail, Event, Run, Status};
use shared::board::{testing, verification};
use shared::card::packet::{self, Autopsy, MAX_PACKET, Packet, record};
use shared::config::Detect;
use shared::logs::attempt;
use shared::logs::cache::Cache;
use shared::logs::health;
use shared::logs::session::Prices;
use shared::logs::vitals::{MAX_CALLS_TOLD, MAX_EDITED, MAX_FINDINGS, MAX_SLICES, Vitals};
use shared::worktree::state::{Drift, MAX_NAMED, PathState, TreeState, drift};

use super::log::{NOW, attempt, place, write};
use super::secret::{hidden_in, is_own, planted};
use super::text::{cut, number, text};

/// A log that grows, cut in two at any byte: how an attempt fares does not depend on where a pass ended, and is bounded.
pub fn vitals(data: &[u8]) {
    let [which, data @ ..] = data else { return };
    let (at, rest) = number(data);
    let (front, back) = rest.split_at(at % (rest.len() + 1));
    let path = place("vitals.jsonl");
    let prices = Prices::default();
    let ask = attempt(*which, &path, &prices);
    let mut cache = Cache::in_memory();
    write(&path, front, false);
    attempt::vitals::read(&ask, None, &mut cache);
    write(&path, back, true);
    let pieces = attempt::vitals::read(&ask, None, &mut cache);
    assert_eq!(
        attempt::vitals::read(&ask, None, &mut cache),
        pieces,
        "a second look at the same says something else"
    );
    let whole = attempt::vitals::read(&ask, None, &mut Cache::in_memory());
    assert_eq!(pieces, whole, "how it fares depends on where a pass ended");
    if let Some(v) = &whole {
        faring(v);
    }
    if !is_own(&text(rest)) {
        write(&path, format!("\n{} ", planted()).as_bytes(), true);
        let told = attempt::vitals::read(&ask, None, &mut Cache::in_memory());
        let told = told.map(|v| packet::render(&Packet { autopsy: Some(autopsy(&v)), ..Packet::default() }));
        assert!(!told.as_deref().is_some_and(hidden_in), "{told:?}");
    }
}

/// Within its bounds, and judged without a fault.
pub(crate) fn faring(v: &Vitals) {
    assert!(v.edited.len() <= MAX_EDITED && v.slices.len() <= MAX_SLICES, "{v:?}");
    assert!(v.last_calls.len() <= MAX_CALLS_TOLD && v.findings.len() <= MAX_FINDINGS, "{v:?}");
    assert!(v.errors <= v.calls && v.malformed <= v.calls, "{v:?}");
    for alert in health::alerts(v, &Detect::default(), NOW) {
        assert!(!alert.said.is_empty(), "{alert:?}");
    }
    let json = serde_json::to_string(v).expect("vitals as JSON");
    let again: Vitals = serde_json::from_str(&json).expect("its own JSON");
    assert_eq!(serde_json::to_string(&again).expect("vitals as JSON"), json);
    fits(&packet::render(&Packet { autopsy: Some(autopsy(v)), ..Packet::default() }));
}

fn autopsy(v: &Vitals) -> Autopsy {
    Autopsy {
        model: v.model.clone(),
        seconds: v.began.zip(v.active).map(|(from, to)| to.since(from)),
        turns: v.turns,
        tool_calls: v.calls,
        errors: v.errors,
        tokens: None,
        files: v.edited.clone(),
        last_calls: v.last_calls.clone(),
        findings: v.findings.clone(),
    }
}

/// One comment that Hermes shows whole: plain lines, and none of them by a key.
fn fits(told: &str) {
    assert!(told.len() <= MAX_PACKET, "{} bytes", told.len());
    assert!(!told.contains(|c: char| c.is_control() && c != '\n'), "{told:?}");
}

/// Whatever a worker leaves on the board, the packet fits, begins with our own words, and tells no key.
pub fn packet(data: &[u8]) {
    let (at, rest) = number(data);
    let text = text(rest);
    let (first, second) = cut(&text, at % (text.len() + 1));
    let with_key = format!("{second} {}", planted());
    // The values of a record as the worker's command takes them, then as any program may write the event.
    let parts: Vec<&str> = first.split('\0').collect();
    let mut said = record::Said::default();
    for (field, value) in record::Field::ALL.into_iter().zip(parts) {
        said.put(field, value);
    }
    let written =
        detail(vec![event("watchbill_packet", json!({"packet": record::payload(&said, Some(&with_key))}))]);
    let read = packet::latest(&written);
    assert_eq!(read.is_none(), said.is_empty());
    if let Some(read) = &read {
        assert_eq!(read.said, said, "what was recorded is not read back");
        assert!(!read.to_string().contains(|c: char| c.is_control() && c != '\n'), "{read}");
    }
    let any: Value = serde_json::from_str(second).unwrap_or_else(|_| json!(with_key));
    let mut d = detail(vec![
        event("watchbill_packet", json!({"packet": any})),
        event("verification", any.clone()),
        Event { payload: any.clone().into(), ..event("changes_requested", Value::Null) },
        Event { payload: any.clone().into(), ..event("verification", Value::Null) },
    ]);
    d.runs = vec![run(&with_key)];
    let failures = verification::failures(&d);
    assert!(failures.len() <= verification::MAX_FAILURES);
    let known: Packet = serde_json::from_str(second).unwrap_or_default();
    for p in [
        Packet { record: read, failures: failures.clone(), ..Packet::default() },
        Packet { record: packet::latest(&d), failures, ..Packet::default() },
        known,
    ] {
        let told = packet::render(&p);
        fits(&told);
        let begins =
            if p.record.is_some() { "Read this before any mission file" } else { "You are resuming" };
        assert!(told.starts_with(begins), "{told:?}");
        assert!(is_own(&text) || !hidden_in(&told), "{told:?}");
        let prompt = packet::prompt(&d, &p);
        assert!(prompt.ends_with(&told), "{prompt:?}");
    }
}

/// Two states of a tree as an event holds them: read and written they are the same, and comparing them says something that
/// fits and never takes equal ones for different.
pub fn tree_state(data: &[u8]) {
    let (at, rest) = number(data);
    let text = text(rest);
    let (first, second) = cut(&text, at % (text.len() + 1));
    if let Ok(path) = PathState::try_from(first.to_owned()) {
        let line = String::from(path.clone());
        assert_eq!(PathState::try_from(line).expect("its own line"), path);
    }
    let read = |text: &str| serde_json::from_str::<TreeState>(text).ok();
    let states: Vec<TreeState> = [first, second, &text].into_iter().filter_map(read).collect();
    let own: BTreeSet<String> = second.lines().map(str::to_owned).collect();
    for a in &states {
        let json = serde_json::to_string(a).expect("a state as JSON");
        assert_eq!(serde_json::from_str::<TreeState>(&json).expect("its own JSON"), *a);
        assert!(matches!(drift(a, a, &own), Drift::Same | Drift::Unknown(_)), "{a:?}");
        for b in &states {
            let found = drift(a, b, &own);
            if let Drift::Changed { paths, .. } = &found {
                assert!(paths.len() <= MAX_NAMED, "{found:?}");
            }
            assert!(a.hash != b.hash || matches!(found, Drift::Same | Drift::Unknown(_)), "{found:?}");
            assert!(!found.to_string().contains(|c: char| c.is_control()), "{found}");
        }
    }
}

fn event(kind: &str, trail: Value) -> Event {
    let payload = json!({"by": "board", "watchbill": trail});
    Event { kind: kind.into(), at: Time(1_795_250_000), run: Some(1), payload: payload.into() }
}

fn run(text: &str) -> Run {
    Run {
        started_at: Time(1_795_248_000),
        ended_at: Some(Time(1_795_249_000)),
        error: Some(format!("verification failed: {text}")),
        summary: Some(text.to_owned()),
        failed: verification::in_metadata(text),
        ..testing::run(1, "luna", Some("crashed"))
    }
}

fn detail(events: Vec<Event>) -> Detail {
    let mut detail = testing::detail("t_1a2b3c4d", Status::Ready);
    detail.task.created_at = Time(1_795_240_000);
    detail.body = "Sort the lanterns.".into();
    detail.events = events;
    detail
}
