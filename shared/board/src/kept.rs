//! Boards that several looks of one command share: each is opened once, and what was read of it is kept until the board is written.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use crate::{
    Attendance, Attended, Board, BoardId, Comment, Detail, Entry, Event, History, Link, Location, Mode,
    Outcome, Run, Shared, Status, Step, Task, Timeline,
};
use base::error::{Error, Result};
use base::time::Time;
use host::Split;

/// The boards of one command that only looks.
#[derive(Default)]
pub struct Kept {
    reads: RefCell<BTreeMap<Location, Rc<RefCell<Reads>>>>,
    splits: RefCell<BTreeMap<Location, Split>>,
}

impl Kept {
    /// A board for looking, which shares what it reads with all others that were opened here. See [`crate::open`].
    ///
    /// # Errors
    /// Those of [`crate::open`].
    pub fn open(&self, id: &BoardId, patience: Duration) -> Result<Box<dyn Board>> {
        let known = self.reads.borrow().get(&id.at).cloned();
        let reads = match known {
            Some(reads) => reads,
            None => {
                let mut board = crate::open(id, Mode::Look, patience)?;
                board.keep_events();
                let reads = Reads { board, stamp: None, read: Read::default() };
                let reads = Rc::new(RefCell::new(reads));
                self.reads.borrow_mut().insert(id.at.clone(), Rc::clone(&reads));
                reads
            }
        };
        Ok(Box::new(KeptBoard { id: id.clone(), reads }))
    }

    /// Whether a board is split, as `look` finds it the first time.
    pub fn split(&self, id: &BoardId, look: impl FnOnce() -> Split) -> Split {
        self.splits.borrow_mut().entry(id.at.clone()).or_insert_with(look).clone()
    }

    /// Forgets a board. Nobody needs it open any more once those are gone that were opened here: a command may look at hundreds.
    pub fn close(&self, id: &BoardId) {
        self.reads.borrow_mut().remove(&id.at);
        self.splits.borrow_mut().remove(&id.at);
    }
}

/// Rows of the whole board with their tasks, by what was asked for.
type Rows<K, V> = BTreeMap<K, Vec<(String, V)>>;

/// A board, and what was read of it since it was written.
struct Reads {
    board: Box<dyn Board>,
    /// The state of the board that all of this was read from.
    stamp: Option<i64>,
    read: Read,
}

/// What was read of one state of a board.
#[derive(Default)]
struct Read {
    /// Rows by the states that they are all of.
    glances: Vec<(Vec<Status>, Shared<Task>)>,
    /// Tasks by id; `None` for one that is not there.
    stories: BTreeMap<String, Option<Detail>>,
    runs: BTreeMap<u32, Shared<(String, Run)>>,
    events: Rows<(Time, u32), Event>,
    turns: Rows<(Time, u32), Event>,
}

impl Reads {
    /// Forgets what was read of an earlier state of the board. Gives whether it is still the same.
    fn settle(&mut self) -> Result<bool> {
        let stamp = self.board.stamp()?;
        let is_same = stamp.is_some() && stamp == self.stamp;
        if !is_same {
            (self.stamp, self.read) = (stamp, Read::default());
        }
        Ok(is_same)
    }

    fn glance(&mut self, of: &[Status]) -> Result<Shared<Task>> {
        self.settle()?;
        let asked = |t: &Task| of.contains(&t.status);
        // The order is that of dispatch, whatever states are asked for.
        if let Some((_, rows)) = self.read.glances.iter().find(|(has, _)| of.iter().all(|s| has.contains(s)))
        {
            return Ok(rows.filtered(asked));
        }
        if self.stamp.is_none() {
            return self.board.glance(of);
        }
        // Each watcher asks for another part of what is open: the first one reads all of it.
        let wide: Vec<Status> =
            of.iter().cloned().chain(Status::OPEN.into_iter().filter(|s| !of.contains(s))).collect();
        let rows = self.board.glance(&wide)?;
        self.read.glances.push((wide, rows.clone()));
        Ok(rows.filtered(asked))
    }

    fn look(&mut self, ids: &[String]) -> Result<Vec<Detail>> {
        self.settle()?;
        let is_new = |id: &&String| !self.read.stories.contains_key(*id);
        let mut new: Vec<String> = ids.iter().filter(is_new).cloned().collect();
        new.sort();
        new.dedup();
        if !new.is_empty() {
            let read = self.board.look(&new)?;
            if new.len() < ids.len() && !self.settle()? {
                // The board was written meanwhile: the kept ones are of another moment.
                return self.board.look(ids);
            }
            self.read.stories.extend(new.into_iter().map(|id| (id, None)));
            self.read.stories.extend(read.into_iter().map(|d| (d.task.id.clone(), Some(d))));
        }
        Ok(ids.iter().filter_map(|id| self.read.stories.get(id)?.clone()).collect())
    }

    fn recent_runs(&mut self, most: u32) -> Result<Shared<(String, Run)>> {
        self.settle()?;
        if let Some((_, kept)) = self.read.runs.range(most..).next() {
            // The newest have the highest numbers.
            let last = kept.last().map_or(0, |(_, run)| run.id);
            let from = kept.partition_point(|(_, run)| run.id <= last.saturating_sub(i64::from(most)));
            return Ok(if from == 0 { kept.clone() } else { kept[from..].to_vec().into() });
        }
        let read = self.board.recent_runs(most)?;
        self.read.runs.insert(most, read.clone());
        Ok(read)
    }

    fn events(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.settle()?;
        once(&mut self.read.events, (since, most), || self.board.events(since, most))
    }

    fn turns(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.settle()?;
        once(&mut self.read.turns, (since, most), || self.board.turns(since, most))
    }
}

/// What was read for this already, else what is read now and kept.
fn once<K: Ord, V: Clone>(
    kept: &mut Rows<K, V>,
    key: K,
    read: impl FnOnce() -> Result<Vec<(String, V)>>,
) -> Result<Vec<(String, V)>> {
    if let Some(rows) = kept.get(&key) {
        return Ok(rows.clone());
    }
    let rows = read()?;
    kept.insert(key, rows.clone());
    Ok(rows)
}

/// One of those that share what is read of a board.
struct KeptBoard {
    id: BoardId,
    reads: Rc<RefCell<Reads>>,
}

impl Board for KeptBoard {
    fn id(&self) -> &BoardId {
        &self.id
    }

    fn is_own(&self) -> bool {
        self.reads.borrow().board.is_own()
    }

    fn is_shared(&self) -> bool {
        self.reads.borrow().board.is_shared()
    }

    fn attend(&mut self, me: &Attendance<'_>) -> Result<Option<Attended>> {
        self.reads.borrow_mut().board.attend(me)
    }

    fn timeline(&self) -> Option<Timeline> {
        self.reads.borrow().board.timeline()
    }

    fn skip_behind(&mut self, timeline: u32) -> Result<()> {
        self.reads.borrow_mut().board.skip_behind(timeline)
    }

    fn history(&mut self) -> Result<Option<History>> {
        self.reads.borrow_mut().board.history()
    }

    fn shape(&self) -> &'static str {
        self.reads.borrow().board.shape()
    }

    fn outdated(&self) -> Option<Error> {
        self.reads.borrow().board.outdated()
    }

    fn with_key(&mut self, key: &str) -> Result<Option<String>> {
        self.reads.borrow_mut().board.with_key(key)
    }

    fn damage(&self, thorough: bool) -> Result<Option<String>> {
        self.reads.borrow().board.damage(thorough)
    }

    fn glance(&mut self, of: &[Status]) -> Result<Shared<Task>> {
        self.reads.borrow_mut().glance(of)
    }

    fn states(&mut self) -> Result<Vec<Status>> {
        self.reads.borrow_mut().board.states()
    }

    fn links(&mut self, of: &[Status]) -> Result<Vec<Link>> {
        self.reads.borrow_mut().board.links(of)
    }

    fn assignees(&mut self) -> Result<BTreeSet<String>> {
        self.reads.borrow_mut().board.assignees()
    }

    fn next_of(&mut self, of: &[Option<&str>], most: usize) -> Result<Shared<Task>> {
        self.reads.borrow_mut().board.next_of(of, most)
    }

    fn waiting(&mut self) -> Result<BTreeSet<String>> {
        self.reads.borrow_mut().board.waiting()
    }

    fn look(&mut self, ids: &[String]) -> Result<Vec<Detail>> {
        self.reads.borrow_mut().look(ids)
    }

    fn comments(&mut self, task: &str) -> Result<Vec<Comment>> {
        self.reads.borrow_mut().board.comments(task)
    }

    fn beat_note(&mut self, task: &str) -> Result<Option<String>> {
        self.reads.borrow_mut().board.beat_note(task)
    }

    fn titled(&mut self, ids: &[String]) -> Result<Vec<Task>> {
        self.reads.borrow_mut().board.titled(ids)
    }

    fn recent_runs(&mut self, most: u32) -> Result<Shared<(String, Run)>> {
        self.reads.borrow_mut().recent_runs(most)
    }

    fn ended(&mut self, since: Time, most: u32) -> Result<Vec<String>> {
        self.reads.borrow_mut().board.ended(since, most)
    }

    fn events(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.reads.borrow_mut().events(since, most)
    }

    fn turns(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.reads.borrow_mut().turns(since, most)
    }

    fn coordinated(&mut self, after: i64, most: u32) -> Result<Vec<Entry>> {
        self.reads.borrow_mut().board.coordinated(after, most)
    }

    fn stamp(&mut self) -> Result<Option<i64>> {
        self.reads.borrow_mut().board.stamp()
    }

    fn writable(&mut self) -> Result<()> {
        self.reads.borrow_mut().board.writable()
    }

    fn apply(&mut self, now: Time, steps: &[Step], patience: Duration) -> Result<Vec<Outcome>> {
        self.reads.borrow_mut().board.apply(now, steps, patience)
    }
}

#[cfg(test)]
mod tests;
