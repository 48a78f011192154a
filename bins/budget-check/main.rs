//! `budget-check`: see `budget-check --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::programs::budget(env!("CARGO_PKG_VERSION"))
}
