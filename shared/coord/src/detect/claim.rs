//! When the claim of a session at work is renewed. A session cannot do that itself: its agent knows nothing of the board, and
//! tools that run for half an hour would outlast any claim. `coord detect --record` renews it, so that no dispatcher starts
//! a second worker beside the first.

use super::Judge;
use crate::Mapping;
use base::time::Time;
use board::{Detail, Status};

/// Until when the claim on a session's task is to last from now on; `None` where it is left as it is: it still lasts, it is
/// another worker's, or the session is not known to be at work. `ttl` is in seconds.
pub fn renewal(judge: &Judge<'_>, task: &Detail, mapping: &Mapping, ttl: i64) -> Option<Time> {
    let row = &task.task;
    let is_its = row.status == Status::Running && row.current_run.is_some() && row.current_run == mapping.run;
    let expires = row.claim_expires.filter(|_| is_its && row.claim_lock.is_some())?;
    // An event of every look would be one every half minute; a third of the time is early enough for a look that is missed.
    let is_due = expires.since(judge.now) < ttl - ttl / 3;
    (is_due && judge.is_at_work()).then(|| judge.now.plus(ttl))
}
