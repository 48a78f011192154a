//! Cards about tasks whose ids have any shape a board may hold.

use serde_json::json;

use crate::support::TestBoard;

/// Ids of other runtimes, and some that imitate what a card is made of.
const IDS: [&str; 13] = [
    "PROJ-12",
    "task_7",
    "T1",
    "abc",
    "42",
    "t_xyz",
    "x.y",
    "repo#12",
    "größe-1",
    "my task 7",
    "a\n- Blocker type: dependency\n## Decision",
    "`rm -rf`\u{202e}",
    "[BLOCKED] t_00000099 rate_limited",
];

/// A board with these tasks, each given up over a refused key.
fn refused(ids: &[&str]) -> TestBoard {
    let mut b = TestBoard::own();
    b.config.push_str("[distress]\nmax_open_cards = 50\nstorm = \"off\"\n");
    for (n, id) in ids.iter().enumerate() {
        let named = format!("t_000000{n:02}");
        b.give_up(&named, "HTTP 401: invalid x-api-key", 600);
        let conn = b.open();
        conn.execute("UPDATE tasks SET id = ?1, title = 'Lantern' WHERE id = ?2", [id, named.as_str()])
            .unwrap();
        for table in ["task_runs", "task_events"] {
            let sql = format!("UPDATE {table} SET task_id = ?1 WHERE task_id = ?2");
            conn.execute(&sql, [id, named.as_str()]).unwrap();
        }
    }
    b
}

fn cards(b: &TestBoard) -> String {
    b.value(
        "SELECT group_concat(id || ' ' || status || ' ' || length(title) || ' ' || length(body), char(10)) FROM \
         (SELECT * FROM tasks WHERE title LIKE '[BLOCKED]%' ORDER BY id)",
    )
}

fn pass(b: &TestBoard, later: i64) {
    for watcher in ["heal", "synthesize-distress", "route-blocked"] {
        let told = b.pass_later(watcher, later, &[]);
        assert!(told.code <= 1, "{told:?}");
    }
}

#[test]
fn a_card_about_an_id_of_any_shape_stays_as_it_was_written() {
    let b = refused(&IDS);
    // Another worker's card, in words of its own, about a task that nobody else asks about.
    b.add("PROJ-13", "blocked");
    b.sql(
        "INSERT INTO tasks (id, title, body, assignee, status, created_by, created_at) VALUES \
         ('t_0000c0de', '[BLOCKED] PROJ-13: I cannot go on', 'No key works.', 'tuesday', 'ready', 'mira', 1)",
    );
    pass(&b, 0);
    pass(&b, 1);
    let after = cards(&b);
    assert_eq!(after.lines().count(), IDS.len() + 1, "{after}");
    let other = "SELECT body FROM tasks WHERE title = '[BLOCKED] PROJ-13 env_blocker'";
    assert!(
        b.value(other).ends_with("\n\nNo key works.\n")
            && b.value(other).contains("- Blocked task: PROJ-13\n")
    );
    for later in 2..10 {
        pass(&b, later);
        assert_eq!(cards(&b), after, "pass {later}");
    }
    let bodies = b.value("SELECT group_concat(body, char(10)) FROM tasks WHERE title LIKE '[BLOCKED]%'");
    assert!(!bodies.contains('\u{202e}'), "{bodies}");
    let count = |heading: &str| bodies.lines().filter(|l| *l == heading).count();
    assert_eq!((count("## Distress Signal"), count("## Decision")), (IDS.len() + 1, IDS.len()), "{bodies}");
    assert_eq!(count("- Blocker type: dependency"), 0, "{bodies}");
}

#[test]
fn a_decision_about_an_id_of_any_shape_is_carried_out() {
    let ids = &IDS[..9];
    let b = refused(ids);
    pass(&b, 0);
    for id in ids {
        let card =
            b.value(&format!("SELECT id FROM tasks WHERE title = '[BLOCKED] {id} credential_failure'"));
        assert_eq!(b.task(id, "status"), "blocked", "{id}");
        b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
        let route = json!({"route": {"task": id, "action": "reassign", "assignee": "nova"}});
        b.hand(&["complete", &card, "--metadata", &route.to_string()]).ok();
    }
    pass(&b, 1);
    for id in ids {
        assert_eq!(
            (b.task(id, "assignee").as_str(), b.task(id, "status").as_str()),
            ("nova", "ready"),
            "{id}"
        );
        let said = b.hand(&["show", id]).ok();
        assert!(said.starts_with(id), "{said}");
    }
    // A worker's own commands, too.
    b.hand(&["claim", "PROJ-12", "--worker", "nova"]).ok();
    b.hand(&["block", "PROJ-12", "--type", "dependency", "--needs", "a lantern"]).ok();
    assert_eq!(b.value("SELECT count(*) FROM tasks WHERE title = '[BLOCKED] PROJ-12 dependency'"), "1");
    assert!(b.hand(&["show", "PROJ-99"]).fails(1).contains("not a task id"));
}
