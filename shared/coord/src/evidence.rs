//! What is known of one session at one moment, in the words of no agent: its newest messages and tool calls, what its server
//! says of it, who is asked, and whether its stream moves. Adapters gather it; [`super::detect`] judges it.

use super::{Gate, SessionId, State};
use logs::session::Millis;
use logs::vitals::Turn;

/// What is known of one session. What is not known stays open in it, and nothing is concluded from that.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Which session.
    pub session: SessionId,
    /// What the server says of it.
    pub server: State,
    /// The server that was asked is the one that runs the session. Two servers over one store each call the other's
    /// sessions absent (opencode 1.18.33).
    pub is_owner: bool,
    /// What is stored of it, or why that cannot be told.
    pub rows: Result<Rows, String>,
    /// Questions and permissions that wait for a person; `None` where nobody told. A session that was aborted leaves them
    /// behind, so that one counts only while its tool runs.
    pub gates: Option<Vec<Gate>>,
    /// What was heard of its stream.
    pub stream: Stream,
}

/// Whether anything of a model's answer was heard while its server's events were listened to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stream {
    /// Nobody listened, or not long enough.
    #[default]
    Unheard,
    /// Nothing came while it was listened to.
    Silent,
    /// It moves.
    Moves,
}

/// The stored part of a session: its newest messages, as many as were read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// In the order of their times.
    pub messages: Vec<Message>,
    /// Rows that could not be read.
    pub broken: u64,
}

/// One message of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// When it was made.
    pub created: Millis,
    /// When it or any part of it last changed.
    pub updated: Millis,
    /// Whose.
    pub from: From,
    /// Its parts, in the order of their times.
    pub parts: Vec<Part>,
}

/// Whose message it is.
#[derive(Debug, Clone, PartialEq)]
pub enum From {
    /// A user's who wants an answer.
    Prompt,
    /// Nobody's who wants one: a note, or what the agent tells itself between two turns.
    Note {
        /// The agent is to go on by itself.
        wants_answer: bool,
    },
    /// The model's.
    Model(Answer),
}

/// How a model's message stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The message it answers.
    pub to: Option<String>,
    /// When it was complete, well or not; `None` while it is open.
    pub completed: Option<Millis>,
    /// Why the model stopped: `stop`, `tool-calls`, `length`, `unknown` where its stream broke off. Untrusted.
    pub finish: Option<String>,
    /// Why it failed.
    pub failure: Option<Failure>,
}

/// Why a model's message failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// The HTTP status of the provider's refusal.
    pub status: Option<u16>,
    /// The agent holds that the same request may work later.
    pub is_retryable: bool,
    /// In words. Untrusted.
    pub said: String,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its id.
    pub id: String,
    /// When it was made.
    pub at: Millis,
    /// What it is.
    pub what: What,
}

/// What a part is, as far as it tells anything.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A tool call.
    Tool(Call),
    /// The context was compacted.
    Compaction {
        /// By the agent itself.
        is_auto: bool,
    },
    /// Words of the model.
    Words {
        /// Marks that models end calls with stand in it, which no reader of tool calls took for one.
        has_call_marks: bool,
        /// It is not finished.
        is_open: bool,
    },
    /// Anything else.
    Other,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// How the agent names this call.
    pub call: Option<String>,
    /// The tool. Untrusted.
    pub tool: String,
    /// Where it stands.
    pub stands: Stands,
    /// When it was started.
    pub started: Option<Millis>,
    /// How long it may take, where the call itself says so, in milliseconds.
    pub allowed: Option<u64>,
    /// A hash of tool and arguments: equal calls have equal marks.
    pub mark: u64,
    /// A hash of what it answered, well or not; `None` where it has not.
    pub print: Option<u64>,
}

/// Where a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// It was called, or runs.
    Open,
    /// It is done.
    Done,
    /// Its command ended with another code than 0; the tool itself did its work.
    BadExit,
    /// It failed.
    Failed,
    /// It failed because its arguments did not fit.
    Unfit,
    /// The agent could make nothing of the call: no such tool, or its arguments are no JSON.
    Malformed,
    /// It was stopped from outside.
    Interrupted,
}

impl Message {
    /// How it stands, where it is the model's.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.from {
            From::Model(answer) => Some(answer),
            From::Prompt | From::Note { .. } => None,
        }
    }

    /// The tool calls in it.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = (&Part, &Call)> {
        self.parts.iter().filter_map(|part| match &part.what {
            What::Tool(call) => Some((part, call)),
            _ => None,
        })
    }
}

impl Rows {
    /// When anything last changed.
    pub fn active(&self) -> Option<Millis> {
        self.messages.iter().map(|m| m.updated).max()
    }

    /// The newest message.
    pub fn newest(&self) -> Option<&Message> {
        self.messages.last()
    }

    /// The newest message of the model.
    pub fn last(&self) -> Option<(&Message, &Answer)> {
        self.messages.iter().rev().find_map(|m| Some((m, m.answer()?)))
    }

    /// The messages since the last prompt, that one included; all where it is older than what was read.
    pub fn since_prompt(&self) -> &[Message] {
        let at = self.messages.iter().rposition(|m| m.from == From::Prompt);
        &self.messages[at.unwrap_or(0)..]
    }

    /// What goes on being the same while one prompt is worked on: its id.
    pub fn turn_id(&self) -> Option<&str> {
        let first = self.since_prompt().first()?;
        Some(first.answer().and_then(|a| a.to.as_deref()).unwrap_or(&first.id))
    }

    /// The newest tool call that was not answered.
    pub fn running(&self) -> Option<(&Part, &Call)> {
        let (last, _) = self.last()?;
        last.calls().rev().find(|(_, call)| call.stands == Stands::Open)
    }
}

impl Evidence {
    /// What is stored, where that could be read.
    pub fn rows(&self) -> Option<&Rows> {
        self.rows.as_ref().ok()
    }

    /// Whether a person is asked by a call that still runs; `None` where that is not known.
    pub fn is_asked(&self, call: &Call) -> Option<bool> {
        let id = call.call.as_deref()?;
        Some(self.gates.as_ref()?.iter().any(|gate| gate.call.as_deref() == Some(id)))
    }

    /// Whose turn it is, where the server says that the session is busy; the same word that a log's reader has for it.
    pub fn turn(&self) -> Turn {
        let Some(rows) = self.rows().filter(|_| self.server == State::Busy) else { return Turn::Unknown };
        if let Some((part, call)) = rows.running() {
            let since = call.started.unwrap_or(part.at).time();
            let asked = self.is_asked(call) == Some(true);
            return if asked { Turn::Person { since } } else { Turn::Tool { since } };
        }
        let is_open = |part: &Part| matches!(part.what, What::Words { is_open: true, .. });
        match rows.last() {
            Some((last, _)) if last.parts.iter().any(is_open) => Turn::Stream,
            _ => Turn::Model,
        }
    }
}
