//! The looks that `doctor` and `check` take. Nothing here writes.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};

use super::super::env;
use crate::board::{self, BoardId, Mode, Status};
use crate::config::Loaded;
use crate::doctor::{
    BoardRead, BoardSeen, ConfigSeen, DiskSeen, StateSeen, UnitSettings, Versions, WatcherSeen,
};
use crate::error::{Kind, Result};
use crate::metrics;
use crate::pass::damage::{self, When};
use crate::pass::{self, Tools};
use crate::policy::dispatcher::{self, TICKED, is_tick};
use crate::runtime::Dispatcher;
use crate::runtime::gateway;
use crate::timers::{self, By, Owner, Places, SESSIONS, Starter, WATCHED};
use crate::{pause, runtime};

/// Who gave a value: a file, a variable or nobody.
pub(super) type Origin = String;

/// How far back the work of a dispatcher is looked for, in seconds, and in how many events.
const BACK: i64 = 7 * 86_400;
const MAX_EVENTS: u32 = 4_000;

/// Whether this user may write there.
fn is_writable(path: &Path) -> bool {
    rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// What the shipped system units read besides the configuration files.
const UNIT_SETTINGS: &str = "/etc/default/watchbill";

/// What is set for the shipped system units alone; `None` where nothing is.
pub(super) fn unit_settings() -> Option<UnitSettings> {
    let file = PathBuf::from(UNIT_SETTINGS);
    let text = crate::foreign::text(&file)?;
    Some(UnitSettings::of(file, &text, env))
}

pub(super) fn config(loaded: &Result<Loaded>) -> ConfigSeen {
    let Ok(loaded) = loaded else {
        let e = loaded.as_ref().err().cloned();
        return ConfigSeen { loaded: e.map_or(Ok((0, Vec::new())), Err), shared: Vec::new() };
    };
    let set = loaded.origin.values().filter(|from| *from != "default");
    let from: BTreeSet<&String> = set.clone().collect();
    let files = from.iter().map(|f| Path::new(f.as_str())).filter(|f| f.is_absolute());
    ConfigSeen {
        loaded: Ok((set.count(), from.iter().map(|f| (*f).clone()).collect())),
        shared: files.filter_map(|f| Some((f.to_path_buf(), shared(f)?))).collect(),
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

pub(super) fn state(place: Option<&Path>, refused: Option<&str>) -> StateSeen {
    let folder = place.and_then(Path::parent).map(Path::to_path_buf);
    let there = folder.as_deref().and_then(|f| f.ancestors().find(|a| a.exists()));
    let locked = || there.filter(|f| !is_writable(f)).map(|f| format!("{} cannot be written", f.display()));
    let file = || {
        let file = place.filter(|f| f.exists() && !is_writable(f));
        file.map(|f| format!("{} cannot be written", f.display()))
    };
    StateSeen { refused: refused.map(str::to_owned).or_else(locked).or_else(file), folder }
}

pub(in crate::cli) fn board(id: &BoardId, tools: &mut Tools<'_>, when: When) -> BoardSeen {
    let me = rustix::process::geteuid();
    let meta = id.path.metadata().ok();
    let beside = ["", "-wal", "-shm"].map(|end| {
        let mut file = id.path.clone().into_os_string();
        file.push(end);
        PathBuf::from(file)
    });
    let files = beside.into_iter().filter(|f| f.exists()).chain([id.folder()]);
    let locked = files.filter(|f| !f.as_os_str().is_empty() && !is_writable(f)).collect();
    BoardSeen {
        name: id.name(),
        path: id.path.clone(),
        damage: damaged(id, tools, when),
        read: read(id, tools),
        locked,
        split: tools.host.split(&id.path),
        wedge: pass::wedge(&id.path, tools),
        pause: pause::in_force(&id.folder(), tools.pass.now),
        // Root sees the environment of everybody.
        owner: meta.map(|m| m.uid()).filter(|owner| *owner != me.as_raw() && !me.is_root()),
    }
}

/// What is wrong with the board's file, as far as that was asked: a check reads all of it.
fn damaged(id: &BoardId, tools: &mut Tools<'_>, when: When) -> Option<String> {
    let board = board::open(id, Mode::Look, tools.config.board.busy_timeout);
    match board.and_then(|board| damage::look(&*board, id, tools.cache, tools.pass.now, when)) {
        Ok(found) => found,
        Err(e) => (e.kind == Kind::Damaged).then_some(e.what),
    }
}

fn read(id: &BoardId, tools: &mut Tools<'_>) -> Result<BoardRead> {
    let mut board = board::open(id, Mode::Look, tools.config.board.busy_timeout)?;
    let (shape, is_own, refused) = (board.shape(), board.is_own(), board.writable().err());
    let rows = board.glance(&Status::OPEN)?;
    let events = board.events(tools.pass.now.plus(-BACK), MAX_EVENTS)?;
    let runtime = runtime::of(id, is_own, tools.host);
    let free = runtime.dispatcher == Dispatcher::Absent && runtime.is_daemon;
    let gone = gateway::gone(id, tools.cache);
    let lately = events.iter().map(|(_, e)| e).filter(|e| tools.pass.now.since(e.at) <= TICKED);
    Ok(BoardRead {
        shape,
        is_own,
        refused,
        open: rows.len(),
        waiting: dispatcher::waiting(&rows, tools.pass.now),
        newest: events.iter().map(|(_, e)| e.at).max(),
        gone: gone.filter(|g| free && !lately.clone().any(|e| is_tick(e) && g.is_not_by(e))).map(|g| g.pid),
        stopped: matches!(runtime.dispatcher, Dispatcher::Alive(pid) if tools.host.is_stopped(pid)),
        ticked: events.iter().filter(|(_, e)| is_tick(e)).map(|(_, e)| e.at).max(),
        runtime,
        decomposes: id.root.as_deref().is_some_and(runtime::auto_decomposes),
    })
}

/// Room in each of these folders, or where it would be made; a file system counts once.
pub(super) fn disks(folders: &[PathBuf]) -> Vec<DiskSeen> {
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

/// What starts the watchers, and what they left.
pub(in crate::cli) struct Eyes<'a> {
    state: Option<&'a Path>,
    given: Option<&'a Path>,
    starters: Vec<Starter>,
}

impl<'a> Eyes<'a> {
    pub(in crate::cli) fn new(
        state: Option<&'a Path>,
        given: Option<&'a Path>,
        root: Option<&Path>,
    ) -> Eyes<'a> {
        Eyes { state, given, starters: timers::look(&Places::of(&env), &Owner::of(root)) }
    }

    /// Each watcher with what starts it and its newest record; what looks at agent sessions only where it is started, or
    /// `spawns` says that there are any.
    pub(in crate::cli) fn watchers(&self, spawns: bool) -> Vec<WatcherSeen> {
        let one = |w: timers::Watched| {
            let starters: Vec<Starter> =
                self.starters.iter().filter(|s| s.program == w.program).cloned().collect();
            let named = starters.iter().filter_map(|s| s.metrics.clone());
            let given = self.given.map(|dir| dir.join(format!("{}.prom", w.program)));
            let usual = self.state.map(|dir| metrics::place(dir, w.program));
            let files = named.chain(given).chain(usual);
            let record = files.filter_map(|f| metrics::record(&f, w.program)).max_by_key(|r| r.at);
            WatcherSeen { watched: w, starters, record }
        };
        // A unit file that a package put there, or somebody else's timer, says nothing about this user.
        let runs =
            |s: &Starter| s.program == SESSIONS.program && s.other_user.is_none() && s.is_on != Some(false);
        let has_sessions = spawns || self.starters.iter().any(runs);
        WATCHED.into_iter().chain(has_sessions.then_some(SESSIONS)).map(one).collect()
    }

    /// Whether the user's own systemd outlives its sessions; asked only where something depends on it.
    pub(in crate::cli) fn lingers(&self) -> Option<bool> {
        self.starters.iter().find(|s| s.by == By::User)?;
        timers::lingers()
    }
}
