//! `heal` against the real Hermes from its package: boards are made, claimed and spawned by its own command line and
//! its own workers, then broken as they are found broken in the field.
//!
//! `WATCHBILL_HERMES=skip` leaves all of it out and says so.

mod accepts; // what Hermes must accept of every row we touched
mod dispatcher; // one that knows how its workers ended
pub mod home; // a home of its own for it, and helpers that call it
pub mod provider; // a stand-in for a model provider
mod python; // the Python environment with the real Hermes in it
mod warm; // its command line without the start of Python

mod beside; // a Hermes process that has lost its locks
mod boards; // which boards, and boards of older versions
mod budget; // what real workers used, and a split of living work
#[cfg(feature = "real")]
mod crowd; // every watcher eight times at once, beside a dispatcher and a writer
mod dead; // work that dead workers left behind
mod distress; // the full loop: a real death, its card, the orchestrator, the work done elsewhere
#[cfg(feature = "real")]
mod fails22; // what newly goes wrong with Hermes 0.22
#[cfg(feature = "real")]
mod gateway; // a dispatcher that lives as long as its gateway, and ends badly
mod hand; // what `board` wrote: a card by hand, reassign, unblock
mod left; // what the operator decided or Hermes handles itself
mod lend; // tasks that a host borrows from another board
mod limited; // workers that died of a provider's limit
mod loops; // crash loops and the jam of the respawn guard
#[cfg(feature = "real")]
mod newer; // real workers of Hermes 0.22, in two languages
mod pages; // commands of Hermes on the pages
#[cfg(feature = "real")]
mod pinned; // a task with a model and a provider of its own
#[cfg(feature = "real")]
mod race; // the real dispatcher and `heal` at once
mod reach; // an address where nobody answers, and starts that fail the same way each time
#[cfg(feature = "real")]
mod renamed; // workers whose title is `hermes` and nothing else
#[cfg(feature = "real")]
mod reviews; // a review that is held
mod route; // work that moves to another provider, waits for its own, or goes where a decision sends it
mod session; // a session beside the dispatcher
#[cfg(feature = "real")]
mod told; // what a person is told of a bad night
mod undone; // what an undo restores, before the real dispatcher
mod why; // what `watchbill why` says of real rows, and the commands it offers
