//! `heal`: see `heal --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::main("heal", env!("CARGO_PKG_VERSION"))
}
