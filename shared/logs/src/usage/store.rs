//! SQLite stores of agents, opened to look and never to write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::handle::{Owner, check, glance, is_sqlite, open};
use base::reason::Reason;

/// How long to wait for another process that is writing. The next pass will do as well.
const PATIENCE: Duration = Duration::from_millis(250);

/// The longest look at one store: another one may be of any size and without an index.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Longest text of one row that is looked at, in bytes.
pub const MAX_ROW: i64 = 1 << 20;

/// The columns of every table; views do not count.
const Q_COLUMNS: &str =
    "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'";

/// Whether a file is one of SQLite; a missing one is not.
pub(crate) fn is_store(path: &Path) -> Result<bool, Reason> {
    let Some(_) = glance(path, Owner::Ourselves)? else { return Ok(false) };
    let Some(file) = open(path)? else { return Ok(false) };
    check(&file.metadata()?, Owner::Ourselves)?;
    Ok(is_sqlite(&file)?)
}

/// A store, held at one state while it is looked at.
pub struct Store {
    /// Read only, inside one transaction.
    pub conn: Connection,
    columns: BTreeMap<String, BTreeSet<String>>,
}

impl Store {
    /// Opens a store of our own user; `None` where there is no such file. Its program may be writing: what that has not yet
    /// moved from the WAL is seen, and nothing is moved or removed. Where nobody has it open, SQLite makes the two files
    /// beside it that its program makes as well; only `immutable` would not, and that is blind to a program that starts.
    pub(crate) fn open(path: &Path) -> Result<Option<Store>, Reason> {
        if glance(path, Owner::Ourselves)?.is_none() {
            return Ok(None);
        }
        Store::connect(path).map(Some).map_err(told)
    }

    /// Opens a store for reading. Errors: whatever SQLite says.
    pub fn connect(path: &Path) -> rusqlite::Result<Store> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(PATIENCE)?;
        let until = Instant::now() + MAX_TIME;
        conn.progress_handler(10_000, Some(move || Instant::now() > until))?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        conn.execute_batch("PRAGMA query_only = ON; BEGIN")?;
        let mut columns: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut statement = conn.prepare(Q_COLUMNS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            columns.entry(row.get(0)?).or_default().insert(row.get(1)?);
        }
        drop(rows);
        drop(statement);
        Ok(Store { conn, columns })
    }

    /// Whether a table has all of these columns.
    pub fn has(&self, table: &str, columns: &[&str]) -> bool {
        self.columns.get(table).is_some_and(|there| columns.iter().all(|c| there.contains(*c)))
    }
}

/// An engine's failure in a few words.
pub fn told(e: rusqlite::Error) -> Reason {
    let what = match e.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            "busy: another process is writing".into()
        }
        Some(rusqlite::ErrorCode::OperationInterrupted) => "its store takes too long to be read".into(),
        _ => e.to_string(),
    };
    Reason::caused(what, e)
}
