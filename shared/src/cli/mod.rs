//! The command line: one vocabulary of flags, one place that reads environment and clock, one that ends the program.

mod board;
mod budget;
mod check;
mod coord;
mod demo;
mod doctor;
mod generate;
mod heal;
mod match_log;
mod page;
mod pause;
mod providers;
mod replay;
mod summary;
mod ticker;
mod timers;
mod undo;
mod watcher;
mod why;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use serde_json::{Value, json};

use crate::board::BoardId;
use crate::board::discover::{self, Which};
use crate::cache::Cache;
use crate::config::{Config, Loaded};
use crate::error::{Error, Kind, Result};
use crate::host::Host;
use crate::pass::Tools;
use crate::report::{self, Loudness, printable};
use crate::runtime;
use crate::session::opencode::Opencode;
use crate::time::Time;
use crate::watch::Pass;
use crate::watch::distress::SynthesizeDistress;
use crate::watch::route::RouteBlocked;

/// Flags every program has.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common options")]
struct Common {
    /// Use this board file and no other (may be repeated)
    #[arg(long, value_name = "PATH", global = true)]
    db: Vec<PathBuf>,
    /// Use this board of the Hermes root (may be repeated) [default: all of them]
    #[arg(long, value_name = "SLUG", global = true)]
    board: Vec<String>,
    /// Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]
    #[arg(long, value_name = "DIR", global = true)]
    hermes_root: Option<PathBuf>,
    /// Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml
    #[arg(long, value_name = "FILE", env = "WATCHBILL_CONFIG", global = true)]
    config: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
    /// Also say what was left alone, and why
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Print errors only
    #[arg(short, long, conflicts_with = "verbose", global = true)]
    quiet: bool,
    /// Take this as the present time (RFC 3339 or epoch seconds)
    #[arg(long, value_name = "TIME", value_parser = parse_time, global = true)]
    now: Option<Time>,
}

/// Flags every watcher has.
#[derive(Debug, Clone, Args)]
struct WatcherFlags {
    /// Look and say what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Look at this task only
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Apply the steps of a plan made by --dry-run --json, under the same guards
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["dry_run", "facts", "task", "now", "db", "board", "hermes_root"]
    )]
    plan: Option<PathBuf>,
    /// Decide on what an earlier pass saw (from --json -v), and change nothing
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// Leave what came of this pass in this file (*.prom), for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "facts", "task"])]
    metrics: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct WatcherArgs {
    #[command(flatten)]
    watcher: WatcherFlags,
    #[command(flatten)]
    common: Common,
}

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

const HEAL: &str = "Requeue what dead workers left behind, reset crash loops, clear jams and leaked claims";
const DISTRESS: &str =
    "Write the [BLOCKED] card for a worker that cannot, with the true cause and the evidence";

const ROUTE: &str =
    "Move work off providers that refuse it, carry out what orchestrators decide, end holds, close cards";

const BUDGET: &str = "Compare work with its scope and budget, recommend splits, show what needs a person; changes no task's state";

#[derive(Debug, Parser)]
#[command(name = "board", about = "The hand of a worker or a person on a task board")]
struct BoardArgs {
    #[command(subcommand)]
    command: board::Command,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Parser)]
#[command(name = "coord", about = COORD)]
struct CoordArgs {
    #[command(subcommand)]
    command: coord::Command,
    #[command(flatten)]
    target: coord::Target,
    #[command(flatten)]
    common: Common,
}

const COORD: &str = "Agent sessions: spawn, watch, message, notify and abort them, each time in one pass";

#[derive(Debug, Parser)]
#[command(name = "demo", about = "Break a board in a temporary folder, with real processes, and heal it")]
struct DemoArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Parser)]
#[command(
    name = "watchbill",
    about = "One-pass programs that keep a board of AI-agent tasks moving while nobody looks"
)]
struct WatchbillArgs {
    #[command(subcommand)]
    program: Program,
}

#[derive(Debug, Subcommand)]
enum Program {
    #[command(about = HEAL, after_help = watcher::AFTER_HELP)]
    Heal(heal::HealFlags),
    #[command(about = DISTRESS, after_help = watcher::AFTER_HELP)]
    SynthesizeDistress(WatcherArgs),
    #[command(about = ROUTE, after_help = watcher::AFTER_HELP)]
    RouteBlocked(WatcherArgs),
    #[command(about = BUDGET, after_help = budget::AFTER_HELP)]
    BudgetCheck(budget::BudgetArgs),
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

/// The programs that `watchbill` is too, under a link of their name.
const LINKED: [&str; 6] = ["heal", "synthesize-distress", "route-blocked", "budget-check", "board", "coord"];

/// The program that is meant: the executable with all of them goes by the name it was started under, so that a package needs
/// it once, with a link for each of the others.
fn meant<'p>(built: &'p str, arguments: &[OsString]) -> &'p str {
    let name = arguments.first().map(Path::new).and_then(Path::file_name);
    let linked = || LINKED.into_iter().find(|program| name.is_some_and(|name| name == *program));
    if built == "watchbill" { linked().unwrap_or(built) } else { built }
}

/// Runs one of the programs, as its `main`. `built` is the name it was built under.
pub fn main(built: &str, version: &'static str) -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        let what = report::printable(&info.to_string());
        let _ = writeln!(
            std::io::stderr(),
            "a bug in watchbill: {what}; please report it with the command you ran"
        );
        std::process::exit(i32::from(Kind::Bug.code()));
    }));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let code = match parse(meant(built, &arguments), version, &arguments) {
        Ok(called) => called.run(version),
        Err(code) => code,
    };
    ExitCode::from(code)
}

fn parse(program: &str, version: &'static str, arguments: &[OsString]) -> std::result::Result<Program, u8> {
    fn read<P: CommandFactory + FromArgMatches>(
        version: &'static str,
        arguments: &[OsString],
    ) -> std::result::Result<P, Ended> {
        let command = P::command().version(version).max_term_width(100);
        if let Some(made) = generate::asked(command.clone(), arguments) {
            return Err(Ended::Generated(made));
        }
        let matches = command.try_get_matches_from(arguments);
        matches.and_then(|matches| P::from_arg_matches(&matches)).map_err(Ended::Parsed)
    }
    let parsed = match program {
        "heal" => read(version, arguments).map(|HealArgs { args }| Program::Heal(args)),
        "synthesize-distress" => {
            read(version, arguments).map(|DistressArgs { args }| Program::SynthesizeDistress(args))
        }
        "route-blocked" => read(version, arguments).map(|RouteArgs { args }| Program::RouteBlocked(args)),
        "budget-check" => read::<BudgetCheckArgs>(version, arguments).map(|b| Program::BudgetCheck(b.args)),
        "board" => read(version, arguments).map(Program::Board),
        "coord" => read(version, arguments).map(Program::Coord),
        _ => read::<WatchbillArgs>(version, arguments).map(|w| w.program),
    };
    // A monitoring system would take 2 for something it knows of the board.
    let is_check = program == "watchbill" && arguments.get(1).is_some_and(|a| a == "check");
    parsed.map_err(|ended| match ended {
        Ended::Parsed(e) => match (e.use_stderr(), e.print()) {
            (true, _) if is_check => check::UNKNOWN,
            (true, _) => Kind::Usage.code(),
            (false, Ok(())) => 0,
            (false, Err(io)) => output_code(&io),
        },
        Ended::Generated(made) => {
            let shown = made.and_then(|text| print(&String::from_utf8_lossy(&text)));
            shown.unwrap_or_else(|e| {
                let _ = report::say(&mut std::io::stderr().lock(), '3', program, &e.to_string());
                e.kind.code()
            })
        }
    })
}

/// Why there is nothing to run.
enum Ended {
    /// Help or version was asked for, or the arguments are wrong.
    Parsed(clap::Error),
    /// Something was made out of the declarations.
    Generated(Result<Vec<u8>>),
}

impl Program {
    fn run(self, version: &'static str) -> u8 {
        #[cfg(debug_assertions)]
        if std::env::var_os("WATCHBILL_TEST_BUG").is_some() {
            let empty: [u8; 0] = [];
            let _ = empty[std::env::args_os().count()];
        }
        let (name, json, done) = match self {
            Program::Heal(flags) => ("heal", flags.args.common.json, heal::run(&flags, version)),
            Program::SynthesizeDistress(args) => {
                let done = watcher::run(&SynthesizeDistress, &args, version);
                ("synthesize-distress", args.common.json, done)
            }
            Program::RouteBlocked(args) => {
                ("route-blocked", args.common.json, watcher::run(&RouteBlocked, &args, version))
            }
            Program::BudgetCheck(args) => {
                let json = args.args.common.json;
                ("budget-check", json, budget::run(&args, version))
            }
            Program::Board(args) => ("board", args.common.json, board::run(&args)),
            Program::Coord(args) => ("coord", args.common.json, coord::run(&args)),
            Program::Match(args) => ("watchbill match", args.json, match_log::run(&args)),
            Program::Providers(args) => ("watchbill providers", args.common.json, providers::run(&args)),
            Program::Why(args) => ("watchbill why", args.common.json, why::run(&args, version)),
            Program::Report(args) => ("watchbill report", args.common.json, summary::run(&args, version)),
            Program::Check(args) => ("watchbill check", false, Ok(check::run(&args, version))),
            Program::Timers(args) => ("watchbill timers", args.common.json, timers::run(&args)),
            Program::Doctor(args) => ("watchbill doctor", args.common.json, doctor::run(&args, version)),
            Program::Pause(args) => ("watchbill pause", args.common.json, pause::pause(&args)),
            Program::Unpause(args) => ("watchbill unpause", args.common.json, pause::unpause(&args)),
            Program::Replay(args) => ("watchbill replay", args.common.json, replay::run(&args, version)),
            Program::Undo(args) => ("watchbill undo", args.common.json, undo::run(&args, version)),
            Program::Demo(args) => ("watchbill demo", args.json, demo::run(&args)),
        };
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
}

impl Common {
    fn loudness(&self) -> Loudness {
        Loudness { json: self.json, verbose: self.verbose, quiet: self.quiet }
    }

    fn load(&self) -> Result<Loaded> {
        Config::load(self.config.as_deref(), &std::env::vars_os().collect())
    }

    fn boards(&self, config: &Config) -> Result<Vec<BoardId>> {
        let which = Which {
            db: self.db.clone(),
            board: self.board.clone(),
            root: self.hermes_root.clone().or_else(|| config.board.hermes_root.clone()),
            configured: config.board.db.clone(),
        };
        discover::find(&which, &env).map_err(|missing| stored_elsewhere(&which, missing))
    }

    /// The folder whose owner runs the workers: that of a board that is named, else the Hermes root.
    fn root(&self, config: &Config) -> Option<PathBuf> {
        let named = self.db.first().or(config.board.db.as_ref()).and_then(|db| db.parent());
        let given = self.hermes_root.as_deref().or(config.board.hermes_root.as_deref());
        named.map(std::path::Path::to_path_buf).or_else(|| discover::root(given, &env))
    }
}

/// Why no board was found, where Hermes' own configuration says it.
fn stored_elsewhere(which: &Which, missing: Error) -> Error {
    let root = discover::root(which.root.as_deref(), &env).filter(|_| missing.kind == Kind::NoInput);
    let Some((root, backend)) = root.and_then(|r| runtime::foreign_storage(&r).map(|b| (r, b))) else {
        return missing;
    };
    let what = format!("its boards are stored in {}, and only SQLite files can be read", printable(&backend));
    Error::new(Kind::Data, root.display().to_string(), what)
}

/// One reading of the clock, and this machine as it is now.
struct Here {
    now: Time,
    clock_given: bool,
    host: Host,
    clock_offset: i64,
    /// Where Claude Code keeps its transcripts.
    claude: Option<PathBuf>,
    /// Where Codex keeps its rollouts.
    codex: Option<PathBuf>,
    /// opencode, its server and its store.
    opencode: Opencode,
}

impl Here {
    fn look(common: &Common, config: &Config) -> Result<Here> {
        let clock = Time::of_clock();
        // Processes started by the real clock, whatever time a test or a post-mortem asks about.
        let host = Host::here(&config.host, clock)?;
        let clock_offset = host.wall_minus_boot(clock);
        // As the agents themselves read it.
        let home = |named: &str, usual: &str| {
            env(named).map(PathBuf::from).or_else(|| Some(PathBuf::from(env("HOME")?).join(usual)))
        };
        Ok(Here {
            now: common.now.unwrap_or(clock),
            clock_given: common.now.is_some(),
            host,
            clock_offset,
            claude: home("CLAUDE_CONFIG_DIR", ".claude"),
            codex: home("CODEX_HOME", ".codex"),
            opencode: Opencode::of(&env),
        })
    }

    /// What a pass over boards is done with.
    fn tools<'a>(
        &'a self,
        pass: &'a Pass,
        config: &'a Config,
        cache: &'a mut Cache,
        keep_seen: bool,
    ) -> Tools<'a> {
        Tools {
            pass,
            host: &self.host,
            config,
            cache,
            clock_offset: self.clock_offset,
            claude: self.claude.as_deref(),
            codex: self.codex.as_deref(),
            opencode: &self.opencode,
            keep_seen,
        }
    }

    fn pass(&self, program: &'static str, only: Option<String>, dry: bool) -> Pass {
        Pass {
            id: pass_id(program, self.now),
            program,
            now: self.now,
            clock_given: self.clock_given,
            only,
            dry,
        }
    }
}

/// `20261121T031205Z-heal-7f3a`; tests fix it with `WATCHBILL_PASS`.
fn pass_id(program: &str, now: Time) -> String {
    if let Some(given) = env("WATCHBILL_PASS") {
        return given;
    }
    format!("{}-{program}-{}", now.compact(), &random_hex()[..4])
}

/// Eight hex digits nobody can guess twice.
fn random_hex() -> String {
    let mut bytes = [0_u8; 4];
    // Where the kernel gives no randomness, pid and clock still differ between two calls.
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).is_err() {
        bytes =
            (std::process::id() ^ u32::try_from(Time::of_clock().0 & 0xffff_ffff).unwrap_or(0)).to_le_bytes();
    }
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

fn parse_time(s: &str) -> std::result::Result<Time, String> {
    Time::parse(s).ok_or_else(|| "not RFC 3339 or epoch seconds, such as 2026-11-21T03:12:05Z".to_owned())
}

/// What a failed write of our own output means: a closed pipe is nobody's fault (`heal | head -1`), a full disk is.
fn output_code(e: &std::io::Error) -> u8 {
    if e.kind() == std::io::ErrorKind::BrokenPipe { 0 } else { Kind::Io.code() }
}

/// Writes JSON to stdout, without secrets in any of its texts.
fn print_json(whole: &Value) -> Result<u8> {
    print(&crate::redact::json(&format!("{whole:#}\n")))
}

/// Writes a finished text to stdout.
fn print(text: &str) -> Result<u8> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(0),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
        Err(e) => Err(Error::new(Kind::Io, "stdout", e)),
    }
}
