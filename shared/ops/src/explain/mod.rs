//! What a person asks who is woken: what is the matter with this task (`watchbill why`), and what happened to the board
//! meanwhile (`watchbill report`).
//!
//! `collect` reads, and changes nothing: the board, the newest log, and every watcher, asked anew as in a dry run. All else is
//! pure: `Facts` of one task go in, and out come its `standing`, the `diagnosis` of what went wrong, what was done with it
//! (`deeds`), and what a person can run (`suggestions`).

mod answer;
mod collect;
mod deeds;
mod diagnosis;
mod facts;
mod line;
mod session;
mod standing;
mod still;
mod suggestions;
pub mod summary;
#[cfg(test)]
mod tests;
mod text;

pub use answer::Answer;
pub use collect::{Lens, Set, Site, read};
pub(crate) use still::Unattended;
pub use summary::Summary;
pub use summary::text::lines;
pub use text::screen;
