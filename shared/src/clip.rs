//! The front of a text, so that nothing grows with what somebody wrote.

use std::borrow::Cow;

/// Bytes as text. Like `String::from_utf8_lossy`, which mends character by character; but hardly ever is there anything to
/// mend, and to see that is many times faster.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// At most `most` bytes, cut between two characters.
pub(crate) fn clip(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// At most `most` bytes, ending before a blank where it was cut: half a key is not known as one any more.
pub(crate) fn clip_words(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let whole = clip(text, most);
    whole.rfind(char::is_whitespace).map_or(whole, |blank| &whole[..blank])
}

/// Text from a board without control characters: it must not steer the terminal of whoever reads the report.
pub fn printable(s: &str) -> String {
    s.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
