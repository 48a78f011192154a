//! Taking an input apart.

use std::borrow::Cow;

/// A number out of the first two bytes, and the rest.
pub(crate) fn number(data: &[u8]) -> (usize, &[u8]) {
    match data {
        [a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        _ => (0, data),
    }
}

/// As the readers take bytes that are no UTF-8.
pub(crate) fn text(data: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(data)
}

/// The text in two parts, cut at or before this byte.
pub(crate) fn cut(text: &str, at: usize) -> (&str, &str) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    text.split_at(at)
}
