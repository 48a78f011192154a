//! Cards and their orchestrator: who can take a card, and what becomes of one that nobody answers.

use serde_json::json;

use super::gone_on;
use crate::route::Rules;
use crate::route::seen::CardSeen;
use base::cause::Cause;
use base::quote;
use base::registry::SYNTHESIZE_DISTRESS;
use base::time::words;
use board::several_hosts::log_is_on;
use board::{Detail, EventKind, HandOver, Rule, Status, StepAction, hermes};
use card::{id_word, task_words};
use config::span::seconds;
use logs::LogEnd;
use logs::provider::Id;
use logs::provider::ledger::State;
use policy::attempts::ended;
use policy::needs_operator::{self, card_turn};
use policy::remedy;
use policy::routing::moving::{Parting, Why};
use policy::routing::router::Router;
use policy::runtime::Dispatcher;

impl<'a> Rules<'a> {
    /// A ready card: can its orchestrator take it, and does it?
    pub(super) fn takes_it(&mut self, card: &'a CardSeen, sources: &[&'a Detail], orchestrators: &[String]) {
        let d = &card.detail;
        let who = d.task.assignee.clone().unwrap_or_default();
        let held = self.router.state_for(&d.task).is_held();
        if !held && self.places.is_a_persons(d) {
            // It was given to a person on purpose, and no dispatcher starts a person.
            let why = if self.seen.own_board { "who does not work here" } else { "who has no profile" };
            let who = quote::inline(&who, 64);
            let what = format!("card {} was given to {who}, {why}, and waits for their decision", d.task.id);
            let to = self.usable(orchestrators).unwrap_or_else(|| "PROFILE".into());
            let mend = format!(
                "an orchestrator takes it after {}",
                self.verb(&["reassign", &id_word(&d.task.id), &to])
            );
            return self.tell_once(d, "card-given", &what, &mend);
        }
        if held || !self.exists(&who) {
            return self.stand_in(card, &who, held, orchestrators);
        }
        let patience = seconds(self.config.routing.unclaimed);
        let Some(untaken) = needs_operator::untaken(d, self.seen.now, patience) else { return };
        let waited = self.seen.now.since(self.seen.takers_since.map_or(untaken, |at| at.max(untaken)));
        if waited < patience {
            return;
        }
        if self.seen.in_turn.contains(&d.task.id) {
            let so_far = words(waited);
            return self.leave(d, format!("waits for a free place for {so_far}: other work has them all"));
        }
        let dispatcher = self.seen.runtime.as_ref().map(|r| &r.dispatcher);
        if matches!(dispatcher, Some(Dispatcher::Absent)) || self.seen.own_board {
            // Nobody takes anything here; that is not this card's fault.
            let what =
                format!("card {} was not claimed for {}, and no dispatcher runs", d.task.id, words(waited));
            self.tell_once(d, "unclaimed", &what, remedy::untaken(self.seen.own_board));
            return;
        }
        self.close_for_a_person(
            card,
            sources,
            HandOver::CardUnclaimed,
            format!("nobody claimed it for {}", words(waited)),
        );
    }

    /// Why no orchestrator will ever take a card: the providers of all there are were tried as often as allowed, and no hold
    /// on them ends by itself.
    pub(super) fn nobody_left(&self, orchestrators: &[String]) -> Option<String> {
        let there: Vec<&String> = orchestrators.iter().filter(|p| self.exists(p)).collect();
        let given_up = |p: &&String| self.router.state(p) == State::GivenUp;
        let all = !there.is_empty() && there.iter().all(given_up);
        all.then(|| format!("the provider of {} was given up, and no other orchestrator works", there[0]))
    }

    /// A card that was made to wait for another task: nobody takes it before that.
    pub(super) fn waits_for_another(&mut self, card: &'a Detail) {
        let Some(first) = card.parents.iter().find(|p| !p.status.frees_children()) else { return };
        let (id, hand) = (&card.task.id, self.hand());
        let what = format!("card {id} waits for {}, and nobody takes it before that", first.id);
        let mend = format!("{hand} unlink {}", task_words(&[id_word(&first.id), id_word(id)]));
        self.tell_once(card, "card-waits", &what, &mend);
    }

    /// A card whose orchestrator could not answer. Where that lay with a provider, another one takes it; the rest is a
    /// person's.
    pub(super) fn failed(&mut self, card: &'a CardSeen, sources: &[&'a Detail], orchestrators: &[String]) {
        let d = &card.detail;
        let who = d.newest_run().and_then(|r| r.profile.clone()).or_else(|| d.task.assignee.clone());
        let who = who.unwrap_or_default();
        let limited = card.cause.is_some_and(Cause::lies_with_provider) || self.router.state(&who).is_held();
        match card_turn(d).map(|e| &e.kind) {
            Some(EventKind::GaveUp) if limited => self.stand_in(card, &who, true, orchestrators),
            Some(EventKind::GaveUp) => {
                if let Some(host) = &card.elsewhere {
                    return self.leave(d, log_is_on(host));
                }
                let said = card_turn(d).and_then(|e| e.payload.get("error")?.as_str());
                let cause = card.cause.or_else(|| ended::cause(d, &LogEnd::Absent, said));
                let why = cause.map_or_else(|| "for an unknown reason".into(), |c| format!("on {c}"));
                self.close_for_a_person(
                    card,
                    sources,
                    HandOver::CardFailed,
                    format!("its orchestrator gave up {why}"),
                );
            }
            Some(EventKind::BlockLoopDetected) => {
                self.close_for_a_person(
                    card,
                    sources,
                    HandOver::CardFailed,
                    "it was blocked twice for the same reason".into(),
                );
            }
            // Its orchestrator asks a person by blocking it.
            _ => {
                let (id, hand) = (&d.task.id, self.hand());
                let what = format!("card {id} is {} and waits for a person", d.task.status);
                let mend = match d.task.status {
                    Status::Triage => remedy::out_of_triage_told(&hand, &id_word(id), self.seen.own_board),
                    _ => remedy::answer(&hand, &id_word(id), self.seen.own_board),
                };
                self.tell_once(d, "card-blocked", &what, &mend);
            }
        }
    }

    /// Gives a card to an orchestrator that works, or holds it until one does.
    pub(super) fn stand_in(&mut self, card: &'a CardSeen, who: &str, held: bool, orchestrators: &[String]) {
        let d = &card.detail;
        if let Some(why) = self.router.unknown() {
            return self.leave_unknown(d, format!("its provider refuses {who}, and {why}"));
        }
        let failed = Id::new(None, card.host.as_deref());
        let works = |p: &String| p != who && !held_same(&self.router, p, &failed);
        let other = orchestrators
            .iter()
            .find(|p| self.exists(p) && !self.router.state(p).is_held() && works(p))
            .cloned();
        let (_, make) = remedy::no_orchestrator(who, self.is_unlisted(who));
        let problem = match held {
            true => "its provider refuses",
            false if self.is_unlisted(who) => "`kanban.dispatch_profiles` does not list it",
            false => "there is no such profile",
        };
        let Some(to) = other else {
            let until = self.router.standing(who).filter(|(_, s)| s.is_held()).map(|(e, _)| e.until);
            let until = until
                .unwrap_or(self.seen.now.plus(seconds(self.config.heal.hold)))
                .max(self.seen.now.plus(60));
            let because = format!("{who} cannot take it ({problem}), and no other orchestrator works");
            let mend = match held {
                true => "name another one: orchestrator.fallbacks in the configuration".to_owned(),
                false => make,
            };
            let hold = json!({"owner": SYNTHESIZE_DISTRESS, "cause": because, "key": d.task.id, "until": until.0, "next": until.0});
            let why = Why::new(Rule::NoOrchestrator, format!("{because}; {mend}"));
            let why = self.with_refusal(card, why).fact("hold", hold);
            let step = self.scribe.step(d, StepAction::ParkCard, &why, |trail| {
                hermes::held(d, "no-orchestrator", until, trail)
            });
            return self.push(step);
        };
        let why = Why::new(Rule::StandIn, format!("{who} cannot take it ({problem}); {to} does"));
        let why = self.scribe.with_tree(d, self.with_refusal(card, why));
        let step = self.scribe.step(d, StepAction::StandIn, &why, |trail| hermes::moved(d, &to, &[], trail));
        self.push(step);
    }

    /// A reason that carries on what the end of the orchestrator's attempt shows of its provider, as long as the board does
    /// not say so yet.
    pub(in crate::route) fn with_refusal(&self, card: &CardSeen, why: Why) -> Why {
        let d = &card.detail;
        let Some((cause, run)) = card.cause.zip(d.newest_run()).filter(|_| !card.is_known) else {
            return why;
        };
        let who = run.profile.as_deref().or(d.task.assignee.as_deref()).unwrap_or_default();
        let id = self.router.profile(who).pinned(&run.pin).id();
        why.cause(Some(cause))
            .fact("provider", json!(id.name))
            .fact("host", json!(card.host.clone().or(id.host)))
            .fact("profile", json!(who))
            .fact("run", json!(run.id))
            .fact("began", json!(run.started_at.0))
            .fact("seen", json!(card.refused_at(run).map(|at| at.0)))
            .fact("resets", json!(card.resets.map(|r| r.0)))
    }

    /// Closes a card that nobody answers, and leaves its tasks to a person.
    pub(super) fn close_for_a_person(
        &mut self,
        seen: &'a CardSeen,
        sources: &[&'a Detail],
        handed: HandOver,
        why: String,
    ) {
        let card = &seen.detail;
        let id = &card.task.id;
        // A pass over one task leaves the others of an incident alone.
        if sources.iter().any(|d| self.is_left_out(&d.task.id)) {
            return;
        }
        let because = format!("needs a person: {why}");
        let mut changed = Vec::new();
        for d in sources {
            if !self.speaks_for(card, d) {
                continue;
            }
            let open =
                matches!(d.task.status, Status::Scheduled | Status::Todo | Status::Blocked | Status::Ready);
            let free = d.task.claim_lock.is_none() && !self.touched.contains(&d.task.id);
            if gone_on(d, card).is_some() || !open || !free || self.hands_off(d).is_some() {
                continue;
            }
            let why = Why::new(Rule::NeedsAPerson, format!("its card {id}: {why}")).fact("card", json!(id));
            let step = self.scribe.person(d, &handed, why, &Parting::Closed(id.clone()));
            changed.push(d.task.id.clone());
            self.push(step);
        }
        // Closed first, a card would set its tasks free.
        let why = self.with_refusal(seen, Why::new(Rule::NeedsAPerson, because));
        let mut closed = self.scribe.closed(card, &why);
        closed.after = changed;
        self.push(closed);
    }

    /// The first orchestrator that exists and whose provider answers.
    pub(super) fn usable(&self, orchestrators: &[String]) -> Option<String> {
        let all = orchestrators.iter().filter(|p| self.exists(p));
        let (good, rest): (Vec<&String>, Vec<&String>) = all.partition(|p| !self.router.state(p).is_held());
        good.into_iter().chain(rest).next().cloned()
    }
}

fn held_same(router: &Router<'_>, profile: &str, failed: &Id) -> bool {
    router.profile(profile).id().is_same(failed)
}
