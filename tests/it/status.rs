//! `watchbill status`: one screen of what needs a person, the same as `check` and `report` count.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::check::{stop, ticks, watched};
use crate::dry::unchanged;
use crate::route::{FLEET, REFUSED_KEY};
use crate::support::{Ran, TestBoard, dead_pid, now, ran, settled};
use crate::terminal;
use crate::tools;

/// How a provider says that the money is used up.
const NO_QUOTA: &str = "❌ Non-retryable error (HTTP 402): HTTP 402: Insufficient credits";

fn status(b: &TestBoard, args: &[&str]) -> Ran {
    tools::run(b, &[&["status"], args].concat())
}

fn tasks(all: &Value) -> BTreeSet<String> {
    let needs = all["needs"].as_array().unwrap().iter();
    let tasks = needs.flat_map(|need| need["tasks"].as_array().unwrap());
    tasks.map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn where_nothing_needs_a_person_it_is_one_line_and_nothing_is_written() {
    let b = watched();
    b.add("t_00000001", "ready");
    ticks(&b);
    let said = status(&b, &[]).ok();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(": nothing needs you; 1 ready"), "{said}");
    assert!(!said.contains('\u{1b}'), "colours go to terminals only: {said}");
    unchanged(&b, "status", || drop(status(&b, &["--json"]).ok()));
    assert_eq!(status(&b, &["--quiet"]).ok(), "");
}

#[test]
fn what_stops_everything_comes_first_each_with_what_to_do() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    b.sql(&format!("UPDATE tasks SET created_at = {}", now() - 7_200));
    stop(&b, "t_00000002");
    let said = status(&b, &[]).ok();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains(": 3 things need you; 1 ready"), "{said}");
    assert!(
        lines[1].starts_with("! heal, ") && lines[1].contains(": not scheduled, held tasks stay held"),
        "{said}"
    );
    assert_eq!(lines[2], "    do: watchbill timers install");
    assert!(lines[3].contains("1 ready task waits"), "{said}");
    assert!(lines[4].contains("it worked if ready tasks run"), "{said}");
    assert_eq!(lines[5], "    $ hermes gateway run", "{said}");
    assert!(lines[6].starts_with("! t_00000002 ") && lines[6].contains("which one?"), "{said}");
    assert!(lines[7].starts_with("    $ ") && lines[7].contains(" t_00000002"), "{said}");
    assert_eq!(lines.len(), 8, "{said}");
}

/// Once its provider may be tried again, a dispatcher starts it like any other ready task.
#[test]
fn a_limited_task_that_only_lacks_a_dispatcher_is_told_with_the_others() {
    let b = watched();
    b.add("t_00000001", "ready");
    let at = now() - 7_200;
    b.sql(&format!(
        "UPDATE tasks SET created_at = {at} - 600, last_failure_error = 'pid 7 exited rate-limited (quota wall)';
         INSERT INTO task_runs (task_id, profile, status, outcome, started_at, ended_at)
           VALUES ('t_00000001', 'luna', 'rate_limited', 'rate_limited', {at} - 60, {at});
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES
           ('t_00000001', last_insert_rowid(), 'claimed', '{{}}', {at} - 60),
           ('t_00000001', last_insert_rowid(), 'rate_limited', '{{}}', {at})"
    ));
    let said = status(&b, &["--json"]).json();
    let causes = said["needs"].as_array().unwrap().iter().map(|need| need["cause"].as_str().unwrap());
    assert_eq!(causes.collect::<Vec<_>>(), ["dispatcher-absent"], "{said:#}");
    assert!(said["needs"][0]["says"].as_str().unwrap().contains("1 ready task waits"), "{said:#}");
}

#[test]
fn a_board_that_is_busy_is_named_at_once() {
    let mut b = watched();
    b.add("t_00000001", "todo");
    b.config += "\n[board]\nbusy_timeout = \"1s\"\n";
    let other = rusqlite::Connection::open(&b.db).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let said = tools::run(&b, &["status"]);
    assert!(said.out.contains("! ") && said.out.contains("busy: another process is writing"), "{said:?}");
    let checked = tools::run(&b, &["check"]);
    assert!(checked.code != 0 && checked.out.contains("busy"), "{checked:?}");
}

#[test]
fn a_name_of_no_board_is_refused_with_the_names_that_there_are() {
    let b = watched();
    let root = b.path();
    for (slug, names) in [("night", "there are default"), ("typo", "there are default, night")] {
        for program in ["status", "report"] {
            let said = tools::run(&b, &[program, "--board", slug]);
            assert_eq!((said.code, said.out.as_str()), (66, ""), "{said:?}");
            let want =
                format!("watchbill {program}: board {slug} of {}: no such board; {names}\n", root.display());
            assert_eq!(said.err, want);
        }
        let made = root.join("kanban/boards").join("night");
        fs::create_dir_all(&made).unwrap();
        fs::copy(&b.db, made.join("kanban.db")).unwrap();
    }
}

#[test]
fn it_counts_what_check_and_report_count() {
    let b = watched();
    ticks(&b);
    for id in ["t_00000001", "t_00000002"] {
        stop(&b, id);
    }
    let here = tasks(&status(&b, &["--json"]).json());
    let checked = tools::run(&b, &["check", "--json"]);
    let checked: Value = serde_json::from_str(&checked.out).unwrap();
    let names = |all: &Value| -> BTreeSet<String> {
        all.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(here, names(&checked["needs_person"]));
    let report = tools::run(&b, &["report", "--json"]).json();
    let listed = report["boards"][0]["needs_you"].as_array().unwrap().iter();
    assert_eq!(here, listed.map(|e| e["task"].as_str().unwrap().to_owned()).collect());
    assert_eq!(here.len(), 2);
}

#[test]
fn what_stands_still_with_nobody_who_goes_on_with_it_is_listed() {
    let b = watched();
    let config = "kanban:\n  review_dispatch: false\n  auto_decompose: false\n  dispatch_profiles: [luna]\n";
    fs::write(b.path().join("config.yaml"), config).unwrap();
    for profile in ["luna", "sol"] {
        fs::create_dir_all(b.path().join("profiles").join(profile)).unwrap();
    }
    for (id, status) in
        [("t_00000011", "review"), ("t_00000012", "triage"), ("t_00000013", "ready"), ("t_00000014", "ready")]
    {
        b.add(id, status);
    }
    b.sql("UPDATE tasks SET assignee = 'sol' WHERE id = 't_00000013'");
    // Claimed on another host, and of which nothing was heard since.
    b.add("t_00000015", "ready");
    b.run_it("t_00000015", Some(12), 90_000);
    b.sql(
        "UPDATE tasks SET claim_lock = 'elsewhere:12', last_heartbeat_at = NULL, claim_expires = unixepoch() - 80000
         WHERE id = 't_00000015'",
    );
    ticks(&b);
    let all = status(&b, &["--json"]).json();
    let of = |id: &str| {
        let needs = all["needs"].as_array().unwrap().iter();
        let it = needs.filter(|need| need["tasks"].as_array().unwrap().iter().any(|task| task["id"] == id));
        it.map(|need| need["says"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join("; ")
    };
    assert!(of("t_00000011").ends_with("in review, and nobody reviews it"), "{all:#}");
    assert!(of("t_00000012").ends_with("in triage, and nobody specifies it"), "{all:#}");
    assert!(of("t_00000013").contains("`kanban.dispatch_profiles` does not list it"), "{all:#}");
    assert_eq!(of("t_00000014"), "", "its dispatcher may start it");
    assert!(of("t_00000015").contains("whether its worker lives is not known"), "{all:#}");
    // Two hours later its dispatcher lives, has nothing to run, and starts it not.
    b.sql("UPDATE tasks SET created_at = created_at - 9000 WHERE id = 't_00000014'; DELETE FROM tasks WHERE id = 't_00000015'");
    b.sql("UPDATE task_events SET created_at = created_at - 9000 WHERE task_id = 't_00000014'");
    let at = settled(7_200);
    b.sql(&format!("UPDATE task_events SET created_at = {at} WHERE kind = 'promoted'"));
    let said = status(&b, &["--now", &at.to_string()]).ok();
    assert!(
        said.contains("! t_00000014 Task t_00000014: ready, and a running dispatcher does not start it"),
        "{said}"
    );
    assert!(said.contains("    $ hermes kanban show t_00000014\n"), "{said}");
}

#[test]
fn what_waits_for_what_never_comes_is_one_need_with_the_command_that_ends_it() {
    for own in [true, false] {
        let b = if own { TestBoard::own() } else { watched() };
        for id in ["t_00000021", "t_00000022", "t_00000023", "t_00000024", "t_00000025"] {
            b.add(id, "todo");
        }
        b.sql(
            "INSERT INTO task_links (parent_id, child_id) VALUES ('t_deadbeef', 't_00000021'), ('t_00000022', 't_00000022'),
             ('t_00000023', 't_00000024'), ('t_00000024', 't_00000023'), ('t_00000024', 't_00000025')",
        );
        // On a board of Hermes its dispatcher takes what is not there for done, and nobody waits for it.
        let mut waiting = vec!["t_00000021", "t_00000022", "t_00000023", "t_00000024"];
        waiting.retain(|id| own || *id != "t_00000021");
        let mut left = waiting.clone();
        let ask = |words: &[&str]| tools::run(&b, &[words, &["--board", "default"]].concat());
        while let Some(first) = left.first().copied() {
            let all = ask(&["status", "--json"]).json();
            let needs: Vec<&Value> =
                all["needs"].as_array().unwrap().iter().filter(|n| n["cause"] == "endless-wait").collect();
            assert_eq!(needs.len(), 1, "{all:#}");
            let named: BTreeSet<String> = tasks(&json!({"needs": needs}));
            assert_eq!(
                named,
                left.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<String>>(),
                "{all:#}"
            );
            let checked: Value = serde_json::from_str(&ask(&["check", "--json"]).out).unwrap();
            let counted = checked["needs_person"].as_array().unwrap();
            assert!(named.iter().all(|id| counted.contains(&json!(id))), "{checked:#}");
            let run = needs[0]["run"].as_str().unwrap().to_owned();
            assert!(run.contains(" unlink ") && run.ends_with(first), "{run}");
            let checked = ask(&["check"]).out;
            assert!(checked.contains(&format!("needs_person={};", left.len())), "{checked}");
            let report = ask(&["report"]).ok();
            assert!(report.contains(&run), "{report}");
            let why = ask(&["why", first]).ok();
            assert!(why.contains("that never happens") && why.contains(&run), "{why}");
            if !own {
                break;
            }
            // What it says can be run, and ends it.
            let mut words = run.split(' ');
            ran(b.command(words.next().unwrap()).args(words)).ok();
            assert_eq!(b.task(first, "status"), "ready");
            left.retain(|id| *id != first && b.task(id, "status") == "todo");
            // One link of a circle is enough.
            left.retain(|id| first != "t_00000023" || *id != "t_00000024");
        }
    }
}

#[test]
fn a_pause_is_said_once() {
    let b = watched();
    tools::run(&b, &["pause", "--reason", "the disk is moved"]).ok();
    let said = status(&b, &[]).ok();
    let line = said.lines().find(|line| line.contains("the disk is moved")).unwrap();
    assert!(line.starts_with("  default: paused") && line.matches("paused").count() == 1, "{said}");
}

#[test]
fn a_board_whose_file_is_lost_is_no_board_that_is_over() {
    let b = watched();
    let folder = b.path().join("kanban/boards/lost");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(&b.db, folder.join("kanban.db")).unwrap();
    fs::write(folder.join("board.json"), "{\"archived\": false}").unwrap();
    assert!(status(&b, &[]).ok().contains(": nothing needs you"));
    fs::remove_file(folder.join("kanban.db")).unwrap();
    let said = status(&b, &[]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("! lost: ") && said.out.contains("no such board"), "{said:?}");
    fs::write(folder.join("board.json"), "{\"archived\": true}").unwrap();
    assert!(status(&b, &[]).ok().contains(": nothing needs you"));
}

#[test]
fn what_could_not_be_looked_at_is_said_and_is_the_exit_code() {
    let b = watched();
    fs::write(&b.db, "no board at all, and long enough to be read as one").unwrap();
    let said = status(&b, &[]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(!said.out.contains("nothing needs you"), "{said:?}");
}

#[test]
fn at_a_terminal_it_is_drawn_again_until_q_is_pressed() {
    let b = watched();
    ticks(&b);
    stop(&b, "t_00000001");
    for keys in ["q", "\u{3}"] {
        let watched = tools::watchbill(&b, &["status", "--watch", "1"]);
        let seen = terminal::typed(&watched, &[keys], "q leaves");
        let said = seen.text;
        assert!(said.contains("\u{1b}[1;31m") && said.contains("need"), "{said}");
        assert!(said.contains("which one?") && said.contains("every 1 s; q leaves"), "{said}");
        assert_eq!((seen.code, seen.is_by_line), (0, false), "{said}");
    }
    let elsewhere = status(&b, &["--watch"]);
    assert_eq!(elsewhere.code, 2, "{elsewhere:?}");
    assert!(elsewhere.err.contains("works at a terminal only"), "{elsewhere:?}");
    assert_eq!(status(&b, &["--watch", "0"]).code, 2);
}

#[test]
fn default_boards_of_two_roots_are_two_boards() {
    let (a, b) = (watched(), TestBoard::new());
    for board in [&a, &b] {
        // As below a root of Hermes.
        fs::create_dir_all(board.path().join("kanban")).unwrap();
        stop(board, "t_00000002");
    }
    let files = [&a, &b].map(|board| board.db.display().to_string());
    let all = status(&a, &["--json", "--db", &files[0], "--db", &files[1]]).json();
    let needs: Vec<&Value> =
        all["needs"].as_array().unwrap().iter().filter(|need| need["cause"] == "task").collect();
    let keys: BTreeSet<&str> = needs.iter().map(|need| need["key"].as_str().unwrap()).collect();
    assert_eq!(keys.len(), 2, "{all}");
    let boards: BTreeSet<&str> = needs.iter().map(|need| need["board"].as_str().unwrap()).collect();
    assert_eq!(boards, files.iter().map(String::as_str).collect());
    // Alone it keeps the name that it had in messages before.
    let one = status(&a, &["--json", "--db", &files[0]]).json();
    let is_told = |need: &Value| need["key"] == "task:default:t_00000002";
    assert!(one["needs"].as_array().unwrap().iter().any(is_told), "{one}");
}

/// The keys of what needs a person.
fn keys(b: &TestBoard, args: &[&str]) -> Vec<String> {
    let all = status(b, &[&["--json"], args].concat()).json();
    let keys = all["needs"].as_array().unwrap().iter().map(|n| n["key"].as_str().unwrap().to_owned());
    keys.collect()
}

#[test]
fn a_refused_key_counts_the_same_everywhere_also_where_no_task_waits_for_it() {
    let mut b = watched();
    b.config.push_str(FLEET);
    ticks(&b);
    b.died_of("t_00000001", REFUSED_KEY);
    b.pass_of("synthesize-distress", 0, &[]).ok();
    let key = "credential:default:luna";
    assert_eq!(keys(&b, &[]), [key]);
    b.sql(
        "UPDATE tasks SET status = 'archived';
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000001', 'archived', '{}', unixepoch())",
    );
    assert_eq!(keys(&b, &[]), [key], "it is one episode");
    let said = status(&b, &[]).ok();
    assert!(said.contains(": 1 thing needs you") && said.contains("! default: the key of luna"), "{said}");
    assert!(said.contains("    do: put a working key into the configuration of luna\n"), "{said}");
    let checked = tools::run(&b, &["check"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(
        checked.out.contains("default: the key of luna") && checked.out.contains("needs_person=0;"),
        "{checked:?}"
    );
    b.config.push_str("[notify.phone]\ncommand = [\"cat\"]\n");
    let told = tools::run(&b, &["notify", "-n"]).ok();
    assert!(told.contains("! default: the key of luna"), "{told}");
    let folder = b.path().join("metrics");
    fs::create_dir_all(&folder).unwrap();
    ran(b.command("watchbill").args(["run", "--metrics"]).arg(&folder)).ok();
    let gauges = fs::read_to_string(folder.join("needs.prom")).unwrap();
    assert!(gauges.contains("watchbill_needs_person_causes{board=\"default\"} 1\n"), "{gauges}");
    // Days do not mend it, also where nothing on the board tells of it any more.
    let later = (now() + 3 * 86_400).to_string();
    let named = |b: &TestBoard| keys(b, &["--now", &later]).iter().filter(|k| *k == key).count();
    b.sql("DELETE FROM task_events; DELETE FROM task_runs");
    assert_eq!(named(&b), 1);
    // A new key is in its place.
    let home = b.path().join("profiles/luna");
    fs::create_dir_all(&home).unwrap();
    assert_eq!(named(&b), 1);
    fs::write(home.join(".env"), "KEY=sk-new").unwrap();
    let written = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::options().append(true).open(home.join(".env")).unwrap().set_modified(written).unwrap();
    assert_eq!(named(&b), 0);
}

#[test]
fn a_row_with_a_wrong_time_is_a_need_as_long_as_doctor_only_warns_of_it() {
    let b = watched();
    b.add("t_00000001", "done");
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, created_at) VALUES ('t_00000001', 'commented', {})",
        now() * 1_000
    ));
    let said = status(&b, &[]).ok();
    assert!(said.contains(": 1 thing needs you") && said.contains("in milliseconds"), "{said}");
    let needs = keys(&b, &[]);
    assert!(needs.len() == 1 && needs[0].starts_with("finding:default:"), "{needs:?}");
    let checked = tools::run(&b, &["check"]);
    assert_eq!((checked.code, checked.out.matches("in milliseconds").count()), (1, 1), "{checked:?}");
}

#[test]
fn an_orchestrator_that_has_no_quota_left_needs_a_person_where_nobody_else_decides() {
    for (later, fallback, want) in
        [(600, "", false), (1_900, "", true), (1_900, "[orchestrator]\nfallbacks = [\"vega\"]\n", false)]
    {
        let mut b = watched();
        b.config.push_str(FLEET);
        b.config.push_str("[profiles.tuesday]\nprovider = \"moon\"\nendpoint = \"https://api.example/v1\"\n");
        b.config.push_str("[profiles.vega]\nprovider = \"vega\"\nendpoint = \"https://vega.example/v1\"\n");
        b.config.push_str(fallback);
        ticks(&b);
        b.died_of("t_00000001", NO_QUOTA);
        b.pass_of("synthesize-distress", 0, &[]).ok();
        b.give_up(
            "t_00000002",
            "Iteration budget exhausted (90/90) - task could not complete within the allowed iterations",
            300,
        );
        b.pass_of("synthesize-distress", 60, &[]).ok();
        let at = (now() + later).to_string();
        let all = keys(&b, &["--now", &at]);
        let is_told = all.iter().any(|key| key.starts_with("no-orchestrator:default:quota:"));
        assert_eq!(is_told, want, "{later} {fallback}: {all:?}");
        let checked = tools::run(&b, &["check", "--json", "--now", &at]);
        let checked: Value = serde_json::from_str(&checked.out).unwrap();
        let needs = checked["needs_person"].as_array().unwrap();
        assert!(!want || needs.contains(&json!("t_00000002")), "{checked}");
    }
}

#[test]
fn a_pause_that_was_forgotten_is_told_with_the_command_that_ends_it() {
    let b = watched();
    ticks(&b);
    b.add("t_00000001", "ready");
    b.run_it("t_00000001", Some(dead_pid()), 30_000);
    tools::run(&b, &["pause", "--reason", "the disk is moved"]).ok();
    let key = "board-paused:default".to_owned();
    assert!(!keys(&b, &[]).contains(&key), "it is a short one");
    let file = b.path().join("watchbill.pause");
    let text = fs::read_to_string(&file).unwrap();
    let since = text.lines().find(|l| l.starts_with("since")).unwrap().to_owned();
    let old = format!("since = {}", now() - 9 * 3_600);
    fs::write(&file, text.replace(&since, &old)).unwrap();
    assert!(keys(&b, &[]).contains(&key), "{}", status(&b, &[]).out);
    let said = status(&b, &[]).out;
    let run = format!("watchbill unpause --db {}", b.db.display());
    assert!(
        said.contains(": the disk is moved; 1 task waits for a pass")
            && said.contains(&format!("    $ {run}\n")),
        "{said}"
    );
    let checked = tools::run(&b, &["check"]).out;
    assert!(checked.contains("1 task needs a person") && checked.contains("needs_person=1;"), "{checked}");
    tools::run(&b, &run.split(' ').skip(1).collect::<Vec<_>>()).ok();
    assert!(!keys(&b, &[]).contains(&key));
}

#[test]
fn a_board_that_is_too_old_for_any_pass_is_told() {
    let b = watched();
    b.add("t_00000001", "ready");
    b.sql("DROP TABLE task_runs");
    assert!(keys(&b, &[]).contains(&"board-too-old:default".to_owned()), "{}", status(&b, &[]).out);
    let checked = tools::run(&b, &["check"]);
    assert!(checked.code >= 2, "{checked:?}");
}
