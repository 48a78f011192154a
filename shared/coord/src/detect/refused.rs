//! What its provider refuses: for want of room, which passes, or for want of a credential, which does not.

use super::{Judge, MAX_SAID, Verdict};
use crate::State;
use crate::evidence::{Failure, Message};
use base::count::times;
use base::quote;

/// `PROVIDER_PRESSURE`: asked again so many times, or given up with a refusal that says "later". Attempts that were answered in
/// the end leave nothing behind, so one or two are told of nowhere.
pub(super) fn pressure(judge: &Judge<'_>) -> Verdict {
    let last = judge.rows().and_then(|rows| rows.last());
    if let State::Retry { attempt, message, .. } = &judge.evidence.server {
        if *attempt < judge.limits.retries {
            return Verdict::Clear;
        }
        let episode = last.map_or("", |(message, _)| message.id.as_str());
        let said = format!("asked again {}: {}", times(*attempt), quote::line(message, MAX_SAID));
        return Verdict::found(episode, said);
    }
    match failed(judge, |f| matches!(f.status, Some(429 | 503 | 529))) {
        Verdict::Clear if matches!(judge.evidence.server, State::Unreachable { .. }) => Verdict::Unknown,
        verdict => verdict,
    }
}

/// `CREDENTIAL`.
pub(super) fn credential(judge: &Judge<'_>) -> Verdict {
    failed(judge, |f| matches!(f.status, Some(401 | 403)) && !f.is_retryable)
}

/// What the newest answer failed of, unless there was a prompt since.
fn failed(judge: &Judge<'_>, is_it: impl Fn(&Failure) -> bool) -> Verdict {
    let Some(rows) = judge.rows() else { return Verdict::Unknown };
    let Some((last, answer)) = rows.last() else { return Verdict::Clear };
    let is_newest = rows.since_prompt().iter().any(|m: &Message| m.id == last.id);
    match answer.failure.as_ref().filter(|f| is_newest && is_it(f)) {
        Some(failure) => Verdict::found(last.id.as_str(), quote::line(&failure.said, MAX_SAID)),
        None => Verdict::Clear,
    }
}
