//! The reading statements whose text depends on the columns a board has. Written once for each board: a pass uses some of
//! them for every task it looks at.

use super::file::{Columns, has};
use crate::EventKind;

/// Task columns in the order [`task`](super::rows::task) reads them; those a board lacks are read as NULL.
pub(super) const TASK_COLUMNS: [&str; 28] = [
    "id",
    "title",
    "assignee",
    "status",
    "priority",
    "created_at",
    "started_at",
    "claim_lock",
    "claim_expires",
    "worker_pid",
    "last_heartbeat_at",
    "current_run_id",
    "consecutive_failures",
    "last_failure_error",
    "max_retries",
    "block_kind",
    "block_recurrences",
    "worker_started_at",
    "idempotency_key",
    "model_override",
    "provider_override",
    "workspace_kind",
    "workspace_path",
    "branch_name",
    "tenant",
    "created_by",
    "completed_at",
    "body",
];

/// How many of them a glance reads: not where it is worked on, and not the body.
pub(super) const GLANCE_COLUMNS: usize = TASK_COLUMNS.len() - 7;
/// What is set for a task alone.
const PIN_COLUMNS: [&str; 2] = ["model_override", "provider_override"];

/// Run columns in the order [`run`](super::rows::run) reads them.
pub(super) const RUN_COLUMNS: [&str; 12] = [
    "id",
    "profile",
    "status",
    "outcome",
    "started_at",
    "ended_at",
    "claim_lock",
    "worker_pid",
    "last_heartbeat_at",
    "error",
    "summary",
    "metadata",
];

/// See [`super::SqliteBoard::reads`].
pub(super) struct Texts {
    pub(super) glance: String,
    pub(super) free: String,
    pub(super) first_free: String,
    pub(super) any_free: String,
    pub(super) titled: String,
    pub(super) task: String,
    pub(super) kin: String,
    pub(super) runs: String,
    pub(super) recent_runs: String,
    pub(super) ended: String,
    pub(super) task_events: String,
    pub(super) task_turns: String,
    pub(super) mark: String,
    pub(super) board_events: String,
    pub(super) turns: String,
    pub(super) coordinated: String,
}

impl Texts {
    pub(super) fn of(columns: &Columns) -> Texts {
        let list = |table: &str, wanted: &[&str]| {
            let one =
                |c: &&str| if has(columns, table, c) { (*c).to_owned() } else { format!("NULL AS {c}") };
            wanted.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        // Bodies stay out: a pass looks at every open row, and a body may be long.
        let glance = list("tasks", &TASK_COLUMNS[..GLANCE_COLUMNS]);
        let runs = list("task_runs", &RUN_COLUMNS);
        // Texts stay out: of the newest runs of a whole board only who, when and how counts.
        let long = ["error", "summary", "metadata"];
        let recent_runs = RUN_COLUMNS.map(|c| match has(columns, "task_runs", c) && !long.contains(&c) {
            true => format!("r.{c}"),
            false => format!("NULL AS {c}"),
        });
        let pin = PIN_COLUMNS.map(|c| match has(columns, "tasks", c) {
            true => format!("t.{c}"),
            false => "NULL".to_owned(),
        });
        let priority = if has(columns, "tasks", "priority") { "t.priority" } else { "0" };
        let parent =
            "EXISTS (SELECT 1 FROM task_links l JOIN tasks p ON p.id = l.parent_id WHERE l.child_id = t.id";
        let links = match columns.contains_key("task_links") {
            true => format!(
                "AND NOT {parent} AND p.status NOT IN ('done', 'archived')) AND (?2 != 'todo' OR {parent}))"
            ),
            false => String::new(),
        };
        let free =
            format!("FROM tasks t WHERE t.assignee IS ?1 AND t.status = ?2 AND t.claim_lock IS NULL {links}");
        let key = if has(columns, "tasks", "idempotency_key") { "t.idempotency_key" } else { "NULL" };
        let ended = if has(columns, "task_runs", "ended_at") { "ended_at" } else { "NULL" };
        let run = if has(columns, "task_events", "run_id") { "run_id" } else { "NULL" };
        let event = format!("SELECT kind, created_at, {run}, payload, id");
        let [noise, turns, coord] =
            [EventKind::NOISE, EventKind::TURNS, EventKind::SESSION].map(EventKind::quoted);
        let of_task = |kinds: &str| {
            format!(
                "{event} FROM task_events WHERE task_id = ?1 AND kind {kinds} ORDER BY created_at DESC, id DESC LIMIT ?2"
            )
        };
        let of_board = |more: &str| {
            format!(
                "{event}, task_id FROM task_events \
                 WHERE id > ?1 AND id <= ?2 AND created_at >= ?3 {more} ORDER BY id"
            )
        };
        Texts {
            glance: format!("SELECT {glance} FROM tasks WHERE status = ?1"),
            // Without an order: on a board of Hermes no index holds it, and what is ready of one profile is little.
            free: format!("SELECT t.id, {priority}, t.created_at {free}"),
            // On boards of `board init` one does: nothing behind the limit is read.
            first_free: format!(
                "SELECT t.id, {priority}, t.created_at {free} ORDER BY {priority} DESC, t.created_at, t.id LIMIT ?3"
            ),
            any_free: format!("SELECT 1 {free} LIMIT 1"),
            titled: format!("SELECT {glance} FROM tasks WHERE id = ?1"),
            task: format!("SELECT {} FROM tasks WHERE id = ?1", list("tasks", &TASK_COLUMNS)),
            kin: format!(
                "SELECT t.id, t.title, t.status, {key} FROM task_links l JOIN tasks t ON t.id = l.parent_id \
                 WHERE l.child_id = ?1"
            ),
            // By start, not by end or id: that is what the index holds.
            runs: format!(
                "SELECT {runs} FROM task_runs WHERE task_id = ?1 ORDER BY started_at DESC, id DESC LIMIT ?2"
            ),
            recent_runs: format!(
                "SELECT {}, r.task_id, {} FROM task_runs r LEFT JOIN tasks t ON t.id = r.task_id \
                 WHERE r.id > (SELECT max(id) FROM task_runs) - ?1 ORDER BY r.id",
                recent_runs.join(", "),
                pin.join(", ")
            ),
            ended: format!(
                "SELECT {ended}, task_id FROM task_runs \
                 WHERE id > (SELECT max(id) FROM task_runs) - ?1 AND {ended} >= ?2 ORDER BY id"
            ),
            task_events: of_task(&format!("NOT IN ({noise})")),
            task_turns: of_task(&format!("IN ({turns})")),
            // The highest id and not the latest time: an event that was written under a slow clock is news too.
            mark: format!("SELECT max(id) FROM task_events WHERE task_id = ?1 AND kind NOT IN ({noise})"),
            board_events: of_board(""),
            turns: of_board(&format!("AND kind IN ({turns})")),
            coordinated: format!(
                "{event}, task_id FROM task_events WHERE id > ?1 AND kind IN ({coord}) ORDER BY id LIMIT ?2"
            ),
        }
    }
}
