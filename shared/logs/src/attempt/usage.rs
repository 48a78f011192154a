//! What an attempt used.

use std::path::Path;

use super::find::in_folder;
use super::log::{Session, session};
use super::vitals::written;
use crate::agents::newest::MAX_FILES;
use crate::agents::price::{Priced, bill};
use crate::agents::record::Record;
use crate::agents::{UsageAsk, hermes, opencode};
use crate::cache::Cache;
use crate::handle::Owner;
use crate::usage::files::{rereads, shown};
use crate::usage::window::SLACK_SECONDS;
use crate::usage::{Usage, store};
use base::money::Money;
use base::reason::Reason;

#[cfg(test)]
pub(super) mod tests;

/// What the attempt used, as far as anything tells: from 2 s before its start to 120 s after its end, or after now while it
/// runs. What cannot be read is said in [`Usage::unknown`]; nothing is an error. `cache` knows how far files were read, so
/// that only what is new is read again.
pub fn read(ask: &UsageAsk<'_>, cache: &mut Cache) -> Usage {
    let mut usage = match ask.named {
        Some(named) => of_named(ask, named, cache),
        None => unnamed(ask, cache),
    };
    let mut seen = std::collections::BTreeSet::new();
    usage.unknown.retain(|why| seen.insert(why.clone()));
    usage
}

/// Goes through the places where an attempt is told of though its claim names none.
fn unnamed(ask: &UsageAsk<'_>, cache: &mut Cache) -> Usage {
    // The first place that tells something is the one; what the others could not say is not asked for then.
    let mut why = Vec::new();
    let places = [hermes::usage::read, of_worker_log, of_folder];
    for place in places {
        match place(ask, cache) {
            Ok(Some(usage)) => return usage,
            Ok(None) => {}
            Err(reason) => why.push(reason.into()),
        }
    }
    if why.is_empty() {
        why.push("no log or store tells what this attempt used".into());
    }
    Usage { unknown: why, ..Usage::default() }
}

/// The usage a claim's own file tells.
fn of_named(ask: &UsageAsk<'_>, named: &Path, cache: &mut Cache) -> Usage {
    let at = shown(&named.display().to_string());
    if !named.is_absolute() {
        return Usage::unknown("the log its claim names is not an absolute path");
    }
    let (path, session) = opencode::place(named);
    let usage = match store::is_store(&path) {
        Ok(true) => opencode::read(ask, &path, session.as_deref()).map(Some),
        Ok(false) => of_file(ask, named, Owner::Ourselves, cache),
        Err(why) => Err(why),
    };
    match usage {
        Ok(Some(usage)) => usage,
        Ok(None) if named.symlink_metadata().is_ok() => {
            Usage::unknown(format!("{at}: neither Claude Code, Codex nor opencode wrote this"))
        }
        Ok(None) => Usage::unknown(format!("{at}: there is no such file")),
        Err(why) => Usage::unknown(format!("{at}: {why}")),
    }
}

/// What the log of the task tells, the board's own or its harness', where an agent writes straight into it.
fn of_worker_log(ask: &UsageAsk<'_>, cache: &mut Cache) -> Result<Option<Usage>, Reason> {
    let of_harness = ask.output.map(|path| (path, Owner::Ourselves));
    let of_board = ask.worker_log.map(|path| (path, Owner::Anybody));
    let Some((path, owner)) = of_harness.or(of_board) else { return Ok(None) };
    // A file that is added to, before this attempt printed its first line.
    if ask.output.and_then(written).is_some_and(|at| at < ask.from.plus(-SLACK_SECONDS)) {
        return Ok(None);
    }
    of_file(ask, path, owner, cache).map_err(|why| why.at(shown(&path.display().to_string())))
}

/// What the sessions in the task's folder used that were there during the attempt.
fn of_folder(ask: &UsageAsk<'_>, cache: &mut Cache) -> Result<Option<Usage>, Reason> {
    let here = in_folder(ask, cache);
    let mut found: Option<Usage> = None;
    for path in here.paths {
        let Some(usage) = of_file(ask, &path, Owner::Ourselves, cache)? else { continue };
        found = Some(match found {
            Some(newer) => both(newer, usage),
            None => usage,
        });
    }
    if let Some(usage) = found.as_mut().filter(|_| here.is_more) {
        usage.least(format!("only the newest {MAX_FILES} sessions of the folder are looked at"));
    }
    if let Some(usage) = found.as_mut().filter(|_| here.is_older) {
        usage.least("a session in its folder that is older than the task is not counted");
    }
    Ok(found)
}

/// What one log tells; `None` where there is none, or none of an agent.
fn of_file(
    ask: &UsageAsk<'_>,
    path: &Path,
    owner: Owner,
    cache: &mut Cache,
) -> Result<Option<Usage>, Reason> {
    let Some(session) = session(ask, path, owner, cache)? else { return Ok(None) };
    let mut usage = if session.is_empty() { Usage::unknown(Session::NONE) } else { of_session(session, ask) };
    usage.source = Some(shown(&path.display().to_string()));
    Ok(Some(usage))
}

fn of_session(Session { agent, record, gaps, gaps_of_sums }: Session, ask: &UsageAsk<'_>) -> Usage {
    let (tokens, sum) = bill(&record.models, Priced { prices: ask.prices, agent: Some(agent) });
    let mut usage = Usage {
        format: Some(agent.name().into()),
        model: record.model().map(shown),
        turns: Some(record.turns),
        tool_calls: Some(record.calls),
        tool_errors: Some(record.errors()),
        tokens: Some(tokens),
        compactions: Some(record.compactions),
        identical_calls: Some(record.run.longest()),
        edits: Some(record.edited.values().fold(0, |sum, n| sum.saturating_add(*n))),
        rereads: rereads(&record.signs.reads.to_map()),
        ..Usage::default()
    };
    usage.bill(sum);
    stated(&record, ask, &mut usage);
    agent.correct(&record, &mut usage);
    gaps.into_iter().chain(gaps_of_sums).for_each(|why| usage.least(why));
    usage
}

/// Takes the cost that the agent itself states. Where a model has no price or the operator's own, the agent's is only a guess.
fn stated(record: &Record, ask: &UsageAsk<'_>, usage: &mut Usage) {
    let is_own = record.models.iter().any(|(model, _)| ask.prices.is_own(model));
    let Some((bill, summed)) = record.bill().zip(usage.cost).filter(|_| !is_own) else { return };
    usage.cost = Some(if record.is_unbilled { bill.max(summed) } else { bill });
    if record.is_unbilled {
        usage.least("the agent went on after the last cost that it stated");
    }
}

/// Two sessions of one attempt.
fn both(newer: Usage, older: Usage) -> Usage {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    let known = newer.known_cost().into_iter().chain(older.known_cost()).reduce(Money::plus);
    let mut rereads: Vec<_> = newer.rereads.into_iter().chain(older.rereads).collect();
    rereads.sort_by_key(|r| std::cmp::Reverse(r.times));
    rereads.truncate(5);
    let cost = newer.cost.zip(older.cost).map(|(a, b)| a.plus(b));
    let more_sources = newer.more_sources.into_iter().chain(older.source).chain(older.more_sources).collect();
    Usage {
        more_sources,
        turns: sum(newer.turns, older.turns),
        tool_calls: sum(newer.tool_calls, older.tool_calls),
        tool_errors: sum(newer.tool_errors, older.tool_errors),
        edits: sum(newer.edits, older.edits),
        compactions: sum(newer.compactions, older.compactions),
        identical_calls: newer.identical_calls.max(older.identical_calls),
        tokens: newer.tokens.zip(older.tokens).map(|(a, b)| a.plus(b)),
        cost,
        cost_at_least: known.filter(|known| cost.is_none() && *known > Money::default()),
        rereads,
        is_least: newer.is_least || older.is_least,
        unknown: newer.unknown.into_iter().chain(older.unknown).collect(),
        ..newer
    }
}
