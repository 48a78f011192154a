//! What a failure of the API means, by the status, the word and the sentence Claude Code has for it.

use base::cause::{Cause, of_http, of_words};

/// What is known of one failure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure<'a> {
    /// `apiErrorStatus`, `error_status`.
    pub(super) status: Option<u16>,
    /// `error`: a class of its own. 529 and 503 and a refused connection are all `server_error` (2.1.197).
    pub(super) word: Option<&'a str>,
    /// What it tells the person.
    pub(super) text: &'a str,
    /// `errorDetails`: the provider's own answer, where it is kept.
    pub(super) details: &'a str,
}

impl Failure<'_> {
    /// Its cause, and the status where one is stated. Surely a failure, so it is `Unknown` where nothing says which.
    pub(super) fn verdict(self) -> (Cause, Option<u16>) {
        let status = self.status.or_else(|| status_in(self.text)).or_else(|| status_in(self.details));
        if is_subscription_limit(self.text) && matches!(status, None | Some(429)) {
            return (Cause::Quota, status);
        }
        let by_status = status.and_then(|s| of_http(s, &format!("{} {}", self.text, self.details)));
        (by_status.unwrap_or_else(|| self.by_word(status)), status)
    }

    fn by_word(self, status: Option<u16>) -> Cause {
        let text = self.text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|w| text.contains(w));
        match self.word {
            Some("authentication_failed" | "oauth_org_not_allowed") => Cause::Credential,
            Some("billing_error") => Cause::Quota,
            Some("rate_limit") => Cause::RateLimit,
            Some("overloaded") => Cause::Overloaded,
            Some("model_not_found") => Cause::ModelMissing,
            // The request itself was refused: too long, malformed, an image too large. The next would be, too.
            Some("invalid_request" | "max_output_tokens") => Cause::Unknown,
            _ if status.is_some_and(|s| (400..500).contains(&s)) => Cause::Unknown,
            _ if says(NO_CONNECTION) => Cause::ConnectionRefused,
            _ if says(&["credit balance is too low"]) => Cause::Quota,
            _ if says(&[
                "please run /login",
                "invalid api key",
                "oauth token revoked",
                "does not have access to claude",
            ]) =>
            {
                Cause::Credential
            }
            _ if says(&["overloaded"]) => Cause::Overloaded,
            Some("server_error") => Cause::ServerError,
            _ => of_words(self.text).unwrap_or(Cause::Unknown),
        }
    }
}

/// Nothing answered at all. `(ConnectionRefused)` is how Bun names it, the others are Node's codes.
const NO_CONNECTION: &[&str] = &[
    "unable to connect to api",
    "connectionrefused",
    "connection refused",
    "econnrefused",
    "connection error",
];

/// The window of a subscription is used up: "You've hit your session limit · resets 9:50pm (...)", "5-hour limit reached ∙ resets 2am",
/// "Limit reached · resets Dec 17 at 6am (...)", "Claude AI usage limit reached|1760000400" (claude-code #74079, #7157, #9046). So is that
/// of a model: "You've reached your Opus 4.6 limit. Run /usage-credits to continue" (#73870), and what was bought beyond it: "You're out
/// of extra usage · resets 9pm (...)" (#42654, #22603, #55114), "You've hit your monthly spend limit. Run /usage-credits ...".
pub(crate) fn is_subscription_limit(text: &str) -> bool {
    let text = text.trim_start().to_lowercase().replace('’', "'");
    let hit = text.strip_prefix("you've hit your ");
    // "session limit", "weekly limit", "Opus 4.5 limit": a name of few words, and then no more of a sentence.
    let names_a_limit = |s: &str| {
        let name = s.split(['·', '∙', '|', '\n']).next().unwrap_or_default().trim().trim_end_matches('.');
        name.ends_with("limit") && name.split(' ').count() <= 4 && !name.contains([';', ','])
    };
    // Other programs have limits to reach, too, so it must say what comes then.
    let goes_on = |rest: &str| {
        rest.starts_with(['·', '∙']) && rest.contains("resets")
            || [". run /", ". /", ". resets "].iter().any(|o| rest.starts_with(o))
    };
    let names_and_ends = |s: &str| {
        // The dot of `Opus 4.6` ends no sentence.
        let end = s.find(['·', '∙']).into_iter().chain(s.find(". ")).min().unwrap_or(s.len());
        goes_on(&s[end..]) && names_a_limit(&s[..end])
    };
    let says_when = |rest: &str| {
        let when = rest.trim_start_matches(['·', '∙', '•', ' ']).strip_prefix("resets ");
        when.is_some_and(|w| w.split(' ').take(3).any(|w| w.starts_with(|c: char| c.is_ascii_digit())))
    };
    let reached =
        text.strip_prefix("you've reached your ").or_else(|| text.strip_prefix("you have reached your "));
    let bare = text.strip_prefix("limit reached").map(str::trim_start);
    let out = text.strip_prefix("you're out of extra usage");
    let credits = text.strip_prefix("you're out of usage credits");
    hit.is_some_and(|s| names_a_limit(s) || names_and_ends(s))
        || reached.is_some_and(names_and_ends)
        || bare.is_some_and(|rest| rest.starts_with(['·', '∙', '•']) && says_when(rest))
        || credits.is_some_and(|rest| goes_on(rest.trim_start()))
        || out.is_some_and(|rest| {
            matches!(rest.trim_start().chars().next(), None | Some('·' | '∙' | '|' | '.' | '¦'))
        })
        || text.starts_with("claude ai usage limit reached")
        || text.starts_with("claude usage limit reached")
        || text.split_once(" limit reached").is_some_and(|(kind, rest)| {
            kind.split_whitespace().count() <= 2 && (rest.contains("resets") || rest.starts_with('|'))
        })
}

/// `API Error: 529 Overloaded`, `API Error: Request rejected (429)`, `400 {"type":"error"`.
pub(crate) fn status_in(text: &str) -> Option<u16> {
    let rest = text.trim_start();
    let rest = rest.strip_prefix("API Error: ").unwrap_or(rest);
    let rest = rest.strip_prefix("Error: ").unwrap_or(rest);
    let (digits, behind) = match rest.strip_prefix("Request rejected (") {
        Some(inner) => (inner.get(..3)?, inner.get(3..)?.starts_with(')')),
        None => (rest.get(..3)?, rest.get(3..)?.starts_with([' ', ':']) || rest.len() == 3),
    };
    let is_number = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|n| is_number && behind && (400..600).contains(n))
}

/// The endpoint, where the sentence names a gateway: "check your inference gateway (127.0.0.1:18992)".
pub(super) fn endpoint(text: &str) -> Option<String> {
    let host = text.split_once("inference gateway (")?.1.split(')').next()?;
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    (!host.is_empty() && host.len() <= 253 && host.chars().all(is_host)).then(|| host.to_owned())
}
