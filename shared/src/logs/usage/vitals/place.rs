//! Where an attempt is told of: in the places [`crate::logs::usage`] looks in, and where a pointer of the agent leads.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::agent::{of_file, story};
use super::{Vitals, Worker};
use crate::cache::Cache;
use crate::logs::handle::{Owner, check, open};
use crate::logs::usage::discover::{MAX_FILES, slug, transcripts};
use crate::logs::usage::window::Window;
use crate::logs::usage::{UsageAsk, hermes, opencode, rollouts, store};

/// Most bytes of a pointer.
const MAX_POINTER: u64 = 64 << 10;

type Found = Result<Option<Vitals>, String>;

/// The file the claim names.
pub(super) fn named(ask: &UsageAsk<'_>, named: &Path, cache: &mut Cache) -> Found {
    if !named.is_absolute() {
        return Err("the log its claim names is no absolute path".into());
    }
    let at = |why: String| format!("the log its claim names: {why}");
    let (path, session) = opencode::place(named);
    match store::is_store(&path).map_err(at)? {
        true => opencode::vitals(ask, &path, session.as_deref()).map_err(at),
        false => of_file(ask, named, Owner::Ourselves, cache).map_err(at),
    }
}

/// The places that are looked in where the claim names none; the first that tells something is the one.
pub(super) fn unnamed(ask: &UsageAsk<'_>, worker: Option<Worker>, cache: &mut Cache) -> Found {
    if let Some(path) = pointed(ask, worker)? {
        return of_file(ask, &path, Owner::Ourselves, cache);
    }
    if let Some(path) = rollouts::held(ask, cache)? {
        return of_file(ask, &path, Owner::Ourselves, cache);
    }
    match hermes::vitals(ask, cache) {
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

/// What of a pointer of Claude Code (2.1) is read: `sessions/<pid>.json`, which an interactive session keeps while it runs.
#[derive(Debug, Deserialize)]
struct Pointer {
    #[serde(rename = "sessionId")]
    session: String,
    cwd: PathBuf,
    /// The start of the process, which tells a pid that was given again.
    #[serde(rename = "procStart", default)]
    start: serde_json::Value,
}

/// The transcript a worker's own pointer leads to.
fn pointed(ask: &UsageAsk<'_>, worker: Option<Worker>) -> Result<Option<PathBuf>, String> {
    let Some((home, worker)) = ask.home.zip(worker) else { return Ok(None) };
    let path = home.join("sessions").join(format!("{}.json", worker.pid));
    let bad = |why: String| format!("the agent's session pointer {}: {why}", path.display());
    let Some(file) = open(&path).map_err(bad)? else { return Ok(None) };
    check(&file.metadata().map_err(|e| bad(e.to_string()))?, Owner::Ourselves).map_err(bad)?;
    let mut text = String::new();
    file.take(MAX_POINTER).read_to_string(&mut text).map_err(|e| bad(e.to_string()))?;
    let pointer: Pointer = serde_json::from_str(&text).map_err(|_| bad("not what it should be".into()))?;
    let stated = match &pointer.start {
        serde_json::Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    };
    // Another process had this pid.
    if stated.zip(worker.ticks).is_some_and(|(stated, ticks): (u64, u64)| stated != ticks) {
        return Ok(None);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if pointer.session.is_empty() || !pointer.session.chars().all(is_name) {
        return Err(bad("it names no session".into()));
    }
    let real = std::fs::canonicalize(&pointer.cwd).unwrap_or(pointer.cwd);
    let name = format!("{}.jsonl", pointer.session);
    Ok(Some(home.join("projects").join(slug(&real)).join(name)))
}

/// The one session of Claude Code or Codex that worked in the task's folder during the attempt. Of two nobody can say which is
/// the worker's, so nothing is said then.
fn by_folder(ask: &UsageAsk<'_>, cache: &mut Cache) -> Found {
    let Some(workspace) = ask.workspace else { return Ok(None) };
    let Ok(real) = std::fs::canonicalize(workspace) else { return Ok(None) };
    let starts = Window::new(ask.from, ask.to, ask.next, ask.now).starts;
    let transcripts = ask.home.map(|home| transcripts(&home.join("projects"), &slug(&real)));
    let rollouts = rollouts::in_folder(ask, &real, cache);
    let mut found: Option<PathBuf> = None;
    for path in transcripts.into_iter().flatten().take(MAX_FILES).chain(rollouts.into_iter().take(MAX_FILES))
    {
        let Ok(Some(counted)) = story(ask, &path, Owner::Ourselves, cache) else { continue };
        let story = &counted.count;
        // Different folders may have one slug; what a session itself says is right.
        let is_here = story.record.cwd.as_deref().is_some_and(|cwd| Path::new(cwd) == real);
        let began = story.gate.clock.first().is_some_and(|first| first <= starts);
        if !is_here || !began {
            continue;
        }
        if found.replace(path).is_some() {
            return Err("two sessions worked in its folder, and nothing says which is the worker's".into());
        }
    }
    match found {
        Some(path) => of_file(ask, &path, Owner::Ourselves, cache),
        None => Ok(None),
    }
}
