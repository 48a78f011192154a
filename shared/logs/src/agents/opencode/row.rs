//! What is read of the JSON in the rows of opencode's store.

use serde::Deserialize;
use serde_json::Value;

use crate::agents::fact::Used;
use crate::session::{Flag, Num, Obj, Text};
use crate::usage::Tokens;

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
    /// Why the model stopped.
    #[serde(borrow)]
    pub(super) finish: Text<'a>,
}

impl Message<'_> {
    /// When it was answered, well or not, in milliseconds.
    pub(super) fn ended(&self) -> Option<i64> {
        i64::try_from(self.time.0.as_ref()?.completed.0?).ok()
    }
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
    /// The same as the counts of a call.
    pub(super) fn used(&self) -> Used {
        let Tokens { input, cache_write: write, cache_read: read, output } = self.tokens();
        Used { input, write, hour: 0, read, output }
    }

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

impl Part<'_> {
    fn times(&self) -> Option<&Stretch> {
        self.state.0.as_ref()?.time.0.as_ref()
    }

    /// When its tool was started, in milliseconds.
    pub(super) fn started(&self) -> Option<i64> {
        i64::try_from(self.times()?.start.0?).ok()
    }

    /// When its tool was done, in milliseconds; `None` while it runs.
    pub(super) fn ended(&self) -> Option<i64> {
        let status = self.state.0.as_ref().map_or("", |s| s.status.or_empty());
        matches!(status, "completed" | "error").then(|| i64::try_from(self.times()?.end.0?).ok())?
    }

    /// What its tool answered, well or not.
    pub(super) fn said(&self) -> Option<&str> {
        self.state.0.as_ref().and_then(|s| s.output.get().or(s.error.get()))
    }

    /// Whether its tool failed, rather than being interrupted.
    pub(super) fn has_failed(&self) -> bool {
        let Some(state) = &self.state.0 else { return false };
        let interrupted = state.metadata.0.as_ref().is_some_and(|m| m.interrupted.is_set());
        self.tool.get() == Some("invalid") || (state.status.get() == Some("error") && !interrupted)
    }
}

/// From when to when.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Stretch {
    start: Num,
    end: Num,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct State<'a> {
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    pub(super) input: Option<Value>,
    pub(super) metadata: Obj<Metadata>,
    pub(super) time: Obj<Stretch>,
    #[serde(borrow)]
    pub(super) output: Text<'a>,
    #[serde(borrow)]
    pub(super) error: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) interrupted: Flag,
}
