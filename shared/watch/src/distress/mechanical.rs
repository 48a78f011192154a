//! What needs no judgement: work that a provider refused goes to another one in the very step that writes its card, which is
//! then settled as it is made. A `ready` card would be taken by the orchestrator within one tick, and the move would lose.

use serde_json::{Value, json};

use super::Rules;
use base::time::DAY;
use board::hermes::{self, CardAbout};
use board::{CardMade, Detail, Event, EventKind, Rule, Status, Step};
use config::span::seconds;
use logs::provider::Id;
use logs::provider::ledger::{News, Sighting, State};
use policy::cards::seen::SourceSeen;
use policy::cards::writer::Trouble;
use policy::cards::{asked, steps};
use policy::clock::is_within;
use policy::routing::holds::park_ready;
use policy::routing::moving::{Parting, Scribe, Why, ask, is_ours_to_move};
use policy::routing::router::{Choice, Router, Target};
use policy::{Profiles, authorship};

/// What becomes of a stuck task without a question to the orchestrator.
pub(super) enum Settled {
    /// This.
    Step(Box<Step>),
    /// Nothing, for this reason.
    Leave(String),
    /// A card that waits: it is moved once its worker has ended.
    Later,
    /// It was moved as often as allowed; the orchestrator must be asked for something else.
    Spent(String),
    /// Nothing; the orchestrator must be asked, for this reason where a fallback is known.
    Ask(Option<String>),
}

impl Rules<'_> {
    /// What a trouble shows of its provider.
    pub(super) fn sighting(&self, s: &SourceSeen, t: &Trouble) -> Option<Sighting> {
        let cause = t.cause.filter(|c| c.lies_with_provider())?;
        let run = s.detail.newest_run()?;
        let refused = t.evidence.as_ref().map(|e| e.refused_at(self.seen.now));
        Some(Sighting {
            id: self.writer.id(s, t),
            profile: run.profile.clone().or_else(|| s.detail.task.assignee.clone()),
            task: s.detail.task.id.clone(),
            at: refused.unwrap_or(self.seen.now),
            began: run.started_at,
            news: News::Bad { cause, resets: t.evidence.as_ref().and_then(|e| e.resets) },
        })
    }

    fn scribe(&self) -> Scribe<'_> {
        Scribe { pass: self.pass, config: self.config, now: self.seen.now, trees: &self.seen.trees }
    }

    /// Settles one trouble by rule, where the rules reach so far.
    pub(super) fn settle(&self, router: &mut Router<'_>, s: &SourceSeen, t: &Trouble) -> Settled {
        let d = &s.detail;
        let bound = t.blocker.lies_with_provider();
        let question = ask(router, d, t.blocker, Some(self.writer.id(s, t)).filter(Id::is_known));
        // Under a living worker nothing is moved; its card is there, and wakes nobody as long as a rule will do.
        if bound && matches!(t.case, Rule::Repeated | Rule::Session) {
            let by_rule = matches!(router.choose(&question), Choice::Move(_) | Choice::Wait { .. });
            return match by_rule {
                true => Settled::Later,
                false if self.was_asked_lately(d) => {
                    Settled::Leave("a card about it was answered lately".into())
                }
                false => Settled::Ask(None),
            };
        }
        // Not what a task's own limits or a person stopped.
        let movable = t.link && !matches!(t.case, Rule::HandLimit | Rule::ByHand) && is_ours_to_move(d);
        if !bound || !movable {
            return Settled::Ask(None);
        }
        if let Some(settled) = self.limit_is_over(router, s, t) {
            return settled;
        }
        let scribe = self.scribe();
        let choice = router.choose(&question);
        // A probe that failed, or the runtime's own next try, tells nobody anything new: there was a card when the trouble
        // began.
        let asked = self.was_asked_lately(d) || (was_probe(d) && self.was_asked_within(d, DAY));
        let known = asked && !matches!(choice, Choice::Move(_));
        if let Some(step) = self.outlasts(router, s, t).filter(|_| known) {
            return Settled::Step(Box::new(step));
        }
        match choice {
            Choice::Move(to) => Settled::Step(Box::new(self.moved(router, &scribe, (s, t), &to))),
            Choice::Wait { until, why } => {
                let because = format!("{} Waits until {}: {why}", t.what, until.local_moment(self.seen.now));
                let why = self.why(s, t, because);
                Settled::Step(Box::new(scribe.held(d, &self.writer.id(s, t), until, why)))
            }
            Choice::Nobody(why) => {
                let listed = !router.profile(question.from).fallbacks.is_empty() || self.config.routing.auto;
                Settled::Ask(listed.then_some(why))
            }
            Choice::Spent(why) => Settled::Spent(why),
        }
    }

    /// What becomes of a task whose limit is over by its provider's own word: it goes on with its own profile, whose turn comes by the
    /// rules for a provider that answers again. The orchestrator is asked only where the provider keeps refusing.
    fn limit_is_over(&self, router: &Router<'_>, s: &SourceSeen, t: &Trouble) -> Option<Settled> {
        let now = self.seen.now;
        let over = t.evidence.as_ref()?.resets.filter(|at| *at <= now)?;
        let (d, id) = (&s.detail, self.writer.id(s, t));
        let held = router.standing_for(&d.task).is_some_and(|(_, state)| state.is_held());
        // Of a provider without a name nobody would know that it refuses again and again.
        if held || !id.is_known() || t.case == Rule::HandedOver {
            return None;
        }
        let because = format!("{} That was over at {}", t.what, over.local_moment(now));
        if d.task.status == Status::Ready {
            return Some(Settled::Leave(because));
        }
        let why = self.why(s, t, because);
        let step = self.scribe().held(d, &id, now.plus(1), why);
        Some(Settled::Step(Box::new(step)))
    }

    /// Whether a card of this task was answered so lately that its provider cannot be expected to answer yet.
    fn was_asked_lately(&self, d: &Detail) -> bool {
        self.was_asked_within(d, seconds(self.config.heal.hold))
    }

    /// Whether a card about a task was answered within this span. A card that a rule settled does not count.
    fn was_asked_within(&self, d: &Detail, span: i64) -> bool {
        let by_rule = |card: &str| {
            let moves =
                |t: &Value| t.get("card").and_then(Value::as_str) == Some(card) && t.get("sent").is_some();
            d.events.iter().filter_map(Event::trail).any(moves)
        };
        let lately = |c: &&CardMade| is_within(c.created_at, self.seen.now, span - 1);
        // What route-blocked leaves to be asked once more is not answered.
        let open = |card: &str| asked::is_to_be_asked_again(d, card);
        let answered = |c: &CardMade| c.status == Status::Done && !by_rule(&c.id) && !open(&c.id);
        d.cards_made.iter().filter(lately).any(answered)
    }

    /// A task whose cards are used up waits for its provider all the same, as long as that is held: an end of the hold comes,
    /// then a probe, and a person only once the provider is given up.
    pub(super) fn outlasts(&self, router: &Router<'_>, s: &SourceSeen, t: &Trouble) -> Option<Step> {
        let d = &s.detail;
        let bound = t.blocker.lies_with_provider();
        if !bound || !t.link || matches!(t.case, Rule::HandLimit | Rule::ByHand) || !is_ours_to_move(d) {
            return None;
        }
        let (entry, state) = router.standing_for(&d.task)?;
        if !state.is_held() || state == State::GivenUp {
            return None;
        }
        let until = entry.until.max(self.seen.now.plus(1));
        let because = format!("{} Waits until {until}: {} is {}", t.what, entry.id, state.as_str());
        let scribe = self.scribe();
        Some(scribe.held(d, &entry.id, until, self.why(s, t, because)))
    }

    fn moved(
        &self,
        router: &mut Router<'_>,
        scribe: &Scribe<'_>,
        (s, t): (&SourceSeen, &Trouble),
        to: &Target,
    ) -> Step {
        let d = &s.detail;
        let key = self.writer.unused_key(s, t);
        let id = steps::card_id(&self.pass.id, &key);
        let summary = format!("Moved {} to {} by rule: {}", d.task.id, to.profile, t.what);
        let task = self.writer.new_card(
            s,
            t,
            &self.writer.distress(s, t),
            key,
            &self.writer.orchestrator().name,
            &[],
        );
        let about = CardAbout { source: &d.task.id, blocker: t.blocker.as_str(), run: t.run };
        let mut facts = self.writer.facts(s, t);
        facts.insert("linked".into(), json!(true));
        let trail = self.writer.trail(t, &summary, facts);
        let made = Box::new(hermes::card_settled(&id, task, about, &summary, &trail));
        let why = self.why(s, t, t.what.clone()).fact("card", json!(id));
        scribe.moved(router, d, to, why, &Parting::Settled { id, made })
    }

    fn why(&self, s: &SourceSeen, t: &Trouble, because: String) -> Why {
        Why { case: t.case.clone(), cause: t.cause, because, facts: self.writer.facts(s, t) }
    }

    /// Ready work of a provider that is held waits too, before a dispatcher starts it.
    pub(super) fn park(&self, router: &Router<'_>, waiting: &[Detail]) -> Vec<Step> {
        let scribe = self.scribe();
        let asked = |d: &&Detail| self.pass.only.as_ref().is_none_or(|only| *only == d.task.id);
        let profiles = Profiles::of(self.seen.runtime.as_ref());
        let person = self.config.people.assignee.as_deref();
        let free = |d: &&Detail| authorship::hands_off(d, profiles, person, self.seen.now).is_none();
        waiting.iter().filter(asked).filter(free).filter_map(|d| park_ready(router, &scribe, d)).collect()
    }
}

/// Whether a watcher released the task for the newest attempt with its own profile, to see whether its provider answers.
fn was_probe(d: &Detail) -> bool {
    let Some(run) = d.newest_run() else { return false };
    let newest = d.events.iter().rev().find(|e| {
        matches!(e.kind, EventKind::Assigned | EventKind::Unblocked | EventKind::PromotedManual)
            && e.at <= run.started_at
    });
    let sent = newest.and_then(|e| e.trail()?.get("sent")?.get("move")?.as_bool());
    sent == Some(false) && newest.is_some_and(authorship::is_ours)
}
