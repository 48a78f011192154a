//! What one line of Codex says that the agent did.

use std::collections::BTreeMap;

use serde_json::Value;

use super::is_stdout_tool;
use super::line::{Item, Payload, Raw, counts, is_failure, text};
use super::tally::{has_failed, is_malformed};
use crate::logs::acts::{Act, Call, Does, Stop, brief, patched, print};
use crate::logs::claude::Used;
use crate::logs::session::Obj;

/// What is told, and whether a subagent is told of, which it never is.
type Tell<'t> = dyn FnMut(bool, Act<'_>) + 't;

/// Tells what a line says. A line that cannot be read says nothing.
pub(in crate::logs) fn acts(text: &str, tell: &mut Tell<'_>) {
    let Ok(Obj(Some(raw))) = serde_json::from_str::<Obj<Raw<'_>>>(text) else { return };
    let mut tell = |act: Act<'_>| tell(false, act);
    match (raw.kind.or_empty(), &raw.payload.0) {
        ("session_meta", Some(p)) => tell(Act::Session { id: p.id.get(), cwd: p.cwd.get() }),
        ("turn_context", Some(p)) => {
            tell(Act::Session { id: None, cwd: p.cwd.get() });
            tell(Act::Model { name: p.model.get(), window: None });
        }
        ("event_msg", Some(p)) => event(p, &mut tell),
        ("response_item", Some(p)) => response(p, &mut tell),
        ("compacted", _) => tell(Act::Compacted),
        ("token_usage_record", Some(p)) => {
            if let Some(total) = counts(p.thread_token_usage.as_ref()) {
                tell(Act::Total { total: used(&total), last: None });
            }
        }
        (_, None) => stdout(&raw, &mut tell),
        _ => {}
    }
}

fn event(payload: &Payload<'_>, tell: &mut dyn FnMut(Act<'_>)) {
    match payload.kind.or_empty() {
        "task_started" | "turn_started" => {
            tell(Act::Model { name: None, window: payload.window.0 });
            tell(Act::Asked);
        }
        "user_message" => tell(Act::Asked),
        "task_complete" | "turn_complete" | "turn_aborted" => tell(Act::Over),
        "token_count" => {
            let Some(info) = &payload.info.0 else { return };
            tell(Act::Model { name: None, window: info.window.0 });
            if let Some(total) = counts(info.total.as_ref()) {
                let last = counts(info.last.as_ref()).map(|last| used(&last));
                tell(Act::Total { total: used(&total), last });
            }
        }
        "item_completed" => {
            if let Some(item) = payload.item.0.as_ref().filter(|i| is_stdout_tool(i) && i.has_failed()) {
                tell(Act::Failed { id: item.id.or_empty() });
            }
        }
        "exec_command_end" if is_failure(payload.exit_code.as_ref()) => {
            tell(Act::Failed { id: payload.call_id.or_empty() });
        }
        _ => {}
    }
}

fn response(payload: &Payload<'_>, tell: &mut dyn FnMut(Act<'_>)) {
    let id = payload.call_id.get().or(payload.id.get()).unwrap_or_default();
    match payload.kind.or_empty() {
        "message" if payload.role.get() == Some("assistant") => {
            tell(Act::Spoke { call: "", stop: Stop::ForTools });
        }
        "function_call" | "custom_tool_call" | "local_shell_call" => {
            let given = payload.arguments.as_ref().or(payload.input.as_ref()).or(payload.action.as_ref());
            called(id, payload.name.or_empty(), given, tell);
        }
        "function_call_output" | "custom_tool_call_output" => {
            let output = text(&payload.output);
            let malformed = is_malformed(&output);
            let failed = malformed || has_failed(&output);
            tell(Act::Answered { id, failed, malformed, print: print(std::iter::once(output.as_str())) });
        }
        _ => {}
    }
}

/// Stdout of `codex exec --json`.
fn stdout(raw: &Raw<'_>, tell: &mut dyn FnMut(Act<'_>)) {
    let item = raw.item.0.as_ref().filter(|i| is_stdout_tool(i));
    match (raw.kind.or_empty(), item) {
        ("thread.started", _) => tell(Act::Session { id: raw.thread_id.get(), cwd: None }),
        ("turn.started", _) => tell(Act::Asked),
        ("turn.completed", _) => {
            if let Some(total) = counts(raw.usage.as_ref()) {
                tell(Act::Total { total: used(&total), last: Some(used(&total)) });
            }
            tell(Act::Over);
        }
        ("turn.failed", _) => tell(Act::Over),
        ("item.started", Some(item)) => stdout_tool(item, tell),
        ("item.completed", Some(item)) => {
            // Short ones are only told of when they are over.
            stdout_tool(item, tell);
            let print = print(item.output.get().into_iter());
            let (id, failed) = (item.id.or_empty(), item.has_failed());
            tell(Act::Answered { id, failed, malformed: false, print });
        }
        _ => {}
    }
}

fn stdout_tool(item: &Item<'_>, tell: &mut dyn FnMut(Act<'_>)) {
    let name = item.tool.get().map_or_else(|| item.name(), str::to_owned);
    called(item.id.or_empty(), &name, item.command.as_ref().or(item.arguments.as_ref()), tell);
}

fn called(id: &str, name: &str, given: Option<&Value>, tell: &mut dyn FnMut(Act<'_>)) {
    let whole = match given {
        Some(Value::String(text)) => text.clone(),
        other => other.unwrap_or(&Value::Null).to_string(),
    };
    // Arguments are a text of JSON, a patch or a script is not.
    let inner: Value = serde_json::from_str(&whole).unwrap_or_default();
    let said = brief(&inner).unwrap_or(&whole);
    let files = patched(said);
    let does = match name {
        "apply_patch" | "filechange" => Does::Edits,
        "request_user_input" => Does::Asks,
        _ if !files.is_empty() => Does::Edits,
        _ => Does::Other,
    };
    let call = Call { id, name, arguments: &whole, does, files: &files, malformed: false, brief: said };
    tell(Act::Called(call));
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
