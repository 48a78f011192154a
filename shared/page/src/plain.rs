//! Text from boards, logs and repositories on its way to a reader: on one line, of a bounded length, and without
//! characters that steer a terminal or turn what stands around them.

use base::clip::clip;
use base::clip::printable;

/// Stands for what was cut off.
const CUT: char = '…';
/// Marks that stand over or under a letter are let through up to this many; a tower of them covers other lines.
const MAX_MARKS: usize = 3;

/// At most `most` characters on one line.
pub(super) fn plain(text: &str, most: usize) -> String {
    // Four bytes is the longest character, and one more of them shows that there was more.
    let front = clip(text, most.saturating_add(1).saturating_mul(4));
    cut(&calm(&printable(front)), most)
}

/// A command on one line, to be copied: whole or, where it is longer than `most`, not at all. Half of one does something
/// that nobody meant.
pub(super) fn command(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => plain(text, most),
        Some(_) => format!("# a command of more than {most} characters is not shown"),
    }
}

/// At most `most` characters of several lines; line ends stay.
pub(super) fn block(text: &str, most: usize) -> String {
    let front = clip(text, most.saturating_add(1).saturating_mul(4));
    let lines: Vec<String> = front.split('\n').map(|l| calm(&printable(l))).collect();
    cut(&lines.join("\n"), most)
}

fn calm(text: &str) -> String {
    let mut marks = 0;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        if marks <= MAX_MARKS {
            out.push(c);
        }
    }
    out
}

fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe20}'..='\u{fe2f}'
    )
}

fn cut(text: &str, most: usize) -> String {
    let Some(last) = most.checked_sub(1) else {
        return String::new();
    };
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let end = text.char_indices().nth(last).map_or(text.len(), |(n, _)| n);
            format!("{}{CUT}", text[..end].trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_taken_out_and_what_is_long_is_cut() {
        for (text, most, want) in [
            ("plain", 9, "plain"),
            ("plain", 5, "plain"),
            ("plain", 4, "pla…"),
            ("plain", 0, ""),
            ("a\u{1b}[31mb\nc", 20, "a [31mb c"),
            ("gpj.\u{202e}exe", 20, "gpj.\u{fffd}exe"),
            ("a\u{2066}b\u{2069}c\u{feff}", 20, "a\u{fffd}b\u{fffd}c\u{fffd}"),
            ("e\u{301}\u{301}\u{301}\u{301}\u{301}!", 20, "e\u{301}\u{301}\u{301}!"),
            ("⚠\u{fe0f} שלום", 20, "⚠\u{fe0f} שלום"),
        ] {
            assert_eq!(plain(text, most), want, "{text:?} in {most}");
        }
        assert_eq!(command("board add 'a'", 13), "board add 'a'");
        assert_eq!(command("board add 'a'", 12), "# a command of more than 12 characters is not shown");
        assert_eq!(block("a\n\u{7}b", 9), "a\n b");
        assert_eq!(plain(&"\u{1f980}".repeat(9), 3), "\u{1f980}\u{1f980}…");
    }
}
