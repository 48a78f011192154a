//! `watchbill why`: the answer first, nothing written, and one clear line where there is no such task.

use std::fs;

use serde_json::Value;
use shared::base::time::{Time, words};

use crate::support::{Ran, TestBoard, dead_pid, now, ran, settled, worker};

/// Asks on this board, and holds every row and file of it against what was there before.
#[track_caller]
fn ask(b: &TestBoard, args: &[&str]) -> Ran {
    let (rows, bytes) = (b.dump(), fs::read(&b.db).unwrap());
    let said = ran(b.command("watchbill").arg("why").args(args));
    assert_eq!((b.dump(), fs::read(&b.db).unwrap()), (rows, bytes), "looking wrote");
    said
}

/// The first two lines.
#[track_caller]
fn first(b: &TestBoard, task: &str) -> (String, String) {
    let said = ask(b, &[task]).ok();
    let mut lines = said.lines();
    (lines.next().unwrap().to_owned(), lines.next().unwrap().to_owned())
}

#[track_caller]
fn json(b: &TestBoard, args: &[&str]) -> Value {
    ask(b, &[args, &["--json"]].concat()).json()
}

#[test]
fn a_dead_worker_is_named_with_what_heal_would_do() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    let pid = dead_pid();
    b.run_it("t_00000001", Some(pid), 3_600);
    let (says, more) = first(&b, "t_00000001");
    assert!(
        says.starts_with(&format!("t_00000001 is running, and something is wrong: worker {pid} gone")),
        "{says}"
    );
    assert_eq!(more, "heal acts with its next pass: requeue (dead-worker)");
    assert!(!b.path().join("state").exists(), "not even a memory of our own");

    let all = json(&b, &["t_00000001"]);
    assert_eq!((&all["schema"], &all["kind"]), (&"watchbill.why/1".into(), &"due".into()));
    let of = |watcher: &str| {
        let all = all["watchers"].as_array().unwrap();
        all.iter().find(|w| w["watcher"] == watcher).unwrap().clone()
    };
    assert_eq!((&of("heal")["verdict"], &of("heal")["action"]), (&"acts".into(), &"requeue".into()));
    for silent in ["synthesize-distress", "route-blocked"] {
        assert_eq!(of(silent)["verdict"], "nothing");
        assert_ne!(of(silent)["because"], "", "also why it does nothing");
    }
    assert_eq!(all["attempts"].as_array().unwrap().len(), 1);
    let command = all["commands"][0]["run"].as_str().unwrap();
    assert_eq!(command, "heal --task t_00000001");
    // What it says can be run, and does what it says.
    let mut words = command.split(' ');
    assert!(ran(b.command(words.next().unwrap()).args(words)).ok().contains("t_00000001 requeue"));
    let (says, more) = first(&b, "t_00000001");
    assert!(
        says.starts_with("t_00000001 is ready for luna since ")
            && says.contains(", and no dispatcher is seen"),
        "{says}"
    );
    assert!(more.contains("heal requeued it ") && more.contains("(dead-worker)"), "{more}");
    assert_eq!(json(&b, &["t_00000001"])["deeds"][0]["did"], "requeued");
}

#[test]
fn the_log_tells_the_true_cause_and_not_the_board() {
    let b = TestBoard::new();
    b.give_up("t_00000001", "pid 4242 not alive", 3_600);
    b.log(
        "t_00000001",
        "Query: work kanban task t_00000001\n❌ API failed after 2 retries — HTTP 503: busy, sk-ant-REDACTED\n",
    );
    let (says, more) = first(&b, "t_00000001");
    assert!(
        says.starts_with(
            "t_00000001 is blocked after 2 failures, 1h ago: its provider was overloaded (overloaded)"
        ),
        "{says}"
    );
    assert!(more.contains("HTTP 503"), "{more}");
    assert!(!more.contains("abcdefghij"), "no secret is shown: {more}");
}

#[test]
fn a_pause_comes_first_and_a_hold_says_until_when() {
    let b = TestBoard::new();
    b.give_up("t_00000001", "pid 4242 not alive", 60);
    let db = b.db.to_str().unwrap().to_owned();
    ran(b.command("watchbill").args(["pause", "--db", &db, "--for", "2h", "--reason", "the disk is moved"]))
        .ok();
    let said = ask(&b, &["t_00000001", "--db", &db]).ok();
    let mut lines = said.lines();
    assert!(lines.next().unwrap().contains("the disk is moved"), "{said}");
    assert!(lines.next().unwrap().starts_with("t_00000001 is blocked after 2 failures"), "{said}");
    assert!(said.contains(&format!("watchbill unpause --db {db}")), "{said}");
    ran(b.command("watchbill").args(["unpause", "--db", &db])).ok();

    // heal waits for a moment that is known: it is said, and then it is so.
    let all = json(&b, &["t_00000001"]);
    assert_eq!(all["kind"], "waits");
    let at = all["next"].as_array().unwrap().iter().find(|n| n["watcher"] == "heal").unwrap()["at"].clone();
    let at = at.as_str().unwrap();
    let skipped = b.heal(&["-n", "--json"]).json()["boards"][0]["skipped"][0].clone();
    assert_eq!(skipped["next"], at, "heal says the same");
    let before = json(&b, &["t_00000001", "--now", &(now() + 60).to_string()]);
    assert_eq!(before["kind"], "waits");
    let after = json(&b, &["t_00000001", "--now", at]);
    assert_eq!((&after["kind"], &after["watchers"][0]["action"]), (&"due".into(), &"reset".into()), "{at}");
}

#[test]
fn what_somebody_said_is_told_as_said() {
    let b = TestBoard::new();
    for (id, status) in [
        ("t_00000001", "blocked"),
        ("t_00000002", "scheduled"),
        ("t_00000003", "triage"),
        ("t_00000004", "done"),
    ] {
        b.add(id, status);
    }
    let at = now() - 600;
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES
           ('t_00000001', 'blocked', '{{\"reason\":\"which licence?\"}}', {at}),
           ('t_00000002', 'scheduled', '{{\"reason\":\"after the release\"}}', {at}),
           ('t_00000003', 'block_loop_detected', '{{}}', {at}),
           ('t_00000004', 'completed', '{{}}', {at})"
    ));
    b.add("t_00000005", "todo");
    b.sql("INSERT INTO task_links (parent_id, child_id) VALUES ('t_00000001', 't_00000005')");
    b.add("t_00000006", "ready");
    b.sql("UPDATE tasks SET body = 'x\nwatchbill: no-heal' WHERE id = 't_00000006'");
    b.add("t_00000007", "archived");
    for (id, says, kind) in [
        ("t_00000001", "blocked by hand 10m ago: which licence?", "needs_person"),
        ("t_00000002", "scheduled outside Watchbill 10m ago: after the release", "left_alone"),
        ("t_00000003", "in triage, blocked again and again for one reason", "due"),
        ("t_00000004", "done, 10m ago", "over"),
        ("t_00000005", "in todo: it waits for t_00000001 Task t_00000001 (blocked)", "fine"),
        (
            "t_00000006",
            "ready, and skipped on purpose, since it is marked `watchbill: no-heal`",
            "left_alone",
        ),
        ("t_00000007", "archived", "over"),
    ] {
        let all = json(&b, &[id]);
        assert_eq!((&all["says"], &all["kind"]), (&format!("{id} is {says}").into(), &kind.into()), "{all}");
    }
    let (_, more) = first(&b, "t_00000005");
    assert_eq!(more, "t_00000001 is blocked by hand 10m ago: which licence?");
}

#[test]
fn a_worker_that_its_provider_never_answers_is_said_to_wait() {
    let b = TestBoard::new();
    b.add("t_00000a12", "ready");
    let run = b.run_it("t_00000a12", None, 690);
    let living = worker("t_00000a12", run);
    b.sql(&format!("UPDATE tasks SET worker_pid = {} WHERE id = 't_00000a12'", living.pid()));
    let line = |ago: i64, rest: &str| {
        let at = Time(now() - ago).to_string().replace('T', " ").replace('Z', "");
        format!("{at},000 INFO [s_work] {rest}\n")
    };
    let begins = "agent.turn_context: conversation turn: session=s_work model=m1 provider=custom platform=cli history=0";
    let begins = line(688, &format!("{begins} msg='work kanban task t_00000a12'"));
    let logs = b.path().join("profiles/luna/logs");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("agent.log"), &begins).unwrap();
    let says = |b: &TestBoard| json(b, &["t_00000a12"])["says"].as_str().unwrap().to_owned();
    let waits = "t_00000a12 is running, and waits for an answer: the provider of luna has not answered since";
    assert!(says(&b).starts_with(waits), "{}", says(&b));
    // One answer, however long ago, and it is well.
    let call = "agent.conversation_loop: API call #1: model=m1 provider=custom in=9 out=1 total=10 latency=1.5s cache=0/9 (0%)";
    fs::write(logs.join("agent.log"), begins + &line(600, call)).unwrap();
    assert!(says(&b).starts_with("t_00000a12 is running, and nothing is wrong"), "{}", says(&b));
}

#[test]
fn it_is_found_on_whichever_board_has_it() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    let other = TestBoard::own();
    other.add("t_0000000a", "ready");
    let (one, two) = (b.db.to_str().unwrap(), other.db.to_str().unwrap());
    let at = settled(3_600);
    let said = ask(&b, &["t_0000000a", "--db", one, "--db", two, "--now", &at.to_string()]).ok();
    let age = words(at - other.task("t_0000000a", "created_at").parse::<i64>().unwrap());
    let ready = format!("ready for luna since {age}");
    assert!(said.starts_with(&format!("t_0000000a is {ready}, and nobody claims it\n")), "{said}");
    assert!(said.contains(&format!("\n{ready}: a worker must claim it\n")), "{said}");
    assert!(said.contains(&format!("on {two}")), "{said}");
    assert!(said.contains(&format!("board --db {two} show t_0000000a")), "{said}");
    for (task, code, why) in [
        ("t_0000000b", 1, "no such task on any of these boards"),
        ("lanterns", 2, "not a task id"),
        ("--db", 2, "a value is required"),
    ] {
        let said = ask(&b, &[task]);
        assert_eq!(said.code, code, "{said:?}");
        assert!(said.err.contains(why), "{said:?}");
    }
    // A board that cannot be read may be the one that has it.
    let broken = b.path().join("broken.db");
    fs::write(&broken, "no database").unwrap();
    let broken = broken.to_str().unwrap();
    assert!(ask(&b, &["t_00000001", "--db", broken, "--db", one]).ok().starts_with("t_00000001 is ready"));
    assert!(ask(&b, &["t_0000000b", "--db", broken, "--db", one]).fails(65).contains("broken.db"));
}

#[test]
fn a_task_is_meant_by_its_id_the_beginning_of_it_or_its_title() {
    let b = TestBoard::new();
    for (id, title, status) in [
        ("t_ac7aa76c", "Fix the flaky login test", "ready"),
        ("t_ac7bb001", "Port the parser", "todo"),
        ("t_0badcafe", "Port the login page", "done"),
    ] {
        b.add(id, status);
        b.sql(&format!("UPDATE tasks SET title = '{title}' WHERE id = '{id}'"));
    }
    for (typed, id) in [
        ("ac7aa76c", "t_ac7aa76c"),
        ("t_ac7a", "t_ac7aa76c"),
        ("ac7b", "t_ac7bb001"),
        ("LOGIN", "t_ac7aa76c"),
        ("page", "t_0badcafe"),
    ] {
        assert_eq!(json(&b, &[typed])["task"], id, "{typed}");
    }
    for (typed, code, said) in [
        (
            "t_ac7",
            2,
            "t_ac7: 2 tasks match: t_ac7aa76c Fix the flaky login test, t_ac7bb001 Port the parser;",
        ),
        (
            "t_ac7aa76d",
            1,
            "no such task on any of these boards; did you mean t_ac7aa76c Fix the flaky login test?",
        ),
        ("lanterns", 2, "lanterns: not a task id, and no title on these boards has these words;"),
    ] {
        assert!(ask(&b, &[typed]).fails(code).contains(said), "{typed}");
        // Nothing is answered where one of several is not clear.
        assert!(ask(&b, &["t_ac7aa76c", typed]).fails(code).contains(said), "{typed}");
    }

    let said = ask(&b, &["page", "t_ac7a", "t_ac7aa76c"]).ok();
    assert!(said.starts_with("t_0badcafe is done"), "{said}");
    assert_eq!(said.matches("\n\nt_ac7aa76c is ready for luna").count(), 1, "each once: {said}");
    let all = json(&b, &["page", "t_ac7a"]);
    let tasks: Vec<_> = all["answers"].as_array().unwrap().iter().map(|a| a["task"].clone()).collect();
    assert_eq!(
        (&all["schema"], tasks),
        (&"watchbill.why/1".into(), vec!["t_0badcafe".into(), "t_ac7aa76c".into()])
    );
}

#[test]
fn of_those_that_wait_for_a_provider_only_the_next_one_is_said_to_be_next() {
    let b = TestBoard::new();
    let profile = b.path().join("profiles/luna");
    fs::create_dir_all(&profile).unwrap();
    fs::write(
        profile.join("config.yaml"),
        "model: {default: m1, provider: custom, base_url: 'http://127.0.0.1:9/v1'}\n",
    )
    .unwrap();
    b.add("t_00000001", "ready");
    b.run_it("t_00000001", Some(dead_pid()), 900);
    b.log(
        "t_00000001",
        "Query: work kanban task t_00000001\n❌ API failed after 2 retries — HTTP 429: Rate limit reached\n",
    );
    for id in ["t_0000000a", "t_0000000b"] {
        b.add(id, "ready");
    }
    let db = b.db.to_str().unwrap();
    let pass = |watcher: &str, seconds: i64| {
        ran(b.command(watcher).args(["--db", db, "--now", &(now() + seconds).to_string()])).code
    };
    for seconds in [60, 180] {
        for watcher in ["heal", "synthesize-distress", "route-blocked"] {
            assert!(pass(watcher, seconds) <= 1);
        }
    }
    assert_eq!(b.task("t_0000000b", "status"), "scheduled");
    let held = b.payload("t_0000000b", "scheduled")["watchbill"]["hold"]["until"].as_i64().unwrap();
    let after = (held + 60).to_string();
    let says = |id: &str| json(&b, &[id, "--db", db, "--now", &after])["says"].as_str().unwrap().to_owned();
    let (one, other) = (says("t_0000000a"), says("t_0000000b"));
    assert!(
        one.contains(" (passed): ")
            && one.ends_with("; route-blocked acts with its next pass: probe (probe)"),
        "{one}"
    );
    assert!(
        other.contains(" (passed): ") && other.ends_with(": another task probes 127.0.0.1:9 first"),
        "{other}"
    );
    // And so it goes.
    pass("route-blocked", held + 60 - now());
    assert_eq!(
        (b.task("t_0000000a", "status"), b.task("t_0000000b", "status")),
        ("ready".into(), "scheduled".into())
    );
}

#[test]
fn what_is_the_same_for_every_task_is_said_with_v_only() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    let said = ask(&b, &["t_00000001"]).ok();
    assert!(
        !said.contains("asked now") && !said.contains("next look") && !said.contains("nothing to do"),
        "{said}"
    );
    let all = ask(&b, &["t_00000001", "-v"]).ok();
    assert!(
        all.contains("asked now\n  heal ") && all.contains("route-blocked        nothing to do: no card"),
        "{all}"
    );
    assert!(all.contains("next look\n  heal, synthesize-distress, route-blocked every 2m"), "{all}");
}

#[test]
fn a_living_worker_is_left_alone_and_said_to_be_well() {
    let b = TestBoard::new();
    b.add("t_00000a11", "ready");
    let run = b.run_it("t_00000a11", None, 900);
    let mut living = worker("t_00000a11", run);
    b.sql(&format!("UPDATE tasks SET worker_pid = {} WHERE id = 't_00000a11'", living.pid()));
    let (says, _) = first(&b, "t_00000a11");
    assert!(says.starts_with("t_00000a11 is running, and nothing is wrong: worker alive: pid"), "{says}");
    assert!(living.is_running());
}

#[test]
fn a_board_of_a_root_that_only_the_configuration_names_is_told_by_its_file() {
    let mut b = TestBoard::new();
    b.give_up("t_00000001", "pid 4242 not alive", 3_600);
    b.config.push_str(&format!("[board]\nhermes_root = '{}'\n", b.path().display()));
    let other = tempfile::tempdir().unwrap();
    let link = other.path().join("link");
    std::os::unix::fs::symlink(b.path(), &link).unwrap();
    let by_file = format!("HERMES_KANBAN_DB={} hermes kanban ", b.db.display());
    for (root, is_elsewhere) in [(b.path(), false), (link.as_path(), false), (other.path(), true)] {
        let all =
            ran(b.command("watchbill").args(["why", "t_00000001", "--json"]).env("HERMES_HOME", root)).json();
        let commands = all["commands"].as_array().unwrap();
        let runs: Vec<&str> = commands.iter().map(|c| c["run"].as_str().unwrap()).collect();
        let begins = |with: &str| runs.iter().any(|run| run.starts_with(with));
        assert_eq!(begins(&by_file), is_elsewhere, "{}: {runs:?}", root.display());
        assert_eq!(begins("hermes kanban "), !is_elsewhere, "{}: {runs:?}", root.display());
    }
}
