//! What the rules share: invisible characters, borders of boxes, and how random a word looks.

use std::borrow::Cow;

use super::keys::known;

/// A line of at least this many columns may be one that a terminal box wrapped; Hermes draws boxes of the terminal's
/// width, 80 where there is none.
const WIDE: usize = 40;

/// The text without terminal escapes, control characters, and the invisible characters that reorder or split words. Line
/// ends of every kind become `\n`; tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let plain = |b: u8| matches!(b, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(plain) || !text.chars().any(|c| is_line_end(c) || is_hidden(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\u{1b}' => rest = escape(rest),
            '\u{9b}' => rest = control_sequence(rest),
            // What was struck over is not to be seen.
            '\u{8}' if !out.ends_with('\n') => drop(out.pop()),
            '\r' if rest.starts_with('\n') => {}
            c if is_line_end(c) => out.push('\n'),
            c if is_hidden(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Ends a line for some reader: Python's `splitlines`, which Hermes uses, knows all of these.
fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\r' | '\u{b}' | '\u{c}' | '\u{1c}' | '\u{1d}' | '\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' => {
            true
        }
        '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

/// What stands behind the sequence that follows an escape character (ECMA-48, and what terminals made of it). Only what
/// programs really write is taken for one: a sequence that swallows the first letter of a key would hide the key.
fn escape(rest: &str) -> &str {
    match rest.chars().next() {
        Some('[') => control_sequence(&rest[1..]),
        Some(']' | 'P' | 'X' | '^' | '_') => control_string(&rest[1..]),
        Some('(' | ')' | '*' | '+' | '#' | '%') => last(&rest[1..], |b| b.is_ascii_alphanumeric()),
        Some('7' | '8' | '=' | '>' | 'D' | 'E' | 'H' | 'M' | '\\') => last(rest, |_| true),
        _ => rest,
    }
}

fn control_sequence(rest: &str) -> &str {
    let end = run(rest, 0, |b| (b'0'..=b'?').contains(&b));
    let rest = &rest[end..];
    if let Some(rest) = rest.strip_prefix(" q").or_else(|| rest.strip_prefix("!p")) {
        return rest;
    }
    last(rest, |b| if end > 0 { (b'@'..=b'~').contains(&b) } else { b"mKJHABCDEFG".contains(&b) })
}

/// Without the last byte of a sequence, unless a key begins with it.
fn last(rest: &str, test: impl Fn(u8) -> bool) -> &str {
    let taken = rest.bytes().next().is_some_and(|b| b.is_ascii() && test(b)) && known(rest, 0).is_none();
    if taken { &rest[1..] } else { rest }
}

/// A window title or link target goes with its end mark; without one only the mark of its beginning goes, since the
/// rest of the log may stand behind it.
fn control_string(rest: &str) -> &str {
    let Some(end) = rest.find(['\u{7}', '\u{9c}', '\u{1b}', '\n']) else {
        return rest;
    };
    let after = &rest[end..];
    ["\u{7}", "\u{9c}", "\u{1b}\\"].iter().find_map(|mark| after.strip_prefix(*mark)).unwrap_or(rest)
}

/// Letters, digits, `_` and `-`: what keys are made of.
pub(super) fn is_key_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-'
}

/// Where the run of bytes that pass `test` ends. Such a run is ASCII, so its end is a character's.
pub(super) fn run(text: &str, from: usize, test: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes();
    let more = bytes.get(from..).map_or(0, |b| b.iter().take_while(|b| b.is_ascii() && test(**b)).count());
    from + more
}

/// The first character's border at or behind this byte.
pub(super) fn ceil(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len()).find(|n| text.is_char_boundary(*n)).unwrap_or(text.len())
}

/// The byte before this one.
pub(super) fn before(text: &str, at: usize) -> Option<u8> {
    at.checked_sub(1).map(|n| text.as_bytes()[n])
}

/// Whether a word may begin here: at the start, after anything but a letter or digit, after a literal `\n`, or after
/// a percent escape.
pub(super) fn is_word_start(text: &str, at: usize) -> bool {
    let back = |n: usize| at.checked_sub(n).map(|n| text.as_bytes()[n]);
    match (back(3), back(2), back(1)) {
        (_, _, None) => true,
        (_, _, Some(b)) if !b.is_ascii_alphanumeric() => true,
        (_, Some(b'\\'), Some(b'n' | b't' | b'r')) => true,
        (Some(b'%'), Some(a), Some(b)) => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        _ => false,
    }
}

/// How the letters and digits of a word are mixed.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Mix {
    upper: usize,
    lower: usize,
    digits: usize,
    /// Neighbours of different sort, and all neighbours.
    changes: usize,
    pairs: usize,
}

impl Mix {
    pub(super) fn of(word: &str) -> Mix {
        let sort = |b: u8| match b {
            b'A'..=b'Z' => 1,
            b'a'..=b'z' => 2,
            b'0'..=b'9' => 3,
            _ => 0,
        };
        let mut mix = Mix::default();
        let mut last = 0;
        for s in word.bytes().map(sort) {
            match s {
                1 => mix.upper += 1,
                2 => mix.lower += 1,
                3 => mix.digits += 1,
                _ => {}
            }
            if s != 0 && last != 0 {
                mix.pairs += 1;
                mix.changes += usize::from(s != last);
            }
            last = s;
        }
        mix
    }

    /// Letters and digits thrown together. Among random ones 6 neighbours of 10 are of different sort, in names made of
    /// words 2 or 3.
    pub(super) fn is_random(self) -> bool {
        self.upper >= 3 && self.lower >= 3 && self.digits >= 2 && self.changes * 20 >= self.pairs * 9
    }

    /// Not a word of a sentence: digits among letters, or capitals inside.
    pub(super) fn is_keyish(self) -> bool {
        (self.digits > 0 && self.upper + self.lower > 0)
            || (self.upper > 1 && self.lower > 0 && self.changes > 2)
    }
}

/// Where a word that ends at `to` ends in truth, if a box or a terminal broke it: at the end of a line, and going on at
/// the start of the next. Inside a border the next line's first word belongs to it; without one only if it looks like
/// part of a key.
pub(super) fn over_wraps(text: &str, mut to: usize) -> usize {
    while let Some(end) = over_wrap(text, to) {
        to = end;
    }
    to
}

fn over_wrap(text: &str, to: usize) -> Option<usize> {
    let near = text.as_bytes()[to..].iter().take(16).position(|b| *b == b'\n')?;
    let start = text[..to].rfind('\n').map_or(0, |n| n + 1);
    let (left, next) = (text[to..to + near].trim_matches([' ', '\t']), &text[to + near + 1..]);
    let bordered = is_border(left);
    if !bordered && !left.is_empty() {
        return None;
    }
    let word = next.trim_start_matches([' ', '\t', '│', '┃', '║', '|', '>']);
    let from = text.len() - word.len();
    let end = run(text, from, |b| is_key_byte(b) || matches!(b, b'+' | b'/' | b'=' | b'.'));
    let end = from + text[from..end].trim_end_matches('.').len();
    let part = &text[from..end];
    let wide = text[start..to].chars().count() >= WIDE;
    let whole = text[end..].chars().next().is_none_or(|c| !c.is_alphanumeric());
    let belongs = if bordered && wide {
        whole
    } else {
        let mix = Mix::of(part);
        mix.is_keyish() && (wide && part.len() >= 4 || part.len() >= 12 && mix.is_random())
    };
    (belongs && !part.is_empty()).then_some(end)
}

fn is_border(s: &str) -> bool {
    matches!(s, "│" | "┃" | "║" | "|")
}
