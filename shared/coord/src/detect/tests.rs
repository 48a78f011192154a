mod properties;
mod recorded;
mod rules;
mod scenarios;

use super::*;
use crate::evidence::{Answer, Call, From, Message, Part, Stands, Stream, What};
use crate::{Gate, SessionId};

const T0: i64 = 1_795_000_000;

fn session() -> SessionId {
    SessionId::parse("ses_1").unwrap()
}

/// Seconds after [`T0`], in milliseconds.
fn at(seconds: i64) -> Millis {
    Millis((T0 + seconds) * 1_000)
}

fn evidence(server: State, messages: Vec<Message>) -> Evidence {
    Evidence {
        session: session(),
        server,
        is_owner: true,
        rows: Ok(Rows { messages, broken: 0 }),
        gates: Some(Vec::new()),
        stream: Stream::Unheard,
    }
}

fn message(id: &str, seconds: i64, from: From, parts: Vec<Part>) -> Message {
    let updated = parts.iter().map(|p| p.at).max().unwrap_or(at(seconds)).max(at(seconds));
    Message { id: id.into(), created: at(seconds), updated, from, parts }
}

fn prompt(id: &str, seconds: i64) -> Message {
    message(id, seconds, From::Prompt, vec![])
}

fn open() -> Answer {
    Answer { to: Some("p".into()), ..Answer::default() }
}

fn done(seconds: i64, finish: &str) -> Answer {
    Answer { completed: Some(at(seconds)), finish: Some(finish.into()), ..open() }
}

fn answer(id: &str, seconds: i64, answer: Answer, parts: Vec<Part>) -> Message {
    message(id, seconds, From::Model(answer), parts)
}

fn call(id: &str, seconds: i64, stands: Stands, mark: u64) -> Part {
    let call = Call {
        call: Some(format!("call_{id}")),
        tool: "read".into(),
        stands,
        started: Some(at(seconds)),
        allowed: None,
        mark,
        print: None,
    };
    Part { id: id.into(), at: at(seconds), what: What::Tool(call) }
}

/// What is found `seconds` after [`T0`].
fn found(evidence: &Evidence, limits: &Detect, seconds: i64) -> Vec<&'static str> {
    let judge = Judge { evidence, limits, since: None, now: Time(T0 + seconds) };
    detect(&judge).iter().map(|issue| issue.kind.as_str()).collect()
}

fn gate(call: &str) -> Gate {
    Gate { session: session(), call: Some(call.into()) }
}

#[test]
fn every_kind_has_a_word_of_its_own_and_keeps_it() {
    for kind in Kind::ALL {
        assert_eq!(Kind::named(kind.as_str()), Some(kind));
        assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
    }
    assert_eq!(Kind::named("STALLED"), None);
}

#[test]
fn severities_are_those_of_the_table() {
    let of = |severity: Option<Severity>| -> Vec<&str> {
        Kind::ALL.into_iter().filter(|k| k.severity() == severity).map(Kind::as_str).collect()
    };
    let high = ["MODEL_DEGRADATION", "SESSION_ORPHANED", "PROVIDER_PRESSURE", "CREDENTIAL", "RUNAWAY"];
    assert_eq!(of(Some(Severity::High)), high);
    let medium = ["HIGH_ERROR_COUNT", "SESSION_STALL", "WAITING_HUMAN", "PROMPT_UNANSWERED"];
    assert_eq!(of(Some(Severity::Medium)), medium);
    assert_eq!(of(Some(Severity::Low)), ["TOOL_LONG"]);
    assert_eq!(of(None), ["NO_VERDICT"]);
}
