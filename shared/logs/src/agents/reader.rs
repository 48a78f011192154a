//! From the facts of an agent's log to how its newest attempt ended.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fact::{Begin, Fact, Refusal, Repeats};
use super::record::Record;
use super::{Known, Side};
use crate::reset_time::reset_time;
use crate::session::{MAX_OPEN, Marks, Millis, Newest, push_newest, words};
use crate::signal::MAX_WORDS;
use crate::{Evidence, Format, Line, LogEnd, Signal, SignalKind};
use base::cause::Cause;
use base::clip::clip;
use base::time::Time;

/// Most of the agent's last words that are kept.
const MAX_LAST: usize = 5;

/// Longest prompt id that is told apart from others, in bytes.
const MAX_ID: usize = 128;

/// Reads the log of an agent, whichever it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reader {
    agent: Known,
    ending: Ending,
    /// What the session did, where that is asked for.
    record: Option<Box<Record>>,
}

impl Reader {
    /// A reader that has read nothing.
    pub(crate) fn new(agent: Known) -> Reader {
        Reader { agent, ending: Ending::default(), record: None }
    }

    /// The same, which also keeps what [`Reader::session`] tells.
    #[must_use]
    pub(crate) fn with_session(self) -> Reader {
        Reader { record: Some(Box::default()), ..self }
    }

    /// The agent.
    pub(crate) fn agent(&self) -> Known {
        self.agent
    }

    /// What the session tells besides its end; `None` where that is not kept.
    pub(crate) fn session(&self) -> Option<Value> {
        self.record.as_ref().map(|record| self.agent.session(record))
    }
}

impl Format for Reader {
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Signal>) {
        if line.text.trim().is_empty() {
            return;
        }
        let Reader { agent, ending, record } = self;
        ending.line(line.offset);
        let mut record = record.as_deref_mut();
        let mut place = Place { offset: line.offset, at: line.seen };
        let is_read = agent.facts(line, &mut |side, fact| {
            if let Fact::Line { at, .. } = fact {
                place.at = at.map_or(line.seen, Millis::time);
                record.as_mut().into_iter().for_each(|record| record.now(at));
            }
            let is_new = ending.take(place, side, &fact, out);
            record.as_mut().filter(|_| is_new).into_iter().for_each(|record| record.take(side, &fact));
        });
        if let Some(record) = record.filter(|_| !is_read) {
            record.now(None);
            record.broken();
        }
    }

    fn end(&self) -> LogEnd {
        self.ending.failed.clone().map_or(LogEnd::NoEvidence, LogEnd::Ended)
    }

    fn attempt(&self) -> u64 {
        self.ending.attempt
    }

    fn worked(&self) -> u64 {
        self.ending.worked
    }

    fn last_words(&self) -> Vec<String> {
        self.ending.last.iter().cloned().collect()
    }
}

/// A line being read: where it starts, and when it was written.
#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    at: Time,
}

/// How the newest attempt ended, as far as was read. Goes through JSON unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Ending {
    /// A line was read.
    is_open: bool,
    attempt: u64,
    prompt: Option<String>,
    /// Something was written since the agent started last.
    has_acted: bool,
    has_turns: bool,
    side: Side,
    failed: Option<Evidence>,
    /// Where the agent last worked.
    worked: u64,
    /// When the window of the subscription that is used up ends, as last stated.
    window_ends: Option<Time>,
    last: VecDeque<String>,
    /// Calls without an answer that the runtime cannot use.
    malformed: Newest<()>,
    /// Calls that are known to have failed; a failure may be told twice.
    failed_calls: Marks,
}

impl Ending {
    /// Any line.
    fn line(&mut self, offset: u64) {
        if !self.is_open {
            (self.is_open, self.attempt) = (true, offset);
        }
    }

    /// Takes a fact; `false` where it was told before.
    fn take(&mut self, place: Place, side: bool, fact: &Fact<'_>, out: &mut Vec<Signal>) -> bool {
        let side = self.side.of(side, fact);
        match fact {
            Fact::Begins(begin) if !side => self.begins(*begin, place.offset),
            Fact::Wrote { .. } => self.has_acted = true,
            Fact::Limited { until } => self.window_ends = *until,
            Fact::Worked { said, once } if !side => self.works(place, said, *once),
            Fact::Recovered => self.failed = None,
            Fact::Refused(refusal) => return self.refused(place, side, refusal, out),
            Fact::Called(call) if call.malformed => drop(self.malformed.touch(call.id, MAX_OPEN, || ())),
            Fact::Answered { id, failed, malformed, said, .. } => {
                let malformed = *malformed || self.malformed.take(id).is_some();
                if malformed {
                    self.tool(place, id, Cause::MalformedCall, said, out);
                } else if *failed {
                    self.tool(place, id, Cause::ToolError, said, out);
                }
            }
            Fact::Failed { id, said } => self.tool(place, id, Cause::ToolError, said, out),
            _ => {}
        }
        true
    }

    fn begins(&mut self, begin: Begin<'_>, offset: u64) {
        let begins = match begin {
            // The first start is that of the file, with whatever was printed before it.
            Begin::Start => std::mem::take(&mut self.has_acted),
            // What stands before the first turn belongs to it.
            Begin::Turn => std::mem::replace(&mut self.has_turns, true),
            Begin::Message => !self.has_turns,
            Begin::Prompt(None) => self.has_acted,
            Begin::Prompt(Some(id)) => {
                let id = clip(id, MAX_ID);
                let is_new = self.prompt.as_deref() != Some(id);
                self.prompt = Some(id.to_owned());
                is_new && self.has_acted
            }
        };
        if begins {
            self.attempt = offset;
            self.failed = None;
            self.last.clear();
        }
    }

    fn works(&mut self, place: Place, said: &str, once: bool) {
        (self.failed, self.worked) = (None, place.offset);
        let said = words(said, MAX_WORDS);
        if !said.is_empty() && (!once || self.last.back() != Some(&said)) {
            push_newest(&mut self.last, said, MAX_LAST);
        }
    }

    fn evidence(&self, place: Place, cause: Cause, said: &str) -> Evidence {
        let stated = || {
            let window = self.window_ends.filter(|end| cause == Cause::Quota && *end > place.at);
            reset_time(said, place.at).or(window)
        };
        Evidence {
            at: Some(place.at),
            resets: cause.can_end().then(stated).flatten(),
            attempt: self.attempt,
            words: words(said, MAX_WORDS),
            ..Evidence::new(cause, place.offset)
        }
    }

    fn refused(&mut self, place: Place, side: bool, refusal: &Refusal<'_>, out: &mut Vec<Signal>) -> bool {
        let Refusal { kind, cause, http, endpoint, said, repeats, .. } = refusal;
        let ends = *kind == SignalKind::Terminal;
        // Where a subagent fails, the agent itself goes on.
        if ends && side {
            return true;
        }
        let known = self.failed.as_ref().filter(|_| ends);
        if *repeats == Repeats::Any && known.is_some() {
            return false;
        }
        let evidence = self.evidence(place, *cause, said);
        if *repeats == Repeats::SameWords && known.is_some_and(|known| known.words == evidence.words) {
            return false;
        }
        let evidence = Evidence { http: *http, endpoint_host: endpoint.clone(), ..evidence };
        out.push(Signal { kind: *kind, evidence: evidence.clone() });
        if ends {
            self.failed = Some(evidence);
        }
        true
    }

    /// A call that failed, unless that was told already.
    fn tool(&mut self, place: Place, id: &str, cause: Cause, said: &str, out: &mut Vec<Signal>) {
        if self.failed_calls.is_new(id, MAX_OPEN) {
            out.push(Signal { kind: SignalKind::Tool, evidence: self.evidence(place, cause, said) });
        }
    }
}
