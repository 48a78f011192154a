//! The plain data of the host part: what is asked about a worker, and what is answered.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use base::named_enum::named_enum;
use base::time::Time;

/// An attempt must be older than the boot by this many seconds to be called older; also how far two readings
/// of one boot's moment may lie apart.
const BOOT_SLACK: i64 = 60;

/// Whether a process lives. `Unknown` is a verdict of its own and never leads to an action.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// Seen, and proven to be the one asked about.
    Alive,
    /// Proven not to live on this host.
    Gone,
    /// Neither could be proven.
    Unknown,
}

/// What the configuration says about this host (`[host]`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostPolicy {
    /// Other names under which claims of this host stand on the board, for a host that was renamed.
    pub aliases: Vec<String>,
    /// Whether the workers are known to share our pid namespace.
    pub pid_namespace: PidNamespace,
    /// What this host is called on a board that several hosts share, in the place of its hostname and machine id.
    pub name: Option<String>,
}

named_enum! {
    /// Whether workers run in the same pid namespace as we do.
    #[derive(Default)]
    pub enum PidNamespace {
        /// Find out; where that cannot be proven, nobody is `Gone`.
        #[default]
        Auto = "auto",
        /// A person says they do.
        Same = "same",
    }
}

/// What was read once about this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The node name, which is what Python's `socket.gethostname()` puts in front of a claim lock.
    pub hostname: String,
    /// `/proc/sys/kernel/random/boot_id`: new at each boot, the only boot identity no clock can move.
    pub boot_id: String,
    /// Start of pid 1, in clock ticks after boot; `None` where it cannot be read. In a container it changes with each start of
    /// the container while the boot id stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init_ticks: Option<u64>,
    /// When this boot began, by a wall clock that may have been stepped since: the earlier of two readings.
    pub boot_time: Time,
    /// Whether we run in the kernel's first pid namespace, from which every process of the kernel is visible.
    pub initial_pid_namespace: bool,
    /// Our pid namespace, as `/proc/self/ns/pid` names it; empty where it cannot be read.
    pub pid_namespace: String,
    /// Whether `/proc` shows the processes of other users too (no `hidepid`, no `subset=pid`).
    pub sees_all: bool,
    /// Whether we run in a time namespace of our own: starts are shifted there, and say nothing beside those that others recorded
    /// (time_namespaces(7)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_time_shifted: bool,
}

impl HostFacts {
    /// This boot, as the start of a process of it is recorded. In a time namespace of our own the start of pid 1 is not that which others read.
    pub fn boot(&self) -> Boot {
        let id = self.boot_id.clone();
        match self.init_ticks.filter(|_| !self.is_time_shifted) {
            Some(init) => Boot::Within { id, init },
            None => Boot::Id(id),
        }
    }

    /// Whether a recorded boot is of the kernel that runs now, in whichever container.
    pub fn is_this_kernel(&self, boot: &Boot) -> bool {
        match boot {
            Boot::Id(id) | Boot::Within { id, .. } => *id == self.boot_id,
            Boot::Epoch(_) => self.is_this_boot(boot),
        }
    }

    /// Whether a recorded boot is an earlier start of the container that we run in, where each one has the same workers.
    pub fn is_earlier_start(&self, boot: &Boot) -> bool {
        let Boot::Within { id, init } = boot else { return false };
        let is_within = !self.initial_pid_namespace && !self.is_time_shifted && *id == self.boot_id;
        // A namespace below ours, as a sandbox has, began later.
        is_within && self.init_ticks.is_some_and(|ours| *init < ours)
    }

    /// Whether a recorded boot is the one that runs now.
    pub fn is_this_boot(&self, boot: &Boot) -> bool {
        match boot {
            Boot::Id(id) => *id == self.boot_id,
            Boot::Within { id, init } => {
                *id == self.boot_id && self.init_ticks.is_none_or(|ours| ours == *init)
            }
            Boot::Epoch(at) => at.since(self.boot_time).saturating_abs() <= BOOT_SLACK,
        }
    }

    /// Whether an attempt of that time is older than this boot. A recorded boot id decides that alone: no clock, which may have
    /// been stepped since, says anything against it.
    pub fn precedes_boot(&self, since: Time, birth: Option<&Birth>) -> bool {
        let by_clock = !self.is_time_shifted && since < self.boot_time.plus(-BOOT_SLACK);
        match birth.map(|b| &b.boot) {
            Some(boot) if self.is_this_boot(boot) => false,
            Some(Boot::Id(_)) => true,
            // The same boot and another pid 1: our container was started again. In the first namespace pid 1 starts only once,
            // so that the worker belongs to a container, which may still run.
            Some(Boot::Within { id, .. }) => *id != self.boot_id || !self.initial_pid_namespace,
            Some(Boot::Epoch(_)) | None => by_clock,
        }
    }

    /// The form in which Hermes later than 0.21.3 writes a start of this boot; `None` where pid 1 cannot be read.
    pub fn fingerprint(&self, ticks: u64) -> Option<String> {
        let init = self.init_ticks?;
        (!self.boot_id.is_empty()).then(|| format!("{}:{init}|{ticks}", self.boot_id))
    }
}

/// Which start of a host it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The boot id of the kernel. In a container whose processes are judged (`host.pid_namespace`), behind a colon the start of its pid 1:
    /// another container of the same kernel is another host.
    pub boot: String,
    /// Seconds since the kernel was started, or the container, suspended time included.
    pub age: i64,
}

/// The boot a recorded start belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boot {
    /// The kernel's boot id.
    Id(String),
    /// The kernel's boot id and the start of pid 1, in clock ticks after boot.
    Within {
        /// The boot id.
        id: String,
        /// The start of pid 1.
        init: u64,
    },
    /// The boot's moment by the wall clock of the recording process; weaker, since that clock may have been stepped.
    Epoch(Time),
}

/// A recorded process start: the strongest identity a pid can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Birth {
    /// In which boot.
    pub boot: Boot,
    /// Field 22 of `/proc/PID/stat`: clock ticks after boot.
    pub ticks: u64,
}

impl Birth {
    /// Reads `worker_started_at` of Hermes later than 0.21.3: `<boot id>:<start of pid 1>|<stat field 22>`. A boot in epoch
    /// seconds is accepted as well.
    ///
    /// `None` for anything else, `unverified` among it: an unreadable birth does not count.
    pub fn parse_hermes(text: &str) -> Option<Birth> {
        let (boot, ticks) = text.trim().split_once('|')?;
        if let Some((id, init)) = boot.split_once(':') {
            let boot = Boot::Within { id: id.to_owned(), init: init.parse().ok()? };
            return (is_boot_id(id)).then_some(Birth { boot, ticks: ticks.parse().ok()? });
        }
        // Python writes a float where nobody rounded it; the fraction says nothing.
        let whole = boot.split_once('.').map_or(boot, |(whole, _)| whole);
        let boot = whole.parse::<i64>().ok().filter(|n| *n > 0)?;
        Some(Birth { boot: Boot::Epoch(Time(boot)), ticks: ticks.parse().ok()? })
    }
}

/// Whether a text has the form of the kernel's boot id.
fn is_boot_id(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// One question: what became of this attempt's worker?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The task's id.
    pub task: String,
    /// The attempt's run id, where the board has one.
    pub run: Option<i64>,
    /// The recorded worker.
    pub pid: Option<i64>,
    /// The host in the claim lock; `None` for a row without a claim.
    pub claim_host: Option<String>,
    /// The process in the claim lock: the claimer (a gateway, a command line), not the worker.
    pub claimer_pid: Option<i64>,
    /// When this attempt was claimed or its worker spawned.
    pub since: Time,
    /// The board has Hermes' own `spawned` event for this pid, so that the worker's arguments end
    /// `chat -q "work kanban task <id>"` (Hermes 0.13 to 0.22).
    pub hermes_spawned: bool,
    /// The worker's recorded start, where the board has one.
    pub birth: Option<Birth>,
    /// Run and pid of every worker the board has a record of, those of earlier attempts among them: one of them may still
    /// live.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<(i64, i64)>,
    /// Those of earlier attempts of which the board has a record of the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<Recorded>,
    /// The pid namespace the pid was read in, where the board has it (`board claim --pid` records it): the same one as
    /// ours means that the pid is what it says, in a container too.
    pub namespace: Option<String>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Whether the worker lives.
    pub life: Life,
    /// The evidence in words, for the report. It may hold a pid, so it never goes into a task's
    /// `last_failure_error`: Hermes' own guard takes "429" in there for a rate limit.
    pub because: String,
    /// The living worker; not always the recorded pid.
    pub worker_pid: Option<i64>,
    /// The living worker belongs to another attempt than the one asked about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_older: bool,
    /// Run and pid of a living worker of another attempt, beside that of the one that was asked about: two work on the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<(i64, i64)>,
    /// That one is known by its recorded start alone, and blocked the task itself: it keeps nobody from the task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stands_aside: bool,
    /// The living worker where a signal stopped it (state `T`), and then its parent where that is stopped too, as `board run` is with its agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<i64>,
    /// What the attempt left behind and still runs.
    pub orphans: Vec<Orphan>,
    /// Whether the claimer lives.
    pub claimer: Life,
    /// Present exactly where `life` is `Gone`.
    pub proof: Option<Proof>,
}

/// A process with the attempt's marks in its environment that is not the worker, such as a tool it started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orphan {
    /// Its pid.
    pub pid: i64,
    /// The bare name of its program: arguments may hold keys.
    pub command: String,
    /// The run its environment names, where it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<i64>,
}

/// What was seen of a worker that is gone, to be seen again just before the board is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The task's id.
    pub task: String,
    /// The attempt's run id.
    pub run: Option<i64>,
    /// The recorded worker.
    pub pid: Option<i64>,
    /// Start of the stranger that owns the pid now, in clock ticks after boot; `None` where nobody does.
    pub start_ticks: Option<u64>,
    /// The boot in which it was seen.
    pub boot_id: String,
    /// The pid namespace it was seen in, where the claim was made in that very one.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Run and pid of every worker the board has a record of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<(i64, i64)>,
}

/// What a last look at processes, just before the board is changed, came to.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recheck {
    /// For each proof whether it still holds. `false` says nothing about the worker, only that this proof ended: look again in
    /// the next pass. Where there is no proof there is nothing to ask.
    pub still_gone: Vec<bool>,
    /// For each task what still works on it, whatever the board says of its runs: a worker may outlive its block (hermes-agent
    /// #111059) or a claim that was undone.
    pub at_work: Vec<Option<AtWork>>,
}

/// A task that is about to be requeued or released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freed<'a> {
    /// Its id.
    pub task: &'a str,
    /// Run and pid of every worker the board has a record of.
    pub workers: Cow<'a, [(i64, i64)]>,
    /// Those of them whose start it has a record of: nothing they do to their environment or command line hides them.
    pub recorded: Cow<'a, [Recorded]>,
}

impl<'a> Freed<'a> {
    /// One of which only the id is known: a process that names it is found.
    pub fn named(task: &'a str) -> Freed<'a> {
        Freed { task, workers: Cow::Borrowed(&[]), recorded: Cow::Borrowed(&[]) }
    }
}

/// A worker whose start the board has a record of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The attempt it claimed the task for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<i64>,
    /// Its pid.
    pub pid: i64,
    /// Its start.
    pub birth: Birth,
    /// It blocked the task itself, so it is about to stop, or does something else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_blocked: bool,
}

/// A process that works on a task: its environment or command line names it, or the board has a record of its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork {
    /// The process.
    pub pid: i64,
    /// The bare name of its program: arguments may hold keys.
    pub command: String,
    /// It may be a worker. Else a worker that is gone left it behind.
    pub is_worker: bool,
}

/// A living worker that may be stopped: everything that must still be so when it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The task its environment names.
    pub task: String,
    /// The attempt's run id.
    pub run: Option<i64>,
    /// Its pid.
    pub pid: i64,
    /// Its start, in clock ticks after boot.
    pub start_ticks: u64,
    /// The boot in which it was seen.
    pub boot_id: String,
}

/// Who holds a lock on a file.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holders {
    /// Nobody, or there is no such file.
    Nobody,
    /// These processes took it. A lock outlives its taker in a child that inherited the file.
    Pids(Vec<i64>),
    /// It cannot be told, and why.
    Unknown(String),
}

/// Whether a board's processes all write into the same files.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Nobody was found writing elsewhere.
    Whole,
    /// These processes write into files that no longer have a name; what they write will be lost.
    Split {
        /// The processes, ascending.
        pids: Vec<i64>,
    },
    /// It cannot be told, and why.
    Unknown(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn births_of_hermes() {
        let born = |epoch, ticks| Some(Birth { boot: Boot::Epoch(Time(epoch)), ticks });
        let id = "fc89d26c-7fdb-41ec-b056-2f6d5e9169ff";
        let within = |init, ticks| Some(Birth { boot: Boot::Within { id: id.into(), init }, ticks });
        for (text, birth) in [
            // As real workers of 0.22.2 write it.
            ("fc89d26c-7fdb-41ec-b056-2f6d5e9169ff:22|105800", within(22, 105_800)),
            ("fc89d26c-7fdb-41ec-b056-2f6d5e9169ff:|105800", None),
            ("fc89d26c-7fdb-41ec-b056-2f6d5e9169ff:-1|105800", None),
            ("fc89d26c-7fdb-41ec-b056-2f6d5e9169ff:22|", None),
            ("fc89d26c-7fdb-41ec-b056-2f6d5e9169ff|105800", None),
            ("fc89d26c:22|105800", None),
            ("1795000000|147908", born(1_795_000_000, 147_908)),
            (" 1795000000.52|7 ", born(1_795_000_000, 7)),
            ("unverified", None),
            ("", None),
            ("|7", None),
            ("0|7", None),
            ("1795000000|", None),
            ("1795000000|-7", None),
            ("1795000000|7|8", None),
        ] {
            assert_eq!(Birth::parse_hermes(text), birth, "{text:?}");
        }
    }

    #[test]
    fn policy_words() {
        let p: HostPolicy = toml::from_str("aliases = [\"old\"]\npid_namespace = \"same\"").unwrap();
        assert_eq!(
            p,
            HostPolicy { aliases: vec!["old".into()], pid_namespace: PidNamespace::Same, name: None }
        );
        assert_eq!(toml::from_str::<HostPolicy>("").unwrap(), HostPolicy::default());
        assert!(toml::from_str::<HostPolicy>("pid_namespace = \"auto \"").is_err());
        assert!(toml::from_str::<HostPolicy>("alias = []").is_err());
    }
}
