//! The epoch of a board: how often a watcher decided for the whole board. Of hosts that looked at the same moment one decides, and the
//! others look again.

use board::several_hosts::is_for_all;
use board::{HOST_TELLS, Outcome, Step};

use crate::server::{Fault, Server, args};

/// A pass of a watcher that may decide for the whole board.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    program: String,
    host: String,
    /// The epoch when it began to look.
    seen: i64,
}

impl Pass {
    /// Begins one, in the transaction in which its host attends. `None` for a program that is not a watcher.
    pub(crate) fn begin(server: &mut Server, me: &board::Attendance<'_>) -> Result<Option<Pass>, Fault> {
        if !base::registry::NAMES.contains(&me.program) {
            return Ok(None);
        }
        Ok(Some(Pass { program: me.program.to_owned(), host: me.host.to_owned(), seen: now(server)? }))
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
