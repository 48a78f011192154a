//! The verdict on a worker: a pure function over what was seen.
//!
//! Its rules follow from what was found on real Hermes 0.19 boards: pids are recycled, the wall clock steps,
//! a killed worker's tool children live on, and a container on the host's network has the host's name.

use super::proc::{Kin, Probe, Process, Scan};
use super::{Ask, Birth, Boot, HostFacts, Life, Look, Orphan, Proof};

/// A start may lie this many seconds after the claim and still be the worker's: boot time and board time are
/// both rounded, and Hermes writes the claim before it spawns.
pub(super) const START_SLACK: i64 = 5;

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
    pub(super) scan: &'a Scan,
}

enum Verdict {
    Alive(i64, String),
    Gone(Option<u64>, String),
    Unknown(String),
}

/// Judges one attempt.
pub(super) fn judge(ask: &Ask, sight: &Sight) -> Look {
    let claimer = claimer(ask, sight);
    let (life, because, worker_pid, proof) = match verdict(ask, sight, claimer) {
        Verdict::Alive(pid, because) => (Life::Alive, because, Some(pid), None),
        Verdict::Unknown(because) => (Life::Unknown, because, None, None),
        Verdict::Gone(start_ticks, because) => {
            let boot_id = sight.facts.boot_id.clone();
            let namespace = ask.namespace.clone().filter(|_| claimed_in_ours(ask, sight));
            let proof =
                Proof { task: ask.task.clone(), run: ask.run, pid: ask.pid, start_ticks, boot_id, namespace };
            (Life::Gone, because, None, Some(proof))
        }
    };
    let orphans = if sight.here { orphans(ask, sight.scan) } else { Vec::new() };
    Look { life, because, worker_pid, orphans, claimer, proof }
}

/// Whether `process` is the worker of `task`, being the pid the board recorded for it.
pub(super) fn is_recorded_worker(process: &Process, task: &str, run: Option<i64>) -> bool {
    process.worker_of() == Some(task) || matches!(process.kin(task, run), Kin::ThisRun | Kin::SameTask)
}

/// A process that is the worker by its command line. Its run id does not matter: two workers on one task are
/// what must never be.
pub(super) fn worker_by_command(scan: &Scan, task: &str) -> Option<i64> {
    scan.marked.iter().find(|p| !p.zombie && p.worker_of() == Some(task)).map(|p| p.pid)
}

/// A process that carries the attempt's marks in its environment, worker or not.
pub(super) fn marked_with(scan: &Scan, task: &str, run: Option<i64>) -> Option<i64> {
    let kin = |p: &&Process| matches!(p.kin(task, run), Kin::ThisRun | Kin::SameTask);
    scan.marked.iter().find(kin).map(|p| p.pid)
}

fn verdict(ask: &Ask, sight: &Sight, claimer: Life) -> Verdict {
    if !sight.here {
        return Verdict::Unknown(format!("claimed on host {}", ask.claim_host.as_deref().unwrap_or("?")));
    }
    if let Some(alive) = alive(ask, sight) {
        return alive;
    }
    if let Some(gap) = &sight.scan.gap {
        return Verdict::Unknown(format!("the process list is not complete: {gap}"));
    }
    let reboot = sight.facts.precedes_boot(ask.since, ask.birth.as_ref());
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
    let pid = worker_by_command(sight.scan, &ask.task)?;
    Some(Verdict::Alive(pid, format!("pid {pid} has the worker's command line")))
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
        (Boot::Id(_), false, _) => Kinship::OtherBoot,
        (Boot::Epoch(_), false, false) => Kinship::Differs,
        (Boot::Epoch(_), false, true) => Kinship::Doubtful,
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
    let Some(ticks) = p.ticks else { return untold() };
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
        || (ask.hermes_spawned && p.command.is_some() && p.worker_of() != Some(&ask.task));
    if started_otherwise && looks_different { other } else { untold() }
}

/// No pid is recorded: then nothing tells a worker from its tools, so whoever carries the marks may be it.
fn nobody(ask: &Ask, sight: &Sight) -> Result<(Option<u64>, String), String> {
    if let Some(pid) = marked_with(sight.scan, &ask.task, ask.run) {
        return Err(format!("no pid recorded, and pid {pid} carries the attempt's marks"));
    }
    // Who was there before the attempt cannot be its worker.
    let veiled = sight.scan.veiled.iter().find(|(_, ticks)| !earlier(*ticks, ask, sight));
    if let Some((pid, _)) = veiled.filter(|_| !ask.hermes_spawned) {
        return Err(format!("no pid recorded, and the environment of pid {pid} cannot be read"));
    }
    Ok((None, "no pid recorded, and no process carries the attempt's marks".into()))
}

/// Whether a worker that lives would have been seen.
fn within_sight(ask: &Ask, sight: &Sight, claimer: Life, reboot: bool) -> Result<(), String> {
    if sight.same_namespace || claimed_in_ours(ask, sight) {
        return Ok(());
    }
    if !sight.facts.initial_pid_namespace {
        return Err(
            "in a pid namespace: set host.pid_namespace = \"same\" if the workers run in it too".into()
        );
    }
    let sees_all = sight.facts.sees_all && !sight.scan.denied;
    if ask.claim_host.is_none() && !sees_all {
        return Err("no claim, and /proc hides processes of other users".into());
    }
    // From the first namespace every process of the kernel is visible, those in containers included, and
    // Hermes' command line is readable even where the environment is not.
    if reboot || ask.claim_host.is_none() || (sees_all && ask.hermes_spawned) || claimer == Life::Alive {
        return Ok(());
    }
    Err("claimer not visible: worker may live in another pid namespace".into())
}

/// Whether the board itself says that the worker's pid was read in our own pid namespace. A namespace's number can be
/// given again only after every process in it is gone.
fn claimed_in_ours(ask: &Ask, sight: &Sight) -> bool {
    let ours = &sight.facts.pid_namespace;
    let this_boot = ask.birth.as_ref().is_some_and(|b| sight.facts.is_this_boot(&b.boot));
    this_boot && !ours.is_empty() && ask.namespace.as_ref() == Some(ours)
}

fn claimer(ask: &Ask, sight: &Sight) -> Life {
    if !sight.here || !(sight.facts.initial_pid_namespace || sight.same_namespace) {
        return Life::Unknown;
    }
    match &sight.claimer {
        Some(Probe::Absent | Probe::Exited) => Life::Gone,
        Some(Probe::Present(p)) => match p.ticks {
            Some(ticks) if later(ticks, ask, sight) => Life::Gone,
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

fn orphans(ask: &Ask, scan: &Scan) -> Vec<Orphan> {
    let orphan = |p: &&Process| {
        p.kin(&ask.task, ask.run) == Kin::ThisRun
            && !p.zombie
            && Some(p.pid) != ask.pid
            && p.worker_of() != Some(&ask.task)
            // A person may run us from inside a worker's shell.
            && !scan.own.contains(&p.pid)
    };
    scan.marked.iter().filter(orphan).map(|p| Orphan { pid: p.pid, command: short(p) }).collect()
}

/// The program's bare name. Arguments stay out: people put keys there.
pub(super) fn short(p: &Process) -> String {
    let program = p.command.as_deref().and_then(|c| c.split_whitespace().next()).unwrap_or("?");
    let name = program.rsplit('/').next().unwrap_or(program);
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

fn later(ticks: u64, ask: &Ask, sight: &Sight) -> bool {
    started(ticks, sight) > ask.since.0.saturating_add(START_SLACK)
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
