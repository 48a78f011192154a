//! Rows for tests of what decides: plain data with the least that a rule asks for.

use serde_json::{Value, json};

use crate::{Detail, Event, EventKind, Pin, Place, Run, Status, Task};
use base::time::Time;

/// The moment at which every test decides.
pub const NOW: Time = Time(1_800_000_000);

/// A moment before [`NOW`].
pub fn ago(seconds: i64) -> Time {
    NOW.plus(-seconds)
}

/// An event of no attempt.
pub fn event(kind: impl Into<EventKind>, seconds: i64, payload: Value) -> Event {
    Event { kind: kind.into(), at: ago(seconds), run: None, payload: payload.into() }
}

/// An attempt of `profile` from 1300 to 1200 seconds ago.
pub fn run(id: i64, profile: &str, outcome: Option<&str>) -> Run {
    Run {
        id,
        profile: Some(profile.into()),
        status: outcome.unwrap_or("running").into(),
        outcome: outcome.map(str::to_owned),
        started_at: ago(1_300),
        ended_at: outcome.map(|_| ago(1_200)),
        claim_lock: None,
        worker_pid: None,
        last_heartbeat_at: None,
        error: None,
        summary: None,
        pin: Pin::default(),
        route: None,
        failed: Vec::new(),
    }
}

/// A task of luna's that was never tried.
pub fn detail(id: &str, status: Status) -> Detail {
    let task = Task {
        id: id.into(),
        title: "Count the lanterns".into(),
        assignee: Some("luna".into()),
        status,
        priority: 5,
        created_at: ago(9_000),
        started_at: None,
        claim_lock: None,
        claim_expires: None,
        worker_pid: None,
        last_heartbeat_at: None,
        current_run: None,
        failures: 0,
        last_failure_error: None,
        max_retries: None,
        block_kind: None,
        block_recurrences: 0,
        worker_started_at: None,
        idempotency_key: None,
        pin: Pin::default(),
    };
    Detail {
        task,
        body: String::new(),
        runs: Vec::new(),
        events: vec![event("created", 9_000, json!({}))],
        is_truncated: false,
        comments: Vec::new(),
        parents: Vec::new(),
        cards: Vec::new(),
        cards_made: Vec::new(),
        card_work: Vec::new(),
        place: Place::default(),
        mark: "e9".into(),
    }
}
