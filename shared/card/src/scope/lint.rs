//! What is wrong with a scope section, and how it could be written instead.

mod entries;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::read::{self, Field, Part, Reading};
use super::section::{self, Line};
use super::{Scope, entry, inner};
use base::money::Money;
use base::named_enum::named_enum;

/// Most characters of one concern.
const MAX_CONCERN: usize = 300;
/// What joins several concerns into one sentence.
const JOINTS: [&str; 2] = [" and also ", "; "];

/// What is too much for one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The most files that a task may declare.
    pub max_files: u32,
    /// The most turns that a task may declare.
    pub iterations: u32,
    /// The most top-level folders that its entries in scope may name.
    pub max_areas: usize,
}

named_enum! {
    /// What kind of flaw.
    pub enum FlawKind {
        /// What a scope cannot do without is not there.
        Missing = "missing",
        /// Two lines cannot both be meant, or nothing could be done within one.
        Contradictory = "contradictory",
        /// It limits nothing, or less than the policy asks.
        TooBroad = "too_broad",
        /// It is a field of Watchbill, and its value cannot be read or never names anything.
        NotUnderstood = "not_understood",
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flaw {
    /// The line of the body, from 1 on; `None` where a line is missing.
    pub line: Option<usize>,
    /// That line, without its end. Untrusted.
    pub text: Option<String>,
    /// The kind.
    pub what: FlawKind,
    /// The reason, in a phrase. It may quote the body and is as untrusted.
    pub because: String,
    /// The whole field as it could be written instead, on one line; the whole section where there is none. What only the author
    /// can know stands in angle brackets. It may quote the body and is as untrusted.
    pub fix: String,
}

/// What is wrong with the scope section of a task body, by line; what is missing comes first. Nothing where it is sound.
pub fn lint(body: &str, policy: &Policy) -> Vec<Flaw> {
    let lines = section::lines(body);
    let Some(at) = section::find(&lines) else {
        return vec![Flaw {
            line: None,
            text: None,
            what: FlawKind::Missing,
            because: "there is no scope section".into(),
            fix: template(policy),
        }];
    };
    let lines = inner(&lines, &at);
    // A heading is a line, and people count from one.
    let mut linter =
        Linter { lines, first: at.heading + 2, reading: read::read(lines), policy, flaws: Vec::new() };
    linter.concern();
    linter.entries();
    linter.limits();
    let mut flaws = linter.flaws;
    flaws.sort_by_key(|f| f.line);
    flaws
}

fn template(policy: &Policy) -> String {
    let scope = Scope {
        concern: Some(CONCERN.into()),
        in_scope: vec![entries::PLACE.into()],
        out_of_scope: vec![entries::PLACE.into()],
        max_files: Some(policy.max_files),
        iterations: Some(policy.iterations),
        time_budget: Some(TIME),
        cost_budget: Some(COST.into()),
    };
    scope.write()
}

const CONCERN: &str = "<what is different when it is done, in one sentence>";
const TIME: Duration = Duration::from_secs(30 * 60);
const COST: &str = "$5";

struct Linter<'a, 'b> {
    /// The lines below the heading.
    lines: &'b [Line<'a>],
    /// The number of the first of them.
    first: usize,
    reading: Reading<'a>,
    policy: &'b Policy,
    flaws: Vec<Flaw>,
}

impl<'a> Linter<'a, '_> {
    fn flaw(&mut self, line: Option<usize>, what: FlawKind, because: impl Into<String>, fix: &str) {
        let text = line.and_then(|n| self.lines.get(n)).map(|l| l.text.to_owned());
        let line = line.map(|n| n + self.first);
        self.flaws.push(Flaw { line, text, what, because: because.into(), fix: fix.to_owned() });
    }

    /// The line that names a field.
    fn label(&self, field: Field) -> Option<usize> {
        self.reading.labels.iter().find(|(f, _)| *f == field).map(|(_, line)| *line)
    }

    /// What is said of a field: the line and the words.
    fn parts(&self, field: Field) -> Vec<(usize, &'a str)> {
        let of = |p: &&Part<'a>| p.field == field;
        self.reading.parts.iter().filter(of).map(|p| (p.line, p.value)).collect()
    }

    fn concern(&mut self) {
        let line = self.label(Field::Concern);
        let fix = |text: &str| Scope { concern: Some(text.into()), ..Scope::default() }.fields().concat();
        let concern = self.reading.scope.concern.clone().unwrap_or_default();
        if entry::one_line(&concern).is_empty() {
            self.flaw(line, FlawKind::Missing, "it does not say what the task is about", &fix(CONCERN));
        } else if is_placeholder(&concern) {
            self.flaw(line, FlawKind::NotUnderstood, "the concern is not filled in", &fix(CONCERN));
        } else if let Some((first, _)) = JOINTS.iter().find_map(|j| concern.split_once(j)) {
            let why = "one task has one concern; the others are tasks of their own";
            self.flaw(line, FlawKind::TooBroad, why, &fix(first));
        } else if concern.chars().count() > MAX_CONCERN {
            let why = format!("the concern is longer than {MAX_CONCERN} characters");
            self.flaw(line, FlawKind::TooBroad, why, &fix(CONCERN));
        }
    }

    fn limits(&mut self) {
        let Policy { max_files, iterations, .. } = *self.policy;
        let count = |text: &str| read::number(text).map(u64::from);
        let time = |text: &str| read::time(text).map(|t| t.as_secs());
        let cost = |text: &str| Money::parse(read::plain(text)).map(|m| m.0);
        let fields = |scope: Scope| scope.fields().concat();
        let files = fields(Scope { max_files: Some(max_files), ..Scope::default() });
        let turns = fields(Scope { iterations: Some(iterations), ..Scope::default() });
        let length = fields(Scope { time_budget: Some(TIME), ..Scope::default() });
        let money = fields(Scope { cost_budget: Some(COST.into()), ..Scope::default() });
        self.limit(Field::Files, &count, Some(u64::from(max_files)), &files);
        self.limit(Field::Iterations, &count, Some(u64::from(iterations)), &turns);
        self.limit(Field::Time, &time, None, &length);
        self.limit(Field::Cost, &cost, None, &money);
    }

    /// Checks a field of one number. The first that is understood counts.
    fn limit(&mut self, field: Field, read: &dyn Fn(&str) -> Option<u64>, most: Option<u64>, fix: &str) {
        let mut counts = None;
        for (line, text) in self.parts(field) {
            match (read(text), counts) {
                (None, _) => {
                    let why = "it is not plainly a value, so nothing is limited";
                    self.flaw(Some(line), FlawKind::NotUnderstood, why, fix);
                }
                (Some(_), Some(_)) if read(text) == counts => {}
                (Some(_), Some(_)) => {
                    let why = "another line says otherwise, and the first one counts";
                    self.flaw(Some(line), FlawKind::Contradictory, why, fix);
                }
                (Some(0), None) => {
                    self.flaw(Some(line), FlawKind::Contradictory, "nothing can be done within it", fix);
                }
                (Some(n), None) => {
                    if let Some(most) = most.filter(|most| n > *most) {
                        self.flaw(Some(line), FlawKind::TooBroad, format!("{n} is more than {most}"), fix);
                    }
                }
            }
            counts = counts.or(read(text));
        }
    }
}

/// What a template has in the place of words.
fn is_placeholder(text: &str) -> bool {
    text.starts_with('<') && text.ends_with('>')
}

#[cfg(test)]
mod tests;
