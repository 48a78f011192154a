//! One session, act by act.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::signs::{Failing, MAX_WORDS, Paces, Questions, Signs};
use super::slices::Slices;
use super::{MAX_CALLS_TOLD, MAX_EDITED};
use crate::clip::{clip, clip_words};
use crate::hash::fnv;
use crate::logs::acts::{Act, Call, Does, Stop};
use crate::logs::claude::Used;
use crate::logs::session::{MAX_CALLS, Millis, Newest, push_newest, words};

/// Longest name, folder or id that is kept, in bytes.
const MAX_NAME: usize = 400;
/// Most calls without an answer that are remembered.
const MAX_OPEN: usize = 64;
/// Most models whose tokens are told apart; the last one stands for all further ones.
const MAX_MODELS: usize = 16;
/// Sizes of a Claude model's context.
const WINDOW: u64 = 200_000;
const WINDOW_1M: u64 = 1_000_000;

/// What a session did so far. Goes through JSON unchanged, so that a later pass goes on where this one stopped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::logs::usage) struct Record {
    pub(super) session: Option<String>,
    pub(super) cwd: Option<String>,
    /// The whole log is a subagent's, so that its sidechain is all there is.
    is_subagent: Option<bool>,
    /// When the line that is read was written.
    at: Option<Millis>,
    pub(super) first: Option<Millis>,
    pub(super) last: Option<Millis>,
    pub(super) lines: u64,
    pub(super) said: Tale,
    /// This version of the agent says why its model stopped, so that it means something where nothing is said.
    pub(super) tells_stops: bool,
    pub(super) open: Newest<Open>,
    /// The API call whose answer the agent's own tools serve.
    speaking: String,
    calls_now: Newest<Used>,
    total: Option<Used>,
    model: usize,
    pub(super) models: Vec<(String, Used)>,
    pub(super) is_claude: bool,
    pub(super) context: Option<u64>,
    window: Option<u64>,
    /// Input that was new, and output.
    fresh: u64,
    pub(super) turns: u64,
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) malformed: u64,
    pub(super) compactions: u64,
    pub(super) slices: Slices,
    pub(super) failing: Failing,
    pub(super) questions: Questions,
    pub(super) paces: Paces,
    pub(super) signs: Signs,
    pub(super) edited: Newest<()>,
    /// More files were edited than are kept.
    pub(super) is_edited_more: bool,
    pub(super) last_calls: VecDeque<Told>,
}

/// Whose turn it is by the last word that was said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::logs::usage) enum Tale {
    #[default]
    Nothing,
    /// The model's.
    Asked,
    /// The model speaks, or its stream was cut.
    Speaking,
    /// Nobody's.
    Over,
}

/// A call without an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Open {
    pub(super) since: Option<Millis>,
    pub(super) does: Does,
    /// A subagent's, whose lines stand between the agent's own.
    side: bool,
    name: String,
    mark: u64,
    brief: String,
    malformed: bool,
    failed: bool,
}

impl Open {
    /// The same, as one of a subagent with a log of its own.
    pub(super) fn of_side(&self) -> Open {
        Open { side: true, ..self.clone() }
    }
}

/// A call in words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Told {
    id: u64,
    pub(super) call: String,
    pub(super) failed: Option<bool>,
}

fn hash(text: &str) -> u64 {
    fnv(text.bytes())
}

fn kept(text: Option<&str>, before: &mut Option<String>) {
    let Some(text) = text.filter(|t| !t.is_empty()).map(|t| clip(t, MAX_NAME)) else { return };
    if before.as_deref() != Some(text) {
        *before = Some(text.to_owned());
    }
}

impl Record {
    /// Nothing yet, of Claude Code or of somebody else.
    pub(super) fn new(is_claude: bool) -> Record {
        Record { is_claude, ..Record::default() }
    }

    /// What is known of a session before its attempt begins, and nothing counted.
    pub(super) fn anew(&self) -> Record {
        Record {
            session: self.session.clone(),
            cwd: self.cwd.clone(),
            is_subagent: self.is_subagent,
            total: self.total,
            window: self.window,
            is_claude: self.is_claude,
            models: self.models.iter().map(|(name, _)| (name.clone(), Used::default())).collect(),
            model: self.model,
            ..Record::default()
        }
    }

    /// The next acts were written at this time, where it is known.
    pub(in crate::logs::usage) fn now(&mut self, at: Option<Millis>) {
        self.at = at;
        self.lines += 1;
        if let Some(at) = at {
            self.first = Some(self.first.map_or(at, |first| first.min(at)));
            self.last = self.last.max(Some(at));
        }
    }

    /// Something was written at this time, whatever it was.
    pub(in crate::logs::usage) fn lived(&mut self, at: Millis) {
        self.last = self.last.max(Some(at));
    }

    /// One act; `side`: the log says that a subagent did it.
    pub(in crate::logs::usage) fn act(&mut self, side: bool, act: Act<'_>) {
        let side = match act {
            Act::Session { .. } | Act::Model { .. } => false,
            // Where the first to act is a subagent, the log is its own.
            _ => !*self.is_subagent.get_or_insert(side) && side,
        };
        match act {
            Act::Session { id, cwd } => {
                kept(id, &mut self.session);
                kept(cwd, &mut self.cwd);
            }
            Act::Model { name, window } => {
                self.window = window.or(self.window);
                if let Some(name) = name {
                    self.model = self.number(name);
                }
            }
            Act::Asked if !side => self.asked(),
            Act::Spoke { call, stop } if !side => self.spoke(call, stop),
            Act::Used { call, model, used, context } => self.used(side, call, model, used, context),
            Act::Total { total, last } => self.total(total, last),
            Act::Called(call) => self.called(side, &call),
            Act::Answered { id, failed, malformed, print } => self.answered(id, failed, malformed, print),
            Act::Failed { id } => self.open.get_mut(id).into_iter().for_each(|open| open.failed = true),
            Act::Compacted if !side => {
                self.compactions += 1;
                // What the next call finds in it.
                self.context = None;
                self.questions.forgotten();
                self.signs.compacted();
            }
            Act::Over if !side => {
                self.said = Tale::Over;
                self.open.retain(|open| open.side);
            }
            Act::Asked | Act::Spoke { .. } | Act::Compacted | Act::Over => {}
        }
    }

    /// Calls that failed. Of a call that was made before the attempt only the failure is within it.
    pub(in crate::logs::usage) fn errors(&self) -> u64 {
        self.errors.min(self.calls)
    }

    /// A further model, and what it used.
    pub(super) fn add_model(&mut self, name: &str, used: Used) -> usize {
        let number = self.number(name);
        if let Some((_, sum)) = self.models.get_mut(number) {
            *sum = sum.plus(used, Used::default());
        }
        number
    }

    fn asked(&mut self) {
        // What still had not answered was interrupted.
        self.open.retain(|open| open.side);
        self.said = Tale::Asked;
    }

    fn spoke(&mut self, call: &str, stop: Stop) {
        if !call.is_empty() && self.speaking != call {
            // No API takes a further request before all tools have answered: what has not never will.
            self.open.retain(|open| open.side);
            self.speaking = clip(call, MAX_NAME).to_owned();
        }
        self.tells_stops |= stop != Stop::Unsaid;
        self.said = match stop {
            Stop::Unsaid | Stop::ForTools => Tale::Speaking,
            Stop::Done => Tale::Over,
        };
    }

    /// The number of a model.
    fn number(&mut self, name: &str) -> usize {
        let name = clip(name, MAX_NAME);
        if let Some(at) = self.models.iter().position(|(known, _)| known == name) {
            return at;
        }
        if self.models.len() < MAX_MODELS {
            self.models.push((name.to_owned(), Used::default()));
        }
        self.models.len() - 1
    }

    fn used(&mut self, side: bool, call: &str, model: &str, used: Used, context: u64) {
        let model = self.number(model);
        if !side {
            self.model = model;
            self.context = Some(context);
        }
        let mut is_new = false;
        let new = || {
            is_new = true;
            Used::default()
        };
        let (before, after) = match self.calls_now.touch(call, MAX_CALLS, new) {
            Some(known) => {
                let before = *known;
                *known = before.most(used);
                (before, *known)
            }
            // Without any id each line is a call of its own.
            None => {
                is_new = true;
                (Used::default(), used)
            }
        };
        if is_new && !side {
            self.turns += 1;
            self.signs.spoke(context);
        }
        self.spent(model, after, before);
    }

    /// Tokens of a call, as far as they are more than what was counted of it.
    fn spent(&mut self, model: usize, after: Used, before: Used) {
        if let Some((_, sum)) = self.models.get_mut(model) {
            *sum = sum.plus(after, before);
        }
        let fresh = |u: Used| u.input.saturating_add(u.write).saturating_add(u.output);
        self.fresh = self.fresh.saturating_add(fresh(after)).saturating_sub(fresh(before));
        if let Some(at) = self.at {
            self.slices.at(at).add(model, after, before);
        }
    }

    /// A sum over the thread; the first one that is stated holds what was used before as well.
    fn total(&mut self, total: Used, last: Option<Used>) {
        if let Some(last) = last {
            self.context = Some(last.context());
        }
        let whole = |u: Used| u.context().saturating_add(u.output);
        let Some(before) = self.total else {
            self.total = Some(total);
            // A log that tells no last call begins with its first.
            self.call_told(last.unwrap_or(if self.turns == 0 { total } else { Used::default() }));
            return;
        };
        if whole(total) > whole(before) {
            self.total = Some(total);
            self.call_told(Used::default().plus(total, before));
        }
    }

    fn call_told(&mut self, used: Used) {
        if self.models.is_empty() {
            self.models.push((String::new(), Used::default()));
        }
        self.turns += 1;
        self.signs.spoke(self.context.unwrap_or_else(|| used.context()));
        self.spent(self.model.min(self.models.len() - 1), used, Used::default());
    }

    fn called(&mut self, side: bool, call: &Call<'_>) {
        // Older versions repeat a message's blocks as it grows.
        if self.open.holds(call.id) {
            return;
        }
        self.calls += 1;
        self.malformed += u64::from(call.malformed);
        let said = if call.brief.is_empty() { call.arguments } else { call.brief };
        let brief = words(&format!("{}: {said}", clip(call.name, 60)), 4 * MAX_WORDS);
        let id = hash(call.id);
        let open = Open {
            since: self.at,
            does: call.does,
            side,
            name: clip(call.name, MAX_NAME).to_owned(),
            mark: fnv([call.name, call.arguments].iter().flat_map(|p| p.bytes().chain([0xff]))),
            brief: brief.clone(),
            malformed: call.malformed,
            failed: false,
        };
        self.open.touch(call.id, MAX_OPEN, || open);
        self.signs.called(call.does, call.files);
        if call.does == Does::Edits {
            self.paces.edit(self.fresh);
            call.files.iter().for_each(|file| self.edit(file));
        }
        if !side {
            push_newest(&mut self.last_calls, Told { id, call: brief, failed: None }, MAX_CALLS_TOLD);
            if !matches!(call.does, Does::Reads | Does::Looks) {
                self.questions.went_on();
            }
        }
    }

    /// A file was to be edited.
    pub(super) fn edit(&mut self, file: &str) {
        let is_full = self.edited.len() >= MAX_EDITED as u64;
        self.is_edited_more |= is_full && !self.edited.holds(file);
        // A name that is too long to be kept is one more as well.
        self.is_edited_more |= self.edited.touch(file, MAX_EDITED, || ()).is_none();
    }

    fn answered(&mut self, id: &str, failed: bool, malformed: bool, print: u64) {
        let open = self.open.take(id);
        let failed = failed || open.as_ref().is_some_and(|open| open.failed);
        let was_counted = open.as_ref().is_some_and(|open| open.malformed);
        self.errors += u64::from(failed);
        self.malformed += u64::from(malformed && !was_counted);
        if let Some(at) = self.at {
            let slice = self.slices.at(at);
            slice.calls += 1;
            slice.errors += u64::from(failed);
        }
        let Some(open) = open else { return };
        let number = hash(id);
        if let Some(told) = self.last_calls.iter_mut().rev().find(|t| t.id == number) {
            told.failed = Some(failed);
        }
        if open.side {
            return;
        }
        self.said = Tale::Asked;
        let call = clip_words(&open.brief, 2 * MAX_WORDS);
        self.failing.answered(open.mark, call, failed);
        self.signs.answered(&open.name, failed);
        if matches!(open.does, Does::Reads | Does::Looks) {
            self.questions.answered(open.mark, print, call);
        }
    }

    /// The size of the model's context. Names tell it of Claude models only, and not always: what holds more than 200 000
    /// tokens holds a million.
    pub(super) fn window(&self) -> Option<u64> {
        if self.window.is_some() || !self.is_claude {
            return self.window;
        }
        let name = self.models.get(self.model).map_or("", |(name, _)| name.as_str());
        let is_large = name.ends_with("[1m]") || self.context.is_some_and(|c| c > WINDOW);
        Some(if is_large { WINDOW_1M } else { WINDOW })
    }

    /// The model of the last call.
    pub(in crate::logs::usage) fn model(&self) -> Option<&str> {
        self.models.get(self.model).map(|(name, _)| name.as_str()).filter(|name| !name.is_empty())
    }
}
