//! `watchbill run`: one round does what the four programs do one after the other, whatever becomes of one of them.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::dry::unchanged;
use crate::route::{LIMITED, REFUSED_KEY};
use crate::support::{Ran, TestBoard, dead_pid, now, ran};
use shared::base::registry::NAMES;

/// `watchbill run` on this board, as it will be in so many seconds.
fn round(b: &TestBoard, later: i64, args: &[&str]) -> Ran {
    ran(&mut command(b, now() + later, args))
}

fn command(b: &TestBoard, at: i64, args: &[&str]) -> Command {
    let mut command = b.command("watchbill");
    command.arg("run").arg("--db").arg(&b.db).args(["--now", &at.to_string()]).args(args);
    command
}

/// A dead worker, a rate-limited one, one whose key is refused, and a card with an orchestrator's decision.
fn night() -> TestBoard {
    let mut b = TestBoard::fleet();
    b.config.push_str("[profiles.juno]\nprovider = \"sun\"\nendpoint = \"https://api.example/v1\"\n[budget]\ntime = \"5m\"\n");
    b.add("t_000000a2", "ready");
    b.hand(&["claim", "t_000000a2", "--worker", "luna"]).ok();
    b.hand(&["block", "t_000000a2", "--type", "env_blocker", "--needs", "a look"]).ok();
    let taken = b.hand(&["claim", "--worker", "tuesday", "--json"]).json();
    let (card, run) = (taken["task"].as_str().unwrap(), taken["run"].to_string());
    // As its dispatcher would have noted it.
    b.sql(&format!(
        "INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES ('{card}', {run}, 'spawned', '{{\"pid\":1}}', {})",
        now()
    ));
    let decision = json!({"route": {"action": "reassign", "task": "t_000000a2", "assignee": "sol", "reason": "sol has a compiler"}});
    b.hand(&["complete", card, "--run", &run, "--metadata", &decision.to_string()]).ok();
    b.add("t_000000a1", "ready");
    b.run_it("t_000000a1", Some(dead_pid()), 3_600);
    b.died_of("t_000000a3", LIMITED);
    b.died_of("t_000000a4", REFUSED_KEY);
    b.sql("UPDATE tasks SET assignee = 'juno' WHERE id = 't_000000a4'; UPDATE task_runs SET profile = 'juno' WHERE task_id = 't_000000a4'");
    b
}

/// All rows, with ids that are made at random told by their order.
fn rows(b: &TestBoard) -> String {
    let mut dump = b.dump();
    let conn = b.open();
    let mut statement =
        conn.prepare("SELECT id FROM tasks WHERE id NOT LIKE 't_000000a_' ORDER BY rowid").unwrap();
    let ids: Vec<String> = statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
    for (i, id) in ids.iter().enumerate() {
        dump = dump.replace(id.as_str(), &format!("t_card{i}"));
    }
    let mut lines: Vec<&str> = dump.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Saves a board with all that lies beside it, or puts it back.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    let (from, to) = (from.display(), to.display());
    let line = format!("rm -rf {to}/* && cp -a {from}/. {to}/");
    ran(Command::new("sh").args(["-ec", &line])).ok();
}

#[test]
fn a_round_is_the_four_programs_one_after_the_other() {
    let b = night();
    let saved = tempfile::tempdir().unwrap();
    copy(b.path(), saved.path());
    let at = now();
    let (mut said, mut told) = (String::new(), String::new());
    for name in NAMES {
        let mut pass = b.command(name);
        pass.env("WATCHBILL_PASS", format!("p-{name}"))
            .arg("--db")
            .arg(&b.db)
            .args(["--now", &at.to_string()]);
        if *name == "budget-check" {
            pass.arg("-q");
        }
        let r = ran(&mut pass);
        said.push_str(&r.out);
        told.push_str(&r.err);
    }
    let page = b.path().join("state/watchbill/watchbill.html");
    let mut alone = b.command("watchbill");
    ran(alone.args(["page", "-q", "--now", &at.to_string(), "--db"]).arg(&b.db)).ok();
    let (one, first) = (rows(&b), fs::read_to_string(&page).unwrap());
    for case in ["t_000000a1 requeue", "t_000000a2 ", "t_000000a3 move", "t_000000a4 "] {
        assert!(said.contains(case), "{case}: {said}");
    }

    copy(saved.path(), b.path());
    assert!(rows(&b) != one && !page.exists(), "the board is as it was before");
    let r = ran(&mut command(&b, at, &[]));
    assert_eq!(r.code, 0, "{r:?}");
    let same = |text: &str| {
        let ids = text.split_whitespace().filter(|w| w.starts_with("t_") && !w.contains("t_000000a"));
        let ids: Vec<String> =
            ids.map(|w| w.trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned()).collect();
        ids.iter().fold(text.to_owned(), |text, id| text.replace(id.as_str(), "t_card"))
    };
    assert_eq!((same(&r.out), same(&r.err)), (same(&said), same(&told)));
    // Each has a pass of its own.
    let passes = |text: &str| {
        let mut programs = BTreeMap::<String, String>::new();
        let by = |part: &str| part.split('"').next().unwrap_or_default().to_owned();
        for pass in text.split("\"pass\":\"").skip(1).map(by) {
            let known =
                NAMES.iter().find(|name| pass.contains(&format!("-{name}-")) || pass == format!("p-{name}"));
            programs.insert(pass.clone(), known.map_or(pass, |name| (*name).to_owned()));
        }
        programs.iter().fold(text.to_owned(), |text, (pass, program)| text.replace(pass.as_str(), program))
    };
    let two = rows(&b);
    assert!(two.contains("-heal-") && two.contains("-route-blocked-"), "{two}");
    let (one, two) = (passes(&one), passes(&two));
    for (one, two) in one.lines().zip(two.lines()) {
        assert_eq!(one, two);
    }
    assert_eq!(one.lines().count(), two.lines().count());
    assert_eq!(fs::read_to_string(&page).unwrap().lines().count(), first.lines().count(), "its page");

    // A second round changes nothing and says nothing.
    let after = b.dump();
    let r = ran(&mut command(&b, at + 1, &[]));
    assert_eq!((r.code, r.out.as_str(), r.err.as_str()), (0, "", ""));
    assert!(b.dump() == after, "rows changed");
}

#[test]
fn looking_and_json_are_those_of_the_programs() {
    let b = night();
    let at = now().to_string();
    let fixed = |mut command: Command| ran(command.env("WATCHBILL_PASS", "p")).json();
    let metrics = b.path().join("metrics");
    unchanged(&b, "watchbill run -n", || {
        let whole = fixed({
            let mut c = command(&b, at.parse().unwrap(), &["-n", "--json", "-v"]);
            c.arg("--metrics").arg(&metrics);
            c
        });
        assert_eq!(
            (&whole["schema"], &whole["exit"], &whole["dry_run"], &whole["not_due"]),
            (&json!("watchbill.run/1"), &json!(0), &json!(true), &json!([]))
        );
        let each = whole["watchers"].as_array().unwrap();
        assert_eq!(each.len(), NAMES.len());
        for (name, object) in NAMES.iter().zip(each) {
            let mut own = b.command(name);
            own.args(["-n", "--json", "-v", "--now", &at, "--db"]).arg(&b.db);
            assert_eq!(*object, fixed(own), "{name}");
        }
        let said = round(&b, 0, &["-n"]).ok();
        assert!(said.contains("t_000000a1 requeue") && said.contains("(planned)"), "{said}");
    });
    assert!(!metrics.exists() && !b.path().join("state/watchbill/watchbill.html").exists());
    // Refused once, and not by each of them.
    let mut clock = b.command("watchbill");
    let said = ran(clock.args(["run", "--now", &at])).fails(2);
    assert!(said.starts_with("watchbill run: --now: changes a board only with an explicit --db"), "{said}");
    // An object of each, also of those that fail.
    let whole: Value =
        serde_json::from_str(&ran(b.command("watchbill").args(["run", "--json", "--db", "/no/such.db"])).out)
            .unwrap();
    assert_eq!((&whole["exit"], whole["watchers"].as_array().unwrap().len()), (&json!(66), 4), "{whole:#}");
}

#[test]
fn all_of_them_paused_or_without_a_board_end_as_one_would() {
    let b = night();
    fs::write(b.path().join("watchbill.pause"), "").unwrap();
    let before = b.dump();
    let r = round(&b, 0, &[]);
    // It is said once, as by four programs, and who only looks does so.
    assert_eq!((r.code, r.err.matches(": paused").count()), (0, 2), "{r:?}");
    assert!(b.dump() == before, "rows changed");
    let r = ran(b.command("watchbill").args(["run", "--db", "/no/such.db"]));
    assert_eq!((r.code, r.err.lines().count()), (66, 4), "{r:?}");
    let r = ran(b.command("watchbill").args(["run", "--config", "/no/such.toml"]));
    assert_eq!(r.code, 78, "{r:?}");
}

#[cfg(debug_assertions)]
#[test]
fn a_bug_in_one_watcher_keeps_no_other_from_running() {
    for broken in NAMES {
        let b = night();
        let metrics = b.path().join("metrics");
        let at = now();
        let mut c = command(&b, at, &["--metrics", metrics.to_str().unwrap()]);
        let r = ran(c.env("WATCHBILL_TEST_BUG", broken));
        assert_eq!((r.code, r.err.matches("a bug in watchbill").count()), (1, 1), "{broken}: {r:?}");
        assert_eq!(b.task("t_000000a1", "status") == "running", *broken == "heal", "{broken}: {r:?}");
        let cards = b.value("SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED] t_000000a4%'");
        assert_eq!(cards == "1", *broken != "synthesize-distress", "{broken}: {r:?}");
        assert_eq!(b.task("t_000000a2", "assignee") == "sol", *broken != "route-blocked", "{broken}: {r:?}");
        assert!(b.path().join("state/watchbill/watchbill.html").exists(), "{broken}: {r:?}");
        // Its end is on record, and what it says later is found there.
        for name in NAMES {
            let text = fs::read_to_string(metrics.join(format!("{name}.prom"))).unwrap();
            let want = if name == broken { 70 } else { 0 };
            let line = format!("watchbill_last_pass_exit_code{{program=\"{name}\"}} {want}\n");
            assert!(text.contains(&line), "{broken}: {text}");
        }
        let mut again = command(&b, at, &["-n", "--json"]);
        let whole = ran(again.env("WATCHBILL_TEST_BUG", broken));
        let whole: Value = serde_json::from_str(&whole.out).unwrap();
        let its = whole["watchers"].as_array().unwrap().iter().find(|w| w["program"] == *broken).unwrap();
        assert_eq!((&its["exit"], &whole["exit"]), (&json!(70), &json!(1)), "{its:#}");
    }
}

#[test]
fn a_watcher_that_is_refused_keeps_no_other_from_running() {
    let b = night();
    let metrics = b.path().join("metrics");
    fs::create_dir(&metrics).unwrap();
    fs::write(metrics.join("heal.prom"), "something else").unwrap();
    let r = round(&b, 0, &["--metrics", metrics.to_str().unwrap()]);
    assert_eq!(r.code, 1, "{r:?}");
    assert!(r.err.contains("heal: --metrics ") && r.err.contains("something else than metrics"), "{r:?}");
    assert_eq!(b.task("t_000000a1", "status"), "running");
    assert_eq!(b.task("t_000000a2", "assignee"), "sol", "{r:?}");
    assert_eq!(fs::read_to_string(metrics.join("heal.prom")).unwrap(), "something else");
}

#[test]
fn a_watcher_that_is_needed_less_often_waits_for_its_turn() {
    let b = TestBoard::new();
    b.add("t_000000a1", "ready");
    let metrics = b.path().join("metrics");
    let at = now();
    let passes = |name: &str| {
        let text = fs::read_to_string(metrics.join(format!("{name}.prom"))).unwrap_or_default();
        let line = text.lines().find(|l| l.starts_with("watchbill_passes_total")).unwrap_or("0");
        line.rsplit(' ').next().unwrap().to_owned()
    };
    let page = b.path().join("state/watchbill/watchbill.html");
    let made = |later: i64, args: &[&str]| {
        let (_, before) = (fs::remove_file(&page), passes("budget-check"));
        let mut c = command(&b, at + later, args);
        ran(c.arg("--metrics").arg(&metrics)).ok();
        assert!(page.exists(), "the page is written with each round");
        passes("budget-check") != before
    };
    assert!(made(0, &[]), "it never made one");
    assert!(!made(120, &[]) && !made(899, &[]), "15 minutes are not over");
    assert_eq!((passes("heal"), passes("budget-check")), ("3".into(), "1".into()));
    let whole = {
        let mut c = command(&b, at + 840, &["-n", "--json"]);
        ran(c.arg("--metrics").arg(&metrics)).json()
    };
    assert_eq!(whole["not_due"][0]["program"], "budget-check", "{whole:#}");
    assert_eq!(whole["watchers"].as_array().unwrap().len(), 3);
    let mut said = command(&b, at + 840, &["-n", "-v"]);
    let said = ran(said.arg("--metrics").arg(&metrics)).ok();
    assert!(said.contains("budget-check: not due before 20"), "{said}");
    assert!(made(840, &["--all"]), "all means all");
    assert!(!made(900, &[]), "it counts from its last pass");
    assert!(made(1_740, &[]), "and is due again");
    assert!(made(60, &[]), "a record from the future says nothing");
    let whole = round(&b, 61, &["--json"]).json();
    assert_eq!(whole["watchers"].as_array().unwrap().len(), 4, "without a record it is due each time");
    assert_eq!(whole["page"], json!({"file": page, "exit": 0}));
}

#[test]
fn a_page_that_cannot_be_written_loses_no_round() {
    let b = night();
    let page = b.path().join("state/watchbill/watchbill.html");
    fs::create_dir_all(page.parent().unwrap()).unwrap();
    fs::write(&page, "mine").unwrap();
    let r = round(&b, 0, &["--json"]);
    assert_eq!((r.code, r.err.lines().count()), (1, 1), "{r:?}");
    assert!(r.err.contains("watchbill.html: holds something else than a page"), "{r:?}");
    let whole: Value = serde_json::from_str(&r.out).unwrap();
    assert_eq!((&whole["page"]["exit"], whole["watchers"].as_array().unwrap().len()), (&json!(2), 4));
    assert_eq!(
        (b.task("t_000000a2", "assignee").as_str(), fs::read_to_string(&page).unwrap().as_str()),
        ("sol", "mine")
    );
}
