//! What a person is told of a bad night on a board of the real Hermes, and of its end.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::home::Home;
use super::provider::Provider;
use crate::support::{Ran, now, ran};
use crate::tools::{self, CRON};

/// Rounds of two minutes: five hours.
const ROUNDS: i64 = 150;

/// A night whose clock is ahead of that of the real Hermes.
struct Night {
    home: Home,
    /// When it began.
    began: i64,
    /// Seconds since then.
    at: i64,
}

impl Night {
    /// Runs `watchbill` at this time.
    fn run(&self, args: &[&str]) -> Ran {
        let (at, db) = ((self.began + self.at).to_string(), self.home.db.display().to_string());
        ran(&mut tools::watchbill(&self.home, &[args, &["--now", &at, "--db", &db]].concat()))
    }

    fn metrics(&self) -> PathBuf {
        self.home.path().join("state/watchbill/metrics")
    }

    /// A round of all watchers and of those who tell, two minutes after the one before. Gives what was printed.
    #[track_caller]
    fn round(&mut self) -> String {
        self.at += 120;
        let passed = self.run(&["run", "-q", "--metrics", self.metrics().to_str().unwrap()]);
        assert!(matches!(passed.code, 0 | 1), "{passed:?}");
        let record = self.metrics().join("notify.prom");
        let told = self.run(&["notify", "--metrics", record.to_str().unwrap()]).ok();
        told + &passed.err
    }

    /// The messages that were sent until now.
    fn messages(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.home.path().join("got")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// How often each key stands in a list of all messages.
fn told(messages: &[Value], list: &str) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for one in messages.iter().flat_map(|m| m[list].as_array().unwrap()) {
        *all.entry(one["key"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    all
}

#[test]
fn the_causes_of_a_bad_night_are_told_once_and_so_is_their_end() {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    let got = home.path().join("got");
    home.configure(&format!("[notify.own]\ncommand = ['sh', '-c', 'cat >> {}']\n", got.display()));
    fs::write(home.path().join("crontab"), format!("{CRON}*/2 * * * * watchbill notify\n")).unwrap();
    for (profile, mode) in [("luna", "quota"), ("juno", "r401"), ("sol", "ok"), ("tuesday", "slow")] {
        home.profile(profile, &provider.mode(mode));
    }
    let mut night = Night { home, began: now(), at: 0 };
    assert_eq!(night.round(), "", "a board on which nothing is wrong is no message");

    let home = &night.home;
    let quota = [(); 3].map(|()| home.create(&["--assignee", "luna"]));
    let key = [(); 2].map(|()| home.create(&["--assignee", "juno"]));
    home.hermes(&["dispatch"]).ok();
    home.await_workers();
    home.age(300);
    let decision = home.create(&["--assignee", "sol"]);
    home.hermes(&["block", &decision, "MIT or Apache?"]).ok();
    let ready = [(); 3].map(|()| home.create(&["--assignee", "sol"]));
    // Since then nothing dispatches.
    home.age(3_600);
    assert!(night.round().starts_with("own: sent: ") && night.messages().len() == 1);
    let first = night.messages().remove(0);
    let text = first["text"].as_str().unwrap().to_owned();
    for needle in [
        "3 ready tasks wait: no dispatcher holds its lock",
        "$ hermes gateway run",
        "a quota or the money at its provider was used up; 3 tasks",
        "juno: its key was refused, or there was none; 2 tasks",
        "MIT or Apache?",
    ] {
        assert!(text.contains(needle), "{needle:?} in {text}");
    }
    let commands: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("$ ")).collect();
    assert_eq!((commands.len(), commands[0]), (4, "hermes gateway run"), "{text}");
    let commands = &commands[1..];
    assert!(commands[..2].iter().all(|c| c.contains(" reassign ") && c.contains(" sol && ")), "{text}");
    assert!(commands[2].ends_with(&format!("hermes kanban unblock {decision}")), "{text}");
    assert!(commands[2].contains(&format!("hermes kanban comment {decision} 'YOUR ANSWER' && ")), "{text}");

    // The same by every way to ask.
    let status = night.run(&["status"]).ok();
    assert!(status.lines().next().unwrap().contains(": 4 things need you; 3 ready"), "{status}");
    let check = night.run(&["check"]);
    assert!(check.code == 2 && check.out.contains(" needs_person=6;"), "{check:?}");
    let page = fs::read_to_string(night.home.path().join("state/watchbill/watchbill.html")).unwrap();
    assert!(page.contains("4 things need you") && page.contains("juno: its key was refused"), "{page}");

    for _ in 1..ROUNDS {
        night.round();
    }
    let messages = night.messages();
    let began = told(&messages, "began");
    assert!(began.values().all(|n| *n == 1), "{began:?}");
    assert_eq!(told(&messages, "ended"), BTreeMap::new(), "nothing was mended");
    let status = night.run(&["status"]).ok();
    assert!(!status.contains(" luna && "), "its quota is used up: {status}");

    // In the morning: new keys, a new quota, an answer, a dispatcher.
    provider.turn("quota", "ok");
    provider.turn("r401", "ok");
    // The real Hermes lives in the present: the whole night lies before it.
    night.home.age(ROUNDS * 120 + 3_600);
    (night.began, night.at) = (now(), 0);
    night.home.hermes(&["comment", &decision, "MIT"]).ok();
    for task in quota.iter().chain(&key).chain([&decision]) {
        night.home.hermes(&["unblock", task]).ok();
    }
    let all: Vec<&String> = quota.iter().chain(&key).chain(&ready).chain([&decision]).collect();
    let is_done = |home: &Home| all.iter().all(|task| home.task(task, "status") == "done");
    for _ in 0..20 {
        night.home.hermes(&["dispatch"]).ok();
        night.home.await_workers();
        night.round();
        if is_done(&night.home) {
            break;
        }
    }
    for task in &all {
        assert_eq!(night.home.task(task, "status"), "done", "{}", night.home.kinds(task));
    }
    let before = messages.len();
    for _ in 0..20 {
        night.round();
    }
    let after = night.messages().split_off(before);
    assert_eq!(after.last().map(|m| m["kind"].clone()), Some("well".into()), "{after:?}");
    assert_eq!(told(&night.messages(), "ended"), began, "each has its end, once");
    let before = night.messages().len();
    for _ in 0..100 {
        assert_eq!(night.round(), "");
    }
    assert_eq!(night.messages().len(), before);
    assert!(night.run(&["status"]).ok().contains(": nothing needs you"));
}
