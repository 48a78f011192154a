//! The status lines of an ordinary worker's attempt: what failed last, and whether the attempt went on after it.

use serde::{Deserialize, Serialize};

use super::words::{
    ENDPOINT, NUDGE, PROVIDER, Row, TOOL, evidence, final_answer, is_announcement, is_going_on,
    is_labelled_rule, is_malformed_call, letters, start_failure, terminal,
};
use crate::signal::{Evidence, Signal, SignalKind};
use base::cause::Cause;
use base::clip::clip;
use base::endpoint::host;
use base::hash::fnv;
use base::time::Time;

/// How much of a final box is kept to be recognised, in bytes.
const BOX_BYTES: usize = 512;

/// What is known while walking down an ordinary attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Walk {
    failed: Option<Failed>,
    budget: Option<Evidence>,
    endpoint: Option<String>,
    nudged: Option<Evidence>,
    used_tools: bool,
    /// A line stands above that Hermes writes before each failure of its provider, and the attempt did not go on since. Without one
    /// the box below holds an answer, whatever that says.
    announced: bool,
    /// Where it last worked.
    worked: u64,
    /// The line before named a provider.
    provider: bool,
    /// The box of a finished answer, while it is being read.
    open: Option<Shown>,
    /// The answer that is being written, between the two lines of its box.
    answer: Option<Answer>,
}

/// Hermes 0.19 indents what stands in a box, 0.22 writes it bare: then a failure in it is a quotation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Answer {
    is_bare: bool,
    /// The iterations were used up before it.
    budget: Option<Evidence>,
}

/// The failure on which the attempt would end if nothing followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Failed {
    evidence: Evidence,
    /// How the provider's words begin, which the final box repeats.
    letters: Option<Print>,
}

/// How a text begins, without the text: how many of its [`letters`] count, and their hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Print(usize, u64);

impl Print {
    fn of(text: &str) -> Print {
        let letters = letters(text);
        Print(letters.chars().count(), fnv(letters.bytes()))
    }
}

/// The text of a box so far, unwrapped, and where it begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Shown {
    begun: Option<(u64, Time)>,
    text: String,
}

impl Walk {
    /// Takes the next line. Gives the answer that was finished above it.
    pub(super) fn line(&mut self, row: &Row<'_>, blank: bool, out: &mut Vec<Signal>) -> Option<String> {
        if let Some(shown) = self.open.as_mut().filter(|_| blank || row.starts("     ")) {
            if !blank {
                shown.begun.get_or_insert((row.at, row.seen));
                append(&mut shown.text, row.text.trim(), BOX_BYTES);
            }
            self.provider = false;
            return None;
        }
        let answer = self.open.take().and_then(|shown| self.judge(shown, out));
        if is_labelled_rule(&row.text) {
            self.open = Some(Shown::default());
        } else {
            self.step(row, out);
        }
        self.provider = row.starts(PROVIDER);
        answer
    }

    fn step(&mut self, row: &Row<'_>, out: &mut Vec<Signal>) {
        if row.starts("╰─")
            && let Some(answer) = self.answer.take().filter(|a| a.is_bare)
        {
            (self.failed, self.budget, self.announced) = (None, answer.budget, false);
        }
        let quoted = out.len();
        self.take(row, out);
        if let Some(answer) = &mut self.answer {
            let is_status = is_announcement(&row.text) || [NUDGE, "╭─", " "].iter().any(|p| row.starts(p));
            answer.is_bare |= !is_status && !row.is_blank();
            if answer.is_bare {
                out.truncate(quoted);
            }
        }
    }

    fn take(&mut self, row: &Row<'_>, out: &mut Vec<Signal>) {
        self.announced |= is_announcement(&row.text);
        let mut tell = |kind, evidence: &Evidence| out.push(Signal { kind, evidence: evidence.clone() });
        if row.starts(TOOL) {
            (self.failed, self.budget, self.endpoint, self.used_tools) = (None, None, None, true);
            (self.announced, self.worked) = (false, row.at);
        } else if is_going_on(row) {
            (self.failed, self.endpoint, self.worked) = (None, None, row.at);
            self.announced = false;
            if row.starts("╭─") && self.answer.is_none() {
                self.answer = Some(Answer { is_bare: false, budget: self.budget.clone() });
            }
        } else if let Some(url) = row.text.strip_prefix(ENDPOINT) {
            // Hermes writes the two together; a lone endpoint is text of a model or a tool.
            if self.provider {
                self.endpoint = host(url);
            }
        } else if row.starts("⚠ Iteration budget reached (") || row.starts("⚠️ Iteration budget exhausted (")
        {
            let evidence = row.ended((Cause::IterationBudget, None));
            // Hermes says it before and after the summary; once is enough.
            if self.budget.is_none() {
                tell(SignalKind::Terminal, &evidence);
            }
            self.budget = Some(evidence);
        } else if row.starts(NUDGE) {
            self.nudged = Some(row.ended((Cause::ProtocolViolation, None)));
        } else if is_malformed_call(row) {
            tell(SignalKind::Tool, &row.ended((Cause::MalformedCall, None)));
        } else if let Some(cause) = start_failure(row) {
            let evidence = row.ended((cause, None));
            tell(SignalKind::Terminal, &evidence);
            self.failed = Some(Failed { evidence, letters: None });
        } else if let Some(terminal) = terminal(&row.text) {
            // `client error ... Aborting.` only repeats the line above it, without the words.
            if row.starts("❌ Non-retryable client error") && self.failed.is_some() {
                return;
            }
            let evidence = Evidence { endpoint_host: self.endpoint.clone(), ..row.ended(terminal.verdict) };
            // Hermes often goes on after an exception inside its loop.
            let goes_on = row.starts("❌ Error during ");
            tell(if goes_on { SignalKind::Retry } else { SignalKind::Terminal }, &evidence);
            self.failed = Some(Failed { evidence, letters: terminal.detail.as_deref().map(Print::of) });
        }
    }

    /// Reads what a finished box means; gives its text where that is an answer.
    fn judge(&mut self, shown: Shown, out: &mut Vec<Signal>) -> Option<String> {
        let (at, seen) = shown.begun?;
        let said = final_answer(&shown.text);
        match (&self.failed, said) {
            // A failure without the provider's words is followed by a text of its own; any other box is an
            // answer.
            (Some(Failed { letters: Some(detail), .. }), None) if !repeats(&shown.text, *detail) => {
                (self.failed, self.endpoint, self.worked) = (None, None, at);
                Some(shown.text)
            }
            (Some(_), _) => None,
            (None, Some(verdict)) if self.announced => {
                let evidence = evidence(verdict, at, seen, &shown.text);
                out.push(Signal { kind: SignalKind::Terminal, evidence: evidence.clone() });
                self.failed = Some(Failed { evidence, letters: None });
                None
            }
            (None, _) => Some(shown.text),
        }
    }

    /// Whether an answer is being written bare: what stands there is a quotation.
    pub(super) fn is_answering(&self) -> bool {
        self.answer.as_ref().is_some_and(|a| a.is_bare)
    }

    /// It works on.
    pub(super) fn works(&mut self, at: u64) {
        self.worked = at;
    }

    pub(super) fn worked(&self) -> u64 {
        self.worked
    }

    /// Whether a box is being read.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// How the attempt ended. `closed`: it was seen from its first line to its last.
    pub(super) fn end(mut self, closed: bool) -> Option<Evidence> {
        if let Some(shown) = self.open.take() {
            self.judge(shown, &mut Vec::new());
        }
        if let Some(failed) = self.failed {
            return Some(Evidence { endpoint_host: self.endpoint, ..failed.evidence });
        }
        if self.budget.is_some() {
            return self.budget;
        }
        // Sure only where the worker signed off by itself and never touched a tool, the board's included.
        self.nudged.filter(|_| closed && !self.used_tools)
    }
}

/// Whether the text of a box begins with the provider's words.
fn repeats(text: &str, Print(count, hash): Print) -> bool {
    let begin: String = letters(text).chars().take(count).collect();
    count > 0 && fnv(begin.bytes()) == hash
}

/// Adds to a text as much as it may still hold, in bytes.
const BROKEN: usize = 60;

pub(super) fn append(text: &mut String, more: &str, most: usize) {
    // A box breaks a word only where it is longer than a line, as keys are; apart, its halves would not be known as one.
    let broken = text.rsplit(' ').next().is_some_and(|word| word.chars().count() >= BROKEN);
    let gap = usize::from(!text.is_empty() && !broken);
    let more = clip(more, most.saturating_sub(text.len() + gap));
    if more.is_empty() {
        return;
    }
    if gap > 0 {
        text.push(' ');
    }
    text.push_str(more);
}
