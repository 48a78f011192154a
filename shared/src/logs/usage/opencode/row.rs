//! What is read of the JSON in the rows of opencode's store.

use serde::Deserialize;
use serde_json::Value;

use crate::logs::session::{Flag, Num, Obj, Text};
use crate::logs::usage::Tokens;

/// What of a message's `data` is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    #[serde(borrow, rename = "modelID")]
    pub(super) model: Text<'a>,
    pub(super) time: Obj<Times>,
    pub(super) tokens: Obj<Counts>,
    pub(super) cost: Option<Value>,
    pub(super) error: Obj<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Times {
    pub(super) completed: Num,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    input: Num,
    output: Num,
    reasoning: Num,
    cache: Obj<Cached>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cached {
    read: Num,
    write: Num,
}

impl Counts {
    /// The same as our own.
    pub(super) fn tokens(&self) -> Tokens {
        let of = |n: Num| n.0.unwrap_or_default();
        let cache = |pick: fn(&Cached) -> Num| self.cache.0.as_ref().map_or(0, |c| of(pick(c)));
        Tokens {
            input: of(self.input),
            cache_write: cache(|c| c.write),
            cache_read: cache(|c| c.read),
            // It is charged like any other output, and stated beside it.
            output: of(self.output).saturating_add(of(self.reasoning)),
        }
    }
}

/// What of a part's `data` is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) tool: Text<'a>,
    #[serde(borrow)]
    pub(super) state: Obj<State<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct State<'a> {
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    pub(super) input: Option<Value>,
    pub(super) metadata: Obj<Metadata>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) interrupted: Flag,
}
