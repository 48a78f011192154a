//! Claude Code (2.1.197 and older): transcripts under `~/.claude/projects` and what `claude -p --output-format
//! stream-json --verbose` writes to stdout.
//!
//! **Attempts.** One prompt is one attempt. In a transcript that is resumed, an attempt starts at the first line of
//! `type: user` whose `promptId` is new; tool results and the summary after a compaction carry the id of the prompt
//! they serve, or are left out. Where lines have no `promptId` (older versions), it starts at a line a person wrote:
//! no tool result, no summary, not `isMeta`, no output of a local command. On stdout it starts at `system/init`. The
//! first attempt starts where the file does.
//!
//! **Ends.** An attempt ended on a failure where Claude Code wrote one in the model's place (`isApiErrorMessage`),
//! and the model said nothing after it. Before that line it has tried for minutes; what it tries again is only on
//! stdout (`system/api_retry`). What a tool printed is never evidence. A stream that was cut in the middle of a
//! message (`stop_reason: null`) is no failure of the API; [`ClaudeSession`] tells of it.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::line::{Block, Message, Raw};
use self::tally::Tally;
use self::why::Failure;
use super::session::{ClaudeSession, Obj, push_newest, words};
use super::signal::MAX_WORDS;
use super::{Evidence, Format, Line, LogEnd, Signal, SignalKind};
use crate::cause::Cause;
use crate::clip::clip;
use crate::logs::when::reset_time;
use crate::time::Time;

mod acts;
mod line;
mod tally;
mod why;

pub(in crate::logs) use acts::acts;
pub(in crate::logs) use tally::Used;
pub(in crate::logs) use why::{is_subscription_limit, status_in};

#[cfg(test)]
mod tests;

/// The model Claude Code names where it speaks itself.
const SYNTHETIC: &str = "<synthetic>";

/// Most of the agent's last words that are kept.
const MAX_LAST: usize = 5;

/// Longest prompt id that is told apart from others, in bytes.
const MAX_ID: usize = 128;

/// Reads transcripts and stdout of Claude Code.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reader {
    attempt: u64,
    prompt: Option<String>,
    /// Nothing happened yet, or nothing since `system/init`: a prompt right behind it starts nothing new.
    is_begun: bool,
    /// The whole file is a subagent's (`subagents/agent-*.jsonl`), so that its sidechain is all there is.
    is_subagent: Option<bool>,
    failed: Option<Evidence>,
    /// Where the API last answered.
    worked: u64,
    last: VecDeque<String>,
    tally: Tally,
}

impl Reader {
    /// A reader that has read nothing.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// What the session tells so far.
    pub fn session(&self) -> ClaudeSession {
        self.tally.session()
    }

    /// What each model used, by its name.
    pub(in crate::logs) fn models(&self) -> &BTreeMap<String, Used> {
        self.tally.models()
    }

    /// API calls of subagents whose lines stand between the agent's own.
    pub(in crate::logs) fn side_calls(&self) -> u64 {
        self.tally.side_calls()
    }

    fn begin(&mut self, offset: u64) {
        self.attempt = offset;
        self.failed = None;
        self.last.clear();
    }

    fn evidence(
        &self,
        line: &Line<'_>,
        at: Time,
        (cause, http): (Cause, Option<u16>),
        said: &str,
    ) -> Evidence {
        let can_end = matches!(cause, Cause::RateLimit | Cause::Quota | Cause::Overloaded);
        Evidence {
            http,
            endpoint_host: why::endpoint(said),
            at: Some(at),
            resets: can_end.then(|| reset_time(said, at)).flatten(),
            attempt: self.attempt,
            words: words(said, MAX_WORDS),
            ..Evidence::new(cause, line.offset)
        }
    }

    fn fail(&mut self, evidence: Evidence, out: &mut Vec<Signal>) {
        out.push(Signal { kind: SignalKind::Terminal, evidence: evidence.clone() });
        self.failed = Some(evidence);
    }

    fn is_side(&mut self, raw: &Raw<'_>) -> bool {
        raw.is_side() && !*self.is_subagent.get_or_insert(raw.is_side())
    }

    fn user(&mut self, line: &Line<'_>, raw: &Raw<'_>, at: Time, out: &mut Vec<Signal>) {
        self.is_subagent.get_or_insert(raw.is_side());
        let is_side = self.is_side(raw);
        self.tally.spoke(is_side, false, None);
        let Some(message) = &raw.message.0 else { return };
        let results: Vec<&Block<'_>> =
            message.content.blocks().iter().filter(|b| b.kind.get() == Some("tool_result")).collect();
        if results.is_empty() && !is_side && !raw.is_summary.is_set() {
            self.prompted(line, raw, message);
        }
        for result in results {
            let Some(cause) = self.tally.result(result) else { continue };
            let evidence =
                Evidence { resets: None, ..self.evidence(line, at, (cause, None), result.result()) };
            out.push(Signal { kind: SignalKind::Tool, evidence });
        }
        self.is_begun = true;
    }

    /// A user line that is no tool result.
    fn prompted(&mut self, line: &Line<'_>, raw: &Raw<'_>, message: &Message<'_>) {
        let id = raw.prompt.get().map(|id| clip(id, MAX_ID));
        let begins = match id {
            Some(id) => self.prompt.as_deref() != Some(id),
            None => !raw.is_meta.is_set() && message.texts().any(is_a_persons),
        };
        if let Some(id) = id {
            self.prompt = Some(id.to_owned());
        }
        if begins && self.is_begun {
            self.begin(line.offset);
        }
    }

    fn assistant(&mut self, line: &Line<'_>, raw: &Raw<'_>, at: Time, out: &mut Vec<Signal>) {
        self.is_subagent.get_or_insert(raw.is_side());
        let is_side = self.is_side(raw);
        self.is_begun = true;
        let Some(message) = &raw.message.0 else { return };
        let is_synthetic = message.model.get() == Some(SYNTHETIC);
        self.tally.spoke(is_side, true, message.stop_reason.get());
        // Stdout of some versions marks a failure by the word alone.
        let is_marked = raw.is_api_error.0.unwrap_or(is_synthetic && raw.error_word().is_some());
        if is_marked {
            let said = message.texts().collect::<Vec<_>>().join(" ");
            let failure = Failure {
                status: raw.api_status.status(),
                word: raw.error_word(),
                text: &said,
                details: raw.details.or_empty(),
            };
            self.tally.failed(raw.api_status.status(), raw.error_word());
            if !is_side {
                let evidence = self.evidence(line, at, failure.verdict(), &said);
                self.fail(evidence, out);
            }
        }
        if is_synthetic {
            self.tally.synthetic();
            return;
        }
        self.tally.call(raw, message, is_side);
        for block in message.content.blocks().iter().filter(|b| b.kind.get() == Some("tool_use")) {
            self.tally.tool(block, is_side);
        }
        if is_side || is_marked {
            return;
        }
        // The API answered, so what failed before is over.
        self.failed = None;
        self.worked = line.offset;
        for text in message.texts().map(|t| words(t, MAX_WORDS)).filter(|t| !t.is_empty()) {
            push_newest(&mut self.last, text, MAX_LAST);
        }
    }

    fn system(&mut self, line: &Line<'_>, raw: &Raw<'_>, at: Time, out: &mut Vec<Signal>) {
        match raw.subtype.or_empty() {
            "init" => {
                self.tally.started(raw.model.get());
                // The first start is that of the file, with whatever was printed before it.
                if self.is_begun {
                    self.begin(line.offset);
                }
                self.is_begun = false;
            }
            "compact_boundary" => {
                let of_file = raw.compact.0.as_ref().and_then(|c| c.before.0);
                let of_stdout = raw.compact_of_stdout.0.as_ref().and_then(|c| c.before.0);
                self.tally.compacted(of_file.or(of_stdout));
            }
            "api_retry" | "api_error" => {
                let (status, said) = match &raw.error {
                    Some(Value::Object(error)) => {
                        let status = error.get("status").and_then(Value::as_u64);
                        let message = error.get("message").and_then(Value::as_str).map(str::to_owned);
                        (
                            status.and_then(|s| u16::try_from(s).ok()),
                            message.unwrap_or_else(|| {
                                raw.error.as_ref().map(Value::to_string).unwrap_or_default()
                            }),
                        )
                    }
                    other => (None, other.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()),
                };
                let status = raw.error_status.status().or(status);
                let failure = Failure { status, word: raw.error_word(), text: &said, details: "" };
                let evidence = self.evidence(line, at, failure.verdict(), &said);
                out.push(Signal { kind: SignalKind::Retry, evidence });
            }
            _ => {}
        }
    }

    /// The line stdout ends on.
    fn result(&mut self, line: &Line<'_>, raw: &Raw<'_>, at: Time, out: &mut Vec<Signal>) {
        let subtype = raw.subtype.or_empty();
        if !raw.is_error.is_set() && !subtype.starts_with("error") {
            self.failed = None;
            self.worked = line.offset;
            return;
        }
        // The failure itself stands one line above.
        if self.failed.is_some() {
            return;
        }
        let said = raw.result.get().unwrap_or(subtype);
        let verdict = match subtype {
            // Its own limits of turns and money, set on its command line.
            "error_max_turns" | "error_max_budget_usd" => (Cause::IterationBudget, None),
            _ => Failure { status: raw.api_error_status.status(), word: None, text: said, details: "" }
                .verdict(),
        };
        let evidence = self.evidence(line, at, verdict, said);
        self.fail(evidence, out);
    }
}

/// Whether a person may have written this, rather than the program itself.
fn is_a_persons(text: &str) -> bool {
    const OWN: [&str; 7] = [
        "<local-command-",
        "<command-",
        "<bash-",
        "<task-notification",
        "<system-reminder",
        "[Request interrupted",
        "Caveat: The messages below were generated",
    ];
    let text = text.trim_start();
    !text.is_empty() && !OWN.iter().any(|own| text.starts_with(own))
}

impl Format for Reader {
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Signal>) {
        if line.text.trim().is_empty() {
            return;
        }
        if self.tally.is_empty() {
            self.attempt = line.offset;
        }
        let Ok(Obj(Some(raw))) = serde_json::from_str::<Obj<Raw<'_>>>(line.text) else {
            self.tally.broken();
            return;
        };
        let at = self.tally.line(&raw).unwrap_or(line.seen);
        match raw.kind.or_empty() {
            "user" => self.user(line, &raw, at, out),
            "assistant" => self.assistant(line, &raw, at, out),
            "system" => self.system(line, &raw, at, out),
            "result" => self.result(line, &raw, at, out),
            _ => {}
        }
    }

    fn end(&self) -> LogEnd {
        self.failed.clone().map_or(LogEnd::NoEvidence, LogEnd::Ended)
    }

    fn attempt(&self) -> u64 {
        self.attempt
    }

    fn worked(&self) -> u64 {
        self.worked
    }

    fn last_words(&self) -> Vec<String> {
        self.last.iter().cloned().collect()
    }
}
