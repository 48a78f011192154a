//! Whether a living worker is well: real processes stand for workers, recorded transcripts tell how they fare. Tests carry the
//! names of the acceptance list; `docs/heal.md` has the table.

mod hermes; // the same for workers of Hermes
mod session; // sessions of such workers

use std::fs;
use std::io::BufRead;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::support::{Kept, TestBoard, marked, now, program, ran, until};
use crate::tools;

const MAY_STOP: &str = "[heal]\nallow_stop = \"on\"\n";

/// A task at work: a real process that carries its marks, and a transcript that its claim names.
pub struct Work {
    pub board: TestBoard,
    /// Its own in each test: a process that carries a task's marks counts as its worker's.
    pub task: String,
    pub worker: Kept,
    transcript: PathBuf,
}

/// An id that no other test uses.
fn task_id() -> String {
    static TASKS: AtomicU32 = AtomicU32::new(0);
    format!("t_{:04x}{:04x}", std::process::id() & 0xffff, TASKS.fetch_add(1, Ordering::Relaxed))
}

/// A recording's lines.
pub fn recording(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents").join(name);
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn seconds(line: &Value) -> Option<i64> {
    shared::base::time::Time::parse(line["timestamp"].as_str()?).map(|t| t.0)
}

fn stamp(at: i64) -> Value {
    json!(shared::base::time::Time(at).to_string())
}

/// The lines with other times: the last one `age` seconds ago, the others as long before it as they were.
pub fn aged(mut lines: Vec<Value>, age: i64) -> Vec<Value> {
    let last = lines.iter().filter_map(seconds).max().unwrap();
    for line in &mut lines {
        if let Some(at) = seconds(line) {
            line["timestamp"] = stamp(at - last + now() - age);
        }
    }
    lines
}

/// The lines with times `step` seconds apart.
fn spread(mut lines: Vec<Value>, age: i64, step: i64) -> Vec<Value> {
    let dated: Vec<usize> = (0..lines.len()).filter(|i| seconds(&lines[*i]).is_some()).collect();
    for (n, i) in dated.iter().enumerate() {
        let back = i64::try_from(dated.len() - 1 - n).unwrap() * step;
        lines[*i]["timestamp"] = stamp(now() - age - back);
    }
    lines
}

/// Only the lines of the recording up to its first turn's end, with its failing read so often again.
pub fn looping(times: usize, same: bool) -> Vec<Value> {
    let all = recording("claude/tools_errors_then_compact_resume.jsonl");
    let mut lines: Vec<Value> = all[..11].to_vec();
    for n in 0..times {
        let (mut call, mut answer) = (all[17].clone(), all[18].clone());
        call["message"]["id"] = json!(format!("msg_{n}"));
        call["message"]["content"][0]["id"] = json!(format!("toolu_{n}"));
        if !same {
            call["message"]["content"][0]["input"]["file_path"] = json!(format!("/x/{n}"));
            if n + 1 < times {
                answer["message"]["content"][0]["is_error"] = json!(false);
            }
        }
        answer["message"]["content"][0]["tool_use_id"] = json!(format!("toolu_{n}"));
        lines.extend([call, answer]);
    }
    lines
}

impl Work {
    /// The worker of a task that was claimed four hours ago.
    pub fn new(lines: &[Value]) -> Work {
        Work::with("sleep 600", lines)
    }

    /// The same that leaves nothing behind when it is killed.
    fn alone(lines: &[Value]) -> Work {
        Work::with("exec sleep 600", lines)
    }

    fn with(script: &str, lines: &[Value]) -> Work {
        let task = task_id();
        let board = TestBoard::new();
        board.add(&task, "ready");
        let transcript = board.path().join("transcript.jsonl");
        fs::write(&transcript, lines.iter().map(|l| format!("{l}\n")).collect::<String>()).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo up; {script}")]).stdin(Stdio::null()).stderr(Stdio::null());
        command.env("HERMES_KANBAN_TASK", &task).env("HERMES_KANBAN_RUN_ID", "1").stdout(Stdio::piped());
        let mut worker = Kept(command.spawn().unwrap());
        // Its first word: from then on it is what it was started as.
        let mut line = String::new();
        std::io::BufReader::new(worker.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (pid, log) = (worker.pid().to_string(), transcript.display().to_string());
        board.hand(&["claim", &task, "--worker", "luna", "--pid", &pid, "--log", &log]).ok();
        let ago = now() - 14_400;
        board.sql(&format!(
            "UPDATE tasks SET started_at = {ago}; UPDATE task_runs SET started_at = {ago};
             UPDATE task_events SET created_at = {ago};"
        ));
        Work { board, task, worker, transcript }
    }

    /// Its worker may be stopped, and passes have watched the clock for long enough.
    pub fn allow_stop(mut self) -> Work {
        self.board.config.push_str(MAY_STOP);
        self.board.watched();
        self
    }

    fn heal(&self, args: &[&str]) -> String {
        self.board.heal(args).ok()
    }

    fn status(&self) -> String {
        self.board.task(&self.task, "status")
    }

    /// A pass changes nothing, and says this with `-v`.
    #[track_caller]
    fn is_left(&mut self, says: &str) {
        let before = self.board.dump();
        let said = self.heal(&["-v"]);
        assert!(said.contains(says), "{said}");
        assert_eq!(self.board.dump(), before);
        assert_eq!(self.status(), "running");
        assert!(self.worker.is_running());
    }

    /// A further pass changes nothing and says nothing.
    #[track_caller]
    fn is_settled(&self) {
        let before = self.board.dump();
        assert_eq!(self.heal(&[]), "");
        assert_eq!(self.board.dump(), before);
    }

    fn transitions(&self, kind: &str) -> Value {
        self.board.payload(&self.task, kind)["watchbill"]["transitions"].clone()
    }
}

#[test]
fn a2_unknown_means_no_actuation() {
    // A transcript that would alert, and nobody may read it.
    let mut w = Work::new(&aged(looping(12, true), 30));
    fs::remove_file(&w.transcript).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &w.transcript).unwrap();
    w.is_left(&format!("{} unknown: worker alive", w.task));
    // A pointer of the agent's own that says nothing.
    w.board.sql(
        "UPDATE task_events SET payload = json_remove(payload, '$.watchbill.log') WHERE kind = 'claimed'",
    );
    let sessions = w.board.path().join(".claude/sessions");
    fs::create_dir_all(&sessions).unwrap();
    let pointer = sessions.join(format!("{}.json", w.worker.pid()));
    fs::write(&pointer, "{\"sessionId\": \"S1\", \"cw").unwrap();
    w.is_left("session pointer");
    fs::set_permissions(&pointer, fs::Permissions::from_mode(0o000)).unwrap();
    if !rustix::process::geteuid().is_root() {
        w.is_left("session pointer");
    }
}

#[test]
fn a_worker_that_a_signal_stopped_needs_a_person_and_goes_on_with_its_task() {
    // Its transcript alerts as well, and it might be killed for that.
    let mut w = Work::alone(&aged(looping(12, true), 30)).allow_stop();
    let pid = w.worker.pid();
    let process = rustix::process::Pid::from_child(&w.worker.0);
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    until("the worker is stopped", || {
        fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ")
    });
    assert_eq!(w.heal(&[]), "");
    let events = || w.board.kinds(&w.task);
    let before = events();
    let said = w.board.later(690, &[]).ok();
    assert!(said.contains("has been stopped by a signal for 11m"), "{said}");
    assert_eq!(events(), format!("{before} watchbill_detected commented"));
    assert_eq!(w.board.later(780, &[]).ok(), "", "once");
    let later = (now() + 780).to_string();
    let all =
        tools::run(&w.board, &["status", "--json", "--db", w.board.db.to_str().unwrap(), "--now", &later])
            .json();
    let need = all["needs"].as_array().unwrap().iter().find(|n| n["tasks"][0]["id"] == w.task.as_str());
    assert_eq!(need.unwrap()["run"], format!("kill -CONT {pid}"), "{all:#}");
    assert!(w.worker.is_running() && w.status() == "running");
    rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
    until("the worker goes on", || {
        !fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ")
    });
    let said = w.board.later(900, &[]).ok();
    assert!(said.contains("stopped-worker is over"), "{said}");
    assert!(w.worker.is_running() && w.status() == "running");
}

#[test]
fn a2b_a_transcript_that_is_missing_is_no_stall() {
    let mut w = Work::new(&[]);
    fs::remove_file(&w.transcript).unwrap();
    w.is_left("skipped: worker alive");
    // It comes late, and has nothing to say yet.
    fs::write(&w.transcript, "").unwrap();
    w.is_left("skipped: worker alive");
}

/// Waiting for the API: the last line is a prompt, and nothing came after it.
pub fn silent(age: i64) -> Vec<Value> {
    aged(recording("claude/sigterm_during_tool.jsonl")[..5].to_vec(), age)
}

#[test]
fn a3_a_stall_is_escalated_where_nobody_may_be_stopped() {
    let mut w = Work::new(&silent(7_200));
    let said = w.heal(&[]);
    assert!(said.starts_with(&format!("{} tell: Stalled: nothing written for 2h", w.task)), "{said}");
    assert!(said.contains("heal.allow_stop is off"), "{said}");
    assert!(w.worker.is_running());
    let told = w.board.payload(&w.task, "watchbill_detected");
    assert_eq!((&told["key"], &told["by"]), (&json!("health:Stalled"), &json!("heal")));
    w.is_settled();
    // It keeps its task, and was right all along.
    assert_eq!(w.board.task(&w.task, "status || current_run_id || (claim_lock IS NOT NULL)"), "running11");
    w.board.hand(&["complete", &w.task, "--run", "1"]).ok();
    assert_eq!(w.status(), "done");
}

#[test]
fn a3_a_person_is_told_once_and_it_is_listed_until_it_is_over() {
    let mut w = Work::new(&silent(7_200));
    w.heal(&[]);
    let comments = || w.board.value("SELECT count(*) FROM task_comments");
    assert_eq!(comments(), "1");
    let needs = |b: &TestBoard| {
        let report = ran(b.command("watchbill").args(["report", "--json"])).json();
        report["boards"][0]["needs_you"].as_array().unwrap().len()
    };
    assert_eq!(needs(&w.board), 1);
    // Hours of passes of every watcher: nothing more, and no exit code.
    let before = w.board.dump();
    for later in [600, 7_200, 40_000] {
        assert_eq!(w.board.later(later, &[]).ok(), "");
        for other in ["synthesize-distress", "route-blocked", "budget-check"] {
            let at = (now() + later).to_string();
            ran(w.board.command(other).arg("--db").arg(&w.board.db).args(["--now", &at])).ok();
        }
    }
    assert_eq!(w.board.dump(), before);
    // The model answers after all.
    let lines = aged(recording("claude/tools_errors_then_compact_resume.jsonl"), 5);
    fs::write(&w.transcript, lines.iter().map(|l| format!("{l}\n")).collect::<String>()).unwrap();
    assert!(w.heal(&[]).contains("health:Stalled is over"));
    assert_eq!((needs(&w.board), comments().as_str()), (0, "1"));
    w.is_settled();
    assert!(w.worker.is_running() && w.status() == "running");
}

#[test]
fn a3_a_stall_is_resumed_where_its_worker_may_be_stopped() {
    // A worker that does not end when asked to, with a tool in a session of its own.
    let script = "trap '' TERM; setsid sleep 600 & while :; do sleep 1; done";
    let mut w = Work::with(script, &silent(7_200)).allow_stop();
    let before = w.board.dump();
    let said = w.heal(&["-n"]);
    assert!(said.contains("resume: Stalled") && said.ends_with("(planned)\n"), "{said}");
    assert!(w.worker.is_running() && w.board.dump() == before, "looking stops nobody");
    let said = w.heal(&[]);
    assert!(said.starts_with(&format!("{} resume: Stalled", w.task)), "{said}");
    assert!(!w.worker.is_running());
    assert_eq!(marked(&w.task), Vec::<i64>::new(), "nothing of the run is left");
    assert_eq!(w.status(), "ready");
    assert_eq!(
        w.board.value("SELECT count(*) || outcome FROM task_runs"),
        "1crashed",
        "no attempt was added"
    );
    let pair = json!(["RUNNING>RESUMING:health:Stalled", "RESUMING>PENDING:resume-ready"]);
    assert_eq!(w.transitions("crashed"), pair);
    w.is_settled();
}

#[test]
fn a3_nobody_is_stopped_for_a_silence_that_may_be_a_clock_that_was_set() {
    // The state file is lost, and with it that the clock was set: a healthy worker looks as this one does.
    let mut w = Work::alone(&silent(7_200));
    w.board.config.push_str(MAY_STOP);
    let said = w.heal(&[]);
    assert!(said.contains("tell: Stalled") && said.contains("nothing is remembered from before"), "{said}");
    assert!(w.worker.is_running() && w.status() == "running");
    w.board.remembers_more(1_200);
    w.is_left("a person was told at");
    w.board.remembers_more(1_200);
    assert!(w.heal(&[]).contains("resume: Stalled"));
    assert!(!w.worker.is_running());
}

#[test]
fn a3_nobody_is_stopped_for_a_silence_in_which_the_machine_slept() {
    let mut w = Work::alone(&silent(7_200)).allow_stop();
    w.board.slept(7_000);
    w.is_left("skipped: worker alive");
    // Once it was silent for as long while the machine was awake, it is stopped.
    w.board.is_awake_for(2_400);
    assert!(w.heal(&[]).contains("resume: Stalled"));
    assert!(!w.worker.is_running());
}

#[test]
fn a3_nobody_is_stopped_whose_environment_does_not_name_the_task() {
    let mut w = Work::new(&silent(7_200)).allow_stop();
    // The same pid and start, and a board that speaks of another run.
    w.board.sql("UPDATE task_runs SET id = 7; UPDATE tasks SET current_run_id = 7; UPDATE task_events SET run_id = 7 WHERE run_id = 1");
    let said = w.heal(&[]);
    assert!(said.contains("tell: Stalled") && said.contains("nothing proves"), "{said}");
    assert!(w.worker.is_running());
}

#[test]
fn a3_a_worker_that_moves_on_between_look_and_stop_lives() {
    let mut w = Work::new(&silent(7_200)).allow_stop();
    let plan = w.board.path().join("plan.json");
    fs::write(&plan, w.board.heal(&["-n", "--json"]).ok()).unwrap();
    fs::set_permissions(&plan, fs::Permissions::from_mode(0o600)).unwrap();
    // A sign of life.
    w.board.sql("UPDATE tasks SET claim_expires = claim_expires + 60");
    let said = w.heal(&["--plan", plan.to_str().unwrap()]);
    assert!(said.contains("changed meanwhile"), "{said}");
    assert!(w.worker.is_running() && w.status() == "running");
}

#[test]
fn a3b_a_long_tool_is_no_stall() {
    let lines = aged(recording("claude/sigkill_dangling_tool.jsonl"), 7_200);
    let mut w = Work::with("sleep 600 & wait", &lines);
    w.is_left("skipped: worker alive");
    let mut codex = Work::new(&aged(recording("codex/sigkill_dangling_call.jsonl"), 7_200));
    codex.is_left("skipped: worker alive");
}

/// A session whose last call asks a person.
fn asks() -> Vec<Value> {
    let mut lines = recording("claude/sigkill_dangling_tool.jsonl");
    let call = lines.iter_mut().rev().find(|l| l["type"] == "assistant").unwrap();
    call["message"]["content"][0]["name"] = json!("AskUserQuestion");
    lines
}

#[test]
fn a_person_whom_an_agent_asked_is_told_and_its_worker_keeps_its_task() {
    let mut w = Work::new(&aged(asks(), 7_200)).allow_stop();
    let row = w.board.value("SELECT claim_lock || claim_expires || current_run_id || worker_pid FROM tasks");
    let said = w.heal(&[]);
    assert!(said.contains("tell: its worker") && said.contains("asked a person"), "{said}");
    w.is_left("a person was told at");
    assert!(w.worker.is_running() && w.status() == "running");
    let now = w.board.value("SELECT claim_lock || claim_expires || current_run_id || worker_pid FROM tasks");
    assert_eq!(now, row);
    let status = ran(w.board.command("watchbill").args(["status", "--db"]).arg(&w.board.db));
    assert!(status.out.contains(&w.task) && status.out.contains("asked a person"), "{}", status.out);
    // Answered, it goes on.
    let goes_on = aged(recording("claude/tools_errors_then_compact_resume.jsonl"), 20);
    fs::write(&w.transcript, goes_on.iter().map(|l| format!("{l}\n")).collect::<String>()).unwrap();
    let said = w.heal(&[]);
    assert!(said.contains("asking-worker is over"), "{said}");
}

#[test]
fn healthy_work_is_never_acted_on() {
    let all = recording("claude/tools_errors_then_compact_resume.jsonl");
    for (what, lines) in [
        ("a turn that is over", aged(all.clone(), 7_200)),
        ("a compaction by hand", aged(all[..36].to_vec(), 7_200)),
        ("a slow stream", aged(recording("claude/stream_cut_midmessage.jsonl"), 500)),
        ("a person who is asked", aged(asks(), 240)),
        ("a generation of twenty minutes", silent(1_200)),
        ("a stream of twenty minutes", aged(recording("claude/stream_cut_midmessage.jsonl"), 1_200)),
        ("a build of 65 minutes", aged(recording("claude/sigkill_dangling_tool.jsonl"), 3_900)),
        ("a build of 65 minutes by Codex", aged(recording("codex/sigkill_dangling_call.jsonl"), 3_900)),
        ("a provider that takes 20 minutes an answer", spread(all.clone(), 1_200, 1_200)),
        ("Codex done", aged(recording("codex/tools_errors_ok.jsonl"), 7_200)),
        ("Codex refused", aged(recording("codex/429_turn_failed.jsonl"), 7_200)),
        ("a failure of the API", aged(recording("claude/api_529_exhausted.jsonl"), 7_200)),
    ] {
        let mut w = Work::new(&lines).allow_stop();
        w.is_left("skipped: worker alive");
        assert!(w.worker.is_running(), "{what}");
        // No card, no notice.
        let before = w.board.dump();
        for other in ["synthesize-distress", "route-blocked", "budget-check"] {
            let said = ran(&mut w.board.command(other));
            assert_eq!((said.code, said.err.as_str()), (0, ""), "{other}: {what}");
            assert_eq!(w.board.dump(), before, "{other}: {what}");
        }
    }
}

#[test]
fn healthy_work_of_a_subagent_is_never_acted_on() {
    let mut w = Work::new(&silent(7_200)).allow_stop();
    let folder = w.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let side = |lines: Vec<Value>| -> String {
        let mark = |mut l: Value| {
            l["isSidechain"] = json!(true);
            format!("{l}\n")
        };
        lines.into_iter().map(mark).collect()
    };
    let tool = aged(recording("claude/sigkill_dangling_tool.jsonl"), 3_600);
    fs::write(folder.join("agent-1.jsonl"), side(tool)).unwrap();
    w.is_left("skipped: worker alive");
    let lately = aged(recording("claude/tools_errors_then_compact_resume.jsonl"), 20);
    fs::write(folder.join("agent-1.jsonl"), side(lately)).unwrap();
    w.is_left("skipped: worker alive");
}

#[test]
fn a4_a_loop_is_escalated_and_its_worker_lives() {
    let mut w = Work::new(&aged(looping(12, true), 30));
    let said = w.heal(&[]);
    let found = format!(
        "{} tell: Loop detected: failed 12 times in a row: Read: /home/dev/src/p1/missing.txt;",
        w.task
    );
    assert!(said.starts_with(&found), "{said}");
    assert!(w.worker.is_running(), "nobody is stopped for that");
    assert_eq!(w.board.payload(&w.task, "watchbill_detected")["key"], "health:Loop detected");
    assert_eq!(w.transitions("watchbill_detected"), json!(["RUNNING>NEEDS_HUMAN:health:Loop detected"]));
    // Claim and run are its worker's.
    assert_eq!(w.board.task(&w.task, "status || current_run_id || (claim_lock IS NOT NULL)"), "running11");
    assert_eq!(w.board.value("SELECT count(*) FROM task_runs WHERE ended_at IS NULL"), "1");
    let comment = w.board.value("SELECT body FROM task_comments");
    assert!(comment.contains(&format!("pid {}", w.worker.pid())), "{comment}");
    // No other watcher sends it on.
    let before = w.board.dump();
    for other in ["synthesize-distress", "route-blocked"] {
        ran(&mut w.board.command(other)).ok();
        assert_eq!(w.board.dump(), before, "{other}");
    }
    // Nobody else takes it while its worker still works, and what that says counts.
    assert!(w.board.hand(&["claim", &w.task]).code != 0);
    w.board.hand(&["complete", &w.task, "--run", "1"]).ok();
}

#[test]
fn a4b_different_calls_are_no_loop() {
    let mut w = Work::new(&aged(looping(10, false), 30));
    w.is_left("skipped: worker alive");
    let mut nine = Work::new(&aged(looping(9, true), 30));
    // Nine of them, which is a repetition as well; that is another check.
    nine.board.config.push_str("[heal.health_actions]\nRepetition = \"ignore\"\n");
    nine.is_left("ignored: Repetition");
}

/// A quiet hour of calls, and one of them used a hundred times as much.
pub fn dear(age: i64) -> Vec<Value> {
    let mut lines = looping(12, true);
    let last = lines.iter().rposition(|l| l["type"] == "assistant").unwrap();
    for (key, n) in lines[last]["message"]["usage"].as_object_mut().unwrap() {
        if let Some(tokens) = n.as_u64().filter(|_| key.ends_with("tokens")) {
            *n = json!(tokens * 100);
        }
    }
    spread(lines, age, 30)
}

/// The same without the loop: every call went well, and each found something else.
pub fn spike() -> Vec<Value> {
    let mut lines = dear(20);
    for line in &mut lines {
        if line["message"]["content"][0]["is_error"] == true {
            line["message"]["content"][0]["is_error"] = json!(false);
            line["message"]["content"][0]["content"] = json!(format!("new {}", line["timestamp"]));
        }
    }
    lines
}

#[test]
fn a5_a_cost_spike_is_told_and_ignored() {
    let mut w = Work::new(&spike());
    w.is_left("ignored: Cost spike (it costs ");
}

#[test]
fn a6_the_worst_that_is_not_ignored_wins() {
    let mut w = Work::new(&dear(7_200)).allow_stop();
    let seen = w.board.heal(&["-n", "-v", "--json"]).json();
    assert!(
        seen["boards"][0]["seen"]["tasks"][0]["vitals"]["failing"]["times"].as_u64() >= Some(12),
        "{seen}"
    );
    let said = w.heal(&[]);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with(&format!("{} resume: Stalled", w.task)), "{said}");
    assert!(!w.worker.is_running());
    assert_eq!(w.board.payload(&w.task, "crashed")["watchbill"]["case"], "health:Stalled");
    assert_eq!(w.transitions("crashed").as_array().unwrap().len(), 2, "one pair");
    w.is_settled();
}

#[test]
fn what_was_seen_decides_again_the_same() {
    let mut w = Work::new(&dear(7_200));
    let facts = w.board.path().join("seen.json");
    fs::write(&facts, w.board.heal(&["-n", "-v", "--json"]).ok()).unwrap();
    let (said, before) = (w.heal(&["-n"]), w.board.dump());
    assert!(said.contains("tell: Stalled"), "{said}");
    // Hours later, and after everything it rests on is gone.
    w.worker.kill();
    fs::remove_file(&w.transcript).unwrap();
    assert_eq!(w.heal(&["--facts", facts.to_str().unwrap()]), said);
    assert_eq!(w.board.dump(), before);
}

#[test]
fn a6b_gone_beats_alerts() {
    let mut w = Work::alone(&dear(7_200)).allow_stop();
    w.worker.kill();
    let said = w.board.later(900, &[]).ok();
    assert!(said.starts_with(&format!("{} requeue: worker {} gone", w.task, w.worker.pid())), "{said}");
    assert!(!said.contains("Stalled") && !said.contains("Loop"), "{said}");
    // It claimed for itself: nobody else is gone whose fault it could be. The cause is the death alone.
    assert_eq!(w.board.payload(&w.task, "crashed")["watchbill"]["case"], "dead-worker");
}

#[test]
fn a12_an_escalation_is_made_once() {
    let mut w = Work::new(&aged(looping(12, true), 30));
    assert!(w.heal(&[]).contains("tell: "));
    for _ in 0..2 {
        w.is_settled();
    }
    assert_eq!(w.board.kinds(&w.task).matches("watchbill_detected").count(), 1);
    assert_eq!(w.board.value("SELECT count(*) FROM task_comments"), "1");
    assert!(w.worker.is_running());
    // What is done, put away or waiting for a person is never touched.
    for status in ["done", "archived", "blocked"] {
        let w = Work::new(&aged(looping(12, true), 30));
        w.board.sql(&format!("UPDATE tasks SET status = '{status}'"));
        if status == "blocked" {
            w.board.sql("UPDATE tasks SET claim_lock = NULL, worker_pid = NULL, claim_expires = NULL;
                INSERT INTO task_events (task_id, kind, payload, created_at) SELECT id, 'blocked', '{}', created_at FROM tasks");
        }
        let before = w.board.dump();
        w.heal(&["-v"]);
        assert_eq!(w.board.dump(), before, "{status}");
    }
}

#[test]
fn a16_names_are_the_same_everywhere() {
    let b = TestBoard::new();
    let listed = b.heal(&["--list-checks", "--json"]).json();
    let names: Vec<&str> =
        listed["checks"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    let all = shared::logs::health::Check::ALL.map(shared::logs::health::Check::as_str);
    assert_eq!(names, all);
    let text = b.heal(&["--list-checks"]).ok();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/heal.md")).unwrap();
    for name in all {
        assert!(text.lines().any(|l| l == name), "{name}: {text}");
        assert!(page.contains(&format!("| `{name}` | ")), "docs/heal.md lacks {name}");
        for action in ["resume", "escalate", "ignore"] {
            let config = format!("[heal.health_actions]\n\"{name}\" = \"{action}\"\n");
            let b = TestBoard { config, ..TestBoard::new() };
            let listed = b.heal(&["--list-checks", "--json"]).json();
            let row = listed["checks"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap();
            assert_eq!(row["action"], action);
            let living = if action == "resume" { "escalate" } else { action };
            assert_eq!(row["action_if_alive"], living);
        }
    }
    assert!(text.contains("heal.allow_stop is off"), "{text}");
    // What is unknown is bad configuration, named.
    for (line, names) in [
        ("\"Looping\" = \"ignore\"", "unknown health check \"Looping\""),
        ("\"Stalled\" = \"restart\"", "heal.health_actions.\"Stalled\" is \"restart\""),
        ("\"Stalled\" = 1", "heal.health_actions.\"Stalled\" is a number"),
    ] {
        let b = TestBoard { config: format!("[heal.health_actions]\n{line}\n"), ..TestBoard::new() };
        let said = b.heal(&["--list-checks"]).fails(78);
        assert!(said.contains(names), "{said}");
    }
}

#[test]
fn a17_an_attempt_that_ended_on_a_limit_is_no_death() {
    for (file, outcome) in [
        ("api_429_exhausted", "rate_limited"),
        ("api_529_exhausted", "rate_limited"),
        ("auth_401", "crashed"),
        ("prompt_too_long_400", "crashed"),
    ] {
        let mut w = Work::alone(&aged(recording(&format!("claude/{file}.jsonl")), 60));
        w.worker.kill();
        let said = w.board.later(900, &[]).ok();
        assert!(said.starts_with(&format!("{} park: ", w.task)), "{file}: {said}");
        assert_eq!(w.board.value("SELECT outcome FROM task_runs"), outcome, "{file}");
        assert_eq!(w.board.task(&w.task, "consecutive_failures"), "0", "{file}: not counted");
        assert_eq!(w.status(), "scheduled");
    }
}

#[test]
fn a_stopped_worker_is_gone_before_anything_is_written() {
    let mut w = Work::with("trap 'exit 0' TERM; while :; do sleep 0.1; done", &silent(7_200)).allow_stop();
    assert!(w.heal(&[]).contains("resume: Stalled"));
    until("it ended", || marked(&w.task).is_empty());
    assert!(!w.worker.is_running());
    let r = ran(w.board.command("heal").args(["--list-checks", "-n"]));
    assert_eq!(r.code, 2, "the list is no pass: {r:?}");
}

#[test]
fn a_first_read_that_takes_long_is_told_on_a_terminal_and_nowhere_else() {
    let w = Work::new(&looping(12, false));
    let text = fs::read_to_string(&w.transcript).unwrap();
    // As large as it takes for this machine to be busy with it for a while.
    let mut bytes = 64 << 20;
    let line = format!("{} -n --db {}", program("heal"), w.board.db.display());
    let told = loop {
        fs::write(&w.transcript, text.repeat(bytes / text.len())).unwrap();
        assert_eq!(w.board.heal(&["-n"]).err, "");
        let told = w.board.on_a_terminal(&line);
        if told.contains(" MiB read") {
            break told;
        }
        bytes *= 2;
        assert!(bytes <= 4 << 30, "nothing is told of it: {told:?}");
    };
    let second = told.strip_prefix("\rheal: ").and_then(|t| t.split_once("s, ")?.0.parse::<u32>().ok());
    assert!(second.is_some_and(|s| s >= 1), "{told:?}");
    // And nothing of it is left.
    let (_, after) = told.rsplit_once("\u{1b}[K").unwrap();
    assert!(!after.contains("MiB") && told.contains("\r\u{1b}[K"), "{told:?}");
    assert_eq!(w.board.on_a_terminal(&format!("{line} -q")), "");
}
