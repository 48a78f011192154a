//! `coord` against a real opencode server, whose model provider is a stand-in on loopback. The names of the tests are those
//! of the operations' acceptance list: S spawn, T status, M message, N notify, A abort, D detect.
//!
//! `WATCHBILL_OPENCODE=skip` leaves the real server out and says so.

#[cfg(feature = "real")]
mod opencode; // the server from its package, pinned, and helpers that call it
pub mod recorded; // recorded sessions beside a board
pub mod web; // servers that answer what a test says

#[cfg(feature = "real")]
mod abort;
mod asked; // what `synthesize-distress` asks about recorded sessions
mod commands; // sessions that are commands, with a script for the agent
mod detect; // what is wrong with recorded sessions, and what becomes of it on a board
#[cfg(feature = "real")]
mod detected;
mod ended; // sessions whose mapping says that they ended, and those that wait for an answer
mod healed; // what `heal` makes of recorded sessions
#[cfg(feature = "real")]
mod linked; // what the watchers make of real ones
#[cfg(feature = "real")]
mod message;
#[cfg(feature = "real")]
mod notify;
#[cfg(feature = "real")]
mod spawn;
#[cfg(feature = "real")]
mod status;
mod usage; // what is refused, servers that are not opencode, and secrets that stay at home
