//! One pass of a watcher over one board: open, look, decide, apply, report.

pub mod apply;
pub mod damage;
mod decide;
pub mod history;
pub mod lock;
pub mod look;
pub mod open;
mod report;
pub mod timeline;

use self::apply::By;
pub use self::report::dry_report;
use crate::report::BoardReport;
use base::error::{Kind, Result};
use board::kept::Kept;
use board::{Board, BoardId, Mode, Outcome, Step};
use config::Config;
use coord::opencode::Opencode;
use host::{Host, Split};
use logs::agents::Homes;
use logs::cache::Cache;
use policy::Pass;
use policy::routing::facts;
use policy::runtime::gateway;
use watch::Watcher;

/// Everything a pass needs that does not belong to one board.
pub struct Tools<'a> {
    /// The pass.
    pub pass: &'a Pass,
    /// This machine.
    pub host: &'a Host,
    /// Configuration.
    pub config: &'a Config,
    /// Memory between passes.
    pub cache: &'a mut Cache,
    /// Wall clock minus boot clock, in seconds.
    pub clock_offset: i64,
    /// The folders of the agents, in which logs are looked for by who holds them open and by the folder they were made in.
    pub homes: &'a Homes,
    /// opencode as it is on this machine.
    pub opencode: &'a Opencode,
    /// Keep what was seen for the report.
    pub keep_seen: bool,
    /// It is for a command that only looks.
    pub looks: Option<Looks<'a>>,
}

/// A command that only looks, and asks more than once what its boards say. It takes no step, and shows none whole.
#[derive(Clone, Copy)]
pub struct Looks<'a> {
    /// The boards, each read once.
    pub kept: &'a Kept,
    /// It shows the pages of the watchers.
    pub pages: bool,
}

impl Tools<'_> {
    /// Opens a board.
    ///
    /// # Errors
    /// See [`board::open`] and [`timeline::refuse`].
    pub fn open(&self, id: &BoardId, mode: Mode) -> Result<Box<dyn Board>> {
        let patience = self.config.board.busy_timeout;
        let Some(looks) = self.looks.filter(|_| mode == Mode::Look) else {
            return timeline::open(id, mode, patience, self.cache);
        };
        let mut board = looks.kept.open(id, patience)?;
        timeline::refuse(&mut *board, self.cache)?;
        Ok(board)
    }

    /// Whether some process writes into a deleted copy of a board; `None` of one that is not a file.
    pub fn split(&self, id: &BoardId) -> Option<Split> {
        let split = |file| self.host.split(file);
        match self.looks {
            Some(looks) => id.file().map(|file| looks.kept.split(id, || split(file))),
            None => id.file().map(split),
        }
    }
}

/// Runs one pass over one board. Never fails as a whole: the report says what happened.
pub fn run<W: Watcher>(watcher: &W, id: &BoardId, tools: &mut Tools<'_>) -> BoardReport {
    let mut report = reported(id, |report| {
        let mut board = open::for_watcher(id, watcher.only_looks(), tools, report)?;
        gateway::note(id, tools.host, tools.cache, tools.pass.now);
        let (seen, found) = look::around(&mut *board, tools, |world, pass| {
            Ok((watcher.observe(world, pass)?, std::mem::take(&mut world.found)))
        })?;
        // After the look, which finds whether work goes on here.
        report.notices.extend(history::look(&mut *board, tools)?);
        let decision = decide::decide(watcher, &seen, id, tools);
        let steps = report::decided(watcher, seen, decision, id, tools, report);
        report.findings.extend(found);
        apply::apply(&mut *board, steps, tools, report, By::Watcher)
    });
    if !tools.pass.clock_given {
        facts::share_sent(tools.cache, id, &report.steps, tools.pass.now);
    }
    if report.error.as_ref().is_some_and(|e| e.kind == Kind::Damaged) {
        damage::doubt(id, tools.cache, tools.pass.now);
    }
    if let Some(e) = report.error.as_mut().filter(|e| e.kind == Kind::NoInput) {
        e.hint = e.hint.take().or_else(|| history::mend(id, tools.cache));
    }
    report
}

/// Applies steps that were planned earlier, exactly as they stand.
pub fn apply_plan(id: &BoardId, steps: Vec<Step>, tools: &mut Tools<'_>) -> BoardReport {
    reported(id, |report| {
        let mut board = open::for_watcher(id, false, tools, report)?;
        apply::apply(&mut *board, steps, tools, report, By::Watcher)
    })
}

/// Carries out what the operator asked for by hand: each step, or why it must not be done. A pause stops watchers, not the
/// operator. A step whose task changed meanwhile is refused.
pub fn by_hand(
    id: &BoardId,
    tools: &mut Tools<'_>,
    steps: impl FnOnce(&mut dyn Board) -> Result<Vec<(Step, Option<String>)>>,
) -> BoardReport {
    let mut report = reported(id, |report| {
        let mut board = open::by_hand(id, tools)?;
        let (mut refused, mut doable) = (Vec::new(), Vec::new());
        for (step, why) in steps(&mut *board)? {
            match why {
                Some(why) => refused.push((step, Outcome::Refused { why })),
                None => doable.push(step),
            }
        }
        let done = apply::apply(&mut *board, doable, tools, report, By::Hand);
        report.steps.splice(..0, refused);
        done
    });
    for (_, outcome) in &mut report.steps {
        if let Outcome::Moved { what } = outcome {
            *outcome = Outcome::Refused { why: format!("changed meanwhile: {what}; try again") };
        }
    }
    report
}

/// The report of what is done on one board, with the error it ends with, if it does.
fn reported(id: &BoardId, done: impl FnOnce(&mut BoardReport) -> Result<()>) -> BoardReport {
    let mut report = BoardReport::of(id);
    report.error = done(&mut report).err();
    report
}
