//! Looking at the world around a board.

use std::path::{Path, PathBuf};

use super::Tools;
use super::damage::Heard;
use base::error::Result;
use base::registry::HEAL;
use board::several_hosts::{self, Duty};
use board::{self, Attended, Board, BoardId, Detail, Mode, discover};
use card::packet::Packet;
use coord::Mapping;
use coord::opencode::gather::{self, Ground};
use coord::opencode::rest::Address;
use coord::opencode::store;
use host::Host;
use logs::agents::{Homes, UsageAsk};
use logs::attempt;
use logs::cache::Cache;
use logs::operator_patterns::Patterns;
use logs::provider;
use logs::session::Prices;
use logs::usage::Usage;
use logs::vitals::{Vitals, Worker};
use policy::runtime::{self, LogFiles};
use policy::{Pass, Printed, UseAsk, World, clock, worktree_note};
use watch::heal;

/// Looks at the world around one board. On one that several hosts share, this host says that it does.
///
/// # Errors
/// The board of several hosts does not answer. Whatever `f` says.
pub fn around<T>(
    board: &mut dyn Board,
    tools: &mut Tools<'_>,
    f: impl FnOnce(&mut World<'_>, &Pass) -> Result<T>,
) -> Result<T> {
    let (id, own) = (&board.id().clone(), board.is_own());
    let (known, config) = (id.known_as(tools.host)?, tools.config);
    let began = clock::began(tools.cache, &known.facts().boot_id).filter(|_| !tools.pass.clock_given);
    let host = &began.map_or(known.clone(), |at| known.begun_by(at));
    let hosts = attend(board, host, tools)?;
    let runtime = || runtime::of(id, own, host);
    let root = id.root.as_deref().filter(|_| !own);
    let profile = |name: &str| provider::of(root, name, config);
    let prices = Prices::of(config);
    let opencode = tools.opencode;
    let store = opencode.store.as_deref();
    let places = Places { prices: &prices, homes: tools.homes, opencode: store };
    let usage = |ask: &UseAsk<'_>, cache: &mut Cache| {
        let read = |ask: &UsageAsk<'_>| attempt::usage::read(ask, cache);
        asked(id, ask, places, &[], read).unwrap_or_else(Usage::unknown)
    };
    let vitals = |ask: &UseAsk<'_>, worker: Option<Worker>, cache: &mut Cache| {
        let read = |ask: &UsageAsk<'_>| attempt::vitals::read(ask, worker, cache);
        // Where its claim names a log, no other is looked for.
        let below = |w: Worker| tools.homes.held().flat_map(move |at| host.open_below(w.pid, w.ticks, &at));
        let held: Vec<PathBuf> = worker.filter(|_| ask.file.is_none()).into_iter().flat_map(below).collect();
        asked(id, ask, places, &held, read).unwrap_or_else(|why| Some(Vitals::hidden(why)))
    };
    let now = tools.pass.now;
    let sessions = |mappings: &[Mapping]| {
        let server = |at: &Address| opencode.server(at);
        gather::mapped(mappings, &Ground { server: &server, store, limits: &config.detect, now })
    };
    let patterns = Patterns::of(&config.matches);
    let state = worktree_note::beside(id);
    let mut world = World {
        board,
        host,
        logs: &Heard(LogFiles(&patterns)),
        cache: tools.cache,
        runtime: &runtime,
        profile: &profile,
        tree: &worktree::look,
        changes: &worktree::changes::changes,
        state: &state,
        usage: &usage,
        vitals: &vitals,
        sessions: &sessions,
        hosts,
        clock_offset: tools.clock_offset,
        found: Vec::new(),
        config,
    };
    f(&mut world, tools.pass)
}

/// Says on a board that several hosts share that a pass of this one is there. `None` on a board of one host.
///
/// # Errors
/// The board does not answer.
pub(super) fn attend(board: &mut dyn Board, host: &Host, tools: &Tools<'_>) -> Result<Option<Attended>> {
    // A pass over one task judges no other one.
    let heals = tools.pass.program == HEAL && tools.pass.only.is_none();
    let duty = match heals {
        true => Duty::Heals,
        // Also where the board is open for writing.
        false if tools.pass.dry => Duty::Asks,
        false => Duty::Works,
    };
    several_hosts::attend(board, host, tools.pass.program, duty)
}

/// What the next attempt at a task of this board would be told now, with the task itself; `None`: it has no such task. Only
/// looks.
///
/// # Errors
/// The board cannot be read.
pub fn handover(id: &BoardId, task: &str, tools: &mut Tools<'_>) -> Result<Option<(Detail, Packet)>> {
    let mut board = tools.open(id, Mode::Look)?;
    handover_on(&mut *board, task, tools)
}

/// The same on a board that is open.
///
/// # Errors
/// The board cannot be read.
pub fn handover_on(
    board: &mut dyn Board,
    task: &str,
    tools: &mut Tools<'_>,
) -> Result<Option<(Detail, Packet)>> {
    around(board, tools, |world, pass| heal::handover(world, pass, task))
}

/// Where agents keep their logs, and what their tokens cost.
#[derive(Clone, Copy)]
struct Places<'a> {
    prices: &'a Prices,
    homes: &'a Homes,
    opencode: Option<&'a Path>,
}

/// Asks about an attempt wherever this board's agents write.
///
/// # Errors
/// Why nobody is asked, in words.
fn asked<T>(
    id: &BoardId,
    ask: &UseAsk<'_>,
    places: Places<'_>,
    held: &[PathBuf],
    read: impl FnOnce(&UsageAsk<'_>) -> T,
) -> std::result::Result<T, String> {
    let log = discover::logs_dir(id).map(|dir| discover::log_file(&dir, ask.task));
    let (log, output) = match ask.printed {
        Printed::OfBoard => (log, None),
        Printed::To(file) => {
            let file = Path::new(file);
            (log.filter(|log| log == file), Some(file).filter(|file| file.is_absolute()))
        }
        Printed::Over => (None, None),
    };
    let output = output.filter(|file| !discover::is_board_file(id, file));
    // Where the claim names no log, the session that was spawned for the attempt does.
    let stored = places.opencode.zip(ask.session).filter(|_| ask.file.is_none());
    let stored = stored.and_then(|(folder, session)| store::in_file(folder, session));
    let named = ask.file.map(Path::new).or(stored.as_deref());
    // A store may be named with a session behind it.
    let file = ask.file.and_then(|f| f.split('#').next()).map(Path::new);
    if file.is_some_and(|file| discover::is_board_file(id, file)) {
        return Err("the log its claim names is the board itself".into());
    }
    let ask = UsageAsk {
        task: ask.task,
        profile: ask.profile,
        root: id.root.as_deref().filter(|_| !ask.own_board),
        worker_log: log.as_deref(),
        output,
        named,
        workspace: ask.workspace.map(Path::new),
        homes: places.homes,
        held,
        began: ask.began,
        from: ask.from,
        to: ask.to,
        next: ask.next,
        now: ask.now,
        prices: places.prices,
    };
    Ok(read(&ask))
}

#[cfg(test)]
mod tests;
