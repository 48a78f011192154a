//! `budget-check` through the real program: real transcripts, real working trees, and nothing changed but words.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Ran, TestBoard, ran};

mod cards; // a card about living work, and the decision that waits for its end
mod trees; // which files really changed, and nothing of the repository is run

const SCOPE: &str = "## Scope\n- Concern: the parser reads dates\n- In scope: `src/parse/**`, `date-core`\n\
                     - Out of scope: `src/cli/**`\n";

impl TestBoard {
    pub(crate) fn budget(&self, args: &[&str]) -> Ran {
        ran(self.command("budget-check").args(args))
    }

    /// The board part of a report as JSON.
    pub(crate) fn checked(&self, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        self.budget(&all).json()["boards"][0].clone()
    }

    /// A task of luna's that runs since so many seconds, with this text.
    pub(crate) fn runs(&self, id: &str, body: &str, seconds: i64) -> i64 {
        self.add(id, "ready");
        let run = self.run_it(id, None, seconds);
        self.open().execute("UPDATE tasks SET body = ?1 WHERE id = ?2", (body, id)).unwrap();
        run
    }

    /// Says which file the newest attempt writes its log to, as `board claim --log` does.
    fn logs_to(&self, id: &str, file: &Path) {
        let payload = json!({"lock": "h:1", "by": "board", "watchbill": {"v": 1, "log": file}});
        self.open()
            .execute(
                "UPDATE task_events SET payload = ?1 WHERE task_id = ?2 AND kind = 'claimed'",
                (payload.to_string(), id),
            )
            .unwrap();
    }
}

/// The words of the verdicts on the first task of an overview.
pub(crate) fn verdicts(board: &Value) -> Vec<&str> {
    let all = board["overview"]["tasks"][0]["verdicts"].as_array().unwrap();
    all.iter().map(|v| v["verdict"].as_str().unwrap()).collect()
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents").join(path)
}

#[test]
fn work_within_its_bounds_is_no_news_and_looking_writes_nothing() {
    let b = TestBoard::new();
    b.runs("t_0000000a", "", 600);
    b.add("t_0000000b", "ready");
    let before = b.dump();
    // An idle board that is only read gets an empty -wal and -shm from SQLite: no content of it.
    let files = || {
        let names =
            std::fs::read_dir(b.path()).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
        let mut all: Vec<_> = names.filter(|n| !n.contains("-wal") && !n.contains("-shm")).collect();
        all.sort();
        all
    };
    b.budget(&["-q"]).ok();
    let there = files();
    assert_eq!(b.budget(&[]).ok(), "");
    assert!(b.budget(&["-v"]).ok().contains("t_0000000a"));
    assert_eq!((b.dump(), files()), (before, there));
    // Looking is what a pause is for.
    std::fs::write(b.path().join("watchbill.pause"), "").unwrap();
    assert_eq!(b.budget(&["-v"]).code, 0);
    b.budget(&["--comment"]).fails(75);
}

/// Every recording of Claude Code, in an attempt that holds all of it: tokens as they are, and money to the cent.
#[test]
fn recorded_transcripts_cost_what_their_agent_said() {
    let expected: Value =
        serde_json::from_str(&std::fs::read_to_string(fixture("expected.json")).unwrap()).unwrap();
    let mut seen = 0;
    for (name, want) in expected["claude"].as_object().unwrap() {
        let b = TestBoard::new();
        b.runs("t_0000000a", "", 600);
        b.logs_to("t_0000000a", &fixture(&format!("claude/{name}")));
        // The recordings were made on one day, whenever this runs.
        b.sql("UPDATE task_runs SET started_at = 1795248000; UPDATE task_events SET created_at = 1795248000");
        let board = b.checked(&["--now", "2026-11-21T09:00:00Z"]);
        let usage = &board["overview"]["tasks"][0]["usage"];
        for (field, of) in [
            ("input", &usage["tokens"]["input"]),
            ("cache_write", &usage["tokens"]["cache_write"]),
            ("cache_read", &usage["tokens"]["cache_read"]),
            ("output", &usage["tokens"]["output"]),
            ("api_calls", &usage["turns"]),
            ("tool_calls", &usage["tool_calls"]),
            ("tool_errors", &usage["tool_errors"]),
            ("compactions", &usage["compactions"]),
        ] {
            assert_eq!(of, &want[field], "{name} {field}: {usage}");
        }
        let (cost, told) = (usage["cost"].as_f64().unwrap(), want["cost_usd"].as_f64().unwrap());
        assert!((cost - told).abs() < 1e-9, "{name}: {cost} is not {told}");
        let compacted = want["compactions"].as_u64().unwrap() > 0;
        assert_eq!(usage["is_least"], json!(compacted), "{name}");
        let said = usage["unknown"].to_string();
        assert_eq!(said.contains("compaction"), compacted, "{name}: {said}");
        seen += 1;
    }
    assert_eq!(seen, 9);
}

#[test]
fn what_belongs_to_another_attempt_is_not_charged() {
    let b = TestBoard::new();
    b.runs("t_0000000a", "## Scope\n- Iteration budget: 5\n", 600);
    b.logs_to("t_0000000a", &fixture("claude/tools_errors_then_compact_resume.jsonl"));
    let turns = |from: &str| {
        b.sql(&format!("UPDATE task_runs SET started_at = unixepoch('{from}'); UPDATE task_events SET created_at = unixepoch('{from}')"));
        let board = b.checked(&["--now", "2026-11-21T09:00:00Z"]);
        let turns = board["overview"]["tasks"][0]["usage"]["turns"].as_u64().unwrap();
        assert_eq!(verdicts(&board).contains(&"over iterations"), turns > 5, "{turns}");
        turns
    };
    let (all, later) = (turns("2026-11-21 08:00:00"), turns("2026-11-21 08:15:00"));
    assert_eq!(all, 9);
    assert!(later > 0 && later < all, "only what came after the resume: {later}");
}

/// One session that goes on: within the slack behind an end, in the next attempt and in the next task.
#[test]
fn each_call_is_charged_once() {
    let b = TestBoard::new();
    let log = fixture("claude/tools_errors_then_compact_resume.jsonl");
    b.runs("t_0000000a", "", 600);
    b.logs_to("t_0000000a", &log);
    b.runs("t_0000000b", "", 600);
    b.logs_to("t_0000000b", &log);
    let at = |time: &str| format!("unixepoch('2026-11-21 {time}')");
    // The second task began a minute after the first ended, and goes on in its session.
    b.sql(&format!(
        "UPDATE task_events SET created_at = {begin};
         UPDATE task_runs SET started_at = {begin}, ended_at = {end}, status = 'completed', outcome = 'completed' WHERE task_id = 't_0000000a';
         UPDATE tasks SET status = 'done', created_at = {begin}, current_run_id = NULL, claim_lock = NULL WHERE id = 't_0000000a';
         UPDATE tasks SET created_at = {begin} WHERE id = 't_0000000b';
         UPDATE task_runs SET started_at = {next} WHERE task_id = 't_0000000b';",
        begin = at("08:00:00"), end = at("08:19:00"), next = at("08:19:55"),
    ));
    let turns = || {
        let board = b.checked(&["--now", "2026-11-21T09:00:00Z"]);
        let all = board["overview"]["tasks"].as_array().unwrap().clone();
        let of = |id: &str| all.iter().find(|t| t["task"] == id).unwrap()["usage"]["turns"].clone();
        (of("t_0000000a").as_u64(), of("t_0000000b").as_u64())
    };
    let (first, second) = turns();
    assert_eq!(first.unwrap() + second.unwrap(), 9, "{first:?} {second:?}");
    assert!(first.unwrap() > 0 && second.unwrap() > 0, "{first:?} {second:?}");
    // Both at once: whose turns they are, nobody knows.
    b.sql(&format!("UPDATE task_runs SET started_at = {}", at("08:00:00")));
    assert_eq!(turns(), (None, None));
}

#[test]
fn a_threshold_is_told_once_and_nothing_else_changes() {
    let b = TestBoard::new();
    b.runs("t_0000000a", "## Scope\n- Time budget: 10m\n", 700);
    let row = b.value("SELECT status || claim_lock || claim_expires || current_run_id FROM tasks");
    let said = b.budget(&["--comment"]).ok();
    assert!(said.contains("over time: 11m in this attempt, 10m allowed (task)"), "{said}");
    assert!(said.contains("t_0000000a comment: over time"), "{said}");
    let text = b.value("SELECT body FROM task_comments");
    assert!(text.starts_with("watchbill: over time (10m)\n"), "{text}");
    let payload = b.payload("t_0000000a", "commented");
    assert_eq!((&payload["key"], &payload["by"]), (&json!("budget:over_time:10m"), &json!("budget-check")));
    let after = b.dump();
    b.budget(&["--comment"]).ok();
    assert_eq!(b.dump(), after, "a second pass right after it");
    assert_eq!(b.value("SELECT status || claim_lock || claim_expires || current_run_id FROM tasks"), row);
    // Two passes at once say it once.
    b.sql("DELETE FROM task_comments; DELETE FROM task_events WHERE kind = 'commented'");
    let both: Vec<_> = (0..2)
        .map(|_| {
            b.command("budget-check")
                .arg("--comment")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in both {
        child.wait().unwrap();
    }
    assert_eq!(b.value("SELECT count(*) FROM task_comments"), "1");
}

#[test]
fn a_plan_of_comments_is_applied_as_it_stands() {
    let b = TestBoard::new();
    b.runs("t_0000000a", "## Scope\n- Time budget: 10m\n", 700);
    let before = b.dump();
    let plan = b.budget(&["-n", "--json", "--comment"]).ok();
    assert_eq!(b.dump(), before);
    let file = b.path().join("plan.json");
    std::fs::write(&file, plan).unwrap();
    b.budget(&["--plan", file.to_str().unwrap()]).ok();
    assert_eq!(b.value("SELECT count(*) FROM task_comments"), "1");
    let seen = b.budget(&["--json", "-v"]).ok();
    std::fs::write(&file, seen).unwrap();
    let again = b.budget(&["--facts", file.to_str().unwrap(), "--json"]).json();
    assert_eq!(verdicts(&again["boards"][0]), ["over time"]);
}

#[test]
fn thresholds_say_who_set_them() {
    let mut b = TestBoard::new();
    b.runs("t_0000000a", "", 4_000);
    let source = |b: &TestBoard| {
        let board = b.checked(&[]);
        let gauge = &board["overview"]["tasks"][0]["gauges"][0];
        (
            gauge["what"].as_str().unwrap().to_owned(),
            gauge["limit"].clone(),
            gauge["source"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(source(&b), ("time".into(), json!(3_600), "default".into()));
    b.config.push_str("[budget]\ntime = \"30m\"\n");
    let (_, limit, from) = source(&b);
    assert!(limit == json!(1_800) && from.ends_with("watchbill.toml"), "{limit} {from}");
    let said = ran(b.command("budget-check").env("WATCHBILL_BUDGET_TIME", "5m")).ok();
    assert!(said.contains("5m allowed (WATCHBILL_BUDGET_TIME)"), "{said}");
    b.sql("UPDATE tasks SET body = '## Scope' || char(10) || '- Time budget: 20m'");
    assert_eq!(source(&b), ("time".into(), json!(1_200), "task".into()));
}

#[test]
fn lint_names_the_line_to_fix() {
    let b = TestBoard::new();
    b.add("t_0000000a", "ready");
    b.runs(
        "t_0000000b",
        "Do it.\n\n## Scope\n- Concern: all of it\n- In scope: `**`\n- Max files: many\n",
        60,
    );
    b.runs("t_0000000c", &format!("{SCOPE}- Max files: 4\n- Iteration budget: 30\n"), 60);
    b.add("t_0000000d", "done");
    let said = b.budget(&["--lint"]).ok();
    assert!(said.contains("t_0000000a Task t_0000000a (ready)\n  missing: "), "{said}");
    assert!(
        said.contains("line 5: - In scope: `**`") && said.contains("line 6: - Max files: many"),
        "{said}"
    );
    assert!(!said.contains("t_0000000c") && !said.contains("t_0000000d"), "{said}");
    let whole = b.budget(&["--lint", "--json"]).json();
    assert_eq!(whole["schema"], "watchbill.lint/1");
    let kinds: Vec<_> =
        whole["boards"][0]["tasks"][1]["flaws"].as_array().unwrap().iter().map(|f| &f["what"]).collect();
    assert_eq!(kinds, [&json!("too_broad"), &json!("not_understood")]);
    b.budget(&["--lint", "--comment"]).fails_with_usage();
    assert_eq!(b.budget(&["--lint", "--task", "t_0000000c"]).ok(), "");
    assert!(b.budget(&["--lint", "--task", "t_0000000f"]).fails(1).contains("no such task"));
    assert!(b.budget(&["--lint", "--task", "all"]).fails(2).contains("not a task id"));
}

impl Ran {
    /// Wrong usage, told by the flags themselves.
    #[track_caller]
    fn fails_with_usage(self) {
        assert_eq!(self.code, 2, "{self:?}");
        assert!(self.err.starts_with("error: "), "{self:?}");
    }
}

#[test]
fn the_page_is_written_whole_for_its_owner_alone() {
    let b = TestBoard::new();
    b.runs("t_0000000a", SCOPE, 4_000);
    let page = b.path().join("new/folder/page.html");
    let file = page.to_str().unwrap();
    assert_eq!(b.budget(&["-q", "--html", file]).ok(), "");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(
        text.starts_with("<!doctype html>") && text.ends_with("</html>\n") && text.contains("over time"),
        "{text}"
    );
    assert!(!text.contains("<script") && !text.contains("src=") && !text.contains("http://"));
    assert_eq!(std::fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(page.parent().unwrap()).unwrap().count(), 1, "nothing else is left there");
    // A page of before is replaced, and nothing else is.
    b.budget(&["-q", "--html", file]).ok();
    let link = b.path().join("link.html");
    std::os::unix::fs::symlink(&page, &link).unwrap();
    b.budget(&["-q", "--html", link.to_str().unwrap()]).ok();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let fifo = b.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for (place, why) in [
        (b.path(), "is a folder"),
        (b.db.as_path(), "holds something else than a page"),
        (fifo.as_path(), "is not a plain file"),
        (Path::new("/dev/null"), "is not a plain file"),
        (Path::new("-"), "is not a file"),
    ] {
        let said = b.budget(&["-q", "--html", place.to_str().unwrap()]).fails(2);
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(b.value("SELECT count(*) FROM tasks"), "1");
    // A board that failed is on the page too.
    let other = b.path().join("other.db");
    std::fs::write(&other, "no board").unwrap();
    let both = ["--db", b.db.to_str().unwrap(), "--db", other.to_str().unwrap(), "-q", "--html", file];
    assert_eq!(b.budget(&both).code, 1);
    assert!(std::fs::read_to_string(&page).unwrap().contains("other.db"));
    let said = b.budget(&["-q", "--html", "/proc/page.html"]);
    assert_eq!((said.code != 0, said.err.trim_end().lines().count()), (true, 1), "{said:?}");
}

/// Runs something that must be done in time.
pub(crate) fn within<T>(limit: Duration, what: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = what();
    assert!(began.elapsed() < limit, "it took {:?}", began.elapsed());
    done
}

/// git with an identity, as a worker runs it in a tree.
pub(crate) fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main"]);
    command
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let done = command.output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Writes a file and the folders above it.
pub(crate) fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
