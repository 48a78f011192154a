//! Stopping a worker that lives: the one place from which a signal is ever sent.
//!
//! A pid alone is nobody. The process is held by a pidfd first, and only then asked who it is: boot, start and the task and
//! run in its own environment must be those that were seen. While the pidfd says that it has not ended, all of that is of
//! one process, and a signal through it can reach no other.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, child_subreaper, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitpid,
};

use super::proc::{Descendant, Kin, Process, Processes, ancestry};
use super::{Host, Proof, Target, proc};
use base::reason::Reason;

/// How long a worker may take to end in an orderly way. Claude Code and Codex take well under a second, Hermes up to five.
const ORDERLY: Duration = Duration::from_secs(10);
/// How long the kernel may take to end it after SIGKILL.
const KILLED: Duration = Duration::from_secs(5);
/// How long a tool that the worker left running may take.
const CHILD: Duration = Duration::from_secs(2);
/// How long a harness may take: it gives its worker all of the above first, and then writes to the board.
const HARNESS: Duration = Duration::from_secs(40);
/// How often it is looked for what a worker left running.
const ROUNDS: usize = 4;

/// A child of our own, held so that another thread can stop it: its number is nobody else's, even after it was waited for.
#[derive(Debug)]
pub struct OwnChild {
    fd: OwnedFd,
    pid: i64,
    task: String,
    run: Option<i64>,
}

impl OwnChild {
    /// Whether it ended, by itself or not.
    pub fn has_ended(&self) -> bool {
        has_ended(&self.fd, Duration::ZERO)
    }

    /// Stops it: SIGTERM, then SIGKILL, then whatever carries its run in its environment, then what else it started.
    ///
    /// # Errors
    /// What of it still lives, in words.
    pub fn stop(&self, host: &Host) -> Result<(), Reason> {
        if !self.has_ended() {
            end(&self.fd, Signal::TERM, ORDERLY).or_else(|_| end(&self.fd, Signal::KILL, KILLED))?;
        }
        host.sweep_child(&self.task, self.run, self.pid)
    }
}

impl Host {
    /// The living worker of an attempt, as it may be stopped later; `None` where its environment does not prove who it is.
    pub fn target(&self, task: &str, run: Option<i64>, pid: i64) -> Option<Target> {
        let boot_id = self.facts.boot_id.clone();
        let (_, process) = self.held(pid).ok()?;
        let start_ticks = process.ticks?;
        let target = Target { task: task.into(), run, pid, start_ticks, boot_id };
        self.refused(&target, &process).is_none().then_some(target)
    }

    /// Stops a worker: SIGTERM, then SIGKILL, then whatever carries its run in its environment. Gives the proof that all of
    /// them are gone.
    ///
    /// # Errors
    /// Why it was not stopped, or what of it still lives, in words.
    pub fn stop(&self, target: &Target) -> Result<Proof, Reason> {
        if target.boot_id != self.facts.boot_id {
            return Err("it was seen in another boot".into());
        }
        let (fd, process) = self.held(target.pid)?;
        if let Some(why) = self.refused(target, &process) {
            return Err(why.into());
        }
        end(&fd, Signal::TERM, ORDERLY)
            .or_else(|_| end(&fd, Signal::KILL, KILLED))
            .map_err(|why| why.at(format_args!("pid {}", target.pid)))?;
        self.sweep(target)?;
        Ok(Proof {
            task: target.task.clone(),
            run: target.run,
            pid: Some(target.pid),
            start_ticks: None,
            boot_id: target.boot_id.clone(),
            // It was seen and stopped from here, so here is where it lived.
            namespace: Some(self.facts.pid_namespace.clone()),
            workers: Vec::new(),
        })
    }

    /// Asks the harness that a worker was started by to stop, which then stops the worker. The harness is who started the
    /// proven worker and has these words in its command line; whether there is such a one that ended.
    ///
    /// # Errors
    /// The worker is not who it was, in words.
    pub fn stop_harness(&self, target: &Target, words: &str) -> Result<bool, Reason> {
        let (_worker, process) = self.held(target.pid)?;
        if let Some(why) = self.refused(target, &process) {
            return Err(why.into());
        }
        let Ok((fd, harness)) = self.held(process.parent) else { return Ok(false) };
        // While both are held neither number can be given to another process; a worker whose harness ended has another parent.
        let is_its = proc::read(self.processes(), target.pid).is_ok_and(|now| now.parent == harness.pid);
        let is_harness = harness.command.as_deref().is_some_and(|line| line.contains(words));
        if !is_its || !is_harness || self.is_own(harness.pid) {
            return Ok(false);
        }
        Ok(end(&fd, Signal::TERM, HARNESS).or_else(|_| end(&fd, Signal::KILL, KILLED)).is_ok())
    }

    /// Stops whatever an attempt left running whose worker is gone.
    ///
    /// # Errors
    /// What of it still lives, in words.
    pub fn stop_left(&self, task: &str, run: Option<i64>) -> Result<(), Reason> {
        self.sweep(&self.any_of(task, run))
    }

    /// Stops a child of our own, which is nobody else until it is waited for, in the same way: SIGTERM, then SIGKILL, then
    /// whatever carries the run in its environment, then what else it started.
    ///
    /// # Errors
    /// What of it still lives, in words.
    pub fn stop_child(&self, child: &mut Child, task: &str, run: Option<i64>) -> Result<(), Reason> {
        match child.try_wait() {
            Ok(None) => self.own_child(child, task, run)?.stop(self),
            _ => self.sweep_child(task, run, i64::from(child.id())),
        }
    }

    /// Has this process adopt what its children leave behind, so that [`Host::left_by_child`] finds it. Not where it has children
    /// already, as after `helper & exec`: what theirs leave behind could not be told from it. Nor where the kernel does not list them.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn adopt(&self) -> Result<(), Reason> {
        if adopts() {
            return Ok(());
        }
        let what = "what the command leaves behind cannot be adopted";
        if proc::own_children(&self.proc).is_none_or(|children| !children.is_empty()) {
            return Ok(());
        }
        set_child_subreaper(Some(getpid())).map_err(|e| Reason::of(what, e))
    }

    /// What a child of this process started and that lives: what is in its process group, was adopted by this process, or descends from
    /// such, and works for no other task. The child must lead a process group of its own, as what `setsid` starts does.
    ///
    /// # Errors
    /// Why that is not known, in words.
    pub fn left_by_child(&self, child: i64, task: &str) -> Result<Vec<i64>, Reason> {
        Ok(self.started_by(child, task)?.iter().map(|p| p.pid).collect())
    }

    fn started_by(&self, child: i64, task: &str) -> Result<Vec<Descendant>, Reason> {
        let all = proc::started_by(&self.proc, child, task, adopts())
            .map_err(|e| Reason::of("the process list is not complete", e))?;
        Ok(all.into_iter().filter(|p| !p.has_ended).collect())
    }

    /// Collects what this process adopted and that ended: until then a program that asks for it sees that it is there. `child` is left out.
    pub fn collect_adopted(&self, child: i64) {
        if !adopts() {
            return;
        }
        for pid in proc::own_children(&self.proc).unwrap_or_default() {
            let id = i32::try_from(pid).ok().filter(|_| pid != child).and_then(Pid::from_raw);
            let _ = id.map(|id| waitpid(Some(id), WaitOptions::NOHANG));
        }
    }

    /// Ends what an attempt left running, and what the child of this process started that worked on it.
    fn sweep_child(&self, task: &str, run: Option<i64>, child: i64) -> Result<(), Reason> {
        self.sweep(&self.any_of(task, run))?;
        self.sweep_started(child, task)
    }

    /// Ends what a child of this process started. A process is known by its start, read while a pidfd holds it.
    fn sweep_started(&self, child: i64, task: &str) -> Result<(), Reason> {
        end_all("that it started", || {
            let left = self.started_by(child, task)?.into_iter();
            Ok(left.map(|p| (p.pid, self.held_if(p.pid, |process| process.ticks == Some(p.ticks)))).collect())
        })
    }

    /// A child that nobody has waited for yet, held to be stopped later.
    ///
    /// # Errors
    /// Why it cannot be held, in words.
    pub fn own_child(&self, child: &Child, task: &str, run: Option<i64>) -> Result<OwnChild, Reason> {
        let pid = i64::from(child.id());
        let (fd, _) = self.held(pid)?;
        Ok(OwnChild { fd, pid, task: task.into(), run })
    }

    /// Processes that carry a run in their environment, zombies and those that lead to this very pass left out.
    ///
    /// # Errors
    /// Why that is not known, in words.
    pub fn left_by_run(&self, task: &str, run: Option<i64>) -> Result<Vec<i64>, Reason> {
        self.left_by(&self.any_of(task, run))
    }

    /// Every process of a run; no process has this pid.
    fn any_of(&self, task: &str, run: Option<i64>) -> Target {
        Target { task: task.into(), run, pid: 0, start_ticks: 0, boot_id: self.facts.boot_id.clone() }
    }

    /// Ends what a worker left running. Those are known by their environment alone, read while a pidfd holds them.
    fn sweep(&self, target: &Target) -> Result<(), Reason> {
        let is_its =
            |process: &Process| process.kin(&target.task, target.run) == Kin::ThisRun && !process.is_unclear;
        end_all("of its attempt", || {
            let left = self.left_by(target)?.into_iter();
            Ok(left.map(|pid| (pid, self.held_if(pid, is_its))).collect())
        })
    }

    fn left_by(&self, target: &Target) -> Result<Vec<i64>, Reason> {
        let scan = self.processes().scan(&BTreeSet::from([target.task.as_str()]));
        if let Some(gap) = &scan.gap {
            return Err(format!("stopped, but the process list is not complete: {gap}").into());
        }
        let is_its = |p: &&Process| {
            p.kin(&target.task, target.run) == Kin::ThisRun && !p.zombie && !scan.own.contains(&p.pid)
        };
        Ok(scan.marked.iter().filter(is_its).map(|p| p.pid).collect())
    }

    /// A process held by a pidfd, and what it shows of itself meanwhile.
    fn held(&self, pid: i64) -> Result<(OwnedFd, Process), Reason> {
        let gone = || Reason::from(format!("pid {pid} has ended"));
        let id = i32::try_from(pid).ok().filter(|p| *p > 1).and_then(Pid::from_raw);
        let id = id.ok_or_else(|| format!("{pid} is not the pid of a worker"))?;
        let fd = pidfd_open(id, PidfdFlags::empty()).map_err(|e| match e {
            Errno::SRCH => gone(),
            e => Reason::of(format_args!("pid {pid}"), e),
        })?;
        let process =
            proc::read(self.processes(), pid).map_err(|e| Reason::of(format_args!("pid {pid}"), e))?;
        if has_ended(&fd, Duration::ZERO) || process.zombie {
            return Err(gone());
        }
        Ok((fd, process))
    }

    /// A process held by a pidfd, if it is still the one that is meant.
    fn held_if(&self, pid: i64, is_meant: impl Fn(&Process) -> bool) -> Option<OwnedFd> {
        self.held(pid).ok().filter(|(_, process)| is_meant(process)).map(|(fd, _)| fd)
    }

    /// Whether a process is this very one, or one that it descends from.
    pub(super) fn is_own(&self, pid: i64) -> bool {
        self.own.get_or_init(|| ancestry(&self.proc)).contains(&pid)
    }

    /// Why a process is not the worker that was seen, as far as it can be proven.
    fn refused(&self, target: &Target, process: &Process) -> Option<String> {
        let pid = process.pid;
        let kin = process.kin(&target.task, target.run);
        match () {
            () if process.kernel => Some(format!("pid {pid} is a thread of the kernel")),
            () if process.ticks != Some(target.start_ticks) => {
                Some(format!("pid {pid} is another process now"))
            }
            () if !matches!(kin, Kin::ThisRun | Kin::SameTask) => {
                Some(format!("the environment of pid {pid} does not name the task and its attempt"))
            }
            () if process.is_unclear => Some(format!(
                "the board that pid {pid} names cannot be looked at, so it may be another one's"
            )),
            () if self.is_own(pid) => Some(format!("pid {pid} is what started this very pass")),
            () => None,
        }
    }
}

/// Whether this process adopts what its children leave behind.
fn adopts() -> bool {
    child_subreaper().is_ok_and(|set| set.is_some())
}

/// Ends processes: SIGTERM to all that are found, then SIGKILL to those that are found once more. `find`: their pids, and what holds each;
/// `whose` says which they are.
fn end_all(
    whose: &str,
    find: impl Fn() -> Result<Vec<(i64, Option<OwnedFd>)>, Reason>,
) -> Result<(), Reason> {
    for round in 0..ROUNDS {
        let left = find()?;
        let Some((first, _)) = left.first() else { return Ok(()) };
        if round + 1 == ROUNDS {
            return Err(format!("stopped, but process {first} {whose} is still alive").into());
        }
        let signal = if round == 0 { Signal::TERM } else { Signal::KILL };
        let held: Vec<OwnedFd> = left.into_iter().filter_map(|(_, fd)| fd).collect();
        // Whether they went is seen in the next round.
        for fd in &held {
            let _ = pidfd_send_signal(fd, signal);
        }
        let until = Instant::now() + CHILD;
        for fd in &held {
            has_ended(fd, until.saturating_duration_since(Instant::now()));
        }
    }
    Ok(())
}

/// Sends a signal through a pidfd and waits for the end.
fn end(fd: &OwnedFd, signal: Signal, patience: Duration) -> Result<(), Reason> {
    match pidfd_send_signal(fd, signal) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(e) => return Err(Reason::of("it may not be signalled", e)),
    }
    if has_ended(fd, patience) { Ok(()) } else { Err("it does not end".into()) }
}

/// Whether the process of a pidfd ends within a time.
fn has_ended(fd: &OwnedFd, within: Duration) -> bool {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let wait = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut fds = [PollFd::new(fd, PollFlags::IN)];
        match poll(&mut fds, Some(&wait)) {
            Ok(n) => return n > 0,
            Err(Errno::INTR) if !left.is_zero() => {}
            Err(_) => return false,
        }
    }
}
