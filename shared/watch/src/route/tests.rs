//! Tables and properties of routing: who may be chosen, how many at once, and what becomes of cards and holds.

mod cards;
mod choices;
mod decided;
mod waits;

use serde_json::{Value, json};

use super::decide;
use super::seen::{CardSeen, Seen};
use base::cause::Cause;
use base::registry::ROUTE_BLOCKED;
use base::time::Time;
use board::testing::{NOW, ago, detail, event, run};
use board::{CardMade, Change, Detail, Kin, Pin, Status, Step};
use config::Config;
use logs::provider::ledger::{News, Sighting};
use logs::provider::{Id, Profile};
use policy::routing::facts::{Routing, Sent};
use policy::routing::router::Router;
use policy::runtime::{Dispatcher, Runtime};
use policy::worktree_note::TreeNote;
use policy::{Decision, Pass, Profiles};

fn pass() -> Pass {
    Pass { id: "p".into(), program: ROUTE_BLOCKED, now: NOW, clock_given: false, only: None, dry: false }
}

fn profile(name: &str, host: &str, fallbacks: &[&str]) -> Profile {
    Profile {
        name: name.into(),
        endpoint: Some(host.into()).filter(|h: &String| !h.is_empty()),
        fallbacks: fallbacks.iter().map(|f| (*f).to_owned()).collect(),
        ..Profile::default()
    }
}

/// luna and mira on provider a, sol on b, vega on c; tuesday decides.
fn routing() -> Routing {
    let all = [
        profile("luna", "a", &["mira", "sol", "vega"]),
        profile("mira", "a", &[]),
        profile("sol", "b", &["luna"]),
        profile("vega", "c", &[]),
        profile("tuesday", "d", &[]),
        profile("nobody", "", &[]),
    ];
    Routing { profiles: all.into_iter().map(|p| (p.name.clone(), p)).collect(), ..Routing::default() }
}

fn known() -> Profiles {
    ["luna", "mira", "sol", "vega", "tuesday", "nobody"].into_iter().collect()
}

fn refused(host: &str, cause: Cause, seconds: i64) -> Sighting {
    Sighting {
        id: Id::new(None, Some(host)),
        profile: Some("luna".into()),
        task: "t_00000099".into(),
        at: ago(seconds),
        began: ago(seconds + 60),
        news: News::Bad { cause, resets: None },
    }
}

/// Refusals of a provider for three days and more, each after a try.
fn refused_for_days(host: &str) -> Vec<Sighting> {
    (1..=10).rev().map(|k| refused(host, Cause::RateLimit, 30_000 * k)).collect()
}

fn sent(n: usize, host: &str, seconds: i64, is_open: bool) -> Vec<Sent> {
    let one = |i: usize| Sent {
        task: format!("t_{i:08x}"),
        profile: if host == "b" { "sol" } else { "vega" }.into(),
        id: Id::new(None, Some(host)),
        at: ago(seconds),
        is_move: true,
        is_open,
    };
    (0..n).map(one).collect()
}

fn seen(routing: Routing) -> Seen {
    Seen {
        now: NOW,
        runtime: Some(Runtime {
            dispatcher: Dispatcher::Ticked,
            is_daemon: true,
            failure_limit: Some(2),
            profiles: known(),
            auto_decompose: Some(true),
            review_dispatch: Some(true),
            ..Runtime::absent()
        }),
        glanced: 1,
        own_board: false,
        shared: false,
        slug: Some("default".into()),
        switched: false,
        db: "/b.db".into(),
        clock_fault: None,
        routing,
        cards: Vec::new(),
        answered: Vec::new(),
        parts: std::collections::BTreeMap::new(),
        tasks: Vec::new(),
        guarded: std::collections::BTreeMap::new(),
        in_turn: std::collections::BTreeSet::new(),
        takers_since: None,
        outliving: std::collections::BTreeMap::new(),
        trees: std::collections::BTreeMap::new(),
    }
}

/// A task held by route-blocked over a rate limit, until so many seconds from now.
fn held(id: &str, until: i64) -> Detail {
    let mut d = detail(id, Status::Scheduled);
    let hold = json!({"owner": ROUTE_BLOCKED, "cause": "rate_limit", "since": ago(600).0, "until": NOW.plus(until).0});
    d.events.push(event("scheduled", 600, json!({"by": ROUTE_BLOCKED, "watchbill": {"hold": hold}})));
    d
}

/// An open card about a task, as synthesize-distress writes it.
fn card(id: &str, source: &str, blocker: &str, status: Status) -> CardSeen {
    let mut d = detail(id, status);
    d.task.title = format!("[BLOCKED] {source} {blocker}");
    d.task.assignee = Some("tuesday".into());
    d.task.priority = 6;
    d.task.created_at = ago(500);
    d.task.idempotency_key = Some(format!("distress:{source}:x:1"));
    d.body = format!("## Distress Signal\n- Blocked task: {source}\n- Blocker type: {blocker}\n");
    d.place.kind = Some("scratch".into());
    let created = json!({"by": "synthesize-distress", "source_task": source, "run_id": 1});
    d.events = vec![event("created", 500, created)];
    let (cause, host, resets, refused) = (None, None, None, None);
    CardSeen { detail: d, elsewhere: None, cause, host, resets, refused, is_known: false }
}

/// Ties a task to a card.
fn tie(d: &mut Detail, card: &CardSeen) {
    let c = &card.detail.task;
    d.parents.push(Kin::from(c.clone()));
    d.cards.push(c.id.clone());
    let key = c.idempotency_key.clone().unwrap_or_default();
    d.cards_made.push(CardMade { id: c.id.clone(), key, status: c.status.clone(), created_at: c.created_at });
}

fn told(seen: &Seen) -> Decision {
    decide(seen, &pass(), &Config::default())
}

fn actions(d: &Decision) -> Vec<(&str, &str)> {
    d.steps.iter().map(|s| (s.task.as_str(), s.action.as_str())).collect()
}

fn assigned(step: &Step) -> Option<&str> {
    step.changes.iter().find_map(|c| match c {
        Change::Assign(to) => to.as_deref(),
        _ => None,
    })
}

fn status(step: &Step) -> Option<&Status> {
    step.changes.iter().rev().find_map(|c| match c {
        Change::SetStatus(s) => Some(s),
        _ => None,
    })
}

fn payload(step: &Step, wanted: &str) -> Option<Value> {
    step.changes.iter().find_map(|c| match c {
        Change::AddEvent { kind, payload, .. } if kind == wanted => Some(payload.clone()),
        _ => None,
    })
}

fn hold_ends(step: &Step) -> Option<Time> {
    payload(step, "scheduled")?["watchbill"]["hold"]["until"].as_i64().map(Time)
}

fn router<'a>(routing: &'a Routing, config: &'a Config, known: &'a Profiles) -> Router<'a> {
    Router::new(routing, config, NOW, known, vec!["tuesday".into()])
}

#[test]
fn where_it_has_nothing_to_do_it_denies_no_card_and_no_hold() {
    use super::RouteBlocked;
    use crate::Watcher;
    let task = |status, events: Vec<board::Event>| {
        let mut d = detail("t_00000001", status);
        d.events = events;
        d
    };
    let hold = |by: &str| {
        let of = json!({"by": by, "watchbill": {"pass": "p", "hold": {"cause": "iteration_budget", "until": NOW.0}}});
        task(Status::Scheduled, vec![event("scheduled", 60, of)])
    };
    let carded = |mut d: Detail| {
        d.cards = vec!["t_0000caf1".into()];
        d
    };
    let changed = json!({"by": "route-blocked", "key": "profile-changed", "watchbill": {"pass": "p"}});
    for (d, said) in [
        (task(Status::Blocked, vec![]), "no card, no hold and no provider that refuses it"),
        (carded(task(Status::Blocked, vec![])), "its card t_0000caf1 decides"),
        (carded(hold("heal")), "its card t_0000caf1 decides"),
        (hold("heal"), "synthesize-distress looks first at what heal held"),
        (hold("synthesize-distress"), "its hold is not for a provider, and heal ends it"),
        (task(Status::Running, vec![]), "it runs, and nothing about its profile changed meanwhile"),
        (
            task(Status::Running, vec![event("watchbill_detected", 60, changed)]),
            "it runs, and what changed about its profile counts from the next attempt",
        ),
    ] {
        assert_eq!(RouteBlocked::silence(&d, NOW), said, "{d:?}");
    }
}
