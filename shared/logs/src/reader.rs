//! Which format a log has, and its reader.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agents::{self, Known};
use super::lines::Piece;
use super::{Evidence, Format, Line, LogEnd, Signal, hermes, plain, profile};
use base::time::Time;

/// A reader of one of the formats we know. Goes through JSON unchanged, so that a later pass goes on where this one stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "format", content = "state", rename_all = "snake_case")]
pub enum Reader {
    /// The log of a Hermes worker.
    Hermes(Box<hermes::Reader>),
    /// The log of a Hermes profile.
    Profile(profile::Reader),
    /// The log of another agent, or what that prints.
    Agent(agents::Reader),
    /// Any other text.
    Plain(plain::Reader),
}

impl Reader {
    /// The formats, as `watchbill match` calls them.
    pub fn names() -> Vec<&'static str> {
        let agents = Known::all().map(|agent| agent.name());
        ["hermes", "profile"].into_iter().chain(agents).chain(["plain"]).collect()
    }

    /// A reader of this format that has read nothing; of plain text where there is none. `task`: only attempts at this task of a
    /// board count.
    pub fn named(name: &str, task: Option<&str>) -> Reader {
        match (name, Known::of(name)) {
            ("hermes", _) => Reader::Hermes(Box::new(hermes::Reader::new(task.unwrap_or_default()))),
            ("profile", _) => Reader::Profile(profile::Reader::new(None)),
            (_, Some(agent)) => Reader::Agent(agents::Reader::new(agent)),
            _ => Reader::Plain(plain::Reader::new()),
        }
    }

    /// The same, which also keeps what [`Reader::session`] tells.
    #[must_use]
    pub fn with_session(self) -> Reader {
        match self {
            Reader::Agent(r) => Reader::Agent(r.with_session()),
            other => other,
        }
    }

    /// What the session of an agent tells besides its end; `None` of other logs, and where that is not kept.
    pub fn session(&self) -> Option<Value> {
        match self {
            Reader::Agent(r) => r.session(),
            Reader::Hermes(_) | Reader::Profile(_) | Reader::Plain(_) => None,
        }
    }

    /// The format in one word, as `watchbill match` shows it.
    pub fn name(&self) -> &'static str {
        match self {
            Reader::Hermes(_) => "hermes",
            Reader::Profile(_) => "profile",
            Reader::Agent(r) => r.agent().name(),
            Reader::Plain(_) => "plain",
        }
    }

    /// The agent whose log it is.
    pub(crate) fn agent(&self) -> Option<Known> {
        match self {
            Reader::Agent(r) => Some(r.agent()),
            Reader::Hermes(_) | Reader::Profile(_) | Reader::Plain(_) => None,
        }
    }

    /// A number that changes when another attempt begins.
    pub fn turn(&self) -> u64 {
        match self {
            Reader::Hermes(r) => r.begun(),
            Reader::Profile(r) => r.begun(),
            Reader::Agent(_) | Reader::Plain(_) => self.attempt(),
        }
    }

    /// Takes a line like the last one, where it is steady; `false` where it is another one.
    pub(crate) fn go_on(&mut self, line: &Piece<'_>) -> bool {
        match self {
            Reader::Hermes(r) => r.go_on(line),
            Reader::Profile(_) | Reader::Agent(_) | Reader::Plain(_) => false,
        }
    }

    /// Whether lines may follow that change next to nothing, behind this one, which it took last.
    pub(crate) fn is_steady(&self, last: &[u8]) -> bool {
        match self {
            Reader::Hermes(r) => r.is_steady(last),
            Reader::Profile(_) | Reader::Agent(_) | Reader::Plain(_) => false,
        }
    }

    /// The file was rotated away; its attempt goes on from byte 0 of a new one.
    pub(crate) fn rotated(&mut self) {
        match self {
            Reader::Hermes(r) => r.rotated(),
            Reader::Profile(r) => r.rotated(),
            Reader::Agent(_) | Reader::Plain(_) => {}
        }
    }

    /// Whether a log that opens with this line may go on with the attempt of the file rotated away before it.
    pub(crate) fn may_go_on(&self, first: &str) -> bool {
        match self {
            Reader::Hermes(_) => !hermes::Reader::begins_with(first),
            Reader::Profile(_) => true,
            Reader::Agent(_) | Reader::Plain(_) => false,
        }
    }

    fn inner(&self) -> &dyn Format {
        match self {
            Reader::Hermes(r) => &**r,
            Reader::Profile(r) => r,
            Reader::Agent(r) => r,
            Reader::Plain(r) => r,
        }
    }
}

impl Format for Reader {
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Signal>) {
        match self {
            Reader::Hermes(r) => r.line(line, out),
            Reader::Profile(r) => r.line(line, out),
            Reader::Agent(r) => r.line(line, out),
            Reader::Plain(r) => r.line(line, out),
        }
    }

    fn end(&self) -> LogEnd {
        self.inner().end()
    }

    fn attempt(&self) -> u64 {
        self.inner().attempt()
    }

    fn worked(&self) -> u64 {
        self.inner().worked()
    }

    fn last_words(&self) -> Vec<String> {
        self.inner().last_words()
    }

    fn earlier(&self) -> Vec<Option<Evidence>> {
        self.inner().earlier()
    }

    fn heard(&self) -> Option<Time> {
        self.inner().heard()
    }

    fn is_left(&self) -> bool {
        self.inner().is_left()
    }

    fn waits(&self) -> Option<Time> {
        self.inner().waits()
    }
}

/// The reader for a log that begins with these lines; the first line that tells decides. `task`: it is a board's log of that
/// task. `None` where no line tells; then it is plain text as far as anybody can see, and another look at more of it may
/// say otherwise.
///
/// A line of JSON tells only where such lines are at least half of all: a plain agent may print one that it read somewhere.
pub fn sniff(first_lines: &[&str], task: Option<&str>) -> Option<Reader> {
    let lines = || first_lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let is_json = |line: &&str| line.starts_with('{');
    let counts = 2 * lines().filter(is_json).count() >= lines().count();
    first_lines.iter().filter(|l| counts || !is_json(&l.trim_start())).find_map(|l| tell(l.trim_end(), task))
}

fn tell(line: &str, task: Option<&str>) -> Option<Reader> {
    if line.trim_start().starts_with('{') {
        return Known::of_line(line).map(|agent| Reader::Agent(agents::Reader::new(agent)));
    }
    if hermes::is_mark(line) || (task.is_some() && hermes::is_weak_mark(line)) {
        return Some(Reader::Hermes(Box::new(hermes::Reader::new(task.unwrap_or_default()))));
    }
    profile::is_line(line).then(|| Reader::Profile(profile::Reader::new(None)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_tells_decides() {
        for (lines, task, name) in [
            (&["Query: work kanban task t_1"][..], Some("t_1"), "hermes"),
            (&["Query: work kanban task t_1"], None, "hermes"),
            (&["warning: x", "  ⚠ tirith security scanner enabled"], Some("t_1"), "hermes"),
            (&["Working on it.", "HTTP 402: no money"], Some("t_1"), "hermes"),
            (&["Working on it.", "HTTP 402: no money"], None, "-"),
            (&["Working on it.", "{\"answer\": 1}"], Some("t_1"), "-"),
            (&[], Some("t_1"), "-"),
            (&["2026-11-21 08:17:34,678 WARNING [2026_x] agent.x: y"], None, "profile"),
            (&["2026-11-21 08:17:34,678 nothing of ours"], None, "-"),
            (&["{\"type\":\"queue-operation\",\"sessionId\":\"x\"}"], Some("t_1"), "claude"),
            (&["{\"type\": \"system\", \"subtype\": \"init\", \"session_id\": \"x\"}"], None, "claude"),
            (
                &["{\"parentUuid\":null,\"type\":\"user\",\"message\":{\"content\":\"{\\\"payload\\\":1"],
                None,
                "claude",
            ),
            (&["{\"timestamp\":\"x\",\"type\":\"session_meta\",\"payload\":{}}"], None, "codex"),
            (
                &["Reading prompt from stdin...", "{\"type\":\"thread.started\",\"thread_id\":\"x\"}"],
                None,
                "codex",
            ),
            (&["{\"type\":\"session_meta\",\"payload\":{\"session_id\":\"x"], None, "codex"),
            (&["{\"type\":\"error\",\"message\":\"HTTP 429\"}"], None, "-"),
            (&["reads a.jsonl", "{\"type\":\"turn.failed\",\"error\":{}}", "TypeError: x"], None, "-"),
            (
                &[
                    "{\"type\":\"thread.started\",\"thread_id\":\"x\"}",
                    "warning",
                    "",
                    "{\"type\":\"turn.started\"}",
                ],
                None,
                "codex",
            ),
        ] {
            let found = sniff(lines, task);
            assert_eq!(found.as_ref().map_or("-", Reader::name), name, "{lines:?}");
        }
    }
}
