//! Small scope, exhaustively: two tasks, two hosts, a `heal` on each, one `route-blocked`, harnesses, an agent that claims by itself, an
//! operator, lost answers and partitions, in every order to a depth.
//!
//! A step of the model is as small as the real programs have it: a look and what is decided by it is one, its write is another one, so
//! that a decision that is old by any time meets rows that changed. `observe`, `decide`, the judgement of processes, the changes of every
//! command and the guards of a step are the real ones; a board is [`MemoryBoard`]. What is told here in small is the harness
//! (`board run`), whose code needs real processes: when it beats, what it takes for its own, and its fence.

mod calm;
mod laws;
mod search;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde_json::json;
use shared::base::cause::Cause;
use shared::base::time::Time;
use shared::board::hermes::{self, FAILURE_LIMIT, Trail};
use shared::board::{
    Attendance, Board, Change, Detail, Duty, EventKind, Expect, MARKER, NewTask, Outcome, Status, Step,
};
use shared::config::Config;
use shared::host::{Birth, Boot};
use shared::logs::{Evidence, LogEnd};
use shared::ops::pass::apply::{Checked, left_to_their_hosts};
use shared::policy::Witness;

use super::hands::look;
use super::machine::{HERTZ, Machine, Who};
use crate::memory::MemoryBoard;

pub use search::{Found, Search, Sum};

/// Why a command failed by itself.
const FAILED: &str = "worker exited with code 1";

/// How long a claim lasts, in seconds: `board.claim_ttl`.
const TTL: i64 = 900;
/// How long before its end a harness stops its command, in seconds.
const MARGIN: i64 = 30;
/// How long a harness tries to write how its command ended, in seconds.
const BUSY: i64 = 600;
/// Time passes by so many seconds: longer than the lease of a host; and longer than a claim and `host.gone_after` together, or a hold.
const JUMPS: [i64; 2] = [400, 2_800];
/// The tasks, and whose they are.
const TASKS: [&str; 2] = ["t_0000000a", "t_0000000b"];
/// The hosts, as their claims name them.
const HOSTS: [&str; 2] = ["harbour@1", "quay@2"];
/// Who works.
const LUNA: &str = "luna";

/// A guard that is left out, so that it is seen whether the laws notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// The write of a pass does not compare the task's history.
    History,
    /// It does not compare the end of the claim, which a heartbeat moves without a word in the history.
    Expiry,
    /// A claim compares neither state nor history.
    Status,
    /// It compares neither assignee nor history.
    Assignee,
    /// It compares nothing of the row.
    Row,
    /// A task is claimed whatever state it is in.
    Claimable,
    /// A task is claimed before what it waits for is done.
    Parents,
    /// A task is claimed while a process of this host works on it.
    Living,
    /// A worker's commands do not ask whether its claim still holds the task.
    Fence,
    /// A harness that cannot reach the board does not stop its command.
    Lease,
    /// A pass whose own host was away judges the others.
    Doubt,
    /// A claim that ran out is taken for its host being gone.
    Patience,
    /// A host that was found gone is not looked for again before the write.
    Back,
    /// A write whose answer was lost is made again, whatever the row says by then.
    Retry,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 14] = [
        Mutant::History,
        Mutant::Expiry,
        Mutant::Status,
        Mutant::Assignee,
        Mutant::Row,
        Mutant::Claimable,
        Mutant::Parents,
        Mutant::Living,
        Mutant::Fence,
        Mutant::Lease,
        Mutant::Doubt,
        Mutant::Patience,
        Mutant::Back,
        Mutant::Retry,
    ];

    /// Takes the guard off a step, by giving it the row as it is.
    fn weaken(self, board: &mut dyn Board, actor: Actor, step: &mut Step) {
        let is_meant = match self {
            Mutant::History | Mutant::Expiry => matches!(actor, Actor::Watcher(..)),
            _ => matches!(actor, Actor::Claimer(_)),
        };
        let Some((is, expect)) = look(board, &step.task).zip(step.expect.as_mut()).filter(|_| is_meant)
        else {
            return;
        };
        let now = Expect::of(&is);
        if matches!(self, Mutant::History | Mutant::Status | Mutant::Assignee) {
            expect.mark.clone_from(&now.mark);
        }
        match self {
            Mutant::Expiry => expect.claim_expires = now.claim_expires,
            Mutant::Status => expect.status = now.status,
            Mutant::Assignee => expect.assignee = now.assignee,
            Mutant::Row => *expect = now,
            _ => {}
        }
    }
}

/// Which watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    /// `heal`.
    Heal,
    /// `route-blocked`.
    Route,
}

/// Who looks and writes. Each has one decision at a time that is not written yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    Watcher(Program, usize),
    /// Who claims on a host.
    Claimer(usize),
    /// The worker of a run, or its harness.
    Worker(i64),
    Operator,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Failed,
    /// Its provider refused it: that is in its log.
    Refused,
}

/// What an operator says of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Block,
    Unblock,
    Reassign,
    NoHeal,
}

/// One step of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// A watcher attends, looks and decides.
    Pass(Program, usize),
    /// A claimer on a host looks at a task and wants to claim it: a harness, or an agent of which the board gets no pid.
    Claim(usize, usize, bool),
    /// A worker looks before a heartbeat.
    Beat(i64),
    /// A worker looks before it completes its task.
    Complete(i64),
    /// The command of a harness ends, and the harness looks.
    Ends(i64, End),
    /// The harness looks again.
    Settles(i64),
    /// The operator looks at a task before a word about it.
    Says(Word, usize),
    /// The decision of an actor is written.
    Write(Actor),
    /// The same, and the answer is lost.
    Lost(Actor),
    /// A worker and its harness die without a word.
    Die(i64),
    /// The harness alone is killed.
    Orphan(i64),
    /// A host is cut off from the board, or reaches it again.
    Cut(usize),
    Mend(usize),
    /// Time passes.
    Jump(i64),
}

/// What is to be written.
#[derive(Debug, Clone)]
struct Pending {
    /// The clock of the actor that looked.
    at: Time,
    steps: Vec<Step>,
    what: What,
}

/// What the board said of a write.
struct Answer {
    /// The run that it opened.
    run: Option<i64>,
    is_lost: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Pass,
    Claim { task: usize, lock: String, pid: Option<i64> },
    Beat,
    Complete,
    Settle,
    Word(Word, usize),
}

/// A worker whose process lives, or whose harness has still to say how it ended.
#[derive(Debug, Clone)]
struct Worker {
    task: String,
    run: i64,
    host: usize,
    lock: String,
    /// `None`: an agent that claimed by itself, and holds nothing but a lease.
    pid: Option<i64>,
    /// Its harness lives.
    has_harness: bool,
    /// When the last renewal was sent that the board confirmed.
    renewed: Time,
    /// How it ended, where its harness has not written that yet.
    end: Option<End>,
}

impl Worker {
    fn holds(&self, d: &Detail) -> bool {
        let t = &d.task;
        t.status == Status::Running
            && t.current_run == Some(self.run)
            && t.claim_lock.as_ref() == Some(&self.lock)
    }

    fn lives(&self) -> bool {
        self.end.is_none()
    }
}

#[derive(Debug, Clone)]
struct Machinery {
    machine: Machine,
    is_cut: bool,
}

/// What may still happen. It keeps the space small where its kinds multiply it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Budget {
    jumps: u8,
    faults: u8,
    words: u8,
}

const SCOPE: Budget = Budget { jumps: 3, faults: 2, words: 2 };

/// What is said of one step by those who look at it.
#[derive(Debug, Default)]
struct Told {
    /// Steps of watchers that were carried out, and what became of those that were not.
    did: Vec<String>,
    lines: Vec<String>,
    /// The rule of a watcher's step by task.
    rules: BTreeMap<String, String>,
}

/// Everything there is.
#[derive(Debug, Clone)]
struct State {
    board: MemoryBoard,
    hosts: Vec<Machinery>,
    workers: Vec<Worker>,
    pending: BTreeMap<Actor, Pending>,
    /// The end of the newest attempt at a task, as its log says it: on which host, what, and when.
    logs: BTreeMap<String, (usize, LogEnd, Time)>,
    /// Tasks that the operator blocked.
    held: BTreeSet<String>,
    /// Tasks that no watcher may touch.
    left_alone: BTreeSet<String>,
    budget: Budget,
    /// Nothing goes wrong any more, and everybody finds work.
    is_calm: bool,
}

fn own_step(id: &str, seen: &Detail, changes: Vec<Change>) -> Step {
    Step { task: id.to_owned(), ..Step::on(seen, "hand".into(), "hand".into(), changes) }
}

fn trail(by: &'static str, because: &'static str) -> Trail<'static> {
    Trail {
        by,
        pass: "p",
        clock_given: false,
        case: because.into(),
        cause: None,
        because,
        more: serde_json::Map::new(),
    }
}

impl State {
    /// Two free tasks; `is_behind`: the second one waits for the first one.
    fn new(is_behind: bool) -> State {
        let now = Time(1_800_000_000);
        let mut board = MemoryBoard::new(true).shared(now);
        for (n, id) in TASKS.iter().enumerate() {
            let parent = (is_behind && n == 1).then(|| TASKS[0].to_owned());
            let status = if parent.is_some() { Status::Todo } else { Status::Ready };
            let task =
                NewTask { title: format!("Lamp {n}"), assignee: Some(LUNA.into()), ..NewTask::default() };
            let parents: Vec<String> = parent.into_iter().collect();
            let changes = hermes::created(status, task, &parents, &trail("board", "create"));
            let step = Step::unguarded(id, "create".into(), "create".into(), changes);
            // A board in memory takes a first task.
            drop(board.apply(now, &[step], Duration::ZERO));
        }
        let machinery = |n: usize| {
            let mut machine = Machine::new(HOSTS[n], 50_000);
            machine.is_tidy = true;
            machine.boot = u32::try_from(n).unwrap_or(0) + 1;
            Machinery { machine, is_cut: false }
        };
        State {
            board,
            hosts: (0..HOSTS.len()).map(machinery).collect(),
            workers: Vec::new(),
            pending: BTreeMap::new(),
            logs: BTreeMap::new(),
            held: BTreeSet::new(),
            left_alone: BTreeSet::new(),
            budget: SCOPE,
            is_calm: false,
        }
    }

    /// The same on a board of its own.
    fn fork(&self) -> State {
        State { board: self.board.fork(), ..self.clone() }
    }

    fn now(&self) -> Time {
        self.board.hosts_mut().now
    }

    fn seen(&self, task: &str) -> Option<Detail> {
        look(&mut self.board.clone(), task)
    }

    fn worker(&self, run: i64) -> Option<&Worker> {
        self.workers.iter().find(|w| w.run == run)
    }

    fn host_of(&self, actor: Actor) -> Option<usize> {
        match actor {
            Actor::Watcher(_, host) | Actor::Claimer(host) => Some(host),
            Actor::Worker(run) => self.worker(run).map(|w| w.host),
            Actor::Operator => None,
        }
    }

    fn reaches(&self, actor: Actor) -> bool {
        self.host_of(actor).is_none_or(|host| !self.hosts[host].is_cut)
    }

    /// What may happen next.
    fn acts(&self) -> Vec<Act> {
        let mut acts = Vec::new();
        let heals = [0, 1].map(|host| (Program::Heal, host));
        for (program, host) in heals.into_iter().chain([(Program::Route, 0)]) {
            if !self.hosts[host].is_cut {
                acts.push(Act::Pass(program, host));
            }
        }
        for (host, with_pid) in [(0, true), (1, true), (1, false)] {
            let is_busy =
                self.workers.iter().any(|w| w.host == host && w.pid.is_some() == with_pid && w.has_harness);
            if !is_busy && !self.hosts[host].is_cut {
                acts.extend((0..TASKS.len()).map(|task| Act::Claim(host, task, with_pid)));
            }
        }
        for w in &self.workers {
            let reaches = !self.hosts[w.host].is_cut;
            if w.lives() {
                if reaches {
                    acts.push(Act::Beat(w.run));
                    acts.push(Act::Complete(w.run));
                }
                if w.pid.is_some() && w.has_harness {
                    acts.extend([End::Done, End::Failed, End::Refused].map(|end| Act::Ends(w.run, end)));
                }
            } else if reaches {
                acts.push(Act::Settles(w.run));
            }
        }
        for actor in self.pending.keys().filter(|a| self.reaches(**a)) {
            acts.push(Act::Write(*actor));
        }
        if self.budget.words > 0 {
            for task in 0..TASKS.len() {
                let words = [Word::Block, Word::Unblock, Word::Reassign, Word::NoHeal];
                acts.extend(words.map(|word| Act::Says(word, task)));
            }
        }
        acts.extend((0..HOSTS.len()).filter(|h| self.hosts[*h].is_cut).map(Act::Mend));
        if self.budget.faults > 0 {
            for w in self.workers.iter().filter(|w| w.lives()) {
                acts.push(Act::Die(w.run));
                if w.pid.is_some() && w.has_harness {
                    acts.push(Act::Orphan(w.run));
                }
            }
            for (actor, pending) in self.pending.iter().filter(|(a, _)| self.reaches(**a)) {
                if matches!(pending.what, What::Claim { .. } | What::Beat | What::Complete | What::Settle) {
                    acts.push(Act::Lost(*actor));
                }
            }
            acts.extend((0..HOSTS.len()).filter(|h| !self.hosts[*h].is_cut).map(Act::Cut));
        }
        if self.budget.jumps > 0 {
            acts.extend(JUMPS.map(Act::Jump));
        }
        acts
    }

    /// Does one step. `None`: its actor was refused, and nothing changed.
    fn act(&self, act: Act, without: Option<Mutant>, told: &mut Told) -> Option<State> {
        let mut next = self.fork();
        let is_done = match act {
            Act::Pass(program, host) => next.pass(program, host, without, told),
            Act::Claim(host, task, with_pid) => next.wants(host, task, with_pid, without),
            Act::Beat(run) => next.beats(run, without),
            Act::Complete(run) => next.completes(run, without),
            Act::Ends(run, end) => next.ends(run, end),
            Act::Settles(run) => next.settles(run),
            Act::Says(word, task) => next.says(word, task),
            Act::Write(actor) => next.write(actor, false, without, told),
            Act::Lost(actor) => next.write(actor, true, without, told),
            Act::Die(run) => next.dies(run),
            Act::Orphan(run) => {
                next.budget.faults -= 1;
                next.pending.remove(&Actor::Worker(run));
                next.workers.iter_mut().filter(|w| w.run == run).for_each(|w| w.has_harness = false);
                true
            }
            Act::Cut(host) => {
                next.budget.faults -= 1;
                next.hosts[host].is_cut = true;
                true
            }
            Act::Mend(host) => {
                next.hosts[host].is_cut = false;
                true
            }
            Act::Jump(by) => next.jumps(by, without),
        };
        is_done.then_some(next)
    }

    fn attend(&mut self, host: usize, duty: Duty) -> Option<shared::board::Attended> {
        let up = self.hosts[host].machine.up;
        let facts = self.hosts[host].machine.facts(self.now());
        let me = Attendance {
            host: HOSTS[host],
            boot: &facts.boot_id,
            uptime: up,
            age: up,
            program: "model",
            duty,
        };
        self.board.attend(&me).ok().flatten()
    }

    /// A harness or an agent looks at a free task.
    fn wants(&mut self, host: usize, task: usize, with_pid: bool, without: Option<Mutant>) -> bool {
        let id = TASKS[task];
        self.attend(host, Duty::Works);
        let Some(seen) = self.seen(id) else { return false };
        let may = match without {
            Some(Mutant::Claimable) => true,
            Some(Mutant::Parents) => {
                let mut alone = seen.clone();
                alone.parents.retain(|p| p.status.frees_children());
                matches!(alone.task.status, Status::Ready | Status::Todo) && alone.task.claim_lock.is_none()
            }
            _ => {
                let is_its = self.is_calm || seen.task.assignee.as_deref() == Some(LUNA);
                seen.may_be_claimed(true).is_ok() && is_its
            }
        };
        if !may || (without != Some(Mutant::Living) && self.is_at_work(host, &seen)) {
            return false;
        }
        let nth = i64::try_from(seen.runs.len()).unwrap_or(0);
        let kind = i64::from(with_pid);
        let pid = 100 + 20 * nth + 2 * i64::try_from(task).unwrap_or(0) + kind;
        let lock = format!("{}:{pid}:{nth}{kind}", HOSTS[host]);
        let mut trail = trail("board", "claim");
        let machine = &self.hosts[host].machine;
        let facts = machine.facts(self.now());
        if with_pid {
            let boot = Boot::Id(facts.boot_id.clone());
            let ticks = u64::try_from(machine.up).unwrap_or(0) * HERTZ + 7;
            trail.more.insert("birth".into(), json!(Birth { boot, ticks }));
            trail.more.insert("pid".into(), json!(pid));
            trail.more.insert("namespace".into(), json!(facts.pid_namespace));
        }
        let (pid, now) = (with_pid.then_some(pid), self.now());
        let mut changes = Vec::new();
        if seen.task.status == Status::Todo {
            changes.extend(hermes::promoted(&seen, &trail));
        }
        changes.extend(hermes::claimed(&seen, &lock, now.plus(TTL), pid, Some(LUNA.into()), &trail));
        let what = What::Claim { task, lock, pid };
        let steps = vec![own_step(id, &seen, changes)];
        self.pending.insert(Actor::Claimer(host), Pending { at: now, steps, what });
        true
    }

    /// Whether a process of a host works on a task.
    fn is_at_work(&self, host: usize, seen: &Detail) -> bool {
        let here = world::Here { state: self, host };
        here.at_work(&[seen.freed()]).into_iter().flatten().any(|p| p.is_worker)
    }

    fn beats(&mut self, run: i64, without: Option<Mutant>) -> bool {
        let Some(w) = self.worker(run).cloned() else { return false };
        if w.has_harness && w.pid.is_some() {
            self.attend(w.host, Duty::Works);
        }
        let Some(seen) = self.seen(&w.task) else { return false };
        let holds = w.holds(&seen) || (without == Some(Mutant::Fence) && seen.task.status == Status::Running);
        if !holds {
            return false;
        }
        let now = self.now();
        let changes = hermes::heartbeat(&seen, now.plus(TTL), None);
        let steps = vec![own_step(&w.task, &seen, changes)];
        self.pending.insert(Actor::Worker(run), Pending { at: now, steps, what: What::Beat });
        true
    }

    /// `board complete` by the agent itself.
    fn completes(&mut self, run: i64, without: Option<Mutant>) -> bool {
        let Some(w) = self.worker(run).cloned() else { return false };
        let Some(seen) = self.seen(&w.task) else { return false };
        let t = &seen.task;
        let may = matches!(t.status, Status::Running | Status::Ready | Status::Blocked)
            && seen.parents.iter().all(|p| p.status.frees_children());
        let is_its = t.current_run == Some(run) && t.claim_lock.as_ref() == Some(&w.lock);
        if !may || !(is_its || without == Some(Mutant::Fence)) {
            return false;
        }
        let changes = hermes::completed(&seen, None, Some("done"), &trail("board", "complete"));
        let (at, steps) = (self.now(), vec![own_step(&w.task, &seen, changes)]);
        self.pending.insert(Actor::Worker(run), Pending { at, steps, what: What::Complete });
        true
    }

    /// The process of a worker is gone.
    fn forget(&mut self, host: usize, pid: Option<i64>) {
        if let Some(pid) = pid {
            self.hosts[host].machine.forget(pid);
        }
    }

    /// The command of a harness ends by itself.
    fn ends(&mut self, run: i64, end: End) -> bool {
        let now = self.now();
        let Some(w) = self.workers.iter_mut().find(|w| w.run == run) else { return false };
        w.end = Some(end);
        let (host, pid, task) = (w.host, w.pid, w.task.clone());
        self.forget(host, pid);
        if end == End::Refused {
            let evidence = Evidence {
                http: Some(429),
                endpoint_host: Some("api.moon.example".into()),
                at: Some(now),
                words: "API call failed".into(),
                ..Evidence::new(Cause::RateLimit, 128)
            };
            self.logs.insert(task, (host, LogEnd::Ended(evidence), now));
        }
        self.pending.remove(&Actor::Worker(run));
        if !self.hosts[host].is_cut {
            self.settles(run);
        }
        true
    }

    /// A harness looks, to write how its command ended.
    fn settles(&mut self, run: i64) -> bool {
        let Some(w) = self.worker(run).cloned() else { return false };
        let Some((end, seen)) = w.end.zip(self.seen(&w.task)) else { return false };
        if !w.holds(&seen) {
            self.workers.retain(|w| w.run != run);
            self.pending.remove(&Actor::Worker(run));
            return true;
        }
        let waits = seen.parents.iter().any(|p| !p.status.frees_children());
        let trail = trail("board", "run");
        let changes = match end {
            End::Done if waits => hermes::released_to_wait(&seen, "it waits", &trail),
            End::Done => hermes::completed(&seen, None, Some("worker exited with code 0"), &trail),
            End::Failed => hermes::failed(&seen, FAILED, w.pid, FAILURE_LIMIT, &trail),
            End::Refused => vec![hermes::noted_in(Some(run), EventKind::CommandEnded, json!({}), &trail)],
        };
        let (at, steps) = (self.now(), vec![own_step(&w.task, &seen, changes)]);
        self.pending.insert(Actor::Worker(run), Pending { at, steps, what: What::Settle });
        true
    }

    fn says(&mut self, word: Word, task: usize) -> bool {
        let id = TASKS[task];
        let Some(seen) = self.seen(id) else { return false };
        let (t, trail) = (&seen.task, trail("board", "word"));
        let changes = match word {
            Word::Block if matches!(t.status, Status::Running | Status::Ready) => {
                hermes::blocked(&seen, "wait for me", Some("needs_input"), &trail)
            }
            Word::Unblock if matches!(t.status, Status::Blocked | Status::Scheduled) => {
                hermes::unblocked(&seen, &trail)
            }
            Word::Unblock if t.status == Status::Triage => hermes::out_of_triage(&seen, &trail),
            Word::Reassign if t.status != Status::Running && t.assignee.as_deref() == Some(LUNA) => {
                hermes::assigned(&seen, "nova", &trail)
            }
            Word::NoHeal if !self.left_alone.contains(id) => {
                hermes::commented("operator", &format!("{MARKER} no-heal"))
            }
            _ => return false,
        };
        self.budget.words -= 1;
        let mut step = own_step(id, &seen, changes);
        if word == Word::NoHeal {
            // A comment rests on nothing that was seen.
            step.expect = None;
        }
        let at = self.now();
        self.pending.insert(Actor::Operator, Pending { at, steps: vec![step], what: What::Word(word, task) });
        true
    }

    /// Writes the decision of an actor.
    fn write(&mut self, actor: Actor, is_lost: bool, without: Option<Mutant>, told: &mut Told) -> bool {
        let Some(Pending { at, mut steps, what }) = self.pending.remove(&actor) else { return false };
        if is_lost {
            self.budget.faults -= 1;
        }
        let mut board = self.board.clone();
        if let Some(mutant) = without {
            steps.iter_mut().for_each(|step| mutant.weaken(&mut board, actor, step));
        }
        if let Actor::Watcher(program, host) = actor {
            self.write_pass(program, host, (at, steps), without, told);
            return true;
        }
        let outcome = board.apply(at, &steps, Duration::ZERO);
        let run = match outcome.as_deref() {
            Ok([Outcome::Applied { run }]) => *run,
            other => {
                told.lines.push(format!("not written: {other:?}"));
                return true;
            }
        };
        if is_lost && without == Some(Mutant::Retry) {
            steps.iter_mut().for_each(|step| Mutant::Row.weaken(&mut board, actor, step));
            let again = board.apply(at, &steps, Duration::ZERO);
            told.lines.push(format!("sent again: {again:?}"));
        }
        self.written(actor, what, Answer { run: run.filter(|_| !is_lost), is_lost }, at, without);
        true
    }

    /// What comes of a write that was carried out.
    fn written(&mut self, actor: Actor, what: What, answer: Answer, at: Time, without: Option<Mutant>) {
        let Answer { run, is_lost } = answer;
        match (actor, what) {
            (Actor::Claimer(host), What::Claim { task, lock, pid }) => {
                // Its fence counts from the look: what is claimed too late never begins.
                let is_late = self.now().since(at) >= TTL - MARGIN && pid.is_some();
                let Some(run) = run.filter(|_| !is_late || without == Some(Mutant::Lease)) else { return };
                let (task, now) = (TASKS[task].to_owned(), self.now());
                if let Some(pid) = pid {
                    let who = Who::Worker(task.clone(), run);
                    self.hosts[host].machine.settle(pid, who, false);
                }
                self.logs.insert(task.clone(), (host, LogEnd::NoEvidence, now));
                let has_harness = true;
                let w = Worker { task, run, host, lock, pid, has_harness, renewed: at, end: None };
                self.workers.push(w);
            }
            (Actor::Worker(run), What::Beat) if !is_lost => {
                self.workers.iter_mut().filter(|w| w.run == run).for_each(|w| w.renewed = at);
            }
            (Actor::Worker(run), What::Complete | What::Settle) if !is_lost => {
                let gone = self.worker(run).map(|w| (w.host, w.pid));
                self.workers.retain(|w| w.run != run);
                gone.into_iter().for_each(|(host, pid)| self.forget(host, pid));
            }
            (_, What::Word(word, task)) => {
                let id = TASKS[task].to_owned();
                match word {
                    Word::Block => drop(self.held.insert(id)),
                    Word::Unblock => drop(self.held.remove(&id)),
                    Word::NoHeal => drop(self.left_alone.insert(id)),
                    Word::Reassign => {}
                }
            }
            _ => {}
        }
    }

    fn write_pass(
        &mut self,
        program: Program,
        host: usize,
        (at, mut steps): (Time, Vec<Step>),
        without: Option<Mutant>,
        told: &mut Told,
    ) {
        let (config, mut moved) = (Config::default(), Vec::new());
        let all = self.attend(host, Duty::Looks).filter(|_| without != Some(Mutant::Back));
        let mut board = self.board.clone();
        let here = world::Here { state: self, host };
        if let Some(all) = all {
            steps = left_to_their_hosts(steps, &here, &all, config.host.gone_after, &mut moved);
        }
        let checked = Checked::of(steps, &here, self.now(), config.heal.orphan_wait);
        let (done, fault) = checked.apply(&mut board, at, Duration::ZERO, &mut || Ok(()));
        for (step, outcome) in moved.iter().chain(&done) {
            told.lines.push(format!(
                "{} {} of {}: {outcome:?}: {}",
                step.action, step.case, step.task, step.because
            ));
            if matches!(outcome, Outcome::Applied { .. }) {
                told.did.push(format!("{program:?} {} {}", step.action, step.case));
                told.rules.insert(step.task.clone(), step.case.to_string());
            } else {
                told.did.push(format!("{program:?} {}", outcome.word()));
            }
        }
        told.lines.extend(fault.map(|e| e.to_string()));
    }

    fn dies(&mut self, run: i64) -> bool {
        self.budget.faults -= 1;
        let Some(w) = self.worker(run).cloned() else { return false };
        self.forget(w.host, w.pid);
        self.workers.retain(|w| w.run != run);
        self.pending.remove(&Actor::Worker(run));
        true
    }

    /// Time passes: harnesses that reach the board beat, and those that do not stop their commands in time.
    fn jumps(&mut self, by: i64, without: Option<Mutant>) -> bool {
        self.budget.jumps -= 1;
        self.board.hosts_mut().now = self.now().plus(by);
        self.hosts.iter_mut().for_each(|h| h.machine.up += by);
        let now = self.now();
        for w in self.workers.clone() {
            let reaches = !self.hosts[w.host].is_cut;
            if !w.lives() {
                // It gives up where it cannot say how its command ended.
                if !reaches && by >= BUSY {
                    self.workers.retain(|other| other.run != w.run);
                    self.pending.remove(&Actor::Worker(w.run));
                }
                continue;
            }
            if w.pid.is_none() || !w.has_harness {
                continue;
            }
            let seen = if reaches { self.seen(&w.task) } else { None };
            let is_over = match &seen {
                Some(seen) if w.holds(seen) => {
                    // The lease of a host lasts from beat to beat, and the board hears of the worker.
                    self.attend(w.host, Duty::Works);
                    let changes = hermes::heartbeat(seen, now.plus(TTL), None);
                    let step = own_step(&w.task, seen, changes);
                    drop(self.board.clone().apply(now, &[step], Duration::ZERO));
                    self.workers.iter_mut().filter(|o| o.run == w.run).for_each(|o| o.renewed = now);
                    false
                }
                Some(_) => true,
                None => now.since(w.renewed) >= TTL - MARGIN && without != Some(Mutant::Lease),
            };
            if is_over {
                self.forget(w.host, w.pid);
                self.workers.retain(|other| other.run != w.run);
                self.pending.remove(&Actor::Worker(w.run));
            }
        }
        true
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |host: usize| shared::board::several_hosts::shown(HOSTS[host]);
        match *self {
            Act::Pass(Program::Heal, host) => write!(f, "heal looks on {}", name(host)),
            Act::Pass(Program::Route, host) => write!(f, "route-blocked looks on {}", name(host)),
            Act::Claim(host, task, true) => {
                write!(f, "a harness on {} looks at {}, to claim it", name(host), TASKS[task])
            }
            Act::Claim(host, task, false) => {
                write!(f, "an agent on {} looks at {}, to claim it by itself", name(host), TASKS[task])
            }
            Act::Beat(run) => write!(f, "the worker of run {run} looks, to beat"),
            Act::Complete(run) => write!(f, "the worker of run {run} looks, to complete its task"),
            Act::Ends(run, end) => write!(f, "the command of run {run} ends: {end:?}; its harness looks"),
            Act::Settles(run) => write!(f, "the harness of run {run} looks again"),
            Act::Says(word, task) => write!(f, "the operator looks at {}: {word:?}", TASKS[task]),
            Act::Write(actor) => write!(f, "{actor} writes"),
            Act::Lost(actor) => write!(f, "{actor} writes, and the answer is lost"),
            Act::Die(run) => write!(f, "the worker of run {run} dies, and its harness with it"),
            Act::Orphan(run) => write!(f, "the harness of run {run} is killed; its worker lives on"),
            Act::Cut(host) => write!(f, "{} is cut off from the board", name(host)),
            Act::Mend(host) => write!(f, "{} reaches the board again", name(host)),
            Act::Jump(by) => write!(f, "{by} s pass"),
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |host: usize| shared::board::several_hosts::shown(HOSTS[host]);
        match *self {
            Actor::Watcher(Program::Heal, host) => write!(f, "heal on {}", name(host)),
            Actor::Watcher(Program::Route, host) => write!(f, "route-blocked on {}", name(host)),
            Actor::Claimer(host) => write!(f, "who claims on {}", name(host)),
            Actor::Worker(run) => write!(f, "the worker of run {run}"),
            Actor::Operator => f.write_str("the operator"),
        }
    }
}
