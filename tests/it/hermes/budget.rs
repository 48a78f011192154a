//! `budget-check` beside real workers: what they used by Hermes' own store, a comment that reaches them, and a split that is
//! decided while they work.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::home::{Home, PATIENCE};
use super::provider::Provider;
use crate::support::ran;

impl Home {
    fn checked(&self, args: &[&str]) -> Value {
        ran(self.command("budget-check").arg("--json").args(args)).json()["boards"][0].clone()
    }
}

fn task<'a>(board: &'a Value, id: &str) -> &'a Value {
    let all = board["overview"]["tasks"].as_array().unwrap();
    all.iter().find(|t| t["task"] == id).unwrap_or_else(|| panic!("no {id} in {board}"))
}

#[test]
fn what_a_real_worker_used_is_what_its_provider_answered() {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("loop"));
    home.profile("sol", &provider.mode("ok"));
    home.configure("[prices.m1]\ninput = 1.0\noutput = 10.0\n");
    let spent = home.create(&["--body", "## Scope\n- Iteration budget: 3\n"]);
    let quick = home.create(&["--assignee", "sol"]);
    home.hermes(&["dispatch"]).ok();
    home.await_status(&quick, "done");
    home.await_workers();
    // Who has ended its task says one thing more.
    let told = |board: &Value, id: &str| task(board, id)["usage"]["turns"].as_u64();
    let began = Instant::now();
    let mut board = home.checked(&[]);
    while (told(&board, &spent), told(&board, &quick)) != (Some(6), Some(2)) && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(100));
        board = home.checked(&[]);
    }
    // The titles of sessions and the last summary are asked for beside the work, and are no turns of it.
    let asked = |mode: &str, id: &str| provider.questions(mode).iter().filter(|q| q.task == id).count();
    for (id, mode, turns) in [(&spent, "loop", 6), (&quick, "ok", 2)] {
        let usage = &task(&board, id)["usage"];
        assert_eq!(usage["format"], "hermes", "{usage}");
        assert_eq!(usage["turns"], json!(turns), "{usage}");
        assert!(asked(mode, id) >= turns, "{}", asked(mode, id));
        assert!(usage["tokens"]["output"].as_u64().unwrap() > 0, "{usage}");
        assert!(usage["cost"].as_f64().unwrap() > 0.0, "{usage}");
    }
    let verdicts = task(&board, &spent)["verdicts"].to_string();
    assert!(verdicts.contains("over iterations") && verdicts.contains("3 allowed (task)"), "{verdicts}");
    assert_eq!(task(&board, &quick)["verdicts"], json!([]));
}

#[test]
fn living_work_gets_a_comment_and_a_card_and_its_split_when_it_ends() {
    let Some(home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("deaf"));
    home.profile("sol", &provider.mode("ok"));
    home.profile("tuesday", &provider.mode("decide"));
    let body = "Do both.\n\n## Scope\n- Concern: both halves\n- In scope: `left/**`, `right/**`\n- Time budget: 5m\n";
    let id = home.create(&["--body", body]);
    home.hermes(&["dispatch"]).ok();
    provider.await_question("deaf");
    home.age(400);
    let run = home.task(&id, "current_run_id");
    let said = ran(home.command("budget-check").args(["--comment", "--distress"])).ok();
    assert!(said.contains("over time"), "{said}");
    assert_eq!((home.task(&id, "status"), home.task(&id, "current_run_id")), ("running".into(), run));
    home.accepts(&[&id]);
    assert!(home.hermes(&["show", &id]).ok().contains("watchbill: over time (5m)"));

    // The orchestrator takes the draft as it stands on the card, while the worker still works.
    let card = home.card(&id).id;
    let text = home.task(&card, "body");
    let line = text.lines().find(|l| l.starts_with("{\"route\":")).unwrap_or_else(|| panic!("{text}"));
    let mut draft: Value = serde_json::from_str::<Value>(line).unwrap()["route"].clone();
    for child in draft["children"].as_array_mut().unwrap() {
        child["assignee"] = json!("sol");
    }
    provider.decides(&id, &draft);
    home.hermes(&["dispatch"]).ok();
    home.await_status(&card, "done");
    home.route();
    assert_eq!(home.task(&id, "status"), "running", "its worker still works");

    home.kill_worker(&id);
    home.age(300);
    home.pass();
    assert_ne!(home.task(&id, "status"), "running", "{}", home.way(&id));
    home.route();
    assert!(
        home.way(&id).ends_with("scheduled commented linked linked unblocked commented"),
        "{}",
        home.way(&id)
    );
    assert_eq!(home.task(&id, "status"), "todo");
    home.accepts(&[&id]);

    // Both parts are done, and then the whole is free.
    home.tick(&[]);
    let part = |folder: &str| {
        home.value(&format!("SELECT id FROM tasks WHERE body LIKE '%In scope: `{folder}/**`%' AND id != '{id}' AND title NOT LIKE '[BLOCKED]%'"))
    };
    for folder in ["left", "right"] {
        home.await_status(&part(folder), "done");
    }
    home.tick(&["--dry-run"]);
    assert_eq!(home.task(&id, "status"), "ready", "{}", home.way(&id));
}
