//! `redact` and `quote`: what is shown of a text nobody trusts.

use shared::base::quote;
use shared::base::redact;

use super::text::{cut, number, text};

/// A key of no provider, by its beginning known as one. In two parts, so that no scanner takes this file for a leak.
pub(crate) fn planted() -> String {
    format!("sk-{}-{BODY}", "ant-api03")
}

/// The part of it that nobody may see.
pub(crate) const BODY: &str = "qZ7vKp2XwLm9RtYc4HbNs8DfJg3TkWe6UaVx1MhQ5PzB";

/// Twice is once, growth is bounded, and a planted key never survives.
pub fn redact(data: &[u8]) {
    let (at, rest) = number(data);
    let text = text(rest);
    let once = redact::redact(&text);
    assert!(once.len() <= 8 * text.len() + 32, "{} bytes of {}", once.len(), text.len());
    assert_eq!(redact::redact(&once), once, "twice is not once");
    let shown = redact::redact(&with_key(&text, at)).into_owned();
    assert!(is_own(&text) || !hidden_in(&shown), "{shown:?}");
}

/// A quotation is one inert line or a block that nothing in it closes, and a planted key never gets into it.
pub fn quoted(data: &[u8]) {
    let (at, rest) = number(data);
    let text = text(rest);
    let secret = with_key(&text, at);
    line(&text, at % 400);
    for shown in [quote::line(&secret, 300), fence(&secret)] {
        assert!(is_own(&text) || !hidden_in(&shown), "{shown:?}");
    }
}

/// The text with a key in it, between blanks: a name or a word right before it may make it part of something else.
fn with_key(text: &str, at: usize) -> String {
    let (before, after) = cut(text, at % (text.len() + 1));
    format!("{before} {} {after}", planted())
}

/// Whether an input holds the words of the key by itself, without what makes it one. Characters nobody sees may stand between,
/// and what hides them in the input alone, a login of an address, may end where the key is planted.
pub(crate) fn is_own(text: &str) -> bool {
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    hidden_in(&letters) || hidden_in(&redact::redact(text))
}

/// Whether the key, or either half of it, can be read there.
pub(crate) fn hidden_in(shown: &str) -> bool {
    let (front, back) = BODY.split_at(BODY.len() / 2);
    shown.contains(front) || shown.contains(back)
}

fn line(text: &str, most: usize) {
    let line = quote::line(text, most);
    assert!(line.chars().count() <= most, "{line:?} is longer than {most}");
    assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
    assert_eq!(redact::redact(&line), line, "a secret is left");
    assert_eq!(quote::without_pull_urls(&line), line, "an address is left");
    assert_eq!(quote::line(&line, most), line, "twice is not once");
    assert!(!quote::inline(text, most).contains("```"));
}

fn fence(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let fenced = quote::fenced(&lines);
    let all: Vec<&str> = fenced.lines().collect();
    let [open, inside @ .., close] = all.as_slice() else { panic!("no fence: {fenced:?}") };
    assert!(open.strip_suffix("text") == Some(close) && close.len() >= 3 && close.bytes().all(|b| b == b'`'));
    for line in inside {
        assert!(line.starts_with('>') && !line.contains(close), "{line:?} in {close}");
    }
    fenced
}
