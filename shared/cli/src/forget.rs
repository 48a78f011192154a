//! `watchbill forget`: a person says that a board is gone on purpose, or that the one in its place is meant.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::{Common, env, print, print_json};
use base::error::{Error, Kind, Result};
use base::time::Time;
use board::{BoardId, Mode, discover};
use logs::cache::Cache;
use ops::pass::{history, timeline};
use ops::report::printable;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.forget/1";

#[derive(Debug, Args)]
#[command(
    after_help = "Needs --board or --db. A board that passes looked at and that is gone, or in whose place another one lies, is a finding of \
                  `check` and `doctor` until then. Changes the state file alone. Run it as the user who runs the watchers."
)]
pub(super) struct ForgetArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) fn run(args: &ForgetArgs) -> Result<u8> {
    let common = &args.common;
    if common.db.is_empty() && common.board.is_empty() {
        let hint = "name the board with --board or --db";
        return Err(Error::new(Kind::Usage, "", "no board is named").hint(hint));
    }
    let config = common.load()?.config;
    let now = common.now.unwrap_or_else(Time::of_clock);
    let mut cache = Cache::open(Cache::place(&env));
    let (mut lines, mut boards, mut missing) = (String::new(), Vec::<Value>::new(), None);
    for id in common.boards(&config)? {
        let was_behind = forget_timeline(&id, config.board.busy_timeout, &mut cache);
        let is_forgotten = history::forget(&id, &mut cache) || was_behind;
        // A name that was typed wrongly.
        let wrong = if is_forgotten { None } else { discover::missing(&id) };
        let error = wrong.as_ref().map(Error::to_string);
        missing = missing.or(wrong);
        let said = if is_forgotten { "forgotten" } else { "nothing is remembered of it" };
        let _ = writeln!(lines, "{}: {said}", printable(&id.name()));
        boards.push(json!({"board": id.name(), "path": id.at, "forgotten": is_forgotten, "error": error}));
    }
    if let Some(why) = cache.save() {
        return Err(Error::new(Kind::Io, "state file", why));
    }
    if common.json {
        print_json(&json!({"schema": SCHEMA, "now": now, "boards": boards}))?;
        return Ok(missing.map_or(0, |why| why.kind.code()));
    } else if !common.quiet {
        print(&lines)?;
    }
    missing.map_or(Ok(0), Err)
}

/// Forgets that another server took over from the one that answers. Where none answers, none is refused.
fn forget_timeline(id: &BoardId, patience: Duration, cache: &mut Cache) -> bool {
    let is_shared = id.file().is_none();
    is_shared && board::open(id, Mode::Look, patience).is_ok_and(|mut b| timeline::forget(&mut *b, cache))
}
