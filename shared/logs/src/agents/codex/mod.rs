//! Codex (0.169.0 and older): rollouts under `$CODEX_HOME/sessions` and what `codex exec --json` writes to stdout.
//!
//! **Attempts.** One turn is one attempt: it starts at `task_started` (`turn.started` on stdout). A rollout without
//! any (older versions) has an attempt for each message of the user. The first attempt starts where the file does.
//!
//! **Ends.** An attempt ended on a failure where its turn closed with one: `task_complete.error`, an `error` event,
//! `turn.failed`. A 429 closes the turn at once. What Codex tries again leaves nothing in the rollout and one line
//! on stdout (`Reconnecting... 1/5`). What a tool printed is never evidence.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::line::{Failed, Item, Limits, Payload, Raw, counts, is_failure, text};
use super::fact::{Begin, Call, Does, Fact, Refusal, Repeats, Stop, Tell, Used, brief, patched, print};
use super::record::Record;
use super::{Agent, First};
use crate::agents::UsageAsk;
use crate::cache::Cache;
use crate::session::{Millis, Obj, percent, words};
use crate::signal::MAX_WORDS;
use crate::usage::Usage;
use crate::vitals::Worker;
use crate::{Line, SignalKind};
use base::reason::Reason;
use base::time::Time;

mod line;
mod rollouts;
mod why;

pub(crate) use why::{of_words, status_in};

#[cfg(test)]
mod tests;

/// Longest `codex_error_info` that is kept, as JSON.
const MAX_INFO: usize = 400;

/// Codex.
pub(crate) struct Codex;

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn home(&self) -> (&'static str, &'static str) {
        ("CODEX_HOME", ".codex")
    }

    fn writes(&self, line: &First<'_>) -> bool {
        match line.kind() {
            "session_meta" | "event_msg" | "response_item" | "turn_context" | "compacted" => {
                line.has("payload")
            }
            kind => ["thread.", "turn.", "item."].iter().any(|opening| kind.starts_with(opening)),
        }
    }

    fn starts(&self, kind: &str, _: &str) -> bool {
        kind == "thread.started"
    }

    fn facts(&self, line: &Line<'_>, tell: &mut Tell<'_>) -> bool {
        let Ok(Obj(Some(raw))) = serde_json::from_str::<Obj<Raw<'_>>>(line.text) else { return false };
        // Subagents have threads of their own.
        let mut tell = |fact: Fact<'_>| tell(false, fact);
        let at = raw.timestamp.get().and_then(Millis::parse);
        tell(Fact::Line { at, closes: None });
        match (raw.kind.or_empty(), &raw.payload.0) {
            // A fork repeats the lines of its parent behind its own.
            ("session_meta", Some(p)) => tell(Fact::Session { id: p.id.get(), cwd: p.cwd.get(), once: true }),
            ("turn_context", Some(p)) => {
                tell(Fact::Session { id: None, cwd: p.cwd.get(), once: true });
                tell(Fact::Model { name: p.model.get(), window: None });
            }
            ("event_msg", Some(p)) => event(p, at.map_or(line.seen, Millis::time), &mut tell),
            ("response_item", Some(p)) => response(p, &mut tell),
            ("compacted", _) => tell(Fact::Compacted { before: None }),
            ("token_usage_record", Some(p)) => {
                if let Some(total) = counts(p.thread_token_usage.as_ref()) {
                    tell(Fact::Total { total: used(&total), last: None, by_turn: false });
                }
            }
            (_, None) => stdout(&raw, &mut tell),
            _ => {}
        }
        true
    }

    fn session(&self, record: &Record) -> Value {
        let seen = &record.seen;
        let context = seen.last.get("input_tokens").zip(record.window);
        json!({
            "session_id": record.session,
            "cwd": record.cwd,
            "model": record.model(),
            "lines": record.lines,
            "unparseable": record.unparseable,
            "last_activity": record.last,
            // More than were completed: it runs, or it was killed.
            "turns_started": seen.turns_begun,
            "turns_completed": seen.turns_over,
            "turn_errors": seen.failures,
            // Input includes what was cached.
            "total_usage": seen.total,
            "last_usage": seen.last,
            "context_window": record.window,
            "context_pct": context.map(|(input, window)| percent(*input, window)),
            "tool_calls": record.calls,
            "tool_errors": record.errors,
            "malformed": record.malformed,
            "dangling": record.open.len(),
            "compactions": record.compactions,
        })
    }

    fn correct(&self, record: &Record, usage: &mut Usage) {
        (usage.edits, usage.rereads) = (None, Vec::new());
        usage.unknown.insert(0, "Codex does not say which calls changed files".into());
        let tokens = usage.tokens.unwrap_or_default().total();
        if (record.turns == 0 || record.is_by_turn) && (tokens > 0 || record.calls > 0) {
            usage.turns = None;
            usage.unknown.insert(1, "the output of Codex does not tell turns".into());
        }
        if record.total.is_none() && usage.turns.is_none() {
            (usage.tokens, usage.cost, usage.cost_at_least) = (None, None, None);
            usage.unknown.push("tokens are not told".into());
        }
    }

    /// Sums over the whole thread.
    fn states_sums(&self) -> bool {
        true
    }

    fn held_below(&self) -> Option<&'static str> {
        Some("sessions")
    }

    fn own_log(
        &self,
        ask: &UsageAsk<'_>,
        _: Option<Worker>,
        cache: &mut Cache,
    ) -> Result<Option<PathBuf>, Reason> {
        rollouts::held(ask, cache)
    }

    fn in_folder(&self, ask: &UsageAsk<'_>, real: &Path, cache: &mut Cache) -> Vec<PathBuf> {
        let home = ask.homes.get(self.name());
        home.map(|home| rollouts::in_folder(home, ask, real, cache)).unwrap_or_default()
    }

    fn is_sure_of_folder(&self) -> bool {
        true
    }
}

/// Is told each fact of a line.
type Told<'t> = dyn FnMut(Fact<'_>) + 't;

fn event(payload: &Payload<'_>, at: Time, tell: &mut Told<'_>) {
    let message = payload.message.or_empty();
    match payload.kind.or_empty() {
        "task_started" | "turn_started" => {
            tell(Fact::Begins(Begin::Turn));
            tell(Fact::Model { name: None, window: payload.window.0 });
            tell(Fact::Asked);
        }
        "user_message" => {
            tell(Fact::Begins(Begin::Message));
            tell(Fact::Asked);
        }
        "task_complete" | "turn_complete" => over(payload.error.0.as_ref(), tell),
        "turn_aborted" => tell(Fact::Over),
        "error" => refused(SignalKind::Terminal, message, payload.codex_error_info.as_ref(), tell),
        "stream_error" => refused(SignalKind::Retry, message, payload.codex_error_info.as_ref(), tell),
        "token_count" => {
            if let Some(info) = &payload.info.0 {
                tell(Fact::Model { name: None, window: info.window.0 });
                let (total, last) = (counts(info.total.as_ref()), counts(info.last.as_ref()));
                if let Some(total) = &total {
                    let (total, last) = (used(total), last.as_ref().map(used));
                    tell(Fact::Total { total, last, by_turn: false });
                }
                tell(Fact::Named { total, last });
            }
            if let Some(limits) = &payload.rate_limits.0 {
                tell(Fact::Limited { until: used_up_until(limits, at) });
            }
        }
        "agent_message" => tell(Fact::Worked { said: message, once: true }),
        // As the rollout (0.169.0) writes it besides the plain responses.
        "item_completed" => {
            if let Some(item) = payload.item.0.as_ref().filter(|i| is_tool(i) && i.has_failed()) {
                tell(Fact::Failed { id: item.id.or_empty(), said: item.output.or_empty() });
            }
        }
        "exec_command_end" if is_failure(payload.exit_code.as_ref()) => {
            tell(Fact::Failed { id: payload.call_id.or_empty(), said: "" });
        }
        _ => {}
    }
}

fn response(payload: &Payload<'_>, tell: &mut Told<'_>) {
    let id = payload.call_id.get().or(payload.id.get()).unwrap_or_default();
    match payload.kind.or_empty() {
        "message" if payload.role.get() == Some("assistant") => {
            tell(Fact::Worked { said: &text(&payload.content), once: true });
            tell(Fact::Spoke { call: "", stop: Stop::ForTools });
        }
        "function_call" | "custom_tool_call" | "local_shell_call" => {
            let given = payload.arguments.as_ref().or(payload.input.as_ref()).or(payload.action.as_ref());
            called(id, payload.name.or_empty(), given, &[], tell);
        }
        "function_call_output" | "custom_tool_call_output" => {
            let output = text(&payload.output);
            let malformed = MALFORMED.iter().any(|opening| output.starts_with(opening));
            let failed = exit_code(&output).is_some_and(|code| code != 0);
            let print = || printed(&output);
            tell(Fact::Answered { id, failed, malformed, print: &print, said: &output });
        }
        "reasoning" => tell(Fact::Worked { said: "", once: true }),
        _ => {}
    }
}

/// Stdout of `codex exec --json`.
fn stdout(raw: &Raw<'_>, tell: &mut Told<'_>) {
    let item = raw.item.0.as_ref();
    match (raw.kind.or_empty(), item.filter(|item| is_tool(item))) {
        ("thread.started", _) => tell(Fact::Session { id: raw.thread_id.get(), cwd: None, once: true }),
        ("turn.started", _) => {
            tell(Fact::Begins(Begin::Turn));
            tell(Fact::Asked);
        }
        ("turn.completed", _) => {
            if let Some(total) = counts(raw.usage.as_ref()) {
                tell(Fact::Total { total: used(&total), last: Some(used(&total)), by_turn: true });
                tell(Fact::Named { total: Some(total), last: None });
            }
            tell(Fact::Recovered);
            tell(Fact::Over);
        }
        ("turn.failed", _) => over(raw.error.0.as_ref(), tell),
        ("error", _) => {
            let message = raw.message.or_empty();
            match tried_again(message) {
                Some(reason) => refused(SignalKind::Retry, reason, None, tell),
                None => refused(SignalKind::Terminal, message, None, tell),
            }
        }
        ("item.started", Some(item)) => printed_call(item, tell),
        ("item.completed", Some(item)) => {
            // Short ones are only told of when they are over.
            printed_call(item, tell);
            let (id, failed, said) = (item.id.or_empty(), item.has_failed(), item.output.or_empty());
            let result = item.result.as_ref().map(Value::to_string);
            // What was changed in the files is not told. To change them a second time in the same way would have failed.
            let change = Some(id).filter(|_| item.changes.is_some() && !failed);
            let print = || print([item.output.get(), result.as_deref(), change].into_iter().flatten());
            tell(Fact::Answered { id, failed, malformed: false, print: &print, said });
        }
        ("item.completed", None) => {
            let says = |item: &&Item<'_>| matches!(item.name().as_str(), "agentmessage" | "assistantmessage");
            if let Some(item) = item.filter(says) {
                tell(Fact::Worked { said: item.text.or_empty(), once: true });
            }
        }
        _ => {}
    }
}

/// A turn is over, with an error or without.
fn over(error: Option<&Failed>, tell: &mut Told<'_>) {
    if let Some(error) = error {
        refused(SignalKind::Terminal, error.words(), error.codex_error_info.as_ref(), tell);
    }
    tell(Fact::Over);
}

/// It may be told twice: as an event, and with the turn's end.
fn refused(kind: SignalKind, said: &str, info: Option<&Value>, tell: &mut Told<'_>) {
    let info = info.unwrap_or(&Value::Null);
    let (cause, http) = why::verdict(said, info);
    let is_short = info.to_string().len() <= MAX_INFO;
    let stated = json!({"message": words(said, MAX_WORDS), "codex_error_info": is_short.then_some(info)});
    let stated = Some(stated).filter(|_| kind == SignalKind::Terminal);
    let (endpoint, repeats) = (why::endpoint(said), Repeats::SameWords);
    tell(Fact::Refused(Refusal { kind, cause, http, endpoint, said, repeats, stated }));
}

fn is_tool(item: &Item<'_>) -> bool {
    matches!(item.name().as_str(), "commandexecution" | "filechange" | "mcptoolcall")
}

fn printed_call(item: &Item<'_>, tell: &mut Told<'_>) {
    let name = item.tool.get().map_or_else(|| item.name(), str::to_owned);
    let given = item.command.as_ref().or(item.arguments.as_ref()).or(item.changes.as_ref());
    called(item.id.or_empty(), &name, given, &item.changed(), tell);
}

/// `changed`: the files it changes, where they are told beside its arguments.
fn called(id: &str, name: &str, given: Option<&Value>, changed: &[&str], tell: &mut Told<'_>) {
    let whole = match given {
        Some(Value::String(text)) => text.clone(),
        other => other.unwrap_or(&Value::Null).to_string(),
    };
    // Arguments are a text of JSON, a patch or a script is not.
    let inner: Value = serde_json::from_str(&whole).unwrap_or_default();
    let said = brief(&inner).or(changed.first().copied()).unwrap_or(&whole);
    let mut files = patched(said);
    files.extend(changed);
    let does = match name {
        "apply_patch" | "filechange" => Does::Edits,
        "request_user_input" => Does::Asks,
        _ if !files.is_empty() => Does::Edits,
        _ => Does::Other,
    };
    let call =
        Call { id, name, arguments: &whole, does, files: &files, part: 0, malformed: false, brief: said };
    tell(Fact::Called(call));
    tell(Fact::Worked { said: "", once: true });
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

/// Counts as Codex names them; its input includes what was cached.
fn used(counts: &BTreeMap<String, u64>) -> Used {
    let of = |key: &str| counts.get(key).copied().unwrap_or_default();
    let read = of("cached_input_tokens");
    Used {
        input: of("input_tokens").saturating_sub(read),
        read,
        output: of("output_tokens"),
        ..Used::default()
    }
}

/// How Codex answers a call it cannot use.
const MALFORMED: [&str; 3] =
    ["failed to parse function arguments", "unsupported call:", "unsupported custom tool call:"];

/// Tells outputs apart. The head of one states how long the command took so far, and an id of its own: where the command is over, only
/// its exit code counts. Each look at one that runs differs, as it is a wait and no repetition.
fn printed(output: &str) -> u64 {
    let Some(code) = exit_code(output) else { return print(std::iter::once(output)) };
    let whole: Option<Value> = output.starts_with('{').then(|| serde_json::from_str(output).ok()).flatten();
    let of_json = whole.as_ref().and_then(|whole| whole.get("output")?.as_str());
    let behind_head = || output.split_once("\nOutput:").map_or(output, |(_, said)| said);
    print([code.to_string().as_str(), of_json.unwrap_or_else(behind_head)].into_iter())
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
