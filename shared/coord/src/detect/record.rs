//! What a board remembers of detections: append-only events, one when an issue is found, one when it gets better or worse, one
//! when it ends. The latest of a session and a type says how it stands.

use board::EventKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Issue, Judge, Kind, Severity, Verdict};
use crate::SessionId;
use base::time::Time;
use board::Event;

/// How an issue stood when it was last recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// What.
    pub kind: Kind,
    /// How bad.
    pub severity: Option<Severity>,
    /// Which time it is.
    pub episode: String,
    /// Since when that time lasts.
    pub since: Time,
    /// It has ended.
    pub has_ended: bool,
    /// What was found, in words. Untrusted.
    pub said: String,
}

/// What is to be recorded of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// It was found, or is worse or better than recorded.
    Found(Issue),
    /// It has ended.
    Ended(Recorded),
}

/// The keys of an event; whatever else stands in it is passed over.
#[derive(Debug, Deserialize, Serialize)]
struct Keys {
    session: SessionId,
    #[serde(rename = "type")]
    kind: Kind,
    severity: Option<Severity>,
    episode: String,
    state: Standing,
    #[serde(default)]
    said: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Standing {
    Found,
    Ended,
}

impl News {
    /// The keys of the event that tells it, besides who wrote it and why.
    pub fn keys(&self, session: &SessionId) -> Value {
        match self {
            News::Found(issue) => json!({
                "session": session, "type": issue.kind, "severity": issue.severity, "episode": issue.episode,
                "state": Standing::Found, "said": issue.said,
            }),
            News::Ended(was) => json!({
                "session": session, "type": was.kind, "severity": was.severity, "episode": was.episode,
                "state": Standing::Ended,
            }),
        }
    }

    /// The line that says why it is recorded.
    pub fn because(&self) -> String {
        match self {
            News::Found(issue) => format!("{}: {}", issue.kind, issue.said),
            News::Ended(was) => format!("{} ended", was.kind),
        }
    }
}

/// How the issues of a session stand by the history of its task, oldest event first.
pub fn recorded(events: &[Event], session: &SessionId) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = Vec::new();
    for event in events.iter().filter(|e| e.kind == EventKind::SessionDetection) {
        let Ok(keys) = Keys::deserialize(&*event.payload) else { continue };
        if keys.session != *session {
            continue;
        }
        let before = all.iter().position(|r| r.kind == keys.kind).map(|at| all.remove(at));
        let goes_on = before.filter(|b| !b.has_ended && b.episode == keys.episode);
        // Its end does not say once more what it was.
        let said = match (&goes_on, keys.said.is_empty()) {
            (Some(before), true) => before.said.clone(),
            _ => keys.said,
        };
        all.push(Recorded {
            kind: keys.kind,
            severity: keys.severity,
            episode: keys.episode,
            since: goes_on.map_or(event.at, |b| b.since),
            has_ended: keys.state == Standing::Ended,
            said,
        });
    }
    all
}

/// What is to be recorded. Where a detector cannot tell, what was recorded stays: that nothing is known is not an end. That a
/// verdict could not be reached is not recorded at all.
pub fn news(judge: &Judge<'_>, recorded: &[Recorded]) -> Vec<News> {
    let mut all = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::NoVerdict) {
        let open = recorded.iter().find(|r| r.kind == kind && !r.has_ended);
        match judge.verdict(kind) {
            Verdict::Unknown => {}
            Verdict::Clear => all.extend(open.cloned().map(News::Ended)),
            Verdict::Found { episode, said } => {
                let severity = kind.severity();
                if open.is_some_and(|r| r.episode == episode && r.severity == severity) {
                    continue;
                }
                // Another time of the same: the one before is over.
                all.extend(open.filter(|r| r.episode != episode).cloned().map(News::Ended));
                all.push(News::Found(Issue { kind, severity, episode, said }));
            }
        }
    }
    all
}
