//! What a person, or a worker, said.

use serde_json::json;

use super::super::incident::Incident;
use super::super::verdict::Expect::{Handed, Left, Recovered};
use super::super::world::Act;
use crate::support::dead_pid;

pub fn all() -> Vec<Incident> {
    vec![
        Incident::new("H-person", "a person blocked it", "by experiment", |w| {
            let task = w.task(json!({}));
            w.call("block_task", json!([task]));
        }, Left("blocked by hand"))
        .remark("Who blocked it lifts it."),
        Incident::new("H-question", "its worker asks a person a question", "22995", |w| {
            w.act("luna", Act::Blocks("which lanterns?", "needs_input"));
            w.task(json!({}));
        }, Left("blocked by hand"))
        .remark("It waits for a person already: only they know the answer."),
        Incident::new(
            "W-block",
            "its worker cannot go on for lack of means",
            "49430, 110528, PR 110547",
            |w| {
                w.act("luna", Act::Blocks("need credentials", "capability"));
                w.task(json!({}));
            },
            Recovered,
        )
        .remark("The orchestrator is asked first. Its decision is carried out, since the card is about this block; what else a worker blocked, a person lifts."),
        Incident::new(
            "E9",
            "blocked twice for one reason, so in triage",
            "79728, 75444, 111125, PR 81353, 105324, 100782",
            |w| {
                let task = w.task(json!({}));
                for _ in 0..2 {
                    w.call("block_task", json!([task]));
                    w.call("unblock_task", json!([task]));
                }
            },
            Handed("triage"),
        ),
        Incident::new("E15", "an operator scheduled it", "32145", |w| {
            let task = w.task(json!({}));
            w.call("schedule_task", json!([task]));
        }, Left("scheduled outside Watchbill"))
        .remark("The operator said not now. Watchbill ends only its own holds."),
        Incident::new("H-once", "may run once only, and its worker was killed", "by experiment", |w| {
            w.act("luna", Act::Dies);
            w.task(json!({"max_retries": 1}));
        }, Handed("no-decision"))
        .remark("The operator allowed one try. An orchestrator is asked, but its decision does not overrule that."),
        Incident::new("H-mark", "marked `watchbill: no-heal`, and nobody holds a claim", "32145, oban#1018", |w| {
            let task = w.task(json!({"body": "Count them.\nwatchbill: no-heal"}));
            w.call("claim_task", json!([task]));
            w.call("_set_worker_pid", json!([task, dead_pid()]));
            w.home.sql(&format!(
                "UPDATE tasks SET claim_lock = NULL, claim_expires = NULL, worker_pid = NULL WHERE id = '{task}'"
            ));
        }, Left("no-heal"))
        .remark("The operator asked for exactly this."),
    ]
}
