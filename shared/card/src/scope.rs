//! The `## Scope` section of a task body: what one worker may touch, and how much it may spend on it.
//!
//! Bodies are written by people and models, so reading forgives form and never guesses values: what is not
//! plainly a number or a length of time is absent. Writing has one form only.

mod bounds;
mod entry;
pub mod lint;
mod read;
mod section;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::bounds::{Bounds, Side, sides};
pub use self::lint::{Flaw, FlawKind, Policy, lint};
use self::section::{Line, Section};
use base::money::Money;
use config::span;

/// The declared limits of one task. An absent one limits nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// What the task is about, in one sentence.
    pub concern: Option<String>,
    /// Files and packages the worker may change: globs where it can be, else the words of the author.
    pub in_scope: Vec<String>,
    /// Files and packages the worker must not change, in the same forms.
    pub out_of_scope: Vec<String>,
    /// The most files the task should change.
    pub max_files: Option<u32>,
    /// The turns the task is expected to take at most. Advice to us alone: it never changes a worker's own
    /// cap.
    pub iterations: Option<u32>,
    /// The time one attempt is expected to take at most, in whole seconds.
    #[serde(with = "seconds")]
    pub time_budget: Option<Duration>,
    /// The money the task is expected to cost at most, in the words of the author: `$5`.
    pub cost_budget: Option<String>,
}

impl Scope {
    /// The section in its one canonical form, heading included, a newline at its end. Absent fields are left
    /// out; line breaks within a field become spaces; parts of a second are cut off.
    pub fn write(&self) -> String {
        let mut out = String::from("## Scope\n");
        for field in self.fields() {
            out.push_str(&field);
            out.push('\n');
        }
        out
    }

    /// The first scope section in a task body; `None` where there is none. Accepts any heading level, bold
    /// labels, any bullets or none, sub-lists, a code fence around it, CRLF, and text after it. A value that
    /// is not understood is absent; no text is an error.
    pub fn parse(body: &str) -> Option<Scope> {
        let lines = section::lines(body);
        let at = section::find(&lines)?;
        Some(read::read(inner(&lines, &at)).scope)
    }

    /// The money the task is expected to cost at most, if the author's words are an amount in US dollars.
    pub fn cost(&self) -> Option<Money> {
        let about = |c: char| matches!(c, '~' | '\u{2248}' | '\u{2264}' | '<' | '=' | ' ');
        self.cost_budget.as_deref().and_then(|t| Money::parse(t.trim_start_matches(about)))
    }

    fn fields(&self) -> Vec<String> {
        let text = |t: &Option<String>| t.as_deref().map(entry::one_line).filter(|t| !t.is_empty());
        let values = [
            ("Concern", text(&self.concern)),
            ("In scope", entry::write(&self.in_scope)),
            ("Out of scope", entry::write(&self.out_of_scope)),
            ("Max files", self.max_files.map(|n| n.to_string())),
            ("Iteration budget", self.iterations.map(|n| n.to_string())),
            ("Time budget", self.time_budget.map(span::words)),
            ("Cost budget", text(&self.cost_budget)),
        ];
        values.into_iter().filter_map(|(label, value)| Some(format!("- {label}: {}", value?))).collect()
    }
}

/// Puts `scope` into `body`: in the place of the fields of its scope section, under the heading that is
/// there, or as a new section at the end. Everything else stays byte for byte, above all text in the section
/// outside of its fields.
#[must_use]
pub fn put(body: &str, scope: &Scope) -> String {
    let lines = section::lines(body);
    // A last line that ends in half a line end would get the other half from us.
    let eol = if body.contains("\r\n") || body.ends_with('\r') { "\r\n" } else { "\n" };
    match section::find(&lines) {
        Some(at) => replace(&lines, &at, scope, eol),
        None => append(body, &lines, scope, eol),
    }
}

fn replace(lines: &[Line<'_>], at: &Section, scope: &Scope, eol: &str) -> String {
    let section = inner(lines, at);
    let known = read::read(section).known;
    let fields = known.iter().rposition(|k| *k).map_or(0, |last| last + 1);
    let (body, tail) = section.split_at(fields);
    let strange = body.iter().zip(&known).filter(|(l, known)| !**known && !l.is_blank()).map(|(l, _)| l.raw);
    let kept: String = strange.chain(tail.iter().map(|l| l.raw)).collect();

    let mut out: String = lines[..=at.heading].iter().map(|l| l.raw).collect();
    if !out.ends_with('\n') {
        out.push_str(eol);
    }
    for field in scope.fields() {
        out.push_str(&field);
        out.push_str(eol);
    }
    // Without a blank line between, what follows could read as the rest of the last field.
    if kept.split('\n').next().is_some_and(|l| !l.trim().is_empty()) {
        out.push_str(eol);
    }
    out.push_str(&kept);
    out.extend(lines[at.end..].iter().map(|l| l.raw));
    out
}

fn append(body: &str, lines: &[Line<'_>], scope: &Scope, eol: &str) -> String {
    let mut out = body.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(eol);
    }
    // A fence nobody closed would swallow the section.
    if let Some(fence) = section::open_fence(lines) {
        out.push_str(&fence);
        out.push_str(eol);
    }
    if !out.is_empty() && !lines.last().is_some_and(Line::is_blank) {
        out.push_str(eol);
    }
    out.push_str(&scope.write().replace('\n', eol));
    out
}

fn inner<'a, 'b>(lines: &'b [Line<'a>], at: &Section) -> &'b [Line<'a>] {
    &lines[at.heading + 1..at.end]
}

/// Lengths of time as whole seconds, as every machine output has them.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(length: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
        length.map(|d| d.as_secs()).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(d)?.map(Duration::from_secs))
    }
}

#[cfg(test)]
mod tests;
