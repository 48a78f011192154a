//! A board without Hermes whose tasks are worked on in git worktrees: from the first claim to done, as on a Hermes board.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use shared::card::{Distress, State};

use crate::resume::git;
use crate::support::{Kept, Ran, TestBoard, is_gone, now, ran, until};

/// A board and a git worktree on a branch of its own.
struct Site {
    b: TestBoard,
    tree: PathBuf,
}

impl Site {
    fn new() -> Site {
        Site::of(TestBoard::own())
    }

    fn of(b: TestBoard) -> Site {
        let root = fs::canonicalize(b.path()).unwrap();
        let (repo, tree) = (root.join("repo"), root.join("tree"));
        fs::create_dir_all(repo.join("src")).unwrap();
        fs::write(repo.join("src/a"), "one\n").unwrap();
        fs::write(repo.join("notes"), "n\n").unwrap();
        git(&repo, &["init", "-q"]);
        git(&repo, &["add", "."]);
        git(&repo, &["commit", "-qm", "begin"]);
        git(&repo, &["worktree", "add", "-qb", "work", tree.to_str().unwrap()]);
        Site { b, tree }
    }

    fn add(&self, more: &[&str]) -> String {
        let args = ["add", "Light the lanterns", "--assignee", "luna", "--in-scope", "src/**"];
        self.b.hand(&[&args[..], more].concat()).ok().trim().to_owned()
    }

    /// `board run` in the worktree.
    fn runs(&self, profile: &str, script: &str) -> std::process::Command {
        let mut run = self.b.command("board");
        run.arg("--db").arg(&self.b.db).args(["run", "--assignee", profile, "--", "sh", "-c", script]);
        run.current_dir(&self.tree).env("PATH", path_of_programs());
        run
    }

    /// A watcher, some seconds from now.
    fn pass(&self, program: &str, seconds: i64) -> Ran {
        let at = (now() + seconds).to_string();
        ran(self.b.command(program).arg("--db").arg(&self.b.db).args(["--now", &at, "-v"]))
    }
}

/// A worker's script calls `board`.
fn path_of_programs() -> String {
    let folder = Path::new(crate::support::program("board")).parent().unwrap();
    format!("{}:/usr/bin:/bin", folder.display())
}

#[test]
fn the_folder_is_recorded_by_add_by_claim_and_by_run() {
    let s = Site::new();
    let place = |task: &str| (s.b.task(task, "workspace_kind"), s.b.task(task, "workspace_path"));
    let tree = s.tree.to_str().unwrap();
    let there = ("dir".to_owned(), tree.to_owned());
    let claim = |task: &str, folder: &Path, more: &[&str]| {
        let mut claim = s.b.command("board");
        claim
            .arg("--db")
            .arg(&s.b.db)
            .args(["claim", task, "--worker", "luna"])
            .args(more)
            .current_dir(folder);
        ran(&mut claim)
    };
    assert_eq!(place(&s.add(&["--workspace", tree])), there);
    s.b.hand(&["add", "x", "--workspace", "/no/such"]).fails(66);
    s.b.hand(&["add", "x", "--workspace", s.b.db.to_str().unwrap()]).fails(1);

    let here = s.add(&[]);
    claim(&here, &s.tree, &[]).ok();
    assert_eq!(place(&here), there);
    let hash = s.b.payload(&here, "claimed")["watchbill"]["tree"].clone();
    assert!(hash.as_str().is_some_and(|h| h.starts_with("git:")), "{hash}");

    let named = s.add(&[]);
    claim(&named, Path::new("/"), &["--workspace", tree]).ok();
    assert_eq!(place(&named), there);

    // Nobody works in the root or in a home; what is recorded stays.
    let nowhere = s.add(&[]);
    claim(&nowhere, Path::new("/"), &[]).ok();
    assert_eq!(s.b.task(&nowhere, "workspace_path"), "NULL");
    let other = s.add(&["--workspace", s.b.path().to_str().unwrap()]);
    let said = claim(&other, &s.tree, &["--workspace", tree]).fails(1);
    assert!(said.contains("its folder is "), "{said}");
    claim(&other, &s.tree, &[]).ok();
    assert_ne!(s.b.task(&other, "workspace_path"), tree);

    s.b.sql("UPDATE tasks SET status = 'done' WHERE status = 'ready'");
    let run = s.add(&[]);
    ran(&mut s.runs("luna", "true")).ok();
    assert_eq!((place(&run), s.b.task(&run, "status")), (there, "done".into()));
}

#[test]
fn three_workers_bring_it_to_its_end_over_a_death_a_foreign_edit_and_a_block() {
    let s = Site::new();
    s.b.hand(&["add", "other", "--assignee", "nobody"]).ok();
    let task = s.add(&["--out-of-scope", "notes", "--time-budget", "1h"]);

    // The first worker commits, records where it stands, and is killed together with its harness.
    let script = "echo $$ > ../pid; echo two >> src/a; git -c user.name=a -c user.email=a@b commit -qam 'light four'
        board packet $HERMES_KANBAN_TASK --verified 'four of nine burn' --next 'the fifth'; touch ../at-work; exec sleep 600";
    let mut harness =
        Kept(s.runs("luna", script).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("it works", || s.b.path().join("at-work").exists());
    let worker: i64 = fs::read_to_string(s.b.path().join("pid")).unwrap().trim().parse().unwrap();
    harness.kill();
    kill_process(Pid::from_raw(i32::try_from(worker).unwrap()).unwrap(), Signal::KILL).unwrap();
    until("it is gone", || is_gone(worker));
    let said = s.pass("heal", 60).ok();
    assert!(said.contains(&format!("{task} note: ")), "{said}");

    // The operator edits its files meanwhile: the task waits until the operator unblocks it.
    fs::write(s.tree.join("src/a"), "theirs\n").unwrap();
    let said = s.pass("heal", 300).ok();
    assert!(said.contains("tree-drift") && said.contains("src/a"), "{said}");
    s.b.hand(&["unblock", &task, "--reason", "that was me"]).ok();

    // The second worker gets the packet, edits a file outside its scope and asks for help.
    let script = "cat > ../prompt; echo lamp >> notes; board block $HERMES_KANBAN_TASK --type scope_boundary 'the notes are wrong'";
    ran(&mut s.runs("luna", script)).ok();
    let prompt = fs::read_to_string(s.b.path().join("prompt")).unwrap();
    assert!(prompt.contains("four of nine burn") && prompt.contains("the fifth"), "{prompt}");
    let card = s.b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
    let body = s.b.task(&card, "body");
    let read = Distress::parse(&body).unwrap();
    let tree = s.tree.to_str().map(str::to_owned);
    assert_eq!(
        (read.worker.as_deref(), read.branch.as_deref(), read.workspace),
        (Some("luna"), Some("work"), tree)
    );
    assert_eq!(read.completed.as_deref(), Some("four of nine burn"));
    assert_eq!((read.cannot_touch.as_deref(), read.state), (Some("notes"), State::Uncommitted));
    assert!(body.contains("## Where the work stands") && body.contains("Next: the fifth"), "{body}");
    let author = "SELECT author FROM task_comments WHERE body LIKE '%notes are wrong%'";
    assert_eq!(s.b.value(author), "luna", "signed by the worker that claimed, not by the user");
    let page = s.b.path().join("page.html");
    let measured = ran(s.b.command("budget-check").arg("--db").arg(&s.b.db).args([
        "--html",
        page.to_str().unwrap(),
        "--json",
    ]));
    let measured: Value = serde_json::from_str(&measured.out).unwrap();
    let outside = |row: &Value| row["files"]["out_of_scope"].clone();
    let rows = measured["boards"][0]["overview"]["tasks"].as_array().into_iter().flatten();
    let outside: Vec<Value> = rows.filter(|row| row["task"] == task.as_str()).map(outside).collect();
    assert_eq!(outside, [json!(["notes"])], "{measured}");

    // The orchestrator decides; the third worker finishes.
    s.b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
    let route = json!({"route": {"task": task, "action": "reassign", "assignee": "nova"}});
    s.b.hand(&["complete", &card, "--metadata", &route.to_string()]).ok();
    let said = s.pass("route-blocked", 400).ok();
    assert!(said.contains("nova"), "{said}");
    ran(&mut s.runs("nova", "cat > ../prompt; echo three >> src/a")).ok();
    assert_eq!((s.b.task(&task, "status"), s.b.task(&task, "assignee")), ("done".into(), "nova".into()));
}

#[test]
fn each_field_of_the_card_is_as_on_a_hermes_board() {
    let card = |s: &Site| {
        let task = s.add(&["--out-of-scope", "notes", "--concern", "the lanterns"]);
        // The folder of a task is Hermes' to record on its boards.
        if s.b.value("PRAGMA application_id") == "0" {
            let tree = s.tree.display();
            s.b.sql(&format!(
                "UPDATE tasks SET workspace_kind = 'worktree', workspace_path = '{tree}', branch_name = 'work'"
            ));
        }
        let by_worker = |args: &[&str]| {
            let mut board = s.b.command("board");
            board.arg("--db").arg(&s.b.db).args(args).current_dir(&s.tree);
            ran(board.env("HERMES_KANBAN_TASK", &task)).ok()
        };
        by_worker(&["claim", &task, "--worker", "luna"]);
        fs::write(s.tree.join("src/a"), "two\n").unwrap();
        git(&s.tree, &["commit", "-qam", "light four"]);
        by_worker(&[
            "packet",
            &task,
            "--verified",
            "four of nine burn",
            "--step",
            "lamp five",
            "--next",
            "the fifth",
        ]);
        by_worker(&["heartbeat", &task, "--note", "lamp five"]);
        fs::write(s.tree.join("notes"), "lamp\n").unwrap();
        by_worker(&[
            "block",
            &task,
            "--type",
            "scope_boundary",
            "--needs",
            "somebody for the notes",
            "the notes are wrong",
        ]);
        let body = s.b.value("SELECT body FROM tasks WHERE title LIKE '[BLOCKED]%'");
        let row = "SELECT title || '|' || assignee || '|' || status || '|' || priority FROM tasks WHERE title LIKE '[BLOCKED]%'";
        let said = "SELECT group_concat(author || ': ' || body, x'0a') FROM task_comments WHERE body LIKE 'Stopped%'";
        let id = s.b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
        // The commands are those of each board's own program.
        let command = format!("board --db {}", s.b.db.display());
        let all =
            format!("{}\n{body}\n{}", s.b.value(row), s.b.value(said)).replace(&command, "hermes kanban");
        let all = all.replace(&task, "TASK").replace(&id, "CARD").replace(s.tree.to_str().unwrap(), "TREE");
        // There the worker of a card has a tool for it.
        let all = all.replace("`hermes kanban complete CARD --metadata '", "kanban_complete(metadata=");
        let all = all.replace("}}'` and route-blocked", "}}) and route-blocked");
        // Without what the second of a step decides.
        let moments = [
            "> recorded ",
            "> - Tree then: git:",
            "- Tree then: git:",
            "- Commit: ",
            "| 1 | luna | unknown | blocked | ",
            "Read this before any mission file: where the worker itself said it stood (",
        ];
        let lines = all.lines().map(|l| moments.into_iter().find(|m| l.starts_with(m)).unwrap_or(l));
        lines.collect::<Vec<_>>().join("\n")
    };
    let (own, hermes) = (card(&Site::new()), card(&Site::of(TestBoard::new())));
    assert_eq!(own, hermes);
    for line in [
        "Worker: luna",
        "Branch: work",
        "Workspace: TREE",
        "State: uncommitted",
        "Completed: four of nine burn",
        "Cannot touch: notes",
        "somebody for the notes",
    ] {
        assert!(own.contains(line), "{line}: {own}");
    }
}

#[test]
fn what_a_worker_says_is_signed_by_the_worker_that_claimed() {
    let s = Site::new();
    let task = s.add(&[]);
    let by_worker = |args: &[&str]| {
        let mut board = s.b.command("board");
        board.arg("--db").arg(&s.b.db).args(args).current_dir(&s.tree);
        ran(board.env("USER", "root").env("HERMES_KANBAN_TASK", &task).env_remove("HERMES_PROFILE")).ok()
    };
    s.b.hand(&["claim", &task, "--worker", "luna"]).ok();
    by_worker(&["comment", &task, "half of them burn"]);
    by_worker(&["heartbeat", &task, "--note", "the fifth"]);
    by_worker(&["block", &task, "--type", "dependency", "no oil"]);
    let authors = s.b.value("SELECT group_concat(DISTINCT author) FROM task_comments");
    assert_eq!(authors, "luna", "not the user of the machine");
    // A person comments under their own name on a task that another worker works on.
    let other = s.add(&[]);
    s.b.hand(&["claim", &other, "--worker", "luna"]).ok();
    let mut board = s.b.command("board");
    board.arg("--db").arg(&s.b.db).args(["comment", &other, "hurry"]).env("USER", "ann");
    ran(&mut board).ok();
    assert_eq!(s.b.value(&format!("SELECT author FROM task_comments WHERE task_id = '{other}'")), "ann");
}

#[test]
fn a_card_takes_what_was_done_from_the_packet_a_heartbeat_or_a_commit() {
    for (words, want) in [
        (&["packet", "--verified", "the first four"][..], "the first four"),
        (&["heartbeat", "--note", "five of nine burn"][..], "five of nine burn"),
        (&[][..], "committed: light six"),
    ] {
        let s = Site::new();
        let task = s.add(&[]);
        let mut claim = s.b.command("board");
        claim.arg("--db").arg(&s.b.db).args(["claim", &task, "--worker", "luna"]).current_dir(&s.tree);
        ran(&mut claim).ok();
        fs::write(s.tree.join("src/a"), "six\n").unwrap();
        git(&s.tree, &["commit", "-qam", "light six"]);
        if let Some((verb, rest)) = words.split_first() {
            s.b.hand(&[&[*verb, task.as_str()], rest].concat()).ok();
        }
        s.b.hand(&["block", &task, "--type", "dependency", "no oil"]).ok();
        let body = s.b.value("SELECT body FROM tasks WHERE title LIKE '[BLOCKED]%'");
        let read = Distress::parse(&body).unwrap();
        assert_eq!(read.completed.as_deref(), Some(want), "{words:?}: {body}");
        assert_eq!((read.branch.as_deref(), read.state), (Some("work"), State::Committed), "{body}");
        assert_eq!(read.workspace.as_deref(), s.tree.to_str(), "{body}");
    }
}
