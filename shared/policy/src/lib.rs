//! What the watchers share: what they observe, how they decide on a pass, and the rules that more than one of them needs. A
//! watcher imports this crate and never another watcher.

pub mod attempts;
pub mod authorship;
pub mod cards;
pub mod clock;
pub mod decision;
pub mod dispatcher;
pub mod endless;
pub mod needs_operator;
pub mod profiles;
pub mod remedy;
pub mod routing;
pub mod runtime;
pub mod said;
pub mod worktree_note;
pub mod world;

pub use decision::{Beyond, Decision, Left, OtherPolicy, Pass, Stuck};
pub use host::Witness;
pub use profiles::Profiles;
pub use said::Said;
pub use world::{
    ChangesReader, Printed, SessionReader, StateReader, TreeReader, UseAsk, UseReader, VitalsReader, World,
};
