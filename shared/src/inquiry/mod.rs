//! What a person asks who is woken: what is the matter with this task (`watchbill why`), and what happened to the board
//! meanwhile (`watchbill report`).
//!
//! [`gather`] reads, and changes nothing: the board, the newest log, and every watcher, asked anew as in a dry run. All else is
//! pure: [`facts::Facts`] of one task go in, and out come how it [`stand`]s, what [`trouble`] it had, what was done with it
//! ([`deeds`]), and what a person can run ([`advice`]).

mod advice;
mod answer;
mod deeds;
mod facts;
mod gather;
mod session;
mod silence;
mod stand;
pub(crate) mod summary;
#[cfg(test)]
mod tests;
mod text;
mod trouble;

pub(crate) use answer::Answer;
pub(crate) use gather::Lens;
pub(crate) use summary::text::lines;
pub(crate) use summary::{Summary, html};
pub(crate) use text::screen;
