//! Any other log: shell scripts, agents nobody taught us, `claude -p` and `codex exec` without JSON.
//!
//! Nothing tells what such a log consists of, so this is narrow. A line is telling only where it states a failure of
//! an API in a form that is no prose, at the very start of the line or behind a time, a level and a name. It ended
//! the attempt only where it is among the last [`TAIL`] lines that are not blank, or where three such lines of one
//! cause are among the last [`REPEATED_WITHIN`] and nothing but them and a few lines more stands at the end.
//! 401, 403 and 404 count only where the words speak of an account or a model: any web page has them.
//!
//! There are no attempts in it: the file is one.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::session::{push_newest, words};
use super::signal::MOST_WORDS;
use super::{Evidence, Format, Line, LogEnd, Signal, SignalKind, claude, codex};
use crate::cause::{Cause, of_api_error, of_http};
use crate::logs::when::reset_time;

mod form;
#[cfg(test)]
mod tests;

/// A failure may be followed by this many lines that are not blank, less one: `exit status 1`, a hint.
pub const TAIL: u64 = 4;

/// Three failures of one cause within so many lines that are not blank end an attempt, too.
pub const REPEATED_WITHIN: u64 = 24;

/// The last of the three may be followed by so many lines, less one.
const REPEATED_TAIL: u64 = 12;

/// Reads text of any kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reader {
    /// Where the first line starts.
    from: u64,
    /// Lines so far that are not blank.
    lines: u64,
    /// The newest telling lines, and which they were.
    telling: VecDeque<(u64, Evidence)>,
}

impl Reader {
    /// A reader that has read nothing.
    pub fn new() -> Reader {
        Reader::default()
    }
}

impl Format for Reader {
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Signal>) {
        if line.text.trim().is_empty() {
            return;
        }
        if self.lines == 0 {
            self.from = line.offset;
        }
        self.lines += 1;
        // A line too long to be kept is data; one that is indented belongs to something else, an answer or a quotation.
        if line.is_cut || line.text.starts_with([' ', '\t']) {
            return;
        }
        let said = words(line.text, MOST_WORDS);
        let Some((cause, http)) = form::failure(&said) else { return };
        let evidence = Evidence {
            http,
            at: Some(line.seen),
            resets: form::can_end(cause).then(|| reset_time(&said, line.seen)).flatten(),
            attempt: self.from,
            words: said,
            ..Evidence::new(cause, line.offset)
        };
        out.push(Signal { kind: SignalKind::Terminal, evidence: evidence.clone() });
        push_newest(&mut self.telling, (self.lines, evidence), 3);
    }

    fn end(&self) -> LogEnd {
        let Some((nth, last)) = self.telling.back() else { return LogEnd::NoEvidence };
        let since = self.lines - nth;
        let is_repeated = self.telling.len() == 3
            && self.telling.iter().all(|(n, e)| e.cause == last.cause && self.lines - n < REPEATED_WITHIN);
        if since < TAIL || (is_repeated && since < REPEATED_TAIL) {
            return LogEnd::Ended(last.clone());
        }
        LogEnd::NoEvidence
    }

    fn attempt(&self) -> u64 {
        self.from
    }
}
