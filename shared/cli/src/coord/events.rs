//! `coord events`: what happened to sessions, to be pulled.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use super::Coord;
use base::error::Result;
use base::quote;
use board::Entry;

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Show only what came after this event: the `next` of the last answer
    #[arg(long, value_name = "ID", default_value_t = 0)]
    since: i64,
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
}

impl Coord<'_> {
    pub(super) fn events(&mut self, args: &Events) -> Result<u8> {
        let entries = self.hand.board.coordinated(args.since, args.limit)?;
        let next = entries.last().map_or(args.since, |e| e.id);
        let mut text = String::new();
        for entry in &entries {
            // Writing to a text never fails.
            let _ = writeln!(text, "{}", line(entry));
        }
        let all: Vec<Value> = entries.iter().map(as_json).collect();
        self.hand.answer(&json!({"events": all, "next": next}), &text)
    }
}

fn as_json(entry: &Entry) -> Value {
    let e = &entry.event;
    json!({
        "id": entry.id, "kind": e.kind, "at": e.at, "task": entry.task, "run": e.run, "payload": e.payload,
    })
}

fn line(entry: &Entry) -> String {
    let e = &entry.event;
    let said = |key: &str| e.payload.get(key).and_then(Value::as_str).map(|s| quote::inline(s, 120));
    let words: Vec<String> =
        ["session", "type", "state", "level", "status", "text"].into_iter().filter_map(said).collect();
    format!("{}  {}  {}  {}  {}", entry.id, e.at, e.kind, quote::inline(&entry.task, 40), words.join("  "))
}
