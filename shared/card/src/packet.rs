//! The resume packet: what the next attempt at a task is told of the one that was cut off.
//!
//! It is one comment. Hermes 0.19 shows a worker the 30 newest comments of its task and cuts each one that is longer than
//! 2,048 characters (`build_worker_context` in `kanban_db.py`, which counts characters after trimming); its body is cut at
//! 8,192. So a packet has at most [`MAX_PACKET`] bytes, and says the most important first.
//!
//! What is known is data ([`Packet`]), gathered elsewhere; this module only puts it into words. Text that comes from logs,
//! git or workers is masked ([`base::redact`]), made one plain line ([`base::quote`]), and stands behind a label of
//! Watchbill: no line of a packet begins with the text of others.

mod fit;
pub mod record;
mod sections;

use serde::{Deserialize, Serialize};

use base::quote;
pub use board::verification::Failure;
use board::{Comment, Detail};
pub use logs::vitals::{Category, Finding, Severity};
pub use record::{Record, latest};

/// Most bytes of a packet.
pub const MAX_PACKET: usize = 2_000;
/// Most characters of a task's title.
const MAX_TITLE: usize = 300;

/// All that is told. What is not known is left out of it, never guessed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Packet {
    /// Where the worker itself said it stood.
    pub record: Option<Record>,
    /// Whether others changed the working tree since the attempt was interrupted.
    pub drift: Drift,
    /// Checks that earlier attempts failed, newest first.
    pub failures: Vec<Failure>,
    /// What the log of the interrupted attempt tells.
    pub autopsy: Option<Autopsy>,
    /// The working tree, and what still runs in it.
    pub standing: Standing,
}

/// What is said of the working tree between the interruption and now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drift {
    /// Nothing that needs a warning.
    #[default]
    None,
    /// Others changed these paths.
    Changed(Vec<String>),
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// One attempt, as its log tells it. Counts are of that attempt alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Autopsy {
    /// The model that worked.
    pub model: Option<String>,
    /// How long it lasted, in seconds.
    pub seconds: Option<i64>,
    /// Answers of the model.
    pub turns: Option<u64>,
    /// Calls of tools.
    pub tool_calls: Option<u64>,
    /// Calls that failed.
    pub errors: Option<u64>,
    /// Tokens of all kinds.
    pub tokens: Option<u64>,
    /// Files it wrote to.
    pub files: Vec<String>,
    /// The last calls of tools, oldest first, each in a few words.
    pub last_calls: Vec<String>,
    /// What went wrong in it.
    pub findings: Vec<Finding>,
}

/// Where the work stands now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Standing {
    /// The branch it is on.
    pub branch: Option<String>,
    /// The commit it is at.
    pub commit: Option<String>,
    /// Files that are not as in that commit; `None` where that is not known.
    pub changed: Option<Vec<String>>,
    /// The tree as it was hashed last.
    pub tree: Option<String>,
    /// Processes of the interrupted attempt that still run (decision 15).
    pub orphans: Vec<i64>,
}

impl Packet {
    /// Whether it tells nothing of an attempt: one that never began left nothing.
    pub fn is_blank(&self) -> bool {
        self.record.is_none() && self.failures.is_empty() && self.autopsy.is_none()
    }
}

/// The packet as one comment, at most [`MAX_PACKET`] bytes: the worker's own record, how to resume, a warning where the tree is not
/// as it was left, failed checks, the autopsy, where the work stands. Parts with nothing to say are left out. Where all
/// of it is too long, the autopsy is shortened first, then where the work stands, the checks, the record, the paths.
pub fn render(p: &Packet) -> String {
    fit::fitted(&sections::of(p), MAX_PACKET)
}

/// The whole prompt of the next attempt: the task's text as it is on the board, but for blanks at its end, its title, and
/// the packet.
pub fn prompt(d: &Detail, p: &Packet) -> String {
    joined(vec![text(d), render(p)])
}

/// Most comments, the newest ones, and most characters of each that are told: as many as Hermes 0.19 shows a worker.
const MAX_COMMENTS: usize = 30;
const MAX_COMMENT: usize = 2_048;

/// All that a worker is told which sees nothing else of the board: the same, without a packet where nothing was tried yet, and
/// what others wrote about the task. The packets among the comments are those of earlier attempts.
pub fn told(d: &Detail, p: Option<&Packet>) -> String {
    let from = d.comments.len().saturating_sub(MAX_COMMENTS);
    let is_packet = |c: &&Comment| c.body.contains(sections::FRAMING);
    let one = |c: &Comment| {
        let said = quote::line(&c.body, MAX_COMMENT);
        format!("- {}, {}: {said}", quote::inline(&c.author, 60), c.at)
    };
    let comments: Vec<String> = d.comments[from..].iter().filter(|c| !is_packet(c)).map(one).collect();
    let head =
        if comments.is_empty() { String::new() } else { format!("Comments:\n{}", comments.join("\n")) };
    joined(vec![text(d), p.map(render).unwrap_or_default(), head])
}

fn text(d: &Detail) -> String {
    let title = quote::inline(&d.task.title, MAX_TITLE);
    let named = if title.is_empty() { String::new() } else { format!("Task {}: {title}", d.task.id) };
    joined(vec![d.body.trim_end().to_owned(), named])
}

fn joined(parts: Vec<String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests;
