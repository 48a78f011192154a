//! `synthesize-distress`: writes the `[BLOCKED]` card for a worker that cannot.
//!
//! It finds out why an attempt really ended (the board's own rows often say only that a pid is gone), parks what would
//! run into the same wall again, and asks the orchestrator once, with evidence. It never writes a card about a card, and
//! never touches the work itself.

pub(crate) mod by_hand;
mod compose;
mod history;
mod incident;
mod observe;
mod queue;
pub mod seen;
#[cfg(test)]
mod tests;
mod trouble;
mod wording;

use std::collections::{BTreeMap, BTreeSet};

use self::seen::{Seen, SourceSeen};
use self::trouble::{Trouble, Verdict};
use super::{Decision, Left, Pass, Watcher, World, word};
use crate::board::{Detail, Status};
use crate::config::Config;
use crate::distress;
use crate::error::Result;
use crate::time::Time;

/// The watcher.
#[derive(Debug, Clone, Copy, Default)]
pub struct SynthesizeDistress;

impl Watcher for SynthesizeDistress {
    type Seen = Seen;
    const NAME: &'static str = NAME;

    fn observe(&self, world: &mut World<'_>, pass: &Pass) -> Result<Seen> {
        observe::observe(world, pass)
    }

    fn decide(&self, seen: &Seen, pass: &Pass, config: &Config) -> Decision {
        decide(seen, pass, config)
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

/// Who takes the cards where nothing else is said.
const ORCHESTRATOR: &str = "tuesday";

/// Seconds in which the cards of one task are counted.
const DAY: i64 = 86_400;

/// What every rule may look at.
struct Rules<'a> {
    seen: &'a Seen,
    pass: &'a Pass,
    config: &'a Config,
    /// Open cards by their source, whoever made them and however they name it.
    open: BTreeMap<String, BTreeSet<String>>,
}

/// Decides on everything that was seen. Pure: the same facts give the same steps.
pub fn decide(seen: &Seen, pass: &Pass, config: &Config) -> Decision {
    let mut decision = Decision::default();
    if let Some(fault) = &seen.clock_fault {
        if !seen.sources.is_empty() {
            decision.findings.push(format!("clock: {fault}; nothing is done by time until it is sane"));
        }
        return decision;
    }
    let rules = Rules { seen, pass, config, open: open_cards(seen) };
    let mut queue = queue::Queue::new(&rules);
    queue.release(&rules, &mut decision);
    let mut stuck: Vec<(&SourceSeen, Trouble)> = Vec::new();
    let asked = |s: &&SourceSeen| pass.only.as_ref().is_none_or(|only| *only == s.detail.task.id);
    for s in seen.sources.iter().filter(asked) {
        let leave =
            |because: String, unknown: bool| Left { task: s.detail.task.id.clone(), because, unknown };
        match rules.judge(s) {
            Verdict::Stuck(trouble) => stuck.push((s, *trouble)),
            Verdict::Fine => {}
            Verdict::Leave(because) => decision.left.push(leave(because, false)),
            Verdict::Unknown(because) => decision.left.push(leave(because, true)),
            Verdict::Finding(what) => decision.findings.push(what),
            Verdict::Act(step) => decision.steps.push(*step),
        }
    }
    incident::plan(&rules, stuck, &mut queue, &mut decision);
    rules.look_after_cards(&mut decision);
    decision
}

/// Whether a source has an open card, by whatever sign: its key, its title, a link, or what the card's own first event says.
fn open_cards(seen: &Seen) -> BTreeMap<String, BTreeSet<String>> {
    let mut open: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut note = |source: &str, card: &str| {
        open.entry(source.to_owned()).or_default().insert(card.to_owned());
    };
    for card in &seen.cards {
        for source in sources_of(card) {
            note(&source, &card.task.id);
        }
    }
    for d in seen.sources.iter().map(|s| &s.detail).chain(&seen.others) {
        for card in &d.cards {
            note(&d.task.id, card);
        }
        // A card is one by its key too, whatever somebody made of its title.
        for p in d.parents.iter().filter(|p| seen.cards.iter().any(|c| c.task.id == p.id)) {
            note(&d.task.id, &p.id);
        }
    }
    open
}

/// The sources a card names by itself.
fn sources_of(card: &Detail) -> BTreeSet<String> {
    let title = distress::read_title(&card.task.title).map(|(source, _)| source);
    let body = distress::Distress::parse(&card.body).map(|d| d.source);
    let created = card.events.iter().find(|e| e.kind == "created");
    let recorded = created.and_then(|e| e.payload.get("source_task")?.as_str().map(str::to_owned));
    title.into_iter().chain(body).chain(recorded).collect()
}

impl Rules<'_> {
    /// Everything about one task that comes before the question why it is stuck.
    fn judge(&self, s: &SourceSeen) -> Verdict {
        let d = &s.detail;
        let profiles = self.seen.runtime.as_ref().map(|r| r.profiles.as_slice()).unwrap_or_default();
        if word::is_opted_out(d, profiles) {
            return Verdict::Leave("marked `watchbill: no-heal`".into());
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
        if let Some(newest) = asked.iter().rev().find(|a| a.run == trouble.run) {
            return match newest.status {
                Some(Status::Archived) => {
                    Verdict::Leave(format!("its card {} was archived: somebody said no", newest.card))
                }
                _ => Verdict::Finding(format!(
                    "{} is still {}: its card {} was completed without a decision; reassign and unblock it, or say what \
                     it waits for",
                    d.task.id, d.task.status, newest.card
                )),
            };
        }
        let made = asked.iter().filter(|a| self.seen.now.since(a.at) < DAY).count();
        if made >= usize::try_from(self.config.distress.max_cards).unwrap_or(usize::MAX) {
            return self.to_a_person(s, &trouble, made);
        }
        Verdict::Stuck(trouble)
    }

    /// A task whose card is open is the orchestrator's. What was still missing while its worker ran is done here, and what
    /// would be set free the moment the card closes, decided or not, is parked.
    fn attend(&self, d: &Detail, card: &str) -> Verdict {
        let Some(card) = self.seen.cards.iter().find(|c| c.task.id == card) else {
            return Verdict::Leave(format!("its distress card {card} is open"));
        };
        if card.parents.iter().any(|p| p.id == d.task.id) {
            return Verdict::Finding(format!(
                "card {} waits for its own task {}, so nobody ever takes it; unlink the two (hermes kanban unlink {} {})",
                card.task.id, d.task.id, d.task.id, card.task.id
            ));
        }
        // Unblocked, reassigned or promoted since the card was made: that is the decision.
        let decided = d.events.iter().any(|e| e.at >= card.task.created_at && word::is_fresh_start(e));
        let loose = match d.task.status {
            Status::Ready | Status::Todo => true,
            Status::Blocked => history::is_loose(d, self.seen),
            _ => false,
        };
        // Whoever took the card off the task wants it to go on without.
        let parted = d.events.iter().any(|e| {
            e.kind == "unlinked"
                && e.payload.get("parent").and_then(serde_json::Value::as_str) == Some(&card.task.id)
        });
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
            return Verdict::Finding(format!(
                "card {}: its task {} was decided about since; complete or archive the card, which holds it back",
                card.task.id, d.task.id
            ));
        }
        Verdict::Leave(format!("its distress card {} is open", card.task.id))
    }
}
