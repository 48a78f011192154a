//! Attempts at a task: how they ended, who works now, and how often `heal` helped.

pub(crate) mod ended;
pub mod session;
pub(crate) mod tally;
pub(crate) mod worker;
