use chrono::{Local, TimeZone};
use rusqlite::{Connection, params};

use super::*;
use crate::vitals::{Turn, Vitals};

/// When the recorded worker started.
const FROM: i64 = 1_795_292_220;

/// What Hermes 0.19.0 (schema 22) makes of its own, without what nothing here reads.
const SCHEMA: &str = "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, parent_session_id TEXT,
        started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0,
        tool_call_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
        cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0,
        estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT, api_call_count INTEGER DEFAULT 0);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
        tool_calls TEXT, tool_call_id TEXT, timestamp REAL NOT NULL, finish_reason TEXT, active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE session_model_usage (session_id TEXT NOT NULL, model TEXT NOT NULL, task TEXT NOT NULL DEFAULT '',
        api_call_count INTEGER NOT NULL DEFAULT 0, input_tokens INTEGER NOT NULL DEFAULT 0,
        output_tokens INTEGER NOT NULL DEFAULT 0, cache_read_tokens INTEGER NOT NULL DEFAULT 0,
        cache_write_tokens INTEGER NOT NULL DEFAULT 0, estimated_cost_usd REAL NOT NULL DEFAULT 0,
        actual_cost_usd REAL NOT NULL DEFAULT 0, cost_status TEXT);";

struct Hermes {
    desk: Desk,
    db: Connection,
    prices: Prices,
}

impl Hermes {
    fn new() -> Hermes {
        let desk = Desk::new();
        desk.write("profiles/luna/logs/agent.log", "");
        let db = Connection::open(desk.path("profiles/luna/state.db")).unwrap();
        db.execute_batch(SCHEMA).unwrap();
        Hermes { desk, db, prices: Prices::default() }
    }

    fn session(&self, id: &str, parent: Option<&str>, at: i64, calls: i64, tools: i64) {
        let insert = "INSERT INTO sessions (id, source, model, parent_session_id, started_at, tool_call_count, input_tokens,
            output_tokens, cache_read_tokens, estimated_cost_usd, cost_status, api_call_count)
            VALUES (?1, 'cli', 'm1', ?2, ?3, ?4, ?5 * 10, ?5 * 5, ?5, 0.0, 'unknown', ?5)";
        self.db.execute(insert, params![id, parent, at as f64 + 0.5, tools, calls]).unwrap();
        let models =
            "INSERT INTO session_model_usage (session_id, model, api_call_count, input_tokens, output_tokens,
            cache_read_tokens, cost_status) VALUES (?1, 'm1', ?2, ?2 * 10, ?2 * 5, ?2, 'unknown')";
        self.db.execute(models, params![id, calls]).unwrap();
    }

    fn said(&self, session: &str, name: &str, arguments: &Value) {
        let calls = json!([{"id": "call_1", "function": {"name": name, "arguments": arguments.to_string()}}]);
        let insert =
            "INSERT INTO messages (session_id, role, tool_calls, timestamp) VALUES (?1, 'assistant', ?2, 0)";
        self.db.execute(insert, params![session, calls.to_string()]).unwrap();
    }

    /// A line of the profile's log, written so many seconds after the start.
    fn log(&self, after: i64, session: &str, rest: &str) {
        let at = Local.timestamp_opt(FROM + after, 0).unwrap().format("%Y-%m-%d %H:%M:%S");
        self.desk.append("profiles/luna/logs/agent.log", format!("{at},678 INFO [{session}] {rest}\n"));
    }

    fn begins(&self, after: i64, session: &str, task: &str) {
        let said =
            format!("conversation turn: session={session} model=m1 provider=custom platform=cli history=0");
        self.log(after, session, &format!("agent.turn_context: {said} msg='work kanban task {task}'"));
    }

    fn works(&self, after: i64, session: &str, call: u64) {
        let said = format!(
            "API call #{call}: model=m1 provider=custom in=11 out=5 total=16 latency=0.8s cache=1/11 (9%)"
        );
        self.log(after, session, &format!("agent.conversation_loop: {said}"));
        self.log(after, session, "agent.tool_executor: tool terminal completed (0.04s, 50 chars)");
    }

    fn read(&mut self) -> Usage {
        let (root, log) = (self.desk.dir.path().to_owned(), self.desk.path("t_1.log"));
        let ask = UsageAsk {
            profile: Some("luna"),
            root: Some(&root),
            worker_log: Some(&log),
            from: Time(FROM),
            to: Some(Time(FROM + 600)),
            ..ask(None, &self.prices)
        };
        read(&ask, &mut self.desk.cache)
    }
}

#[test]
fn a_running_worker_is_known_by_its_profiles_log() {
    let mut hermes = Hermes::new();
    assert_eq!(hermes.read(), Usage::unknown("no log or store tells what this attempt used"));
    hermes.session("s1", None, FROM + 5, 6, 7);
    for path in ["/w/a", "/w/b", "/w/a", "/w/a"] {
        hermes.said("s1", "read_file", &json!({"path": path}));
    }
    hermes.said("s1", "write_file", &json!({"path": "/w/b", "content": "x"}));
    hermes.said("s1", "terminal", &json!({"command": "make"}));
    hermes.said("s1", "terminal", &json!({"command": "make"}));
    hermes.begins(5, "s1", "t_1");
    hermes.begins(6, "s2", "t_2");
    (1..7).for_each(|n| hermes.works(7, "s1", n));
    hermes.log(8, "s1", "agent.tool_executor: Tool terminal returned error (0.04s): exit 1");
    hermes.log(8, "s2", "agent.tool_executor: Tool terminal returned error (0.04s): exit 1");
    let usage = hermes.read();
    let told = [
        usage.turns,
        usage.tool_calls,
        usage.tool_errors,
        usage.compactions,
        usage.identical_calls,
        usage.edits,
    ];
    assert_eq!(told, [6, 7, 1, 0, 2, 1].map(Some), "{usage:?}");
    assert_eq!(usage.tokens, Some(Tokens { input: 60, cache_write: 0, cache_read: 6, output: 30 }));
    assert_eq!(usage.rereads, [Reread { file: "/w/a".into(), times: 3 }]);
    assert_eq!((usage.cost, usage.unknown.clone()), (None, vec!["no price for m1".to_owned()]));
    assert_eq!(
        (usage.format.as_deref(), usage.model.as_deref(), usage.is_least),
        (Some("hermes"), Some("m1"), false)
    );
    assert!(usage.source.unwrap().ends_with("/profiles/luna/state.db#s1"));
}

#[test]
fn of_all_attempts_in_a_worker_log_only_those_of_the_window_count() {
    let mut hermes = Hermes::new();
    hermes.session("early", None, FROM - 900, 50, 50);
    hermes.session("s1", None, FROM + 5, 2, 1);
    hermes.session("late", None, FROM + 5_000, 50, 50);
    // The next attempt started while this one's last words may still have been written.
    hermes.session("next", None, FROM + 660, 50, 50);
    let log = "Query: work kanban task t_1\nSession:        early\nMessages:       9 (1 user, 8 tool calls)\n\
               Query: work kanban task t_1\nsession_id: s1\nSession:        late\nSession:        next\nSession:        gone\n";
    hermes.desk.write("t_1.log", log);
    let usage = hermes.read();
    assert_eq!((usage.turns, usage.tool_calls, usage.tool_errors), (Some(2), Some(1), None));
    assert_eq!(usage.unknown.len(), 2, "{:?}", usage.unknown);
    assert!(says(&usage, "which tool calls failed"));
    hermes.begins(5, "s1", "t_1");
    (1..3).for_each(|n| hermes.works(7, "s1", n));
    hermes.begins(660, "next", "t_1");
    (1..4).for_each(|n| hermes.works(661, "next", n));
    hermes.log(8, "s1", "agent.tool_executor: Tool terminal returned error (0.04s): exit 1");
    let usage = hermes.read();
    assert_eq!((usage.turns, usage.tool_calls, usage.tool_errors), (Some(2), Some(1), Some(1)));
    assert_eq!(usage.unknown, ["no price for m1"]);
}

#[test]
fn helpers_and_subagents_cost_but_take_no_turns() {
    let mut hermes = Hermes::new();
    hermes.session("s1", None, FROM + 5, 2, 1);
    hermes.session("child", Some("s1"), FROM + 9, 3, 4);
    hermes.session("on", Some("s0"), FROM + 2, 10, 10);
    hermes.session("s0", None, FROM + 1, 4, 4);
    hermes.db.execute("UPDATE sessions SET end_reason = 'compression' WHERE id = 's0'", []).unwrap();
    let aux = "INSERT INTO session_model_usage (session_id, model, task, input_tokens, output_tokens, estimated_cost_usd)
        VALUES ('s1', 'claude-haiku-4-5', 'title_generation', 1000, 100, 0.0)";
    hermes.db.execute(aux, []).unwrap();
    hermes.begins(1, "s0", "t_1");
    hermes.begins(5, "s1", "t_1");
    for session in ["s1", "child", "on", "stranger"] {
        hermes.log(9, session, "agent.tool_executor: Tool patch returned error (0.04s): no");
    }
    let mut config = Config::default();
    let keys = PriceKeys { input: Some(1.0), output: Some(2.0), ..PriceKeys::default() };
    config.prices = [("m1".to_owned(), keys)].into();
    hermes.prices = Prices::of(&config);
    let usage = hermes.read();
    assert_eq!(
        (usage.turns, usage.tool_calls, usage.compactions),
        (Some(16), Some(19), Some(1)),
        "{usage:?}"
    );
    assert_eq!(usage.tool_errors, Some(3));
    assert!(says(&usage, "a part of the profile's log is gone"), "it tells of no call of theirs");
    let tokens = usage.tokens.unwrap();
    assert_eq!((tokens.input, tokens.output), (190 + 1_000, 95 + 100));
    let own = 190 * 1_000 + 19 * 100 + 95 * 2_000;
    assert_eq!(usage.cost, Some(Money(own + 1_000 * 1_000 + 100 * 5_000)));
    hermes
        .db
        .execute("UPDATE session_model_usage SET actual_cost_usd = 0.5, cost_status = 'actual'", [])
        .unwrap();
    assert_eq!(hermes.read().cost, Some(Money(5 * 500_000_000)), "what Hermes states goes before our table");
}

#[test]
fn without_a_store_the_profiles_log_tells_call_by_call() {
    let mut hermes = Hermes::new();
    let db = hermes.desk.path("profiles/luna/state.db");
    hermes.begins(-50, "old", "t_1");
    hermes.works(-49, "old", 1);
    hermes.begins(5, "s1", "t_1");
    (1..4).for_each(|n| hermes.works(7, "s1", n));
    let usage = hermes.read();
    assert_eq!((usage.turns, usage.tool_calls, usage.tool_errors), (Some(3), Some(3), Some(0)));
    assert_eq!(usage.tokens, Some(Tokens { input: 30, cache_write: 0, cache_read: 3, output: 15 }));
    assert_eq!((usage.cost, usage.compactions, usage.is_least), (None, None, true));
    assert!(
        says(&usage, "state.db tells of no session that began within the attempt"),
        "{:?}",
        usage.unknown
    );
    fs::write(&db, "no database, and long enough to be looked at as one by anybody who does").unwrap();
    assert!(says(&hermes.read(), "state.db: file is not a database"));
    fs::remove_file(&db).unwrap();
    assert_eq!(hermes.read().turns, Some(3));
    // The log is rotated away, and goes on in a new one.
    let log = hermes.desk.path("profiles/luna/logs/agent.log");
    fs::rename(&log, hermes.desk.path("profiles/luna/logs/agent.log.1")).unwrap();
    fs::write(&log, "").unwrap();
    hermes.works(9, "s1", 4);
    assert_eq!(hermes.read().turns, Some(4));
}

#[test]
fn after_a_compaction_in_place_the_least_is_told() {
    let mut hermes = Hermes::new();
    hermes.session("s1", None, FROM + 5, 9, 1);
    (0..5).for_each(|n| hermes.said("s1", "terminal", &json!({"command": n})));
    hermes.db.execute("UPDATE messages SET active = 0, compacted = 1", []).unwrap();
    hermes.said("s1", "terminal", &json!({"command": 4}));
    hermes.begins(5, "s1", "t_1");
    (1..10).for_each(|n| hermes.works(7, "s1", n));
    let usage = hermes.read();
    assert_eq!((usage.turns, usage.tool_calls, usage.compactions), (Some(9), Some(5), Some(1)));
    assert!(usage.is_least && says(&usage, "after a compaction"), "{usage:?}");
}

#[test]
fn an_older_store_is_read_as_far_as_it_goes() {
    let mut hermes = Hermes::new();
    hermes.session("s1", None, FROM + 5, 2, 1);
    hermes.begins(5, "s1", "t_1");
    hermes.db.execute_batch("DROP TABLE session_model_usage; DROP TABLE messages").unwrap();
    let usage = hermes.read();
    assert_eq!((usage.turns, usage.tool_calls, usage.tokens.unwrap().input), (Some(2), Some(1), 20));
    hermes.db.execute_batch("ALTER TABLE sessions DROP COLUMN api_call_count").unwrap();
    assert_eq!(hermes.read().turns, Some(0), "no call in the log");
}

/// A row of any sort, written so many seconds after the start.
fn row(
    hermes: &Hermes,
    session: &str,
    after: i64,
    role: &str,
    content: &str,
    calls: Option<Value>,
    answers: &str,
) {
    let insert = "INSERT INTO messages (session_id, role, content, tool_calls, tool_call_id, timestamp)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let calls = calls.map(|calls| calls.to_string());
    hermes
        .db
        .execute(insert, params![session, role, content, calls, answers, (FROM + after) as f64])
        .unwrap();
}

fn one_call(id: &str, command: &str) -> Option<Value> {
    let arguments = json!({"command": command}).to_string();
    Some(json!([{"id": id, "function": {"name": "terminal", "arguments": arguments}}]))
}

/// What heal learns, and what it learns that remembers nothing.
fn fares(hermes: &mut Hermes) -> Vitals {
    let (root, log) = (hermes.desk.dir.path().to_owned(), hermes.desk.path("t_1.log"));
    let prices = Prices::default();
    let ask = UsageAsk {
        profile: Some("luna"),
        root: Some(&root),
        worker_log: Some(&log),
        from: Time(FROM),
        ..ask(None, &prices)
    };
    let known = crate::attempt::vitals::read(&ask, None, &mut hermes.desk.cache).unwrap();
    let anew = crate::attempt::vitals::read(&ask, None, &mut Cache::in_memory()).unwrap();
    assert_eq!(known, anew, "read on as if read at once");
    known
}

#[test]
fn messages_are_read_on_where_the_last_pass_stopped() {
    let mut hermes = Hermes::new();
    hermes.session("s1", None, FROM + 5, 9, 0);
    hermes.begins(5, "s1", "t_1");
    row(&hermes, "s1", 5, "user", "work kanban task t_1", None, "");
    assert_eq!(fares(&mut hermes).turn, Turn::Model);
    for n in 0..6 {
        let (id, at) = (format!("c{n}"), 10 + 10 * n);
        hermes.works(at, "s1", u64::try_from(n).unwrap() + 1);
        row(&hermes, "s1", at, "assistant", "", one_call(&id, "make"), "");
        assert_eq!(fares(&mut hermes).turn, Turn::Tool { since: Time(FROM + at) });
        row(&hermes, "s1", at + 2, "tool", r#"{"output": "no", "exit_code": 2}"#, None, &id);
        let told = fares(&mut hermes);
        assert_eq!(told.failing.map(|f| f.times), Some(u64::try_from(n).unwrap() + 1));
        assert_eq!((told.turn, told.active), (Turn::Model, Some(Time(FROM + at + 2))));
    }
    // A compaction in place writes the newest call once more; what it does is not done again.
    hermes.db.execute("UPDATE messages SET active = 0, compacted = 1", []).unwrap();
    row(&hermes, "s1", 100, "user", "[CONTEXT COMPACTION]", None, "");
    row(&hermes, "s1", 100, "assistant", "", one_call("c5", "make"), "");
    row(&hermes, "s1", 100, "tool", r#"{"output": "no", "exit_code": 2}"#, None, "c5");
    let told = fares(&mut hermes);
    assert_eq!((told.calls, told.errors, told.compactions), (Some(6), Some(6), Some(1)), "{told:?}");
    row(&hermes, "s1", 110, "assistant", "", one_call("c6", "make"), "");
    row(&hermes, "s1", 111, "tool", r#"{"output": "no", "exit_code": 2}"#, None, "c6");
    assert_eq!(fares(&mut hermes).failing.map(|f| f.times), Some(7));
    row(&hermes, "s1", 120, "assistant", "Done.", None, "");
    assert_eq!(fares(&mut hermes).turn, Turn::Over);
    // The sums of budget-check are of the same reading.
    let usage = hermes.read();
    assert_eq!((usage.tool_calls, usage.identical_calls), (Some(7), Some(7)), "{usage:?}");
}

#[test]
fn the_same_call_of_hermes_again_is_a_repetition_where_its_answer_is() {
    let refused = |n: i64| {
        let said = format!("BLOCKED: You have called read_file on this exact region {n} times");
        json!({"error": said, "already_read": n, "guardrail_refusal": true}).to_string()
    };
    type Answer<'a> = &'a dyn Fn(i64) -> String;
    let table: [(&str, Answer<'_>, u64); 4] = [
        ("polls", &|n| format!(r#"{{"output": "{n} of 8 pass", "exit_code": 8}}"#), 1),
        ("repeats", &|_| r#"{"output": "no", "exit_code": 2}"#.into(), 6),
        (
            "is warned",
            &|n| format!("{{\"output\": \"no\", \"exit_code\": 2}}\n\n[Tool loop warning: x; count={n}; x]"),
            6,
        ),
        ("is refused", &|n| if n == 0 { r#"{"content": "1|x"}"#.into() } else { refused(n) }, 6),
    ];
    for (what, answer, longest) in table {
        let mut hermes = Hermes::new();
        hermes.session("s1", None, FROM + 5, 9, 0);
        hermes.begins(5, "s1", "t_1");
        for n in 0..6 {
            let id = format!("c{n}");
            row(&hermes, "s1", 10 + n, "assistant", "", one_call(&id, "gh pr checks"), "");
            hermes.read();
            row(&hermes, "s1", 10 + n, "tool", &answer(n), None, &id);
        }
        assert_eq!(hermes.read().identical_calls, Some(longest), "{what}");
    }
}

#[test]
fn what_a_subagent_of_hermes_does_counts_and_is_not_the_agents() {
    let mut hermes = Hermes::new();
    hermes.session("s1", None, FROM + 5, 1, 0);
    hermes.session("child", Some("s1"), FROM + 9, 12, 0);
    hermes.begins(5, "s1", "t_1");
    row(&hermes, "s1", 5, "user", "work kanban task t_1", None, "");
    let goal = json!({"goal": "build"}).to_string();
    let delegate = json!([{"id": "d1", "function": {"name": "delegate_task", "arguments": goal}}]);
    row(&hermes, "s1", 8, "assistant", "", Some(delegate), "");
    row(&hermes, "child", 9, "user", "build", None, "");
    for n in 0..12 {
        row(&hermes, "child", 20 + n, "assistant", "", one_call(&format!("k{n}"), "make"), "");
        row(&hermes, "child", 20 + n, "tool", r#"{"output": "", "exit_code": 2}"#, None, &format!("k{n}"));
    }
    let told = fares(&mut hermes);
    assert_eq!((told.failing, told.calls, told.errors), (None, Some(13), Some(12)));
    assert_eq!((told.turn, told.active), (Turn::Tool { since: Time(FROM + 8) }, Some(Time(FROM + 31))));
}

#[test]
fn a_store_without_answers_tells_sums_alone() {
    let mut hermes = Hermes::new();
    hermes.db.execute_batch("ALTER TABLE messages DROP COLUMN tool_call_id").unwrap();
    hermes.session("s1", None, FROM + 5, 2, 0);
    hermes.said("s1", "terminal", &json!({"command": "make"}));
    hermes.begins(5, "s1", "t_1");
    let told = fares(&mut hermes);
    assert_eq!((told.turn, told.calls, told.is_part), (Turn::Unknown, Some(1), true));
}

#[test]
fn api_calls_of_newer_versions_are_counted() {
    let mut hermes = Hermes::new();
    hermes.begins(5, "s1", "t_1");
    let said = "API call #1: model=m1 provider=custom in=11 out=5 total=16 latency=0.8s cache=1/11 (9%) id=x";
    hermes.log(7, "s1", &format!("agent.turn_usage: {said}"));
    let none = "API call #2: model=m1 provider=custom in=? out=? total=? latency=0.8s usage=unavailable";
    hermes.log(8, "s1", &format!("agent.turn_usage: {none}"));
    let usage = hermes.read();
    assert_eq!((usage.turns, usage.tokens.unwrap().input), (Some(1), 10), "{usage:?}");
}
