//! Work that moves to another provider, waits for its own, or goes where a decision sends it: the three programs next to
//! the real Hermes.

mod behind; // a person decides behind our back
mod cooldown; // Hermes' own pause after a limit
mod decisions; // what an orchestrator decides, good and bad
mod files; // completing a card never takes a file of its source away
#[cfg(feature = "real")]
mod fleet; // twenty tasks, two providers, one of which refuses
mod pingpong; // from one limited provider to the other and back
mod sessions; // each card is a session of its own, with an orchestrator that works
#[cfg(feature = "real")]
mod silent; // a provider that takes questions and never answers
