//! Where the repository of a folder is, found without git: git would read its configuration on the way.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::process::geteuid;

use base::reason::Reason;
use base::untrusted_file;

/// Most bytes of a file that says where something is.
const MAX_BYTES: u64 = 64 << 10;

/// A repository with a working tree.
#[derive(Debug)]
pub(super) struct Place {
    /// The top folder of the tree.
    pub(super) root: PathBuf,
    /// What belongs to this tree alone: head and index.
    pub(super) own: PathBuf,
    /// What all trees of the repository share; the same folder where there is only one.
    pub(super) common: PathBuf,
}

/// Finds the repository of a folder: in it, or above it on the same file system, as git does.
pub(super) fn find(path: &Path) -> Result<Place, Reason> {
    search(path)?.ok_or_else(|| "not a git repository".into())
}

/// The same; `None` where there is no sign of one. One that is there and cannot be used is an error.
pub(super) fn search(path: &Path) -> Result<Option<Place>, Reason> {
    let start = path.canonicalize().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Reason::caused("no such folder", e),
        _ => Reason::of("the folder cannot be opened", e),
    })?;
    let device = meta(&start)?;
    if !device.is_dir() {
        return Err("not a folder".into());
    }
    for folder in start.ancestors() {
        if meta(folder)?.dev() != device.dev() {
            break;
        }
        if is_git_folder(folder) {
            return Err("a bare repository or git's own folder, not a working tree".into());
        }
        let dot = folder.join(".git");
        match dot.symlink_metadata() {
            Ok(_) => return at(folder, &dot).map(Some),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(unread(&dot, e)),
        }
    }
    Ok(None)
}

fn at(root: &Path, dot: &Path) -> Result<Place, Reason> {
    owned(root)?;
    owned(dot)?;
    let own = if meta(dot)?.is_dir() {
        dot.to_owned()
    } else {
        let said = small_file(dot)?;
        let said = said.strip_prefix(b"gitdir: ").ok_or("its .git file cannot be understood")?;
        root.join(OsStr::from_bytes(said.trim_ascii_end()))
    };
    let own = own.canonicalize().map_err(|e| Reason::caused("its .git file points to nothing", e))?;
    let common = match small_file(&own.join("commondir")) {
        Ok(said) => own.join(OsStr::from_bytes(said.trim_ascii_end())),
        Err(_) => own.clone(),
    };
    let common = common.canonicalize().map_err(|e| Reason::caused("its shared git folder is gone", e))?;
    owned(&own)?;
    owned(&common)?;
    if own.join("HEAD").symlink_metadata().is_err() || !common.join("objects").is_dir() {
        return Err("not a git repository".into());
    }
    Ok(Place { root: root.to_owned(), own, common })
}

impl Place {
    /// What was begun in this tree and not finished, by the files git leaves while it lasts.
    pub(super) fn under_way(&self) -> Option<String> {
        let signs = [
            ("rebase-merge", "rebase"),
            ("rebase-apply", "rebase"),
            ("MERGE_HEAD", "merge"),
            ("CHERRY_PICK_HEAD", "cherry-pick"),
            ("REVERT_HEAD", "revert"),
            ("BISECT_LOG", "bisect"),
        ];
        let found = signs.iter().find(|(file, _)| self.own.join(file).symlink_metadata().is_ok());
        found.map(|(_, what)| (*what).to_owned())
    }
}

fn is_git_folder(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

/// As git since 2.35.2: whose repository it is decides whose programs it could name (CVE-2022-24765). This holds for the
/// root user, too.
fn owned(path: &Path) -> Result<(), Reason> {
    if meta(path)?.uid() == geteuid().as_raw() { Ok(()) } else { Err("another user's repository".into()) }
}

fn meta(path: &Path) -> Result<Metadata, Reason> {
    path.metadata().map_err(|e| Reason::of("the folder cannot be looked at", e))
}

/// The content of a small regular file; a pipe in its place does not hold us up.
pub(super) fn small_file(path: &Path) -> Result<Vec<u8>, Reason> {
    let mut bytes = Vec::new();
    plain_file(path)?.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|e| unread(path, e))?;
    Ok(bytes)
}

/// Opens a regular file for reading, and nothing else.
pub(super) fn plain_file(path: &Path) -> Result<File, Reason> {
    let file = untrusted_file::open(path).map_err(|e| unread(path, e))?;
    if file.metadata().is_ok_and(|m| m.is_file()) {
        Ok(file)
    } else {
        Err(format!("{} cannot be read: not a file", path.display()).into())
    }
}

fn unread(path: &Path, e: std::io::Error) -> Reason {
    Reason::of(format!("{} cannot be read", path.display()), e)
}

/// The first 64 KiB of a regular file below a folder, reached through no link at all, so that it cannot be one elsewhere.
/// `None` where there is no such file, or it cannot be read.
pub(super) fn beneath(top: &Path, path: &str) -> Option<Vec<u8>> {
    let mut names: Vec<&str> = path.split('/').collect();
    if names.iter().any(|n| matches!(*n, "" | "." | "..")) {
        return None;
    }
    let last = names.pop()?;
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = open(top, folder, Mode::empty()).ok()?;
    for name in names {
        at = openat(&at, name, folder | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(&at, last, flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    let is_file = file.metadata().is_ok_and(|m| m.is_file());
    let read = is_file.then(|| file.take(MAX_BYTES).read_to_end(&mut bytes))?;
    read.is_ok().then_some(bytes)
}
