//! What must hold, told from the truth, which no watcher sees.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use shared::board::several_hosts::is_for_all;
use shared::board::{Attended, Detail, EventKind, HOST_LEASE, Outcome, Rule, Status, Step, Task, claim_host};
use shared::policy::{Decision, needs_operator};

use super::super::laws::cards;
use super::passes::Program;
use super::work::Worker;
use super::{Actor, GONE, HOSTS, Night, TTL, Truth, name};

/// For how many seconds two may work on one task after a claim was lost: from one heartbeat to the next, and what it takes.
const BESIDE: i64 = 75;
/// Within so many seconds after it could be the work of a host that is gone goes on elsewhere: a few passes of `heal`.
const ROUNDS: i64 = 900;

/// What there was when a pass began to look.
#[derive(Default)]
pub(super) struct Began {
    /// With which server each task was looked at.
    pub(super) looked: RefCell<BTreeMap<String, u64>>,
    pub(super) losses: Cell<u64>,
    pub(super) decided: Cell<u64>,
    /// When it attended.
    pub(super) at: Cell<i64>,
}

type Tasks = BTreeMap<String, (Task, String)>;

/// What a write broke.
pub(super) fn wrote(
    night: &Night,
    actor: Actor,
    before: &Tasks,
    steps: &[Step],
    outcomes: &[Outcome],
) -> Option<String> {
    if !outcomes.iter().any(|o| matches!(o, Outcome::Applied { .. })) {
        return None;
    }
    let rows = night.board.rows();
    let truth = night.truth.borrow();
    for (id, (old, _)) in before {
        let Some((new, _)) = rows.tasks.get(id) else { return Some(format!("{actor:?} lost {id}")) };
        let open = rows.runs.values().filter(|(task, run)| task == id && run.ended_at.is_none()).count();
        let runs = new.status == Status::Running;
        if open != usize::from(runs) || runs != new.claim_lock.is_some() || runs != new.current_run.is_some()
        {
            return Some(format!(
                "{id} is {} with {open} open runs, run {:?} and the claim {:?}",
                new.status, new.current_run, new.claim_lock
            ));
        }
        if old.status == Status::Done && !new.status.frees_children() {
            return Some(format!("{id} was done, and {actor:?} makes it {}", new.status));
        }
        if actor != Actor::Operator && truth.held.contains_key(id) && old.status != new.status {
            return Some(format!("{id} was blocked by the operator, and {actor:?} makes it {}", new.status));
        }
        if let Actor::Claimer(host) = actor
            && new.current_run != old.current_run
            && let Some(w) = truth.workers.iter().find(|w| w.task == *id && w.host == host && w.lives)
        {
            return Some(format!("{id} begins on {} beside its living worker {}", name(host), w.no));
        }
        if let Actor::Worker(no) = actor
            && let Some(w) = truth.workers.iter().find(|w| w.no == no && w.task == *id)
            && !w.holds(old)
        {
            return Some(format!(
                "worker {no} on {} has no claim on {id}, and its word counts",
                name(w.host)
            ));
        }
        let rule = steps.iter().find(|s| s.task == *id).map(|s| s.case.rule());
        for w in truth.workers.iter().filter(|w| w.task == *id && w.lives && w.holds(old) && !w.holds(new)) {
            if let Some(what) = taken(night, &truth, actor, w, old, rule.as_ref()) {
                return Some(format!(
                    "{actor:?} takes {id} from its living worker on {}: {what}",
                    name(w.host)
                ));
            }
        }
    }
    let all: Vec<Task> = rows.tasks.values().map(|(t, _)| t.clone()).collect();
    drop(truth);
    let gone = steps.iter().zip(outcomes).filter(|(step, outcome)| {
        step.case.rule() == Rule::HostGone && matches!(outcome, Outcome::Applied { .. })
    });
    night.truth.borrow_mut().sum.gone += gone.count() as u64;
    cards(&all)
}

/// Why the claim of a living worker must not be taken from it like that.
fn taken(
    night: &Night,
    truth: &Truth,
    actor: Actor,
    w: &Worker,
    old: &Task,
    rule: Option<&Rule>,
) -> Option<String> {
    let from = match actor {
        Actor::Operator => return None,
        Actor::Worker(no) if no == w.no => return None,
        Actor::Watcher(Program::Heal, from) => from,
        _ => return Some("it is not heal".into()),
    };
    if from == w.host {
        return Some("its own host".into());
    }
    if rule != Some(&Rule::HostGone) {
        return Some(format!("by {rule:?}, from another host"));
    }
    let host = &truth.hosts[w.host];
    if w.has_harness && host.runs() {
        return Some("its harness should have stopped it".into());
    }
    let hosts = night.board.hosts_mut();
    let known = hosts.all.get(HOSTS[w.host]).map(|(_, h)| h.clone());
    if known.as_ref().is_some_and(shared::board::Neighbour::is_forgotten) {
        return None;
    }
    let heals = host.healed.is_some_and(|at| truth.now - at < GONE);
    if heals && host.well_since.is_some_and(|since| truth.now - since > HOST_LEASE) {
        return Some("that host is reachable".into());
    }
    let over = truth.now - old.claim_expires.map_or(0, |at| at.0);
    let silent = known.map_or(GONE, |h| truth.now - h.healed_at.unwrap_or(h.since).0);
    (over < GONE || silent < GONE).then(|| format!("the claim ran out {over} s ago, no heal for {silent} s"))
}

/// What a pass must not have written beside what another one wrote since it looked.
pub(super) fn beside(
    night: &Night,
    began: &Began,
    by: &str,
    steps: &[Step],
    outcomes: &[Outcome],
) -> Option<String> {
    let mut truth = night.truth.borrow_mut();
    let applied = steps.iter().zip(outcomes).filter(|(_, o)| matches!(o, Outcome::Applied { .. }));
    let applied: Vec<&Step> = applied.map(|(step, _)| step).collect();
    let looked = began.looked.borrow();
    let is_old = |s: &&&Step| {
        s.expect.is_some() && looked.get(&s.task).is_some_and(|servers| *servers != truth.servers)
    };
    if let Some(old) = applied.iter().find(is_old) {
        return Some(format!("{by} {} {}: seen before another server took over", old.action, old.task));
    }
    let ago = truth.now - began.at.get();
    if let Some(gone) = applied.iter().find(|step| step.case.rule() == Rule::HostGone)
        && ago > HOST_LEASE
    {
        return Some(format!("{by} {} {}: it looked at the hosts {ago} s ago", gone.action, gone.task));
    }
    let step = applied.iter().find(|step| is_for_all(by, step))?;
    let rests_on_nothing = applied.iter().any(|step| step.expect.is_none() && is_for_all(by, step));
    if rests_on_nothing && truth.losses != began.losses.get() {
        return Some(format!("{by} {} {}: the board lost words since it looked", step.action, step.task));
    }
    if truth.decided != began.decided.get() {
        return Some(format!("{by} {} {}: another pass decided since it looked", step.action, step.task));
    }
    truth.decisions += 1;
    truth.decided = truth.decisions;
    began.decided.set(truth.decided);
    None
}

/// What a decision must not rest on: who was itself away, or does not hear of most hosts, calls nobody gone.
pub(super) fn decided(night: &Night, host: usize, hosts: Option<&Attended>, decision: &Decision) {
    let Some(hosts) = hosts else { return };
    if decision.findings.iter().any(|f| f.text.contains("nothing is done about the work of")) {
        night.truth.borrow_mut().sum.doubts += 1;
    }
    // One incident, one line.
    for (n, of) in HOSTS.iter().enumerate() {
        let lines = decision
            .findings
            .iter()
            .filter(|f| f.text.contains(name(n)) && !f.text.starts_with("t_"))
            .count();
        if lines > 1 {
            night.broken(format!("{lines} findings about {of} in one pass: {:?}", decision.findings));
        }
    }
    let Some(step) = decision.steps.iter().find(|s| s.case.rule() == Rule::HostGone) else { return };
    let what = {
        let truth = night.truth.borrow();
        let away = truth.hosts[host].before;
        let rows = night.board.rows();
        let holders = |n: &usize| {
            let mut running = rows.tasks.values().filter(|(t, _)| t.status == Status::Running);
            *n != host && running.any(|(t, _)| t.claim_host() == Some(HOSTS[*n]))
        };
        let forgotten = |n: &usize| hosts.hosts.iter().any(|h| h.host == HOSTS[*n] && h.is_forgotten());
        let judged: Vec<usize> = (0..HOSTS.len()).filter(holders).filter(|n| !forgotten(n)).collect();
        let silent = judged.iter().filter(|n| hosts.now.0 - truth.hosts[**n].heard > HOST_LEASE).count();
        let target = step.expect.as_ref().and_then(|e| e.claim_lock.as_deref());
        let is_forgotten =
            target.is_some_and(|lock| (0..HOSTS.len()).any(|n| lock.starts_with(HOSTS[n]) && forgotten(&n)));
        let is_old = truth.now - truth.over_at > 2 * HOST_LEASE;
        match () {
            () if !is_old => None,
            () if away.is_none_or(|at| hosts.now.0 - at > HOST_LEASE) => Some("was away itself"),
            () if 2 * silent > judged.len() + 1 && !is_forgotten => Some("hears of few hosts"),
            () => None,
        }
    };
    if let Some(what) = what {
        night.broken(format!("{} {what}, and calls the host of {} gone", name(host), step.task));
    }
}

/// What is taken from a host on which `heal` ran again by the last look before the write.
pub(super) fn back(night: &Night, steps: &[Step]) -> Option<String> {
    let hosts = night.board.hosts_mut();
    let mut gone = steps.iter().filter(|s| s.case.rule() == Rule::HostGone);
    gone.find_map(|step| {
        let host = claim_host(step.expect.as_ref()?.claim_lock.as_deref()?);
        let (_, known) = hosts.all.get(host).filter(|(_, h)| !h.is_forgotten())?;
        let ago = hosts.now.since(known.healed_at?);
        (ago < GONE).then(|| format!("{host} counts as gone, and heal ran there {ago} s ago: {}", step.task))
    })
}

/// What must hold at any moment.
pub(super) fn now(night: &Night, part: i64) {
    if let Some(what) = owners(night, part).or_else(|| late(night)).or_else(|| dead(night)) {
        night.broken(what);
    }
}

/// Two that work on one task.
fn owners(night: &Night, part: i64) -> Option<String> {
    let mut truth = night.truth.borrow_mut();
    let at_work = |w: &&Worker| w.lives && w.has_harness && truth.hosts[w.host].runs();
    let all: Vec<&Worker> = truth.workers.iter().filter(at_work).collect();
    let rows = night.board.rows();
    let holds = |w: &Worker| rows.tasks.get(&w.task).is_some_and(|(t, _)| w.holds(t));
    let mut found = Vec::new();
    for (n, a) in all.iter().enumerate() {
        for b in all[n + 1..].iter().filter(|b| b.task == a.task) {
            let reach = truth.hosts[a.host].reaches() && truth.hosts[b.host].reaches();
            let first = a.began.min(b.began);
            let excused = a.is_loose || b.is_loose || truth.lossy_at >= first;
            // Where words were lost twice, the claims of both are. A run that is over is given until the next heartbeat.
            let most = match (excused, reach) {
                (false, _) => 0,
                (true, true) if holds(a) || holds(b) => BESIDE,
                (true, true) => 2 * BESIDE,
                (true, false) => TTL,
            };
            found.push(((a.no, b.no), a.task.clone(), most, (a.host, b.host)));
        }
    }
    for (pair, task, most, (one, other)) in found {
        let both = truth.beside.entry(pair).or_default();
        *both += part;
        let both = *both;
        if both > most {
            let (one, other) = (name(one), name(other));
            return Some(format!("{task} is worked on by {one} and {other} for {both} s"));
        }
    }
    None
}

/// Work of a host that is gone, which nobody goes on with.
fn late(night: &Night) -> Option<String> {
    let truth = night.truth.borrow();
    if truth.now % 60 != 0 || truth.now - truth.over_at < ROUNDS {
        return None;
    }
    let rows = night.board.rows();
    for (t, _) in rows.tasks.values().filter(|(t, _)| t.status == Status::Running) {
        let Some(host) = HOSTS.iter().position(|h| t.claim_host() == Some(*h)) else { continue };
        let Some(expires) = t.claim_expires.filter(|_| !truth.hosts[host].reaches()) else { continue };
        let due = expires.0.max(truth.hosts[host].heard) + GONE;
        let others = (0..HOSTS.len()).filter(|n| *n != host);
        let long = |since: Option<i64>| since.is_some_and(|since| truth.now - since > ROUNDS);
        let is_well = |n: &usize| {
            let h = &truth.hosts[*n];
            let heals = h.healed.is_some_and(|at| truth.now - at <= HOST_LEASE);
            long(h.well_since) && heals && long(h.steady_since)
        };
        let well = others.filter(is_well);
        if well.count() == HOSTS.len() - 1 && truth.now - due > ROUNDS {
            return Some(format!(
                "{} was heard of {} s ago, and nobody goes on with {}",
                name(host),
                truth.now - truth.hosts[host].heard,
                t.id
            ));
        }
    }
    None
}

/// Tasks in triage of which a person was told, or with a question to one, and what waits for those.
pub(super) fn told(all: &BTreeMap<String, Detail>) -> BTreeSet<String> {
    let is_told = |d: &&Detail| {
        let since = d.events.iter().rev().take_while(|e| e.kind != EventKind::BlockLoopDetected);
        let mut ours = since.filter(|e| e.by() == Some("route-blocked"));
        let is_asked = needs_operator::asked_in_triage(d).is_some();
        d.task.status == Status::Triage && (is_asked || ours.any(|e| e.kind == EventKind::Detected))
    };
    let mut told: BTreeSet<String> = all.values().filter(is_told).map(|d| d.task.id.clone()).collect();
    loop {
        let waits =
            |d: &&Detail| d.task.status == Status::Todo && d.parents.iter().any(|p| told.contains(&p.id));
        let more: Vec<String> = all.values().filter(waits).map(|d| d.task.id.clone()).collect();
        let known = told.len();
        told.extend(more);
        if told.len() == known {
            return told;
        }
    }
}

/// Running work whose worker is not there any more, on a host that is well, and nobody goes on with it.
fn dead(night: &Night) -> Option<String> {
    let mut truth = night.truth.borrow_mut();
    if truth.now % 60 != 0 {
        return None;
    }
    let rows = night.board.rows();
    let (now, mut alone) = (truth.now, BTreeMap::new());
    for (t, _) in rows.tasks.values().filter(|(t, _)| t.status == Status::Running) {
        let host = HOSTS.iter().position(|h| t.claim_host() == Some(*h));
        let long = |since: Option<i64>| since.is_some_and(|since| now - since > ROUNDS);
        let is_well = host.map(|n| &truth.hosts[n]).is_some_and(|h| {
            let heals = h.healed.is_some_and(|at| now - at <= HOST_LEASE);
            heals && long(h.well_since) && long(h.steady_since)
        });
        if !is_well || truth.workers.iter().any(|w| w.task == t.id && w.holds(t)) {
            continue;
        }
        let key = (t.current_run.unwrap_or(0), t.id.clone());
        let since = truth.alone.get(&key).copied().unwrap_or(now);
        if now - since > ROUNDS {
            return Some(format!("nobody works on {} for {} s, and its host is well", t.id, now - since));
        }
        alone.insert(key, since);
    }
    truth.alone = alone;
    None
}

/// Every end that was acknowledged is there.
pub(super) fn kept(night: &Night) -> Option<String> {
    let rows = night.board.rows();
    let is_done = |id: &String| rows.tasks.get(id).is_some_and(|(t, _)| t.status.frees_children());
    let truth = night.truth.borrow();
    truth.ended.iter().find(|id| !is_done(id)).map(|id| format!("{id} was done, and is not any more"))
}
