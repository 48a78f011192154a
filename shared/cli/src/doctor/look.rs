//! The looks that `doctor` and `check` take. Nothing here writes.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};

use super::super::env;
use super::super::told::Books;
use ::coord::{Operation, Runtime};
use base::error::{Kind, Result};
use base::time::Time;
use board::several_hosts::{self, Duty};
use board::{self, BoardId, Event, EventKind, Mode};
use config::span::seconds;
use config::{Config, Loaded};
use host::Split;
use logs::cache::Cache;
use ops::doctor::{
    Around, BoardRead, BoardSeen, ConfigSeen, DiskSeen, Finding, StartersSeen, StateSeen, TargetSeen,
    UnitSettings, Versions, WatcherSeen,
};
use ops::metrics::{self, Kept};
use ops::pass::damage::{self, When};
use ops::pass::{self, Tools, history};
use ops::timers::{self, By, NOTIFY, Owner, Places, SESSIONS, Starter, WATCHED};
use policy::clock::Awake;
use policy::runtime;
use policy::runtime::Dispatcher;
use policy::runtime::gateway;

/// Who gave a value: a file, a variable or nobody.
pub(super) type Origin = String;

/// How far back spawned sessions are looked for: seconds, and events of a board.
const SPAWNED_LATELY: (i64, u32) = (30 * 86_400, 200_000);

/// Whether sessions that `coord detect` looks at were spawned for tasks of a board in the last 30 days. A board that cannot be read says
/// nothing.
pub(crate) fn spawns(id: &BoardId, config: &Config, now: Time) -> bool {
    let board = board::open(id, Mode::Look, config.board.busy_timeout);
    let turns = board.and_then(|mut board| board.turns(now.plus(-SPAWNED_LATELY.0), SPAWNED_LATELY.1));
    let is_looked_at = |e: &Event| {
        let runtime =
            e.payload.get("runtime").map_or(Some(Runtime::default()), |r| Runtime::named(r.as_str()?));
        runtime.is_some_and(|r| r.lacks(Operation::Detect).is_none())
    };
    turns.is_ok_and(|all| all.iter().any(|(_, e)| e.kind == EventKind::SessionSpawned && is_looked_at(e)))
}

/// Whether this user may write there.
pub(crate) fn is_writable(path: &Path) -> bool {
    rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// What the shipped system units read besides the configuration files.
const UNIT_SETTINGS: &str = "/etc/default/watchbill";

/// What is set for the shipped system units alone; `None` where nothing is.
pub(super) fn unit_settings() -> Option<UnitSettings> {
    let file = PathBuf::from(UNIT_SETTINGS);
    let text = base::untrusted_file::text(&file)?;
    Some(UnitSettings::of(file, &text, env))
}

pub(super) fn config(loaded: &Result<Loaded>) -> ConfigSeen {
    let Ok(loaded) = loaded else {
        let e = loaded.as_ref().err().cloned();
        let loaded = e.map_or(Ok((0, Vec::new())), Err);
        return ConfigSeen { loaded, shared: Vec::new(), ignored: Vec::new() };
    };
    let set = loaded.origin.values().filter(|from| *from != "default");
    let from: BTreeSet<&String> = set.clone().collect();
    let files = from.iter().map(|f| Path::new(f.as_str())).filter(|f| f.is_absolute());
    ConfigSeen {
        loaded: Ok((set.count(), from.iter().map(|f| (*f).clone()).collect())),
        shared: files.filter_map(|f| Some((f.to_path_buf(), shared(f)?))).collect(),
        ignored: config::ignored(&std::env::vars_os().collect(), &loaded.config),
    }
}

/// Who else may change what stands in a file, by its mode or by putting another one in its place.
fn shared(file: &Path) -> Option<String> {
    if file.metadata().is_ok_and(|m| m.mode() & 0o020 != 0) {
        return Some("its group can write it".into());
    }
    let folder = file.canonicalize().ok()?.parent()?.to_path_buf();
    let mode = folder.metadata().ok()?.mode();
    // In a folder like /tmp nobody replaces another one's file.
    (mode & 0o002 != 0 && mode & 0o1000 == 0)
        .then(|| format!("every user can write its folder {}", folder.display()))
}

pub(crate) fn state(place: Option<&Path>, refused: Option<&str>, now: Time) -> StateSeen {
    let folder = place.and_then(Path::parent).map(Path::to_path_buf);
    let there = folder.as_deref().and_then(|f| f.ancestors().find(|a| a.exists()));
    let locked = || there.filter(|f| !is_writable(f)).map(|f| format!("{} cannot be written", f.display()));
    let file = || {
        let file = place.filter(|f| f.exists() && !is_writable(f));
        file.map(|f| format!("{} cannot be written", f.display()))
    };
    let held = place.and_then(|file| Some((file.to_path_buf(), Cache::held_for(file, now)?)));
    StateSeen { refused: refused.map(str::to_owned).or_else(locked).or_else(file), folder, held }
}

/// How it stands with those who are told: by name the tries that failed, or why what was told cannot be read.
pub(crate) fn targets(state: Option<&Path>, config: &Config) -> Vec<TargetSeen> {
    Books::beside(state).map(|books| books.failing(config.notify.keys())).unwrap_or_default()
}

pub(crate) fn board(id: &BoardId, tools: &mut Tools<'_>, when: When) -> BoardSeen {
    let me = rustix::process::geteuid();
    let meta = id.file().and_then(|file| file.metadata().ok());
    let files = id.file().map(board::discover::files).into_iter().flatten();
    let files = files.filter(|f| f.exists()).chain(id.folder());
    let locked = files.filter(|f| !f.as_os_str().is_empty() && !is_writable(f)).collect();
    let read = read(id, tools, when);
    // A server that did not answer is waited for once.
    let answers = id.file().is_some() || !matches!(&read, Err(e) if e.kind == Kind::Busy);
    let patience = tools.config.board.busy_timeout;
    BoardSeen {
        name: id.name(),
        at: id.at.clone(),
        damage: answers.then(|| damaged(id, tools, when)).flatten(),
        read,
        locked,
        split: tools.split(id).unwrap_or(Split::Whole),
        wedge: pass::lock::wedge(id, tools),
        // A board that does not tell is a finding of its own.
        pause: answers.then(|| id.pause_in_force(tools.pass.now, patience).unwrap_or_default()).flatten(),
        // Root sees the environment of everybody.
        owner: meta.map(|m| m.uid()).filter(|owner| *owner != me.as_raw() && !me.is_root()),
    }
}

/// What is wrong with the board's file, as far as that was asked: a check reads all of it.
fn damaged(id: &BoardId, tools: &mut Tools<'_>, when: When) -> Option<String> {
    match tools
        .open(id, Mode::Look)
        .and_then(|board| damage::look(&*board, tools.cache, tools.pass.now, when))
    {
        Ok(found) => found,
        Err(e) => (e.kind == Kind::Damaged).then_some(e.what),
    }
}

fn read(id: &BoardId, tools: &mut Tools<'_>, when: When) -> Result<BoardRead> {
    let mut board = tools.open(id, Mode::Look)?;
    let runtime = runtime::of(id, board.is_own(), tools.host);
    let around = Around {
        gone: gateway::gone(id, tools.cache),
        grace: seconds(tools.config.heal.lonely_grace),
        stopped: matches!(runtime.dispatcher, Dispatcher::Alive(pid) if tools.host.is_stopped(pid)),
        has_service: gateway::has_service(env("HOME").as_deref().map(Path::new)),
        hosts: several_hosts::attend(&mut *board, &id.known_as(tools.host)?, "doctor", Duty::Asks)?,
        // Each file is opened, and who asks for what needs a person hears of it from the watchers.
        unreadable: match when == When::Always && !board.is_own() {
            true => runtime::unreadable(id),
            false => Vec::new(),
        },
        // Why its history cannot be read is said of it anyway.
        replaced: history::replaced(&mut *board, tools.cache).unwrap_or_default(),
        person: tools.config.people.assignee.clone(),
        runtime,
    };
    BoardRead::of(&mut *board, around, tools.pass.now)
}

/// Room in each of these folders, or where it would be made; a file system counts once.
pub(crate) fn disks(folders: &[PathBuf]) -> Vec<DiskSeen> {
    let mut known = BTreeSet::new();
    let there = folders.iter().filter_map(|f| f.ancestors().find(|a| a.is_dir()));
    let new = there.filter(|f| f.metadata().is_ok_and(|m| known.insert(m.dev())));
    let room = new.filter_map(|folder| {
        let stat = rustix::fs::statvfs(folder).ok()?;
        Some(DiskSeen { folder: folder.to_path_buf(), free: stat.f_bavail.saturating_mul(stat.f_frsize) })
    });
    room.collect()
}

pub(super) fn versions(ours: &str) -> Versions {
    Versions { ours: ours.to_owned(), sqlite: rusqlite::version().to_owned(), hermes: hermes() }
}

/// The version of the `hermes` on the path, from the folder beside it that its installer made. It is not started: looking at
/// a board would migrate it.
fn hermes() -> Option<String> {
    let path = env("PATH")?;
    let program = path.split(':').map(|dir| Path::new(dir).join("hermes")).find(|p| p.is_file())?;
    let lib = program.canonicalize().ok()?.parent()?.parent()?.join("lib");
    let entries = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let packages =
        entries(&lib).flat_map(|python| entries(&python.join("site-packages")).collect::<Vec<_>>());
    let mut names = packages.filter_map(|p| p.file_name()?.to_str().map(str::to_owned));
    let version =
        names.find_map(|n| n.strip_prefix("hermes_agent-")?.strip_suffix(".dist-info").map(str::to_owned));
    Some(version.unwrap_or_else(|| format!("of unknown version at {}", program.display())))
}

/// Whether a cron daemon runs; `None` where that is hidden. A test names the processes of its own machine.
pub(crate) fn cron_runs() -> Option<bool> {
    #[cfg(debug_assertions)]
    if let Some(proc) = env("WATCHBILL_TEST_PROC") {
        return timers::cron_runs(Path::new(&proc));
    }
    timers::cron_runs(Path::new("/proc"))
}

/// The place of a board, the same by each name for it; that of one in a server as it stands.
fn whole(place: &str) -> String {
    Path::new(place).canonicalize().map_or_else(|_| place.to_owned(), |path| path.display().to_string())
}

/// See [`ops::doctor::unwatched`].
pub(crate) fn unwatched(watchers: &[WatcherSeen], seen: &BoardSeen, now: Time) -> Option<Finding> {
    ops::doctor::unwatched(watchers, seen, &whole(&seen.at.to_string()), now)
}

/// What starts the watchers, and what they left.
pub(crate) struct Eyes<'a> {
    state: Option<&'a Path>,
    given: Option<&'a Path>,
    starters: Vec<Starter>,
}

impl<'a> Eyes<'a> {
    pub(crate) fn new(state: Option<&'a Path>, given: Option<&'a Path>, root: Option<&Path>) -> Eyes<'a> {
        let installed = state.and_then(timers::install::installed);
        Eyes { state, given, starters: timers::look(&Places::of(&env), &Owner::of(root), installed) }
    }

    /// Each watcher with what starts it and its newest record; what looks at agent sessions only where it is started, or
    /// `spawns` says that there are any; what tells people only where it is started, or there are `targets`. `awake`: when this
    /// machine was.
    pub(crate) fn watchers(&self, spawns: bool, targets: bool, awake: Awake) -> Vec<WatcherSeen> {
        let one = |w: timers::Watched| {
            let starters: Vec<Starter> =
                self.starters.iter().filter(|s| s.program == w.program).cloned().collect();
            let named = starters.iter().filter_map(|s| s.metrics.clone());
            let given = self.given.map(|dir| dir.join(format!("{}.prom", w.program)));
            let usual = self.state.map(|dir| metrics::place(dir, w.program));
            let files: BTreeSet<PathBuf> = named.chain(given).chain(usual).collect();
            let kept: Vec<Kept> = files.iter().filter_map(|f| Kept::read(f, w.program)).collect();
            let newest = kept.iter().filter_map(|k| Some((k.record()?, k))).max_by_key(|(r, _)| r.at);
            let (record, failed) = newest.map(|(r, k)| (r, k.failed())).unzip();
            let failed = failed.unwrap_or_default();
            let mut boards: BTreeMap<String, Time> = BTreeMap::new();
            for (board, at) in kept.iter().flat_map(Kept::boards) {
                let last = boards.entry(whole(board)).or_insert(at);
                *last = at.max(*last);
            }
            let unrecorded = files.iter().all(|f| f.try_exists().is_ok_and(|is_there| !is_there));
            WatcherSeen { watched: w, starters, record, failed, boards, awake, unrecorded }
        };
        // A unit file that a package put there, or another user's timer, says nothing about this user.
        let runs = |program: &str| {
            let is_it =
                |s: &Starter| s.program == program && s.other_user.is_none() && s.is_on != Some(false);
            self.starters.iter().any(is_it)
        };
        let sessions = (spawns || runs(SESSIONS.program)).then_some(SESSIONS);
        let notify = (targets || runs(NOTIFY.program)).then_some(NOTIFY);
        WATCHED.into_iter().chain(sessions).chain(notify).map(one).collect()
    }

    /// Whether the user's own systemd outlives its sessions; asked only where something depends on it.
    pub(crate) fn lingers(&self) -> Option<bool> {
        self.starters.iter().find(|s| s.by == By::User)?;
        timers::lingers()
    }

    /// Both.
    pub(crate) fn starters(&self) -> StartersSeen {
        StartersSeen { lingers: self.lingers(), cron_runs: self.cron_runs() }
    }

    /// Whether a cron daemon runs; looked for only where something depends on it.
    pub(crate) fn cron_runs(&self) -> Option<bool> {
        self.starters.iter().find(|s| s.by == By::Cron && s.other_user.is_none())?;
        cron_runs()
    }
}
