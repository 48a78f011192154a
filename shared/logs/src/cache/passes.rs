//! Passes that had something to say, with what they saw: for a month, and within a bound.

use std::borrow::Cow;
use std::path::Path;

use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use base::hash::fnv;
use base::redact;
use base::time::{FUTURE, Time};
use board::{Rule, Step, StepAction};

/// A pass that had something to say, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The board's file.
    pub board: String,
    /// The watcher.
    pub program: String,
    /// The pass.
    pub pass: String,
    /// When.
    pub at: Time,
    /// Its clock was given, which what it wrote says.
    pub clock_given: bool,
    /// The one task it looked at, if so.
    pub only: Option<String>,
    /// What it did, step by step.
    pub did: Vec<Did>,
    /// What it saw, as JSON.
    pub seen: String,
}

/// A step that was decided, without what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Did {
    /// The task.
    pub task: String,
    /// The verb.
    pub action: StepAction,
    /// The rule.
    pub case: Rule,
    /// A hash of the whole step.
    pub hash: String,
}

impl Did {
    /// What a step comes to.
    pub fn of(step: &Step) -> Did {
        let whole = serde_json::to_vec(step).unwrap_or_default();
        Did {
            task: step.task.clone(),
            action: step.action.clone(),
            case: step.case.clone(),
            hash: format!("{:016x}", fnv(whole)),
        }
    }
}

impl Stored {
    /// What stands for all that was seen but the moment: of two passes that differ in nothing else one is enough.
    pub(crate) fn content(&self) -> i64 {
        // `now` is the first field of what every watcher sees.
        let rest = self.seen.find(',').map_or(self.seen.as_str(), |at| &self.seen[at..]);
        fnv(rest.bytes().chain(self.only.iter().flat_map(|o| o.bytes()))).cast_signed()
    }
}

pub(super) const SCHEMA: &str =
    "CREATE TABLE IF NOT EXISTS passes (board TEXT NOT NULL, program TEXT NOT NULL, \
     at INTEGER NOT NULL, pass TEXT NOT NULL, clock_given INTEGER NOT NULL, only TEXT, content INTEGER NOT NULL, bytes INTEGER NOT NULL, \
     did TEXT NOT NULL, seen TEXT NOT NULL);
     CREATE INDEX IF NOT EXISTS passes_of ON passes (board, program, at);
     CREATE INDEX IF NOT EXISTS passes_at ON passes (at, bytes);";

/// Seconds for which they are kept.
const AGE: i64 = 31 * 86_400;

/// Most bytes of what was seen that are kept.
const MAX_BYTES: i64 = 50 << 20;

/// A pass on its way into the file.
#[derive(Debug)]
pub(super) struct Kept {
    /// [`Stored::content`] of what was really seen.
    content: i64,
    /// The pass, with what it saw without secrets.
    pass: Stored,
}

impl Kept {
    pub(super) fn of(mut pass: Stored) -> Kept {
        let content = pass.content();
        if let Cow::Owned(clean) = redact::json(&pass.seen) {
            pass.seen = clean;
        }
        Kept { content, pass }
    }
}

/// Whether this is worth keeping: it did something, or saw something else than the newest one of its kind.
pub(super) fn is_news(conn: Option<&Connection>, pass: &Stored) -> bool {
    if !pass.did.is_empty() {
        return true;
    }
    let sql = "SELECT content FROM passes WHERE board = ?1 AND program = ?2 AND at <= ?3 ORDER BY at DESC, rowid DESC LIMIT 1";
    // One of the future, by a clock that was ahead, is not the newest.
    let until = pass.at.plus(FUTURE).0;
    let read = |conn: &Connection| {
        conn.prepare(sql)?.query_row(params![pass.board, pass.program, until], |r| r.get::<_, i64>(0))
    };
    conn.and_then(|conn| read(conn).ok()) != Some(pass.content())
}

pub(super) fn write(tx: &Connection, all: &[Kept]) -> rusqlite::Result<()> {
    for Kept { content, pass: p } in all {
        let did = serde_json::to_string(&p.did).unwrap_or_else(|_| "[]".into());
        let bytes = i64::try_from(p.seen.len() + did.len()).unwrap_or(i64::MAX);
        tx.execute(
            "INSERT INTO passes (board, program, at, pass, clock_given, only, content, bytes, did, seen) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![p.board, p.program, p.at.0, p.pass, p.clock_given, p.only, content, bytes, did, p.seen],
        )?;
    }
    let Some(now) = all.iter().map(|k| k.pass.at.0).max() else { return Ok(()) };
    tx.execute("DELETE FROM passes WHERE at < ?1", [now.saturating_sub(AGE)])?;
    // By the index alone: what was seen is not read for it.
    tx.execute(
        "DELETE FROM passes WHERE rowid IN (SELECT rowid FROM (SELECT rowid, sum(bytes) OVER (ORDER BY at DESC, \
         rowid DESC) AS kept FROM passes) WHERE kept > ?1)",
        [MAX_BYTES],
    )?;
    Ok(())
}

/// Passes over a board since a moment, watcher by watcher and the oldest first, each handed over as it is read, with the moment
/// of the next one of its watcher.
pub fn read(
    path: &Path,
    board: &str,
    since: Time,
    each: &mut dyn FnMut(&Stored, Option<Time>),
) -> rusqlite::Result<()> {
    let conn = super::reader(path)?;
    let mut statement = conn.prepare(
        "SELECT board, program, pass, at, only, did, seen, clock_given, lead(at) OVER (PARTITION BY program ORDER BY at, rowid) \
         FROM passes WHERE board = ?1 AND at >= ?2 ORDER BY program, at, rowid",
    )?;
    let mut rows = statement.query(params![board, since.0])?;
    while let Some(row) = rows.next()? {
        each(&stored(row)?, row.get::<_, Option<i64>>(8)?.map(Time));
    }
    Ok(())
}

/// How many of them there are.
pub fn count(path: &Path, board: &str, since: Time) -> u32 {
    let count = |conn: Connection| {
        let sql = "SELECT count(*) FROM passes WHERE board = ?1 AND at >= ?2";
        conn.query_row(sql, params![board, since.0], |r| r.get(0))
    };
    super::reader(path).and_then(count).unwrap_or(0)
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let did: String = row.get(5)?;
    Ok(Stored {
        board: row.get(0)?,
        program: row.get(1)?,
        pass: row.get(2)?,
        at: Time(row.get(3)?),
        clock_given: row.get(7)?,
        only: row.get(4)?,
        did: serde_json::from_str(&did).unwrap_or_default(),
        seen: row.get(6)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;

    fn pass(at: i64, seen: &str) -> Stored {
        Stored {
            board: "/b".into(),
            program: "heal".into(),
            pass: format!("p{at}"),
            at: Time(at),
            clock_given: false,
            only: None,
            did: Vec::new(),
            seen: format!("{{\"now\":\"{at}\",\"x\":\"{seen}\"}}"),
        }
    }

    fn kept(path: &Path) -> Vec<String> {
        let mut all = Vec::new();
        read(path, "/b", Time(0), &mut |p, _| all.push(p.pass.clone())).unwrap();
        all
    }

    #[test]
    fn what_differs_only_in_its_moment_is_kept_once_and_everything_for_a_month() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        let put = |stored: Stored| {
            let mut c = Cache::open(Some(path.clone()));
            c.keep(stored);
            assert_eq!(c.save(), None);
        };
        put(pass(1_000, "a"));
        put(pass(1_100, "a"));
        put(pass(1_200, "b"));
        assert_eq!(kept(&path), ["p1000", "p1200"]);
        let did = Did { task: "t".into(), action: "a".into(), case: "c".into(), hash: "h".into() };
        put(Stored { did: vec![did], ..pass(1_300, "b") });
        assert_eq!((kept(&path).len(), count(&path, "/b", Time(1_200))), (3, 2));
        put(pass(1_201 + AGE, "c"));
        assert_eq!(kept(&path), ["p1300".to_owned(), format!("p{}", 1_201 + AGE)]);
    }

    #[test]
    fn a_pass_of_the_future_is_not_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        for (at, seen) in [(AGE, "a"), (9_000, "b"), (9_100, "b"), (9_200, "a")] {
            let mut c = Cache::open(Some(path.clone()));
            c.keep(pass(at, seen));
            assert_eq!(c.save(), None);
        }
        assert_eq!(kept(&path), ["p9000".to_owned(), "p9200".to_owned(), format!("p{AGE}")]);
    }

    #[test]
    fn no_more_is_kept_than_the_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        let mut c = Cache::open(Some(path.clone()));
        for n in 0..60 {
            c.keep(pass(n, &format!("{n}{}", "x".repeat(1 << 20))));
        }
        assert_eq!(c.save(), None);
        assert_eq!(kept(&path).len(), 49);
        assert_eq!(kept(&path).last().map(String::as_str), Some("p59"));
    }
}
