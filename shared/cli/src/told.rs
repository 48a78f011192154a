//! What each target was told: one small file a target, beside the state file.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use base::atomic_file::beside;
use base::error::{Error, Kind, Result};
use base::hash;
use base::reason::Reason;
use base::time::{HOUR, Time};
use base::untrusted_file;
use ops::doctor::TargetSeen;
use ops::notify::Book;
use ops::timers::NOTIFY;

use super::env;

/// Their folder.
pub(crate) struct Books(PathBuf);

/// What keeps other passes from telling the same; the kernel lets go of it, however this pass ends. Its time of change says when targets
/// were told something last that could not be written down: that needs no room on a full disk. `None` where no folder takes such a file.
pub(crate) struct Lock(Option<File>);

impl Lock {
    /// When that was.
    pub(crate) fn unwritten(&self) -> Option<Time> {
        self.0.as_ref()?.metadata().ok().map(|m| Time(m.mtime()))
    }

    /// Takes note of it.
    ///
    /// # Errors
    /// The file cannot be changed. Where there is none: it is not the beginning of an hour.
    pub(crate) fn note_unwritten(&self, at: Time) -> io::Result<()> {
        let Some(file) = &self.0 else {
            // The first pass of each hour tells.
            let is_first = at.0.rem_euclid(HOUR) < NOTIFY.every;
            return is_first.then_some(()).ok_or_else(|| io::Error::other("no lock"));
        };
        let at = Timespec { tv_sec: at.0, tv_nsec: 0 };
        Ok(rustix::fs::futimens(file, &Timestamps { last_access: at, last_modification: at })?)
    }
}

impl Books {
    /// Beside the state file.
    ///
    /// # Errors
    /// Nothing says where that is.
    pub(crate) fn of(state: Option<&Path>) -> Result<Books> {
        Books::beside(state).ok_or_else(|| {
            Error::new(Kind::Usage, "state", "neither XDG_STATE_HOME nor HOME is set")
                .hint("set one of them: what was told is written down there")
        })
    }

    pub(crate) fn beside(state: Option<&Path>) -> Option<Books> {
        Some(Books(state?.parent()?.join("notify")))
    }

    fn file(&self, target: &str) -> PathBuf {
        self.0.join(format!("{target}.json"))
    }

    /// Keeps other passes from telling the same. Where the folder cannot be written, a file elsewhere does so: people are told all the same.
    ///
    /// # Errors
    /// `Busy` where another pass has it.
    pub(crate) fn lock(&self) -> Result<Lock> {
        self.lock_or(elsewhere(env("XDG_RUNTIME_DIR").map(PathBuf::from), std::env::temp_dir()))
    }

    fn lock_or(&self, others: impl IntoIterator<Item = PathBuf>) -> Result<Lock> {
        let is_done = |locked: &Result<Lock>| locked.as_ref().err().is_none_or(|e| e.kind == Kind::Busy);
        let own = lock(&self.0, "lock");
        if is_done(&own) {
            return own;
        }
        // One for each state folder of this user.
        let name = format!("notify-{:016x}", hash::fnv(self.0.as_os_str().as_bytes().iter().copied()));
        let elsewhere = others.into_iter().map(|folder| lock_beside(&folder, &name)).find(is_done);
        elsewhere.unwrap_or(Ok(Lock(None)))
    }

    /// What a target was told; an empty book where there is none.
    ///
    /// # Errors
    /// In one phrase: it cannot be read, or is not a book.
    pub(crate) fn read(&self, target: &str) -> std::result::Result<Book, Reason> {
        let file = self.file(target);
        let book = match untrusted_file::read(&file) {
            Ok(Some(text)) => Book::read(&text),
            Ok(None) => Ok(Book::default()),
            Err(why) => Err(why.at("cannot be read")),
        };
        book.map_err(|why| why.at(file.display()))
    }

    /// Writes it: whole, and on the disk before this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, target: &str, book: &Book) -> Result<()> {
        let file = self.file(target);
        let wrong = |e: &io::Error| Error::io(file.display(), e);
        let text = serde_json::to_string(book).map_err(|e| Error::new(Kind::Bug, file.display(), e))?;
        let new = beside(&self.0, &text, 0o600).map_err(|e| wrong(&e))?;
        new.as_file().sync_all().map_err(|e| wrong(&e))?;
        new.persist(&file).map_err(|e| wrong(&e.error))?;
        Ok(())
    }

    /// How it stands with these targets: the tries that failed, or why what was told cannot be read.
    pub(crate) fn failing<'t>(&self, targets: impl IntoIterator<Item = &'t String>) -> Vec<TargetSeen> {
        let one = |target: &'t String| TargetSeen {
            name: target.clone(),
            failing: self.read(target).map(|book| book.failing().cloned()),
        };
        targets.into_iter().map(one).collect()
    }
}

/// Where else it may be. On a disk that is full or read-only, as in a container, the memory of the machine still takes a file.
fn elsewhere(runtime: Option<PathBuf>, temporary: PathBuf) -> impl Iterator<Item = PathBuf> {
    let own = format!("watchbill-{}", rustix::process::getuid().as_raw());
    let shared = [temporary, "/dev/shm".into()].map(|folder| folder.join(&own));
    runtime.map(|folder| folder.join("watchbill")).into_iter().chain(shared)
}

/// Locks this file of a folder, which it makes.
fn lock(folder: &Path, name: &str) -> Result<Lock> {
    let place = folder.join(name);
    let wrong = |e: &io::Error| Error::io(place.display(), e);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| wrong(&e))?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let is_new = !place.exists();
    let file = rustix::fs::open(&place, flags, Mode::from_raw_mode(0o600)).map_err(|e| wrong(&e.into()))?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|e| {
        if e != Errno::WOULDBLOCK {
            return wrong(&e.into());
        }
        let busy = Error::new(Kind::Busy, place.display(), "another pass is telling the targets");
        busy.hint(format!("where that hangs, `fuser -v {}` names it", place.display()))
    })?;
    let lock = Lock(Some(file.into()));
    if is_new {
        let _ = lock.note_unwritten(Time(0));
    }
    Ok(lock)
}

/// The same in a folder whose own folder others write: only where it belongs to this user alone.
fn lock_beside(folder: &Path, name: &str) -> Result<Lock> {
    let wrong = |e: &io::Error| Error::io(folder.display(), e);
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(wrong(&e)),
        _ => {}
    }
    let meta = folder.symlink_metadata().map_err(|e| wrong(&e))?;
    let is_ours =
        meta.is_dir() && meta.uid() == rustix::process::getuid().as_raw() && meta.mode() & 0o077 == 0;
    if !is_ours {
        return Err(Error::new(Kind::Permission, folder.display(), "others can write there"));
    }
    lock(folder, name)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn where_its_folder_cannot_be_written_a_lock_elsewhere_keeps_others_out() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("state"), "no folder").unwrap();
        let others = [at("state").join("below"), at("run")];
        let books = |name: &str| Books(dir.path().join(name).join("notify"));
        let first = books("state").lock_or(others.clone()).unwrap();
        assert_eq!(first.unwritten(), Some(Time(0)));
        first.note_unwritten(Time(7_000)).unwrap();
        assert_eq!(books("state").lock_or(others.clone()).err().map(|e| e.kind), Some(Kind::Busy));
        drop(first);
        assert_eq!(books("state").lock_or(others.clone()).unwrap().unwritten(), Some(Time(7_000)));
        // Where its own folder can be written, that one counts.
        assert_eq!(books("sound").lock_or(others).unwrap().unwritten(), Some(Time(0)));
        assert!(at("sound/notify/lock").exists());
    }

    #[test]
    fn without_any_lock_the_beginning_of_an_hour_tells() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("state"), "no folder").unwrap();
        // A folder of others is not used, nor a link to one.
        std::fs::DirBuilder::new().mode(0o777).create(at("open")).unwrap();
        std::fs::set_permissions(at("open"), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        std::fs::create_dir(at("mine")).unwrap();
        symlink(at("mine"), at("link")).unwrap();
        let lock = Books(at("state").join("notify")).lock_or([at("open"), at("link")]).unwrap();
        assert_eq!(lock.unwritten(), None);
        let tells = |at: i64| lock.note_unwritten(Time(at)).is_ok();
        assert_eq!([7_200, 7_319, 7_320, 10_799].map(tells), [true, true, false, false]);
        assert!(std::fs::read_dir(at("open")).unwrap().next().is_none());
        // The memory of the machine takes one, so a timer that never comes then tells, too.
        let lock =
            Books(at("state").join("notify")).lock_or(elsewhere(Some(at("state")), at("state"))).unwrap();
        lock.note_unwritten(Time(7_400)).unwrap();
        assert_eq!(lock.unwritten(), Some(Time(7_400)));
        let fd = lock.0.as_ref().unwrap().as_raw_fd();
        let place = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        assert!(place.starts_with("/dev/shm"), "{}", place.display());
        std::fs::remove_file(place).unwrap();
    }
}
