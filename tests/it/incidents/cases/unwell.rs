//! Workers that live and are not well, or only look so: rows of the acceptance list of the resume protocol
//! (`docs/evidence/resume.md`). Each is a process, the session pointer of Claude Code, and a recorded transcript.

use super::super::incident::Incident;
use super::super::verdict::Expect::{Handed, Left, Recovered};
use super::super::world::World;
use crate::health::{aged, dear, looping, recording, silent, spike};

const MAY_STOP: &str = "[heal]\nallow_stop = \"on\"\n";

pub fn all() -> Vec<Incident> {
    let all = vec![
        Incident::new(
            "A2",
            "a worker of which nobody knows how it fares: its session pointer breaks off",
            "acceptance list",
            |w| {
                w.living(Some(&aged(looping(12, true), 30)));
                let pid = w.home.value("SELECT worker_pid FROM tasks").parse().unwrap();
                w.pointer(pid, "{\"sessionId\": \"s1\", \"cw");
            },
            Left("unknown: worker alive"),
        )
        .remark("Unknown never leads to an action."),
        Incident::new(
            "A2b",
            "a worker whose transcript is not there",
            "acceptance list",
            |w| drop(w.living(None)),
            Left("worker alive"),
        ),
        Incident::new(
            "A3",
            "a worker that has heard nothing from its model for two hours",
            "100971, 61048, PR 89310, 101014, gc#571",
            |w| {
                w.living(Some(&silent(7_200)));
            },
            Handed("Stalled"),
        )
        .short(),
        Incident::new(
            "A3-stop",
            "the same, where a worker may be stopped",
            "acceptance list",
            |w| {
                w.home.configure(MAY_STOP);
                w.home.watched();
                w.living(Some(&silent(7_200)));
            },
            Recovered,
        )
        .remark("With `heal.allow_stop = \"on\"`, as A6. Nothing else makes Watchbill end a process."),
        Incident::new(
            "A3b",
            "a tool that runs for two hours",
            "acceptance list",
            |w| {
                w.living(Some(&aged(recording("claude/sigkill_dangling_tool.jsonl"), 7_200)));
            },
            Left("worker alive"),
        )
        .remark("A long tool call does not count as a stall."),
        Incident::new(
            "A4",
            "a worker that makes the same failing call again and again",
            "acceptance list",
            |w| {
                w.living(Some(&aged(looping(12, true), 30)));
            },
            // It says nothing more: after half an hour of silence a person is told of that as well.
            Handed("Stalled"),
        )
        .remark("Once, however long it goes on (A12)."),
        Incident::new(
            "A4b",
            "ten different calls, the last of which failed",
            "acceptance list",
            |w| {
                w.living(Some(&aged(looping(10, false), 30)));
            },
            Left("worker alive"),
        )
        .each(World::freshen_transcripts),
        Incident::new(
            "A5",
            "a worker whose last call cost a hundred times as much as the others",
            "acceptance list",
            |w| {
                w.living(Some(&spike()));
            },
            Left("ignored: Cost spike"),
        )
        .each(World::freshen_transcripts)
        .remark("Told with `-v`, and ignored unless `[heal.health_actions]` says otherwise."),
        Incident::new(
            "A6",
            "a worker that stalls, loops and is dear at once, where it may be stopped",
            "acceptance list",
            |w| {
                w.home.configure(MAY_STOP);
                w.home.watched();
                w.living(Some(&dear(7_200)));
            },
            Recovered,
        ),
    ];
    all.into_iter().map(|i| i.minutes(30, 1).after(World::note_workers)).collect()
}
