//! `watchbill check`: the line and the codes of a monitoring plugin.

use std::collections::BTreeSet;
use std::fs;

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::dry::{every_case, unchanged};
use crate::exits::limited;
use crate::health::{Work, silent};
use crate::support::{Ran, TestBoard, dead_pid, now, ran, worker};
use crate::tools::{self, CRON};

fn check(b: &TestBoard, args: &[&str]) -> Ran {
    tools::run(b, &[&["check"], args].concat())
}

/// A root whose watchers all passed just now.
pub fn watched() -> TestBoard {
    let b = TestBoard::new();
    fs::write(b.path().join("crontab"), CRON).unwrap();
    for name in shared::base::registry::NAMES.iter().copied() {
        let file = b.path().join(format!("state/watchbill/metrics/{name}.prom"));
        ran(b.command(name).arg("--metrics").arg(file)).ok();
    }
    b
}

/// One line, its word and its figures, with the code that belongs to the word.
#[track_caller]
fn says(ran: Ran, word: &str, code: i32) -> (String, String) {
    assert_eq!((ran.code, ran.out.lines().count(), ran.err.as_str()), (code, 1, ""), "{ran:?}");
    let rest = ran.out.strip_prefix(&format!("WATCHBILL {word} - ")).unwrap_or_else(|| panic!("{ran:?}"));
    let (said, figures) = rest.trim_end().split_once(" | ").unwrap();
    for figure in figures.split(' ') {
        let (label, values) = figure.split_once('=').unwrap();
        assert!(!label.is_empty() && values.split(';').count() == 4, "label=value;warn;crit;min: {figure}");
        // A value that nobody knows is `U`.
        let known = values.strip_prefix("U;").unwrap_or(values);
        assert!(known.split(';').all(|v| v.chars().all(|c| c.is_ascii_digit())), "{figure}");
    }
    (said.to_owned(), figures.to_owned())
}

/// A dispatcher did something just now.
pub fn ticks(b: &TestBoard) {
    b.sql(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000001', 'promoted', '{}', unixepoch())",
    );
}

/// A task about which a person is asked.
pub fn stop(b: &TestBoard, id: &str) {
    b.add(id, "blocked");
    let at = now() - 60;
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', 'blocked', '{{\"reason\":\"which one?\",\"kind\":\"needs_input\"}}', {at})"
    ));
}

#[test]
fn what_is_well_is_one_line_and_nothing_is_written() {
    let b = watched();
    b.add("t_00000001", "ready");
    ticks(&b);
    let (said, figures) = says(check(&b, &[]), "OK", 0);
    assert_eq!(said, "1 board, 1 open task, nothing needs a person");
    assert_eq!(
        figures,
        "needs_person=0;0;;0 overdue=0;;0;0 wedged=0;;0;0 paused=0;0;;0 open=1;;;0 boards=1;;;0"
    );
    unchanged(&b, "check", || drop(check(&b, &["--json"]).ok()));
}

#[test]
fn work_for_a_person_is_a_warning_and_more_of_it_is_critical() {
    let b = watched();
    stop(&b, "t_00000001");
    let (said, figures) = says(check(&b, &[]), "WARNING", 1);
    assert_eq!(said, "1 task needs a person (t_00000001)");
    assert!(figures.starts_with("needs_person=1;0;;0 "), "{figures}");
    let (said, _) = says(check(&b, &["-w", "1"]), "OK", 0);
    assert_eq!(said, "1 board, 1 open task, 1 task needs a person (t_00000001)");
    stop(&b, "t_00000002");
    let (_, figures) = says(check(&b, &["-w", "0", "-c", "1"]), "CRITICAL", 2);
    assert!(figures.starts_with("needs_person=2;0;1;0 "), "{figures}");
    let whole: Value = serde_json::from_str(&check(&b, &["--json"]).out).unwrap();
    assert_eq!((&whole["state"], &whole["exit"]), (&"WARNING".into(), &1.into()));
    assert_eq!(whole["needs_person"], serde_json::json!(["t_00000001", "t_00000002"]));
}

#[test]
fn what_is_marked_and_stands_still_needs_a_person() {
    let b = watched();
    let (dead, lives, gave_up, triage) = ("t_00000001", "t_00000002", "t_00000003", "t_00000004");
    let mut run = 0;
    for (id, status) in [(dead, "ready"), (lives, "ready"), (gave_up, "blocked"), (triage, "triage")] {
        b.add(id, status);
        run = if status == "ready" { b.run_it(id, Some(dead_pid()), 3_600) } else { run };
    }
    let living = worker(lives, run);
    b.sql(&format!(
        "UPDATE tasks SET worker_pid = {} WHERE id = '{lives}';
         UPDATE tasks SET consecutive_failures = 2 WHERE id = '{gave_up}';
         INSERT INTO task_events (task_id, kind, payload, created_at)
             VALUES ('{gave_up}', 'gave_up', '{{\"error\":\"pid 7 not alive\"}}', unixepoch() - 9000);
         UPDATE tasks SET body = 'x' || char(10) || 'watchbill: no-heal'",
        living.pid()
    ));
    b.sql("UPDATE tasks SET created_at = unixepoch() - 9000; UPDATE task_events SET created_at = unixepoch() - 9000");
    let json: Value = serde_json::from_str(&check(&b, &["--json"]).out).unwrap();
    let named: BTreeSet<&str> =
        json["needs_person"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
    assert_eq!(named, BTreeSet::from([dead, gave_up, triage]), "{json}");
    let status = tools::run(&b, &["status"]).out;
    let mark = "it is marked `watchbill: no-heal`, so the watchers skip it";
    for says in ["running, and its worker is gone; ", "blocked for 2h 30m; "] {
        assert!(status.contains(&format!("{says}{mark}")), "{status}");
    }
    assert!(status.contains("'watchbill: heal'") && status.contains("nobody specifies it"), "{status}");
}

#[test]
fn work_that_nobody_starts_is_critical_and_no_page_is_green() {
    let b = watched();
    b.add("t_00000001", "ready");
    let (said, _) = says(check(&b, &[]), "CRITICAL", 2);
    assert!(said.contains("1 ready task waits: no dispatcher holds its lock"), "{said}");
    let page = b.path().join("report.html");
    tools::run(&b, &["report", "--html", page.to_str().unwrap()]).ok();
    let page = fs::read_to_string(page).unwrap();
    assert!(
        !page.contains("Nothing needs you") && page.contains("<h1 class=\"bad\">1 thing needs you</h1>"),
        "{page}"
    );
    assert!(page.contains("1 ready task waits: no dispatcher holds its lock"), "{page}");
    ticks(&b);
    says(check(&b, &[]), "OK", 0);
}

#[test]
fn a_dispatcher_that_cron_starts_is_not_missed_between_two_ticks() {
    let b = watched();
    b.add("t_00000001", "ready");
    b.add("t_00000002", "done");
    let now = now();
    b.sql(&format!("UPDATE tasks SET created_at = {} WHERE id = 't_00000001'", now - 800));
    let starts = |gaps: &[i64]| {
        for ago in gaps {
            let at = now - ago;
            b.sql(&format!(
                "INSERT INTO task_runs (task_id, status, outcome, started_at, ended_at) VALUES ('t_00000002', 'done', 'completed', {at}, {at} + 9);
                 INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000002', 'claimed', '{{}}', {at})"
            ));
        }
    };
    starts(&[840]);
    says(check(&b, &[]), "CRITICAL", 2);
    starts(&[1_740, 2_640]);
    says(check(&b, &[]), "OK", 0);
}

#[test]
fn tasks_whose_key_was_refused_are_told_as_one_cause() {
    let b = watched();
    let hold = "{\"by\":\"route-blocked\",\"cause\":\"credential\",\"watchbill\":{\"v\":1,\"pass\":\"p\",\"case\":\"provider-hold\",
        \"cause\":\"credential\",\"because\":\"waits\",\"hold\":{\"owner\":\"route-blocked\",\"cause\":\"credential\",
        \"key\":\"provider:moon\",\"since\":SINCE,\"next\":UNTIL,\"until\":UNTIL}}}";
    let hold =
        hold.replace("SINCE", &(now() - 60).to_string()).replace("UNTIL", &(now() + 3_600).to_string());
    for id in ["t_00000001", "t_00000002"] {
        b.add(id, "scheduled");
        let at = now() - 60;
        b.sql(&format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', 'scheduled', '{hold}', {at})"
        ));
    }
    let (said, figures) = says(check(&b, &[]), "WARNING", 1);
    assert!(
        said.starts_with("2 tasks need a person (luna: its key was refused, or there was none; 2 tasks"),
        "{said}"
    );
    assert!(figures.starts_with("needs_person=2;"), "{figures}");
    let told = tools::run(&b, &["report"]).ok();
    assert_eq!(told.matches("its key was refused").count(), 1, "{told}");
    let each = "hermes kanban reassign \"$id\" PROFILE && hermes kanban unblock \"$id\"";
    assert!(told.contains(&format!("$ for id in t_00000001 t_00000002; do {each}; done")), "{told}");
}

/// Puts a fresh, empty board in the place of this one; gives what was there.
fn replace(b: &TestBoard) -> Vec<u8> {
    let (before, kind) = (b.path().join("before.db"), b.value("PRAGMA application_id"));
    b.open().execute("VACUUM INTO ?1", [before.to_str().unwrap()]).unwrap();
    put(b, None);
    b.hand(&["init", b.db.to_str().unwrap()]).ok();
    b.sql(&format!("PRAGMA application_id = {kind}"));
    fs::read(before).unwrap()
}

/// Puts a file in the place of the board, or takes that away.
fn put(b: &TestBoard, file: Option<&[u8]>) {
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", b.db.display()));
    }
    if let Some(bytes) = file {
        fs::write(&b.db, bytes).unwrap();
    }
}

#[test]
fn a_board_in_whose_place_an_empty_one_lies_needs_a_person_until_that_is_meant() {
    for mut b in [watched(), own()] {
        b.add("t_00000001", "todo");
        b.add("t_00000002", "todo");
        let db = b.db.to_str().unwrap().to_owned();
        b.config.push_str(&format!("[board]\ndb = \"{db}\"\n"));
        let heal = || {
            ran(b.command("heal").arg("--metrics").arg(b.path().join("state/watchbill/metrics/heal.prom")))
        };
        heal().ok();
        says(check(&b, &[]), "OK", 0);
        let old = replace(&b);
        // Before a pass, in each pass, and after it.
        for first in [true, false] {
            let (said, _) = says(check(&b, &[]), "CRITICAL", 2);
            assert!(said.contains("another board than passes saw here"), "{said}");
            let passed = heal();
            assert_eq!(
                (passed.code, passed.err.contains("another board than passes saw here")),
                (0, first),
                "{passed:?}"
            );
        }
        let status = tools::run(&b, &["status"]).ok();
        let meant = format!("watchbill forget --db {db}");
        assert!(status.matches("another board than").count() == 1 && status.contains(&meant), "{status}");
        let report = tools::run(&b, &["report", "-v"]).ok();
        assert!(report.contains("another board than passes saw here"), "{report}");
        // As new work makes it look.
        b.add("t_00000003", "todo");
        heal().ok();
        says(check(&b, &[]), "CRITICAL", 2);
        b.sql("PRAGMA wal_checkpoint(TRUNCATE)");
        let new = fs::read(&b.db).unwrap();
        // The old one is back.
        put(&b, Some(&old));
        says(check(&b, &[]), "OK", 0);
        heal().ok();
        // Or a person says that the other one is meant.
        put(&b, Some(&new));
        says(check(&b, &[]), "CRITICAL", 2);
        let all = tools::run(&b, &["forget"]);
        let said = "watchbill forget: no board is named; name the board with --board or --db\n";
        assert_eq!((all.code, all.err.as_str()), (2, said), "not of every board at once");
        let forgotten = tools::run(&b, &["forget", "--db", &db, "--json"]).json();
        assert_eq!(forgotten["boards"][0]["forgotten"], true, "{forgotten:#}");
        let again = tools::run(&b, &["forget", "--db", &db]).ok();
        assert!(again.contains("nothing is remembered of it"), "{again}");
        let typed = tools::run(&b, &["forget", "--db", &format!("{db}x"), "--json"]);
        let one: serde_json::Value = serde_json::from_str(&typed.out).unwrap();
        assert!(typed.code == 66 && one["boards"][0]["error"].is_string(), "{typed:?}");
        says(check(&b, &[]), "OK", 0);
        heal().ok();
        says(check(&b, &[]), "OK", 0);
    }
}

/// The same with a board of `board init`.
fn own() -> TestBoard {
    let b = watched();
    b.sql("PRAGMA application_id = 1463961932");
    b
}

#[test]
fn boards_that_passes_looked_at_and_that_are_gone_need_a_person_until_that_is_meant() {
    let mut b = watched();
    let own = b.path().join("own/own.db");
    ran(b.command("board").arg("init").arg(&own)).ok();
    b.config.push_str(&format!("[board]\ndb = \"{}\"\n", own.display()));
    let root = b.path().join("root");
    let boards = root.join("kanban/boards");
    fs::create_dir_all(boards.join("alpha")).unwrap();
    b.add("t_00000001", "todo");
    b.add("t_00000002", "todo");
    for db in [root.join("kanban.db"), boards.join("alpha/kanban.db")] {
        b.open().execute("VACUUM INTO ?1", [db.to_str().unwrap()]).unwrap();
    }
    let at = |args: &[&str]| {
        let mut command = tools::watchbill(&b, args);
        ran(command.env("HERMES_HOME", &root))
    };
    let names = ["heal", "synthesize-distress", "route-blocked"];
    let pass = || {
        let one = |name: &str| {
            at(&[
                name,
                "--metrics",
                b.path().join(format!("state/watchbill/metrics/{name}.prom")).to_str().unwrap(),
            ])
        };
        names.map(|name| one(name).code)
    };
    assert_eq!(pass(), [0; 3]);
    let (said, _) = says(at(&["check"]), "OK", 0);
    assert!(said.starts_with("3 boards"), "{said}");

    // An empty folder of boards, then an empty root, then none.
    fs::rename(&boards, b.path().join("boards")).unwrap();
    fs::create_dir(&boards).unwrap();
    let lost = |gone: &[&str], advice: &str| {
        assert_eq!(pass(), [1; 3], "{gone:?}");
        let ran = at(&["check"]);
        assert_eq!(ran.code, 3, "{ran:?}");
        let status = at(&["status"]);
        let report = at(&["report"]);
        let doctor = at(&["doctor"]);
        assert!((status.code, report.code, doctor.code) == (1, 1, 1), "{status:?} {report:?}");
        for board in gone {
            assert!(ran.out.contains(board), "{board}: {ran:?}");
            assert!(
                status.out.contains(&format!("{board}: ")) && status.out.contains("no such board"),
                "{status:?}"
            );
            assert!(doctor.out.contains(advice), "{doctor:?}");
        }
    };
    let forget = "watchbill forget --db";
    lost(&["alpha"], forget);
    let away = b.path().join("away");
    fs::rename(&root, &away).unwrap();
    lost(&["default", "alpha"], forget);
    fs::create_dir(&root).unwrap();
    lost(&["default", "alpha"], forget);
    fs::remove_dir(&root).unwrap();
    for board in ["default", "alpha"] {
        at(&["forget", "--board", board]).ok();
    }
    // No board is remembered there any more: the missing root itself is reported.
    lost(&["root"], "where Hermes is gone on purpose, name no root (HERMES_HOME, ");
    let typed = at(&["forget", "--board", "alpha"]);
    assert!(
        typed.out.contains("alpha: nothing is remembered of it") && typed.err.contains("no such board"),
        "{typed:?}"
    );
    assert_eq!(typed.code, 66, "{typed:?}");
    ran(tools::watchbill(&b, &["heal"]).env_remove("HERMES_HOME")).ok();
    fs::rename(&away, &root).unwrap();
    assert_eq!(pass(), [0; 3]);
    let (said, _) = says(at(&["check"]), "OK", 0);
    assert!(said.starts_with("2 boards"), "{said}");
    fs::remove_dir(&boards).unwrap();
    fs::rename(b.path().join("boards"), &boards).unwrap();
    assert_eq!(pass(), [0; 3]);
    // What Hermes moved to its archive is meant.
    fs::create_dir(boards.join("_archived")).unwrap();
    fs::rename(boards.join("alpha"), boards.join("_archived/alpha-1795705200")).unwrap();
    assert_eq!(pass(), [0; 3]);
    says(at(&["check"]), "OK", 0);
}

#[test]
fn an_unknown_worker_has_time_for_a_sign_of_life_after_the_machine_woke_up() {
    let b = watched();
    b.add("t_00000001", "ready");
    b.run_it("t_00000001", Some(12), 30_000);
    b.sql("UPDATE tasks SET claim_lock = 'box7:12', claim_expires = started_at + 900");
    b.sql("UPDATE task_runs SET claim_lock = 'box7:12', claim_expires = started_at + 900");
    b.heal(&[]).ok();
    let silent = || says(check(&b, &[]), "WARNING", 1).0;
    assert!(silent().contains("t_00000001"), "no pass saw it sleep");
    b.slept(28_800);
    says(check(&b, &[]), "OK", 0);
    let seen = b.heal(&["-n", "-v", "--json"]).json();
    assert!(seen["boards"][0]["seen"]["steady_since"].is_string(), "{seen:#}");
    b.heal(&[]).ok();
    says(check(&b, &[]), "OK", 0);
    b.is_awake_for(900);
    assert!(silent().contains("t_00000001"));
}

// Timers may name one board alone.
#[test]
fn a_board_that_the_passes_go_by_is_critical() {
    let (b, other) = (watched(), TestBoard::new());
    let check_other = || check(&b, &["--db", other.db.to_str().unwrap()]);
    let gone_by = "no pass of heal, synthesize-distress, route-blocked has looked at this board: what starts them (crontab) names others";
    assert!(!check_other().out.contains(gone_by), "it has no work");
    other.add("t_00000001", "blocked");
    other.sql(&format!("UPDATE tasks SET created_at = {}", now() - 60));
    let (said, _) = says(check_other(), "CRITICAL", 2);
    assert!(said.contains(gone_by), "{said}");
    let told = tools::run(&b, &["status", "--db", other.db.to_str().unwrap()]).ok();
    assert!(told.contains(gone_by) && told.contains("let the timers name this board too"), "{told}");
    // A round for each board, with the same files.
    for name in shared::base::registry::NAMES.iter().copied() {
        let file = b.path().join(format!("state/watchbill/metrics/{name}.prom"));
        ran(b.command(name).arg("--db").arg(&other.db).arg("--metrics").arg(file)).ok();
    }
    b.add("t_00000002", "blocked");
    for said in [check_other().out, check(&b, &[]).out] {
        assert!(!said.contains("no pass of"), "{said}");
    }
}

#[test]
fn watchers_that_do_not_come_are_critical() {
    let b = watched();
    let later = (now() + 430).to_string();
    let (said, figures) = says(check(&b, &["--now", &later]), "CRITICAL", 2);
    assert!(said.starts_with("heal, synthesize-distress, route-blocked: last pass 7m ago"), "{said}");
    assert!(figures.contains(" overdue=3;"), "{figures}");
    // The lines are in the crontab, and no cron runs them.
    let status = |args: &[&str]| tools::run(&b, &[&["timers", "status"], args].concat());
    let late = status(&["--now", &later]);
    assert_eq!((late.code, late.out.matches("(overdue)").count()), (1, 3), "{late:?}");
    assert_eq!(status(&[]).code, 0);
    fs::remove_file(b.path().join("crontab")).unwrap();
    let (said, _) = says(check(&b, &[]), "CRITICAL", 2);
    assert!(
        said.starts_with("heal, synthesize-distress, route-blocked: not scheduled, held tasks stay held"),
        "{said}"
    );
    assert!(!said.contains("budget-check"), "a page that nobody makes wakes nobody: {said}");
}

#[test]
fn a_wedged_dispatcher_is_critical_and_a_pause_a_warning() {
    let b = watched();
    tools::run(&b, &["pause", "--reason", "moved | away"]).ok();
    let (said, figures) = says(check(&b, &[]), "WARNING", 1);
    assert!(said.contains("default: paused") && said.contains("moved / away"), "{said}");
    assert!(figures.contains(" paused=1;"), "{figures}");
    tools::run(&b, &["unpause"]).ok();
    let tick = fs::File::create(b.path().join("kanban.db.dispatch.lock")).unwrap();
    flock(&tick, FlockOperation::LockExclusive).unwrap();
    b.heal(&["--db", b.db.to_str().unwrap(), "--now", &(now() - 310).to_string()]).ok();
    let (said, figures) = says(check(&b, &[]), "CRITICAL", 2);
    assert!(said.contains("has held") && figures.contains(" wedged=1;"), "{said} {figures}");
}

#[test]
fn what_cannot_be_known_is_unknown() {
    let mut b = watched();
    let (said, figures) = says(check(&b, &["--db", "/no/such.db"]), "UNKNOWN", 3);
    assert!(said.contains("no such board"), "{said}");
    assert_eq!(
        figures,
        "needs_person=U;0;;0 overdue=0;;0;0 wedged=U;;0;0 paused=U;0;;0 open=U;;;0 boards=1;;;0"
    );
    let told = check(&b, &["--db", "/no/such.db", "--json"]).out;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    for key in ["open", "needs_person", "wedged", "paused"] {
        assert!(told[key].is_null(), "{told:#}");
    }
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = tools::watchbill(&b, &["check"]);
    let (said, _) = says(ran(command.env("HERMES_HOME", nowhere.path())), "UNKNOWN", 3);
    assert!(said.contains("no board found"), "{said}");
    let wrong = check(&b, &["-w", "a|b"]);
    assert_eq!(wrong.code, 3, "not 2, which would be critical");
    assert_eq!(
        wrong.out,
        "WATCHBILL UNKNOWN - invalid value 'a/b' for '--warning <N>': invalid digit found in string\n"
    );
    assert!(wrong.err.contains("error: invalid value 'a|b'"), "{wrong:?}");
    assert_eq!(check(&b, &["--nonsense", "--json"]).out, "", "that is no JSON");
    // More stands still than is looked at closely: what a person scheduled needs nobody, and among the rest may be what needs one.
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001)
        INSERT INTO tasks (id, title, assignee, status, created_at)
          SELECT printf('t_%08x', i), 'Wait', 'luna', 'scheduled', unixepoch() FROM n";
    let crowded = watched();
    crowded.sql(many);
    says(check(&crowded, &[]), "OK", 0);
    crowded.sql("UPDATE tasks SET status = 'blocked'");
    let (said, _) = says(check(&crowded, &[]), "UNKNOWN", 3);
    assert!(said.contains("default: 1 more task was not looked at: at most 1000 of a board are"), "{said}");
    // What was done in the night pushes nothing open out of sight.
    let busy = watched();
    busy.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001)
        INSERT INTO tasks (id, title, assignee, status, created_at)
          SELECT printf('t_%08x', i), 'Done', 'luna', 'done', unixepoch() FROM n;
        INSERT INTO task_events (task_id, kind, payload, created_at)
          SELECT id, 'reclaimed', '{\"by\":\"heal\"}', unixepoch() FROM tasks",
    );
    stop(&busy, "t_ffffffff");
    let (said, _) = says(check(&busy, &[]), "WARNING", 1);
    assert!(said.contains("t_ffffffff"), "{said}");
    // What is known to be bad goes first.
    fs::remove_file(b.path().join("crontab")).unwrap();
    says(check(&b, &["--db", "/no/such.db"]), "CRITICAL", 2);
    b.config = "nonsense".into();
    says(check(&b, &[]), "UNKNOWN", 3);
}

#[test]
fn what_of_hermes_cannot_be_read_is_unknown() {
    let b = watched();
    b.add("t_00000001", "todo");
    says(check(&b, &[]), "OK", 0);
    let unseen = |said: &str, place: &str| {
        let (line, _) = says(check(&b, &[]), "UNKNOWN", 3);
        assert!(line.contains(said) && line.matches(place).count() == 1, "{line}");
        for program in ["status", "report"] {
            let ran = tools::run(&b, &[program]);
            let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
            let asks = ran.out.lines().filter(|l| l.starts_with("? ")).count();
            assert!(ran.code == 1 && asks == 1 && text.contains(said), "{ran:?}");
        }
    };
    // No right keeps root out of a folder.
    fs::write(b.path().join("profiles"), "").unwrap();
    unseen("/profiles cannot be read: Not a directory", "/profiles");
    fs::remove_file(b.path().join("profiles")).unwrap();
    fs::write(b.path().join("config.yaml"), "kanban: [\n").unwrap();
    unseen("/config.yaml cannot be read: line 2 is not valid YAML", "/config.yaml");
    fs::remove_file(b.path().join("config.yaml")).unwrap();
    // A dead worker, whose log may say why it died.
    b.add("t_00000002", "ready");
    b.run_it("t_00000002", Some(dead_pid()), 900);
    let log = b.path().join("kanban/logs/t_00000002.log");
    fs::create_dir(&log).unwrap();
    unseen("t_00000002", "its log cannot be read");
    fs::remove_dir(&log).unwrap();
    fs::create_dir_all(b.path().join("profiles/luna/logs/agent.log")).unwrap();
    unseen("t_00000002", "its log cannot be read: the log of its profile");
    fs::remove_dir_all(b.path().join("profiles")).unwrap();
    fs::remove_dir(b.path().join("kanban/logs")).unwrap();
    fs::write(b.path().join("kanban/logs"), "").unwrap();
    unseen("t_00000002", "its log cannot be read");
}

/// What `report` says needs you, and what `check` says needs a person.
fn both(b: &TestBoard) -> (BTreeSet<String>, BTreeSet<String>) {
    let ids = |all: &[Value]| all.iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    let report: Value = tools::run(b, &["report", "--json"]).json();
    let told: Vec<Value> =
        report["boards"][0]["needs_you"].as_array().unwrap().iter().map(|e| e["task"].clone()).collect();
    let whole: Value = serde_json::from_str(&check(b, &["--json"]).out).unwrap();
    (ids(&told), ids(whole["needs_person"].as_array().unwrap()))
}

#[test]
fn what_needs_a_person_is_what_the_report_says_needs_you() {
    let empty = watched();
    // What the watchers find to do, and what they skip; before and after their passes.
    let cases = watched();
    let (_, _kept) = every_case(&cases);
    let after = watched();
    let (_, _kept) = every_case(&after);
    for program in ["heal", "synthesize-distress", "route-blocked"] {
        let _ = ran(&mut after.command(program));
    }
    // Ready for nobody, blocked by hand with and without a question, and looped into triage.
    let stuck = watched();
    stuck.add("t_00000001", "ready");
    stuck.sql("UPDATE tasks SET assignee = NULL");
    stop(&stuck, "t_00000002");
    stuck.add("t_00000003", "blocked");
    stuck.add("t_00000004", "triage");
    let at = now() - 60;
    stuck.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000003', 'blocked', '{{}}', {at}),
           ('t_00000004', 'block_loop_detected', '{{}}', {at})"
    ));
    // A task that heal gave to a person.
    let work = Work::new(&silent(7_200));
    assert!(work.board.heal(&[]).ok().contains("tell: Stalled"));
    let given = work.board;
    // Ready work under a dispatcher that sits in its lock.
    let wedged = watched();
    wedged.add("t_00000001", "ready");
    wedged.run_it("t_00000001", Some(dead_pid()), 900);
    wedged.heal(&[]).ok();
    let tick = fs::File::create(wedged.path().join("kanban.db.dispatch.lock")).unwrap();
    flock(&tick, FlockOperation::LockExclusive).unwrap();
    wedged.heal(&["--db", wedged.db.to_str().unwrap(), "--now", &(now() - 310).to_string()]).ok();
    let mut sizes = Vec::new();
    for b in [empty, cases, after, stuck, given, wedged] {
        let (report, check) = both(&b);
        assert_eq!(check, report, "{}", b.dump());
        // It has no opinion of its own.
        let measured = ran(&mut b.command("budget-check")).out;
        assert!(!measured.contains("person"), "{measured}");
        sizes.push(check.len());
    }
    assert!(sizes[0] == 0 && sizes.iter().filter(|n| **n > 0).count() >= 3, "{sizes:?}");
}

/// What is known to be bad is told, whatever could not be looked at.
#[test]
fn a_board_that_is_not_there_hides_nothing_that_is_known() {
    let b = TestBoard::new();
    let empty = b.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let (said, _) = says(check(&b, &["--hermes-root", empty.to_str().unwrap()]), "CRITICAL", 2);
    // What is behind the rest comes first.
    assert!(said.starts_with(&format!("{}: no board found", empty.display())), "{said}");
    assert!(said.contains("route-blocked: not scheduled"), "{said}");
}

/// Each board has three files open while it is looked at.
#[test]
fn as_many_boards_are_looked_at_as_there_are() {
    let b = TestBoard::new();
    for n in 0..40 {
        let folder = b.path().join(format!("kanban/boards/b{n:02}"));
        fs::create_dir_all(&folder).unwrap();
        fs::copy(&b.db, folder.join("kanban.db")).unwrap();
    }
    let page = b.path().join("page.html");
    let page = page.to_str().unwrap();
    for words in [&["check"][..], &["status"], &["report", "-v"], &["page", page]] {
        let ran = limited(&b, "-n 48", "watchbill", words);
        assert!(!format!("{ran:?}").contains("open files"), "{ran:?}");
        assert!(words != ["check"] || ran.out.contains(" boards=41;"), "{ran:?}");
    }
}
