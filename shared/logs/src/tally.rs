//! What a log said so far of its newest attempt: its reader and the newest signals.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::hermes;
use super::lines::{Lines, Piece};
use super::operator_patterns::{Rules, Taught};
use super::reader::Reader;
use super::{Evidence, Format, Line, LogEnd, Reading, Signal, SignalKind};
use base::clip::lossy;
use base::redact::redact;
use base::time::Time;

/// Is shown each line, what it said and the reader behind it.
pub type EachLine<'a> = dyn FnMut(&Line<'_>, &[Signal], &Reader) + 'a;

/// Takes the lines of a log, but for those of which its reader says that they change nothing.
pub(super) struct Skimmer<'a> {
    tally: &'a mut Tally,
    seen: Time,
    /// The operator's patterns: where there are any, each line is held against them.
    rules: Rules<'a>,
    /// The first line is not whole, and not taken.
    pub(super) is_within: bool,
    /// More lines like the one that was taken last may change nothing.
    is_steady: bool,
    /// Up to where lines were looked at, in bytes from the start of the file.
    looked: u64,
}

impl Skimmer<'_> {
    pub(super) fn new<'a>(
        tally: &'a mut Tally,
        seen: Time,
        rules: Rules<'a>,
        is_within: bool,
    ) -> Skimmer<'a> {
        Skimmer { tally, seen, rules, is_within, is_steady: false, looked: 0 }
    }
}

impl Lines for Skimmer<'_> {
    fn pass_over(&mut self, block: &[u8], offset: u64) -> usize {
        if !self.is_steady || offset < self.looked {
            return 0;
        }
        let idle = hermes::idle(block);
        self.looked = offset + idle.seen as u64;
        idle.passed
    }

    fn take(&mut self, line: &Piece<'_>) {
        if std::mem::take(&mut self.is_within) {
            return;
        }
        if !self.rules.is_empty() {
            return self.tally.piece_taught(line, self.seen, self.rules);
        }
        if !(self.is_steady && self.tally.reader.go_on(line)) {
            self.tally.piece(line, self.seen);
            self.is_steady = self.tally.reader.is_steady(line.bytes);
        }
    }
}

/// How many signals of an attempt are kept.
const SIGNALS: usize = 32;

/// A reader with the newest signals of the newest attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Tally {
    reader: Reader,
    turn: u64,
    signals: Vec<Signal>,
    /// How many of them stand in the file rotated away before this one.
    older: usize,
    /// What the operator's patterns say of its lines; nothing where there is none.
    #[serde(default, skip_serializing_if = "is_none")]
    taught: Taught,
}

fn is_none(taught: &Taught) -> bool {
    *taught == Taught::default()
}

impl Tally {
    pub(super) fn new(reader: Reader) -> Tally {
        Tally { turn: reader.turn(), reader, signals: Vec::new(), older: 0, taught: Taught::default() }
    }

    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Whether words of lines that were read decide together with lines to come.
    pub(super) fn is_midway(&self) -> bool {
        matches!(&self.reader, Reader::Hermes(r) if r.is_midway())
    }

    /// Takes a line as it stands in the file.
    pub(super) fn piece(&mut self, piece: &Piece<'_>, seen: Time) {
        self.piece_told(piece, seen, &mut |_, _, _| ());
    }

    /// The same, and holds it against the operator's patterns.
    pub(super) fn piece_taught(&mut self, piece: &Piece<'_>, seen: Time, rules: Rules<'_>) {
        let mut taught = std::mem::take(&mut self.taught);
        self.piece_told(piece, seen, &mut |line, _, reader| _ = taught.line(line, reader, rules));
        self.taught = taught;
    }

    /// Takes a line as it stands in the file, and shows what is taken for one line with what that said. In plain text `\r` ends a line as well. In a format that
    /// tells its own lines from what they quote it does not: what a worker prints must not begin one.
    pub(super) fn piece_told(&mut self, piece: &Piece<'_>, seen: Time, each: &mut EachLine<'_>) {
        let is_plain = matches!(self.reader, Reader::Plain(_));
        let mut take = |piece: &Piece<'_>| {
            let text = lossy(piece.bytes);
            let text = text.trim_end_matches('\r');
            let line = Line { text, offset: piece.offset, is_cut: piece.is_cut, seen };
            let said = self.line(&line);
            each(&line, &said, &self.reader);
        };
        match is_plain {
            true => piece.overwritten().for_each(|piece| take(&piece)),
            false => take(piece),
        }
    }

    /// Takes a line; gives what it said.
    pub(super) fn line(&mut self, line: &Line<'_>) -> Vec<Signal> {
        let mut said = Vec::new();
        self.reader.line(line, &mut said);
        let turn = self.reader.turn();
        if turn != self.turn {
            self.turn = turn;
            let start = self.reader.attempt();
            self.signals.drain(..self.older);
            self.older = 0;
            // Where an attempt began is sometimes known only later; what it said since then is its own.
            self.signals.retain(|s| s.evidence.offset >= start);
        }
        self.signals.extend_from_slice(&said);
        let surplus = self.signals.len().saturating_sub(SIGNALS);
        self.signals.drain(..surplus);
        self.older = self.older.saturating_sub(surplus);
        said
    }

    /// The file was rotated away, and the attempt goes on in a new one.
    pub(super) fn rotated(&mut self) {
        self.reader.rotated();
        self.turn = self.reader.turn();
        self.older = self.signals.len();
        // Its lines stand in the other file.
        self.taught = Taught::default();
    }

    /// Clears the time of lines that state none: at a first look it is unknown when they were written.
    pub(super) fn undate(&mut self, seen: Time) {
        // Every line of a profile's log states its own.
        if matches!(self.reader, Reader::Profile(_)) {
            return;
        }
        for signal in self.signals.iter_mut().filter(|s| s.evidence.at == Some(seen)) {
            signal.evidence.at = None;
        }
    }

    /// What a watcher learns of it.
    pub(super) fn reading(&self, written: Time, file: Option<String>) -> Reading {
        let attempt = self.reader.attempt();
        let (end, _) = self.taught.end(self.reader.end(), attempt);
        let mut signals = self.signals.clone();
        self.taught.teach(&mut signals, self.older, attempt);
        let worked = self.reader.worked();
        signals.retain(|s| s.kind == SignalKind::Tool || s.evidence.offset >= worked);
        for signal in &mut signals {
            signal.evidence.attempt = attempt;
        }
        if let LogEnd::Ended(evidence) = &end {
            // That a line ended the attempt is sometimes known only behind it.
            match signals.iter_mut().find(|s| s.evidence.offset == evidence.offset) {
                Some(signal) => signal.kind = SignalKind::Terminal,
                None => signals.push(Signal { kind: SignalKind::Terminal, evidence: evidence.clone() }),
            }
        }
        let surplus = signals.len().saturating_sub(SIGNALS);
        signals.drain(..surplus);
        // From here on it may be shown, saved and written to a board.
        for signal in &mut signals {
            without_secrets(&mut signal.evidence);
        }
        let end = match end {
            LogEnd::Ended(mut evidence) => {
                without_secrets(&mut evidence);
                LogEnd::Ended(evidence)
            }
            other => other,
        };
        let last_words = self.reader.last_words().iter().map(|w| redact(w).into_owned()).collect();
        let mut earlier = self.reader.earlier();
        earlier.iter_mut().flatten().for_each(without_secrets);
        let (heard, waits) = (self.reader.heard(), self.reader.waits());
        let is_left = self.reader.is_left();
        Reading { end, modified: Some(written), signals, last_words, file, earlier, heard, waits, is_left }
    }
}

fn without_secrets(evidence: &mut Evidence) {
    if let Cow::Owned(clean) = redact(&evidence.words) {
        evidence.words = clean;
    }
}

#[cfg(test)]
mod tests;
