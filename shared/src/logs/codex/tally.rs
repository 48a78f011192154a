//! Counting what a session used and did, line by line.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::line::{Info, counts};
use crate::cause::Cause;
use crate::clip::clip;
use crate::logs::session::{
    CodexSession, MAX_CALLS, MAX_KEPT, MAX_OPEN, Millis, Newest, Run, TurnError, percent, push_newest, words,
};
use crate::logs::signal::MAX_WORDS;
use crate::time::Time;

/// Longest name, folder or id that is kept, in bytes; and longest `codex_error_info`, as JSON.
const MAX_NAME: usize = 400;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Tally {
    session_id: Option<String>,
    cwd: Option<String>,
    model: Option<String>,
    lines: u64,
    unparseable: u64,
    last_activity: Option<Millis>,
    turns_started: u64,
    turns_completed: u64,
    turn_errors: VecDeque<TurnError>,
    total: Option<BTreeMap<String, u64>>,
    last: BTreeMap<String, u64>,
    window: Option<u64>,
    open: Newest<()>,
    /// Calls that are known to have failed; a failure is told twice, by the item and by the output.
    failed: Newest<()>,
    tool_calls: u64,
    tool_errors: u64,
    malformed: u64,
    compactions: u64,
    run: Run,
    /// API calls as counts of tokens tell them: one with each change of the total.
    counted: u64,
    /// API calls that have a record of their own, and the newest of them.
    recorded: u64,
    records: Newest<()>,
    /// Tokens of the whole thread as the newest record states them.
    thread: Option<BTreeMap<String, u64>>,
}

impl Tally {
    /// Whether no line was read yet.
    pub(super) fn is_empty(&self) -> bool {
        self.lines == 0
    }

    pub(super) fn broken(&mut self) {
        self.lines += 1;
        self.unparseable += 1;
    }

    /// Any line. Gives the time it states.
    pub(super) fn line(&mut self, timestamp: Option<&str>) -> Option<Time> {
        self.lines += 1;
        let at = timestamp.and_then(Millis::parse);
        self.last_activity = self.last_activity.max(at);
        at.map(Millis::time)
    }

    /// The first one stays: a fork repeats the lines of its parent behind its own.
    pub(super) fn is_thread(&mut self, id: Option<&str>) {
        if self.session_id.is_none() {
            self.session_id = id.map(|id| clip(id, MAX_NAME).to_owned());
        }
    }

    pub(super) fn works_in(&mut self, cwd: Option<&str>, model: Option<&str>) {
        for (text, kept) in [(cwd, &mut self.cwd), (model, &mut self.model)] {
            if let Some(text) = text {
                *kept = Some(clip(text, MAX_NAME).to_owned());
            }
        }
    }

    pub(super) fn has_turns(&self) -> bool {
        self.turns_started > 0
    }

    pub(super) fn turn_started(&mut self, window: Option<u64>) {
        self.turns_started += 1;
        self.window = window.or(self.window);
    }

    pub(super) fn turn_ended(&mut self) {
        self.turns_completed += 1;
    }

    pub(super) fn failed(&mut self, message: &str, info: &Value) {
        let is_short = info.to_string().len() <= MAX_NAME;
        let codex_error_info = if is_short { info.clone() } else { Value::Null };
        let error = TurnError { message: words(message, MAX_WORDS), codex_error_info };
        push_newest(&mut self.turn_errors, error, MAX_KEPT);
    }

    pub(super) fn used(&mut self, info: &Info) {
        let total = counts(info.total.as_ref());
        // What is told once more, with the limits of the subscription, is no call.
        self.counted += u64::from(total.is_some() && total != self.total);
        self.total = total.or(self.total.take());
        if let Some(last) = counts(info.last.as_ref()) {
            self.last = last;
        }
        self.window = info.window.0.or(self.window);
    }

    pub(super) fn used_in_all(&mut self, usage: Option<&Value>) {
        self.total = counts(usage).or(self.total.take());
    }

    /// An API call was answered, as a record of it says.
    pub(super) fn answered(&mut self, response: &str, thread: Option<&Value>) {
        self.thread = counts(thread).or(self.thread.take());
        if self.records.holds(response) {
            return;
        }
        self.recorded += 1;
        self.records.touch(response, MAX_CALLS, || ());
    }

    /// Tokens of the whole thread as last stated: a worker that is killed leaves a record and no count behind it.
    pub(super) fn tokens(&self) -> Option<&BTreeMap<String, u64>> {
        let all = |counts: &BTreeMap<String, u64>| {
            ["input_tokens", "output_tokens"]
                .iter()
                .filter_map(|key| counts.get(*key))
                .fold(0, |a: u64, b| a.saturating_add(*b))
        };
        self.total.as_ref().into_iter().chain(&self.thread).max_by_key(|counts| all(counts))
    }

    /// Tokens of the last call.
    pub(super) fn last(&self) -> &BTreeMap<String, u64> {
        &self.last
    }

    /// API calls that were answered.
    pub(super) fn calls(&self) -> u64 {
        self.counted.max(self.recorded)
    }

    /// The most calls in a row with the same tool and the same arguments.
    pub(super) fn identical(&self) -> u64 {
        self.run.longest
    }

    /// What a tool was called with.
    pub(super) fn called(&mut self, name: &str, arguments: Option<&Value>) {
        let text = match arguments {
            Some(Value::String(text)) => text.clone(),
            other => other.unwrap_or(&Value::Null).to_string(),
        };
        self.run.next([name.as_bytes(), text.as_bytes()]);
    }

    /// The same totals, with nothing counted.
    pub(super) fn anew(&self) -> Tally {
        Tally {
            session_id: self.session_id.clone(),
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            total: self.total.clone(),
            thread: self.thread.clone(),
            records: self.records.clone(),
            ..Tally::default()
        }
    }

    pub(super) fn compacted(&mut self) {
        self.compactions += 1;
    }

    /// A tool call; `false` where it was told before.
    pub(super) fn tool(&mut self, call: &str) -> bool {
        if self.open.holds(call) {
            return false;
        }
        self.tool_calls += 1;
        self.open.touch(call, MAX_OPEN, || ());
        true
    }

    /// A call that is known to have failed; its cause, unless that was told already.
    pub(super) fn tool_failed(&mut self, call: &str) -> Option<Cause> {
        if self.failed.holds(call) {
            return None;
        }
        self.failed.touch(call, MAX_OPEN, || ());
        self.tool_errors += 1;
        Some(Cause::ToolError)
    }

    /// The output of a call; its cause, where it says that the call failed.
    pub(super) fn output(&mut self, call: &str, output: &str) -> Option<Cause> {
        self.open.take(call);
        let is_malformed = is_malformed(output);
        if is_malformed {
            self.malformed += 1;
        }
        if !is_malformed && !has_failed(output) {
            return None;
        }
        let cause = self.tool_failed(call)?;
        Some(if is_malformed { Cause::MalformedCall } else { cause })
    }

    pub(super) fn session(&self) -> CodexSession {
        let context = self.last.get("input_tokens").zip(self.window);
        CodexSession {
            session_id: self.session_id.clone(),
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            lines: self.lines,
            unparseable: self.unparseable,
            last_activity: self.last_activity,
            turns_started: self.turns_started,
            turns_completed: self.turns_completed,
            turn_errors: self.turn_errors.iter().cloned().collect(),
            total_usage: self.total.clone(),
            last_usage: self.last.clone(),
            context_window: self.window,
            context_pct: context.map(|(input, window)| percent(*input, window)),
            tool_calls: self.tool_calls,
            tool_errors: self.tool_errors,
            malformed: self.malformed,
            dangling: self.open.len(),
            compactions: self.compactions,
        }
    }
}

/// How Codex answers a call it cannot use.
const MALFORMED: [&str; 3] =
    ["failed to parse function arguments", "unsupported call:", "unsupported custom tool call:"];

/// Whether an output is how Codex answers a call it cannot use.
pub(super) fn is_malformed(output: &str) -> bool {
    MALFORMED.iter().any(|opening| output.starts_with(opening))
}

/// Whether an output says that its command failed.
pub(super) fn has_failed(output: &str) -> bool {
    exit_code(output).is_some_and(|code| code != 0)
}

/// The exit code in the head of an output, above what the command itself printed: `Process exited with code 2`
/// (0.169.0), `Exit code: 2`, or `{"output":"...","metadata":{"exit_code":2}}` (older versions).
fn exit_code(output: &str) -> Option<i64> {
    if output.starts_with('{') {
        let whole: Value = serde_json::from_str(output).ok()?;
        return whole.get("metadata")?.get("exit_code")?.as_i64();
    }
    let head = output.lines().take_while(|l| !l.starts_with("Output:")).take(8);
    head.filter_map(|l| l.strip_prefix("Process exited with code ").or_else(|| l.strip_prefix("Exit code: ")))
        .find_map(|code| code.trim().parse().ok())
}
