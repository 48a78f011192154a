//! The command line: one vocabulary of flags, one place that reads environment and clock, one that ends the program.

#[cfg(test)]
mod advised;
mod board;
mod budget;
mod check;
mod coord;
mod demo;
mod doctor;
mod exclusive;
mod forget;
mod generate;
mod heal;
mod hosts;
mod init;
mod match_log;
mod notify;
mod page;
mod pause;
pub mod programs;
mod providers;
mod replay;
mod run;
mod signals;
mod standing;
mod status;
mod summary;
mod ticker;
mod timers;
mod told;
mod undo;
mod watcher;
mod why;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use ::board::discover::{self, Which};
use ::board::{BoardId, Location};
use ::coord::opencode::Opencode;
use base::count::first_few;
use base::error::{Error, Kind, Result};
use base::quote;
use base::time::Time;
use config::{Config, Loaded};
use host::Host;
use logs::agents::Homes;
use logs::cache::Cache;
use ops::pass::{Tools, history};
use ops::report::{Loudness, say};
use policy::Pass;

/// Most boards that a line names.
const MAX_NAMED: usize = 4;

/// Flags every program has.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common options")]
struct Common {
    /// Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)
    #[arg(long, value_name = "PATH", global = true)]
    db: Vec<PathBuf>,
    /// Use only this board of the Hermes root (may be repeated) [default: all boards]
    #[arg(long, value_name = "SLUG", global = true)]
    board: Vec<String>,
    /// Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]
    #[arg(long, value_name = "DIR", global = true)]
    hermes_root: Option<PathBuf>,
    /// Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml
    #[arg(long, value_name = "FILE", env = "WATCHBILL_CONFIG", global = true)]
    config: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
    /// Also print what was skipped, and the reason
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Print errors only
    #[arg(short, long, conflicts_with = "verbose", global = true)]
    quiet: bool,
    /// Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db
    #[arg(long, value_name = "TIME", value_parser = parse_time, global = true)]
    now: Option<Time>,
}

/// Flags every watcher has.
#[derive(Debug, Clone, Args)]
struct WatcherFlags {
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Check only this task: its id, with or without t_, the start of its id, or words of its title
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Apply the steps of a plan made by --dry-run --json, under the same guards
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["dry_run", "facts", "task", "now", "db", "board", "hermes_root"]
    )]
    plan: Option<PathBuf>,
    /// Decide from the data of an earlier pass (its --json -v output), and change nothing
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// Write the metrics of this pass to this file (*.prom), for the textfile collector of node_exporter
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

impl Common {
    /// The flags that lead another program to the same boards, at the same time.
    fn same_boards(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        let mut flag = |name: &str, value: &Path| words.extend([name.into(), value.into()]);
        self.db.iter().for_each(|db| flag("--db", db));
        self.board.iter().for_each(|slug| flag("--board", Path::new(slug)));
        self.hermes_root.iter().for_each(|root| flag("--hermes-root", root));
        self.config.iter().for_each(|file| flag("--config", file));
        self.now.iter().for_each(|now| flag("--now", Path::new(&now.0.to_string())));
        words
    }

    /// Whether the boards are named in a way that a command must repeat: by a file or a root.
    fn by_file(&self) -> bool {
        !self.db.is_empty() || self.hermes_root.is_some()
    }

    fn loudness(&self) -> Loudness {
        let watched = std::io::stderr().is_terminal();
        Loudness { json: self.json, verbose: self.verbose, quiet: self.quiet, watched }
    }

    fn load(&self) -> Result<Loaded> {
        // Taken for not set, such a name would lead to another board.
        if let Some(name) = NAMES_PLACES.iter().find(|name| is_not_text(name)) {
            let what = "is set to a path that is not UTF-8";
            return Err(Error::new(Kind::Config, *name, what).hint("rename the folder, or link to it"));
        }
        Config::load(self.config.as_deref(), &std::env::vars_os().collect())
    }

    fn boards(&self, config: &Config) -> Result<Vec<BoardId>> {
        self.boards_and(BTreeSet::new(), config)
    }

    /// The same, with those that earlier passes looked at and whose files are lost.
    fn boards_seen(&self, cache: &Cache, config: &Config) -> Result<Vec<BoardId>> {
        self.boards_and(history::seen_before(cache), config)
    }

    fn boards_and(&self, seen: BTreeSet<PathBuf>, config: &Config) -> Result<Vec<BoardId>> {
        let (which, found) = self.found(seen, config)?;
        // Else each pass of a timer would say it, and cron would mail it.
        if std::io::stderr().is_terminal() {
            self.tell_of_another(&which, &found);
        }
        Ok(found)
    }

    fn found(&self, seen: BTreeSet<PathBuf>, config: &Config) -> Result<(Which, Vec<BoardId>)> {
        let which = Which {
            db: self.located()?,
            board: self.board.clone(),
            root: self.hermes_root.clone().or_else(|| config.board.hermes_root.clone()),
            configured: config.board.db.clone(),
            seen,
        };
        let found = discover::find(&which, &env).map_err(|missing| stored_elsewhere(&which, missing))?;
        Ok((which, found))
    }

    /// Says once which boards are taken in the place of the one that `HERMES_KANBAN_BOARD` names and that is not there.
    fn tell_of_another(&self, which: &Which, taken: &[BoardId]) {
        static IS_SAID: AtomicBool = AtomicBool::new(false);
        let passed_over = discover::passed_over(which, &env).filter(|_| !self.quiet);
        let Some((root, name)) = passed_over.filter(|_| !IS_SAID.swap(true, Ordering::Relaxed)) else {
            return;
        };
        let names = first_few(MAX_NAMED, discover::names(taken).into_iter());
        let what = format!(
            "there is no board {} in {}; as Hermes would, this takes what it takes without that variable: {names}",
            quote::inline(&name, 64),
            root.display()
        );
        let _ = say(&mut std::io::stderr().lock(), '4', "HERMES_KANBAN_BOARD", &what);
    }

    /// The boards of `--db`.
    fn located(&self) -> Result<Vec<Location>> {
        self.db
            .iter()
            .map(|at| Location::read(at.as_os_str()).map_err(|why| Error::new(Kind::Config, "--db", why)))
            .collect()
    }

    /// Refuses names of `--board` of which there is no board. One of them may be on another machine alone.
    fn named_boards(&self, config: &Config, hosts: &hosts::Hosts) -> Result<()> {
        let asks = !self.board.is_empty() && hosts.is_empty();
        let named = if asks { self.boards(config)? } else { Vec::new() };
        named.iter().find_map(discover::missing).map_or(Ok(()), Err)
    }

    /// The folder whose owner runs the workers: that of a board that is named, else the Hermes root.
    fn root(&self, config: &Config) -> Option<PathBuf> {
        let first = self.located().ok().and_then(|named| named.into_iter().next());
        let named = first.as_ref().or(config.board.db.as_ref()).and_then(|at| at.file()?.parent());
        named.map(std::path::Path::to_path_buf).or_else(|| self.hermes_root(config))
    }

    /// The Hermes root: the named or the configured one, else that of the environment.
    fn hermes_root(&self, config: &Config) -> Option<PathBuf> {
        let given = self.hermes_root.as_deref().or(config.board.hermes_root.as_deref());
        discover::root(given, &env)
    }
}

/// Why no board was found, where Hermes' own configuration says it.
fn stored_elsewhere(which: &Which, missing: Error) -> Error {
    let root = discover::root(which.root.as_deref(), &env).filter(|_| missing.kind == Kind::NoInput);
    let Some((root, backend)) = root.and_then(|r| discover::foreign_storage(&r).map(|b| (r, b))) else {
        return missing;
    };
    let what = format!("its boards are stored in {}, and only SQLite files can be read", backend);
    Error::new(Kind::Data, root.display().to_string(), what)
}

/// One reading of the clock, and this machine as it is now.
struct Here {
    now: Time,
    clock_given: bool,
    host: Host,
    clock_offset: i64,
    /// Where agents keep their logs.
    homes: Homes,
    /// opencode, its server and its store.
    opencode: Opencode,
}

impl Here {
    fn look(common: &Common, config: &Config) -> Result<Here> {
        let clock = Time::of_clock();
        // Processes started by the real clock, whatever time a test or a post-mortem asks about.
        let host = Host::here(&config.host.policy(), clock)?;
        let clock_offset = host.wall_minus_boot(clock);
        Ok(Here {
            now: common.now.unwrap_or(clock),
            clock_given: common.now.is_some(),
            host,
            clock_offset,
            homes: Homes::of(env),
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
            homes: &self.homes,
            opencode: &self.opencode,
            keep_seen,
            looks: None,
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

/// Variables that say which board is meant, and where our memory of it lies.
const NAMES_PLACES: [&str; 7] = [
    "HERMES_HOME",
    "HERMES_KANBAN_HOME",
    "HERMES_KANBAN_DB",
    "HERMES_KANBAN_BOARD",
    "WATCHBILL_DB",
    "XDG_STATE_HOME",
    "HOME",
];

fn is_not_text(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value.to_str().is_none())
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// Reads one of these by its name. `about` is what the help says of it; one without that is not accepted.
fn one_of<T>(all: &'static [T], about: fn(T) -> Option<&'static str>) -> impl TypedValueParser<Value = T>
where
    T: Display + Copy + Send + Sync,
{
    let shown = all.iter().filter_map(|one| Some(PossibleValue::new(one.to_string()).help(about(*one)?)));
    let named = |name: String| all.iter().copied().find(|one| one.to_string() == name);
    PossibleValuesParser::new(shown).try_map(move |name| named(name).ok_or("none of these"))
}

fn parse_time(s: &str) -> std::result::Result<Time, String> {
    Time::parse(s).ok_or_else(|| "not RFC 3339 or epoch seconds, such as 2026-11-21T03:12:05Z".to_owned())
}

/// What a failed write of our own output means: a closed pipe is nobody's fault (`heal | head -1`), a full disk is.
fn output_code(e: &std::io::Error) -> u8 {
    if e.kind() == std::io::ErrorKind::BrokenPipe { 0 } else { Kind::Io.code() }
}

/// Whether what is printed is shown in colours: at a terminal, unless `NO_COLOR` is set.
fn has_colours() -> bool {
    std::io::stdout().is_terminal() && env("NO_COLOR").is_none()
}

/// Writes JSON to stdout, without secrets in any of its texts.
fn print_json(whole: &Value) -> Result<u8> {
    print(&base::redact::json(&format!("{whole:#}\n")))
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
