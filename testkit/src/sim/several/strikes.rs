//! What befalls hosts, their links, their workers, providers and the server.

use shared::base::time::Time;
use shared::board::hermes;
use shared::board::{Board, Outcome, Status, Step};
use shared::logs::cache::Cache;

use super::super::hands::look;
use super::work::{self, Plan};
use super::{Actor, Due, HOSTS, Loss, Night, SLOTS, Truth, name, trail};

/// Something happens.
pub(super) fn strike(night: &Night) {
    let (which, host, seconds) = {
        let mut truth = night.truth.borrow_mut();
        if truth.is_calm {
            return;
        }
        let host = truth.chance.below(HOSTS.len() as u64) as usize;
        // Shorter and longer than the lease of a host, than a claim, and than a claim and `host.gone_after` together.
        let spans = [(10, 240), (120, 900), (900, 2_700), (2_700, 7_200)];
        let (from, to) = *truth.chance.pick(&spans).unwrap_or(&spans[0]);
        (truth.chance.below(100), host, truth.chance.between(from, to))
    };
    match which {
        0..=21 => cut(night, host, seconds),
        22..=27 => {
            // Most hosts at once, for as long or nearly so.
            let more = night.truth.borrow_mut().chance.between(0, 200);
            night.truth.borrow_mut().sum.most += 1;
            cut(night, host, seconds);
            cut(night, (host + 1) % HOSTS.len(), seconds + more);
        }
        28..=37 => suspend(night, host, seconds),
        38..=43 => switch_off(night, host, seconds),
        44 | 45 => {
            let mut truth = night.truth.borrow_mut();
            let until = truth.now + seconds;
            truth.sum.no_heal += 1;
            truth.hosts[host].no_heal = until;
            truth.tell(|| format!("no heal runs on {} for {seconds} s", name(host)));
        }
        46..=53 => kill(night, false),
        // A whole crew at once.
        54..=57 => (0..6).for_each(|_| kill(night, false)),
        58..=67 => kill(night, true),
        68..=77 => fail_over(night),
        78..=87 => limit(night, seconds),
        _ => operate(night),
    }
}

fn later(truth: &mut Truth, seconds: i64, host: usize, due: Due) {
    truth.due.retain(|(_, h, d)| (*h, *d) != (host, due));
    truth.due.push((truth.now + seconds, host, due));
}

fn cut(night: &Night, host: usize, seconds: i64) {
    let mut truth = night.truth.borrow_mut();
    truth.hosts[host].is_cut = true;
    truth.hosts[host].well_since = None;
    match seconds < shared::board::HOST_LEASE {
        true => truth.sum.cuts += 1,
        false => truth.sum.long_cuts += 1,
    }
    truth.tell(|| format!("{} is cut off for {seconds} s", name(host)));
    later(&mut truth, seconds, host, Due::Mend);
}

/// A host is cut off in the middle of a word: for a moment, or for long.
pub(super) fn flap(night: &Night, host: usize) {
    let seconds = {
        let mut truth = night.truth.borrow_mut();
        if truth.chance.percent(90) { truth.chance.between(3, 60) } else { truth.chance.between(60, 4_000) }
    };
    cut(night, host, seconds);
}

pub(super) fn suspend(night: &Night, host: usize, seconds: i64) {
    let mut truth = night.truth.borrow_mut();
    if truth.hosts[host].is_off || truth.hosts[host].is_asleep {
        return;
    }
    truth.sum.sleeps += 1;
    (truth.hosts[host].is_asleep, truth.hosts[host].well_since) = (true, None);
    truth.tell(|| format!("{} is suspended for {seconds} s", name(host)));
    later(&mut truth, seconds, host, Due::Wake);
}

fn switch_off(night: &Night, host: usize, seconds: i64) {
    let mut truth = night.truth.borrow_mut();
    if truth.hosts[host].is_off {
        return;
    }
    truth.sum.offs += 1;
    let h = &mut truth.hosts[host];
    (h.is_off, h.is_asleep, h.well_since) = (true, false, None);
    let gone: Vec<_> = truth.workers.iter().filter(|w| w.host == host).map(|w| w.no).collect();
    gone.into_iter().for_each(|no| work::forget(&mut truth, no));
    // The others go on without it.
    let is_last = truth.hosts.iter().filter(|h| h.is_burnt).count() > 0;
    let is_burnt = !is_last && truth.chance.percent(15);
    truth.hosts[host].is_burnt = is_burnt;
    truth.sum.burnt += u64::from(is_burnt);
    truth.tell(|| match is_burnt {
        true => format!("{} is switched off for good", name(host)),
        false => format!("{} is switched off for {seconds} s", name(host)),
    });
    if !is_burnt {
        later(&mut truth, seconds, host, Due::Boot);
    }
}

/// A worker dies, or its harness alone, or both.
fn kill(night: &Night, harness: bool) {
    let mut truth = night.truth.borrow_mut();
    let able = |w: &&work::Worker| w.lives && w.has_harness && truth.hosts[w.host].runs();
    let all: Vec<u64> = truth.workers.iter().filter(able).map(|w| w.no).collect();
    let Some(no) = truth.chance.pick(&all).copied() else { return };
    let both = harness && truth.chance.percent(30);
    let now = truth.now;
    let Some(w) = truth.workers.iter_mut().find(|w| w.no == no) else { return };
    let (task, host) = (w.task.clone(), w.host);
    if !harness {
        w.plan = Plan::Die;
        w.ends = now;
        return;
    }
    w.has_harness = false;
    truth.sum.orphans += u64::from(!both);
    truth.sum.deaths += u64::from(both);
    truth.tell(|| {
        let rest = if both { "its worker with it" } else { "its worker goes on" };
        format!("the harness of {task} on {} is killed, {rest}", name(host))
    });
    if both {
        work::forget(&mut truth, no);
    }
}

/// A provider refuses every worker that uses it, on every host.
fn limit(night: &Night, seconds: i64) {
    let mut truth = night.truth.borrow_mut();
    let which = truth.chance.below(2) as usize;
    let until = truth.now + seconds;
    truth.limits[which] = truth.limits[which].max(until);
    truth.tell(|| format!("the provider of {} limits for {seconds} s", SLOTS[which]));
    // Those at work are refused at once, or a moment later.
    let hit: Vec<u64> = truth.workers.iter().filter(|w| w.slot == which && w.lives).map(|w| w.no).collect();
    for no in hit {
        let at = truth.now + truth.chance.between(0, 90);
        if let Some(w) = truth.workers.iter_mut().find(|w| w.no == no && w.plan != Plan::Die) {
            (w.plan, w.ends) = (Plan::Refused, at);
        }
    }
}

/// Another server takes over, at once and knowing all, or in a moment and without the last words.
pub(super) fn fail_over(night: &Night) {
    let lost = {
        let mut truth = night.truth.borrow_mut();
        match truth.chance.below(10) {
            _ if truth.is_calm || truth.is_one_server => return,
            0..=3 => 0,
            4..=8 => truth.chance.between(1, 8),
            _ => truth.chance.between(8, 60),
        }
    };
    if lost > 0 {
        return will_lose(night, lost);
    }
    let mut truth = night.truth.borrow_mut();
    night.board.fail_over(None);
    (truth.sum.failovers, truth.servers, truth.over_at) =
        (truth.sum.failovers + 1, truth.servers + 1, truth.now);
    truth.tell(|| "another server takes over, and knows all".into());
}

/// Another server takes over within so many seconds, and will not know what is said from now on.
pub(super) fn will_lose(night: &Night, most: i64) {
    let mut truth = night.truth.borrow_mut();
    if truth.is_calm || truth.is_one_server || truth.loss.is_some() {
        return;
    }
    let at = truth.now + truth.chance.between(0, most + 1);
    let (ended, held) = (truth.ended.clone(), truth.held.clone());
    truth.tell(|| "what is said from now on is not replicated".into());
    let decided = truth.decided;
    truth.loss = Some(Loss { at, knows: night.board.fork(), ended, held, decided });
}

fn loses(night: &Night) {
    let mut truth = night.truth.borrow_mut();
    let now = truth.now;
    let Some(Loss { knows, ended, held, decided, .. }) = truth.loss.take_if(|loss| loss.at <= now) else {
        return;
    };
    let taken = truth.ended.difference(&ended).count() as u64;
    (truth.ended, truth.held, truth.decided) = (ended, held, decided);
    (truth.servers, truth.losses) = (truth.servers + 1, truth.losses + 1);
    (truth.lossy_at, truth.over_at) = (now, now);
    (truth.sum.lossy, truth.sum.taken) = (truth.sum.lossy + 1, truth.sum.taken + taken);
    night.board.fail_over(Some(&knows));
    truth.tell(|| "another server takes over, and does not know what was said since".into());
}

/// The watchers of all hosts run at the same moment.
pub(super) fn rush(night: &Night) {
    let mut truth = night.truth.borrow_mut();
    let now = truth.now;
    truth.hosts.iter_mut().for_each(|h| h.next = [now; 3]);
}

/// A host is there again at once, and its `heal` runs.
pub(super) fn comes_back(night: &Night, host: usize) {
    let mut truth = night.truth.borrow_mut();
    if truth.hosts[host].is_burnt {
        return;
    }
    let now = truth.now;
    truth.due.iter_mut().filter(|(_, h, _)| *h == host).for_each(|(at, ..)| *at = now);
    drop(truth);
    due(night);
    night.truth.borrow_mut().hosts[host].next = [now; 3];
}

/// A word of the operator.
fn operate(night: &Night) {
    let (id, which, burnt) = {
        let mut truth = night.truth.borrow_mut();
        let known: Vec<String> = night.board.rows().tasks.keys().cloned().collect();
        // An operator looks first at what works on without its harness.
        let odd: Vec<String> =
            truth.workers.iter().filter(|w| !w.has_harness).map(|w| w.task.clone()).collect();
        let of = if !odd.is_empty() && truth.chance.percent(60) { odd } else { known };
        let Some(id) = truth.chance.pick(&of).cloned() else { return };
        let burnt = truth.hosts.iter().position(|h| h.is_burnt);
        (id, truth.chance.below(4), burnt)
    };
    if let Some(host) = burnt.filter(|_| which == 3) {
        night.truth.borrow_mut().tell(|| format!("board host forget {}", name(host)));
        // One that never attended needs no forgetting.
        drop(night.board.clone().forget_host(HOSTS[host]));
        return;
    }
    let Some(seen) = look(&mut night.board.clone(), &id) else { return };
    if seen.task.is_card() {
        return;
    }
    let trail = trail("board", "word");
    let blocks = matches!(seen.task.status, Status::Running | Status::Ready) && which < 2;
    let frees = seen.task.status == Status::Blocked && which == 2;
    let changes = match (blocks, frees) {
        (true, _) => hermes::blocked(&seen, "wait for me", Some("needs_input"), &trail),
        (_, true) => hermes::unblocked(&seen, &trail),
        _ => return,
    };
    speak(night, &id, seen_step(&seen, changes), blocks);
}

fn seen_step(seen: &shared::board::Detail, changes: Vec<shared::board::Change>) -> Step {
    Step::on(seen, "hand".into(), "hand".into(), changes)
}

fn speak(night: &Night, id: &str, step: Step, blocks: bool) {
    let now = Time(night.truth.borrow().now);
    let said = night.say(Actor::Operator, None, now, step);
    let mut truth = night.truth.borrow_mut();
    if !matches!(said, Ok(Outcome::Applied { .. })) {
        return;
    }
    truth.tell(|| format!("the operator {} {id}", if blocks { "blocks" } else { "frees" }));
    truth.workers.iter_mut().filter(|w| w.task == id).for_each(|w| w.is_loose = true);
    if blocks {
        let until = truth.now + truth.chance.between(300, 5_000);
        truth.held.insert(id.to_owned(), until);
    } else {
        truth.held.remove(id);
    }
}

/// What is due by now.
pub(super) fn due(night: &Night) {
    loses(night);
    let (due, freed) = {
        let mut truth = night.truth.borrow_mut();
        let now = truth.now;
        let due: Vec<_> = truth.due.iter().filter(|(at, ..)| *at <= now).copied().collect();
        truth.due.retain(|(at, ..)| *at > now);
        let freed: Vec<String> =
            truth.held.iter().filter(|(_, at)| **at <= now).map(|(id, _)| id.clone()).collect();
        (due, freed)
    };
    for (_, host, what) in due {
        let mut truth = night.truth.borrow_mut();
        let now = truth.now;
        let h = &mut truth.hosts[host];
        match what {
            Due::Mend => h.is_cut = false,
            Due::Wake => h.is_asleep = false,
            Due::Boot => boot(&mut truth, host),
        }
        let h = &mut truth.hosts[host];
        if h.reaches() && h.well_since.is_none() {
            h.well_since = Some(now);
        }
        truth.tell(|| match what {
            Due::Mend => format!("{} reaches the board again", name(host)),
            Due::Wake => format!("{} is awake again", name(host)),
            Due::Boot => format!("{} is on again", name(host)),
        });
    }
    for id in freed {
        night.truth.borrow_mut().held.remove(&id);
        let Some(seen) = look(&mut night.board.clone(), &id) else { continue };
        if seen.task.status == Status::Blocked {
            let changes = hermes::unblocked(&seen, &trail("board", "word"));
            speak(night, &id, seen_step(&seen, changes), false);
        }
    }
}

fn boot(truth: &mut Truth, host: usize) {
    let now = truth.now;
    let mut chance = truth.chance.clone();
    let h = &mut truth.hosts[host];
    (h.is_off, h.slept) = (false, 0);
    if chance.percent(10) {
        h.memory = Cache::in_memory();
    }
    h.machine.reboot(&mut chance);
    for pid in h.machine.pids(|_| true) {
        h.machine.forget(pid);
    }
    // Timers and services begin a moment after the boot.
    h.next = h.next.map(|_| now + chance.between(5, 150));
    h.looks = h.looks.map(|_| now + chance.between(5, 60));
    truth.chance = chance;
}

/// Everything is well from now on, but for what burnt down.
pub(super) fn calm(night: &Night) {
    let mut truth = night.truth.borrow_mut();
    truth.is_calm = true;
    truth.tell(|| "the world is well".into());
    truth.limits = [0; SLOTS.len()];
    truth.hosts.iter_mut().for_each(|h| h.no_heal = 0);
    let now = truth.now;
    truth.due.iter_mut().for_each(|(at, ..)| *at = now);
    truth.held.values_mut().for_each(|at| *at = now);
    for w in truth.workers.iter_mut().filter(|w| w.plan != Plan::Said) {
        (w.plan, w.ends) = (Plan::Done, w.ends.min(now + 600));
    }
}
