//! `synthesize-distress`: see `synthesize-distress --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shared::programs::distress(env!("CARGO_PKG_VERSION"))
}
