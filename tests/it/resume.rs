//! Resume, not restart: rows of the acceptance list about dead workers, attempts, working trees and what the next attempt
//! is told, under their names there (`docs/evidence/resume.md`), with real processes and real git trees.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::health::{aged, recording};
use crate::support::{Ran, TestBoard, dead_pid, hostname, now, stranger, worker};

const ID: &str = "t_0000ad01";

/// A board with one running task that works in a git tree.
struct Night {
    b: TestBoard,
    tree: PathBuf,
}

pub(crate) fn git(tree: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]);
    assert!(git.arg("-C").arg(tree).args(args).output().unwrap().status.success(), "git {args:?}");
}

impl Night {
    fn new() -> Night {
        let b = TestBoard::new();
        let tree = b.path().join("work");
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::write(tree.join("a"), "one\n").unwrap();
        fs::write(tree.join("src/deep"), "two\n").unwrap();
        fs::write(tree.join(".gitignore"), "out/\n").unwrap();
        git(&tree, &["init", "-q"]);
        git(&tree, &["add", "."]);
        git(&tree, &["commit", "-qm", "begin"]);
        let night = Night { b, tree };
        night.add(ID);
        night
    }

    fn plain() -> Night {
        let night = Night::new();
        fs::remove_dir_all(night.tree.join(".git")).unwrap();
        night
    }

    fn add(&self, id: &str) {
        self.b.add(id, "ready");
        self.b.sql(&format!(
            "UPDATE tasks SET body = 'Sort the lanterns.', workspace_kind = 'dir', workspace_path = '{}' WHERE id = '{id}'",
            self.tree.display()
        ));
    }

    /// Its worker was killed just now.
    fn dies(&self) -> i64 {
        self.b.run_it(ID, Some(dead_pid()), 0)
    }

    /// The same a while ago, the claim names this transcript, and the process that claimed is gone too: not one of the tests,
    /// whose age decides whether it can have made a claim of that time.
    fn dies_with(&self, lines: &[Value]) -> PathBuf {
        self.dies();
        self.b.sql(&format!(
            "UPDATE tasks SET claim_lock = '{0}:{1}'; UPDATE task_runs SET claim_lock = '{0}:{1}'",
            hostname(),
            dead_pid()
        ));
        let at = self.b.path().join("transcript.jsonl");
        fs::write(&at, lines.iter().map(|l| format!("{l}\n")).collect::<String>()).unwrap();
        self.b.sql(&format!(
            "UPDATE task_runs SET started_at = started_at - 600; UPDATE tasks SET started_at = started_at - 600;
             UPDATE task_events SET created_at = created_at - 600 WHERE kind != 'created';
             UPDATE task_events SET payload = json_set(payload, '$.watchbill', json_object('log', '{}')) WHERE kind = 'claimed'",
            at.display()
        ));
        at
    }

    fn pass(&self, seconds: i64) -> Ran {
        self.b.later(seconds, &[])
    }

    /// The pass that first sees the death, which notes the tree.
    fn noted(&self) {
        let said = self.pass(60).ok();
        assert!(said.contains(&format!("{ID} note: ")), "{said}");
        assert_eq!(self.b.task(ID, "status"), "running");
    }

    /// The later one, and that one more right after it changes nothing.
    fn settled(&self) -> String {
        let said = self.pass(200).ok();
        let before = self.b.dump();
        assert_eq!(self.pass(200).ok(), "");
        assert_eq!(self.b.dump(), before);
        said
    }

    fn comment(&self) -> String {
        self.b.value("SELECT coalesce(max(body), '') FROM task_comments WHERE author = 'heal'")
    }

    fn status(&self) -> String {
        self.b.task(ID, "status")
    }
}

#[test]
fn a1_dead_is_resumed() {
    let n = Night::new();
    n.dies();
    n.noted();
    let before = n.b.dump();
    assert_eq!(n.pass(60).ok(), "", "a pass right after");
    assert_eq!(n.b.dump(), before);
    let said = n.settled();
    assert!(said.contains(&format!("{ID} requeue: ")), "{said}");
    assert_eq!(n.status(), "ready");
    assert_eq!(n.b.value("SELECT count(*) || outcome FROM task_runs"), "1crashed");
    let trail = n.b.payload(ID, "crashed");
    let want = json!(["RUNNING>RESUMING:session_died", "RESUMING>PENDING:resume-ready"]);
    assert_eq!(trail["watchbill"]["transitions"], want);
    assert!(n.comment().starts_with("You are resuming an interrupted task."), "{}", n.comment());
}

#[test]
fn a1b_alive_is_left() {
    let n = Night::new();
    // Its neighbours have a dead worker of the same name.
    let own = "t_0000ad03";
    n.add(own);
    let mut w = worker(own, 1);
    n.b.run_it(own, Some(w.pid()), 0);
    let before = n.b.dump();
    assert_eq!((n.pass(60).ok(), n.pass(900).ok()), (String::new(), String::new()));
    assert_eq!(n.b.dump(), before);
    assert!(w.is_running());
}

#[test]
fn a1c_a_recycled_pid_is_dead_and_the_stranger_lives() {
    let n = Night::new();
    let mut other = stranger();
    n.b.run_it(ID, Some(other.pid()), 120);
    n.noted();
    assert!(n.settled().contains("requeue"));
    assert!(other.is_running());
}

#[test]
fn a1_the_packet_tells_what_the_killed_attempt_did() {
    let n = Night::new();
    n.dies_with(&aged(recording("claude/sigkill_dangling_tool.jsonl"), 5));
    n.noted();
    n.settled();
    let told = n.comment();
    assert!(told.contains("Autopsy of the interrupted attempt:") && told.contains("claude"), "{told}");
    assert!(told.contains("Branch: main"), "{told}");
}

#[test]
fn a1d_a_worker_that_ended_without_a_word_is_told_apart() {
    let n = Night::new();
    // Its turn was over, and it left in an orderly way.
    let lines = aged(recording("claude/tools_errors_then_compact_resume.jsonl"), 5);
    n.dies_with(&lines);
    n.noted();
    let said = n.settled();
    assert!(said.contains("requeue"), "{said} {}", n.b.kinds(ID));
    let trail = n.b.payload(ID, "crashed");
    let want = json!(["RUNNING>RESUMING:session_exited", "RESUMING>PENDING:resume-ready"]);
    assert_eq!(trail["watchbill"]["transitions"], want);
}

#[test]
fn a7_attempts_are_capped() {
    for (earlier, cap, resumed) in [(2, 2, false), (1, 2, true), (0, 0, false)] {
        let mut n = Night::new();
        n.b.config.push_str(&format!("[heal]\nmax_resumes = {cap}\n"));
        fs::write(n.b.path().join("config.yaml"), "kanban:\n  failure_limit: 9\n").unwrap();
        for k in 0..earlier {
            n.b.sql(&format!(
                "INSERT INTO task_runs (task_id, profile, status, outcome, error, started_at, ended_at)
                 VALUES ('{ID}', 'luna', 'crashed', 'crashed', 'pid 4 not alive', {0}, {0} + 60)",
                now() - 3_000 + 100 * k
            ));
        }
        n.dies();
        n.pass(60).ok();
        let said = n.settled();
        match resumed {
            true => assert_eq!(n.status(), "ready", "{said}"),
            false => {
                assert_eq!(n.status(), "blocked", "{said}");
                assert_eq!(n.b.payload(ID, "blocked")["cause"], "resume-cap");
            }
        }
    }
}

#[test]
fn a7b_the_cap_counts_from_the_operators_retry() {
    let mut n = Night::new();
    n.b.config.push_str("[heal]\nmax_resumes = 1\n");
    fs::write(n.b.path().join("config.yaml"), "kanban:\n  failure_limit: 9\n").unwrap();
    n.b.sql(&format!(
        "INSERT INTO task_runs (task_id, profile, status, outcome, error, started_at, ended_at)
         VALUES ('{ID}', 'luna', 'crashed', 'crashed', 'pid 4 not alive', {0}, {0} + 60),
                ('{ID}', 'luna', 'crashed', 'crashed', 'worker gone (heal)', {0} + 90, {0} + 99);
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{ID}', 'unblocked', '{{}}', {0} + 200)",
        now() - 3_000
    ));
    n.dies();
    n.noted();
    n.settled();
    assert_eq!(n.status(), "ready");
}

#[test]
fn a8c_the_board_itself_is_no_drift_where_it_lies_in_the_tree() {
    let n = Night::new();
    let root = n.b.path();
    fs::write(root.join(".gitignore"), "state/\nwork/\n").unwrap();
    git(root, &["init", "-q"]);
    n.b.sql(&format!("UPDATE tasks SET workspace_path = '{}'", root.display()));
    n.dies();
    for (seconds, said) in [(60, " note: "), (200, " requeue: ")] {
        let now = (now() + seconds).to_string();
        let ran = crate::support::ran(n.b.command("heal").args(["--db", "kanban.db", "--now", &now])).ok();
        assert!(ran.contains(said), "{ran}");
    }
    assert_eq!(n.status(), "ready");
}

#[test]
fn a8_a_drifted_tree_waits_for_a_person() {
    let n = Night::new();
    n.dies();
    n.noted();
    fs::write(n.tree.join("a"), "one\nx\n").unwrap();
    let said = n.settled();
    assert!(said.contains("tree-drift") && said.contains(" a "), "{said}");
    assert_eq!(n.status(), "blocked");
    assert_eq!(n.b.payload(ID, "blocked")["cause"], "tree-drift");
    assert_eq!(n.b.task(ID, "claim_lock"), "NULL");
}

#[test]
fn a8_or_the_next_attempt_is_warned() {
    let mut n = Night::new();
    n.b.config.push_str("[heal]\ntree_drift = \"warn\"\n");
    n.dies();
    n.noted();
    fs::write(n.tree.join("a"), "one\nx\n").unwrap();
    n.settled();
    assert_eq!(n.status(), "ready");
    assert!(n.comment().contains("WARNING: the working tree changed"), "{}", n.comment());
}

#[test]
fn a8b_the_workers_own_edits_are_no_drift() {
    let n = Night::new();
    let mut lines = aged(recording("claude/sigkill_dangling_tool.jsonl"), 5);
    let call = lines.iter_mut().find(|l| l["message"]["content"][0]["type"] == "tool_use").unwrap();
    call["message"]["content"][0]["name"] = json!("Write");
    call["message"]["content"][0]["input"] = json!({"file_path": n.tree.join("new.txt"), "content": "x"});
    n.dies_with(&lines);
    n.noted();
    // What it had begun comes to its end behind it.
    fs::write(n.tree.join("new.txt"), "x").unwrap();
    let said = n.settled();
    assert!(said.contains("requeue"), "{said}");
    assert!(n.comment().contains("new.txt"), "{}", n.comment());
}

#[test]
fn a8c_every_change_of_content_is_drift() {
    type Change = fn(&Path);
    let all: [(&str, bool, Change, Change); 5] = [
        (
            "a dirty file again",
            true,
            |t| fs::write(t.join("a"), "x").unwrap(),
            |t| {
                fs::write(t.join("a"), "y").unwrap();
            },
        ),
        (
            "an untracked file",
            true,
            |t| fs::write(t.join("new"), "x").unwrap(),
            |t| {
                fs::write(t.join("new"), "y").unwrap();
            },
        ),
        (
            "a second file in an untracked folder",
            true,
            |t| {
                fs::create_dir(t.join("d")).unwrap();
                fs::write(t.join("d/1"), "x").unwrap();
            },
            |t| fs::write(t.join("d/2"), "y").unwrap(),
        ),
        ("a nested file without git", false, |_| {}, |t| fs::write(t.join("src/deep"), "2wo\n").unwrap()),
        ("a commit", true, |t| fs::write(t.join("a"), "x").unwrap(), |t| git(t, &["commit", "-qam", "more"])),
    ];
    for (what, is_git, before, after) in all {
        let n = if is_git { Night::new() } else { Night::plain() };
        before(&n.tree);
        n.dies();
        n.noted();
        after(&n.tree);
        let said = n.settled();
        assert!(said.contains("tree-drift"), "{what}: {said}");
    }
}

#[test]
fn a8_what_is_ignored_is_no_drift() {
    let n = Night::new();
    n.dies();
    n.noted();
    fs::create_dir(n.tree.join("out")).unwrap();
    fs::write(n.tree.join("out/x"), "x").unwrap();
    assert!(n.settled().contains("requeue"));
}

#[test]
fn a8_another_worker_in_the_same_folder_is_no_drift() {
    // One tree, whichever folder of it the other task has, and however that is spelled.
    for folder in ["", "src", "../work/"] {
        let n = Night::new();
        let other = "t_0000ad02";
        n.add(other);
        let path = n.tree.join(folder);
        n.b.sql(&format!("UPDATE tasks SET workspace_path = '{}' WHERE id = '{other}'", path.display()));
        let w = worker(other, 2);
        n.dies();
        n.b.run_it(other, Some(w.pid()), 0);
        n.noted();
        fs::write(n.tree.join("a"), "theirs\n").unwrap();
        let said = n.settled();
        let want = format!("{other} works or worked in the same tree");
        assert!(said.contains("requeue") && said.contains(&want), "{folder:?}: {said}");
    }
}

#[test]
fn a9_fails_open() {
    for what in ["removed", "not ours to read", "another method"] {
        let n = Night::new();
        n.dies();
        n.noted();
        match what {
            "removed" => fs::remove_dir_all(&n.tree).unwrap(),
            "not ours to read" => fs::write(n.tree.join(".git/HEAD"), "nonsense\n").unwrap(),
            _ => fs::remove_dir_all(n.tree.join(".git")).unwrap(),
        }
        let said = n.settled();
        assert!(said.contains("requeue") && said.contains("its working tree is not known"), "{what}: {said}");
        assert_eq!(n.status(), "ready", "{what}");
    }
    // Nothing was noted at all.
    let n = Night::new();
    fs::remove_dir_all(&n.tree).unwrap();
    n.dies();
    let said = n.settled();
    assert!(said.contains("requeue") && said.contains("its working tree is not known"), "{said}");
}

#[test]
fn a10_the_prompt_has_its_order() {
    let mut n = Night::new();
    n.b.config.push_str("[heal]\ntree_drift = \"warn\"\n");
    n.b.sql(&format!(
        "INSERT INTO task_runs (task_id, profile, status, outcome, error, summary, metadata, started_at, ended_at)
         VALUES ('{ID}', 'luna', 'crashed', 'crashed', 'x', NULL, '{{\"verification\":[{{\"kind\":\"run\",\"passed\":false,\"output\":\"1 failed\"}}]}}', {0}, {0} + 60)",
        now() - 3_000
    ));
    n.dies();
    n.noted();
    fs::write(n.tree.join("a"), "one\nx\n").unwrap();
    let said = n.b.later(200, &["--print-prompt", ID]).ok();
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("no {text:?} in\n{said}"));
    let order = [
        at("Sort the lanterns."),
        at("You are resuming"),
        at("WARNING: the working tree changed"),
        at("Where the work stands"),
    ];
    assert!(order.is_sorted(), "{order:?}\n{said}");
    assert_eq!(n.status(), "running", "printing writes nothing");
}

#[test]
fn a11_the_task_goes_on_as_it_was() {
    let n = Night::new();
    n.dies();
    n.noted();
    n.settled();
    assert_eq!(n.b.task(ID, "body"), "Sort the lanterns.");
    assert_eq!(n.b.task(ID, "assignee"), "luna");
    assert_eq!(n.b.task(ID, "claim_lock || claim_expires || worker_pid || current_run_id"), "NULL");
    let next = n.b.run_it(ID, Some(dead_pid()), 0);
    assert_eq!(next, 2);
}

#[test]
fn a13_two_passes_at_once_resume_each_task_once() {
    let b = TestBoard::new();
    let ids: Vec<String> = (0..100).map(|i| format!("t_0000{i:04}")).collect();
    for id in &ids {
        b.add(id, "ready");
        b.run_it(id, Some(dead_pid()), 0);
    }
    let at = (now() + 900).to_string();
    let start = || {
        let mut heal = b.command("heal");
        heal.arg("--db").arg(&b.db).args(["--now", &at]).stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let codes: Vec<_> = [start(), start()].map(|mut c| c.wait().unwrap().code()).into();
    assert_eq!(codes, [Some(0), Some(0)]);
    for id in &ids {
        assert_eq!(b.kinds(id).matches("crashed").count(), 1, "{id}");
        assert_eq!(b.task(id, "status"), "ready");
    }
}

#[test]
fn a19_a_dry_run_says_and_writes_nothing() {
    let n = Night::new();
    n.dies();
    let before = n.b.dump();
    assert!(n.b.later(60, &["-n"]).ok().contains("note"));
    assert_eq!(n.b.dump(), before);
    n.noted();
    fs::write(n.tree.join("a"), "x").unwrap();
    let before = n.b.dump();
    assert!(n.b.later(200, &["-n"]).ok().contains("tree-drift"));
    assert_eq!(n.b.dump(), before);
}

#[test]
fn a20_fifty_at_once_are_fifty() {
    let mut b = TestBoard::own();
    // Fifty at once on a machine that does other things as well.
    b.config.push_str("[board]\nbusy_timeout = \"1m\"\n");
    let start = |i: usize| {
        let mut add = b.command("board");
        add.arg("--db").arg(&b.db).args(["add", &format!("Task {i}")]);
        add.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let all: Vec<_> = (0..50).map(start).collect();
    for mut one in all {
        assert_eq!(one.wait().unwrap().code(), Some(0));
    }
    assert_eq!(b.value("SELECT count(*) || ' ' || count(DISTINCT id) FROM tasks"), "50 50");
}

#[test]
fn a_packet_can_be_looked_at_before_it_is_written() {
    let n = Night::new();
    n.dies();
    let before = n.b.dump();
    let packet = n.b.later(60, &["--print-packet", ID]).ok();
    assert!(packet.starts_with("You are resuming an interrupted task."), "{packet}");
    assert!(packet.contains("Branch: main") && packet.len() <= 2_000, "{packet}");
    let json: Value = n.b.later(60, &["--print-packet", ID, "--json"]).json();
    assert_eq!(json["task"], ID);
    assert_eq!(n.b.dump(), before);
    let none = n.b.later(60, &["--print-packet", "t_0000ffff"]);
    assert!(none.fails(1).contains("no such task"));
}
