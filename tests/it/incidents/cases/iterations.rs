//! Turns and time that did not suffice.

use serde_json::json;

use super::super::incident::Incident;
use super::super::verdict::Expect::Recovered;
use super::super::world::Act;

pub fn all() -> Vec<Incident> {
    vec![
        Incident::new(
            "W-loop",
            "out of turns, real worker; the orchestrator splits the task",
            "PR 101608, 77881, 79399, 35072, 95746, 104782, 80510",
            |w| {
                w.real("luna", "loop");
                let half = |title: &str| json!({"title": title, "assignee": "sol", "in_scope": [format!("{title}/**")]});
                w.act(
                    "tuesday",
                    Act::Decides(json!({"task": "SOURCE", "action": "split", "reason": "two halls",
                        "children": [half("north"), half("south")]})),
                );
                w.task(json!({}));
            },
            Recovered,
        )
        .each(|w| {
            // What is left then is small enough.
            if w.home.value("SELECT count(*) FROM tasks WHERE title IN ('north', 'south') AND status = 'done'") == "2" {
                w.act("luna", Act::Works);
            }
        }),
        Incident::new(
            "W-time",
            "runs into its time limit again and again",
            "61048, 100971",
            |w| {
                w.act("luna", Act::Lives);
                w.task(json!({"max_runtime_seconds": 600}));
            },
            Recovered,
        ),
    ]
}
