//! One line as Claude Code writes it, in a transcript or on stdout with `--output-format stream-json`.

use serde::Deserialize;
use serde_json::Value;

use crate::session::{Flag, Num, Obj, Said, Text};

/// A line of any type. Unknown types and fields are passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raw<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) subtype: Text<'a>,
    #[serde(borrow)]
    pub(super) timestamp: Text<'a>,
    #[serde(borrow)]
    pub(super) uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    /// In transcripts.
    #[serde(borrow, rename = "sessionId")]
    pub(super) session_of_file: Text<'a>,
    /// On stdout.
    #[serde(borrow, rename = "session_id")]
    pub(super) session_of_stdout: Text<'a>,
    #[serde(borrow, rename = "promptId")]
    pub(super) prompt: Text<'a>,
    #[serde(borrow, rename = "requestId")]
    pub(super) request: Text<'a>,
    #[serde(rename = "isSidechain")]
    pub(super) is_sidechain: Flag,
    /// On stdout: set where a subagent speaks.
    #[serde(borrow, rename = "parent_tool_use_id")]
    pub(super) parent_tool: Text<'a>,
    #[serde(rename = "isMeta")]
    pub(super) is_meta: Flag,
    #[serde(rename = "isCompactSummary")]
    pub(super) is_summary: Flag,
    #[serde(rename = "isApiErrorMessage")]
    pub(super) is_api_error: Flag,
    #[serde(rename = "apiErrorStatus")]
    pub(super) api_status: Num,
    /// A word with final failures, an object with `system/api_error`.
    pub(super) error: Option<Value>,
    #[serde(borrow, rename = "errorDetails")]
    pub(super) details: Text<'a>,
    /// With `system/api_retry`.
    pub(super) error_status: Num,
    #[serde(rename = "compactMetadata")]
    pub(super) compact: Obj<Compact>,
    #[serde(rename = "compact_metadata")]
    pub(super) compact_of_stdout: Obj<CompactOfStdout>,
    /// With `result`.
    pub(super) is_error: Flag,
    #[serde(borrow)]
    pub(super) result: Text<'a>,
    pub(super) api_error_status: Num,
    pub(super) total_cost_usd: Option<Value>,
    pub(super) usage: Obj<Usage>,
    #[serde(borrow)]
    pub(super) message: Obj<Message<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Compact {
    #[serde(rename = "preTokens")]
    pub(super) before: Num,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompactOfStdout {
    #[serde(rename = "pre_tokens")]
    pub(super) before: Num,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
    pub(super) usage: Obj<Usage>,
    #[serde(borrow)]
    pub(super) content: Said<'a, Block<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    #[serde(rename = "input_tokens")]
    pub(super) input: Num,
    #[serde(rename = "cache_creation_input_tokens")]
    pub(super) cache_write: Num,
    #[serde(rename = "cache_read_input_tokens")]
    pub(super) cache_read: Num,
    #[serde(rename = "output_tokens")]
    pub(super) output: Num,
    pub(super) cache_creation: Obj<Written>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Written {
    #[serde(rename = "ephemeral_1h_input_tokens")]
    pub(super) hour: Num,
}

/// A block of a message: words, a tool call, or a tool's result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    pub(super) input: Option<Value>,
    #[serde(borrow)]
    pub(super) tool_use_id: Text<'a>,
    pub(super) is_error: Flag,
    #[serde(borrow)]
    pub(super) content: Said<'a, Piece<'a>>,
}

/// A part of a tool's result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece<'a> {
    #[serde(borrow)]
    pub(super) text: Text<'a>,
}

impl Raw<'_> {
    /// The word for a failure, where `error` is one.
    pub(super) fn error_word(&self) -> Option<&str> {
        self.error.as_ref().and_then(Value::as_str)
    }

    /// Whether a subagent speaks.
    pub(super) fn is_side(&self) -> bool {
        self.is_sidechain.is_set() || self.parent_tool.get().is_some()
    }
}

impl Message<'_> {
    /// The words of a message, block by block.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let plain = match &self.content {
            Said::Plain(text) => Some(text.as_ref()),
            _ => None,
        };
        let blocks = self.content.blocks().iter().filter(|b| b.kind.get() == Some("text"));
        plain.into_iter().chain(blocks.filter_map(|b| b.text.get()))
    }
}

impl Block<'_> {
    /// The first words of a tool's result.
    pub(super) fn result(&self) -> &str {
        match &self.content {
            Said::Plain(text) => text,
            Said::Blocks(pieces) => pieces.iter().find_map(|p| p.text.get()).unwrap_or_default(),
            Said::Nothing => "",
        }
    }
}
