//! Stopping a session that is a command: its harness is asked first, which stops it and gives the task back; then it is looked
//! that nothing of it is left.

use serde_json::json;

use super::super::work::Work;
use super::super::{Coord, refused};
use crate::error::Result;
use crate::host::Life;
use crate::quote;
use crate::session::mapping::ABORTED;
use crate::session::{Mapping, MappingStatus, mapping};
use crate::watch::heal::AtWork;

impl Coord<'_> {
    pub(super) fn abort_worker(&mut self, m: &Mapping, reason: Option<&str>) -> Result<u8> {
        let at = m.session.as_str();
        if m.status != MappingStatus::Active {
            return self.had_ended(m);
        }
        let stopped = self.stop_worker(m)?;
        // Its harness gave the task back already, unless that was gone or had to be killed.
        if !self.end(m, MappingStatus::Aborted, reason)? {
            let task = self.hand.look(&m.task)?;
            let now = mapping::of(&task).into_iter().rfind(|now| now.session == m.session);
            // It was faster.
            if let Some(now) = now.filter(|now| now.status == MappingStatus::Completed || !stopped) {
                return self.had_ended(&now);
            }
            let keys = json!({
                "session": m.session, "status": MappingStatus::Aborted,
                "reason": reason.map(|r| quote::line(r, 300)),
            });
            self.record(m, ABORTED, "abort", keys)?;
        }
        let word = if stopped { "stopped" } else { "was gone" };
        let json = json!({
            "session": m.session, "task": m.task, "stopped": stopped, "was": word,
            "mapping": MappingStatus::Aborted,
        });
        self.hand.answer(&json, &format!("{at} {word}; its mapping is aborted, and {} is free\n", m.task))
    }

    fn had_ended(&self, m: &Mapping) -> Result<u8> {
        let word = "had ended";
        let json =
            json!({"session": m.session, "task": m.task, "stopped": false, "was": word, "mapping": null});
        self.hand.answer(&json, &format!("{} {word}; its mapping is {}\n", m.session, m.status.as_str()))
    }

    /// Stops the worker of a mapping and all of its run, and sees that nothing of it is left. Whether it had to.
    fn stop_worker(&mut self, m: &Mapping) -> Result<bool> {
        let at = m.session.as_str();
        let not = |why: String| refused(at, format!("{why}; nothing was changed on the board"));
        let task = self.hand.look(&m.task)?;
        let Some(AtWork { look, target, .. }) = self.worker(&task)? else { return Ok(false) };
        let host = &self.hand.here.host;
        let was_alive = match (look.life, target) {
            (Life::Unknown, _) => {
                let why = format!("whether its worker lives cannot be told from here: {}", look.because);
                return Err(not(why).hint("abort it on the host it runs on"));
            }
            (Life::Alive, None) => {
                let pid = look.worker_pid.unwrap_or(0);
                return Err(not(format!(
                    "pid {pid} does not prove that it is its worker, so it is not stopped"
                )));
            }
            (Life::Alive, Some(target)) => {
                let words = Work::words(&m.task, m.run.unwrap_or(0)).join(" ");
                // It may have ended by itself meanwhile; what follows sees that.
                let by_harness = host.stop_harness(&target, &format!(" {words} "));
                if by_harness != Ok(true)
                    && let Err(why) = host.stop(&target)
                    && host.target(&m.task, m.run, target.pid).is_some()
                {
                    return Err(not(why));
                }
                true
            }
            (Life::Gone, _) => false,
        };
        // Tools it left running, in whatever session of their own.
        host.stop_left(&m.task, m.run).map_err(not)?;
        match host.left_by_run(&m.task, m.run).map_err(not)?.first() {
            None => Ok(was_alive),
            Some(pid) => Err(not(format!("process {pid} of it lives on"))),
        }
    }
}
