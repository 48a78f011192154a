//! The folder given to git in place of the repository's own, and git run on it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tempfile::TempDir;

use super::find::{Place, plain_file, small_file};
use super::user::{self, User};
use base::reason::Reason;

/// Most bytes that are read of what git says.
const MAX_OUTPUT: usize = 1 << 20;
/// Most bytes of an index: about two million files. A hole of any size costs nothing to make, and all of it to copy.
const MAX_INDEX: u64 = 256 << 20;
/// How long a killed program may take to be gone.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// What was asked of git is not done in time.
#[derive(Debug)]
pub struct Late;

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("git takes too long")
    }
}

impl std::error::Error for Late {}

impl From<Late> for Reason {
    fn from(late: Late) -> Reason {
        Reason::caused(late.to_string(), late)
    }
}

/// Keys that only say how to compare files and that name no program. All other keys of a repository stay out of force.
const KEYS: [&str; 14] = [
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.autocrlf",
    "core.eol",
    "core.checkstat",
    "core.trustctime",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "index.sparse",
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.noop",
];
/// Extensions of the repository's form that need nothing from us: they are about other commands.
const IDLE_EXTENSIONS: [&str; 5] = [
    "extensions.worktreeconfig",
    "extensions.relativeworktrees",
    "extensions.preciousobjects",
    "extensions.partialclone",
    "extensions.noop-v1",
];

/// What a program said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) bytes: Vec<u8>,
    /// There was more.
    pub(super) is_cut: bool,
}

fn wrong(e: std::io::Error) -> Reason {
    Reason::of("the temporary folder cannot be filled", e)
}

impl Said {
    /// As one line of text.
    pub(super) fn line(&self) -> String {
        String::from_utf8_lossy(&self.bytes).trim().to_owned()
    }

    /// The records that end in a NUL byte. One that was cut has no end.
    pub(super) fn records(&self) -> Vec<&[u8]> {
        let mut all: Vec<&[u8]> = self.bytes.split(|b| *b == 0).collect();
        all.pop();
        all
    }
}

/// A folder that looks like the repository, without its configuration, hooks and helpers.
pub(super) struct Shadow<'a> {
    program: &'a Path,
    root: &'a Path,
    folder: TempDir,
    /// The user's list of ignored files.
    ignored: PathBuf,
}

impl<'a> Shadow<'a> {
    pub(super) fn make(
        program: &'a Path,
        place: &'a Place,
        user: &User,
        until: Instant,
    ) -> Result<Shadow<'a>, Reason> {
        let folder = tempfile::Builder::new().prefix("watchbill-git-").tempdir();
        let folder = folder.map_err(|e| Reason::of("no room for a temporary folder", e))?;
        let mut shadow = Shadow { program, root: &place.root, folder, ignored: PathBuf::from("/dev/null") };
        // Such a tree has references of its own beside the shared ones, which one folder cannot show.
        if place.own != place.common && place.own.join("reftable").exists() {
            return Err("its format is newer than Watchbill knows (a linked tree with a reftable)".into());
        }
        let at = shadow.folder.path();
        // While the folder is empty: half a repository is one git complains of.
        let mut values = shadow.values(&place.common.join("config"), until)?;
        values.extend(shadow.values(&place.own.join("config.worktree"), until)?);
        let named = || shadow.ask_with(&user::LIST, user.variables(), until).ok().flatten();
        let ignored = if user.is_nobody() { None } else { user.ignored(named().map(|said| said.bytes)) };
        fs::create_dir(at.join("info")).map_err(wrong)?;
        for (from, names) in [
            (&place.common, &["objects", "refs", "packed-refs", "reftable", "shallow", "logs"][..]),
            (&place.own, &["index"][..]),
            (&place.common, &["info/exclude", "info/attributes"][..]),
            (&place.own, &["info/sparse-checkout"][..]),
        ] {
            for name in names.iter().filter(|n| from.join(n).exists()) {
                symlink(from.join(name), at.join(name)).map_err(wrong)?;
            }
        }
        for shared in shared_indexes(&place.own) {
            let Some(name) = shared.file_name() else { continue };
            symlink(&shared, at.join(name)).map_err(wrong)?;
        }
        fs::write(at.join("HEAD"), head(&place.own)?).map_err(wrong)?;
        fs::write(at.join("config"), config(&values, place)?).map_err(wrong)?;
        shadow.ignored = ignored.unwrap_or(shadow.ignored);
        Ok(shadow)
    }

    /// Reads a configuration file. This follows no `include` and runs nothing.
    pub(super) fn values(&self, file: &Path, until: Instant) -> Result<Vec<(String, String)>, Reason> {
        let Some(name) = file.to_str() else {
            return Err("its path is not UTF-8".into());
        };
        if !file.exists() {
            return Ok(Vec::new());
        }
        let said = self.run(&["config", "--file", name, "--no-includes", "--list", "-z"], until)?;
        if said.is_cut {
            return Err("its configuration is too long".into());
        }
        let one = |entry: &[u8]| {
            let entry = String::from_utf8_lossy(entry).into_owned();
            // A key without a value means true.
            entry
                .split_once('\n')
                .map_or((entry.clone(), "true".to_owned()), |(k, v)| (k.to_owned(), v.to_owned()))
        };
        Ok(said.bytes.split(|b| *b == 0).filter(|e| !e.is_empty()).map(one).collect())
    }

    /// Gives git a copy of the index in place of a link to it. `git diff` writes what it learns about unchanged files into the
    /// index whatever `GIT_OPTIONAL_LOCKS` says (2.47 does), and follows the link.
    pub(super) fn copy_index(&self, place: &Place, until: Instant) -> Result<(), Reason> {
        let (from, to) = (place.own.join("index"), self.folder.path().join("index"));
        if !from.exists() {
            return Ok(());
        }
        let mut from = plain_file(&from)?;
        if from.metadata().map_err(wrong)?.len() > MAX_INDEX {
            return Err("its index is too large to be copied".into());
        }
        fs::remove_file(&to).map_err(wrong)?;
        let mut copy = File::create(&to).map_err(wrong)?;
        let mut piece = vec![0_u8; 256 << 10];
        loop {
            if Instant::now() > until {
                return Err(Late.into());
            }
            match from.read(&mut piece).map_err(wrong)? {
                0 => break,
                n => copy.write_all(piece.get(..n).unwrap_or_default()).map_err(wrong)?,
            }
        }
        // A file changed since the index was written is told from one changed before by this time.
        let written = from.metadata().and_then(|m| m.modified()).map_err(wrong)?;
        copy.set_modified(written).map_err(wrong)
    }

    /// Runs git, and says what it printed.
    pub(super) fn run(&self, args: &[&str], until: Instant) -> Result<Said, Reason> {
        self.ask(args, until)?.ok_or_else(|| failed(1))
    }

    /// Runs git, and says what it printed; `None` where it ended with 1, which from some commands means no.
    pub(super) fn ask(&self, args: &[&str], until: Instant) -> Result<Option<Said>, Reason> {
        self.ask_with(args, [], until)
    }

    /// The same, with other values of some variables, or without them.
    pub(super) fn ask_with<'v>(
        &self,
        args: &[&str],
        variables: impl IntoIterator<Item = (&'v str, Option<&'v OsStr>)>,
        until: Instant,
    ) -> Result<Option<Said>, Reason> {
        let mut ignored = OsString::from("core.excludesFile=");
        ignored.push(&self.ignored);
        let mut command = Command::new(self.program);
        command
            .args(["--no-optional-locks", "--no-pager", "--literal-pathspecs", "--no-replace-objects"])
            // Belt and braces: none of these is in our configuration.
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"])
            .args(["-c", "diff.external=", "-c", "protocol.allow=never", "-c", "core.sshCommand=false"])
            .args(["-c", "core.attributesFile=/dev/null", "-c", "gc.auto=0"])
            .arg("-c")
            .arg(ignored)
            .args([
                "-c",
                "core.quotePath=false",
                "-c",
                "maintenance.auto=false",
                "-c",
                "submodule.recurse=false",
            ])
            .args(args)
            .current_dir(self.root)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LC_ALL", "C")
            .env("HOME", self.folder.path())
            .env("GIT_DIR", self.folder.path())
            .env("GIT_WORK_TREE", self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_PAGER", "cat")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        bounded(command, until)
    }
}

/// The parts of an index that is kept in two files.
fn shared_indexes(own: &Path) -> Vec<PathBuf> {
    let Ok(all) = fs::read_dir(own) else {
        return Vec::new();
    };
    let shared = all.filter_map(|e| Some(e.ok()?.path()));
    shared
        .filter(|p| p.file_name().is_some_and(|n| n.as_bytes().starts_with(b"sharedindex.")))
        .take(64)
        .collect()
}

/// The head's content. As a link (git before 1.5, and `core.preferSymlinkRefs`) it is told in words.
fn head(own: &Path) -> Result<Vec<u8>, Reason> {
    let path = own.join("HEAD");
    match fs::read_link(&path) {
        Ok(to) => Ok([b"ref: ", to.as_os_str().as_bytes(), b"\n"].concat()),
        Err(_) => small_file(&path),
    }
}

/// The configuration that is in force.
fn config(values: &[(String, String)], place: &Place) -> Result<String, Reason> {
    let last = |key: &str| values.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
    let known = |k: &str| KEYS.contains(&k) || IDLE_EXTENSIONS.contains(&k);
    if let Some((k, _)) = values.iter().find(|(k, _)| k.starts_with("extensions.") && !known(k)) {
        return Err(format!("its format is newer than Watchbill knows ({k})").into());
    }
    let is_true = |v: &str| ["true", "yes", "on", "1"].iter().any(|t| v.eq_ignore_ascii_case(t));
    if place.own == place.common && last("core.bare").is_some_and(is_true) {
        return Err("a bare repository".into());
    }
    if let Some(elsewhere) = last("core.worktree") {
        let tree = place.own.join(elsewhere).canonicalize();
        if place.own == place.common && !tree.is_ok_and(|t| t == place.root) {
            return Err("its working tree is elsewhere".into());
        }
    }
    let mut out = String::from("[core]\n\tbare = false\n\tlogAllRefUpdates = false\n");
    let version = last("core.repositoryformatversion").unwrap_or("0");
    out.push_str(&format!("\trepositoryFormatVersion = {}\n", quoted(version)));
    for (key, value) in KEYS.iter().filter_map(|k| Some((k, last(k)?))) {
        let (section, name) = key.split_once('.').unwrap_or((key, ""));
        out.push_str(&format!("[{section}]\n\t{name} = {}\n", quoted(value)));
    }
    // What a branch is ahead of. A remote's address stays out, so nothing could be fetched from it.
    for (key, value) in values.iter().filter(|(k, _)| is_upstream(k)) {
        let Some((section, rest)) = key.split_once('.') else { continue };
        let Some((sub, name)) = rest.rsplit_once('.') else { continue };
        out.push_str(&format!("[{section} {}]\n\t{name} = {}\n", quoted(sub), quoted(value)));
    }
    Ok(out)
}

fn is_upstream(key: &str) -> bool {
    let branch = key.starts_with("branch.") && (key.ends_with(".remote") || key.ends_with(".merge"));
    branch || key.starts_with("remote.") && key.ends_with(".fetch")
}

/// A value as git's configuration quotes it. Line ends cannot stand in a section's name at all and say nothing here.
fn quoted(value: &str) -> String {
    let plain: String = value.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Runs a command in a process group of its own, reads at most [`MAX_OUTPUT`] and waits until `until`. Whatever of the
/// group is left then is killed. `None` where the command ended with 1.
fn bounded(mut command: Command, until: Instant) -> Result<Option<Said>, Reason> {
    let mut child = command.spawn().map_err(|e| Reason::of("git cannot be started", e))?;
    let read = child.stdout.take().map_or(Err("git has no output".into()), |out| {
        read(File::from(std::os::fd::OwnedFd::from(out)), until)
    });
    let in_time = read.is_ok() && !read.as_ref().is_ok_and(|r| r.is_cut) && ended(&child, until);
    kill_group(&child);
    if !in_time && !ended(&child, Instant::now() + LAST_BREATH) {
        return Err("git does not end".into());
    }
    let status = child.wait().map_err(|e| Reason::of("the exit of git cannot be read", e))?;
    let said = read?;
    match (in_time || said.is_cut, status.code()) {
        (false, _) => Err(Late.into()),
        (true, Some(0)) => Ok(Some(said)),
        (true, _) if said.is_cut => Ok(Some(said)),
        (true, Some(1)) => Ok(None),
        (true, Some(n)) => Err(failed(n)),
        (true, None) => Err("git was killed".into()),
    }
}

fn failed(code: i32) -> Reason {
    format!("git failed (exit {code}); the repository may be damaged").into()
}

fn read(mut out: File, until: Instant) -> Result<Said, Reason> {
    let mut bytes = Vec::new();
    let mut piece = [0_u8; 16 << 10];
    while bytes.len() < MAX_OUTPUT {
        if !ready(&out, until) {
            return Err(Late.into());
        }
        match out.read(&mut piece) {
            Ok(0) => return Ok(Said { bytes, is_cut: false }),
            Ok(n) => bytes.extend(piece.iter().take(n)),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Reason::of("git cannot be read", e)),
        }
    }
    Ok(Said { bytes, is_cut: true })
}

/// Whether there is something to read before `until`.
fn ready(fd: &impl AsFd, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else { return false };
        match poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&left)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Whether the process, which is not waited for yet, ends before `until`.
fn ended(child: &Child, until: Instant) -> bool {
    let fd = pid(child).and_then(|p| pidfd_open(p, PidfdFlags::empty()).ok());
    fd.is_some_and(|fd| ready(&fd, until))
}

/// Kills what is left of the child's group. The child is not waited for yet, so its number is still its own.
fn kill_group(child: &Child) {
    if let Some(pid) = pid(child) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}
