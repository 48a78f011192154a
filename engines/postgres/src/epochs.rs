//! The epoch of a board: how often a watcher decided for the whole board. Of hosts that looked at the same moment one decides, and the
//! others look again.

use board::several_hosts::{is_for_all, is_left};
use board::{Attended, HOST_TELLS, Outcome, Rule, Step};

use crate::hosts::hosts;
use crate::server::{Fault, Server, args};

/// A pass of a watcher that may decide for the whole board.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    program: String,
    host: String,
    /// The epoch when it began to look.
    seen: i64,
    /// What it was told of the hosts then.
    looked: Attended,
}

impl Pass {
    /// Begins one, in the transaction in which its host attends. `None` for a program that is not a watcher.
    pub(crate) fn begin(
        server: &mut Server,
        me: &board::Attendance<'_>,
        looked: &Attended,
    ) -> Result<Option<Pass>, Fault> {
        if !base::registry::NAMES.contains(&me.program) {
            return Ok(None);
        }
        let (program, host) = (me.program.to_owned(), me.host.to_owned());
        Ok(Some(Pass { program, host, seen: now(server)?, looked: looked.clone() }))
    }

    pub(crate) fn decides(&self, step: &Step) -> bool {
        is_for_all(&self.program, step)
    }

    /// Whether nobody else decided since. From then on nobody does until the transaction ends.
    pub(crate) fn is_newest(&self, server: &mut Server) -> Result<bool, Fault> {
        // In one order, as every lock of several rows.
        server.rows("SELECT FROM epochs ORDER BY program FOR UPDATE", args![])?;
        // A new statement, and so a new snapshot: after the wait.
        Ok(now(server)? == self.seen)
    }

    /// Whether a step takes the work of a host that is gone. From then on no host attends anew until the transaction ends.
    pub(crate) fn takes(server: &mut Server, steps: &[Step]) -> Result<bool, Fault> {
        let takes = steps.iter().any(|step| step.case.rule() == Rule::HostGone);
        if takes {
            server.rows("SELECT FROM hosts ORDER BY name FOR SHARE", args![])?;
        }
        Ok(takes)
    }

    /// For each step why it leaves its task to a host, under the lock of [`Pass::takes`].
    pub(crate) fn left(&self, server: &mut Server, steps: &[Step]) -> Result<Vec<Option<String>>, Fault> {
        let (now, hosts) = hosts(server)?;
        Ok(steps.iter().map(|step| is_left(step, &self.looked, now, &hosts)).collect())
    }

    /// Whether it decided something by these steps.
    pub(crate) fn did(&self, steps: &[Step], outcomes: &[Outcome]) -> bool {
        let applied = |o: &Outcome| matches!(o, Outcome::Applied { .. });
        steps.iter().zip(outcomes).any(|(step, outcome)| applied(outcome) && self.decides(step))
    }

    /// Tells the others that it decided something, under the lock of [`Pass::is_newest`].
    pub(crate) fn tell(&self, server: &mut Server) -> Result<(), Fault> {
        let sql = "INSERT INTO epochs AS e (program, n, host, at) VALUES ($1, 1, $2, now_s()) \
                   ON CONFLICT (program) DO UPDATE SET n = e.n + 1, host = excluded.host, at = excluded.at";
        server.rows(sql, args![self.program.as_str(), self.host.as_str()]).map(drop)
    }

    /// Goes on after a part that is committed: its own decisions do not count as new.
    pub(crate) fn after(&mut self, steps: &[Step], outcomes: &[Outcome]) {
        self.seen += i64::from(self.did(steps, outcomes));
    }
}

fn now(server: &mut Server) -> Result<i64, Fault> {
    let row = server.row("SELECT coalesce(sum(n), 0)::bigint FROM epochs", args![])?;
    Ok(row.map_or(0, |row| row.get(0)))
}

/// Whether a host tells a target of `notify`. Its row counts no decisions.
pub(crate) fn tells(server: &mut Server, host: &str, target: &str) -> Result<bool, Fault> {
    let sql = "SELECT 1 FROM epochs WHERE program = $1 AND host <> $2 AND at > now_s() - $3";
    Ok(server.row(sql, args![row_of(target).as_str(), host, HOST_TELLS])?.is_none())
}

/// The same of one that is about to: if it does, it is the one that does from now on.
pub(crate) fn tell_on(server: &mut Server, host: &str, target: &str) -> Result<bool, Fault> {
    let sql = "INSERT INTO epochs AS e (program, host, at) VALUES ($1, $2, now_s()) \
               ON CONFLICT (program) DO UPDATE SET host = excluded.host, at = excluded.at \
               WHERE e.host = excluded.host OR e.at <= excluded.at - $3 RETURNING 1";
    Ok(server.row(sql, args![row_of(target).as_str(), host, HOST_TELLS])?.is_some())
}

fn row_of(target: &str) -> String {
    format!("notify:{target}")
}
