//! Makes a board to try things on: `cargo run -p watchbill-testkit --example board -- PATH TASKS [fixed]`.

use std::path::Path;
use std::process::ExitCode;

use shared::time::Time;
use testkit::generate::{Failure, Sizes, generate};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [path, tasks] => make(path, tasks, Sizes::proportional),
        [path, tasks, "fixed"] => make(path, tasks, Sizes::fixed),
        _ => Err("usage: board PATH TASKS [fixed]   (fixed: 600 open tasks; else 5 % are open)".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{e}\n"));
            ExitCode::FAILURE
        }
    }
}

fn make(path: &str, tasks: &str, sizes: fn(usize) -> Sizes) -> Result<(), Failure> {
    generate(Path::new(path), sizes(tasks.parse()?), 1, Time::of_clock(), 0.4)
}
