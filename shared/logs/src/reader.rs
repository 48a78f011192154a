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

/// What the lines of a log show of its format.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// Whole lines show it, whatever is written behind them.
    Surely(Reader),
    /// What is there now does, and with more of it that may be another one.
    SoFar(Reader),
    /// No line does: it is plain text as far as its lines tell.
    Not,
}

impl Shown {
    /// The reader for what is there now.
    pub fn reader(self) -> Reader {
        match self {
            Shown::Surely(reader) | Shown::SoFar(reader) => reader,
            Shown::Not => Reader::Plain(plain::Reader::new()),
        }
    }
}

/// The format of a log that begins with these whole lines, and with a last one that is still being written; the first line that
/// tells decides. `task`: it is a board's log of that task.
///
/// A plain agent may print a line of JSON that it read somewhere. So such lines tell once more than half of the lines up to
/// there are JSON, which no later line changes; for the time being they tell where half of all are.
pub fn sniff(whole: &[&str], last: Option<&str>, task: Option<&str>) -> Shown {
    let mut front = Front::default();
    for line in whole {
        if let Some(reader) = front.line(line, task) {
            return Shown::Surely(reader);
        }
    }
    let shown = last.and_then(|line| front.line(line, task));
    shown.or_else(|| front.told.take_if(|_| front.json == front.other)).map_or(Shown::Not, Shown::SoFar)
}

/// The first lines of a log, as far as none of them decided.
#[derive(Default)]
struct Front {
    /// How many are JSON, and how many are other text.
    json: usize,
    other: usize,
    /// What the first line of JSON that tells shows.
    told: Option<Reader>,
}

impl Front {
    /// Takes a line; gives the reader once that is decided.
    fn line(&mut self, line: &str, task: Option<&str>) -> Option<Reader> {
        let told = tell(line.trim_end(), task);
        match line.trim_start() {
            "" => None,
            json if json.starts_with('{') => {
                self.json += 1;
                self.told = self.told.take().or(told);
                self.told.take_if(|_| self.json > self.other)
            }
            _ => {
                self.other += 1;
                told
            }
        }
    }
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
            let (last, whole) =
                lines.split_last().map_or((None, lines), |(last, whole)| (Some(*last), whole));
            for shown in [sniff(lines, None, task), sniff(whole, last, task)] {
                let found = match &shown {
                    Shown::Surely(reader) | Shown::SoFar(reader) => reader.name(),
                    Shown::Not => "-",
                };
                assert_eq!(found, name, "{lines:?}");
            }
        }
    }

    #[test]
    fn what_was_sure_stays_so() {
        let told = "{\"type\":\"thread.started\",\"thread_id\":\"x\"}";
        for (lines, name) in [
            (&[told][..], "codex"),
            (&["a", told], "codex so far"),
            (&["a", told, "b"], "-"),
            (&["a", told, "b", told, told], "codex"),
            (&["a", "b", told, told], "codex so far"),
            (&["a", "b", told, told, told, "c", "d", "e", "f"], "codex"),
            (&["a", told, "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"x\"}"], "codex"),
            (&["{\"answer\": 1}", "a", told], "codex"),
        ] {
            let found = match sniff(lines, None, None) {
                Shown::Surely(reader) => reader.name().to_owned(),
                Shown::SoFar(reader) => format!("{} so far", reader.name()),
                Shown::Not => "-".to_owned(),
            };
            assert_eq!(found, name, "{lines:?}");
        }
    }
}
