//! Every order of steps to a depth: `cargo run --release -p watchbill-testkit --example model -- --depth N [--minutes M] [--calm N]`.
//!
//! Two tasks, two hosts, their watchers, harnesses and an operator, see `testkit::sim::model`. It prints each depth that was searched to its
//! end, and the first fault with its story. `--calm N`: of one in so many states it is tried what it comes to once nothing goes wrong any
//! more (500). `--from N`: from one start only. `--without GUARD` leaves a guard out, such as `history`; `--mutants` does so with each.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use testkit::sim::model::{Mutant, Search, Sum};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|at| args.get(at + 1));
    let number = |name: &str| value(name).and_then(|n| n.parse::<u64>().ok());
    let Some(depth) = number("--depth").and_then(|n| u8::try_from(n).ok()) else {
        eprintln!("model: --depth N is wanted, the steps after each start");
        return ExitCode::from(2);
    };
    let until = number("--minutes").map(|m| Instant::now() + Duration::from_secs(60 * m));
    let from = number("--from").and_then(|n| usize::try_from(n).ok());
    let search = Search { depth, from, until, without: None, calm: number("--calm").unwrap_or(500) };
    if args.iter().any(|a| a == "--mutants") {
        return each(search);
    }
    let without = value("--without").map(|name| Mutant::ALL.into_iter().find(|m| word(*m) == *name));
    if without == Some(None) {
        eprintln!("model: --without takes one of {}", Mutant::ALL.map(word).join(", "));
        return ExitCode::from(2);
    }
    let sum = Search { without: without.flatten(), ..search }.run();
    print(&sum);
    if sum.found.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn word(mutant: Mutant) -> String {
    format!("{mutant:?}").to_lowercase()
}

fn print(sum: &Sum) {
    for (depth, unique, steps, seconds) in &sum.depths {
        println!("depth {depth}: {unique} states, {steps} steps, {seconds} s");
    }
    if sum.is_stopped {
        println!("stopped within depth {}", sum.depth + 1);
    }
    println!("what each of {} states comes to: {:?}", sum.calmed, sum.ends);
    for (what, times) in &sum.did {
        println!("  {times:>9} {what}");
    }
    match &sum.found {
        Some(found) => println!("FAULT: {found}"),
        None => println!("no fault"),
    }
}

/// Which guards are missed when they are left out.
fn each(search: Search) -> ExitCode {
    let mut all = true;
    for mutant in Mutant::ALL {
        let began = Instant::now();
        let sum = Search { without: Some(mutant), calm: 0, ..search }.run();
        let seconds = began.elapsed().as_secs_f32();
        match &sum.found {
            Some(found) => println!("{}: depth {}, {seconds:.1} s: {found}", word(mutant), sum.depth),
            None => println!("{}: NOT FOUND to depth {}, {seconds:.1} s", word(mutant), sum.depth),
        }
        all &= sum.found.is_some();
    }
    if all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
