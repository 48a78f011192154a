//! `board`: see `board --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::main("board", env!("CARGO_PKG_VERSION"))
}
