//! What is remembered between passes: a cache, never a ground for a bolder action. Deleting it costs a longer wait or a
//! second reading, nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use crate::time::Time;

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS clock (boot TEXT PRIMARY KEY, offset INTEGER NOT NULL);
     CREATE TABLE IF NOT EXISTS sightings (key TEXT PRIMARY KEY, since INTEGER NOT NULL);
     PRAGMA user_version = 1;";

/// The cache, held in memory during a pass and written back afterwards, only where something changed.
#[derive(Debug, Default)]
pub struct Cache {
    path: Option<PathBuf>,
    clock: Option<(String, i64)>,
    new_clock: Option<(String, i64)>,
    sightings: BTreeMap<String, Time>,
    noted: BTreeMap<String, Time>,
    forgotten: BTreeSet<String>,
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

    /// Reads what is remembered. A missing or damaged file is an empty cache.
    pub fn open(path: Option<PathBuf>) -> Cache {
        let mut cache = Cache { path, ..Cache::default() };
        let there = cache.path.as_deref().filter(|p| p.is_file());
        if let Some((clock, sightings)) = there.and_then(|p| read(p).ok()) {
            (cache.clock, cache.sightings) = (clock, sightings);
        }
        cache
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

    /// Since when this was seen, which is now if it never was.
    pub fn sight(&mut self, key: &str, now: Time) -> Time {
        if let Some(since) = self.sightings.get(key) {
            // A clock that stepped back must not make a sighting last longer than it did.
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

    /// Forgets every sighting with this prefix but those still seen.
    pub fn forget(&mut self, prefix: &str, but: &BTreeSet<String>) {
        let gone: Vec<String> = self
            .sightings
            .range(prefix.to_owned()..)
            .take_while(|(k, _)| k.starts_with(prefix))
            .filter(|(k, _)| !but.contains(*k))
            .map(|(k, _)| k.clone())
            .collect();
        for key in gone {
            self.sightings.remove(&key);
            self.noted.remove(&key);
            self.forgotten.insert(key);
        }
    }

    /// Writes back what changed; after the board's own commit, never in a dry run. Returns a warning where it could not.
    pub fn save(&mut self) -> Option<String> {
        let path = self.path.clone()?;
        if self.new_clock.is_none() && self.noted.is_empty() && self.forgotten.is_empty() {
            return None;
        }
        let done = self.write(&path).or_else(|_| {
            // A damaged cache is made anew; a cache is not worth a failed pass.
            let _ = std::fs::remove_file(&path);
            self.write(&path)
        });
        done.err().map(|e| format!("{}: {e}; nothing is remembered until the next pass", path.display()))
    }

    fn write(&self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        if let Some(folder) = path.parent().filter(|f| !f.is_dir()) {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
        }
        let mut conn = Connection::open(path)?;
        conn.busy_timeout(Duration::from_secs(2))?;
        conn.execute_batch(SCHEMA)?;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
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
        tx.commit()?;
        Ok(())
    }
}

type Remembered = (Option<(String, i64)>, BTreeMap<String, Time>);

fn read(path: &Path) -> rusqlite::Result<Remembered> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    conn.busy_timeout(Duration::from_secs(2))?;
    let clock =
        conn.query_row("SELECT boot, offset FROM clock LIMIT 1", [], |r| Ok((r.get(0)?, r.get(1)?))).ok();
    let mut statement = conn.prepare("SELECT key, since FROM sightings")?;
    let rows = statement.query_map([], |r| Ok((r.get(0)?, Time(r.get(1)?))))?;
    Ok((clock, rows.collect::<rusqlite::Result<_>>()?))
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
    fn nothing_new_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        assert_eq!(Cache::open(Some(path.clone())).save(), None);
        assert!(!path.exists());
    }
}
