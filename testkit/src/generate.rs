//! Boards of any size, the same for the same seed, for tests of what a pass costs and for benchmarks.
//!
//! Their shape is that of boards in use: about 1.95 runs, 7.4 events, one comment and 0.6 KB of text a task, most of
//! it finished long ago, the open rows scattered among it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use rusqlite::{CachedStatement, Connection, ToSql, params};
use shared::base::time::Time;
use shared::board::sqlite::SqliteBoard;

use crate::chance::Chance;

/// How many tasks a board has, and how many of them are in which open state; the rest is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// All tasks.
    pub tasks: usize,
    /// Claimed by a worker.
    pub running: usize,
    /// Two thirds by a worker's own word, one third by the failure breaker.
    pub blocked: usize,
    /// Waiting for a worker.
    pub ready: usize,
    /// Waiting for a parent.
    pub todo: usize,
}

impl Sizes {
    /// A board on which what is open grows with what is stored: 1 % running, blocked and ready each, 2 % to do.
    pub fn proportional(tasks: usize) -> Sizes {
        let percent = tasks / 100;
        Sizes { tasks, running: percent, blocked: percent, ready: percent, todo: 2 * percent }
    }

    /// A board with 600 open tasks, however much is stored.
    pub fn fixed(tasks: usize) -> Sizes {
        Sizes { tasks, running: 100, blocked: 100, ready: 100, todo: 300 }
    }

    /// A board on which every task is open: 40 % running, 30 % blocked, 20 % ready, 10 % to do.
    pub fn crowd(tasks: usize) -> Sizes {
        let tenth = tasks / 10;
        let (blocked, ready) = (3 * tenth, 2 * tenth);
        Sizes { tasks, running: tasks - blocked - ready - tenth, blocked, ready, todo: tenth }
    }
}

/// A worker pid that no process of this machine can have: Linux' `pid_max` ends at 2^22.
pub const NO_PID: i64 = 5_000_000;

/// Writes a board of Hermes 0.19 shape into a new file.
///
/// `dead_share` (0 to 1) of the running tasks have a worker that is gone and was last heard from 20 minutes to three
/// hours before `now`; the others had a heartbeat within the 20 seconds before `now` and carry the pid of the calling
/// process. All claims name this machine.
///
/// # Errors
/// The file exists or cannot be written, or more tasks are open than there are.
pub fn generate(path: &Path, sizes: Sizes, seed: u64, now: Time, dead_share: f64) -> Result<()> {
    let open = sizes.running + sizes.blocked + sizes.ready + sizes.todo;
    if open > sizes.tasks {
        bail!("{open} open tasks do not fit into {}", sizes.tasks);
    }
    SqliteBoard::create(path, Duration::from_secs(5))?;
    let conn = Connection::open(path)?;
    // Nobody else has seen the file yet: what a crash leaves is thrown away, so nothing is made safe before the end.
    conn.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")?;
    // Indices sorted in one go afterwards cost a third of what keeping them in order costs.
    let indices = texts(&conn, "SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")?;
    for name in texts(&conn, "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")? {
        conn.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    conn.execute_batch("BEGIN")?;
    fill(&conn, sizes, seed, now, dead_share)?;
    conn.execute_batch("COMMIT")?;
    for sql in indices {
        conn.execute_batch(&sql)?;
    }
    // Hermes leaves the application id 0; Watchbill's mark would make it a board without a dispatcher.
    conn.execute_batch("PRAGMA application_id = 0; PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL;")?;
    Ok(())
}

fn texts(conn: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    conn.prepare(sql)?.query_map([], |r| r.get(0))?.collect()
}

fn fill(conn: &Connection, sizes: Sizes, seed: u64, now: Time, dead_share: f64) -> Result<()> {
    let mut chance = Chance(seed);
    let states = states(sizes, dead_share, &mut chance);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    let mut writer = Writer {
        now: now.0,
        chance,
        lock: format!("{}:{}", host.trim(), std::process::id()),
        task: conn.prepare_cached(
            "INSERT INTO tasks (id, title, body, assignee, status, priority, created_by, created_at, started_at,
               completed_at, claim_lock, claim_expires, worker_pid, last_heartbeat_at, current_run_id, result,
               consecutive_failures, last_failure_error, block_kind, block_recurrences)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'generate', ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
        )?,
        run: conn.prepare_cached(
            "INSERT INTO task_runs (task_id, profile, status, claim_lock, claim_expires, worker_pid, last_heartbeat_at,
               started_at, ended_at, outcome, summary, error) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?,
        event: conn.prepare_cached(
            "INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?,
        comment: conn.prepare_cached(
            "INSERT INTO task_comments (task_id, author, body, created_at) VALUES (?1, ?2, ?3, ?4)",
        )?,
        link: conn.prepare_cached("INSERT INTO task_links (parent_id, child_id) VALUES (?1, ?2)")?,
        runs: 0,
    };
    let id = |i: usize| task_id(seed, i);
    let mut waited_for = None;
    for (i, state) in states.iter().enumerate() {
        let parent = match state {
            State::Todo => waited_for.map(id),
            State::Closed if i > 0 && states[i - 1] == State::Closed && i % 10 == 0 => Some(id(i - 1)),
            _ => None,
        };
        if matches!(state, State::Ready | State::Running { .. } | State::Blocked { .. }) {
            waited_for = Some(i);
        }
        writer.write(&id(i), i, *state, parent.as_deref())?;
    }
    Ok(())
}

/// The id of the `i`th task: an odd factor maps 32 bits onto themselves, so no two are equal.
fn task_id(seed: u64, i: usize) -> String {
    let bits = (i as u64).wrapping_mul(0x9E37_79B1) ^ seed;
    format!("t_{:08x}", bits & 0xffff_ffff)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Running { dead: bool },
    Blocked { gave_up: bool },
    Ready,
    Todo,
}

/// Every task's state, shuffled, so that open rows lie scattered over the pages of the file as they do in life.
fn states(sizes: Sizes, dead_share: f64, chance: &mut Chance) -> Vec<State> {
    let dead = (sizes.running as f64 * dead_share.clamp(0.0, 1.0)).round() as usize;
    let mut all = Vec::with_capacity(sizes.tasks);
    all.extend((0..sizes.running).map(|n| State::Running { dead: n < dead }));
    all.extend((0..sizes.blocked).map(|n| State::Blocked { gave_up: n % 3 == 0 }));
    all.resize(all.len() + sizes.ready, State::Ready);
    all.resize(all.len() + sizes.todo, State::Todo);
    all.resize(sizes.tasks, State::Closed);
    for i in (1..all.len()).rev() {
        all.swap(i, chance.below(i as u64 + 1) as usize);
    }
    all
}

/// Attempts at a task: 1.95 on average.
fn attempts(chance: &mut Chance) -> i64 {
    match chance.below(100) {
        0..40 => 1,
        40..70 => 2,
        70..95 => 3,
        _ => 4,
    }
}

/// Text that task bodies are cut from.
const TEXT: &str = "Make the importer read the new column and keep the old one. The schema is in docs, the fixtures are \
    beside the tests. Do not touch the public interface; a second task changes that later. Run the tests of the package \
    before you finish, and say in the summary which files were changed and why. If the column is missing in a file, take \
    the default of the old one, and write one line to the report. Names of customers must not appear in any log. Where a \
    test is slow, make the input smaller, not the check weaker. The branch is cut from main; rebase it, do not merge. ";

/// Errors of attempts that failed and were tried again.
const REASONS: [&str; 3] = ["stale_lock=other", "manual_reclaim: moved", "stale_lock=gateway"];
const PROFILES: [&str; 5] = ["luna", "nova", "mika", "tuesday", "juno"];
const VIOLATION: &str =
    "worker exited cleanly (rc=0) without calling kanban_complete or kanban_block; protocol violation";

const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;

/// How an attempt ended, and when.
struct End<'a> {
    at: i64,
    status: &'a str,
    outcome: &'a str,
    kind: &'a str,
    payload: String,
    error: Option<&'a str>,
}

struct Writer<'a> {
    now: i64,
    chance: Chance,
    lock: String,
    task: CachedStatement<'a>,
    run: CachedStatement<'a>,
    event: CachedStatement<'a>,
    comment: CachedStatement<'a>,
    link: CachedStatement<'a>,
    /// Runs written so far, which is the id of the newest one.
    runs: i64,
}

impl Writer<'_> {
    fn write(&mut self, id: &str, n: usize, state: State, parent: Option<&str>) -> rusqlite::Result<()> {
        let (now, chance) = (self.now, &mut self.chance);
        let profile = PROFILES[chance.below(5) as usize];
        let oldest = if state == State::Closed { 180 * DAY } else { 4 * DAY };
        let created = now - chance.between(2 * DAY, oldest.max(3 * DAY));
        let attempts = match state {
            State::Ready | State::Todo => 0,
            _ => attempts(chance),
        };
        let from = chance.below(TEXT.len() as u64) as usize;
        let length = chance.between(200, 1_000) as usize;
        let body: String = TEXT.chars().cycle().skip(from).take(length).collect();
        let archived = state == State::Closed && chance.below(10) == 0;
        let status = match state {
            State::Closed if archived => "archived",
            State::Closed => "done",
            State::Running { .. } => "running",
            State::Blocked { .. } => "blocked",
            State::Ready => "ready",
            State::Todo => "todo",
        };

        let born = if parent.is_some() { "todo" } else { "ready" };
        self.tell(
            id,
            None,
            "created",
            Some(&format!(r#"{{"assignee":"{profile}","status":"{born}","parents":[]}}"#)),
            created,
        )?;
        let mut started = None;
        let mut newest = (created, None);
        for n in 1..=attempts {
            // One attempt every hour, the first ten minutes after the task was made.
            let began = created + 600 + (n - 1) * HOUR;
            started = started.or(Some(began));
            if n == attempts && matches!(state, State::Running { .. }) {
                break;
            }
            let end = self.end(state, began + 1_800, n, attempts);
            newest = (end.at, Some(self.closed_run(id, profile, began, &end)?));
            if n == attempts && state == (State::Blocked { gave_up: true }) {
                let payload = format!(
                    r#"{{"failures":2,"effective_limit":2,"limit_source":"dispatcher","error":"{VIOLATION}","trigger_outcome":"crashed"}}"#
                );
                self.tell(id, None, "gave_up", Some(&payload), end.at)?;
            }
        }
        let claim = match state {
            State::Running { dead } => Some(self.open_run(id, profile, dead)?),
            _ => None,
        };
        self.comments(id, newest.0)?;

        let failed = state == (State::Blocked { gave_up: true });
        let done = (state == State::Closed).then_some(newest.0);
        let kind = (status == "blocked" && !failed).then_some("needs_input");
        let claim = claim.unwrap_or_default();
        let values: [&dyn ToSql; 19] = [
            &id,
            &format!("Task {n}: {}", &TEXT[..30]),
            &body,
            &profile,
            &status,
            &i64::from(n % 5 == 4),
            &created,
            &started.or(claim.began),
            &done,
            &claim.began.map(|_| self.lock.clone()),
            &claim.expires,
            &claim.pid,
            &claim.heard,
            &claim.run,
            &done.map(|_| "ok"),
            &if failed { 2 } else { 0 },
            &failed.then_some(VIOLATION),
            &kind,
            &i64::from(kind.is_some()),
        ];
        self.task.execute(values.as_slice())?;
        if let Some(parent) = parent {
            self.link.execute([parent, id])?;
            self.tell(
                id,
                None,
                "linked",
                Some(&format!(r#"{{"parent":"{parent}","child":"{id}"}}"#)),
                created,
            )?;
        }
        Ok(())
    }

    fn tell(
        &mut self,
        id: &str,
        run: Option<i64>,
        kind: &str,
        payload: Option<&str>,
        at: i64,
    ) -> rusqlite::Result<()> {
        self.event.execute(params![id, run, kind, payload, at]).map(drop)
    }

    /// How the `n`th of some attempts ended: all but the last were reclaimed, which Hermes does not count.
    fn end(&mut self, state: State, at: i64, n: i64, attempts: i64) -> End<'static> {
        let reason = REASONS[self.chance.below(3) as usize];
        let end = |status, outcome, kind, payload: &str, error| End {
            at,
            status,
            outcome,
            kind,
            payload: payload.to_owned(),
            error,
        };
        match state {
            State::Blocked { gave_up: true } => end(
                "crashed",
                "crashed",
                "protocol_violation",
                r#"{"exit_code":0,"protocol_violation":true}"#,
                Some(VIOLATION),
            ),
            _ if n < attempts => end(
                "reclaimed",
                "reclaimed",
                "reclaimed",
                r#"{"stale_lock":"gateway:1","terminated":false}"#,
                Some(reason),
            ),
            State::Blocked { gave_up: false } => end(
                "blocked",
                "blocked",
                "blocked",
                r#"{"reason":"which of the two columns?","kind":"needs_input","recurrences":1}"#,
                None,
            ),
            _ => end(
                "done",
                "completed",
                "completed",
                r#"{"result_len":2,"summary":"read the new column"}"#,
                None,
            ),
        }
    }

    fn claimed(&mut self, id: &str, run: i64, began: i64) -> rusqlite::Result<()> {
        let payload = format!(r#"{{"lock":"{}","expires":{},"run_id":{run}}}"#, self.lock, began + 900);
        self.tell(id, Some(run), "claimed", Some(&payload), began)
    }

    fn closed_run(&mut self, id: &str, profile: &str, began: i64, end: &End<'_>) -> rusqlite::Result<i64> {
        let none = None::<i64>;
        let summary = (end.outcome == "completed").then_some("read the new column; tests pass");
        self.run.execute(params![
            id,
            profile,
            end.status,
            none,
            none,
            none,
            end.at - 30,
            began,
            end.at,
            end.outcome,
            summary,
            end.error
        ])?;
        self.runs += 1;
        let run = self.runs;
        self.claimed(id, run, began)?;
        // The rest was claimed by hand, which spawns nothing.
        if self.chance.below(100) < 77 {
            let pid = 10_000 + run % 20_000;
            self.tell(id, Some(run), "spawned", Some(&format!(r#"{{"pid":{pid}}}"#)), began + 1)?;
        }
        self.tell(id, Some(run), end.kind, Some(&end.payload), end.at)?;
        Ok(run)
    }

    fn open_run(&mut self, id: &str, profile: &str, dead: bool) -> rusqlite::Result<Claim> {
        let heard =
            self.now - if dead { self.chance.between(20 * 60, 3 * HOUR) } else { self.chance.between(0, 20) };
        let began = heard - self.chance.between(60, HOUR);
        let expires = heard + 900;
        let run = self.runs + 1;
        let pid = if dead { NO_PID + run } else { i64::from(std::process::id()) };
        let none = None::<String>;
        self.run.execute(params![
            id, profile, "running", self.lock, expires, pid, heard, began, none, none, none, none
        ])?;
        self.runs = run;
        self.claimed(id, run, began)?;
        self.tell(id, Some(run), "spawned", Some(&format!(r#"{{"pid":{pid}}}"#)), began + 1)?;
        let some = Some;
        Ok(Claim {
            run: some(run),
            began: some(began),
            expires: some(expires),
            heard: some(heard),
            pid: some(pid),
        })
    }

    fn comments(&mut self, id: &str, at: i64) -> rusqlite::Result<()> {
        for _ in 0..[0, 1, 1, 2][self.chance.below(4) as usize] {
            self.comment.execute(params![
                id,
                "rosa",
                "The column is called `region` in the new files.",
                at
            ])?;
            self.tell(id, None, "commented", Some(r#"{"author":"rosa","len":47}"#), at)?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Claim {
    run: Option<i64>,
    began: Option<i64>,
    expires: Option<i64>,
    heard: Option<i64>,
    pid: Option<i64>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn count(conn: &Connection, sql: &str) -> f64 {
        conn.query_row(sql, [], |r| r.get::<_, i64>(0)).unwrap() as f64
    }

    /// The average board was measured on boards in use; a generator that drifts from it makes every benchmark wrong.
    #[test]
    fn has_the_shape_of_boards_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kanban.db");
        let now = Time(1_800_000_000);
        generate(&path, Sizes::proportional(5_000), 7, now, 0.4).unwrap();
        let conn = Connection::open(&path).unwrap();
        let each = |sql: &str| count(&conn, sql) / 5_000.0;
        let near = |what: &str, is: f64, should: f64| {
            assert!((is / should - 1.0).abs() < 0.05, "{what}: {is}, not {should}")
        };
        near("runs", each("SELECT count(*) FROM task_runs"), 1.9);
        near("events", each("SELECT count(*) FROM task_events"), 7.4);
        near("comments", each("SELECT count(*) FROM task_comments"), 1.0);
        near("body", each("SELECT sum(length(body)) FROM tasks"), 600.0);
        let states: [(&str, f64); 6] = [
            ("running", 50.0),
            ("blocked", 50.0),
            ("ready", 50.0),
            ("todo", 100.0),
            ("scheduled", 0.0),
            ("triage", 0.0),
        ];
        for (state, n) in states {
            assert_eq!(
                count(&conn, &format!("SELECT count(*) FROM tasks WHERE status = '{state}'")),
                n,
                "{state}"
            );
        }
        assert_eq!(count(&conn, "SELECT count(*) FROM tasks WHERE worker_pid >= 5000000"), 20.0);

        // What Hermes itself never breaks.
        for broken in [
            "SELECT count(*) FROM tasks WHERE (status = 'running') != (current_run_id IS NOT NULL)",
            "SELECT count(*) FROM tasks t WHERE current_run_id IS NOT NULL AND NOT EXISTS
               (SELECT 1 FROM task_runs r WHERE r.id = t.current_run_id AND r.task_id = t.id AND r.ended_at IS NULL)",
            "SELECT count(*) FROM task_runs WHERE (ended_at IS NULL) != (status = 'running')",
            "SELECT count(*) FROM task_events WHERE created_at > 1800000000 OR NOT json_valid(payload)",
            "SELECT count(*) FROM tasks WHERE status = 'todo' AND NOT EXISTS (SELECT 1 FROM task_links l JOIN tasks p
               ON p.id = l.parent_id WHERE l.child_id = tasks.id AND p.status NOT IN ('done', 'archived'))",
            "SELECT count(*) FROM pragma_application_id() WHERE application_id != 0",
        ] {
            let allowed = if broken.contains("'todo'") { 5.0 } else { 0.0 };
            assert!(count(&conn, broken) <= allowed, "{broken}");
        }
        let plain = dir.path().join("plain.db");
        SqliteBoard::create(&plain, Duration::from_secs(5)).unwrap();
        let schema = "SELECT name || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
        assert_eq!(texts(&conn, schema).unwrap(), texts(&Connection::open(&plain).unwrap(), schema).unwrap());
        let sound: String = conn.query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
        assert_eq!(sound, "ok");
    }

    #[test]
    fn the_same_seed_makes_the_same_board_and_another_another() {
        let dir = tempfile::tempdir().unwrap();
        let rows = |name: &str, seed: u64| {
            let path = dir.path().join(name);
            generate(
                &path,
                Sizes { tasks: 50, running: 5, blocked: 5, ready: 5, todo: 5 },
                seed,
                Time(1_800_000_000),
                0.5,
            )
            .unwrap();
            let conn = Connection::open(&path).unwrap();
            let tasks =
                texts(&conn, "SELECT id || status || created_at || body FROM tasks ORDER BY rowid").unwrap();
            (
                tasks,
                texts(&conn, "SELECT task_id || kind || created_at FROM task_events ORDER BY id").unwrap(),
            )
        };
        assert_eq!(rows("a", 1), rows("b", 1));
        assert_ne!(rows("c", 1), rows("d", 2));
    }

    #[test]
    fn refuses_what_does_not_fit_and_what_exists() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kanban.db");
        assert!(generate(&path, Sizes::fixed(500), 1, Time(0), 0.0).is_err());
        generate(&path, Sizes::fixed(600), 1, Time(1_800_000_000), 0.0).unwrap();
        assert!(generate(&path, Sizes::fixed(600), 1, Time(1_800_000_000), 0.0).is_err());
    }
}
