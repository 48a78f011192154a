//! Whether some process writes into a board file that no longer has a name.
//!
//! Hermes 0.19 opens and closes the board file after each commit, which by POSIX drops its own locks on it.
//! The next process with SQLite before 3.51 that closes the board takes itself for the last one and unlinks
//! `-wal` and `-shm` under the living one. From then on two groups write into two logs, and one loses.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::locks::{Inode, Kind, Lock};
use super::{Host, Split, proc};
use base::snapshot::with_end;

/// SQLite's dead-man switch: every process with a WAL board open holds a read lock on this byte of the `-shm`
/// (`UNIX_SHM_DMS`, os_unix.c).
const DEAD_MAN_SWITCH: u64 = 128;
/// SQLite's lock bytes in the board file begin here (`PENDING_BYTE`, os_unix.c).
const PENDING_BYTE: u64 = 0x4000_0000;

/// How often, and how far apart, a board that seems split is looked at again: for a second.
const LOOKS: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(50);

impl Host {
    /// Whether the board at `db` is split. The file itself is never opened: closing it would drop the locks
    /// that our own connection holds, which is how boards get split in the first place.
    pub fn split(&self, db: &Path) -> Split {
        match self.split_now(db) {
            Split::Whole => Split::Whole,
            // A process that ends refuses questions an instant before it lets go of its locks.
            Split::Unknown(_) => self.split_now(db),
            Split::Split { pids } => self.lasting(db, pids),
        }
    }

    /// The last process to close a board unlinks the files an instant before it closes them, which on a busy machine was
    /// long enough to be seen twice. Who writes into a lost copy does so for longer.
    fn lasting(&self, db: &Path, mut pids: Vec<i64>) -> Split {
        for _ in 0..LOOKS {
            std::thread::sleep(BETWEEN);
            match self.split_now(db) {
                Split::Split { pids: now } => pids.retain(|pid| now.contains(pid)),
                other => return other,
            }
            if pids.is_empty() {
                return Split::Whole;
            }
        }
        Split::Split { pids }
    }

    /// Whether a process is a harness (`board run`, `coord work`). That opens the file which lies in the place of its board before it
    /// writes, at the latest with its next heartbeat: it loses nothing, and without it nothing records how its command ends.
    fn reopens(&self, pid: i64) -> bool {
        let Ok(line) = fs::read(self.proc.join(pid.to_string()).join("cmdline")) else { return false };
        let mut words = line.split(|byte| *byte == 0);
        let program = words.next().and_then(|word| word.rsplit(|byte| *byte == b'/').next());
        let subcommand: &[u8] = match program {
            Some(b"board") => b"run",
            Some(b"coord") => b"work",
            _ => return false,
        };
        words.any(|word| word == subcommand)
    }

    fn split_now(&self, db: &Path) -> Split {
        if !self.sees_namespace() {
            return Split::Unknown("in a pid namespace, where foreign locks do not show".into());
        }
        let board = match Board::at(db) {
            Ok(board) => board,
            Err(e) => return Split::Unknown(format!("{}: {e}", db.display())),
        };
        let locks = match self.locks() {
            Ok(locks) => locks,
            Err(why) => return Split::Unknown(why.into()),
        };
        let suspects: BTreeSet<i64> = locks.iter().filter(|l| is_sqlite(l)).map(|l| l.pid).collect();
        let mut pids = Vec::new();
        let mut doubt = None;
        for pid in suspects {
            match self.open_files(pid) {
                Ok(files) => {
                    let is_lost = files.iter().any(|(_, target)| board.lost.contains(target));
                    if is_lost && !self.reopens(pid) {
                        pids.push(pid);
                    }
                }
                Err(e) if pid > 0 && proc::vanished(&e) => {}
                Err(_) if !locks.iter().any(|l| l.pid == pid && board.may_be_elsewhere(l)) => {}
                Err(e) => doubt = Some(format!("{}: files of pid {pid}: {e}", db.display())),
            }
        }
        match doubt {
            _ if !pids.is_empty() => Split::Split { pids },
            Some(why) => Split::Unknown(why),
            None => Split::Whole,
        }
    }
}

/// A board's files as other processes' descriptors name them.
struct Board {
    /// The board file, or its folder where it is gone: tells the device.
    place: Inode,
    shm: Option<u64>,
    /// What the link of a descriptor says once the name is gone.
    lost: [PathBuf; 3],
}

impl Board {
    fn at(db: &Path) -> io::Result<Board> {
        let db = match fs::canonicalize(db) {
            // A board that was deleted can still be written to.
            Err(e) if e.kind() == io::ErrorKind::NotFound => beside(db)?,
            other => other?,
        };
        let shm = match Inode::of(&with_end(&db, "-shm")) {
            Ok(inode) => Some(inode.number),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        let place = Inode::of(&db).or_else(|_| Inode::of(db.parent().unwrap_or(Path::new("/"))))?;
        let lost = [" (deleted)", "-wal (deleted)", "-shm (deleted)"].map(|end| with_end(&db, end));
        Ok(Board { place, shm, lost })
    }

    /// Whether a lock whose holder cannot be asked may be that of a process with another `-shm` of this board.
    fn may_be_elsewhere(&self, lock: &Lock) -> bool {
        is_dead_man_switch(lock)
            && Some(lock.inode.number) != self.shm
            && lock.inode.maybe_same_device(self.place)
    }
}

fn beside(db: &Path) -> io::Result<PathBuf> {
    let name = db.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = db.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(fs::canonicalize(folder)?.join(name))
}

fn is_sqlite(lock: &Lock) -> bool {
    is_dead_man_switch(lock) || (lock.kind == Kind::Posix && lock.start >= PENDING_BYTE)
}

fn is_dead_man_switch(lock: &Lock) -> bool {
    lock.kind == Kind::Posix
        && !lock.write
        && lock.start == DEAD_MAN_SWITCH
        && lock.end == Some(DEAD_MAN_SWITCH)
}

#[cfg(test)]
mod tests;
