//! What `heal` sees: plain data, so that a pass can be shown, saved and decided again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use base::time::Time;
use board::{Attended, Detail, Event, Status, Task};
use host::{Frozen, HostFacts, Look, Target};
use logs::LogEnd;
use logs::vitals::Vitals;
use policy::attempts::session::SessionSeen;
use policy::runtime::Runtime;
use worktree::state::TreeState;

/// Everything one pass of `heal` rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The one reading of the clock.
    pub now: Time,
    /// This machine; `None` where nothing needed it.
    pub host: Option<HostFacts>,
    /// The board's runtime; `None` where nothing needed it.
    pub runtime: Option<Runtime>,
    /// How many open rows were glanced at.
    pub glanced: usize,
    /// The board was made by `board init` and has no dispatcher.
    pub own_board: bool,
    /// Why no case that rests on time may act, if so.
    pub clock_fault: Option<String>,
    /// When a pass saw that the clock had been set; no silence of anything that lives is measured from before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_since: Option<Time>,
    /// Since when passes would have seen that the clock was set or the machine suspended; nobody is stopped for a silence from before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_since: Option<Time>,
    /// The hosts of the board; `None` where only one works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostsSeen>,
    /// Profiles whose key is refused, of those that would be tried again; and tasks with a pin whose key is.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub refused_keys: BTreeSet<String>,
    /// Finished cards of tasks whose hold is over: what they say may not be carried out yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<Detail>,
    /// The owner's quiet hours are now, until then: no hold ends in them.
    #[serde(default)]
    pub quiet_until: Option<Time>,
    /// Candidates, in dispatch order.
    pub tasks: Vec<TaskSeen>,
    /// Our resets on the whole board in the last two hours, oldest first.
    pub recent: Vec<Recent>,
    /// Tasks of earlier storm probes, to see how they fared.
    pub probes: Vec<Detail>,
}

impl Seen {
    /// Nothing, at this moment.
    pub(super) fn blank(now: Time) -> Seen {
        Seen {
            now,
            host: None,
            runtime: None,
            glanced: 0,
            own_board: false,
            clock_fault: None,
            steady_since: None,
            known_since: None,
            hosts: None,
            refused_keys: BTreeSet::new(),
            answered: Vec::new(),
            quiet_until: None,
            tasks: Vec::new(),
            recent: Vec::new(),
            probes: Vec::new(),
        }
    }
}

/// What a pass knows of the hosts of its board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostsSeen {
    /// What the board says of them.
    #[serde(flatten)]
    pub attended: Attended,
    /// The other hosts that hold claims of running tasks, each with the end of the claim that lasts longest.
    pub holders: BTreeMap<String, Option<Time>>,
}

/// One candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskSeen {
    /// Its whole story.
    pub detail: Detail,
    /// The claim names this machine.
    pub claim_here: bool,
    /// The other host of a shared board on which its newest attempt ran: log and folder are there, and neither is looked at here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abroad: Option<String>,
    /// The worker of an earlier attempt that lives on this host, while another one has the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_here: Option<i64>,
    /// What became of its worker.
    pub worker: Option<Look>,
    /// How the newest attempt's log ends.
    pub log: LogEnd,
    /// When that log was last written.
    pub log_at: Option<Time>,
    /// When the command of `board run` that works on it last wrote anything, or the log that its claim names, where that lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_at: Option<Time>,
    /// Since when its living worker has said, by its exit code in the log, that it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Time>,
    /// The frozen cgroup of its living worker, where that was silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Frozen>,
    /// When a pass first saw its living worker stopped by a signal, or frozen, as it has been in each pass since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_since: Option<Time>,
    /// Attempts that the log says were refused, by their number: no death counts that a provider explains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<i64>,
    /// Those of them that ended with 0 and left the task open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_open: Vec<i64>,
    /// When an earlier pass first saw this attempt's worker gone.
    pub gone_since: Option<Time>,
    /// When a pass first saw that a watcher's hold on it was over, as it has been in each pass since; where none remembers that, its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_since: Option<Time>,
    /// When a pass first saw that its log cannot be read, as it has been in each pass since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable_since: Option<Time>,
    /// How the present attempt fares, by its agent's own log; `None` where nothing tells of it.
    #[serde(default)]
    pub vitals: Option<Vitals>,
    /// Its living worker, as it may be stopped; `None` where its environment does not prove who it is.
    #[serde(default)]
    pub target: Option<Target>,
    /// The session that works on it, where no process does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSeen>,
    /// What the next attempt must know; `None` where it does not go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeSeen>,
}

/// What the next attempt must know of the one before it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResumeSeen {
    /// The state of its working tree.
    pub tree: Option<TreeState>,
    /// Why that is not known; `None` also where the board names no folder.
    pub tree_unknown: Option<String>,
    /// Other tasks that work in the same tree, or did since the worker died: what changes there may be theirs.
    pub shares: Vec<String>,
}

/// An event and its task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// The task.
    pub task: String,
    /// The event.
    pub event: Event,
}

/// States `heal` glances at.
pub const GLANCED: [Status; 5] =
    [Status::Running, Status::Ready, Status::Blocked, Status::Todo, Status::Scheduled];

/// Whether a row is worth a closer look, from the row alone. `quiet_enough` is the shortest grace in seconds: no
/// worker that was heard from since can be dead for long enough to matter. A living one is looked at as well, once it had
/// that long to begin: heartbeats are no proof of progress.
pub fn suspect(t: &Task, now: Time, quiet_enough: i64, own_board: bool) -> bool {
    match t.status {
        Status::Running => {
            let heard = t.last_heartbeat_at.or(t.started_at).unwrap_or(t.created_at);
            // A start in the future is a clock fault, which the closer look then names.
            let quiet = now.since(heard);
            let age = now.since(t.started_at.unwrap_or(t.created_at));
            quiet >= quiet_enough || quiet < 0 || age >= quiet_enough
        }
        Status::Ready => {
            let failed = t.last_failure_error.as_deref();
            let stands = |e: &str| e.starts_with(HOST_REFUSES) || base::cause::hermes_guard_matches(e);
            t.claim_lock.is_some() || failed.is_some_and(stands) || inherits(t, now)
        }
        // A worker's or a person's block leaves no failure behind and is nobody's business but theirs.
        Status::Blocked => t.claim_lock.is_some() || t.last_failure_error.is_some() || t.failures > 0,
        Status::Todo => t.claim_lock.is_some() || own_board,
        Status::Scheduled => true,
        _ => false,
    }
}

/// How newer Hermes begins its word on a host that cannot give a worker a systemd scope of its own.
const HOST_REFUSES: &str = "cannot create restart-safe systemd scope";

/// Seconds after which the heartbeat that a ready row kept of its last attempt is too old for the next one: Hermes ends a living
/// worker whose row says that it was silent for an hour, and a claim does not clear what an earlier worker wrote.
const INHERITED: i64 = 1_800;

/// Whether the next attempt at a ready row would begin with the old heartbeat of another.
pub(super) fn inherits(t: &Task, now: Time) -> bool {
    t.last_heartbeat_at.is_some_and(|at| now.since(at) >= INHERITED)
}
