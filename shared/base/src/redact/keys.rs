//! Keys that say by their beginning whose they are.

use super::text::{Mix, ceil, is_key_byte, is_word_start, run};
use super::{Hit, Kind};

/// How a kind of key is spelt.
struct Spelling {
    begin: &'static str,
    kind: Kind,
    chars: Chars,
    /// At least this many characters after the beginning, masked ones aside.
    least: usize,
    sign: Sign,
    /// How many characters a whole one has, where all have the same: so many are put together over a break.
    whole: usize,
}

impl Spelling {
    const fn of(self, whole: usize) -> Spelling {
        Spelling { whole, ..self }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chars {
    /// Letters and digits.
    Plain,
    /// These and `_`, `-`.
    Key,
    /// These and `.` between two of them.
    Dotted,
    /// Letters, digits, `+`, `/`, `=`.
    Base64,
}

/// How much the beginning alone says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// Nothing else begins so: it counts in the middle of a word too.
    Sure,
    /// Counts where a word begins; inside one, only if what follows looks random.
    Word,
}

const fn sure(begin: &'static str, kind: Kind, chars: Chars, least: usize) -> Spelling {
    Spelling { begin, kind, chars, least, sign: Sign::Sure, whole: 0 }
}

const fn word(begin: &'static str, kind: Kind, chars: Chars, least: usize) -> Spelling {
    Spelling { begin, kind, chars, least, sign: Sign::Word, whole: 0 }
}

/// From the providers' own documentation of their keys, and from what Hermes 0.19 masks in its own logs.
/// Longer beginnings stand before the shorter ones they contain.
const SPELLINGS: &[Spelling] = &[
    sure("sk-ant-", Kind::Anthropic, Chars::Key, 4),
    sure("sk-or-", Kind::OpenRouter, Chars::Key, 8),
    sure("sk-proj-", Kind::OpenAi, Chars::Key, 4),
    sure("sk-svcacct-", Kind::OpenAi, Chars::Key, 4),
    sure("sk-admin-", Kind::OpenAi, Chars::Key, 8),
    word("sk-", Kind::OpenAi, Chars::Key, 16),
    sure("sk_live_", Kind::Stripe, Chars::Plain, 6),
    sure("sk_test_", Kind::Stripe, Chars::Plain, 10),
    sure("rk_live_", Kind::Stripe, Chars::Plain, 6),
    sure("rk_test_", Kind::Stripe, Chars::Plain, 10),
    sure("whsec_", Kind::Stripe, Chars::Base64, 10),
    word("sk_", Kind::ApiKey, Chars::Plain, 20),
    word("AIza", Kind::Google, Chars::Key, 16).of(35),
    word("ya29.", Kind::Google, Chars::Key, 10),
    sure("GOCSPX-", Kind::Google, Chars::Key, 8),
    word("1//0", Kind::Google, Chars::Key, 20),
    word("xai-", Kind::Xai, Chars::Plain, 16),
    word("gsk_", Kind::Groq, Chars::Plain, 10),
    word("hf_", Kind::HuggingFace, Chars::Plain, 16).of(34),
    word("r8_", Kind::Replicate, Chars::Plain, 16),
    sure("github_pat_", Kind::GitHub, Chars::Key, 8),
    word("ghp_", Kind::GitHub, Chars::Plain, 8).of(36),
    word("gho_", Kind::GitHub, Chars::Plain, 8).of(36),
    word("ghu_", Kind::GitHub, Chars::Plain, 8).of(36),
    word("ghs_", Kind::GitHub, Chars::Plain, 8).of(36),
    word("ghr_", Kind::GitHub, Chars::Plain, 8).of(36),
    sure("glpat-", Kind::GitLab, Chars::Dotted, 8),
    sure("gldt-", Kind::GitLab, Chars::Key, 8),
    sure("glrt-", Kind::GitLab, Chars::Dotted, 8),
    sure("glptt-", Kind::GitLab, Chars::Key, 8),
    sure("glcbt-", Kind::GitLab, Chars::Key, 8),
    sure("gloas-", Kind::GitLab, Chars::Key, 8),
    sure("xoxb-", Kind::Slack, Chars::Key, 6),
    sure("xoxp-", Kind::Slack, Chars::Key, 6),
    sure("xoxa-", Kind::Slack, Chars::Key, 6),
    sure("xoxr-", Kind::Slack, Chars::Key, 6),
    sure("xoxs-", Kind::Slack, Chars::Key, 6),
    sure("xoxc-", Kind::Slack, Chars::Key, 6),
    sure("xoxd-", Kind::Slack, Chars::Key, 6),
    sure("xoxe-", Kind::Slack, Chars::Key, 6),
    sure("xoxe.", Kind::Slack, Chars::Key, 6),
    sure("xapp-", Kind::Slack, Chars::Key, 6),
    word("AKIA", Kind::Aws, Chars::Plain, 12).of(16),
    word("ASIA", Kind::Aws, Chars::Plain, 12).of(16),
    word("ABSK", Kind::Aws, Chars::Base64, 40),
    word("npm_", Kind::Npm, Chars::Plain, 20).of(36),
    sure("pypi-AgE", Kind::PyPi, Chars::Key, 8),
    word("pypi-", Kind::PyPi, Chars::Key, 40),
    word("pplx-", Kind::ApiKey, Chars::Plain, 16),
    word("nvapi-", Kind::ApiKey, Chars::Key, 16),
    word("csk-", Kind::ApiKey, Chars::Plain, 16),
    word("hsk-", Kind::ApiKey, Chars::Plain, 16),
    word("fw_", Kind::ApiKey, Chars::Plain, 20),
    word("fw-", Kind::ApiKey, Chars::Plain, 20),
    word("fpk_", Kind::ApiKey, Chars::Plain, 20),
    word("tvly-", Kind::ApiKey, Chars::Key, 16),
    word("fc-", Kind::ApiKey, Chars::Plain, 24),
    word("fal_", Kind::ApiKey, Chars::Key, 24),
    word("exa_", Kind::ApiKey, Chars::Plain, 16),
    word("am_", Kind::ApiKey, Chars::Plain, 24),
    word("bb_live_", Kind::ApiKey, Chars::Key, 10),
    word("mem0_", Kind::ApiKey, Chars::Plain, 16),
    word("syt_", Kind::Token, Chars::Key, 16),
    word("lsv2_pt_", Kind::ApiKey, Chars::Key, 16),
    word("lsv2_sk_", Kind::ApiKey, Chars::Key, 16),
    word("lin_api_", Kind::ApiKey, Chars::Plain, 16),
    word("ntn_", Kind::ApiKey, Chars::Plain, 16),
    word("figd_", Kind::ApiKey, Chars::Key, 16),
    word("dop_v1_", Kind::ApiKey, Chars::Plain, 16),
    word("doo_v1_", Kind::ApiKey, Chars::Plain, 16),
    word("dapi", Kind::ApiKey, Chars::Plain, 32),
    word("SG.", Kind::ApiKey, Chars::Dotted, 20),
    sure("hvs.", Kind::Token, Chars::Key, 16),
    sure("dckr_pat_", Kind::Token, Chars::Key, 10),
    sure("shpat_", Kind::Token, Chars::Plain, 16),
    sure("sbp_", Kind::Token, Chars::Plain, 20),
    sure("sb_secret_", Kind::Secret, Chars::Key, 10),
    sure("AGE-SECRET-KEY-1", Kind::PrivateKey, Chars::Plain, 10),
    word("gAAAA", Kind::Token, Chars::Key, 20),
    // How the base64 of a private key begins (PKCS#1, PKCS#8, SEC 1, OpenSSH), for lines quoted without their header.
    word("MIIE", Kind::PrivateKey, Chars::Base64, 12),
    word("MIIJ", Kind::PrivateKey, Chars::Base64, 12),
    word("MIICX", Kind::PrivateKey, Chars::Base64, 12),
    word("MHcCAQEE", Kind::PrivateKey, Chars::Base64, 8),
    word("MIGHAgEA", Kind::PrivateKey, Chars::Base64, 8),
    word("MC4CAQAw", Kind::PrivateKey, Chars::Base64, 8),
    word("b3BlbnNzaC1rZXktdjE", Kind::PrivateKey, Chars::Base64, 4),
];

/// So many bytes of a body tell whether it is a key's; without a bound a long line would be read again at each `-`.
const ENOUGH: usize = 600;

/// A key that begins at this byte.
pub(super) fn known(text: &str, at: usize) -> Option<Hit> {
    let rest = &text.as_bytes()[at..];
    // Most of any text ends here.
    let (Some(first), Some(second)) = (rest.first(), rest.get(1)) else { return None };
    if first.is_ascii_digit()
        && let Some(token) = bot_token(text, at)
    {
        return Some(token);
    }
    if BEGINNINGS[usize::from(*first)] >> (second & 63) & 1 == 0 {
        return None;
    }
    let begins = |s: &&Spelling| {
        let begin = s.begin.as_bytes();
        begin[0] == *first && begin[1] == *second && rest.starts_with(begin)
    };
    SPELLINGS.iter().filter(begins).find_map(|s| spelt(text, at, s))
}

/// By the first byte of a key which second bytes may follow it, as bits of their lower six: nearly nothing else is compared with
/// any of the beginnings.
const BEGINNINGS: [u64; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < SPELLINGS.len() {
        let begin = SPELLINGS[n].begin.as_bytes();
        table[begin[0] as usize] |= 1 << (begin[1] & 63);
        n += 1;
    }
    table
};

/// Whether a letter or digit stands inside a word, where no rule begins: nearly all of any text.
pub(super) fn is_inside(bytes: &[u8], at: usize) -> bool {
    let back = |n: usize| at.checked_sub(n).map_or(b' ', |n| bytes[n]);
    let (byte, next) = (bytes[at], bytes.get(at + 1).copied().unwrap_or(b' '));
    // What stands behind a written `\\n` or `%20` begins a word.
    let inside = byte.is_ascii_alphanumeric()
        && back(1).is_ascii_alphanumeric()
        && back(2) != b'\\'
        && back(3) != b'%';
    // A web token, an address of a webhook, a bot's number.
    let other =
        matches!(byte, b'e' | b'h' | b'd' | b'w') || byte.is_ascii_digit() && !back(1).is_ascii_digit();
    inside && !other && BEGINNINGS[usize::from(byte)] >> (next & 63) & 1 == 0
}

fn spelt(text: &str, at: usize, s: &Spelling) -> Option<Hit> {
    let body = at + s.begin.len();
    let near = &text[..ceil(text, body + ENOUGH)];
    if let Some(to) = torn(near, at, body, s) {
        return Some(Hit { from: at, to, kind: s.kind });
    }
    let (to, masked) = extent(near, body, s.chars);
    let plain = &text[body..to];
    let starts = s.sign == Sign::Sure || is_word_start(text, at);
    let holds = match (masked, starts) {
        (true, starts) => starts,
        (false, true) => plain.len() >= s.least && looks_the_part(s, plain),
        (false, false) => plain.len() >= s.least.max(20) && Mix::of(plain).is_random(),
    };
    holds.then(|| Hit { from: at, to: extent(text, body, s.chars).0, kind: s.kind })
}

/// The end of a key of known length that a blank or a line end broke in two or three: nothing else comes to just this length.
fn torn(text: &str, at: usize, body: usize, s: &Spelling) -> Option<usize> {
    let part = |from: usize| {
        run(text, from, |b| b.is_ascii_alphanumeric() || s.chars == Chars::Key && is_key_byte(b))
    };
    if s.whole == 0 {
        return None;
    }
    let mut to = part(body);
    let mut length = to - body;
    if length < 4 || length >= s.whole || !is_word_start(text, at) {
        return None;
    }
    for _ in 0..2 {
        let from = run(text, to, |b| b == b' ' || b == b'\n');
        let from = if text[from..].starts_with("\\n") { from + 2 } else { from };
        let end = part(from);
        if from == to || from > to + 12 || end == from {
            return None;
        }
        (length, to) = (length + end - from, end);
        if length >= s.whole {
            break;
        }
    }
    (length == s.whole && Mix::of(&text[body..to]).is_keyish()).then_some(to)
}

/// `sk-` and the like also begin names of things; a key has a digit, or is of many sorts.
fn looks_the_part(s: &Spelling, plain: &str) -> bool {
    let least = s.least.min(10);
    s.sign == Sign::Sure
        || matches!(s.kind, Kind::Aws)
        || plain.bytes().any(|b| b.is_ascii_digit()) && plain.split(['-', '_']).any(|p| p.len() >= least)
        || Mix::of(plain).is_random()
        || plain.len() >= 32 && !plain.contains(['-', '_'])
}

/// The end of a key's body, and whether its writer already masked part of it (`sk-...abcd`).
fn extent(text: &str, from: usize, chars: Chars) -> (usize, bool) {
    let test = |b: u8| match chars {
        Chars::Plain => b.is_ascii_alphanumeric(),
        Chars::Key | Chars::Dotted => is_key_byte(b),
        Chars::Base64 => b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='),
    };
    let (mut to, mut masked) = (run(text, from, test), false);
    loop {
        let mask = mask(&text[to..]);
        if mask > 0 {
            to = run(text, to + mask, is_key_byte);
            masked = true;
            continue;
        }
        let dotted = chars == Chars::Dotted && text[to..].starts_with('.');
        if dotted && text.as_bytes().get(to + 1).is_some_and(|b| test(*b)) {
            to = run(text, to + 1, test);
            continue;
        }
        return (to, masked);
    }
}

/// Bytes of a run of masking characters at the start; two asterisks or three dots are one.
pub(super) fn mask(text: &str) -> usize {
    let len = |c: char| text.len() - text.trim_start_matches(c).len();
    let (stars, dots) = (len('*'), len('.'));
    let other = text.len() - text.trim_start_matches(['…', '•', '●', '█', '∗']).len();
    match (stars, dots) {
        (2.., _) => stars,
        (_, 3..) => dots,
        _ => other,
    }
}

/// `123456789:AA...` of a Telegram bot.
fn bot_token(text: &str, at: usize) -> Option<Hit> {
    if !is_word_start(text, at) && !text[..at].ends_with("bot") {
        return None;
    }
    let digits = run(text, at, |b| b.is_ascii_digit());
    let rest = text.get(digits..)?.strip_prefix(":A")?;
    let to = run(text, text.len() - rest.len(), is_key_byte);
    ((8..=10).contains(&(digits - at)) && to - digits >= 30).then_some(Hit {
        from: at,
        to,
        kind: Kind::Token,
    })
}
