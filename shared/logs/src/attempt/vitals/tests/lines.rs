//! A transcript of Claude Code, made call by call. Each line is written a second after the one before it.

use serde_json::{Value, json};

use base::time::Time;

#[derive(Clone)]
pub(super) struct Log {
    all: Vec<Value>,
    at: i64,
    calls: u64,
    /// New input of each API call.
    pub(super) tokens: u64,
    /// Input of each API call that was cached.
    pub(super) context: u64,
}

impl Log {
    pub(super) const BEGAN: Time = Time(1_795_250_000);

    pub(super) fn new() -> Log {
        let mut log = Log { all: Vec::new(), at: Self::BEGAN.0, calls: 0, tokens: 10, context: 1_000 };
        log.user("do the thing");
        log
    }

    pub(super) fn skip(&mut self, seconds: i64) {
        self.at += seconds;
    }

    pub(super) fn line(&mut self, mut line: Value) {
        self.at += 1;
        line["timestamp"] = json!(Time(self.at).to_string());
        line["sessionId"] = json!("s1");
        line["cwd"] = json!("/w0");
        self.all.push(line);
    }

    pub(super) fn user(&mut self, text: &str) {
        self.line(json!({"type": "user", "message": {"role": "user", "content": text}}));
    }

    fn answer(&mut self, content: Value, stop: Option<&str>) {
        let usage =
            json!({"input_tokens": self.tokens, "cache_read_input_tokens": self.context, "output_tokens": 0});
        let id = format!("m{}", self.all.len());
        self.line(
            json!({"type": "assistant", "message": {"id": id, "model": "claude-opus-4-8", "stop_reason": stop,
            "content": [content], "usage": usage}}),
        );
    }

    pub(super) fn says(&mut self, text: &str, stop: Option<&str>) {
        self.answer(json!({"type": "text", "text": text}), stop);
    }

    /// A call without an answer.
    pub(super) fn calls(&mut self, tool: &str, input: Value) {
        self.calls += 1;
        let call =
            json!({"type": "tool_use", "id": format!("t{}", self.calls), "name": tool, "input": input});
        self.answer(call, Some("tool_use"));
    }

    pub(super) fn call(&mut self, tool: &str, input: Value, said: Result<&str, &str>) {
        self.calls(tool, input);
        let id = format!("t{}", self.calls);
        let (text, failed) = match said {
            Ok(text) => (text, false),
            Err(text) => (text, true),
        };
        self.line(json!({"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}]}}));
    }

    pub(super) fn all(&self) -> &[Value] {
        &self.all
    }

    pub(super) fn text(&self) -> String {
        self.all.iter().map(|l| format!("{l}\n")).collect()
    }
}

/// A session with so many calls.
pub(super) fn session(calls: u64) -> Log {
    let mut log = Log::new();
    (0..calls).for_each(|n| log.call("Bash", json!({"command": "ls", "n": n}), Ok("x")));
    log
}
