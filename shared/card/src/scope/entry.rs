//! The entries of a list field, each in a code span, and the text of the others.

use base::clip::clip;

/// Text on one line: every run of line breaks and other control characters, with the blanks around it, is one
/// space.
pub(super) fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let parts = text.split(breaks).map(str::trim).filter(|p| !p.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

/// The entries as code spans with commas between; `None` where nothing is left to write.
pub(super) fn write(entries: &[String]) -> Option<String> {
    let spans: Vec<_> =
        entries.iter().map(|e| one_line(e)).filter(|e| !e.is_empty()).map(|e| code(&e)).collect();
    (!spans.is_empty()).then(|| spans.join(", "))
}

/// A code span (CommonMark 0.31, 6.1): fenced by one backtick more than any run of them inside.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A piece of a list: in a code span, or plain text between two of them.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Code(&'a str),
    Plain(&'a str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let (mut plain, mut from) = (0, 0);
    while let Some(start) = text[from..].find('`').map(|n| from + n) {
        let inner = start + run(&text[start..]);
        match closing(text, inner, inner - start) {
            Some((end, after)) => {
                out.push(Piece::Plain(&text[plain..start]));
                out.push(Piece::Code(&text[inner..end]));
                (plain, from) = (after, after);
            }
            None => from = inner,
        }
    }
    out.push(Piece::Plain(&text[plain..]));
    out
}

/// How many backticks `text` begins with.
fn run(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// Where a run of exactly `length` backticks begins and ends, from `from` on.
fn closing(text: &str, mut from: usize, length: usize) -> Option<(usize, usize)> {
    while let Some(start) = text[from..].find('`').map(|n| from + n) {
        let end = start + run(&text[start..]);
        if end - start == length {
            return Some((start, end));
        }
        from = end;
    }
    None
}

/// Most bytes of one list. Nobody means more, and looking for the ends of code spans takes its time.
const MAX_ENTRY: usize = 16 * 1024;

/// Words that take something out of a list, so that its other entries do not mean what they say.
const EXCEPT: [&str; 7] =
    ["except", "excluding", "but not", "other than", "apart from", "unless", "everything but"];
/// Words that add something to a list.
const AND: [&str; 8] = ["and", "or", "plus", "also", "including", "as well as", "etc", "&"];

/// The entries in a piece of a list, with or without code spans, without the remarks around them. Words that add to the list or
/// take something out of it stay as entries of their own, which nobody but their author understands: a list that is read in
/// part would say what nobody wrote.
pub(super) fn read(text: &str) -> Vec<String> {
    let text = clip(text.trim(), MAX_ENTRY);
    let pieces = pieces(text);
    let is_plain = |p: &Piece<'_>| matches!(p, Piece::Plain(t) if has_words(t, &EXCEPT));
    if pieces.iter().any(is_plain) {
        return vec![text.to_owned()];
    }
    if pieces.iter().any(|p| matches!(p, Piece::Code(_))) {
        return pieces.iter().flat_map(of_piece).collect();
    }
    let nothing = ["none", "n/a", "na", "nothing", "-", "\u{2013}", "\u{2014}", ""];
    if nothing.contains(&text.trim_end_matches('.').to_lowercase().as_str()) {
        return Vec::new();
    }
    let parts = commas(text).into_iter().flat_map(|part| {
        let entry = bare(part);
        let rest = part.trim().get(entry.len()..).unwrap_or_default();
        [Some(entry), more(rest)].into_iter().flatten()
    });
    parts.filter(|e| !e.is_empty()).map(str::to_owned).collect()
}

/// Whether a text has one of these words, apart from other letters.
fn has_words(text: &str, words: &[&str]) -> bool {
    let spaced: String =
        text.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let spaced = format!(" {} ", spaced.split_whitespace().collect::<Vec<_>>().join(" "));
    words.iter().any(|w| spaced.contains(&format!(" {w} ")))
}

/// What a remark adds to the list, if it does: `and the tests`, `plus src/b.rs`, `etc`, `...`.
fn more(remark: &str) -> Option<&str> {
    let lead = |c: char| c.is_whitespace() || "(-\u{2013}\u{2014}:,;.".contains(c);
    if remark.contains("...") || remark.contains('\u{2026}') {
        return Some("and more");
    }
    let text =
        remark.trim_start_matches(lead).trim_end_matches(|c: char| c.is_whitespace() || "),;.:".contains(c));
    let lower = text.to_lowercase();
    let added = AND.iter().find(|and| {
        lower
            .strip_prefix(**and)
            .is_some_and(|rest| rest.is_empty() || !rest.starts_with(char::is_alphanumeric))
    })?;
    // A joint between two entries adds nothing by itself.
    (text.len() > added.len() || *added == "etc").then_some(text)
}

fn of_piece(piece: &Piece<'_>) -> Vec<String> {
    match piece {
        Piece::Code(code) => {
            // One blank on both sides is part of the fence.
            let padded = code.strip_prefix(' ').and_then(|c| c.strip_suffix(' '));
            let code = padded.unwrap_or(code).trim();
            if code.is_empty() { Vec::new() } else { vec![code.to_owned()] }
        }
        // Beside code spans, words are remarks on them; only what cannot be a remark is an entry.
        Piece::Plain(text) => {
            if let Some(more) = more(text) {
                return vec![more.to_owned()];
            }
            let paths =
                commas(text).into_iter().map(str::trim).filter(|p| is_path(p) && p.contains(['/', '.', '*']));
            paths.filter(|p| p.contains(char::is_alphanumeric)).map(str::to_owned).collect()
        }
    }
}

/// Whether a line can only be entries: code spans, or words without blanks.
pub(super) fn is_list(text: &str) -> bool {
    let text =
        AND.iter().find_map(|and| text.trim_start().strip_prefix(*and)?.strip_prefix(' ')).unwrap_or(text);
    let code = |p: &Piece<'_>| matches!(p, Piece::Code(_));
    text.trim_start().starts_with('`') && pieces(text).iter().any(code)
        || commas(text.trim().trim_end_matches(',')).into_iter().all(|p| is_path(p.trim()))
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// Splits at commas, but for those in braces: `src/{a,b}/**` is one glob.
fn commas(text: &str) -> Vec<&str> {
    let (mut out, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' | ';' | '\u{ff0c}' | '\u{3001}' if depth == 0 => {
                out.push(&text[from..at]);
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    out.push(&text[from..]);
    out
}

/// An entry without the remark behind it: `src/a/** - the parser`, `src/a/** (the parser)`.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let remarks = [" - ", " \u{2013} ", " \u{2014} ", " ("];
    let first = remarks.iter().filter_map(|r| text.find(r)).min();
    // Only behind a path is it a remark; `the parser (all of it)` is the author's own words.
    first.map(|at| &text[..at]).filter(|path| is_path(path)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, want) in [
            ("`a`, `b`", &["a", "b"][..]),
            ("`a` `b`", &["a", "b"]),
            ("a, b ,c", &["a", "b", "c"]),
            ("`src/a/**` - the parser, and more", &["src/a/**"]),
            ("`a`, src/b/**, and so on", &["a", "src/b/**"]),
            ("`a`.", &["a"]),
            ("`a`, ...", &["a", "and more"]),
            ("`a` and everything in src", &["a", "and everything in src"]),
            ("a.rs (and b.rs)", &["a.rs", "and b.rs"]),
            ("a.rs - plus b.rs", &["a.rs", "plus b.rs"]),
            ("a.rs, etc.", &["a.rs", "etc."]),
            ("`a` and `b`", &["a", "b"]),
            ("a.rs;b.rs", &["a.rs", "b.rs"]),
            ("`src/**` except `src/a.rs`", &["`src/**` except `src/a.rs`"]),
            ("all of `a/**`, but not `a/b`", &["all of `a/**`, but not `a/b`"]),
            ("src/a/** - the parser", &["src/a/**"]),
            ("src/a/** (the parser), b", &["src/a/**", "b"]),
            ("src/{a,b}/**", &["src/{a,b}/**"]),
            ("the parser package", &["the parser package"]),
            ("the parser - all of it", &["the parser - all of it"]),
            ("everything else", &["everything else"]),
            ("**/*.rs", &["**/*.rs"]),
            ("``a`b``", &["a`b"]),
            ("`` `a ``", &["`a"]),
            ("`broken", &["`broken"]),
            ("none", &[]),
            ("None.", &[]),
            ("N/A", &[]),
            ("`none`", &["none"]),
            ("``", &["``"]),
            ("", &[]),
            (" , ,", &[]),
        ] {
            assert_eq!(read(text), want, "{text:?}");
        }
    }

    #[test]
    fn one_line_is_one_line() {
        for (text, want) in [
            ("a\n b", "a b"),
            (" a\r\n\r\n\tb \n", "a b"),
            ("a  b", "a  b"),
            ("\n", ""),
            ("a\u{2028}b", "a b"),
        ] {
            assert_eq!(one_line(text), want, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn reads_what_it_writes(entries in proptest::collection::vec("[ -~\u{e4}]{0,6}|[`a, ]{1,8}", 0..4)) {
            let kept: Vec<_> = entries.iter().map(|e| one_line(e)).filter(|e| !e.is_empty()).collect();
            proptest::prop_assert_eq!(read(&write(&entries).unwrap_or_default()), kept);
        }

        #[test]
        fn takes_any_text(text in "[`, {}\\PC]{0,30}") {
            let _ = (read(&text), is_list(&text));
        }
    }
}
