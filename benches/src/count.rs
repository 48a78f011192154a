//! What does not depend on how busy the machine is: instructions, system calls, memory.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

/// Why a program that counts is not used: it was asked so, which is said in the table.
pub(crate) fn left_out(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|v| v == "skip")
}

/// Whether a program that counts is there.
///
/// # Errors
/// It is not, and nobody asked to leave it out.
pub(crate) fn has(program: &str, variable: &str) -> Result<bool> {
    if left_out(variable) {
        eprintln_(&format!("left out, because {variable}=skip: everything that needs {program}"));
        return Ok(false);
    }
    match Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(true),
        _ => Err(anyhow!("{program} does not run; install it, or leave it out with {variable}=skip")),
    }
}

fn eprintln_(what: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{what}\n").as_bytes());
}

/// The same command under another program.
pub(crate) fn under(outer: &[&str], inner: &Command) -> Command {
    let mut command = Command::new(outer[0]);
    command.args(&outer[1..]).arg(inner.get_program()).args(inner.get_args()).env_clear();
    command.envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?))));
    if let Some(dir) = inner.get_current_dir() {
        command.current_dir(dir);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Instructions in the program itself, the kernel's not among them. `code`: how it ends.
///
/// # Errors
/// It ended otherwise under valgrind.
pub(crate) fn instructions(command: &Command, code: i32) -> Result<u64> {
    let outer = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let out = under(&outer, command).stderr(Stdio::piped()).output()?;
    let said = String::from_utf8_lossy(&out.stderr);
    if out.status.code() != Some(code) {
        bail!("under valgrind: {}; {}", out.status, said.lines().last().unwrap_or(""));
    }
    let count = said.lines().find_map(|l| l.split_once("Collected :")).map(|(_, n)| n.trim().parse());
    Ok(count.context("valgrind counted nothing")??)
}

/// How often each system call was made.
///
/// # Errors
/// It failed under strace.
pub(crate) fn calls(command: &Command) -> Result<BTreeMap<String, usize>> {
    let out =
        under(&["strace", "-f", "-qq", "-o", "/dev/stderr"], command).stderr(Stdio::piped()).output()?;
    if !out.status.success() {
        bail!("under strace: {}", out.status);
    }
    let mut all = BTreeMap::new();
    for line in String::from_utf8_lossy(&out.stderr).lines() {
        let call = line.split_once(' ').and_then(|(_, rest)| rest.trim_start().split_once('('));
        if let Some((name, _)) =
            call.filter(|(n, _)| n.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
        {
            *all.entry(name.to_owned()).or_default() += 1;
        }
    }
    Ok(all)
}

/// Memory of one process at its end, in KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Memory {
    /// The most that ever was in memory, pages of files it only reads included.
    pub(crate) peak: u64,
    /// The same without the pages of files: what is this process' own.
    pub(crate) own: u64,
}

/// The most memory a command took. It is stopped for a moment at its end, from outside, to be asked.
///
/// # Errors
/// It failed under strace, or was never seen.
pub(crate) fn memory(command: &Command) -> Result<Memory> {
    let delay = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=exit_group", "-e"];
    let outer = [&delay[..], &["inject=exit_group:delay_enter=300000"]].concat();
    let mut strace = under(&outer, command).stderr(Stdio::null()).spawn()?;
    let tasks = format!("/proc/{0}/task/{0}/children", strace.id());
    let mut last = None;
    while strace.try_wait()?.is_none() {
        let child = fs::read_to_string(&tasks).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{}/status", child.trim())).unwrap_or_default();
        last = in_status(&status).or(last);
        std::thread::sleep(Duration::from_millis(10));
    }
    last.context("the process was never seen")
}

fn in_status(status: &str) -> Option<Memory> {
    let kib = |key: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(key))?;
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()
    };
    let (peak, files) = (kib("VmHWM:")?, kib("RssFile:")? + kib("RssShmem:")?);
    // File pages are rarely unmapped, so at the peak there were no more of them than at the end.
    Some(Memory { peak, own: peak.saturating_sub(files) })
}
