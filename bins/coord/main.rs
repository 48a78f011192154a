//! `coord`: see `coord --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::programs::coord(env!("CARGO_PKG_VERSION"))
}
