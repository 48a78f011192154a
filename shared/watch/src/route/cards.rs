//! Open cards: made whole where no watcher wrote them, given to an orchestrator that can take them, and closed when
//! their task has gone on.

mod desk;
mod form;

use serde_json::json;

use super::decisions::says_on;
use super::holds::is_claimed;
use super::seen::CardSeen;
use super::{Orchestrators, Rules};
use base::registry::SYNTHESIZE_DISTRESS;
use base::time::Time;
use board::{Detail, Event, EventKind, HandOver, Rule, Status, StepAction, hermes};
use card::{self, id_word};
use config::span::seconds;
use policy::authorship::{self, HAND, our_hold, was_given};
use policy::cards::identity::{is_incident, is_ours, named, since_card, speaks_for};
use policy::cards::session;
use policy::remedy;
use policy::routing::moving::Why;

/// Seconds an incident's card stays open after the last task joined it: the next one may come yet.
const QUIET: i64 = 3_600;

impl<'a> Rules<'a> {
    /// Cards that are about to be closed are on their way to nobody: what they would have taken is free for others.
    pub(super) fn withdraw_what_is_over(&mut self) {
        for card in &self.seen.cards {
            let d = &card.detail;
            if !is_claimed(d) && self.is_over(d, &self.sources(d)).is_some() {
                self.router.withdraw(&d.task.id);
                self.over.insert(&d.task.id);
            }
        }
    }

    /// Looks after every open card.
    pub(super) fn look_after_cards(&mut self, orchestrators: Orchestrators<'_>) {
        for card in &self.seen.cards {
            let d = &card.detail;
            let about = self.sources(d).into_iter().chain([d]);
            if about.into_iter().all(|d| self.is_left_out(&d.task.id)) || self.touched.contains(&d.task.id) {
                continue;
            }
            self.one_card(card, orchestrators);
        }
    }

    /// Tasks a card is about: the one it names first, then those that were tied to it.
    pub(super) fn sources(&self, card: &Detail) -> Vec<&'a Detail> {
        let is_work = |d: &&'a Detail| !d.task.is_card();
        let named = named(card).and_then(|id| self.task(&id)).filter(is_work);
        let others = self.index.tied(&card.task.id).iter().copied().filter(is_work);
        let others = others.filter(|d| named.is_none_or(|n| n.task.id != d.task.id));
        named.into_iter().chain(others).collect()
    }

    fn one_card(&mut self, card: &'a CardSeen, orchestrators: Orchestrators<'_>) {
        let d = &card.detail;
        if authorship::undone(d).is_some() {
            return self.leave(d, "undone by hand; skipped until something else happens to it");
        }
        let sources = self.sources(d);
        self.untie_freed(d, &sources);
        if is_claimed(d) {
            self.swap_link(d);
            return;
        }
        if let Some(why) = self.is_over(d, &sources) {
            sources.iter().for_each(|s| self.before_promotion(s, d));
            let why = self.with_refusal(card, Why::new(Rule::MovedOn, why));
            let mut step = self.scribe.closed(d, &why);
            let touched = sources.iter().map(|s| &s.task.id).filter(|id| self.touched.contains(*id));
            step.after = if is_incident(d) { touched.cloned().collect() } else { Vec::new() };
            self.push(step);
            return;
        }
        if sources.is_empty() {
            // Even so its end must not delete a folder that is not its own.
            if let Some(step) = self.own_folder(d) {
                return self.push(step);
            }
            let what = "names no task of this board, so nobody can act on it";
            let id = &d.task.id;
            let mend = self.verb(&[if self.seen.own_board { "complete" } else { "archive" }, &id_word(id)]);
            return self.tell_once(d, "no-source", &format!("card {id} {what}"), &mend);
        }
        if let Some(asks) = self.is_second(d, sources[0]) {
            let why = format!("card {asks} asks about {} already", sources[0].task.id);
            let step = self.scribe.closed(d, &self.with_refusal(card, Why::new(Rule::SecondCard, why)));
            return self.push(step);
        }
        // What is over is over, whichever profile took it; the rest depends on who takes it.
        let orchestrators = match orchestrators {
            Ok(orchestrators) => orchestrators,
            Err(why) => return self.leave_unknown(d, why),
        };
        if let Some(step) = self.made_whole(d, sources[0], orchestrators) {
            self.push(step);
            return self.tie(d, sources[0]);
        }
        self.tell_of_another(d, orchestrators);
        self.tie(d, sources[0]);
        let ours = d.task.status == Status::Scheduled && our_hold(d).is_some();
        if let Some(why) = self.nobody_left(orchestrators).filter(|_| ours || d.task.status == Status::Ready)
        {
            return self.close_for_a_person(card, &sources, HandOver::NoOrchestrator, why);
        }
        match d.task.status {
            Status::Ready if self.is_too_many(d) => self.queue(d),
            Status::Ready => self.takes_it(card, &sources, orchestrators),
            Status::Blocked | Status::Triage => self.failed(card, &sources, orchestrators),
            Status::Todo => self.waits_for_another(d),
            Status::Scheduled
                if our_hold(d).is_none() && d.events.last().is_none_or(|e| e.by() != Some(HAND)) =>
            {
                let (id, hand) = (&d.task.id, self.hand());
                let what = format!(
                    "card {id} was scheduled outside Watchbill, and nobody takes it before that ends"
                );
                self.tell_once(d, "card-scheduled", &what, &format!("{hand} unblock {}", id_word(id)));
            }
            Status::Review => {
                let what = format!("card {} is in review, and its task waits for that", d.task.id);
                let seen = self.seen;
                let flags = ::card::board_flags(seen.slug.as_deref(), seen.switched, &seen.db);
                let accept = remedy::accept(&self.hand(), &id_word(&d.task.id), seen.own_board, &flags);
                self.tell_once(d, "card-review", &what, &accept);
            }
            _ => {}
        }
    }

    /// Another card that asks about the same task and was there before: one cause, one open card. Only a card that no watcher
    /// wrote gives way.
    fn is_second(&self, card: &Detail, source: &Detail) -> Option<&'a str> {
        let before = |c: &&&'a CardSeen| {
            let other = &c.detail;
            other.task.id != card.task.id
                && (other.task.created_at, &other.task.id) < (card.task.created_at, &card.task.id)
                && !authorship::has_left(source, &other.task.id)
                && !self.touched.contains(&other.task.id)
        };
        if is_ours(card) || was_given(card) {
            return None;
        }
        self.index.naming(&source.task.id).iter().find(before).map(|c| c.detail.task.id.as_str())
    }

    /// Whether nothing is left to be decided: every task it is about has gone on.
    fn is_over(&self, card: &Detail, sources: &[&Detail]) -> Option<String> {
        let mut said = Vec::new();
        for d in sources {
            if self.is_tried_again(d, card) {
                return None;
            }
            // Released or moved in this very pass, it leaves an incident's card to the others.
            if self.touched.contains(&d.task.id) && is_incident(card) {
                said.push(format!("{} goes on", d.task.id));
                continue;
            }
            said.push(gone_on(d, card)?);
        }
        if is_incident(card) {
            let joined = sources.iter().flat_map(|d| &d.events);
            let joined = joined.filter(|e| e.kind == EventKind::Linked && e.names_parent(&card.task.id));
            let is_past = |at: &Time| !at.is_ahead_of(self.seen.now);
            let last = joined
                .map(|e| e.at)
                .filter(is_past)
                .max()
                .unwrap_or(card.task.created_at)
                .max(card.task.created_at);
            if self.seen.now.since(last) < QUIET {
                return None;
            }
        }
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// Whether the runtime tries a refused task again by itself, with the profile it has: seconds after it died, and mostly
    /// refused again. Only an attempt that lasts counts as going on; a card for each would use up all cards of a day.
    fn is_tried_again(&self, d: &Detail, card: &Detail) -> bool {
        let Some(run) = d.current_run().filter(|_| recorded(card, "case") == Some("repeated")) else {
            return false;
        };
        let decided = since_card(d, card).iter().any(says_on);
        let young = self.seen.now.since(run.started_at) < seconds(self.config.heal.hold);
        !decided && young && run.profile.as_deref() == recorded(card, "profile")
    }

    /// No worker ever takes a card that waits for its own task; on one that is being worked on only this is changed.
    fn swap_link(&mut self, card: &'a Detail) {
        let source = named(card);
        let Some(own) = card.parents.iter().find(|p| Some(&p.id) == source.as_ref()) else { return };
        let why =
            Why::new(Rule::Normalise, format!("{} waited for {}, which waits for it", card.task.id, own.id));
        let step = self
            .scribe
            .step(card, StepAction::Normalise, &why, |t| hermes::unlinked(&card.task.id, &own.id, t));
        self.push(step);
    }

    /// Takes tasks off a card that goes on, for others or with its worker, where they were unblocked outside Watchbill since: the
    /// runtime promotes none of them before the card is closed.
    fn untie_freed(&mut self, card: &Detail, sources: &[&'a Detail]) {
        if !is_claimed(card) && !is_incident(card) {
            return;
        }
        for d in sources {
            let waits = |p: &board::Kin| p.id != card.task.id && !p.status.frees_children();
            let tied = |e: &board::Event| e.kind == EventKind::Linked && e.names_parent(&card.task.id);
            let at = d.events.iter().rposition(tied).map_or(0, |at| at + 1);
            let freed = |e: &board::Event| {
                matches!(e.kind, EventKind::Unblocked | EventKind::PromotedManual)
                    && authorship::starts_anew(d, e)
                    && e.at >= card.task.created_at
            };
            let is_freed = d.task.status == Status::Todo
                && d.task.claim_lock.is_none()
                && d.parents.iter().any(|p| p.id == card.task.id)
                && !d.parents.iter().any(waits)
                && d.events[at..].iter().any(freed);
            if !is_freed
                || self.touched.contains(&d.task.id)
                || self.is_left_out(&d.task.id)
                || self.hands_off(d).is_some()
            {
                continue;
            }
            let because =
                format!("unblocked outside Watchbill, so it waits for card {} no longer", card.task.id);
            let why = Why::new(Rule::Normalise, because).fact("card", json!(card.task.id));
            let own_board = self.seen.own_board;
            let step = self.scribe.step(d, StepAction::Normalise, &why, |t| {
                let mut changes = hermes::unlinked(&d.task.id, &card.task.id, t);
                // A dispatcher promotes it by itself.
                if own_board {
                    changes.extend(hermes::promoted(d, t));
                }
                changes
            });
            self.push(step);
        }
    }

    /// Makes a card the parent of its stopped task, so that the task waits for the decision. Work that runs or is about to
    /// is skipped.
    fn tie(&mut self, card: &Detail, source: &'a Detail) {
        let t = &source.task;
        let stopped = matches!(t.status, Status::Blocked | Status::Scheduled | Status::Todo);
        let parted = |e: &board::Event| e.kind == EventKind::Unlinked && e.names_parent(&card.task.id);
        let known = source.parents.iter().any(|p| p.id == card.task.id) || source.events.iter().any(parted);
        // A watcher ties the cards it makes. A card by a stranger holds no task, and one that waits itself would close a circle.
        let waits = card.parents.iter().any(|p| p.id != t.id && !p.status.frees_children());
        let left = is_ours(card) || waits || !self.speaks_for(card, source);
        let left = left || self.touched.contains(&t.id) || self.is_left_out(&t.id);
        if !stopped || known || left || t.claim_lock.is_some() || self.hands_off(source).is_some() {
            return;
        }
        let why = Why::new(Rule::Normalise, format!("waits for its card {}", card.task.id))
            .fact("card", json!(card.task.id));
        let step = self
            .scribe
            .step(source, StepAction::Link, &why, |trail| hermes::linked_as_is(&t.id, &card.task.id, trail));
        self.push(step);
    }

    /// Whether a card may stop a task: a watcher's, one that its own worker wrote, or a person's. Any other worker may ask
    /// about a task and not hold it up.
    fn speaks_for(&self, card: &Detail, source: &Detail) -> bool {
        is_ours(card) || speaks_for(card, source, self.known)
    }

    /// A command of this board's own program.
    pub(super) fn verb(&self, words: &[&str]) -> String {
        format!("{} {}", self.hand(), words.join(" "))
    }

    /// Whether a watcher gave a card to this profile, on a board that several hosts share: it may be the orchestrator that another host names.
    /// Were it taken away here, that host would give it back.
    pub(super) fn is_named(&self, card: &Detail, profile: &str) -> bool {
        let says_who = |e: &&Event| matches!(e.kind, EventKind::Created | EventKind::Assigned);
        let named = || card.events.iter().rev().find(says_who).is_some_and(authorship::is_ours);
        self.seen.shared && card.task.assignee.as_deref() == Some(profile) && named()
    }

    /// Reports a card whose orchestrator this host does not name.
    fn tell_of_another(&mut self, card: &'a Detail, orchestrators: &[String]) {
        let Some(who) = card.task.assignee.as_ref().filter(|who| !orchestrators.contains(who)) else {
            return;
        };
        let Some(ours) = orchestrators.first().filter(|_| self.is_named(card, who)) else { return };
        let what = format!(
            "another host gave card {} to {who}, and the orchestrator of this one is {ours}",
            card.task.id
        );
        self.tell_once(
            card,
            "orchestrators",
            &what,
            "set the same distress.orchestrator on all hosts of this board",
        );
    }

    /// Whether there is such a profile, as far as is known.
    pub(super) fn exists(&self, profile: &str) -> bool {
        !profile.is_empty() && self.known.has(profile) != Some(false)
    }
}

/// What `synthesize-distress` wrote down as it made a card.
fn recorded<'d>(card: &'d Detail, key: &str) -> Option<&'d str> {
    let by_distress = |e: &&Event| e.kind == EventKind::Created && e.by() == Some(SYNTHESIZE_DISTRESS);
    card.events.iter().find(by_distress)?.trail()?.get(key)?.as_str()
}

/// How a task has gone on since its card was made, if it has.
pub(super) fn gone_on(d: &Detail, card: &Detail) -> Option<String> {
    let (t, since) = (&d.task, card.task.created_at);
    if t.status.frees_children() {
        return Some(format!("{} is {}", t.id, t.status));
    }
    if authorship::has_left(d, &card.task.id) {
        return Some(format!("{} was taken off it", t.id));
    }
    let word = recorded(card, "word").filter(|_| recorded(card, "case") == Some(Rule::Session.as_str()));
    if word.is_some_and(|word| session::has_ended(d, word)) {
        return Some(format!("{} goes on: what was found of its session has ended", t.id));
    }
    let run = d.newest_run().filter(|r| t.status == Status::Running && r.ended_at.is_none());
    // Another attempt than the one the card was written about.
    let about = card
        .events
        .iter()
        .find(|e| e.kind == EventKind::Created)
        .and_then(|e| e.payload.get("run_id")?.as_i64());
    if let Some(run) = run.filter(|r| r.started_at > since && about.is_none_or(|a| r.id > a)) {
        let who = run.profile.as_deref().unwrap_or("somebody");
        return Some(format!("{} runs again, with {who}", t.id));
    }
    let said = since_card(d, card).iter().rev().find(|e| says_on(e));
    said.map(|e| format!("{}: {} since the card was made", t.id, e.kind))
}
