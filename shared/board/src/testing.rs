//! Rows for tests of what decides: plain data with the least that a rule asks for; and boards that several hosts share.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    Attendance, Attended, Board, BoardId, Comment, Detail, Entry, Event, EventKind, Link, Outcome, Pin,
    Place, Run, Status, Step, Task,
};
use base::error::{Error, Result};
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
        stray_title: false,
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

/// What a board is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// To tell something.
    Read,
    /// To carry out steps.
    Write,
}

/// A board that several hosts share, over another board: all but its hosts is that one's.
pub trait SharedOver {
    /// The board below.
    fn inner(&self) -> &dyn Board;

    /// The same for one call.
    ///
    /// # Errors
    /// It does not answer this time.
    fn reach(&mut self, call: Call) -> Result<&mut dyn Board>;

    /// Its hosts, as they are told to one that attends.
    ///
    /// # Errors
    /// It does not answer this time.
    fn hosts(&mut self, me: &Attendance<'_>) -> Result<Attended>;

    /// What it is called.
    fn named(&self) -> &BoardId {
        self.inner().id()
    }
}

impl<T: SharedOver> Board for T {
    fn id(&self) -> &BoardId {
        self.named()
    }
    fn is_own(&self) -> bool {
        self.inner().is_own()
    }
    fn is_shared(&self) -> bool {
        true
    }
    fn attend(&mut self, me: &Attendance<'_>) -> Result<Option<Attended>> {
        self.hosts(me).map(Some)
    }
    fn shape(&self) -> &'static str {
        self.inner().shape()
    }
    fn outdated(&self) -> Option<Error> {
        self.inner().outdated()
    }
    fn with_key(&mut self, key: &str) -> Result<Option<String>> {
        self.reach(Call::Read)?.with_key(key)
    }
    fn glance(&mut self, of: &[Status]) -> Result<Vec<Task>> {
        self.reach(Call::Read)?.glance(of)
    }
    fn states(&mut self) -> Result<Vec<Status>> {
        self.reach(Call::Read)?.states()
    }
    fn links(&mut self, of: &[Status]) -> Result<Vec<Link>> {
        self.reach(Call::Read)?.links(of)
    }
    fn look(&mut self, ids: &[String]) -> Result<Vec<Detail>> {
        self.reach(Call::Read)?.look(ids)
    }
    fn comments(&mut self, task: &str) -> Result<Vec<Comment>> {
        self.reach(Call::Read)?.comments(task)
    }
    fn beat_note(&mut self, task: &str) -> Result<Option<String>> {
        self.reach(Call::Read)?.beat_note(task)
    }
    fn titled(&mut self, ids: &[String]) -> Result<Vec<Task>> {
        self.reach(Call::Read)?.titled(ids)
    }
    fn recent_runs(&mut self, most: u32) -> Result<Vec<(String, Run)>> {
        self.reach(Call::Read)?.recent_runs(most)
    }
    fn events(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.reach(Call::Read)?.events(since, most)
    }
    fn turns(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.reach(Call::Read)?.turns(since, most)
    }
    fn coordinated(&mut self, after: i64, most: u32) -> Result<Vec<Entry>> {
        self.reach(Call::Read)?.coordinated(after, most)
    }
    fn writable(&mut self) -> Result<()> {
        self.reach(Call::Read)?.writable()
    }
    fn apply(&mut self, now: Time, steps: &[Step], patience: Duration) -> Result<Vec<Outcome>> {
        self.reach(Call::Write)?.apply(now, steps, patience)
    }
}
