//! A worker's file, opened so that nothing it may be can hold a pass or lead it elsewhere, and how far it was read.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use base::hash::fnv;
use base::reason::Reason;

/// Bytes before a mark by which a rewritten file is recognised.
const PRINT: u64 = 64;

/// Whose file it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Any user's: the board or the runtime says where it lies.
    Anybody,
    /// Our own: its path was named to us, and to quote another user's on a board would publish it.
    Ourselves,
}

/// What identifies one state of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    pub(super) size: u64,
    /// Seconds and nanoseconds of its last write.
    pub(super) written: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Stamp {
        let written = (meta.mtime(), meta.mtime_nsec());
        Stamp { device: meta.dev(), inode: meta.ino(), size: meta.len(), written }
    }

    fn is_same_file(&self, other: &Stamp) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// How far a file was read, in a way that tells whether it is still the same file up to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The file as it was.
    pub(super) stamp: Stamp,
    /// The first byte not read.
    pub(super) offset: u64,
    /// Hash of the bytes before it.
    print: u64,
}

impl Mark {
    pub(super) fn at(file: &File, stamp: Stamp, offset: u64) -> io::Result<Mark> {
        Ok(Mark { stamp, offset, print: print(file, offset)? })
    }

    /// Whether the file is the same up to here, with no more than `most` bytes behind.
    pub(super) fn fits(&self, file: &File, now: &Stamp, most: u64) -> io::Result<bool> {
        let rest = now.size.checked_sub(self.offset);
        let is_near = self.stamp.is_same_file(now) && rest.is_some_and(|n| n <= most);
        Ok(is_near && print(file, self.offset)? == self.print)
    }
}

/// Hash of the bytes before an offset.
fn print(file: &File, offset: u64) -> io::Result<u64> {
    let from = offset.saturating_sub(PRINT);
    Ok(fnv(bytes(file, from, offset - from)?))
}

/// Whether it is a store of SQLite, by how it begins.
pub(super) fn is_sqlite(file: &File) -> io::Result<bool> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    Ok(bytes(file, 0, MAGIC.len() as u64)? == MAGIC)
}

/// Some bytes of the file, fewer where it ends.
pub(super) fn bytes(file: &File, from: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], from + filled as u64) {
            // The file was cut short while it was read; what is left is what there is.
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

const LINK: &str = "a symbolic link: put the file itself in its place";

/// Looks at a file without opening it: an unchanged log costs no more than this. `None` where there is none.
pub fn glance(path: &Path, owner: Owner) -> Result<Option<Stamp>, Reason> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) => check(&meta, owner).map(Some),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(refused(e)),
    }
}

/// Why a file cannot be looked at, and what to do where that is plain.
pub(super) fn refused(e: io::Error) -> Reason {
    if e.kind() != io::ErrorKind::PermissionDenied {
        return e.into();
    }
    let me = rustix::process::geteuid().as_raw();
    let what =
        format!("{e}: let user {me} read it (chmod, and its folders), or run this as the user who writes it");
    Reason::caused(what, e)
}

/// Whether this reason for not reading a file is a lack of permission.
pub fn is_denied(why: &str) -> bool {
    why.contains("(os error 13)")
}

/// `None` where there is no such file.
pub fn open(path: &Path) -> Result<Option<File>, Reason> {
    // Without NONBLOCK a FIFO put in the log's place just now would hold the whole pass for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(rustix::io::Errno::LOOP) => Err(LINK.into()),
        Err(e) => Err(refused(e.into())),
    }
}

/// The state of a file, unless it may not be read.
pub fn check(meta: &Metadata, owner: Owner) -> Result<Stamp, Reason> {
    if meta.is_symlink() {
        return Err(LINK.into());
    }
    let kind = meta.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        // `/dev/null` and a terminal belong where they are.
        return Err("a device, and no file: name another log".into());
    }
    if !meta.is_file() {
        return Err("not a regular file: move it away".into());
    }
    if owner == Owner::Ourselves && meta.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user: run this as that user".into());
    }
    Ok(Stamp::of(meta))
}
