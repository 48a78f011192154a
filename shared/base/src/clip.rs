//! The front of a text, so that no output grows with a text that others wrote.

use std::borrow::Cow;

use crate::redact::{redact, visible};

/// Stands where a character was that must not be shown. A hole would make two file names look like one.
const NOT_SHOWN: char = '\u{fffd}';

/// Bytes as text. Like `String::from_utf8_lossy`, which mends character by character; but hardly ever is there anything to
/// mend, and to see that is many times faster.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// At most `most` bytes, cut between two characters.
pub fn clip(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// At most `most` bytes, ending before a blank where it was cut: half a key is not known as one any more.
pub fn clip_words(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let whole = clip(text, most);
    whole.rfind(char::is_whitespace).map_or(whole, |blank| &whole[..blank])
}

/// Text from a board without secrets and control characters, and none that changes the order of what stands around it: it
/// must not steer the terminal of the user who reads the report.
pub fn printable(s: &str) -> String {
    // Control characters are replaced one by one, so that a hole is seen; but for those a secret could hide behind.
    let clean = redact(s);
    let s = if clean == visible(s) { s } else { &clean };
    if s.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return s.to_owned();
    }
    let shown = |c: char| match c {
        _ if c.is_control() => ' ',
        _ if turns(c) => NOT_SHOWN,
        _ => c,
    };
    s.chars().map(shown).collect()
}

/// Changes the order or the lines of the text around it, or cannot be seen at all.
fn turns(c: char) -> bool {
    matches!(
        c,
        '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_not_shown() {
        assert_eq!(printable("a\u{1b}[2J\u{9b}K\n\u{202e}b\u{e9}"), "a [2J K \u{fffd}b\u{e9}");
    }

    #[test]
    fn a_cut_text_is_whole_characters() {
        assert_eq!((clip("aé", 2), clip("aé", 3), clip("aé", 9), clip("é", 0)), ("a", "aé", "aé", ""));
    }

    #[test]
    fn a_cut_text_is_whole_words_where_it_has_several() {
        assert_eq!(
            (clip_words("ab cd", 4), clip_words("ab cd", 5), clip_words("abcd", 3)),
            ("ab", "ab cd", "abc")
        );
    }
}
