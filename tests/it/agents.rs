//! The real Claude Code and the real Codex from their packages, with a stand-in for a model on loopback: killed in the middle
//! of a tool, requeued by `heal`, and continued by a second real run that is given the task's text and comments.
//!
//! `WATCHBILL_AGENTS=skip` leaves all of it out and says so.

mod claude; // Claude Code, on a board of the real Hermes
mod codex; // Codex, on a board of our own
mod install; // both programs, pinned and installed once
mod model; // a model on loopback that both can talk to
mod scene; // a task of two steps, its tree, and real workers on it
mod spawned; // both, started and stopped by coord
mod tongue; // how Claude Code and Codex talk to a model
