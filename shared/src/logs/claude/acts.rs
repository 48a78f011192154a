//! What one line of Claude Code says that the agent did.

use serde_json::Value;

use super::line::{Block, Message, Raw};
use super::{SYNTHETIC, tally};
use crate::logs::acts::{Act, Call, Does, Stop, brief, print};
use crate::logs::session::{Obj, Said};

/// What is told, and whether a subagent is told of.
type Tell<'t> = dyn FnMut(bool, Act<'_>) + 't;

/// Tells what a line says. A line that cannot be read says nothing.
pub(in crate::logs) fn acts(text: &str, tell: &mut Tell<'_>) {
    let Ok(Obj(Some(raw))) = serde_json::from_str::<Obj<Raw<'_>>>(text) else { return };
    let side = raw.is_side();
    let id = raw.session_of_file.get().or(raw.session_of_stdout.get());
    tell(side, Act::Session { id, cwd: raw.cwd.get() });
    match (raw.kind.or_empty(), &raw.message.0) {
        ("user", Some(message)) => user(&raw, message, side, tell),
        ("assistant", Some(message)) => assistant(&raw, message, side, tell),
        ("system", _) => match raw.subtype.or_empty() {
            "init" => tell(side, Act::Model { name: raw.model.get(), window: None }),
            "compact_boundary" => tell(side, Act::Compacted),
            _ => {}
        },
        ("result", _) => tell(side, Act::Over),
        _ => {}
    }
}

fn user(raw: &Raw<'_>, message: &Message<'_>, side: bool, tell: &mut Tell<'_>) {
    let mut is_answer = false;
    for block in message.content.blocks().iter().filter(|b| b.kind.get() == Some("tool_result")) {
        is_answer = true;
        let failed = block.is_error.is_set();
        let (id, malformed) = (block.tool_use_id.or_empty(), tally::is_malformed(block));
        tell(side, Act::Answered { id, failed: failed || malformed, malformed, print: whole(block) });
    }
    if is_answer || raw.is_summary.is_set() {
        return;
    }
    let Some(text) = message.texts().map(str::trim_start).find(|t| !t.is_empty()) else { return };
    if OVER.iter().any(|opening| text.starts_with(opening)) {
        tell(side, Act::Over);
    } else if !raw.is_meta.is_set() && !ASIDE.iter().any(|opening| text.starts_with(opening)) {
        tell(side, Act::Asked);
    }
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

fn assistant(raw: &Raw<'_>, message: &Message<'_>, side: bool, tell: &mut Tell<'_>) {
    // Where the program speaks in the model's place, it failed for good or has nothing to answer.
    if message.model.get() == Some(SYNTHETIC) || raw.is_api_error.is_set() {
        tell(side, Act::Over);
        return;
    }
    let call = message.id.get().or(raw.request.get()).or(raw.uuid.get()).unwrap_or_default();
    let stop = match message.stop_reason.get() {
        None => Stop::Unsaid,
        Some("tool_use" | "pause_turn") => Stop::ForTools,
        Some(_) => Stop::Done,
    };
    tell(side, Act::Spoke { call, stop });
    let used = tally::used(message);
    tell(side, Act::Used { call, model: message.model.or_empty(), used, context: used.context() });
    for block in message.content.blocks().iter().filter(|b| b.kind.get() == Some("tool_use")) {
        tool(block, side, tell);
    }
}

fn tool(block: &Block<'_>, side: bool, tell: &mut Tell<'_>) {
    let input = block.input.as_ref().unwrap_or(&Value::Null);
    let arguments = input.to_string();
    let file = tally::file_of(input);
    let name = block.name.or_empty();
    let does = match name {
        "Edit" | "Write" | "NotebookEdit" | "MultiEdit" => Does::Edits,
        "Read" => Does::Reads,
        "Grep" | "Glob" | "LS" | "NotebookRead" => Does::Looks,
        "AskUserQuestion" | "ExitPlanMode" => Does::Asks,
        _ => Does::Other,
    };
    let files: Vec<&str> = file.into_iter().collect();
    tell(
        side,
        Act::Called(Call {
            id: block.id.or_empty(),
            name,
            arguments: &arguments,
            does,
            files: &files,
            malformed: tally::is_unparsed(input),
            brief: brief(input).unwrap_or(&arguments),
        }),
    );
}
