//! Writes the sample page, to look at it: `cargo run -p watchbill-testkit --example page -- PATH`.

use std::io::Write;
use std::process::ExitCode;

use testkit::page::{html, sample};

fn main() -> ExitCode {
    let done = match std::env::args().nth(1) {
        Some(path) => std::fs::write(&path, html(&sample())).map_err(|e| format!("{path}: {e}")),
        None => Err("usage: page PATH".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "{e}");
            ExitCode::FAILURE
        }
    }
}
