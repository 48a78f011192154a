//! A file or a folder that one process has at a time.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Keeps every other process out of an open file or folder until that is closed; `false` where another one has it. Where a file system
/// has no such locks, nothing tells of another one.
pub(crate) fn hold(open: &File) -> bool {
    flock(open, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}
