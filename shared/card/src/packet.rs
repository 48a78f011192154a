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
use board::{Comment, Detail, Event, EventKind};
pub use logs::vitals::{Category, Finding, Severity};
pub use record::{Record, latest};

/// Most bytes of a packet.
pub const MAX_PACKET: usize = 2_000;
/// Bytes beside a note below which a record would say too little.
const LEAST_ROOM: usize = 420;
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

/// Whether the attempt that ended last was told of already: a packet is among the comments, and since then no attempt began and no
/// worker recorded anything.
pub fn is_told(d: &Detail) -> bool {
    is_told_since(d, |e| matches!(e.kind, EventKind::Claimed | EventKind::PacketRecorded))
}

/// By the order of the events: that of a comment stands beside it, and a clock may be set back.
fn is_told_since(d: &Detail, begins: impl Fn(&Event) -> bool) -> bool {
    let from = d.events.iter().rposition(begins).map_or(0, |at| at + 1);
    let of = |c: &Comment, e: &Event| {
        e.kind == EventKind::Commented && e.at == c.at && e.payload["author"].as_str() == Some(&c.author)
    };
    let packets = || d.comments.iter().filter(|c| own_words(&c.body).len() < c.body.len());
    d.events[from..].iter().any(|e| packets().any(|c| of(c, e)))
}

/// A comment that a step makes anyway, with the newest record of the task behind it where no packet told it yet. For the steps that know
/// nothing of an attempt but what is on the board. A record is told once, however many attempts follow it.
pub fn with_record(note: &str, d: &Detail) -> String {
    let record = latest(d).filter(|_| !is_told_since(d, |e| e.kind == EventKind::PacketRecorded));
    let room = MAX_PACKET.saturating_sub(note.chars().count() + 2);
    let Some(record) = record.filter(|_| room >= LEAST_ROOM) else { return note.to_owned() };
    let parts = sections::of(&Packet { record: Some(record), ..Packet::default() });
    let whole = fit::fitted(&parts, room);
    // Beside a long note the record matters more than how to read it.
    let text = if whole.len() <= room { whole } else { fit::fitted(&parts[..1], room) };
    joined(vec![note.to_owned(), text])
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
/// what others wrote about the task. The packets in the comments are those of earlier attempts.
pub fn told(d: &Detail, p: Option<&Packet>) -> String {
    let from = d.comments.len().saturating_sub(MAX_COMMENTS);
    let one = |c: &Comment| {
        let said = quote::line(own_words(&c.body), MAX_COMMENT);
        format!("- {}, {}: {said}", quote::inline(&c.author, 60), c.at)
    };
    let has_own = |c: &&Comment| !own_words(&c.body).is_empty();
    let comments: Vec<String> = d.comments[from..].iter().filter(has_own).map(one).collect();
    let head =
        if comments.is_empty() { String::new() } else { format!("Comments:\n{}", comments.join("\n")) };
    joined(vec![text(d), p.map(render).unwrap_or_default(), head])
}

/// What a comment says before the packet in it.
fn own_words(body: &str) -> &str {
    let begins = [sections::RECORD, sections::FRAMING].into_iter().filter_map(|head| body.find(head)).min();
    begins.map_or(body, |at| body[..at].trim_end())
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
