//! What `route-blocked` looks at, in two looks: all open rows, then the stories of those that matter.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::decisions::{decided_about, part_keys};
use super::notices;
use super::seen::{CardSeen, Guarded, Outliving, Seen, may_wait};
use base::error::Result;
use board::{Detail, Event, EventKind, Status, Step, Task, discover};
use config::span::seconds;
use policy::cards::answer::{self, finished_of};
use policy::cards::identity::named;
use policy::routing::facts::{self, About};
use policy::routing::reach;
use policy::routing::router::Router;

use base::time::Time;
use host::Freed;
use logs::LogEnd;
use policy::dispatcher::InTurn;
use policy::runtime::{Dispatcher, Runtime};
use policy::worktree_note::{self, TreeNotes};
use policy::{Pass, World};
use policy::{authorship, clock, dispatcher, needs_operator};

/// Finished cards of this many seconds are looked for by themselves; older ones are found by the tasks that still wait.
const LATELY: i64 = 3_600;
/// Newest events looked through for them.
const MAX_EVENTS: u32 = 2_000;

pub(super) fn observe(world: &mut World<'_>, pass: &Pass) -> Result<Seen> {
    let now = pass.now;
    let rows = world.board.glance(&Status::OPEN)?;
    let mut seen = Seen {
        now,
        runtime: None,
        glanced: rows.len(),
        own_board: world.board.is_own(),
        shared: world.board.is_shared(),
        slug: world.board.id().slug.clone(),
        switched: discover::is_switched_from(world.board.id()),
        db: world.board.id().at.to_string(),
        clock_fault: None,
        routing: facts::Routing::default(),
        cards: Vec::new(),
        answered: Vec::new(),
        parts: BTreeMap::new(),
        tasks: Vec::new(),
        guarded: BTreeMap::new(),
        in_turn: BTreeSet::new(),
        takers_since: None,
        outliving: BTreeMap::new(),
        trees: BTreeMap::new(),
    };
    let mut lately = world.board.events(now.plus(-LATELY), MAX_EVENTS)?;
    if rows.is_empty() && lately.is_empty() {
        return Ok(seen);
    }
    seen.clock_fault = clock::fault(world, pass, &mut lately)?;
    let mut runtime = (world.runtime)();
    runtime.lanes = dispatcher::lanes(world.board, &rows, &runtime, now)?;
    let ids = |keep: &dyn Fn(&Task) -> bool| -> Vec<String> {
        rows.iter().filter(|t| keep(t)).map(|t| t.id.clone()).collect()
    };
    for card in world.board.look(&ids(&Task::is_card))? {
        seen.cards.push(closer(world, card, now));
    }
    let mut wanted: BTreeSet<String> = ids(&|t| !t.is_card() && may_wait(t)).into_iter().collect();
    wanted.extend(seen.cards.iter().filter_map(|c| named(&c.detail)));
    seen.tasks = world.board.look(&wanted.iter().cloned().collect::<Vec<_>>())?;
    seen.answered = answered(world, &seen.tasks, &lately)?;
    let sources = sources(world, &seen.answered, &wanted)?;
    wanted.extend(sources.iter().map(|d| d.task.id.clone()));
    seen.tasks.extend(sources);
    let details = seen.tasks.iter().chain(seen.cards.iter().map(|c| &c.detail)).collect();
    let about = About { rows: &rows, details, known: &runtime.profiles, clock_given: pass.clock_given };
    seen.routing = facts::observe(world, &about, now)?;
    // What this very pass found out counts at once, or the next one would come to other conclusions.
    let said: BTreeSet<(&str, Time)> =
        seen.routing.sightings.iter().map(|s| (s.task.as_str(), s.began)).collect();
    for card in &mut seen.cards {
        card.is_known = card.is_known_of(&said);
    }
    let found: Vec<_> = seen.cards.iter().filter_map(|c| c.sighting(&seen.routing, now)).collect();
    seen.routing.sightings.extend(found);
    seen.takers_since = takers_since(world, pass, &seen, &runtime);
    let patience = seconds(world.config.routing.unclaimed);
    seen.guarded = guarded(&rows, &lately, now, patience);
    let cards = seen.cards.iter().map(|c| &c.detail);
    let ask = InTurn { rows: &rows, patience, since: seen.takers_since };
    seen.in_turn = dispatcher::in_turn(world.board, &runtime, &ask, cards, now)?;
    let more = more(&rows, &seen, world, &runtime).into_iter();
    let more: BTreeSet<String> = more.filter(|id| !wanted.contains(id)).collect();
    let ended = ended(&rows, &lately).into_iter().filter(|id| !wanted.contains(id));
    let both: BTreeSet<String> = more.iter().cloned().chain(ended).collect();
    let both = world.board.look(&both.into_iter().collect::<Vec<_>>())?;
    let has_answer = |d: &Detail| more.contains(&d.task.id) || finished_of(d).next().is_some();
    seen.tasks.extend(both.into_iter().filter(has_answer));
    answered_besides(world, &mut seen)?;
    seen.parts = parts(world, &seen)?;
    seen.runtime = Some(runtime);
    in_order(&mut seen.tasks);
    // Deciding twice is cheap; processes and git are not.
    let steps = super::decide(&seen, pass, world.config).steps;
    seen.outliving = outliving(world, &seen.tasks, &steps, pass);
    seen.trees = trees(world, &seen, &steps);
    Ok(seen)
}

/// The living workers of ended attempts at tasks that these steps make available to the next worker, or of which a person was told.
fn outliving(
    world: &World<'_>,
    tasks: &[Detail],
    steps: &[Step],
    pass: &Pass,
) -> BTreeMap<String, Outliving> {
    // What was told of such a worker stands while that lives, also in a pass that frees nothing.
    let told = tasks.iter().filter(|d| needs_operator::told(d).is_some_and(notices::is_of_outliving));
    let freed: Vec<Freed<'_>> = steps.iter().filter_map(Step::freed).chain(told.map(Detail::freed)).collect();
    if freed.is_empty() {
        return BTreeMap::new();
    }
    let steady = clock::steady_since(world, pass);
    let found = world.host.at_work(&freed);
    let worker = |(freed, process): (&Freed<'_>, Option<host::AtWork>)| {
        let process = process.filter(|p| p.is_worker)?;
        let d = tasks.iter().find(|d| d.task.id == freed.task)?;
        let ended = d.newest_run().map_or(d.task.created_at, |r| r.ended_at.unwrap_or(r.started_at));
        let since = steady.map_or(ended, |steady| steady.max(ended));
        Some((d.task.id.clone(), Outliving { pid: process.pid, command: process.command, since }))
    };
    freed.iter().zip(found).filter_map(worker).collect()
}

/// Since when the cards could be taken. In a night in which the machine was off nobody could.
fn takers_since(world: &mut World<'_>, pass: &Pass, seen: &Seen, runtime: &Runtime) -> Option<Time> {
    if pass.clock_given {
        return None;
    }
    let key = format!("dispatcher:{}:", world.board.id().at);
    let is_alive = matches!(runtime.dispatcher, Dispatcher::Alive(_)) && !seen.cards.is_empty();
    let dispatcher = if is_alive && world.cache.is_kept() {
        Some(world.cache.sight(&key, pass.now))
    } else {
        world.cache.forget(&key, &BTreeSet::new());
        None
    };
    dispatcher.max(clock::steady_since(world, pass)).max(clock::up_since(world, pass.now))
}

/// The trees of what these steps reassign.
fn trees(world: &World<'_>, seen: &Seen, steps: &[Step]) -> TreeNotes {
    let all = || seen.tasks.iter().chain(seen.cards.iter().map(|c| &c.detail));
    let all = || all().filter(|d| world.abroad(d).is_none());
    if !all().any(|d| d.place.path.is_some()) {
        return TreeNotes::new();
    }
    worktree_note::observe(world.state, steps, all())
}

/// In dispatch order: who comes first gets the next free place.
fn in_order(tasks: &mut [Detail]) {
    tasks.sort_by(|a, b| {
        let (a, b) = (&a.task, &b.task);
        (b.priority, a.created_at, &a.id).cmp(&(a.priority, b.created_at, &b.id))
    });
}

/// A card, with the reason its orchestrator could not answer.
fn closer(world: &mut World<'_>, detail: Detail, now: Time) -> CardSeen {
    let (is_abroad, elsewhere) = (world.abroad(&detail).is_some(), world.elsewhere(&detail));
    let (cause, host, resets, refused) = (None, None, None, None);
    let mut card = CardSeen { detail, elsewhere, cause, host, resets, refused, is_known: false };
    let failed = card
        .detail
        .newest_run()
        .filter(|r| r.ended_at.is_some() && !matches!(r.outcome.as_deref(), Some("completed" | "blocked")));
    let Some(ended) = failed.filter(|_| !is_abroad).map(|run| run.ended_at) else { return card };
    if let LogEnd::Ended(e) = reach::reading(world, &card.detail, now).end {
        card.refused = ended.filter(|_| e.resets.is_some()).map(|ended| e.refused_at(ended));
        (card.cause, card.host, card.resets) = (Some(e.cause), e.endpoint_host, e.resets);
    }
    card
}

/// Ready or running work of which an attempt ended lately. While that lived, what its card was answered had to wait, be it for
/// hours.
pub(super) fn ended(rows: &[Task], lately: &[(String, Event)]) -> Vec<String> {
    let ends = |e: &Event| {
        matches!(
            e.kind,
            EventKind::Crashed
                | EventKind::ProtocolViolation
                | EventKind::RateLimited
                | EventKind::Reclaimed
                | EventKind::Stale
                | EventKind::TimedOut
        )
    };
    let ended: BTreeSet<&String> = lately.iter().filter(|(_, e)| ends(e)).map(|(id, _)| id).collect();
    let open = rows.iter().filter(|t| matches!(t.status, Status::Ready | Status::Running));
    open.filter(|t| ended.contains(&t.id) && !t.is_card()).map(|t| t.id.clone()).collect()
}

/// Finished cards of ready and running work that nobody looked at yet.
pub(super) fn unheard(seen: &Seen) -> Vec<String> {
    let known: BTreeSet<&String> = seen.answered.iter().map(|c| &c.task.id).collect();
    let at_work = seen.tasks.iter().filter(|d| matches!(d.task.status, Status::Ready | Status::Running));
    let ids: BTreeSet<&String> = at_work.flat_map(finished_of).filter(|id| !known.contains(id)).collect();
    ids.into_iter().cloned().collect()
}

/// Finished cards of ready work that is to wait for its provider from now on, and of work whose attempt ended: what they say is
/// heard before that waits or is tried again.
fn answered_besides(world: &mut World<'_>, seen: &mut Seen) -> Result<()> {
    let ids = unheard(seen);
    if ids.is_empty() {
        return Ok(());
    }
    let cards = world.board.look(&ids)?;
    let known: BTreeSet<String> = seen.tasks.iter().map(|d| d.task.id.clone()).collect();
    seen.tasks.extend(sources(world, &cards, &known)?);
    seen.answered.extend(cards.into_iter().filter(|c| c.task.status == Status::Done));
    Ok(())
}

/// The tasks that finished cards are about, but for those that are known: the one that each names, and of those that its decision
/// names all that were tied to it. Such a one may run, or be ready, by now.
fn sources(world: &mut World<'_>, cards: &[Detail], known: &BTreeSet<String>) -> Result<Vec<Detail>> {
    let own: BTreeSet<String> = cards.iter().filter_map(named).collect();
    let decided = cards.iter().flat_map(decided_about);
    let ids: BTreeSet<String> = own.iter().cloned().chain(decided).collect();
    let ids: Vec<String> = ids.into_iter().filter(|id| !known.contains(id)).collect();
    let finished: BTreeSet<&str> = cards.iter().map(|c| c.task.id.as_str()).collect();
    let tied = |d: &Detail| d.parents.iter().any(|p| finished.contains(p.id.as_str()));
    let is_source = |d: &Detail| own.contains(&d.task.id) || tied(d);
    Ok(world.board.look(&ids)?.into_iter().filter(is_source).collect())
}

/// Finished cards whose decision nobody carried out: those that waiting tasks were tied to, and those finished lately.
fn answered(world: &mut World<'_>, tasks: &[Detail], lately: &[(String, Event)]) -> Result<Vec<Detail>> {
    let mut ids: BTreeSet<String> = tasks.iter().flat_map(finished_of).cloned().collect();
    let theirs = |e: &Event| e.kind == EventKind::Completed && !authorship::is_ours(e);
    let finished: BTreeSet<&String> = lately.iter().filter(|(_, e)| theirs(e)).map(|(id, _)| id).collect();
    let finished: Vec<String> = finished.into_iter().filter(|id| !ids.contains(*id)).cloned().collect();
    ids.extend(world.board.titled(&finished)?.into_iter().filter(Task::is_card).map(|t| t.id));
    let all = world.board.look(&ids.into_iter().collect::<Vec<_>>())?;
    Ok(all.into_iter().filter(|c| c.task.status == Status::Done).collect())
}

/// What is on the board already of the parts that decisions would make: a step that meets it would be refused in each pass.
fn parts(world: &mut World<'_>, seen: &Seen) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    if seen.answered.iter().all(|card| answer::unread(card).is_none()) {
        return Ok(found);
    }
    let known = seen.tasks.iter().map(|d| d.task.id.clone()).collect();
    for key in seen.answered.iter().flat_map(|card| part_keys(card, &known)) {
        if let Some(task) = world.board.with_key(&key)? {
            found.insert(key, task);
        }
    }
    Ok(found)
}

/// Ready work that the runtime's guard has held back for too long: its newest events say nothing else.
fn guarded(rows: &[Task], lately: &[(String, Event)], now: Time, most: i64) -> BTreeMap<String, Guarded> {
    let mut all: BTreeMap<&str, Guarded> = BTreeMap::new();
    for (task, e) in lately {
        if e.kind != EventKind::RespawnGuarded {
            // A comment sets nobody free.
            if !matches!(e.kind, EventKind::Commented | EventKind::Heartbeat | EventKind::Detected) {
                all.remove(task.as_str());
            }
            continue;
        }
        let reason = e.payload.get("reason").and_then(Value::as_str).unwrap_or("unknown").to_owned();
        let known = all.entry(task).or_insert_with(|| Guarded { since: e.at, reason: String::new() });
        known.reason = reason;
    }
    let ready: BTreeSet<&str> =
        rows.iter().filter(|t| t.status == Status::Ready).map(|t| t.id.as_str()).collect();
    all.into_iter()
        .filter(|(id, g)| ready.contains(id) && now.since(g.since) > most)
        .map(|(id, g)| (id.to_owned(), g))
        .collect()
}

/// What only the ledger and the runtime make interesting: ready work of held providers, work nobody will take, and work
/// whose profile changed under it.
fn more(rows: &[Task], seen: &Seen, world: &World<'_>, runtime: &Runtime) -> Vec<String> {
    let router = Router::new(&seen.routing, world.config, seen.now, &runtime.profiles, Vec::new());
    let wanted = |t: &&Task| {
        if t.is_card() {
            return false;
        }
        match t.status {
            Status::Ready => {
                router.state_for(t).is_held()
                    || seen.guarded.contains_key(&t.id)
                    || runtime.is_nobodys(t.assignee.as_deref(), world.board.is_own())
            }
            Status::Running => {
                let changed = router.worker(t).changed;
                changed.zip(t.started_at).is_some_and(|(changed, started)| changed > started)
            }
            _ => false,
        }
    };
    rows.iter().filter(wanted).map(|t| t.id.clone()).collect()
}
