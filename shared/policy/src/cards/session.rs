//! What `coord detect --record` found of the session that works on a task. Its events are the ground of a card and of nothing
//! else: any process can write them, and a card only asks.

use base::cause::{self, Cause};
use base::time::Time;
use board::Detail;
use card::Blocker;
use coord::detect::Kind;
use coord::detect::record::recorded;
use coord::{SessionId, mapping};

/// One thing that is wrong with a session and that a card must ask about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Which session.
    pub session: SessionId,
    /// What.
    pub kind: Kind,
    /// What kind of help is needed.
    pub blocker: Blocker,
    /// The same as the cause of an end, where there is one for it.
    pub cause: Option<Cause>,
    /// The word of keys.
    pub word: &'static str,
    /// Since when.
    pub since: Time,
    /// What was found, in words. Untrusted.
    pub said: String,
}

/// What of a session makes a card, the first one first: what would be met elsewhere as well, before what may come of it.
const ASKED: [Kind; 6] = [
    Kind::Credential,
    Kind::ProviderPressure,
    Kind::Runaway,
    Kind::ModelDegradation,
    Kind::HighErrorCount,
    Kind::WaitingHuman,
];

/// The worst that stands recorded, and has not ended, of the session that works on a task now.
pub fn found(task: &Detail) -> Option<Found> {
    let session = mapping::active(task)?.session;
    let mut open = recorded(&task.events, &session);
    open.retain(|r| !r.has_ended);
    let issue = ASKED.iter().find_map(|kind| open.iter().find(|r| r.kind == *kind))?;
    let (blocker, cause, word) = help(issue.kind, &issue.said)?;
    let (kind, since, said) = (issue.kind, issue.since, issue.said.clone());
    Some(Found { session, kind, blocker, cause, word, since, said })
}

/// Whether all that a card of this word asks about has ended, of the session that still works on the task. Whatever ends with
/// the session itself is for the card to decide.
pub fn has_ended(task: &Detail, word: &str) -> bool {
    let Some(mapping) = mapping::active(task) else { return false };
    let all = recorded(&task.events, &mapping.session);
    let mut of_word =
        all.iter().filter(|r| help(r.kind, &r.said).is_some_and(|(.., w)| w == word)).peekable();
    of_word.peek().is_some() && of_word.all(|r| r.has_ended)
}

fn help(kind: Kind, said: &str) -> Option<(Blocker, Option<Cause>, &'static str)> {
    let of = |cause: Cause| Some((cause.blocker_type()?, Some(cause), cause.as_str()));
    match kind {
        Kind::Credential => of(Cause::Credential),
        // Its words tell a used-up quota from a limit of minutes.
        Kind::ProviderPressure => of(cause::of_http(429, said).unwrap_or(Cause::RateLimit)),
        Kind::Runaway => of(Cause::IterationBudget),
        Kind::ModelDegradation => of(Cause::MalformedCall),
        // A tool that fails belongs to the work and ends no attempt; so many failures need a decision.
        Kind::HighErrorCount => Some((Blocker::EnvBlocker, None, "tool_errors")),
        Kind::WaitingHuman => Some((Blocker::Dependency, None, "waiting_human")),
        Kind::SessionStall
        | Kind::ToolLong
        | Kind::SessionOrphaned
        | Kind::PromptUnanswered
        | Kind::NoVerdict => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use board::testing::{detail, event, run};
    use board::{Event, EventKind, Status};

    /// A task that `ses_1` works on, of which this was recorded, so many seconds ago: type, state.
    fn task(recorded: &[(&str, &str, i64)]) -> Detail {
        let mut d = detail("t_00000001", Status::Running);
        d.task.current_run = Some(1);
        d.runs = vec![run(1, "luna", None)];
        let keys = json!({"session": "ses_1", "server": "http://a:1", "host": "h", "directory": "/w", "by": "coord"});
        d.events.push(Event { run: Some(1), ..event(EventKind::SessionSpawned, 900, keys) });
        for (kind, state, seconds) in recorded {
            let keys = json!({
                "session": "ses_1", "type": kind, "severity": "high", "episode": "msg_1", "state": state,
                "said": format!("{kind} it is"), "by": "coord",
            });
            d.events.push(Event { run: Some(1), ..event(EventKind::SessionDetection, *seconds, keys) });
        }
        d
    }

    #[test]
    fn each_kind_asks_for_its_own_help() {
        for (kind, want) in [
            ("PROVIDER_PRESSURE", Some((Blocker::RateLimited, "rate_limit"))),
            ("CREDENTIAL", Some((Blocker::CredentialFailure, "credential"))),
            ("RUNAWAY", Some((Blocker::IterationBudget, "iteration_budget"))),
            ("MODEL_DEGRADATION", Some((Blocker::EnvBlocker, "malformed_call"))),
            ("HIGH_ERROR_COUNT", Some((Blocker::EnvBlocker, "tool_errors"))),
            ("WAITING_HUMAN", Some((Blocker::Dependency, "waiting_human"))),
            ("SESSION_STALL", None),
            ("TOOL_LONG", None),
            ("SESSION_ORPHANED", None),
            ("PROMPT_UNANSWERED", None),
            ("NO_VERDICT", None),
        ] {
            let got = found(&task(&[(kind, "found", 60)])).map(|f| (f.blocker, f.word));
            assert_eq!(got, want, "{kind}");
        }
    }

    #[test]
    fn what_a_card_asks_about_has_ended_once_all_of_it_has() {
        let pressure = |state: &str, said: &str| {
            let mut d = task(&[("PROVIDER_PRESSURE", "found", 60), ("PROVIDER_PRESSURE", state, 30)]);
            d.events[2].payload["said"] = json!(said);
            d.events[3].payload.as_object_mut().unwrap().remove("said");
            d
        };
        assert!(has_ended(&pressure("ended", "slow down"), "rate_limit"));
        assert!(
            has_ended(&pressure("ended", "insufficient_quota"), "quota"),
            "its end does not say it again"
        );
        assert!(!has_ended(&pressure("found", "slow down"), "rate_limit"));
        assert!(!has_ended(&pressure("ended", "slow down"), "credential"), "never found");
        let mut over = pressure("ended", "slow down");
        over.task.current_run = None;
        assert!(!has_ended(&over, "rate_limit"), "its session is not there any more");
    }

    #[test]
    fn only_what_stands_and_is_the_present_sessions_counts() {
        assert_eq!(found(&task(&[])), None);
        assert_eq!(found(&task(&[("RUNAWAY", "found", 60), ("RUNAWAY", "ended", 30)])), None);
        let all = task(&[("WAITING_HUMAN", "found", 90), ("RUNAWAY", "found", 60)]);
        let one = found(&all).unwrap();
        assert_eq!(
            (one.kind, one.since, one.said.as_str()),
            (Kind::Runaway, all.events[3].at, "RUNAWAY it is")
        );
        let mut over = task(&[("RUNAWAY", "found", 60)]);
        over.task.current_run = Some(2);
        assert_eq!(found(&over), None);
        let mut other = task(&[("RUNAWAY", "found", 60)]);
        other.events[2].payload["session"] = json!("ses_2");
        assert_eq!(found(&other), None);
    }
}
