//! The form every orchestrator knows: a card that no watcher wrote gets title, template, place and assignee, and waits
//! its turn.

use serde_json::{Value, json};

use super::was_given;
use crate::route::Rules;
use base::redact::redact;
use base::registry::{ROUTE_BLOCKED, SYNTHESIZE_DISTRESS};
use board::{Change, Detail, EventKind, MAX_TEXT, Rule, Status, Step, StepAction, hermes};
use card::{self, Blocker, Distress, State};
use config::span::seconds;
use policy::cards::identity::is_ours;
use policy::needs_operator::card_turn;
use policy::routing::moving::Why;

impl<'a> Rules<'a> {
    /// Takes a folder that is not its own off a card.
    pub(super) fn own_folder(&self, card: &Detail) -> Option<Step> {
        let change = foreign_folder(card)?;
        let why = Why::new(Rule::Normalise, "brought into the form of a card: a folder of its own");
        Some(self.scribe.step(card, StepAction::Normalise, &why, |trail| {
            let was = json!({"was": {"kind": card.place.kind, "path": card.place.path}});
            vec![change, hermes::noted(EventKind::Detected, was, trail)]
        }))
    }

    /// A card that a worker or a person wrote, brought into the form every orchestrator knows: title, template, assignee,
    /// state, and no folder of its own. Completing a card that has the source's folder as its scratch folder would delete
    /// the source's work.
    pub(super) fn made_whole(
        &self,
        card: &Detail,
        source: &Detail,
        orchestrators: &[String],
    ) -> Option<Step> {
        let t = &card.task;
        let blocker = blocker_of(card);
        // A looped block sends a card to triage for good; everything else that stands there was only written there.
        let looped = card_turn(card).is_some_and(|e| e.kind == EventKind::BlockLoopDetected);
        let mut changes: Vec<Change> = Vec::new();
        let mut what: Vec<String> = Vec::new();
        let mut events: Vec<(EventKind, Value)> = Vec::new();
        // Of a body that long only the front was read; written back, the rest would be lost.
        let whole = card.body.len() >= MAX_TEXT
            || Distress::parse_any(&card.body).is_some()
            || Distress::is_about(&card.body, &source.task.id);
        let title = card::title(&source.task.id, blocker);
        let titled = card::is_card_title(&t.title) && t.title != title && !is_ours(card);
        if titled || !whole {
            let body = (!whole).then(|| with_template(card, source, blocker));
            changes.push(Change::Reword { title: titled.then(|| title.clone()), body });
            what.push(if titled { "title" } else { "template" }.into());
            events.push((EventKind::Edited, json!({"fields": if titled { "title" } else { "body" }})));
        }
        if let Some(change) = foreign_folder(card) {
            changes.push(change);
            what.push("a folder of its own".into());
            events.push((
                EventKind::Detected,
                json!({"was": {"kind": card.place.kind, "path": card.place.path}}),
            ));
        }
        if card.parents.iter().any(|p| p.id == source.task.id) {
            changes.push(Change::Unlink { parent: source.task.id.clone() });
            what.push("the link, which was the wrong way round".into());
            events.push((EventKind::Unlinked, json!({"parent": source.task.id, "child": t.id})));
        }
        if t.priority <= source.task.priority && !is_ours(card) {
            changes.push(Change::SetPriority(source.task.priority.saturating_add(1)));
            events.push((
                EventKind::Reprioritized,
                json!({"priority": source.task.priority.saturating_add(1)}),
            ));
            what.push("priority".into());
        }
        let usable = self.usable(orchestrators);
        let misses =
            t.assignee.as_ref().is_none_or(|a| !orchestrators.contains(a) && !self.is_named(card, a));
        if let Some(to) = usable.filter(|_| misses && !was_given(card)) {
            changes.push(Change::Assign(Some(to.clone())));
            what.push(format!("assignee {to}"));
            events.push((EventKind::Assigned, json!({"assignee": to, "from": t.assignee})));
        }
        let waits = card.parents.iter().any(|p| p.id != source.task.id && !p.status.frees_children());
        if (t.status == Status::Triage && !looped) || (t.status == Status::Todo && !waits) {
            let (to, kind) = self.place_for(card);
            changes.push(Change::SetStatus(to.clone()));
            what.push(format!("{to} instead of {}", t.status));
            events.push((
                kind,
                json!({"actor": ROUTE_BLOCKED, "reason": "a distress card bypasses triage", "forced": false}),
            ));
        }
        if changes.is_empty() {
            return None;
        }
        let mut why =
            Why::new(Rule::Normalise, format!("brought into the form of a card: {}", what.join(", ")));
        if changes.contains(&Change::SetStatus(Status::Scheduled)) {
            why = why.fact("hold", self.queued(&t.id));
        }
        Some(self.scribe.step(card, StepAction::Normalise, &why, |trail| {
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
    pub(super) fn place_for(&self, card: &Detail) -> (Status, EventKind) {
        let most = usize::try_from(self.config.distress.max_open_cards).unwrap_or(usize::MAX);
        let taken = self.index.at_work_beside(card) + self.readied;
        match (taken < most, &card.task.status) {
            (false, _) => (Status::Scheduled, EventKind::Scheduled),
            (true, Status::Triage) => (Status::Ready, EventKind::Specified),
            (true, _) => (Status::Ready, EventKind::PromotedManual),
        }
    }

    /// Whether the orchestrator has enough open cards without this one, which no watcher wrote: a flood of cards must not take
    /// every worker for the orchestrator.
    pub(super) fn is_too_many(&self, card: &Detail) -> bool {
        let most = usize::try_from(self.config.distress.max_open_cards).unwrap_or(usize::MAX);
        !is_ours(card) && !was_given(card) && self.index.at_work_before(card) >= most
    }

    pub(super) fn queue(&mut self, card: &'a Detail) {
        let until = self.seen.now.plus(seconds(self.config.heal.hold));
        let why = Why::new(Rule::Queue, "other cards come first").fact("hold", self.queued(&card.task.id));
        let step =
            self.scribe.step(card, StepAction::QueueCard, &why, |t| hermes::held(card, "queued", until, t));
        self.push(step);
    }

    pub(super) fn queued(&self, card: &str) -> Value {
        let until = self.seen.now.plus(seconds(self.config.heal.hold));
        json!({"owner": SYNTHESIZE_DISTRESS, "cause": "queued behind other cards", "key": card, "until": until.0, "next": until.0})
    }
}

/// The blocker type a card names; where it names none, the widest one.
fn blocker_of(card: &Detail) -> Blocker {
    card::blocker_in(&card.task.title)
        .or_else(|| Distress::parse_any(&card.body).map(|d| d.blocker))
        .unwrap_or(Blocker::EnvBlocker)
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
    let rest = redact(card.body.trim());
    if rest.is_empty() { signal.render() } else { format!("{}\n{rest}\n", signal.render()) }
}

/// The folder of a card that is not its own; completing the card would delete it.
fn foreign_folder(card: &Detail) -> Option<Change> {
    let foreign = card.place.path.is_some() || card.place.kind.as_deref().is_some_and(|k| k != "scratch");
    foreign.then(|| Change::SetPlace { kind: "scratch".into(), path: None })
}
