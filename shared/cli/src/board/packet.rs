//! A worker's own record of where it stands, for the next attempt at the task.

use serde_json::{Value, json};

use super::args::Packet;
use super::{Hand, card, own_business, refused, same_run};
use ::card::packet::record::{self, Field, MAX_BYTES, MAX_CHARS};
use ::card::packet::{Record, latest};
use base::error::Result;
use board::{BoardId, Change, Detail, EventKind, Place, RunRef, Status, hermes};
use policy::worktree_note::{TreeNote, beside};

impl Hand<'_> {
    pub(super) fn packet(&mut self, packet: &Packet) -> Result<u8> {
        if packet.only_asks() {
            return self.recorded(&packet.id);
        }
        let id = &packet.id;
        for (field, text) in packet.given() {
            fits(field, text)?;
        }
        let seen = self.look(id)?;
        if matches!(seen.task.status, Status::Done | Status::Archived) {
            return Err(refused(id, format!("is {}: no attempt follows", seen.task.status)));
        }
        same_run(&seen, packet.run)?;
        own_business(&mut *self.board, &seen, false)?;
        let was = latest(&seen);
        let mut said = was.as_ref().map(|r| r.said.clone()).unwrap_or_default();
        for (field, text) in packet.given() {
            said.put(field, text);
        }
        if said.is_empty() {
            return Err(refused(id, "nothing to record").hint("give at least --step or --next"));
        }
        let tree = match tree_note(self.board.id(), &seen) {
            Some(TreeNote::Tree(hash)) => Some(hash),
            Some(TreeNote::Unknown(_)) | None => None,
        };
        let record = Record { at: self.here.now, run: seen.task.current_run, said, tree };
        // The same record is not written again: a history is not for ever.
        let again = was.as_ref().is_some_and(|w| Record { at: w.at, ..record.clone() } == *w);
        if !again {
            let change = self.record(&record)?;
            self.must(id, Some(&seen), vec![change])?;
        }
        let shown = was.filter(|_| again).unwrap_or(record);
        self.answer(&json!({"task": id, "packet": shown, "recorded": !again}), "")
    }

    /// The newest record of a task, as it would be quoted.
    fn recorded(&mut self, id: &str) -> Result<u8> {
        let record = latest(&self.look(id)?);
        let text = record.as_ref().map_or_else(String::new, |r| format!("{r}\n"));
        self.answer(&json!({"task": id, "packet": record}), &text)
    }

    /// The event that holds it. No comment beside it: Hermes shows the next worker the 30 newest, and a worker that records
    /// every few minutes would push out what others said.
    fn record(&self, record: &Record) -> Result<Change> {
        let mut trail = self.trail("packet");
        trail.more.insert("packet".into(), record::payload(&record.said, record.tree.as_deref()));
        let payload = hermes::payload(&trail, Value::Null);
        if payload["watchbill"].to_string().len() > MAX_BYTES {
            return Err(
                refused("the values", "too long together").hint("point to a file instead, with --plan")
            );
        }
        Ok(Change::AddEvent { kind: EventKind::PacketRecorded, payload, run: record.run.map(RunRef::Id) })
    }
}

impl Packet {
    /// The values that were given, blank ones too.
    fn given(&self) -> impl Iterator<Item = (Field, &str)> {
        Field::ALL.into_iter().filter_map(|field| Some((field, self.value(field)?)))
    }

    fn value(&self, field: Field) -> Option<&str> {
        let value = match field {
            Field::Mission => &self.mission,
            Field::Plan => &self.plan,
            Field::Verified => &self.verified,
            Field::Step => &self.step,
            Field::Next => &self.next,
            Field::Blockers => &self.blockers,
        };
        value.as_deref()
    }

    /// Without a value it is a question.
    pub(super) fn only_asks(&self) -> bool {
        self.given().next().is_none()
    }
}

/// Refuses a value that could only be recorded in part.
fn fits(field: Field, text: &str) -> Result<()> {
    let flag = || format!("--{}", field.as_str());
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    let length = text.trim().chars().count();
    match () {
        () if length > MAX_CHARS => {
            Err(refused(&flag(), format!("has {length} characters, at most {MAX_CHARS} are kept"))
                .hint("point to a file instead, with --plan"))
        }
        () if text.contains(odd) => Err(refused(&flag(), "has control characters").hint("give plain text")),
        () => Ok(()),
    }
}

/// Where the work is done: as the board says, else as a Hermes worker was told.
fn whereabouts(seen: &Detail) -> Place {
    let mut place = seen.place.clone();
    place.path = place.path.or_else(|| card::own_workspace(&seen.task.id));
    place
}

/// The working tree as it is now, in one short word; `None` where the board names no folder.
fn tree_note(board: &BoardId, seen: &Detail) -> Option<TreeNote> {
    TreeNote::of(whereabouts(seen).path.as_deref(), &beside(board))
}

/// The same for the event of a step that gives the task to a worker.
pub(super) fn tree_fact(board: &BoardId, seen: &Detail) -> Option<(String, Value)> {
    tree_note(board, seen).map(|note| note.fact())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::card::packet::record::Said;

    #[test]
    fn a_value_fits_or_is_refused() {
        let at_most = "é".repeat(MAX_CHARS);
        for (text, wrong) in [
            (at_most.as_str(), None),
            (&format!("  {at_most}\n"), None),
            (
                &format!("{at_most}x"),
                Some(
                    "--next: has 301 characters, at most 300 are kept; point to a file instead, with --plan",
                ),
            ),
            ("two\nlines\tand\r\nmore", None),
            ("", None),
            ("a\u{1b}[2Jb", Some("--next: has control characters; give plain text")),
            ("a\u{0}b", Some("--next: has control characters; give plain text")),
            ("a\u{9b}b", Some("--next: has control characters; give plain text")),
        ] {
            let got = fits(Field::Next, text).err().map(|e| e.to_string());
            assert_eq!(got.as_deref(), wrong, "{text:?}");
        }
    }

    // Six values at their longest, of characters that take the most room.
    #[test]
    fn what_is_recorded_is_bounded() {
        let mut said = Said::default();
        for field in Field::ALL {
            said.put(field, &"\u{1f3ee}".repeat(MAX_CHARS));
        }
        assert!(
            record::payload(&said, None).to_string().len() > MAX_BYTES,
            "so there must be a second bound"
        );
        for field in Field::ALL {
            said.put(field, &"\"\\".repeat(MAX_CHARS / 2));
        }
        assert!(record::payload(&said, Some(&"f".repeat(64))).to_string().len() < MAX_BYTES);
    }
}
