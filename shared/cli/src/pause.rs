//! `watchbill pause` and `watchbill unpause`: no watcher changes a board that is paused.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::{Common, Here, env, parse_time, print, print_json};
use base::error::{Error, Kind, Result};
use base::time::Time;
use board::pause::Pause;
use board::several_hosts::{self, Duty};
use board::{BoardId, Mode, discover};
use card::shell_word;
use config::Config;
use config::quiet_hours::{NextClock, next_clock};
use config::span;
use logs::cache::Cache;
use ops::pass::timeline;
use ops::report::printable;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.pause/1";
/// The longest a pause may last, in seconds: what is meant to last longer has no end.
const LONGEST: i64 = 366 * 86_400;
const TOO_FAR: &str = "more than a year ahead";

/// Most characters of a reason that are kept.
const MAX_REASON: usize = 300;

#[derive(Debug, Args)]
#[command(
    after_help = "Without --until or --for the pause lasts until `watchbill unpause`. Until then watchers exit with 75 \
                        (budget-check only if it was to write); \
                        --dry-run still works. The pause is the file watchbill.pause beside the board: create or \
                        remove it where this program cannot run."
)]
pub(super) struct PauseArgs {
    /// End the pause at this time, at most a year ahead: HH:MM (next local), RFC 3339 or epoch seconds
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// End the pause after this long, at most a year (90m, 12h)
    #[arg(long = "for", value_name = "SPAN", conflicts_with = "until")]
    lasting: Option<String>,
    /// Record the reason for the pause
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
pub(super) struct UnpauseArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) fn pause(args: &PauseArgs) -> Result<u8> {
    let common = &args.common;
    let config = common.load()?.config;
    let now = common.now.unwrap_or_else(Time::of_clock);
    end(args, now)?;
    let here = Here::look(common, &config)?;
    let (mut said, patience) = (Said::default(), config.board.busy_timeout);
    for id in meant(common, &config)? {
        let now = clock_of(&id, &here, patience)?;
        let (until, note) = end(args, now)?;
        let pause = Pause {
            until,
            reason: args.reason.as_deref().map(|r| base::quote::inline(r, MAX_REASON)),
            by: env("USER").or_else(|| env("LOGNAME")),
            since: Some(now),
            moved_to: None,
        };
        let before = id.pause_in_force(now, patience)?;
        if let Some(moved) = before.as_ref().filter(|before| before.is_move()) {
            said.board(&id, Some(moved), &format!("stays {}", moved.words(now)));
            continue;
        }
        id.set_pause(Some(&pause), patience)?;
        let was = before.map_or_else(String::new, |b| format!(" (was: {})", b.words(now)));
        let ignored = match until.is_some() && is_of_another(&id) {
            true => "; other users' watchers ignore that end, and stay paused until `watchbill unpause`",
            false => "",
        };
        said.board(&id, Some(&pause), &format!("{}{note}{was}{ignored}", pause.words(now)));
    }
    said.print(common, now)
}

pub(super) fn unpause(args: &UnpauseArgs) -> Result<u8> {
    let common = &args.common;
    let config = common.load()?.config;
    let now = common.now.unwrap_or_else(Time::of_clock);
    let (mut said, patience) = (Said::default(), config.board.busy_timeout);
    for id in meant(common, &config)? {
        let Some(was) = id.pause(patience)? else {
            // Fails where a file could not be seen.
            if id.file().is_some() {
                id.set_pause(None, patience)?;
            }
            said.board(&id, None, "was not paused");
            continue;
        };
        if was.is_move() && !is_named(common) {
            let end = shell_word(&id.address());
            let line = format!("stays {}; `watchbill unpause --db {end}` ends that", was.words(now));
            said.board(&id, Some(&was), &line);
            continue;
        }
        match was.is_move() {
            true => id.end_move(None, patience)?,
            false => id.set_pause(None, patience)?,
        }
        let was = was.words(now);
        match id.pause_in_force(now, patience)? {
            None => said.board(&id, None, &format!("goes on (was: {was})")),
            Some(left) => {
                let (end, of_folder) = (shell_word(&id.address()), left.words(now));
                let line = format!(
                    "ended: {was}; its folder stays {of_folder}; `watchbill unpause --db {end}` once more ends that"
                );
                said.board(&id, Some(&left), &line);
            }
        }
    }
    said.print(common, now)
}

/// Whether a board file is another user's. What an ordinary user says of an end counts for that user's own watchers alone.
fn is_of_another(id: &BoardId) -> bool {
    let me = rustix::process::geteuid();
    let owner = id.file().and_then(|file| file.metadata().ok()).map(|meta| meta.uid());
    !me.is_root() && owner.is_some_and(|owner| owner != me.as_raw())
}

/// Whether boards are named. Without that all are meant.
fn is_named(common: &Common) -> bool {
    !common.db.is_empty() || !common.board.is_empty()
}

/// The boards that are meant. One that is named has to be there.
fn meant(common: &Common, config: &Config) -> Result<Vec<BoardId>> {
    let boards = common.boards(config)?;
    let missing = boards.iter().filter(|_| is_named(common)).find_map(discover::missing);
    missing.map_or(Ok(boards), Err)
}

/// The time by the clock that a board's hosts agree on: the board's own where several share it.
fn clock_of(id: &BoardId, here: &Here, patience: Duration) -> Result<Time> {
    if id.file().is_some() || here.clock_given {
        return Ok(here.now);
    }
    let mut board = timeline::open(id, Mode::Look, patience, &Cache::open(Cache::place(&env)))?;
    let attended = several_hosts::attend(&mut *board, &id.known_as(&here.host)?, "watchbill", Duty::Looks)?;
    Ok(attended.map_or(here.now, |attended| attended.now))
}

/// When it ends by itself, and what is to be said of that.
fn end(args: &PauseArgs, now: Time) -> Result<(Option<Time>, &'static str)> {
    let wrong = |text: &str, what: &str| {
        let hint = "write HH:MM, 2026-11-22T06:00:00Z, epoch seconds, or --for 2h";
        Err(Error::new(Kind::Usage, format!("--until {text}"), what).hint(hint))
    };
    if let Some(text) = &args.lasting {
        let lasting = span::read(text)
            .map_err(|why| Error::new(Kind::Usage, format!("--for {text}"), why).hint("write 90m or 12h"))?;
        if lasting.is_zero() {
            return Err(Error::new(Kind::Usage, "--for 0s", "ends at once, so nothing would be paused")
                .hint("write 90m or 12h, or `watchbill unpause` to end a pause"));
        }
        if span::seconds(lasting) > LONGEST {
            return Err(Error::new(Kind::Usage, format!("--for {text}"), TOO_FAR)
                .hint("leave --for out for a pause without an end"));
        }
        return Ok((Some(now.plus(span::seconds(lasting))), ""));
    }
    let Some(text) = args.until.as_deref() else { return Ok((None, "")) };
    let (until, note) = match next_clock(text, now) {
        Some(NextClock::Once(at)) => (Some(at), ""),
        Some(NextClock::Later(at)) => {
            (Some(at), "; the clock is changed that night and shows this twice: this is the later")
        }
        Some(NextClock::Skipped(day)) => {
            return wrong(text, &format!("not a time on {day}: the clock is changed and skips it"));
        }
        None => (parse_time(text).ok(), ""),
    };
    match until {
        None => wrong(text, "not a time"),
        Some(until) if until <= now => wrong(text, "in the past"),
        Some(until) if until.since(now) > LONGEST => {
            let hint =
                "epoch times are seconds, not milliseconds; leave --until out for a pause without an end";
            Err(Error::new(Kind::Usage, format!("--until {text}"), TOO_FAR).hint(hint))
        }
        Some(_) => Ok((until, note)),
    }
}

/// What became of each board.
#[derive(Default)]
struct Said {
    lines: String,
    boards: Vec<Value>,
}

impl Said {
    fn board(&mut self, id: &BoardId, pause: Option<&Pause>, line: &str) {
        let _ = writeln!(self.lines, "{}: {}", printable(&id.name()), printable(line));
        self.boards.push(json!({
            "board": id.name(), "path": id.at, "paused": pause.is_some(), "until": pause.and_then(|p| p.until),
            "reason": pause.and_then(|p| p.reason.as_deref()), "by": pause.and_then(|p| p.by.as_deref()),
        }));
    }

    fn print(self, common: &Common, now: Time) -> Result<u8> {
        if common.json {
            let whole = json!({"schema": SCHEMA, "now": now, "boards": self.boards});
            return print_json(&whole);
        }
        if common.quiet { Ok(0) } else { print(&self.lines) }
    }
}
