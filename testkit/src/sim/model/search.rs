//! Every order of steps to a depth: depth first, deeper and deeper, so that the first fault that is found has the shortest story. A state
//! that was seen with as many steps left is not searched again.
//!
//! It is a hundred lines of our own and not the crate `stateright`: that wants states that threads share and that can be hashed, and a board in
//! memory, whose clones are connections to the same rows, is neither; and it brings a web server.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::{self, Write};
use std::hash::Hasher;
use std::time::Instant;

use shared::board::{Event, EventKind};

use super::{Act, Actor, End, JUMPS, Mutant, Program, SCOPE, State, Told, Word, calm, laws};

/// What is searched, and how far.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    /// Steps after each start.
    pub depth: u8,
    /// The only start, by its place among all of them; `None`: each.
    pub from: Option<usize>,
    /// When it stops at the latest.
    pub until: Option<Instant>,
    /// A guard that is left out.
    pub without: Option<Mutant>,
    /// Of one in so many states it is tried what it comes to; 0: of none.
    pub calm: u64,
}

/// What was searched.
#[derive(Debug, Clone, Default)]
pub struct Sum {
    /// The depth that was searched to its end.
    pub depth: u8,
    /// Different states, at that depth.
    pub unique: u64,
    /// Steps that were taken, at that depth.
    pub steps: u64,
    /// Each depth that was searched to its end: states, steps, and seconds since the beginning.
    pub depths: Vec<(u8, u64, u64, u64)>,
    /// What watchers did at that depth, and what they were refused.
    pub did: BTreeMap<String, u64>,
    /// How the tasks of so many states ended.
    pub calmed: u64,
    /// By the name of the end.
    pub ends: BTreeMap<&'static str, u64>,
    /// The first fault.
    pub found: Option<Found>,
    /// It was stopped before it reached its depth.
    pub is_stopped: bool,
}

/// A fault, and how it comes to that.
#[derive(Debug, Clone)]
pub struct Found {
    /// What is wrong.
    pub what: String,
    /// Each step.
    pub story: Vec<String>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        self.story.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// The states that are searched from: what it takes many steps to come to is where the others begin.
fn starts() -> Vec<(&'static str, State)> {
    let (heal, claimer) = (|host| Act::Pass(Program::Heal, host), |host| Act::Write(Actor::Claimer(host)));
    let claimed = [Act::Claim(0, 0, true), claimer(0)];
    let leased = [Act::Claim(1, 0, false), claimer(1)];
    let both = [heal(0), heal(1)];
    let said = |word| [Act::Says(word, 0), Act::Write(Actor::Operator)];
    let [short, long] = JUMPS.map(Act::Jump);
    let of = |name, is_behind, acts: &[&[Act]]| {
        let mut state = State::new(is_behind);
        for act in acts.iter().flat_map(|part| part.iter()) {
            let next = state.act(*act, None, &mut Told::default());
            assert!(next.is_some(), "{name}: nothing comes of it that {act}");
            state = next.unwrap_or(state);
        }
        // The faults and the words of a start are its own.
        state.budget = SCOPE;
        (name, state)
    };
    vec![
        of("two free tasks", false, &[]),
        of("the second task waits for the first", true, &[]),
        of("harbour works on the first task", true, &[&claimed, &both]),
        of("its worker died a while ago", false, &[&claimed, &[Act::Die(1), short], &both]),
        of("an agent on quay holds a lease that ran out", false, &[&leased, &[long], &both]),
        of(
            "harbour was cut off long ago, its harness killed",
            false,
            &[&claimed, &[heal(0), Act::Orphan(1), Act::Cut(0), long, heal(1), heal(1)]],
        ),
        of("harbour was just cut off, and its harness lives", false, &[&claimed, &both, &[Act::Cut(0)]]),
        of(
            "the operator freed what a worker without a harness still does",
            false,
            &[&claimed, &[Act::Orphan(1)], &said(Word::Block), &said(Word::Unblock)],
        ),
        of(
            "its provider refused the worker of the first task",
            false,
            &[&claimed, &[Act::Ends(1, End::Refused), Act::Write(Actor::Worker(1)), short], &both],
        ),
        of(
            "the hold of the first task is over",
            true,
            &[
                &claimed,
                &[Act::Ends(1, End::Refused), Act::Write(Actor::Worker(1)), short, heal(0)],
                &[Act::Write(Actor::Watcher(Program::Heal, 0)), long, heal(0)],
            ],
        ),
    ]
}

impl Search {
    /// Searches.
    pub fn run(self) -> Sum {
        let (mut starts, began) = (starts(), Instant::now());
        if let Some(one) = self.from {
            starts = starts.into_iter().skip(one).take(1).collect();
        }
        let mut sum = Sum::default();
        let (mut calmed, mut ends) = (HashSet::new(), BTreeMap::new());
        for depth in 1..=self.depth {
            let mut dive = Dive {
                search: self,
                seen: HashMap::new(),
                path: Vec::new(),
                steps: 0,
                did: BTreeMap::new(),
                calmed: std::mem::take(&mut calmed),
                ends: std::mem::take(&mut ends),
                is_over: false,
            };
            let found = starts.iter().find_map(|(name, start)| {
                dive.path.clear();
                dive.seen.insert(hash(start), depth);
                let what = dive.below(start, depth)?;
                Some(told(name, start, &dive.path, what, self.without))
            });
            (calmed, ends) = (dive.calmed, dive.ends);
            sum.calmed = calmed.len() as u64;
            sum.ends.clone_from(&ends);
            sum.found = found;
            if dive.is_over {
                sum.is_stopped = true;
                break;
            }
            (sum.depth, sum.unique, sum.steps, sum.did) =
                (depth, dive.seen.len() as u64, dive.steps, dive.did);
            sum.depths.push((depth, sum.unique, sum.steps, began.elapsed().as_secs()));
            if sum.found.is_some() {
                break;
            }
        }
        sum
    }
}

struct Dive {
    search: Search,
    /// With how many steps left each state was seen.
    seen: HashMap<u64, u8>,
    path: Vec<Act>,
    steps: u64,
    did: BTreeMap<String, u64>,
    calmed: HashSet<u64>,
    ends: BTreeMap<&'static str, u64>,
    is_over: bool,
}

impl Dive {
    /// The first fault below a state; the path leads to it.
    fn below(&mut self, state: &State, left: u8) -> Option<String> {
        for act in state.acts() {
            if self.is_over {
                return None;
            }
            let mut told = Told::default();
            let Some(next) = state.act(act, self.search.without, &mut told) else { continue };
            self.steps += 1;
            if self.steps.is_multiple_of(1_024) {
                self.is_over = self.search.until.is_some_and(|until| Instant::now() >= until);
            }
            for what in told.did.drain(..) {
                *self.did.entry(what).or_default() += 1;
            }
            self.path.push(act);
            let broken = laws::broken(state, act, &next, &told).or_else(|| laws::judges(state, act, &next));
            if broken.is_some() {
                return broken;
            }
            let state = hash(&next);
            if let Some(what) = self.calm(&next, state) {
                return Some(what);
            }
            let known = self.seen.get(&state).copied();
            if known.is_none_or(|known| known < left - 1) {
                self.seen.insert(state, left - 1);
                if left > 1
                    && let Some(what) = self.below(&next, left - 1)
                {
                    return Some(what);
                }
            }
            self.path.pop();
        }
        None
    }

    /// What a state comes to, for one in so many.
    fn calm(&mut self, next: &State, state: u64) -> Option<String> {
        if self.search.calm == 0 || !state.is_multiple_of(self.search.calm) || !self.calmed.insert(state) {
            return None;
        }
        match calm::ends(next) {
            Ok(ends) => {
                ends.into_values().for_each(|end| *self.ends.entry(end).or_default() += 1);
                None
            }
            Err(what) => Some(what),
        }
    }
}

/// The story of a path.
fn told(name: &str, start: &State, path: &[Act], what: String, without: Option<Mutant>) -> Found {
    let mut story = vec![format!("at the start: {name}")];
    let mut state = start.fork();
    for act in path {
        let mut told = Told::default();
        let Some(next) = state.act(*act, without, &mut told) else { break };
        story.push(format!("{act}"));
        story.extend(told.lines.into_iter().map(|line| format!("    {line}")));
        if matches!(act, Act::Write(_) | Act::Lost(_) | Act::Jump(_)) {
            let rows = next.board.rows();
            let row = |t: &shared::board::Task| {
                let claim = t.claim_lock.as_ref().map(|lock| format!(" under {lock}")).unwrap_or_default();
                format!("{} {}{claim}", t.id, t.status)
            };
            story.push(format!(
                "    {}",
                rows.tasks.values().map(|(t, _)| row(t)).collect::<Vec<_>>().join(", ")
            ));
        }
        state = next;
    }
    Found { what, story }
}

struct Hashed(DefaultHasher);

impl Write for Hashed {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0.write(s.as_bytes());
        Ok(())
    }
}

/// A number for a state. Numbers of events are left out but for their order within a task: those of two tasks may be written in either
/// order, and nothing rests on that.
fn hash(state: &State) -> u64 {
    let mut to = Hashed(DefaultHasher::new());
    // A hasher takes everything.
    let _ = put(state, &mut to);
    to.0.finish()
}

fn put(state: &State, to: &mut Hashed) -> fmt::Result {
    let rows = state.board.rows();
    write!(to, "{:?}{:?}{:?}", rows.tasks, rows.runs, rows.links)?;
    for id in rows.tasks.keys() {
        let of_it = rows.events.values().filter(|(task, _)| task == id);
        for (_, Event { kind, at, run, payload }) in of_it {
            write!(to, "{kind}{}{run:?}{payload:?}", at.0)?;
        }
        let comments = rows.comments.values().filter(|(task, _)| task == id);
        comments.into_iter().try_for_each(|(_, c)| write!(to, "{:?}", c.body))?;
    }
    write!(to, "{:?}", *state.board.hosts_mut())?;
    for host in &state.hosts {
        write!(to, "{:?}", host)?;
    }
    write!(
        to,
        "{:?}{:?}{:?}{:?}{:?}",
        state.workers, state.logs, state.held, state.left_alone, state.budget
    )?;
    for (actor, pending) in &state.pending {
        write!(to, "{actor:?}{}{:?}", pending.at.0, pending.what)?;
        for step in &pending.steps {
            let mut step = step.clone();
            if let Some(expect) = &mut step.expect {
                expect.mark = place(&rows.events, &step.task, &expect.mark);
            }
            write!(to, "{step:?}")?;
        }
    }
    Ok(())
}

/// The place of a mark among the events of its task.
fn place(events: &BTreeMap<i64, (String, Event)>, task: &str, mark: &str) -> String {
    let at: i64 = mark.strip_prefix('e').and_then(|n| n.parse().ok()).unwrap_or(0);
    let tells = |e: &Event| !EventKind::NOISE.contains(&e.kind);
    events.range(..=at).filter(|(_, (of, e))| of == task && tells(e)).count().to_string()
}
