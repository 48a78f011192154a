//! A worker that a signal stopped: Ctrl-Z in its terminal, `kill -STOP`, a memory watcher. It lives, and so its task looks well to
//! everybody. Nothing is requeued and nobody is killed for that: it goes on where it was as soon as the operator continues it.

use serde_json::json;

use super::seen::TaskSeen;
use super::{Rules, Verdict};
use base::registry::HEAL;
use base::time::{Time, words};
use board::EventKind;
use host::Look;
use policy::needs_operator::{self, STOPPED};

/// Seconds for which a worker may be stopped before a person is told: the operator may look at it and continue it.
const PATIENCE: i64 = 600;

impl Rules<'_> {
    /// Leaves a stopped worker alone, and tells a person of one that stays so. No check of its health says more.
    pub(super) fn stopped(&self, t: &TaskSeen, look: &Look) -> Option<Verdict> {
        let pid = look.stopped.first()?;
        let since = t.stopped_since.filter(|at| self.is_sane(*at)).unwrap_or(self.seen.now);
        let stopped = self.awake_since(since);
        if stopped < PATIENCE {
            let because =
                format!("its worker (pid {pid}) has been stopped by a signal for {}", words(stopped));
            return Some(Verdict::Wait(because, self.seen.now.plus(PATIENCE - stopped)));
        }
        let because = format!(
            "its worker (pid {pid}) has been stopped by a signal for {} (state T): it lives and does nothing, and nobody else \
             takes the task",
            words(stopped)
        );
        let mend = format!("let it go on with `{}`", needs_operator::go_on(&look.stopped));
        let facts = [(needs_operator::PIDS, json!(look.stopped))];
        Some(self.tell_with(t, STOPPED, because, &mend, facts))
    }

    /// Notes that a worker of which a person was told goes on.
    pub(super) fn goes_on(&self, t: &TaskSeen, alive: &str) -> Option<Verdict> {
        let told = needs_operator::told(&t.detail).and_then(needs_operator::key);
        (told == Some(STOPPED)).then(|| self.no_more(t, STOPPED, alive))
    }
}

/// When a stopped worker was seen to go on: that it did nothing before tells nothing of its health.
pub(super) fn went_on(t: &TaskSeen) -> Option<Time> {
    let is_end = |e: &board::Event| {
        let is_heals = e.kind == EventKind::Detected && e.by() == Some(HEAL);
        is_heals && needs_operator::key(e) == Some(STOPPED) && e.payload.get("over").is_some()
    };
    t.detail.events.iter().rev().find(|e| is_end(e)).map(|e| e.at)
}
