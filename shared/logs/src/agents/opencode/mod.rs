//! What a store of opencode (1.2 to 1.18) says an attempt used.
//!
//! Of the tables only what all those versions share is read: `session` (id, parent_id, directory, time_created), `message` and
//! `part` (session_id, time_created, time_updated, data). Times are milliseconds; `data` is JSON.

mod row;
mod vitals;

pub(crate) use vitals::vitals;

use std::collections::BTreeSet;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rusqlite::params;
use serde_json::Value;

use self::row::{Message, Part};
use crate::agents::UsageAsk;
use crate::agents::fact::{self, print};
use crate::session::{Millis, Obj, Prices, Run, mark};
use crate::usage::bill::{Bill, dollars};
use crate::usage::files::{Files, shown};
use crate::usage::store::{MAX_ROW, Store, told};
use crate::usage::window::{When, Window};
use crate::usage::{Tokens, Usage};
use base::count::things;
use base::reason::Reason;

/// Most sessions of one attempt, those of subagents included.
const MAX_SESSIONS: usize = 200;

/// Most bytes of rows that are held at once.
const MAX_BYTES: usize = 64 << 20;
/// Most messages and most parts of messages that are read: the newest.
const MAX_ROWS: usize = 20_000;

const Q_ONE: &str = "SELECT id, NULL FROM session WHERE id = ?1";
const Q_HERE: &str = "SELECT id, parent_id FROM session WHERE directory = ?1 AND time_created <= ?5
     AND EXISTS (SELECT 1 FROM message m WHERE m.session_id = session.id AND m.time_updated >= ?2 AND m.time_created <= ?3)
     ORDER BY time_created DESC, id LIMIT ?4";
const Q_CHILDREN: &str =
    "SELECT id FROM session WHERE parent_id = ?1 ORDER BY time_created DESC, id LIMIT ?2";
const Q_MESSAGES: &str = "SELECT time_created, CASE WHEN length(data) <= ?4 THEN data END FROM message
     WHERE session_id = ?1 AND time_updated >= ?2 AND time_created <= ?3 ORDER BY time_created DESC, id DESC LIMIT ?5";
const Q_PARTS: &str = "SELECT time_created, CASE WHEN length(data) <= ?4 THEN data END FROM part
     WHERE session_id = ?1 AND time_created >= ?2 AND time_created <= ?3 ORDER BY time_created DESC, id DESC LIMIT ?5";

/// The file a name means, and the session of it: `/x/opencode.db#ses_1`.
pub(crate) fn place(named: &Path) -> (PathBuf, Option<String>) {
    let bytes = named.as_os_str().as_bytes();
    let at = bytes.windows(5).rposition(|w| w == b"#ses_").filter(|_| named.symlink_metadata().is_err());
    let session = at.and_then(|at| std::str::from_utf8(&bytes[at + 1..]).ok());
    match (at, session) {
        (Some(at), Some(session)) => {
            let path = std::ffi::OsString::from_vec(bytes[..at].to_vec());
            (PathBuf::from(path), Some(session.to_owned()))
        }
        _ => (named.to_owned(), None),
    }
}

/// Reads a store: one session of it, else those that worked in the task's folder during the attempt; with their children.
pub(crate) fn read(ask: &UsageAsk<'_>, path: &Path, session: Option<&str>) -> Result<Usage, Reason> {
    let (mut reading, sessions) = opened(ask, path, session)?;
    for one in &sessions {
        reading.session(one).map_err(told)?;
    }
    let mut usage = reading.sums.usage(ask.prices);
    if reading.left_out || sessions.len() >= MAX_SESSIONS {
        usage.least("the store holds more than is read of it");
    }
    let id = sessions
        .iter()
        .find(|s| !s.is_child)
        .filter(|_| sessions.iter().filter(|s| !s.is_child).count() == 1);
    let at = shown(&path.display().to_string());
    usage.source = Some(id.map_or_else(|| at.clone(), |s| format!("{at}#{}", shown(&s.id))));
    Ok(usage)
}

/// Opens a store, and finds the sessions in it that are the attempt's.
fn opened(ask: &UsageAsk<'_>, path: &Path, session: Option<&str>) -> Result<(Reading, Vec<Session>), Reason> {
    let store = Store::open(path)?.ok_or("there is no such file")?;
    let times = ["session_id", "time_created", "time_updated", "data"];
    let is_known = store.has("session", &["id", "parent_id", "directory", "time_created"])
        && store.has("message", &times)
        && store.has("part", &times);
    if !is_known {
        return Err("no store of opencode".into());
    }
    let window = Window::new(ask.from, ask.to, ask.next, ask.now);
    let reading = Reading { store, window, sums: Sums::default(), rows: 0, left_out: false };
    let sessions = reading.sessions(ask, session).map_err(told)?;
    if sessions.is_empty() {
        return Err(match (session, ask.workspace) {
            (Some(_), _) => "it has no such session".into(),
            (None, Some(_)) => "no session in it worked in the task's folder during the attempt".into(),
            (None, None) => "it names no session, and the task has no folder".into(),
        });
    }
    Ok((reading, sessions))
}

struct Session {
    id: String,
    /// Another session of the attempt started it.
    is_child: bool,
}

struct Reading {
    store: Store,
    window: Window,
    sums: Sums,
    /// How many rows were read.
    rows: usize,
    left_out: bool,
}

impl Reading {
    fn sessions(&self, ask: &UsageAsk<'_>, id: Option<&str>) -> rusqlite::Result<Vec<Session>> {
        let mut all: Vec<(String, Option<String>)> = Vec::new();
        match (id, ask.workspace) {
            (Some(id), _) => all = self.some(Q_ONE, params![id])?,
            (None, Some(folder)) => {
                let real = std::fs::canonicalize(folder).ok();
                let names: BTreeSet<&str> =
                    [Some(folder), real.as_deref()].into_iter().flatten().filter_map(Path::to_str).collect();
                for name in names {
                    let bounds = params![
                        name,
                        self.window.from.0,
                        self.window.to.0,
                        MAX_SESSIONS as i64,
                        self.window.starts.0
                    ];
                    all.extend(self.some(Q_HERE, bounds)?);
                }
            }
            (None, None) => {}
        }
        let ids: BTreeSet<String> = all.iter().map(|(id, _)| id.clone()).collect();
        let is_child = |parent: &Option<String>| parent.as_ref().is_some_and(|p| ids.contains(p));
        let mut sessions: Vec<Session> =
            all.into_iter().map(|(id, parent)| Session { is_child: is_child(&parent), id }).collect();
        let mut seen = ids.clone();
        let mut children = self.store.conn.prepare(Q_CHILDREN)?;
        let mut next = 0;
        while let Some(session) = sessions.get(next).filter(|_| sessions.len() < MAX_SESSIONS) {
            let found = children.query_map(params![session.id, MAX_SESSIONS as i64], |r| r.get(0))?;
            let found: Vec<String> = found.collect::<rusqlite::Result<_>>()?;
            let new = found.into_iter().filter(|id| seen.insert(id.clone()));
            sessions.extend(new.map(|id| Session { id, is_child: true }));
            next += 1;
        }
        sessions.truncate(MAX_SESSIONS);
        Ok(sessions)
    }

    fn some(
        &self,
        query: &str,
        bounds: &[&dyn rusqlite::ToSql],
    ) -> rusqlite::Result<Vec<(String, Option<String>)>> {
        let mut statement = self.store.conn.prepare(query)?;
        statement.query_map(bounds, |r| Ok((r.get(0)?, r.get(1)?)))?.collect()
    }

    fn session(&mut self, session: &Session) -> rusqlite::Result<()> {
        for (at, data) in self.rows(Q_MESSAGES, session)? {
            match data.as_deref().and_then(|d| serde_json::from_str::<Obj<Message<'_>>>(d).ok()) {
                Some(Obj(Some(message))) => self.sums.message(&message, at, session, &self.window),
                _ => self.sums.broken += 1,
            }
        }
        let mut run = Run::default();
        for (_, data) in self.rows(Q_PARTS, session)? {
            match data.as_deref().and_then(|d| serde_json::from_str::<Obj<Part<'_>>>(d).ok()) {
                Some(Obj(Some(part))) => self.sums.part(&part, session, &mut run),
                _ => self.sums.broken += 1,
            }
        }
        self.sums.identical = self.sums.identical.max(run.longest());
        Ok(())
    }

    /// The rows of a session within the window, the oldest first.
    fn rows(&mut self, query: &str, session: &Session) -> rusqlite::Result<Vec<(i64, Option<String>)>> {
        let room = (2 * MAX_ROWS).saturating_sub(self.rows).min(MAX_ROWS);
        let mut statement = self.store.conn.prepare(query)?;
        let bounds =
            params![session.id, self.window.from.0, self.window.to.0, MAX_ROW, room.saturating_add(1) as i64];
        // A row whose value is not text could not be read.
        let mut rows = statement.query_map(bounds, |r| Ok((r.get(0)?, r.get::<_, String>(1).ok())))?;
        let (mut found, mut bytes): (Vec<(i64, Option<String>)>, usize) = (Vec::new(), 0);
        for row in rows.by_ref() {
            let row = row?;
            bytes += row.1.as_ref().map_or(0, String::len);
            if bytes > MAX_BYTES {
                self.left_out = true;
                break;
            }
            found.push(row);
        }
        self.left_out |= found.len() > room;
        found.truncate(room);
        self.rows += found.len();
        found.reverse();
        Ok(found)
    }
}

#[derive(Default)]
struct Sums {
    turns: u64,
    model: Option<String>,
    tokens: Tokens,
    bill: Bill,
    tool_calls: u64,
    tool_errors: u64,
    compactions: u64,
    identical: u64,
    files: Files,
    broken: u64,
}

impl Sums {
    fn message(&mut self, message: &Message<'_>, created: i64, session: &Session, window: &Window) {
        if message.role.get() != Some("assistant") {
            return;
        }
        let completed = message.ended();
        if window.when(Millis(completed.unwrap_or(created))) != When::Within {
            return;
        }
        // A request that was refused is completed as well.
        self.turns += u64::from(completed.is_some() && message.error.0.is_none() && !session.is_child);
        let model = message.model.or_empty();
        if !session.is_child && !model.is_empty() {
            self.model = Some(shown(model));
        }
        let Some(stated) = &message.tokens.0 else { return };
        let tokens = stated.tokens();
        self.tokens = self.tokens.plus(tokens);
        let cost = message.cost.as_ref().and_then(Value::as_f64).and_then(dollars);
        // A model without a price costs 0 there.
        self.bill.add(model, tokens, cost.filter(|c| c.0 > 0));
    }

    fn part(&mut self, part: &Part<'_>, session: &Session, run: &mut Run) {
        match part.kind.or_empty() {
            "compaction" => self.compactions += u64::from(!session.is_child),
            "tool" => self.tool(part, session, run),
            _ => {}
        }
    }

    fn tool(&mut self, part: &Part<'_>, session: &Session, run: &mut Run) {
        let tool = part.tool.or_empty();
        let state = part.state.0.as_ref();
        let input = state.and_then(|s| s.input.as_ref()).unwrap_or(&Value::Null);
        self.tool_calls += 1;
        self.tool_errors += u64::from(part.has_failed());
        let id = self.tool_calls.to_string();
        run.called(&id, mark([tool.as_bytes(), input.to_string().as_bytes()]));
        if let Some(said) = part.said() {
            run.answered(&id, || print(std::iter::once(said)));
        }
        let file = input.get("filePath").and_then(Value::as_str);
        match tool {
            "edit" | "write" | "multiedit" | "patch" | "apply_patch" => self.files.edit(file),
            "read" if !session.is_child => {
                file.into_iter().for_each(|file| self.files.read(file, fact::part(input)))
            }
            _ => {}
        }
    }

    fn usage(self, prices: &Prices) -> Usage {
        let mut usage = Usage {
            format: Some("opencode".into()),
            model: self.model,
            turns: Some(self.turns),
            tool_calls: Some(self.tool_calls),
            tool_errors: Some(self.tool_errors),
            tokens: Some(self.tokens),
            compactions: Some(self.compactions),
            identical_calls: Some(self.identical),
            edits: Some(self.files.edits),
            rereads: self.files.rereads(),
            ..Usage::default()
        };
        usage.bill(self.bill.sum(prices));
        if self.broken > 0 {
            usage.least(format!("{} of the store could not be read", things(self.broken, "row")));
        }
        usage
    }
}
