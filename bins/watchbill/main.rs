//! `watchbill`: see `watchbill --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::programs::watchbill(env!("CARGO_PKG_VERSION"))
}
