//! A gateway as earlier passes saw it: it holds its lock as long as it lives, so a lock that is free now and was not says that
//! it is gone. A dispatcher that cron starts holds no such lock, and nothing is known of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base::time::Time;
use board::{BoardId, Event, EventKind, claimer_pid};
use host::{Holders, Host};
use logs::cache::Cache;

/// A dispatcher that did something within these seconds is taken for alive.
pub const TICKED: i64 = 600;

/// Whether this machine starts a gateway as a service: systemd runs, and Hermes installed a unit for the system or for this user. In a
/// container `hermes gateway start` exits with 0 and starts nothing.
pub fn has_service(home: Option<&Path>) -> bool {
    let folders = [Some(PathBuf::from("/etc/systemd/system")), home.map(|h| h.join(".config/systemd/user"))];
    Path::new("/run/systemd/system").is_dir() && folders.into_iter().flatten().any(|folder| has_unit(&folder))
}

/// Whether a folder has a unit of the gateway. Each Hermes home but the usual one has a name of its own behind that.
fn has_unit(folder: &Path) -> bool {
    let is_unit = |name: &str| name.starts_with("hermes-gateway") && name.ends_with(".service");
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    names.filter_map(|e| e.file_name().into_string().ok()).any(|name| is_unit(&name))
}

/// A gateway that does not hold its lock any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    /// Its process, as an earlier pass saw it.
    pub pid: i64,
    /// When a pass first saw it. What was claimed before that was another gateway's, which is gone as well.
    pub(crate) held: Time,
    /// Since when passes see the lock free; `None` where no pass has yet.
    pub since: Option<Time>,
}

/// The lock of a root's gateway.
pub(crate) fn lock(id: &BoardId) -> Option<PathBuf> {
    Some(id.root.as_deref()?.join("kanban").join(".dispatcher.lock"))
}

/// Remembers who holds the gateway's lock, and since when nobody does.
pub fn note(id: &BoardId, host: &Host, cache: &mut Cache, now: Time) {
    let Some(lock) = lock(id) else { return };
    let prefix = format!("gateway:{}:", lock.display());
    let held = |pid: &i64| format!("{prefix}held:{pid}");
    match host.flock_holders(&lock) {
        Holders::Pids(pids) => {
            cache.forget(&prefix, &pids.iter().map(held).collect());
            pids.iter().for_each(|pid| _ = cache.sight(&held(pid), now));
        }
        Holders::Nobody if !lock.exists() => _ = cache.forget(&prefix, &BTreeSet::new()),
        Holders::Nobody => {
            if gone(id, cache).is_some() {
                cache.sight(&format!("{prefix}free"), now);
            }
        }
        Holders::Unknown(_) => {}
    }
}

/// The gateway that earlier passes saw, to be asked where its lock is free now.
pub fn gone(id: &BoardId, cache: &Cache) -> Option<Gone> {
    let prefix = format!("gateway:{}:", lock(id)?.display());
    let (key, held) = cache.newest(&format!("{prefix}held:"))?;
    let pid = key.rsplit(':').next()?.parse().ok()?;
    Some(Gone { pid, held, since: cache.newest(&format!("{prefix}free")).map(|(_, since)| since) })
}

impl Gone {
    /// Whether it may only restart: for `grace` seconds after a pass first saw its lock free. Where no pass has, nobody knows for how long it
    /// is, and what it did last tells: a dispatcher with one long attempt writes every 15 minutes.
    pub fn may_return(self, grace: i64, ticked: Option<Time>, now: Time) -> bool {
        match self.since {
            Some(since) => now.since(since) < grace,
            None => ticked.is_some_and(|at| now.since(at) <= 2 * TICKED),
        }
    }

    /// Whether another process claimed this task: a dispatcher beside that gateway.
    pub fn is_not_by(self, e: &Event) -> bool {
        let lock = e.payload.get("lock").and_then(|l| l.as_str());
        e.kind == EventKind::Claimed && e.at >= self.held && lock.and_then(claimer_pid) != Some(self.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_ended_a_moment_ago_may_return() {
        let now = Time(1_800_000_000);
        for (since, ticked, may) in [
            (Some(0), None, true),
            (Some(29), None, true),
            (Some(30), Some(5), false),
            (Some(4_000), Some(5), false),
            (None, Some(5), true),
            (None, Some(1_200), true),
            (None, Some(1_201), false),
            (None, None, false),
        ] {
            let at = |seconds: Option<i64>| seconds.map(|s| now.plus(-s));
            let gone = Gone { pid: 7, held: now.plus(-9_000), since: at(since) };
            assert_eq!(gone.may_return(30, at(ticked), now), may, "{since:?} {ticked:?}");
        }
    }

    #[test]
    fn a_unit_of_any_hermes_home_is_a_service() {
        let dir = tempfile::tempdir().unwrap();
        let add = |name: &str| std::fs::write(dir.path().join(name), "").unwrap();
        add("hermes-gateway.timer");
        add("hermes.service");
        assert!(!has_unit(dir.path()) && !has_unit(&dir.path().join("none")));
        add("hermes-gateway-3f9a.service");
        assert!(has_unit(dir.path()));
    }
}
