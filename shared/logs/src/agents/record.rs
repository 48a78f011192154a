//! What one session used and did, fact by fact.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::signs::{Failing, MAX_WORDS, Paces, Questions, Signs};
use self::slices::Slices;
use super::Side;
use super::fact::{Begin, Call, Does, Fact, Stop, Used};
use crate::session::{MAX_CALLS, MAX_KEPT, MAX_OPEN, Marks, Millis, Newest, Run, mark, push_newest, words};
use crate::vitals::{MAX_CALLS_TOLD, MAX_EDITED};
use base::clip::{clip, clip_words};
use base::hash::fnv;
use base::money::Money;

pub(crate) mod signs;
pub(crate) mod slices;

/// Longest name, folder or id that is kept, in bytes.
const MAX_NAME: usize = 400;
/// Most calls whose answer is waited for.
const MAX_AWAITED: usize = 64;
/// Most models whose tokens are told apart, and what stands for further ones.
const MAX_MODELS: usize = 16;
const OTHER_MODELS: &str = "(further models)";
/// Most sessions whose cost is told apart.
const MAX_BILLS: usize = 64;

/// What a session did so far. Goes through JSON unchanged, so that a later pass goes on where this one stopped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    pub(crate) session: Option<String>,
    pub(crate) cwd: Option<String>,
    is_subagent: Side,
    /// When the line that is read was written.
    at: Option<Millis>,
    pub(crate) first: Option<Millis>,
    pub(crate) last: Option<Millis>,
    pub(crate) lines: u64,
    /// Of those, lines that could not be read.
    pub(crate) unparseable: u64,
    /// The front of the log was left out, so that the first sum holds more than its own call.
    pub(crate) is_part: bool,
    pub(crate) said: Tale,
    /// This version of the agent says why its model stopped, so that it means something where nothing is said.
    pub(crate) tells_stops: bool,
    pub(crate) open: Newest<Open>,
    /// The API call whose answer the agent's own tools serve.
    speaking: String,
    calls_now: Newest<Answer>,
    pub(crate) total: Option<Used>,
    /// Sums are told once a turn, so that calls of the API are not.
    pub(crate) is_by_turn: bool,
    model: usize,
    pub(crate) models: Vec<(String, Used)>,
    /// What sessions cost so far, as the agent itself says.
    bills: BTreeMap<String, Money>,
    /// Something was used that is in none of these.
    pub(crate) is_unbilled: bool,
    /// Tokens in the context of the last call.
    pub(crate) context: Option<u64>,
    /// The context was compacted since, so that what is in it is not known.
    is_compacted: bool,
    pub(crate) window: Option<u64>,
    /// Input that was new, and output.
    fresh: u64,
    pub(crate) turns: u64,
    /// Calls of the API that subagents made, whose lines stand between the agent's own.
    pub(crate) side_turns: u64,
    /// Calls of the API whose stream was cut, as far as is known.
    pub(crate) cut_turns: u64,
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    /// Calls that are known to have failed; a failure may be told twice.
    failed: Marks,
    pub(crate) malformed: u64,
    pub(crate) compactions: u64,
    /// The same of subagents with a log of their own.
    pub(crate) side_compactions: u64,
    /// The most equal calls with equal answers in a row.
    pub(crate) run: Run,
    pub(crate) slices: Slices,
    pub(crate) failing: Failing,
    pub(crate) questions: Questions,
    pub(crate) paces: Paces,
    pub(crate) signs: Signs,
    /// How often each file was to be edited.
    pub(crate) edited: Newest<u64>,
    /// More files were edited than are kept.
    pub(crate) is_edited_more: bool,
    pub(crate) last_calls: VecDeque<Told>,
    pub(crate) seen: Seen,
}

/// What is only shown, and counts for nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Seen {
    /// All input tokens, line by line.
    pub(crate) naive: u64,
    /// Tokens as the agent names them: of the thread, and of its last call.
    pub(crate) total: Option<BTreeMap<String, u64>>,
    pub(crate) last: BTreeMap<String, u64>,
    pub(crate) before_compactions: VecDeque<u64>,
    /// Failures that ended a turn, as the agent states them.
    pub(crate) failures: VecDeque<Value>,
    pub(crate) turns_begun: u64,
    pub(crate) turns_over: u64,
    /// Whether the model wrote last, and why it stopped.
    pub(crate) wrote: Option<(bool, Option<String>)>,
    pub(crate) synthetic: u64,
    pub(crate) is_closed: bool,
}

/// A call of the API of which more lines may come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Answer {
    used: Used,
    stopped: bool,
}

/// Whose turn it is by the last word that was said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tale {
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
pub(crate) struct Open {
    pub(crate) since: Option<Millis>,
    pub(crate) does: Does,
    /// A subagent's, whose lines stand between the agent's own.
    side: bool,
    name: String,
    mark: u64,
    brief: String,
    malformed: bool,
    failed: bool,
    /// Nobody waits for its answer any more.
    is_given_up: bool,
}

impl Open {
    fn give_up(&mut self) {
        *self = Open { malformed: self.malformed, is_given_up: true, ..Open::default() };
    }
}

/// A call in words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told {
    id: u64,
    pub(crate) call: String,
    pub(crate) failed: Option<bool>,
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
    /// What is known of a session before its attempt begins, and nothing counted.
    pub(crate) fn anew(&self) -> Record {
        Record {
            session: self.session.clone(),
            cwd: self.cwd.clone(),
            is_subagent: self.is_subagent,
            total: self.total,
            window: self.window,
            is_part: self.is_part,
            models: self.models.iter().map(|(name, _)| (name.clone(), Used::default())).collect(),
            model: self.model,
            ..Record::default()
        }
    }

    /// The next acts were written at this time, where it is known.
    pub(crate) fn now(&mut self, at: Option<Millis>) {
        self.at = at;
        self.lines += 1;
        if let Some(at) = at {
            self.first = Some(self.first.map_or(at, |first| first.min(at)));
            self.last = self.last.max(Some(at));
        }
    }

    /// Something was written at this time, whatever it was.
    pub(crate) fn lived(&mut self, at: Millis) {
        self.last = self.last.max(Some(at));
    }

    /// A line that could not be read.
    pub(crate) fn broken(&mut self) {
        self.unparseable += 1;
        self.seen.is_closed = false;
    }

    /// One fact; `side`: the log says that a subagent did it.
    pub(crate) fn take(&mut self, side: bool, fact: &Fact<'_>) {
        let side = self.is_subagent.of(side, fact);
        match *fact {
            Fact::Session { id, cwd, once } => {
                kept(id.filter(|_| !once || self.session.is_none()), &mut self.session);
                kept(cwd, &mut self.cwd);
            }
            Fact::Model { name, window } => {
                self.window = window.or(self.window);
                if let Some(name) = name {
                    self.names_model(name);
                }
            }
            Fact::Asked if !side => self.asked(),
            Fact::Spoke { call, stop } if !side => self.spoke(call, stop),
            Fact::Used { call, model, used, context, stopped } => {
                self.used(side, call, model, Answer { used, stopped }, context);
            }
            Fact::Total { total, last, by_turn } => {
                self.is_by_turn |= by_turn;
                self.total(total, last);
            }
            Fact::Billed { session, cost, used } => self.billed(session, cost, used),
            Fact::Called(ref call) => self.called(side, call),
            Fact::Answered { id, failed, malformed, print, .. } => {
                self.answered(id, failed || malformed, malformed, print);
            }
            Fact::Failed { id, .. } => {
                self.open.get_mut(id).into_iter().for_each(|open| open.failed = true);
                self.fails(id);
            }
            Fact::Compacted { before } => {
                before.into_iter().for_each(|n| push_newest(&mut self.seen.before_compactions, n, MAX_KEPT));
                if !side {
                    self.compacted();
                }
            }
            Fact::Over if !side => {
                self.seen.turns_over += 1;
                self.said = Tale::Over;
                self.nothing_is_awaited();
            }
            _ => self.seen.take(side, fact),
        }
    }

    /// Calls that failed. Of a call that was made before the attempt only the failure is within it.
    pub(crate) fn errors(&self) -> u64 {
        self.errors.min(self.calls)
    }

    /// A further model, and what it used.
    pub(crate) fn add_model(&mut self, name: &str, used: Used) -> usize {
        let number = self.number(name);
        if let Some((_, sum)) = self.models.get_mut(number) {
            *sum = sum.plus(used, Used::default());
        }
        number
    }

    fn asked(&mut self) {
        // What still had not answered was interrupted.
        self.nothing_is_awaited();
        self.said = Tale::Asked;
    }

    fn spoke(&mut self, call: &str, stop: Stop) {
        if !call.is_empty() && self.speaking != call {
            // No API takes a further request before all tools have answered: what has not never will.
            self.nothing_is_awaited();
            self.speaking = clip(call, MAX_NAME).to_owned();
        }
        self.tells_stops |= stop != Stop::Unsaid;
        self.said = match stop {
            Stop::Unsaid | Stop::ForTools => Tale::Speaking,
            Stop::Done => Tale::Over,
        };
    }

    /// The model of what follows.
    fn names_model(&mut self, name: &str) {
        // What was used before any model was named is this one's as well.
        if let [(known, _)] = self.models.as_mut_slice()
            && known.is_empty()
        {
            clip(name, MAX_NAME).clone_into(known);
        }
        self.model = self.number(name);
    }

    /// The number of a model.
    fn number(&mut self, name: &str) -> usize {
        let name = clip(name, MAX_NAME);
        if let Some(at) = self.models.iter().position(|(known, _)| known == name) {
            return at;
        }
        if self.models.len() <= MAX_MODELS {
            let name = if self.models.len() < MAX_MODELS { name } else { OTHER_MODELS };
            self.models.push((name.to_owned(), Used::default()));
        }
        self.models.len() - 1
    }

    fn used(&mut self, side: bool, call: &str, model: &str, line: Answer, context: u64) {
        let model = self.number(model);
        self.is_unbilled = true;
        self.seen.naive = self.seen.naive.saturating_add(context);
        if !side {
            self.model = model;
            (self.context, self.is_compacted) = (Some(context), false);
        }
        let mut is_new = false;
        let new = || {
            is_new = true;
            Answer::default()
        };
        // Without any id each line is a call of its own.
        let mut alone = Answer::default();
        let known = self.calls_now.touch(call, MAX_CALLS, new);
        is_new |= known.is_none();
        let known = known.unwrap_or(&mut alone);
        let before = *known;
        *known = Answer { used: before.used.most(line.used), stopped: before.stopped || line.stopped };
        let after = *known;
        self.cut_turns += u64::from(is_new);
        self.cut_turns -= u64::from(after.stopped && !before.stopped);
        if is_new && side {
            self.side_turns += 1;
        } else if is_new {
            self.turns += 1;
            self.signs.spoke(context);
        }
        self.spent(model, after.used, before.used);
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

    /// A sum over the thread. Where the front of the log is gone, the first one holds what was used there as well.
    fn total(&mut self, total: Used, last: Option<Used>) {
        if let Some(last) = last {
            (self.context, self.is_compacted) = (Some(last.context()), false);
        }
        let whole = |u: Used| u.context().saturating_add(u.output);
        let Some(before) = self.total else {
            self.total = Some(total);
            self.call_told(if self.is_part { last.unwrap_or_default() } else { total });
            return;
        };
        if whole(total) > whole(before) {
            self.total = Some(total);
            self.call_told(Used::default().plus(total, before));
        }
    }

    fn call_told(&mut self, used: Used) {
        self.turns += 1;
        self.signs.spoke(self.context().unwrap_or_else(|| used.context()));
        self.spent_now(used, Used::default());
    }

    /// The same of the model that is asked now, whether it was named or not.
    fn spent_now(&mut self, after: Used, before: Used) {
        if self.models.is_empty() {
            self.models.push((String::new(), Used::default()));
        }
        self.spent(self.model.min(self.models.len() - 1), after, before);
    }

    /// A sum of the agent's own. It knows more than its lines tell: they are written before an answer is whole.
    fn billed(&mut self, session: &str, cost: Money, used: Used) {
        let session = clip(session, MAX_NAME);
        let fits = self.bills.len() < MAX_BILLS || self.bills.contains_key(session);
        if fits {
            self.bills.insert(session.to_owned(), cost);
        }
        self.is_unbilled = !fits;
        let known = self.used_in_all();
        self.spent_now(known.most(used), known);
    }

    /// What its sessions cost, where the agent itself says so.
    pub(crate) fn bill(&self) -> Option<Money> {
        let sum = || self.bills.values().fold(Money::default(), |sum, cost| sum.plus(*cost));
        (!self.bills.is_empty()).then(sum)
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
        let mark = mark([call.name.as_bytes(), call.arguments.as_bytes()]);
        let open = Open {
            since: self.at,
            does: call.does,
            side,
            name: clip(call.name, MAX_NAME).to_owned(),
            mark,
            brief: brief.clone(),
            malformed: call.malformed,
            ..Open::default()
        };
        self.open.touch(call.id, MAX_OPEN, || open);
        if self.awaited().count() > MAX_AWAITED {
            self.open.values_mut().find(|open| !open.is_given_up).into_iter().for_each(Open::give_up);
        }
        self.signs.called(call);
        if call.does == Does::Edits {
            self.paces.edit(self.fresh);
            call.files.iter().for_each(|file| self.edit(file, 1));
        }
        if !side {
            self.run.called(call.id, mark);
            push_newest(&mut self.last_calls, Told { id, call: brief, failed: None }, MAX_CALLS_TOLD);
            if !matches!(call.does, Does::Reads | Does::Looks) {
                self.questions.went_on();
            }
        }
    }

    /// A file was to be edited, so often.
    fn edit(&mut self, file: &str, times: u64) {
        let is_full = self.edited.len() >= MAX_EDITED as u64;
        self.is_edited_more |= is_full && !self.edited.holds(file);
        match self.edited.touch(file, MAX_EDITED, || 0) {
            Some(known) => *known = known.saturating_add(times),
            // A name that is too long to be kept is one more as well.
            None => self.is_edited_more = true,
        }
    }

    fn compacted(&mut self) {
        self.compactions += 1;
        // What the next call finds in it.
        self.is_compacted = true;
        self.questions.forgotten();
        self.signs.compacted();
    }

    /// Of the calls without an answer none of the agent's own will get one.
    fn nothing_is_awaited(&mut self) {
        self.open.values_mut().filter(|open| !open.side && !open.is_given_up).for_each(Open::give_up);
    }

    /// Calls whose answer is waited for, oldest first.
    pub(crate) fn awaited(&self) -> impl DoubleEndedIterator<Item = &Open> {
        self.open.values().filter(|open| !open.is_given_up)
    }

    /// A call failed, unless that was told already.
    fn fails(&mut self, id: &str) {
        self.errors += u64::from(self.failed.is_new(id, MAX_OPEN));
    }

    fn answered(&mut self, id: &str, failed: bool, malformed: bool, print: &dyn Fn() -> u64) {
        self.run.answered(id, print);
        let open = self.open.take(id);
        let failed = failed || open.as_ref().is_some_and(|open| open.failed);
        let was_counted = open.as_ref().is_some_and(|open| open.malformed);
        if failed {
            self.fails(id);
        }
        self.malformed += u64::from(malformed && !was_counted);
        if let Some(at) = self.at {
            let slice = self.slices.at(at);
            slice.calls += 1;
            slice.errors += u64::from(failed);
        }
        let Some(open) = open.filter(|open| !open.is_given_up) else { return };
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
            self.questions.answered(open.mark, print(), call);
        }
    }

    /// Tokens in the context, where that is known.
    pub(crate) fn context(&self) -> Option<u64> {
        self.context.filter(|_| !self.is_compacted)
    }

    /// Adds what a subagent did, which writes a log of its own. Its turns are not the agent's.
    pub(crate) fn join(&mut self, side: &Record) {
        let sum = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        sum(&mut self.calls, side.calls);
        sum(&mut self.errors, side.errors);
        sum(&mut self.malformed, side.malformed);
        sum(&mut self.paces.edits, side.paces.edits);
        sum(&mut self.side_compactions, side.compactions);
        self.run.join(&side.run);
        self.last = self.last.max(side.last);
        let numbers: Vec<usize> =
            side.models.iter().map(|(name, used)| self.add_model(name, *used)).collect();
        let number = |n: usize| numbers.get(n).copied().unwrap_or(0);
        self.slices.merge(&side.slices, number);
        for (n, open) in side.awaited().enumerate() {
            let key = format!("side:{n}:{}", side.session.as_deref().unwrap_or_default());
            self.open.touch(&key, MAX_OPEN, || Open { side: true, ..open.clone() });
        }
        side.edited.to_map().iter().for_each(|(file, times)| self.edit(file, *times));
        self.is_edited_more |= side.is_edited_more;
    }

    /// What all models used.
    pub(crate) fn used_in_all(&self) -> Used {
        self.models.iter().fold(Used::default(), |sum, (_, used)| sum.plus(*used, Used::default()))
    }

    /// The model of the last call.
    pub(crate) fn model(&self) -> Option<&str> {
        self.models.get(self.model).map(|(name, _)| name.as_str()).filter(|name| !name.is_empty())
    }
}

impl Seen {
    fn take(&mut self, side: bool, fact: &Fact<'_>) {
        match fact {
            Fact::Line { closes: Some(closes), .. } => self.is_closed = *closes,
            Fact::Begins(Begin::Turn) => self.turns_begun += 1,
            Fact::Wrote { by_model, stop } if !side => {
                self.wrote = Some((*by_model, stop.map(|s| clip(s, MAX_NAME).to_owned())));
            }
            Fact::Synthetic => self.synthetic += 1,
            Fact::Named { total, last } => {
                self.total = total.clone().or(self.total.take());
                if let Some(last) = last {
                    self.last.clone_from(last);
                }
            }
            Fact::Refused(refusal) => {
                if let Some(stated) = &refusal.stated {
                    push_newest(&mut self.failures, stated.clone(), MAX_KEPT);
                }
            }
            _ => {}
        }
    }
}
