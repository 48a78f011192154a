//! Ways through what was seen that do not walk past every task and every card: a flood of cards must not cost its square.

use std::collections::{BTreeMap, BTreeSet};

use super::seen::{CardSeen, Seen};
use base::time::Time;
use board::Detail;
use policy::cards::identity::named;
use policy::cards::queue::Places;

/// Where everything stands among what was seen. All lists are in the order in which it was seen.
pub(super) struct Index<'a> {
    tasks: BTreeMap<&'a str, &'a Detail>,
    /// Work by the tasks it waits for.
    tied: BTreeMap<&'a str, Vec<&'a Detail>>,
    cards: BTreeMap<&'a str, (usize, &'a CardSeen)>,
    /// Cards by the task they name.
    naming: BTreeMap<String, Vec<&'a CardSeen>>,
    answered: BTreeMap<&'a str, (usize, &'a Detail)>,
    /// When the cards were made that take a place, the oldest first.
    at_work: Vec<(Time, &'a str)>,
}

impl<'a> Index<'a> {
    pub(super) fn of(seen: &'a Seen, places: &Places<'_>) -> Index<'a> {
        let mut index = Index {
            tasks: BTreeMap::new(),
            tied: BTreeMap::new(),
            cards: BTreeMap::new(),
            naming: BTreeMap::new(),
            answered: BTreeMap::new(),
            at_work: Vec::new(),
        };
        for d in &seen.tasks {
            index.tasks.entry(&d.task.id).or_insert(d);
            for parent in d.parents.iter().map(|p| p.id.as_str()).collect::<BTreeSet<_>>() {
                index.tied.entry(parent).or_default().push(d);
            }
        }
        for (nth, card) in seen.cards.iter().enumerate() {
            let t = &card.detail.task;
            index.cards.entry(&t.id).or_insert((nth, card));
            if let Some(source) = named(&card.detail) {
                index.naming.entry(source).or_default().push(card);
            }
            if places.takes_one(&card.detail) {
                index.at_work.push((t.created_at, &t.id));
            }
        }
        for (nth, card) in seen.answered.iter().enumerate() {
            index.answered.entry(&card.task.id).or_insert((nth, card));
        }
        index.at_work.sort_unstable();
        index
    }

    pub(super) fn task(&self, id: &str) -> Option<&'a Detail> {
        self.tasks.get(id).copied()
    }

    pub(super) fn card(&self, id: &str) -> Option<&'a CardSeen> {
        self.cards.get(id).map(|(_, card)| *card)
    }

    /// Which of these cards was seen first, of those that pass.
    pub(super) fn first_card(
        &self,
        ids: &[String],
        passes: impl Fn(&CardSeen) -> bool,
    ) -> Option<&'a CardSeen> {
        let known = ids.iter().filter_map(|id| self.cards.get(id.as_str()));
        known.filter(|(_, card)| passes(card)).min_by_key(|(nth, _)| *nth).map(|(_, card)| *card)
    }

    /// Tasks and cards that wait for a card.
    pub(super) fn tied(&self, card: &str) -> &[&'a Detail] {
        self.tied.get(card).map(Vec::as_slice).unwrap_or_default()
    }

    /// Open cards that name a task.
    pub(super) fn naming(&self, task: &str) -> &[&'a CardSeen] {
        self.naming.get(task).map(Vec::as_slice).unwrap_or_default()
    }

    /// The newest finished card of a task, of those that were looked at.
    pub(super) fn answered(&self, d: &Detail) -> Option<&'a Detail> {
        let ids = d.cards_made.iter().map(|c| &c.id).chain(d.parents.iter().map(|p| &p.id));
        let known = ids.filter_map(|id| self.answered.get(id.as_str()));
        known.max_by_key(|(nth, card)| (card.task.created_at, *nth)).map(|(_, card)| *card)
    }

    /// How many other cards take a place.
    pub(super) fn at_work_beside(&self, card: &Detail) -> usize {
        self.at_work.iter().filter(|(_, id)| *id != card.task.id).count()
    }

    /// How many of those were made before another card.
    pub(super) fn at_work_before(&self, card: &Detail) -> usize {
        let (at, id) = (card.task.created_at, card.task.id.as_str());
        self.at_work.partition_point(|other| *other < (at, id))
    }
}
