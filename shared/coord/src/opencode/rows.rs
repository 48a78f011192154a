//! From the JSON that opencode keeps of messages and their parts to what is known of a session. Pure; what has another shape than
//! expected counts as missing (1.1 to 1.18 differ, and so will the next).

use serde::Deserialize;
use serde_json::Value;

use crate::evidence::{Answer, Call, Failure, From, Message, Part, Rows, Stands, What};
use base::hash::Fnv;
use logs::agents::print;
use logs::session::{Flag, Millis, Num, Obj, Text};

/// How opencode names a call that it could make nothing of. What its event stream calls `tool` for a moment, it stores as
/// `invalid`.
const MALFORMED: [&str; 2] = ["invalid", "tool"];
/// How opencode begins to refuse arguments that do not fit a tool's schema: after the tool's name.
const UNFIT: &str = " tool was called with invalid arguments";
/// How models begin a tool call in their own tongue (Kimi, and others like it).
const CALL_MARK: &str = "<|tool";
/// The key of a text's metadata that marks a note of Watchbill, which wants no answer.
pub(super) const NOTE: &str = "watchbill_note";

/// When a row was made and last changed, as its store says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    /// Made; `None` where only the row itself may say so.
    pub(super) created: Option<Millis>,
    /// Last changed.
    pub(super) updated: Millis,
}

/// What of a message is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawMessage<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow, rename = "parentID")]
    parent: Text<'a>,
    time: Obj<Span>,
    #[serde(borrow)]
    finish: Text<'a>,
    #[serde(borrow)]
    error: Obj<RawError<'a>>,
}

/// Moments, in milliseconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Span {
    created: Num,
    completed: Num,
    start: Num,
    end: Num,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawError<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    data: Obj<ErrorData<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorData<'a> {
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(rename = "statusCode")]
    status: Num,
    #[serde(rename = "isRetryable")]
    is_retryable: Flag,
}

/// What of a part is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawPart<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    synthetic: Flag,
    auto: Flag,
    time: Obj<Span>,
    metadata: Option<Value>,
    #[serde(borrow)]
    tool: Text<'a>,
    #[serde(borrow, rename = "callID")]
    call: Text<'a>,
    #[serde(borrow)]
    state: Obj<RawState<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawState<'a> {
    #[serde(borrow)]
    status: Text<'a>,
    input: Option<Value>,
    #[serde(borrow)]
    output: Text<'a>,
    #[serde(borrow)]
    error: Text<'a>,
    metadata: Obj<CallData>,
    time: Obj<Span>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallData {
    interrupted: Flag,
    exit: Num,
}

fn millis(n: Num) -> Option<Millis> {
    i64::try_from(n.0?).ok().map(Millis)
}

/// A part, and what it tells of the message it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReadPart {
    pub(super) part: Part,
    /// Newest time it states.
    newest: Option<Millis>,
    asks: Asks,
}

/// What a part of a user's message says of whether an answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// Its writer asks.
    Yes,
    /// The agent wrote it to go on by itself.
    Itself,
    /// Nobody asks.
    No,
}

/// Reads a part; `None` where it is not a JSON object. `made` is `None` where the store does not say when.
pub(super) fn part(id: Option<&str>, made: Option<Millis>, data: &str) -> Option<ReadPart> {
    let Obj(Some(raw)) = serde_json::from_str::<Obj<RawPart<'_>>>(data).ok()? else { return None };
    Some(told(id, made, &raw))
}

fn told(id: Option<&str>, made: Option<Millis>, raw: &RawPart<'_>) -> ReadPart {
    let state = raw.state.0.as_ref();
    let time = raw.time.0.as_ref().or(state.and_then(|s| s.time.0.as_ref()));
    let (start, end) = (time.and_then(|t| millis(t.start)), time.and_then(|t| millis(t.end)));
    let is_ours = raw.metadata.as_ref().is_some_and(|m| m.get(NOTE).is_some());
    let (what, asks) = match raw.kind.or_empty() {
        "tool" => (What::Tool(call(raw)), Asks::No),
        "compaction" => (What::Compaction { is_auto: raw.auto.is_set() }, Asks::Itself),
        "text" | "reasoning" => {
            let has_call_marks = raw.text.or_empty().contains(CALL_MARK);
            let asks = match () {
                () if is_ours => Asks::No,
                () if raw.synthetic.is_set() => Asks::Itself,
                () => Asks::Yes,
            };
            (What::Words { has_call_marks, is_open: start.is_some() && end.is_none() }, asks)
        }
        "file" | "agent" | "subtask" => (What::Other, Asks::Yes),
        _ => (What::Other, Asks::No),
    };
    let newest = end.max(start);
    let part = Part {
        id: id.or(raw.id.get()).unwrap_or_default().to_owned(),
        at: made.or(start).unwrap_or(Millis(0)),
        what,
    };
    ReadPart { part, newest, asks }
}

fn call(raw: &RawPart<'_>) -> Call {
    let state = raw.state.0.as_ref();
    let tool = raw.tool.or_empty();
    let input = state.and_then(|s| s.input.as_ref()).unwrap_or(&Value::Null);
    let mut mark = Fnv::new();
    mark.part(tool.as_bytes());
    mark.part(input.to_string().as_bytes());
    Call {
        call: raw.call.get().map(str::to_owned),
        tool: tool.to_owned(),
        stands: state.map_or(Stands::Open, |state| stands(tool, state)),
        started: state.and_then(|s| millis(s.time.0.as_ref()?.start)),
        allowed: input.get("timeout").and_then(Value::as_u64),
        mark: mark.value(),
        print: state.and_then(|s| s.output.get().or(s.error.get())).map(|said| print(std::iter::once(said))),
    }
}

fn stands(tool: &str, state: &RawState<'_>) -> Stands {
    let data = state.metadata.0.as_ref();
    match state.status.or_empty() {
        "completed" | "error" if MALFORMED.contains(&tool) => Stands::Malformed,
        "completed" if data.is_some_and(|d| d.exit.0.is_some_and(|exit| exit != 0)) => Stands::BadExit,
        "completed" => Stands::Done,
        "error" if data.is_some_and(|d| d.interrupted.is_set()) => Stands::Interrupted,
        "error" if state.error.or_empty().contains(UNFIT) => Stands::Unfit,
        "error" => Stands::Failed,
        // `pending`, `running`, and words of later versions: as long as a call may be at work, nobody stalls.
        _ => Stands::Open,
    }
}

/// Reads a message with its parts; `None` where it is not a JSON object, or of an unknown role. `times` is `None` where
/// the store does not say.
pub(super) fn message(
    id: Option<&str>,
    times: Option<Times>,
    data: &str,
    parts: Vec<ReadPart>,
) -> Option<Message> {
    let Obj(Some(raw)) = serde_json::from_str::<Obj<RawMessage<'_>>>(data).ok()? else { return None };
    whole(id, times, &raw, parts)
}

fn whole(
    id: Option<&str>,
    times: Option<Times>,
    raw: &RawMessage<'_>,
    parts: Vec<ReadPart>,
) -> Option<Message> {
    let time = raw.time.0.as_ref();
    let completed = time.and_then(|t| millis(t.completed));
    let created = times.and_then(|t| t.created).or_else(|| millis(time?.created))?;
    let from = match raw.role.or_empty() {
        "assistant" => From::Model(Answer {
            to: raw.parent.get().map(str::to_owned),
            completed,
            finish: raw.finish.get().map(str::to_owned),
            failure: raw.error.0.as_ref().map(failure),
        }),
        "user" => asker(&parts),
        _ => return None,
    };
    let newest = parts.iter().filter_map(|p| p.newest).max();
    let updated = [times.map(|t| t.updated), completed, newest, Some(created)].into_iter().flatten().max()?;
    Some(Message {
        id: id.or(raw.id.get())?.to_owned(),
        created,
        updated,
        from,
        parts: parts.into_iter().map(|p| Part { at: p.part.at.max(created), ..p.part }).collect(),
    })
}

/// Whether a message that is not the model's asks for something. One without parts does: they come later.
fn asker(parts: &[ReadPart]) -> From {
    let has = |asks| parts.iter().any(|p| p.asks == asks);
    match () {
        () if has(Asks::Yes) || parts.is_empty() => From::Prompt,
        () => From::Note { wants_answer: has(Asks::Itself) },
    }
}

fn failure(raw: &RawError<'_>) -> Failure {
    let data = raw.data.0.as_ref();
    let said = data.and_then(|d| d.message.get()).unwrap_or_default();
    Failure {
        status: data.and_then(|d| d.status.status()),
        is_retryable: data.is_some_and(|d| d.is_retryable.is_set()),
        said: format!("{}: {said}", raw.name.get().unwrap_or("an error")),
    }
}

/// What a server lists of a session's messages. It does not say when a row last changed, so that only the times in them count:
/// silence may look longer than it is, which the stream then tells.
pub fn listed(messages: &[Value]) -> Rows {
    let mut rows = Rows::default();
    for entry in messages {
        let of = |key: &str| entry.get(key);
        let parts = of("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let parts: Vec<ReadPart> = parts
            .iter()
            .filter_map(|p| Obj::<RawPart<'_>>::deserialize(p).ok()?.0)
            .map(|p| told(None, None, &p))
            .collect();
        let info = of("info").and_then(|info| Obj::<RawMessage<'_>>::deserialize(info).ok()?.0);
        match info.and_then(|info| whole(None, None, &info, parts)) {
            Some(message) => rows.messages.push(message),
            None => rows.broken += 1,
        }
    }
    in_order(&mut rows);
    rows
}

/// Puts messages into the order of their times. Ids alone do not tell it: opencode's begin anew every two years.
pub(super) fn in_order(rows: &mut Rows) {
    rows.messages.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
}
