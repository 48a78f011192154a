//! The words with which providers refuse. Each list is looked for in lower case, anywhere in a text that is known to be a
//! failure; which list comes first decides.

use super::Cause;

/// A text in lower case.
pub(super) struct Said(String);

impl Said {
    pub(super) fn of(text: &str) -> Said {
        Said(text.to_lowercase())
    }

    pub(super) fn has(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.0.contains(w))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_about_money(&self) -> bool {
        self.has(MONEY)
    }

    pub(super) fn lacks_capacity(&self) -> bool {
        self.has(CAPACITY)
    }

    /// Which limit a refusal for too much use means.
    pub(super) fn limit(&self) -> Cause {
        if self.has(DAY) {
            return Cause::Quota;
        }
        match self.pause() {
            Some(pause) if pause >= HOUR => Cause::Quota,
            // Google calls its limits a minute a quota, too, and says when to `retry`.
            Some(_) if self.has(&["exceeded your current quota"]) && self.has(&["try again in"]) => {
                Cause::Quota
            }
            Some(_) => Cause::RateLimit,
            None if self.has(MINUTE) => Cause::RateLimit,
            None if self.lacks_capacity() => Cause::Overloaded,
            None if self.is_about_money() || self.has(WINDOW) => Cause::Quota,
            None => Cause::RateLimit,
        }
    }

    /// `retry after 7 seconds`, `try again in 4.77s`: in whole seconds.
    fn pause(&self) -> Option<u64> {
        PAUSES.iter().find_map(|opening| {
            let rest = self.0.split_once(opening)?.1;
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let behind = rest[digits..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            let unit = behind.trim_start();
            let is_seconds = unit.starts_with("second")
                || unit.strip_prefix('s').is_some_and(|rest| !rest.starts_with(char::is_alphabetic));
            rest[..digits].parse().ok().filter(|_| is_seconds)
        })
    }

    /// The provider does not have the model, or does not offer it to this account.
    pub(super) fn lacks_the_model(&self) -> bool {
        self.has(NO_MODEL) || self.0.contains("model") && self.has(GONE)
    }
}

/// A limit that lasts longer is a window that is used up.
const HOUR: u64 = 3_600;

const PAUSES: &[&str] = &["retry after ", "retry in ", "try again in ", "wait "];
const DAY: &[&str] =
    &["per day", "perday", "per-day", "(tpd)", "(rpd)", "daily", "weekly", "per month", "monthly"];
const MINUTE: &[&str] = &[
    "per minute",
    "per min",
    "per second",
    "perminute",
    "per_minute",
    "(rpm)",
    "(tpm)",
    "not your usage limit",
    // Google's word for any limit, whether the quota of a minute or of a day.
    "resource has been exhausted",
    "resource exhausted",
    "token rate limit",
    "call rate limit",
];
const WINDOW: &[&str] = &["quota", "usage limit", "5-hour", "hourly"];
const MONEY: &[&str] = &[
    "insufficient_quota",
    "exceeded your current quota",
    "insufficient credit",
    "insufficient_credit",
    "insufficient balance",
    "credit balance",
    "more credits",
    "credits exhausted",
    "credits have been exhausted",
    "usable credits",
    "extra usage",
    "out of funds",
    "billing",
    "payment required",
    "payment_required",
    "requires a subscription",
    "spending limit",
    "balance_depleted",
    "free tier",
    "free_tier",
    "out of credits",
    "not enough credits",
    "purchase credits",
    "past due",
];
const CAPACITY: &[&str] = &[
    "overloaded",
    "at capacity",
    "over capacity",
    "capacity exceeded",
    "high demand",
    "under high load",
    "high traffic",
    "temporarily unavailable",
    "currently unavailable",
    "service unavailable",
    "server is busy",
];
const NO_MODEL: &[&str] = &[
    "not a valid model",
    "invalid model",
    "no such model",
    "unknown model",
    "issue with the selected model",
    "model identifier is invalid",
    "model is not supported",
    "model_not_found",
    "model_decommissioned",
    "modelnotfounderror",
    "no endpoints found for",
    "deployment for this resource does not exist",
    "unsupported model",
    "model is not available",
];
const GONE: &[&str] = &[
    "does not exist",
    "not found",
    "has been decommissioned",
    "not_found",
    "no longer supported",
    "no longer available",
];
const KEY: &[&str] = &[
    "api key not valid",
    "api key not found",
    "api key expired",
    "invalid api key",
    "incorrect api key",
    "missing api key",
    "no api key",
    "api_key_invalid",
    "invalid_api_key",
    "no auth credentials",
    "no cookie auth credentials",
    "authentication_error",
    "permission_error",
    "invalid authentication",
    "invalid bearer token",
    "oauth token",
    "oauth authentication",
    "invalid subscription key",
    "security token included in the request is",
    "unable to locate credentials",
    "disabled claude subscription access",
    "api key is invalid",
    "api key is not valid",
    "didn't provide an api key",
    "authentication fails",
    "could not resolve authentication method",
    "missing scopes",
    "insufficient authentication scopes",
];
/// The same in words that others use as well.
const KEY_TOO: &[&str] = &[
    "x-api-key",
    "please run /login",
    "user not found",
    "unauthorized",
    "invalid token",
    "token expired",
    "token has expired",
    "invalid credentials",
    "authentication failed",
    "unauthenticated",
];
const LIMIT: &[&str] = &[
    "rate limit",
    "rate_limit",
    "rate-limit",
    "too many requests",
    "too many tokens",
    "temporarily limiting requests",
    "usage limit",
    "quota",
    "resource has been exhausted",
    "resource exhausted",
    "request rate is too high",
];
const NO_CONNECTION: &[&str] = &[
    "connection error",
    "connection refused",
    "connection reset",
    "connection lost",
    "econnrefused",
    "econnreset",
    "enotfound",
    "connect timeout",
    "could not connect to",
    "cannot connect to",
    "unable to connect to",
    "failed to establish a new connection",
    "all connection attempts failed",
    "error sending request for url",
    "name or service not known",
    "name resolution",
    "no such host",
    "connection closed",
    "connection aborted",
    "server disconnected",
    "peer closed connection",
    "remote end closed connection",
    "socket hang up",
    "fetch failed",
    "network is unreachable",
];
const FAILING: &[&str] = &[
    "internal server error",
    "server_error",
    "api_error",
    "bad gateway",
    "gateway timeout",
    "timed out",
    "read timeout",
    "deadline exceeded",
];

/// The words that make a text the refusal of a provider, whatever stands around them.
const REFUSALS: &[&str] = &[
    "insufficient balance",
    "requires more credits",
    "credit balance is too low",
    "exceeded your current quota",
    "insufficient_quota",
    "rate_limit_error",
    "rate limit is exceeded",
    "overloaded_error",
    "no auth credentials found",
    "no cookie auth credentials",
    "provider returned error",
    "could not connect to ollama",
    "usage limit",
    "billing hard limit",
    "security token included in the request",
];

/// What a failure that states neither a status nor a class of its own means.
pub fn of_words(text: &str) -> Option<Cause> {
    let said = Said::of(text);
    let cause = if said.has(NO_CONNECTION) {
        Cause::ConnectionRefused
    } else if said.lacks_the_model() {
        Cause::ModelMissing
    } else if said.has(KEY) || said.has(KEY_TOO) {
        Cause::Credential
    } else if said.lacks_capacity() {
        Cause::Overloaded
    } else if said.has(LIMIT) || said.is_about_money() {
        said.limit_or_money()
    } else if said.has(FAILING) {
        Cause::ServerError
    } else {
        return None;
    };
    Some(cause)
}

impl Said {
    fn limit_or_money(&self) -> Cause {
        if self.has(LIMIT) { self.limit() } else { Cause::Quota }
    }

    /// What a request that was refused as such (400, 422) says of its provider or account; most often nothing.
    pub(super) fn bad_request(&self) -> Option<Cause> {
        if self.lacks_the_model() {
            Some(Cause::ModelMissing)
        } else if self.has(KEY) || self.has(KEY_TOO) {
            Some(Cause::Credential)
        } else if self.is_about_money() || self.has(&["usage limits"]) {
            Some(Cause::Quota)
        } else if self.has(&["rate limit", "rate_limit", "too many requests"]) {
            Some(self.limit())
        } else {
            None
        }
    }
}

/// Those who sell, serve or route models, and what speaks to them.
const PROVIDERS: &[&str] = &[
    "openai",
    "anthropic",
    "claude",
    "gemini",
    "generativelanguage",
    "aiplatform",
    "cloudcode",
    "genai",
    "bedrock",
    "azure",
    "openrouter",
    "mistral",
    "deepseek",
    "groq",
    "ollama",
    "vllm",
    "litellm",
    "codex",
    "chatgpt",
    "cohere",
    "fireworks",
    "perplexity",
    "moonshot",
    "minimax",
    "nvidia",
    "cerebras",
    "googleapi:",
];

/// Words of any interface of models.
const MODEL_APIS: &[&str] = &[
    "model",
    "llm",
    "gpt",
    "token",
    "completion",
    "inference",
    "provider",
    "prompt",
    "api key",
    "quota",
    "credit",
    ":11434",
    "/v1",
];

/// Whether a text names a provider of models.
pub fn names_a_provider(text: &str) -> bool {
    Said::of(text).has(PROVIDERS)
}

/// Whether a text names an interface of models. Where it has an address, that must be one of theirs: registries, code hosts and
/// databases limit and refuse in the same words.
pub fn names_a_model_api(text: &str) -> bool {
    let said = Said::of(text);
    let mut addresses = said.0.match_indices("://").map(|(at, _)| address(&said.0[at..])).peekable();
    match addresses.peek() {
        None => said.has(PROVIDERS) || said.has(MODEL_APIS),
        Some(_) => addresses.any(|a| {
            let mut all = PROVIDERS.iter().chain(MODEL_APIS);
            a.starts_with("://aka.ms/oai") || all.any(|w| a.contains(w))
        }),
    }
}

fn address(text: &str) -> &str {
    text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ')' | ']' | '>'))
        .next()
        .unwrap_or_default()
}

/// Whether the words alone show that a provider refused.
pub fn reads_as_refusal(text: &str) -> bool {
    let said = Said::of(text);
    said.has(REFUSALS) || said.has(KEY) || said.has(NO_MODEL)
}
