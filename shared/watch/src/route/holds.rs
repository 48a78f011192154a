//! Holds: work that waits for a provider goes elsewhere where it may, goes on one by one once the provider answers, and is
//! never held without an end.

use serde_json::{Map, Value, json};

use super::Rules;
use base::cause::Cause;
use base::quote;
use base::registry::{ROUTE_BLOCKED, SYNTHESIZE_DISTRESS};
use base::time::{Time, words};
use board::hermes::{self, CardAbout};
use board::{Detail, Event, EventKind, HandOver, NewTask, Rule, Status};
use card::{self, Blocker, Distress, State as Work};
use config::span::seconds;
use logs::provider::Id;
use logs::provider::ledger::{News, Sighting, State};
use policy::authorship::{self, HAND, our_hold};
use policy::cards::answer;
use policy::cards::identity::{self, since_card};
use policy::cards::steps::{card_id, card_row};
use policy::cards::writer::deciders;
use policy::clock::is_within;
use policy::needs_operator::{held_for, stated_end};
use policy::remedy::Lacking;
use policy::routing::facts::NIGHT;
use policy::routing::holds::let_go;
use policy::routing::moving::{Parting, Why, ask, held_provider, is_ours_to_move, newest_stop, until};
use policy::routing::router::{Ask, Choice, Release, Target};

/// The open card of a task, as far as it stands in the way.
#[derive(Clone, Copy)]
pub(super) enum Tied<'a> {
    /// None is open.
    Free,
    /// It is this task's own, and nobody has begun with it.
    Own(&'a Detail),
    /// It is an incident's, and goes on for the others.
    Shared(&'a Detail),
    /// A worker has it, or it is unknown: it decides.
    Taken(&'a str),
}

/// One task that waits, and for what.
struct Waiting<'a> {
    d: &'a Detail,
    tied: Tied<'a>,
    blocker: Blocker,
    cause: Option<Cause>,
    /// What its card asks a person about, since no time mends it: it is moved, or stays as it is.
    lasting: Option<Cause>,
    /// When its hold ends; `None` where it is not held yet.
    until: Option<Time>,
    /// Only those before it, of a provider that refused nothing of late, keep it from going on.
    in_turn: bool,
    /// Why nobody else takes it, once that was asked.
    because: String,
}

impl<'a> Rules<'a> {
    /// Everything about work that waits for a provider.
    pub(super) fn look_after_holds(&mut self, before_cards: bool) {
        let is_cards_business = |tied: &Tied<'_>| match tied {
            Tied::Own(card) => before_cards && !identity::is_ours(card),
            _ => false,
        };
        let mut waiting = Vec::new();
        for d in &self.seen.tasks {
            let id = &d.task.id;
            if self.touched.contains(id) || self.is_left_out(id) || d.task.is_card() {
                continue;
            }
            if let Some(w) = self.waits(d).filter(|w| !is_cards_business(&w.tied)) {
                match self.hands_off(d) {
                    Some(why) => self.leave(d, why),
                    None if self.tells_of_outliving(d, None) => {}
                    None => waiting.push(w),
                }
            }
        }
        let waiting = self.elsewhere(waiting);
        let waiting = self.go_on(waiting);
        for w in waiting {
            match self.probe_elsewhere(&w) {
                Some(to) => self.move_to(&w, &to, true),
                None => self.park(w),
            }
        }
    }

    /// Whether a task waits for a provider, and is ours to move.
    fn waits(&mut self, d: &'a Detail) -> Option<Waiting<'a>> {
        if !is_ours_to_move(d) {
            return None;
        }
        let tied = self.tied(d);
        // What stopped the profile before, or the model, says nothing about the one that it was given to.
        let is_given = is_given(d);
        let of = |cause: Option<Cause>, blocker: Blocker, until: Option<Time>| {
            let waiting = || Waiting {
                d,
                tied,
                blocker,
                cause,
                lasting: None,
                until,
                in_turn: false,
                because: String::new(),
            };
            (blocker.lies_with_provider() || is_given).then(waiting)
        };
        match d.task.status {
            Status::Scheduled => {
                let (event, hold) = our_hold(d)?;
                let (ends, cause) = (until(event, hold), authorship::cause_in(hold));
                let blocker = cause.and_then(Cause::blocker_type).or_else(|| self.blocker_of(d, tied))?;
                let waiting = of(cause, blocker, Some(ends))?;
                // What heal held is judged by synthesize-distress first, which reads its log: then it has a card, be it closed again.
                if matches!(tied, Tied::Free) && !is_routed(event) && !is_given {
                    let said = match self.answered_since(d, event) {
                        None => Some(super::UNJUDGED.to_owned()),
                        Some(card) => {
                            self.still_decides(card).then(|| format!("card {} decides", card.task.id))
                        }
                    };
                    if let Some(said) = said {
                        self.leave_until(d, said, ends);
                        return None;
                    }
                }
                Some(Waiting { lasting: self.lasting(d), ..waiting })
            }
            Status::Blocked => of(None, self.blocker_of(d, tied)?, None),
            Status::Ready => {
                let (entry, state) = self.router.standing_for(&d.task).filter(|(_, s)| s.is_held())?;
                let cause = entry.cause;
                if let Some(who) = let_go(&self.router, d, entry) {
                    let said = entry.said(state);
                    self.leave(d, format!("{said}; {who} released it since, so it stays ready"));
                    return None;
                }
                of(Some(cause), cause.blocker_type()?, None)
            }
            _ => None,
        }
    }

    /// Whether what a finished card says is still to be carried out, and not in this pass.
    fn still_decides(&self, card: &Detail) -> bool {
        answer::unread(card).is_some() && !self.touched.contains(&card.task.id)
    }

    /// The finished card of a task, where it was written since this hold.
    fn answered_since(&self, d: &Detail, hold: &Event) -> Option<&'a Detail> {
        self.index.answered(d).filter(|card| !since_card(d, card).contains(hold))
    }

    /// What no time mends, of a task that heal held for it.
    fn lasting(&self, d: &Detail) -> Option<Cause> {
        let (event, hold) = our_hold(d)?;
        authorship::cause_in(hold).filter(|cause| !is_routed(event) && self.lasts(d, *cause))
    }

    /// Whether no time mends what stopped a task: a refused key, or a used-up quota without a stated end. Another profile or new settings do.
    /// That others were answered does not: they may have another account or model.
    fn lasts(&self, d: &Detail, cause: Cause) -> bool {
        let is_mended =
            (cause == Cause::Quota && stated_end(d).is_some()) || is_given(d) || self.has_new_settings(d);
        Lacking::of(cause).is_some() && !is_mended
    }

    /// First: another profile, in the fallback order.
    fn elsewhere(&mut self, waiting: Vec<Waiting<'a>>) -> Vec<Waiting<'a>> {
        let mut rest = Vec::new();
        for mut w in waiting {
            if let Tied::Taken(card) = w.tied {
                self.leave(w.d, format!("card {card} decides"));
                continue;
            }
            let choice = self.question(&w).map(|q| self.router.choose(&q));
            match (choice, w.lasting) {
                (Some(Choice::Move(to)), _) => self.move_to(&w, &to, false),
                (Some(Choice::Nobody(_) | Choice::Spent(_)) | None, Some(cause)) => {
                    let card = match w.tied {
                        Tied::Free => "is closed without a decision",
                        _ => "stays open",
                    };
                    self.leave(w.d, format!("waiting does not fix {cause}: its card {card}"));
                }
                (None, None) => rest.push(w),
                (Some(Choice::Wait { why, .. } | Choice::Nobody(why) | Choice::Spent(why)), _) => {
                    w.because = why;
                    rest.push(w);
                }
            }
        }
        rest
    }

    /// What is asked about who takes a task over. `None`: a held task was given to a profile that works, and stays there.
    fn question(&self, w: &Waiting<'a>) -> Option<Ask<'a>> {
        let held = self.held_by(w.d);
        let is_given = w.until.is_some() && was_given(w.d) && held.is_none();
        (!is_given).then(|| ask(&self.router, w.d, w.blocker, held.map(|(id, _)| id)))
    }

    /// Third: where this task may be the probe of a provider that has none left. Not where its own provider answers or is being tried.
    fn probe_elsewhere(&self, w: &Waiting<'a>) -> Option<Target> {
        let standing = self.router.standing_for(&w.d.task);
        let waits = standing.is_none_or(|(_, state)| state.is_held());
        let since = match w.d.task.status {
            Status::Scheduled => our_hold(w.d)?.0.at,
            Status::Blocked => newest_stop(w.d)?.at,
            _ => return None,
        };
        self.router.probe(&self.question(w).filter(|_| waits)?, since)
    }

    fn move_to(&mut self, w: &Waiting<'a>, to: &Target, probes: bool) {
        let why = match (self.held_by(w.d), w.cause) {
            (Some((_, said)), _) => said,
            (None, Some(cause)) => format!("it was held for {cause}"),
            (None, None) => format!("its card says {}", w.blocker),
        };
        let why = match probes {
            true => format!("{why}; the hold of {} is over, and this one tries it first", to.id),
            false => why,
        };
        let why = Why::new(Rule::Fallback, why).cause(w.cause);
        let parting = match w.tied {
            Tied::Free => self.trail_card(w, to).unwrap_or(Parting::Free),
            tied => part(tied),
        };
        let step = self.scribe.moved(&mut self.router, w.d, to, why, &parting);
        self.push(step);
        self.close_own(w, &format!("moved to {}", to.profile));
    }

    /// The card of a task that died of its provider and waited for its turn without one: settled as it is made, so that its
    /// trail is the same as that of a task which was moved at once.
    fn trail_card(&self, w: &Waiting<'a>, to: &Target) -> Option<Parting> {
        let d = w.d;
        let trail = our_hold(d)?.0.trail()?;
        let run = trail.get("run").and_then(Value::as_i64).filter(|run| *run > 0)?;
        let key = format!("{}{}:{}:{run}", card::KEY, d.task.id, w.cause?);
        if d.cards_made.iter().any(|c| c.key == key) {
            return None;
        }
        let text = |key: &str| trail.get(key).and_then(Value::as_str).map(str::to_owned);
        let ended = text("ended").or_else(|| text("because")).unwrap_or_default();
        let signal = Distress {
            source: d.task.id.clone(),
            worker: text("profile").or_else(|| d.task.assignee.clone()),
            branch: d.place.branch.clone(),
            workspace: d.place.path.clone(),
            blocker: w.blocker,
            completed: None,
            cannot_touch: None,
            needs: Some(format!("nothing more: it was moved to {} by rule", to.profile)),
            state: Work::Unknown,
        };
        let id = card_id(&self.pass.id, &key);
        let summary = format!("Moved {} to {} by rule: {ended}", d.task.id, to.profile);
        let deciders = deciders(self.config, self.seen.runtime.as_ref()).unwrap_or_default();
        let body = Some(format!("{}\n## Evidence\n{}\n", signal.render(), quote::inline(&ended, 400)));
        let assignee = deciders.into_iter().next();
        let task = NewTask { body, assignee, ..card_row(self.pass, d, &signal, key) };
        let about = CardAbout { source: &d.task.id, blocker: w.blocker.as_str(), run };
        let why = Why::new(Rule::Fallback, summary.clone()).cause(w.cause).fact("source", json!(d.task.id));
        let made =
            self.scribe.by_trail(&why, |trail| hermes::card_settled(&id, task, about, &summary, trail));
        Some(Parting::Settled { id, made: Box::new(made) })
    }

    /// Second: on with its own profile, one as a probe, then a few at a time. Those of profiles that take work go first, and of
    /// them those the provider did not limit.
    fn go_on(&mut self, mut waiting: Vec<Waiting<'a>>) -> Vec<Waiting<'a>> {
        let limited = |w: &Waiting<'_>| w.d.runs.iter().any(|r| r.ended_at.is_some_and(|e| e > r.started_at));
        let is_away = |d: &Detail| d.task.assignee.as_deref().is_some_and(|p| self.router.is_away(p));
        waiting.sort_by_cached_key(|w| (is_away(w.d), limited(w)));
        let mut rest = Vec::new();
        for mut w in waiting {
            let given_up = self.router.state_for(&w.d.task) == State::GivenUp;
            let may_go_on = self.may_go_on(w.d, w.until) || given_up || self.is_forgotten(&w);
            if w.lasting.is_some() || !may_go_on {
                rest.push(w);
                continue;
            }
            match self.router.release_for(&w.d.task) {
                Release::Go { probe } => self.set_free(&w, probe),
                Release::Wait { why, .. } => {
                    // Of a provider that refused nothing of late only this tells that its hold is over.
                    w.in_turn = self.router.standing_for(&w.d.task).is_none();
                    w.because = why;
                    rest.push(w);
                }
                Release::GiveUp(why) => self.give_up(&w, why),
            }
        }
        rest
    }

    /// A hold that is over by itself, a provider that answers again, or a profile that has another provider than the one that refused. Where
    /// nobody knows a provider, only the hold tells. A block of the breaker's has no end of its own (`until`), so only the provider tells.
    fn may_go_on(&self, d: &Detail, until: Option<Time>) -> bool {
        let standing = self.router.standing_for(&d.task);
        let is_over = self.is_elsewhere(d, until)
            || until.is_some_and(|until| until <= self.seen.now || was_given(d) || is_in_turn(d));
        !standing.is_some_and(|(_, s)| s.is_held()) && (is_over || standing.is_some())
    }

    /// Whether a task was blocked so long ago that no refusal of its provider is remembered, as after a night in which this machine was off.
    /// Time mends no key.
    fn is_forgotten(&self, w: &Waiting<'_>) -> bool {
        let is_old = || newest_stop(w.d).is_some_and(|e| !is_within(e.at, self.seen.now, NIGHT - 1));
        let is_mended_by_time = w.blocker == Blocker::RateLimited && w.d.task.status == Status::Blocked;
        is_mended_by_time && is_old() && self.router.standing_for(&w.d.task).is_none()
    }

    /// Whether a task was refused by another provider than the one that works on it now. Of a block of the breaker's nobody noted the
    /// provider: what its log names may be a fallback inside Hermes, unless it was given to another one since.
    fn is_elsewhere(&self, d: &Detail, until: Option<Time>) -> bool {
        let refused = if until.is_some() { provider_of_hold(d) } else { self.refused_before_change(d) };
        refused.is_some_and(|id| id.is_surely_other(&self.router.worker(&d.task).id()))
    }

    /// Whether the configuration of its profile changed since the newest attempt began: a key, a model or a provider. That attempt asked whom
    /// the profile named as it began.
    fn has_new_settings(&self, d: &Detail) -> bool {
        let changed = self.router.worker(&d.task).changed;
        changed.zip(d.newest_run()).is_some_and(|(changed, run)| run.started_at < changed)
    }

    /// The provider that refused a task last, where it has another profile or pin since, or its profile another configuration.
    fn refused_before_change(&self, d: &Detail) -> Option<Id> {
        let refused = |s: &&Sighting| s.task == d.task.id && s.news != News::Good;
        let last = self.seen.routing.sightings.iter().filter(refused).max_by_key(|s| s.at)?;
        // What another attempt ended on since is what stops it now.
        let is_newest = d.newest_run().is_some_and(|run| run.started_at <= last.began);
        (is_newest && (has_another(d) || self.has_new_settings(d))).then(|| last.id.clone())
    }

    fn set_free(&mut self, w: &Waiting<'a>, probe: bool) {
        let provider = self.router.worker(&w.d.task).id();
        let why = match probe {
            true => Why::new(Rule::Probe, format!("the hold of {provider} is over; this one tries first")),
            false if self.is_elsewhere(w.d, w.until) => Why::new(
                Rule::HoldOver,
                format!("another provider refused it, and {provider} is its own now"),
            ),
            false => Why::new(Rule::HoldOver, format!("{provider} answers again, or its hold is over")),
        };
        let why = why.cause(w.cause);
        let step = self.scribe.released(&mut self.router, w.d, why, &part(w.tied));
        self.push(step);
        self.close_own(w, "its provider may be tried again");
    }

    fn give_up(&mut self, w: &Waiting<'a>, why: String) {
        let why = Why::new(Rule::ProviderGivenUp, why).cause(w.cause);
        let step = self.scribe.person(w.d, &HandOver::ProviderGivenUp, why, &part(w.tied));
        self.push(step);
        self.close_own(w, "left to a person");
    }

    /// Closes a task's own card once the task has gone on. In this order: if another process changed the task meanwhile, its
    /// card must stay open.
    fn close_own(&mut self, w: &Waiting<'a>, outcome: &str) {
        let Tied::Own(card) = w.tied else { return };
        let mut why = Why::new(Rule::Settled, format!("{}: {outcome}", w.d.task.id));
        if let Some(seen) = self.index.card(&card.task.id) {
            why = self.with_refusal(seen, why);
        }
        let mut closed = self.scribe.closed(card, &why);
        closed.after = vec![w.d.task.id.clone()];
        self.push(closed);
    }

    /// Last: it waits, with an end.
    fn park(&mut self, w: Waiting<'a>) {
        if w.lasting.is_some() {
            return self.leave(w.d, w.because);
        }
        let now = self.seen.now;
        let held = self.held_by(w.d);
        let ends = self.router.standing_for(&w.d.task).filter(|(_, s)| s.is_held()).map(|(e, _)| e.until);
        if let Some(until) = w.until.filter(|until| *until > now) {
            let why = reason(&w.because, held.as_ref());
            self.leave_until(w.d, format!("held until {}: {why}", until.local_moment(now)), until);
            return;
        }
        // A blocked task needs no hold: it stands still already.
        if w.d.task.status == Status::Blocked {
            let why = if w.because.is_empty() { "nobody else may" } else { w.because.as_str() };
            let why = match w.tied {
                Tied::Own(card) | Tied::Shared(card) => format!("its card {} decides; {why}", card.task.id),
                _ => why.to_owned(),
            };
            self.leave(w.d, why);
            return;
        }
        let since = our_hold(w.d).and_then(|(_, hold)| hold.get("since")?.as_i64()).map_or(now, Time);
        // While this machine was off nobody refused anything.
        let refused_for = self.router.standing_for(&w.d.task).map_or(0, |(entry, _)| now.since(entry.since));
        let waited = now.since(since).min(refused_for);
        if waited > seconds(self.config.routing.give_up) {
            let waited = words(waited);
            self.give_up(&w, format!("held for {waited}, and nobody could take it"));
            return;
        }
        // A place or an answer of the provider releases it before; so each look may be later than the one before, and three
        // hundred that wait do not write three hundred events every few minutes.
        let (least, most) = (seconds(self.config.heal.hold), seconds(self.config.heal.hold_max));
        let later = now.plus(now.since(since).clamp(least, most.max(least)));
        // The first hold is as long as its provider said; only one that outlives that looks less and less often.
        let until = match (ends, w.until) {
            (Some(ends), None) => ends.max(now.plus(1)),
            (ends, _) => ends.map_or(later, |e| e.max(later)),
        };
        let until = until.min(now.plus(most));
        let provider = held.as_ref().map_or_else(|| self.router.worker(&w.d.task).id(), |(id, _)| id.clone());
        let because =
            format!("waits until {}: {}", until.local_moment(now), reason(&w.because, held.as_ref()));
        let mut why = Why::new(Rule::ProviderHold, because).cause(w.cause);
        why.facts = remembered(w.d);
        if was_given(w.d) {
            why = why.fact("given", json!(true));
        }
        if w.in_turn {
            why = why.fact(IN_TURN, json!(true));
        }
        let step = self.scribe.held(w.d, &provider, until, why);
        self.push(step);
    }

    /// Moves or holds a task that the end of its card would promote to a provider that is held.
    pub(super) fn before_promotion(&mut self, d: &'a Detail, card: &Detail) {
        let waits = |p: &board::Kin| !p.status.frees_children() && !p.is_card();
        let promoted = d.task.status == Status::Todo && !d.parents.iter().any(waits);
        if !promoted
            || !is_ours_to_move(d)
            || self.touched.contains(&d.task.id)
            || self.hands_off(d).is_some()
        {
            return;
        }
        let standing = self.router.standing_for(&d.task);
        let Some((entry, state)) = standing.filter(|(_, s)| s.is_held()) else { return };
        if let_go(&self.router, d, entry).is_some() {
            return;
        }
        let (id, cause, said) = (entry.id.clone(), entry.cause, entry.said(state));
        let until = entry.until.max(self.seen.now.plus(60));
        let choose = |blocker| self.router.choose(&ask(&self.router, d, blocker, Some(id.clone())));
        // A move waits for the worker of an ended attempt, and the end of the card does not: the task is held until then.
        let is_free = !self.seen.outliving.contains_key(&d.task.id);
        if let Some(Choice::Move(to)) = cause.blocker_type().filter(|_| is_free).map(choose) {
            let why = Why::new(Rule::Fallback, said).cause(Some(cause));
            let parting = Parting::Closed(card.task.id.clone());
            let step = self.scribe.moved(&mut self.router, d, &to, why, &parting);
            return self.push(step);
        }
        let at = until.local_moment(self.seen.now);
        let why = Why::new(Rule::ProviderHold, format!("waits until {at}: {said}"));
        let step = self.scribe.held(d, &id, until, why.cause(Some(cause)));
        self.push(step);
    }

    /// The provider that holds a task back now.
    fn held_by(&self, d: &Detail) -> Option<(Id, String)> {
        let (entry, state) = self.router.standing_for(&d.task)?;
        state.is_held().then(|| (entry.id.clone(), entry.said(state)))
    }

    /// The open card of a task.
    pub(super) fn tied(&self, d: &'a Detail) -> Tied<'a> {
        // Of several, one that this pass closes since its task has gone on holds nothing up.
        let decides = |id: &&String| d.cards.len() == 1 || !self.over.contains(id.as_str());
        let mut open = d.cards.iter().filter(decides);
        let Some(id) = open.next() else { return Tied::Free };
        let card = self.index.card(id).map(|c| &c.detail);
        let Some(card) = card.filter(|c| !is_claimed(c) && open.next().is_none()) else {
            return Tied::Taken(id);
        };
        if self.touched.contains(id) {
            return Tied::Taken(id);
        }
        if card::is_incident(card.task.idempotency_key.as_deref()) {
            return Tied::Shared(card);
        }
        Tied::Own(card)
    }

    /// What stopped a task, as its card says; a card that was closed without a word still says that.
    fn blocker_of(&self, d: &Detail, tied: Tied<'_>) -> Option<Blocker> {
        let card = match tied {
            Tied::Own(card) | Tied::Shared(card) => card,
            Tied::Taken(_) => return None,
            Tied::Free => self.index.answered(d)?,
        };
        card::blocker_in(&card.task.title)
    }

    /// Whether another profile takes a task over by rule alone, now or in its turn.
    pub(super) fn goes_by_rule(&self, d: &'a Detail) -> bool {
        let takes = |c: &Choice| matches!(c, Choice::Move(_) | Choice::Wait { .. });
        self.taken_by(d).as_ref().is_some_and(takes)
    }

    /// Whether the hold of a task that waits for a provider is over, or its provider answers: that is looked after before
    /// the orchestrator is asked again.
    pub(super) fn is_due(&self, d: &'a Detail) -> bool {
        let over = our_hold(d).is_some_and(|(event, hold)| until(event, hold) <= self.seen.now);
        // What no time mends is asked about again instead.
        self.lasting(d).is_none() && (self.goes_on_now(d) || (over && self.taken_by(d).is_some()))
    }

    /// Whether a rule moves or releases a task in this very pass.
    fn goes_on_now(&self, d: &'a Detail) -> bool {
        let Some(choice) = self.taken_by(d) else { return false };
        let ends = our_hold(d).map(|(event, hold)| until(event, hold));
        matches!(choice, Choice::Move(_)) || self.may_go_on(d, ends)
    }

    /// Whether time mends what stopped a task, and a rule goes on with it then: once its hold ends, or, where it is blocked, its provider's.
    pub(super) fn goes_on_in_time(&self, d: &'a Detail) -> bool {
        let ends = match d.task.status {
            Status::Scheduled => true,
            // A worker that blocks its task asks for an answer to its card.
            Status::Blocked => {
                self.held_by(d).is_some() && newest_stop(d).is_some_and(|e| e.by() != Some(HAND))
            }
            _ => false,
        };
        let lasts = || held_for(d).is_some_and(|(_, cause)| self.lasts(d, cause));
        ends && self.refused(d) == Some(Blocker::RateLimited) && !lasts()
    }

    /// Who takes a task over that waits for a provider; `None` where it does not.
    fn taken_by(&self, d: &'a Detail) -> Option<Choice> {
        let blocker = self.refused(d)?;
        let held = self.held_by(d).map(|(id, _)| id);
        Some(self.router.choose(&ask(&self.router, d, blocker, held)))
    }

    /// What a provider stopped a task with that is ours to move.
    fn refused(&self, d: &'a Detail) -> Option<Blocker> {
        let cause = our_hold(d).and_then(|(_, hold)| authorship::cause_in(hold));
        let blocker = cause.and_then(Cause::blocker_type).or_else(|| self.blocker_of(d, self.tied(d)))?;
        (blocker.lies_with_provider() && is_ours_to_move(d)).then_some(blocker)
    }
}

/// How a task leaves its card.
fn part(tied: Tied<'_>) -> Parting {
    match tied {
        Tied::Free | Tied::Taken(_) => Parting::Free,
        Tied::Shared(card) => Parting::Left(card.task.id.clone()),
        Tied::Own(card) => Parting::Closed(card.task.id.clone()),
    }
}

/// The provider that a task is held for.
fn provider_of_hold(d: &Detail) -> Option<Id> {
    let (event, hold) = our_hold(d)?;
    let refused_at = || policy::routing::facts::of_event(&d.task.id, event).map(|seen| seen.id);
    held_provider(hold).map(Id::of_shown).or_else(refused_at)
}

/// Of a hold that was over, and was made longer because others go first: the task goes on in its turn, whenever the hold ends.
const IN_TURN: &str = "in_turn";

fn is_in_turn(d: &Detail) -> bool {
    says(d, IN_TURN)
}

/// Whether it waits by a decision of an orchestrator.
fn is_decided(d: &Detail) -> bool {
    says(d, "decided_by")
}

/// Whether a watcher that judges holds made this one.
fn is_routed(hold: &Event) -> bool {
    matches!(hold.by(), Some(ROUTE_BLOCKED | SYNTHESIZE_DISTRESS))
}

/// Whether it was given, and not by a decision, to another profile or pin than it had at its newest attempt.
fn is_given(d: &Detail) -> bool {
    was_given(d) && !is_decided(d) && has_another(d)
}

/// Whether another profile, or another pin, has it than at its newest attempt.
fn has_another(d: &Detail) -> bool {
    let Some(run) = d.newest_run() else { return false };
    let is_pinned =
        || d.events.iter().any(|e| e.kind == EventKind::ModelOverrideSet && run.started_at < e.at);
    (run.profile.is_some() && run.profile != d.task.assignee) || is_pinned()
}

/// Whether the event of a hold has a fact.
fn says(d: &Detail, key: &str) -> bool {
    let trail = our_hold(d).and_then(|(event, _)| event.trail());
    trail.is_some_and(|t| t.get(key).is_some_and(|v| !v.is_null()))
}

/// Whether a held task was given to its profile since it was held.
fn was_given(d: &Detail) -> bool {
    let Some((hold, _)) = our_hold(d) else { return false };
    // By an orchestrator's decision, carried out with a wait; or by anyone, before the hold that this one prolongs.
    if is_decided(d) || says(d, "given") {
        return true;
    }
    let at = d.events.iter().rposition(|e| e == hold).unwrap_or(0);
    let gives = |e: &Event| match e.kind {
        EventKind::Assigned => authorship::is_fresh_start(e),
        // A pin to another provider counts as well.
        EventKind::ModelOverrideSet => true,
        _ => false,
    };
    d.events[at..].iter().any(gives)
}

/// What a longer hold takes over from the one before: which attempt it is about. Not the provider's part: what was seen
/// once must not look as if it was seen again.
fn remembered(d: &Detail) -> Map<String, Value> {
    let mut facts = Map::new();
    let Some(trail) = our_hold(d).and_then(|(e, _)| e.trail()) else { return facts };
    for key in ["run", "profile"] {
        facts.extend(trail.get(key).map(|v| (key.to_owned(), v.clone())));
    }
    let ended = trail.get("ended").or_else(|| trail.get("because"));
    facts.extend(ended.map(|v| ("ended".to_owned(), v.clone())));
    facts
}

/// Whether a card is claimed.
pub(super) fn is_claimed(card: &Detail) -> bool {
    card.task.status == Status::Running || card.task.claim_lock.is_some() || card.task.current_run.is_some()
}

fn reason(because: &str, held: Option<&(Id, String)>) -> String {
    match (because, held) {
        ("", Some((_, said))) => said.clone(),
        ("", None) => "nobody may take it before that".into(),
        (why, Some((_, said))) => format!("{said}; {why}"),
        (why, None) => why.to_owned(),
    }
}
