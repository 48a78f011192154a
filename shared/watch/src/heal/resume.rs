//! Resume, not restart: what the next attempt is told, and whether the working tree is as the dead worker left it.
//!
//! The tree is noted on the first pass that sees a worker gone, in an event of its run, and compared on the pass that puts the
//! task back. A hash taken at the claim could not tell the worker's own edits from those of others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use super::seen::{ResumeSeen, Seen, TaskSeen};
use super::{Policy, Rules, Verb, Verdict};
use base::cause::{self, Cause, Owner};
use base::count::things;
use base::error::Result;
use base::quote;
use base::reason::Reason;
use base::registry::HEAL;
use base::time::Time;
use board::several_hosts::shown;
use board::verification;
use board::{Change, Detail, Event, EventKind, HandOver, Rule, Run, Status, StepAction, hermes};
use card::packet::{self, Autopsy, Packet, Standing};
use config::{MAX_RESUMES, TreeDrift};
use host::{Life, Look};
use logs::usage::Tokens;
use logs::vitals::{Turn, Vitals};
use logs::{Evidence, LogEnd, MAX_EARLIER};
use policy::World;
use policy::attempts::worker::fared;
use policy::attempts::{ended, session};
use policy::authorship;
use policy::worktree_note::{TREES_LIMIT, time_until};
use worktree::state::{Drift, Method, TreeState, drift};

/// Seconds between the note of a tree and the requeue: who still writes into it shows within them, and a pass right after
/// the one that noted it changes nothing.
pub(super) const SETTLE: i64 = 30;

/// How the ground is on which the next attempt would work.
pub(super) enum Ground {
    /// Nobody noted it yet.
    Unnoted(Box<TreeState>),
    /// It was noted a moment ago.
    Settling(Time),
    /// Others changed it since the worker died, as told here.
    Drifted(Box<Drift>),
    /// Nothing speaks against going on; what is not known, and what changed where that is only a warning.
    Fine(Warnings),
}

/// What the next attempt is warned of.
#[derive(Debug, Default, Clone)]
pub(super) struct Warnings {
    /// Why the tree is not known.
    pub(super) unknown: Option<String>,
    /// What others changed.
    pub(super) changed: Option<Drift>,
}

impl Warnings {
    /// The same for the report.
    pub(super) fn told(&self) -> String {
        let unknown = self.unknown.as_ref();
        let unknown =
            unknown.map(|why| format!("; its working tree is not known: {}", quote::inline(why, 200)));
        let said = |what: &Drift| quote::inline(&what.to_string(), 300);
        let changed = self.changed.as_ref().map(|what| format!("; changed by others since: {}", said(what)));
        unknown.unwrap_or_default() + &changed.unwrap_or_default()
    }

    /// The same for the next attempt.
    fn drift(&self) -> packet::Drift {
        match (&self.changed, &self.unknown) {
            (Some(drift), _) => packet::Drift::Changed(changes(drift)),
            (None, Some(why)) => packet::Drift::Unknown(why.clone()),
            (None, None) => packet::Drift::None,
        }
    }
}

/// What changed, in words: another branch or commit, then files.
fn changes(drift: &Drift) -> Vec<String> {
    match drift {
        Drift::Changed { moved, paths, .. } => moved.iter().chain(paths).cloned().collect(),
        _ => Vec::new(),
    }
}

/// Looks at the trees and logs of what goes on, and of nothing else: git and transcripts are slow.
///
/// # Errors
/// The board cannot be read.
pub(super) fn observe(world: &mut World<'_>, seen: &mut Seen, goes_on: &BTreeSet<String>) -> Result<()> {
    let until = Instant::now() + TREES_LIMIT;
    let mut states: BTreeMap<String, std::result::Result<TreeState, Reason>> = BTreeMap::new();
    let mut others = None;
    for t in &mut seen.tasks {
        let id = &t.detail.task.id;
        if !goes_on.contains(id) || t.abroad.is_some() {
            continue;
        }
        let mut resume = ResumeSeen::default();
        if let Some(path) = t.detail.place.path.as_deref() {
            let look = || match time_until(until) {
                None => Err("too many trees for one pass".into()),
                Some(limit) => (world.state)(Path::new(path), limit),
            };
            match states.entry(path.to_owned()).or_insert_with(look).clone() {
                Ok(state) => resume.tree = Some(state),
                Err(why) => resume.tree_unknown = Some(why.into()),
            }
            if let (Some((at, before)), Some(now)) = (noted(t), &resume.tree)
                && before.hash != now.hash
            {
                let others = match &mut others {
                    Some(known) => known,
                    none => none.insert(Others::of(world)?),
                };
                resume.shares = others.within(path, id, at);
            }
        }
        t.resume = Some(resume);
        if t.vitals.is_none() {
            t.vitals = fared(world, &t.detail, seen.now);
        }
    }
    Ok(())
}

/// Newest runs among which others that worked in the same tree are looked for.
const MAX_RUNS: u32 = 200;

/// Who works or worked lately, and in which tree. Looked up once a pass: many may have died over one tree.
struct Others {
    /// Tasks that run, and the newest end of each other one's newest attempts.
    at_work: BTreeMap<String, Option<Time>>,
    /// By the top folder: a commit by a task in one folder of a repository changes the tree of each other one.
    trees: BTreeMap<PathBuf, Vec<String>>,
}

impl Others {
    fn of(world: &mut World<'_>) -> Result<Others> {
        let mut at_work: BTreeMap<String, Option<Time>> = BTreeMap::new();
        for (task, run) in world.board.recent_runs(MAX_RUNS)? {
            let newest = at_work.entry(task).or_insert(run.ended_at);
            *newest = newest.zip(run.ended_at).map(|(a, b)| a.max(b));
        }
        at_work.extend(world.board.glance(&[Status::Running])?.into_iter().map(|t| (t.id, None)));
        let mut trees: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
        for d in world.board.look(&at_work.keys().cloned().collect::<Vec<_>>())? {
            if let Some(path) = &d.place.path {
                trees.entry(worktree::top_of(Path::new(path))).or_default().push(d.task.id.clone());
            }
        }
        Ok(Others { at_work, trees })
    }

    /// Other tasks that work in the tree of a folder, or did since then: what changed there may be theirs.
    fn within(&self, path: &str, but: &str, since: Time) -> Vec<String> {
        let lately = |id: &&String| self.at_work.get(*id).is_some_and(|end| end.is_none_or(|at| at >= since));
        let there = self.trees.get(&worktree::top_of(Path::new(path))).into_iter().flatten();
        there.filter(|id| *id != but).filter(lately).cloned().collect()
    }
}

/// Whether the tree of a task is noted while its worker is gone, though nothing is done about that yet. Where its log says that
/// it does not go on, there is nothing to compare later.
pub(super) fn is_to_be_noted(t: &TaskSeen) -> bool {
    let gone = t.worker.as_ref().is_some_and(|w| w.life == Life::Gone)
        || t.session.as_ref().is_some_and(|s| matches!(s.standing, session::Standing::Orphaned(_)));
    let goes_on = match &t.log {
        LogEnd::Unreadable(_) => false,
        LogEnd::Ended(e) => !is_lasting(t, e),
        LogEnd::Absent | LogEnd::NoEvidence => true,
    };
    let d = &t.detail;
    let waits = gone && goes_on && d.task.status == Status::Running && d.cards.is_empty();
    waits && d.place.path.is_some() && noted(t).is_none()
}

/// The tree as it was noted when this attempt's worker was first seen gone. A note from before the worker's last sign of life
/// does not count.
fn noted(t: &TaskSeen) -> Option<(Time, TreeState)> {
    let state = |e: &Event| serde_json::from_value(e.trail()?.get("tree")?.clone()).ok();
    notes(t).find_map(|e| Some((e.at, state(e)?)))
}

/// Most notes that an attempt's worker is gone, each followed by a sign of life, before the next one waits for silence: what sends heartbeats for a
/// dead worker may do so for days.
const MAX_NOTES: usize = 3;

/// Whether the worker of this attempt may be noted as gone although it was heard a moment ago.
pub(super) fn may_note_early(t: &TaskSeen) -> bool {
    notes_of_attempt(t).count() < MAX_NOTES
}

/// Events that note that the worker of this attempt was seen gone, and after which it gave no sign of life.
fn notes(t: &TaskSeen) -> impl Iterator<Item = &Event> {
    let heard = heard(&t.detail);
    // By what was heard then: a clock that was set back in between makes the sign look younger than the note.
    let stands = move |e: &Event| {
        let then = e.trail().and_then(|t| t.get("heard")?.as_i64());
        then.map_or(e.at >= heard, |then| then == heard.0)
    };
    notes_of_attempt(t).filter(move |e| stands(e))
}

fn notes_of_attempt(t: &TaskSeen) -> impl Iterator<Item = &Event> {
    let id = attempt(&t.detail);
    let is_death = |t: &Value| {
        t.get("tree").is_some() || t.get("case").and_then(Value::as_str) == Some(Rule::WorkerGone.as_str())
    };
    let of_death = move |e: &Event| e.trail().is_some_and(is_death);
    t.detail.events.iter().filter(move |e| {
        e.kind == EventKind::Detected && e.run == id && authorship::is_ours(e) && of_death(e)
    })
}

/// When this attempt's worker was first seen gone, as it was noted then. An event has the time at which its pass began, and a pass
/// may be suspended between that and its look.
pub(super) fn death(t: &TaskSeen) -> Option<Time> {
    let gone = |e: &Event| e.trail()?.get("gone")?.as_i64().map(Time);
    notes(t).next().map(|e| gone(e).map_or(e.at, |at| at.max(e.at)))
}

/// The newest sign of life of that attempt. Where its row is lost, the task's own tells.
fn heard(d: &Detail) -> Time {
    let run = d.runs.iter().find(|run| Some(run.id) == attempt(d));
    let began = run.map(|run| run.started_at).or(d.task.started_at).unwrap_or(d.task.created_at);
    run.and_then(|run| run.last_heartbeat_at).max(d.task.last_heartbeat_at).unwrap_or(began)
}

/// The attempt that is open, whether or not it has a row; else the newest one.
fn attempt(d: &Detail) -> Option<i64> {
    d.task.current_run.or(d.newest_run().map(|run| run.id))
}

impl Rules<'_> {
    /// How the ground is for the next attempt at a task whose worker is gone.
    pub(super) fn ground(&self, t: &TaskSeen) -> Ground {
        self.ground_if(t, |waited| waited >= SETTLE)
    }

    fn ground_if(&self, t: &TaskSeen, is_settled: impl Fn(i64) -> bool) -> Ground {
        let Some(resume) = &t.resume else { return Ground::Fine(Warnings::default()) };
        let unknown =
            |why: &str| Ground::Fine(Warnings { unknown: Some(why.to_owned()), ..Warnings::default() });
        let Some(now) = &resume.tree else {
            return resume.tree_unknown.as_deref().map_or_else(|| Ground::Fine(Warnings::default()), unknown);
        };
        let Some((at, before)) = noted(t) else { return Ground::Unnoted(Box::new(now.clone())) };
        if !is_settled(self.seen.now.since(at)) {
            return Ground::Settling(at);
        }
        let own = t.vitals.as_ref().map(edited).unwrap_or_default();
        match drift(&before, now, &own) {
            Drift::Same | Drift::Own => Ground::Fine(Warnings::default()),
            Drift::Unknown(why) => unknown(&why),
            Drift::Changed { .. } if !resume.shares.is_empty() => {
                unknown(&format!("{} works or worked in the same tree", resume.shares.join(", ")))
            }
            changed => match self.policy.tree_drift {
                TreeDrift::Escalate => Ground::Drifted(Box::new(changed)),
                TreeDrift::Warn => Ground::Fine(Warnings { changed: Some(changed), unknown: None }),
            },
        }
    }

    /// What the next attempt is warned of, whatever becomes of the task. A note by a clock that was ahead has settled.
    fn warnings(&self, t: &TaskSeen) -> Warnings {
        match self.ground_if(t, |waited| !(0..SETTLE).contains(&waited)) {
            Ground::Fine(warnings) => warnings,
            Ground::Drifted(drift) => Warnings { changed: Some(*drift), unknown: None },
            Ground::Unnoted(_) | Ground::Settling(_) => Warnings::default(),
        }
    }

    /// Notes the tree of a dead worker, before anything else is done about it.
    pub(super) fn note_tree(&self, t: &TaskSeen, state: &TreeState, what: &str) -> Verdict {
        let because = format!("{what}; its working tree is noted first, and a later pass requeues it");
        self.note(t, because, Some(state))
    }

    /// Notes that the worker was seen gone. Its children may still edit the tree, which is noted once they have ended.
    pub(super) fn note_death(&self, t: &TaskSeen, what: &str) -> Verdict {
        self.note(t, what.to_owned(), None)
    }

    fn note(&self, t: &TaskSeen, because: String, state: Option<&TreeState>) -> Verdict {
        // From then on its children are waited for.
        let left = t.worker.as_ref().is_some_and(|look| !look.orphans.is_empty());
        let gone = t.gone_since.filter(|_| left);
        let mut verb = Verb::new(StepAction::Note, Rule::WorkerGone, because)
            .fact("run", json!(attempt(&t.detail)))
            .fact("heard", json!(heard(&t.detail).0))
            .fact("gone", json!(gone.map(|at| at.0)));
        if let Some(state) = state {
            verb = verb.fact("tree", json!(state));
        }
        let run = attempt(&t.detail);
        self.step(t, verb, |trail| vec![hermes::noted_in(run, EventKind::Detected, json!({}), trail)])
    }

    /// The tree was changed by others since the worker died: what it left is not what is there, so a person looks first.
    pub(super) fn drifted(&self, t: &TaskSeen, look: &Look, drift: &Drift, because: &str) -> Verdict {
        let said = quote::inline(&drift.to_string(), 300);
        let because = format!("{because}; tree-drift, {said}: needs a person");
        let verb = Verb::new(StepAction::HandOver, Rule::TreeDrift, because)
            .cause(Some(Cause::WorkerGone))
            .proof(look.proof.clone())
            .fact("paths", json!(changes(drift)))
            .fact("transitions", json!(["RUNNING>NEEDS_HUMAN:tree-drift"]));
        let assignee = self.person_for(t);
        let warnings = Warnings { changed: Some(drift.clone()), unknown: None };
        self.step(t, verb, |trail| {
            let mut changes =
                hermes::handed_to_person(&t.detail, Cause::WorkerGone, &HandOver::TreeDrift, assignee, trail);
            changes.extend(told_if_any(t, &warnings));
            changes
        })
    }

    /// A task over the cap at which the breaker gave up: a person.
    pub(super) fn capped_while_blocked(&self, t: &TaskSeen, died: i64) -> Verdict {
        let because = over_cap(died);
        let verb = Verb::new(StepAction::HandOver, Rule::ResumeCap, because)
            .fact("transitions", json!(["RUNNING>NEEDS_HUMAN:resume-cap"]));
        self.step(t, verb, |trail| {
            let mut changes =
                hermes::needs_person(&t.detail, &HandOver::ResumeCap, self.person_for(t), trail);
            changes.extend(told_if_any(t, &Warnings::default()));
            changes
        })
    }

    /// A running task over the cap: a person.
    pub(super) fn capped(&self, t: &TaskSeen, look: &Look, died: i64, because: &str) -> Verdict {
        let because = format!("{because}; {}", over_cap(died));
        let verb = Verb::new(StepAction::HandOver, Rule::ResumeCap, because)
            .cause(Some(Cause::WorkerGone))
            .proof(look.proof.clone())
            .fact("transitions", json!(["RUNNING>NEEDS_HUMAN:resume-cap"]));
        let assignee = self.person_for(t);
        let warnings = self.warnings(t);
        self.step(t, verb, |trail| {
            let mut changes =
                hermes::handed_to_person(&t.detail, Cause::WorkerGone, &HandOver::ResumeCap, assignee, trail);
            changes.extend(told_if_any(t, &warnings));
            changes
        })
    }
}

fn over_cap(died: i64) -> String {
    format!("{} died since the last success (resume-cap): needs a person", things(died, "attempt"))
}

/// The packet of a task that others requeue, or of one at a reset: where it was not told yet, and there is anything
/// that is worth telling. An attempt that never began left nothing.
pub(super) fn told_if_any(t: &TaskSeen, warnings: &Warnings) -> Vec<Change> {
    let packet = packet(t, warnings);
    let is_needless = (packet.is_blank() && warnings.changed.is_none()) || packet::is_told(&t.detail);
    if is_needless { Vec::new() } else { hermes::commented(HEAL, &packet::render(&packet)) }
}

// The attempts whose parts of the log are kept are enough to be over any cap.
const _: () = assert!(MAX_EARLIER >= MAX_RESUMES as usize);

/// Whether an attempt died of nothing that is known, by its run alone: its worker was there and then was not. An attempt that was
/// reclaimed or never started says so there.
fn died(run: &Run) -> bool {
    match run.outcome.as_deref() {
        // The one that is just being buried.
        None | Some("timed_out" | "stale") => true,
        Some("crashed") => run.error.as_deref().and_then(cause::of_text) == Some(Cause::WorkerGone),
        _ => false,
    }
}

/// Whether one more death would be over the cap: the present attempt is among the counted, whatever refused it while it ran.
pub(super) fn is_capped(t: &TaskSeen, policy: &Policy) -> bool {
    let is_told = t.detail.current_run().is_some_and(|run| run.ended_at.is_none() && is_explained(t, run));
    attempts(t) + i64::from(is_told) > i64::from(policy.max_resumes)
}

/// Whether a pass wrote down what ended an attempt, or the log says it.
fn is_explained(t: &TaskSeen, run: &Run) -> bool {
    ended::explained(&t.detail).contains(&run.id) || t.refused.contains(&run.id)
}

/// Whether the next attempt would end on this as well: then the task is held, and synthesize-distress asks about it. A worker that left
/// its task open may close it the next time, and Hermes itself starts it again at once: only the second one is asked about.
pub(super) fn is_lasting(t: &TaskSeen, e: &Evidence) -> bool {
    e.cause.owner() == Owner::Distress && (e.cause != Cause::ProtocolViolation || was_left_open(t))
}

/// Whether an attempt of the present episode before the newest one left the task open as well, by what a watcher wrote down, else by
/// the log, else as it was booked. A history too long to see that in may have any number of them.
fn was_left_open(t: &TaskSeen) -> bool {
    let d = &t.detail;
    let (ours, known) = (ended::left_open(d), ended::recorded(d));
    let is_such = |run: &&Run| match run.id {
        id if known.contains(&id) => ours.contains(&id),
        id if t.refused.contains(&id) => t.left_open.contains(&id),
        _ => run.error.as_deref().and_then(cause::of_text) == Some(Cause::ProtocolViolation),
    };
    d.is_truncated || episode(d).skip(1).any(|run| is_such(&run))
}

/// Attempts since the last success or the last decision outside Watchbill, the newest first.
fn episode(d: &Detail) -> impl Iterator<Item = &Run> {
    let fresh = d.events.iter().rev().find(|e| authorship::starts_anew(d, e)).map(|e| e.at);
    // The open attempt ends after that decision, whenever it began.
    let since = move |r: &Run| r.ended_at.is_none() || fresh.is_none_or(|fresh| r.started_at >= fresh);
    ended::remembered(d).take_while(move |r| r.outcome.as_deref() != Some("completed") && since(r))
}

/// Attempts that died since the last success or the last decision outside Watchbill, the open one among them. What was refused by a
/// provider, an endpoint or the protocol did not die, however its dispatcher booked it: a pass wrote that down, or the log says it.
/// Where the log does not reach back to an attempt, it may have been refused as well, and does not count.
pub(super) fn attempts(t: &TaskSeen) -> i64 {
    let d = &t.detail;
    let explained: BTreeSet<i64> = ended::explained(d).into_iter().chain(t.refused.iter().copied()).collect();
    let dead = episode(d).filter(|r| died(r) && !explained.contains(&r.id));
    i64::try_from(dead.count()).unwrap_or(i64::MAX)
}

/// A dead worker's task on its way back into the queue. A worker that had finished its turn and left is told apart from one
/// that was cut off.
pub(super) fn resumed(t: &TaskSeen) -> Value {
    let exited = t.vitals.as_ref().is_some_and(|v| v.turn == Turn::Over);
    let died = if exited { "RUNNING>RESUMING:session_exited" } else { "RUNNING>RESUMING:session_died" };
    json!([died, "RESUMING>PENDING:resume-ready"])
}

/// The files an attempt was to change, absolute where its log says where it worked.
fn edited(v: &Vitals) -> BTreeSet<String> {
    let whole = |name: &String| match v.cwd.as_deref() {
        Some(cwd) if !name.starts_with('/') => format!("{cwd}/{name}"),
        _ => name.clone(),
    };
    v.edited.iter().map(whole).collect()
}

/// What the next attempt would be told now, whatever state its task is in.
pub(super) fn now(t: &TaskSeen, rules: &Rules<'_>) -> Packet {
    packet(t, &rules.warnings(t))
}

/// What the next attempt is told of the newest one.
fn packet(t: &TaskSeen, warnings: &Warnings) -> Packet {
    if let Some(host) = &t.abroad {
        return packet_from(t, shown(host));
    }
    let resume = t.resume.clone().unwrap_or_default();
    let orphans = t.worker.iter().flat_map(|w| &w.orphans).map(|o| o.pid).collect();
    let git = resume.tree.as_ref().filter(|s| s.method == Method::Git);
    Packet {
        record: packet::latest(&t.detail),
        drift: warnings.drift(),
        failures: verification::failures(&t.detail),
        autopsy: t.vitals.as_ref().map(|v| autopsy(v, t.detail.newest_run())),
        standing: Standing {
            branch: git.and_then(|s| s.branch.clone()),
            commit: git.and_then(|s| s.head.clone()),
            changed: git.map(|s| s.paths.iter().map(|p| p.path.clone()).collect()),
            tree: resume.tree.as_ref().map(|s| s.hash.clone()),
            orphans,
        },
    }
}

/// The same of an attempt on another host: only what the board has of it.
fn packet_from(t: &TaskSeen, host: &str) -> Packet {
    let elsewhere = format!("the earlier attempt ran on host {host}, and its folder is there");
    Packet {
        record: packet::latest(&t.detail),
        failures: verification::failures(&t.detail),
        drift: packet::Drift::Unknown(elsewhere),
        ..Packet::default()
    }
}

/// What the log of an attempt tells of it.
fn autopsy(v: &Vitals, run: Option<&Run>) -> Autopsy {
    let began = v.began.or(run.map(|r| r.started_at));
    // Until its last word: what came after that was no work. A tool at work says nothing, so that only a heartbeat tells then.
    let last = match v.turn {
        Turn::Tool { .. } => run.and_then(|r| r.last_heartbeat_at).filter(|beat| Some(*beat) > v.active),
        _ => v.active,
    };
    Autopsy {
        model: v.model.clone(),
        seconds: began.zip(last).map(|(began, last)| last.since(began).max(0)),
        turns: v.turns,
        tool_calls: v.calls,
        errors: v.errors,
        tokens: v.tokens.map(Tokens::total),
        files: v.edited.clone(),
        last_calls: v.last_calls.clone(),
        findings: v.findings.clone(),
    }
}

/// The same as the comment of a step.
pub(super) fn told(t: &TaskSeen, warnings: &Warnings) -> Vec<Change> {
    hermes::commented(HEAL, &packet::render(&packet(t, warnings)))
}
