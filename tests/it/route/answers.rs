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

/// The same with this many tasks on the card of an incident.
fn asked_about(n: usize) -> (TestBoard, String, Vec<String>) {
    let b = TestBoard::own();
    let ids: Vec<String> = (1..=n).map(|i| format!("t_{i:08x}")).collect();
    ids.iter().for_each(|id| b.died_of(id, REFUSED_KEY));
    b.settled(0).ok();
    let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED] t_00000001 %'");
    b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
    (b, card, ids)
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

/// On a Hermes board any user can claim by command line, and the claim bears the assignee's name.
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
    // Archived: the operator said no.
    let b = TestBoard::new();
    b.died_of("t_00000001", REFUSED_KEY);
    b.settled(0).ok();
    b.sql("UPDATE tasks SET status = 'archived' WHERE title LIKE '[BLOCKED]%'");
    let before = b.dump();
    assert_eq!(b.routed(10).ok(), "");
    assert_eq!(b.settled(20).ok(), "");
    assert!(b.dump() == before);
}

#[test]
fn each_task_of_an_incident_is_split() {
    let (b, card, ids) = asked_about(4);
    let split = |id: &String| {
        let part = json!({"title": format!("Part of {id}"), "assignee": "nova"});
        json!({"task": id, "action": "split", "children": [part]})
    };
    answer(&b, &card, &ids.iter().map(split).collect());
    b.routed(0).ok();
    assert_eq!(b.value("SELECT count(*) FROM tasks WHERE title LIKE 'Part of t_%'"), "4");
    assert!(ids.iter().all(|id| b.task(id, "status") == "todo"));
    assert!(said_on(&b, &card).contains("split t_00000004"), "{}", said_on(&b, &card));
    let after = b.dump();
    assert_eq!(b.routed(1).ok(), "");
    assert!(b.dump() == after, "rows changed");
}

#[test]
fn a_part_that_is_there_already_is_refused_in_the_note_and_not_in_each_pass() {
    let (b, card) = asked(REFUSED_KEY);
    b.add("t_00000777", "todo");
    b.sql(&format!("UPDATE tasks SET idempotency_key = 'split:{card}:1' WHERE id = 't_00000777'"));
    let children = json!([{"title": "Count the red lanterns", "assignee": "nova"}]);
    answer(&b, &card, &json!({"task": "t_00000001", "action": "split", "children": children}));
    let said = b.routed(0).out;
    assert!(said.contains("t_00000777 was made for child 1 already"), "{said}");
    assert!(said_on(&b, &card).contains("Refused"), "{}", said_on(&b, &card));
}

#[test]
fn what_was_carried_out_for_one_task_of_an_incident_is_not_refused_by_the_next_pass() {
    let (b, card, ids) = asked_about(3);
    let all = ids.iter().map(|id| json!({"task": id, "action": "reassign", "assignee": "nova"}));
    answer(&b, &card, &all.collect());
    b.pass_of("route-blocked", 0, &["--task", "t_00000002"]).ok();
    let places = || ids.iter().map(|id| b.place(id)).collect::<Vec<_>>();
    let luna = at("luna", &b.task("t_00000001", "status"));
    assert_eq!(places(), [luna.clone(), at("nova", "ready"), luna], "that one and no other");
    let comments = format!("SELECT count(*) FROM task_comments WHERE task_id = '{card}'");
    assert_eq!(b.value(&comments), "0", "said once all are carried out");
    // By now it is worked on.
    b.run_it("t_00000002", None, 5);
    b.routed(1).ok();
    assert!(ids.iter().all(|id| b.place(id).0 == "nova"), "{:?}", places());
    let said = said_on(&b, &card);
    assert!(said.starts_with("Carried out: ") && said.matches("reassign t_").count() == 3, "{said}");
    assert!(!said.contains("Refused"), "{said}");
}

#[test]
fn what_was_decided_about_a_living_worker_is_carried_out_hours_later_when_it_ends() {
    let (b, card) = asked(REFUSED_KEY);
    // The card is about the attempt that runs, and its answer is two hours old.
    let run = b.run_it("t_00000001", None, 9_000);
    b.sql(&format!(
        "DELETE FROM task_links WHERE child_id = 't_00000001';
         DELETE FROM task_events WHERE task_id = 't_00000001' AND kind IN ('linked', 'scheduled');
         UPDATE task_events SET payload = json_set(payload, '$.run_id', {run}, '$.watchbill.linked', json('false'))
           WHERE task_id = '{card}' AND kind = 'created'"
    ));
    answer(&b, &card, &json!({"task": "t_00000001", "action": "reassign", "assignee": "nova"}));
    b.sql("UPDATE task_events SET created_at = created_at - 7200; UPDATE task_runs SET ended_at = ended_at - 7200");
    b.routed(0).ok();
    assert_eq!(b.place("t_00000001"), at("luna", "running"));
    b.sql(&format!(
        "UPDATE task_runs SET status = 'crashed', outcome = 'crashed', ended_at = {now} WHERE id = {run};
         UPDATE tasks SET status = 'ready', claim_lock = NULL, claim_expires = NULL, worker_pid = NULL, current_run_id = NULL
           WHERE id = 't_00000001';
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES ('t_00000001', {run}, 'crashed', '{{}}', {now})",
        now = now()
    ));
    b.routed(1).ok();
    assert_eq!(b.place("t_00000001"), at("nova", "ready"));
}

/// A worker that blocks its task and lives on: nobody is started beside it, and that must not last in silence.
#[test]
fn a_worker_that_lives_on_after_its_block_needs_a_person_once_its_card_is_answered() {
    let b = TestBoard::own();
    let id = "t_2b10c4ed";
    let mut agent = worker(id, 1);
    b.add(id, "ready");
    b.run_it(id, Some(agent.pid()), 60);
    b.hand(&["block", id, "needs the other", "--type", "dependency"]).ok();
    let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
    b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
    answer(&b, &card, &json!({"task": id, "action": "unblock", "reason": "it is there"}));
    let pass = || {
        for program in ["heal", "synthesize-distress", "route-blocked"] {
            ran(b.command(program).arg("--db").arg(&b.db)).ok();
        }
    };
    let need = || {
        let all = ran(b.command("watchbill").args(["status", "--json", "--db"]).arg(&b.db)).json();
        let mut needs = all["needs"].as_array().unwrap().clone();
        needs.retain(|n| n["tasks"].as_array().unwrap().iter().any(|t| t["id"] == id));
        needs.pop()
    };
    pass();
    assert_eq!((b.task(id, "status").as_str(), need()), ("blocked", None), "it may end by itself");
    b.sql(&format!(
        "UPDATE task_runs SET started_at = started_at - 900, ended_at = ended_at - 900 WHERE task_id = '{id}';
         UPDATE task_events SET created_at = created_at - 900 WHERE task_id = '{id}'"
    ));
    pass();
    pass();
    let told = format!("task_events WHERE task_id = '{id}' AND kind = 'watchbill_detected'");
    assert_eq!((b.task(id, "status").as_str(), &*b.count(&told)), ("blocked", "1"), "told once");
    let asks = need().unwrap();
    let (says, todo) = (asks["says"].as_str().unwrap(), asks["todo"].to_string());
    let pid = agent.pid();
    assert!(says.contains(&format!("process {pid} (sleep)")) && says.contains(&card), "{asks}");
    // A message may be read when the process id belongs to another one.
    assert!(asks["run"] == format!("ps -fp {pid}") && todo.contains("`watchbill why"), "{asks}");
    let why = ran(b.command("watchbill").args(["why", id, "--db"]).arg(&b.db)).ok();
    assert!(why.contains(&format!("      kill {pid}\n")), "{why}");
    let comments = format!("task_comments WHERE task_id = '{card}' AND author = 'route-blocked'");
    assert_eq!(b.count(&comments), "0", "nothing is carried out yet");
    // What is told ends with the process, and the decision is carried out.
    agent.kill();
    assert_eq!(need(), None);
    pass();
    assert_eq!((b.task(id, "status").as_str(), need()), ("ready", None));
    assert!(said_on(&b, &card).starts_with("Carried out: unblock"), "{}", said_on(&b, &card));
}
