use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::web::{Reply, Web};
use crate::support::{Ran, TestBoard, ran};

const SESSION: &str = "ses_1a2b3c4d";
/// Nobody listens on the port of TCP's port multiplexer.
const NOBODY: &str = "http://127.0.0.1:1";

fn coord(board: &TestBoard, folder: &Path, args: &[&str]) -> Ran {
    let mut command = board.command("coord");
    command
        .arg("--db")
        .arg(&board.db)
        .args(args)
        .env("OPENCODE_SERVER_PASSWORD", "hunter22")
        .current_dir(folder);
    ran(&mut command)
}

/// A repository with one commit.
pub fn repository(board: &TestBoard) -> PathBuf {
    let repo = board.path().join("repo");
    for args in ["init --quiet -b main", "commit --quiet --allow-empty -m Begin"] {
        let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
        std::fs::create_dir_all(&repo).unwrap();
        ran(Command::new("git").arg("-C").arg(&repo).args(identity).args(args.split(' '))).ok();
    }
    repo
}

/// A task at which a session of this server works.
fn mapped(board: &TestBoard, server: &str) {
    works(board, "t_0000000a", SESSION, server, board.path());
}

fn works(board: &TestBoard, task: &str, session: &str, server: &str, directory: &Path) {
    board.add(task, "ready");
    let run = board.run_it(task, None, 60);
    let payload = json!({
        "runtime": "opencode", "session": session, "parent": "ses_parent", "server": server, "host": "h",
        "directory": directory, "branch": "wt/x", "by": "coord",
    });
    board.sql(&format!(
        "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
           VALUES ('{task}', {run}, 'coord.spawned', '{payload}', strftime('%s', 'now'))"
    ));
}

/// What `coord status` says of that session.
fn state(board: &TestBoard, more: &[&str]) -> Value {
    let said = coord(board, board.path(), &[&["status", "--json"], more].concat()).json();
    said["sessions"][0].clone()
}

#[test]
fn what_is_wrong_is_said_in_one_line_and_nothing_is_begun() {
    let board = TestBoard::own();
    let repo = repository(&board);
    let task = board.hand(&["add", "A task"]).ok().trim().to_owned();
    let before = board.dump();
    let outside = board.path().join("kanban");
    for (folder, args, code, says) in [
        (&repo, "message ses_a/b hello", 2, "ses_a/b: neither a session nor a task"),
        (&repo, "abort t_00000000", 1, "t_00000000: no such task"),
        (&repo, "abort TASK", 1, "no session was spawned for it"),
        (&repo, "spawn --prompt x", 2, "--title: a new task needs one line"),
        (&repo, "spawn --task TASK --name ../x", 2, "--name ../x: no name for a folder"),
        (&repo, "spawn --task TASK --branch a..b", 2, "--branch a..b: no name for a branch"),
        (&repo, "spawn --task TASK --branch @", 2, "--branch @: no name for a branch"),
        (&repo, "spawn --task TASK --branch main", 1, "--branch main: is checked out in"),
        (&repo, "spawn --task TASK --parent here", 2, "here: neither a session id nor a name"),
        (
            &repo,
            "spawn --task TASK",
            1,
            "nothing listens there; nothing was done; start it with opencode serve",
        ),
        (&outside, "spawn --task TASK", 1, "not a git repository"),
        (
            &repo,
            "notify hello",
            2,
            "--from: not given, and the current folder is not the worktree of a spawned session",
        ),
        (&repo, "notify hello --from ses_1 --type tired", 2, "--type tired: no such type"),
        (&repo, "notify ", 2, "the text: must have 1 to"),
        (&repo, "message ses_1 ", 2, "the message: blank"),
        (&repo, "status ses_1 --parent x", 2, "x: neither a session id nor a name"),
        (&repo, "status ses_1", 1, "ses_1: was not spawned for a task of this board"),
    ] {
        let args = args.replace("TASK", &task);
        let args: Vec<&str> = args.split(' ').chain(["--server", NOBODY]).collect();
        let said = coord(&board, folder, &args).fails(code);
        assert!(said.contains(says), "{args:?}: {said}");
    }
    for bad in
        ["https://h:1", "http://u:p@h", "h:1", "http://h/x", "http://127.0.0.1:65536", "http://127.0.0.1:"]
    {
        assert_eq!(coord(&board, &repo, &["status", "--server", bad]).code, 2, "{bad}");
    }
    for (bad, says) in [("h:1", "not an address"), ("http://127.0.0.1:4096x", "has no port from 1 to 65535")]
    {
        let mut status = board.command("coord");
        let said = ran(status.arg("--db").arg(&board.db).arg("status").env("OPENCODE_SERVER", bad)).fails(2);
        assert!(said.contains(&format!("OPENCODE_SERVER: {says}")), "{said}");
    }
    assert_eq!(board.dump(), before);
    assert!(!repo.join(".worktrees").exists());
}

#[test]
fn without_sessions_there_is_nothing_to_say() {
    let board = TestBoard::new();
    for command in ["status", "events"] {
        assert_eq!(coord(&board, board.path(), &[command]).ok(), "");
    }
    assert_eq!(coord(&board, board.path(), &["status", "--json"]).json(), json!({"sessions": []}));
    assert_eq!(coord(&board, board.path(), &["events", "--json"]).json(), json!({"events": [], "next": 0}));
}

/// A server that cannot be asked, or is not opencode: nothing is known, and nothing is done.
#[test]
fn t3_a_page_is_no_answer() {
    let page = Web::new(|_| Reply::page());
    let half = Web::new(|_| Reply::Text(200, "application/json", "{\"ses".into()));
    let moved = Web::new(|_| Reply::Text(302, "application/json", "{}".into()));
    let locked = Web::new(|_| Reply::Text(401, "text/plain", "Unauthorized".into()));
    let other = Web::new(|_| Reply::json("[]"));
    for (server, why) in [
        (page.url.as_str(), "answers text/html; charset=utf-8, not JSON"),
        (&half.url, "its answer cannot be read"),
        (&moved.url, "answers 302 and redirects to another address"),
        (&locked.url, "answers 401: set OPENCODE_SERVER_PASSWORD"),
        (&other.url, "its answer about the states of its sessions is not opencode's"),
        (NOBODY, "nothing listens there"),
        ("https://example.org", "https is not spoken here"),
    ] {
        let board = TestBoard::new();
        mapped(&board, server);
        let before = board.dump();
        let row = state(&board, &[]);
        assert_eq!(
            (&row["state"], &row["mapping"]),
            (&json!("unreachable"), &json!("active")),
            "{server}: {row}"
        );
        assert!(row["because"].as_str().unwrap().contains(why), "{server}: {row}");
        for args in
            [&["abort", SESSION][..], &["message", SESSION, "hello"], &["notify", "hello", "--from", SESSION]]
        {
            coord(&board, board.path(), args).fails(1);
        }
        assert_eq!(board.dump(), before, "{server}");
    }
}

#[test]
fn a_session_nobody_knows_is_not_left_out() {
    let board = TestBoard::new();
    mapped(&board, NOBODY);
    let said = coord(&board, board.path(), &["status", SESSION, "ses_1"]).fails(1);
    assert!(said.contains("ses_1: was not spawned for a task of this board"), "{said}");
}

#[test]
fn a_block_whose_coordinator_cannot_be_told_is_on_the_board() {
    let board = TestBoard::new();
    mapped(&board, NOBODY);
    let said = coord(&board, board.path(), &["notify", "which?", "--from", SESSION, "--level", "blocking"]);
    let said = said.fails(1);
    let wants = "its coordinator was not told, but t_0000000a is blocked, with card t_";
    assert!(said.contains(wants) && !said.contains("nothing was done"), "{said}");
    assert_eq!(board.task("t_0000000a", "status"), "blocked");
    let card = board.value("SELECT body FROM tasks WHERE title LIKE '[BLOCKED]%'");
    let answer = format!("`coord --db {} message t_0000000a \"YOUR ANSWER\"`", board.db.display());
    assert!(card.contains(&answer), "{card}");
    let said = coord(&board, board.path(), &["notify", "half done", "--from", SESSION]).fails(1);
    assert!(said.contains("is unknown, so nothing was done"), "{said}");
}

/// An event on the board names servers, and any worker can write one.
#[test]
fn the_password_goes_to_the_named_server_only() {
    let server = Web::new(|asked| match asked.line.starts_with("GET /session/status") {
        true => Reply::json(&format!("{{\"{SESSION}\": {{\"type\": \"busy\"}}}}")),
        false => Reply::page(),
    });
    let board = TestBoard::new();
    mapped(&board, &server.url);
    assert_eq!(state(&board, &["--server", NOBODY])["state"], "busy");
    assert!(
        !server
            .asked()
            .iter()
            .any(|a| a.headers.iter().any(|h| h.to_lowercase().starts_with("authorization")))
    );
    state(&board, &["--server", &server.url]);
    let asked = server.asked();
    // `opencode:hunter22`.
    let sent = "authorization: basic b3blbmnvzgu6ahvudgvymji=";
    assert!(asked.last().unwrap().headers.iter().any(|h| h.to_lowercase() == sent), "{asked:?}");
}

#[test]
fn states_a_server_may_gain_are_under_way() {
    let server = Web::new(|_| Reply::json(&format!("{{\"{SESSION}\": {{\"type\": \"image_processing\"}}}}")));
    let board = TestBoard::new();
    mapped(&board, &server.url);
    let row = state(&board, &[]);
    assert_eq!((&row["state"], &row["because"]), (&json!("other"), &json!("image_processing")));
    assert_eq!(server.asked().len(), 1, "one question");
    assert!(server.asked()[0].line.starts_with("GET /session/status?directory="), "{:?}", server.asked());
}

/// Between two turns a server works on nothing for a moment, while the next answer is open already.
#[test]
fn a_session_that_was_under_way_a_moment_ago_is_not_forgotten() {
    for (worked, told) in [(true, "still is busy at "), (false, "was forgotten by its server")] {
        let looks = AtomicUsize::new(0);
        let server = Web::new(move |asked| {
            let path = asked.line.split_once(' ').map_or("", |(_, path)| path);
            Reply::json(&match path {
                _ if path.starts_with("/session/status?") => {
                    let first = looks.fetch_add(1, Ordering::Relaxed) == 0;
                    let busy = json!({SESSION: {"type": "busy"}});
                    if worked && first { busy.to_string() } else { "{}".to_owned() }
                }
                _ if path.ends_with("/abort") => "true".to_owned(),
                _ if path.contains("/children") => "[]".to_owned(),
                _ if path.contains("/message") => {
                    r#"[{"info": {"id": "msg_1", "role": "assistant", "time": {"created": 1}}}]"#.to_owned()
                }
                _ => json!({"id": SESSION, "directory": "/w"}).to_string(),
            })
        });
        let board = TestBoard::new();
        mapped(&board, &server.url);
        let said = coord(&board, board.path(), &["abort", SESSION]).fails(1);
        assert!(said.contains(told), "{said}");
        assert_eq!(board.task("t_0000000a", "status"), if worked { "running" } else { "ready" });
    }
}

/// Fifty sessions on ten working trees: one question a tree, and one more for each session that is not under way.
#[test]
fn a_server_is_asked_once_for_each_working_tree() {
    let server = Web::new(|asked| match asked.line.split_once("/session/ses_") {
        None => Reply::json(r#"{"ses_0": {"type": "busy"}, "ses_1": {"type": "busy"}}"#),
        Some(_) => Reply::json(
            r#"[{"info": {"id": "msg_1", "role": "assistant", "time": {"created": 1, "completed": 2}}}]"#,
        ),
    });
    let board = TestBoard::new();
    for nth in 0..50 {
        let directory = board.path().join(format!("w{}", nth % 10));
        works(&board, &format!("t_000000{nth:02}"), &format!("ses_{nth}"), &server.url, &directory);
    }
    let said = coord(&board, board.path(), &["status", "--json"]).json();
    let states: Vec<_> =
        said["sessions"].as_array().unwrap().iter().map(|s| s["state"].as_str().unwrap()).collect();
    let count = |word: &str| states.iter().filter(|s| **s == word).count();
    assert_eq!((states.len(), count("busy"), count("idle")), (50, 2, 48), "{states:?}");
    assert_eq!((server.count("GET /session/status?"), server.asked().len()), (10, 58));
}

/// A server that fails after the claim, or is not opencode: everything is undone.
#[test]
fn a_spawn_that_fails_half_way_is_undone() {
    let healthy = r#"{"healthy":true,"version":"1.18.33"}"#;
    let board = TestBoard::own();
    let repo = repository(&board);
    let elsewhere = format!(r#"{{"id":"{SESSION}","directory":"/"}}"#);
    let page =
        Web::new(move |a| if a.line == "GET /global/health" { Reply::json(healthy) } else { Reply::page() });
    let wrong = Web::new(move |a| match a.line.as_str() {
        "GET /global/health" => Reply::json(healthy),
        line if line.starts_with("DELETE ") => Reply::json("true"),
        _ => Reply::json(&elsewhere),
    });
    for (server, says) in [(&page, "answers text/html"), (&wrong, "made it otherwise than asked for")] {
        let task = board.hand(&["add", "A task"]).ok().trim().to_owned();
        let said = coord(&board, &repo, &["spawn", "--task", &task, "--server", &server.url]).fails(1);
        assert!(said.contains(says) && said.contains("; this spawn took back what it had done"), "{said}");
        assert!(!said.contains("left behind"), "{said}");
        assert_eq!(
            board.task(&task, "status || ifnull(claim_lock, '-') || ifnull(current_run_id, '-')"),
            "ready--"
        );
        assert_eq!(board.kinds(&task), "created claimed reclaimed");
        let git = |args: &[&str]| ran(Command::new("git").arg("-C").arg(&repo).args(args)).ok();
        assert_eq!((git(&["worktree", "list"]).lines().count(), git(&["branch"]).as_str()), (1, "* main\n"));
        assert!(!repo.join(".worktrees").exists());
    }
    assert_eq!(wrong.count(&format!("DELETE /session/{SESSION}")), 1);
    let said = coord(&board, &repo, &["spawn", "--title", "New", "--server", &page.url]).fails(1);
    assert!(said.contains("; this spawn took back what it had done"), "{said}");
    assert_eq!(board.value("SELECT status FROM tasks WHERE title = 'New'"), "archived");
}

/// Where the answer to a prompt was lost, nobody knows whether the session works, or has worked: it keeps what it has. One that was
/// refused its prompt did nothing.
#[test]
fn a_session_that_may_have_its_prompt_keeps_its_tree_and_its_task() {
    for refused in [false, true] {
        let board = TestBoard::own();
        board.keeps_starts();
        let repo = std::fs::canonicalize(repository(&board)).unwrap();
        let task = board.hand(&["add", "A task"]).ok().trim().to_owned();
        let tree = repo.join(".worktrees").join(&task);
        let session = json!({"id": SESSION, "directory": tree, "metadata": {"task_id": task}}).to_string();
        let place = tree.clone();
        let server = Web::new(move |asked| {
            let line = asked.line.as_str();
            Reply::json(match line {
                "GET /global/health" => r#"{"healthy":true,"version":"1.18.33"}"#,
                _ if line.contains("/prompt_async") && refused => {
                    return Reply::Text(400, "application/json", "{}".to_owned());
                }
                _ if line.contains("/prompt_async") => {
                    // It works, and a proxy answers in its place.
                    std::fs::write(place.join("new.txt"), "mine").unwrap();
                    let git = |args: &[&str]| ran(Command::new("git").arg("-C").arg(&place).args(args)).ok();
                    git(&["checkout", "--quiet", "--detach"]);
                    git(&["add", "."]);
                    git(&[
                        "-c",
                        "user.name=T",
                        "-c",
                        "user.email=t@example.org",
                        "commit",
                        "--quiet",
                        "-m",
                        "Work",
                    ]);
                    return Reply::page();
                }
                _ if line.ends_with("/abort") || line.starts_with("DELETE ") => "true",
                _ if line.contains("/children") || line.contains("/message") => "[]",
                _ if line.starts_with("GET /session/status?") => "{}",
                _ => &session,
            })
        });
        let ask = |args: &[&str]| coord(&board, &repo, &[args, &["--server", &server.url]].concat());
        let said = ask(&["spawn", "--task", &task]).fails(1);
        let git = |args: &[&str]| ran(Command::new("git").arg("-C").arg(&repo).args(args)).ok();
        let deleted = server.count("DELETE ");
        if refused {
            assert!(
                said.contains("refused with 400") && said.contains("; this spawn took back what it had done"),
                "{said}"
            );
            assert_eq!((deleted, board.task(&task, "status").as_str(), tree.exists()), (1, "ready", false));
            assert_eq!(git(&["branch", "--format=%(refname:short)"]), "main\n");
            continue;
        }
        let keeps = format!(
            "whether {SESSION} has its prompt is unknown; it keeps {task}, the working tree {} and its branch wt/{task}",
            tree.display()
        );
        assert!(
            said.contains(&keeps) && !said.contains("undone") && !said.contains("nothing was done"),
            "{said}"
        );
        assert_eq!((deleted, board.task(&task, "status").as_str()), (0, "running"));
        assert_eq!(board.starts(&task), ["unverified", "unverified"], "its process is the server's");
        assert_eq!(std::fs::read_to_string(tree.join("new.txt")).unwrap(), "mine");
        assert_eq!(git(&["-C", tree.to_str().unwrap(), "log", "-1", "--format=%s"]), "Work\n");
        assert_eq!(ask(&["spawn", "--task", &task]).ok(), format!("{SESSION}\n"), "the next one finds it");
        // As it is advised.
        assert_eq!(state(&board, &["--server", &server.url])["mapping"], "active");
        let freed = format!("{SESSION} was idle; its mapping is aborted, and {task} is free\n");
        assert_eq!(ask(&["abort", &task]).ok(), freed);
        assert!(tree.join("new.txt").exists());
    }
}
