//! The worker log of Hermes (0.19 to 0.22): which line ended the last attempt.
//!
//! All attempts at a task share one file without times. An ordinary worker writes its status lines at column
//! 0, its tool lines behind `  ┊`, its answer indented by four or more (0.19) or in a box (0.22); so an answer or a diff that quotes a
//! failure line never stands where the real one stands. A goal-mode worker writes answers bare; there only
//! the very last answer counts, and only if nothing but a start or another failure stands before it.
//!
//! Retries are buffered by Hermes and written only when all of them and all fallbacks have failed. A worker
//! killed while it retries therefore leaves no line, and `⚠️  API call failed (attempt 1/2)` alone ends
//! nothing.

mod section;
mod tools;
mod walk;
mod words;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use section::Section;
pub(crate) use tools::idle;
pub use words::{EXIT, is_mark, is_weak_mark, skip_escape};
use words::{Row, SESSION, is_close, is_start, query};

use crate::lines::Piece;
use crate::{Evidence, Format, Line, LogEnd, Signal};
use base::clip::lossy;

/// How many attempts before the newest one are remembered by their ends: more than `heal.max_resumes` can be, so that these alone
/// tell whether a task died too often.
pub const MAX_EARLIER: usize = 30;

/// Reads a Hermes worker log line by line. What it keeps is a few KiB, however long the log is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reader {
    task: String,
    /// The newest attempt names another task.
    foreign: bool,
    /// How many attempts have begun.
    begun: u64,
    section: Section,
    /// How the attempts before it ended, the newest first.
    earlier: VecDeque<Option<Evidence>>,
    // Whether lines after an attempt's end belong to the next one is known only when that ends in turn, so
    // they are kept on both accounts until then.
    closed: Option<Box<Section>>,
    exited: Option<Box<Section>>,
}

impl Reader {
    /// A reader of the attempts at `task`; attempts at another are nobody's here. An empty name takes all.
    pub fn new(task: &str) -> Reader {
        Reader { task: task.to_owned(), ..Reader::default() }
    }

    /// How many attempts have begun since the first line; a different number is a different attempt.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// Whether words of lines that were read decide together with lines to come.
    pub(crate) fn is_midway(&self) -> bool {
        let behind = [self.closed.as_deref(), self.exited.as_deref()];
        behind.into_iter().flatten().chain([&self.section]).any(Section::is_midway)
    }

    /// The file was rotated away within an attempt: it goes on in a new one, from byte 0 of that.
    pub(crate) fn rotated(&mut self) {
        for section in [Some(&mut self.section), self.closed.as_deref_mut(), self.exited.as_deref_mut()] {
            section.into_iter().for_each(Section::rotated);
        }
    }

    /// Whether a log whose first telling line is this one starts with an attempt.
    pub(crate) fn begins_with(text: &str) -> bool {
        let row = Row::new(0, text, base::time::Time(0));
        query(&row.text).is_some() || is_start(&row)
    }

    /// Takes one more line of a tool where it is steady; `false` where it is another line.
    pub(crate) fn go_on(&mut self, line: &Piece<'_>) -> bool {
        if !tools::is_plain(line.bytes) {
            return false;
        }
        let text = lossy(line.bytes);
        let row = Row::plain(line.offset, &text);
        let sections = [Some(&mut self.section), self.closed.as_deref_mut(), self.exited.as_deref_mut()];
        sections.into_iter().flatten().for_each(|section| section.tool(&row));
        true
    }

    /// Whether `last`, the line that it took last, tells of a tool and ended whatever was open above it. Of more such lines
    /// only the last words count, and where the last one stands: [`idle`].
    pub(crate) fn is_steady(&self, last: &[u8]) -> bool {
        let sections = [Some(&self.section), self.closed.as_deref(), self.exited.as_deref()];
        tools::is_plain(last) && sections.into_iter().flatten().all(Section::is_steady)
    }

    fn begin(&mut self, section: Section, owner: Option<&str>) {
        let ended = std::mem::replace(&mut self.section, section);
        if !self.foreign && ended.is_begun() {
            let attempt = ended.start();
            self.earlier.push_front(ended.end().map(|e| Evidence { attempt, ..e }));
            self.earlier.truncate(MAX_EARLIER);
        }
        (self.closed, self.exited) = (None, None);
        self.begun += 1;
        let named = owner.map(|rest| rest.split_whitespace().next().unwrap_or_default());
        self.foreign = named.is_some_and(|id| !self.task.is_empty() && id != self.task);
    }

    /// Begins another attempt where this line shows that one began, here or behind the end of the last. Whatever
    /// follows an attempt's closing lines without a start of its own (warnings at interpreter exit) still belongs to
    /// it: better an old failure too many than a new reset too many.
    fn turn(&mut self, row: &Row<'_>) {
        let query = query(&row.text);
        let ended = self.closed.is_some() || self.exited.is_some();
        if query.is_some() || (ended && is_start(row)) {
            self.begin(Section::default(), query);
        } else if row.starts(SESSION) && self.closed.as_ref().is_some_and(|s| s.is_answered()) {
            // Goal mode has no line of its own at the start; what lies between two ends is an attempt.
            let section = self.closed.take().map(|s| *s).unwrap_or_default();
            self.begin(section, None);
        } else if row.starts(EXIT)
            && let Some(section) = self.exited.take()
        {
            self.begin(*section, None);
        }
    }
}

impl Format for Reader {
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Signal>) {
        let row = Row::new(line.offset, line.text, line.seen);
        self.turn(&row);
        let told = out.len();
        self.section.line(&row, out);
        if self.foreign {
            out.truncate(told);
        }
        let mut unheard = Vec::new();
        for section in [&mut self.closed, &mut self.exited].into_iter().flatten() {
            section.line(&row, &mut unheard);
        }
        if is_close(&row) {
            self.closed = Some(Box::new(Section::behind()));
        }
        if row.starts(EXIT) {
            self.exited = Some(Box::new(Section::behind()));
        }
    }

    fn end(&self) -> LogEnd {
        let end = if self.foreign { None } else { self.section.end() };
        end.map_or(LogEnd::NoEvidence, |e| LogEnd::Ended(Evidence { attempt: self.attempt(), ..e }))
    }

    fn attempt(&self) -> u64 {
        self.section.start()
    }

    fn worked(&self) -> u64 {
        self.section.worked()
    }

    fn is_left(&self) -> bool {
        !self.foreign && self.exited.as_ref().is_some_and(|behind| !behind.is_answered())
    }

    fn earlier(&self) -> Vec<Option<Evidence>> {
        self.earlier.iter().cloned().collect()
    }

    fn last_words(&self) -> Vec<String> {
        if self.foreign { Vec::new() } else { self.section.last_words() }
    }
}

#[cfg(test)]
mod tests;
