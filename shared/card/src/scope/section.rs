//! Finds the scope section among the lines of a Markdown body.

use super::read::key;

/// A line and where it stands.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// With its line end.
    pub(super) raw: &'a str,
    /// Without it.
    pub(super) text: &'a str,
    pub(super) place: Place,
}

impl Line<'_> {
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// Where a line stands with regard to code fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Outside of any.
    Open,
    /// It opens a fence of this language.
    Start(Language),
    /// Inside of one.
    Inside(Language),
    /// It closes one.
    End,
}

/// What a fence says it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Markdown.
    Markdown,
    /// Nothing, or text.
    Plain,
    /// Anything else: nothing in it is meant for us.
    Code,
}

/// A section: the index of its heading, and of the first line that is no longer its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) heading: usize,
    pub(super) end: usize,
}

/// A run of three or more backticks or tildes (CommonMark 0.31, 4.5), at any indentation, for models put
/// fences into lists.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

fn fence(text: &str) -> Option<(Fence, &str)> {
    let text = text.trim();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    // ```x``` on one line is a code span.
    let ok = length >= 3 && !(mark == '`' && info.contains('`'));
    ok.then_some((Fence { mark, length }, info.trim()))
}

/// Whether this line opens a fence where none is open.
pub(super) fn is_fence(text: &str) -> bool {
    fence(text).is_some()
}

fn language(info: &str) -> Language {
    match info.split_whitespace().next().unwrap_or("").to_lowercase().as_str() {
        "md" | "markdown" => Language::Markdown,
        "" | "text" | "txt" | "plaintext" => Language::Plain,
        _ => Language::Code,
    }
}

fn walk(body: &str) -> (Vec<Line<'_>>, Option<Fence>) {
    let mut open: Option<(Fence, Language)> = None;
    let mut lines = Vec::new();
    for raw in body.split_inclusive('\n') {
        let text = raw.trim_end_matches(['\n', '\r']);
        let place = match (open, fence(text)) {
            (None, None) => Place::Open,
            (None, Some((f, info))) => {
                let language = language(info);
                open = Some((f, language));
                Place::Start(language)
            }
            (Some((by, _)), Some((f, ""))) if f.mark == by.mark && f.length >= by.length => {
                open = None;
                Place::End
            }
            (Some((_, language)), _) => Place::Inside(language),
        };
        lines.push(Line { raw, text, place });
    }
    (lines, open.map(|(f, _)| f))
}

pub(super) fn lines(body: &str) -> Vec<Line<'_>> {
    walk(body).0
}

/// The line that closes the fence the body leaves open, if it does.
pub(super) fn open_fence(lines: &[Line<'_>]) -> Option<String> {
    let body: String = lines.iter().map(|l| l.raw).collect();
    walk(&body).1.map(|f| f.mark.to_string().repeat(f.length))
}

/// The level and the text of a heading. Four spaces before it make it code.
pub(super) fn heading(text: &str) -> Option<(usize, &str)> {
    let rest = text.trim_start_matches(' ');
    let title = rest.trim_start_matches('#');
    let level = rest.len() - title.len();
    // `##Scope` is not a heading in CommonMark, but models write it; `#Scope` is more likely a tag.
    let spaced = title.is_empty() || title.starts_with([' ', '\t']) || level >= 2;
    let ok = text.len() - rest.len() <= 3 && (1..=6).contains(&level) && spaced;
    ok.then_some((level, title.trim()))
}

/// The first scope section, one in the open before one inside a fence.
pub(super) fn find(lines: &[Line<'_>]) -> Option<Section> {
    let is_scope =
        |line: &Line<'_>| heading(line.text).filter(|(_, t)| key(t) == "scope").map(|(level, _)| level);
    let at = |wanted: &dyn Fn(Place, usize) -> bool| {
        let found = |(n, line): (usize, &Line<'_>)| {
            is_scope(line).filter(|level| wanted(line.place, *level)).map(|level| (n, level))
        };
        lines.iter().enumerate().find_map(found)
    };
    let (start, level) = at(&|place, _| place == Place::Open).or_else(|| {
        at(&|place, level| match place {
            Place::Inside(Language::Markdown) => true,
            // A single # in a fence without a language may be a comment of a script.
            Place::Inside(Language::Plain) => level >= 2,
            _ => false,
        })
    })?;
    let place = lines[start].place;
    let over = |line: &Line<'_>| match place {
        // Inside a fence the section ends with it at the latest.
        Place::Inside(_) => line.place != place || closes(line, level),
        _ => line.place == Place::Open && closes(line, level),
    };
    let end = lines.iter().skip(start + 1).position(over).map_or(lines.len(), |n| start + 1 + n);
    Some(Section { heading: start, end })
}

fn closes(line: &Line<'_>, level: usize) -> bool {
    heading(line.text).is_some_and(|(l, _)| l <= level)
}
