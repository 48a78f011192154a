//! `watchbill replay`: what the watchers would have done under another policy. Looking only.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::{Common, env, print, print_json};
use base::count::things_or;
use base::error::{Error, Kind, Result};
use base::time::{Time, words};
use board::{self, BoardId, Mode};
use config::{Config, since};
use logs::cache::{Cache, Stored, passes};
use ops::replay::{Difference, Does, Replayed};
use ops::report::printable;
use watch::acts;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.replay/1";
/// Most events of a board that are looked through for passes.
const MAX_EVENTS: u32 = 200_000;

pub(super) const AFTER_HELP: &str = "\
Replays every recorded pass twice, with the current configuration and with --config, and prints the differences. \
Between two recorded passes it repeats the decision every two minutes. Passes with a result are recorded for a month \
(at most 50 MiB), with all data they read. Each decision uses the recorded data only, not what the other \
configuration would have changed before.

Exit codes:
  0   replayed, whether or not anything differs
  1   no recorded pass, or not all of them can be read
  2   wrong usage
  66  no such board, or no such file
  74  disk or output failed
  77  not permitted
  78  bad configuration";

#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// Replay passes since this time: a length of time (24h), yesterday, a date, RFC 3339 or epoch seconds
    #[arg(long, value_name = "TIME", default_value = "24h")]
    since: String,
    #[command(flatten)]
    pub(super) common: Common,
}

/// What became of one board.
struct OfBoard {
    id: BoardId,
    replayed: Replayed,
    /// When the oldest pass that is kept was held.
    kept_since: Option<Time>,
    /// Passes that changed something of which nothing is kept.
    missing: usize,
}

pub(super) fn run(args: &ReplayArgs, version: &str) -> Result<u8> {
    let common = &args.common;
    // The variable names the policy in force.
    let in_variable = env("WATCHBILL_CONFIG").map(PathBuf::from);
    if common.config.is_none() || common.config == in_variable {
        return Err(Error::new(Kind::Usage, "--config", "names no configuration to try")
            .hint("--config NEW.toml, a copy of your configuration with what you want to try"));
    }
    let now = common.now.unwrap_or_else(Time::of_clock);
    let since = since::read(&args.since, now)?;
    let other = common.load()?.config;
    let in_force = Config::load(None, &std::env::vars_os().collect())?.config;
    if in_force == other && !common.quiet && !common.json {
        let named = common.config.as_deref().unwrap_or(Path::new("--config")).display();
        let same = format!("replay: {named} says the same as the configuration in force, so nothing differs");
        let _ = writeln!(std::io::stderr(), "{}", printable(&same));
    }
    let state = Cache::place(&env).filter(|p| p.is_file());
    let mut all = Vec::new();
    for id in common.boards(&in_force)? {
        let policies = (&in_force, &other);
        all.push(of_board(id, state.as_ref(), (since, now), policies, !common.quiet && !common.json)?);
    }
    let passes: u32 = all.iter().map(|b| b.replayed.passes).sum();
    let unreadable: u32 = all.iter().map(|b| b.replayed.unreadable).sum();
    let code = u8::from(passes == 0 || unreadable > 0);
    if common.json {
        let boards: Vec<Value> = all.iter().map(whole).collect();
        let report = json!({
            "schema": SCHEMA, "version": version, "now": now, "since": since, "exit": code, "boards": boards,
        });
        return print_json(&report).map(|_| code);
    }
    if !common.quiet {
        print(&text(&all, common.verbose))?;
    }
    if passes == 0 && unreadable == 0 {
        let what = format!("nothing is kept of the passes since {since}: nothing to replay");
        return Err(Error::new(Kind::Partial, "", what)
            .hint("watchers keep what they saw from now on; --since reaches further back, up to 31 days"));
    }
    if unreadable > 0 {
        let kept = things_or(unreadable, "pass was", "passes were");
        let what = format!("{kept} kept by another version and cannot be replayed");
        return Err(Error::new(Kind::Partial, "", what));
    }
    Ok(0)
}

fn of_board(
    id: BoardId,
    state: Option<&PathBuf>,
    (since, now): (Time, Time),
    (in_force, other): (&Config, &Config),
    tells: bool,
) -> Result<OfBoard> {
    let mut acted = acted(&id, in_force, since)?;
    let name = id.address();
    let (mut replayed, mut kept_since) = (Replayed::default(), None::<Time>);
    if let Some(path) = state {
        let mut progress = Progress::new(passes::count(path, &name, since), tells);
        let mut each = |stored: &Stored, next: Option<Time>| {
            kept_since = Some(kept_since.map_or(stored.at, |at| at.min(stored.at)));
            acted.remove(&stored.pass);
            replayed.add(stored, next.unwrap_or(now), in_force, other);
            progress.step();
        };
        // A file of another version holds nothing for us; the next watcher that writes into it makes it anew.
        let done = passes::read(path, &name, since, &mut each);
        progress.end();
        done.or_else(|e| if passes::count(path, &name, since) == 0 { Ok(()) } else { Err(fault(path, &e)) })?;
    }
    replayed.differences.sort_by(|a, b| (a.at, &a.task, &a.program).cmp(&(b.at, &b.task, &b.program)));
    Ok(OfBoard { id, replayed, kept_since, missing: acted.len() })
}

/// Passes of watchers that changed something on a board, as its own history tells.
fn acted(id: &BoardId, config: &Config, since: Time) -> Result<BTreeSet<String>> {
    let mut board = board::open(id, Mode::Look, config.board.busy_timeout)?;
    let events = board.events(since, MAX_EVENTS)?;
    let ours = events.iter().map(|(_, e)| e).filter(|e| e.by().is_some_and(acts));
    Ok(ours.filter_map(|e| e.trail()?.get("pass")?.as_str().map(str::to_owned)).collect())
}

fn fault(path: &Path, e: &rusqlite::Error) -> Error {
    Error::new(Kind::Data, path.display(), e)
        .hint("it is a cache: remove it, and watchers keep what they see from then on")
}

/// How far it is, on a terminal; cron sees nothing of it.
struct Progress {
    all: u32,
    done: u32,
    is_shown: bool,
}

impl Progress {
    fn new(all: u32, tells: bool) -> Progress {
        // A moment's work needs none.
        Progress { all, done: 0, is_shown: tells && all > 50 && std::io::stderr().is_terminal() }
    }

    fn step(&mut self) {
        self.done += 1;
        if self.is_shown && self.done.is_multiple_of((self.all / 100).max(1)) {
            let _ = write!(std::io::stderr(), "\rreplayed {} of {} passes", self.done, self.all);
        }
    }

    fn end(&self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

fn text(all: &[OfBoard], verbose: bool) -> String {
    let mut out = String::new();
    for b in all {
        let prefix = if all.len() > 1 { format!("[{}] ", b.id.name()) } else { String::new() };
        for d in &b.replayed.differences {
            let _ = writeln!(out, "{}", printable(&format!("{prefix}{}", line(d))));
        }
        if verbose {
            let r = &b.replayed;
            let since = b.kept_since.map_or_else(|| "never".to_owned(), |at| at.to_string());
            let _ = writeln!(
                out,
                "{}",
                printable(&format!(
                    "{prefix}passes kept since {since}: {}; looks: {}; decided otherwise than the configuration in force: {}; \
                     changed the board and were not kept: {}",
                    r.passes, r.looks, r.changed, b.missing
                ))
            );
        }
    }
    out
}

/// One difference: when, who, what, and what would not have been.
fn line(d: &Difference) -> String {
    let verb = |does: &Does| format!("{} ({})", does.action, does.case);
    let what = match (&d.in_force, &d.other) {
        (Some(is), Some(would))
            if (&is.action, &is.case, &is.because) == (&would.action, &would.case, &would.because) =>
        {
            format!("would {} in another way, for the same reason: {}", verb(would), would.because)
        }
        (Some(is), Some(would)) if is.action == would.action && is.case == would.case => {
            format!("would {} otherwise: {}; as it is: {}", verb(would), would.because, is.because)
        }
        (Some(is), Some(would)) => {
            format!("would {} instead of {}: {}", verb(would), verb(is), would.because)
        }
        (None, Some(would)) => format!("would {}: {}", verb(would), would.because),
        (Some(is), None) => format!("would not {}: {}", verb(is), is.because),
        (None, None) => String::new(),
    };
    let more = match d.looks {
        1 => String::new(),
        n => format!(" ({n} looks in {})", words(d.until.since(d.at))),
    };
    format!("{} {} {}: {what}{more}", d.at, d.task, d.program)
}

fn whole(b: &OfBoard) -> Value {
    let r = &b.replayed;
    json!({
        "board": b.id.name(), "path": b.id.at, "kept_since": b.kept_since, "passes": r.passes, "looks": r.looks,
        "changed": r.changed, "unreadable": r.unreadable, "missing": b.missing, "differences": r.differences,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::{Rule, StepAction};

    #[test]
    fn one_reason_is_said_once() {
        let does = |because: &str| {
            Some(Does { action: StepAction::Card, case: Rule::Repeated, because: because.to_owned() })
        };
        let said = |is: &str, would: &str| {
            line(&Difference {
                program: "heal".into(),
                task: "t_1".into(),
                at: base::time::Time(0),
                until: base::time::Time(0),
                looks: 1,
                in_force: does(is),
                other: does(would),
            })
        };
        assert!(
            said("quota", "quota")
                .ends_with(": would card (repeated) in another way, for the same reason: quota")
        );
        assert!(said("quota", "key").ends_with(": would card (repeated) otherwise: key; as it is: quota"));
    }
}
