//! `budget-check`: the pass all watchers share, the page it can write, and `--lint`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::watcher::failures;
use super::{Common, Here, WatcherArgs, page, print, print_json, watcher};
use ::page::{Overview, html};
use base::error::Result;
use base::registry::BUDGET_CHECK;
use base::time::Time;
use board::{BoardId, Mode, Status};
use card::scope::lint::{Flaw, Policy, lint};
use config::Config;
use ops::report::{BoardReport, common_code, printable, say};
use policy::Pass;
use watch::budget::BudgetCheck;

/// The schema of `--lint --json`.
const SCHEMA: &str = "watchbill.lint/1";
/// Files one task may change before `--lint` calls it too broad, where `budget.max_files` sets no limit.
const MAX_FILES: u32 = 25;

pub(super) const AFTER_HELP: &str = concat!(
    "\
Writes to a board only with --comment or --distress. Never changes a task's state.

Verdicts: over time, over iterations, over cost, out of scope, too many files, churning, stuck progress, over attempts. \
A limit comes from the ## Scope section of the task, else from [budget] of the configuration. \
`watchbill status` shows what needs you.

Exit codes:
  0   done, whatever was found
",
    failures!()
);

#[derive(Debug, Args)]
pub(super) struct BudgetArgs {
    /// Add one comment to a task for each limit that it exceeds
    #[arg(long, conflicts_with_all = ["lint", "plan"])]
    comment: bool,
    /// Write a card to the orchestrator for each running task over its limits, with a draft of a split
    #[arg(long, conflicts_with_all = ["lint", "plan"])]
    distress: bool,
    /// Write the result as one HTML page that needs no network and that only you can read; see also `watchbill page`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["lint", "plan"])]
    html: Option<PathBuf>,
    /// Only list ready and running tasks with a scope that is missing, contradictory, not understood or too broad, with the
    /// line to fix
    #[arg(long, conflicts_with_all = ["plan", "facts", "dry_run", "metrics"])]
    lint: bool,
    #[command(flatten)]
    pub(super) args: WatcherArgs,
}

pub(super) fn run(budget: &BudgetArgs, version: &str) -> Result<u8> {
    let common = &budget.args.common;
    if budget.lint {
        return lint_boards(budget, common, &common.load()?.config, version);
    }
    watcher::metered(BUDGET_CHECK, &budget.args, version, |kept| pass(budget, version, kept))
}

fn pass(budget: &BudgetArgs, version: &str, kept: &mut watcher::Kept) -> Result<u8> {
    let loaded = budget.args.common.load()?;
    let config = loaded.config;
    let check = BudgetCheck { comment: budget.comment, distress: budget.distress, origin: loaded.origin };
    let mut page = |pass: &Pass, boards: &[BoardReport]| {
        *kept = kept.take().map(|_| boards.to_vec());
        let Some(file) = budget.html.as_deref() else { return Ok(()) };
        let overviews: Vec<Overview> = boards.iter().map(|b| overview(b, pass.now)).collect();
        page::write(file, "--html ", &html::page(&overviews))
    };
    watcher::run_then(&check, &config, &budget.args, version, &mut page)
}

/// What the page says of a board; of one that could not be looked at, why.
fn overview(board: &BoardReport, now: Time) -> Overview {
    let mut overview = board.overview.clone().unwrap_or_else(|| Overview::nothing(&board.board, now));
    overview.unknown.extend(board.error.as_ref().map(ToString::to_string));
    overview
}

/// The flaws of one task.
struct Linted {
    task: String,
    title: String,
    status: String,
    flaws: Vec<Flaw>,
}

fn lint_boards(budget: &BudgetArgs, common: &Common, config: &Config, version: &str) -> Result<u8> {
    let here = Here::look(common, config)?;
    let ids = common.boards(config)?;
    let only = budget.args.watcher.task.as_deref();
    let only = only.map(|typed| watcher::meant("--task", typed, &ids, config)).transpose()?;
    let (mut codes, mut boards, mut text) = (Vec::new(), Vec::new(), String::new());
    for id in &ids {
        let prefix = if ids.len() > 1 { format!("[{}] ", id.name()) } else { String::new() };
        match lint_board(id, config, only.as_deref()) {
            Ok(tasks) => {
                tasks.iter().for_each(|t| text.push_str(&shown(t, &prefix)));
                let tasks: Vec<Value> = tasks.iter().map(whole).collect();
                boards.push(
                    json!({"board": id.name(), "path": id.at, "exit": 0, "tasks": tasks, "error": null}),
                );
                codes.push(0);
            }
            Err(e) => {
                let _ = say(&mut std::io::stderr().lock(), '3', BUDGET_CHECK, &e.to_string());
                boards.push(json!({
                    "board": id.name(), "path": id.at, "exit": e.kind.code(), "tasks": [], "error": e.to_string(),
                }));
                codes.push(e.kind.code());
            }
        }
    }
    if common.json {
        let report = json!({
            "schema": SCHEMA, "program": BUDGET_CHECK, "version": version, "now": here.now, "boards": boards,
        });
        print_json(&report)?;
    } else if !common.quiet {
        print(&text)?;
    }
    Ok(common_code(&codes))
}

fn lint_board(id: &BoardId, config: &Config, only: Option<&str>) -> Result<Vec<Linted>> {
    let mut board = board::open(id, Mode::Look, config.board.busy_timeout)?;
    let b = &config.budget;
    let policy = Policy {
        max_files: if b.max_files > 0 { b.max_files } else { MAX_FILES },
        iterations: b.iterations,
        max_areas: usize::try_from(b.max_areas).unwrap_or(usize::MAX),
    };
    let rows = board.glance(&[Status::Running, Status::Ready])?;
    let asked = |id: &str| only.is_none_or(|only| only == id);
    let ids: Vec<String> =
        rows.iter().filter(|t| asked(&t.id) && !t.is_card()).map(|t| t.id.clone()).collect();
    let all = board.look(&ids)?.into_iter().map(|d| Linted {
        task: d.task.id.clone(),
        title: d.task.title.clone(),
        status: d.task.status.to_string(),
        flaws: lint(&d.body, &policy),
    });
    Ok(all.filter(|t| !t.flaws.is_empty()).collect())
}

fn shown(t: &Linted, prefix: &str) -> String {
    let mut out = format!("{prefix}{} {} ({})\n", printable(&t.task), printable(&t.title), t.status);
    for f in &t.flaws {
        out.push_str(&format!("  {}: {}\n", f.what.as_str(), printable(&f.because)));
        if let (Some(line), Some(text)) = (f.line, &f.text) {
            out.push_str(&format!("    line {line}: {}\n", printable(text)));
        }
        for (i, line) in f.fix.lines().enumerate() {
            let lead = if i == 0 { "write:" } else { "      " };
            out.push_str(&format!("    {lead} {}\n", printable(line)));
        }
    }
    out
}

fn whole(t: &Linted) -> Value {
    json!({"task": t.task, "title": t.title, "status": t.status, "flaws": t.flaws})
}
