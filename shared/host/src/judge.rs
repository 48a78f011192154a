//! The verdict on a worker: a pure function over what was seen.
//!
//! Its rules follow from what was found on real Hermes 0.19 boards: pids are recycled, the wall clock steps,
//! a killed worker's tool children live on, and a container on the host's network has the host's name.

use super::host_facts::INITIAL_PID_NAMESPACE;
use super::proc::{Kin, Marks, Probe, Process, Scan};
use super::{Ask, Birth, Boot, HostFacts, Life, Look, Orphan, Proof};

/// A start may lie this many seconds after the claim and still be the worker's: boot time and board time are
/// both rounded, and Hermes writes the claim before it spawns.
pub(super) const START_SLACK: i64 = 5;
/// A start must lie more than this many seconds after the claim to speak against the worker: by as much the wall clock may
/// have been stepped unnoticed.
const CLOCK_SLACK: i64 = 60;

/// All that was seen of one attempt.
pub(super) struct Sight<'a> {
    pub(super) facts: &'a HostFacts,
    /// Clock ticks per second.
    pub(super) hertz: u64,
    /// Whether the claim's host is this one; a row without a claim counts as ours.
    pub(super) here: bool,
    /// The configuration says that workers share our pid namespace.
    pub(super) same_namespace: bool,
    pub(super) recorded: Option<Probe>,
    pub(super) claimer: Option<Probe>,
    /// Pid and start of the process that has this number in a pid namespace below ours.
    pub(super) nested: &'a dyn Fn(i64) -> Option<(i64, u64)>,
    pub(super) scan: &'a Scan,
}

enum Verdict {
    Alive(i64, String),
    /// A worker of another attempt.
    Older(i64, String),
    Gone(Option<u64>, String),
    Unknown(String),
}

/// Judges one attempt.
pub(super) fn judge(ask: &Ask, sight: &Sight) -> Look {
    let claimer = claimer(ask, sight);
    let verdict = verdict(ask, sight, claimer);
    let is_older = matches!(verdict, Verdict::Older(..));
    let (life, because, worker_pid, proof) = match verdict {
        Verdict::Alive(pid, because) | Verdict::Older(pid, because) => {
            (Life::Alive, because, Some(pid), None)
        }
        Verdict::Unknown(because) => (Life::Unknown, because, None, None),
        Verdict::Gone(start_ticks, because) => {
            let boot_id = sight.facts.boot_id.clone();
            let namespace = ask.namespace.clone().filter(|_| claimed_in_ours(ask, sight.facts));
            let proof = Proof {
                task: ask.task.clone(),
                run: ask.run,
                pid: ask.pid,
                start_ticks,
                boot_id,
                namespace,
                workers: ask.workers.clone(),
            };
            (Life::Gone, because, None, Some(proof))
        }
    };
    let orphans = if sight.here { orphans(ask, sight.scan) } else { Vec::new() };
    let beside = worker_pid.filter(|_| !is_older).and_then(|pid| beside(ask, sight.scan, pid));
    Look {
        life,
        because,
        worker_pid,
        is_older,
        beside,
        stands_aside: false,
        stopped: Vec::new(),
        orphans,
        claimer,
        proof,
    }
}

/// Whether `process` is the worker of `task`, being the pid the board recorded for it.
pub(super) fn is_recorded_worker(process: &Process, task: &str, run: Option<i64>) -> bool {
    process.worker_by_line() == Some(task)
        || matches!(process.kin(task, run), Kin::ThisRun | Kin::SameTask)
        || (process.is_renamed_hermes() && process.kin(task, None) == Kin::ThisRun)
}

/// Whether a process is the very one whose start is recorded.
pub(super) fn is_same(birth: &Birth, p: &Process, facts: &HostFacts) -> bool {
    kinship(Some(birth), p, facts) == Kinship::Same
}

/// An attempt whose workers are looked for among all processes.
#[derive(Clone, Copy)]
pub(super) struct Attempt<'a> {
    pub(super) task: &'a str,
    /// `None`: no attempt is open.
    pub(super) run: Option<i64>,
    /// Its recorded pid, which is judged by itself.
    pub(super) pid: Option<i64>,
    /// Run and pid of every worker the board has a record of.
    pub(super) workers: &'a [(i64, i64)],
}

/// A living process that may be a worker of the task, and what says so. Its run does not matter: two workers on one task are
/// what must never be.
pub(super) fn worker_in<'a>(scan: &'a Scan, of: Attempt<'_>) -> Option<(&'a Process, &'static str)> {
    let living = scan.marked.iter().filter(|p| !p.zombie);
    living.filter_map(|p| Some((p, worker_by(p, of, scan)?))).next()
}

/// Why a process may be a worker. What a dead worker left running has the same marks in its environment, and is told from a
/// worker by the board: an attempt has one worker, and where that is recorded the others are what it started.
fn worker_by(p: &Process, of: Attempt<'_>, scan: &Scan) -> Option<&'static str> {
    if let Some(by) = surely_by(p, of) {
        return Some(by);
    }
    if p.kin(of.task, None) != Kin::ThisRun {
        return None;
    }
    let its = p.run().filter(|its| Some(*its) != of.run)?;
    let unrecorded = of.workers.iter().all(|(run, _)| *run != its);
    // A person may run us from inside a worker's shell.
    (unrecorded && !scan.own.contains(&p.pid))
        .then_some("names another attempt at the task, of which no worker is recorded")
}

/// Why a process is a worker, and not what one started.
fn surely_by(p: &Process, of: Attempt<'_>) -> Option<&'static str> {
    if p.worker_of() == Some(of.task) {
        return Some("has the worker's command line");
    }
    if p.kin(of.task, None) != Kin::ThisRun {
        return None;
    }
    if p.is_renamed_hermes() {
        return Some("is a Hermes process whose environment names the task");
    }
    let is_recorded = Some(p.pid) != of.pid && of.workers.iter().any(|(_, pid)| *pid == p.pid);
    is_recorded.then_some("is the recorded worker of an attempt at the task")
}

/// Living processes that a worker of the task started, or that may be one.
pub(super) fn children<'a>(scan: &'a Scan, task: &str) -> impl Iterator<Item = &'a Process> {
    // A person may run us from inside a worker's shell.
    scan.marked
        .iter()
        .filter(move |p| p.kin(task, None) == Kin::ThisRun && !p.zombie && !scan.own.contains(&p.pid))
}

/// A process that names the attempt in its environment, worker or not.
pub(super) fn marked_with(scan: &Scan, task: &str, run: Option<i64>) -> Option<i64> {
    let kin = |p: &&Process| matches!(p.kin(task, run), Kin::ThisRun | Kin::SameTask);
    scan.marked.iter().find(kin).map(|p| p.pid)
}

fn verdict(ask: &Ask, sight: &Sight, claimer: Life) -> Verdict {
    if !sight.here {
        return Verdict::Unknown(format!("claimed on host {}", ask.claim_host.as_deref().unwrap_or("?")));
    }
    if let Some(alive) = alive(ask, sight).or_else(|| unrecorded_end(ask, sight, claimer)) {
        return alive;
    }
    if let Some(gap) = &sight.scan.gap {
        return Verdict::Unknown(format!("the process list is not complete: {gap}"));
    }
    let is_elsewhere = claimed_elsewhere(ask, sight);
    // A container may have a boot id of its own: what was claimed in one is older than this boot only if the clock says so too.
    let reboot = sight.facts.precedes_boot(ask.since, ask.birth.as_ref())
        && (!is_elsewhere || sight.facts.precedes_boot(ask.since, None));
    if is_elsewhere && !reboot {
        return Verdict::Unknown(
            "claimed in another pid namespace, where its pid means another process".into(),
        );
    }
    let (ticks, fate) = match fate(ask, sight, reboot) {
        Ok(fate) => fate,
        Err(why) => return Verdict::Unknown(why),
    };
    if let Err(why) = within_sight(ask, sight, claimer, reboot) {
        return Verdict::Unknown(why);
    }
    if let Some(pid) = perhaps_an_orphan(ask, sight) {
        return Verdict::Unknown(format!(
            "{fate}, but the environment of pid {pid} cannot be read from here: it may be what the worker left running"
        ));
    }
    if reboot {
        return Verdict::Gone(ticks, format!("reboot: the attempt is older than this boot; {fate}"));
    }
    Verdict::Gone(ticks, fate)
}

fn alive(ask: &Ask, sight: &Sight) -> Option<Verdict> {
    if let Some(Probe::Present(p)) = &sight.recorded {
        if kinship(ask.birth.as_ref(), p, sight.facts) == Kinship::Same {
            return Some(Verdict::Alive(p.pid, format!("pid {} has the recorded start", p.pid)));
        }
        if is_recorded_worker(p, &ask.task, ask.run) {
            return Some(Verdict::Alive(p.pid, format!("pid {} is the worker", p.pid)));
        }
    }
    let (p, by) = worker_in(sight.scan, attempt(ask))?;
    let because = format!("pid {} {by}", p.pid);
    let is_older = p.run().is_some_and(|run| ask.run.is_some() && ask.run != Some(run));
    Some(if is_older { Verdict::Older(p.pid, because) } else { Verdict::Alive(p.pid, because) })
}

/// The harness of a worker that has ended (`board run`), stopped before it recorded how: it alone knows that, and records it once it goes on.
fn unrecorded_end(ask: &Ask, sight: &Sight, claimer: Life) -> Option<Verdict> {
    let (Some(Probe::Exited), Some(Probe::Present(harness))) = (&sight.recorded, &sight.claimer) else {
        return None;
    };
    // Its number means this process where it was claimed from here.
    let is_here =
        sight.facts.initial_pid_namespace || sight.same_namespace || claimed_in_ours(ask, sight.facts);
    let lives = is_here && !claimed_elsewhere(ask, sight) && claimer != Life::Gone;
    let is_it = lives && harness.stopped && !harness.zombie && !ask.hermes_spawned;
    let because =
        format!("pid {} has ended, and pid {}, which records how, is stopped", ask.pid?, harness.pid);
    is_it.then_some(Verdict::Alive(harness.pid, because))
}

/// A worker of another attempt that lives beside this one. What such a worker started does not count.
fn beside(ask: &Ask, scan: &Scan, worker: i64) -> Option<(i64, i64)> {
    let living = scan.marked.iter().filter(|p| !p.zombie && p.pid != worker && !scan.own.contains(&p.pid));
    let other = |p: &Process| {
        let run = p.run().filter(|run| ask.run.is_some_and(|own| own != *run))?;
        surely_by(p, attempt(ask)).map(|_| (run, p.pid))
    };
    living.filter_map(other).next()
}

/// How a recorded start and a living process stand to each other.
#[derive(PartialEq, Eq)]
enum Kinship {
    Same,
    /// Not the same, by the kernel's own boot id.
    OtherBoot,
    /// Not the same, if the ticks tell the truth.
    Differs,
    /// Equal to the tick, and only the boot's moment moved: rather a stepped clock than another process.
    Doubtful,
    Untold,
}

fn kinship(birth: Option<&Birth>, p: &Process, facts: &HostFacts) -> Kinship {
    let (Some(birth), Some(ticks)) = (birth, p.ticks) else { return Kinship::Untold };
    match (&birth.boot, facts.is_this_boot(&birth.boot), ticks == birth.ticks) {
        (_, true, true) => Kinship::Same,
        (_, true, false) => Kinship::Differs,
        (Boot::Id(_) | Boot::Within { .. }, false, false) => Kinship::OtherBoot,
        (Boot::Within { id, .. }, false, true) if *id == facts.boot_id => Kinship::OtherBoot,
        (Boot::Epoch(_), false, false) => Kinship::Differs,
        // The same pid and the same tick in two boots: rather one boot with two ids. systemd-nspawn gives a container an id of its own, and a
        // unit with a /proc of its own has that of the machine.
        (_, false, true) => Kinship::Doubtful,
    }
}

/// What became of the recorded pid: the start of the stranger that owns it now, and words for the report.
fn fate(ask: &Ask, sight: &Sight, reboot: bool) -> Result<(Option<u64>, String), String> {
    match (&sight.recorded, ask.pid) {
        (Some(Probe::Absent), Some(pid)) => Ok((None, format!("pid {pid} does not exist"))),
        (Some(Probe::Exited), Some(pid)) => {
            Ok((None, format!("pid {pid} has ended and waits to be collected")))
        }
        (Some(Probe::Present(p)), Some(_)) => stranger(ask, p, sight, reboot),
        (Some(Probe::Unclear(why)), _) => Err(why.clone()),
        (None, Some(pid)) => Err(format!("pid {pid} was not looked at")),
        (_, None) => nobody(ask, sight),
    }
}

fn stranger(ask: &Ask, p: &Process, sight: &Sight, reboot: bool) -> Result<(Option<u64>, String), String> {
    let untold = || Err(format!("pid {} lives, cannot tell whether it is the worker", p.pid));
    let Some(ticks) = p.ticks.filter(|_| !sight.facts.is_time_shifted) else { return untold() };
    let other = Ok((Some(ticks), format!("pid {} now belongs to another process", p.pid)));
    let kinship = kinship(ask.birth.as_ref(), p, sight.facts);
    match kinship {
        Kinship::OtherBoot => return other,
        Kinship::Doubtful => return untold(),
        Kinship::Same | Kinship::Differs | Kinship::Untold => {}
    }
    // Never a start time alone: it is computed from a clock that steps. The process must look different too.
    let started_otherwise = kinship == Kinship::Differs || later(ticks, ask, sight) || reboot;
    let looks_different = p.kernel
        || p.kin(&ask.task, ask.run) == Kin::Stranger
        || (ask.hermes_spawned && has_other_command(p, &ask.task));
    if started_otherwise && looks_different { other } else { untold() }
}

/// Whether its command line is another program's. What a process wrote over it says nothing.
fn has_other_command(p: &Process, task: &str) -> bool {
    let told = p.command.is_some() && p.marks != Marks::Overwritten && !p.is_renamed_hermes();
    told && p.worker_by_line() != Some(task)
}

/// No pid is recorded: then nothing tells a worker from its tools, so every process with the marks may be it.
fn nobody(ask: &Ask, sight: &Sight) -> Result<(Option<u64>, String), String> {
    if let Some(pid) = marked_with(sight.scan, &ask.task, ask.run) {
        return Err(format!("no pid recorded, and pid {pid} names the attempt in its environment"));
    }
    // Who was there before the attempt cannot be its worker.
    let veiled = sight.scan.veiled.iter().find(|(_, ticks)| !earlier(*ticks, ask, sight));
    if let Some((pid, _)) = veiled.filter(|_| !ask.hermes_spawned) {
        return Err(format!("no pid recorded, and the environment of pid {pid} cannot be read"));
    }
    Ok((None, "no pid recorded, and no process names the attempt in its environment".into()))
}

/// Whether a worker that lives would have been seen.
fn within_sight(ask: &Ask, sight: &Sight, claimer: Life, reboot: bool) -> Result<(), String> {
    if sight.same_namespace || claimed_in_ours(ask, sight.facts) {
        return Ok(());
    }
    if !sight.facts.initial_pid_namespace {
        return Err(
            "in a pid namespace: set host.pid_namespace = \"same\" if the workers run in it too".into()
        );
    }
    if reboot {
        return Ok(());
    }
    if let Some((outside, _)) =
        ask.pid.and_then(sight.nested).filter(|(_, ticks)| !earlier(*ticks, ask, sight))
    {
        return Err(format!("pid {outside} has its number in another pid namespace: it may be the worker"));
    }
    let sees_all = sight.facts.sees_all && !sight.scan.denied;
    if ask.claim_host.is_none() && !sees_all {
        return Err("no claim, and /proc hides processes of other users".into());
    }
    // From the first namespace every process of the kernel is visible, those in containers included, and
    // Hermes' command line is readable even where the environment is not.
    if ask.claim_host.is_none() || (sees_all && ask.hermes_spawned) || claimer == Life::Alive {
        return Ok(());
    }
    Err("claimer not visible: worker may live in another pid namespace".into())
}

/// Whether the board itself says that the worker's pid was read in our own pid namespace. A namespace's number can be
/// given again only after every process in it is gone.
pub(super) fn claimed_in_ours(ask: &Ask, facts: &HostFacts) -> bool {
    let ours = &facts.pid_namespace;
    let this_boot = ask.birth.as_ref().is_some_and(|b| facts.is_this_kernel(&b.boot));
    this_boot && !ours.is_empty() && ask.namespace.as_ref() == Some(ours)
}

/// Whether the board itself says that the claim was made in another pid namespace, so that no number in it is valid in our own: by its
/// name, or by another start of its pid 1 in this boot. In the first namespace pid 1 starts only once.
fn claimed_elsewhere(ask: &Ask, sight: &Sight) -> bool {
    let ours = &sight.facts.pid_namespace;
    if let Some(Birth { boot: Boot::Within { id, init }, .. }) = &ask.birth {
        let is_other = *id == sight.facts.boot_id && sight.facts.init_ticks.is_some_and(|ours| ours != *init);
        if is_other && sight.facts.initial_pid_namespace && !sight.same_namespace {
            return true;
        }
    }
    // Each start of a container has a namespace of its own. What is configured says that its workers run in ours, which began later.
    let of_first = ask.namespace.as_deref() == Some(INITIAL_PID_NAMESPACE);
    let is_restart = ask.birth.as_ref().is_some_and(|b| sight.facts.is_earlier_start(&b.boot));
    if sight.same_namespace && is_restart && !of_first {
        return false;
    }
    ask.namespace.as_ref().is_some_and(|of_it| !of_it.is_empty() && !ours.is_empty() && of_it != ours)
}

fn claimer(ask: &Ask, sight: &Sight) -> Life {
    if claimed_elsewhere(ask, sight)
        || !sight.here
        || !(sight.facts.initial_pid_namespace || sight.same_namespace)
    {
        return Life::Unknown;
    }
    match &sight.claimer {
        Some(Probe::Absent | Probe::Exited) => Life::Gone,
        // Both have a number that a process in another namespace has too.
        Some(Probe::Present(p)) if p.kernel || (p.pid == 1 && sight.facts.initial_pid_namespace) => {
            Life::Unknown
        }
        Some(Probe::Present(_)) if sight.facts.is_time_shifted => Life::Unknown,
        Some(Probe::Present(p)) => match p.ticks {
            Some(ticks) if later(ticks, ask, sight) => Life::Gone,
            Some(ticks) if started(ticks, sight) > ask.since.0.saturating_add(START_SLACK) => Life::Unknown,
            Some(_) if !p.zombie => Life::Alive,
            _ => Life::Unknown,
        },
        Some(Probe::Unclear(_)) | None => Life::Unknown,
    }
}

/// A process that might carry the attempt's marks, where we stand so that none could be read.
fn perhaps_an_orphan(ask: &Ask, sight: &Sight) -> Option<i64> {
    let blind = sight.scan.short_sighted;
    let veiled = sight.scan.veiled.iter().filter(|(pid, _)| blind && !sight.scan.own.contains(pid));
    veiled.filter(|(_, ticks)| !earlier(*ticks, ask, sight)).map(|(pid, _)| *pid).next()
}

fn attempt(ask: &Ask) -> Attempt<'_> {
    Attempt { task: &ask.task, run: ask.run, pid: ask.pid, workers: &ask.workers }
}

fn orphans(ask: &Ask, scan: &Scan) -> Vec<Orphan> {
    let is_worker = |p: &Process| worker_by(p, attempt(ask), scan).is_some();
    let left = children(scan, &ask.task).filter(|p| Some(p.pid) != ask.pid && !is_worker(p));
    left.map(|p| Orphan { pid: p.pid, command: short(p), run: p.run() }).collect()
}

/// The program's bare name. Arguments stay out: people put keys there.
pub(super) fn short(p: &Process) -> String {
    let program = p.command.as_deref().and_then(|c| c.split_whitespace().next()).unwrap_or("?");
    let name = program.rsplit('/').next().unwrap_or(program);
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

fn later(ticks: u64, ask: &Ask, sight: &Sight) -> bool {
    started(ticks, sight) > ask.since.0.saturating_add(CLOCK_SLACK)
}

fn earlier(ticks: u64, ask: &Ask, sight: &Sight) -> bool {
    started(ticks, sight) < ask.since.0.saturating_sub(START_SLACK)
}

fn started(ticks: u64, sight: &Sight) -> i64 {
    let after_boot = i64::try_from(ticks / sight.hertz.max(1)).unwrap_or(i64::MAX);
    sight.facts.boot_time.plus(after_boot).0
}

#[cfg(test)]
mod tests;
