//! The worker log of Hermes (0.19 and the exit trailer of later versions): which line ended the last attempt.
//!
//! All attempts at a task share one file without times. An ordinary worker writes its status lines at column
//! 0, its tool lines behind `  ┊`, its answer indented by four or more; so an answer or a diff that quotes a
//! failure line never stands where the real one stands. A goal-mode worker writes answers bare; there only
//! the very last answer counts, and only if nothing but a start or another failure stands before it.
//!
//! Retries are buffered by Hermes and written only when all of them and all fallbacks have failed. A worker
//! killed while it retries therefore leaves no line, and `⚠️  API call failed (attempt 1/2)` alone ends
//! nothing.

use crate::cause::{Cause, of_api_error, of_http};
use crate::logs::Evidence;

const QUERY: &str = "Query: work kanban task ";
const EXIT: &str = "[kanban-worker-exit] rc=";
const BUSY: &str = "[kanban-worker-busy]";
const SETUP: &str = "It looks like Hermes isn't configured yet";
const NO_KEY: &str = "⚠️  Provider resolver returned an empty API key";
const NO_URL: &str = "⚠️  Provider resolver returned an empty base URL";
const NO_AGENT: &str = "Failed to initialize agent:";
const INITIALIZING: &str = "Initializing agent...";
const TOOL: &str = "  ┊";
const NUDGE: &str = "⚠️ Kanban worker tried to exit without kanban_complete/kanban_block";

/// Longer lines are cut: nothing we look for stands further right.
const LINE_BYTES: usize = 4096;

/// How much of a final box is kept to be recognised, in bytes.
const BOX_BYTES: usize = 512;

/// Finds the line that ended the last attempt at `task` in the end of its log. `tail` starts at a line start,
/// `base_offset` bytes into the file. `None`: it ended well, was cut off, went on, or does not say.
pub fn last_attempt_end(tail: &[u8], base_offset: u64, task: &str) -> Option<Evidence> {
    let lines = lines(tail, base_offset);
    let section = last_section(&lines, task)?;
    let end = if is_goal_mode(section) { goal_end(section) } else { query_end(section) };
    end.or_else(|| exit_code_end(section))
}

/// A line as a person sees it, and where it starts in the file.
struct Line {
    at: u64,
    text: String,
}

impl Line {
    fn starts(&self, prefix: &str) -> bool {
        self.text.starts_with(prefix)
    }

    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn ended(&self, (cause, http): Verdict) -> Evidence {
        Evidence { cause, http, offset: self.at, endpoint_host: None }
    }
}

/// What a failure line says: the cause, and the status where it names one.
type Verdict = (Cause, Option<u16>);

fn lines(tail: &[u8], base_offset: u64) -> Vec<Line> {
    let mut at = base_offset;
    let mut out = Vec::new();
    for raw in tail.split_inclusive(|b| *b == b'\n') {
        let body = raw.strip_suffix(b"\n").unwrap_or(raw);
        let text = String::from_utf8_lossy(&body[..body.len().min(LINE_BYTES)]);
        out.push(Line { at, text: plain(text.trim_end_matches('\r')) });
        at += raw.len() as u64;
    }
    out
}

/// The text without terminal escapes and bells.
fn plain(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    let mut chars = s.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{7}' => {}
            _ => out.push(c),
        }
    }
    out
}

fn skip_escape(chars: &mut std::str::Chars<'_>) {
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

/// The lines of the newest attempt. Whatever follows an attempt's closing lines without a start of its own
/// (warnings at interpreter exit) still belongs to it: better an old failure too many than a new reset too
/// many.
fn last_section<'a>(lines: &'a [Line], task: &str) -> Option<&'a [Line]> {
    let mut start = 0;
    let mut closed: Option<usize> = None;
    let mut exited: Option<usize> = None;
    let mut ours = true;
    for (i, line) in lines.iter().enumerate() {
        let query = line.text.strip_prefix(QUERY);
        let begins = if query.is_some() || (closed.or(exited).is_some() && is_start(line)) {
            Some(i)
        } else if line.starts("session_id: ") {
            // Goal mode has no line of its own at the start; what lies between two ends is an attempt.
            closed.filter(|end| lines[end + 1..i].iter().any(is_answer)).map(|end| end + 1)
        } else if line.starts(EXIT) {
            exited.map(|end| end + 1)
        } else {
            None
        };
        if let Some(begin) = begins {
            (start, closed, exited) = (begin, None, None);
            ours = query.is_none_or(|id| id.split_whitespace().next() == Some(task));
        }
        if is_close(line) {
            closed = Some(i);
        }
        if line.starts(EXIT) {
            exited = Some(i);
        }
    }
    ours.then(|| &lines[start..])
}

/// Lines only a starting worker writes.
fn is_start(line: &Line) -> bool {
    line.starts(INITIALIZING)
        || line.starts("⚠️  hermes config: ")
        || line.starts("  ⚠ tirith security scanner")
        || line.starts(SETUP)
        || line.starts(NO_KEY)
        || line.starts(NO_URL)
}

/// The last line of an ordinary attempt's summary, or the one line a goal-mode worker signs off with.
fn is_close(line: &Line) -> bool {
    let counted = line.text.strip_prefix("Messages: ").map(|rest| rest.trim_start());
    counted.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) || line.starts("session_id: ")
}

fn is_answer(line: &Line) -> bool {
    !line.is_blank() && !line.starts(EXIT) && !is_close(line) && !is_start(line)
}

fn is_goal_mode(section: &[Line]) -> bool {
    let ordinary = |l: &Line| {
        let marks =
            [QUERY, TOOL, INITIALIZING, SETUP, NO_KEY, NO_URL, NO_AGENT, "╭─", "Resume this session with:"];
        marks.iter().any(|mark| l.starts(mark)) || is_labelled_rule(&l.text)
    };
    section.iter().any(|l| l.starts("session_id: ")) || !section.iter().any(ordinary)
}

/// Goal mode: every turn's answer is printed bare, so a model may write anything there. A failure counts only
/// as the last answer, and only where a start, an end or another failure precedes it. Answers stand before or
/// after the attempt's `session_id:`: that goes to the other stream, and Python may hold the answers back.
fn goal_end(section: &[Line]) -> Option<Evidence> {
    let telling = |l: &&Line| !l.is_blank() && !l.starts(EXIT) && !is_guidance(l);
    let mut upwards = section.iter().rev().filter(telling).skip_while(|l| is_close(l) || is_start(l));
    let last = upwards.next()?;
    let verdict = final_answer(&last.text)?;
    let alone = |l: &Line| is_close(l) || is_start(l) || final_answer(&l.text).is_some();
    upwards.next().is_none_or(alone).then(|| last.ended(verdict))
}

/// Advice Hermes appends below a failed answer.
fn is_guidance(line: &Line) -> bool {
    let t = &line.text;
    t.contains(" reported that billing, credits, or account entitlement is exhausted for ")
        || t.contains(" reported that your Claude subscription usage is exhausted for ")
        || [
            "Add credits or update billing with that provider",
            "OpenRouter credits: ",
            "You can switch providers temporarily with /model",
            "You can also switch to an Anthropic API key",
            "Options: wait for the billing cycle to reset",
            "The provider's stream connection keeps dropping",
            "No fallback provider available. Try again after the reset",
        ]
        .iter()
        .any(|advice| t.starts_with(advice))
}

/// The forms Hermes gives a turn that failed in place of an answer.
fn final_answer(text: &str) -> Option<Verdict> {
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
fn api_verdict(detail: &str) -> Verdict {
    of_api_error(detail).unwrap_or((Cause::Unknown, status_of(detail)))
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
struct Terminal {
    verdict: Verdict,
    detail: Option<String>,
}

fn terminal(text: &str) -> Option<Terminal> {
    let t = text.strip_prefix("❌ ")?;
    let with = |verdict: Verdict, detail: &str| Some(Terminal { verdict, detail: Some(detail.to_string()) });
    if let Some(detail) = after_count(t, "Rate limited after ", " retries — ") {
        let said = of_api_error(detail);
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

/// What is known while walking down an ordinary attempt.
#[derive(Default)]
struct Walk {
    failed: Option<(Evidence, Option<String>)>,
    budget: Option<Evidence>,
    endpoint: Option<String>,
    nudged: Option<u64>,
    used_tools: bool,
}

fn query_end(section: &[Line]) -> Option<Evidence> {
    let mut walk = Walk::default();
    let mut i = 0;
    while i < section.len() {
        if is_labelled_rule(&section[i].text) {
            i = walk.read_box(section, i + 1);
            continue;
        }
        walk.step(&section[i], i.checked_sub(1).map(|before| &section[before]));
        i += 1;
    }
    let closed = section.iter().any(is_close);
    walk.end(closed).or_else(|| never_began(section))
}

impl Walk {
    fn step(&mut self, line: &Line, before: Option<&Line>) {
        if line.starts(TOOL) {
            (self.failed, self.budget, self.endpoint, self.used_tools) = (None, None, None, true);
        } else if is_going_on(line) {
            (self.failed, self.endpoint) = (None, None);
        } else if let Some(url) = line.text.strip_prefix("   🌐 Endpoint: ") {
            // Hermes writes the two together; alone it is somebody's text.
            if before.is_some_and(|b| b.starts("   🔌 Provider: ")) {
                self.endpoint = host(url);
            }
        } else if line.starts("⚠ Iteration budget reached (")
            || line.starts("⚠️ Iteration budget exhausted (")
        {
            self.budget = Some(line.ended((Cause::IterationBudget, None)));
        } else if line.starts(NUDGE) {
            self.nudged = Some(line.at);
        } else if let Some(cause) = start_failure(line) {
            self.failed = Some((line.ended((cause, None)), None));
        } else if let Some(terminal) = terminal(&line.text) {
            // `client error ... Aborting.` only repeats the line above it, without the words.
            if !(line.starts("❌ Non-retryable client error") && self.failed.is_some()) {
                self.failed = Some((line.ended(terminal.verdict), terminal.detail));
            }
        }
    }

    /// Reads the box of a finished answer from the line below its head; gives the index of the line after it.
    fn read_box(&mut self, section: &[Line], from: usize) -> usize {
        let inside = |l: &Line| l.is_blank() || l.starts("     ");
        let len = section[from..].iter().take_while(|l| inside(l)).count();
        let body = &section[from..from + len];
        let Some(first) = body.iter().find(|l| !l.is_blank()) else { return from + len };
        let mut text = String::new();
        for line in body.iter().filter(|l| !l.is_blank()) {
            if text.len() >= BOX_BYTES {
                break;
            }
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line.text.trim());
        }
        self.judge_box(first, &text);
        from + len
    }

    fn judge_box(&mut self, first: &Line, text: &str) {
        let said = final_answer(text);
        match &self.failed {
            // A failure without the provider's words is followed by a text of its own; any other box is an
            // answer.
            Some((_, Some(detail))) if said.is_none() && !is_same_text(detail, text) => {
                (self.failed, self.endpoint) = (None, None);
            }
            Some(_) => {}
            None => self.failed = said.map(|verdict| (first.ended(verdict), None)),
        }
    }

    fn end(self, closed: bool) -> Option<Evidence> {
        if let Some((evidence, _)) = self.failed {
            return Some(Evidence { endpoint_host: self.endpoint, ..evidence });
        }
        if self.budget.is_some() {
            return self.budget;
        }
        // Sure only where the worker signed off by itself and never touched a tool, the board's included.
        let offset = self.nudged.filter(|_| closed && !self.used_tools)?;
        Some(Evidence { cause: Cause::ProtocolViolation, http: None, offset, endpoint_host: None })
    }
}

/// The attempt lives on: another provider took over, or an answer is being written.
fn is_going_on(line: &Line) -> bool {
    ["🔄 Switched to fallback model", "↻ Switched to fallback", "╭─", "┌─"].iter().any(|p| line.starts(p))
}

/// Failures before the first request.
fn start_failure(line: &Line) -> Option<Cause> {
    if line.starts(NO_KEY) {
        Some(Cause::Credential)
    } else if line.starts(NO_URL) || line.starts(NO_AGENT) || line.starts(SETUP) {
        Some(Cause::Misconfigured)
    } else {
        None
    }
}

/// A worker whose provider could not be resolved says why in words of its own and takes its leave.
fn never_began(section: &[Line]) -> Option<Evidence> {
    if section.iter().any(|l| l.starts(INITIALIZING)) || !section.first()?.starts(QUERY) {
        return None;
    }
    let mut said: Vec<&Line> = section[1..].iter().filter(|l| !l.is_blank() && !l.starts(EXIT)).collect();
    if !said.pop()?.starts("Goodbye!") {
        return None;
    }
    let first = said.first()?;
    let words = said.iter().take(8).map(|l| l.text.to_lowercase()).collect::<Vec<_>>().join(" ");
    let says = |needles: &[&str]| needles.iter().any(|n| words.contains(n));
    let cause = if says(&["credits are exhausted", "paid subscription"]) {
        Cause::Quota
    } else if says(&["api key", "authenticate", "log in", "login", "token", "credential"]) {
        Cause::Credential
    } else {
        Cause::Misconfigured
    };
    Some(first.ended((cause, None)))
}

/// Later versions sign off with their exit code; where nothing else was found, it is the worker's own word.
fn exit_code_end(section: &[Line]) -> Option<Evidence> {
    let line = section.iter().rev().find(|l| l.starts(EXIT))?;
    let cause = match line.text.strip_prefix(EXIT)?.trim() {
        // The same code says that the profile is busy, and then a marker stands above it.
        "75" if section.iter().any(|l| l.starts(BUSY)) => return None,
        "75" => Cause::RateLimit,
        // Key, model or certificate; which of them is for somebody who can judge.
        "78" => Cause::Misconfigured,
        _ => return None,
    };
    Some(line.ended((cause, None)))
}

/// ` ─  ⚕ Hermes  ───── `: the head of a finished answer; skins change the name.
fn is_labelled_rule(text: &str) -> bool {
    text.starts_with(" ─ ")
        && text.trim_end().ends_with("──")
        && text.contains(|c: char| c != '─' && c != ' ')
}

/// Whether the box repeats the provider's words. It is wrapped and rendered, so only letters and digits are
/// compared.
fn is_same_text(detail: &str, text: &str) -> bool {
    let letters = |s: &str| s.chars().filter(|c| c.is_alphanumeric()).take(24).collect::<String>();
    let detail = letters(detail);
    !detail.is_empty() && letters(text).starts_with(&detail)
}

/// Host and port of a URL, without user and password. An odd one is none.
fn host(url: &str) -> Option<String> {
    let rest = url.trim().split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b);
    (!host.is_empty() && host.len() <= 255 && host.bytes().all(plain)).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
