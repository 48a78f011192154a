//! `watchbill report`: four lists of what happened, silent where nothing did, and nothing written.

use std::fs;

use serde_json::Value;

use crate::support::{Ran, TestBoard, dead_pid, hostname, now, ran, settled};
use crate::tools::{self, CRON};

/// Asks on this board, and holds every row and file of it against what was there before.
#[track_caller]
fn ask(b: &TestBoard, args: &[&str]) -> Ran {
    let (rows, bytes) = (b.dump(), fs::read(&b.db).unwrap());
    let said = ran(tools::watchbill(b, &["report"]).args(args));
    assert_eq!((b.dump(), fs::read(&b.db).unwrap()), (rows, bytes), "looking wrote");
    said
}

/// One task of each list.
pub fn morning() -> TestBoard {
    let b = TestBoard::new();
    // A dead worker's, requeued by the real heal. A longer attempt may be older than the boot, which is another case.
    b.add("t_00000001", "ready");
    b.run_it("t_00000001", Some(dead_pid()), 240);
    // Claimed by a dispatcher that is gone: these tests themselves may or may not be older than the attempt.
    let lock = format!("{}:{}", hostname(), dead_pid());
    b.sql(&format!("UPDATE tasks SET claim_lock = '{lock}'; UPDATE task_runs SET claim_lock = '{lock}'"));
    assert!(b.heal(&[]).ok().contains("t_00000001 requeue"));
    // One that gave up a minute ago waits for its reset.
    b.give_up("t_00000002", "pid 4242 not alive", 60);
    // A worker asks a person.
    b.add("t_00000003", "blocked");
    let at = now() - 600;
    b.sql(&format!(
        "INSERT INTO task_runs (task_id, profile, status, outcome, started_at, ended_at)
           VALUES ('t_00000003', 'luna', 'blocked', 'blocked', {at} - 60, {at});
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
           VALUES ('t_00000003', (SELECT max(id) FROM task_runs), 'blocked',
                   '{{\"reason\":\"which licence <b>?\",\"kind\":\"needs_input\"}}', {at});"
    ));
    // A person said not now, long ago.
    b.add("t_00000004", "scheduled");
    let at = now() - 100_000;
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000004', 'scheduled', '{{}}', {at})"
    ));
    b.sql(&format!("UPDATE task_events SET created_at = {at} WHERE task_id = 't_00000004'"));
    // And one that is well.
    b.add("t_00000005", "ready");
    b
}

fn tasks(all: &Value, list: &str) -> Vec<String> {
    let all = all["boards"][0][list].as_array().unwrap();
    all.iter().map(|e| e["task"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_task_is_in_its_list_and_what_is_well_in_none() {
    let b = morning();
    let all = ask(&b, &["--json"]).json();
    assert_eq!(all["schema"], "watchbill.summary/1");
    for (list, want) in [
        ("healed", "t_00000001"),
        ("waiting", "t_00000002"),
        ("needs_you", "t_00000003"),
        ("left_alone", "t_00000004"),
    ] {
        assert_eq!(tasks(&all, list), [want], "{list}: {all:#}");
    }
    let said = ask(&b, &[]).ok();
    let place = |words: &str| said.find(words).unwrap_or_else(|| panic!("{words}: {said}"));
    assert!(
        place("1 task needs you, 1 waits, 1 ready again, 1 skipped; 0 done, 0 running, 2 ready")
            < place("\nneeds you\n"),
        "{said}"
    );
    assert!(place("\nneeds you\n") < place("which licence <b>?"), "{said}");
    assert!(place("$ hermes kanban comment t_00000003 'YOUR ANSWER'") < place("\nwaiting\n"), "{said}");
    assert!(place("\nready again, not started yet\n") < place("requeued (worker "), "{said}");
    assert!(said.contains("); now ready") && !said.contains("\nhealed\n"), "{said}");
    assert!(said.ends_with("and 1 skipped as before (-v shows them)\n"), "{said}");
    assert!(!said.contains("t_00000004"), "what stood so before is no news: {said}");
    assert!(ask(&b, &["-v"]).ok().contains("t_00000004 "));
    assert_eq!(ask(&b, &["-q"]).ok(), "");
}

#[test]
fn a_quiet_night_is_a_quiet_mail() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    // Nor is it well, where nothing starts a watcher and no pass was made.
    for args in [&[][..], &["-v"]] {
        let said = ask(&b, args).ok();
        let missing = "! heal, synthesize-distress, route-blocked: not scheduled, held tasks stay held\n    do: watchbill timers install\n";
        assert!(said.starts_with(missing) && !said.contains("all is well"), "{said}");
    }
    assert_eq!(ask(&b, &["--json"]).json()["stopped"][0]["cause"], "timers-missing");
    fs::write(b.path().join("crontab"), CRON).unwrap();
    // That nobody dispatches is told once, not of every task; and no more as soon as a dispatcher is seen.
    let said = ask(&b, &["--now", &settled(300).to_string()]).ok();
    assert!(said.ends_with("! no dispatcher is seen, and 1 ready task waits for one\n"), "{said}");
    b.sql(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000001', 'promoted', '{}', unixepoch())",
    );
    assert_eq!(ask(&b, &[]).ok(), "");
    let said = ask(&b, &["-v"]).ok();
    assert!(
        said.starts_with("default since ") && said.contains("(12h): all is well; 0 done, 0 running, 1 ready"),
        "{said}"
    );
    // What was already skipped before does not cause a mail.
    b.add("t_00000002", "scheduled");
    b.sql(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000002', 'scheduled', '{}', unixepoch() - 90000);
         UPDATE task_events SET created_at = unixepoch() - 90000 WHERE task_id = 't_00000002'",
    );
    assert_eq!(ask(&b, &[]).ok(), "");
    assert!(ask(&b, &["--since", "2d"]).ok().contains("scheduled outside Watchbill 1d 1h ago"));
    // Only now the operator must hear of it.
    let wait = ["pause", "--for", "2h", "--reason", "moved"];
    ran(b.command("watchbill").args(wait)).ok();
    assert!(ask(&b, &[]).ok().contains("Nothing is changed on it: paused until "));
    assert!(!b.path().join("state").exists(), "not even a memory of our own");
}

#[test]
fn the_page_is_whole_and_takes_no_words_for_tags() {
    let b = morning();
    let page = b.path().join("report.html");
    ask(&b, &["-q", "--html", page.to_str().unwrap()]).ok();
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"), "{html}");
    assert!(html.contains("which licence &lt;b&gt;?") && !html.contains("licence <b>?"), "{html}");
    for id in ["t_00000001", "t_00000002", "t_00000003", "t_00000004"] {
        assert!(html.contains(&format!("<code>{id}</code>")), "{id}");
    }
    assert!(!html.contains("http://") && !html.contains("<script"), "it needs no network");
    // Only a page is replaced by a page.
    let other = b.path().join("notes.txt");
    fs::write(&other, "mine").unwrap();
    assert!(ask(&b, &["--html", other.to_str().unwrap()]).err.contains("holds something else than a page"));
    assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_told() {
    let b = morning();
    let broken = b.path().join("broken.db");
    fs::write(&broken, "no database").unwrap();
    let (one, two) = (b.db.to_str().unwrap(), broken.to_str().unwrap());
    let said = ask(&b, &["--db", one, "--db", two]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("which licence") && said.err.contains("broken.db"), "{said:?}");
    for (since, why) in
        [("soon", "--since soon"), ("2099-01-01T00:00:00Z", "is not in the past"), ("15M", "counts months")]
    {
        assert!(ask(&b, &["--since", since]).fails(2).contains(why), "{since}");
    }
}
