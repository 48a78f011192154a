//! `coord abort`: a session stops, and its task is free again.

mod worker;

use clap::Args;
use serde_json::json;

use super::left::they_work;
use super::stop::{End, stop};
use super::{Coord, Meant, refused, silent};
use base::error::{Error, Result};
use base::quote;
use board::{Change, EventKind, RunRef, hermes};
use coord::{Mapping, MappingStatus, State};

#[derive(Debug, Args)]
pub(crate) struct Abort {
    /// The session, or its task
    target: String,
    /// Record the reason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Coord<'_> {
    pub(super) fn abort(&mut self, args: &Abort) -> Result<u8> {
        if let Some(seen) = self.begun_only(&args.target) {
            return self.abort_begun(&seen, args.reason.as_deref());
        }
        let meant = self.meant(&args.target)?;
        if let Some(m) = meant.mapping.as_ref().filter(|m| m.runtime.headless().is_some()) {
            return self.abort_worker(m, args.reason.as_deref());
        }
        let owner = self.owner(&meant)?;
        let Meant { session, mapping } = meant;
        let through = self.servers.given.map_or_else(|| owner.clone(), |at| self.servers.at(at));
        let stopped = stop(&through, &owner, &session).map_err(|e| silent(&owner, &session, &e))?;
        let at = session.as_str();
        let status = match &stopped {
            End::Still(state) => {
                let now = match state {
                    State::Retry { .. } => "waits for its provider",
                    _ => "is busy",
                };
                let why = format!("still {now} at {}; nothing was changed on the board", owner.address());
                return Err(refused(at, why).hint("try again, or stop it where it runs"));
            }
            // Whose it is nobody said, so it may be busy elsewhere: two servers over one store see each other's so.
            End::Forgotten if mapping.is_none() => {
                let why = format!("{} does not work on it, and its last answer never ended", owner.address());
                return Err(refused(at, why).hint("another server may own it; name that one with --server"));
            }
            End::Forgotten => {
                mapping.as_ref().map_or(Ok(()), |m| self.waits_for_tools(m))?;
                MappingStatus::Failed
            }
            End::Stopped | End::WasIdle => MappingStatus::Aborted,
        };
        let reason = args.reason.as_deref();
        let at_work = mapping.as_ref().filter(|m| m.status == MappingStatus::Active && !m.waits);
        let freed = at_work.map_or(Ok(false), |m| self.end(m, status, reason))?;
        // Its run has ended by the board, and it was there all the same.
        let over = mapping.as_ref().filter(|m| m.waits || (at_work.is_none() && stopped == End::Stopped));
        over.map_or(Ok(()), |m| self.stopped(m, status, reason))?;
        let ended = freed || over.is_some();
        let task = mapping.as_ref().map(|m| m.task.clone());
        let word = match stopped {
            End::Stopped => "stopped",
            End::WasIdle => "was idle",
            _ => "was forgotten by its server, which must have been restarted",
        };
        let then = match &task {
            Some(task) if freed => format!("; its mapping is {}, and {task} is free", status.as_str()),
            Some(task) if ended => self.left(task, status)?,
            _ => String::new(),
        };
        let json = json!({
            "session": session, "task": task, "stopped": stopped == End::Stopped, "was": word,
            "mapping": ended.then_some(status),
        });
        if stopped == End::Forgotten {
            return Err(refused(at, format!("{word}{then}")));
        }
        self.hand.answer(&json, &format!("{session} {word}{then}\n"))
    }

    /// Refuses to give up a session whose server was killed, while tools of that server live on in its working tree: the next session
    /// would write beside them.
    fn waits_for_tools(&self, m: &Mapping) -> Result<()> {
        let left = self.left_in_tree(m);
        if left.is_empty() {
            return Ok(());
        }
        let why = format!(
            "was forgotten by its server, but {} in {}; nothing was changed on the board",
            they_work(&left),
            m.directory
        );
        Err(refused(m.session.as_str(), why).hint("end that, and abort it again"))
    }

    /// What is said of the task of a session that was stopped after its run.
    fn left(&mut self, task: &str, status: MappingStatus) -> Result<String> {
        let now = self.hand.look(task)?.task.status.clone();
        Ok(format!("; its mapping is {}, and {task} is {now} as before", status.as_str()))
    }

    /// Records that a session was stopped whose run had ended.
    fn stopped(&mut self, m: &Mapping, status: MappingStatus, reason: Option<&str>) -> Result<()> {
        let keys =
            json!({"session": m.session, "status": status, "reason": reason.map(|r| quote::line(r, 300))});
        self.record(m, EventKind::SessionAborted, "abort", keys)
    }

    /// Ends the run of a mapping, if it is still the open one. Whether it did.
    pub(super) fn end(
        &mut self,
        mapping: &Mapping,
        status: MappingStatus,
        reason: Option<&str>,
    ) -> Result<bool> {
        let ended = self.hand.write(&mapping.task, |hand, seen| {
            if seen.task.current_run != mapping.run {
                return Ok(None);
            }
            let keys = json!({
                "session": mapping.session, "status": status, "reason": reason.map(|r| quote::line(r, 300)),
            });
            let why = match status {
                MappingStatus::Aborted => "session aborted",
                _ => "session forgotten by its server",
            };
            let trail = hand.trail("abort");
            let mut changes = vec![Change::AddEvent {
                kind: EventKind::SessionAborted,
                payload: hermes::payload(&trail, keys),
                run: mapping.run.map(RunRef::Id),
            }];
            // An abort is a decision of the caller; a session that its server forgot is not.
            let manual = status == MappingStatus::Aborted;
            changes.extend(hermes::taken_back(seen, why, manual, &trail));
            Ok(Some(changes))
        });
        // Whatever is wrong with the board, the session itself is not at work any more.
        ended.map_err(|e| Error { what: format!("its session is not at work any more, but {}", e.what), ..e })
    }
}
