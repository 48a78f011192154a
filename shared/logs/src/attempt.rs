//! Reads an attempt: finds where its agent tells of it, counts what it [used](usage::read) and sees [how it fares](vitals::read).
//!
//! Both look in the same places and in the same window of time, so both speak of one session. Each has a cursor of its own, so a later pass
//! reads only what is new.

mod find;
pub(crate) mod log;
pub mod usage;
pub mod vitals;
