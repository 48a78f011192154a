//! The card a worker writes itself, from the same code as the one a watcher writes for it.

use serde_json::json;

use crate::Pass;
use crate::cards::queue::Queue;
use crate::cards::seen::{Seen, SourceSeen};
use crate::cards::writer::{CardWriter, Trouble};
use base::quote;
use base::time::Time;
use board::hermes::{self, Decider};
use board::{Change, HandOver, Rule, Step, StepAction};
use card::{self, Blocker, packet};
use config::Config;
use coord::{SessionId, mapping};

/// Most characters of a worker's reason.
const MAX_REASON: usize = 300;

/// What a worker says when it stops.
#[derive(Debug, Clone)]
pub struct Said {
    /// What kind of help is needed.
    pub blocker: Blocker,
    /// Why it stops, in a sentence.
    pub reason: Option<String>,
    /// What is done.
    pub completed: Option<String>,
    /// What it must not touch.
    pub cannot_touch: Option<String>,
    /// What the operator or another worker should do.
    pub needs: Option<String>,
    /// Who speaks.
    pub author: String,
    /// The session that asks, which waits for the answer.
    pub session: Option<SessionId>,
}

/// Who decides about the task now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A new card.
    Card {
        /// Its id.
        id: String,
        /// Who takes it.
        orchestrator: String,
        /// Why it must wait; `None` is `ready` at once.
        wait: Option<String>,
    },
    /// A card that was open already.
    Joined(String),
    /// A person, for this reason.
    Person(HandOver),
}

/// Blocks the one source of `seen` and asks for help in the same step. Pure, as every decision.
///
/// A card never gets a card, a task with an open card none beside it, and one whose cards of a day are used up goes to a
/// person.
pub fn stop(s: &SourceSeen, seen: &Seen, said: &Said, pass: &Pass, config: &Config) -> (Step, Asked) {
    let writer = CardWriter::new(seen, pass, config);
    let d = &s.detail;
    let reason = said.reason.as_deref().or(said.needs.as_deref()).unwrap_or_default();
    let reason = match quote::inline(reason, MAX_REASON) {
        none if none.is_empty() => said.blocker.to_string(),
        reason => format!("{}: {reason}", said.blocker),
    };
    let reason = base::quote::without_pull_urls(&reason);
    let trouble = trouble(s, said);
    let (made, asked) = ask(&writer, s, said, &trouble);
    let (decider, tail) = match &asked {
        Asked::Card { id, orchestrator, wait } => {
            let queued = wait.as_ref().map_or(String::new(), |why| format!(" ({why})"));
            (Decider::Card(id), format!("Card {id} asks {orchestrator} to decide{queued}."))
        }
        Asked::Joined(id) => (Decider::Card(id), format!("Card {id}, which was open already, decides.")),
        Asked::Person(why) => {
            let assignee = config.people.assignee.as_deref();
            (Decider::Person { why: why.clone(), assignee }, "A person must look.".to_owned())
        }
    };
    let because = format!("{} {tail}", trouble.what);
    let mut facts = writer.facts(s, &trouble);
    facts.extend(said.session.as_ref().map(|session| (mapping::ASKS.into(), json!(session))));
    if let Decider::Card(id) = decider {
        facts.insert("card".into(), json!(id));
    }
    let trail = writer.trail(&trouble, &because, facts);
    let mut changes: Vec<Change> = made.into_iter().collect();
    changes.extend(hermes::stopped(d, &reason, decider, &trail));
    let note = packet::with_record(&note(said, &reason, &tail), d);
    changes.extend(hermes::commented(&said.author, &note));
    let step = Step { because, ..Step::on(d, StepAction::Stop, trouble.case.clone(), changes) };
    (step, asked)
}

fn trouble(s: &SourceSeen, said: &Said) -> Trouble {
    let what = match s.detail.task.current_run {
        Some(_) => "Its worker stopped by itself and asks for help.",
        None => "It was stopped by hand while nobody worked on it.",
    };
    let run = s.detail.newest_run().map_or(0, |r| r.id);
    Trouble {
        quotes: said.reason.iter().cloned().collect(),
        link: true,
        asking: said.session.clone(),
        ..Trouble::new(Rule::ByHand, said.blocker, said.blocker.as_str(), run, what.into())
    }
}

/// The card, where there is to be one, and who decides.
fn ask(writer: &CardWriter<'_>, s: &SourceSeen, said: &Said, t: &Trouble) -> (Option<Change>, Asked) {
    let d = &s.detail;
    if d.task.is_card() {
        return (None, Asked::Person(HandOver::CardBlocked));
    }
    let open = d.cards.first().or_else(|| writer.open.get(&d.task.id)?.first());
    let waits_for_us = |id: &str| {
        let card = writer.cards.get(id);
        card.is_some_and(|c| c.parents.iter().any(|p| p.id == d.task.id))
    };
    if let Some(open) = open.filter(|id| !waits_for_us(id)) {
        return (None, Asked::Joined(open.clone()));
    }
    if writer.used_up(d).is_some() {
        return (None, Asked::Person(HandOver::CardsUsedUp));
    }
    let mut signal = writer.distress(s, t);
    signal.completed = said.completed.clone().or(signal.completed);
    signal.cannot_touch = said.cannot_touch.clone().or(signal.cannot_touch);
    signal.needs = said.needs.clone().or(signal.needs);
    let slot = Queue::new(writer).take(writer, s, t);
    let key = writer.unused_key(s, t);
    let made = writer.card_of(&ended(s, writer.seen.now), t, signal, key, &slot, &[]);
    (Some(made.change), Asked::Card { id: made.id, orchestrator: slot.orchestrator, wait: slot.wait })
}

/// The source as it is once the step is done: the card must not call an attempt running that it ends.
pub fn ended(s: &SourceSeen, now: Time) -> SourceSeen {
    let mut s = s.clone();
    let open = s.detail.task.current_run;
    for run in s.detail.runs.iter_mut().filter(|r| Some(r.id) == open) {
        run.outcome = Some("blocked".into());
        run.ended_at = Some(now);
    }
    s
}

/// For the next worker, who reads the comments first.
pub fn note(said: &Said, reason: &str, tail: &str) -> String {
    let mut note = format!("Stopped ({reason}). {tail}");
    let more = [("Completed", &said.completed), ("Cannot touch", &said.cannot_touch), ("Needs", &said.needs)];
    for (label, value) in more {
        let value = value.as_deref().map(|v| quote::inline(v, MAX_REASON)).unwrap_or_default();
        if !value.is_empty() {
            note.push_str(&format!("\n- {label}: {value}"));
        }
    }
    note
}
