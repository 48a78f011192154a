//! How a chapter is told: what every engine is asked, and what another program does to its rows meanwhile. The tests of an engine outside
//! of this package read this file too.

use std::time::Duration;

use serde_json::{Map, Value};
use shared::base::time::Time;
use shared::board::hermes::{self, Trail};
use shared::board::{
    Answer, Begin, Board, Change, Comment, Detail, Event, Expect, Link, NewTask, Outcome, Run, Status, Step,
};
use testkit::memory::MemoryBoard;

/// When every chapter begins.
pub(super) const BEGAN: Time = Time(1_800_000_000);
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What another program does to a board, without any guard.
pub(super) enum Foreign<'a> {
    /// Sets a column of a task.
    Set(&'a str, &'a str, Value),
    /// Writes an event: task, kind, payload, when.
    Event(&'a str, &'a str, Value, Time),
    /// Writes a comment: task, author, when.
    Comment(&'a str, &'a str, Time),
    /// Writes a run that is over: task, outcome, start, end.
    Run(&'a str, &'a str, Time, Time),
    /// Deletes a task.
    Delete(&'a str),
}

/// Tells a chapter to one engine and remembers every answer.
pub(super) struct Teller<'a> {
    pub(super) board: &'a mut dyn Board,
    other: &'a dyn Fn(Foreign<'_>),
    heard: Vec<String>,
    pub(super) now: Time,
}

impl Teller<'_> {
    pub(super) fn hear<T: std::fmt::Debug>(&mut self, what: T) -> T {
        self.heard.push(format!("{what:?}"));
        what
    }

    /// A task as it is now.
    #[track_caller]
    pub(super) fn look(&mut self, id: &str) -> Detail {
        let mut found = self.board.look(&[id.to_owned()]).unwrap();
        assert_eq!(found.len(), 1, "{id}");
        self.hear(found.remove(0))
    }

    pub(super) fn links(&mut self, of: &[Status]) -> Vec<Link> {
        let links = self.board.links(of).unwrap();
        self.hear(links)
    }

    /// A step under the guard of what was seen, or under none for a new task.
    pub(super) fn step(&mut self, id: &str, seen: Option<&Detail>, changes: Vec<Change>) -> Outcome {
        let outcomes = self.board.apply(self.now, &[step(id, seen, changes)], PATIENCE).unwrap();
        assert_eq!(outcomes.len(), 1);
        self.hear(outcomes[0].clone())
    }

    /// Looks, decides, applies, and looks again.
    #[track_caller]
    pub(super) fn does(&mut self, id: &str, decide: impl FnOnce(&Detail) -> Vec<Change>) -> Detail {
        let seen = self.look(id);
        let outcome = self.step(id, Some(&seen), decide(&seen));
        assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
        self.look(id)
    }

    /// Takes the next free task of these profiles, and hears every offer.
    pub(super) fn takes(
        &mut self,
        of: &[Option<&str>],
        answer: impl FnMut(&Detail) -> Answer,
    ) -> (Vec<String>, Option<(Detail, Outcome)>) {
        self.takes_from(Begin::At(0), of, answer)
    }

    /// The same, beginning elsewhere in the queue.
    pub(super) fn takes_from(
        &mut self,
        begin: Begin<'_>,
        of: &[Option<&str>],
        mut answer: impl FnMut(&Detail) -> Answer,
    ) -> (Vec<String>, Option<(Detail, Outcome)>) {
        let mut offers = Vec::new();
        let taken = self.board.take_next(self.now, of, begin, PATIENCE, &mut |seen| {
            offers.push(seen.clone());
            answer(seen)
        });
        let taken = taken.unwrap();
        self.hear(&taken);
        let ids = offers.iter().map(|seen| seen.task.id.clone()).collect();
        self.hear(offers);
        (ids, taken)
    }

    /// Looks, decides, applies, is refused, and finds nothing changed.
    #[track_caller]
    pub(super) fn is_refused(&mut self, id: &str, decide: impl FnOnce(&Detail) -> Vec<Change>) -> String {
        let seen = self.look(id);
        let outcome = self.step(id, Some(&seen), decide(&seen));
        let Outcome::Refused { why } = outcome else { panic!("{outcome:?}") };
        assert_eq!(self.look(id), seen, "a refused step leaves nothing behind");
        why
    }

    /// A new task.
    #[track_caller]
    pub(super) fn adds(&mut self, id: &str, status: Status, parents: &[&str]) -> Detail {
        let task =
            NewTask { title: format!("Task {id}"), assignee: Some("luna".into()), ..NewTask::default() };
        let parents: Vec<String> = parents.iter().map(|p| (*p).to_owned()).collect();
        let outcome = self.step(id, None, hermes::created(status, task, &parents, &trail()));
        assert_eq!(outcome, Outcome::Applied { run: None });
        self.look(id)
    }

    /// A new task that luna claims at once.
    #[track_caller]
    pub(super) fn running(&mut self, id: &str) -> Detail {
        self.adds(id, Status::Ready, &[]);
        self.does(id, |d| hermes::claimed(d, "host:7", BEGAN.plus(900), Some(4_711), None, &trail()))
    }

    pub(super) fn other(&self, does: Foreign<'_>) {
        (self.other)(does);
    }
}

pub(super) fn step(id: &str, seen: Option<&Detail>, changes: Vec<Change>) -> Step {
    Step {
        because: "the story says so".into(),
        expect: seen.map(Expect::of),
        ..Step::unguarded(id, "test".into(), "test".into(), changes)
    }
}

pub(super) fn trail() -> Trail<'static> {
    Trail {
        by: "heal",
        pass: "20270115T080000Z-heal-0000",
        clock_given: false,
        case: "test".into(),
        cause: None,
        because: "the story says so",
        more: Map::new(),
    }
}

/// Kinds of a task's events, oldest first.
pub(super) fn kinds(seen: &Detail) -> Vec<&str> {
    seen.events.iter().map(|e| e.kind.as_str()).collect()
}

/// The payload of the newest event, which must be of this kind.
#[track_caller]
pub(super) fn newest<'a>(seen: &'a Detail, kind: &str) -> &'a Event {
    let event = seen.events.last().unwrap();
    assert_eq!(event.kind.as_str(), kind, "{:?}", kinds(seen));
    event
}

pub(super) fn told(
    board: &mut dyn Board,
    other: &dyn Fn(Foreign<'_>),
    chapter: fn(&mut Teller<'_>),
) -> Vec<String> {
    let mut teller = Teller { board, other, heard: Vec::new(), now: BEGAN };
    chapter(&mut teller);
    let all =
        [Status::Triage, Status::Todo, Status::Scheduled, Status::Ready, Status::Running, Status::Blocked];
    let open = teller.board.glance(&all).unwrap();
    teller.hear(open);
    let events = teller.board.events(Time(0), 10_000).unwrap();
    let mut ids: Vec<String> = events.iter().map(|(id, _)| id.clone()).collect();
    teller.hear(events);
    ids.dedup();
    let titled = teller.board.titled(&ids).unwrap();
    teller.hear(titled);
    let runs = teller.board.recent_runs(10_000).unwrap();
    teller.hear(runs);
    teller.heard
}

pub(super) fn in_memory(board: &MemoryBoard, does: Foreign<'_>) {
    let rows = &mut *board.rows_mut();
    match does {
        Foreign::Set(id, column, value) => {
            let (t, _) = rows.tasks.get_mut(id).unwrap();
            let (text, int) = (value.as_str().map(str::to_owned), value.as_i64());
            match column {
                "status" => t.status = text.unwrap().into(),
                "title" => t.title = text.unwrap(),
                "assignee" => t.assignee = text,
                "priority" => t.priority = int.unwrap(),
                "created_at" => t.created_at = Time(int.unwrap()),
                "claim_lock" => t.claim_lock = text,
                "claim_expires" => t.claim_expires = int.map(Time),
                "worker_pid" => t.worker_pid = int,
                "current_run_id" => t.current_run = int,
                "consecutive_failures" => t.failures = int.unwrap(),
                "last_failure_error" => t.last_failure_error = text,
                "max_retries" => t.max_retries = int,
                "idempotency_key" => t.idempotency_key = text,
                "model_override" => t.pin.model = text,
                other => panic!("{other}"),
            }
        }
        Foreign::Event(id, kind, payload, at) => {
            rows.add_event(id, Event { kind: kind.into(), at, run: None, payload: payload.into() });
        }
        Foreign::Comment(id, author, at) => {
            let n = rows.comments.len() as i64 + 1;
            rows.comments
                .insert(n, (id.into(), Comment { author: author.into(), body: format!("note {n}"), at }));
        }
        Foreign::Run(id, outcome, started_at, ended) => {
            let n = rows.runs.len() as i64 + 1;
            let run = Run {
                id: n,
                status: outcome.into(),
                outcome: Some(outcome.into()),
                started_at,
                ended_at: Some(ended),
                ..Run::default()
            };
            rows.runs.insert(n, (id.into(), run));
        }
        Foreign::Delete(id) => drop(rows.tasks.remove(id)),
    }
}

/// The same in SQL.
pub(super) fn in_sql(does: Foreign<'_>) -> String {
    let literal = |v: &Value| match v {
        Value::Null => "NULL".to_owned(),
        Value::String(s) => format!("'{s}'"),
        other => other.to_string(),
    };
    match does {
        Foreign::Set(id, column, value) => {
            format!("UPDATE tasks SET {column} = {} WHERE id = '{id}'", literal(&value))
        }
        Foreign::Event(id, kind, payload, at) => {
            let payload = if payload.is_null() { "NULL".into() } else { format!("'{payload}'") };
            format!(
                "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', '{kind}', {payload}, {})",
                at.0
            )
        }
        Foreign::Comment(id, author, at) => format!(
            "INSERT INTO task_comments (task_id, author, body, created_at)
             SELECT '{id}', '{author}', 'note ' || (count(*) + 1), {} FROM task_comments",
            at.0
        ),
        Foreign::Run(id, outcome, started, ended) => format!(
            "INSERT INTO task_runs (task_id, status, outcome, started_at, ended_at)
             VALUES ('{id}', '{outcome}', '{outcome}', {}, {})",
            started.0, ended.0
        ),
        Foreign::Delete(id) => format!("DELETE FROM tasks WHERE id = '{id}'"),
    }
}
