//! Twenty tasks, two providers, a dispatcher that ticks every second and our programs beside it, and no person.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::dispatcher::Dispatcher;
use super::super::home::Home;
use super::super::provider::Provider;
use crate::support::now;

/// Two fleets at once would only show how slow the machine is.
static ONE: Mutex<()> = Mutex::new(());

/// Workers at a time: more than the fallback answers at once.
const WORKERS: u32 = 5;
/// The longest a fleet may take.
const NIGHT: Duration = Duration::from_secs(900);

/// `routing.pace` in [`FAST`], in seconds.
const PACE: i64 = 10;
/// Everything in seconds instead of minutes.
const FAST: &str = "[heal]\ngrace = \"1m\"\nlonely_grace = \"10s\"\nhold = \"30s\"\nhold_max = \"1m\"\n\
    [routing]\npace = \"10s\"\nmoves_per_hour = 100\nmax_probes = 100\n\
    [profiles.luna]\nfallbacks = [\"sol\"]\n";

/// Lets the dispatcher and our programs run side by side until `done` says so.
fn night(home: &Home, dispatcher: &mut Dispatcher, done: &(dyn Fn() -> bool + Sync)) {
    let began = Instant::now();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ours = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                home.round();
                std::thread::sleep(Duration::from_secs(2));
            }
        });
        while !done() && began.elapsed() < NIGHT && !ours.is_finished() {
            dispatcher.tick();
            std::thread::sleep(Duration::from_secs(1));
        }
        over.store(true, Ordering::Relaxed);
        ours.join().unwrap();
    });
    assert!(done(), "the night was too short: {}", counts(home));
}

/// How many tasks stand where.
fn counts(home: &Home) -> String {
    home.value(
        "SELECT group_concat(n, ', ') FROM (SELECT status || ' ' || ifnull(assignee, '') || ' ' || count(*) AS n \
         FROM tasks GROUP BY status, assignee)",
    )
}

/// Every run with its times and the event that says it was claimed, in the order of their starts.
fn runs(home: &Home) -> Vec<Value> {
    let text = home.value(
        "SELECT json_group_array(json_object('task', task_id, 'profile', profile, 'began', started_at, 'ended', ended_at, \
         'outcome', outcome, 'claim', (SELECT min(e.id) FROM task_events e WHERE e.run_id = r.id AND e.kind = 'claimed'))) \
         FROM (SELECT * FROM task_runs WHERE outcome IS NULL OR ended_at > started_at ORDER BY id) r",
    );
    serde_json::from_str(&text).unwrap()
}

/// No task was worked on twice at once.
#[track_caller]
fn one_at_a_time(home: &Home) {
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    for run in runs(home) {
        let task = run["task"].as_str().unwrap().to_owned();
        let began = run["began"].as_i64().unwrap();
        assert!(last.get(&task).is_none_or(|end| *end <= began), "twice at once: {run}");
        last.insert(task, run["ended"].as_i64().unwrap_or(i64::MAX));
    }
}

#[test]
fn twenty_tasks_come_through_a_limited_provider_without_a_person() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.configure(FAST);
    home.profile("luna", &provider.mode("r429"));
    home.profile("sol", &provider.mode("crowd"));
    home.profile("tuesday", &provider.mode("decide"));
    let tasks: Vec<String> = (0..20).map(|_| home.create(&[])).collect();
    let mut dispatcher = Dispatcher::new(&home, WORKERS);
    let open = "SELECT count(*) FROM tasks WHERE status != 'done'";
    night(&home, &mut dispatcher, &|| home.value(open) == "0");
    home.await_workers();
    for task in &tasks {
        assert_eq!(home.task(task, "status"), "done", "{}", home.way(task));
    }
    one_at_a_time(&home);

    // What was ready when the hold was written never meets the limited provider. What ran then the runtime may try again.
    // By the order of the events and not by the clock: a pass bears the time at which it began to look, and on a busy
    // machine it writes seconds later, one task after the other.
    let held = home.value(
        "SELECT max(id) FROM task_events WHERE payload ->> '$.watchbill.pass' = (SELECT payload ->> '$.watchbill.pass' \
         FROM task_events WHERE payload LIKE '%\"case\":\"provider-hold\"%' ORDER BY id LIMIT 1)",
    );
    let held: i64 = held.parse().unwrap();
    let by_luna: Vec<Value> = runs(&home).into_iter().filter(|r| r["profile"] == "luna").collect();
    let claim = |r: &Value| r["claim"].as_i64().unwrap();
    let at_work: Vec<&Value> = by_luna.iter().filter(|r| claim(r) <= held).map(|r| &r["task"]).collect();
    // And when the hold is over one task at a time probes.
    let probes = |r: &Value| {
        let sql = "SELECT count(*) FROM task_events WHERE kind = 'unblocked' AND payload LIKE '%\"case\":\"probe\"%'";
        let task = r["task"].as_str().unwrap();
        home.value(&format!("{sql} AND task_id = '{task}' AND id <= {}", claim(r))) != "0"
    };
    let late: Vec<_> =
        by_luna.iter().filter(|r| claim(r) > held && !at_work.contains(&&r["task"]) && !probes(r)).collect();
    let refused = provider.questions("crowd").iter().filter(|q| q.refused).count();
    let (asked, all) = (provider.questions("r429").len(), runs(&home).len());
    eprintln!("{all} runs; {asked} requests to luna's provider; sol's refused {refused}; late: {late:?}");
    let ways = || late.iter().map(|r| home.way(r["task"].as_str().unwrap())).collect::<Vec<_>>().join("\n");
    assert!(late.is_empty(), "sent to the limited provider: {late:?}\n{}", ways());
    let refs: Vec<&str> = tasks.iter().map(String::as_str).collect();
    home.accepts(&refs);
    home.keeps_the_key();
}

#[test]
fn with_both_providers_down_all_waits_and_one_probe_goes_first() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.configure(FAST);
    home.profile("luna", &provider.mode("r429"));
    home.profile("sol", &provider.mode("r529"));
    // Decides nothing while nobody can help.
    home.profile("tuesday", &provider.mode("decide"));
    let tasks: Vec<String> = (0..6).map(|_| home.create(&[])).collect();
    let mut dispatcher = Dispatcher::new(&home, WORKERS);
    let began = Instant::now();
    night(&home, &mut dispatcher, &|| began.elapsed() > Duration::from_secs(150));
    let ended = now();
    home.await_workers();
    let waiting = counts(&home);
    let spent = runs(&home).len();
    eprintln!("{spent} runs in {:?}: {waiting}", began.elapsed());
    // Hermes tries a refused worker four times by itself; what we send there is counted, and a hold is half a minute.
    let sends =
        home.value("SELECT count(*) FROM task_events WHERE kind = 'unblocked' AND payload LIKE '%\"sent\"%'");
    let cards = home.value("SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%'");
    eprintln!("{sends} sent by us; {cards} cards");
    assert!(sends.parse::<u32>().unwrap() <= 16, "it spins: {sends} sent");
    // Three a task and day, as everywhere; half a minute stands for a quarter of an hour here.
    assert!(cards.parse::<u32>().unwrap() <= 18, "the orchestrator is asked again and again: {cards} cards");
    for task in &tasks {
        let status = home.task(task, "status");
        let ends =
            status != "scheduled" || home.payload(task, "scheduled")["until"].as_i64().unwrap() > ended - 60;
        assert!(ends, "a hold without an end: {}", home.way(task));
        assert_ne!(status, "done");
    }

    // The runtime tries a refused worker again by itself; a probe is seen where nothing of that is left.
    let quiet = "SELECT count(*) FROM tasks WHERE assignee = 'luna' AND status IN ('ready', 'running')";
    night(&home, &mut dispatcher, &|| home.value(quiet) == "0");
    home.await_workers();
    // By the order of the events: what is requeued in this very second counts too.
    let turned: i64 = home.value("SELECT max(id) FROM task_events").parse().unwrap();
    provider.turn("r429", "ok");
    let open = |who: &str| {
        let sql = "SELECT count(*) FROM tasks WHERE status NOT IN ('done', 'archived') AND assignee";
        home.value(&format!("{sql} = '{who}'")) != "0"
    };
    night(&home, &mut dispatcher, &|| !open("luna"));
    let late: Vec<_> = runs(&home)
        .into_iter()
        .filter(|r| r["claim"].as_i64().unwrap() > turned && r["profile"] == "luna")
        .collect();
    // A probe proves that its provider answers by its end, or by an answer once it has worked for `pace`: ten seconds here. On a busy
    // machine it works for longer.
    let time = |r: &Value, key: &str| r[key].as_i64().unwrap();
    let proved = time(&late[0], "ended").min(time(&late[0], "began") + PACE);
    let beside = late.iter().filter(|r| time(r, "began") < proved).count();
    eprintln!("{} runs since; {beside} before the first proved anything", late.len());
    assert_eq!(beside, 1, "a probe goes first, alone: {late:?}");
    // What moved before the other one went down too waits for that.
    assert!(open("sol"), "{}", counts(&home));
    provider.turn("r529", "ok");
    night(&home, &mut dispatcher, &|| !open("sol"));
    home.await_workers();
    for task in &tasks {
        assert_eq!(home.task(task, "status"), "done", "{}", home.way(task));
    }
    one_at_a_time(&home);
    home.accepts(&tasks.iter().map(String::as_str).collect::<Vec<_>>());
}
