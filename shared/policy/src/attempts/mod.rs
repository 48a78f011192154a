//! Attempts at a task: how they ended, who works now, and how often `heal` helped.

pub mod ended;
pub mod in_vain;
pub mod session;
pub mod tally;
pub mod worker;
