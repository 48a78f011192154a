//! `watchbill why t_x`: what is the matter with one task. Looking only.

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::{Common, Here, env, print, print_json, watcher};
use crate::board::BoardId;
use crate::cache::Cache;
use crate::config::Loaded;
use crate::error::{Error, Result};
use crate::inquiry::{Answer, Lens, screen};
use crate::time::Time;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.why/1";

#[derive(Debug, Args)]
#[command(
    after_help = "The first line is the answer, the second what is behind it; the last ones are commands to copy. Nothing is \
                        written, and every watcher decides anew, as in a dry run."
)]
pub(super) struct WhyArgs {
    /// The task
    #[arg(value_name = "ID")]
    task: String,
    #[command(flatten)]
    pub(super) common: Common,
}

/// The object of `--json`.
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
    let task = args.task.as_str();
    let loaded = common.load()?;
    let here = Here::look(common, &loaded.config)?;
    let lens = lens(common, &here, &loaded);
    // A mistyped id is told before any board is opened.
    known(task, &[])?;
    let boards = common.boards(&loaded.config)?;
    let (mut knows, mut fault) = (Vec::new(), None);
    for id in &boards {
        match answer(&lens, id, task) {
            Ok(Some(answer)) => {
                if common.json {
                    let whole = Whole { schema: SCHEMA, version, now: here.now, answer: &answer };
                    return print_json(&json!(whole));
                }
                return if common.quiet {
                    Ok(0)
                } else {
                    print(&screen(&answer, here.now, boards.len() > 1))
                };
            }
            Ok(None) => knows.push(Some(false)),
            // It may be on another one.
            Err(e) => fault = fault.or(Some(e)),
        }
    }
    match fault {
        Some(e) => Err(e),
        None => known(task, &knows).map(|()| 0),
    }
}

/// What looks at boards, with this machine and this configuration.
pub(super) fn lens<'a>(common: &Common, here: &'a Here, loaded: &'a Loaded) -> Lens<'a> {
    Lens {
        host: &here.host,
        config: &loaded.config,
        origin: &loaded.origin,
        clock_offset: here.clock_offset,
        claude: here.claude.as_deref(),
        codex: here.codex.as_deref(),
        opencode: &here.opencode,
        now: here.now,
        clock_given: here.clock_given,
        by_file: !common.db.is_empty() || common.hermes_root.is_some(),
        memory: Cache::place(&env),
    }
}

/// The answer of a board, where it has that task.
fn answer(lens: &Lens<'_>, id: &BoardId, task: &str) -> Result<Option<Answer>> {
    if !lens.has(id, task)? {
        return Ok(None);
    }
    let survey = lens.survey(id, Some(task));
    let facts = lens.facts(id, &[task.to_owned()], &survey)?;
    Ok(facts.first().map(|f| Answer::of(f, &id.path.display().to_string(), &survey.findings)))
}

fn known(task: &str, knows: &[Option<bool>]) -> Result<()> {
    let missing = knows.is_empty() && task.starts_with("t_");
    if missing {
        Ok(())
    } else {
        watcher::known(Some(task), knows).map_err(|e| Error { at: task.into(), ..e })
    }
}
