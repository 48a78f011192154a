//! From a trouble to the steps that say so on the board: the card, the link, the hold and the comment, all in one
//! transaction and under one guard.

use serde_json::{Map, Value, json};

use crate::attempts::ended;
use crate::cards::asked::asked;
use crate::cards::identity::made;
use crate::cards::queue::Slot;
use crate::cards::seen::SourceSeen;
use crate::cards::writer::{CardWriter, Trouble};
use crate::clock::is_within;
use crate::decision::Pass;
use base::quote;
use base::registry::SYNTHESIZE_DISTRESS;
use base::time::{DAY, Time, backoff};
use board::hermes::{self, Trail};
use board::{Change, Detail, NewTask, Pin, Status, Step, StepAction};
use card::{Distress, packet};
use config::span::seconds;
use logs::provider::{Id, Profile};

/// The key under which a repetition finds the card of one cause in one attempt.
pub(crate) fn key(source: &str, word: &str, run: i64) -> String {
    format!("distress:{source}:{word}:{run}")
}

/// A card's id: new in every pass, and the same however often one pass decides.
pub fn card_id(pass: &str, key: &str) -> String {
    let hash = base::hash::fnv(pass.bytes().chain([0]).chain(key.bytes()));
    format!("t_{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
}

/// Whether a card of Watchbill said when it was made that its source is still to be linked.
pub fn wants_link(card: &Detail) -> bool {
    let linked = made(card).and_then(|e| e.trail()?.get("linked")?.as_bool());
    linked == Some(false) && !card.task.title.is_empty() && case_of(card) != Some("block-loop")
}

fn case_of(card: &Detail) -> Option<&str> {
    made(card).and_then(|e| e.trail()?.get("case")?.as_str())
}

/// A card that is to be made, and the source in whose step that happens.
pub struct Made {
    /// Its id.
    pub id: String,
    /// The change that makes it.
    pub change: Change,
}

impl CardWriter<'_> {
    /// The card for one source, or for many where `more` names the others.
    pub fn card(&self, s: &SourceSeen, t: &Trouble, key: String, slot: &Slot, more: &[String]) -> Made {
        self.card_of(s, t, self.distress(s, t), key, slot, more)
    }

    /// The same with a template that is filled in already.
    pub(crate) fn card_of(
        &self,
        s: &SourceSeen,
        t: &Trouble,
        signal: Distress,
        key: String,
        slot: &Slot,
        more: &[String],
    ) -> Made {
        let d = &s.detail;
        let id = card_id(&self.pass.id, &key);
        let task = self.new_card(s, t, &signal, key, &slot.orchestrator, more);
        let mut facts = self.facts(s, t);
        facts.insert("linked".into(), json!(t.link));
        let trail = self.trail(t, &t.what, facts);
        let until = self.until(s, t);
        let held = slot.wait.as_ref().map(|why| (why.as_str(), until));
        let about = hermes::CardAbout { source: &d.task.id, blocker: t.blocker.as_str(), run: t.run };
        Made { change: hermes::card_made(&id, task, about, held, &trail), id }
    }

    /// A card's row.
    pub fn new_card(
        &self,
        s: &SourceSeen,
        t: &Trouble,
        signal: &Distress,
        key: String,
        assignee: &str,
        more: &[String],
    ) -> NewTask {
        let d = &s.detail;
        let text = || signal.render() + &self.annex(s, t, more).render(signal);
        let body = self.texts.then(|| quote::without_pull_urls(&text()));
        NewTask { body, assignee: Some(assignee.to_owned()), ..card_row(self.pass, d, signal, key) }
    }

    /// The key of a card for this trouble. One attempt may be asked about twice.
    pub fn unused_key(&self, s: &SourceSeen, t: &Trouble) -> String {
        let key = key(&s.detail.task.id, t.word, t.run);
        let again = format!("{key}:");
        let had = s.detail.cards_made.iter().filter(|c| c.key == key || c.key.starts_with(&again)).count();
        if had == 0 { key } else { format!("{key}:{}", had + 1) }
    }

    /// The step on one source that ties it to its card, which `made` makes in the same step where it is not there yet.
    pub fn tie(&self, s: &SourceSeen, t: &Trouble, card: &str, made: Option<Change>, slot: &Slot) -> Step {
        let d = &s.detail;
        let until = self.until(s, t);
        let mut facts = self.facts(s, t);
        facts.insert("card".into(), json!(card));
        let told = ended::told(d, &s.reading).into_iter().filter(|(_, e)| ended::explains(e.cause));
        ended::explain(d, told.map(|(run, _)| run.id), &mut facts);
        if t.park {
            facts.insert("hold".into(), hold(t.word, card, self.seen.now, until));
        }
        let queued = match &slot.wait {
            None => String::new(),
            Some(why) => format!(" ({why})"),
        };
        let because = format!("{} Card {card} for {}{queued}", t.what, slot.orchestrator);
        let note = self.note(s, t, card, until, slot);
        // While its worker lives nobody resumes it.
        let note = if d.task.status == Status::Running { note } else { packet::with_record(&note, d) };
        let trail = self.trail(t, &because, facts);
        let mut changes: Vec<Change> = made.into_iter().collect();
        let tie = hermes::Tie { card, link: t.link, park: t.park.then_some(until), cause: t.word };
        changes.extend(hermes::tied(d, tie, &trail));
        changes.extend(hermes::commented(self.pass.program, &note));
        Step {
            cause: t.cause,
            because,
            ..Step::on(
                d,
                if t.park { StepAction::CardAndPark } else { StepAction::Card },
                t.case.clone(),
                changes,
            )
        }
    }

    /// What a step about this trouble leaves in the events of its task.
    pub fn trail<'a>(&'a self, t: &Trouble, because: &'a str, more: Map<String, Value>) -> Trail<'a> {
        Trail { cause: t.cause, more, ..self.pass.trail(t.case.clone(), because) }
    }

    /// Machine-readable facts of a verdict; what a later pass groups and holds by.
    pub fn facts(&self, s: &SourceSeen, t: &Trouble) -> Map<String, Value> {
        let mut facts = Map::new();
        let mut note = |k: &str, v: Value| {
            if !v.is_null() {
                facts.insert(k.to_owned(), v);
            }
        };
        note("source", json!(s.detail.task.id));
        note("blocker", json!(t.blocker));
        note("run", json!(t.run));
        note("word", json!(t.word));
        note("provider", json!(self.provider(s)));
        let run = s.detail.newest_run();
        note("profile", json!(run.and_then(|r| r.profile.as_deref()).or(s.detail.task.assignee.as_deref())));
        note("began", json!(run.map(|r| r.started_at.0)));
        note("host", json!(self.host(s, t)));
        note("place", json!(self.place(s, t)));
        if let Some(e) = &t.evidence {
            note("http", json!(e.http));
            note("resets", json!(e.resets.map(|r| r.0)));
            note("seen", json!(e.resets.map(|_| e.refused_at(self.seen.now).0)));
            note("offset", json!(e.offset));
        }
        facts
    }

    /// Host and port of the endpoint that failed: from the log, else from the profile's configuration.
    pub(crate) fn host(&self, s: &SourceSeen, t: &Trouble) -> Option<String> {
        let said = t.evidence.as_ref().and_then(|e| e.endpoint_host.clone());
        said.or_else(|| self.worker(s)?.endpoint)
    }

    /// What stands for the provider wherever sources are put together: its endpoint, else its name, else the profile: all its
    /// work goes to one provider, whichever that is, unless a task says otherwise.
    pub fn place(&self, s: &SourceSeen, t: &Trouble) -> Option<String> {
        let (name, pin) = worked_by(&s.detail);
        let of_profile = || name.filter(|_| pin.is_none()).map(|p| format!("profile {p}"));
        self.host(s, t).or_else(|| self.provider(s)).or_else(of_profile)
    }

    pub(crate) fn provider(&self, s: &SourceSeen) -> Option<String> {
        self.worker(s)?.provider
    }

    /// Who worked, as far as that says whom it asked.
    fn worker(&self, s: &SourceSeen) -> Option<Profile> {
        let (name, pin) = worked_by(&s.detail);
        Some(self.seen.profiles.get(name?)?.pinned(pin))
    }

    /// Whether a profile's requests go where the failed ones went.
    pub(crate) fn shares_provider(&self, s: &SourceSeen, t: &Trouble, profile: &str) -> bool {
        self.seen.profiles.get(profile).is_some_and(|other| other.id().is_same(&self.id(s, t)))
    }

    /// The provider that failed: by the name that its profile or the task's own pin gives it, and the host the log names.
    pub fn id(&self, s: &SourceSeen, t: &Trouble) -> Id {
        let id = Id::new(self.provider(s).as_deref(), self.host(s, t).as_deref());
        Id { profile: self.worker(s).and_then(|p| p.id().profile), ..id }
    }

    /// When a held task is looked at again: when its provider says so, else later with every card it already had.
    fn until(&self, s: &SourceSeen, t: &Trouble) -> Time {
        let (now, policy) = (self.seen.now, &self.config.heal);
        let most = seconds(policy.hold_max);
        let stated = t.evidence.as_ref().and_then(|e| e.resets).filter(|r| *r > now);
        let had = asked(&s.detail).iter().filter(|a| is_within(a.at, now, DAY - 1)).count();
        let had = i64::try_from(had).unwrap_or(i64::MAX);
        let wait = backoff(seconds(policy.hold), had, most, &s.detail.task.id);
        stated.map_or(now.plus(wait), |r| r.min(now.plus(most)))
    }

    fn note(&self, s: &SourceSeen, t: &Trouble, card: &str, until: Time, slot: &Slot) -> String {
        let s_runs = s.detail.task.status == Status::Running;
        let mut note = format!("Stuck ({}): {} ", t.blocker, quote::inline(&t.what, 300));
        note.push_str(&format!("Card {card} asks {} to decide.", slot.orchestrator));
        if t.park {
            note.push_str(&format!(
                " Held until {until}, so that no attempt fails for the same cause meanwhile."
            ));
        }
        if !t.link && s_runs {
            note.push_str(
                " The worker was left running; the card becomes a parent of this task once it has ended.",
            );
        }
        note
    }
}

/// The row of a card about a task: in no folder of its own, and one before it in the queue. It has no text, and nobody has it yet.
pub fn card_row(pass: &Pass, d: &Detail, signal: &Distress, key: String) -> NewTask {
    NewTask {
        title: signal.title(),
        priority: d.task.priority.saturating_add(1),
        created_by: Some(pass.program.into()),
        workspace_kind: Some("scratch".into()),
        tenant: d.place.tenant.clone(),
        idempotency_key: Some(key),
        ..NewTask::default()
    }
}

/// The profile of the newest attempt, else who the task is given to; and what was set for the task alone then.
fn worked_by(d: &Detail) -> (Option<&str>, &Pin) {
    let (assignee, run) = (d.task.assignee.as_deref(), d.newest_run());
    let name = run.and_then(|r| r.profile.as_deref()).or(assignee);
    (name, run.map_or(&d.task.pin, |r| &r.pin))
}

/// A hold's own record: who holds it, why, since when, and when it ends.
pub fn hold(word: &str, card: &str, since: Time, until: Time) -> Value {
    json!({
        "owner": SYNTHESIZE_DISTRESS, "cause": word, "key": format!("card:{card}"), "card": card,
        "since": since.0, "next": until.0, "until": until.0,
    })
}
