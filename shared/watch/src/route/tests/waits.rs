//! Work that waits for a provider.

use super::*;
use crate::route::seen::Outliving;
use board::EventKind;
use policy::routing::moving::{Scribe, Why};
use policy::routing::router::Target;

fn with(tasks: Vec<Detail>, sightings: Vec<Sighting>) -> Seen {
    let mut s = seen(Routing { sightings, ..routing() });
    s.tasks = tasks;
    s
}

fn limited() -> Vec<Sighting> {
    vec![refused("a", Cause::RateLimit, 30)]
}

#[test]
fn ready_work_of_a_held_provider_moves_a_few_at_a_time_and_the_rest_waits_with_an_end() {
    let tasks = (1..=5).map(|i| detail(&format!("t_0000000{i}"), Status::Ready)).collect();
    let d = told(&with(tasks, limited()));
    let to: Vec<_> = d.steps.iter().map(|s| (s.action.as_str(), assigned(s))).collect();
    // Two at once for each of the two fallbacks.
    assert_eq!(
        to[..4],
        [("move", Some("sol")), ("move", Some("sol")), ("move", Some("vega")), ("move", Some("vega"))]
    );
    assert_eq!((to[4].0, status(&d.steps[4])), ("park", Some(&Status::Scheduled)));
    assert!(hold_ends(&d.steps[4]).unwrap() > NOW);
    for step in &d.steps[..4] {
        assert_eq!(status(step), None, "it was ready and stays so");
        assert!(!step.changes.iter().any(|c| matches!(c, Change::Reword { .. })), "the text stays as it is");
    }
}

#[test]
fn what_changes_hands_says_in_its_event_what_is_known_of_its_tree() {
    let ids = ["t_00000001", "t_00000002", "t_00000003"];
    let tasks = ids.map(|id| detail(id, Status::Ready)).to_vec();
    let mut s = with(tasks, limited());
    let before = told(&s);
    s.trees = [
        (ids[0].to_owned(), TreeNote::Tree("git:00ff".into())),
        (ids[1].to_owned(), TreeNote::Unknown("too slow".into())),
    ]
    .into();
    let d = told(&s);
    // Known or not, it is told and decides nothing.
    assert_eq!(actions(&d), actions(&before));
    assert_eq!(actions(&d), ids.map(|id| (id, "move")));
    let noted = |i: usize| {
        let ours = payload(&d.steps[i], "assigned").unwrap()["watchbill"].clone();
        (ours["tree"].clone(), ours["tree_unknown"].clone())
    };
    assert_eq!(noted(0), (json!("git:00ff"), Value::Null));
    assert_eq!(noted(1), (Value::Null, json!("too slow")));
    assert_eq!(noted(2), (Value::Null, Value::Null));
}

#[test]
fn a_probe_goes_to_a_profile_that_somebody_works_for() {
    let probes = |sent: Vec<Sent>, known: Profiles, sightings: Vec<Sighting>| {
        let mut mira = held("t_00000002", -10);
        mira.task.assignee = Some("mira".into());
        let limited = refused("a", Cause::RateLimit, 4_000);
        let mut s = with(vec![held("t_00000001", -10), mira], [vec![limited], sightings].concat());
        s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
        s.routing.sent = sent;
        s.runtime.as_mut().unwrap().profiles = known;
        let steps = told(&s).steps;
        steps.iter().filter(|s| s.action == "probe").map(|s| s.task.clone()).collect::<Vec<_>>()
    };
    let (first, second) = (vec!["t_00000001".to_owned()], vec!["t_00000002".to_owned()]);
    let untaken = |seconds: i64| {
        let one = sent(1, "a", seconds, true).remove(0);
        vec![Sent { task: "t_00000009".into(), profile: "luna".into(), is_move: false, ..one }]
    };
    assert_eq!(probes(Vec::new(), known(), Vec::new()), first);
    assert_eq!(probes(untaken(3_000), known(), Vec::new()), second, "nobody took the last one");
    assert_eq!(probes(Vec::new(), ["mira"].into_iter().collect(), Vec::new()), second, "it is not there");
    // That one was taken, and refused.
    let taken =
        Sighting { task: "t_00000009".into(), began: ago(2_900), ..refused("a", Cause::RateLimit, 2_800) };
    assert_eq!(probes(untaken(3_000), known(), vec![taken]), first);
}

#[test]
fn what_somebody_set_free_since_is_theirs() {
    let mut d = detail("t_00000001", Status::Ready);
    d.events.push(event("unblocked", 10, json!({})));
    let d = told(&with(vec![d], limited()));
    assert_eq!(d.steps, []);
    assert!(d.left[0].because.contains("released it since"), "{d:?}");
    let mut mine = detail("t_00000001", Status::Ready);
    mine.body = "watchbill: no-heal".into();
    assert_eq!(told(&with(vec![mine], limited())).steps, []);
}

#[test]
fn a_held_task_goes_elsewhere_else_on_else_waits_longer() {
    let lonely = |until: i64, sightings: Vec<Sighting>| {
        let mut s = with(vec![held("t_00000001", until)], sightings);
        s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
        let d = told(&s);
        d.steps.first().map(|s| s.action.to_string()).unwrap_or_default()
    };
    assert_eq!(told(&with(vec![held("t_00000001", 300)], limited())).steps[0].action, "move");
    assert_eq!(lonely(300, limited()), "");
    assert_eq!(lonely(-1, limited()), "extend");
    assert_eq!(lonely(-1, Vec::new()), "release");
    assert_eq!(lonely(300, Vec::new()), "", "nobody knows better than its hold");
    assert_eq!(lonely(300, vec![refused("a", Cause::RateLimit, 2_000)]), "probe");
    assert_eq!(lonely(-1, refused_for_days("a")), "hand-over");
}

#[test]
fn a_person_is_told_of_a_worker_that_keeps_its_task_from_being_moved() {
    let outlived = |seconds: i64| {
        let mut s = with(vec![held("t_00000001", 300)], limited());
        let worker = Outliving { pid: 77, command: "agent".into(), since: ago(seconds) };
        s.outliving.insert("t_00000001".into(), worker);
        s
    };
    assert_eq!(actions(&told(&outlived(899))), [("t_00000001", "move")], "it is tried");
    let mut s = outlived(900);
    let d = told(&s);
    assert_eq!(actions(&d), [("t_00000001", "tell")]);
    let what =
        "process 77 (agent) still works on t_00000001, 15m after its attempt ended: it goes on after that";
    assert!(d.steps[0].because.starts_with(what), "{}", d.steps[0].because);
    // Once, as long as it lives. Whether it does is asked only of what would be moved.
    let noted = payload(&d.steps[0], "watchbill_detected").unwrap();
    s.tasks[0].events.push(event("watchbill_detected", 60, noted));
    assert_eq!(actions(&told(&s)), []);
    s.outliving.clear();
    assert_eq!(actions(&told(&s)), [("t_00000001", "move")]);
    // Nothing moves it any more.
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
    assert_eq!(actions(&told(&s)), [("t_00000001", "tell")]);
}

#[test]
fn after_days_off_held_work_goes_on_in_steps_and_none_goes_to_a_person() {
    let day = 86_400;
    let tasks: Vec<Detail> = (1..=6)
        .map(|i| {
            let mut d = held(&format!("t_0000000{i}"), -1);
            let e = d.events.iter_mut().rev().find(|e| e.kind == board::EventKind::Scheduled).unwrap();
            e.payload["watchbill"]["hold"]["since"] = json!(ago(4 * day).0);
            e.payload["watchbill"]["hold"]["until"] = json!(ago(4 * day - 900).0);
            d
        })
        .collect();
    let mut s = with(tasks, Vec::new());
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
    let d = told(&s);
    let all = actions(&d);
    assert_eq!(all.iter().filter(|(_, a)| *a == "release").count(), 2, "{all:?}");
    // The others go on in their turn, and nothing more is written until then.
    let mut waiting = Vec::new();
    for step in d.steps.iter().filter(|s| s.action == "extend") {
        let held = step.changes.iter().find_map(|c| match c {
            Change::AddEvent { payload, .. } if payload.pointer("/watchbill/hold").is_some() => Some(payload),
            _ => None,
        });
        let mut d = s.tasks.iter().find(|d| d.task.id == step.task).unwrap().clone();
        d.events.push(event("scheduled", 0, held.unwrap().clone()));
        waiting.push(d);
    }
    assert_eq!(waiting.len(), 4);
    let mut s = with(waiting, Vec::new());
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
    let of_luna = |s: Sent| Sent { profile: "luna".into(), is_move: false, ..s };
    s.routing.sent = sent(2, "a", 60, true).into_iter().map(of_luna).collect();
    assert_eq!(told(&s).steps, []);
    s.routing.sent.clear();
    let all = told(&s);
    assert!(actions(&all).iter().filter(|(_, a)| *a == "release").count() >= 2, "{all:?}");
}

#[test]
fn one_of_many_probes_first_one_that_was_not_limited() {
    let mut tasks: Vec<Detail> = (1..=4).map(|i| held(&format!("t_0000000{i}"), -1)).collect();
    for d in &mut tasks {
        d.task.assignee = Some("mira".into());
    }
    for d in &mut tasks[..3] {
        d.runs = vec![run(7, "mira", Some("crashed"))];
    }
    let d = told(&with(tasks, vec![refused("a", Cause::RateLimit, 2_000)]));
    let probes: Vec<_> = d.steps.iter().filter(|s| s.action == "probe").map(|s| s.task.as_str()).collect();
    assert_eq!(probes, ["t_00000004"]);
    // The others' holds are over: each gets a new end.
    let again: Vec<_> = d.steps.iter().filter(|s| s.action == "extend").collect();
    assert_eq!(again.len(), 3);
    assert!(again.iter().all(|s| hold_ends(s).unwrap() > NOW));
}

#[test]
fn what_is_parked_is_ready_free_and_nobodys_decision() {
    let s = with(Vec::new(), limited());
    let (config, known, pass) = (Config::default(), known(), pass());
    let router = router(&s.routing, &config, &known);
    let trees = std::collections::BTreeMap::new();
    let scribe = Scribe { pass: &pass, config: &config, now: NOW, trees: &trees };
    let parks = |change: &dyn Fn(&mut Detail)| {
        let mut d = detail("t_00000001", Status::Ready);
        d.task.assignee = Some("luna".into());
        change(&mut d);
        policy::routing::holds::park_ready(&router, &scribe, &d).is_some()
    };
    assert!(parks(&|_| {}));
    assert!(!parks(&|d| d.task.assignee = None));
    assert!(!parks(&|d| d.task.assignee = Some("sol".into())), "that provider answers");
    assert!(!parks(&|d| d.task.status = Status::Todo));
    assert!(!parks(&|d| d.task.claim_lock = Some("h:1".into())));
    assert!(!parks(&|d| d.events.push(event("unblocked", 1, json!({})))), "somebody knows better");
}

#[test]
fn a_task_that_is_moved_out_of_its_wait_leaves_a_card_of_what_it_died_of() {
    let mut d = held("t_00000001", 300);
    let hold = d.events.last_mut().unwrap();
    hold.payload["watchbill"]["run"] = json!(4);
    hold.payload["watchbill"]["ended"] = json!("its log ends on HTTP 429");
    let out = told(&with(vec![d.clone()], limited()));
    let made = out.steps[0].changes.iter().find_map(|c| match c {
        Change::AddAnother { task, .. } => Some(task),
        _ => None,
    });
    let made = made.unwrap();
    assert_eq!(made.title, "[BLOCKED] t_00000001 rate_limited");
    assert_eq!(made.idempotency_key.as_deref(), Some("distress:t_00000001:rate_limit:4"));
    assert_eq!((made.assignee.as_deref(), made.priority), (Some("tuesday"), d.task.priority + 1));
    let body = made.body.as_deref().unwrap();
    assert!(body.contains("moved to sol by rule") && body.contains("its log ends on HTTP 429"), "{body}");
}

#[test]
fn a_moved_task_takes_its_card_along_or_leaves_the_incident() {
    let c = card("t_0000cafe", "t_00000001", "rate_limited", Status::Ready);
    let mut d = held("t_00000001", 300);
    tie(&mut d, &c);
    let mut s = with(vec![d.clone()], limited());
    s.cards = vec![c.clone()];
    let out = told(&s);
    assert_eq!(actions(&out), [("t_00000001", "move"), ("t_0000cafe", "close-card")]);
    assert_eq!(
        out.steps[1].after,
        ["t_00000001"],
        "a card never closes while its task moved away under a hand"
    );
    assert_eq!(
        status(&out.steps[0]),
        Some(&Status::Ready),
        "its card is no parent that it waits for any more"
    );

    // What its orchestrator's own attempt showed outlasts the card.
    let mut refused = s.clone();
    refused.cards[0].cause = Some(Cause::ServerError);
    refused.cards[0].detail.runs = vec![run(9, "tuesday", Some("crashed"))];
    let noted = payload(&told(&refused).steps[1], "watchbill_signal").unwrap();
    assert_eq!(
        (&noted["watchbill"]["cause"], &noted["watchbill"]["host"]),
        (&json!("server_error"), &json!("d"))
    );

    // A card that is claimed decides.
    let mut taken = s.clone();
    taken.cards[0].detail.task.status = Status::Running;
    assert_eq!(told(&taken).steps, []);

    // An incident's card goes on for the others.
    let mut incident = c;
    incident.detail.task.idempotency_key = Some("distress:incident:a:1".into());
    s.cards = vec![incident];
    let out = told(&s);
    assert_eq!(actions(&out), [("t_00000001", "move")]);
    assert!(out.steps[0].changes.contains(&Change::Unlink { parent: "t_0000cafe".into() }));
    assert_eq!(status(&out.steps[0]), Some(&Status::Ready));
}

#[test]
fn what_heal_parked_is_looked_after_once_it_has_its_card() {
    let parked = |cause: &str, until: i64| {
        let mut d = detail("t_00000001", Status::Scheduled);
        let hold = json!({"owner": "heal", "cause": cause, "since": ago(600).0, "until": NOW.plus(until).0});
        d.events.push(event("scheduled", 600, json!({"by": "heal", "watchbill": {"hold": hold}})));
        d
    };
    let hold = |until: i64| parked("rate_limit", until);
    let out = told(&with(vec![hold(300)], limited()));
    assert_eq!(out.steps, [], "synthesize-distress reads its log first");
    assert_eq!(out.left[0].because, "synthesize-distress looks first at what heal held");
    assert_eq!(out.left[0].next, Some(NOW.plus(300)));

    let c = card("t_0000cafe", "t_00000001", "rate_limited", Status::Ready);
    let carded = |until: i64, fallbacks: &[&str], sightings: Vec<Sighting>| {
        let mut d = hold(until);
        tie(&mut d, &c);
        let mut s = with(vec![d], sightings);
        s.routing.profiles.insert("luna".into(), profile("luna", "a", fallbacks));
        s.cards = vec![c.clone()];
        s
    };
    let out = told(&carded(300, &["sol"], limited()));
    assert_eq!(actions(&out), [("t_00000001", "move"), ("t_0000cafe", "close-card")]);
    // Nobody may take it: it waits as long as its provider refuses, and no longer.
    let out = told(&carded(300, &[], limited()));
    assert!(out.steps.is_empty() && out.left[0].because.contains("no fallback is named"), "{out:?}");
    assert_eq!(actions(&told(&carded(-1, &[], limited()))), [("t_00000001", "extend")]);
    let over = vec![refused("a", Cause::RateLimit, 2_000)];
    assert_eq!(
        actions(&told(&carded(-1, &[], over))),
        [("t_00000001", "probe"), ("t_0000cafe", "close-card")]
    );
    // A person mends it, and no try.
    for cause in ["quota", "credential"] {
        let mut d = parked(cause, -1);
        tie(&mut d, &c);
        let mut s = with(vec![d], Vec::new());
        s.cards = vec![c.clone()];
        let named = s.clone();
        s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
        let out = told(&s);
        assert!(out.steps.is_empty() && out.left[0].because.starts_with("waiting does not fix "), "{out:?}");
        // Its profile has another key, or another profile has it: then it is tried.
        let mut mended = s.clone();
        mended.tasks[0].runs.insert(0, run(7, "luna", Some("crashed")));
        mended.routing.profiles.get_mut("luna").unwrap().changed = Some(ago(5));
        assert_eq!(
            actions(&told(&mended)),
            [("t_00000001", "release"), ("t_0000cafe", "close-card")],
            "{cause}"
        );
        mended.routing.profiles.get_mut("luna").unwrap().changed = None;
        assert_eq!(told(&mended).steps, [], "{cause}");
        mended.tasks[0].task.assignee = Some("vega".into());
        mended.tasks[0].events.push(event("assigned", 5, json!({"assignee": "vega"})));
        assert_eq!(actions(&told(&mended))[0], ("t_00000001", "release"), "{cause}");
        // So it is where its card was closed for that.
        mended.cards.clear();
        mended.tasks[0].cards.clear();
        mended.tasks[0].parents.clear();
        assert_eq!(actions(&told(&mended)), [("t_00000001", "release")], "{cause}");
        // A fallback that was named since takes it.
        let out = told(&named);
        assert_eq!(actions(&out), [("t_00000001", "move"), ("t_0000cafe", "close-card")], "{cause}");
        // More than it may take at once wait for their turn, and are not tried where they are.
        let mut busy = named.clone();
        busy.routing.profiles.insert("luna".into(), profile("luna", "a", &["sol", "vega"]));
        busy.routing.sent = [sent(9, "b", 60, true), sent(9, "c", 60, true)].concat();
        let out = told(&busy);
        assert!(out.steps.is_empty() && !out.left[0].because.contains("waiting does not fix"), "{out:?}");
        // Given to its profile again by hand, it stays there.
        let mut given = named;
        let by_hand = json!({"by": "heal", "watchbill": {"hold": {"owner": "heal", "cause": cause, "since": ago(600).0,
            "until": NOW.plus(-1).0}, "given": true}});
        given.tasks[0].events.pop();
        given.tasks[0].events.push(event("scheduled", 600, by_hand));
        let out = told(&given);
        assert!(out.steps.is_empty() && out.left[0].because.starts_with("waiting does not fix "), "{out:?}");
    }
    // A quota of some hours ends when its provider says, with the next try.
    for (until, want) in [(-1, vec![("t_00000001", "probe"), ("t_0000cafe", "close-card")]), (300, vec![])] {
        let mut d = parked("quota", until);
        d.runs.insert(0, run(7, "luna", Some("crashed")));
        let stated = json!({"by": "synthesize-distress", "watchbill": {"cause": "quota", "run": 7, "profile": "luna",
            "resets": NOW.plus(until).0, "seen": ago(600).0, "began": ago(900).0}});
        let last = d.events.len() - 1;
        d.events.insert(last, event("watchbill_signal", 550, stated));
        tie(&mut d, &c);
        let mut s = with(vec![d], vec![]);
        s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
        let stated = News::Bad { cause: Cause::Quota, resets: Some(NOW.plus(until)) };
        s.routing.sightings = vec![Sighting { news: stated, ..refused("a", Cause::Quota, 600) }];
        s.cards = vec![c.clone()];
        assert_eq!(actions(&told(&s)), want, "{until}");
    }
    // An orchestrator that has begun decides.
    let mut taken = carded(300, &["sol"], limited());
    taken.cards[0].detail.task.status = Status::Running;
    let out = told(&taken);
    assert!(out.steps.is_empty() && out.left[0].because == "card t_0000cafe decides", "{out:?}");
}

/// Tasks that heal held, whose cards were completed without a decision so many seconds ago.
fn unanswered(n: usize, cause: Cause, until: i64, completed: i64) -> Seen {
    let mut s = with(Vec::new(), Vec::new());
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
    for i in 1..=n {
        let (id, card_id) = (format!("t_0000000{i}"), format!("t_0000caf{i}"));
        let mut c = card(&card_id, &id, cause.blocker_type().unwrap().as_str(), Status::Done);
        let own = |kind: &str, at: i64| board::Event { run: Some(9), ..event(kind, at, json!({})) };
        c.detail.events.extend([own("claimed", completed + 60), own("completed", completed)]);
        c.detail.runs = vec![run(9, "tuesday", Some("completed"))];
        let mut d = detail(&id, Status::Scheduled);
        d.runs = vec![board::Run { started_at: ago(9_000), ..run(7, "luna", Some("crashed")) }];
        let hold =
            json!({"owner": "heal", "cause": cause, "since": ago(8_000).0, "until": NOW.plus(until).0});
        d.events.push(event("scheduled", 8_000, json!({"by": "heal", "watchbill": {"hold": hold}})));
        d.events.push(event("linked", 7_900, json!({"by": "synthesize-distress", "parent": card_id})));
        c.detail.task.created_at = ago(7_900);
        tie(&mut d, &c);
        d.cards.clear();
        s.tasks.push(d);
        s.answered.push(c.detail);
    }
    s
}

#[test]
fn a_hold_whose_card_was_closed_without_a_decision_is_looked_after_like_any_other() {
    let (one, two) = ("t_00000001", "t_00000002");
    let limited = |refused_at: i64| vec![refused("a", Cause::RateLimit, refused_at)];
    let acts = |s: &Seen| -> Vec<(String, String)> {
        actions(&told(s)).into_iter().map(|(id, a)| (id.to_owned(), a.to_owned())).collect()
    };
    let want = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter().map(|(id, a)| ((*id).to_owned(), (*a).to_owned())).collect()
    };
    // One tries first, and the other one waits for it.
    let mut s = unanswered(2, Cause::RateLimit, -60, 300);
    s.routing.sightings = limited(2_000);
    assert_eq!(acts(&s), want(&[(one, "probe"), (two, "extend")]));
    // A hold that is not over lasts.
    let mut s = unanswered(1, Cause::RateLimit, 600, 300);
    s.routing.sightings = limited(30);
    let d = told(&s);
    assert!(d.steps.is_empty() && d.left[0].because.starts_with("held until "), "{d:?}");
    // A fallback takes it at once.
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &["sol"]));
    assert_eq!(acts(&s)[0], want(&[(one, "move")])[0]);
    // A card of before the hold, and one whose decision is still to be carried out, judge nothing.
    let mut older = unanswered(1, Cause::RateLimit, -60, 300);
    older.routing.sightings = limited(2_000);
    let mut unread = older.clone();
    older.tasks[0].events.swap(1, 2);
    unread.answered[0].runs[0].route = Some(json!({"task": one, "action": "unblock"}));
    unread.runtime.as_mut().unwrap().profiles = Profiles::Unknown("denied".into());
    let mut refused_now = unread.clone();
    refused_now.runtime.as_mut().unwrap().profiles = known();
    refused_now.answered[0].runs[0].route = Some(json!("{broken"));
    assert_eq!(acts(&refused_now), want(&[("t_0000caf1", "note-decision"), (one, "probe")]));
    for (s, want) in [(older, crate::route::UNJUDGED), (unread, "card t_0000caf1 decides")] {
        let d = told(&s);
        let because = &d.left.iter().find(|l| l.task == one).unwrap().because;
        assert_eq!((actions(&d), because.as_str()), (vec![], want), "{d:?}");
    }

    for cause in [Cause::Credential, Cause::Quota] {
        let refusals = |seconds: i64| vec![refused("a", cause, seconds)];
        // A person mends it, and no try: its orchestrator is asked again, also where the hold is over.
        for until in [600, -60] {
            let mut s = unanswered(1, cause, until, 700);
            s.routing.sightings = refusals(8_500);
            assert_eq!(acts(&s), want(&[(one, "ask-again")]), "{cause} {until}");
            let mut s = unanswered(1, cause, until, 300);
            s.routing.sightings = refusals(8_500);
            let d = told(&s);
            assert!(d.steps.is_empty() && d.left[0].because.starts_with("waiting does not fix "), "{d:?}");
        }
        // The key was changed: one tries first.
        let mut s = unanswered(2, cause, 9_000, 300);
        s.routing.sightings = refusals(if cause == Cause::Quota { 40_000 } else { 8_500 });
        s.routing.profiles.get_mut("luna").unwrap().changed = Some(ago(60));
        assert_eq!(acts(&s), want(&[(one, "probe")]), "{cause}");
        // It was answered with the new key: all go on. Others that were answered may have another account or model.
        for (changed, want) in [(Some(ago(60)), "release"), (None, "ask-again")] {
            let mut s = unanswered(2, cause, 9_000, 700);
            s.routing.sightings = refusals(8_500);
            let good = Sighting { news: News::Good, at: ago(5), began: ago(50), ..refused("a", cause, 5) };
            s.routing.sightings.push(good);
            s.routing.profiles.get_mut("luna").unwrap().changed = changed;
            assert_eq!(
                acts(&s),
                [(one.to_owned(), want.to_owned()), (two.to_owned(), want.to_owned())],
                "{cause} {changed:?}"
            );
        }
    }
}

#[test]
fn the_cool_down_is_lifted_for_what_moves_and_only_for_that() {
    let mut d = held("t_00000001", 300);
    d.runs = vec![run(7, "luna", Some("rate_limited"))];
    let lifted = |step: &Step| {
        step.changes.iter().any(|c| matches!(c, Change::PastRun { outcome, .. } if outcome == "reclaimed"))
    };
    assert!(lifted(&told(&with(vec![d.clone()], limited())).steps[0]));
    d.task.assignee = Some("mira".into());
    let out = told(&with(vec![d], vec![refused("a", Cause::RateLimit, 2_000)]));
    assert!(out.steps[0].action == "probe" && !lifted(&out.steps[0]), "{out:?}");
}

#[test]
fn a_person_lifts_what_a_person_stopped() {
    let c = card("t_0000cafe", "t_00000001", "rate_limited", Status::Ready);
    let blocked = |by: Value, run: Option<i64>| {
        let mut d = detail("t_00000001", Status::Blocked);
        d.events.push(board::Event { run, ..event("blocked", 700, by) });
        tie(&mut d, &c);
        let mut s = with(vec![d], limited());
        s.cards = vec![c.clone()];
        told(&s).steps.len()
    };
    assert_eq!(blocked(json!({"reason": "wait"}), None), 0);
    assert_eq!(blocked(json!({"reason": "rate limited", "kind": "capability"}), Some(7)), 0);
    assert_eq!(blocked(json!({"by": "board", "watchbill": {"card": "t_0000cafe"}}), Some(7)), 2);
    assert_eq!(blocked(json!({"reason": "Goal-mode worker exhausted its turn budget (20/20)"}), Some(7)), 2);
}

#[test]
fn whoever_gives_a_parked_task_to_a_profile_means_that_one() {
    let mut d = held("t_00000001", 3_000);
    d.task.assignee = Some("vega".into());
    d.events.push(event("assigned", 100, json!({"assignee": "vega"})));
    let mut s = with(vec![d], limited());
    s.routing.profiles.insert("vega".into(), profile("vega", "c", &["sol"]));
    let out = told(&s);
    assert_eq!((actions(&out), assigned(&out.steps[0])), (vec![("t_00000001", "release")], None));

    // And still does once its hold was prolonged, since it must wait for a place there.
    let mut d = held("t_00000001", -1);
    d.task.assignee = Some("vega".into());
    d.events.push(event("assigned", 100, json!({"assignee": "vega"})));
    s.tasks = vec![d];
    s.routing.sent = sent(2, "c", 30, true);
    let out = told(&s);
    assert_eq!(actions(&out), [("t_00000001", "extend")]);
    let prolonged = payload(&out.steps[0], "scheduled").unwrap();
    s.tasks[0].events.push(event("scheduled", 0, prolonged));
    assert_eq!(told(&s).steps, [], "nobody moves it on");
}

#[test]
fn what_is_forged_over_a_persons_word_lifts_nothing() {
    let mut scheduled = detail("t_00000001", Status::Scheduled);
    scheduled.events.push(event("scheduled", 700, json!({"reason": "next week"})));
    let hold = json!({"owner": ROUTE_BLOCKED, "cause": "rate_limit", "until": 1});
    let ours = json!({"by": ROUTE_BLOCKED, "watchbill": {"hold": hold}});
    scheduled.events.push(event("scheduled", 600, ours));
    assert_eq!(told(&with(vec![scheduled], limited())).steps, []);

    let c = card("t_0000cafe", "t_00000001", "rate_limited", Status::Ready);
    let mut blocked = detail("t_00000001", Status::Blocked);
    blocked.events.push(event("blocked", 700, json!({"reason": "wait"})));
    blocked.events.push(event("blocked", 600, json!({"by": "board", "watchbill": {"card": "t_0000cafe"}})));
    tie(&mut blocked, &c);
    let mut s = with(vec![blocked], limited());
    s.cards = vec![c];
    assert_eq!(told(&s).steps, []);
}

#[test]
fn a_wait_gets_longer_with_its_age_so_that_many_do_not_write_all_the_time() {
    let mut s = with(vec![held("t_00000001", -1)], limited());
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
    let ends = |since: i64, s: &mut Seen| {
        let hold =
            json!({"owner": ROUTE_BLOCKED, "cause": "rate_limit", "since": ago(since).0, "until": ago(1).0});
        s.tasks[0].events[1].payload = json!({"by": ROUTE_BLOCKED, "watchbill": {"hold": hold}}).into();
        hold_ends(&told(s).steps[0]).unwrap().since(NOW)
    };
    let (young, old, ancient) = (ends(600, &mut s), ends(7_200, &mut s), ends(200_000, &mut s));
    assert!((900..1_100).contains(&young), "{young}");
    assert_eq!((old, ancient), (7_200, 21_600));
}

#[test]
fn what_the_breaker_gave_up_goes_on_by_itself_when_its_provider_answers() {
    let mut c = card("t_0000cafe", "t_00000001", "rate_limited", Status::Scheduled);
    let hold =
        json!({"by": "synthesize-distress", "watchbill": {"hold": {"cause": "queued", "until": NOW.0}}});
    c.detail.events.push(event("scheduled", 400, hold));
    let mut d = detail("t_00000001", Status::Blocked);
    d.runs = vec![run(1, "mira", Some("crashed"))];
    d.task.assignee = Some("mira".into());
    d.events.push(event("gave_up", 1_200, json!({"limit_source": "dispatcher"})));
    tie(&mut d, &c);
    let mut s = with(vec![d], vec![refused("a", Cause::RateLimit, 2_000)]);
    s.cards = vec![c];
    assert_eq!(actions(&told(&s)), [("t_00000001", "probe"), ("t_0000cafe", "close-card")]);
    s.routing.sightings = limited();
    assert_eq!(told(&s).steps, []);
    s.routing.sightings.clear();
    assert_eq!(told(&s).steps, [], "where nobody knows how its provider stands its card decides");
    // After a night nobody knows any more what its provider said: it is tried.
    s.tasks[0].events.last_mut().unwrap().at = ago(43_199);
    assert_eq!(told(&s).steps, []);
    s.tasks[0].events.last_mut().unwrap().at = ago(43_200);
    assert_eq!(actions(&told(&s)), [("t_00000001", "release"), ("t_0000cafe", "close-card")]);
    s.tasks[0].events.last_mut().unwrap().at = ago(1_200);
    // Another provider than its own refused it: a fallback inside Hermes, or what its profile had before.
    let elsewhere = Sighting {
        task: "t_00000001".into(),
        profile: Some("mira".into()),
        ..refused("b", Cause::RateLimit, 100)
    };
    s.tasks[0].runs[0].started_at = elsewhere.began;
    s.routing.sightings = vec![elsewhere.clone()];
    assert_eq!(told(&s).steps, []);
    s.routing.profiles.get_mut("mira").unwrap().changed = Some(ago(161));
    assert_eq!(told(&s).steps, []);
    // While the attempt ran, which asked the one before to its end.
    for changed in [150, 50] {
        s.routing.profiles.get_mut("mira").unwrap().changed = Some(ago(changed));
        assert_eq!(actions(&told(&s)), [("t_00000001", "release"), ("t_0000cafe", "close-card")]);
    }
    // Given to another profile, or pinned, by hand.
    s.routing.profiles.get_mut("mira").unwrap().changed = None;
    s.tasks[0].runs[0].profile = Some("sol".into());
    s.routing.sightings = vec![Sighting { profile: Some("sol".into()), ..elsewhere.clone() }];
    assert_eq!(actions(&told(&s)), [("t_00000001", "release"), ("t_0000cafe", "close-card")]);
    s.tasks[0].runs[0].profile = Some("mira".into());
    s.routing.sightings = vec![elsewhere];
    s.tasks[0].events.insert(0, event("model_override_set", 90, json!({})));
    assert_eq!(actions(&told(&s)), [("t_00000001", "release"), ("t_0000cafe", "close-card")]);
    // An attempt since then ended on something else.
    s.tasks[0].runs.insert(0, board::Run { started_at: ago(40), ..run(2, "mira", Some("crashed")) });
    assert_eq!(told(&s).steps, []);
}

#[test]
fn what_is_unblocked_by_hand_waits_for_no_card_that_goes_on() {
    for (is_claimed, key, want) in
        [(true, "distress:t_00000001:x:1", "normalise"), (false, "distress:incident:a:1", "normalise")]
    {
        let mut c = card("t_0000cafe", "t_00000001", "rate_limited", Status::Ready);
        c.detail.task.idempotency_key = Some(key.into());
        if is_claimed {
            c.detail.task.status = Status::Running;
        }
        let mut freed = detail("t_00000001", Status::Todo);
        tie(&mut freed, &c);
        freed.events.push(event("linked", 300, json!({"parent": "t_0000cafe"})));
        let mut s = with(vec![freed.clone()], limited());
        s.cards = vec![c.clone()];
        assert!(!actions(&told(&s)).contains(&("t_00000001", want)), "{key}");
        s.tasks[0].events.push(event("unblocked", 20, json!({})));
        assert!(actions(&told(&s)).contains(&("t_00000001", want)), "{key}: {:?}", told(&s));
        // The orchestrator goes on to decide.
        s.tasks[0].card_work = vec![(ago(60), None)];
        assert!(!actions(&told(&s)).contains(&("t_00000001", want)), "{key}");
        s.tasks[0].card_work.clear();
        // By a watcher, or before it was tied.
        s.tasks[0].events.last_mut().unwrap().payload = json!({"by": ROUTE_BLOCKED, "watchbill": {}}).into();
        assert!(!actions(&told(&s)).contains(&("t_00000001", want)), "{key}");
        s.tasks[0].events.last_mut().unwrap().payload = json!({}).into();
        s.tasks[0].events.rotate_right(1);
        assert!(!actions(&told(&s)).contains(&("t_00000001", want)), "{key}");
    }
}

#[test]
fn why_a_task_waits_is_said_once() {
    let mut s = with((1..=5).map(|i| held(&format!("t_0000000{i}"), 300)).collect(), limited());
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
    s.tasks[1].body = "watchbill: no-heal".into();
    let own = card("t_0000cafe", "t_00000003", "rate_limited", Status::Ready);
    // About this one only the first look says why: its card is changed between the two, and decides from then on.
    let mut failed = card("t_0000caff", "t_00000004", "rate_limited", Status::Blocked);
    failed.cause = Some(Cause::RateLimit);
    failed.detail.events.push(event("gave_up", 100, json!({})));
    s.tasks[3] = detail("t_00000004", Status::Blocked);
    s.tasks[3].events.push(event("gave_up", 1_200, json!({"limit_source": "dispatcher"})));
    tie(&mut s.tasks[2], &own);
    tie(&mut s.tasks[3], &failed);
    s.cards = vec![own, failed];
    s.tasks[4] = detail("t_00000005", Status::Ready);
    s.tasks[4].events.push(event("unblocked", 10, json!({})));
    let d = told(&s);
    assert_eq!(actions(&d), [("t_0000caff", "park-card")]);
    let mut left: Vec<_> = d.left.iter().map(|l| (l.task.as_str(), l.because.as_str())).collect();
    left.sort_unstable();
    let ids: Vec<_> = left.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, ["t_00000001", "t_00000002", "t_00000003", "t_00000004", "t_00000005"], "{left:?}");
    for (said, part) in
        left.iter().zip(["held until", "no-heal", "held until", "t_0000caff decides", "released it since"])
    {
        assert!(said.1.contains(part), "{left:?}");
    }
}

#[test]
fn what_waits_is_told_from_its_row_alone() {
    let row = |status: Status, started: bool, blocked: bool| {
        let mut t = detail("t_00000001", status).task.clone();
        t.started_at = started.then(|| ago(900));
        t.block_kind = blocked.then(|| "needs_input".into());
        crate::route::seen::may_wait(&t)
    };
    for (status, never, tried, stopped) in [
        (Status::Scheduled, true, true, true),
        (Status::Blocked, true, true, true),
        (Status::Todo, false, true, true),
        (Status::Triage, false, false, true),
        (Status::Ready, false, false, false),
        (Status::Running, false, false, false),
        (Status::Done, false, false, false),
    ] {
        let got = (
            row(status.clone(), false, false),
            row(status.clone(), true, false),
            row(status.clone(), false, true),
        );
        assert_eq!(got, (never, tried, stopped), "{status}");
    }
}

/// A task of luna's that is pinned to the provider at host c.
fn pinned(mut d: Detail) -> Detail {
    d.task.pin = Pin { model: Some("m2".into()), provider: Some("star".into()) };
    d
}

/// luna on provider a, who knows where star is.
fn knows_star(fallbacks: &[&str]) -> Profile {
    let listed = [("star".to_owned(), Some("c".to_owned()))].into();
    Profile { listed, ..profile("luna", "a", fallbacks) }
}

#[test]
fn a_pinned_task_waits_for_the_provider_it_names_and_for_no_other() {
    let of = |d: Detail, sightings: Vec<Sighting>, fallbacks: &[&str]| {
        let mut s = with(vec![d], sightings);
        s.routing.profiles.insert("luna".into(), knows_star(fallbacks));
        let d = told(&s);
        d.steps.first().map(|s| {
            let key = payload(s, "scheduled").map(|p| p["watchbill"]["hold"]["key"].clone());
            (s.action.to_string(), key.and_then(|k| k.as_str().map(str::to_owned)))
        })
    };
    let ready = || pinned(detail("t_00000001", Status::Ready));
    let star = || vec![refused("c", Cause::RateLimit, 30)];
    let action = |action: &str, key: Option<&str>| Some((action.to_owned(), key.map(str::to_owned)));
    assert_eq!(of(ready(), limited(), &[]), None, "its profile's own provider is no business of it");
    assert_eq!(of(ready(), star(), &[]), action("park", Some("provider:c")));
    assert_eq!(of(detail("t_00000001", Status::Ready), star(), &[]), None);
    // vega works with that provider as well, and sol with another one.
    assert_eq!(of(ready(), star(), &["vega"]), action("park", Some("provider:c")));
    assert_eq!(of(ready(), star(), &["vega", "sol"]), action("move", None));
    assert_eq!(of(pinned(held("t_00000001", -1)), limited(), &[]), action("release", None));
    assert_eq!(of(pinned(held("t_00000001", -1)), star(), &[]), action("extend", Some("provider:c")));
    // A refused key is that of its profile at one provider.
    let key = |host: &str| vec![refused(host, Cause::Credential, 30)];
    assert_eq!(of(ready(), key("a"), &[]), None);
    assert_eq!(of(ready(), key("c"), &[]), action("park", Some("provider:c")));
    assert_eq!(of(detail("t_00000001", Status::Ready), key("c"), &[]), None);
}

#[test]
fn a_card_that_this_pass_closes_keeps_no_task_from_the_next_one() {
    let own = card("t_0000caf1", "t_00000001", "rate_limited", Status::Ready);
    let mut incident = card("t_0000caf2", "t_00000001", "rate_limited", Status::Ready);
    incident.detail.task.idempotency_key = Some("distress:incident:a:1".into());
    let mut d = held("t_00000001", 300);
    [&own, &incident].into_iter().for_each(|c| tie(&mut d, c));
    let mut s = with(vec![d], limited());
    s.cards = vec![own, incident];
    assert_eq!(actions(&told(&s)), [], "one of two may decide");
    // It was given to another profile since: its own card has nothing to ask any more.
    s.tasks[0].events.push(event("assigned", 1, json!({"assignee": "sol"})));
    s.tasks[0].task.assignee = Some("sol".into());
    let first = told(&s);
    assert_eq!(actions(&first), [("t_00000001", "release"), ("t_0000caf1", "close-card")], "{first:?}");
}

#[test]
fn a_hold_ends_once_its_profile_works_with_another_provider() {
    let of = |hold: serde_json::Value, more: serde_json::Value, host: &str| {
        let mut d = detail("t_00000001", Status::Scheduled);
        let mut hold = hold;
        hold["since"] = json!(ago(600).0);
        hold["until"] = json!(NOW.plus(9_000).0);
        let mut trail = more;
        trail["hold"] = hold;
        d.events.push(event("scheduled", 600, json!({"by": ROUTE_BLOCKED, "watchbill": trail})));
        let mut s = with(vec![d], limited());
        s.routing.profiles.insert("luna".into(), profile("luna", host, &[]));
        told(&s).steps.first().map(|s| s.action.to_string())
    };
    let by_key = |key: &str| json!({"owner": ROUTE_BLOCKED, "cause": "rate_limit", "key": key});
    let refused = || json!({"cause": "rate_limit", "run": 1, "host": "a"});
    let released = Some("release".to_owned());
    for (hold, more, host, want) in [
        (by_key("provider:a"), json!({}), "a", None),
        (by_key("provider:a"), json!({}), "c", released.clone()),
        (by_key("provider:moon (a)"), json!({}), "c", released.clone()),
        (by_key("card:t_0000cafe"), refused(), "a", None),
        (by_key("card:t_0000cafe"), refused(), "c", released),
        // Who was refused nobody knows: it waits until its end.
        (by_key("hold:t_00000001:1"), json!({}), "c", None),
    ] {
        assert_eq!(of(hold.clone(), more, host), want, "{hold} at {host}");
    }
}

#[test]
fn what_changes_hands_is_pinned_no_longer_and_says_so() {
    let mut s = with(vec![pinned(held("t_00000001", -1))], vec![refused("c", Cause::RateLimit, 30)]);
    s.routing.profiles.insert("luna".into(), knows_star(&["sol"]));
    let d = told(&s);
    let step = &d.steps[0];
    assert_eq!((step.action.as_str(), assigned(step)), ("move", Some("sol")));
    assert!(step.changes.contains(&Change::ClearOverrides));
    assert!(step.because.starts_with("luna to sol, no longer pinned to m2 at star: "), "{}", step.because);
    let before = payload(step, "assigned").unwrap()["watchbill"]["before"].clone();
    assert_eq!((&before["model_override"], &before["provider_override"]), (&json!("m2"), &json!("star")));
    let note = step.changes.iter().find_map(|c| match c {
        Change::AddComment { body, .. } => Some(body.clone()),
        _ => None,
    });
    assert!(note.is_some_and(|n| n.contains("Its pin to m2 at star was taken off.")));
    // Given, to begin with it in its turn.
    let (config, known, pass) = (Config::default(), known(), pass());
    let router = router(&s.routing, &config, &known);
    let trees = std::collections::BTreeMap::new();
    let scribe = Scribe { pass: &pass, config: &config, now: NOW, trees: &trees };
    let to = Target { profile: "sol".into(), id: router.profile("sol").id() };
    let why = Why::new(board::Rule::Decision, "decided");
    let given = scribe.given(&s.tasks[0], &to, NOW.plus(60), why);
    assert!(given.changes.contains(&Change::ClearOverrides), "{given:?}");
}

// Where its dispatcher buried the attempt nobody told of it yet.
#[test]
fn what_goes_on_takes_the_record_of_its_worker_along() {
    let c = card("t_0000cafe", "t_00000001", "rate_limited", Status::Ready);
    let packet = json!({"by": "board", "watchbill": {"packet": {"step": "the lexer"}}});
    let mut d = detail("t_00000001", Status::Scheduled);
    d.events.push(event("watchbill_packet", 700, packet));
    let hold = json!({"owner": "heal", "cause": "rate_limit", "since": ago(600).0, "until": ago(1).0});
    d.events.push(event("scheduled", 600, json!({"by": "heal", "watchbill": {"hold": hold}})));
    tie(&mut d, &c);
    for (sightings, fallbacks, action) in
        [(limited(), &["sol"][..], "move"), (vec![refused("a", Cause::RateLimit, 2_000)], &[], "probe")]
    {
        let mut s = with(vec![d.clone()], sightings);
        s.routing.profiles.insert("luna".into(), profile("luna", "a", fallbacks));
        s.cards = vec![c.clone()];
        let out = told(&s);
        assert_eq!(actions(&out)[0], ("t_00000001", action));
        let said: Vec<&String> = out.steps[0]
            .changes
            .iter()
            .filter_map(|c| match c {
                Change::AddComment { body, .. } => Some(body),
                _ => None,
            })
            .collect();
        assert!(said.len() == 1 && said[0].contains("- Step: the lexer"), "{action}: {said:?}");
    }
}

/// Its cards were completed without a decision, as often as one is asked for.
#[test]
fn what_a_limit_stopped_waits_for_its_end_and_what_no_time_mends_goes_to_a_person() {
    let hold = |d: &Detail| d.events.iter().find(|e| e.kind == EventKind::Scheduled).unwrap().clone();
    let held_by = |d: &mut Detail, by: &str| {
        let mut ours = hold(d);
        ours.payload["by"] = json!(by);
        d.events.retain(|e| e.kind != EventKind::Scheduled);
        d.events.insert(1, ours);
    };
    let given_up = |d: &mut Detail, by: Option<&str>| {
        d.task.status = Status::Blocked;
        d.events.retain(|e| e.kind != EventKind::Scheduled);
        let kind = if by.is_some() { "blocked" } else { "gave_up" };
        d.events.insert(1, event(kind, 8_000, json!({"by": by, "watchbill": {"card": "t_0000caf1"}})));
    };
    let ends = |d: &mut Detail| {
        let trail = json!({"by": "synthesize-distress", "watchbill": {"run": 7, "resets": NOW.plus(600).0}});
        d.events.push(event("linked", 7_900, trail));
    };
    type Change<'c> = &'c dyn Fn(&mut Detail);
    let person = "hand-over";
    for (cause, is_held, change, want) in [
        (Cause::RateLimit, true, &(|_: &mut Detail| {}) as Change<'_>, ""),
        (Cause::RateLimit, true, &|d| held_by(d, "synthesize-distress"), ""),
        (Cause::RateLimit, true, &|d| given_up(d, None), ""),
        // What others were refused tells when it goes on; of a worker's own block nobody knows what is limited.
        (Cause::RateLimit, false, &|d| given_up(d, None), person),
        (Cause::RateLimit, true, &|d| given_up(d, Some("board")), person),
        (Cause::Quota, true, &ends, ""),
        (Cause::Quota, true, &|_| {}, person),
        (Cause::Quota, true, &|d| held_by(d, "synthesize-distress"), person),
        (Cause::Credential, true, &|_| {}, person),
        (Cause::Credential, true, &|d| held_by(d, "synthesize-distress"), person),
    ] {
        let mut s = unanswered(1, cause, 600, 700);
        s.routing.sightings = if is_held { vec![refused("a", cause, 30)] } else { Vec::new() };
        let again = json!({"by": ROUTE_BLOCKED, "card": "t_0000caf0"});
        s.tasks[0].events.insert(1, event("watchbill_unanswered", 7_950, again));
        change(&mut s.tasks[0]);
        let acts = told(&s).steps.first().map(|s| s.action.to_string()).unwrap_or_default();
        assert_eq!(acts, want, "{cause} {:?}", s.tasks[0].events);
    }
}
