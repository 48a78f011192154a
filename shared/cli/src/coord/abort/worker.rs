//! Stopping a session that is a command: its harness is asked first, which stops it and gives the task back; then it is looked
//! that nothing of it is left.

use std::path::Path;

use serde_json::json;

use super::super::left::they_work;
use super::super::work::Work;
use super::super::{COORD, Coord, refused, warn};
use crate::board::speaker;
use base::error::Result;
use base::quote;
use base::reason::Reason;
use base::time::words;
use board::{Detail, Event, EventKind, Status, hermes};
use config::span;
use coord::{Mapping, MappingStatus, SessionId, mapping};
use host::Life;
use policy::attempts::worker::AtWork;
use policy::needs_operator;

impl Coord<'_> {
    pub(super) fn abort_worker(&mut self, m: &Mapping, reason: Option<&str>) -> Result<u8> {
        let at = m.session.as_str();
        if m.status != MappingStatus::Active || m.waits {
            return self.abort_left(m, reason);
        }
        let stopped = self.stop_worker(at, &m.task, m.run)?;
        let left = self.left_in_tree(m);
        let left = (!left.is_empty()).then(|| format!("{} in {}", they_work(&left), m.directory));
        if let Some(what) = &left
            && self.hand.look(&m.task)?.task.current_run == m.run
        {
            let why = format!("its worker is not at work any more, but {what}; {} keeps its claim", m.task);
            return Err(refused(at, why).hint("end that, and abort it again"));
        }
        // Its harness gave the task back already, unless that was gone or had to be killed.
        if !self.end(m, MappingStatus::Aborted, reason)? {
            let task = self.hand.look(&m.task)?;
            let now = mapping::of(&task).into_iter().rfind(|now| now.session == m.session);
            // It was faster.
            if let Some(now) = now.filter(|now| now.status == MappingStatus::Completed || !stopped) {
                return self.had_ended(&now);
            }
            self.stopped(m, MappingStatus::Aborted, reason)?;
        }
        let word = if stopped { "stopped" } else { "was gone" };
        let json = json!({
            "session": m.session, "task": m.task, "stopped": stopped, "was": word,
            "mapping": MappingStatus::Aborted,
        });
        if let Some(what) = left {
            let most = words(span::seconds(self.hand.config.heal.orphan_wait));
            warn(&format!(
                "{at}: {what}; coord spawn begins nothing there before that has ended, for {most} at most"
            ));
        }
        self.hand.answer(&json, &format!("{at} {word}; its mapping is aborted, and {} is free\n", m.task))
    }

    /// A task that a spawn claimed and began a worker for, as long as no session of that run is known: the agent has named none yet, or the
    /// spawn was ended before.
    pub(super) fn begun_only(&mut self, target: &str) -> Option<Detail> {
        if SessionId::parse(target).is_some() {
            return None;
        }
        let seen = self.hand.look(target).ok()?;
        let t = &seen.task;
        let is_ours = |e: &&Event| e.by() == Some(COORD) && e.run == t.current_run;
        let is_claimed = t.status == Status::Running && seen.newest_claim().filter(is_ours).is_some();
        let is_mapped = mapping::of(&seen).iter().any(|m| m.run == t.current_run);
        (is_claimed && t.current_run.is_some() && t.worker_pid.is_some() && !is_mapped).then_some(seen)
    }

    /// Stops the worker of such a task, and gives the task back.
    pub(super) fn abort_begun(&mut self, seen: &Detail, reason: Option<&str>) -> Result<u8> {
        let (task, run) = (seen.task.id.as_str(), seen.task.current_run);
        let stopped = self.stop_worker(task, task, run)?;
        let left = seen.place.path.as_deref().map_or(Vec::new(), |folder| self.left_in(Path::new(folder)));
        if !left.is_empty() && self.hand.look(task)?.task.current_run == run {
            let why = format!("its worker is not at work any more, but {} in its tree", they_work(&left));
            return Err(
                refused(task, format!("{why}; it keeps its claim")).hint("end that, and abort it again")
            );
        }
        // Its harness gave the task back already, unless that was gone or had to be killed.
        self.hand.write(task, |hand, now| {
            let is_open = now.task.current_run == run;
            let trail = hand.trail("abort");
            let mut changes =
                if is_open { hermes::taken_back(now, "spawn aborted", true, &trail) } else { Vec::new() };
            let said = reason.map(|why| format!("Aborted: {}", quote::line(why, 300)));
            changes.extend(said.into_iter().flat_map(|said| hermes::commented(&speaker(None), &said)));
            Ok(Some(changes).filter(|changes| !changes.is_empty()))
        })?;
        let now = self.hand.look(task)?.task.status.clone();
        let word = if stopped { "stopped" } else { "was gone" };
        let json = json!({"session": null, "task": task, "stopped": stopped, "was": word, "mapping": null});
        self.hand.answer(
            &json,
            &format!("{task}: its worker {word}, and no session of it was known; it is {now}\n"),
        )
    }

    /// Stops what lives of a session whose run has ended: its harness gives it a while after its last word.
    fn abort_left(&mut self, m: &Mapping, reason: Option<&str>) -> Result<u8> {
        let at = m.session.as_str();
        let not = |why: Reason| refused(at, format!("{why}; nothing was changed on the board"));
        let left = self.alive(m).map_err(not)?;
        if left.is_empty() && !m.waits {
            return self.had_ended(m);
        }
        let host = &self.hand.here.host;
        let words = format!(" {} ", Work::words(&m.task, m.run.unwrap_or(0)).join(" "));
        // Of all of them only the worker has the harness for a parent, which stops the others.
        let of_run = |pid: &i64| host.target(&m.task, m.run, *pid);
        left.iter().filter_map(of_run).any(|target| host.stop_harness(&target, &words) == Ok(true));
        host.stop_left(&m.task, m.run).map_err(not)?;
        if let Some(pid) = host.left_by_run(&m.task, m.run).map_err(not)?.first() {
            return Err(not(format!("process {pid} of it lives on").into()));
        }
        self.stopped(m, MappingStatus::Aborted, reason)?;
        let word = if left.is_empty() { "waited for an answer" } else { "stopped" };
        let then = self.left(&m.task, MappingStatus::Aborted)?;
        let json = json!({
            "session": m.session, "task": m.task, "stopped": !left.is_empty(), "was": word,
            "mapping": MappingStatus::Aborted,
        });
        self.hand.answer(&json, &format!("{at} {word}{then}\n"))
    }

    /// Processes of a session that is a command.
    ///
    /// # Errors
    /// Why that cannot be told from here, in words.
    pub(in super::super) fn alive(&mut self, m: &Mapping) -> std::result::Result<Vec<i64>, Reason> {
        let host = &self.hand.here.host;
        if !host.is_here(&m.host) {
            return Err(format!("it ran on {}, and whether it lives cannot be told from here", m.host).into());
        }
        let task = self.hand.look(&m.task).map_err(|e| e.what)?;
        let claim = task.events.iter().rfind(|e| e.kind == EventKind::Claimed && e.run == m.run);
        let namespace = claim.and_then(|e| e.trail()?.get("namespace").cloned());
        let ours = serde_json::json!(self.hand.here.host.facts().pid_namespace);
        if namespace.is_some_and(|of_it| of_it != ours) {
            return Err(
                "it ran in another pid namespace, and whether it lives cannot be told from here".into()
            );
        }
        self.hand.here.host.left_by_run(&m.task, m.run)
    }

    fn had_ended(&self, m: &Mapping) -> Result<u8> {
        let word = "had ended";
        let json =
            json!({"session": m.session, "task": m.task, "stopped": false, "was": word, "mapping": null});
        self.hand.answer(&json, &format!("{} {word}; its mapping is {}\n", m.session, m.status.as_str()))
    }

    /// Stops the worker of a run and all of that run, and sees that nothing of it is left. Whether it had to. `at`: what is stopped, as
    /// it is named.
    fn stop_worker(&mut self, at: &str, task: &str, run: Option<i64>) -> Result<bool> {
        let not = |why: Reason| refused(at, format!("{why}; nothing was changed on the board"));
        let seen = self.hand.look(task)?;
        let Some(AtWork { look, target, .. }) = self.worker(&seen)? else { return Ok(false) };
        let host = &self.hand.here.host;
        let was_alive = match (look.life, target) {
            (Life::Unknown, _) => {
                let why = format!("whether its worker lives cannot be told from here: {}", look.because);
                return Err(not(why.into()).hint("abort it on the host it runs on"));
            }
            (Life::Alive, None) if !look.stopped.is_empty() => {
                let on = needs_operator::go_on(&look.stopped);
                return Err(not(format!("a signal stopped it: {}", look.because).into())
                    .hint(format!("run `{on}`, then abort it again")));
            }
            (Life::Alive, None) => {
                let pid = look.worker_pid.unwrap_or(0);
                let why = format!("pid {pid} does not prove that it is its worker, so it is not stopped");
                return Err(not(why.into()));
            }
            (Life::Alive, Some(target)) => {
                let words = Work::words(task, run.unwrap_or(0)).join(" ");
                // It may have ended by itself meanwhile; what follows sees that.
                let by_harness = host.stop_harness(&target, &format!(" {words} "));
                if by_harness != Ok(true)
                    && let Err(why) = host.stop(&target)
                    && host.target(task, run, target.pid).is_some()
                {
                    return Err(not(why));
                }
                true
            }
            (Life::Gone, _) => false,
        };
        // Tools it left running, in whatever session of their own.
        host.stop_left(task, run).map_err(not)?;
        match host.left_by_run(task, run).map_err(not)?.first() {
            None => Ok(was_alive),
            Some(pid) => Err(not(format!("process {pid} of it lives on").into())),
        }
    }
}
