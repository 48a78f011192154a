//! A log as a file: only what is new since the last pass is read, at most the last part of a huge one, and only of a regular
//! file.
//!
//! A log is written by a worker we do not trust and may be anything at all, and another process may rotate, truncate or replace it
//! between two passes. A cursor says how far it was read; where it no longer fits, the log is read as if for the first time.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::handle::{Mark, Owner, Stamp, bytes, check, glance, is_sqlite, open};
use super::lines::{Lines, Piece, lines};
use super::operator_patterns::{Patterns, Rules};
use super::reader::{Reader, Shown, sniff};
pub use super::tally::EachLine;
use super::tally::{Skimmer, Tally};
use super::{LogEnd, MAX_EARLIER, Reading, profile};
use crate::cache::Cache;
use crate::usage::window::SLACK_SECONDS;
use base::reason::Reason;
use base::redact;
use base::time::{DAY, Time};

/// Most bytes read of a log at the first look, from its end.
pub const FIRST_LOOK: u64 = 1 << 20;

/// A log that grew by more than this many bytes since it was read is looked at as if for the first time.
pub const MAX_GROWTH: u64 = 16 << 20;

/// Bytes of a log's front in which its format must show.
const HEAD: u64 = 16 * 1024;

/// Cursors of other versions are not understood: raise it whenever a reader's state or rules change.
const VERSION: u32 = 14;

/// Whose log it is, which says what may stand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of<'a> {
    /// The log a board keeps of this task.
    Task(&'a str),
    /// A file that a claim or the command line named. It must be our own: to quote another user's on a board would publish it.
    Named,
    /// The log of a Hermes profile, of which one session matters, or all.
    Profile(Option<&'a str>),
    /// The log of a Hermes profile, of which the sessions of this task matter.
    ProfileOf(&'a str),
}

impl Of<'_> {
    fn task(&self) -> Option<&str> {
        match self {
            Of::Task(task) => Some(task),
            Of::Named | Of::Profile(_) | Of::ProfileOf(_) => None,
        }
    }

    fn owner(&self) -> Owner {
        match self {
            Of::Named => Owner::Ourselves,
            Of::Task(_) | Of::Profile(_) | Of::ProfileOf(_) => Owner::Anybody,
        }
    }

    fn key(&self, path: &Path) -> Option<String> {
        // Two names that are no text could look alike.
        let path = path.to_str()?;
        Some(match self {
            Of::Task(task) => format!("task:{task}:{path}"),
            Of::Named => format!("named:{path}"),
            Of::Profile(session) => format!("profile:{}:{path}", session.unwrap_or_default()),
            Of::ProfileOf(task) => format!("profile-of:{task}:{path}"),
        })
    }
}

/// Which log to read, and for which attempt.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The file.
    pub path: &'a Path,
    /// Whose it is.
    pub of: Of<'a>,
    /// The start of the attempt asked about: a log not written since then has nothing of it.
    pub since: Time,
    /// The time of the pass.
    pub now: Time,
}

/// How far a log was read, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Cursor {
    version: u32,
    /// The first byte not read: where the next line starts.
    mark: Mark,
    /// A whole line showed the format.
    sure: bool,
    /// All whole lines; read as text while none of them shows a format.
    tally: Tally,
    /// The same with the last line, where nobody has finished that yet. What that line shows of the format is believed here
    /// alone: finished it may show another one.
    torn: Option<Tally>,
    /// What the file rotated away before this one says, while no whole line tells whether this one goes on with it.
    before: Option<Tally>,
    /// Which patterns of the operator its lines were held against; 0: none.
    #[serde(default)]
    rules: u64,
}

/// A file as it was when it was looked at.
#[derive(Clone, Copy)]
struct Look<'a> {
    file: &'a File,
    stamp: Stamp,
    /// The time of lines that state none.
    seen: Time,
    rules: Rules<'a>,
}

/// Reads what a log says about the newest attempt. New bytes only where `cache` knows how far it was read; none at all where
/// the file is as it was then.
pub fn read(ask: &Ask<'_>, cache: &mut Cache) -> Reading {
    read_taught(ask, Patterns::default().of_profile(None), cache)
}

/// The same with the operator's patterns.
pub fn read_taught(ask: &Ask<'_>, rules: Rules<'_>, cache: &mut Cache) -> Reading {
    match try_read(ask, rules, cache) {
        Ok(reading) => of_newest(reading, ask.since),
        Err(why) => {
            let file = name(ask.path);
            let why = format!("{}: {why}", file.as_deref().unwrap_or_default());
            Reading { file, ..Reading::of(LogEnd::Unreadable(why), None) }
        }
    }
}

/// An end that was written before the attempt began is that of an earlier one: the attempt may have written lines that tell nothing
/// of a new beginning, and then died.
fn of_newest(mut reading: Reading, since: Time) -> Reading {
    let LogEnd::Ended(end) = &reading.end else { return reading };
    if end.at.is_none_or(|at| at >= since.plus(-SLACK_SECONDS)) {
        return reading;
    }
    let old = end.clone();
    reading.signals.retain(|s| s.evidence.offset > old.offset);
    reading.earlier.insert(0, Some(old));
    reading.earlier.truncate(MAX_EARLIER);
    Reading { end: LogEnd::NoEvidence, ..reading }
}

fn try_read(ask: &Ask<'_>, rules: Rules<'_>, cache: &mut Cache) -> Result<Reading, Reason> {
    let Some(seen) = glance(ask.path, ask.of.owner())? else { return Ok(Reading::of(LogEnd::Absent, None)) };
    let written = Time(seen.written.0);
    if written < ask.since.plus(-SLACK_SECONDS) {
        return Ok(Reading { file: name(ask.path), ..Reading::of(LogEnd::NoEvidence, Some(written)) });
    }
    let key = ask.of.key(ask.path);
    let known = key.as_deref().and_then(|k| cache.log(k));
    let used = known.as_ref().map(|row| row.used);
    let old: Option<Cursor> = known.and_then(|row| serde_json::from_str(&row.body).ok());
    // What was read under other patterns is read again.
    let old = old.filter(|c| c.version == VERSION && c.rules == rules.mark());
    let cursor = match old {
        Some(cursor) if cursor.mark.stamp == seen => {
            if used.is_none_or(|used| ask.now.since(used) < DAY) {
                return Ok(cursor.reading(ask.path));
            }
            cursor
        }
        old => {
            let Some(file) = open(ask.path)? else { return Ok(Reading::of(LogEnd::Absent, None)) };
            let stamp = check(&file.metadata()?, ask.of.owner())?;
            // A store of sessions has no lines: read as text it could say anything.
            if is_sqlite(&file).unwrap_or(false) {
                return Ok(Reading {
                    file: name(ask.path),
                    ..Reading::of(LogEnd::NoEvidence, Some(written))
                });
            }
            let look = Look { file: &file, stamp, seen: Time(stamp.written.0).min(ask.now), rules };
            advance(look, old, ask)?
        }
    };
    let reading = cursor.reading(ask.path);
    if let (Some(key), Ok(body)) = (key, serde_json::to_string(&cursor)) {
        // What is told by the words of lines to come as well as of these is read again: they are not kept with a secret in them.
        if !(cursor.is_midway() && matches!(redact::json(&body), Cow::Owned(_))) {
            cache.put_log(&key, cursor.mark.offset, body, ask.now);
        }
    }
    Ok(reading)
}

/// Reads a whole log from its first byte, in bounded memory, and shows `each` line with what it said and the reader behind it.
/// The format is taken from its first lines; text where they do not tell. Gives what a watcher would learn of it.
///
/// # Errors
/// It is missing, no regular file, or cannot be read.
pub fn read_all(
    path: &Path,
    task: Option<&str>,
    now: Time,
    each: Option<&mut EachLine<'_>>,
) -> Result<Reading, Reason> {
    let of = task.map_or(Of::Named, Of::Task);
    let file = open(path)?.ok_or("there is no such file")?;
    // A person asks, and the answer goes to nobody else.
    let stamp = check(&file.metadata()?, Owner::Anybody)?;
    let reader = format(&file, stamp.size, of)?.reader();
    let mut tally = Tally::new(reader);
    let seen = Time(stamp.written.0).min(now);
    let patterns = Patterns::default();
    let whole = (0, stamp.size);
    match each {
        Some(each) => all(&file, whole, &mut |piece: &Piece<'_>| tally.piece_told(piece, seen, each)),
        None => all(&file, whole, &mut Skimmer::new(&mut tally, seen, patterns.of_profile(None), false)),
    }?;
    Ok(tally.reading(Time(stamp.written.0), name(path)))
}

/// Shows all lines between two places, the last one also where it has no end.
fn all(file: &File, (from, to): (u64, u64), taker: &mut impl Lines) -> io::Result<()> {
    let rest = lines(file, from, to, taker)?;
    if !rest.bytes.is_empty() {
        taker.take(&rest.piece());
    }
    Ok(())
}

impl Cursor {
    fn reading(&self, path: &Path) -> Reading {
        self.torn.as_ref().unwrap_or(&self.tally).reading(Time(self.mark.stamp.written.0), name(path))
    }

    fn is_midway(&self) -> bool {
        let all = [Some(&self.tally), self.torn.as_ref(), self.before.as_ref()];
        all.into_iter().flatten().any(Tally::is_midway)
    }

    /// Whether the file only grew since.
    fn fits(&self, file: &File, now: &Stamp) -> io::Result<bool> {
        // A writer that appends never leaves the size as it was.
        Ok(now.size > self.mark.stamp.size && self.mark.fits(file, now, MAX_GROWTH)?)
    }
}

/// The cursor at the end of what is there now.
fn advance(look: Look<'_>, old: Option<Cursor>, ask: &Ask<'_>) -> io::Result<Cursor> {
    let grown = match &old {
        Some(cursor) if cursor.fits(look.file, &look.stamp)? => Some(cursor),
        _ => None,
    };
    let on = |cursor: &Cursor| {
        let from = (cursor.mark.offset, false);
        go_on(look, cursor.tally.clone(), cursor.sure, from)
    };
    if let Some(cursor) = grown.filter(|c| c.sure) {
        return on(cursor);
    }
    let shown = format(look.file, look.stamp.size, ask.of)?;
    let mut cursor = match (grown.filter(|c| c.before.is_none()), shown) {
        (Some(cursor), Shown::Not) => return on(cursor),
        (Some(cursor), Shown::SoFar(reader)) => {
            let mut torn = so_far(look, Tally::new(reader))?;
            torn.undate(look.seen);
            return Ok(Cursor { torn: Some(torn), ..on(cursor)? });
        }
        (_, shown) => {
            let waiting = grown.and_then(|c| c.before.clone());
            let before = || waiting.or_else(|| rotated_away(old.as_ref(), ask, look.rules));
            first_look(look, shown, before)?
        }
    };
    cursor.tally.undate(look.seen);
    if let Some(torn) = &mut cursor.torn {
        torn.undate(look.seen);
    }
    Ok(cursor)
}

fn first_look(look: Look<'_>, shown: Shown, before: impl FnOnce() -> Option<Tally>) -> io::Result<Cursor> {
    let sure = matches!(shown, Shown::Surely(_));
    let is_by_half = matches!(shown, Shown::SoFar(_));
    let reader = shown.reader();
    if look.stamp.size <= FIRST_LOOK {
        let (first, is_whole) = first_line(look.file, look.stamp.size)?;
        // A log that goes on with an attempt may not show by itself what it is.
        let before = if sure && !reader.may_go_on(&first) { None } else { before() };
        let fits = |t: &Tally| {
            t.reader().may_go_on(&first) && (!(sure || is_by_half) || t.reader().name() == reader.name())
        };
        match before {
            Some(before) if !sure && (is_by_half || !is_whole) => {
                let said = if fits(&before) { before.clone() } else { Tally::new(reader) };
                return Ok(Cursor { before: Some(before), ..for_now(look, said)? });
            }
            Some(before) if fits(&before) => return go_on(look, before, true, (0, false)),
            _ => {}
        }
    }
    let tally = Tally::new(reader);
    if is_by_half {
        return for_now(look, tally);
    }
    go_on(look, tally, sure, start(look.stamp))
}

/// Where a first look starts, and whether that lies within a line.
fn start(stamp: Stamp) -> (u64, bool) {
    // One byte early: where that ends a line, the next one is whole.
    let from = stamp.size.saturating_sub(FIRST_LOOK);
    (from.saturating_sub(1), from > 0)
}

/// What a log says while only a line that is still being written shows its format: nothing of that is remembered.
fn for_now(look: Look<'_>, said: Tally) -> io::Result<Cursor> {
    let text = Tally::new(Shown::Not.reader());
    let cursor = go_on(look, text, false, start(look.stamp))?;
    Ok(Cursor { torn: Some(so_far(look, said)?), ..cursor })
}

/// What a log says with the line that is still being written.
fn so_far(look: Look<'_>, tally: Tally) -> io::Result<Tally> {
    let cursor = go_on(look, tally, false, start(look.stamp))?;
    Ok(cursor.torn.unwrap_or(cursor.tally))
}

/// Reads from an offset, which may lie within a line that is then not read, to the end of the file as it was at the stamp.
fn go_on(look: Look<'_>, mut tally: Tally, sure: bool, (from, within): (u64, bool)) -> io::Result<Cursor> {
    let Look { file, stamp, seen, rules } = look;
    let mut skimmer = Skimmer::new(&mut tally, seen, rules, within);
    let mut rest = lines(file, from, stamp.size, &mut skimmer)?;
    if skimmer.is_within {
        let none = || io::Error::other(format!("no line ends in its last {} KiB", FIRST_LOOK / 1024));
        rest = rest.behind_return().ok_or_else(none)?;
    }
    let torn = (!rest.bytes.is_empty()).then(|| {
        let mut tally = tally.clone();
        Skimmer::new(&mut tally, seen, rules, false).take(&rest.piece());
        tally
    });
    let mark = Mark::at(file, stamp, rest.offset)?;
    Ok(Cursor { version: VERSION, mark, sure, tally, torn, before: None, rules: rules.mark() })
}

/// What the file rotated away before this one says of the attempt that may go on here; `None` where there is none.
fn rotated_away(old: Option<&Cursor>, ask: &Ask<'_>, rules: Rules<'_>) -> Option<Tally> {
    let mut name = ask.path.as_os_str().to_owned();
    name.push(".1");
    let path = PathBuf::from(name);
    let file = open(&path).ok()??;
    let stamp = check(&file.metadata().ok()?, ask.of.owner()).ok()?;
    let written = Time(stamp.written.0);
    if written < ask.since.plus(-SLACK_SECONDS) {
        return None;
    }
    let known = old.filter(|c| c.sure && c.mark.fits(&file, &stamp, MAX_GROWTH).is_ok_and(|fits| fits));
    let (tally, from) = match known {
        Some(cursor) => (cursor.tally.clone(), (cursor.mark.offset, false)),
        None => {
            let shown = format(&file, stamp.size, ask.of).ok()?;
            if matches!(shown, Shown::Not) {
                return None;
            }
            (Tally::new(shown.reader()), start(stamp))
        }
    };
    let look = Look { file: &file, stamp, seen: written.min(ask.now), rules };
    let cursor = go_on(look, tally, true, from).ok()?;
    // Nobody will finish its last line any more.
    let mut tally = cursor.torn.unwrap_or(cursor.tally);
    tally.rotated();
    Some(tally)
}

/// The format of a log.
fn format(file: &File, size: u64, of: Of<'_>) -> io::Result<Shown> {
    match of {
        Of::Profile(session) => Ok(Shown::Surely(Reader::Profile(profile::Reader::new(session)))),
        Of::ProfileOf(task) => Ok(Shown::Surely(Reader::Profile(profile::Reader::of_task(task)))),
        Of::Task(_) | Of::Named => sniffed(file, size, of.task()),
    }
}

/// The format that a line of the file's front or end shows.
pub(super) fn sniffed(file: &File, size: u64, task: Option<&str>) -> io::Result<Shown> {
    let mut so_far = Shown::Not;
    // The front of a huge log may be gone or empty; then its end tells.
    let end = size.saturating_sub(HEAD);
    for from in [0, end].into_iter().take(if end > 0 { 2 } else { 1 }) {
        let bytes = bytes(file, from, HEAD.min(size - from))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<&str> = text.split('\n').skip(usize::from(from > 0)).collect();
        // What ends with a full front never changes again; what ends with the file is still being written.
        let is_full = from == 0 && bytes.len() as u64 == HEAD;
        let last = if is_full { None } else { lines.pop() };
        so_far = sniff(&lines, last, task);
        if matches!(so_far, Shown::Surely(_)) {
            break;
        }
    }
    Ok(so_far)
}

/// The first line that says something, and whether it is whole; empty where none does.
fn first_line(file: &File, size: u64) -> io::Result<(String, bool)> {
    let bytes = bytes(file, 0, HEAD.min(size))?;
    let text = String::from_utf8_lossy(&bytes);
    let first = text.split_inclusive('\n').find(|l| !l.trim().is_empty()).unwrap_or_default();
    let is_whole = first.ends_with('\n') || bytes.len() as u64 == HEAD;
    Ok((first.trim_end_matches(['\r', '\n']).to_owned(), is_whole))
}

fn name(path: &Path) -> Option<String> {
    Some(path.display().to_string())
}

#[cfg(test)]
mod tests;
