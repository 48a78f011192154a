//! How an attempt fares.

use std::path::Path;

use super::find::{in_folder, own_log};
use super::log::{Session, session};
use crate::agents::price::Priced;
use crate::agents::vitals::of_record;
use crate::agents::{UsageAsk, hermes, opencode};
use crate::cache::Cache;
use crate::handle::Owner;
use crate::usage::files::shown;
use crate::usage::store;
use crate::vitals::{Vitals, Worker};
use base::reason::Reason;
use base::time::Time;

#[cfg(test)]
mod tests;

type Found = Result<Option<Vitals>, Reason>;

/// How the attempt fares; `None` where nothing tells of it. What cannot be read is said in [`Vitals::hidden`]; nothing is an
/// error. `cache` knows how far files were read.
pub fn read(ask: &UsageAsk<'_>, worker: Option<Worker>, cache: &mut Cache) -> Option<Vitals> {
    let found = match ask.named {
        Some(file) => named(ask, file, cache),
        None => unnamed(ask, worker, cache),
    };
    found.unwrap_or_else(|why| Some(Vitals::hidden(why)))
}

/// The file the claim names.
fn named(ask: &UsageAsk<'_>, named: &Path, cache: &mut Cache) -> Found {
    if !named.is_absolute() {
        return Err("the log its claim names is not an absolute path".into());
    }
    let at = |why: Reason| why.at("the log its claim names");
    let (path, session) = opencode::place(named);
    match store::is_store(&path).map_err(at)? {
        true => opencode::vitals(ask, &path, session.as_deref()).map_err(at),
        false => of_file(ask, named, Owner::Ourselves, cache).map_err(at),
    }
}

/// The places that are looked in where the claim names none; the first that tells something is the one.
fn unnamed(ask: &UsageAsk<'_>, worker: Option<Worker>, cache: &mut Cache) -> Found {
    if let Some(path) = own_log(ask, worker, cache)? {
        return of_file(ask, &path, Owner::Ourselves, cache);
    }
    match hermes::usage::vitals(ask, cache) {
        Ok(Some(vitals)) => return Ok(Some(vitals)),
        // Where Hermes started the worker nothing else tells of it.
        Err(why) if worker.is_some_and(|w| w.of_hermes) => return Err(why),
        Ok(None) | Err(_) => {}
    }
    if let Some(path) = ask.worker_log
        && let Some(vitals) = of_file(ask, path, Owner::Anybody, cache)?
    {
        return Ok(Some(vitals));
    }
    if worker.is_some_and(|w| w.of_hermes) {
        return Ok(None);
    }
    by_folder(ask, cache)
}

/// The one session that worked in the task's folder during the attempt. Of two nobody can say which is the worker's, so nothing is
/// said then.
fn by_folder(ask: &UsageAsk<'_>, cache: &mut Cache) -> Found {
    match in_folder(ask, cache).paths.as_slice() {
        [] => Ok(None),
        [path] => of_file(ask, path, Owner::Ourselves, cache),
        _ => Err("two sessions worked in its folder, and nothing says which is the worker's".into()),
    }
}

/// How the attempt fares by one log, and by those of its subagents; `None` where there is none, or none of an agent.
fn of_file(
    ask: &UsageAsk<'_>,
    path: &Path,
    owner: Owner,
    cache: &mut Cache,
) -> Result<Option<Vitals>, Reason> {
    let Some(session) = session(ask, path, owner, cache)? else { return Ok(None) };
    let source = Some(shown(&path.display().to_string()));
    if session.is_empty() {
        return Ok(Some(Vitals { unknown: vec![Session::NONE.into()], source, ..Vitals::default() }));
    }
    let agent = session.agent;
    let mut vitals = of_record(&session.record, Priced { prices: ask.prices, agent: Some(agent) });
    vitals.format = Some(agent.name().into());
    vitals.source = source;
    vitals.is_part |= !session.gaps.is_empty();
    vitals.unknown.extend(session.gaps);
    vitals.active = vitals.active.or_else(|| written(path));
    Ok(Some(vitals))
}

/// The newest write to a file, for logs whose lines state no times.
pub(super) fn written(path: &Path) -> Option<Time> {
    let at = std::fs::symlink_metadata(path).ok()?.modified().ok()?;
    let seconds = at.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    i64::try_from(seconds).ok().map(Time)
}
