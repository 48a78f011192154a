//! Simulates nights: `cargo run --release -p watchbill-testkit --example nights -- FROM TO [--sqlite] [--needs | --recovery | --hosts] [--write FILE]`.
//!
//! `FROM` is the first seed, `TO` the one after the last. With `--write` the figure is put between the markers of that file. With
//! `--needs` the programs are asked after each round what needs a person, and the figure is about that. With `--recovery` the figure is
//! how long work stands still after a death or a refusal, with the watchers and with Hermes alone. With `--hosts` the nights are those of three
//! hosts on one board; `--without GUARD` leaves a guard out of them, such as `epoch`.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::expect_used)]

use std::process::ExitCode;

use testkit::sim::recovery::{Arm, Recovery, Stop, recoveries};
use testkit::sim::several::{self, Without};
use testkit::sim::{Broken, Engine, Needs, Tally, nights};

/// What may be said of a hundred without being true.
const UNTRUE: u64 = 1;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = args.iter().filter_map(|a| a.parse().ok()).collect();
    let [from, to] = numbers[..] else {
        eprintln!("nights: two numbers are wanted, the first seed and the one after the last");
        return ExitCode::from(2);
    };
    let engine = if args.iter().any(|a| a == "--sqlite") { Engine::Sqlite } else { Engine::Memory };
    let is_asked = args.iter().any(|a| a == "--needs");
    let file = args.iter().position(|a| a == "--write").and_then(|at| args.get(at + 1));
    if args.iter().any(|a| a == "--recovery") {
        let figure = head(from, to, Engine::Memory, " --recovery") + &recovered(from, to);
        println!("{figure}");
        file.into_iter().for_each(|file| write(file, "recovery", &figure));
        return ExitCode::SUCCESS;
    }
    if args.iter().any(|a| a == "--hosts") {
        return of_hosts((from, to), &args, file);
    }
    let (sum, broken) = nights(from, to, engine, is_asked);
    let head = head(from, to, engine, if is_asked { " --needs" } else { "" });
    let told = if is_asked { needs(&sum, broken.len()) } else { told(&sum, to - from, broken.len()) };
    let figure = head + &told + &listed(&broken);
    println!("{figure}");
    for b in &broken {
        println!("night {} is broken: {}", b.seed, b.what.lines().next().unwrap_or_default());
    }
    if let Some(file) = file {
        write(file, if is_asked { "needs" } else { "nights" }, &figure);
    }
    if let Some(first) = broken.first() {
        println!("{first}");
        return ExitCode::FAILURE;
    }
    if sum.needs.untrue * 100 > sum.needs.said * UNTRUE {
        println!(
            "too much is said to need a person that does not: {} of {}",
            sum.needs.untrue, sum.needs.said
        );
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Nights of three hosts.
fn of_hosts((from, to): (u64, u64), args: &[String], file: Option<&String>) -> ExitCode {
    let value = args.iter().position(|a| a == "--without").and_then(|at| args.get(at + 1));
    let without =
        value.map(|name| Without::ALL.into_iter().find(|w| format!("{w:?}").to_lowercase() == *name));
    if without == Some(None) {
        eprintln!("nights: --without takes one of {:?}, in small letters", Without::ALL);
        return ExitCode::from(2);
    }
    let (sum, broken) = several::nights(from, to, without.flatten());
    let mut figure = head(from, to, Engine::Memory, " --hosts") + "| what | how often |\n|---|---:|\n";
    for (what, n) in sum.rows() {
        figure.push_str(&format!("| {what} | {n} |\n"));
    }
    figure.push_str(&format!("| nights in which a promise was broken | {} |\n", broken.len()));
    println!("{figure}");
    for b in &broken {
        println!("night {} BROKEN: {}", b.seed, b.what.lines().next().unwrap_or_default());
    }
    if let Some(first) = broken.first() {
        println!("{first}");
        return ExitCode::FAILURE;
    }
    file.into_iter().for_each(|file| write(file, "hosts", &figure));
    ExitCode::SUCCESS
}

/// Puts a figure between the markers of a file.
fn write(file: &str, block: &str, figure: &str) {
    let text = std::fs::read_to_string(file).expect("the file to write to");
    let (head, rest) = text.split_once(&format!("<!-- {block}: begin -->\n")).expect("its first marker");
    let (_, tail) = rest.split_once(&format!("<!-- {block}: end -->")).expect("its last marker");
    let text = format!("{head}<!-- {block}: begin -->\n{figure}<!-- {block}: end -->{tail}");
    std::fs::write(file, text).expect("written");
}

/// Which nights, and how they are had again.
fn head(from: u64, to: u64, engine: Engine, flag: &str) -> String {
    let sqlite = if engine == Engine::Sqlite { " --sqlite" } else { "" };
    format!(
        "Seeds {from} to {}, by `cargo run --release -p watchbill-testkit --example nights -- {from} {to}{sqlite}{flag}`:\n\n",
        to - 1
    )
}

/// Minutes from a stop to an attempt that is not refused, by who looks after the board.
fn recovered(from: u64, to: u64) -> String {
    let stops = [
        (Stop::Died, "a worker died"),
        (Stop::Limited, "limited for 10 to 60 min"),
        (Stop::Quota, "quota used up all night"),
        (Stop::Key, "key refused all night"),
    ];
    let arms = [(None, true), (Some(120), true), (None, false), (Some(120), false)];
    let intervals = [(Some(60), true), (Some(300), true), (Some(900), true)];
    let mut text = "| who looks after the board | what stopped the task | stops | median | 95th | not by the morning |\n\
                    |---|---|---:|---:|---:|---:|\n"
        .to_owned();
    let mut below =
        "\n| who looks after the board | tasks done by the morning | refused attempts |\n|---|---:|---:|\n"
            .to_owned();
    for (interval, gateway) in arms.into_iter().chain(intervals) {
        let sum = recoveries(from, to, Arm { interval, gateway });
        let dispatch = if gateway { "gateway" } else { "`dispatch` by cron" };
        let who = match interval {
            None => format!("Hermes alone, {dispatch}"),
            Some(seconds) => format!("Watchbill every {} min, {dispatch}", seconds / 60),
        };
        for (stop, what) in stops {
            text.push_str(&row(&who, what, &sum, stop));
        }
        below.push_str(&format!("| {who} | {} of {} | {} |\n", sum.done, sum.tasks, sum.refused));
    }
    text + &below
}

fn row(who: &str, what: &str, sum: &Recovery, stop: Stop) -> String {
    let mut seconds = sum.stops.get(&stop).cloned().unwrap_or_default();
    // One that did not go on waits longest.
    seconds.sort_by_key(|s| s.unwrap_or(i64::MAX));
    let never = seconds.iter().filter(|s| s.is_none()).count();
    let share =
        |percent: usize| match seconds.get((seconds.len() * percent / 100).min(seconds.len().max(1) - 1)) {
            Some(Some(s)) => format!("{:.1} min", *s as f64 / 60.0),
            Some(None) => "never".to_owned(),
            None => "-".to_owned(),
        };
    format!("| {who} | {what} | {} | {} | {} | {never} |\n", seconds.len(), share(50), share(95))
}

/// What needed a person, and what was said to.
fn needs(t: &Tally, broken: usize) -> String {
    let n = &t.needs;
    let mut text = "| what needed a person | in so many looks | missed |\n|---|---:|---:|\n".to_owned();
    for (what, (needed, missed)) in Needs::kinds().iter().zip(n.needed.iter().zip(n.missed)) {
        text.push_str(&format!("| {what} | {needed} | {missed} |\n"));
    }
    let (needed, missed): (u64, u64) = (n.needed.iter().sum(), n.missed.iter().sum());
    text.push_str(&format!("| all of it | {needed} | {missed} |\n\n"));
    let share = n.untrue as f64 * 100.0 / n.said.max(1) as f64;
    text.push_str(&format!(
        "{} nights, {} looks. Said to need a person: {}, of which {} ({share:.2} %) did not. Nights in which a promise was broken: \
         {broken}.\n",
        t.nights, n.rounds, n.said, n.untrue
    ));
    text
}

/// The broken nights by what was broken in them.
fn listed(broken: &[Broken]) -> String {
    if broken.is_empty() {
        return String::new();
    }
    let mut by: std::collections::BTreeMap<String, Vec<String>> = std::collections::BTreeMap::new();
    for b in broken {
        let kind = ["a second pass", "not settled"].into_iter().find(|k| b.what.starts_with(k));
        let word = match kind {
            Some("a second pass") => "a second pass right after the first changed something".to_owned(),
            Some(_) => "not settled a day after the world was well".to_owned(),
            None => shape(b.what.lines().next().unwrap_or_default()),
        };
        by.entry(word).or_default().push(b.seed.to_string());
    }
    let lines: String = by.iter().map(|(what, seeds)| format!("- {what}: {}\n", seeds.join(", "))).collect();
    format!("\nBroken nights, by what was broken first:\n\n{lines}")
}

/// A sentence without what differs from night to night.
fn shape(what: &str) -> String {
    let word = |w: &str| if w.contains(|c: char| c.is_ascii_digit()) { "#".to_owned() } else { w.to_owned() };
    what.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The figure, for people.
fn told(t: &Tally, nights: u64, broken: usize) -> String {
    let rows = [
        ("nights", nights),
        ("nights in which a promise was broken", broken as u64),
        ("passes of our programs", t.passes),
        ("steps applied", t.applied),
        ("steps that found the world moved", t.moved),
        ("passes killed between two writes", t.killed),
        ("times somebody else acted in the middle of a pass", t.disturbed),
        ("workers that died without a word", t.deaths),
        ("attempts that a provider refused", t.refusals),
        ("reboots, renames, clock jumps", t.upheavals),
        ("times the clock slipped by seconds", t.slips),
        ("gateways that were started again", t.restarts),
        ("configurations written without a change that decides", t.rewrites),
        ("healthy attempts that were silent for 20 or 65 minutes", t.hushed),
        ("attempts whose last words quote a failure", t.talked),
        ("attempts that ended on a refused key", t.keys),
        ("tasks that an orchestrator unblocked by command line", t.by_hand),
        ("nights in which providers limit for 8 to 30 hours", t.long),
        ("living workers that were not well and went to a person", t.unwell),
        ("living workers that `heal` stopped", t.stopped),
        ("dead workers' trees that others had changed", t.drifts),
        ("strangers killed by Hermes' own dispatcher", t.hermes_killed_strangers),
        ("tasks Hermes' own dispatcher started beside a living worker", t.hermes_doubles),
        ("tasks finished in the end", t.done),
        ("tasks with a person in the end", t.with_person),
        ("slowest morning until all was settled, minutes", t.slowest),
    ];
    let mut text = "| what | how often |\n|---|---:|\n".to_owned();
    for (what, n) in rows {
        text.push_str(&format!("| {what} | {n} |\n"));
    }
    text
}
