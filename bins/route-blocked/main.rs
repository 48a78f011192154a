//! `route-blocked`: see `route-blocked --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::programs::route_blocked(env!("CARGO_PKG_VERSION"))
}
