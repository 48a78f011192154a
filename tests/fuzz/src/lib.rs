//! What Watchbill promises for any input, as plain functions of bytes: each panics where a promise is broken.
//!
//! libFuzzer calls them (`cargo fuzz`, `fuzz_targets/`). `testkit/tests/fuzz_corpus.rs` includes this file and replays the kept
//! corpus without libFuzzer, so that no nightly compiler is needed to know that a finding stays fixed.

#![forbid(unsafe_code)]

mod board;
mod failure;
mod host;
mod line;
mod log;
mod operator;
mod resume;
mod secret;
mod store;
mod text;

pub use board::{card, decision, scope};
pub use failure::failure;
pub use host::process;
pub use line::{claude, codex, hermes, plain};
pub use log::{log_file, usage};
pub use operator::{config, plan};
pub use resume::{packet, tree_state, vitals};
pub use secret::{quoted, redact};
pub use store::opencode;

/// A property of any bytes.
pub type Target = fn(&[u8]);

/// All of them by the names of their corpora.
pub const TARGETS: [(&str, Target); 19] = [
    ("card", card),
    ("claude", claude),
    ("codex", codex),
    ("config", config),
    ("decision", decision),
    ("failure", failure),
    ("hermes", hermes),
    ("log_file", log_file),
    ("opencode", opencode),
    ("packet", packet),
    ("plain", plain),
    ("plan", plan),
    ("process", process),
    ("quoted", quoted),
    ("redact", redact),
    ("scope", scope),
    ("tree_state", tree_state),
    ("usage", usage),
    ("vitals", vitals),
];
