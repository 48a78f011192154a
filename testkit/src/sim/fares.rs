//! How attempts fare, as their agents' own logs would tell: what they write, where they stall, what they do again and again.

use std::collections::BTreeSet;

use serde_json::json;
use shared::base::time::Time;
use shared::board::{Board, Change, Detail, RunRef};
use shared::logs::vitals::{Repeat, Turn, Vitals};
use shared::policy::UseAsk;

use super::hands::act;
use super::truth::{Job, Plan, Truth};

/// The agent's log of the newest attempt at a task.
#[derive(Debug, Clone)]
pub(super) struct Fare {
    run: i64,
    folder: Option<String>,
    began: Time,
    /// When it last wrote anything, by the wall clock and by the night.
    active: Time,
    pub(super) active_second: i64,
    /// A tool runs all the time.
    pub(super) in_tool: bool,
    /// It makes one failing call again and again.
    pub(super) loops: bool,
    edited: BTreeSet<String>,
    /// How often its provider answered.
    turns: u64,
}

/// An attempt begins. Of some agents nobody finds a log.
pub(super) fn begin(truth: &mut Truth, d: &Detail, run: i64) {
    truth.fares.remove(&d.task.id);
    if !truth.has_trees || truth.more.percent(25) {
        return;
    }
    let folder = d.place.path.clone();
    let (in_tool, loops) = (truth.more.percent(15), truth.more.percent(3));
    let (began, active_second) = (truth.now, truth.second);
    let edited = BTreeSet::new();
    let fare = Fare { run, folder, began, active: began, active_second, in_tool, loops, edited, turns: 0 };
    truth.fares.insert(d.task.id.clone(), fare);
}

/// A worker goes on: it writes its log, and perhaps a file. What it is told to do with files nobody hears of where it has no
/// log.
pub(super) fn beat(truth: &mut Truth, job: &Job, folder: Option<&str>) {
    if !truth.has_trees || job.plan == Plan::Hang || job.pid.is_none() {
        return;
    }
    let (writes, file) = (truth.more.percent(30), truth.more.below(4));
    let (now, second) = (truth.now, truth.second);
    if let Some(tree) = folder.filter(|_| writes).and_then(|f| truth.trees.get_mut(f)) {
        tree.write(&format!("src/{file}"));
    }
    let Some(fare) = truth.fares.get_mut(&job.task).filter(|f| f.run == job.run) else { return };
    if let Some(folder) = folder.filter(|_| writes) {
        fare.edited.insert(format!("{folder}/src/{file}"));
    }
    // One that is refused again and again writes that down, and was not answered.
    if !matches!(job.plan, Plan::Starve(_) | Plan::Refused(_)) {
        fare.turns += 1;
    }
    if !fare.in_tool {
        (fare.active, fare.active_second) = (now, second);
    }
}

/// A worker records where it stands, as with `board packet`.
pub(super) fn record(board: &mut dyn Board, now: Time, d: &Detail, run: i64) {
    let packet = json!({"step": "the lamps of the east wing", "next": "their wires", "tree": "git:00ff"});
    let trail = json!({"v": 1, "pass": "p", "case": "packet", "because": "packet", "packet": packet});
    let payload = json!({"by": "board", "watchbill": trail});
    let kind = shared::board::EventKind::PacketRecorded;
    act(board, now, d, vec![Change::AddEvent { kind, payload, run: Some(RunRef::Id(run)) }]);
}

/// The files of an attempt that its own log says it edited, absolute.
pub(super) fn edited(truth: &Truth, task: &str, run: Option<i64>) -> BTreeSet<String> {
    let fare = truth.fares.get(task).filter(|f| Some(f.run) == run);
    fare.map(|f| f.edited.clone()).unwrap_or_default()
}

/// What a reader makes of the log of the attempt asked about.
pub(super) fn vitals(truth: &Truth, ask: &UseAsk<'_>) -> Option<Vitals> {
    let fare = truth.fares.get(ask.task).filter(|f| f.began == ask.from)?;
    if super::trials::is_veiled(truth, ask.task) {
        return Some(Vitals::hidden("permission denied"));
    }
    let failing = fare.loops.then(|| Repeat { times: 12, call: "Read: /x".into() });
    Some(Vitals {
        source: Some("transcript".into()),
        format: Some("claude".into()),
        model: Some("m1".into()),
        turn: if fare.in_tool { Turn::Tool { since: fare.active } } else { Turn::Model },
        began: Some(fare.began),
        active: Some(fare.active),
        turns: Some(fare.turns),
        cwd: fare.folder.clone(),
        edited: fare.edited.iter().cloned().collect(),
        failing,
        ..Vitals::default()
    })
}
