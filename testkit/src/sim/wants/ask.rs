//! The question what needs a person, asked as `check` and `status` ask it.

use std::collections::{BTreeMap, BTreeSet};

use shared::base::error::{Error, Kind, Result};
use shared::board::{Board, BoardId};
use shared::host::Split;
use shared::logs::cache::Cache;
use shared::ops::doctor::{self, Around, BoardRead, BoardSeen, WatcherSeen};
use shared::ops::explain::{self, Set, Site, Summary};
use shared::ops::metrics::Record;
use shared::ops::needs;
use shared::ops::pass::{self, lock::Wedge};
use shared::ops::report::BoardReport;
use shared::ops::timers::{By, Starter, WATCHED};
use shared::policy::clock::Awake;
use shared::policy::{Pass, World};
use shared::watch::Watcher;

use super::super::passes::{Program, around, runtime};
use super::super::{ROOT, Sim};
use super::WEDGED;

/// How far back it is looked: a night.
const NIGHT: i64 = 12 * 3_600;

/// What is named as in need of a person: tasks and findings, each with its cause. And the tasks that a watcher would act on with its
/// next pass.
pub(super) fn named(sim: &Sim) -> Result<(BTreeMap<String, String>, BTreeSet<String>)> {
    let now = sim.truth.borrow().now;
    let id = BoardId { at: "memory".into(), slug: None, root: Some(ROOT.into()) };
    let origin = BTreeMap::new();
    let board =
        Asked { sim, id: &id, set: Set { config: &sim.config, origin: &origin, now, by_file: false } };
    let mut all =
        needs::of_findings(&doctor::watchers(&watchers(sim), doctor::StartersSeen::default(), now), None);
    all.extend(needs::of_findings(&doctor::board(&board.seen()?, &sim.config, now), Some("memory")));
    let since = now.plus(-NIGHT);
    let summary = Summary::of(explain::read(&board, since)?, since, now);
    all.extend(needs::of_tasks(&summary));
    let mut named = BTreeMap::new();
    for need in all {
        if need.tasks.is_empty() {
            named.insert(subject(&need.cause), need.cause.clone());
        }
        named.extend(need.tasks.into_iter().map(|t| (t.id, need.cause.clone())));
    }
    Ok((named, summary.due()))
}

/// What a finding is about.
fn subject(finding: &str) -> String {
    match finding.split('-').next() {
        Some("dispatcher") => "dispatcher".into(),
        Some("pass" | "timers") => "watchers".into(),
        Some("clock") => "clock".into(),
        _ if finding == "board-split" => "split".into(),
        _ => finding.to_owned(),
    }
}

/// The watchers as cron starts them, with what their last passes left.
fn watchers(sim: &Sim) -> Vec<WatcherSeen> {
    let truth = sim.truth.borrow();
    let one = |(program, watched): (Program, shared::ops::timers::Watched)| WatcherSeen {
        watched,
        starters: vec![Starter {
            program: watched.program,
            by: By::Cron,
            place: "crontab".into(),
            is_on: Some(true),
            last: None,
            ended: None,
            other_user: None,
            metrics: None,
            round: false,
            since: None,
        }],
        record: truth.wants.last.get(&program).map(|(at, _, exit)| Record {
            at: *at,
            exit: *exit,
            busy_since: None,
        }),
        failed: BTreeMap::new(),
        boards: BTreeMap::new(),
        awake: Awake::default(),
        unrecorded: false,
    };
    Program::ALL.into_iter().zip(WATCHED).map(one).collect()
}

/// The board of a night.
struct Asked<'a> {
    sim: &'a Sim,
    id: &'a BoardId,
    set: Set<'a>,
}

impl Asked<'_> {
    fn memory(&self) -> Cache {
        self.sim.truth.borrow().memory.recall()
    }

    fn wedge(&self) -> Option<Wedge> {
        let truth = self.sim.truth.borrow();
        let held = truth.second - truth.wants.stuck?.1;
        let who = truth.dispatcher?.to_string();
        (held >= WEDGED).then(|| Wedge { lock: "memory.dispatch.lock".into(), who, held })
    }

    /// What `doctor` sees of it.
    fn seen(&self) -> Result<BoardSeen> {
        let runtime = runtime(self.sim);
        let around = Around {
            runtime,
            gone: None,
            grace: 0,
            stopped: false,
            has_service: false,
            unreadable: Vec::new(),
            replaced: None,
            person: None,
            hosts: None,
        };
        let read = BoardRead::of(&mut *self.sim.open(), around, self.set.now);
        let is_split = self.sim.truth.borrow().wants.split.is_some();
        Ok(BoardSeen {
            name: "memory".into(),
            at: self.id.at.clone(),
            read,
            locked: Vec::new(),
            split: if is_split { Split::Split { pids: vec![9] } } else { Split::Whole },
            damage: None,
            wedge: self.wedge(),
            pause: None,
            owner: None,
        })
    }
}

impl Site for Asked<'_> {
    fn id(&self) -> &BoardId {
        self.id
    }

    fn open(&self) -> Result<Box<dyn Board>> {
        Ok(self.sim.open())
    }

    fn set(&self) -> Set<'_> {
        self.set
    }

    fn ask<W: Watcher>(&self, watcher: &W, only: Option<&str>) -> BoardReport {
        let now = self.set.now;
        let only = only.map(str::to_owned);
        let pass = Pass {
            id: format!("look-{}", W::NAME),
            program: W::NAME,
            now,
            clock_given: false,
            only,
            dry: true,
        };
        let mut report = BoardReport::of(self.id);
        if self.sim.truth.borrow().wants.split.is_some() {
            report.error = Some(Error::new(Kind::Data, "memory", "this board is split"));
            return report;
        }
        let mut board = self.sim.open();
        match around(self.sim, &mut *board, &mut self.memory(), |world| watcher.observe(world, &pass)) {
            Ok(seen) => pass::dry_report(watcher, &seen, &pass, &self.sim.config, self.id),
            Err(e) => {
                report.error = Some(e);
                report
            }
        }
    }

    fn look<T>(&self, board: &mut dyn Board, f: impl FnOnce(&mut World<'_>) -> Result<T>) -> Result<T> {
        around(self.sim, board, &mut self.memory(), f)
    }

    fn paused(&self) -> Option<String> {
        None
    }

    fn wedged(&self) -> Option<String> {
        self.wedge().map(|w| w.to_string())
    }
}
