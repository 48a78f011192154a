//! The dispatch lock of a board, and a dispatcher that is stuck in it.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode as FileMode, OFlags};

use super::Tools;
use super::open::joined;
use super::report::lasting;
use crate::report::{BoardReport, Notice, Phase};
use base::error::{Error, Kind, Result};
use base::time::words;
use board::BoardId;
use host::Holders;
use policy::remedy;

/// How long a held dispatch lock is waited for. A tick of Hermes takes well under a second.
const LOCK_WAIT: Duration = Duration::from_millis(1_500);
/// A process that holds the dispatch lock for this many seconds is stuck in it.
const WEDGED: i64 = 300;

/// Says that a dispatcher is stuck in its lock, as far as passes saw the same process hold it, or that none is any more.
pub(super) fn look(id: &BoardId, tools: &mut Tools<'_>, report: &mut BoardReport) {
    let wedge = wedge(id, tools);
    say_wedged(wedge.as_ref(), id, tools, report);
}

/// Every watcher sees a dispatcher that is stuck, and one of them says it.
fn say_wedged(wedge: Option<&Wedge>, id: &BoardId, tools: &mut Tools<'_>, report: &mut BoardReport) {
    let all = wedge.map(|w| (format!("dispatcher-wedged: {}", w.who()), w.to_string().into()));
    let prefix = format!("notice:lock:{}:", id.at);
    let all = lasting(&prefix, all.into_iter().collect(), true, tools);
    report.notices.extend(all.into_iter().map(|n| Notice { fails: n.phase != Phase::Ended, ..n }));
}

/// Takes `<board>.dispatch.lock` around the write, so that a dispatcher's tick and ours do not interleave. The file is
/// Hermes': it is opened, never made, and a board without one is written under its guards alone.
pub(super) fn take(id: &BoardId, tools: &mut Tools<'_>, report: &mut BoardReport) -> Result<Option<File>> {
    let Some(path) = lock_path(id) else { return Ok(None) };
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(fd) = rustix::fs::open(&path, flags, FileMode::empty()) else { return Ok(None) };
    let file = File::from(fd);
    let began = Instant::now();
    while rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if began.elapsed() >= LOCK_WAIT {
            let wedge = held(&path, tools)?;
            say_wedged(Some(&wedge), id, tools, report);
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    tools.cache.forget(&format!("lock:{}:", path.display()), &BTreeSet::new());
    say_wedged(None, id, tools, report);
    Ok(Some(file))
}

/// A dispatcher that is stuck in its lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wedge {
    /// The lock.
    pub lock: PathBuf,
    /// Who holds it: pids, in words.
    pub who: String,
    /// For how many seconds the same process was seen with it.
    pub held: i64,
}

impl Wedge {
    /// `process 9 has held LOCK for 10m`.
    pub fn what(&self) -> String {
        format!("{} for {}", self.who(), words(self.held))
    }

    fn who(&self) -> String {
        format!("process {} has held {}", self.who, self.lock.display())
    }
}

impl fmt::Display for Wedge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dispatcher-wedged: {}; {}", self.what(), remedy::WEDGED)
    }
}

/// The dispatcher that is stuck in its lock, if one is, as far as passes saw the same process hold it.
pub fn wedge(id: &BoardId, tools: &mut Tools<'_>) -> Option<Wedge> {
    let lock = lock_path(id)?;
    match tools.host.flock_holders(&lock) {
        Holders::Pids(pids) => {
            let (who, held) = held_for(&lock, &pids, tools);
            (held >= WEDGED).then_some(Wedge { lock, who, held })
        }
        Holders::Nobody => {
            tools.cache.forget(&format!("lock:{}:", lock.display()), &BTreeSet::new());
            None
        }
        Holders::Unknown(_) => None,
    }
}

/// A process holds the dispatch lock. For a while that is a reason to come back later; a process that never releases it is a
/// finding, and then the pass goes on without it (Hermes itself prints zeros with exit 0 all night).
fn held(path: &Path, tools: &mut Tools<'_>) -> Result<Wedge> {
    let busy = |who: String| {
        Error::new(Kind::Busy, path.display(), format!("the dispatcher is at work ({who})"))
            .hint("the next pass tries again")
    };
    let pids = match tools.host.flock_holders(path) {
        Holders::Pids(pids) => pids,
        Holders::Nobody => return Err(busy("it just ended".into())),
        Holders::Unknown(why) => return Err(busy(why)),
    };
    let (who, held) = held_for(path, &pids, tools);
    if held < WEDGED {
        return Err(busy(format!("process {who}")));
    }
    Ok(Wedge { lock: path.to_path_buf(), who, held })
}

/// Who holds the lock, and for how many seconds the same process was seen with it.
fn held_for(path: &Path, pids: &[i64], tools: &mut Tools<'_>) -> (String, i64) {
    let prefix = format!("lock:{}:", path.display());
    let keys: BTreeSet<String> = pids.iter().map(|p| format!("{prefix}{p}")).collect();
    tools.cache.forget(&prefix, &keys);
    let now = tools.pass.now;
    let since = keys.iter().map(|k| tools.cache.sight(k, now)).min().unwrap_or(now);
    (joined(pids, ", "), now.since(since))
}

/// `None` for a board on a server: no dispatcher of Hermes works on one.
fn lock_path(id: &BoardId) -> Option<PathBuf> {
    let path = id.file()?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".dispatch.lock");
    Some(path.with_file_name(name))
}
