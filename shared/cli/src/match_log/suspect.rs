//! Which lines look like failures to a person. Only for showing them: nothing is ever decided by it.

use serde_json::Value;

use base::clip::clip;

/// Only so much of a line is looked at, in bytes.
const MAX_LINE: usize = 2_000;

const WORDS: [&str; 18] = [
    "429",
    "503",
    "529",
    "401 unauthorized",
    "402 payment",
    "403 forbidden",
    "rate limit",
    "rate_limit",
    "quota",
    "usage limit",
    "overloaded",
    "too many requests",
    "connection refused",
    "api error",
    "api key",
    "timed out",
    "error code:",
    "traceback (most recent call last)",
];

/// Whether a line no rule touched may be a failure all the same.
pub(super) fn looks_like_failure(format: &str, line: &str) -> bool {
    match format {
        // Below a line of its own, Hermes explains a failure with indented lines.
        "hermes" => !line.starts_with([' ', '\t', '│', '╭', '╰']) && in_text(line),
        "profile" | "plain" => in_text(line),
        // An agent's own log.
        _ => in_json(line),
    }
}

fn in_text(line: &str) -> bool {
    let lower = clip(line, MAX_LINE).to_lowercase();
    WORDS.iter().any(|word| stands_alone(&lower, word))
}

fn stands_alone(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(i, found)| {
        let before = text[..i].chars().next_back().is_some_and(is_part);
        let after = text[i + found.len()..].chars().next().is_some_and(is_part);
        !before && !after
    })
}

/// What the program itself marks as an error. Words in a conversation are no mark.
fn in_json(line: &str) -> bool {
    // Lines of conversation are long and not worth the parsing.
    let is_marked = line.contains("error");
    if line.len() > 64 * 1024 || (line.starts_with('{') && !is_marked) {
        return false;
    }
    let Ok(Value::Object(one)) = serde_json::from_str::<Value>(line) else { return in_text(line) };
    let has_error = |of: &serde_json::Map<String, Value>| {
        let word = |key: &str| of.get(key).and_then(Value::as_str).is_some_and(|w| w.contains("error"));
        of.get("error").is_some_and(|e| !e.is_null()) || word("type") || word("subtype")
    };
    has_error(&one) || one.get("payload").and_then(Value::as_object).is_some_and(has_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_worth_sending() {
        for (format, line, want) in [
            ("plain", "the server said 429 today", true),
            ("plain", "wrote 4290 bytes", false),
            ("plain", "all tests passed", false),
            ("hermes", "❌ Rate limit of a new kind", true),
            ("hermes", "   📝 Error: HTTP 429: x", false),
            ("claude", r#"{"type":"system","subtype":"api_error_of_a_new_kind"}"#, true),
            ("claude", r#"{"type":"user","message":{"content":"HTTP 429 error"}}"#, false),
            (
                "claude",
                r#"{"type":"user","message":{"content":[{"type":"tool_result","is_error":true}]}}"#,
                false,
            ),
            ("claude", "Error: 429 on stderr", true),
            ("codex", r#"{"type":"event_msg","payload":{"type":"new_error","message":"x"}}"#, true),
            ("codex", r#"{"type":"event_msg","payload":{"type":"token_count","error":null}}"#, false),
        ] {
            assert_eq!(looks_like_failure(format, line), want, "{format} {line}");
        }
        let long = format!("{}é429", "x".repeat(MAX_LINE - 1));
        assert!(!looks_like_failure("plain", &long));
    }
}
