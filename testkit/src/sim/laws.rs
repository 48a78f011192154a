//! What must hold after every step of a watcher, whatever the night brings. Told from the truth, which no watcher sees.

pub(super) mod resume;
pub(super) mod trials;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use shared::base::cause::Cause;
use shared::base::registry::HEAL;
use shared::base::time::Time;
use shared::board::{Board, Change, Detail, Event, EventKind, Outcome, Rule, Status, Step, Task};
use shared::card;

use super::Sim;
use super::hands::look;
use super::truth::{PROFILES, Truth};

/// The longest a watcher's hold may last, in seconds: `heal.hold_max`, and what a clock slips.
const MAX_HOLD: i64 = 6 * 3_600 + 600;
/// `heal.max_resets`.
const MAX_RESETS: usize = 3;
/// The shortest first hold of a provider, in seconds: `heal.hold`.
const FIRST_HOLD: i64 = 900;
/// Work for so many seconds shows that a provider answers: `routing.pace`.
const PACE: i64 = 600;

/// Every state a task can be in, for looking at all of them.
pub(super) fn all() -> Vec<Status> {
    [&Status::OPEN[..], &[Status::Done, Status::Archived]].concat()
}

/// What a step would break if it were applied now.
pub(super) fn before(sim: &Sim, board: &mut dyn Board, by: &str, step: &Step, quiet: bool) -> Option<String> {
    let d = look(board, &step.task)?;
    let said = |what: &str| Some(format!("{by} {} {} {}: {what}", step.action, step.case, step.task));
    let runs = d.task.status == Status::Running;
    let frees = step.changes.iter().any(|c| match c {
        Change::SetStatus(Status::Ready | Status::Todo) => true,
        Change::ReleaseClaim | Change::EndRun { .. } | Change::SetStatus(_) => runs,
        _ => false,
    });
    if by == "heal"
        && runs
        && let Some(what) = resume::before(sim, &d, step, quiet)
    {
        return said(&what);
    }
    if let Some(what) = trials::before(sim, board, by, &d, step, quiet) {
        return said(&what);
    }
    if by == HEAL
        && quiet
        && let Some(card) = unheard(board, &d).filter(|_| step.case.rule() == Rule::NoDecision)
    {
        return said(&format!("throws away what an orchestrator decided on {card}"));
    }
    let truth = sim.truth.borrow();
    if frees && truth.lives(&d) {
        return said("sets free what a living worker works on: two owners");
    }
    let hands_off = runs && by != "heal";
    let touches = |c: &Change| {
        matches!(c, Change::SetStatus(_) | Change::ReleaseClaim | Change::EndRun { .. } | Change::Assign(_))
    };
    if hands_off && step.changes.iter().any(touches) {
        return said("changes running work, which is heal's alone");
    }
    if d.task.is_card() {
        return None;
    }
    let to = step.changes.iter().find_map(|c| match c {
        Change::Assign(Some(to)) => Some(to.clone()),
        _ => None,
    });
    // A person is not a profile.
    let (to, name) = to.and_then(|to| Some((to.clone(), truth.provider_of(&to)?.name)))?;
    let now = truth.now;
    drop(truth);
    // What another pass wrote a moment ago could not be known.
    (quiet && is_held(board, name, now))
        .then(|| format!("{by} gives {} to {to}, whose provider is held", step.task))
}

/// A finished card of a task with a decision of which nobody has said what became of it.
fn unheard(board: &mut dyn Board, d: &Detail) -> Option<String> {
    let made = d.cards_made.iter().filter(|c| c.status == Status::Done).map(|c| c.id.clone());
    let kin = d.parents.iter().filter(|p| p.status == Status::Done).map(|p| p.id.clone());
    made.chain(kin).find(|id| {
        let Some(card) = look(board, id) else { return false };
        let decides = card.newest_run().is_some_and(|r| r.route.is_some());
        decides && card.events.last().is_some_and(|e| e.kind == EventKind::Completed)
    })
}

/// Whether the board itself says that a provider is held for sure, told without the ledger that watchers use.
fn is_held(board: &mut dyn Board, provider: &str, now: Time) -> bool {
    let ids: Vec<String> = board.glance(&all()).unwrap_or_default().into_iter().map(|t| t.id).collect();
    let all = board.look(&ids).unwrap_or_default();
    let mine =
        |p: &str| PROFILES.iter().any(|(n, at, _)| *n == p && ["moon", "star", "sun"][*at] == provider);
    let good = all.iter().flat_map(|d| &d.runs).filter(|r| r.profile.as_deref().is_some_and(mine));
    let good: Vec<Time> = good
        .filter(|r| {
            let worked = r.last_heartbeat_at.is_some_and(|b| b.since(r.started_at) >= PACE);
            worked || r.outcome.as_deref() == Some("completed")
        })
        .map(|r| r.started_at)
        .collect();
    let mut refused: Vec<Refusal> =
        all.iter().flat_map(|d| &d.events).filter_map(|e| refusal(e, provider)).collect();
    refused.sort_by_key(|r| r.at);
    // What began within a hold ran into the same limit, and does not count as new. A hold doubles with each, and is scattered.
    let (mut episode, mut strikes) = (None::<Time>, 0);
    refused.retain(|r| {
        let news = episode.is_none_or(|until| r.began >= until);
        if news {
            let longest = (FIRST_HOLD << strikes).min(6 * 3_600) * 5 / 4;
            episode = Some(if r.is_stated { r.until } else { r.at.plus(longest) });
            strikes = (strikes + 1).min(5);
        }
        news
    });
    refused.iter().any(|r| now < r.until && r.at <= now && !good.iter().any(|g| *g >= r.at))
}

/// That a provider refuses, as a watcher noted it.
struct Refusal {
    at: Time,
    /// When the attempt began that showed it.
    began: Time,
    /// How long that holds at the least.
    until: Time,
    /// The provider said so itself.
    is_stated: bool,
}

fn refusal(e: &Event, provider: &str) -> Option<Refusal> {
    let trail = e.trail().filter(|t| t.get("pass").is_some() && t.get("run").is_some())?;
    let text = |key: &str| trail.get(key).and_then(Value::as_str);
    let cause: Cause = serde_json::from_value(trail.get("cause")?.clone()).ok()?;
    let named =
        text("provider") == Some(provider) || text("host") == Some(&format!("api.{provider}.example"));
    if !cause.is_provider_pressure() || !named {
        return None;
    }
    let stated = trail.get("resets").and_then(Value::as_i64).map(Time).filter(|r| *r > e.at);
    let time = |key: &str| trail.get(key).and_then(Value::as_i64).map(Time);
    let (at, began) = (time("seen").unwrap_or(e.at), time("began").unwrap_or(e.at));
    let until = stated.map_or(at.plus(FIRST_HOLD), |r| r.min(at.plus(6 * 3_600)));
    Some(Refusal { at, began, until, is_stated: stated.is_some() })
}

/// What a pass broke by the steps that were applied.
pub(super) fn after(
    sim: &Sim,
    board: &mut dyn Board,
    by: &str,
    done: &[(&Step, &Outcome)],
) -> Option<String> {
    let applied: Vec<&Step> =
        done.iter().filter(|(_, o)| matches!(o, Outcome::Applied { .. })).map(|(s, _)| *s).collect();
    if applied.is_empty() {
        return None;
    }
    let all = board.glance(&all()).ok()?;
    if let Some(lost) = sim.truth.borrow().known.iter().find(|id| !all.iter().any(|t| t.id == **id)) {
        return Some(format!("{by} lost {lost}"));
    }
    if let Some(what) = cards(&all) {
        return Some(format!("{by}: {what}"));
    }
    for step in applied {
        let Some(d) = look(board, &step.task) else { continue };
        if let Some(what) = bounds(sim, &d).or_else(|| resume::bounds(sim, &d)) {
            return Some(format!("{by} {} {}: {what}", step.action, step.task));
        }
    }
    None
}

/// One cause, one open card, and never a card about a card.
pub(super) fn cards(all: &[Task]) -> Option<String> {
    let mut open: BTreeMap<String, &str> = BTreeMap::new();
    let ids: BTreeSet<&str> = all
        .iter()
        .filter(|t| t.idempotency_key.as_deref().is_some_and(|k| k.starts_with("distress:")))
        .map(|t| t.id.as_str())
        .collect();
    for t in all.iter().filter(|t| !matches!(t.status, Status::Done | Status::Archived)) {
        let Some(key) = t.idempotency_key.as_deref().and_then(|k| k.strip_prefix("distress:")) else {
            continue;
        };
        let (about, _) = key.rsplit_once(':')?;
        if let Some(first) = open.insert(about.to_owned(), &t.id) {
            return Some(format!("two open cards about {about}: {first} and {}", t.id));
        }
        let source = about.split(':').next().unwrap_or_default();
        if ids.contains(source) {
            return Some(format!("{} is a card about the card {source}", t.id));
        }
    }
    None
}

/// Every hold has an end, and resets are bounded.
fn bounds(sim: &Sim, d: &Detail) -> Option<String> {
    let ours = |e: &&Event| e.trail().is_some_and(|t| t.get("pass").is_some());
    for e in d.events.iter().filter(ours) {
        let Some(hold) = e.trail().and_then(|t| t.get("hold")).filter(|h| h.is_object()) else { continue };
        let until = hold.get("until").and_then(Value::as_i64)?;
        if until - e.at.0 > MAX_HOLD {
            return Some(format!("a hold of {} s", until - e.at.0));
        }
    }
    if d.task.status == Status::Scheduled {
        let newest = d.events.iter().rev().find(|e| e.kind == EventKind::Scheduled)?;
        let ends = newest.by().is_none()
            || newest.payload.get("until").is_some_and(Value::is_i64)
            || newest.trail().and_then(|t| t.get("hold")?.get("until")).is_some();
        if !ends {
            return Some("parked without an end".into());
        }
    }
    let began = began(&sim.truth.borrow(), d);
    let reset =
        |e: &&Event| ours(e) && e.trail().is_some_and(|t| t.get("reset").is_some_and(|v| !v.is_null()));
    let resets = d.events[began..].iter().filter(|e| e.by() == Some("heal")).filter(reset).count();
    (resets > MAX_RESETS).then(|| format!("{resets} resets in one episode"))
}

/// Whether an event that is not Watchbill's begins a new episode. An orchestrator that decides by command line does not count, and a
/// command while one works on the task's card cannot be told from it.
fn is_fresh(truth: &Truth, d: &Detail, e: &Event) -> bool {
    let kinds = [EventKind::Unblocked, EventKind::PromotedManual, EventKind::Completed, EventKind::Assigned];
    // `hermes kanban reclaim` is the operator's decision as well.
    let taken =
        e.kind == EventKind::Reclaimed && e.payload.get("manual").and_then(Value::as_bool) == Some(true);
    let at_work = |(from, to): &(Time, Option<Time>)| e.at >= *from && to.is_none_or(|to| e.at <= to);
    let by_hand = || {
        let known =
            e.kind == EventKind::Unblocked && truth.trials.by_hand.contains(&(d.task.id.clone(), e.at));
        known || (e.kind != EventKind::Completed && d.card_work.iter().any(at_work))
    };
    e.by().is_none() && (taken || kinds.contains(&e.kind)) && !by_hand()
}

/// Where the present episode begins among a task's events.
fn began(truth: &Truth, d: &Detail) -> usize {
    d.events.iter().rposition(|e| is_fresh(truth, d, e)).map_or(0, |i| i + 1)
}

fn waits_for_person(all: &BTreeMap<String, Detail>, d: &Detail, known: &[String]) -> bool {
    let waits = d.parents.iter().filter(|p| !p.status.frees_children());
    let mut waits = waits.filter(|p| known.contains(&p.id)).peekable();
    waits.peek().is_some() && waits.all(|p| unsettled(all, &p.id, known).is_none())
}

/// Whether a person is told of a task because nobody can know whether its worker lives: `heal` says so, and nothing was heard of it for six
/// hours (`ops`, what stands still). A hung worker of an older Hermes is one, after the clock was set back.
pub(super) fn is_told_unknown(truth: &Truth, d: &Detail) -> bool {
    const SILENT: i64 = 6 * 3_600;
    let why = truth.left.get(&(d.task.id.clone(), HEAL));
    let heard =
        d.current_run().map(|run| run.started_at).max(d.task.last_heartbeat_at).max(d.claimed_until());
    d.task.status == Status::Running
        && why.is_some_and(|why| why.starts_with("worker unknown"))
        && heard.is_some_and(|at| truth.now.since(at) >= SILENT)
}

/// Why a task is not settled: neither finished nor with a person, nor behind one that is.
pub(super) fn unsettled(all: &BTreeMap<String, Detail>, id: &str, known: &[String]) -> Option<String> {
    let d = all.get(id)?;
    let newest = |kinds: &[EventKind]| d.events.iter().rev().find(|e| kinds.contains(&e.kind));
    let by_person = |e: &Event| e.by().is_none();
    let settled = match d.task.status {
        Status::Done | Status::Archived => true,
        // By the operator's command; archiving its card is the operator's decision too.
        Status::Blocked => {
            let card =
                |t: &Detail| t.task.idempotency_key.as_deref().is_some_and(|k| k.starts_with("distress:"));
            // An incident's card names one task and speaks for all that are tied to it.
            let tied = |t: &Detail| d.parents.iter().any(|p| p.id == t.task.id);
            let named = |t: &Detail| card::read_title(&t.task.title).is_some_and(|(source, _)| source == *id);
            let about = |t: &Detail| named(t) || tied(t);
            let no = |t: &Detail| card(t) && about(t) && t.task.status == Status::Archived;
            newest(&[EventKind::Blocked, EventKind::Unblocked]).is_some_and(|e| e.kind == EventKind::Blocked)
                || all.values().any(no)
                || waits_for_person(all, d, known)
        }
        // By a person, or behind a card that a person put off.
        Status::Scheduled => {
            newest(&[EventKind::Scheduled]).is_some_and(by_person) || waits_for_person(all, d, known)
        }
        // Given to a person by name.
        Status::Ready => d.task.assignee.as_deref().is_none_or(|a| PROFILES.iter().all(|(p, _, _)| *p != a)),
        Status::Todo => waits_for_person(all, d, known),
        _ => false,
    };
    // A task marked no-heal is still released from a watcher's hold.
    let held = d.task.status == Status::Scheduled;
    let opted_out = d.comments.iter().any(|c| c.body == "watchbill: no-heal") && !held;
    (!settled && !opted_out).then(|| {
        let last: Vec<String> = d
            .events
            .iter()
            .rev()
            .filter(|e| e.kind != EventKind::RespawnGuarded)
            .take(6)
            .map(|e| format!("{}{}", e.kind, e.by().map(|b| format!("({b})")).unwrap_or_default()))
            .collect();
        let parents: Vec<String> = d.parents.iter().map(|p| format!("{} {}", p.id, p.status)).collect();
        format!(
            "{id} \"{}\" is {}, {:?}, error {:?}, claim {:?}, parents {parents:?}; last {last:?}",
            d.task.title, d.task.status, d.task.assignee, d.task.last_failure_error, d.task.claim_lock
        )
    })
}
