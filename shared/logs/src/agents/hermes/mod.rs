//! Hermes (0.19 to 0.22): the log of a worker, the logs of a profile, and the store of sessions.

pub mod profile;
pub(crate) mod usage;
mod worker;

pub(crate) use worker::idle;
pub use worker::{EXIT, is_mark, is_weak_mark, skip_escape};
pub use worker::{MAX_EARLIER, Reader};
