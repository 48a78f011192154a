//! How the cost of a look grows: with the tasks stored, open and running on a board, and with the boards of a root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use shared::base::registry::NAMES as WATCHERS;
use testkit::generate::{Sizes, generate};

use crate::chart::{Chart, Line};
use crate::ground::Ground;
use crate::report::Report;
use crate::run::{Sample, ended, in_turn, ms};

/// Rounds of each figure, after one that does not count.
const ROUNDS: usize = 5;
/// The commands of `watchbill` that look at all boards.
const COMMANDS: [&str; 4] = ["check", "status", "report", "page"];
/// Exit codes of a look that counts. With 1 and 2 a command reports findings, such as that no timer starts the watchers here.
const LOOKED: [i32; 3] = [0, 1, 2];

/// What grows, and the boards of each step.
struct Series {
    title: &'static str,
    unit: &'static str,
    steps: Vec<(usize, Step)>,
}

/// What is looked at.
enum Step {
    /// One board.
    Board(Sizes),
    /// A Hermes root with this many boards of 100 tasks, of which 10 are open.
    Root(usize),
}

fn series() -> [Series; 4] {
    let board = |n: usize, sizes: Sizes| (n, Step::Board(sizes));
    let stored = [1_000, 10_000, 100_000, 1_000_000];
    let open = [10, 60, 600, 5_000];
    let running = [1, 10, 100, 1_000];
    let some = |tasks: usize, open: usize| {
        let sixth = open / 6;
        let (running, blocked, ready) = (sixth.max(1), sixth.max(1), sixth.max(1));
        Sizes { tasks, running, blocked, ready, todo: open - running - blocked - ready }
    };
    let run = |running: usize| Sizes { tasks: 10_000, running, blocked: 10, ready: 10, todo: 10 };
    [
        Series {
            title: "600 open tasks, and more finished ones",
            unit: "tasks stored",
            steps: stored.map(|n| board(n, some(n, 600))).into(),
        },
        Series {
            title: "10,000 tasks, and more of them open",
            unit: "tasks open",
            steps: open.map(|n| board(n, some(10_000, n))).into(),
        },
        Series {
            title: "10,000 tasks, and more of them running",
            unit: "tasks running",
            steps: running.map(|n| board(n, run(n))).into(),
        },
        Series {
            title: "More boards in one root, each with 10 open tasks of 100",
            unit: "boards",
            steps: [1, 10, 50, 200].map(|n| (n, Step::Root(n))).into(),
        },
    ]
}

/// Processor time of each watcher and command, by size; a table each, and the chart.
///
/// # Errors
/// A board cannot be made, or a program fails.
pub(crate) fn growth(ground: &Ground, report: &mut Report) -> Result<Chart> {
    let mut chart = Chart::default();
    for Series { title, unit, steps } in series() {
        let names: Vec<&str> = WATCHERS.iter().copied().chain(COMMANDS).collect();
        let title = format!("{title}: processor time of a look, ms (median of {ROUNDS} in turn)");
        report.table(&title, &format!("{unit} | {}", names.join(" | ")));
        let mut lines: Vec<Line> = names.iter().map(|name| Line::of(name)).collect();
        for (n, step) in steps {
            let folder = tempfile::tempdir_in(ground.dir.path())?;
            let place = made(ground, folder.path(), &step)?;
            let place = place.as_path();
            let mut looks: Vec<_> =
                names.iter().map(|name| move || ended(&mut look(ground, name, place), &LOOKED)).collect();
            let mut things: Vec<&mut dyn FnMut() -> Result<Sample>> =
                looks.iter_mut().map(|l| l as _).collect();
            let figures = in_turn(ROUNDS, &mut things)?;
            let cells: Vec<String> = figures.iter().map(|series| ms(series.cpu())).collect();
            report.row(&format!("{n} | {}", cells.join(" | ")));
            for (line, figure) in lines.iter_mut().zip(&figures) {
                line.points.push((n as f64, figure.cpu()));
            }
        }
        chart.panel(unit, lines);
    }
    Ok(chart)
}

/// Makes what is looked at: the file of a board, or the folder of a root.
fn made(ground: &Ground, folder: &Path, step: &Step) -> Result<PathBuf> {
    match step {
        Step::Board(sizes) => {
            let path = folder.join("kanban.db");
            generate(&path, *sizes, 1, ground.now, 0.4)?;
            Ok(path)
        }
        Step::Root(boards) => {
            let first = folder.join("kanban.db");
            let sizes = Sizes { tasks: 100, running: 2, blocked: 2, ready: 2, todo: 4 };
            generate(&first, sizes, 1, ground.now, 0.4)?;
            for n in 1..*boards {
                let place = folder.join(format!("kanban/boards/board-{n}"));
                fs::create_dir_all(&place)?;
                fs::copy(&first, place.join("kanban.db")).context("a board cannot be copied")?;
            }
            Ok(folder.to_owned())
        }
    }
}

/// A watcher or a command of `watchbill` that only looks, as a person runs it.
fn look(ground: &Ground, name: &str, place: &Path) -> Command {
    let mut command = if WATCHERS.contains(&name) {
        let mut command = ground.command(ground.bin.join(name));
        command.arg("--dry-run");
        command
    } else {
        let mut command = ground.command(ground.bin.join("watchbill"));
        command.arg(name);
        command
    };
    let what = if place.is_dir() { "--hermes-root" } else { "--db" };
    command.args(["--now", &ground.now.0.to_string(), what]).arg(place);
    command.arg("--config").arg(ground.top.join("contrib/watchbill.toml"));
    command
}
