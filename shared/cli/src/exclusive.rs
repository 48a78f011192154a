//! A file or a folder that one process has at a time.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Keeps every other process out of an open file or folder until that is closed; `false` where another one has it. Where a file system
/// has no such locks, nothing tells of another one.
pub(crate) fn hold(open: &File) -> bool {
    flock(open, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

/// An open file that is held in this process and in those which it gave the file to: so it is held as long as one of them has it open,
/// however this process ends. Dropping it ends that in all of them.
pub(crate) struct Inherited(pub(crate) File);

impl Drop for Inherited {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}
