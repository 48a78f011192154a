//! `route-blocked`: carries out what orchestrators decide, moves work off providers that refuse it, ends holds, and closes
//! the cards that are done with.
//!
//! It asks no model and starts no worker. What it cannot settle by rule it leaves to the orchestrator's card; what that
//! cannot settle goes to a person.

mod cards;
mod decisions;
mod holds;
mod index;
mod notices;
mod observe;
pub mod seen;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::index::Index;
use self::seen::Seen;
use super::watcher::{Spec, Watcher};
use base::error::Result;
use base::registry::HEAL;
use base::time::Time;
use board::{Change, Detail, Rule, Status, Step, StepAction};
use config::Config;
use logs::provider::Profile;
use policy::authorship;
use policy::cards::queue::Places;
use policy::cards::writer::{self, deciders};
use policy::routing::facts::Routing;
use policy::routing::moving::Scribe;
use policy::routing::router::Router;
use policy::{Decision, Left, OtherPolicy, Pass, Profiles, Said, World};

/// Why a hold of heal's for a provider is not looked after before it has a card.
const UNJUDGED: &str = "synthesize-distress looks first at what heal held";

/// Of so many profiles it is said why their provider is not known.
const MAX_BLIND: usize = 3;

/// The watcher.
#[derive(Debug, Clone, Copy, Default)]
pub struct RouteBlocked;

impl Watcher for RouteBlocked {
    type Seen = Seen;
    const SPEC: Spec = Spec::of_round(
        "Reroute tasks of providers that refuse them, apply decisions of orchestrators, release holds, close cards",
    );
    const ACTIONS: &'static [StepAction] = &[
        StepAction::AskAgain,
        StepAction::CloseCard,
        StepAction::Extend,
        StepAction::Give,
        StepAction::HandOver,
        StepAction::Link,
        StepAction::Move,
        StepAction::Normalise,
        StepAction::NoteDecision,
        StepAction::Park,
        StepAction::ParkCard,
        StepAction::Probe,
        StepAction::QueueCard,
        StepAction::Release,
        StepAction::Split,
        StepAction::StandIn,
        StepAction::Tell,
    ];
    const RULES: &'static [Rule] = &[
        Rule::Decision,
        Rule::Fallback,
        Rule::HoldOver,
        Rule::MovedOn,
        Rule::NeedsAPerson,
        Rule::NoDecision,
        Rule::NoOrchestrator,
        Rule::Normalise,
        Rule::Notice,
        Rule::OlderWorker,
        Rule::Probe,
        Rule::ProviderGivenUp,
        Rule::ProviderHold,
        Rule::Queue,
        Rule::SecondCard,
        Rule::Settled,
        Rule::StandIn,
    ];

    fn new(_origin: &BTreeMap<String, String>) -> RouteBlocked {
        RouteBlocked
    }

    fn observe(&self, world: &mut World<'_>, pass: &Pass) -> Result<Seen> {
        observe::observe(world, pass)
    }

    fn decide(&self, seen: &Seen, pass: &Pass, config: &Config) -> Decision {
        decide(seen, pass, config)
    }

    fn silence(detail: &Detail, _now: Time) -> String {
        let hold = authorship::our_hold(detail);
        match (&detail.task.status, detail.cards.first(), hold) {
            (Status::Running, ..) if notices::was_told(detail, notices::PROFILE_CHANGED) => {
                "it runs, and what changed about its profile counts from the next attempt".into()
            }
            (Status::Running, ..) => "it runs, and nothing about its profile changed meanwhile".into(),
            (_, Some(card), _) => format!("its card {card} decides"),
            (_, None, Some((event, _))) if event.by() == Some(HEAL) => UNJUDGED.into(),
            (_, None, Some(_)) => "its hold is not for a provider, and heal ends it".into(),
            (_, None, None) => "no card, no hold and no provider that refuses it".into(),
        }
    }

    fn under(seen: &mut Seen, other: &OtherPolicy<'_>) {
        seen.now = other.at;
        seen.routing.under(other);
    }
}

/// Who may take cards, or why that is not known.
type Orchestrators<'o> = std::result::Result<&'o [String], &'o str>;

/// What every rule may look at, and what the pass has come to so far.
struct Rules<'a> {
    seen: &'a Seen,
    index: Index<'a>,
    config: &'a Config,
    pass: &'a Pass,
    scribe: Scribe<'a>,
    router: Router<'a>,
    known: &'a Profiles,
    places: Places<'a>,
    decision: Decision,
    /// Tasks that this pass changes already: at most one step each.
    touched: BTreeSet<String>,
    /// Cards that this pass closes because what they ask about has gone on: nobody waits for their decision.
    over: BTreeSet<&'a str>,
    /// How many cards this pass makes ready while it brings them into their form.
    readied: usize,
}

/// Decides on everything that was seen. Pure: the same facts give the same steps.
pub fn decide(seen: &Seen, pass: &Pass, config: &Config) -> Decision {
    if let Some(fault) = &seen.clock_fault {
        return Decision::of_broken_clock(fault, !seen.cards.is_empty() || !seen.tasks.is_empty());
    }
    let known = Profiles::of(seen.runtime.as_ref());
    let deciders = deciders(config, seen.runtime.as_ref());
    let orchestrators = deciders.as_deref().map_err(String::as_str);
    let attempts = seen.cards.iter().map(|c| &c.detail).chain(&seen.answered).chain(&seen.tasks);
    let places = Places::new(known, seen.own_board, config, orchestrators.unwrap_or_default(), attempts);
    let mut rules = Rules {
        seen,
        index: Index::of(seen, &places),
        config,
        pass,
        scribe: Scribe { pass, config, now: seen.now, trees: &seen.trees },
        router: Router::new(
            &seen.routing,
            config,
            seen.now,
            known,
            orchestrators.unwrap_or_default().to_vec(),
        ),
        known,
        places,
        decision: Decision::default(),
        touched: BTreeSet::new(),
        over: BTreeSet::new(),
        readied: 0,
    };
    rules.withdraw_what_is_over();
    rules.carry_out_decisions(orchestrators);
    // Holds before cards: a task that goes on takes its card with it, and nothing else need be said on that. A card that
    // no watcher wrote is brought into its form first all the same.
    rules.look_after_holds(true);
    rules.look_after_cards(orchestrators);
    rules.look_after_holds(false);
    rules.end_outliving();
    rules.keep_last_words();
    rules.decision.findings.extend(blind(&seen.routing));
    rules.decision.findings.extend(writer::blind(config, seen.runtime.as_ref()));
    rules.tell(orchestrators.unwrap_or_default());
    rules.decision
}

/// Profiles whose provider nobody knows, because what would name it cannot be read: a limit there holds only their own work.
fn blind(routing: &Routing) -> Option<Said> {
    let mut all: Vec<String> = routing.profiles.values().filter_map(Profile::blind).collect();
    let more = all.len().saturating_sub(MAX_BLIND);
    all.truncate(MAX_BLIND);
    all.extend((more > 0).then(|| format!("and so of {more} more")));
    (!all.is_empty()).then(|| all.join("; ").into())
}

impl<'a> Rules<'a> {
    /// A task that was looked at.
    fn task(&self, id: &str) -> Option<&'a Detail> {
        self.index.task(id)
    }

    /// Whether a pass over one task only leaves this one out.
    fn is_left_out(&self, id: &str) -> bool {
        self.pass.only.as_ref().is_some_and(|only| only != id)
    }

    fn hands_off(&self, d: &Detail) -> Option<String> {
        authorship::hands_off(d, self.known, self.config.people.assignee.as_deref(), self.seen.now)
    }

    fn push(&mut self, step: Step) {
        // What is held, closed or left to a person does not start: its place is another's, as the next pass sees it.
        let on_way = |s: &Status| matches!(s, Status::Ready | Status::Running | Status::Todo);
        if step.changes.iter().any(|c| matches!(c, Change::SetStatus(s) if !on_way(s))) {
            self.router.withdraw(&step.task);
        }
        let ready = |c: &Change| *c == Change::SetStatus(Status::Ready);
        self.readied += usize::from(step.action == StepAction::Normalise && step.changes.iter().any(ready));
        self.touched.insert(step.task.clone());
        self.decision.steps.push(step);
    }

    fn leave(&mut self, d: &Detail, because: impl Into<String>) {
        self.decision.left.push(Left::new(&d.task.id, because));
    }

    fn leave_unknown(&mut self, d: &Detail, because: impl Into<String>) {
        self.decision.left.push(Left::new(&d.task.id, because).unknown());
    }

    fn leave_until(&mut self, d: &Detail, because: impl Into<String>, until: Time) {
        self.decision.left.push(Left::new(&d.task.id, because).until(Some(until)));
    }

    /// Keeps what was said last of each task that was skipped: holds are looked after twice. The second look alone would not
    /// do, since it passes over a block whose card was changed after the first.
    fn keep_last_words(&mut self) {
        let left = &mut self.decision.left;
        let mut said = self.touched.clone();
        left.reverse();
        left.retain(|l| said.insert(l.task.clone()));
        left.reverse();
    }

    /// The program with which a person changes this board, ready for a command line.
    fn hand(&self) -> String {
        card::hand(self.seen.own_board, self.seen.slug.as_deref(), self.seen.switched, &self.seen.db)
    }
}
