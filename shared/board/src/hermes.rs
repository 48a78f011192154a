//! What each Hermes operation leaves behind on a board, as pure code over [`Change`].
//!
//! Hermes and its dashboard go on working on every row we touch, so a requeue by Watchbill must leave the same columns,
//! run row and event as Hermes' own (`hermes_cli/kanban_db.py` of 0.19.0 is what these functions mirror).

use crate::{EventKind, HandOver};
use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::image::{Column, Turn};
use super::{Change, Detail, Event, Rule, RunRef, Status, Task, image};
use base::cause::{self, Cause};
use base::quote::without_pull_urls;
use base::redact::redact;
use base::time::Time;

/// What makes an emoji of the sign before it.
const EMOJI: char = '\u{fe0f}';
/// Failures at which Hermes' breaker blocks a task when nothing else is configured.
pub const FAILURE_LIMIT: i64 = 2;
/// Same-kind blocks at which Hermes sends a task to triage.
pub const BLOCK_RECURRENCE_LIMIT: i64 = 2;
/// Error text of a death we found. It must not match Hermes' respawn guard, and holds no number: `pid 429 not
/// alive` jams that guard.
pub const WORKER_GONE: &str = "worker gone (heal)";

/// Hermes' word for a worker of which no fingerprint is known: it is never signalled.
pub const UNVERIFIED: &str = "unverified";

/// Most bytes of our part of an event.
const MAX_TRAIL: usize = 4096;

/// Who changes something, and why: our part of every event.
#[derive(Debug, Clone)]
pub struct Trail<'a> {
    /// The program.
    pub by: &'a str,
    /// The pass it happened in.
    pub pass: &'a str,
    /// The clock was given on the command line, not read.
    pub clock_given: bool,
    /// Which rule.
    pub case: Rule,
    /// Why the worker ended, where known.
    pub cause: Option<Cause>,
    /// One line.
    pub because: &'a str,
    /// More facts a later pass reads back (`reset`, `uncounted`, `hold`, ...).
    pub more: Map<String, Value>,
}

impl<'a> Trail<'a> {
    /// The payload of the event that `changes` to `task` deserve: Hermes' own keys, `by`, and our part with the
    /// images of what changed, which an undo needs.
    fn payload(&self, hermes: Value, seen: &Detail, changes: &[Change]) -> Value {
        self.with_images(hermes, Some(images(seen, changes)))
    }

    /// The same with images that are known already.
    fn with_images(&self, hermes: Value, images: Option<(Map<String, Value>, Map<String, Value>)>) -> Value {
        let mut payload = match hermes {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let mut ours = Map::new();
        ours.insert("v".into(), json!(1));
        ours.insert("pass".into(), json!(self.pass));
        ours.insert("case".into(), json!(self.case));
        if let Some(cause) = self.cause {
            ours.insert("cause".into(), json!(cause));
        }
        ours.insert("because".into(), json!(short(self.because, 300)));
        if self.clock_given {
            ours.insert("clock".into(), json!("given"));
        }
        for (k, v) in &self.more {
            ours.insert(k.clone(), v.clone());
        }
        if let Some((before, after)) = images {
            ours.insert("before".into(), Value::Object(before));
            ours.insert("after".into(), Value::Object(after));
        }
        if length(&ours) > MAX_TRAIL {
            // Only an absurdly long claim or failure text gets here; without images it cannot be undone, which is
            // better than an event nobody can read.
            ours.remove("before");
            ours.remove("after");
            ours.insert("images".into(), json!("left out: too long"));
        }
        payload.insert("by".into(), json!(self.by));
        payload.insert("watchbill".into(), Value::Object(ours));
        Value::Object(payload)
    }
}

/// How many bytes it has as a text.
fn length(map: &Map<String, Value>) -> usize {
    serde_json::to_string(map).map_or(0, |text| text.len())
}

/// The first `most` characters.
pub fn short(s: &str, most: usize) -> String {
    s.chars().take(most).collect()
}

/// A failure text as an event may repeat it. Where redacting takes out nothing but what makes a sign an emoji, as in Hermes' own words,
/// it stays as it is, so that an undo restores it.
fn clean(text: Option<&str>) -> Option<Cow<'_, str>> {
    let cleaned = |text| {
        let redacted = redact(text);
        if redacted == text.replace(EMOJI, "") { Cow::Borrowed(text) } else { redacted }
    };
    text.map(cleaned)
}

/// Columns that `changes` alter, before and after.
fn images(seen: &Detail, changes: &[Change]) -> (Map<String, Value>, Map<String, Value>) {
    let (task, place) = (&seen.task, &seen.place);
    let (mut before, mut after) = (Map::new(), Map::new());
    let mut note = |column: &str, was: Value, is: Value| {
        if was != is {
            before.entry(column.to_owned()).or_insert(was);
            after.insert(column.to_owned(), is);
        }
    };
    let seconds = |t: Option<Time>| t.map(|t| t.0);
    for change in changes {
        match change {
            Change::SetStatus(s) => note("status", json!(task.status), json!(s)),
            Change::ReleaseClaim => {
                note("claim_lock", json!(task.claim_lock), Value::Null);
                note("claim_expires", json!(seconds(task.claim_expires)), Value::Null);
                note("worker_pid", json!(task.worker_pid), Value::Null);
                note("worker_started_at", json!(task.worker_started_at), Value::Null);
            }
            Change::ForgetHeartbeat => {
                note("last_heartbeat_at", json!(seconds(task.last_heartbeat_at)), Value::Null);
            }
            Change::EndRun { .. } | Change::ForgetRun => {
                note("current_run_id", json!(task.current_run), Value::Null);
            }
            Change::SetFailures { count, error } => {
                note("consecutive_failures", json!(task.failures), json!(count));
                note("last_failure_error", json!(clean(task.last_failure_error.as_deref())), json!(error));
            }
            Change::Assign(to) => note("assignee", json!(task.assignee), json!(to)),
            Change::Reword { title, body } => {
                if let Some(title) = title {
                    note("title", json!(redact(&task.title)), json!(title));
                }
                // Never the text: it may be long, and may hold what no event should repeat.
                if let Some((was, is)) = body.as_deref().map(|new| image::body(&seen.body, new)) {
                    note("body", was, is);
                }
            }
            Change::SetPriority(to) => note("priority", json!(task.priority), json!(to)),
            Change::SetBlock { kind, recurrences } => {
                note("block_kind", json!(task.block_kind), json!(kind));
                note("block_recurrences", json!(task.block_recurrences), json!(recurrences));
            }
            Change::SetPlace { kind, path } => {
                note("workspace_kind", json!(place.kind), json!(kind));
                note("workspace_path", json!(place.path), json!(path));
            }
            Change::SetResult(_) => {
                // The moment is the event's own, and the result stands on the row; neither is repeated here.
                note("completed_at", json!(seconds(place.completed_at)), json!("now"));
                note("result", Value::Null, json!("given"));
            }
            Change::ClearOverrides => {
                note("model_override", json!(task.pin.model), Value::Null);
                note("provider_override", json!(task.pin.provider), Value::Null);
            }
            _ => {}
        }
    }
    (before, after)
}

/// The breaker limit that counts for a task, and Hermes' word for where it comes from.
pub fn breaker(task: &Task, board_limit: i64) -> (i64, &'static str) {
    match task.max_retries {
        Some(own) => (own, "task"),
        None => (board_limit, "dispatcher"),
    }
}

/// Where a task returns to when its claim is released: `review` if it was claimed from there and its reviewer did not request
/// changes since, else `ready`.
pub fn origin(seen: &Detail) -> Status {
    let tells = |e: &&Event| matches!(e.kind, EventKind::Claimed | EventKind::ChangesRequested);
    let newest = seen.events.iter().rev().find(tells).filter(|e| e.kind == EventKind::Claimed);
    match newest.and_then(|e| e.payload.get("source_status")).and_then(Value::as_str) {
        Some("review") => Status::Review,
        _ => Status::Ready,
    }
}

/// Where an unblocked task goes: as Hermes, `todo` while any parent is not `done` (archived does not count here).
pub fn unblocked_to(seen: &Detail) -> Status {
    if seen.parents.iter().any(|p| p.status != Status::Done) { Status::Todo } else { origin(seen) }
}

fn event(kind: EventKind, payload: Value, run: Option<i64>) -> Change {
    Change::AddEvent { kind, payload, run: run.map(RunRef::Id) }
}

/// These changes to a task, and the event that they deserve.
fn told(
    mut changes: Vec<Change>,
    kind: EventKind,
    keys: Value,
    run: Option<i64>,
    seen: &Detail,
    trail: &Trail<'_>,
) -> Vec<Change> {
    let payload = trail.payload(keys, seen, &changes);
    changes.push(event(kind, payload, run));
    changes
}

/// Another assignee where there is to be another one, and the event that says so.
fn reassigned(seen: &Detail, to: Option<&str>, trail: &Trail<'_>) -> Option<(Change, Change)> {
    let was = seen.task.assignee.as_deref();
    let to = to.filter(|to| was != Some(to))?;
    let event = noted(EventKind::Assigned, json!({"assignee": to, "from": was}), trail);
    Some((Change::Assign(Some(to.to_owned())), event))
}

/// Closes every run of the task that is still open: the one the row points at, and any that was left open under no
/// pointer, which Hermes itself would show as running for ever.
fn end_runs(seen: &Detail, status: &str, error: &str, metadata: &Value) -> Vec<Change> {
    let pointed = seen.task.current_run;
    let left_open = seen.runs.iter().filter(|r| r.ended_at.is_none() && Some(r.id) != pointed).map(|r| r.id);
    let end = |run| Change::EndRun {
        run,
        status: status.into(),
        outcome: status.into(),
        summary: None,
        error: Some(error.into()),
        metadata: Some(metadata.clone()),
    };
    pointed.into_iter().chain(left_open).map(end).collect()
}

/// A worker's death, counted like Hermes' own crash: ready again, or blocked with `gave_up` at the breaker's limit.
pub fn crashed(seen: &Detail, pid: Option<i64>, board_limit: i64, trail: &Trail<'_>) -> Vec<Change> {
    failed(seen, WORKER_GONE, pid, board_limit, trail)
}

/// The same for a worker of which it is known how it ended. `error` is a text that jams no guard of Hermes (docs/dev/decisions.md, 13).
pub fn failed(
    seen: &Detail,
    error: &str,
    pid: Option<i64>,
    board_limit: i64,
    trail: &Trail<'_>,
) -> Vec<Change> {
    let t = &seen.task;
    let failures = t.failures.saturating_add(1);
    let (limit, limit_source) = breaker(t, board_limit);
    let trips = failures >= limit;
    let back = origin(seen);
    let mut keys = json!({"pid": pid, "claimer": t.claim_lock});
    if back == Status::Review {
        keys["retry_status"] = json!("review");
    }
    let mut changes = vec![
        Change::SetStatus(if trips { Status::Blocked } else { back }),
        Change::ReleaseClaim,
        Change::SetFailures { count: failures, error: Some(error.into()) },
    ];
    changes.extend(end_runs(seen, "crashed", error, &keys));
    let payload = trail.payload(keys, seen, &changes);
    changes.push(event(EventKind::Crashed, payload, t.current_run));
    if trips {
        let gave_up = json!({
            "failures": failures, "effective_limit": limit, "limit_source": limit_source,
            "error": error, "trigger_outcome": "crashed", "pid": pid, "claimer": t.claim_lock,
        });
        changes.push(noted(EventKind::GaveUp, gave_up, trail));
    }
    changes
}

/// A start that failed after the claim, as Hermes counts it: ready again, or blocked with `gave_up` at the breaker's limit.
pub fn spawn_failed(seen: &Detail, error: &str, board_limit: i64, trail: &Trail<'_>) -> Vec<Change> {
    let t = &seen.task;
    let failures = t.failures.saturating_add(1);
    let (limit, limit_source) = breaker(t, board_limit);
    let trips = failures >= limit;
    let (outcome, back) = if trips { ("gave_up", Status::Blocked) } else { ("spawn_failed", origin(seen)) };
    let mut changes = vec![
        Change::SetStatus(back),
        Change::ReleaseClaim,
        Change::SetFailures { count: failures, error: Some(error.into()) },
    ];
    let mut keys = json!({"failures": failures});
    if trips {
        keys["trigger_outcome"] = json!("spawn_failed");
        keys["effective_limit"] = json!(limit);
        keys["limit_source"] = json!(limit_source);
    }
    changes.extend(end_runs(seen, outcome, error, &keys));
    keys["error"] = json!(error);
    told(changes, outcome.into(), keys, t.current_run, seen, trail)
}

/// Releases a claim without counting it against the task, like Hermes' release of a stale claim.
pub fn reclaimed(seen: &Detail, trail: &Trail<'_>) -> Vec<Change> {
    released(seen, WORKER_GONE, trail)
}

/// The same with the reason in other words.
pub fn released(seen: &Detail, error: &str, trail: &Trail<'_>) -> Vec<Change> {
    released_to(origin(seen), seen, error, trail)
}

/// The same of a task that waits for others meanwhile: nobody may begin with it before they are done.
pub fn released_to_wait(seen: &Detail, error: &str, trail: &Trail<'_>) -> Vec<Change> {
    released_to(Status::Todo, seen, error, trail)
}

fn released_to(to: Status, seen: &Detail, error: &str, trail: &Trail<'_>) -> Vec<Change> {
    let t = &seen.task;
    let mut keys = json!({
        "stale_lock": t.claim_lock, "worker_pid": t.worker_pid,
        "claim_expires": t.claim_expires.map(|x| x.0), "last_heartbeat_at": t.last_heartbeat_at.map(|x| x.0),
        "termination_attempted": false,
    });
    if origin(seen) == Status::Review {
        keys["retry_status"] = json!("review");
    }
    let mut changes = vec![Change::SetStatus(to), Change::ReleaseClaim];
    changes.extend(end_runs(seen, "reclaimed", error, &json!({"by": trail.by})));
    told(changes, EventKind::Reclaimed, keys, t.current_run, seen, trail)
}

/// The end of runs whose worker is gone: `rate_limited` for provider pressure, which Hermes does not count, else a crash.
fn ended(seen: &Detail, cause: Cause, trail: &Trail<'_>) -> Vec<Change> {
    let outcome = if cause.is_provider_pressure() { "rate_limited" } else { "crashed" };
    end_runs(seen, outcome, WORKER_GONE, &json!({"by": trail.by, "cause": cause}))
}

/// Releases a dead claim and holds the task in one step, because its worker's log says that another attempt would fail in
/// the same way.
pub fn parked(seen: &Detail, cause: Cause, until: Time, trail: &Trail<'_>) -> Vec<Change> {
    let mut changes = vec![Change::SetStatus(Status::Scheduled), Change::ReleaseClaim];
    changes.extend(ended(seen, cause, trail));
    let keys = json!({"until": until.0, "cause": cause, "reason": trail.because});
    told(changes, EventKind::Scheduled, keys, seen.task.current_run, seen, trail)
}

/// A dead claim freed and the task handed to a person, after its holds were used up. Sticky, as an explicit block is.
pub fn handed_to_person(
    seen: &Detail,
    cause: Cause,
    why: &HandOver,
    assignee: Option<&str>,
    trail: &Trail<'_>,
) -> Vec<Change> {
    let mut freed = vec![Change::ReleaseClaim];
    freed.extend(ended(seen, cause, trail));
    to_person(seen, freed, seen.task.current_run, why, assignee, trail)
}

/// Releases a claim with the reason why its run ended, not counted against the task. `manual` says that an operator decided
/// it, as with `hermes kanban reclaim`.
pub fn taken_back(seen: &Detail, why: &str, manual: bool, trail: &Trail<'_>) -> Vec<Change> {
    let t = &seen.task;
    let mut changes = vec![Change::SetStatus(origin(seen)), Change::ReleaseClaim];
    changes.extend(end_runs(seen, "reclaimed", why, &json!({"by": trail.by})));
    let mut keys = json!({"prev_lock": t.claim_lock, "reason": why});
    if manual {
        keys["manual"] = json!(true);
    }
    told(changes, EventKind::Reclaimed, keys, t.current_run, seen, trail)
}

/// A claim that leaked onto a row that is not running.
pub fn leak_cleared(seen: &Detail, trail: &Trail<'_>) -> Vec<Change> {
    let t = &seen.task;
    let mut changes = vec![Change::ReleaseClaim];
    changes.extend(end_runs(seen, "reclaimed", WORKER_GONE, &json!({"by": trail.by})));
    let keys = json!({"prev_lock": t.claim_lock, "worker_pid": t.worker_pid, "termination_attempted": false});
    told(changes, EventKind::Reclaimed, keys, t.current_run, seen, trail)
}

/// What `hermes kanban unblock` does, plus the claim it forgets to clear.
pub fn unblocked(seen: &Detail, trail: &Trail<'_>) -> Vec<Change> {
    let t = &seen.task;
    let to = unblocked_to(seen);
    let mut changes = vec![Change::SetStatus(to.clone())];
    if t.claim_lock.is_some() {
        changes.push(Change::ReleaseClaim);
    }
    match end_runs(seen, "reclaimed", WORKER_GONE, &json!({"by": trail.by})) {
        none if none.is_empty() => changes.push(Change::ForgetRun),
        ends => changes.extend(ends),
    }
    changes.push(Change::SetFailures { count: 0, error: None });
    let mut keys = if to == Status::Ready { json!({}) } else { json!({"status": to}) };
    if origin(seen) == Status::Review {
        // Where it goes once what it waits for is done (Hermes 0.21 and later).
        keys["resume_status"] = json!("review");
    }
    told(changes, EventKind::Unblocked, keys, None, seen, trail)
}

/// A task brought out of triage by a person, on a board where nobody else does. What Hermes counts of its blocks begins anew: they answered.
pub fn out_of_triage(seen: &Detail, trail: &Trail<'_>) -> Vec<Change> {
    let kind = seen.task.block_kind.clone();
    let mut changes = vec![Change::SetBlock { kind, recurrences: 0 }];
    changes.extend(unblocked(seen, trail));
    changes
}

/// Whether the newest attempt ended because its claim ran out, and no worker was ever recorded for it: its dispatcher died, or could
/// start none. Hermes 0.22 gives a task up for that after two of them.
pub fn is_never_started(d: &Detail) -> bool {
    let Some(run) =
        d.newest_run().filter(|r| r.error.as_deref().is_some_and(|e| e.starts_with("stale_lock=")))
    else {
        return false;
    };
    let began =
        |e: &Event| matches!(e.kind, EventKind::Spawned | EventKind::WorkerRegistered | EventKind::Heartbeat);
    run.last_heartbeat_at.is_none() && !d.events.iter().any(|e| e.run == Some(run.id) && began(e))
}

/// The failure text that jams Hermes' respawn guard, taken away. An own event kind: Hermes' `edited` would clear its
/// hallucination diagnostics as well.
pub fn guard_cleared(seen: &Detail, trail: &Trail<'_>) -> Vec<Change> {
    let changes = vec![Change::SetFailures { count: seen.task.failures, error: None }];
    let was = clean(seen.task.last_failure_error.as_deref());
    told(changes, EventKind::GuardCleared, json!({"was": was}), None, seen, trail)
}

/// The heartbeat that a ready row kept of its last attempt, taken away.
pub fn heartbeat_cleared(seen: &Detail, trail: &Trail<'_>) -> Vec<Change> {
    told(vec![Change::ForgetHeartbeat], EventKind::HeartbeatCleared, json!({}), None, seen, trail)
}

/// The one event that says that a watcher is done with a task: an operator or an orchestrator has to act now.
pub fn escalated(trail: &Trail<'_>) -> Vec<Change> {
    vec![noted(EventKind::Escalated, json!({"reason": trail.because}), trail)]
}

/// A `todo` task whose parents are all done, on a board where nobody else promotes it.
pub fn promoted(seen: &Detail, trail: &Trail<'_>) -> Vec<Change> {
    told(vec![Change::SetStatus(Status::Ready)], EventKind::Promoted, json!({}), None, seen, trail)
}

/// A comment without its event, and its length. Pull-request addresses are rewritten: one in a comment parks a task for 24 h
/// in Hermes.
pub fn comment(author: &str, body: &str) -> (Change, usize) {
    let body = without_pull_urls(body.trim());
    let len = body.chars().count();
    (Change::AddComment { author: author.into(), body }, len)
}

/// Puts a task away.
pub fn archived(seen: &Detail, trail: &Trail<'_>) -> Vec<Change> {
    let archived = Change::SetStatus(Status::Archived);
    let event = changed(EventKind::Archived, Value::Null, seen, std::slice::from_ref(&archived), trail);
    vec![event, archived]
}

/// A comment and its event.
pub fn commented(author: &str, body: &str) -> Vec<Change> {
    let (comment, len) = comment(author, body);
    vec![
        comment,
        Change::AddEvent {
            kind: EventKind::Commented,
            payload: json!({"author": author, "len": len}),
            run: None,
        },
    ]
}

// ---- distress cards ----

/// What a card is about, for its first event.
#[derive(Debug, Clone, Copy)]
pub struct CardAbout<'a> {
    /// The stuck task.
    pub source: &'a str,
    /// The blocker type.
    pub blocker: &'a str,
    /// The run it is about; 0 where there never was one.
    pub run: i64,
}

impl CardAbout<'_> {
    fn created(&self, status: &Status, task: &super::NewTask, trail: &Trail<'_>) -> super::FirstEvent {
        let mut keys = first_keys(status, task, &[]);
        keys["source_task"] = json!(self.source);
        keys["blocker_type"] = json!(self.blocker);
        keys["run_id"] = json!(self.run);
        super::FirstEvent { kind: EventKind::Created, payload: payload(trail, keys) }
    }
}

/// Makes a distress card beside the step's own task: `ready`, or on hold until `held` ends, with the reason of the wait.
pub fn card_made(
    id: &str,
    task: super::NewTask,
    about: CardAbout<'_>,
    held: Option<(&str, Time)>,
    trail: &Trail<'_>,
) -> Change {
    let status = if held.is_some() { Status::Scheduled } else { Status::Ready };
    let mut events = vec![about.created(&status, &task, trail)];
    if let Some((why, until)) = held {
        let mut trail = trail.clone();
        let hold = json!({"owner": trail.by, "cause": why, "key": id, "next": until.0, "until": until.0});
        trail.more.insert("hold".into(), hold);
        let payload = payload(&trail, json!({"reason": why, "until": until.0}));
        events.push(super::FirstEvent { kind: EventKind::Scheduled, payload });
    }
    Change::AddAnother { id: id.into(), status, task: Box::new(task), events, done: None }
}

/// How a stuck task is tied to its card.
#[derive(Debug, Clone, Copy)]
pub struct Tie<'a> {
    /// The card.
    pub card: &'a str,
    /// It becomes a parent: the task waits for it, and its next worker reads what was decided.
    pub link: bool,
    /// The task is held until then, because it would be claimed or promoted otherwise.
    pub park: Option<Time>,
    /// The word for why.
    pub cause: &'a str,
}

/// What ties a stuck task to its card. The card is the parent: the other way round it would wait for the task it is to
/// free.
pub fn tied(seen: &Detail, tie: Tie<'_>, trail: &Trail<'_>) -> Vec<Change> {
    let t = &seen.task;
    let mut changes = Vec::new();
    if tie.link {
        changes.push(Change::Link { parent: tie.card.into() });
        let keys = json!({"parent": tie.card, "child": t.id});
        changes.push(noted(EventKind::Linked, keys, trail));
    }
    if let Some(until) = tie.park {
        let park = [Change::SetStatus(Status::Scheduled)];
        let keys = json!({"until": until.0, "cause": tie.cause, "reason": trail.because});
        changes.push(changed(EventKind::Scheduled, keys, seen, &park, trail));
        changes.extend(park);
    }
    if !tie.link || trail.cause.is_some_and(Cause::is_provider_pressure) {
        let keys = json!({"card": tie.card, "reason": trail.because});
        changes.push(noted(EventKind::Signal, keys, trail));
    }
    changes
}

/// A task without an open run that needs a person: a sticky block that names why.
pub fn needs_person(seen: &Detail, why: &HandOver, assignee: Option<&str>, trail: &Trail<'_>) -> Vec<Change> {
    to_person(seen, Vec::new(), None, why, assignee, trail)
}

fn to_person(
    seen: &Detail,
    freed: Vec<Change>,
    run: Option<i64>,
    why: &HandOver,
    assignee: Option<&str>,
    trail: &Trail<'_>,
) -> Vec<Change> {
    let mut changes = vec![Change::SetStatus(Status::Blocked)];
    let (assign, assigned) = reassigned(seen, assignee, trail).unzip();
    changes.extend(assign);
    changes.extend(freed);
    let recurrences = seen.task.block_recurrences;
    let keys =
        json!({"reason": trail.because, "kind": Value::Null, "recurrences": recurrences, "cause": why});
    let payload = trail.payload(keys, seen, &changes);
    changes.extend(assigned);
    changes.push(event(EventKind::Blocked, payload, run));
    changes
}

/// A card that waited in our queue and may go now.
pub fn card_released(seen: &Detail, assignee: &str, trail: &Trail<'_>) -> Vec<Change> {
    let mut changes = vec![Change::SetStatus(Status::Ready)];
    let (assign, assigned) = reassigned(seen, Some(assignee), trail).unzip();
    changes.extend(assign);
    let payload = trail.payload(json!({}), seen, &changes);
    changes.extend(assigned);
    changes.push(event(EventKind::Unblocked, payload, None));
    changes
}

// ---- routing ----

/// A card that is settled as it is made: `done`, with the run that says how. Nobody is woken for it.
pub fn card_settled(
    id: &str,
    task: super::NewTask,
    about: CardAbout<'_>,
    summary: &str,
    trail: &Trail<'_>,
) -> Change {
    let payload = payload(trail, json!({"result_len": 0, "summary": short(summary, 400)}));
    let completed = super::FirstEvent { kind: EventKind::Completed, payload };
    let events = vec![about.created(&Status::Done, &task, trail), completed];
    let done = Some(summary.to_owned());
    Change::AddAnother { id: id.into(), status: Status::Done, task: Box::new(task), events, done }
}

/// Assigns a task to another profile and unblocks it, as `hermes kanban reassign` and `unblock` do. `without` are parents
/// that leave it in the same step.
///
/// Where its newest run ended as `rate_limited`, Hermes would still wait 300 s for the provider it has just left: a run of
/// no length that says it was reassigned lifts that, as a `reclaim` does (`check_respawn_guard`, Hermes 0.19).
pub fn moved(seen: &Detail, to: &str, without: &[&str], trail: &Trail<'_>) -> Vec<Change> {
    let t = &seen.task;
    let mut changes =
        vec![Change::Assign(Some(to.to_owned())), Change::SetFailures { count: 0, error: None }];
    changes.extend(unpinned(seen));
    let keys = json!({"assignee": to, "from": t.assignee, "reason": trail.because});
    let payload = trail.payload(keys, seen, &changes);
    changes.push(event(EventKind::Assigned, payload, None));
    if seen.newest_run().is_some_and(|r| r.outcome.as_deref() == Some("rate_limited")) {
        changes.push(Change::PastRun {
            outcome: "reclaimed".into(),
            summary: Some(trail.because.to_owned()),
            metadata: Some(json!({"by": trail.by})),
        });
    }
    if matches!(t.status, Status::Blocked | Status::Scheduled) {
        changes.extend(set_free(seen, without, trail));
    }
    changes
}

/// What is set for the task alone, taken off: it names the provider that the task leaves.
fn unpinned(seen: &Detail) -> Option<Change> {
    (!seen.task.pin.is_none()).then_some(Change::ClearOverrides)
}

/// Unblocks or releases a task, as [`unblocked`] does, while the parents `without` leave it in the same step.
pub fn set_free(seen: &Detail, without: &[&str], trail: &Trail<'_>) -> Vec<Change> {
    let mut rest = seen.clone();
    rest.parents.retain(|p| !without.contains(&p.id.as_str()));
    unblocked(&rest, trail)
}

/// Holds a task until a moment, whatever it waited for before. No claim may be on it.
pub fn held(seen: &Detail, cause: &str, until: Time, trail: &Trail<'_>) -> Vec<Change> {
    let keys = json!({"until": until.0, "cause": cause, "reason": trail.because});
    told(vec![Change::SetStatus(Status::Scheduled)], EventKind::Scheduled, keys, None, seen, trail)
}

/// A parent taken off a task.
pub fn unlinked(child: &str, parent: &str, trail: &Trail<'_>) -> Vec<Change> {
    let keys = json!({"parent": parent, "child": child});
    vec![Change::Unlink { parent: parent.into() }, noted(EventKind::Unlinked, keys, trail)]
}

/// A parent put on a task without a change of its state, whatever that is.
pub fn linked_as_is(child: &str, parent: &str, trail: &Trail<'_>) -> Vec<Change> {
    let keys = json!({"parent": parent, "child": child});
    vec![Change::Link { parent: parent.into() }, noted(EventKind::Linked, keys, trail)]
}

/// A stopped task that waits for its parents again: `todo`, with nothing of its failure left.
pub fn waits(seen: &Detail, trail: &Trail<'_>) -> Vec<Change> {
    let reset = Change::SetFailures { count: 0, error: None };
    let changes = vec![Change::SetStatus(Status::Todo), Change::ForgetRun, reset];
    told(changes, EventKind::Unblocked, json!({"status": Status::Todo}), None, seen, trail)
}

/// The payload of a first event, with our part.
pub fn payload(trail: &Trail<'_>, keys: Value) -> Value {
    trail.with_images(keys, None)
}

/// The event of a kind that `changes` to a task deserve, with the images an undo needs.
pub fn changed(kind: EventKind, keys: Value, seen: &Detail, changes: &[Change], trail: &Trail<'_>) -> Change {
    event(kind, trail.payload(keys, seen, changes), None)
}

/// A fact about a task that changes nothing of it.
pub fn noted(kind: EventKind, keys: Value, trail: &Trail<'_>) -> Change {
    noted_in(None, kind, keys, trail)
}

/// Restores columns as they were, with the event that says so. A body is not repeated in it.
pub fn put_back(row: BTreeMap<Column, Turn>, trail: &Trail<'_>) -> Vec<Change> {
    let told = row.iter().filter(|(column, _)| **column != Column::Body);
    let image = |of: &dyn Fn(&Turn) -> Option<Value>| -> Map<String, Value> {
        told.clone().filter_map(|(column, turn)| Some((column.as_str().to_owned(), of(turn)?))).collect()
    };
    let before = image(&|turn| turn.from.as_ref().map(|cell| json!(cell)));
    let after = image(&|turn| Some(json!(turn.to)));
    let payload = trail.with_images(json!({"reason": trail.because}), Some((before, after)));
    vec![Change::PutBack(row), event(EventKind::Undone, payload, None)]
}

/// A fact about an attempt that changes nothing of it.
pub fn noted_in(run: Option<i64>, kind: EventKind, keys: Value, trail: &Trail<'_>) -> Change {
    event(kind, payload(trail, keys), run)
}

// ---- what a worker or an operator does with the `board` program ----

/// A claim by hand: running, a run opened, `claimed`.
pub fn claimed(
    seen: &Detail,
    lock: &str,
    expires: Time,
    pid: Option<i64>,
    profile: Option<String>,
    trail: &Trail<'_>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    changes.extend(end_runs(
        seen,
        "reclaimed",
        "left open, closed on the next claim",
        &json!({"by": trail.by}),
    ));
    changes.push(Change::SetStatus(Status::Running));
    changes.extend(claim(lock, expires, pid, profile, trail));
    changes
}

/// The claim alone, for a task that no run was ever opened of.
pub fn claim(
    lock: &str,
    expires: Time,
    pid: Option<i64>,
    profile: Option<String>,
    trail: &Trail<'_>,
) -> Vec<Change> {
    let keys = json!({"lock": lock, "expires": expires.0});
    let payload = payload(trail, keys);
    vec![
        Change::TakeClaim { lock: lock.into(), expires, pid },
        Change::StartRun { profile },
        Change::Fingerprint(UNVERIFIED.into()),
        Change::AddEvent { kind: EventKind::Claimed, payload, run: Some(RunRef::New) },
    ]
}

/// The worker of a claim that was made before it was started, recorded as the claim's own.
pub fn taken_over(seen: &Detail, lock: &str, expires: Time, pid: i64, trail: &Trail<'_>) -> Vec<Change> {
    let payload = payload(trail, json!({"lock": lock, "expires": expires.0}));
    vec![
        Change::TakeClaim { lock: lock.into(), expires, pid: Some(pid) },
        Change::Fingerprint(UNVERIFIED.into()),
        event(EventKind::Claimed, payload, seen.task.current_run),
    ]
}

/// Puts what is known of the worker's start into the claim that `changes` make.
pub fn fingerprint(changes: &mut [Change], known: Option<String>) {
    for change in changes {
        if let (Change::Fingerprint(text), Some(known)) = (change, &known) {
            text.clone_from(known);
        }
    }
}

/// A sign of life that extends the claim.
pub fn heartbeat(seen: &Detail, expires: Time, note: Option<&str>) -> Vec<Change> {
    let payload = note.map_or(Value::Null, |n| json!({"note": short(n, 500)}));
    vec![Change::Heartbeat { expires }, event(EventKind::Heartbeat, payload, seen.task.current_run)]
}

/// Completion, with its children promoted in the same transaction: without a dispatcher nobody else would.
pub fn completed(
    seen: &Detail,
    result: Option<&str>,
    summary: Option<&str>,
    trail: &Trail<'_>,
) -> Vec<Change> {
    let handed_on = summary.or(result);
    let mut changes = vec![
        Change::SetStatus(Status::Done),
        Change::ReleaseClaim,
        Change::SetResult(result.map(str::to_owned)),
        Change::SetBlock { kind: None, recurrences: 0 },
        Change::SetFailures { count: 0, error: None },
    ];
    let is_told = seen.task.current_run.is_some() || handed_on.is_some();
    let (end, run) = is_told.then(|| end_run(seen, "done", "completed", handed_on)).unzip();
    changes.extend(end);
    let first_line = handed_on.and_then(|s| s.trim().lines().next()).map(|l| short(l, 400));
    let keys = json!({"result_len": result.map_or(0, |r| r.chars().count()), "summary": first_line});
    let payload = trail.payload(keys, seen, &changes);
    changes.push(Change::AddEvent { kind: EventKind::Completed, payload, run });
    let promoted = |status: &str| Map::from_iter([("status".to_owned(), json!(status))]);
    let images = Some((promoted("todo"), promoted("ready")));
    changes.push(Change::PromoteChildren { payload: trail.with_images(json!({}), images) });
    changes
}

/// A block by hand. `dependency` waits in `todo`; the second block of one kind goes to triage, as in Hermes 0.18+.
pub fn blocked(seen: &Detail, reason: &str, kind: Option<&str>, trail: &Trail<'_>) -> Vec<Change> {
    let t = &seen.task;
    let dependency = kind == Some("dependency");
    let recurrences = if t.block_kind.as_deref() == kind { t.block_recurrences.saturating_add(1) } else { 1 };
    let (to, kind_of_event) = match () {
        () if dependency => (Status::Todo, EventKind::DependencyWait),
        () if recurrences >= BLOCK_RECURRENCE_LIMIT => (Status::Triage, EventKind::BlockLoopDetected),
        () => (Status::Blocked, EventKind::Blocked),
    };
    let mut keys = json!({"reason": reason, "kind": kind});
    if !dependency {
        keys["recurrences"] = json!(recurrences);
    }
    if to == Status::Triage {
        keys["limit"] = json!(BLOCK_RECURRENCE_LIMIT);
    }
    let recurrences = if dependency { t.block_recurrences } else { recurrences };
    let mut changes = vec![
        Change::SetStatus(to),
        Change::ReleaseClaim,
        Change::SetBlock { kind: kind.map(str::to_owned), recurrences },
    ];
    let (end, run) = end_run(seen, "blocked", "blocked", Some(reason));
    changes.push(end);
    let payload = payload(trail, keys);
    changes.push(Change::AddEvent { kind: kind_of_event, payload, run: Some(run) });
    changes
}

/// The end of the open run of a task; where there is none, a run that keeps what is said.
fn end_run(seen: &Detail, status: &str, outcome: &str, summary: Option<&str>) -> (Change, RunRef) {
    let (outcome, summary) = (outcome.into(), summary.map(str::to_owned));
    match seen.task.current_run {
        Some(run) => {
            let status = status.into();
            (Change::EndRun { run, status, outcome, summary, error: None, metadata: None }, RunRef::Id(run))
        }
        None => (Change::PastRun { outcome, summary, metadata: None }, RunRef::New),
    }
}

/// What Hermes says of a new task.
fn first_keys(status: &Status, task: &super::NewTask, parents: &[String]) -> Value {
    json!({
        "assignee": task.assignee, "status": status, "parents": parents, "tenant": task.tenant,
        "branch_name": Value::Null, "skills": Value::Null, "goal_mode": Value::Null,
    })
}

/// A new task's row and its `created` event.
pub fn created(status: Status, task: super::NewTask, parents: &[String], trail: &Trail<'_>) -> Vec<Change> {
    let payload = payload(trail, first_keys(&status, &task, parents));
    let mut changes = vec![Change::AddTask { status, task: Box::new(task) }];
    changes.extend(parents.iter().map(|p| Change::Link { parent: p.clone() }));
    changes.push(event(EventKind::Created, payload, None));
    changes
}

/// A dependency added later; a ready child goes back to `todo` while its new parent is not done.
pub fn linked(child: &Detail, parent: &super::Kin, trail: &Trail<'_>) -> Vec<Change> {
    let mut changes = vec![Change::Link { parent: parent.id.clone() }];
    if child.task.status == Status::Ready && parent.status != Status::Done {
        changes.push(Change::SetStatus(Status::Todo));
    }
    let keys = json!({"parent": parent.id, "child": child.task.id});
    told(changes, EventKind::Linked, keys, None, child, trail)
}

/// Who decides about a task that its worker stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider<'a> {
    /// The profile that works on this card. The card becomes a parent of the task.
    Card(&'a str),
    /// A person, for this reason, and under this name where there is one.
    Person {
        /// Why it is a person.
        why: HandOver,
        /// The new assignee.
        assignee: Option<&'a str>,
    },
}

/// The block of a worker that cannot go on: sticky, without a kind. It is not counted as a repetition, because the second one
/// would send the task to triage (Hermes 0.18 and later), where no card can free it; cards are bounded by their own number.
pub fn stopped(seen: &Detail, reason: &str, decider: Decider<'_>, trail: &Trail<'_>) -> Vec<Change> {
    let t = &seen.task;
    let recurrences = if t.block_kind.is_none() { t.block_recurrences } else { 0 };
    let mut changes = vec![
        Change::SetStatus(Status::Blocked),
        Change::ReleaseClaim,
        Change::SetBlock { kind: None, recurrences },
    ];
    let (end, run) = end_run(seen, "blocked", "blocked", Some(reason));
    changes.push(end);
    let mut keys = json!({"reason": reason, "kind": Value::Null, "recurrences": recurrences});
    let mut before = Vec::new();
    match decider {
        Decider::Card(card) if !seen.parents.iter().any(|p| p.id == card) => {
            before.push(Change::Link { parent: card.into() });
            let linked = json!({"parent": card, "child": t.id});
            before.push(noted(EventKind::Linked, linked, trail));
        }
        Decider::Card(_) => {}
        Decider::Person { why, assignee } => {
            keys["cause"] = json!(why);
            let (assign, assigned) = reassigned(seen, assignee, trail).unzip();
            changes.extend(assign);
            before.extend(assigned);
        }
    }
    let payload = trail.payload(keys, seen, &changes);
    changes.extend(before);
    changes.push(Change::AddEvent { kind: EventKind::Blocked, payload, run: Some(run) });
    changes
}

/// What `hermes kanban assign` does: another profile starts with no failures. The caller refuses a task that is running
/// under a claim, as Hermes does.
pub fn assigned(seen: &Detail, profile: &str, trail: &Trail<'_>) -> Vec<Change> {
    assigned_with(seen, profile, None, trail)
}

/// The same as a watcher does it: without what is set for the task alone.
pub fn given(seen: &Detail, profile: &str, trail: &Trail<'_>) -> Vec<Change> {
    assigned_with(seen, profile, unpinned(seen), trail)
}

fn assigned_with(seen: &Detail, profile: &str, more: Option<Change>, trail: &Trail<'_>) -> Vec<Change> {
    let t = &seen.task;
    let mut changes = vec![Change::Assign(Some(profile.to_owned()))];
    changes.extend(more);
    if t.assignee.as_deref() != Some(profile) {
        changes.push(Change::SetFailures { count: 0, error: None });
    }
    let keys = json!({"assignee": profile, "from": t.assignee});
    told(changes, EventKind::Assigned, keys, None, seen, trail)
}

// ---- what the history says ----

/// Whether the newest explicit block still stands. A breaker's `gave_up` does not count (Hermes 0.15+ `_has_sticky_block`).
pub fn is_sticky(events: &[Event]) -> bool {
    let newest = events.iter().rev().find(|e| e.kind == EventKind::Blocked || e.kind == EventKind::Unblocked);
    newest.is_some_and(|e| e.kind == EventKind::Blocked)
}

/// Whether Hermes' respawn guard holds this ready task back because of its failure text.
pub fn is_guard_jammed(seen: &Detail) -> bool {
    let text = seen.task.last_failure_error.as_deref();
    // After a `rate_limited` run Hermes looks at its cool-down only and never reaches the text.
    let newest_ended = seen.runs.iter().filter(|r| r.ended_at.is_some()).max_by_key(|r| r.ended_at);
    let cooling = newest_ended.is_some_and(|r| r.outcome.as_deref() == Some("rate_limited"));
    !cooling && text.is_some_and(cause::hermes_guard_matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_error_text_does_not_jam_the_guard() {
        assert!(!cause::hermes_guard_matches(WORKER_GONE));
    }

    #[test]
    fn an_event_notes_title_and_priority_and_never_the_text() {
        let mut seen = crate::testing::detail("t_00000001", Status::Ready);
        (seen.task.title, seen.task.priority, seen.body) = ("Big".into(), 1, "a secret\n".into());
        let changes = [
            Change::Reword { title: Some("Small".into()), body: Some("front\na secret\n".into()) },
            Change::SetPriority(2),
            Change::SetPlace { kind: "dir".into(), path: Some("/srv/w".into()) },
        ];
        let (before, after) = images(&seen, &changes);
        assert!(!json!([before, after]).to_string().contains("secret"), "{before:?} {after:?}");
        let keys = |image: &Map<String, Value>| image.keys().cloned().collect::<Vec<_>>().join(" ");
        let all = "body priority title workspace_kind workspace_path";
        assert_eq!((keys(&before).as_str(), keys(&after).as_str()), (all, all));
        assert_eq!((&before["title"], &after["title"]), (&json!("Big"), &json!("Small")));
        assert_eq!((&before["priority"], &after["priority"]), (&json!(1), &json!(2)));
    }

    #[test]
    fn a_failure_text_is_kept_with_its_emoji_and_without_its_secrets() {
        let image = |text: &str| {
            let mut seen = crate::testing::detail("t_00000001", Status::Ready);
            seen.task.last_failure_error = Some(text.to_owned());
            let (before, _) = images(&seen, &[Change::SetFailures { count: 0, error: None }]);
            before["last_failure_error"].as_str().unwrap().to_owned()
        };
        let text = "pid 5 not alive: \u{23f1}\u{fe0f}  Elapsed: 4.16s";
        assert_eq!(image(text), text);
        let key = format!("ghp_{}", "a1B2c3".repeat(6));
        let (front, back) = key.split_at(9);
        for hidden in [format!("{text} {key}"), format!("{text} {front}\u{fe0f}{back}")] {
            let kept = image(&hidden);
            assert!(kept.starts_with("pid 5 not alive") && !kept.contains(front), "{kept}");
        }
        assert_eq!(image("ab\u{200b}c\u{fe0f}"), "abc", "what else is invisible goes");
    }
}
