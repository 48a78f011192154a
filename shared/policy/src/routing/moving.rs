//! The steps that reroute, hold, release or escalate work: the same in every watcher that does so.

use serde_json::{Map, Value, json};

use crate::Pass;
use crate::authorship::{end_in, our_hold};
use crate::needs_operator;
use crate::routing::router::{Ask, Router, Target};
use crate::worktree_note::{TreeNote, TreeNotes};
use base::cause::Cause;
use base::quote;
use base::registry::ROUTE_BLOCKED;
use base::time::Time;
use board::hermes::{self, Trail};
use board::{Change, Detail, Event, EventKind, HandOver, Rule, Status, Step, StepAction};
use card::{self, Blocker, packet};
use config::Config;
use logs::provider::Id;
use logs::provider::ledger::State;

/// What Hermes writes when a goal-mode worker comes to no end: a sticky block of its own, whatever the reason.
pub const GOAL: &str = "Goal-mode worker exhausted its turn budget";

/// Why a step is made.
#[derive(Debug, Clone)]
pub struct Why {
    /// The rule.
    pub case: Rule,
    /// Why the last attempt ended, where that is known.
    pub cause: Option<Cause>,
    /// One line.
    pub because: String,
    /// What a later pass reads back.
    pub facts: Map<String, Value>,
}

impl Why {
    /// A rule and the sentence that says why it holds.
    pub fn new(case: Rule, because: impl Into<String>) -> Why {
        Why { case, cause: None, because: because.into(), facts: Map::new() }
    }

    /// The same with the cause why an attempt ended.
    pub fn cause(mut self, cause: Option<Cause>) -> Why {
        self.cause = cause;
        self
    }

    /// The same with one more fact for the event.
    pub fn fact(mut self, key: &str, value: Value) -> Why {
        self.facts.insert(key.to_owned(), value);
        self
    }
}

/// How a task leaves its card in the step that moves it.
#[derive(Debug, Clone)]
pub enum Parting {
    /// There is no card.
    Free,
    /// Its card was closed in a step before.
    Closed(String),
    /// The card goes on for others; the task is unlinked from it.
    Left(String),
    /// A card is made that is settled already, as the trail of this very move.
    Settled {
        /// Its id.
        id: String,
        /// The change that makes it.
        made: Box<Change>,
    },
}

impl Parting {
    fn changes(&self, task: &str, trail: &Trail<'_>) -> Vec<Change> {
        match self {
            Parting::Free | Parting::Closed(_) => Vec::new(),
            Parting::Left(card) => hermes::unlinked(task, card, trail),
            Parting::Settled { id, made } => {
                let mut changes = vec![made.as_ref().clone()];
                changes.extend(hermes::linked_as_is(task, id, trail));
                changes
            }
        }
    }

    /// The parent that does not count any more.
    fn without(&self) -> Vec<&str> {
        match self {
            Parting::Free => Vec::new(),
            Parting::Closed(id) | Parting::Left(id) | Parting::Settled { id, .. } => vec![id.as_str()],
        }
    }
}

/// Writes steps in the name of one pass.
#[derive(Clone, Copy)]
pub struct Scribe<'a> {
    /// Which pass it is.
    pub pass: &'a Pass,
    /// Its configuration.
    pub config: &'a Config,
    /// When it began.
    pub now: Time,
    /// The trees of tasks that get another assignee, as far as they were looked at.
    pub trees: &'a TreeNotes,
}

impl Scribe<'_> {
    /// A step on a task that was seen.
    pub fn step(
        &self,
        d: &Detail,
        action: StepAction,
        why: &Why,
        changes: impl FnOnce(&Trail<'_>) -> Vec<Change>,
    ) -> Step {
        let changes = self.by_trail(why, changes);
        let because = why.because.clone();
        Step { cause: why.cause, because, ..Step::on(d, action, why.case.clone(), changes) }
    }

    /// What is made under the trail of a reason.
    pub fn by_trail<T>(&self, why: &Why, make: impl FnOnce(&Trail<'_>) -> T) -> T {
        let (cause, more) = (why.cause, why.facts.clone());
        make(&Trail { cause, more, ..self.pass.trail(why.case.clone(), &why.because) })
    }

    /// A reason that carries the state of the tree of a task that gets another assignee.
    pub fn with_tree(&self, d: &Detail, why: Why) -> Why {
        let Some((key, value)) = self.trees.get(&d.task.id).map(TreeNote::fact) else { return why };
        why.fact(&key, value)
    }

    /// A task given to another profile and requeued.
    pub fn moved(
        &self,
        router: &mut Router<'_>,
        d: &Detail,
        to: &Target,
        why: Why,
        parting: &Parting,
    ) -> Step {
        let from = whose(d);
        let sent = router.send(&d.task.id, &router.profile(&to.profile), true);
        let why = self.with_tree(d, why.fact("sent", sent));
        let at = if to.id.is_known() { format!(", at {}", to.id) } else { String::new() };
        let note = format!(
            "Moved from {from} to {}{at}: {}{} The task, its text and its scope are unchanged.",
            to.profile,
            ended(&why.because),
            unpinned(d)
        );
        let note = packet::with_record(&note, d);
        let mut step = self.step(d, StepAction::Move, &why, |trail| {
            let mut changes = parting.changes(&d.task.id, trail);
            changes.extend(hermes::moved(d, &to.profile, &parting.without(), trail));
            changes.extend(hermes::commented(trail.by, &note));
            changes
        });
        // The events name both; a line of the report must do so itself.
        let pin = pin(d).map(|pin| format!(", no longer pinned to {pin}")).unwrap_or_default();
        step.because = format!("{from} to {}{pin}: {}", to.profile, why.because);
        step
    }

    /// A task that waits until a moment, under a hold that routing ends.
    pub fn held(&self, d: &Detail, provider: &Id, until: Time, why: Why) -> Step {
        let word = why.cause.map_or("provider", Cause::as_str);
        let since = self.hold_began(d);
        let hold = hold(word, provider, since, until);
        let action = if d.task.status == Status::Scheduled { StepAction::Extend } else { StepAction::Park };
        let why = why.fact("hold", hold);
        self.step(d, action, &why, |trail| hermes::held(d, word, until, trail))
    }

    /// A task given to another profile, which starts with it in its turn.
    pub fn given(&self, d: &Detail, to: &Target, until: Time, why: Why) -> Step {
        let word = why.cause.map_or("rate_limit", Cause::as_str);
        let hold = hold(word, &to.id, self.hold_began(d), until);
        let why = self.with_tree(d, why.fact("hold", hold));
        self.step(d, StepAction::Give, &why, |trail| {
            let mut changes = hermes::given(d, &to.profile, trail);
            changes.extend(hermes::held(d, word, until, trail));
            let note = format!("Given to {}.{}", to.profile, unpinned(d));
            changes.extend(pin(d).map(|_| hermes::commented(trail.by, &note)).into_iter().flatten());
            changes
        })
    }

    /// A held task goes on with the profile it has.
    pub fn released(&self, router: &mut Router<'_>, d: &Detail, why: Why, parting: &Parting) -> Step {
        let sent = router.send(&d.task.id, &router.worker(&d.task), false);
        let action = if why.case == Rule::Probe { StepAction::Probe } else { StepAction::Release };
        let why = why.fact("sent", sent);
        self.step(d, action, &why, |trail| {
            let mut changes = parting.changes(&d.task.id, trail);
            changes.extend(hermes::set_free(d, &parting.without(), trail));
            // Where its dispatcher buried the attempt, nobody told of it.
            let told = packet::with_record("", d);
            if !told.is_empty() {
                changes.extend(hermes::commented(trail.by, &told));
            }
            changes
        })
    }

    /// A task that only a person can help.
    pub fn person(&self, d: &Detail, handed: &HandOver, why: Why, parting: &Parting) -> Step {
        let assignee = self.config.people.assignee.as_deref();
        let note = format!("Needs a person ({}): {}", handed.as_str(), ended(&why.because));
        let note = packet::with_record(&note, d);
        self.step(d, StepAction::HandOver, &why, |trail| {
            let mut changes = parting.changes(&d.task.id, trail);
            changes.extend(hermes::needs_person(d, handed, assignee, trail));
            changes.extend(hermes::commented(trail.by, &note));
            changes
        })
    }

    /// A card that has done its work. Its children are promoted with it.
    pub fn closed(&self, card: &Detail, why: &Why) -> Step {
        self.step(card, StepAction::CloseCard, why, |trail| {
            let mut changes = hermes::completed(card, None, Some(&why.because), trail);
            // What its attempt showed of a provider outlasts the card.
            if why.facts.contains_key("run") {
                changes.push(hermes::noted(EventKind::Signal, json!({"reason": why.because}), trail));
            }
            changes.extend(hermes::commented(trail.by, &format!("Closed: {}", ended(&why.because))));
            changes
        })
    }

    /// Since when a task is held without a break: one hold after the other is one wait.
    fn hold_began(&self, d: &Detail) -> Time {
        if d.task.status != Status::Scheduled {
            return self.now;
        }
        let hold = our_hold(d).and_then(|(_, hold)| hold.get("since")?.as_i64());
        hold.map_or(self.now, Time)
    }
}

/// What the key of a hold for a provider begins with.
const PROVIDER: &str = "provider:";

/// A hold's own record: who ends it, why, since when, and when.
pub fn hold(word: &str, provider: &Id, since: Time, until: Time) -> Value {
    json!({
        "owner": ROUTE_BLOCKED, "cause": word, "key": format!("{PROVIDER}{provider}"), "since": since.0, "next": until.0,
        "until": until.0,
    })
}

/// The provider that such a hold is for, as it is shown; `None` for the holds of other watchers.
pub fn held_provider(hold: &Value) -> Option<&str> {
    hold.get("key")?.as_str()?.strip_prefix(PROVIDER)
}

/// What is set for a task alone, as a text tells of it.
fn pin(d: &Detail) -> Option<String> {
    (!d.task.pin.is_none()).then(|| quote::inline(&d.task.pin.to_string(), 120))
}

/// What a comment says of a pin that its task loses with its assignee.
fn unpinned(d: &Detail) -> String {
    let Some(pin) = pin(d) else { return String::new() };
    format!(" Its pin to {pin} was taken off.")
}

fn whose(d: &Detail) -> String {
    quote::inline(d.task.assignee.as_deref().unwrap_or("nobody"), 64)
}

/// With one full stop at its end.
fn ended(sentence: &str) -> String {
    format!("{}.", sentence.trim_end().trim_end_matches('.'))
}

/// When a hold ends.
pub fn until(event: &Event, hold: &Value) -> Time {
    end_in(hold).unwrap_or(event.at)
}

/// Whether we may reroute or requeue a task: nobody works on it, and nobody else stopped it.
pub fn is_ours_to_move(d: &Detail) -> bool {
    let t = &d.task;
    if t.claim_lock.is_some() || t.current_run.is_some() {
        return false;
    }
    match t.status {
        Status::Ready => true,
        Status::Scheduled => our_hold(d).is_some(),
        Status::Todo => d.parents.iter().all(|p| p.status.frees_children() || p.is_card()),
        Status::Blocked => is_ours_to_unblock(d),
        _ => false,
    }
}

/// Whether an event stopped a task for good or set it free again.
fn stops_or_frees(e: &Event) -> bool {
    matches!(
        e.kind,
        EventKind::Blocked
            | EventKind::GaveUp
            | EventKind::Unblocked
            | EventKind::Promoted
            | EventKind::PromotedManual
    )
}

/// The newest event that stopped a task for good or set it free again.
pub fn newest_stop(d: &Detail) -> Option<&Event> {
    d.events.iter().rev().find(|e| stops_or_frees(e))
}

/// Whether a block is not a person's decision: the breaker's own, the one that `board` wrote with a worker's card, or what Hermes
/// writes for a goal-mode worker.
pub fn is_ours_to_unblock(d: &Detail) -> bool {
    let Some(e) = newest_stop(d) else { return false };
    match e.kind {
        // A limit set by hand means: run it so often and no more.
        EventKind::GaveUp => {
            let by_task = e.payload.get("limit_source").and_then(Value::as_str) == Some("task");
            !by_task && d.task.max_retries.is_none() && !hermes::is_sticky(&d.events)
        }
        // No command blocks what is blocked already: an event that says so after a person's block is forged.
        EventKind::Blocked if is_second_block(d, e) => false,
        EventKind::Blocked => {
            let reason = e.payload.get("reason").and_then(Value::as_str).unwrap_or_default();
            let by_hand = e.by() == Some(crate::authorship::HAND)
                && e.trail().is_some_and(|t| t.get("card").is_some_and(|c| !c.is_null()));
            by_hand || (e.by().is_none() && reason.starts_with(GOAL))
        }
        _ => false,
    }
}

/// Whether a task was blocked already, by an event before this one.
fn is_second_block(d: &Detail, block: &Event) -> bool {
    let at = d.events.iter().rposition(|e| e == block).unwrap_or(0);
    let before = d.events[..at].iter().rev().find(|e| stops_or_frees(e) || e.kind == EventKind::Claimed);
    before.is_some_and(|e| e.kind == EventKind::Blocked)
}

/// Since when nothing goes on in the queue in which a task waits whose key or quota is refused: for a profile that takes it over, or,
/// where it was given to one already, for its turn there. `None` where it stands in none.
pub fn queued(router: &Router<'_>, d: &Detail) -> Option<Time> {
    let (_, cause) = needs_operator::held_for(d).filter(|_| is_ours_to_move(d))?;
    let blocker = cause.blocker_type().filter(|_| needs_operator::lacking(d).is_some())?;
    d.task.assignee.as_ref()?;
    match router.standing_for(&d.task).filter(|(_, state)| *state != State::Healthy) {
        Some((entry, state)) if state.is_held() => {
            router.queue(&ask(router, d, blocker, Some(entry.id.clone()).filter(Id::is_known)))
        }
        Some(_) => None,
        None => {
            let worker = router.worker(&d.task);
            match own_key_refused(d, cause) {
                Some(at) => router.moving_since(&worker, at),
                None => router.moving_at(&worker),
            }
        }
    }
}

/// When the newest attempt ended, where it was refused the key of the very profile that has the task still.
fn own_key_refused(d: &Detail, cause: Cause) -> Option<Time> {
    let run = d.newest_run().filter(|run| cause == Cause::Credential && run.profile == d.task.assignee)?;
    Some(run.ended_at.unwrap_or(run.started_at))
}

/// The question about a task that stopped at a provider.
pub fn ask<'a>(router: &Router<'_>, d: &'a Detail, blocker: Blocker, limiting: Option<Id>) -> Ask<'a> {
    let from = d.task.assignee.as_deref().unwrap_or_default();
    let told =
        d.events.iter().rev().find_map(|e| crate::routing::facts::of_event(&d.task.id, e)).map(|s| s.id);
    let own = router.worker(&d.task).id();
    let limiting = limiting.into_iter().chain(told).chain([own]).filter(Id::is_known).collect();
    Ask { detail: d, from, blocker, limiting }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::facts::Routing;
    use board::testing::{NOW, ago, detail, event, run};
    use logs::provider::Profile;
    use logs::provider::ledger::{News, Sighting};

    /// A refusal that the ledger does not know leaves its provider healthy: nobody noted whom the attempt had asked.
    #[test]
    fn who_waits_for_a_key_is_in_no_queue_of_those_who_work_with_another() {
        let profile =
            |name: &str| Profile { name: name.into(), provider: Some("moon".into()), ..Profile::default() };
        let (config, known) = (Config::default(), ["luna", "mira"]);
        let all = known.into_iter().collect();
        for (cause, ran, who, at, want) in [
            ("credential", "luna", "mira", 600, None),
            ("credential", "luna", "luna", 600, Some(ago(600))),
            ("credential", "luna", "luna", 1_800, None),
            // It was given to luna since, and waits for its turn there.
            ("credential", "vega", "mira", 600, Some(ago(600))),
            ("quota", "luna", "mira", 600, Some(ago(600))),
        ] {
            let hold = json!({"cause": cause, "until": NOW.plus(900).0});
            let trail = json!({"pass": "p", "case": "dead-worker", "because": "x", "hold": hold});
            let mut d = detail("t_00000001", Status::Scheduled);
            d.runs = vec![run(1, ran, Some("crashed"))];
            d.events.push(event(EventKind::Scheduled, 1_100, json!({"by": "heal", "watchbill": trail})));
            let good = Sighting {
                id: profile(who).id(),
                profile: Some(who.into()),
                task: "t_00000002".into(),
                at: ago(at),
                began: ago(at + 60),
                news: News::Good,
            };
            let profiles = known.iter().map(|name| ((*name).to_owned(), profile(name))).collect();
            let routing = Routing { profiles, sightings: vec![good], ..Routing::default() };
            let router = Router::new(&routing, &config, NOW, &all, Vec::new());
            assert_eq!(queued(&router, &d), want, "{cause} of {ran}, {who} {at} s ago");
        }
    }
}
