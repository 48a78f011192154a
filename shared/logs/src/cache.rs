//! What is remembered between passes: a cache, never a ground for a bolder action. Deleting it costs a longer wait or a
//! second reading, nothing else.

pub mod passes;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{FileTimes, Metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};
use rustix::fs::Access;

pub use self::passes::{Did, Stored};
use base::redact;
use base::time::{DAY, Time};

/// What follows where this cannot be written.
const FORGOTTEN: &str =
    "nothing of this pass is remembered: a stopped worker, waits and a clock that was set are not noticed";

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS clock (boot TEXT PRIMARY KEY, offset INTEGER NOT NULL);
     CREATE TABLE IF NOT EXISTS sightings (key TEXT PRIMARY KEY, since INTEGER NOT NULL);
     CREATE TABLE IF NOT EXISTS logs (key TEXT PRIMARY KEY, offset INTEGER NOT NULL, used INTEGER NOT NULL, body TEXT NOT NULL);
     CREATE TABLE IF NOT EXISTS shared (board TEXT PRIMARY KEY, body TEXT NOT NULL);
     PRAGMA user_version = 5;";

/// The layout above. A file with another one is made anew. Up to 4 the texts in it still had their secrets.
const VERSION: i64 = 5;

/// How long another process may hold the file.
const PATIENCE: Duration = Duration::from_secs(2);

/// Files that another process held for so long, with when that was: this program does not wait for them again within a minute.
static HELD: Mutex<BTreeMap<PathBuf, Instant>> = Mutex::new(BTreeMap::new());
const AGAIN: Duration = Duration::from_secs(60);
/// A pass came lately if it did within so many seconds.
const LATELY: i64 = 600;

/// Seconds after which the cursor of a log that was not looked at is forgotten: Hermes itself deletes a log by then.
const LOG_AGE: i64 = 30 * DAY;

/// Most cursors that are kept.
const MAX_LOGS: i64 = 5_000;

/// The cache, held in memory during a pass and written back afterwards, only where something changed.
#[derive(Debug, Default)]
pub struct Cache {
    path: Option<PathBuf>,
    clock: Option<(String, i64)>,
    new_clock: Option<(String, i64)>,
    sightings: BTreeMap<String, Time>,
    noted: BTreeMap<String, Time>,
    forgotten: BTreeSet<String>,
    logs: BTreeMap<String, LogCursor>,
    shared: BTreeMap<String, String>,
    /// What this pass tells the passes over other boards; `None` is nothing any more.
    told: BTreeMap<String, Option<String>>,
    /// Passes with what they saw.
    kept: Vec<passes::Kept>,
    /// Open for the whole pass: a pass may ask for the cursors of many logs.
    reading: Option<Connection>,
    /// Why what lies there is neither read nor written.
    refused: Option<String>,
}

/// How far a log was read, as its reader wrote it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogRow {
    /// When it was last noted that the cursor is in use.
    pub(crate) used: Time,
    /// The cursor.
    pub body: String,
}

#[derive(Debug)]
struct LogCursor {
    /// The offset in the file as it was read; another pass may have moved it since. `None`: there was none.
    stored: Option<i64>,
    /// What this pass leaves, where it differs.
    new: Option<(i64, LogRow)>,
    old: Option<LogRow>,
}

impl Cache {
    /// A cache that is never written: for dry runs without a file, and for tests.
    pub fn in_memory() -> Cache {
        Cache::default()
    }

    /// Where the cache lies: systemd's `STATE_DIRECTORY`, else `$XDG_STATE_HOME/watchbill`, else `~/.local/state/watchbill`.
    pub fn place(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
        let set = |name: &str| env(name).filter(|v| !v.is_empty());
        let folder = set("STATE_DIRECTORY")
            .and_then(|s| s.split(':').next().map(PathBuf::from))
            .or_else(|| set("XDG_STATE_HOME").map(|s| PathBuf::from(s).join("watchbill")))
            .or_else(|| set("HOME").map(|s| PathBuf::from(s).join(".local/state/watchbill")))?;
        Some(folder.join("state.db"))
    }

    /// Reads what is remembered. A missing or damaged file is an empty cache, and so is one that another user could have
    /// written, or that leads elsewhere.
    pub fn open(path: Option<PathBuf>) -> Cache {
        let refused = path.as_deref().and_then(|p| not_ours(p).map(|why| format!("{}: {why}", p.display())));
        if refused.is_some() {
            return Cache { refused, ..Cache::default() };
        }
        let mut cache = Cache { path, ..Cache::default() };
        let there = cache.path.as_deref().filter(|p| p.is_file());
        if let Some(kept) = there.and_then(|p| noted(p, read(p)).ok()) {
            cache = Cache { path: cache.path, ..kept };
        }
        cache
    }

    /// Whether a later pass will know what this one saw, as far as that can be told: the file may be written, or made.
    pub fn is_kept(&self) -> bool {
        let Some(path) = self.path.as_deref() else { return false };
        // Asked by name: to close a file of one's own would drop the locks of SQLite on it. It writes beside the file as well.
        let may_write = |at: &Path| rustix::fs::access(at, Access::WRITE_OK).is_ok();
        let folder = path.ancestors().skip(1).find(|at| at.exists());
        folder.is_some_and(may_write) && (!path.exists() || may_write(path))
    }

    /// What a pass reads that begins now, of a memory without a file. For simulated passes.
    pub fn recall(&self) -> Cache {
        let (sightings, shared) = (self.sightings.clone(), self.shared.clone());
        Cache { clock: self.clock.clone(), sightings, shared, ..Cache::default() }
    }

    /// Takes over what a pass leaves, as [`Cache::save`] would write it. How far logs were read is not kept.
    pub fn remember(&mut self, pass: &Cache) {
        if pass.new_clock.is_some() {
            self.clock.clone_from(&pass.new_clock);
        }
        self.sightings.retain(|key, _| !pass.forgotten.contains(key));
        for (key, since) in &pass.noted {
            self.sightings.entry(key.clone()).or_insert(*since);
        }
        for (board, body) in &pass.told {
            match body {
                Some(body) => self.shared.insert(board.clone(), body.clone()),
                None => self.shared.remove(board),
            };
        }
    }

    /// Why what lies there is neither read nor written, if so.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Keeps what a pass saw, where an earlier one did not see the same already.
    pub fn keep(&mut self, pass: Stored) {
        self.read_on();
        if passes::is_news(self.reading.as_ref(), &pass) {
            self.kept.push(passes::Kept::of(pass));
        }
    }

    fn read_on(&mut self) {
        if self.reading.is_none() {
            self.reading =
                self.path.as_deref().filter(|p| p.is_file()).and_then(|p| noted(p, reader(p)).ok());
        }
    }

    /// How far a log was read, by this pass or else by an earlier one.
    pub(crate) fn log(&mut self, key: &str) -> Option<LogRow> {
        self.read_on();
        let known = self.logs.entry(key.to_owned()).or_insert_with(|| {
            let found = self.reading.as_ref().and_then(|conn| log_row(conn, key).ok());
            let (stored, old) = found.map_or((None, None), |(offset, row)| (Some(offset), Some(row)));
            LogCursor { stored, new: None, old }
        });
        known.new.as_ref().map(|(_, row)| row).or(known.old.as_ref()).cloned()
    }

    /// Notes how far a log was read, to be saved with the rest: what is said in it without secrets.
    pub(crate) fn put_log(&mut self, key: &str, offset: u64, body: String, now: Time) {
        let Ok(offset) = i64::try_from(offset) else { return };
        let body = match redact::json(&body) {
            Cow::Owned(clean) => clean,
            Cow::Borrowed(_) => body,
        };
        self.log(key);
        if let Some(known) = self.logs.get_mut(key) {
            known.new = Some((offset, LogRow { used: now, body }));
        }
    }

    /// What passes over each board of this host left for the others: how providers stand there.
    pub fn shared(&self) -> Vec<(String, String)> {
        self.shared.iter().map(|(board, body)| (board.clone(), body.clone())).collect()
    }

    /// Leaves this for passes over other boards; `None` where there is nothing to say.
    pub fn put_shared(&mut self, board: &str, body: Option<String>) {
        let body = body.map(|body| redact::json(&body).into_owned());
        if self.shared.get(board) == body.as_ref() {
            return;
        }
        match &body {
            Some(body) => self.shared.insert(board.to_owned(), body.clone()),
            None => self.shared.remove(board),
        };
        self.told.insert(board.to_owned(), body);
    }

    /// Forgets how far logs were read in this pass: what was made of them did not reach the board, so the next pass must see
    /// it again.
    pub fn drop_logs(&mut self) {
        self.logs.clear();
    }

    /// Seconds by which wall clock minus boot clock changed since the last pass that remembered it; `None` on the first
    /// pass of a boot.
    pub fn clock_moved(&mut self, boot: &str, offset: i64) -> Option<i64> {
        let known = self.clock.as_ref().filter(|(b, _)| b == boot).map(|(_, o)| *o);
        let moved = known.map(|o| offset - o);
        // A slow drift is followed in small steps; every second of it is not worth a write.
        if moved.is_none_or(|m| m.abs() > 5) {
            self.new_clock = Some((boot.to_owned(), offset));
        }
        moved
    }

    /// Whether a pass remembered how the wall clock stood, this one among them.
    pub fn knows_clock(&self) -> bool {
        self.clock.is_some() || self.new_clock.is_some()
    }

    /// Lets what a clock that was ahead saw count from now on: else it would begin anew with each pass until that time. For a pass whose own
    /// clock was not given and is trusted.
    pub fn restart_future(&mut self, now: Time) {
        let ahead: Vec<String> = self
            .sightings
            .iter()
            .filter(|(_, since)| since.is_ahead_of(now))
            .map(|(key, _)| key.clone())
            .collect();
        for key in ahead {
            self.noted.insert(key.clone(), now);
            self.sightings.insert(key.clone(), now);
            self.forgotten.insert(key);
        }
    }

    /// Since when this was seen, which is now if it never was.
    pub fn sight(&mut self, key: &str, now: Time) -> Time {
        // A clock that stepped back must not make a sighting last longer than it did.
        if let Some(since) = self.sightings.get(key) {
            return (*since).min(now);
        }
        self.noted.insert(key.to_owned(), now);
        self.sightings.insert(key.to_owned(), now);
        now
    }

    /// Whether this was seen in an earlier pass.
    pub fn was_sighted(&self, key: &str) -> bool {
        self.sightings.contains_key(key) && !self.noted.contains_key(key)
    }

    /// Whether this was seen, in this pass or an earlier one.
    pub fn is_known(&self, key: &str) -> bool {
        self.sightings.contains_key(key)
    }

    /// The sighting with this prefix that was made last.
    pub fn newest(&self, prefix: &str) -> Option<(&str, Time)> {
        self.with(prefix).max_by_key(|(_, since)| **since).map(|(key, since)| (key.as_str(), *since))
    }

    /// What stands behind this prefix in the sightings that have it.
    pub fn names<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.with(prefix).filter_map(move |(key, _)| key.strip_prefix(prefix))
    }

    /// The sighting with this prefix whose name is the last in their order.
    pub fn last(&self, prefix: &str) -> Option<&str> {
        self.with(prefix).last().map(|(key, _)| key.as_str())
    }

    fn with(&self, prefix: &str) -> impl Iterator<Item = (&String, &Time)> {
        self.sightings.range(prefix.to_owned()..).take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// Forgets every sighting with this prefix but those still seen; gives what it forgot.
    pub fn forget(&mut self, prefix: &str, but: &BTreeSet<String>) -> Vec<String> {
        let gone = self.with(prefix).map(|(key, _)| key).filter(|key| !but.contains(*key));
        let gone: Vec<String> = gone.cloned().collect();
        for key in &gone {
            self.sightings.remove(key);
            self.noted.remove(key);
            self.forgotten.insert(key.clone());
        }
        gone
    }

    /// Writes back what changed; after the board's own commit, never in a dry run. Returns a warning where it could not.
    pub fn save(&mut self) -> Option<String> {
        let read_on = self.logs.values().any(|c| c.new.is_some());
        let silent = self.noted.is_empty() && self.forgotten.is_empty() && self.told.is_empty();
        if self.new_clock.is_none() && silent && !read_on && self.kept.is_empty() {
            if let Some(path) = self.path.as_deref().filter(|p| held_mark(p).exists()) {
                look_again(path);
            }
            return None;
        }
        if let Some(why) = &self.refused {
            return Some(format!("{why}; {FORGOTTEN}"));
        }
        let path = self.path.clone()?;
        self.reading = None;
        let done = noted_write(&path, self.write(&path)).or_else(|e| match is_damage(e.as_ref()) {
            // A damaged cache is made anew; a cache is not worth a failed pass.
            true => std::fs::remove_file(&path).map_err(Into::into).and_then(|()| self.write(&path)),
            // A full disk or a busy file will pass, and what others remember in it is worth keeping.
            false => Err(e),
        });
        // What comes after rests on what is stored now.
        self.logs.clear();
        self.kept.clear();
        done.err().map(|e| format!("{}: {e}; {FORGOTTEN}", path.display()))
    }

    /// For how many seconds no pass could write the file because another process held it: from the first one to the last one, where that
    /// was lately. What no pass tried, as while the machine was off, does not count.
    pub fn held_for(path: &Path, now: Time) -> Option<i64> {
        let mark = held_mark(path).metadata().ok()?;
        let at = |time: std::io::Result<SystemTime>| {
            i64::try_from(time.ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
        };
        let (first, last) = (at(mark.modified())?, at(mark.accessed())?);
        (now.since(Time(last)) < LATELY).then(|| (last - first).max(0))
    }

    fn write(&self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        if let Some(folder) = path.parent().filter(|f| !f.is_dir()) {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
        }
        // It says what workers said.
        let file = std::fs::File::options().create(true).append(true).open(path)?;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        drop(file);
        let mut conn = Connection::open(path)?;
        conn.busy_timeout(patience(path))?;
        // What a power cut spoils is read again or made anew: no pass waits for a disk here. A killed pass spoils nothing.
        conn.execute_batch("PRAGMA synchronous = OFF")?;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        match version(&tx)? {
            // With the rest in one transaction: a file is whole or empty, and it is made with as few waits for the disk.
            0 => tx.execute_batch(&format!("{}{SCHEMA}", passes::SCHEMA))?,
            VERSION => {}
            _ => return Err(OtherLayout.into()),
        }
        if let Some((boot, offset)) = &self.new_clock {
            tx.execute("DELETE FROM clock WHERE boot != ?1", [boot])?;
            tx.execute("INSERT OR REPLACE INTO clock (boot, offset) VALUES (?1, ?2)", params![boot, offset])?;
        }
        for key in &self.forgotten {
            tx.execute("DELETE FROM sightings WHERE key = ?1", [key])?;
        }
        for (key, since) in &self.noted {
            tx.execute(
                "INSERT OR IGNORE INTO sightings (key, since) VALUES (?1, ?2)",
                params![key, since.0],
            )?;
        }
        for (board, body) in &self.told {
            match body {
                Some(body) => tx.execute(
                    "INSERT OR REPLACE INTO shared (board, body) VALUES (?1, ?2)",
                    params![board, body],
                )?,
                None => tx.execute("DELETE FROM shared WHERE board = ?1", [board])?,
            };
        }
        self.write_logs(&tx)?;
        passes::write(&tx, &self.kept)?;
        tx.commit()?;
        Ok(())
    }

    fn write_logs(&self, tx: &Connection) -> rusqlite::Result<()> {
        let mut newest = None;
        for (key, cursor) in &self.logs {
            let Some((offset, row)) = &cursor.new else { continue };
            newest = newest.max(Some(row.used.0));
            // Another pass that read on meanwhile has seen more; it keeps the word.
            if let Some(stored) = cursor.stored {
                tx.execute(
                    "UPDATE logs SET offset = ?2, used = ?3, body = ?4 WHERE key = ?1 AND offset = ?5",
                    params![key, offset, row.used.0, row.body, stored],
                )?;
            } else {
                tx.execute(
                    "INSERT OR IGNORE INTO logs (key, offset, used, body) VALUES (?1, ?2, ?3, ?4)",
                    params![key, offset, row.used.0, row.body],
                )?;
            }
        }
        let Some(now) = newest else { return Ok(()) };
        tx.execute("DELETE FROM logs WHERE used < ?1", [now.saturating_sub(LOG_AGE)])?;
        tx.execute(
            "DELETE FROM logs WHERE key IN (SELECT key FROM logs ORDER BY used DESC, key LIMIT -1 OFFSET ?1)",
            [MAX_LOGS],
        )?;
        Ok(())
    }
}

/// Why a cache at this place could have been made by another user, or would be written through a link into another file: a
/// forged sighting or cursor would say what nobody saw.
fn not_ours(path: &Path) -> Option<&'static str> {
    let me = rustix::process::geteuid().as_raw();
    let folder = path.parent().and_then(|f| f.metadata().ok());
    if let Some(folder) = folder.filter(Metadata::is_dir) {
        // A folder of systemd's or an administrator's is root's.
        if folder.uid() != me && folder.uid() != 0 {
            return Some("its folder belongs to another user");
        }
        if folder.mode() & 0o002 != 0 {
            return Some("every user can write its folder");
        }
    }
    let Ok(file) = path.symlink_metadata() else {
        let is_lost = |f: &Path| f.is_symlink() && !f.exists();
        return path
            .ancestors()
            .any(is_lost)
            .then_some("its folder, or one above it, is a link to what is not there");
    };
    match () {
        () if file.is_symlink() => Some("a symbolic link"),
        () if !file.is_file() => Some("not a regular file"),
        () if file.uid() != me => Some("it belongs to another user"),
        () if file.mode() & 0o002 != 0 => Some("every user can write it"),
        () => None,
    }
}

/// The file was made by another version of Watchbill.
#[derive(Debug)]
struct OtherLayout;

impl std::error::Error for OtherLayout {}

impl std::fmt::Display for OtherLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it has another layout")
    }
}

/// Whether the error means that the file cannot be used as a cache. All else, as a full disk, says nothing about what is in it.
fn is_damage(e: &(dyn std::error::Error + 'static)) -> bool {
    let damaged = |e: &rusqlite::Error| match e.sqlite_error_code() {
        // A statement that does not fit the tables.
        Some(ErrorCode::Unknown) | None => true,
        Some(code) => matches!(code, ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt),
    };
    e.is::<OtherLayout>() || e.downcast_ref().is_some_and(damaged)
}

/// A file beside the cache that is there while another process holds that in each pass.
fn held_mark(path: &Path) -> PathBuf {
    path.with_extension("held")
}

fn patience(path: &Path) -> Duration {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let is_held = held.get(path).is_some_and(|at| at.elapsed() < AGAIN);
    if is_held { Duration::ZERO } else { PATIENCE }
}

fn is_busy(e: &rusqlite::Error) -> bool {
    matches!(e.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Takes note of a file that is held.
fn note_held(path: &Path) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.retain(|_, at| at.elapsed() < AGAIN);
    held.entry(path.to_path_buf()).or_insert_with(Instant::now);
}

/// Takes note of whether the file was held.
fn noted<T>(path: &Path, done: rusqlite::Result<T>) -> rusqlite::Result<T> {
    done.inspect_err(|e| {
        if is_busy(e) {
            note_held(path);
        }
    })
}

/// The same of a write, for other programs too.
fn noted_write<T>(
    path: &Path,
    done: Result<T, Box<dyn std::error::Error>>,
) -> Result<T, Box<dyn std::error::Error>> {
    let mark = held_mark(path);
    match &done {
        Ok(_) => drop(std::fs::remove_file(&mark)),
        Err(e) if e.downcast_ref().is_some_and(is_busy) => {
            note_held(path);
            // Its content was changed when it was made, and it was accessed last now.
            let file =
                std::fs::File::options().write(true).create(true).truncate(false).mode(0o600).open(&mark);
            drop(file.and_then(|file| file.set_times(FileTimes::new().set_accessed(SystemTime::now()))));
        }
        Err(_) => {}
    }
    done
}

/// Takes note of whether a file that was held can be written now. One that is gone is not made.
fn look_again(path: &Path) {
    let look = || {
        let mut conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        conn.busy_timeout(patience(path))?;
        conn.transaction_with_behavior(TransactionBehavior::Immediate)?.rollback()
    };
    let _ = noted_write(path, look().map_err(Into::into));
}

fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("PRAGMA user_version", [], |r| r.get(0))
}

fn log_row(conn: &Connection, key: &str) -> rusqlite::Result<(i64, LogRow)> {
    conn.query_row("SELECT offset, used, body FROM logs WHERE key = ?1", [key], |r| {
        Ok((r.get(0)?, LogRow { used: Time(r.get(1)?), body: r.get(2)? }))
    })
}

/// Opens a cache of the present layout to look things up.
fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    conn.busy_timeout(patience(path))?;
    match version(&conn)? {
        VERSION => Ok(conn),
        _ => Err(rusqlite::Error::InvalidQuery),
    }
}

fn read(path: &Path) -> rusqlite::Result<Cache> {
    let conn = reader(path)?;
    let clock =
        conn.query_row("SELECT boot, offset FROM clock LIMIT 1", [], |r| Ok((r.get(0)?, r.get(1)?))).ok();
    let mut statement = conn.prepare("SELECT key, since FROM sightings")?;
    let rows = statement.query_map([], |r| Ok((r.get(0)?, Time(r.get(1)?))))?;
    let sightings = rows.collect::<rusqlite::Result<_>>()?;
    drop(statement);
    let mut statement = conn.prepare("SELECT board, body FROM shared")?;
    let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let shared = rows.collect::<rusqlite::Result<_>>()?;
    drop(statement);
    Ok(Cache { clock, sightings, shared, reading: Some(conn), ..Cache::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_forgets_and_survives_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w/state.db");
        let mut c = Cache::open(Some(path.clone()));
        assert_eq!(c.sight("a:1", Time(10)), Time(10));
        assert_eq!(c.clock_moved("boot", 100), None);
        assert_eq!(c.save(), None);
        assert_eq!(std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);

        let mut c = Cache::open(Some(path.clone()));
        assert!(c.was_sighted("a:1"));
        assert_eq!(c.sight("a:1", Time(70)), Time(10));
        assert_eq!(c.clock_moved("boot", 190), Some(90));
        assert_eq!(c.clock_moved("other boot", 0), None);
        c.forget("a:", &BTreeSet::new());
        assert_eq!(c.save(), None);
        assert!(!Cache::open(Some(path.clone())).was_sighted("a:1"));

        std::fs::write(&path, b"not a database, and long enough to be looked at as one......").unwrap();
        let mut c = Cache::open(Some(path.clone()));
        assert!(!c.was_sighted("a:1"));
        c.sight("b", Time(1));
        assert_eq!(c.save(), None);
        assert!(Cache::open(Some(path)).was_sighted("b"));
    }

    #[test]
    fn what_a_clock_that_was_ahead_saw_counts_from_the_next_pass_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        for (now, since) in [(1_000, 1_000), (31_000_000, 1_000)] {
            let mut c = Cache::open(Some(path.clone()));
            assert_eq!(c.sight("early", Time(now)), Time(since));
            assert_eq!(c.save(), None);
        }
        for (now, is_trusted, since) in [
            (31_000_000, true, 31_000_000),
            (1_500, false, 1_500),
            (2_000, true, 2_000),
            (2_300, true, 2_000),
            (1_900, true, 1_900),
            (2_400, true, 2_000),
        ] {
            let mut c = Cache::open(Some(path.clone()));
            if is_trusted {
                c.restart_future(Time(now));
            }
            assert_eq!(c.sight("late", Time(now)), Time(since), "{now}");
            assert_eq!(c.save(), None);
        }
    }

    #[test]
    fn a_state_is_kept_where_its_file_can_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let kept = |path: &Path| Cache::open(Some(path.to_owned())).is_kept();
        assert!(!Cache::open(None).is_kept(), "it has no file");
        assert!(kept(&dir.path().join("state.db")), "the file is made");
        assert!(kept(&dir.path().join("a/b/state.db")), "so are its folders");
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(kept(&file));
    }

    #[test]
    fn a_busy_file_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        let mut c = Cache::open(Some(path.clone()));
        c.sight("a", Time(10));
        assert_eq!(c.save(), None);
        let mut late = Cache::open(Some(path.clone()));
        late.sight("b", Time(20));
        late.reading = None;
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        assert!(late.save().unwrap().contains("locked"));
        other.execute_batch("ROLLBACK").unwrap();
        let c = Cache::open(Some(path));
        assert!(c.was_sighted("a") && !c.was_sighted("b"));
    }

    fn log_of(path: &Path, key: &str) -> Option<String> {
        Cache::open(Some(path.to_owned())).log(key).map(|row| row.body)
    }

    #[test]
    fn a_log_is_read_on_only_from_where_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        let mut first = Cache::open(Some(path.clone()));
        first.put_log("a", 10, "ten".into(), Time(100));
        assert_eq!(first.log("a").unwrap().body, "ten", "the same pass knows it at once");
        first.drop_logs();
        assert_eq!(first.log("a"), None);
        assert_eq!(first.save(), None);
        assert!(!path.exists(), "nothing is left to be saved");
        first.put_log("a", 10, "ten".into(), Time(100));
        assert_eq!(first.save(), None);

        // Two passes at once: the one that saves first has the word.
        let [mut one, mut two] = [(); 2].map(|()| Cache::open(Some(path.clone())));
        for key in ["a", "b"] {
            assert_eq!(one.log(key), two.log(key));
        }
        for (cache, offset, body) in [(&mut one, 20, "twenty"), (&mut two, 15, "fifteen")] {
            assert_eq!(cache.log("a").unwrap().body, "ten");
            cache.put_log("a", offset, body.into(), Time(200));
            cache.put_log("b", offset, body.into(), Time(200));
            assert_eq!(cache.save(), None);
        }
        assert_eq!(log_of(&path, "a").as_deref(), Some("twenty"));
        assert_eq!(log_of(&path, "b").as_deref(), Some("twenty"));
        assert_eq!(two.log("a").unwrap().body, "twenty", "after its save a pass goes on from what is stored");
        two.put_log("a", 30, "thirty".into(), Time(300));
        assert_eq!(two.save(), None);
        assert_eq!(log_of(&path, "a").as_deref(), Some("thirty"));
    }

    #[test]
    fn old_cursors_are_forgotten_and_their_number_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        let mut c = Cache::open(Some(path.clone()));
        c.put_log("old", 1, "x".into(), Time(0));
        for i in 0..MAX_LOGS {
            c.put_log(&format!("k{i:05}"), 1, "x".into(), Time(LOG_AGE));
        }
        assert_eq!(c.save(), None);
        let count = |path: &Path| {
            let conn = Connection::open(path).unwrap();
            conn.query_row("SELECT count(*) FROM logs", [], |r| r.get::<_, i64>(0)).unwrap()
        };
        assert_eq!((count(&path), log_of(&path, "old")), (MAX_LOGS, None));
        let mut c = Cache::open(Some(path.clone()));
        c.put_log("new", 1, "x".into(), Time(LOG_AGE + 1));
        assert_eq!(c.save(), None);
        assert!(log_of(&path, "new").is_some() && log_of(&path, "k00000").is_some());
        let mut c = Cache::open(Some(path.clone()));
        c.put_log("later", 1, "x".into(), Time(2 * LOG_AGE + 1));
        assert_eq!(c.save(), None);
        assert_eq!(count(&path), 2);
    }

    #[test]
    fn a_file_of_another_layout_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(
            "CREATE TABLE sightings (key TEXT PRIMARY KEY, since INTEGER NOT NULL);
             INSERT INTO sightings VALUES ('a', 1); PRAGMA user_version = 1;",
        )
        .unwrap();
        drop(conn);
        let mut c = Cache::open(Some(path.clone()));
        assert!(!c.was_sighted("a"));
        c.put_log("k", 1, "x".into(), Time(5));
        assert_eq!(c.save(), None);
        assert_eq!(log_of(&path, "k").as_deref(), Some("x"));
        assert!(!Cache::open(Some(path)).was_sighted("a"));
    }

    #[test]
    fn a_place_that_is_not_ours_is_neither_read_nor_written() {
        let dir = tempfile::tempdir().unwrap();
        let (real, path) = (dir.path().join("real.db"), dir.path().join("state.db"));
        let sights = |path: &Path| {
            let mut c = Cache::open(Some(path.to_owned()));
            c.sight("a", Time(10));
            c.save().unwrap_or_default()
        };
        assert_eq!(sights(&real), "");
        let bytes = std::fs::read(&real).unwrap();
        std::os::unix::fs::symlink(&real, &path).unwrap();
        assert!(sights(&path).contains("a symbolic link"));
        assert!(!Cache::open(Some(path.clone())).was_sighted("a"));
        let lost = dir.path().join("lost");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &lost).unwrap();
        for path in [lost.join("state.db"), lost.join("watchbill/state.db")] {
            assert!(sights(&path).contains("is a link to what is not there"), "{}", sights(&path));
        }
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        assert!(sights(&path).contains("not a regular file"));
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(sights(&real).contains("every user can write it"));
        assert_eq!(std::fs::read(&real).unwrap(), bytes);
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(sights(&real).contains("its folder"));
    }

    #[test]
    fn a_file_that_another_process_holds_is_waited_for_once_and_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        let saved = |key: &str| {
            let mut c = Cache::open(Some(path.clone()));
            c.sight(key, Time(5));
            c.save().unwrap_or_default()
        };
        let held = || Cache::held_for(&path, Time::of_clock());
        assert_eq!((saved("a").as_str(), held()), ("", None));
        for hold in ["BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"] {
            let other = Connection::open(&path).unwrap();
            other.execute_batch(hold).unwrap();
            let began = std::time::Instant::now();
            assert!(saved("b").contains("locked"), "{hold}");
            assert!(saved("c").contains("locked"), "{hold}");
            Cache::open(Some(path.clone())).log("k");
            assert!(began.elapsed() < 2 * PATIENCE, "{hold}: {:?}", began.elapsed());
            assert_eq!(held(), Some(0), "{hold}");
            // The first one was half an hour ago.
            let since = SystemTime::now() - Duration::from_secs(1_800);
            let mark = std::fs::File::options().write(true).open(held_mark(&path)).unwrap();
            mark.set_times(FileTimes::new().set_accessed(since).set_modified(since)).unwrap();
            assert_eq!(held(), None, "{hold}: no pass tried since");
            // A pass that has nothing to write says nothing of it while it lasts.
            assert_eq!(Cache::open(Some(path.clone())).save(), None);
            assert!(held().is_some_and(|seconds| (1_799..1_860).contains(&seconds)), "{hold}");
            drop(other);
            assert_eq!(Cache::open(Some(path.clone())).save(), None);
            assert_eq!(held(), None, "{hold}");
            assert_eq!(saved(hold), "", "{hold}");
        }
        assert!(Cache::open(Some(path)).was_sighted("BEGIN IMMEDIATE"));
    }

    #[test]
    fn nothing_new_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        assert_eq!(Cache::open(Some(path.clone())).save(), None);
        assert!(!path.exists());
    }
}
