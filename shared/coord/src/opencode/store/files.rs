//! The old store of opencode (up to 1.1): one JSON file for every message and every part.

use std::fs::DirEntry;
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::{MAX_BYTES, MAX_MESSAGES, MAX_PARTS, Row, take};
use crate::SessionId;
use crate::evidence::Rows;
use crate::opencode::rows::{Times, in_order};
use base::error::{Error, Kind, Result};
use base::reason::Reason;
use logs::handle::{Owner, check, open};
use logs::session::Millis;
use logs::usage::store::MAX_ROW;

/// Where messages lie, below opencode's data folder.
pub(super) const MESSAGES: &str = "storage/message";
const PARTS: &str = "storage/part";

/// Most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 50_000;

/// The newest messages of a session; `None` where it has none. A session without a message is not found here: which folder it
/// is listed in depends on its project.
pub(super) fn rows(at: &Path, session: &SessionId) -> Result<Option<(Rows, Option<String>)>> {
    let Some(messages) = newest(&at.join(MESSAGES).join(session.as_str()), MAX_MESSAGES)? else {
        return Ok(None);
    };
    let mut rows = Rows::default();
    let mut left = MAX_BYTES;
    for one in messages {
        let Some(one) = read(one)? else { continue };
        let parts = newest(&at.join(PARTS).join(&one.id), MAX_PARTS)?.unwrap_or_default();
        let parts: Vec<Option<Row>> = parts.into_iter().map(read).collect::<Result<_>>()?;
        let parts: Vec<Row> = parts.into_iter().flatten().collect();
        let size = |r: &Row| r.data.as_ref().map_or(0, String::len);
        let Some(rest) = left.checked_sub(size(&one) + parts.iter().map(size).sum::<usize>()) else { break };
        left = rest;
        take(&mut rows, one, parts);
    }
    in_order(&mut rows);
    Ok(Some((rows, None)))
}

/// A file of a folder, and when it was last written.
struct Entry {
    file: DirEntry,
    written: Millis,
}

/// The JSON files of a folder that were written last, newest first; `None` where there is no such folder.
fn newest(folder: &Path, most: usize) -> Result<Option<Vec<Entry>>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(folder.display(), &e)),
    };
    let mut all: Vec<Entry> = entries.take(MAX_ENTRIES).flatten().filter_map(entry).collect();
    all.sort_by_key(|e| std::cmp::Reverse((e.written, e.file.file_name())));
    all.truncate(most);
    Ok(Some(all))
}

fn entry(file: DirEntry) -> Option<Entry> {
    file.file_name().to_str()?.strip_suffix(".json")?;
    let written = file.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Entry { file, written: Millis(i64::try_from(written.as_millis()).ok()?) })
}

/// Reads a file; `None` where it was removed just now. When the row was made stands in it, if anywhere.
fn read(entry: Entry) -> Result<Option<Row>> {
    let path = entry.file.path();
    let bad = |why: Reason| Error::new(Kind::Permission, path.display(), why);
    let Some(file) = open(&path).map_err(bad)? else { return Ok(None) };
    check(&file.metadata().map_err(|e| Error::io(path.display(), &e))?, Owner::Ourselves).map_err(bad)?;
    let mut text = String::new();
    let most = MAX_ROW.unsigned_abs();
    let read = file.take(most + 1).read_to_string(&mut text);
    let data = read.ok().filter(|n| *n as u64 <= most).map(|_| text);
    let name = entry.file.file_name();
    let id = name.to_str().and_then(|n| n.strip_suffix(".json")).unwrap_or_default().to_owned();
    Ok(Some(Row { id, times: Times { created: None, updated: entry.written }, data }))
}
