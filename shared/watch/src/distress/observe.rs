//! Two looks: at every open row, then closely at what may be stuck, its log, and the tree of what surely is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::trouble::{self, Verdict};
use super::{Rules, refused};
use base::cause::{self, Cause};
use base::error::Result;
use base::time::Time;
use board::{Detail, Status, Task, discover};
use config::Config;
use logs::{LogEnd, Reading};
use policy::attempts::ended;
use policy::attempts::worker::ask;
use policy::cards::asked;
use policy::cards::identity::named;
use policy::cards::seen::{GLANCED, Seen, SourceSeen, TreeSeen};
use policy::cards::writer::Trouble;
use policy::clock;
use policy::routing::answered;
use policy::routing::facts::{self, About, Routing};
use policy::routing::router;
use policy::worktree_note::{self, TREE_LIMIT, TreeNotes};
use policy::{Pass, Profiles, World};

/// Most working trees looked at in one pass; git takes its time.
const MAX_TREES: usize = 20;
/// Most profiles whose configuration is read.
const MAX_PROFILES: usize = 200;

pub(super) fn observe(world: &mut World<'_>, pass: &Pass) -> Result<Seen> {
    let now = pass.now;
    let rows = world.board.glance(&GLANCED)?;
    let wanted = |t: &Task| pass.only.as_ref().is_none_or(|only| *only == t.id);
    let cards: Vec<String> = rows.iter().filter(|t| t.is_card()).map(|t| t.id.clone()).collect();
    let mut seen = Seen {
        now,
        runtime: None,
        glanced: rows.len(),
        own_board: world.board.is_own(),
        slug: world.board.id().slug.clone(),
        switched: discover::is_switched_from(world.board.id()),
        // Commands on a card are run from anywhere.
        db: world.board.id().address(),
        clock_fault: None,
        sources: Vec::new(),
        cards: world.board.look(&cards)?,
        others: Vec::new(),
        routing: Routing::default(),
        waiting: Vec::new(),
        profiles: BTreeMap::new(),
        trees: BTreeMap::new(),
    };
    let mut ids = Vec::new();
    for t in rows.iter().filter(|t| suspect(t) && wanted(t)) {
        // Most running work is well; its log alone says so, and nothing else of it is read.
        if t.status == Status::Running {
            let since = t.started_at.unwrap_or(t.created_at);
            let reading = world.log(&t.id, t.assignee.as_deref(), None, since, now);
            let refused = answered::repeated(&reading.signals, since, now, world.config).is_some();
            // A log elsewhere, or a session, is named by its events.
            let named = matches!(reading.end, LogEnd::Absent) || t.worker_pid.is_none();
            // What the attempt before it met is news of its provider.
            let again = t.failures > 0 || t.last_failure_error.is_some();
            if !refused && !named && !again {
                continue;
            }
        }
        ids.push(t.id.clone());
    }
    let known: BTreeSet<&String> = ids.iter().collect();
    let named: BTreeSet<String> = seen.cards.iter().filter_map(named).collect();
    let others: Vec<String> = named.into_iter().filter(|s| !known.contains(s)).collect();
    seen.others = world.board.look(&others)?;
    let details = world.board.look(&ids)?;
    if details.is_empty() && seen.cards.is_empty() {
        clock::remember(world, pass, &rows);
        return Ok(seen);
    }
    let mut lately = world.board.events(now.plus(-3_600), 200)?;
    seen.clock_fault = clock::fault(world, pass, &mut lately)?;
    seen.runtime = Some((world.runtime)());
    for detail in details {
        let source = closer(world, detail, now);
        seen.sources.push(source);
    }
    workers(world, &mut seen.sources, now);
    trees_and_profiles(world, &mut seen);
    let known = Profiles::of(seen.runtime.as_ref()).clone();
    let details = seen.sources.iter().map(|s| &s.detail).chain(&seen.cards).collect();
    seen.routing = facts::observe(
        world,
        &About { rows: &rows, details, known: &known, clock_given: pass.clock_given },
        now,
    )?;
    seen.waiting = waiting(world, &seen, &rows, pass)?;
    seen.trees = trees(world, &seen, pass);
    Ok(seen)
}

/// The trees of what is about to be reassigned. Deciding twice is cheap without the texts of cards, and git is not.
fn trees(world: &World<'_>, seen: &Seen, pass: &Pass) -> TreeNotes {
    let here = || seen.sources.iter().map(|s| &s.detail).filter(|d| world.abroad(d).is_none());
    if !here().any(|d| d.place.path.is_some()) {
        return TreeNotes::new();
    }
    let steps = super::decided(seen, pass, world.config, false).steps;
    worktree_note::observe(world.state, &steps, here())
}

/// Ready work whose provider is held, as of what this pass found out.
fn waiting(world: &mut World<'_>, seen: &Seen, rows: &[Task], pass: &Pass) -> Result<Vec<Detail>> {
    let rules = Rules::new(seen, pass, world.config);
    let stuck: Vec<(&SourceSeen, Trouble)> = seen
        .sources
        .iter()
        .filter_map(|s| match trouble::trouble(s, seen, world.config) {
            Verdict::Stuck(t) => Some((s, *t)),
            _ => None,
        })
        .collect();
    let routing = rules.routing(stuck.iter().map(|(s, t)| (*s, t)));
    let router = rules.writer.router(&routing);
    let waits = |t: &&Task| {
        let free = t.status == Status::Ready && t.claim_lock.is_none() && !t.is_card();
        free && router.state_for(t).is_held()
    };
    let ids: Vec<String> = rows.iter().filter(waits).map(|t| t.id.clone()).collect();
    world.board.look(&ids)
}

fn closer(world: &mut World<'_>, detail: Detail, now: Time) -> SourceSeen {
    // What a claim names as its log: an agent that is not a Hermes worker writes where it likes.
    let file = detail.words_file();
    let abroad = world.abroad(&detail);
    let elsewhere = world.elsewhere(&detail);
    let reading = match detail.newest_run().filter(|_| abroad.is_none()) {
        Some(run) => {
            let profile = run.profile.as_deref().or(detail.task.assignee.as_deref());
            // One that was started a moment ago has written nothing yet; what ended just before it is asked about as well.
            let before = detail.runs.get(1).filter(|r| {
                run.ended_at.is_none() && r.ended_at.is_some_and(|end| now.since(end) <= refused::RECENT)
            });
            let since = before.map_or(run.started_at, |r| r.started_at);
            ended::by_board(&detail, world.log(&detail.task.id, profile, file, since, now))
        }
        None => Reading::of(logs::LogEnd::NoEvidence, None),
    };
    SourceSeen {
        detail,
        reading,
        elsewhere,
        worker: None,
        tree: TreeSeen::default(),
        noted: None,
        changes: None,
    }
}

/// The workers of running tasks that are refused, as `heal` would look at them: one scan of all processes for all of them.
fn workers(world: &World<'_>, sources: &mut [SourceSeen], now: Time) {
    let is_refused = |s: &SourceSeen| {
        let since = s.detail.newest_run().map_or(now, |r| r.started_at);
        s.detail.task.status == Status::Running
            && answered::repeated(&s.reading.signals, since, now, world.config).is_some()
    };
    let refused = sources.iter_mut().filter(|s| is_refused(s));
    let (asked, asks): (Vec<_>, Vec<_>) = refused.filter_map(|s| ask(&s.detail).map(|ask| (s, ask))).unzip();
    if asks.is_empty() {
        return;
    }
    for (s, look) in asked.into_iter().zip(world.host.look(&asks)) {
        s.worker = Some(look);
    }
}

/// Only for what surely gets a card: git is slow.
fn trees_and_profiles(world: &mut World<'_>, seen: &mut Seen) {
    let mut sources = std::mem::take(&mut seen.sources);
    let (mut looked, mut profiles) = (0, BTreeSet::new());
    for s in &mut sources {
        if !matches!(trouble::trouble(s, seen, world.config), Verdict::Stuck(_)) || !s.detail.cards.is_empty()
        {
            continue;
        }
        // Its card was written and closed: no new one is made for this attempt.
        let run = s.detail.newest_run().map_or(0, |r| r.id);
        if asked::asked(&s.detail).iter().any(|a| a.run == run) {
            continue;
        }
        profiles.extend(s.detail.runs.iter().filter_map(|r| r.profile.clone()));
        profiles.extend(s.detail.task.assignee.clone());
        // All there are: the card says which of them would help.
        profiles.extend(Profiles::of(seen.runtime.as_ref()).names().iter().take(MAX_PROFILES).cloned());
        // A card without it is a card as well.
        s.noted = world.board.beat_note(&s.detail.task.id).unwrap_or_default();
        s.tree = match s.detail.place.path.as_deref() {
            None => not_seen("the board names no folder"),
            Some(_) if world.abroad(&s.detail).is_some() => not_seen("its folder is on another host"),
            Some(_) if looked >= MAX_TREES => not_seen("too many trees for one pass"),
            Some(path) => {
                looked += 1;
                if may_be_split(s, world.config, seen.now) {
                    let began = s.detail.task.started_at.unwrap_or(s.detail.task.created_at);
                    s.changes = (world.changes)(Path::new(path), began, TREE_LIMIT).ok();
                }
                match (world.tree)(Path::new(path), TREE_LIMIT) {
                    Ok(tree) => TreeSeen { tree: Some(tree), why_not: None },
                    Err(why) => not_seen(&why.to_string()),
                }
            }
        };
    }
    seen.sources = sources;
    let facts = profiles.into_iter().filter_map(|name| Some((name.clone(), (world.profile)(&name)?)));
    seen.profiles = facts.collect();
}

/// Whether what is left for a task may be a narrower one: its moves are used up, or it does not fit into its iterations.
fn may_be_split(s: &SourceSeen, config: &Config, now: Time) -> bool {
    let moved = router::moves(&s.detail, now);
    let spent = moved >= usize::try_from(config.routing.max_moves).unwrap_or(usize::MAX);
    let ended = matches!(&s.reading.end, LogEnd::Ended(e) if e.cause == Cause::IterationBudget);
    let said = s.detail.newest_run().and_then(|r| r.error.as_deref());
    spent || ended || said.and_then(cause::of_text) == Some(Cause::IterationBudget)
}

fn not_seen(why: &str) -> TreeSeen {
    TreeSeen { tree: None, why_not: Some(why.to_owned()) }
}

/// Whether a row is worth a closer look, from the row alone.
pub(super) fn suspect(t: &Task) -> bool {
    if t.is_card() {
        return false;
    }
    match t.status {
        Status::Running | Status::Blocked | Status::Scheduled | Status::Triage => true,
        // Only work that was tried can have failed; a start that came to nothing leaves its text alone behind.
        Status::Ready | Status::Todo => {
            let failed = t.last_failure_error.as_deref().is_some_and(cause::hermes_guard_matches);
            t.claim_lock.is_none() && (t.started_at.is_some() || t.block_kind.is_some() || failed)
        }
        _ => false,
    }
}
