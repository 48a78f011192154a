//! `watchbill check`: one line for a monitoring system, in the form and with the codes of monitoring plugins.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::hosts::{self, Answer, Hosts};
use super::standing::{Shows, Standing};
use super::summary::NIGHT;
use super::{Common, print};
use base::count::{things, things_or};
use base::error::{Error, Result};
use base::quote;
use ops::doctor::{Finding, Severity};
use ops::needs;
use ops::report::printable;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.check/1";
/// So many tasks that need a person are no warning of another machine: they are counted here, with those of all.
const NO_WARNING: &str = "1000000000";
/// Most bytes of the status line that say what is wrong: some systems cut what is longer.
const MAX_SAID: usize = 900;
/// Most characters of the name of another machine's task.
const MAX_ID: usize = 40;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes of a monitoring plugin:\n  0   OK\n  1   WARNING: more tasks than -w need you, a board is paused, or a pass could not do everything\n  2   CRITICAL: more tasks than -c need you, a watcher is not scheduled, overdue or failed, the dispatcher is wedged or stopped, tasks are ready and no dispatcher runs, or a board is split, damaged, replaced or cannot be written\n  3   UNKNOWN: a board or some of its tasks cannot be read, or wrong usage"
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
    hosts: Hosts,
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
    /// By its code; `Unknown` for any other code.
    fn of(code: u8) -> State {
        let all = [State::Ok, State::Warning, State::Critical];
        all.into_iter().find(|state| *state as u8 == code).unwrap_or(State::Unknown)
    }

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

/// What another machine says of itself.
#[derive(Debug, Clone, Deserialize)]
struct Told {
    exit: u8,
    said: String,
    boards: usize,
    /// `None`, as with those below: no board could be read there.
    open: Option<usize>,
    needs_person: Option<Vec<String>>,
    paused: Option<usize>,
    wedged: Option<usize>,
    overdue: usize,
}

/// What was counted.
#[derive(Default)]
struct Counts {
    /// The machines that were looked at, and those of them that did not answer.
    hosts: usize,
    unseen: usize,
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

impl Counts {
    /// What was counted on boards; `None` where none of them could be read, and so nobody knows.
    fn known<T>(&self, counted: T) -> Option<T> {
        (self.read > 0).then_some(counted)
    }

    /// The same of what is also known of a board that cannot be read.
    fn known_if_any(&self, counted: usize) -> Option<usize> {
        self.known(counted).or((counted > 0).then_some(counted))
    }
}

/// The code of a check that could not be done, whatever kept it: 1 and 2 would say something about the board.
const UNKNOWN: u8 = State::Unknown as u8;

/// Says in the one line of a plugin what is wrong with the arguments; with `--json`, the text on stderr is all. Gives the exit code.
pub(super) fn misused(arguments: &[OsString], said: &str) -> u8 {
    if !arguments.iter().any(|a| a == "--json") {
        let said = said.lines().next().unwrap_or_default();
        let said = in_line(said.strip_prefix("error: ").unwrap_or(said));
        let _ = print(&format!("WATCHBILL {} - {said}\n", State::Unknown.word()));
    }
    UNKNOWN
}

/// Text for the line: `|` begins the figures.
fn in_line(said: &str) -> String {
    base::clip::clip(&printable(said).replace('|', "/"), MAX_SAID).to_owned()
}

pub(super) fn run(args: &CheckArgs, version: &str) -> u8 {
    let (mut counts, mut news) = (Counts::default(), Vec::new());
    let asked = args.hosts.ask("check", &["-w", NO_WARNING].map(str::to_owned), &args.common, SCHEMA);
    if let Err(e) = look(args, &mut counts, &mut news) {
        news.push(News { state: State::Unknown, about: String::new(), what: e.to_string() });
    }
    let answers = asked.wait();
    for answer in &answers {
        count(answer, &mut counts, &mut news);
    }
    people(args, &counts, &mut news);
    // Where no board could be looked at, that is behind all the rest.
    let first = |n: &News| counts.read == 0 && n.state == State::Unknown;
    news.sort_by_key(|n| (!first(n), std::cmp::Reverse(n.state.rank())));
    let state = news.iter().map(|n| n.state).max_by_key(|state| state.rank()).unwrap_or(State::Ok);
    let said = match news.is_empty() {
        true => format!(
            "{}{}, {}, {}",
            if args.hosts.is_empty() { String::new() } else { format!("{}, ", things(counts.hosts, "host")) },
            things(counts.boards, "board"),
            things(counts.open, "open task"),
            // So many may be allowed.
            if counts.people.is_empty() { "nothing needs a person".into() } else { needing(&counts) },
        ),
        false => needs::in_one_line(news.iter().map(|n| (n.about.as_str(), n.what.as_str()))),
    };
    let said = in_line(&said);
    let text = match args.common.json {
        true => {
            let whole = json!({
                "schema": SCHEMA, "version": version, "state": state.word(), "exit": state as u8, "said": said,
                "boards": counts.boards, "open": counts.known(counts.open), "needs_person": counts.known(&counts.people),
                "paused": counts.known_if_any(counts.paused), "wedged": counts.known_if_any(counts.wedged),
                "overdue": counts.overdue,
            });
            hosts::text(&args.hosts, &whole, &answers)
        }
        false => format!("WATCHBILL {} - {said} | {}\n", state.word(), figures(args, &counts)),
    };
    match print(&text) {
        Ok(_) => state as u8,
        Err(_) => UNKNOWN,
    }
}

/// `'label'=value;warn;crit;min`, as the guidelines have it: a threshold of 0 is alerted on from 1 on, and `U` is not known.
fn figures(args: &CheckArgs, counts: &Counts) -> String {
    let critical = args.critical.map_or_else(String::new, |n| n.to_string());
    let hosts = match args.hosts.is_empty() {
        true => String::new(),
        false => format!(" hosts={};;;0 unseen={};;;0", counts.hosts, counts.unseen),
    };
    let or_u = |known: Option<usize>| known.map_or_else(|| "U".to_owned(), |n| n.to_string());
    format!(
        "needs_person={};{};{critical};0 overdue={};;0;0 wedged={};;0;0 paused={};0;;0 open={};;;0 boards={};;;0{hosts}",
        or_u(counts.known(counts.people.len())),
        args.warning,
        counts.overdue,
        or_u(counts.known_if_any(counts.wedged)),
        or_u(counts.known_if_any(counts.paused)),
        or_u(counts.known(counts.open)),
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
    news.push(News { state, about: String::new(), what: needing(counts) });
}

/// The tasks that need a person: how many, and some of them.
fn needing(counts: &Counts) -> String {
    let some: Vec<&str> = counts.said.iter().take(5).map(String::as_str).collect();
    let more = if counts.said.len() > some.len() { ", ..." } else { "" };
    let tasks = things_or(counts.people.len(), "task needs", "tasks need");
    format!("{tasks} a person ({}{more})", some.join(", "))
}

fn look(args: &CheckArgs, counts: &mut Counts, news: &mut Vec<News>) -> Result<()> {
    let loaded = args.common.load()?;
    let mut standing =
        Standing::look(&args.common, &loaded, args.metrics.as_deref(), NIGHT, &args.hosts, Shows::Needs)?;
    counts.hosts += usize::from(!standing.is_bare);
    counts.overdue = standing.overdue;
    news.extend(standing.machine.iter().filter(|f| needs::is_stopper(f)).filter_map(told));
    for board in &mut standing.boards {
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
        if let Ok(summary) = &mut board.summary {
            // A warning is said above as well.
            summary.without(&board.findings, Severity::Warning);
            counts.read += 1;
            // What could not be looked at may need a person, too.
            let unseen =
                |what: &String| News { state: State::Unknown, about: board.name.clone(), what: what.clone() };
            news.extend(summary.unknown.iter().map(unseen));
            for need in board.asks().into_iter().flat_map(|(needs, _)| needs) {
                // What no task waits for is worth a look.
                if need.tasks.is_empty() {
                    news.push(News { state: State::Warning, about: String::new(), what: need.says });
                    continue;
                }
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

/// What another machine adds. One that does not answer may have anything.
fn count(answer: &Answer<Told>, counts: &mut Counts, news: &mut Vec<News>) {
    counts.hosts += 1;
    let mut tell =
        |state, what: &str| news.push(News { state, about: answer.host.clone(), what: what.to_owned() });
    let (told, exit) = match &answer.heard {
        Ok(heard) => (&heard.read, heard.exit),
        Err(fault) => {
            counts.unseen += 1;
            return tell(State::Unknown, &fault.says);
        }
    };
    let said = quote::line(&told.said, hosts::MAX_SAID);
    let (paused, wedged) = (told.paused.unwrap_or(0), told.wedged.unwrap_or(0));
    match State::of(told.exit) {
        _ if i32::from(told.exit) != exit => {
            tell(State::Unknown, &format!("watchbill ended with {exit} there: {said}"));
        }
        State::Ok if paused.max(wedged).max(told.overdue) > 0 || told.boards == 0 || told.open.is_none() => {
            tell(State::Unknown, "says OK, and names no board or counts what is not");
        }
        State::Ok => {}
        state => tell(state, &said),
    }
    counts.boards = counts.boards.saturating_add(told.boards);
    counts.read = counts.read.saturating_add(told.open.map_or(0, |_| told.boards));
    counts.open = counts.open.saturating_add(told.open.unwrap_or(0));
    counts.paused = counts.paused.saturating_add(paused);
    counts.wedged = counts.wedged.saturating_add(wedged);
    counts.overdue = counts.overdue.saturating_add(told.overdue);
    let needs = told.needs_person.as_deref().unwrap_or_default();
    match needs {
        [] => {}
        [one] => counts.said.push(format!("{}: {}", answer.host, quote::line(one, MAX_ID))),
        all => counts.said.push(format!("{}: {}", answer.host, things(all.len(), "task"))),
    }
    counts.people.extend(needs.iter().cloned());
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
