//! What must hold after every step, told from the truth and from the rows before and after.

use shared::base::time::Time;
use shared::board::{Status, Task};

use super::{Act, Actor, HOSTS, Program, State, Told, Worker};

/// How long nothing is heard of a host before it counts as gone: `host.gone_after`.
const GONE: i64 = 1_800;
/// How long after its end a lease is left.
const LATE: i64 = 60;
/// How long a host is reachable after it attended.
const REACHABLE: i64 = 300;

/// What a step broke.
pub(super) fn broken(before: &State, act: Act, after: &State, told: &Told) -> Option<String> {
    // Only a write changes rows; a jump holds the heartbeats of harnesses.
    let actor = match act {
        Act::Write(actor) | Act::Lost(actor) => Some(actor),
        Act::Jump(_) => None,
        _ => return None,
    };
    let (was, is) = (before.board.rows(), after.board.rows());
    let lost = was.events.keys().any(|n| !is.events.contains_key(n))
        || was.comments.keys().any(|n| !is.comments.contains_key(n))
        || was.runs.keys().any(|n| !is.runs.contains_key(n));
    if lost {
        return Some("something that was said is lost".into());
    }
    for (id, (old, _)) in &was.tasks {
        let Some((new, _)) = is.tasks.get(id) else { return Some(format!("{id} is lost")) };
        let open = is.runs.values().filter(|(task, run)| task == id && run.ended_at.is_none()).count();
        if open > 1 {
            return Some(format!("{id} is owned {open} times at once"));
        }
        if open == 1 && new.status != Status::Running {
            return Some(format!("{id} is {} with an open run", new.status));
        }
        if new.status == Status::Running && (open == 0 || new.current_run.is_none()) {
            return Some(format!("{id} is running without a run"));
        }
        if (new.status == Status::Running) != new.claim_lock.is_some() {
            return Some(format!("{id} is {} with the claim {:?}", new.status, new.claim_lock));
        }
        if old.status == Status::Done && (new.status != Status::Done || open > 0) {
            return Some(format!("{id} was done and is {}", new.status));
        }
        let Some(actor) = actor else { continue };
        if let Some(what) = words(before, actor, old, new).or_else(|| begins(before, actor, old, new)) {
            return Some(what);
        }
        for w in before.workers.iter().filter(|w| w.task == *id) {
            if let Some(what) = taken(before, actor, w, (old, new), told) {
                return Some(what);
            }
        }
    }
    // A worker without a claim says nothing any more.
    if let Actor::Worker(run) = actor?
        && let Some(w) = before.worker(run)
        && !is_held(w, &was.tasks.get(&w.task)?.0)
        && (is.events.len() != was.events.len() || was.tasks.get(&w.task) != is.tasks.get(&w.task))
    {
        return Some(format!("run {run} has no claim on {} and writes to it", w.task));
    }
    None
}

fn is_held(w: &Worker, t: &Task) -> bool {
    t.status == Status::Running && t.current_run == Some(w.run) && t.claim_lock.as_ref() == Some(&w.lock)
}

/// What an operator said stands until the operator says otherwise.
fn words(before: &State, actor: Actor, old: &Task, new: &Task) -> Option<String> {
    let id = &old.id;
    if actor != Actor::Operator && before.held.contains(id) && old.status != new.status {
        return Some(format!("{id} was blocked by the operator, and {actor} makes it {}", new.status));
    }
    let is_watcher = matches!(actor, Actor::Watcher(..));
    // A task marked no-heal is still released from a watcher's hold.
    let is_left_alone = before.left_alone.contains(id) && old.status != Status::Scheduled;
    (is_watcher && is_left_alone && old != new)
        .then(|| format!("{id} is marked no-heal, and {actor} changes it"))
}

/// What may begin, and when.
fn begins(before: &State, actor: Actor, old: &Task, new: &Task) -> Option<String> {
    if new.status != Status::Running || old.status == Status::Running {
        return None;
    }
    let id = &old.id;
    let seen = before.seen(id)?;
    if let Some(parent) = seen.parents.iter().find(|p| !p.status.frees_children()) {
        return Some(format!("{id} begins before {}, for which it waits", parent.id));
    }
    if old.assignee.as_deref() != Some(super::LUNA) {
        return Some(format!("{} begins with {id}, which is {:?}'s", super::LUNA, old.assignee));
    }
    let here = |w: &&Worker| w.task == *id && Actor::Claimer(w.host) == actor && w.lives();
    let beside = before.workers.iter().find(here).filter(|w| w.pid.is_some());
    beside.map(|w| format!("{id} begins on {} beside the living worker of run {}", HOSTS[w.host], w.run))
}

/// A claim of a living worker that another actor took from it, other than by rule.
fn taken(
    before: &State,
    actor: Actor,
    w: &Worker,
    (old, new): (&Task, &Task),
    told: &Told,
) -> Option<String> {
    if !w.lives() || !is_held(w, old) || is_held(w, new) || actor == Actor::Worker(w.run) {
        return None;
    }
    let id = &old.id;
    let said =
        |what: String| Some(format!("{actor} takes {id} from the living worker of run {}: {what}", w.run));
    if actor == Actor::Operator {
        return None;
    }
    let Actor::Watcher(_, from) = actor else { return said("it is no watcher".into()) };
    let now = before.now();
    let over = now.since(old.claim_expires.unwrap_or(now));
    let rule = told.rules.get(id).map_or("", String::as_str);
    if from == w.host {
        return match w.pid {
            Some(pid) => said(format!("process {pid} is there")),
            None if over < LATE => said(format!("its claim lasts for {} s", -over)),
            None => None,
        };
    }
    if rule != "host-gone" {
        return said(format!("by {rule}, from another host"));
    }
    if w.pid.is_some() && w.has_harness {
        return said("its harness should have stopped it".into());
    }
    let hosts = before.board.hosts_mut();
    let known = |host: usize| hosts.all.get(HOSTS[host]).map(|(_, h)| h);
    let silent = known(w.host).map_or(GONE, |h| now.since(h.healed_at.unwrap_or(h.since)));
    if over < 0 || silent < GONE {
        return said(format!("its host was silent for {silent} s, and its claim ran out {over} s ago"));
    }
    None
}

/// What a decision must not rest on: a host that was itself away judges nobody. `healed`: when heal ran there before this pass.
pub(super) fn judges(before: &State, act: Act, after: &State) -> Option<String> {
    let Act::Pass(Program::Heal, host) = act else { return None };
    let pending = after.pending.get(&Actor::Watcher(Program::Heal, host))?;
    let step = pending.steps.iter().find(|s| s.case.as_str() == "host-gone")?;
    let healed = before.board.hosts_mut().all.get(HOSTS[host]).and_then(|(_, h)| h.healed_at);
    let away = before.now().since(healed.unwrap_or(Time(0)));
    if away > REACHABLE {
        return Some(format!("{} was away itself, and calls the host of {} gone", HOSTS[host], step.task));
    }
    let seen = before.seen(&step.task)?;
    let row = &seen.task;
    let over = before.now().since(row.claim_expires?);
    let known = before.board.hosts_mut().all.get(row.claim_host()?).map(|(_, h)| h.seen_at);
    let silent = known.map_or(GONE, |at| before.now().since(at)).max(over);
    (silent < GONE || over < 0).then(|| {
        format!("the host of {} counts as gone after {silent} s, {over} s after its claim", step.task)
    })
}
