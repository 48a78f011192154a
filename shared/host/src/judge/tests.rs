//! The table test of the verdict: a world to start from, and what each row changes in it.

mod births;
mod pids;
mod properties;
mod sight;

use super::super::proc::Marks;
use super::*;
use base::time::Time;

const BOOT: i64 = 1_000_000;
const SINCE: i64 = 1_010_000;
const HERTZ: u64 = 100;
const PID: i64 = 500;
const WORKER: &str = "python hermes -p luna chat -q work kanban task t_1";

/// The plainest case: a Hermes worker whose pid does not exist, its claimer alive, everything visible.
#[derive(Debug, Clone)]
struct World {
    ask: Ask,
    facts: HostFacts,
    here: bool,
    same: bool,
    recorded: Option<Probe>,
    claimer: Option<Probe>,
    scan: Scan,
    /// Number inside, pid here, start.
    nested: Option<(i64, i64, u64)>,
}

fn world() -> World {
    let ask = Ask {
        task: "t_1".into(),
        run: Some(7),
        pid: Some(PID),
        claim_host: Some("h".into()),
        claimer_pid: Some(400),
        since: Time(SINCE),
        hermes_spawned: true,
        birth: None,
        workers: Vec::new(),
        recorded: Vec::new(),
        namespace: None,
    };
    let facts = HostFacts {
        hostname: "h".into(),
        boot_id: "b1".into(),
        boot_time: Time(BOOT),
        init_ticks: Some(1),
        initial_pid_namespace: true,
        pid_namespace: "pid:[1]".into(),
        sees_all: true,
        is_time_shifted: false,
    };
    let claimer = Some(Probe::Present(process(400, -1_000)));
    World {
        ask,
        facts,
        here: true,
        same: false,
        recorded: Some(Probe::Absent),
        claimer,
        scan: Scan::default(),
        nested: None,
    }
}

impl World {
    fn judge(&self) -> Look {
        let sight = Sight {
            facts: &self.facts,
            hertz: HERTZ,
            here: self.here,
            same_namespace: self.same,
            recorded: self.recorded.clone(),
            claimer: self.claimer.clone(),
            nested: &|pid| {
                self.nested.filter(|(inside, ..)| *inside == pid).map(|(_, here, ticks)| (here, ticks))
            },
            scan: &self.scan,
        };
        judge(&self.ask, &sight)
    }

    fn present(&mut self, p: Process) {
        self.recorded = Some(Probe::Present(p));
    }

    fn nobody_recorded(&mut self) {
        self.ask.pid = None;
        self.recorded = None;
        self.ask.hermes_spawned = false;
    }

    fn no_claim(&mut self) {
        self.nobody_recorded();
        (self.ask.claim_host, self.ask.claimer_pid, self.claimer) = (None, None, None);
    }

    fn born(&mut self, boot: Boot, after_since: i64) {
        self.ask.birth = Some(Birth { boot, ticks: ticks(after_since) });
    }
}

fn ticks(after_since: i64) -> u64 {
    u64::try_from(SINCE - BOOT + after_since).unwrap() * HERTZ
}

/// A stranger with a readable, unmarked environment, started so many seconds after the claim.
fn process(pid: i64, after_since: i64) -> Process {
    Process {
        pid,
        parent: 1,
        zombie: false,
        stopped: false,
        terminal: false,
        kernel: false,
        ticks: Some(ticks(after_since)),
        command: Some("sleep 600".into()),
        asked: None,
        marks: Marks::Read { task: None, run: None },
        is_unclear: false,
    }
}

fn veiled(pid: i64, after_since: i64) -> Process {
    Process { marks: Marks::Unreadable, ..process(pid, after_since) }
}

fn marked(pid: i64, after_since: i64, task: &str, run: Option<&str>) -> Process {
    let marks = Marks::Read { task: Some(task.into()), run: run.map(Into::into) };
    Process { marks, command: Some("bash -c 'make test'".into()), ..process(pid, after_since) }
}

/// A worker that gave itself a title, as Hermes does where `setproctitle` can be imported.
fn renamed(pid: i64, after_since: i64, run: Option<&str>) -> Process {
    Process { command: Some("hermes".into()), ..marked(pid, after_since, "t_1", run) }
}

fn by_command(pid: i64, after_since: i64) -> Process {
    hermes(veiled(pid, after_since))
}

/// The same with the command line of a worker of Hermes.
fn hermes(p: Process) -> Process {
    Process { command: Some(WORKER.into()), asked: Some("t_1".into()), ..p }
}

fn id(id: &str) -> Boot {
    Boot::Id(id.into())
}

fn within(id: &str, init: u64) -> Boot {
    Boot::Within { id: id.into(), init }
}

fn epoch(at: i64) -> Boot {
    Boot::Epoch(Time(at))
}

type Row = (&'static str, fn(&mut World), Life, &'static str);

fn check(rows: &[Row]) {
    for (name, change, life, because) in rows {
        let mut w = world();
        change(&mut w);
        let look = w.judge();
        assert_eq!(look.life, *life, "{name}: {}", look.because);
        assert!(look.because.contains(because), "{name}: {}", look.because);
        let reboot =
            because.is_empty() || look.because.starts_with("reboot") == because.starts_with("reboot");
        assert!(reboot, "{name}: {}", look.because);
        assert_eq!(look.proof.is_some(), *life == Life::Gone, "{name}");
        assert_eq!(look.worker_pid.is_some(), *life == Life::Alive, "{name}");
    }
}
