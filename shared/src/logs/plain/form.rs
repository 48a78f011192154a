//! Which lines state a failure of an API, and say nothing else.

use serde_json::Value;

use super::{Cause, claude, codex, of_api_error, of_http};

/// Whether words with this cause may state when it ends.
pub(super) fn can_end(cause: Cause) -> bool {
    matches!(cause, Cause::RateLimit | Cause::Quota | Cause::Overloaded)
}

/// The cause and status of a line that states a failure.
pub(super) fn failure(line: &str) -> Option<(Cause, Option<u16>)> {
    if line.starts_with('{') {
        return of_json(line);
    }
    let (rest, level) = after_prefix(line);
    // A log that rates its lines says itself that this one is no failure.
    if level == Some(Level::Low) {
        return None;
    }
    of_status(rest, level.is_some()).or_else(|| of_sentence(rest)).or_else(|| of_exception(rest))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// Errors and warnings.
    High,
    /// What is only told.
    Low,
}

/// What stands behind a time, a level and a name: `2026-11-21 08:17:34,678 ERROR [api] `, `[08:17:34] error: `.
fn after_prefix(line: &str) -> (&str, Option<Level>) {
    let mut rest = line;
    let mut level = None;
    let mut is_dated = false;
    // A line of prose has no more than a few of these in a row.
    for _ in 0..6 {
        let word = rest.split(' ').next().unwrap_or_default();
        let bare = word.trim_matches(['[', ']', '(', ')', ':', '|', '-', '=', '>', ',']);
        let is_bracketed = word.starts_with('[') && (word.ends_with(']') || word.ends_with("]:"));
        let is_time = bare.starts_with(|c: char| c.is_ascii_digit())
            && bare.len() >= 8
            && bare
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | ',' | 'T' | 'Z' | '+' | '/'));
        let rated = match bare.to_ascii_lowercase().as_str() {
            "error" | "err" | "fatal" | "critical" | "warn" | "warning" | "level=error" | "level=warn" => {
                Some(Level::High)
            }
            "info" | "debug" | "trace" | "notice" | "level=info" | "level=debug" => Some(Level::Low),
            _ => None,
        };
        // `Error` alone may begin a sentence; a level is written large, or is set off.
        let is_set_off = word.ends_with([':', ']', '|']) || bare.chars().all(|c| !c.is_lowercase());
        let rated = rated.filter(|_| is_set_off || level.is_none() && is_dated || bare.contains('='));
        let is_prefix = is_time || is_bracketed || rated.is_some() || matches!(word, "-" | "|" | ":" | "—");
        is_dated |= is_time;
        if rest.get(..12).is_some_and(|start| start.eq_ignore_ascii_case("error code: ")) {
            break;
        }
        if !is_prefix {
            break;
        }
        level = level.or(rated);
        rest = rest[word.len()..].trim_start();
    }
    (rest, level)
}

/// `HTTP 429: ...`, `status 429`, `Error code: 429 - ...`, `429 Too Many Requests`, `API Error: 529 Overloaded`.
fn of_status(rest: &str, is_rated: bool) -> Option<(Cause, Option<u16>)> {
    const OPENINGS: [&str; 14] = [
        "Error: got status: ",
        "got status: ",
        "HTTP/1.1 ",
        "HTTP/2 ",
        "HTTP ",
        "Error code: ",
        "API Error: Request rejected (",
        "API Error: ",
        "Error: ",
        "status code: ",
        "status code ",
        "status: ",
        "status=",
        "status ",
    ];
    let (opening, behind) = OPENINGS
        .iter()
        .find_map(|o| {
            rest.get(..o.len()).filter(|start| start.eq_ignore_ascii_case(o)).map(|_| (*o, &rest[o.len()..]))
        })
        .unwrap_or(("", rest));
    let status: u16 = behind.get(..3)?.parse().ok().filter(|n| (400..600).contains(n))?;
    let words = &behind[3..];
    // `503 lines`: without an opening only the standard's own phrase will do; with one, a colon or the phrase.
    let phrase = phrase(status);
    let states = words.trim_start_matches([' ', ')', ':', '-', '—', '·']);
    let has_phrase = phrase.is_some_and(|p| states.get(..p.len()).is_some_and(|s| s.eq_ignore_ascii_case(p)));
    let has_sign = states.is_empty()
        || words.starts_with([':', ')'])
        || words.starts_with(" - ")
        || words.starts_with(" —");
    let has_body = states.starts_with('{');
    let fits = match opening {
        "" => has_phrase || (is_rated && has_body),
        "Error: " => has_phrase || has_body,
        _ => has_phrase || has_sign || has_body || states.to_lowercase().starts_with("overloaded"),
    };
    fits.then(|| of_any_http(status, states)).flatten()
}

/// The reason phrases of the statuses that say something here.
fn phrase(status: u16) -> Option<&'static str> {
    Some(match status {
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => return None,
    })
}

/// A status of who knows what: those that any server of any kind answers count only where the words are a
/// provider's.
fn of_any_http(status: u16, said: &str) -> Option<(Cause, Option<u16>)> {
    let lower = said.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|w| lower.contains(w));
    let is_a_providers = match status {
        401 | 403 => says(&[
            "api key",
            "api_key",
            "x-api-key",
            "oauth token",
            "billing",
            "account",
            "openai",
            "anthropic",
        ]),
        404 => says(&["model"]),
        400 => says(&["model", "api key", "billing", "credit"]),
        _ => true,
    };
    let cause = of_http(status, said).filter(|_| is_a_providers)?;
    Some((cause, Some(status)))
}

/// Sentences agents print when they give up, word for word.
fn of_sentence(rest: &str) -> Option<(Cause, Option<u16>)> {
    if claude::is_subscription_limit(rest) {
        return Some((Cause::Quota, None));
    }
    let rest = rest.strip_prefix("stream error: ").unwrap_or(rest);
    let opens = |words: &[&str]| words.iter().any(|w| rest.starts_with(w));
    if opens(&["API Error: Repeated 529 Overloaded"]) {
        return Some((Cause::Overloaded, Some(529)));
    }
    if let Some(status) =
        codex::status_in(rest).filter(|_| opens(&["exceeded retry limit, ", "unexpected status "]))
    {
        return of_http(status, rest).map(|cause| (cause, Some(status)));
    }
    let cause = if opens(&["API Error: Unable to connect to API"]) {
        Cause::ConnectionRefused
    } else if opens(&[
        "Invalid API key ·",
        "Not logged in · Please run /login",
        "OAuth token revoked · Please run /login",
    ]) {
        Cause::Credential
    } else if opens(&["Credit balance is too low"]) {
        Cause::Quota
    } else if opens(&[
        "You've hit your usage limit",
        "Quota exceeded. Check your plan",
        "Selected model is at capacity",
    ]) {
        codex::of_words(rest)?
    } else {
        return None;
    };
    Some((cause, claude::status_in(rest)))
}

/// The last line of a Python or JavaScript stack trace: `openai.RateLimitError: Error code: 429 - {...}`.
fn of_exception(rest: &str) -> Option<(Cause, Option<u16>)> {
    let (class, said) = rest.split_once(": ")?;
    let is_dotted = class.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
    let name = class.rsplit('.').next()?;
    if !is_dotted || !name.ends_with("Error") || name == "Error" {
        return None;
    }
    let (by_name, _) = of_api_error(name).or_else(|| {
        let is_an_sdks = matches!(name, "APIStatusError" | "APIError" | "BadRequestError");
        is_an_sdks.then_some((Cause::Unknown, None))
    })?;
    match of_status(said, false) {
        Some(found) => Some(found),
        None if by_name == Cause::Unknown => None,
        // `ConnectError` and `NotFoundError` are names other libraries have, too.
        None if name.starts_with("API")
            || class.starts_with("openai.")
            || class.starts_with("anthropic.") =>
        {
            Some((by_name, None))
        }
        None if matches!(by_name, Cause::RateLimit | Cause::Overloaded) => Some((by_name, None)),
        None => None,
    }
}

/// A line of a structured log: an error with a status.
fn of_json(line: &str) -> Option<(Cause, Option<u16>)> {
    let whole: Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| whole.get(key).and_then(Value::as_str);
    let level = text("level").or_else(|| text("severity")).or_else(|| text("type"))?;
    if !matches!(level.to_ascii_lowercase().as_str(), "error" | "fatal" | "critical" | "err") {
        return None;
    }
    let inner = whole.get("error").filter(|e| e.is_object()).unwrap_or(&whole);
    let status =
        |of: &Value| ["status", "status_code", "statusCode"].iter().find_map(|k| of.get(k)?.as_u64());
    let status = status(inner).or_else(|| status(&whole)).and_then(|s| u16::try_from(s).ok())?;
    let said = inner.get("message").or_else(|| whole.get("msg")).and_then(Value::as_str).unwrap_or_default();
    of_any_http(status, said)
}
