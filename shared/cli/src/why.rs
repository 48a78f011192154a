//! `watchbill why t_x`: what is the matter with a task, or with several. Looking only.

use std::collections::BTreeSet;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::{Common, Here, env, print, print_json};
use ::board::kept::Kept;
use ::board::{BoardId, discover, find};
use base::error::{Error, Kind, Result};
use base::time::Time;
use config::Loaded;
use logs::cache::Cache;
use ops::explain::{Answer, Lens, screen};

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.why/1";

#[derive(Debug, Args)]
#[command(
    after_help = "The first line is the answer, the second its evidence, and the last ones are commands to copy. Writes \
                        nothing: every watcher decides again, as in a dry run."
)]
pub(super) struct WhyArgs {
    /// The tasks: an id, with or without t_, the start of an id, or words of a title
    #[arg(value_name = "TASK", required = true)]
    tasks: Vec<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// The object of `--json` for one task.
#[derive(Serialize)]
struct Whole<'a> {
    schema: &'a str,
    version: &'a str,
    now: Time,
    #[serde(flatten)]
    answer: &'a Answer,
}

pub(super) fn run(args: &WhyArgs, version: &str) -> Result<u8> {
    let common = &args.common;
    let loaded = common.load()?;
    let here = Here::look(common, &loaded.config)?;
    let lens = lens(common, &here, &loaded);
    let boards = common.boards(&loaded.config)?;
    let patience = loaded.config.board.busy_timeout;
    let meant = args.tasks.iter().map(|typed| find::find(typed, &boards, patience));
    let mut meant = meant.collect::<Result<Vec<_>>>()?;
    let mut seen = BTreeSet::new();
    meant.retain(|(board, task)| seen.insert((board.at.clone(), task.clone())));
    let answers = meant.iter().map(|(board, task)| answer(&lens, board, task)).collect::<Result<Vec<_>>>()?;
    if common.json {
        return print_json(&match answers.as_slice() {
            [answer] => json!(Whole { schema: SCHEMA, version, now: here.now, answer }),
            several => json!({"schema": SCHEMA, "version": version, "now": here.now, "answers": several}),
        });
    }
    if common.quiet {
        return Ok(0);
    }
    let screens: Vec<String> =
        answers.iter().map(|a| screen(a, here.now, boards.len() > 1, common.verbose)).collect();
    print(&screens.join("\n"))
}

/// What looks at boards, with this machine and this configuration.
pub(super) fn lens<'a>(common: &Common, here: &'a Here, loaded: &'a Loaded) -> Lens<'a> {
    Lens {
        host: &here.host,
        config: &loaded.config,
        origin: &loaded.origin,
        clock_offset: here.clock_offset,
        homes: &here.homes,
        opencode: &here.opencode,
        now: here.now,
        clock_given: here.clock_given,
        by_file: common.by_file(),
        root: discover::root(None, &env),
        memory: Cache::place(&env),
        kept: Kept::default(),
        pages: false,
    }
}

/// The answer about a task of a board.
fn answer(lens: &Lens<'_>, id: &BoardId, task: &str) -> Result<Answer> {
    let survey = lens.survey(id, Some(task));
    let facts = lens.facts(id, &[task.to_owned()], &survey)?;
    let answer = facts.first().map(|f| Answer::of(f, &id.at.to_string(), &survey.findings));
    // The operator may delete rows by hand.
    answer.ok_or_else(|| Error::new(Kind::Partial, task, "is gone from its board; ask again"))
}
