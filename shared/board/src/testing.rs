//! Rows for tests of what decides: plain data with the least that a rule asks for; and a board over another one.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    Attendance, Attended, Board, BoardId, Comment, Detail, Entry, Event, EventKind, Link, Outcome, Pin,
    Place, Run, Shared, Status, Step, Story, Task,
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
        ..Run::default()
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
    Detail::from(Story {
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
    })
}

/// What a board is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call<'c> {
    /// To tell all of these tasks.
    Look(&'c [String]),
    /// To tell the newest events.
    Events,
    /// To tell anything else.
    Read,
    /// To say whether it can be written to.
    Writable,
    /// To carry out steps.
    Write,
}

/// A board over another one, for tests that stand between the two.
pub trait Over {
    /// The board below.
    fn inner(&self) -> &dyn Board;

    /// The same for one call.
    ///
    /// # Errors
    /// It does not answer this time.
    fn reach(&mut self, call: Call<'_>) -> Result<&mut dyn Board>;

    /// Whether several hosts share it.
    fn is_of_several(&self) -> bool {
        true
    }

    /// Its hosts, as they are told to one that attends.
    ///
    /// # Errors
    /// It does not answer this time.
    fn hosts(&mut self, _me: &Attendance<'_>) -> Result<Option<Attended>> {
        Ok(None)
    }

    /// What it is called.
    fn named(&self) -> &BoardId {
        self.inner().id()
    }

    /// Carries out steps.
    ///
    /// # Errors
    /// As of [`Board::apply`].
    fn write(&mut self, now: Time, steps: &[Step], patience: Duration) -> Result<Vec<Outcome>> {
        self.reach(Call::Write)?.apply(now, steps, patience)
    }
}

impl<T: Over> Board for T {
    fn id(&self) -> &BoardId {
        self.named()
    }
    fn is_own(&self) -> bool {
        self.inner().is_own()
    }
    fn is_shared(&self) -> bool {
        self.is_of_several()
    }
    fn attend(&mut self, me: &Attendance<'_>) -> Result<Option<Attended>> {
        self.hosts(me)
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
    fn damage(&self, thorough: bool) -> Result<Option<String>> {
        self.inner().damage(thorough)
    }
    fn glance(&mut self, of: &[Status]) -> Result<Shared<Task>> {
        self.reach(Call::Read)?.glance(of)
    }
    fn states(&mut self) -> Result<Vec<Status>> {
        self.reach(Call::Read)?.states()
    }
    fn links(&mut self, of: &[Status]) -> Result<Vec<Link>> {
        self.reach(Call::Read)?.links(of)
    }
    fn assignees(&mut self) -> Result<BTreeSet<String>> {
        self.reach(Call::Read)?.assignees()
    }
    fn next_of(&mut self, of: &[Option<&str>], most: usize) -> Result<Shared<Task>> {
        self.reach(Call::Read)?.next_of(of, most)
    }
    fn waiting(&mut self) -> Result<BTreeSet<String>> {
        self.reach(Call::Read)?.waiting()
    }
    fn look(&mut self, ids: &[String]) -> Result<Vec<Detail>> {
        self.reach(Call::Look(ids))?.look(ids)
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
    fn recent_runs(&mut self, most: u32) -> Result<Shared<(String, Run)>> {
        self.reach(Call::Read)?.recent_runs(most)
    }
    fn ended(&mut self, since: Time, most: u32) -> Result<Vec<String>> {
        self.reach(Call::Read)?.ended(since, most)
    }
    fn events(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.reach(Call::Events)?.events(since, most)
    }
    fn turns(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.reach(Call::Read)?.turns(since, most)
    }
    fn coordinated(&mut self, after: i64, most: u32) -> Result<Vec<Entry>> {
        self.reach(Call::Read)?.coordinated(after, most)
    }
    fn writable(&mut self) -> Result<()> {
        self.reach(Call::Writable)?.writable()
    }
    fn apply(&mut self, now: Time, steps: &[Step], patience: Duration) -> Result<Vec<Outcome>> {
        self.write(now, steps, patience)
    }
}
