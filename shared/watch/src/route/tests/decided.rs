//! What an orchestrator says, and what is made of it.

use super::*;
use crate::route::observe::{ended, unheard};
use crate::route::seen::Outliving;
use board::{EventKind, Task};
use policy::needs_operator;

/// A card that its orchestrator finished with this decision, and the task that waits for it.
fn answered(route: Value) -> Seen {
    let mut c = card("t_0000cafe", "t_00000001", "rate_limited", Status::Done);
    c.detail.runs = vec![board::Run {
        started_at: ago(300),
        ended_at: Some(ago(200)),
        route: Some(route),
        ..run(9, "tuesday", Some("completed"))
    }];
    let own = |kind: &str, at: i64| board::Event { run: Some(9), ..event(kind, at, json!({})) };
    c.detail.events.extend([own("claimed", 300), own("spawned", 299), own("completed", 200)]);
    let mut d = held("t_00000001", 3_000);
    tie(&mut d, &c);
    d.cards.clear();
    let mut s = seen(Routing { sightings: vec![refused("a", Cause::RateLimit, 600)], ..routing() });
    // Nobody takes it mechanically: it is the orchestrator's.
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
    s.answered = vec![c.detail];
    s.tasks = vec![d];
    s
}

/// The same of a refused key, which no time mends.
fn refused_key(mut s: Seen) -> Seen {
    s.answered[0].task.title = "[BLOCKED] t_00000001 credential_failure".into();
    s.tasks[0].events.last_mut().unwrap().payload["watchbill"]["hold"]["cause"] = json!(Cause::Credential);
    s.routing.sightings = vec![refused("a", Cause::Credential, 600)];
    s
}

fn decision(action: &str, more: Value) -> Value {
    let mut all = json!({"task": "t_00000001", "action": action});
    for (k, v) in more.as_object().unwrap() {
        all[k] = v.clone();
    }
    all
}

fn said(d: &Decision) -> String {
    let note = d.steps.iter().find(|s| s.action == "note-decision").unwrap();
    payload(note, "watchbill_decided").unwrap();
    note.because.clone()
}

#[test]
fn each_decision_is_carried_out_once() {
    let d = told(&answered(decision("reassign", json!({"assignee": "sol"}))));
    assert_eq!(actions(&d), [("t_00000001", "move"), ("t_0000cafe", "note-decision")]);
    assert_eq!((assigned(&d.steps[0]), status(&d.steps[0])), (Some("sol"), Some(&Status::Ready)));
    assert_eq!(payload(&d.steps[0], "assigned").unwrap()["watchbill"]["decided_by"], "t_0000cafe");
    assert!(d.findings.is_empty() && said(&d).contains("Carried out: reassign t_00000001"), "{d:?}");

    // On with its own provider, but not before that answers again.
    let d = told(&answered(decision("unblock", json!({}))));
    assert_eq!((d.steps[0].action.as_str(), status(&d.steps[0])), ("extend", Some(&Status::Scheduled)));
    let mut s = answered(decision("unblock", json!({})));
    s.routing.sightings.clear();
    assert_eq!(told(&s).steps[0].action, "release");
    // What was never held has no cause of its own; without one no pass would know what its hold waits for.
    let mut s = answered(decision("unblock", json!({})));
    s.tasks[0].task.status = Status::Blocked;
    s.tasks[0].events.push(event("gave_up", 550, json!({"limit_source": "dispatcher"})));
    let d = told(&s);
    assert_eq!((d.steps[0].action.as_str(), d.steps[0].cause), ("park", Some(Cause::RateLimit)), "{d:?}");

    let d = told(&answered(decision("human", json!({"reason": "it costs money"}))));
    assert_eq!((d.steps[0].action.as_str(), status(&d.steps[0])), ("hand-over", Some(&Status::Blocked)));
    assert_eq!(payload(&d.steps[0], "blocked").unwrap()["cause"], "orchestrator");
    assert!(d.steps[0].because.contains("it costs money"));

    // Dealt with.
    let mut s = answered(decision("human", json!({})));
    let note = json!({"by": ROUTE_BLOCKED, "accepted": 1});
    s.answered[0].events.push(event("watchbill_decided", 100, note));
    let by = json!({"by": ROUTE_BLOCKED, "watchbill": {"decided_by": "t_0000cafe"}});
    s.tasks[0].events.push(event("blocked", 100, by));
    assert_eq!(told(&s).steps, []);
}

#[test]
fn a_decision_waits_for_the_claim_that_was_left_on_its_task() {
    for status in [Status::Scheduled, Status::Blocked, Status::Todo, Status::Ready] {
        let mut s = answered(decision("reassign", json!({"assignee": "sol"})));
        if status != Status::Scheduled {
            s.tasks[0].events.push(event("gave_up", 550, json!({"limit_source": "dispatcher"})));
        }
        s.tasks[0].task.status = status;
        s.tasks[0].task.claim_lock = Some("h:1".into());
        s.tasks[0].task.claim_expires = Some(ago(3_599));
        let d = told(&s);
        assert!(d.steps.is_empty() && d.findings.is_empty(), "{d:?}");
        let waits =
            |d: &Decision| d.left.iter().any(|l| l.because.contains("once the claim that was left on it"));
        assert!(waits(&d), "{d:?}");
        // Nobody ends these.
        let mut marked = s.clone();
        marked.tasks[0].body = "watchbill: no-heal".into();
        let mut over = s.clone();
        over.tasks[0].task.claim_expires = Some(ago(3_600));
        for s in [marked, over] {
            let d = told(&s);
            assert!(!waits(&d) && d.findings.len() == 1, "{d:?}");
        }
        s.tasks[0].task.claim_lock = None;
        assert_eq!(told(&s).steps[0].action, "move");
        // A claim elsewhere holds nothing up.
        let mut other = held("t_other", 3_000);
        other.task = Task { id: "t_other".into(), claim_lock: Some("h:1".into()), ..s.tasks[0].task.clone() };
        s.tasks.push(other);
        assert_eq!(told(&s).steps[0].action, "move");
    }
}

#[test]
fn a_split_makes_narrow_tasks_that_come_first() {
    // luna's provider is held: her part waits for that from the start.
    let children = json!({"children": [
        {"title": "Count the red lanterns", "in_scope": ["red/**"], "max_files": 4},
        {"title": "Count the blue lanterns", "in_scope": ["blue/**"], "assignee": "sol"},
    ]});
    let d = told(&answered(decision("split", children)));
    assert_eq!(actions(&d), [("t_00000001", "split"), ("t_0000cafe", "note-decision")]);
    let made: Vec<_> = d.steps[0]
        .changes
        .iter()
        .filter_map(|c| match c {
            Change::AddAnother { id, task, status, .. } => Some((id, task, status)),
            _ => None,
        })
        .collect();
    assert_eq!(
        made.iter().map(|(_, t, s)| (t.assignee.as_deref(), *s)).collect::<Vec<_>>(),
        [(Some("luna"), &Status::Scheduled), (Some("sol"), &Status::Ready)]
    );
    let body = made[0].1.body.as_deref().unwrap();
    assert!(
        body.contains("## Scope") && body.contains("- In scope: `red/**`") && body.contains("- Max files: 4"),
        "{body}"
    );
    assert_eq!(made[0].1.idempotency_key.as_deref(), Some("split:t_0000cafe:1"));
    for (id, ..) in &made {
        assert!(
            d.steps[0].changes.contains(&Change::Link { parent: (*id).clone() }),
            "the source waits for {id}"
        );
    }
    assert_eq!(status(&d.steps[0]), Some(&Status::Todo));
}

#[test]
fn the_parts_of_a_split_share_a_folder_and_nothing_else() {
    let split =
        json!({"children": [{"title": "Count the red lanterns", "in_scope": ["red/**"], "assignee": "sol"}]});
    for (kind, own, path) in
        [("dir", "dir", Some("/srv/lanterns")), ("worktree", "scratch", None), ("scratch", "scratch", None)]
    {
        let mut s = answered(decision("split", split.clone()));
        let (kind, at) = (Some(kind.to_owned()), Some("/srv/lanterns".to_owned()));
        s.tasks[0].place = board::Place { kind, path: at, ..board::Place::default() };
        let d = told(&s);
        let made = d.steps[0].changes.iter().find_map(|c| match c {
            Change::AddAnother { task, .. } => Some(task),
            _ => None,
        });
        let made = made.unwrap();
        assert_eq!((made.workspace_kind.as_deref(), made.workspace_path.as_deref()), (Some(own), path));
    }
}

// A gateway tries again by itself: its next attempt may run before the card of the one before is answered.
#[test]
fn to_unblock_what_runs_already_is_fulfilled_and_no_refusal() {
    let running = |action: &str, more: Value| {
        let mut s = answered(decision(action, more));
        s.tasks[0].task.status = Status::Running;
        s.tasks[0].task.current_run = Some(12);
        s.tasks[0].runs.insert(0, run(12, "luna", None));
        told(&s)
    };
    let d = running("unblock", json!({}));
    assert_eq!(actions(&d), [("t_0000cafe", "note-decision")]);
    assert_eq!(d.findings, [""; 0]);
    assert!(
        said(&d).contains("Carried out: unblock t_00000001 (nothing to do: it is running already)"),
        "{d:?}"
    );
    // Its orchestrator ran the command itself.
    let d = running("reassign", json!({"assignee": "luna"}));
    assert_eq!((actions(&d).len(), d.findings.len()), (1, 0), "{d:?}");
    assert!(said(&d).contains("reassign t_00000001 (nothing to do: it is theirs already)"), "{d:?}");
    // Another profile was meant, and that it is not.
    let d = running("reassign", json!({"assignee": "sol"}));
    assert!(d.findings.len() == 1 && said(&d).contains("moved on: it is running"), "{d:?}");
}

#[test]
fn what_must_not_be_is_refused_and_changes_nothing_else() {
    let refused = |s: Seen| {
        let d = told(&s);
        assert_eq!(d.steps.len(), 1, "{d:?}");
        assert_eq!(d.findings.len(), 1, "{d:?}");
        said(&d)
    };
    let with = |route: Value| refused(answered(route));
    assert!(with(decision("reassign", json!({"assignee": "gone"}))).contains("there is no profile gone"));
    assert!(
        with(decision("reassign", json!({"assignee": "mira"}))).contains("mira cannot take it: a is limited")
    );
    assert!(with(decision("reassign", json!({"assignee": "../x"}))).contains("not a profile name"));
    assert!(with(json!({"task": "t_0000cafe", "action": "unblock"})).contains("names the card itself"));
    assert!(with(json!({"task": "t_00000777", "action": "unblock"})).contains("not the task of this card"));
    assert!(with(json!("{broken")).contains("not valid JSON"));
    assert!(
        with(decision("split", json!({"children": [{"title": "x", "assignee": "gone"}]})))
            .contains("no profile gone")
    );

    let mut s = answered(decision("unblock", json!({})));
    s.tasks[0].task.status = Status::Done;
    assert!(refused(s).contains("moved on: it is done"));
    let mut s = answered(decision("unblock", json!({})));
    s.tasks[0].events.push(event("unblocked", 100, json!({})));
    s.tasks[0].task.status = Status::Ready;
    assert!(refused(s).contains("moved on: unblocked since"));
    let mut s = answered(decision("unblock", json!({})));
    s.tasks[0].task.status = Status::Blocked;
    s.tasks[0].events.push(event("blocked", 550, json!({"reason": "wait"})));
    assert!(refused(s).contains("by a decision outside Watchbill"));
    let mut s = answered(decision("unblock", json!({})));
    s.tasks[0].task.status = Status::Blocked;
    let capped =
        json!({"by": "heal", "cause": "hold-cap", "watchbill": {"pass": "p", "case": "provider-hold"}});
    s.tasks[0].events.push(event("blocked", 550, capped));
    assert!(refused(s).contains("it is blocked and a watcher left it to a person; only a person lifts that"));
    // Any user can complete a card with metadata; only the orchestrator's own attempt counts.
    let mut s = answered(decision("unblock", json!({})));
    s.answered[0].runs[0].profile = Some("sol".into());
    assert!(refused(s).contains("sol, who is not an orchestrator"));
    // Nor where several hosts share the board: its watchers gave the card to tuesday. That one is heard by a host which names another.
    let mut s = answered(decision("unblock", json!({})));
    s.shared = true;
    let mut config = Config::default();
    config.distress.orchestrator = Some("vega".into());
    assert_eq!(decide(&s, &pass(), &config).steps[0].action, "extend");
    s.answered[0].runs[0].profile = Some("sol".into());
    assert!(refused(s).contains("sol, who is not an orchestrator"));
    let mut s = answered(decision("unblock", json!({})));
    s.answered[0].events.retain(|e| e.kind != EventKind::Spawned);
    assert!(refused(s).contains("without being dispatched"), "a claim by hand bears any name");
}

#[test]
fn a_rate_limited_task_is_not_given_back_to_its_provider_by_a_decision_either() {
    let mut s = answered(decision("reassign", json!({"assignee": "mira"})));
    s.routing.sightings.clear();
    let d = told(&s);
    assert!(said(&d).contains("works with the provider that limited it"), "{d:?}");
}

#[test]
fn a_card_without_a_decision_is_asked_again_and_then_a_persons() {
    let said = |mut s: Seen, completed: i64, unanswered: Vec<(i64, &str)>| {
        s.answered[0].runs[0].route = None;
        for e in s.answered[0].events.iter_mut().filter(|e| e.kind == EventKind::Completed) {
            e.at = ago(completed);
        }
        for (at, card) in unanswered {
            s.tasks[0].events.push(event(
                "watchbill_unanswered",
                at,
                json!({"by": ROUTE_BLOCKED, "card": card}),
            ));
        }
        let d = told(&s);
        let is_handed_over = actions(&d).iter().any(|(_, action)| *action == "hand-over");
        let said = if is_handed_over { d.findings.first() } else { d.notices.values().next() };
        assert!(said.is_some_and(|s| s.contains("without a decision")), "{d:?}");
        assert_eq!(d.findings.len() + d.notices.len(), 1, "{d:?}");
        d.steps.first().map(|s| s.action.to_string()).unwrap_or_default()
    };
    let silent = |completed: i64, unanswered: Vec<(i64, &str)>| {
        let limited = said(answered(json!({})), completed, unanswered.clone());
        let of_key = said(refused_key(answered(json!({}))), completed, unanswered);
        // A limit ends, and then its task goes on by rule.
        assert_eq!(limited, if of_key == "hand-over" { "" } else { &of_key });
        of_key
    };
    assert_eq!(silent(60, vec![]), "", "its orchestrator may be about to act");
    assert_eq!(silent(700, vec![]), "ask-again");
    assert_eq!(silent(900, vec![(100, "t_0000cafe")]), "", "synthesize-distress asks");
    assert_eq!(silent(2_000, vec![(700, "t_0000cafe")]), "hand-over", "nobody asked again");
    assert_eq!(silent(700, vec![(5_000, "t_0000beef")]), "hand-over", "the second one");
    assert_eq!(silent(700, vec![(0, "t_0000beef")]), "", "another of its cards is asked again for");
}

#[test]
fn cards_without_a_decision_are_counted_anew_once_a_person_spoke_or_the_work_went_well() {
    let acts = |change: &dyn Fn(&mut Detail)| {
        let mut s = refused_key(answered(json!({})));
        s.answered[0].runs[0].route = None;
        s.answered[0]
            .events
            .iter_mut()
            .filter(|e| e.kind == EventKind::Completed)
            .for_each(|e| e.at = ago(700));
        let unanswered = json!({"by": ROUTE_BLOCKED, "card": "t_0000beef"});
        let d = &mut s.tasks[0];
        d.events = vec![event("watchbill_unanswered", 90_000, unanswered), d.events.pop().unwrap()];
        change(d);
        let d = told(&s);
        d.steps.first().map(|s| s.action.to_string()).unwrap_or_default()
    };
    let spoke = |kind: &'static str| move |d: &mut Detail| d.events.insert(1, event(kind, 80_000, json!({})));
    let worked = |hours: i64| {
        move |d: &mut Detail| {
            let (started_at, beat) = (ago(80_000), Some(ago(80_000 - hours * 3_600)));
            d.runs =
                vec![board::Run { started_at, last_heartbeat_at: beat, ..run(1, "luna", Some("crashed")) }];
        }
    };
    assert_eq!(acts(&|_| {}), "hand-over");
    assert_eq!(acts(&spoke("unblocked")), "ask-again");
    assert_eq!(acts(&spoke("completed")), "ask-again");
    assert_eq!((acts(&worked(1)).as_str(), acts(&worked(7)).as_str()), ("hand-over", "ask-again"));
    // An orchestrator's own command, run while it works on the card, does not count as a person's decision.
    assert_eq!(
        acts(&|d| {
            spoke("unblocked")(d);
            d.card_work = vec![(ago(80_100), Some(ago(79_900)))];
        }),
        "hand-over"
    );
}

#[test]
fn what_a_rule_settles_is_not_asked_again() {
    let mut s = answered(json!({}));
    s.answered[0].runs[0].route = None;
    for e in s.answered[0].events.iter_mut().filter(|e| e.kind == EventKind::Completed) {
        e.at = ago(2_000);
    }
    assert_eq!(actions(&told(&s)), [("t_00000001", "ask-again")]);
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &["sol"]));
    let d = told(&s);
    assert_eq!((actions(&d), d.findings.len()), (vec![("t_00000001", "move")], 0), "{d:?}");
    // It has to wait for its turn there, and nobody is asked meanwhile.
    s.routing.sent = sent(9, "b", 30, true);
    let d = told(&s);
    assert!(actions(&d).iter().all(|(_, action)| *action != "ask-again") && d.findings.is_empty(), "{d:?}");
}

#[test]
fn what_somebody_did_with_a_task_after_its_card_is_an_answer() {
    let linked = |seconds: i64| {
        let parent = json!({"by": "synthesize-distress", "parent": "t_0000cafe", "child": "t_00000001"});
        event("linked", seconds, parent)
    };
    let is_asked_about = |change: &dyn Fn(&mut Detail)| {
        let mut s = answered(json!({}));
        s.answered[0].runs[0].route = None;
        s.tasks[0].events.insert(0, linked(900));
        for e in s.answered[0].events.iter_mut().filter(|e| e.kind == EventKind::Completed) {
            e.at = ago(700);
        }
        change(&mut s.tasks[0]);
        let d = told(&s);
        assert_eq!((d.steps.len(), 0), (d.notices.len(), d.findings.len()), "{d:?}");
        !d.notices.is_empty()
    };
    let later = |kind: &'static str, seconds: i64| {
        move |d: &mut Detail| d.events.push(event(kind, seconds, json!({"by": "anna"})))
    };
    let earlier = |kind: &'static str, seconds: i64| {
        move |d: &mut Detail| d.events.insert(0, event(kind, seconds, json!({"by": "anna"})))
    };
    assert!(is_asked_about(&|_| {}));
    for kind in ["assigned", "unblocked", "blocked"] {
        assert!(!is_asked_about(&later(kind, 600)), "{kind}");
        assert!(is_asked_about(&earlier(kind, 950)), "{kind} before");
    }
    assert!(is_asked_about(&later("commented", 600)));
    // The clock was set back while its orchestrator worked: what was before the card bears a later time than its end.
    let before = |d: &mut Detail| {
        d.events.remove(0);
        d.events.extend([event("unblocked", 600, json!({"by": "anna"})), linked(550)]);
    };
    assert!(is_asked_about(&before));
    assert!(!is_asked_about(&|d: &mut Detail| {
        before(d);
        d.events.push(event("unblocked", 500, json!({"by": "anna"})));
    }));
    let parked = |seconds: i64| {
        let by = json!({"by": ROUTE_BLOCKED, "watchbill": {"decided_by": "t_0000beef"}});
        move |d: &mut Detail| d.events.push(event("noted", seconds, by.clone()))
    };
    assert!(!is_asked_about(&parked(600)), "another card's decision was carried out");
    assert!(is_asked_about(&parked(800)), "before it was finished");
    let card = |made: i64| {
        move |d: &mut Detail| {
            let (id, key) = ("t_0000beef".into(), String::new());
            d.cards_made.push(CardMade { id, key, status: Status::Done, created_at: ago(made) });
        }
    };
    assert!(is_asked_about(&card(600)), "an older card");
    assert!(!is_asked_about(&card(400)), "a newer one speaks for it");
}

#[test]
fn a_list_of_decisions_is_no_herd() {
    let mut s = answered(json!([]));
    let mut all = Vec::new();
    s.answered[0].task.idempotency_key = Some("distress:incident:a:1".into());
    let tied = s.tasks[0].parents.clone();
    s.tasks.clear();
    for i in 1..=5 {
        let mut d = held(&format!("t_0000000{i}"), 3_000);
        d.parents = tied.clone();
        all.push(json!({"task": d.task.id, "action": "reassign", "assignee": "sol"}));
        s.tasks.push(d);
    }
    s.answered[0].runs[0].route = Some(json!(all));
    let d = told(&s);
    let done: Vec<_> = d.steps.iter().map(|s| s.action.as_str()).collect();
    assert_eq!(done, ["move", "move", "give", "give", "give", "note-decision"]);
    assert!(d.steps[2..5].iter().all(|s| assigned(s) == Some("sol") && hold_ends(s).unwrap() > NOW), "{d:?}");
    assert_eq!(d.steps[5].after.len(), 5, "said only where all of it happened");
    for (i, route) in all.iter_mut().enumerate() {
        *route = json!({"task": format!("t_0000000{}", i + 1), "action": "unblock"});
    }
    s.answered[0].runs[0].route = Some(json!(all));
    s.routing.sightings = vec![refused("a", Cause::RateLimit, 2_000)];
    let d = told(&s);
    assert_eq!(d.steps.iter().filter(|s| s.action == "release").count(), 1, "one probes: {d:?}");
}

#[test]
fn what_was_never_stopped_and_what_nobody_knows_is_refused() {
    let mut s = answered(decision("human", json!({})));
    s.tasks[0] = detail("t_00000001", Status::Ready);
    assert!(said(&told(&s)).contains("it was never stopped"));
    let s = answered(decision("reassign", json!({"assignee": "nobody"})));
    assert!(said(&told(&s)).contains("nobody knows which provider nobody works with"));
}

#[test]
fn what_stopped_at_a_limit_set_by_hand_may_be_left_to_a_person_and_nothing_else() {
    for (action, refused) in [("human", false), ("unblock", true), ("reassign", true)] {
        let mut s = answered(decision(action, json!({"assignee": "sol"})));
        let d = &mut s.tasks[0];
        d.task.status = Status::Blocked;
        d.task.max_retries = Some(1);
        d.events =
            vec![event("created", 9_000, json!({})), event("gave_up", 600, json!({"limit_source": "task"}))];
        let said = said(&told(&s));
        assert_eq!(said.contains("by a decision outside Watchbill"), refused, "{action}: {said}");
    }
}

#[test]
fn what_was_left_behind_a_card_of_ours_is_not_forgotten() {
    let mut s = answered(decision("unblock", json!({})));
    s.answered[0].events.retain(|e| e.kind == EventKind::Created);
    s.answered[0].events.push(event("completed", 700, json!({"by": ROUTE_BLOCKED})));
    let d = told(&s);
    assert_eq!(actions(&d), [("t_00000001", "ask-again")]);
}

/// Hermes promotes what the breaker stopped once it is assigned, be it hours later when its gateway is back.
#[test]
fn a_task_that_the_operator_gave_to_another_profile_is_not_asked_about_again() {
    let given = |events: Vec<board::Event>| {
        let mut s = answered(decision("unblock", json!({})));
        s.answered[0].events.retain(|e| e.kind == EventKind::Created);
        s.answered[0].events.push(event("completed", 2_000, json!({"by": ROUTE_BLOCKED})));
        s.tasks[0].task.status = Status::Blocked;
        s.tasks[0].events = events;
        s.tasks[0].events.insert(2, event("linked", 70_000, json!({"parent": "t_0000cafe"})));
        let d = told(&s);
        (actions(&d).first().map(|(_, action)| (*action).to_owned()), d.findings.len())
    };
    let (made, stop) = (event("created", 90_000, json!({})), event("gave_up", 80_000, json!({})));
    let assigned = |payload: serde_json::Value| event("assigned", 2_100, payload);
    let of_run = |kind, seconds, payload| board::Event { run: Some(7), ..event(kind, seconds, payload) };
    let by_worker =
        [of_run("claimed", 2_060, json!({})), of_run("blocked", 2_050, json!({"reason": "which one?"}))];
    let asks = (Some("ask-again".to_owned()), 0);
    assert_eq!(given(vec![made.clone(), stop.clone()]), asks);
    assert_eq!(given(vec![made.clone(), stop.clone(), assigned(json!({"assignee": "sol"}))]), (None, 0));
    let ours = assigned(json!({"assignee": "sol", "by": ROUTE_BLOCKED}));
    assert_eq!(given(vec![made.clone(), stop.clone(), ours]), asks);
    // What a worker blocked is not unblocked by that.
    let given_on = assigned(json!({"assignee": "sol"}));
    assert_eq!(given([vec![made, stop], by_worker.to_vec(), vec![given_on]].concat()), asks);
}

#[test]
fn whoever_was_asked_again_has_ten_minutes_from_then() {
    let asked_again = |other_ago: i64| {
        let mut s = refused_key(answered(json!({})));
        s.answered[0].runs.clear();
        s.answered[0].events = vec![event("created", 9_000, json!({})), event("completed", 5_000, json!({}))];
        let again = json!({"by": ROUTE_BLOCKED, "card": "t_0000caf0"});
        s.tasks[0].events.push(event("watchbill_unanswered", other_ago, again));
        super::told(&s).steps.len()
    };
    assert_eq!((asked_again(599), asked_again(600)), (0, 1));
}

#[test]
fn a_refused_decision_leaves_nobody_in_silence() {
    let seen = |status: Status, newest: board::Event| {
        let mut s = answered(decision("reassign", json!({"assignee": "sol"})));
        s.answered[0].runs[0].ended_at = Some(ago(1_000));
        s.answered[0]
            .events
            .iter_mut()
            .filter(|e| e.kind == EventKind::Completed)
            .for_each(|e| e.at = ago(1_000));
        s.answered[0].events.push(event(
            "watchbill_decided",
            900,
            json!({"by": ROUTE_BLOCKED, "accepted": 0, "refused": 1}),
        ));
        s.tasks[0].task.status = status;
        s.tasks[0].events = vec![event("created", 9_000, json!({})), newest];
        s
    };
    let refused = |status: Status, newest: board::Event| told(&seen(status, newest));
    // A limit set by hand: no decision lifts it, so the orchestrator is asked again, and in the end a person.
    let d = refused(Status::Blocked, event("gave_up", 5_000, json!({"limit_source": "task"})));
    assert_eq!(actions(&d), [("t_00000001", "ask-again")], "{d:?}");
    assert!(d.notices.values().next().unwrap().contains("is still blocked"), "{d:?}");
    // Nothing unblocks triage: a person is told what brings it back.
    let d = refused(Status::Triage, event("block_loop_detected", 5_000, json!({})));
    assert_eq!(actions(&d), [("t_00000001", "tell")], "{d:?}");
    assert!(
        d.told.iter().any(|(said, _)| said.contains("hermes kanban specify t_00000001 (a model ")),
        "{d:?}"
    );
    let own = seen(Status::Triage, event("block_loop_detected", 5_000, json!({})));
    let d = told(&Seen { own_board: true, ..own });
    assert!(d.told.iter().any(|(said, _)| said.ends_with("unblock t_00000001")), "{d:?}");
    assert!(!d.told.iter().any(|(said, _)| said.contains("specify")), "{d:?}");
}

#[test]
fn what_a_decision_does_not_name_is_asked_about_again_at_once() {
    let mut s = answered(json!([{"task": "t_00000002", "action": "unblock"}]));
    let done = json!({"by": ROUTE_BLOCKED, "accepted": 1, "refused": 0});
    s.answered[0].events.push(event("watchbill_decided", 100, done));
    s.answered[0].task.idempotency_key = Some("distress:incident:a:1".into());
    let d = told(&s);
    assert_eq!(actions(&d), [("t_00000001", "ask-again")], "{d:?}");
    assert_eq!(d.findings, [""; 0], "nothing was refused");
    assert!(d.steps[0].because.ends_with("with a decision that does not name it"), "{d:?}");
    // It was asked about again: no word of this in later passes.
    let again = json!({"by": ROUTE_BLOCKED, "card": "t_0000cafe"});
    s.tasks[0].events.push(event("watchbill_unanswered", 60, again));
    let d = told(&s);
    assert_eq!((d.steps.len(), d.findings.len()), (0, 0), "{d:?}");
}

#[test]
fn a_task_read_before_another_pass_moved_it_is_no_finding() {
    let with = |ago: i64, refused: i64| {
        let mut s = answered(decision("reassign", json!({"assignee": "sol"})));
        s.answered[0].events.push(event(
            "watchbill_decided",
            ago,
            json!({"by": ROUTE_BLOCKED, "accepted": 1, "refused": refused}),
        ));
        let d = told(&s);
        d.findings.len() + d.notices.len()
    };
    assert_eq!((with(0, 0), with(1, 0)), (0, 0));
    assert_eq!((with(2, 0), with(0, 1)), (1, 1), "it waits since, or one of its words was refused");
}

#[test]
fn a_block_is_the_workers_where_it_came_in_a_claimed_run() {
    let of = |kind: &str, run: Option<i64>| board::Event { run, ..event(kind, 50, json!({})) };
    for (events, want) in [
        (vec![of("claimed", Some(7)), of("blocked", Some(7))], true),
        (vec![of("claimed", Some(6)), of("blocked", Some(7))], false),
        (vec![of("claimed", Some(7)), of("blocked", None)], false),
        (vec![of("claimed", Some(7)), of("blocked", Some(7)), of("blocked", None)], false),
        (vec![of("claimed", Some(7))], false),
    ] {
        let mut d = detail("t_00000001", Status::Blocked);
        d.events.extend(events.clone());
        assert_eq!(crate::route::decisions::is_by_worker(&d), want, "{events:?}");
    }
}

#[test]
fn what_a_card_said_before_it_was_opened_again_is_not_what_it_says_now() {
    let note = |at: i64, by: &str| event("watchbill_decided", at, json!({"by": by}));
    let card = |events: Vec<board::Event>| {
        let mut d = detail("t_0000cafe", Status::Done);
        d.events = events;
        policy::cards::answer::read_in(&d).map(|e| e.at)
    };
    let completed = |at: i64| event("completed", at, json!({}));
    assert_eq!(
        card(vec![completed(900), note(800, ROUTE_BLOCKED), note(700, ROUTE_BLOCKED)]),
        Some(ago(700))
    );
    assert_eq!(card(vec![completed(900), note(800, ROUTE_BLOCKED), completed(600)]), None);
    assert_eq!(card(vec![completed(900), note(800, "tuesday")]), None);
    assert_eq!(card(vec![note(800, ROUTE_BLOCKED)]), Some(ago(800)), "somebody wrote only its state");

    // Who finished it again has the whole time again, and the notice does not speak of a refused decision.
    let mut s = answered(json!({}));
    s.answered[0].runs.clear();
    s.answered[0].events = vec![completed(5_000), note(4_000, ROUTE_BLOCKED), completed(700)];
    let d = told(&s);
    let said = d.notices.values().next().unwrap();
    assert!(said.contains("completed 11m ago without a decision"), "{d:?}");
}

#[test]
fn a_task_does_not_wait_for_the_place_it_has_itself() {
    let with = |decision: Value| {
        let mut s = answered(decision);
        s.answered[0].task.title = "[BLOCKED] t_00000001 credential_failure".into();
        s.routing.sent = sent(2, "b", 30, true);
        s.tasks[0].task.status = Status::Ready;
        s.tasks[0].task.assignee = Some("sol".into());
        actions(&told(&s)).first().map(|(_, action)| (*action).to_owned())
    };
    assert_eq!(with(decision("unblock", json!({}))).as_deref(), Some("release"));
    assert_eq!(with(decision("reassign", json!({"assignee": "sol"}))).as_deref(), Some("move"));

    // And leaves it to others where it goes to a person.
    let mut s = answered(decision("human", json!({})));
    s.routing.sent = sent(2, "b", 30, true);
    s.tasks[0].task.status = Status::Ready;
    s.tasks[0].task.assignee = Some("sol".into());
    let mut other = held("t_0000000f", 300);
    other.task.assignee = Some("mira".into());
    s.routing.profiles.insert("mira".into(), profile("mira", "a", &["sol"]));
    s.tasks.push(other);
    let d = told(&s);
    let moved = d.steps.iter().find(|s| s.action == "move").map(|s| (s.task.as_str(), assigned(s)));
    assert_eq!(moved, Some(("t_0000000f", Some("sol"))), "{d:?}");
}

#[test]
fn a_hold_that_only_kept_a_task_for_its_card_does_not_say_what_stopped_it() {
    let mut s = answered(decision("unblock", json!({})));
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &["sol"]));
    let hold = json!({"owner": "heal", "cause": "worker_gone", "until": NOW.plus(600).0});
    let parked = json!({"by": "heal", "watchbill": {"cause": "worker_gone", "hold": hold}});
    s.tasks[0].events.push(event("scheduled", 400, parked));
    let d = told(&s);
    assert_eq!((d.steps[0].action.as_str(), assigned(&d.steps[0])), ("move", Some("sol")), "{d:?}");
    // Where nobody else may, the hold is known by what its provider does.
    s.routing.profiles.insert("luna".into(), profile("luna", "a", &[]));
    let d = told(&s);
    let cause = payload(&d.steps[0], "scheduled").unwrap()["watchbill"]["hold"]["cause"].clone();
    assert_eq!((d.steps[0].action.as_str(), cause), ("extend", json!("rate_limit")));
}

#[test]
fn what_one_of_us_took_off_an_incident_is_not_decided_about_on_its_card() {
    let mut s = answered(decision("unblock", json!({})));
    s.answered[0].task.idempotency_key = Some("distress:incident:a:1".into());
    assert_eq!(told(&s).steps[0].task, "t_00000001");
    s.tasks[0].parents.clear();
    s.tasks[0].cards_made.clear();
    let parted = json!({"by": ROUTE_BLOCKED, "parent": "t_0000cafe"});
    s.tasks[0].events.insert(1, event("unlinked", 700, parted));
    assert!(said(&told(&s)).contains("not the task of this card"));
}

#[test]
fn what_a_card_said_is_heard_before_its_task_is_parked() {
    let mut s = answered(decision("unblock", json!({})));
    let card = s.answered.remove(0);
    assert_eq!(unheard(&s), [""; 0], "what waits was looked at before");
    s.tasks[0].task.status = Status::Ready;
    assert_eq!(unheard(&s), ["t_0000cafe"]);
    s.tasks[0].task.status = Status::Running;
    assert_eq!(unheard(&s), ["t_0000cafe"], "tried again by the runtime");
    s.answered.push(card);
    assert_eq!(unheard(&s), [""; 0]);
}

#[test]
fn a_decision_waits_while_it_is_not_known_whose_it_is_or_whom_it_names() {
    let mut config = Config::default();
    config.distress.orchestrator = Some("tuesday".into());
    let of = |decision: Value, config: &Config| {
        let mut s = answered(decision);
        s.runtime.as_mut().unwrap().profiles = Profiles::Unknown("denied".into());
        decide(&s, &pass(), config)
    };
    let reassign = || decision("reassign", json!({"assignee": "sol"}));
    for (route, config) in [
        (reassign(), &config),
        (reassign(), &Config::default()),
        (decision("human", json!({})), &Config::default()),
    ] {
        let d = of(route, config);
        assert_eq!(actions(&d), [], "{d:?}");
        assert!(d.left.iter().any(|l| l.task == "t_0000cafe" && l.unknown), "{d:?}");
    }
    assert!(actions(&of(decision("human", json!({})), &config)).contains(&("t_0000cafe", "note-decision")));
}

/// An incident's card whose orchestrator finished it with a decision about each of these tasks.
fn answered_incident(n: usize, decision: impl Fn(&str) -> Value) -> Seen {
    let mut s = answered(json!([]));
    s.answered[0].task.idempotency_key = Some("distress:incident:a:1".into());
    let tied = s.tasks[0].parents.clone();
    let ids: Vec<String> = (1..=n).map(|i| format!("t_{i:08x}")).collect();
    s.tasks = ids.iter().map(|id| held(id, 3_000)).collect();
    s.tasks.iter_mut().for_each(|d| d.parents.clone_from(&tied));
    s.answered[0].runs[0].route = Some(ids.iter().map(|id| decision(id)).collect());
    s
}

#[test]
fn each_task_of_an_incident_may_be_split() {
    let split = |id: &str| {
        let children = [json!({"title": "Count the red lanterns", "assignee": "sol"})];
        json!({"task": id, "action": "split", "children": children})
    };
    let mut s = answered_incident(2, split);
    let d = told(&s);
    assert_eq!(
        actions(&d),
        [("t_00000001", "split"), ("t_00000002", "split"), ("t_0000cafe", "note-decision")]
    );
    let made: std::collections::BTreeSet<_> = d
        .steps
        .iter()
        .flat_map(|s| &s.changes)
        .filter_map(|c| match c {
            Change::AddAnother { id, task, .. } => Some((id, task.idempotency_key.clone().unwrap())),
            _ => None,
        })
        .collect();
    assert_eq!(made.len(), 2);
    let keys: Vec<_> = made.iter().map(|(_, key)| key.as_str()).collect();
    let card = s.answered[0].clone();
    let known = crate::route::decisions::part_keys(&card, &std::collections::BTreeSet::new());
    assert_eq!(known.len(), 2);
    assert!(known.iter().all(|key| keys.contains(&key.as_str())), "{known:?} {keys:?}");

    // What is there already is never made again: a step that the board refuses would be tried in each pass.
    s.parts.insert(known[1].clone(), "t_00000777".into());
    let d = told(&s);
    assert_eq!(actions(&d), [("t_00000001", "split"), ("t_0000cafe", "note-decision")]);
    assert!(said(&d).contains("split t_00000002: t_00000777 was made for child 1 already"), "{d:?}");
}

#[test]
fn a_workers_block_is_lifted_on_the_card_that_was_written_for_it_and_on_no_other() {
    let block = |seconds: i64| board::Event {
        run: Some(1),
        ..event("blocked", seconds, json!({"kind": "capability"}))
    };
    let tied = |case: &str, card: &str| {
        let trail = json!({"pass": "p", "case": case, "because": "x", "card": card});
        event("linked", 500, json!({"by": "synthesize-distress", "parent": card, "watchbill": trail}))
    };
    let with = |action: &str, events: Vec<board::Event>| {
        let children = json!([{"title": "Install cargo", "assignee": "sol"}]);
        let mut s = answered(decision(action, json!({"assignee": "sol", "children": children})));
        s.routing.sightings.clear();
        s.answered[0].task.title = "[BLOCKED] t_00000001 env_blocker".into();
        let d = &mut s.tasks[0];
        d.task.status = Status::Blocked;
        d.events = vec![event("created", 9_000, json!({}))];
        d.events.push(board::Event { run: Some(1), ..event("claimed", 2_000, json!({})) });
        d.events.extend(events);
        let d = told(&s);
        let refused = said(&d).contains("by a decision outside Watchbill");
        assert_eq!(refused, d.steps.len() == 1, "{d:?}");
        d.steps.iter().map(|s| s.action.to_string()).next().filter(|_| !refused)
    };
    let of_card = || tied("worker-block", "t_0000cafe");
    for (action, step) in
        [("reassign", "move"), ("unblock", "release"), ("split", "split"), ("human", "hand-over")]
    {
        assert_eq!(with(action, vec![block(1_500), of_card()]).as_deref(), Some(step));
    }
    for events in [
        // It was blocked again, by its worker or by hand, and nobody asked this orchestrator about that.
        vec![block(1_500), of_card(), block(400)],
        vec![block(1_500), of_card(), event("blocked", 400, json!({"reason": "wait"}))],
        vec![event("blocked", 1_500, json!({"reason": "wait"})), of_card()],
        vec![block(1_500), tied("worker-block", "t_0000beef")],
        vec![block(1_500), tied("hand-limit", "t_0000cafe")],
        vec![block(1_500)],
    ] {
        assert_eq!(with("unblock", events.clone()), None, "{events:?}");
    }
    assert_eq!(with("human", vec![block(1_500)]).as_deref(), Some("hand-over"));
}

#[test]
fn what_only_a_person_lifts_is_a_persons_already() {
    for (status, newest) in [
        (Status::Triage, event("block_loop_detected", 700, json!({}))),
        (Status::Blocked, event("blocked", 700, json!({"reason": "wait"}))),
    ] {
        let mut s = answered(decision("human", json!({})));
        s.tasks[0].task.status = status;
        s.tasks[0].events = vec![event("created", 9_000, json!({})), newest];
        let d = told(&s);
        assert_eq!((actions(&d), d.findings.len()), (vec![("t_0000cafe", "note-decision")], 0), "{d:?}");
        assert!(said(&d).contains("nothing to do: only a person"), "{d:?}");
        // While another card asks about it, nobody else need be told.
        s.tasks[0].cards.push("t_0000beef".into());
        if s.tasks[0].task.status == Status::Blocked {
            assert!(said(&told(&s)).contains("by a decision outside Watchbill"));
        }
    }
}

#[test]
fn what_was_decided_about_a_living_worker_is_heard_when_its_attempt_ends() {
    let row = |id: &str, status: Status| detail(id, status).task.clone();
    let rows = [
        row("t_00000001", Status::Ready),
        row("t_00000002", Status::Running),
        row("t_00000003", Status::Ready),
        row("t_00000004", Status::Scheduled),
        Task { title: "[BLOCKED] t_00000001 rate_limited".into(), ..row("t_0000cafe", Status::Ready) },
    ];
    let all = |kind: &str| {
        let lately: Vec<_> = rows.iter().map(|t| (t.id.clone(), event(kind, 60, json!({})))).collect();
        ended(&rows, &lately)
    };
    for kind in ["crashed", "reclaimed", "rate_limited", "timed_out", "stale", "protocol_violation"] {
        assert_eq!(all(kind), ["t_00000001", "t_00000002", "t_00000003"], "{kind}");
    }
    assert_eq!(all("heartbeat"), [""; 0]);
    let one = [("t_00000002".to_owned(), event("crashed", 60, json!({})))];
    assert_eq!(ended(&rows, &one), ["t_00000002"]);

    // Requeued with the profile it had: that it goes to another one was decided while it ran.
    let mut s = answered(decision("reassign", json!({"assignee": "sol"})));
    s.answered[0].events[0].payload["watchbill"] = json!({"linked": false});
    s.tasks[0].parents.clear();
    s.tasks[0].task.status = Status::Ready;
    s.tasks[0].runs = vec![run(1, "luna", Some("crashed"))];
    s.tasks[0].events = vec![event("created", 9_000, json!({})), event("crashed", 60, json!({}))];
    let d = told(&s);
    assert_eq!(actions(&d), [("t_00000001", "move"), ("t_0000cafe", "note-decision")], "{d:?}");
}

#[test]
fn a_pass_over_one_task_carries_out_its_own_decision_alone() {
    let s = answered_incident(3, |id| json!({"task": id, "action": "reassign", "assignee": "sol"}));
    let only =
        |s: &Seen, id: &str| decide(s, &Pass { only: Some(id.to_owned()), ..pass() }, &Config::default());
    let d = only(&s, "t_00000002");
    assert_eq!(actions(&d), [("t_00000002", "move")], "no note before all are carried out");
    // The last one says what became of all.
    let mut rest = s.clone();
    for d in &mut rest.tasks[1..] {
        let by = json!({"by": ROUTE_BLOCKED, "watchbill": {"decided_by": "t_0000cafe"}});
        d.events.push(event("assigned", 10, by));
    }
    let d = only(&rest, "t_00000001");
    assert_eq!(actions(&d), [("t_00000001", "move"), ("t_0000cafe", "note-decision")]);
    assert_eq!(said(&d).matches("reassign t_").count(), 3, "{d:?}");
    // What is refused is told, and no more.
    let s = answered_incident(3, |id| json!({"task": id, "action": "reassign", "assignee": "gone"}));
    let d = only(&s, "t_00000002");
    assert_eq!((actions(&d).len(), d.findings.len()), (0, 1), "{d:?}");
}

/// A worker blocked its task, which starts nobody anew while it lives.
#[test]
fn a_person_is_told_of_a_worker_that_keeps_a_decision_from_being_carried_out() {
    let wait = 900;
    let outlived = |route: Value, ago_: i64| {
        let mut s = answered(route);
        s.routing.sightings.clear();
        let worker = Outliving { pid: 77, command: "agent".into(), since: ago(ago_) };
        s.outliving.insert("t_00000001".into(), worker);
        s
    };
    let unblock = || decision("unblock", json!({}));
    // It may still end by itself: the step is tried.
    let d = told(&outlived(unblock(), wait - 1));
    assert_eq!(actions(&d), [("t_00000001", "release"), ("t_0000cafe", "note-decision")]);
    let mut s = outlived(unblock(), wait);
    let d = told(&s);
    assert_eq!(actions(&d), [("t_00000001", "tell")], "nothing is noted on its card");
    let told_of = payload(&d.steps[0], "watchbill_detected").unwrap();
    assert_eq!((&told_of["key"], &told_of["watchbill"]["pids"]), (&json!("older-worker"), &json!([77])));
    let what = "process 77 (agent) still works on t_00000001, 15m after its attempt ended: the decision of card \
                t_0000cafe waits for its end";
    assert!(d.steps[0].because.starts_with(what), "{}", d.steps[0].because);
    assert!(told_of["mend"].as_str().unwrap().contains("`kill 77`"), "{told_of}");
    // Once an episode.
    s.tasks[0].events.push(event("watchbill_detected", 60, told_of));
    let last = s.tasks[0].events.last().unwrap();
    assert_eq!(needs_operator::told(&s.tasks[0]), Some(last));
    assert_eq!((needs_operator::outlives(last), needs_operator::goes_on_by(last)), (Some(77), None));
    let d = told(&s);
    assert!(d.steps.is_empty(), "{d:?}");
    // It was said of the attempt while it ran, which is over.
    let turn = s.tasks[0].events.pop().unwrap();
    s.tasks[0].events.extend([turn, event("blocked", 50, json!({}))]);
    assert_eq!(actions(&told(&s)), [("t_00000001", "tell")]);
    s.tasks[0].events.pop();
    // It ended.
    s.outliving.clear();
    assert_eq!(actions(&told(&s)), [("t_00000001", "release"), ("t_0000cafe", "note-decision")]);
    // It ended, and the decision is refused: what was told does not stand any more.
    let mut s = outlived(decision("reassign", json!({"assignee": "nobody-of-that-name"})), wait);
    s.outliving.clear();
    let told_of = event(
        "watchbill_detected",
        60,
        json!({"key": "older-worker", "by": "route-blocked", "watchbill": {"pids": [77]}}),
    );
    s.tasks[0].events.push(told_of);
    assert!(needs_operator::told(&s.tasks[0]).is_some());
    let d = told(&s);
    let over = payload(d.steps.iter().find(|step| step.task == "t_00000001").unwrap(), "watchbill_detected")
        .unwrap();
    assert_eq!((&over["key"], &over["over"]), (&json!("older-worker"), &json!(true)), "{d:?}");
}
