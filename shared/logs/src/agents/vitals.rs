//! From what a session did to how an attempt fares.

use super::fact::{Does, Used};
use super::price::{Priced, bill};
use super::record::signs::MAX_WORDS;
use super::record::slices::{Counted, Slices};
use super::record::{Open, Record, Tale, Told};
use crate::session::Millis;
use crate::usage::files::shown;
use crate::vitals::{Repeat, Slice, Turn, Vitals};
use base::clip::clip;
use base::time::Time;

fn told(call: &str) -> String {
    clip(&shown(call), MAX_WORDS).to_owned()
}

/// How a session fares.
pub(crate) fn of_record(record: &Record, priced: Priced<'_>) -> Vitals {
    let (sum, billed) = bill(&record.models, priced);
    let seconds = |at: Option<Millis>| at.map(Millis::time);
    let call = |told: &Told| {
        let end = match told.failed {
            Some(true) => " (failed)",
            Some(false) => "",
            None => " (no answer)",
        };
        format!("{}{end}", self::told(&told.call))
    };
    let by_name = || priced.agent?.context_window(record.model().unwrap_or_default(), record.context());
    let window = record.window.or_else(by_name);
    Vitals {
        session: record.session.as_deref().map(shown),
        model: record.model().map(shown),
        turn: turn(record),
        began: seconds(record.first),
        active: seconds(record.last),
        context: record.context(),
        window,
        tokens: Some(sum),
        cost: billed.whole(),
        turns: Some(record.turns),
        calls: Some(record.calls),
        errors: Some(record.errors()),
        malformed: Some(record.malformed.min(record.calls)),
        edits: Some(record.paces.edits),
        compactions: Some(record.compactions),
        failing: (record.failing.times > 0)
            .then(|| Repeat { times: record.failing.times, call: told(&record.failing.call) }),
        asked_again: record
            .questions
            .most()
            .filter(|(times, _)| *times > 1)
            .map(|(times, call)| Repeat { times, call: told(call) }),
        pace: record.paces.pace(),
        slices: slices(&record.slices, &record.models, priced),
        findings: record.signs.findings(window),
        cwd: record.cwd.as_deref().map(shown),
        edited: record.edited.keys().map(shown).collect(),
        is_part: record.is_edited_more,
        last_calls: record.last_calls.iter().map(call).collect(),
        unknown: billed.unknown,
        ..Vitals::default()
    }
}

fn slices(slices: &Slices, models: &[(String, Used)], priced: Priced<'_>) -> Vec<Slice> {
    let slice = |one: &Counted| {
        let name = |n: usize| models.get(n).map_or("", |(name, _)| name.as_str());
        let used: Vec<_> = one.used.iter().map(|(n, used)| (name(*n).to_owned(), *used)).collect();
        let (tokens, billed) = bill(&used, priced);
        let (calls, errors, cost) = (one.calls, one.errors, billed.whole());
        Slice { from: Time(one.from), seconds: slices.seconds, calls, errors, tokens, cost }
    };
    slices.all.iter().map(slice).collect()
}

/// Whose turn it is.
fn turn(record: &Record) -> Turn {
    let since = |open: &Open| open.since.or(record.last).map_or(Time(0), Millis::time);
    if let Some(open) = record.awaited().rev().find(|open| open.does == Does::Asks) {
        return Turn::Person { since: since(open) };
    }
    // The newest: what was called long before it may have been forgotten by the runtime.
    if let Some(open) = record.awaited().max_by_key(|open| since(open)) {
        return Turn::Tool { since: since(open) };
    }
    match record.said {
        Tale::Asked => Turn::Model,
        Tale::Speaking if record.tells_stops => Turn::Stream,
        Tale::Over => Turn::Over,
        Tale::Speaking | Tale::Nothing => Turn::Unknown,
    }
}
