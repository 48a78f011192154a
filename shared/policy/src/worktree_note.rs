//! The state of a working tree when its task is given to another profile, as one word for the event that says so.
//!
//! It is told, and never decided by: a tree that is not known stops no move.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::StateReader;
use base::quote;
use base::reason::Reason;
use board::{BoardId, Detail, Step, StepAction, discover};
use worktree::state::{TreeState, state};

/// The longest look at one tree.
pub const TREE_LIMIT: Duration = Duration::from_secs(2);
/// The longest look at all trees of a pass.
pub const TREES_LIMIT: Duration = Duration::from_secs(20);

/// Most bytes of why a tree is not known.
const MAX_WHY: usize = 200;

/// Actions that give a task to another profile. An escalation does not count: a person can look at the tree.
const GIVES: [StepAction; 3] = [StepAction::Move, StepAction::Give, StepAction::StandIn];

/// What is known of the working tree of a task that gets another assignee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeNote {
    /// The hash of its state, behind the name of the method: `git:9f2c11ab03d4e5f6`.
    Tree(String),
    /// Why that is not known, on one line.
    Unknown(String),
}

/// What state a working tree is in, but for what belongs to the board: each pass changes that, and no work does.
///
/// # Errors
/// Of the reader it gives: as [`state`].
pub fn beside(board: &BoardId) -> impl Fn(&Path, Duration) -> Result<TreeState, Reason> {
    |path, limit| state(path, &discover::own_files(board), limit)
}

/// What is known of them by task.
pub type TreeNotes = BTreeMap<String, TreeNote>;

impl TreeNote {
    /// Looks at a folder; `None` where the board names none.
    pub fn of(path: Option<&str>, state: &StateReader<'_>) -> Option<TreeNote> {
        Some(TreeNote::within(path?, TREE_LIMIT, state))
    }

    fn within(path: &str, limit: Duration, state: &StateReader<'_>) -> TreeNote {
        match state(Path::new(path), limit) {
            Ok(state) => TreeNote::Tree(state.hash),
            Err(why) => TreeNote::Unknown(quote::inline(&why.to_string(), MAX_WHY)),
        }
    }

    /// Its key and value in an event.
    pub fn fact(&self) -> (String, Value) {
        match self {
            TreeNote::Tree(hash) => ("tree".into(), json!(hash)),
            TreeNote::Unknown(why) => ("tree_unknown".into(), json!(why)),
        }
    }
}

/// How long one tree may be looked at where all are by then; `None`: no time is left.
pub fn time_until(until: Instant) -> Option<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some(left.min(TREE_LIMIT))
}

/// Looks at the trees of tasks that steps give to another profile, and at nothing else: git is slow. Several tasks may share one.
pub fn observe<'a>(
    state: &StateReader<'_>,
    steps: &[Step],
    details: impl IntoIterator<Item = &'a Detail>,
) -> TreeNotes {
    let given = steps.iter().filter(|s| GIVES.contains(&s.action));
    let given: BTreeSet<&str> = given.map(|s| s.task.as_str()).collect();
    if given.is_empty() {
        return TreeNotes::new();
    }
    let until = Instant::now() + TREES_LIMIT;
    let mut known: BTreeMap<&str, TreeNote> = BTreeMap::new();
    let mut notes = TreeNotes::new();
    for d in details.into_iter().filter(|d| given.contains(d.task.id.as_str())) {
        let Some(path) = d.place.path.as_deref() else { continue };
        let look = || match time_until(until) {
            None => TreeNote::Unknown("too many trees for one pass".into()),
            Some(limit) => TreeNote::within(path, limit, state),
        };
        let note = known.entry(path).or_insert_with(look).clone();
        notes.insert(d.task.id.clone(), note);
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use board::Status;
    use board::testing::detail;

    fn step(task: &str, action: &str) -> Step {
        Step::unguarded(task, action.into(), "x".into(), Vec::new())
    }

    #[test]
    fn only_what_changes_hands_is_looked_at_and_each_folder_once() {
        let looked = RefCell::new(Vec::new());
        let state = |path: &Path, limit: Duration| {
            assert!(limit <= TREE_LIMIT);
            looked.borrow_mut().push(path.display().to_string());
            Err("git is not installed\nat all".into())
        };
        let at = |id: &str, path: Option<&str>| {
            let mut d = detail(id, Status::Ready);
            d.place.path = path.map(str::to_owned);
            d
        };
        let tasks = [
            at("t_00000001", Some("/a")),
            at("t_00000002", Some("/a")),
            at("t_00000003", Some("/b")),
            at("t_00000004", None),
        ];
        let none = observe(&state, &[step("t_00000001", "park"), step("t_00000003", "hand-over")], &tasks);
        assert!(none.is_empty() && looked.borrow().is_empty(), "{none:?}");
        let given = ["t_00000001", "t_00000002", "t_00000004"].map(|id| step(id, "move"));
        let notes = observe(&state, &given, &tasks);
        let why = TreeNote::Unknown("git is not installed at all".into());
        let want: TreeNotes = ["t_00000001", "t_00000002"].map(|id| (id.to_owned(), why.clone())).into();
        assert_eq!(notes, want);
        assert_eq!(*looked.borrow(), ["/a"]);
    }
}
