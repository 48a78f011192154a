//! `board`: enough for any agent that can run a command to work from the ready queue, and for a person to see it.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::{Kept, TestBoard, dead_pid, now, program, ran, stranger};

fn id(b: &TestBoard, args: &[&str]) -> String {
    let mut all = vec!["add"];
    all.extend(args);
    b.hand(&all).ok().trim().to_owned()
}

/// Whose board it is moves the log back: our own checkpoint would be one more moment at which Hermes 0.19 finds its file too short.
#[test]
fn what_is_written_stays_in_the_log_of_somebody_elses_board() {
    let b = TestBoard::new();
    b.add("t_00000a10", "ready");
    // Another process has it open, as a gateway has.
    let gateway = b.open();
    gateway.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let file = || std::fs::metadata(&b.db).map(|m| (m.len(), m.modified().unwrap())).unwrap();
    let before = file();
    let long = "word ".repeat(12_000);
    for _ in 0..100 {
        b.hand(&["comment", "t_00000a10", &long]).ok();
    }
    let log = std::fs::metadata(b.path().join("kanban.db-wal")).unwrap().len();
    assert!(log > 1_000 * 4_096, "more than what SQLite leaves in a log by itself: {log}");
    assert!(file() == before, "the board's file was written");
    assert_eq!(
        gateway.query_row("SELECT count(*) FROM task_comments", [], |r| r.get::<_, i64>(0)).unwrap(),
        100
    );
}

/// As Hermes 0.22 does; 0.19 completes nothing that is in review.
#[test]
fn what_is_in_review_is_accepted_by_the_command_that_is_advised() {
    for b in [TestBoard::own(), TestBoard::new()] {
        b.add("t_00000001", "review");
        let said =
            ran(b.command("watchbill").args(["why", "t_00000001", "--json"]).arg("--db").arg(&b.db)).json();
        let all = said["commands"].as_array().unwrap();
        let accept = all.iter().find(|c| c["to"] == "accept it").unwrap()["run"].as_str().unwrap();
        let mut words = accept.split(' ');
        ran(b.command(words.next().unwrap()).args(words)).ok();
        assert_eq!(b.task("t_00000001", "status"), "done", "{accept}");
    }
}

#[test]
fn a_task_of_luna_in_any_case_is_lunas() {
    for b in [TestBoard::own(), TestBoard::new()] {
        for (n, assignee) in ["Luna", "LUNA", "luna"].into_iter().enumerate() {
            b.add(&format!("t_0000a0b{n}"), "ready");
            b.sql(&format!("UPDATE tasks SET assignee = '{assignee}' WHERE id = 't_0000a0b{n}'"));
        }
        let rows = b.hand(&["list", "--assignee", "Luna", "--json"]).json();
        assert_eq!(rows.as_array().unwrap().len(), 3, "{rows}");
        assert_eq!(b.hand(&["claim", "--worker", "luna"]).ok().trim(), "t_0000a0b0");
        for _ in 0..2 {
            let _ = b.hand(&["run", "--assignee", "Luna", "--", "true"]);
        }
        assert_eq!(b.value("SELECT group_concat(DISTINCT profile) FROM task_runs"), "luna");
        assert_eq!(b.value("SELECT count(*) FROM task_runs"), "3");
    }
}

#[test]
fn a_day_of_work_from_the_ready_queue() {
    let b = TestBoard::own();
    let first = id(&b, &["Write the parser", "--assignee", "Luna", "--priority", "5", "--body", "Small."]);
    let second = id(&b, &["Use the parser", "--assignee", "luna", "--priority", "1", "--parent", &first]);
    let third = id(&b, &["Anybody's"]);
    assert_eq!(b.task(&second, "status"), "todo");
    assert_eq!(b.task(&first, "assignee"), "luna");

    assert_eq!(b.hand(&["claim", "--worker", "luna"]).ok().trim(), first);
    assert_eq!(
        b.task(&first, "status || ' ' || (worker_pid IS NULL) || ' ' || (claim_expires > 0)"),
        "running 1 1"
    );
    b.hand(&["heartbeat", &first, "--note", "half way", "--ttl", "30m"]).ok();
    assert!(b.task(&first, "claim_expires").parse::<i64>().unwrap() > now() + 1_700);
    b.hand(&["comment", &first, "see https://github.com/a/b/pull/9"]).ok();
    assert_eq!(
        b.value("SELECT body FROM task_comments"),
        "see a/b#9",
        "an address would park the task in Hermes"
    );
    b.hand(&["complete", &first, "--summary", "parser done\nmore"]).ok();
    assert_eq!(b.kinds(&first), "created claimed heartbeat commented completed");
    // Promoted in the same transaction: there is no dispatcher to do it.
    assert_eq!(b.task(&second, "status"), "ready");
    assert_eq!(b.kinds(&second), "created promoted");

    let claimed = b.hand(&["claim", "--worker", "luna", "--json"]).json();
    assert_eq!((&claimed["task"], claimed["run"].is_i64()), (&json!(second), true));
    b.hand(&["block", &second, "no key", "--kind", "needs_input"]).ok();
    assert_eq!(b.task(&second, "status || block_kind"), "blockedneeds_input");
    assert_eq!(b.hand(&["claim", "--worker", "luna"]).ok().trim(), third);
    assert_eq!(b.hand(&["claim", "--worker", "luna"]).ok(), "", "nothing left says nothing");
    let list = b.hand(&["list"]).ok();
    assert!(
        list.contains("blocked") && list.contains("Use the parser") && !list.contains("Write the parser"),
        "{list}"
    );
    assert_eq!(b.hand(&["list", "--status", "done", "--json"]).json()[0]["task"], json!(first));
    let story = b.hand(&["show", &first]).ok();
    assert!(story.contains("completed") && story.contains("parser done"), "{story}");
    assert_eq!(b.value("SELECT count(*) FROM task_runs WHERE ended_at IS NULL"), "1");
    assert_eq!(b.value("PRAGMA integrity_check"), "ok");
}

#[test]
fn the_scope_section_is_written_and_read_back() {
    let b = TestBoard::own();
    let task = id(
        &b,
        &[
            "Port it",
            "--body",
            "Some text.",
            "--concern",
            "the parser",
            "--in-scope",
            "src/parse/**",
            "--in-scope",
            "Cargo.toml",
            "--out-of-scope",
            "src/net/**",
            "--max-files",
            "4",
            "--iterations",
            "40",
        ],
    );
    let body = b.task(&task, "body");
    assert!(body.starts_with("Some text.\n") && body.contains("## Scope\n- Concern: the parser\n"), "{body}");
    let scope = &b.hand(&["show", &task, "--json"]).json()["scope"];
    assert_eq!(scope["in_scope"], json!(["src/parse/**", "Cargo.toml"]));
    assert_eq!((&scope["max_files"], &scope["iterations"]), (&json!(4), &json!(40)));
}

#[test]
fn bad_input_is_one_line_and_changes_nothing() {
    let b = TestBoard::own();
    let a = id(&b, &["A"]);
    let c = id(&b, &["C", "--parent", &a]);
    let done = id(&b, &["D"]);
    b.hand(&["complete", &done]).ok();
    let before = b.dump();
    let refused = |args: &[&str], says: &str| {
        let said = b.hand(args).fails(1);
        assert!(said.contains(says), "{args:?}: {said}");
    };
    refused(&["show", "t_ffffffff"], "no such task");
    refused(&["claim", "t_ffffffff"], "no such task");
    refused(&["show", "everything"], "not a task id");
    refused(&["comment", "t_ffffffff", "hello"], "no such task");
    refused(&["add", "   "], "blank");
    refused(&["add", "two\nlines"], "more than one line");
    refused(&["add", "x", "--parent", "t_ffffffff"], "no such task");
    refused(&["comment", &a, "  "], "blank");
    refused(&["link", &c, &a], "cycle");
    refused(&["link", &a, &a], "itself");
    refused(&["link", "t_ffffffff", &a], "no such task");
    refused(&["unlink", "t_ffffffff", &a], "no such task");
    refused(&["unlink", &a, "t_ffffffff"], "no such task");
    refused(&["claim", &c], "waits for");
    refused(&["complete", &c], "todo");
    refused(&["claim", &done], "done");
    refused(&["heartbeat", &a], "not running");
    refused(&["block", &done, "why", "--kind", "needs_input"], "done");
    refused(&["block", &a, " ", "--kind", "needs_input"], "reason");
    refused(&["block", &a, "--kind", "needs_input"], "reason");
    refused(&["block", "t_ffffffff", "--type", "dependency"], "no such task");
    refused(&["block", &done, "--type", "dependency"], "done");
    refused(&["block", &c, "--type", "dependency"], "todo");
    refused(&["host", "list"], "is a board of one host, which has no list of hosts");
    refused(&["host", "forget", "moon"], "is a board of one host, which has no list of hosts");
    refused(&["grant", "--worker", "luna"], "is a file: who may use it is told by its rights");
    refused(&["upgrade"], "is a file, whose tables need no upgrade");
    refused(&["reassign", "t_ffffffff", "nova"], "no such task");
    refused(&["reassign", &a, "PROFILE"], "write the name of a profile in its place");
    refused(&["comment", &a, "YOUR ANSWER"], "write your answer in its place");
    refused(&["reassign", &a, "No Va"], "not the name of a profile");
    refused(&["reassign", &a, ""], "not the name of a profile");
    refused(&["unblock", "t_ffffffff"], "no such task");
    refused(&["unblock", &a], "ready, not blocked or scheduled");
    refused(&["unblock", &done], "done, not blocked or scheduled");
    refused(&["complete", &a, "--metadata", "{}"], "no open run");
    refused(&["claim", &a, "--pid", &dead_pid().to_string()], "no such process");
    assert_eq!(b.hand(&["list", "--status", "asleep"]).code, 2);
    assert_eq!(b.hand(&["claim", &a, "--ttl", "1M"]).code, 2);
    let wrong = |args: &[&str], says: &[&str]| {
        let said = b.hand(args).fails(2);
        assert!(says.iter().all(|s| said.contains(s)), "{args:?}: {said}");
    };
    let types = [
        "scope_boundary",
        "env_blocker",
        "credential_failure",
        "dependency",
        "iteration_budget",
        "rate_limited",
    ];
    wrong(&["block", &a, "why"], &[&types[..], &["--kind"]].concat());
    wrong(&["block", &a, "why", "--type", "tired"], &types);
    wrong(&["block", &a, "why", "--type", "dependency", "--kind", "dependency"], &["both"]);
    wrong(&["complete", &a, "--metadata", "[1]"], &["not an object"]);
    wrong(&["complete", &a, "--metadata", "{"], &["not JSON"]);
    assert_eq!(b.hand(&["block", &a, "why", "--kind", "needs_input", "--needs", "x"]).code, 2);
    assert_eq!(b.hand(&["protocol", "manager"]).code, 2);
    assert_eq!(b.dump(), before);
}

#[test]
fn a_run_that_is_not_ones_own_any_more_is_refused() {
    let b = TestBoard::own();
    let task = id(&b, &["A"]);
    let run = b.hand(&["claim", &task, "--json"]).json()["run"].as_i64().unwrap();
    let other = (run + 1).to_string();
    for args in [
        &["complete", &task, "--run", &other][..],
        &["heartbeat", &task, "--run", &other],
        &["block", &task, "x", "--kind", "needs_input", "--run", &other],
        &["block", &task, "x", "--type", "rate_limited", "--run", &other],
    ] {
        assert!(b.hand(args).fails(1).contains("another worker"), "{args:?}");
    }
    // As a Hermes worker is told; and another's task is not its to touch.
    let told = |about: &str| {
        let mut command = b.command("board");
        command.arg("--db").arg(&b.db).env("HERMES_KANBAN_TASK", about).env("HERMES_KANBAN_RUN_ID", &other);
        ran(command.args(["heartbeat", &task]))
    };
    assert!(told(&task).fails(1).contains("another worker"));
    assert!(told("t_ffffffff").fails(1).contains("is not your task"));
    // Nobody is named where nobody is.
    b.hand(&["block", &task, "x", "--kind", "needs_input", "--run", &run.to_string()]).ok();
    let said = b.hand(&["complete", &task, "--run", &run.to_string()]).fails(1);
    assert!(said.contains("the task is blocked and no worker has it"), "{said}");
    b.hand(&["unblock", &task]).ok();
    let run = b.hand(&["claim", &task, "--json"]).json()["run"].as_i64().unwrap();
    b.hand(&["complete", &task, "--run", &run.to_string()]).ok();
}

#[test]
fn the_same_key_adds_once() {
    let b = TestBoard::own();
    let one = id(&b, &["A", "--key", "nightly"]);
    assert_eq!(id(&b, &["A again", "--key", "nightly"]), one);
    let second = b.hand(&["add", "B", "--key", "nightly", "--json"]).json();
    assert_eq!((&second["task"], &second["added"]), (&json!(one), &json!(false)));
    assert_eq!(b.value("SELECT count(*) FROM tasks"), "1");
}

#[test]
fn twenty_workers_at_once_take_twenty_different_tasks() {
    let b = TestBoard::own();
    for n in 0..20 {
        id(&b, &[&format!("Task {n}")]);
    }
    let mut crew: Vec<_> = (0..20)
        .map(|_| {
            let mut command = b.command("board");
            command
                .arg("--db")
                .arg(&b.db)
                .args(["claim", "--worker", "luna"])
                .stdout(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let taken: BTreeSet<String> = crew
        .drain(..)
        .map(|c| String::from_utf8(c.wait_with_output().unwrap().stdout).unwrap().trim().to_owned())
        .filter(|t| !t.is_empty())
        .collect();
    assert_eq!(taken.len(), 20);
    assert_eq!(b.value("SELECT count(*) FROM task_runs WHERE ended_at IS NULL"), "20");
    assert_eq!(b.value("SELECT count(DISTINCT task_id) FROM task_runs"), "20");
}

#[test]
fn a_claim_with_a_pid_is_watched_by_heal() {
    // With the default rules about namespaces: the claim itself says in which one the pid was read.
    let b = TestBoard { config: String::new(), ..TestBoard::own() };
    let task = id(&b, &["A"]);
    let mut worker: Kept = stranger();
    b.hand(&["claim", &task, "--pid", &worker.pid().to_string()]).ok();
    let db = b.db.to_str().unwrap();
    let later = (now() + 600).to_string();
    let said = b.heal(&["--db", db, "--now", &later, "-v"]).ok();
    assert!(said.contains("worker alive"), "its recorded start proves it without any mark: {said}");
    worker.kill();
    let said = b.heal(&["--db", db, "--now", &later]).ok();
    assert!(said.contains("requeue"), "{said}");
}

#[test]
fn a_lease_without_heartbeats_runs_out() {
    let b = TestBoard::own();
    let task = id(&b, &["A"]);
    b.hand(&["claim", &task, "--ttl", "10m"]).ok();
    let db = b.db.to_str().unwrap();
    let at = |seconds: i64| b.heal(&["--db", db, "--now", &(now() + seconds).to_string()]).ok();
    assert_eq!(at(640), "");
    assert!(at(680).contains("requeue: no worker known, claim ran out"));
    assert_eq!(b.task(&task, "status"), "ready");
}

#[test]
fn a_child_left_in_todo_by_a_crash_is_promoted_by_heal() {
    let b = TestBoard::own();
    let a = id(&b, &["A"]);
    let c = id(&b, &["C", "--parent", &a]);
    // As another program that completes without promoting.
    b.sql(&format!("UPDATE tasks SET status = 'done' WHERE id = '{a}'"));
    let later = (now() + 60).to_string();
    assert!(b.heal(&["--db", b.db.to_str().unwrap(), "--now", &later]).ok().contains("promote"));
    assert_eq!(b.task(&c, "status"), "ready");
    // And `claim` need not wait for it.
    b.sql(&format!("UPDATE tasks SET status = 'todo' WHERE id = '{c}'"));
    assert_eq!(b.hand(&["claim", &c]).ok().trim(), c);
    assert_eq!(b.task(&c, "status"), "running");
    // Nor need who takes the next one.
    let d = id(&b, &["D", "--parent", &a]);
    b.sql(&format!("UPDATE tasks SET status = 'todo' WHERE id = '{d}'"));
    assert_eq!(b.hand(&["claim"]).ok().trim(), d);
    assert!(b.kinds(&d).ends_with("promoted claimed"), "{}", b.kinds(&d));
}

#[test]
fn what_no_longer_waits_for_another_task_is_ready() {
    let b = TestBoard::own();
    let (a, c) = (id(&b, &["A"]), id(&b, &["C"]));
    let waits = id(&b, &["D", "--parent", &a, "--parent", &c]);
    let unlink = |parent: &str| b.hand(&["unlink", parent, &waits, "--json"]).json();
    let said = |parent: &str, unlinked: bool, status: &str| json!({"parent": parent, "child": waits, "unlinked": unlinked, "status": status});
    assert_eq!(unlink(&a), said(&a, true, "todo"));
    assert_eq!(unlink(&a), said(&a, false, "todo"), "that was all");
    let mut as_worker = b.command("board");
    as_worker.env("HERMES_KANBAN_TASK", &waits).arg("--db").arg(&b.db).args(["unlink", &c, &waits]);
    assert!(ran(&mut as_worker).fails(1).contains("is your own task"));
    assert_eq!(unlink(&c), said(&c, true, "ready"));
    assert!(b.kinds(&waits).ends_with("unlinked unlinked promoted"), "{}", b.kinds(&waits));
    assert_eq!(b.hand(&["claim", &waits]).ok().trim(), waits);
    // With a dispatcher that is its business.
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    b.add("t_00000002", "ready");
    b.hand(&["link", "t_00000001", "t_00000002"]).ok();
    b.hand(&["unlink", "t_00000001", "t_00000002"]).ok();
    assert_eq!(
        (b.task("t_00000002", "status").as_str(), b.value("SELECT count(*) FROM task_links").as_str()),
        ("todo", "0")
    );
}

#[test]
fn every_question_of_a_worker_is_answered_by_the_command_that_is_printed() {
    let b = TestBoard::own();
    let task = id(&b, &["Choose a licence", "--assignee", "luna"]);
    let db = b.db.display();
    let answer = format!(
        "board --db {db} comment {task} 'YOUR ANSWER' --author \"$USER\" && board --db {db} unblock {task}"
    );
    let watchbill = |args: &[&str]| ran(b.command("watchbill").args(args).arg("--db").arg(&b.db));
    for (question, status) in
        [("which licence?", "blocked"), ("which year?", "triage"), ("which name?", "blocked")]
    {
        b.hand(&["claim", &task, "--worker", "luna"]).ok();
        b.hand(&["block", &task, question, "--kind", "needs_input"]).ok();
        assert_eq!(b.task(&task, "status"), status, "{question}");
        let _ = watchbill(&["run"]);
        let said = watchbill(&["why", &task]).ok();
        assert!(said.contains(&answer) && !said.contains("specify"), "{question}: {said}");
        let checked = watchbill(&["check"]).out;
        assert!(checked.contains("needs_person=1"), "{question}: {checked}");
        let path =
            format!("{}:/usr/bin:/bin", std::path::Path::new(program("board")).parent().unwrap().display());
        let shell = |command: &str| {
            let mut shell = std::process::Command::new("sh");
            ran(shell.args(["-c", command]).env("PATH", &path).env("USER", "anna").env("HOME", b.path()))
        };
        assert!(
            shell(&answer).fails(1).contains("YOUR ANSWER: write your answer in its place"),
            "{question}"
        );
        assert_eq!(b.task(&task, "status"), status, "{question}: nobody answered it yet");
        shell(&answer.replace("YOUR ANSWER", "The first one.")).ok();
        assert_eq!(b.task(&task, "status"), "ready", "{question}");
    }
    let _ = watchbill(&["run"]);
    let cards = "SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%'";
    assert_eq!(b.value(cards), "0", "a person was asked, and no orchestrator answers for them");
    // Hermes specifies what is in triage on its own boards.
    let b = TestBoard::new();
    b.add("t_00000001", "triage");
    let said = b.hand(&["unblock", "t_00000001"]).fails(1);
    assert!(
        said.contains("is triage, not blocked or scheduled")
            && said.contains("hermes kanban specify")
            && said.contains("costs tokens"),
        "{said}"
    );
}

/// Neither `reassign` nor Hermes' own `unblock` takes a claim away, and nothing starts what is claimed.
#[test]
fn a_claim_that_another_host_left_is_told_until_the_printed_command_released_it() {
    for (b, is_own) in [(TestBoard::new(), false), (TestBoard::own(), true)] {
        let watchbill = |args: &[&str]| ran(b.command("watchbill").args(args).arg("--db").arg(&b.db));
        for (n, (status, then)) in
            [("ready", "ready"), ("todo", "todo"), ("blocked", "ready")].into_iter().enumerate()
        {
            let task = format!("t_0000000{n}");
            b.add(&task, status);
            b.sql(&format!(
                "UPDATE tasks SET claim_lock = 'oldhost:77', claim_expires = 1, worker_pid = 4242 WHERE id = '{task}'"
            ));
            ran(b.command("heal").arg("--db").arg(&b.db)).ok();
            assert_eq!(b.task(&task, "claim_lock"), "oldhost:77", "another host's");
            for _ in 0..2 {
                let said = watchbill(&["why", &task]).ok();
                assert!(said.contains("the claim by oldhost:77 ran out"), "{is_own} {status}: {said}");
                let line = said.lines().find(|l| l.contains("unblock ")).unwrap_or(&said);
                assert!(line.trim_start().starts_with("board "), "{status}: {said}");
                assert!(!said.contains("kanban unblock") && !said.contains("reassign"), "{status}: {said}");
                assert!(watchbill(&["status"]).out.contains(&task), "{status}");
                // Assigned anew, it is claimed as before.
                b.hand(&["reassign", &task, "luna", "--force"]).ok();
            }
            let said = b.hand(&["unblock", &task]).ok();
            assert!(!said.contains("waits for ,"), "{said}");
            assert_eq!(b.task(&task, "status || ifnull(claim_lock, '-')"), format!("{then}-"), "{status}");
            assert!(!watchbill(&["status"]).out.contains("oldhost"), "{status}");
            b.sql(&format!("UPDATE tasks SET status = 'archived' WHERE id = '{task}'"));
        }
    }
}

/// Runs a line that `status` printed, as a person does.
fn typed(b: &TestBoard, line: &str) {
    let path =
        format!("{}:/usr/bin:/bin", std::path::Path::new(program("board")).parent().unwrap().display());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).env("PATH", path).env("USER", "anna").env("HOME", b.path());
    ran(&mut shell).ok();
}

/// The need of `status` that is about this task.
fn need_of(b: &TestBoard, task: &str) -> Option<serde_json::Value> {
    let all = ran(b.command("watchbill").args(["status", "--json", "--db"]).arg(&b.db)).json();
    let needs = all["needs"].as_array().unwrap().clone();
    needs.into_iter().find(|n| n["tasks"].as_array().unwrap().iter().any(|t| t["id"] == task))
}

/// As a copy leaves what waited for a task that is gone: no dispatcher promotes it there.
#[test]
fn what_waits_for_no_other_task_is_told_until_the_printed_command_made_it_ready() {
    let b = TestBoard::own();
    b.add("t_00000001", "todo");
    let why = || ran(b.command("watchbill").args(["why", "t_00000001"]).arg("--db").arg(&b.db)).ok();
    let said = why();
    assert!(said.contains("only a person promotes it") && !said.contains("dispatcher promotes"), "{said}");
    assert!(need_of(&b, "t_00000001").is_none(), "for two hours it may be in the making");
    let at = now() - 7_300;
    b.sql(&format!("UPDATE tasks SET created_at = {at}; UPDATE task_events SET created_at = {at}"));
    ran(b.command("heal").arg("--db").arg(&b.db)).ok();
    let need = need_of(&b, "t_00000001").unwrap();
    assert_eq!(need["cause"], "unlinked", "{need}");
    typed(&b, need["run"].as_str().unwrap());
    assert_eq!(b.task("t_00000001", "status"), "ready");
    assert!(b.kinds("t_00000001").ends_with("promoted"), "{}", b.kinds("t_00000001"));
    assert!(need_of(&b, "t_00000001").is_none());
    // With a dispatcher it is the dispatcher's, and what waits for a task is not free.
    let hermes = TestBoard::new();
    hermes.add("t_00000001", "todo");
    hermes.hand(&["unblock", "t_00000001"]).fails(1);
    let first = id(&b, &["First"]);
    let waits = id(&b, &["Second", "--parent", &first]);
    assert!(b.hand(&["unblock", &waits]).fails(1).contains("is todo, not blocked or scheduled"));
}

#[test]
fn a_card_that_a_person_has_is_told_with_who_may_take_it_instead() {
    let b = TestBoard::own();
    b.add("t_00000001", "ready");
    b.hand(&["claim", "t_00000001"]).ok();
    b.hand(&["block", "t_00000001", "--type", "env_blocker", "no such model"]).ok();
    let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
    b.hand(&["reassign", &card, "anna", "--force"]).ok();
    let at = now() - 2_000;
    b.sql(&format!(
        "UPDATE tasks SET created_at = {at} WHERE id = '{card}'; UPDATE task_events SET created_at = {at} WHERE task_id = '{card}'"
    ));
    ran(b.command("route-blocked").arg("--db").arg(&b.db)).ok();
    let need = need_of(&b, "t_00000001").unwrap();
    let says = need["says"].as_str().unwrap();
    assert!(says.contains(&format!("card {card} waits for a decision of anna")), "{need}");
    let run = need["run"].as_str().unwrap();
    assert!(run.contains(&format!("reassign {card} tuesday")), "{need}");
    typed(&b, run);
    assert_eq!(b.task(&card, "assignee || ' ' || status"), "tuesday ready");
    assert!(need_of(&b, "t_00000001").is_none(), "an orchestrator has it, and has just got it");
}

#[test]
fn init_makes_a_board_once_and_never_over_something() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/er/board.db");
    let run = |args: &[&str]| {
        ran(std::process::Command::new(program("board")).env_clear().env("HOME", dir.path()).args(args))
    };
    assert!(run(&["init", path.to_str().unwrap()]).ok().contains("made"));
    let before = std::fs::read(&path).unwrap();
    assert!(run(&["init", path.to_str().unwrap()]).fails(1).contains("already exists"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(run(&["init"]).code, 2);
    assert_eq!(run(&["list", "--db", path.to_str().unwrap()]).ok(), "");
    assert!(run(&["list"]).fails(66).contains("no board"), "our own board is used only when it is named");
    let full = run(&["init", "/proc/nothing/board.db"]);
    assert!(matches!(full.code, 66 | 74 | 77), "{full:?}");
}

#[test]
fn the_configured_board_is_the_one_to_work_on() {
    let b = TestBoard::new();
    let own = b.path().join("own.db");
    ran(b.command("board").args(["init", own.to_str().unwrap()])).ok();
    let with = TestBoard { config: format!("[board]\ndb = \"{}\"\n", own.display()), ..b };
    let task = ran(with.command("board").args(["add", "Here"])).ok();
    let listed = ran(with.command("board").args(["list", "--db", own.to_str().unwrap()])).ok();
    assert!(listed.contains(task.trim()), "{listed}");
    assert_eq!(with.value("SELECT count(*) FROM tasks"), "0", "not on the Hermes board");
    // heal watches both.
    assert_eq!(with.heal(&["--json"]).json()["boards"].as_array().unwrap().len(), 2);
}

#[test]
fn reassign_gives_a_task_to_somebody_who_starts_afresh() {
    let b = TestBoard::own();
    b.give_up("t_0000000a", "pid 7 not alive", 600);
    b.hand(&["reassign", "t_0000000a", "Luna"]).ok();
    assert_eq!(b.task("t_0000000a", "consecutive_failures"), "2", "the same one keeps its failures");
    let said = b.hand(&["reassign", "t_0000000a", "NOVA", "--reason", "luna is limited", "--json"]).json();
    assert_eq!(said, json!({"task": "t_0000000a", "assignee": "nova", "from": "luna", "status": "blocked"}));
    assert_eq!(
        b.task("t_0000000a", "assignee || consecutive_failures || ifnull(last_failure_error, '-')"),
        "nova0-"
    );
    let event = b.payload("t_0000000a", "assigned");
    assert_eq!(
        (&event["assignee"], &event["from"], &event["by"]),
        (&json!("nova"), &json!("luna"), &json!("board"))
    );
    assert_eq!(event["watchbill"]["because"], "luna is limited");
    assert_eq!(event["watchbill"]["before"]["consecutive_failures"], 2);

    let running = id(&b, &["A"]);
    b.hand(&["claim", &running, "--worker", "luna"]).ok();
    let before = b.dump();
    assert!(b.hand(&["reassign", &running, "nova"]).fails(1).contains("is running, claimed by"));
    assert_eq!(b.dump(), before);

    // A profile that Hermes does not know would never be started.
    let hermes = TestBoard::new();
    std::fs::create_dir_all(hermes.path().join("profiles/luna")).unwrap();
    hermes.add("t_0000000a", "ready");
    let refused = hermes.hand(&["reassign", "t_0000000a", "nova"]).fails(1);
    assert!(refused.contains("nova: no such profile") && refused.contains("or --force"), "{refused}");
    assert_eq!(hermes.task("t_0000000a", "assignee"), "luna");
    hermes.hand(&["reassign", "t_0000000a", "nova", "--force"]).ok();
    assert_eq!(hermes.task("t_0000000a", "assignee"), "nova");
    assert_eq!(hermes.hand(&["reassign", "t_0000000a", "luna"]).ok(), "");
}

#[test]
fn unblock_sets_free_what_waits_for_nobody() {
    let b = TestBoard::own();
    let parent = id(&b, &["First"]);
    let child = id(&b, &["Second", "--parent", &parent]);
    for (from, to) in [("blocked", "ready"), ("scheduled", "ready")] {
        let task = id(&b, &["A"]);
        b.sql(&format!(
            "UPDATE tasks SET status = '{from}', consecutive_failures = 2, last_failure_error = 'x',
               claim_lock = 'h:1', claim_expires = 1, worker_pid = 1 WHERE id = '{task}'"
        ));
        b.hand(&["unblock", &task, "--reason", "use the second key"]).ok();
        assert_eq!(
            b.task(
                &task,
                "status || consecutive_failures || ifnull(last_failure_error, '-') || ifnull(claim_lock, '-')"
            ),
            format!("{to}0--"),
            "{from}"
        );
        assert_eq!(b.kinds(&task), "created commented unblocked");
        assert_eq!(
            b.value(&format!("SELECT body FROM task_comments WHERE task_id = '{task}'")),
            "UNBLOCK: use the second key"
        );
    }
    b.sql(&format!("UPDATE tasks SET status = 'blocked' WHERE id = '{child}'"));
    assert!(b.hand(&["unblock", &child]).ok().contains(&format!("waits for {parent}")));
    assert_eq!(b.task(&child, "status"), "todo");
    assert_eq!(b.payload(&child, "unblocked")["status"], "todo");
    b.hand(&["complete", &parent]).ok();
    assert_eq!(b.task(&child, "status"), "ready");
}

#[test]
fn a_claim_names_the_log_of_its_agent() {
    let b = TestBoard::own();
    let log = |task: &str| b.payload(task, "claimed")["watchbill"]["log"].clone();
    let (one, two, three) = (id(&b, &["A"]), id(&b, &["B"]), id(&b, &["C"]));
    b.hand(&["claim", &one, "--log", "/srv/agent/./session.jsonl"]).ok();
    assert_eq!(log(&one), json!("/srv/agent/session.jsonl"));
    let mut command = b.command("board");
    command.current_dir(b.path()).arg("--db").arg(&b.db).args(["claim", &two, "--log", "session.jsonl"]);
    ran(&mut command).ok();
    let here = b.path().canonicalize().unwrap().join("session.jsonl");
    assert_eq!(log(&two), json!(here.to_str().unwrap()), "the agent's folder, not the reader's");
    b.hand(&["claim", &three]).ok();
    assert_eq!(log(&three), json!(null));
}

#[test]
fn a_completion_keeps_its_details() {
    let b = TestBoard::own();
    let task = id(&b, &["A"]);
    b.hand(&["claim", &task, "--worker", "tuesday"]).ok();
    let decision = r#"{"route":{"task":"t_1a2b3c4d","action":"reassign","assignee":"nova"}}"#;
    b.hand(&["complete", &task, "--summary", "s", "--metadata", decision]).ok();
    let kept: serde_json::Value = serde_json::from_str(&b.value("SELECT metadata FROM task_runs")).unwrap();
    assert_eq!(kept, serde_json::from_str::<serde_json::Value>(decision).unwrap());
}
