//! The reading part: the board, the log of the newest attempt, and every watcher, asked anew as in a dry run. Nothing is
//! written, not even to our own memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::facts::{Facts, Refused, Take, Verdict};
use super::standing;
use super::summary::{Counts, Found, Read, RefusedKey};
use crate::pass::{self, Looks, Tools};
use crate::report::BoardReport;
use base::count::things_or;
use base::error::{Error, Kind, Result};
use base::registry::{BUDGET_CHECK, HEAL, NAMES, ROUTE_BLOCKED};
use base::time::Time;
use board::kept::Kept;
use board::{self, Board, BoardId, Detail, Event, EventKind, Link, Rule, Status, Step, Task, discover};
use config::Config;
use config::span::seconds;
use coord::opencode::Opencode;
use host::{Ask, Freed, Host, Life, Look};
use logs::Reading;
use logs::agents::Homes;
use logs::cache::Cache;
use logs::provider::Id;
use logs::provider::ledger::{Entry, State};
use page::Overview;
use policy::attempts::worker::{ask, used};
use policy::authorship;
use policy::cards::queue::Places;
use policy::cards::writer::deciders;
use policy::clock::{self, is_within};
use policy::dispatcher::{self, InTurn, MAX_TICKS, is_tick};
use policy::endless::{self, Endless};
use policy::remedy::{self, Lacking};
use policy::routing;
use policy::routing::facts::{About, Refusal, Routing};
use policy::routing::reach::{self, Unreached};
use policy::routing::router::Router;
use policy::runtime::{Dispatcher, Runtime, TICKED};
use policy::said::{self, Said};
use policy::{Beyond, Left, Pass, Profiles, World};
use watch::{Visit, Watcher, each};

/// Most tasks it waits for that are looked at.
const MAX_KIN: usize = 5;
/// Most events of a board that are looked through for what was done.
const MAX_EVENTS: u32 = 50_000;
/// Most tasks of a board that are looked at closely.
const MAX_TASKS: usize = 1_000;

/// What it takes to look at boards.
pub struct Lens<'a> {
    /// This machine.
    pub host: &'a Host,
    /// Configuration.
    pub config: &'a Config,
    /// Who set each key of it.
    pub origin: &'a BTreeMap<String, String>,
    /// Wall clock minus boot clock, in seconds.
    pub clock_offset: i64,
    /// The folders of the agents.
    pub homes: &'a Homes,
    /// opencode, its server and its store.
    pub opencode: &'a Opencode,
    /// The one reading of the clock.
    pub now: Time,
    /// It came from the command line.
    pub clock_given: bool,
    /// The board was named in a way that a command must repeat.
    pub by_file: bool,
    /// The root of Hermes by the environment alone: `hermes kanban` takes its boards.
    pub root: Option<PathBuf>,
    /// Where our memory lies.
    pub memory: Option<PathBuf>,
    /// The boards, each read once.
    pub kept: Kept,
    /// What it tells of a whole board comes with the pages of the watchers.
    pub pages: bool,
}

/// What all watchers say of one board now.
#[derive(Default)]
pub struct Survey {
    takes: BTreeMap<String, Vec<Take>>,
    failed: Vec<(&'static str, String)>,
    /// Why every watcher refuses the board: it is damaged or split.
    refused: Option<Error>,
    told: BTreeMap<(&'static str, String), String>,
    /// Running tasks that are beyond their bounds.
    beyond: BTreeMap<String, Beyond>,
    /// What `budget-check` saw.
    overview: Option<Overview>,
    /// What was found and what lasts; each once.
    pub findings: Vec<Found>,
}

impl Lens<'_> {
    fn pass(&self, program: &'static str, only: Option<&str>) -> Pass {
        Pass {
            id: format!("{}-{program}", self.now.compact()),
            program,
            now: self.now,
            clock_given: self.clock_given,
            only: only.map(str::to_owned),
            dry: true,
        }
    }

    /// Each watcher has the memory of its own pass: what one has read does not count as read for the next.
    fn with<T>(&self, pass: &Pass, f: impl FnOnce(&mut Tools<'_>) -> T) -> T {
        let mut cache = Cache::open(self.memory.clone());
        f(&mut Tools {
            pass,
            host: self.host,
            config: self.config,
            cache: &mut cache,
            clock_offset: self.clock_offset,
            homes: self.homes,
            opencode: self.opencode,
            keep_seen: false,
            looks: Some(Looks { kept: &self.kept, pages: self.pages || pass.only.is_some() }),
        })
    }

    /// Asks every watcher about a board, or about one of its tasks only.
    pub fn survey(&self, id: &BoardId, only: Option<&str>) -> Survey {
        Survey::of(&Here { lens: self, id }, only)
    }

    /// What happened to a board since then: every task that the operator may have to hear of. Then it closes the board.
    ///
    /// # Errors
    /// The board cannot be read.
    pub fn read(&self, id: &BoardId, since: Time) -> Result<Read> {
        let read = read(&Here { lens: self, id }, since);
        self.kept.close(id);
        read
    }

    /// Everything about these tasks; unknown ids are left out.
    ///
    /// # Errors
    /// The board cannot be read.
    pub fn facts(&self, id: &BoardId, tasks: &[String], survey: &Survey) -> Result<Vec<Facts>> {
        let site = Here { lens: self, id };
        let mut board = site.open()?;
        let rows = board.all_open()?;
        let runtime = site.look(&mut *board, |world| Ok((world.runtime)()))?;
        let still = Standstill::of(&site, &mut *board, &rows, &runtime)?;
        look(&site, tasks, survey, &rows, &still).map(|looked| looked.facts)
    }
}

/// A board, and how it is looked at: on this machine, or in a simulated night. Nothing is written.
pub trait Site {
    /// The board.
    fn id(&self) -> &BoardId;
    /// Opens it for looking.
    ///
    /// # Errors
    /// It cannot be read.
    fn open(&self) -> Result<Box<dyn Board>>;
    /// What is set for the look.
    fn set(&self) -> Set<'_>;
    /// What a watcher says of the board, or of one of its tasks only, asked as in a dry run.
    fn ask<W: Watcher>(&self, watcher: &W, only: Option<&str>) -> BoardReport;
    /// Lets `f` look at the world around the board.
    ///
    /// # Errors
    /// Whatever `f` says.
    fn look<T>(&self, board: &mut dyn Board, f: impl FnOnce(&mut World<'_>) -> Result<T>) -> Result<T>;
    /// That the board is paused now, in the words of who paused it.
    fn paused(&self) -> Option<String>;
    /// A process that sits on the dispatcher's lock.
    fn wedged(&self) -> Option<String>;
}

/// What is set for a look.
#[derive(Clone, Copy)]
pub struct Set<'a> {
    /// Configuration.
    pub config: &'a Config,
    /// Who set each key of it.
    pub origin: &'a BTreeMap<String, String>,
    /// The one reading of the clock.
    pub now: Time,
    /// The board was named in a way that a command must repeat.
    pub by_file: bool,
}

/// A board of this machine.
struct Here<'a, 'l> {
    lens: &'a Lens<'l>,
    id: &'a BoardId,
}

impl Site for Here<'_, '_> {
    fn id(&self) -> &BoardId {
        self.id
    }

    fn open(&self) -> Result<Box<dyn Board>> {
        self.lens.kept.open(self.id, self.lens.config.board.busy_timeout)
    }

    fn set(&self) -> Set<'_> {
        let Lens { config, origin, now, by_file, .. } = *self.lens;
        Set {
            config,
            origin,
            now,
            by_file: by_file || discover::is_elsewhere(self.id, self.lens.root.as_deref()),
        }
    }

    fn ask<W: Watcher>(&self, watcher: &W, only: Option<&str>) -> BoardReport {
        let pass = self.lens.pass(W::NAME, only);
        self.lens.with(&pass, |tools| pass::run(watcher, self.id, tools))
    }

    fn look<T>(&self, board: &mut dyn Board, f: impl FnOnce(&mut World<'_>) -> Result<T>) -> Result<T> {
        let pass = self.lens.pass("watchbill", None);
        self.lens.with(&pass, |tools| pass::look::around(board, tools, |world, _| f(world)))
    }

    fn paused(&self) -> Option<String> {
        let (now, patience) = (self.lens.now, self.lens.config.board.busy_timeout);
        // A board that does not tell is a finding of its own.
        self.id.pause_in_force(now, patience).ok()?.map(|p| p.words(now))
    }

    fn wedged(&self) -> Option<String> {
        let pass = self.lens.pass("watchbill", None);
        self.lens.with(&pass, |tools| pass::lock::wedge(self.id, tools).map(|w| w.to_string()))
    }
}

/// What happened to a board since then: every task that the operator may have to hear of.
///
/// # Errors
/// The board cannot be read.
pub fn read(site: &impl Site, since: Time) -> Result<Read> {
    let mut board = site.open()?;
    let (id, now) = (site.id(), site.set().now);
    // First, since what is kept of a long span answers for all shorter ones.
    let events = board.events(since, MAX_EVENTS);
    let mut survey = Survey::of(site, None);
    // What a damaged index answers must not be counted.
    if let Some(damaged) = survey.refused.take().filter(|e| e.kind == Kind::Damaged) {
        return Err(damaged);
    }
    let events = events?;
    let rows = board.all_open()?;
    let mut unknown: Vec<String> = survey.failures();
    let is_cut = u32::try_from(events.len()).unwrap_or(u32::MAX) >= MAX_EVENTS;
    let mut cut = is_cut.then(|| {
        format!("only the newest {MAX_EVENTS} events were read: what was done before them is not told")
    });
    let mut chosen: BTreeSet<String> = survey.takes.keys().cloned().collect();
    chosen.extend(events.iter().filter(|(_, e)| authorship::is_ours(e)).map(|(task, _)| task.clone()));
    let stands = |t: &Task| {
        use Status::{Blocked, Other, Review, Scheduled, Triage};
        matches!(t.status, Blocked | Scheduled | Triage | Review | Other(_))
    };
    let own_board = board.is_own();
    let (mut runtime, booted, at_work) = site.look(&mut *board, |world| {
        // What an earlier worker still works on is passed over there.
        let at_work = if own_board { still_at_work(world, &rows) } else { BTreeSet::new() };
        Ok(((world.runtime)(), world.host.facts().boot_time, at_work))
    })?;
    // Said of the board, whatever each watcher says of it.
    let blind = runtime.blind();
    survey.findings.retain(|f| blind.is_empty() || f.said.kind != said::Kind::Unread);
    unknown.extend(blind.into_iter().map(str::to_owned));
    let named: BTreeSet<&String> = survey.findings.iter().flat_map(|f| &f.said.tasks).collect();
    let found = |t: &Task| named.contains(&t.id);
    chosen.extend(survey.beyond.values().filter(|b| b.is_far).map(|b| b.task.clone()));
    let still = Standstill::of(site, &mut *board, &rows, &runtime)?;
    runtime.lanes.clone_from(&still.lanes);
    let lately = board.events(now.plus(-FRESH), MAX_TICKS)?;
    let left = |t: &Task| {
        still.passed_over.contains(&t.id)
            || is_left_to_nobody(t, &runtime, own_board, &lately, now)
            || still.endless.contains_key(&t.id)
            || still.behind_cards.contains(&t.id)
            || at_work.contains(&t.id)
            || (t.status == Status::Ready && runtime.is_unlisted(t.assignee.as_deref()))
    };
    let of_rows = rows.iter().filter(|t| !t.is_card() && (stands(t) || found(t) || left(t)));
    chosen.extend(of_rows.map(|t| t.id.clone()));
    let by_hand = by_hand(&mut *board, &chosen, &rows, now)?;
    let Chosen { tasks: chosen, open_over, closed_over } = Chosen::of(chosen, &rows, &by_hand);
    if open_over > 0 {
        let what = things_or(open_over, "more task was", "more tasks were");
        unknown.push(format!(
            "{what} not looked at: at most {MAX_TASKS} of a board are; `watchbill why TASK` looks at one"
        ));
        // That is said once.
        survey.findings.retain(|f| f.said.kind != said::Kind::Cut);
    }
    if closed_over > 0 {
        let what = things_or(closed_over, "more task that is closed was", "more tasks that are closed were");
        cut.get_or_insert(format!("{what} not looked at: what was done about them is not told"));
    }
    let done: BTreeSet<&String> =
        events.iter().filter(|(_, e)| e.kind == EventKind::Completed).map(|(task, _)| task).collect();
    let done = board.titled(&done.into_iter().cloned().collect::<Vec<_>>())?;
    let Looked { facts, runtime, refused_keys, refused_orchestrators } =
        look(site, &chosen, &survey, &rows, &still)?;
    let long = board.events(now.plus(-dispatcher::BUSY), MAX_TICKS)?;
    let cadence = dispatcher::cadence(&mut *board, &runtime)?;
    let count = |status| rows.iter().filter(|t| t.status == status && !t.is_card()).count();
    Ok(Read {
        board: id.name(),
        path: id.at.to_string(),
        paused: site.paused(),
        facts,
        findings: survey.findings,
        idle: (!board.is_own() && !is_within(booted, now, STARTING))
            .then(|| idle(&rows, &runtime, &long, cadence, now))
            .flatten(),
        unknown,
        cut,
        counts: Counts {
            done: done.iter().filter(|t| t.status == Status::Done && !t.is_card()).count(),
            running: count(Status::Running),
            ready: count(Status::Ready),
        },
        overview: survey.overview,
        refused_keys,
        refused_orchestrators,
    })
}

/// Seconds for which a ready task may have no assignee that exists: it may just be in the making.
const FRESH: i64 = 300;

/// Whether a task is ready and nobody takes it. Of a marked one no watcher says so. `lately`: what happened within [`FRESH`] seconds.
fn is_left_to_nobody(
    t: &Task,
    runtime: &Runtime,
    own_board: bool,
    lately: &[(String, Event)],
    now: Time,
) -> bool {
    let is_new = || is_within(t.created_at, now, FRESH - 1) || lately.iter().any(|(id, _)| *id == t.id);
    t.status == Status::Ready && runtime.is_nobodys(t.assignee.as_deref(), own_board) && !is_new()
}

/// Where more open tasks are chosen than are looked at closely: those that a person scheduled, of which a closer look says no more.
fn by_hand(
    board: &mut dyn Board,
    chosen: &BTreeSet<String>,
    rows: &[Task],
    now: Time,
) -> Result<BTreeSet<String>> {
    let open: Vec<&Task> = rows.iter().filter(|t| chosen.contains(&t.id)).collect();
    if open.len() <= MAX_TASKS {
        return Ok(BTreeSet::new());
    }
    let scheduled = open.into_iter().filter(|t| t.status == Status::Scheduled).map(|t| t.id.clone());
    let all = board.look(&scheduled.collect::<Vec<_>>())?;
    Ok(all.into_iter().filter(|d| standing::is_by_hand(d, now)).map(|d| d.task.id.clone()).collect())
}

/// The tasks that are looked at closely.
struct Chosen {
    tasks: Vec<String>,
    /// How many open ones have no room, but for those scheduled by hand.
    open_over: usize,
    /// The same of those that are closed.
    closed_over: usize,
}

impl Chosen {
    /// What is open comes first: what was done in the night needs nobody. Of that, what a person most likely has to end. `rows`: all that
    /// is open. `by_hand`: what needs nobody comes last.
    fn of(ids: BTreeSet<String>, rows: &[Task], by_hand: &BTreeSet<String>) -> Chosen {
        let turn = |status: &Status| match status {
            Status::Blocked | Status::Triage | Status::Review | Status::Other(_) => 0,
            // What is held goes on by itself.
            Status::Scheduled => 2,
            _ => 1,
        };
        let turns: BTreeMap<&str, i32> = rows.iter().map(|t| (t.id.as_str(), turn(&t.status))).collect();
        let (mut open, closed): (Vec<String>, Vec<String>) =
            ids.into_iter().partition(|id| turns.contains_key(id.as_str()));
        let closed_over = closed.len().saturating_sub(MAX_TASKS.saturating_sub(open.len()));
        let mut open_over = 0;
        if open.len() > MAX_TASKS {
            open.sort_by_key(|id| (by_hand.contains(id), turns.get(id.as_str())));
            open_over = open.drain(MAX_TASKS..).filter(|id| !by_hand.contains(id)).count();
            open.sort_unstable();
        }
        Chosen { tasks: open.into_iter().chain(closed).take(MAX_TASKS).collect(), open_over, closed_over }
    }
}

/// What nobody goes on with, as the whole board tells it.
struct Standstill {
    /// See [`passed_over`].
    passed_over: BTreeSet<String>,
    /// What waits for what never comes.
    endless: Arc<BTreeMap<String, Endless>>,
    /// See [`behind_cards`].
    behind_cards: BTreeSet<String>,
    /// See [`Runtime::lanes`].
    lanes: BTreeSet<String>,
}

/// Tasks in `todo` that wait for an open card: no watcher names them, and their card may wait for a person. `rows`: all that is open.
fn behind_cards(links: &[Link], rows: &[Task]) -> BTreeSet<String> {
    let cards: BTreeSet<&str> = rows.iter().filter(|t| t.is_card()).map(|t| t.id.as_str()).collect();
    let todo: BTreeSet<&str> =
        rows.iter().filter(|t| t.status == Status::Todo).map(|t| t.id.as_str()).collect();
    let is_behind = |l: &&Link| cards.contains(l.parent.as_str()) && todo.contains(l.child.as_str());
    links.iter().filter(is_behind).map(|l| l.child.clone()).collect()
}

impl Standstill {
    /// `rows`: all that is open.
    fn of(site: &impl Site, board: &mut dyn Board, rows: &[Task], runtime: &Runtime) -> Result<Standstill> {
        let waits = |t: &Task| matches!(t.status, Status::Todo | Status::Blocked);
        let links = match rows.iter().any(waits) {
            true => board.links(&[Status::Todo, Status::Blocked])?,
            false => Vec::new(),
        };
        let endless = Arc::new(endless::of(&links, rows, board.is_own()));
        let behind_cards = behind_cards(&links, rows);
        let lanes = dispatcher::lanes(board, rows, runtime, site.set().now)?;
        let passed_over = passed_over(site, board, rows, &links, runtime)?;
        Ok(Standstill { passed_over, endless, behind_cards, lanes })
    }
}

/// The tasks that the dispatcher of a board passes over, or that nobody claims where there is none.
fn passed_over(
    site: &impl Site,
    board: &mut dyn Board,
    rows: &[Task],
    links: &[Link],
    runtime: &Runtime,
) -> Result<BTreeSet<String>> {
    let own_board = board.is_own();
    let stands = |t: &Task| match t.status {
        Status::Ready | Status::Todo => true,
        Status::Blocked => !own_board,
        _ => false,
    };
    if !rows.iter().any(stands) {
        return Ok(BTreeSet::new());
    }
    let now = site.set().now;
    let up = site.look(board, |world| Ok(clock::up_since(world, now)))?;
    // While this machine was off nobody on it could start anything.
    let is_shared = board.is_shared();
    let was_off = |seconds: i64| !is_shared && up.is_some_and(|up| now.since(up) < seconds);
    let is_starting = up.is_some_and(|up| is_within(up, now, STARTING));
    let events = board.events(now.plus(-dispatcher::PASSED_OVER), MAX_TICKS)?;
    let done = dispatcher::started(board, rows, &events)?;
    if own_board {
        let workers = dispatcher::workers(board, rows, &done, &events, now)?;
        let mut left = dispatcher::waits_for_nothing(rows, links, &events, now);
        let unclaimed = dispatcher::unclaimed(rows, &done, &events, &workers, now);
        let is_told = !was_off(dispatcher::UNCLAIMED);
        left.extend(if is_told {
            unclaimed
        } else {
            standing_long(board, rows, unclaimed, is_starting, now)?
        });
        return Ok(left);
    }
    let rows = &*runtime.assigned(rows);
    let mut left = dispatcher::passed_over(rows, &done, &events, now);
    if was_off(dispatcher::PASSED_OVER) {
        return standing_long(board, rows, left, is_starting, now);
    }
    left.extend(dispatcher::not_promoted(rows, links, &events, now));
    let started = board.recent_runs(1)?.first().map(|(_, run)| run.started_at);
    if dispatcher::is_stalled(started, now) {
        let events = board.events(now.plus(-dispatcher::STALLED), MAX_TICKS)?;
        left.extend(dispatcher::stalled(rows, &events, now));
    }
    Ok(left)
}

/// Those of some tasks that stood for a day: of them it is told also where this machine was off or suspended lately, once it is on for a
/// few minutes.
fn standing_long(
    board: &mut dyn Board,
    rows: &[Task],
    left: BTreeSet<String>,
    is_starting: bool,
    now: Time,
) -> Result<BTreeSet<String>> {
    if left.is_empty() || is_starting {
        return Ok(BTreeSet::new());
    }
    let since = now.plus(-STANDING);
    let events = board.events(since, MAX_TICKS)?;
    // Of a board on which that much happened nobody knows what stood still.
    if events.len() >= usize::try_from(MAX_TICKS).unwrap_or(usize::MAX) {
        return Ok(BTreeSet::new());
    }
    let turned = dispatcher::tasks_of(&events, authorship::is_turn);
    let stood = |t: &&Task| left.contains(&t.id) && t.created_at < since && !turned.contains(t.id.as_str());
    Ok(rows.iter().filter(stood).map(|t| t.id.clone()).collect())
}

/// What one look at a board tells of some of its tasks and of what is around them.
struct Looked {
    facts: Vec<Facts>,
    runtime: Runtime,
    refused_keys: Vec<RefusedKey>,
    refused_orchestrators: Option<Refused>,
}

/// Whether what a provider refused stands: it did not answer since, and no new key was put in its place. That the longest wait is over mends
/// neither a key nor a quota.
fn stands(router: &Router<'_>, e: &Entry) -> bool {
    let is_changed = e.profile.as_ref().is_some_and(|name| router.profile(name).is_changed_since(e.bad));
    router.state_of(e) != State::Healthy && !is_changed
}

/// The keys that providers refuse now, but for those that another board of the root tells of.
fn refused_keys(routing: &Routing) -> Vec<RefusedKey> {
    let told_here = routing.refusals.iter().filter(|r| !r.is_elsewhere);
    told_here
        .filter_map(|Refusal { entry: e, .. }| {
            let at = e.id.is_known().then(|| e.id.to_string());
            Some(RefusedKey { profile: e.profile.clone()?, at, since: e.since })
        })
        .collect()
}

/// Why nobody takes cards, where the providers of all who would refuse their keys or have used up a quota. What may be over within minutes is
/// nothing yet: a quota, but not a key.
fn refused_orchestrators(
    (router, routing): (&Router<'_>, &Routing),
    deciders: &[String],
    patience: i64,
    now: Time,
) -> Option<Refused> {
    let one = |name: &String| {
        let stands = router.standing(name).map(|(e, _)| e).filter(|e| stands(router, e));
        // What was refused long ago is in no history that is read.
        let key = || {
            let id = router.profile(name).id();
            routing.refusals.iter().map(|r| &r.entry).find(|e| e.is_key_of(name, &id))
        };
        let e = stands.or_else(key)?;
        let lacking = Lacking::of(e.cause)?;
        let at = if lacking == Lacking::Key { name.clone() } else { e.id.to_string() };
        (lacking == Lacking::Key || now.since(e.since) >= patience).then_some((at, lacking))
    };
    let all: Option<Vec<(String, Lacking)>> = deciders.iter().map(one).collect();
    let (at, lacking) = all?.into_iter().next()?;
    let first = deciders.first()?;
    let why = match lacking {
        Lacking::Key => format!("the key of {first} is refused"),
        _ => format!("a quota or the money of {first} at {at} is used up"),
    };
    Some(Refused { names: deciders.to_vec(), why, at, lacking })
}

/// Everything about these tasks, with the runtime around the board; unknown ids are left out. `rows`: all that is open.
fn look(
    site: &impl Site,
    tasks: &[String],
    survey: &Survey,
    rows: &[Task],
    still: &Standstill,
) -> Result<Looked> {
    let mut board = site.open()?;
    let (own_board, is_shared) = (board.is_own(), board.is_shared());
    let (id, Set { config, now, by_file, .. }) = (site.id(), site.set());
    let (paused, wedged) = (site.paused(), site.wedged());
    let patience = seconds(config.routing.unclaimed);
    let (hand, flags) = card::hand_and_flags(id, own_board, by_file);
    site.look(&mut *board, |world| {
        let lately = world.board.events(now.plus(-TICKED), MAX_TICKS)?;
        let mut runtime = dispatcher::runtime(world, &lately, now);
        runtime.lanes.clone_from(&still.lanes);
        let details = world.board.look(tasks)?;
        let near: BTreeSet<String> = details.iter().flat_map(|d| kin(d).chain(card_of(d))).collect();
        let near = world.board.look(&near.into_iter().collect::<Vec<_>>())?;
        let in_turn = match wedged {
            None => {
                // That a card waits since before this machine was off is told all the same.
                let ask = InTurn { rows, patience, since: None };
                dispatcher::in_turn(world.board, &runtime, &ask, near.iter(), now)?
            }
            Some(_) => BTreeSet::new(),
        };
        let known = &runtime.profiles;
        let about = About { rows, details: details.iter().collect(), known, clock_given: true };
        let routing = routing::facts::observe(world, &about, now)?;
        let deciders = deciders(config, Some(&runtime)).unwrap_or_default();
        let is_absent = |name: &String| known.has(name) == Some(false);
        let first = deciders.first().filter(|_| deciders.iter().all(is_absent));
        let no_orchestrator =
            first.map(|name| remedy::no_orchestrator(name, runtime.is_unlisted(Some(name))));
        let there: Vec<String> = deciders.iter().filter(|name| !is_absent(name)).cloned().collect();
        let instead =
            deciders.iter().find(|name| !is_absent(name)).cloned().unwrap_or(remedy::PROFILE.into());
        let places = Places::new(known, own_board, config, &deciders, details.iter().chain(&near));
        let given: BTreeSet<String> =
            near.iter().filter(|d| places.is_a_persons(d)).map(|d| d.task.id.clone()).collect();
        let router = Router::new(&routing, config, now, known, deciders);
        let refused_orchestrators = refused_orchestrators((&router, &routing), &there, patience, now);
        let found = |id: String| near.iter().find(|d| d.task.id == id).cloned();
        let details = read_logs(world, details, now);
        let unreached = unreached(world, &details, rows, &routing, now)?;
        let lives = lives(world, &details, known, now);
        let harnesses = harnesses(world, &details);
        let outlived_by = outlived_by(world, &details);
        let providers: Arc<[(String, Id)]> =
            routing.profiles.iter().map(|(name, profile)| (name.clone(), profile.id())).collect();
        let woke = clock::woke(world, now);
        let name = id.name();
        let mut all = Vec::new();
        for (d, reading) in details {
            all.push(Facts {
                board: name.clone(),
                hand: hand.clone(),
                flags: flags.clone(),
                own_board,
                is_shared,
                now,
                paused: paused.clone(),
                refused: survey.refused.clone(),
                reading,
                kin: kin(&d).filter_map(found).collect(),
                card: card_of(&d).and_then(found),
                has_turn: card_of(&d).is_some_and(|card| in_turn.contains(&card)),
                instead: card_of(&d).filter(|card| given.contains(card)).map(|_| instead.clone()),
                runtime: runtime.clone(),
                person: config.people.assignee.clone(),
                life: lives.get(&d.task.id).copied(),
                harness: harnesses.get(&d.task.id).copied(),
                outlived_by: outlived_by.get(&d.task.id).copied(),
                woke,
                is_for_people: is_for_people(&runtime, own_board, &d.task.status),
                no_orchestrator: no_orchestrator.clone(),
                refused_orchestrators: refused_orchestrators.clone(),
                is_passed_over: still.passed_over.contains(&d.task.id),
                wedged: wedged.clone(),
                unanswered: unanswered(world, &d, now),
                beyond: survey.beyond.get(&d.task.id).cloned(),
                takers: (!known.names().is_empty()).then(|| router.free_instead_of(&d.task)),
                queued: card_of(&d)
                    .and_then(found)
                    .is_none_or(|c| c.task.status != Status::Running)
                    .then(|| routing::moving::queued(&router, &d))
                    .flatten(),
                retried_at: router
                    .standing_for(&d.task)
                    .filter(|(_, state)| state.is_held() && *state != State::GivenUp)
                    .map(|(e, _)| e.until),
                quiet_hours: config.routing.quiet_hours,
                unreached: unreached.iter().find(|u| u.stops(&d, &router)).cloned(),
                endless: Arc::clone(&still.endless),
                providers: providers.clone(),
                patience,
                claim_ceiling: seconds(config.heal.claim_ceiling),
                takes: survey.told_of(&d, now),
                detail: d,
            });
        }
        let mut refused_keys = refused_keys(&routing);
        refused_keys.retain(|key| !is_absent(&key.profile));
        Ok(Looked { facts: all, runtime, refused_keys, refused_orchestrators })
    })
}

/// Seconds after which an attempt without any answer is worth a word: a worker takes a minute to start on a slow machine.
const LONG: i64 = 300;

/// Seconds after the start of a machine in which nobody misses a dispatcher: its gateway may be started last.
const STARTING: i64 = 300;
/// Seconds for which a task stands still before that is told of also where this machine was off in between.
const STANDING: i64 = 86_400;

/// Ready work that nobody starts, since nobody dispatches. That is told once, and not of every task.
fn idle(
    rows: &[Task],
    runtime: &Runtime,
    events: &[(String, Event)],
    cadence: i64,
    now: Time,
) -> Option<String> {
    let n = dispatcher::waiting(&runtime.assigned(rows), &runtime.profiles, events, now, cadence);
    let patience = dispatcher::patience(rows, runtime, cadence);
    let ticked = || events.iter().any(|(_, e)| is_tick(e) && is_within(e.at, now, patience));
    // A gateway that is gone is not a dispatcher, whatever it did lately.
    let recent = !runtime.is_daemon && ticked();
    let absent = runtime.dispatcher == Dispatcher::Absent && !recent && n > 0;
    let wait = things_or(n, "ready task waits", "ready tasks wait");
    absent.then(|| format!("no dispatcher is seen, and {wait} for one"))
}

/// Each with what its newest log says.
fn read_logs(world: &mut World<'_>, details: Vec<Detail>, now: Time) -> Vec<(Detail, Reading)> {
    let one = |d: Detail| {
        let reading = reach::reading(world, &d, now);
        (d, reading)
    };
    details.into_iter().map(one).collect()
}

/// Where nobody answers, by these tasks and all others that failed.
fn unreached(
    world: &mut World<'_>,
    details: &[(Detail, Reading)],
    rows: &[Task],
    routing: &Routing,
    now: Time,
) -> Result<Vec<Unreached>> {
    let known: BTreeSet<&str> = details.iter().map(|(d, _)| d.task.id.as_str()).collect();
    let others: Vec<String> =
        reach::suspects(rows).into_iter().filter(|id| !known.contains(id.as_str())).collect();
    let others = world.board.look(&others)?;
    let others = read_logs(world, others, now);
    let all: Vec<(&Detail, &Reading)> = details.iter().chain(&others).map(|(d, r)| (d, r)).collect();
    Ok(reach::observe(world, &all, routing, now))
}

/// Whether Hermes leaves what is in this state to people. What its configuration says is not known of a board without a root.
fn is_for_people(runtime: &Runtime, own_board: bool, status: &Status) -> bool {
    let goes_on = match status {
        Status::Review => runtime.review_dispatch,
        Status::Triage => runtime.auto_decompose,
        _ => return false,
    };
    own_board || goes_on == Some(false)
}

/// Of the running tasks that watchers skip since the operator wants that: whether their workers live.
fn lives(
    world: &World<'_>,
    details: &[(Detail, Reading)],
    profiles: &Profiles,
    now: Time,
) -> BTreeMap<String, Life> {
    let person = world.config.people.assignee.as_deref();
    let is_skipped = |d: &&Detail| authorship::hands_off(d, profiles, person, now).is_some();
    let looks = looks(world, details.iter().map(|(d, _)| d).filter(is_skipped));
    looks.into_iter().map(|(id, look)| (id, look.life)).collect()
}

/// Whether each `board run` lives that beats for a worker: its number may be that of another process by now.
fn harnesses(world: &World<'_>, details: &[(Detail, Reading)]) -> BTreeMap<String, Life> {
    let looks = looks(world, details.iter().map(|(d, _)| d).filter(|d| d.is_beaten_for()));
    looks.into_iter().map(|(id, look)| (id, look.claimer)).collect()
}

/// The workers of those that run, by one look at all processes. Their logs are not read.
fn looks<'d>(world: &World<'_>, details: impl Iterator<Item = &'d Detail>) -> BTreeMap<String, Look> {
    let running = details.filter(|d| d.task.status == Status::Running);
    let (ids, asks): (Vec<String>, Vec<Ask>) =
        running.filter_map(|d| Some((d.task.id.clone(), ask(d)?))).unzip();
    ids.into_iter().zip(world.host.look(&asks)).collect()
}

/// The ready tasks that a process of this host names as its own, of those that a worker ever began. By one look at all processes.
fn still_at_work(world: &World<'_>, rows: &[Task]) -> BTreeSet<String> {
    let begun = rows.iter().filter(|t| t.status == Status::Ready && t.started_at.is_some());
    let asked: Vec<Freed<'_>> = begun.map(|t| Freed::named(&t.id)).collect();
    let found = world.host.at_work(&asked);
    asked.iter().zip(found).filter(|(_, p)| p.is_some()).map(|(f, _)| f.task.to_owned()).collect()
}

/// The processes of ended attempts that still work on tasks which do not run.
fn outlived_by(world: &World<'_>, details: &[(Detail, Reading)]) -> BTreeMap<String, i64> {
    let stands = |d: &&Detail| {
        d.task.status != Status::Running && !d.task.status.frees_children() && d.newest_run().is_some()
    };
    let freed: Vec<Freed<'_>> = details.iter().map(|(d, _)| d).filter(stands).map(Detail::freed).collect();
    let worker = |(freed, process): (&Freed<'_>, Option<host::AtWork>)| {
        let process = process.filter(|p| p.is_worker)?;
        Some((freed.task.to_owned(), process.pid))
    };
    freed.iter().zip(world.host.at_work(&freed)).filter_map(worker).collect()
}

/// When a running attempt began that has waited for the first answer of its provider ever since, for longer than that takes.
fn unanswered(world: &mut World<'_>, d: &Detail, now: Time) -> Option<Time> {
    let run = d.current_run().filter(|run| now.since(run.started_at) >= LONG)?;
    let usage = used(world, d, run, now);
    (usage.turns == Some(0)).then_some(run.started_at)
}

/// What it waits for, or waited for.
fn kin(d: &Detail) -> impl Iterator<Item = String> + '_ {
    let open = d.parents.iter().filter(|p| !p.status.frees_children());
    let over = d.parents.iter().filter(|p| p.status.frees_children());
    let card = |p: &&board::Kin| !p.is_card();
    open.chain(over).filter(card).take(MAX_KIN).map(|p| p.id.clone())
}

/// Its open distress card, else the newest one that was made for it.
fn card_of(d: &Detail) -> Option<String> {
    let tied = || d.parents.iter().rev().find(|p| p.is_card()).map(|p| p.id.clone());
    d.cards.first().cloned().or_else(|| d.cards_made.last().map(|c| c.id.clone())).or_else(tied)
}

impl Survey {
    /// Asks every watcher about a board, or about one of its tasks only.
    fn of(site: &impl Site, only: Option<&str>) -> Survey {
        let mut asking = Asking { site, only, survey: Survey::default() };
        each(site.set().origin, &mut asking);
        let Asking { mut survey, .. } = asking;
        survey.refused = survey.refused.filter(|_| survey.failed.len() == NAMES.len());
        survey
    }

    fn take(&mut self, watcher: &'static str, report: BoardReport) {
        if let Some(e) = &report.error {
            self.failed.push((watcher, e.to_string()));
            let is_of_file = e.kind.code() == Kind::Damaged.code();
            self.refused = self.refused.take().or_else(|| is_of_file.then(|| e.clone()));
        }
        report.findings.iter().for_each(|said| self.find(watcher, said, true));
        report.lasting().for_each(|said| self.find(watcher, said, false));
        for (step, _) in report.steps {
            let frees = step.freed().is_some();
            let verdict = Verdict::Acts { action: step.action, case: step.case };
            let because = step.because;
            let take = Take { watcher, verdict, because, next: None, stuck: None, elsewhere: false, frees };
            self.takes.entry(step.task).or_default().push(take);
        }
        for left in report.left {
            let verdict = if left.unknown { Verdict::Unknown } else { Verdict::Leaves };
            let Left { task, because, next, stuck, elsewhere, .. } = left;
            let take = Take { watcher, verdict, because, next, stuck, elsewhere, frees: false };
            self.takes.entry(task).or_default().push(take);
        }
        for t in report.overview.iter().flat_map(|o| &o.tasks) {
            let said: Vec<String> =
                t.verdicts.iter().map(|v| format!("{}: {}", v.verdict, v.because)).collect();
            self.told.insert((watcher, t.task.clone()), said.join("; "));
        }
        self.beyond.extend(report.beyond.into_iter().map(|b| (b.task.clone(), b)));
        self.overview = self.overview.take().or(report.overview);
    }

    /// What several watchers say is listed once. What heal says of other hosts is for who looks; see `host-silent` of doctor.
    fn find(&mut self, watcher: &str, said: &Said, is_blind: bool) {
        let is_passing = watcher == HEAL || said.kind.is_passing();
        match self.findings.iter_mut().find(|f| f.said.text == said.text) {
            Some(found) => {
                found.said.tasks.extend(said.tasks.iter().cloned());
                (found.is_blind, found.is_passing) =
                    (found.is_blind || is_blind, found.is_passing || is_passing);
            }
            None => self.findings.push(Found { said: said.clone(), is_blind, is_passing }),
        }
    }

    /// What could not be asked, and why; each reason once.
    fn failures(&self) -> Vec<String> {
        self.failed.iter().map(|(_, why)| why.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What every watcher says of a task: its own words, else why there are none.
    fn told_of(&self, d: &Detail, now: Time) -> Vec<Take> {
        let mut taking = Taking { survey: self, d, now, takes: Vec::new() };
        each(&BTreeMap::new(), &mut taking);
        taking.takes
    }
}

/// Asks each watcher about a board.
struct Asking<'a, S> {
    site: &'a S,
    only: Option<&'a str>,
    survey: Survey,
}

impl<S: Site> Visit for Asking<'_, S> {
    fn one<W: Watcher>(&mut self, watcher: &W) {
        let mut report = self.site.ask(watcher, self.only);
        let frees = |step: &Step| matches!(step.case, Rule::Probe | Rule::HoldOver);
        if W::NAME == ROUTE_BLOCKED && self.only.is_some() && report.steps.iter().any(|(s, _)| frees(s)) {
            // Which of all that wait for a provider goes first is not decided by one alone.
            let whole = self.site.ask(watcher, None);
            (report.steps, report.left) = (whole.steps, whole.left);
        }
        self.survey.take(W::NAME, report);
    }
}

/// Takes what each watcher said of one task.
struct Taking<'a> {
    survey: &'a Survey,
    d: &'a Detail,
    now: Time,
    takes: Vec<Take>,
}

impl Visit for Taking<'_> {
    fn one<W: Watcher>(&mut self, _watcher: &W) {
        let (watcher, survey, id) = (W::NAME, self.survey, &self.d.task.id);
        let failed = survey.failed.iter().find(|(w, _)| *w == watcher);
        let own = survey.takes.get(id).into_iter().flatten().find(|t| t.watcher == watcher);
        let nothing = |verdict, because: String| Take {
            watcher,
            verdict,
            because,
            next: None,
            stuck: None,
            elsewhere: false,
            frees: false,
        };
        let beyond = survey.beyond.get(id).filter(|_| watcher == BUDGET_CHECK);
        let take = match (own, failed) {
            // What is not known hides nothing that is.
            (Some(own), _) if own.verdict == Verdict::Unknown && beyond.is_some() => {
                let says = beyond.map_or("", |b| b.says.as_str());
                nothing(Verdict::Nothing, format!("{says}; it only tells; not known: {}", own.because))
            }
            (Some(own), _) => own.clone(),
            (None, Some((_, why))) => nothing(Verdict::Failed, why.clone()),
            (None, None) => {
                let told = survey.told.get(&(watcher, id.clone()));
                let because = match told.map(String::as_str) {
                    Some("") => "within its bounds".into(),
                    Some(said) => format!("{said}; it only tells"),
                    None => match self.d.task.status {
                        Status::Done | Status::Archived => "it is over".into(),
                        Status::Other(_) => "a state it does not know is skipped".into(),
                        _ => W::silence(self.d, self.now),
                    },
                };
                nothing(Verdict::Nothing, because)
            }
        };
        self.takes.push(take);
    }
}

#[cfg(test)]
mod tests {
    use board::testing::{NOW, ago, detail, event};

    use super::*;

    #[test]
    fn what_is_ready_for_nobody_is_looked_at_once_it_is_not_new() {
        let is_left = |who: Option<&str>, created: i64, touched: Option<i64>, own_board: bool| {
            let t = detail("t_00000001", Status::Ready).task.clone();
            let t = Task { assignee: who.map(str::to_owned), created_at: ago(created), ..t };
            let event = |at| (t.id.clone(), event("edited", at, serde_json::json!({})));
            let lately: Vec<(String, Event)> = touched.into_iter().map(event).collect();
            let runtime = Runtime { profiles: ["luna"].into_iter().collect(), ..Runtime::absent() };
            is_left_to_nobody(&t, &runtime, own_board, &lately, NOW)
        };
        for (who, created, touched, own_board, want) in [
            (None, 300, None, false, true),
            (Some("ghost"), 300, None, false, true),
            (Some("luna"), 300, None, false, false),
            (None, 299, None, false, false),
            (None, 9_000, Some(200), false, false),
            // Any worker may take it there.
            (None, 9_000, None, true, false),
        ] {
            assert_eq!(is_left(who, created, touched, own_board), want, "{who:?} {created} {touched:?}");
        }
    }

    #[test]
    fn what_a_pass_had_no_time_for_is_told_and_nobody_is_to_mend_it() {
        let is_passing = |watcher: &str, kind: said::Kind| {
            let mut survey = Survey::default();
            survey.find(watcher, &Said::of(kind, "said".into()), true);
            survey.findings[0].is_passing
        };
        for (watcher, kind, want) in [
            ("budget-check", said::Kind::Cut, true),
            ("route-blocked", said::Kind::CardsWait, true),
            ("route-blocked", said::Kind::Clock, true),
            ("route-blocked", said::Kind::Unread, false),
            ("budget-check", said::Kind::Other, false),
            ("heal", said::Kind::Other, true),
        ] {
            assert_eq!(is_passing(watcher, kind.clone()), want, "{watcher} {kind:?}");
        }
    }

    #[test]
    fn what_waits_in_todo_for_an_open_card_is_looked_at() {
        let row = |id: &str, title: &str, status: Status| {
            let t = detail(id, status).task.clone();
            Task { title: title.into(), ..t }
        };
        let rows = [
            row("t_0000ca4d", "[BLOCKED] t_00000001 dependency", Status::Blocked),
            row("t_00000001", "Port the parser", Status::Todo),
            row("t_00000002", "Its card is over", Status::Todo),
            row("t_00000003", "Behind another task", Status::Todo),
            row("t_00000004", "Watchers name it", Status::Blocked),
        ];
        let link = |child: &str, parent: &str| Link {
            child: child.into(),
            parent: parent.into(),
            status: rows.iter().find(|t| t.id == parent).map(|t| t.status.clone()),
        };
        let links = [
            link("t_00000001", "t_0000ca4d"),
            link("t_00000002", "t_0000d04e"),
            link("t_00000003", "t_00000001"),
            link("t_00000004", "t_0000ca4d"),
        ];
        assert_eq!(behind_cards(&links, &rows), ["t_00000001".to_owned()].into());
    }

    #[test]
    fn of_too_many_open_tasks_those_that_a_person_must_end_are_looked_at() {
        let row = |n: usize, status: &Status| detail(&format!("t_{n:08}"), status.clone()).task.clone();
        let mut rows: Vec<Task> = (0..3_000).map(|n| row(n, &Status::Scheduled)).collect();
        rows.extend((3_000..3_010).map(|n| row(n, &Status::Ready)));
        let stopped = [Status::Blocked, Status::Triage, Status::Review, Status::Other("later".into())];
        rows.extend(stopped.iter().zip(3_010..).map(|(status, n)| row(n, status)));
        let mut ids: BTreeSet<String> = rows.iter().map(|t| t.id.clone()).collect();
        ids.insert("t_00009999".into());
        let chosen = Chosen::of(ids.clone(), &rows, &BTreeSet::new());
        assert_eq!((chosen.tasks.len(), chosen.open_over, chosen.closed_over), (1_000, 2_014, 1));
        let (held, others) = chosen.tasks.split_at(986);
        assert_eq!((held[0].as_str(), held[985].as_str()), ("t_00000000", "t_00000985"));
        let want: Vec<String> = (3_000..3_014).map(|n| format!("t_{n:08}")).collect();
        assert_eq!(others, want);
        // What a person scheduled needs nobody: a hold among it, whatever its id, is looked at.
        let by_hand = (0..2_999).map(|n| format!("t_{n:08}")).collect();
        let chosen = Chosen::of(ids, &rows, &by_hand);
        assert_eq!((chosen.tasks.len(), chosen.open_over), (1_000, 0));
        assert!(chosen.tasks.contains(&"t_00002999".to_owned()));
    }
}
