//! Counting the JSON lines of Claude Code and Codex as far as they are an attempt's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::scan::Count;
use super::window::{Clock, When, Window};
use crate::logs::session::{Millis, Obj, Text};
use crate::logs::{Format, Line, Reader, claude, codex};
use crate::time::Time;

/// A count of an agent's own log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentLog {
    pub(super) agent: Agent,
    pub(super) gate: Gate,
    /// Lines that could not be read and may be the attempt's.
    pub(super) broken: u64,
}

/// Says line by line which of an agent's log are the attempt's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Gate {
    pub(super) clock: Clock,
    /// Starts of the agent in a log that states no times: all but the last are left out.
    pub(super) starts: u64,
    /// A line of the attempt was counted.
    is_begun: bool,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing is in it.
    Blank,
    /// It cannot be read, and may be the attempt's.
    Broken,
    /// It was written before the attempt.
    Before,
    /// The first line of the attempt.
    Begins,
    /// What was taken for the attempt's was not: the agent starts once more.
    Restarts,
    /// It is the attempt's.
    Within,
    /// It is not the attempt's.
    Foreign,
}

impl Gate {
    /// Where a line stands, and when it says that it was written.
    pub(super) fn place(&mut self, text: &str, window: &Window) -> (Place, Option<Millis>) {
        if text.trim().is_empty() {
            return (Place::Blank, None);
        }
        let Ok(Obj(Some(head))) = serde_json::from_str::<Obj<Head<'_>>>(text) else {
            let is_ours = self.clock.judge(None, window) == When::Within;
            return (if is_ours { Place::Broken } else { Place::Foreign }, None);
        };
        let at = head.timestamp.get().and_then(Millis::parse);
        let is_start = matches!(
            (head.kind.or_empty(), head.subtype.or_empty()),
            ("system", "init") | ("thread.started", _)
        );
        let mut restarts = false;
        if at.is_none() && is_start && !self.clock.is_dated() {
            self.starts += 1;
            restarts = self.starts > 1;
        }
        let place = match self.clock.judge(at, window) {
            When::Within if !self.is_begun => {
                self.is_begun = true;
                Place::Begins
            }
            When::Within if restarts => Place::Restarts,
            When::Within => Place::Within,
            When::Before if !self.is_begun => Place::Before,
            When::Before | When::After => Place::Foreign,
        };
        (place, at)
    }
}

/// The agent's own reader, and what only its format needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Agent {
    Claude(claude::Reader),
    Codex {
        reader: codex::Reader,
        /// Tokens of the thread before the attempt.
        before: Option<BTreeMap<String, u64>>,
        /// The front of the log was left out, and no count of tokens was read since.
        is_open: bool,
    },
}

/// What of a line says when and how an agent starts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head<'a> {
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    subtype: Text<'a>,
}

impl AgentLog {
    /// A count for a log of this format; `None` where it is none of an agent.
    pub(super) fn new(format: &Reader) -> Option<AgentLog> {
        let agent = match format {
            Reader::Claude(_) => Agent::Claude(claude::Reader::new()),
            Reader::Codex(_) => Agent::Codex { reader: codex::Reader::new(), before: None, is_open: true },
            Reader::Hermes(_) | Reader::Profile(_) | Reader::Plain(_) => return None,
        };
        Some(AgentLog { agent, gate: Gate::default(), broken: 0 })
    }

    /// Forgets what was counted: it is not the attempt's.
    fn anew(&mut self) {
        self.agent = match &self.agent {
            Agent::Claude(_) => Agent::Claude(claude::Reader::new()),
            Agent::Codex { reader, .. } => Agent::Codex {
                before: reader.tokens().cloned(),
                reader: reader.anew(),
                is_open: reader.tokens().is_none(),
            },
        };
    }
}

impl Count for AgentLog {
    fn line(&mut self, text: &str, window: &Window, part: bool) {
        match self.gate.place(text, window).0 {
            Place::Blank | Place::Foreign => return,
            Place::Broken => {
                self.broken += 1;
                return;
            }
            Place::Begins => self.anew(),
            Place::Restarts => {
                self.anew();
                self.broken = 0;
            }
            // Codex states sums: what they were before is taken off them.
            Place::Before if matches!(self.agent, Agent::Codex { .. }) => {}
            Place::Before => return,
            Place::Within => {}
        }
        self.agent.line(text, part);
    }

    fn fits(&self, window: &Window) -> bool {
        self.gate.clock.fits(window)
    }
}

impl Agent {
    fn line(&mut self, text: &str, part: bool) {
        let line = Line { text, offset: 0, is_cut: false, seen: Time(0) };
        match self {
            Agent::Claude(reader) => reader.line(&line, &mut Vec::new()),
            Agent::Codex { reader, before, is_open } => {
                reader.line(&line, &mut Vec::new());
                let Some(total) = reader.tokens().filter(|_| *is_open) else { return };
                let last = reader.last_tokens();
                *is_open = part && last.is_empty();
                // Of a log whose front is not read, the first sum holds more than its own call.
                if part && !last.is_empty() {
                    *before = Some(less(total, last));
                }
            }
        }
    }
}

/// One set of counts without another.
pub(super) fn less(all: &BTreeMap<String, u64>, part: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let rest = |(name, n): (&String, &u64)| {
        (name.clone(), n.saturating_sub(part.get(name).copied().unwrap_or_default()))
    };
    all.iter().map(rest).collect()
}
