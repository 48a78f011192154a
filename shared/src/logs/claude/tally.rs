//! Counting what a session used and did, line by line.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::line::{Block, Message, Raw};
use crate::cause::Cause;
use crate::clip::clip;
use crate::logs::session::{
    ApiError, ClaudeSession, MAX_CALLS, MAX_FILES, MAX_KEPT, MAX_OPEN, Millis, Newest, PRICES, Price, Run,
    percent, price_of, push_newest,
};
use crate::time::Time;

/// Longest name, folder or id that is kept, in bytes.
const MAX_NAME: usize = 400;

/// Size of a model's context, in tokens, and of those whose name ends in `[1m]`.
const WINDOW: u64 = 200_000;
const WINDOW_1M: u64 = 1_000_000;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Tally {
    session_id: Option<String>,
    cwd: Option<String>,
    model: Option<String>,
    lines: u64,
    unparseable: u64,
    last_activity: Option<Millis>,
    /// Whether the model spoke last, and why it stopped.
    last: Option<(bool, Option<String>)>,
    calls: Newest<Call>,
    api_calls: u64,
    cut_calls: u64,
    naive: u64,
    used: Used,
    /// The same by model: prices differ, and may be stated later.
    models: BTreeMap<String, Used>,
    /// Of the calls, those of subagents whose lines stand between the agent's own.
    side_calls: u64,
    context: u64,
    window: u64,
    open: Newest<Open>,
    tool_calls: u64,
    tool_errors: u64,
    malformed: u64,
    run: Run,
    edited: Newest<u64>,
    reads: Newest<u64>,
    compactions: u64,
    before_compactions: VecDeque<u64>,
    api_errors: VecDeque<ApiError>,
    synthetic: u64,
    clean_end: bool,
}

/// Most models of one session whose tokens are told apart, and what stands for further ones.
const MAX_MODELS: usize = 16;
const OTHER_MODELS: &str = "(further models)";

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(in crate::logs) struct Used {
    pub(in crate::logs) input: u64,
    pub(in crate::logs) write: u64,
    /// The part of `write` that is kept for an hour.
    pub(in crate::logs) hour: u64,
    pub(in crate::logs) read: u64,
    pub(in crate::logs) output: u64,
}

/// An API call of which more lines may come.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
struct Call {
    used: Used,
    stopped: bool,
}

/// A tool call without a result.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
struct Open {
    /// It was no JSON, and is counted already.
    malformed: bool,
}

impl Used {
    /// Field by field the larger: older versions write a low count of output tokens first.
    pub(in crate::logs) fn most(self, other: Used) -> Used {
        Used {
            input: self.input.max(other.input),
            write: self.write.max(other.write),
            hour: self.hour.max(other.hour),
            read: self.read.max(other.read),
            output: self.output.max(other.output),
        }
    }

    /// With more added and less taken away.
    pub(in crate::logs) fn plus(self, more: Used, less: Used) -> Used {
        let sum = |a: u64, b: u64, c: u64| a.saturating_add(b).saturating_sub(c);
        Used {
            input: sum(self.input, more.input, less.input),
            write: sum(self.write, more.write, less.write),
            hour: sum(self.hour, more.hour, less.hour),
            read: sum(self.read, more.read, less.read),
            output: sum(self.output, more.output, less.output),
        }
    }

    /// Tokens the call was asked with.
    pub(in crate::logs) fn context(self) -> u64 {
        self.input.saturating_add(self.write).saturating_add(self.read)
    }

    /// In billionths of a US dollar.
    pub(in crate::logs) fn cost(self, price: &Price) -> u64 {
        price.of(self.input, self.write, self.hour, self.read, self.output)
    }
}

fn kept(text: Option<&str>, before: &mut Option<String>) {
    let Some(text) = text.map(|t| clip(t, MAX_NAME)) else { return };
    if before.as_deref() != Some(text) {
        *before = Some(text.to_owned());
    }
}

impl Tally {
    /// Whether no line was read yet.
    pub(super) fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// A line that could not be read.
    pub(super) fn broken(&mut self) {
        self.lines += 1;
        self.unparseable += 1;
        self.clean_end = false;
    }

    /// Any line. Gives the time it states.
    pub(super) fn line(&mut self, raw: &Raw<'_>) -> Option<Time> {
        self.lines += 1;
        let at = raw.timestamp.get().and_then(Millis::parse);
        self.last_activity = self.last_activity.max(at);
        kept(raw.session_of_file.get().or(raw.session_of_stdout.get()), &mut self.session_id);
        kept(raw.cwd.get(), &mut self.cwd);
        match raw.kind.or_empty() {
            "last-prompt" | "result" => self.clean_end = true,
            "user" | "assistant" | "system" => self.clean_end = false,
            // What the program writes while it closes down carries no time; a new start does.
            _ if at.is_some() => self.clean_end = false,
            _ => {}
        }
        at.map(Millis::time)
    }

    pub(super) fn started(&mut self, model: Option<&str>) {
        if self.api_calls == 0 {
            kept(model, &mut self.model);
        }
    }

    pub(super) fn spoke(&mut self, is_side: bool, is_model: bool, stop: Option<&str>) {
        if !is_side {
            self.last = Some((is_model, stop.map(|s| clip(s, MAX_NAME).to_owned())));
        }
    }

    pub(super) fn synthetic(&mut self) {
        self.synthetic += 1;
    }

    pub(super) fn failed(&mut self, status: Option<u16>, error: Option<&str>) {
        let error = error.map(|e| clip(e, MAX_NAME).to_owned());
        push_newest(&mut self.api_errors, ApiError { status, error }, MAX_KEPT);
    }

    pub(super) fn compacted(&mut self, before: Option<u64>) {
        self.compactions += 1;
        if let Some(tokens) = before {
            push_newest(&mut self.before_compactions, tokens, MAX_KEPT);
        }
    }

    /// A line of an API call's answer.
    pub(super) fn call(&mut self, raw: &Raw<'_>, message: &Message<'_>, is_side: bool) {
        let line = used(message);
        let model = message.model.or_empty();
        self.naive = self.naive.saturating_add(line.context());
        if !is_side {
            kept(message.model.get(), &mut self.model);
            self.context = line.context();
            self.window = if model.ends_with("[1m]") { WINDOW_1M } else { WINDOW };
        }
        let mut is_new = false;
        let new = || {
            is_new = true;
            Call::default()
        };
        let key = message.id.get().or(raw.request.get()).or(raw.uuid.get()).unwrap_or_default();
        let mut alone = Call::default();
        let call = match self.calls.touch(key, MAX_CALLS, new) {
            Some(call) => call,
            // Without any id each line is a call of its own.
            None => {
                is_new = true;
                &mut alone
            }
        };
        let before = *call;
        call.used = before.used.most(line);
        call.stopped |= message.stop_reason.get().is_some();
        let after = *call;
        self.used = self.used.plus(after.used, before.used);
        let model = clip(model, MAX_NAME);
        let is_told = self.models.len() < MAX_MODELS || self.models.contains_key(model);
        let of_model = self.models.entry(if is_told { model } else { OTHER_MODELS }.to_owned()).or_default();
        *of_model = of_model.plus(after.used, before.used);
        self.api_calls += u64::from(is_new);
        self.side_calls += u64::from(is_new && is_side);
        self.cut_calls += u64::from(is_new);
        self.cut_calls -= u64::from(after.stopped && !before.stopped);
    }

    /// A tool call.
    pub(super) fn tool(&mut self, block: &Block<'_>, is_side: bool) {
        let id = block.id.or_empty();
        // Older versions repeat a message's blocks as it grows.
        if self.open.holds(id) {
            return;
        }
        self.tool_calls += 1;
        let input = block.input.as_ref().unwrap_or(&Value::Null);
        let malformed = is_unparsed(input);
        self.malformed += u64::from(malformed);
        self.open.touch(id, MAX_OPEN, || Open { malformed });
        let name = block.name.or_empty();
        if !is_side {
            self.run.next([name.as_bytes(), input.to_string().as_bytes()]);
        }
        match (name, file_of(input)) {
            ("Edit" | "Write" | "NotebookEdit" | "MultiEdit", Some(file)) => {
                self.reads.take(file);
                self.edited.touch(file, MAX_FILES, || 0).into_iter().for_each(|n| *n += 1);
            }
            ("Read", Some(file)) => {
                self.reads.touch(file, MAX_FILES, || 0).into_iter().for_each(|n| *n += 1);
            }
            _ => {}
        }
    }

    /// A tool's result; its cause where it failed.
    pub(super) fn result(&mut self, block: &Block<'_>) -> Option<Cause> {
        let open = self.open.take(block.tool_use_id.or_empty());
        let was_counted = open.is_some_and(|o| o.malformed);
        let is_malformed = was_counted || is_malformed(block);
        if !block.is_error.is_set() && !is_malformed {
            return None;
        }
        self.tool_errors += u64::from(block.is_error.is_set());
        self.malformed += u64::from(is_malformed && !was_counted);
        Some(if is_malformed { Cause::MalformedCall } else { Cause::ToolError })
    }

    /// What each model used, by its name.
    pub(super) fn models(&self) -> &BTreeMap<String, Used> {
        &self.models
    }

    pub(super) fn side_calls(&self) -> u64 {
        self.side_calls
    }

    pub(super) fn session(&self) -> ClaudeSession {
        let (last_type, stop) = match &self.last {
            Some((true, stop)) => (Some("assistant"), stop.clone()),
            Some((false, _)) => (Some("user"), None),
            None => (None, None),
        };
        let of_model = |(model, used): (&String, &Used)| used.cost(price_of(&PRICES, model));
        let cost = self.models.iter().map(of_model).fold(0, u64::saturating_add);
        ClaudeSession {
            session_id: self.session_id.clone(),
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            lines: self.lines,
            unparseable: self.unparseable,
            last_activity: self.last_activity,
            last_type: last_type.map(str::to_owned),
            last_stop_reason: stop,
            api_calls: self.api_calls,
            naive_input_tokens: self.naive,
            input: self.used.input,
            cache_write: self.used.write,
            cache_read: self.used.read,
            output: self.used.output,
            cost_usd: dollars(cost),
            context_tokens: self.context,
            context_pct: percent(self.context, self.window),
            tool_calls: self.tool_calls,
            tool_errors: self.tool_errors,
            malformed: self.malformed,
            max_identical_run: self.run.longest,
            dangling_tool_use: self.open.len(),
            edited: self.edited.to_map(),
            reads_since_edit: self.reads.to_map(),
            compactions: self.compactions,
            compact_pre_tokens: self.before_compactions.iter().copied().collect(),
            api_errors: self.api_errors.iter().cloned().collect(),
            synthetic: self.synthetic,
            clean_end: self.clean_end,
            truncated_calls: self.cut_calls,
        }
    }
}

/// What a line of an answer says that its call used.
pub(super) fn used(message: &Message<'_>) -> Used {
    let usage = message.usage.0.as_ref();
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

/// The file a tool is called for.
pub(super) fn file_of(input: &Value) -> Option<&str> {
    ["file_path", "notebook_path"].iter().find_map(|key| input.get(key)?.as_str())
}

/// Whether the model wrote something that is no JSON in the place of arguments.
pub(super) fn is_unparsed(input: &Value) -> bool {
    input.get("__unparsedToolInput").is_some()
}

/// Whether this is how the runtime answers a call it cannot use. What a tool printed well may begin with anything.
pub(super) fn is_malformed(block: &Block<'_>) -> bool {
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
