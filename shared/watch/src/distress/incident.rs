//! Many tasks stuck for one reason share one card: an orchestrator needs to be told once that a provider is down.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::trouble::{self, Verdict};
use base::cause::Cause;
use base::quote;
use base::registry::SYNTHESIZE_DISTRESS;
use board::hermes;
use board::{Change, Detail, Rule, Status, Step, StepAction};
use card::INCIDENT_KEY;
use policy::cards::asked::asked;
use policy::cards::identity::{is_incident, named, since_card};
use policy::cards::queue::{Queue, about};
use policy::cards::seen::SourceSeen;
use policy::cards::writer::{CardWriter, Trouble};
use policy::{Decision, Profiles, authorship};

/// From so many sources on they share a card.
const SOURCES: usize = 3;

/// One cause at one host.
type Group = (String, String);

/// A stuck task and why.
type Stuck<'a> = (&'a SourceSeen, Trouble);

/// Turns troubles into steps: alone, or together where they are one incident.
pub(super) fn plan(
    rules: &CardWriter<'_>,
    stuck: Vec<Stuck<'_>>,
    queue: &mut Queue,
    decision: &mut Decision,
) {
    let mut shared: BTreeMap<Group, Vec<Stuck<'_>>> = BTreeMap::new();
    // In the order of the troubles, which is that of dispatch: who comes first gets the next free place.
    let mut turns: Vec<(Option<Group>, Vec<Stuck<'_>>)> = Vec::new();
    for (s, t) in stuck {
        match group(rules, s, &t) {
            None => turns.push((None, vec![(s, t)])),
            Some(group) => {
                if !shared.contains_key(&group) {
                    turns.push((Some(group.clone()), Vec::new()));
                }
                shared.entry(group).or_default().push((s, t));
            }
        }
    }
    for (group, mut members) in turns {
        members.extend(group.as_ref().and_then(|g| shared.remove(g)).unwrap_or_default());
        let known = group.as_ref().map(|g| Known::of(rules, g)).unwrap_or_default();
        if let Some(card) = known.incident {
            for (s, t) in &members {
                decision.steps.push(join(rules, s, t, card, queue));
                decision.steps.push(tell(s, card));
            }
        } else if group.is_some() && known.sources.len() + members.len() >= SOURCES {
            open(rules, &members, &known, queue, decision);
        } else {
            for (s, t) in &members {
                decision.steps.push(alone(rules, s, t, queue));
            }
        }
    }
}

/// Causes that lie with a provider or an endpoint, not with one task.
fn group(rules: &CardWriter<'_>, s: &SourceSeen, t: &Trouble) -> Option<Group> {
    let cause = t.cause.filter(|_| rules.config.distress.storm)?;
    let shared = cause.is_provider_pressure()
        || matches!(
            cause,
            Cause::Credential | Cause::ModelMissing | Cause::ConnectionRefused | Cause::Misconfigured
        );
    // A card that cannot be linked yet has nothing to hold it to the others.
    // Where nobody knows the provider, one cause of three profiles may well be three providers.
    let place = rules.place(s, t).filter(|_| shared && t.link)?;
    Some((t.word.to_owned(), place))
}

/// What is on the board already for one cause at one host.
#[derive(Default)]
struct Known<'a> {
    /// The open incident card.
    incident: Option<&'a Detail>,
    /// Cards of single sources.
    singles: Vec<&'a Detail>,
    /// Their sources.
    sources: BTreeSet<String>,
}

impl<'a> Known<'a> {
    fn of(rules: &CardWriter<'a>, group: &Group) -> Known<'a> {
        let same = |c: &&Detail| about(c).as_ref() == Some(group) && !is_decided_on(rules, c);
        let (incidents, singles): (Vec<&Detail>, Vec<&Detail>) =
            rules.seen.cards.iter().filter(same).partition(|c| is_incident(c));
        let sources = singles.iter().filter_map(|c| named(c)).collect();
        Known { incident: incidents.first().copied(), singles, sources }
    }
}

/// Whether an operator or agent unblocked, reassigned or promoted what a single card is about: route-blocked closes that card.
/// Tied to another card, its task would be stopped again against that decision.
fn is_decided_on(rules: &CardWriter<'_>, card: &Detail) -> bool {
    let decided = |d: &&Detail| since_card(d, card).iter().any(authorship::is_fresh_start);
    !is_incident(card) && named(card).is_some_and(|id| rules.looked.get(id.as_str()).is_some_and(decided))
}

fn alone(rules: &CardWriter<'_>, s: &SourceSeen, t: &Trouble, queue: &mut Queue) -> Step {
    let key = rules.unused_key(s, t);
    let slot = queue.take(rules, s, t);
    let made = rules.card(s, t, key, &slot, &[]);
    rules.tie(s, t, &made.id, Some(made.change), &slot)
}

fn join(rules: &CardWriter<'_>, s: &SourceSeen, t: &Trouble, card: &Detail, queue: &Queue) -> Step {
    let slot = queue.joined();
    rules.tie(s, t, &card.task.id, None, &slot)
}

/// The orchestrator reads the comments of the card, but not which tasks were tied to it since.
fn tell(s: &SourceSeen, card: &Detail) -> Step {
    let said = format!("Joined: {} ({})", s.detail.task.id, quote::inline(&s.detail.task.title, 120));
    let mut changes =
        vec![Change::Require { task: s.detail.task.id.clone(), parent: Some(card.task.id.clone()) }];
    changes.extend(hermes::commented(SYNTHESIZE_DISTRESS, &said));
    Step { because: said, ..Step::unguarded(&card.task.id, StepAction::Note, Rule::Incident, changes) }
}

/// The card for all of them, made in the step of the first; single cards that nobody has begun with close into it.
fn open(
    rules: &CardWriter<'_>,
    members: &[Stuck<'_>],
    known: &Known<'_>,
    queue: &mut Queue,
    decision: &mut Decision,
) {
    let began = |s: &SourceSeen| s.detail.newest_run().map(|r| r.ended_at.unwrap_or(r.started_at));
    let carded = rules.seen.sources.iter().filter(|s| known.sources.contains(&s.detail.task.id));
    let carded: Vec<Stuck<'_>> = carded
        .filter_map(|s| match trouble::trouble(s, rules.seen, rules.config) {
            Verdict::Stuck(t) => Some((s, *t)),
            _ => None,
        })
        .collect();
    let by_age = |(s, _): &&Stuck<'_>| (began(s), s.detail.task.id.clone());
    let Some((oldest, why)) = members.iter().chain(&carded).min_by_key(by_age) else { return };
    let Some(first) = members.iter().min_by_key(by_age) else { return };
    let place = rules.place(oldest, why).unwrap_or_else(|| why.word.to_owned());
    let key = incident_key(&first.0.detail, &place, first.1.run);
    let listed = |(s, _): &Stuck<'_>| format!("{}: {}", s.detail.task.id, s.detail.task.title);
    let mut more: Vec<String> = members.iter().chain(&carded).map(listed).collect();
    let told: BTreeSet<&String> = carded.iter().map(|(s, _)| &s.detail.task.id).collect();
    let rest = known.sources.iter().filter(|id| !told.contains(id));
    more.extend(rest.map(|id| format!("{id}: has a card of its own")));
    // The cards that close into it leave their places.
    let places = rules.places();
    queue.give_back(known.singles.iter().filter(|c| places.takes_one(c) && is_untouched(c)).count());
    let slot = queue.take(rules, oldest, why);
    let made = rules.card(oldest, why, key, &slot, &more);
    decision.steps.push(rules.tie(first.0, &first.1, &made.id, Some(made.change), &slot));
    for (s, t) in members.iter().filter(|(s, _)| s.detail.task.id != first.0.detail.task.id) {
        // Where the first one moved meanwhile there is no card to be tied to; the next pass will do.
        let needs = Change::Require { task: made.id.clone(), parent: None };
        decision.steps.push(rules.tie(s, t, &made.id, Some(needs), &slot));
    }
    for card in known.singles.iter().filter(|c| is_untouched(c)) {
        merge(rules, card, &made.id, decision);
    }
}

/// The key of an incident's card, after the task that the step ties to it which makes it. No earlier card has this key: each one
/// that was made for the same attempt was tied to the task in the same transaction, and counts.
fn incident_key(first: &Detail, place: &str, run: i64) -> String {
    let earlier = asked(first).iter().filter(|a| a.run == run).count();
    let again = if earlier == 0 { String::new() } else { format!(":{}", earlier + 1) };
    format!("{INCIDENT_KEY}{place}:{run}{again}")
}

/// Nobody has begun with it. A card that is claimed is its orchestrator's.
fn is_untouched(card: &Detail) -> bool {
    matches!(card.task.status, Status::Ready | Status::Scheduled)
        && card.task.claim_lock.is_none()
        && card.task.current_run.is_none()
}

/// Ties the source of a single card to the incident, then closes the card. In this order: a closed parent would set the
/// source free.
fn merge(rules: &CardWriter<'_>, card: &Detail, incident: &str, decision: &mut Decision) {
    let because = format!("one incident with others; card {incident} decides for all");
    let trail = rules.pass.trail(Rule::Incident, &because);
    let step = |d: &Detail, action: StepAction, changes| Step {
        because: because.clone(),
        ..Step::on(d, action, Rule::Incident, changes)
    };
    let sources = rules.under.get(card.task.id.as_str()).into_iter().flatten();
    let sources: Vec<&Detail> = sources.copied().filter(|d| !d.task.status.frees_children()).collect();
    let profiles = Profiles::of(rules.seen.runtime.as_ref());
    let person = rules.config.people.assignee.as_deref();
    if authorship::undone(card).is_some()
        || sources.iter().any(|d| authorship::hands_off(d, profiles, person, rules.seen.now).is_some())
    {
        return;
    }
    for d in &sources {
        let mut trail = trail.clone();
        trail.more.insert("card".into(), json!(incident));
        trail.more.insert("run".into(), json!(d.newest_run().map_or(0, |r| r.id)));
        let tie = hermes::Tie { card: incident, link: true, park: None, cause: "incident" };
        let mut changes = vec![Change::Require { task: incident.to_owned(), parent: None }];
        changes.extend(hermes::tied(d, tie, &trail));
        decision.steps.push(step(d, StepAction::Join, changes));
    }
    let said = format!("Merged into {incident}: the same cause stops several tasks.");
    // A source that could not be tied would become ready at this card's end.
    let mut changes: Vec<Change> = sources
        .iter()
        .map(|d| Change::Require { task: d.task.id.clone(), parent: Some(incident.to_owned()) })
        .collect();
    changes.extend(hermes::completed(card, None, Some(&said), &trail));
    decision.steps.push(step(card, StepAction::MergeCard, changes));
}
