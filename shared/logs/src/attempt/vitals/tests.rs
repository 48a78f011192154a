//! What recordings tell, and lines made after them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::agents::Homes;
use crate::agents::claude::slug;
use crate::attempt::usage::tests::ask;
use crate::session::Prices;
use crate::session::testing::{expected, recording};
use crate::usage::Tokens;
use crate::vitals::{Category, Finding, MAX_CALLS_TOLD, MAX_EDITED, MAX_SLICES, Pace, Severity, Turn};

mod lines;

use lines::{Log, session};

fn of(path: &Path) -> Vitals {
    read(&ask(Some(path), &Prices::default()), None, &mut Cache::in_memory()).unwrap()
}

fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn of_text(text: &str) -> Vitals {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "x.jsonl", text);
    Vitals { source: None, ..of(&path) }
}

fn recorded(name: &str) -> Vitals {
    of_text(&recording(name))
}

#[test]
fn sums_are_those_of_the_usage() {
    let files = expected("claude").into_iter().chain(expected("codex"));
    let prices = Prices::default();
    for (file, _) in files {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path(), "x.jsonl", recording(&file));
        let usage = crate::attempt::usage::read(&ask(Some(&path), &prices), &mut Cache::in_memory());
        let vitals = of(&path);
        assert_eq!(
            (vitals.turns, vitals.calls, vitals.errors, vitals.compactions),
            (usage.turns, usage.tool_calls, usage.tool_errors, usage.compactions),
            "{file}"
        );
        assert_eq!((vitals.tokens, vitals.cost), (usage.tokens, usage.cost), "{file}");
        assert_eq!((vitals.model, vitals.format), (usage.model, usage.format), "{file}");
        let of_slices = vitals.slices.iter().fold(Tokens::default(), |sum, s| sum.plus(s.tokens));
        assert_eq!(Some(of_slices), usage.tokens, "{file}");
    }
}

#[test]
fn recordings_say_whose_turn_it_is() {
    for (file, turn) in [
        ("claude/api_429_exhausted", Turn::Over),
        ("claude/auth_401", Turn::Over),
        ("claude/sigkill_dangling_tool", Turn::Tool { since: Time(1_795_248_475) }),
        ("claude/sigterm_during_tool", Turn::Tool { since: Time(1_795_249_348) }),
        ("claude/stream_cut_midmessage", Turn::Stream),
        ("claude/tools_errors_then_compact_resume", Turn::Over),
        ("codex/429_turn_failed", Turn::Over),
        ("codex/sigkill_dangling_call", Turn::Tool { since: Time(1_795_249_341) }),
        ("codex/tools_errors_ok", Turn::Over),
    ] {
        assert_eq!(recorded(&format!("{file}.jsonl")).turn, turn, "{file}");
    }
    // Line by line: a prompt, a tool, its answer, and the end of the turn.
    let text = recording("claude/tools_errors_then_compact_resume.jsonl");
    let after = |n: usize| of_text(&text.split_inclusive('\n').take(n).collect::<String>()).turn;
    assert_eq!(after(3), Turn::Model);
    assert!(matches!(after(8), Turn::Tool { .. }));
    // One of two tools has answered.
    assert!(matches!(after(10), Turn::Tool { .. }));
    assert_eq!(after(11), Turn::Model);
    assert_eq!(after(24), Turn::Over);
    assert_eq!(after(33), Turn::Over, "a compaction by hand is nobody's turn");
    assert_eq!(after(41), Turn::Model);
}

#[test]
fn a_recording_in_parts_is_the_same() {
    for file in ["claude/tools_errors_then_compact_resume.jsonl", "codex/tools_errors_ok.jsonl"] {
        let text = recording(file);
        let whole = of_text(&text);
        for tenth in 1..10 {
            let dir = tempfile::tempdir().unwrap();
            let at = text.len() * tenth / 10;
            let path = write(dir.path(), "x.jsonl", &text.as_bytes()[..at]);
            let (prices, mut cache) = (Prices::default(), Cache::in_memory());
            read(&ask(Some(&path), &prices), None, &mut cache);
            OpenOptions::new().append(true).open(&path).unwrap().write_all(&text.as_bytes()[at..]).unwrap();
            let parts = read(&ask(Some(&path), &prices), None, &mut cache).unwrap();
            assert_eq!(Vitals { source: None, ..parts }, whole, "{file} cut at {at}");
        }
    }
}

#[test]
fn a_recording_says_what_was_done() {
    let v = recorded("claude/tools_errors_then_compact_resume.jsonl");
    assert_eq!((v.malformed, v.edits, v.context, v.window), (Some(3), Some(1), Some(12_100), Some(200_000)));
    assert_eq!(v.edited, ["/home/dev/src/p1/new.txt"]);
    assert_eq!((v.cwd.as_deref(), v.is_part), (Some("/home/dev/src/p1"), false));
    assert_eq!(
        v.last_calls,
        [
            "NoSuchTool: {\"a\":1} (failed)",
            "Bash: {\"__unparsedToolInput\":{\"len\":23,\"raw\":\"{\\\"command\\\": \\\"echo hi\\\", \"}} (failed)",
            "Read: /home/dev/src/p1/missing.txt (failed)",
            "Read: /home/dev/src/p1/missing.txt (failed)",
            "Write: /home/dev/src/p1/new.txt"
        ]
    );
    assert_eq!(
        v.findings,
        [Finding {
            category: Category::ErrorCascade,
            severity: Severity::Info,
            said: "Read failed 2 times in a row".into()
        }]
    );
    assert_eq!(
        (v.failing, v.asked_again),
        (None, None),
        "the newest call went well, and then it was compacted"
    );
    assert_eq!(v.began.map(|t| t.to_string()).as_deref(), Some("2026-11-21T08:06:05Z"));
    let codex = recorded("codex/tools_errors_ok.jsonl");
    assert_eq!((codex.malformed, codex.window, codex.context), (Some(3), Some(258_400), Some(1_200)));
    assert_eq!(codex.session.as_deref(), Some("01a1fd32-6aa7-74d2-99bf-b9db6607e3b4"));
}

#[test]
fn only_a_run_of_one_failing_call_counts() {
    let mut log = Log::new();
    for n in 0..12 {
        log.call("Bash", json!({"command": "make"}), Err("no rule"));
        let failing = of_text(&log.text()).failing.unwrap();
        assert_eq!((failing.times, failing.call.as_str()), (n + 1, "Bash: make"));
    }
    let mut other = log.clone();
    other.call("Bash", json!({"command": "make all"}), Err("no rule"));
    assert_eq!(of_text(&other.text()).failing.unwrap().times, 1);
    log.call("Bash", json!({"command": "make"}), Ok("done"));
    assert_eq!(of_text(&log.text()).failing, None);
}

#[test]
fn ordinary_re_reading_is_no_repetition() {
    let most = |log: &Log| of_text(&log.text()).asked_again.map_or(1, |again| again.times);
    let read = |log: &mut Log, file: &str, says: &str| log.call("Read", json!({"file_path": file}), Ok(says));
    // The same question with the same answer, and nothing else.
    let mut log = Log::new();
    for n in 1..=4 {
        read(&mut log, "/a", "one");
        assert_eq!(most(&log), n);
    }
    // Two of them in turn.
    let mut two = Log::new();
    for _ in 0..4 {
        read(&mut two, "/a", "one");
        read(&mut two, "/b", "two");
    }
    assert_eq!(most(&two), 4);
    // Something else in between, whatever it is.
    for other in [
        ("Bash", json!({"command": "ls"})),
        ("Edit", json!({"file_path": "/b"})),
        ("Read", json!({"file_path": "/new"})),
    ] {
        let mut log = Log::new();
        for n in 0..6 {
            read(&mut log, "/a", "one");
            let mut input = other.1.clone();
            input["n"] = json!(n);
            log.call(other.0, input, Ok("something new"));
        }
        assert!(most(&log) <= 2, "{other:?} {}", most(&log));
    }
    // A file that changes, and other parts of one file.
    let mut log = Log::new();
    for n in 0..6 {
        read(&mut log, "/log", &format!("line {n}"));
        log.call("Read", json!({"file_path": "/long", "offset": n * 100}), Ok("part"));
    }
    assert_eq!(most(&log), 1);
    // Searches count too; a compaction forgets.
    let mut log = Log::new();
    (0..3).for_each(|_| log.call("Grep", json!({"pattern": "x"}), Ok("nothing")));
    assert_eq!(most(&log), 3);
    log.line(json!({"type": "system", "subtype": "compact_boundary"}));
    log.call("Grep", json!({"pattern": "x"}), Ok("nothing"));
    assert_eq!(most(&log), 1);
}

#[test]
fn interrupted_tools_are_not_awaited_for_ever() {
    let mut log = Log::new();
    log.calls("Bash", json!({"command": "sleep 9999"}));
    assert!(matches!(of_text(&log.text()).turn, Turn::Tool { .. }));
    let mut asked = log.clone();
    asked.user("no, something else");
    assert_eq!(of_text(&asked.text()).turn, Turn::Model);
    let mut stopped = log.clone();
    stopped.user("[Request interrupted by user for tool use]");
    assert_eq!(of_text(&stopped.text()).turn, Turn::Over);
    log.call("Bash", json!({"command": "ls"}), Ok("x"));
    assert_eq!(of_text(&log.text()).turn, Turn::Model, "the API was asked again, so nothing is open");
}

#[test]
fn a_question_waits_for_a_person() {
    let mut log = Log::new();
    log.calls("AskUserQuestion", json!({"questions": []}));
    assert!(matches!(of_text(&log.text()).turn, Turn::Person { .. }));
}

#[test]
fn a_version_that_never_says_why_it_stopped_tells_no_cut_stream() {
    let mut log = Log::new();
    log.line(
        json!({"type": "assistant", "message": {"id": "m1", "model": "claude-opus-4-8", "stop_reason": null,
        "content": [{"type": "text", "text": "done"}]}}),
    );
    assert_eq!(of_text(&log.text()).turn, Turn::Unknown);
    log.says("well", None);
    log.says("well", Some("end_turn"));
    log.says("and", None);
    assert_eq!(of_text(&log.text()).turn, Turn::Stream);
}

#[test]
fn subagents_are_at_work_and_count() {
    let dir = tempfile::tempdir().unwrap();
    let mut main = Log::new();
    main.call("Read", json!({"file_path": "/a"}), Ok("x"));
    let path = write(dir.path(), "s.jsonl", main.text());
    assert_eq!(of(&path).turn, Turn::Model);
    let mut side = Log::new();
    side.skip(3_600);
    side.user("look");
    side.call("Edit", json!({"file_path": "/b"}), Err("no"));
    side.calls("Bash", json!({"command": "sleep 900"}));
    let text: String = side
        .all()
        .iter()
        .map(|l| {
            let mut l = l.clone();
            l["isSidechain"] = json!(true);
            format!("{l}\n")
        })
        .collect();
    write(dir.path(), "s/subagents/agent-1.jsonl", text);
    let v = of(&path);
    assert!(matches!(v.turn, Turn::Tool { .. }), "{:?}", v.turn);
    assert_eq!((v.calls, v.errors, v.edits), (Some(3), Some(1), Some(1)));
    assert!(v.active.unwrap().since(Log::BEGAN) > 3_600);
    assert_eq!((v.edited.as_slice(), v.turns), (&["/b".to_owned()][..], Some(1)));
    assert_eq!(v.failing, None, "a subagent's failure is not the agent's loop");
}

#[test]
fn a_subagent_between_the_agents_own_lines_is_not_the_agent() {
    let mut main = Log::new();
    main.call("Read", json!({"file_path": "/a"}), Ok("x"));
    let own = main.text();
    let mut side = Log::new();
    (0..12).for_each(|_| side.call("Bash", json!({"command": "make"}), Err("no")));
    let mark = |l: &Value| {
        let mut l = l.clone();
        l["isSidechain"] = json!(true);
        format!("{l}\n")
    };
    let inline: String = side.all().iter().map(mark).collect();
    let v = of_text(&format!("{own}{inline}"));
    assert_eq!((v.failing.clone(), v.turns, v.errors), (None, Some(1), Some(12)), "{v:?}");
    assert_eq!(of_text(&inline).failing.map(|f| f.times), Some(12), "a log of its own");
}

#[test]
fn edits_have_a_pace_and_files_a_history() {
    let mut log = Log::new();
    for n in 0..10_u64 {
        log.tokens = if n < 5 { 100 } else { 500 };
        log.call("Edit", json!({"file_path": "/a", "n": n}), Ok("ok"));
        log.call("Bash", json!({"command": "make"}), Err("failed"));
    }
    let v = of_text(&log.text());
    assert_eq!(v.pace, Some(Pace { edits: 10, first: 180, newest: 920 }), "new tokens only");
    let found: Vec<_> = v.findings.iter().map(|f| (f.category, f.severity)).collect();
    assert_eq!(found, [(Category::UndoRedoLoop, Severity::Critical)]);
    let mut reads = Log::new();
    (0..5).for_each(|_| reads.call("Read", json!({"file_path": "/a", "offset": 7}), Ok("x")));
    assert_eq!(of_text(&reads.text()).findings[0].category, Category::WastedReads);
    let mut bloat = Log::new();
    for n in 0..8 {
        bloat.context = 10_000 * (n + 1);
        bloat.call("Bash", json!({"command": "cat", "n": n}), Ok("x"));
    }
    assert_eq!(
        of_text(&bloat.text()).findings[0].said,
        "8 API calls without an edit filled 35 % of the context"
    );
}

#[test]
fn patches_of_codex_name_their_files() {
    let call = |at: &str, payload: Value| json!({"timestamp": format!("2026-11-21T08:00:{at}Z"), "type": "response_item", "payload": payload});
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** Add File: b.md\n*** End Patch";
    let all = [
        json!({"timestamp": "2026-11-21T08:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}),
        call(
            "01",
            json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "1", "input": patch}),
        ),
        call(
            "02",
            json!({"type": "custom_tool_call_output", "call_id": "1", "output": "Exit code: 0\nOutput:\nok"}),
        ),
    ];
    let v = of_text(&all.iter().map(|l| format!("{l}\n")).collect::<String>());
    assert_eq!((v.edits, v.edited), (Some(1), vec!["src/a.rs".to_owned(), "b.md".to_owned()]));
    assert_eq!((v.turn, v.session.as_deref()), (Turn::Model, Some("s")));
}

#[test]
fn only_the_attempts_own_lines_count() {
    let mut log = Log::new();
    (0..9).for_each(|_| log.call("Bash", json!({"command": "make"}), Err("no")));
    log.skip(7_200);
    log.user("again");
    log.call("Bash", json!({"command": "make"}), Err("no"));
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "x.jsonl", log.text());
    let prices = Prices::default();
    let second = UsageAsk { from: Log::BEGAN.plus(7_000), ..ask(Some(&path), &prices) };
    let v = read(&second, None, &mut Cache::in_memory()).unwrap();
    assert_eq!((v.failing.unwrap().times, v.calls), (1, Some(1)));
}

#[test]
fn what_cannot_be_read_is_hidden_and_what_is_not_there_is_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let prices = Prices::default();
    let at = |path: &Path| read(&ask(Some(path), &prices), None, &mut Cache::in_memory());
    assert_eq!(at(&dir.path().join("none.jsonl")), None);
    assert!(at(Path::new("x.jsonl")).unwrap().hidden.unwrap().contains("not an absolute path"));
    let folder = dir.path().join("folder.jsonl");
    fs::create_dir(&folder).unwrap();
    assert!(at(&folder).unwrap().hidden.unwrap().contains("not a regular file"));
    let plain = write(dir.path(), "plain.jsonl", "nothing of an agent\n");
    assert_eq!(at(&plain), None);
    let closed = write(dir.path(), "closed.jsonl", Log::new().text());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if !rustix::process::geteuid().is_root() {
        assert!(at(&closed).unwrap().hidden.is_some());
    }
}

/// Claude Code's own folder with sessions of one project.
struct Home {
    dir: tempfile::TempDir,
    work: PathBuf,
}

impl Home {
    fn new() -> Home {
        let dir = tempfile::tempdir().unwrap();
        let work = fs::canonicalize(dir.path()).unwrap().join("work");
        fs::create_dir(&work).unwrap();
        Home { dir, work }
    }

    fn session(&self, id: &str, log: &Log) {
        let slug = slug(&self.work);
        let text = log.text().replace("/w0", self.work.to_str().unwrap());
        write(self.dir.path(), &format!("projects/{slug}/{id}.jsonl"), text);
    }

    fn read(&self, worker: Option<Worker>) -> Option<Vitals> {
        let prices = Prices::default();
        let homes = Homes::NONE.with("claude", self.dir.path());
        let ask = UsageAsk { homes: &homes, workspace: Some(&self.work), ..ask(None, &prices) };
        read(&ask, worker, &mut Cache::in_memory())
    }
}

#[test]
fn a_session_is_found_by_its_folder_only_where_it_is_the_only_one() {
    let home = Home::new();
    assert_eq!(home.read(None), None);
    home.session("one", &session(3));
    assert_eq!(home.read(None).unwrap().calls, Some(3));
    let of_hermes = Worker { pid: 7, ticks: None, of_hermes: true };
    assert_eq!(home.read(Some(of_hermes)), None, "somebody else's: Hermes started the worker");
    home.session("two", &session(5));
    assert!(home.read(None).unwrap().hidden.unwrap().contains("two sessions"));
}

#[test]
fn a_pointer_leads_to_the_workers_own_session() {
    let home = Home::new();
    home.session("one", &session(3));
    home.session("two", &session(5));
    let worker = Some(Worker { pid: 7, ticks: Some(99), of_hermes: false });
    let point = |text: &str| drop(write(home.dir.path(), "sessions/7.json", text));
    let pointer = |start: Value| {
        json!({"pid": 7, "sessionId": "two", "cwd": home.work, "procStart": start}).to_string()
    };
    for start in [json!("99"), json!(99), json!(null), json!("Sat Nov 21")] {
        point(&pointer(start));
        assert_eq!(home.read(worker).unwrap().calls, Some(5));
    }
    point(&pointer(json!("98")));
    assert!(home.read(worker).unwrap().hidden.is_some(), "another process had the pid");
    for broken in ["{\"sessionId\": \"tw", "{}", "{\"sessionId\": \"../x\", \"cwd\": \"/\"}"] {
        point(broken);
        assert!(home.read(worker).unwrap().hidden.unwrap().contains("session pointer"), "{broken}");
    }
    point(&pointer(json!("99")).replace("two", "none"));
    assert_eq!(home.read(worker), None, "a transcript that is not there yet");
}

/// Codex' own folder with sessions that began so many seconds after the attempt.
struct Codex {
    home: Home,
    began: Time,
    cache: Cache,
}

impl Codex {
    fn new() -> Codex {
        Codex {
            home: Home::new(),
            began: Time::parse("2026-11-21T08:22:10Z").unwrap(),
            cache: Cache::in_memory(),
        }
    }

    /// The recorded session of a killed agent, which began 11 seconds after the attempt, as `thread` of another name.
    fn session(&self, thread: &str, cwd: &Path, source: &str) -> PathBuf {
        let text =
            recording("codex/sigkill_dangling_call.jsonl").replace("/home/dev/src/c5", cwd.to_str().unwrap());
        let text = text.replacen(r#""source":"exec""#, &format!(r#""source":{source}"#), 1);
        let name = format!("codex/sessions/2026/11/21/rollout-2026-11-21T08-22-21-{thread}.jsonl");
        write(self.home.dir.path(), &name, text)
    }

    fn read(&mut self, held: &[PathBuf], change: impl FnOnce(&mut UsageAsk<'_>)) -> Option<Vitals> {
        let prices = Prices::default();
        let homes = Homes::NONE.with("codex", &self.home.dir.path().join("codex"));
        let homes = homes.with("claude", Path::new("/nowhere"));
        let mut ask = UsageAsk {
            homes: &homes,
            held,
            workspace: Some(&self.home.work),
            from: self.began,
            now: self.began.plus(3_600),
            ..ask(None, &prices)
        };
        change(&mut ask);
        read(&ask, None, &mut self.cache)
    }
}

const THREAD: &str = "01a1fd33-031a-7f93-9e20-a04593114d2b";

#[test]
fn a_rollout_is_found_by_its_folder_and_the_time_in_its_name() {
    let mut codex = Codex::new();
    let work = codex.home.work.clone();
    assert_eq!(codex.read(&[], |_| ()), None);
    // Elsewhere, a subagent's, begun before the attempt, and no rollout at all.
    codex.session("01a1fd33-031a-7f93-9e20-a04593114d2c", Path::new("/elsewhere"), "\"cli\"");
    codex.session("01a1fd33-031a-7f93-9e20-a04593114d2d", &work, r#"{"subagent":"review"}"#);
    codex.session("01a1fd32-0000-7f93-9e20-a04593114d2e", &work, "\"exec\"");
    let folder = codex.home.dir.path().join("codex/sessions/2026/11/21");
    write(&folder, &format!("rollout-{THREAD}.jsonl"), "{\"payload\": 3}\n");
    assert_eq!(codex.read(&[], |_| ()), None);
    fs::remove_file(folder.join(format!("rollout-{THREAD}.jsonl"))).unwrap();
    let path = codex.session(THREAD, &work, "\"exec\"");
    let found = codex.read(&[], |_| ()).unwrap();
    assert_eq!((found.calls, found.format.as_deref()), (Some(1), Some("codex")));
    assert_eq!(found.source.as_deref(), path.to_str());
    assert_eq!(codex.read(&[], |ask| ask.homes = Homes::NONE), None);
    assert_eq!(
        codex.read(&[], |ask| ask.from = ask.from.plus(60)),
        None,
        "the next attempt's is another one"
    );
    assert_eq!(codex.read(&[], |ask| ask.to = Some(ask.from.plus(3))), None, "what began behind its end");
    // By the local day of the agent, which may be another one than ours.
    fs::create_dir_all(codex.home.dir.path().join("codex/sessions/2026/11/20")).unwrap();
    let other = codex.home.dir.path().join("codex/sessions/2026/11/20").join(path.file_name().unwrap());
    fs::rename(&path, &other).unwrap();
    assert_eq!(codex.read(&[], |_| ()).unwrap().calls, Some(1));
    // Two in one folder: nobody can say whose they are.
    codex.session("01a1fd33-1000-7f93-9e20-a04593114d2f", &work, "\"exec\"");
    assert!(codex.read(&[], |_| ()).unwrap().hidden.unwrap().contains("two sessions"));
    codex.home.session("claude", &session(3));
    assert!(codex.read(&[], |_| ()).unwrap().hidden.is_some());
}

#[test]
fn a_rollout_that_was_held_open_is_the_workers_from_then_on() {
    let mut codex = Codex::new();
    let work = codex.home.work.clone();
    let side = codex.session("01a1fd33-1000-7f93-9e20-a04593114d2c", &work, r#"{"subagent":"review"}"#);
    let (own, other) = (
        codex.session(THREAD, &work, "\"exec\""),
        codex.session("01a1fd33-1000-7f93-9e20-a04593114d2f", &work, "\"exec\""),
    );
    assert!(codex.read(&[], |_| ()).unwrap().hidden.is_some());
    let lock = codex.home.dir.path().join("codex/sessions/x.lock");
    let held = [lock, side, own.clone()];
    assert_eq!(codex.read(&held, |_| ()).unwrap().source.as_deref(), own.to_str());
    assert_eq!(codex.read(&[], |_| ()).unwrap().source.as_deref(), own.to_str(), "it is gone now");
    let told = codex.read(&[own, other], |_| ()).unwrap();
    assert!(told.hidden.unwrap().contains("several sessions"));
    // Of another attempt nothing is remembered.
    assert!(codex.read(&[], |ask| ask.from = ask.from.plus(1)).unwrap().hidden.is_some());
}

#[test]
fn stores_of_opencode_say_whose_turn_it_is() {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/opencode");
    let all: Value =
        serde_json::from_str(&fs::read_to_string(fixtures.join("sessions.json")).unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("opencode.db");
    fs::copy(fixtures.join("sessions.db"), &store).unwrap();
    for (name, turn, errors, malformed, failing) in [
        ("ok", "over", 0, 0, 0),
        ("badtool", "over", 1, 1, 1),
        ("toolerr6", "over", 6, 0, 1),
        ("hang", "model", 0, 0, 0),
        ("sleeptool", "over", 0, 0, 0),
        ("kill-sleeptool", "tool", 0, 0, 0),
        ("question", "over", 0, 0, 0),
        ("slowstream", "over", 0, 0, 0),
        ("loop", "model", 24, 0, 24),
        ("err401", "over", 0, 0, 0),
        ("drop", "model", 0, 0, 0),
    ] {
        let v = of(Path::new(&format!("{}#{}", store.display(), all[name].as_str().unwrap())));
        let told = match v.turn {
            Turn::Tool { .. } => "tool",
            Turn::Person { .. } => "person",
            Turn::Model => "model",
            Turn::Stream => "stream",
            Turn::Over => "over",
            Turn::Unknown => "unknown",
        };
        let times = v.failing.as_ref().map_or(0, |f| f.times);
        // A tool that ended since the recording was made is not told of.
        let found = (told, v.errors, v.malformed, times);
        assert_eq!(found, (turn, Some(errors), Some(malformed), failing), "{name} {v:?}");
        assert!(v.active.is_some() && v.began.is_some(), "{name}");
    }
    // The recorded question was given up in the end; this one waits.
    let id = all["kill-sleeptool"].as_str().unwrap();
    let asks = "UPDATE part SET data = json_set(data, '$.tool', 'question') WHERE session_id = ?1 AND data LIKE '%running%'";
    rusqlite::Connection::open(&store).unwrap().execute(asks, [id]).unwrap();
    let v = of(Path::new(&format!("{}#{id}", store.display())));
    assert!(matches!(v.turn, Turn::Person { .. }), "{v:?}");
}

#[test]
fn what_is_kept_is_small_and_without_secrets() {
    let key = format!("sk-proj-{}", "aB3".repeat(20));
    let mut log = Log::new();
    for n in 0..3_000 {
        let command = format!("curl -H 'Authorization: Bearer {key}' {} {n}", "x".repeat(2_000));
        log.call("Bash", json!({"command": command, "n": n}), if n % 2 == 0 { Ok("x") } else { Err("y") });
        log.call("Edit", json!({"file_path": format!("/{n}/{}", "long/".repeat(50))}), Ok("x"));
        log.calls("Task", json!({"prompt": "x".repeat(500)}));
    }
    let v = of_text(&log.text());
    let text = serde_json::to_string(&v).unwrap();
    assert!(text.len() < 200_000, "{}", text.len());
    assert!(!text.contains("aB3aB3"), "{:?}", v.last_calls);
    assert_eq!((v.edited.len(), v.last_calls.len(), v.is_part), (MAX_EDITED, MAX_CALLS_TOLD, true));
    assert!(v.slices.len() <= MAX_SLICES && v.calls == Some(9_000));
}

proptest! {
    /// Whatever a crash or another program makes of a log, it is read, and never as more than it is.
    #[test]
    fn any_change_to_a_recording_is_survived(which in 0_usize..3, at in 0.0_f64..1.0, byte: u8, cut: bool) {
        let file = [
            "claude/tools_errors_then_compact_resume.jsonl",
            "codex/tools_errors_ok.jsonl",
            "claude/stream_cut_midmessage.jsonl",
        ][which];
        let mut bytes = recording(file).into_bytes();
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in it")]
        let place = (at * (bytes.len() - 1) as f64) as usize;
        if cut {
            bytes.truncate(place);
        } else {
            bytes[place] = byte;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path(), "x.jsonl", &bytes);
        let v = read(&ask(Some(&path), &Prices::default()), None, &mut Cache::in_memory());
        if let Some(v) = v {
            prop_assert!(v.errors <= v.calls && v.malformed <= v.calls);
            prop_assert!(v.slices.len() <= MAX_SLICES && v.last_calls.len() <= MAX_CALLS_TOLD);
            let json = serde_json::to_string(&v).unwrap();
            prop_assert_eq!(serde_json::from_str::<Vitals>(&json).unwrap(), v);
        }
    }
}
