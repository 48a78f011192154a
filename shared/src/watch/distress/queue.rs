//! Who takes the cards, and how many at once: a storm of cards must not take every worker slot for the orchestrator.

use serde_json::{Map, Value};

use super::{NAME, ORCHESTRATOR, Rules};
use crate::board::hermes::{self, Trail};
use crate::board::{Detail, Expect, Status, Step};
use crate::time::words;
use crate::watch::{Decision, Left};

/// Seconds after which a card nobody claims is worth a word.
const UNCLAIMED: i64 = 1_800;

/// Who takes the cards.
pub(super) struct Orchestrator {
    /// The profile.
    pub(super) name: String,
    /// Why it cannot take any.
    pub(super) problem: Option<String>,
}

/// Where one card goes.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// Its assignee.
    pub(super) orchestrator: String,
    /// Why it must wait; `None` is `ready` at once.
    pub(super) wait: Option<String>,
}

/// The places that are left.
pub(super) struct Queue {
    orchestrator: String,
    problem: Option<String>,
    free: usize,
}

impl Queue {
    pub(super) fn new(rules: &Rules<'_>) -> Queue {
        let Orchestrator { name, problem } = rules.orchestrator();
        let at_work = |c: &&Detail| matches!(c.task.status, Status::Ready | Status::Running);
        let taken = rules.seen.cards.iter().filter(at_work).count();
        let most = usize::try_from(rules.config.distress.max_open_cards).unwrap_or(usize::MAX);
        Queue { orchestrator: name, problem, free: most.saturating_sub(taken) }
    }

    /// A place for one more card.
    pub(super) fn take(&mut self) -> Slot {
        let orchestrator = self.orchestrator.clone();
        if let Some(problem) = &self.problem {
            return Slot { orchestrator, wait: Some(format!("parked: {problem}")) };
        }
        if self.free == 0 {
            return Slot { orchestrator, wait: Some("queued behind other cards".into()) };
        }
        self.free -= 1;
        Slot { orchestrator, wait: None }
    }

    /// The place of a card that is there already.
    pub(super) fn joined(&self) -> Slot {
        Slot { orchestrator: self.orchestrator.clone(), wait: None }
    }

    /// Lets the cards go that waited longest, as far as there are places.
    pub(super) fn release(&mut self, rules: &Rules<'_>, decision: &mut Decision) {
        let mut waiting: Vec<&Detail> = rules.seen.cards.iter().filter(|c| is_queued(c)).collect();
        waiting.sort_by_key(|c| (c.task.created_at, c.task.id.clone()));
        if let Some(problem) = self.problem.as_ref().filter(|_| !waiting.is_empty()) {
            decision.findings.push(format!("{} cards wait: {problem}", waiting.len()));
            return;
        }
        for card in waiting {
            if rules.pass.only.is_some() || self.free == 0 {
                let because = "a card that waits its turn".to_owned();
                decision.left.push(Left { task: card.task.id.clone(), because, unknown: false });
                continue;
            }
            self.free -= 1;
            decision.steps.push(rules.let_go(card, &self.orchestrator));
        }
    }
}

/// Whether a card waits because we said so: this program, or the hand of a worker that found no place free.
fn is_queued(card: &Detail) -> bool {
    let newest =
        card.events.iter().rev().find(|e| matches!(e.kind.as_str(), "scheduled" | "unblocked" | "status"));
    let ours = |e: &crate::board::Event| matches!(e.by(), Some(NAME | super::HAND));
    card.task.status == Status::Scheduled && newest.is_some_and(|e| e.kind == "scheduled" && ours(e))
}

impl Rules<'_> {
    /// The profile that takes the cards: ours to name, else Hermes' own setting, else the name of the contract. Where
    /// profiles are known it must be one of them: the runtime would hand a card without one to anybody.
    pub(super) fn orchestrator(&self) -> Orchestrator {
        let hermes = self.seen.runtime.as_ref().and_then(|r| r.orchestrator.clone());
        let name =
            self.config.distress.orchestrator.clone().or(hermes).unwrap_or_else(|| ORCHESTRATOR.into());
        let known = self.seen.runtime.as_ref().map(|r| r.profiles.as_slice()).unwrap_or_default();
        let exists = |p: &String| known.is_empty() || p == "default" || known.contains(p);
        if exists(&name) {
            return Orchestrator { name, problem: None };
        }
        if let Some(other) = self.config.orchestrator.fallbacks.iter().find(|p| exists(p)) {
            return Orchestrator { name: other.clone(), problem: None };
        }
        let problem = format!(
            "there is no profile {name} to take them; make it (hermes profile create {name}) or name another one \
             (distress.orchestrator)"
        );
        Orchestrator { name, problem: Some(problem) }
    }

    fn let_go(&self, card: &Detail, orchestrator: &str) -> Step {
        let because = format!("a place is free for this card; {orchestrator} takes it");
        let trail = Trail {
            by: NAME,
            pass: &self.pass.id,
            clock_given: self.pass.clock_given,
            case: "queue",
            cause: None,
            because: &because,
            more: Map::new(),
        };
        Step {
            task: card.task.id.clone(),
            action: "release-card".into(),
            case: "queue".into(),
            cause: None,
            expect: Some(Expect::of(card)),
            proof: None,
            changes: hermes::card_released(card, orchestrator, &trail),
            because,
        }
    }

    /// Says which cards do not get anywhere, or are not needed any more.
    pub(super) fn look_after_cards(&self, decision: &mut Decision) {
        for card in &self.seen.cards {
            let id = &card.task.id;
            let sources = super::sources_of(card);
            let gone = |d: &&Detail| {
                sources.contains(&d.task.id) && matches!(d.task.status, Status::Done | Status::Archived)
            };
            if let Some(d) = self.seen.others.iter().find(gone) {
                decision.findings.push(format!(
                    "card {id}: its task {} is {}; the card can be completed or archived",
                    d.task.id, d.task.status
                ));
                continue;
            }
            if let Some(what) = self.standstill(card) {
                decision.findings.push(format!("card {id} of {}: {what}", names(&sources)));
            }
        }
    }

    fn standstill(&self, card: &Detail) -> Option<String> {
        let since = card.events.iter().rev().find(|e| {
            matches!(
                e.kind.as_str(),
                "created" | "unblocked" | "promoted" | "promoted_manual" | "assigned" | "reclaimed"
            )
        });
        let waited = self.seen.now.since(since.map_or(card.task.created_at, |e| e.at));
        match card.task.status {
            Status::Blocked => Some("is blocked itself; a person must look".into()),
            Status::Triage => Some("is in triage, where nobody takes it".into()),
            Status::Todo => {
                let first = card.parents.iter().find(|p| !p.status.frees_children())?;
                Some(format!("waits for {}, and nobody takes it before that", first.id))
            }
            Status::Ready if card.task.assignee.is_none() => Some("is assigned to nobody".into()),
            Status::Ready if waited > UNCLAIMED => {
                let who = card.task.assignee.as_deref().unwrap_or("nobody");
                Some(format!(
                    "was not claimed for {}; does a dispatcher run, and does {who} exist?",
                    words(waited)
                ))
            }
            _ => None,
        }
    }
}

fn names(sources: &std::collections::BTreeSet<String>) -> String {
    if sources.is_empty() {
        return "no task it names".into();
    }
    sources.iter().cloned().collect::<Vec<_>>().join(", ")
}

/// What a card was made for, as its first event says: the cause's word and the host that failed.
pub(super) fn about(card: &Detail) -> Option<(String, String)> {
    let created = card.events.iter().find(|e| e.kind == "created" && e.by() == Some(NAME))?;
    let trail = created.trail()?;
    let word = trail.get("word").and_then(Value::as_str)?;
    let host =
        trail.get("host").or_else(|| trail.get("provider")).and_then(Value::as_str).unwrap_or_default();
    Some((word.to_owned(), host.to_owned()))
}
