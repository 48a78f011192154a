//! `watchbill report`: what happened to the boards since some hours, in four lists. Looking only.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::{Common, Here, page, parse_time, print, print_json, why};
use crate::config::span;
use crate::error::{Error, Kind, Result};
use crate::inquiry::{Summary, html, lines};
use crate::report::{common_code, say};
use crate::time::Time;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.summary/1";
/// How far it looks back unless told: a night.
pub(super) const NIGHT: i64 = 12 * 3_600;

#[derive(Debug, Args)]
#[command(
    after_help = "Where there is nothing to tell nothing is printed, so that cron sends no mail; with -v one line says \
                        that all is well. Nothing is written to any board."
)]
pub(super) struct ReportArgs {
    /// How far to look back: a length of time (12h, 3d), RFC 3339 or epoch seconds [default: 12h]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Write the report as one page that needs no network, readable by you alone
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) fn run(args: &ReportArgs, version: &str) -> Result<u8> {
    let common = &args.common;
    let loaded = common.load()?;
    let here = Here::look(common, &loaded.config)?;
    let since = since(args.since.as_deref(), here.now)?;
    let lens = why::lens(common, &here, &loaded);
    let (mut all, mut codes, mut faults): (Vec<Summary>, Vec<u8>, Vec<Value>) = Default::default();
    for id in common.boards(&loaded.config)? {
        match lens.read(&id, since) {
            Ok(read) => {
                let summary = Summary::of(read, since, here.now);
                // What could not be looked at is said in its own place, and by the code.
                codes.push(if summary.unknown.is_empty() { 0 } else { Kind::Partial.code() });
                all.push(summary);
            }
            Err(e) => {
                let _ = say(&mut std::io::stderr().lock(), '3', "watchbill report", &e.to_string());
                codes.push(e.kind.code());
                faults.push(json!({"board": id.name(), "path": id.path, "error": e.to_string()}));
            }
        }
    }
    if let Some(file) = &args.html {
        page::write(file, &html::page(&all))?;
    }
    show(common, version, (since, here.now), &all, &faults)?;
    Ok(common_code(&codes))
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

/// From when on is told.
fn since(given: Option<&str>, now: Time) -> Result<Time> {
    let Some(text) = given else { return Ok(now.plus(-NIGHT)) };
    let wrong = |why: String| {
        let hint = "write 12h, 3d, 2026-11-22T06:00:00Z or epoch seconds";
        Error::new(Kind::Usage, format!("--since {text}"), why).hint(hint)
    };
    let at = match parse_time(text) {
        Ok(at) => at,
        Err(_) => now.plus(-span::seconds(span::read(text).map_err(wrong)?)),
    };
    if at >= now { Err(wrong("is not in the past".into())) } else { Ok(at) }
}
