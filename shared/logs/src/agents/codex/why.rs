//! What the error of a turn means, by the class and the sentence Codex (0.169.0) has for it.

use serde_json::Value;

use base::cause::{self, Cause, of_http};

/// The cause, and the status where one is stated. Surely a failure, so it is `Unknown` where nothing says which.
pub(super) fn verdict(message: &str, info: &Value) -> (Cause, Option<u16>) {
    let (class, status) = class_of(info);
    let status = status.or_else(|| status_in(message));
    let by_words = of_words(message);
    let by_status = status.and_then(|s| of_http(s, message));
    let cause = match class.as_str() {
        "usage_limit_exceeded" => Some(Cause::Quota),
        "unauthorized" => Some(Cause::Credential),
        "server_overloaded" => Some(Cause::Overloaded),
        // The request was refused for what it is.
        "context_window_exceeded" | "cyber_policy" | "sandbox_error" => Some(Cause::Unknown),
        "internal_server_error" => by_status.or(by_words).or(Some(Cause::ServerError)),
        "http_connection_failed" | "response_stream_connection_failed" => {
            by_status.or(by_words).or(Some(Cause::ConnectionRefused))
        }
        "response_stream_disconnected" | "response_too_many_failed_attempts" => {
            by_status.or(by_words).or(Some(Cause::ServerError))
        }
        _ => by_status.or(by_words).or_else(|| cause::of_words(message).filter(|_| status.is_none())),
    };
    (cause.unwrap_or(Cause::Unknown), status)
}

/// `"usage_limit_exceeded"`, or `{"response_too_many_failed_attempts": {"http_status_code": 429}}`. The app server
/// writes the same names without underscores.
fn class_of(info: &Value) -> (String, Option<u16>) {
    match info {
        Value::String(class) => (snake(class), None),
        Value::Object(one) => {
            let Some((class, inner)) = one.iter().next() else { return (String::new(), None) };
            let status =
                ["http_status_code", "httpStatusCode"].iter().find_map(|key| inner.get(key)?.as_u64());
            (snake(class), status.and_then(|s| u16::try_from(s).ok()))
        }
        _ => (String::new(), None),
    }
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().take(64) {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// `exceeded retry limit, last status: 429 Too Many Requests`, `unexpected status 401 Unauthorized: ...`.
pub(crate) fn status_in(message: &str) -> Option<u16> {
    ["last status: ", "unexpected status "].iter().find_map(|opening| {
        let rest = message.split_once(opening)?.1;
        let ends = rest.get(3..)?.chars().next().is_none_or(|c| !c.is_ascii_alphanumeric());
        rest.get(..3)?.parse().ok().filter(|n| ends && (400..600).contains(n))
    })
}

/// The sentences of failures that carry no status.
pub(crate) fn of_words(message: &str) -> Option<Cause> {
    let lower = message.to_lowercase();
    let opens = |words: &[&str]| words.iter().any(|w| lower.starts_with(w));
    let says = |words: &[&str]| words.iter().any(|w| lower.contains(w));
    let is_used_up = opens(&[
        "you've hit your usage limit",
        "you've reached your usage limit",
        "you have reached your usage limit",
        "quota exceeded. check",
        "your workspace is out of credits",
    ]);
    if is_used_up || says(&["insufficient_quota", "exceeded your current quota"]) {
        Some(Cause::Quota)
    } else if opens(&["rate limit reached for "])
        || says(&["rate_limit_exceeded", ": rate limit reached for "])
    {
        of_http(429, message)
    } else if opens(&["selected model is at capacity", "we're currently experiencing high demand"]) {
        Some(Cause::Overloaded)
    } else if opens(&[
        "your access token could not be refreshed",
        "your authentication session could not be refreshed",
        "not logged in",
        "missing environment variable",
    ]) {
        Some(Cause::Credential)
    } else if opens(&["connection failed: "])
        || says(&["error sending request for url", "connection refused"])
    {
        Some(Cause::ConnectionRefused)
    } else if opens(&[
        "request timed out",
        "timeout waiting for child process",
        "stream disconnected before completion",
    ]) {
        Some(Cause::ServerError)
    } else {
        None
    }
}

/// The host of the first address in the message: `..., url: https://api.openai.com/v1/responses`.
pub(super) fn endpoint(message: &str) -> Option<String> {
    let rest = message.split_once("url: ").or_else(|| message.split_once("for url ("))?.1;
    let rest = rest.strip_prefix("https://").or_else(|| rest.strip_prefix("http://"))?;
    let host = rest.split(['/', '?', '#', ' ', ')', ',']).next()?;
    // A name and password before the host stay where they are.
    let host = host.rsplit('@').next()?;
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    (!host.is_empty() && host.len() <= 253 && host.chars().all(is_host)).then(|| host.to_owned())
}
