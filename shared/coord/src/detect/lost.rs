//! What nobody will go on with: the server answers and knows nothing of a session whose rows say that something is open.

use super::{Judge, Verdict};
use crate::State;
use crate::evidence::{From, Rows};
use base::time::words;
use config::span::seconds;

/// `SESSION_ORPHANED`: its server was killed, which leaves the model's message open for ever; a server that is started
/// again gives an empty list of states (opencode 1.18.33). Where another server than the asked one may run the session, it must have
/// been silent for as long as a stall takes.
pub(super) fn orphaned(judge: &Judge<'_>) -> Verdict {
    let rows = match absent(judge) {
        Ok(rows) => rows,
        Err(verdict) => return verdict,
    };
    let Some((last, answer)) = rows.last() else { return Verdict::Clear };
    let Some(active) = rows.active().filter(|_| answer.completed.is_none()) else { return Verdict::Clear };
    let grace = if judge.evidence.is_owner {
        seconds(judge.limits.orphan_after)
    } else {
        seconds(judge.limits.orphan_after).max(seconds(judge.limits.unheard_stall))
    };
    let quiet = judge.age(active);
    if quiet <= grace {
        return Verdict::Clear;
    }
    let said = format!("its server knows nothing of it; its answer is open for {}", words(quiet));
    Verdict::found(last.id.as_str(), said)
}

/// `PROMPT_UNANSWERED`: a prompt that was queued behind a turn is lost when that turn is aborted (opencode 1.18.33), and so is
/// one whose server died before it began.
pub(super) fn unanswered(judge: &Judge<'_>) -> Verdict {
    let rows = match absent(judge) {
        Ok(rows) => rows,
        Err(verdict) => return verdict,
    };
    let waits = rows.messages.iter().rev().take_while(|m| m.answer().is_none());
    // A note that came after it answers nothing.
    let mut waits = waits.filter(|m| !matches!(m.from, From::Note { wants_answer: false }));
    let Some(prompt) = waits.next() else { return Verdict::Clear };
    let waited = judge.age(prompt.created);
    if waited <= seconds(judge.limits.unanswered) {
        return Verdict::Clear;
    }
    Verdict::found(prompt.id.as_str(), format!("asked {} ago, and nobody took it up", words(waited)))
}

/// The rows of a session of which its server knows nothing, or what follows otherwise.
fn absent<'a>(judge: &Judge<'a>) -> Result<&'a Rows, Verdict> {
    match judge.evidence.server {
        State::Absent => judge.rows().ok_or(Verdict::Unknown),
        State::Unreachable { .. } => Err(Verdict::Unknown),
        State::Busy | State::Retry { .. } | State::Other(_) => Err(Verdict::Clear),
    }
}
