//! What a state comes to once nothing goes wrong any more: everything is done, or with a person.

use std::collections::BTreeMap;

use shared::board::{Board, Detail, EventKind, Status};

use super::super::laws;
use super::{Actor, Budget, FAILED, Program, State, TASKS, Told, Worker};

/// Rounds of two minutes, and then rounds of ten.
const SHORT: u8 = 30;
const LONG: u8 = 90;

/// How each task of a state ends, by its name.
///
/// # Errors
/// A task that stands still for ever, of which nobody says why.
pub(super) fn ends(state: &State) -> Result<BTreeMap<String, &'static str>, String> {
    let mut now = state.fork();
    now.is_calm = true;
    now.pending.clear();
    now.hosts.iter_mut().for_each(|h| h.is_cut = false);
    now.budget = Budget { jumps: u8::MAX, faults: 0, words: 0 };
    for round in 0..SHORT + LONG {
        now.round();
        if now.unsettled().is_none() {
            break;
        }
        now.jumps(if round < SHORT { 120 } else { 600 }, None);
    }
    match now.unsettled() {
        Some(what) => Err(format!("stands still for ever: {what}; {}", now.said())),
        None => Ok(now.named()),
    }
}

/// Whether the board gave a task up because its command failed by itself.
fn is_given_up(d: &Detail) -> bool {
    let newest = d
        .events
        .iter()
        .rfind(|e| matches!(e.kind, EventKind::GaveUp | EventKind::Claimed | EventKind::Unblocked));
    d.task.status == Status::Blocked
        && newest.is_some_and(|e| e.kind == EventKind::GaveUp)
        && d.task.last_failure_error.as_deref() == Some(FAILED)
}

impl State {
    /// Everybody does what there is to do.
    fn round(&mut self) {
        let mut told = Told::default();
        for w in self.workers.clone() {
            let Worker { run, host, pid, .. } = w;
            let does = if w.lives() { self.completes(run, None) } else { self.settles(run) };
            if does {
                self.write(Actor::Worker(run), false, None, &mut told);
            } else if w.lives() {
                // It was told to stop.
                self.forget(host, pid);
                self.workers.retain(|w| w.run != run);
            }
        }
        for (program, host) in [(Program::Heal, 0), (Program::Heal, 1), (Program::Route, 0)] {
            self.pass(program, host, None, &mut told);
            self.write(Actor::Watcher(program, host), false, None, &mut told);
        }
        for task in 0..TASKS.len() {
            if self.workers.is_empty() && self.wants(0, task, true, None) {
                self.write(Actor::Claimer(0), false, None, &mut told);
            }
        }
    }

    fn details(&self) -> (Vec<String>, BTreeMap<String, Detail>) {
        let known: Vec<String> = self.board.rows().tasks.keys().cloned().collect();
        let all = self.board.clone().look(&known).unwrap_or_default();
        (known, all.into_iter().map(|d| (d.task.id.clone(), d)).collect())
    }

    fn unsettled(&self) -> Option<String> {
        let (known, all) = self.details();
        // What the operator stopped is with the operator, in triage too, where a second block goes.
        let held = |id: &&String| {
            let parents = all.get(*id).map(|d| &d.parents[..]).unwrap_or_default();
            self.held.contains(*id) || parents.iter().any(|p| self.held.contains(&p.id))
        };
        // What failed too often by itself gets a card, and a decision on it. No card is written here.
        let given_up = |id: &str| all.get(id).is_some_and(is_given_up);
        let is_for_a_card = |id: &&String| {
            given_up(id) || all.get(*id).is_some_and(|d| d.parents.iter().any(|p| given_up(&p.id)))
        };
        known
            .iter()
            .filter(|id| !held(id) && !is_for_a_card(id))
            .find_map(|id| laws::unsettled(&all, id, &known))
    }

    /// What the watchers say of the tasks that they skip.
    fn said(&self) -> String {
        let mut now = self.fork();
        let all = [(Program::Heal, 0), (Program::Heal, 1), (Program::Route, 0)];
        let left = all.into_iter().flat_map(|(program, host)| now.decides(program, host, None).left);
        left.map(|l| format!("{}: {}", l.task, l.because)).collect::<Vec<_>>().join("; ")
    }

    /// The name of each end.
    fn named(&self) -> BTreeMap<String, &'static str> {
        let (_, all) = self.details();
        let end = |id: &String, status: &Status| match status {
            Status::Done | Status::Archived => "done",
            _ if self.held.contains(id) => "blocked by the operator",
            _ if self.left_alone.contains(id) => "marked no-heal",
            Status::Todo => "behind one that waits for a person",
            _ if all.get(id).is_some_and(is_given_up) => "given up, for its card",
            _ => "with a person",
        };
        self.board.rows().tasks.iter().map(|(id, (t, _))| (id.clone(), end(id, &t.status))).collect()
    }
}
