//! Where a failure's words state the HTTP status.

/// Words directly before a status.
const BEFORE: [&str; 10] = [
    "error",
    "status",
    "code",
    "http",
    "statuscode",
    "returned",
    "details",
    "rejected",
    "exceeded",
    "repeated",
];

/// The status a failure's words state: `Error code: 429 - {...`, `https response error StatusCode: 403,`, `[429 Too Many
/// Requests]`. A number that merely stands in a sentence does not count.
pub fn stated(text: &str) -> Option<u16> {
    if let Some(status) = stated_at_start(text) {
        return Some(status);
    }
    numbers(text).find(|found| found.is_announced(text) && found.is_closed(text)).map(|found| found.status)
}

/// The same where the text begins with it: `429 {"error":...`, `402 Insufficient Balance`.
pub fn stated_at_start(text: &str) -> Option<u16> {
    numbers(text).next().filter(|found| found.at == 0 && found.is_closed(text)).map(|found| found.status)
}

#[derive(Debug, Clone, Copy)]
struct Found {
    at: usize,
    status: u16,
}

/// Numbers of three digits that stand alone and may be the status of a failure.
fn numbers(text: &str) -> impl Iterator<Item = Found> + '_ {
    let bytes = text.as_bytes();
    let is_part = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    (0..bytes.len().saturating_sub(2)).filter_map(move |at| {
        let alone = matches!(bytes[at], b'4' | b'5')
            && !is_part(at.checked_sub(1).and_then(|i| bytes.get(i)))
            && !is_part(bytes.get(at + 3));
        let status = text.get(at..at + 3).filter(|_| alone)?.parse().ok()?;
        Some(Found { at, status })
    })
}

impl Found {
    /// A word for a status, or an opening bracket, stands before it.
    fn is_announced(self, text: &str) -> bool {
        let before = text[..self.at].trim_end_matches([' ', ':', '=', '(', '[', '"', '\'', '\\']);
        let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let is_bracketed = text[..self.at].ends_with('[');
        is_bracketed || BEFORE.iter().any(|w| word.eq_ignore_ascii_case(w))
    }

    /// What follows does not go on with a sentence.
    fn is_closed(self, text: &str) -> bool {
        let rest = &text[self.at + 3..];
        let behind = rest.trim_start_matches(' ');
        let first = behind.chars().next();
        let is_mark = |c: char| !c.is_alphanumeric() || c.is_uppercase();
        // `429.5` and `429,000` are other numbers.
        let is_longer = rest.starts_with(['.', ',']) && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        !is_longer
            && first.is_none_or(|c| if rest.starts_with(' ') { is_mark(c) } else { !c.is_alphanumeric() })
            && !behind.starts_with("| ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_announced_and_closed() {
        for (text, status) in [
            ("Error code: 429 - {'error': {}}", Some(429)),
            ("OpenAI error, status code: 500, message: Internal", Some(500)),
            ("https response error StatusCode: 403, RequestID: x", Some(403)),
            ("Error fetching from https://x/v1: [429 Too Many Requests] You exceeded", Some(429)),
            ("{\"error\":{\"message\":\"x\",\"code\":503,\"status\":\"y\"}}", Some(503)),
            ("{'error': {'code': 404, 'message': 'x'}}", Some(404)),
            ("API Error: 529 Overloaded", Some(529)),
            ("429 Provider returned error", Some(429)),
            ("Client error '429 Too Many Requests' for url", Some(429)),
            ("Error code: 429 is handled in retry.py", None),
            ("429 tests passed", None),
            ("Error 429 means that you are limited", None),
            ("A 429 Rate Limit error", None),
            ("status: 4290", None),
            ("HTTP 429.5", None),
            ("limit 500 reached", None),
            ("", None),
        ] {
            assert_eq!(stated(text), status, "{text}");
        }
    }
}
