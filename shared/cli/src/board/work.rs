//! What a worker does with its task while it works on it, up to its good end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::args::{Claim, Complete};
use super::packet::tree_fact;
use super::{Hand, env, own_business, refused, same_run, speaker, worker_of};
use base::error::{Error, Kind, Result};
use base::names::is_of_profile;
use board::hermes;
use board::{Change, Detail, Outcome, Status, Task};
use config::span;

/// Hermes' kind of a workspace that is a folder which was there before.
pub(super) const DIR: &str = "dir";

/// A folder as the board names it: whole, and there.
///
/// # Errors
/// It is not there, is no folder, or has a name that is not UTF-8.
pub(super) fn folder(path: &Path) -> Result<String> {
    let at = || format!("--workspace {}", path.display());
    let whole = path.canonicalize().map_err(|e| Error::io(at(), &e))?;
    let text = whole.to_str().filter(|_| whole.is_dir());
    text.map(str::to_owned).ok_or_else(|| refused(&at(), "not a folder").hint("name a folder that exists"))
}

/// Whether a task is assigned to a profile.
pub(super) fn is_of(task: &Task, profile: &str) -> bool {
    task.assignee.as_deref().is_some_and(|assignee| is_of_profile(assignee, profile))
}

/// Who claims for a worker it started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Harness<'a> {
    /// Its own pid, which is the claimer's.
    pub(super) pid: i64,
    /// The file that takes what the worker prints.
    pub(super) output: Option<&'a Path>,
}

impl Hand<'_> {
    pub(super) fn claim(&mut self, claim: &Claim) -> Result<u8> {
        let worker = claim.worker.as_deref().map(|w| w.trim().to_lowercase()).filter(|w| !w.is_empty());
        let Some(id) = &claim.id else { return self.claim_next(claim, worker.as_deref()) };
        let seen = self.look(id)?;
        self.may_claim(&seen).map_err(|why| refused(id, why))?;
        let run = self.take(&seen, claim, worker.as_deref(), None)?;
        match run {
            Ok(run) => self.claimed(&seen, run),
            Err(what) => Err(refused(id, format!("another worker was faster ({what})"))),
        }
    }

    fn claim_next(&mut self, claim: &Claim, worker: Option<&str>) -> Result<u8> {
        let ready = self.board.glance(&[Status::Ready, Status::Todo])?;
        let mine = |t: &&Task| t.assignee.is_none() || worker.is_some_and(|worker| is_of(t, worker));
        for task in ready.iter().filter(mine) {
            let seen = self.look(&task.id)?;
            if self.may_claim(&seen).is_err() {
                continue;
            }
            // Lost to another worker: the next one will do.
            if let Ok(run) = self.take(&seen, claim, worker, None)? {
                return self.claimed(&seen, run);
            }
        }
        self.nothing(&json!({"task": null}), "no task is ready for this worker")
    }

    /// Whether it can be claimed now, or why not.
    pub(crate) fn may_claim(&self, seen: &Detail) -> std::result::Result<(), String> {
        let t = &seen.task;
        let free = seen.parents.iter().find(|p| !p.status.frees_children());
        match &t.status {
            Status::Ready | Status::Todo if free.is_some() => {
                let waits = free.map_or("", |p| p.id.as_str());
                Err(format!("waits for {waits}"))
            }
            // On a board with a dispatcher, `todo` is the dispatcher's to promote.
            Status::Todo if !self.board.is_own() || seen.parents.is_empty() => {
                Err("is todo, not ready".to_owned())
            }
            Status::Ready | Status::Todo => match &t.claim_lock {
                Some(lock) => Err(format!("is claimed by {lock}")),
                None => Ok(()),
            },
            other => Err(format!("is {other}, not ready")),
        }
    }

    /// What a claim is held by, as Hermes writes it: this host, and a process that outlives this one; the caller where none
    /// is named. Its pid tells people who claimed.
    pub(crate) fn lock(&self, holder: Option<i64>) -> String {
        let caller = || rustix::process::getppid().map(|p| i64::from(p.as_raw_nonzero().get()));
        let holder = holder.or_else(caller).unwrap_or(0);
        format!("{}:{holder}", self.here.host.facts().hostname)
    }

    /// Claims a task, for `harness` where that claims for a worker it started.
    pub(super) fn take(
        &mut self,
        seen: &Detail,
        claim: &Claim,
        worker: Option<&str>,
        harness: Option<Harness<'_>>,
    ) -> Result<std::result::Result<Option<i64>, String>> {
        let ttl = self.seconds(claim.ttl);
        let lock = self.lock(harness.map(|h| h.pid).or(claim.pid));
        let expires = self.here.now.plus(ttl);
        let place = self.place(seen, claim.workspace.as_deref())?;
        let mut placed = seen.clone();
        placed.place.path = place.clone().or(placed.place.path);
        let mut trail = self.trail("claim");
        let mut fingerprint = None;
        if let Some(pid) = claim.pid {
            let birth = self.here.host.birth_of(pid).ok_or_else(|| {
                refused(&format!("--pid {pid}"), "no such process")
                    .hint("give the pid of the worker that starts now")
            })?;
            fingerprint = self.here.host.facts().fingerprint(birth.ticks);
            trail.more.insert("birth".into(), json!(birth));
            trail.more.insert("pid".into(), json!(pid));
            trail.more.insert("namespace".into(), json!(self.here.host.facts().pid_namespace));
        }
        // What the attempt begins with; whether it left anything is told by it.
        trail.more.extend(tree_fact(self.board.id(), &placed));
        if let Some(log) = &claim.log {
            trail.more.insert("log".into(), json!(whole(log)?));
        }
        // Not as its log: where it keeps one of its own, that tells more.
        if let Some(output) = harness.and_then(|h| h.output) {
            trail.more.insert("output".into(), json!(whole(output)?));
        }
        let profile = worker.map(str::to_owned);
        let mut changes = Vec::new();
        if seen.task.status == Status::Todo {
            changes.extend(hermes::promoted(seen, &trail));
        }
        changes.extend(hermes::claimed(seen, &lock, expires, claim.pid, profile, &trail));
        changes.extend(place.map(|path| Change::SetPlace { kind: DIR.into(), path: Some(path) }));
        hermes::fingerprint(&mut changes, fingerprint);
        match self.apply(&seen.task.id, Some(seen), changes)? {
            Outcome::Applied { run } => Ok(Ok(run)),
            Outcome::Moved { what } => Ok(Err(what)),
            other => Err(Error::new(Kind::Bug, &seen.task.id, format!("a claim was {}", other.word()))),
        }
    }

    /// The folder a claim records: the one that is named, or on a board without Hermes the current one. `None` where the task has
    /// a folder already, and where the current one is the home of the user or `/`: nobody works on a task there.
    ///
    /// # Errors
    /// The named folder is not there, or the task has another one.
    fn place(&self, seen: &Detail, named: Option<&Path>) -> Result<Option<String>> {
        let named = named.map(folder).transpose()?;
        match (named, &seen.place.path) {
            (Some(named), Some(path)) if named != *path => {
                Err(refused(&seen.task.id, format!("its folder is {path}, not {named}")))
            }
            (_, Some(_)) => Ok(None),
            (Some(named), None) => Ok(Some(named)),
            (None, None) => {
                // The current folder comes with no link in its path.
                let home = env("HOME").and_then(|home| PathBuf::from(home).canonicalize().ok());
                let here = std::env::current_dir().ok().filter(|dir| {
                    self.board.is_own() && dir.parent().is_some() && Some(dir.as_path()) != home.as_deref()
                });
                Ok(here.and_then(|dir| dir.to_str().map(str::to_owned)))
            }
        }
    }

    fn claimed(&mut self, seen: &Detail, run: Option<i64>) -> Result<u8> {
        let t = &seen.task;
        let json =
            json!({"task": t.id, "title": t.title, "run": run, "body": seen.body, "comments": seen.comments});
        self.answer(&json, &format!("{}\n", t.id))
    }

    fn seconds(&self, ttl: Option<Duration>) -> i64 {
        span::seconds(ttl.unwrap_or(self.config.board.claim_ttl))
    }

    pub(super) fn heartbeat(
        &mut self,
        id: &str,
        note: Option<&str>,
        ttl: Option<Duration>,
        run: Option<i64>,
    ) -> Result<u8> {
        let seen = self.look(id)?;
        if seen.task.status != Status::Running {
            let why = format!("is {}, not running: the claim is gone", seen.task.status);
            return Err(refused(id, why).hint("stop working on it, or claim it again"));
        }
        same_run(&seen, run)?;
        own_business(&mut *self.board, &seen, false)?;
        let expires = self.here.now.plus(self.seconds(ttl));
        self.must(id, Some(&seen), hermes::heartbeat(&seen, expires, note))?;
        self.answer(&json!({"task": id, "claim_expires": expires}), "")
    }

    pub(super) fn comment(&mut self, id: &str, text: &str, author: Option<&str>) -> Result<u8> {
        if text.trim().is_empty() {
            return Err(refused(id, "the comment is blank"));
        }
        // Only that the task exists: a comment rests on nothing else that was seen.
        let seen = self.look(id)?;
        let is_workers = env("HERMES_KANBAN_TASK").as_deref() == Some(id);
        let signed = if is_workers && author.is_none() { worker_of(&seen) } else { speaker(author) };
        self.must(id, None, hermes::commented(&signed, text))?;
        self.answer(&json!({"task": id, "commented": true}), "")
    }

    pub(super) fn complete(&mut self, complete: &Complete) -> Result<u8> {
        let id = &complete.id;
        let metadata = complete.metadata.as_deref().map(object).transpose()?;
        let seen = self.look(id)?;
        if !matches!(seen.task.status, Status::Running | Status::Ready | Status::Blocked) {
            return Err(refused(id, format!("is {}, not running, ready or blocked", seen.task.status)));
        }
        if let Some(parent) = seen.parents.iter().find(|p| !p.status.frees_children()) {
            return Err(refused(id, format!("waits for {}, which is {}", parent.id, parent.status)));
        }
        same_run(&seen, complete.run)?;
        own_business(&mut *self.board, &seen, false)?;
        if metadata.is_some() && seen.task.current_run.is_none() {
            return Err(refused(id, "has no open run for --metadata").hint("claim it first, or leave it out"));
        }
        let (result, summary) = (complete.result.as_deref(), complete.summary.as_deref());
        let mut changes = hermes::completed(&seen, result, summary, &self.trail("complete"));
        for change in &mut changes {
            if let Change::EndRun { metadata: kept, .. } = change {
                kept.clone_from(&metadata);
            }
        }
        self.must(id, Some(&seen), changes)?;
        self.answer(&json!({"task": id, "status": "done"}), "")
    }
}

/// A path that means the same wherever it is read.
fn whole(path: &Path) -> Result<String> {
    let at = format!("--log {}", path.display());
    let whole = std::path::absolute(path).map_err(|e| Error::io(&at, &e))?;
    whole
        .to_str()
        .map(str::to_owned)
        .ok_or_else(|| refused(&at, "not UTF-8, so a board cannot hold the name"))
}

/// Details for a run: Hermes keeps an object there.
fn object(text: &str) -> Result<Value> {
    let bad = |why: String| Error::new(Kind::Usage, "--metadata", why).hint("give one JSON object");
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(Value::Object(map)),
        Ok(_) => Err(bad("not an object".into())),
        Err(e) => Err(bad(format!("not JSON: {e}"))),
    }
}
