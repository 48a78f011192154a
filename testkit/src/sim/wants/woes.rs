//! What only a person mends, or what lasts for hours: strikes of nights that are asked.

use serde_json::json;
use shared::base::cause::Cause;
use shared::board::{Change, EventKind, Status};

use super::super::hands::{act, event, look};
use super::super::passes::Program;
use super::super::truth::{PROFILES, Truth};
use super::super::{Sim, upheaval};

/// Perhaps one of them happens.
pub(in crate::sim) fn strike(sim: &Sim) {
    let (which, hours) = {
        let mut truth = sim.truth.borrow_mut();
        if !truth.wants.on || !truth.wants.chance.percent(12) {
            return;
        }
        truth.stir += 1;
        (truth.wants.chance.below(11), truth.wants.chance.between(1_200, 14_400))
    };
    let mut truth = sim.truth.borrow_mut();
    let until = truth.second + hours;
    match which {
        0 | 1 => {
            drop(truth);
            upheaval::stop_dispatcher(sim);
            sim.truth.borrow_mut().wants.away = Some(until);
        }
        2 => hang(&mut truth, until),
        3 => truth.wants.split = Some(truth.second + hours / 4),
        4 => truth.wants.off = Some(until),
        5 => {
            let program = truth.wants.chance.pick(&Program::ALL).copied().unwrap_or(Program::Heal);
            truth.wants.failing = Some((program, until));
        }
        6 => refuse_key(&mut truth),
        7 => use_up(&mut truth, until),
        10 => cut_off(&mut truth, until),
        _ => {
            drop(truth);
            block(sim);
        }
    }
}

/// What is over by now.
pub(in crate::sim) fn due(sim: &Sim) {
    let returns = {
        let mut truth = sim.truth.borrow_mut();
        let (second, dispatcher) = (truth.second, truth.dispatcher);
        let wants = &mut truth.wants;
        // It was stopped meanwhile, and perhaps another one started.
        wants.stuck = wants.stuck.filter(|(pid, _, _)| Some(*pid) == dispatcher);
        if !wants.on {
            return;
        }
        wants.split = wants.split.filter(|until| *until > second);
        wants.off = wants.off.filter(|until| *until > second);
        wants.failing = wants.failing.filter(|(_, until)| *until > second);
        let is_over = wants.stuck.is_some_and(|(_, _, until)| until <= second);
        let is_back = wants.away.is_some_and(|until| until <= second);
        wants.away = wants.away.filter(|_| !is_back);
        is_over || is_back
    };
    if returns {
        restart(sim);
    }
}

/// A person ends a dispatcher that hangs, and starts it again; or one that was away.
fn restart(sim: &Sim) {
    if sim.truth.borrow().wants.stuck.is_some() {
        upheaval::stop_dispatcher(sim);
        sim.truth.borrow_mut().wants.stuck = None;
    }
    upheaval::start_dispatcher(sim);
}

/// The dispatcher hangs in its lock.
fn hang(truth: &mut Truth, until: i64) {
    if let Some(pid) = truth.dispatcher {
        truth.wants.stuck = Some((pid, truth.second, until));
        truth.tell(|| "the dispatcher hangs in its lock".into());
    }
}

/// A key is refused until the operator puts another one in.
fn refuse_key(truth: &mut Truth) {
    let name = truth.wants.chance.pick(&PROFILES).map_or("luna", |(name, _, _)| *name);
    truth.trials.keys.entry(name.into()).or_default().is_refused = true;
    truth.tell(|| format!("the key of {name} is refused until somebody mends it"));
}

/// A quota is used up, for hours.
fn use_up(truth: &mut Truth, until: i64) {
    let which = truth.wants.chance.below(3) as usize;
    if let Some(p) = truth.providers.get_mut(which) {
        p.refuses = Some((Cause::Quota, until + 7_200));
        let name = p.name;
        truth.tell(|| format!("the quota at {name} is used up for hours"));
    }
}

/// Nobody answers at the address of the provider that most tasks are for, for hours.
fn cut_off(truth: &mut Truth, until: i64) {
    let at = |provider: usize| {
        let of_it = |name: &str| PROFILES.iter().any(|(p, at, _)| *p == name && *at == provider);
        truth.wants.assigned.values().filter(|name| of_it(name)).count()
    };
    let which = (0..truth.providers.len()).max_by_key(|provider| at(*provider)).unwrap_or(0);
    if let Some(p) = truth.providers.get_mut(which) {
        p.refuses = Some((Cause::ConnectionRefused, until + 7_200));
        let name = p.name;
        truth.tell(|| format!("nobody answers at {name} for hours"));
    }
}

/// A person blocks a task by hand, with a question or without one.
fn block(sim: &Sim) {
    let mut board = sim.open();
    let ready = board.glance(&[Status::Ready, Status::Todo]).unwrap_or_default();
    let ready: Vec<_> = ready.into_iter().filter(|t| !t.is_card()).collect();
    let (t, kind, now) = {
        let mut truth = sim.truth.borrow_mut();
        let t = truth.wants.chance.pick(&ready).cloned();
        let kind = if truth.wants.chance.percent(50) { Some("needs_input") } else { None };
        (t, kind, truth.now)
    };
    let Some(d) = t.and_then(|t| look(&mut *board, &t.id)) else { return };
    let mut payload = json!({"reason": "MIT or Apache?"});
    if let Some(kind) = kind {
        payload["kind"] = json!(kind);
    }
    let changes = vec![
        Change::SetStatus(Status::Blocked),
        Change::SetBlock { kind: kind.map(str::to_owned), recurrences: 1 },
        event(EventKind::Blocked, payload),
    ];
    if act(&mut *board, now, &d, changes) {
        let mut truth = sim.truth.borrow_mut();
        truth.wants.asked.insert(d.task.id.clone());
        truth.tell(|| format!("somebody blocks {} by hand, {kind:?}", d.task.id));
    }
}
