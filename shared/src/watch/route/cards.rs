//! Open cards: made whole where somebody else wrote them, given to an orchestrator that can take them, and closed when
//! their task has gone on.

use serde_json::{Value, json};

use super::Rules;
use super::decisions::{says_on, since_card};
use super::holds::is_claimed;
use super::moving::{Parting, Why, our_hold};
use super::seen::CardSeen;
use crate::board::{Change, Detail, Status, Step, hermes};
use crate::cause::Cause;
use crate::config::span::seconds;
use crate::distress::{self, Blocker, Distress, INCIDENT_KEY, State};
use crate::provider::Id;
use crate::time::words;
use crate::watch::distress::{HAND, NAME as SYNTHESIZER};
use crate::watch::{Dispatcher, word};

/// Seconds an incident's card stays open after the last task joined it: the next one may come yet.
const QUIET: i64 = 3_600;

impl<'a> Rules<'a> {
    /// Looks after every open card.
    pub(super) fn look_after_cards(&mut self, orchestrators: &[String]) {
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
    fn sources(&self, card: &Detail) -> Vec<&'a Detail> {
        let is_work = |d: &&'a Detail| !super::seen::is_card_row(&d.task);
        let named = named(card).and_then(|id| self.task(&id)).filter(is_work);
        let tied = |d: &&'a Detail| d.parents.iter().any(|p| p.id == card.task.id);
        let others = self.seen.tasks.iter().filter(tied).filter(is_work);
        let others = others.filter(|d| named.is_none_or(|n| n.task.id != d.task.id));
        named.into_iter().chain(others).collect()
    }

    fn one_card(&mut self, card: &'a CardSeen, orchestrators: &[String]) {
        let d = &card.detail;
        if is_claimed(d) {
            self.swap_link(d);
            return;
        }
        let sources = self.sources(d);
        if let Some(why) = self.is_over(d, &sources) {
            let step = self.scribe.closed(d, &Why::new("moved-on", why));
            self.push(step);
            return;
        }
        if sources.is_empty() {
            // Even so its end must not delete a folder that is somebody else's.
            if let Some(step) = self.own_folder(d) {
                return self.push(step);
            }
            let what = "names no task of this board, so nobody can act on it";
            let id = &d.task.id;
            let mend =
                if self.seen.own_board { self.verb(&["complete", id]) } else { self.verb(&["archive", id]) };
            return self.tell_once(d, "no-source", &format!("card {id} {what}"), &mend);
        }
        if let Some(asks) = self.is_second(d, sources[0]) {
            let why = format!("card {asks} asks about {} already", sources[0].task.id);
            let step = self.scribe.closed(d, &Why::new("second-card", why));
            return self.push(step);
        }
        if let Some(step) = self.made_whole(d, sources[0], orchestrators) {
            self.push(step);
            return self.tie(d, sources[0]);
        }
        self.tie(d, sources[0]);
        match d.task.status {
            Status::Ready if self.is_too_many(d) => self.queue(d),
            Status::Ready => self.takes_it(card, &sources, orchestrators),
            Status::Blocked | Status::Triage => self.failed(card, &sources, orchestrators),
            Status::Todo => self.waits_for_another(d),
            Status::Scheduled
                if our_hold(d).is_none() && d.events.last().is_none_or(|e| e.by() != Some(HAND)) =>
            {
                let (id, hand) = (&d.task.id, self.hand());
                let what =
                    format!("card {id} was scheduled by somebody else, and nobody takes it before that ends");
                self.tell_once(d, "card-scheduled", &what, &format!("{hand} unblock {id}"));
            }
            Status::Review => {
                let what = format!("card {} is in review, and its task waits for that", d.task.id);
                self.tell_once(d, "card-review", &what, &self.verb(&["complete", &d.task.id]));
            }
            _ => {}
        }
    }

    /// Another card that asks about the same task and was there before: one cause, one open card. Only what somebody else
    /// wrote gives way.
    fn is_second(&self, card: &Detail, source: &Detail) -> Option<&'a str> {
        let before = |c: &&'a CardSeen| {
            let other = &c.detail;
            other.task.id != card.task.id
                && (other.task.created_at, &other.task.id) < (card.task.created_at, &card.task.id)
                && named(other).as_deref() == Some(source.task.id.as_str())
                && !self.touched.contains(&other.task.id)
        };
        if is_ours(card) || was_given(card) {
            return None;
        }
        self.seen.cards.iter().find(before).map(|c| c.detail.task.id.as_str())
    }

    /// Takes somebody else's folder off a card.
    fn own_folder(&self, card: &Detail) -> Option<Step> {
        let change = foreign_folder(card)?;
        let why = Why::new("normalise", "brought into the form of a card: a folder of its own");
        Some(self.scribe.step(card, "normalise", &why, |trail| {
            let was = json!({"was": {"kind": card.place.kind, "path": card.place.path}});
            vec![change, hermes::noted("watchbill_detected", was, trail)]
        }))
    }

    /// Whether nothing is left to be decided: every task it is about has gone on.
    fn is_over(&self, card: &Detail, sources: &[&Detail]) -> Option<String> {
        let mut said = Vec::new();
        for d in sources {
            if self.is_tried_again(d, card) {
                return None;
            }
            said.push(gone_on(d, card)?);
        }
        if card.task.idempotency_key.as_deref().is_some_and(|k| k.starts_with(INCIDENT_KEY)) {
            let joined = sources.iter().flat_map(|d| &d.events).filter(|e| {
                e.kind == "linked" && e.payload.get("parent").and_then(Value::as_str) == Some(&card.task.id)
            });
            let last = joined.map(|e| e.at).max().unwrap_or(card.task.created_at).max(card.task.created_at);
            if self.seen.now.since(last) < QUIET {
                return None;
            }
        }
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// Whether the runtime tries a refused task again by itself, with the profile it has: seconds after it died, and mostly
    /// into the same wall. Only an attempt that lasts is another story; a card for each would use all of a day up.
    fn is_tried_again(&self, d: &Detail, card: &Detail) -> bool {
        let created = card.events.iter().find(|e| e.kind == "created" && e.by() == Some(SYNTHESIZER));
        let trail = created.and_then(|e| e.trail());
        let text = |key: &str| trail.and_then(|t| t.get(key)).and_then(Value::as_str);
        let Some(run) = d.current_run().filter(|_| text("case") == Some("repeated")) else { return false };
        let decided = since_card(d, card).iter().any(says_on);
        let young = self.seen.now.since(run.started_at) < seconds(self.config.heal.hold);
        !decided && young && run.profile.as_deref() == text("profile")
    }

    /// A card that a worker or a person wrote, brought into the form every orchestrator knows: title, template, assignee,
    /// state, and no folder of its own. Completing a card that has the source's folder as its scratch folder would delete
    /// the source's work.
    fn made_whole(&self, card: &Detail, source: &Detail, orchestrators: &[String]) -> Option<Step> {
        let t = &card.task;
        let blocker = blocker_of(card);
        // A looped block sends a card to triage for good; everything else that stands there was only written there.
        let looped = card
            .events
            .iter()
            .rev()
            .find(|e| is_turn(&e.kind))
            .is_some_and(|e| e.kind == "block_loop_detected");
        let mut changes: Vec<Change> = Vec::new();
        let mut what: Vec<String> = Vec::new();
        let mut events: Vec<(&str, Value)> = Vec::new();
        let (title, whole) =
            (distress::title(&source.task.id, blocker), Distress::parse(&card.body).is_some());
        let titled = distress::is_card_title(&t.title) && t.title != title && !is_ours(card);
        if titled || !whole {
            let body = (!whole).then(|| with_template(card, source, blocker));
            changes.push(Change::Reword { title: titled.then(|| title.clone()), body });
            what.push(if titled { "title" } else { "template" }.into());
            events.push(("edited", json!({"fields": if titled { "title" } else { "body" }})));
        }
        if let Some(change) = foreign_folder(card) {
            changes.push(change);
            what.push("a folder of its own".into());
            events.push((
                "watchbill_detected",
                json!({"was": {"kind": card.place.kind, "path": card.place.path}}),
            ));
        }
        if card.parents.iter().any(|p| p.id == source.task.id) {
            changes.push(Change::Unlink { parent: source.task.id.clone() });
            what.push("the link, which was the wrong way round".into());
            events.push(("unlinked", json!({"parent": source.task.id, "child": t.id})));
        }
        if t.priority <= source.task.priority && !is_ours(card) {
            changes.push(Change::SetPriority(source.task.priority.saturating_add(1)));
            events.push(("reprioritized", json!({"priority": source.task.priority.saturating_add(1)})));
            what.push("priority".into());
        }
        let usable = self.usable(orchestrators);
        let misses = t.assignee.as_ref().is_none_or(|a| !orchestrators.contains(a));
        if let Some(to) = usable.filter(|_| misses && !was_given(card)) {
            changes.push(Change::Assign(Some(to.clone())));
            what.push(format!("assignee {to}"));
            events.push(("assigned", json!({"assignee": to, "from": t.assignee})));
        }
        let waits = card.parents.iter().any(|p| p.id != source.task.id && !p.status.frees_children());
        if (t.status == Status::Triage && !looped) || (t.status == Status::Todo && !waits) {
            let (to, kind) = self.place_for(card);
            changes.push(Change::SetStatus(to.clone()));
            what.push(format!("{to} instead of {}", t.status));
            events.push((
                kind,
                json!({"actor": super::NAME, "reason": "a distress card bypasses triage", "forced": false}),
            ));
        }
        if changes.is_empty() {
            return None;
        }
        let mut why = Why::new("normalise", format!("brought into the form of a card: {}", what.join(", ")));
        if changes.contains(&Change::SetStatus(Status::Scheduled)) {
            why = why.fact("hold", self.queued(&t.id));
        }
        Some(self.scribe.step(card, "normalise", &why, |trail| {
            let mut all = changes.clone();
            for (i, (kind, keys)) in events.into_iter().enumerate() {
                // The images of all that changed stand in the first event; an undo needs them once.
                all.push(match i {
                    0 => hermes::changed(kind, keys, card, &changes, trail),
                    _ => hermes::noted(kind, keys, trail),
                });
            }
            all
        }))
    }

    /// `ready`, or queued where the orchestrator has enough of them.
    fn place_for(&self, card: &Detail) -> (Status, &'static str) {
        let at_work = |c: &&CardSeen| {
            c.detail.task.id != card.task.id
                && matches!(c.detail.task.status, Status::Ready | Status::Running)
        };
        let most = usize::try_from(self.config.distress.max_open_cards).unwrap_or(usize::MAX);
        let made: usize = self
            .decision
            .steps
            .iter()
            .filter(|s| s.action == "normalise" && s.changes.contains(&Change::SetStatus(Status::Ready)))
            .count();
        let taken = self.seen.cards.iter().filter(at_work).count() + made;
        match (taken < most, &card.task.status) {
            (false, _) => (Status::Scheduled, "scheduled"),
            (true, Status::Triage) => (Status::Ready, "specified"),
            (true, _) => (Status::Ready, "promoted_manual"),
        }
    }

    /// Whether the desk is full without this one, which somebody else wrote: a flood of cards must not take every worker
    /// for the orchestrator.
    fn is_too_many(&self, card: &Detail) -> bool {
        let before = |c: &&CardSeen| {
            let other = &c.detail.task;
            let at_work = matches!(other.status, Status::Ready | Status::Running);
            at_work && (other.created_at, &other.id) < (card.task.created_at, &card.task.id)
        };
        let most = usize::try_from(self.config.distress.max_open_cards).unwrap_or(usize::MAX);
        !is_ours(card) && !was_given(card) && self.seen.cards.iter().filter(before).count() >= most
    }

    fn queue(&mut self, card: &'a Detail) {
        let until = self.seen.now.plus(seconds(self.config.heal.hold));
        let why = Why::new("queue", "other cards come first").fact("hold", self.queued(&card.task.id));
        let step = self.scribe.step(card, "queue-card", &why, |t| hermes::held(card, "queued", until, t));
        self.push(step);
    }

    fn queued(&self, card: &str) -> Value {
        let until = self.seen.now.plus(seconds(self.config.heal.hold));
        json!({"owner": SYNTHESIZER, "cause": "queued behind other cards", "key": card, "until": until.0, "next": until.0})
    }

    /// A card that waits for its own task is never taken by anybody; on one that is being worked on only this is changed.
    fn swap_link(&mut self, card: &'a Detail) {
        let source = named(card);
        let Some(own) = card.parents.iter().find(|p| Some(&p.id) == source.as_ref()) else { return };
        let why =
            Why::new("normalise", format!("{} waited for {}, which waits for it", card.task.id, own.id));
        let step = self.scribe.step(card, "normalise", &why, |t| hermes::unlinked(&card.task.id, &own.id, t));
        self.push(step);
    }

    /// Makes a card the parent of its stopped task, so that the task waits for the decision. Work that runs or is about to
    /// is left alone.
    fn tie(&mut self, card: &Detail, source: &'a Detail) {
        let t = &source.task;
        let stopped = matches!(t.status, Status::Blocked | Status::Scheduled | Status::Todo);
        let parted = |e: &crate::board::Event| {
            e.kind == "unlinked" && e.payload.get("parent").and_then(Value::as_str) == Some(&card.task.id)
        };
        let known = source.parents.iter().any(|p| p.id == card.task.id) || source.events.iter().any(parted);
        // Ours are tied by whoever makes them. A stranger's word parks nobody, and what waits itself would close a circle.
        let waits = card.parents.iter().any(|p| p.id != t.id && !p.status.frees_children());
        let left = is_ours(card) || waits || !self.speaks_for(card, source);
        let left = left || self.touched.contains(&t.id) || self.is_left_out(&t.id);
        if !stopped || known || left || t.claim_lock.is_some() || self.is_opted_out(source) {
            return;
        }
        let why = Why::new("normalise", format!("waits for its card {}", card.task.id))
            .fact("card", json!(card.task.id));
        let step =
            self.scribe.step(source, "link", &why, |trail| hermes::linked_as_is(&t.id, &card.task.id, trail));
        self.push(step);
    }

    /// A ready card: can its orchestrator take it, and does it?
    fn takes_it(&mut self, card: &'a CardSeen, sources: &[&'a Detail], orchestrators: &[String]) {
        let d = &card.detail;
        let who = d.task.assignee.clone().unwrap_or_default();
        let held = self.router.state(&who).is_held();
        if held || !self.exists(&who) {
            return self.stand_in(card, &who, held, orchestrators);
        }
        let newest = d.events.iter().rev().find(|e| {
            matches!(
                e.kind.as_str(),
                "created" | "unblocked" | "promoted" | "promoted_manual" | "assigned" | "specified"
            )
        });
        let waited = self.seen.now.since(newest.map_or(d.task.created_at, |e| e.at));
        if waited < seconds(self.config.routing.unclaimed) {
            return;
        }
        let dispatcher = self.seen.runtime.as_ref().map(|r| &r.dispatcher);
        if matches!(dispatcher, Some(Dispatcher::Absent)) || self.seen.own_board {
            // Nobody takes anything here; that is not this card's fault.
            let what =
                format!("card {} was not claimed for {}, and no dispatcher runs", d.task.id, words(waited));
            self.tell_once(d, "unclaimed", &what, "hermes gateway start");
            return;
        }
        self.close_for_a_person(
            d,
            sources,
            "card-unclaimed",
            format!("nobody claimed it for {}", words(waited)),
        );
    }

    /// A card that was made to wait for another task: nobody takes it before that.
    fn waits_for_another(&mut self, card: &'a Detail) {
        let Some(first) = card.parents.iter().find(|p| !p.status.frees_children()) else { return };
        let (id, hand) = (&card.task.id, self.hand());
        let what = format!("card {id} waits for {}, and nobody takes it before that", first.id);
        self.tell_once(card, "card-waits", &what, &format!("{hand} unlink {} {id}", first.id));
    }

    /// A card whose orchestrator could not answer. Where that lay with a provider, another one takes it; the rest is a
    /// person's.
    fn failed(&mut self, card: &'a CardSeen, sources: &[&'a Detail], orchestrators: &[String]) {
        let d = &card.detail;
        let turn = d.events.iter().rev().find(|e| is_turn(&e.kind)).map_or("", |e| e.kind.as_str());
        let who = d.newest_run().and_then(|r| r.profile.clone()).or_else(|| d.task.assignee.clone());
        let who = who.unwrap_or_default();
        let bound = |c: Cause| c.is_provider_pressure() || c == Cause::Credential;
        let limited = card.cause.is_some_and(bound) || self.router.state(&who).is_held();
        match turn {
            "gave_up" if limited => self.stand_in(card, &who, true, orchestrators),
            "gave_up" => {
                let why = card.cause.map_or_else(|| "for an unknown reason".into(), |c| format!("on {c}"));
                self.close_for_a_person(d, sources, "card-failed", format!("its orchestrator gave up {why}"));
            }
            "block_loop_detected" => {
                self.close_for_a_person(
                    d,
                    sources,
                    "card-failed",
                    "it was blocked twice for the same reason".into(),
                );
            }
            // Its orchestrator asks a person by blocking it.
            _ => {
                let (id, hand) = (&d.task.id, self.hand());
                let what = format!("card {id} is {} and waits for a person", d.task.status);
                self.tell_once(d, "card-blocked", &what, &format!("{hand} unblock {id}"));
            }
        }
    }

    /// Gives a card to an orchestrator that works, or parks it until one does.
    fn stand_in(&mut self, card: &'a CardSeen, who: &str, held: bool, orchestrators: &[String]) {
        let d = &card.detail;
        let failed = Id::new(None, card.host.as_deref());
        let works = |p: &String| p != who && !held_same(&self.router, p, &failed);
        let other = orchestrators
            .iter()
            .find(|p| self.exists(p) && !self.router.state(p).is_held() && works(p))
            .cloned();
        let problem = if held { "its provider refuses" } else { "there is no such profile" };
        let facts = |why: Why| match card.cause.zip(d.newest_run()) {
            Some((cause, run)) => {
                let id = self.router.profile(who).id();
                why.cause(Some(cause))
                    .fact("provider", json!(id.name))
                    .fact("host", json!(card.host.clone().or(id.host)))
                    .fact("profile", json!(who))
                    .fact("run", json!(run.id))
                    .fact("began", json!(run.started_at.0))
                    .fact("resets", json!(card.resets.map(|r| r.0)))
            }
            None => why,
        };
        let Some(to) = other else {
            let until = self.router.standing(who).filter(|(_, s)| s.is_held()).map(|(e, _)| e.until);
            let until = until
                .unwrap_or(self.seen.now.plus(seconds(self.config.heal.hold)))
                .max(self.seen.now.plus(60));
            let because = format!("{who} cannot take it ({problem}), and no other orchestrator works");
            let mend = match held {
                true => "name another one: orchestrator.fallbacks in the configuration".to_owned(),
                false => format!("hermes profile create {who}"),
            };
            self.decision.findings.push(format!("card {}: {because}; {mend}", d.task.id));
            let hold = json!({"owner": SYNTHESIZER, "cause": because, "key": d.task.id, "until": until.0, "next": until.0});
            let why = facts(Why::new("no-orchestrator", because)).fact("hold", hold);
            let step = self
                .scribe
                .step(d, "park-card", &why, |trail| hermes::held(d, "no-orchestrator", until, trail));
            return self.push(step);
        };
        let why = facts(Why::new("stand-in", format!("{who} cannot take it ({problem}); {to} does")));
        let step = self.scribe.step(d, "stand-in", &why, |trail| hermes::moved(d, &to, &[], trail));
        self.push(step);
    }

    /// Closes a card that nobody answers, and leaves its tasks to a person.
    fn close_for_a_person(
        &mut self,
        card: &'a Detail,
        sources: &[&'a Detail],
        word: &'static str,
        why: String,
    ) {
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
            if gone_on(d, card).is_some() || !open || !free || self.is_opted_out(d) {
                continue;
            }
            let why = Why::new("needs-a-person", format!("its card {id}: {why}")).fact("card", json!(id));
            let step = self.scribe.person(d, word, why, &Parting::Closed(id.clone()));
            changed.push(d.task.id.clone());
            self.push(step);
        }
        // Closed first, a card would set its tasks free.
        let mut closed = self.scribe.closed(card, &Why::new("needs-a-person", because));
        closed.after = changed;
        self.push(closed);
    }

    /// Whether a card may stop a task: one of ours, one that its own worker wrote, or a person's. Any other worker may ask
    /// about a task and not hold it up.
    fn speaks_for(&self, card: &Detail, source: &Detail) -> bool {
        is_ours(card) || speaks_for(card, source, self.known)
    }

    /// A command of this board's own program.
    pub(super) fn verb(&self, words: &[&str]) -> String {
        format!("{} {}", self.hand(), words.join(" "))
    }

    pub(super) fn exists(&self, profile: &str) -> bool {
        !profile.is_empty()
            && (self.known.is_empty() || profile == "default" || self.known.iter().any(|k| k == profile))
    }

    /// The first orchestrator that exists and whose provider answers.
    fn usable(&self, orchestrators: &[String]) -> Option<String> {
        let all = orchestrators.iter().filter(|p| self.exists(p));
        let (good, rest): (Vec<&String>, Vec<&String>) = all.partition(|p| !self.router.state(p).is_held());
        good.into_iter().chain(rest).next().cloned()
    }
}

fn held_same(router: &super::router::Router<'_>, profile: &str, failed: &Id) -> bool {
    router.profile(profile).id().is_same(failed)
}

/// Kinds of events after which a card stands differently.
fn is_turn(kind: &str) -> bool {
    matches!(
        kind,
        "gave_up"
            | "blocked"
            | "block_loop_detected"
            | "unblocked"
            | "promoted"
            | "promoted_manual"
            | "specified"
            | "claimed"
            | "scheduled"
            | "created"
    )
}

/// Written by one of our programs, in the one form there is.
pub(crate) fn is_ours(card: &Detail) -> bool {
    let by = card.events.iter().find(|e| e.kind == "created").and_then(|e| e.by());
    matches!(by, Some(SYNTHESIZER | HAND | super::NAME))
}

/// Somebody gave it to somebody after it was made; they meant it.
fn was_given(card: &Detail) -> bool {
    card.events.iter().any(|e| e.kind == "assigned" && !word::is_ours(e))
}

/// The blocker type a card names; where it names none, the widest one.
fn blocker_of(card: &Detail) -> Blocker {
    let title = distress::read_title(&card.task.title).and_then(|(_, blocker)| blocker);
    title.or_else(|| Distress::parse(&card.body).map(|d| d.blocker)).unwrap_or(Blocker::EnvBlocker)
}

/// The template in front of what was written.
fn with_template(card: &Detail, source: &Detail, blocker: Blocker) -> String {
    let signal = Distress {
        source: source.task.id.clone(),
        worker: source.newest_run().and_then(|r| r.profile.clone()).or_else(|| source.task.assignee.clone()),
        branch: source.place.branch.clone(),
        workspace: source.place.path.clone(),
        blocker,
        completed: None,
        cannot_touch: None,
        needs: None,
        state: State::Unknown,
    };
    let rest = card.body.trim();
    if rest.is_empty() { signal.render() } else { format!("{}\n{rest}\n", signal.render()) }
}

/// How a task has gone on since its card was made, if it has.
pub(super) fn gone_on(d: &Detail, card: &Detail) -> Option<String> {
    let (t, since) = (&d.task, card.task.created_at);
    if t.status.frees_children() {
        return Some(format!("{} is {}", t.id, t.status));
    }
    let run = d.newest_run().filter(|r| t.status == Status::Running && r.ended_at.is_none());
    // Another attempt than the one the card was written about.
    let about =
        card.events.iter().find(|e| e.kind == "created").and_then(|e| e.payload.get("run_id")?.as_i64());
    if let Some(run) = run.filter(|r| r.started_at > since && about.is_none_or(|a| r.id > a)) {
        let who = run.profile.as_deref().unwrap_or("somebody");
        return Some(format!("{} runs again, with {who}", t.id));
    }
    let said = since_card(d, card).iter().rev().find(|e| says_on(e));
    said.map(|e| format!("{}: {} since the card was made", t.id, e.kind))
}

/// The folder of a card that is not its own; completing the card would delete it.
fn foreign_folder(card: &Detail) -> Option<Change> {
    let foreign = card.place.path.is_some() || card.place.kind.as_deref().is_some_and(|k| k != "scratch");
    foreign.then(|| Change::SetPlace { kind: "scratch".into(), path: None })
}

/// The task a card is about: its title's; only without one there, what its first event or its body says.
pub(super) fn named(card: &Detail) -> Option<String> {
    if let Some((source, _)) = distress::read_title(&card.task.title) {
        return Some(source);
    }
    let created = card.events.iter().find(|e| e.kind == "created").filter(|_| is_ours(card));
    let recorded = created.and_then(|e| e.payload.get("source_task")?.as_str().map(str::to_owned));
    recorded.or_else(|| Distress::parse(&card.body).map(|d| d.source))
}

/// Whether whoever made a card may speak for a task: a worker of it, or nobody that is known as a worker.
pub(crate) fn speaks_for(card: &Detail, source: &Detail, known: &[String]) -> bool {
    let Some(maker) = card.place.made_by.as_deref() else { return true };
    let worked = source.runs.iter().any(|r| r.profile.as_deref() == Some(maker));
    worked || source.task.assignee.as_deref() == Some(maker) || !known.iter().any(|k| k == maker)
}
