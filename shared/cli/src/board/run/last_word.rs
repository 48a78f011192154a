//! Whether what a command printed ends on a refusal, where it says by its exit code that all went well.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use logs::{Evidence, plain};

/// A command that printed more than so many bytes after a refusal went on with its work.
const MAX_TAIL: u64 = 65_536;

/// Whether nothing but one more line follows this in a log. An agent that tries again by itself and finishes says more, if only in one
/// line. Of records in JSON the last one tells, whatever stands behind it.
pub(super) fn is_last_word(log: &Path, e: &Evidence) -> bool {
    tail(log, e.offset).is_ok_and(|tail| is_end(&tail))
}

fn tail(log: &Path, offset: u64) -> io::Result<String> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut text = Vec::new();
    file.take(MAX_TAIL + 1).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn is_end(tail: &str) -> bool {
    let Some(first) = tail.lines().find(|line| !line.trim().is_empty()) else { return false };
    let first = plain::shown(first);
    if first.starts_with('{') {
        return true;
    }
    // Of itself: a provider that says "Please retry after 20 seconds" says it to a person.
    let said = first.to_ascii_lowercase();
    let tries_again = ["retrying", "will retry"].iter().any(|word| said.contains(word));
    // But for the bill of aider, which it prints at every end.
    let more = plain::lines_after_failure(tail.lines().filter(|line| !line.starts_with("Tokens: ")));
    u64::try_from(tail.len()).is_ok_and(|len| len <= MAX_TAIL) && more <= usize::from(!tries_again)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_more_after_a_refusal_went_on() {
        for (tail, want) in [
            ("API Error: Rate limit reached\n", true),
            ("API Error: Rate limit reached\n\n  at line 3\n  at line 4\nSee the docs.\n", true),
            ("Error: 429 Too Many Requests {\n  \"error\": {\n  }\n}\nSession ended.\n", true),
            ("API Error: 503\n<html>\n<body>overloaded</body>\n</html>\n", true),
            ("API Error: 503\n<html>\n</html>\nApplied edit to parser.rs\nCommit 1a2b3c4\n", false),
            ("Error: HTTP 429: Rate limit reached. Please retry after 20 seconds.\nSession ended.\n", true),
            ("litellm.RateLimitError: 429\nTry again later.\n\nTokens: 2.4k sent, 0 received.\n", true),
            ("API Error (429) · Retrying in 5 seconds…\n", true),
            ("API Error (429) · Retrying in 5 seconds…\nI updated the parser and the tests pass.\n", false),
            ("litellm.RateLimitError: 429\nApplied edit to parser.rs\nCommit 1a2b3c4\n", false),
            ("{\"type\":\"result\",\"is_error\":true}\n{\"type\":\"x\"}\n{}\n{}\n", true),
            (
                "{\"type\":\"result\",\"is_error\":true}\nnpm notice\nnpm notice New version\nnpm notice\n",
                true,
            ),
            ("\u{1b}[31mAPI Error: Rate limit reached\u{1b}[0m\n\u{1b}[0m\n\u{1b}[?25h\n", true),
            ("", false),
        ] {
            assert_eq!(is_end(tail), want, "{tail}");
        }
        assert!(!is_end(&format!("API Error: Rate limit reached\n{}", "a".repeat(70_000))));
    }
}
