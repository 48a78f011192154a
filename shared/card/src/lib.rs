//! The distress card: one standard way to say that a task is stuck and what should be done about it.
//!
//! Title, blocker types and template are a contract between workers, watchers and orchestrators: the
//! same words mean the same thing on a card of any author. Rendering has one form only; reading forgives what a model does to it.

mod appendix;
pub mod decision;
pub mod packet;
pub mod protocol;
mod read;
pub mod scope;

use serde::{Deserialize, Serialize};

pub use self::appendix::{Annex, Attempt, Commands};
pub use base::cause::Blocker;
use base::names::{is_task_id, may_be_task_id};
use base::quote;
pub use base::quote::shell_word;
pub use board::title::{KEY, PREFIX, blocker_in, guess_title, is_card_title, read_title};
use board::{BoardId, discover};

/// How the key of an incident's card begins: one card for many sources.
pub const INCIDENT_KEY: &str = "distress:incident:";

/// Most characters of one value of the template.
const MAX_VALUE: usize = 300;
/// Most characters of a task id on a card.
const MAX_ID: usize = 80;

/// `[BLOCKED] t_1a2b3c4d rate_limited`.
pub fn title(source: &str, blocker: Blocker) -> String {
    format!("{PREFIX} {} {blocker}", shown_id(source))
}

/// A task id as a card shows it: one inert line, whatever the board holds.
pub fn shown_id(id: &str) -> String {
    if is_task_id(id) { id.to_owned() } else { quote::inline(id, MAX_ID) }
}

/// Whether a task with this key is an incident's card.
pub fn is_incident(key: Option<&str>) -> bool {
    key.is_some_and(|k| k.starts_with(INCIDENT_KEY))
}

/// The program with which this board is changed by hand, ready for a command line. `switched`: it would take another board where none
/// is named.
pub fn hand(own_board: bool, slug: Option<&str>, switched: bool, db: &str) -> String {
    match (own_board, slug) {
        (true, _) => format!("board --db {}", shell_word(db)),
        (false, Some("default")) if !switched => "hermes kanban".to_owned(),
        // A file that was named directly may not be the board that Hermes itself would take.
        (false, None) => format!("HERMES_KANBAN_DB={} hermes kanban", shell_word(db)),
        (false, Some(slug)) => format!("hermes kanban --board {}", shell_word(slug)),
    }
}

/// The flag that names this board to our programs, with a blank in front; empty where they take it without one. `slug` and `switched` as
/// in [`hand`].
pub fn board_flags(slug: Option<&str>, switched: bool, db: &str) -> String {
    match slug {
        Some("default") if !switched => String::new(),
        Some(slug) => format!(" --board {}", shell_word(slug)),
        None => format!(" --db {}", shell_word(db)),
    }
}

/// Both for a board. `by_file`: commands find it by its file alone.
pub fn hand_and_flags(id: &BoardId, own_board: bool, by_file: bool) -> (String, String) {
    let (slug, db) = (id.slug.as_deref().filter(|_| !by_file), id.address());
    let switched = discover::is_switched_from(id);
    (hand(own_board, slug, switched, &db), board_flags(slug, switched, &db))
}

/// What tells a command that no flag follows.
const NO_FLAGS: &str = "-- ";

/// A task id as a word of a command that ends with it. One that begins like a flag is told not to be one.
pub fn task_word(id: &str) -> String {
    let no_flags = if id.starts_with('-') { NO_FLAGS } else { "" };
    format!("{no_flags}{}", shell_word(id))
}

/// The same where the command is shown: the whole id wherever one line can hold it.
pub fn id_word(id: &str) -> String {
    let is_line = !id.contains('`') && base::clip::printable(id) == id;
    task_word(&if is_line { id.to_owned() } else { shown_id(id) })
}

/// A command about a task that has flags behind it, each with a blank in front. `task`: a [`task_word`].
pub fn with_flags(command: &str, task: &str, flags: &str) -> String {
    if task.starts_with(NO_FLAGS) {
        format!("{command}{flags} {task}")
    } else {
        format!("{command} {task}{flags}")
    }
}

/// A flag that names a task. `task`: a [`task_word`].
pub fn flag_of(flag: &str, task: &str) -> String {
    task.strip_prefix(NO_FLAGS).map_or_else(|| format!("{flag} {task}"), |task| format!("{flag}={task}"))
}

/// Tasks of one command. `tasks`: each a [`task_word`].
pub fn task_words(tasks: &[String]) -> String {
    let bare =
        tasks.iter().map(|task| task.strip_prefix(NO_FLAGS).unwrap_or(task)).collect::<Vec<_>>().join(" ");
    if tasks.iter().any(|task| task.starts_with(NO_FLAGS)) { format!("{NO_FLAGS}{bare}") } else { bare }
}

/// Where the work of a stuck task is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Everything is committed.
    Committed,
    /// The tree has changes that are in no commit.
    Uncommitted,
    /// It was put aside under this name.
    Stashed(String),
    /// Nobody looked, or it could not be seen.
    Unknown,
}

impl State {
    /// Reads the value of the template.
    pub fn parse(s: &str) -> State {
        let text = s.trim();
        // One pair of everything: the name may have brackets and ticks of its own.
        let bare = text.strip_prefix('`').map_or(text, |t| t.strip_suffix('`').unwrap_or(t)).trim();
        match bare.trim_matches('`').to_ascii_lowercase().as_str() {
            "committed" => State::Committed,
            "uncommitted" => State::Uncommitted,
            word if word.starts_with("stashed") => {
                State::stash(bare.get("stashed".len()..).unwrap_or_default())
            }
            _ => State::Unknown,
        }
    }

    fn stash(name: &str) -> State {
        let name = name.trim();
        let name = name.strip_prefix('(').map_or(name, |n| n.strip_suffix(')').unwrap_or(n)).trim();
        if name.is_empty() { State::Unknown } else { State::Stashed(name.to_owned()) }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            State::Committed => f.write_str("committed"),
            State::Uncommitted => f.write_str("uncommitted"),
            State::Stashed(name) => write!(f, "stashed({name})"),
            State::Unknown => f.write_str("unknown"),
        }
    }
}

/// The template's fields. An absent one is said as `unknown`: a guess on a card misleads its reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distress {
    /// The stuck task.
    pub source: String,
    /// The profile that worked on it.
    pub worker: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// Where it worked.
    pub workspace: Option<String>,
    /// What kind of help is needed.
    pub blocker: Blocker,
    /// What was done.
    pub completed: Option<String>,
    /// What is out of the task's scope.
    pub cannot_touch: Option<String>,
    /// What the orchestrator should do.
    pub needs: Option<String>,
    /// Where the work is.
    pub state: State,
}

/// What the assignee of the card may do; word for word the same on every card.
const SCOPE_GUARD: &str = "## Scope Guard\n\
     DO NOT touch: anything outside diagnosing and remediating the blocker described above\n\
     Only fix: assign, split, reassign, or unblock the source task\n";

impl Distress {
    /// The title that belongs to it.
    pub fn title(&self) -> String {
        title(&self.source, self.blocker)
    }

    /// The template, filled in. Every value is one inert line: no control characters, no secrets, no line breaks.
    pub fn render(&self) -> String {
        let value = |v: &Option<String>| {
            let said = v.as_deref().map(|v| quote::inline(v, MAX_VALUE)).filter(|v| !v.is_empty());
            said.unwrap_or_else(|| "unknown".to_owned())
        };
        let state = match &self.state {
            // A stash without a name cannot be found.
            State::Stashed(name) => match quote::inline(name, 80) {
                name if name.is_empty() => State::Unknown,
                name => State::Stashed(name),
            },
            other => other.clone(),
        };
        format!(
            "## Distress Signal\n\
             - Blocked task: {}\n\
             - Worker: {}\n\
             - Branch: {}\n\
             - Workspace: {}\n\
             - Blocker type: {}\n\
             - Completed: {}\n\
             - Cannot touch: {}\n\
             - Needs: {}\n\
             - State: {state}\n\
             \n{SCOPE_GUARD}",
            shown_id(&self.source),
            value(&self.worker),
            value(&self.branch),
            value(&self.workspace),
            self.blocker,
            value(&self.completed),
            value(&self.cannot_touch),
            value(&self.needs),
        )
    }

    /// Reads the template out of a card's body; `None` where it has no such section or does not name its task and
    /// blocker type. Other heading levels, bold labels, other bullets and other case are forgiven.
    pub fn parse(body: &str) -> Option<Distress> {
        read::read(body, is_task_id)
    }

    /// The same where the task may be any board's, whose ids have any shape: only that board knows whether there is one.
    pub fn parse_any(body: &str) -> Option<Distress> {
        read::read(body, may_be_task_id)
    }

    /// Whether a body has the template of a card about this task, whatever the shape of its id.
    pub fn is_about(body: &str, source: &str) -> bool {
        read::names(body, &shown_id(source))
    }
}

#[cfg(test)]
mod tests;
