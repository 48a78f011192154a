//! The rules, one after the other: what claudectl computes ("was"), and what is computed here.

use super::{Check, Severity};
use crate::vitals::{Slice, Turn, Vitals};
use base::count::things;
use base::money::Money;
use base::time::{Time, words};
use config::Detect;
use config::span::{seconds, words as span};

type Found = Option<(Severity, String)>;

/// Seconds an attempt must last before its costs are compared (claudectl's bound).
const SHORTEST: i64 = 36;
/// Answered calls before the newest stretch without which nothing can be called more than before.
const FEWEST_CALLS: u64 = 10;
/// A share of failing calls, in percent, that is ordinary work: tests fail before they pass.
const ORDINARY: u64 = 30;
/// API calls before which nothing can have come from the cache.
const WARM: u64 = 3;
/// Tokens an edit costs at the least; less tells nothing (claudectl's bound).
const LEAST_PACE: u64 = 100;

/// What a check finds.
pub(super) fn find(check: Check, v: &Vitals, d: &Detect, now: Time) -> Found {
    match check {
        Check::Stalled => stall(v, d, now, seconds(d.stall)),
        Check::SessionStall => stall(v, d, now, seconds(d.session_stall)),
        Check::LoopDetected => repeated_failure(v, d),
        Check::Repetition => repetition(v, d),
        Check::ErrorAcceleration => error_acceleration(v, d),
        Check::CostSpike => cost_spike(v, d),
        Check::ContextSaturation => saturation(v, d),
        Check::CognitiveDecay => decay(v, d),
        Check::LowCache => low_cache(v, d),
        Check::ConsiderCompact => consider_compact(v, d),
        Check::TokenEfficiency => efficiency(v, d),
        Check::ModelDegradation => malformed(v, d),
        Check::HighErrorCount => errors(v, d),
    }
}

/// The rule of a check in one line.
pub(super) fn told(check: Check, d: &Detect) -> String {
    let no_progress = |after: String| {
        format!(
            "nothing written for {after} while it is the model's turn: no tool running (for up to {}), no person asked, no \
             subagent at work",
            span(d.tool_limit)
        )
    };
    match check {
        Check::Stalled => no_progress(span(d.stall)),
        Check::SessionStall => no_progress(span(d.session_stall)),
        Check::LoopDetected => {
            format!("the newest {} calls are one call with the same arguments, and each failed", d.loop_calls)
        }
        Check::Repetition => format!(
            "one read or search asked {} times with the same answer, and nothing else done in between",
            d.repetition
        ),
        Check::ErrorAcceleration => format!(
            "at least {} failing calls in the newest {}, and their share is more than {} times that before (which counts as \
             {ORDINARY} % at the least)",
            d.errors,
            span(d.recent),
            d.error_growth
        ),
        Check::CostSpike => format!(
            "from {} on: the newest {} cost more than {} % (critical: {} %) of what as much work cost before",
            dollars(d.cost_from),
            span(d.recent),
            d.cost_warning,
            d.cost_critical
        ),
        Check::ContextSaturation => {
            format!("more than {} % of the context used (critical: {} %)", d.context_high, d.context_full)
        }
        Check::CognitiveDecay => format!(
            "a score of context (40), errors (25), tokens per edit (20) and re-reading (15) from {} on (warning: {}, \
             critical: {})",
            d.decay_early, d.decay_high, d.decay_severe
        ),
        Check::LowCache => format!(
            "from {} tokens of input and {WARM} API calls on: less than {} % of the input from the cache (critical: {} %)",
            d.cache_from, d.cache_warning, d.cache_critical
        ),
        Check::ConsiderCompact => {
            format!("more than {} % and at most {} % of the context used", d.context_compact, d.context_high)
        }
        Check::TokenEfficiency => format!(
            "from {} edits on: the newest 5 cost more than {} times the tokens of the first 5",
            d.pace_edits, d.pace_growth
        ),
        Check::ModelDegradation => {
            format!("{} or more calls that the runtime could not use", d.malformed)
        }
        Check::HighErrorCount => {
            format!("{} or more failing calls in the newest {}", d.errors, span(d.recent))
        }
    }
}

fn dollars(amount: Option<Money>) -> String {
    amount.unwrap_or_default().to_string()
}

/// `Stalled` and `SESSION_STALL`: one detector, two bounds.
///
/// Was: cost from $5 on, older than 10 min, and no file edited ever: that finds "no output" rather than "no activity", and one
/// edit disables it for good. alkdev hub's: busy, and no event for 60 s, which flags running tools, questions to a person
/// and slow streams. Here: no progress in any of the windows since the last line, while it is the model's turn. A tool that
/// runs does not count, up to a bound of its own; nor does a person who is asked, nor a turn that is over. A log that does not
/// tell whose turn it is proves nothing.
fn stall(v: &Vitals, d: &Detect, now: Time, bound: i64) -> Found {
    Some((Severity::Warning, silent(v.turn, v.quiet(now)?, bound, d, now)?))
}

/// Whether the side whose turn it is has been silent for too long, and why that is so in words: the rule behind every stall,
/// of a log ([`Check::Stalled`](super::Check::Stalled), [`Check::SessionStall`](super::Check::SessionStall)) as of a session.
/// `quiet` and `bound` are in seconds.
pub fn silent(turn: Turn, quiet: i64, bound: i64, d: &Detect, now: Time) -> Option<String> {
    let whose = match turn {
        Turn::Model => "the model was asked",
        Turn::Stream => "the model stopped in the middle of an answer",
        Turn::Tool { since } if now.since(since) > seconds(d.tool_limit) => "its tool never answered",
        Turn::Tool { .. } | Turn::Person { .. } | Turn::Over | Turn::Unknown => return None,
    };
    (quiet >= bound).then(|| format!("nothing written for {}, {whose}", words(quiet)))
}

/// `Loop detected`.
///
/// Was: the last result is an error, and any one tool was called 10 times or more, whatever its arguments and whichever tool
/// failed. Here: the newest calls are one call with the same arguments, and each of them failed.
fn repeated_failure(v: &Vitals, d: &Detect) -> Found {
    let run = v.failing.as_ref().filter(|run| run.times >= u64::from(d.loop_calls))?;
    Some((Severity::Warning, format!("failed {} times in a row: {}", run.times, run.call)))
}

/// `Repetition`.
///
/// Was: a file read 3 times or more since its last edit, which a careful agent does all day; searches never counted. Here: the
/// same question (file and range, or pattern) with the same answer, counted only while nothing else is learnt or done: an
/// answer that is new, an edit, a command or a compaction begins anew. With that claudectl's 3 stands.
fn repetition(v: &Vitals, d: &Detect) -> Found {
    let again = v.asked_again.as_ref().filter(|again| again.times >= u64::from(d.repetition))?;
    Some((Severity::Warning, format!("asked {} times with the same answer: {}", again.times, again.call)))
}

/// Calls, failing calls, slices and their cost.
#[derive(Default, Clone, Copy)]
struct Sum {
    calls: u64,
    errors: u64,
    slices: u64,
    /// In billionths; `None` where something has no price.
    cost: Option<u64>,
}

impl Sum {
    fn of<'s>(all: impl Iterator<Item = &'s Slice>) -> Sum {
        let none = Sum { cost: Some(0), ..Sum::default() };
        all.fold(none, |sum, one| Sum {
            calls: sum.calls.saturating_add(one.calls),
            errors: sum.errors.saturating_add(one.errors),
            slices: sum.slices + 1,
            cost: sum.cost.zip(one.cost).map(|(a, b)| a.saturating_add(b.0)),
        })
    }

    /// Of the calls those that failed, in percent.
    fn share(self) -> Option<u64> {
        (self.calls > 0).then(|| self.errors.saturating_mul(100) / self.calls)
    }

    /// What a slice in which anything was spent cost on average.
    fn mean(self) -> Option<u64> {
        self.cost?.checked_div(self.slices)
    }
}

/// The newest stretch and what came before it: as long as configured, and never more than half of the whole.
fn halves(v: &Vitals, d: &Detect) -> Option<(Sum, Sum)> {
    let (first, last) = (v.slices.first()?, v.slices.last()?);
    let whole = last.from.since(first.from);
    let split = last.from.plus(-seconds(d.recent).min(whole / 2));
    let is_new = |slice: &&Slice| slice.from >= split;
    Some((Sum::of(v.slices.iter().filter(is_new)), Sum::of(v.slices.iter().filter(|slice| !is_new(slice)))))
}

/// How the share of failing calls stands to what is bearable, in percent: above 100 it is too much.
fn error_pressure(v: &Vitals, d: &Detect) -> Option<(u64, u64, u64)> {
    let (new, old) = halves(v, d)?;
    if new.errors < u64::from(d.errors) || old.calls < FEWEST_CALLS {
        return None;
    }
    let (now, before) = (new.share()?, old.share()?);
    let bearable = before.max(ORDINARY).saturating_mul(u64::from(d.error_growth)).max(1);
    Some((now.saturating_mul(100) / bearable, now, before))
}

/// `Error acceleration`.
///
/// Was: errors in the last 3 windows of ten seconds against the first 3, which assumes that the log is read every two seconds,
/// counts a busy minute for a bad one, and never fires where the first windows have no error. Here: shares of failing calls,
/// the newest stretch of wall-clock time against everything before it, with a floor under what came before.
fn error_acceleration(v: &Vitals, d: &Detect) -> Found {
    let (pressure, now, before) = error_pressure(v, d)?;
    (pressure > 100).then(|| (Severity::Warning, format!("{now} % of its calls fail, {before} % before")))
}

/// `Cost spike`.
///
/// Was: the burn of the last tick (taken for 2 s) against the average of all time, idle time included. Here: the mean cost of a
/// slice of wall-clock time in which anything was spent, newest stretch against before, so that waiting for a tool makes
/// nothing a spike.
fn cost_spike(v: &Vitals, d: &Detect) -> Found {
    let total = v.cost.filter(|cost| *cost >= d.cost_from.unwrap_or_default())?;
    let lasted = v.active.zip(v.began).map_or(0, |(last, first)| last.since(first));
    let (new, old) = halves(v, d)?;
    let (now, before) = (new.mean()?, old.mean().filter(|mean| *mean > 0)?);
    if lasted < SHORTEST {
        return None;
    }
    let percent = now.saturating_mul(100) / before;
    let severity = match () {
        () if percent > u64::from(d.cost_critical) => Severity::Critical,
        () if percent > u64::from(d.cost_warning) => Severity::Warning,
        () => return None,
    };
    Some((severity, format!("it costs {percent} % of what it did before, {total} so far")))
}

/// `Context saturation`. Was: with a window of a million for some models that have 200 000. Here: the window the log states,
/// else that of the model's name, and nothing where neither tells it.
fn saturation(v: &Vitals, d: &Detect) -> Found {
    let percent = v.context_percent()?;
    let severity = match () {
        () if percent > u64::from(d.context_full) => Severity::Critical,
        () if percent > u64::from(d.context_high) => Severity::Warning,
        () => return None,
    };
    Some((severity, format!("{percent} % of the context used")))
}

/// `Consider compact`, as claudectl has it.
fn consider_compact(v: &Vitals, d: &Detect) -> Found {
    let percent = v.context_percent()?;
    let range = u64::from(d.context_compact) + 1..=u64::from(d.context_high);
    range.contains(&percent).then(|| (Severity::Info, format!("{percent} % of the context used")))
}

/// How much more tokens an edit takes than at first, in percent.
fn pace(v: &Vitals, d: &Detect) -> Option<u64> {
    let pace = v.pace.filter(|p| p.edits >= u64::from(d.pace_edits) && p.first >= LEAST_PACE)?;
    Some(pace.newest.saturating_mul(100) / pace.first)
}

/// `Token efficiency`. Was: all tokens, so that it fires as the context grows. Here: new input and output only.
fn efficiency(v: &Vitals, d: &Detect) -> Found {
    let percent = pace(v, d).filter(|percent| *percent > u64::from(d.pace_growth).saturating_mul(100))?;
    Some((Severity::Warning, format!("an edit takes {percent} % of the tokens it took at first")))
}

/// `Cognitive decay`. Was: the same score of four parts, over inputs that assume ticks. Here: over those of the rules above; a
/// part that is not known counts nothing.
fn decay(v: &Vitals, d: &Detect) -> Found {
    // `part` of `most`, as `value` goes from `none` to `all`.
    let scaled = |value: u64, none: u64, all: u64, most: u64| {
        value.saturating_sub(none).min(all - none).saturating_mul(most) / (all - none)
    };
    let context = v.context_percent().map_or(0, |percent| scaled(percent, 40, 100, 40));
    let errors = error_pressure(v, d).map_or(0, |(pressure, ..)| scaled(pressure, 50, 200, 25));
    let tokens = pace(v, d).map_or(0, |percent| scaled(percent, 100, 400, 20));
    let again = v.asked_again.as_ref().map_or(0, |again| scaled(again.times, 1, 5, 15));
    let score = context + errors + tokens + again;
    let severity = match () {
        () if score >= u64::from(d.decay_severe) => Severity::Critical,
        () if score >= u64::from(d.decay_high) => Severity::Warning,
        () if score >= u64::from(d.decay_early) => Severity::Info,
        () => return None,
    };
    Some((
        severity,
        format!(
            "score {score}: context {context}, errors {errors}, tokens per edit {tokens}, re-reading {again}"
        ),
    ))
}

/// `Low cache`. Was: from the first call on, which can have nothing in the cache. Here: from the third on, and only where the
/// provider tells of a cache at all.
fn low_cache(v: &Vitals, d: &Detect) -> Found {
    let tokens = v.tokens.filter(|t| t.cache_read > 0 || t.cache_write > 0)?;
    let input = tokens.input.saturating_add(tokens.cache_write).saturating_add(tokens.cache_read);
    if input < u64::from(d.cache_from) || v.turns.is_none_or(|turns| turns < WARM) {
        return None;
    }
    let percent = tokens.cache_read.saturating_mul(100) / input.max(1);
    let severity = match () {
        () if percent < u64::from(d.cache_critical) => Severity::Critical,
        () if percent < u64::from(d.cache_warning) => Severity::Warning,
        () => return None,
    };
    Some((severity, format!("{percent} % of the input came from the cache")))
}

/// `MODEL_DEGRADATION`. Was: an event of a running process whose tool is called `tool`, which today's opencode never stores.
/// Here: every call the runtime could not use, as each format stores it.
fn malformed(v: &Vitals, d: &Detect) -> Found {
    let n = v.malformed.filter(|n| *n >= u64::from(d.malformed))?;
    Some((Severity::Critical, format!("{} could not be used", things(n, "call"))))
}

/// `HIGH_ERROR_COUNT`. Was: a count over the life of a process, which flags every old session for ever. Here: over the newest
/// stretch; over the attempt where its log does not say when.
fn errors(v: &Vitals, d: &Detect) -> Found {
    let lately = match v.slices.last() {
        Some(last) => {
            let split = last.from.plus(-seconds(d.recent));
            Sum::of(v.slices.iter().filter(|slice| slice.from >= split)).errors
        }
        None => v.errors?,
    };
    (lately >= u64::from(d.errors))
        .then(|| (Severity::Warning, format!("{} failed lately", things(lately, "call"))))
}
