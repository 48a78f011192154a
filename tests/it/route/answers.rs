//! What an orchestrator says on its card, and what comes of it.

use super::*;

/// A task that nobody takes mechanically, its card, and tuesday who has claimed it.
fn asked(line: &str) -> (TestBoard, String) {
    let b = TestBoard::own();
    b.died_of("t_00000001", line);
    b.settled(0).ok();
    let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED] t_00000001 %'");
    b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
    (b, card)
}

fn answer(b: &TestBoard, card: &str, route: &Value) {
    b.hand(&["complete", card, "--metadata", &json!({"route": route}).to_string()]).ok();
}

fn said_on(b: &TestBoard, card: &str) -> String {
    b.value(&format!("SELECT body FROM task_comments WHERE task_id = '{card}' AND author = 'route-blocked'"))
}

#[test]
fn a_decision_is_carried_out_once_and_said_on_its_card() {
    let (b, card) = asked(REFUSED_KEY);
    let tree = b.works_in_a_tree("t_00000001");
    answer(
        &b,
        &card,
        &json!({"task": "t_00000001", "action": "reassign", "assignee": "nova", "reason": "its key works"}),
    );
    let said = b.routed(0).ok();
    assert!(
        said.contains("t_00000001 move: luna to nova: decided on card") && said.contains("its key works"),
        "{said}"
    );
    assert_eq!(b.place("t_00000001"), at("nova", "ready"));
    assert!(said_on(&b, &card).starts_with("Carried out: reassign t_00000001."));
    let after = b.dump();
    assert_eq!(b.routed(1).ok(), "");
    assert_eq!(b.settled(2).ok(), "");
    assert!(b.dump() == after, "rows changed");
    b.takes_its_tree_along("t_00000001", &tree);
}

#[test]
fn a_split_makes_tasks_that_anybody_can_run() {
    let (b, card) = asked(REFUSED_KEY);
    let children = json!([
        {"title": "Count the red lanterns", "body": "In the east wing.", "in_scope": ["red/**"], "max_files": 4},
        {"title": "Count the blue lanterns", "assignee": "nova", "out_of_scope": ["red/**"]},
    ]);
    answer(&b, &card, &json!({"task": "t_00000001", "action": "split", "children": children}));
    b.routed(0).ok();
    assert_eq!(b.task("t_00000001", "status"), "todo");
    let red = b.value("SELECT id FROM tasks WHERE title = 'Count the red lanterns'");
    let blue = b.value("SELECT id FROM tasks WHERE title = 'Count the blue lanterns'");
    // luna's key is refused still: her part waits for that.
    assert_eq!((b.place(&red), b.place(&blue)), (at("luna", "scheduled"), at("nova", "ready")));
    b.hand(&["unblock", &red]).ok();
    let body = b.task(&red, "body");
    assert!(
        body.starts_with("In the east wing.") && body.contains("## Scope") && body.contains("- Max files: 4"),
        "{body}"
    );
    for child in [&red, &blue] {
        b.hand(&["claim", child, "--worker", "x"]).ok();
        assert_eq!(b.task("t_00000001", "status"), "todo");
        b.hand(&["complete", child, "--result", "42"]).ok();
    }
    assert_eq!(b.task("t_00000001", "status"), "ready");
    assert_eq!(b.value("PRAGMA integrity_check"), "ok");
}

#[test]
fn what_is_refused_is_said_on_the_card_and_changes_nothing_else() {
    let own = |action: &str| json!({"task": "t_00000001", "action": action});
    for (route, why) in [
        (json!({"task": "t_00000001", "action": "reassign"}), "needs an assignee"),
        (json!({"task": "t_000000ff", "action": "unblock"}), "not the task of this card"),
        (json!("{\"task\": "), "not valid JSON"),
        (own("explode"), "is not reassign, unblock"),
        (json!([]), "0 decisions"),
    ] {
        let (b, card) = asked(REFUSED_KEY);
        let route = if route["task"] == "t_000000ff" {
            b.add("t_000000ff", "blocked");
            route
        } else {
            route
        };
        answer(&b, &card, &route);
        let others = |b: &TestBoard| {
            b.dump().lines().filter(|l| !l.contains(&card)).map(str::to_owned).collect::<Vec<_>>().join("\n")
        };
        let before = others(&b);
        let said = b.routed(0);
        assert!(said.code == 1 && said.err.contains(why), "{said:?}");
        assert!(said_on(&b, &card).contains(why), "{}", said_on(&b, &card));
        assert!(b.kinds(&card).ends_with("watchbill_decided commented"), "{}", b.kinds(&card));
        assert_eq!(others(&b), before);
        assert_eq!(
            b.count(&format!("task_events WHERE task_id = '{card}' AND kind = 'watchbill_decided'")),
            "1"
        );
        let said = b.routed(1);
        assert!(
            said.code == 0 && said.err.contains("with a decision that was refused"),
            "its task still waits: {said:?}"
        );
        assert_eq!(
            b.count(&format!("task_events WHERE task_id = '{card}' AND kind = 'watchbill_decided'")),
            "1"
        );
    }
}

#[test]
fn the_card_itself_and_what_moved_on_are_refused() {
    let (b, card) = asked(REFUSED_KEY);
    answer(&b, &card, &json!({"task": card, "action": "unblock"}));
    assert!(b.routed(0).err.contains("names the card itself"));
    let (b, card) = asked(REFUSED_KEY);
    answer(&b, &card, &json!({"task": "t_00000001", "action": "reassign", "assignee": "nova"}));
    b.hand(&["unblock", "t_00000001"]).ok();
    let said = b.routed(0);
    assert!(said.code == 1 && said.err.contains("it moved on"), "{said:?}");
    assert_eq!(b.place("t_00000001"), at("luna", "ready"), "what a person decided stands");
}

#[test]
fn a_card_completed_by_anybody_is_a_proposal() {
    let b = TestBoard::own();
    b.died_of("t_00000001", REFUSED_KEY);
    b.settled(0).ok();
    let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED] t_00000001 %'");
    b.hand(&["claim", &card, "--worker", "mallory"]).ok();
    answer(&b, &card, &json!({"task": "t_00000001", "action": "unblock"}));
    let said = b.routed(0);
    assert!(
        said.err.contains("mallory, who is not an orchestrator") && said.err.contains("proposal"),
        "{said:?}"
    );
    assert_eq!(b.task("t_00000001", "status"), "blocked");
}

/// On a Hermes board anybody claims by command line, and the claim bears the assignee's name.
#[test]
fn a_card_that_nobody_dispatched_decides_nothing() {
    let b = TestBoard::new();
    b.died_of("t_00000001", REFUSED_KEY);
    b.add("t_00000002", "ready");
    b.sql("INSERT INTO tasks (id, title, assignee, status, created_at) VALUES ('t_000000cc', '[BLOCKED] t_00000002 env_blocker', 'tuesday', 'ready', 1)");
    b.hand(&["claim", "t_000000cc", "--worker", "tuesday"]).ok();
    answer(&b, "t_000000cc", &json!({"task": "t_00000002", "action": "human"}));
    let said = b.routed(0);
    assert!(said.code == 1 && said.err.contains("without being dispatched"), "{said:?}");
    assert_eq!(b.place("t_00000002"), at("luna", "ready"));
}

#[test]
fn a_question_nobody_answers_is_asked_again_and_then_a_persons() {
    let (b, card) = asked(REFUSED_KEY);
    b.hand(&["complete", &card, "--summary", "hm"]).ok();
    let open = || b.count("tasks WHERE title LIKE '[BLOCKED]%' AND status IN ('ready', 'scheduled')");
    assert!(b.routed(10).err.contains("without a decision"));
    assert!(b.settled(20).ok().is_empty() && open() == "0");
    assert!(b.routed(700).out.contains("ask-again"));
    b.settled(720).ok();
    assert_eq!(open(), "1", "asked once more");
    let second = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%' AND status = 'ready'");
    assert_eq!(b.routed(740).ok(), "");
    b.hand(&["claim", &second, "--worker", "tuesday"]).ok();
    b.hand(&["complete", &second]).ok();
    let said = b.routed(1_500);
    assert!(said.out.contains("hand-over") && said.err.contains("without a decision"), "{said:?}");
    assert_eq!(b.payload("t_00000001", "blocked")["cause"], "no-decision");
    assert_eq!(b.routed(1_600).ok(), "", "it was said");
    assert_eq!(b.settled(1_700).ok(), "");
}

#[test]
fn whatever_a_person_does_behind_a_card_stands_and_nothing_is_stuck_behind_it() {
    for (act, want) in [
        (&["unblock", "t_00000001"][..], at("luna", "ready")),
        (&["reassign", "t_00000001", "nova"], at("nova", "blocked")),
    ] {
        let b = TestBoard::new();
        b.died_of("t_00000001", REFUSED_KEY);
        b.settled(0).ok();
        b.hand(act).ok();
        let said = b.routed(10).ok();
        assert!(said.contains("close-card"), "{act:?}: {said}");
        assert_eq!(b.place("t_00000001"), want, "{act:?}");
        for program in ["synthesize-distress", "route-blocked"] {
            let _ = b.pass_of(program, 20, &[]);
            assert_eq!(b.place("t_00000001"), want, "{program} after {act:?}");
        }
    }
    // Put away: somebody said no.
    let b = TestBoard::new();
    b.died_of("t_00000001", REFUSED_KEY);
    b.settled(0).ok();
    b.sql("UPDATE tasks SET status = 'archived' WHERE title LIKE '[BLOCKED]%'");
    let before = b.dump();
    assert_eq!(b.routed(10).ok(), "");
    assert_eq!(b.settled(20).ok(), "");
    assert!(b.dump() == before);
}
