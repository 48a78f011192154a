//! One home in which an incident happens, with or without our programs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::gateway::Gateway;
use super::incident::Incident;
use super::sessions::Sessions;
use super::verdict::{Verdict, judge};
use crate::hermes::home::{Home, PATIENCE, key, last_words};
use crate::hermes::provider::Provider;
use crate::support::{Kept, dead_pid, executable, is_gone, program, ran, stranger};

/// Seconds of a minute here. One more than 60, so that no limit of whole minutes falls between two ticks.
const MINUTE: i64 = 61;

/// What the workers of a profile do.
#[derive(Debug, Clone)]
pub enum Act {
    /// Completes its task.
    Works,
    /// Is killed, and says nothing.
    Dies,
    /// Ends with an error, and says nothing.
    Exits,
    /// Ends as this recorded log says, with this exit code.
    Ends(&'static str, u8),
    /// An orchestrator that gives this answer to every card; `SOURCE` stands for the card's task.
    Decides(Value),
    /// The same, once the session of this task is stopped.
    Stops(String, Value),
    /// Blocks its task with this reason, of this kind.
    Blocks(&'static str, &'static str),
    /// Works on and on, as long as the test lasts.
    Lives,
    /// The real worker of Hermes.
    Real,
}

/// A home, its Hermes, and what is known of it beside the board.
pub struct World {
    pub home: Home,
    pub gateway: Gateway,
    /// Our programs run here.
    pub watched: bool,
    /// Its Hermes is 0.22.2.
    is_newer: bool,
    /// The tasks the incident is about.
    pub tasks: Vec<String>,
    /// Processes that have nothing to do with any task.
    pub strangers: Vec<Kept>,
    /// Model providers, where real workers ask.
    pub provider: Option<Provider>,
    /// What was seen that no row tells.
    pub notes: Vec<String>,
    /// What our programs found in their last round that concerns more than one task.
    pub findings: Vec<String>,
    /// What they said of a dispatcher that does nothing, the first time.
    pub wedged: Option<String>,
    /// Nothing ticks.
    pub halted: bool,
    /// There is no other profile to go to.
    pub lone: bool,
    /// Seconds that recorded ends take. Where one tick starts several workers, none may end before the last one began:
    /// Python would lose its exit code.
    pub ends_after: f32,
    /// The minute of the night.
    pub minute: i64,
    /// Transcripts of agents, which grow older with everything else.
    pub transcripts: Vec<PathBuf>,
    /// Agent sessions, and the server they are at.
    pub sessions: Option<Sessions>,
    worker: PathBuf,
    how: &'static str,
    names: &'static str,
    acts: BTreeMap<String, Act>,
    series: u32,
    made: u32,
    others: Vec<Kept>,
}

impl World {
    /// `None` where the real Hermes is to be left out.
    pub fn new(watched: bool, incident: &Incident) -> Option<World> {
        Some(World::of(Home::bare()?, if watched { 1 } else { 2 }, incident))
    }

    /// Hermes 0.22.2 alone.
    #[cfg(feature = "real")]
    pub fn newer(incident: &Incident) -> Option<World> {
        let mut world = World::of(Home::bare_newer()?, 3, incident);
        world.is_newer = true;
        Some(world)
    }

    /// The first life is the one with our programs.
    fn of(home: Home, life: u32, incident: &Incident) -> World {
        let (how, names) = (incident.how, if incident.pids { "pids" } else { "words" });
        let worker = home.path().join("worker");
        let script = format!(
            "#!/bin/sh\n. {}/acts/$HERMES_PROFILE\n",
            home.path().display() // each profile's own part may change meanwhile
        );
        std::fs::create_dir_all(home.path().join("acts")).unwrap();
        std::fs::write(home.path().join("worker.py"), include_str!("worker.py")).unwrap();
        executable(&worker, script);
        let gateway = Gateway::new(&home, how, names, &worker);
        let mut world = World {
            home,
            gateway,
            watched: life == 1,
            is_newer: false,
            tasks: Vec::new(),
            strangers: Vec::new(),
            provider: None,
            notes: Vec::new(),
            findings: Vec::new(),
            wedged: None,
            halted: false,
            minute: 0,
            transcripts: Vec::new(),
            sessions: None,
            lone: false,
            ends_after: 0.4,
            worker,
            how,
            names,
            acts: BTreeMap::new(),
            series: series(incident.id, life),
            made: 0,
            others: Vec::new(),
        };
        for (i, name) in ["luna", "sol", "tuesday"].into_iter().enumerate() {
            world.home.profile(name, &format!("http://127.0.0.1:{}/v1", i + 1));
            world.act(name, Act::Works);
        }
        world
            .act("tuesday", Act::Decides(json!({"task": "SOURCE", "action": "reassign", "assignee": "sol"})));
        world
    }

    /// From now on the workers of a profile do this.
    pub fn act(&mut self, profile: &str, act: Act) {
        let folder = self.home.path();
        let python = self.home.real_worker().with_file_name("python");
        let helper = format!("exec {} {}/worker.py", python.display(), folder.display());
        let text = match &act {
            Act::Works => format!("{helper} works\n"),
            Act::Dies => format!("sleep {}\nkill -9 $$\n", self.ends_after),
            Act::Exits => format!("sleep {}\nexit 1\n", self.ends_after),
            Act::Ends(fixture, code) => {
                let port = ["luna", "sol", "tuesday"].iter().position(|p| *p == profile).unwrap() + 1;
                let log = folder.join(format!("{profile}.log"));
                std::fs::write(&log, last_words(fixture, &format!("http://127.0.0.1:{port}/v1"))).unwrap();
                let begins = !fixture.starts_with("badcfg");
                let begin = if begins { "echo \"Query: work kanban task $HERMES_KANBAN_TASK\"" } else { ":" };
                format!("{begin}\ncat {}\nsleep {}\nexit {code}\n", log.display(), self.ends_after)
            }
            Act::Decides(route) => format!("{helper} decides '{route}'\n"),
            Act::Stops(task, route) => format!(
                "{} --db {} abort {task} || exit 1\n{helper} decides '{route}'\n",
                program("coord"),
                self.home.db.display()
            ),
            Act::Blocks(reason, kind) => format!("{helper} blocks '{reason}' {kind}\n"),
            Act::Lives => "sleep 600\n".to_owned(),
            Act::Real => format!("exec {} \"$@\"\n", self.home.real_worker().display()),
        };
        std::fs::write(folder.join("acts").join(profile), text).unwrap();
        self.acts.insert(profile.to_owned(), act);
    }

    /// Real workers of this profile, which ask a provider in this mode.
    pub fn real(&mut self, profile: &str, mode: &str) {
        let provider = self.provider.get_or_insert_with(|| Provider::new(&self.home));
        self.home.profile(profile, &provider.mode(mode));
        if self.is_newer {
            let config = self.home.path().join(format!("profiles/{profile}/config.yaml"));
            let text = std::fs::read_to_string(&config).unwrap();
            std::fs::write(config, text.replace("max_turns: 6", "max_turns: 6, auto_recovery_cycles: 0"))
                .unwrap();
        }
        self.act(profile, Act::Real);
    }

    /// Another text as the configuration of a profile.
    pub fn configured(&self, profile: &str, text: &str) {
        self.home.configured(profile, &text.replace("KEY", &key()));
    }

    /// Makes a task that the incident is about.
    #[track_caller]
    pub fn task(&mut self, more: Value) -> String {
        let task = self.other(more);
        self.tasks.push(task.clone());
        task
    }

    /// Makes a task beside it.
    #[track_caller]
    pub fn other(&mut self, more: Value) -> String {
        self.made += 1;
        let id = format!("t_{:06x}{:02x}", self.series, self.made);
        let mut all = json!({"id": id, "assignee": "luna"});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(self.gateway.call("create", &all), id.as_str());
        id
    }

    /// A task that Hermes claimed, with this process recorded as its worker.
    #[track_caller]
    pub fn claimed(&mut self, pid: Option<i64>) -> String {
        let task = self.task(json!({}));
        self.call("claim_task", json!([task]));
        if let Some(pid) = pid {
            self.spawned(&task, pid);
        }
        task
    }

    /// Hermes records this process as the worker of a claimed task.
    #[track_caller]
    pub fn spawned(&mut self, task: &str, pid: i64) {
        self.call("_set_worker_pid", json!([task, pid]));
        // 0.22 writes down which process has the pid now. The worker was another one, which had it before.
        if self.is_newer && self.strangers.iter().any(|one| one.pid() == pid) {
            let born = "SET worker_started_at = worker_started_at || '9' WHERE worker_pid";
            self.home.sql(&format!("UPDATE tasks {born} = {pid}; UPDATE task_runs {born} = {pid}"));
        }
    }

    /// The same with a worker that is dead.
    #[track_caller]
    pub fn dead(&mut self) -> String {
        self.claimed(Some(dead_pid()))
    }

    /// A process that has nothing to do with any task, and its pid.
    pub fn stranger(&mut self) -> i64 {
        let one = stranger();
        let pid = one.pid();
        self.strangers.push(one);
        pid
    }

    /// A process that ends with the test.
    pub fn keep(&mut self, other: Kept) -> i64 {
        let pid = other.pid();
        self.others.push(other);
        pid
    }

    /// Whether all processes that end with the test live still.
    pub fn workers_alive(&mut self) -> bool {
        self.others.iter_mut().all(Kept::is_running)
    }

    /// Ends the processes that would else end with the test.
    pub fn end_others(&mut self) {
        self.others.clear();
    }

    /// Calls a function of Hermes' `kanban_db`.
    #[track_caller]
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.gateway.call(name, &arguments)
    }

    /// Kills the gateway and whatever it started, and starts another one.
    pub fn restart(&mut self) {
        let pids = self.home.value(
            "SELECT coalesce(group_concat(worker_pid), '') FROM tasks WHERE status = 'running' AND worker_pid IS NOT NULL",
        );
        self.gateway.kill();
        for pid in pids.split(',').filter_map(|p| p.parse::<i32>().ok()) {
            let command = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let ours = command.windows(18).any(|w| w == b"HERMES_KANBAN_TASK");
            if let (true, Some(pid)) = (ours, rustix::process::Pid::from_raw(pid)) {
                let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
            }
        }
        self.gateway = Gateway::new(&self.home, self.how, self.names, &self.worker);
    }

    /// One of our programs in this home, with opencode's data in its place.
    pub fn command(&self, program: &str) -> std::process::Command {
        let mut command = self.home.command(program);
        command.env("XDG_DATA_HOME", self.opencode());
        command
    }

    /// What was seen that no row tells.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// This much time goes by on the board, in the logs and in our own cache.
    pub fn age(&self, seconds: i64) {
        self.home.age(seconds);
        self.age_transcripts(seconds);
        self.age_sessions(seconds);
        let cache = self.home.path().join("state/watchbill/state.db");
        if cache.exists() {
            // The machine was not started earlier. Cursors and providers are read anew from logs and board, which is what
            // deleting the cache does.
            let conn = rusqlite::Connection::open(cache).unwrap();
            let sql = format!(
                "UPDATE sightings SET since = since - {seconds} WHERE key NOT LIKE 'boot-began:%' AND key NOT LIKE 'slept:%'; DELETE FROM logs; DELETE FROM shared"
            );
            conn.execute_batch(&sql).unwrap();
        }
    }

    /// One tick of Hermes' dispatcher, and all workers that it started to their end.
    fn tick(&mut self) {
        let started = self.gateway.tick(false);
        self.note_second_worker(&started);
        for task in started {
            let row = format!("FROM tasks WHERE id = '{task}'");
            let who = self.home.value(&format!("SELECT assignee {row}"));
            let pid = self.home.value(&format!("SELECT worker_pid {row}"));
            let short = !matches!(self.acts.get(&who), Some(Act::Lives));
            if let (true, Ok(pid)) = (short, pid.parse::<i64>()) {
                await_end(pid);
            }
        }
    }

    /// One round of our programs as timers run them.
    fn round(&mut self) {
        self.findings.clear();
        if self.sessions.is_some() {
            // 65 and 66 are for a store that cannot be used, or is missing.
            let ran = ran(self.command("coord").args(["detect", "--record", "-q"]));
            assert!([0, 1, 65, 66, 75].contains(&ran.code), "{ran:?}");
        }
        for name in ["heal", "synthesize-distress", "route-blocked"] {
            let ran = ran(&mut self.command(name));
            // 1 is for a finding, 75 for a board that is busy.
            assert!([0, 1, 75].contains(&ran.code), "{name}: {ran:?}");
            self.findings.extend(ran.err.lines().map(str::to_owned));
        }
        let wedged = self.findings.iter().find(|f| f.contains("dispatcher-wedged")).cloned();
        self.wedged = self.wedged.take().or(wedged);
    }

    /// What our programs say of a task that they skip, without pids and times; the first that says something.
    pub fn because(&self, task: &str) -> Option<String> {
        for name in ["heal", "synthesize-distress", "route-blocked"] {
            let said =
                std::process::Command::output(self.command(name).args(["-n", "-v", "--json"])).unwrap();
            let Ok(said) = serde_json::from_slice::<Value>(&said.stdout) else { continue };
            for list in ["unknown", "skipped"] {
                let all = said["boards"][0][list].as_array().cloned().unwrap_or_default();
                if let Some(one) = all.iter().find(|s| s["task"] == task) {
                    let because = one["because"].as_str().unwrap().to_owned();
                    let word = if list == "unknown" { "unknown: " } else { "" };
                    return Some(format!("{word}{because}"));
                }
            }
        }
        None
    }

    /// Lives through the incident. Gives the verdict, and the minute from which on it stood.
    pub fn live(&mut self, incident: &Incident) -> (Verdict, i64) {
        (incident.set_up)(self);
        if !self.lone {
            self.home.configure("[profiles.luna]\nfallbacks = [\"sol\"]\n");
        }
        let mut verdict = (judge(self), 0);
        let (began, mut aged) = (Instant::now(), 0);
        let last = incident.minutes / incident.stride;
        for n in 0..=last {
            self.minute = n * incident.stride;
            (incident.each)(self);
            if !self.halted {
                self.tick();
            }
            if self.watched && (incident.stride > 1 || n % 2 == 0) {
                self.round();
            }
            let now = judge(self);
            // The words may still change where it is with a person already.
            let since = if now.is_like(&verdict.0) { verdict.1 } else { self.minute };
            verdict = (now, since);
            if matches!(verdict.0, Verdict::Recovered) && n > 0 && !incident.to_the_end {
                break;
            }
            // What really went by counts too, so that waits end in the same minute on a slow machine.
            let real = i64::try_from(began.elapsed().as_secs()).unwrap();
            let more = ((n + 1) * MINUTE * incident.stride - real - aged).max(0);
            self.age(more);
            aged += more;
        }
        (incident.after)(self);
        verdict
    }
}

/// Where the ids of an incident's tasks begin: equal in every run, for waits are scattered by them, and its own, for
/// processes of other homes must not seem to be its workers.
fn series(id: &str, life: u32) -> u32 {
    id.bytes().fold(life, |hash, byte| (hash.wrapping_mul(16_777_619) ^ u32::from(byte)) & 0xff_ffff)
}

/// Waits until a process has ended, or is a zombie.
fn await_end(pid: i64) {
    let began = Instant::now();
    while !is_gone(pid) {
        assert!(began.elapsed() < PATIENCE, "process {pid} does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}
