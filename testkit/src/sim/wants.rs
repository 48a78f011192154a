//! What needs a person by the truth of a night, and whether the programs say so: `needs` is asked after every round as `check` and
//! `status` ask it, and held against what the night itself knows of its own script.
//!
//! The truth is kept where things happen: who was refused and why, whose question stands, which card nobody took since when, who
//! starts work and watchers. Of the board only what a row says now is read (its state, whom it is for, what it waits for), never the
//! events and notes that `needs` is made from.

mod ask;
mod reach;
pub(super) mod woes;

use std::collections::{BTreeMap, BTreeSet};

use shared::base::cause::Cause;
use shared::base::registry::HEAL;
use shared::base::time::Time;
use shared::board::{Change, Detail, EventKind, Status, Step, StepAction};
use shared::logs::usage::Usage;
use shared::ops::timers::WATCHED;
use shared::policy::UseAsk;
use shared::policy::clock::FUTURE;
use shared::policy::dispatcher::PASSED_OVER;

use super::Sim;
use super::hermes::PLACES;
use super::passes::Program;
use super::trials::{Dispatch, End};
use super::truth::{Job, PROFILES, Plan, Provider, Truth};
use crate::chance::Chance;

/// Seconds for which a card may wait for a worker that takes it: `routing.unclaimed`.
const UNCLAIMED: i64 = 1_800;
/// The same for an orchestrator that works on it.
const DECIDING: i64 = 4 * UNCLAIMED;
/// Seconds after which a dispatcher that does nothing is taken for none, and after which ready work would have been started.
const TICKED: i64 = 600;
/// The same for one that cron starts, while something runs.
const BUSY: i64 = 3_600;
/// Newest attempts by which the time between two of its ticks is told.
const STARTS: usize = 100;
/// Seconds after which a dispatcher that holds its lock is stuck in it.
const WEDGED: i64 = 300;
/// Seconds for which a task may stand still for a reason of its own, before the operator must hear of it.
const STILL: i64 = 2_700;
/// The same where a reset comes by itself: `heal.hold_max`, and a little.
const MAX_RESET: i64 = 7 * 3_600;
/// The same where nobody can tell that the worker of a running task is gone: six hours, and a little.
const UNKNOWN: i64 = 6 * 3_600 + 600;

/// What is said of the board or of everything, beside its tasks.
const BOARD: [&str; 4] = ["split", "dispatcher", "watchers", "clock"];

/// What a task or the whole board needs by the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    /// A worker blocked it with a question or the operator by hand, or a watcher gave it to the operator.
    Word,
    /// Its key is refused.
    Key,
    /// A quota or the money at its provider is used up.
    Quota,
    /// Nobody answers at its provider's address, for a quarter of an hour and in three attempts.
    Endpoint,
    /// Its card was taken by nobody for half an hour, is for a person by name, or is worked on for two hours.
    Card,
    /// It is ready for nobody who takes work.
    Nobodys,
    /// Its worker lives, does nothing more, and a person was told.
    Hung,
    /// Nothing starts ready work.
    Dispatcher,
    /// Watchers do not run, or fail.
    Watchers,
    /// The board is split.
    Split,
    /// It runs by its row, nothing works on it, and no program can tell.
    Deserted,
    /// It stands still, and nobody knows why.
    Still,
}

impl Need {
    pub(super) const ALL: [(Need, &'static str); 12] = [
        (Need::Word, "a word of a person"),
        (Need::Key, "a refused key"),
        (Need::Quota, "a used-up quota"),
        (Need::Endpoint, "an address where nobody answers"),
        (Need::Card, "a card that nobody took"),
        (Need::Nobodys, "ready for nobody"),
        (Need::Hung, "a living worker that does nothing"),
        (Need::Dispatcher, "no dispatcher, or a stuck one"),
        (Need::Watchers, "watchers that do not run or fail"),
        (Need::Split, "a split board"),
        (Need::Deserted, "a worker that is gone, and nobody can tell"),
        (Need::Still, "stands still for another reason"),
    ];
}

/// How it stands with one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stand {
    /// It needs a person. The number tells one episode from the next.
    Needs(Need, i64),
    /// Either answer is right.
    Either,
}

/// That a provider refused the newest attempt of a task, as its log tells.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Refused {
    profile: String,
    cause: Cause,
    run: i64,
}

/// What the night knows of that.
#[derive(Debug, Clone)]
pub(super) struct Wants {
    pub(super) on: bool,
    /// A chance of its own, so that a night that is not asked goes as ever.
    chance: Chance,
    /// Tasks that a worker blocked with a question, or the operator by hand.
    pub(super) asked: BTreeSet<String>,
    /// Tasks that one of us gave to a person.
    handed: BTreeSet<String>,
    /// Tasks that the operator put off, and those that watchers must always skip.
    put_off: BTreeSet<String>,
    opted_out: BTreeSet<String>,
    /// When a forged event last said something else than the row.
    forged: BTreeMap<String, i64>,
    /// Tasks that the operator reassigned while a watcher held them.
    given: BTreeSet<String>,
    refused: BTreeMap<String, Refused>,
    /// Tasks that one of us holds, with the cause and the second of the night.
    held: BTreeMap<String, (Option<Cause>, i64)>,
    /// By what a refusal concerns, a profile or a provider: the second of the newest one, as long as nothing worked there since.
    walls: BTreeMap<(Cause, String), i64>,
    /// Attempts that end now, and still had their task.
    pub(super) owned: BTreeSet<(String, i64)>,
    /// Attempts of which a person was told, and in which second.
    told: BTreeMap<String, (i64, i64)>,
    /// The same where another worker than the present one was told of.
    older: BTreeMap<String, (i64, i64)>,
    /// When each attempt began.
    began: BTreeMap<(String, i64), i64>,
    /// Tasks of whose refusal nobody can tell whether it still counts: the log tells of it or not, or the key was changed before
    /// any watcher noted it.
    doubted: BTreeSet<String>,
    /// The same of profiles and providers.
    unsure: BTreeSet<(Cause, String)>,
    /// Attempts that were refused again and again, and went on.
    pub(super) starved: BTreeSet<(String, i64)>,
    /// Who was answered and who was not, by provider.
    reach: reach::Reach,
    /// Whose each task was at the last look.
    assigned: BTreeMap<String, String>,
    /// By provider: with what an attempt there was last refused, as long as none worked there since.
    turned_away: BTreeMap<String, Cause>,
    /// When something last went on at a provider: a task was sent there, or an attempt runs or finished there.
    went: BTreeMap<String, i64>,
    /// Tasks that one of us tied to a card, with the cause.
    tied: BTreeMap<String, Option<Cause>>,
    /// When the operator or a watcher last wrote of a task.
    turned: BTreeMap<String, i64>,
    /// When the next start was last kept waiting by something else: no dispatcher, no place, no watchers.
    pub(super) halted: i64,
    /// When each card last came to wait for a worker.
    cards: BTreeMap<String, i64>,
    /// When each task last changed by its row, and how it stood.
    stood: BTreeMap<String, (String, i64)>,
    /// Tasks that run by their rows while nothing works on them: the attempt, and since when.
    deserted: BTreeMap<String, (Option<i64>, i64)>,
    /// The attempts that use more than they may.
    dear: BTreeSet<(String, Time)>,
    /// Since when nobody dispatches.
    pub(super) idle: Option<i64>,
    /// When a dispatcher that was away for hours is started again.
    away: Option<i64>,
    /// The dispatcher that hangs in its lock, from when and until when.
    stuck: Option<(i64, i64, i64)>,
    /// Until when the board is split, cron starts no watcher, a watcher cannot be started.
    split: Option<i64>,
    off: Option<i64>,
    failing: Option<(Program, i64)>,
    /// The last pass of each watcher: by both clocks, and how it ended.
    last: BTreeMap<Program, (Time, i64, u8)>,
    /// The latest that the wall clock ever showed.
    latest: Time,
    /// The same when it was last seen to be behind that.
    ahead: Time,
    /// Watchers whose pass came to its end since the last comparison.
    whole: BTreeSet<Program>,
    moved: u64,
    /// The second of the last comparison.
    looked: i64,
    /// Rounds in which all that act came to their end and nothing moved under them.
    rounds: u64,
    /// What was true, and what was said without being true, with the round in which that was first seen.
    open: BTreeMap<(String, Need, i64), u64>,
    /// Tasks that a watcher would act on with its next pass: no answer is wrong for that, nor for the next watcher's that follows
    /// from it.
    due: BTreeMap<(String, i64), u64>,
    untrue: BTreeMap<(String, String), u64>,
    /// The first need that nothing said, and how it came to that. A night goes on after it, so that all are counted.
    pub(super) missed: Option<(String, Vec<String>)>,
}

impl Wants {
    pub(super) fn new(seed: u64, on: bool) -> Wants {
        Wants {
            on,
            chance: Chance(seed ^ 0x6e65_6564_7300_0001),
            asked: BTreeSet::new(),
            handed: BTreeSet::new(),
            put_off: BTreeSet::new(),
            opted_out: BTreeSet::new(),
            forged: BTreeMap::new(),
            given: BTreeSet::new(),
            refused: BTreeMap::new(),
            held: BTreeMap::new(),
            walls: BTreeMap::new(),
            owned: BTreeSet::new(),
            told: BTreeMap::new(),
            older: BTreeMap::new(),
            began: BTreeMap::new(),
            doubted: BTreeSet::new(),
            unsure: BTreeSet::new(),
            starved: BTreeSet::new(),
            reach: reach::Reach::default(),
            assigned: BTreeMap::new(),
            turned_away: BTreeMap::new(),
            went: BTreeMap::new(),
            tied: BTreeMap::new(),
            turned: BTreeMap::new(),
            halted: i64::MIN,
            cards: BTreeMap::new(),
            stood: BTreeMap::new(),
            deserted: BTreeMap::new(),
            dear: BTreeSet::new(),
            idle: None,
            away: None,
            stuck: None,
            split: None,
            off: None,
            failing: None,
            last: BTreeMap::new(),
            latest: Time(0),
            ahead: Time(0),
            whole: BTreeSet::new(),
            moved: 0,
            looked: 0,
            rounds: 0,
            open: BTreeMap::new(),
            due: BTreeMap::new(),
            untrue: BTreeMap::new(),
            missed: None,
        }
    }

    /// When an attempt began.
    pub(super) fn began_at(&self, task: &str, run: i64) -> Option<i64> {
        self.began.get(&(task.to_owned(), run)).copied()
    }

    /// An attempt of a task died, be it with its machine: that tells nothing of an address.
    pub(super) fn died(&mut self, task: &str, run: i64) {
        self.reach.died(task, run);
    }

    /// The wall clock showed this, just before it was set: what was written meanwhile may look as if it were still to come.
    pub(super) fn sees_clock(&mut self, now: Time) {
        self.latest = self.latest.max(now);
    }

    /// The operator or an orchestrator changed it: whatever was wrong is to be seen anew.
    fn free(&mut self, task: &str) {
        for set in [&mut self.asked, &mut self.handed, &mut self.put_off, &mut self.doubted] {
            set.remove(task);
        }
        self.refused.remove(task);
        self.held.remove(task);
    }
}

/// Whether the dispatcher hangs.
pub(super) fn is_stuck(sim: &Sim) -> bool {
    sim.truth.borrow().wants.stuck.is_some()
}

/// What an attempt used: of most nobody tells.
pub(super) fn usage(truth: &Truth, ask: &UseAsk<'_>) -> Usage {
    match truth.wants.dear.contains(&(ask.task.to_owned(), ask.from)) {
        true => Usage { turns: Some(400), ..Usage::unknown("not told") },
        false => Usage::unknown("not told"),
    }
}

/// Whether a watcher can be started now.
pub(super) fn starts(sim: &Sim, program: Program) -> bool {
    let mut truth = sim.truth.borrow_mut();
    let (now, second) = (truth.now, truth.second);
    let wants = &mut truth.wants;
    if wants.off.is_some() {
        return false;
    }
    let exit = match () {
        () if wants.failing.is_some_and(|(p, _)| p == program) => 70,
        () if wants.split.is_some() => 65,
        () => return true,
    };
    wants.last.insert(program, (now, second, exit));
    false
}

/// A pass ended, or was killed: `is_whole` says which.
pub(super) fn passed(sim: &Sim, program: Program, is_whole: bool) {
    let mut truth = sim.truth.borrow_mut();
    let (now, second) = (truth.now, truth.second);
    if is_whole {
        truth.wants.last.insert(program, (now, second, 0));
        truth.wants.whole.insert(program);
    }
}

/// An attempt begins.
pub(super) fn begun(truth: &mut Truth, task: &str, run: i64, is_card: bool) {
    let (now, second) = (truth.now, truth.second);
    let wants = &mut truth.wants;
    wants.free(task);
    wants.cards.remove(task);
    wants.told.remove(task);
    wants.older.remove(task);
    wants.tied.remove(task);
    wants.began.insert((task.to_owned(), run), second);
    if wants.on && !is_card && wants.chance.percent(4) {
        wants.dear.insert((task.to_owned(), now));
        wants.reach.blur(task);
        truth.tell(|| format!("run {run} of {task} uses more than it may"));
    }
}

/// An attempt begins on another machine: what it shows of its key and its quota counts from here, as that of any other.
pub(super) fn begun_abroad(truth: &mut Truth, task: &str, run: i64) {
    let second = truth.second;
    truth.wants.began.insert((task.to_owned(), run), second);
}

/// An attempt came to its end.
pub(super) fn ended(truth: &mut Truth, job: &Job) {
    let second = truth.second;
    let provider = truth.provider_of(&job.profile).map(|p| p.name.to_owned()).unwrap_or_default();
    let is_known = matches!(truth.trials.ends.get(&(job.task.clone(), job.run)), Some((End::Refused, _)));
    reach::ended(truth, job, &provider, is_known);
    let wants = &mut truth.wants;
    wants.cards.insert(job.task.clone(), second);
    wants.went.insert(provider.clone(), second);
    match job.plan {
        Plan::Refused(cause) | Plan::Starve(cause) => {
            wants.turned_away.insert(provider.clone(), cause);
        }
        Plan::Finish | Plan::Decide => drop(wants.turned_away.remove(&provider)),
        _ => {}
    }
    // What a worker writes of its own end, and what that frees, looks like a dispatcher's work.
    wants.idle = wants.idle.map(|_| second);
    match job.plan {
        Plan::Refused(cause @ (Cause::Credential | Cause::Quota)) if is_known => {
            let of = if cause == Cause::Credential { job.profile.clone() } else { provider };
            wants.walls.insert((cause, of), second);
            let refused = Refused { profile: job.profile.clone(), cause, run: job.run };
            if wants.owned.remove(&(job.task.clone(), job.run)) {
                wants.refused.insert(job.task.clone(), refused);
            }
        }
        Plan::Refused(Cause::Credential | Cause::Quota) | Plan::Starve(_) => {
            wants.doubted.insert(job.task.clone());
            wants.unsure.extend([(Cause::Credential, job.profile.clone()), (Cause::Quota, provider)]);
        }
        // What began before that shows nothing.
        Plan::Finish | Plan::Decide => {
            let began = wants.began.get(&(job.task.clone(), job.run)).copied().unwrap_or(i64::MIN);
            let is_plain = !wants.starved.contains(&(job.task.clone(), job.run));
            for wall in [(Cause::Credential, job.profile.clone()), (Cause::Quota, provider)] {
                if !is_plain {
                    wants.unsure.insert(wall);
                } else if wants.walls.get(&wall).is_none_or(|at| began >= *at) {
                    wants.walls.remove(&wall);
                    wants.unsure.remove(&wall);
                }
            }
        }
        _ => {}
    }
}

/// A person touched a task, in one of the ways of `upheaval::person`.
pub(super) fn touched(truth: &mut Truth, task: &str, way: u64) {
    let second = truth.second;
    let wants = &mut truth.wants;
    if let Some(since) = wants.cards.get_mut(task).filter(|_| way != 8) {
        *since = second;
    }
    wants.turned.insert(task.to_owned(), second);
    match way {
        7 => drop(wants.put_off.insert(task.to_owned())),
        8 => drop(wants.opted_out.insert(task.to_owned())),
        // Forged words change nothing.
        9 | 10 => drop(wants.forged.insert(task.to_owned(), second)),
        6 => {
            wants.free(task);
            wants.idle = wants.idle.map(|_| second);
        }
        // Reassigning lifts no block and ends no hold.
        3 | 4 => {
            wants.refused.remove(task);
            wants.given.extend(wants.held.contains_key(task).then(|| task.to_owned()));
        }
        _ => wants.free(task),
    }
}

/// The operator or an orchestrator requeued or released a task by command line.
pub(super) fn freed(truth: &mut Truth, task: &str) {
    let second = truth.second;
    let wants = &mut truth.wants;
    wants.free(task);
    // A card that is requeued or released waits from then on.
    if let Some(since) = wants.cards.get_mut(task) {
        *since = second;
    }
}

/// Another key was put into a profile's configuration.
pub(super) fn mended(truth: &mut Truth, profile: &str) {
    let wants = &mut truth.wants;
    wants.walls.remove(&(Cause::Credential, profile.to_owned()));
    let (mended, refused): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut wants.refused)
        .into_iter()
        .partition(|(_, r)| r.cause == Cause::Credential && r.profile == profile);
    wants.refused = refused;
    let is_noted = |task: &String| wants.held.contains_key(task) || wants.tied.contains_key(task);
    let unnoted: Vec<String> = mended.into_keys().filter(|task| !is_noted(task)).collect();
    if !unnoted.is_empty() {
        wants.unsure.insert((Cause::Credential, profile.to_owned()));
    }
    wants.doubted.extend(unnoted);
}

/// All that only a person mends outside of the board is mended.
pub(super) fn calm(truth: &mut Truth) {
    let wants = &mut truth.wants;
    (wants.stuck, wants.split, wants.off, wants.failing, wants.away) = (None, None, None, None, None);
}

/// A step of one of us was applied.
pub(super) fn applied(truth: &mut Truth, by: &str, step: &Step) {
    let second = truth.second;
    let run = truth.jobs.iter().find(|j| j.task == step.task).map(|j| j.run);
    let sent = sent_to(truth, step);
    let wants = &mut truth.wants;
    if !wants.on {
        return;
    }
    let task = &step.task;
    wants.went.extend(sent.map(|provider| (provider, second)));
    wants.turned.insert(task.clone(), second);
    if by == HEAL && step.cause == Some(Cause::ConnectionRefused) {
        wants.reach.noted(task);
    }
    if step.changes.iter().any(|c| matches!(c, Change::Link { .. } | Change::AddAnother { .. })) {
        wants.tied.insert(task.clone(), step.cause);
    }
    for change in &step.changes {
        match change {
            Change::SetStatus(Status::Blocked) => {
                let word = |c: &Change| matches!(c, Change::AddEvent { kind: EventKind::Blocked, .. });
                let is_given = step.changes.iter().any(word);
                wants.handed.extend(is_given.then(|| task.clone()));
            }
            Change::SetStatus(Status::Scheduled) => {
                wants.held.insert(task.clone(), (step.cause, second));
            }
            Change::SetStatus(_) | Change::Assign(_) => {
                wants.held.remove(task);
                wants.refused.remove(task);
            }
            Change::AddEvent { payload, .. } if by == HEAL && step.action == StepAction::Tell => {
                let key = payload.get("key").and_then(|k| k.as_str()).unwrap_or_default();
                if payload.get("over").is_none() {
                    let told = if key.starts_with("health:") { &mut wants.told } else { &mut wants.older };
                    told.extend(run.map(|run| (task.clone(), (run, second))));
                }
            }
            _ => {}
        }
    }
    let moves = |c: &Change| matches!(c, Change::SetStatus(_) | Change::Assign(_) | Change::AddTask { .. });
    if step.changes.iter().any(moves) {
        wants.cards.insert(task.clone(), second);
    }
    for c in &step.changes {
        if let Change::AddAnother { id, .. } = c {
            wants.cards.insert(id.clone(), second);
        }
    }
}

/// Where a step sends its task.
fn sent_to(truth: &Truth, step: &Step) -> Option<String> {
    let is_sent = matches!(
        step.action,
        StepAction::Move | StepAction::Release | StepAction::Probe | StepAction::Resume
    );
    let assigned = step.changes.iter().find_map(|c| match c {
        Change::Assign(name) => name.clone(),
        _ => None,
    });
    let profile = assigned.or_else(|| truth.wants.assigned.get(&step.task).cloned())?;
    truth.provider_of(&profile).filter(|_| is_sent).map(|p| p.name.to_owned())
}

/// Another actor did what a dispatcher does.
pub(super) fn ticked(truth: &mut Truth) {
    let second = truth.second;
    truth.wants.idle = truth.wants.idle.map(|_| second);
}

/// Asks what needs a person, and holds the answer against the truth.
pub(super) fn compare(sim: &Sim) {
    if !sim.truth.borrow().wants.on || sim.is_broken() {
        return;
    }
    count_round(sim);
    let all = sim.all();
    note(sim, &all);
    let truth = stands(sim, &all);
    let (named, due) = match ask::named(sim) {
        Ok(named) => named,
        Err(e) => return sim.broken(|| format!("what needs a person cannot be asked: {e}")),
    };
    hold_against(sim, &truth, &named, &due);
}

/// Counts the round that was just made, where it was a whole one.
fn count_round(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    let (moved, clock_set, second) = (truth.tally.moved, truth.clock_set, truth.second);
    let wants = &mut truth.wants;
    let acts = [Program::Heal, Program::Distress, Program::Route];
    // A pass that finds that the clock was set decides nothing.
    let is_set = clock_set >= wants.looked;
    let is_whole = acts.iter().all(|p| wants.whole.contains(p)) && wants.moved == moved && !is_set;
    wants.rounds += u64::from(is_whole);
    (wants.moved, wants.whole, wants.looked) = (moved, BTreeSet::new(), second);
}

/// What of the rows is new since the last look.
fn note(sim: &Sim, all: &BTreeMap<String, Detail>) {
    let mut truth = sim.truth.borrow_mut();
    let (second, now) = (truth.second, truth.now);
    let nobody = truth.dispatcher.is_none();
    let names = |profile: &str| truth.provider_of(profile).map(|p| p.name.to_owned());
    let at_work: Vec<String> = truth.jobs.iter().filter_map(|j| names(&j.profile)).collect();
    let works =
        |id: &&String| truth.jobs.iter().any(|j| j.task == **id) || !truth.machine.workers_of(id).is_empty();
    let busy: BTreeSet<&String> = all.keys().filter(works).collect();
    reach::note(&mut truth);
    let wants = &mut truth.wants;
    wants.sees_clock(now);
    wants.ahead = if now < wants.latest { wants.latest } else { wants.ahead };
    wants.idle = if nobody { wants.idle.or(Some(second)) } else { None };
    wants.went.extend(at_work.into_iter().map(|provider| (provider, second)));
    let owned = |(id, d): (&String, &Detail)| Some((id.clone(), d.task.assignee.clone()?));
    wants.assigned = all.iter().filter_map(owned).collect();
    if nobody || wants.stuck.is_some() || wants.off.is_some() || wants.failing.is_some() {
        wants.halted = second;
    }
    for (id, d) in all {
        let t = &d.task;
        let how =
            format!("{} {:?} {:?} {:?} {}", t.status, t.assignee, t.claim_lock, t.current_run, d.runs.len());
        match wants.stood.get_mut(id) {
            // Who is asked about it may move it.
            Some((before, at)) if *before != how || !d.cards.is_empty() => (*before, *at) = (how, second),
            Some(_) => {}
            None => drop(wants.stood.insert(id.clone(), (how, second))),
        }
        match wants.deserted.get(id) {
            _ if t.status != Status::Running || busy.contains(id) => drop(wants.deserted.remove(id)),
            Some((run, _)) if *run == t.current_run => {}
            _ => drop(wants.deserted.insert(id.clone(), (t.current_run, second))),
        }
        if t.status != Status::Blocked {
            wants.asked.remove(id);
            wants.handed.remove(id);
        }
        if t.status != Status::Scheduled {
            wants.held.remove(id);
            wants.given.remove(id);
        }
        match t.status {
            Status::Ready if t.is_card() => drop(wants.cards.entry(id.clone()).or_insert(second)),
            _ => drop(wants.cards.remove(id)),
        }
    }
}

fn is_over(d: &Detail) -> bool {
    matches!(d.task.status, Status::Done | Status::Archived)
}

fn is_profile(name: Option<&str>) -> bool {
    PROFILES.iter().any(|(p, _, _)| Some(*p) == name)
}

/// What is true of every task, and of the board.
fn stands(sim: &Sim, all: &BTreeMap<String, Detail>) -> BTreeMap<String, Stand> {
    let truth = sim.truth.borrow();
    let mut stands: BTreeMap<String, Stand> = BTreeMap::new();
    for (id, d) in all.iter().filter(|(_, d)| !is_over(d) && !d.task.is_card()) {
        let stand = of_task(&truth, all, d).or_else(|| of_lasting_card(&truth, all, d));
        let stand = stand.or_else(|| is_walled(&truth, all, d).then_some(Stand::Either));
        stands.extend(stand.map(|s| (id.clone(), s)));
    }
    stands.extend(of_board(&truth, all));
    // Nothing is known of tasks where nobody can look, or while the clock lies.
    if is_behind(&truth) || truth.wants.split.is_some() {
        for stand in all.iter().filter(|(_, d)| !d.task.is_card()).map(|(id, _)| id) {
            stands.insert(stand.clone(), Stand::Either);
        }
    }
    stands
}

/// Whether the wall clock was set back, and does not show yet what it showed before.
fn is_behind(truth: &Truth) -> bool {
    truth.wants.latest.since(truth.now) > FUTURE
}

/// What stops the board, or everything.
fn of_board(truth: &Truth, all: &BTreeMap<String, Detail>) -> Vec<(String, Stand)> {
    let split = truth.wants.split.map(|_| ("split", Stand::Needs(Need::Split, 0)));
    let all = [
        split,
        of_dispatcher(truth, all).map(|s| ("dispatcher", s)),
        of_watchers(truth).map(|s| ("watchers", s)),
        // Whether an event was written by the clock that was ahead, the board alone tells.
        is_behind(truth).then_some(("clock", Stand::Either)),
    ];
    all.into_iter().flatten().map(|(what, stand)| (what.to_owned(), stand)).collect()
}

/// A dispatcher that is stuck, or none for a while and ready work for one. Either answer is right as long as it may come back, and
/// where the clock was set meanwhile: when it last did something is known by that clock alone.
fn of_dispatcher(truth: &Truth, all: &BTreeMap<String, Detail>) -> Option<Stand> {
    let (wants, second) = (&truth.wants, truth.second);
    if let Some((_, since, _)) = wants.stuck.filter(|(pid, _, _)| Some(*pid) == truth.dispatcher) {
        let is_long = second - since >= WEDGED;
        return Some(if is_long { Stand::Needs(Need::Dispatcher, since) } else { Stand::Either });
    }
    // What was written by a clock that was ahead looks new for long.
    if truth.now.since(wants.ahead) < BUSY {
        return Some(Stand::Either);
    }
    let Some(since) = wants.idle else {
        // By one that was behind everything is long ago.
        return (truth.clock_set > second - BUSY).then_some(Stand::Either);
    };
    let is_cron = truth.trials.dispatch == Dispatch::CommandLine;
    let cadence = if is_cron { cadence(all) } else { TICKED };
    let waits = |d: &Detail| {
        d.task.status == Status::Ready
            && is_profile(d.task.assignee.as_deref())
            && d.task.claim_lock.is_none()
            && truth.now.since(d.task.created_at) > cadence
            && !d.task.is_card()
            && wants.turned.get(&d.task.id).is_none_or(|at| second - at > cadence)
            && wants.stood.get(&d.task.id).is_some_and(|(_, at)| second - at >= cadence)
    };
    // Of one that cron starts nobody can tell that it is gone as long as something runs, but by its silence.
    let runs = all.values().any(|d| d.task.status == Status::Running);
    let patience = if runs && is_cron { BUSY } else { cadence };
    let is_long = second - since > patience && all.values().any(waits) && truth.clock_set < since;
    Some(if is_long { Stand::Needs(Need::Dispatcher, since) } else { Stand::Either })
}

/// For how long a dispatcher that cron starts may leave ready work: twice the time between its ticks, which the shortest quarter of the
/// times between starts tells.
fn cadence(all: &BTreeMap<String, Detail>) -> i64 {
    let mut runs: Vec<(i64, i64)> =
        all.values().flat_map(|d| &d.runs).map(|run| (run.id, run.started_at.0)).collect();
    runs.sort_unstable();
    let mut at: Vec<i64> = runs.iter().rev().take(STARTS).map(|(_, at)| *at).collect();
    at.sort_unstable();
    let mut gaps: Vec<i64> = at.windows(2).map(|two| two[1] - two[0]).filter(|gap| *gap > 60).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 4).map_or(TICKED, |gap| (gap * 2).clamp(TICKED, BUSY))
}

/// A watcher whose last start failed, or whose next pass is late by three. The record of a pass tells by the clock.
fn of_watchers(truth: &Truth) -> Option<Stand> {
    let second = truth.second;
    let of_one = |(program, w): (Program, shared::ops::timers::Watched)| {
        let (at, last, exit) = truth.wants.last.get(&program)?;
        let clock_moved = (truth.now.since(*at) - (second - last)).abs() > 5;
        match () {
            () if clock_moved => Some(Stand::Either),
            () if *exit != 0 || second - last > w.overdue() => Some(Stand::Needs(Need::Watchers, 0)),
            () => None,
        }
    };
    Program::ALL.into_iter().zip(WATCHED).filter_map(of_one).max_by_key(|s| *s != Stand::Either)
}

/// The open cards of a task.
fn cards_of<'a>(all: &'a BTreeMap<String, Detail>, d: &Detail) -> Vec<&'a Detail> {
    let parents = d.parents.iter().filter_map(|p| all.get(&p.id));
    let parents = parents.filter(|p| p.task.is_card() && !is_over(p));
    parents.chain(d.cards.iter().filter_map(|c| all.get(c))).collect()
}

/// Whether its card is for who was refused a key or a quota: since when nobody else decides, is for the programs to say.
fn is_walled(truth: &Truth, all: &BTreeMap<String, Detail>, d: &Detail) -> bool {
    let is_refused = |card: &&Detail| {
        let who = card.task.assignee.clone().unwrap_or_default();
        let provider = truth.provider_of(&who).map(|p| p.name.to_owned()).unwrap_or_default();
        let walls = [(Cause::Credential, who), (Cause::Quota, provider)];
        walls.iter().any(|wall| truth.wants.walls.contains_key(wall) || truth.wants.unsure.contains(wall))
    };
    cards_of(all, d).iter().any(is_refused)
}

/// What a task needs that waits only for a card on which a worker works for hours. Of several cards nobody looks at more than one, and
/// since when it is worked on is known by the clock.
fn of_lasting_card(truth: &Truth, all: &BTreeMap<String, Detail>, d: &Detail) -> Option<Stand> {
    let wants = &truth.wants;
    let runs: BTreeMap<&String, &Detail> =
        cards_of(all, d).into_iter().map(|card| (&card.task.id, card)).collect();
    let of_one = |card: &&Detail| {
        let run = card.task.current_run.filter(|_| card.task.status == Status::Running)?;
        let began = wants.began_at(&card.task.id, run).unwrap_or(truth.second);
        let is_told = wants.told.contains_key(&card.task.id) || wants.older.contains_key(&card.task.id);
        match () {
            () if is_told || truth.clock_set >= began || runs.len() > 1 => Some(Stand::Either),
            () if truth.second - began >= DECIDING => Some(Stand::Needs(Need::Card, began)),
            () => None,
        }
    };
    runs.values().find_map(of_one)
}

/// What a task needs.
fn of_task(truth: &Truth, all: &BTreeMap<String, Detail>, d: &Detail) -> Option<Stand> {
    let (wants, second) = (&truth.wants, truth.second);
    let (id, t) = (&d.task.id, &d.task);
    let needs = |need, episode| Some(Stand::Needs(need, episode));
    let cards = cards_of(all, d);
    let waits =
        d.parents.iter().any(|p| !p.status.frees_children() && !cards.iter().any(|c| c.task.id == p.id));
    if [&wants.put_off, &wants.opted_out, &wants.given].iter().any(|all| all.contains(id)) {
        return Some(Stand::Either);
    }
    for card in &cards {
        let since = wants.cards.get(&card.task.id).copied().unwrap_or(second);
        let is_ready = card.task.status == Status::Ready;
        if is_ready && !is_profile(card.task.assignee.as_deref()) {
            return needs(Need::Card, since);
        }
        if is_ready && truth.clock_set >= since {
            return Some(Stand::Either);
        }
        if is_ready && second - since >= UNCLAIMED {
            // A dispatcher that has no place for it takes it in its turn.
            let is_in_turn = wants.halted > second - TICKED && second - since < PASSED_OVER;
            if is_in_turn {
                return Some(Stand::Either);
            }
            return needs(Need::Card, since);
        }
    }
    // A dispatcher may take that word for true, and sets it free then.
    let is_believed = |at: &i64| {
        let ticks = wants.idle.is_some_and(|since| second - since < TICKED);
        second - at < STILL || truth.clock_set >= *at || ticks || wants.halted > second - TICKED / 2
    };
    if t.status == Status::Blocked && wants.forged.get(id).is_some_and(is_believed) {
        return Some(Stand::Either);
    }
    if t.status == Status::Blocked && wants.asked.contains(id) {
        return if cards.is_empty() { needs(Need::Word, 0) } else { Some(Stand::Either) };
    }
    if t.status == Status::Blocked && wants.handed.contains(id) {
        return if cards.is_empty() { needs(Need::Word, 1) } else { Some(Stand::Either) };
    }
    if let Some(stand) = reach::of_task(truth, all, d, &cards) {
        return Some(stand);
    }
    if t.status == Status::Running {
        let told = wants.told.get(id).copied();
        let lives = |run: i64| {
            let hangs = |j: &Job| j.task == *id && j.run == run && j.plan == Plan::Hang;
            t.current_run == Some(run) && truth.jobs.iter().any(hangs)
        };
        if let Some((run, at)) = told.filter(|(run, _)| lives(*run)) {
            // How long it was silent nobody can tell once the clock was set.
            let set = truth.clock_set >= at;
            return if set { Some(Stand::Either) } else { needs(Need::Hung, run) };
        }
        // That an older one is gone, nobody may be able to tell.
        let older = wants.older.contains_key(id);
        let has_worker = !truth.machine.workers_of(id).is_empty() || told.is_some() || older;
        return if has_worker { Some(Stand::Either) } else { deserted(truth, id) };
    }
    let profile = t.assignee.clone().unwrap_or_default();
    let provider = truth.provider_of(&profile).map(|p| p.name.to_owned()).unwrap_or_default();
    if let Some(r) = wants.refused.get(id).filter(|r| r.profile == profile) {
        let need = if r.cause == Cause::Credential { Need::Key } else { Need::Quota };
        // Its card may be about something else, and the decision on it comes first.
        let held = wants.held.get(id).map(|(cause, _)| *cause);
        let cause = held.or(wants.tied.get(id).copied()).flatten();
        let is_asked = !cards.is_empty() && cause != Some(r.cause);
        // A later attempt was answered: the task goes on with the same key in its turn.
        let of = if r.cause == Cause::Credential { &profile } else { &provider };
        let is_over = !wants.walls.contains_key(&(r.cause, of.clone()));
        // The claimer of a ready task may be about to start it: every watcher skips the task until the claim expires.
        let is_claimed = t.claim_lock.is_some() && t.claim_expires.is_some_and(|at| at >= truth.now);
        let is_over = is_over || works_again(truth, r.cause, of);
        let is_either = is_asked || is_over || is_claimed || is_on_its_way(truth, d, &profile);
        return if is_either { Some(Stand::Either) } else { needs(need, r.run) };
    }
    if wants.doubted.contains(id) {
        return Some(Stand::Either);
    }
    let wall = |cause, of: &str| wants.walls.contains_key(&(cause, of.to_owned()));
    if let Some((Some(cause @ (Cause::Credential | Cause::Quota)), at)) = wants.held.get(id) {
        let of = if *cause == Cause::Credential { &profile } else { &provider };
        let need = if *cause == Cause::Credential { Need::Key } else { Need::Quota };
        let is_unsure = wants.unsure.contains(&(*cause, of.clone()));
        // An attempt that goes on though it is refused again and again shows it before any ended on it.
        let refuses = truth.provider_of(&profile).and_then(|p| p.refuses);
        let is_so = refuses.is_some_and(|(with, _)| with == *cause);
        return match wall(*cause, of) {
            _ if is_on_its_way(truth, d, &profile) || works_again(truth, *cause, of) => Some(Stand::Either),
            true if !is_unsure => needs(need, *at),
            _ => (is_unsure || is_so).then_some(Stand::Either),
        };
    }
    if t.status == Status::Ready && !waits && !is_profile(t.assignee.as_deref()) {
        return needs(Need::Nobodys, 0);
    }
    if wall(Cause::Credential, &profile) || wall(Cause::Quota, &provider) {
        return Some(Stand::Either);
    }
    still(truth, d, waits, &cards)
}

/// A task that runs by its row while nothing works on it. Where its pid is another process now, or its host has another name, no program may say
/// that its worker is gone, and Hermes keeps its claim as long as that pid lives: it stands still until a person looks. To say so is right
/// once it stood still for as long as any other task may; it must be said after the six hours of silence for which the programs wait. Once it can
/// be told again, a watcher takes it back in two passes: as long as it is at that, either answer is right.
fn deserted(truth: &Truth, id: &str) -> Option<Stand> {
    let (run, since) = *truth.wants.deserted.get(id)?;
    let began = run.and_then(|run| truth.wants.began_at(id, run)).unwrap_or(since);
    match truth.second - since {
        gone if gone < STILL => None,
        // How long it was silent nobody can tell once the clock was set.
        gone if gone < UNKNOWN || truth.clock_set >= began => Some(Stand::Either),
        _ if truth.wants.turned.get(id).is_some_and(|at| truth.second - at < TICKED) => Some(Stand::Either),
        _ => Some(Stand::Needs(Need::Deserted, since)),
    }
}

/// Whether an attempt that began after the newest refusal has worked for long and is answered, with that key or at that provider: what waits
/// there goes on in its turn. The entry in `walls` is removed when that attempt ends.
fn works_again(truth: &Truth, cause: Cause, of: &str) -> bool {
    let Some(refused) = truth.wants.walls.get(&(cause, of.to_owned())) else { return false };
    let is_there = |j: &Job| match cause {
        Cause::Credential => j.profile == of,
        _ => truth.provider_of(&j.profile).is_some_and(|p| p.name == of),
    };
    let works = |j: &&Job| {
        let began = truth.wants.began.get(&(j.task.clone(), j.run)).copied().unwrap_or(truth.second);
        let key = (j.task.clone(), j.run);
        let is_answered =
            matches!(j.plan, Plan::Finish | Plan::Decide) && !truth.wants.starved.contains(&key);
        is_answered && began >= *refused && truth.second - began >= reach::WORKED
    };
    truth.jobs.iter().filter(|j| is_there(j)).any(|j| works(&j))
}

/// Whether a task whose key or quota is refused may be on its way to another profile that works, in its turn: it goes there without
/// the operator, as long as something goes on there. Whether it is its turn is for the programs to say, and so either answer is right.
fn is_on_its_way(truth: &Truth, d: &Detail, profile: &str) -> bool {
    if !truth.trials.has_fallbacks {
        return false;
    }
    let of = PROFILES.iter().find(|(name, _, _)| *name == profile).map_or(&[][..], |(_, _, to)| to);
    // That one refuses too, nobody can know who was not refused there; that nobody answered once tells nothing of that.
    let is_known = |p: &Provider, cause| {
        let last = truth.wants.turned_away.get(p.name);
        last.is_some_and(|last| *last == cause || *last != Cause::ConnectionRefused)
    };
    let works = |name: &&&str| {
        let provider = truth.provider_of(name);
        let key = truth.trials.is_refused(name).then_some(Cause::Credential);
        let is_free = provider.is_some_and(|p| {
            let mut refuses = p.refuses.map(|(cause, _)| cause).into_iter().chain(key);
            refuses.all(|cause| !is_known(p, cause))
        });
        let went = provider.and_then(|p| truth.wants.went.get(p.name));
        is_free && went.is_some_and(|at| truth.second - at < UNCLAIMED)
    };
    d.task.claim_lock.is_none() && of.iter().any(|name| works(&name))
}

/// A task that stands still for long, and for no reason that ends by itself.
fn still(truth: &Truth, d: &Detail, waits: bool, cards: &[&Detail]) -> Option<Stand> {
    let (wants, second) = (&truth.wants, truth.second);
    let (_, since) = wants.stood.get(&d.task.id)?;
    let is_full =
        d.task.status == Status::Ready && truth.jobs.iter().filter(|j| j.pid.is_some()).count() >= PLACES;
    // A claim that leaked is heal's to take away, and nothing tells since when it is there.
    let is_leak = d.task.status == Status::Ready && d.task.claim_lock.is_some();
    // What was made as held has an end by another law.
    if is_leak || d.task.status == Status::Scheduled && !wants.held.contains_key(&d.task.id) {
        return Some(Stand::Either);
    }
    if waits || is_full || !cards.is_empty() || wants.held.contains_key(&d.task.id) {
        return None;
    }
    // Whom an attempt died under, and what failed, heal takes up again after a while.
    let is_reset = d.task.status == Status::Blocked && d.task.failures > 0;
    let still = if is_reset { MAX_RESET } else { STILL };
    let turned = wants.turned.get(&d.task.id).unwrap_or(since);
    let stood = second - since.max(turned).max(&wants.halted);
    match () {
        () if stood >= still => Some(Stand::Needs(Need::Still, *since)),
        () if second - since >= STILL / 3 || d.task.status == Status::Blocked => Some(Stand::Either),
        () => None,
    }
}

/// Counts what is missed and what is said without need.
fn hold_against(
    sim: &Sim,
    stands: &BTreeMap<String, Stand>,
    named: &BTreeMap<String, String>,
    due: &BTreeSet<String>,
) {
    let mut truth = sim.truth.borrow_mut();
    let Truth { wants, tally, .. } = &mut *truth;
    tally.needs.rounds += 1;
    let (rounds, looks) = (wants.rounds, tally.needs.rounds);
    // What stops passes is said without any.
    let round = |subject: &str| if BOARD.contains(&subject) { looks } else { rounds };
    // Whatever was done with it, the next step may be another watcher's.
    let turned = |task: &str| wants.turned.get(task).copied().unwrap_or(0);
    let acts = due.iter().map(|task| (task.clone(), turned(task)));
    wants.due = first_seen(&wants.due, acts, |_| rounds);
    let waited = wants.due.iter().filter(|(_, first)| rounds <= **first + 1);
    let waited: BTreeSet<String> = waited.map(|((task, _), _)| task.clone()).collect();
    let needs = stands.iter().filter_map(|(subject, stand)| match stand {
        Stand::Needs(need, episode) => Some((subject.clone(), *need, *episode)),
        Stand::Either => None,
    });
    wants.open = first_seen(&wants.open, needs, |(subject, _, _)| round(subject));
    let untrue = named.iter().filter(|(subject, _)| !stands.contains_key(*subject));
    let untrue = untrue.map(|(subject, cause)| (subject.clone(), cause.clone()));
    wants.untrue = first_seen(&wants.untrue, untrue, |(subject, _)| round(subject));
    tally.needs.said += named.len() as u64;
    let lasts = wants.untrue.iter().filter(|((subject, _), first)| round(subject) > **first);
    tally.needs.untrue += lasts.count() as u64;
    let mut missed = None;
    for ((subject, need, _), first) in &wants.open {
        tally.needs.needed[*need as usize] += 1;
        if round(subject) > *first && !waited.contains(subject) && !named.contains_key(subject) {
            tally.needs.missed[*need as usize] += 1;
            missed = missed.or(Some(format!("{subject} needs a person ({need:?}), and nothing says so")));
        }
    }
    if let Some(what) = missed.filter(|_| wants.missed.is_none()) {
        truth.tell(|| format!("BROKEN: {what}"));
        let story = truth.story.iter().cloned().collect();
        truth.wants.missed = Some((what, story));
    }
}

/// Each with the round in which it was first seen without a break.
fn first_seen<K: Ord>(
    before: &BTreeMap<K, u64>,
    now: impl Iterator<Item = K>,
    round: impl Fn(&K) -> u64,
) -> BTreeMap<K, u64> {
    let first = |k: K| {
        let first = before.get(&k).copied().unwrap_or_else(|| round(&k));
        (k, first)
    };
    now.map(first).collect()
}
