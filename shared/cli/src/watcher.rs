//! The command line that all watchers share: one pass over each board, a saved plan, or what an earlier pass saw.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ticker::Ticker;
use super::{Common, Here, WatcherArgs, env};
use base::error::{Error, Kind, Result};
use base::time::Time;
use base::untrusted_file;
use board::{BoardId, find};
use config::{Config, Loaded};
use logs::cache::Cache;
use ops::metrics::{self, Ended};
use ops::pass::{self, Tools};
use ops::report::{self, BoardReport, Notice, PLAN_SCHEMA, Phase, Plan, PlanBoard};
use policy::Pass;
use watch::Watcher;

/// The exit codes of a pass other than 0, for the end of its help.
macro_rules! failures {
    () => {
        "  1   done, but something could not be read or changed
  2   wrong usage
  65  not a readable board, or a board that must not be written
  66  no such board
  70  a bug in watchbill
  74  disk or output failed
  75  busy or paused; the next pass tries again
  77  not permitted
  78  bad configuration"
    };
}
pub(super) use failures;

pub(super) const AFTER_HELP: &str = concat!(
    "\
Exit codes:
  0   done, whether or not anything changed
",
    failures!(),
    "

A task is skipped if its body has the line `watchbill: no-heal`, or if a comment by the \
operator begins with it."
);

pub(super) fn run<W: Watcher>(args: &WatcherArgs, version: &str) -> Result<u8> {
    metered(W::NAME, args, version, |kept| {
        let Loaded { config, origin, .. } = args.common.load()?;
        run_then(&W::new(&origin), &config, args, version, &mut |_, boards| {
            *kept = kept.take().map(|_| boards.to_vec());
            Ok(())
        })
    })
}

/// What became of each board; `None` where nobody wants to know.
pub(super) type Kept = Option<Vec<BoardReport>>;

/// Does a pass, which leaves what became of each board where it is wanted, and then writes down how it ended where
/// `--metrics` says to, however it ended.
pub(super) fn metered(
    program: &str,
    args: &WatcherArgs,
    version: &str,
    pass: impl FnOnce(&mut Kept) -> Result<u8>,
) -> Result<u8> {
    recorded(program, args.watcher.metrics.as_deref(), args.common.now, version, pass)
}

/// The same for a program that is not a watcher. A pass that leaves nothing there has no record.
pub(super) fn recorded(
    program: &str,
    file: Option<&Path>,
    now: Option<Time>,
    version: &str,
    pass: impl FnOnce(&mut Kept) -> Result<u8>,
) -> Result<u8> {
    let Some(file) = file else { return pass(&mut None) };
    metrics::check(file)?;
    let (at, began) = (now.unwrap_or_else(Time::of_clock), Instant::now());
    let mut kept = Some(Vec::new());
    let done = pass(&mut kept);
    let exit = done.as_ref().map_or_else(|e| e.kind.code(), |code| *code);
    let Some(boards) = kept else { return done };
    let ended = Ended { program, version, at, took: began.elapsed(), exit, boards: &boards };
    // What the pass itself ended on goes first.
    let written = metrics::write(file, &ended);
    done.and_then(|code| written.map(|()| code))
}

/// The same with a configuration that is read already, and with something to be done with what came of it.
pub(super) fn run_then<W: Watcher>(
    watcher: &W,
    config: &Config,
    args: &WatcherArgs,
    version: &str,
    then: &mut dyn FnMut(&Pass, &[BoardReport]) -> Result<()>,
) -> Result<u8> {
    let common = &args.common;
    let flags = &args.watcher;
    let dry = flags.dry_run || flags.facts.is_some();
    check_clock(common, !dry && !watcher.only_looks())?;
    let here = Here::look(common, config)?;
    let only = match (&flags.task, &flags.facts) {
        (Some(typed), None) => Some(meant("--task", typed, &common.boards(config)?, config)?),
        (typed, _) => typed.clone(),
    };
    let pass = here.pass(W::NAME, only, dry);
    if let Some(file) = &flags.facts {
        let reports = facts(watcher, file, &pass, config)?;
        let code = show(&pass, version, &reports, None, common)?;
        return then(&pass, &reports).map(|()| code);
    }
    let mut cache = Cache::open(Cache::place(&env));
    let mut tools = here.tools(&pass, config, &mut cache, common.json && common.verbose);
    let boards = match &flags.plan {
        Some(file) => planned(file, &mut tools)?,
        None => {
            let ids = common.boards_seen(tools.cache, config)?;
            let ticker = Ticker::start(W::NAME, common);
            let boards: Vec<_> = ids.iter().map(|id| pass::run(watcher, id, &mut tools)).collect();
            drop(ticker);
            boards
        }
    };
    // What was read counts as read only where what it led to is on the board.
    if boards.iter().any(|b| b.error.is_some()) {
        tools.cache.drop_logs();
    }
    let forgot = if dry { None } else { cache.save() };
    let plan = dry.then(|| plan(&pass, &here.host.facts().hostname, &boards));
    let mut code = show(&pass, version, &boards, plan.as_ref(), common)?;
    if let Some(warning) = forgot {
        let _ = report::say(&mut std::io::stderr().lock(), '3', W::NAME, &warning);
        // What lasts is seen by no later pass.
        code = code.max(Kind::Partial.code());
    }
    then(&pass, &boards).map(|()| code)
}

/// Refuses to change boards that nobody named at a moment that is not now.
pub(super) fn check_clock(common: &Common, changes: bool) -> Result<()> {
    if common.now.is_some() && changes && common.db.is_empty() {
        return Err(Error::new(Kind::Usage, "--now", "changes a board only with an explicit --db")
            .hint("add --dry-run to look only"));
    }
    Ok(())
}

/// The task that a flag names, and its board.
pub(super) fn found(
    flag: &str,
    typed: &str,
    boards: &[BoardId],
    config: &Config,
) -> Result<(BoardId, String)> {
    find::find(typed, boards, config.board.busy_timeout)
        .map_err(|e| if is_answer(&e) { Error { at: format!("{flag} {typed}"), ..e } } else { e })
}

/// The id of the task that a flag names: one that is on no board would otherwise look like a healthy task. Where a board
/// cannot be read it stays as it was typed, and the pass says what is wrong with the board.
pub(super) fn meant(flag: &str, typed: &str, boards: &[BoardId], config: &Config) -> Result<String> {
    match found(flag, typed, boards, config) {
        Ok((_, task)) => Ok(task),
        Err(e) if is_answer(&e) => Err(e),
        Err(_) => Ok(typed.to_owned()),
    }
}

/// Whether all boards were read, and none has such a task or several match.
fn is_answer(e: &Error) -> bool {
    matches!(e.kind, Kind::Usage | Kind::Partial)
}

pub(super) fn show(
    pass: &Pass,
    version: &str,
    boards: &[BoardReport],
    plan: Option<&Plan>,
    common: &Common,
) -> Result<u8> {
    let codes: Vec<u8> = boards.iter().map(BoardReport::code).collect();
    let code = report::common_code(&codes);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut err = std::io::stderr().lock();
    let written = report::write(&mut out, &mut err, pass, version, boards, plan, common.loudness());
    match written.and_then(|()| out.flush()) {
        Ok(()) => Ok(code),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {
            // What is still buffered has nowhere to go, and trying again would only fail again.
            drop(out.into_parts());
            Ok(code)
        }
        Err(e) => {
            drop(out.into_parts());
            Err(Error::new(Kind::Io, "stdout", e))
        }
    }
}

fn plan(pass: &Pass, host: &str, boards: &[BoardReport]) -> Plan {
    let board = |b: &BoardReport| PlanBoard {
        path: real(&b.path),
        steps: b.steps.iter().map(|(step, _)| step.clone()).collect(),
    };
    Plan {
        schema: PLAN_SCHEMA.into(),
        program: pass.program.into(),
        host: host.into(),
        pass: pass.id.clone(),
        now: pass.now,
        boards: boards.iter().filter(|b| !b.steps.is_empty()).map(board).collect(),
    }
}

fn real(path: &str) -> String {
    std::fs::canonicalize(path).map_or_else(|_| path.to_owned(), |p| p.display().to_string())
}

/// Applies a saved plan: on the machine and the boards it was made for, within a day.
fn planned(file: &Path, tools: &mut Tools<'_>) -> Result<Vec<BoardReport>> {
    let at = file.display();
    let refuse = |what: &dyn std::fmt::Display| {
        Error::new(Kind::Data, at.to_string(), what).hint("make a new one with --dry-run --json")
    };
    let plan =
        Plan::read(read(file, true)?, tools.pass.program, &tools.host.facts().hostname, tools.pass.now)
            .map_err(|why| refuse(&why))?;
    let one = |b: PlanBoard, tools: &mut Tools<'_>| {
        let id = BoardId { at: b.path.as_str().into(), slug: None, root: None };
        if real(&b.path) != b.path {
            let mut report = BoardReport::new(b.path.clone(), b.path.clone());
            report.error = Some(refuse(&format_args!("made for {}, which is another board now", b.path)));
            return report;
        }
        pass::apply_plan(&id, b.steps, tools)
    };
    Ok(plan.boards.into_iter().map(|b| one(b, tools)).collect())
}

/// Decides again on what an earlier pass saw.
fn facts<W: Watcher>(watcher: &W, file: &Path, pass: &Pass, config: &Config) -> Result<Vec<BoardReport>> {
    let whole: Value = read(file, false)?;
    let at = file.display().to_string();
    let bad = |e: serde_json::Error| Error::new(Kind::Data, &at, format!("not what {} saw: {e}", W::NAME));
    let boards = whole.get("boards").and_then(Value::as_array);
    let all: Vec<(String, Value)> = match boards {
        Some(boards) => boards
            .iter()
            .filter_map(|b| Some((b.get("board")?.as_str()?.to_owned(), b.get("seen")?.clone())))
            .collect(),
        None => vec![(at.clone(), whole.clone())],
    };
    if all.is_empty() {
        return Err(Error::new(Kind::Data, &at, "holds nothing that was seen")
            .hint(format!("make it with {} -n -v --json", W::NAME)));
    }
    let mut reports = Vec::new();
    for (name, seen) in all {
        let seen: W::Seen = serde_json::from_value(seen).map_err(bad)?;
        let pass = Pass { now: W::seen_at(&seen), ..pass.clone() };
        let decision = watcher.decide(&seen, &pass, config);
        let mut report = BoardReport::new(name, at.clone());
        report.overview = watcher.overview(&seen, &pass, config);
        report.steps = decision.steps.into_iter().map(|s| (s, board::Outcome::Planned)).collect();
        report.glanced = Some(W::glanced(&seen));
        report.left = decision.left;
        report.findings = decision.findings;
        let all = decision.notices.into_values().chain(decision.told.into_iter().map(|(said, _)| said));
        report.notices = all.map(|said| Notice::new(said, Phase::Began)).collect();
        reports.push(report);
    }
    Ok(reports)
}

/// Reads a file that was named on the command line. What will be done exactly as it stands there must be ours: a plan
/// that another user can write would let that user change the board.
fn read<T: DeserializeOwned>(file: &Path, must_be_ours: bool) -> Result<T> {
    let at = file.display();
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin()).map_err(|e| Error::io(at, &e))?
    } else {
        let mut opened = File::open(file).map_err(|e| Error::io(at, &e))?;
        let meta = opened.metadata().map_err(|e| Error::io(file.display(), &e))?;
        if let Some(why) = untrusted_file::others_hand(&meta).filter(|_| must_be_ours) {
            return Err(Error::new(Kind::Permission, file.display(), why)
                .hint("make a new one with --dry-run --json, in a folder of your own"));
        }
        let mut text = String::new();
        opened.read_to_string(&mut text).map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => Error::new(Kind::Data, file.display(), "not text"),
            _ => Error::io(file.display(), &e),
        })?;
        text
    };
    serde_json::from_str(&text).map_err(|e| Error::new(Kind::Data, file.display(), format!("not JSON: {e}")))
}
