//! The newest events of a board, read back in parts.

use std::collections::BTreeMap;

use rusqlite::types::{ToSql, Type, Value as SqlValue};
use rusqlite::{Connection, params};

use super::rows::{event, text};
use super::texts::Texts;
use crate::{Event, EventKind};
use base::time::Time;

pub(super) const Q_LATEST: &str = "SELECT max(created_at) FROM task_events WHERE id > ?1 AND id <= ?2";
const Q_VERSION: &str = "PRAGMA data_version";

/// How many event numbers are read at once, and how many in a row must be too old for the rest to be. A clock that was set back for
/// fewer events than this hides nothing that was written before it.
const PART: i64 = 2_000;

/// Events of one part, with their tasks, by number.
type Rows = Vec<(String, Event)>;

/// Parts that were read, for a command that asks about several spans of time.
#[derive(Default)]
pub(super) struct Kept {
    /// The state of the board that they were read from.
    version: i64,
    /// By the numbers that they lie between: since when, and the events.
    parts: BTreeMap<(i64, i64), (Time, Rows)>,
    /// The latest time in a part, where it was asked for.
    latest: BTreeMap<(i64, i64), SqlValue>,
}

impl Kept {
    /// What a question about this part would read, where that is known.
    fn answer(&self, part: (i64, i64), only_turns: bool, since: Time) -> Option<Rows> {
        let (_, rows) = self.parts.get(&part).filter(|(from, _)| *from <= since)?;
        let asked = |e: &Event| e.at >= since && (!only_turns || EventKind::TURNS.contains(&e.kind));
        Some(rows.iter().filter(|(_, e)| asked(e)).cloned().collect())
    }

    /// The latest time in a part, where that is known.
    fn latest(&self, part: (i64, i64)) -> Option<SqlValue> {
        let read = || Some(SqlValue::Integer(self.parts.get(&part)?.1.iter().map(|(_, e)| e.at).max()?.0));
        self.latest.get(&part).cloned().or_else(read)
    }
}

/// Changes when another connection has committed.
pub(super) fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached(Q_VERSION)?.query_row([], |r| r.get(0))
}

/// See [`super::SqliteBoard::board_events`]; the newest part first. `conn` is in a transaction.
pub(super) fn newest_parts(
    conn: &Connection,
    texts: &Texts,
    mut kept: Option<&mut Kept>,
    only_turns: bool,
    since: Time,
    most: u32,
) -> rusqlite::Result<Vec<Rows>> {
    let most = i64::from(most);
    let newest = conn.query_row("SELECT max(id) FROM task_events", [], |r| r.get::<_, SqlValue>(0))?;
    if let Some(kept) = &mut kept {
        let version = version(conn)?;
        if kept.version != version {
            **kept = Kept { version, ..Kept::default() };
        }
    }
    let mut statement = conn.prepare_cached(if only_turns { &texts.turns } else { &texts.board_events })?;
    // Whether all is of the type that it should be: else SQLite compares otherwise than we do.
    let mut part = |from: &dyn ToSql, to: &dyn ToSql| -> rusqlite::Result<(Rows, bool)> {
        let mut rows = statement.query(params![from, to, since.0])?;
        let (mut part, mut is_plain) = (Vec::new(), true);
        while let Some(row) = rows.next()? {
            is_plain &=
                row.get_ref(0)?.data_type() == Type::Text && row.get_ref(1)?.data_type() == Type::Integer;
            part.push((text(row, 5).unwrap_or_default(), event(row)));
        }
        Ok((part, is_plain))
    };
    let newest = match newest {
        SqlValue::Null => return Ok(Vec::new()),
        SqlValue::Integer(newest) => newest,
        // Numbers that are texts (Hermes 0.12) say nothing of the order: all of them, up to what SQLite sorts behind every text.
        _ => return Ok(vec![part(&i64::MIN, &SqlValue::Blob(Vec::new()))?.0]),
    };
    let (mut parts, mut to, end) = (Vec::new(), newest, newest.saturating_sub(most));
    while to > end {
        let from = to.saturating_sub(PART).max(end);
        let known = kept.as_ref().and_then(|kept| kept.answer((from, to), only_turns, since));
        let found = match known {
            Some(found) => found,
            None => {
                let (found, is_plain) = part(&from, &to)?;
                if let Some(kept) = kept.as_mut().filter(|_| is_plain && !only_turns) {
                    kept.parts.insert((from, to), (since, found.clone()));
                }
                found
            }
        };
        if found.is_empty() && from > end {
            // Of another kind, or deleted: that says nothing of the time before.
            let latest = match kept.as_ref().and_then(|kept| kept.latest((from, to))) {
                Some(latest) => latest,
                None => {
                    let latest: SqlValue =
                        conn.prepare_cached(Q_LATEST)?.query_row([from, to], |r| r.get(0))?;
                    if let Some(kept) = &mut kept {
                        kept.latest.insert((from, to), latest.clone());
                    }
                    latest
                }
            };
            if matches!(latest, SqlValue::Integer(at) if at < since.0) {
                break;
            }
        }
        parts.push(found);
        to = from;
    }
    Ok(parts)
}
