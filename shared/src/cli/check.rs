//! `watchbill check`: one line for a monitoring system, in the form and with the codes of monitoring plugins.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::doctor::look::{self, Eyes};
use super::summary::NIGHT;
use super::{Common, Here, env, print, why};
use crate::board::BoardId;
use crate::cache::Cache;
use crate::doctor::{self, Finding, Severity};
use crate::error::Result;
use crate::inquiry::{Lens, Summary, summary};
use crate::pass::damage::When;
use crate::report::printable;
use crate::watch::acts;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.check/1";
/// Most bytes of the status line that say what is wrong: some systems cut what is longer.
const MAX_SAID: usize = 900;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes, as monitoring plugins have them:\n  0   OK\n  1   WARNING: more tasks than -w need a person, a pause is in force, or a pass could not do everything\n  2   CRITICAL: more tasks than -c need a person, a watcher is overdue or failed, nothing starts it, the dispatcher is wedged or stopped, none is seen and ready work waits, or a board is split or damaged\n  3   UNKNOWN: a board cannot be read, or not all of its tasks could be looked at, or wrong usage"
)]
pub(super) struct CheckArgs {
    /// WARNING where more tasks than this need a person
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    warning: usize,
    /// CRITICAL where more tasks than this need a person [default: never]
    #[arg(short, long, value_name = "N")]
    critical: Option<usize>,
    /// Where the watchers leave the files of their --metrics [default: as their timers say, else the state folder]
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

/// One line of it all: what is said of several is said once.
fn together(news: &[News]) -> String {
    let mut said: Vec<(String, &str)> = Vec::new();
    for n in news {
        match said.iter_mut().find(|(about, what)| !about.is_empty() && *what == n.what) {
            Some((about, _)) => about.push_str(&format!(", {}", n.about)),
            None => said.push((n.about.clone(), &n.what)),
        }
    }
    let one = |(about, what): &(String, &str)| match about.is_empty() {
        true => (*what).to_owned(),
        false => format!("{about}: {what}"),
    };
    said.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn many(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

/// What was counted.
#[derive(Default)]
struct Counts {
    boards: usize,
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
    news.sort_by_key(|n| std::cmp::Reverse(n.state.rank()));
    let state = news.first().map_or(State::Ok, |n| n.state);
    let said = match news.is_empty() {
        true => format!(
            "{}, {}, nothing needs a person",
            many(counts.boards, "board"),
            many(counts.open, "open task")
        ),
        false => together(&news),
    };
    // `|` begins the figures.
    let said = crate::clip::clip(&printable(&said).replace('|', "/"), MAX_SAID).to_owned();
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
    let common = &args.common;
    let loaded = common.load()?;
    let config = &loaded.config;
    let here = Here::look(common, config)?;
    let lens = why::lens(common, &here, &loaded);
    let pass = here.pass("check", None, true);
    let place = Cache::place(&env);
    let mut cache = Cache::open(place.clone());
    let mut tools = here.tools(&pass, config, &mut cache, false);

    let state = place.as_deref().and_then(std::path::Path::parent);
    let watchers = Eyes::new(state, args.metrics.as_deref(), common.root(config).as_deref()).watchers(false);
    counts.overdue = watchers.iter().filter(|w| w.is_overdue(here.now)).count();
    for f in doctor::watchers(&watchers, None, here.now) {
        // A second timer, and a watcher that only tells and is not started, are for `doctor`.
        let is_news =
            matches!(f.id, "pass-overdue" | "pass-failed" | "pass-never" | "timers-missing" | "timers-off");
        if is_news && (acts(&f.about) || f.id != "timers-missing") {
            news.extend(told(&f));
        }
    }
    for id in common.boards(config)? {
        counts.boards += 1;
        let seen = look::board(&id, &mut tools, When::Doubted);
        let found = doctor::board(&seen, config, here.now);
        for f in &found {
            counts.paused += usize::from(f.id == "board-paused");
            counts.wedged += usize::from(f.id == "dispatcher-wedged");
            match f.id {
                "board-unreadable" => news.push(about(State::Unknown, f)),
                "board-split" | "board-damaged" | "dispatcher-stopped" | "dispatcher-wedged"
                | "board-paused" => news.extend(told(f)),
                // Without work that waits for one it is no news.
                "dispatcher-absent" if f.severity == Severity::Error => news.extend(told(f)),
                _ => {}
            }
        }
        if let Ok(read) = &seen.read {
            counts.open += read.open;
            needing(&lens, &id, counts, news)?;
        }
    }
    Ok(())
}

/// Counts the tasks of a board that need a person: those that `report` says need you. What could not be looked at may need one, too.
fn needing(lens: &Lens<'_>, id: &BoardId, counts: &mut Counts, news: &mut Vec<News>) -> Result<()> {
    let since = lens.now.plus(-NIGHT);
    let read = lens.read(id, since)?;
    let unseen = |what: &String| News { state: State::Unknown, about: id.name(), what: what.clone() };
    news.extend(read.unknown.iter().map(unseen));
    let summary = Summary::of(read, since, lens.now);
    let (groups, singles) = summary::together(&summary.needs_you);
    counts.said.extend(groups.iter().map(|(shared, entries)| summary::heading(shared, entries)));
    counts.said.extend(singles.into_iter().map(|e| e.task.clone()));
    counts.people.extend(summary.needs_you.into_iter().map(|e| e.task));
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
