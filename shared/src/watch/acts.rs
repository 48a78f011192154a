//! Every act of a watcher, by the words it is reported with. A step by other words ends the pass of a build for tests: the
//! table of what can be undone is held against this list.

use crate::board::Step;
use crate::registry::{BUDGET_CHECK, HEAL, ROUTE_BLOCKED, SYNTHESIZE_DISTRESS};

/// What one watcher does.
#[derive(Debug)]
pub struct Acts {
    /// The watcher.
    pub program: &'static str,
    /// Its verbs.
    pub actions: &'static [&'static str],
    /// Its rules, without what some of them carry after a colon.
    pub cases: &'static [&'static str],
}

/// All of them.
pub const ACTS: [Acts; 4] = [
    Acts {
        program: HEAL,
        actions: &[
            "block",
            "clear",
            "escalate",
            "hand-over",
            "note",
            "park",
            "promote",
            "release",
            "requeue",
            "reset",
            "resume",
            "tell",
        ],
        cases: &[
            "crash-loop",
            "dead-worker",
            "dispatcher-restart",
            "exited-worker",
            "guard-jam",
            "health",
            "hold-over",
            "host-refuses",
            "inherited-heartbeat",
            "leaked-claim",
            "log-unreadable",
            "no-decision",
            "no-pid",
            "older-worker",
            "orphan-row",
            "recycled-pid",
            "resume-cap",
            "session-orphaned",
            "tree-drift",
            "unexplained-block",
            "unpromoted",
            "worker-gone",
        ],
    },
    Acts {
        program: SYNTHESIZE_DISTRESS,
        actions: &[
            "card",
            "card+park",
            "extend",
            "hand-over",
            "join",
            "link",
            "merge-card",
            "move",
            "note",
            "park",
            "release-card",
        ],
        cases: &[
            "block-loop",
            "died-of-it",
            "escalated",
            "gave-up",
            "goal-mode",
            "hand-limit",
            "handed-over",
            "incident",
            "open-card",
            "parked",
            "provider-hold",
            "queue",
            "repeated",
            "session",
            "worker-block",
        ],
    },
    Acts {
        program: ROUTE_BLOCKED,
        actions: &[
            "ask-again",
            "close-card",
            "extend",
            "give",
            "hand-over",
            "link",
            "move",
            "normalise",
            "note-decision",
            "park",
            "park-card",
            "probe",
            "queue-card",
            "release",
            "split",
            "stand-in",
            "tell",
        ],
        cases: &[
            "decision",
            "fallback",
            "hold-over",
            "moved-on",
            "needs-a-person",
            "no-decision",
            "no-orchestrator",
            "normalise",
            "notice",
            "probe",
            "provider-given-up",
            "provider-hold",
            "queue",
            "second-card",
            "settled",
            "stand-in",
        ],
    },
    Acts {
        program: BUDGET_CHECK,
        actions: &["card", "comment"],
        cases: &[
            "churning",
            "needs_a_person",
            "out_of_scope",
            "over_budget",
            "over_cost",
            "over_iterations",
            "over_time",
            "stuck_progress",
            "too_many_files",
        ],
    },
];

/// Whether a watcher's step is on the list.
pub fn is_listed(program: &str, step: &Step) -> bool {
    let case = step.case.split(':').next().unwrap_or_default();
    let of = |acts: &Acts| acts.actions.contains(&step.action.as_str()) && acts.cases.contains(&case);
    ACTS.iter().any(|acts| acts.program == program && of(acts))
}
