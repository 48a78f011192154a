//! The programs: for each its command line and what it does. An executable calls one function of these and links what that one
//! needs; the one of `watchbill` has them all.

use std::ffi::OsString;
use std::io::Write;
use std::marker::PhantomData;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;

use super::budget::BudgetArgs;
use super::heal::HealFlags;
use super::{
    Common, WatcherArgs, board, budget, check, coord, demo, doctor, generate, heal, match_log, output_code,
    pause, print, print_json, providers, replay, summary, timers, undo, watcher, why,
};
use crate::error::{Kind, Result};
use crate::registry::for_each_watcher;
use crate::report;
use crate::watch::budget::BudgetCheck;
use crate::watch::heal::Heal;
use crate::watch::{self, Watcher};

const COORD: &str = "Agent sessions: spawn, watch, message, notify and abort them, each time in one pass";

/// The flags of a watcher's program, and what it does with them.
trait Flags<W: Watcher>: clap::Args {
    /// The end of its help.
    const AFTER_HELP: &'static str = watcher::AFTER_HELP;

    fn common(&self) -> &Common;

    fn run(&self, version: &str) -> Result<u8>;
}

/// A watcher that has no flags of its own.
impl<W: Watcher> Flags<W> for WatcherArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn run(&self, version: &str) -> Result<u8> {
        watcher::run::<W>(self, version)
    }
}

impl Flags<Heal> for HealFlags {
    fn common(&self) -> &Common {
        &self.args.common
    }

    fn run(&self, version: &str) -> Result<u8> {
        heal::run(self, version)
    }
}

impl Flags<BudgetCheck> for BudgetArgs {
    const AFTER_HELP: &'static str = budget::AFTER_HELP;

    fn common(&self) -> &Common {
        &self.args.common
    }

    fn run(&self, version: &str) -> Result<u8> {
        budget::run(self, version)
    }
}

/// The command line of a watcher that is a program by itself.
#[derive(Parser)]
#[command(name = W::NAME, about = W::SPEC.about, after_help = F::AFTER_HELP)]
struct Alone<W: Watcher, F: Flags<W>> {
    #[command(flatten)]
    flags: F,
    #[arg(skip)]
    watcher: PhantomData<W>,
}

macro_rules! command_lines {
    ($($module:ident::$watcher:ident, $constant:ident = $program:literal, $flags:ident;)*) => {
        #[derive(Debug, Subcommand)]
        enum WatcherCommand {
            $(
                #[command(
                    name = $program,
                    about = watch::$module::$watcher::SPEC.about,
                    after_help = <$flags as Flags<watch::$module::$watcher>>::AFTER_HELP
                )]
                $watcher($flags),
            )*
        }

        impl WatcherCommand {
            fn run(&self, version: &str) -> Ran {
                match self {
                    $(WatcherCommand::$watcher(flags) => pass::<watch::$module::$watcher, _>(flags, version),)*
                }
            }
        }

        $(
            #[doc = concat!("Runs `", $program, "`, as its `main`. `version`: what `--version` prints; the same below.")]
            pub fn $module(version: &'static str) -> ExitCode {
                start::<Alone<watch::$module::$watcher, $flags>>(version)
            }
        )*

        /// The watcher that an executable was started as.
        fn watcher_named(name: &str) -> Option<fn(&'static str) -> ExitCode> {
            match name {
                $($program => Some($module),)*
                _ => None,
            }
        }
    };
}
for_each_watcher!(command_lines);

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
    #[command(flatten)]
    Watcher(WatcherCommand),
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

impl<W: Watcher, F: Flags<W>> Program for Alone<W, F> {
    fn run(self, version: &'static str) -> Ran {
        pass(&self.flags, version)
    }
}

/// What a watcher's program does.
fn pass<W: Watcher, F: Flags<W>>(flags: &F, version: &str) -> Ran {
    Ran { name: W::NAME, json: flags.common().json, done: flags.run(version) }
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
            Command::Watcher(command) => command.run(version),
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
        Some("board") => board(version),
        Some("coord") => coord(version),
        _ => match name.and_then(watcher_named) {
            Some(watcher) => watcher(version),
            None => start::<WatchbillArgs>(version),
        },
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
