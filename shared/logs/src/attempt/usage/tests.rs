use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::agents::Homes;
use crate::session::Prices;
use crate::session::testing::{expected, recording};
use crate::usage::{Reread, Tokens, scan, window};
use base::money::Money;
use base::time::Time;
use config::{Config, PriceKeys};

mod hermes;
mod opencode;

pub(super) const NOW: Time = Time(4_000_000_000);

/// An attempt that covers everything there is.
pub(crate) fn ask<'a>(named: Option<&'a Path>, prices: &'a Prices) -> UsageAsk<'a> {
    UsageAsk {
        task: "t_1",
        profile: None,
        root: None,
        worker_log: None,
        output: None,
        named,
        workspace: None,
        homes: Homes::NONE,
        held: &[],
        began: Time(0),
        from: Time(0),
        to: None,
        next: None,
        now: NOW,
        prices,
    }
}

/// The usage in a named file within these times.
#[track_caller]
fn within(path: &Path, from: &str, to: Option<&str>) -> Usage {
    let time = |t: &str| Time::parse(t).unwrap();
    let prices = Prices::default();
    let ask = UsageAsk { from: time(from), to: to.map(time), ..ask(Some(path), &prices) };
    read(&ask, &mut Cache::in_memory())
}

fn of(path: &Path) -> Usage {
    read(&ask(Some(path), &Prices::default()), &mut Cache::in_memory())
}

/// A text as a log, with whatever else lies in its folder.
struct Desk {
    dir: tempfile::TempDir,
    cache: Cache,
}

impl Desk {
    fn new() -> Desk {
        Desk { dir: tempfile::tempdir().unwrap(), cache: Cache::in_memory() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn append(&self, name: &str, text: impl AsRef<[u8]>) {
        OpenOptions::new().append(true).open(self.path(name)).unwrap().write_all(text.as_ref()).unwrap();
    }

    fn read(&mut self, name: &str) -> Usage {
        let path = self.path(name);
        read(&ask(Some(&path), &Prices::default()), &mut self.cache)
    }
}

fn lines(all: &[Value]) -> String {
    all.iter().map(|l| format!("{l}\n")).collect()
}

fn cents(usage: &Usage) -> Option<String> {
    usage.cost.map(|m| m.to_string())
}

fn says(usage: &Usage, what: &str) -> bool {
    usage.unknown.iter().any(|u| u.contains(what))
}

/// Reads a text at once, and in two halves cut at every tenth of it, and wants the same each time.
#[track_caller]
fn in_halves(text: &str) -> Usage {
    let mut desk = Desk::new();
    desk.write("x.jsonl", text);
    let whole = desk.read("x.jsonl");
    assert_eq!(desk.read("x.jsonl"), whole, "nothing new");
    for tenth in 1..10 {
        let at = text.len() * tenth / 10;
        let mut desk = Desk::new();
        desk.write("x.jsonl", &text.as_bytes()[..at]);
        desk.read("x.jsonl");
        desk.append("x.jsonl", &text.as_bytes()[at..]);
        let halves = desk.read("x.jsonl");
        let (halves, whole) = (Usage { source: None, ..halves }, Usage { source: None, ..whole.clone() });
        assert_eq!(halves, whole, "cut at {at}");
    }
    whole
}

#[test]
fn every_recording_of_claude_comes_to_its_own_sums() {
    for (file, want) in expected("claude") {
        let usage = in_halves(&recording(&file));
        let n = |key: &str| want[key].as_u64();
        let sum = |key: &str| want[key].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
        let tokens = usage.tokens.unwrap();
        assert_eq!(usage.format.as_deref(), Some("claude"), "{file}");
        let found =
            [usage.turns, usage.tool_calls, usage.tool_errors, usage.compactions, usage.identical_calls];
        let keys = ["api_calls", "tool_calls", "tool_errors", "compactions", "max_identical_run"];
        assert_eq!(found, keys.map(n), "{file}");
        let found = [tokens.input, tokens.cache_write, tokens.cache_read, tokens.output].map(Some);
        assert_eq!(found, ["input", "cache_write", "cache_read", "output"].map(n), "{file}");
        let cost = usage.cost.unwrap().0 as f64 / 1e9;
        assert!((cost - want["cost_usd"].as_f64().unwrap()).abs() < 1e-9, "{file} {cost}");
        assert_eq!(usage.edits, Some(sum("edited")), "{file}");
        assert_eq!(usage.rereads, [], "{file}: twice is not often");
        assert_eq!(usage.is_least, want["compactions"] != 0, "{file}");
        assert_eq!(says(&usage, "the call behind a compaction is in no log"), usage.is_least, "{file}");
    }
}

#[test]
fn every_recording_of_codex_comes_to_its_own_sums() {
    for (file, want) in expected("codex") {
        let usage = in_halves(&recording(&file));
        let n = |key: &str| want[key].as_u64();
        assert_eq!(usage.format.as_deref(), Some("codex"), "{file}");
        assert_eq!(usage.model.as_deref(), Some("gpt-5.1-codex"), "{file}");
        let found = [usage.tool_calls, usage.tool_errors, usage.compactions];
        assert_eq!(found, ["tool_calls", "tool_errors", "compactions"].map(n), "{file}");
        let tokens = usage.tokens.unwrap();
        let (input, turns, runs) = match file.as_str() {
            "codex/429_turn_failed.jsonl" => (0, 0, 0),
            // No count of tokens follows; the record of the call tells.
            "codex/sigkill_dangling_call.jsonl" => (1_200, 1, 1),
            _ => (want["total_usage"]["input_tokens"].as_u64().unwrap(), 4, 1),
        };
        assert_eq!(tokens.input + tokens.cache_read, input, "{file}");
        assert_eq!((usage.turns, usage.identical_calls), (Some(turns), Some(runs)), "{file}");
        if let Some(total) = want["total_usage"].as_object() {
            assert_eq!(
                (total["cached_input_tokens"].as_u64(), total["output_tokens"].as_u64()),
                (Some(tokens.cache_read), Some(tokens.output))
            );
        }
        assert_eq!(says(&usage, "no price for gpt-5.1-codex"), input > 0, "{file}");
        assert_eq!(usage.cost.is_some(), input == 0, "{file}");
    }
}

#[test]
fn a_resumed_session_charges_each_attempt_its_own_part() {
    let desk = Desk::new();
    let path = desk.write("s.jsonl", recording("claude/tools_errors_then_compact_resume.jsonl"));
    let told = |u: &Usage| (u.turns, u.tool_calls, u.tool_errors, u.compactions, u.edits, u.is_least);
    let first = within(&path, "2026-11-21T08:06:05Z", Some("2026-11-21T08:06:09Z"));
    let second = within(&path, "2026-11-21T08:19:53Z", None);
    let whole = of(&path);
    assert_eq!(told(&first), (Some(8), Some(8), whole.tool_errors, Some(0), Some(1), false));
    assert_eq!(told(&second), (Some(1), Some(0), Some(0), Some(1), Some(0), true));
    assert_eq!(first.tokens.unwrap().plus(second.tokens.unwrap()), whole.tokens.unwrap());
    assert_eq!(first.cost.unwrap().plus(second.cost.unwrap()), whole.cost.unwrap());
    let later = within(&path, "2026-11-21T09:00:00Z", None);
    assert_eq!(
        (later.turns, later.tokens, later.cost),
        (None, None, None),
        "no line of it is no sign of no use"
    );
    assert_eq!(later.unknown, ["no line of the log lies in this attempt"]);
}

#[test]
fn an_attempt_that_ends_is_counted_again_up_to_there() {
    let mut desk = Desk::new();
    let path = desk.write("s.jsonl", recording("claude/tools_errors_then_compact_resume.jsonl"));
    let prices = Prices::default();
    let from = Time::parse("2026-11-21T08:06:05Z").unwrap();
    let running = UsageAsk { from, now: from.plus(3_600), ..ask(Some(&path), &prices) };
    assert_eq!(read(&running, &mut desk.cache).turns, Some(9));
    let early = UsageAsk { now: from.plus(10), ..running };
    assert_eq!(read(&early, &mut desk.cache).turns, Some(8), "at that time there was no more");
    assert_eq!(read(&running, &mut desk.cache).turns, Some(9));
    let ended = UsageAsk { to: Some(from.plus(4)), ..running };
    assert_eq!(read(&ended, &mut desk.cache).turns, Some(8));
    // Another attempt in the same file has a count of its own.
    let next = UsageAsk { from: Time::parse("2026-11-21T08:19:53Z").unwrap(), ..running };
    assert_eq!((read(&next, &mut desk.cache).turns, read(&ended, &mut desk.cache).turns), (Some(1), Some(8)));
}

fn counted(at: &str, input: u64, last: u64) -> Value {
    let usage = |n: u64| json!({"input_tokens": n, "cached_input_tokens": n / 2, "output_tokens": n / 10});
    json!({"timestamp": at, "type": "event_msg", "payload": {"type": "token_count",
        "info": {"total_token_usage": usage(input), "last_token_usage": usage(last)}}})
}

fn called(at: &str, id: &str, arguments: &str) -> Value {
    json!({"timestamp": at, "type": "response_item", "payload":
        {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": id}})
}

#[test]
fn of_codex_no_more_calls_failed_than_were_made() {
    let output = |id: &str| {
        json!({"timestamp": "2026-11-21T08:00:02Z", "type": "response_item", "payload":
            {"type": "function_call_output", "call_id": id, "output": "failed to parse function arguments: x"}})
    };
    // As where the front of a log is gone.
    let all = lines(&[output("a"), output("b"), called("2026-11-21T08:00:03Z", "c", "{}"), output("c")]);
    let desk = Desk::new();
    let path = desk.write("r.jsonl", &all);
    let usage = within(&path, "2026-11-21T08:00:00Z", None);
    assert_eq!((usage.tool_calls, usage.tool_errors), (Some(1), Some(1)), "{usage:?}");
}

#[test]
fn of_codex_sums_only_what_was_added_counts() {
    let all = lines(&[
        json!({"timestamp": "2026-11-21T08:00:00Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/w"}}),
        json!({"timestamp": "2026-11-21T08:00:00Z", "type": "turn_context", "payload": {"model": "gpt-5.1-codex"}}),
        called("2026-11-21T08:00:01Z", "a", "{}"),
        counted("2026-11-21T08:00:02Z", 1_000, 1_000),
        counted("2026-11-21T08:30:00Z", 1_000, 1_000),
        called("2026-11-21T08:30:01Z", "b", "{}"),
        counted("2026-11-21T08:30:02Z", 3_000, 2_000),
        called("2026-11-21T08:30:03Z", "c", "{}"),
        called("2026-11-21T08:30:03Z", "d", "{\"x\": 1}"),
        counted("2026-11-21T08:30:04Z", 6_000, 3_000),
    ]);
    let desk = Desk::new();
    let path = desk.write("r.jsonl", &all);
    let second = within(&path, "2026-11-21T08:29:59Z", None);
    let tokens = Tokens { input: 2_500, cache_write: 0, cache_read: 2_500, output: 500 };
    assert_eq!((second.tokens, second.turns), (Some(tokens), Some(2)));
    assert_eq!((second.tool_calls, second.identical_calls), (Some(3), Some(2)));
    assert_eq!(second.model.as_deref(), Some("gpt-5.1-codex"), "stated before the attempt");
    let first = within(&path, "2026-11-21T08:00:00Z", Some("2026-11-21T08:00:03Z"));
    assert_eq!((first.tokens.unwrap().total(), first.turns, first.tool_calls), (1_100, Some(1), Some(1)));

    // Of a log whose front is left out, what the first sum holds beyond its own call is not the attempt's.
    let window = window::Window::new(Time(0), None, None, NOW);
    let owner = crate::handle::Owner::Ourselves;
    let short = all.find("2026-11-21T08:30:01Z").map(|at| all.len() - at).unwrap() as u64 + 60;
    let scanned = scan::Scan { sort: "x", path: &path, owner, window, now: NOW, most: short };
    let new = |_: &fs::File, _| {
        let codex = crate::Reader::named("codex", None);
        Ok(crate::attempt::log::AgentLog::new(&codex).map(|count| scan::Begun { count, sure: true }))
    };
    let found = scan::scan(&scanned, &mut Cache::in_memory(), new).unwrap().unwrap();
    assert!(found.is_part);
    assert_eq!(found.count.record.used_in_all().context(), 5_000);
}

/// What `codex exec --json` prints of a change of files.
fn changed(n: usize, status: &str, files: &[&str]) -> Value {
    let changes: Vec<Value> = files.iter().map(|path| json!({"path": path, "kind": "update"})).collect();
    let item =
        json!({"id": format!("item_{n}"), "type": "file_change", "changes": changes, "status": status});
    json!({"type": "item.completed", "item": item})
}

#[test]
fn other_files_are_other_calls_of_codex() {
    let start = json!({"type": "thread.started", "thread_id": "x"});
    let names = ["/w/a", "/w/b", "/w/c", "/w/d", "/w/e", "/w/f"];
    let all = names.iter().enumerate().map(|(n, name)| changed(n, "completed", &[name, "/w/g"]));
    let all: Vec<Value> = std::iter::once(start).chain(all).collect();
    let usage = in_halves(&lines(&all));
    assert_eq!((usage.tool_calls, usage.identical_calls), (Some(6), Some(1)));
    let desk = Desk::new();
    let path = desk.write("x.jsonl", lines(&all));
    let (prices, mut cache) = (Prices::default(), Cache::in_memory());
    let vitals = crate::attempt::vitals::read(&ask(Some(&path), &prices), None, &mut cache).unwrap();
    assert_eq!(vitals.edited.len(), 7, "{vitals:?}");
    assert_eq!(vitals.last_calls[4], "filechange: /w/f");
}

/// The same call again is a repetition where its answer is the same again.
#[test]
fn a_look_at_what_goes_on_is_no_repetition() {
    let at = "2026-11-21T08:00:00Z";
    let claude = |n: usize, name: &str, input: Value, said: &str| {
        let call = json!({"type": "tool_use", "id": format!("c{n}"), "name": name, "input": input});
        let answer = json!({"type": "tool_result", "tool_use_id": format!("c{n}"), "content": said});
        let model = json!({"id": format!("m{n}"), "model": "claude-opus-5", "content": [call]});
        vec![
            json!({"type": "assistant", "sessionId": "s", "timestamp": at, "message": model}),
            json!({"type": "user", "sessionId": "s", "timestamp": at, "message": {"role": "user", "content": [answer]}}),
        ]
    };
    let codex = |n: usize, arguments: &str, said: String| {
        let id = format!("c{n}");
        let output = json!({"type": "function_call_output", "call_id": id, "output": said});
        vec![called(at, &id, arguments), json!({"timestamp": at, "type": "response_item", "payload": output})]
    };
    let printed = |n: usize, item: Value| {
        let mut item = item;
        item["id"] = json!(format!("item_{n}"));
        vec![json!({"type": "item.completed", "item": item})]
    };
    let running = |n: usize, said: &str| {
        format!(
            "Chunk ID: {n}\nWall time: 30.{n} seconds\nProcess running with session ID 1\nOutput:\n{said}"
        )
    };
    let over = |n: usize, said: &str| {
        format!("Chunk ID: {n}\nWall time: 0.{n} seconds\nProcess exited with code 1\nOutput:\n{said}")
    };
    let older = |n: usize, said: &str| {
        json!({"output": said, "metadata": {"exit_code": 1, "duration_seconds": n}}).to_string()
    };
    let mcp =
        |n: usize| json!({"type": "mcp_tool_call", "tool": "jobs", "arguments": {}, "result": {"done": n}});
    let ran = |said: &str| json!({"type": "command_execution", "command": "ls", "aggregated_output": said});
    let bash = || json!({"command": "sleep 300; gh pr checks 12"});
    let wait = r#"{"session_id":1,"chars":""}"#;
    type Made<'m> = &'m dyn Fn(usize) -> Vec<Value>;
    let table: [(&str, Made<'_>, u64); 13] = [
        ("claude polls", &|n| claude(n, "Bash", bash(), &format!("{n} of 8 pass")), 1),
        ("claude looks", &|n| claude(n, "BashOutput", json!({"bash_id": "b"}), &"ok\n".repeat(n)), 1),
        ("claude repeats", &|n| claude(n, "Bash", bash(), "3 of 8 pass"), 6),
        ("claude at last", &|n| claude(n, "Bash", bash(), if n < 5 { "3 of 8" } else { "4 of 8" }), 5),
        ("codex polls", &|n| codex(n, wait, running(n, &format!("Compiling crate{n}"))), 1),
        ("codex waits", &|n| codex(n, wait, running(n, "")), 1),
        ("codex repeats", &|n| codex(n, "{}", over(n, "no such file")), 6),
        ("codex tries", &|n| codex(n, "{}", over(n, &format!("{n} tests failed"))), 1),
        ("older codex repeats", &|n| codex(n, "{}", older(n, "no such file")), 6),
        ("codex prints a poll", &|n| printed(n, mcp(n)), 1),
        ("codex prints a repetition", &|n| printed(n, ran("a")), 6),
        ("codex edits", &|n| vec![changed(n, "completed", &["/w/a"])], 1),
        ("codex fails to edit", &|n| vec![changed(n, "failed", &["/w/a"])], 6),
    ];
    for (what, made, longest) in table {
        let calls: Vec<Value> = (0..6).flat_map(made).collect();
        let usage = in_halves(&lines(&calls));
        assert_eq!((usage.tool_calls, usage.identical_calls), (Some(6), Some(longest)), "{what}");
    }
}

/// Half a line of one format may be the front of a line of another.
#[test]
fn half_a_line_shows_no_format_for_long() {
    let meta =
        r#"{"type":"session_meta","session_id":"x","timestamp":"2026-11-21T08:00:00Z","payload":{"id":"x"}}"#;
    let codex = [called("2026-11-21T08:00:01Z", "a", "{}"), counted("2026-11-21T08:00:02Z", 1_000, 1_000)];
    let codex = format!("{meta}\n{}", lines(&codex));
    for (text, format) in
        [(&*codex, Some("codex")), ("{\"x\": {\"type\":\"turn.started\",\"n\": 1}}\n1\n", None)]
    {
        for at in 0..text.len() {
            let mut desk = Desk::new();
            let path = desk.write("x.jsonl", &text[..at]);
            assert_eq!(desk.read("x.jsonl"), of(&path), "{format:?} {at}");
            desk.append("x.jsonl", &text[at..]);
            let usage = desk.read("x.jsonl");
            assert_eq!((usage.format.as_deref(), &usage), (format, &of(&path)), "{format:?} {at}");
        }
    }
}

#[test]
fn one_line_that_nobody_ever_ends_is_counted() {
    let call = json!({"type": "assistant", "session_id": "s", "message": {"id": "a", "model": "claude-sonnet-4-5",
        "usage": {"input_tokens": 100, "output_tokens": 10}, "content": []}});
    let mut desk = Desk::new();
    let path = desk.write("x.jsonl", call.to_string());
    for _ in 0..2 {
        let usage = desk.read("x.jsonl");
        assert_eq!((usage.format.as_deref(), usage.turns), (Some("claude"), Some(1)));
    }
    desk.append("x.jsonl", "\n");
    assert_eq!(desk.read("x.jsonl"), of(&path));
}

#[test]
fn the_cost_that_claude_states_is_the_cost() {
    let start = json!({"type": "system", "subtype": "init", "session_id": "s", "model": "claude-sonnet-4-5"});
    let call = |id: &str| {
        json!({"type": "assistant", "session_id": "s", "message": {"id": id, "model": "claude-sonnet-4-5",
            "usage": {"input_tokens": 100, "output_tokens": 1}, "content": []}})
    };
    let ends = |session: &str, cost: f64, output: u64| {
        json!({"type": "result", "subtype": "success", "session_id": session, "num_turns": 3, "total_cost_usd": cost,
            "usage": {"input_tokens": 50, "cache_read_input_tokens": 7_000, "output_tokens": output}})
    };
    let of = |all: &[Value]| {
        let usage = in_halves(&lines(all));
        (usage.cost, usage.tokens.unwrap(), usage.is_least)
    };
    let dollars = |cents: u64| Some(Money(cents * 10_000_000));
    let (cost, tokens, is_least) = of(&[start.clone(), call("a"), ends("s", 0.5, 900)]);
    assert_eq!((cost, is_least), (dollars(50), false));
    assert_eq!(tokens, Tokens { input: 100, cache_write: 0, cache_read: 7_000, output: 900 });
    // Of one session the newest, of several all.
    let twice = [start.clone(), call("a"), ends("s", 0.5, 900), call("b"), ends("s", 0.75, 900)];
    assert_eq!(of(&twice).0, dollars(75));
    assert_eq!(of(&[start.clone(), call("a"), ends("s", 0.5, 1), ends("t", 0.25, 1)]).0, dollars(75));
    let goes_on = in_halves(&lines(&[start.clone(), call("a"), ends("s", 0.5, 900), call("b")]));
    assert_eq!((goes_on.cost, goes_on.is_least), (dollars(50), true));
    assert!(says(&goes_on, "after the last cost"), "{:?}", goes_on.unknown);
    let wrong = json!({"type": "result", "subtype": "success", "session_id": "s", "total_cost_usd": "much"});
    assert_eq!(of(&[start.clone(), call("a"), wrong]).0, Some(Money(315_000)));

    // Of a model that it does not know Claude Code asks what Opus costs.
    let foreign = lines(&[start, call("a"), ends("s", 0.5, 900)]).replace("claude-sonnet-4-5", "glm-4.6");
    assert_eq!(in_halves(&foreign).cost, None);
    let mut config = Config::default();
    let keys = PriceKeys { input: Some(1.0), output: Some(10.0), ..PriceKeys::default() };
    config.prices = [("glm".to_owned(), keys)].into();
    let desk = Desk::new();
    let path = desk.write("s.jsonl", &foreign);
    let own = read(&ask(Some(&path), &Prices::of(&config)), &mut Cache::in_memory());
    assert_eq!(own.cost, Some(Money(100 * 1_000 + 7_000 * 100 + 900 * 10_000)));
}

#[test]
fn what_states_no_time_is_counted_from_its_last_start() {
    let start = json!({"type": "system", "subtype": "init", "session_id": "s", "model": "claude-sonnet-4-5"});
    let call = |id: &str| {
        json!({"type": "assistant", "session_id": "s", "message": {"id": id, "model": "claude-sonnet-4-5",
            "usage": {"input_tokens": 100, "output_tokens": 10}, "content": []}})
    };
    let once = in_halves(&lines(&[start.clone(), call("a"), call("b")]));
    assert_eq!((once.turns, once.is_least), (Some(2), false));
    let twice = in_halves(&lines(&[start.clone(), call("a"), call("b"), start, call("c")]));
    assert_eq!((twice.turns, twice.tokens.unwrap().input, twice.is_least), (Some(1), 100, true));
    assert!(says(&twice, "several starts"), "{:?}", twice.unknown);

    let item = json!({"type": "item.completed", "item": {"id": "i", "type": "command_execution", "command": "x", "exit_code": 1}});
    let done = |n: u64| json!({"type": "turn.completed", "usage": {"input_tokens": n, "cached_input_tokens": 0, "output_tokens": 1}});
    let begun = json!({"type": "thread.started", "thread_id": "t"});
    let codex = in_halves(&lines(&[begun.clone(), item.clone(), done(5), begun, item, done(9)]));
    assert_eq!((codex.turns, codex.tool_calls, codex.tool_errors), (None, Some(1), Some(1)));
    assert_eq!(codex.tokens.unwrap().input, 4, "sums go on in the same thread");
}

#[test]
fn subagents_add_tokens_money_and_calls_but_no_turns() {
    let desk = Desk::new();
    let agent = recording("claude/tools_errors_then_compact_resume.jsonl");
    let path = desk.write("p/s1.jsonl", recording("claude/sigkill_dangling_tool.jsonl"));
    let alone = of(&path);
    desk.write(
        "p/s1/subagents/agent-a.jsonl",
        agent.replace("\"isSidechain\":false", "\"isSidechain\":true"),
    );
    desk.write("p/s1/subagents/agent-a.meta.json", "{}");
    desk.write("p/s2/subagents/agent-b.jsonl", &agent);
    let both = of(&path);
    assert_eq!(both.turns, alone.turns);
    assert_eq!(both.tool_calls, alone.tool_calls.map(|n| n + 8));
    assert_eq!(both.tokens.unwrap().input, alone.tokens.unwrap().input + 900);
    assert_eq!(both.cost.unwrap().0, alone.cost.unwrap().0 + 102_975_000);
    assert_eq!((both.compactions, both.edits), (alone.compactions, Some(1)));
    for n in 0..60 {
        desk.write(&format!("p/s1/subagents/agent-{n:02}.jsonl"), "");
    }
    let many = of(&path);
    assert!(
        many.is_least && says(&many, "of 61 subagents only the newest 50 are read"),
        "{:?}",
        many.unknown
    );
}

#[test]
fn a_subagent_of_an_earlier_attempt_hides_nothing() {
    let desk = Desk::new();
    let path = desk.write("p/s1.jsonl", recording("claude/sigkill_dangling_tool.jsonl"));
    let (from, to) = ("2026-11-21T08:07:30Z", Some("2026-11-21T08:08:30Z"));
    let alone = within(&path, from, to);
    assert!(alone.tokens.is_some());
    desk.write("p/s1/subagents/agent-a.jsonl", recording("claude/tools_errors_then_compact_resume.jsonl"));
    assert_eq!(within(&path, from, to), alone);
}

#[test]
fn a_file_read_again_and_again_is_named() {
    let read = |n: usize, file: &str| {
        json!({"type": "assistant", "sessionId": "s", "timestamp": "2026-11-21T08:00:00Z", "message": {"id": n.to_string(),
            "model": "claude-opus-5", "content": [{"type": "tool_use", "id": format!("c{n}"), "name": "Read", "input": {"file_path": file}}]}})
    };
    let secret = format!("/w/sk-proj-{}", "aB3dE5".repeat(12));
    let all: Vec<Value> = (0..9).map(|n| read(n, if n < 4 { "/w/a" } else { &secret })).collect();
    let usage = in_halves(&lines(&all));
    assert_eq!(usage.rereads.iter().map(|r| r.times).collect::<Vec<_>>(), [5, 4]);
    assert_eq!((usage.rereads[1].file.as_str(), usage.identical_calls), ("/w/a", Some(5)));
    assert!(!usage.rereads[0].file.contains("aB3dE5"), "{:?}", usage.rereads);
}

#[test]
fn a_large_file_may_be_read_part_by_part() {
    let read = |n: usize, offset: Option<usize>| {
        let input = json!({"file_path": "/w/a", "offset": offset, "limit": 2_000});
        let call = json!({"type": "tool_use", "id": format!("c{n}"), "name": "Read", "input": input});
        json!({"type": "assistant", "sessionId": "s", "timestamp": "2026-11-21T08:00:00Z",
            "message": {"id": n.to_string(), "model": "claude-opus-5", "content": [call]}})
    };
    let of = |offset: &dyn Fn(usize) -> Option<usize>| {
        let all: Vec<Value> = (0..9).map(|n| read(n, offset(n))).collect();
        in_halves(&lines(&all)).rereads.iter().map(|r| (r.file.clone(), r.times)).collect::<Vec<_>>()
    };
    assert_eq!(of(&|n| Some(n * 2_000)), []);
    assert_eq!(of(&|n| Some(n % 2)), [("/w/a".to_owned(), 5)]);
    assert_eq!(of(&|_| None), [("/w/a".to_owned(), 9)]);
}

#[test]
fn what_cannot_be_read_is_said() {
    let desk = Desk::new();
    let log = desk.write("s.jsonl", recording("claude/auth_401.jsonl"));
    fs::create_dir(desk.path("folder.jsonl")).unwrap();
    symlink(&log, desk.path("link.jsonl")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, desk.path("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    desk.write("empty", "");
    desk.write("words", "Working on it.\n{\"answer\": 1}\n");
    desk.write("hermes", "Query: work kanban task t_1\n");
    desk.write("other.db", "SQLite format 3\0 and then nothing that is one");
    for (name, want) in [
        ("none.jsonl", "there is no such file"),
        ("folder.jsonl", "not a regular file: move it away"),
        ("link.jsonl", "a symbolic link: put the file itself in its place"),
        ("fifo", "not a regular file: move it away"),
        ("empty", "neither Claude Code, Codex nor opencode wrote this"),
        ("words", "neither Claude Code, Codex nor opencode wrote this"),
        ("hermes", "neither Claude Code, Codex nor opencode wrote this"),
        ("other.db", "file is not a database"),
    ] {
        let path = desk.path(name);
        assert_eq!(of(&path), Usage::unknown(format!("{}: {want}", path.display())), "{name}");
    }
    assert_eq!(of(Path::new("s.jsonl")), Usage::unknown("the log its claim names is not an absolute path"));
    let nothing = read(&ask(None, &Prices::default()), &mut Cache::in_memory());
    assert_eq!(nothing, Usage::unknown("no log or store tells what this attempt used"));
}

#[test]
fn a_file_replaced_under_the_cursor_is_read_anew() {
    let mut desk = Desk::new();
    let text = recording("claude/stream_cut_midmessage.jsonl");
    desk.write("s.jsonl", &text);
    assert_eq!(desk.read("s.jsonl").turns, Some(2));
    desk.write("s.jsonl", recording("claude/tools_errors_then_compact_resume.jsonl"));
    assert_eq!(desk.read("s.jsonl").turns, Some(9), "longer, and another");
    desk.write("s.jsonl", &text);
    let shorter = desk.read("s.jsonl");
    assert_eq!((shorter.turns, shorter.is_least), (Some(2), true), "shorter");
    desk.append("s.jsonl", "{\"torn\": \"by a crash\n{\"type\":\"mode\"}\n");
    let torn = desk.read("s.jsonl");
    assert!(torn.is_least && says(&torn, "1 line of the log could not be read"), "{torn:?}");
}

/// A log that is rotated away takes what was counted of it along.
#[test]
fn what_a_log_begun_anew_tells_is_the_least() {
    const WHY: &str = "the log was begun anew since";
    let text = recording("claude/tools_errors_then_compact_resume.jsonl");
    let (first, rest) = text.split_at(text.match_indices('\n').nth(20).unwrap().0 + 1);
    let begun = |first: &str| {
        let mut desk = Desk::new();
        desk.write("s.jsonl", first);
        assert!(!says(&desk.read("s.jsonl"), WHY));
        desk
    };
    // Renamed, and another one in its place; longer or shorter.
    for (what, second) in [("longer", &text[..]), ("shorter", rest.lines().last().unwrap())] {
        let mut desk = begun(first);
        fs::rename(desk.path("s.jsonl"), desk.path("s.jsonl.1")).unwrap();
        desk.write("s.jsonl", second);
        let usage = desk.read("s.jsonl");
        assert!(says(&usage, WHY) && usage.is_least, "{what} {usage:?}");
        assert_eq!(desk.read("s.jsonl"), usage, "{what}: nothing new");
        desk.append("s.jsonl", "\n{\"type\":\"mode\"}\n");
        assert!(says(&desk.read("s.jsonl"), WHY), "{what}: read on");
    }
    // Emptied, and looked at before it was written again.
    let mut desk = begun(first);
    desk.write("s.jsonl", "");
    desk.read("s.jsonl");
    desk.write("s.jsonl", rest);
    assert!(says(&desk.read("s.jsonl"), WHY));
    // It grows, is touched, or holds nothing of the attempt so far.
    let mut desk = begun(first);
    desk.append("s.jsonl", rest);
    assert!(!says(&desk.read("s.jsonl"), WHY));
    let mut desk = begun("{\"type\":\"mode\",\"sessionId\":\"s\"}");
    desk.write("s.jsonl", &text);
    assert!(!says(&desk.read("s.jsonl"), WHY));
}

#[test]
fn prices_are_the_operators_or_list_prices_or_none() {
    let desk = Desk::new();
    let text = recording("claude/api_429_exhausted.jsonl");
    let path = desk.write("s.jsonl", text.replace("claude-sonnet-4-5", "glm-4.6"));
    let foreign = of(&path);
    assert_eq!((foreign.cost, foreign.turns), (None, Some(1)));
    assert!(says(&foreign, "no price for glm-4.6") && !foreign.is_least);
    assert_eq!(foreign.cost_at_least, None, "none of its calls has a price");
    // Another model beside it has one: so much it cost at least.
    let known = of(&desk.write("known.jsonl", &text));
    assert_eq!((known.cost_at_least, known.cost.is_some()), (None, true));
    let other = text.replace("claude-sonnet-4-5", "glm-4.6").replace("msg_mock", "msg_other");
    let mixed = of(&desk.write("mixed.jsonl", text.clone() + &other));
    assert_eq!((mixed.cost, mixed.cost_at_least), (None, known.cost), "{mixed:?}");
    let mut config = Config::default();
    let keys = PriceKeys { input: Some(1.0), output: Some(10.0), ..PriceKeys::default() };
    config.prices = [("glm".to_owned(), keys)].into();
    let prices = Prices::of(&config);
    let mut cache = Cache::in_memory();
    read(&ask(Some(&path), &Prices::default()), &mut cache);
    let own = read(&ask(Some(&path), &prices), &mut cache);
    assert_eq!(
        own.cost,
        Some(Money(100 * 1_000 + 2_000 * 1_250 + 10_000 * 100 + 50 * 10_000)),
        "whatever is cached"
    );
}

#[test]
fn a_session_in_the_tasks_folder_is_found() {
    let desk = Desk::new();
    let text = recording("claude/tools_errors_then_compact_resume.jsonl");
    let tree = desk.path("a.b_c d");
    fs::create_dir(&tree).unwrap();
    let real = fs::canonicalize(&tree).unwrap();
    let slug: String =
        real.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let here = text.replace("/home/dev/src/p1", real.to_str().unwrap());
    let put = |name: &str, text: &str| desk.write(&format!("home/projects/{slug}/{name}.jsonl"), text);
    put("elsewhere", &text);
    let (homes, prices) = (Homes::NONE.with("claude", &desk.path("home")), Prices::default());
    let time = |t: &str| Time::parse(t).unwrap();
    let ask = UsageAsk {
        workspace: Some(&tree),
        homes: &homes,
        from: time("2026-11-21T08:06:05Z"),
        ..ask(None, &prices)
    };
    let none = |usage: Usage| usage == Usage::unknown("no log or store tells what this attempt used");
    assert!(none(read(&ask, &mut Cache::in_memory())), "another folder of the same slug");
    put("s1", &here);
    let found = read(&ask, &mut Cache::in_memory());
    assert_eq!((found.turns, cents(&found).as_deref()), (Some(9), Some("$0.10")));
    assert!(found.source.unwrap().ends_with("/s1.jsonl"));
    assert!(none(read(&UsageAsk { from: time("2026-11-21T09:00:00Z"), ..ask }, &mut Cache::in_memory())));
    assert!(none(read(&UsageAsk { homes: Homes::NONE, ..ask }, &mut Cache::in_memory())));
    let short = UsageAsk { to: Some(time("2026-11-21T08:06:09Z")), ..ask };
    let next = here.lines().filter(|l| l.contains("08:19:54")).map(|l| format!("{l}\n")).collect::<String>();
    put("next", &next.replace("08:19:54", "08:07:30"));
    assert_eq!(
        read(&short, &mut Cache::in_memory()).turns,
        Some(8),
        "what begins behind its end is the next one's"
    );
    fs::remove_file(desk.path("home/projects").join(&slug).join("next.jsonl")).unwrap();
    put("s2", &here);
    let both = read(&ask, &mut Cache::in_memory());
    assert_eq!(both.turns, Some(18), "two sessions of one attempt");
    let mut named: Vec<_> = both.source.iter().chain(&both.more_sources).map(|s| &s[s.len() - 8..]).collect();
    named.sort_unstable();
    assert_eq!(named, ["s1.jsonl", "s2.jsonl"], "each of them is named");

    // That of a person, which goes on since before the task was begun.
    let first = here.lines().next().unwrap().replace("T08:06:05.906Z", "T07:00:00.000Z");
    let first = format!("{first}\n");
    put("s2", &format!("{first}{here}"));
    let began = |t: &str| read(&UsageAsk { began: time(t), ..ask }, &mut Cache::in_memory()).turns;
    assert_eq!(began("2026-11-21T08:00:00Z"), Some(9), "it is older than the task");
    assert_eq!(began("2026-11-21T07:00:00Z"), Some(18), "it goes on since an earlier attempt");
    put("s1", &format!("{first}{here}"));
    assert_eq!(began("2026-11-21T08:00:00Z"), Some(18), "no other is there");
}

#[test]
fn an_agent_that_writes_into_the_boards_log_is_read_there() {
    let desk = Desk::new();
    let path = desk.write("t_1.log", recording("codex/tools_errors_ok.jsonl"));
    let prices = Prices::default();
    let usage = read(&UsageAsk { worker_log: Some(&path), ..ask(None, &prices) }, &mut Cache::in_memory());
    assert_eq!((usage.format.as_deref(), usage.turns), (Some("codex"), Some(4)));

    // What its harness kept is nearer.
    let printed = desk.write("printed.log", recording("claude/tools_errors_then_compact_resume.jsonl"));
    let both = UsageAsk { worker_log: Some(&path), output: Some(&printed), ..ask(None, &prices) };
    let nothing = Usage::unknown("no log or store tells what this attempt used");
    let usage = read(&UsageAsk { from: NOW, ..both }, &mut Cache::in_memory());
    assert_eq!(usage, nothing, "not written since it began");
    let usage = read(&both, &mut Cache::in_memory());
    assert_eq!(
        (usage.format.as_deref(), usage.source),
        (Some("claude"), Some(printed.display().to_string()))
    );
    fs::write(&printed, "hello\n").unwrap();
    assert_eq!(read(&both, &mut Cache::in_memory()), nothing, "words of another program");
}

#[test]
fn the_cursor_stays_small() {
    let call = |n: usize| {
        json!({"type": "assistant", "sessionId": "s", "timestamp": "2026-11-21T08:00:00Z", "message": {"id": format!("{n}"),
            "model": format!("m{n}{}", "x".repeat(2_000)), "usage": {"input_tokens": 1},
            "content": [{"type": "tool_use", "id": format!("c{n}"), "name": "Read", "input": {"file_path": format!("/{n}{}", "y".repeat(900))}}]}})
    };
    let mut desk = Desk::new();
    let path = desk.write("s.jsonl", lines(&(0..2_000).map(call).collect::<Vec<_>>()));
    assert_eq!(desk.read("s.jsonl").turns, Some(2_000));
    let key = format!("usage:agent:-2000:{}", path.display());
    let body = desk.cache.log(&key).unwrap().body;
    assert!(body.len() < 500_000, "{}", body.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes_are_survived(
        which in 0..4_usize,
        place in 0..1_000_usize,
        junk in proptest::collection::vec(any::<u8>(), 0..200),
        words in "[\"{}\\[\\],:0a\n]{0,9}",
        long in prop_oneof![9 => Just(0_usize), 1 => Just(9_usize << 20)],
        from in 0..2_000_000_000_i64,
    ) {
        let text = match which {
            0 => recording("claude/tools_errors_then_compact_resume.jsonl"),
            1 => recording("codex/tools_errors_ok.jsonl"),
            2 => "{\"type\":\"thread.started\",\"thread_id\":\"x\"}\n".into(),
            _ => String::new(),
        };
        let mut bytes = text.into_bytes();
        let at = bytes.len() * place / 1_000;
        let mut rest = bytes.split_off(at);
        bytes.extend_from_slice(&junk);
        bytes.extend_from_slice(words.as_bytes());
        bytes.extend(std::iter::repeat_n(b'x', long));
        bytes.append(&mut rest);
        let desk = Desk::new();
        let path = desk.write("s.jsonl", &bytes);
        let prices = Prices::default();
        let asked = UsageAsk { from: Time(from), ..ask(Some(&path), &prices) };
        let usage = read(&asked, &mut Cache::in_memory());
        prop_assert!(usage.turns.is_some() || usage.tokens.is_some() || !usage.unknown.is_empty());
    }
}
