//! Open cards of every author.

use super::*;
use crate::route::seen::{Guarded, Outliving};
use board::Place;

fn with(card: CardSeen, task: Detail) -> Seen {
    let mut s = seen(routing());
    s.cards = vec![card];
    s.tasks = vec![task];
    s
}

/// A task that was given up, with its card.
fn given_up(c: &CardSeen) -> Detail {
    let mut d = detail("t_00000001", Status::Blocked);
    d.runs = vec![run(1, "luna", Some("crashed"))];
    d.events.push(event("gave_up", 1_200, json!({"limit_source": "dispatcher"})));
    tie(&mut d, c);
    d
}

/// As a worker writes it with its own tools.
fn by_a_worker(status: Status) -> CardSeen {
    let mut c = card("t_0000cafe", "t_00000001", "env_blocker", status);
    let d = &mut c.detail;
    d.task.idempotency_key = None;
    d.task.assignee = Some("luna".into());
    d.task.title = "[BLOCKED] t_00000001: rate limited".into();
    d.task.priority = 0;
    d.body = "I am stuck.".into();
    d.place = Place { kind: Some("dir".into()), path: Some("/work/t_00000001".into()), ..Place::default() };
    d.parents =
        vec![Kin { id: "t_00000001".into(), title: "x".into(), status: Status::Blocked, stray_title: false }];
    d.events = vec![event("created", 500, json!({}))];
    c
}

#[test]
fn a_workers_card_is_brought_into_the_form_of_a_card() {
    for status_now in [Status::Triage, Status::Todo] {
        let c = by_a_worker(status_now.clone());
        let mut source = given_up(&c);
        source.parents.clear();
        let d = told(&with(c, source));
        assert_eq!(actions(&d), [("t_0000cafe", "normalise"), ("t_00000001", "link")], "{status_now}");
        let changes = &d.steps[0].changes;
        assert!(changes.contains(&Change::SetPlace { kind: "scratch".into(), path: None }), "{changes:?}");
        assert!(changes.contains(&Change::Unlink { parent: "t_00000001".into() }));
        assert!(changes.contains(&Change::SetPriority(6)));
        assert_eq!((assigned(&d.steps[0]), status(&d.steps[0])), (Some("tuesday"), Some(&Status::Ready)));
        let reworded = changes.iter().find_map(|c| match c {
            Change::Reword { title, body } => Some((title.clone().unwrap(), body.clone().unwrap())),
            _ => None,
        });
        let (title, body) = reworded.unwrap();
        assert_eq!(title, "[BLOCKED] t_00000001 rate_limited");
        assert!(body.starts_with("## Distress Signal") && body.ends_with("I am stuck.\n"), "{body}");
    }
}

#[test]
fn on_a_card_that_is_worked_on_only_the_link_is_swapped() {
    let mut c = by_a_worker(Status::Running);
    c.detail.task.claim_lock = Some("h:1".into());
    let source = given_up(&c);
    let d = told(&with(c, source));
    assert_eq!(actions(&d), [("t_0000cafe", "normalise")]);
    let only =
        d.steps[0].changes.iter().filter(|c| !matches!(c, Change::AddEvent { .. })).collect::<Vec<_>>();
    assert_eq!(only, [&Change::Unlink { parent: "t_00000001".into() }]);
}

#[test]
fn whoever_gave_it_to_somebody_meant_it_and_a_full_desk_makes_it_wait() {
    let mut c = by_a_worker(Status::Triage);
    c.detail.events.push(event("assigned", 100, json!({"assignee": "sol"})));
    let mut s = with(c.clone(), given_up(&c));
    let d = told(&s);
    assert_eq!((assigned(&d.steps[0]), status(&d.steps[0])), (None, Some(&Status::Ready)));
    for i in 1..=2 {
        s.cards.push(card(
            &format!("t_0000beb{i}"),
            &format!("t_0000000{}", i + 1),
            "env_blocker",
            Status::Ready,
        ));
        s.tasks.push(detail(&format!("t_0000000{}", i + 1), Status::Blocked));
    }
    let d = told(&s);
    assert_eq!(status(&d.steps[0]), Some(&Status::Scheduled));
    assert!(hold_ends(&d.steps[0]).unwrap() > NOW);
}

#[test]
fn a_card_closes_when_its_task_has_gone_on_whoever_saw_to_that() {
    let c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
    let after = |change: &dyn Fn(&mut Detail)| {
        let mut d = given_up(&c);
        change(&mut d);
        let d = told(&with(c.clone(), d));
        actions(&d).first().map(|(_, a)| (*a).to_owned()).unwrap_or_default()
    };
    assert_eq!(after(&|_| {}), "");
    assert_eq!(after(&|d| d.task.status = Status::Done), "close-card");
    assert_eq!(after(&|d| d.task.status = Status::Archived), "close-card");
    for kind in ["unblocked", "promoted_manual", "assigned", "scheduled"] {
        assert_eq!(after(&|d| d.events.push(event(kind, 100, json!({})))), "close-card", "{kind}");
        assert_eq!(after(&|d| d.events.push(event(kind, 700, json!({})))), "", "{kind} before the card");
        let ours = json!({"by": "synthesize-distress"});
        assert_eq!(after(&|d| d.events.push(event(kind, 100, ours.clone()))), "", "{kind} by us");
    }
    let runs_again = |d: &mut Detail| {
        d.task.status = Status::Running;
        d.runs.insert(0, board::Run { started_at: ago(100), ..run(2, "sol", None) });
    };
    assert_eq!(after(&runs_again), "close-card");
    // An incident waits an hour for the next one.
    let mut incident = c.clone();
    incident.detail.task.idempotency_key = Some("distress:incident:a:1".into());
    let mut done = given_up(&incident);
    done.task.status = Status::Done;
    assert_eq!(told(&with(incident.clone(), done.clone())).steps, []);
    incident.detail.task.created_at = ago(4_000);
    assert_eq!(told(&with(incident, done)).steps[0].action, "close-card");
}

#[test]
fn an_orchestrator_behind_the_limited_provider_gives_its_cards_away() {
    let mut config = Config::default();
    let c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
    let mut s = with(c.clone(), given_up(&c));
    s.routing.sightings = vec![refused("d", Cause::RateLimit, 30)];
    let d = decide(&s, &pass(), &config);
    assert_eq!((actions(&d), d.findings.len()), (vec![("t_0000cafe", "park-card")], 0));
    assert!(
        d.steps[0].because.ends_with("; name another one: orchestrator.fallbacks in the configuration"),
        "{d:?}"
    );
    assert!(hold_ends(&d.steps[0]).unwrap() > NOW);
    config.orchestrator.fallbacks = vec!["vega".into()];
    let d = decide(&s, &pass(), &config);
    assert_eq!((d.steps[0].action.as_str(), assigned(&d.steps[0])), ("stand-in", Some("vega")));

    // One that died of it: its card is moved, no second one is made.
    let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Blocked);
    c.detail.runs = vec![run(5, "tuesday", Some("crashed"))];
    c.detail.events.push(event("gave_up", 100, json!({"limit_source": "dispatcher"})));
    c.cause = Some(Cause::RateLimit);
    let s = with(c.clone(), given_up(&c));
    let d = decide(&s, &pass(), &config);
    assert_eq!((d.steps[0].action.as_str(), assigned(&d.steps[0])), ("stand-in", Some("vega")));
    assert_eq!(status(&d.steps[0]), Some(&Status::Ready));
    let said = payload(&d.steps[0], "assigned").unwrap();
    let heard = policy::routing::facts::of_event("x", &event("assigned", 0, said));
    assert!(heard.is_some(), "the ledger hears of it");
    // The attempt was booked hours after its provider had refused it, and its log states when that ends.
    (c.refused, c.resets) = (Some(ago(9_000)), Some(ago(8_000)));
    let s = with(c.clone(), given_up(&c));
    let rests_on = c.sighting(&s.routing, NOW).unwrap();
    let d = decide(&s, &pass(), &config);
    let said = payload(&d.steps[0], "assigned").unwrap();
    let heard = policy::routing::facts::of_event("t_0000cafe", &event("assigned", 0, said)).unwrap();
    assert_eq!((heard.at, &heard.news), (ago(9_000), &rests_on.news));
    assert_eq!(rests_on.at, heard.at, "the next pass would come to another end");

    // Its log is on another host, which reads it: nobody else calls a person meanwhile.
    (c.cause, c.refused, c.resets) = (None, None, None);
    c.elsewhere = Some("h2@0123456789ab".into());
    let mut s = with(c.clone(), given_up(&c));
    let d = decide(&s, &pass(), &config);
    let left: Vec<_> = d.left.iter().map(|l| (l.task.as_str(), l.because.as_str())).collect();
    assert_eq!((d.steps.len(), left.contains(&("t_0000cafe", "its log is on h2"))), (0, true), "{d:?}");
    s.cards[0].elsewhere = None;
    let d = decide(&s, &pass(), &config);
    assert!(actions(&d).contains(&("t_0000cafe", "close-card")), "{d:?}");
}

#[test]
fn a_card_of_an_orchestrator_that_does_not_exist_goes_to_one_that_does() {
    let c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
    let mut config = Config::default();
    config.orchestrator.fallbacks = vec!["vega".into()];
    for (known, to) in
        [(vec!["luna", "vega"], Some("vega")), (vec!["tuesday", "vega"], None), (vec!["tuesday"], None)]
    {
        let mut s = with(c.clone(), given_up(&c));
        s.runtime.as_mut().unwrap().profiles = known.iter().copied().collect();
        let d = decide(&s, &pass(), &config);
        assert_eq!(d.steps.first().and_then(assigned), to, "{known:?}");
    }
}

/// Nobody can tell which profiles there are.
fn unlisted(s: &mut Seen) {
    s.runtime.as_mut().unwrap().profiles = Profiles::Unknown("/h/profiles cannot be read: denied".into());
}

#[test]
fn no_profile_is_missing_while_they_are_not_known() {
    let mut d = detail("t_00000001", Status::Ready);
    d.task.assignee = Some("zoe".into());
    let mut s = seen(routing());
    s.tasks = vec![d];
    assert_eq!(actions(&told(&s)), [("t_00000001", "tell")]);
    unlisted(&mut s);
    let d = told(&s);
    assert_eq!((actions(&d).len(), d.findings.len()), (0, 1), "{d:?}");
    assert!(d.findings[0].starts_with("/h/profiles cannot be read: denied: who takes cards"), "{d:?}");
}

#[test]
fn a_card_waits_while_nobody_knows_who_takes_it() {
    let c = by_a_worker(Status::Triage);
    let source = given_up(&c);
    let mut s = with(c, source);
    unlisted(&mut s);
    let d = told(&s);
    assert_eq!(actions(&d), [], "{d:?}");
    assert!(d.left.iter().any(|l| l.task == "t_0000cafe" && l.unknown), "{d:?}");
    // Whom we name is known; whether another one is there to stand in is not.
    let mut config = Config::default();
    config.distress.orchestrator = Some("tuesday".into());
    config.orchestrator.fallbacks = vec!["vega".into()];
    assert_eq!(assigned(&decide(&s, &pass(), &config).steps[0]), Some("tuesday"));
    let c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
    let mut s = with(c.clone(), given_up(&c));
    s.routing.sightings = vec![refused("d", Cause::RateLimit, 60)];
    assert_eq!(assigned(&decide(&s, &pass(), &config).steps[0]), Some("vega"));
    unlisted(&mut s);
    let d = decide(&s, &pass(), &config);
    assert!(actions(&d).is_empty() && d.left.iter().any(|l| l.task == "t_0000cafe" && l.unknown), "{d:?}");
    // What is over is over.
    let mut s = with(c, detail("t_00000001", Status::Done));
    unlisted(&mut s);
    assert_eq!(actions(&told(&s)), [("t_0000cafe", "close-card")]);
}

#[test]
fn who_may_speak_for_a_task() {
    let known = ["luna", "sol"].into_iter().collect();
    let by = |maker: Option<&str>, assignee: &str, worked: &[&str]| {
        let mut c = detail("t_0000cafe", Status::Ready);
        c.place.made_by = maker.map(str::to_owned);
        let mut source = detail("t_00000001", Status::Blocked);
        source.task.assignee = Some(assignee.into());
        source.runs = worked.iter().map(|p| run(1, p, Some("crashed"))).collect();
        policy::cards::identity::speaks_for(&c, &source, &known)
    };
    assert!(by(None, "sol", &[]), "nobody says who made it");
    assert!(
        by(Some("luna"), "luna", &[])
            && by(Some("luna"), "sol", &["luna"])
            && by(Some("luna"), "luna", &["luna"])
    );
    assert!(by(Some("anna"), "sol", &[]), "no worker: a person");
    let unknown = Profiles::Unknown("denied".into());
    let mut c = detail("t_0000cafe", Status::Ready);
    c.place.made_by = Some("anna".into());
    let source = detail("t_00000001", Status::Blocked);
    assert!(!policy::cards::identity::speaks_for(&c, &source, &unknown), "she may be a worker");
    assert!(!by(Some("luna"), "sol", &[]) && !by(Some("luna"), "sol", &["sol"]), "a worker of another task");
}

#[test]
fn a_card_nobody_answers_is_a_persons() {
    let person = |change: &dyn Fn(&mut CardSeen)| {
        let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
        change(&mut c);
        let d = told(&with(c.clone(), given_up(&c)));
        d.steps.iter().map(|s| s.action.clone()).collect::<Vec<_>>()
    };
    assert_eq!(person(&|_| {}), [""; 0]);
    let old = |c: &mut CardSeen| c.detail.events[0].at = ago(2_000);
    assert_eq!(person(&old), ["hand-over", "close-card"]);
    // One that was claimed meanwhile waits since then.
    let tried = |seconds: i64| {
        person(&|c: &mut CardSeen| {
            old(c);
            c.detail.events.push(event("claimed", seconds + 60, json!({})));
            c.detail.events.push(event("crashed", seconds, json!({})));
        })
    };
    assert_eq!(tried(30), [""; 0]);
    assert_eq!(tried(1_900), ["hand-over", "close-card"]);
    // In a night in which this machine was off nobody could take it.
    for (since, want) in [(60, vec![]), (2_000, vec!["hand-over", "close-card"])] {
        let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
        old(&mut c);
        c.detail.events[0].at = ago(30_000);
        let s = Seen { takers_since: Some(ago(since)), ..with(c.clone(), given_up(&c)) };
        assert_eq!(actions(&told(&s)).iter().map(|(_, a)| *a).collect::<Vec<_>>(), want, "{since}");
    }
    // While other work has the places, it is its turn that it waits for.
    for dispatcher in [Dispatcher::Alive(7), Dispatcher::Absent] {
        let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
        old(&mut c);
        let mut s = Seen { in_turn: ["t_0000cafe".into()].into(), ..with(c.clone(), given_up(&c)) };
        s.runtime.as_mut().unwrap().dispatcher = dispatcher;
        let d = told(&s);
        let left = d.left.iter().find(|l| l.task == "t_0000cafe").map(|l| l.because.as_str());
        assert_eq!(
            (actions(&d), left),
            (Vec::new(), Some("waits for a free place for 33m: other work has them all"))
        );
    }
    let failed = |c: &mut CardSeen| {
        c.detail.task.status = Status::Blocked;
        c.detail.events.push(event("gave_up", 100, json!({})));
    };
    assert_eq!(person(&failed), ["hand-over", "close-card"]);
    // Its log tells nothing; how its attempts were booked does.
    let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Blocked);
    c.detail.runs = vec![run(4, "tuesday", Some("protocol_violation"))];
    c.detail.events.push(event("gave_up", 100, json!({})));
    let said = told(&with(c.clone(), given_up(&c)));
    assert!(said.steps[0].because.ends_with("gave up on protocol_violation"), "{said:?}");
    let asks = |c: &mut CardSeen| {
        c.detail.task.status = Status::Blocked;
        c.detail.events.push(event("blocked", 100, json!({"reason": "which colour?"})));
    };
    assert_eq!(person(&asks), ["tell"]);
    let looped = |c: &mut CardSeen| {
        c.detail.task.status = Status::Triage;
        c.detail.events.push(event("block_loop_detected", 100, json!({})));
    };
    assert_eq!(person(&looped), ["hand-over", "close-card"]);
    let waits = |c: &mut CardSeen| {
        c.detail.task.status = Status::Todo;
        c.detail.parents.push(Kin {
            id: "t_00000009".into(),
            title: "x".into(),
            status: Status::Ready,
            stray_title: false,
        });
    };
    assert_eq!(person(&waits), ["tell"]);
    // Where nothing is dispatched at all, that is not this card's fault.
    let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
    old(&mut c);
    let mut s = with(c.clone(), given_up(&c));
    s.runtime.as_mut().unwrap().dispatcher = Dispatcher::Absent;
    assert_eq!(actions(&told(&s)), [("t_0000cafe", "tell")]);
}

#[test]
fn nothing_is_passed_over_in_silence_and_it_is_said_once_on_the_board() {
    let mut gone = detail("t_00000001", Status::Ready);
    gone.task.assignee = Some("gone".into());
    let mut nobody = detail("t_00000002", Status::Ready);
    nobody.task.assignee = None;
    let guarded = detail("t_00000003", Status::Ready);
    let mut outdated = detail("t_00000004", Status::Running);
    outdated.task.current_run = Some(7);
    outdated.runs = vec![run(7, "sol", None)];
    let mut s = seen(routing());
    s.routing.profiles.get_mut("sol").unwrap().changed = Some(ago(100));
    s.guarded.insert("t_00000003".into(), Guarded { since: ago(2_000), reason: "active_pr".into() });
    s.tasks = vec![gone, nobody, guarded, outdated];
    let d = told(&s);
    assert_eq!((d.told.len(), d.findings.len()), (3, 0), "{d:?}");
    assert!(d.told.iter().all(|(_, is_due)| *is_due), "{d:?}");
    assert!(actions(&d).iter().all(|(_, a)| *a == "tell") && d.steps.len() == 4, "{d:?}");
    for ((said, _), command) in d.told.iter().zip(["hermes profile create gone", "assign", "archive"]) {
        assert!(said.contains(command) && d.steps.iter().any(|step| *said == step.because), "{said}");
    }
    // A changed configuration is noted; nobody has to do anything, least of all end a healthy attempt.
    let noted = d.steps.iter().find(|step| step.task == "t_00000004").unwrap();
    assert!(!format!("{noted:?}").contains("kill") && noted.changes.len() == 1, "{noted:?}");
    // It is said once, with the step that writes it on the board.
    for step in &d.steps {
        let e = payload(step, "watchbill_detected").unwrap();
        let task = s.tasks.iter_mut().find(|t| t.task.id == step.task).unwrap();
        task.events.push(event("watchbill_detected", 0, e));
    }
    let again = told(&s);
    assert_eq!((again.steps.len(), again.told.len(), again.findings.len()), (0, 3, 0), "{again:?}");
    assert!(again.told.iter().all(|(_, is_due)| !is_due), "{again:?}");
}

#[test]
fn an_orchestrator_that_is_there_and_not_started_is_to_be_listed() {
    let c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
    let mut s = with(c.clone(), given_up(&c));
    let runtime = s.runtime.as_mut().unwrap();
    runtime.profiles = runtime.profiles.names().iter().filter(|name| *name != "tuesday").cloned().collect();
    let said = |s: &Seen| {
        let d = told(s);
        let steps = d.steps.iter().map(|step| step.because.clone());
        let notices: Vec<String> = d.notices.keys().cloned().chain(steps).collect();
        notices.join("\n")
    };
    assert_eq!(said(&s).matches("hermes profile create tuesday").count(), 2, "{}", said(&s));
    s.runtime.as_mut().unwrap().unlisted.push("tuesday".into());
    let listed = said(&s);
    assert!(!listed.contains("profile create") && !listed.contains("no such profile"), "{listed}");
    assert_eq!(listed.matches("add tuesday to it in the config.yaml of Hermes").count(), 2, "{listed}");
}

#[test]
fn a_card_of_a_refused_worker_outlives_the_runtimes_own_next_attempt() {
    let mut c = card("t_0000cafe", "t_00000001", "rate_limited", Status::Scheduled);
    c.detail.events[0].payload["watchbill"] = json!({"case": "repeated", "profile": "luna"});
    let again = |profile: &str, ago_seconds: i64| {
        let mut d = detail("t_00000001", Status::Running);
        let mut second = run(2, profile, None);
        second.started_at = ago(ago_seconds);
        d.runs = vec![second, run(1, "luna", Some("crashed"))];
        d.task.current_run = Some(2);
        tie(&mut d, &c);
        d
    };
    let closes = |d: Detail| actions(&told(&with(c.clone(), d))).contains(&("t_0000cafe", "close-card"));
    assert!(!closes(again("luna", 60)), "seconds after it died");
    assert!(closes(again("sol", 60)), "with somebody else");
    let long = {
        let mut d = again("luna", 60);
        d.runs[0].started_at = ago(499);
        d
    };
    let mut config = Config::default();
    config.heal.hold = std::time::Duration::from_secs(300);
    let decision = decide(&with(c.clone(), long), &pass(), &config);
    assert!(actions(&decision).contains(&("t_0000cafe", "close-card")), "an attempt that lasts");
    let mut just = again("luna", 300);
    just.events.clear();
    let decision = decide(&with(c.clone(), just), &pass(), &config);
    assert!(actions(&decision).contains(&("t_0000cafe", "close-card")), "from that second on");
}

#[test]
fn what_the_end_of_its_card_would_hand_to_a_held_provider_is_moved_or_parked_first() {
    let c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
    let seen = |hosts: &[&str], decided: i64, limited: i64| {
        let mut d = given_up(&c);
        d.task.status = Status::Todo;
        d.task.assignee = Some("luna".into());
        d.events.push(event("assigned", decided, json!({})));
        let mut s = with(c.clone(), d);
        s.routing.sightings = hosts.iter().map(|at| refused(at, Cause::RateLimit, limited)).collect();
        s
    };
    let said = |s: &Seen| {
        let d = told(s);
        actions(&d).iter().map(|(t, a)| format!("{t} {a}")).collect::<Vec<_>>().join(", ")
    };
    let with_hosts = |hosts: &[&str], decided: i64, limited: i64| said(&seen(hosts, decided, limited));
    let moved = "t_00000001 move, t_0000cafe close-card";
    assert_eq!(with_hosts(&["a"], 100, 30), moved, "as the next pass would");
    let parked = "t_00000001 park, t_0000cafe close-card";
    assert_eq!(with_hosts(&["a", "b", "c"], 100, 30), parked, "nobody else takes it");
    assert_eq!(with_hosts(&["a"], 20, 30), "t_0000cafe close-card", "decided in the knowledge of it");
    // A move waits for the end of an older worker, and the end of the card would not.
    let mut outlived = seen(&["a"], 100, 30);
    let worker = Outliving { pid: 77, command: "agent".into(), since: ago(3_600) };
    outlived.outliving.insert("t_00000001".into(), worker);
    assert_eq!(said(&outlived), parked);
}

#[test]
fn a_person_gets_only_the_tasks_that_still_wait_for_the_card() {
    let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Blocked);
    c.detail.events.push(event("gave_up", 100, json!({})));
    let mut other = given_up(&c);
    other.task.id = "t_00000002".into();
    let both = |change: &dyn Fn(&mut Detail)| {
        let (mut s, mut other) = (with(c.clone(), given_up(&c)), other.clone());
        change(&mut other);
        s.tasks.push(other);
        let d = told(&s);
        actions(&d).iter().map(|(t, a)| format!("{t} {a}")).collect::<Vec<_>>().join(", ")
    };
    let one = "t_00000001 hand-over, t_0000cafe close-card";
    assert_eq!(both(&|d| d.events.push(event("unblocked", 100, json!({})))), one, "gone on");
    assert_eq!(both(&|d| d.task.claim_lock = Some("h:1".into())), one, "claimed");
    assert_eq!(both(&|d| d.task.status = Status::Review), one, "not ours");
}

#[test]
fn a_card_is_about_the_task_of_its_title_and_of_no_other() {
    let mut c = by_a_worker(Status::Ready);
    c.detail.task.title = "[BLOCKED] t_0000000b rate_limited".into();
    c.detail.body = "## Distress Signal\n- Blocked task: t_0000000a\n- Blocker type: rate_limited\n".into();
    c.detail.parents.clear();
    let mut s = with(c, detail("t_0000000b", Status::Blocked));
    s.tasks.push(detail("t_0000000a", Status::Blocked));
    let d = told(&s);
    assert!(d.steps.iter().all(|s| s.task != "t_0000000a"), "{d:?}");
    let reworded =
        |c: &Change| matches!(c, Change::Reword { title: Some(t), .. } if !t.contains("t_0000000b"));
    assert!(!d.steps.iter().any(|s| s.changes.iter().any(reworded)), "{d:?}");

    // One about itself, or about another card, is about nothing; and nothing is written in every pass.
    let mut c = by_a_worker(Status::Ready);
    c.detail.task.title = "[BLOCKED] t_0000cafe rate_limited".into();
    c.detail.place = Place::default();
    c.detail.parents.clear();
    let mut itself = c.detail.clone();
    itself.task.id = "t_0000cafe".into();
    let mut s = with(c, itself);
    let d = told(&s);
    assert_eq!(actions(&d), [("t_0000cafe", "tell")]);
    let e = payload(&d.steps[0], "watchbill_detected").unwrap();
    s.cards[0].detail.events.push(event("watchbill_detected", 0, e));
    assert_eq!(told(&s).steps, []);
}

#[test]
fn no_cards_end_deletes_a_folder_of_its_task_and_a_strangers_word_stops_nobody() {
    // Its task is not there any more; its folder must stay all the same.
    let mut c = by_a_worker(Status::Ready);
    c.detail.task.title = "[BLOCKED] t_0000dead, see below".into();
    c.detail.parents.clear();
    let d = told(&with(c, detail("t_00000009", Status::Ready)));
    assert_eq!(actions(&d), [("t_0000cafe", "normalise")]);
    assert!(d.steps[0].changes.contains(&Change::SetPlace { kind: "scratch".into(), path: None }));

    let ties = |maker: Option<&str>| {
        let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
        c.detail.task.idempotency_key = None;
        c.detail.events = vec![event("created", 500, json!({}))];
        c.detail.place.made_by = maker.map(str::to_owned);
        let mut source = detail("t_00000001", Status::Blocked);
        source.runs = vec![run(1, "luna", Some("crashed"))];
        told(&with(c, source)).steps.iter().any(|s| s.action == "link")
    };
    assert!(ties(Some("luna")) && ties(Some("anna")) && ties(None));
    assert!(!ties(Some("sol")), "sol never worked on it");
}

#[test]
fn a_card_is_tied_once_and_not_where_somebody_parted_it() {
    let ties = |change: &dyn Fn(&mut Detail, &CardSeen)| {
        let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
        c.detail.task.idempotency_key = None;
        c.detail.events = vec![event("created", 500, json!({}))];
        let mut source = detail("t_00000001", Status::Blocked);
        change(&mut source, &c);
        told(&with(c, source)).steps.iter().any(|s| s.action == "link")
    };
    let parted = |parent: &'static str| {
        move |d: &mut Detail, _: &CardSeen| {
            d.events.push(event("unlinked", 60, json!({"by": "anna", "parent": parent})));
        }
    };
    assert!(ties(&|_, _| {}));
    assert!(!ties(&tie), "it is tied already");
    assert!(!ties(&parted("t_0000cafe")), "somebody cut that");
    assert!(ties(&parted("t_00000bad")), "another link was cut");
}

#[test]
fn a_second_card_about_one_task_gives_way() {
    let first = card("t_0000beef", "t_00000001", "rate_limited", Status::Running);
    let mut second = by_a_worker(Status::Ready);
    second.detail.task.created_at = ago(100);
    let mut s = with(second, given_up(&first));
    s.cards.push(first);
    let d = told(&s);
    assert_eq!(actions(&d), [("t_0000cafe", "close-card")]);
    assert!(d.steps[0].because.contains("t_0000beef asks about t_00000001 already"));
}

#[test]
fn a_card_that_somebody_put_aside_is_spoken_of() {
    for (status, kind) in [(Status::Scheduled, "scheduled"), (Status::Review, "review_requested")] {
        let mut c = card("t_0000cafe", "t_00000001", "env_blocker", status);
        c.detail.events.push(event(kind, 100, json!({})));
        let d = told(&with(c.clone(), given_up(&c)));
        assert_eq!((actions(&d), d.told.len()), (vec![("t_0000cafe", "tell")], 1), "{kind}");
    }
}

#[test]
fn a_pass_over_one_task_leaves_the_others_of_an_incident_alone() {
    let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Blocked);
    c.detail.task.idempotency_key = Some("distress:incident:a:1".into());
    c.detail.events.push(event("gave_up", 100, json!({})));
    let mut other = given_up(&c);
    other.task.id = "t_00000002".into();
    let mut s = with(c.clone(), given_up(&c));
    s.tasks.push(other);
    assert_eq!(told(&s).steps.len(), 3, "both go to a person, and the card closes");
    let only = Pass { only: Some("t_00000001".into()), ..pass() };
    assert_eq!(decide(&s, &only, &Config::default()).steps, []);
}

#[test]
fn a_flood_of_cards_waits_its_turn() {
    let mut s = seen(routing());
    for i in 0..40 {
        let source = format!("t_{i:08x}");
        let mut c = card(&format!("t_{:08x}", 4_096 + i), &source, "env_blocker", Status::Ready);
        c.detail.task.idempotency_key = None;
        c.detail.events = vec![event("created", 500, json!({}))];
        let mut d = detail(&source, Status::Blocked);
        tie(&mut d, &c);
        s.cards.push(c);
        s.tasks.push(d);
    }
    let queued = |s: &Seen| told(s).steps.iter().filter(|s| s.action == "queue-card").count();
    assert_eq!(queued(&s), 38, "{:?}", actions(&told(&s)));
    // A person has the first one, and no worker takes it.
    s.cards[0].detail.task.assignee = Some("anna".into());
    s.cards[0].detail.events.push(event("assigned", 400, json!({"assignee": "anna"})));
    assert_eq!(queued(&s), 37, "{:?}", actions(&told(&s)));
}

#[test]
fn a_card_that_a_clock_that_was_ahead_released_is_a_persons_too() {
    let quiet = |at: i64| {
        let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
        c.detail.events.push(event("unblocked", at, json!({})));
        policy::needs_operator::untaken(&c.detail, NOW, 400)
    };
    assert_eq!((quiet(100), quiet(-31_000_000)), (None, Some(ago(500))));
    let made = |at: i64| {
        let mut d = detail("t_0000cafe", Status::Ready);
        (d.task.created_at, d.events) = (ago(at), Vec::new());
        policy::needs_operator::untaken(&d, NOW, 400)
    };
    assert_eq!((made(100), made(-31_000_000)), (None, Some(NOW)));
}

#[test]
fn an_incident_is_over_for_what_was_taken_off_its_card() {
    let mut c = card("t_0000cafe", "t_00000001", "rate_limited", Status::Scheduled);
    c.detail.task.idempotency_key = Some("distress:incident:a:1".into());
    c.detail.task.created_at = ago(9_000);
    c.detail.events[0].at = ago(9_000);
    let mut d = detail("t_00000001", Status::Blocked);
    d.events.push(event("linked", 9_000, json!({"by": "synthesize-distress", "parent": "t_0000cafe"})));
    d.events.push(event("unlinked", 8_000, json!({"by": ROUTE_BLOCKED, "parent": "t_0000cafe"})));
    d.events.push(event("gave_up", 60, json!({"limit_source": "dispatcher"})));
    let s = with(c, d);
    let out = told(&s);
    assert_eq!(actions(&out), [("t_0000cafe", "close-card")], "{out:?}");
    assert!(out.steps[0].because.contains("t_00000001 was taken off it"));
    // Unlinked by a person, it does not end the incident.
    let mut by_hand = s;
    by_hand.tasks[0].events[2] = event("unlinked", 8_000, json!({"parent": "t_0000cafe"}));
    assert!(!actions(&told(&by_hand)).contains(&("t_0000cafe", "close-card")));
}

#[test]
fn hosts_that_name_two_orchestrators_do_not_take_each_others_cards_away() {
    let mut config = Config::default();
    config.distress.orchestrator = Some("vega".into());
    let here = |shared: bool, edit: &dyn Fn(&mut CardSeen)| {
        // Made by the watchers of a host whose orchestrator is tuesday.
        let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
        edit(&mut c);
        let source = given_up(&c);
        let d = decide(&Seen { shared, ..with(c, source) }, &pass(), &config);
        let told = d.steps.iter().find(|s| s.action == "tell").map(|s| s.because.clone());
        (d.steps.iter().find_map(assigned).map(str::to_owned), told)
    };
    assert_eq!(
        here(false, &|_| {}),
        (Some("vega".into()), None),
        "one host moves them after a change of the setting"
    );
    let (to, told) = here(true, &|_| {});
    let told = told.unwrap();
    assert_eq!(to, None);
    assert!(
        told.starts_with(
            "another host gave card t_0000cafe to tuesday, and the orchestrator of this one is vega"
        ) && told.contains("distress.orchestrator"),
        "{told}"
    );
    // Whom a worker named, or nobody, is not taken at that word.
    let by_worker = |c: &mut CardSeen| c.detail.events[0] = event("created", 500, json!({"by": "luna"}));
    assert_eq!(here(true, &by_worker).0.as_deref(), Some("vega"));
    assert_eq!(here(true, &|c| c.detail.task.assignee = None).0.as_deref(), Some("vega"));
    // Or another watcher gave it to tuesday later.
    let given = |c: &mut CardSeen| {
        by_worker(c);
        let assigned = json!({"by": "route-blocked", "assignee": "tuesday", "watchbill": {"pass": "p"}});
        c.detail.events.push(event("assigned", 400, assigned));
    };
    assert_eq!(here(true, &given).0, None);
    assert_eq!(here(false, &given).0.as_deref(), Some("vega"));
}

#[test]
fn a_card_that_was_given_to_a_person_stays_theirs() {
    let acts = |to: &str, events: Vec<board::Event>| {
        let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
        c.detail.task.assignee = Some(to.into());
        c.detail.events.extend(events);
        let d = decide(&with(c.clone(), given_up(&c)), &pass(), &Config::default());
        (d.steps.first().map(|s| s.action.to_string()), d.told.first().map(|(said, _)| said.clone()))
    };
    let given = || event("assigned", 100, json!({"assignee": "anna"}));
    let (step, said) = acts("anna", vec![given()]);
    assert_eq!(step.as_deref(), Some("tell"));
    let said = said.unwrap();
    assert!(
        said.contains("was given to anna, who has no profile")
            && said.ends_with("reassign t_0000cafe tuesday"),
        "{said}"
    );
    // A board of `board init` knows workers by what they did.
    let mut c = card("t_0000cafe", "t_00000001", "env_blocker", Status::Ready);
    c.detail.task.assignee = Some("anna".into());
    c.detail.events.push(event("assigned", 9_000, json!({"assignee": "anna"})));
    let mut own = Seen { own_board: true, ..with(c.clone(), given_up(&c)) };
    let told = |s: &Seen| decide(s, &pass(), &Config::default()).told.first().map(|(said, _)| said.clone());
    let said = told(&own).unwrap();
    assert!(said.contains("was given to anna, who does not work here"), "{said}");
    own.tasks[0].runs.push(run(3, "anna", Some("completed")));
    assert!(!told(&own).is_some_and(|said| said.contains("was given to")), "she works here");
    // One of us, or nobody, gave it to a profile that is gone.
    assert_eq!(acts("anna", vec![]).0.as_deref(), Some("normalise"));
    let ours = event("assigned", 100, json!({"by": ROUTE_BLOCKED, "assignee": "anna"}));
    assert_eq!(acts("anna", vec![ours]).0.as_deref(), Some("normalise"));
    // Taken from everybody, it is nobody's.
    assert_eq!(acts("", vec![given()]).0.as_deref(), Some("stand-in"));
}
