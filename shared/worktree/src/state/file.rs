//! What stands at one path of a tree, read by ourselves: no filter of a repository is asked, no link followed, no pipe waited for.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, open, openat, readlinkat, statat};
use rustix::io::Errno;

use super::Kind;
use base::clip::{lossy, printable};
use base::hash::Fnv;
use base::reason::Reason;

/// Said of whatever is not read in time.
pub(super) const SLOW: &str = "the tree takes too long to read";

/// How much is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes of one file. Of a larger one size and times stand for its content.
    pub(super) file: u64,
    /// Bytes of all files together.
    pub(super) total: u64,
    /// Files and folders.
    pub(super) entries: usize,
    /// Folders within folders.
    pub(super) depth: usize,
    /// Repositories within the tree.
    pub(super) repositories: usize,
}

/// Says whether the time is up.
pub(super) fn in_time(until: Instant) -> Result<(), Reason> {
    if Instant::now() > until { Err(SLOW.into()) } else { Ok(()) }
}

/// One phrase about a path that cannot be read.
pub(super) fn unread(path: &[u8], e: impl Into<std::io::Error>) -> Reason {
    let path = printable(&lossy(path));
    Reason::of(format!("{} cannot be read", base::clip::clip(&path, 200)), e.into())
}

/// Opens a folder to look things up in, not through a link.
pub(super) fn folder(path: &Path) -> Result<OwnedFd, Reason> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).map_err(|e| unread(path.as_os_str().as_encoded_bytes(), e))
}

/// Whether an error only says that nothing stands there: it is gone, or a folder above it is something else now.
fn is_absent(e: Errno) -> bool {
    matches!(e, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// Opens a folder in another one; `None` where there is none by now.
pub(super) fn subfolder(at: &impl AsFd, name: &[u8], flags: OFlags) -> Result<Option<OwnedFd>, Errno> {
    let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(at, name, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(fd)),
        Err(e) if is_absent(e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// What stands at a path, and a hash of it: content and whether it is executable, or a link's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) kind: Kind,
    pub(super) print: u64,
    /// When its inode last changed, in milliseconds since the epoch; 0 where nothing is known of that.
    pub(super) at: i64,
}

impl Seen {
    pub(super) fn nothing(kind: Kind) -> Seen {
        Seen { kind, print: 0, at: 0 }
    }
}

/// Reads files until the time or the bytes are used up.
pub(super) struct Reader {
    pub(super) until: Instant,
    pub(super) bounds: Bounds,
    /// How many bytes were read.
    pub(super) bytes: u64,
    piece: Vec<u8>,
}

impl Reader {
    pub(super) fn new(until: Instant, bounds: Bounds) -> Reader {
        Reader { until, bounds, bytes: 0, piece: vec![0; 64 << 10] }
    }

    /// What stands at a path below a folder, reached through no link.
    pub(super) fn below(&mut self, top: &OwnedFd, path: &[u8]) -> Result<Seen, Reason> {
        in_time(self.until)?;
        let mut folder: Option<OwnedFd> = None;
        let mut names = path.split(|b| *b == b'/');
        let last = names.next_back().unwrap_or_default();
        for name in names {
            let next = match &folder {
                Some(at) => subfolder(at, name, OFlags::PATH),
                None => subfolder(top, name, OFlags::PATH),
            };
            folder = next.map_err(|e| unread(path, e))?;
            if folder.is_none() {
                return Ok(Seen::nothing(Kind::Gone));
            }
        }
        let at = folder.as_ref().unwrap_or(top);
        match statat(at, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.seen(at, last, &stat, path),
            Err(e) if is_absent(e) => Ok(Seen::nothing(Kind::Gone)),
            Err(e) => Err(unread(path, e)),
        }
    }

    /// What stands at a name in a folder that was just looked at. `path` is for messages.
    pub(super) fn seen(
        &mut self,
        at: &OwnedFd,
        name: &[u8],
        stat: &Stat,
        path: &[u8],
    ) -> Result<Seen, Reason> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.file(at, name, stat, path),
            FileType::Symlink => match readlinkat(at, name, Vec::new()) {
                Ok(to) => {
                    let mut print = Fnv::new();
                    print.part(to.as_bytes());
                    Ok(Seen { kind: Kind::Link, print: print.value(), at: changed(stat) })
                }
                Err(e) if is_absent(e) => Ok(Seen::nothing(Kind::Gone)),
                Err(e) => Err(unread(path, e)),
            },
            FileType::Directory => Ok(Seen::nothing(Kind::Folder)),
            _ => Ok(Seen { kind: Kind::Other, print: 0, at: changed(stat) }),
        }
    }

    fn file(&mut self, at: &OwnedFd, name: &[u8], stat: &Stat, path: &[u8]) -> Result<Seen, Reason> {
        // As git counts it: the owner's right alone.
        let kind = if stat.st_mode & 0o100 == 0 { Kind::File } else { Kind::Executable };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match openat(at, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(e) if is_absent(e) => return Ok(Seen::nothing(Kind::Gone)),
            // Not ours to read. Its times tell of a change: nobody can set back when an inode changed.
            Err(Errno::ACCESS | Errno::PERM) => {
                return Ok(Seen { kind, print: outside(stat), at: changed(stat) });
            }
            Err(e) => return Err(unread(path, e)),
        };
        let meta = file.metadata().map_err(|e| unread(path, e))?;
        if !meta.is_file() {
            return Ok(Seen::nothing(Kind::Other));
        }
        let print = match self.content(file, meta.size(), path)? {
            Some(print) => print,
            None => outside(stat),
        };
        Ok(Seen { kind, print, at: changed(stat) })
    }

    /// The hash of a file's content; `None` where it is too large to be read.
    fn content(&mut self, file: File, size: u64, path: &[u8]) -> Result<Option<u64>, Reason> {
        if size > self.bounds.file {
            return Ok(None);
        }
        // One that grows while it is read has no end of its own.
        let mut file = file.take(self.bounds.file + 1);
        let (mut print, mut read) = (Fnv::new(), 0_u64);
        loop {
            in_time(self.until)?;
            let n = match file.read(&mut self.piece) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(unread(path, e)),
            };
            print.add(self.piece.get(..n).unwrap_or_default());
            read += n as u64;
            self.bytes += n as u64;
            if self.bytes > self.bounds.total {
                return Err(format!("more than {} MiB of files to compare", self.bounds.total >> 20).into());
            }
        }
        print.add(&read.to_le_bytes());
        Ok((read <= self.bounds.file).then(|| print.value()))
    }
}

/// When the inode last changed, in milliseconds since the epoch.
fn changed(stat: &Stat) -> i64 {
    let part = i64::try_from(stat.st_ctime_nsec / 1_000_000).unwrap_or(0);
    stat.st_ctime.saturating_mul(1_000).saturating_add(part)
}

/// What can be told of a file from outside.
fn outside(stat: &Stat) -> u64 {
    let mut print = Fnv::new();
    print.add(&stat.st_ino.to_le_bytes());
    print.add(&stat.st_size.to_le_bytes());
    print.add(&stat.st_ctime.to_le_bytes());
    print.add(&stat.st_ctime_nsec.to_le_bytes());
    print.add(&times(stat));
    print.value()
}

/// When the content was last written, in bytes.
pub(super) fn times(stat: &Stat) -> Vec<u8> {
    [&stat.st_mtime.to_le_bytes()[..], &stat.st_mtime_nsec.to_le_bytes()[..]].concat()
}
