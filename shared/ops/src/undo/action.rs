//! Actions as a task's history tells them: all events of one pass of a watcher on one task are one action.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use base::time::Time;
use board::{Detail, Event, EventKind};
use policy::authorship;

/// What one pass of a watcher did to one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// The pass.
    pub pass: String,
    /// The program.
    pub(crate) by: String,
    /// Its rule.
    pub(crate) case: String,
    /// Its reason.
    pub because: String,
    /// When.
    pub at: Time,
    /// It was undone.
    pub is_undone: bool,
    /// Why it cannot be undone, whatever stands on the board.
    pub(super) lost: Option<&'static str>,
    /// Where its first and its last event stand in the history.
    pub(super) span: (usize, usize),
    /// Columns it changed, as they were and as it left them.
    pub(super) before: Map<String, Value>,
    pub(super) after: Map<String, Value>,
    /// Parents it put on the task and took off it.
    pub(super) linked: Vec<String>,
    pub(super) unlinked: Vec<String>,
    /// It told that the task stops, or that it is free: that may be all, where the row stood so already.
    pub(super) is_word: bool,
    /// Tasks it names, which it may have made.
    pub named: BTreeSet<String>,
}

/// Every action of a watcher on a task, the newest first.
pub fn actions(d: &Detail) -> Vec<Action> {
    let undone = undone(d);
    let mut all: Vec<Action> = Vec::new();
    for (nth, e) in d.events.iter().enumerate().filter(|(_, e)| authorship::is_ours(e)) {
        let Some(pass) = pass_of(e) else { continue };
        let at = match all.iter().position(|a| a.pass == pass) {
            Some(at) => at,
            None => {
                all.push(begun(e, nth, pass, undone.contains(pass)));
                all.len() - 1
            }
        };
        all[at].take(e, nth);
    }
    all.reverse();
    all
}

/// Whether a task was made in a pass, by one of the watchers.
pub fn made_by(made: &Detail, pass: &str) -> bool {
    let created = made.events.iter().find(|e| e.kind == EventKind::Created);
    created.is_some_and(|e| authorship::is_ours(e) && pass_of(e) == Some(pass))
}

fn pass_of(e: &Event) -> Option<&str> {
    e.trail()?.get("pass")?.as_str()
}

/// Passes whose actions on this task were undone.
fn undone(d: &Detail) -> BTreeSet<&str> {
    let by_hand = d.events.iter().filter(|e| e.kind == EventKind::Undone && e.by() == Some(super::NAME));
    by_hand.filter_map(|e| e.trail()?.get("undone")?.get("pass")?.as_str()).collect()
}

fn begun(e: &Event, nth: usize, pass: &str, is_undone: bool) -> Action {
    let text =
        |key: &str| e.trail().and_then(|t| t.get(key)).and_then(Value::as_str).unwrap_or_default().to_owned();
    Action {
        pass: pass.to_owned(),
        by: e.by().unwrap_or_default().to_owned(),
        case: text("case"),
        because: text("because"),
        at: e.at,
        is_undone,
        lost: None,
        span: (nth, nth),
        before: Map::new(),
        after: Map::new(),
        linked: Vec::new(),
        unlinked: Vec::new(),
        is_word: false,
        named: BTreeSet::new(),
    }
}

/// A further hold on a task that we held already: it changed nothing of the row.
fn is_extension(e: &Event) -> bool {
    let changes = |t: &Value| t.get("before").and_then(Value::as_object).is_some_and(|b| !b.is_empty());
    e.kind == EventKind::Scheduled && authorship::is_ours(e) && !e.trail().is_some_and(changes)
}

impl Action {
    /// Whether it changed anything that can be undone, but for what it made.
    pub fn is_change(&self) -> bool {
        self.lost.is_some()
            || self.is_word
            || !self.before.is_empty()
            || !self.linked.is_empty()
            || !self.unlinked.is_empty()
    }

    fn take(&mut self, e: &Event, nth: usize) {
        self.span.1 = nth;
        let parent = e.payload.get("parent").and_then(Value::as_str).map(str::to_owned);
        match e.kind {
            EventKind::Linked => self.linked.extend(parent),
            EventKind::Unlinked => self.unlinked.extend(parent),
            EventKind::Blocked | EventKind::Unblocked => self.is_word = true,
            _ => {}
        }
        let Some(trail) = e.trail() else { return };
        if trail.get("images").is_some() {
            self.lost = Some("its images were too long to be kept");
        }
        let image = |key: &str| trail.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        for (column, was) in image("before") {
            // A result from before is kept nowhere.
            if column == "completed_at" && !was.is_null() {
                self.lost = Some("it had been completed before, and the old result was not kept");
            }
            // What an earlier event of the same action says is older.
            self.before.entry(column).or_insert(was);
        }
        self.after.extend(image("after"));
        let ids = [e.payload.get("parent"), e.payload.get("card"), trail.get("card")].into_iter().flatten();
        let parts = trail.get("split").and_then(Value::as_array).into_iter().flatten();
        self.named.extend(ids.chain(parts).filter_map(Value::as_str).map(str::to_owned));
    }

    /// The first thing that happened to the task's work after the action. What was undone since does not count, nor does
    /// a hold that a watcher made longer.
    pub(super) fn later<'d>(&self, d: &'d Detail) -> Option<&'d Event> {
        let undone = undone(d);
        let stands = |e: &&Event| {
            let taken_back = authorship::is_ours(e) && pass_of(e).is_some_and(|pass| undone.contains(pass));
            authorship::is_turn(e) && !taken_back && !is_extension(e) && !authorship::is_of_undo(e)
        };
        d.events.iter().skip(self.span.1 + 1).find(stands)
    }
}
