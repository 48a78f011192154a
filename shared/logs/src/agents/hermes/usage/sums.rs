//! The sums of Hermes' `state.db` (schemas 22 to 31, and older ones as far as they have the columns).

use std::collections::BTreeSet;

use rusqlite::{Row, params};

use super::talk::Talk;
use crate::session::Prices;
use crate::usage::bill::{Bill, dollars};
use crate::usage::files::shown;
use crate::usage::store::Store;
use crate::usage::window::Window;
use crate::usage::{Tokens, Usage};
use base::money::Money;

/// Most sessions of one attempt, those of subagents included.
const MAX_SESSIONS: usize = 200;

const SESSION: [&str; 13] = [
    "id",
    "model",
    "parent_session_id",
    "started_at",
    "end_reason",
    "tool_call_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "api_call_count",
    "estimated_cost_usd",
    "actual_cost_usd",
];

const Q_SESSION: &str = "SELECT id, model, end_reason, started_at, tool_call_count, api_call_count,
     input_tokens, cache_write_tokens, cache_read_tokens, output_tokens, estimated_cost_usd, actual_cost_usd
     FROM sessions WHERE id = ?1 AND started_at >= ?2 AND started_at <= ?3";
const Q_CHILDREN: &str =
    "SELECT id FROM sessions WHERE parent_session_id = ?1 ORDER BY started_at DESC, id LIMIT ?2";
const Q_MODELS: &str =
    "SELECT model, task, input_tokens, cache_write_tokens, cache_read_tokens, output_tokens,
     estimated_cost_usd, actual_cost_usd FROM session_model_usage WHERE session_id = ?1 LIMIT 1000";
/// What else a session says of itself, where the store has the columns.
const PLACE: [&str; 2] = ["cwd", "billing_base_url"];
const Q_PLACE: &str = "SELECT cwd, billing_base_url FROM sessions WHERE id = ?1";

/// What the sessions of an attempt used.
#[derive(Default)]
pub(super) struct Sums {
    /// The session, where there is one alone.
    pub(super) session: Option<String>,
    /// All of them, those of subagents included; what was started by one comes after it.
    pub(super) sessions: Vec<Session>,
    model: Option<String>,
    turns: u64,
    /// As the store itself counts them: of the messages that are left.
    tool_calls: u64,
    tokens: Tokens,
    bill: Bill,
    compactions: u64,
    why_least: Vec<&'static str>,
}

/// One session of an attempt.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) id: String,
    /// Not the agent's own, nor what its own goes on in after a compaction.
    pub(super) is_side: bool,
    /// What another session's agent goes on in after a compaction.
    pub(super) goes_on: bool,
}

/// Sums up the sessions with these ids that began within the window, and those they started. `None`: there is none.
pub(super) fn sums(store: &Store, ids: &BTreeSet<String>, window: &Window) -> rusqlite::Result<Option<Sums>> {
    if !store.has("sessions", &SESSION) {
        return Ok(None);
    }
    let mut sums = Sums::default();
    let first = |id: &String| Session { id: id.clone(), is_side: false, goes_on: false };
    let mut queue: Vec<Session> = ids.iter().map(first).collect();
    let mut seen = ids.clone();
    let mut children = store.conn.prepare(Q_CHILDREN)?;
    let mut next = 0;
    let mut own = Vec::new();
    while let Some(session) = queue.get(next).cloned() {
        let (id, is_side) = (session.id.clone(), session.is_side);
        next += 1;
        let Some(ended) = sums.session(store, &id, is_side, window)? else { continue };
        sums.sessions.push(session);
        if !is_side {
            own.push(id.clone());
        }
        let found = children.query_map(params![id, MAX_SESSIONS as i64], |r| r.get(0))?;
        let found: Vec<String> = found.collect::<rusqlite::Result<_>>()?;
        // What an agent goes on in after a compaction is a session of its own.
        let goes_on = ended.as_deref() == Some("compression");
        let new = found.into_iter().filter(|id| seen.insert(id.clone()));
        queue.extend(new.map(|id| Session { id, is_side: is_side || !goes_on, goes_on }));
        if queue.len() > MAX_SESSIONS {
            sums.why_least.push("the attempt has more sessions than are read");
            queue.truncate(MAX_SESSIONS);
        }
    }
    if own.len() == 1 {
        sums.session = own.pop();
    } else if own.is_empty() {
        return Ok(None);
    }
    Ok(Some(sums))
}

/// Where a session works, and whom it asks; empty where the store does not tell.
pub(super) fn place(store: &Store, id: &str) -> rusqlite::Result<[Option<String>; 2]> {
    if !store.has("sessions", &PLACE) {
        return Ok([None, None]);
    }
    let mut statement = store.conn.prepare_cached(Q_PLACE)?;
    let mut rows = statement.query([id])?;
    Ok(rows.next()?.map_or([None, None], |row| [text(row, 0), text(row, 1)]))
}

/// A number of a column that may hold anything.
fn number(row: &Row<'_>, at: usize) -> u64 {
    row.get::<_, i64>(at).ok().and_then(|n| u64::try_from(n).ok()).unwrap_or_default()
}

fn text(row: &Row<'_>, at: usize) -> Option<String> {
    row.get(at).ok()
}

/// Tokens and money as four and two columns from `at` on state them.
struct Stated {
    tokens: Tokens,
    /// `None`: nobody knows the price.
    cost: Option<Money>,
}

impl Stated {
    fn of(row: &Row<'_>, at: usize) -> Stated {
        let tokens = Tokens {
            input: number(row, at),
            cache_write: number(row, at + 1),
            cache_read: number(row, at + 2),
            output: number(row, at + 3),
        };
        let money = |at: usize| row.get::<_, f64>(at).ok().and_then(dollars);
        let (estimated, actual) = (money(at + 4), money(at + 5));
        let known = actual.into_iter().chain(estimated).find(|m| m.0 > 0);
        // Hermes states 0 for what a subscription includes; that counts as unknown, and the list of prices says the cost.
        Stated { tokens, cost: known }
    }
}

impl Sums {
    /// Adds a session; gives how it ended, `None` where it does not belong to the attempt.
    fn session(
        &mut self,
        store: &Store,
        id: &str,
        is_side: bool,
        window: &Window,
    ) -> rusqlite::Result<Option<Option<String>>> {
        let seconds =
            |m: crate::session::Millis| m.0.div_euclid(1000) as f64 + m.0.rem_euclid(1000) as f64 / 1e3;
        let mut statement = store.conn.prepare_cached(Q_SESSION)?;
        let mut rows = statement.query(params![id, seconds(window.from), seconds(window.starts)])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let (model, ended) = (text(row, 1), text(row, 2));
        let (calls, turns, whole) = (number(row, 4), number(row, 5), Stated::of(row, 6));
        if !is_side {
            self.turns = self.turns.saturating_add(turns);
            self.compactions += u64::from(ended.as_deref() == Some("compression"));
            self.model = model.as_deref().map(shown).or(self.model.take());
        }
        self.models(store, id, model.as_deref().unwrap_or_default(), whole)?;
        self.tool_calls = self.tool_calls.saturating_add(calls);
        Ok(Some(ended))
    }

    /// What the models of a session used: the agent's own and those of its helpers, which the session's sums leave out.
    fn models(&mut self, store: &Store, id: &str, model: &str, whole: Stated) -> rusqlite::Result<()> {
        let mut own = Tokens::default();
        if store.has(
            "session_model_usage",
            &["session_id", "model", "task", "cache_write_tokens", "actual_cost_usd"],
        ) {
            let mut statement = store.conn.prepare_cached(Q_MODELS)?;
            let mut rows = statement.query([id])?;
            while let Some(row) = rows.next()? {
                let stated = Stated::of(row, 2);
                if text(row, 1).is_none_or(|task| task.is_empty()) {
                    own = own.plus(stated.tokens);
                }
                self.stated(&text(row, 0).unwrap_or_default(), stated);
            }
        }
        // Older versions, and sums that were set as a whole, are not told by model.
        let rest = Tokens {
            input: whole.tokens.input.saturating_sub(own.input),
            cache_write: whole.tokens.cache_write.saturating_sub(own.cache_write),
            cache_read: whole.tokens.cache_read.saturating_sub(own.cache_read),
            output: whole.tokens.output.saturating_sub(own.output),
        };
        let cost = whole.cost.filter(|_| own == Tokens::default());
        self.stated(model, Stated { tokens: rest, cost });
        Ok(())
    }

    fn stated(&mut self, model: &str, stated: Stated) {
        self.tokens = self.tokens.plus(stated.tokens);
        self.bill.add(model, stated.tokens, stated.cost);
    }

    pub(super) fn usage(&self, talk: &Talk, prices: &Prices) -> Usage {
        let mut usage = Usage {
            format: Some("hermes".into()),
            model: self.model.clone(),
            turns: Some(self.turns),
            tool_calls: Some(self.tool_calls.max(talk.calls)),
            tool_errors: (talk.tells_answers && talk.calls >= self.tool_calls).then(|| talk.record.errors()),
            tokens: Some(self.tokens),
            compactions: Some(self.compactions.saturating_add(talk.compactions)),
            identical_calls: Some(talk.identical()),
            edits: Some(talk.files.edits),
            rereads: talk.files.rereads(),
            ..Usage::default()
        };
        usage.bill(self.bill.sum(prices));
        for why in &self.why_least {
            usage.least(*why);
        }
        if talk.is_compacted {
            usage.least("after a compaction the store counts only what is left of the session");
        }
        usage
    }
}
