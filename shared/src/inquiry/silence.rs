//! Why a watcher has nothing to say about a task: it tells in its report only what it looked at closely. Pure.

use crate::board::{Detail, Status};
use crate::time::Time;
use crate::watch::Watcher;

/// The reason, in one line.
pub(super) fn of<W: Watcher>(d: &Detail, now: Time) -> String {
    match d.task.status {
        Status::Done | Status::Archived => "it is over".into(),
        Status::Other(_) => "a state it does not know is left alone".into(),
        _ => W::silence(d, now),
    }
}
