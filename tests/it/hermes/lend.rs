//! `board lend`: the real Hermes works on tasks of another board, which alone says how they stand.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::home::Home;
use super::provider::Provider;
use crate::dry::unchanged;
use crate::support::{Ran, TestBoard, now, ran, until, worker};

impl Home {
    /// One pass of `board lend` for luna, onto the default board.
    fn lend(&self, from: &TestBoard, args: &[&str]) -> Ran {
        ran(self
            .command("board")
            .arg("lend")
            .arg("--from")
            .arg(&from.db)
            .args(["--assignee", "luna", "--onto", "default"])
            .args(args))
    }

    /// The local task of a task that is lent.
    #[track_caller]
    fn local(&self, task: &str) -> String {
        self.value(&format!(
            "SELECT id FROM tasks WHERE idempotency_key LIKE 'lent:{task}:%' ORDER BY rowid DESC LIMIT 1"
        ))
    }

    fn count(&self) -> String {
        self.value("SELECT count(*) FROM tasks WHERE idempotency_key LIKE 'lent:%'")
    }
}

fn add(from: &TestBoard, title: &str) -> String {
    from.hand(&["add", title, "--assignee", "luna"]).ok().trim().to_owned()
}

/// Everything on a board happened so many seconds earlier.
fn age(b: &TestBoard, seconds: i64) {
    b.sql(&format!(
        "UPDATE tasks SET created_at = created_at - {seconds}, started_at = started_at - {seconds},
           last_heartbeat_at = last_heartbeat_at - {seconds}, claim_expires = claim_expires - {seconds};
         UPDATE task_runs SET started_at = started_at - {seconds}, last_heartbeat_at = last_heartbeat_at - {seconds},
           claim_expires = claim_expires - {seconds}, ended_at = ended_at - {seconds};
         UPDATE task_events SET created_at = created_at - {seconds};"
    ));
}

#[test]
fn the_dispatcher_of_hermes_does_the_work_and_its_end_goes_back() {
    let Some(home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("ok"));
    let from = TestBoard::own();
    let parent = add(&from, "Count the lanterns");
    let child = from.hand(&["add", "Light them", "--assignee", "nova", "--parent", &parent]).ok();
    from.hand(&["comment", &parent, "mind the dark ones"]).ok();
    let said = home.lend(&from, &[]).ok();
    let local = home.local(&parent);
    assert_eq!(said, format!("{parent} is lent to default: {local}\n"));
    let body = home.task(&local, "body");
    assert!(
        body.contains("mind the dark ones") && body.contains(&format!("This is task {parent} of ")),
        "{body}"
    );
    assert_eq!(
        home.task(&local, "title || '/' || assignee || '/' || status"),
        "Count the lanterns/luna/ready"
    );
    home.accepts(&[&local]);
    assert_eq!(home.would_start(), std::slice::from_ref(&local));
    assert_eq!(from.task(&parent, "status || ' ' || ifnull(worker_pid, 'no pid')"), "running no pid");
    for b in [&from, &*home] {
        let db = b.db.to_str().unwrap();
        assert_eq!(b.heal(&["--db", db]).ok(), "", "a claim that lasts is left alone");
    }

    home.ask(&["dispatch"]);
    home.await_status(&local, "done");
    let said = home.lend(&from, &[]).ok();
    assert_eq!(said, format!("{parent} is done, by {local}\n"));
    assert_eq!(from.task(&parent, "status"), "done");
    let summary = "SELECT ifnull(summary, 'none') FROM task_runs";
    assert_eq!(
        from.value(&format!("{summary} WHERE task_id = '{parent}'")),
        home.value(&format!("{summary} WHERE task_id = '{local}'"))
    );
    assert_eq!(from.task(&parent, "result"), home.task(&local, "result"));
    assert_eq!(from.task(child.trim(), "status"), "ready", "what waited for it goes on");
    let told =
        home.value(&format!("SELECT body FROM task_comments WHERE task_id = '{local}' AND author = 'board'"));
    assert!(told.starts_with(&format!("{parent} is done on ")), "{told}");
    home.accepts(&[&local]);
    for b in [&from, &*home] {
        unchanged(b, "a second pass", || assert_eq!(home.lend(&from, &["-v"]).ok(), ""));
    }
}

#[test]
fn result_and_reason_go_back_and_a_blocked_one_is_asked_about_once() {
    let Some(home) = Home::new() else { return };
    let from = TestBoard::own();
    let (done, asks) = (add(&from, "one"), add(&from, "two"));
    home.lend(&from, &[]).ok();
    let (first, second) = (home.local(&done), home.local(&asks));
    home.hermes(&["claim", &first]).ok();
    home.hermes(&["complete", &first, "--result", "42", "--summary", "counted them all"]).ok();
    home.hermes(&["claim", &second]).ok();
    home.hermes(&["block", &second, "which licence?", "--kind", "needs_input"]).ok();
    let planned = home.lend(&from, &["-n"]).ok();
    assert!(planned.contains(&format!("{done} is done, by {first} (planned)")), "{planned}");
    let said = home.lend(&from, &["--json"]).json();
    let actions: Vec<_> =
        said["tasks"].as_array().unwrap().iter().map(|t| (&t["action"], &t["outcome"])).collect();
    assert_eq!(actions.len(), 2, "{said}");
    assert!(actions.iter().all(|(_, outcome)| *outcome == "applied"), "{said}");
    assert_eq!(from.task(&done, "status || ' ' || result"), "done 42");
    let summary = from.value(&format!("SELECT summary FROM task_runs WHERE task_id = '{done}'"));
    assert_eq!(summary, "counted them all");
    assert_eq!(from.task(&asks, "status || ' ' || block_kind"), "blocked needs_input");
    assert_eq!(from.payload(&asks, "blocked")["reason"], "which licence?");
    // It is answered where it is asked, and the answer goes along with the next claim.
    assert_eq!(home.task(&second, "status"), "archived");
    let asked = ran(home.command("watchbill").args(["status", "--json"])).json();
    assert!(!asked.to_string().contains(&second), "{asked}");
    from.hand(&["unblock", &asks, "--reason", "MIT"]).ok();
    home.lend(&from, &[]).ok();
    let third = home.local(&asks);
    assert_ne!(third, second);
    assert!(home.task(&third, "body").contains("UNBLOCK: MIT"), "{}", home.task(&third, "body"));
    home.accepts(&[&first, &third]);

    // Put away by a person of this host, or gone: the board that lends asks a person.
    home.hermes(&["archive", &third]).ok();
    assert_eq!(
        home.lend(&from, &[]).ok(),
        format!("{asks} is blocked ({third}): its local task {third} was archived\n")
    );
    let gone = add(&from, "three");
    home.lend(&from, &[]).ok();
    let local = home.local(&gone);
    home.sql(&format!("DELETE FROM tasks WHERE id = '{local}'"));
    assert_eq!(
        home.lend(&from, &[]).ok(),
        format!("{gone} is blocked ({local}): its local task {local} was deleted\n")
    );
    assert_eq!(from.task(&gone, "status"), "blocked");
}

#[test]
fn what_is_done_goes_back_where_the_board_is_reached_by_another_path() {
    let Some(home) = Home::new() else { return };
    let (from, folder) = (TestBoard::own(), tempfile::tempdir().unwrap());
    let (task, link) = (add(&from, "one"), folder.path().join("link"));
    std::os::unix::fs::symlink(home.path(), &link).unwrap();
    let mut command = home.command("board");
    command
        .args(["lend", "--assignee", "luna", "--from"])
        .arg(&from.db)
        .arg("--onto")
        .arg(link.join("kanban.db"));
    ran(&mut command).ok();
    let local = home.local(&task);
    home.hermes(&["claim", &local]).ok();
    home.hermes(&["complete", &local, "--summary", "counted them all"]).ok();
    assert_eq!(home.lend(&from, &[]).ok(), format!("{task} is done, by {local}\n"));
}

#[test]
fn what_was_claimed_and_not_made_yet_is_made_by_the_next_pass() {
    let Some(mut home) = Home::new() else { return };
    home.configure("[board]\nbusy_timeout = \"1s\"\n");
    let from = TestBoard::own();
    let task = add(&from, "one");
    // The pass ends between claim and local task: the local board is busy.
    let busy = home.open();
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    home.lend(&from, &[]).fails(75);
    assert_eq!((from.task(&task, "status"), home.count()), ("running".into(), "0".into()));
    assert_eq!(from.heal(&["--db", from.db.to_str().unwrap()]).ok(), "");
    drop(busy);
    let said = home.lend(&from, &[]).ok();
    let local = home.local(&task);
    assert_eq!(said, format!("{task} is lent to default: {local}\n"));
    assert_eq!(from.kinds(&task), "created claimed heartbeat");
    assert_eq!(home.lend(&from, &[]).ok(), "");
    assert_eq!(home.count(), "1");

    // Or the borrower does not come back before the claim runs out: another worker may claim it then.
    let other = add(&from, "two");
    let busy = home.open();
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    home.lend(&from, &[]).fails(75);
    drop(busy);
    age(&from, 3_600);
    let healed = from.heal(&["--db", from.db.to_str().unwrap()]).ok();
    assert!(healed.contains(&format!("{other} requeue")), "{healed}");
    from.hand(&["claim", &other, "--worker", "luna"]).ok();
    home.lend(&from, &[]).ok();
    assert_eq!(
        home.value(&format!("SELECT count(*) FROM tasks WHERE idempotency_key LIKE 'lent:{other}:%'")),
        "0"
    );
}

#[test]
fn two_passes_at_once_make_each_task_once() {
    let Some(mut home) = Home::new() else { return };
    home.configure("[board]\nbusy_timeout = \"30s\"\n");
    let from = TestBoard::own();
    let all: Vec<String> = (0..6).map(|n| add(&from, &format!("task {n}"))).collect();
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| home.lend(&from, &["--most", "6"]));
        }
    });
    home.lend(&from, &["--most", "6"]).ok();
    assert_eq!(home.count(), "6");
    // The second one finds the claim of the first, which waits for the local board.
    let late = add(&from, "late");
    let busy = home.open();
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|s| {
        let first = s.spawn(|| home.lend(&from, &["--most", "7"]).ok());
        until("the first pass claims", || from.task(&late, "status") == "running");
        let second = s.spawn(|| home.lend(&from, &["--most", "7"]).ok());
        std::thread::sleep(std::time::Duration::from_secs(2));
        drop(busy);
        let (first, second) = (first.join().unwrap(), second.join().unwrap());
        let want = format!("{late} is lent to default: {}\n", home.local(&late));
        assert_eq!((first, second), (want.clone(), want));
    });
    assert_eq!(home.count(), "7");
    for task in all.iter().chain([&late]) {
        assert_eq!(from.value(&format!("SELECT count(*) FROM task_runs WHERE task_id = '{task}'")), "1");
        home.accepts(&[&home.local(task)]);
    }
}

#[test]
fn a_lost_claim_blocks_the_local_task_and_nothing_of_its_worker_is_taken() {
    let Some(home) = Home::new() else { return };
    let from = TestBoard::own();
    let task = add(&from, "one");
    home.lend(&from, &[]).ok();
    let local = home.local(&task);
    home.hermes(&["claim", &local]).ok();
    let run: i64 = home.task(&local, "current_run_id").parse().unwrap();
    let at_work = worker(&local, run);
    home.spawned(&local, at_work.pid());
    age(&from, 3_600);
    let heal = || from.heal(&["--db", from.db.to_str().unwrap(), "-v"]).ok();
    // No `board lend` came, and its worker lives.
    let said = heal();
    let why = format!(
        "{task} skipped: worker alive: pid {} works on {local} of {}",
        at_work.pid(),
        home.db.display()
    );
    assert!(said.contains(&why) && from.task(&task, "status") == "running", "{said}");
    drop(at_work);
    heal();
    assert_eq!(from.task(&task, "status"), "ready");
    let mut at_work = worker(&local, run);
    home.spawned(&local, at_work.pid());
    from.hand(&["claim", &task, "--worker", "luna"]).ok();
    let lock = from.task(&task, "claim_lock");
    let planned = home.lend(&from, &["-n"]).ok();
    assert!(planned.ends_with(" (planned)\n"), "{planned}");
    let said = home.lend(&from, &[]).ok();
    assert_eq!(
        said,
        format!("{local} is blocked: the claim of {task} is lost: it is claimed by {lock} now\n")
    );
    assert_eq!(home.task(&local, "status"), "blocked");
    assert!(at_work.is_running(), "its worker is left alone");
    home.accepts(&[&local]);
    for b in [&from, &*home] {
        unchanged(b, "a second pass", || assert_eq!(home.lend(&from, &["-v"]).ok(), ""));
    }
    // What it says after that is not taken, and no watcher sets the local task free.
    let _ = home.hermes(&["complete", &local, "--summary", "mine"]);
    home.round();
    home.lend(&from, &[]).ok();
    assert_eq!(from.task(&task, "status || ' ' || claim_lock"), format!("running {lock}"));
    // Unblocked by a person it is blocked again; what `status` says puts it away.
    home.sql(&format!("UPDATE tasks SET status = 'ready' WHERE id = '{local}'"));
    assert!(home.lend(&from, &[]).ok().starts_with(&format!("{local} is blocked: ")));
    let asked = ran(home.command("watchbill").args(["status"]));
    assert!(asked.out.contains(&format!("hermes kanban archive {local}")), "{asked:?}");
    home.hermes(&["archive", &local]).ok();
    assert_eq!(home.lend(&from, &[]).ok(), "");
}

#[test]
fn a_claim_is_extended_as_long_as_the_local_task_is_open() {
    let Some(home) = Home::new() else { return };
    let from = TestBoard::own();
    let task = add(&from, "one");
    home.lend(&from, &[]).ok();
    age(&from, 400);
    let said = home.lend(&from, &["-v"]).ok();
    assert_eq!(said, format!("{task}: its claim is extended, {} is open\n", home.local(&task)));
    let left: i64 = from.task(&task, "claim_expires").parse().unwrap();
    assert!((left - now() - 900).abs() < 60, "{left}");
    // It ran out, and nobody has it: the claim still holds.
    age(&from, 1_000);
    home.lend(&from, &[]).ok();
    assert!(from.task(&task, "claim_expires").parse::<i64>().unwrap() > now());
}

#[test]
fn a_task_that_the_watchers_here_are_at_is_not_given_back() {
    let Some(home) = Home::new() else { return };
    let from = TestBoard::own();
    let task = add(&from, "one");
    home.lend(&from, &[]).ok();
    let local = home.local(&task);
    home.give_up_for_real(&local);
    home.lend(&from, &[]).ok();
    assert_eq!(
        (from.task(&task, "status"), home.task(&local, "status")),
        ("running".into(), "blocked".into())
    );
    age(&home, 1_000);
    let said = home.lend(&from, &[]).ok();
    assert!(said.starts_with(&format!("{task} is blocked ({local}): given up after ")), "{said}");
    assert_eq!(from.task(&task, "status || ' ' || block_kind"), "blocked needs_input");

    let carded = add(&from, "two");
    home.lend(&from, &[]).ok();
    let local = home.local(&carded);
    home.profile("tuesday", "http://127.0.0.1:9/nobody/v1");
    home.hermes(&["claim", &local]).ok();
    home.hand(&["block", &local, "--type", "scope_boundary", "the lamps"]).ok();
    home.lend(&from, &[]).ok();
    assert_eq!(from.task(&carded, "status"), "running", "its card asks the orchestrator here");
}

#[test]
fn most_and_what_is_not_lent() {
    let Some(home) = Home::new() else { return };
    let from = TestBoard::own();
    let mut all = ["one", "two", "three"].map(|title| add(&from, title));
    // The order of the queue. They may be of two seconds.
    all.sort_by_key(|id| (from.task(id, "created_at"), id.clone()));
    let [first, second, third] = all;
    let nova = from.hand(&["add", "four", "--assignee", "nova"]).ok();
    for b in [&from, &*home] {
        unchanged(b, "a dry run", || {
            let said = home.lend(&from, &["-n", "--most", "2"]).ok();
            let want =
                format!("{first} is lent to default (planned)\n{second} is lent to default (planned)\n");
            assert_eq!(said, want);
        });
    }
    home.lend(&from, &["--most", "2"]).ok();
    assert_eq!(home.lend(&from, &["--most", "2"]).ok(), "");
    assert_eq!(home.lend(&from, &["--most", "0"]).ok(), "");
    assert_eq!(from.task(&third, "status"), "ready");
    home.hermes(&["complete", &home.local(&first)]).ok();
    let said = home.lend(&from, &["--most", "2"]).ok();
    assert!(said.contains(&format!("{third} is lent")), "{said}");
    assert_eq!(from.task(nova.trim(), "status"), "ready");

    // Not a card, not a task whose folder is elsewhere, and nothing while either board is paused.
    let card = add(&from, &format!("[BLOCKED] {} env_blocker", nova.trim()));
    let away = add(&from, "five");
    from.sql(&format!(
        "UPDATE tasks SET workspace_kind = 'dir', workspace_path = '/no/such/place' WHERE id = '{away}'"
    ));
    let said = home.lend(&from, &["--most", "9", "-v"]);
    assert!(
        said.out.is_empty() && said.err.contains("its folder /no/such/place is not on this host"),
        "{said:?}"
    );
    assert_eq!((from.task(&card, "status"), from.task(&away, "status")), ("ready".into(), "ready".into()));
    let five = add(&from, "six");
    for b in [&from, &*home] {
        let db = b.db.to_str().unwrap();
        ran(home.command("watchbill").args(["pause", "--db", db, "--for", "1h", "--reason", "x"])).ok();
        let said = home.lend(&from, &["--most", "9", "-v"]);
        assert!(said.out.is_empty() && said.err.contains("nothing new is claimed"), "{said:?}");
        ran(home.command("watchbill").args(["unpause", "--db", db])).ok();
    }
    assert_eq!(from.task(&five, "status"), "ready");
}

#[test]
fn boards_that_do_not_fit_are_refused_in_one_line() {
    let Some(home) = Home::new() else { return };
    let from = TestBoard::own();
    let task = add(&from, "one");
    let lend = |from: &Path, onto: &Path, assignee: &str| {
        ran(home
            .command("board")
            .arg("lend")
            .arg("--from")
            .arg(from)
            .arg("--onto")
            .arg(onto)
            .args(["--assignee", assignee]))
    };
    let other = TestBoard::own();
    for (from, onto, assignee, code, word) in [
        (&from.db, &from.db, "luna", 2, "the same board"),
        (&home.db, &home.db, "luna", 2, "the same board"),
        (&from.db, &other.db, "luna", 65, "not a board of Hermes"),
        (&home.db, &home.db.with_file_name("other.db"), "luna", 66, "other.db"),
        (&from.db.with_file_name("none.db"), &home.db, "luna", 66, "none.db"),
        (&from.db, &home.db, "nobody", 1, "no such profile"),
        (&from.db, &home.db, "../x", 1, "not the name of a profile"),
    ] {
        let said = lend(from, onto, assignee).fails(code);
        assert!(said.contains(word), "{said}");
    }
    let hermes = TestBoard::new();
    let said = lend(&hermes.db, &home.db, "luna").fails(65);
    assert!(said.contains("whose own dispatcher starts its tasks"), "{said}");
    let said = lend(&from.db, Path::new("nowhere"), "luna").fails(66);
    assert!(said.contains("nowhere"), "{said}");
    assert_eq!((from.task(&task, "status"), home.count()), ("ready".into(), "0".into()));
}

#[test]
fn two_hosts_borrow_of_one_board_and_each_task_is_lent_once() {
    let Some(home) = Home::new() else { return };
    let Some(other) = Home::new() else { return };
    let from = TestBoard::own();
    let all: Vec<String> = (0..6).map(|n| add(&from, &format!("task {n}"))).collect();
    std::thread::scope(|s| {
        for home in [&home, &other] {
            let from = &from;
            s.spawn(move || home.lend(from, &["--most", "3"]).ok());
        }
    });
    assert_eq!((home.count(), other.count()), ("3".into(), "3".into()));
    for task in &all {
        assert_eq!(from.task(task, "status"), "running");
        assert_eq!(from.value(&format!("SELECT count(*) FROM task_runs WHERE task_id = '{task}'")), "1");
    }
    for home in [&home, &other] {
        assert_eq!(home.lend(&from, &["--most", "3", "-v"]).ok(), "", "nobody takes the other's for its own");
    }
}

#[test]
fn a_task_with_the_key_of_a_loan_alone_reports_nothing() {
    let (Some(home), Some(other)) = (Home::new(), Home::new()) else { return };
    let from = TestBoard::own();
    let task = add(&from, "one");
    other.lend(&from, &[]).ok();
    let key = other.task(&other.local(&task), "idempotency_key");
    let forged = home.create(&["--idempotency-key", &key]);
    home.hermes(&["block", &forged, "mine"]).ok();
    let before = from.dump();
    assert_eq!(home.lend(&from, &["-v"]).ok(), "");
    assert_eq!((from.dump(), home.task(&forged, "status")), (before, "blocked".into()));
}

#[test]
fn a_pass_that_is_killed_at_any_moment_loses_nothing_and_makes_nothing_twice() {
    let Some(home) = Home::new() else { return };
    let from = TestBoard::own();
    let line = |command: &mut Command| {
        command.arg("lend").arg("--from").arg(&from.db).args(["--assignee", "luna", "--onto", "default"]);
        command.args(["--most", "99"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let began = Instant::now();
    line(&mut home.command("board")).wait().unwrap();
    let whole = began.elapsed();
    // From the start of a pass to well behind its end: three claims take longer than none.
    for nth in 1..=24_u32 {
        let tasks = ["one", "two", "three"].map(|title| add(&from, title));
        let mut pass = line(&mut home.command("board"));
        std::thread::sleep(whole * nth / 8);
        let _ = pass.kill();
        pass.wait().unwrap();
        home.lend(&from, &["--most", "99"]).ok();
        for task in &tasks {
            let runs =
                format!("SELECT count(*) || group_concat(status) FROM task_runs WHERE task_id = '{task}'");
            assert_eq!(from.value(&runs), "1running", "{nth}");
            let made = format!(
                "SELECT count(*) || group_concat(status) FROM tasks WHERE idempotency_key LIKE 'lent:{task}:%'"
            );
            assert_eq!(home.value(&made), "1ready", "{nth}");
        }
    }
    home.accepts(&[&home.local(&from.value("SELECT max(id) FROM tasks"))]);
}
