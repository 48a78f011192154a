//! Which lines state a failure of an API, and say nothing else.

use serde_json::Value;

use super::Cause;
use crate::agents::{claude, codex};
use base::cause::{
    names_a_model_api, names_a_provider, of_class, of_class_name, of_failure, of_http, of_words,
    reads_as_refusal, stated, stated_at_start,
};

/// Texts of which no telling line has none. Most lines have none of them, and looking for these is all they cost.
const NEEDLES: [&str; 10] =
    ["rror", "RRO", "xception", "imit", "tatus", "HTTP", "Exhausted", "uota", "logged in", "onnection re"];
/// The same at the start of a line.
const OPENINGS: [&str; 8] = [
    "Invalid API key",
    "OAuth token",
    "Credit balance",
    "Selected model",
    "There's an issue",
    "You're out of ",
    "You’re out of ",
    "Your ",
];

/// How opencode's own provider refuses.
const LATER: &str = "Rate limit exceeded. Please try again later.";

/// Whether a line may state a failure, without a closer look.
pub(super) fn may_tell(line: &str) -> bool {
    let first = line.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    first.starts_with(['4', '5'])
        || NEEDLES.iter().any(|n| line.contains(n))
        || OPENINGS.iter().any(|o| first.starts_with(o))
        || line.contains("disabled Claude")
        || line.contains("capacity")
        // Its words are known once its colours are taken away.
        || line.contains('\u{1b}')
}

/// The cause and status of a text that states a failure: one line, or that and what is indented beneath it.
pub(super) fn failure(text: &str) -> Option<(Cause, Option<u16>)> {
    if text.starts_with('{') {
        return of_json(text);
    }
    if is_quoted(text) {
        return None;
    }
    let (rest, level) = after_prefix(text);
    let level = level.or_else(|| level_field(text));
    // A log that rates its lines says itself that this one is not a failure, or not one that ended anything.
    if level == Some(Level::Low) {
        return None;
    }
    if level == Some(Level::High) && rest.starts_with('{') {
        return of_json(rest);
    }
    let rest = behind_report(rest);
    if level.is_none() && is_about_status(rest) {
        return None;
    }
    of_status(rest, level.is_some())
        .or_else(|| of_sentence(rest))
        .or_else(|| of_exception(rest))
        .or_else(|| if level == Some(Level::High) { of_error_line(rest) } else { None })
        .or_else(|| of_later(text, rest))
        .or_else(|| of_marked(rest))
}

/// What Gemini CLI says behind the path of its report (gemini-cli, `reportError`): `TerminalQuotaError: ...`.
fn behind_report(rest: &str) -> &str {
    let report = ["Error when talking to Gemini API", "Error generating content via API."]
        .iter()
        .find_map(|o| rest.strip_prefix(o)?.strip_prefix(" Full report available at: "));
    report.and_then(|r| r.split_once(".json ")).map_or(rest, |(_, said)| said)
}

/// Whether a sentence that began with a status or a class goes on in a person's words: `HTTP 429: returned as the ticket asked`.
fn is_told(words: &str) -> bool {
    const TELLING: [&str; 15] = [
        "I",
        "is",
        "was",
        "are",
        "were",
        "now",
        "returned",
        "handled",
        "caught",
        "swallowed",
        "retried",
        "fixed",
        "added",
        "documented",
        "covered",
    ];
    let words = words.trim_start();
    // `missing API key now shows the login form`
    let is_of_now = words.starts_with(|c: char| c.is_ascii_lowercase()) && words.contains(" now ");
    is_of_now || TELLING.contains(&words.split([' ', ',', '.', ';']).next().unwrap_or_default())
}

/// A person's sentence about a status: `HTTP 429: the client backs off.` It begins with a small letter, and nothing in it speaks of
/// a failure.
fn is_about_status(rest: &str) -> bool {
    const SIGNS: [&str; 12] = [
        "error",
        "fail",
        "exceed",
        "limit",
        "throttl",
        "slow down",
        "again",
        "retry after",
        "retry in",
        "please",
        "wait",
        "upstream",
    ];
    let behind = rest.strip_prefix("HTTP ").and_then(|r| r.split_once(": "));
    let Some((_, words)) = behind.filter(|(status, _)| status.len() == 3) else { return false };
    let first = words.split(" ¦ ").next().unwrap_or_default();
    let is_a_sentence =
        first.starts_with(|c: char| c.is_ascii_lowercase()) && first.split_whitespace().count() > 3;
    let speaks_of_failure = || SIGNS.iter().any(|s| first.contains(s)) || of_words(first).is_some();
    is_told(words) || is_a_sentence && !speaks_of_failure()
}

/// `Error: Rate limit exceeded. Please try again later.`, and no more: what `opencode run` prints of a refusal of its own provider
/// (opencode #46407).
fn of_later(text: &str, rest: &str) -> Option<(Cause, Option<u16>)> {
    let is_error = text.strip_suffix(rest)?.trim_end().ends_with("Error:");
    (is_error && is_later(rest)).then_some((Cause::RateLimit, None))
}

/// Whether it says [`LATER`] and no more.
fn is_later(said: &str) -> bool {
    said.split(" ¦ ").next().is_some_and(|first| first.trim_end() == LATER)
}

/// The level of a line of `key=value` pairs.
fn level_field(text: &str) -> Option<Level> {
    let value = text.split_once(" level=")?.1.split(' ').next()?.to_ascii_lowercase();
    Some(if matches!(value.as_str(), "error" | "fatal") { Level::High } else { Level::Low })
}

/// Reports of tests, places in files, and what a tool says under its own name.
fn is_quoted(line: &str) -> bool {
    const TOOLS: [&str; 10] = [
        "E  ",
        "FAILED ",
        "FAIL",
        "--- ",
        "npm ",
        "fatal: ",
        "test ",
        "tests/",
        "error[",
        "Error response from daemon",
    ];
    let first = line.split([' ', '\t']).next().unwrap_or_default();
    // A row of a table, an item of a list.
    if line.starts_with(['|', '-', '*', '#', '>', '+', '`']) {
        return true;
    }
    // `src/client.py:41:    raise ...`, `19:503 Service Unavailable`
    let mut parts = first.split(':');
    let (file, line_number) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let is_place = parts.next().is_some() && file.contains('.') && is_number(line_number);
    TOOLS.iter().any(|t| line.starts_with(t)) || is_place
}

/// Whether a line is of what a test runner prints once its tests are over (pytest, unittest, cargo test, go test, jest, vitest): a failure
/// above it was the output of a test.
pub(super) fn sums_up_tests(line: &str) -> bool {
    let line = line.trim();
    let opens = |words: &[&str]| words.iter().any(|w| line.starts_with(w));
    let of_file = || opens(&["FAILED ", "ERROR "]) && line.contains(".py::");
    let of_cargo = || {
        opens(&["test result: ok.", "test result: FAILED.", "error: test failed, to rerun pass "])
            || line.starts_with("Summary [")
                && (line.contains(" tests run: ") || line.contains(" test run: "))
    };
    let of_go = || {
        let mut all = line.split_whitespace();
        let (word, took) = (all.next(), all.nth(1).unwrap_or_default());
        let is_package = matches!(word, Some("FAIL" | "ok"))
            && (is_seconds(took) || matches!(took, "(cached)" | "[build" | "[setup"));
        line == "FAIL" || line.starts_with("--- FAIL: ") || is_package
    };
    let of_node = || {
        opens(&["Tests: ", "Test Suites: "]) && line.ends_with(" total")
            || opens(&["Tests  ", "Test Files  "]) && line.ends_with(')')
    };
    let of_unittest = || {
        opens(&["FAILED (failures=", "FAILED (errors="])
            || line.strip_prefix("Ran ").is_some_and(|rest| counts_tests(rest, &["test", "tests"]))
    };
    let of_pytest = || {
        const ENDS: [&str; 12] = [
            "failed",
            "passed",
            "skipped",
            "error",
            "errors",
            "warning",
            "warnings",
            "deselected",
            "xfailed",
            "xpassed",
            "rerun",
            "subtests",
        ];
        counts_tests(line.trim_matches(['=', ' ']), &ENDS)
    };
    of_file() || of_cargo() || of_go() || of_node() || of_unittest() || of_pytest()
}

/// `1 failed, 3 passed in 2.10s (0:01:02)`: numbers, each of one of these words, and the seconds they took.
fn counts_tests(text: &str, what: &[&str]) -> bool {
    let Some((counts, took)) = text.split_once(" in ") else { return false };
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    took.split(' ').next().is_some_and(is_seconds)
        && counts
            .split(", ")
            .all(|c| c.split_once(' ').is_some_and(|(n, w)| is_number(n) && what.contains(&w)))
}

/// `2.10s`.
fn is_seconds(word: &str) -> bool {
    word.strip_suffix('s').is_some_and(|s| s.parse::<f64>().is_ok())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// Errors.
    High,
    /// What is only told, and warnings: what was tried again.
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
            "error" | "erro" | "err" | "fatal" | "critical" | "level=error" => Some(Level::High),
            "warn" | "warning" | "info" | "debug" | "trace" | "notice" => Some(Level::Low),
            "level=warn" | "level=info" | "level=debug" => Some(Level::Low),
            _ => None,
        };
        // `Error` alone may begin a sentence; a level is written large, or is set off.
        let is_set_off = word.ends_with([':', ']', '|']) || bare.chars().all(|c| !c.is_lowercase());
        // `ERROR:app.client:words`, as Python's own loggers write it.
        let joined = word.split_once(':').filter(|(level, _)| matches!(*level, "ERROR" | "CRITICAL"));
        if let Some((_, behind)) = joined.filter(|(_, behind)| !behind.is_empty()) {
            let skipped = word.len() - behind.len() + behind.find(':').map_or(0, |at| at + 1);
            return (rest[skipped..].trim_start(), Some(Level::High));
        }
        let rated = rated.filter(|_| is_set_off || level.is_none() && is_dated || bare.contains('='));
        let is_glyph =
            !word.is_empty() && word.chars().all(|c| !c.is_alphanumeric() && !matches!(c, '{' | '[' | '"'));
        let is_prefix = is_time
            || is_bracketed
            || rated.is_some()
            || is_glyph && !word.starts_with(['+', '>', '`', '*', '#']);
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
    let after_phrase = phrase.and_then(|p| {
        let starts = states.get(..p.len()).is_some_and(|s| s.eq_ignore_ascii_case(p));
        starts.then(|| states[p.len()..].trim_start())
    });
    // `429 Too Many Requests is what the limiter answers` goes on with a sentence.
    let has_phrase = after_phrase.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_lowercase()));
    let has_sign = states.is_empty()
        || words.starts_with([':', ')'])
        || words.starts_with(" - ")
        || words.starts_with(" —");
    let has_body = states.starts_with(['{', '"']);
    let fits = match opening {
        "" => has_phrase || (is_rated && has_body),
        "Error: " => has_phrase || has_body,
        _ => has_phrase || has_sign || has_body || states.to_lowercase().starts_with("overloaded"),
    };
    let fits = fits && !is_told(states);
    fits.then(|| of_any_http(status, states)).flatten().filter(|_| !is_anothers(rest))
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
        401 | 403 => {
            says(&["api key", "api_key", "x-api-key", "oauth token", "billing", "account"])
                || names_a_provider(said)
        }
        404 => says(&["model"]),
        400 => says(&["model", "api key", "billing", "credit"]),
        _ => true,
    } || reads_as_refusal(said);
    let cause = of_http(status, said).filter(|_| is_a_providers)?;
    Some((cause, Some(status)))
}

/// Sentences agents print when they give up, word for word.
fn of_sentence(rest: &str) -> Option<(Cause, Option<u16>)> {
    if claude::is_subscription_limit(rest) {
        return Some((Cause::Quota, None));
    }
    if let Some(found) = of_limit(rest) {
        return Some(found);
    }
    let rest = rest.strip_prefix("stream error: ").unwrap_or(rest);
    let opens = |words: &[&str]| words.iter().any(|w| rest.starts_with(w));
    if let Some(words) = behind_api_error(rest) {
        return of_failure(words);
    }
    if let Some(status) =
        codex::status_in(rest).filter(|_| opens(&["exceeded retry limit, ", "unexpected status "]))
    {
        return of_http(status, rest).map(|cause| (cause, Some(status)));
    }
    let goes_on = |opening: &str| {
        let behind = rest.strip_prefix(opening)?;
        (!behind.starts_with(" is ")).then_some(())
    };
    // `Invalid API key · Please run /login is the message` goes on with a sentence.
    let is_quoted = rest
        .split_once("/login")
        .is_some_and(|(_, behind)| behind.trim_start().starts_with(|c: char| c.is_ascii_lowercase()));
    let cause = if is_quoted {
        return None;
    } else if opens(&[
        "Invalid API key ·",
        "Not logged in · Please run /login",
        "OAuth token revoked · Please run /login",
        "Your organization has disabled Claude subscription access",
        // claude-code #47130, #29905.
        "Your organization does not have access to Claude.",
        "Your account does not have access to Claude",
    ]) {
        Cause::Credential
    } else if opens(&["There's an issue with the selected model ("]) {
        Cause::ModelMissing
    } else if opens(&["Credit balance is too low"]) {
        Cause::Quota
    } else if ["You've hit your usage limit", "You have reached your usage limit"]
        .iter()
        .any(|o| goes_on(o).is_some())
        || opens(&[
            "Quota exceeded. Check your plan",
            "Selected model is at capacity",
            "stream disconnected before",
            "Your access token could not be refreshed",
            "Your authentication session could not be refreshed",
            "Your workspace is out of credits",
        ])
    {
        codex::of_words(rest)?
    } else {
        return None;
    };
    Some((cause, claude::status_in(rest)))
}

/// Limits without a status, in sentences with which an agent gives up: of GitHub Copilot CLI (copilot-cli #2144, #2336), of opencode
/// (opencode #42925, #46407, #47129) and of goose (goose #2262, `providers/errors.rs`).
fn of_limit(rest: &str) -> Option<(Cause, Option<u16>)> {
    let is_copilots = rest
        .starts_with("Sorry, you've hit a rate limit that restricts the number of Copilot model requests");
    let is_opencodes = rest
        .strip_prefix("Error from provider (")
        .and_then(|r| r.split_once("): "))
        .is_some_and(|(_, said)| is_later(said));
    let gooses = rest.strip_prefix("Ran into this error: ");
    let said = gooses.unwrap_or(rest).strip_prefix("Rate limit exceeded: ");
    // Others have the same words, so these need one of the two signs of goose.
    let is_gooses = said.is_some_and(|said| gooses.is_some() && !is_told(said) || stated(said) == Some(429));
    if is_copilots || is_opencodes || is_gooses {
        let status = said.and_then(stated);
        return of_http(429, rest).map(|cause| (cause, status));
    }
    None
}

/// What a program says behind its own `API Error: `, which Claude Code puts after another sentence where a login helps (claude-code
/// #54863, #74714).
fn behind_api_error(rest: &str) -> Option<&str> {
    let login = ["Failed to authenticate. ", "Please run /login · "];
    let rest = login.iter().find_map(|o| rest.strip_prefix(o)).unwrap_or(rest);
    let rest = rest.strip_prefix('[').unwrap_or(rest);
    ["API Error: ", "API error: ", "API error occurred: "].iter().find_map(|o| rest.strip_prefix(o))
}

/// The last line of a Python or JavaScript stack trace: `openai.RateLimitError: Error code: 429 - {...}`,
/// `RetryError [AI_RetryError]: ...`, `[GoogleGenerativeAI Error]: ...`.
fn of_exception(rest: &str) -> Option<(Cause, Option<u16>)> {
    let (class, said) = rest.split_once(": ")?;
    let class = class.split_once(" [").map_or(class, |(name, _)| name);
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    // A class has no blanks, but for `[GoogleGenerativeAI Error]` and `OpenAI API error`.
    let is_set_off = class.starts_with('[') && class.ends_with("rror]");
    let is_class = class.chars().all(is_name) || is_set_off || is_heading(class);
    let name = class.rsplit('.').next()?;
    if !is_class || class.len() > 80 || is_told(said) || Whose::of(class, name, said) == Whose::Anothers {
        return None;
    }
    // `404 models/x is not found`: a class and a status in one.
    let first =
        || said.get(..3)?.parse().ok().filter(|n| (400..600).contains(n) && said[3..].starts_with(' '));
    let status = stated(said).or_else(first);
    let by_status = || status.and_then(|s| of_http(s, said));
    // Gemini CLI gave up after its last try: no quota of a day, whatever it says.
    let of_last_try = || {
        let lacks_capacity = said.contains("No capacity") || of_words(said) == Some(Cause::Overloaded);
        let cause = if lacks_capacity { Cause::Overloaded } else { Cause::RateLimit };
        (name == "RetryableQuotaError").then_some(cause)
    };
    let cause = of_last_try()
        .or_else(by_status)
        .or_else(|| of_class(name, said))
        .or_else(|| of_words(said).filter(|_| status.is_none()))?;
    Some((cause, status))
}

/// `OpenAI API error`, `Azure OpenAI error`: a provider, and that it failed.
fn is_heading(text: &str) -> bool {
    let of_api = text.strip_suffix(" API error").or_else(|| text.strip_suffix(" API Error"));
    let large = || text.strip_suffix(" error").filter(|t| t.starts_with(|c: char| c.is_ascii_uppercase()));
    let is_of_name =
        |w: &str| names_a_provider(w) || matches!(w, "Google" | "Amazon" | "AWS" | "Vertex" | "AI");
    of_api.or_else(large).is_some_and(|p| p.split(' ').all(is_of_name) && names_a_provider(p))
}

/// Whose exception it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Of a provider's SDK, or of a library that speaks to providers alone.
    Providers,
    Anothers,
}

impl Whose {
    fn of(class: &str, name: &str, said: &str) -> Whose {
        const SDKS: [&str; 10] = [
            "openai",
            "anthropic",
            "groq",
            "mistralai",
            "litellm",
            "ollama",
            "cohere",
            "httpx",
            "httpcore",
            "together",
        ];
        // They serve other interfaces as well.
        const LIBRARIES: [&str; 6] =
            ["google", "botocore", "requests", "urllib3", "aiohttp", "langchain_community"];
        // Of opencode, of Gemini CLI (`googleQuotaErrors.ts`) and of opencode's own provider (opencode2dsh #5).
        const NAMES_OF_ONE: [&str; 5] = [
            "ProviderModelNotFoundError",
            "TerminalQuotaError",
            "RetryableQuotaError",
            "FreeUsageLimitError",
            "GoUsageLimitError",
        ];
        const NAMES: [&str; 13] = [
            "RateLimitError",
            "AuthenticationError",
            "PermissionDeniedError",
            "NotFoundError",
            "BadRequestError",
            "InternalServerError",
            "APIError",
            "APIStatusError",
            "RetryError",
            "SDKError",
            "OpenAIError",
            "EventStreamError",
            "InsufficientQuotaError",
        ];
        let root = class.split('.').next().unwrap_or_default();
        let names_one = || names_a_model_api(said) || reads_as_refusal(said);
        // What every SDK is built on asks others, too.
        let is_http = root.starts_with("http") && said.contains("://");
        let is_sdks = SDKS.contains(&root) && class.contains('.') && !is_http
            || class.starts_with("google.gen")
            || name.starts_with("API") && name.ends_with("Error")
            || name.starts_with("AI_")
            || NAMES_OF_ONE.contains(&class)
            || said.starts_with("API error occurred: ")
            || class.ends_with("rror") && names_a_provider(class)
            || class == "[GoogleGenerativeAI Error]";
        let may_be = LIBRARIES.contains(&root)
            || NAMES.contains(&class)
            || class.ends_with("Exception") && class == name;
        let is_aws = root == "botocore" || class == name && name.ends_with("Exception");
        if is_aws && let Some(asks_a_model) = of_aws(said) {
            return if asks_a_model { Whose::Providers } else { Whose::Anothers };
        }
        let is_key = is_aws && of_words(said) == Some(Cause::Credential);
        if is_sdks || is_key || may_be && names_one() { Whose::Providers } else { Whose::Anothers }
    }
}

/// Whether the operation of AWS that failed asks a model; `None` where none is named.
fn of_aws(said: &str) -> Option<bool> {
    let operation = said.split_once("when calling the ")?.1.split(' ').next()?;
    Some(operation.starts_with("Invoke") || operation.starts_with("Converse"))
}

/// A line that its log rates as an error: with the failure in a field (`err="No auth credentials found"`), or in words that name a
/// provider.
fn of_error_line(rest: &str) -> Option<(Cause, Option<u16>)> {
    let value = [" err=", " error=", "error.error="].iter().find_map(|key| {
        let value = rest.split_once(key)?.1.trim_start_matches('"');
        of_exception(value).or_else(|| of_failure(value).filter(|_| reads_as_refusal(value)))
    });
    let by_name = || rest.find("AI_").and_then(|at| of_exception(&rest[at..]));
    value
        .or_else(by_name)
        .or_else(|| of_failure(rest).filter(|_| names_a_provider(rest) && !is_anothers(rest)))
}

/// Whether it has addresses, and none of an interface of models.
fn is_anothers(text: &str) -> bool {
    text.contains("://") && !names_a_model_api(text)
}

/// A status, or words of a refusal, somewhere in a line that names an interface of models.
fn of_marked(rest: &str) -> Option<(Cause, Option<u16>)> {
    // `app:ERROR: retry.py:75 - litellm.RateLimitError: ...`
    let after = |separator: &str| {
        let mut places = rest.match_indices(separator);
        places
            .by_ref()
            .take(8)
            .find_map(|(at, s)| of_exception(&rest[at + s.len()..]).filter(|_| !is_anothers(rest)))
    };
    if let Some(found) = after(" - ").or_else(|| after(": ")) {
        return Some(found);
    }
    let is_a_providers = || {
        !is_anothers(rest)
            && (names_a_model_api(rest) || reads_as_refusal(rest) || rest.contains(" - {'error'"))
    };
    if let Some(status) = stated(rest).filter(|_| is_a_providers()) {
        let is_bare = stated_at_start(rest).is_some();
        let fits = !is_bare || of_words(rest).is_some();
        return of_http(status, rest).filter(|_| fits).map(|cause| (cause, Some(status)));
    }
    if of_aws(rest) == Some(true) {
        return of_class_name(rest).map(|cause| (cause, None));
    }
    let is_announced =
        ["Error: ", "error, ", "Post \"", "Unexpected error: "].iter().any(|o| rest.starts_with(o));
    (is_announced && (names_a_provider(rest) && !is_anothers(rest) || reads_as_refusal(rest)))
        .then(|| of_words(rest))
        .flatten()
        .map(|cause| (cause, None))
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
