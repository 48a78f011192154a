//! `board run`: the smallest harness for a worker, the one program here that lives as long as something else. No watcher
//! calls it. `coord spawn` starts the same harness for a claim that it made: see [`handed`].

mod fence;
mod handed;
mod last_word;
mod prompt;
mod queue;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Access, FallocateFlags, OFlags};
use rustix::io::Errno;
use serde_json::json;

use super::args::{Claim, Run};
use super::environment::{self, Told};
use super::living::Living;
use super::work::{Harness, Terms};
use super::{Common, Hand, TRIES, env, owner, print_json, refused, warn};
use crate::exclusive::{self, Inherited};
use crate::random_hex;
use crate::signals::listen;
use base::cause::{Cause, Owner};
use base::error::{Error, Kind, Result};
use base::reason::Reason;
use base::time::Time;
use board::hermes::{self, Trail};
use board::{Answer, Begin, Board, Change, Detail, Duty, EventKind, Mode, Outcome, Status, discover};
use card::packet::{self, Packet};
use config::span;
use fence::Fence;
use last_word::is_last_word;
use logs::cache::Cache;
use logs::operator_patterns::Patterns;
use logs::{Evidence, LogEnd};
use ops::pass::look::handover_on;
use policy::authorship::HAND;
use policy::runtime::{self, LogFiles};
use policy::runtime::{LogAsk, LogReader};

/// How often the command is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// The longest time between two heartbeats.
const BEAT: Duration = Duration::from_secs(60);
/// How long the end of a command is tried to be written on a board that is busy.
const BUSY: Duration = Duration::from_secs(600);
/// The same once it was told to stop, for each of two looks: a supervisor kills it soon after (`TimeoutStopSec=30` of the unit, of which the
/// command had ten).
const BUSY_TOLD: Duration = Duration::from_secs(9);
/// After this time it is said that the end of a command waits to be written.
const SOON: Duration = Duration::from_secs(2);
/// How often it is tried from then on, at first.
const SELDOM: Duration = Duration::from_secs(1);
/// How soon a heartbeat is tried again that did not reach a board which several hosts share.
const AGAIN: Duration = Duration::from_secs(5);

pub(crate) use handed::Handed;

/// What is started for a task.
struct Start<'a> {
    folder: PathBuf,
    prompt: String,
    profile: Option<&'a str>,
    /// What the task is claimed with.
    claim: &'a str,
    command: &'a [OsString],
    /// The named file that takes what it prints.
    log: Option<&'a Path>,
}

/// A command that waits for its task.
struct Gate {
    child: Child,
    /// The file with its prompt goes with it.
    prompt: prompt::File,
    text: String,
    log: Option<Log>,
}

/// What was got ready for a task before it is taken.
struct Ready {
    /// The task as it was then.
    seen: Detail,
    /// How often it was got ready for, one time after the other.
    nth: usize,
    terms: Terms,
    /// The command behind its gate, or why it cannot be started.
    start: std::result::Result<Gate, String>,
}

/// The file that takes what the command prints.
struct Log {
    path: PathBuf,
    /// Where the words of the command begin, in bytes: a named file keeps what others wrote.
    from: u64,
    /// The number of the file, by which another one in its place is known.
    inode: u64,
    /// Where it lies until the claim is won: another harness may be faster, and then the log is that one's.
    begun: Option<PathBuf>,
    /// Keeps every other worker out of a named file.
    _held: Option<Inherited>,
}

/// A task at work.
struct Work {
    gate: Gate,
    task: String,
    run: Option<i64>,
    /// What its claim is held by. Where an older copy of the board was restored, a later run has the same number.
    lock: String,
    profile: Option<String>,
    since: Time,
    /// Whether its harness was told to stop.
    told: Arc<AtomicBool>,
}

/// What goes on of a command that failed.
#[derive(Default)]
struct GoesOn {
    /// When it was seen that it ended, by the boot clock, in seconds.
    since: Option<i64>,
    /// The last look, by the boot clock.
    looked: Option<i64>,
    /// The process that is the worker now.
    worker: Option<i64>,
}

/// An end that the board does not take yet.
struct Unwritten {
    began: Instant,
    is_said: bool,
}

/// What a heartbeat finds.
enum Beat {
    /// The run is still the command's.
    Holds,
    /// The run ended well, as its worker said.
    Completed,
    /// The run is over for another reason.
    Over,
    /// Another attempt has the task.
    Taken,
    /// Nobody knows: the board did not take it, in words.
    Missed(String),
}

/// How it came to its end.
enum End {
    /// The command ended.
    Itself(ExitStatus),
    /// We were told to stop.
    Told,
    /// Its run is over on the board, and the command goes on all the same.
    Lost,
    /// Its claim is about to run out, and the board cannot be reached.
    Unheard,
}

/// Works on one task, as soon as one is ready where `--wait` says so. While it waits it holds no board open: a file that is replaced
/// meanwhile would be split by it.
pub(super) fn work(asked: &Run, common: &Common) -> Result<u8> {
    let profile = asked.assignee.trim().to_lowercase();
    if profile.is_empty() {
        return Err(Error::new(Kind::Usage, "--assignee", "is blank").hint("name a profile"));
    }
    environment::leave_own_task();
    runnable(&asked.command[0])?;
    is_waited_for(&asked.command)?;
    if let Some((log, there)) = asked.log.as_deref().and_then(|log| Some((log, fs::metadata(log).ok()?))) {
        plain(log, &there)?;
    }
    let told = listen()?;
    let (mut said, mut is_away, mut is_asked) = (BTreeSet::new(), false, false);
    loop {
        let config = common.load()?.config;
        // Who may not renew a claim begins with nothing.
        match (Hand::open(common, &config, Mode::Change, HAND, Duty::Works), asked.wait) {
            (Ok(mut hand), _) => {
                is_away = false;
                if let Some(code) = hand.work_next(asked, &profile, &told, &mut said)? {
                    return Ok(code);
                }
                // A name that was mistyped waits for ever.
                let is_first = !std::mem::replace(&mut is_asked, true) && !common.quiet;
                if is_first && asked.wait.is_some() && matches!(hand.knows(&profile), Ok(false)) {
                    warn(&format!(
                        "no task of this board is assigned to {profile}, and none was lately: waits for one"
                    ));
                }
            }
            // It waits for work, and so for the board as well.
            (Err(e), Some(wait)) if e.kind == Kind::Busy => {
                if !is_away {
                    warn(&format!("{e}; tried again every {}", fence::long(span::seconds(wait))));
                }
                is_away = true;
            }
            (Err(e), _) => return Err(e),
        }
        if !asked.wait.is_some_and(|wait| is_waited(wait, &told)) {
            return if common.json { print_json(&json!({"task": null})) } else { Ok(0) };
        }
    }
}

impl Hand<'_> {
    /// Works on the next ready task of a profile, and gives the exit code; `None` where no task is ready. The task is got ready for
    /// before the board is locked. If another process writes to it meanwhile, it is got ready for anew; if another worker takes it, so is
    /// one that fewer others look at, see [`queue::place`]. `said`: of which tasks it was said that a process still works on them.
    fn work_next(
        &mut self,
        asked: &Run,
        profile: &str,
        told: &Arc<AtomicBool>,
        said: &mut BTreeSet<(String, i64)>,
    ) -> Result<Option<u8>> {
        self.adopt();
        let mut failed: BTreeSet<String> = BTreeSet::new();
        let mut living = Living::default();
        let mut ready: Option<Ready> = None;
        let mut lost = 0;
        let names = self.names_of(profile)?;
        let whose: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
        loop {
            let begin = match &ready {
                Some(ready) => Begin::With(&ready.seen.task.id),
                None => Begin::At(queue::place(lost, &random_hex())),
            };
            let taken = self.take_next(&whose, begin, &living, said, &|seen| match &ready {
                _ if failed.contains(&seen.task.id) => Some(Answer::Next),
                Some(ready) if ready.is_for(seen) => Some(ready.terms.take(seen)),
                _ => None,
            });
            let last = ready.take();
            match (taken, last) {
                (Ok((Some((seen, run)), _)), Some(Ready { terms, start: Ok(gate), .. })) => {
                    let (lock, profile) = (terms.lock, Some(profile.to_owned()));
                    let (task, since, told) = (seen.task.id.clone(), self.here.now, Arc::clone(told));
                    let work = Work { gate, task, run, lock, profile, since, told };
                    return self.harness(work, asked.ttl).map(Some);
                }
                (Ok((Some((seen, run)), _)), Some(Ready { start: Err(why), .. })) => {
                    self.cannot_start(&seen, run, &why)?;
                    failed.insert(seen.task.id.clone());
                }
                (other, last) => {
                    let nth = last.as_ref().map(|l| (l.seen.task.id.clone(), l.nth));
                    drop(last.map(Ready::end));
                    let Some(seen) = other?.1 else { break };
                    if nth.as_ref().is_some_and(|(id, _)| *id != seen.task.id) {
                        lost += 1;
                        continue;
                    }
                    if !living.knows(&seen) {
                        living = self.living(&seen, &whose, &living, None)?;
                    }
                    if living.is_at_work_on(&seen) {
                        continue;
                    }
                    let nth = nth.map_or(1, |(_, nth)| nth + 1);
                    ready = Some(self.ready(seen, nth, asked, profile)?);
                }
            }
        }
        Ok((!failed.is_empty() && asked.wait.is_none()).then_some(Kind::Partial.code()))
    }

    /// Has what a command leaves behind adopted, so that it can be followed and stopped.
    fn adopt(&self) {
        if let Err(why) = self.here.host.adopt() {
            warn(&why.to_string());
        }
    }

    /// Gets ready for a task: starts the command behind its gate, where its folder is there.
    fn ready(&mut self, seen: Detail, nth: usize, asked: &Run, profile: &str) -> Result<Ready> {
        let lock = self.lock(Some(i64::from(std::process::id())));
        let harness = Harness { lock: &lock, output: None };
        let mut claim =
            Claim { workspace: None, id: None, worker: None, pid: None, ttl: asked.ttl, log: None };
        let folder = match seen.place.path.as_deref().map(PathBuf::from) {
            Some(path) if !may_be_entered(&path) => {
                let terms = self.terms(&seen, &claim, Some(profile), Some(harness))?;
                return Ok(Ready { seen, nth, terms, start: Err(unusable(&path)) });
            }
            Some(path) => path,
            None => std::env::current_dir().map_err(|e| Error::io("the current folder", &e))?,
        };
        let start = Start {
            folder,
            prompt: self.prompt(&seen.task.id)?,
            profile: Some(profile),
            claim: &lock,
            command: &asked.command,
            log: asked.log.as_deref(),
        };
        let gate = self.gate(&seen.task.id, start)?;
        claim.pid = Some(gate.pid());
        match self.terms(&seen, &claim, Some(profile), Some(Harness { output: gate.log(), ..harness })) {
            Ok(terms) => Ok(Ready { seen, nth, terms, start: Ok(gate) }),
            Err(e) => {
                drop(gate.end());
                Err(e)
            }
        }
    }

    /// Counts a start that cannot be made, as Hermes does, so that a task whose folder is missing neither holds up those behind it
    /// nor stays ready for ever.
    fn cannot_start(&mut self, seen: &Detail, run: Option<i64>, why: &str) -> Result<()> {
        let id = &seen.task.id;
        let limit = self.failure_limit();
        self.write(id, |hand, seen| {
            let is_ours = seen.task.status == Status::Running && seen.task.current_run == run;
            Ok(is_ours.then(|| hermes::spawn_failed(seen, why, limit, &hand.trail("run"))))
        })?;
        warn(&refused(id, format!("{why}; counted as a failed start")).to_string());
        Ok(())
    }

    /// At how many failures the board gives a task up; at none where Hermes' settings cannot be read, for `heal` to say.
    fn failure_limit(&self) -> i64 {
        let runtime = runtime::of(self.board.id(), self.board.is_own(), &self.here.host);
        runtime.failure_limit.unwrap_or(i64::MAX)
    }

    /// Starts the command behind its gate: nothing of it runs before the claim.
    fn gate(&mut self, id: &str, start: Start<'_>) -> Result<Gate> {
        let Start { folder, prompt: text, profile, claim, command: line, log } = start;
        let prompt = prompt::File::new(&text).map_err(|e| Error::io("the file with the prompt", &e))?;
        let (board, shared) = (self.board.id().clone(), self.board.is_shared());
        let db = self.board.for_worker();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &gate_of(shared), "sh"]).args(line).current_dir(&folder).stdin(Stdio::piped());
        let told = Told {
            task: id,
            claim,
            folder: &folder,
            profile,
            db: &db,
            slug: board.slug.as_deref(),
            prompt: prompt.path(),
            shared,
        };
        told.put(&mut command);
        let log = self.log(id, log)?;
        if let Some((file, _)) = &log {
            let copy = || file.try_clone().map_err(|e| Error::io("the log", &e));
            command.stdout(copy()?).stderr(copy()?);
        }
        let child = grouped(command, line).map_err(|e| Error::io("/bin/sh", &e))?;
        Ok(Gate { child, prompt, text, log: log.map(|(_, log)| log) })
    }

    /// What a worker is told which sees nothing else of the board: the same as `heal --print-prompt` where an attempt was made before, and all that was said since.
    pub(crate) fn prompt(&mut self, id: &str) -> Result<String> {
        let Some((mut detail, packet)) = self.handover(id)? else { return Err(refused(id, "no such task")) };
        detail.comments = self.board.comments(id)?;
        let tried = (!detail.runs.is_empty()).then_some(&packet);
        Ok(format!("{}\n", packet::told(&detail, tried)))
    }

    pub(super) fn handover(&mut self, id: &str) -> Result<Option<(Detail, Packet)>> {
        let pass = self.here.pass(HAND, None, true);
        let mut cache = Cache::open(Cache::place(&env));
        handover_on(&mut *self.board, id, &mut self.here.tools(&pass, self.config, &mut cache, false))
    }

    /// The board's own log of a task, else one beside our memory, in a folder of this board's: another one may have a task of the
    /// same id.
    pub(crate) fn log_of(&self, id: &str) -> Option<PathBuf> {
        let place = self.board.id();
        // No Hermes root is begun for the sake of a log.
        let of_board = discover::logs_dir(place).filter(|_| place.root.as_deref().is_some_and(Path::is_dir));
        let of_this = || format!("{:016x}", base::hash::fnv(self.board_file().bytes()));
        let ours = || Some(Cache::place(&env)?.parent()?.join("logs").join(of_this()));
        Some(discover::log_file(&of_board.or_else(ours)?, id))
    }

    /// Where the command's words go: the named file, else the task's own.
    fn log(&self, id: &str, named: Option<&Path>) -> Result<Option<(File, Log)>> {
        let own = || self.log_of(id);
        let Some(path) = named.map(Path::to_path_buf).or_else(own) else { return Ok(None) };
        path.parent().filter(|_| named.is_none()).map_or(Ok(()), fs::create_dir_all).map_err(at(&path))?;
        let begun = named.is_none().then(|| path.with_extension(format!("log.{}", std::process::id())));
        let mut options = File::options();
        // Nobody else's to read, as the agents' own logs are. A pipe that nobody reads is not waited for.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        options.append(true).create(true).mode(0o600).custom_flags(flags);
        let file = options.open(begun.as_ref().unwrap_or(&path)).map_err(at(&path))?;
        plain(&path, &file.metadata().map_err(at(&path))?)?;
        // By the file that the command writes to: a `kill -9` of this process does not end the command.
        let held = named.map(|_| file.try_clone().map(Inherited).map_err(at(&path))).transpose()?;
        if held.as_ref().is_some_and(|held| !exclusive::hold(&held.0)) {
            return Err(taken(&path, &self.here.host.lockers(&path)));
        }
        let about = file.metadata().map_err(at(&path))?;
        Ok(Some((file, Log { path, from: about.len(), inode: about.ino(), begun, _held: held })))
    }

    /// Lets the command go, sends heartbeats while it runs, and says how it ended.
    fn harness(&mut self, mut work: Work, ttl: Option<Duration>) -> Result<u8> {
        let ttl = ttl.unwrap_or(self.config.board.claim_ttl);
        let every = span::seconds((ttl / 3).min(BEAT));
        let ttl = span::seconds(ttl);
        let shared = self.board.is_shared();
        let fence = match shared.then(|| self.fence(&work, ttl)).transpose() {
            Ok(fence) => fence,
            Err(why) => {
                let id = work.task;
                drop(work.gate.end());
                return Err(refused(&id, format!("{why}; it was not begun: heal goes on with it")));
            }
        };
        work.gate.open(work.run);
        let (mut began, mut start) = (self.here.host.boot_clock(), self.here.now);
        let (mut beat, mut wait, mut over, mut missed) = (began, every, None, false);
        let mut on = GoesOn::default();
        let end = loop {
            let ended = work.gate.child.try_wait().map_err(|e| Error::io("the command", &e))?;
            if fence.as_ref().is_some_and(Fence::stops) {
                break End::Unheard;
            }
            if work.told.load(Ordering::Relaxed) {
                // It failed before, and only what it left was waited for.
                let failed = ended.filter(|_| on.worker.is_some());
                if failed.is_some() {
                    drop(self.here.host.stop_child(&mut work.gate.child, &work.task, work.run));
                }
                break failed.map_or(End::Told, End::Itself);
            }
            self.here.host.collect_adopted(work.gate.pid());
            if let Some(status) = ended
                && (status.success() || !self.goes_on(&work, status, ttl, &mut on))
            {
                // Who stops a machine tells all of its processes at once.
                std::thread::sleep(LOOK);
                let is_told = work.told.load(Ordering::Relaxed);
                break if is_told { End::Told } else { End::Itself(status) };
            }
            // Suspended time counts: after a laptop was opened again the next heartbeat is due at once.
            let at = self.here.host.boot_clock();
            if at - beat >= wait && fence.as_ref().is_none_or(|fence| fence.holds(at)) {
                beat = at;
                self.here.now = self.clock(start, began);
                let found = self.beat(&work, ttl);
                if let (Beat::Missed(why), true, false) = (&found, shared, missed) {
                    let line = refused(&work.task, format!("no heartbeat: {why}; tried again every 5s"));
                    warn(&line.to_string());
                }
                missed = matches!(found, Beat::Missed(_));
                match found {
                    Beat::Holds | Beat::Missed(_) => over = None,
                    // It may still push its work, or answer at length: as long as a claim lasts.
                    Beat::Completed if at - *over.get_or_insert(at) < ttl => {}
                    // A worker that has said its own last word has until the next one to end.
                    Beat::Over if at - *over.get_or_insert(at) < every => {}
                    Beat::Completed | Beat::Over | Beat::Taken => break End::Lost,
                }
                if shared {
                    (start, began) = (self.here.now, at);
                    wait = if missed { every.min(span::seconds(AGAIN)) } else { every };
                }
                if let Some(fence) = fence.as_ref().filter(|_| !missed) {
                    fence.renew(at);
                }
            }
            std::thread::sleep(LOOK);
        };
        let stopped = fence.and_then(Fence::end);
        // The fence stopped what went on of a command that had ended.
        let is_cut = stopped.is_some() && on.worker.is_some();
        let end = if is_cut && matches!(end, End::Itself(_)) { End::Unheard } else { end };
        self.here.now = self.clock(start, began);
        self.reopen();
        match end {
            End::Itself(status) => self.ended(&work, status),
            End::Told => self.called_off(&mut work),
            End::Lost => {
                let (id, run) = (work.task.clone(), work.run);
                let how = stopped_in_words(self.here.host.stop_child(&mut work.gate.child, &id, run));
                Err(refused(&id, format!("its run is over; {how}")))
            }
            End::Unheard => {
                let (unheard, how) = stopped.map_or((0, Ok(())), |s| (s.unheard, s.how));
                let why = format!("lost the board for {}; {}", fence::long(unheard), stopped_in_words(how));
                Err(refused(&work.task, why).hint("heal goes on with it"))
            }
        }
    }

    /// Whether a command that failed left its agent, which would write beside the next attempt: that is waited for as long as `heal` waits
    /// for what a dead worker left. What names its run is for `heal` to wait for.
    fn goes_on(&mut self, work: &Work, status: ExitStatus, ttl: i64, on: &mut GoesOn) -> bool {
        let host = &self.here.host;
        let now = host.boot_clock();
        if on.looked == Some(now) {
            return true;
        }
        on.looked = Some(now);
        let since = *on.since.get_or_insert(now);
        let Ok(left) = host.left_by_child(work.gate.pid(), &work.task) else { return false };
        let Ok(named) = host.left_by_run(&work.task, work.run) else { return false };
        let Some(worker) = left.into_iter().find(|pid| !named.contains(pid)) else { return false };
        let wait = span::seconds(self.config.heal.orphan_wait);
        if on.worker.is_none() {
            // Its worker may have said that it is done.
            if self.look(&work.task).is_ok_and(|seen| !work.holds(&seen)) {
                return false;
            }
            let (how, most) = (how_ended(status), fence::long(wait));
            let line =
                format!("{how}, but process {worker} that it started still runs: waits {most} at most");
            warn(&refused(&work.task, line).to_string());
        }
        if on.worker.replace(worker) != Some(worker) {
            self.is_worked_on_by(work, worker, ttl);
        }
        now - since < wait
    }

    /// Records a process as the worker of a task: of the one before it `heal` would see that it is gone. Where the board does not take
    /// that, `heal` waits for the heartbeats of this harness. What a failed command left is its worker as long as this harness waits: no
    /// later attempt waits for it, as [`Detail::recorded`] asks for a pid.
    fn is_worked_on_by(&mut self, work: &Work, pid: i64, ttl: i64) {
        let Ok(seen) = self.look(&work.task) else { return };
        if work.holds(&seen) {
            let (mut trail, fingerprint) = self.of_worker("run", pid, &work.gate);
            trail.more.remove("pid");
            let expires = self.here.now.plus(ttl);
            let mut changes = hermes::taken_over(&seen, &work.lock, expires, pid, &trail);
            hermes::fingerprint(&mut changes, fingerprint);
            drop(self.apply(&work.task, Some(&seen), changes));
        }
    }

    /// What a claim says of its worker's process, and the fingerprint of its start.
    fn of_worker(&self, verb: &'static str, pid: i64, gate: &Gate) -> (Trail<'_>, Option<String>) {
        let host = &self.here.host;
        let (birth, mut trail) = (host.birth_of(pid), self.trail(verb));
        let fingerprint = birth.as_ref().and_then(|b| host.facts().fingerprint(b.ticks));
        let more = [
            ("birth", json!(birth)),
            ("pid", json!(pid)),
            ("namespace", json!(host.facts().pid_namespace)),
            ("output", json!(gate.log())),
        ];
        trail.more.extend(more.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.to_owned(), v)));
        (trail, fingerprint)
    }

    /// Ends the command before its claim does, where several hosts share the board.
    fn fence(&self, work: &Work, ttl: i64) -> std::result::Result<Fence, Reason> {
        let host = self.here.host.clone();
        let command = host.own_child(&work.gate.child, &work.task, work.run)?;
        Ok(Fence::new(command, host, self.opened, ttl))
    }

    /// The present time: this program outlives the reading of the clock it began with.
    fn clock(&self, start: Time, began: i64) -> Time {
        let gone = self.here.host.boot_clock() - began;
        let of_board = self.here.clock_given || self.board.is_shared();
        if of_board { start.plus(gone) } else { Time::of_clock() }
    }

    /// Opens the board that lies in its place now: after hours it may be a restored copy, and the one that was opened a deleted file. Not on a
    /// server that another one took over from.
    fn reopen(&mut self) {
        let opened = ::board::open(self.board.id(), Mode::Change, self.config.board.busy_timeout);
        let is_behind = |now: &dyn Board| {
            now.timeline().zip(self.board.timeline()).is_some_and(|(now, was)| now.is_before(&was))
        };
        if let Some(board) = opened.ok().filter(|board| !is_behind(&**board)) {
            self.board = board;
        }
    }

    /// One heartbeat; what the board says of the run. A board that is busy now is there for the next one.
    fn beat(&mut self, work: &Work, ttl: i64) -> Beat {
        self.reopen();
        let seen = match self.attend(Duty::Works).and_then(|()| self.look(&work.task)) {
            Ok(seen) => seen,
            Err(e) => return Beat::Missed(e.to_string()),
        };
        if !work.holds(&seen) {
            if seen.task.status == Status::Running {
                return Beat::Taken;
            }
            return if work.is_completed(&seen) { Beat::Completed } else { Beat::Over };
        }
        let expires = self.here.now.plus(ttl);
        match self.apply(&work.task, Some(&seen), hermes::heartbeat(&seen, expires, None)) {
            Ok(Outcome::Applied { .. }) => Beat::Holds,
            Ok(other) => Beat::Missed(format!("it was {}", other.word())),
            Err(e) => Beat::Missed(e.to_string()),
        }
    }

    /// The task after its command ended. How that was nobody else knows, so a board that is busy or away is asked again.
    fn see(&mut self, work: &Work) -> Result<Detail> {
        let mut unwritten = Unwritten::now();
        loop {
            match self.look(&work.task) {
                Err(e) if self.passes(&e) && unwritten.waits(work, &e) => self.pause(&unwritten),
                other => return other.map_err(|e| self.unsaid(e)),
            }
        }
    }

    /// Whether an error may be over soon; else it is an answer about the task, or of a file that waiting does not mend. A full disk has
    /// room again as soon as it is noticed, a file that was moved away comes back or another copy takes its place, and a server is
    /// restored, or lets this role in again.
    fn passes(&self, e: &Error) -> bool {
        match e.kind {
            Kind::Partial => false,
            Kind::Busy | Kind::Io | Kind::Data | Kind::NoInput | Kind::Permission => true,
            _ => self.board.is_shared(),
        }
    }

    /// A server that refuses after the command began did not refuse before: nothing of it is a matter of the command line, which a
    /// supervisor would not start again.
    fn unsaid(&self, e: Error) -> Error {
        if !self.passes(&e) {
            return e;
        }
        let kind = if self.board.is_shared() { Kind::Busy } else { e.kind };
        Error { kind, what: format!("{}; how the command ended is not on the board", e.what), ..e }
    }

    /// Lets a board that is busy be. A server that was away is connected to anew, and a file that was replaced is opened anew.
    fn pause(&mut self, unwritten: &Unwritten) {
        std::thread::sleep(match (self.board.is_shared(), unwritten.is_said) {
            (true, _) => AGAIN,
            // Not each second while it is away for long; no later than a supervisor waits for an end.
            (false, true) => (unwritten.began.elapsed() / 20).clamp(SELDOM, AGAIN),
            (false, false) => LOOK,
        });
        self.reopen();
    }

    /// The command ended: done, or failed, or it said its own word before.
    fn ended(&mut self, work: &Work, status: ExitStatus) -> Result<u8> {
        let id = &work.task;
        // Before a board on the same disk is waited for.
        let is_cut = status.success() && work.gate.log.as_ref().is_some_and(Log::is_full);
        let seen = self.see(work)?;
        if !work.holds(&seen) {
            let said = &seen.task.status;
            let its = seen.runs.iter().find(|r| Some(r.id) == work.run);
            let lost = match its.map(|r| r.outcome.as_deref()) {
                // An older copy of the board lies in its place.
                None => Some("its attempt is not on the board any more".to_owned()),
                // By others, to whom its worker looked dead.
                Some(Some(end @ ("crashed" | "reclaimed" | "rate_limited" | "timed_out" | "gave_up"))) => {
                    Some(format!("its attempt was recorded as {end} before"))
                }
                Some(None) if *said == Status::Running => Some("another worker has its task".to_owned()),
                Some(_) => None,
            };
            if let Some(lost) = lost {
                let how = how_ended(status);
                return Err(refused(id, format!("{how}; {lost}, so this end is not recorded; it is {said}")));
            }
            let json = json!({"task": id, "run": work.run, "ended": "by_itself", "status": said, "exit_code": status.code()});
            return self.answer(&json, &format!("{id} is {said}, as its worker said\n"));
        }
        let ended_on = self.ended_on(work, &seen);
        let is_refused = |e: &Evidence| {
            e.cause.lies_with_provider() && work.gate.log().is_some_and(|log| is_last_word(log, e))
        };
        // Some agents exit with 0 although their provider refused them: claude-code#79500, aider#5552, opencode#17854, gemini-cli#6125.
        if status.success() && !ended_on.as_ref().is_some_and(is_refused) {
            return if is_cut { self.cut(work) } else { self.finished(work) };
        }
        let how = format!("{} (board run)", how_ended(status));
        if let Some(why) = self.is_heals(work, ended_on.map(|e| e.cause)) {
            self.settle(work, |hand, _| {
                let trail = hand.about(work, &how, Some(status));
                vec![hermes::noted_in(work.run, EventKind::CommandEnded, json!({}), &trail)]
            })?;
            return Err(refused(id, format!("{how}; {why}: heal goes on with it")));
        }
        let limit = self.failure_limit();
        let pid = Some(work.gate.pid());
        self.settle(work, |hand, seen| {
            let mut changes = hermes::failed(seen, &how, pid, limit, &hand.about(work, &how, Some(status)));
            changes.extend(hand.packet_of(id));
            changes
        })?;
        let blocks = self.look(id)?.task.status == Status::Blocked;
        let then = if blocks { "failed too often, it is blocked" } else { "it is ready again" };
        let output = work.gate.output().map_or_else(String::new, |log| format!("; its output: {log}"));
        Err(refused(id, format!("{how}; {then}{output}")))
    }

    /// It ended with 0, and its log took no more: a refusal of its provider would not be in it. Neither done nor to be done again before a
    /// person looked.
    fn cut(&mut self, work: &Work) -> Result<u8> {
        let id = &work.task;
        let log = work.gate.log().map_or_else(String::new, |log| format!(" {}", log.display()));
        let why = format!(
            "worker exited with code 0, but its log{log} could not take all it said (disk full), so it is not known whether it finished. \
             Make room and look at its work: complete the task, or unblock it to have it done again"
        );
        self.settle(work, |hand, seen| {
            let trail = hand.about(work, "worker exited with code 0 on a full disk (board run)", None);
            // It is not asked for the second time where its worker asked something before.
            let mut first = seen.clone();
            first.task.block_kind = None;
            hermes::blocked(&first, &why, Some("needs_input"), &trail)
        })?;
        let status = self.look(id)?.task.status.clone();
        Err(refused(
            id,
            format!("worker exited with code 0, but its log{log} took no more (disk full); it is {status}"),
        )
        .hint("make room, then complete the task, or unblock it to have it done again"))
    }

    /// Done; or, as Hermes completes nothing that waits for others, its claim is released until they are done.
    fn finished(&mut self, work: &Work) -> Result<u8> {
        let id = &work.task;
        let how = "worker exited with code 0 (board run)";
        let open = RefCell::new(None);
        self.settle(work, |hand, seen| {
            let why = waits(seen);
            open.replace(why.clone());
            let Some(why) = why else {
                return hermes::completed(seen, None, Some(how), &hand.about(work, how, None));
            };
            let how = format!("{how}; it {why}");
            let mut changes = hermes::released_to_wait(seen, &how, &hand.about(work, &how, None));
            changes.extend(hand.packet_of(id));
            changes
        })?;
        if let Some(why) = open.into_inner() {
            return Err(refused(id, format!("{why}: its claim was released, and it goes on after that")));
        }
        if let Some(left) = self
            .here
            .host
            .left_by_child(work.gate.pid(), &work.task)
            .ok()
            .and_then(|left| left.first().copied())
        {
            warn(&format!("{id}: process {left} that its command started still runs"));
        }
        let json =
            json!({"task": id, "run": work.run, "ended": "completed", "status": "done", "exit_code": 0});
        self.answer(&json, &format!("{id} done\n"))
    }

    /// We were told to stop: the command first, then its claim. Nobody's fault, so it counts for nothing.
    fn called_off(&mut self, work: &mut Work) -> Result<u8> {
        let id = work.task.clone();
        if let Err(why) = self.here.host.stop_child(&mut work.gate.child, &id, work.run) {
            return Err(refused(&id, format!("stopped, but {why}: heal goes on with it")));
        }
        let seen = self.see(work)?;
        if !work.holds(&seen) {
            return Err(refused(&id, format!("stopped; it was {} before", seen.task.status)));
        }
        let how = "worker stopped with its harness (board run)";
        self.settle(work, |hand, seen| {
            let mut changes = hermes::released(seen, how, &hand.about(work, how, None));
            changes.extend(hand.packet_of(&id));
            changes
        })?;
        Err(refused(&id, "stopped; it is ready again"))
    }

    /// Writes how it ended. What others wrote to the task meanwhile, such as who it works for, leaves no end unsaid.
    /// Nor does a board that is busy or away for a while: nobody else knows how it ended.
    fn settle(&mut self, work: &Work, changes: impl Fn(&mut Self, &Detail) -> Vec<Change>) -> Result<()> {
        let mut unwritten = Unwritten::now();
        loop {
            let written = self.write(&work.task, |hand, seen| match work.holds(seen) {
                true => Ok(Some(changes(hand, seen))),
                false => Err(refused(&work.task, format!("its run is over: {}", owner(seen)))),
            });
            match written {
                Err(e) if self.passes(&e) && unwritten.waits(work, &e) => self.pause(&unwritten),
                other => return other.map(drop).map_err(|e| self.unsaid(e)),
            }
        }
    }

    /// Why what goes on is for `heal` to say: its worker left a process behind, or ended on a cause that would stop the next one too.
    fn is_heals(&self, work: &Work, ended_on: Option<Cause>) -> Option<String> {
        match self.here.host.left_by_run(&work.task, work.run) {
            Ok(left) if left.is_empty() => {}
            Ok(left) => return Some(format!("process {} of it still runs", left[0])),
            Err(why) => return Some(why.into()),
        }
        Some(format!("its log ends on {}", ended_on?.as_str()))
    }

    /// What its own words end on, where that would stop the next attempt too.
    fn ended_on(&self, work: &Work, seen: &Detail) -> Option<Evidence> {
        let log = work.gate.log.as_ref()?;
        let ask = LogAsk {
            board: self.board.id(),
            task: &seen.task.id,
            profile: work.profile.as_deref(),
            since: work.since,
            now: self.here.now,
            file: Some(log.path.to_str()?),
        };
        let patterns = Patterns::of(&self.config.matches);
        let is_stop = |e: &Evidence| e.cause.owner() == Owner::Distress && e.cause != Cause::ExitCode;
        // What the watchers saw there before this attempt is not its own.
        match LogFiles(&patterns).read(&ask, &mut Cache::open(Cache::place(&env))).end {
            LogEnd::Ended(e) => Some(e).filter(|e| e.offset >= log.begins() && is_stop(e)),
            _ => None,
        }
    }

    /// What the next attempt is told, where there is anything to tell.
    fn packet_of(&mut self, id: &str) -> Vec<Change> {
        let Ok(Some((_, packet))) = self.handover(id) else { return Vec::new() };
        if packet.is_blank() { Vec::new() } else { hermes::commented(HAND, &packet::render(&packet)) }
    }

    fn about<'t>(&'t self, work: &Work, how: &'t str, status: Option<ExitStatus>) -> Trail<'t> {
        let mut trail = Trail { because: how, ..self.trail("run") };
        let more = [
            ("seconds", json!(self.here.now.since(work.since))),
            ("log", json!(work.gate.log())),
            ("exit_code", json!(status.map(|s| s.code()))),
            ("signal", json!(status.map(|s| s.signal()))),
        ];
        trail.more.extend(more.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.to_owned(), v)));
        trail
    }
}

impl Work {
    fn holds(&self, seen: &Detail) -> bool {
        let t = &seen.task;
        t.status == Status::Running && t.current_run == self.run && t.claim_lock.as_ref() == Some(&self.lock)
    }

    /// Whether its own attempt completed the task. Where another server took over that lacks the claim, a later run has the same number.
    fn is_completed(&self, seen: &Detail) -> bool {
        let is_its = |r: &board::Run| Some(r.id) == self.run && r.outcome.as_deref() == Some("completed");
        seen.newest_lock().is_none_or(|lock| lock == self.lock) && seen.runs.iter().any(is_its)
    }
}

impl Log {
    /// Where the words of the command begin. A file that was rotated, or is shorter than it was, holds nothing that is older.
    fn begins(&self) -> u64 {
        let is_same =
            fs::metadata(&self.path).is_ok_and(|now| now.ino() == self.inode && now.len() >= self.from);
        if is_same { self.from } else { 0 }
    }

    /// Whether there is no room for more of it: a full disk, or a quota. What a file system does not tell is `false`.
    fn is_full(&self) -> bool {
        let room = |file: File| {
            let end = file.metadata().map_or(0, |m| m.len());
            // What is asked for stays with the file, and changes none of it.
            rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, end, 4096)
        };
        let file = File::options().write(true).open(&self.path);
        file.is_ok_and(|file| room(file).is_err_and(|e| matches!(e, Errno::NOSPC | Errno::DQUOT)))
    }
}

impl Unwritten {
    fn now() -> Unwritten {
        Unwritten { began: Instant::now(), is_said: false }
    }

    /// Whether the board is asked again after this error; said once to a person who waits.
    fn waits(&mut self, work: &Work, e: &Error) -> bool {
        let is_told = work.told.load(Ordering::Relaxed);
        let longest = if is_told { BUSY_TOLD } else { BUSY };
        if self.began.elapsed() >= longest {
            return false;
        }
        if self.began.elapsed() >= SOON && !self.is_said {
            self.is_said = true;
            let most = fence::long(span::seconds(longest));
            let line = format!("its end is not on the board yet: {e}; tried again for {most} at most");
            warn(&refused(&work.task, line).to_string());
        }
        true
    }
}

impl Ready {
    /// Whether a task that is offered is the one it was got ready for. With another process that never stops writing to it,
    /// what was said last is not waited for for ever.
    fn is_for(&self, offered: &Detail) -> bool {
        let same = self.seen.task.id == offered.task.id && self.terms.are_for(offered);
        self.seen == *offered || (same && self.nth >= TRIES)
    }

    fn end(self) -> std::io::Result<()> {
        self.start.map_or(Ok(()), Gate::end)
    }
}

/// How a command ended, in words.
fn how_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("worker exited with code {code}"),
        (None, signal) => format!("worker killed by signal {}", signal.unwrap_or(0)),
    }
}

impl Gate {
    fn pid(&self) -> i64 {
        i64::from(self.child.id())
    }

    fn log(&self) -> Option<&Path> {
        self.log.as_ref().map(|log| log.path.as_path())
    }

    /// Where to read what it printed, as a word of a shell.
    fn output(&self) -> Option<String> {
        let log = self.log.as_ref()?;
        let len = fs::metadata(&log.path).ok()?.len();
        (len > log.begins()).then(|| card::shell_word(&log.path.to_string_lossy()))
    }

    /// Lets the command begin, with its prompt. What earlier attempts printed is kept beside its own log, and not taken for it.
    fn open(&mut self, run: Option<i64>) {
        if let Some(Log { path, begun, .. }) = &mut self.log
            && let Some(begun) = begun.take()
        {
            let kept = |before: usize| path.with_extension(discover::kept_log("log", before));
            // What no attempt left is not there.
            for before in (1..discover::KEPT_LOGS).rev() {
                let _ = fs::rename(kept(before), kept(before + 1));
            }
            let _ = fs::rename(&*path, kept(1));
            let _ = fs::rename(begun, path);
        }
        let Some(mut stdin) = self.child.stdin.take() else { return };
        let text = format!("{}\n{}", run.map_or_else(String::new, |r| r.to_string()), self.text);
        // Whether it reads any of it, and when, is the command's own business.
        std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    }

    /// Ends it before it began: without a first line the gate never opens.
    fn end(mut self) -> std::io::Result<()> {
        drop(self.child.stdin.take());
        self.child.wait()?;
        if let Some(begun) = self.log.take().and_then(|log| log.begun) {
            fs::remove_file(begun)?;
        }
        self.prompt.close()
    }
}

/// Holds the command back until its task is claimed under its pid, then gives it the pid, the run and the rest of stdin.
fn gate_of(shared: bool) -> String {
    let run = environment::names(shared).run;
    format!("read -r {run} && export {run} && exec \"$@\"")
}

fn stopped_in_words(how: std::result::Result<(), Reason>) -> String {
    how.err().map_or_else(|| "the command was stopped".into(), String::from)
}

/// For which open task another one waits.
fn waits(seen: &Detail) -> Option<String> {
    let parent = seen.parents.iter().find(|p| !p.status.frees_children())?;
    Some(format!("waits for {}, which is {}", parent.id, parent.status))
}

/// Waits so long; `false` where we were told to stop.
fn is_waited(wait: Duration, told: &AtomicBool) -> bool {
    let began = Instant::now();
    while !told.load(Ordering::Relaxed) {
        if began.elapsed() >= wait {
            return true;
        }
        std::thread::sleep(LOOK);
    }
    false
}

fn may_be_entered(folder: &Path) -> bool {
    folder.is_dir() && rustix::fs::access(folder, Access::EXEC_OK).is_ok()
}

/// Why a folder cannot be worked in, in the words of Hermes (0.19), by which `status` knows what mends it.
fn unusable(folder: &Path) -> String {
    let why = match fs::metadata(folder) {
        Ok(there) if !there.is_dir() => "[Errno 20] Not a directory",
        Err(e) if e.kind() != std::io::ErrorKind::PermissionDenied => "[Errno 2] No such file or directory",
        _ => "[Errno 13] Permission denied",
    };
    format!("workspace: {why}: '{}'", folder.display())
}

/// Refuses a log that is a pipe, a folder or a device.
fn plain(path: &Path, there: &fs::Metadata) -> Result<()> {
    if there.is_file() {
        return Ok(());
    }
    Err(Error::new(Kind::Usage, format!("--log {}", path.display()), "not a plain file"))
}

/// Why a log is refused that another worker writes to: whose words are whose could not be told.
fn taken(path: &Path, by: &[i64]) -> Error {
    let by = by.first().map_or_else(String::new, |pid| format!(" (process {pid})"));
    let what = format!("another worker writes to this file{by}; nothing was started");
    let hint = "wait for its end, or give each worker its own --log, or none: then each task has its own";
    Error::new(Kind::Busy, format!("--log {}", path.display()), what).hint(hint)
}

/// Refuses a command that cannot be started, before anything is claimed for it: each ready task would fail on it, one after the other.
/// One with a relative path that is not here is looked for in the task's folder, which is not known yet.
pub(crate) fn runnable(command: &OsStr) -> Result<()> {
    let path = Path::new(command);
    let wrong = |what: String, hint: String| {
        Err(Error::new(Kind::Usage, format!("command {}", path.display()), what).hint(hint))
    };
    let found = match command.as_encoded_bytes().contains(&b'/') {
        true if path.is_relative() && !path.is_file() => return Ok(()),
        true => Some(path.to_path_buf()).filter(|path| path.is_file()),
        false => on_path(command),
    };
    let Some(found) = found else {
        return wrong("no such program".into(), "put it on the PATH, or give its whole path".into());
    };
    if !runs(&found) {
        let hint = format!("chmod +x {}", card::shell_word(&path.to_string_lossy()));
        return wrong("is not executable".into(), hint);
    }
    match missing_interpreter(&found) {
        Some(missing) => {
            let missing = missing.to_string_lossy();
            let what = format!("its first line names {}, which is not there", missing.escape_debug());
            wrong(what, "install that program, or correct the line".into())
        }
        None => Ok(()),
    }
}

/// Starts a command in a process group of its own: a Ctrl-C of the terminal is ours, who then stops it in an orderly way. `setsid` leaves its
/// command in the background where it leads a process group (setsid(1)), and nothing then tells how that one ends. So where the command
/// names it, another process that has ended leads the group: `setsid` becomes its command.
fn grouped(mut command: Command, line: &[OsString]) -> std::io::Result<Child> {
    let names_setsid = |word: &OsString| word.as_bytes().windows(6).any(|part| part == b"setsid");
    if !line.iter().any(names_setsid) {
        return command.process_group(0).spawn();
    }
    let mut leader =
        Command::new("/bin/sh").args(["-c", ":"]).stdin(Stdio::null()).process_group(0).spawn()?;
    // The group is there until its leader was waited for, and as long as it has a member.
    let child = command.process_group(leader.id().cast_signed()).spawn();
    leader.wait()?;
    child
}

/// Refuses `setsid --fork`: nothing tells whether the command behind it works on, nor how it ends.
fn is_waited_for(line: &[OsString]) -> Result<()> {
    let is_setsid = |word: &OsString| Path::new(word).file_name() == Some(OsStr::new("setsid"));
    let options = line.iter().skip_while(|word| !is_setsid(word)).skip(1).map(|word| word.as_bytes());
    // A long option may be shortened, to `--f`.
    let forks = |option: &[u8]| match option.strip_prefix(b"--") {
        Some(long) => !long.is_empty() && b"fork".starts_with(long),
        None => option.contains(&b'f'),
    };
    if !options.take_while(|word| word.starts_with(b"-")).any(forks) {
        return Ok(());
    }
    let wrong = Error::new(Kind::Usage, "setsid --fork", "leaves the command in the background");
    Err(wrong.hint("leave --fork (-f) out: the attempt ends with the command"))
}

fn runs(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

fn on_path(program: &OsStr) -> Option<PathBuf> {
    let all = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&all).map(|dir| dir.join(program)).find(|path| runs(path))
}

/// The program that a script names in its first line (`#!`), itself or by `env`, and that is not there.
fn missing_interpreter(script: &Path) -> Option<OsString> {
    // As much of it as Linux reads: BINPRM_BUF_SIZE.
    let mut line = Vec::new();
    File::open(script).ok()?.take(256).read_to_end(&mut line).ok()?;
    let line = line.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    // A line that ends in CRLF names a program of such a name.
    let mut words = line.split(|b| b" \t".contains(b)).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let program = Path::new(words.next()?);
    if program.is_absolute() && !runs(program) {
        return Some(program.into());
    }
    let named = words.next().filter(|_| program.ends_with("env"))?;
    // Options and variables may change where it is looked for.
    let is_name = !named.as_bytes().iter().any(|b| b"/=".contains(b)) && !named.as_bytes().starts_with(b"-");
    (is_name && on_path(named).is_none()).then(|| named.to_owned())
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |e| Error::io(path.display(), &e)
}

#[cfg(test)]
mod tests;
