//! Strikes that only trials on real boards taught.

use serde_json::json;
use shared::board::Status;

use super::super::hands::{act, look, reclaimed, unblocked};
use super::super::truth::{PROFILES, Truth};
use super::super::{Sim, upheaval, wants};
use super::{Dispatch, Key};

/// Perhaps something happens that only the trials taught.
pub(in crate::sim) fn strike(sim: &Sim) {
    let which = {
        let mut truth = sim.truth.borrow_mut();
        if !truth.trials.on || !truth.trials.chance.percent(20) {
            return;
        }
        truth.stir += 1;
        truth.trials.chance.below(14)
    };
    match which {
        0..=2 => slip(sim),
        3 | 4 => fall(sim),
        5 | 6 => refuse_key(sim),
        7 => mend_key(sim),
        8 => replace_key(sim),
        9 | 10 => take_back(sim),
        _ => rewrite(sim),
    }
}

/// The clock is set by seconds, as a time server does.
fn slip(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    let by = truth.trials.chance.between(5, 61) * if truth.trials.chance.percent(50) { 1 } else { -1 };
    let before = truth.now;
    truth.wants.sees_clock(before);
    truth.now = truth.now.plus(by);
    truth.clock_set = truth.second;
    truth.tally.slips += 1;
    truth.tell(|| format!("the clock slips by {by} s"));
}

/// The gateway is killed, and away for seconds or minutes.
fn fall(sim: &Sim) {
    if sim.truth.borrow().trials.dispatch != Dispatch::Gateway || sim.truth.borrow().dispatcher.is_none() {
        return;
    }
    upheaval::stop_dispatcher(sim);
    let mut truth = sim.truth.borrow_mut();
    let away = if truth.trials.chance.percent(50) { 20 } else { truth.trials.chance.between(20, 500) };
    truth.trials.returns = Some(truth.second + away);
    truth.tally.restarts += 1;
}

fn some_profile(truth: &mut Truth) -> &'static str {
    truth.trials.chance.pick(&PROFILES).map_or("luna", |(name, _, _)| *name)
}

/// A key is revoked. Nothing on this machine changes.
fn refuse_key(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    let name = some_profile(&mut truth);
    truth.trials.keys.entry(name.into()).or_default().is_refused = true;
    truth.tell(|| format!("the key of {name} is refused from now on"));
}

/// Another key is put into a profile's configuration.
fn mend_key(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    let (name, now) = (some_profile(&mut truth), truth.now);
    let key = truth.trials.keys.entry(name.into()).or_default();
    *key = Key { is_refused: false, version: key.version + 1, changed: Some(now), written: Some(now) };
    truth.tell(|| format!("the configuration of {name} is changed"));
    wants::mended(&mut truth, name);
}

/// A person makes the key work again where nobody can see it, and sets a task of that profile free.
fn replace_key(sim: &Sim) {
    let (name, now) = {
        let mut truth = sim.truth.borrow_mut();
        let name = some_profile(&mut truth);
        truth.trials.keys.entry(name.into()).or_default().is_refused = false;
        truth.tell(|| format!("the key of {name} works again"));
        (name, truth.now)
    };
    let mut board = sim.open();
    let stuck = board.glance(&[Status::Blocked, Status::Scheduled]).unwrap_or_default();
    let Some(t) = stuck.into_iter().find(|t| t.assignee.as_deref() == Some(name)) else { return };
    if let Some(d) = look(&mut *board, &t.id) {
        sim.truth.borrow_mut().tell(|| format!("somebody sets {} free", t.id));
        if act(&mut *board, now, &d, unblocked(&d)) {
            wants::freed(&mut sim.truth.borrow_mut(), &t.id);
        }
    }
}

/// The operator reclaims a task by command line, and its worker lives on.
fn take_back(sim: &Sim) {
    let mut board = sim.open();
    let running = board.glance(&[Status::Running]).unwrap_or_default();
    let Some(t) = sim.truth.borrow_mut().trials.chance.pick(&running).cloned() else { return };
    let Some(d) = look(&mut *board, &t.id).filter(|_| t.claim_host() != Some("lighthouse")) else { return };
    let now = sim.truth.borrow().now;
    sim.truth.borrow_mut().tell(|| format!("somebody takes the claim on {} back", t.id));
    wants::ticked(&mut sim.truth.borrow_mut());
    if act(&mut *board, now, &d, reclaimed(&d, json!({"manual": true}))) {
        wants::freed(&mut sim.truth.borrow_mut(), &t.id);
    }
}

/// Hermes writes a hint of its own into a profile's configuration: its time is new, and nothing that decides.
fn rewrite(sim: &Sim) {
    let mut truth = sim.truth.borrow_mut();
    let (name, now) = (some_profile(&mut truth), truth.now);
    truth.trials.keys.entry(name.into()).or_default().written = Some(now);
    truth.tally.rewrites += 1;
    truth.tell(|| format!("Hermes writes a hint into the configuration of {name}"));
}
