//! One attempt in a Hermes worker log, taken line by line. Whether it is an ordinary or a goal-mode worker's may show only
//! at its end, so both accounts are kept.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::tools;
use super::walk::{Walk, append};
use super::words::{
    BUSY, DETAIL, ENDPOINT, EXIT, INITIALIZING, PROVIDER, RETRY, Row, SESSION, TOOL, api_verdict, failed_try,
    final_answer, is_close, is_guidance, is_ordinary, is_start, query, retry,
};
use crate::signal::{Evidence, MAX_WORDS, Signal, SignalKind};
use base::cause::{Cause, of_failure};
use base::clip::clip_words;
use base::endpoint::host;

/// How many lines are kept of what a worker without an agent says.
const OPENING_LINES: u8 = 8;

/// How much is kept of what a worker without an agent says, in bytes.
const OPENING_BYTES: usize = 1_024;

/// How many sayings are kept.
pub(super) const SAYINGS: usize = 5;

/// One attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Section {
    start: Option<u64>,
    /// Its first line is the attempt's first line.
    whole: bool,
    /// It has a goal-mode worker's last line.
    signed: bool,
    /// It has a line only an ordinary worker writes.
    ordinary: bool,
    closed: bool,
    busy: bool,
    answered: bool,
    /// The exit trailer, where its code says something.
    exit: Option<Evidence>,
    goal: Goal,
    walk: Walk,
    opening: Option<Opening>,
    /// A retry whose details are being told.
    retry: Option<Evidence>,
    /// An answer is being written.
    speaking: bool,
    said: VecDeque<String>,
}

/// Goal mode: every turn's answer is printed bare, so a model may write anything there. A failure counts only
/// as the last answer, and only where a start, an end or another failure precedes it. Answers stand before or
/// after the attempt's `session_id:`: that goes to the other stream, and Python may hold the answers back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Goal {
    /// The last answer, where it is such a failure.
    failed: Option<Evidence>,
    /// The newest line is part of an answer that is not a failure.
    in_answer: bool,
}

/// A worker whose provider could not be resolved says why in words of its own and takes its leave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Opening {
    first: Option<Evidence>,
    /// How many lines `words` has.
    lines: u8,
    words: String,
    /// The newest line takes leave.
    left: bool,
}

impl Section {
    /// What lies behind the end of an attempt.
    pub(super) fn behind() -> Section {
        Section { whole: true, ..Section::default() }
    }

    /// Whether any line of it was read.
    pub(super) fn is_begun(&self) -> bool {
        self.start.is_some()
    }

    /// Where it starts.
    pub(super) fn start(&self) -> u64 {
        self.start.unwrap_or(0)
    }

    pub(super) fn rotated(&mut self) {
        self.start = self.start.map(|_| 0);
    }

    /// Whether anything but the marks of a start or an end stands in it.
    pub(super) fn is_answered(&self) -> bool {
        self.answered
    }

    /// Whether words of lines that were read decide together with lines to come.
    pub(super) fn is_midway(&self) -> bool {
        self.opening.is_some() || self.walk.is_open()
    }

    /// Takes one more plain line of a tool, where it is steady.
    pub(super) fn tool(&mut self, row: &Row<'_>) {
        self.walk.works(row.at);
        self.say(tools::words(row).unwrap_or_default());
        self.forget();
    }

    /// Whether more lines of tools behind one of them change nothing but its last words and where it last worked.
    pub(super) fn is_steady(&self) -> bool {
        self.opening.as_ref().is_none_or(|opening| opening.lines >= OPENING_LINES)
    }

    pub(super) fn last_words(&self) -> Vec<String> {
        self.said.iter().filter(|s| !s.is_empty()).cloned().collect()
    }

    pub(super) fn line(&mut self, row: &Row<'_>, out: &mut Vec<Signal>) {
        let blank = row.is_blank();
        let bound = Bound::of(row);
        if self.start.is_none() {
            let begins = query(&row.text).is_some();
            self.whole |= row.at == 0 || bound == Bound::Start || begins;
            self.start = Some(row.at);
            self.opening = begins.then(Opening::default);
        } else {
            self.open(row, blank);
        }
        self.signed |= row.starts(SESSION);
        self.ordinary = self.ordinary || is_ordinary(row);
        self.closed |= matches!(bound, Bound::End | Bound::Exit);
        self.answered |= !blank && bound == Bound::None;
        self.busy |= row.starts(BUSY);
        if bound == Bound::Exit {
            self.exit = exit_code(row);
        }
        let told = out.len();
        self.goal(row, blank, bound, out);
        self.attempt_retry(row, out);
        let mut walked = Vec::new();
        let answer = self.walk.line(row, blank, &mut walked);
        if self.is_ordinary() {
            out.append(&mut walked);
        }
        if let Some(answer) = answer {
            self.say(&answer);
        }
        self.listen(row, blank, bound);
        for signal in &mut out[told..] {
            signal.evidence.attempt = self.start();
        }
    }

    /// Whether it is an ordinary worker's, as far as was read.
    fn is_ordinary(&self) -> bool {
        self.ordinary && !self.signed
    }

    fn goal(&mut self, row: &Row<'_>, blank: bool, bound: Bound, out: &mut Vec<Signal>) {
        if blank || bound == Bound::Exit || (bound == Bound::None && is_guidance(&row.text)) {
            return;
        }
        if bound != Bound::None {
            self.goal.in_answer = false;
            return;
        }
        let verdict = final_answer(&row.text);
        self.goal.failed = verdict.filter(|_| !self.goal.in_answer).map(|v| row.ended(v));
        self.goal.in_answer = verdict.is_none();
        if !self.is_ordinary() {
            out.extend(
                self.goal.failed.clone().map(|evidence| Signal { kind: SignalKind::Terminal, evidence }),
            );
        }
    }

    /// A retry is told once its own words are known: those stand some lines below it.
    fn attempt_retry(&mut self, row: &Row<'_>, out: &mut Vec<Signal>) {
        if let Some(mut told) = self.retry.take() {
            if row.starts(PROVIDER) {
                self.retry = Some(told);
                return;
            }
            if let Some(url) = row.text.strip_prefix(ENDPOINT) {
                self.retry = Some(Evidence { endpoint_host: host(url), ..told });
                return;
            }
            if let Some(detail) = row.text.strip_prefix(DETAIL) {
                let (cause, http) = of_failure(detail).unwrap_or((told.cause, told.http));
                let said = row.quoting((cause, http.or(told.http)), detail);
                (told.cause, told.http, told.resets) = (said.cause, said.http, said.resets);
            }
            out.push(Signal { kind: SignalKind::Retry, evidence: told });
        }
        if !self.is_ordinary() || self.walk.is_answering() {
            return;
        }
        if row.starts(RETRY) {
            self.retry = retry(&row.text).map(|verdict| row.ended(verdict));
        } else if let Some((_, detail)) = failed_try(&row.text) {
            out.push(Signal { kind: SignalKind::Retry, evidence: row.ended(api_verdict(detail)) });
        }
    }

    /// Keeps the last things the worker said or did.
    fn listen(&mut self, row: &Row<'_>, blank: bool, bound: Bound) {
        if row.starts(TOOL) {
            self.speaking = false;
            self.say(tools::words(row).unwrap_or_default());
        } else if row.starts("╭─") {
            self.speaking = true;
            self.said.push_back(String::new());
        } else if row.starts("╰─") {
            self.speaking = false;
        } else if self.speaking {
            if let (true, Some(open)) = (row.starts("    "), self.said.back_mut()) {
                append(open, row.text.trim(), MAX_WORDS);
            }
        } else if self.is_said(row, blank, bound) {
            self.say(row.text.trim());
        }
        self.forget();
    }

    fn forget(&mut self) {
        while self.said.len() > SAYINGS {
            self.said.pop_front();
        }
    }

    /// Whether a line is an answer of goal mode, as far as was read.
    fn is_said(&self, row: &Row<'_>, blank: bool, bound: Bound) -> bool {
        let bare = !self.ordinary && !blank && bound == Bound::None;
        bare && !is_guidance(&row.text) && final_answer(&row.text).is_none()
    }

    fn say(&mut self, words: &str) {
        if !words.is_empty() {
            // Looked through for secrets only when it is shown or saved: most sayings are pushed out by later ones.
            self.said.push_back(clip_words(words, MAX_WORDS).to_owned());
        }
    }

    /// Takes a line of a worker that did not begin, as far as is known.
    fn open(&mut self, row: &Row<'_>, blank: bool) {
        if row.starts(INITIALIZING) {
            self.opening = None;
        }
        let Some(opening) = self.opening.as_mut().filter(|_| !blank && !row.starts(EXIT)) else { return };
        opening.left = row.starts("Goodbye!");
        if opening.left || opening.lines >= OPENING_LINES {
            return;
        }
        opening.lines += 1;
        append(&mut opening.words, &row.text, OPENING_BYTES);
        if opening.first.is_none() {
            opening.first = Some(row.ended((Cause::Unknown, None)));
        }
    }

    /// Where an ordinary worker last worked.
    pub(super) fn worked(&self) -> u64 {
        self.walk.worked()
    }

    /// How it ended, as far as was read.
    pub(super) fn end(&self) -> Option<Evidence> {
        let end = if self.is_ordinary() {
            self.walk.clone().end(self.closed && self.whole).or_else(|| self.opening.as_ref()?.end())
        } else {
            self.goal.failed.clone()
        };
        // The same code says that the profile is busy, and then a marker stands beside it.
        let exit = self.exit.as_ref().filter(|e| !(self.busy && e.cause == Cause::ServerError));
        end.or_else(|| exit.cloned())
    }
}

/// What a line bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    Start,
    End,
    Exit,
    None,
}

impl Bound {
    fn of(row: &Row<'_>) -> Bound {
        if is_close(row) {
            Bound::End
        } else if is_start(row) {
            Bound::Start
        } else if row.starts(EXIT) {
            Bound::Exit
        } else {
            Bound::None
        }
    }
}

/// Later versions sign off with their exit code; where nothing else was found, the code gives the cause.
fn exit_code(row: &Row<'_>) -> Option<Evidence> {
    let cause = match row.text.strip_prefix(EXIT)?.trim() {
        // A limit, a quota, an overload, a failure or no answer of the provider: what all of them have in common is that it failed.
        "75" => Cause::ServerError,
        // Key, model, certificate or firewall: the operator has to find out which.
        "78" => Cause::Unknown,
        _ => return None,
    };
    Some(row.ended((cause, None)))
}

impl Opening {
    fn end(&self) -> Option<Evidence> {
        let first = self.first.as_ref().filter(|_| self.left)?;
        let words = self.words.to_lowercase();
        let says = |needles: &[&str]| needles.iter().any(|n| words.contains(n));
        let cause = if says(&["credits are exhausted", "paid subscription"]) {
            Cause::Quota
        } else if says(&["api key", "authenticate", "log in", "login", "token", "credential"]) {
            Cause::Credential
        } else {
            Cause::Misconfigured
        };
        Some(Evidence { cause, ..first.clone() })
    }
}
