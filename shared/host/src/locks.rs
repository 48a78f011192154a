//! Who holds a lock, by one read of `/proc/locks`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Holders, Host, proc};
use base::reason::Reason;

/// A file as `/proc/locks` and `stat` name it. The two may disagree on the device on btrfs and overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inode {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) number: u64,
}

impl Inode {
    pub(super) fn of(path: &Path) -> io::Result<Inode> {
        let meta = fs::metadata(path)?;
        let device = meta.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        Ok(Inode { major, minor, number: meta.ino() })
    }

    fn same_device(self, other: Inode) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }

    /// Whether both can lie on one device: a file system without a block device (major 0) may show one
    /// file under two numbers.
    pub(super) fn maybe_same_device(self, other: Inode) -> bool {
        self.same_device(other) || (self.major == 0 && other.major == 0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Flock,
    Posix,
}

/// One lock that is held; waiters are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lock {
    pub(super) kind: Kind,
    pub(super) write: bool,
    /// -1 or 0 where the kernel names nobody.
    pub(super) pid: i64,
    pub(super) inode: Inode,
    pub(super) start: u64,
    /// `None` is the end of the file.
    pub(super) end: Option<u64>,
}

/// How often a list is read at most that comes in pieces and is another one each time.
const READINGS: usize = 12;

/// What one call gives for certain, where there is that much: a page of 4,096 bytes at least, less one long line.
const SURE: usize = 3 << 10;

/// A list of the kernel, and whether it is known to have come in one piece. One call gives at most a page of it, and no
/// more than was asked for; `read_to_string` would begin by asking for 32 bytes.
pub(super) fn listing(path: &Path) -> io::Result<(String, bool)> {
    let mut file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    let first = file.read(&mut piece)?;
    let mut more = first;
    while more > 0 {
        bytes.extend_from_slice(&piece[..more]);
        more = file.read(&mut piece)?;
    }
    // A full first piece followed by nothing may only mean that the list became short meanwhile.
    Ok((String::from_utf8_lossy(&bytes).into_owned(), first < SURE))
}

/// Reads `/proc/locks` (proc_locks(5)). Leases and open-file-description locks are left out.
///
/// # Errors
/// The first line of a lock kind we judge that has another shape.
pub(super) fn parse(text: &str) -> Result<Vec<Lock>, Reason> {
    let mut locks = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let kind = match words.first() {
            Some(&"FLOCK") => Kind::Flock,
            Some(&"POSIX") => Kind::Posix,
            // Among them "->", which is how a waiter begins.
            _ => continue,
        };
        if words.get(4).is_some_and(|place| place.starts_with("<none>")) {
            continue;
        }
        locks.push(
            lock(kind, &words).ok_or_else(|| format!("a line of unknown shape in /proc/locks: {line}"))?,
        );
    }
    Ok(locks)
}

fn lock(kind: Kind, words: &[&str]) -> Option<Lock> {
    let mut place = words.get(4)?.split(':');
    let major = u32::from_str_radix(place.next()?, 16).ok()?;
    let minor = u32::from_str_radix(place.next()?, 16).ok()?;
    let number = place.next()?.parse().ok()?;
    let write = match *words.get(2)? {
        "WRITE" => true,
        "READ" => false,
        _ => return None,
    };
    let end = match *words.get(6)? {
        "EOF" => None,
        n => Some(n.parse().ok()?),
    };
    let inode = Inode { major, minor, number };
    Some(Lock {
        kind,
        write,
        pid: words.get(3)?.parse().ok()?,
        inode,
        start: words.get(5)?.parse().ok()?,
        end,
    })
}

impl Host {
    /// Who holds a `flock` on `path` (Hermes' `.dispatcher.lock` and `.dispatch.lock` are such). The file is
    /// not opened, let alone locked: a gateway that starts meanwhile would take that for another gateway.
    pub fn flock_holders(&self, path: &Path) -> Holders {
        if !self.sees_namespace() {
            return Holders::Unknown("in a pid namespace, where foreign locks do not show".into());
        }
        let file = match Inode::of(path) {
            Ok(file) => file,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Holders::Nobody;
            }
            Err(e) => return Holders::Unknown(format!("{}: {e}", path.display())),
        };
        let locks = match self.locks() {
            Ok(locks) => locks,
            Err(why) => return Holders::Unknown(why.into()),
        };
        let mut pids = BTreeSet::new();
        let mut doubt = None;
        for lock in locks.iter().filter(|l| l.kind == Kind::Flock) {
            match self.holds(lock, file, path) {
                Ok(true) => _ = pids.insert(lock.pid),
                Ok(false) => {}
                Err(why) => doubt = Some(why.into()),
            }
        }
        match doubt {
            Some(why) => Holders::Unknown(why),
            None if pids.is_empty() => Holders::Nobody,
            None => Holders::Pids(pids.into_iter().collect()),
        }
    }

    /// Processes that have the `flock` of a file, as far as this user may look at them: who took it, and whom that one gave the open file to.
    pub fn lockers(&self, file: &Path) -> Vec<i64> {
        let Ok(file) = fs::canonicalize(file) else { return Vec::new() };
        let has_it = |(fd, target): &(PathBuf, PathBuf)| {
            let about = fd.to_string_lossy().replacen("/fd/", "/fdinfo/", 1);
            *target == file && fs::read_to_string(about).is_ok_and(|about| about.contains(": FLOCK "))
        };
        let mut pids = proc::pids(&self.proc).unwrap_or_default();
        pids.retain(|pid| self.open_files(*pid).is_ok_and(|open| open.iter().any(has_it)));
        pids.sort_unstable();
        pids
    }

    /// All POSIX and BSD locks that are held and visible. Where the list took more than one call, a lock released between
    /// two of them made the kernel skip another that is still held; so such a list is read until two readings in a row
    /// are equal, and whatever one of them showed counts as held.
    pub(super) fn locks(&self) -> Result<Vec<Lock>, Reason> {
        let path = self.proc.join("locks");
        let mut all: Vec<Lock> = Vec::new();
        let mut last = None;
        for _ in 0..READINGS {
            let (text, whole) = listing(&path).map_err(|e| Reason::of(path.display(), e))?;
            let now = parse(&text)?;
            let more: Vec<Lock> = now.iter().filter(|lock| !all.contains(lock)).cloned().collect();
            all.extend(more);
            if whole || last.as_ref() == Some(&now) {
                break;
            }
            last = Some(now);
        }
        Ok(all)
    }

    fn holds(&self, lock: &Lock, file: Inode, path: &Path) -> Result<bool, Reason> {
        if lock.inode.number != file.number || !lock.inode.maybe_same_device(file) {
            return Ok(false);
        }
        if lock.pid <= 0 {
            return Err(format!("{}: locked by a process that cannot be seen", path.display()).into());
        }
        if lock.inode.same_device(file) {
            return Ok(true);
        }
        // Two files can share a number on two such file systems: ask the process which one it has open.
        let open = self.open_files(lock.pid);
        let open =
            open.map_err(|e| Reason::of(format_args!("{}: files of pid {}", path.display(), lock.pid), e))?;
        Ok(open.iter().any(|(fd, _)| Inode::of(fd).is_ok_and(|i| i == file)))
    }

    /// The descriptors of a process: the magic link, and what it says.
    pub(super) fn open_files(&self, pid: i64) -> io::Result<Vec<(PathBuf, PathBuf)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.proc.join(pid.to_string()).join("fd"))? {
            let fd = entry?.path();
            match fs::read_link(&fd) {
                Ok(target) => files.push((fd, target)),
                Err(e) if proc::vanished(&e) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests;
