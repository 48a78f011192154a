//! Tasks that a session works on instead of a process.

use super::*;
use board::Detail;
use board::EventKind;
use coord::SessionId;
use coord::evidence::{self, Answer, Failure, From, Message, Rows, Stream};
use coord::{State, mapping};
use policy::attempts::session::{SessionSeen, Standing, judged};

/// A claim that still lasts, and a session that stands so and was last heard of then.
fn leased(standing: Standing, active: i64) -> TaskSeen {
    with!(running(Life::Unknown, 4_000), |t| {
        t.detail.task.worker_pid = None;
        t.session = Some(SessionSeen {
            session: SessionId::parse("ses_1").unwrap(),
            standing,
            active: Some(ago(active)),
            end: LogEnd::Absent,
            left: Vec::new(),
        });
    })
}

fn orphaned() -> Standing {
    Standing::Orphaned("its server knows nothing of it".into())
}

fn ran_out(t: TaskSeen) -> TaskSeen {
    with!(t, |t| t.detail.task.claim_expires = Some(ago(600)))
}

#[test]
fn only_an_orphaned_session_is_dead() {
    says(
        leased(orphaned(), 900),
        "requeue session-orphaned: session ses_1 is orphaned: its server knows nothing of it, last heard from 15m ago \
         (its server was started again since)",
    );
    says(leased(Standing::AtWork, 900), "- session ses_1 is at work");
    says(leased(Standing::Idle, 900), "- session ses_1 is idle; the claim runs until");
    says(
        leased(Standing::Unknown("nothing listens there".into()), 900),
        "? session ses_1 unknown: nothing listens there; the claim runs until",
    );
    // Beyond its claim nobody is waited for but who is at work.
    says(ran_out(leased(Standing::AtWork, 9)), "- session ses_1 is at work");
    says(ran_out(leased(Standing::Idle, 900)), "requeue no-pid");
    says(ran_out(leased(Standing::Unknown("nothing listens there".into()), 900)), "requeue no-pid");
    // A process with the marks of the run is the worker, whatever a session says.
    let alive = with!(leased(orphaned(), 900), |t| t.worker.as_mut().unwrap().life = Life::Alive);
    says(alive, "- worker alive");
    says(with!(leased(orphaned(), 900), |t| t.claim_here = false), "? worker unknown");
}

#[test]
fn the_rules_of_other_deaths_hold() {
    says(
        leased(orphaned(), 29),
        "- session ses_1 is orphaned: its server knows nothing of it; quiet for 29s only",
    );
    assert_eq!(decided(leased(orphaned(), 29)).left[0].next, Some(NOW.plus(1)));
    let often = |n| {
        with!(leased(orphaned(), 900), |t| {
            for _ in 0..n {
                t.detail.events.push(ours("reclaimed", 9_000, json!({"uncounted": 1})));
            }
        })
    };
    says(often(4), "requeue session-orphaned: session ses_1 is orphaned");
    assert!(line(&decided(often(4))).ends_with("(its server was started again since)"));
    assert!(line(&decided(often(5))).ends_with("(failure 1 of 2)"));
    let left = with!(leased(orphaned(), 900), |t| {
        t.worker.as_mut().unwrap().orphans = vec![Orphan { pid: 77, command: "sleep".into(), run: None }];
        t.detail.events.push(death(60, 4_000));
    });
    says(left, "- worker gone, waiting up to 14m for its child 77 (sleep) to end");
    let limited = with!(leased(orphaned(), 900), |t| t.log = ended(Cause::RateLimit));
    says(limited, "park session-orphaned");
    let carded = with!(leased(orphaned(), 900), |t| t.detail.cards = vec!["t_0000000c".into()]);
    says(carded, "park session-orphaned");
    let no_heal = with!(leased(orphaned(), 900), |t| t.detail.body = "watchbill: no-heal".into());
    says(no_heal, "- marked");
}

/// What is known of a session whose newest answer is this, by a server that says that.
fn evidence(server: State, answer: Answer, changed: i64) -> evidence::Evidence {
    let at = logs::session::Millis(ago(changed).0 * 1_000);
    let message = Message {
        id: "msg_1".into(),
        created: at,
        updated: at,
        from: From::Model(answer),
        parts: Vec::new(),
    };
    evidence::Evidence {
        session: SessionId::parse("ses_1").unwrap(),
        server,
        is_owner: true,
        rows: Ok(Rows { messages: vec![message], broken: 0 }),
        gates: None,
        stream: Stream::Unheard,
    }
}

#[test]
fn a_session_is_judged_by_what_is_seen_now() {
    let done = || Answer { completed: Some(logs::session::Millis(0)), ..Answer::default() };
    let stands =
        |server, answer, changed| judged(&evidence(server, answer, changed), &config(), NOW).standing;
    assert!(matches!(stands(State::Absent, Answer::default(), 60), Standing::Orphaned(_)));
    assert_eq!(stands(State::Absent, Answer::default(), 14), Standing::Idle);
    assert_eq!(stands(State::Absent, done(), 60), Standing::Idle);
    assert_eq!(stands(State::Busy, Answer::default(), 60), Standing::AtWork);
    // It hangs: as long as its claim lasts, it may go on.
    assert_eq!(stands(State::Busy, Answer::default(), 600), Standing::Idle);
    let dead = State::Unreachable { why: "nothing listens there".into() };
    let Standing::Unknown(why) = stands(dead, Answer::default(), 60) else { panic!("known") };
    assert_eq!(why, "its server tells nothing: nothing listens there");
    let other = State::Other(coord::OtherState { word: "dreaming".into() });
    assert!(matches!(stands(other, Answer::default(), 60), Standing::Unknown(_)));
    let unread = evidence::Evidence { rows: Err("gone".into()), ..evidence(State::Absent, done(), 60) };
    assert!(matches!(judged(&unread, &config(), NOW).standing, Standing::Unknown(_)));
}

#[test]
fn what_a_session_gave_up_on_is_the_end_of_its_log() {
    let failure = |status, said: &str| Failure { status, is_retryable: false, said: said.into() };
    for (failure, want) in [
        (Some(failure(Some(429), "APIError: slow down")), Some(Cause::RateLimit)),
        (Some(failure(Some(401), "APIError: no")), Some(Cause::Credential)),
        (Some(failure(Some(503), "APIError: full")), Some(Cause::Overloaded)),
        (Some(failure(None, "MessageAbortedError: ")), None),
        (None, None),
    ] {
        let answer = Answer { failure: failure.clone(), ..Answer::default() };
        let end = judged(&evidence(State::Absent, answer, 60), &config(), NOW).end;
        let got = match end {
            LogEnd::Ended(e) => Some(e.cause),
            _ => None,
        };
        assert_eq!(got, want, "{failure:?}");
    }
}

/// Another event of the same session can only add a server to be asked.
#[test]
fn an_event_more_takes_nobody_away() {
    let spawned = |server: &str| {
        let keys =
            json!({"session": "ses_1", "server": server, "host": "host", "directory": "/w", "by": "coord"});
        Event { run: Some(1), ..event(EventKind::SessionSpawned, 900, keys) }
    };
    let of = |servers: &[&str]| -> Vec<String> {
        let mut d: Detail = running(Life::Unknown, 4_000).detail;
        d.events.extend(servers.iter().map(|s| spawned(s)));
        mapping::of_run(&d, 1).into_iter().filter_map(|m| m.server).collect()
    };
    assert_eq!(of(&["http://a:1"]), ["http://a:1"]);
    assert_eq!(of(&["http://a:1", "http://a:1"]), ["http://a:1"]);
    assert_eq!(of(&["http://a:1", "http://b:1"]), ["http://a:1", "http://b:1"]);
    let all = [Standing::Idle, Standing::AtWork, orphaned(), Standing::Unknown("x".into())];
    for one in &all {
        assert_eq!(one.clone().and(Standing::AtWork), Standing::AtWork);
        assert_eq!(orphaned().and(one.clone()), *one);
    }
}
