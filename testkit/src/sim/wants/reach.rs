//! Who was answered and who was not, by the truth of a night: addresses at which nobody answers.

use std::collections::BTreeMap;

use shared::base::cause::Cause;
use shared::board::{Detail, Status};

use super::super::trials;
use super::super::truth::{Job, Plan, Truth};
use super::{Need, Stand, is_over};

/// So many attempts in a row, over so many seconds, are a need.
const MISSES: usize = 3;
const LASTS: i64 = 900;
/// Seconds between two attempts after which they are two troubles.
const APART: i64 = 10_800;
/// Seconds after which a running attempt may count as answered.
pub(super) const WORKED: i64 = 600;

/// An attempt that found nobody.
#[derive(Debug, Clone)]
struct Miss {
    second: i64,
    task: String,
    run: i64,
    profile: String,
    /// Its log said so as it ended.
    is_known: bool,
    /// A watcher wrote it down.
    is_noted: bool,
}

/// What the night knows of that, by provider.
#[derive(Debug, Clone, Default)]
pub(super) struct Reach {
    misses: BTreeMap<String, Vec<Miss>>,
    /// When an attempt may have been answered last, and when one surely was.
    maybe: BTreeMap<String, i64>,
    surely: BTreeMap<String, i64>,
    /// How the newest finished attempt of each task ended: its provider and its number, where it found nobody.
    newest: BTreeMap<String, (String, i64)>,
    /// Tasks whose present attempt looks like one that was answered.
    blurred: std::collections::BTreeSet<String>,
}

impl Reach {
    /// What an attempt of this task used looks like answers.
    pub(super) fn blur(&mut self, task: &str) {
        self.blurred.insert(task.to_owned());
    }

    /// An attempt of a task died, and so did not find nobody.
    pub(super) fn died(&mut self, task: &str, run: i64) {
        self.newest.retain(|other, (_, newest)| other != task || *newest > run);
    }

    /// A watcher wrote down of the newest attempt of a task that nobody answered it.
    pub(super) fn noted(&mut self, task: &str) {
        let Some((provider, run)) = self.newest.get(task) else { return };
        let all = self.misses.get_mut(provider).into_iter().flatten();
        all.filter(|m| m.task == task && m.run == *run).for_each(|m| m.is_noted = true);
    }
}

/// An attempt came to its end.
pub(super) fn ended(truth: &mut Truth, job: &Job, provider: &str, is_known: bool) {
    let second = truth.second;
    let wants = &mut truth.wants;
    let is_own = wants.owned.contains(&(job.task.clone(), job.run));
    let is_blurred = wants.reach.blurred.remove(&job.task);
    let reach = &mut wants.reach;
    match job.plan {
        Plan::Refused(Cause::ConnectionRefused) => {
            if is_blurred {
                reach.maybe.insert(provider.to_owned(), second);
            }
            let (task, run, profile) = (job.task.clone(), job.run, job.profile.clone());
            let is_known = is_known && is_own;
            let miss = Miss { second, task, run, profile, is_known, is_noted: false };
            reach.misses.entry(provider.to_owned()).or_default().push(miss);
            reach.newest.insert(job.task.clone(), (provider.to_owned(), job.run));
            return;
        }
        Plan::Finish | Plan::Decide => {
            reach.maybe.insert(provider.to_owned(), second);
            reach.surely.insert(provider.to_owned(), second);
        }
        Plan::Die | Plan::DieLeaving if !is_blurred => {}
        _ => drop(reach.maybe.insert(provider.to_owned(), second)),
    }
    reach.newest.remove(&job.task);
}

/// What is new since the last look: an attempt that has worked for long was answered, as far as a program can tell.
pub(super) fn note(truth: &mut Truth) {
    let second = truth.second;
    let began = |j: &Job| truth.wants.began.get(&(j.task.clone(), j.run)).copied().unwrap_or(second);
    let beats = |j: &Job| j.plan != Plan::Hang && !truth.trials.silent.contains(&(j.task.clone(), j.run));
    let works =
        |j: &&Job| beats(j) && second - began(j) >= WORKED || truth.wants.reach.blurred.contains(&j.task);
    let at = |j: &Job| truth.provider_of(&j.profile).map(|p| p.name.to_owned());
    let all: Vec<String> = truth.jobs.iter().filter(works).filter_map(at).collect();
    truth.wants.reach.maybe.extend(all.into_iter().map(|provider| (provider, second)));
}

/// Whether a task waits for an address at which nobody answers. `None`: it does not, and other reasons count.
pub(super) fn of_task(
    truth: &Truth,
    all: &BTreeMap<String, Detail>,
    d: &Detail,
    cards: &[&Detail],
) -> Option<Stand> {
    let (wants, id) = (&truth.wants, &d.task.id);
    let reach = &wants.reach;
    let profile = d.task.assignee.clone().unwrap_or_default();
    let own = truth.provider_of(&profile)?.name;
    let misses = reach.misses.get(own)?;
    let after = |at: Option<&i64>| at.copied().unwrap_or(i64::MIN);
    let (maybe, surely) = (after(reach.maybe.get(own)), after(reach.surely.get(own)));
    let may_be: Vec<&Miss> = misses.iter().filter(|m| m.second >= surely).collect();
    // Of these a watcher is sure to know: what is written on the board, and what the log of an open task says last.
    let is_open = |m: &&&Miss| all.get(&m.task).is_some_and(|d| !is_over(d) && !d.task.is_card());
    let is_newest = |m: &Miss| reach.newest.get(&m.task).is_some_and(|(_, run)| *run == m.run);
    let reads = |m: &Miss| m.is_known && is_newest(m) && !trials::is_veiled(truth, &m.task);
    let kept = |m: &Miss| truth.trials.keys.get(&m.profile).is_none_or(|k| k.changed.is_none());
    let known: Vec<&&Miss> = may_be
        .iter()
        .filter(|m| m.second > maybe && (m.is_noted || reads(m)) && kept(m))
        .filter(is_open)
        .collect();
    let span =
        |first: Option<&Miss>, last: Option<&Miss>| first.zip(last).map_or(0, |(a, b)| b.second - a.second);
    let is_long = |n: usize, lasts: i64| n >= MISSES && lasts >= LASTS;
    let is_set = |m: Option<&Miss>| m.is_none_or(|m| truth.clock_set >= m.second);
    let is_one = known.windows(2).all(|pair| pair[1].second - pair[0].second < APART);
    let is_so = is_one && is_long(known.len(), span(known.first().map(|m| **m), known.last().map(|m| **m)));
    let may = is_long(may_be.len(), span(may_be.first().copied(), may_be.last().copied()))
        || (is_set(may_be.first().copied()) && may_be.len() >= MISSES);
    if !may {
        return None;
    }
    let is_its = reach.newest.get(id).is_some_and(|(provider, _)| provider == own);
    if !is_its {
        return None;
    }
    let is_plain = matches!(d.task.status, Status::Blocked | Status::Ready | Status::Running)
        || d.task.status == Status::Scheduled && wants.held.contains_key(id);
    let is_read = known.iter().any(|m| m.task == *id && is_newest(m) && reads(m));
    let is_clear = cards.is_empty() && !wants.forged.contains_key(id) && d.task.claim_lock.is_none()
        || d.task.status == Status::Running && cards.is_empty() && !wants.forged.contains_key(id);
    // Where the address works again meanwhile, perhaps no attempt has been answered yet.
    let is_cut =
        truth.provider_of(&profile).is_some_and(|p| matches!(p.refuses, Some((Cause::ConnectionRefused, _))));
    match is_so && is_cut && is_plain && is_clear && is_read && !is_set(known.first().map(|m| **m)) {
        true => Some(Stand::Needs(Need::Endpoint, known.first().map_or(0, |m| m.second))),
        false => Some(Stand::Either),
    }
}
