//! Which running attempts show that their provider answers.
//!
//! That one lives and beats is not enough. Hermes beats while it waits for an answer, and between two tries of a request that
//! was refused (0.19.0, `_touch_activity`); `board run` beats for as long as its command lives.

use std::collections::BTreeSet;

use crate::World;
use crate::attempts::worker::{AtWork, ask, workers};
use base::cause::Cause;
use base::error::Result;
use base::time::Time;
use board::{Detail, Run};
use config::Config;
use config::span::seconds;
use host::Life;
use logs::{Signal, SignalKind};

/// Most attempts that are asked about in one pass; the youngest ones, as an older one says nothing of a hold that ended since.
const MAX_ASKED: usize = 32;

/// Running attempts that have worked for long enough and were answered, of those that matter.
pub(crate) fn answered<'a>(
    world: &mut World<'_>,
    runs: &'a [(String, Run)],
    matters: impl Fn(&Run) -> bool,
    now: Time,
) -> Result<Vec<(&'a str, &'a Run)>> {
    let pace = seconds(world.config.routing.pace);
    // The board gives its runs the oldest first.
    let youngest = runs.iter().rev().filter(|(_, run)| worked(run, pace) && matters(run));
    let lasting: Vec<&(String, Run)> = youngest.take(MAX_ASKED).collect();
    let ids: Vec<String> = lasting.iter().map(|(task, _)| task.clone()).collect();
    let details = world.board.look(&ids)?;
    // What another host runs counts there, by what it lets go on; here it would count as answered because nothing is known of it.
    let here: Vec<&Detail> = details.iter().filter(|d| world.abroad(d).is_none()).collect();
    let workers = workers(world, &here, now);
    let mut answered = BTreeSet::new();
    for (detail, worker) in here.into_iter().zip(workers) {
        if was_answered(detail, worker).unwrap_or(true) && !is_refused(world, detail, now) {
            answered.insert(&detail.task.id);
        }
    }
    let is_answered = |(task, _): &&&(String, Run)| answered.contains(task);
    Ok(lasting.iter().filter(is_answered).map(|(task, run)| (task.as_str(), run)).collect())
}

/// Whether the worker of a task was answered since its attempt began; `None` where nothing here tells of that.
fn was_answered(detail: &Detail, worker: Option<AtWork>) -> Option<bool> {
    let AtWork { look, vitals, .. } = worker?;
    let is_hermes = ask(detail).is_some_and(|ask| ask.hermes_spawned);
    shows_an_answer(look.life, vitals.map(|v| v.turns), is_hermes)
}

/// The same by what is known of the worker: whether it lives, its number of answers where its files tell one, whether Hermes started it.
fn shows_an_answer(life: Life, turns: Option<Option<u64>>, is_hermes: bool) -> Option<bool> {
    match (life, turns) {
        (Life::Gone, _) => Some(false),
        (_, Some(turns)) => turns.map(|turns| turns > 0),
        // Hermes writes each answer down as it comes, and beats without any.
        (Life::Alive | Life::Unknown, None) => is_hermes.then_some(false),
    }
}

/// Whether the log of a running attempt tells that it is refused again and again now: it beats all the same.
fn is_refused(world: &mut World<'_>, detail: &Detail, now: Time) -> bool {
    let Some(run) = detail.current_run() else { return false };
    let (profile, since) = (run.profile.as_deref(), run.started_at);
    let reading = world.log(&detail.task.id, profile, detail.words_file(), since, now);
    repeated(&reading.signals, since, now, world.config).is_some()
}

/// The newest refusal of a provider, if there were enough of them within the window.
pub fn repeated<'a>(signals: &'a [Signal], since: Time, now: Time, config: &Config) -> Option<&'a Signal> {
    let window = seconds(config.distress.window);
    let counts = |g: &&Signal| {
        let c = g.evidence.cause;
        let refused = c.is_provider_pressure() || matches!(c, Cause::Credential | Cause::ModelMissing);
        let recent = g.evidence.at.is_some_and(|at| at >= since && (0..=window).contains(&now.since(at)));
        refused && recent && g.kind != SignalKind::Tool
    };
    let all: Vec<&Signal> = signals.iter().filter(counts).collect();
    let enough = all.len() >= usize::try_from(config.distress.repeat).unwrap_or(usize::MAX);
    all.last().copied().filter(|_| enough)
}

/// Whether an attempt runs, and beat this many seconds after it began or later.
fn worked(run: &Run, seconds: i64) -> bool {
    let runs = run.outcome.is_none() && run.ended_at.is_none() && run.profile.is_some();
    runs && run.last_heartbeat_at.is_some_and(|beat| beat >= run.started_at.plus(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_shows_of_its_provider() {
        let (none, unread) = (None, Some(None));
        for (life, turns, is_hermes, shows) in [
            (Life::Alive, Some(Some(3)), true, Some(true)),
            (Life::Alive, Some(Some(0)), false, Some(false)),
            (Life::Alive, unread, true, None),
            // Its heart beats also while it waits for an answer, and who may be gone shows no more than who lives.
            (Life::Alive, none, true, Some(false)),
            (Life::Unknown, none, true, Some(false)),
            (Life::Alive, none, false, None),
            (Life::Unknown, none, false, None),
            (Life::Gone, Some(Some(3)), false, Some(false)),
            (Life::Gone, none, true, Some(false)),
        ] {
            assert_eq!(shows_an_answer(life, turns, is_hermes), shows, "{life:?} {turns:?} {is_hermes}");
        }
    }
}
