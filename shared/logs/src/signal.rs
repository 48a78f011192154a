//! What a log says, line by line: signals with their evidence, and the one interface all formats share.

use serde::{Deserialize, Serialize};

use super::LogEnd;
use base::cause::Cause;
use base::clip::clip_words;
use base::redact::redact;
use base::time::Time;

/// Most bytes of a line that are kept. A longer line is cut there and marked as cut.
pub const MAX_LINE: usize = 8 << 20;

/// Most bytes of a line's own words kept as evidence.
pub const MAX_WORDS: usize = 400;

/// A whole line of a log.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Its text without the line end; bytes that are no UTF-8 are replaced.
    pub text: &'a str,
    /// Where it starts, in bytes from the start of the file.
    pub offset: u64,
    /// It was longer than [`MAX_LINE`]; the rest is not here.
    pub is_cut: bool,
    /// When it was first seen, at most the file's last write: the time of lines that state none.
    pub seen: Time,
}

/// A text as it may be kept: without secrets, at most [`MAX_WORDS`] bytes.
pub fn kept(text: &str) -> String {
    // More than is kept is looked at, so that a key is known before it is cut.
    clip_words(&redact(clip_words(text, 4 * MAX_WORDS)), MAX_WORDS).to_owned()
}

/// What kind of saying it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// A failure on which the attempt, or one turn of it, ended.
    Terminal,
    /// A failure that was tried again.
    Retry,
    /// The failure of one tool call, or a call the runtime could not use; never the end of an attempt by itself.
    Tool,
}

/// The line that says why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What the line means.
    pub cause: Cause,
    /// The HTTP status, where the line names one.
    pub http: Option<u16>,
    /// Where the line starts, in bytes from the start of the file.
    pub offset: u64,
    /// The host (and port) of the endpoint that failed, where the log names it. Provider names hide behind
    /// `custom`.
    #[serde(default)]
    pub endpoint_host: Option<String>,
    /// When it was written: as the line states, else when it was first seen.
    #[serde(default)]
    pub at: Option<Time>,
    /// When the limit ends, where the line states it.
    #[serde(default)]
    pub resets: Option<Time>,
    /// Where its attempt starts, in bytes from the start of the file (or of what was read of it).
    #[serde(default)]
    pub attempt: u64,
    /// The line's own words without terminal escapes, at most [`MAX_WORDS`] bytes. Untrusted; in a [`Reading`] without secrets.
    #[serde(default)]
    pub words: String,
}

impl Evidence {
    /// Evidence of which only cause and place are known.
    pub fn new(cause: Cause, offset: u64) -> Evidence {
        Evidence {
            cause,
            http: None,
            offset,
            endpoint_host: None,
            at: None,
            resets: None,
            attempt: 0,
            words: String::new(),
        }
    }
}

impl Evidence {
    /// When a provider refused, of an attempt that was booked at `booked`: a stated end counts from the line that states it. A
    /// dispatcher from cron books a minute later, when a limit of seconds is over.
    pub fn refused_at(&self, booked: Time) -> Time {
        let stated = self.at.filter(|_| self.resets.is_some());
        stated.map_or(booked, |at| at.min(booked))
    }
}

/// One thing a log says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// How it is said.
    pub kind: SignalKind,
    /// What, and on which line.
    #[serde(flatten)]
    pub evidence: Evidence,
}

/// A reader of one format. It is fed whole lines in file order and keeps what it must know between two passes in itself,
/// small and serialisable: feeding a file in any number of pieces comes to the same as feeding it at once.
pub trait Format {
    /// Takes the next line; adds what it says to `out`.
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Signal>);

    /// How the newest attempt ended, as far as was read: `NoEvidence` or `Ended`.
    fn end(&self) -> LogEnd;

    /// Where the newest attempt starts, in bytes from the start of the file.
    fn attempt(&self) -> u64;

    /// How the attempts before the newest one ended, the newest of them first; `None` where one did not end on a line that is
    /// known. Only as many as the format keeps, and none where it cannot tell one attempt from the next.
    fn earlier(&self) -> Vec<Option<Evidence>> {
        Vec::new()
    }

    /// Where the provider last answered, or the agent last worked, in the newest attempt: what was refused before that is
    /// over. 0 where it never did.
    fn worked(&self) -> u64 {
        0
    }

    /// When the newest attempt last wrote a line, where each line states its time.
    fn heard(&self) -> Option<Time> {
        None
    }

    /// Whether the newest attempt said that its worker ends now, and nothing after that.
    fn is_left(&self) -> bool {
        false
    }

    /// Until when the newest attempt waits for its provider by itself before it asks again.
    fn waits(&self) -> Option<Time> {
        None
    }

    /// The last things the agent itself said in the newest attempt, oldest first, at most 5 of at most [`MAX_WORDS`] bytes
    /// each. Untrusted.
    fn last_words(&self) -> Vec<String> {
        Vec::new()
    }
}

/// All that a watcher learns of the log of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// How the newest attempt ended.
    pub end: LogEnd,
    /// When the log was last written.
    pub modified: Option<Time>,
    /// What its newest attempt said, oldest first: the newest 32 signals.
    pub signals: Vec<Signal>,
    /// The agent's last words, oldest first. Untrusted.
    pub last_words: Vec<String>,
    /// The file, for the evidence line; `None` where there is none.
    pub file: Option<String>,
    /// How the attempts before the newest one ended, the newest of them first (see [`Format::earlier`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Option<Evidence>>,
    /// When the newest attempt last wrote a line, where each line states its time (see [`Format::heard`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<Time>,
    /// Until when the newest attempt waits for its provider by itself before it asks again (see [`Format::waits`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Time>,
    /// The newest attempt said that its worker ends now, and nothing after that (see [`Format::is_left`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_left: bool,
}

impl Reading {
    /// A reading that only has an end.
    pub fn of(end: LogEnd, modified: Option<Time>) -> Reading {
        Reading {
            end,
            modified,
            signals: Vec::new(),
            last_words: Vec::new(),
            file: None,
            earlier: Vec::new(),
            heard: None,
            waits: None,
            is_left: false,
        }
    }
}
