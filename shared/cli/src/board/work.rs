//! What a worker does with its task while it works on it, up to its good end.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::args::{Claim, Complete};
use super::decide::must_be_filled_in;
use super::environment::{Own, profile};
use super::living::Living;
use super::packet::tree_fact;
use super::{Hand, env, own_business, refused, same_run, speaker, step, worker_of};
use crate::random_hex;
use base::error::{Error, Kind, Result};
use base::names::is_of_profile;
use base::time::Time;
use board::hermes::{self, Trail};
use board::{Answer, Begin, Change, Detail, Outcome, Status, Task};
use config::span;

/// Hermes' kind of a workspace that is a folder which was there before.
pub(super) const DIR: &str = "dir";

/// Newest attempts that are asked whose they are.
const LATELY: u32 = 500;

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
    /// What it claims with.
    pub(super) lock: &'a str,
    /// The file that takes what the worker prints.
    pub(super) output: Option<&'a Path>,
}

/// A task that was taken, and the run that it opened.
type Taken = (Detail, Option<i64>);

/// What a claim says beside the task that it takes. It is found out before the board is locked: git may take seconds.
pub(super) struct Terms {
    by: &'static str,
    pass: String,
    clock_given: bool,
    /// What the claim is held by.
    pub(super) lock: String,
    expires: Time,
    pid: Option<i64>,
    profile: Option<String>,
    fingerprint: Option<String>,
    /// The folder of the task, whose tree was looked at.
    folder: Option<String>,
    /// The folder that the claim records.
    place: Option<String>,
    more: Map<String, Value>,
}

impl Terms {
    /// Whether a task is worked on in the folder that was looked at.
    pub(super) fn are_for(&self, seen: &Detail) -> bool {
        self.folder == seen.place.path
    }

    /// The claim of a task that is offered.
    pub(super) fn take(&self, seen: &Detail) -> Answer {
        Answer::Take(Box::new(step(&seen.task.id, Some(seen), self.changes(seen))))
    }

    fn changes(&self, seen: &Detail) -> Vec<Change> {
        let trail = Trail {
            by: self.by,
            pass: &self.pass,
            clock_given: self.clock_given,
            case: "claim".into(),
            cause: None,
            because: "claim",
            more: self.more.clone(),
        };
        let mut changes = Vec::new();
        if seen.task.status == Status::Todo {
            changes.extend(hermes::promoted(seen, &trail));
        }
        let profile = self.profile.clone();
        changes.extend(hermes::claimed(seen, &self.lock, self.expires, self.pid, profile, &trail));
        let place = self.place.clone();
        changes.extend(place.map(|path| Change::SetPlace { kind: DIR.into(), path: Some(path) }));
        hermes::fingerprint(&mut changes, self.fingerprint.clone());
        changes
    }
}

impl Hand<'_> {
    pub(super) fn claim(&mut self, claim: &Claim) -> Result<u8> {
        let worker = claim.worker.clone().or_else(profile);
        let worker = worker.as_deref().map(|w| w.trim().to_lowercase()).filter(|w| !w.is_empty());
        let Some(id) = &claim.id else { return self.claim_next(claim, worker.as_deref()) };
        let seen = self.look(id)?;
        self.may_claim(&seen).map_err(|why| refused(id, why))?;
        self.nobody_works_on(&seen, claim.pid)?;
        let run = self.take(&seen, claim, worker.as_deref())?;
        match run {
            Ok(run) => self.claimed(&seen, run),
            Err(what) => Err(refused(id, format!("another worker was faster ({what})"))),
        }
    }

    fn claim_next(&mut self, claim: &Claim, worker: Option<&str>) -> Result<u8> {
        let names = worker.map(|worker| self.names_of(worker)).transpose()?.unwrap_or_default();
        let whose: Vec<Option<&str>> =
            [None].into_iter().chain(names.iter().map(|n| Some(n.as_str()))).collect();
        let mut terms: Option<Terms> = None;
        let (mut living, mut said) = (Living::default(), BTreeSet::new());
        loop {
            let (taken, offered) = self.take_next(&whose, Begin::At(0), &living, &mut said, &|seen| {
                terms.as_ref().filter(|terms| terms.are_for(seen)).map(|terms| terms.take(seen))
            })?;
            match (taken, offered) {
                (Some((seen, run)), _) => return self.claimed(&seen, run),
                (None, Some(seen)) if !living.knows(&seen) => {
                    living = self.living(&seen, &whose, &living, claim.pid)?;
                }
                (None, Some(seen)) => terms = Some(self.terms(&seen, claim, worker, None)?),
                (None, None) => {
                    return self.nothing(&json!({"task": null}), "no task is ready for this worker");
                }
            }
        }
    }

    /// The profile as the free tasks of the board spell it: one may be assigned to `Luna`, another one to `luna`.
    pub(super) fn names_of(&mut self, profile: &str) -> Result<BTreeSet<String>> {
        let mut names = self.board.assignees()?;
        names.retain(|name| is_of_profile(name, profile));
        Ok(names)
    }

    /// Whether any task of the board is this profile's, or it worked on one lately.
    pub(super) fn knows(&mut self, profile: &str) -> Result<bool> {
        let is_its = |t: &Task| is_of(t, profile);
        // First what tells it of nearly all that have a name: what is done may be much.
        Ok(self.board.glance(&Status::OPEN)?.iter().any(is_its)
            || self
                .board
                .recent_runs(LATELY)?
                .iter()
                .any(|(_, run)| run.profile.as_deref().is_some_and(|name| is_of_profile(name, profile)))
            || self.board.glance(&[Status::Done, Status::Archived])?.iter().any(is_its))
    }

    /// Takes the next free task of these profiles, as [`board::Board::take_next`] offers it. Passes over what a process still works on, and says
    /// so. `answer`: `None` to a task that is to be got ready for first, which is given too.
    pub(super) fn take_next(
        &mut self,
        of: &[Option<&str>],
        begin: Begin<'_>,
        living: &Living,
        said: &mut BTreeSet<(String, i64)>,
        answer: &dyn Fn(&Detail) -> Option<Answer>,
    ) -> Result<(Option<Taken>, Option<Detail>)> {
        let (mut offered, mut passed) = (None, Vec::new());
        let patience = self.config.board.busy_timeout;
        let taken =
            self.board.take_next(self.here.now, of, begin, patience, &mut |seen| match answer(seen) {
                Some(Answer::Next) => Answer::Next,
                _ if living.is_at_work_on(seen) => {
                    passed.push(seen.task.id.clone());
                    Answer::Next
                }
                Some(answer) if living.knows(seen) => answer,
                _ => {
                    offered = Some(seen.clone());
                    Answer::Stop
                }
            });
        self.passed_over(&passed, living, said);
        match taken? {
            None => Ok((None, offered)),
            Some((seen, Outcome::Applied { run })) => Ok((Some((seen, run)), None)),
            Some((seen, other)) => Err(no_claim(&seen, &other)),
        }
    }

    /// Whether it can be claimed now, or why not.
    pub(crate) fn may_claim(&self, seen: &Detail) -> std::result::Result<(), String> {
        seen.may_be_claimed(self.board.is_own())
    }

    /// What a claim is held by, as Hermes writes it: this host, and a process that outlives this one; the caller where none
    /// is named. Its pid tells people who claimed. Where several hosts write, a part that was never there before makes it the claim's
    /// own: the number of a run is not.
    pub(crate) fn lock(&self, holder: Option<i64>) -> String {
        let caller = || rustix::process::getppid().map(|p| i64::from(p.as_raw_nonzero().get()));
        let holder = holder.or_else(caller).unwrap_or(0);
        let lock = format!("{}:{holder}", self.here.host.facts().hostname);
        if self.board.is_shared() { format!("{lock}:{}", random_hex()) } else { lock }
    }

    /// Claims a task. The inner error is what another worker changed meanwhile.
    fn take(
        &mut self,
        seen: &Detail,
        claim: &Claim,
        worker: Option<&str>,
    ) -> Result<std::result::Result<Option<i64>, String>> {
        let changes = self.terms(seen, claim, worker, None)?.changes(seen);
        match self.apply(&seen.task.id, Some(seen), changes)? {
            Outcome::Applied { run } => Ok(Ok(run)),
            Outcome::Moved { what } => Ok(Err(what)),
            other => Err(no_claim(seen, &other)),
        }
    }

    /// What a claim of this task says, for `harness` where that claims for a worker it started.
    pub(super) fn terms(
        &self,
        seen: &Detail,
        claim: &Claim,
        worker: Option<&str>,
        harness: Option<Harness<'_>>,
    ) -> Result<Terms> {
        let place = self.place(seen, claim.workspace.as_deref())?;
        let mut placed = seen.clone();
        if place.is_some() {
            placed.place.path.clone_from(&place);
        }
        let (mut more, mut fingerprint) = (Map::new(), None);
        if let Some(pid) = claim.pid {
            if self.here.host.is_of_system(pid) {
                let no = refused(&format!("--pid {pid}"), "is a process of the system and no worker");
                return Err(no.hint("give the pid of the worker that starts now"));
            }
            let birth = self.here.host.birth_of(pid).ok_or_else(|| {
                refused(&format!("--pid {pid}"), "no such process")
                    .hint("give the pid of the worker that starts now")
            })?;
            fingerprint = self.here.host.facts().fingerprint(birth.ticks);
            more.insert("birth".into(), json!(birth));
            more.insert("pid".into(), json!(pid));
            more.insert("namespace".into(), json!(self.here.host.facts().pid_namespace));
        }
        // What the attempt begins with; whether it left anything is told by it.
        more.extend(tree_fact(self.board.id(), &placed));
        if let Some(log) = &claim.log {
            more.insert("log".into(), json!(whole(log)?));
        }
        // Not as its log: where it keeps one of its own, that tells more.
        if let Some(output) = harness.and_then(|h| h.output) {
            more.insert("output".into(), json!(whole(output)?));
        }
        Ok(Terms {
            by: self.by,
            pass: self.pass.clone(),
            clock_given: self.here.clock_given,
            lock: harness.map_or_else(|| self.lock(claim.pid), |h| h.lock.to_owned()),
            expires: self.here.now.plus(self.seconds(claim.ttl)),
            pid: claim.pid,
            profile: worker.map(str::to_owned),
            fingerprint,
            folder: seen.place.path.clone(),
            place,
            more,
        })
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
        must_be_filled_in(text)?;
        // Only that the task exists: a comment rests on nothing else that was seen.
        let seen = self.look(id)?;
        let is_workers = Own::is(id).is_some();
        let signed = if is_workers && author.is_none() { worker_of(&seen) } else { speaker(author) };
        self.must(id, None, hermes::commented(&signed, text))?;
        self.answer(&json!({"task": id, "commented": true}), "")
    }

    pub(super) fn complete(&mut self, complete: &Complete) -> Result<u8> {
        let id = &complete.id;
        let metadata = complete.metadata.as_deref().map(object).transpose()?;
        let seen = self.look(id)?;
        // Out of review it is accepted, as Hermes 0.22 does.
        if !matches!(seen.task.status, Status::Running | Status::Ready | Status::Blocked | Status::Review) {
            let why = format!("is {}, not running, ready, blocked or in review", seen.task.status);
            return Err(refused(id, why));
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

/// A claim that the board neither took nor found too late.
fn no_claim(seen: &Detail, outcome: &Outcome) -> Error {
    Error::new(Kind::Bug, &seen.task.id, format!("a claim was {}", outcome.word()))
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
