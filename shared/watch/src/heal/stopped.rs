//! A worker that a signal stopped: Ctrl-Z in its terminal, `kill -STOP`, a memory watcher; or whose cgroup is frozen. It lives, and so its task
//! looks well to everybody. Nothing is requeued and nobody is killed for that: it goes on where it was as soon as the operator continues it.

use serde_json::json;

use super::seen::TaskSeen;
use super::{Rules, Verdict};
use base::quote;
use base::registry::HEAL;
use base::time::{Time, words};
use board::{Detail, EventKind};
use config::Detect;
use host::Look;
use logs::health;
use logs::vitals::Vitals;
use policy::needs_operator::{self, STOPPED};

/// Seconds for which a worker may be stopped before a person is told: the operator may look at it and continue it.
const PATIENCE: i64 = 600;
/// A worker that gave a sign of its own within these seconds is not looked for among what is frozen: no shorter silence is a stall.
const SILENT: i64 = 60;
/// Most bytes of the path of a cgroup that are shown.
const MAX_PATH: usize = 300;

impl Rules<'_> {
    /// Leaves a stopped or frozen worker alone, and tells a person of one that stays so. No check of its health says more.
    pub(super) fn stopped(&self, t: &TaskSeen, look: &Look) -> Option<Verdict> {
        let Some(pid) = look.stopped.first() else { return self.frozen(t, look) };
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

    /// The same for one in a frozen cgroup.
    fn frozen(&self, t: &TaskSeen, look: &Look) -> Option<Verdict> {
        let (pid, frozen) = look.worker_pid.zip(t.frozen.as_ref())?;
        let since = t.stopped_since.filter(|at| self.is_sane(*at)).unwrap_or(self.seen.now);
        let held = self.awake_since(since);
        let cgroup = quote::inline(&frozen.cgroup, MAX_PATH);
        let is_frozen =
            format!("its worker (pid {pid}) has been frozen for {}, by its cgroup {cgroup}", words(held));
        if held < PATIENCE {
            return Some(Verdict::Wait(is_frozen, self.seen.now.plus(PATIENCE - held)));
        }
        let because = format!("{is_frozen}: it lives and does nothing, and nobody else takes the task");
        let (file, word) = &frozen.thaw;
        let mend = format!(
            "let it go on by what froze it (`docker unpause`, `systemctl thaw`), else with `echo {word} > {}`",
            quote::inline(file, MAX_PATH)
        );
        Some(self.tell_with(t, STOPPED, because, &mend, [("cgroup", json!(frozen.cgroup))]))
    }

    /// Notes that a worker of which a person was told goes on.
    pub(super) fn goes_on(&self, t: &TaskSeen, alive: &str) -> Option<Verdict> {
        let told = needs_operator::told(&t.detail).and_then(needs_operator::key);
        (told == Some(STOPPED)).then(|| self.no_more(t, STOPPED, alive))
    }
}

/// Whether a verdict may depend on whether a living worker is frozen: it gave no sign of its own lately, or something is found about it.
pub(super) fn may_be_frozen(
    d: &Detail,
    vitals: Option<&Vitals>,
    output_at: Option<Time>,
    detect: &Detect,
    now: Time,
) -> bool {
    let beat = d.task.last_heartbeat_at.filter(|_| !d.is_beaten_for());
    let sign = vitals.and_then(|v| v.active).max(output_at).max(beat);
    let is_silent = sign.is_none_or(|at| now.since(at) >= SILENT);
    is_silent || vitals.is_some_and(|v| !health::alerts(v, detect, now).is_empty())
}

/// When a stopped worker was seen to go on: that it did nothing before tells nothing of its health.
pub(super) fn went_on(t: &TaskSeen) -> Option<Time> {
    let is_end = |e: &board::Event| {
        let is_heals = e.kind == EventKind::Detected && e.by() == Some(HEAL);
        is_heals && needs_operator::key(e) == Some(STOPPED) && e.payload.get("over").is_some()
    };
    t.detail.events.iter().rev().find(|e| is_end(e)).map(|e| e.at)
}
