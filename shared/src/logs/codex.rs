//! Codex (0.169.0 and older): rollouts under `$CODEX_HOME/sessions` and what `codex exec --json` writes to stdout.
//!
//! **Attempts.** One turn is one attempt: it starts at `task_started` (`turn.started` on stdout). A rollout without
//! any (older versions) has an attempt for each message of the user. The first attempt starts where the file does.
//!
//! **Ends.** An attempt ended on a failure where its turn closed with one: `task_complete.error`, an `error` event,
//! `turn.failed`. A 429 closes the turn at once. What Codex tries again leaves nothing in the rollout and one line
//! on stdout (`Reconnecting... 1/5`). What a tool printed is never evidence.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::line::{Item, Limits, Payload, Raw, text};
use self::tally::Tally;
use super::session::{CodexSession, Obj, push_newest, words};
use super::signal::MAX_WORDS;
use super::{Evidence, Format, Line, LogEnd, Signal, SignalKind};
use crate::cause::Cause;
use crate::logs::when::reset_time;
use crate::time::Time;

mod acts;
mod line;
mod tally;
mod why;

pub(in crate::logs) use acts::acts;
pub(in crate::logs) use why::{of_words, status_in};

#[cfg(test)]
mod tests;

/// Most of the agent's last words that are kept.
const MAX_LAST: usize = 5;

/// Reads rollouts and stdout of Codex.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reader {
    attempt: u64,
    failed: Option<Evidence>,
    /// Where the line that is read starts, and where the agent last worked.
    here: u64,
    worked: u64,
    /// When the window of the subscription that is used up ends, as last stated.
    window_ends: Option<Time>,
    last: VecDeque<String>,
    tally: Tally,
}

/// A line being read.
struct Here<'a, 'l> {
    line: &'a Line<'l>,
    at: Time,
    out: &'a mut Vec<Signal>,
}

impl Reader {
    /// A reader that has read nothing.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// What the session tells so far.
    pub fn session(&self) -> CodexSession {
        self.tally.session()
    }

    /// API calls that were answered; stdout tells of none.
    pub(in crate::logs) fn calls(&self) -> u64 {
        self.tally.calls()
    }

    /// Tokens of the whole thread as last stated, by name; input includes what was cached.
    pub(in crate::logs) fn tokens(&self) -> Option<&BTreeMap<String, u64>> {
        self.tally.tokens()
    }

    /// Tokens of the last call, by name.
    pub(in crate::logs) fn last_tokens(&self) -> &BTreeMap<String, u64> {
        self.tally.last()
    }

    /// The most calls in a row with the same tool and the same arguments.
    pub(in crate::logs) fn identical(&self) -> u64 {
        self.tally.identical()
    }

    /// A reader that has counted nothing yet of a session whose front this one has read.
    pub(in crate::logs) fn anew(&self) -> Reader {
        Reader { tally: self.tally.anew(), ..Reader::default() }
    }

    fn begin(&mut self, offset: u64) {
        self.attempt = offset;
        self.failed = None;
        self.last.clear();
    }

    fn turn(&mut self, here: &Here<'_, '_>, window: Option<u64>) {
        // What stands before the first turn belongs to it.
        if self.tally.has_turns() {
            self.begin(here.line.offset);
        }
        self.tally.turn_started(window);
    }

    /// The agent said or did something: what failed before is over.
    fn goes_on(&mut self, said: &str) {
        self.failed = None;
        self.worked = self.here;
        let said = words(said, MAX_WORDS);
        if !said.is_empty() && self.last.back() != Some(&said) {
            push_newest(&mut self.last, said, MAX_LAST);
        }
    }

    fn evidence(&self, here: &Here<'_, '_>, (cause, http): (Cause, Option<u16>), said: &str) -> Evidence {
        let stated = || {
            let window = self.window_ends.filter(|end| cause == Cause::Quota && *end > here.at);
            reset_time(said, here.at).or(window)
        };
        let can_end = matches!(cause, Cause::RateLimit | Cause::Quota | Cause::Overloaded);
        Evidence {
            http,
            endpoint_host: why::endpoint(said),
            at: Some(here.at),
            resets: can_end.then(stated).flatten(),
            attempt: self.attempt,
            words: words(said, MAX_WORDS),
            ..Evidence::new(cause, here.line.offset)
        }
    }

    /// The turn failed. It may be told twice: as an event, and with the turn's end.
    fn fail(&mut self, here: &mut Here<'_, '_>, message: &str, info: &Value) {
        let evidence = self.evidence(here, why::verdict(message, info), message);
        if self.failed.as_ref().is_some_and(|f| f.words == evidence.words) {
            return;
        }
        self.tally.failed(message, info);
        here.out.push(Signal { kind: SignalKind::Terminal, evidence: evidence.clone() });
        self.failed = Some(evidence);
    }

    fn retry(&self, here: &mut Here<'_, '_>, message: &str, info: &Value) {
        let evidence = self.evidence(here, why::verdict(message, info), message);
        here.out.push(Signal { kind: SignalKind::Retry, evidence });
    }

    fn tool(&self, here: &mut Here<'_, '_>, cause: Option<Cause>, said: &str) {
        let Some(cause) = cause else { return };
        let evidence = Evidence { endpoint_host: None, ..self.evidence(here, (cause, None), said) };
        here.out.push(Signal { kind: SignalKind::Tool, evidence });
    }

    fn event(&mut self, here: &mut Here<'_, '_>, payload: &Payload<'_>) {
        let info = payload.codex_error_info.as_ref().unwrap_or(&Value::Null);
        match payload.kind.or_empty() {
            "task_started" | "turn_started" => self.turn(here, payload.window.0),
            "user_message" if !self.tally.has_turns() => self.begin(here.line.offset),
            "task_complete" | "turn_complete" => {
                self.tally.turn_ended();
                if let Some(error) = &payload.error.0 {
                    let info = error.codex_error_info.as_ref().unwrap_or(&Value::Null);
                    self.fail(here, error.words(), info);
                }
            }
            "turn_aborted" => self.tally.turn_ended(),
            "error" => self.fail(here, payload.message.or_empty(), info),
            "stream_error" => self.retry(here, payload.message.or_empty(), info),
            "token_count" => {
                if let Some(counts) = &payload.info.0 {
                    self.tally.used(counts);
                }
                if let Some(limits) = &payload.rate_limits.0 {
                    self.window_ends = used_up_until(limits, here.at);
                }
            }
            "agent_message" => self.goes_on(payload.message.or_empty()),
            "item_completed" => {
                if let Some(item) = &payload.item.0 {
                    self.item(here, item);
                }
            }
            "exec_command_end" if line::is_failure(payload.exit_code.as_ref()) => {
                let cause = self.tally.tool_failed(payload.call_id.or_empty());
                self.tool(here, cause, "");
            }
            _ => {}
        }
    }

    /// A finished item, as the rollout (0.169.0) writes it besides the plain responses.
    fn item(&mut self, here: &mut Here<'_, '_>, item: &Item<'_>) {
        let is_tool = matches!(item.name().as_str(), "commandexecution" | "filechange" | "mcptoolcall");
        if is_tool && item.has_failed() {
            let cause = self.tally.tool_failed(item.id.or_empty());
            self.tool(here, cause, item.output.or_empty());
        }
    }

    fn response(&mut self, here: &mut Here<'_, '_>, payload: &Payload<'_>) {
        let call = payload.call_id.get().or(payload.id.get()).unwrap_or_default();
        match payload.kind.or_empty() {
            "message" if payload.role.get() == Some("assistant") => self.goes_on(&text(&payload.content)),
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                if self.tally.tool(call) {
                    let arguments = payload.arguments.as_ref().or(payload.input.as_ref());
                    self.tally.called(payload.name.or_empty(), arguments.or(payload.action.as_ref()));
                }
                self.goes_on("");
            }
            "function_call_output" | "custom_tool_call_output" => {
                let output = text(&payload.output);
                let cause = self.tally.output(call, &output);
                self.tool(here, cause, &output);
            }
            "reasoning" => self.goes_on(""),
            _ => {}
        }
    }

    /// Stdout of `codex exec --json`.
    fn stdout(&mut self, here: &mut Here<'_, '_>, raw: &Raw<'_>) {
        match raw.kind.or_empty() {
            "thread.started" => self.tally.is_thread(raw.thread_id.get()),
            "turn.started" => self.turn(here, None),
            "turn.completed" => {
                self.tally.turn_ended();
                self.tally.used_in_all(raw.usage.as_ref());
                self.failed = None;
            }
            "turn.failed" => {
                self.tally.turn_ended();
                if let Some(error) = &raw.error.0 {
                    let info = error.codex_error_info.as_ref().unwrap_or(&Value::Null);
                    self.fail(here, error.words(), info);
                }
            }
            "error" => {
                let message = raw.message.or_empty();
                match tried_again(message) {
                    Some(reason) => self.retry(here, reason, &Value::Null),
                    None => self.fail(here, message, &Value::Null),
                }
            }
            "item.started" => {
                if let Some(item) = raw.item.0.as_ref().filter(|i| is_stdout_tool(i)) {
                    self.stdout_tool(item);
                    self.goes_on("");
                }
            }
            "item.completed" => {
                if let Some(item) = &raw.item.0 {
                    self.stdout_item(here, item);
                }
            }
            _ => {}
        }
    }

    fn stdout_tool(&mut self, item: &Item<'_>) {
        if self.tally.tool(item.id.or_empty()) {
            let name = item.tool.get().map_or_else(|| item.name(), str::to_owned);
            self.tally.called(&name, item.command.as_ref().or(item.arguments.as_ref()));
        }
    }

    fn stdout_item(&mut self, here: &mut Here<'_, '_>, item: &Item<'_>) {
        if matches!(item.name().as_str(), "agentmessage" | "assistantmessage") {
            self.goes_on(item.text.or_empty());
        }
        if !is_stdout_tool(item) {
            return;
        }
        let id = item.id.or_empty();
        // Short ones are only told of when they are over.
        self.stdout_tool(item);
        let cause = if item.has_failed() { self.tally.tool_failed(id) } else { None };
        self.tally.output(id, "");
        self.goes_on("");
        self.tool(here, cause, item.output.or_empty());
    }
}

fn is_stdout_tool(item: &Item<'_>) -> bool {
    matches!(item.name().as_str(), "commandexecution" | "filechange" | "mcptoolcall")
}

/// `Reconnecting... 1/5 (stream disconnected ...)`: the reason, where it is a retry.
fn tried_again(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("Reconnecting...").or_else(|| message.strip_prefix("Reconnecting…"))?;
    let reason = rest.split_once('(').map_or("", |(_, inner)| inner.strip_suffix(')').unwrap_or(inner));
    Some(if reason.is_empty() { message } else { reason })
}

/// When the windows that are used up are all open again.
fn used_up_until(limits: &Limits, at: Time) -> Option<Time> {
    let both = [&limits.primary, &limits.secondary];
    let ends = both.into_iter().filter_map(|l| l.0.as_ref()).filter(|l| l.is_used_up()).filter_map(|l| {
        let stated = l.resets_at.0.and_then(|s| i64::try_from(s).ok()).map(Time);
        let ahead = l.resets_in_seconds.0.and_then(|s| i64::try_from(s).ok()).map(|s| at.plus(s));
        stated.or(ahead)
    });
    // The same bounds as for what words state.
    ends.max().filter(|end| (0..=35 * 86_400).contains(&end.since(at)))
}

impl Format for Reader {
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Signal>) {
        self.here = line.offset;
        if line.text.trim().is_empty() {
            return;
        }
        if self.tally.is_empty() {
            self.attempt = line.offset;
        }
        let Ok(Obj(Some(raw))) = serde_json::from_str::<Obj<Raw<'_>>>(line.text) else {
            self.tally.broken();
            return;
        };
        let at = self.tally.line(raw.timestamp.get()).unwrap_or(line.seen);
        let mut here = Here { line, at, out };
        match (raw.kind.or_empty(), &raw.payload.0) {
            ("session_meta", Some(payload)) => {
                self.tally.is_thread(payload.id.get());
                self.tally.works_in(payload.cwd.get(), None);
            }
            ("turn_context", Some(payload)) => self.tally.works_in(payload.cwd.get(), payload.model.get()),
            ("event_msg", Some(payload)) => self.event(&mut here, payload),
            ("response_item", Some(payload)) => self.response(&mut here, payload),
            ("compacted", _) => self.tally.compacted(),
            ("token_usage_record", Some(payload)) => {
                self.tally.answered(payload.response_id.or_empty(), payload.thread_token_usage.as_ref());
            }
            (_, None) => self.stdout(&mut here, &raw),
            _ => {}
        }
    }

    fn end(&self) -> LogEnd {
        self.failed.clone().map_or(LogEnd::NoEvidence, LogEnd::Ended)
    }

    fn attempt(&self) -> u64 {
        self.attempt
    }

    fn worked(&self) -> u64 {
        self.worked
    }

    fn last_words(&self) -> Vec<String> {
        self.last.iter().cloned().collect()
    }
}
