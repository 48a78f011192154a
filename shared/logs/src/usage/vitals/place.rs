//! Where an attempt is told of: in the places [`crate::usage`] looks in, and where a pointer of the agent leads.

use std::path::Path;

use super::agent::of_file;
use super::{Vitals, Worker};
use crate::agents::{hermes, opencode};
use crate::cache::Cache;
use crate::handle::Owner;
use crate::usage::find::{in_folder, own_log};
use crate::usage::{UsageAsk, store};

type Found = Result<Option<Vitals>, String>;

/// The file the claim names.
pub(crate) fn named(ask: &UsageAsk<'_>, named: &Path, cache: &mut Cache) -> Found {
    if !named.is_absolute() {
        return Err("the log its claim names is not an absolute path".into());
    }
    let at = |why: String| format!("the log its claim names: {why}");
    let (path, session) = opencode::place(named);
    match store::is_store(&path).map_err(at)? {
        true => opencode::vitals(ask, &path, session.as_deref()).map_err(at),
        false => of_file(ask, named, Owner::Ourselves, cache).map_err(at),
    }
}

/// The places that are looked in where the claim names none; the first that tells something is the one.
pub(crate) fn unnamed(ask: &UsageAsk<'_>, worker: Option<Worker>, cache: &mut Cache) -> Found {
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
