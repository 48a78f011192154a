//! This host: whether a recorded worker lives, who holds a lock, whether the board file is split.
//!
//! Every answer has an `Unknown`, and `Unknown` never leads to an action. Nothing here but `stop` sends a signal, and
//! nothing opens a board file or reads the wall clock. What was read is judged by pure functions (`judge`, the parsers), so
//! that every case a kernel can show has its row in a table.

pub mod child;
mod claimer;
mod freezer;
mod host_facts;
mod judge;
mod locks;
mod machine;
mod open_files;
mod proc;
mod split;
mod stop;
mod types;
mod witness;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use base::error::Result;
use base::time::Time;
pub use freezer::Frozen;
pub use machine::View;
use proc::ProcFs;
pub use proc::{Kin, Marks, Probe, Process, Processes, Scan};
pub use stop::OwnChild;
pub use types::{
    Ask, AtWork, Birth, Boot, Freed, Holders, HostFacts, HostPolicy, Life, Look, Orphan, PidNamespace, Proof,
    Recheck, Recorded, Split, Started, Target,
};
pub use witness::Witness;

/// What tells one installed system from another (machine-id(5)).
const MACHINE_ID: &str = "/etc/machine-id";

/// Where a board lies.
#[derive(Debug, Clone)]
enum Place {
    File(PathBuf),
    /// The address of a server with the board.
    Server(String),
}

/// This host, read once per pass.
#[derive(Debug, Clone)]
pub struct Host {
    /// Where the process file system is; another folder only in tests.
    proc: PathBuf,
    /// The board whose tasks are meant; `None`: of whichever board.
    board: Option<Place>,
    aliases: Vec<String>,
    /// `host.name`.
    name: Option<String>,
    same_namespace: bool,
    /// Clock ticks per second, the unit of process starts.
    hertz: u64,
    facts: HostFacts,
    /// See [`Host::is_own`]; looked for once. None is added to them while we run.
    own: OnceLock<BTreeSet<i64>>,
}

impl Host {
    /// Reads this host. `now` is the wall clock at this moment, not a given time: boot time follows from it.
    ///
    /// # Errors
    /// Where `/proc` cannot be read, or shows another pid namespace than ours, so that no pid would mean
    /// what it says.
    pub fn here(policy: &HostPolicy, now: Time) -> Result<Host> {
        host_facts::read(PathBuf::from("/proc"), policy, now)
    }

    /// This host as the workers of one board are looked for on it: a process whose environment names the file of another board
    /// belongs to none of its tasks.
    #[must_use]
    pub fn of_board(&self, file: &Path) -> Host {
        Host { board: Some(Place::File(file.to_owned())), ..self.clone() }
    }

    /// The same for a board in a server: a process that names another address, or a file, belongs to none of its tasks.
    #[must_use]
    pub fn of_server(&self, address: &str) -> Host {
        Host { board: Some(Place::Server(address.to_owned())), ..self.clone() }
    }

    /// This host as a board knows it that several hosts share: by `host.name`, else by its hostname and a part made of its machine id,
    /// since hostnames repeat. From then on only claims under that name are of this host.
    ///
    /// # Errors
    /// `Config` where there is neither a name nor a machine id.
    pub fn on_shared_board(&self) -> Result<Host> {
        let hostname = match &self.name {
            Some(name) => name.clone(),
            None => format!("{}@{}", self.facts.hostname, host_facts::machine(Path::new(MACHINE_ID))?),
        };
        Ok(Host { facts: HostFacts { hostname, ..self.facts.clone() }, board: None, ..self.clone() })
    }

    /// This host where its boot is known to have begun by then: a wall clock that was set forward since makes it look younger than
    /// it is, and what runs older than the boot.
    #[must_use]
    pub fn begun_by(mut self, at: Time) -> Host {
        self.facts.boot_time = self.facts.boot_time.min(at);
        self
    }

    fn processes(&self) -> ProcFs<'_> {
        ProcFs { root: &self.proc, board: self.board.as_ref() }
    }

    /// What was read about this host.
    pub fn facts(&self) -> HostFacts {
        self.facts.clone()
    }

    /// What people call this host: `host.name`, else its hostname.
    pub fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.facts.hostname.clone())
    }

    /// Whether `name` (the part of a claim lock before the first colon) is this host.
    pub fn is_here(&self, name: &str) -> bool {
        self.view(&self.processes()).is_here(name)
    }

    /// Seconds between wall clock and boot clock. Between two passes of one boot this changes only when
    /// the wall clock is stepped (or by the second that rounding costs).
    pub fn wall_minus_boot(&self, now: Time) -> i64 {
        now.0.saturating_sub(self.boot_clock())
    }

    /// Seconds since this machine was started, those in which it slept among them.
    pub fn boot_clock(&self) -> i64 {
        host_facts::boot_clock()
    }

    /// Which start of this host it is.
    pub fn started(&self) -> Started {
        let (facts, clock) = (&self.facts, self.boot_clock());
        let in_container = facts.init_ticks.filter(|_| !facts.initial_pid_namespace);
        let began = |ticks: u64| i64::try_from(ticks / self.hertz).unwrap_or(0);
        let boot = match in_container {
            Some(init) if self.same_namespace => format!("{}:{init}", facts.boot_id),
            _ => facts.boot_id.clone(),
        };
        Started { boot, age: in_container.map_or(clock, |init| (clock - began(init)).max(0)) }
    }

    /// Those of [`Witness::inside`] that an agent may have left there: neither who called us, nor what has a terminal, as a person's shell
    /// or editor has. An agent's tools have none: its harness and opencode's server start them in sessions of their own.
    pub fn left_inside(&self, folder: &Path) -> Vec<Orphan> {
        self.inside_but(folder, |p| self.is_own(p.pid) || p.terminal)
    }

    fn inside_but(&self, folder: &Path, is_left_out: impl Fn(&proc::Process) -> bool) -> Vec<Orphan> {
        let Ok(folder) = std::fs::canonicalize(folder) else { return Vec::new() };
        let found = proc::inside(&self.proc, &folder).into_iter().filter(|p| !is_left_out(p));
        found.map(|p| Orphan { pid: p.pid, command: judge::short(&p), run: p.run() }).collect()
    }

    fn view<'a>(&'a self, processes: &'a dyn Processes) -> View<'a> {
        View {
            facts: &self.facts,
            aliases: &self.aliases,
            same_namespace: self.same_namespace,
            is_alone: matches!(self.board, Some(Place::File(_))),
            hertz: self.hertz,
            processes,
        }
    }

    /// When a process started, to recognise it again by; `None` where there is no such process.
    pub fn birth_of(&self, pid: i64) -> Option<Birth> {
        match self.processes().probe(pid) {
            Probe::Present(p) if !p.zombie => Some(Birth { boot: self.facts.boot(), ticks: p.ticks? }),
            _ => None,
        }
    }

    /// Whether a process can be no worker: a thread of the kernel, or the first process of a machine, which outlives all work.
    pub fn is_of_system(&self, pid: i64) -> bool {
        proc::is_of_system(&self.proc, pid)
    }

    /// Whether a process is stopped by a signal or a debugger (state `T` or `t`, proc_pid_stat(5)): it lives and does nothing.
    pub fn is_stopped(&self, pid: i64) -> bool {
        let stat = std::fs::read_to_string(self.proc.join(pid.to_string()).join("stat")).unwrap_or_default();
        // The name in brackets may hold anything.
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
        matches!(state, Some("T" | "t"))
    }

    /// Whether a pid on the board, or a lock in `/proc/locks`, can be taken at its word.
    fn sees_namespace(&self) -> bool {
        self.facts.initial_pid_namespace || self.same_namespace
    }
}

#[cfg(test)]
mod tests;
