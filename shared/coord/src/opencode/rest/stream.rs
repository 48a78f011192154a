//! Listening to a server's events for a few seconds: what a model streams is in no row until its block ends (opencode 1.18.33), so
//! that nothing else tells a slow answer from none.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::Server;
use crate::{Answer, SessionId, Silence};

/// Most bytes that are listened to. A server that says more in a few seconds is too busy to be told anything of.
const MAX_HEARD: u64 = 64 << 20;
/// How much earlier than ours the clock of reading may run out.
const SLACK: Duration = Duration::from_millis(100);
/// What the server may take to answer at all, besides the time that is listened.
const GREETING: Duration = Duration::from_secs(2);

impl Server {
    /// Which of these sessions a piece of an answer was heard of, in any directory. Listens for `length`, or until all of them
    /// were heard.
    ///
    /// # Errors
    /// It cannot be asked, or did not let us listen for as long: then nobody can be called silent.
    pub fn heard(&self, of: &BTreeSet<SessionId>, length: Duration) -> Answer<BTreeSet<SessionId>> {
        let request = self.signed(self.agent.get(format!("{}/global/event", self.at)));
        let request = request.header("accept", "text/event-stream").config();
        let mut answer = request
            .timeout_global(None)
            .timeout_recv_response(Some(GREETING))
            .timeout_recv_body(Some(length))
            .build()
            .call()
            .map_err(|e| super::unreachable(&e))?;
        let from = Instant::now();
        let kind = answer.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default();
        if answer.status() != 200 || !kind.starts_with("text/event-stream") {
            return Err(Silence::Unreachable("does not let us listen to its events".into()));
        }
        let mut heard = BTreeSet::new();
        let lines = BufReader::new(answer.body_mut().as_reader().take(MAX_HEARD)).lines();
        for line in lines {
            // Where nothing is said, reading ends when its time is over.
            let Ok(line) = line else { break };
            heard.extend(speaker(&line).filter(|id| of.contains(id)));
            if heard.len() == of.len() || from.elapsed() >= length {
                break;
            }
        }
        match heard.len() == of.len() || from.elapsed() + SLACK >= length {
            true => Ok(heard),
            false => Err(Silence::Unreachable("its events broke off".into())),
        }
    }
}

/// What of an event is read. `/global/event` wraps what `/event` says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event {
    payload: Payload,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    properties: Properties,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Properties {
    #[serde(rename = "sessionID")]
    session: String,
    /// Up to 1.1 a piece came with the whole part.
    delta: Option<serde::de::IgnoredAny>,
    part: Part,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    #[serde(rename = "sessionID")]
    session: String,
}

/// The session that a line of an event stream brings a piece of an answer of.
fn speaker(line: &str) -> Option<SessionId> {
    let data = line.strip_prefix("data:")?;
    // Most lines are something else, and some are long.
    if !data.contains("\"message.part.") {
        return None;
    }
    let payload = serde_json::from_str::<Event>(data.trim_start()).ok()?.payload;
    let properties = payload.properties;
    match payload.kind.as_str() {
        "message.part.delta" => SessionId::parse(&properties.session),
        "message.part.updated" if properties.delta.is_some() => SessionId::parse(&properties.part.session),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pieces_of_answers_are_heard() {
        // As 1.18.33 said them.
        let of = |kind: &str, rest: &str| {
            let wrapped = format!(
                "{{\"directory\":\"/p\",\"payload\":{{\"id\":\"evt_1\",\"type\":\"{kind}\",{rest}}}}}"
            );
            speaker(&format!("data: {wrapped}")).map(String::from)
        };
        let delta = r#""properties":{"sessionID":"ses_1","messageID":"msg_1","partID":"prt_1","field":"text","delta":"a"}"#;
        assert_eq!(of("message.part.delta", delta).as_deref(), Some("ses_1"));
        let whole =
            r#""properties":{"sessionID":"ses_1","part":{"id":"prt_1","sessionID":"ses_1"},"time":5}"#;
        assert_eq!(of("message.part.updated", whole), None);
        // As 1.1 did.
        let piece = r#""properties":{"part":{"id":"prt_1","sessionID":"ses_2","text":"a b"},"delta":"b"}"#;
        assert_eq!(of("message.part.updated", piece).as_deref(), Some("ses_2"));
        let status = r#""properties":{"sessionID":"ses_1","status":{"type":"busy"}}"#;
        assert_eq!(of("session.status", status), None);
        assert_eq!(of("message.part.delta", r#""properties":{"sessionID":"../x"}"#), None);
        for line in ["", "event: message", "data:", "data: {", "data: \"message.part.delta\"", ": ping"] {
            assert_eq!(speaker(line), None, "{line}");
        }
    }
}
