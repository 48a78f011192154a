//! `synthesize-distress`: writes the `[BLOCKED]` card for a worker that cannot.
//!
//! It finds out why an attempt really ended (the board's own rows often say only that a pid is gone), holds what would
//! end on the same cause again, and asks the orchestrator once, with evidence. It never writes a card about a card, and
//! never touches the work itself.

mod history;
mod incident;
mod mechanical;
mod observe;
mod open_card;
mod refused;
#[cfg(test)]
mod tests;
mod trouble;

use std::collections::BTreeMap;

use self::trouble::Verdict;
use crate::watcher::{Spec, Watcher};
use base::count::things;
use base::error::Result;
use base::time::Time;
use board::{Detail, HandOver, Rule, Status, Step, StepAction, hermes};
use card::Blocker;
use config::Config;
use policy::authorship;
use policy::cards::asked::Asked;
use policy::cards::seen::{Seen, SourceSeen};
use policy::cards::writer::{CardWriter, Trouble};
use policy::cards::{asked, queue, writer};
use policy::routing::facts::{self, Routing};
use policy::{Decision, Left, OtherPolicy, Pass, Profiles, Said, World};

/// The watcher.
#[derive(Debug, Clone, Copy, Default)]
pub struct SynthesizeDistress;

impl Watcher for SynthesizeDistress {
    type Seen = Seen;
    const SPEC: Spec = Spec::of_round(
        "Write the distress card that a worker could not write, with the root cause and the evidence",
    );
    const ACTIONS: &'static [StepAction] = &[
        StepAction::Card,
        StepAction::CardAndPark,
        StepAction::Extend,
        StepAction::HandOver,
        StepAction::Join,
        StepAction::Link,
        StepAction::MergeCard,
        StepAction::Move,
        StepAction::Note,
        StepAction::Park,
        StepAction::ReleaseCard,
    ];
    const RULES: &'static [Rule] = &[
        Rule::BlockLoop,
        Rule::DiedOfIt,
        Rule::Escalated,
        Rule::GaveUp,
        Rule::GoalMode,
        Rule::HandLimit,
        Rule::HandedOver,
        Rule::Incident,
        Rule::OpenCard,
        Rule::Parked,
        Rule::ProviderHold,
        Rule::Queue,
        Rule::Repeated,
        Rule::Session,
        Rule::WorkerBlock,
    ];

    fn new(_origin: &BTreeMap<String, String>) -> SynthesizeDistress {
        SynthesizeDistress
    }

    fn observe(&self, world: &mut World<'_>, pass: &Pass) -> Result<Seen> {
        observe::observe(world, pass)
    }

    fn decide(&self, seen: &Seen, pass: &Pass, config: &Config) -> Decision {
        decide(seen, pass, config)
    }

    fn outline(&self, seen: &Seen, pass: &Pass, config: &Config) -> Decision {
        decided(seen, pass, config, false)
    }

    fn silence(detail: &Detail, _now: Time) -> String {
        let said = match detail.task.status {
            _ if detail.task.is_card() => "no card is made about a card",
            Status::Triage | Status::Todo | Status::Ready if detail.runs.is_empty() => {
                "it was never tried, so nothing failed"
            }
            Status::Running => "its log shows no provider that refuses it again and again",
            _ => "its last attempt did not end on what a card could help with",
        };
        said.to_owned()
    }

    fn under(seen: &mut Seen, other: &OtherPolicy<'_>) {
        seen.now = other.at;
        seen.routing.under(other);
        other.profiles(&mut seen.profiles);
    }
}

/// What every rule may look at.
struct Rules<'a> {
    seen: &'a Seen,
    pass: &'a Pass,
    config: &'a Config,
    writer: CardWriter<'a>,
}

/// Decides on everything that was seen. Pure: the same facts give the same steps.
pub fn decide(seen: &Seen, pass: &Pass, config: &Config) -> Decision {
    decided(seen, pass, config, true)
}

/// The same; where nobody will read them, without the texts of cards, which are most of the work.
fn decided(seen: &Seen, pass: &Pass, config: &Config, texts: bool) -> Decision {
    let mut decision = Decision::default();
    if let Some(fault) = &seen.clock_fault {
        return Decision::of_broken_clock(fault, !seen.sources.is_empty());
    }
    let mut rules = Rules::new(seen, pass, config);
    rules.writer.texts = texts;
    let mut stuck: Vec<(&SourceSeen, Trouble)> = Vec::new();
    let asked = |s: &&SourceSeen| pass.only.as_ref().is_none_or(|only| *only == s.detail.task.id);
    for s in seen.sources.iter().filter(asked) {
        match rules.judge(s) {
            Verdict::Stuck(trouble) => stuck.push((s, *trouble)),
            other => take(&mut decision, s, other),
        }
    }
    // What this very pass found out counts at once.
    let routing = rules.routing(stuck.iter().map(|(s, t)| (*s, t)));
    let mut router = rules.writer.router(&routing);
    rules.writer.held = rules.writer.held_by(&router);
    let mut queue = queue::Queue::new(&rules.writer);
    let mut released = Decision::default();
    queue.release(&rules.writer, &mut released);
    decision.steps.append(&mut released.steps);
    let mut unsettled = Vec::new();
    for (s, mut t) in stuck {
        match rules.settle(&mut router, s, &t) {
            mechanical::Settled::Step(step) => decision.steps.push(*step),
            mechanical::Settled::Leave(because) => take(&mut decision, s, Verdict::Leave(because)),
            mechanical::Settled::Later => {
                t.wait = Some(queue::WORKER_RUNS);
                unsettled.push((s, t));
            }
            mechanical::Settled::Spent(why) => {
                t.what = format!("{} Not moved by rule: {why}.", t.what);
                t.spent = true;
                unsettled.push((s, t));
            }
            mechanical::Settled::Ask(why) => {
                if let Some(why) = why {
                    t.what = format!("{} Not moved by rule: {why}.", t.what);
                }
                unsettled.push((s, t));
            }
        }
    }
    // Only what no rule settles is a person's: a task whose fallback is free needs no further card.
    unsettled.retain(|(s, t)| match rules.writer.used_up(&s.detail) {
        None => true,
        Some(made) => {
            let waits = rules.outlasts(&router, s, t).map(|step| Verdict::Act(Box::new(step)));
            // Some profile may take it that is not known.
            let unknown = || Some(Verdict::Unknown(router.unknown()?));
            let verdict = waits.or_else(unknown).unwrap_or_else(|| rules.beyond(s, t, made));
            take(&mut decision, s, verdict);
            false
        }
    });
    if let Some(why) = queue.unknown() {
        for (s, _) in unsettled.drain(..) {
            take(&mut decision, s, Verdict::Unknown(why.to_owned()));
        }
    }
    for (s, t) in unsettled.iter_mut().filter(|(_, t)| t.spent || t.blocker == Blocker::IterationBudget) {
        t.draft = rules.writer.draft(s);
    }
    incident::plan(&rules.writer, unsettled, &mut queue, &mut decision);
    // Cards that were merged into an incident's left their places.
    queue.release(&rules.writer, &mut decision);
    for step in rules.park(&router, &seen.waiting) {
        match decision.steps.iter_mut().find(|s| s.task == step.task) {
            None => decision.steps.push(step),
            // Both in one: the next pass would park it.
            Some(link) if link.action == StepAction::Link => {
                link.because = format!("{}; {}", link.because, step.because);
                link.changes.extend(step.changes);
            }
            Some(_) => {}
        }
    }
    rules.write_down(&mut decision);
    decision.findings.extend(writer::blind(config, seen.runtime.as_ref()));
    decision
}

/// Notes what a verdict comes to, but for one that a card is made of.
fn take(decision: &mut Decision, s: &SourceSeen, verdict: Verdict) {
    let leave = |because: String| Left::new(&s.detail.task.id, because);
    match verdict {
        Verdict::Stuck(_) | Verdict::Fine => {}
        Verdict::Leave(because) => decision.left.push(leave(because)),
        Verdict::Unknown(because) => decision.left.push(leave(because).unknown()),
        Verdict::Elsewhere(because) => decision.left.push(leave(because).elsewhere()),
        Verdict::Finding(what) => decision.find(&s.detail.task.id, what),
        Verdict::Notice(name, said) => {
            decision.notices.insert(name, Said::from(said).about(&s.detail.task.id));
        }
        Verdict::Act(step) => decision.steps.push(*step),
    }
}

/// Whether a task that was requeued since its card was made is stopped by the runtime's guard once more, without an attempt
/// in between that another card could be about.
fn jams_again(d: &Detail, asked: &Asked) -> bool {
    let answered = asked.status != Some(Status::Archived);
    answered && d.task.status == Status::Ready && hermes::is_guard_jammed(d)
}

impl<'a> Rules<'a> {
    fn new(seen: &'a Seen, pass: &'a Pass, config: &'a Config) -> Rules<'a> {
        Rules { seen, pass, config, writer: CardWriter::new(seen, pass, config) }
    }

    /// How providers stand with what this pass found out, as the next pass will read it: what a dispatcher booked of an attempt does
    /// not count any more once a watcher wrote down what refused it.
    fn routing<'t>(&self, stuck: impl Iterator<Item = (&'t SourceSeen, &'t Trouble)>) -> Routing {
        let mut routing = self.seen.routing.clone();
        let mut found = Vec::new();
        for (s, t) in stuck {
            // A later pass reads no sighting from an event of a provider that nobody can name.
            let Some(sighting) = self.sighting(s, t).filter(|found| found.id.is_known()) else { continue };
            if !s.detail.newest_run().is_some_and(|run| facts::is_told(&s.detail, run, &routing.profiles)) {
                routing.sightings.retain(|old| (&old.task, old.began) != (&sighting.task, sighting.began));
            }
            found.push(sighting);
        }
        routing.sightings.append(&mut found);
        routing.sightings.extend(self.seen.sources.iter().flat_map(|s| self.earlier_sightings(s)));
        routing
    }
}

impl Rules<'_> {
    /// Everything about one task that comes before the question why it is stuck.
    fn judge(&self, s: &SourceSeen) -> Verdict {
        let d = &s.detail;
        let profiles = Profiles::of(self.seen.runtime.as_ref());
        let person = self.config.people.assignee.as_deref();
        if let Some(why) = authorship::hands_off(d, profiles, person, self.seen.now) {
            return Verdict::Leave(why);
        }
        if let Some(card) = self.writer.open.get(&d.task.id).and_then(|cards| cards.first()) {
            return self.attend(d, card);
        }
        let trouble = match trouble::trouble(s, self.seen, self.config) {
            Verdict::Stuck(trouble) => trouble,
            other => return other,
        };
        // Whatever card spoke of this attempt, its own or an incident's.
        let asked = asked::asked(d);
        let newest = asked.iter().rev().find(|a| a.run == trouble.run);
        // A session outlives what went wrong with it, and may meet the next thing within the same attempt.
        let since = |a: &Asked| {
            let is_answered = a.status.as_ref().is_some_and(|s| *s != Status::Archived);
            is_answered && trouble.began.is_some_and(|began| began > a.at)
        };
        // `undo` archives the card of what it undoes, and that answers nothing; nor does what was done upon a card and undone.
        let is_undone = |a: &Asked| {
            let mut undone = d.events.iter().filter(|e| e.kind == board::EventKind::Undone && e.at >= a.at);
            // What was decided after the undo is not carried out yet.
            let is_worked_on =
                |e: &board::Event| d.card_work.iter().any(|(_, to)| to.is_some_and(|to| to >= e.at));
            match a.status {
                Some(Status::Archived) => undone.next().is_some(),
                Some(Status::Done) => undone.any(|e| asked::is_of_answer(e) && !is_worked_on(e)),
                _ => false,
            }
        };
        let anew = |a: &&Asked| {
            let left = authorship::has_left(d, &a.card) || is_undone(a);
            left || asked::is_to_be_asked_again(d, &a.card) || jams_again(d, a) || since(a)
        };
        if let Some(newest) = newest.filter(|a| !anew(a)) {
            return history::closed(d, &newest.card, newest.status.as_ref());
        }
        Verdict::Stuck(trouble)
    }

    /// Its cards are used up: what is left is a person.
    fn beyond(&self, s: &SourceSeen, t: &Trouble, made: usize) -> Verdict {
        let d = &s.detail;
        // A rule moves it once its worker has ended, without any card.
        if let Some(why) = t.wait {
            return Verdict::Leave(why.into());
        }
        let cards = things(made, "card");
        if !t.link || (d.task.status == Status::Blocked && hermes::is_sticky(&d.events)) {
            let name = format!("{} needs a person: its cards did not help", d.task.id);
            let said = format!("{} needs a person: {cards} in a day did not help. {}", d.task.id, t.what);
            return Verdict::Notice(name, said);
        }
        let because = format!("{cards} in a day did not help: needs a person. {}", t.what);
        let trail = self.writer.trail(t, &because, self.writer.facts(s, t));
        let assignee = self.config.people.assignee.as_deref();
        let changes = hermes::needs_person(d, &HandOver::CardsUsedUp, assignee, &trail);
        Verdict::Act(Box::new(Step {
            cause: t.cause,
            because,
            ..Step::on(d, StepAction::HandOver, t.case.clone(), changes)
        }))
    }
}
