//! How an attempt fares by the rows of opencode's store. What it streams, and what it tries again, is in no row.

use rusqlite::params;
use serde_json::Value;

use super::row::{Message, Part};
use super::{Reading, Session};
use crate::agents::UsageAsk;
use crate::agents::fact::{self, Call, Does, Fact, Stop, brief, print};
use crate::agents::price::Priced;
use crate::agents::record::Record;
use crate::agents::vitals::of_record;
use crate::session::{Millis, Obj};
use crate::vitals::Vitals;
use base::reason::Reason;

const Q_ACTIVE: &str =
    "SELECT max(at) FROM (SELECT max(time_updated) AS at FROM message WHERE session_id = ?1
     UNION ALL SELECT max(time_updated) FROM part WHERE session_id = ?1)";

/// How the attempt fares by a store; `None` where nothing in it is the attempt's.
pub(crate) fn vitals(
    ask: &UsageAsk<'_>,
    path: &std::path::Path,
    session: Option<&str>,
) -> Result<Option<Vitals>, Reason> {
    let (mut reading, sessions) = super::opened(ask, path, session)?;
    let mut record = Record::default();
    for one in &sessions {
        reading.follow(one, &mut record).map_err(super::told)?;
    }
    let usage = super::read(ask, path, session)?;
    let vitals = of_record(&record, Priced { prices: ask.prices, agent: None });
    // The store states money itself, and both must tell the same.
    Ok(Some(Vitals {
        source: usage.source,
        format: usage.format,
        session: sessions.iter().find(|s| !s.is_child).map(|s| super::shown(&s.id)),
        model: usage.model.or(vitals.model),
        tokens: usage.tokens,
        cost: usage.cost,
        turns: usage.turns,
        is_part: vitals.is_part || usage.is_least,
        unknown: usage.unknown,
        ..vitals
    }))
}

/// Something that a row says happened at a time.
enum Tick<'a, 'd> {
    Asked,
    Ended(&'a Message<'d>),
    Called(&'a Part<'d>, usize),
    Answered(&'a Part<'d>, usize),
    Compacted,
}

impl Reading {
    /// Tells a session's rows in the order of their times.
    fn follow(&mut self, session: &Session, record: &mut Record) -> rusqlite::Result<()> {
        let messages = self.rows(super::Q_MESSAGES, session)?;
        let parts = self.rows(super::Q_PARTS, session)?;
        let messages: Vec<(i64, Message<'_>)> = messages
            .iter()
            .filter_map(|(at, data)| Some((*at, serde_json::from_str::<Obj<_>>(data.as_deref()?).ok()?.0?)))
            .collect();
        let parts: Vec<(i64, Part<'_>)> = parts
            .iter()
            .filter_map(|(at, data)| Some((*at, serde_json::from_str::<Obj<_>>(data.as_deref()?).ok()?.0?)))
            .collect();
        let mut ticks: Vec<(i64, Tick<'_, '_>)> = Vec::new();
        for (created, message) in &messages {
            match message.role.get() {
                Some("user") => ticks.push((*created, Tick::Asked)),
                Some("assistant") if message.ended().is_some() => {
                    ticks.push((message.ended().unwrap_or(*created), Tick::Ended(message)));
                }
                _ => {}
            }
        }
        for (n, (created, part)) in parts.iter().enumerate() {
            match part.kind.or_empty() {
                "compaction" => ticks.push((*created, Tick::Compacted)),
                "tool" => {
                    ticks.push((part.started().unwrap_or(*created), Tick::Called(part, n)));
                    if let Some(at) = part.ended() {
                        ticks.push((at, Tick::Answered(part, n)));
                    }
                }
                _ => {}
            }
        }
        // What a message's end says comes after what was called in it.
        ticks.sort_by_key(|(at, tick)| (*at, matches!(tick, Tick::Ended(_))));
        for (at, tick) in ticks {
            record.now(Some(Millis(at)));
            tell(&tick, session.is_child, record);
        }
        let active: Option<i64> = self.store.conn.query_row(Q_ACTIVE, params![session.id], |r| r.get(0))?;
        if let Some(at) = active.filter(|at| *at <= self.window.to.0) {
            record.lived(Millis(at));
        }
        Ok(())
    }
}

fn tell(tick: &Tick<'_, '_>, side: bool, record: &mut Record) {
    match tick {
        Tick::Asked => record.take(side, &Fact::Asked),
        Tick::Compacted => record.take(side, &Fact::Compacted { before: None }),
        Tick::Ended(message) => {
            if let Some(counts) = &message.tokens.0 {
                let used = counts.used();
                let (model, context) = (message.model.or_empty(), used.context());
                record.take(side, &Fact::Used { call: "", model, used, context, stopped: true });
            }
            // It is asked again at once where a stream broke off or tools were called.
            let goes_on = matches!(message.finish.get(), Some("tool-calls" | "unknown"));
            let is_over = message.error.0.is_some() || !goes_on;
            let spoke = Fact::Spoke { call: "", stop: Stop::ForTools };
            record.take(side, if is_over { &Fact::Over } else { &spoke });
            if !is_over {
                record.take(side, &Fact::Asked);
            }
        }
        Tick::Called(part, n) => called(part, *n, side, record),
        Tick::Answered(part, n) => {
            let (failed, malformed) = (part.has_failed(), part.tool.get() == Some("invalid"));
            let id = id(part, *n);
            let print = || print(part.said().into_iter());
            record.take(side, &Fact::Answered { id: &id, failed, malformed, print: &print, said: "" });
        }
    }
}

/// Ids of calls may be given twice; the place in the list never is.
fn id(part: &Part<'_>, n: usize) -> String {
    format!("{n}:{}", part.tool.or_empty())
}

fn called(part: &Part<'_>, n: usize, side: bool, record: &mut Record) {
    let input = part.state.0.as_ref().and_then(|s| s.input.as_ref()).unwrap_or(&Value::Null);
    let (name, arguments, id) = (part.tool.or_empty(), input.to_string(), id(part, n));
    let does = match name {
        "edit" | "write" | "multiedit" | "patch" | "apply_patch" => Does::Edits,
        "read" => Does::Reads,
        "grep" | "glob" | "list" => Does::Looks,
        "question" => Does::Asks,
        _ => Does::Other,
    };
    let files: Vec<&str> = input.get("filePath").and_then(Value::as_str).into_iter().collect();
    let brief = brief(input).unwrap_or(&arguments);
    let call = Call {
        id: &id,
        name,
        arguments: &arguments,
        does,
        files: &files,
        part: fact::part(input),
        malformed: false,
        brief,
    };
    record.take(side, &Fact::Called(call));
}
