//! The SQLite engine: every SQL text of Watchbill's boards, and how their files are handled.
//!
//! The file belongs to Hermes. Measured on Hermes 0.19: after each commit it opens and closes the file, which
//! by POSIX drops its own locks, so the next closing process could unlink a live WAL. Hence SQLite >= 3.51 (bundled,
//! its guard notices that), no checkpoint and no WAL removal on our close, and never a raw open of the file.

mod copying;
mod file;
mod parts;
mod pruning;
mod rows;
mod texts;

use crate::EventKind;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::types::{Null, ToSql, ToSqlOutput};
use rusqlite::{
    CachedStatement, Connection, ErrorCode, OpenFlags, Statement, Transaction, TransactionBehavior, params,
};
use serde_json::Value;

use self::file::{
    Columns, Place, begin, check_file, columns, connect, copy, is_bare, millis, replaced, settle, told,
};
pub use self::file::{damaged, reindex, repair};
use self::parts::{Kept, newest_parts};
use self::rows::{card_made, cell, event, front, int, pin, place, run, task, text};
use self::texts::{GLANCE_COLUMNS, RUN_COLUMNS, TASK_COLUMNS, Texts};
use super::change::{MAX_STEPS, parts};
use super::copy::{Source, Target};
use super::discover::foreign_storage;
use super::image::{Cell, Column};
use super::prune::{Asked, Sum};
use super::rows::{self as meaning, End, Past, Rows, To};
use super::{
    Answer, Begin, Board, BoardId, Comment, Detail, Entry, Event, Fronts, History, Kin, Link, MARKER,
    MAX_COMMENTS, MAX_EVENTS, MAX_RUNS, MAX_TEXT, MAX_TURNS, Mode, NewTask, Outcome, Run, Shared, Status,
    Step, Story, Task, its_cards, open_cards, title,
};
use base::error::{Error, Kind, Result};
use base::snapshot::Snapshot;
use base::time::Time;

/// `application_id` of boards made by `board init` ("WBIL"). Hermes leaves it 0.
const OUR_APPLICATION: i64 = 0x5742_494C;

/// Tables and columns as Hermes 0.19 makes them, in our own words; so Hermes itself can open a board that Watchbill made.
const SCHEMA: &str = include_str!("schema.sql");

const Q_COLUMNS: &str = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c \
     WHERE m.type = 'table' AND m.name IN ('tasks','task_runs','task_events','task_links','task_comments')";
const Q_LINKS: &str = "SELECT c.id, l.parent_id, p.status FROM tasks c JOIN task_links l ON l.child_id = c.id \
     LEFT JOIN tasks p ON p.id = l.parent_id WHERE c.status = ?1";
const Q_CARDS: &str = "SELECT id, idempotency_key, status, created_at FROM tasks \
     WHERE idempotency_key >= ?1 AND idempotency_key < ?2";
const Q_COMMENTS: &str = "SELECT author, body, created_at FROM task_comments WHERE task_id = ?1 \
     ORDER BY created_at DESC, id DESC LIMIT ?2";
const Q_MARKERS: &str = "SELECT author, body, created_at FROM task_comments WHERE task_id = ?1 AND body LIKE ?2 \
     ORDER BY created_at DESC, id DESC";
const Q_CHILDREN: &str = "SELECT child_id FROM task_links WHERE parent_id = ?1";
const Q_FREE_CHILDREN: &str = "SELECT c.id FROM task_links l JOIN tasks c ON c.id = l.child_id \
     WHERE l.parent_id = ?1 AND c.status = 'todo' AND NOT EXISTS (SELECT 1 FROM task_links m \
     JOIN tasks p ON p.id = m.parent_id WHERE m.child_id = c.id AND p.status NOT IN ('done', 'archived'))";
const Q_THERE: &str = "SELECT EXISTS (SELECT 1 FROM tasks WHERE id = ?1)";
const Q_WAITS: &str = "SELECT EXISTS (SELECT 1 FROM task_links WHERE parent_id = ?1 AND child_id = ?2)";
const Q_KEY: &str = "SELECT id FROM tasks WHERE idempotency_key = ?1 AND status != 'archived' LIMIT 1";
/// From one state to the next in the index, since a board may have thousands of tasks that are done.
const Q_NEXT_STATE: &str = "SELECT min(status) FROM tasks WHERE status > ?1";
const Q_HISTORY: &str = "SELECT id, task_id, (SELECT max(id) FROM task_events) FROM task_events \
     WHERE id = (SELECT min(id) FROM task_events)";
/// What is kept of the numbers of events that are gone.
const Q_NUMBERED: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'task_events'";
const Q_INTEGRITY: &str = "PRAGMA integrity_check(1)";
const Q_RESULT: &str = "SELECT result FROM tasks WHERE id = ?1";
const Q_QUICK: &str = "PRAGMA quick_check(1)";
const W_EVENT: &str =
    "INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
const W_COMMENT: &str =
    "INSERT INTO task_comments (task_id, author, body, created_at) VALUES (?1, ?2, ?3, ?4)";
const W_LINK: &str = "INSERT OR IGNORE INTO task_links (parent_id, child_id) VALUES (?1, ?2)";
const W_UNLINK: &str = "DELETE FROM task_links WHERE parent_id = ?1 AND child_id = ?2";
const W_END_RUN: &str = "UPDATE task_runs SET status = ?2, outcome = ?3, summary = COALESCE(?4, summary), error = ?5, \
     metadata = ?6, ended_at = ?7, claim_lock = NULL, claim_expires = NULL, worker_pid = NULL \
     WHERE id = ?1 AND task_id = ?8 AND ended_at IS NULL";
/// The same where runs have a column for the worker's fingerprint: a newer Hermes keeps by whom a closed run was worked on, so
/// that it can end a worker that outlives it.
const W_END_RUN_KEPT: &str = "UPDATE task_runs SET status = ?2, outcome = ?3, summary = COALESCE(?4, summary), \
     error = ?5, metadata = ?6, ended_at = ?7, claim_expires = NULL \
     WHERE id = ?1 AND task_id = ?8 AND ended_at IS NULL";
const W_MARK_RUN: &str = "UPDATE task_runs SET worker_started_at = ?2, worker_pid = (SELECT worker_pid FROM tasks \
     WHERE id = ?1), claim_lock = (SELECT claim_lock FROM tasks WHERE id = ?1) \
     WHERE id = (SELECT current_run_id FROM tasks WHERE id = ?1) AND ended_at IS NULL";
const W_START_RUN: &str = "INSERT INTO task_runs (task_id, profile, status, claim_lock, claim_expires, worker_pid, \
     max_runtime_seconds, started_at) SELECT id, COALESCE(?2, assignee), 'running', claim_lock, claim_expires, \
     worker_pid, max_runtime_seconds, ?3 FROM tasks WHERE id = ?1";
const W_PAST_RUN: &str = "INSERT INTO task_runs (task_id, profile, status, outcome, summary, metadata, started_at, \
     ended_at) SELECT id, assignee, ?2, ?3, ?4, ?5, ?6, ?6 FROM tasks WHERE id = ?1";
const LAST_END: &str = "SELECT max(ended_at) FROM task_runs WHERE task_id = ?1";
const W_BEAT_RUN: &str = "UPDATE task_runs SET claim_expires = ?2, last_heartbeat_at = ?3 \
     WHERE id = (SELECT current_run_id FROM tasks WHERE id = ?1) AND ended_at IS NULL";

/// Of the newest heartbeats only: there is one a minute.
const Q_BEAT_NOTE: &str = "SELECT payload FROM (SELECT payload, created_at, id FROM task_events WHERE task_id = ?1 \
     AND kind = 'heartbeat' ORDER BY created_at DESC, id DESC LIMIT 1000) WHERE payload LIKE '%\"note\"%' \
     ORDER BY created_at DESC, id DESC LIMIT 1";

/// Columns every known Hermes has; without one of these the file is not a board.
const NEEDED: [&str; 6] = ["id", "title", "assignee", "status", "created_at", "claim_lock"];

/// A board in a SQLite file.
pub struct SqliteBoard {
    id: BoardId,
    conn: Connection,
    columns: Columns,
    texts: Texts,
    own: bool,
    mode: Mode,
    /// Where it writes; `None` where it only looks.
    place: Option<Place>,
    /// Longest wait for another writer, in milliseconds; shared with the connection's busy handler.
    patience: Arc<AtomicU64>,
    /// The newest events, where they are kept for more than one question.
    kept: Option<Kept>,
    /// What is looked at, where SQLite cannot read the board in its own place. After the connection: it is closed first.
    _copy: Option<Snapshot>,
}

/// The statements of a task's story, found once for all tasks of a look.
struct Statements<'c> {
    task: CachedStatement<'c>,
    runs: Option<CachedStatement<'c>>,
    events: Option<CachedStatement<'c>>,
    comments: Option<CachedStatement<'c>>,
    parents: Option<CachedStatement<'c>>,
    cards: Option<CachedStatement<'c>>,
}

impl SqliteBoard {
    /// Opens an existing board; never makes one.
    ///
    /// # Errors
    /// `NoInput` for a missing or empty file, `Data` for anything that is not a board, `Permission`, `Io`, `Busy`.
    pub fn open(id: BoardId, mode: Mode, busy: Duration) -> Result<SqliteBoard> {
        let at = id.at.to_string();
        let Some(path) = id.file().map(Path::to_owned) else {
            return Err(Error::new(Kind::Bug, at, "is not a file"));
        };
        let file = check_file(&path)?;
        let flags = match mode {
            Mode::Look => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Mode::Change => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let patience = Arc::new(AtomicU64::new(millis(busy)));
        let (conn, application, copy) = match begin(&path, flags, &patience) {
            Ok((conn, application)) => (conn, application, None),
            Err(e) if mode == Mode::Look && e.kind == Kind::Permission => {
                let copy = copy(&path)?;
                let (conn, application) = begin(&copy.path(), flags, &patience)?;
                (conn, application, Some(copy))
            }
            Err(e) => return Err(e),
        };
        let own = application == OUR_APPLICATION;
        settle(&conn, own, mode).map_err(|e| told(&at, &e))?;
        if let Some(backend) = id.root.as_deref().filter(|_| !own).and_then(foreign_storage) {
            let what = format!(
                "an old file: Hermes stores these boards in {backend}, and only SQLite files can be read"
            );
            return Err(Error::new(Kind::Data, at, what));
        }
        let columns = columns(&conn).map_err(|e| told(&at, &e))?;
        let tasks = columns.get("tasks");
        if let Some(missing) = NEEDED.iter().find(|c| !tasks.is_some_and(|t| t.contains(**c))) {
            let what = match tasks {
                None => "not a task board: it has no table `tasks`".to_owned(),
                Some(_) => format!("not a known form of task board: `tasks` has no column `{missing}`"),
            };
            return Err(Error::new(Kind::Data, at, what));
        }
        let place = match mode {
            Mode::Look => None,
            Mode::Change => Some(Place::of(&path, file, &conn).ok_or_else(|| replaced(&at))?),
        };
        let texts = Texts::of(&columns);
        Ok(SqliteBoard { id, conn, columns, texts, own, mode, place, patience, kept: None, _copy: copy })
    }

    /// Makes a board of our own in a new file, with the tables of Hermes 0.19.
    ///
    /// # Errors
    /// `Partial` where something is already there, `Permission` or `Io` where it cannot be made.
    pub fn create(path: &Path, busy: Duration) -> Result<()> {
        let at = path.display().to_string();
        let patience = Arc::new(AtomicU64::new(millis(busy)));
        let is_there = |m: Metadata| !m.is_file() || (m.len() > 0 && !is_bare(path, &patience));
        if std::fs::symlink_metadata(path).is_ok_and(is_there) {
            return Err(Error::new(Kind::Partial, at, "already exists; nothing was changed"));
        }
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|e| Error::io(folder.display(), &e))?;
        }
        let conn =
            connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE, &patience)?;
        // One transaction: a process that looks at the file in between sees no board rather than half of one.
        let sql = format!(
            "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; {SCHEMA}; PRAGMA application_id = {OUR_APPLICATION}; COMMIT;"
        );
        conn.execute_batch(&sql).map_err(|e| told(&at, &e))
    }

    /// The reading statements this board uses, by name, for checks of their query plans.
    pub fn reads(&self) -> Vec<(&'static str, String)> {
        let first_free = self.own.then(|| ("first free", self.texts.first_free.clone()));
        let all = vec![
            ("glance", self.texts.glance.clone()),
            ("next state", Q_NEXT_STATE.into()),
            ("task", self.texts.task.clone()),
            ("free", self.texts.free.clone()),
            ("any free", self.texts.any_free.clone()),
            ("titled", self.texts.titled.clone()),
            ("runs", self.texts.runs.clone()),
            ("recent runs", self.texts.recent_runs.clone()),
            ("ended", self.texts.ended.clone()),
            ("task events", self.texts.task_events.clone()),
            ("task turns", self.texts.task_turns.clone()),
            ("mark", self.texts.mark.clone()),
            ("board events", self.texts.board_events.clone()),
            ("turns", self.texts.turns.clone()),
            ("latest", parts::Q_LATEST.into()),
            ("history", Q_HISTORY.into()),
            ("coordinated", self.texts.coordinated.clone()),
            ("parents", self.texts.kin.clone()),
            ("links", Q_LINKS.into()),
            ("cards", Q_CARDS.into()),
            ("comments", Q_COMMENTS.into()),
            ("markers", Q_MARKERS.into()),
            ("children", Q_CHILDREN.into()),
            ("free children", Q_FREE_CHILDREN.into()),
            ("key", Q_KEY.into()),
            ("result", Q_RESULT.into()),
        ];
        all.into_iter().chain(first_free).collect()
    }

    fn has(&self, table: &str, column: &str) -> bool {
        file::has(&self.columns, table, column)
    }

    /// The newest `most` events, or those among them that are turns, read back in parts, oldest first. It ends at a part whose events are
    /// all older than `since`: numbers follow the time, and a window of hours is most often full long before `most`.
    fn board_events(&mut self, only_turns: bool, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        if !self.columns.contains_key("task_events") {
            return Ok(Vec::new());
        }
        let SqliteBoard { id, conn, texts, kept, .. } = self;
        let mut read = || -> rusqlite::Result<Vec<(String, Event)>> {
            let tx = conn.unchecked_transaction()?;
            let parts = newest_parts(&tx, texts, kept.as_mut(), only_turns, since, most)?;
            tx.finish()?;
            Ok(parts.into_iter().rev().flatten().collect())
        };
        read().map_err(|e| told(&id.at.to_string(), &e))
    }

    /// The states in which a task may be free.
    fn states_of_free(&self) -> &'static [Status] {
        if self.own { &[Status::Ready, Status::Todo] } else { &[Status::Ready] }
    }

    /// Whether [`Board::take_next`] may offer anything.
    fn is_any_free(&self, of: &[Option<&str>]) -> rusqlite::Result<bool> {
        let mut statement = self.conn.prepare_cached(&self.texts.any_free)?;
        for (profile, status) in of.iter().flat_map(|p| self.states_of_free().iter().map(move |s| (p, s))) {
            if statement.exists(params![profile, status.as_str()])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What [`Board::take_next`] offers, in this order, as far as it is looked for at first; else all. And whether that is all.
    fn offers(
        &self,
        conn: &Connection,
        of: &[Option<&str>],
        begin: Begin<'_>,
        is_first: bool,
    ) -> rusqlite::Result<(Vec<String>, bool)> {
        let behind = if let Begin::At(place) = begin { place } else { 0 };
        let most = is_first.then(|| FREE.saturating_add(behind));
        let mut free = self.free(conn, of, most)?;
        let is_all = most.is_none_or(|most| free.len() < most);
        match begin {
            _ if is_all => begin.order(&mut free),
            // What lies before it comes after all that lies behind.
            Begin::At(place) => _ = free.drain(..place),
            Begin::With(id) => free.insert(0, id.to_owned()),
        }
        Ok((free, is_all))
    }

    /// The tasks that [`Board::take_next`] may offer, in dispatch order: the first `most`, or all of them.
    fn free(
        &self,
        conn: &Connection,
        of: &[Option<&str>],
        most: Option<usize>,
    ) -> rusqlite::Result<Vec<String>> {
        let sql = if most.is_some() { &self.texts.first_free } else { &self.texts.free };
        let mut statement = conn.prepare_cached(sql)?;
        let mut found = Vec::new();
        for (profile, status) in of.iter().flat_map(|p| self.states_of_free().iter().map(move |s| (p, s))) {
            let mut rows = match most {
                Some(most) => statement.query(params![profile, status.as_str(), most as i64])?,
                None => statement.query(params![profile, status.as_str()])?,
            };
            while let Some(row) = rows.next()? {
                let (priority, made) = (int(row, 1).unwrap_or(0), int(row, 2).unwrap_or(0));
                found.push((Reverse(priority), made, text(row, 0).unwrap_or_default()));
            }
        }
        found.sort_unstable();
        found.truncate(most.unwrap_or(found.len()));
        Ok(found.into_iter().map(|(_, _, id)| id).collect())
    }

    fn whole_comments(&self, conn: &Connection, task: &str) -> rusqlite::Result<Vec<Comment>> {
        if !self.columns.contains_key("task_comments") {
            return Ok(Vec::new());
        }
        comments_in(conn, &mut *conn.prepare_cached(Q_COMMENTS)?, task, true)
    }

    /// One write transaction. Undone where another board lies in the place of this one by its end.
    fn write<T>(
        &self,
        patience: Duration,
        of: impl FnOnce(&mut Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.write_whole(patience, |tx| of(tx).map_err(|e| self.fault(&e)))
    }

    /// The same of what tells its own faults.
    fn write_whole<T>(
        &self,
        patience: Duration,
        of: impl FnOnce(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let fault = |e: rusqlite::Error| self.fault(&e);
        let is_there = || match self.place.as_ref().is_some_and(Place::is_same) {
            true => Ok(()),
            false => Err(replaced(&self.id.at.to_string())),
        };
        self.patience.store(millis(patience), Ordering::Relaxed);
        // IMMEDIATE: a deferred read that turns into a write gets BUSY_SNAPSHOT at once, whatever the busy timeout says.
        let mut tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate).map_err(fault)?;
        let done = of(&mut tx)?;
        // Else dropped, which undoes it.
        is_there()?;
        tx.commit().map_err(fault)?;
        // And once more: what went away during the commit took it along.
        is_there()?;
        Ok(done)
    }

    /// Carries out one step; of one that is not applied nothing is left.
    fn carry_out(&self, tx: &mut Transaction<'_>, now: Time, step: &Step) -> rusqlite::Result<Outcome> {
        let save = tx.savepoint()?;
        let outcome = meaning::step(&mut Open { board: self, tx: &save }, now, step)?;
        match outcome {
            Outcome::Applied { .. } => save.commit()?,
            // Dropped: whatever the step did before it was refused is undone.
            _ => save.finish()?,
        }
        Ok(outcome)
    }

    /// Whether it was opened for writing, and may be written.
    fn changes(&mut self) -> Result<()> {
        if self.mode == Mode::Look {
            let what = "a write on a board that was opened read-only";
            return Err(Error::new(Kind::Bug, &self.id.at, what));
        }
        self.writable()
    }

    fn fault(&self, e: &rusqlite::Error) -> Error {
        told(&self.id.at.to_string(), e)
    }

    fn mark(&self, conn: &Connection, task: &str) -> rusqlite::Result<String> {
        if !self.columns.contains_key("task_events") {
            return Ok(mark_of(0));
        }
        let mut statement = conn.prepare_cached(&self.texts.mark)?;
        let mut rows = statement.query([task])?;
        let id = rows.next()?.and_then(|r| int(r, 0));
        Ok(mark_of(id.unwrap_or(0)))
    }

    /// The statements of a task's story, for those tables that there are.
    fn story<'c>(&self, conn: &'c Connection) -> rusqlite::Result<Statements<'c>> {
        let of = |is_there: bool, sql: &str| is_there.then(|| conn.prepare_cached(sql)).transpose();
        let table = |name: &str, sql: &str| of(self.columns.contains_key(name), sql);
        Ok(Statements {
            task: conn.prepare_cached(&self.texts.task)?,
            runs: table("task_runs", &self.texts.runs)?,
            events: table("task_events", &self.texts.task_events)?,
            comments: table("task_comments", Q_COMMENTS)?,
            parents: table("task_links", &self.texts.kin)?,
            cards: of(self.has("tasks", "idempotency_key"), Q_CARDS)?,
        })
    }

    fn detail(
        &self,
        conn: &Connection,
        reads: &mut Statements<'_>,
        id: &str,
    ) -> rusqlite::Result<Option<Detail>> {
        let mut rows = reads.task.query([id])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let (task, body) = (named(conn, task(row))?, text(row, TASK_COLUMNS.len() - 1).unwrap_or_default());
        let place = place(row, GLANCE_COLUMNS);

        let mut runs = Vec::new();
        if let Some(statement) = &mut reads.runs {
            let mut rows = statement.query(params![id, MAX_RUNS as i64])?;
            while let Some(row) = rows.next()? {
                runs.push(run(row));
            }
        }
        // Read by time (the index), told by id as events are: after a clock was set back an older attempt began later.
        if !runs.is_sorted_by(|a, b| a.id > b.id) {
            runs.sort_unstable_by_key(|r| Reverse(r.id));
        }
        let mut events = Vec::new();
        // The mark, from the very rows it would be looked for in; `None` where ids are no numbers.
        let mut newest = Some(0);
        if let Some(statement) = &mut reads.events {
            let mut rows = statement.query(params![id, MAX_EVENTS as i64])?;
            while let Some(row) = rows.next()? {
                newest = newest.zip(row.get_ref(4)?.as_i64().ok()).map(|(a, b)| a.max(b));
                events.push((int(row, 4), event(row)));
            }
        }
        let is_truncated = events.len() >= MAX_EVENTS;
        if is_truncated {
            // A thousand comments must not push out what holds or stops the task.
            let known: BTreeSet<Option<i64>> = events.iter().map(|(id, _)| *id).collect();
            let mut statement = conn.prepare_cached(&self.texts.task_turns)?;
            let mut rows = statement.query(params![id, MAX_TURNS as i64])?;
            while let Some(row) = rows.next()? {
                if !known.contains(&int(row, 4)) {
                    events.push((int(row, 4), event(row)));
                }
            }
        }
        // Read by time (the index), told by id (the order in which things really happened). Ids that are texts (Hermes
        // 0.12) say nothing; then it is the order of time, from the oldest.
        events.reverse();
        events.sort_by_key(|(id, _)| *id);
        let comments = match &mut reads.comments {
            Some(statement) => comments_in(conn, statement, id, false)?,
            None => Vec::new(),
        };
        let mut parents = Vec::new();
        if let Some(statement) = &mut reads.parents {
            let mut rows = statement.query([id])?;
            while let Some(row) = rows.next()? {
                let title = text(row, 1).unwrap_or_default();
                parents.push(Kin {
                    id: text(row, 0).unwrap_or_default(),
                    status: rows::named(row, 2),
                    stray_title: is_stray(conn, &title, text(row, 3).as_deref())?,
                    title,
                });
            }
            // Sorted here: no index holds this order, and SQLite would build one for every task looked at.
            parents.sort_by(|a, b| a.id.cmp(&b.id));
        }
        let mut cards_made = Vec::new();
        if let Some(statement) = &mut reads.cards {
            // `;` is the byte after `:`, so this is every key with the prefix, by index.
            let mut rows = statement.query([":", ";"].map(|end| ["distress:", id, end].concat()))?;
            while let Some(row) = rows.next()? {
                cards_made.push(card_made(row));
            }
            cards_made.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        }
        let cards = open_cards(&cards_made, &parents);
        let mut card_work = Vec::new();
        for card in its_cards(&cards_made, &parents) {
            let Some(statement) = &mut reads.runs else { break };
            let mut rows = statement.query(params![card, MAX_RUNS as i64])?;
            while let Some(row) = rows.next()? {
                let run = run(row);
                card_work.push((run.started_at, run.ended_at));
            }
        }
        let mark = match newest {
            Some(newest) if !is_truncated => mark_of(newest),
            _ => self.mark(conn, id)?,
        };
        let events: Vec<Event> = events.into_iter().map(|(_, e)| e).collect();
        task.pin.tell(&mut runs, &events);
        Ok(Some(Detail::from(Story {
            task,
            body,
            runs,
            events,
            is_truncated,
            comments,
            parents,
            cards,
            cards_made,
            card_work,
            place,
            mark,
        })))
    }
}

/// A row, after a look at whether the title of what looks like a card names a task.
fn named(conn: &Connection, mut task: Task) -> rusqlite::Result<Task> {
    task.stray_title = is_stray(conn, &task.title, task.idempotency_key.as_deref())?;
    Ok(task)
}

fn is_stray(conn: &Connection, title: &str, key: Option<&str>) -> rusqlite::Result<bool> {
    title::is_stray(title, key, |id| conn.prepare_cached(Q_THERE)?.query_row([id], |r| r.get(0)))
}

/// A board inside the write transaction of a step.
struct Open<'b> {
    board: &'b SqliteBoard,
    tx: &'b Connection,
}

impl Open<'_> {
    fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<()> {
        self.tx.prepare_cached(sql)?.execute(values).map(drop)
    }

    fn truth(&self, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<bool> {
        self.tx.prepare_cached(sql)?.query_row(values, |r| r.get(0))
    }
}

impl Rows for Open<'_> {
    type Fault = rusqlite::Error;

    fn task(&mut self, id: &str) -> rusqlite::Result<Option<(Task, String)>> {
        let mut statement = self.tx.prepare_cached(&self.board.texts.task)?;
        let mut rows = statement.query([id])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some((task(row), self.board.mark(self.tx, id)?)))
    }

    fn mark(&mut self, id: &str) -> rusqlite::Result<String> {
        self.board.mark(self.tx, id)
    }

    fn cell(&mut self, id: &str, column: Column) -> rusqlite::Result<Option<Cell>> {
        if !self.board.has("tasks", column.as_str()) {
            return Ok(None);
        }
        let sql = format!("SELECT {} FROM tasks WHERE id = ?1", column.as_str());
        self.tx.prepare_cached(&sql)?.query_row([id], |r| Ok(Some(cell(r, 0))))
    }

    fn is_there(&mut self, id: &str) -> rusqlite::Result<bool> {
        self.truth(Q_THERE, &[&id])
    }

    fn waits(&mut self, task: &str, parent: &str) -> rusqlite::Result<bool> {
        self.truth(Q_WAITS, &[&parent, &task])
    }

    fn leads(&mut self, from: &str, to: &str) -> rusqlite::Result<bool> {
        let mut statement = self.tx.prepare_cached(Q_CHILDREN)?;
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(id) = next.pop() {
            if id == to {
                return Ok(true);
            }
            if seen.insert(id.clone()) {
                let children = statement.query_map([&id], |r| r.get::<_, String>(0))?;
                next.extend(children.collect::<rusqlite::Result<Vec<_>>>()?);
            }
        }
        Ok(false)
    }

    fn free_children(&mut self, parent: &str) -> rusqlite::Result<Vec<String>> {
        let mut statement = self.tx.prepare_cached(Q_FREE_CHILDREN)?;
        let mut children: Vec<String> =
            statement.query_map([parent], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
        children.sort();
        Ok(children)
    }

    fn set(&mut self, id: &str, to: &[(&'static str, To<'_>)]) -> rusqlite::Result<()> {
        let sets: Vec<_> = to.iter().filter(|(c, _)| self.board.has("tasks", c)).collect();
        let list: Vec<_> = sets.iter().enumerate().map(|(i, (c, _))| format!("{c} = ?{}", i + 2)).collect();
        if list.is_empty() {
            return Ok(());
        }
        let mut values: Vec<&dyn ToSql> = vec![&id];
        values.extend(sets.iter().map(|(_, to)| to as &dyn ToSql));
        self.execute(&format!("UPDATE tasks SET {} WHERE id = ?1", list.join(", ")), &values)
    }

    fn began(&mut self, id: &str, at: Time) -> rusqlite::Result<()> {
        self.execute(
            "UPDATE tasks SET started_at = COALESCE(started_at, ?2) WHERE id = ?1",
            params![id, at.0],
        )
    }

    fn insert(
        &mut self,
        at: Time,
        id: &str,
        status: &Status,
        task: &NewTask,
    ) -> rusqlite::Result<std::result::Result<(), String>> {
        if let Some(key) = &task.idempotency_key {
            let mut statement = self.tx.prepare_cached(Q_KEY)?;
            let mut rows = statement.query([key])?;
            // Inside the transaction, unlike Hermes, so that two makers at once cannot both win.
            if let Some(row) = rows.next()? {
                return Ok(Err(format!("{} already has this key", text(row, 0).unwrap_or_default())));
            }
        }
        let kind = task.workspace_kind.as_deref().unwrap_or("scratch");
        let all: [(&str, &dyn ToSql); 14] = [
            ("id", &id),
            ("title", &task.title),
            ("body", &task.body),
            ("assignee", &task.assignee),
            ("status", &status.as_str()),
            ("priority", &task.priority),
            ("created_by", &task.created_by),
            ("created_at", &at.0),
            ("workspace_kind", &kind),
            ("workspace_path", &task.workspace_path),
            ("tenant", &task.tenant),
            ("idempotency_key", &task.idempotency_key),
            ("max_retries", &task.max_retries),
            ("max_runtime_seconds", &task.max_runtime_seconds),
        ];
        let all: Vec<_> = all.iter().filter(|(c, _)| self.board.has("tasks", c)).collect();
        let names: Vec<_> = all.iter().map(|(c, _)| *c).collect();
        let marks: Vec<_> = (1..=all.len()).map(|n| format!("?{n}")).collect();
        let sql = format!("INSERT INTO tasks ({}) VALUES ({})", names.join(", "), marks.join(", "));
        let values: Vec<&dyn ToSql> = all.iter().map(|(_, v)| *v).collect();
        match self.execute(&sql, &values) {
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                Ok(Err(format!("{id} exists already")))
            }
            made => made.map(Ok),
        }
    }

    fn event(
        &mut self,
        at: Time,
        task: &str,
        kind: &EventKind,
        payload: &Value,
        run: Option<i64>,
    ) -> rusqlite::Result<()> {
        let payload = (!payload.is_null()).then(|| payload.to_string());
        self.execute(W_EVENT, params![task, run, kind.as_str(), payload, at.0])
    }

    fn comment(&mut self, at: Time, task: &str, author: &str, body: &str) -> rusqlite::Result<()> {
        self.execute(W_COMMENT, params![task, author, body, at.0])
    }

    fn start_run(&mut self, at: Time, task: &str, profile: Option<&str>) -> rusqlite::Result<i64> {
        self.execute(W_START_RUN, params![task, profile, at.0])?;
        Ok(self.tx.last_insert_rowid())
    }

    fn last_end(&mut self, task: &str) -> rusqlite::Result<Option<Time>> {
        let end: Option<i64> = self.tx.prepare_cached(LAST_END)?.query_row([task], |r| r.get(0))?;
        Ok(end.map(Time))
    }

    fn past_run(&mut self, task: &str, past: Past<'_>) -> rusqlite::Result<i64> {
        let metadata = past.metadata.map(Value::to_string);
        let (status, outcome) = (past.status(), past.outcome);
        self.execute(W_PAST_RUN, params![task, status, outcome, past.summary, metadata, past.at.0])?;
        Ok(self.tx.last_insert_rowid())
    }

    fn end_run(&mut self, task: &str, run: i64, end: End<'_>) -> rusqlite::Result<()> {
        let metadata = end.metadata.map(Value::to_string);
        let kept = self.board.has("task_runs", "worker_started_at");
        self.execute(
            if kept { W_END_RUN_KEPT } else { W_END_RUN },
            params![run, end.status, end.outcome, end.summary, end.error, metadata, end.at.0, task],
        )
    }

    fn beat_run(&mut self, at: Time, task: &str, expires: Time) -> rusqlite::Result<()> {
        self.execute(W_BEAT_RUN, params![task, expires.0, at.0])
    }

    fn mark_run(&mut self, task: &str, fingerprint: &str) -> rusqlite::Result<()> {
        if self.board.has("task_runs", "worker_started_at") {
            self.execute(W_MARK_RUN, &[&task, &fingerprint])?;
        }
        Ok(())
    }

    fn link(&mut self, parent: &str, child: &str) -> rusqlite::Result<()> {
        self.execute(W_LINK, &[&parent, &child])
    }

    fn unlink(&mut self, parent: &str, child: &str) -> rusqlite::Result<()> {
        self.execute(W_UNLINK, &[&parent, &child])
    }
}

impl ToSql for To<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            To::Nothing => Ok(Null.into()),
            To::Number(n) => n.to_sql(),
            To::Text(text) => text.to_sql(),
        }
    }
}

impl Board for SqliteBoard {
    fn id(&self) -> &BoardId {
        &self.id
    }

    fn is_own(&self) -> bool {
        self.own
    }

    fn history(&mut self) -> Result<Option<History>> {
        if !self.has("task_events", "id") {
            return Ok(None);
        }
        let numbered = || -> rusqlite::Result<Option<i64>> {
            let mut statement = self.conn.prepare_cached(Q_NUMBERED)?;
            Ok(statement.query([])?.next()?.and_then(|row| int(row, 0)))
        };
        let read = || -> rusqlite::Result<Option<History>> {
            let mut statement = self.conn.prepare_cached(Q_HISTORY)?;
            let mut rows = statement.query([])?;
            if let Some(row) = rows.next()? {
                // Ids that are texts (Hermes 0.12) say nothing.
                let (first, last) = (int(row, 0).zip(text(row, 1)), int(row, 2));
                // `board prune` may have removed the newest.
                let last = last.max(if self.own { numbered()? } else { None });
                return Ok(first.zip(last).map(|(first, last)| History { first: Some(first), last }));
            }
            if !self.conn.table_exists(None, "sqlite_sequence")? {
                return Ok(None);
            }
            Ok(Some(History { first: None, last: numbered()?.unwrap_or(0) }))
        };
        read().map_err(|e| self.fault(&e))
    }

    fn shape(&self) -> &'static str {
        let tasks = |column: &str| self.has("tasks", column);
        match () {
            () if self.own => "made by `board init`",
            () if !tasks("current_run_id") || !self.columns.contains_key("task_runs") => {
                "Hermes 0.12 or earlier"
            }
            () if tasks("worker_started_at") => "Hermes later than 0.21.3",
            () if tasks("provider_override") => "Hermes 0.20 to 0.21",
            () if tasks("block_kind") => "Hermes 0.18 or 0.19",
            () if tasks("branch_name") => "Hermes 0.15 to 0.17",
            () => "Hermes 0.13 or 0.14",
        }
    }

    fn with_key(&mut self, key: &str) -> Result<Option<String>> {
        let read = || -> rusqlite::Result<Option<String>> {
            let mut statement = self.conn.prepare_cached(Q_KEY)?;
            let mut rows = statement.query([key])?;
            Ok(rows.next()?.and_then(|r| text(r, 0)))
        };
        read().map_err(|e| self.fault(&e))
    }

    fn damage(&self, thorough: bool) -> Result<Option<String>> {
        let sql = if thorough { Q_INTEGRITY } else { Q_QUICK };
        match self.conn.query_row(sql, [], |r| r.get::<_, String>(0)) {
            Ok(said) if said == "ok" => Ok(None),
            Ok(said) => Ok(Some(said.trim().replace('\n', "; "))),
            Err(e) => match self.fault(&e) {
                fault if fault.kind == Kind::Damaged => Ok(Some(e.to_string())),
                fault => Err(fault),
            },
        }
    }

    fn glance(&mut self, of: &[Status]) -> Result<Shared<Task>> {
        let read = || -> rusqlite::Result<Vec<Task>> {
            let tx = self.conn.unchecked_transaction()?;
            let mut tasks = Vec::new();
            {
                let mut statement = tx.prepare_cached(&self.texts.glance)?;
                for status in of {
                    let mut rows = statement.query([status.as_str()])?;
                    while let Some(row) = rows.next()? {
                        tasks.push(named(&tx, task(row))?);
                    }
                }
            }
            tx.finish()?;
            Ok(tasks)
        };
        let mut tasks = read().map_err(|e| self.fault(&e))?;
        // By keys: a row is too large to be moved at each comparison.
        tasks.sort_by_cached_key(|t| (Reverse(t.priority), t.created_at, t.id.clone()));
        Ok(tasks.into())
    }

    fn states(&mut self) -> Result<Vec<Status>> {
        let read = || -> rusqlite::Result<Vec<Status>> {
            let mut statement = self.conn.prepare_cached(Q_NEXT_STATE)?;
            let (mut states, mut last) = (Vec::new(), String::new());
            while let Some(next) = statement.query_row([&last], |row| Ok(text(row, 0)))? {
                let state = Status::from(next.clone());
                // A state that is not text is read as a different one than SQLite compares with, and would come again.
                if states.contains(&state) {
                    break;
                }
                states.push(state);
                last = next;
            }
            Ok(states)
        };
        read().map_err(|e| self.fault(&e))
    }

    fn links(&mut self, of: &[Status]) -> Result<Vec<Link>> {
        if !self.columns.contains_key("task_links") {
            return Ok(Vec::new());
        }
        let read = || -> rusqlite::Result<Vec<Link>> {
            let tx = self.conn.unchecked_transaction()?;
            let mut links = Vec::new();
            {
                let mut statement = tx.prepare_cached(Q_LINKS)?;
                for status in of {
                    let mut rows = statement.query([status.as_str()])?;
                    while let Some(row) = rows.next()? {
                        let [child, parent] = [0, 1].map(|at| text(row, at).unwrap_or_default());
                        links.push(Link { child, parent, status: text(row, 2).map(Status::from) });
                    }
                }
            }
            tx.finish()?;
            links.sort_unstable();
            Ok(links)
        };
        read().map_err(|e| self.fault(&e))
    }

    fn look(&mut self, ids: &[String]) -> Result<Vec<Detail>> {
        let read = || -> rusqlite::Result<Vec<Detail>> {
            let tx = self.conn.unchecked_transaction()?;
            let mut all = Vec::with_capacity(ids.len());
            {
                let mut reads = self.story(&tx)?;
                for id in ids {
                    all.extend(self.detail(&tx, &mut reads, id)?);
                }
            }
            tx.finish()?;
            Ok(all)
        };
        read().map_err(|e| self.fault(&e))
    }

    fn comments(&mut self, task: &str) -> Result<Vec<Comment>> {
        self.whole_comments(&self.conn, task).map_err(|e| self.fault(&e))
    }

    fn beat_note(&mut self, task: &str) -> Result<Option<String>> {
        let read = || -> rusqlite::Result<Option<String>> {
            let mut statement = self.conn.prepare_cached(Q_BEAT_NOTE)?;
            let mut rows = statement.query([task])?;
            Ok(rows.next()?.and_then(|row| text(row, 0)))
        };
        let payload = read().map_err(|e| self.fault(&e))?;
        Ok(payload.and_then(|p| super::noted(&serde_json::from_str(&p).ok()?).map(str::to_owned)))
    }

    fn result(&mut self, task: &str) -> Result<Option<String>> {
        if !self.has("tasks", "result") {
            return Ok(None);
        }
        let read = || -> rusqlite::Result<Option<String>> {
            let mut statement = self.conn.prepare_cached(Q_RESULT)?;
            let mut rows = statement.query([task])?;
            Ok(rows.next()?.and_then(|row| text(row, 0)))
        };
        read().map_err(|e| self.fault(&e))
    }

    fn titled(&mut self, ids: &[String]) -> Result<Vec<Task>> {
        let read = || -> rusqlite::Result<Vec<Task>> {
            let tx = self.conn.unchecked_transaction()?;
            let mut tasks = Vec::with_capacity(ids.len());
            {
                let mut statement = tx.prepare_cached(&self.texts.titled)?;
                for id in ids {
                    let mut rows = statement.query([id])?;
                    if let Some(row) = rows.next()? {
                        tasks.push(named(&tx, task(row))?);
                    }
                }
            }
            tx.finish()?;
            Ok(tasks)
        };
        read().map_err(|e| self.fault(&e))
    }

    fn recent_runs(&mut self, most: u32) -> Result<Shared<(String, Run)>> {
        if !self.columns.contains_key("task_runs") {
            return Ok(Shared::default());
        }
        let read = || -> rusqlite::Result<Vec<(String, Run)>> {
            let mut statement = self.conn.prepare_cached(&self.texts.recent_runs)?;
            let mut rows = statement.query([most])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let pin = pin(row, RUN_COLUMNS.len() + 1);
                all.push((text(row, RUN_COLUMNS.len()).unwrap_or_default(), Run { pin, ..run(row) }));
            }
            Ok(all)
        };
        read().map(Shared::from).map_err(|e| self.fault(&e))
    }

    fn ended(&mut self, since: Time, most: u32) -> Result<Vec<String>> {
        if !self.columns.contains_key("task_runs") {
            return Ok(Vec::new());
        }
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.conn.prepare_cached(&self.texts.ended)?;
            let mut rows = statement.query(params![most, since.0])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                // To SQLite a text is later than any number.
                if int(row, 0).is_some_and(|at| at >= since.0) {
                    all.push(text(row, 1).unwrap_or_default());
                }
            }
            Ok(all)
        };
        read().map_err(|e| self.fault(&e))
    }

    fn events(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.board_events(false, since, most)
    }

    fn turns(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.board_events(true, since, most)
    }

    fn coordinated(&mut self, after: i64, most: u32) -> Result<Vec<Entry>> {
        if !self.columns.contains_key("task_events") {
            return Ok(Vec::new());
        }
        let read = || -> rusqlite::Result<Vec<Entry>> {
            let mut statement = self.conn.prepare_cached(&self.texts.coordinated)?;
            let mut rows = statement.query(params![after, most])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let (id, task) = (int(row, 4).unwrap_or(0), text(row, 5).unwrap_or_default());
                all.push(Entry { id, task, event: event(row) });
            }
            Ok(all)
        };
        read().map_err(|e| self.fault(&e))
    }

    fn keep_events(&mut self) {
        self.kept.get_or_insert_default();
    }

    fn stamp(&mut self) -> Result<Option<i64>> {
        parts::version(&self.conn).map(Some).map_err(|e| self.fault(&e))
    }

    fn writable(&mut self) -> Result<()> {
        let at = &self.id.at;
        if !self.has("tasks", "current_run_id") || !self.columns.contains_key("task_runs") {
            let hint = "open it once with a newer Hermes (0.13 or later), which migrates it";
            return Err(Error::new(
                Kind::Data,
                at,
                "too old to write: it has no runs (Hermes 0.12 or earlier)",
            )
            .hint(hint));
        }
        if !self.has("task_events", "run_id") || !self.has("tasks", "consecutive_failures") {
            return Err(Error::new(
                Kind::Data,
                at,
                "too old to write: its events or failures have no columns we know",
            )
            .hint("open it once with a newer Hermes (0.13 or later), which migrates it"));
        }
        Ok(())
    }

    fn snapshot(&mut self, of: &mut dyn FnMut(&mut dyn Source) -> Result<()>) -> Result<()> {
        self.copied(of)
    }

    fn fill(&mut self, patience: Duration, of: &mut dyn FnMut(&mut dyn Target) -> Result<()>) -> Result<()> {
        self.filled(patience, of)
    }

    fn prune(&mut self, asked: &Asked, after: &str, patience: Duration) -> Result<Option<(String, Sum)>> {
        self.pruned(asked, after, patience)
    }

    fn apply(&mut self, now: Time, steps: &[Step], patience: Duration) -> Result<Vec<Outcome>> {
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        self.changes()?;
        let mut outcomes = Vec::with_capacity(steps.len());
        for part in parts(steps, MAX_STEPS) {
            let done = self.write(patience, |tx| {
                let mut done: BTreeSet<&str> = BTreeSet::new();
                let mut outcomes = Vec::with_capacity(part.len());
                for step in part {
                    if let Some(first) = step.after.iter().find(|t| !done.contains(t.as_str())) {
                        outcomes.push(Outcome::Moved { what: format!("{first} was not changed") });
                        continue;
                    }
                    let outcome = self.carry_out(tx, now, step)?;
                    if matches!(outcome, Outcome::Applied { .. }) {
                        done.insert(&step.task);
                    }
                    outcomes.push(outcome);
                }
                Ok(outcomes)
            });
            outcomes.extend(done?);
        }
        Ok(outcomes)
    }

    fn take_next(
        &mut self,
        now: Time,
        of: &[Option<&str>],
        begin: Begin<'_>,
        patience: Duration,
        answer: &mut dyn FnMut(&Detail) -> Answer,
    ) -> Result<Option<(Detail, Outcome)>> {
        // A worker that waits for a task asks again and again: that locks nobody out.
        if !self.is_any_free(of).map_err(|e| self.fault(&e))? {
            return Ok(None);
        }
        self.changes()?;
        self.write(patience, |tx| {
            let mut offered = BTreeSet::new();
            // Most often the first one is taken. On a board of Hermes the order of its rows is not that of an index.
            for is_first in [true, false].into_iter().filter(|is_first| self.own || !is_first) {
                let (ids, is_all) = self.offers(tx, of, begin, is_first)?;
                for id in ids {
                    if !offered.insert(id.clone()) {
                        continue;
                    }
                    let seen = self.detail(tx, &mut self.story(tx)?, &id)?;
                    let is_free = |d: &Detail| {
                        of.contains(&d.task.assignee.as_deref()) && d.may_be_claimed(self.own).is_ok()
                    };
                    let Some(mut seen) = seen.filter(is_free) else { continue };
                    match answer(&seen) {
                        Answer::Next => {}
                        Answer::Stop => return Ok(None),
                        Answer::Take(step) => {
                            seen.comments = self.whole_comments(tx, &id)?;
                            let outcome = self.carry_out(tx, now, &step)?;
                            return Ok(Some((seen, outcome)));
                        }
                    }
                }
                if is_all {
                    break;
                }
            }
            Ok(None)
        })
    }
}

/// How many free tasks are looked for at first, behind the place where it begins.
const FREE: usize = 64;

/// What stands for all that was written about a task so far.
fn mark_of(newest: i64) -> String {
    format!("e{newest}")
}

/// The comments of a task, oldest first; whole, or the fronts of them.
fn comments_in(
    conn: &Connection,
    newest: &mut Statement<'_>,
    id: &str,
    whole: bool,
) -> rusqlite::Result<Vec<Comment>> {
    let mut fronts = (!whole).then(Fronts::default);
    let mut comments = comments_of(newest, params![id, MAX_COMMENTS as i64], &mut fronts)?;
    if comments.len() >= MAX_COMMENTS {
        // A marker counts however many comments came after it.
        let mut markers = conn.prepare_cached(Q_MARKERS)?;
        let markers = comments_of(&mut markers, params![id, format!("{MARKER}%")], &mut fronts)?;
        let older: Vec<_> = markers.into_iter().filter(|m| !comments.contains(m)).collect();
        comments.extend(older);
    }
    comments.reverse();
    Ok(comments)
}

fn comments_of(
    statement: &mut Statement<'_>,
    values: &[&dyn ToSql],
    fronts: &mut Option<Fronts>,
) -> rusqlite::Result<Vec<Comment>> {
    let mut rows = statement.query(values)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let author = text(row, 0).unwrap_or_default();
        let most = fronts.as_mut().map_or(MAX_TEXT, |f| f.most(&author));
        let body = front(row, 1, most).unwrap_or_default();
        all.push(Comment { author, body, at: Time(int(row, 2).unwrap_or(0)) });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More free tasks than are looked for at first, in the order of their numbers.
    fn queue(tasks: usize) -> (tempfile::TempDir, SqliteBoard) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.db");
        let at = super::super::Location::from(path.clone());
        super::super::create(&at, Duration::from_secs(5)).unwrap();
        let sql = format!(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {tasks}) \
             INSERT INTO tasks (id, title, status, assignee, priority, created_at) \
             SELECT printf('t_%08x', n), 'Task', 'ready', iif(n % 3, 'luna', 'nova'), 9 - n / 50, 1800000000 + n FROM n"
        );
        Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
        let id = BoardId { at, slug: None, root: None };
        let board = SqliteBoard::open(id, Mode::Change, Duration::from_secs(5)).unwrap();
        (folder, board)
    }

    fn offered(board: &mut SqliteBoard, begin: Begin<'_>) -> Vec<usize> {
        let mut offers = Vec::new();
        let whose = [Some("luna"), Some("nova")];
        let taken =
            board.take_next(Time(1_800_000_000), &whose, begin, Duration::from_secs(5), &mut |seen| {
                offers.push(usize::from_str_radix(&seen.task.id[2..], 16).unwrap());
                Answer::Next
            });
        assert!(taken.unwrap().is_none());
        offers
    }

    #[test]
    fn each_free_task_is_offered_once_from_any_place_on() {
        for tasks in [FREE - 1, FREE, FREE + 1, 5 * FREE] {
            let (_folder, mut board) = queue(tasks);
            for place in [0, 1, FREE - 2, FREE, tasks - 1, tasks, tasks + 9] {
                let mut want: Vec<usize> = (1..=tasks).collect();
                want.rotate_left(if place < tasks { place } else { 0 });
                assert_eq!(offered(&mut board, Begin::At(place)), want, "{place} of {tasks}");
            }
            for first in [1, 2, FREE / 2, tasks, tasks + 1] {
                let id = format!("t_{first:08x}");
                let all = (1..=tasks).filter(|n| *n != first);
                let want: Vec<usize> = (first <= tasks).then_some(first).into_iter().chain(all).collect();
                assert_eq!(offered(&mut board, Begin::With(&id)), want, "{first} of {tasks}");
            }
        }
    }
}
