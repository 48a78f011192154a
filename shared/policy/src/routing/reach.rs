//! Addresses of providers at which nobody answers, as the ends of attempts show it.
//!
//! That nobody answers is not a refusal: the ledger knows nothing of it, and no work is held or moved for it. What it comes to is for
//! people, who alone can mend it.

use std::collections::{BTreeMap, BTreeSet};

use crate::World;
use crate::attempts::ended;
use crate::attempts::worker::used;
use crate::authorship;
use crate::routing::facts::{Routing, provider_of};
use crate::routing::router::Router;
use base::cause::Cause;
use base::registry::HEAL;
use base::time::Time;
use board::{Detail, Run, Status, Task, hermes};
use logs::provider::ledger::{News, Sighting};
use logs::provider::{Id, Profile};
use logs::{Evidence, LogEnd, Reading};

/// So many attempts in a row find nobody before a person is told.
const MISSES: usize = 3;
/// So many seconds must lie between the ends of the first and the newest of them: a restart or a short network failure is over by then.
const LASTS: i64 = 900;
/// Seconds without an attempt after which an earlier one belongs to another trouble. `heal` waits for two hours at most.
const APART: i64 = 10_800;
/// Most tasks beside those asked for that are looked at.
const MAX_LOOKED: usize = 256;

/// An attempt that found nobody at its provider's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The provider.
    pub id: Id,
    /// The task.
    pub task: String,
    /// When it ended.
    pub at: Time,
}

/// A provider at whose address nobody has answered for long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreached {
    /// The provider.
    pub id: Id,
    /// When the first of the attempts ended.
    pub since: Time,
    /// How many there were, one after the other.
    pub tries: usize,
    /// The task of the newest one.
    pub task: String,
    /// Tasks whose newest finished attempt was one of them.
    pub tasks: BTreeSet<String>,
}

impl Unreached {
    /// Whether it is what stops this task: its newest attempt found nobody there, it still is for the same provider, and nobody else
    /// stopped it.
    pub fn stops(&self, d: &Detail, router: &Router<'_>) -> bool {
        let is_tried = match d.task.status {
            Status::Ready | Status::Running => true,
            Status::Blocked => !hermes::is_sticky(&d.events),
            Status::Scheduled => authorship::our_hold(d).is_some(),
            _ => false,
        };
        let id = Some(router.worker(&d.task).id()).filter(Id::is_known);
        is_tried && self.tasks.contains(&d.task.id) && id.is_none_or(|id| id.is_same(&self.id))
    }

    /// The address, as far as it is known, else the provider's name.
    pub fn at(&self) -> String {
        self.id.host.clone().unwrap_or_else(|| self.id.to_string())
    }
}

/// What the newest log says of a task's newest attempt, with the board's own word on its end.
pub fn reading(world: &mut World<'_>, d: &Detail, now: Time) -> Reading {
    let Some(run) = d.newest_run() else { return Reading::of(LogEnd::Absent, None) };
    read(world, d, run, now)
}

/// The same of what was written since an attempt began.
fn read(world: &mut World<'_>, d: &Detail, run: &Run, now: Time) -> Reading {
    if world.abroad(d).is_some() {
        return Reading::of(LogEnd::NoEvidence, None);
    }
    let profile = run.profile.as_deref().or(d.task.assignee.as_deref());
    let log = world.log(&d.task.id, profile, d.words_file(), run.started_at, now);
    ended::by_board(d, log)
}

/// What the log says of the attempts before the newest, where that one has written nothing: it runs, or nobody ever worked on it.
fn before_newest(world: &mut World<'_>, d: &Detail, reading: &Reading, now: Time) -> Option<Reading> {
    let newest =
        d.newest_run().filter(|_| reading.end == LogEnd::NoEvidence && reading.earlier.is_empty())?;
    let runs = ended::worked_on(d, d.runs.iter().collect());
    if runs.first().is_some_and(|run| run.id == newest.id && run.ended_at.is_some()) {
        return None;
    }
    let before = runs.into_iter().find(|run| run.id != newest.id && has_worked(run))?;
    Some(read(world, d, before, now))
}

/// When the newest attempt ended that took time and had a worker: a claim that was taken for nobody tells nothing of an address.
fn newest_end(d: &Detail) -> Option<Time> {
    ended::worked_on(d, d.runs.iter().collect()).into_iter().find(|run| has_worked(run))?.ended_at
}

/// Whether an attempt is over, and took time.
fn has_worked(run: &Run) -> bool {
    run.ended_at.is_some_and(|end| end > run.started_at)
}

/// Open tasks that may have met an address where nobody answers, by their rows alone.
pub fn suspects(rows: &[Task]) -> Vec<String> {
    let failed =
        |t: &&Task| t.failures > 0 || t.last_failure_error.is_some() || t.status == Status::Scheduled;
    rows.iter().filter(|t| !t.is_card()).filter(failed).take(MAX_LOOKED).map(|t| t.id.clone()).collect()
}

/// The addresses at which nobody answers now, by these tasks, whose newest logs were read, and by what routing saw.
pub fn observe(
    world: &mut World<'_>,
    tasks: &[(&Detail, &Reading)],
    routing: &Routing,
    now: Time,
) -> Vec<Unreached> {
    let (mut misses, mut answers, mut newest) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (d, reading) in tasks {
        let before = before_newest(world, d, reading, now);
        let ends = ends(d, before.as_ref().unwrap_or(reading));
        newest.extend(newest_end(d).map(|at| (d.task.id.as_str(), at)));
        newest.extend(unbooked(d, reading).map(|(_, _, at)| (d.task.id.as_str(), at)));
        for (run, end) in ends {
            let Some(at) = run.ended_at.or(end.at) else { continue };
            let Some(id) = whom(run, end.host, &routing.profiles) else { continue };
            match end.answered {
                true => answers.push((id, at)),
                false => misses.push(Miss { id, task: d.task.id.clone(), at }),
            }
        }
    }
    if misses.is_empty() {
        return Vec::new();
    }
    let missed: BTreeSet<&str> = misses.iter().map(|m| m.task.as_str()).collect();
    for (d, _) in tasks.iter().filter(|(d, _)| missed.contains(d.task.id.as_str())) {
        let Some(run) = d.current_run() else { continue };
        let is_answered = used(world, d, run, now).turns.is_some_and(|turns| turns > 0);
        answers.extend(whom(run, None, &routing.profiles).filter(|_| is_answered).map(|id| (id, now)));
    }
    let refused = |s: &Sighting| !matches!(s.news, News::Bad { cause: Cause::ServerError, .. });
    answers.extend(routing.sightings.iter().filter(|s| refused(s)).map(|s| (s.id.clone(), s.at)));
    unreached(misses, &answers, &newest)
}

/// How an attempt ended, as far as that tells whether its provider answered.
struct End {
    answered: bool,
    host: Option<String>,
    /// When its log tells of it, where the board does not yet.
    at: Option<Time>,
}

/// The end of the newest attempt where its log tells that nobody answered it, and the board still calls it running: nobody has looked at it
/// since, or nobody can tell whether its worker lives. It tells of the address either way.
fn unbooked<'a>(d: &'a Detail, reading: &'a Reading) -> Option<(&'a Run, &'a Evidence, Time)> {
    let run = d.newest_run().filter(|run| run.ended_at.is_none())?;
    let at = reading.modified.filter(|at| *at >= run.started_at)?;
    match &reading.end {
        LogEnd::Ended(e) if e.cause == Cause::ConnectionRefused => Some((run, e, at)),
        _ => None,
    }
}

/// The ends of a task's attempts that tell whether the provider answered: by its log, and by what `heal` wrote down of them.
fn ends<'a>(d: &'a Detail, reading: &'a Reading) -> Vec<(&'a Run, End)> {
    let mut ends: BTreeMap<i64, (&Run, End)> = BTreeMap::new();
    for e in d.events.iter().filter(|e| authorship::is_ours(e) && e.by() == Some(HEAL)) {
        if e.trail().and_then(authorship::cause_in) != Some(Cause::ConnectionRefused) {
            continue;
        }
        // A reset names no attempt: it is about the newest one that had ended.
        let over = |r: &&Run| r.ended_at.is_some_and(|end| end <= e.at);
        let run = d.runs.iter().find(|r| Some(r.id) == e.run).or_else(|| d.runs.iter().find(over));
        ends.extend(run.map(|run| (run.id, (run, End { answered: false, host: None, at: None }))));
    }
    if let Some((run, e, at)) = unbooked(d, reading) {
        ends.insert(run.id, (run, End { answered: false, host: e.endpoint_host.clone(), at: Some(at) }));
    }
    for (run, e) in ended::told(d, reading) {
        let end = |answered| Some((run.id, (run, End { answered, host: e.endpoint_host.clone(), at: None })));
        ends.extend(match e.cause {
            Cause::ConnectionRefused => end(false),
            _ if is_answer(e) => end(true),
            _ => None,
        });
    }
    ends.into_values().collect()
}

/// Whether an attempt that ended so had an answer of its provider.
fn is_answer(e: &Evidence) -> bool {
    match e.cause {
        Cause::RateLimit
        | Cause::Quota
        | Cause::Overloaded
        | Cause::ModelMissing
        | Cause::IterationBudget
        | Cause::ProtocolViolation
        | Cause::MalformedCall
        | Cause::ToolError => true,
        Cause::ServerError | Cause::Credential | Cause::Misconfigured => e.http.is_some(),
        Cause::ConnectionRefused
        | Cause::WorkerGone
        | Cause::SpawnError
        | Cause::ExitCode
        | Cause::TimedOut
        | Cause::Unknown => false,
    }
}

/// Whom an attempt asked. What its profile's configuration said before it changed is not known any more.
fn whom(run: &Run, host: Option<String>, profiles: &BTreeMap<String, Profile>) -> Option<Id> {
    run.profile.as_ref()?;
    let id = provider_of(run, profiles);
    let id = Id { host: id.host.or(host), ..id };
    id.is_known().then_some(id)
}

/// The providers that did not answer attempts, often and long enough, since they answered last. `newest`: when the newest
/// finished attempt of each task ended.
fn unreached(mut misses: Vec<Miss>, answers: &[(Id, Time)], newest: &BTreeMap<&str, Time>) -> Vec<Unreached> {
    misses.sort_by(|a, b| (a.at, &a.task).cmp(&(b.at, &b.task)));
    let is_since = |m: &Miss| !answers.iter().any(|(id, at)| id.is_same(&m.id) && *at > m.at);
    misses.retain(is_since);
    let mut all: Vec<(Unreached, Time)> = Vec::new();
    for m in misses {
        let is_newest = newest.get(m.task.as_str()).is_none_or(|at| *at <= m.at);
        match all.iter_mut().find(|(u, _)| u.id.is_same(&m.id)) {
            Some((u, last)) => {
                if m.at.since(*last) > APART {
                    (u.since, u.tries) = (m.at, 0);
                }
                u.id.name = u.id.name.take().or(m.id.name);
                u.id.host = u.id.host.take().or(m.id.host);
                u.tries += 1;
                *last = m.at;
                u.tasks.extend(is_newest.then(|| m.task.clone()));
                u.task = m.task;
            }
            None => {
                let tasks = is_newest.then(|| m.task.clone()).into_iter().collect();
                all.push((Unreached { id: m.id, since: m.at, tries: 1, task: m.task, tasks }, m.at));
            }
        }
    }
    all.retain(|(u, last)| u.tries >= MISSES && last.since(u.since) >= LASTS);
    all.into_iter().map(|(u, _)| u).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::EventKind;
    use board::testing::{ago, detail, event, run};
    use serde_json::json;

    fn id(name: &str) -> Id {
        Id::new(Some(name), None)
    }

    fn miss(name: &str, task: &str, seconds: i64) -> Miss {
        Miss { id: id(name), task: task.into(), at: ago(seconds) }
    }

    #[test]
    fn several_attempts_over_a_quarter_of_an_hour_find_nobody_before_it_is_so() {
        let of = |misses: &[(&str, &str, i64)], answers: &[(&str, i64)]| {
            let misses: Vec<Miss> = misses.iter().map(|(name, task, at)| miss(name, task, *at)).collect();
            let answers: Vec<(Id, Time)> = answers.iter().map(|(name, at)| (id(name), ago(*at))).collect();
            let all = unreached(misses, &answers, &BTreeMap::new());
            all.iter()
                .map(|u| format!("{} {} {}", u.id, u.tries, u.tasks.len()))
                .collect::<Vec<_>>()
                .join("; ")
        };
        let three = [("moon", "t_1", 2_000), ("moon", "t_2", 1_500), ("moon", "t_1", 1_100)];
        assert_eq!(of(&three, &[]), "moon 3 2");
        for (misses, answers, why) in [
            (&three[..2], &[][..], "two are few"),
            (
                &[("moon", "t_1", 300), ("moon", "t_2", 200), ("moon", "t_3", 100)],
                &[],
                "a line that was cut for minutes",
            ),
            (&[("moon", "t_1", 2_000), ("sun", "t_2", 1_500), ("moon", "t_1", 1_100)], &[], "two providers"),
            (&three, &[("moon", 1_600)], "one was answered in between"),
            (&three, &[("moon", 60)], "one answers now"),
            (
                &[("moon", "t_1", 40_000), ("moon", "t_2", 300), ("moon", "t_1", 100)],
                &[],
                "the first one was of another day",
            ),
        ] {
            assert_eq!(of(misses, answers), "", "{why}");
        }
        assert_eq!(of(&three, &[("sun", 60), ("moon", 2_000)]), "moon 3 2", "another one, and one before");
    }

    #[test]
    fn an_attempt_is_told_by_its_log_or_by_what_heal_wrote_down() {
        let mut d = detail("t_00000001", Status::Blocked);
        let at = |n: i64, from: i64| Run {
            started_at: ago(from),
            ended_at: Some(ago(from - 10)),
            ..run(n, "luna", Some("crashed"))
        };
        d.runs = vec![at(3, 500), at(2, 2_000), at(1, 4_000)];
        let reset =
            |by: &str, cause: &str| json!({"by": by, "watchbill": {"case": "crash-loop", "cause": cause}});
        d.events.push(event(EventKind::Unblocked, 3_000, reset("heal", "connection_refused")));
        d.events.push(event(EventKind::Unblocked, 1_000, reset("luna", "connection_refused")));
        let refused = |host: Option<&str>| {
            let e = Evidence {
                endpoint_host: host.map(str::to_owned),
                ..Evidence::new(Cause::ConnectionRefused, 1)
            };
            Reading::of(LogEnd::Ended(e), Some(ago(490)))
        };
        let reading = refused(Some("127.0.0.1:9"));
        let said: Vec<(i64, bool)> =
            ends(&d, &reading).iter().map(|(run, end)| (run.id, end.answered)).collect();
        assert_eq!(said, [(1, false), (3, false)]);
        let limited = Reading::of(LogEnd::Ended(Evidence::new(Cause::RateLimit, 1)), Some(ago(490)));
        assert!(
            ends(&d, &limited).iter().any(|(run, end)| run.id == 3 && end.answered),
            "a refusal is an answer"
        );
        // The newest one runs by the board, and its log says that nobody answered it.
        (d.runs[0].ended_at, d.runs[0].outcome) = (None, None);
        let said = |reading: &Reading| {
            let of_newest = |(run, end): &(&Run, End)| (run.id == 3).then_some((end.answered, end.at));
            ends(&d, reading).iter().find_map(of_newest)
        };
        assert_eq!(said(&reading), Some((false, Some(ago(490)))));
        for (other, why) in [
            (
                Reading { modified: Some(ago(501)), ..reading.clone() },
                "it was written before that attempt began",
            ),
            (limited, "a refusal is not its end as long as it runs"),
            (Reading::of(LogEnd::NoEvidence, Some(ago(490))), "it says nothing yet"),
        ] {
            assert_eq!(said(&other), None, "{why}");
        }
        // Whom it asked: by its profile, which may have said something else then, and by its log.
        let mut luna = Profile { name: "luna".into(), provider: Some("moon".into()), ..Profile::default() };
        let whom = |luna: &Profile, host: Option<&str>| {
            let profiles = [("luna".to_owned(), luna.clone())].into();
            super::whom(&d.runs[0], host.map(str::to_owned), &profiles).map(|id| id.to_string())
        };
        assert_eq!(whom(&luna, Some("127.0.0.1:9")).as_deref(), Some("moon (127.0.0.1:9)"));
        luna.changed = Some(ago(100));
        assert_eq!(whom(&luna, Some("127.0.0.1:9")).as_deref(), Some("127.0.0.1:9"));
        assert_eq!(whom(&luna, None), None);
    }
}
