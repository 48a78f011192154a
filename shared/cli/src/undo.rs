//! `watchbill undo`: undoes what a watcher did, where the board still is as it left it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use clap::Args;

use super::{Common, Here, env, watcher};
use base::error::{Error, Kind, Result};
use base::quote;
use base::time::Time;
use board::{Board, BoardId, Change, Detail, Link, Status, Step, find};
use card::{shell_word, task_word};
use logs::cache::Cache;
use ops::pass::{self, Tools};
use ops::report::BoardReport;
use ops::undo::{self, Action, Word};
use policy::Pass;
use policy::authorship;

/// What can be undone.
const FORMS: &str =
    "a pass looks like 20261121T031205Z-heal-7f3a; a task is named by its id; reports and events name both";
/// Most characters of a reason that are kept.
const MAX_REASON: usize = 200;
/// Most events looked through for a pass.
const MAX_EVENTS: u32 = 200_000;

pub(super) const AFTER_HELP: &str = concat!(
    "\
Undoes the newest change of a task, or each change of a pass, if the task has not changed since. Deletes nothing: \
comments and attempts stay, and a card that the watcher wrote is archived. Watchers skip the task until something else \
changes it. Also works while the board is paused.

Exit codes:
  0   everything undone
",
    "  1   refused, with the reason: the task changed since, or there is nothing to undo
  2   wrong usage
  65  not a readable board, or a board that must not be written
  66  no such board
  70  a bug in watchbill
  74  disk or output failed
  75  the board is busy; try again
  77  not permitted
  78  bad configuration"
);

#[derive(Debug, Args)]
pub(super) struct UndoArgs {
    /// A pass (20261121T031205Z-heal-7f3a), or a task: an id, with or without t_, or the start of an id
    #[arg(value_name = "PASS|TASK")]
    what: String,
    /// Print what would be undone, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Record the reason in the task's history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) fn run(args: &UndoArgs, version: &str) -> Result<u8> {
    let common = &args.common;
    if common.now.is_some() && !args.dry_run && common.db.is_empty() {
        return Err(Error::new(Kind::Usage, "--now", "changes a board only with an explicit --db")
            .hint("add --dry-run to look only"));
    }
    let what = args.what.trim();
    if what.is_empty() || what.contains(char::is_whitespace) {
        return Err(Error::new(Kind::Usage, "PASS|TASK", "is neither a pass nor a task").hint(FORMS));
    }
    let config = common.load()?.config;
    let here = Here::look(common, &config)?;
    let pass = here.pass(undo::NAME, None, args.dry_run);
    let mut cache = Cache::in_memory();
    let mut tools = here.tools(&pass, &config, &mut cache, false);
    let said = Word {
        who: env("USER").or_else(|| env("LOGNAME")).map(|who| quote::inline(&who, 64)),
        reason: args.reason.as_deref().map(|r| quote::inline(r, MAX_REASON)),
    };
    let asked = |task: Option<String>| Asked {
        what,
        task,
        pass: &pass,
        said: &said,
        by_file: common.by_file(),
        knows: Cell::new(false),
    };
    let boards = common.boards(&config)?;
    let is_pass = begun(what).is_some();
    let task = (!is_pass).then(|| find::find(what, &boards, config.board.busy_timeout));
    let reports = match task {
        None => asked(None).on(&boards, &mut tools)?,
        Some(Ok((board, id))) if id == what || id.strip_prefix("t_") == Some(what) => {
            asked(Some(id)).on(&[board], &mut tools)?
        }
        // A pass may have any name, and comes before the beginning of an id.
        Some(task) => {
            let of_pass = asked(None);
            match (of_pass.on(&boards, &mut tools), task) {
                (Ok(reports), _) => reports,
                (Err(nothing), _) if of_pass.knows.get() => return Err(nothing),
                (Err(_), Ok((board, id))) if begins(&id, what) => asked(Some(id)).on(&[board], &mut tools)?,
                (Err(_), Err(missing)) if missing.kind == Kind::Partial => return Err(missing),
                (Err(nothing), _) => return Err(nothing),
            }
        }
    };
    watcher::show(&pass, version, &reports, None, common)
}

/// Whether an id begins with what was typed, with or without `t_`. A title is not enough where something is written.
fn begins(id: &str, typed: &str) -> bool {
    let starts = |id: &str| id.get(..typed.len()).is_some_and(|front| front.eq_ignore_ascii_case(typed));
    starts(id) || id.strip_prefix("t_").is_some_and(starts)
}

struct Asked<'a> {
    what: &'a str,
    /// The task that is meant; else a pass is.
    task: Option<String>,
    pass: &'a Pass,
    said: &'a Word,
    /// The boards were named in a way that a command must repeat.
    by_file: bool,
    /// Whether any board knows the task or the pass.
    knows: Cell<bool>,
}

impl Asked<'_> {
    /// What was done on these boards.
    ///
    /// # Errors
    /// There is nothing to undo on any of them.
    fn on(&self, boards: &[BoardId], tools: &mut Tools<'_>) -> Result<Vec<BoardReport>> {
        let mut reports = Vec::new();
        for id in boards {
            reports.push(pass::by_hand(id, tools, |board| self.steps(board)));
        }
        let is_there = reports.iter().any(|r| !r.steps.is_empty() || r.error.is_some());
        is_there.then_some(reports).ok_or_else(|| self.nothing(boards))
    }

    /// What to do on one board, each with why it must not be done.
    fn steps(&self, board: &mut dyn Board) -> Result<Vec<(Step, Option<String>)>> {
        let ids = match &self.task {
            Some(task) => vec![task.clone()],
            None => self.tasks(board)?,
        };
        let open: Vec<Status> = board.states()?.into_iter().filter(|s| !s.frees_children()).collect();
        let mut links = board.links(&open)?;
        let mut steps = Vec::new();
        for d in board.look(&ids)? {
            self.knows.set(true);
            let Some((action, others)) = self.action(board, &d)? else { continue };
            let is_needed = |card: &str| links.iter().any(|l| l.parent == card && l.child != d.task.id);
            steps.push(match undo::step(&d, &action, &others, &is_needed, self.pass, self.said) {
                Ok(step) => {
                    let is_cut = |l: &Link| {
                        step.changes
                            .iter()
                            .any(|c| matches!(c, Change::Unlink { parent } if *parent == l.parent))
                    };
                    links.retain(|l| l.child != d.task.id || !is_cut(l));
                    (step, None)
                }
                Err(why) => {
                    let why = format!("{why}; {}", self.way_out(board.id(), &d.task.id));
                    (undo::refused(&d.task.id, &action, self.said), Some(why))
                }
            });
        }
        Ok(steps)
    }

    /// What shows how a task that is not undone stands, and what can be done.
    fn way_out(&self, id: &BoardId, task: &str) -> String {
        let board = if self.by_file { format!("--db {} ", shell_word(&id.address())) } else { String::new() };
        format!("`watchbill why {board}{}` names what fits now", task_word(task))
    }

    /// The action that is meant, with the tasks it names.
    fn action(
        &self,
        board: &mut dyn Board,
        d: &Detail,
    ) -> Result<Option<(Action, BTreeMap<String, Detail>)>> {
        for action in undo::actions(d) {
            // A task that the pass made is undone with the action that made it, as long as nobody took it.
            if undo::made_by(d, &action.pass) {
                continue;
            }
            let meant = if self.task.is_some() { !action.is_undone } else { action.pass == self.what };
            if !meant {
                continue;
            }
            let named: Vec<String> = action.named.iter().cloned().collect();
            let others: BTreeMap<String, Detail> =
                board.look(&named)?.into_iter().map(|o| (o.task.id.clone(), o)).collect();
            let makes = others.values().any(|o| undo::made_by(o, &action.pass));
            if action.is_change() || makes {
                return Ok(Some((action, others)));
            }
        }
        Ok(None)
    }

    /// Tasks that a pass did something to.
    fn tasks(&self, board: &mut dyn Board) -> Result<Vec<String>> {
        let since = begun(self.what).unwrap_or(Time(0));
        let mut ids = BTreeSet::new();
        for (task, e) in board.events(since, MAX_EVENTS)? {
            let pass = e.trail().and_then(|t| t.get("pass")?.as_str());
            if pass == Some(self.what) && authorship::is_ours(&e) {
                ids.insert(task);
            }
        }
        Ok(ids.into_iter().collect())
    }

    fn nothing(&self, boards: &[BoardId]) -> Error {
        let what = match (self.task.is_some(), self.knows.get()) {
            (true, true) => {
                let what = "no watcher changed it in a way that is left to be undone";
                let hint = boards.first().zip(self.task.as_deref()).map(|(id, task)| self.way_out(id, task));
                return Error { hint, ..Error::new(Kind::Partial, self.what, what) };
            }
            (true, false) => "no such task on any of these boards",
            (false, true) => "that pass changed nothing that could be undone",
            (false, false) if begun(self.what).is_none() => {
                let what =
                    "looks neither like a task nor a pass, and no pass of that name left anything here";
                return Error::new(Kind::Partial, self.what, what).hint(FORMS);
            }
            (false, false) => "no watcher's pass of that name left anything on these boards",
        };
        Error::new(Kind::Partial, self.what, what)
    }
}

/// When a pass began, as its name says: `20261121T031205Z-...`.
fn begun(pass: &str) -> Option<Time> {
    Time::parse_compact(pass.get(..16)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_says_when_it_began() {
        assert_eq!(begun("20270115T080000Z-heal-7f3a"), Some(Time(1_800_000_000)));
        for none in ["p", "", "heal-20270115T080000Z", "2027é115T080000Z-x", "2027-01-15T08:00:00Z"] {
            assert_eq!(begun(none), None, "{none}");
        }
    }
}
