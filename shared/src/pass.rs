//! One pass of a watcher over one board: observe, decide, apply, report.

pub(crate) mod damage;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode as FileMode, OFlags};

use crate::board::change::{MAX_STEPS, parts};
use crate::board::{self, Board, BoardId, Detail, Mode, Outcome, Step, discover};
use crate::cache::Cache;
use crate::config::Config;
use crate::config::span::seconds;
use crate::error::{Error, Kind, Result};
use crate::host::{AtWork, Freed, Holders, Host, Split};
use crate::logs::session::Prices;
use crate::logs::taught::Patterns;
use crate::logs::usage::{self, Usage, UsageAsk};
use crate::logs::vitals::{self, Vitals, Worker};
use crate::packet::Packet;
use crate::policy::{Pass, UseAsk, Witness, World};
use crate::replay;
use crate::report::BoardReport;
use crate::runtime::{self, LogFiles, gateway};
use crate::session::Mapping;
use crate::session::opencode::gather::{self, Ground};
use crate::session::opencode::rest::Address;
use crate::session::opencode::{Opencode, store};
use crate::time::{Time, words};
use crate::watch::{Watcher, heal};
use crate::{pause, provider, tree};

/// How long a held dispatch lock is waited for. A tick of Hermes takes well under a second.
const LOCK_WAIT: Duration = Duration::from_millis(1_500);
/// The longest wait for the board itself while we hold the dispatch lock: a dispatcher loses one tick at most.
const PATIENCE: Duration = Duration::from_secs(1);
/// A process that holds the dispatch lock for this many seconds is stuck in it.
const WEDGED: i64 = 300;

/// Everything a pass needs that does not belong to one board.
pub struct Tools<'a> {
    /// The pass.
    pub pass: &'a Pass,
    /// This machine.
    pub host: &'a Host,
    /// Configuration.
    pub config: &'a Config,
    /// Memory between passes.
    pub cache: &'a mut Cache,
    /// Wall clock minus boot clock, in seconds.
    pub clock_offset: i64,
    /// The folder of Claude Code, in which transcripts are looked for by the folder they were made in.
    pub claude: Option<&'a Path>,
    /// The folder of Codex, in which rollouts are looked for by who holds them open and by the folder they were made in.
    pub codex: Option<&'a Path>,
    /// opencode as it is on this machine.
    pub opencode: &'a Opencode,
    /// Keep what was seen for the report.
    pub keep_seen: bool,
}

/// Runs one pass over one board. Never fails as a whole: the report says what happened.
pub fn run<W: Watcher>(watcher: &W, id: &BoardId, tools: &mut Tools<'_>) -> BoardReport {
    let mut report = BoardReport::new(id.name(), id.path.display().to_string());
    if let Err(e) = pass(watcher, id, tools, &mut report) {
        if e.kind == Kind::Damaged {
            damage::doubt(&id.path, tools.cache, tools.pass.now);
        }
        report.error = Some(e);
    }
    report
}

fn pass<W: Watcher>(
    watcher: &W,
    id: &BoardId,
    tools: &mut Tools<'_>,
    report: &mut BoardReport,
) -> Result<()> {
    let mut board = open(id, tools, report, watcher.only_looks())?;
    gateway::note(id, tools.host, tools.cache, tools.pass.now);
    let seen = look(&mut *board, id, tools, |world, pass| {
        if let Some(only) = &pass.only {
            report.knows = Some(!world.board.look(std::slice::from_ref(only))?.is_empty());
        }
        watcher.observe(world, pass)
    })?;
    let decision = watcher.decide(&seen, tools.pass, tools.config);
    debug_assert!(
        decision.steps.iter().all(|step| W::lists(step)),
        "not on the lists of {}: {:?}",
        W::NAME,
        decision.steps
    );
    if !tools.pass.dry {
        let stored = replay::stored::<W>(&id.file(), tools.pass, &seen, &decision);
        stored.into_iter().for_each(|stored| tools.cache.keep(stored));
    }
    if tools.keep_seen {
        report.seen = serde_json::to_value(&seen).ok();
    }
    report.glanced = Some(W::glanced(&seen));
    report.overview = watcher.overview(&seen, tools.pass, tools.config);
    report.left = decision.left;
    report.findings.extend(decision.findings);
    report.notices = notices(W::NAME, id, decision.notices, tools);
    // The write needs none of it.
    drop(seen);
    carry_out(&mut *board, id, tools, decision.steps, report)
}

/// What lasts, each with whether it is news: it began since the last pass, or ended.
fn notices(
    program: &str,
    id: &BoardId,
    all: BTreeMap<String, String>,
    tools: &mut Tools<'_>,
) -> Vec<(String, bool)> {
    // A look at one task says nothing about the rest.
    if tools.pass.only.is_some() {
        return all.into_values().map(|said| (said, true)).collect();
    }
    let prefix = format!("notice:{program}:{}:", id.path.display());
    let now: BTreeSet<String> = all.keys().map(|name| format!("{prefix}{name}")).collect();
    let over = tools.cache.forget(&prefix, &now).into_iter();
    let over = over.map(|key| (format!("no longer: {}", &key[prefix.len()..]), true)).collect::<Vec<_>>();
    let begun = all.into_iter().map(|(name, said)| {
        let key = format!("{prefix}{name}");
        let is_news = !tools.cache.was_sighted(&key);
        tools.cache.sight(&key, tools.pass.now);
        (said, is_news)
    });
    begun.collect::<Vec<_>>().into_iter().chain(over).collect()
}

/// Looks at the world around one board.
///
/// # Errors
/// Whatever `f` says.
pub(crate) fn look<T>(
    board: &mut dyn Board,
    id: &BoardId,
    tools: &mut Tools<'_>,
    f: impl FnOnce(&mut World<'_>, &Pass) -> Result<T>,
) -> Result<T> {
    let own = board.is_own();
    let (host, config) = (tools.host, tools.config);
    let runtime = || runtime::of(id, own, host);
    let root = id.root.as_deref().filter(|_| !own);
    let profile = |name: &str| provider::of(root, name, config);
    let prices = Prices::of(config);
    let opencode = tools.opencode;
    let store = opencode.store.as_deref();
    let places = Places { prices: &prices, claude: tools.claude, codex: tools.codex, opencode: store };
    let usage = |ask: &UseAsk<'_>, cache: &mut Cache| {
        let read = |ask: &UsageAsk<'_>| usage::read(ask, cache);
        asked(id, ask, places, &[], read).unwrap_or_else(Usage::unknown)
    };
    let vitals = |ask: &UseAsk<'_>, worker: Option<Worker>, cache: &mut Cache| {
        let read = |ask: &UsageAsk<'_>| vitals::read(ask, worker, cache);
        // Where its claim names a log, no other is looked for.
        let codex = tools.codex.zip(worker).filter(|_| ask.file.is_none());
        let held = codex.map(|(home, w)| host.open_below(w.pid, w.ticks, &home.join("sessions")));
        let held = held.unwrap_or_default();
        asked(id, ask, places, &held, read).unwrap_or_else(|why| Some(Vitals::hidden(why)))
    };
    let now = tools.pass.now;
    let sessions = |mappings: &[Mapping]| {
        let server = |at: &Address| opencode.server(at);
        gather::mapped(mappings, &Ground { server: &server, store, limits: &config.detect, now })
    };
    let patterns = Patterns::of(&config.matches);
    let mut world = World {
        board,
        host,
        logs: &LogFiles(&patterns),
        cache: tools.cache,
        runtime: &runtime,
        profile: &profile,
        tree: &tree::look,
        changes: &tree::changes::changes,
        state: &tree::state::state,
        usage: &usage,
        vitals: &vitals,
        sessions: &sessions,
        clock_offset: tools.clock_offset,
        config,
    };
    f(&mut world, tools.pass)
}

/// What the next attempt at a task of this board would be told now, with the task itself; `None`: it has no such task. Only
/// looks.
///
/// # Errors
/// The board cannot be read.
pub(crate) fn handover(id: &BoardId, task: &str, tools: &mut Tools<'_>) -> Result<Option<(Detail, Packet)>> {
    let mut board = board::open(id, Mode::Look, tools.config.board.busy_timeout)?;
    look(&mut *board, id, tools, |world, pass| heal::handover(world, pass, task))
}

/// Where agents keep their logs, and what their tokens cost.
#[derive(Clone, Copy)]
struct Places<'a> {
    prices: &'a Prices,
    claude: Option<&'a Path>,
    codex: Option<&'a Path>,
    opencode: Option<&'a Path>,
}

/// Asks about an attempt wherever this board's agents write.
///
/// # Errors
/// Why nobody is asked, in words.
fn asked<T>(
    id: &BoardId,
    ask: &UseAsk<'_>,
    places: Places<'_>,
    held: &[PathBuf],
    read: impl FnOnce(&UsageAsk<'_>) -> T,
) -> std::result::Result<T, String> {
    let log = discover::logs_dir(id).map(|dir| discover::log_file(&dir, ask.task));
    // Where the claim names no log, the session that was spawned for the attempt does.
    let stored = places.opencode.zip(ask.session).filter(|_| ask.file.is_none());
    let stored = stored.and_then(|(folder, session)| store::in_file(folder, session));
    let named = ask.file.map(Path::new).or(stored.as_deref());
    // A store may be named with a session behind it.
    let file = ask.file.and_then(|f| f.split('#').next()).map(Path::new);
    if file.is_some_and(|file| discover::is_board_file(id, file)) {
        return Err("the log its claim names is the board itself".into());
    }
    let ask = UsageAsk {
        task: ask.task,
        profile: ask.profile,
        root: id.root.as_deref().filter(|_| !ask.own_board),
        worker_log: log.as_deref(),
        named,
        workspace: ask.workspace.map(Path::new),
        home: places.claude,
        codex: places.codex,
        held,
        from: ask.from,
        to: ask.to,
        next: ask.next,
        now: ask.now,
        prices: places.prices,
    };
    Ok(read(&ask))
}

/// Applies steps that were planned earlier, exactly as they stand.
pub fn apply_plan(id: &BoardId, steps: Vec<Step>, tools: &mut Tools<'_>) -> BoardReport {
    let mut report = BoardReport::new(id.name(), id.path.display().to_string());
    let done = open(id, tools, &mut report, false)
        .and_then(|mut board| carry_out(&mut *board, id, tools, steps, &mut report));
    report.error = done.err();
    report
}

/// Carries out what somebody asked for by hand: each step, or why it must not be done. A pause is for watchers, and holds
/// nobody's hand; a board that moved meanwhile is no news here but a refusal.
pub(crate) fn by_hand(
    id: &BoardId,
    tools: &mut Tools<'_>,
    steps: impl FnOnce(&mut dyn Board) -> Result<Vec<(Step, Option<String>)>>,
) -> BoardReport {
    let mut report = BoardReport::new(id.name(), id.path.display().to_string());
    let mode = if tools.pass.dry { Mode::Look } else { Mode::Change };
    let mut doable = Vec::new();
    let done = board::open(id, mode, tools.config.board.busy_timeout).and_then(|mut board| {
        refuse_split(tools.host, id)?;
        damage::refuse(&*board, id, tools.cache, tools.pass.now)?;
        for (step, why) in steps(&mut *board)? {
            match why {
                Some(why) => report.steps.push((step, Outcome::Refused { why })),
                None => doable.push(step),
            }
        }
        let refused = std::mem::take(&mut report.steps);
        let done = carry_out(&mut *board, id, tools, doable, &mut report);
        report.steps.splice(..0, refused);
        done
    });
    for (_, outcome) in &mut report.steps {
        if let Outcome::Moved { what } = outcome {
            *outcome = Outcome::Refused { why: format!("moved meanwhile: {what}") };
        }
    }
    report.error = done.err();
    report
}

/// Opens a board for this pass, unless it is paused, split or damaged.
fn open(
    id: &BoardId,
    tools: &mut Tools<'_>,
    report: &mut BoardReport,
    only_looks: bool,
) -> Result<Box<dyn Board>> {
    let looks = only_looks || tools.pass.dry;
    paused(id, tools, report, looks)?;
    let mode = if looks { Mode::Look } else { Mode::Change };
    let board = board::open(id, mode, tools.config.board.busy_timeout)?;
    let (cache, now) = (&mut *tools.cache, tools.pass.now);
    // What damages a board is a split that ends in another way than the advice says.
    refuse_split(tools.host, id).inspect_err(|_| damage::doubt(&id.path, cache, now))?;
    damage::refuse(&*board, id, cache, now)?;
    Ok(board)
}

/// Refuses a board of which a deleted copy is still written to: whatever is done here would be seen by half of its users.
///
/// # Errors
/// `Data`, naming the processes and what to do.
pub(crate) fn refuse_split(host: &Host, id: &BoardId) -> Result<()> {
    let Split::Split { pids } = host.split(&id.path) else { return Ok(()) };
    let what = format!("this board is split: {}", split_what(&pids));
    Err(Error::new(Kind::Data, id.path.display(), what).hint(split_todo(&pids)))
}

/// What the processes do that split a board.
pub(crate) fn split_what(pids: &[i64]) -> String {
    format!("process {} writes into a deleted copy of it, and that is lost", joined(pids, ", "))
}

/// What a person does about a split board. Tried on real ones: ended by KILL such a process leaves the board as the others see
/// it; ended by TERM, as a restart ends it, or left alone it writes old pages over theirs.
pub(crate) fn split_todo(pids: &[i64]) -> String {
    format!(
        "run `kill -9 {}` now, not a restart: any other end lets it write old pages over the board. Then copy the board with its \
         -wal, run `watchbill doctor`, and start the process again; nothing is written here until it is gone",
        joined(pids, " ")
    )
}

fn joined(pids: &[i64], between: &str) -> String {
    pids.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// Refuses a board on which the red switch is thrown, see [`pause`].
fn paused(id: &BoardId, tools: &mut Tools<'_>, report: &mut BoardReport, looks: bool) -> Result<()> {
    let key = format!("pause:{}:", id.path.display());
    let now = tools.pass.now;
    let Some(pause) = pause::in_force(&id.folder(), now) else {
        tools.cache.forget(&key, &BTreeSet::new());
        return Ok(());
    };
    if looks {
        // Looking is what a pause is for.
        report.warnings.push(format!("{}; nothing is changed meanwhile", pause.words(now)));
        return Ok(());
    }
    // Who moved its end or its reason is to see that it counts.
    let sighting = format!("{key}{:?}", (pause.until, &pause.reason));
    report.muted = tools.cache.was_sighted(&sighting);
    tools.cache.forget(&key, &BTreeSet::from([sighting.clone()]));
    tools.cache.sight(&sighting, now);
    Err(pause.refusal(&id.folder(), now))
}

fn carry_out(
    board: &mut dyn Board,
    id: &BoardId,
    tools: &mut Tools<'_>,
    steps: Vec<Step>,
    report: &mut BoardReport,
) -> Result<()> {
    if tools.pass.dry {
        report.steps = steps.into_iter().map(|s| (s, Outcome::Planned)).collect();
        return Ok(());
    }
    if steps.is_empty() {
        // A board on which nothing moves may be one whose dispatcher is stuck in its lock.
        report.findings.extend(wedge(&id.path, tools).map(|w| w.to_string()));
        return Ok(());
    }
    board.writable()?;
    let steps = stop_workers(board, steps, tools.host, &mut report.steps)?;
    // Before the lock: a scan of all processes is slow.
    let checked = Checked::of(steps, tools.host, tools.pass.now, tools.config.heal.orphan_wait);
    let lock = dispatch_lock(&id.path, tools, report)?;
    let (done, fault) = checked.apply(board, tools.pass.now, PATIENCE);
    drop(lock);
    report.steps.extend(done);
    fault.map_or(Ok(()), Err)
}

/// Stops the workers that steps name, where the board is still as it was seen: what was done with a task meanwhile says that
/// its worker is well. Gives the steps that go on, with the proof that their worker is gone; `moved` gets the others.
///
/// # Errors
/// The board cannot be read.
pub fn stop_workers(
    board: &mut dyn Board,
    steps: Vec<Step>,
    host: &dyn Witness,
    moved: &mut Vec<(Step, Outcome)>,
) -> Result<Vec<Step>> {
    let mut go_on = Vec::with_capacity(steps.len());
    for mut step in steps {
        let Some(target) = &step.stop else {
            go_on.push(step);
            continue;
        };
        let now = board.look(std::slice::from_ref(&step.task))?;
        let still = now.first().map_or(Some("task"), |d| step.expect.as_ref()?.differs(&d.task, &d.mark));
        let what = match still {
            Some(what) => what.to_owned(),
            None => match host.stop(target) {
                Ok(proof) => {
                    step.proof = Some(proof);
                    go_on.push(step);
                    continue;
                }
                Err(why) => format!("its worker was not stopped: {why}"),
            },
        };
        moved.push((step, Outcome::Moved { what }));
    }
    Ok(go_on)
}

/// Steps that were held against the processes of this machine just before the write. What comes after is only the write: a
/// pass, a plan and a simulated pass end alike.
#[derive(Debug)]
pub struct Checked {
    /// With each, why it must not be done.
    steps: Vec<(Step, Option<String>)>,
}

impl Checked {
    /// Looks once more at every process that must be gone, and whether nobody works on what is to be set free: the board may
    /// be done with an attempt whose worker is not. What a worker left behind is waited for, `orphan_wait` from the end
    /// of its attempt.
    pub fn of(steps: Vec<Step>, host: &dyn Witness, now: Time, orphan_wait: Duration) -> Checked {
        let proofs: Vec<_> = steps.iter().map(|s| s.proof.clone()).collect();
        let freed: Vec<Freed<'_>> = steps.iter().filter_map(freed).collect();
        let seen = host.recheck(&proofs, &freed);
        let at_work: BTreeMap<String, AtWork> = freed
            .iter()
            .zip(seen.at_work)
            .filter_map(|(freed, process)| Some((freed.task.to_owned(), process?)))
            .collect();
        let is_waited_for = |step: &Step| {
            let ended = step.expect.as_ref().and_then(|e| e.ended);
            ended.is_some_and(|ended| now.since(ended) < seconds(orphan_wait))
        };
        let stays = |(step, holds): (Step, bool)| {
            let back = (!holds).then(|| "its worker is there after all".to_owned());
            let at_work = at_work.get(&step.task).filter(|p| p.is_worker || is_waited_for(&step));
            let at_work = at_work.map(|p| format!("process {} still works on it", p.pid));
            (step, back.or(at_work))
        };
        Checked { steps: steps.into_iter().zip(seen.still_gone).map(stays).collect() }
    }

    /// Writes them, one transaction for each of their parts: what an earlier one did is told even where a later one fails.
    /// What was never tried has no outcome; the error says why.
    pub fn apply(
        self,
        board: &mut dyn Board,
        now: Time,
        patience: Duration,
    ) -> (Vec<(Step, Outcome)>, Option<Error>) {
        // Moved and not copied: there may be thousands, each with all that it writes.
        let (mut doable, mut rest, mut order) = (Vec::new(), Vec::new(), Vec::new());
        for (step, stays) in self.steps {
            order.push(stays.is_none());
            match stays {
                None => doable.push(step),
                Some(what) => rest.push((step, Outcome::Moved { what })),
            }
        }
        let (mut outcomes, mut fault) = (Vec::with_capacity(doable.len()), None);
        for part in parts(&doable, MAX_STEPS) {
            match board.apply(now, part, patience) {
                Ok(done) => outcomes.extend(done),
                Err(e) => {
                    fault = Some(e);
                    break;
                }
            }
        }
        let (mut done, mut rest) = (doable.into_iter().zip(outcomes), rest.into_iter());
        let became = |is_done: bool| if is_done { done.next() } else { rest.next() };
        (order.into_iter().filter_map(became).collect(), fault)
    }
}

/// What a step sets free.
fn freed(step: &Step) -> Option<Freed<'_>> {
    let workers = step.expect.as_ref().map_or(&[][..], |e| &e.workers);
    step.sets_free().then_some(Freed { task: &step.task, workers })
}

/// Takes `<board>.dispatch.lock` around the write, so that a dispatcher's tick and ours do not interleave. The file is
/// Hermes': it is opened, never made, and a board without one is written under its guards alone.
fn dispatch_lock(db: &Path, tools: &mut Tools<'_>, report: &mut BoardReport) -> Result<Option<File>> {
    let path = lock_path(db);
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(fd) = rustix::fs::open(&path, flags, FileMode::empty()) else { return Ok(None) };
    let file = File::from(fd);
    let began = Instant::now();
    while rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if began.elapsed() >= LOCK_WAIT {
            return held(&path, tools, report).map(|()| None);
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    tools.cache.forget(&format!("lock:{}:", path.display()), &BTreeSet::new());
    Ok(Some(file))
}

/// A dispatcher that is stuck in its lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wedge {
    /// The lock.
    pub lock: PathBuf,
    /// Who holds it: pids, in words.
    pub who: String,
    /// For how many seconds the same process was seen with it.
    pub held: i64,
}

impl Wedge {
    /// `process 9 has held LOCK for 10m`.
    pub fn what(&self) -> String {
        format!("process {} has held {} for {}", self.who, self.lock.display(), words(self.held))
    }
}

impl fmt::Display for Wedge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "dispatcher-wedged: {}; look at it; if it does nothing, kill -9 it and start it again",
            self.what()
        )
    }
}

/// The dispatcher that is stuck in its lock, if one is, as far as passes saw the same process hold it.
pub(crate) fn wedge(db: &Path, tools: &mut Tools<'_>) -> Option<Wedge> {
    let lock = lock_path(db);
    match tools.host.flock_holders(&lock) {
        Holders::Pids(pids) => {
            let (who, held) = held_for(&lock, &pids, tools);
            (held >= WEDGED).then_some(Wedge { lock, who, held })
        }
        Holders::Nobody => {
            tools.cache.forget(&format!("lock:{}:", lock.display()), &BTreeSet::new());
            None
        }
        Holders::Unknown(_) => None,
    }
}

/// Somebody holds the dispatch lock. For a while that is a reason to come back later; a process that never lets go is a
/// finding, and then we go on without it (Hermes itself prints zeros with exit 0 all night).
fn held(path: &Path, tools: &mut Tools<'_>, report: &mut BoardReport) -> Result<()> {
    let busy = |who: String| {
        Error::new(Kind::Busy, path.display(), format!("the dispatcher is at work ({who})"))
            .hint("the next pass will do")
    };
    let pids = match tools.host.flock_holders(path) {
        Holders::Pids(pids) => pids,
        Holders::Nobody => return Err(busy("it just let go".into())),
        Holders::Unknown(why) => return Err(busy(why)),
    };
    let (who, held) = held_for(path, &pids, tools);
    if held < WEDGED {
        return Err(busy(format!("process {who}")));
    }
    report.findings.push(Wedge { lock: path.to_path_buf(), who, held }.to_string());
    Ok(())
}

/// Who holds the lock, and for how many seconds the same process was seen with it.
fn held_for(path: &Path, pids: &[i64], tools: &mut Tools<'_>) -> (String, i64) {
    let prefix = format!("lock:{}:", path.display());
    let keys: BTreeSet<String> = pids.iter().map(|p| format!("{prefix}{p}")).collect();
    tools.cache.forget(&prefix, &keys);
    let now = tools.pass.now;
    let since = keys.iter().map(|k| tools.cache.sight(k, now)).min().unwrap_or(now);
    (joined(pids, ", "), now.since(since))
}

fn lock_path(db: &Path) -> PathBuf {
    let mut name = db.file_name().unwrap_or_default().to_owned();
    name.push(".dispatch.lock");
    db.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Change, Expect, Rule, Status, StepAction};
    use crate::host::{Ask, HostFacts, Look, Proof, Recheck};
    use crate::policy::testing::NOW;
    use crate::policy::testing::detail;

    /// A machine on which one process still works on `t_0000000a`.
    struct Outliving;

    impl Witness for Outliving {
        fn facts(&self) -> HostFacts {
            unreachable!("nobody asks")
        }
        fn is_here(&self, _: &str) -> bool {
            true
        }
        fn look(&self, _: &[Ask]) -> Vec<Look> {
            Vec::new()
        }
        fn recheck(&self, proofs: &[Option<Proof>], freed: &[Freed<'_>]) -> Recheck {
            let process = |task: &str| match task {
                "t_0000000a" => Some(AtWork { pid: 77, is_worker: true }),
                "t_0000000c" => Some(AtWork { pid: 78, is_worker: false }),
                _ => None,
            };
            let at_work = freed.iter().map(|f| process(f.task)).collect();
            Recheck { still_gone: vec![true; proofs.len()], at_work }
        }
    }

    #[test]
    fn work_is_not_set_free_while_a_process_still_works_on_it() {
        let step = |id: &str, was: Status, changes: Vec<Change>| Step {
            task: id.into(),
            action: StepAction::Reset,
            case: Rule::CrashLoop,
            cause: None,
            because: String::new(),
            expect: Some(Expect::of(&detail(id, was))),
            proof: None,
            stop: None,
            after: Vec::new(),
            changes,
        };
        let (ready, blocked) = (Change::SetStatus(Status::Ready), Change::SetStatus(Status::Blocked));
        let to = Change::Assign(Some("nova".into()));
        for (id, was, changes, stays) in [
            ("t_0000000a", Status::Blocked, vec![ready.clone()], true),
            ("t_0000000a", Status::Scheduled, vec![Change::SetStatus(Status::Todo)], true),
            ("t_0000000a", Status::Ready, vec![to.clone()], true),
            ("t_0000000b", Status::Blocked, vec![ready.clone()], false),
            // What only says something, or gives it to a person, sets nothing free.
            ("t_0000000a", Status::Blocked, vec![to, blocked], false),
            ("t_0000000a", Status::Blocked, vec![], false),
            // Of a running task the proof speaks.
            ("t_0000000a", Status::Running, vec![ready], false),
        ] {
            let checked = Checked::of(
                vec![step(id, was.clone(), changes.clone())],
                &Outliving,
                NOW,
                Duration::from_secs(900),
            );
            let why = checked.steps[0].1.as_deref();
            assert_eq!(why, stays.then_some("process 77 still works on it"), "{was} {changes:?}");
        }
    }

    #[test]
    fn what_a_worker_left_behind_is_waited_for_from_the_end_of_its_attempt() {
        let held = |ended: Option<i64>| {
            let mut step = Step {
                task: "t_0000000c".into(),
                action: StepAction::Release,
                case: Rule::HoldOver,
                cause: None,
                because: String::new(),
                expect: Some(Expect::of(&detail("t_0000000c", Status::Scheduled))),
                proof: None,
                stop: None,
                after: Vec::new(),
                changes: vec![Change::SetStatus(Status::Ready)],
            };
            step.expect.as_mut().unwrap().ended = ended.map(|ago| NOW.plus(-ago));
            Checked::of(vec![step], &Outliving, NOW, Duration::from_secs(900)).steps[0].1.is_some()
        };
        assert!(held(Some(0)) && held(Some(899)));
        assert!(!held(Some(900)) && !held(None), "not for ever");
    }
}
