//! `route-blocked`: see `route-blocked --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::programs::route(env!("CARGO_PKG_VERSION"))
}
