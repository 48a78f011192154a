//! A worker that wrote its exit code into its log, and still runs: Hermes takes it for one that works.

use super::seen::TaskSeen;
use super::{Rules, Verdict};
use base::time::words;
use host::Look;
use policy::needs_operator;

/// Seconds that a worker may take to end after it said that it does; as long as it must be silent before its log is asked.
pub(super) const LEAVING: i64 = 600;

impl Rules<'_> {
    /// Tells a person of a worker that said it ends and did not.
    pub(super) fn still_there(&self, t: &TaskSeen, look: &Look) -> Option<Verdict> {
        let left = t.left.filter(|at| self.is_sane(*at))?;
        let pid = look.worker_pid.filter(|_| self.awake_since(left) >= LEAVING)?;
        let because = format!(
            "its worker wrote its exit code {} ago and still runs (pid {pid}): nothing starts the next attempt before it ends",
            words(self.seen.now.since(left))
        );
        let mend = format!(
            "end process {pid} (`kill {pid}`); the dispatcher then books its end, and starts the next attempt"
        );
        Some(self.tell(t, needs_operator::EXITED, because, &mend))
    }
}
