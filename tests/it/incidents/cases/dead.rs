//! Dead and lost workers.

use serde_json::json;

use super::super::incident::Incident;
use super::super::verdict::Expect::{Left, Recovered};
use super::super::world::{Act, World};
use crate::support::{dead_pid, worker};

pub fn all() -> Vec<Incident> {
    vec![
        Incident::new("E1", "a worker died", "by experiment", |w| drop(w.dead()), Recovered)
            .short()
            .remark("Hermes does this itself within a tick; Watchbill waits for it and writes nothing."),
        Incident::new(
            "E2",
            "workers died twice, then the cause was gone",
            "108927, 49430",
            twice_dead,
            Recovered,
        )
        .each(|w| {
            if w.minute == 5 {
                w.act("luna", Act::Works);
            }
        }),
        Incident::new(
            "E2-loop",
            "every worker of one profile is killed, whatever is tried",
            "44880, 29014, 28944, gastown#4462",
            twice_dead,
            Recovered,
        )
        .minutes(300, 5),
        Incident::new(
            "E2-exit",
            "every worker of one profile ends with an error and says nothing",
            "46593, PR 112618, 24388",
            |w| {
                w.act("luna", Act::Exits);
                w.task(json!({}));
            },
            Recovered,
        ),
        Incident::new(
            "E2-storm",
            "five workers at once die with equal words",
            "37689, PR 29732",
            |w| {
                w.ends_after = 8.0;
                w.act("luna", Act::Dies);
                for _ in 0..5 {
                    w.task(json!({}));
                }
            },
            Recovered,
        )
        .each(|w| {
            if w.minute == 10 {
                w.act("luna", Act::Works);
            }
        })
        .minutes(120, 2),
        Incident::new(
            "E3a",
            "the pid of a dead worker is another process now, and it never sent a heartbeat",
            "PR 95202, PR 111798",
            |w| {
                let pid = w.stranger();
                w.claimed(Some(pid));
            },
            Recovered,
        ),
        Incident::new(
            "E3b",
            "the same, and its last heartbeat grows old",
            "PR 95202, PR 111798",
            |w| {
                let pid = w.stranger();
                let task = w.claimed(Some(pid));
                w.call("heartbeat_worker", json!([task]));
            },
            Recovered,
        )
        .minutes(80, 1)
        .whole()
        .short(),
        Incident::new(
            "E4",
            "the claim of another host, whose worker is dead",
            "29244, 106938",
            away,
            Recovered,
        )
        .remark("Nothing here can say whether that worker lives; Hermes' own 15 minutes decide."),
        Incident::new(
            "E5",
            "a claim whose worker was never recorded",
            "82622",
            |w| drop(w.claimed(None)),
            Recovered,
        ),
        Incident::new("E6", "running, and nobody holds a claim", "82622", no_claim, Recovered).short(),
        Incident::new(
            "E6-cron",
            "the same, with `hermes kanban dispatch` from cron",
            "by experiment",
            no_claim,
            Recovered,
        )
        .cron()
        .minutes(360, 10),
        Incident::new(
            "slow",
            "a worker that lives and says nothing",
            "PR 71283, 31752, gastown#2036, gc#1653, untether#264",
            |w| {
                let task = w.task(json!({}));
                w.call("claim_task", json!([task]));
                let run = w.home.task(&task, "current_run_id").parse().unwrap();
                let pid = w.keep(worker(&task, run));
                w.call("_set_worker_pid", json!([task, pid]));
            },
            Left("worker alive"),
        )
        .remark("It works. Neither silence nor a claim that ran out is a proof of death."),
    ]
}

fn twice_dead(w: &mut World) {
    w.act("luna", Act::Dies);
    w.task(json!({}));
}

fn away(w: &mut World) {
    let task = w.claimed(Some(dead_pid()));
    w.home.sql(&format!(
        "UPDATE tasks SET claim_lock = 'otherhost:77' WHERE id = '{task}';
         UPDATE task_runs SET claim_lock = 'otherhost:77' WHERE task_id = '{task}'"
    ));
}

fn no_claim(w: &mut World) {
    let task = w.dead();
    w.home.sql(&format!(
        "UPDATE tasks SET claim_lock = NULL, claim_expires = NULL, worker_pid = NULL WHERE id = '{task}'"
    ));
}
