//! Makes a board to try things on: `cargo run -p watchbill-testkit --example board -- PATH TASKS [fixed | crowd [WHAT..]]`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use shared::base::time::Time;
use testkit::crowd;
use testkit::generate::{Sizes, generate};

const USAGE: &str = "usage: board PATH TASKS [fixed | crowd [comments] [cards]]   (5 % of the tasks are open; fixed: 600 are; crowd: \
    all are, and more is put on them)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [path, tasks] => make(path, tasks, Sizes::proportional),
        [path, tasks, "fixed"] => make(path, tasks, Sizes::fixed),
        [path, tasks, "crowd", ref more @ ..] => {
            make(path, tasks, Sizes::crowd).and_then(|()| fill(path, tasks, more))
        }
        _ => Err(anyhow!(USAGE)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{e}\n"));
            ExitCode::FAILURE
        }
    }
}

fn make(path: &str, tasks: &str, sizes: fn(usize) -> Sizes) -> Result<()> {
    generate(Path::new(path), sizes(tasks.parse()?), 1, Time::of_clock(), 0.4)
}

/// Four long comments on every task and a thousand on ten, and two cards about every task.
fn fill(path: &str, tasks: &str, more: &[&str]) -> Result<()> {
    let (path, tasks, now) = (Path::new(path), tasks.parse::<usize>()?, Time::of_clock());
    crowd::limits(path)?;
    for what in more {
        match *what {
            "comments" => {
                crowd::comments(path, tasks, 4, 64 << 10, now)?;
                crowd::comments(path, 10, 1_000, 64 << 10, now)?;
            }
            "cards" => crowd::cards(path, 2 * tasks, now)?,
            other => bail!("{other}: {USAGE}"),
        }
    }
    Ok(())
}
