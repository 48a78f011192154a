//! Reading processes: one scan of `/proc`, and one close look at a single pid through a pidfd.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, getuid, pidfd_open, test_kill_process};

use super::Place;
use base::clip::lossy;
use base::worker_env::{HARNESS, HERMES, Names, SHARED};

/// `PF_KTHREAD` in field 9 of `/proc/PID/stat` (linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The process that a machine starts first, and the parent of the kernel's threads.
const FIRST: i64 = 1;
const KTHREADD: i64 = 2;

/// Where processes are seen: in `/proc`, or in the table of a simulated machine.
pub trait Processes {
    /// Looks at all of them once, keeping what belongs to one of `tasks`.
    fn scan(&self, tasks: &BTreeSet<&str>) -> Scan;
    /// Looks at one pid.
    fn probe(&self, pid: i64) -> Probe;
    /// Waits a moment for environments that could not be read, as they cannot while a process is replaced or ends. What is
    /// known at the first look stays as it is. Only of processes that began at or after `from`, in clock ticks after boot.
    fn settle(&self, _scan: &mut Scan, _tasks: &BTreeSet<&str>, _from: u64) {}
    /// Processes of pid namespaces below ours by the number that they have there: their pid here, and their start in clock ticks
    /// after boot.
    fn nested(&self) -> BTreeMap<i64, (i64, u64)> {
        BTreeMap::new()
    }
}

/// The processes of the kernel we run on, as this folder shows them, and the board whose tasks are meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcFs<'a> {
    pub(super) root: &'a Path,
    pub(super) board: Option<&'a Place>,
}

impl<'a> ProcFs<'a> {
    /// The same, whatever board its workers name.
    pub(super) fn any(root: &'a Path) -> ProcFs<'a> {
        ProcFs { root, board: None }
    }
}

/// How long to wait before each further look at an unreadable environment: a tenth of a second in all. On a busy machine some process is
/// always just being replaced, which is over at once.
fn waits() -> impl Iterator<Item = Duration> {
    (0..9).map(|n| Duration::from_micros(200 << n))
}

/// What one process shows of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Process {
    /// Its id.
    pub pid: i64,
    /// Its parent's.
    pub parent: i64,
    /// It ended and waits to be collected. Also true of a process whose first thread ended while others run on.
    pub zombie: bool,
    /// A signal stopped it (state `T`, proc_pid_stat(5)): it lives and does nothing. One that a debugger stopped for a moment is not meant.
    pub stopped: bool,
    /// It has a controlling terminal, as a person's shell has.
    pub terminal: bool,
    /// It is a thread of the kernel.
    pub kernel: bool,
    /// Start in clock ticks after boot; `None` where nothing of the process was readable.
    pub ticks: Option<u64>,
    /// The arguments joined by blanks; `None` where there are none to be read.
    pub command: Option<String>,
    /// The task that its arguments, one by one, ask a Hermes worker to work on.
    pub asked: Option<String>,
    /// What its environment says.
    pub marks: Marks,
    /// Its environment names the file of a board that cannot be looked at: it may be another board's, so it is never stopped.
    pub is_unclear: bool,
}

/// The variables that tell a worker its task, Hermes' own or ours, out of an environment of which nothing else is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Marks {
    /// We may not look, or it is just being replaced.
    #[default]
    Unreadable,
    /// Bytes that are no environment: the process wrote its title over it.
    Overwritten,
    /// It names another board: tasks of two boards may have the same id.
    OtherBoard,
    /// It was read.
    Read {
        /// `HERMES_KANBAN_TASK` or `WATCHBILL_TASK`.
        task: Option<String>,
        /// `HERMES_KANBAN_RUN_ID` or `WATCHBILL_RUN`.
        run: Option<String>,
    },
}

/// How a process' environment stands to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kin {
    /// It cannot be known.
    Unreadable,
    /// Another task's, or nobody's.
    Stranger,
    /// The same task, and no run id that could be compared.
    SameTask,
    /// Another run of the same task.
    OtherRun,
    /// The run asked about, or any run where none was.
    ThisRun,
}

impl Process {
    /// Puts together what three files of `/proc/PID` hold; `environ` is `None` where it may not be read. `None`: the first is
    /// not a `stat` line. All three are bytes the process itself may have chosen.
    pub fn parse(pid: i64, stat: &[u8], cmdline: &[u8], environ: Option<&[u8]>) -> Option<Process> {
        Some(Process::of(pid, parse_stat(&lossy(stat))?, cmdline, environ.map(|e| (e, spoken(e, None)))))
    }

    fn of(pid: i64, stat: Stat, cmdline: &[u8], environ: Option<(&[u8], &Names)>) -> Process {
        let Stat { zombie, stopped, parent, group: _, terminal, kernel, ticks } = stat;
        let marks = environ.map_or(Marks::Unreadable, |(bytes, names)| marks(bytes, names));
        Process {
            pid,
            parent,
            zombie,
            stopped,
            terminal,
            kernel,
            ticks: Some(ticks),
            command: command(cmdline),
            asked: asked(cmdline),
            marks,
            is_unclear: false,
        }
    }

    /// The task whose Hermes worker this is by its command line. Hermes names the task in the environment of every worker (0.13 to
    /// 0.22), so that one which can be read must name it too: a `grep` for these words is not a worker.
    pub fn worker_of(&self) -> Option<&str> {
        match &self.marks {
            Marks::Read { task, .. } => self.asked.as_deref().filter(|id| task.as_deref() == Some(id)),
            Marks::Unreadable | Marks::Overwritten | Marks::OtherBoard => self.worker_by_line(),
        }
    }

    /// The same, whatever its environment names: arguments as Hermes makes them, or where it cannot be read a line that ends
    /// `kanban task <id>`.
    pub(super) fn worker_by_line(&self) -> Option<&str> {
        match &self.marks {
            Marks::OtherBoard => None,
            Marks::Read { .. } => self.asked.as_deref(),
            Marks::Unreadable | Marks::Overwritten => {
                self.asked.as_deref().or_else(|| last_words(self.command.as_deref()?))
            }
        }
    }

    /// Whether it is a Hermes process that gave itself this title, as it does where the package `setproctitle` can be imported:
    /// nothing is left of its command line then.
    pub fn is_renamed_hermes(&self) -> bool {
        self.command.as_deref() == Some("hermes")
    }

    /// The run its environment names.
    pub fn run(&self) -> Option<i64> {
        let Marks::Read { run, .. } = &self.marks else { return None };
        run.as_deref()?.trim().parse().ok()
    }

    /// How its environment stands to this run of this task.
    pub fn kin(&self, task: &str, run: Option<i64>) -> Kin {
        let its_task = match &self.marks {
            Marks::Read { task, .. } => task,
            Marks::OtherBoard => return Kin::Stranger,
            Marks::Unreadable | Marks::Overwritten => return Kin::Unreadable,
        };
        if its_task.as_deref() != Some(task) {
            return Kin::Stranger;
        }
        let Some(run) = run else { return Kin::ThisRun };
        match self.run() {
            Some(its) if its == run => Kin::ThisRun,
            Some(_) => Kin::OtherRun,
            None => Kin::SameTask,
        }
    }
}

/// What a single pid is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// No process has this id.
    Absent,
    /// It ended and only waits to be collected.
    Exited,
    /// A process has this id and lives.
    Present(Process),
    /// That cannot be told, and why.
    Unclear(String),
}

/// What one walk over all processes found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scan {
    /// Everybody alive who carries the marks or the command line of a task asked about.
    pub marked: Vec<Process>,
    /// We ourselves and our ancestors.
    pub own: BTreeSet<i64>,
    /// Pid and start of processes of our own user whose environment could not be read.
    pub veiled: Vec<(i64, u64)>,
    /// Whether those may belong to any attempt: from here the kernel shows no environment of our own user's processes.
    pub short_sighted: bool,
    /// Whether some process refused to be looked at at all.
    pub denied: bool,
    /// Why the walk is not complete.
    pub gap: Option<String>,
}

impl Processes for ProcFs<'_> {
    fn scan(&self, tasks: &BTreeSet<&str>) -> Scan {
        let root = self.root;
        let mut scan = Scan::default();
        let pids = match pids(root) {
            Ok(pids) => pids,
            Err(e) => return Scan { gap: Some(format!("{}: {e}", root.display())), ..scan },
        };
        let own = fs::read_link(root.join("self")).ok().and_then(|link| link.to_str()?.parse().ok());
        for pid in pids {
            match read(*self, pid) {
                Ok(mut process) => {
                    if Some(pid) == own && process.marks == Marks::Unreadable && has_no_variables(root, pid) {
                        process.marks = Marks::Read { task: None, run: None };
                    }
                    scan.take(process, tasks, &|pid| is_ours(root, pid));
                }
                Err(e) if vanished(&e) => {}
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => scan.denied = true,
                Err(e) => scan.gap = Some(format!("pid {pid} cannot be read: {e}")),
            }
        }
        scan.short_sighted = !scan.veiled.is_empty() && is_short_sighted(root);
        scan.own = ancestry(root);
        scan
    }

    /// The pidfd is what makes it one look: while it says "not ended", the number cannot have
    /// been given to another process, so all that was read in between belongs to one process.
    fn probe(&self, pid: i64) -> Probe {
        let id = i32::try_from(pid).ok().filter(|p| *p > 0).and_then(Pid::from_raw);
        let Some(id) = id else { return Probe::Unclear(format!("{pid} is not a process id")) };
        let fd = match pidfd_open(id, PidfdFlags::empty()) {
            Ok(fd) => fd,
            Err(Errno::SRCH) => return Probe::Absent,
            Err(Errno::INVAL | Errno::NOENT) => return leaderless(self.root, pid, id),
            Err(e) => return Probe::Unclear(format!("pid {pid} cannot be looked at: {e}")),
        };
        let before = ended(&fd);
        let process = read(*self, pid);
        match (before, ended(&fd)) {
            (Ok(false), Ok(false)) => {
                Probe::Present(process.unwrap_or_else(|_| Process { pid, ..Process::default() }))
            }
            (Ok(_), Ok(_)) => Probe::Exited,
            (Err(e), _) | (_, Err(e)) => Probe::Unclear(format!("pid {pid} cannot be looked at: {e}")),
        }
    }

    fn settle(&self, scan: &mut Scan, tasks: &BTreeSet<&str>, from: u64) {
        // Who hides for good is mostly older: agents of a login, daemons. Who started us waits for us.
        let (old, mut young): (Vec<_>, Vec<_>) =
            std::mem::take(&mut scan.veiled).into_iter().partition(|(pid, ticks)| {
                *ticks < from || scan.own.contains(pid) || is_refused(&environ(self.root, *pid))
            });
        for wait in waits() {
            if young.is_empty() {
                break;
            }
            std::thread::sleep(wait);
            for (pid, ticks) in std::mem::take(&mut young) {
                match read(*self, pid) {
                    Ok(process) if process.ticks == Some(ticks) => {
                        scan.take(process, tasks, &|_| true);
                        young.append(&mut scan.veiled);
                    }
                    // Its number belongs to another process now, which began after the walk as others may have.
                    Ok(_) => {}
                    Err(e) if vanished(&e) => {}
                    Err(_) => young.push((pid, ticks)),
                }
            }
        }
        scan.veiled = [old, young].concat();
    }

    /// Every user may read the line, whichever user the process belongs to (proc_pid_status(5)). Of several with
    /// one number the youngest is taken.
    fn nested(&self) -> BTreeMap<i64, (i64, u64)> {
        let mut found = BTreeMap::new();
        for pid in pids(self.root).unwrap_or_default() {
            let dir = self.root.join(pid.to_string());
            let Some(inside) = innermost(&status(&dir)) else { continue };
            let stat = whole(&dir.join("stat")).ok().and_then(|bytes| parse_stat(&lossy(&bytes)));
            if let Some(stat) = stat.filter(|stat| !stat.zombie) {
                let youngest = found.entry(inside).or_insert((pid, stat.ticks));
                if youngest.1 < stat.ticks {
                    *youngest = (pid, stat.ticks);
                }
            }
        }
        found
    }
}

/// The processes that are listed.
pub(super) fn pids(root: &Path) -> io::Result<Vec<i64>> {
    let pid = |entry: io::Result<fs::DirEntry>| {
        entry.map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok())).transpose()
    };
    fs::read_dir(root)?.filter_map(pid).collect()
}

/// A process that a child of this one started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descendant {
    pub(super) pid: i64,
    /// Start in clock ticks after boot.
    pub(super) ticks: u64,
    /// It ended and waits to be collected.
    pub(super) has_ended: bool,
}

/// Everything in the process group of a child of this process, what this process adopted where it adopts, and their descendants; not
/// the child itself, nor what works for another task than this one, with its descendants. They need no mark in their environment. The
/// child leads the group, so that no other process gets its number while a member is there.
pub(super) fn started_by(root: &Path, child: i64, task: &str, adopts: bool) -> io::Result<Vec<Descendant>> {
    let all = stats(root)?;
    let is_others = |pid: i64| {
        environ(root, pid).is_ok_and(|all| all.split(|b| *b == 0).any(|var| is_of_another(var, task)))
    };
    Ok(family(&all, child, adopts.then(own_pid), &is_others))
}

/// Whether a variable says that its process works for another task: it is the harness of one, or its worker.
fn is_of_another(var: &[u8], task: &str) -> bool {
    let value_of = |name: &str| var.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
    let mut named = [HERMES.task, SHARED.task].into_iter().filter_map(value_of);
    value_of(HARNESS).is_some() || named.any(|other| !other.is_empty() && other != task.as_bytes())
}

fn own_pid() -> i64 {
    i64::from(getpid().as_raw_nonzero().get())
}

/// The state of each process.
fn stats(root: &Path) -> io::Result<BTreeMap<i64, Stat>> {
    let mut all = BTreeMap::new();
    for pid in pids(root)? {
        match whole(&root.join(pid.to_string()).join("stat")) {
            Ok(stat) => all.extend(parse_stat(&lossy(&stat)).map(|stat| (pid, stat))),
            // That of another user, where `/proc` hides it: no signal of this process could reach it.
            Err(e) if vanished(&e) || e.kind() == io::ErrorKind::PermissionDenied => {}
            Err(e) => return Err(e),
        }
    }
    Ok(all)
}

/// The children of this process, by its threads; `None` where the kernel does not list them (proc_tid_children(5)).
pub(super) fn own_children(root: &Path) -> Option<Vec<i64>> {
    let mut all = Vec::new();
    for thread in fs::read_dir(root.join("self/task")).ok()?.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => all.extend(list.split_whitespace().filter_map(|pid| pid.parse::<i64>().ok())),
            // A thread that ended meanwhile.
            Err(_) if !thread.path().exists() => {}
            Err(_) => return None,
        }
    }
    Some(all)
}

/// See [`started_by`]. `adopter`: this process, where it adopts. A harness has another task, and so has what it started.
fn family(
    all: &BTreeMap<i64, Stat>,
    child: i64,
    adopter: Option<i64>,
    is_others: &dyn Fn(i64) -> bool,
) -> Vec<Descendant> {
    let mut found: BTreeSet<i64> = BTreeSet::from([child]);
    let mut others: BTreeSet<i64> = BTreeSet::new();
    loop {
        let is_its =
            |stat: &Stat| stat.group == child || Some(stat.parent) == adopter || found.contains(&stat.parent);
        let is_new =
            |(pid, stat): &(&i64, &Stat)| !found.contains(pid) && !others.contains(pid) && is_its(stat);
        let more: Vec<i64> = all.iter().filter(is_new).map(|(pid, _)| *pid).collect();
        if more.is_empty() {
            break;
        }
        let (apart, more): (Vec<i64>, Vec<i64>) = more.into_iter().partition(|pid| is_others(*pid));
        others.extend(apart);
        found.extend(more);
    }
    found.remove(&child);
    let one = |pid: &i64| {
        let stat = all.get(pid)?;
        Some(Descendant { pid: *pid, ticks: stat.ticks, has_ended: stat.zombie })
    };
    found.iter().filter_map(one).collect()
}

/// This very process and those it descends from.
pub(super) fn ancestry(root: &Path) -> BTreeSet<i64> {
    let parent = |pid: &i64| {
        let stat = whole(&root.join(pid.to_string()).join("stat")).ok()?;
        parse_stat(&lossy(&stat)).map(|stat| stat.parent)
    };
    let mut own = BTreeSet::new();
    let mut next = Some(own_pid());
    while let Some(pid) = next.filter(|pid| own.insert(*pid)) {
        next = parent(&pid);
    }
    own
}

/// Whether our own process was started without any variable: its exec is over, so that nothing is still to come.
fn has_no_variables(root: &Path, own: i64) -> bool {
    environ(root, own).is_ok_and(|bytes| bytes.is_empty())
}

/// Whether an environment is kept from us for good. What is only just being replaced can be read, and is empty.
fn is_refused(environ: &io::Result<Vec<u8>>) -> bool {
    environ.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied)
}

impl Scan {
    /// What a walk over these processes, all of our own user, would keep.
    pub fn over(processes: impl IntoIterator<Item = Process>, tasks: &BTreeSet<&str>) -> Scan {
        let mut scan = Scan::default();
        processes.into_iter().for_each(|p| scan.take(p, tasks, &|_| true));
        scan
    }

    fn take(&mut self, process: Process, tasks: &BTreeSet<&str>, is_ours: &dyn Fn(i64) -> bool) {
        if process.zombie || process.kernel {
            return;
        }
        let by_command = process.worker_of().is_some_and(|t| tasks.contains(t));
        let by_marks = match &process.marks {
            Marks::Read { task, .. } => task.as_deref().is_some_and(|t| tasks.contains(t)),
            Marks::Overwritten | Marks::OtherBoard => false,
            Marks::Unreadable => {
                if let Some(ticks) = process.ticks.filter(|_| is_ours(process.pid)) {
                    self.veiled.push((process.pid, ticks));
                }
                false
            }
        };
        if by_command || by_marks {
            self.marked.push(process);
        }
    }
}

/// Whether a process of this `/proc` can be no worker: a thread of the kernel, or the first process of a machine. In a pid namespace of its
/// own, where the kernel's threads are not seen, the first process may well be one.
pub(super) fn is_of_system(root: &Path, pid: i64) -> bool {
    let is_kernel = |pid: i64| {
        let stat = fs::read(root.join(pid.to_string()).join("stat")).ok();
        stat.and_then(|stat| parse_stat(&lossy(&stat))).is_some_and(|stat| stat.kernel)
    };
    is_kernel(pid) || (pid == FIRST && is_kernel(KTHREADD))
}

/// A number that is in use but leads no process: a thread's, or that of a session or group whose leader died
/// and whose members live on (the children of a killed worker). Older kernels say EINVAL to both.
fn leaderless(root: &Path, pid: i64, id: Pid) -> Probe {
    // Signal 0 is never delivered; unlike /proc, this answer does not depend on what we are allowed to see.
    if test_kill_process(id) == Err(Errno::SRCH) {
        return Probe::Absent;
    }
    match status_number(&status(&root.join(pid.to_string())), "Tgid:") {
        Some(process) if process != pid => Probe::Absent,
        _ => Probe::Unclear(format!("pid {pid} is neither a process nor free")),
    }
}

fn ended(fd: &OwnedFd) -> Result<bool, Errno> {
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    Ok(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
}

/// Like `fs::read`, which asks for the size first and then feels its way: files here have none, and are read whole at once.
fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4096);
    fs::File::open(path)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Living processes that work in a folder or below it, ourselves apart.
pub(super) fn inside(root: &Path, folder: &Path) -> Vec<Process> {
    let there = |pid: &i64| {
        let cwd = fs::read_link(root.join(pid.to_string()).join("cwd"));
        cwd.is_ok_and(|cwd| cwd.starts_with(folder))
    };
    let pids = pids(root).unwrap_or_default().into_iter();
    let others = pids.filter(|pid| *pid != own_pid()).filter(there);
    others.filter_map(|pid| read(ProcFs::any(root), pid).ok()).filter(|p| !p.zombie).collect()
}

/// The number of a process in its own pid namespace, where that is below ours.
fn innermost(status: &str) -> Option<i64> {
    let mut numbers = status.lines().find_map(|l| l.strip_prefix("NSpid:"))?.split_whitespace();
    let _ours = numbers.next()?;
    numbers.next_back()?.parse().ok()
}

fn environ(root: &Path, pid: i64) -> io::Result<Vec<u8>> {
    whole(&root.join(pid.to_string()).join("environ"))
}

/// What one process shows of itself. Who it is must be held by a pidfd meanwhile.
pub(super) fn read(at: ProcFs<'_>, pid: i64) -> io::Result<Process> {
    let ProcFs { root, board } = at;
    let dir = root.join(pid.to_string());
    let stat = parse_stat(&lossy(&whole(&dir.join("stat"))?))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a stat line of unknown shape"))?;
    // Half of all processes of a machine are threads of the kernel. They have no arguments and no environment, as one that ended.
    if stat.kernel || stat.zombie {
        return Ok(Process::of(pid, stat, b"", None));
    }
    let cmdline = whole(&dir.join("cmdline"))?;
    let environ = environ(root, pid).ok();
    let environ = environ.as_deref().map(|bytes| (bytes, spoken(bytes, board)));
    let mut process = Process::of(pid, stat, &cmdline, environ);
    let named = environ.and_then(|(bytes, names)| variable(bytes, names.db));
    if let (Some(board), Some(named)) = (board, named)
        && matches!(process.marks, Marks::Read { .. })
    {
        match is_another(board, named, &dir.join("root")) {
            Some(true) => process.marks = Marks::OtherBoard,
            Some(false) => {}
            None => process.is_unclear = true,
        }
    }
    Ok(process)
}

/// Which variables of a process tell its task. What a worker of one system started may be a worker of the other one: then those count
/// that are of the kind of this board.
fn spoken(environ: &[u8], board: Option<&Place>) -> &'static Names {
    let [first, second] = match board {
        Some(Place::Server(_)) => [&SHARED, &HERMES],
        Some(Place::File(_)) | None => [&HERMES, &SHARED],
    };
    let has_task = |names: &Names| variable(environ, names.task).is_some_and(|task| !task.is_empty());
    if !has_task(first) && has_task(second) { second } else { first }
}

/// Whether a process whose folder `/` is `its_root` names another board than this one; `None` where that cannot be told.
fn is_another(board: &Place, named: &[u8], its_root: &Path) -> Option<bool> {
    match board {
        Place::Server(address) => Some(without_role(address.as_bytes()) != without_role(named)),
        Place::File(_) if is_address(named) => Some(true),
        Place::File(board) => is_another_file(board, Path::new(OsStr::from_bytes(named)), its_root),
    }
}

/// An address without the role that one logs in as: a worker may have another one than who watches it.
fn without_role(address: &[u8]) -> (&[u8], &[u8]) {
    let begin = address.windows(3).position(|w| w == b"://").map_or(0, |at| at + 3);
    let (scheme, rest) = address.split_at(begin);
    let servers = rest.split(|b| *b == b'/').next().unwrap_or_default();
    (scheme, servers.iter().position(|b| *b == b'@').map_or(rest, |at| &rest[at + 1..]))
}

/// Whether the name of a board is that of a server.
fn is_address(named: &[u8]) -> bool {
    !named.starts_with(b"/") && named.windows(3).any(|w| w == b"://")
}

/// The same for files, by their inodes; `None` where one of the two cannot be looked at: a board that was moved is still its workers'
/// board. A relative path tells nothing.
fn is_another_file(board: &Path, named: &Path, its_root: &Path) -> Option<bool> {
    let Ok(below) = named.strip_prefix("/") else { return Some(false) };
    let inode = |path: &Path| fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
    Some(inode(board)? != inode(&its_root.join(below))?)
}

/// The value of a variable. An environment has thousands of bytes, and every process of the machine is asked for several variables.
fn variable<'a>(environ: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let value = |at: usize| {
        let begins = at == 0 || environ.get(at - 1) == Some(&0);
        environ.get(at + name.len()..)?.strip_prefix(b"=").filter(|_| begins)
    };
    let value = memchr::memmem::find_iter(environ, name).find_map(value)?;
    Some(&value[..memchr::memchr(0, value).unwrap_or(value.len())])
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    zombie: bool,
    stopped: bool,
    parent: i64,
    /// Its process group.
    group: i64,
    terminal: bool,
    kernel: bool,
    ticks: u64,
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name in brackets is the process' own choice and may hold brackets and blanks itself.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let (zombie, stopped) = (matches!(state, "Z" | "X" | "x"), state == "T");
    let number = |field: &str| field.parse::<u64>().ok();
    // The fields 4, 5, 7, 9 and 22.
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let terminal = fields.nth(1)? != "0";
    let (flags, ticks) = (number(fields.nth(1)?)?, number(fields.nth(12)?)?);
    let kernel = flags & KERNEL_THREAD != 0;
    Some(Stat { zombie, stopped, parent, group, terminal, kernel, ticks })
}

fn command(bytes: &[u8]) -> Option<String> {
    let text = lossy(bytes).replace('\0', " ");
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The task in `chat -q "work kanban task <id>"`, with which Hermes ends the arguments of a worker; to one with a goal 0.19 and 0.20
/// add `-Q`.
fn asked(bytes: &[u8]) -> Option<String> {
    let mut arguments = bytes.strip_suffix(b"\0").unwrap_or(bytes).rsplit(|b| *b == 0).peekable();
    arguments.next_if_eq(&&b"-Q"[..]);
    let prompt = arguments.next()?;
    let is_worker = arguments.next() == Some(b"-q") && arguments.next() == Some(b"chat");
    let id = lossy(prompt.strip_prefix(b"work kanban task ").filter(|_| is_worker)?).into_owned();
    (!id.is_empty()).then_some(id)
}

/// The task of a line that ends `kanban task <id>`.
fn last_words(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().rev();
    let id = words.next()?;
    (words.next() == Some("task") && words.next() == Some("kanban")).then_some(id)
}

fn marks(bytes: &[u8], names: &Names) -> Marks {
    // An empty environment is what a process shows in the middle of exec: it says nothing.
    if bytes.is_empty() {
        return Marks::Unreadable;
    }
    if !bytes.contains(&b'=') {
        return Marks::Overwritten;
    }
    let value = |name: &str| Some(lossy(variable(bytes, name)?).into_owned());
    Marks::Read { task: value(names.task), run: value(names.run) }
}

fn is_ours(root: &Path, pid: i64) -> bool {
    // Not the owner of the folder: that is root for every process that may not be dumped.
    status_number(&status(&root.join(pid.to_string())), "Uid:") == Some(i64::from(getuid().as_raw()))
}

/// The first user namespace always has this inode (`PROC_USER_INIT_INO`, linux/proc_ns.h).
const INITIAL_USER_NAMESPACE: &str = "user:[4026531837]";
/// `CAP_SYS_PTRACE` (linux/capability.h).
const PTRACE: u32 = 19;

/// Whether the kernel refuses us environments of processes that have our own user id: from a user namespace of our own
/// (systemd's `PrivateUsers=`, which sandbox options imply in user units from 254 on), and as root with fewer
/// capabilities than they have (ptrace(2), "Ptrace access mode checking").
fn is_short_sighted(root: &Path) -> bool {
    let itself = root.join("self");
    let first = fs::read_link(itself.join("ns/user")).is_ok_and(|l| l == Path::new(INITIAL_USER_NAMESPACE));
    if !first {
        return true;
    }
    let status = status(&itself);
    let capable = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let capable =
        capable.and_then(|c| u64::from_str_radix(c.trim(), 16).ok()).is_some_and(|c| c >> PTRACE & 1 == 1);
    getuid().is_root() && !capable
}

/// The file `status` in the folder of a process; empty where it cannot be read.
fn status(process: &Path) -> String {
    lossy(&whole(&process.join("status")).unwrap_or_default()).into_owned()
}

fn status_number(status: &str, key: &str) -> Option<i64> {
    status.lines().find_map(|l| l.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
}

/// Whether an error only says that the process ended meanwhile.
pub(super) fn vanished(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::NotFound || Errno::from_io_error(e) == Some(Errno::SRCH)
}

#[cfg(test)]
mod tests;
