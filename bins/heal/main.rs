//! `heal`: see `heal --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::programs::heal(env!("CARGO_PKG_VERSION"))
}
