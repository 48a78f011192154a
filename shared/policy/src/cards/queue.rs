//! Who takes the cards, and how many at once: a storm of cards must not take every worker slot for the orchestrator.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::authorship::{self, HAND};
use crate::cards::identity::{is_writer, made};
use crate::cards::seen::{Seen, SourceSeen};
use crate::cards::writer::{CardWriter, Trouble, deciders, orchestrators};
use crate::said::{Kind, Said};
use crate::{Decision, Left, Profiles, remedy};
use base::registry::ROUTE_BLOCKED;
use base::time::Time;
use board::hermes;
use board::{Detail, Rule, Status, Step, StepAction};
use card::Blocker;
use config::Config;

/// Why a card waits whose orchestrator would die of what it is asked about.
pub const SAME_WALL: &str =
    "the orchestrator works with the provider that refuses; name another one (orchestrator.fallbacks)";

/// Why a card waits whose task a rule will move.
pub const WORKER_RUNS: &str = "its worker still runs; it is moved to another provider once that has ended";

/// Who takes the cards.
pub struct Orchestrator {
    /// The profile.
    pub name: String,
    /// Why it cannot take any.
    pub(crate) problem: Option<Problem>,
}

/// Why nobody can take a card.
#[derive(Debug, Clone)]
pub(crate) enum Problem {
    /// There is nobody who can now: a card waits.
    Nobody(String),
    /// It is not known who does, so none is made.
    Unknown(String),
}

/// Where one card goes.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Its assignee.
    pub(crate) orchestrator: String,
    /// Why it must wait; `None` is `ready` at once.
    pub(crate) wait: Option<String>,
}

/// Which cards take a place: those that a worker works on or may take.
pub struct Places<'a> {
    known: &'a Profiles,
    /// Names of workers on a board of `board init`, which has no profiles; `None` on others.
    workers: Option<BTreeSet<&'a str>>,
}

impl<'a> Places<'a> {
    /// `details`: whose attempts show who works on the board; `orchestrators`: who takes cards.
    pub fn new(
        known: &'a Profiles,
        own_board: bool,
        config: &'a Config,
        orchestrators: &'a [String],
        details: impl Iterator<Item = &'a Detail>,
    ) -> Places<'a> {
        let configured = config.profiles.keys().chain(orchestrators).map(String::as_str);
        let workers = own_board.then(|| {
            configured
                .chain(details.flat_map(|d| d.runs.iter().filter_map(|r| r.profile.as_deref())))
                .collect()
        });
        Places { known, workers }
    }

    /// Whether a card takes a place.
    pub fn takes_one(&self, card: &Detail) -> bool {
        match card.task.status {
            Status::Running => true,
            Status::Ready => !self.is_a_persons(card),
            _ => false,
        }
    }

    /// Whether it was assigned to a name that is not a worker's: a person decides, and no worker takes it.
    pub fn is_a_persons(&self, card: &Detail) -> bool {
        let Some(name) = card.task.assignee.as_deref().filter(|name| !name.is_empty()) else { return false };
        let is_worker = match &self.workers {
            Some(workers) => workers.contains(name),
            None => self.known.has(name) != Some(false),
        };
        !is_worker && authorship::was_given(card)
    }
}

/// The places that are left.
pub struct Queue {
    orchestrator: String,
    problem: Option<Problem>,
    free: usize,
}

impl Queue {
    /// No card is taken yet.
    pub fn new(writer: &CardWriter<'_>) -> Queue {
        let Orchestrator { name, problem } = writer.orchestrator();
        let places = writer.places();
        let taken = writer.seen.cards.iter().filter(|c| places.takes_one(c)).count();
        let most = usize::try_from(writer.config.distress.max_open_cards).unwrap_or(usize::MAX);
        Queue { orchestrator: name, problem, free: most.saturating_sub(taken) }
    }

    /// Why no card is made, where it is not known who takes one.
    pub fn unknown(&self) -> Option<&str> {
        match &self.problem {
            Some(Problem::Unknown(why)) => Some(why),
            _ => None,
        }
    }

    /// A place for the card of one trouble. What a worker says itself is kept until it is known who takes it.
    pub fn take(&mut self, writer: &CardWriter<'_>, s: &SourceSeen, t: &Trouble) -> Slot {
        let mut orchestrator = self.orchestrator.clone();
        if let Some(why) = t.wait {
            return Slot { orchestrator, wait: Some(why.into()) };
        }
        if let Some(Problem::Nobody(problem) | Problem::Unknown(problem)) = &self.problem {
            return Slot { orchestrator, wait: Some(format!("held: {problem}")) };
        }
        // An orchestrator that the same provider refuses would fail, too.
        let walled = |p: &str| {
            writer.held.contains(p) || (t.blocker == Blocker::RateLimited && writer.shares_provider(s, t, p))
        };
        if walled(&orchestrator) {
            match writer.stand_ins().into_iter().find(|p| !walled(p)) {
                Some(other) => orchestrator = other,
                None => return Slot { orchestrator, wait: Some(SAME_WALL.into()) },
            }
        }
        if self.free == 0 {
            return Slot { orchestrator, wait: Some("queued behind other cards".into()) };
        }
        self.free -= 1;
        Slot { orchestrator, wait: None }
    }

    /// Places that other cards of this pass have taken.
    pub(crate) fn take_away(&mut self, places: usize) {
        self.free = self.free.saturating_sub(places);
    }

    /// Places that cards leave in this pass.
    pub fn give_back(&mut self, places: usize) {
        self.free += places;
    }

    /// The place of a card that is there already.
    pub fn joined(&self) -> Slot {
        Slot { orchestrator: self.orchestrator.clone(), wait: None }
    }

    /// Lets the cards go that waited longest, as far as there are places. Says why the others wait.
    pub fn release(&mut self, writer: &CardWriter<'_>, decision: &mut Decision) {
        let changed: BTreeSet<String> = decision.steps.iter().map(|s| s.task.clone()).collect();
        let now = writer.seen.now;
        let waits = |c: &&Detail| {
            held(c, now).is_some() && authorship::undone(c).is_none() && !changed.contains(&c.task.id)
        };
        let mut waiting: Vec<&Detail> = writer.seen.cards.iter().filter(waits).collect();
        waiting.sort_by_key(|c| (c.task.created_at, c.task.id.clone()));
        let mut stuck: BTreeMap<String, usize> = BTreeMap::new();
        let places = writer.places();
        for card in waiting {
            // An assignment by the operator or an agent stands.
            let given = card.events.iter().any(|e| authorship::is_assignment(e) && e.by() != Some(HAND));
            let given = card.task.assignee.clone().filter(|_| given);
            // After the hold an orchestrator must look at the worker: it lives, and is refused still.
            if held(card, now).is_some_and(|(why, until)| why == WORKER_RUNS && now < until) {
                let because = WORKER_RUNS.to_owned();
                decision.left.push(Left::new(&card.task.id, because));
                continue;
            }
            let walled = held(card, now).is_some_and(|(why, until)| why == SAME_WALL && now < until);
            let wall = || walled.then(|| Problem::Nobody(SAME_WALL.to_owned()));
            match self.problem.clone().or_else(wall).filter(|_| given.is_none()) {
                Some(Problem::Unknown(why)) => {
                    decision.left.push(Left::new(&card.task.id, why).unknown());
                    continue;
                }
                Some(Problem::Nobody(why)) => {
                    *stuck.entry(why).or_default() += 1;
                    continue;
                }
                None => {}
            }
            let place = usize::from(!places.is_a_persons(card));
            if writer.pass.only.is_some() || self.free < place {
                let because = "a card that waits its turn".to_owned();
                decision.left.push(Left::new(&card.task.id, because));
                continue;
            }
            self.free -= place;
            decision.steps.push(writer.let_go(card, given.as_deref().unwrap_or(&self.orchestrator)));
        }
        let waits = |(why, n): (String, usize)| {
            (why.clone(), Said::of(Kind::CardsWait, format!("cards that wait: {n}; {why}")))
        };
        decision.notices.extend(stuck.into_iter().map(waits));
    }
}

/// Why a card waits, and until when, where Watchbill said so: this program, or the command of a worker that found no place.
fn held(card: &Detail, now: Time) -> Option<(&str, Time)> {
    let newest = authorship::parked(card)?;
    let ours = is_writer(newest) || newest.by() == Some(ROUTE_BLOCKED);
    if card.task.status != Status::Scheduled || !ours {
        return None;
    }
    let hold = newest.trail()?.get("hold")?;
    let why = hold.get("cause").and_then(Value::as_str).unwrap_or_default();
    // By a clock that was ahead: nobody knows when it was to end.
    let until = authorship::end_in(hold).filter(|_| !newest.at.is_ahead_of(now));
    Some((why, until.unwrap_or(newest.at.min(now))))
}

impl CardWriter<'_> {
    /// The profile that takes the cards: ours to name, else Hermes' own setting, else the name of the contract. Where
    /// profiles are known it must be one of them: the runtime would give a card without one to any profile.
    pub fn orchestrator(&self) -> Orchestrator {
        let runtime = self.seen.runtime.as_ref();
        let name = match deciders(self.config, runtime) {
            Ok(mut all) => all.swap_remove(0),
            Err(why) => {
                let name = orchestrators(self.config, None).swap_remove(0);
                return Orchestrator { name, problem: Some(Problem::Unknown(why)) };
            }
        };
        // A name that is set is believed where profiles cannot be listed; a stand-in is not.
        let exists = Profiles::of(runtime).has(&name) != Some(false);
        let there: Vec<String> = exists.then(|| name.clone()).into_iter().chain(self.stand_ins()).collect();
        if let Some(works) = there.iter().find(|p| !self.held.contains(*p)) {
            return Orchestrator { name: works.clone(), problem: None };
        }
        if let Some(held) = there.into_iter().next() {
            return Orchestrator { name: held, problem: Some(Problem::Nobody(SAME_WALL.into())) };
        }
        let is_unlisted = self.seen.runtime.as_ref().is_some_and(|r| r.is_unlisted(Some(&name)));
        let (why, mend) = remedy::no_orchestrator(&name, is_unlisted);
        let problem =
            format!("{why}, so nobody takes them; {mend}, or name another one (distress.orchestrator)");
        Orchestrator { name, problem: Some(Problem::Nobody(problem)) }
    }

    /// Which of the open cards take a place.
    pub fn places(&self) -> Places<'_> {
        let Seen { runtime, own_board, sources, others, cards, .. } = self.seen;
        let details = sources.iter().map(|s| &s.detail).chain(others).chain(cards);
        Places::new(Profiles::of(runtime.as_ref()), *own_board, self.config, &self.deciders, details)
    }

    /// Those of `orchestrator.fallbacks` that exist, in their order.
    fn stand_ins(&self) -> Vec<String> {
        let profiles = Profiles::of(self.seen.runtime.as_ref());
        let exists = |p: &&String| profiles.has(p) == Some(true);
        self.config.orchestrator.fallbacks.iter().filter(exists).cloned().collect()
    }

    fn let_go(&self, card: &Detail, orchestrator: &str) -> Step {
        let because = format!("a place is free for this card; {orchestrator} takes it");
        let changes = hermes::card_released(card, orchestrator, &self.pass.trail(Rule::Queue, &because));
        Step { because, ..Step::on(card, StepAction::ReleaseCard, Rule::Queue, changes) }
    }
}

/// What a card was made for, as its first event says: `word`, the cause, and `place`, the provider.
pub fn about(card: &Detail) -> Option<(String, String)> {
    let trail = made(card)?.trail()?;
    let word = trail.get("word").and_then(Value::as_str)?;
    let place = trail.get("place").and_then(Value::as_str).unwrap_or_default();
    Some((word.to_owned(), place.to_owned()))
}
