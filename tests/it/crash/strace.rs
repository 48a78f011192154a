//! The calls of a program that write, and the program once more with one of them disturbed.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::until;

/// Every call that changes a file, a folder or what an output holds, and the end. `?`: not every processor has it.
const CALLS: &str = "?write,?writev,?pwrite64,?pwritev,?pwritev2,?fsync,?fdatasync,?sync_file_range,?ftruncate,?truncate,\
    ?fallocate,?copy_file_range,?sendfile,?open,?openat,?openat2,?creat,?mkdir,?mkdirat,?unlink,?unlinkat,?rmdir,?rename,\
    ?renameat,?renameat2,?link,?linkat,?symlink,?symlinkat,?chmod,?fchmod,?fchmodat,?chown,?fchown,?fchownat,?utimensat,\
    ?exit_group";

/// One call of an undisturbed run.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) name: String,
    /// The file or folder, from the root of the board on; `None` for outputs and the end.
    pub(super) file: Option<PathBuf>,
    /// Which one of this name on this file, from 1 on.
    pub(super) nth: usize,
    /// Which one of this name in the whole run. Only for calls that a run makes equally often whatever else this machine
    /// does, which is all but the opening ones.
    pub(super) of_all: usize,
}

impl Call {
    /// In words.
    pub(super) fn told(&self) -> String {
        format!("{} {} of {}", self.name, self.nth, self.on())
    }

    /// The file by its name.
    pub(super) fn on(&self) -> String {
        self.file.as_deref().map_or("-".into(), |f| match f.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => "its folder".into(),
        })
    }

    /// A temporary file with a name of its own in each run.
    pub(super) fn has_random_name(&self) -> bool {
        self.on().starts_with(".watchbill-")
    }

    /// On the board's own files, not on our memory.
    pub(super) fn is_on_board(&self) -> bool {
        self.on().starts_with("kanban.db")
    }
}

/// How a disturbed run ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) err: String,
    /// The calls of the disturbed kind, as strace wrote them down.
    pub(super) trace: String,
}

/// Whether strace may be used here. Fails with one line where it is missing and nobody said to leave it out.
#[track_caller]
pub(crate) fn may_trace() -> bool {
    if std::env::var("WATCHBILL_STRACE").is_ok_and(|v| v == "skip") {
        let test = std::thread::current().name().unwrap_or("?").to_owned();
        super::say(&format!("left out, because WATCHBILL_STRACE=skip: {test}"));
        return false;
    }
    let mut probe = Command::new("strace");
    probe
        .args(["-f", "-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let works = probe.status().is_ok_and(|s| s.success());
    assert!(
        works,
        "no strace that may trace here: install strace, or leave these tests out with WATCHBILL_STRACE=skip"
    );
    true
}

/// The same command under strace, which writes to a file of its own.
fn traced(command: &Command, trace: &Path, how: &[&str]) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-s", "0", "-o"]).arg(trace).args(how).arg("--");
    strace.arg(command.get_program()).args(command.get_args());
    strace.env_clear().envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))));
    strace.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    strace
}

/// Runs a command undisturbed; its calls that write, in order. `root` is the folder of its board.
#[track_caller]
pub(super) fn calls(command: &Command, root: &Path) -> (Vec<Call>, Ended) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let child = traced(command, &trace, &["-e", &format!("trace={CALLS}")]).spawn().unwrap();
    let ended = end(child, &trace);
    let (mut all, mut of_file, mut of_all) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let process = ended.trace.split(' ').next().unwrap_or_default().to_owned();
    for line in ended.trace.lines() {
        let (pid, line) = line.split_once(' ').unwrap();
        assert_eq!(pid, process, "a second thread or process: its calls are not counted: {line}");
        let Some((name, rest)) = line.trim_start().split_once('(') else { continue };
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            continue;
        }
        let path = path_of(name, rest);
        let file = path.as_deref().and_then(|p| Path::new(p).strip_prefix(root).ok()).map(Path::to_owned);
        let count = |n: &mut usize| {
            *n += 1;
            *n
        };
        let nth = count(of_file.entry((name.to_owned(), path)).or_insert(0));
        let of_all = count(of_all.entry(name.to_owned()).or_insert(0));
        let opens = name.starts_with("open");
        if opens && !rest.contains("O_CREAT") && !rest.contains("O_TRUNC") {
            continue;
        }
        assert!(
            file.is_some() || ["write", "exit_group"].contains(&name),
            "a write outside of the board: {line}"
        );
        all.push(Call { name: name.into(), file, nth, of_all });
    }
    assert_eq!(all.last().map(|c| c.name.as_str()), Some("exit_group"), "{}", ended.trace);
    (all, ended)
}

/// The path a call is about: quoted where it names one, else behind its descriptor.
fn path_of(name: &str, arguments: &str) -> Option<String> {
    let by_path = [
        "open", "creat", "mk", "unlink", "rm", "rename", "link", "sym", "truncate", "chmod", "chown", "utime",
    ];
    let (from, to) = if by_path.iter().any(|p| name.starts_with(p)) { ('"', '"') } else { ('<', '>') };
    let path = arguments.split_once(from)?.1.split_once(to)?.0;
    path.starts_with('/').then(|| path.to_owned())
}

/// The arguments that disturb one call: at this file only, so that what else this machine does changes no count.
fn at(call: &Call, root: &Path, what: &str) -> Vec<String> {
    let mut all = vec!["-e".into(), format!("trace={}", call.name)];
    let nth = match &call.file {
        Some(file) if !call.has_random_name() => {
            // The folder itself without the slash that joining nothing to it leaves.
            let path = if file.as_os_str().is_empty() { root.to_owned() } else { root.join(file) };
            all.extend(["-P".into(), path.to_str().unwrap().to_owned()]);
            call.nth
        }
        _ => call.of_all,
    };
    all.extend(["-e".into(), format!("inject={}:{what}:when={nth}", call.name)]);
    all
}

/// Runs a command with something done at one of its calls, such as `signal=KILL` or `error=ENOSPC`.
pub(super) fn disturbed(command: &Command, root: &Path, call: &Call, what: &str) -> Ended {
    with(command, &at(call, root, what))
}

/// Runs a command with every call of this name failing from this one on, whatever the file.
pub(super) fn from_here(command: &Command, call: &Call, what: &str) -> Ended {
    let (name, nth) = (&call.name, call.of_all);
    with(
        command,
        &["-e".into(), format!("trace={name}"), "-e".into(), format!("inject={name}:{what}:when={nth}+")],
    )
}

fn with(command: &Command, how: &[String]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let how: Vec<&str> = how.iter().map(String::as_str).collect();
    end(traced(command, &trace, &how).spawn().unwrap(), &trace)
}

/// Runs a command, holds it right after one of its calls, does something, and lets it go on.
#[track_caller]
pub(super) fn held(command: &Command, root: &Path, call: &Call, meanwhile: impl FnOnce()) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let child = holding(command, root, call, &trace).spawn().unwrap();
    let stopped = || {
        let text = std::fs::read_to_string(&trace).unwrap_or_default();
        let line = text.lines().find(|l| l.contains("--- stopped by SIGSTOP ---"))?.to_owned();
        line.split(' ').next()?.parse::<i32>().ok()
    };
    until("held", || stopped().is_some());
    meanwhile();
    let pid = rustix::process::Pid::from_raw(stopped().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    end(child, &trace)
}

/// The command that stops right after one of its calls, and says so in `trace`.
pub(super) fn holding(command: &Command, root: &Path, call: &Call, trace: &Path) -> Command {
    let how = at(call, root, "signal=STOP");
    let how: Vec<&str> = how.iter().map(String::as_str).collect();
    traced(command, trace, &how)
}

fn end(mut child: Child, trace: &Path) -> Ended {
    let mut err = String::new();
    // Little is said on stderr, so stdout cannot wait for it with a full pipe.
    std::io::copy(&mut child.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let status = child.wait().unwrap();
    let trace = std::fs::read_to_string(trace).unwrap();
    Ended { code: status.code(), signal: status.signal(), err, trace }
}
