//! Agent sessions, in no runtime's terms: what can be sensed of one, and what can be done to it.
//!
//! A runtime says which operations it has: [`Runtime::lacks`]. One with a server is asked and told by
//! [`Server`](opencode::rest::Server). A server that cannot be asked says nothing about its sessions: that is [`State::Unreachable`], and nothing is done about it. Those without one are commands: [`headless`].
//!
//! What the alkdev hub does with a server, a database and a message broker, without a process between two calls. Of its tables,
//! `mappings` is the event `coord.spawned`, whose status follows the attempt; `detections` the event `coord.detection` and
//! opencode's own rows; `tasks` and `task_dependencies` those of the board. Its channels are these events, read by
//! `coord events --since ID --json`; its streams and its timer of 30 s opencode's store and server, asked in the pass; its MCP
//! tools `coord --help`, `--json` and the exit code; `env.git.worktreeCreate` is `git worktree add`, undone in reverse after a
//! failure unless a worker began.

pub mod coordinator;
pub mod detect;
pub mod evidence;
pub mod headless;
pub mod mapping;
pub mod opencode;
pub mod runtime;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use coordinator::Coordinator;
pub use mapping::{Mapping, MappingStatus};
pub use runtime::{Operation, Runtime};

/// A session's own name in its runtime: `ses_3f2a...` of opencode, a UUID of Claude Code and Codex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    /// Takes a name that can be part of an address, a path and a command line: `ses_` and at most 64 letters, digits, `_` or
    /// `-`; or a UUID in small letters.
    pub fn parse(s: &str) -> Option<SessionId> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let is_ses = |rest: &str| (1..=64).contains(&rest.len()) && rest.chars().all(plain);
        let is_good = s.strip_prefix("ses_").map_or_else(|| is_uuid(s), is_ses);
        is_good.then(|| SessionId(s.to_owned()))
    }

    /// Whether it is a name as opencode gives them, which its server can be asked about.
    pub fn is_opencodes(&self) -> bool {
        self.0.starts_with("ses_")
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `8-4-4-4-12` hexadecimal digits.
fn is_uuid(s: &str) -> bool {
    let groups: Vec<&str> = s.split('-').collect();
    let digits = |g: &&str| g.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    groups.iter().map(|g| g.len()).eq([8, 4, 4, 4, 12]) && groups.iter().all(digits)
}

impl TryFrom<String> for SessionId {
    type Error = String;
    fn try_from(s: String) -> Result<SessionId, String> {
        SessionId::parse(&s)
            .ok_or_else(|| "not a session id; they look like ses_3f2a... or like a UUID".to_owned())
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> String {
        id.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the server that owns a session says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum State {
    /// It cannot be asked, or what answers is not it. Nothing is known, and nothing is done.
    Unreachable {
        /// Why, in one phrase.
        why: String,
    },
    /// It answers, and has nothing under way for this session: idle, or forgotten in a restart.
    Absent,
    /// It works on an answer.
    Busy,
    /// Its provider refused, and it asks again later.
    Retry {
        /// Which repetition this is, from 1 on.
        attempt: u32,
        /// What the provider said. Untrusted text.
        message: String,
        /// When it asks again, in milliseconds since the epoch.
        next: i64,
    },
    /// A word this version does not know: under way, and no verdict can rest on it.
    Other(OtherState),
}

/// A word for a state that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherState {
    /// The word.
    pub word: String,
}

impl State {
    /// Whether the server says that it works on this session.
    pub fn is_under_way(&self) -> bool {
        matches!(self, State::Busy | State::Retry { .. } | State::Other(_))
    }
}

/// Why a server did not answer a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// It could not be reached, refused us, or what answered was not its interface. In one phrase.
    Unreachable(String),
    /// It answered that there is no such thing.
    Missing,
    /// It understood and refused: the number of the answer, and its text, bounded.
    Refused(u16, String),
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Silence::Unreachable(why) => f.write_str(why),
            Silence::Missing => f.write_str("no such session there"),
            Silence::Refused(code, text) => write!(f, "refused with {code}: {text}"),
        }
    }
}

/// An answer of a server.
pub type Answer<T> = Result<T, Silence>;

/// A session as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub id: SessionId,
    /// Where it works.
    pub directory: String,
    /// The session that made it.
    pub parent: Option<SessionId>,
    /// The task it was spawned for, as its metadata has it.
    pub task: Option<String>,
    /// The run of that task.
    pub run: Option<i64>,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The side that prompts it.
    User,
    /// The model.
    Assistant,
}

/// One message of a session, as far as `coord` needs it. Times in milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its name.
    pub id: String,
    /// Who wrote it.
    pub role: Role,
    /// When it was begun.
    pub created: i64,
    /// When it was finished; a user's message never says so.
    pub completed: Option<i64>,
    /// Why the model stopped.
    pub finish: Option<String>,
    /// The name of the error it ended with, such as `MessageAbortedError`.
    pub error: Option<String>,
    /// Its text parts, joined.
    pub text: String,
}

impl Message {
    /// Whether it is an answer that was begun and never finished.
    pub fn is_open(&self) -> bool {
        self.role == Role::Assistant && self.completed.is_none()
    }
}

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Whose question it is.
    pub session: SessionId,
    /// The tool call that waits for the answer.
    pub call: Option<String>,
}

/// A session to be made.
#[derive(Debug, Clone, Default)]
pub struct NewSession<'a> {
    /// Its title.
    pub title: &'a str,
    /// The session that makes it.
    pub parent: Option<&'a SessionId>,
    /// The runtime's own agent profile.
    pub agent: Option<&'a str>,
    /// The task it is for, and the run.
    pub task: Option<(&'a str, Option<i64>)>,
    /// The board the task is on.
    pub board: &'a str,
    /// The host it is made from.
    pub host: &'a str,
}

/// What is said to a session.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// The message's own name: the same one twice is one message.
    pub message: &'a str,
    /// What is said.
    pub text: &'a str,
    /// The runtime's own agent profile.
    pub agent: Option<&'a str>,
    /// Whether the model is to answer; else the message only lies there.
    pub wake: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_can_be_part_of_an_address() {
        const UUID: &str = "01a20200-bf1b-7e90-afaf-1c042f18d165";
        for (good, opencodes) in [("ses_1", true), ("ses_3f2aBC-_9", true), (UUID, false)] {
            let id = SessionId::parse(good).unwrap();
            assert_eq!((id.as_str(), id.is_opencodes()), (good, opencodes));
        }
        for bad in [
            &UUID[1..],
            &UUID.to_uppercase(),
            &UUID.replace('-', "_"),
            &format!("{UUID}-"),
            &format!("-{UUID}"),
        ] {
            assert_eq!(SessionId::parse(bad), None, "{bad}");
        }
        let long = format!("ses_{}", "a".repeat(65));
        for bad in ["", "ses_", "msg_1", "ses_a/b", "ses_a?x", "ses_a b", "ses_..", "ses_é", &long] {
            assert_eq!(SessionId::parse(bad), None, "{bad}");
        }
    }
}
