//! Tasks that an agent session works on: the detections D1 to D8 of the operations of a coordinator (`docs/detect.md`).

use serde_json::json;

use super::super::incident::Incident;
use super::super::verdict::Expect::{Left, Recovered};
use super::super::world::World;

pub fn all() -> Vec<Incident> {
    vec![
        Incident::new(
            "D1",
            "a session whose model calls tools that are not there, and then stops",
            "coordination operations",
            |w| drop(w.session("badtool", None)),
            Recovered,
        )
        .remark("A card asks the orchestrator at once. It decides while the session's claim still lasts, and the next attempt is over before its word is carried out."),
        Incident::new(
            "D1-args",
            "a session whose model called a tool with wrong arguments, and stopped",
            "coordination operations",
            |w| drop(w.session("badargs", None)),
            Recovered,
        )
        .remark("A model mends wrong arguments itself, so nothing is found (`detect.schema_errors` is off). The session has stopped without a word, and its claim runs out."),
        Incident::new(
            "D2",
            "a session of which six calls failed, and which then stops",
            "coordination operations",
            |w| drop(w.session("toolerr6", None)),
            Recovered,
        ),
        Incident::new(
            "D3",
            "a session that is busy and has heard nothing from its model",
            "coordination operations",
            |w| {
                // So that its claim runs out well within a minute of the night.
                w.home.configure("[board]\nclaim_ttl = \"880s\"\n");
                w.session("hang", Some(json!({"type": "busy"})));
            },
            Recovered,
        )
        .remark("Nobody here stops a session: a stalled one's claim runs out as every lease does, and the real dispatcher starts the next worker. `coord abort` ends the session; a person, an orchestrator or a script runs it."),
        Incident::new(
            "D3-slow",
            "a session whose model streams for an hour",
            "coordination operations",
            |w| drop(w.session("slowstream", Some(json!({"type": "busy"})))),
            Left("is at work"),
        )
        .each(World::freshen_sessions)
        .remark("The claim of a session at work is renewed. Hermes alone starts a second worker beside it."),
        Incident::new(
            "D3-question",
            "a session that asked a person something, and waits",
            "coordination operations",
            |w| {
                let task = w.session("question", Some(json!({"type": "busy"})));
                w.asks("question");
                w.is_stopped_first(&task);
            },
            Recovered,
        ),
        Incident::new(
            "D4",
            "a session whose server was killed and started again",
            "coordination operations",
            |w| drop(w.session("kill-sleeptool", None)),
            Recovered,
        ),
        Incident::new(
            "D5",
            "a session whose provider refuses it again and again",
            "coordination operations",
            |w| {
                let retry = json!({"type": "retry", "attempt": 4, "message": "fake 429", "next": 0});
                let task = w.session("err429-ra", Some(retry));
                w.is_stopped_first(&task);
            },
            Recovered,
        )
        .remark("The orchestrator stops the session with `coord abort` before it decides, here and in D3-question."),
        Incident::new(
            "D6",
            "a session that makes the same call again and again",
            "coordination operations",
            |w| drop(w.session("loop", None)),
            Recovered,
        ),
        Incident::new(
            "D8",
            "a session whose server was killed, and whose store is gone",
            "coordination operations",
            |w| {
                w.session("kill-sleeptool", None);
                std::fs::remove_dir_all(w.opencode()).unwrap();
            },
            Recovered,
        )
        .remark("Nothing is known of a session without its rows, and nothing follows from that but the end of its lease."),
    ]
}
