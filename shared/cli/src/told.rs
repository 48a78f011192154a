//! What each target was told: one small file a target, beside the state file.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, Timespec, Timestamps};

use base::atomic_file::beside;
use base::error::{Error, Kind, Result};
use base::reason::Reason;
use base::time::Time;
use base::untrusted_file;
use ops::doctor::TargetSeen;
use ops::notify::Book;

/// Their folder.
pub(crate) struct Books(PathBuf);

/// What keeps other passes from telling the same; the kernel lets go of it, however this pass ends. Its time of change says when targets
/// were told something last that could not be written down: that needs no room on a full disk.
pub(crate) struct Lock(File);

impl Lock {
    /// When that was.
    pub(crate) fn unwritten(&self) -> Option<Time> {
        self.0.metadata().ok().map(|m| Time(m.mtime()))
    }

    /// Takes note of it.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub(crate) fn note_unwritten(&self, at: Time) -> io::Result<()> {
        let at = Timespec { tv_sec: at.0, tv_nsec: 0 };
        Ok(rustix::fs::futimens(&self.0, &Timestamps { last_access: at, last_modification: at })?)
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

    /// Keeps other passes from telling the same.
    ///
    /// # Errors
    /// `Busy` where another pass has it; the folder cannot be made or written.
    pub(crate) fn lock(&self) -> Result<Lock> {
        let place = self.0.join("lock");
        let wrong = |e: &io::Error| Error::io(place.display(), e);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(|e| wrong(&e))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let is_new = !place.exists();
        let file =
            rustix::fs::open(&place, flags, Mode::from_raw_mode(0o600)).map_err(|e| wrong(&e.into()))?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| Error::new(Kind::Busy, place.display(), "another pass is telling the targets"))?;
        let lock = Lock(file.into());
        if is_new {
            let _ = lock.note_unwritten(Time(0));
        }
        Ok(lock)
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
