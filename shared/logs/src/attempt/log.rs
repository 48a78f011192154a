//! Reading the log of an agent as far as its lines are an attempt's.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::agents::record::Record;
use crate::agents::{Head, Known, UsageAsk};
use crate::cache::Cache;
use crate::file::sniffed;
use crate::handle::Owner;
use crate::reader::Shown;
use crate::session::Millis;
use crate::usage::scan::{Begun, Count, Counted, MAX_READ, Scan, scan};
use crate::usage::window::{Clock, When, Window};
use crate::{Line, Reader};
use base::count::things;
use base::reason::Reason;
use base::time::Time;

/// Most subagents of one session whose logs are read.
const MAX_SUBAGENTS: usize = 50;

/// What an agent's own log says of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgentLog {
    agent: Known,
    pub(crate) gate: Gate,
    /// Lines that could not be read and may be the attempt's.
    broken: u64,
    pub(crate) record: Record,
}

/// Says line by line which of an agent's log are the attempt's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Gate {
    pub(crate) clock: Clock,
    /// Starts of the agent in a log that states no times: all but the last are left out.
    starts: u64,
    /// A line of the attempt was counted.
    is_begun: bool,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
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
    fn place(&mut self, agent: Known, text: &str, window: &Window) -> (Place, Option<Millis>) {
        if text.trim().is_empty() {
            return (Place::Blank, None);
        }
        let Some(Head { at, starts }) = agent.head(text) else {
            let is_ours = self.clock.judge(None, window) == When::Within;
            return (if is_ours { Place::Broken } else { Place::Foreign }, None);
        };
        let mut restarts = false;
        if at.is_none() && starts && !self.clock.is_dated() {
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

impl AgentLog {
    /// A count for a log of this format; `None` where no agent writes it.
    pub(crate) fn new(format: &Reader) -> Option<AgentLog> {
        let agent = format.agent()?;
        Some(AgentLog { agent, gate: Gate::default(), broken: 0, record: Record::default() })
    }
}

impl Count for AgentLog {
    fn line(&mut self, text: &str, window: &Window, part: bool) {
        self.record.is_part = part;
        let (place, at) = self.gate.place(self.agent, text, window);
        match place {
            Place::Blank | Place::Foreign => return,
            Place::Broken => {
                self.broken += 1;
                return;
            }
            Place::Begins => self.record = self.record.anew(),
            Place::Restarts => {
                self.record = self.record.anew();
                self.broken = 0;
            }
            Place::Before if !self.agent.states_sums() => return,
            Place::Before | Place::Within => {}
        }
        let record = &mut self.record;
        record.now(at);
        let line = Line { text, offset: 0, is_cut: false, seen: Time(0) };
        if !self.agent.facts(&line, &mut |side, fact| record.take(side, &fact)) {
            record.broken();
        }
    }

    fn fits(&self, window: &Window) -> bool {
        self.gate.clock.fits(window)
    }

    fn has_begun(&self) -> bool {
        self.gate.is_begun
    }
}

/// Reads the lines of one log.
pub(crate) fn count(
    ask: &UsageAsk<'_>,
    path: &Path,
    owner: Owner,
    cache: &mut Cache,
) -> Result<Option<Counted<AgentLog>>, Reason> {
    let window = Window::new(ask.from, ask.to, ask.next, ask.now);
    let scanned = Scan { sort: "agent", path, owner, window, now: ask.now, most: MAX_READ };
    scan(&scanned, cache, begun)
}

/// A count for a file of the format that its lines show; `None` where no agent writes that.
fn begun(file: &File, size: u64) -> io::Result<Option<Begun<AgentLog>>> {
    let (reader, sure) = match sniffed(file, size, None)? {
        Shown::Surely(reader) => (reader, true),
        Shown::SoFar(reader) => (reader, false),
        Shown::Not => return Ok(None),
    };
    Ok(AgentLog::new(&reader).map(|count| Begun { count, sure }))
}

/// A session as far as it is an attempt's, with its subagents.
pub(crate) struct Session {
    pub(crate) agent: Known,
    pub(crate) record: Record,
    /// Why there may be more than is told.
    pub(crate) gaps: Vec<String>,
    /// The same, as far as only sums are concerned.
    pub(crate) gaps_of_sums: Vec<String>,
}

impl Session {
    /// No line of it is the attempt's: nothing was written, or its clock is another one. That is not the same as no use.
    pub(crate) const NONE: &'static str = "no line of the log lies in this attempt";

    fn of(counted: Counted<AgentLog>) -> Session {
        let AgentLog { agent, gate, broken, record } = counted.count;
        let (mut gaps, mut gaps_of_sums) = (Vec::new(), Vec::new());
        if counted.is_begun_anew {
            gaps.push("the log was begun anew since: what stood in it before is not counted".into());
        } else if counted.is_part {
            gaps.push(format!("of the log only the last {} MiB are read", MAX_READ >> 20));
        }
        if broken > 0 {
            gaps.push(format!("{} of the log could not be read", things(broken, "line")));
        }
        if gate.starts > 1 {
            let why = "the log states no times and several starts; only what follows the last is counted";
            gaps_of_sums.push(why.into());
        }
        Session { agent, record, gaps, gaps_of_sums }
    }

    /// Whether no line is the attempt's.
    pub(crate) fn is_empty(&self) -> bool {
        self.record.lines == 0
    }

    /// Adds what a subagent did, which writes a log of its own.
    fn join(&mut self, other: Session) {
        self.record.join(&other.record);
        self.gaps_of_sums.extend(other.gaps.into_iter().chain(other.gaps_of_sums));
    }
}

/// Reads one log and those of its subagents; `None` where there is none, or none of an agent.
pub(crate) fn session(
    ask: &UsageAsk<'_>,
    path: &Path,
    owner: Owner,
    cache: &mut Cache,
) -> Result<Option<Session>, Reason> {
    let Some(counted) = count(ask, path, owner, cache)? else { return Ok(None) };
    let mut session = Session::of(counted);
    if session.is_empty() {
        return Ok(Some(session));
    }
    let mut others = session.agent.subagents(path);
    if others.len() > MAX_SUBAGENTS {
        session.gaps.push(format!("of {} subagents only the newest {MAX_SUBAGENTS} are read", others.len()));
        others.truncate(MAX_SUBAGENTS);
    }
    for file in others {
        match count(ask, &file, owner, cache) {
            Ok(Some(counted)) => session.join(Session::of(counted)),
            Ok(None) => {}
            Err(why) => session.gaps.push(format!("a subagent's log: {why}")),
        }
    }
    Ok(Some(session))
}
