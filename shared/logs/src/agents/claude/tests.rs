use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::session::testing::{SEEN, ended, feed, pieces, read, recording, recordings_agree, told};
use crate::session::{MAX_FILES, MAX_KEPT, MAX_OPEN, Millis};
use crate::signal::MAX_WORDS;
use crate::{Format, LogEnd, Reader};

fn new() -> Reader {
    Reader::named("claude", None).with_session()
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

fn prompt(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}, "timestamp": "2026-11-21T08:00:00.000Z"})
}

fn says(id: &str, text: &str) -> Value {
    json!({"type": "assistant", "message": {"id": id, "model": "claude-opus-4-8", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1, "output_tokens": 1}}})
}

fn calls(id: &str, tool: &str, input: Value) -> Value {
    json!({"type": "assistant", "message": {"id": format!("m{id}"), "model": "claude-opus-4-8", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}})
}

fn result(id: &str, text: &str, is_error: Option<bool>) -> Value {
    json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": text,
        "is_error": is_error}]}})
}

fn fails(status: Option<u16>, word: &str, text: &str) -> Value {
    json!({"type": "assistant", "isApiErrorMessage": true, "apiErrorStatus": status, "error": word,
        "timestamp": "2026-11-21T08:21:21.000Z",
        "message": {"model": "<synthetic>", "stop_reason": "stop_sequence", "content": [{"type": "text", "text": text}]}})
}

#[test]
fn recordings_are_read_as_expected() {
    recordings_agree("claude", 9);
}

#[test]
fn recordings_end_as_their_names_say() {
    for (file, end) in [
        ("api_429_exhausted", Some((Cause::RateLimit, Some(429)))),
        ("api_529_exhausted", Some((Cause::Overloaded, Some(529)))),
        ("auth_401", Some((Cause::Credential, Some(401)))),
        ("connection_refused", Some((Cause::ConnectionRefused, None))),
        ("prompt_too_long_400", Some((Cause::Unknown, Some(400)))),
        ("sigkill_dangling_tool", None),
        ("sigterm_during_tool", None),
        ("stream_cut_midmessage", None),
        ("tools_errors_then_compact_resume", None),
    ] {
        let text = recording(&format!("claude/{file}.jsonl"));
        let reader = of(&text);
        assert_eq!(ended(&reader), end, "{file}");
        if let LogEnd::Ended(e) = reader.end() {
            let line = text[usize::try_from(e.offset).unwrap()..].lines().next().unwrap();
            assert!(line.contains("isApiErrorMessage"), "{file}: {line}");
            assert!(!e.words.is_empty() && e.words.len() <= MAX_WORDS);
            assert_eq!(e.attempt, reader.attempt());
        }
    }
    let text = recording("claude/api_529_exhausted.jsonl");
    let LogEnd::Ended(e) = of(&text).end() else { panic!() };
    assert_eq!(e.endpoint_host.as_deref(), Some("127.0.0.1:18992"));
    assert_eq!(e.at, Some(Millis::parse("2026-11-21T08:07:04.379Z").unwrap().time()));
}

#[test]
fn attempts_of_a_resumed_session() {
    let text = recording("claude/tools_errors_then_compact_resume.jsonl");
    let starts: Vec<usize> = text.match_indices('\n').map(|(i, _)| i + 1).collect();
    let mut seen = Vec::new();
    for end in &starts {
        let at = of(&text[..*end]).attempt();
        if seen.last() != Some(&at) {
            seen.push(at);
        }
    }
    let nth = |line: usize| starts[line - 1] as u64;
    // The first prompt, the person's `/compact`, and the start of the process that went on.
    assert_eq!(seen, [0, nth(30), nth(38)]);
    assert_eq!(of(&text).last_words(), ["after"]);
}

#[test]
fn tool_failures_are_told_but_end_nothing() {
    let (reader, signals) = read(new(), &recording("claude/tools_errors_then_compact_resume.jsonl"));
    let causes: Vec<_> = signals.iter().map(|s| (s.kind, s.evidence.cause)).collect();
    let (bad, error) = ((SignalKind::Tool, Cause::MalformedCall), (SignalKind::Tool, Cause::ToolError));
    assert_eq!(causes, [error, bad, bad, bad, error, error]);
    assert_eq!(ended(&reader), None);
}

#[test]
fn failures_have_causes() {
    for (status, word, text, cause) in [
        (
            Some(429),
            "rate_limit",
            "API Error: Request rejected (429) · This request would exceed your account's rate limit",
            Cause::RateLimit,
        ),
        (
            Some(429),
            "rate_limit",
            "You've hit your session limit · resets 9:50pm (Europe/Berlin)",
            Cause::Quota,
        ),
        (Some(429), "rate_limit", "You've hit your limit · resets 3am (UTC)", Cause::Quota),
        (Some(429), "rate_limit", "5-hour limit reached ∙ resets 2am", Cause::Quota),
        (None, "rate_limit", "Claude AI usage limit reached|1795252800", Cause::Quota),
        (None, "rate_limit", "API Error: Rate limit reached", Cause::RateLimit),
        (
            Some(529),
            "server_error",
            "API Error: 529 Overloaded. This is a server-side issue",
            Cause::Overloaded,
        ),
        (Some(503), "server_error", "API Error: 503", Cause::Overloaded),
        (None, "server_error", "API Error: 529 Overloaded", Cause::Overloaded),
        (None, "overloaded", "Overloaded", Cause::Overloaded),
        (Some(500), "server_error", "API Error: 500 boom", Cause::ServerError),
        (
            None,
            "server_error",
            "API Error: Unable to connect to API (ConnectionRefused)",
            Cause::ConnectionRefused,
        ),
        (None, "server_error", "API Error: Unable to connect to API (ECONNRESET)", Cause::ConnectionRefused),
        (None, "server_error", "API Error: Request timed out.", Cause::ServerError),
        (None, "server_error", "API Error: something", Cause::ServerError),
        (Some(401), "authentication_failed", "Invalid API key · Fix external API key", Cause::Credential),
        (None, "authentication_failed", "Not logged in · Please run /login", Cause::Credential),
        (None, "unknown", "Invalid API key · Please run /login", Cause::Credential),
        (
            None,
            "unknown",
            "Your organization does not have access to Claude. Please login again or contact your administrator.",
            Cause::Credential,
        ),
        (Some(403), "unknown", "API Error: 403 forbidden", Cause::Credential),
        (Some(401), "unknown", "You've hit your limit", Cause::Credential),
        (
            Some(400),
            "invalid_request",
            "Prompt is too long · the request is ~215000 tokens (limit 200000)",
            Cause::Unknown,
        ),
        (Some(400), "billing_error", "Credit balance is too low", Cause::Quota),
        (None, "billing_error", "Credit balance is too low", Cause::Quota),
        (
            Some(404),
            "invalid_request",
            "There's an issue with the selected model (nope)",
            Cause::ModelMissing,
        ),
        (Some(413), "invalid_request", "Request too large: connection refused", Cause::Unknown),
        (None, "max_output_tokens", "API Error: exceeded the 32000 output token maximum", Cause::Unknown),
        (None, "unknown", "something else", Cause::Unknown),
    ] {
        let reader = of(&lines(&[prompt("go"), fails(status, word, text)]));
        let LogEnd::Ended(e) = reader.end() else { panic!("{text}") };
        assert_eq!(e.cause, cause, "{status:?} {word} {text}");
        assert!(status.is_none() || e.http == status);
    }
}

#[test]
fn a_limit_says_when_it_ends() {
    let end = |text: &str| match of(&lines(&[fails(Some(429), "rate_limit", text)])).end() {
        LogEnd::Ended(e) => e.resets.map(|t| t.to_string()),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        end("You've hit your session limit · resets 9:50pm (Europe/Berlin)").as_deref(),
        Some("2026-11-21T20:50:00Z")
    );
    assert_eq!(end("API Error: Request rejected (429) · try again later"), None);
}

#[test]
fn success_after_a_failure_clears_it_and_a_prompt_starts_anew() {
    let failed = || fails(Some(529), "server_error", "API Error: 529 Overloaded");
    let all = [prompt("go"), failed(), says("m1", "well"), failed()];
    let ends: Vec<bool> = (1..=4).map(|n| ended(&of(&lines(&all[..n]))).is_some()).collect();
    assert_eq!(ends, [false, true, false, true]);
    let again = of(&lines(&[prompt("go"), failed(), prompt("again")]));
    assert_eq!(ended(&again), None);
    assert!(again.attempt() > 0);
    // Its own words in the model's place are no success, and no failure.
    let own = json!({"type": "assistant", "isApiErrorMessage": false, "error": "rate_limit",
        "message": {"model": "<synthetic>", "content": [{"type": "text", "text": "No response requested."}]}});
    assert_eq!(ended(&of(&lines(&[failed(), own.clone()]))), Some((Cause::Overloaded, Some(529))));
    assert_eq!(ended(&of(&lines(&[own]))), None);
}

#[test]
fn what_starts_no_attempt() {
    let failed = fails(Some(529), "server_error", "x");
    let mut summary = prompt("This session is being continued");
    summary["isCompactSummary"] = json!(true);
    summary["promptId"] = json!("new");
    let mut meta = prompt("Continue from where you left off.");
    meta["isMeta"] = json!(true);
    let mut side = prompt("look for it");
    side["isSidechain"] = json!(true);
    let mut tool = result("t", "429", Some(true));
    tool["promptId"] = json!("new");
    for line in [
        summary,
        meta,
        side,
        tool,
        prompt("<local-command-stdout>x</local-command-stdout>"),
        prompt("[Request interrupted by user]"),
        json!({"type": "user", "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}}),
        json!({"type": "queue-operation", "operation": "enqueue", "content": "go"}),
        json!({"type": "last-prompt", "lastPrompt": "go"}),
        json!({"type": "made-up"}),
        json!({"type": ["odd"], "message": 7}),
    ] {
        let reader = of(&lines(&[prompt("go"), failed.clone(), line.clone()]));
        assert_eq!((reader.attempt(), ended(&reader).is_some()), (0, true), "{line}");
    }
}

#[test]
fn a_tools_output_is_no_evidence() {
    let text = "API Error: 429 rate_limit_error\n<tool_use_error>InputValidationError 503";
    let all =
        [prompt("go"), calls("t1", "Bash", json!({"command": "curl"})), result("t1", text, Some(false))];
    let (reader, signals) = read(new(), &lines(&all));
    assert_eq!((ended(&reader), signals.len()), (None, 0));
    assert_eq!(told(&reader, &["tool_errors", "malformed"]), json!([0, 0]));
    let cat = [prompt("go"), result("t2", "<tool_use_error>InputValidationError in a file", Some(false))];
    let (reader, signals) = read(new(), &lines(&cat));
    assert_eq!((signals.len(), told(&reader, &["malformed"])), (0, json!([0])));
    let says_so = of(&lines(&[prompt("go"), says("m", "API Error: 529 Overloaded")]));
    assert_eq!(ended(&says_so), None, "the model may write what it likes");
}

#[test]
fn stdout() {
    let init = json!({"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/w", "model": "claude-opus-4-8"});
    let retry = json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "retry_delay_ms": 500,
        "error_status": 529, "error": "overloaded", "session_id": "s1"});
    let mut failed = json!({"type": "assistant", "error": "rate_limit", "parent_tool_use_id": null,
        "message": {"id": "x", "model": "<synthetic>", "stop_reason": "stop_sequence",
            "content": [{"type": "text", "text": "You've hit your session limit · resets 10am (UTC)"}]}});
    let bad = json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": 429,
        "result": "You've hit your session limit · resets 10am (UTC)"});
    let good = json!({"type": "result", "subtype": "success", "is_error": false, "result": "429"});
    let (reader, signals) = read(new(), &lines(&[init.clone(), retry, failed.clone(), bad.clone()]));
    assert_eq!(ended(&reader), Some((Cause::Quota, None)));
    let kinds: Vec<_> = signals.iter().map(|s| (s.kind, s.evidence.cause)).collect();
    assert_eq!(kinds, [(SignalKind::Retry, Cause::Overloaded), (SignalKind::Terminal, Cause::Quota)]);
    assert_eq!(signals[0].evidence.at, Some(SEEN), "stdout states no times");
    assert_eq!(told(&reader, &["session_id", "cwd", "clean_end"]), json!(["s1", "/w", true]));
    assert_eq!(reader.session().unwrap()["api_errors"], json!([{"status": null, "error": "rate_limit"}]));

    // The closing line alone.
    let alone = of(&lines(&[init.clone(), bad]));
    assert_eq!(ended(&alone), Some((Cause::Quota, Some(429))));
    for (subtype, cause) in
        [("error_max_turns", Cause::IterationBudget), ("error_during_execution", Cause::Unknown)]
    {
        let line = json!({"type": "result", "subtype": subtype, "is_error": false});
        assert_eq!(ended(&of(&lines(&[init.clone(), says("m", "hi"), line]))), Some((cause, None)));
    }
    assert_eq!(ended(&of(&lines(&[init.clone(), failed.clone(), good]))), None);
    // Where a subagent fails, the agent itself goes on.
    failed["parent_tool_use_id"] = json!("toolu_1");
    let main = of(&lines(&[init.clone(), says("m", "hi"), failed]));
    assert_eq!((ended(&main), told(&main, &["last_stop_reason"])), (None, json!(["end_turn"])));
    // A prompt that is repeated behind the start is the same attempt; a second start is a new one.
    let twice = lines(&[init.clone(), prompt("go"), says("m", "one"), init, prompt("on"), says("n", "two")]);
    let at = twice.match_indices("{\"cwd\"").nth(1).unwrap().0 as u64;
    assert_eq!((of(&twice).attempt(), of(&twice).last_words()), (at, vec!["two".to_owned()]));
}

#[test]
fn retries_in_transcripts() {
    let line = json!({"type": "system", "subtype": "api_error", "level": "error", "retryAttempt": 1,
        "error": {"status": 503, "message": "Service unavailable", "headers": {}}});
    let (reader, signals) = read(new(), &lines(&[prompt("go"), line]));
    assert_eq!(signals.len(), 1);
    let e = &signals[0].evidence;
    assert_eq!((signals[0].kind, e.cause, e.http), (SignalKind::Retry, Cause::Overloaded, Some(503)));
    assert_eq!((e.words.as_str(), ended(&reader)), ("Service unavailable", None));
}

#[test]
fn a_subagents_own_file_is_read_like_a_session() {
    let side = |mut line: Value| {
        line["isSidechain"] = json!(true);
        line["agentId"] = json!("a1");
        line
    };
    let failed = side(fails(Some(529), "server_error", "x"));
    let reader = of(&lines(&[side(prompt("go")), failed.clone()]));
    assert_eq!(ended(&reader), Some((Cause::Overloaded, Some(529))));
    let inline = of(&lines(&[prompt("go"), side(says("m", "found")), failed]));
    assert_eq!(ended(&inline), None);
    assert_eq!(told(&inline, &["api_calls", "context_tokens", "last_type"]), json!([1, 0, "user"]));
}

#[test]
fn broken_lines_are_counted_and_skipped() {
    let mut text = lines(&[prompt("go"), fails(Some(529), "server_error", "x")]);
    text += "{\"type\":\"assistant\",\"mess\nplain words\n[1,2]\n\n42\n";
    let reader = of(&text);
    assert_eq!(told(&reader, &["lines", "unparseable"]), json!([6, 4]));
    assert!(ended(&reader).is_some());
    let deep = "[".repeat(100_000);
    assert_eq!(told(&of(&deep), &["unparseable"]), json!([1]));
}

#[test]
fn tokens_of_a_call_are_counted_once() {
    let line = |id: Option<&str>, request: Option<&str>, output: u64| {
        json!({"type": "assistant", "requestId": request, "message": {"id": id, "model": "claude-opus-4-8[1m]",
            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30,
                "output_tokens": output, "cache_creation": {"ephemeral_1h_input_tokens": 20}}}})
    };
    let all = [
        line(Some("a"), None, 1),
        line(Some("b"), None, 7),
        line(Some("a"), None, 50),
        line(None, Some("r"), 3),
        line(None, Some("r"), 2),
        line(None, None, 4),
        line(None, None, 4),
    ];
    let reader = of(&lines(&all));
    assert_eq!(told(&reader, &["api_calls", "output", "input"]), json!([5, 50 + 7 + 3 + 4 + 4, 50]));
    assert_eq!(told(&reader, &["naive_input_tokens", "truncated_calls"]), json!([7 * 60, 5]));
    assert_eq!(told(&reader, &["context_tokens", "context_pct"]), json!([60, 0.01]));
    let cost = 5.0 * (10.0 * 5.0 + 20.0 * 10.0 + 30.0 * 0.5) + 68.0 * 25.0;
    let told = reader.session().unwrap()["cost_usd"].as_f64().unwrap();
    assert!((told * 1e6 - cost).abs() < 1e-6, "{told} {cost}");
}

#[test]
fn files_runs_and_dangling_calls() {
    let all = [
        calls("1", "Read", json!({"file_path": "/a"})),
        calls("2", "Read", json!({"file_path": "/a"})),
        calls("3", "Edit", json!({"file_path": "/a", "old_string": "x"})),
        calls("4", "Read", json!({"file_path": "/a"})),
        calls("5", "NotebookEdit", json!({"notebook_path": "/n"})),
        calls("6", "Bash", json!({"command": "x", "b": 1})),
        calls("7", "Bash", json!({"b": 1, "command": "x"})),
        calls("8", "Bash", json!({"b": 1, "command": "x"})),
        calls("8", "Bash", json!({"b": 1, "command": "x"})),
        result("1", "ok", None),
        result("9", "gone", Some(true)),
        calls("10", "Bash", json!("no object")),
    ];
    let reader = of(&lines(&all));
    assert_eq!(told(&reader, &["edited", "reads_since_edit"]), json!([{"/a": 1, "/n": 1}, {"/a": 1}]));
    let counts = told(&reader, &["max_identical_run", "tool_calls", "dangling_tool_use"]);
    assert_eq!(counts, json!([3, 9, 8]));
}

#[test]
fn the_end_of_a_session() {
    let last = || json!({"type": "last-prompt", "lastPrompt": "go"});
    let mode = || json!({"type": "mode", "mode": "normal"});
    let queue = || json!({"type": "queue-operation", "timestamp": "2026-11-21T08:00:00Z"});
    for (all, clean) in [
        (vec![prompt("go"), last()], true),
        (vec![prompt("go"), last(), mode()], true),
        (vec![prompt("go"), last(), queue()], false),
        (vec![prompt("go"), last(), prompt("on")], false),
        (vec![prompt("go")], false),
    ] {
        assert_eq!(told(&of(&lines(&all)), &["clean_end"]), json!([clean]), "{all:?}");
    }
    assert_eq!(told(&of(&(lines(&[last()]) + "{torn")), &["clean_end"]), json!([false]));
}

/// Whatever is written, the state stays small enough to be kept for every log of a board.
#[test]
fn the_state_is_bounded() {
    let mut reader = new();
    let long = "x".repeat(5_000);
    for i in 0..600 {
        let id = format!("{i}-{}", "y".repeat(600));
        let all = [
            calls(&id, "Edit", json!({"file_path": format!("/{id}")})),
            calls(&format!("r{id}"), "Read", json!({"file_path": format!("/r{id}")})),
            says(&id, &long),
            fails(Some(529), &long, &long),
            json!({"type": "system", "subtype": "compact_boundary", "cwd": long, "sessionId": long,
                "compactMetadata": {"preTokens": i}}),
        ];
        feed(&mut reader, &lines(&all));
    }
    let json = serde_json::to_string(&reader).unwrap();
    assert!(json.len() < 900_000, "{}", json.len());
    let s = reader.session().unwrap();
    assert_eq!(s["edited"].as_object().unwrap().len(), MAX_FILES);
    let kept = |field: &str| s[field].as_array().unwrap().len();
    assert_eq!((kept("compact_pre_tokens"), kept("api_errors")), (MAX_KEPT, MAX_KEPT));
    let counts = told(&reader, &["dangling_tool_use", "compactions", "tool_calls", "api_calls"]);
    assert_eq!(counts, json!([MAX_OPEN, 600, 1_200, 1_800]));
}

#[test]
fn a_line_of_megabytes() {
    let big = "é".repeat(2_000_000);
    let all = [
        prompt("go"),
        calls("1", "Write", json!({"file_path": "/a", "content": big})),
        result("1", &big, None),
    ];
    let counts = told(&of(&lines(&all)), &["tool_calls", "dangling_tool_use", "unparseable"]);
    assert_eq!(counts, json!([1, 0, 0]));
}

proptest! {
    #[test]
    fn any_change_to_a_recording_is_survived(
        file in prop::sample::select(vec!["api_429_exhausted", "tools_errors_then_compact_resume"]),
        place in 0.0..1.0_f64, bytes in "[\"{}\\[\\],:0a\n]{0,3}", cut in 0..40_usize,
    ) {
        let text = recording(&format!("claude/{file}.jsonl"));
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let mut at = (text.len() as f64 * place) as usize;
        while !text.is_char_boundary(at) { at -= 1; }
        let mut end = (at + cut).min(text.len());
        while !text.is_char_boundary(end) { end -= 1; }
        let changed = format!("{}{bytes}{}", &text[..at], &text[end.max(at)..]);
        let whole = of(&changed);
        let broken = told(&whole, &["unparseable"])[0].as_u64().unwrap();
        prop_assert!(broken <= 4, "{broken}");
        pieces(new(), &changed);
    }
}
