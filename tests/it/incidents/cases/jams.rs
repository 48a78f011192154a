//! Nothing failed, and yet nobody takes the work.

use serde_json::json;

use super::super::incident::Incident;
use super::super::verdict::Expect::{Handed, Left, Recovered};
use super::super::world::{Act, World};

pub fn all() -> Vec<Incident> {
    vec![
        Incident::new(
            "E8",
            "held by the guard over a path that could not be read",
            "73369, 83047",
            |w| failed(w, "[Errno 13] Permission denied: /srv/lanterns"),
            Recovered,
        )
        .short(),
        Incident::new(
            "E8-pid",
            "held by the guard over a pid that happens to be 429",
            "118345, PR 115305",
            |w| failed(w, "pid 429 not alive"),
            Recovered,
        ),
        Incident::new(
            "E8-author",
            "held by the guard over the word author",
            "117009, PR 107380",
            |w| failed(w, "cannot find the author of the commit"),
            Recovered,
        ),
        Incident::new(
            "E8-key",
            "held by the guard over a key that really was refused, with no log left",
            "81437",
            |w| failed(w, "HTTP 401: Invalid API key provided: sk-fake"),
            Handed("guard has held it back"),
        ),
        Incident::new(
            "E11",
            "ready for a profile that does not exist",
            "24329, 100956",
            |w| {
                w.task(json!({"assignee": "nobody"}));
            },
            Handed("no such profile"),
        ),
        Incident::new(
            "E12",
            "ready and assigned to nobody",
            "24329, 100956",
            |w| {
                w.task(json!({"assignee": null}));
            },
            Handed("assigned to nobody"),
        ),
        Incident::new(
            "E13",
            "a comment names a pull request",
            "62418",
            |w| {
                let task = w.task(json!({}));
                w.call("add_comment", json!([task, "luna", "see https://github.com/o/r/pull/12"]));
            },
            Handed("active_pr"),
        ),
        Incident::new(
            "E14",
            "waits for a parent that was given up",
            "by experiment",
            |w| {
                w.act("luna", Act::Dies);
                let parent = w.other(json!({}));
                w.task(json!({"parents": [parent]}));
            },
            Recovered,
        )
        .each(|w| {
            if w.minute == 5 {
                w.act("luna", Act::Works);
            }
        }),
        Incident::new(
            "E14-hand",
            "waits for a parent that a person blocked",
            "by experiment",
            |w| {
                let parent = w.task(json!({}));
                w.call("block_task", json!([parent]));
                w.task(json!({"parents": [parent]}));
            },
            Left("blocked by hand"),
        )
        .remark("The parent waits for a person, and so does what waits for it."),
        Incident::new(
            "E16",
            "ready, and a claim was left on it",
            "22926",
            |w| {
                let task = w.claimed(None);
                w.home.sql(&format!("UPDATE tasks SET status = 'ready' WHERE id = '{task}'"));
            },
            Recovered,
        )
        .short(),
        Incident::new(
            "E16-unblock",
            "unblocked, and its claim stayed",
            "PR 67839",
            |w| {
                let task = w.claimed(None);
                w.home.sql(&format!("UPDATE tasks SET status = 'blocked' WHERE id = '{task}'"));
                w.call("unblock_task", json!([task]));
            },
            Recovered,
        ),
        Incident::new(
            "E17",
            "blocked without an event that says so",
            "47777, 39609, 28944, 28712",
            |w| {
                let task = w.task(json!({}));
                w.home.sql(&format!("UPDATE tasks SET status = 'blocked' WHERE id = '{task}'"));
            },
            Recovered,
        )
        .remark("Hermes promotes it with its next tick; Watchbill leaves that to it."),
    ]
}

/// Ready again after an attempt that failed with these words.
fn failed(w: &mut World, error: &str) {
    let task = w.task(json!({}));
    w.home.sql(&format!(
        "UPDATE tasks SET consecutive_failures = 1, last_failure_error = '{error}' WHERE id = '{task}'"
    ));
}
