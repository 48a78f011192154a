//! How an agent talks to a model: Claude Code in Anthropic's Messages, Codex in OpenAI's Responses, both as a stream of events.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::model::{Answer, FIRST, SECOND};

/// Who talks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    Claude,
    Codex,
}

/// An agent and the folder it works in.
#[derive(Debug, Clone)]
pub struct Tongue {
    pub agent: Agent,
    pub tree: PathBuf,
}

/// A name that nothing else has.
fn name(kind: &str) -> String {
    static NAMES: AtomicU32 = AtomicU32::new(0);
    format!("{kind}_{}", NAMES.fetch_add(1, Ordering::Relaxed))
}

/// One event of a stream.
fn event(mut fields: Value, kind: &str) -> String {
    fields["type"] = json!(kind);
    format!("event: {kind}\ndata: {fields}\n\n")
}

impl Tongue {
    /// What the agent was told, and how many of its tools have answered; `None` where it offers no tools.
    pub fn talk(&self, body: &Value) -> Option<(String, usize)> {
        body["tools"].as_array().filter(|tools| !tools.is_empty())?;
        let (said, answer) = match self.agent {
            Agent::Claude => ("messages", "tool_result"),
            Agent::Codex => ("input", "function_call_output"),
        };
        let mut prompt = Vec::new();
        let mut answers = 0;
        for item in body[said].as_array()? {
            answers += usize::from(item["type"] == answer);
            let is_user = item["role"] == "user";
            for part in item["content"].as_array().into_iter().flatten() {
                answers += usize::from(part["type"] == answer);
                prompt.extend(part["text"].as_str().filter(|_| is_user));
            }
            prompt.extend(item["content"].as_str().filter(|_| is_user));
        }
        Some((prompt.join("\n"), answers))
    }

    /// The same answer as this agent's provider would stream it.
    pub fn say(&self, body: &Value, answer: Answer) -> String {
        match self.agent {
            Agent::Claude => message(body, self.call(answer)),
            Agent::Codex => response(self.call(answer)),
        }
    }

    /// The tool an answer calls, with its arguments.
    fn call(&self, answer: Answer) -> Option<(&'static str, Value)> {
        let shell = |command: String| match self.agent {
            Agent::Claude => {
                ("Bash", json!({"command": command, "description": "go on", "timeout": 600_000}))
            }
            Agent::Codex => ("exec_command", json!({"cmd": command, "yield_time_ms": 30_000})),
        };
        match (answer, self.agent) {
            (Answer::First, Agent::Claude) => {
                Some(("Write", json!({"file_path": self.tree.join(FIRST), "content": "lit\n"})))
            }
            (Answer::First, Agent::Codex) => Some(shell(format!(
                "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {FIRST}\n+lit\n*** End Patch\nEOF\n"
            ))),
            (Answer::SecondSlowly, _) => Some(shell(format!("sleep 300 && echo lit >> {SECOND}"))),
            (Answer::Second, _) => Some(shell(format!("echo lit >> {SECOND}"))),
            (Answer::Complete, _) => {
                Some(shell("board complete \"$HERMES_KANBAN_TASK\" --summary 'both are lit'".into()))
            }
            (Answer::Over, _) => None,
        }
    }
}

fn message(body: &Value, call: Option<(&str, Value)>) -> String {
    let usage = json!({"input_tokens": 1_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 9_000,
        "output_tokens": 50});
    let start = json!({"message": {"id": name("msg"), "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}});
    let (stop, block, delta) = match call {
        Some((tool, input)) => (
            "tool_use",
            json!({"type": "tool_use", "id": name("toolu"), "name": tool, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
        ),
        None => (
            "end_turn",
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": "That is all."}),
        ),
    };
    let end = json!({"delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 50}});
    [
        event(start, "message_start"),
        event(json!({"index": 0, "content_block": block}), "content_block_start"),
        event(json!({"index": 0, "delta": delta}), "content_block_delta"),
        event(json!({"index": 0}), "content_block_stop"),
        event(end, "message_delta"),
        event(json!({}), "message_stop"),
    ]
    .concat()
}

fn response(call: Option<(&str, Value)>) -> String {
    let id = name("resp");
    let item = match call {
        Some((tool, arguments)) => json!({"type": "function_call", "id": name("fc"), "call_id": name("call"),
            "name": tool, "arguments": arguments.to_string()}),
        None => json!({"type": "message", "role": "assistant", "id": name("msg"),
            "content": [{"type": "output_text", "text": "That is all."}]}),
    };
    let usage = json!({"input_tokens": 10_000, "input_tokens_details": {"cached_tokens": 9_000}, "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 10_050});
    [
        event(json!({"response": {"id": id}}), "response.created"),
        event(json!({"output_index": 0, "item": item}), "response.output_item.done"),
        event(json!({"response": {"id": id, "usage": usage}}), "response.completed"),
    ]
    .concat()
}
