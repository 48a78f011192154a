//! `board`: see `board --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::programs::board(env!("CARGO_PKG_VERSION"))
}
