//! What opencode keeps on disk of its sessions, read and never written: a SQLite store from 1.2 on, a folder of JSON files before
//! (measured: 1.1.65, 1.2.1, 1.18.33). Of the tables only what all versions share is read; the newest of a session is enough to
//! judge it, so that a session's length does not matter.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, params};

use super::rows::{ReadPart, Times, in_order, message, part};
use crate::SessionId;
use crate::evidence::{Message, Rows};
use base::error::{Error, Kind, Result};
use base::reason::Reason;
use logs::handle::{Owner, glance};
use logs::session::Millis;
use logs::usage::store::{self, MAX_ROW};

mod files;
#[cfg(test)]
mod tests;

/// Most messages that are read of a session: the newest.
pub(super) const MAX_MESSAGES: usize = 100;
/// Most parts of one message: the newest.
pub(super) const MAX_PARTS: usize = 200;
/// Most bytes of one session that are read; what is older than that is left out.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// The name of the SQLite store.
const DB: &str = "opencode.db";

const Q_SESSION: &str = "SELECT directory FROM session WHERE id = ?1";
const Q_MESSAGES: &str =
    "SELECT id, time_created, time_updated, CASE WHEN length(data) <= ?2 THEN data END FROM message
     WHERE session_id = ?1 ORDER BY time_created DESC, id DESC LIMIT ?3";
const Q_PARTS: &str =
    "SELECT id, time_created, time_updated, CASE WHEN length(data) <= ?2 THEN data END FROM part
     WHERE message_id = ?1 ORDER BY id DESC LIMIT ?3";

/// A store of sessions.
pub struct Store {
    at: PathBuf,
    form: Form,
}

enum Form {
    Sqlite(store::Store),
    Files,
}

/// Where opencode keeps its sessions unless it is told otherwise: `$XDG_DATA_HOME/opencode`, else
/// `~/.local/share/opencode`.
pub fn home(data_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let absolute = |p: &&OsStr| Path::new(p).is_absolute();
    let data = data_home.filter(absolute).map(PathBuf::from);
    let data = data.or_else(|| Some(Path::new(home.filter(absolute)?).join(".local/share")));
    Some(data?.join("opencode"))
}

/// A session in the SQLite store of a folder as it is named in a claim: `/path/opencode.db#ses_1`; `None` where there is no
/// such store.
pub fn in_file(folder: &Path, session: &str) -> Option<PathBuf> {
    let db = folder.join(DB);
    db.is_file().then(|| folder.join(format!("{DB}#{session}")))
}

impl Store {
    /// Opens the store in a folder, or of this file.
    ///
    /// # Errors
    /// [`Kind::NoInput`] where there is none, [`Kind::Data`] where it is something else, [`Kind::Busy`] where another
    /// process has locked it, [`Kind::Permission`] and [`Kind::Io`].
    pub fn open(at: &Path) -> Result<Store> {
        let is_folder = at.is_dir();
        let db = if is_folder { at.join(DB) } else { at.to_owned() };
        if let Some(sqlite) = sqlite(&db)? {
            return Ok(Store { at: db, form: Form::Sqlite(sqlite) });
        }
        if is_folder && at.join(files::MESSAGES).is_dir() {
            return Ok(Store { at: at.to_owned(), form: Form::Files });
        }
        let hint = "name opencode's data folder with --store";
        Err(Error::new(Kind::NoInput, at.display(), "no store of opencode").hint(hint))
    }

    /// Where it lies.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// The newest rows of a session, and where it works where that is told; `None` where there is no such session.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn rows(&self, session: &SessionId) -> Result<Option<(Rows, Option<String>)>> {
        match &self.form {
            Form::Sqlite(sqlite) => of_sqlite(sqlite, session).map_err(|e| fault(&self.at, e)),
            Form::Files => files::rows(&self.at, session),
        }
    }
}

fn sqlite(db: &Path) -> Result<Option<store::Store>> {
    let refused = |why: Reason| Error::new(Kind::Permission, db.display(), why);
    if glance(db, Owner::Ourselves).map_err(refused)?.is_none() {
        return Ok(None);
    }
    let sqlite = store::Store::connect(db).map_err(|e| fault(db, e))?;
    let times = ["id", "session_id", "time_created", "time_updated", "data"];
    let is_known = sqlite.has("session", &["id", "directory"])
        && sqlite.has("message", &times)
        && sqlite.has("part", &times)
        && sqlite.has("part", &["message_id"]);
    match is_known {
        true => Ok(Some(sqlite)),
        false => Err(Error::new(Kind::Data, db.display(), "not a known store of opencode")),
    }
}

fn fault(at: &Path, e: rusqlite::Error) -> Error {
    let kind = match e.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OperationInterrupted) => {
            Kind::Busy
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Kind::Data,
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => Kind::Permission,
        _ => Kind::Io,
    };
    Error::new(kind, at.display(), store::told(e))
}

/// One row as it was read: its id, its times, and its text, unless that is too long or none.
struct Row {
    id: String,
    times: Times,
    data: Option<String>,
}

fn row(r: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let at = |n: usize| r.get::<_, i64>(n).map(Millis);
    let times = Times { created: Some(at(1)?), updated: at(2)? };
    Ok(Row { id: r.get(0)?, times, data: r.get::<_, Option<String>>(3).ok().flatten() })
}

fn of_sqlite(sqlite: &store::Store, session: &SessionId) -> rusqlite::Result<Option<(Rows, Option<String>)>> {
    let conn = &sqlite.conn;
    let mut found = conn.prepare(Q_SESSION)?;
    let mut found = found.query([session.as_str()])?;
    let Some(directory) = found.next()?.map(|r| r.get::<_, Option<String>>(0).ok().flatten()) else {
        return Ok(None);
    };
    let (mut messages, mut parts) = (conn.prepare(Q_MESSAGES)?, conn.prepare(Q_PARTS)?);
    let mut rows = Rows::default();
    let mut left = MAX_BYTES;
    let bounds = params![session.as_str(), MAX_ROW, MAX_MESSAGES as i64];
    for one in messages.query_map(bounds, row)? {
        let one = one?;
        let bounds = params![one.id, MAX_ROW, MAX_PARTS as i64];
        let its: Vec<Row> = parts.query_map(bounds, row)?.collect::<rusqlite::Result<_>>()?;
        let size = |r: &Row| r.data.as_ref().map_or(0, String::len);
        let Some(rest) = left.checked_sub(size(&one) + its.iter().map(size).sum::<usize>()) else { break };
        left = rest;
        take(&mut rows, one, its);
    }
    in_order(&mut rows);
    Ok(Some((rows, directory)))
}

/// Adds one message with its parts, the newest of which come first.
fn take(rows: &mut Rows, one: Row, parts: Vec<Row>) {
    let updated = parts.iter().map(|p| p.times.updated).chain([one.times.updated]).max();
    let times = Times { updated: updated.unwrap_or(one.times.updated), ..one.times };
    let mut read: Vec<ReadPart> = Vec::new();
    for one in parts {
        match one.data.as_deref().and_then(|data| part(Some(&one.id), one.times.created, data)) {
            Some(part) => read.push(part),
            None => rows.broken += 1,
        }
    }
    read.sort_by(|a, b| (a.part.at, &a.part.id).cmp(&(b.part.at, &b.part.id)));
    let whole = one.data.as_deref().and_then(|data| message(Some(&one.id), Some(times), data, read));
    add(rows, whole);
}

fn add(rows: &mut Rows, message: Option<Message>) {
    match message {
        Some(message) => rows.messages.push(message),
        None => rows.broken += 1,
    }
}
