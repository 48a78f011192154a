//! Real workers that rename themselves, the gateway and the passes beside it, killed at random.
//!
//! `WATCHBILL_KILLS_MINUTES` says for how long; without it this is left out.

use shared::base::registry::NAMES as WATCHERS;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::super::home::{Home, PATIENCE};
use super::super::provider::Provider;
use super::night::{at_once, command_line, is_renamed};
use super::{Gateway, Workers, events, kill_worker, seen, status, worker};
use crate::crash::say;
use crate::support::{Kept, ran};

const TASKS: usize = 40;
/// Everything soon, and no end by too many kills. Five deaths within 15 minutes are a storm, and as shipped the next try comes
/// after 10 minutes.
const SOON: &str = "[heal]\ngrace = \"1m\"\nlonely_grace = \"10s\"\nbackoff = \"1m\"\nbackoff_max = \"2m\"
storm_probe = \"1m\"\nstorm_probe_max = \"2m\"\nmax_resets = 10\nmax_resumes = 25\n";

/// Numbers that are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A process that looks like a worker of Hermes which renamed itself, but is not one.
pub(super) fn namesake() -> Kept {
    let mut command = std::process::Command::new("bash");
    command.args(["-c", "exec -a hermes sleep 3600"]).env_clear().env("PATH", "/usr/bin:/bin");
    Kept(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn random_kills_beside_a_gateway_whose_workers_rename_themselves() {
    let Ok(minutes) = std::env::var("WATCHBILL_KILLS_MINUTES") else {
        return say(
            "left out without WATCHBILL_KILLS_MINUTES: Hermes 0.19 may split its own board meanwhile",
        );
    };
    let minutes: f64 = minutes.parse().unwrap();
    let Some(mut home) = Home::renaming() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("ok"));
    home.profile("tuesday", &provider.mode("decide"));
    home.configure(SOON);
    let limits = "kanban: {dispatch_interval_seconds: 1, max_in_progress: 4, failure_limit: 4}\n";
    std::fs::write(home.path().join("config.yaml"), limits).unwrap();
    let tasks: Vec<String> = (0..TASKS).map(|_| home.create(&[])).collect();
    let _workers = Workers(tasks.clone());
    let mut strangers: Vec<Kept> = (0..10).map(|_| namesake()).collect();
    let home = &home;
    // The package looks for the arguments in front of the first variable, which must not be one that Hermes sets anew.
    let start = || Gateway::start(home, &[("COLORTERM", "truecolor")]);
    let mut gateway = Some(start());
    let (over, calm) = (AtomicBool::new(false), AtomicBool::new(false));
    let [passes, cut] = [(); 2].map(|()| AtomicU32::new(0));
    let root = home.path().to_str().unwrap().to_owned();
    let (mut killed, mut renamed, mut restarts) = (0, 0, 0);
    let doubles = std::thread::scope(|scope| {
        let glances = scope.spawn(|| {
            let mut found = BTreeSet::new();
            while !over.load(Ordering::Relaxed) {
                at_once(&root, &mut found);
                std::thread::sleep(Duration::from_millis(100));
            }
            found
        });
        // Passes of all watchers, one after the other and some of them cut off.
        let watch = scope.spawn(|| {
            let mut dice = Dice(7);
            for name in WATCHERS.iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let mut command = home.command(name);
                command.stdout(Stdio::null()).stderr(Stdio::null());
                let mut pass = Kept(command.spawn().unwrap());
                if !calm.load(Ordering::Relaxed) && dice.below(3) == 0 {
                    std::thread::sleep(Duration::from_millis(dice.below(60)));
                    pass.kill();
                    cut.fetch_add(1, Ordering::Relaxed);
                } else {
                    let code = pass.0.wait().unwrap().code();
                    assert!(matches!(code, Some(0 | 1 | 75)), "{name}: {code:?}");
                    passes.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(150));
            }
        });
        let (began, mut dice) = (Instant::now(), Dice(11));
        let long = Duration::from_secs_f64(minutes * 60.0);
        let mut again = Instant::now() + Duration::from_secs(20);
        while began.elapsed() < long && !watch.is_finished() {
            std::thread::sleep(Duration::from_millis(500 + dice.below(2_000)));
            let task = &tasks[usize::try_from(dice.below(TASKS as u64)).unwrap()];
            let running = tasks.iter().cycle().skip_while(|t| *t != task).take(TASKS);
            let victim = running
                .into_iter()
                .find(|t| worker(home, t).is_some_and(|pid| crate::support::marked(t).contains(&pid)));
            if let Some(victim) = victim.filter(|_| dice.below(2) == 0) {
                renamed += u32::from(worker(home, victim).is_some_and(|pid| is_renamed(&command_line(pid))));
                kill_worker(home, victim);
                killed += 1;
            }
            if Instant::now() >= again {
                match gateway.take() {
                    Some(dying) => {
                        drop(dying);
                        again = Instant::now() + Duration::from_secs(15);
                    }
                    None => {
                        gateway = Some(start());
                        restarts += 1;
                        again = Instant::now() + Duration::from_secs(45);
                    }
                }
            }
        }
        calm.store(true, Ordering::Relaxed);
        if gateway.is_none() {
            gateway = Some(start());
        }
        let settling = Instant::now();
        let open = || tasks.iter().any(|t| status(home, t) != "done");
        while open() && settling.elapsed() < PATIENCE * 2 && !watch.is_finished() {
            std::thread::sleep(Duration::from_secs(1));
        }
        over.store(true, Ordering::Relaxed);
        watch.join().unwrap();
        glances.join().unwrap()
    });
    drop(gateway.take());
    let runs = seen(home, "SELECT count(*) || '' FROM task_runs");
    say(&format!(
        "{minutes} minutes: {killed} of {runs} workers killed, {renamed} of them after they renamed themselves, {restarts} gateways, {} of {} passes; at once by Hermes alone: {}",
        cut.load(Ordering::Relaxed),
        cut.load(Ordering::Relaxed) + passes.load(Ordering::Relaxed),
        doubles.len()
    ));
    assert!(renamed > 0, "no worker renamed itself");
    assert_eq!(home.value("PRAGMA integrity_check"), "ok");
    let twice =
        "SELECT count(*) FROM (SELECT 1 FROM task_events WHERE kind IN ('crashed', 'reclaimed', 'timed_out')
        AND run_id IS NOT NULL GROUP BY run_id HAVING count(*) > 1)";
    assert_eq!(home.value(twice), "0", "a run ended twice");
    assert!(strangers.iter_mut().all(Kept::is_running), "a stranger was hurt");
    for (task, run) in &doubles {
        let ours = format!(
            "run_id = {run} AND json_extract(payload, '$.by') IS NOT NULL AND kind IN ('reclaimed', 'crashed')"
        );
        assert_eq!(events(home, task, &ours), 0, "two workers of {task} by us: {}", home.way(task));
    }
    let why = |task: &str| ran(home.command("watchbill").args(["why", task])).out;
    let open: Vec<_> = tasks.iter().filter(|t| status(home, t) != "done").collect();
    let open: Vec<_> = open.into_iter().map(|t| home.way(t) + "\n" + &why(t)).collect();
    assert!(open.is_empty(), "not done: {}", open.join("\n"));
    home.accepts(&[&tasks[0], &tasks[TASKS - 1]]);
}
