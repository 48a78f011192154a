//! `synthesize-distress`: writes the `[BLOCKED]` card for a worker that cannot.
//!
//! It finds out why an attempt really ended (the board's own rows often say only that a pid is gone), parks what would
//! run into the same wall again, and asks the orchestrator once, with evidence. It never writes a card about a card, and
//! never touches the work itself.

pub(crate) mod by_hand;
mod compose;
mod history;
mod incident;
mod mechanical;
mod observe;
pub(crate) mod over_budget;
mod queue;
mod refused;
pub mod seen;
pub(crate) mod session;
#[cfg(test)]
mod tests;
mod trouble;
mod wording;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use self::compose::card_id;
use self::seen::{Seen, SourceSeen};
use self::trouble::{Trouble, Verdict};
use super::route::router::Router;
use super::{Decision, Left, OtherPolicy, Pass, Watcher, World, route, word};
use crate::board::{Detail, Event, Status, hermes};
use crate::config::Config;
use crate::distress::{Blocker, is_card};
use crate::error::Result;
use crate::time::Time;

/// The watcher.
#[derive(Debug, Clone, Copy, Default)]
pub struct SynthesizeDistress;

impl Watcher for SynthesizeDistress {
    type Seen = Seen;
    const NAME: &'static str = NAME;
    const IS_REPLAYED: bool = true;

    fn new(_origin: &BTreeMap<String, String>) -> SynthesizeDistress {
        SynthesizeDistress
    }

    fn observe(&self, world: &mut World<'_>, pass: &Pass) -> Result<Seen> {
        observe::observe(world, pass)
    }

    fn decide(&self, seen: &Seen, pass: &Pass, config: &Config) -> Decision {
        decide(seen, pass, config)
    }

    fn silence(detail: &Detail, _now: Time) -> String {
        let said = match detail.task.status {
            _ if is_card(&detail.task) => "no card is made about a card",
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

    fn glanced(seen: &Seen) -> usize {
        seen.glanced
    }

    fn seen_at(seen: &Seen) -> Time {
        seen.now
    }
}

pub(crate) const NAME: &str = "synthesize-distress";
/// The program whose events a worker's hand leaves.
pub(crate) const HAND: &str = "board";

/// The programs that write cards.
pub(crate) const WRITERS: [&str; 3] = [NAME, HAND, word::BUDGET_CHECK];

/// Who takes the cards where nothing else is said.
const ORCHESTRATOR: &str = "tuesday";

/// Every profile that may take cards, in the order they are tried: ours to name, else Hermes' own setting, else the name of
/// the contract; then its stand-ins.
pub(crate) fn orchestrators(config: &Config, hermes: Option<String>) -> Vec<String> {
    let first = config.distress.orchestrator.clone().or(hermes).unwrap_or_else(|| ORCHESTRATOR.into());
    let mut all = vec![first];
    for other in &config.orchestrator.fallbacks {
        if !all.contains(other) {
            all.push(other.clone());
        }
    }
    all
}

/// Seconds in which the cards of one task are counted.
const DAY: i64 = 86_400;

/// What every rule may look at.
struct Rules<'a> {
    seen: &'a Seen,
    pass: &'a Pass,
    config: &'a Config,
    /// Open cards by their id.
    cards: BTreeMap<&'a str, &'a Detail>,
    /// Work that was looked at, by its id.
    looked: BTreeMap<&'a str, &'a Detail>,
    /// The same by the open cards it has, in the order in which it was seen.
    under: BTreeMap<&'a str, Vec<&'a Detail>>,
    /// Open cards by their source, whoever made them and however they name it.
    open: BTreeMap<String, BTreeSet<String>>,
    /// Profiles to whose provider nothing may be sent now.
    held: BTreeSet<String>,
    /// Whether cards get their texts.
    texts: bool,
}

/// Decides on everything that was seen. Pure: the same facts give the same steps.
pub fn decide(seen: &Seen, pass: &Pass, config: &Config) -> Decision {
    decided(seen, pass, config, true)
}

/// The same; where nobody will read them, without the texts of cards, which are most of the work.
fn decided(seen: &Seen, pass: &Pass, config: &Config, texts: bool) -> Decision {
    let mut decision = Decision::default();
    if let Some(fault) = &seen.clock_fault {
        if !seen.sources.is_empty() {
            decision.findings.push(format!("clock: {fault}; nothing is done by time until it is sane"));
        }
        return decision;
    }
    let mut rules = Rules { texts, ..Rules::new(seen, pass, config) };
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
    let mut router = rules.router(&routing);
    rules.held = rules.held_by(&router);
    let mut queue = queue::Queue::new(&rules);
    let mut released = Decision::default();
    queue.release(&rules, &mut released);
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
    unsettled.retain(|(s, t)| match rules.used_up(&s.detail) {
        None => true,
        Some(made) => {
            let waits = rules.outlasts(&router, s, t).map(|step| Verdict::Act(Box::new(step)));
            take(&mut decision, s, waits.unwrap_or_else(|| rules.beyond(s, t, made)));
            false
        }
    });
    for (s, t) in unsettled.iter_mut().filter(|(_, t)| t.spent || t.blocker == Blocker::IterationBudget) {
        t.draft = rules.draft(s);
    }
    incident::plan(&rules, unsettled, &mut queue, &mut decision);
    // Cards that were merged into an incident's left their places.
    queue.release(&rules, &mut decision);
    for step in rules.park(&router, &seen.waiting) {
        match decision.steps.iter_mut().find(|s| s.task == step.task) {
            None => decision.steps.push(step),
            // Both in one: the next pass would park it.
            Some(link) if link.action == "link" => {
                link.because = format!("{}; {}", link.because, step.because);
                link.changes.extend(step.changes);
            }
            Some(_) => {}
        }
    }
    rules.write_down(&mut decision);
    decision
}

/// Notes what a verdict comes to, but for one that a card is made of.
fn take(decision: &mut Decision, s: &SourceSeen, verdict: Verdict) {
    let leave = |because: String| Left::new(&s.detail.task.id, because);
    match verdict {
        Verdict::Stuck(_) | Verdict::Fine => {}
        Verdict::Leave(because) => decision.left.push(leave(because)),
        Verdict::Unknown(because) => decision.left.push(leave(because).unknown()),
        Verdict::Finding(what) => decision.findings.push(what),
        Verdict::Act(step) => decision.steps.push(*step),
    }
}

/// Whether a source has an open card, by whatever sign: its key, its title, a link, or what the card's own first event says.
fn open_cards(
    seen: &Seen,
    cards: &BTreeMap<&str, &Detail>,
    looked: &BTreeMap<&str, &Detail>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut open: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut note = |source: &str, card: &str| {
        open.entry(source.to_owned()).or_default().insert(card.to_owned());
    };
    for card in &seen.cards {
        let left =
            |source: &String| looked.get(source.as_str()).is_some_and(|d| word::has_left(d, &card.task.id));
        for source in route::sources_of(card).iter().filter(|source| !left(source)) {
            note(source, &card.task.id);
        }
    }
    for d in looked.values() {
        for card in &d.cards {
            note(&d.task.id, card);
        }
        // A card is one by its key too, whatever somebody made of its title.
        for p in d.parents.iter().filter(|p| cards.contains_key(p.id.as_str())) {
            note(&d.task.id, &p.id);
        }
    }
    open
}

/// Whether a task that was set free since its card was made stands before the runtime's guard once more, without an attempt
/// in between that another card could be about.
fn jams_again(d: &Detail, asked: &history::Asked) -> bool {
    let answered = asked.status != Some(Status::Archived);
    answered && d.task.status == Status::Ready && hermes::is_guard_jammed(d)
}

impl<'a> Rules<'a> {
    fn new(seen: &'a Seen, pass: &'a Pass, config: &'a Config) -> Rules<'a> {
        let by_id = |d: &'a Detail| (d.task.id.as_str(), d);
        let cards = seen.cards.iter().map(by_id).collect();
        let work = || seen.sources.iter().map(|s| &s.detail).chain(&seen.others);
        let looked = work().map(by_id).collect();
        let mut under: BTreeMap<&str, Vec<&Detail>> = BTreeMap::new();
        for (d, card) in work().flat_map(|d| d.cards.iter().map(move |card| (d, card))) {
            under.entry(card).or_default().push(d);
        }
        let open = open_cards(seen, &cards, &looked);
        let mut rules =
            Rules { seen, pass, config, cards, looked, under, open, held: BTreeSet::new(), texts: true };
        rules.held = rules.held_by(&rules.router(&seen.routing));
        rules
    }

    /// How providers stand with what this pass found out, as the next pass will read it: what a dispatcher booked of an attempt does
    /// not count any more once one of us wrote down what refused it.
    fn routing<'t>(
        &self,
        stuck: impl Iterator<Item = (&'t SourceSeen, &'t Trouble)>,
    ) -> route::facts::Routing {
        let mut routing = self.seen.routing.clone();
        let mut found = Vec::new();
        for (s, t) in stuck {
            // A later pass reads no sighting from an event that names no provider.
            let Some(sighting) = self.sighting(s, t).filter(|found| found.id.is_known()) else { continue };
            if !s.detail.newest_run().is_some_and(|run| route::facts::is_told(&s.detail, run)) {
                routing.sightings.retain(|old| (&old.task, old.began) != (&sighting.task, sighting.began));
            }
            found.push(sighting);
        }
        routing.sightings.append(&mut found);
        routing.sightings.extend(self.seen.sources.iter().flat_map(|s| self.earlier_sightings(s)));
        routing
    }

    fn router<'r>(&self, routing: &'r route::facts::Routing) -> Router<'r>
    where
        'a: 'r,
    {
        let runtime = self.seen.runtime.as_ref();
        let known = runtime.map(|r| r.profiles.as_slice()).unwrap_or_default();
        let deciders = orchestrators(self.config, runtime.and_then(|r| r.orchestrator.clone()));
        Router::new(routing, self.config, self.seen.now, known, deciders)
    }

    fn held_by(&self, router: &Router<'_>) -> BTreeSet<String> {
        let all = self.seen.routing.profiles.keys().chain(self.seen.profiles.keys());
        all.filter(|p| router.state(p).is_held()).cloned().collect()
    }
}

impl Rules<'_> {
    /// Everything about one task that comes before the question why it is stuck.
    fn judge(&self, s: &SourceSeen) -> Verdict {
        let d = &s.detail;
        let profiles = self.seen.runtime.as_ref().map(|r| r.profiles.as_slice()).unwrap_or_default();
        if let Some(why) = word::hands_off(d, profiles) {
            return Verdict::Leave(why);
        }
        if let Some(card) = self.open.get(&d.task.id).and_then(|cards| cards.first()) {
            return self.attend(d, card);
        }
        let trouble = match trouble::trouble(s, self.seen, self.config) {
            Verdict::Stuck(trouble) => trouble,
            other => return other,
        };
        // Whatever card spoke of this attempt, its own or an incident's.
        let asked = history::asked(d);
        let newest = asked.iter().rev().find(|a| a.run == trouble.run);
        // A session outlives what went wrong with it, and may meet the next thing within the same attempt.
        let since = |a: &history::Asked| {
            let is_answered = a.status.as_ref().is_some_and(|s| *s != Status::Archived);
            is_answered && trouble.began.is_some_and(|began| began > a.at)
        };
        let anew = |a: &&history::Asked| {
            let left = word::has_left(d, &a.card);
            left || history::is_to_be_asked_again(d, &a.card) || jams_again(d, a) || since(a)
        };
        if let Some(newest) = newest.filter(|a| !anew(a)) {
            return history::closed(d, &newest.card, newest.status.as_ref());
        }
        Verdict::Stuck(trouble)
    }

    /// How many cards a task had today, where that is as many as it may have.
    fn used_up(&self, d: &Detail) -> Option<usize> {
        let today = |a: &&history::Asked| self.seen.now.since(a.at) < DAY;
        let made = history::asked(d).iter().filter(today).count();
        let most = usize::try_from(self.config.distress.max_cards).unwrap_or(usize::MAX);
        (made >= most).then_some(made)
    }

    /// A task whose card is open is the orchestrator's. What was still missing while its worker ran is done here, and what
    /// would be set free the moment the card closes, decided or not, is parked.
    fn attend(&self, d: &Detail, card: &str) -> Verdict {
        let Some(card) = self.cards.get(card).copied() else {
            return Verdict::Leave(format!("its distress card {card} is open"));
        };
        if card.parents.iter().any(|p| p.id == d.task.id) {
            return Verdict::Leave(format!(
                "its card {} waits for it, the wrong way round; route-blocked swaps the two",
                card.task.id
            ));
        }
        let known = self.seen.runtime.as_ref().map(|r| r.profiles.as_slice()).unwrap_or_default();
        if !route::cards::is_ours(card) && !route::cards::speaks_for(card, d, known) {
            return Verdict::Leave(format!("card {} was written by a worker of another task", card.task.id));
        }
        // Unblocked, reassigned or promoted since the card was made: that is the decision.
        let decided = route::decisions::since_card(d, card).iter().any(word::is_fresh_start);
        let loose = match d.task.status {
            Status::Ready | Status::Todo => true,
            Status::Blocked => history::is_loose(d, self.seen),
            _ => false,
        };
        // Whoever took the card off the task wants it to go on without. What was tied to it again since is its own again.
        let about = |e: &&Event| {
            matches!(e.kind.as_str(), "linked" | "unlinked")
                && e.payload.get("parent").and_then(serde_json::Value::as_str) == Some(&card.task.id)
        };
        let parted = d.events.iter().rev().find(about).is_some_and(|e| e.kind == "unlinked");
        if parted {
            return Verdict::Leave(format!("its distress card {} was unlinked from it", card.task.id));
        }
        let park = loose && !decided && d.task.claim_lock.is_none();
        // Parked without a link, nobody else would know that it waits for this card.
        let link = d.task.status != Status::Running
            && !d.parents.iter().any(|p| p.id == card.task.id)
            && (park || compose::wants_link(card));
        if link || park {
            return self.hold_to(d, card, link, park);
        }
        if decided && card.task.status != Status::Running {
            let id = &card.task.id;
            return Verdict::Leave(format!(
                "somebody decided about it since its card {id}; route-blocked closes that"
            ));
        }
        Verdict::Leave(format!("its distress card {} is open", card.task.id))
    }
}
