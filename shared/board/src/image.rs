//! What a row looked like before and after a change, and how that is undone: see [`Change::PutBack`](super::Change::PutBack).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use base::hash::fnv;
use base::named_enum::named_enum;

named_enum! {
    /// A column of a task's row that can be restored. Named as on the board.
    #[allow(missing_docs, reason = "each is the column of its name")]
    pub enum Column {
        Title = "title",
        Body = "body",
        Assignee = "assignee",
        Status = "status",
        Priority = "priority",
        Result = "result",
        CompletedAt = "completed_at",
        ClaimLock = "claim_lock",
        ClaimExpires = "claim_expires",
        WorkerPid = "worker_pid",
        WorkerStartedAt = "worker_started_at",
        LastHeartbeatAt = "last_heartbeat_at",
        CurrentRunId = "current_run_id",
        ConsecutiveFailures = "consecutive_failures",
        LastFailureError = "last_failure_error",
        BlockKind = "block_kind",
        BlockRecurrences = "block_recurrences",
        WorkspaceKind = "workspace_kind",
        WorkspacePath = "workspace_path",
        ModelOverride = "model_override",
        ProviderOverride = "provider_override",
    }
}

impl Column {
    /// Whether it may hold this. A plan comes from a file that the operator or a program may have edited.
    pub fn takes(self, cell: &Cell) -> bool {
        match self {
            Column::Title | Column::Status => matches!(cell, Cell::Text(_)),
            Column::Priority | Column::ConsecutiveFailures | Column::BlockRecurrences => {
                matches!(cell, Cell::Number(_))
            }
            Column::CompletedAt
            | Column::ClaimExpires
            | Column::WorkerPid
            | Column::LastHeartbeatAt
            | Column::CurrentRunId => matches!(cell, Cell::Number(_) | Cell::None),
            _ => matches!(cell, Cell::Text(_) | Cell::None),
        }
    }
}

/// What stands in a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// NULL.
    None,
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

impl Cell {
    /// The cell that a JSON value stands for; `None` where it stands for none.
    pub fn read(value: &Value) -> Option<Cell> {
        serde_json::from_value(value.clone()).ok()
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::None => f.write_str("empty"),
            Cell::Number(n) => n.fmt(f),
            Cell::Text(t) => f.write_str(t),
        }
    }
}

/// One column to restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// What must stand there now; `None` is whatever stands there.
    pub from: Option<Cell>,
    /// What stands there afterwards.
    pub to: Cell,
}

/// Images of a text that something was put in front of, without the text: what is found again in the new one by its length
/// and its hash, and the blanks around it.
pub(super) fn body(was: &str, is: &str) -> (Value, Value) {
    let core = was.trim();
    let at = was.len() - was.trim_start().len();
    let (lead, tail) = (&was[..at], &was[at + core.len()..]);
    let before = json!({"lead": lead, "bytes": core.len(), "tail": tail, "hash": hash(was)});
    (before, json!({"hash": hash(is)}))
}

/// The text before, from its image and the one after. `None`: it is not in there, whole and unchanged.
pub fn body_before(before: &Value, is: &str) -> Option<String> {
    let text = |key: &str| before.get(key)?.as_str();
    let bytes = usize::try_from(before.get("bytes")?.as_u64()?).ok()?;
    let end = is.trim_end();
    let core = end.get(end.len().checked_sub(bytes)?..)?;
    let was = format!("{}{core}{}", text("lead")?, text("tail")?);
    (hash(&was) == text("hash")?).then_some(was)
}

/// Whether a text is the one that an image was made of.
pub fn is_body(image: &Value, text: &str) -> bool {
    image.get("hash").and_then(Value::as_str) == Some(hash(text).as_str())
}

fn hash(text: &str) -> String {
    format!("{:016x}", fnv(text.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_again_behind_what_was_put_before_it() {
        for was in ["", "  \n", "one", " one\ntwo \n\n", "é\n"] {
            let is = format!("## Template\n- x\n\n{}\n", was.trim());
            let (before, after) = body(was, &is);
            assert_eq!(body_before(&before, &is).as_deref(), Some(was), "{was:?}");
            assert!(is_body(&after, &is) && !is_body(&after, was));
            assert_eq!(body_before(&before, &format!("{is}more")).filter(|_| !was.trim().is_empty()), None);
        }
    }

    #[test]
    fn a_column_is_read_by_its_name_and_takes_what_fits() {
        for column in [Column::Title, Column::CurrentRunId, Column::ProviderOverride, Column::CompletedAt] {
            assert_eq!(Column::named(column.as_str()), Some(column));
        }
        assert_eq!(Column::named("id"), None);
        assert!(!Column::Status.takes(&Cell::None) && Column::Status.takes(&Cell::Text("ready".into())));
        assert!(Column::WorkerPid.takes(&Cell::None) && !Column::WorkerPid.takes(&Cell::Text("1".into())));
        assert_eq!(Cell::read(&json!(["x"])), None);
    }
}
