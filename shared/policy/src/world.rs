//! What a watcher may touch while it observes, and how each part of it is asked.

use std::path::Path;

use crate::Pass;
use crate::runtime::{LogAsk, LogReader, Runtime};
use crate::said::Said;
use base::reason::Reason;
use base::time::Time;
use board::{Attended, Board, Detail, claim_host};
use config::Config;
use coord::Mapping;
use coord::evidence::Evidence;
use host::Witness;
use logs::Reading;
use logs::cache::Cache;
use logs::provider::Profile;
use logs::usage::Usage;
use logs::vitals::{Vitals, Worker};
use worktree::Tree;
use worktree::changes::Changes;
use worktree::state::TreeState;

/// Looks at a working tree.
pub type TreeReader = dyn Fn(&Path, std::time::Duration) -> Result<Tree, Reason>;

/// Says which files changed in a working tree since a moment, within a time limit.
pub type ChangesReader = dyn Fn(&Path, Time, std::time::Duration) -> Result<Changes, Reason>;

/// Says what state a working tree is in, within a time limit.
pub type StateReader<'a> = dyn Fn(&Path, std::time::Duration) -> Result<TreeState, Reason> + 'a;

/// Where what a worker printed can be read.
#[derive(Debug, Clone, Copy)]
pub enum Printed<'a> {
    /// In the board's own log of the task, if anywhere.
    OfBoard,
    /// In this file of the command that started it.
    To(&'a str),
    /// Nowhere: a later attempt wrote over it, or behind it.
    Over,
}

/// Which attempt's use is asked for.
#[derive(Debug, Clone, Copy)]
pub struct UseAsk<'a> {
    /// The board was made by `board init`.
    pub own_board: bool,
    /// The task.
    pub task: &'a str,
    /// Who works or worked.
    pub profile: Option<&'a str>,
    /// The file the claim of the attempt names.
    pub file: Option<&'a str>,
    /// What its worker printed.
    pub printed: Printed<'a>,
    /// The session of this machine that was spawned for the attempt.
    pub session: Option<&'a str>,
    /// Where it works.
    pub workspace: Option<&'a str>,
    /// When the first attempt at the task began.
    pub began: Time,
    /// When the attempt began.
    pub from: Time,
    /// When it ended; `None` while it runs.
    pub to: Option<Time>,
    /// When the next attempt began that may write to the same log.
    pub next: Option<Time>,
    /// The one reading of the clock.
    pub now: Time,
}

/// Says what an attempt used. What was read is remembered in the cache.
pub type UseReader<'a> = dyn Fn(&UseAsk<'_>, &mut Cache) -> Usage + 'a;

/// Says how an attempt fares, of which this may be the worker; `None` where nothing tells of it. What was read is remembered
/// in the cache.
pub type VitalsReader<'a> = dyn Fn(&UseAsk<'_>, Option<Worker>, &mut Cache) -> Option<Vitals> + 'a;

/// Says what is known of sessions that are mapped on this machine, in the order of the mappings. Only asks: nobody is prompted,
/// stopped or listened to.
pub type SessionReader<'a> = dyn Fn(&[Mapping]) -> Vec<Evidence> + 'a;

/// Everything of the world that a watcher may touch while it observes.
pub struct World<'a> {
    /// The board.
    pub board: &'a mut dyn Board,
    /// Processes.
    pub host: &'a dyn Witness,
    /// Logs.
    pub logs: &'a dyn LogReader,
    /// What we remember between passes; never the ground of a bolder action.
    pub cache: &'a mut Cache,
    /// The board's runtime.
    pub runtime: &'a dyn Fn() -> Runtime,
    /// Where a profile's requests go; `None` where nobody knows that profile.
    pub profile: &'a dyn Fn(&str) -> Option<Profile>,
    /// What is true of a working tree, within a time limit; else why that is not known.
    pub tree: &'a TreeReader,
    /// Which files changed in a working tree; else why that is not known.
    pub changes: &'a ChangesReader,
    /// What state a working tree is in, to be compared with a later one; else why that is not known.
    pub state: &'a StateReader<'a>,
    /// What an attempt used.
    pub usage: &'a UseReader<'a>,
    /// How an attempt fares.
    pub vitals: &'a VitalsReader<'a>,
    /// What is known of sessions.
    pub sessions: &'a SessionReader<'a>,
    /// What the board says of its hosts; `None` on a board of one host.
    pub hosts: Option<Attended>,
    /// Wall clock minus boot clock, in seconds.
    pub clock_offset: i64,
    /// What is wrong with the board itself: said in every pass, which ends with exit 1.
    pub found: Vec<Said>,
    /// Configuration.
    pub config: &'a Config,
}

impl World<'_> {
    /// What the log says of an attempt that began then. `file`: as [`LogAsk::file`].
    pub fn log(
        &mut self,
        task: &str,
        profile: Option<&str>,
        file: Option<&str>,
        since: Time,
        now: Time,
    ) -> Reading {
        self.logs.read(&LogAsk { board: self.board.id(), task, profile, since, now, file }, self.cache)
    }

    /// The wall clock at this moment, which is not before that of the pass: the machine may have been suspended since. A clock that was
    /// given stands still.
    pub fn later_than(&self, pass: &Pass) -> Time {
        let up = self.host.boot_clock().filter(|_| !pass.clock_given);
        up.map_or(pass.now, |up| Time(up.saturating_add(self.clock_offset)).max(pass.now))
    }

    /// The other host of a shared board on which the newest attempt at a task ran: its log and its folder are there. `None`: it ran here,
    /// or the board has one host.
    pub fn abroad(&self, d: &Detail) -> Option<String> {
        self.hosts.as_ref()?;
        let run = || d.newest_run().and_then(|r| r.claim_lock.as_deref());
        let lock = d.task.claim_lock.as_deref().or_else(run).or_else(|| d.newest_lock());
        lock.map(claim_host).filter(|host| !self.host.is_here(host)).map(str::to_owned)
    }

    /// The same, as long as that host attends: it alone knows how the attempt ended.
    pub fn elsewhere(&self, d: &Detail) -> Option<String> {
        self.abroad(d).filter(|host| self.attends(host))
    }

    /// Whether that host renews its lease on the board.
    pub fn attends(&self, host: &str) -> bool {
        let all = self.hosts.iter();
        all.flat_map(|all| all.hosts.iter().map(|h| (h, all.now)))
            .any(|(h, now)| h.host == host && h.attends(now))
    }
}
