//! Where work may go: how providers stand, who takes a task over, and the steps that move, hold and release it.

pub(crate) mod answered;
pub mod facts;
pub(crate) mod holds;
pub(crate) mod moving;
pub(crate) mod router;
