//! The harness for a task that was claimed already, and whose worker is to be started: what `coord spawn` leaves running.

use std::ffi::OsString;
use std::path::Path;

use super::super::{Hand, refused};
use super::{Start, Work, listen};
use base::error::{Error, Kind, Result};
use board::{Duty, Outcome, Status, hermes};
use config::span;
use policy::worktree_note::{TreeNote, beside};

/// A task that was claimed for a worker that is not there yet.
pub(crate) struct Handed<'a> {
    pub(crate) task: &'a str,
    /// The run of that claim.
    pub(crate) run: i64,
    /// Where it is worked on.
    pub(crate) folder: &'a Path,
    /// What the worker is told.
    pub(crate) prompt: String,
    pub(crate) command: &'a [OsString],
}

impl Hand<'_> {
    /// Starts the command, records it as the worker of the claim, and lives as long as it does.
    pub(crate) fn go_on(&mut self, handed: Handed<'_>) -> Result<u8> {
        let Handed { task, run, folder, prompt, command } = handed;
        let told = listen()?;
        self.adopt();
        // Who may not renew a claim begins with nothing.
        self.attend(Duty::Works)?;
        let seen = self.look(task)?;
        let t = &seen.task;
        // Of two that were started for one claim the second finds the first one's worker.
        if t.status != Status::Running || t.current_run != Some(run) || t.worker_pid.is_some() {
            return Err(refused(task, format!("run {run} of it waits for no worker")));
        }
        if !folder.is_dir() {
            return Err(refused(task, format!("its folder {} is not there", folder.display())));
        }
        let profile = t.assignee.clone();
        let folder_name = folder.to_str();
        let folder = folder.to_path_buf();
        let lock = self.lock(Some(i64::from(std::process::id())));
        let start = Start { folder, prompt, profile: profile.as_deref(), claim: &lock, command, log: None };
        let gate = self.gate(task, start)?;
        let pid = gate.pid();
        let (mut trail, fingerprint) = self.of_worker("work", pid, &gate);
        trail.more.extend(TreeNote::of(folder_name, &beside(self.board.id())).map(|note| note.fact()));
        let ttl = self.config.board.claim_ttl;
        let expires = self.here.now.plus(span::seconds(ttl));
        let mut changes = hermes::taken_over(&seen, &lock, expires, pid, &trail);
        hermes::fingerprint(&mut changes, fingerprint);
        let since = self.here.now;
        let why = match self.apply(task, Some(&seen), changes) {
            Ok(Outcome::Applied { .. }) => {
                let work = Work { gate, task: task.to_owned(), run: Some(run), lock, profile, since, told };
                return self.harness(work, None);
            }
            Ok(Outcome::Moved { what }) => refused(task, format!("another worker was faster ({what})")),
            Ok(other) => Error::new(Kind::Bug, task, format!("a worker was {}", other.word())),
            Err(e) => e,
        };
        drop(gate.end());
        Err(why)
    }
}
