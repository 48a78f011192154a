//! The logs of a Hermes profile (`<profile home>/logs/agent.log`, `errors.log`; Hermes 0.19 to 0.22): dated lines of all its sessions.
//! They are never translated, and no answer of a model stands in them.
//!
//! The times are the local time of the machine that wrote them, without a zone. They are taken as the local time of
//! the machine that reads, unless an offset is given; for the hour in which a clock is set back see `is_after_the_change`.

use chrono::{FixedOffset, Local, MappedLocalTime, NaiveDateTime, TimeZone};
use serde::{Deserialize, Serialize};

use crate::reset_time::reset_time;
use crate::signal::{Evidence, kept};
use crate::usage::window::SLACK_SECONDS;
use crate::{Format, Line, LogEnd, Signal, SignalKind};
use base::cause::{Cause, of_failure};
use base::endpoint::host;
use base::time::Time;

/// Reads a profile's log. An attempt is a session; the newest is the one whose line came last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reader {
    /// Only this session.
    only: Option<String>,
    /// Only sessions that were started for this task; `only` is then the newest of them.
    task: Option<String>,
    /// Seconds east of Greenwich; `None` is this machine's own zone.
    east: Option<i32>,
    session: Option<String>,
    start: u64,
    begun: u64,
    endpoint: Option<String>,
    failed: Option<Evidence>,
    worked: u64,
    /// Failures tried again since anything last worked.
    retries: u32,
    refused: Option<Evidence>,
    /// When the session last wrote a line.
    heard: Option<Time>,
    /// Until when it waits for its provider by itself before it asks again.
    waits: Option<Time>,
    /// When the line above was written, of whichever session.
    above: Option<Time>,
}

/// Seconds by which a line may state an earlier time than the line above: several processes write one log.
pub(super) const DISORDER: i64 = 10;

/// So many failures in a row, with nothing that worked after them, are what an attempt ended on: a worker that is killed while
/// it waits to try again writes nothing more.
const REPEATED: u32 = 3;

impl Reader {
    /// A reader of one session's lines, or of all.
    pub fn new(session: Option<&str>) -> Reader {
        Reader { only: session.map(str::to_owned), ..Reader::default() }
    }

    /// A reader of the sessions that were started for one task of a board.
    pub fn of_task(task: &str) -> Reader {
        Reader { task: Some(task.to_owned()), ..Reader::default() }
    }

    /// The same for a log whose times are `east` seconds ahead of UTC.
    #[must_use]
    pub fn in_zone(self, east: i32) -> Reader {
        Reader { east: Some(east), ..self }
    }

    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    pub(crate) fn rotated(&mut self) {
        self.start = 0;
    }

    /// When a line was written that was seen at that time.
    fn time(&self, stated: NaiveDateTime, seen: Time) -> Option<Time> {
        let readings = match self.east {
            Some(east) => FixedOffset::east_opt(east)?.from_local_datetime(&stated).map(|at| at.timestamp()),
            None => Local.from_local_datetime(&stated).map(|at| at.timestamp()),
        };
        let is_after = |first, second| is_after_the_change(Time(first), Time(second), self.above, seen);
        one_of(readings, is_after).map(Time)
    }

    /// When a line was written that is one of the newest attempt's; `None` of others.
    pub(crate) fn dated(&self, line: &Line<'_>) -> Option<Time> {
        let entry = Entry::of(line.text)?;
        entry.session.filter(|s| self.session.as_deref() == Some(s))?;
        self.time(entry.stated, line.seen)
    }

    /// Learns from the first line of a session whether it is one of the task's.
    fn belongs(&mut self, entry: &Entry<'_>, session: &str) {
        let Some(task) = self.task.as_deref() else { return };
        if entry.begins(task) {
            self.only = Some(session.to_owned());
        }
    }

    /// Turns to the session of a line; `false` where it is not to be read.
    fn turn(&mut self, session: &str, at: u64) -> bool {
        if self.only.as_deref().is_some_and(|only| only != session)
            || (self.only.is_none() && self.task.is_some())
        {
            return false;
        }
        if self.session.as_deref() != Some(session) {
            *self = Reader {
                only: self.only.take(),
                task: self.task.take(),
                east: self.east,
                session: Some(session.to_owned()),
                start: at,
                begun: self.begun + 1,
                above: self.above,
                ..Reader::default()
            };
        }
        true
    }

    /// What is said outside any session. Whether a worker tries a turn again is said there, by its task.
    fn outside(&mut self, entry: &Entry<'_>, at: Option<Time>) {
        let Some(task) = self.task.as_deref().filter(|_| entry.logger == "agent.kanban_turn_recovery") else {
            return;
        };
        let pause = own_pause(entry.message);
        if entry.message.split(' ').any(|word| word == task) {
            self.waits = pause.zip(at).map(|(pause, at)| at.plus(pause)).or(self.waits);
        }
    }

    fn judge(&mut self, entry: &Entry<'_>, line: &Line<'_>) -> Option<Signal> {
        let said = entry.message;
        let (kind, detail, unsaid) = if let Some(rest) = said.strip_prefix("API call failed (attempt ") {
            self.endpoint = rest.split_once(" base_url=").and_then(|(_, url)| host(url.split(' ').next()?));
            (SignalKind::Retry, rest.split_once(" summary=")?.1, Cause::Unknown)
        } else if let Some(rest) = said.strip_prefix("API call failed after ") {
            let detail = rest.split_once(" retries. ")?.1;
            let detail = detail.rsplit_once(" | provider=").map_or(detail, |(words, _)| words);
            (SignalKind::Terminal, detail, Cause::Unknown)
        } else if let Some(detail) = said.strip_prefix("Non-retryable client error: ") {
            (SignalKind::Terminal, detail, Cause::Unknown)
        } else if said.starts_with("Invalid API response after ") {
            (SignalKind::Terminal, "", Cause::MalformedCall)
        } else if said.starts_with("Turn ended: reason=max_iterations_reached(") {
            // A provider that failed comes before the budget it used up.
            let evidence = self.evidence((Cause::IterationBudget, None), entry, line);
            self.failed.get_or_insert(evidence.clone());
            return Some(Signal { kind: SignalKind::Terminal, evidence });
        } else {
            if said.starts_with("API call #") || said.starts_with("Turn ended: reason=") {
                (self.failed, self.retries, self.refused, self.worked) = (None, 0, None, line.offset);
            }
            return None;
        };
        let verdict = of_failure(detail).unwrap_or((unsaid, None));
        let evidence = self.evidence(verdict, entry, line);
        let ends = kind == SignalKind::Terminal;
        self.failed = ends.then(|| evidence.clone());
        if !ends && verdict.0 != Cause::Unknown {
            self.retries += 1;
            self.refused = Some(evidence.clone());
        }
        (ends || verdict.0 != Cause::Unknown).then_some(Signal { kind, evidence })
    }

    fn evidence(&self, (cause, http): (Cause, Option<u16>), entry: &Entry<'_>, line: &Line<'_>) -> Evidence {
        let at = self.time(entry.stated, line.seen).unwrap_or(line.seen);
        Evidence {
            http,
            endpoint_host: self.endpoint.clone().filter(|_| cause != Cause::IterationBudget),
            at: Some(at),
            resets: cause.can_end().then(|| reset_time(entry.message, at)).flatten(),
            attempt: self.start,
            words: kept(line.text.trim_end()),
            ..Evidence::new(cause, line.offset)
        }
    }
}

impl Format for Reader {
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Signal>) {
        let Some(entry) = Entry::of(line.text) else { return };
        let at = self.time(entry.stated, line.seen);
        self.above = at.or(self.above);
        let Some(session) = entry.session else { return self.outside(&entry, at) };
        self.belongs(&entry, session);
        if !self.turn(session, line.offset) {
            return;
        }
        self.heard = at.or(self.heard);
        if let Some(pause) = own_pause(entry.message) {
            self.waits = self.heard.map(|at| at.plus(pause));
        }
        if entry.logger != "agent.conversation_loop" {
            return;
        }
        out.extend(self.judge(&entry, line));
    }

    fn end(&self) -> LogEnd {
        let refused = || self.refused.clone().filter(|_| self.retries >= REPEATED);
        self.failed.clone().or_else(refused).map_or(LogEnd::NoEvidence, LogEnd::Ended)
    }

    fn attempt(&self) -> u64 {
        self.start
    }

    fn worked(&self) -> u64 {
        self.worked
    }

    fn heard(&self) -> Option<Time> {
        self.heard
    }

    fn waits(&self) -> Option<Time> {
        self.waits
    }
}

/// The moment of a local time. Where it comes twice, because the clock was set back, the second one is taken where `is_second` says so of
/// the two; `None` where it never comes.
pub(super) fn one_of<T: Ord + Copy>(
    readings: MappedLocalTime<T>,
    is_second: impl FnOnce(T, T) -> bool,
) -> Option<T> {
    match readings {
        MappedLocalTime::Single(at) => Some(at),
        MappedLocalTime::Ambiguous(a, b) => {
            // chrono gives those of `Local` in either order.
            let (first, second) = (a.min(b), a.max(b));
            Some(if is_second(first, second) { second } else { first })
        }
        MappedLocalTime::None => None,
    }
}

/// Whether a line at a local time that comes twice was written the second time. No line is younger than the moment it was seen, nor
/// older than the line above. Where both moments fit, it is the second one if it was seen within an hour of that, because passes look every
/// few minutes and a file's last write is its last line: the first one would mean that nobody looked for an hour. Seen later than that, it is
/// the first one, by which lines keep their order.
fn is_after_the_change(first: Time, second: Time, above: Option<Time>, seen: Time) -> bool {
    let fits = second <= seen.plus(SLACK_SECONDS);
    let is_too_old = above.is_some_and(|above| above.since(first) > DISORDER);
    fits && (is_too_old || seen.since(second) < second.since(first))
}

/// Seconds for which a worker waits for its provider by itself: in one of five cycles, or before one of three further turns (Hermes
/// 0.21.5 and later).
fn own_pause(said: &str) -> Option<i64> {
    let cycle = || said.starts_with("Provider unavailable (").then(|| said.split_once(", retrying in "))?;
    let turn = || said.starts_with("[kanban] provider failure on ").then(|| said.split_once(") after "))?;
    let (_, rest) = cycle().or_else(turn)?;
    rest.split_once('s')?.0.parse().ok().filter(|s| (0..=3_600).contains(s))
}

/// Whether a line is one of a profile's log.
pub(crate) fn is_line(text: &str) -> bool {
    Entry::of(text).is_some()
}

/// `2026-11-21 08:17:34,678 WARNING [<session>] agent.conversation_loop: ...`; without a session where it is the
/// profile's own.
pub(super) struct Entry<'a> {
    pub(super) stated: NaiveDateTime,
    pub(super) session: Option<&'a str>,
    pub(super) logger: &'a str,
    pub(super) message: &'a str,
}

impl<'a> Entry<'a> {
    /// Whether a session of this task begins here.
    pub(super) fn begins(&self, task: &str) -> bool {
        let started = self.logger == "agent.turn_context" && self.message.starts_with("conversation turn: ");
        started && self.message.contains(&format!("msg='work kanban task {task}'"))
    }

    pub(super) fn of(text: &'a str) -> Option<Entry<'a>> {
        let (stamp, rest) = text.split_at_checked(23)?;
        if !stamp.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let stated = NaiveDateTime::parse_from_str(stamp, "%Y-%m-%d %H:%M:%S,%3f").ok()?;
        let (level, rest) = rest.strip_prefix(' ')?.split_once(' ')?;
        if !["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"].contains(&level) {
            return None;
        }
        let (session, rest) = match rest.strip_prefix('[').and_then(|r| r.split_once("] ")) {
            Some((session, rest)) => (Some(session), rest),
            None => (None, rest),
        };
        let (logger, message) = rest.split_once(": ")?;
        Some(Entry { stated, session, logger, message })
    }
}

#[cfg(test)]
mod tests;
