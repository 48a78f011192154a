//! Opening a board for a pass: not where it is paused, split or damaged.

use std::collections::BTreeSet;

use super::{Tools, damage, timeline};
use crate::report::{BoardReport, Notice, Phase};
use base::error::{Error, Kind, Result};
use board::{Board, BoardId, Mode};
use host::{Host, Split};

/// Opens a board for the pass of a watcher, unless it is paused, split or damaged. One that only looks may open a paused board.
pub(super) fn for_watcher(
    id: &BoardId,
    only_looks: bool,
    tools: &mut Tools<'_>,
    report: &mut BoardReport,
) -> Result<Box<dyn Board>> {
    let looks = only_looks || tools.pass.dry;
    paused(id, looks, tools, report)?;
    whole(id, looks, tools)
}

/// Opens a board for what a person asked for, unless it is split or damaged.
pub(super) fn by_hand(id: &BoardId, tools: &mut Tools<'_>) -> Result<Box<dyn Board>> {
    whole(id, tools.pass.dry, tools)
}

fn whole(id: &BoardId, looks: bool, tools: &mut Tools<'_>) -> Result<Box<dyn Board>> {
    let mode = if looks { Mode::Look } else { Mode::Change };
    let board = tools.open(id, mode)?;
    let split = tools.split(id);
    let (cache, now) = (&mut *tools.cache, tools.pass.now);
    // What damages a board is a split that ends in another way than the advice says.
    refused(id, split).inspect_err(|_| damage::doubt(id, cache, now))?;
    damage::refuse(&*board, cache, now)?;
    timeline::note(&*board, cache, now);
    Ok(board)
}

/// Refuses a board of which a deleted copy is still written to: whatever is done here would be seen by half of its users.
///
/// # Errors
/// `Data`, naming the processes and what to do.
pub fn refuse_split(id: &BoardId, host: &Host) -> Result<()> {
    refused(id, id.file().map(|file| host.split(file)))
}

fn refused(id: &BoardId, split: Option<Split>) -> Result<()> {
    let Some(Split::Split { pids }) = split else { return Ok(()) };
    let what = format!("this board is split: {}", split_what(&pids));
    Err(Error::new(Kind::Data, &id.at, what).hint(split_todo(&pids)))
}

/// What the processes do that split a board.
pub(crate) fn split_what(pids: &[i64]) -> String {
    format!("process {} writes into a deleted copy of it, and that is lost", joined(pids, ", "))
}

/// What a person does about a split board. Tried on real ones: ended by KILL such a process leaves the board as the others see
/// it; ended by TERM, as a restart ends it, or not ended at all it writes old pages over theirs.
pub(crate) fn split_todo(pids: &[i64]) -> String {
    format!(
        "run `kill -9 {}` now, not a restart: any other end lets it write old pages over the board. Then copy the board with its \
         -wal, run `watchbill doctor`, and start the process again; nothing is written here until it is gone",
        joined(pids, " ")
    )
}

pub(super) fn joined(pids: &[i64], between: &str) -> String {
    pids.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// Refuses a board that is paused, see [`board::pause`].
pub(super) fn paused(
    id: &BoardId,
    looks: bool,
    tools: &mut Tools<'_>,
    report: &mut BoardReport,
) -> Result<()> {
    // A pass that ends with 75 says why, also where one that only looks said it before.
    let who = if looks { "pause-look" } else { "pause" };
    let key = format!("{who}:{}:", id.at);
    let now = tools.pass.now;
    let Some(pause) = id.pause_in_force(now, tools.config.board.busy_timeout)? else {
        tools.cache.forget(&key, &BTreeSet::new());
        return Ok(());
    };
    // Who moved its end or its reason is to see that it counts.
    let sighting = format!("{key}{:?}", (pause.until, &pause.reason));
    let is_told = tools.cache.was_sighted(&sighting) && !tools.pass.dry;
    tools.cache.forget(&key, &BTreeSet::from([sighting.clone()]));
    tools.cache.sight(&sighting, now);
    if looks {
        // Looking is what a pause is for.
        let said = format!("{}; nothing is changed meanwhile", pause.words(now));
        report.warnings.push(Notice::new(said, if is_told { Phase::Lasts } else { Phase::Began }));
        return Ok(());
    }
    // Hosts stay known to each other, or the first pass after it would take those for gone whose pass comes later.
    if id.file().is_none() {
        super::look::attend(&mut *tools.open(id, Mode::Change)?, &id.known_as(tools.host)?, tools)?;
    }
    report.muted = is_told;
    report.is_paused = true;
    Err(pause.refusal(id, now))
}
