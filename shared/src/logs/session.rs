//! What a whole session of an agent tells besides why it ended: tokens, money, context, tool calls.
//!
//! Everything here is bounded, whatever the log holds: it is kept between two passes.

use std::collections::BTreeMap;

use chrono::Datelike;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::time::Time;

mod bounded;
mod lenient;
mod price;
#[cfg(test)]
pub(super) mod testing;

pub(super) use bounded::{Newest, Run, push_newest, words};
pub(crate) use lenient::{Flag, Num, Obj, Said, Text};
pub use price::{PRICES, PRICES_ASKED, Price, Prices, price_of};

/// Most tool calls without a result that are remembered; of older ones a result no longer counts.
pub const MAX_OPEN: usize = 256;
/// Most API calls whose tokens may still grow. Lines of one call stand next to each other.
pub const MAX_CALLS: usize = 64;
/// Most files of which edits and reads are counted: those touched last.
pub const MAX_FILES: usize = 200;
/// Most API failures, turn errors and compactions kept one by one: the newest. The counts go on.
pub const MAX_KEPT: usize = 64;

/// A moment in milliseconds since 1970-01-01 UTC: agents state them, and two lines of one second differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub i64);

impl Millis {
    /// Reads RFC 3339. What its offset moves into a year of five digits could not be written again.
    pub fn parse(text: &str) -> Option<Millis> {
        let at = chrono::DateTime::parse_from_rfc3339(text).ok()?.to_utc();
        (0..=9_999).contains(&at.year()).then(|| Millis(at.timestamp_millis()))
    }

    /// The whole second it lies in.
    pub fn time(self) -> Time {
        Time(self.0.div_euclid(1000))
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match chrono::DateTime::from_timestamp_millis(self.0) {
            Some(t) => s.collect_str(&t.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)),
            None => s.serialize_i64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Millis, D::Error> {
        let text = String::deserialize(d)?;
        Millis::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("not a time: {text:?}")))
    }
}

/// What a session of Claude Code tells. Tokens and money cover every API call the file holds, those of subagents
/// too where their lines stand in it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ClaudeSession {
    /// The session's id, as its last line that names one states it.
    pub session_id: Option<String>,
    /// The folder it works in. Folder names of transcripts collide; this does not.
    pub cwd: Option<String>,
    /// The model of the last API call.
    pub model: Option<String>,
    /// Lines that are not blank.
    pub lines: u64,
    /// Of those, lines that are no JSON object: torn by a crash, cut for their length, or from another program.
    pub unparseable: u64,
    /// The newest time any line states. Times of lines are not in order, and the file's own is changed by copies.
    pub last_activity: Option<Millis>,
    /// `user` or `assistant`: the last of the two that was written.
    pub last_type: Option<String>,
    /// Why the model stopped, on that line: `end_turn` is done, `tool_use` waits for a tool, `None` on an assistant
    /// line means that the stream was cut in the middle of a message (Claude Code 2.1.197 exits 0 then).
    pub last_stop_reason: Option<String>,
    /// API calls that were answered. All lines of one message are one call.
    pub api_calls: u64,
    /// What adding up all input tokens line by line would give, which is about twice the truth (ccusage #888).
    pub naive_input_tokens: u64,
    /// Input tokens that were not cached.
    pub input: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Output tokens.
    pub output: u64,
    /// What that costs at list prices ([`PRICES`]), in US dollars. A lower bound: the call behind a compaction is
    /// not in the file.
    pub cost_usd: f64,
    /// Tokens in the context of the last call.
    pub context_tokens: u64,
    /// The same as a part of the model's window, in percent with two digits: 200 000 tokens, 1 000 000 where the
    /// model's name ends in `[1m]`.
    pub context_pct: f64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Of those, calls whose result is an error.
    pub tool_errors: u64,
    /// Of those, calls the runtime could not use: no JSON, wrong arguments, no such tool.
    pub malformed: u64,
    /// The most calls in a row with the same tool and the same arguments.
    pub max_identical_run: u64,
    /// Tool calls without a result, of the newest [`MAX_OPEN`].
    pub dangling_tool_use: u64,
    /// How often each file was to be edited; the [`MAX_FILES`] touched last.
    pub edited: BTreeMap<String, u64>,
    /// How often each file was read since it was last edited; the [`MAX_FILES`] touched last.
    pub reads_since_edit: BTreeMap<String, u64>,
    /// How often the context was compacted.
    pub compactions: u64,
    /// Tokens in the context before each of the newest [`MAX_KEPT`] compactions.
    pub compact_pre_tokens: Vec<u64>,
    /// The newest [`MAX_KEPT`] API failures that ended a turn.
    pub api_errors: Vec<ApiError>,
    /// Lines the program itself wrote in the model's place.
    pub synthetic: u64,
    /// It ended in an orderly way (a normal end, a failure, SIGTERM), and nothing was written since. After SIGKILL,
    /// and while it runs, this is false.
    pub clean_end: bool,
    /// API calls whose stream was cut: no line of theirs says why the model stopped.
    pub truncated_calls: u64,
}

/// One API failure of Claude Code that ended a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// Its own name for it. `server_error` covers 529 and 503 and a refused connection alike.
    pub error: Option<String>,
}

/// What a session of Codex tells.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CodexSession {
    /// The thread's id.
    pub session_id: Option<String>,
    /// The folder it works in.
    pub cwd: Option<String>,
    /// The model of the last turn.
    pub model: Option<String>,
    /// Lines that are not blank.
    pub lines: u64,
    /// Of those, lines that are no JSON object.
    pub unparseable: u64,
    /// The newest time any line states.
    pub last_activity: Option<Millis>,
    /// Turns begun.
    pub turns_started: u64,
    /// Turns that ended, well or not. Fewer than begun: it runs, or it was killed.
    pub turns_completed: u64,
    /// The newest [`MAX_KEPT`] errors on which turns ended.
    pub turn_errors: Vec<TurnError>,
    /// Tokens of the whole thread as last stated; input includes what was cached.
    pub total_usage: Option<BTreeMap<String, u64>>,
    /// Tokens of the last API call; empty where none was stated.
    pub last_usage: BTreeMap<String, u64>,
    /// The size of the model's context, in tokens.
    pub context_window: Option<u64>,
    /// How full the context was at the last call, in percent with two digits.
    pub context_pct: Option<f64>,
    /// Tool calls.
    pub tool_calls: u64,
    /// Tool calls that failed: exit code other than 0, a failed item, or a call that could not be used.
    pub tool_errors: u64,
    /// Of those, calls the runtime could not use.
    pub malformed: u64,
    /// Tool calls without an output, of the newest [`MAX_OPEN`].
    pub dangling: u64,
    /// How often the context was compacted.
    pub compactions: u64,
}

/// The error on which a turn of Codex ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnError {
    /// Its words, cut to [`super::signal::MAX_WORDS`]. Untrusted.
    pub message: String,
    /// Its own class for it: a word, or an object with one key and perhaps a status. `null` where it is missing or
    /// too long to be kept.
    pub codex_error_info: Value,
}

/// `100 * part / whole`, with two digits behind the point.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
pub(super) fn percent(part: u64, whole: u64) -> f64 {
    (part as f64 * 10_000.0 / whole.max(1) as f64).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_keeps_its_milliseconds() {
        let at = Millis::parse("2026-11-21T08:07:10.019Z").unwrap();
        assert_eq!(serde_json::to_string(&at).unwrap(), "\"2026-11-21T08:07:10.019Z\"");
        assert_eq!(serde_json::from_str::<Millis>("\"2026-11-21T09:07:10.019+01:00\"").unwrap(), at);
        assert_eq!(at.time(), Time(1_795_248_430));
        assert_eq!(Millis::parse("yesterday"), None);
        assert_eq!(Millis::parse("9999-12-31T23:59:59-01:00"), None);
        assert!(Millis::parse("9999-12-31T23:59:59+01:00").is_some());
        assert!(serde_json::from_str::<Millis>("\"\"").is_err());
    }

    #[test]
    fn percentages_have_two_digits() {
        for (part, whole, pct) in
            [(12_100, 200_000, 6.05), (1_200, 258_400, 0.46), (0, 0, 0.0), (5, 5, 100.0)]
        {
            assert!((percent(part, whole) - pct).abs() < f64::EPSILON * 100.0, "{part}/{whole}");
        }
    }
}
