//! `watchbill forget`: a person says that a board is gone on purpose, or that the one in its place is meant.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use super::{Common, env, print, print_json};
use base::error::{Error, Kind, Result};
use base::time::Time;
use board::discover;
use logs::cache::Cache;
use ops::pass::history;
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
        let is_forgotten = history::forget(&id, &mut cache);
        // A name that was typed wrongly.
        if !is_forgotten && missing.is_none() {
            missing = discover::missing(&id);
        }
        let said = if is_forgotten { "forgotten" } else { "nothing is remembered of it" };
        let _ = writeln!(lines, "{}: {said}", printable(&id.name()));
        boards.push(json!({"board": id.name(), "path": id.at, "forgotten": is_forgotten}));
    }
    if let Some(why) = cache.save() {
        return Err(Error::new(Kind::Io, "state file", why));
    }
    if common.json {
        print_json(&json!({"schema": SCHEMA, "now": now, "boards": boards}))?;
    } else if !common.quiet {
        print(&lines)?;
    }
    missing.map_or(Ok(0), Err)
}
