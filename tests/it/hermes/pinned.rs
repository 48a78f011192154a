//! Tasks with a model and a provider of their own, as `hermes kanban set-model` of 0.20 and later sets them. The dispatcher starts their
//! workers with `-m` and `--provider`.

use serde_json::Value;

use super::home::{Home, key};
use super::provider::Provider;
use crate::support::ran;

/// luna asks moon, which answers, and knows star, which limits requests.
fn home(provider: &Provider, home: &Home) {
    let entry = |mode: &str| {
        format!("{{base_url: '{}', api_key: {}, default_model: m1}}", provider.mode(mode), key())
    };
    let text = format!(
        "model: {{provider: moon, default: m1}}\nproviders:\n  moon: {}\n  star: {}\n\
         agent: {{api_max_retries: 2, auto_recovery_cycles: 0, max_turns: 6}}\n",
        entry("ok"),
        entry("r429")
    );
    home.configured("luna", &text);
}

/// One tick that starts workers, and after they ended one that books that.
fn tick(home: &Home) {
    let dispatch = |most: &str| {
        let mut tick = home.run("hermes");
        let args = ["kanban", "dispatch", "--max", most];
        tick.args(args).env("HERMES_KANBAN_TURN_RECOVERY", "0").env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "0");
        ran(&mut tick).ok();
    };
    dispatch("9");
    home.await_workers();
    dispatch("0");
}

/// A provider by its name, as `watchbill providers` tells of it.
#[track_caller]
fn provider_of(home: &Home, name: &str) -> Value {
    let all = ran(home.command("watchbill").args(["providers", "--json"])).json();
    let all = all["providers"].as_array().unwrap().clone();
    all.into_iter().find(|p| p["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

fn pin(home: &Home, task: &str) -> [String; 2] {
    ["model_override", "provider_override"].map(|column| home.task(task, column))
}

#[test]
fn a_refusal_is_charged_to_the_provider_that_the_task_names() {
    let Some(mut here) = Home::newer() else { return };
    let provider = Provider::new(&here);
    home(&provider, &here);
    here.profile("sol", &provider.mode("ok"));
    let (pinned, plain) = (here.create(&[]), here.create(&[]));
    here.hermes(&["set-model", &pinned, "m2", "--provider", "star"]).ok();
    tick(&here);
    here.await_status(&plain, "done");
    assert!(here.way(&pinned).ends_with("rate_limited"), "{}", here.way(&pinned));

    // It waits for star; other work of luna goes on, and is answered.
    let other = here.create(&[]);
    here.round();
    assert_eq!(here.task(&pinned, "status"), "scheduled", "{}", here.way(&pinned));
    assert_eq!(here.task(&other, "status"), "ready", "{}", here.way(&other));
    assert_eq!(
        (provider_of(&here, "star")["state"].clone(), provider_of(&here, "star")["held"].clone()),
        ("limited".into(), 1.into())
    );
    assert_eq!(provider_of(&here, "moon")["state"], "healthy");
    tick(&here);
    here.await_status(&other, "done");
    here.round();
    assert_eq!(provider_of(&here, "star")["state"], "limited", "what moon answers says nothing of star");
    assert_eq!(here.task(&pinned, "status"), "scheduled", "{}", here.way(&pinned));

    // A fallback takes it over without what belongs to star, and an undo puts that back.
    here.configure("[profiles.luna]\nfallbacks = [\"sol\"]\n");
    let said = here.round();
    assert_eq!(here.task(&pinned, "assignee"), "sol", "{said}");
    assert_eq!(pin(&here, &pinned), ["NULL", "NULL"]);
    let comments = here
        .value(&format!("SELECT group_concat(body, x'0a') FROM task_comments WHERE task_id = '{pinned}'"));
    assert!(comments.contains("Its pin to m2 at star was taken off."), "{comments}");
    assert!(here.ask(&["show", &pinned])["task"]["model_override"].is_null());
    ran(here.command("watchbill").args(["undo", &pinned])).ok();
    assert_eq!(here.task(&pinned, "assignee"), "luna");
    assert_eq!(pin(&here, &pinned), ["m2", "star"]);
}

#[test]
fn a_pin_to_another_provider_is_no_reason_to_wait_for_the_profiles_own() {
    let Some(here) = Home::newer() else { return };
    let provider = Provider::new(&here);
    home(&provider, &here);
    let limited = here.create(&[]);
    here.hermes(&["set-model", &limited, "m2", "--provider", "star"]).ok();
    tick(&here);
    here.round();
    assert_eq!(here.task(&limited, "status"), "scheduled", "{}", here.way(&limited));
    // The operator pins it to moon, which answers: its attempt was at star all the same.
    here.hermes(&["set-model", &limited, "m1", "--provider", "moon"]).ok();
    here.round();
    assert_eq!(provider_of(&here, "moon")["state"], "healthy");
    assert_eq!(provider_of(&here, "star")["state"], "limited");
    assert_eq!(here.task(&limited, "status"), "ready", "{}", here.way(&limited));
    // Hermes itself waits for five minutes after a limit.
    here.age(300);
    tick(&here);
    here.await_status(&limited, "done");
}
