//! The look that `status`, `check` and `page` take at everything: the watchers, every board, and what each task needs.

use std::path::{Path, PathBuf};

use super::doctor::look::{self, Eyes};
use super::hosts::Hosts;
use super::{Common, Here, env, why};
use ::board::pause::Pause;
use ::board::{BoardId, Location, discover};
use ::page::Overview;
use base::error::{Error, Kind, Result};
use base::redact::redact;
use base::time::Time;
use config::{Config, Loaded};
use logs::cache::Cache;
use ops::doctor::{self, Finding, Severity, StartersSeen, WatcherSeen};
use ops::explain::{Lens, Summary};
use ops::morning::Part;
use ops::needs::{self, BoardNow, Need, Now};
use ops::pass::damage::When;
use ops::pass::{Looks, Tools};
use ops::report::printable;
use policy::clock::Awake;

/// How many seconds are looked back unless told: a night.
pub(super) const NIGHT: i64 = 12 * 3_600;

/// What is made of a look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// What needs a person.
    Needs,
    /// That, and the pages of the watchers.
    Pages,
}

/// What was seen. One thing that cannot be looked at hides no other.
pub(super) struct Standing {
    pub(super) now: Time,
    /// From when on finished and healed tasks are counted.
    pub(super) since: Time,
    host: String,
    /// Of the watchers. Those that are overdue are counted beside.
    pub(super) machine: Vec<Finding>,
    pub(super) overdue: usize,
    pub(super) boards: Vec<OneBoard>,
    /// What kept boards from being found or looked at.
    pub(super) faults: Vec<Error>,
    /// Other machines are asked, and this one has nothing to be looked at.
    pub(super) is_bare: bool,
}

/// Whether this machine has nothing to be looked at beside the machines that are named: no board is found, or none of the names of `--board`, and
/// nothing starts a watcher or did so before. Where a board is gone, its timers say that there was one.
pub(super) fn is_bare(hosts: &Hosts, common: &Common, loaded: &Loaded, metrics: Option<&Path>) -> bool {
    if hosts.is_empty() || common.by_file() {
        return false;
    }
    let is_missing =
        |board: &BoardId| board.file().is_some_and(|file| file.try_exists().is_ok_and(|there| !there));
    let has_none = match common.boards(&loaded.config) {
        // A board of that name may be on another machine alone.
        Ok(boards) => !common.board.is_empty() && boards.iter().all(is_missing),
        Err(e) => e.kind == Kind::NoInput,
    };
    if !has_none {
        return false;
    }
    let place = Cache::place(&env);
    let eyes = Eyes::new(place.as_deref().and_then(Path::parent), metrics, None);
    let watchers = eyes.watchers(false, false, Awake::default());
    !watchers.iter().any(|w| w.is_started() || w.record.is_some())
}

/// What stops everything on this machine, as far as no board is looked at for it. That nothing starts a watcher is not among it where a pass
/// came all the same: it may be made by hand. `is_told`: whether it is said of a board why no pass can be made on it.
pub(super) fn stoppers(
    common: &Common,
    loaded: &Loaded,
    here: &Here,
    is_told: impl Fn(&str) -> bool,
) -> Vec<Need> {
    let (config, place) = (&loaded.config, Cache::place(&env));
    let state = place.as_deref().and_then(Path::parent);
    let eyes = Eyes::new(state, None, common.root(config).as_deref());
    let cache = Cache::open(place.clone());
    let awake = Awake::of(&cache, &here.host, here.now);
    let mut watchers = eyes.watchers(false, !config.notify.is_empty(), awake);
    watchers.retain(|w| w.is_started() || !w.came(here.now));
    watchers.iter_mut().for_each(|w| w.leave_told(&is_told));
    if watchers.is_empty() {
        return Vec::new();
    }
    let folders: Vec<PathBuf> = state.map(Path::to_path_buf).into_iter().collect();
    let mut found = of_watchers(&watchers, &eyes, config, (place.as_deref(), cache.refused()), here.now);
    found.extend(look::disks(&folders).iter().map(doctor::disk));
    needs::of_findings(&found, None)
}

/// What is found of the watchers, of those who are told, and of the state file. `place`, `refused`: where that is,
/// and why it is not used, if so.
fn of_watchers(
    watchers: &[WatcherSeen],
    eyes: &Eyes<'_>,
    config: &Config,
    (place, refused): (Option<&Path>, Option<&str>),
    now: Time,
) -> Vec<Finding> {
    let starters = StartersSeen { lingers: None, cron_runs: eyes.cron_runs() };
    let targets = doctor::targets(&look::targets(place, config), now);
    // A user who starts no watcher needs no state.
    let is_used = watchers.iter().any(WatcherSeen::is_started);
    let state = is_used.then(|| doctor::state(&look::state(place, refused, now)));
    doctor::watchers(watchers, starters, now).into_iter().chain(targets).chain(state).collect()
}

/// What needs a person where the configuration is refused: nothing runs, and no board can be looked at.
///
/// # Errors
/// This machine cannot be looked at.
pub(super) fn refused(common: &Common, why: &Error) -> Result<Now> {
    let here = Here::look(common, &Config::default())?;
    // It leaves the machine.
    let why = config::without_values(why);
    let need = Need {
        key: needs::REFUSED.into(),
        cause: needs::REFUSED.into(),
        says: printable(&redact(&format!("nothing runs: the configuration is refused: {why}"))),
        run: Some("watchbill doctor".into()),
        // Not where it stands: that changes with each line before it.
        about: [needs::lasting(&why.what)].into(),
        ..Need::default()
    };
    Ok(Now {
        now: here.now,
        since: here.now,
        host: here.host.called(),
        needs: vec![need],
        boards: Vec::new(),
        unknown: Vec::new(),
        is_remote: false,
    })
}

/// One board.
pub(super) struct OneBoard {
    pub(super) name: String,
    pub(super) at: Location,
    /// The Hermes root that it is of.
    root: Option<PathBuf>,
    pub(super) findings: Vec<Finding>,
    /// The pause in force.
    pause: Option<Pause>,
    /// How a command names it.
    address: String,
    /// How many tasks are open; 0 where it cannot be read, which is one of the findings.
    pub(super) open: usize,
    /// What its tasks need, or why they could not be looked at.
    pub(super) summary: Result<Summary>,
    /// What `budget-check` sees of it, where it is for a page.
    overview: Option<Overview>,
}

impl OneBoard {
    /// Whether one of its findings says why no pass can be made on it.
    fn is_refused(&self) -> bool {
        let why = [
            "board-unreadable",
            "board-unwritable",
            "board-too-old",
            "board-split",
            "board-damaged",
            "board-replaced",
        ];
        self.findings.iter().any(|f| f.severity == Severity::Error && why.contains(&f.id))
    }

    /// What it asks of a person beside what `doctor` finds, with what is counted of it; `None` where it cannot be read.
    pub(super) fn asks(&self) -> Option<(Vec<Need>, BoardNow)> {
        let summary = self.summary.as_ref().ok()?;
        let mut now = BoardNow::of(summary);
        let needs = match self.pause.as_ref() {
            // What waits on a board that was moved goes on where it is now.
            Some(pause) if pause.is_move() => {
                now.due = 0;
                needs::of_move(summary, pause, &self.address).into_iter().collect()
            }
            pause => {
                let paused = pause.and_then(|pause| needs::of_pause(summary, pause, &self.address));
                needs::of_board(summary).into_iter().chain(paused).collect()
            }
        };
        Some((needs, now))
    }
}

impl Standing {
    /// Looks at this machine; `hosts` are asked beside. `span`: how many seconds back finished and healed tasks are counted. `metrics`:
    /// where the watchers leave their files.
    ///
    /// # Errors
    /// This machine cannot be looked at. What is wrong with boards is among what was seen.
    pub(super) fn look(
        common: &Common,
        loaded: &Loaded,
        metrics: Option<&Path>,
        span: i64,
        hosts: &Hosts,
        shows: Shows,
    ) -> Result<Standing> {
        let config = &loaded.config;
        let here = Here::look(common, config)?;
        if is_bare(hosts, common, loaded, metrics) {
            return Ok(Standing {
                now: here.now,
                since: here.now.plus(-span),
                host: here.host.called(),
                machine: Vec::new(),
                overdue: 0,
                boards: Vec::new(),
                faults: Vec::new(),
                is_bare: true,
            });
        }
        let pages = shows == Shows::Pages;
        let lens = Lens { pages, ..why::lens(common, &here, loaded) };
        let pass = here.pass("watchbill", None, true);
        let place = Cache::place(&env);
        let mut cache = Cache::open(place.clone());
        let looks = Some(Looks { kept: &lens.kept, pages });
        let mut tools = Tools { looks, ..here.tools(&pass, config, &mut cache, false) };
        let state = place.as_deref().and_then(Path::parent);
        let eyes = Eyes::new(state, metrics, common.root(config).as_deref());
        let awake = Awake::of(tools.cache, &here.host, here.now);
        let mut watchers = eyes.watchers(false, !config.notify.is_empty(), awake);
        let mut standing = Standing {
            now: here.now,
            since: here.now.plus(-span),
            host: here.host.called(),
            machine: Vec::new(),
            overdue: watchers.iter().filter(|w| w.is_overdue(here.now)).count(),
            boards: Vec::new(),
            faults: Vec::new(),
            is_bare: false,
        };
        let ids = common.boards_seen(tools.cache, config).unwrap_or_else(|e| {
            standing.faults.push(e);
            Vec::new()
        });
        let folders: Vec<PathBuf> =
            ids.iter().filter_map(BoardId::folder).chain(state.map(Path::to_path_buf)).collect();
        for (id, name) in ids.iter().zip(discover::names(&ids)) {
            let seen = look::board(id, &mut tools, When::Doubted);
            let mut findings = doctor::board(&seen, config, here.now);
            findings.extend(look::unwatched(&watchers, &seen, here.now));
            let open = seen.read.as_ref().map_or(0, |read| read.open);
            // That a board cannot be read, or is damaged, is one of the findings.
            let mut faulty = |e: &Error| standing.faults.extend((e.kind != Kind::Damaged).then(|| e.clone()));
            let read = seen.read.and_then(|_| lens.read(id, standing.since).inspect_err(&mut faulty));
            let (summary, overview) = match read {
                Ok(mut read) => {
                    let overview = read.overview.take();
                    let mut summary = Summary::of(read, standing.since, here.now);
                    summary.board.clone_from(&name);
                    // What is wrong with a whole board is a need already, where it is an error.
                    summary.without(&findings, Severity::Error);
                    (Ok(summary), overview)
                }
                Err(e) => {
                    findings.extend(doctor::damaged_tasks(&name, &e, &findings));
                    (Err(e), None)
                }
            };
            let (pause, address, at) = (seen.pause, id.address(), id.at.clone());
            let root = id.real_root();
            let one = OneBoard { name, at, root, findings, pause, address, open, summary, overview };
            standing.boards.push(one);
        }
        let boards = &standing.boards;
        let is_told = |board: &str| {
            boards.iter().any(|b| (b.name == board || b.at.to_string() == board) && b.is_refused())
        };
        watchers.iter_mut().for_each(|w| w.leave_told(is_told));
        let state = (place.as_deref(), tools.cache.refused());
        standing.machine = of_watchers(&watchers, &eyes, config, state, here.now);
        standing.machine.extend(look::disks(&folders).iter().map(doctor::disk));
        Ok(standing)
    }

    /// What needs a person, with what is counted beside.
    pub(super) fn needs(&self) -> Now {
        let mut all = needs::of_findings(&self.machine, None);
        let mut boards = Vec::new();
        for board in &self.boards {
            all.extend(needs::of_findings(&board.findings, Some(&board.name)));
            let Some((needs, now)) = board.asks() else { continue };
            all.extend(needs);
            boards.push(now);
        }
        let mut all = needs::join_gateways(all, |board| self.first_of_root(board));
        needs::sort(&mut all);
        Now {
            now: self.now,
            since: self.since,
            host: self.host.clone(),
            needs: all,
            boards,
            unknown: self.faults.iter().map(ToString::to_string).collect(),
            is_remote: false,
        }
    }

    /// The first board of the root of this one; itself outside any.
    fn first_of_root(&self, board: &str) -> String {
        let root = self.boards.iter().find(|b| b.name == board).and_then(|b| b.root.as_ref());
        let first = root.and_then(|root| self.boards.iter().find(|b| b.root.as_ref() == Some(root)));
        first.map_or_else(|| board.to_owned(), |b| b.name.clone())
    }

    /// What was seen of each board, for the page.
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        let boards = self.boards.iter();
        boards
            .map(|b| Part { board: &b.name, summary: b.summary.as_ref().ok(), overview: b.overview.as_ref() })
            .collect()
    }

    /// The exit code of a look: whether all of it could be seen.
    pub(super) fn code(&self) -> u8 {
        let is_whole = |b: &OneBoard| b.summary.as_ref().is_ok_and(|summary| summary.unknown.is_empty());
        if self.faults.is_empty() && self.boards.iter().all(is_whole) { 0 } else { Kind::Partial.code() }
    }
}
