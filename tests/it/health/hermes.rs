//! The same for Hermes' own workers: what their session store and the log of their profile tell.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use shared::logs::health::Check;

use super::session::Session;
use crate::support::{Kept, TestBoard, now, worker};

/// Where the model's context is known to hold 200,000 tokens.
const ENDPOINT: &str = "http://127.0.0.1:9/v1";

/// The session stores of two versions of Hermes, as their own programs make them.
const STORES: [(&str, &str); 2] = [
    ("0.19.0", include_str!("../../fixtures/hermes-store/0.19.0.sql")),
    ("0.22.2", include_str!("../../fixtures/hermes-store/0.22.2.sql")),
];

/// A task that a worker of Hermes works on.
struct Work {
    board: TestBoard,
    task: String,
    worker: Kept,
}

impl Work {
    fn new(sessions: &[Session], schema: &str) -> Work {
        let mut work = Work::without_store();
        work.writes(sessions, schema);
        work
    }

    fn without_store() -> Work {
        let board = TestBoard::new();
        let task = super::task_id();
        board.add(&task, "ready");
        let worker = worker(&task, 1);
        let run = board.run_it(&task, Some(worker.pid()), 14_400);
        assert_eq!(run, 1);
        Work { board, task, worker }
    }

    fn home(&self) -> std::path::PathBuf {
        self.board.path().join("profiles/luna")
    }

    fn writes(&mut self, sessions: &[Session], schema: &str) {
        let home = self.home();
        knows_its_context(&home);
        fs::write(home.join("logs/agent.log"), logs(sessions, &self.task)).unwrap();
        let store = Connection::open(home.join("state.db")).unwrap();
        // 0.22.2 keeps what it says to the model in a table that nothing here reads.
        store.execute_batch(&format!("PRAGMA foreign_keys = OFF; {schema}")).unwrap();
        for session in sessions {
            write(&store, session, &self.task);
        }
    }

    /// Every alert is told and none is acted on.
    fn only_looks(&mut self) -> &mut Work {
        self.board.config.push_str("[heal.health_actions]\n");
        for check in Check::ALL {
            self.board.config.push_str(&format!("{:?} = \"ignore\"\n", check.as_str()));
        }
        self.board.config.push_str(PRICES);
        self
    }

    /// The checks of claudectl that find something.
    fn alerts(&self) -> Vec<&'static str> {
        let said = self.board.heal(&["-v"]).ok();
        let told = said.split_once("; ignored: ").map(|(_, told)| told).unwrap_or_default();
        let checks = Check::ALL.into_iter().take(10).map(Check::as_str);
        assert!(said.contains("skipped: worker alive"), "{said}");
        checks.filter(|name| told.contains(&format!("{name} ("))).collect()
    }

    fn vitals(&self) -> Value {
        let seen = self.board.heal(&["-n", "-v", "--json"]).json();
        seen["boards"][0]["seen"]["tasks"][0]["vitals"].clone()
    }
}

const PRICES: &str = "[prices.m1]\ninput = 1.0\ncache_read = 0.1\noutput = 10.0\n";

/// Hermes wrote down how much the model's context holds.
fn knows_its_context(home: &Path) {
    fs::create_dir_all(home.join("logs")).unwrap();
    fs::write(home.join("context_length_cache.yaml"), format!("context_lengths:\n  m1@{ENDPOINT}: 200000\n"))
        .unwrap();
}

fn logs(sessions: &[Session], task: &str) -> String {
    sessions.iter().map(|s| s.log(task)).collect()
}

/// Writes a session as Hermes does.
fn write(store: &Connection, session: &Session, task: &str) {
    let rows = session.rows(task);
    let began = rows.first().map_or(now() as f64, |row| row["timestamp"].as_f64().unwrap() - 1.0);
    let [input, cached, output] = session.used;
    let insert =
        "INSERT INTO sessions (id, source, model, parent_session_id, started_at, end_reason, input_tokens,
        cache_read_tokens, output_tokens, api_call_count, billing_base_url, cwd)
        VALUES (?1, 'cli', 'm1', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, '/w')";
    let values = params![
        session.id,
        session.parent,
        began,
        session.ended,
        input,
        cached,
        output,
        session.calls,
        ENDPOINT
    ];
    store.execute(insert, values).unwrap();
    for (n, row) in rows.iter().enumerate() {
        let insert =
            "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp,
            finish_reason, active, compacted) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let text = |key: &str| row[key].as_str().map(str::to_owned);
        let calls = row.get("tool_calls").map(Value::to_string);
        let is_old = n < session.compacted;
        let values = params![
            session.id,
            text("role"),
            text("content"),
            text("tool_call_id"),
            calls,
            text("tool_name"),
            row["timestamp"].as_f64(),
            text("finish_reason"),
            !is_old,
            is_old
        ];
        store.execute(insert, values).unwrap();
    }
}

/// Sessions in which something is wrong, with the checks of claudectl that find it.
pub fn sick() -> Vec<(&'static str, Session, Vec<&'static str>)> {
    let mut all = Vec::new();
    let mut add = |what, session: &Session, checks: &[&'static str]| {
        all.push((what, session.clone(), checks.to_vec()));
    };
    add("nothing is written for two hours", &Session::new(7_200), &["Stalled"]);

    let mut s = Session::new(900);
    (0..12).for_each(|n| {
        s.ran(800 - 60 * n, "make", 2);
    });
    add("one call fails again and again", &s, &["Loop detected"]);

    let mut s = Session::new(900);
    (0..4).for_each(|n| {
        s.read(300 - 10 * n, "/w/a.rs", "fn main() {}");
    });
    add("one file is read again and again", &s, &["Repetition"]);

    let mut s = Session::new(4_000);
    (0..15).for_each(|n| {
        s.ran(3_900 - 200 * n, &format!("step {n}"), 0);
    });
    (0..7).for_each(|n| {
        s.ran(200 - 20 * n, &format!("try {n}"), 1);
    });
    add("all that is tried lately fails", &s, &["Error acceleration"]);

    let mut s = Session::new(4_000);
    (0..15).for_each(|n| {
        s.api(3_901 - 200 * n, [60_000, 55_000, 5_000]).ran(3_900 - 200 * n, &format!("step {n}"), 0);
    });
    (0..4).for_each(|n| {
        s.api(201 - 40 * n, [90_000, 60_000, 60_000]).ran(200 - 40 * n, &format!("dear {n}"), 0);
    });
    add("it costs much more than before", &s, &["Cost spike"]);

    for (context, checks) in [
        (120_000, &["Consider compact"][..]),
        (165_000, &["Context saturation"][..]),
        (188_000, &["Context saturation", "Cognitive decay"][..]),
    ] {
        let mut s = Session::new(900);
        (0..3).for_each(|n| {
            s.api(300 - 10 * n, [context, context - 1_000, 10]).ran(299 - 10 * n, "x", 0);
        });
        add("the context fills", &s, checks);
    }

    let mut s = Session::new(900);
    (0..4).for_each(|n| {
        s.api(300 - 10 * n, [20_000, 400, 10]).ran(299 - 10 * n, &format!("{n}"), 0);
    });
    add("hardly anything comes from the cache", &s, &["Low cache"]);

    let mut s = Session::new(4_000);
    (0..14).for_each(|n| {
        let new = if n < 6 { 500 } else { 4_000 };
        s.api(3_901 - 200 * n, [40_000, 40_000 - new, 100]).wrote(3_900 - 200 * n, &format!("/w/{n}"));
    });
    add("an edit takes more and more tokens", &s, &["Token efficiency"]);
    all
}

/// Sessions in which nothing is wrong, whatever it may look like.
pub fn healthy() -> Vec<(&'static str, Vec<Session>)> {
    let mut all: Vec<(&'static str, Vec<Session>)> = Vec::new();
    let mut add = |what, session: &Session| all.push((what, vec![session.clone()]));

    let mut s = Session::new(60);
    s.api(51, [9_000, 8_000, 20]).ran(50, "ls", 0).api(41, [9_100, 9_000, 20]).says(40, "Done.", "stop");
    add("short work", &s);

    let mut s = Session::new(3_000);
    s.api(1_501, [9_000, 8_000, 20]).ran(1_500, "ls", 0);
    add("a generation of 25 minutes", &s);

    let mut s = Session::new(6_000);
    s.ran(5_000, "ls", 0).calls(3_900, &[("terminal", json!({"command": "make world"}))]);
    add("a build of 65 minutes", &s);

    let mut s = Session::new(3_000);
    (0..60).for_each(|n| {
        s.read(2_900 - 40 * n, &format!("/w/{n}.rs"), &format!("text {n}"));
    });
    add("many files read", &s);

    let mut s = Session::new(3_000);
    for n in 0..8 {
        s.wrote(2_900 - 300 * n, "/w/a.rs").ran(2_800 - 300 * n, "cargo test", 101).read(
            2_750 - 300 * n,
            "/w/a.rs",
            &format!("version {n}"),
        );
    }
    s.ran(100, "cargo test", 0);
    add("tests that fail before they pass", &s);

    let mut s = Session::new(3_000);
    (0..9).for_each(|n| {
        s.ran(1_400 - 30 * n, "curl http://127.0.0.1:9", 7);
    });
    s.ran(1_000, "curl http://127.0.0.1:9", 0).ran(900, "next", 0);
    add("a server that comes up at the tenth try", &s);

    let mut s = Session::new(3_000);
    (0..20).for_each(|n| {
        s.api(2_901 - 100 * n, [60_000, 59_000, 50]).read(2_900 - 100 * n, "/w/a.rs", &format!("text {n}"));
    });
    s.compacts(900, 8).api(801, [30_000, 0, 50]).read(800, "/w/a.rs", "text 20").ran(700, "make", 0);
    add("a compaction that writes again what it keeps", &s);

    let mut s = Session::new(6_000);
    s.calls(200, &[("clarify", json!({"question": "Which lamp?"}))]);
    add("a person who is asked", &s);

    let mut s = Session::new(3_000);
    for n in 0..6 {
        let ago = 2_900 - 400 * n;
        let calls: Vec<(&str, Value)> =
            (0..8).map(|k| ("search_files", json!({"pattern": format!("{n} {k}")}))).collect();
        for (k, id) in s.calls(ago, &calls).iter().enumerate() {
            s.answer(ago - 3, id, "search_files", &format!("{{\"total_count\": {n}{k}}}"));
        }
    }
    add("eight calls at once", &s);

    let mut s = Session::new(3_000);
    s.wrote(2_000, "/w/a.rs").says(1_700, "All done.", "verification_required").ran(1_600, "cargo test", 0);
    s.says(1_500, "All done.", "verify_hook_continue");
    add("asked again after an answer that has to be verified", &s);

    let mut s = Session::new(9_000);
    s.ran(8_900, "ls", 0);
    for n in 0..40 {
        let said =
            "agent.conversation_loop: API call failed (attempt 3/9) base_url=http://h summary=HTTP 503";
        s.line(8_000 - 200 * n, said);
    }
    add("a provider that is tried again for two hours", &s);

    let mut s = Session::new(6_000);
    (0..40).for_each(|n| {
        s.did(
            5_900 - 140 * n,
            "process",
            json!({"action": "wait", "session_id": "p1"}),
            "{\"status\": \"running\"}",
        );
    });
    add("a build in the background that is waited for", &s);

    let mut s = Session::new(3_000);
    (0..30).for_each(|n| {
        s.ran(2_900 - 90 * n, &format!("grep x{n} -r ."), i64::from(n % 3 == 0));
    });
    add("searches of which a third finds nothing", &s);

    let mut s = Session::new(3_000);
    s.did(2_900, "fly", json!({}), "{\"output\": \"landed\"}").says(2_800, "Landed.", "stop");
    add("a turn that is over for 45 minutes", &s);

    let mut s = Session::new(9_000);
    s.calls(7_000, &[("delegate_task", json!({"goal": "count the lamps"}))]);
    let mut child = Session::named("s_child", Some("s_work"));
    child.user(7_000, "count the lamps");
    (0..20).for_each(|n| {
        child.ran(6_900 - 300 * n, &format!("count {n}"), 0);
    });
    all.push(("a subagent at work for two hours", vec![s, child]));

    let mut s = Session::new(6_000);
    (0..3).for_each(|n| {
        s.read(5_900 - 10 * n, &format!("/w/{n}"), "lamp");
    });
    s.read(5_000, "/w/a.rs", "lamp").ended = Some("compression");
    let mut next = Session::named("s_next", Some("s_work"));
    next.user(4_900, "[CONTEXT COMPACTION] what was done so far");
    for row in &s.rows[s.rows.len() - 2..] {
        let mut row = row.clone();
        row["ago"] = json!(4_900);
        next.rows.push(row);
    }
    next.read(1_000, "/w/a.rs", "lamp");
    all.push(("gone on with in a new session after a compaction", vec![s, next]));
    all
}

/// Workers whose sessions the real Hermes writes down; `None` where it is to be left out.
#[cfg(feature = "real")]
fn really(all: &[Vec<Session>]) -> Option<Vec<Work>> {
    use std::io::Write;
    let home = crate::hermes::home::Home::bare()?;
    let mut works = Vec::new();
    let mut asked = Vec::new();
    for sessions in all {
        let work = Work::without_store();
        fs::create_dir_all(work.home().join("logs")).unwrap();
        fs::write(work.home().join("logs/agent.log"), logs(sessions, &work.task)).unwrap();
        let sessions: Vec<Value> = sessions.iter().map(|s| s.json(&work.task)).collect();
        asked.push(json!({"home": work.home(), "endpoint": ENDPOINT, "sessions": sessions}));
        works.push(work);
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hermes-sessions.py");
    let mut command = home.run("python");
    let mut python = command.arg(script).stdin(std::process::Stdio::piped()).spawn().unwrap();
    python.stdin.take().unwrap().write_all(json!(asked).to_string().as_bytes()).unwrap();
    assert!(python.wait().unwrap().success());
    Some(works)
}

#[test]
#[cfg(feature = "real")]
fn each_trigger_finds_what_is_wrong_in_hermes_own_store() {
    let sick = sick();
    let sessions: Vec<Vec<Session>> = sick.iter().map(|(_, s, _)| vec![s.clone()]).collect();
    let Some(works) = really(&sessions) else { return };
    for ((what, _, checks), mut w) in sick.into_iter().zip(works) {
        assert_eq!(w.only_looks().alerts(), checks, "{what}: {}", w.vitals());
    }
}

#[test]
#[cfg(feature = "real")]
fn no_trigger_finds_anything_wrong_with_healthy_work_in_hermes_own_store() {
    let healthy = healthy();
    assert!(healthy.len() >= 13);
    let sessions: Vec<Vec<Session>> = healthy.iter().map(|(_, s)| s.clone()).collect();
    let Some(works) = really(&sessions) else { return };
    for ((what, _), mut w) in healthy.into_iter().zip(works) {
        assert_eq!(w.only_looks().alerts(), Vec::<&str>::new(), "{what}: {}", w.vitals());
    }
}

#[test]
fn each_trigger_finds_what_is_wrong_with_a_worker_of_hermes() {
    for (what, session, checks) in sick() {
        for (version, schema) in STORES {
            let mut w = Work::new(std::slice::from_ref(&session), schema);
            assert_eq!(w.only_looks().alerts(), checks, "{what}, {version}: {}", w.vitals());
        }
    }
}

#[test]
fn healthy_work_of_hermes_is_never_acted_on() {
    for (what, sessions) in healthy() {
        let mut w = Work::new(&sessions, STORES[sessions[0].rows.len() % 2].1);
        assert_eq!(w.only_looks().alerts(), Vec::<&str>::new(), "{what}: {}", w.vitals());
        w.board.config = "[host]\npid_namespace = \"same\"\n[heal]\nallow_stop = \"on\"\n".into();
        let before = w.board.dump();
        let said = w.board.heal(&["-v"]).ok();
        assert!(said.contains("skipped: worker alive"), "{what}: {said}");
        assert_eq!(w.board.dump(), before, "{what}");
        assert!(w.worker.is_running(), "{what}");
    }
}

#[test]
fn a_worker_of_hermes_that_is_stalled_is_resumed_where_it_may_be_stopped() {
    let mut w = Work::new(&[Session::new(7_200)], STORES[0].1);
    let said = w.board.heal(&[]).ok();
    assert!(said.starts_with(&format!("{} tell: Stalled: nothing written for 2h", w.task)), "{said}");
    assert!(w.worker.is_running());
    let mut w = Work::new(&[Session::new(7_200)], STORES[1].1);
    w.board.config.push_str("[heal]\nallow_stop = \"on\"\n");
    w.board.watched();
    let said = w.board.heal(&[]).ok();
    assert!(said.starts_with(&format!("{} resume: Stalled", w.task)), "{said}");
    assert!(!w.worker.is_running() && w.board.task(&w.task, "status") == "ready");
    let comment = w.board.value("SELECT body FROM task_comments");
    assert!(comment.contains("model m1"), "{comment}");
}

#[test]
fn the_packet_of_a_killed_worker_of_hermes_says_what_it_did() {
    let mut s = Session::new(3_000);
    for n in 0..3 {
        let ago = 2_900 - 100 * n;
        s.api(ago + 1, [20_000, 15_000, 500]).wrote(ago, "/w/src/a.rs").ran(ago - 50, "cargo test", 101);
    }
    let patch =
        "*** Begin Patch\n*** Update File: src/b.rs\n@@\n-x\n+y\n*** Add File: src/c.rs\n+z\n*** End Patch";
    s.did(2_000, "patch", json!({"mode": "patch", "patch": patch}), r#"{"success": true, "diff": "..."}"#);
    s.read(1_950, "/w/src/d.rs", "fn d() {}");
    s.did(1_940, "fly", json!({}), "Tool 'fly' does not exist. Available tools: patch");
    s.api(1_901, [30_000, 29_000, 700]).calls(1_900, &[("terminal", json!({"command": "cargo bench"}))]);
    for (version, schema) in STORES {
        let mut w = Work::new(std::slice::from_ref(&s), schema);
        w.worker.kill();
        let vitals =
            w.board.later(60, &["-n", "-v", "--json"]).json()["boards"][0]["seen"]["tasks"][0]["vitals"]
                .clone();
        let of = |key: &str| vitals[key].clone();
        assert_eq!(
            (of("session"), of("format"), of("model")),
            (json!("s_work"), json!("hermes"), json!("m1"))
        );
        assert_eq!(
            (of("turns"), of("calls"), of("errors"), of("malformed")),
            (json!(4), json!(10), json!(4), json!(1))
        );
        assert_eq!((of("edits"), of("compactions"), of("hidden")), (json!(4), json!(0), json!(null)));
        assert_eq!((of("context"), of("window")), (json!(30_000), json!(200_000)));
        let since = vitals["turn"]["tool"]["since"].as_str().unwrap_or_default();
        assert_eq!(
            shared::base::time::Time::parse(since).map(|at| (now() - at.0 - 1_900).abs() <= 5),
            Some(true),
            "{vitals}"
        );
        assert_eq!(of("is_part"), json!(false), "{version}: {vitals}");
        let packet = w.board.later(60, &["--print-packet", &w.task]).ok();
        for line in [
            "- Attempt: model m1, 4 turns, 10 tool calls, 4 errors, 92200 tokens",
            "- UndoRedoLoop: /w/src/a.rs was edited again after a failure 2 times",
            "- Last calls: terminal: cargo test (failed), patch: src/b.rs, read_file: /w/src/d.rs, fly: {} (failed), terminal: cargo bench (no answer)",
            "- Files touched: /w/src/a.rs, src/b.rs, src/c.rs",
        ] {
            assert!(packet.contains(line), "{version}: {line}\n{packet}");
        }
    }
}

#[test]
fn of_a_worker_of_hermes_whose_store_cannot_be_read_it_is_said() {
    let mut w = Work::new(&[Session::new(7_200)], STORES[0].1);
    fs::write(w.home().join("state.db"), "no database, however long one looks at it, and it is long enough")
        .unwrap();
    fs::remove_file(w.home().join("logs/agent.log")).unwrap();
    w.board.log(&w.task, "Session: s_work\n");
    let said = w.board.heal(&["-v"]).ok();
    assert!(said.contains("its health is unknown") && said.contains("state.db"), "{said}");
    assert!(w.worker.is_running());
}
