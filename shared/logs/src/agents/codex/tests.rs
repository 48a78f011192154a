use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::session::testing::{ended, feed, pieces, read, recording, recordings_agree, told};
use crate::session::{MAX_KEPT, MAX_OPEN};
use crate::{Format, LogEnd, Reader};
use base::cause::Cause;

fn new() -> Reader {
    Reader::named("codex", None).with_session()
}

fn of(text: &str) -> Reader {
    read(new(), text).0
}

fn lines(all: &[Value]) -> String {
    all.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

fn rolled(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-11-21T08:21:21.000Z", "type": kind, "payload": payload})
}

fn event(payload: Value) -> Value {
    rolled("event_msg", payload)
}

fn started() -> Value {
    event(json!({"type": "task_started", "model_context_window": 1000}))
}

fn closed(message: &str, info: Value) -> Value {
    event(json!({"type": "task_complete", "error": {"message": message, "codex_error_info": info}}))
}

fn answer(text: &str) -> Value {
    rolled(
        "response_item",
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}),
    )
}

fn call(id: &str) -> Value {
    rolled(
        "response_item",
        json!({"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": id}),
    )
}

fn output(id: &str, text: &str) -> Value {
    rolled("response_item", json!({"type": "function_call_output", "call_id": id, "output": text}))
}

#[test]
fn recordings_are_read_as_expected() {
    recordings_agree("codex", 3);
}

#[test]
fn recordings_end_as_their_names_say() {
    for (file, end) in [
        ("429_turn_failed", Some((Cause::RateLimit, Some(429)))),
        ("sigkill_dangling_call", None),
        ("tools_errors_ok", None),
    ] {
        let reader = of(&recording(&format!("codex/{file}.jsonl")));
        assert_eq!(ended(&reader), end, "{file}");
    }
    let (reader, signals) = read(new(), &recording("codex/tools_errors_ok.jsonl"));
    let causes: Vec<_> = signals.iter().map(|s| (s.kind, s.evidence.cause)).collect();
    let (bad, error) = ((SignalKind::Tool, Cause::MalformedCall), (SignalKind::Tool, Cause::ToolError));
    assert_eq!(causes, [error, bad, bad, bad]);
    assert_eq!(reader.last_words(), ["looking", "all done"]);
}

#[test]
fn failures_have_causes() {
    let status = |class: &str, status: Value| json!({class: {"http_status_code": status}});
    for (info, message, cause) in [
        (
            status("response_too_many_failed_attempts", json!(429)),
            "exceeded retry limit, last status: 429 Too Many Requests",
            Cause::RateLimit,
        ),
        (status("response_too_many_failed_attempts", json!(503)), "exceeded retry limit", Cause::Overloaded),
        (status("responseTooManyFailedAttempts", json!(500)), "exceeded retry limit", Cause::ServerError),
        (Value::Null, "exceeded retry limit, last status: 529 <unknown>", Cause::Overloaded),
        (json!("usage_limit_exceeded"), "You've hit your usage limit. Try again at 9:20 AM.", Cause::Quota),
        (json!("usageLimitExceeded"), "", Cause::Quota),
        (
            Value::Null,
            "You've hit your usage limit. Upgrade to Pro or try again at Nov 24th, 2026 3:39 AM.",
            Cause::Quota,
        ),
        (Value::Null, "Quota exceeded. Check your plan and billing details.", Cause::Quota),
        (
            json!("other"),
            "stream disconnected before completion: Rate limit reached for gpt-5.1 in organization o on tokens per min (TPM): Limit 1",
            Cause::RateLimit,
        ),
        (json!("other"), "rate_limit_exceeded", Cause::RateLimit),
        (
            json!("server_overloaded"),
            "Selected model is at capacity. Please try a different model.",
            Cause::Overloaded,
        ),
        (json!("internal_server_error"), "boom", Cause::ServerError),
        (json!("unauthorized"), "", Cause::Credential),
        (
            Value::Null,
            "unexpected status 401 Unauthorized: Missing bearer, url: http://127.0.0.1:1/v1/responses",
            Cause::Credential,
        ),
        (Value::Null, "unexpected status 404 Not Found: model x does not exist", Cause::ModelMissing),
        (
            json!("other"),
            "Your access token could not be refreshed because your refresh token has expired.",
            Cause::Credential,
        ),
        (
            json!("other"),
            "Your authentication session could not be refreshed automatically. Please log out and sign in again.",
            Cause::Credential,
        ),
        (json!("other"), "Your workspace is out of credits. Add credits to continue.", Cause::Quota),
        (
            status("http_connection_failed", Value::Null),
            "Connection failed: error sending request",
            Cause::ConnectionRefused,
        ),
        (
            status("response_stream_disconnected", Value::Null),
            "stream disconnected before completion: reset",
            Cause::ServerError,
        ),
        (json!("context_window_exceeded"), "Codex ran out of room", Cause::Unknown),
        (json!("bad_request"), "unexpected status 400 Bad Request: messages", Cause::Unknown),
        (json!("other"), "the author wrote 429 lines", Cause::Unknown),
        (json!([1]), "", Cause::Unknown),
    ] {
        let reader = of(&lines(&[started(), closed(message, info.clone())]));
        let LogEnd::Ended(e) = reader.end() else { panic!("{message}") };
        assert_eq!(e.cause, cause, "{info} {message}");
        assert_eq!(reader.session().unwrap()["turn_errors"][0]["codex_error_info"], info);
    }
}

#[test]
fn a_limit_says_when_it_ends() {
    let resets = |all: &[Value]| match of(&lines(all)).end() {
        LogEnd::Ended(e) => e.resets.map(|t| t.to_string()),
        other => panic!("{other:?}"),
    };
    let limit = || closed("You've hit your usage limit.", json!("usage_limit_exceeded"));
    let window = |percent: f64, key: &str, n: i64| {
        event(json!({"type": "token_count", "info": null, "rate_limits":
            {"primary": {"used_percent": percent, "window_minutes": 300, key: n}, "secondary": null}}))
    };
    let words = closed("Rate limit reached for x on TPM. Please try again in 11.054s.", json!("other"));
    assert_eq!(resets(&[started(), words]).as_deref(), Some("2026-11-21T08:21:33Z"));
    assert_eq!(resets(&[started(), limit()]), None);
    let at = |percent, key, n| resets(&[started(), window(percent, key, n), limit()]);
    assert_eq!(at(100.0, "resets_at", 1_795_252_800).as_deref(), Some("2026-11-21T09:20:00Z"));
    assert_eq!(at(100.0, "resets_in_seconds", 60).as_deref(), Some("2026-11-21T08:22:21Z"));
    assert_eq!(at(99.0, "resets_at", 1_795_252_800), None, "another window is used up");
    assert_eq!(at(100.0, "resets_at", 1_700_000_000), None);
    assert_eq!(at(100.0, "resets_at", 1_900_000_000), None);
}

#[test]
fn a_turn_is_an_attempt() {
    let failed = || closed("exceeded retry limit, last status: 429 Too Many Requests", Value::Null);
    let all = [started(), failed(), started(), answer("well"), failed(), answer("so it goes on")];
    let ends: Vec<bool> = (1..=6).map(|n| ended(&of(&lines(&all[..n]))).is_some()).collect();
    assert_eq!(ends, [false, true, false, false, true, false]);
    let reader = of(&lines(&all));
    assert_eq!(reader.attempt(), lines(&all[..2]).len() as u64);
    // Older versions have no turns, only what the user said.
    let user = || event(json!({"type": "user_message", "message": "go"}));
    let old = [
        user(),
        event(json!({"type": "error", "message": "exceeded retry limit, last status: 503"})),
        user(),
    ];
    assert_eq!(ended(&of(&lines(&old[..2]))), Some((Cause::Overloaded, Some(503))));
    assert_eq!(ended(&of(&lines(&old))), None);
    let new = [started(), failed(), user()];
    assert_eq!(of(&lines(&new)).attempt(), 0);
}

#[test]
fn a_failure_told_twice_is_one() {
    let message = "exceeded retry limit, last status: 429 Too Many Requests";
    let all = [started(), event(json!({"type": "error", "message": message})), closed(message, Value::Null)];
    let (reader, signals) = read(new(), &lines(&all));
    let errors = reader.session().unwrap()["turn_errors"].as_array().unwrap().len();
    assert_eq!((signals.len(), errors), (1, 1));
    // A turn that closes without an error of its own behind one does not make it well.
    let all = [
        started(),
        event(json!({"type": "error", "message": message})),
        event(json!({"type": "task_complete"})),
    ];
    assert!(ended(&of(&lines(&all))).is_some());
}

#[test]
fn stdout() {
    let begin = || [json!({"type": "thread.started", "thread_id": "th1"}), json!({"type": "turn.started"})];
    let again = json!({"type": "error", "message": "Reconnecting... 1/5 (unexpected status 503 Service Unavailable: busy, url: http://127.0.0.1:9/v1/responses)"});
    let message = "exceeded retry limit, last status: 503 Service Unavailable";
    let error = json!({"type": "error", "message": message});
    let failed = json!({"type": "turn.failed", "error": {"message": message}});
    let all: Vec<Value> = begin().into_iter().chain([again.clone(), error, failed]).collect();
    let (reader, signals) = read(new(), &lines(&all));
    let kinds: Vec<_> = signals.iter().map(|s| (s.kind, s.evidence.cause, s.evidence.http)).collect();
    let busy = |kind| (kind, Cause::Overloaded, Some(503));
    assert_eq!(kinds, [busy(SignalKind::Retry), busy(SignalKind::Terminal)]);
    assert_eq!(signals[0].evidence.endpoint_host.as_deref(), Some("127.0.0.1:9"));
    assert!(ended(&reader).is_some());
    let told_of = told(&reader, &["session_id", "turns_started", "turns_completed"]);
    assert_eq!(told_of, json!(["th1", 1, 1]));

    let item = |kind: &str, code: i64| {
        json!({"type": "item.completed", "item": {"id": "item_1", "type": kind, "command": "x", "status": "completed",
            "exit_code": code, "aggregated_output": "429", "text": "hello"}})
    };
    let done = json!({"type": "turn.completed", "usage": {"input_tokens": 7, "cached_input_tokens": 3, "output_tokens": 2}});
    let all: Vec<Value> = begin()
        .into_iter()
        .chain([again, item("command_execution", 2), item("error", 0), item("agent_message", 0), done])
        .collect();
    let (reader, signals) = read(new(), &lines(&all));
    assert_eq!(signals.iter().map(|s| s.kind).collect::<Vec<_>>(), [SignalKind::Retry, SignalKind::Tool]);
    assert_eq!((ended(&reader), reader.last_words()), (None, vec!["hello".to_owned()]));
    assert_eq!(told(&reader, &["tool_calls", "tool_errors", "dangling"]), json!([1, 1, 0]));
    assert_eq!(reader.session().unwrap()["total_usage"]["input_tokens"], 7);
}

#[test]
fn tool_failures_are_counted_once_and_end_nothing() {
    let item = |id: &str, status: &str, code: i64| {
        event(
            json!({"type": "item_completed", "item": {"type": "CommandExecution", "id": id, "status": status, "exit_code": code}}),
        )
    };
    let all = [
        started(),
        call("a"),
        item("a", "failed", 2),
        output("a", "Process exited with code 2\nOutput:\n"),
        call("b"),
        output("b", "Chunk ID: 1\nProcess exited with code 1\nOutput:\nx"),
        item("b", "failed", 1),
        call("c"),
        output(
            "c",
            "Wall time: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 9\nHTTP 429",
        ),
        item("c", "completed", 0),
        call("running"),
        output(
            "running",
            "Wall time: 1\nProcess running with session ID 7\nOutput:\nProcess exited with code 9",
        ),
        call("d"),
        output("d", "{\"output\":\"x\",\"metadata\":{\"exit_code\":1}}"),
        call("e"),
        output("e", "Exit code: 1\nWall time: 0\nOutput:\nx"),
        call("f"),
        output("f", "failed to parse function arguments: EOF"),
        call("g"),
        output("g", "{\"some\": \"json\"}"),
        call("h"),
    ];
    let (reader, signals) = read(new(), &lines(&all));
    let counts = told(&reader, &["tool_calls", "tool_errors", "malformed", "dangling"]);
    assert_eq!(counts, json!([9, 5, 1, 1]));
    assert_eq!((signals.len(), ended(&reader)), (5, None));
}

#[test]
fn broken_and_odd_lines() {
    let mut text = lines(&[started(), closed("x", Value::Null)]);
    text += "{\"type\":\"event_msg\",\"payl\n[]\n\n7\n";
    text += &lines(&[
        json!({"type": "event_msg", "payload": "text"}),
        json!({"type": ["odd"], "payload": []}),
        rolled("made_up", json!({})),
        event(json!({"type": "token_count", "info": null, "rate_limits": null})),
        rolled("world_state", json!({"state": "429"})),
    ]);
    let reader = of(&text);
    assert_eq!(told(&reader, &["lines", "unparseable"]), json!([10, 3]));
    assert_eq!(ended(&reader), Some((Cause::Unknown, None)));
    assert_eq!(told(&reader, &["total_usage"]), json!([null]));
}

#[test]
fn the_state_is_bounded() {
    let mut reader = new();
    let long = "x".repeat(5_000);
    for i in 0..600 {
        let id = format!("{i}-{}", "y".repeat(600));
        let all = [
            started(),
            rolled("turn_context", json!({"cwd": long, "model": long})),
            call(&id),
            call(&format!("b{id}")),
            output(&id, "failed to parse function arguments"),
            answer(&long),
            closed(&format!("{i}{long}"), json!({long.as_str(): long})),
            rolled("compacted", json!({})),
        ];
        feed(&mut reader, &lines(&all));
    }
    let json = serde_json::to_string(&reader).unwrap();
    assert!(json.len() < 500_000, "{}", json.len());
    let errors = reader.session().unwrap()["turn_errors"].as_array().unwrap().len();
    assert_eq!(told(&reader, &["dangling", "compactions"]), json!([MAX_OPEN - 1, 600]));
    assert_eq!(errors, MAX_KEPT);
}

#[test]
fn a_fraction_is_kept_to_its_last_digit() {
    // As written it is another number than its shortest form read without care.
    let log = lines(&[started(), closed("x", json!({"a": {"b": 4.777_777_000_000_000_6e76}})), answer("y")]);
    pieces(new(), &log);
}

proptest! {
    #[test]
    fn any_change_to_a_recording_is_survived(place in 0.0..1.0_f64, bytes in "[\"{}\\[\\],:0a\n]{0,3}", cut in 0..40_usize) {
        let text = recording("codex/tools_errors_ok.jsonl");
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let at = (text.len() as f64 * place) as usize;
        prop_assume!(text.is_char_boundary(at) && text.is_char_boundary((at + cut).min(text.len())));
        let changed = format!("{}{bytes}{}", &text[..at], &text[(at + cut).min(text.len())..]);
        pieces(new(), &changed);
    }
}
