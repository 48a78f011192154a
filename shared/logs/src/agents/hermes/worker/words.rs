//! The words of a Hermes worker log: which line opens, closes or ends an attempt, and what a failure line means.

use std::borrow::Cow;

use crate::reset_time::reset_time;
use crate::signal::{Evidence, kept};
use base::cause::{Cause, of_api_error, of_failure, of_http};
use base::clip::clip;
use base::time::Time;

/// What the first line of an attempt says behind its label. Hermes 0.22 and later have the label in the language of the profile.
const QUERY: &str = " work kanban task ";
/// What stands in front of the exit code in the last line of a worker.
pub const EXIT: &str = "[kanban-worker-exit] rc=";
pub(super) const BUSY: &str = "[kanban-worker-busy]";
pub(super) const SETUP: &str = "It looks like Hermes isn't configured yet";
pub(super) const NO_KEY: &str = "⚠️  Provider resolver returned an empty API key";
pub(super) const NO_URL: &str = "⚠️  Provider resolver returned an empty base URL";
pub(super) const NO_AGENT: &str = "Failed to initialize agent:";
pub(super) const INITIALIZING: &str = "Initializing agent...";
pub(super) const TOOL: &str = "  ┊";
/// 0.19 goes on with the names of the calls, 0.21.5 and later with `a terminal board call`.
pub(super) const NUDGE: &str = "⚠️ Kanban worker tried to exit without ";
pub(super) const SESSION: &str = "session_id: ";
pub(super) const PROVIDER: &str = "   🔌 Provider: ";
pub(super) const ENDPOINT: &str = "   🌐 Endpoint: ";
pub(super) const DETAIL: &str = "   📝 Error: ";
pub(super) const RETRY: &str = "⚠️  API call failed (attempt ";
/// A try that failed, as 0.21.5 and later write it at once.
const TRY: &str = "⚠️  Attempt ";

/// Most bytes of the label before [`QUERY`].
const LABEL_BYTES: usize = 40;

/// Longer lines are cut: nothing we look for stands further right.
const LINE_BYTES: usize = 4096;

/// What a failure line says: the cause, and the status where it names one.
pub(super) type Verdict = (Cause, Option<u16>);

/// A line as a person sees it, where it starts in the file, and when it was first seen.
pub(super) struct Row<'a> {
    pub(super) at: u64,
    pub(super) text: Cow<'a, str>,
    pub(super) seen: Time,
}

impl<'a> Row<'a> {
    pub(super) fn new(at: u64, text: &'a str, seen: Time) -> Row<'a> {
        Row { at, text: plain(clip(text, LINE_BYTES).trim_end_matches('\r')), seen }
    }

    /// A line without terminal escapes, of which nobody asks when it was seen.
    pub(super) fn plain(at: u64, text: &'a str) -> Row<'a> {
        Row { at, text: Cow::Borrowed(clip(text, LINE_BYTES).trim_end_matches('\r')), seen: Time(0) }
    }

    /// Nearly every line differs in its first byte from whatever it is compared with.
    #[inline]
    pub(super) fn starts(&self, prefix: &str) -> bool {
        self.text.as_bytes().first() == prefix.as_bytes().first() && self.text.starts_with(prefix)
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// This line as evidence.
    pub(super) fn ended(&self, verdict: Verdict) -> Evidence {
        self.quoting(verdict, &self.text)
    }

    /// This line as evidence, for a text that goes on below it.
    pub(super) fn quoting(&self, verdict: Verdict, text: &str) -> Evidence {
        evidence(verdict, self.at, self.seen, text)
    }
}

/// Evidence at a place, with the moment the limit ends where the text names one.
pub(super) fn evidence((cause, http): Verdict, at: u64, seen: Time, text: &str) -> Evidence {
    Evidence {
        http,
        at: Some(seen),
        resets: cause.can_end().then(|| reset_time(text, seen)).flatten(),
        words: kept(text.trim()),
        ..Evidence::new(cause, at)
    }
}

/// `Query: work kanban task t_1`, with the label in any language: the task that an attempt begins with. A catalogue without the
/// label prints its key.
pub(super) fn query(text: &str) -> Option<&str> {
    // Most lines are indented.
    if text.starts_with(' ') {
        return None;
    }
    let label = &text[..clip(text, LABEL_BYTES + QUERY.len()).find(QUERY)?];
    let task = &text[label.len() + QUERY.len()..];
    let is_label = label.ends_with([':', '：']) || (label.contains('.') && !label.contains(' '));
    let fits = !label.is_empty() && label.len() <= LABEL_BYTES;
    (is_label && fits && !task.trim().contains(' ')).then_some(task.trim())
}

/// Lines only a starting worker writes.
pub(super) fn is_start(row: &Row<'_>) -> bool {
    row.starts(INITIALIZING)
        || row.starts("⚠️  hermes config: ")
        || row.starts("  ⚠ tirith security scanner")
        || row.starts(SETUP)
        || row.starts(NO_KEY)
        || row.starts(NO_URL)
}

/// The last line of an ordinary attempt's summary, or the one line a goal-mode worker signs off with.
pub(super) fn is_close(row: &Row<'_>) -> bool {
    let counted = row.text.strip_prefix("Messages: ").map(str::trim_start);
    counted.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) || row.starts(SESSION)
}

/// Lines only an ordinary worker writes, never one in goal mode.
pub(super) fn is_ordinary(row: &Row<'_>) -> bool {
    let marks = [TOOL, INITIALIZING, SETUP, NO_KEY, NO_URL, NO_AGENT, "╭─", "Resume this session with:"];
    marks.iter().any(|mark| row.starts(mark)) || is_labelled_rule(&row.text) || query(&row.text).is_some()
}

/// Whether a line shows that a log is a Hermes worker's.
pub fn is_mark(text: &str) -> bool {
    let row = Row::new(0, text, Time(0));
    let marks = [TOOL, NO_AGENT, SESSION, EXIT, RETRY, "Resume this session with:"];
    let is_marked = marks.iter().any(|mark| row.starts(mark));
    is_start(&row) || is_marked || is_labelled_rule(&row.text) || query(&row.text).is_some()
}

/// The same for what others might write too, so that it tells only in a file where a Hermes log is expected.
pub fn is_weak_mark(text: &str) -> bool {
    let row = Row::new(0, text, Time(0));
    is_close(&row) || row.starts("╭─") || terminal(&row.text).is_some() || final_answer(&row.text).is_some()
}

/// The attempt lives on: another provider took over, or an answer is being written.
pub(super) fn is_going_on(row: &Row<'_>) -> bool {
    ["🔄 Switched to fallback model", "↻ Switched to fallback", "╭─", "┌─"].iter().any(|p| row.starts(p))
}

/// Failures before the first request.
pub(super) fn start_failure(row: &Row<'_>) -> Option<Cause> {
    if row.starts(NO_KEY) {
        Some(Cause::Credential)
    } else if row.starts(NO_URL) || row.starts(NO_AGENT) || row.starts(SETUP) {
        Some(Cause::Misconfigured)
    } else {
        None
    }
}

/// A call of the model that Hermes could not use and sent back to it.
pub(super) fn is_malformed_call(row: &Row<'_>) -> bool {
    row.starts("⚠️  Unknown tool '") || row.starts("⚠️  Invalid JSON in tool call arguments for '")
}

/// `⚠️  API call failed (attempt 1/2): RateLimitError [HTTP 429]`: what the class and the status say.
pub(super) fn retry(text: &str) -> Option<Verdict> {
    let class = text.strip_prefix(RETRY)?.split_once("): ")?.1;
    let Some(status) = class.split_once(" [HTTP ").and_then(|(_, rest)| rest.split_once(']')) else {
        return Some(api_verdict(class));
    };
    let Ok(status) = status.0.parse() else { return Some(api_verdict(class)) };
    let said = of_http(status, "").or_else(|| of_failure(class).map(|(cause, _)| cause));
    Some((said.unwrap_or(Cause::Unknown), Some(status)))
}

/// Stands in some of the advice that [`is_guidance`] knows.
pub(super) const REPORTED: &str = " reported that ";

/// Advice Hermes appends below a failed answer.
pub(super) fn is_guidance(text: &str) -> bool {
    let billing = || {
        text.contains(" reported that billing, credits, or account entitlement is exhausted for ")
            || text.contains(" reported that your Claude subscription usage is exhausted for ")
    };
    ADVICE.iter().any(|advice| text.starts_with(advice)) || (text.contains(REPORTED) && billing())
}

const ADVICE: &[&str] = &[
    "Add credits or update billing with that provider",
    "OpenRouter credits: ",
    "You can switch providers temporarily with /model",
    "You can also switch to an Anthropic API key",
    "Options: wait for the billing cycle to reset",
    "The provider's stream connection keeps dropping",
    "No fallback provider available. Try again after the reset",
];

/// The text without terminal escapes and bells.
fn plain(s: &str) -> Cow<'_, str> {
    // Two searches for one byte each are many times faster than one for either.
    if !s.contains('\u{1b}') && !s.contains('\u{7}') {
        return Cow::Borrowed(s);
    }
    let mut out = String::with_capacity(s.len());
    let mut chars = s.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{7}' => {}
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Skips the rest of a terminal escape sequence whose first character was read.
pub fn skip_escape(chars: &mut std::str::Chars<'_>) {
    match chars.next() {
        // Colours and cursor moves end at the first letter, titles and links at a bell or `ESC \`.
        Some('[') => {
            chars.find(|c| ('@'..='~').contains(c));
        }
        Some(']') if chars.find(|c| matches!(c, '\u{7}' | '\u{1b}')) == Some('\u{1b}') => {
            chars.next();
        }
        _ => {}
    }
}

/// Whether Hermes writes this line before it gives a turn up: the terminal line itself, a try that failed (0.19 shows those only once
/// all have failed), the last one of several (0.21.5 and later show each), or a limit it already knows of.
pub(super) fn is_announcement(text: &str) -> bool {
    if !is_signed(text) {
        return false;
    }
    let always = ["❌ ", RETRY, "⚠️  Invalid API response (attempt ", "⏳ Nous Portal rate limit active"];
    always.iter().any(|line| text.starts_with(line)) || is_last_try(text)
}

/// Whether it begins with a sign such as `❌`, `⚠️` or `⏳`, all of which have this byte first.
fn is_signed(text: &str) -> bool {
    text.as_bytes().first() == Some(&"❌".as_bytes()[0])
}

/// `⚠️  Attempt 2/2 failed: HTTP 429: ...`, or `⚠️  Attempt 1/2, not retryable failed: HTTP 401: ...`.
fn is_last_try(text: &str) -> bool {
    failed_try(text).is_some_and(|(is_last, _)| is_last)
}

/// Whether a try that failed was the last one, and what it says.
pub(super) fn failed_try(text: &str) -> Option<(bool, &str)> {
    let (tries, rest) = text.strip_prefix(TRY)?.split_once('/')?;
    let of = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    let rest = &rest[of.len()..];
    let detail = rest.strip_prefix(" failed: ").map(|detail| (tries == of, detail));
    detail.or_else(|| rest.strip_prefix(", not retryable failed: ").map(|detail| (true, detail)))
}

/// The forms Hermes gives a turn that failed in place of an answer.
pub(super) fn final_answer(text: &str) -> Option<Verdict> {
    // The first bytes of what is compared below.
    if !matches!(text.as_bytes().first(), Some(b'E' | b'B' | b'A' | b'I' | b'H')) && !is_signed(text) {
        return None;
    }
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    if let Some(detail) = text.strip_prefix("Billing or credits exhausted: ") {
        return Some((Cause::Quota, of_api_error(detail).and_then(|(_, http)| http)));
    }
    if text.starts_with("⏳ Nous Portal rate limit active") {
        return Some((Cause::RateLimit, None));
    }
    if let Some(detail) = after_count(text, "API call failed after ", " retries: ") {
        return Some(api_verdict(detail));
    }
    if let Some(hint) = after_count(text, "Invalid API response after ", " retries: ") {
        return Some(invalid_response(hint));
    }
    status_of(text).map(|_| api_verdict(text))
}

/// `prefix`, a number, `then`: what follows.
fn after_count<'a>(text: &'a str, prefix: &str, then: &str) -> Option<&'a str> {
    let (count, rest) = text.strip_prefix(prefix)?.split_once(then)?;
    (!count.is_empty() && count.bytes().all(|b| b.is_ascii_digit())).then_some(rest)
}

/// A failure surely, so where the words do not say which, it is still one.
pub(super) fn api_verdict(detail: &str) -> Verdict {
    of_failure(detail).unwrap_or((Cause::Unknown, status_of(detail)))
}

/// The status of `HTTP 429: ...` or `HTTP 503 — ...`; the two ways Hermes goes on behind a status.
fn status_of(text: &str) -> Option<u16> {
    let rest = text.strip_prefix("HTTP ")?;
    let (digits, rest) = rest.split_at_checked(3)?;
    let goes_on = rest.is_empty() || rest.starts_with(':') || rest.starts_with(" — ");
    digits.parse().ok().filter(|n| goes_on && (400..600).contains(n))
}

fn invalid_response(hint: &str) -> Verdict {
    let cause = if hint.contains("rate limited by upstream provider (429)") {
        Cause::RateLimit
    } else if hint.contains("overloaded") {
        Cause::Overloaded
    } else if hint.contains("upstream") && (hint.contains("server error") || hint.contains("time")) {
        Cause::ServerError
    } else {
        Cause::MalformedCall
    };
    (cause, None)
}

/// A terminal line of an ordinary worker, and the provider's words it repeats (the final box repeats them
/// again).
pub(super) struct Terminal {
    pub(super) verdict: Verdict,
    pub(super) detail: Option<String>,
}

pub(super) fn terminal(text: &str) -> Option<Terminal> {
    let t = text.strip_prefix("❌ ")?;
    let with = |verdict: Verdict, detail: &str| Some(Terminal { verdict, detail: Some(detail.to_string()) });
    if let Some(detail) = after_count(t, "Rate limited after ", " retries — ") {
        let said = of_failure(detail);
        let verdict =
            said.filter(|(c, _)| c.is_provider_pressure()).unwrap_or((Cause::RateLimit, status_of(detail)));
        return with(verdict, detail);
    }
    if let Some(detail) = after_count(t, "API failed after ", " retries — ") {
        return with(api_verdict(detail), detail);
    }
    if let Some(detail) = t.strip_prefix("Billing or credits exhausted — ") {
        return with((Cause::Quota, status_of(detail)), detail);
    }
    if let Some(detail) = t.strip_prefix("TLS certificate verification failed: ") {
        return with((Cause::Misconfigured, None), detail);
    }
    if let Some((status, detail)) =
        t.strip_prefix("Non-retryable error (HTTP ").and_then(|r| r.split_once("): "))
    {
        return with(refused_verdict(status, detail), detail);
    }
    if let Some((status, _)) =
        t.strip_prefix("Non-retryable client error (HTTP ").and_then(|r| r.split_once("). "))
    {
        return Some(Terminal { verdict: refused_verdict(status, ""), detail: None });
    }
    // 0.21.5 and later name the provider.
    if let Some((_, detail)) = t.split_once(" rejected the request and retrying won't help: ") {
        return with(api_verdict(detail), detail);
    }
    // An exception inside the loop: Hermes often goes on after it, so it counts only where the words are
    // plain.
    if let Some((_, detail)) = t.strip_prefix("Error during ").and_then(|r| r.split_once("API call #")) {
        let detail = detail.split_once(": ")?.1;
        return with(of_api_error(detail)?, detail);
    }
    let (_, cause) = BARE.iter().find(|(opening, _)| t.starts_with(opening))?;
    Some(Terminal { verdict: (*cause, None), detail: None })
}

/// Terminal lines that carry no words of a provider.
const BARE: &[(&str, Cause)] = &[
    ("Max retries (", Cause::MalformedCall),
    ("Model returned no content after all retries", Cause::MalformedCall),
    ("Ollama runtime context is too small", Cause::Misconfigured),
    ("The provider rejected the request because max_tokens", Cause::Misconfigured),
    ("Provider safety filter blocked this request", Cause::Unknown),
    ("First response truncated", Cause::Unknown),
    ("Payload too large", Cause::Unknown),
    ("Max compression attempts", Cause::Unknown),
    ("Context length exceeded", Cause::Unknown),
    ("Context overflow", Cause::Unknown),
    ("All API retries exhausted", Cause::Unknown),
];

/// Hermes writes `HTTP None` where the failure has no status.
fn refused_verdict(status: &str, detail: &str) -> Verdict {
    let Some(status) = status.parse::<u16>().ok() else { return api_verdict(detail) };
    let words = detail.strip_prefix(&format!("HTTP {status}: ")).unwrap_or(detail);
    (of_http(status, words).unwrap_or(Cause::Unknown), Some(status))
}

/// ` ─  ⚕ Hermes  ───── `: the head of a finished answer; skins change the name. A panel of advice has its title between single
/// blanks.
pub(super) fn is_labelled_rule(text: &str) -> bool {
    text.starts_with(" ─  ")
        && text.trim_end().ends_with("──")
        && text.contains(|c: char| c != '─' && c != ' ')
}

/// The first letters and digits of a text. A box is wrapped and rendered, so only these tell whether it repeats
/// another.
pub(super) fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).take(24).collect()
}
