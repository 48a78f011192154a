//! What holds for any session.

use proptest::collection::vec;
use proptest::prelude::*;

use super::record::{News, news};
use super::*;
use crate::OtherState;
use crate::evidence::Failure;
use board::EventKind;

fn server() -> impl Strategy<Value = State> {
    prop_oneof![
        Just(State::Unreachable { why: "refused".into() }),
        Just(State::Absent),
        Just(State::Busy),
        (0_u32..6).prop_map(|attempt| State::Retry { attempt, message: "no".into(), next: 0 }),
        Just(State::Other(OtherState { word: "image_processing".into() })),
    ]
}

fn part() -> impl Strategy<Value = What> {
    let stands = prop_oneof![
        Just(Stands::Open),
        Just(Stands::Done),
        Just(Stands::BadExit),
        Just(Stands::Failed),
        Just(Stands::Unfit),
        Just(Stands::Malformed),
        Just(Stands::Interrupted),
    ];
    prop_oneof![
        4 => (stands, 0_u64..3, 0_i64..900).prop_map(|(stands, mark, s)| call("x", s, stands, mark).what),
        1 => any::<bool>().prop_map(|is_auto| What::Compaction { is_auto }),
        1 => (any::<bool>(), any::<bool>())
            .prop_map(|(has_call_marks, is_open)| What::Words { has_call_marks, is_open }),
        1 => Just(What::Other),
    ]
}

fn sender() -> impl Strategy<Value = From> {
    let failure = (prop_oneof![Just(401_u16), Just(429), Just(500)], any::<bool>())
        .prop_map(|(status, is_retryable)| Failure { status: Some(status), is_retryable, said: "no".into() });
    let finish = prop_oneof![Just("stop"), Just("unknown"), Just("tool-calls")];
    prop_oneof![
        2 => Just(From::Prompt),
        1 => any::<bool>().prop_map(|wants_answer| From::Note { wants_answer }),
        5 => (any::<bool>(), finish, proptest::option::weighted(0.2, failure)).prop_map(|(over, finish, failure)| {
            From::Model(Answer { failure, ..if over { done(0, finish) } else { open() } })
        }),
    ]
}

fn sessions() -> impl Strategy<Value = Evidence> {
    let messages = vec((0_i64..60, sender(), vec(part(), 0..6)), 0..12);
    let stream = prop_oneof![Just(Stream::Unheard), Just(Stream::Silent), Just(Stream::Moves)];
    (server(), any::<bool>(), messages, proptest::option::of(any::<bool>()), stream).prop_map(
        |(server, is_owner, raw, gates, stream)| {
            let mut seconds = 0;
            let mut messages = Vec::new();
            for (n, (gap, from, parts)) in raw.into_iter().enumerate() {
                seconds += gap;
                let own = |(k, what)| Part { id: format!("prt_{n}_{k}"), at: at(seconds), what };
                let parts = parts.into_iter().enumerate().map(own).collect();
                messages.push(message(&format!("msg_{n}"), seconds, from, parts));
            }
            let gates = gates.map(|asks| if asks { vec![gate("call_x")] } else { vec![] });
            Evidence { is_owner, gates, stream, ..evidence(server, messages) }
        },
    )
}

fn all(evidence: &Evidence, seconds: i64) -> Vec<Issue> {
    let limits = Detect { raw_calls: true, schema_errors: 2, ..Detect::default() };
    detect(&Judge { evidence, limits: &limits, since: None, now: Time(T0 + seconds) })
}

fn kinds(evidence: &Evidence, seconds: i64) -> Vec<Kind> {
    all(evidence, seconds).into_iter().map(|i| i.kind).collect()
}

/// What only a server can tell.
const ASKED: [Kind; 5] =
    [Kind::SessionStall, Kind::ToolLong, Kind::WaitingHuman, Kind::SessionOrphaned, Kind::PromptUnanswered];

proptest! {
    #[test]
    fn from_nothing_known_follows_nothing(evidence in sessions(), seconds in -1_000_i64..100_000) {
        let why = || "locked".to_owned();
        let blind = Evidence { server: State::Unreachable { why: why() }, rows: Err(why()), ..evidence.clone() };
        prop_assert_eq!(kinds(&blind, seconds), [Kind::NoVerdict]);
        let deaf = Evidence { server: State::Unreachable { why: why() }, ..evidence.clone() };
        prop_assert!(kinds(&deaf, seconds).iter().all(|k| !ASKED.contains(k)));
        let blind = Evidence { rows: Err(why()), ..evidence };
        let from_the_server = [Kind::ProviderPressure, Kind::NoVerdict];
        prop_assert!(kinds(&blind, seconds).iter().all(|k| from_the_server.contains(k)));
    }

    #[test]
    fn a_word_we_do_not_know_finds_nothing_that_only_a_server_can_tell(evidence in sessions(), seconds in 0_i64..9_000) {
        let odd = Evidence { server: State::Other(OtherState { word: "x".into() }), ..evidence };
        prop_assert!(kinds(&odd, seconds).iter().all(|k| !ASKED.contains(k)));
    }

    #[test]
    fn one_issue_a_kind_in_order_each_with_an_episode(evidence in sessions(), seconds in -1_000_i64..9_000) {
        let found = all(&evidence, seconds);
        let kinds: Vec<Kind> = found.iter().map(|i| i.kind).collect();
        let mut sorted = kinds.clone();
        sorted.sort_unstable();
        sorted.dedup();
        prop_assert_eq!(&kinds, &sorted);
        for issue in &found {
            prop_assert!(!issue.said.is_empty());
            // A retry is known from the server, also before the first row.
            let is_rowless = evidence.rows().is_some_and(|r| r.last().is_none());
            let may_lack = issue.kind == Kind::NoVerdict || (issue.kind == Kind::ProviderPressure && is_rowless);
            prop_assert!(!issue.episode.is_empty() || may_lack, "{:?}", issue);
        }
    }

    #[test]
    fn waiting_changes_no_episode(evidence in sessions(), seconds in 0_i64..2_000, more in 0_i64..20_000) {
        let later = all(&evidence, seconds + more);
        for issue in all(&evidence, seconds) {
            if let Some(again) = later.iter().find(|i| i.kind == issue.kind) {
                prop_assert_eq!(&again.episode, &issue.episode);
            }
        }
    }

    #[test]
    fn a_live_stream_a_running_tool_and_an_asked_person_are_no_stall(evidence in sessions(), seconds in 0_i64..80_000) {
        let is_stalled = kinds(&evidence, seconds).contains(&Kind::SessionStall);
        let runs = evidence.rows().is_some_and(|r| r.running().is_some());
        prop_assert!(!is_stalled || (evidence.server == State::Busy && evidence.stream != Stream::Moves && !runs));
    }

    #[test]
    fn recording_twice_is_recording_once(evidence in sessions(), seconds in 0_i64..2_000) {
        let limits = Detect::default();
        let judge = Judge { evidence: &evidence, limits: &limits, since: None, now: Time(T0 + seconds) };
        let first = news(&judge, &[]);
        let events: Vec<board::Event> = first.iter().map(|n| board::Event {
            kind: EventKind::SessionDetection,
            at: judge.now,
            run: None,
            payload: n.keys(&evidence.session).into(),
        }).collect();
        let all_found = first.iter().all(|n| matches!(n, News::Found(_)));
        prop_assert!(all_found);
        prop_assert_eq!(news(&judge, &super::record::recorded(&events, &evidence.session)), []);
    }
}
