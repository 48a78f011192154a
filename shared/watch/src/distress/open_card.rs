//! What is done with a task whose card is open.

use serde_json::{Map, json};

use super::trouble::Verdict;
use super::{Rules, history};
use base::cause::Cause;
use base::time::backoff;
use board::hermes::{self, Trail};
use board::{Detail, Event, EventKind, Rule, Status, Step, StepAction};
use config::span::seconds;
use logs::provider::Profile;
use logs::provider::ledger::News;
use policy::cards::identity::{is_ours, made, since_card, speaks_for};
use policy::cards::queue::about;
use policy::cards::steps::{self, hold};
use policy::needs_operator::MOVED;
use policy::routing::facts;
use policy::{Profiles, authorship};

impl Rules<'_> {
    /// A task whose card is open is the orchestrator's. What was still missing while its worker ran is done here. A task that
    /// would become ready the moment the card closes, decided or not, is held.
    pub(super) fn attend(&self, d: &Detail, card: &str) -> Verdict {
        let Some(card) = self.writer.cards.get(card).copied() else {
            return Verdict::Leave(format!("its distress card {card} is open"));
        };
        if card.parents.iter().any(|p| p.id == d.task.id) {
            return Verdict::Leave(format!(
                "its card {} waits for it, the wrong way round; route-blocked swaps the two",
                card.task.id
            ));
        }
        let known = Profiles::of(self.seen.runtime.as_ref());
        if !is_ours(card) && !speaks_for(card, d, known) {
            return Verdict::Leave(format!("card {} was written by a worker of another task", card.task.id));
        }
        // Unblocked, reassigned or promoted since the card was made: that is the decision.
        let decided = since_card(d, card).iter().any(authorship::is_fresh_start);
        let loose = match d.task.status {
            Status::Ready | Status::Todo => true,
            Status::Blocked => history::is_loose(d, self.seen),
            _ => false,
        };
        // Unlinked from its card by hand, a task goes on without it. Linked again since, it waits for the card again.
        let about = |e: &&Event| {
            matches!(e.kind, EventKind::Linked | EventKind::Unlinked) && e.names_parent(&card.task.id)
        };
        let parted = d.events.iter().rev().find(about).is_some_and(|e| e.kind == EventKind::Unlinked);
        if parted {
            return Verdict::Leave(format!("its distress card {} was unlinked from it", card.task.id));
        }
        let park = loose && !decided && d.task.claim_lock.is_none();
        // Without a link, nothing else would show that the held task waits for this card.
        let link = d.task.status != Status::Running
            && !d.parents.iter().any(|p| p.id == card.task.id)
            && (park || steps::wants_link(card));
        if link || park {
            return self.hold_to(d, card, link, park);
        }
        if decided && card.task.status != Status::Running {
            let id = &card.task.id;
            return Verdict::Leave(format!(
                "an operator or agent decided about it after its card {id} was written; route-blocked closes the card"
            ));
        }
        Verdict::Leave(format!("its distress card {} is open", card.task.id))
    }

    /// Ties a task to its open card after the fact: the card becomes its parent, and it is held.
    fn hold_to(&self, d: &Detail, card: &Detail, link: bool, park: bool) -> Verdict {
        let (now, policy) = (self.seen.now, &self.config.heal);
        let until = now.plus(backoff(seconds(policy.hold), 0, seconds(policy.hold_max), &d.task.id));
        let (id, word) = (&card.task.id, about(card).map_or_else(|| "card".to_owned(), |(word, _)| word));
        let because = match (link, park) {
            (true, false) => format!("its worker has ended; card {id} decides"),
            (_, _) => {
                format!("its card {id} is open; held until {until}, so that it is not released undecided")
            }
        };
        let mut more = Map::new();
        more.insert("card".into(), json!(id));
        if park {
            more.insert("hold".into(), hold(&word, id, now, until));
            if self.is_moved(d, card) {
                more.insert(MOVED.into(), json!(true));
            }
        }
        let trail = Trail { more, ..self.pass.trail(Rule::OpenCard, &because) };
        let tie = hermes::Tie { card: id, link, park: park.then_some(until), cause: &word };
        let (action, changes) =
            (if park { StepAction::Park } else { StepAction::Link }, hermes::tied(d, tie, &trail));
        Verdict::Act(Box::new(Step { because, ..Step::on(d, action, Rule::OpenCard, changes) }))
    }

    /// Whether a task waits at another provider than the one that refused it and for which its card was made, or with another key where
    /// that was refused. One that was tried there since has its own word to that.
    fn is_moved(&self, d: &Detail, card: &Detail) -> bool {
        let Some(seen) = made(card).and_then(|e| facts::of_event(&card.task.id, e)) else { return false };
        let assignee = d.task.assignee.as_deref();
        if d.newest_run().is_none_or(|run| run.profile.as_deref() == assignee) {
            return false;
        }
        let is_key = matches!(seen.news, News::Bad { cause: Cause::Credential, .. });
        let is_other = |profile: &Profile| profile.pinned(&d.task.pin).id().is_surely_other(&seen.id);
        is_key || assignee.and_then(|name| self.profile(name)).is_some_and(is_other)
    }
}
