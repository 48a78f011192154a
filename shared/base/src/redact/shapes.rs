//! Secrets known by their shape: private keys, web tokens, logins in addresses, headers, and plain randomness.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::keys::mask;
use super::named::is_spoken;
use super::text::{Mix, before, ceil, is_key_byte, is_word_start, run};
use super::{Hit, Kind, is_marked};

/// A private key's end is looked for this far, in bytes; an RSA key of 16384 bits takes 13 KB.
const FAR: usize = 20_000;
/// Most bytes of an address that are looked at.
const MAX_ADDRESS: usize = 1000;

/// A PEM block, cut off or whole, its line ends real or spelt `\n`.
pub(super) fn private_key(text: &str, at: usize) -> Option<Hit> {
    let rest = text[at..].strip_prefix("-----BEGIN ")?;
    let label = &rest[..run(rest, 0, |b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ')];
    if !label.contains("PRIVATE") {
        return None;
    }
    let body = text.len() - rest.len() + label.len();
    let far = ceil(text, body + FAR);
    let to = match text[body..far].find("-----END") {
        Some(n) => {
            let from = body + n + "-----END".len();
            let end = run(text, from, |b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ');
            // Any other label may be the name of another secret.
            if text[from..end].contains("PRIVATE") { run(text, end, |b| b == b'-') } else { from }
        }
        None => torn_key(text, run(text, body, |b| b == b'-')),
    };
    Some(Hit { from: at, to, kind: Kind::PrivateKey })
}

/// A key without its end: all words that follow as long as they can be part of one.
fn torn_key(text: &str, mut to: usize) -> usize {
    loop {
        let rest = &text[to..];
        let gap = rest.trim_start_matches([' ', '\t', '\n', '│', '┃', '|', '>', '"', '\'', ',']);
        let gap = gap
            .trim_start_matches('\\')
            .strip_prefix(['n', 'r'])
            .filter(|_| gap.starts_with('\\'))
            .unwrap_or(gap);
        let from = text.len() - gap.len();
        let end = run(text, from, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b':' | b',')
        });
        let word = &text[from..end];
        let header =
            word.ends_with(':') && word.contains('-') || word.contains("ENCRYPTED") || word.contains("CBC,");
        let base64 = word.len() >= 16 && !word.contains(['-', ':', ','])
            || word.ends_with('=')
            || (word.len() >= 4 && Mix::of(word).is_keyish());
        let ends = text[end..].chars().next().is_none_or(|c| c.is_whitespace() || "\\\"'`│┃|<".contains(c));
        if word.is_empty() || !ends || !(header || base64) {
            return to;
        }
        to = end;
    }
}

/// A JSON web token, or as much of it as was quoted.
pub(super) fn jwt(text: &str, at: usize) -> Option<Hit> {
    if !text[at..].starts_with("eyJ") {
        return None;
    }
    let mut to = run(text, at, is_key_byte);
    while text[to..].starts_with('.') && text.as_bytes().get(to + 1).is_some_and(|b| is_key_byte(*b)) {
        to = run(text, to + 1, is_key_byte);
    }
    (to - at >= 16).then_some(Hit { from: at, to, kind: Kind::Jwt })
}

/// `user:password@` or `token@` in an address. A bare user name stays where it is the usual way to say whom to log in as.
pub(super) fn url_login(text: &str, at: usize) -> Option<Hit> {
    let rest = text[at..].strip_prefix("://")?;
    let from = text.len() - rest.len();
    let stop = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '\\');
    let near = &rest[..ceil(rest, MAX_ADDRESS)];
    let address = &near[..near.find(stop).unwrap_or(near.len())];
    let host_end = address.find(['/', '?', '#']).unwrap_or(address.len());
    let login = match address[..host_end].rfind('@') {
        Some(n) => n,
        // A password may hold a bare `/`. A port is all digits.
        None => {
            let colon = address[..host_end].find(':')?;
            let port = &address[colon + 1..host_end];
            if port.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            address.rfind('@')?
        }
    };
    let user = &address[..login];
    let scheme = text[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '+').next().unwrap_or("");
    let plain =
        !user.contains(':') && (scheme.contains("ssh") || user == "git" || !scheme.starts_with("http"));
    let taken = user.is_empty() || is_marked(user) || plain && !Mix::of(user).is_random();
    (!taken).then_some(Hit { from, to: from + login, kind: Kind::UrlLogin })
}

/// Addresses to which any client may post that knows them.
pub(super) fn webhook(text: &str, at: usize) -> Option<Hit> {
    const HOOKS: [&str; 4] = [
        "hooks.slack.com/services/",
        "discord.com/api/webhooks/",
        "discordapp.com/api/webhooks/",
        "webhook.office.com/webhookb2/",
    ];
    let hook = HOOKS.iter().find(|h| text[at..].starts_with(**h))?;
    let from = at + hook.len();
    let to = run(text, from, |b| is_key_byte(b) || matches!(b, b'/' | b'@' | b'.'));
    (to > from).then_some(Hit { from, to, kind: Kind::Webhook })
}

/// `Bearer` or `Basic` with what follows it, with or without its header; `-u name:password` of curl.
pub(super) fn scheme(text: &str, at: usize) -> Option<Hit> {
    if !text.as_bytes().get(at).is_some_and(|b| matches!(b, b'B' | b'b' | b'-')) || !is_word_start(text, at) {
        return None;
    }
    let after = |word: &str| {
        let n = at + word.len();
        let same = text.get(at..n).is_some_and(|w| w.eq_ignore_ascii_case(word));
        let from = run(text, n, |b| b == b' ');
        (same && from > n).then_some(from)
    };
    if let Some(from) = after("-u").or_else(|| after("--user")).or_else(|| after("--proxy-user")) {
        return login(text, from);
    }
    let (from, basic) = match (after("bearer"), after("basic")) {
        (Some(from), _) => (from, false),
        (_, Some(from)) => (from, true),
        _ => return None,
    };
    let to = run(text, from, |b| is_key_byte(b) || matches!(b, b'.' | b'~' | b'+' | b'/' | b'=' | b'*'));
    let (to, masked) = match text[from..to].rfind("**").or_else(|| text[from..to].rfind("...")) {
        Some(_) => (to, true),
        None if mask(&text[to..]) > 0 => (run(text, to + mask(&text[to..]), is_key_byte), true),
        None => (from + text[from..to].trim_end_matches('.').len(), false),
    };
    let value = &text[from..to];
    let mix = Mix::of(value);
    let holds = masked
        || value.len() >= 8 && (mix.is_keyish() || value.ends_with('=') || value.len() >= 24)
        || basic && value.len() >= 8 && is_login(value);
    holds.then_some(Hit { from, to, kind: Kind::Authorization })
}

fn login(text: &str, from: usize) -> Option<Hit> {
    let quoted = text[from..].starts_with(['"', '\'']);
    let from = from + usize::from(quoted);
    let stop = |c: char| c.is_whitespace() || c == '"' || c == '\'';
    let to = from + text[from..].find(stop).unwrap_or(text.len() - from);
    let (_, password) = text[from..to].split_once(':')?;
    let ids = password.bytes().all(|b| b.is_ascii_digit());
    let taken = ids || password.starts_with("//") || is_marked(&text[from..to]);
    (!taken).then_some(Hit { from, to, kind: Kind::Credential })
}

/// Whether base64, of whichever alphabet and perhaps cut short, holds `name:password`.
fn is_login(value: &str) -> bool {
    let value: String = value.trim_end_matches('=').replace('-', "+").replace('_', "/");
    // One digit alone does not make a byte.
    let whole = value.len() - usize::from(value.len() % 4 == 1);
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let out = GeneralPurpose::new(&alphabet::STANDARD, lenient).decode(&value.as_bytes()[..whole]);
    out.is_ok_and(|out| out.contains(&b':') && out.iter().all(|b| (b' '..=b'~').contains(b)))
}

/// A long run of letters and digits without sense: what a key is when nothing says that it is one. Hashes are not taken:
/// they have no capitals, or say `sha` in front.
pub(super) fn random(text: &str, at: usize) -> Option<Hit> {
    let base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    if before(text, at).is_some_and(base64) || !text.as_bytes().get(at).is_some_and(|b| base64(*b)) {
        return None;
    }
    let to = run(text, at, base64);
    if to - at < 32 {
        return None;
    }
    let hash = text[..at].get(at.saturating_sub(7)..).is_some_and(|w| {
        let w = w.to_ascii_lowercase();
        ["sha1", "sha256", "sha384", "sha512"].iter().any(|h| w.trim_end_matches(['-', ':']).ends_with(h))
    });
    if hash {
        return None;
    }
    let run_of = &text[at..to];
    let long = run_of.split(['+', '/']).any(|p| p.len() >= 32 && Mix::of(p).is_random());
    let all = run_of.len() >= 40 && Mix::of(run_of).is_random();
    (long || all).then(|| Hit { from: at, to: run(text, to, |b| b == b'='), kind: Kind::Random })
}

/// `0x` and 64 digits, a private key of Ethereum and its like, unless the words before it tell of a hash; and 32 or more hexadecimal
/// digits behind the name of a secret.
pub(super) fn hexadecimal(text: &str, at: usize) -> Option<Hit> {
    let first = text.as_bytes()[at];
    if !first.is_ascii_hexdigit() || !is_word_start(text, at) {
        return None;
    }
    let from = at + if text[at..].starts_with("0x") { 2 } else { 0 };
    let to = run(text, from, |b| b.is_ascii_hexdigit());
    if text[to..].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let key = from > at && to - from == 64 && !tells_of_a_hash(text, at);
    let named = (32..=128).contains(&(to - at)) && is_spoken(text, at);
    (key || named).then_some(Hit { from: at, to, kind: if key { Kind::PrivateKey } else { Kind::ApiKey } })
}

fn tells_of_a_hash(text: &str, at: usize) -> bool {
    const WORDS: [&str; 10] =
        ["tx", "hash", "block", "digest", "root", "topic", "sha", "keccak", "transaction", "commit"];
    let near = text[..at].get(at.saturating_sub(40)..).unwrap_or_default();
    let line = near.rsplit('\n').next().unwrap_or(near).to_ascii_lowercase();
    WORDS.iter().any(|w| line.contains(w))
}

/// The words behind `mnemonic:` or `seed phrase:`: 12 or more in a row, none of them short, as no sentence has them.
pub(super) fn mnemonic(text: &str, at: usize) -> Option<Hit> {
    const NAMES: [&str; 4] = ["mnemonic", "seed phrase", "seed_phrase", "recovery phrase"];
    if !matches!(text.as_bytes()[at], b'm' | b'M' | b's' | b'S' | b'r' | b'R') || !is_word_start(text, at) {
        return None;
    }
    let is = |name: &&&str| text.get(at..at + name.len()).is_some_and(|t| t.eq_ignore_ascii_case(name));
    let behind = at + NAMES.iter().find(is)?.len();
    let from = run(text, behind, |b| b.is_ascii_whitespace() || matches!(b, b':' | b'=' | b'"' | b'\''));
    let (mut to, mut count, mut next) = (from, 0, from);
    while count < 24 {
        let end = run(text, next, |b| b.is_ascii_lowercase());
        if !(3..=8).contains(&(end - next)) {
            break;
        }
        (to, count) = (end, count + 1);
        next = run(text, end, |b| matches!(b, b' ' | b'\n' | b','));
        if next == end {
            break;
        }
    }
    (from > behind && count >= 12).then_some(Hit { from, to, kind: Kind::Secret })
}

#[cfg(test)]
mod tests {
    use super::is_login;

    #[test]
    fn a_login_in_base64_is_known_also_where_it_was_cut() {
        // `luna:lantern`, and `a:b?>c~` in both alphabets.
        for value in [
            "bHVuYTpsYW50ZXJu",
            "bHVuYTpsYW50ZXJ",
            "bHVuYTps",
            "bHVuYTpsY",
            "YTpiPz5jfg==",
            "YTpiPz5-",
            "YTpiPz5+",
        ] {
            assert!(is_login(value), "{value}");
        }
        for value in ["", "bHVuYQ==", "authentication", "bHVu", "bHV:bHVu", "AAAA"] {
            assert!(!is_login(value), "{value}");
        }
    }
}
