//! `watchbill report`: what happened to the boards since some hours, in four lists. Looking only.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

pub(super) use super::standing::NIGHT;
use super::standing::Standing;
use super::{Common, Here, page, print, print_json, why};
use ::board::BoardId;
use base::error::{Kind, Result};
use base::time::Time;
use config::{Loaded, since};
use ops::explain::{Summary, lines};
use ops::report::{common_code, say};

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.summary/1";

#[derive(Debug, Args)]
#[command(
    after_help = "Prints nothing if nothing happened, so that cron sends no mail; with -v it prints one line. \
                        Never writes to a board."
)]
pub(super) struct ReportArgs {
    /// Report since this time: a length of time (12h, 3d), yesterday, RFC 3339 or epoch seconds [default: 12h]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Also write the HTML page of these boards, as `watchbill page` does
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) fn run(args: &ReportArgs, version: &str) -> Result<u8> {
    let common = &args.common;
    let loaded = common.load()?;
    let here = Here::look(common, &loaded.config)?;
    let since = args.since.as_deref().map(|text| since::read(text, here.now)).transpose()?;
    let since = since.unwrap_or(here.now.plus(-NIGHT));
    let boards = match &args.html {
        None => {
            let lens = why::lens(common, &here, &loaded);
            let one = |id: BoardId| {
                let summary = lens.read(&id, since).map(|read| Summary::of(read, since, here.now));
                (id.name(), id.path, summary)
            };
            common.boards(&loaded.config)?.into_iter().map(one).collect()
        }
        Some(file) => with_page(common, &loaded, here.now.since(since), file)?,
    };
    let (mut all, mut codes, mut faults): (Vec<Summary>, Vec<u8>, Vec<Value>) = Default::default();
    for (name, path, summary) in boards {
        match summary {
            Ok(summary) => {
                // What could not be looked at is said in its own place, and by the code.
                codes.push(if summary.unknown.is_empty() { 0 } else { Kind::Partial.code() });
                all.push(summary);
            }
            Err(e) => {
                let _ = say(&mut std::io::stderr().lock(), '3', "watchbill report", &e.to_string());
                codes.push(e.kind.code());
                faults.push(json!({"board": name, "path": path, "error": e.to_string()}));
            }
        }
    }
    show(common, version, (since, here.now), &all, &faults)?;
    Ok(common_code(&codes))
}

/// Name and file of a board, and what happened to it.
type OneBoard = (String, PathBuf, Result<Summary>);

/// The page and the report of one look.
fn with_page(common: &Common, loaded: &Loaded, span: i64, file: &Path) -> Result<Vec<OneBoard>> {
    let standing = Standing::look(common, loaded, None, span)?;
    if standing.boards.is_empty() {
        return common.boards(&loaded.config).map(|_| Vec::new());
    }
    page::make(&standing, file, "--html ")?;
    Ok(standing.boards.into_iter().map(|b| (b.name, b.path, b.summary)).collect())
}

fn show(
    common: &Common,
    version: &str,
    (since, now): (Time, Time),
    all: &[Summary],
    faults: &[Value],
) -> Result<u8> {
    if common.json {
        let whole = json!({
            "schema": SCHEMA, "version": version, "now": now, "since": since, "boards": all, "unread": faults,
        });
        return print_json(&whole);
    }
    if common.quiet {
        return Ok(0);
    }
    let told: Vec<String> = all.iter().map(|s| lines(s, common.verbose)).filter(|t| !t.is_empty()).collect();
    print(&told.join("\n"))
}
