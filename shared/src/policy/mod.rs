//! What the watchers share: what they observe, how they decide on a pass, and the rules that more than one of them needs. A
//! watcher imports this room and never another watcher.

pub mod attempts;
pub(crate) mod authorship;
pub mod cards;
pub(crate) mod clock;
pub mod decision;
pub(crate) mod dispatcher;
pub(crate) mod needs_operator;
pub mod routing;
#[cfg(test)]
pub(crate) mod testing;
pub mod worktree_note;
pub mod world;

pub use decision::{Decision, Left, OtherPolicy, Pass};
pub use world::{
    ChangesReader, SessionReader, StateReader, TreeReader, UseAsk, UseReader, VitalsReader, Witness, World,
};
