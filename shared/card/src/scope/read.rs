//! Reads the lines of a scope section, and says which of them it understood.

use std::time::Duration;

use super::section::{Language, Line, Place, heading, is_fence};
use super::{Scope, entry};
use config::span;

/// What a section says. Lines are counted from the one below the heading, which is 0.
pub(super) struct Reading<'a> {
    pub(super) scope: Scope,
    /// For every line, whether it is part of a field. Blank lines are not.
    pub(super) known: Vec<bool>,
    /// The fields that are named, with the line of the label.
    pub(super) labels: Vec<(Field, usize)>,
    /// What was read as the value of a field or a part of it.
    pub(super) parts: Vec<Part<'a>>,
}

/// A value of a field or a part of it, understood or not.
pub(super) struct Part<'a> {
    pub(super) field: Field,
    pub(super) line: usize,
    pub(super) value: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Concern,
    In,
    Out,
    Files,
    Iterations,
    Time,
    Cost,
}

/// Most bytes of all lists together: a body may have any size, and nobody means more.
const ROOM: usize = 64 * 1024;
/// What stands for the rest.
const MORE: &str = "and more than is read";

/// A field that following lines may belong to.
struct Current {
    field: Field,
    /// The indentation of its bullet; `None` where it had none, so that any bullet after it is below it.
    indent: Option<usize>,
    /// Its value began on the line of its label.
    inline: bool,
    /// It has a value, be it one we could not read.
    filled: bool,
    /// A blank line came after it.
    apart: bool,
}

/// Reads the lines below the heading.
pub(super) fn read<'a>(lines: &[Line<'a>]) -> Reading<'a> {
    let mut reader = Reader {
        scope: Scope::default(),
        room: ROOM,
        current: None,
        at: 0,
        labels: Vec::new(),
        parts: Vec::new(),
    };
    let mut known = Vec::with_capacity(lines.len());
    let (mut opaque, mut nests) = (false, false);
    for (n, line) in lines.iter().enumerate() {
        reader.at = n;
        match line.place {
            Place::Start(language) => {
                opaque = !holds_fields(language, &lines[n + 1..]);
                nests = holds_fence(&lines[n + 1..]);
                known.push(!opaque && !nests);
            }
            Place::End => known.push(!opaque && !nests),
            Place::Inside(_) if opaque => known.push(false),
            Place::Inside(_) | Place::Open => known.push(reader.line(line.text)),
        }
        if opaque {
            reader.current = None;
        }
        opaque &= line.place != Place::End;
    }
    Reading { scope: reader.scope, known, labels: reader.labels, parts: reader.parts }
}

/// A fence put around the fields, as against an example or a command in the section.
fn holds_fields(language: Language, rest: &[Line<'_>]) -> bool {
    let first = rest.iter().find(|l| !l.is_blank()).filter(|l| matches!(l.place, Place::Inside(_)));
    language != Language::Code && first.is_some_and(|l| label(split(l.text).text, false).is_some())
}

/// Whether what would open a fence in the open is content of this one: without this one around it, it opened one.
fn holds_fence(rest: &[Line<'_>]) -> bool {
    rest.iter().take_while(|l| matches!(l.place, Place::Inside(_))).any(|l| is_fence(l.text))
}

struct Reader<'a> {
    scope: Scope,
    /// Bytes of lists that are still read.
    room: usize,
    current: Option<Current>,
    /// The line that is read.
    at: usize,
    labels: Vec<(Field, usize)>,
    parts: Vec<Part<'a>>,
}

impl<'a> Reader<'a> {
    /// Takes one line in; whether it is part of a field.
    fn line(&mut self, text: &'a str) -> bool {
        if text.trim().is_empty() {
            self.blank();
            return false;
        }
        let line = split(text);
        let title = heading(text).map(|(_, title)| title);
        if let Some((field, value)) = label(title.unwrap_or(line.text), title.is_some()) {
            self.labels.push((field, self.at));
            let filled = !value.is_empty();
            let indent = line.bullet.then_some(line.indent);
            self.current = Some(Current { field, indent, inline: filled, filled, apart: false });
            if filled {
                self.take(field, value);
            }
            return true;
        }
        let more = self.current.as_mut().filter(|_| title.is_none()).filter(|c| continues(c, &line));
        let Some(current) = more else {
            self.current = None;
            return false;
        };
        let (field, first) = (current.field, !current.filled);
        current.filled = true;
        current.apart = false;
        if field == Field::Concern && !first {
            self.append(line.text);
        } else {
            self.take(field, line.text);
        }
        true
    }

    fn blank(&mut self) {
        let Some(current) = &mut self.current else { return };
        current.apart = true;
        let list = matches!(current.field, Field::In | Field::Out) && !current.inline;
        if current.filled && !list {
            self.current = None;
        }
    }

    fn take(&mut self, field: Field, value: &'a str) {
        self.parts.push(Part { field, line: self.at, value });
        let s = &mut self.scope;
        match field {
            Field::Concern => s.concern = s.concern.take().or_else(|| Some(value.to_owned())),
            Field::In | Field::Out => {
                let list = if field == Field::In { &mut s.in_scope } else { &mut s.out_of_scope };
                match self.room.checked_sub(value.len()) {
                    Some(room) => {
                        self.room = room;
                        list.extend(entry::read(value));
                    }
                    // As an entry that nobody understands: a list read in part would say what nobody wrote.
                    None if list.last().is_none_or(|e| e != MORE) => list.push(MORE.to_owned()),
                    None => {}
                }
            }
            Field::Files => s.max_files = s.max_files.or_else(|| number(value)),
            Field::Iterations => s.iterations = s.iterations.or_else(|| number(value)),
            Field::Time => s.time_budget = s.time_budget.or_else(|| time(value)),
            Field::Cost => s.cost_budget = s.cost_budget.take().or_else(|| Some(plain(value).to_owned())),
        }
    }

    fn append(&mut self, more: &str) {
        if let Some(concern) = &mut self.scope.concern {
            concern.push(' ');
            concern.push_str(more);
        }
    }
}

/// Whether a line without a label of Watchbill still belongs to the field before it.
fn continues(current: &Current, line: &Split<'_>) -> bool {
    let below = line.bullet && current.indent.is_none_or(|indent| line.indent > indent);
    let foreign = line.text.split_once(": ").is_some_and(|(label, _)| is_label(label));
    match current.field {
        Field::In | Field::Out if line.bullet => {
            // A model may set entries at the level of their label; only what is plainly an entry is one.
            let flat = entry::is_list(line.text);
            if current.inline { flat || (below && current.indent.is_some()) } else { below || flat }
        }
        Field::In | Field::Out => !current.apart && entry::is_list(line.text),
        _ if line.bullet => !current.filled && below,
        Field::Concern => (!current.filled || !current.apart) && !foreign,
        _ => !current.filled && !foreign,
    }
}

/// `Note` in `Note: take care` begins something new, even without a bullet.
fn is_label(text: &str) -> bool {
    text.chars().count() <= 30 && text.trim_start_matches(['*', '_']).starts_with(char::is_uppercase)
}

struct Split<'a> {
    indent: usize,
    bullet: bool,
    text: &'a str,
}

/// Takes indentation, bullet and check box off a line.
fn split(text: &str) -> Split<'_> {
    let rest = text.trim_start();
    let indent = text[..text.len() - rest.len()].chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
    let item = bullet(rest);
    let box_off =
        |t: &str| ["[ ] ", "[x] ", "[X] "].iter().find_map(|b| t.strip_prefix(b)).map_or(t.len(), str::len);
    let text = item.map_or(rest, |t| &t[t.len() - box_off(t)..]);
    Split { indent, bullet: item.is_some(), text: text.trim() }
}

fn bullet(text: &str) -> Option<&str> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let after = if digits.len() < text.len() {
        digits.strip_prefix(['.', ')'])?
    } else {
        text.strip_prefix(['-', '*', '+', '\u{2022}'])?
    };
    after.starts_with([' ', '\t']).then(|| after.trim_start())
}

/// The field a line names, and what stands behind its colon. Without a colon only a heading or bold text
/// names one: an entry may be a folder called `iterations`.
fn label(text: &str, heading: bool) -> Option<(Field, &str)> {
    let Some((name, value)) = text.split_once([':', '\u{ff1a}']) else {
        return field(text).filter(|_| heading || bold(text).is_some()).map(|f| (f, ""));
    };
    let found = field(name)?;
    let value = value.trim();
    let Some(mark) = bold(name).filter(|mark| !name[mark.len()..].contains(mark)) else {
        return Some((found, value));
    };
    // `**Label:** value` closes behind the colon, `**Label: value**` at the end, where a glob may end in
    // stars too.
    let value = value
        .strip_prefix(mark)
        .map(str::trim)
        .unwrap_or_else(|| value.strip_suffix(mark).filter(|v| !v.ends_with('/')).map_or(value, str::trim));
    Some((found, value))
}

fn bold(text: &str) -> Option<&'static str> {
    ["**", "__", "*", "_"].into_iter().find(|mark| text.starts_with(mark))
}

/// Words that may stand beside a list's label without changing it: `Files/packages in scope`.
const BESIDE: [&str; 6] = ["explicit", "files", "packages", "paths", "globs", "and"];

fn field(label: &str) -> Option<Field> {
    let key = key(label);
    let bare: Vec<_> = key.split(' ').filter(|w| !BESIDE.contains(w)).collect();
    match bare.join(" ").as_str() {
        "in scope" | "inscope" => return Some(Field::In),
        "out of scope" | "outofscope" => return Some(Field::Out),
        _ => {}
    }
    Some(match key.as_str() {
        "concern" | "one concern" | "single concern" => Field::Concern,
        "max files" | "maximum files" | "max file count" | "maximum file count" | "file limit" => {
            Field::Files
        }
        "iteration budget" | "expected iteration budget" | "max iterations" | "iterations" => {
            Field::Iterations
        }
        "time budget" | "time limit" | "max time" => Field::Time,
        "cost budget" | "cost limit" | "max cost" => Field::Cost,
        _ => return None,
    })
}

/// A heading or a label as a key: lower case, single blanks, without marks, numbering and a remark in
/// brackets.
pub(super) fn key(text: &str) -> String {
    let text = text.trim().trim_end_matches(|c: char| !c.is_alphanumeric() && c != ')');
    let text = text.strip_suffix(')').and_then(|t| t.rsplit_once('(')).map_or(text, |(before, _)| before);
    let spaced = |c: char| if c.is_alphanumeric() { c } else { ' ' };
    let lower: String = text.chars().map(spaced).flat_map(char::to_lowercase).collect();
    let words = lower.split_whitespace().skip_while(|w| w.chars().all(|c| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join(" ")
}

/// A value without marks around it and remarks in brackets behind it.
pub(super) fn plain(value: &str) -> &str {
    let marks = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '`' | '*' | '_');
    let mut value = value.trim_matches(marks);
    // All of them: what is left must read the same when it is written and read once more.
    while let Some((before, _)) = value.strip_suffix(')').and_then(|v| v.rsplit_once('(')) {
        match before.trim_matches(marks) {
            "" => break,
            before => value = before,
        }
    }
    value
}

/// A count, if the text is one number with nothing but words of measure around it.
pub(super) fn number(value: &str) -> Option<u32> {
    let text = plain(value).to_lowercase();
    let text = text.trim_end_matches('.').trim_start_matches(['~', '\u{2248}', '\u{2264}', '<', '=', ' ']);
    let measure = "max maximum at most up to about approx approx. ca. no more than \
 file files iteration iterations turn turns step steps total";
    let mut words = text.split_whitespace().filter(|w| !measure.split(' ').any(|m| m == *w));
    let number = words.next().filter(|w| w.bytes().all(|b| b.is_ascii_digit()))?;
    if words.next().is_some() { None } else { number.parse().ok() }
}

/// A length of time, if the text is one with nothing around it.
pub(super) fn time(value: &str) -> Option<Duration> {
    let text =
        plain(value).trim_end_matches('.').trim_start_matches(['~', '\u{2248}', '\u{2264}', '<', '=', ' ']);
    // Only whole words are made small: a lone M means months, and nobody knows whether they were meant.
    span::read(text).ok().or_else(|| {
        let lone = text.split(|c: char| !c.is_alphabetic()).any(|w| w == "M");
        if lone { None } else { span::read(&text.to_lowercase()).ok() }
    })
}
