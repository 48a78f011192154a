//! What a pass costs: `cargo run --release --bin watchbill-bench`. `docs/evidence/performance.md` says how to read it.

mod chart;
mod count;
mod crowd;
mod ground;
mod growth;
mod hermes;
mod logs;
mod passes;
mod report;
mod run;
mod size;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;

use crate::ground::Ground;
use crate::passes::Size;
use crate::report::{Part, Report};

/// Measures what a pass costs, beside a floor, Hermes and ripgrep
#[derive(Debug, Parser)]
#[command(name = "watchbill-bench")]
struct Args {
    /// Few rounds and small boards, in less than three minutes
    #[arg(long, conflicts_with_all = ["full", "gate"])]
    quick: bool,
    /// A board of a million tasks as well
    #[arg(long, conflicts_with = "gate")]
    full: bool,
    /// Only what does not depend on how busy the machine is, and fail where a goal is missed that is not known to be
    #[arg(long)]
    gate: bool,
    /// Only boards that grew beyond all reason; needs 2 GB of disk
    #[arg(long, conflicts_with_all = ["full", "gate", "quick", "write"])]
    size: bool,
    /// Only the reading of logs
    #[arg(long, conflicts_with_all = ["full", "gate", "size", "write"])]
    logs: bool,
    /// Only how the cost grows with what is stored, open and running, and with the number of boards; needs 1 GB of disk
    #[arg(long, conflicts_with_all = ["full", "gate", "quick", "size", "logs"])]
    growth: bool,
    /// Put the tables into docs/evidence/performance.md; with --growth also draw docs/evidence/growth.svg
    #[arg(long, conflicts_with_all = ["quick", "gate"])]
    write: bool,
    /// Take the programs as they lie in the target folder
    #[arg(long)]
    no_build: bool,
    /// Write to this board as Hermes does, until stdin ends: what this program starts itself
    #[arg(long, hide = true)]
    writer: Option<PathBuf>,
    /// Microseconds between two transactions of that
    #[arg(long, hide = true, default_value_t = 0)]
    think: u64,
}

fn main() -> ExitCode {
    match measure(&Args::parse()) {
        Ok(code) => code,
        Err(e) => {
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("watchbill-bench: {e:#}\n").as_bytes(),
            );
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Result<ExitCode> {
    if args.size {
        let ground = Ground::new(!args.no_build)?;
        let mut report = Report::default();
        report.note(&report::circumstances(&ground.top));
        size::size(&ground, &mut report)?;
        report.goals();
        return Ok(if report.broken > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    if let Some(board) = &args.writer {
        crowd::write(board, Duration::from_micros(args.think))?;
        return Ok(ExitCode::SUCCESS);
    }
    let size = match (args.quick || args.gate, args.full) {
        (true, _) => Size::Quick,
        (_, true) => Size::Full,
        _ => Size::Usual,
    };
    let ground = Ground::new(!args.no_build)?;
    let mut report = Report::default();
    report.note(&report::circumstances(&ground.top));
    let page = ground.top.join("docs/evidence/performance.md");
    if args.growth {
        let chart = growth::growth(&ground, &mut report)?;
        if args.write {
            std::fs::write(ground.top.join("docs/evidence/growth.svg"), chart.svg())?;
            report.write(&page, Part::Growth)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.logs {
        logs::logs(&ground, size, &mut report)?;
        report.goals();
        return Ok(ExitCode::SUCCESS);
    }
    let boards = passes::boards(&ground, size)?;
    if !args.gate {
        passes::times(&ground, &boards, size, &mut report)?;
        passes::beside_hermes(&ground, &boards, size, &mut report)?;
        logs::logs(&ground, size, &mut report)?;
        crowd::crowd(&ground, size, &mut report)?;
        if size > Size::Quick {
            size::size(&ground, &mut report)?;
        }
    }
    passes::counts(&ground, &boards, &mut report)?;
    report.goals();
    if args.write {
        report.write(&page, Part::Measured)?;
    }
    Ok(if args.gate && report.broken > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
