//! Any other log: shell scripts, agents nobody taught us, `claude -p` and `codex exec` without JSON.
//!
//! Nothing tells what such a log consists of, so this is narrow. A line is telling only where it states a failure of
//! an API in a form that is not prose, at the very start of the line or behind a time, a level and a name. It ended
//! the attempt only where it is among the last [`TAIL`] lines that are not blank, or where three such lines of one
//! cause are among the last [`REPEATED_WITHIN`] and nothing but them and a few lines more stands at the end.
//! 401, 403 and 404 count only where the words speak of an account or a model: any web page has them.
//!
//! Where a test runner sums up its tests, what stands above that was their output.
//!
//! There are no attempts in it: the file is one. An agent may print the prompt that it was given. A prompt of Watchbill puts the
//! text of the task before a line with its title, and each line after that begins as that of a list: nothing in it is telling.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::session::{push_newest, words};
use super::signal::{MAX_WORDS, kept};
use super::{Evidence, Format, Line, LogEnd, Signal, SignalKind};
use crate::reset_time::reset_time;
use base::cause::Cause;
use base::clip::clip_words;
use base::names::is_task_id;
use base::time::Time;

mod form;
#[cfg(test)]
mod tests;

/// A failure may be followed by this many lines that are not blank, less one: `exit status 1`, a hint.
pub const TAIL: u64 = 4;

/// Three failures of one cause within so many lines that are not blank end an attempt, too.
pub const REPEATED_WITHIN: u64 = 24;

/// The last of the three may be followed by so many lines, less one.
const REPEATED_TAIL: u64 = 12;

/// Most bytes of a failure that are looked at; providers put what tells a minute from a day far back.
const MAX_JUDGED: usize = 2_000;

/// Most lines beneath a failure that belong to it: a stack, the provider's answer.
const MAX_BENEATH: u8 = 60;

/// So many lines at its end are quoted, where none of them is known.
const QUOTED: usize = 3;

/// Reads text of any kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reader {
    /// Where the first line starts.
    from: u64,
    /// Lines so far that are not blank, without those that belong to a failure above them.
    lines: u64,
    /// The newest telling lines, and which they were.
    telling: VecDeque<(u64, Evidence)>,
    /// The newest line that may state a failure, while what follows belongs to it.
    open: Option<Open>,
    /// The newest lines that are not blank.
    newest: VecDeque<String>,
}

/// A line that may state a failure, with what is indented beneath it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Open {
    offset: u64,
    text: String,
    beneath: u8,
}

impl Reader {
    /// A reader that has read nothing.
    pub fn new() -> Reader {
        Reader::default()
    }
}

/// A line as it is shown, without terminal escapes.
pub fn shown(line: &str) -> String {
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    format!("{}{}", &line[..indent], words(&line[indent..], MAX_JUDGED))
}

/// How many lines follow a failure that stands on the first one, without those that belong to it and blank ones.
pub fn lines_after_failure<'t>(lines: impl Iterator<Item = &'t str>) -> usize {
    let mut lines = lines.map(shown).filter(|line| !line.trim().is_empty());
    let mut open = lines.next().map(|text| Open { text, ..Open::default() });
    let is_after = |line: &String| {
        open = open
            .take()
            .filter(|open| open.takes(line))
            .map(|open| Open { beneath: open.beneath + 1, ..open });
        open.is_none()
    };
    lines.filter(is_after).count()
}

impl Reader {
    /// Takes a line that belongs to the failure above it; `false` where there is none.
    fn goes_on(&mut self, line: &Line<'_>, out: &mut Vec<Signal>) -> bool {
        let Some(mut open) = self.open.take().filter(|o| o.takes(line.text)) else { return false };
        open.beneath += 1;
        if open.text.len() < MAX_JUDGED {
            // Apart, so that no status is followed by a sentence.
            open.text = format!("{} ¦ {}", open.text, clip_words(line.text.trim(), MAX_JUDGED));
            self.judge(&open, line.seen, out);
        }
        self.open = Some(open);
        true
    }

    /// Looks what a text says, and replaces what was made of less of it.
    fn judge(&mut self, open: &Open, seen: Time, out: &mut Vec<Signal>) {
        let said = words(&open.text, MAX_JUDGED);
        let Some((cause, http)) = form::failure(&said) else { return };
        let known = self.telling.back().filter(|(_, e)| e.offset == open.offset);
        if known.is_some_and(|(_, e)| (e.cause, e.http) == (cause, http)) {
            return;
        }
        if known.is_some() {
            self.telling.pop_back();
        }
        let evidence = Evidence {
            http,
            at: Some(seen),
            resets: cause.can_end().then(|| reset_time(&said, seen)).flatten(),
            attempt: self.from,
            words: clip_words(&said, MAX_WORDS).to_owned(),
            ..Evidence::new(cause, open.offset)
        };
        out.push(Signal { kind: SignalKind::Terminal, evidence: evidence.clone() });
        push_newest(&mut self.telling, (self.lines, evidence), 3);
    }

    /// Drops the status line of a server's answer that a command printed with its headers, as `curl -i` does.
    fn drop_answer(&mut self, text: &str) {
        let is_header = text.split_once(": ").is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
        });
        let is_answer = |(nth, e): &(u64, Evidence)| *nth + 1 == self.lines && e.words.starts_with("HTTP/");
        if is_header && self.telling.back().is_some_and(is_answer) {
            self.telling.pop_back();
        }
    }
}

impl Open {
    /// Whether the next line belongs to the failure.
    fn takes(&self, next: &str) -> bool {
        self.beneath < MAX_BENEATH && (is_beneath(next) || self.asks_for(next))
    }

    /// A line that ends in the middle is gone on with by the next one: `AnthropicError -`, `Body`.
    fn asks_for(&self, next: &str) -> bool {
        self.beneath == 0 && next.starts_with(['{', '<']) && !self.text.ends_with(['.', '}', ']'])
    }
}

/// Whether it is the line of Watchbill's prompt with the title of the task, which comes after the text of the task.
fn ends_a_task(text: &str) -> bool {
    let title = text.strip_prefix("Task ").and_then(|rest| rest.split_once(": "));
    title.is_some_and(|(id, _)| is_task_id(id))
}

/// Frames of a stack, the lines of an answer, and the brackets that close it.
fn is_beneath(text: &str) -> bool {
    text.starts_with([' ', '\t']) || text.starts_with('<') || text.chars().all(|c| c.is_ascii_punctuation())
}

impl Format for Reader {
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Signal>) {
        if !line.is_cut && !self.telling.is_empty() && form::sums_up_tests(&words(line.text, MAX_JUDGED)) {
            self.telling.clear();
            self.open = None;
        }
        if !line.text.trim().is_empty() {
            push_newest(&mut self.newest, clip_words(line.text, 4 * MAX_WORDS).to_owned(), QUOTED);
        }
        // A line too long to be kept is data.
        if line.text.trim().is_empty() || !line.is_cut && self.goes_on(line, out) {
            return;
        }
        if self.lines == 0 {
            self.from = line.offset;
        }
        self.lines += 1;
        self.open = None;
        if ends_a_task(line.text) {
            self.telling.clear();
            return;
        }
        self.drop_answer(line.text);
        // One that is indented belongs to something else, an answer or a quotation.
        if line.is_cut || line.text.starts_with([' ', '\t']) || !form::may_tell(line.text) {
            return;
        }
        let open =
            Open { offset: line.offset, text: clip_words(line.text, MAX_JUDGED).to_owned(), beneath: 0 };
        self.judge(&open, line.seen, out);
        self.open = Some(open);
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

    fn last_words(&self) -> Vec<String> {
        if self.end() != LogEnd::NoEvidence {
            return Vec::new();
        }
        // A key is known before it is cut.
        let all = self.newest.iter().map(|line| kept(&words(line, 4 * MAX_WORDS)));
        all.filter(|line| !line.is_empty()).collect()
    }
}
