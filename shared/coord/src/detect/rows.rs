//! What rows alone tell: calls that cannot be used, calls that fail, circles. No server needs to be asked.

use super::{Judge, Verdict};
use crate::evidence::{Call, Message, Part, Rows, Stands, What};
use base::count::{things, times};
use config::span::{seconds, words};

/// Answers of the model that are looked at for broken streams.
const ANSWERS: usize = 10;
/// Tool calls that are compared with each other.
const CALLS: usize = 8;

/// `MODEL_DEGRADATION`. The hub's plugin looked for a tool called `tool` in a running process; opencode stores such a call as
/// `invalid`, and as completed. Calls whose arguments do not fit, and marks of calls in plain words, count where that is asked
/// for: good models write both now and then.
pub(super) fn degradation(judge: &Judge<'_>) -> Verdict {
    let (Some(rows), limits) = (judge.rows(), judge.limits) else { return Verdict::Unknown };
    let messages = judge.counted(rows);
    let malformed = calls(messages, |call| call.stands == Stands::Malformed);
    let unfit = calls(messages, |call| call.stands == Stands::Unfit);
    let marks =
        parts(messages).filter(|p| matches!(p.what, What::Words { has_call_marks: true, .. })).count();
    let said = match () {
        () if malformed >= limits.malformed as usize => {
            format!("{} could not be used", things(malformed, "call"))
        }
        () if limits.schema_errors > 0 && unfit >= limits.schema_errors as usize => {
            format!("{} with arguments that do not fit", things(unfit, "call"))
        }
        () if limits.raw_calls && marks > 0 => format!("{} with marks of calls", things(marks, "text")),
        () => return Verdict::Clear,
    };
    in_turn(rows, said)
}

/// `HIGH_ERROR_COUNT`. The hub counts over the life of a process, which flags every old session for ever; here it is the newest
/// stretch of the session's own time. A call that was stopped from outside is not an error of the session, and one that nobody
/// could use is counted above.
pub(super) fn errors(judge: &Judge<'_>) -> Verdict {
    let (Some(rows), limits) = (judge.rows(), judge.limits) else { return Verdict::Unknown };
    let Some(active) = rows.active() else { return Verdict::Clear };
    let from = active.0.saturating_sub(seconds(limits.recent).saturating_mul(1_000));
    let is_error = |call: &Call| match call.stands {
        Stands::Failed | Stands::Unfit => true,
        Stands::BadExit => limits.bash_exit,
        Stands::Open | Stands::Done | Stands::Malformed | Stands::Interrupted => false,
    };
    let all = judge.counted(rows).iter().flat_map(Message::calls);
    let failed = all.filter(|(part, call)| part.at.0 >= from && is_error(call)).count();
    if failed < limits.errors as usize {
        return Verdict::Clear;
    }
    in_turn(rows, format!("{} failed within {}", things(failed, "call"), words(limits.recent)))
}

/// `RUNAWAY`: streams that break off and are asked for again at once, a context that is compacted and full again, one call over
/// and over with the same answer. Each was seen to go on until it was stopped, without one error stored.
pub(super) fn runaway(judge: &Judge<'_>) -> Verdict {
    let (Some(rows), limits) = (judge.rows(), judge.limits) else { return Verdict::Unknown };
    let Some(active) = rows.active() else { return Verdict::Clear };
    let messages = judge.counted(rows);
    let answers = messages.iter().rev().filter_map(Message::answer).take(ANSWERS);
    let broken = answers.filter(|a| a.finish.as_deref() == Some("unknown")).count();
    let from = active.0.saturating_sub(seconds(limits.compaction_window).saturating_mul(1_000));
    let compacted = parts(messages)
        .filter(|p| p.at.0 >= from && matches!(p.what, What::Compaction { is_auto: true }))
        .count();
    let newest = messages.iter().rev().flat_map(|m| m.calls().rev()).map(|(_, call)| call).take(CALLS);
    let (alike, tool) = alike(&newest.collect::<Vec<_>>());
    let said = match () {
        () if broken >= limits.broken_streams as usize => {
            format!("{broken} of its last {ANSWERS} answers broke off")
        }
        () if compacted >= limits.compactions as usize => {
            format!("compacted {} within {}", times(compacted), words(limits.compaction_window))
        }
        () if alike >= limits.same_calls as usize => {
            let tool = base::quote::line(tool, super::MAX_SAID);
            format!("{alike} of its last {CALLS} calls are one and the same: {tool}")
        }
        () => return Verdict::Clear,
    };
    in_turn(rows, said)
}

/// How many of these calls are one and the same, and its tool: their answers are equal too, as far as they have any. A call with
/// another answer each time is a look at what goes on.
fn alike<'a>(newest: &[&'a Call]) -> (usize, &'a str) {
    let like = |one: &Call, other: &Call| {
        other.mark == one.mark && (other.print == one.print || other.print.is_none())
    };
    let all =
        newest.iter().map(|one| (newest.iter().filter(|other| like(one, other)).count(), one.tool.as_str()));
    all.max().unwrap_or_default()
}

/// What is counted since a prompt is one issue until the next prompt, however much is added.
fn in_turn(rows: &Rows, said: String) -> Verdict {
    Verdict::found(rows.turn_id().unwrap_or_default(), said)
}

fn parts(messages: &[Message]) -> impl Iterator<Item = &Part> {
    messages.iter().flat_map(|m| &m.parts)
}

fn calls(messages: &[Message], wanted: impl Fn(&Call) -> bool) -> usize {
    messages.iter().flat_map(Message::calls).filter(|(_, call)| wanted(call)).count()
}
