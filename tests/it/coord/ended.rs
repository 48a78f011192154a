//! Sessions whose work has ended by the board, or that wait for an answer: what is said of them, what stops them, and how they
//! go on.

use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::commands::{WORKS, Yard};
use super::usage::repository;
use super::web::{Reply, Web};
use crate::support::{Kept, TestBoard, birth, hostname, is_gone, marked, now, ran, start_ticks, until};

/// Works until it may stop, with a tool in a session of its own.
const WITH_A_TOOL: &str = "setsid sleep 600 & while [ ! -e stop ]; do sleep 0.1; done";

impl Yard {
    /// The session asks for help.
    fn asks(&self) -> String {
        let args = ["notify", "two formats, which one?", "--from", &self.task, "--level", "blocking"];
        // As it would itself.
        let mut command = self.command(&args);
        ran(command.env("HERMES_KANBAN_TASK", &self.task).env("HERMES_KANBAN_RUN_ID", "1")).ok()
    }

    fn turn_ends(&self, harness: i64) {
        fs::write(self.tree().join("stop"), "").unwrap();
        until("its turn ends", || is_gone(harness));
    }

    /// A session that has asked its question and ended its turn.
    fn asked(&self) -> String {
        let session = self.session("claude");
        let (_, harness) = self.processes();
        self.asks();
        self.turn_ends(harness);
        session
    }

    fn card(&self) -> String {
        self.b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'")
    }
}

#[test]
fn an_abort_looks_whatever_the_mapping_says() {
    type Ends<'a> = &'a dyn Fn(&Yard);
    let ends: [(&str, &str, Ends<'_>); 3] = [
        ("it asked for help", "blocked", &|y| {
            y.asks();
        }),
        ("its run failed", "blocked", &|y| {
            y.b.hand(&["block", &y.task, "wait", "--kind", "needs_input"]).ok();
        }),
        ("its task is done", "done", &|y| {
            y.b.hand(&["complete", &y.task]).ok();
        }),
    ];
    for (runtime, (what, status, end)) in ["claude", "codex", "claude"].into_iter().zip(ends) {
        let y = Yard::new(WITH_A_TOOL);
        let session = y.session(runtime);
        until("its worker begins", || y.tree().join("environment").exists());
        let (worker, harness) = y.processes();
        end(&y);
        assert!(!is_gone(worker) && !is_gone(harness), "{what}: it lives");
        let said = y.coord(&["abort", &session, "--reason", "enough"]).ok();
        assert!(said.contains(&format!("{session} stopped; its mapping is aborted")), "{what}: {said}");
        assert!(is_gone(worker) && is_gone(harness), "{what}");
        assert_eq!(marked(&y.task), Vec::<i64>::new(), "{what}");
        assert_eq!((&y.row()["mapping"], y.status().as_str()), (&json!("aborted"), status), "{what}");
        let aborted = y.b.payload(&y.task, "coord.aborted");
        assert_eq!((&aborted["status"], &aborted["reason"]), (&json!("aborted"), &json!("enough")), "{what}");
        // What was looked at and is gone has ended.
        let before = y.b.dump();
        let said = y.coord(&["abort", &session]).ok();
        assert_eq!(said, format!("{session} had ended; its mapping is aborted\n"), "{what}");
        assert_eq!(y.b.dump(), before, "{what}");
    }
}

/// The operator unblocks the task before the command has ended its turn: no second worker is started beside it.
#[test]
fn nobody_is_started_beside_one_that_still_works() {
    let y = Yard::new(WORKS);
    let session = y.session("claude");
    until("its worker begins", || y.tree().join("environment").exists());
    y.asks();
    y.b.hand(&["complete", &y.card()]).ok();
    y.b.hand(&["unblock", &y.task]).ok();
    assert_eq!((&y.row()["mapping"], y.status().as_str()), (&json!("failed"), "ready"));
    let before = y.b.dump();
    let said = y.spawn("codex", &[]).fails(75);
    assert!(said.contains(&format!("its session {session} still works")), "{said}");
    assert_eq!(y.b.dump(), before);
    y.coord(&["abort", &session]).ok();
    let codex = y.spawn("codex", &[]).json();
    assert_eq!((&codex["again"], y.status().as_str()), (&json!(false), "running"));
}

#[test]
fn where_nobody_can_look_nobody_is_said_to_have_ended() {
    let y = Yard::new(WORKS);
    y.session("claude");
    y.b.hand(&["complete", &y.task]).ok();
    y.b.sql("UPDATE task_events SET payload = json_set(payload, '$.host', 'elsewhere') WHERE kind = 'coord.spawned'");
    let before = y.b.dump();
    let said = y.coord(&["abort", &y.task]).fails(1);
    assert!(said.contains("elsewhere") && said.contains("nothing was changed on the board"), "{said}");
    assert_eq!(y.b.dump(), before);
}

#[test]
fn its_claims_carry_a_fingerprint() {
    for runtime in ["claude", "codex"] {
        let y = Yard::new(WORKS);
        y.b.keeps_starts();
        y.session(runtime);
        let runs =
            "SELECT group_concat(worker_started_at || ' ' || claim_lock || ' ' || worker_pid, char(10))
            FROM (SELECT * FROM task_runs WHERE task_id = '";
        let of = |what: &str| y.b.value(&format!("{runs}{}' AND {what} ORDER BY id)", y.task));
        let (worker, harness) = y.processes();
        let first = birth(&start_ticks(worker));
        assert_eq!(y.b.starts(&y.task), [first.clone(), first.clone()], "{runtime}");
        let kept = format!("{first} {} {worker}", y.b.task(&y.task, "claim_lock"));
        y.asks();
        y.turn_ends(harness);
        assert_eq!(y.b.starts(&y.task), ["NULL".to_owned(), first.clone()], "{runtime}");
        // The same session once more: another process, another run.
        fs::remove_file(y.tree().join("stop")).unwrap();
        y.coord(&["message", &y.task, "Use ISO dates."]).ok();
        let (again, _) = y.processes();
        let second = birth(&start_ticks(again));
        assert_eq!(y.b.starts(&y.task), [second.clone(), second.clone()], "{runtime}");
        assert!(again != worker && of("ended_at IS NOT NULL") == kept, "{runtime}: {}", of("1"));
    }
}

#[test]
fn who_asks_for_help_waits_and_is_answered_with_a_claim() {
    for (runtime, resumes) in
        [("claude", "-p --resume SESSION --model m"), ("codex", "exec --json --model m resume SESSION -")]
    {
        let y = Yard::new(WORKS);
        let session = y.session(runtime);
        until("its worker begins", || y.tree().join("environment").exists());
        let (_, harness) = y.processes();
        y.asks();
        let row = y.row();
        assert_eq!(
            (&row["mapping"], &row["state"], &row["waits"]),
            (&json!("active"), &json!("busy"), &json!(true)),
            "{row}"
        );
        let busy = y.coord(&["message", &y.task, "ISO"]);
        assert!(busy.code == 75 && busy.err.contains("is busy"), "{busy:?}");
        y.turn_ends(harness);
        let all = y.coord(&["status", "--active", "--json"]).json();
        let row = &all["sessions"][0];
        assert_eq!((&row["session"], &row["state"]), (&json!(session), &json!("waiting")), "{all}");
        assert!(y.coord(&["status"]).ok().contains("waiting"));
        // Nobody else is started beside it, and no watcher takes the wait for a failure.
        let before = y.b.dump();
        let said = y.spawn(runtime, &[]).fails(1);
        assert!(said.contains(&format!("its session {session} waits for an answer")), "{said}");
        for later in [120, 3_600] {
            assert_eq!(y.b.later(later, &[]).ok(), "");
        }
        assert_eq!((y.b.dump(), y.status().as_str()), (before, "blocked"));

        fs::remove_file(y.tree().join("stop")).unwrap();
        fs::remove_file(y.tree().join("told")).unwrap();
        let card = y.card();
        let said = y.coord(&["message", &y.task, "Use ISO dates.", "--", "--model", "m"]).ok();
        assert_eq!(said, format!("{session} was told, and has {} again as run 2\n", y.task));
        until("it goes on", || y.tree().join("told").exists() && y.read("told").contains("--run 2"));
        assert_eq!(y.read("args").trim(), resumes.replace("SESSION", &session));
        assert!(y.read("told").starts_with("Use ISO dates."), "{}", y.read("told"));
        let row = y.row();
        assert_eq!(
            (&row["state"], &row["run"], &row["waits"]),
            (&json!("busy"), &json!(2), &json!(false)),
            "{row}"
        );
        // Its claim is a worker's: with process and start.
        let claim =
            y.b.value("SELECT payload FROM task_events WHERE kind = 'claimed' ORDER BY id DESC LIMIT 1");
        let claim: Value = serde_json::from_str(&claim).unwrap();
        let (worker, _) = y.processes();
        assert_eq!(
            (&claim["watchbill"]["pid"], claim["watchbill"]["birth"].is_object()),
            (&json!(worker), true),
            "{claim}"
        );
        assert_eq!(y.b.task(&card, "status"), "done", "its card has its answer");
        let told = y.b.payload(&y.task, "coord.messaged");
        assert_eq!((&told["text"], &told["run"]), (&json!("Use ISO dates."), &json!(2)));
        let done = y.b.hand(&["complete", &y.task, "--run", "2", "--summary", "ISO it is"]);
        assert_eq!((done.code, y.status().as_str()), (0, "done"), "{done:?}");
        assert_eq!(y.row()["mapping"], "completed");
    }
}

#[test]
fn an_answer_that_cannot_be_given_leaves_the_task_as_it_was() {
    let y = Yard::new(WORKS);
    let session = y.asked();
    let card = y.card();
    // Nothing can be written where its harness says its last words.
    let words = y.b.path().join("kanban/logs").join(format!("{}.spawn.log", y.task));
    fs::remove_file(&words).unwrap();
    fs::create_dir(&words).unwrap();
    let said = y.coord(&["message", &session, "Use ISO dates."]).fails(74);
    assert!(
        said.contains("this spawn took back what it had done") && !said.contains("left behind"),
        "{said}"
    );
    let row = y.row();
    assert_eq!(
        (&row["state"], &row["waits"], y.status().as_str()),
        (&json!("waiting"), &json!(true), "blocked"),
        "{row}"
    );
    assert_eq!((y.card(), y.b.task(&card, "status")), (card, "ready".into()));
    fs::remove_dir(&words).unwrap();
    let claude = y.b.path().join("bin/claude");
    fs::rename(&claude, claude.with_extension("away")).unwrap();
    let before = y.b.dump();
    let said = y.coord(&["message", &session, "Use ISO dates."]).fails(2);
    assert!(said.contains("command claude: no such program"), "{said}");
    assert_eq!(y.b.dump(), before);
    // One that ends at once is a failed attempt, as with spawn.
    y.script("claude", "cat > /dev/null; echo broken; exit 3");
    let said = y.coord(&["message", &session, "Use ISO dates."]).fails(1);
    assert!(said.contains("ended at once"), "{said}");
    assert_eq!((&y.row()["mapping"], y.status()), (&json!("failed"), "ready".into()));
    assert!(y.tree().exists());
    assert_eq!(marked(&y.task), Vec::<i64>::new());
}

/// What is advised for it leads to another session.
#[test]
fn a_session_whose_tree_was_removed_is_followed_by_another_one() {
    for waits in [true, false] {
        let y = Yard::new(WORKS);
        let session = if waits { y.asked() } else { y.session("claude") };
        // The command named its board.
        let at = format!(" --db {}", y.b.db.display());
        let steps = match waits {
            true => {
                let (task, card) = (&y.task, y.card());
                format!("coord abort {task}{at} && board{at} complete {card} && board{at} unblock {task} && ")
            }
            false => String::new(),
        };
        if !waits {
            y.coord(&["abort", &session]).ok();
        }
        fs::remove_dir_all(y.tree()).unwrap();
        let before = y.b.dump();
        let said = y.coord(&["message", &session, "Use ISO dates."]).fails(1);
        let line = format!("{steps}git worktree prune && coord spawn --runtime claude --task {}{at}", y.task);
        assert!(said.ends_with(&format!("is not there; in its repository: {line}")), "{said}");
        assert_eq!(y.b.dump(), before);
        for step in line.replace(&at, "").split(" && ") {
            let (program, args) = step.split_once(' ').unwrap();
            let args: Vec<&str> = args.split(' ').collect();
            match program {
                "coord" => y.coord(&args),
                "board" => y.b.hand(&args),
                _ => ran(Command::new(program).args(args).current_dir(&y.repo)),
            }
            .ok();
        }
        let active = y.coord(&["status", "--active", "--json"]).json()["sessions"][0].clone();
        assert_eq!((active["state"].as_str(), y.status().as_str()), (Some("busy"), "running"));
        assert_ne!(active["session"], json!(session));
    }
}

#[test]
fn a_session_whose_task_is_somebody_elses_or_done_is_not_gone_on_with() {
    let y = Yard::new(WORKS);
    let session = y.session("claude");
    let (_, harness) = y.processes();
    y.coord(&["abort", &session]).ok();
    until("its harness is gone", || is_gone(harness));
    y.b.hand(&["claim", &y.task, "--worker", "luna"]).ok();
    let before = y.b.dump();
    let said = y.coord(&["message", &session, "Go on."]).fails(75);
    assert!(said.contains("another worker has"), "{said}");
    assert_eq!(y.b.dump(), before);
    y.b.hand(&["complete", &y.task]).ok();
    let before = y.b.dump();
    let said = y.coord(&["message", &session, "Go on."]).fails(1);
    assert!(said.contains("is done"), "{said}");
    assert_eq!(y.b.dump(), before);
}

#[test]
fn a_word_without_a_coordinator_is_kept() {
    let y = Yard::new(WORKS);
    let session = y.session("claude");
    for (again, level) in [("", "info"), (" already", "info"), ("", "warning")] {
        let said = y.coord(&["notify", "half done", "--from", &y.task, "--level", level]).ok();
        let want = format!(
            "recorded{again}: {session} has no coordinator, so nobody was told directly; coord events shows it\n"
        );
        assert_eq!(said, want);
    }
    let all = y.coord(&["events", "--json"]).json();
    let told: Vec<&Value> =
        all["events"].as_array().unwrap().iter().filter(|e| e["kind"] == "coord.notified").collect();
    let said: Vec<_> = told
        .iter()
        .map(|e| (&e["payload"]["level"], &e["payload"]["text"], &e["payload"]["parent"]))
        .collect();
    let half = json!("half done");
    assert_eq!(said, [(&json!("info"), &half, &Value::Null), (&json!("warning"), &half, &Value::Null)]);
    assert!(y.coord(&["events"]).ok().contains("warning  half done"));
}

#[test]
fn a_person_or_a_script_coordinates() {
    for parent in ["person:anna", "script:nightly.sh"] {
        let y = Yard::new(WORKS);
        y.spawn("codex", &["--parent", parent]).json();
        assert_eq!(y.b.payload(&y.task, "coord.spawned")["parent"], parent);
        let rows = |parent: &str| {
            y.coord(&["status", "--parent", parent, "--json"]).json()["sessions"].as_array().unwrap().len()
        };
        assert_eq!((rows(parent), rows("person:bob")), (1, 0));
        let said = y.coord(&["notify", "half done", "--from", &y.task, "--wake"]).ok();
        assert_eq!(said, format!("recorded for {parent}, which is not a session; coord events shows it\n"));
        assert_eq!(y.b.payload(&y.task, "coord.notified")["parent"], parent);
    }
    let y = Yard::new(WORKS);
    for bad in ["person:", "person:a b", "robot:x", "anna"] {
        let said = y.spawn("codex", &["--parent", bad]).fails(2);
        assert!(said.contains("neither a session id nor a name") && said.contains("person:NAME"), "{said}");
    }
}

#[test]
fn who_loses_a_race_is_told_to_try_again() {
    let y = Yard::new(WORKS);
    y.b.hand(&["claim", &y.task, "--worker", "luna"]).ok();
    let before = y.b.dump();
    let said = y.coord(&["spawn", "--task", &y.task, "--runtime", "claude"]).fails(75);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("another worker has the task"), "{said}");
    assert_eq!((y.b.dump(), y.branches()), (before, "main".into()));
    assert!(!y.repo.join(".worktrees").exists());
}

/// Another call for the same task holds its tree: no flag helps who came second.
#[test]
fn who_finds_the_tree_of_its_own_task_held_tries_again() {
    use rustix::fs::{FlockOperation, flock};
    let y = Yard::new(WORKS);
    let session = y.asked();
    let tree = fs::File::open(y.tree()).unwrap();
    flock(&tree, FlockOperation::NonBlockingLockExclusive).unwrap();
    let held = "another spawn begins work in this tree; nothing was started; try again";
    let said = y.coord(&["message", &session, "Use ISO dates."]).fails(75);
    assert!(said.ends_with(held), "{said}");
    y.b.hand(&["complete", &y.card()]).ok();
    y.b.hand(&["unblock", &y.task]).ok();
    let said = y.spawn("claude", &[]).fails(75);
    assert!(said.ends_with(held), "{said}");
}

/// A tool of a server that was killed lives on beside the next server, which knows nothing of it.
#[test]
fn what_a_killed_server_left_in_a_tree_is_waited_for() {
    const SESSION: &str = "ses_1a2b3c4d";
    for by_abort in [true, false] {
        let b = TestBoard::own();
        let repo = fs::canonicalize(repository(&b)).unwrap();
        let task = b.hand(&["add", "Port the parser"]).ok().trim().to_owned();
        let (tree, branch) = (repo.join(".worktrees").join(&task), format!("wt/{task}"));
        let mut git = Command::new("git");
        ran(git.arg("-C").arg(&repo).args(["worktree", "add", "-q", "-b", &branch]).arg(&tree)).ok();
        let directory = tree.to_str().unwrap().to_owned();
        let web = Web::new(move |asked| {
            let path = asked.line.split(['?', ' ']).nth(1).unwrap_or_default();
            let open = r#"[{"info": {"id": "msg_1", "role": "assistant", "time": {"created": 1}}}]"#;
            match path {
                "/global/health" => Reply::json(r#"{"healthy":true,"version":"1.18.33"}"#),
                "/session/status" => Reply::json("{}"),
                _ if path.ends_with("/abort") => Reply::json("true"),
                _ if path.ends_with("/children") => Reply::json("[]"),
                _ if path.ends_with("/message") => Reply::json(open),
                _ if path.starts_with("/session/") => {
                    Reply::json(&json!({"id": SESSION, "directory": directory}).to_string())
                }
                _ => Reply::page(),
            }
        });
        b.hand(&["claim", &task, "--worker", "luna"]).ok();
        let payload = json!({"runtime": "opencode", "session": SESSION, "parent": null, "server": web.url,
            "host": hostname(), "directory": tree, "branch": branch, "by": "coord"});
        b.sql(&format!(
            "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
               VALUES ('{task}', 1, 'coord.spawned', '{payload}', strftime('%s', 'now'))"
        ));
        let mut tool = Command::new("setsid");
        let mut tool = Kept(tool.args(["sleep", "600"]).env_clear().current_dir(&tree).spawn().unwrap());
        let comm = format!("/proc/{}/comm", tool.pid());
        until("the tool begins", || fs::read_to_string(&comm).is_ok_and(|comm| comm == "sleep\n"));
        let works = format!("process {} (sleep) works in ", tool.pid());
        let coord = |args: &[&str]| {
            let mut command = b.command("coord");
            command.arg("--db").arg(&b.db).args(args).env("OPENCODE_SERVER", &web.url).current_dir(&repo);
            ran(&mut command)
        };
        if by_abort {
            let before = b.dump();
            let said = coord(&["abort", &task]).fails(1);
            assert!(said.contains(&format!("{works}{}; nothing was changed", tree.display())), "{said}");
            assert_eq!(b.dump(), before);
            tool.kill();
            let said = coord(&["abort", &task]).fails(1);
            assert!(said.contains(&format!("its mapping is failed, and {task} is free")), "{said}");
            continue;
        }
        b.hand(&["block", &task, "wait", "--kind", "needs_input"]).ok();
        b.hand(&["unblock", &task]).ok();
        let before = b.dump();
        let said = coord(&["spawn", "--task", &task]).fails(75);
        assert!(said.contains(&format!("{works}this tree; nothing was started")), "{said}");
        assert_eq!(b.dump(), before);
        tool.kill();
        let said = coord(&["spawn", "--task", &task]).fails(1);
        assert!(said.contains("answers text/html"), "it begins, and this server makes no session: {said}");
    }
}

/// A server with one idle session, which remembers what it is told.
fn server(board: &TestBoard) -> Web {
    let said: Arc<Mutex<Vec<Value>>> = Arc::default();
    let directory = board.path().to_str().unwrap().to_owned();
    Web::new(move |asked| {
        let path = asked.line.split(['?', ' ']).nth(1).unwrap_or_default();
        match path {
            "/global/health" => Reply::json(r#"{"healthy":true,"version":"1.18.33"}"#),
            "/session/status" => Reply::json("{}"),
            "/question" | "/permission" => Reply::json("[]"),
            _ if path.ends_with("/abort") => Reply::json("true"),
            _ if path.ends_with("/children") => Reply::json("[]"),
            _ if path.ends_with("/message") => Reply::json(&json!(*said.lock().unwrap()).to_string()),
            _ if path.ends_with("/prompt_async") => {
                let body: Value = serde_json::from_str(&asked.body).unwrap();
                // It is answered at once.
                let at = now() * 1_000;
                let mut said = said.lock().unwrap();
                said.push(json!({"info": {"id": body["messageID"], "role": "user", "time": {"created": at}},
                    "parts": [{"type": "text", "text": body["parts"][0]["text"]}]}));
                said.push(json!({"info": {"id": "msg_z", "role": "assistant", "time": {"created": at, "completed": at}}, "parts": []}));
                Reply::Text(204, "application/json", String::new())
            }
            _ if path.starts_with("/session/") => {
                let id = path.rsplit('/').next().unwrap();
                Reply::json(&json!({"id": id, "directory": directory}).to_string())
            }
            _ => Reply::page(),
        }
    })
}

#[test]
fn a_session_of_a_server_that_asked_is_shown_looked_at_answered_and_stopped() {
    const SESSION: &str = "ses_1a2b3c4d";
    let start = || {
        let b = TestBoard::own();
        repository(&b);
        b.keeps_starts();
        let web = server(&b);
        let task = b.hand(&["add", "Port the parser"]).ok().trim().to_owned();
        b.hand(&["claim", &task, "--worker", "luna"]).ok();
        let payload = json!({"runtime": "opencode", "session": SESSION, "parent": null, "server": web.url,
            "host": hostname(), "directory": b.path(), "branch": "wt/x", "by": "coord"});
        b.sql(&format!(
            "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
               VALUES ('{task}', 1, 'coord.spawned', '{payload}', strftime('%s', 'now'))"
        ));
        (b, web, task)
    };
    let coord = |b: &TestBoard, web: &Web, args: &[&str]| {
        let mut command = b.command("coord");
        ran(command.arg("--db").arg(&b.db).args(args).env("OPENCODE_SERVER", &web.url).current_dir(b.path()))
    };
    for answered in [true, false] {
        let (b, web, task) = start();
        let ask = ["notify", "which one?", "--from", &task, "--level", "blocking"];
        let said = coord(&b, &web, &ask).ok();
        assert!(said.contains("has no coordinator") && said.contains("is blocked, with card"), "{said}");
        let row = || coord(&b, &web, &["status", "--active", "--json"]).json()["sessions"][0].clone();
        assert_eq!((&row()["mapping"], &row()["state"]), (&json!("active"), &json!("waiting")), "{}", row());
        let looked_at = coord(&b, &web, &["detect", "--json"]).json();
        assert_eq!((&looked_at[0]["sessionId"], &looked_at[0]["task"]), (&json!(SESSION), &json!(task)));
        let looked = coord(&b, &web, &["detect", "--record"]);
        assert_eq!(looked.code, 0, "{looked:?}");
        assert_eq!((b.task(&task, "status"), b.task(&task, "claim_lock")), ("blocked".into(), "NULL".into()));
        if !answered {
            let said = coord(&b, &web, &["abort", &task]).ok();
            assert!(said.contains(&format!("{SESSION} was idle; its mapping is aborted")), "{said}");
            assert_eq!(b.payload(&task, "coord.aborted")["status"], "aborted");
            assert_eq!(b.task(&task, "status"), "blocked", "its card decides");
            continue;
        }
        let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
        let said = coord(&b, &web, &["message", &task, "ISO dates"]).ok();
        assert_eq!(said, format!("{SESSION} was told, and has {task} again as run 2\n"));
        let told = web.asked().into_iter().rfind(|a| a.line.contains("/prompt_async")).unwrap().body;
        assert!(told.contains("ISO dates") && told.contains(&format!("complete {task} --run 2")), "{told}");
        assert_eq!((b.task(&task, "status"), b.task(&card, "status")), ("running".into(), "done".into()));
        assert_eq!((&row()["state"], &row()["run"]), (&json!("idle"), &json!(2)));
        assert_eq!(b.starts(&task), ["unverified", "unverified"], "its process is the server's");
        // A second word needs no second claim.
        assert_eq!(coord(&b, &web, &["message", &task, "and UTC"]).ok(), format!("{SESSION} was told\n"));
        assert_eq!(b.value("SELECT count(*) FROM task_runs WHERE task_id <> (SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%')"), "2");
        let done = b.hand(&["complete", &task, "--run", "2"]);
        assert_eq!((done.code, b.task(&task, "status")), (0, "done".into()), "{done:?}");
    }
}
