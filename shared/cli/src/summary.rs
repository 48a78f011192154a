//! `watchbill report`: what happened to the boards since some hours, in four lists. Looking only.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::hosts::{self, Answer, Hosts};
pub(super) use super::standing::NIGHT;
use super::standing::{Shows, Standing, is_bare, stoppers};
use super::{Common, Here, env, page, print, why};
use ::board::{BoardId, Location};
use base::error::{Kind, Result};
use base::quote;
use base::time::Time;
use config::{Loaded, since};
use logs::cache::Cache;
use ops::explain::{Summary, lines};
use ops::needs::{Need, remedy};
use ops::report::{common_code, printable, say};

/// Most things of another machine that stop it.
const MAX_STOPPED: usize = 20;
/// The schema of `--json`.
const SCHEMA: &str = "watchbill.summary/1";

#[derive(Debug, Args)]
#[command(
    after_help = "Prints nothing if nothing happened, so that cron sends no mail; with -v it prints one line. \
                        Never writes to a board."
)]
pub(super) struct ReportArgs {
    /// Report since this time: a length of time (12h, 3d), yesterday, a date, RFC 3339 or epoch seconds [default: 12h]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Also write the HTML page of these boards, as `watchbill page` does
    #[arg(long, value_name = "FILE", conflicts_with = "named")]
    html: Option<PathBuf>,
    #[command(flatten)]
    hosts: Hosts,
    #[command(flatten)]
    pub(super) common: Common,
}

/// What another machine says.
#[derive(Deserialize)]
struct Told {
    now: Time,
    /// An earlier version says nothing of it.
    #[serde(default)]
    stopped: Vec<Need>,
    boards: Vec<Summary>,
    unread: Vec<Unread>,
}

/// A board that could not be read, and why.
#[derive(Serialize, Deserialize)]
struct Unread {
    board: String,
    path: Location,
    error: String,
}

impl Unread {
    /// Whether this is the board that a metrics file calls so.
    fn is_called(&self, board: &str) -> bool {
        self.board == board || self.path.to_string() == board
    }
}

pub(super) fn run(args: &ReportArgs, version: &str) -> Result<u8> {
    let common = &args.common;
    let loaded = common.load()?;
    common.named_boards(&loaded.config, &args.hosts)?;
    let here = Here::look(common, &loaded.config)?;
    let since = args.since.as_deref().map(|text| since::read(text, here.now)).transpose()?;
    let since = since.unwrap_or(here.now.plus(-NIGHT));
    let asked = args.hosts.ask("report", &["--since".into(), since.0.to_string()], common, SCHEMA);
    let is_bare = is_bare(&args.hosts, common, &loaded, None);
    let boards = match &args.html {
        None if is_bare => Vec::new(),
        None => {
            let lens = why::lens(common, &here, &loaded);
            let one = |id: BoardId| {
                let summary = lens.read(&id, since).map(|read| Summary::of(read, since, here.now));
                (id.name(), id.at, summary)
            };
            let cache = Cache::open(Cache::place(&env));
            common.boards_seen(&cache, &loaded.config)?.into_iter().map(one).collect()
        }
        Some(file) => with_page(common, &loaded, here.now.since(since), file)?,
    };
    let (mut all, mut codes, mut unread): (Vec<Summary>, Vec<u8>, Vec<Unread>) = Default::default();
    for (board, path, summary) in boards {
        match summary {
            Ok(summary) => {
                // What could not be looked at is said in its own place, and by the code.
                codes.push(if summary.unknown.is_empty() { 0 } else { Kind::Partial.code() });
                all.push(summary);
            }
            Err(e) => {
                let _ = say(&mut std::io::stderr().lock(), '3', "watchbill report", &e.to_string());
                // A pass that found a board busy is followed by another one; a report that says nothing of it is not whole.
                codes.push(if e.kind == Kind::Busy { Kind::Partial.code() } else { e.kind.code() });
                unread.push(Unread { board, path, error: e.to_string() });
            }
        }
    }
    let answers = asked.wait();
    let is_old =
        |a: &Answer<Told>| a.heard.as_ref().is_ok_and(|h| hosts::skew(h.read.now, here.now).is_some());
    let is_whole = hosts::are_whole(&answers) && !answers.iter().any(is_old);
    codes.push(if is_whole { 0 } else { Kind::Partial.code() });
    let is_unread = |board: &str| unread.iter().any(|u| u.is_called(board));
    let stopped = if is_bare { Vec::new() } else { stoppers(common, &loaded, &here, is_unread) };
    match common.json {
        true => {
            let whole = json!({
                "schema": SCHEMA, "version": version, "now": here.now, "since": since, "stopped": stopped, "boards": all,
                "unread": unread,
            });
            print(&hosts::text(&args.hosts, &whole, &answers))?
        }
        false => show(common, (&stopped, &all), answers, here.now)?,
    };
    Ok(common_code(&codes))
}

/// Name and file of a board, and what happened to it.
type OneBoard = (String, Location, Result<Summary>);

/// The page and the report of one look.
fn with_page(common: &Common, loaded: &Loaded, span: i64, file: &Path) -> Result<Vec<OneBoard>> {
    let standing = Standing::look(common, loaded, None, span, &Hosts::default(), Shows::Pages)?;
    if standing.boards.is_empty() {
        return common.boards(&loaded.config).map(|_| Vec::new());
    }
    page::make(&standing, &[], file, "--html ")?;
    Ok(standing.boards.into_iter().map(|b| (b.name, b.at, b.summary)).collect())
}

/// The lists of this machine below what stops everything on it, then those of each other one; a machine that did not answer stands before all of
/// them.
fn show(
    common: &Common,
    (stopped, boards): (&[Need], &[Summary]),
    answers: Vec<Answer<Told>>,
    now: Time,
) -> Result<u8> {
    let mut stderr = std::io::stderr().lock();
    let mut say_it = |what: &str| drop(say(&mut stderr, '3', "watchbill report", what));
    let (mut unseen, mut others) = (String::new(), Vec::new());
    let here = part("", stopped, boards, common.verbose);
    for Answer { host, heard } in answers {
        match heard {
            Ok(heard) => {
                let told = heard.read;
                let line = |text: &str| quote::line(text, hosts::MAX_SAID);
                for u in &told.unread {
                    say_it(&format!("{host}: {}: {}", line(&u.board), line(&u.error)));
                }
                let quiet = |s: &Summary| lines(s, false).is_empty();
                if heard.exit != 0 && told.unread.is_empty() && told.boards.iter().all(quiet) {
                    say_it(&format!("{host}: watchbill ended with {} there", heard.exit));
                }
                if let Some(what) = hosts::skew(told.now, now) {
                    say_it(&format!("{host}: {what}"));
                }
                let stopped: Vec<Need> =
                    told.stopped.into_iter().take(MAX_STOPPED).map(|need| need.of_host(&host)).collect();
                let boards: Vec<Summary> =
                    told.boards.into_iter().map(|s| s.of_host(&host, told.now)).collect();
                others.extend(part(&format!("{host}: "), &stopped, &boards, common.verbose));
            }
            Err(fault) if common.quiet => say_it(&format!("{host}: {}", fault.says)),
            Err(fault) => unseen.push_str(&unanswered(&host, &fault)),
        }
    }
    if common.quiet {
        return Ok(0);
    }
    let told = [unseen].into_iter().chain(here).chain(others);
    print(&told.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// What stops everything on a machine, then its boards. No board is well where nothing looks after it.
fn part(host: &str, stopped: &[Need], boards: &[Summary], verbose: bool) -> Vec<String> {
    let stops = stopped.iter().map(|need| said(host, need)).collect();
    let of_boards = boards.iter().map(|s| lines(s, verbose && (stopped.is_empty() || !s.is_quiet())));
    std::iter::once(stops).chain(of_boards).collect()
}

/// What is said of something that stops everything.
fn said(host: &str, need: &Need) -> String {
    std::iter::once(format!("! {host}{}", need.says))
        .chain(remedy(need))
        .map(|line| printable(&line) + "\n")
        .collect()
}

/// What is said of a machine that did not answer.
fn unanswered(host: &str, fault: &hosts::Fault) -> String {
    format!("! {host}: {}\n    do: {}\n", printable(&fault.says), printable(&fault.todo))
}
