//! What Hermes (0.19 to 0.22) says an attempt used, and how it fares.
//!
//! A worker is a session of its own, `sessions.id` in `<profile home>/state.db`; the worker log states it at its end, and the
//! profile's `agent.log` at its start. The store sums up tokens, API calls and money by session and by model, and holds every
//! message with its tool calls and what they answered. What each API call used, and when, only `agent.log` tells. The count of tool calls that the worker log
//! closes with (`Messages: 4 (1 user, 2 tool calls)`) holds each call twice, so it is not read.

mod answer;
mod lines;
mod sums;
mod talk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use self::lines::{ProfileLog, SessionLog, WorkerLog};
use self::sums::{Sums, sums};
use self::talk::{Heard, Kept, Talk};
use crate::agents::UsageAsk;
use crate::agents::price::Priced;
use crate::agents::vitals::of_record;
use crate::cache::Cache;
use crate::handle::Owner;
use crate::provider;
use crate::session::Millis;
use crate::usage::bill::no_price;
use crate::usage::files::shown;
use crate::usage::scan::{Begun, Count, MAX_READ, Scan, scan};
use crate::usage::store::{Store, told};
use crate::usage::window::Window;
use crate::usage::{Tokens, Usage};
use crate::vitals::Vitals;
use base::reason::Reason;

/// What the sessions of an attempt at a task of a Hermes board used; `None` where nothing of Hermes tells of one.
pub(crate) fn read(ask: &UsageAsk<'_>, cache: &mut Cache) -> Result<Option<Usage>, Reason> {
    Ok(gathered(ask, cache)?.map(|all| all.usage))
}

/// How the attempt fares; `None` where nothing of Hermes tells of it. Sums alone where its store cannot be read.
pub(crate) fn vitals(ask: &UsageAsk<'_>, cache: &mut Cache) -> Result<Option<Vitals>, Reason> {
    let Some(all) = gathered(ask, cache)? else { return Ok(None) };
    let usage = all.usage;
    let Some((session, talk)) = all.talk.filter(|(_, talk)| talk.tells_answers) else {
        return Ok(Some(Vitals::of_usage(usage)));
    };
    let told = of_record(&talk.record, Priced { prices: ask.prices, agent: None });
    // The store states sums and money itself, and both must tell the same.
    Ok(Some(Vitals {
        source: usage.source,
        format: usage.format,
        session: session.as_deref().map(shown),
        model: usage.model.or(told.model),
        active: told.active.max(all.heard.map(Millis::time)),
        tokens: usage.tokens,
        cost: usage.cost,
        turns: usage.turns,
        calls: usage.tool_calls,
        compactions: usage.compactions,
        is_part: told.is_part || usage.is_least,
        unknown: usage.unknown,
        ..told
    }))
}

/// What the profile's log and the store tell of an attempt.
struct Gathered {
    usage: Usage,
    /// The session, where it is one alone, and what was said in it and in those it started. `None`: the store was not read.
    talk: Option<(Option<String>, Talk)>,
    /// When the profile's log last told of any of the sessions.
    heard: Option<Millis>,
}

fn gathered(ask: &UsageAsk<'_>, cache: &mut Cache) -> Result<Option<Gathered>, Reason> {
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
        return if why.is_empty() { Ok(None) } else { Err(why.join("; ").into()) };
    }
    let mut sessions = log.mine(&window);
    let stored = Stored { home: &home, ids: &ids, window: &window, log: &log };
    let (mut usage, talk) = match stored.read(ask, cache) {
        Ok(Some((usage, sums, talk))) => {
            sessions = sums.sessions.into_iter().map(|s| s.id).collect();
            (usage, Some((sums.session, talk)))
        }
        other => {
            let Some(mut usage) = log.total(&sessions).map(|log| of_log(&log, ask)) else {
                return other.map(|_| None).map_err(|reason| reason.at(stored.shown()));
            };
            usage.source = Some(shown(&place.display().to_string()));
            let at = stored.shown();
            usage.unknown.push(match other {
                Err(reason) => format!("{at}: {reason}"),
                _ => format!("{at} tells of no session that began within the attempt"),
            });
            (usage, None)
        }
    };
    errors(&mut usage, log.total(&sessions));
    usage.unknown.extend(why);
    Ok(Some(Gathered { usage, talk, heard: log.last(&sessions) }))
}

/// Which calls failed Hermes itself says in the profile's log.
fn errors(usage: &mut Usage, log: Option<SessionLog>) {
    let Some(total) = log else {
        if usage.tool_errors.is_some() {
            return;
        }
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
) -> Result<Option<C>, Reason> {
    let sort = format!("{sort}:{}", ask.task);
    let scanned = Scan { sort: &sort, path, owner: Owner::Anybody, window, now: ask.now, most: MAX_READ };
    Ok(scan(&scanned, cache, |_, _| Ok(Some(Begun { count: new, sure: true })))?.map(|c| c.count))
}

/// The store of one profile, and what is looked for in it.
struct Stored<'a> {
    home: &'a Path,
    ids: &'a BTreeSet<String>,
    window: &'a Window,
    log: &'a ProfileLog,
}

impl Stored<'_> {
    fn path(&self) -> PathBuf {
        self.home.join("state.db")
    }

    fn shown(&self) -> String {
        shown(&self.path().display().to_string())
    }

    fn read(&self, ask: &UsageAsk<'_>, cache: &mut Cache) -> Result<Option<(Usage, Sums, Talk)>, Reason> {
        let path = self.path();
        // To open a store that nobody has open makes files beside it; another user's would then be ours.
        let Some(store) = Store::open(&path)? else { return Ok(None) };
        let Some(sums) = sums(&store, self.ids, self.window).map_err(told)? else { return Ok(None) };
        let talk = self.talk(&store, &sums, ask, cache).map_err(told)?;
        let mut usage = sums.usage(&talk, ask.prices);
        let at = shown(&path.display().to_string());
        usage.source =
            Some(sums.session.as_deref().map_or_else(|| at.clone(), |id| format!("{at}#{}", shown(id))));
        Ok(Some((usage, sums, talk)))
    }

    fn talk(
        &self,
        store: &Store,
        sums: &Sums,
        ask: &UsageAsk<'_>,
        cache: &mut Cache,
    ) -> rusqlite::Result<Talk> {
        let key = format!("usage:talk:{}:{}:{}", ask.from.0, ask.task, self.path().display());
        let asked = sums.sessions.iter().map(|s| (s.id.clone(), self.log.asked(&s.id))).collect();
        let newest = sums.sessions.iter().rfind(|s| !s.is_side);
        let [cwd, endpoint] = newest.map_or(Ok([None, None]), |s| sums::place(store, &s.id))?;
        let window =
            |model: &str| provider::context_window(self.home, model, endpoint.as_deref().unwrap_or_default());
        let heard = Heard { sessions: &sums.sessions, asked, cwd, window: &window };
        Talk::read(store, &heard, &mut Kept { key, now: ask.now, cache })
    }
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
        cost: price.map(|p| base::money::Money(p.of(tokens.input, 0, 0, tokens.cache_read, tokens.output))),
        ..Usage::default()
    };
    if usage.cost.is_none() && tokens.total() == 0 {
        usage.cost = Some(base::money::Money::default());
    } else if usage.cost.is_none() {
        usage.unknown.push(no_price(model));
    }
    usage.least("helpers beside the agent are not in the profile's log");
    usage.unknown.push("compactions, identical calls and edits are not told by the profile's log".into());
    usage
}
