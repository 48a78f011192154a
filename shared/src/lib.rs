//! Watchbill: mechanical recovery loops for a board of AI-agent tasks. This crate holds no code: it names the crates that do,
//! from the lowest to the highest, for the programs, the test kit and the benchmarks.
//!
//! A *board* holds *tasks*; a *run* is one attempt by a *worker*. A *watcher* is one of our programs, a *pass* one
//! execution of it: observe ([`policy::World`]), decide (pure), apply ([`board::Board::apply`], guarded by what was seen),
//! report ([`ops::report`]). What is decided is a [`board::Step`]; what became of it a [`board::Outcome`]. A worker is
//! *alive*, *gone* or *unknown* ([`host::Life`]), and unknown never leads to an action.

pub use ::base;
pub use ::board;
pub use ::card;
pub use ::config;
pub use ::coord;
pub use ::host;
pub use ::logs;
pub use ::ops;
pub use ::page;
pub use ::policy;
pub use ::watch;
pub use ::worktree;
pub use cli::programs;
