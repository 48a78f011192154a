//! Who takes a task over.

use proptest::prelude::*;

use super::*;
use card::Blocker;
use config::RateLimitRoute;
use logs::provider::ledger::State;
use policy::routing::moving::ask;
use policy::routing::router::{Choice, Release, moves};

/// The profile that is chosen, or the first word of why there is none.
fn chosen(routing: &Routing, config: &Config, d: &Detail, blocker: Blocker) -> String {
    let known = known();
    let router = router(routing, config, &known);
    match router.choose(&ask(&router, d, blocker, None)) {
        Choice::Move(to) => to.profile,
        Choice::Wait { until, .. } => {
            assert!(until > NOW);
            "wait".into()
        }
        Choice::Nobody(_) => "nobody".into(),
        Choice::Spent(_) => "spent".into(),
    }
}

#[test]
fn the_fallback_order_of_the_seed() {
    let of = |fallbacks: &[&str], blocker: Blocker| {
        let mut r = routing();
        r.profiles.insert("luna".into(), profile("luna", "a", fallbacks));
        chosen(&r, &Config::default(), &detail("t_00000001", Status::Ready), blocker)
    };
    let (limited, key) = (Blocker::RateLimited, Blocker::CredentialFailure);
    for (fallbacks, blocker, want) in [
        (&["mira", "sol", "vega"][..], limited, "sol"),
        (&["vega", "sol"], limited, "vega"),
        (&["mira"], limited, "nobody"),
        (&["mira"], key, "mira"),
        (&["mira", "sol"], key, "sol"),
        (&["nobody"], limited, "nobody"),
        (&["nobody"], key, "nobody"),
        (&["luna"], key, "nobody"),
        (&["gone"], limited, "nobody"),
        (&[], limited, "nobody"),
    ] {
        let want = if (fallbacks, blocker) == (&["nobody"][..], key) { "nobody" } else { want };
        assert_eq!(of(fallbacks, blocker), want, "{fallbacks:?} {blocker}");
    }
}

#[test]
fn nobody_is_chosen_who_is_not_listed_unless_that_is_asked_for() {
    let mut r = routing();
    r.profiles.insert("luna".into(), profile("luna", "a", &[]));
    r.profiles.insert("default".into(), profile("default", "e", &[]));
    let d = detail("t_00000001", Status::Ready);
    let mut config = Config::default();
    assert_eq!(chosen(&r, &config, &d, Blocker::RateLimited), "nobody");
    config.routing.auto = true;
    assert_eq!(chosen(&r, &config, &d, Blocker::RateLimited), "sol");
    // Never the orchestrator, never `default`.
    for gone in ["sol", "vega"] {
        r.profiles.remove(gone);
    }
    assert_eq!(chosen(&r, &config, &d, Blocker::RateLimited), "nobody");
    config.routing.rate_limit_route = RateLimitRoute::Orchestrator;
    assert_eq!(chosen(&routing(), &config, &d, Blocker::RateLimited), "nobody");
    assert_eq!(
        chosen(&routing(), &config, &d, Blocker::CredentialFailure),
        "sol",
        "only rate limits are meant"
    );
}

#[test]
fn who_failed_at_it_or_is_held_is_not_chosen() {
    let mut d = detail("t_00000001", Status::Ready);
    d.runs = vec![run(3, "sol", Some("crashed"))];
    assert_eq!(chosen(&routing(), &Config::default(), &d, Blocker::RateLimited), "vega");
    d.runs = vec![run(3, "sol", Some("completed"))];
    assert_eq!(chosen(&routing(), &Config::default(), &d, Blocker::RateLimited), "sol");
    let mut r = routing();
    r.sightings = vec![refused("b", Cause::Overloaded, 30)];
    assert_eq!(chosen(&r, &Config::default(), &d, Blocker::RateLimited), "vega");
    r.sightings.push(refused("c", Cause::Quota, 30));
    assert_eq!(chosen(&r, &Config::default(), &d, Blocker::RateLimited), "nobody");
    // What may still refuse is probed by its own work, not by that of others.
    r.sightings = vec![refused("b", Cause::Overloaded, 2_000), refused("c", Cause::Quota, 30)];
    assert_eq!(chosen(&r, &Config::default(), &d, Blocker::RateLimited), "wait");
}

#[test]
fn of_those_that_are_free_later_the_first_to_be_free_is_waited_for() {
    let d = detail("t_0000aaaa", Status::Ready);
    let (config, known) = (Config::default(), known());
    for fallbacks in [["sol", "vega"], ["vega", "sol"]] {
        let mut r = routing();
        r.profiles.insert("luna".into(), profile("luna", "a", &fallbacks));
        // Sol's provider has to be probed by its own work first; vega took its twenty of this hour ten minutes ago.
        r.sightings = vec![refused("b", Cause::Overloaded, 2_000)];
        r.sent = sent(20, "c", 600, false);
        let router = router(&r, &config, &known);
        let Choice::Wait { until, why } = router.choose(&ask(&router, &d, Blocker::RateLimited, None)) else {
            panic!("{fallbacks:?}")
        };
        assert!(until < NOW.plus(3_000) && why.contains("probed"), "{fallbacks:?}: {why}");
    }
}

#[test]
fn a_few_at_first_and_twice_as_many_after_each_healthy_stretch() {
    let d = detail("t_0000aaaa", Status::Ready);
    let with = |sent: Vec<Sent>, healthy: bool| {
        let mut r = routing();
        r.profiles.insert("luna".into(), profile("luna", "a", &["sol"]));
        r.sent = sent;
        // The first of them worked after a minute.
        let good = |s: &Sent| Sighting {
            at: s.at.plus(60),
            began: s.at,
            news: News::Good,
            ..refused("b", Cause::Quota, 0)
        };
        r.sightings = r.sent.iter().filter(|_| healthy).map(good).collect();
        chosen(&r, &Config::default(), &d, Blocker::RateLimited)
    };
    let of = |sent: Vec<Sent>| with(sent, true);
    assert_eq!(with(sent(2, "b", 3_000, true), false), "wait", "time alone is no health");
    assert_eq!(of(sent(1, "b", 30, true)), "sol");
    assert_eq!(of(sent(2, "b", 30, true)), "wait");
    assert_eq!(of(sent(19, "b", 30, false)), "sol", "what has ended loads nobody");
    assert_eq!(of(sent(3, "b", 700, true)), "sol", "four after ten minutes");
    assert_eq!(of(sent(4, "b", 700, true)), "wait");
    assert_eq!(of(sent(7, "b", 1_300, true)), "sol", "eight after twenty");
    let mut long_ago = sent(1, "b", 9_000, true);
    long_ago[0].task = "t_0000beef".into();
    assert_eq!(of([long_ago, sent(1, "b", 30, true)].concat()), "wait", "an hour's silence");
    let twice = || [sent(1, "b", 60, true), sent(1, "b", 30, true)].concat();
    assert_eq!(with(twice(), false), "sol", "sent twice, it takes one place");
    assert_eq!(of(sent(20, "b", 3_000, false)), "wait", "twenty in an hour");
    assert_eq!(of(sent(20, "b", 3_700, false)), "sol");
    assert_eq!(of(sent(100, "b", 40_000, false)), "wait", "a hundred in a night");
}

#[test]
fn new_work_of_a_held_provider_goes_to_the_first_free_fallback_elsewhere() {
    let instead_for = |cause: Cause, held: &[&str], known: &[&str]| {
        let mut routing = routing();
        routing.sightings = held.iter().map(|host| refused(host, cause, 30)).collect();
        let (config, known) = (Config::default(), known.iter().copied().collect());
        router(&routing, &config, &known).instead_of("luna")
    };
    let instead = |held: &[&str], known: &[&str]| instead_for(Cause::RateLimit, held, known);
    let all = ["luna", "mira", "sol", "vega"];
    assert_eq!(instead(&[], &all), None, "nothing is held");
    assert_eq!(instead(&["a"], &all), Some("sol".into()), "mira is on the same one");
    assert_eq!(instead(&["a", "b"], &all), Some("vega".into()));
    assert_eq!(instead(&["a"], &["luna", "vega"]), Some("vega".into()), "sol does not exist");
    assert_eq!(instead(&["a"], &[]), Some("sol".into()), "who there is, nobody knows");
    assert_eq!(instead(&["a", "b", "c"], &all), None);
    // Where one key is refused, another key of the same provider may work; another provider is surer.
    let of_key = |known: &[&str]| instead_for(Cause::Credential, &["a"], known);
    assert_eq!(of_key(&all), Some("sol".into()));
    assert_eq!(of_key(&["luna", "mira"]), Some("mira".into()), "as for work that waits there");
}

#[test]
fn quiet_hours_send_nothing() {
    let mut r = routing();
    r.quiet_until = Some(NOW.plus(3_600));
    let d = detail("t_00000001", Status::Ready);
    assert_eq!(chosen(&r, &Config::default(), &d, Blocker::RateLimited), "wait");
    let (config, known) = (Config::default(), known());
    let until = NOW.plus(3_600);
    let Release::Wait { until: said, .. } = router(&r, &config, &known).release("luna") else { panic!() };
    assert_eq!(said, until);
}

#[test]
fn one_probes_and_the_rest_waits() {
    let (config, known) = (Config::default(), known());
    let of = |sightings: Vec<Sighting>, sent: Vec<Sent>| {
        let r = Routing { sightings, sent, ..routing() };
        match router(&r, &config, &known).release("luna") {
            Release::Go { probe: true } => "probe",
            Release::Go { probe: false } => "go",
            Release::Wait { .. } => "wait",
            Release::GiveUp(_) => "give up",
        }
    };
    let over = || vec![refused("a", Cause::RateLimit, 2_000)];
    let probe = |at: i64, open: bool| {
        let one = sent(1, "a", at, open).remove(0);
        vec![Sent { profile: "luna".into(), is_move: false, ..one }]
    };
    assert_eq!(of(Vec::new(), Vec::new()), "go");
    assert_eq!(of(vec![refused("a", Cause::RateLimit, 30)], Vec::new()), "wait");
    assert_eq!(of(over(), Vec::new()), "probe");
    assert_eq!(of(over(), probe(100, true)), "wait");
    assert_eq!(
        of(over(), probe(100, false)),
        "probe",
        "the last one ended without a word about the provider"
    );
    assert_eq!(of(over(), probe(3_000, true)), "probe", "sent before the trouble began");
    assert_eq!(of(over(), probe(1_900, true)), "probe", "nobody took that one");
    // A refused key is one profile's: what works with another key of that provider does not try it.
    let key = || vec![refused("a", Cause::Credential, 30_000)];
    assert_eq!(of(key(), probe(100, true)), "wait");
    let other = probe(100, true).into_iter().map(|s| Sent { profile: "mira".into(), ..s }).collect();
    assert_eq!(of(key(), other), "probe");
    let good =
        Sighting { at: ago(60), began: ago(300), news: News::Good, ..refused("a", Cause::RateLimit, 0) };
    assert_eq!(of([over(), vec![good]].concat(), Vec::new()), "go");
    assert_eq!(of(refused_for_days("a"), Vec::new()), "give up");
    // Nothing was sent there in between, as on a machine that was off.
    let twice = vec![refused("a", Cause::RateLimit, 300_000), refused("a", Cause::RateLimit, 30_000)];
    assert_eq!(of(twice, Vec::new()), "probe");
}

#[test]
fn moves_are_counted_whoever_makes_them_once_there_is_a_card() {
    let by_us = |at: i64| {
        event(
            "assigned",
            at,
            json!({"by": ROUTE_BLOCKED, "watchbill": {"sent": {"profile": "sol", "move": true}}}),
        )
    };
    let by_hand = |kind: &str, at: i64| event(kind, at, json!({"assignee": "sol"}));
    let on_card = |events: Vec<board::Event>, card: Option<i64>, worked_on: &[i64]| {
        let mut d = detail("t_00000001", Status::Ready);
        d.events.extend(events);
        d.card_work = worked_on.iter().map(|at| (ago(*at), None)).collect();
        d.cards_made = card
            .map(|at| CardMade {
                id: "t_c".into(),
                key: "distress:x".into(),
                status: Status::Done,
                created_at: ago(at),
            })
            .into_iter()
            .collect();
        moves(&d, NOW)
    };
    let with = |events: Vec<board::Event>, card: Option<i64>| on_card(events, card, &[]);
    assert_eq!(with(vec![by_us(500), by_us(480)], None), 2);
    assert_eq!(with(vec![by_us(90_000)], None), 0, "a day ago");
    assert_eq!(with(vec![by_us(500), by_hand("unblocked", 400)], None), 0, "somebody starts afresh");
    let decided = vec![by_us(500), by_hand("assigned", 400), by_hand("unblocked", 390), by_us(100)];
    assert_eq!(with(decided.clone(), Some(500)), 2, "what a person does uses up nothing");
    assert_eq!(on_card(decided, Some(500), &[450]), 3, "what is decided upon a card goes on with it");
    let mut d = detail("t_00000001", Status::Ready);
    d.events.extend([by_us(500), by_us(400)]);
    assert_eq!(chosen(&routing(), &Config::default(), &d, Blocker::RateLimited), "spent");
}

fn any_profile() -> impl Strategy<Value = (usize, usize, Vec<usize>)> {
    (0..4_usize, 0..4_usize, prop::collection::vec(0..6_usize, 0..4))
}

fn any_refusal() -> impl Strategy<Value = (usize, i64, usize)> {
    (0..4_usize, 1_i64..4_000, 0..3_usize)
}

proptest! {
    /// Never reassign rate-limited work back to the same provider.
    #[test]
    fn never_back_to_the_provider_that_limited_it(
        profiles in prop::collection::vec(any_profile(), 6),
        refusals in prop::collection::vec(any_refusal(), 0..6),
        tasks in prop::collection::vec((0..6_usize, 0..3_usize, -500_i64..2_000), 1..20),
        auto: bool,
        on_way in 0..5_usize,
    ) {
        let listed = known();
        let names = listed.names();
        let hosts = ["a", "b", "c", ""];
        let labels = ["moon", "star", "", "sun"];
        let mut r = Routing::default();
        for (i, (host, label, fallbacks)) in profiles.iter().enumerate() {
            let fallbacks: Vec<&str> = fallbacks.iter().map(|f| names[*f].as_str()).collect();
            let mut p = profile(&names[i], hosts[*host], &fallbacks);
            p.provider = Some(labels[*label].to_owned()).filter(|l| !l.is_empty());
            r.profiles.insert(p.name.clone(), p);
        }
        for (host, at, cause) in refusals {
            let cause = [Cause::RateLimit, Cause::Quota, Cause::ServerError][cause];
            r.sightings.push(refused(hosts[host], cause, at));
        }
        r.sent = sent(on_way, "b", 100, true);
        let mut s = seen(r);
        for (i, (who, kind, until)) in tasks.into_iter().enumerate() {
            let id = format!("t_{i:08x}");
            let mut d = match kind {
                0 => detail(&id, Status::Ready),
                _ => held(&id, until),
            };
            d.task.assignee = Some(names[who].clone());
            if kind == 2 {
                let c = card(&format!("t_{:08x}", 4_096 + i), &id, "rate_limited", Status::Ready);
                tie(&mut d, &c);
                s.cards.push(c);
            }
            s.tasks.push(d);
        }
        let mut config = Config::default();
        config.routing.auto = auto;
        let d = decide(&s, &pass(), &config);
        let router = Router::new(&s.routing, &config, NOW, &listed, vec!["tuesday".into()]);
        let mut changed = std::collections::BTreeSet::new();
        let mut probes: Vec<Id> = Vec::new();
        for step in &d.steps {
            prop_assert!(changed.insert(step.task.clone()), "two steps for {}", step.task);
            let Some(task) = s.tasks.iter().find(|t| t.task.id == step.task) else { continue };
            let from = router.profile(task.task.assignee.as_deref().unwrap_or_default());
            match step.action.as_str() {
                "move" => {
                    let to = router.profile(assigned(step).unwrap_or_default());
                    prop_assert!(to.id().is_known() && !to.id().is_same(&from.id()), "{:?}", step);
                    prop_assert!(!router.state(&to.name).is_held(), "{:?}", step);
                    prop_assert!(auto || from.fallbacks.contains(&to.name), "{:?}", step);
                    // A provider that may still refuse is tried by one task, whichever profile had it.
                    if router.state(&to.name) == State::HalfOpen {
                        prop_assert!(!probes.iter().any(|p| p.is_same(&to.id())), "{:?}", step);
                        probes.push(to.id());
                    }
                }
                "release" | "probe" => {
                    prop_assert!(!router.state(&from.name).is_held(), "{:?}", step);
                    if step.action == "probe" {
                        prop_assert!(!probes.iter().any(|p| p.is_same(&from.id())), "{:?}", step);
                        probes.push(from.id());
                    }
                }
                "park" | "extend" => {
                    let until = hold_ends(step).unwrap_or(NOW);
                    prop_assert!(until > NOW && until <= NOW.plus(21_600), "{:?}", step);
                }
                _ => {}
            }
        }
        // The same facts give the same steps.
        prop_assert_eq!(decide(&s, &pass(), &config), d);
    }
}

#[test]
fn what_a_clock_that_was_ahead_released_makes_no_moves_uncounted() {
    let mut d = detail("t_00000001", Status::Ready);
    let sent = json!({"by": ROUTE_BLOCKED, "watchbill": {"sent": {"profile": "sol", "move": true}}});
    d.events.push(event("assigned", 60, sent));
    d.events.push(event("unblocked", -31_000_000, json!({})));
    assert_eq!(policy::routing::router::moves(&d, NOW), 1);
}

#[test]
fn what_is_sent_elsewhere_leaves_its_place() {
    let (config, known) = (Config::default(), known());
    let r = Routing { sent: sent(2, "b", 30, true), ..routing() };
    let mut router = router(&r, &config, &known);
    assert!(matches!(router.release("sol"), Release::Wait { .. }));
    router.send("t_00000001", &router.profile("vega"), true);
    assert_eq!(router.release("sol"), Release::Go { probe: false });
}

#[test]
fn a_provider_that_nobody_is_left_to_probe_is_probed_by_one_task_of_others() {
    let (config, known) = (Config::default(), known());
    let d = detail("t_0000aaaa", Status::Ready);
    let of = |sightings: &[Sighting], sent: Vec<Sent>, quiet_until: Option<Time>, waits: i64| {
        let r = Routing { sightings: sightings.to_vec(), sent, quiet_until, ..routing() };
        let router = router(&r, &config, &known);
        router.probe(&ask(&router, &d, Blocker::RateLimited, None), ago(waits)).map(|to| to.profile)
    };
    let [sol, vega] = ["sol", "vega"].map(|p| Some(p.to_owned()));
    let limit = |host: &str, at: i64| refused(host, Cause::RateLimit, at);
    let quota = |at: i64| [refused("b", Cause::Quota, at), limit("c", 30)];
    let (over, both) = ([limit("b", 2_000), limit("c", 30)], [limit("b", 2_000), limit("c", 2_000)]);
    for (sightings, on_way, want, why) in [
        (&[][..], Vec::new(), None, "it is simply moved"),
        (&[limit("b", 2_000)], Vec::new(), None, "to the one that works"),
        (&[limit("b", 30), limit("c", 30)], Vec::new(), None, "nobody may take it"),
        (&over, Vec::new(), sol.clone(), "nobody tries it"),
        (&over, sent(1, "b", 100, true), None, "one tries it"),
        (&over, sent(1, "b", 100, false), sol.clone(), "that one ended without a word about the provider"),
        (&over, sent(1, "b", 3_000, true), sol.clone(), "sent before the trouble began"),
        (&over, sent(20, "b", 600, false), None, "twenty in an hour"),
        (&both, Vec::new(), sol.clone(), "in the fallback order"),
        (&both, sent(1, "b", 100, true), vega, "each provider has its own probe"),
        (&quota(2_000), Vec::new(), None, "what is used up stays so for long"),
        (&quota(30_000), Vec::new(), sol, "but not for ever"),
    ] {
        assert_eq!(of(sightings, on_way, None, 300), want, "{why}");
    }
    assert_eq!(of(&over, Vec::new(), Some(NOW.plus(600)), 300), None, "quiet hours");
    assert_eq!(of(&over, Vec::new(), None, 299), None, "it waits for a few minutes only");
}

/// luna's provider refuses, and the hold of the only fallback is over.
fn two_limits(luna: Cause) -> Seen {
    let mut r = routing();
    r.profiles.insert("luna".into(), profile("luna", "a", &["sol"]));
    r.profiles.insert("sol".into(), profile("sol", "b", &[]));
    r.sightings = vec![refused("b", Cause::RateLimit, 2_000), refused("a", luna, 30)];
    seen(r)
}

#[test]
fn the_move_is_the_probe_where_the_provider_has_no_work_of_its_own() {
    let (one, two) = (held("t_00000001", -10), held("t_00000002", -10));
    let with = |tasks: &[&Detail]| {
        let mut s = two_limits(Cause::RateLimit);
        s.tasks = tasks.iter().map(|d| (*d).clone()).collect();
        told(&s)
    };
    let said = with(&[&one, &two]);
    assert_eq!(actions(&said), [("t_00000001", "move"), ("t_00000002", "extend")]);
    assert_eq!(assigned(&said.steps[0]), Some("sol"));
    assert!(
        said.steps[0].because.ends_with("the hold of b is over, and this one tries it first"),
        "{said:?}"
    );
    let mut own = held("t_00000003", 500);
    own.task.assignee = Some("sol".into());
    let said = with(&[&one, &own]);
    assert_eq!(
        actions(&said),
        [("t_00000003", "probe"), ("t_00000001", "extend")],
        "its own work goes first"
    );
    // Its card asks for money all the same.
    let (mut broke, c) = (
        detail("t_00000001", Status::Scheduled),
        card("t_0000cafe", "t_00000001", "rate_limited", Status::Ready),
    );
    let hold = json!({"owner": "heal", "cause": "quota", "since": ago(600).0, "until": NOW.plus(300).0});
    broke.events.push(event("scheduled", 600, json!({"by": "heal", "watchbill": {"hold": hold}})));
    tie(&mut broke, &c);
    let mut s = two_limits(Cause::Quota);
    (s.tasks, s.cards) = (vec![broke], vec![c]);
    assert_eq!(actions(&told(&s)), [("t_00000001", "move"), ("t_0000cafe", "close-card")]);
    s.routing.sent = sent(1, "b", 100, true);
    let said = told(&s);
    assert!(said.steps.is_empty() && said.left[0].because == "b is being probed", "{said:?}");
}
