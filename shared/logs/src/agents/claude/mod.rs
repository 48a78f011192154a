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
//! message (`stop_reason: null`) is not a failure of the API; `session` of `watchbill match` tells of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::line::{Block, Message, Raw};
use self::why::Failure;
use super::fact::{Begin, Call, Does, Fact, Refusal, Repeats, Stop, Tell, Used, brief, part, print};
use super::record::Record;
use super::{Agent, First};
use crate::agents::UsageAsk;
use crate::cache::Cache;
use crate::session::{MAX_FILES, Millis, Obj, PRICES, Said, percent, price_of};
use crate::usage::{Usage, bill};
use crate::vitals::Worker;
use crate::{Line, SignalKind};
use base::cause::Cause;
use base::clip::clip;
use base::reason::Reason;

mod line;
mod place;
mod why;

pub(crate) use why::{is_subscription_limit, status_in};

#[cfg(test)]
pub(crate) use place::slug;
#[cfg(test)]
mod tests;

/// The model Claude Code names where it speaks itself.
const SYNTHETIC: &str = "<synthetic>";

/// Longest word for a failure that is kept, in bytes.
const MAX_NAME: usize = 400;

/// Size of a model's context, in tokens, and of those whose name ends in `[1m]`.
const WINDOW: u64 = 200_000;
const WINDOW_1M: u64 = 1_000_000;

/// Claude Code.
pub(crate) struct Claude;

impl Agent for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn home(&self) -> (&'static str, &'static str) {
        ("CLAUDE_CONFIG_DIR", ".claude")
    }

    fn writes(&self, line: &First<'_>) -> bool {
        let has_session = ["sessionId", "session_id", "parentUuid"].iter().any(|key| line.has(key));
        // Codex writes a payload, and dots in its types.
        has_session && !line.kind().is_empty() && !line.kind().contains('.') && !line.has("payload")
    }

    fn starts(&self, kind: &str, subtype: &str) -> bool {
        (kind, subtype) == ("system", "init")
    }

    fn facts(&self, line: &Line<'_>, tell: &mut Tell<'_>) -> bool {
        let Ok(Obj(Some(raw))) = serde_json::from_str::<Obj<Raw<'_>>>(line.text) else { return false };
        let mut tell = |fact: Fact<'_>| tell(raw.is_side(), fact);
        let at = raw.timestamp.get().and_then(Millis::parse);
        let closes = match raw.kind.or_empty() {
            "last-prompt" | "result" => Some(true),
            "user" | "assistant" | "system" => Some(false),
            // What the program writes while it closes down carries no time; a new start does.
            _ => at.map(|_| false),
        };
        tell(Fact::Line { at, closes });
        let id = raw.session_of_file.get().or(raw.session_of_stdout.get());
        tell(Fact::Session { id, cwd: raw.cwd.get(), once: false });
        match (raw.kind.or_empty(), &raw.message.0) {
            ("user", Some(message)) => user(&raw, message, &mut tell),
            ("user", None) => tell(Fact::Wrote { by_model: false, stop: None }),
            ("assistant", Some(message)) => assistant(&raw, message, &mut tell),
            ("system", _) => system(&raw, &mut tell),
            ("result", _) => result(&raw, &mut tell),
            _ => {}
        }
        true
    }

    fn session(&self, record: &Record) -> Value {
        let seen = &record.seen;
        let used = record.used_in_all();
        let cost = record.models.iter().map(|(model, used)| used.cost(price_of(&PRICES, model)));
        let (last_type, stop) = match &seen.wrote {
            Some((true, stop)) => (Some("assistant"), stop.as_deref()),
            Some((false, _)) => (Some("user"), None),
            None => (None, None),
        };
        let reads = record.signs.reads.newest(MAX_FILES);
        let reads: BTreeMap<String, u64> =
            reads.into_iter().map(|(file, reads)| (file, reads.most())).collect();
        let context = record.context.unwrap_or_default();
        let is_large = record.model().is_some_and(|model| model.ends_with("[1m]"));
        json!({
            // As its last line that names one states it.
            "session_id": record.session,
            // Folder names of transcripts collide; this does not.
            "cwd": record.cwd,
            "model": record.model(),
            "lines": record.lines,
            // No JSON object: torn by a crash, cut for its length, or from another program.
            "unparseable": record.unparseable,
            // Times of lines are not in order, and the file's own is changed by copies.
            "last_activity": record.last,
            "last_type": last_type,
            // `null` on a line of the model: the stream was cut in the middle of a message (2.1.197 exits 0 then).
            "last_stop_reason": stop,
            // All lines of one message are one call.
            "api_calls": record.turns.saturating_add(record.side_turns),
            // Adding up line by line gives about twice the truth (ccusage #888).
            "naive_input_tokens": seen.naive,
            "input": used.input,
            "cache_write": used.write,
            "cache_read": used.read,
            "output": used.output,
            // A lower bound: the call behind a compaction is not in the file.
            "cost_usd": dollars(cost.fold(0, u64::saturating_add)),
            "context_tokens": context,
            "context_pct": percent(context, if is_large { WINDOW_1M } else { WINDOW }),
            "tool_calls": record.calls,
            "tool_errors": record.errors,
            "malformed": record.malformed,
            "max_identical_run": record.run.longest(),
            "dangling_tool_use": record.open.len(),
            "edited": record.edited.newest(MAX_FILES),
            "reads_since_edit": reads,
            "compactions": record.compactions,
            "compact_pre_tokens": seen.before_compactions,
            "api_errors": seen.failures,
            "synthetic": seen.synthetic,
            // In an orderly way (a normal end, a failure, SIGTERM), and nothing was written since.
            "clean_end": seen.is_closed,
            // No line of theirs says why the model stopped.
            "truncated_calls": record.cut_turns,
        })
    }

    fn correct(&self, record: &Record, usage: &mut Usage) {
        if record.compactions + record.side_compactions > 0 {
            usage.least("the call behind a compaction is in no log");
        }
    }

    fn has_usual_model(&self) -> bool {
        true
    }

    /// Names do not always tell it: what holds more than 200 000 tokens holds a million.
    fn context_window(&self, model: &str, context: Option<u64>) -> Option<u64> {
        let is_large = model.ends_with("[1m]") || context.is_some_and(|c| c > WINDOW);
        Some(if is_large { WINDOW_1M } else { WINDOW })
    }

    fn own_log(
        &self,
        ask: &UsageAsk<'_>,
        worker: Option<Worker>,
        _: &mut Cache,
    ) -> Result<Option<PathBuf>, Reason> {
        place::pointed(ask.homes.get(self.name()), worker)
    }

    fn in_folder(&self, ask: &UsageAsk<'_>, real: &Path, _: &mut Cache) -> Vec<PathBuf> {
        let home = ask.homes.get(self.name());
        home.map(|home| place::transcripts(&home.join("projects"), &place::slug(real))).unwrap_or_default()
    }

    fn subagents(&self, path: &Path) -> Vec<PathBuf> {
        place::subagents(path)
    }
}

/// Is told each fact of a line.
type Told<'t> = dyn FnMut(Fact<'_>) + 't;

fn user(raw: &Raw<'_>, message: &Message<'_>, tell: &mut Told<'_>) {
    let results = || message.content.blocks().iter().filter(|b| b.kind.get() == Some("tool_result"));
    let is_answer = results().next().is_some();
    let is_prompt = !is_answer && !raw.is_summary.is_set();
    let is_persons = || !raw.is_meta.is_set() && message.texts().any(is_a_persons);
    if is_prompt && (raw.prompt.get().is_some() || is_persons()) {
        tell(Fact::Begins(Begin::Prompt(raw.prompt.get())));
    }
    for block in results() {
        let (id, malformed) = (block.tool_use_id.or_empty(), is_malformed(block));
        let (failed, said) = (block.is_error.is_set(), block.result());
        tell(Fact::Answered { id, failed, malformed, print: &|| whole(block), said });
    }
    tell(Fact::Wrote { by_model: false, stop: None });
    let Some(text) = message.texts().map(str::trim_start).find(|t| is_prompt && !t.is_empty()) else {
        return;
    };
    if OVER.iter().any(|opening| text.starts_with(opening)) {
        tell(Fact::Over);
    } else if !raw.is_meta.is_set() && !ASIDE.iter().any(|opening| text.starts_with(opening)) {
        tell(Fact::Asked);
    }
}

/// Whether a person may have written this, rather than the program itself.
fn is_a_persons(text: &str) -> bool {
    const OWN: [&str; 3] = ["<task-notification", "<system-reminder", "[Request interrupted"];
    let text = text.trim_start();
    !text.is_empty() && !OWN.iter().chain(&ASIDE).any(|own| text.starts_with(own))
}

/// What the program writes in a person's place once the turn is theirs again.
const OVER: [&str; 4] =
    ["[Request interrupted", "<local-command-stdout", "<local-command-stderr", "<bash-stdout"];

/// What it writes in a person's place beside the conversation.
const ASIDE: [&str; 4] =
    ["<command-", "<local-command-", "<bash-", "Caveat: The messages below were generated"];

fn whole(block: &Block<'_>) -> u64 {
    match &block.content {
        Said::Plain(text) => print(std::iter::once(text.as_ref())),
        Said::Blocks(pieces) => print(pieces.iter().filter_map(|p| p.text.get())),
        Said::Nothing => 0,
    }
}

fn assistant(raw: &Raw<'_>, message: &Message<'_>, tell: &mut Told<'_>) {
    tell(Fact::Wrote { by_model: true, stop: message.stop_reason.get() });
    let is_synthetic = message.model.get() == Some(SYNTHETIC);
    // Stdout of some versions marks a failure by the word alone.
    let is_marked = raw.is_api_error.0.unwrap_or(is_synthetic && raw.error_word().is_some());
    if is_marked {
        let said = message.texts().collect::<Vec<_>>().join(" ");
        let (status, word) = (raw.api_status.status(), raw.error_word());
        let failure = Failure { status, word, text: &said, details: raw.details.or_empty() };
        let stated = json!({"status": status, "error": word.map(|word| clip(word, MAX_NAME))});
        refused(SignalKind::Terminal, failure.verdict(), &said, (Repeats::Nothing, Some(stated)), tell);
    }
    if is_synthetic {
        tell(Fact::Synthetic);
    }
    // Where the program speaks in the model's place, it failed for good or has nothing to answer.
    if is_synthetic || is_marked {
        return tell(Fact::Over);
    }
    let call = message.id.get().or(raw.request.get()).or(raw.uuid.get()).unwrap_or_default();
    let stop = match message.stop_reason.get() {
        None => Stop::Unsaid,
        Some("tool_use" | "pause_turn") => Stop::ForTools,
        Some(_) => Stop::Done,
    };
    tell(Fact::Spoke { call, stop });
    let (model, used, stopped) =
        (message.model.or_empty(), used(message.usage.0.as_ref()), stop != Stop::Unsaid);
    tell(Fact::Used { call, model, used, context: used.context(), stopped });
    for block in message.content.blocks().iter().filter(|b| b.kind.get() == Some("tool_use")) {
        tool(block, tell);
    }
    // The API answered, so what failed before is over.
    tell(Fact::Worked { said: "", once: false });
    message.texts().for_each(|said| tell(Fact::Worked { said, once: false }));
}

fn refused(
    kind: SignalKind,
    (cause, http): (Cause, Option<u16>),
    said: &str,
    (repeats, stated): (Repeats, Option<Value>),
    tell: &mut Told<'_>,
) {
    let endpoint = why::endpoint(said);
    tell(Fact::Refused(Refusal { kind, cause, http, endpoint, said, repeats, stated }));
}

fn system(raw: &Raw<'_>, tell: &mut Told<'_>) {
    match raw.subtype.or_empty() {
        "init" => {
            tell(Fact::Model { name: raw.model.get(), window: None });
            tell(Fact::Begins(Begin::Start));
        }
        "compact_boundary" => {
            let of_file = raw.compact.0.as_ref().and_then(|c| c.before.0);
            let of_stdout = raw.compact_of_stdout.0.as_ref().and_then(|c| c.before.0);
            tell(Fact::Compacted { before: of_file.or(of_stdout) });
        }
        "api_retry" | "api_error" => {
            // A word, or an object with a status and a message.
            let error = raw.error.as_ref().unwrap_or(&Value::Null);
            let of_object = error.get("status").and_then(Value::as_u64).and_then(|s| u16::try_from(s).ok());
            let said = match error.get("message").and_then(Value::as_str).or(error.as_str()) {
                Some(said) => said.to_owned(),
                None if error.is_object() => error.to_string(),
                None => String::new(),
            };
            let status = raw.error_status.status().or(of_object);
            let failure = Failure { status, word: raw.error_word(), text: &said, details: "" };
            refused(SignalKind::Retry, failure.verdict(), &said, (Repeats::Nothing, None), tell);
        }
        _ => {}
    }
}

/// The line stdout ends on.
fn result(raw: &Raw<'_>, tell: &mut Told<'_>) {
    let subtype = raw.subtype.or_empty();
    if let Some(cost) = raw.total_cost_usd.as_ref().and_then(Value::as_f64).and_then(bill::dollars) {
        let session = raw.session_of_stdout.or_empty();
        tell(Fact::Billed { session, cost, used: used(raw.usage.0.as_ref()) });
    }
    if raw.is_error.is_set() || subtype.starts_with("error") {
        let said = raw.result.get().unwrap_or(subtype);
        let status = raw.api_error_status.status();
        let verdict = match subtype {
            // Its own limits of turns and money, set on its command line.
            "error_max_turns" | "error_max_budget_usd" => (Cause::IterationBudget, None),
            _ => Failure { status, word: None, text: said, details: "" }.verdict(),
        };
        // The failure itself stands one line above.
        refused(SignalKind::Terminal, verdict, said, (Repeats::Any, None), tell);
    } else {
        tell(Fact::Worked { said: "", once: false });
    }
    tell(Fact::Over);
}

fn tool(block: &Block<'_>, tell: &mut Told<'_>) {
    let input = block.input.as_ref().unwrap_or(&Value::Null);
    let arguments = input.to_string();
    let file = ["file_path", "notebook_path"].iter().find_map(|key| input.get(key)?.as_str());
    let name = block.name.or_empty();
    let does = match name {
        "Edit" | "Write" | "NotebookEdit" | "MultiEdit" => Does::Edits,
        "Read" => Does::Reads,
        "Grep" | "Glob" | "LS" | "NotebookRead" => Does::Looks,
        "AskUserQuestion" | "ExitPlanMode" => Does::Asks,
        _ => Does::Other,
    };
    let files: Vec<&str> = file.into_iter().collect();
    tell(Fact::Called(Call {
        id: block.id.or_empty(),
        name,
        arguments: &arguments,
        does,
        files: &files,
        part: part(input),
        // The model wrote something other than JSON in the place of arguments.
        malformed: input.get("__unparsedToolInput").is_some(),
        brief: brief(input).unwrap_or(&arguments),
    }));
}

/// What a line says that was used.
fn used(usage: Option<&line::Usage>) -> Used {
    usage.map_or(Used::default(), |u| {
        let write = u.cache_write.0.unwrap_or(0);
        Used {
            input: u.input.0.unwrap_or(0),
            write,
            // Never more than the whole, so that sums cost what their parts do.
            hour: u.cache_creation.0.as_ref().and_then(|c| c.hour.0).unwrap_or(0).min(write),
            read: u.cache_read.0.unwrap_or(0),
            output: u.output.0.unwrap_or(0),
        }
    })
}

/// Whether this is how the runtime answers a call it cannot use. What a tool printed well may begin with anything.
fn is_malformed(block: &Block<'_>) -> bool {
    let is_answer = block.is_error.0 != Some(false);
    is_answer && MALFORMED.iter().any(|opening| block.result().starts_with(opening))
}

/// How the runtime answers a call it cannot use; other texts in `<tool_use_error>` are the tool's own errors.
const MALFORMED: [&str; 2] =
    ["<tool_use_error>InputValidationError", "<tool_use_error>Error: No such tool available"];

#[expect(clippy::cast_precision_loss, reason = "nine digits behind the point are enough for money")]
fn dollars(billionths: u64) -> f64 {
    billionths as f64 / 1e9
}
