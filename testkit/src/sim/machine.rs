//! A machine: its name, its boots, its clock, and the table of its processes.

use std::collections::{BTreeMap, BTreeSet};

use shared::base::time::Time;
use shared::host::{HostFacts, Marks, Probe, Process, Processes, Scan, View};

use crate::chance::Chance;

/// Clock ticks per second.
pub(super) const HERTZ: u64 = 100;
/// Pids go round below this number, so that they are given again within a night.
const LAST_PID: i64 = 400;

/// Who a process is in truth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who {
    /// The worker of a run of a task.
    Worker(String, i64),
    /// Something a worker started.
    Child(String, i64),
    /// The dispatcher.
    Dispatcher,
    /// A process that has nothing to do with the board.
    Stranger,
}

/// How a worker shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guise {
    /// By its command line and its environment.
    Plain,
    /// Its title is `hermes` and tells nothing; its environment tells all (`setproctitle`).
    Renamed,
    /// It wrote over both.
    Overwritten,
}

#[derive(Debug, Clone)]
pub(super) struct Resident {
    pub(super) who: Who,
    ticks: u64,
    zombie: bool,
    /// A worker by Hermes' command line.
    by_command: bool,
    guise: Guise,
}

/// The machine. Its processes are the truth; what watchers see of them goes through the real judgement.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub(super) name: String,
    pub(super) boot: u32,
    /// Seconds since this boot.
    pub(super) up: i64,
    residents: BTreeMap<i64, Resident>,
    next: i64,
    /// From where watchers look, nothing of the first pid namespace can be seen for sure.
    pub(super) is_blind: bool,
    /// No pid is given again, and nothing stays behind as a zombie.
    pub(super) is_tidy: bool,
}

impl Machine {
    pub(super) fn new(name: &str, up: i64) -> Machine {
        let residents = BTreeMap::new();
        Machine { name: name.into(), boot: 1, up, residents, next: 100, is_blind: false, is_tidy: false }
    }

    /// Its processes as a pass looks at them. `facts`: what it reads beside; `aliases`: former names of the machine.
    pub(super) fn view<'a>(&'a self, facts: &'a HostFacts, aliases: &'a [String]) -> View<'a> {
        View { facts, aliases, same_namespace: false, is_alone: false, hertz: HERTZ, processes: self }
    }

    /// What a pass reads of it at this moment of its wall clock.
    pub(super) fn facts(&self, now: Time) -> HostFacts {
        HostFacts {
            hostname: self.name.clone(),
            boot_id: format!("boot-{}", self.boot),
            boot_time: now.plus(-self.up),
            init_ticks: Some(1),
            initial_pid_namespace: !self.is_blind,
            pid_namespace: if self.is_blind { "pid:[4026532000]" } else { "pid:[4026531836]" }.into(),
            sees_all: !self.is_blind,
            is_time_shifted: false,
        }
    }

    /// Starts a process; pids are given again once their owner is gone.
    pub(super) fn start(&mut self, who: Who, by_command: bool) -> i64 {
        while self.residents.contains_key(&self.next) {
            self.next = if self.next >= LAST_PID { 100 } else { self.next + 1 };
        }
        let pid = self.next;
        self.next = if pid >= LAST_PID { 100 } else { pid + 1 };
        self.settle(pid, who, by_command);
        pid
    }

    /// A process of this number begins.
    pub(super) fn settle(&mut self, pid: i64, who: Who, by_command: bool) {
        let ticks = u64::try_from(self.up).unwrap_or(0) * HERTZ + 7;
        self.residents.insert(pid, Resident { who, ticks, zombie: false, by_command, guise: Guise::Plain });
    }

    /// Ends a process. Sometimes nobody collects it, sometimes its number goes to another process at once.
    pub(super) fn end(&mut self, pid: i64, chance: &mut Chance) {
        let Some(was) = self.residents.remove(&pid) else { return };
        match chance.below(10) {
            _ if self.is_tidy => {}
            0 | 1 => drop(self.residents.insert(pid, Resident { zombie: true, ..was })),
            2..=4 => self.settle(pid, Who::Stranger, false),
            _ => {}
        }
    }

    /// Everything ends, and the clocks of a boot begin anew. Other processes get low numbers early.
    pub(super) fn reboot(&mut self, chance: &mut Chance) {
        self.boot += 1;
        self.up = chance.between(5, 90);
        let old: Vec<i64> = self.residents.keys().copied().collect();
        self.residents.clear();
        for pid in old {
            if chance.percent(30) {
                self.settle(pid, Who::Stranger, false);
            }
        }
    }

    /// The process never was.
    pub(super) fn forget(&mut self, pid: i64) {
        self.residents.remove(&pid);
    }

    /// It shows itself as another process.
    pub(super) fn is_now(&mut self, pid: i64, who: Who) {
        if let Some(r) = self.residents.get_mut(&pid) {
            r.who = who;
        }
    }

    /// From now on it shows itself so.
    pub(super) fn disguise(&mut self, pid: i64, guise: Guise) {
        if let Some(r) = self.residents.get_mut(&pid) {
            r.guise = guise;
        }
    }

    pub(super) fn guise(&self, pid: i64) -> Option<Guise> {
        self.residents.get(&pid).map(|r| r.guise)
    }

    pub(super) fn is_alive(&self, pid: i64) -> bool {
        self.residents.get(&pid).is_some_and(|r| !r.zombie)
    }

    pub(super) fn who(&self, pid: i64) -> Option<&Who> {
        self.residents.get(&pid).filter(|r| !r.zombie).map(|r| &r.who)
    }

    /// Pids of living workers of a task.
    pub(super) fn workers_of(&self, task: &str) -> Vec<(i64, i64)> {
        let alive = self.residents.iter().filter(|(_, r)| !r.zombie);
        let theirs = alive.filter_map(|(pid, r)| match &r.who {
            Who::Worker(t, run) if t == task => Some((*pid, *run)),
            _ => None,
        });
        theirs.collect()
    }

    /// Whether any worker lives.
    pub(super) fn pids(&self, of: impl Fn(&Who) -> bool) -> Vec<i64> {
        let alive = self.residents.iter().filter(|(_, r)| !r.zombie);
        alive.filter(|(_, r)| of(&r.who)).map(|(pid, _)| *pid).collect()
    }

    fn process(&self, pid: i64, r: &Resident) -> Process {
        let (task, run) = match &r.who {
            Who::Worker(..) if r.guise == Guise::Overwritten => (None, None),
            Who::Worker(task, run) | Who::Child(task, run) => (Some(task.clone()), Some(run.to_string())),
            Who::Dispatcher | Who::Stranger => (None, None),
        };
        let is_hermes = r.guise == Guise::Plain && r.by_command;
        let asked = match &r.who {
            Who::Worker(task, _) if is_hermes => Some(task.clone()),
            _ => None,
        };
        let command = match &r.who {
            Who::Worker(..) if r.guise != Guise::Plain => "hermes".into(),
            Who::Worker(task, _) if r.by_command => {
                format!("python hermes -p luna chat -q work kanban task {task}")
            }
            Who::Worker(..) => "claude -p".into(),
            Who::Child(..) => "cargo test".into(),
            Who::Dispatcher => "python hermes gateway".into(),
            Who::Stranger => "postgres".into(),
        };
        let overwrote = matches!(r.who, Who::Worker(..)) && r.guise == Guise::Overwritten;
        let marks = if overwrote { Marks::Overwritten } else { Marks::Read { task, run } };
        let (zombie, ticks) = (r.zombie, Some(r.ticks));
        Process {
            pid,
            parent: 1,
            zombie,
            stopped: false,
            terminal: false,
            kernel: false,
            ticks,
            command: Some(command),
            asked,
            marks,
            is_unclear: false,
        }
    }
}

impl Processes for Machine {
    fn scan(&self, tasks: &BTreeSet<&str>) -> Scan {
        Scan::over(self.residents.iter().map(|(pid, r)| self.process(*pid, r)), tasks)
    }

    fn probe(&self, pid: i64) -> Probe {
        match self.residents.get(&pid) {
            None => Probe::Absent,
            Some(r) if r.zombie => Probe::Exited,
            Some(r) => Probe::Present(self.process(pid, r)),
        }
    }
}
