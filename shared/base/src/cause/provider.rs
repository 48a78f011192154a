//! What the failure of a provider means: by its status, by the class of its SDK, by its words.

use super::words::Said;
use super::{Cause, of_words, stated};

/// What an HTTP status with the provider's own words means; `None` where it says nothing about provider or
/// account (a 400 about the request itself, say). The distinctions follow the error classifier of Hermes
/// 0.19.
pub fn of_http(status: u16, message: &str) -> Option<Cause> {
    let said = Said::of(message);
    match status {
        429 => Some(said.limit()),
        402 => Some(Cause::Quota),
        401 => Some(Cause::Credential),
        403 if said.is_about_money() || said.has(&["key limit exceeded", "usage limit"]) => {
            Some(Cause::Quota)
        }
        // A relay's word for a failure behind it.
        403 if said.has(&["server_error"]) => Some(Cause::ServerError),
        403 => Some(Cause::Credential),
        404 if said.is_about_money() => Some(Cause::Quota),
        404 if said.is_empty() || said.lacks_the_model() || said.has(&["model"]) => Some(Cause::ModelMissing),
        // A path nobody serves: the endpoint in the configuration is wrong, not the model.
        404 => Some(Cause::Misconfigured),
        503 | 529 => Some(Cause::Overloaded),
        408 => Some(Cause::ServerError),
        500..=599 if said.lacks_capacity() => Some(Cause::Overloaded),
        500..=599 => Some(Cause::ServerError),
        // Some providers answer 400 where others answer 401, 402, 404 or 429.
        400 => said.bad_request(),
        _ => None,
    }
}

/// What a provider's failure, as Hermes 0.19 sums it up in one line, means: `HTTP 429: ...`, `HTTP 503 —
/// ...`, `Error code: 401 - ...`, `Connection error.`, or an SDK's class name. The status is given where the
/// line names one. For texts that may be no failure at all; see [`of_failure`].
pub fn of_api_error(detail: &str) -> Option<(Cause, Option<u16>)> {
    let detail = detail.trim();
    if let Some((status, rest)) = leading_status(detail) {
        return of_http(status, rest).map(|c| (c, Some(status)));
    }
    let lower = detail.to_lowercase();
    let opens = |words: &[&str]| words.iter().any(|w| lower.starts_with(w));
    let cause = if opens(REFUSED) || lower.contains("connection refused") {
        Cause::ConnectionRefused
    } else if opens(&["request timed out", "timed out", "the read operation timed out", "read timeout"]) {
        Cause::ServerError
    } else if lower.contains("overloaded") {
        Cause::Overloaded
    } else {
        return of_class_name(detail).map(|c| (c, None));
    };
    Some((cause, None))
}

/// The same for words that surely are a failure's: any status they state counts, and any word of a refusal.
pub fn of_failure(detail: &str) -> Option<(Cause, Option<u16>)> {
    let named = of_api_error(detail);
    let status = named.and_then(|(_, status)| status).or_else(|| stated(detail));
    let by_status = || status.and_then(|s| of_http(s, detail));
    let cause = named.map(|(cause, _)| cause).or_else(by_status);
    // A 400 without a word of the account is about the request.
    let is_silent = leading_status(detail.trim()).is_some() || status.is_some();
    let cause = cause.or_else(|| of_words(detail).filter(|_| !is_silent))?;
    Some((cause, status))
}

const REFUSED: &[&str] = &[
    "connection error",
    "connection refused",
    "connection reset",
    "connection closed",
    "connection lost",
    "network connection lost",
    "server disconnected",
    "peer closed connection",
    "all connection attempts failed",
];

/// `HTTP 429` or `Error code: 429` at the very start, with what follows. A status is exactly three digits
/// that end.
fn leading_status(s: &str) -> Option<(u16, &str)> {
    let rest = s.strip_prefix("HTTP ").or_else(|| s.strip_prefix("Error code: "))?;
    let digits = rest.get(..3)?;
    let status: u16 = digits.parse().ok().filter(|n| (400..600).contains(n))?;
    let rest = rest.get(3..)?;
    if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.') {
        return None;
    }
    Some((status, rest.trim_start_matches([':', ')', '-', '—', ' '])))
}

/// The exception classes of SDKs, as whole words anywhere in a text.
pub fn of_class_name(text: &str) -> Option<Cause> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|w| w.ends_with("Error") || w.ends_with("Exception")).find_map(|word| of_class(word, text))
}

/// What a class of an SDK means with these words behind it. Each stands for a status, or for a connection.
pub fn of_class(class: &str, said: &str) -> Option<Cause> {
    let status = match class {
        "RateLimitError"
        | "ThrottlingException"
        | "throttlingException"
        | "TooManyRequestsException"
        | "ResourceExhausted" => 429,
        "ServiceQuotaExceededException" => return Some(Cause::Quota),
        "AuthenticationError"
        | "UnrecognizedClientException"
        | "ExpiredTokenException"
        | "InvalidSignatureException"
        | "NoCredentialsError"
        | "Unauthenticated"
        | "AI_LoadAPIKeyError" => 401,
        "PermissionDeniedError" | "AccessDeniedException" | "accessDeniedException" | "PermissionDenied" => {
            403
        }
        "NotFoundError" | "ProviderModelNotFoundError" | "NotFound" => {
            return of_http(404, said).filter(|c| *c == Cause::Quota).or(Some(Cause::ModelMissing));
        }
        "InternalServerError"
        | "InternalServerException"
        | "ModelErrorException"
        | "ModelStreamErrorException" => 500,
        "APITimeoutError" | "ModelTimeoutException" | "ReadTimeoutError" | "DeadlineExceeded" => 408,
        "ServiceUnavailableError"
        | "ServiceUnavailableException"
        | "serviceUnavailableException"
        | "ModelNotReadyException"
        | "ServiceUnavailable" => 503,
        "OverloadedError" => 529,
        "APIConnectionError" | "ConnectError" | "ConnectTimeoutError" | "EndpointConnectionError" => {
            return Some(Cause::ConnectionRefused);
        }
        // They say only that something failed.
        "BadRequestError" | "ValidationException" => 400,
        _ => return None,
    };
    of_http(status, said)
}
