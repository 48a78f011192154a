//! `watchbill check`: one line for a monitoring system, in the form and with the codes of monitoring plugins.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::standing::Standing;
use super::summary::NIGHT;
use super::{Common, print};
use base::error::{Error, Result};
use ops::doctor::{Finding, Severity};
use ops::needs;
use ops::report::printable;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.check/1";
/// Most bytes of the status line that say what is wrong: some systems cut what is longer.
const MAX_SAID: usize = 900;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes of a monitoring plugin:\n  0   OK\n  1   WARNING: more tasks than -w need you, a board is paused, or a pass could not do everything\n  2   CRITICAL: more tasks than -c need you, a watcher is not scheduled, overdue or failed, the dispatcher is wedged or stopped, tasks are ready and no dispatcher runs, or a board is split, damaged or cannot be written\n  3   UNKNOWN: a board or some of its tasks cannot be read, or wrong usage"
)]
pub(super) struct CheckArgs {
    /// Print WARNING if more tasks than this need you
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    warning: usize,
    /// Print CRITICAL if more tasks than this need you [default: never]
    #[arg(short, long, value_name = "N")]
    critical: Option<usize>,
    /// Read the metrics files of the watchers from this folder [default: that of their timers, else the state folder]
    #[arg(long, value_name = "DIR")]
    metrics: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// How it stands, the best first. The codes and words of the Monitoring Plugins guidelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ok = 0,
    Warning = 1,
    Critical = 2,
    Unknown = 3,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Ok => "OK",
            State::Warning => "WARNING",
            State::Critical => "CRITICAL",
            State::Unknown => "UNKNOWN",
        }
    }

    /// What is known to be bad goes before what is not known, and that before a warning.
    fn rank(self) -> u8 {
        match self {
            State::Ok => 0,
            State::Warning => 1,
            State::Unknown => 2,
            State::Critical => 3,
        }
    }
}

/// Something to say, and how bad it is.
struct News {
    state: State,
    about: String,
    what: String,
}

fn many(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

/// What was counted.
#[derive(Default)]
struct Counts {
    boards: usize,
    /// Those of them that could be read.
    read: usize,
    open: usize,
    people: Vec<String>,
    /// The same in words: those that share what they lack as one.
    said: Vec<String>,
    paused: usize,
    wedged: usize,
    overdue: usize,
}

/// The code of a check that could not be done, whatever kept it: 1 and 2 would say something about the board.
pub(super) const UNKNOWN: u8 = State::Unknown as u8;

pub(super) fn run(args: &CheckArgs, version: &str) -> u8 {
    let (mut counts, mut news) = (Counts::default(), Vec::new());
    if let Err(e) = look(args, &mut counts, &mut news) {
        news.push(News { state: State::Unknown, about: String::new(), what: e.to_string() });
    }
    people(args, &counts, &mut news);
    // Where no board could be looked at, that is behind all the rest.
    let first = |n: &News| counts.read == 0 && n.state == State::Unknown;
    news.sort_by_key(|n| (!first(n), std::cmp::Reverse(n.state.rank())));
    let state = news.iter().map(|n| n.state).max_by_key(|state| state.rank()).unwrap_or(State::Ok);
    let said = match news.is_empty() {
        true => format!(
            "{}, {}, nothing needs a person",
            many(counts.boards, "board"),
            many(counts.open, "open task")
        ),
        false => needs::in_one_line(news.iter().map(|n| (n.about.as_str(), n.what.as_str()))),
    };
    // `|` begins the figures.
    let said = base::clip::clip(&printable(&said).replace('|', "/"), MAX_SAID).to_owned();
    let text = match args.common.json {
        true => {
            let whole = json!({
                "schema": SCHEMA, "version": version, "state": state.word(), "exit": state as u8, "said": said,
                "boards": counts.boards, "open": counts.open, "needs_person": counts.people, "paused": counts.paused,
                "wedged": counts.wedged, "overdue": counts.overdue,
            });
            format!("{whole:#}\n")
        }
        false => format!("WATCHBILL {} - {said} | {}\n", state.word(), figures(args, &counts)),
    };
    match print(&text) {
        Ok(_) => state as u8,
        Err(_) => UNKNOWN,
    }
}

/// `'label'=value;warn;crit;min`, as the guidelines have it: a threshold of 0 is alerted on from 1 on.
fn figures(args: &CheckArgs, counts: &Counts) -> String {
    let critical = args.critical.map_or_else(String::new, |n| n.to_string());
    format!(
        "needs_person={};{};{critical};0 overdue={};;0;0 wedged={};;0;0 paused={};0;;0 open={};;;0 boards={};;;0",
        counts.people.len(),
        args.warning,
        counts.overdue,
        counts.wedged,
        counts.paused,
        counts.open,
        counts.boards
    )
}

fn people(args: &CheckArgs, counts: &Counts, news: &mut Vec<News>) {
    let n = counts.people.len();
    let state = match args.critical {
        Some(most) if n > most => State::Critical,
        _ if n > args.warning => State::Warning,
        _ => return,
    };
    let verb = if n == 1 { "task needs" } else { "tasks need" };
    let some: Vec<&str> = counts.said.iter().take(5).map(String::as_str).collect();
    let more = if counts.said.len() > some.len() { ", ..." } else { "" };
    let what = format!("{n} {verb} a person ({}{more})", some.join(", "));
    news.push(News { state, about: String::new(), what });
}

fn look(args: &CheckArgs, counts: &mut Counts, news: &mut Vec<News>) -> Result<()> {
    let loaded = args.common.load()?;
    let standing = Standing::look(&args.common, &loaded, args.metrics.as_deref(), NIGHT)?;
    counts.overdue = standing.overdue;
    news.extend(standing.machine.iter().filter(|f| needs::is_stopper(f)).filter_map(told));
    for board in &standing.boards {
        counts.boards += 1;
        for f in &board.findings {
            counts.paused += usize::from(f.id == "board-paused");
            counts.wedged += usize::from(f.id == "dispatcher-wedged");
            match f.id {
                "board-unreadable" => news.push(about(State::Unknown, f)),
                "board-paused" => news.extend(told(f)),
                _ if needs::is_stopper(f) => news.extend(told(f)),
                _ => {}
            }
        }
        counts.open += board.open;
        if let Ok(summary) = &board.summary {
            counts.read += 1;
            // What could not be looked at may need a person, too.
            let unseen =
                |what: &String| News { state: State::Unknown, about: board.name.clone(), what: what.clone() };
            news.extend(summary.unknown.iter().map(unseen));
            for need in needs::of_tasks(summary) {
                let is_one = need.cause == "task";
                counts.said.push(if is_one { need.tasks[0].id.clone() } else { need.says });
                counts.people.extend(need.tasks.into_iter().map(|t| t.id));
            }
        }
    }
    let fault = |e: &Error| News { state: State::Unknown, about: String::new(), what: e.to_string() };
    news.extend(standing.faults.iter().map(fault));
    Ok(())
}

fn told(f: &Finding) -> Option<News> {
    let state = match f.severity {
        Severity::Error => State::Critical,
        Severity::Warning => State::Warning,
        Severity::Ok | Severity::Info => return None,
    };
    Some(about(state, f))
}

fn about(state: State, f: &Finding) -> News {
    News { state, about: f.about.clone(), what: f.what.clone() }
}
