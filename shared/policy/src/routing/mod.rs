//! Where work may go: how providers stand, who takes a task over, and the steps that move, hold and release it.

pub mod answered;
pub mod facts;
pub mod holds;
pub mod moving;
pub mod reach;
pub mod router;
