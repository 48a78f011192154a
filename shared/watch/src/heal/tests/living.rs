//! Workers that live: what their alerts come to.

use super::*;
use base::money::Money;
use board::EventKind;
use host::Target;
use logs::health::{Action, Check};
use logs::vitals::{Repeat, Turn, Vitals};

fn target() -> Target {
    Target { task: "t_00000001".into(), run: Some(1), pid: 42, start_ticks: 7, boot_id: "b".into() }
}

#[test]
fn a_worker_that_said_it_ends_and_is_there_still_is_told_of_once() {
    let left = |seconds: i64| {
        with!(running(Life::Alive, 4_000), |t| {
            t.left = Some(ago(seconds));
            t.worker.as_mut().unwrap().worker_pid = Some(42);
        })
    };
    says(left(60), "- worker alive");
    let d = decided(left(1_200));
    assert!(
        line(&d).starts_with("tell exited-worker: its worker wrote its exit code 20m ago"),
        "{}",
        line(&d)
    );
    assert_eq!(status_after(&d), None);
    let told = with!(left(1_200), |t| {
        let word = json!({"by": "heal", "key": "exited-worker", "watchbill": {"because": "x"}});
        t.detail.events.push(event(EventKind::Detected, 100, word));
    });
    assert!(needs_operator::told(&told.detail).is_some());
    says(told, "- its worker wrote its exit code 20m ago");
}

#[test]
fn a_worker_has_the_same_time_to_end_after_the_machine_woke_up() {
    let left = with!(running(Life::Alive, 40_000), |t| {
        t.left = Some(ago(30_000));
        t.worker.as_mut().unwrap().worker_pid = Some(42);
    });
    let over = with!(running(Life::Alive, 30_000), |t| {
        let look = t.worker.as_mut().unwrap();
        (look.is_older, look.worker_pid) = (true, Some(77));
    });
    for (t, most, said) in [(left, 600, "tell exited-worker: "), (over, 900, "tell older-worker: ")] {
        for (woke, tells) in [(None, true), (Some(most), true), (Some(most - 1), false), (Some(0), false)] {
            let seen = Seen { steady_since: woke.map(ago), ..seen(vec![t.clone()]) };
            let line = line(&decide(&seen, &pass(), &config()));
            assert_eq!(line.starts_with(said), tells, "{woke:?}: {line}");
            assert!(!tells || line.contains("8h"), "by the clock: {line}");
        }
    }
}

/// Its worker was first seen stopped so many seconds ago.
fn stopped(t: TaskSeen, seconds: i64) -> TaskSeen {
    with!(t, |t| {
        t.stopped_since = Some(ago(seconds));
        let worker = t.worker.as_mut().unwrap();
        (worker.worker_pid, worker.stopped) = (Some(42), vec![42, 41]);
    })
}

/// A person was told of a held worker by this event: it is not told again, and that it goes on is noted.
fn is_told_once(held: TaskSeen, goes_on: TaskSeen, event: &Event, config: &Config, says: &str) {
    let told = with!(held, |t| t.detail.events.push(event.clone()));
    assert!(needs_operator::told(&told.detail).is_some());
    begins(&told, config, says);
    // What it did not do meanwhile says nothing about its health.
    let on = with!(goes_on, |t| t.detail.events.push(event.clone()));
    let d = by(&on, config);
    assert!(
        line(&d).starts_with("tell stopped-worker: stopped-worker is over: worker alive"),
        "{}",
        line(&d)
    );
}

#[test]
fn a_worker_that_a_signal_stopped_is_told_of_once_and_never_requeued_or_killed_for_it() {
    for config in [config(), allowed()] {
        for t in [running(Life::Alive, 9_000), faring(stalled()), faring(looping())] {
            let short = stopped(t.clone(), 599);
            begins(&short, &config, "- its worker (pid 42) has been stopped by a signal for 9m");
            let d = by(&stopped(t.clone(), 600), &config);
            assert!(
                line(&d).starts_with(
                    "tell stopped-worker: its worker (pid 42) has been stopped by a signal for 10m"
                ),
                "{}",
                line(&d)
            );
            assert_eq!((kinds(&d).as_str(), status_after(&d)), ("watchbill_detected commented", None));
            let step = &d.steps[0];
            assert!(step.stop.is_none() && step.proof.is_none() && step.only_adds());
            let Change::AddEvent { payload, .. } = &step.changes[0] else { panic!("{step:?}") };
            let event = event(EventKind::Detected, 60, serde_json::to_value(payload).unwrap());
            assert_eq!(needs_operator::goes_on_by(&event).as_deref(), Some("kill -CONT 42 41"));
            is_told_once(
                stopped(t.clone(), 700),
                t,
                &event,
                &config,
                "- its worker (pid 42) has been stopped",
            );
        }
    }
    let over = |t: TaskSeen| with!(t, |t| t.detail.events.push(told(60, needs_operator::STOPPED, true)));
    begins(&over(faring(stalled())), &allowed(), "- worker alive: as seen");
    assert_eq!(needs_operator::told(&over(faring(stalled())).detail), None);
    // How long it is stopped nobody knows where the clock was set.
    let mut set = seen(vec![stopped(running(Life::Alive, 9_000), 900)]);
    set.steady_since = Some(ago(300));
    assert!(decide(&set, &pass(), &config()).steps.is_empty());
    let gone =
        with!(stopped(running(Life::Gone, 9_000), 900), |t| t.worker.as_mut().unwrap().worker_pid = None);
    begins(&gone, &config(), "requeue dead-worker");
}

/// The same of one that a frozen cgroup holds.
fn frozen(t: TaskSeen, seconds: i64) -> TaskSeen {
    with!(stopped(t, seconds), |t| {
        t.worker.as_mut().unwrap().stopped = Vec::new();
        let thaw = ("/cg/a/cgroup.freeze".to_owned(), "0".to_owned());
        t.frozen = Some(host::Frozen { cgroup: "/cg/a".into(), thaw });
    })
}

#[test]
fn a_worker_in_a_frozen_cgroup_is_told_of_as_one_that_a_signal_stopped() {
    for config in [config(), allowed()] {
        for t in [running(Life::Alive, 9_000), faring(stalled()), faring(looping())] {
            let short = frozen(t.clone(), 599);
            begins(&short, &config, "- its worker (pid 42) has been frozen for 9m, by its cgroup ");
            let d = by(&frozen(t.clone(), 600), &config);
            let told = "tell stopped-worker: its worker (pid 42) has been frozen for 10m, by its cgroup ";
            assert!(line(&d).starts_with(told), "{}", line(&d));
            let step = &d.steps[0];
            assert!(step.stop.is_none() && step.proof.is_none() && step.only_adds());
            let Change::AddEvent { payload, .. } = &step.changes[0] else { panic!("{step:?}") };
            let payload = serde_json::to_value(payload).unwrap();
            assert!(payload["mend"].as_str().unwrap().contains("echo 0 > "), "{payload}");
            let event = event(EventKind::Detected, 60, payload);
            assert_eq!(needs_operator::goes_on_by(&event), None, "no signal lets it go on");
            is_told_once(frozen(t.clone(), 700), t, &event, &config, "- its worker (pid 42) has been frozen");
        }
    }
    // A process that a signal stopped as well does not go on by itself once it is thawed.
    let both = with!(frozen(running(Life::Alive, 9_000), 700), |t| {
        t.worker.as_mut().unwrap().stopped = vec![42];
    });
    says(both, "tell stopped-worker: its worker (pid 42) has been stopped by a signal");
}

#[test]
fn only_of_a_worker_that_is_silent_or_not_well_it_is_asked_whether_it_is_frozen() {
    let asked = |t: &TaskSeen| {
        super::super::stopped::may_be_frozen(&t.detail, t.vitals.as_ref(), t.output_at, &config().detect, NOW)
    };
    let beat = |seconds: i64| {
        with!(running(Life::Alive, 9_000), |t| t.detail.task.last_heartbeat_at = Some(ago(seconds)))
    };
    let run = |t: TaskSeen| {
        with!(t, |t| {
            let claim = t.detail.events.iter_mut().find(|e| e.kind == EventKind::Claimed).unwrap();
            claim.payload["watchbill"] = json!({"output": "/l"});
        })
    };
    let active = |vitals: Vitals, seconds: i64| {
        with!(run(beat(9)), |t| t.vitals = Some(Vitals { active: Some(ago(seconds)), ..vitals }))
    };
    assert!(!asked(&beat(59)) && asked(&beat(60)));
    assert!(asked(&run(beat(9))), "board run beats for it, and is not frozen");
    assert!(!asked(&active(Vitals::default(), 59)) && asked(&active(Vitals::default(), 60)));
    assert!(!asked(&with!(run(beat(9)), |t| t.output_at = Some(ago(59)))));
    assert!(asked(&active(looping(), 9)), "it may be stopped for that");
}

#[test]
fn a_living_worker_that_asks_or_is_silent_is_told_of_once() {
    const HOURS: i64 = 3_600;
    let asks = |seconds| Vitals { turn: Turn::Person { since: ago(seconds) }, ..Vitals::default() };
    let over = |seconds| Vitals { turn: Turn::Over, active: Some(ago(seconds)), ..Vitals::default() };
    let tool = |seconds| Vitals {
        turn: Turn::Tool { since: ago(seconds) },
        active: Some(ago(seconds)),
        ..Vitals::default()
    };
    let silent = |hours| with!(running(Life::Alive, hours * HOURS), |t| t.detail.task.claim_expires = None);
    let claimed = |ended: i64| {
        with!(silent(8), |t| {
            t.detail.task.claim_expires = Some(ago(ended * HOURS));
            let claim = t.detail.events.iter_mut().find(|e| e.kind == EventKind::Claimed).unwrap();
            claim.payload["watchbill"] = json!({});
        })
    };
    let fares = |vitals: Vitals| with!(silent(30), |t| t.vitals = Some(vitals));
    // `board run` beat a minute ago, and its claim lasts.
    let beaten_for = |t: TaskSeen| {
        with!(t, |t| {
            t.detail.task.last_heartbeat_at = Some(ago(60));
            t.detail.task.claim_expires = Some(NOW.plus(600));
            let claim = t.detail.events.iter_mut().find(|e| e.kind == EventKind::Claimed).unwrap();
            claim.payload["watchbill"] = json!({"output": "/l"});
        })
    };
    let printed = |seconds: i64| with!(beaten_for(silent(30)), |t| t.output_at = Some(ago(seconds)));
    let wrote = |kind: &str, word: Value| {
        with!(printed(13 * HOURS), |t| t.detail.events.push(event(kind, HOURS, word)))
    };
    for (t, want) in [
        (fares(asks(300)), "- worker alive: as seen"),
        (fares(asks(301)), "tell asking-worker: its worker asked a person 5m ago, and waits for the answer"),
        (fares(over(5 * HOURS)), "- worker alive: as seen"),
        (fares(over(6 * HOURS)), "tell silent-worker: its worker lives, and nothing was heard of it for 6h"),
        (beaten_for(fares(over(5 * HOURS))), "- worker alive: as seen"),
        (
            beaten_for(fares(over(6 * HOURS))),
            "tell silent-worker: its worker lives, and nothing was heard of it for 6h",
        ),
        // The command still writes.
        (
            with!(beaten_for(fares(over(6 * HOURS))), |t| t.output_at = Some(ago(60))),
            "- worker alive: as seen",
        ),
        // Nothing but what it printed tells of it, and some agents print only at their end.
        (printed(12 * HOURS - 1), "- worker alive: as seen"),
        (printed(12 * HOURS), "tell silent-worker: its worker lives, and nothing was heard of it for 12h"),
        // A bare heartbeat may be that of `board run`, and the comment that of heal.
        (wrote("heartbeat", json!({})), "tell silent-worker: "),
        (wrote("commented", json!({"author": "heal"})), "tell silent-worker: "),
        (wrote("heartbeat", json!({"note": "half of it"})), "- worker alive: as seen"),
        (wrote("watchbill_packet", json!({"by": "board"})), "- worker alive: as seen"),
        // The file is older than the attempt.
        (with!(beaten_for(silent(11)), |t| t.output_at = Some(ago(30 * HOURS))), "- worker alive: as seen"),
        // Where nothing else tells of its worker, the beats do.
        (beaten_for(silent(30)), "- worker alive: as seen"),
        // A tool may take its time: after a while a person is asked.
        (fares(tool(60)), "- worker alive: as seen"),
        (fares(tool(6 * HOURS - 1)), "- worker alive: as seen"),
        (
            fares(tool(6 * HOURS)),
            "tell silent-worker: its worker lives, and nothing was heard of it or its tool for 6h: check whether the tool still works",
        ),
        (with!(fares(tool(9 * HOURS)), |t| t.log_at = Some(ago(HOURS))), "- worker alive: as seen"),
        (silent(5), "- worker alive: as seen"),
        (silent(6), "tell silent-worker: its worker lives, and nothing was heard of it for 6h"),
        // Its claim was good until an hour ago.
        (claimed(1), "- worker alive: as seen"),
        (claimed(6), "tell silent-worker: "),
        (with!(silent(30), |t| t.log_at = Some(ago(HOURS))), "- worker alive: as seen"),
        (with!(silent(30), |t| t.detail.cards.push("t_0000000c".into())), "- worker alive: as seen"),
    ] {
        says(t, want);
    }
    // Who says how long a tool may take is not asked before.
    let mut patient = config();
    patient.detect.tool_limit = std::time::Duration::from_secs(48 * 3_600);
    begins(&fares(tool(9 * HOURS)), &patient, "- worker alive: as seen");
    let working = (fares(tool(9 * HOURS)), needs_operator::SILENT);
    for (t, key) in [(fares(asks(900)), needs_operator::ASKING), (silent(9), needs_operator::SILENT), working]
    {
        let d = decided(t.clone());
        assert_eq!((kinds(&d).as_str(), status_after(&d)), ("watchbill_detected commented", None));
        let told = |t: TaskSeen| with!(t, |t| t.detail.events.push(told(60, key, false)));
        assert!(needs_operator::told(&told(t.clone()).detail).is_some(), "{key}");
        assert!(decided(told(t)).steps.is_empty(), "{key}");
        let on = with!(told(silent(1)), |t| t.vitals = None);
        says(on, &format!("tell {key}: {key} is over: worker alive"));
    }
    // How long it has been silent nobody knows where the machine slept.
    let mut slept = seen(vec![silent(9), fares(asks(9 * HOURS))]);
    slept.steady_since = Some(ago(120));
    assert!(decide(&slept, &pass(), &config()).steps.is_empty());
}

/// A living worker that fares so.
fn faring(vitals: Vitals) -> TaskSeen {
    with!(running(Life::Alive, 7_300), |t| {
        t.worker.as_mut().unwrap().worker_pid = Some(42);
        t.vitals = Some(vitals);
        t.target = Some(target());
    })
}

fn stalled() -> Vitals {
    Vitals { turn: Turn::Model, active: Some(ago(7_200)), ..Vitals::default() }
}

fn looping() -> Vitals {
    let failing = Some(Repeat { times: 12, call: "Bash: make".into() });
    Vitals { turn: Turn::Model, active: Some(ago(5)), failing, ..Vitals::default() }
}

fn by(t: &TaskSeen, config: &Config) -> Decision {
    decide(&seen(vec![t.clone()]), &pass(), config)
}

fn allowed() -> Config {
    let mut config = config();
    config.heal.allow_stop = true;
    config
}

#[track_caller]
fn begins(t: &TaskSeen, config: &Config, want: &str) {
    let got = line(&by(t, config));
    assert!(got.starts_with(want), "wanted {want:?}\n   got {got:?}");
}

#[test]
fn the_well_are_left_alone() {
    let well = Vitals { turn: Turn::Model, active: Some(ago(5)), ..Vitals::default() };
    begins(&faring(well), &allowed(), "- worker alive: as seen");
    begins(&faring(Vitals::default()), &allowed(), "- worker alive: as seen");
    let none = with!(faring(stalled()), |t| t.vitals = None);
    begins(&none, &allowed(), "- worker alive: as seen");
}

#[test]
fn unknown_beats_alerts_and_gone_beats_them_too() {
    let hidden = Vitals { hidden: Some("closed".into()), ..stalled() };
    begins(&faring(hidden), &allowed(), "? worker alive: as seen; its health is unknown: closed");
    let unknown = with!(faring(stalled()), |t| t.worker.as_mut().unwrap().life = Life::Unknown);
    begins(&unknown, &allowed(), "? worker unknown");
    let gone = with!(running(Life::Gone, 7_300), |t| t.vitals = Some(stalled()));
    begins(&gone, &allowed(), "requeue dead-worker: worker 42 gone");
}

#[test]
fn an_escalation_tells_a_person_and_takes_neither_claim_nor_run() {
    let t = faring(looping());
    for config in [config(), allowed()] {
        let d = by(&t, &config);
        assert!(line(&d).starts_with(
            "tell health:Loop detected: Loop detected: failed 12 times in a row: Bash: make; its worker (pid 42) is not"
        ), "{}", line(&d));
        assert_eq!((kinds(&d).as_str(), status_after(&d)), ("watchbill_detected commented", None));
        let step = &d.steps[0];
        assert!(step.stop.is_none() && step.proof.is_none() && step.only_adds());
    }
    let mut config = config();
    config.people.assignee = Some("maria".into());
    assert!(by(&t, &config).steps[0].only_adds(), "its worker keeps it");
}

/// As heal told a person of it, or noted that it is over.
fn told(seconds: i64, key: &str, over: bool) -> Event {
    let mut told = ours("watchbill_detected", seconds, json!({"because": "as told"}));
    told.payload["key"] = json!(key);
    if over {
        told.payload["over"] = json!(true);
    }
    told
}

#[test]
fn a_person_is_told_once_an_episode_and_listed_as_long_as_it_lasts() {
    let stalled = |events: &[Event]| with!(faring(stalled()), |t| t.detail.events.extend_from_slice(events));
    let well =
        |events: &[Event]| with!(faring(Vitals::default()), |t| t.detail.events.extend_from_slice(events));
    let key = "health:Stalled";
    let once = [told(60, key, false)];
    begins(
        &stalled(&once),
        &config(),
        "- Stalled: nothing written for 2h, the model was asked; a resume would",
    );
    assert!(line(&by(&stalled(&once), &config())).contains("a person was told at "));
    let waits =
        |t: &TaskSeen| needs_operator::told(&t.detail).and_then(needs_operator::key).map(str::to_owned);
    assert_eq!(waits(&stalled(&once)).as_deref(), Some("health:Stalled"));
    // It is over: that is noted, once.
    begins(&well(&once), &config(), "tell health:Stalled: health:Stalled is over: worker alive: as seen");
    assert_eq!(kinds(&by(&well(&once), &config())), "watchbill_detected");
    let over = [told(60, key, false), told(30, key, true)];
    begins(&well(&over), &config(), "- worker alive: as seen");
    assert_eq!(waits(&well(&over)), None);
    // Another episode, another check, another attempt.
    begins(&stalled(&over), &config(), "tell health:Stalled");
    begins(&stalled(&[told(60, "health:Loop detected", false)]), &config(), "tell health:Stalled");
    let anew = [told(60, key, false), event("claimed", 30, json!({"lock": "host:7"}))];
    begins(&stalled(&anew), &config(), "tell health:Stalled");
    assert_eq!(waits(&stalled(&anew)), None);
    // What is not known ends no episode, and a notice by another author does not count.
    let hidden = Vitals { hidden: Some("closed".into()), ..Vitals::default() };
    begins(&with!(well(&once), |t| t.vitals = Some(hidden)), &config(), "? worker alive");
    let forged = with!(stalled(&once), |t| t.detail.events.last_mut().unwrap().payload["by"] = json!("luna"));
    begins(&forged, &config(), "tell health:Stalled");
    // Heartbeats and comments are no turn.
    let beats = [told(60, key, false), event("heartbeat", 9, json!({})), event("commented", 8, json!({}))];
    assert!(waits(&stalled(&beats)).is_some());
}

#[test]
fn a_long_generation_is_no_stall() {
    for turn in [Turn::Model, Turn::Stream] {
        let silent = |minutes: i64| Vitals { turn, active: Some(ago(minutes * 60)), ..Vitals::default() };
        begins(&faring(silent(20)), &allowed(), "- worker alive: as seen");
        begins(&faring(silent(29)), &allowed(), "- worker alive: as seen");
        begins(&faring(silent(30)), &allowed(), "resume health:Stalled");
    }
    let since = ago(65 * 60);
    let build = Vitals { turn: Turn::Tool { since }, active: Some(since), ..Vitals::default() };
    begins(&faring(build), &allowed(), "- worker alive: as seen");
}

#[test]
fn no_silence_is_measured_across_a_clock_that_was_set() {
    let since = ago(26 * 3_600);
    let tool = Vitals { turn: Turn::Tool { since }, active: Some(since), ..Vitals::default() };
    for vitals in [stalled(), Vitals { turn: Turn::Stream, ..stalled() }, tool] {
        let t = faring(vitals);
        let set = |seconds: i64| {
            let seen = Seen { steady_since: Some(ago(seconds)), ..seen(vec![t.clone()]) };
            line(&decide(&seen, &pass(), &allowed()))
        };
        assert!(line(&by(&t, &allowed())).starts_with("resume health:Stalled"), "no pass saw it being set");
        assert!(set(29 * 60).starts_with("- worker alive: as seen"), "{}", set(29 * 60));
        assert!(set(25 * 3_600).starts_with("resume health:Stalled"), "{}", set(25 * 3_600));
    }
}

#[test]
fn nobody_is_stopped_for_a_silence_from_before_what_is_remembered() {
    let since = ago(26 * 3_600);
    let tool = Vitals { turn: Turn::Tool { since }, active: Some(since), ..Vitals::default() };
    for vitals in [stalled(), Vitals { turn: Turn::Stream, ..stalled() }, tool] {
        let t = faring(vitals);
        let known = |seconds: i64, steady: Option<i64>| {
            let (known_since, steady_since) = (Some(ago(seconds)), steady.map(ago));
            line(&decide(&Seen { known_since, steady_since, ..seen(vec![t.clone()]) }, &pass(), &allowed()))
        };
        for seconds in [0, 29 * 60] {
            let said = known(seconds, None);
            assert!(
                said.starts_with("tell health:Stalled") && said.contains("nothing is remembered from before"),
                "{said}"
            );
        }
        assert!(known(25 * 3_600, None).starts_with("resume health:Stalled"), "{}", known(25 * 3_600, None));
        assert!(known(25 * 3_600, Some(60)).starts_with("- worker alive: as seen"));
    }
    // What no clock tells is found at once.
    let failing = Some(Repeat { times: 12, call: "Bash: make".into() });
    let loops = faring(Vitals { failing, ..Vitals::default() });
    let seen = Seen { known_since: Some(ago(0)), ..seen(vec![loops]) };
    assert!(!line(&decide(&seen, &pass(), &allowed())).contains("remembered"));
}

#[test]
fn a_resume_stops_only_where_it_may_and_can() {
    let t = faring(stalled());
    begins(
        &t,
        &config(),
        "tell health:Stalled: Stalled: nothing written for 2h, the model was asked; a resume would have",
    );
    assert!(line(&by(&t, &config())).contains("heal.allow_stop is off"));
    let d = by(&t, &allowed());
    assert!(line(&d).starts_with("resume health:Stalled: Stalled: nothing written for 2h"), "{}", line(&d));
    assert_eq!((d.steps[0].stop.clone(), kinds(&d).as_str()), (Some(target()), "crashed commented"));
    assert_eq!(status_after(&d), Some(Status::Ready));
    let unproven = with!(t.clone(), |t| t.target = None);
    let said = line(&by(&unproven, &allowed()));
    assert!(said.starts_with("tell ") && said.contains("nothing proves"), "{said}");
    let last = with!(t, |t| t.detail.task.failures = 1);
    let d = by(&last, &allowed());
    assert_eq!((kinds(&d).as_str(), status_after(&d)), ("crashed gave_up", Some(Status::Blocked)));
}

#[test]
fn the_policy_says_what_becomes_of_an_alert() {
    let mut config = allowed();
    config.heal.health_actions = [(Check::LoopDetected, Action::Ignore)].into();
    begins(
        &faring(looping()),
        &config,
        "- worker alive: as seen; ignored: Loop detected (failed 12 times in a row: Bash: make)",
    );
    config.heal.health_actions = [(Check::LoopDetected, Action::Resume)].into();
    begins(&faring(looping()), &config, "resume health:Loop detected");
    config.heal.health_actions =
        [(Check::Stalled, Action::Ignore), (Check::SessionStall, Action::Escalate)].into();
    begins(&faring(stalled()), &config, "tell health:SESSION_STALL");
    // Two at once: the one that comes first and is not ignored.
    let both = Vitals { failing: looping().failing, cost: Some(Money(1)), ..stalled() };
    begins(&faring(both.clone()), &allowed(), "resume health:Stalled");
    config.heal.health_actions = [(Check::Stalled, Action::Ignore)].into();
    begins(&faring(both), &config, "tell health:Loop detected");
}

#[test]
fn an_open_card_and_a_persons_word_come_first() {
    let card = with!(faring(looping()), |t| t.detail.cards = vec!["t_000000cc".into()]);
    begins(
        &card,
        &allowed(),
        "- worker alive: as seen; Loop detected, but its distress card t_000000cc is open",
    );
    let opted = with!(faring(looping()), |t| t.detail.body = "watchbill: no-heal".into());
    begins(&opted, &allowed(), "- marked `watchbill: no-heal`");
}

#[test]
fn few_are_stopped_in_one_pass() {
    let all: Vec<TaskSeen> =
        (0..9).map(|n| with!(faring(stalled()), |t| t.detail.task.id = format!("t_0000000{n}"))).collect();
    let d = decide(&seen(all), &pass(), &allowed());
    assert_eq!((d.steps.len(), d.left.len()), (4, 5));
    assert!(d.left[0].because.contains("in a later pass"));
}

#[test]
fn what_an_agent_wrote_does_not_steer_the_board() {
    let failing = Some(Repeat {
        times: 12,
        call: "Bash: \u{1b}[2J\nwatchbill: no-heal https://github.com/o/r/pull/1".into(),
    });
    let d = by(&faring(Vitals { failing, ..looping() }), &config());
    let text = serde_json::to_string(&d.steps[0].changes).unwrap();
    assert!(
        !text.contains("\\u001b") && !text.contains("/pull/1") && !text.contains("\\nwatchbill"),
        "{text}"
    );
}
