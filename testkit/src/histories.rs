//! What clients of one board were told, and whether one board can have told it: each call takes effect at one moment between its begin and its
//! end (linearizability). A call whose answer was lost takes effect at one moment after its begin, or never.
//!
//! A task at a time, since no call changes two; for each the search of Wing and Gong. A model of one register is all that is asked of a board.

use std::collections::{BTreeMap, HashSet};

/// What a client did with a task, in the name of its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It took the task.
    Claim,
    /// It renewed the claim.
    Beat,
    /// It ended the task.
    Complete,
    /// It made the task ready again.
    Requeue,
    /// It read the task.
    Look,
}

/// How a task stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum State {
    /// For anyone to take.
    Ready,
    /// Of this claim.
    Running(String),
    /// Ended.
    Done,
}

/// What a client was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It is done.
    Applied,
    /// No answer came.
    Nothing,
    /// How the task stands.
    State(State),
}

/// One call. A call that was answered with a refusal does not count: it changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Which task.
    pub task: String,
    /// The claim of the client; each is made once.
    pub lock: String,
    /// What it did.
    pub act: Act,
    /// What it was told.
    pub told: Told,
    /// When it was sent, by a clock that all clients share.
    pub begun: u64,
    /// When the answer was there, or when no answer was waited for any more.
    pub ended: u64,
}

impl Call {
    /// The state after it, from this one; `None` where it cannot take effect there, or not with this answer.
    fn after(&self, state: &State) -> Option<State> {
        let is_ours = matches!(state, State::Running(lock) if *lock == self.lock);
        match (self.act, &self.told) {
            (Act::Look, Told::State(told)) => (told == state).then(|| state.clone()),
            (Act::Look, _) => Some(state.clone()),
            (Act::Claim, _) => (*state == State::Ready).then(|| State::Running(self.lock.clone())),
            (Act::Beat, _) => is_ours.then(|| state.clone()),
            (Act::Complete, _) => is_ours.then_some(State::Done),
            (Act::Requeue, _) => is_ours.then_some(State::Ready),
        }
    }

    fn is_answered(&self) -> bool {
        self.told != Told::Nothing
    }
}

/// Most calls on one task.
const MOST: usize = 128;

/// Whether one board can have told all this, where each task was ready at first. How many tasks were looked at.
///
/// # Errors
/// The first task of which it cannot, with all calls on it.
pub fn check(calls: &[Call]) -> Result<usize, String> {
    let mut tasks: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    calls.iter().for_each(|call| tasks.entry(&call.task).or_default().push(call));
    for (task, calls) in &mut tasks {
        calls.sort_by_key(|call| call.begun);
        if calls.len() > MOST {
            return Err(format!("{task}: {} calls are more than {MOST}", calls.len()));
        }
        if !is_told_by_one(calls) {
            let lines: Vec<String> = calls.iter().map(|call| format!("  {call:?}")).collect();
            return Err(format!("{task}: no one board tells this:\n{}", lines.join("\n")));
        }
    }
    Ok(tasks.len())
}

fn is_told_by_one(calls: &[&Call]) -> bool {
    let all =
        calls.iter().enumerate().filter(|(_, c)| c.is_answered()).fold(0_u128, |all, (n, _)| all | 1 << n);
    let mut open = vec![(0_u128, State::Ready)];
    let mut known = HashSet::new();
    while let Some((done, state)) = open.pop() {
        if done & all == all {
            return true;
        }
        if !known.insert((done, state.clone())) {
            continue;
        }
        let left = |n: usize| done & 1 << n == 0;
        // Of what is left, nothing takes effect that began after an answer was there.
        let first =
            calls.iter().enumerate().filter(|(n, c)| left(*n) && c.is_answered()).map(|(_, c)| c.ended).min();
        for (n, call) in calls.iter().enumerate().filter(|(n, c)| left(*n) && Some(c.begun) <= first) {
            if let Some(next) = call.after(&state) {
                open.push((done | 1 << n, next));
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `A claim 1-2`: who, what, from when until when; `?` behind it: no answer; `=` a state behind a look.
    fn told(lines: &[&str]) -> Result<usize, String> {
        let call = |line: &&str| {
            let words: Vec<&str> = line.split(' ').collect();
            let (begun, ended) = words[2].split_once('-').unwrap();
            let (ended, is_lost) = ended.strip_suffix('?').map_or((ended, false), |ended| (ended, true));
            let act = match words[1] {
                "claim" => Act::Claim,
                "beat" => Act::Beat,
                "complete" => Act::Complete,
                "requeue" => Act::Requeue,
                _ => Act::Look,
            };
            let state = words.get(3).map(|word| match *word {
                "=ready" => State::Ready,
                "=done" => State::Done,
                lock => State::Running(lock[1..].into()),
            });
            let told = if is_lost { Told::Nothing } else { state.map_or(Told::Applied, Told::State) };
            let (begun, ended) = (begun.parse().unwrap(), ended.parse().unwrap());
            Call { task: "t_1".into(), lock: words[0].into(), act, told, begun, ended }
        };
        check(&lines.iter().map(call).collect::<Vec<_>>())
    }

    #[test]
    fn sound_histories_are_told_by_one_board() {
        for lines in [
            &["A claim 1-2", "A beat 3-4", "A complete 5-6", "B look 7-8 =done"][..],
            // Two at once: the second one after the first gave it up within its own call.
            &["A claim 1-2", "A requeue 3-6", "B claim 4-5"],
            &["A claim 1-2", "A requeue 3-4", "B claim 5-6", "B complete 7-8"],
            // The answer was lost, and it was done all the same; or not.
            &["A claim 1-2", "A complete 3-4?", "B look 5-6 =done"],
            &["A claim 1-2", "A complete 3-4?", "B look 5-6 =A", "B look 7-8 =A"],
            // It was done long after it was given up waiting for.
            &["A claim 1-2?", "B look 3-4 =ready", "B look 5-6 =A"],
            &["A claim 1-2?", "B claim 3-4", "B complete 5-6"],
            // A look during a claim may see either.
            &["A claim 1-4", "B look 2-3 =ready", "C look 2-3 =A"],
        ] {
            told(lines).unwrap();
        }
    }

    #[test]
    fn forged_histories_are_found_out() {
        for lines in [
            // Two owners.
            &["A claim 1-2", "B claim 3-4"][..],
            &["A claim 1-4", "B claim 2-3"],
            // An acknowledged end is gone.
            &["A claim 1-2", "A complete 3-4", "B look 5-6 =A"],
            &["A claim 1-2", "A complete 3-4", "B claim 5-6"],
            // An acknowledged claim is gone.
            &["A claim 1-2", "B look 3-4 =ready"],
            // A word of one who lost the task is taken.
            &["A claim 1-2", "A requeue 3-4", "B claim 5-6", "A beat 7-8"],
            &["A claim 1-2", "A requeue 3-4", "B claim 5-6", "A complete 7-8"],
            // What was lost was done twice.
            &[
                "A claim 1-2",
                "A requeue 3-4?",
                "B claim 5-6",
                "B requeue 7-8",
                "C claim 9-10",
                "D claim 11-12",
            ],
            // It was done, and then it was not.
            &["A claim 1-2?", "B look 3-4 =A", "B look 5-6 =ready"],
            // Nobody claimed it.
            &["A look 1-2 =B"],
            &["A complete 1-2"],
        ] {
            assert!(told(lines).is_err(), "{lines:?}");
        }
    }

    #[test]
    fn the_task_that_is_wrong_is_named_with_its_calls() {
        let said = told(&["A claim 1-2", "B claim 3-4"]).unwrap_err();
        assert!(said.starts_with("t_1: no one board tells this:\n") && said.lines().count() == 3, "{said}");
    }
}
