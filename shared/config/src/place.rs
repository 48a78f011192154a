//! Where in a file a value stands, and how messages name what is wrong there.

use std::ops::Range;
use std::path::Path;

use toml::de::DeValue;

use base::error::{Error, Kind};

/// The kind of a value, as a message names it.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Where in which file.
pub(super) struct Place<'a> {
    /// The file.
    pub(super) path: &'a Path,
    /// The whole text of the file.
    pub(super) text: &'a str,
}

impl Place<'_> {
    /// An error at `path:line:column`, both counted from 1, the column in characters.
    pub(super) fn error(&self, span: Option<Range<usize>>, what: impl std::fmt::Display) -> Error {
        let before = span.and_then(|s| self.text.get(..s.start.min(self.text.len())));
        let at = match before {
            Some(before) => {
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
                format!("{}:{line}:{column}", self.path.display())
            }
            None => self.path.display().to_string(),
        };
        Error::new(Kind::Config, at, what)
    }
}

/// What is called most like `name`, unless none has anything to do with it.
pub(super) fn nearest<'a, T>(name: &str, among: impl Iterator<Item = (&'a str, T)>) -> Option<T> {
    // The comparison is quadratic, and the name is whatever stands in the file.
    let short: String = name.chars().take(40).collect();
    let short = short.to_lowercase().replace('-', "_");
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&short, known);
    let scored = among.map(|(known, one)| (likeness(known), one)).filter(|(like, _)| *like >= 0.6);
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, one)| one)
}

/// A value or a name that a message quotes. Nothing else stands there in double quotes, but for what is [`ALLOWED`] and advice: so all of them can
/// be left out.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", shown(text))
}

/// Stands before what is allowed.
pub(super) const ALLOWED: &str = "; allowed is ";

/// What is wrong with a configuration without what that says: one of its values may be a password in the wrong place.
pub fn without_values(e: &Error) -> Error {
    let (mut rest, mut what) = (e.what.as_str(), String::new());
    while let Some(at) = rest.find('"').filter(|at| !rest[..*at].contains(ALLOWED)) {
        what.push_str(&rest[..at]);
        what.push_str("\"...\"");
        rest = &rest[at + 1..];
        let mut is_escaped = false;
        let end = rest.find(|c| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        rest = end.map_or("", |end| &rest[end + 1..]);
    }
    what.push_str(rest);
    // A number stands there as it is.
    if let Some((key, rest)) = what.split_once(" = ")
        && let Some((value, rest)) = rest.split_once(' ')
        && value.parse::<i64>().is_ok()
    {
        what = format!("{key} = ... {rest}");
    }
    Error { what, ..e.clone() }
}

/// A text from outside on one line, and no longer than a line can bear.
pub(super) fn shown(text: &str) -> String {
    let mut out: String =
        text.chars().take(60).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        out.push('\u{2026}');
    }
    out
}
