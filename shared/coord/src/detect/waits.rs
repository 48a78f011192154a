//! What nobody moves: a model that does not answer, a tool that runs, a person who was asked. Only the server says whose turn it
//! is, so without its word none of these is found.

use super::{Judge, Verdict};
use crate::State;
use crate::evidence::{Call, Part, Stream};
use base::time::words;
use config::span::seconds;
use logs::health;
use logs::vitals::Turn;

/// `SESSION_STALL`. "Busy, and no event for 60 s", as the hub has it, called four of five busy sessions stalled of which one
/// was. So a tool that runs, a person who is asked and a provider that is asked again do not count; nor does a stream that moves,
/// which no row shows. Where nobody listened to the stream, much more silence is needed. The rule itself is
/// [`health::silent`], which judges logs by the same.
pub(super) fn stall(judge: &Judge<'_>) -> Verdict {
    let (evidence, limits) = (judge.evidence, judge.limits);
    let Some(rows) = judge.rows() else { return Verdict::Unknown };
    match evidence.server {
        State::Busy => {}
        State::Absent | State::Retry { .. } => return Verdict::Clear,
        State::Unreachable { .. } | State::Other(_) => return Verdict::Unknown,
    }
    let bound = match evidence.stream {
        Stream::Moves => return Verdict::Clear,
        Stream::Silent => seconds(limits.session_stall),
        Stream::Unheard => seconds(limits.unheard_stall),
    };
    let Some((newest, active)) = rows.newest().zip(rows.active()) else { return Verdict::Unknown };
    match health::silent(evidence.turn(), judge.age(active), bound, limits, judge.now) {
        Some(said) => Verdict::found(newest.id.as_str(), said),
        None => Verdict::Clear,
    }
}

/// `TOOL_LONG`: longer than the call itself allows, and than any call is given.
pub(super) fn tool(judge: &Judge<'_>) -> Verdict {
    let (part, call) = match running(judge) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    let Turn::Tool { since } = judge.evidence.turn() else { return Verdict::Clear };
    let Some(false) = judge.evidence.is_asked(call) else { return Verdict::Unknown };
    let allowed = i64::try_from(call.allowed.unwrap_or(0) / 1_000).unwrap_or(i64::MAX);
    let ran = judge.now.since(since);
    if ran <= allowed.max(seconds(judge.limits.tool_long)) {
        return Verdict::Clear;
    }
    let tool = base::quote::line(&call.tool, super::MAX_SAID);
    Verdict::found(part.id.as_str(), format!("its tool runs for {}: {tool}", words(ran)))
}

/// `WAITING_HUMAN`. A question is listed on after its session was aborted, so only one whose call still runs counts.
pub(super) fn person(judge: &Judge<'_>) -> Verdict {
    let (part, call) = match running(judge) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    let waited = judge.age(call.started.unwrap_or(part.at));
    match judge.evidence.is_asked(call) {
        None => Verdict::Unknown,
        Some(true) if waited > seconds(judge.limits.human_wait) => {
            Verdict::found(part.id.as_str(), format!("a person was asked {} ago", words(waited)))
        }
        Some(_) => Verdict::Clear,
    }
}

/// The tool call that the server works on, or what follows from there being none.
fn running<'a>(judge: &Judge<'a>) -> Result<(&'a Part, &'a Call), Verdict> {
    let Some(rows) = judge.rows() else { return Err(Verdict::Unknown) };
    match judge.evidence.server {
        State::Busy => rows.running().ok_or(Verdict::Clear),
        State::Absent | State::Retry { .. } => Err(Verdict::Clear),
        State::Unreachable { .. } | State::Other(_) => Err(Verdict::Unknown),
    }
}
