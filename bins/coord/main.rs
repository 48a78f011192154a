//! `coord`: see `coord --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::main("coord", env!("CARGO_PKG_VERSION"))
}
