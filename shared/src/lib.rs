//! Watchbill: mechanical recovery loops for a board of AI-agent tasks.
//!
//! A *board* holds *tasks*; a *run* is one attempt by a *worker*. A *watcher* is one of our programs, a *pass* one
//! execution of it: observe ([`policy::World`]), decide (pure), apply ([`board::Board::apply`], guarded by what was seen),
//! report ([`report`]). What is decided is a [`board::Step`]; what became of it a [`board::Outcome`]. A worker is
//! *alive*, *gone* or *unknown* ([`host::Life`]), and unknown never leads to an action.

pub mod board;
pub mod cache;
pub mod cause;
mod cli;
mod clip;
pub mod config;
pub mod distress;
pub mod doctor;
mod endpoint;
pub mod error;
mod foreign;
mod hash;
pub mod health;
pub mod host;
mod inquiry;
pub mod logs;
pub mod metrics;
pub mod money;
pub mod names;
mod open_enum;
pub mod overview;
pub mod packet;
pub mod pass;
pub mod pause;
pub mod policy;
pub mod protocol;
pub mod provider;
pub mod quote;
pub mod redact;
pub mod registry;
pub mod replay;
pub mod report;
pub mod runtime;
pub mod scope;
pub mod session;
pub mod time;
pub mod timers;
pub mod tree;
mod undo;
pub mod watch;
mod whole;

pub use cli::programs;
