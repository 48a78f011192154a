//! What Hermes (0.19) says an attempt used.
//!
//! A worker is a session of its own, `sessions.id` in `<profile home>/state.db`; the worker log states it at its end, and the
//! profile's `agent.log` at its start. The store sums up tokens, API calls and money by session and by model, and holds every
//! message with its tool calls. Which tool calls failed only `agent.log` tells. The count of tool calls that the worker log
//! closes with (`Messages: 4 (1 user, 2 tool calls)`) holds each call twice, so it is not read.

mod lines;
mod sums;

use std::collections::BTreeSet;
use std::path::Path;

use self::lines::{ProfileLog, SessionLog, WorkerLog};
use self::sums::sums;
use super::files::shown;
use super::scan::{Begun, Count, MOST_READ, Scan, scan};
use super::store::{Store, told};
use super::window::Window;
use super::{Tokens, Usage, UsageAsk};
use crate::cache::Cache;
use crate::logs::handle::Owner;
use crate::provider;

/// What the sessions of an attempt at a task of a Hermes board used; `None` where nothing of Hermes tells of one.
pub(super) fn read(ask: &UsageAsk<'_>, cache: &mut Cache) -> Result<Option<Usage>, String> {
    let Some(home) = ask.root.zip(ask.profile).and_then(|(root, name)| provider::home(root, name)) else {
        return Ok(None);
    };
    let window = Window::new(ask.from, ask.to, ask.next, ask.now);
    let mut why = Vec::new();
    let mut log = ProfileLog::new(ask.task);
    let place = home.join("logs/agent.log");
    for path in [place.with_extension("log.1"), place.clone()] {
        match counted(ask, "profile", &path, window, ProfileLog::new(ask.task), cache) {
            Ok(Some(more)) => log.add(more),
            Ok(None) => {}
            Err(reason) => why.push(format!("{}: {reason}", shown(&path.display().to_string()))),
        }
    }
    let mut ids: BTreeSet<String> = log.mine(&window);
    if let Some(path) = ask.worker_log {
        match counted(ask, "worker", path, window, WorkerLog::default(), cache) {
            Ok(found) => ids.extend(found.into_iter().flat_map(|w| w.sessions)),
            Err(reason) => why.push(format!("{}: {reason}", shown(&path.display().to_string()))),
        }
    }
    if ids.is_empty() {
        return if why.is_empty() { Ok(None) } else { Err(why.join("; ")) };
    }
    let store = home.join("state.db");
    let mut sessions = log.mine(&window);
    let mut usage = match of_store(&store, &ids, &window, ask) {
        Ok(Some((usage, all))) => {
            sessions = all;
            usage
        }
        other => {
            let Some(mut usage) = log.total(&sessions).map(|log| of_log(&log, ask)) else {
                return other.map(|_| None);
            };
            usage.source = Some(shown(&place.display().to_string()));
            let at = shown(&store.display().to_string());
            usage.unknown.push(match other {
                Err(reason) => format!("{at}: {reason}"),
                _ => format!("{at} tells of no session that began within the attempt"),
            });
            usage
        }
    };
    errors(&mut usage, log.total(&sessions));
    usage.unknown.extend(why);
    Ok(Some(usage))
}

/// Which calls failed is only in the profile's log.
fn errors(usage: &mut Usage, log: Option<SessionLog>) {
    let Some(total) = log else {
        usage.unknown.push("which tool calls failed: the profile's log does not tell of the session".into());
        return;
    };
    usage.tool_errors = Some(usage.tool_calls.map_or(total.errors, |calls| total.errors.min(calls)));
    if usage.turns.is_some_and(|turns| turns > total.calls) {
        usage.unknown.push("a part of the tool errors: a part of the profile's log is gone".into());
    }
}

fn counted<C: Count>(
    ask: &UsageAsk<'_>,
    sort: &str,
    path: &Path,
    window: Window,
    new: C,
    cache: &mut Cache,
) -> Result<Option<C>, String> {
    let sort = format!("{sort}:{}", ask.task);
    let scanned = Scan { sort: &sort, path, owner: Owner::Anybody, window, now: ask.now, most: MOST_READ };
    Ok(scan(&scanned, cache, |_, _| Ok(Some(Begun { count: new, sure: true })))?.map(|c| c.count))
}

fn of_store(
    path: &Path,
    ids: &BTreeSet<String>,
    window: &Window,
    ask: &UsageAsk<'_>,
) -> Result<Option<(Usage, BTreeSet<String>)>, String> {
    // To open a store that nobody has open makes files beside it; another user's would then be ours.
    let Some(store) = Store::open(path)? else { return Ok(None) };
    let Some(sums) = sums(&store, ids, window).map_err(|e| told(&e))? else { return Ok(None) };
    let mut usage = sums.usage(ask.prices);
    let at = shown(&path.display().to_string());
    usage.source =
        Some(sums.session.as_deref().map_or_else(|| at.clone(), |id| format!("{at}#{}", shown(id))));
    Ok(Some((usage, sums.sessions)))
}

/// What the profile's log alone tells, call by call.
fn of_log(log: &SessionLog, ask: &UsageAsk<'_>) -> Usage {
    let tokens = Tokens { input: log.input, cache_write: 0, cache_read: log.cache_read, output: log.output };
    let model = log.model.as_deref().unwrap_or_default();
    let price = ask.prices.price(model, false).filter(|_| !log.is_mixed);
    let mut usage = Usage {
        format: Some("hermes".into()),
        model: log.model.as_deref().map(shown),
        turns: Some(log.calls),
        tool_calls: Some(log.tools),
        tokens: Some(tokens),
        cost: price.map(|p| crate::money::Money(p.of(tokens.input, 0, 0, tokens.cache_read, tokens.output))),
        ..Usage::default()
    };
    if usage.cost.is_none() && tokens.total() == 0 {
        usage.cost = Some(crate::money::Money::default());
    } else if usage.cost.is_none() {
        usage.unknown.push(super::bill::no_price(model));
    }
    usage.least("helpers beside the agent are not in the profile's log");
    usage.unknown.push("compactions, identical calls and edits are not told by the profile's log".into());
    usage
}
