//! `watchbill run`: one round, in which each watcher makes its pass. Each one is a process of its own, started from this executable:
//! a bug in one ends that process, and the next watcher runs all the same.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};

use super::watcher::{self, failures};
use super::{Common, page, print, print_json};
use base::error::{Error, Kind, Result};
use base::time::{Time, words};
use ops::metrics::{self, Ended};
use ops::needs::gauges;
use ops::report::{REPORT_SCHEMA, common_code, say};
use ops::timers::{ROUND, WATCHED, Watched};

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.run/1";
const NAME: &str = "watchbill run";
/// This executable, also where another one lies in its place meanwhile.
const SELF: &str = "/proc/self/exe";

fn after_help() -> String {
    let order = WATCHED.map(|w| w.program).join(", ");
    let rare = WATCHED.into_iter().filter(|w| w.every > ROUND);
    let rare = rare.map(|w| format!("{} every {}", w.program, words(w.every))).collect::<Vec<_>>().join(", ");
    format!(
        "Runs the watchers one after the other: {order}. If one fails, the next one still runs.\n\n\
         With --metrics, a watcher with an interval longer than {} runs only when it is due ({rare}). Its last pass is read \
         from its file in DIR; without such a file, or with --all, it runs.\n\n\
         At the end `watchbill page` writes the HTML page, except with --dry-run; with --metrics also needs.prom.\n\n\
         Exit codes: the common code if all watchers ended with the same; 0 if some ended with 0 and the others with 75; else 1.\n  \
         0   done, whether or not anything changed\n{}",
        words(ROUND),
        failures!()
    )
}

#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub(super) struct RunArgs {
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Also run watchers that are not due
    #[arg(long)]
    all: bool,
    /// Write the metrics of each pass to DIR/NAME.prom, and read from there when a watcher last ran
    #[arg(long, value_name = "DIR")]
    metrics: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// What became of one watcher's pass.
struct Passed {
    exit: u8,
    /// The object that it printed, where one was asked for.
    report: Option<Value>,
}

pub(super) fn run(args: &RunArgs, version: &str) -> Result<u8> {
    let common = &args.common;
    watcher::check_clock(common, !args.dry_run)?;
    let now = common.now.unwrap_or_else(Time::of_clock);
    let (mut codes, mut reports, mut not_due) = (Vec::new(), Vec::new(), Vec::new());
    for watched in WATCHED {
        let name = watched.program;
        let last = args.file(watched).and_then(|file| metrics::record(&file, name)).map(|record| record.at);
        if let Some(next) = watched.next(last, now).filter(|_| !args.all) {
            if common.verbose && !common.json {
                print(&format!("{name}: not due before {next}\n"))?;
            }
            not_due.push(json!({"program": name, "next": next}));
            continue;
        }
        let passed = pass(args, watched, version);
        codes.push(passed.exit);
        reports.extend(passed.report);
    }
    // Where nothing is changed, no page is.
    let page = page::place()
        .filter(|_| !args.dry_run)
        .map(|file| json!({"file": file, "exit": args.page(&mut codes)}));
    let exit = common_code(&codes);
    if common.json {
        let whole = json!({
            "schema": SCHEMA, "version": version, "now": now, "dry_run": args.dry_run, "watchers": reports,
            "not_due": not_due, "page": page, "exit": exit,
        });
        print_json(&whole)?;
    }
    Ok(exit)
}

/// Has one watcher make its pass. What it prints goes where our own output goes, but for its object.
fn pass(args: &RunArgs, watched: Watched, version: &str) -> Passed {
    let name = watched.program;
    let (began, at) = (Instant::now(), args.common.now.unwrap_or_else(Time::of_clock));
    let stdout = if args.common.json { Stdio::piped() } else { Stdio::inherit() };
    let ended = start(args.words(watched)).stdout(stdout).output();
    let (exit, report, fault) = match ended {
        Err(e) => {
            let fault = Error::io(format!("{name} could not be started"), &e);
            (fault.kind.code(), None, Some(fault.to_string()))
        }
        Ok(ended) => {
            let code = ended.status.code().and_then(|code| u8::try_from(code).ok());
            let fault = ended.status.signal().map(|signal| format!("{name} was ended by signal {signal}"));
            (code.unwrap_or(Kind::Bug.code()), serde_json::from_slice(&ended.stdout).ok(), fault)
        }
    };
    if let Some(fault) = &fault {
        complain(fault);
    }
    // Who ended by a bug could not write it down.
    let file = args.file(watched).filter(|_| !args.dry_run && (exit == Kind::Bug.code() || fault.is_some()));
    if let Some(file) = file.filter(|f| metrics::record(f, name).is_none_or(|r| r.at < at)) {
        let ended = Ended { program: name, version, at, took: began.elapsed(), exit, boards: &[] };
        if let Err(e) = metrics::write(&file, &ended) {
            complain(&e.to_string());
        }
    }
    // With `--json` there is an object of each.
    let missing = || {
        let error = fault.unwrap_or_else(|| format!("{name} ended with {exit} and printed no report"));
        json!({
            "schema": REPORT_SCHEMA, "program": name, "version": version, "boards": [], "exit": exit, "error": error,
        })
    };
    Passed { exit, report: args.common.json.then(|| report.unwrap_or_else(missing)) }
}

/// This executable with these arguments. By another name it would be another program.
fn start(words: Vec<OsString>) -> Command {
    let mut command = Command::new(SELF);
    command.arg0("watchbill").args(words).stdin(Stdio::null()).stderr(Stdio::inherit());
    command
}

fn complain(what: &str) {
    let _ = say(&mut std::io::stderr().lock(), '3', NAME, what);
}

impl RunArgs {
    /// Where a watcher leaves what came of its pass.
    fn file(&self, watched: Watched) -> Option<PathBuf> {
        self.metrics.as_ref().map(|folder| folder.join(format!("{}.prom", watched.program)))
    }

    /// The arguments of a watcher's own program.
    fn words(&self, watched: Watched) -> Vec<OsString> {
        let common = &self.common;
        let mut words = self.command(watched.program);
        // What a page is made of is said there.
        let is_quiet = common.quiet || watched.page.is_some() && !self.dry_run && !common.verbose;
        let set = [
            ("--json", common.json),
            ("--verbose", common.verbose),
            ("--quiet", is_quiet),
            ("--dry-run", self.dry_run),
        ];
        words.extend(set.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.into()));
        if let Some(file) = self.file(watched).filter(|_| !self.dry_run) {
            words.extend(["--metrics".into(), file.into()]);
        }
        words
    }

    /// A command for the same boards.
    fn command(&self, name: &str) -> Vec<OsString> {
        std::iter::once(name.into()).chain(self.common.same_boards()).collect()
    }

    /// Has the page written by a process of its own, and gives its exit code. What it could not look at no watcher could: that is told
    /// there, and is not a failure of the page.
    fn page(&self, codes: &mut Vec<u8>) -> u8 {
        let mut words = self.command("page");
        words.push("--quiet".into());
        if let Some(folder) = &self.metrics {
            let needs = folder.join(gauges::FILE);
            words.extend(["--metrics".into(), folder.into(), "--needs".into(), needs.into()]);
        }
        let ended = start(words).stdout(Stdio::null()).status();
        let code = ended.as_ref().ok().and_then(ExitStatus::code).and_then(|code| u8::try_from(code).ok());
        if code.is_none() {
            complain(&format!(
                "the page was not written: {}",
                ended.map_or_else(|e| e.to_string(), |s| s.to_string())
            ));
        }
        let code = code.unwrap_or(Kind::Bug.code());
        codes.extend((code > Kind::Partial.code()).then_some(code));
        code
    }
}
