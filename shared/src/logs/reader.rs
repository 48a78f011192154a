//! Which format a log has, and its reader.

use serde::{Deserialize, Serialize};

use super::{Evidence, Format, Line, LogEnd, Signal, claude, codex, hermes, plain, profile};
use crate::time::Time;

/// A reader of one of the formats we know. Goes through JSON unchanged, so that a later pass goes on where this one stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "format", content = "state", rename_all = "snake_case")]
pub enum Reader {
    /// The log of a Hermes worker.
    Hermes(Box<hermes::Reader>),
    /// The log of a Hermes profile.
    Profile(profile::Reader),
    /// A transcript of Claude Code, or what its `--output-format stream-json` prints.
    Claude(claude::Reader),
    /// A rollout of Codex, or what `codex exec --json` prints.
    Codex(codex::Reader),
    /// Any other text.
    Plain(plain::Reader),
}

impl Reader {
    /// The format in one word, as `watchbill match` shows it.
    pub fn name(&self) -> &'static str {
        match self {
            Reader::Hermes(_) => "hermes",
            Reader::Profile(_) => "profile",
            Reader::Claude(_) => "claude",
            Reader::Codex(_) => "codex",
            Reader::Plain(_) => "plain",
        }
    }

    /// A number that changes when another attempt begins.
    pub(crate) fn turn(&self) -> u64 {
        match self {
            Reader::Hermes(r) => r.begun(),
            Reader::Profile(r) => r.begun(),
            Reader::Claude(_) | Reader::Codex(_) | Reader::Plain(_) => self.attempt(),
        }
    }

    /// The file was rotated away; its attempt goes on from byte 0 of a new one.
    pub(crate) fn rotated(&mut self) {
        match self {
            Reader::Hermes(r) => r.rotated(),
            Reader::Profile(r) => r.rotated(),
            Reader::Claude(_) | Reader::Codex(_) | Reader::Plain(_) => {}
        }
    }

    /// Whether a log that opens with this line may go on with the attempt of the file rotated away before it.
    pub(crate) fn may_go_on(&self, first: &str) -> bool {
        match self {
            Reader::Hermes(_) => !hermes::Reader::begins_with(first),
            Reader::Profile(_) => true,
            Reader::Claude(_) | Reader::Codex(_) | Reader::Plain(_) => false,
        }
    }

    fn inner(&self) -> &dyn Format {
        match self {
            Reader::Hermes(r) => &**r,
            Reader::Profile(r) => r,
            Reader::Claude(r) => r,
            Reader::Codex(r) => r,
            Reader::Plain(r) => r,
        }
    }
}

impl Format for Reader {
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Signal>) {
        match self {
            Reader::Hermes(r) => r.line(line, out),
            Reader::Profile(r) => r.line(line, out),
            Reader::Claude(r) => r.line(line, out),
            Reader::Codex(r) => r.line(line, out),
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
pub fn sniff(first_lines: &[&str], task: Option<&str>) -> Option<Reader> {
    first_lines.iter().find_map(|line| tell(line.trim_end(), task))
}

fn tell(line: &str, task: Option<&str>) -> Option<Reader> {
    if line.trim_start().starts_with('{') {
        return jsonl(line);
    }
    if hermes::is_mark(line) || (task.is_some() && hermes::is_weak_mark(line)) {
        return Some(Reader::Hermes(Box::new(hermes::Reader::new(task.unwrap_or_default()))));
    }
    profile::is_line(line).then(|| Reader::Profile(profile::Reader::new(None)))
}

/// The keys of a line that tell Claude Code's lines from Codex's.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Keys {
    r#type: String,
    #[serde(rename = "sessionId")]
    session: Option<serde::de::IgnoredAny>,
    session_id: Option<serde::de::IgnoredAny>,
    #[serde(rename = "parentUuid")]
    parent: Option<serde::de::IgnoredAny>,
    payload: Option<serde::de::IgnoredAny>,
}

fn jsonl(line: &str) -> Option<Reader> {
    // A first line may be longer than what was read of it.
    let keys = serde_json::from_str::<Keys>(line).unwrap_or_else(|_| torn_keys(line));
    let is_codex = match keys.r#type.as_str() {
        "session_meta" | "event_msg" | "response_item" | "turn_context" | "compacted" => {
            keys.payload.is_some()
        }
        "error" => false,
        t => ["thread.", "turn.", "item."].iter().any(|p| t.starts_with(p)),
    };
    let has_session = keys.session.is_some() || keys.session_id.is_some() || keys.parent.is_some();
    let is_claude = has_session && !keys.r#type.is_empty() && keys.payload.is_none();
    if is_codex {
        Some(Reader::Codex(codex::Reader::new()))
    } else if is_claude {
        Some(Reader::Claude(claude::Reader::new()))
    } else {
        None
    }
}

/// Inside a string every quote is escaped, so these words stand for real keys even in a line cut short.
fn torn_keys(line: &str) -> Keys {
    let has = |key: &str| line.contains(&format!("\"{key}\":")).then_some(serde::de::IgnoredAny);
    let kind = line.split_once("\"type\":\"").and_then(|(_, rest)| rest.split_once('"')).map(|(t, _)| t);
    Keys {
        r#type: kind.unwrap_or_default().to_owned(),
        session: has("sessionId"),
        session_id: has("session_id"),
        parent: has("parentUuid"),
        payload: has("payload"),
    }
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
        ] {
            let found = sniff(lines, task);
            assert_eq!(found.as_ref().map_or("-", Reader::name), name, "{lines:?}");
        }
    }
}
