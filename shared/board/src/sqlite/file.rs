//! The board's file: what may be opened, how, how long a busy one is waited for, and what its failures mean.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Mode, Q_COLUMNS};
use base::error::{Error, Kind, Result};
use base::snapshot::Snapshot;

/// The largest board that is copied to be looked at, in bytes.
const MAX_COPY: u64 = 1 << 30;
/// Files that SQLite holds open for one board, and one that it opens now and then: the board, its log, the index of that, the folder.
const FILES: usize = 4;
/// Statements kept prepared: more than any pass has.
const STATEMENTS: usize = 64;

/// A path that may hold a board: there, a file, not empty. Only looks at the folder entry, never opens the file.
pub(super) fn check_file(path: &Path) -> Result<Inode> {
    let at = path.display();
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::new(Kind::NoInput, at, "no such board"));
        }
        Err(e) => return Err(Error::io(at, &e)),
    };
    if !meta.is_file() {
        // A folder of boards that cannot be listed stands in their place.
        if meta.is_dir()
            && std::fs::read_dir(path).is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied)
        {
            return Err(Error::new(Kind::Permission, at, "permission denied")
                .hint("run this as the user who owns it"));
        }
        return Err(Error::new(Kind::Data, at, "not a file"));
    }
    if meta.len() == 0 {
        return Err(Error::new(Kind::NoInput, at, "empty file, no board in it yet"));
    }
    Ok((meta.dev(), meta.ino()))
}

/// Device and number of a file, by which it is known whatever its name.
pub(super) type Inode = (u64, u64);

/// Where a connection writes: SQLite keeps the files it opened, also when another process puts another board in their place,
/// and would commit into what nobody will ever read.
pub(super) struct Place {
    path: PathBuf,
    board: Inode,
    log: PathBuf,
    /// `None` on a board without a write-ahead log.
    log_file: Option<Inode>,
}

impl Place {
    /// The files of a connection that has read already, so that its log is open; `board` is what was there before it was
    /// made. `None` where the board was replaced in between.
    pub(super) fn of(path: &Path, board: Inode, conn: &Connection) -> Option<Place> {
        let mode = conn.query_row("PRAGMA journal_mode", [], |r| r.get::<_, String>(0)).ok()?;
        // SQLite puts the log beside the file itself, not beside a link to it.
        let mut log = std::fs::canonicalize(path).ok()?.into_os_string();
        log.push("-wal");
        let log = PathBuf::from(log);
        let log_file = if mode == "wal" { Some(inode(&log)?) } else { None };
        let place = Place { path: path.to_owned(), board, log, log_file };
        place.is_same().then_some(place)
    }

    /// Whether the files that were opened are still the ones at their place.
    pub(super) fn is_same(&self) -> bool {
        inode(&self.path) == Some(self.board)
            && (self.log_file.is_none() || inode(&self.log) == self.log_file)
    }
}

/// Looks at the folder entry only: opening and closing the file would drop the locks of our own connection.
fn inode(path: &Path) -> Option<Inode> {
    std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()))
}

/// The failure of a pass whose board went away under it.
pub(super) fn replaced(at: &str) -> Error {
    let what = "this board was replaced or removed while it was open; what was just done may not be on the one there now";
    Error::new(Kind::Data, at, what).hint("the next pass reads it again")
}

pub(super) fn connect(path: &Path, flags: OpenFlags, patience: &Arc<AtomicU64>) -> Result<Connection> {
    let at = path.display().to_string();
    let mut conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|e| told(&at, &e))?;
    conn.busy_handler(Some(jittered(Arc::clone(patience)))).map_err(|e| told(&at, &e))?;
    // Else SQLite, as it is built in, plans a statement anew for each value bound to an indexed column: two thirds of a pass.
    // And a plan would depend on what another program's ANALYZE left in the board.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(|e| told(&at, &e))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(conn)
}

/// Whether a file is of SQLite and holds nothing: a board whose making failed, as on a full disk. Nothing is written to it.
pub(super) fn is_bare(path: &Path, patience: &Arc<AtomicU64>) -> bool {
    let Ok(conn) = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, patience) else { return false };
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_master) AND a.application_id = 0 AND v.user_version = 0 \
               FROM pragma_application_id AS a, pragma_user_version AS v";
    conn.query_row(sql, [], |row| row.get(0)).unwrap_or(false)
}

/// A connection that has read, and whose application the file is.
pub(super) fn begin(path: &Path, flags: OpenFlags, patience: &Arc<AtomicU64>) -> Result<(Connection, i64)> {
    let at = path.display().to_string();
    let begun = connect(path, flags, patience).and_then(|conn| {
        let application =
            conn.query_row("PRAGMA application_id", [], |r| r.get(0)).map_err(|e| told(&at, &e))?;
        Ok((conn, application))
    });
    begun.map_err(|e| too_many(&at).unwrap_or(e))
}

/// The failure of a process that can open no more files, of which SQLite does not tell the reason.
fn too_many(at: &str) -> Option<Error> {
    let several: std::io::Result<Vec<_>> = (0..FILES).map(|_| std::fs::File::open("/dev/null")).collect();
    several.err().map(|e| Error::io(at, &e))
}

/// A copy of a board whose folder this user may not write. SQLite reads a board in its own place where a process has it open, and
/// needs an index file beside it where none has.
pub(super) fn copy(path: &Path) -> Result<Snapshot> {
    Snapshot::of(path, &["-wal", "-journal"], MAX_COPY).map_err(|e| {
        let at = path.display();
        match e.kind() {
            std::io::ErrorKind::PermissionDenied => {
                Error::new(Kind::Permission, at, "permission denied").hint("run this as the user who owns it")
            }
            std::io::ErrorKind::ResourceBusy => {
                Error::new(Kind::Busy, at, "changes too fast for a copy, and its folder cannot be written")
                    .hint("run this as the user who owns it")
            }
            std::io::ErrorKind::FileTooLarge => {
                Error::new(Kind::Permission, at, "too large for a copy, and its folder cannot be written")
                    .hint("run this as the user who owns it")
            }
            _ => Error::io(format!("copy of {at}"), &e),
        }
    })
}

/// Settings of one connection. On a board of Hermes, we never move the WAL back or remove it.
pub(super) fn settle(conn: &Connection, own: bool, mode: Mode) -> rusqlite::Result<()> {
    if !own {
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn.execute_batch("PRAGMA wal_autocheckpoint = 0")?;
    }
    // What undoes a single step stays in memory: it would be written to /var/tmp, which may be full or read-only, and it
    // holds what workers said. A pass reads hardly any page twice: half of the usual cache (2 MiB) is enough.
    conn.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024",
    )?;
    if mode == Mode::Look {
        conn.execute_batch("PRAGMA query_only = ON")?;
    }
    Ok(())
}

/// The columns a board has, by table.
pub(super) type Columns = BTreeMap<String, BTreeSet<String>>;

pub(super) fn has(columns: &Columns, table: &str, column: &str) -> bool {
    columns.get(table).is_some_and(|t| t.contains(column))
}

pub(super) fn columns(conn: &Connection) -> rusqlite::Result<Columns> {
    let mut statement = conn.prepare(Q_COLUMNS)?;
    let mut rows = statement.query([])?;
    let mut all = Columns::new();
    while let Some(row) = rows.next()? {
        all.entry(row.get(0)?).or_default().insert(row.get(1)?);
    }
    Ok(all)
}

/// Waits 100 to 500 microseconds between tries, `patience` milliseconds in all. SQLite's own ladder (up to 100 ms a step)
/// waits 330 to 430 ms at the 99th percentile beside a busy writer; this one 7 to 14 ms.
fn jittered(patience: Arc<AtomicU64>) -> impl FnMut(i32) -> bool + Send + 'static {
    let mut since = Instant::now();
    move |tries| {
        if tries == 0 {
            since = Instant::now();
        }
        if since.elapsed() >= Duration::from_millis(patience.load(Ordering::Relaxed)) {
            return false;
        }
        // Cheap scatter so that two waiters do not march in step; quality does not matter.
        let seed = u64::from(tries.unsigned_abs()).wrapping_mul(0x9E37_79B9) ^ u64::from(std::process::id());
        std::thread::sleep(Duration::from_micros(100 + seed % 400));
        true
    }
}

pub(super) fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}

/// The refusal of a damaged board.
pub fn damaged(at: &str, what: &str) -> Error {
    let what = format!("this board is damaged ({what}); nothing is written here until it is repaired");
    Error::new(Kind::Damaged, at, what).hint(repair(at))
}

/// How a damaged board is repaired. Tried on boards that Hermes 0.19 had damaged.
pub fn repair(at: &str) -> String {
    let reindex = reindex(at);
    format!(
        "stop the gateway, copy the file and its -wal, then run `{reindex}` and `watchbill doctor`; where that does \
         not help: docs/evidence/safety.md, \"A damaged board\""
    )
}

/// The command of it that repairs an index. The path may hold any character.
pub fn reindex(at: &str) -> String {
    format!("sqlite3 '{}' REINDEX", at.replace('\'', r"'\''"))
}

/// Turns an engine's failure into ours: what kind it is decides what the next pass can do about it.
pub(super) fn told(at: &str, e: &rusqlite::Error) -> Error {
    let kind = match e.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Kind::Busy,
        Some(ErrorCode::NotADatabase) => Kind::Data,
        Some(ErrorCode::DatabaseCorrupt) => Kind::Damaged,
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly | ErrorCode::CannotOpen) => Kind::Permission,
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => Kind::Io,
        _ => Kind::Data,
    };
    let (what, hint) = match kind {
        Kind::Busy => ("busy: another process is writing".to_owned(), Some("the next pass tries again")),
        Kind::Permission => (
            "cannot be opened or written".to_owned(),
            Some(
                "the program needs to read and write the board, and to write in its folder, for its -wal and -shm files",
            ),
        ),
        Kind::Damaged => return damaged(at, &e.to_string()),
        Kind::Io if e.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
            ("the disk is full".to_owned(), Some("free some space; nothing of this change was written"))
        }
        Kind::Io => (
            format!("the disk could not be read or written ({e})"),
            Some("look whether it is full (df) or failing (dmesg)"),
        ),
        _ => (e.to_string(), None),
    };
    Error { kind, at: at.into(), what, hint: hint.map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_called_so() {
        let of = |code| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        let full = told("/b", &of(rusqlite::ffi::SQLITE_FULL));
        let said = "/b: the disk is full; free some space; nothing of this change was written";
        assert_eq!((full.kind, full.to_string().as_str()), (Kind::Io, said));
        let failed = told("/b", &of(rusqlite::ffi::SQLITE_IOERR)).to_string();
        assert!(
            failed.starts_with("/b: the disk could not be read or written (") && failed.contains("df"),
            "{failed}"
        );
    }
}
