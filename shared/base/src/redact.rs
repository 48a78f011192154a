//! Secrets out of everything that is quoted.
//!
//! Nothing that comes from a log, a transcript or git reaches a board, a terminal or a metric before it went through
//! [`redact`]. What is taken out is replaced by a word for what it was, `[redacted: openai key]`, so that a reader still
//! understands the line. When in doubt a word too much is taken: a lost word costs a look into the log, a leaked key
//! costs the key.
//!
//! **Why no regular expressions.** One alternation of 15 shapes for the `regex` crate was measured against this: 0.9 ms
//! to compile at the first quotation of a process whose whole pass takes a few milliseconds, 1.2 MB more executable,
//! and three more packages; and it can say neither "looks random", "goes on behind the box's border" nor "is already
//! taken out", so that half of this code would stand around it all the same.
//!
//! **What it cannot see**: a key without a known beginning and without a name in front of it, if it is shorter than 32
//! characters, or all digits and `a` to `f` (as a commit is; with `0x` and 64 digits it is a key); one whose known beginning
//! is itself torn over two lines; a second half that is quoted without the first and is short; one that is spelt with spaces,
//! in another alphabet, or encoded once more (percent, hexadecimal); a password in a sentence ("use hunter2"), or behind the
//! short flag of a program that is not in the list; words after the first of an unquoted value, but for passwords at the start
//! of a line or of plain words; the words of a mnemonic without a name; a name and its YAML block that are quoted line by line.

mod commands;
mod json;
mod keys;
mod named;
mod shapes;
mod text;

use std::borrow::Cow;

pub use self::json::json;
pub use self::text::visible;

use crate::named_enum::named_enum;

named_enum! {
    /// What a secret was.
    enum Kind {
        ApiKey = "[redacted: api key]",
        Anthropic = "[redacted: anthropic key]",
        Authorization = "[redacted: authorization]",
        Aws = "[redacted: aws key]",
        Azure = "[redacted: azure key]",
        Cookie = "[redacted: cookie]",
        Credential = "[redacted: credential]",
        GitHub = "[redacted: github token]",
        GitLab = "[redacted: gitlab token]",
        Google = "[redacted: google key]",
        Groq = "[redacted: groq key]",
        HuggingFace = "[redacted: huggingface token]",
        Jwt = "[redacted: jwt]",
        Npm = "[redacted: npm token]",
        OpenAi = "[redacted: openai key]",
        OpenRouter = "[redacted: openrouter key]",
        Password = "[redacted: password]",
        PrivateKey = "[redacted: private key]",
        PyPi = "[redacted: pypi token]",
        Random = "[redacted: random text]",
        Replicate = "[redacted: replicate token]",
        Secret = "[redacted: secret]",
        Slack = "[redacted: slack token]",
        Stripe = "[redacted: stripe key]",
        Token = "[redacted: token]",
        UrlLogin = "[redacted: url login]",
        Webhook = "[redacted: webhook]",
        Xai = "[redacted: xai key]",
    }
}

/// A secret in a text: bytes `from..to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hit {
    from: usize,
    to: usize,
    kind: Kind,
}

/// Looks for a secret whose first sign stands at this byte; the secret itself may begin later.
type Rule = fn(&str, usize) -> Option<Hit>;

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";

/// The surest and most telling first, each with the bytes at which it may find something.
const RULES: [(Rule, &[&str]); 13] = [
    (shapes::private_key, &["-"]),
    (keys::known, &[LETTERS, DIGITS]),
    (shapes::jwt, &["e"]),
    (shapes::url_login, &[":"]),
    (shapes::webhook, &["hdw"]),
    (shapes::scheme, &["Bb-"]),
    (commands::flag, &["-"]),
    (commands::pair, &["(["]),
    (commands::netrc, &["p"]),
    (shapes::mnemonic, &["mMsSrR"]),
    (named::value, &[LETTERS, DIGITS, "_-."]),
    (shapes::hexadecimal, &[DIGITS, "abcdefABCDEF"]),
    (shapes::random, &[LETTERS, DIGITS, "+/"]),
];

/// By a byte which rules may find something there, as bits.
const AT: [u16; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < RULES.len() {
        let mut part = 0;
        while part < RULES[n].1.len() {
            let bytes = RULES[n].1[part].as_bytes();
            let mut i = 0;
            while i < bytes.len() {
                table[bytes[i] as usize] |= 1 << n;
                i += 1;
            }
            part += 1;
        }
        n += 1;
    }
    table
};

/// Rounds until nothing more is found. Taking something out can make a secret of what stands beside it.
const MAX_ROUNDS: usize = 12;

/// The text without secrets, terminal escapes and invisible characters; line ends and tabs stay. Doing it twice comes
/// to the same as doing it once, and a text without any of these is returned as it is. See the module for what it
/// cannot see.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut now = visible(text);
    for _ in 0..MAX_ROUNDS {
        match round(&now) {
            None => return now,
            Some(next) => now = Cow::Owned(next),
        }
    }
    // Not known to happen, and no reason to let anything through.
    Cow::Borrowed(Kind::Random.as_str())
}

/// One look over the whole text; `None` where there is nothing to take out.
fn round(text: &str) -> Option<String> {
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(byte) = text.as_bytes().get(at) {
        if *byte == b'['
            && let Some(marker) = marker_at(text, at)
        {
            at += marker.len();
            continue;
        }
        let Some(hit) = hit_at(text, at).map(|h| whole(text, h)) else {
            at += 1;
            continue;
        };
        out.push_str(&text[copied..hit.from]);
        out.push_str(hit.kind.as_str());
        (at, copied) = (hit.to, hit.to);
    }
    (copied > 0).then(|| out + &text[copied..])
}

/// What the first of the rules finds at this byte. None of them begins inside a character of several bytes.
fn hit_at(text: &str, at: usize) -> Option<Hit> {
    let mut rules = AT[usize::from(text.as_bytes()[at])];
    if rules == 0 || keys::is_inside(text.as_bytes(), at) {
        return None;
    }
    while rules != 0 {
        let (rule, _) = RULES[rules.trailing_zeros() as usize];
        if let Some(hit) = rule(text, at) {
            return Some(hit);
        }
        rules &= rules - 1;
    }
    None
}

/// The hit with what belongs to it: the rest behind a line wrap, and all of a marker that it would cut in two.
fn whole(text: &str, hit: Hit) -> Hit {
    // A private key is many lines by nature, and was followed over them.
    let to = if hit.kind == Kind::PrivateKey { hit.to } else { text::over_wraps(text, hit.to) };
    let split = text[hit.from..to].rfind("[redacted").and_then(|n| {
        let at = hit.from + n;
        marker_at(text, at).map(|m| at + m.len())
    });
    Hit { to: split.map_or(to, |end| end.max(to)), ..hit }
}

/// Our own words at this place. Only these exact words count: a secret dressed as a marker does not.
pub fn marker_at(text: &str, at: usize) -> Option<&'static str> {
    let rest = text.get(at..).filter(|r| r.starts_with('['))?;
    Kind::ALL.into_iter().map(Kind::as_str).find(|m| rest.starts_with(m))
}

/// Whether this is nothing but markers.
fn is_marked(text: &str) -> bool {
    let mut at = 0;
    while let Some(marker) = marker_at(text, at) {
        at += marker.len();
    }
    at == text.len() && at > 0
}

#[cfg(test)]
mod tests;
