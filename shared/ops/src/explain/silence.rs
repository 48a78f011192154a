//! Why a watcher has nothing to say about a task: it tells in its report only what it looked at closely. Pure.

use base::time::Time;
use board::{Detail, Status};
use watch::Watcher;

/// The reason, in one line.
pub(super) fn of<W: Watcher>(d: &Detail, now: Time) -> String {
    match d.task.status {
        Status::Done | Status::Archived => "it is over".into(),
        Status::Other(_) => "a state it does not know is skipped".into(),
        _ => W::silence(d, now),
    }
}
