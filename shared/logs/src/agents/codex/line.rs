//! One line of a Codex rollout, or of what `codex exec --json` writes to stdout.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::agents::fact::MAX_PATCHED;
use crate::session::{Num, Obj, Said, Text};

/// A line of any type. A rollout wraps what it says into `payload`; stdout does not.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raw<'a> {
    #[serde(borrow)]
    pub(super) timestamp: Text<'a>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) payload: Obj<Payload<'a>>,
    #[serde(borrow)]
    pub(super) thread_id: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Text<'a>,
    pub(super) error: Obj<Failed>,
    #[serde(borrow)]
    pub(super) item: Obj<Item<'a>>,
    pub(super) usage: Option<Value>,
}

/// What a line of a rollout says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    #[serde(borrow)]
    pub(super) call_id: Text<'a>,
    /// With a tool call.
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    /// With a tool call: its arguments, a text of JSON or of its own kind.
    pub(super) arguments: Option<Value>,
    pub(super) input: Option<Value>,
    pub(super) action: Option<Value>,
    /// With a record of an API call.
    pub(super) thread_token_usage: Option<Value>,
    /// With an event: what it tells.
    #[serde(borrow)]
    pub(super) message: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Said<'a, Piece<'a>>,
    #[serde(borrow)]
    pub(super) output: Said<'a, Piece<'a>>,
    #[serde(borrow)]
    pub(super) item: Obj<Item<'a>>,
    pub(super) error: Obj<Failed>,
    pub(super) codex_error_info: Option<Value>,
    #[serde(rename = "model_context_window")]
    pub(super) window: Num,
    pub(super) info: Obj<Info>,
    pub(super) rate_limits: Obj<Limits>,
    pub(super) exit_code: Option<Value>,
}

/// A piece of a message or of a tool's output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece<'a> {
    #[serde(borrow)]
    pub(super) text: Text<'a>,
}

/// A finished item.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item<'a> {
    /// `CommandExecution` in a rollout, `command_execution` on stdout.
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    /// Stdout of older versions.
    #[serde(borrow, rename = "item_type")]
    pub(super) old_kind: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    pub(super) exit_code: Option<Value>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow, rename = "aggregated_output")]
    pub(super) output: Text<'a>,
    /// With a command on stdout.
    pub(super) command: Option<Value>,
    /// With an MCP call on stdout.
    #[serde(borrow)]
    pub(super) tool: Text<'a>,
    pub(super) arguments: Option<Value>,
    /// What an MCP call answered.
    pub(super) result: Option<Value>,
    /// With changed files on stdout: which, and not what was changed in them.
    pub(super) changes: Option<Value>,
}

/// The error of a turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Failed {
    pub(super) message: Option<Value>,
    pub(super) codex_error_info: Option<Value>,
}

/// Token counts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Info {
    #[serde(rename = "total_token_usage")]
    pub(super) total: Option<Value>,
    #[serde(rename = "last_token_usage")]
    pub(super) last: Option<Value>,
    #[serde(rename = "model_context_window")]
    pub(super) window: Num,
}

/// The windows of a subscription.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limits {
    pub(super) primary: Obj<Limit>,
    pub(super) secondary: Obj<Limit>,
}

/// One window of a subscription.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limit {
    pub(super) used_percent: Option<Value>,
    pub(super) resets_at: Num,
    pub(super) resets_in_seconds: Num,
}

impl Failed {
    /// Its words.
    pub(super) fn words(&self) -> &str {
        self.message.as_ref().and_then(Value::as_str).unwrap_or_default()
    }
}

impl Item<'_> {
    /// Its type without capitals and underscores, so that both ways to write it are one.
    pub(super) fn name(&self) -> String {
        let kind = self.kind.get().or(self.old_kind.get()).unwrap_or_default();
        kind.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
    }

    /// The files it changed.
    pub(super) fn changed(&self) -> Vec<&str> {
        let all = self.changes.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter_map(|change| change.get("path")?.as_str()).take(MAX_PATCHED).collect()
    }

    /// Whether it is a tool call that failed.
    pub(super) fn has_failed(&self) -> bool {
        self.status.get() == Some("failed") || is_failure(self.exit_code.as_ref())
    }
}

/// Whether an exit code is there and not 0.
pub(super) fn is_failure(exit_code: Option<&Value>) -> bool {
    exit_code.and_then(Value::as_i64).is_some_and(|code| code != 0)
}

/// The words of a message or an output: all of its pieces.
pub(super) fn text(said: &Said<'_, Piece<'_>>) -> String {
    match said {
        Said::Plain(text) => text.to_string(),
        Said::Blocks(all) => all.iter().filter_map(|p| p.text.get()).collect::<Vec<_>>().join("\n"),
        Said::Nothing => String::new(),
    }
}

/// Counts of tokens by name; `None` where it is not an object.
pub(super) fn counts(value: Option<&Value>) -> Option<BTreeMap<String, u64>> {
    /// More names than any version ever wrote.
    const MAX_NAMES: usize = 16;
    let all = value?.as_object()?;
    let named = all
        .iter()
        .filter(|(name, _)| name.len() <= 64)
        .filter_map(|(name, n)| Some((name.clone(), n.as_u64()?)));
    Some(named.take(MAX_NAMES).collect())
}

impl Limit {
    /// Whether it is used up.
    pub(super) fn is_used_up(&self) -> bool {
        self.used_percent.as_ref().and_then(Value::as_f64).is_some_and(|p| p >= 100.0)
    }
}
