//! What stands around a pass: running it, reporting it, explaining, undoing and replaying it, and looking after the installation.

pub mod doctor;
pub mod explain;
pub mod lend;
pub mod metrics;
pub mod morning;
pub mod needs;
pub mod notify;
pub mod pass;
pub mod replay;
pub mod report;
pub mod setup;
pub mod timers;
pub mod undo;
