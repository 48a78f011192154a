//! The programs: for each its command line and what it does. An executable calls one function of these and links what that one
//! needs; the one of `watchbill` has them all.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;

use super::{
    Common, WatcherArgs, board, budget, check, coord, demo, doctor, generate, heal, match_log, output_code,
    pause, print, print_json, providers, replay, summary, timers, undo, watcher, why,
};
use crate::error::{Kind, Result};
use crate::report;
use crate::watch::distress::SynthesizeDistress;
use crate::watch::route::RouteBlocked;

const HEAL: &str = "Requeue what dead workers left behind, reset crash loops, clear jams and leaked claims";
const DISTRESS: &str =
    "Write the [BLOCKED] card for a worker that cannot, with the true cause and the evidence";
const ROUTE: &str =
    "Move work off providers that refuse it, carry out what orchestrators decide, end holds, close cards";
const BUDGET: &str = "Compare work with its scope and budget, recommend splits, show what needs a person; changes no task's state";
const COORD: &str = "Agent sessions: spawn, watch, message, notify and abort them, each time in one pass";

#[derive(Debug, Parser)]
#[command(name = "heal", about = HEAL, after_help = watcher::AFTER_HELP)]
struct HealArgs {
    #[command(flatten)]
    args: heal::HealFlags,
}

#[derive(Debug, Parser)]
#[command(name = "synthesize-distress", about = DISTRESS, after_help = watcher::AFTER_HELP)]
struct DistressArgs {
    #[command(flatten)]
    args: WatcherArgs,
}

#[derive(Debug, Parser)]
#[command(name = "route-blocked", about = ROUTE, after_help = watcher::AFTER_HELP)]
struct RouteArgs {
    #[command(flatten)]
    args: WatcherArgs,
}

#[derive(Debug, Parser)]
#[command(name = "budget-check", about = BUDGET, after_help = budget::AFTER_HELP)]
struct BudgetCheckArgs {
    #[command(flatten)]
    args: budget::BudgetArgs,
}

#[derive(Debug, Parser)]
#[command(name = "board", about = "The hand of a worker or a person on a task board")]
pub(super) struct BoardArgs {
    #[command(subcommand)]
    pub(super) command: board::Command,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Parser)]
#[command(name = "coord", about = COORD)]
pub(super) struct CoordArgs {
    #[command(subcommand)]
    pub(super) command: coord::Command,
    #[command(flatten)]
    pub(super) target: coord::Target,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Parser)]
#[command(name = "demo", about = "Break a board in a temporary folder, with real processes, and heal it")]
pub(super) struct DemoArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Parser)]
#[command(
    name = "watchbill",
    about = "One-pass programs that keep a board of AI-agent tasks moving while nobody looks"
)]
struct WatchbillArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(about = HEAL, after_help = watcher::AFTER_HELP)]
    Heal(HealArgs),
    #[command(about = DISTRESS, after_help = watcher::AFTER_HELP)]
    SynthesizeDistress(DistressArgs),
    #[command(about = ROUTE, after_help = watcher::AFTER_HELP)]
    RouteBlocked(RouteArgs),
    #[command(about = BUDGET, after_help = budget::AFTER_HELP)]
    BudgetCheck(BudgetCheckArgs),
    /// The hand of a worker or a person on a task board
    Board(BoardArgs),
    #[command(about = COORD)]
    Coord(CoordArgs),
    /// Break a board in a temporary folder, with real processes, and heal it
    Demo(DemoArgs),
    /// Show line by line what is read out of a worker's log
    Match(match_log::MatchArgs),
    /// Show who works with which provider, how each stands, and what waits for it
    Providers(providers::ProvidersArgs),
    /// Say why a task stands as it stands: the true cause, what every watcher would do with it now, and what a person can run
    Why(why::WhyArgs),
    /// Say what happened to the boards since some hours: who is needed, what waits, what was healed, what was left alone
    Report(summary::ReportArgs),
    /// Look whether everything is in place for the watchers, and change nothing
    Doctor(doctor::DoctorArgs),
    /// Have the watchers started by systemd or cron, and take that away again
    Timers(timers::TimersArgs),
    /// Say in one line how it stands, with the exit codes of a monitoring plugin
    Check(check::CheckArgs),
    /// Stop all changes by watchers on a board, until a time or until `unpause`
    Pause(pause::PauseArgs),
    /// End a pause
    Unpause(pause::UnpauseArgs),
    /// Show what the watchers would have done under another policy, by what they saw
    #[command(after_help = replay::AFTER_HELP)]
    Replay(replay::ReplayArgs),
    /// Take back what a watcher did, where the board still is as it left it
    #[command(after_help = undo::AFTER_HELP)]
    Undo(undo::UndoArgs),
}

/// A program: its command line, and what it does.
trait Program: CommandFactory + FromArgMatches {
    fn run(self, version: &'static str) -> Ran;

    /// The exit code where the arguments are wrong.
    fn usage(_arguments: &[OsString]) -> u8 {
        Kind::Usage.code()
    }
}

/// What became of a run.
struct Ran {
    /// The program, and the subcommand of `watchbill`, as errors begin.
    name: &'static str,
    /// One JSON object was asked for.
    json: bool,
    done: Result<u8>,
}

impl Program for HealArgs {
    fn run(self, version: &'static str) -> Ran {
        let json = self.args.args.common.json;
        Ran { name: "heal", json, done: heal::run(&self.args, version) }
    }
}

impl Program for DistressArgs {
    fn run(self, version: &'static str) -> Ran {
        let done = watcher::run(&SynthesizeDistress, &self.args, version);
        Ran { name: "synthesize-distress", json: self.args.common.json, done }
    }
}

impl Program for RouteArgs {
    fn run(self, version: &'static str) -> Ran {
        let done = watcher::run(&RouteBlocked, &self.args, version);
        Ran { name: "route-blocked", json: self.args.common.json, done }
    }
}

impl Program for BudgetCheckArgs {
    fn run(self, version: &'static str) -> Ran {
        let json = self.args.args.common.json;
        Ran { name: "budget-check", json, done: budget::run(&self.args, version) }
    }
}

impl Program for BoardArgs {
    fn run(self, _version: &'static str) -> Ran {
        Ran { name: "board", json: self.common.json, done: board::run(&self) }
    }
}

impl Program for CoordArgs {
    fn run(self, _version: &'static str) -> Ran {
        Ran { name: "coord", json: self.common.json, done: coord::run(&self) }
    }
}

impl Program for WatchbillArgs {
    fn run(self, version: &'static str) -> Ran {
        let ran = |name, json, done| Ran { name, json, done };
        match self.command {
            Command::Heal(args) => args.run(version),
            Command::SynthesizeDistress(args) => args.run(version),
            Command::RouteBlocked(args) => args.run(version),
            Command::BudgetCheck(args) => args.run(version),
            Command::Board(args) => args.run(version),
            Command::Coord(args) => args.run(version),
            Command::Match(args) => ran("watchbill match", args.json, match_log::run(&args)),
            Command::Providers(args) => ran("watchbill providers", args.common.json, providers::run(&args)),
            Command::Why(args) => ran("watchbill why", args.common.json, why::run(&args, version)),
            Command::Report(args) => ran("watchbill report", args.common.json, summary::run(&args, version)),
            Command::Check(args) => ran("watchbill check", false, Ok(check::run(&args, version))),
            Command::Timers(args) => ran("watchbill timers", args.common.json, timers::run(&args)),
            Command::Doctor(args) => ran("watchbill doctor", args.common.json, doctor::run(&args, version)),
            Command::Pause(args) => ran("watchbill pause", args.common.json, pause::pause(&args)),
            Command::Unpause(args) => ran("watchbill unpause", args.common.json, pause::unpause(&args)),
            Command::Replay(args) => ran("watchbill replay", args.common.json, replay::run(&args, version)),
            Command::Undo(args) => ran("watchbill undo", args.common.json, undo::run(&args, version)),
            Command::Demo(args) => ran("watchbill demo", args.json, demo::run(&args)),
        }
    }

    fn usage(arguments: &[OsString]) -> u8 {
        // A monitoring system would take 2 for something it knows of the board.
        let is_check = arguments.get(1).is_some_and(|a| a == "check");
        if is_check { check::UNKNOWN } else { Kind::Usage.code() }
    }
}

/// Runs `heal`, as its `main`. `version`: what `--version` prints; the same below.
pub fn heal(version: &'static str) -> ExitCode {
    start::<HealArgs>(version)
}

/// Runs `synthesize-distress`.
pub fn synthesize_distress(version: &'static str) -> ExitCode {
    start::<DistressArgs>(version)
}

/// Runs `route-blocked`.
pub fn route_blocked(version: &'static str) -> ExitCode {
    start::<RouteArgs>(version)
}

/// Runs `budget-check`.
pub fn budget_check(version: &'static str) -> ExitCode {
    start::<BudgetCheckArgs>(version)
}

/// Runs `board`.
pub fn board(version: &'static str) -> ExitCode {
    start::<BoardArgs>(version)
}

/// Runs `coord`.
pub fn coord(version: &'static str) -> ExitCode {
    start::<CoordArgs>(version)
}

/// Runs `watchbill`, or the program it was started as: a package needs this executable once, with a link for each of the others.
pub fn watchbill(version: &'static str) -> ExitCode {
    let started_as = std::env::args_os().next();
    let name = started_as.as_deref().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
    match name {
        Some("heal") => heal(version),
        Some("synthesize-distress") => synthesize_distress(version),
        Some("route-blocked") => route_blocked(version),
        Some("budget-check") => budget_check(version),
        Some("board") => board(version),
        Some("coord") => coord(version),
        _ => start::<WatchbillArgs>(version),
    }
}

fn start<P: Program>(version: &'static str) -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        let what = report::printable(&info.to_string());
        let _ = writeln!(
            std::io::stderr(),
            "a bug in watchbill: {what}; please report it with the command you ran"
        );
        std::process::exit(i32::from(Kind::Bug.code()));
    }));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(match parse::<P>(version, &arguments) {
        Ok(program) => end(program, version),
        Err(code) => code,
    })
}

/// The program as it was called, or the exit code where help, a version or something generated was asked for, or the arguments
/// are wrong.
fn parse<P: Program>(version: &'static str, arguments: &[OsString]) -> std::result::Result<P, u8> {
    let command = P::command().version(version).max_term_width(100);
    if let Some(made) = generate::asked(&command, arguments) {
        let shown = made.and_then(|text| print(&String::from_utf8_lossy(&text)));
        return Err(shown.unwrap_or_else(|e| {
            let _ = report::say(&mut std::io::stderr().lock(), '3', command.get_name(), &e.to_string());
            e.kind.code()
        }));
    }
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| P::from_arg_matches(&matches));
    parsed.map_err(|e| match (e.use_stderr(), e.print()) {
        (true, _) => P::usage(arguments),
        (false, Ok(())) => 0,
        (false, Err(io)) => output_code(&io),
    })
}

/// Runs it, says what went wrong, if anything did, and gives the exit code.
fn end<P: Program>(program: P, version: &'static str) -> u8 {
    #[cfg(debug_assertions)]
    if std::env::var_os("WATCHBILL_TEST_BUG").is_some() {
        let empty: [u8; 0] = [];
        let _ = empty[std::env::args_os().count()];
    }
    let Ran { name, json, done } = program.run(version);
    done.unwrap_or_else(|e| {
        let _ = report::say(&mut std::io::stderr().lock(), '3', name, &e.to_string());
        // Whoever asked for JSON gets one object, whatever happens; not where stdout itself is what failed.
        if json && e.kind != Kind::Io {
            let whole = json!({
                "schema": report::REPORT_SCHEMA, "program": name, "version": version, "boards": [],
                "exit": e.kind.code(), "error": e.to_string(),
            });
            let _ = print_json(&whole);
        }
        e.kind.code()
    })
}
