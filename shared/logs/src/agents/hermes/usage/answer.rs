//! What a tool of Hermes answered, as far as it tells whether the call failed.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Whether a call failed. The rules are those of Hermes itself (`agent/display.py`, `_detect_tool_failure`), but for one: a text
/// that merely contains the word "error" is not a failure here, since a file that is read may hold it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) has_failed: bool,
    /// The runtime could not use the call: no JSON, no object, no such tool.
    pub(super) is_malformed: bool,
    /// It stands for an answer, and says that the same was asked before, and how often.
    pub(super) is_same_again: bool,
}

/// What of an answer in JSON is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    exit_code: Option<Value>,
    error: Option<Value>,
    success: Option<Value>,
    message: Option<Value>,
    /// The runtime refused to do again what was just done (0.22).
    guardrail_refusal: Option<Value>,
    /// The same, of any tool.
    guardrail: Option<IgnoredAny>,
    /// `unchanged`: the file is as it was when it was read last.
    status: Option<Value>,
    /// A file was written.
    bytes_written: Option<IgnoredAny>,
}

impl Answer {
    /// What the content of a row with the role `tool` says.
    pub(super) fn of(content: &str) -> Answer {
        // Hermes may write words of its own behind the JSON.
        let said = serde_json::Deserializer::from_str(content).into_iter::<Said>().next();
        match said {
            Some(Ok(said)) if content.trim_start().starts_with('{') => said.answer(),
            _ => Answer::of_text(content),
        }
    }

    fn of_text(text: &str) -> Answer {
        let is_malformed = text.starts_with("Tool call rejected: the tool name was empty")
            || (text.starts_with("Tool '") && text.contains("' does not exist"))
            || text.starts_with("Error: Invalid JSON arguments");
        Answer { has_failed: is_malformed || text.starts_with("Error"), is_malformed, is_same_again: false }
    }
}

/// An answer without the words that Hermes writes behind it to a tool called again and again: they hold a count.
pub(super) fn without_advice(content: &str) -> &str {
    content.rfind("\n\n[Tool loop ").map_or(content, |at| &content[..at])
}

impl Said {
    fn answer(&self) -> Answer {
        let is = |value: &Option<Value>, what: bool| value.as_ref().and_then(Value::as_bool) == Some(what);
        let text =
            |value: &Option<Value>| value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_refused = is(&self.guardrail_refusal, true);
        let is_same_again = is_refused
            || self.guardrail.is_some()
            || text(&self.status) == "unchanged"
            || text(&self.error).starts_with("BLOCKED: You have ");
        if is_refused {
            return Answer { is_same_again, ..Answer::default() };
        }
        let exit = self.exit_code.as_ref().and_then(Value::as_i64);
        let (fails, has_error) = (is(&self.success, false), is_said(&self.error));
        let has_failed = match exit {
            Some(code) => code != 0,
            None => has_error || (fails && is_said(&self.message) && self.bytes_written.is_none()),
        };
        let is_malformed = text(&self.error) == "Invalid tool arguments";
        Answer { has_failed, is_malformed, is_same_again }
    }
}

/// Whether a value is one that Python takes for true.
fn is_said(value: &Option<Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(all)) => !all.is_empty(),
        Some(Value::Object(all)) => !all.is_empty(),
        Some(Value::Number(n)) => n.as_f64() != Some(0.0),
        Some(Value::Bool(true)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_fail_as_hermes_says_they_do() {
        let well = Answer::default();
        let fails = Answer { has_failed: true, ..well };
        let broken = Answer { is_malformed: true, ..fails };
        let again = Answer { is_same_again: true, ..well };
        for (content, want) in [
            (r#"{"output": "step 1", "exit_code": 0, "error": null}"#, well),
            (r#"{"output": "no", "exit_code": 2, "error": null}"#, fails),
            (r#"{"output": "", "exit_code": -1, "error": "timed out"}"#, fails),
            ("{\"output\": \"no\", \"exit_code\": 1}\n\n[Tool loop warning: again]", fails),
            (r#"{"content": "1|{\"error\": \"failed\"}", "total_lines": 1}"#, well),
            (r#"{"content": "", "error": "File not found: x"}"#, fails),
            (r#"{"success": false, "message": "no"}"#, fails),
            (r#"{"success": true, "diff": "..."}"#, well),
            (r#"{"bytes_written": 4, "lint": {"status": "error"}}"#, well),
            (r#"{"guardrail_refusal": true, "error": "BLOCKED"}"#, again),
            (r#"{"status": "unchanged", "dedup": true}"#, again),
            (
                r#"{"error": "BLOCKED: You have called read_file on this exact region 3 times"}"#,
                Answer { is_same_again: true, ..fails },
            ),
            (r#"{"error": "no", "guardrail": {"count": 3}}"#, Answer { is_same_again: true, ..fails }),
            ("Error executing tool: boom", fails),
            ("a page that speaks of an Error", well),
            ("Tool 'fly' does not exist. Available tools: patch", broken),
            ("Tool call rejected: the tool name was empty. If", broken),
            ("Error: Invalid JSON arguments. Expecting value.", broken),
            (r#"{"error": "Invalid tool arguments", "message": "Tool arguments must be a valid"}"#, broken),
            ("", well),
            ("[1, 2]", well),
            (r#"{"exit_code": "x", "error": 0, "success": 3}"#, well),
            (r#"{"output": "torn"#, well),
        ] {
            assert_eq!(Answer::of(content), want, "{content}");
        }
    }
}
