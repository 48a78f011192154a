//! Every way a worker ends, and the card it gets.

use std::process::Stdio;

use super::super::home::{Home, QUICK, key};
use super::super::provider::Provider;
use super::leaks_nothing;
use crate::support::Kept;

/// How a worker ends: the name of its profile, which is the mode of its provider, after `goal-` where it works in goal
/// mode; the blocker type of its card; and words of its log that the card quotes.
struct End(&'static str, Option<&'static str>, &'static str);

const LIMIT: Option<&str> = Some("rate_limited");
const KEY: Option<&str> = Some("credential_failure");
const ENVIRONMENT: Option<&str> = Some("env_blocker");
const BUDGET: Option<&str> = Some("iteration_budget");

const ENDS: [End; 17] = [
    End("r429", LIMIT, "Rate limit reached for requests"),
    End("quota", LIMIT, "You exceeded your current quota"),
    End("r402", LIMIT, "Insufficient credits"),
    End("r503", LIMIT, "Service temporarily unavailable"),
    End("r529", LIMIT, "Overloaded"),
    End("r401", KEY, "Invalid API key provided"),
    End("r403", KEY, "Access denied"),
    End("nokey", KEY, "empty API key"),
    End("r404", ENVIRONMENT, "does not exist"),
    End("badcfg", ENVIRONMENT, "isn't configured yet"),
    End("chat", ENVIRONMENT, "tried to exit without"),
    // An answer that reads like a failure, where answers stand in the same box as failures.
    End("reports", ENVIRONMENT, "tried to exit without"),
    End("loop", BUDGET, "Iteration budget"),
    End("goal-r429", LIMIT, "Rate limit reached for requests"),
    // Its prose is full of limits and errors, and nothing says what it died of: heal tries it again first.
    End("quoting", None, ""),
    // A worker's own block waits a quarter of an hour for the operator.
    End("block", None, ""),
    End("fallback", None, ""),
];

fn profiles(home: &Home, provider: &Provider) {
    for End(name, ..) in &ENDS {
        let mode = name.trim_start_matches("goal-");
        let known = !["nokey", "badcfg", "fallback"].contains(&mode);
        home.profile(name, &provider.mode(if known { mode } else { "ok" }));
    }
    let unstreamed = home.path().join("profiles/reports/config.yaml");
    let text = std::fs::read_to_string(&unstreamed).unwrap() + "display: {streaming: false}\n";
    home.configured("reports", &text);
    home.configured("nokey", &format!("model: {{provider: openrouter, default: m1}}\n{QUICK}"));
    home.configured("badcfg", "model: [provider: fake\n");
    let to = |mode| format!("{{base_url: '{}', api_key: {}, default_model: m1}}", provider.mode(mode), key());
    home.configured(
        "fallback",
        &format!(
            "model: {{provider: fake, default: m1}}\nproviders:\n  fake: {}\n  other: {}\n\
             fallback_providers: [{{provider: other, model: m1}}]\n{QUICK}",
            to("r429"),
            to("ok")
        ),
    );
    home.profile("tuesday", &provider.mode("orchestrator"));
    home.profile("sol", &provider.mode("ok"));
}

/// A home in which every task of [`ENDS`] has been started once, and its worker has ended. Where many of its processes begin and end at
/// once, Hermes 0.19 may split its own board, and loses what it wrote: such a home is made anew.
fn started() -> Option<(Home, Provider, Vec<String>)> {
    for _ in 0..3 {
        let (home, provider, tasks) = start()?;
        home.await_workers();
        let lost = tasks.iter().find(|task| !home.way(task).starts_with("created claimed spawned"));
        let Some(lost) = lost else { return Some((home, provider, tasks)) };
        eprintln!("Hermes lost what it wrote of {lost}: {}", home.kinds(lost));
    }
    panic!("Hermes lost what it wrote three times");
}

fn start() -> Option<(Home, Provider, Vec<String>)> {
    let mut home = Home::new()?;
    let provider = Provider::new(&home);
    profiles(&home, &provider);
    // All stand behind one endpoint here, and all cards are looked at before any is taken.
    home.configure("[distress]\nmax_open_cards = 100\nstorm = \"off\"\n");
    let make = |End(name, ..): &End| {
        let goal: &[&str] =
            if name.starts_with("goal-") { &["--goal", "--goal-max-turns", "2"] } else { &[] };
        home.create(&[&["--assignee", *name], goal].concat())
    };
    let tasks: Vec<String> = ENDS.iter().map(make).collect();
    home.tick(&[]);
    Some((home, provider, tasks))
}

fn of<'a>(tasks: &'a [String], name: &str) -> &'a str {
    &tasks[ENDS.iter().position(|e| e.0 == name).unwrap()]
}

/// Each task has its card or none, and Hermes takes all of it as its own. Gives the cards.
#[track_caller]
fn check(home: &Home, tasks: &[String]) -> Vec<String> {
    let mut cards = Vec::new();
    for (End(name, blocker, words), task) in ENDS.iter().zip(tasks) {
        let Some(blocker) = blocker else {
            let cards = home.cards(task);
            assert!(cards.is_empty(), "{name}: a card about nothing: {}", cards[0].body);
            continue;
        };
        let card = home.card(task);
        assert_eq!(card.blocker, *blocker, "{name}: {}", card.body);
        assert_eq!((card.status.as_str(), card.assignee.as_str()), ("ready", "tuesday"), "{name}");
        let quoted = card.body.lines().any(|l| l.starts_with("> ") && l.contains(words));
        assert!(quoted || words.is_empty(), "{name}: no line of its log: {}", card.body);
        let parent = format!("parent_id = '{}' AND child_id = '{task}'", card.id);
        let count = |what: String| home.value(&format!("SELECT count(*) FROM {what}"));
        assert_eq!(count(format!("task_links WHERE {parent}")), "1", "{name}: it waits for its card");
        assert_eq!(count(format!("task_comments WHERE task_id = '{task}'")), "1", "{name}");
        cards.push(card.id);
    }
    home.keeps_the_key();
    home.shows(&[tasks, &cards].concat());
    let started = home.would_start();
    assert!(cards.iter().all(|card| started.contains(card)), "the next tick starts every card");
    for (End(name, ..), task) in ENDS.iter().zip(tasks).filter(|(e, _)| e.1.is_some()) {
        assert!(!started.contains(task), "{name}: into the same wall: {}", home.kinds(task));
    }
    cards
}

/// Ten passes, the first two of them at once: they write what one would.
#[track_caller]
fn ten_passes(home: &Home) {
    let pass = || {
        let mut command = home.command("synthesize-distress");
        Kept(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    for mut pass in [pass(), pass()] {
        let code = pass.0.wait().unwrap().code().unwrap();
        assert!([0, 75].contains(&code), "exit {code}");
    }
    leaks_nothing(&home.distress(&["--json", "-v"]).ok());
    let after = home.dump();
    for _ in 0..7 {
        home.distress(&[]).ok();
    }
    assert!(home.dump() == after, "rows changed");
}

#[test]
fn every_end_gets_the_card_it_needs_and_no_other() {
    let Some((home, _provider, tasks)) = started() else { return };
    // Booked as given up after one attempt. The worker that runs out of turns books that itself and needs two.
    home.tick(&["--failure-limit", "1"]);
    home.await_workers();
    ten_passes(&home);
    check(&home, &tasks);

    // The operator closes a card without a decision: Hermes would now run the source into the same limit.
    let limited = of(&tasks, "r429");
    home.hermes(&["complete", &home.card(limited).id, "--summary", "looked at it"]).ok();
    assert!(!home.would_start().iter().any(|t| t == limited), "{}", home.kinds(limited));
    let undecided = format!("{limited} is still scheduled");
    let said = home.round();
    assert!(said.contains(&undecided) && said.contains("without a decision"), "{said}");

    // It stays so while the hold lasts, a quarter of an hour at least, and heal leaves it alone.
    home.age(400);
    let said = home.round();
    assert!(!said.contains(&undecided), "it was said: {said}");
    assert_eq!(home.task(limited, "status"), "scheduled", "{}", home.kinds(limited));
    assert_eq!(home.cards(limited).len(), 1);

    // A worker's own block has waited long enough for the operator.
    assert!(home.cards(of(&tasks, "block")).is_empty());
    home.age(600);
    let _ = home.distress(&[]);
    assert_eq!(home.card(of(&tasks, "block")).blocker, "env_blocker");
    home.keeps_the_key();
}

#[cfg(feature = "real")]
#[test]
fn hermes_own_limit_of_two_attempts_comes_to_the_same() {
    let Some((home, _provider, tasks)) = started() else { return };
    // So many equal deaths at once make Hermes give up, and take it back in the same tick.
    home.tick(&[]);
    let way = home.way(of(&tasks, "r429"));
    assert!(way.ends_with("crashed gave_up promoted claimed spawned"), "{way}");
    for name in ["r429", "r401", "r404", "nokey", "chat", "loop"] {
        home.distress(&["--task", of(&tasks, name)]).ok();
        assert!(home.cards(of(&tasks, name)).is_empty(), "{name}: it is being tried again");
    }
    home.tick(&[]);
    ten_passes(&home);
    check(&home, &tasks);
    let limited = of(&tasks, "r429");
    assert_eq!(home.task(limited, "status"), "blocked", "nothing would set it free");
    assert_eq!(home.value(&format!("SELECT count(*) FROM task_runs WHERE task_id = '{limited}'")), "2");
}
