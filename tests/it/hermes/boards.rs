//! Which boards there are, and boards of older versions.

use super::home::Home;
use crate::support::{dead_pid, ran};

/// Columns that came after Hermes 0.13; without them a board has the 27 of that time.
const LATER: &str =
    "branch_name model_override session_id goal_mode goal_max_turns project_id block_kind block_recurrences";

#[test]
fn a_board_of_an_old_hermes_is_healed_and_then_migrated() {
    let Some(home) = Home::new() else { return };
    let (dead, leaked) = (home.claimed(&[], Some(dead_pid())), home.claimed(&[], None));
    home.sql(&format!("UPDATE tasks SET status = 'ready' WHERE id = '{leaked}'"));
    home.age(3_600);
    let indexes = home.value(
        "SELECT group_concat('DROP INDEX ' || name, ';') FROM sqlite_master
           WHERE type = 'index' AND tbl_name = 'tasks' AND sql LIKE '%session_id%'",
    );
    let drops: Vec<_> = LATER.split(' ').map(|c| format!("ALTER TABLE tasks DROP COLUMN {c};")).collect();
    home.sql(&format!("{indexes}; {}", drops.concat()));
    let columns = || home.value("SELECT count(*) FROM pragma_table_info('tasks')");
    assert_eq!(columns(), "27");

    let said = home.pass();
    assert!(said.of(&dead).starts_with("requeue dead-worker"), "{}", said.of(&dead));
    assert!(said.of(&leaked).starts_with("release leaked-claim"), "{}", said.of(&leaked));
    assert_eq!(columns(), "27", "the shape of somebody's board is theirs");
    home.accepts(&[&dead, &leaked]);
    assert_eq!(columns(), "35");
    assert_eq!(home.pass().steps(), 0);
}

#[test]
fn all_boards_of_a_root_but_the_archived_ones() {
    let Some(home) = Home::new() else { return };
    let on = |board: &str, args: &[&str]| {
        home.ran(home.run("hermes").args(["kanban", "--board", board]).args(args)).ok()
    };
    let boards = home.path().join("kanban/boards");
    for slug in ["attic", "barn", "cellar"] {
        home.hermes(&["boards", "create", slug]).ok();
        on(slug, &["create", "Sweep", "--assignee", "luna"]);
    }
    let task = home.claimed(&[], Some(dead_pid()));
    // Without a folder there is no tree to be noted first.
    home.sql("UPDATE tasks SET workspace_path = NULL");
    home.age(3_600);
    // Every board is the same broken one.
    for slug in ["attic", "barn", "cellar"] {
        home.sql(&format!("VACUUM INTO '{0}/{slug}/copy'", boards.display()));
        let folder = boards.join(slug);
        std::fs::rename(folder.join("copy"), folder.join("kanban.db")).unwrap();
        for old in ["kanban.db-wal", "kanban.db-shm"] {
            let _ = std::fs::remove_file(folder.join(old));
        }
    }
    home.hermes(&["boards", "rm", "cellar"]).ok();
    let about = boards.join("barn/board.json");
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&about).unwrap()).unwrap();
    json["archived"] = true.into();
    std::fs::write(&about, json.to_string()).unwrap();

    let report = home.heal(&["--json"]).json();
    let healed: Vec<_> =
        report["boards"].as_array().unwrap().iter().map(|b| b["board"].as_str().unwrap()).collect();
    assert_eq!(healed, ["default", "attic"]);
    assert_eq!(home.task(&task, "status"), "ready");
    assert!(on("attic", &["show", &task, "--json"]).contains("\"status\": \"ready\""));
    assert!(on("barn", &["show", &task, "--json"]).contains("\"status\": \"running\""));
}

#[test]
fn commands_name_the_default_board_where_hermes_works_on_another() {
    let Some(home) = Home::new() else { return };
    let asked = home.create(&["--initial-status", "blocked"]);
    let commands = || {
        let said = ran(home.command("watchbill").args(["why", &asked, "--json"])).json();
        let all = said["commands"].as_array().unwrap().iter().map(|c| c["run"].as_str().unwrap().to_owned());
        all.collect::<Vec<_>>()
    };
    let plain = commands();
    assert!(!plain.is_empty() && plain.iter().all(|line| !line.contains("--board")), "{plain:?}");
    home.hermes(&["boards", "create", "work"]).ok();
    home.hermes(&["boards", "switch", "work"]).ok();
    let named = commands();
    let count =
        |text: &str, lines: &[String]| lines.iter().map(|line| line.matches(text).count()).sum::<usize>();
    assert_eq!(count("hermes kanban --board default ", &named), count("hermes kanban ", &plain), "{named:?}");
    assert!(named.iter().all(|line| line.contains("--board default")), "{named:?}");
    home.hermes(&["--board", "default", "unblock", &asked]).ok();
}

#[test]
fn the_environment_names_the_same_board_as_for_hermes() {
    let Some(home) = Home::new() else { return };
    home.hermes(&["boards", "create", "attic"]).ok();
    home.hermes(&["boards", "create", "barn"]).ok();
    home.hermes(&["boards", "switch", "barn"]).ok();
    let root = home.path().to_str().unwrap();
    let elsewhere = format!("{root}/else.db");
    std::fs::copy(&home.db, &elsewhere).unwrap();
    let profile = format!("{root}/profiles/luna");
    let native = format!("{root}/native/.hermes");
    std::fs::create_dir_all(format!("{native}/profiles/nova")).unwrap();
    std::fs::copy(&home.db, format!("{native}/kanban.db")).unwrap();
    let (at_home, deep) = (format!("{root}/native"), format!("{native}/profiles/nova"));

    let cases: &[(&[(&str, &str)], bool)] = &[
        (&[("HERMES_HOME", root)], false),
        (&[("HERMES_HOME", &profile)], false),
        (&[("HERMES_HOME", &profile), ("HERMES_KANBAN_BOARD", "attic")], true),
        (&[("HERMES_HOME", root), ("HERMES_KANBAN_BOARD", " Attic ")], true),
        (&[("HERMES_HOME", root), ("HERMES_KANBAN_BOARD", "default")], true),
        (&[("HERMES_HOME", root), ("HERMES_KANBAN_BOARD", "gone")], false),
        (&[("HERMES_HOME", root), ("HERMES_KANBAN_BOARD", "../up")], false),
        (&[("HERMES_HOME", root), ("HERMES_KANBAN_DB", &elsewhere)], true),
        (&[("HERMES_HOME", root), ("HERMES_KANBAN_DB", &elsewhere), ("HERMES_KANBAN_BOARD", "attic")], true),
        (&[("HOME", root), ("HERMES_KANBAN_DB", "~/else.db")], true),
        (&[("HERMES_HOME", "/nowhere"), ("HERMES_KANBAN_HOME", root)], false),
        (&[("HERMES_HOME", "/nowhere"), ("HOME", root), ("HERMES_KANBAN_HOME", "~/native/.hermes")], false),
        (&[("HERMES_KANBAN_HOME", root), ("HERMES_KANBAN_BOARD", "attic")], true),
        (&[("HOME", &at_home), ("HERMES_HOME", "")], false),
        (&[("HOME", &at_home), ("HERMES_HOME", &deep)], false),
    ];
    for (env, pinned) in cases {
        let code = "from hermes_cli.kanban_db import kanban_db_path; print(kanban_db_path())";
        let theirs = ran(home.run("python").args(["-c", code]).envs(env.iter().copied())).ok();
        let heal = ran(home.command("heal").args(["-n", "--json"]).envs(env.iter().copied())).json();
        let ours: Vec<_> =
            heal["boards"].as_array().unwrap().iter().map(|b| b["path"].as_str().unwrap()).collect();
        assert!(ours.contains(&theirs.trim()), "{env:?}: Hermes {theirs}, we {ours:?}");
        assert!(!pinned || ours.len() == 1, "{env:?}: {ours:?}");
    }
}
