//! Distress cards: what they are written from, the steps and texts that make them, and how they are read on the board.

pub(crate) mod asked;
pub(crate) mod identity;
pub(crate) mod over_budget;
pub(crate) mod queue;
pub mod seen;
pub(crate) mod session;
pub(crate) mod split_draft;
pub(crate) mod steps;
pub(crate) mod text;
pub(crate) mod worker_card;
pub(crate) mod writer;
