//! Random stories, told to the board in memory and to a server: both give the same outcomes, rows and events.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use base::cause::Cause;
use base::time::Time;
use board::hermes;
use board::{Answer, Begin, Board, Change, Detail, Expect, Kin, NewTask, Outcome, Run, Status, Step};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use testkit::memory::MemoryBoard;

use crate::races::{NOW, step, trail};
use crate::server::{PATIENCE, shared};

const TASKS: [&str; 5] = ["t_000000a1", "t_000000b2", "t_000000c3", "t_000000d4", "t_000000e5"];
const PROFILES: [&str; 2] = ["luna", "nova"];

/// How many stories: `WATCHBILL_STORIES`, or 40.
fn stories() -> u32 {
    std::env::var("WATCHBILL_STORIES").map_or(40, |n| n.parse().expect("WATCHBILL_STORIES is a number"))
}

/// One thing that is done to a task, and perhaps to another one.
#[derive(Debug, Clone, Copy)]
struct Act {
    what: What,
    task: usize,
    other: usize,
    flag: bool,
    /// Which tasks a new one waits for, and which parents are archived: a bit for each.
    parents: u8,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Add,
    Claim,
    Take,
    Beat,
    Complete,
    /// Ends a parent that the task still waits for: it is done, or archived.
    EndParent,
    /// Ends all of them in one part, or all but one: some are done, and some archived.
    EndParents,
    Block,
    Requeue,
    Release,
    Crash,
    Park,
    Hold,
    Unblock,
    Free,
    Comment,
    Link,
    Unlink,
    Assign,
    Archive,
    Clear,
    /// Looks, and keeps what it saw for later.
    Look,
    /// Does something on what it saw before.
    Late,
    /// Two in one part, the second one after the first.
    Both,
}

const ALL: [What; 24] = [
    What::Add,
    What::Claim,
    What::Take,
    What::Beat,
    What::Complete,
    What::EndParent,
    What::EndParents,
    What::Block,
    What::Requeue,
    What::Release,
    What::Crash,
    What::Park,
    What::Hold,
    What::Unblock,
    What::Free,
    What::Comment,
    What::Link,
    What::Unlink,
    What::Assign,
    What::Archive,
    What::Clear,
    What::Look,
    What::Late,
    What::Both,
];

fn act() -> impl Strategy<Value = Act> {
    // Tasks have to be claimed before much can be done with them.
    let often =
        [What::Claim, What::Claim, What::Take, What::Link, What::Link, What::Complete, What::EndParent];
    let what = (0..ALL.len() + often.len()).prop_map(move |n| *ALL.iter().chain(&often).nth(n).unwrap());
    let all = (what, 0..TASKS.len(), 0..TASKS.len(), any::<bool>(), any::<u8>());
    all.prop_map(|(what, task, other, flag, parents)| Act { what, task, other, flag, parents })
}

/// One of the two, and what it saw before. Numbers of runs and marks are counted by their first appearance.
struct One<'b> {
    board: &'b mut dyn Board,
    kept: Option<Detail>,
    runs: BTreeMap<i64, i64>,
    marks: BTreeMap<String, Vec<String>>,
}

impl<'b> One<'b> {
    fn new(board: &'b mut dyn Board) -> One<'b> {
        One { board, kept: None, runs: BTreeMap::new(), marks: BTreeMap::new() }
    }

    fn number(&mut self, run: &mut i64) {
        let next = i64::try_from(self.runs.len()).unwrap();
        *run = *self.runs.entry(*run).or_insert(next);
    }

    fn counted(&mut self, mut d: Detail) -> Detail {
        d.runs.iter_mut().for_each(|run: &mut Run| self.number(&mut run.id));
        d.events.iter_mut().filter_map(|e| e.run.as_mut()).for_each(|run| self.number(run));
        d.task.current_run.iter_mut().for_each(|run| self.number(run));
        let marks = self.marks.entry(d.task.id.clone()).or_default();
        let nth = marks.iter().position(|mark| *mark == d.mark).unwrap_or_else(|| {
            marks.push(d.mark.clone());
            marks.len() - 1
        });
        d.mark = nth.to_string();
        d
    }

    fn seen(&mut self, task: usize) -> Option<Detail> {
        self.board.look(&[TASKS[task].to_owned()]).unwrap().pop()
    }

    /// The parents that a task waits for.
    fn open_parents(&mut self, task: usize) -> Vec<Detail> {
        let parents = self.seen(task).map(|d| d.parents.clone()).unwrap_or_default();
        let open = parents.into_iter().filter(|p| !p.status.frees_children()).map(|p| p.id);
        self.board.look(&open.collect::<Vec<_>>()).unwrap()
    }

    fn applied(&mut self, now: Time, steps: &[Step]) -> Vec<String> {
        let mut outcomes = self.board.apply(now, steps, PATIENCE).unwrap();
        for outcome in &mut outcomes {
            if let Outcome::Applied { run: Some(run) } = outcome {
                self.number(run);
            }
        }
        outcomes.iter().map(|outcome| format!("{outcome:?}")).collect()
    }

    fn does(&mut self, now: Time, act: Act) -> Vec<String> {
        let id = TASKS[act.task];
        match act.what {
            What::Add => {
                let key = act.flag.then(|| format!("key {}", act.other));
                let assignee = Some(PROFILES[act.other % 2].to_owned());
                let task = NewTask {
                    title: format!("Task {id}"),
                    assignee,
                    idempotency_key: key,
                    ..NewTask::default()
                };
                let is_parent = |n: usize| n != act.task && act.parents >> n & 1 == 1;
                let parents = (0..TASKS.len()).filter(|n| is_parent(*n)).map(|n| TASKS[n].to_owned());
                let parents: Vec<String> = parents.collect();
                let status = if parents.is_empty() { Status::Ready } else { Status::Todo };
                self.applied(now, &[step(id, None, hermes::created(status, task, &parents, &trail()))])
            }
            What::EndParent | What::EndParents => {
                let mut open = self.open_parents(act.task);
                match (open.len(), act.what) {
                    (0, _) => {}
                    (all, What::EndParent) => open = vec![open.swap_remove(act.other % all)],
                    (all, _) => open.rotate_left(act.other % all),
                }
                open.truncate(open.len().max(1) - usize::from(act.flag && open.len() > 1));
                let end = |(nth, d): (usize, &Detail)| match act.parents >> nth & 1 {
                    1 => step(&d.task.id, Some(d), hermes::archived(d, &trail())),
                    _ => step(&d.task.id, Some(d), hermes::completed(d, None, None, &trail())),
                };
                let steps: Vec<Step> = open.iter().enumerate().map(end).collect();
                self.applied(now, &steps)
            }
            What::Take => {
                let of = [Some(PROFILES[act.other % 2])];
                let (mut offered, mut skip) = (Vec::new(), act.flag);
                let taken = self.board.take_next(now, &of, Begin::At(0), PATIENCE, &mut |d| {
                    offered.push(d.task.id.clone());
                    if std::mem::take(&mut skip) {
                        return Answer::Next;
                    }
                    let claim = hermes::claimed(d, "h2:9:x", now.plus(900), Some(9), None, &trail());
                    Answer::Take(step(&d.task.id, Some(d), claim).into())
                });
                let taken =
                    taken.unwrap().map(|(d, outcome)| format!("{:?} {}", self.counted(d), outcome.word()));
                vec![format!("{offered:?} {taken:?}")]
            }
            What::Look => {
                self.kept = self.seen(act.task);
                Vec::new()
            }
            What::Late => {
                let Some(kept) = self.kept.clone() else { return Vec::new() };
                let said = hermes::commented("late", "as I saw it");
                self.applied(now, &[step(&kept.task.id.clone(), Some(&kept), said)])
            }
            What::Both => {
                let (Some(one), Some(other)) = (self.seen(act.task), self.seen(act.other)) else {
                    return Vec::new();
                };
                let first = step(id, Some(&one), hermes::reclaimed(&one, &trail()));
                let said = hermes::commented("rosa", "after it");
                let mark = if act.flag { other.mark.clone() } else { "m99".to_owned() };
                let expect = Expect { mark, ..Expect::of(&other) };
                let second = Step {
                    after: vec![id.to_owned()],
                    expect: Some(expect),
                    ..step(TASKS[act.other], None, said)
                };
                self.applied(now, &[first, second])
            }
            _ => {
                let Some(d) = self.seen(act.task) else { return Vec::new() };
                let Some(changes) = self.changes(now, act, &d) else { return Vec::new() };
                self.applied(now, &[step(id, Some(&d), changes)])
            }
        }
    }

    fn changes(&mut self, now: Time, act: Act, d: &Detail) -> Option<Vec<Change>> {
        let trail = &trail();
        let changes = match act.what {
            What::Claim => hermes::claimed(d, "h1:7:x", now.plus(900), act.flag.then_some(7), None, trail),
            What::Beat => hermes::heartbeat(d, now.plus(1_800), act.flag.then_some("half of it")),
            What::Complete => hermes::completed(d, None, act.flag.then_some("read"), trail),
            What::Block => hermes::blocked(d, "no key", act.flag.then_some("question"), trail),
            What::Requeue => hermes::reclaimed(d, trail),
            What::Release => hermes::released(d, "limited", trail),
            What::Crash => hermes::crashed(d, Some(7), 2, trail),
            What::Park => hermes::parked(d, Cause::WorkerGone, now.plus(60), trail),
            What::Hold => hermes::held(d, "rate-limit", now.plus(60), trail),
            What::Unblock => hermes::unblocked(d, trail),
            What::Free => hermes::set_free(d, &[], trail),
            What::Comment => hermes::commented(PROFILES[act.other % 2], "hello"),
            What::Link => {
                let other = self.seen(act.other)?;
                hermes::linked(d, &Kin::from(other.task.clone()), trail)
            }
            What::Unlink => hermes::unlinked(&d.task.id, TASKS[act.other], trail),
            What::Assign => hermes::assigned(d, PROFILES[act.other % 2], trail),
            What::Archive => hermes::archived(d, trail),
            What::Clear => hermes::guard_cleared(d, trail),
            _ => return None,
        };
        Some(changes)
    }

    /// All that the board shows.
    fn shows(&mut self) -> Vec<String> {
        let ids = TASKS.map(str::to_owned);
        let details = self.board.look(&ids).unwrap();
        let mut all: Vec<String> = details.into_iter().map(|d| format!("{:?}", self.counted(d))).collect();
        all.push(format!("{:?}", self.board.links(&[]).unwrap()));
        for task in TASKS {
            all.push(format!(
                "{:?} {:?}",
                self.board.comments(task).unwrap(),
                self.board.beat_note(task).unwrap()
            ));
        }
        all
    }

    /// And what it tells of all tasks.
    fn tells(&mut self) -> Vec<String> {
        let mut tasks = Vec::from(self.board.glance(&Status::OPEN).unwrap());
        tasks.extend(self.board.titled(&TASKS.map(str::to_owned)).unwrap());
        tasks.iter_mut().filter_map(|t| t.current_run.as_mut()).for_each(|run| self.number(run));
        let mut runs = self.board.recent_runs(100).unwrap();
        runs.iter_mut().for_each(|(_, run)| self.number(&mut run.id));
        let mut events = self.board.events(Time(0), 1_000).unwrap();
        events.iter_mut().filter_map(|(_, e)| e.run.as_mut()).for_each(|run| self.number(run));
        let mut turns = self.board.turns(Time(0), 1_000).unwrap();
        turns.iter_mut().filter_map(|(_, e)| e.run.as_mut()).for_each(|run| self.number(run));
        let (links, ended) =
            (self.board.links(&Status::OPEN).unwrap(), self.board.ended(Time(0), 100).unwrap());
        let waiting = self.board.waiting().unwrap();
        // What may be offered, in the order in which it is. More may be told, and is left out.
        let free = |board: &mut dyn Board, of: &[Option<&str>]| -> Vec<(String, Option<String>)> {
            let tasks = board.next_of(of, 100).unwrap();
            let free = board.look(&tasks.into_iter().map(|t| t.id).collect::<Vec<_>>()).unwrap();
            let free = free.into_iter().filter(|d| d.may_be_claimed(true).is_ok());
            free.map(|d| (d.task.id.clone(), d.task.assignee.clone())).collect()
        };
        let of = PROFILES.map(Some);
        let free = [&of[..1], &of, &[None]].map(|of| free(self.board, of));
        let assignees = self.board.assignees().unwrap();
        assert!(free.iter().flatten().all(|(_, to)| to.as_ref().is_none_or(|to| assignees.contains(to))));
        let keys: Vec<_> =
            (0..TASKS.len()).map(|n| self.board.with_key(&format!("key {n}")).unwrap()).collect();
        let mut states: Vec<String> = self.board.states().unwrap().iter().map(Status::to_string).collect();
        states.sort();
        vec![
            format!("{tasks:?}"),
            format!("{runs:?}"),
            format!("{events:?}"),
            format!("{turns:?}"),
            format!("{links:?} {waiting:?} {free:?} {ended:?} {keys:?} {states:?}"),
        ]
    }
}

#[test]
fn random_stories_are_told_alike() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let (hand, on_server) = (RefCell::new(place.hand()), RefCell::new(place.open()));
    let config =
        Config { cases: stories(), failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let counts = Cell::new([0; 3]);
    let mut runner = TestRunner::new(config);
    let told = runner.run(&vec(act(), 1..40), |acts| {
        hand.borrow_mut()
            .batch_execute(
                "TRUNCATE tasks, task_links, task_runs, task_events, task_comments, writes RESTART IDENTITY",
            )
            .unwrap();
        let mut memory = MemoryBoard::new(true);
        let mut on_server = on_server.borrow_mut();
        let (mut memory, mut server) = (One::new(&mut memory), One::new(&mut *on_server));
        let alike = |what: &str, memory: &[String], server: &[String]| match memory == server {
            true => Ok(()),
            false => {
                let first = memory.iter().zip(server).find(|(m, s)| m != s);
                Err(TestCaseError::fail(format!("{what}: memory first, PostgreSQL second: {first:#?}")))
            }
        };
        // All are there but the last one, which waits for any of them once it is added; two of them wait for the first two. What comes then
        // may add one again.
        let add = |task| {
            let parents = if task < 2 { 0 } else { 0b11 };
            Act { what: What::Add, task, other: 0, flag: false, parents }
        };
        let all = (0..TASKS.len() - 1).map(add);
        for (nth, act) in all.chain(acts).enumerate() {
            let now = NOW.plus(i64::try_from(nth).unwrap() * 7);
            let outcomes = memory.does(now, act);
            alike(&format!("{nth} {act:?}"), &outcomes, &server.does(now, act))?;
            let count = |word: &str| outcomes.iter().filter(|outcome| outcome.starts_with(word)).count();
            let [applied, moved, refused] = counts.get();
            counts.set([applied + count("Applied"), moved + count("Moved"), refused + count("Refused")]);
            alike(&format!("after {nth} {act:?}"), &memory.shows(), &server.shows())?;
        }
        alike("in the end", &memory.tells(), &server.tells())
    });
    told.unwrap_or_else(|e| panic!("{e}"));
    let [applied, moved, refused] = counts.get();
    println!("{} stories: {applied} steps applied, {moved} moved, {refused} refused", stories());
    assert!(applied > 100 && moved > 0 && refused > 0, "{applied} applied, {moved} moved, {refused} refused");
}
