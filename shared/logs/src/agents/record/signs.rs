//! Signs that an agent turns in circles, read call by call.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::agents::fact::{Call, Does};
use crate::session::{MAX_FILES, Newest, push_newest};
use crate::usage::files::{Reads, shown};
use crate::vitals::{Category, Finding, MAX_FINDINGS, Pace, Severity};

/// Most bytes of a call in words.
pub(crate) const MAX_WORDS: usize = 160;
/// Most questions of which the answer is remembered.
const MAX_QUESTIONS: usize = 64;
/// API calls over which the context is seen to grow.
const MAX_CONTEXTS: usize = 8;
/// Edits at both ends of an attempt whose tokens are compared.
const MAX_PACED: usize = 5;

/// The newest calls, where they are one call that failed each time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Failing {
    mark: u64,
    pub(crate) times: u64,
    pub(crate) call: String,
}

impl Failing {
    pub(crate) fn answered(&mut self, mark: u64, call: &str, failed: bool) {
        if !failed {
            *self = Failing::default();
        } else if self.times > 0 && self.mark == mark {
            self.times += 1;
        } else {
            *self = Failing { mark, times: 1, call: call.to_owned() };
        }
    }
}

/// What was asked again with the same answer, while nothing else was done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Questions(Newest<Question>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Question {
    print: u64,
    times: u64,
    call: String,
}

impl Questions {
    /// A question was answered: `print` tells whether as before.
    pub(crate) fn answered(&mut self, mark: u64, print: u64, call: &str) {
        let key = format!("{mark:x}");
        let known = self.0.take(&key).filter(|q| q.print == print);
        // An answer that is not known yet is progress: what was asked before may well be asked again after it.
        if known.is_none() {
            self.went_on();
        }
        let times = known.map_or(0, |q| q.times) + 1;
        self.0.touch(&key, MAX_QUESTIONS, || Question { print, times, call: call.to_owned() });
    }

    /// Something else was done.
    pub(crate) fn went_on(&mut self) {
        self.0.values_mut().for_each(|q| q.times = 1);
    }

    /// What is known was forgotten.
    pub(crate) fn forgotten(&mut self) {
        self.0 = Newest::default();
    }

    pub(crate) fn most(&self) -> Option<(u64, &str)> {
        self.0.values().max_by_key(|q| q.times).map(|q| (q.times, q.call.as_str()))
    }
}

/// Tokens from one edit to the next, at both ends of the attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Paces {
    first: Vec<u64>,
    newest: VecDeque<u64>,
    /// Tokens at the last edit.
    at: u64,
    pub(crate) edits: u64,
}

impl Paces {
    /// An edit, made after so many tokens in all.
    pub(crate) fn edit(&mut self, tokens: u64) {
        let since = tokens.saturating_sub(self.at);
        self.at = tokens;
        self.edits += 1;
        if self.first.len() < MAX_PACED {
            self.first.push(since);
        }
        push_newest(&mut self.newest, since, MAX_PACED);
    }

    pub(crate) fn pace(&self) -> Option<Pace> {
        let mean = |all: &mut dyn ExactSizeIterator<Item = u64>| {
            let n = all.len() as u64;
            (n > 0).then(|| all.fold(0, u64::saturating_add) / n)
        };
        let first = mean(&mut self.first.iter().copied())?;
        Some(Pace { edits: self.edits, first, newest: mean(&mut self.newest.iter().copied())? })
    }
}

/// What an autopsy finds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Signs {
    tool: String,
    in_a_row: u64,
    /// The most failures of one tool in a row, and the most of the two below, with their names.
    cascade: (u64, String),
    wasted: (u64, String),
    undone: (u64, String),
    pub(crate) reads: Newest<Reads>,
    edits: Newest<Cycle>,
    contexts: VecDeque<u64>,
    /// The most tokens by which the context grew over a few calls without an edit.
    bloat: u64,
}

/// How often a file was edited after something had failed since its last edit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Cycle {
    times: u64,
    failed: bool,
}

fn top(best: &mut (u64, String), times: u64, name: &str) {
    if times > best.0 {
        *best = (times, name.to_owned());
    }
}

impl Signs {
    pub(crate) fn called(&mut self, call: &Call<'_>) {
        for file in call.files {
            match call.does {
                Does::Edits => self.edit(file),
                Does::Reads => {
                    let Some(reads) = self.reads.touch(file, MAX_FILES, Reads::default) else { continue };
                    top(&mut self.wasted, reads.read(call.part), file);
                }
                Does::Looks | Does::Asks | Does::Other => {}
            }
        }
        if call.does == Does::Edits {
            self.contexts.clear();
        }
    }

    fn edit(&mut self, file: &str) {
        self.reads.take(file);
        let Some(cycle) = self.edits.touch(file, MAX_FILES, Cycle::default) else { return };
        cycle.times += u64::from(cycle.failed);
        cycle.failed = false;
        top(&mut self.undone, cycle.times, file);
    }

    pub(crate) fn answered(&mut self, tool: &str, failed: bool) {
        if !failed {
            self.in_a_row = 0;
            return;
        }
        if self.tool != tool {
            self.tool = tool.to_owned();
            self.in_a_row = 0;
        }
        self.in_a_row += 1;
        top(&mut self.cascade, self.in_a_row, tool);
        self.edits.values_mut().for_each(|c| c.failed = true);
    }

    pub(crate) fn spoke(&mut self, context: u64) {
        push_newest(&mut self.contexts, context, MAX_CONTEXTS);
        let first = self.contexts.front().copied().unwrap_or(context);
        self.bloat = self.bloat.max(context.saturating_sub(first));
    }

    pub(crate) fn compacted(&mut self) {
        self.contexts.clear();
    }

    /// The findings, worst first.
    pub(crate) fn findings(&self, window: Option<u64>) -> Vec<Finding> {
        let mut all = Vec::new();
        let mut add = |category, severity, said: String| all.push(Finding { category, severity, said });
        let (times, name) = &self.cascade;
        if *times >= 2 {
            let severity = match times {
                5.. => Severity::Critical,
                3.. => Severity::Warning,
                _ => Severity::Info,
            };
            add(Category::ErrorCascade, severity, format!("{} failed {times} times in a row", shown(name)));
        }
        let (times, name) = &self.wasted;
        if *times >= 3 {
            let severity = if *times >= 5 { Severity::Warning } else { Severity::Info };
            let said = format!("{} was read {times} times without an edit", shown(name));
            add(Category::WastedReads, severity, said);
        }
        let (times, name) = &self.undone;
        if *times >= 2 {
            let severity = if *times >= 4 { Severity::Critical } else { Severity::Warning };
            let said = format!("{} was edited again after a failure {times} times", shown(name));
            add(Category::UndoRedoLoop, severity, said);
        }
        let share = window.filter(|w| *w > 0).map_or(0, |w| self.bloat.saturating_mul(100) / w);
        if share > 15 {
            let severity = if share > 30 { Severity::Critical } else { Severity::Warning };
            let said = format!("{MAX_CONTEXTS} API calls without an edit filled {share} % of the context");
            add(Category::ContextBloat, severity, said);
        }
        all.sort_by_key(|f| std::cmp::Reverse(f.severity));
        all.truncate(MAX_FINDINGS);
        all
    }
}
