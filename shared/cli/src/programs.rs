//! The programs: for each its command line and what it does. An executable calls one function of these and links what that one
//! needs; the one of `watchbill` has them all.

use std::ffi::OsString;
use std::io::Write;
use std::marker::PhantomData;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;
use signal_hook::consts::SIGXFSZ;

use super::budget::BudgetArgs;
use super::heal::HealFlags;
use super::{
    Common, WatcherArgs, board, budget, check, coord, demo, doctor, forget, generate, heal, init, match_log,
    notify, output_code, page, pause, print, print_json, providers, replay, run, status, summary, timers,
    undo, watcher, why,
};
use base::error::{Kind, Result};
use base::for_each_watcher;
use ops::report;
use watch::budget::BudgetCheck;
use watch::heal::Heal;
use watch::{self, Watcher};

const COORD: &str = "Start, watch, message and stop agent sessions; each call is one pass";

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
#[command(name = "board", about = "Read and change tasks on a board, as a worker or the operator")]
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
#[command(
    name = "watchbill",
    about = "Keep a board of AI-agent tasks moving without supervision, with one-pass programs"
)]
struct WatchbillArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Watcher(WatcherCommand),
    /// Run one pass of every watcher that is due, one after the other, and exit
    Run(run::RunArgs),
    /// Read and change tasks on a board, as a worker or the operator
    Board(BoardArgs),
    #[command(about = COORD)]
    Coord(CoordArgs),
    /// Show a board with failures in a temporary folder, with real processes, and the watchers that repair it
    Demo(demo::DemoArgs),
    /// Show how each line of a worker's log is read
    Match(match_log::MatchArgs),
    /// Show each provider: its state, the profiles that use it, and the tasks that wait for it
    Providers(providers::ProvidersArgs),
    /// Explain a task's state: root cause, what each watcher would do next, and commands to run
    Why(why::WhyArgs),
    /// Show on one screen what needs you now, grouped by cause, with the command for each
    Status(status::StatusArgs),
    /// Write an HTML page about all boards: what needs you, what waits, what was done, and what it cost
    Page(page::PageArgs),
    /// Send a message about what began or stopped to need you, to the targets in the configuration
    Notify(notify::NotifyArgs),
    /// Print what happened on the boards in the last hours: what needs you, what waits, what was repaired or skipped
    Report(summary::ReportArgs),
    /// Check the setup (read-only)
    Doctor(doctor::DoctorArgs),
    /// Set up everything: ask questions, write the configuration, install the timers, send a test message
    Init(init::InitArgs),
    /// Install, show or remove the systemd timers or cron jobs that run the watchers
    Timers(timers::TimersArgs),
    /// Print one status line for a monitoring system, with the exit codes of a plugin
    Check(check::CheckArgs),
    /// Stop all changes by watchers on a board, until a time or until `unpause`
    Pause(pause::PauseArgs),
    /// End a pause
    Unpause(pause::UnpauseArgs),
    /// Forget that a board was there: it was removed, or replaced by another one, on purpose
    Forget(forget::ForgetArgs),
    /// Show what the watchers would have done with another configuration
    #[command(after_help = replay::AFTER_HELP)]
    Replay(replay::ReplayArgs),
    /// Undo what a watcher did, where the board has not changed since
    #[command(after_help = undo::AFTER_HELP)]
    Undo(undo::UndoArgs),
}

/// A program: its command line, and what it does.
trait Program: CommandFactory + FromArgMatches {
    fn run(self, version: &'static str) -> Ran;

    /// The exit code where the arguments are wrong. `said`: what is wrong with them.
    fn usage(_arguments: &[OsString], _said: &str) -> u8 {
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
    #[cfg(debug_assertions)]
    bug_in(W::NAME);
    Ran { name: W::NAME, json: flags.common().json, done: flags.run(version) }
}

impl Program for BoardArgs {
    fn run(self, _version: &'static str) -> Ran {
        Ran { name: "board", json: self.common.json, done: board::run(&self.command, &self.common) }
    }
}

impl Program for CoordArgs {
    fn run(self, _version: &'static str) -> Ran {
        Ran {
            name: "coord",
            json: self.common.json,
            done: coord::run(&self.command, &self.target, &self.common),
        }
    }
}

impl Program for WatchbillArgs {
    fn run(self, version: &'static str) -> Ran {
        let ran = |name, json, done| Ran { name, json, done };
        match self.command {
            Command::Watcher(command) => command.run(version),
            Command::Board(args) => args.run(version),
            Command::Coord(args) => args.run(version),
            Command::Run(args) => ran("watchbill run", args.common.json, run::run(&args, version)),
            Command::Match(args) => ran("watchbill match", args.json, match_log::run(&args)),
            Command::Providers(args) => ran("watchbill providers", args.common.json, providers::run(&args)),
            Command::Why(args) => ran("watchbill why", args.common.json, why::run(&args, version)),
            Command::Report(args) => ran("watchbill report", args.common.json, summary::run(&args, version)),
            Command::Status(args) => ran("watchbill status", args.common.json, status::run(&args, version)),
            Command::Page(args) => ran("watchbill page", args.common.json, page::run(&args, version)),
            Command::Notify(args) => ran("watchbill notify", args.common.json, notify::run(&args, version)),
            Command::Check(args) => ran("watchbill check", false, Ok(check::run(&args, version))),
            Command::Timers(args) => ran("watchbill timers", args.common.json, timers::run(&args)),
            Command::Init(args) => ran("watchbill init", args.common.json, init::run(&args, version)),
            Command::Doctor(args) => ran("watchbill doctor", args.common.json, doctor::run(&args, version)),
            Command::Pause(args) => ran("watchbill pause", args.common.json, pause::pause(&args)),
            Command::Forget(args) => ran("watchbill forget", args.common.json, forget::run(&args)),
            Command::Unpause(args) => ran("watchbill unpause", args.common.json, pause::unpause(&args)),
            Command::Replay(args) => ran("watchbill replay", args.common.json, replay::run(&args, version)),
            Command::Undo(args) => ran("watchbill undo", args.common.json, undo::run(&args, version)),
            Command::Demo(args) => ran("watchbill demo", args.json, demo::run(&args)),
        }
    }

    fn usage(arguments: &[OsString], said: &str) -> u8 {
        // A monitoring system would take 2 for something it knows of the board, and shows stdout alone.
        let is_check = arguments.get(1).is_some_and(|a| a == "check");
        if is_check { check::misused(arguments, said) } else { Kind::Usage.code() }
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
    // Beyond the limit of `ulimit -f` a write then fails, and is told like any other that does. A command that we start has the signal as
    // it was.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(match parse::<P>(version, &arguments) {
        Ok(program) => end(program, version),
        Err(code) => code,
    })
}

/// The program as it was called, or the exit code where help, a version or something generated was asked for, or the arguments
/// are wrong.
fn parse<P: Program>(version: &'static str, arguments: &[OsString]) -> std::result::Result<P, u8> {
    let command = without_unused(P::command()).version(version).max_term_width(100);
    if let Some(made) = generate::asked(&command, arguments) {
        let shown = made.and_then(|text| print(&String::from_utf8_lossy(&text)));
        return Err(shown.unwrap_or_else(|e| {
            let _ = report::say(&mut std::io::stderr().lock(), '3', command.get_name(), &e.to_string());
            e.kind.code()
        }));
    }
    let name = command.get_name().to_owned();
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| P::from_arg_matches(&matches));
    parsed.map_err(without_traps).map_err(|e| with_hint(e, arguments, &name)).map_err(|e| {
        match (e.use_stderr(), e.print()) {
            (true, _) => P::usage(arguments, &e.to_string()),
            (false, Ok(())) => 0,
            (false, Err(io)) => output_code(&io),
        }
    })
}

/// Hides common options in the help of the subcommands of `board` and `coord` on which they have no effect. Each is still
/// accepted.
fn without_unused(command: clap::Command) -> clap::Command {
    match command.get_name() {
        "watchbill" => {
            command.mut_subcommand("board", without_unused).mut_subcommand("coord", without_unused)
        }
        "board" | "coord" => {
            let common: Vec<Arg> = command.get_arguments().cloned().collect();
            command.mut_subcommands(|sub| {
                let unused = common.iter().filter(|arg| is_unused(sub.get_name(), arg.get_id().as_str()));
                let unused: Vec<Arg> = unused.map(|arg| arg.clone().hide(true)).collect();
                sub.args(unused)
            })
        }
        _ => command,
    }
}

/// Whether a common option has no effect on a subcommand of `board` or `coord`.
fn is_unused(subcommand: &str, option: &str) -> bool {
    match subcommand {
        "init" => ["board", "hermes_root", "verbose", "quiet", "now"].contains(&option),
        "grant" | "upgrade" => ["verbose", "now"].contains(&option),
        "protocol" => option != "json",
        "events" => ["server", "verbose"].contains(&option),
        "detect" => false,
        _ => option == "verbose",
    }
}

/// What people type who know other programs, and what it is called here.
const HINTS: [(&str, &str); 6] = [
    ("watch", "watchbill status --watch"),
    ("list", "board list"),
    ("ls", "board list"),
    ("version", "watchbill --version"),
    ("start", "watchbill timers install"),
    ("log", "watchbill report"),
];

/// The error of a word that means something else elsewhere, with the command it stands for in the place of words that look alike.
fn with_hint(mut e: clap::Error, arguments: &[OsString], program: &str) -> clap::Error {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let Some(ContextValue::String(word)) = e.get(ContextKind::InvalidSubcommand) else { return e };
    // Not a word behind another one, such as `timers list`.
    let is_first = program == "watchbill" && arguments.get(1).is_some_and(|first| first == word.as_str());
    let hint = HINTS.iter().find(|(typed, _)| is_first && typed == word).map(|(_, hint)| *hint);
    if let Some(hint) = hint.filter(|_| e.kind() == ErrorKind::InvalidSubcommand) {
        e.remove(ContextKind::SuggestedSubcommand);
        e.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![format!("did you mean `{hint}`?").into()]),
        );
    }
    e
}

/// What a mistyped word never leads to: it would change something the person did not ask for.
const NEVER_MEANT: [&str; 6] = ["pause", "unpause", "forget", "undo", "remove", "prune"];

/// The error without suggestions that would do harm, and without the one to pass an unknown flag as a value.
fn without_traps(mut e: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue] {
        let Some(value) = e.remove(kind) else { continue };
        let all = match value {
            ContextValue::String(one) => vec![one],
            ContextValue::Strings(all) => all,
            _ => continue,
        };
        let kept: Vec<String> =
            all.into_iter().filter(|name| !NEVER_MEANT.contains(&name.as_str())).collect();
        match kept.len() {
            0 => {}
            1 => drop(e.insert(kind, ContextValue::String(kept.concat()))),
            _ => drop(e.insert(kind, ContextValue::Strings(kept))),
        }
    }
    if e.kind() == ErrorKind::UnknownArgument {
        e.remove(ContextKind::Suggested);
    }
    e
}

/// A bug, where a test asks for one: in a watcher by its name, in every program by `1`.
#[cfg(debug_assertions)]
fn bug_in(what: &str) {
    if std::env::var_os("WATCHBILL_TEST_BUG").is_some_and(|asked| asked == what) {
        let empty: [u8; 0] = [];
        let _ = empty[std::env::args_os().count()];
    }
}

/// Runs it, says what went wrong, if anything did, and gives the exit code.
fn end<P: Program>(program: P, version: &'static str) -> u8 {
    #[cfg(debug_assertions)]
    bug_in("1");
    let Ran { name, json, done } = program.run(version);
    done.unwrap_or_else(|e| {
        let _ = report::say(&mut std::io::stderr().lock(), '3', name, &e.to_string());
        // With `--json` one object is printed, whatever happens; not where stdout itself is what failed.
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
