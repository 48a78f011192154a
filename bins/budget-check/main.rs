//! `budget-check`: see `budget-check --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::main("budget-check", env!("CARGO_PKG_VERSION"))
}
