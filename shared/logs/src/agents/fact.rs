//! What the line of an agent's log says, told alike by every format: the code that counts need not know which agent wrote it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SignalKind;
use crate::session::{Millis, Price};
use base::cause::Cause;
use base::money::Money;
use base::time::Time;

/// Is told each fact of a line, and whether the line says that a subagent did it.
pub(crate) type Tell<'t> = dyn FnMut(bool, Fact<'_>) + 't;

/// One thing that an agent's log says.
pub(crate) enum Fact<'a> {
    /// A line, told before all else that it says. `closes`: whether it is one of those on which the agent closes down; `None` where it
    /// leaves that as it was.
    Line { at: Option<Millis>, closes: Option<bool> },
    /// An attempt may begin here.
    Begins(Begin<'a>),
    /// Which session it is, and where it works. `once`: the first id that is told is the session's.
    Session { id: Option<&'a str>, cwd: Option<&'a str>, once: bool },
    /// The model of what follows, and the size of its context where that is stated.
    Model { name: Option<&'a str>, window: Option<u64> },
    /// It is the model's turn: it was asked for something.
    Asked,
    /// A side of the conversation wrote; why the model stopped, in its own word.
    Wrote { by_model: bool, stop: Option<&'a str> },
    /// The agent itself wrote in the model's place.
    Synthetic,
    /// The model said a part of an answer, which belongs to this API call.
    Spoke { call: &'a str, stop: Stop },
    /// What an API call used so far. Told again as it grows; `context`: all the tokens it was asked with.
    Used { call: &'a str, model: &'a str, used: Used, context: u64, stopped: bool },
    /// What the whole thread used so far, and what its last call did. `by_turn`: it is told once a turn, however many calls that took.
    Total { total: Used, last: Option<Used>, by_turn: bool },
    /// The same as the agent names it.
    Named { total: Option<BTreeMap<String, u64>>, last: Option<BTreeMap<String, u64>> },
    /// What a session cost and used so far, as the agent itself adds it up.
    Billed { session: &'a str, cost: Money, used: Used },
    /// When the windows of the subscription that are used up are open again.
    Limited { until: Option<Time> },
    /// The agent worked, so what failed before is over. `once`: these words may be told a second time.
    Worked { said: &'a str, once: bool },
    /// What failed before is over, though nothing was done.
    Recovered,
    /// The API refused, or the agent failed.
    Refused(Refusal<'a>),
    /// A tool was called.
    Called(Call<'a>),
    /// A tool answered. `print` tells whether two answers are the same; it is computed only when it is called.
    Answered { id: &'a str, failed: bool, malformed: bool, print: &'a dyn Fn() -> u64, said: &'a str },
    /// A call is known to have failed, before its answer stands in the log.
    Failed { id: &'a str, said: &'a str },
    /// The context was compacted, which held so many tokens.
    Compacted { before: Option<u64> },
    /// The turn is over: the agent waits for the next message.
    Over,
}

/// What may begin an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Begin<'a> {
    /// The start of the agent. A prompt right behind it begins nothing new.
    Start,
    /// A turn.
    Turn,
    /// A message of the user, in a log that tells no turns.
    Message,
    /// A prompt, by its id where it has one. Lines that serve it carry the same.
    Prompt(Option<&'a str>),
}

/// A failure of the API or of the agent.
#[derive(Debug)]
pub(crate) struct Refusal<'a> {
    /// Whether it was tried again.
    pub(crate) kind: SignalKind,
    pub(crate) cause: Cause,
    pub(crate) http: Option<u16>,
    pub(crate) endpoint: Option<String>,
    /// Its words. Untrusted.
    pub(crate) said: &'a str,
    pub(crate) repeats: Repeats,
    /// The failure as the agent states it, where that is kept.
    pub(crate) stated: Option<Value>,
}

/// Which failure before it is the same one, told again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    Nothing,
    /// One with the same words.
    SameWords,
    /// Any.
    Any,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Used {
    pub(crate) input: u64,
    pub(crate) write: u64,
    /// The part of `write` that is kept for an hour.
    pub(crate) hour: u64,
    pub(crate) read: u64,
    pub(crate) output: u64,
}

impl Used {
    /// Field by field the larger: older versions write a low count of output tokens first.
    pub(crate) fn most(self, other: Used) -> Used {
        Used {
            input: self.input.max(other.input),
            write: self.write.max(other.write),
            hour: self.hour.max(other.hour),
            read: self.read.max(other.read),
            output: self.output.max(other.output),
        }
    }

    /// With more added and less taken away.
    pub(crate) fn plus(self, more: Used, less: Used) -> Used {
        let sum = |a: u64, b: u64, c: u64| a.saturating_add(b).saturating_sub(c);
        Used {
            input: sum(self.input, more.input, less.input),
            write: sum(self.write, more.write, less.write),
            hour: sum(self.hour, more.hour, less.hour),
            read: sum(self.read, more.read, less.read),
            output: sum(self.output, more.output, less.output),
        }
    }

    /// Tokens the call was asked with.
    pub(crate) fn context(self) -> u64 {
        self.input.saturating_add(self.write).saturating_add(self.read)
    }

    /// In billionths of a US dollar.
    pub(crate) fn cost(self, price: &Price) -> u64 {
        price.of(self.input, self.write, self.hour, self.read, self.output)
    }
}

/// Why a model stopped, as far as it matters for whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Nothing says so yet: it speaks on, or the stream was cut.
    Unsaid,
    /// To have tools called.
    ForTools,
    /// It is done.
    Done,
}

/// A tool call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    /// The same for the same arguments.
    pub(crate) arguments: &'a str,
    pub(crate) does: Does,
    /// Files that it changes, or the one it reads.
    pub(crate) files: &'a [&'a str],
    /// Which part of that, where it reads.
    pub(crate) part: u64,
    /// The runtime could not read it.
    pub(crate) malformed: bool,
    /// The argument a person would look at. Untrusted.
    pub(crate) brief: &'a str,
}

/// What a tool call is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Does {
    /// It changes files.
    Edits,
    /// It reads one file.
    Reads,
    /// It looks for something without changing anything.
    Looks,
    /// It asks a person.
    Asks,
    /// Anything else.
    #[default]
    Other,
}

/// Most bytes of an answer by which it is told from another.
const MAX_PRINT: usize = 16 << 10;

/// Tells texts apart, but for how long something took. Of long ones the front and the length.
pub fn print<'t>(texts: impl Iterator<Item = &'t str>) -> u64 {
    let part = |text: &'t str| {
        let front = &text.as_bytes()[..text.len().min(MAX_PRINT)];
        let rest = text.len() - front.len();
        without_durations(front).into_iter().chain(rest.to_le_bytes())
    };
    base::hash::fnv(texts.flat_map(part))
}

/// A text without its durations, as test runners print them: `0.52s`, `1.2 ms`. One of whole seconds stays: what waits for something
/// else prints those, and each tells of another moment.
fn without_durations(text: &[u8]) -> Vec<u8> {
    const UNITS: [&[u8]; 8] = [b"s", b"sec", b"secs", b"seconds", b"ms", b"us", b"m", b"min"];
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let length = |from: usize, is: fn(&u8) -> bool| text[from..].iter().take_while(|b| is(b)).count();
        let is_inside = at > 0 && (text[at - 1].is_ascii_alphanumeric() || text[at - 1] == b'.');
        if !byte.is_ascii_digit() || is_inside {
            out.push(byte);
            at += 1;
            continue;
        }
        let whole = at + length(at, u8::is_ascii_digit);
        let end = match text.get(whole) {
            Some(b'.') => whole + 1 + length(whole + 1, u8::is_ascii_digit),
            _ => whole,
        };
        let unit = end + usize::from(text.get(end) == Some(&b' '));
        let after = unit + length(unit, u8::is_ascii_alphabetic);
        if end > whole + 1 && UNITS.contains(&&text[unit..after]) {
            at = after;
        } else {
            out.extend(&text[at..end]);
            at = end;
        }
    }
    out
}

/// The argument of a call that a person would look at first: a command, a file, a pattern.
pub(crate) fn brief(input: &Value) -> Option<&str> {
    const KEYS: [&str; 10] = [
        "command",
        "cmd",
        "file_path",
        "filePath",
        "notebook_path",
        "path",
        "pattern",
        "url",
        "query",
        "description",
    ];
    KEYS.iter().find_map(|key| input.get(key)?.as_str())
}

/// Tells apart which part of a file a call reads, as its arguments say it; 0 where they say nothing.
pub(crate) fn part(input: &Value) -> u64 {
    let given = ["offset", "limit", "pages"].map(|key| input.get(key).filter(|value| !value.is_null()));
    if given.iter().all(Option::is_none) {
        return 0;
    }
    let given = given.map(|value| value.map(Value::to_string).unwrap_or_default());
    print(given.iter().map(String::as_str))
}

/// Most files of one patch that are told.
pub(crate) const MAX_PATCHED: usize = 20;

/// The files a patch in the form of Codex (V4A) is for.
pub(crate) fn patched(text: &str) -> Vec<&str> {
    if !text.contains("*** Begin Patch") {
        return Vec::new();
    }
    let file = |line: &'_ str| -> Option<usize> {
        ["*** Update File: ", "*** Add File: ", "*** Delete File: "]
            .iter()
            .find(|mark| line.starts_with(**mark))
            .map(|mark| mark.len())
    };
    let named = text.lines().filter_map(|line| Some(line[file(line)?..].trim()));
    named.filter(|name| !name.is_empty()).take(MAX_PATCHED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart_but_for_how_long_something_took() {
        let of = |text: &str| print(std::iter::once(text));
        for (a, b, is_same) in [
            ("1 failed in 0.10s", "1 failed in 12.3s", true),
            ("finished in 1.2 ms; 3 failed", "finished in 0.9 ms; 3 failed", true),
            ("1 failed in 0.10s", "2 failed in 0.10s", false),
            ("3 of 8 pass", "4 of 8 pass", false),
            ("running for 30s", "running for 60s", false),
            ("version 1.2.3", "version 1.2.4", false),
            ("x1.5s", "x1.6s", false),
            ("0.5", "0.6", false),
            ("0.5 files", "0.6 files", false),
            ("", "1.5s", true),
        ] {
            assert_eq!(of(a) == of(b), is_same, "{a} {b}");
        }
    }
}
