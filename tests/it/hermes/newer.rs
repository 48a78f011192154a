//! Real workers of Hermes 0.19.0, and of 0.22.2 as a stand-in packages it. What 0.22.2 prints is in the language of the profile, and
//! its dispatcher books ends by exit codes that name no cause; 0.19.0 books them all alike.

use std::os::unix::fs::MetadataExt;

use serde_json::Value;

use super::distress::leaks_nothing;
use super::home::{Home, key};
use super::provider::Provider;
use crate::support::until;

/// How a worker ends: the mode of its provider, the cause, the status, and the seconds after which the provider says that it will
/// answer again.
struct End(&'static str, &'static str, Option<u64>, Option<i64>);

const ENDS: [End; 12] = [
    End("r429", "rate_limit", Some(429), None),
    End("rstated", "rate_limit", Some(429), Some(600)),
    End("quota", "quota", Some(429), None),
    End("r402", "quota", Some(402), None),
    End("r401", "credential", Some(401), None),
    End("r403", "credential", Some(403), None),
    End("r404", "model_missing", Some(404), None),
    End("r503", "overloaded", Some(503), None),
    End("chat", "protocol_violation", None, None),
    // It quotes limits in its answers, in the words that Hermes itself uses.
    End("quoting", "protocol_violation", None, None),
    End("loop", "iteration_budget", None, None),
    // Killed while it waits to ask again.
    End("r529", "overloaded", Some(529), None),
];

/// A version of Hermes.
struct Version {
    home: fn() -> Option<Home>,
    /// As what its dispatcher books a used-up quota, an outage and a refused key.
    booked: [&'static str; 3],
    /// The log of a worker names no endpoint, so that the log of its profile is asked, which has the times of refusals. Else a
    /// refusal was when the worker's log was last written.
    is_dated: bool,
    /// The cause of a worker that used a tool, talked on and left its task open. 0.22 books that it did. 0.19 books that it is gone, and
    /// its log is the same as that of a worker that closed its task by a command: it tells nothing.
    left_open: &'static str,
}

const OLDER: Version = Version {
    home: Home::new,
    booked: ["crashed", "crashed", "crashed"],
    is_dated: false,
    left_open: "worker_gone",
};

const NEWER: Version = Version {
    home: Home::newer,
    booked: ["rate_limited", "rate_limited", "crashed"],
    is_dated: true,
    left_open: "protocol_violation",
};

/// Those that are tried in English as well.
const ENGLISH: [&str; 4] = ["r429", "r401", "quota", "loop"];

/// Those whose work another profile may do: as many as it takes at once.
const MOVED: [&str; 2] = ["de-r401", "en-quota"];

/// A profile that asks this mode, in a language.
fn profile(home: &Home, provider: &Provider, language: &str, mode: &str) -> String {
    let name = format!("{language}-{mode}");
    let (endpoint, key) = (provider.mode(mode), key());
    // What 0.22 does about an outage takes ten minutes; the killed worker is in the midst of it.
    let agent =
        if mode == "r529" { "api_max_retries: 4" } else { "api_max_retries: 2, auto_recovery_cycles: 0" };
    let text = format!(
        "model: {{provider: fake-{mode}, default: m1}}\ndisplay: {{language: {language}}}\nproviders:\n  \
         fake-{mode}: {{base_url: '{endpoint}', api_key: {key}, default_model: m1}}\n\
         agent: {{{agent}, max_turns: 6}}\n"
    );
    home.configured(&name, &text);
    name
}

/// When the provider of a task's profile refused for the last time, as its logs say it.
fn refused_at(home: &Home, version: &Version, profile: &str, task: &str) -> i64 {
    if !version.is_dated {
        let log = home.path().join(format!("kanban/logs/{task}.log"));
        return std::fs::metadata(log).unwrap().mtime();
    }
    let log =
        std::fs::read_to_string(home.path().join(format!("profiles/{profile}/logs/agent.log"))).unwrap();
    let last = log.lines().rfind(|line| line.contains(": API call failed after ")).expect("a refusal");
    home.value(&format!("SELECT strftime('%s', '{}')", &last[..19])).parse().unwrap()
}

/// Our events about the end of a task's attempt, with what they say of it.
#[track_caller]
fn told(home: &Home, task: &str) -> Vec<Value> {
    let all = home.value(&format!(
        "SELECT json_group_array(json(payload)) FROM task_events WHERE json_valid(payload)
           AND '{task}' IN (task_id, json_extract(payload, '$.watchbill.source'))
           AND json_extract(payload, '$.watchbill.cause') IS NOT NULL"
    ));
    serde_json::from_str(&all).unwrap()
}

#[test]
fn every_end_is_told_by_its_true_cause_in_any_language() {
    told_by_their_causes(&NEWER);
}

#[test]
fn every_end_on_0_19_is_told_by_the_same_causes() {
    told_by_their_causes(&OLDER);
}

fn told_by_their_causes(version: &Version) {
    let Some(mut home) = (version.home)() else { return };
    let provider = Provider::new(&home);
    home.profile("tuesday", &provider.mode("ok"));
    home.profile("sol", &provider.mode("ok"));
    home.configure("[distress]\nmax_open_cards = 100\nstorm = \"off\"\n");
    for name in MOVED {
        home.configure(&format!("[profiles.{name}]\nfallbacks = [\"sol\"]\n"));
    }
    let german = ENDS.iter().map(|end| ("de", end));
    let english = ENDS.iter().filter(|end| ENGLISH.contains(&end.0)).map(|end| ("en", end));
    let all: Vec<(&str, &End, String)> = german
        .chain(english)
        .map(|(language, end)| {
            let name = profile(&home, &provider, language, end.0);
            // Given up after one attempt: else it would be tried again twice. What a provider refused is not counted so.
            let once: &[&str] = if end.2.is_none() { &["--max-retries", "1"] } else { &[] };
            (language, end, home.create(&[&["--assignee", &name], once].concat()))
        })
        .collect();
    let of = |language: &str, mode: &str| {
        all.iter().find(|(l, end, _)| *l == language && end.0 == mode).unwrap().2.clone()
    };
    let mut tick = home.run("hermes");
    tick.args(["kanban", "dispatch"]).env("HERMES_KANBAN_TURN_RECOVERY", "0");
    crate::support::ran(&mut tick).ok();
    let killed = of("de", "r529");
    let log = home.path().join("profiles/de-r529/logs/agent.log");
    until("three refusals", || {
        std::fs::read_to_string(&log)
            .is_ok_and(|text| text.matches(": API call failed (attempt ").count() >= 3)
    });
    home.kill_worker(&killed);
    home.await_workers();
    home.age(60);
    // It books their ends, and starts nothing.
    home.hermes(&["dispatch", "--max", "0"]).ok();
    let booked =
        |mode: &str| home.value(&format!("SELECT outcome FROM task_runs WHERE profile = 'de-{mode}'"));
    assert_eq!([booked("quota"), booked("r503"), booked("r401")], version.booked);

    home.round();
    let mut held = Vec::new();
    for (language, End(mode, cause, http, resets), task) in &all {
        let told = told(&home, task);
        let cause = if *mode == "quoting" { version.left_open } else { cause };
        let what = format!("{language} {mode}: {told:?}, {}", home.kinds(task));
        let said = |key: &str| told.iter().map(|e| e["watchbill"][key].clone()).find(|v| !v.is_null());
        assert!(!told.is_empty() && told.iter().all(|e| e["watchbill"]["cause"] == cause), "{what}");
        if http.is_some() {
            // A hold of ready work names its provider, and not what each attempt met.
            assert!(said("http").is_none_or(|v| v.as_u64() == *http), "{what}");
            assert!(what.contains(&provider.host(mode)), "{what}");
        }
        let Some(resets) = resets else { continue };
        let until =
            told.iter().find_map(|e| e["until"].as_i64()).unwrap_or_else(|| panic!("no hold: {what}"));
        assert_eq!(until, refused_at(&home, version, &format!("{language}-{mode}"), task) + resets, "{what}");
        assert_eq!(home.task(task, "status"), "scheduled", "{what}");
        held.push((task, until));
    }
    // What Hermes itself books repeats the provider's words, a key in them included.
    leaks_nothing(&home.value("SELECT group_concat(body, x'0a') FROM task_comments"));
    leaks_nothing(&home.value("SELECT group_concat(coalesce(body, ''), x'0a') FROM tasks"));
    let ours = "json_valid(payload) AND json_extract(payload, '$.by') IS NOT NULL";
    leaks_nothing(&home.value(&format!("SELECT group_concat(payload, x'0a') FROM task_events WHERE {ours}")));
    for name in MOVED {
        let (language, mode) = name.split_once('-').unwrap();
        let task = of(language, mode);
        assert_eq!(home.task(&task, "assignee"), "sol", "{name}: {}", home.kinds(&task));
    }
    home.hermes(&["dispatch"]).ok();
    for name in MOVED {
        let (language, mode) = name.split_once('-').unwrap();
        home.await_status(&of(language, mode), "done");
    }
    let list = home.ask(&["list"]);
    let list = list.as_array().unwrap();
    for (.., task) in &all {
        let status = home.task(task, "status");
        assert!(list.iter().any(|t| t["id"] == **task && t["status"] == *status), "{task}");
    }
    a_short_limit_is_a_short_hold(&home, version, &provider);
    let db = home.path().join("kanban.db").display().to_string();
    for (task, until) in held {
        for (now, status) in [(until - 5, "scheduled"), (until + 5, "ready")] {
            for program in ["heal", "synthesize-distress", "route-blocked"] {
                let ran =
                    crate::support::ran(home.command(program).args(["--db", &db, "--now", &now.to_string()]));
                assert!([0, 1].contains(&ran.code), "{program}: {ran:?}");
            }
            assert_eq!(home.task(task, "status"), status, "{}", home.kinds(task));
        }
    }
    assert!(home.ask(&["diagnostics"]).is_array());
    assert!(home.ask(&["dispatch", "--dry-run"])["spawned"].is_array());
    assert_eq!(home.value("PRAGMA integrity_check"), "ok");
}

/// A limit of 20 seconds holds its task for 20 seconds: looked at by passes whose time is given, since a busy machine takes longer
/// than that to book the end.
fn a_short_limit_is_a_short_hold(home: &Home, version: &Version, provider: &Provider) {
    let name = profile(home, provider, "de", "rsoon");
    let task = home.create(&["--assignee", &name]);
    let mut tick = home.run("hermes");
    tick.args(["kanban", "dispatch"]).env("HERMES_KANBAN_TURN_RECOVERY", "0");
    crate::support::ran(&mut tick).ok();
    home.await_end(home.task(&task, "worker_pid").parse().unwrap());
    let mut tick = home.run("hermes");
    tick.args(["kanban", "dispatch", "--max", "0"]).env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "0");
    crate::support::ran(&mut tick).ok();
    let refused = refused_at(home, version, &name, &task);
    let db = home.path().join("kanban.db").display().to_string();
    for (after, status) in [(5, "scheduled"), (15, "scheduled"), (25, "ready")] {
        for program in ["heal", "synthesize-distress", "route-blocked"] {
            let at = (refused + after).to_string();
            let ran = crate::support::ran(home.command(program).args(["--db", &db, "--now", &at]));
            assert!([0, 1].contains(&ran.code), "{program}: {ran:?}");
        }
        assert_eq!(home.task(&task, "status"), status, "{after} s: {}", home.kinds(&task));
        let until = told(home, &task).iter().find_map(|e| e["until"].as_i64());
        assert_eq!(until, Some(refused + 20), "{}", home.kinds(&task));
    }
}
