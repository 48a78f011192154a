//! Tasks of all kinds beside a real gateway, and the faults of a night one after the other.
//!
//! `WATCHBILL_GATEWAY_MINUTES` says how long it lasts; without it this is left out. The faults keep their places in it. From 25 minutes on the
//! waits of the defaults fit into it, and then all work but what the last faults hit must be done.
//! `WATCHBILL_GATEWAY_NEWER=1` has it beside a gateway of Hermes 0.22.2.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::home::Home;
use super::super::provider::Provider;
use super::kills::namesake;
use super::{Gateway, Workers, events, kill_worker, round, seen, status, worker};
use crate::crash::say;
use crate::support::{Ran, ran};
use crate::tools;

/// From so many minutes on all waits of the defaults fit.
const WHOLE: f64 = 25.0;
/// From so many minutes on a person has been asked about what nobody can finish.
const ASKED: f64 = 30.0;
/// How often the test looks whether two workers of one task live.
const GLANCE: Duration = Duration::from_millis(250);

/// What happens at one moment of the night.
#[derive(Clone, Copy)]
enum Happens {
    /// Tasks of a kind for a profile.
    Work(&'static str, &'static str, usize),
    /// A mode of the providers behaves as another one from now on.
    Turn(&'static str, &'static str),
    /// Workers of the tasks of this kind are killed, each so often.
    Kill(&'static str, u32),
    /// Hermes writes a hint of its own into the configuration of a profile.
    Hint(&'static str),
    /// A person mends the key of a profile.
    Key(&'static str),
    /// A person blocks the tasks of a kind, or lifts that.
    Block(&'static str),
    Unblock(&'static str),
    /// The gateway is stopped between two ticks, goes on, is killed, is started.
    Stop,
    Continue,
    GatewayDies,
    GatewayStarts,
}

use Happens::*;

/// The providers: `ok` is the one of luna, nova, vega, gossip, spinner, deaf and of the orchestrator, `reports` that of sol.
const NIGHT: [(f64, Happens); 46] = [
    (0.0, Work("plain", "luna", 2)),
    (0.0, Work("killed-once", "luna", 1)),
    (0.0, Work("killed-twice", "sol", 1)),
    (0.0, Kill("killed-once", 1)),
    (0.0, Kill("killed-twice", 2)),
    (0.5, Work("talks", "gossip", 2)),
    (0.5, Work("loops", "spinner", 2)),
    (1.0, Work("unanswered", "deaf", 1)),
    (1.0, Work("blocked-by-hand", "nova", 1)),
    (1.0, Block("blocked-by-hand")),
    (1.5, Work("plain", "nova", 2)),
    (3.0, Turn("ok", "rsoon")),
    (3.0, Turn("decide", "rsoon")),
    (3.0, Work("limited", "luna", 3)),
    (3.0, Work("limited", "nova", 3)),
    (6.3, Turn("ok", "ok")),
    (6.3, Turn("decide", "decide")),
    (6.5, Unblock("blocked-by-hand")),
    (7.0, Turn("reports", "r401")),
    (7.0, Work("refused-key", "sol", 4)),
    (10.0, Turn("reports", "ok")),
    (10.0, Key("sol")),
    (10.5, Work("healthy-slow", "vega", 2)),
    (11.2, Hint("vega")),
    (11.2, Hint("luna")),
    (12.5, Stop),
    (12.5, Work("stopped", "luna", 2)),
    (12.5, Work("killed-while-stopped", "vega", 1)),
    (14.5, Continue),
    (14.6, Kill("killed-while-stopped", 1)),
    (15.0, Work("orphaned", "vega", 2)),
    (15.0, Work("plain", "luna", 1)),
    (16.5, GatewayDies),
    (16.5, Kill("orphaned", 1)),
    (16.9, GatewayStarts),
    (18.0, Work("left", "vega", 2)),
    (19.0, GatewayDies),
    (19.0, Kill("left", 1)),
    (19.1, Work("waiting", "luna", 2)),
    // What waited needs its time before the next fault, also on a busy machine.
    (23.0, GatewayStarts),
    (24.3, Turn("ok", "quota")),
    (24.3, Work("out-of-quota", "luna", 4)),
    (25.6, Turn("reports", "r503")),
    (25.6, Work("overloaded", "sol", 4)),
    (27.6, Turn("ok", "ok")),
    (27.7, Turn("reports", "ok")),
];

/// Kinds of which a person hears nothing, in no way.
const HEALTHY: [&str; 4] = ["plain", "unanswered", "healthy-slow", "waiting"];
/// Kinds that are done at the end of a whole night. What the last faults hit may still wait for the end of its hold.
const DONE: [&str; 12] = [
    "plain",
    "killed-once",
    "killed-twice",
    "limited",
    "refused-key",
    "healthy-slow",
    "stopped",
    "killed-while-stopped",
    "orphaned",
    "left",
    "waiting",
    "blocked-by-hand",
];

/// Kinds that nobody can finish: their workers talk and never end their task, or use up their iterations.
const HOPELESS: [&str; 2] = ["talks", "loops"];

struct Night<'a> {
    home: &'a Home,
    provider: &'a Provider,
    gateway: Option<Gateway>,
    tasks: Vec<(&'static str, String)>,
    /// How often the workers of a task are still to be killed, and the worker that was killed last.
    kills: BTreeMap<String, (u32, i64)>,
    said: BTreeMap<String, u32>,
    passes: u32,
}

impl Night<'_> {
    fn of(&self, kind: &str) -> Vec<String> {
        self.tasks.iter().filter(|(k, _)| *k == kind).map(|(_, task)| task.clone()).collect()
    }

    fn happens(&mut self, what: Happens) {
        match what {
            Work(kind, profile, n) => {
                for _ in 0..n {
                    let task = self.home.hand(&["add", kind, "--assignee", profile]).ok().trim().to_owned();
                    self.tasks.push((kind, task));
                }
            }
            Turn(mode, into) => self.provider.turn(mode, into),
            Kill(kind, times) => self.kills.extend(self.of(kind).into_iter().map(|t| (t, (times, 0)))),
            Hint(profile) => {
                let config = self.home.path().join(format!("profiles/{profile}/config.yaml"));
                let text = std::fs::read_to_string(&config).unwrap();
                let hint = "onboarding: {seen: {tool_progress_prompt: true}}\n";
                std::fs::write(config, text + hint).unwrap();
            }
            Key(profile) => {
                let config = self.home.path().join(format!("profiles/{profile}/config.yaml"));
                let text = std::fs::read_to_string(&config).unwrap();
                std::fs::write(config, text.replace("api_key: sk-", "api_key: sk-new-")).unwrap();
            }
            Block(kind) => self.of(kind).iter().for_each(|t| {
                self.home.hand(&["block", t, "not before noon", "--kind", "needs_input"]).ok();
            }),
            Unblock(kind) => self.of(kind).iter().for_each(|t| {
                assert_eq!(status(self.home, t), "blocked", "{}", self.home.kinds(t));
                self.home.hand(&["unblock", t]).ok();
            }),
            Stop => self.gateway.as_ref().unwrap().signal(rustix::process::Signal::STOP),
            Continue => self.gateway.as_ref().unwrap().signal(rustix::process::Signal::CONT),
            GatewayDies => drop(self.gateway.take()),
            GatewayStarts => self.gateway = Some(Gateway::start(self.home, &[])),
        }
    }

    /// Kills the next worker of each task that is to lose one.
    fn kill(&mut self) {
        let home = self.home;
        self.kills.retain(|task, (left, last)| {
            if let Some(pid) = worker(home, task).filter(|pid| pid != last) {
                kill_worker(home, task);
                (*left, *last) = (*left - 1, pid);
            }
            *left > 0
        });
    }

    /// One pass of each watcher, with `budget-check` in every fourth round.
    fn pass(&mut self) {
        let mut all = round(self.home);
        if self.passes % 4 == 3 {
            all.push(ran(self.home.command("budget-check").args(["--comment", "--distress"])));
        }
        self.passes += 1;
        for said in all {
            assert!([0, 1, 75].contains(&said.code), "{said:?}");
            for line in said.err.lines() {
                *self.said.entry(line.to_owned()).or_default() += 1;
            }
        }
    }

    /// Cards about one task.
    fn cards(&self, task: &str) -> i64 {
        let about = format!("SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED] {task} %'");
        self.home.value(&about).parse().unwrap()
    }

    fn runs(&self, task: &str) -> i64 {
        self.home.value(&format!("SELECT count(*) FROM task_runs WHERE task_id = '{task}'")).parse().unwrap()
    }

    /// Fails where work that nobody can finish goes on and on.
    fn is_bounded(&self, task: &str) {
        let (runs, cards) = (self.runs(task), self.cards(task));
        // `distress.max_cards` a day.
        assert!(cards <= 3, "{cards} cards: {}", self.home.way(task));
        // Hermes gives up after its third or fourth, unless one of them ended otherwise, as where the gateway was restarted under it: then it
        // counts anew. So it does where a watcher requeues the task: a card's decision, or one of `heal.max_resets`.
        let free = "json_extract(payload, '$.by') IS NOT NULL AND kind IN ('unblocked', 'promoted')";
        let freed = events(self.home, task, free);
        assert!(freed <= cards + 3, "set free {freed} times: {}", self.home.way(task));
        let anew = freed + events(self.home, task, "kind IN ('crashed', 'reclaimed')");
        assert!(runs <= 4 * (1 + anew), "{runs} runs, begun anew {anew} times: {}", self.home.way(task));
    }

    /// What doctor says of the dispatcher.
    fn dispatcher(&self) -> String {
        let Ran { out, .. } = tools::run(self.home, &["doctor", "--json"]);
        let doctor: Value = serde_json::from_str(&out).unwrap();
        let all = doctor["findings"].as_array().unwrap().iter();
        let about = all.filter(|f| f["id"].as_str().unwrap().starts_with("dispatcher-"));
        about.map(|f| format!("{} {}", f["id"].as_str().unwrap(), f["severity"].as_str().unwrap())).collect()
    }
}

/// How a process was started, or what it calls itself since; empty once it is gone.
pub(super) fn command_line(pid: i64) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}

/// Whether a worker calls itself as Hermes does where `setproctitle` is there: by its name, and nothing else.
pub(super) fn is_renamed(command: &str) -> bool {
    command.trim_end_matches([' ', '\0']) == "hermes"
}

/// Workers of this home that live, by task and run.
fn workers(home: &str) -> BTreeSet<(String, String)> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|e| e.file_name().to_str()?.parse::<i64>().ok());
    let of = |pid: i64| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let value = |name: &str| {
            let found = environ.split(|b| *b == 0).find_map(|v| v.strip_prefix(name.as_bytes()));
            found.map(|v| String::from_utf8_lossy(v).into_owned())
        };
        let is_ours = value("HERMES_HOME=").is_some_and(|h| h.starts_with(home));
        // Not what a worker's tools start.
        let command = command_line(pid);
        let is_worker = command.contains("kanban task ") || is_renamed(&command);
        let task = value("HERMES_KANBAN_TASK=").filter(|_| is_ours && is_worker)?;
        Some((task, value("HERMES_KANBAN_RUN_ID=")?))
    };
    pids.filter_map(of).collect()
}

/// Tasks of which two attempts lived at once, with the older one.
pub(super) fn at_once(home: &str, found: &mut BTreeSet<(String, String)>) {
    let all = workers(home);
    for (task, run) in &all {
        let n = |run: &str| run.parse::<i64>().unwrap_or(0);
        if all.iter().any(|(t, other)| t == task && n(other) > n(run)) {
            found.insert((task.clone(), run.clone()));
        }
    }
}

#[test]
fn a_night_of_faults_beside_a_gateway() {
    let Ok(minutes) = std::env::var("WATCHBILL_GATEWAY_MINUTES") else {
        return say(
            "left out without WATCHBILL_GATEWAY_MINUTES: Hermes 0.19 may split its own board meanwhile",
        );
    };
    let minutes: f64 = minutes.parse().unwrap();
    let is_newer = std::env::var("WATCHBILL_GATEWAY_NEWER").is_ok_and(|v| v == "1");
    let Some(mut home) = (if is_newer { Home::newer() } else { Home::new() }) else { return };
    let provider = Provider::new(&home);
    provider.turn("reports", "ok");
    for (profile, mode) in [
        ("luna", "ok"),
        ("nova", "ok"),
        ("vega", "slow"),
        ("gossip", "chat"),
        ("spinner", "loop"),
        ("deaf", "deaf"),
    ] {
        home.profile(profile, &provider.beside(mode, "ok"));
    }
    home.profile("sol", &provider.mode("reports"));
    home.profile("tuesday", &provider.beside("decide", "ok"));
    home.configure("[profiles.luna]\nfallbacks = [\"sol\"]\n[profiles.sol]\nfallbacks = [\"nova\"]\n");
    let ticks = (minutes / 6.0).clamp(1.0, 5.0);
    std::fs::write(
        home.path().join("config.yaml"),
        format!("kanban: {{dispatch_interval_seconds: {ticks}, max_in_progress: 4}}\n"),
    )
    .unwrap();
    // Processes that have nothing to do with any of it.
    let mut strangers = [(); 3].map(|()| namesake());
    let part = Duration::from_secs_f64(minutes * 60.0 / 30.0);
    let rounds = (part / 2).clamp(Duration::from_secs(4), Duration::from_secs(25));
    let home = &home;
    let gateway = Some(Gateway::start(home, &[]));
    let mut night = Night {
        home,
        provider: &provider,
        gateway,
        tasks: Vec::new(),
        kills: BTreeMap::new(),
        said: BTreeMap::new(),
        passes: 0,
    };
    let (over, root) = (AtomicBool::new(false), home.path().to_str().unwrap().to_owned());
    let began = Instant::now();
    let mut dispatcher = BTreeMap::new();
    let doubles = std::thread::scope(|scope| {
        let glances = scope.spawn(|| {
            let mut found = BTreeSet::new();
            while !over.load(Ordering::Relaxed) {
                at_once(&root, &mut found);
                std::thread::sleep(GLANCE);
            }
            found
        });
        let (mut to_come, mut last) = (NIGHT.iter().peekable(), Instant::now());
        while began.elapsed() < part * 30 {
            while let Some((_, what)) = to_come.next_if(|(at, _)| began.elapsed() >= part.mul_f64(*at)) {
                // As it stands before that.
                let name = match what {
                    Continue => Some("stopped"),
                    GatewayStarts => Some("killed"),
                    _ => None,
                };
                name.map(|name| dispatcher.insert(name, night.dispatcher()));
                night.happens(*what);
            }
            night.kill();
            if last.elapsed() >= rounds {
                last = Instant::now();
                night.pass();
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        over.store(true, Ordering::Relaxed);
        glances.join().unwrap()
    });
    let _workers = Workers(night.tasks.iter().map(|(_, task)| task.clone()).collect());
    let mut last: Vec<Ran> = night.gateway.iter().map(|_| tools::run(home, &["report"])).collect();
    drop(night.gateway.take());

    say(&format!(
        "{minutes} minutes: {} tasks, {} runs, {} cards, {} rounds; dispatcher: {dispatcher:?}",
        night.tasks.len(),
        seen(home, "SELECT count(*) || '' FROM task_runs"),
        seen(home, "SELECT count(*) || '' FROM tasks WHERE title LIKE '[BLOCKED]%'"),
        night.passes
    ));
    for (kind, task) in &night.tasks {
        say(&format!(
            "  {kind} {task}: {} runs, {} cards, {} {}: {}",
            night.runs(task),
            night.cards(task),
            status(home, task),
            home.task(task, "assignee"),
            home.way(task)
        ));
    }
    night.said.iter().for_each(|(line, n)| say(&format!("  {n} times: {line}")));
    last.drain(..).for_each(|report| say(&report.out));

    // The board is whole, and so is everything that was put on it.
    assert_eq!(home.value("PRAGMA integrity_check"), "ok");
    let twice =
        "SELECT count(*) FROM (SELECT 1 FROM task_events WHERE kind IN ('crashed', 'reclaimed', 'timed_out')
        AND run_id IS NOT NULL GROUP BY run_id HAVING count(*) > 1)";
    assert_eq!(home.value(twice), "0", "a run ended twice");
    for (kind, task) in &night.tasks {
        assert_eq!(
            home.value(&format!("SELECT count(*) FROM tasks WHERE id = '{task}'")),
            "1",
            "{kind} {task}"
        );
    }
    assert!(strangers.iter_mut().all(crate::support::Kept::is_running), "a stranger was hurt");
    // Hermes starts the next attempt beside one that booked its own end and still lives; Watchbill requeues no task so.
    for (task, run) in &doubles {
        let ours = format!(
            "run_id = {run} AND json_extract(payload, '$.by') IS NOT NULL AND kind IN ('reclaimed', 'crashed')"
        );
        assert_eq!(events(home, task, &ours), 0, "two workers of {task} by us: {}", home.way(task));
    }
    say(&format!("  two attempts at once by Hermes alone: {doubles:?}"));
    // No false notice, and no advice that does harm.
    let texts = "SELECT group_concat(body, x'0a') FROM (SELECT body FROM task_comments UNION ALL SELECT body FROM tasks)";
    let texts = seen(home, texts);
    for (line, n) in night.said.iter().map(|(l, n)| (l.as_str(), *n)).chain(texts.lines().map(|l| (l, 1))) {
        for word in ["kill -9", "kill ", "configuration of", "was refused, and"] {
            assert!(!line.contains(word), "{n} times: {line}");
        }
        assert!(n < 8, "said {n} times: {line}");
    }
    for task in HEALTHY.iter().flat_map(|kind| night.of(kind)) {
        assert!(!night.said.keys().any(|line| line.contains(&task)), "told of {task}: {:?}", night.said);
        // Holds and moves of ready work, and what its own provider answered, are no notices.
        let ours = "json_extract(payload, '$.by') IN ('heal', 'synthesize-distress', 'route-blocked', 'budget-check')
            AND kind NOT IN ('scheduled', 'unblocked', 'assigned', 'watchbill_signal', 'watchbill_detected')";
        assert_eq!(events(home, &task, ours), 0, "{}", home.way(&task));
        let cards = format!("SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED] {task} %'");
        assert_eq!(home.value(&cards), "0", "a card about {task}");
    }
    assert_eq!(home.value("SELECT count(*) FROM task_events WHERE payload LIKE '%resume-cap%'"), "0");
    for task in HOPELESS.iter().flat_map(|kind| night.of(kind)) {
        night.is_bounded(&task);
        if minutes >= ASKED {
            // Its cards were closed without a decision, `routing.max_asks` of them: a person is asked, and nothing else goes on.
            let asked = events(home, &task, "kind = 'blocked' AND json_extract(payload, '$.by') IS NOT NULL");
            assert_eq!((status(home, &task).as_str(), asked), ("blocked", 1), "{}", home.way(&task));
            let open = format!("title LIKE '[BLOCKED] {task} %' AND status NOT IN ('done', 'archived')");
            assert_eq!(
                home.value(&format!("SELECT count(*) FROM tasks WHERE {open}")),
                "0",
                "a card of {task}"
            );
        }
    }
    let unanswered = night.of("unanswered");
    for task in &unanswered {
        assert_eq!(
            home.value(&format!("SELECT count(*) FROM task_runs WHERE task_id = '{task}'")),
            "1",
            "{}",
            home.way(task)
        );
    }
    assert!(dispatcher["stopped"].contains("dispatcher-stopped"), "{dispatcher:?}");
    if minutes >= WHOLE {
        assert!(!dispatcher["killed"].contains("dispatcher-alive ok"), "{dispatcher:?}");
        let open = |task: &String| status(home, task) != "done";
        let left: Vec<_> =
            DONE.iter().flat_map(|kind| night.of(kind)).filter(open).map(|t| (home.way(&t), t)).collect();
        assert!(left.is_empty(), "not done: {left:#?}");
    }
}
