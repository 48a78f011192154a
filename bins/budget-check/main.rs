//! `budget-check`: see `budget-check --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::programs::budget_check(env!("CARGO_PKG_VERSION"))
}
