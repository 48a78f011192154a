//! Ids of any shape: other runtimes write their own into a board. Each task gets its log, its card and its decision as those of
//! Hermes do.

use serde_json::json;

use crate::support::{Ran, TestBoard, now, ran};

/// Ids as trackers make them, and worse ones.
fn ids() -> Vec<String> {
    let plain = [
        "PROJ-12",
        "42",
        "owner/repo#12",
        "a b",
        "größe-7",
        "a/b/../c",
        "../../above",
        "it's",
        ".hidden",
        "tab\tid",
        "%2F",
        "-x",
        "--help",
    ];
    plain.into_iter().map(str::to_owned).chain(["long ".repeat(40) + "end"]).collect()
}

/// A board with one task of this id, whose worker was refused its key and died.
fn refused(id: &str) -> TestBoard {
    let b = TestBoard::own();
    let at = now() - 3_600;
    b.open()
        .execute(
            "INSERT INTO tasks (id, title, assignee, status, created_at) VALUES (?1, 'Count', 'luna', 'ready', ?2)",
            rusqlite::params![id, at],
        )
        .unwrap();
    let script = "echo 'Error: 401 Unauthorized: invalid x-api-key'; exit 1";
    let mut run = b.command("board");
    run.arg("--db").arg(&b.db).args(["run", "--assignee", "luna", "--", "sh", "-c", script]);
    let _ = ran(&mut run);
    for (program, seconds) in [("heal", 60), ("heal", 120), ("synthesize-distress", 150)] {
        pass(&b, program, seconds).ok();
    }
    b
}

/// A pass of a watcher, some seconds from now.
fn pass(b: &TestBoard, program: &str, seconds: i64) -> Ran {
    let at = (now() + seconds).to_string();
    ran(b.command(program).arg("--db").arg(&b.db).args(["--now", &at]))
}

fn card(b: &TestBoard) -> (String, String) {
    let of = |column: &str| b.value(&format!("SELECT {column} FROM tasks WHERE title LIKE '[BLOCKED]%'"));
    (of("id"), of("body"))
}

fn source(b: &TestBoard) -> (String, String) {
    let of = |column: &str| b.value(&format!("SELECT {column} FROM tasks WHERE title = 'Count'"));
    (of("status"), of("assignee"))
}

#[test]
fn each_gets_its_log_and_its_card_whose_commands_work() {
    for id in ids() {
        let b = refused(&id);
        let (_, body) = card(&b);
        assert!(body.contains("Blocker type: credential_failure"), "{id}: {body}");
        assert!(body.contains("401 Unauthorized"), "its own log: {id}: {body}");
        let logs: Vec<_> = std::fs::read_dir(b.path().join("kanban/logs")).unwrap().flatten().collect();
        assert!(logs.len() == 1 && logs[0].path().is_file(), "one log, and in its folder: {id}: {logs:?}");
        if id.contains('\t') {
            continue; // no line of a card can hold it
        }
        let (_, line) = body.split_once("authorises you to run: `").unwrap_or_else(|| panic!("{body}"));
        for command in line.split("`, `").take(2).map(|c| c.split('`').next().unwrap()) {
            let folder = std::path::Path::new(crate::support::program("board")).parent().unwrap();
            let line = command.replace("PROFILE", "nova");
            let mut sh = b.command("heal");
            let environment: Vec<_> =
                sh.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())).collect();
            sh = std::process::Command::new("sh");
            sh.args(["-c", &line]).env_clear().envs(environment);
            sh.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
            ran(&mut sh).ok();
        }
        // It waits for its card to be closed, and for nothing else.
        assert_eq!(source(&b), ("todo".into(), "nova".into()), "{id}");
    }
}

#[test]
fn each_is_decided_about_by_the_name_its_card_shows() {
    for id in ids() {
        let b = refused(&id);
        let (card, body) = card(&b);
        let (_, shown) = body.split_once("- Blocked task: ").unwrap();
        let shown = shown.lines().next().unwrap();
        b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
        let route = json!({"route": {"task": shown, "action": "reassign", "assignee": "nova"}});
        b.hand(&["complete", &card, "--metadata", &route.to_string()]).ok();
        let said = pass(&b, "route-blocked", 180);
        assert_eq!((said.code, source(&b)), (0, ("ready".into(), "nova".into())), "{id}: {said:?}");
        // A second pass right after it changes nothing.
        let before = b.dump();
        for program in ["heal", "synthesize-distress", "route-blocked"] {
            pass(&b, program, 185).ok();
        }
        assert_eq!(b.dump(), before, "{id}");
    }
}

#[test]
fn a_flag_takes_the_beginning_of_an_id_or_words_of_a_title() {
    let b = TestBoard::new();
    b.give_up("t_0000ab01", "pid 4242 not alive", 3_600);
    b.sql("UPDATE tasks SET title = 'Count the lanterns' WHERE id = 't_0000ab01'");
    for typed in ["0000ab", "t_0000ab01", "lanterns"] {
        assert!(b.heal(&["-n", "--task", typed]).ok().contains("t_0000ab01 reset"), "{typed}");
        let packet = b.heal(&["--print-packet", typed, "--json"]).json();
        assert_eq!(packet["task"], "t_0000ab01", "{typed}");
        assert!(b.hand(&["show", typed]).ok().starts_with("t_0000ab01  Count the lanterns"), "{typed}");
    }
    b.add("t_0000ab02", "running");
    assert!(b.heal(&["-n", "--task", "0000ab"]).fails(2).starts_with("heal: --task 0000ab: 2 tasks match: "));
    assert!(
        b.heal(&["--print-packet", "t_0000ab"]).fails(2).contains("--print-packet t_0000ab: 2 tasks match")
    );
    assert!(b.hand(&["show", "t_0000ab"]).fails(1).contains("t_0000ab: 2 tasks match"));
    assert!(
        b.heal(&["-n", "--task", "t_0000ab03"])
            .fails(1)
            .contains("did you mean t_0000ab01 Count the lanterns or")
    );
}
