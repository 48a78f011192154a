//! What a board is, in no engine's terms: tasks, runs, events, links, comments, and the primitives of change.
//!
//! Tables and words are those of the Hermes Kanban. Engines (`sqlite`, the memory board of the test kit) implement
//! [`Board`]; what a Hermes operation leaves behind is pure code over [`Change`] in [`hermes`].

pub mod change;
pub mod copy;
pub mod discover;
mod engine;
pub mod event_kind;
pub mod find;
pub mod hermes;
pub mod image;
pub mod kept;
pub mod pause;
pub mod payload;
pub mod pin;
pub mod prune;
pub mod rows;
pub mod several_hosts;
mod shared;
pub mod sqlite;
pub mod step_action;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod title;
pub mod verification;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use base::clip::clip;
use base::error::{Error, Kind, Result};
pub use base::location::Location;
pub use base::names::is_task_id;
use base::open_enum;
use base::time::Time;
pub use change::{Change, Expect, FirstEvent, NewTask, Outcome, RunRef, Step};
pub use engine::{CREDENTIAL, Engine, offer};
pub use event_kind::EventKind;
use host::{Freed, Host, Recorded};
pub use payload::Payload;
pub use pin::Pin;
pub use several_hosts::{Attendance, Attended, Duty, HOST_LEASE, HOST_TELLS, Known, Neighbour, Timeline};
pub use shared::Shared;
pub use step_action::{HandOver, Rule, StepAction};
use title::{is_card_key, is_card_title};

open_enum! {
    /// Where a task stands, as Hermes 0.13 to 0.22 names it. No watcher acts on a task whose state it does not know.
    Status {
        /// Waits to be specified.
        Triage = "triage",
        /// Waits for its parents.
        Todo = "todo",
        /// Held until a watcher or a person ends the hold; nothing in Hermes does so by time.
        Scheduled = "scheduled",
        /// Waits for a worker.
        Ready = "ready",
        /// Claimed by a worker.
        Running = "running",
        /// Stopped, by a worker, a person or the failure breaker.
        Blocked = "blocked",
        /// Waits for a reviewer.
        Review = "review",
        /// Finished.
        Done = "done",
        /// Put away.
        Archived = "archived",
    }
}

impl Status {
    /// Every state of work that is not over.
    pub const OPEN: [Status; 7] = [
        Status::Triage,
        Status::Todo,
        Status::Scheduled,
        Status::Ready,
        Status::Running,
        Status::Blocked,
        Status::Review,
    ];

    /// Whether a parent in this state lets its children run (Hermes: `done` or `archived`).
    pub fn frees_children(&self) -> bool {
        matches!(self, Status::Done | Status::Archived)
    }
}

/// One row of the board's task table, without its body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// `t_` and at least 8 hex digits.
    pub id: String,
    /// One line.
    pub title: String,
    /// The profile that works on it, lower case; `None` is unassigned.
    pub assignee: Option<String>,
    /// Where it stands.
    pub status: Status,
    /// Dispatch order: higher first.
    pub priority: i64,
    /// When it was made.
    pub created_at: Time,
    /// When its *first* attempt began.
    pub started_at: Option<Time>,
    /// `<hostname>:<pid>` of the claimer, which is a dispatcher or a command line, not the worker.
    pub claim_lock: Option<String>,
    /// When the claim runs out unless it is extended.
    pub claim_expires: Option<Time>,
    /// The worker's process id on the claimer's host.
    pub worker_pid: Option<i64>,
    /// The newest sign of life.
    pub last_heartbeat_at: Option<Time>,
    /// The open run; `None` exactly when there is none.
    pub current_run: Option<i64>,
    /// Hermes' unified failure counter.
    pub failures: i64,
    /// Text of the newest failure; steers Hermes' respawn guard.
    pub last_failure_error: Option<String>,
    /// A breaker limit set by hand for this task; wins over the board's.
    pub max_retries: Option<i64>,
    /// Why it was blocked, as Hermes 0.18 and later type it.
    pub block_kind: Option<String>,
    /// How often it was blocked again for the same kind.
    pub block_recurrences: i64,
    /// The newest Hermes' fingerprint of the worker process: `<boot id>:<start of pid 1>|<start ticks>`.
    pub worker_started_at: Option<String>,
    /// Key under which a repeated creation finds this task again.
    pub idempotency_key: Option<String>,
    /// The model and the provider set for this task alone.
    #[serde(default, skip_serializing_if = "Pin::is_none")]
    pub pin: Pin,
    /// See [`title::is_stray`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stray_title: bool,
}

impl Task {
    /// Whether it is a distress card: by its key, or by a title that names a task of the board.
    pub fn is_card(&self) -> bool {
        is_card_key(self.idempotency_key.as_deref()) || (is_card_title(&self.title) && !self.stray_title)
    }

    /// The host part of the claim: everything up to the first colon (some branches write `host:pid:uuid`).
    pub fn claim_host(&self) -> Option<&str> {
        self.claim_lock.as_deref().map(claim_host)
    }

    /// The process id part of the claim.
    pub fn claimer_pid(&self) -> Option<i64> {
        claimer_pid(self.claim_lock.as_deref()?)
    }
}

/// The host in a claim `<host>:<pid>[:<uuid>]`.
pub fn claim_host(lock: &str) -> &str {
    lock.split(':').next().unwrap_or(lock)
}

/// The process id in a claim `<host>:<pid>[:<uuid>]`.
pub fn claimer_pid(lock: &str) -> Option<i64> {
    lock.split(':').nth(1)?.parse().ok()
}

/// One attempt at a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Unique on its board.
    pub id: i64,
    /// Who worked.
    pub profile: Option<String>,
    /// `running`, or how it ended.
    pub status: String,
    /// How it ended; `None` while it is open.
    pub outcome: Option<String>,
    /// When it was claimed.
    pub started_at: Time,
    /// When it was closed.
    pub ended_at: Option<Time>,
    /// The claim it ran under; Hermes clears it on close.
    pub claim_lock: Option<String>,
    /// The worker's process id; Hermes clears it on close.
    pub worker_pid: Option<i64>,
    /// Newest sign of life in this attempt.
    pub last_heartbeat_at: Option<Time>,
    /// Error text of a bad end.
    pub error: Option<String>,
    /// What the worker handed on.
    pub summary: Option<String>,
    /// The model and the provider that were set for its task alone when it began. Of a run without its task's story: what is set now.
    #[serde(default, skip_serializing_if = "Pin::is_none")]
    pub pin: Pin,
    /// What an orchestrator decided in it, as [`Run::route_in`] reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Value>,
    /// Checks that its details say failed, as [`verification::in_metadata`] reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<verification::Failure>,
}

impl Run {
    /// Whether it is open, or was closed at that moment or later.
    pub fn is_since(&self, since: Time) -> bool {
        self.ended_at.is_none_or(|at| at >= since)
    }

    /// Whether it took any time. Where a task is closed or blocked that nobody works on, Hermes makes an attempt up that took none.
    pub fn has_worked(&self) -> bool {
        self.ended_at.is_none_or(|at| at > self.started_at)
    }

    /// Seconds it lasted, up to `now` while it is open; 0 where the clock went back.
    pub fn seconds(&self, now: Time) -> i64 {
        self.ended_at.unwrap_or(now).since(self.started_at).max(0)
    }

    /// The key `route` of a run's details. Models write these: the details may be a text that holds the object, the
    /// route may be a text that holds the value, and text that is not JSON is shown by its first 200 bytes.
    pub fn route_in(metadata: &str) -> Option<Value> {
        if metadata.len() > MAX_METADATA {
            return Some(Value::String("too long".into()));
        }
        // Most runs have none, and need not be parsed.
        if !metadata.contains("route") {
            return None;
        }
        let Ok(mut details) = serde_json::from_str::<Value>(metadata) else {
            return Some(Value::String(clip(metadata, 200).to_owned()));
        };
        if let Value::String(inner) = &details {
            details = serde_json::from_str(inner).ok()?;
        }
        let route = details.get_mut("route")?.take();
        let parsed = route.as_str().and_then(|text| serde_json::from_str(text).ok());
        // A null decides nothing, and would not survive being saved.
        Some(parsed.unwrap_or(route)).filter(|route| !route.is_null())
    }
}

/// One entry of a task's history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// When.
    pub at: Time,
    /// In which run, where it belongs to one.
    pub run: Option<i64>,
    /// Details.
    pub payload: Payload,
}

impl Event {
    /// The program of Watchbill that wrote this event; `None` where another program did.
    pub fn by(&self) -> Option<&str> {
        self.payload.get("by")?.as_str()
    }

    /// The worker of a claim that names its pid and its start; whether it blocked the task is not told here.
    pub fn recorded_worker(&self) -> Option<Recorded> {
        let trail = self.trail()?;
        let birth = serde_json::from_value(trail.get("birth")?.clone()).ok()?;
        Some(Recorded { run: self.run, pid: trail.get("pid")?.as_i64()?, birth, has_blocked: false })
    }

    /// Our own part of the payload.
    pub fn trail(&self) -> Option<&Value> {
        self.payload.get("watchbill")
    }

    /// Whether it names this task as a parent.
    pub fn names_parent(&self, id: &str) -> bool {
        self.payload.get("parent").and_then(Value::as_str) == Some(id)
    }
}

/// A note on a task, shown to its next worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comment {
    /// Who wrote it.
    pub author: String,
    /// Its text.
    pub body: String,
    /// When.
    pub at: Time,
}

/// The other end of a dependency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kin {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its state.
    pub status: Status,
    /// See [`title::is_stray`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stray_title: bool,
}

impl From<Task> for Kin {
    fn from(task: Task) -> Kin {
        let Task { id, title, status, stray_title, .. } = task;
        Kin { id, title, status, stray_title }
    }
}

impl Kin {
    /// Whether it is a distress card, as far as its title tells: see [`Task::is_card`].
    pub fn is_card(&self) -> bool {
        is_card_title(&self.title) && !self.stray_title
    }
}

/// That one task waits for another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The task that waits.
    pub child: String,
    /// What it waits for.
    pub parent: String,
    /// The state of that; `None` where no such task is on the board.
    pub status: Option<Status>,
}

/// Where a task is worked on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// `scratch` (deleted on completion), `dir` or `worktree`.
    pub kind: Option<String>,
    /// Its folder.
    pub path: Option<String>,
    /// Its branch, where the board names one.
    pub branch: Option<String>,
    /// Who the task belongs to, where a board serves several.
    pub tenant: Option<String>,
    /// Who made the task: a profile, a program, or a person's name. Untrusted.
    #[serde(default)]
    pub made_by: Option<String>,
    /// When the task was completed; also of one that was opened again since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
}

/// A distress card that was made for a task, open or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardMade {
    /// The card.
    pub id: String,
    /// Its idempotency key.
    pub key: String,
    /// Where it stands.
    pub status: Status,
    /// When it was made.
    pub created_at: Time,
}

/// All that a decision on one task may need. A copy shares the [`Story`] until it is changed: a command that looks asks four watchers
/// about the same tasks.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(from = "Story")]
pub struct Detail(Arc<Story>);

impl From<Story> for Detail {
    fn from(story: Story) -> Detail {
        Detail(Arc::new(story))
    }
}

/// Copies it where others share it.
impl From<Detail> for Story {
    fn from(detail: Detail) -> Story {
        Arc::unwrap_or_clone(detail.0)
    }
}

impl Deref for Detail {
    type Target = Story;

    fn deref(&self) -> &Story {
        &self.0
    }
}

/// Copies the story first where others share it.
impl DerefMut for Detail {
    fn deref_mut(&mut self) -> &mut Story {
        Arc::make_mut(&mut self.0)
    }
}

impl fmt::Debug for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for Detail {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

/// What the board says of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Story {
    /// The row, from the same snapshot as everything else here.
    pub task: Task,
    /// The card's text.
    pub body: String,
    /// Newest attempts first, at most [`MAX_RUNS`].
    pub runs: Vec<Run>,
    /// Oldest first; at most [`MAX_EVENTS`] newest, [`EventKind::NOISE`] left out, and of the kinds in [`EventKind::TURNS`] some older ones.
    pub events: Vec<Event>,
    /// There are more events than that: what was counted from them may be too little.
    #[serde(default)]
    pub is_truncated: bool,
    /// Oldest first: at most [`MAX_COMMENTS`] newest, and every older one that begins with [`MARKER`]. A look of many tasks
    /// keeps their [`Fronts`] alone; [`Board::comments`] gives whole texts.
    pub comments: Vec<Comment>,
    /// Tasks this one waits for.
    pub parents: Vec<Kin>,
    /// Open distress cards whose source is this task.
    pub cards: Vec<String>,
    /// Every card ever made for it under its own key, oldest first.
    #[serde(default)]
    pub cards_made: Vec<CardMade>,
    /// From when to when a worker had an attempt at a card of it; without an end, the attempt is open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub card_work: Vec<(Time, Option<Time>)>,
    /// Where it is worked on.
    #[serde(default)]
    pub place: Place,
    /// Opaque token of the newest event that matters; a different token means that the task was touched.
    pub mark: String,
}

impl Detail {
    /// The open run, where the row points at one.
    pub fn current_run(&self) -> Option<&Run> {
        let id = self.task.current_run?;
        self.runs.iter().find(|r| r.id == id)
    }

    /// The event of the newest claim.
    pub fn newest_claim(&self) -> Option<&Event> {
        self.events.iter().rev().find(|e| e.kind == EventKind::Claimed)
    }

    /// The event of the claim that began an attempt: its newest one.
    pub fn claim_of(&self, run: i64) -> Option<&Event> {
        self.events.iter().rev().find(|e| e.kind == EventKind::Claimed && e.run == Some(run))
    }

    /// The kind of a block: as its event says, else as its row does.
    pub fn block_kind<'d>(&'d self, block: Option<&'d Event>) -> Option<&'d str> {
        let said = block.and_then(|e| e.payload.get("kind")?.as_str()).map(str::trim);
        said.filter(|kind| !kind.is_empty()).or(self.task.block_kind.as_deref())
    }

    /// Until when the claim lasts that its worker made with one of our programs. A dispatcher extends its own for as long as any process
    /// has the worker's number, so the end of such a claim says nothing of the worker.
    pub fn claimed_until(&self) -> Option<Time> {
        self.newest_claim().filter(|e| e.trail().is_some()).and(self.task.claim_expires)
    }

    /// Whether `board run` beats for its worker and extends its claim, whatever that worker does.
    pub fn is_beaten_for(&self) -> bool {
        self.newest_claim().and_then(Event::trail).is_some_and(|trail| trail.get("output").is_some())
    }

    /// Until when a sign of life of its worker is good: its own, or the end of such a claim, which is believed no longer than
    /// `ceiling` seconds.
    pub fn good_until(&self, sign: Time, ceiling: i64) -> Time {
        self.claimed_until().map_or(sign, |until| until.min(sign.plus(ceiling)).max(sign))
    }

    /// The lock of the newest claim, which the history keeps after rows and runs have lost it.
    pub fn newest_lock(&self) -> Option<&str> {
        self.newest_claim()?.payload.get("lock")?.as_str()
    }

    /// The file the newest claim says the worker's last words are in: the agent's own log, else what its command printed.
    pub fn words_file(&self) -> Option<&str> {
        let trail = self.newest_claim()?.trail()?;
        trail.get("log").or_else(|| trail.get("output"))?.as_str()
    }

    /// Whether the newest claim is the worker's own, as `board claim --pid` makes it: no claimer can be gone besides.
    pub fn is_self_claimed(&self) -> bool {
        let claimer = self.task.claim_lock.as_deref().or(self.newest_lock()).and_then(claimer_pid);
        let recorded = || self.newest_claim()?.trail()?.get("pid")?.as_i64();
        claimer.is_some() && claimer == self.task.worker_pid.or_else(recorded)
    }

    /// Run and pid of every worker the board has a record of, as it was spawned or as it claimed. The history keeps what rows
    /// lose when an attempt is closed.
    pub fn workers(&self) -> Vec<(i64, i64)> {
        let said = |e: &Event| match e.kind {
            EventKind::Spawned => e.payload.get("pid")?.as_i64(),
            EventKind::Claimed => e.trail()?.get("pid")?.as_i64(),
            _ => None,
        };
        let events = self.events.iter().filter_map(|e| Some((e.run?, said(e)?)));
        let runs = self.runs.iter().filter_map(|r| Some((r.id, r.worker_pid?)));
        let row = self.task.current_run.zip(self.task.worker_pid);
        events.chain(runs).chain(row).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The workers that claimed this task with a pid, by their recorded starts.
    pub fn recorded(&self) -> Vec<Recorded> {
        let claims = self.events.iter().filter(|e| e.kind == EventKind::Claimed);
        let recorded = |e: &Event| {
            let run = self.runs.iter().find(|r| Some(r.id) == e.run);
            let has_blocked = run.is_some_and(|r| r.outcome.as_deref() == Some("blocked"));
            Some(Recorded { has_blocked, ..e.recorded_worker()? })
        };
        claims.filter_map(recorded).collect()
    }

    /// What is to be asked of a host before it is given to the next worker: who worked on it.
    pub fn freed(&self) -> Freed<'_> {
        Freed { task: &self.task.id, workers: self.workers().into(), recorded: self.recorded().into() }
    }

    /// Whether it can be claimed now, or why not. `own`: on a board without a dispatcher, see [`Board::is_own`].
    ///
    /// # Errors
    /// Why not, behind the name of the task.
    pub fn may_be_claimed(&self, own: bool) -> std::result::Result<(), String> {
        let t = &self.task;
        let open = self.parents.iter().find(|p| !p.status.frees_children());
        match (&t.status, open) {
            (Status::Ready | Status::Todo, Some(open)) => Err(format!("waits for {}", open.id)),
            // With a dispatcher, `todo` is the dispatcher's to promote.
            (Status::Todo, None) if !own || self.parents.is_empty() => Err("is todo, not ready".to_owned()),
            (Status::Ready | Status::Todo, None) => match &t.claim_lock {
                Some(lock) => Err(format!("is claimed by {lock}")),
                None => Ok(()),
            },
            (other, _) => Err(format!("is {other}, not ready")),
        }
    }

    /// The newest attempt, open or closed.
    pub fn newest_run(&self) -> Option<&Run> {
        self.runs.first()
    }
}

/// The open cards among those made for a task and those it waits for.
pub fn open_cards(made: &[CardMade], parents: &[Kin]) -> Vec<String> {
    let mut open: Vec<String> =
        made.iter().filter(|c| !c.status.frees_children()).map(|c| c.id.clone()).collect();
    open.sort();
    for kin in parents.iter().filter(|k| k.is_card() && !k.status.frees_children()) {
        if !open.contains(&kin.id) {
            open.push(kin.id.clone());
        }
    }
    open
}

/// The cards of a task whose attempts are read with it: those made under its own key, and those it waits for.
pub fn its_cards(cards_made: &[CardMade], parents: &[Kin]) -> BTreeSet<String> {
    let parents = parents.iter().filter(|p| p.is_card()).map(|p| p.id.clone());
    cards_made.iter().rev().map(|c| c.id.clone()).chain(parents).take(MAX_CARDS).collect()
}

/// Most cards whose attempts are read with their task.
const MAX_CARDS: usize = 16;

/// Most attempts read for one task.
pub const MAX_RUNS: usize = 30;
/// Most events read for one task.
pub const MAX_EVENTS: usize = 1_000;
/// Most comments read for one task: what Hermes itself shows a worker, and a few more.
pub const MAX_COMMENTS: usize = 50;

/// Most bytes kept of the newest comment of each author: a card quotes a few hundred of what a worker said last.
pub const MAX_FRONT: usize = 2_048;
/// Most bytes kept of every other comment: its first line may speak to us, and nothing else of it is used.
pub const MAX_LINE: usize = 256;

/// What a look of many tasks keeps of the comments of one of them: people and agents paste whole logs into comments, and a
/// pass looks at thousands of tasks at once.
#[derive(Debug, Default)]
pub struct Fronts {
    authors: BTreeSet<String>,
}

impl Fronts {
    /// How many bytes to keep of a comment of this author. Asked from the newest comment to the oldest.
    pub fn most(&mut self, author: &str) -> usize {
        if self.authors.contains(author) {
            return MAX_LINE;
        }
        self.authors.insert(author.to_owned());
        MAX_FRONT
    }

    /// A text of at most so many bytes. Where it was cut it ends with `…` behind a whole word: the front of a line must not
    /// pass for a line of its own, and half a secret is not known as one.
    pub fn of(text: &str, most: usize) -> Cow<'_, str> {
        if text.len() <= most {
            return Cow::Borrowed(text);
        }
        let front = clip(text, most.saturating_sub('…'.len_utf8()));
        let words = front.trim_end_matches(|c: char| !c.is_whitespace());
        Cow::Owned(format!("{}…", if words.is_empty() { front } else { words }))
    }
}

/// Most bytes read of any one text on a board.
pub const MAX_TEXT: usize = 1 << 20;

/// Most bytes of a run's details that are looked into.
const MAX_METADATA: usize = 64 * 1024;

/// How a comment begins that speaks to us.
pub const MARKER: &str = "watchbill:";

/// The note in the payload of a heartbeat.
pub fn noted(payload: &serde_json::Value) -> Option<&str> {
    payload.get("note")?.as_str().map(str::trim).filter(|note| !note.is_empty())
}

/// Most events of those kinds read for one task besides the newest [`MAX_EVENTS`].
pub const MAX_TURNS: usize = 200;

/// An event with its place in the history of the whole board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number: later entries have greater ones.
    pub id: i64,
    /// The task it is about.
    pub task: String,
    /// What happened.
    pub event: Event,
}

/// Who a board is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardId {
    /// Where it is stored.
    pub at: Location,
    /// `default`, a slug, or `None` for a board named by its file or address.
    pub slug: Option<String>,
    /// Where its logs and profiles live: the Hermes root; `None` for a board that stands alone.
    pub root: Option<PathBuf>,
}

impl BoardId {
    /// What to call it in a report.
    pub fn name(&self) -> String {
        match &self.slug {
            Some(slug) => slug.clone(),
            None => self.at.to_string(),
        }
    }

    /// The Hermes root with links resolved: roots of two spellings are the same. `None` outside any.
    pub fn real_root(&self) -> Option<PathBuf> {
        let root = self.root.clone()?;
        Some(root.canonicalize().unwrap_or(root))
    }

    /// Where it is stored, as any working folder would name it: commands in texts are run from anywhere.
    pub fn address(&self) -> String {
        self.whole().to_string()
    }

    /// The same, also where the name of its file is not valid UTF-8.
    pub fn whole(&self) -> Location {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.file().map_or_else(|| self.at.clone(), |path| Location::File(whole(path)))
    }

    /// Its file, where it is stored in one.
    pub fn file(&self) -> Option<&Path> {
        self.at.file()
    }

    /// The folder that holds its file.
    pub fn folder(&self) -> Option<PathBuf> {
        self.at.folder()
    }

    /// A host as this board knows it: see [`Host::of_board`], [`Host::on_shared_board`] and [`Host::of_server`].
    ///
    /// # Errors
    /// A host of a shared board without a name of its own.
    pub fn known_as(&self, host: &Host) -> Result<Host> {
        match &self.at {
            Location::File(file) => Ok(host.of_board(file)),
            Location::Server(_) => Ok(host.on_shared_board()?.of_server(&self.address())),
        }
    }
}

/// The ends of the history of a board, whose events are numbered in their order; no number is given twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The oldest event that is still there: its number, and its task. Of a board that has a name of its own: 0, and that name.
    pub first: Option<(i64, String)>,
    /// The newest number that was given. Of a board that has a name of its own: 2 where anything was ever said there, else 0.
    pub last: i64,
}

/// What a board is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Reading only: the connection cannot write.
    Look,
    /// Reading and writing.
    Change,
}

/// Opens an existing board with the engine that stores it; never makes one. `patience` is the longest wait for another writer.
///
/// # Errors
/// `NoInput` for a missing or empty board, `Data` for anything that is not a board, `Permission`, `Io`, `Busy`.
pub fn open(id: &BoardId, mode: Mode, patience: Duration) -> Result<Box<dyn Board>> {
    match &id.at {
        Location::File(_) => match sqlite::SqliteBoard::open(id.clone(), mode, patience) {
            Ok(board) => Ok(Box::new(board)),
            Err(e) => Err(Error { hint: e.hint.or(discover::lost_root(id).map(str::to_owned)), ..e }),
        },
        Location::Server(address) => engine::of_servers(address)?.open(address, mode, patience),
    }
}

/// Makes a board of our own, with the tables of Hermes 0.19: in a new file, or in a database that is there.
///
/// # Errors
/// `Partial` where something is already there, `Permission` or `Io` where it cannot be made.
pub fn create(at: &Location, patience: Duration) -> Result<()> {
    match at {
        Location::File(path) => sqlite::SqliteBoard::create(path, patience),
        Location::Server(address) => engine::of_servers(address)?.create(address, patience),
    }
}

/// Lets roles of a server use a board on it: the first ones do the work of workers, the others watch it as well.
///
/// # Errors
/// `Partial` for a board that is a file, and for a role that is not there; `Permission` for who may not make and grant roles.
pub fn grant(at: &Location, workers: &[String], watchers: &[String], patience: Duration) -> Result<()> {
    match at {
        Location::File(_) => {
            let error = Error::new(Kind::Partial, at, "is a file: who may use it is told by its rights");
            Err(error.hint("chmod and chown set them"))
        }
        Location::Server(address) => engine::of_servers(address)?.grant(address, workers, watchers, patience),
    }
}

/// Brings the tables of a board on a server to the version of this program. Gives their version before and after.
///
/// # Errors
/// `Partial` for a board that is a file; `Data` for one that is newer than this program; `Permission` for who does not own it.
pub fn upgrade(at: &Location, patience: Duration) -> Result<(i32, i32)> {
    match at {
        Location::File(_) => Err(Error::new(Kind::Partial, at, "is a file, whose tables need no upgrade")),
        Location::Server(address) => engine::of_servers(address)?.upgrade(address, patience),
    }
}

/// What is answered to a task that [`Board::take_next`] offers.
#[derive(Debug)]
pub enum Answer {
    /// It is taken, by this step.
    Take(Box<Step>),
    /// Not this one: the next one is offered.
    Next,
    /// Nothing is taken now.
    Stop,
}

/// Where in the queue [`Board::take_next`] begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin<'a> {
    /// So many free tasks behind the head; at the head where there are not so many.
    At(usize),
    /// With this task, if it is free; else at the head.
    With(&'a str),
}

impl Begin<'_> {
    /// Brings the ids of all free tasks from dispatch order into the order in which they are offered.
    pub fn order(self, free: &mut [String]) {
        match self {
            Begin::At(place) if place < free.len() => free.rotate_left(place),
            Begin::At(_) => {}
            Begin::With(id) => {
                if let Some(at) = free.iter().position(|one| one == id) {
                    free[..=at].rotate_right(1);
                }
            }
        }
    }
}

/// A task board, in domain terms. Synchronous; one pass uses one board at a time.
pub trait Board {
    /// Who it is.
    fn id(&self) -> &BoardId;

    /// Whether it was made by `board init`: no dispatcher belongs to it, so nobody else promotes what becomes free.
    fn is_own(&self) -> bool;

    /// Whether several hosts may work on it. Then a host is told by its name and machine, and its claims by a lease.
    fn is_shared(&self) -> bool {
        false
    }

    /// What a worker finds the board by, which gets no variables of a client of its server.
    fn for_worker(&self) -> OsString {
        self.id().whole().as_os_str().to_owned()
    }

    /// Says that this host works on the board, renews its lease, and gives the board's clock and all its hosts. `None` on a board of
    /// one host. A caller that only asks gets the same, as does a board that was opened to look, and nothing is written.
    ///
    /// # Errors
    /// The board cannot be reached. What [`Attendance::follows`] says.
    fn attend(&mut self, _me: &Attendance<'_>) -> Result<Option<Attended>> {
        Ok(None)
    }

    /// Says of a host that it will not come back, as an operator knows. If it does, it says so by attending.
    ///
    /// # Errors
    /// `Partial` for a host that never attended, and on a board of one host; the board cannot be written.
    fn forget_host(&mut self, _host: &str) -> Result<()> {
        Err(several_hosts::of_one_host(&self.id().at))
    }

    /// Where it stood in the history of its server when it was opened or asked last; `None` for a board without a server.
    fn timeline(&self) -> Option<Timeline> {
        None
    }

    /// Goes on with a server of its address that is not behind this timeline.
    ///
    /// # Errors
    /// `Data` where each of them is, see [`several_hosts::replaced`]; the board cannot be read.
    fn skip_behind(&mut self, _timeline: u32) -> Result<()> {
        Ok(())
    }

    /// What tells it from another board that lies in its place; `None` where nothing does.
    ///
    /// # Errors
    /// The board cannot be read.
    fn history(&mut self) -> Result<Option<History>> {
        Ok(None)
    }

    /// Whether this host, as its claims name it, tells a target of `notify` what needs a person on this board. Of the hosts of one board one
    /// does: the first that asks, and another one once that did not ask for [`HOST_TELLS`]. `renews`: it is about to; else it only asks.
    ///
    /// # Errors
    /// The board cannot be reached.
    fn tells(&mut self, _host: &str, _target: &str, _renews: bool) -> Result<bool> {
        Ok(true)
    }

    /// Which program makes boards of this shape, in words.
    fn shape(&self) -> &'static str;

    /// What is said where an older program made its tables and this one still works on them, with what brings them up to date.
    fn outdated(&self) -> Option<Error> {
        None
    }

    /// The task that has this idempotency key, unless it is archived.
    ///
    /// # Errors
    /// The board cannot be read.
    fn with_key(&mut self, key: &str) -> Result<Option<String>>;

    /// What is wrong with the store, if it is damaged. `thorough` also compares what indexes hold, as Hermes does before it
    /// opens a board; both count their entries. An engine that checks itself says `None`.
    ///
    /// # Errors
    /// The store cannot be read, for another reason than damage.
    fn damage(&self, _thorough: bool) -> Result<Option<String>> {
        Ok(None)
    }

    /// Every row in one of these states, from one snapshot, in dispatch order.
    ///
    /// # Errors
    /// The board cannot be read.
    fn glance(&mut self, of: &[Status]) -> Result<Shared<Task>>;

    /// The states in which tasks of this board are, those that this version does not know among them.
    ///
    /// # Errors
    /// The board cannot be read.
    fn states(&mut self) -> Result<Vec<Status>>;

    /// Every task that is not over, as [`Board::glance`] gives them; also those in a state that this version does not know.
    ///
    /// # Errors
    /// The board cannot be read.
    fn all_open(&mut self) -> Result<Shared<Task>> {
        let unknown = self.states()?.into_iter().filter(|s| matches!(s, Status::Other(_)));
        self.glance(&Status::OPEN.into_iter().chain(unknown).collect::<Vec<_>>())
    }

    /// To whom the tasks are assigned that [`Board::take_next`] may offer, as they are spelled there. Others of tasks in `ready` and `todo` may be
    /// among them.
    ///
    /// # Errors
    /// The board cannot be read.
    fn assignees(&mut self) -> Result<BTreeSet<String>> {
        let tasks = self.glance(&[Status::Ready, Status::Todo])?;
        Ok(tasks.into_iter().filter_map(|t| t.assignee).collect())
    }

    /// The first tasks of these profiles that [`Board::take_next`] would offer, at least `most` of them where there are so many. Later ones, and
    /// others in `ready` and `todo`, may be among them.
    ///
    /// # Errors
    /// The board cannot be read.
    fn next_of(&mut self, of: &[Option<&str>], _most: usize) -> Result<Shared<Task>> {
        let tasks = self.glance(&[Status::Ready, Status::Todo])?;
        Ok(tasks.filtered(|t| of.contains(&t.assignee.as_deref())))
    }

    /// What every task in one of these states waits for, or waited for: also what is not on the board, which [`Story::parents`] leaves
    /// out. From one snapshot, in the order of their ids.
    ///
    /// # Errors
    /// The board cannot be read.
    fn links(&mut self, of: &[Status]) -> Result<Vec<Link>>;

    /// Tasks in `todo` of which a parent is open. One whose open parents are all in states that this version does not know may be missing.
    ///
    /// # Errors
    /// The board cannot be read.
    fn waiting(&mut self) -> Result<BTreeSet<String>> {
        let is_open = |link: &Link| link.status.as_ref().is_some_and(|status| Status::OPEN.contains(status));
        let links = self.links(&[Status::Todo])?.into_iter();
        Ok(links.filter(is_open).map(|link| link.child).collect())
    }

    /// The whole story of some tasks, from one snapshot, but for the [`Fronts`] of their comments; unknown ids are left out.
    ///
    /// # Errors
    /// The board cannot be read.
    fn look(&mut self, ids: &[String]) -> Result<Vec<Detail>>;

    /// The comments of one task as [`Story::comments`] chooses them, with their whole texts.
    ///
    /// # Errors
    /// The board cannot be read.
    fn comments(&mut self, task: &str) -> Result<Vec<Comment>>;

    /// The newest note that came with a heartbeat of a task, which [`Story::events`] leaves out as all heartbeats.
    ///
    /// # Errors
    /// The board cannot be read.
    fn beat_note(&mut self, task: &str) -> Result<Option<String>>;

    /// The result that a task was completed with. Only asked of a board of Hermes.
    ///
    /// # Errors
    /// The board cannot be read.
    fn result(&mut self, _task: &str) -> Result<Option<String>> {
        Err(Error::new(Kind::Bug, &self.id().at, "no result is read from a board of this engine"))
    }

    /// The bare rows of these tasks, from one snapshot, in the order asked for; unknown ids are left out.
    ///
    /// # Errors
    /// The board cannot be read.
    fn titled(&mut self, ids: &[String]) -> Result<Vec<Task>>;

    /// Newest runs of the whole board with their tasks, oldest first, at most `most`: it costs what it returns. Without
    /// their texts: only who worked, when, and how it ended.
    ///
    /// # Errors
    /// The board cannot be read.
    fn recent_runs(&mut self, most: u32) -> Result<Shared<(String, Run)>>;

    /// The tasks of those of the newest `most` runs that ended at that moment or later, in the order of the runs.
    ///
    /// # Errors
    /// The board cannot be read.
    fn ended(&mut self, since: Time, most: u32) -> Result<Vec<String>> {
        let runs = self.recent_runs(most)?;
        Ok(runs
            .into_iter()
            .filter(|(_, r)| r.ended_at.is_some_and(|at| at >= since))
            .map(|(t, _)| t)
            .collect())
    }

    /// Newest events of the whole board, oldest first, none before `since` and at most `most`.
    ///
    /// # Errors
    /// The board cannot be read.
    fn events(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>>;

    /// The same for the kinds in [`EventKind::TURNS`] only: what repeats on every tick does not push them out.
    ///
    /// # Errors
    /// The board cannot be read.
    fn turns(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>>;

    /// Events of the kinds in [`EventKind::SESSION`] on the whole board after the one with this number, oldest first, at most `most`. It
    /// costs what came after that one.
    ///
    /// # Errors
    /// The board cannot be read.
    fn coordinated(&mut self, after: i64, most: u32) -> Result<Vec<Entry>>;

    /// From now on the newest events that it reads are kept, as long as the board is the same: several spans of time will be asked for.
    fn keep_events(&mut self) {}

    /// A token that changes as soon as another connection committed to the board; `None` where that cannot be told. Equal
    /// tokens mean that what was read in between need not be read again.
    ///
    /// # Errors
    /// The board cannot be read.
    fn stamp(&mut self) -> Result<Option<i64>> {
        Ok(None)
    }

    /// Whether it may be written: schema, rights, and a file nobody else lost.
    ///
    /// # Errors
    /// Why it must not be.
    fn writable(&mut self) -> Result<()>;

    /// Carries out steps, each whole or not at all, each guarded by what it expects.
    ///
    /// All of them share one short write transaction, split above [`change::MAX_STEPS`]. `patience` is the longest wait
    /// for another writer.
    ///
    /// # Errors
    /// The board is busy or failed; nothing of the unfinished transaction remains.
    fn apply(&mut self, now: Time, steps: &[Step], patience: Duration) -> Result<Vec<Outcome>>;

    /// Shows the whole board, from one snapshot, to who copies it. Asked once.
    ///
    /// # Errors
    /// The board cannot be read; what `of` says.
    fn snapshot(&mut self, _of: &mut dyn FnMut(&mut dyn copy::Source) -> Result<()>) -> Result<()> {
        Err(Error::new(Kind::Bug, &self.id().at, "no board of this engine is copied"))
    }

    /// Fills a board of `board init` in one transaction, in which nobody else writes to it. Asked once.
    ///
    /// # Errors
    /// The board cannot be written; what `of` says. Then nothing is left of it.
    fn fill(
        &mut self,
        _patience: Duration,
        _of: &mut dyn FnMut(&mut dyn copy::Target) -> Result<()>,
    ) -> Result<()> {
        Err(Error::new(Kind::Bug, &self.id().at, "no board of this engine is filled"))
    }

    /// Removes what may go of the next part of a board of `board init` after this task, in one transaction; see [`prune::part`]. Nothing
    /// is written where only a count is asked for.
    ///
    /// # Errors
    /// The board cannot be read or written; `Permission` for who may not remove anything from it.
    fn prune(
        &mut self,
        _asked: &prune::Asked,
        _after: &str,
        _patience: Duration,
    ) -> Result<Option<(String, prune::Sum)>> {
        Err(Error::new(Kind::Bug, &self.id().at, "nothing is removed from a board of this engine"))
    }

    /// Takes the next free task of these profiles; `None` among them is nobody. Free is what may be claimed, as
    /// [`Detail::may_be_claimed`] tells it, and it is offered in dispatch order, from where `begin` says; behind the last one the
    /// order goes on at its head.
    ///
    /// From the offer until the answer is carried out nobody else takes the task, or moves it: so the answer must not be slow. What
    /// others are just taking is not offered; but that of [`Begin::With`] is waited for. A try that fails for a reason that passes is made again, and offers again.
    ///
    /// Gives the task as it was offered, with the whole texts of its comments, and what became of the step; `None` where nothing is
    /// free, or where the answer was [`Answer::Stop`].
    ///
    /// As it stands here it is for a board with one user.
    ///
    /// # Errors
    /// As of [`Board::apply`].
    fn take_next(
        &mut self,
        now: Time,
        of: &[Option<&str>],
        begin: Begin<'_>,
        patience: Duration,
        answer: &mut dyn FnMut(&Detail) -> Answer,
    ) -> Result<Option<(Detail, Outcome)>> {
        let ready = self.glance(&[Status::Ready, Status::Todo])?;
        let of_these = ready.into_iter().filter(|t| of.contains(&t.assignee.as_deref()));
        let mut seen = self.look(&of_these.map(|t| t.id).collect::<Vec<_>>())?;
        seen.retain(|d| d.may_be_claimed(self.is_own()).is_ok());
        let mut free: Vec<String> = seen.iter().map(|d| d.task.id.clone()).collect();
        begin.order(&mut free);
        for id in free {
            let Some(mut seen) = self.look(&[id])?.pop() else { continue };
            match answer(&seen) {
                Answer::Next => {}
                Answer::Stop => break,
                Answer::Take(step) => {
                    seen.comments = self.comments(&seen.task.id)?;
                    return Ok(self.apply(now, &[*step], patience)?.pop().map(|outcome| (seen, outcome)));
                }
            }
        }
        Ok(None)
    }
}
