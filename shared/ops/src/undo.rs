//! What a watcher did to a task, read back from the task's own history, and the step that undoes it.
//!
//! Only what the board still shows as the action left it is restored; anything else was changed again since. Nothing is
//! deleted: comments, events and attempts stay, and a card that was made is archived.

mod action;
mod retell;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

pub use self::action::{Action, actions, made_by};
use base::quote;
use board::hermes::{self, Trail};
use board::image::{self, Cell, Column, Turn};
use board::{Change, Detail, Status, Step, StepAction};
use policy::Pass;
use policy::authorship;
use policy::cards::identity::is_incident;

/// The name under which an undo is written down.
pub use policy::authorship::UNDO as NAME;

/// Most characters of what an action said of itself that are repeated.
const MAX_SAID: usize = 200;

/// Most characters of what stands in a column that are shown.
const MAX_CELL: usize = 60;

/// Who undoes something and why, as far as that is known.
#[derive(Debug, Clone, Default)]
pub struct Word {
    /// Their login.
    pub who: Option<String>,
    /// Their reason, on one line.
    pub reason: Option<String>,
}

/// The step that takes an action back. `others` are the tasks it names, as they are now; `is_needed` says of a card whether another
/// task waits for it.
///
/// # Errors
/// What moved since, in words: a column with both its values, or what happened.
pub fn step(
    d: &Detail,
    action: &Action,
    others: &BTreeMap<String, Detail>,
    is_needed: &dyn Fn(&str) -> bool,
    pass: &Pass,
    said: &Word,
) -> Result<Step, String> {
    if action.is_undone {
        return Err("it was undone already".into());
    }
    if let Some(why) = action.lost {
        return Err(why.into());
    }
    let row = row(d, action)?;
    if let Some(e) = action.later(d) {
        return Err(format!("{} at {}, after it", happened(e), e.at));
    }
    let mut archives = Vec::new();
    for other in action.named.iter().filter_map(|id| others.get(id)) {
        if is_incident(other) {
            // It goes with its last task, whichever pass tied that. Who has begun with it goes on.
            let id = &other.task.id;
            let is_left = action.linked.contains(id) && !other.task.status.frees_children() && !is_needed(id);
            archives.extend(archive(other).ok().flatten().filter(|_| is_left));
        } else if made_by(other, &action.pass) {
            archives.extend(archive(other)?);
        }
    }
    let because = because(action, said);
    let undone = json!({"pass": action.pass, "by": action.by, "case": action.case});
    let mut more = Map::from_iter([("undone".to_owned(), undone)]);
    more.extend(said.who.as_ref().map(|who| ("who".to_owned(), json!(who))));
    let trail = Trail { more, ..pass.trail(action.case.as_str().into(), &because) };
    let id = &d.task.id;
    let is_parent = |parent: &&String| d.parents.iter().any(|p| p.id == **parent);
    let mut changes = Vec::new();
    for parent in action.linked.iter().filter(is_parent) {
        changes.extend(hermes::unlinked(id, parent, &trail));
    }
    for parent in action.unlinked.iter().filter(|p| !is_parent(p)) {
        changes.extend(hermes::linked_as_is(id, parent, &trail));
    }
    let is_nothing = !action.is_word && row.is_empty() && archives.is_empty() && changes.is_empty();
    if is_nothing {
        return Err("it changed nothing that could be undone".into());
    }
    let payload = hermes::payload(&trail, json!({"reason": because}));
    let mut parts: Vec<String> = Some(told(&row)).filter(|t| !t.is_empty()).into_iter().collect();
    parts.extend(archives.iter().map(|(id, _)| format!("{id} archived")));
    let told = if parts.is_empty() { because.clone() } else { format!("{because}; {}", parts.join(", ")) };
    let archive = |(id, mark)| Change::ArchiveAnother { id, mark, payload: payload.clone() };
    changes.extend(archives.into_iter().map(archive));
    let status = match row.get(&Column::Status).map(|turn| &turn.to) {
        Some(Cell::Text(to)) => Status::from(to.clone()),
        _ => d.task.status.clone(),
    };
    changes.extend(retell::retold(d, action, &status, &trail));
    changes.extend(hermes::put_back(row, &trail));
    changes.extend(hermes::commented(NAME, &note(action, said)));
    Ok(Step { because: told, ..Step::on(d, StepAction::Undo, action.case.as_str().into(), changes) })
}

/// A step that says only which action was not undone.
pub fn refused(task: &str, action: &Action, said: &Word) -> Step {
    Step {
        because: because(action, said),
        ..Step::unguarded(task, StepAction::Undo, action.case.as_str().into(), Vec::new())
    }
}

/// What is restored of the row, where it still is as the action left it.
fn row(d: &Detail, action: &Action) -> Result<BTreeMap<Column, Turn>, String> {
    let mut row = BTreeMap::new();
    for (name, before) in &action.before {
        let column = Column::named(name)
            .ok_or_else(|| format!("it changed {name}, which this version does not know"))?;
        // Any process may have written the event; of work itself the watchers change only where it stands and who does it.
        if is_of_cards(column) && !d.task.is_card() {
            return Err(format!("its image names {name}, which no watcher changes on a task"));
        }
        let after = action.after.get(name).unwrap_or(&Value::Null);
        let turn = match column {
            Column::Body => body(d, before, after)?,
            // An event tells neither the moment nor the text. What was completed anew since has another history.
            Column::CompletedAt | Column::Result => Turn { from: None, to: cell(name, before)? },
            _ => {
                let (is, left) = (stands(d, column), cell(name, after)?);
                if is != left {
                    return Err(format!("{name} is {is} now, and {} left it {left}", action.by));
                }
                Turn { from: Some(left), to: cell(name, before)? }
            }
        };
        row.insert(column, turn);
    }
    Ok(row)
}

/// Columns that are changed on cards alone.
fn is_of_cards(column: Column) -> bool {
    use Column::{Body, CompletedAt, Priority, Result, Title, WorkspaceKind, WorkspacePath};
    matches!(column, Title | Body | Priority | Result | CompletedAt | WorkspaceKind | WorkspacePath)
}

/// What is restored, for the operator to read first: an image is untrusted text.
fn told(row: &BTreeMap<Column, Turn>) -> String {
    let shown = |cell: &Cell| quote::inline(&cell.to_string(), MAX_CELL);
    let one = |(column, turn): (&Column, &Turn)| match (column, &turn.from) {
        (Column::Body, _) => "body as it was".to_owned(),
        (_, Some(from)) => format!("{} {} -> {}", column.as_str(), shown(from), shown(&turn.to)),
        (_, None) => format!("{} -> {}", column.as_str(), shown(&turn.to)),
    };
    row.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn cell(name: &str, value: &Value) -> Result<Cell, String> {
    Cell::read(value).ok_or_else(|| format!("its image of {name} cannot be read"))
}

fn body(d: &Detail, before: &Value, after: &Value) -> Result<Turn, String> {
    if !image::is_body(after, &d.body) {
        return Err("body is another text now".into());
    }
    let was = image::body_before(before, &d.body)
        .ok_or("its earlier body cannot be restored from the present one")?;
    // A board says nothing as NULL.
    Ok(Turn { from: None, to: if was.is_empty() { Cell::None } else { Cell::Text(was) } })
}

/// What stands in a column now.
fn stands(d: &Detail, column: Column) -> Cell {
    let (t, place) = (&d.task, &d.place);
    let text = |s: Option<&str>| s.map_or(Cell::None, |s| Cell::Text(s.to_owned()));
    let number = |n: Option<i64>| n.map_or(Cell::None, Cell::Number);
    match column {
        Column::Title => text(Some(&t.title)),
        Column::Body => text(Some(&d.body)),
        Column::Assignee => text(t.assignee.as_deref()),
        Column::Status => text(Some(t.status.as_str())),
        Column::Priority => number(Some(t.priority)),
        Column::Result => Cell::None,
        Column::CompletedAt => number(place.completed_at.map(|t| t.0)),
        Column::ClaimLock => text(t.claim_lock.as_deref()),
        Column::ClaimExpires => number(t.claim_expires.map(|t| t.0)),
        Column::WorkerPid => number(t.worker_pid),
        Column::WorkerStartedAt => text(t.worker_started_at.as_deref()),
        Column::LastHeartbeatAt => number(t.last_heartbeat_at.map(|t| t.0)),
        Column::CurrentRunId => number(t.current_run),
        Column::ConsecutiveFailures => number(Some(t.failures)),
        Column::LastFailureError => text(t.last_failure_error.as_deref()),
        Column::BlockKind => text(t.block_kind.as_deref()),
        Column::BlockRecurrences => number(Some(t.block_recurrences)),
        Column::WorkspaceKind => text(place.kind.as_deref()),
        Column::WorkspacePath => text(place.path.as_deref()),
        Column::ModelOverride => text(t.pin.model.as_deref()),
        Column::ProviderOverride => text(t.pin.provider.as_deref()),
    }
}

/// The card or the narrower task that an action made, with its mark, where nobody took it; `None` where it stays.
fn archive(made: &Detail) -> Result<Option<(String, String)>, String> {
    let t = &made.task;
    if t.status == Status::Archived {
        return Ok(None);
    }
    let what = if t.is_card() { "its card" } else { "its part" };
    if t.claim_lock.is_some() || t.current_run.is_some() || t.status == Status::Running {
        return Err(format!("{what} {} was taken: status is {}", t.id, t.status));
    }
    let foreign = made.events.iter().find(|e| !authorship::is_of_programs(e));
    if let Some(e) = foreign {
        return Err(format!("{what} {} was changed since it was made: {} at {}", t.id, happened(e), e.at));
    }
    Ok(Some((t.id.clone(), made.mark.clone())))
}

/// What an event says happened, and by whom.
fn happened(e: &board::Event) -> String {
    let kind = quote::inline(e.kind.as_str(), 40);
    e.by().map_or_else(|| kind.clone(), |by| format!("{kind} by {}", quote::inline(by, 40)))
}

fn because(action: &Action, said: &Word) -> String {
    let reason = said.reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default();
    format!("undoes {} by {} at {} ({}){reason}", action.case, action.by, action.at, action.pass)
}

/// For the next worker of the task.
fn note(action: &Action, said: &Word) -> String {
    let who = said.who.as_deref().map(|who| format!(" by {who}")).unwrap_or_default();
    let reason = said.reason.as_deref().map(|r| format!(" ({r})")).unwrap_or_default();
    format!(
        "Undone{who}{reason}: what {} did at {}, which was: {}. Comments and attempts stay as they are. No watcher acts on \
         this task until something else happens to it, or a comment begins with `watchbill: heal`.",
        action.by,
        action.at,
        quote::inline(&action.because, MAX_SAID).trim_end_matches('.')
    )
}
