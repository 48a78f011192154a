//! A review whose reviewer met a limit, on Hermes 0.22.

use serde_json::Value;

use super::home::Home;
use super::provider::Provider;
use crate::support::{program, ran};

#[test]
fn the_command_that_ends_the_hold_of_a_review_brings_it_back_to_its_reviewer() {
    let Some(home) = Home::newer() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("r429"));
    home.profile("tuesday", &provider.mode("slow"));
    let task = home.create(&[]);
    home.hermes(&["request-review", &task, "--summary", "all nine are lit"]).ok();
    assert_eq!(home.task(&task, "status"), "review");
    let mut tick = home.run("hermes");
    ran(tick.args(["kanban", "dispatch"]).env("HERMES_KANBAN_TURN_RECOVERY", "0")).ok();
    assert!(home.way(&task).contains("claimed"), "{}", home.way(&task));
    home.kill_worker(&task);
    home.age(300);
    // Its reviewer left no word of a limit; one is put into its log.
    let log = home.path().join(format!("kanban/logs/{task}.log"));
    std::fs::write(
        &log,
        format!(
            "Query: work kanban task {task}\n{}",
            super::home::last_words("r429.t_79a491c3.log", &provider.mode("r429"))
        ),
    )
    .unwrap();
    home.age(300);
    home.pass();
    assert_eq!(home.task(&task, "status"), "scheduled", "{}", home.way(&task));

    let why = ran(home.command("watchbill").args(["why", &task, "--json"])).json();
    let all: Vec<String> = commands(&why);
    let unblock = all.iter().find(|line| line.contains("unblock")).unwrap_or_else(|| panic!("{why}"));
    let bin = std::path::Path::new(program("board")).parent().unwrap().display().to_string();
    let mut shell = home.run("hermes");
    let path = format!(
        "{bin}:{}",
        shell.get_envs().find(|(k, _)| *k == "PATH").unwrap().1.unwrap().to_str().unwrap()
    );
    let mut line = std::process::Command::new("/bin/sh");
    line.args(["-c", unblock])
        .env_clear()
        .envs(shell.env("PATH", path).get_envs().filter_map(|(k, v)| Some((k, v?))));
    ran(&mut line).ok();
    assert_eq!(home.task(&task, "status"), "review", "{unblock}: {}", home.way(&task));
    assert_eq!(home.ask(&["show", &task])["task"]["status"], "review");
}

/// Every command in a report.
fn commands(report: &Value) -> Vec<String> {
    match report {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(line) if key == "run" => vec![line.to_owned()],
                _ => commands(value),
            })
            .collect(),
        Value::Array(all) => all.iter().flat_map(commands).collect(),
        _ => Vec::new(),
    }
}
