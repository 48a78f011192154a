//! Distress cards: what they are written from, the steps and texts that make them, and how they are read on the board.

pub mod answer;
pub mod asked;
pub mod identity;
pub mod over_budget;
pub mod queue;
pub mod seen;
pub mod session;
pub mod split_draft;
pub mod steps;
pub mod text;
pub mod worker_card;
pub mod writer;
