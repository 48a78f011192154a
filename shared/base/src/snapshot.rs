//! A copy of a file and of those beside it, as all of them were at one moment, in a private folder. For looking at what cannot be looked
//! at in place.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::untrusted_file;

/// So many times a copy is made of files that change meanwhile.
const TRIES: u32 = 5;
/// A file written less than this ago may be written again at what looks like the same time: clocks of file systems tick.
const SETTLED: Duration = Duration::from_millis(40);

/// The copy. It is gone when this is dropped.
#[derive(Debug)]
pub struct Snapshot {
    folder: TempDir,
}

/// What shows that a file changed: number, length, and both of its times. `None`: it is not there.
type Stamp = Option<(u64, u64, i64, i64, i64, i64)>;

impl Snapshot {
    /// Copies `file`, and what is beside it under its name with one of these endings. `most`: the longest they may be together, in bytes.
    ///
    /// # Errors
    /// `FileTooLarge`, `ResourceBusy` where they do not stop changing, and whatever reading them or writing the copy says.
    pub fn of(file: &Path, ends: &[&str], most: u64) -> io::Result<Snapshot> {
        Snapshot::by_clock(file, ends, most, &SystemTime::now, &std::thread::sleep)
    }

    fn by_clock(
        file: &Path,
        ends: &[&str],
        most: u64,
        now: &dyn Fn() -> SystemTime,
        sleep: &dyn Fn(Duration),
    ) -> io::Result<Snapshot> {
        let folder = tempfile::Builder::new().prefix("watchbill-look-").tempdir()?;
        let snapshot = Snapshot { folder };
        let pairs: Vec<(PathBuf, PathBuf)> = std::iter::once("")
            .chain(ends.iter().copied())
            .map(|end| (with_end(file, end), with_end(&snapshot.path(), end)))
            .collect();
        for _ in 0..TRIES {
            let before = stamps(&pairs)?;
            if before.first().is_none_or(Option::is_none) {
                return Err(io::ErrorKind::NotFound.into());
            }
            if before.iter().flatten().map(|stamp| stamp.1).sum::<u64>() > most {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            match is_settled(&pairs, now()).then(|| copy(&pairs, &before)) {
                Some(Ok(())) if stamps(&pairs)? == before => return Ok(snapshot),
                Some(Err(e)) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            sleep(SETTLED);
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// The copy of the file itself; the others are beside it.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("copy")
    }
}

/// The path of a file that lies beside another one, under its name with an end.
pub fn with_end(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn stamps(pairs: &[(PathBuf, PathBuf)]) -> io::Result<Vec<Stamp>> {
    let stamp = |from: &PathBuf| match from.metadata() {
        Ok(m) if !m.is_file() => Err(io::Error::other("not a plain file")),
        Ok(m) => Ok(Some((m.ino(), m.len(), m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec()))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    };
    pairs.iter().map(|(from, _)| stamp(from)).collect()
}

/// Whether none of them was written just now. A time in the future counts as long ago: it will not come again.
fn is_settled(pairs: &[(PathBuf, PathBuf)], now: SystemTime) -> bool {
    let age = |from: &PathBuf| now.duration_since(from.metadata().ok()?.modified().ok()?).ok();
    pairs.iter().filter_map(|(from, _)| age(from)).all(|age| age >= SETTLED)
}

fn copy(pairs: &[(PathBuf, PathBuf)], there: &[Stamp]) -> io::Result<()> {
    for ((from, to), stamp) in pairs.iter().zip(there) {
        match stamp {
            // Whatever is in its place by now: no more than was there.
            Some(stamp) => {
                io::copy(&mut untrusted_file::open(from)?.take(stamp.1), &mut File::create(to)?)?;
            }
            None if to.exists() => std::fs::remove_file(to)?,
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs;

    #[test]
    fn all_of_it_is_copied_and_gone_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.db");
        fs::write(&file, "board").unwrap();
        fs::write(dir.path().join("a.db-wal"), "log").unwrap();
        let copy = Snapshot::of(&file, &["-wal", "-journal"], 100).unwrap();
        let (at, beside) = (copy.path(), with_end(&copy.path(), "-wal"));
        assert_eq!((fs::read(&at).unwrap(), fs::read(beside).unwrap()), (b"board".to_vec(), b"log".to_vec()));
        assert!(!with_end(&at, "-journal").exists());
        drop(copy);
        assert!(!at.exists());
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("a.db-journal")).unwrap();
        assert!(Snapshot::of(&file, &["-journal"], 100).is_err());
        assert_eq!(Snapshot::of(&file, &["-wal"], 7).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(Snapshot::of(&dir.path().join("b"), &[], 7).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_does_not_stop_changing_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.db");
        fs::write(&file, "0").unwrap();
        let written = || file.metadata().unwrap().modified().unwrap();
        let tries = Cell::new(0);
        let tried = |now: &dyn Fn() -> SystemTime| {
            tries.set(0);
            let copied = Snapshot::by_clock(&file, &[], 100, now, &|_| tries.set(tries.get() + 1));
            (copied.map(drop).map_err(|e| e.kind()), tries.get())
        };
        let busy = (Err(io::ErrorKind::ResourceBusy), TRIES);
        assert_eq!(tried(&written), busy, "written just now, each time");
        let later = || written() + SETTLED;
        assert_eq!(tried(&later), (Ok(()), 0));
        // It grows after its stamp was taken, each time.
        let grows = || {
            let text = fs::read_to_string(&file).unwrap() + "1";
            fs::write(&file, text).unwrap();
            later()
        };
        assert_eq!(tried(&grows), busy);
    }
}
