//! A board in memory, for tests and simulations: what `SqliteBoard` does, in maps. One contract test is told to both.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use shared::base::error::{Error, Kind, Result};
use shared::base::registry::NAMES;
use shared::base::time::Time;
use shared::board::image::{Cell, Column, Turn};
use shared::board::several_hosts::{OVERTAKEN, is_for_all, is_left};
use shared::board::verification::{self, Failure};
use shared::board::{
    Attendance, Attended, Board, BoardId, CardMade, Change, Comment, Detail, Duty, Entry, Event, EventKind,
    Fronts, HOST_LEASE, Kin, Known, Link, MARKER, MAX_COMMENTS, MAX_EVENTS, MAX_RUNS, MAX_TURNS, Neighbour,
    NewTask, Outcome, Pin, Place, Run, RunRef, Shared, Status, Step, Story, Task, its_cards, noted,
    open_cards, title,
};

/// A board in memory. A clone is a second connection to the same rows.
#[derive(Debug, Clone)]
pub struct MemoryBoard {
    id: BoardId,
    own: bool,
    rows: Rc<RefCell<Rows>>,
    is_shared: bool,
    hosts: Rc<RefCell<Hosts>>,
    /// The pass of a watcher that attended over this connection.
    pass: Option<Pass>,
}

/// A pass that may decide for the whole board, and the epoch when it began to look.
#[derive(Debug, Clone)]
struct Pass {
    program: String,
    epoch: i64,
    /// What it was told of the hosts as it attended.
    looked: Attended,
}

/// The hosts of a board that several share, and its clock.
#[derive(Debug, Clone)]
pub struct Hosts {
    /// The board's clock.
    pub now: Time,
    /// Every host that attended, by its name, with the boot id that it said last.
    pub all: BTreeMap<String, (String, Neighbour)>,
    /// How often a watcher decided for the whole board.
    pub epoch: i64,
}

/// The tables. Columns that no part of [`Detail`] shows are not kept.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Tasks and their bodies.
    pub tasks: BTreeMap<String, (Task, String)>,
    /// Runs, each with its task.
    pub runs: BTreeMap<i64, (String, Run)>,
    /// Events, each with its task.
    pub events: BTreeMap<i64, (String, Event)>,
    /// Comments, each with its task.
    pub comments: BTreeMap<i64, (String, Comment)>,
    /// Parent and child.
    pub links: BTreeSet<(String, String)>,
    /// Where tasks are worked on; no entry where none is said.
    pub places: BTreeMap<String, Place>,
    /// How often another server took over.
    pub timeline: u32,
}

impl MemoryBoard {
    /// An empty board; `own` as [`Board::is_own`] tells it.
    pub fn new(own: bool) -> MemoryBoard {
        let id = BoardId { at: "memory".into(), slug: None, root: None };
        let hosts = Rc::new(RefCell::new(Hosts { now: Time(0), all: BTreeMap::new(), epoch: 0 }));
        MemoryBoard { id, own, rows: Rc::default(), is_shared: false, hosts, pass: None }
    }

    /// The same board as one that several hosts share, whose clock stands at `now`.
    #[must_use]
    pub fn shared(mut self, now: Time) -> MemoryBoard {
        self.is_shared = true;
        self.hosts_mut().now = now;
        self
    }

    /// The hosts of a shared board and its clock, to be changed. Drop them before the board is used again.
    pub fn hosts_mut(&self) -> RefMut<'_, Hosts> {
        self.hosts.borrow_mut()
    }

    /// A board of its own with the same rows: what is done to one is not done to the other.
    #[must_use]
    pub fn fork(&self) -> MemoryBoard {
        let rows = Rc::new(RefCell::new(self.rows().clone()));
        let hosts = Rc::new(RefCell::new(self.hosts_mut().clone()));
        MemoryBoard { rows, hosts, ..self.clone() }
    }

    /// The pass over this connection takes what was decided so far for what it saw.
    pub fn looks_anew(&mut self) {
        let epoch = self.hosts_mut().epoch;
        self.pass.iter_mut().for_each(|pass| pass.epoch = epoch);
    }

    /// Another server takes over. `from`: what it knows, where the last words did not reach it.
    pub fn fail_over(&self, from: Option<&MemoryBoard>) {
        let (timeline, now) = (self.rows().timeline + 1, self.hosts_mut().now);
        if let Some(from) = from {
            *self.rows_mut() = from.rows().clone();
            *self.hosts_mut() = Hosts { now, ..from.hosts_mut().clone() };
        }
        self.rows_mut().timeline = timeline;
    }

    /// The same board of a Hermes root, whose folder nobody looks into.
    #[must_use]
    pub fn below(mut self, root: &str) -> MemoryBoard {
        self.id.root = Some(root.into());
        self
    }

    /// The rows as they are now. Drop them before the board is used again.
    pub fn rows(&self) -> Ref<'_, Rows> {
        self.rows.borrow()
    }

    /// The rows, to be changed without any guard. Drop them before the board is used again.
    pub fn rows_mut(&self) -> RefMut<'_, Rows> {
        self.rows.borrow_mut()
    }
}

impl Board for MemoryBoard {
    fn id(&self) -> &BoardId {
        &self.id
    }

    fn shape(&self) -> &'static str {
        "in memory"
    }

    fn with_key(&mut self, key: &str) -> Result<Option<String>> {
        let rows = self.rows();
        let mut tasks = rows.tasks.values().map(|(task, _)| task);
        let found = tasks.find(|t| t.idempotency_key.as_deref() == Some(key) && t.status != Status::Archived);
        Ok(found.map(|t| t.id.clone()))
    }

    fn is_own(&self) -> bool {
        self.own
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn attend(&mut self, me: &Attendance<'_>) -> Result<Option<Attended>> {
        let rows = self.rows();
        let its = rows.tasks.values().filter(|(t, _)| t.claim_host() == Some(me.host));
        let until = its.filter_map(|(t, _)| t.claim_expires).max();
        let attended = self.is_shared.then(|| self.hosts_mut().attend(&self.id, me, until)).transpose();
        drop(rows);
        if let (Ok(Some(looked)), Duty::Works | Duty::Heals) = (&attended, me.duty) {
            let (program, epoch, looked) = (me.program.to_owned(), self.hosts_mut().epoch, looked.clone());
            self.pass = NAMES.contains(&me.program).then_some(Pass { program, epoch, looked });
        }
        attended
    }

    fn forget_host(&mut self, host: &str) -> Result<()> {
        self.hosts_mut().forget(host)
    }

    fn glance(&mut self, of: &[Status]) -> Result<Shared<Task>> {
        let rows = self.rows();
        let mut tasks: Vec<Task> = rows
            .tasks
            .values()
            .map(|(t, _)| t)
            .filter(|t| of.contains(&t.status))
            .map(|t| rows.named(t))
            .collect();
        tasks.sort_by(|a, b| (b.priority, a.created_at, &a.id).cmp(&(a.priority, b.created_at, &b.id)));
        Ok(tasks.into())
    }

    fn states(&mut self) -> Result<Vec<Status>> {
        let mut states: Vec<Status> = Vec::new();
        for (t, _) in self.rows().tasks.values() {
            if !states.contains(&t.status) {
                states.push(t.status.clone());
            }
        }
        Ok(states)
    }

    fn links(&mut self, of: &[Status]) -> Result<Vec<Link>> {
        let rows = self.rows();
        let waits = |child: &str| rows.tasks.get(child).is_some_and(|(t, _)| of.contains(&t.status));
        let all = rows.links.iter().filter(|(_, child)| waits(child));
        let one = |(parent, child): &(String, String)| Link {
            child: child.clone(),
            parent: parent.clone(),
            status: rows.tasks.get(parent).map(|(t, _)| t.status.clone()),
        };
        let mut links: Vec<Link> = all.map(one).collect();
        links.sort_unstable();
        Ok(links)
    }

    fn look(&mut self, ids: &[String]) -> Result<Vec<Detail>> {
        let rows = self.rows();
        Ok(ids.iter().filter_map(|id| rows.detail(id)).collect())
    }

    fn comments(&mut self, task: &str) -> Result<Vec<Comment>> {
        Ok(self.rows().told(task))
    }

    fn beat_note(&mut self, task: &str) -> Result<Option<String>> {
        let rows = self.rows();
        let beats = rows.events.values().rev().filter(|(id, e)| id == task && e.kind == EventKind::Heartbeat);
        Ok(beats.filter_map(|(_, e)| noted(&e.payload)).next().map(str::to_owned))
    }

    fn titled(&mut self, ids: &[String]) -> Result<Vec<Task>> {
        let rows = self.rows();
        Ok(ids.iter().filter_map(|id| rows.tasks.get(id)).map(|(t, _)| rows.named(t)).collect())
    }

    fn recent_runs(&mut self, most: u32) -> Result<Shared<(String, Run)>> {
        let rows = self.rows();
        let last = rows.runs.keys().next_back().copied().unwrap_or(0);
        let pin = |task: &String| rows.tasks.get(task).map(|(t, _)| t.pin.clone()).unwrap_or_default();
        let bare = |(task, run): &(String, Run)| {
            let none = Run { error: None, summary: None, route: None, failed: Vec::new(), ..run.clone() };
            (task.clone(), Run { pin: pin(task), ..none })
        };
        Ok(rows.runs.range(last - i64::from(most) + 1..).map(|(_, r)| bare(r)).collect::<Vec<_>>().into())
    }

    fn events(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        let rows = self.rows();
        let last = rows.events.keys().next_back().copied().unwrap_or(0);
        let window = rows.events.range(last - i64::from(most) + 1..);
        Ok(window.map(|(_, e)| e.clone()).filter(|(_, e)| e.at >= since).collect())
    }

    fn turns(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        let all = self.events(since, most)?;
        Ok(all.into_iter().filter(|(_, e)| EventKind::TURNS.contains(&e.kind)).collect())
    }

    fn coordinated(&mut self, after: i64, most: u32) -> Result<Vec<Entry>> {
        let rows = self.rows();
        let later = rows.events.range(after.saturating_add(1)..);
        let told = later.filter(|(_, (_, e))| EventKind::SESSION.contains(&e.kind));
        let entry = |(id, (task, event)): (&i64, &(String, Event))| Entry {
            id: *id,
            task: task.clone(),
            event: event.clone(),
        };
        Ok(told.map(entry).take(most as usize).collect())
    }

    fn writable(&mut self) -> Result<()> {
        Ok(())
    }

    fn apply(&mut self, now: Time, steps: &[Step], _patience: Duration) -> Result<Vec<Outcome>> {
        let mut rows = self.rows.borrow_mut();
        let is_of_before = |step: &Step| {
            let seen = step.expect.as_ref().map(|e| timeline_of(&e.mark));
            seen.is_some_and(|seen| seen != rows.timeline)
        };
        if self.is_shared && steps.iter().any(is_of_before) {
            return Ok(vec![Outcome::Moved { what: "the server changed over".into() }; steps.len()]);
        }
        let mut hosts = self.hosts.borrow_mut();
        let decides = |step: &Step, pass: &Option<Pass>| {
            pass.as_ref().is_some_and(|pass| is_for_all(&pass.program, step))
        };
        let is_overtaken = self.pass.as_ref().is_some_and(|pass| pass.epoch != hosts.epoch);
        let (now_there, all) = (hosts.now, hosts.neighbours());
        let (mut done, mut has_decided) = (BTreeSet::new(), false);
        let one = |step: &Step| {
            if let Some(first) = step.after.iter().find(|t| !done.contains(*t)) {
                return Outcome::Moved { what: format!("{first} was not changed") };
            }
            if is_overtaken && decides(step, &self.pass) {
                return Outcome::Moved { what: OVERTAKEN.to_owned() };
            }
            let left = self.pass.as_ref().and_then(|pass| is_left(step, &pass.looked, now_there, &all));
            if let Some(what) = left {
                return Outcome::Moved { what };
            }
            let outcome = rows.step(now, step);
            if matches!(outcome, Outcome::Applied { .. }) {
                done.insert(step.task.clone());
                has_decided |= decides(step, &self.pass);
            }
            outcome
        };
        let outcomes = steps.iter().map(one).collect();
        if has_decided {
            hosts.epoch += 1;
        }
        // Its own decisions do not count as new.
        if let Some(pass) = self.pass.as_mut().filter(|_| has_decided) {
            pass.epoch += 1;
        }
        Ok(outcomes)
    }
}

impl Hosts {
    fn attend(
        &mut self,
        board: &BoardId,
        me: &Attendance<'_>,
        claimed_until: Option<Time>,
    ) -> Result<Attended> {
        let (now, known) = (self.now, self.all.get(me.host));
        if let Some((boot, host)) = known {
            let (seen_at, lease_until) = (host.seen_at, host.lease_until);
            let is_forgotten = host.forgotten_at.is_some();
            me.follows(&Known { boot, seen_at, lease_until, claimed_until, is_forgotten }, &board.at, now)?;
        }
        let healed_before = known.and_then(|(_, known)| known.healed_at);
        let before = match me.duty {
            Duty::Heals => healed_before,
            Duty::Looks | Duty::Asks | Duty::Works => known.map(|(_, known)| known.seen_at),
        };
        let here = Neighbour {
            host: me.host.to_owned(),
            since: known.map_or(now, |(_, known)| known.since),
            seen_at: now,
            lease_until: now.plus(HOST_LEASE),
            healed_at: if me.duty == Duty::Heals { Some(now) } else { healed_before },
            skew_ms: 0,
            forgotten_at: None,
        };
        if matches!(me.duty, Duty::Works | Duty::Heals) {
            self.all.insert(me.host.to_owned(), (me.boot.to_owned(), here));
        }
        Ok(Attended { now, before, hosts: self.neighbours() })
    }

    fn neighbours(&self) -> Vec<Neighbour> {
        self.all.values().map(|(_, host)| host.clone()).collect()
    }

    /// Says of a host that it will not come back.
    ///
    /// # Errors
    /// `Partial` for a host that never attended.
    pub fn forget(&mut self, name: &str) -> Result<()> {
        let no_such = || Error::new(Kind::Partial, name, "no such host on this board");
        self.all.get_mut(name).ok_or_else(no_such)?.1.forgotten_at = Some(self.now);
        Ok(())
    }
}

impl Rows {
    /// What a change requires and is not there.
    fn missing(&self, change: &Change) -> Option<String> {
        let Change::Require { task, parent } = change else { return None };
        if let Some(parent) = parent {
            let waits = self.links.contains(&(parent.clone(), task.clone()));
            return (!waits).then(|| format!("{task} does not wait for {parent}"));
        }
        (!self.tasks.contains_key(task)).then(|| format!("{task} was not made"))
    }

    /// What a change that takes another one back finds otherwise than it must be.
    fn turned(&self, id: &str, change: &Change) -> Option<String> {
        match change {
            Change::PutBack(row) => row.iter().find_map(|(column, turn)| {
                let (is, from) = (self.cell(id, *column)?, turn.from.as_ref()?);
                (is != *from).then(|| format!("{} is {is} and was {from}", column.as_str()))
            }),
            Change::ArchiveAnother { id, mark, .. } => {
                (self.mark(id) != *mark).then(|| format!("something happened to {id}"))
            }
            _ => None,
        }
    }

    /// What stands in a column; `None` for one that is not kept.
    fn cell(&self, id: &str, column: Column) -> Option<Cell> {
        let (t, body) = self.tasks.get(id)?;
        let place = self.places.get(id).cloned().unwrap_or_default();
        let text = |s: Option<String>| s.map_or(Cell::None, Cell::Text);
        let number = |n: Option<i64>| n.map_or(Cell::None, Cell::Number);
        Some(match column {
            Column::Title => text(Some(t.title.clone())),
            Column::Body => text(Some(body.clone()).filter(|b| !b.is_empty())),
            Column::Assignee => text(t.assignee.clone()),
            Column::Status => text(Some(t.status.as_str().to_owned())),
            Column::Priority => number(Some(t.priority)),
            Column::Result => return None,
            Column::CompletedAt => number(place.completed_at.map(|t| t.0)),
            Column::ClaimLock => text(t.claim_lock.clone()),
            Column::ClaimExpires => number(t.claim_expires.map(|t| t.0)),
            Column::WorkerPid => number(t.worker_pid),
            Column::WorkerStartedAt => text(t.worker_started_at.clone()),
            Column::LastHeartbeatAt => number(t.last_heartbeat_at.map(|t| t.0)),
            Column::CurrentRunId => number(t.current_run),
            Column::ConsecutiveFailures => number(Some(t.failures)),
            Column::LastFailureError => text(t.last_failure_error.clone()),
            Column::BlockKind => text(t.block_kind.clone()),
            Column::BlockRecurrences => number(Some(t.block_recurrences)),
            Column::WorkspaceKind => text(place.kind),
            Column::WorkspacePath => text(place.path),
            Column::ModelOverride => text(t.pin.model.clone()),
            Column::ProviderOverride => text(t.pin.provider.clone()),
        })
    }

    fn put_back(&mut self, id: &str, row: &BTreeMap<Column, Turn>) -> std::result::Result<(), String> {
        for (column, turn) in row {
            if !column.takes(&turn.to) {
                return Err(format!("{} cannot be {}", column.as_str(), turn.to));
            }
            let Some((t, body)) = self.tasks.get_mut(id) else { continue };
            let place = self.places.entry(id.to_owned()).or_default();
            let (text, number) = match &turn.to {
                Cell::None => (None, None),
                Cell::Number(n) => (None, Some(*n)),
                Cell::Text(s) => (Some(s.clone()), None),
            };
            match column {
                Column::Title => t.title = text.unwrap_or_default(),
                Column::Body => *body = text.unwrap_or_default(),
                Column::Assignee => t.assignee = text,
                Column::Status => t.status = Status::from(text.unwrap_or_default()),
                Column::Priority => t.priority = number.unwrap_or(0),
                Column::Result => {}
                Column::CompletedAt => place.completed_at = number.map(Time),
                Column::ClaimLock => t.claim_lock = text,
                Column::ClaimExpires => t.claim_expires = number.map(Time),
                Column::WorkerPid => t.worker_pid = number,
                Column::WorkerStartedAt => t.worker_started_at = text,
                Column::LastHeartbeatAt => t.last_heartbeat_at = number.map(Time),
                Column::CurrentRunId => t.current_run = number,
                Column::ConsecutiveFailures => t.failures = number.unwrap_or(0),
                Column::LastFailureError => t.last_failure_error = text,
                Column::BlockKind => t.block_kind = text,
                Column::BlockRecurrences => t.block_recurrences = number.unwrap_or(0),
                Column::WorkspaceKind => place.kind = text,
                Column::WorkspacePath => place.path = text,
                Column::ModelOverride => t.pin.model = text,
                Column::ProviderOverride => t.pin.provider = text,
            }
        }
        Ok(())
    }

    /// Adds an event of any writer; returns its id.
    pub fn add_event(&mut self, task: &str, event: Event) -> i64 {
        let id = next(&self.events);
        self.events.insert(id, (task.to_owned(), event));
        id
    }

    /// The comments of a task that are told of, oldest first.
    fn told(&self, id: &str) -> Vec<Comment> {
        let mut comments: Vec<(i64, &Comment)> = of(&self.comments, id).collect();
        comments.sort_by_key(|(n, c)| (c.at, *n));
        let late = comments.len().saturating_sub(MAX_COMMENTS);
        let kept = |(nth, c): (usize, &(i64, &Comment))| {
            (nth >= late || c.1.body.to_lowercase().starts_with(MARKER)).then(|| c.1.clone())
        };
        comments.iter().enumerate().filter_map(kept).collect()
    }

    fn detail(&self, id: &str) -> Option<Detail> {
        let (task, body) = self.tasks.get(id).map(|(task, body)| (self.named(task), body.clone()))?;
        let mut runs: Vec<Run> = of(&self.runs, id).map(|(_, r)| r.clone()).collect();
        runs.sort_by_key(|r| std::cmp::Reverse((r.started_at, r.id)));
        runs.truncate(MAX_RUNS);
        runs.sort_by_key(|r| std::cmp::Reverse(r.id));
        // Newest by time, then told in the order in which they were written.
        let mut events: Vec<(i64, &Event)> = self.telling(id).collect();
        events.sort_by_key(|(n, e)| std::cmp::Reverse((e.at, *n)));
        let is_truncated = events.len() >= MAX_EVENTS;
        // What holds or stops the task is read however much was written since.
        let rest = events.split_off(events.len().min(MAX_EVENTS));
        let newest = events.iter().filter(|(_, e)| EventKind::TURNS.contains(&e.kind)).count();
        let turns = rest.into_iter().filter(|(_, e)| EventKind::TURNS.contains(&e.kind));
        events.extend(turns.take(MAX_TURNS.saturating_sub(newest)));
        events.sort_by_key(|(n, _)| *n);
        let mut comments = self.told(id);
        let mut fronts = Fronts::default();
        for c in comments.iter_mut().rev() {
            c.body = Fronts::of(&c.body, fronts.most(&c.author)).into_owned();
        }
        let parents: Vec<Kin> = self.parents(id).map(|t| Kin::from(self.named(t))).collect();
        let mut cards_made: Vec<CardMade> =
            self.tasks.values().filter_map(|(t, _)| card_made(t, id)).collect();
        cards_made.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        let cards = open_cards(&cards_made, &parents);
        let card_work = its_cards(&cards_made, &parents).into_iter().flat_map(|card| {
            let mut runs: Vec<&Run> = of(&self.runs, &card).map(|(_, r)| r).collect();
            runs.sort_by_key(|r| std::cmp::Reverse((r.started_at, r.id)));
            runs.truncate(MAX_RUNS);
            runs.into_iter().map(|r| (r.started_at, r.ended_at)).collect::<Vec<_>>()
        });
        let card_work = card_work.collect();
        let events: Vec<Event> = events.into_iter().map(|(_, e)| e.clone()).collect();
        task.pin.tell(&mut runs, &events);
        let place = self.places.get(id).cloned().unwrap_or_default();
        let mark = self.mark(id);
        Some(Detail::from(Story {
            task,
            body,
            runs,
            events,
            is_truncated,
            comments,
            parents,
            cards,
            cards_made,
            card_work,
            place,
            mark,
        }))
    }

    /// A row, after a look at whether the title of what looks like a card names a task.
    fn named(&self, t: &Task) -> Task {
        let is_there = |id: &str| Ok::<_, Infallible>(self.tasks.contains_key(id));
        let Ok(stray_title) = title::is_stray(&t.title, t.idempotency_key.as_deref(), is_there);
        Task { stray_title, ..t.clone() }
    }

    /// Events that are no noise.
    fn telling<'a>(&'a self, id: &'a str) -> impl Iterator<Item = (i64, &'a Event)> {
        of(&self.events, id).filter(|(_, e)| !EventKind::NOISE.contains(&e.kind))
    }

    fn mark(&self, id: &str) -> String {
        let newest = self.telling(id).map(|(n, _)| n).max().unwrap_or(0);
        // On the next timeline the same number may stand for other words.
        match self.timeline {
            0 => format!("e{newest}"),
            timeline => format!("e{newest}.{timeline}"),
        }
    }

    fn parents<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Task> {
        let ids = self.links.iter().filter(move |(_, child)| child == id).map(|(parent, _)| parent);
        ids.filter_map(|p| self.tasks.get(p)).map(|(t, _)| t)
    }

    fn children<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a String> {
        self.links.iter().filter(move |(parent, _)| parent == id).map(|(_, child)| child)
    }

    fn step(&mut self, now: Time, step: &Step) -> Outcome {
        if let Some(expect) = &step.expect {
            let Some((task, _)) = self.tasks.get(&step.task) else {
                return Outcome::Moved { what: "the task is gone".into() };
            };
            if let Some(what) = expect.differs(task, &self.mark(&step.task)) {
                return Outcome::Moved { what: what.into() };
            }
        } else if !only_adds(&step.changes) {
            return Outcome::Refused { why: "a step that expects nothing may only add something".into() };
        }
        for change in &step.changes {
            if let Some(what) = self.missing(change).or_else(|| self.turned(&step.task, change)) {
                return Outcome::Moved { what };
            }
        }
        let refusable = |c: &Change| {
            let adds = matches!(c, Change::AddTask { .. } | Change::AddAnother { .. });
            adds || matches!(c, Change::Link { .. } | Change::PutBack(_))
        };
        // A copy is dear on a large board, and most steps cannot be refused.
        let before = step.changes.iter().any(refusable).then(|| self.clone());
        let mut opened = None;
        for change in &step.changes {
            if let Err(why) = self.change(now, &step.task, change, &mut opened) {
                if let Some(before) = before {
                    *self = before;
                }
                return Outcome::Refused { why };
            }
        }
        Outcome::Applied { run: opened }
    }

    fn change(
        &mut self,
        now: Time,
        id: &str,
        change: &Change,
        opened: &mut Option<i64>,
    ) -> std::result::Result<(), String> {
        match change {
            Change::AddTask { status, task } => return self.add_task(now, id, status, task),
            Change::AddAnother { id, status, task, events, done } => {
                self.add_task(now, id, status, task)?;
                let run = done.as_ref().and_then(|s| self.past_run(now, id, "completed", Some(s), None));
                if let Some(place) = self.places.get_mut(id).filter(|_| done.is_some()) {
                    place.completed_at = Some(now);
                }
                for first in events {
                    let run = run.filter(|_| first.kind == EventKind::Completed);
                    self.add_event(id, event(&first.kind, now, run, &first.payload));
                }
            }
            Change::Link { parent } => return self.link(parent, id),
            Change::Unlink { parent } => drop(self.links.remove(&(parent.clone(), id.to_owned()))),
            Change::Reword { title, body } => {
                if let Some((t, text)) = self.tasks.get_mut(id) {
                    t.title = title.clone().unwrap_or_else(|| t.title.clone());
                    *text = body.clone().unwrap_or_else(|| text.clone());
                }
            }
            Change::SetPlace { kind, path } => {
                let said = |s: &String| Some(s.clone()).filter(|s| !s.is_empty());
                let place = self.places.entry(id.to_owned()).or_default();
                (place.kind, place.path) = (said(kind), path.as_ref().and_then(said));
            }
            Change::SetResult(_) => self.places.entry(id.to_owned()).or_default().completed_at = Some(now),
            Change::PutBack(row) => self.put_back(id, row)?,
            Change::ArchiveAnother { id, mark: _, payload } => {
                self.on_task(id, |t| t.status = Status::Archived);
                self.add_event(id, event(&EventKind::Archived, now, None, payload));
            }
            Change::ClearOverrides => self.on_task(id, |t| t.pin = Pin::default()),
            Change::AddEvent { kind, payload, run } => {
                let run = run.and_then(|r| match r {
                    RunRef::Id(id) => Some(id),
                    RunRef::New => *opened,
                });
                self.add_event(id, event(kind, now, run, payload));
            }
            Change::AddComment { author, body } => {
                let comment = Comment { author: author.clone(), body: body.clone(), at: now };
                self.comments.insert(next(&self.comments), (id.to_owned(), comment));
            }
            Change::PromoteChildren { payload } => self.promote_children(now, id, payload),
            Change::StartRun { profile } => *opened = self.start_run(now, id, profile.as_ref()),
            Change::PastRun { outcome, summary, metadata } => {
                *opened = self.past_run(now, id, outcome, summary.as_ref(), metadata.as_ref());
            }
            Change::EndRun { run, status, outcome, summary, error, metadata } => {
                if let Some((_, r)) =
                    self.runs.get_mut(run).filter(|(task, r)| task == id && r.ended_at.is_none())
                {
                    let summary = summary.clone().or(r.summary.take());
                    let (status, outcome) = (status.clone(), Some(outcome.clone()));
                    let (ended_at, error) = (Some(now), error.clone());
                    *r = Run {
                        status,
                        outcome,
                        summary,
                        error,
                        ended_at,
                        claim_lock: None,
                        worker_pid: None,
                        route: route(metadata.as_ref()),
                        failed: failed(metadata.as_ref()),
                        ..r.clone()
                    };
                }
                self.on_task(id, |t| t.current_run = None);
            }
            Change::Heartbeat { expires } => {
                self.on_task(id, |t| (t.claim_expires, t.last_heartbeat_at) = (Some(*expires), Some(now)));
                let run = self.tasks.get(id).and_then(|(t, _)| t.current_run);
                let run = run.and_then(|r| self.runs.get_mut(&r)).filter(|(_, r)| r.ended_at.is_none());
                if let Some((_, r)) = run {
                    r.last_heartbeat_at = Some(now);
                }
            }
            simple => self.on_task(id, |t| set(t, now, simple)),
        }
        Ok(())
    }

    fn on_task(&mut self, id: &str, edit: impl FnOnce(&mut Task)) {
        if let Some((task, _)) = self.tasks.get_mut(id) {
            edit(task);
        }
    }

    fn add_task(
        &mut self,
        now: Time,
        id: &str,
        status: &Status,
        new: &NewTask,
    ) -> std::result::Result<(), String> {
        let same_key = |t: &&Task| new.idempotency_key.is_some() && t.idempotency_key == new.idempotency_key;
        let mut there = self.tasks.values().map(|(t, _)| t).filter(same_key);
        if let Some(t) = there.find(|t| t.status != Status::Archived) {
            return Err(format!("{} already has this key", t.id));
        }
        if self.tasks.contains_key(id) {
            return Err(format!("{id} exists already"));
        }
        let task = Task {
            id: id.to_owned(),
            title: new.title.clone(),
            assignee: new.assignee.clone(),
            status: status.clone(),
            priority: new.priority,
            created_at: now,
            started_at: None,
            claim_lock: None,
            claim_expires: None,
            worker_pid: None,
            last_heartbeat_at: None,
            current_run: None,
            failures: 0,
            last_failure_error: None,
            max_retries: new.max_retries,
            block_kind: None,
            block_recurrences: 0,
            worker_started_at: None,
            idempotency_key: new.idempotency_key.clone(),
            pin: Pin::default(),
            stray_title: false,
        };
        self.tasks.insert(id.to_owned(), (task, new.body.clone().unwrap_or_default()));
        let place = Place {
            kind: Some(new.workspace_kind.clone().unwrap_or_else(|| "scratch".into())),
            path: new.workspace_path.clone(),
            branch: None,
            tenant: new.tenant.clone(),
            made_by: new.created_by.clone(),
            ..Place::default()
        };
        self.places.insert(id.to_owned(), place);
        Ok(())
    }

    fn link(&mut self, parent: &str, child: &str) -> std::result::Result<(), String> {
        if !self.tasks.contains_key(parent) {
            return Err(format!("{parent}: no such task"));
        }
        let (mut seen, mut next) = (BTreeSet::new(), vec![child.to_owned()]);
        while let Some(id) = next.pop() {
            if id == parent {
                return Err(format!("{parent} already waits for {child}: this would make a cycle"));
            }
            if seen.insert(id.clone()) {
                next.extend(self.children(&id).cloned());
            }
        }
        self.links.insert((parent.to_owned(), child.to_owned()));
        Ok(())
    }

    fn promote_children(&mut self, now: Time, id: &str, payload: &Value) {
        let waits = |c: &&String| self.tasks.get(*c).is_some_and(|(t, _)| t.status == Status::Todo);
        let free = |c: &&String| self.parents(c).all(|p| p.status.frees_children());
        let children: Vec<String> = self.children(id).filter(waits).filter(free).cloned().collect();
        for child in children {
            self.on_task(&child, |t| t.status = Status::Ready);
            self.add_event(&child, event(&EventKind::Promoted, now, None, payload));
        }
    }

    fn start_run(&mut self, now: Time, id: &str, profile: Option<&String>) -> Option<i64> {
        let n = next(&self.runs);
        let (task, _) = self.tasks.get_mut(id)?;
        task.current_run = Some(n);
        let run = Run {
            profile: profile.or(task.assignee.as_ref()).cloned(),
            status: "running".into(),
            claim_lock: task.claim_lock.clone(),
            worker_pid: task.worker_pid,
            ..empty_run(n, now)
        };
        self.runs.insert(n, (id.to_owned(), run));
        Some(n)
    }

    fn past_run(
        &mut self,
        now: Time,
        id: &str,
        outcome: &str,
        summary: Option<&String>,
        metadata: Option<&Value>,
    ) -> Option<i64> {
        let n = next(&self.runs);
        let (task, _) = self.tasks.get(id)?;
        let last = self.runs.values().filter(|(task, _)| task == id).filter_map(|(_, r)| r.ended_at).max();
        let at = last.map_or(now, |end| now.max(end.plus(1)));
        let run = Run {
            profile: task.assignee.clone(),
            status: if outcome == "completed" { "done" } else { outcome }.into(),
            outcome: Some(outcome.to_owned()),
            ended_at: Some(at),
            summary: summary.cloned(),
            route: route(metadata),
            failed: failed(metadata),
            ..empty_run(n, at)
        };
        self.runs.insert(n, (id.to_owned(), run));
        Some(n)
    }
}

/// The timeline that a mark is of.
fn timeline_of(mark: &str) -> u32 {
    mark.split_once('.').and_then(|(_, timeline)| timeline.parse().ok()).unwrap_or(0)
}

/// Whether no row that is there already is touched.
fn only_adds(changes: &[Change]) -> bool {
    let says = |c: &Change| {
        matches!(c, Change::AddEvent { .. } | Change::AddComment { .. } | Change::Require { .. })
    };
    matches!(changes.first(), Some(Change::AddTask { .. })) || changes.iter().all(says)
}

/// The changes that touch nothing but the row of the task.
fn set(t: &mut Task, now: Time, change: &Change) {
    match change {
        Change::SetStatus(status) => t.status = status.clone(),
        Change::ReleaseClaim => {
            (t.claim_lock, t.claim_expires, t.worker_pid, t.worker_started_at) = (None, None, None, None);
        }
        Change::TakeClaim { lock, expires, pid } => {
            (t.claim_lock, t.claim_expires, t.worker_pid) = (Some(lock.clone()), Some(*expires), *pid);
            t.started_at = t.started_at.or(Some(now));
        }
        Change::ForgetRun => t.current_run = None,
        Change::ForgetHeartbeat => t.last_heartbeat_at = None,
        Change::SetFailures { count, error } => (t.failures, t.last_failure_error) = (*count, error.clone()),
        Change::Assign(to) => t.assignee.clone_from(to),
        Change::SetPriority(to) => t.priority = *to,
        Change::SetBlock { kind, recurrences } => {
            (t.block_kind, t.block_recurrences) = (kind.clone(), *recurrences);
        }
        // A result is a column no pass reads; every other change is not one of a single row.
        _ => {}
    }
}

fn next<T>(rows: &BTreeMap<i64, T>) -> i64 {
    rows.keys().next_back().map_or(1, |n| n + 1)
}

fn of<'a, T>(rows: &'a BTreeMap<i64, (String, T)>, id: &'a str) -> impl Iterator<Item = (i64, &'a T)> {
    rows.iter().filter(move |(_, (task, _))| task == id).map(|(n, (_, row))| (*n, row))
}

fn card_made(t: &Task, source: &str) -> Option<CardMade> {
    let key = t.idempotency_key.clone().filter(|k| k.starts_with(&format!("distress:{source}:")))?;
    Some(CardMade { id: t.id.clone(), key, status: t.status.clone(), created_at: t.created_at })
}

fn event(kind: &EventKind, at: Time, run: Option<i64>, payload: &Value) -> Event {
    Event { kind: kind.clone(), at, run, payload: payload.clone().into() }
}

fn empty_run(id: i64, started_at: Time) -> Run {
    Run { id, started_at, ..Run::default() }
}

/// What a reader finds of these details in a file.
fn route(metadata: Option<&Value>) -> Option<Value> {
    Run::route_in(&metadata?.to_string())
}

fn failed(metadata: Option<&Value>) -> Vec<Failure> {
    metadata.map(|m| verification::in_metadata(&m.to_string())).unwrap_or_default()
}
