//! Goes through a tree and notes what stands at each path: through git where there is a repository, else folder by folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, OFlags, fstat, statat};

use super::Kind;
use super::file::{self, Bounds, Reader, in_time, subfolder, times, unread};
use crate::filtered::{self, By};
use crate::find::{self, Place};
use crate::read;
use crate::shadow::{Said, Shadow};
use crate::user::User;
use base::hash::Fnv;
use base::reason::Reason;

/// Compares times to the nanosecond whatever the repository asks for, trusts no list of untracked files that the index
/// brings along, and takes a file that is there for one that should be.
const STRICT: [&str; 8] = [
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.sparseCheckout=true",
];

/// One path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// A hash of all that counts at this path.
    pub(super) print: u64,
    /// git does not know it.
    pub(super) is_untracked: bool,
    /// When it changed, in milliseconds since the epoch, for the order in which paths are kept: the same as long as the entry is.
    pub(super) at: i64,
}

impl Entry {
    fn new(kind: Kind, print: u64, at: i64) -> Entry {
        let at = match kind {
            // Few, and nothing else tells of them.
            Kind::Gone | Kind::Repository => i64::MAX,
            // The time of a folder is that of the last name in it.
            Kind::Folder => 0,
            _ => at,
        };
        Entry { kind, print, is_untracked: false, at }
    }
}

/// Where a repository stands.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) commit: Option<String>,
    pub(super) branch: Option<String>,
}

/// What was found so far.
pub(super) struct Gather {
    git: Result<PathBuf, Reason>,
    /// What is not looked at, wherever it stands.
    left_out: Vec<PathBuf>,
    reader: Reader,
    repositories: usize,
    /// By path from the top folder on.
    pub(super) entries: BTreeMap<Vec<u8>, Entry>,
}

impl Gather {
    pub(super) fn new(
        git: Result<PathBuf, Reason>,
        left_out: Vec<PathBuf>,
        until: Instant,
        bounds: Bounds,
    ) -> Gather {
        Gather {
            git,
            left_out,
            reader: Reader::new(until, bounds),
            repositories: 0,
            entries: BTreeMap::new(),
        }
    }

    fn is_left_out(&self, root: &Path, path: &[u8]) -> bool {
        let is_in = |path: PathBuf| self.left_out.iter().any(|out| path.starts_with(out));
        !self.left_out.is_empty() && is_in(root.join(OsStr::from_bytes(path)))
    }

    fn until(&self) -> Instant {
        self.reader.until
    }

    fn add(&mut self, path: Vec<u8>, entry: Entry) -> Result<(), Reason> {
        self.entries.insert(path, entry);
        let most = self.reader.bounds.entries;
        if self.entries.len() > most {
            Err(format!("more than {most} files to compare").into())
        } else {
            Ok(())
        }
    }

    /// Notes what differs from the head's commit in a repository, in the folder `below` of it only (empty: in all of it).
    /// `None` where the repository leaves that folder out as ignored.
    pub(super) fn repository(
        &mut self,
        place: &Place,
        below: &str,
        prefix: &[u8],
    ) -> Result<Option<Head>, Reason> {
        self.repositories += 1;
        let most = self.reader.bounds.repositories;
        if self.repositories > most {
            return Err(format!("more than {most} repositories within the tree").into());
        }
        let git = self.git.clone()?;
        // A list that the user changes would change the state of every tree.
        let shadow = Shadow::make(&git, place, &User::default(), self.until())?;
        if !below.is_empty() && is_ignored(&shadow, below, self.until())? {
            return Ok(None);
        }
        shadow.copy_index(place, self.until())?;
        if place.own.join("index").exists() {
            // A file that is marked to be taken for unchanged is looked at all the same.
            let mut refresh = STRICT.to_vec();
            refresh.extend(["update-index", "-q", "--really-refresh"]);
            shadow.ask(&refresh, self.until())?;
        }
        let mut status = STRICT.to_vec();
        status.extend(["status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z"]);
        status.extend(["--untracked-files=all", "--no-renames", "--ignore-submodules=all"]);
        if !below.is_empty() {
            status.extend(["--", below]);
        }
        let said = shadow.run(&status, self.until())?;
        if said.is_cut {
            return Err("more changed files than can be compared".into());
        }
        let head = head(&said, place)?;
        let untouched = match said.records().into_iter().any(|r| read::unstaged(r).is_some()) {
            true => filtered::untouched(&shadow, place, By::All, self.until())?,
            false => BTreeSet::new(),
        };
        let is_untouched =
            |record: &[u8]| read::unstaged(record).is_some_and(|path| untouched.contains(path));
        let records = said.records().into_iter().filter(|r| !is_untouched(r));
        self.files(records, &place.root, prefix)?;
        for path in submodules(&shadow, place, self.until())? {
            let is_asked = below.is_empty() || path.starts_with(&format!("{below}/"));
            let folder = place.root.join(&path);
            if is_asked && folder.symlink_metadata().is_ok_and(|m| m.is_dir()) {
                self.nested(&folder, &joined(prefix, path.as_bytes()))?;
            }
        }
        Ok(Some(head))
    }

    /// Notes a repository in a folder within the tree, if there is one; else `false`.
    fn nested(&mut self, folder: &Path, path: &[u8]) -> Result<bool, Reason> {
        // It names where it is, so that nobody takes the whole tree for another user's.
        let within = |e: Reason| e.at(format_args!("in {}", base::clip::printable(&base::clip::lossy(path))));
        let Some(place) = find::search(folder).map_err(within)?.filter(|p| p.root == folder) else {
            return Ok(false);
        };
        let Some(head) = self.repository(&place, "", path).map_err(within)? else {
            return Ok(false);
        };
        let mut print = Fnv::new();
        for text in [&head.commit, &head.branch] {
            print.part(text.as_deref().unwrap_or_default().as_bytes());
        }
        self.add(path.to_vec(), Entry::new(Kind::Repository, print.value(), 0))?;
        Ok(true)
    }

    /// Notes the files of which git says something.
    fn files<'s>(
        &mut self,
        records: impl Iterator<Item = &'s [u8]>,
        root: &Path,
        prefix: &[u8],
    ) -> Result<(), Reason> {
        let top = file::folder(root)?;
        for record in records {
            let Some(change) = Change::read(record) else { continue };
            if self.is_left_out(root, change.path) {
                continue;
            }
            let seen = self.reader.below(&top, change.path)?;
            let mut print = Fnv::new();
            print.part(change.index);
            print.part(seen.kind.as_str().as_bytes());
            print.add(&seen.print.to_le_bytes());
            let mut entry = Entry::new(seen.kind, print.value(), seen.at);
            entry.is_untracked = change.index.is_empty();
            self.add(joined(prefix, change.path), entry)?;
        }
        Ok(())
    }

    /// Notes all that is in a folder that belongs to no repository, and below it on the same file system.
    pub(super) fn folder(&mut self, root: &Path) -> Result<(), Reason> {
        let top = file::folder(root)?;
        let device = fstat(&top).map_err(|e| unread(root.as_os_str().as_bytes(), e))?.st_dev;
        self.walk(&Walk { root, device: &device.to_le_bytes() }, top, &[], 0)
    }

    fn walk(&mut self, walk: &Walk<'_>, at: OwnedFd, path: &[u8], depth: usize) -> Result<(), Reason> {
        if depth > self.reader.bounds.depth {
            return Err(format!("more than {} folders within each other", self.reader.bounds.depth).into());
        }
        for name in self.names(&at, path)? {
            in_time(self.until())?;
            let here = joined(path, &name);
            if self.is_left_out(walk.root, &here) {
                continue;
            }
            let stat = match statat(&at, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                // Gone since the folder was read.
                Err(rustix::io::Errno::NOENT) => continue,
                Err(e) => return Err(unread(&here, e)),
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                self.subfolder(walk, &at, &name, here, (&stat.st_dev.to_le_bytes(), depth))?;
                continue;
            }
            let seen = self.reader.seen(&at, &name, &stat, &here)?;
            if seen.kind == Kind::Gone {
                continue;
            }
            let mut print = Fnv::new();
            print.part(seen.kind.as_str().as_bytes());
            print.add(&seen.print.to_le_bytes());
            print.add(&stat.st_size.to_le_bytes());
            print.add(&times(&stat));
            self.add(here, Entry::new(seen.kind, print.value(), seen.at))?;
        }
        Ok(())
    }

    /// Notes a folder and what is in it: through git where a repository begins there.
    fn subfolder(
        &mut self,
        walk: &Walk<'_>,
        at: &OwnedFd,
        name: &[u8],
        path: Vec<u8>,
        (device, depth): (&[u8], usize),
    ) -> Result<(), Reason> {
        self.add(path.clone(), Entry::new(Kind::Folder, 0, 0))?;
        if device != walk.device {
            return Ok(());
        }
        let open = subfolder(at, name, OFlags::RDONLY).map_err(|e| unread(&path, e))?;
        let Some(open) = open else {
            self.entries.remove(&path);
            return Ok(());
        };
        let has_git = statat(&open, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let folder = walk.root.join(OsStr::from_bytes(&path));
        if has_git && self.nested(&folder, &path)? {
            return Ok(());
        }
        self.walk(walk, open, &path, depth + 1)
    }

    /// The names in a folder, in order.
    fn names(&self, at: &OwnedFd, path: &[u8]) -> Result<Vec<Vec<u8>>, Reason> {
        let why = |e: rustix::io::Errno| unread(path, e);
        let mut names = Vec::new();
        for entry in Dir::read_from(at).map_err(why)? {
            in_time(self.until())?;
            let entry = entry.map_err(why)?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push(name.to_vec());
            }
            let most = self.reader.bounds.entries;
            if names.len() > most {
                return Err(format!("more than {most} files to compare").into());
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Where a walk began.
struct Walk<'a> {
    root: &'a Path,
    device: &'a [u8],
}

fn joined(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    if prefix.is_empty() { path.to_vec() } else { [prefix, b"/", path].concat() }
}

/// What git says of one path (`git-status(1)`, porcelain format 2).
struct Change<'a> {
    /// Modes and contents that are staged; empty for what is not tracked.
    index: &'a [u8],
    path: &'a [u8],
}

impl Change<'_> {
    /// `None` for what tells of no file. A path that ends in `/` is another repository: a linked tree of another task or a clone,
    /// whose files are its own.
    fn read(record: &[u8]) -> Option<Change<'_>> {
        let (kind, rest) = record.split_first()?;
        let rest = rest.strip_prefix(b" ")?;
        let (skip, fields) = match kind {
            b'?' => return (!rest.ends_with(b"/")).then_some(Change { index: &[], path: rest }),
            b'1' => (2, 7),
            b'u' => (2, 9),
            _ => return None,
        };
        let after = |n: usize| {
            let mut ends = rest.iter().enumerate().filter(|(_, b)| **b == b' ').map(|(at, _)| at + 1);
            ends.nth(n - 1)
        };
        let (from, to) = (after(skip)?, after(fields)?);
        Some(Change { index: rest.get(from..to)?, path: rest.get(to..)? })
    }
}

/// Whether a repository ignores a folder, and has no file in it.
fn is_ignored(shadow: &Shadow<'_>, folder: &str, until: Instant) -> Result<bool, Reason> {
    // The command refuses paths that are meant as they are; with this in front none has another meaning.
    let plain = format!("./{folder}");
    let said = shadow.ask(&["--no-literal-pathspecs", "check-ignore", "-q", "--", &plain], until)?;
    Ok(said.is_some())
}

fn head(said: &Said, place: &Place) -> Result<Head, Reason> {
    let mut head = Head::default();
    let mut is_told = false;
    for record in said.records() {
        let text = String::from_utf8_lossy(record);
        if let Some(oid) = text.strip_prefix("# branch.oid ") {
            head.commit = (oid != "(initial)").then(|| oid.to_owned());
            is_told = true;
        } else if let Some(name) = text.strip_prefix("# branch.head ") {
            head.branch = (name != "(detached)").then(|| name.to_owned());
        }
    }
    // git says the same of a branch without a commit and of one whose file is damaged, but for the name it gives it.
    let is_damaged =
        |b: &String| b == "(unknown)" || find::beneath(&place.common, &format!("refs/heads/{b}")).is_some();
    let is_lost = head.commit.is_none() && head.branch.as_ref().is_none_or(is_damaged);
    if is_told && !is_lost { Ok(head) } else { Err("its head cannot be read".into()) }
}

/// Folders that the tree's own `.gitmodules` names as submodules, there or not.
fn submodules(shadow: &Shadow<'_>, place: &Place, until: Instant) -> Result<Vec<String>, Reason> {
    if find::beneath(&place.root, ".gitmodules").is_none() {
        return Ok(Vec::new());
    }
    let values = shadow.values(&place.root.join(".gitmodules"), until)?;
    let paths = values.into_iter().filter(|(k, _)| k.starts_with("submodule.") && k.ends_with(".path"));
    let is_plain = |p: &String| p.split('/').all(|n| !matches!(n, "" | "." | ".." | ".git"));
    let mut paths: Vec<String> = paths.map(|(_, path)| path).filter(is_plain).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}
