//! Writes and takes away what starts the watchers: first all that would be done, as plain data, then that and nothing else.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::shipped::{self, MARK, Wanted};
use super::{By, Owner, Tool};
use base::atomic_file::beside;
use base::error::{Error, Kind, Result};
use base::time::Time;
use base::untrusted_file;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Change {
    /// Write this file.
    Write {
        /// Where.
        path: PathBuf,
        /// What.
        #[serde(skip)]
        text: String,
    },
    /// Take this file away.
    Remove {
        /// Where.
        path: PathBuf,
    },
    /// Replace the crontab of this user; nothing in it takes it away.
    Crontab {
        /// What it says then.
        #[serde(skip)]
        text: String,
    },
    /// Run this command.
    Run {
        /// Its words.
        command: Vec<String>,
    },
}

impl Change {
    /// The lines of Watchbill that the crontab has then; none where the change is not one of the crontab.
    pub fn crontab_lines(&self) -> Vec<&str> {
        match self {
            Change::Crontab { text } => shipped::block(text),
            _ => Vec::new(),
        }
    }

    /// What was done, once it is: `wrote FILE`.
    pub fn done(&self) -> String {
        self.said("wrote", "removed", "ran")
    }

    fn said(&self, write: &str, remove: &str, run: &str) -> String {
        match self {
            Change::Write { path, .. } => format!("{write} {}", path.display()),
            Change::Remove { path } => format!("{remove} {}", path.display()),
            Change::Crontab { text } if text.is_empty() => {
                format!("{remove} the crontab, which has no other lines")
            }
            Change::Crontab { .. } => format!("{write} the crontab"),
            Change::Run { command } => format!("{run} {}", command.join(" ")),
        }
    }
}

/// What is to be done: `write FILE`.
impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.said("write", "remove", "run"))
    }
}

/// The file in the state folder that says when the lines of the crontab were written: cron itself tells nobody.
const STAMP: &str = "timers-installed";

/// When the lines of the crontab were written, as far as that is known.
pub fn installed(state: &Path) -> Option<Time> {
    untrusted_file::text(&state.join(STAMP))?.trim().parse().ok().map(Time)
}

/// Notes that; `None`: there are no such lines any more. Without it `doctor` only says later that no pass came.
pub fn note_installed(state: &Path, at: Option<Time>) {
    let file = state.join(STAMP);
    let _ = match at {
        Some(at) => fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(state)
            .and_then(|()| beside(state, &format!("{}\n", at.0), 0o600))
            .and_then(|new| new.persist(&file).map(drop).map_err(|e| e.error)),
        None => fs::remove_file(&file),
    };
}

/// Whether systemd answers.
pub fn answers(by: By) -> bool {
    Tool::new("systemctl").args(&[manager(by), "show", "--property=Version"]).said().is_some()
}

fn manager(by: By) -> &'static str {
    if by == By::User { "--user" } else { "--system" }
}

fn run(words: &[&str]) -> Change {
    Change::Run { command: words.iter().map(|w| (*w).to_owned()).collect() }
}

/// The crontab of this user; empty where there is none.
///
/// # Errors
/// It cannot be asked for.
pub fn present() -> Result<String> {
    let wrong = |why: &str| Error::new(Kind::NoInput, "crontab", why).hint("install cron, or take --as user");
    match Tool::new("crontab").args(&["-l"]).run() {
        Ok(said) if said.is_ok && said.is_whole => Ok(said.out),
        Ok(said) if said.err.contains("no crontab") => Ok(String::new()),
        // All of it is written back: what is not read to the byte would be lost. Where we read no more, it could not end well.
        Ok(said) if !said.is_whole => Err(Error::new(
            Kind::Partial,
            "crontab",
            "cannot be read in full, or is not UTF-8; it was left as it is",
        )
        .hint("make it UTF-8 text of less than 1 MiB, or take --as user")),
        Ok(said) => Err(wrong(said.err.trim())),
        Err(why) => Err(wrong(&why.to_string())),
    }
}

/// What installing would change; nothing where everything is in place.
///
/// # Errors
/// A file is in the way that was not written by us; the crontab cannot be read, or our lines in it have no end.
pub fn install(by: By, folder: Option<&Path>, wanted: &Wanted) -> Result<Vec<Change>> {
    let Some(folder) = folder else {
        let old = present()?;
        let text = shipped::crontab(&old, wanted)?;
        return Ok(if text == old { Vec::new() } else { vec![Change::Crontab { text }] });
    };
    let mut all = Vec::new();
    for (name, text) in shipped::units(by, wanted) {
        let path = folder.join(name);
        match is_ours(&path) {
            Some(old) if old == text => {}
            Some(_) => all.push(Change::Write { path, text }),
            None if path.symlink_metadata().is_ok() => {
                return Err(Error::new(
                    Kind::Partial,
                    path.display(),
                    "exists and was not written by watchbill; nothing was done",
                )
                .hint("disable its timer and move the file away first"));
            }
            None => all.push(Change::Write { path, text }),
        }
    }
    let timers = shipped::timers(wanted);
    let owner = Owner::of(wanted.root.as_deref());
    let found = super::units::look(by, &[folder.to_path_buf()], None, &owner);
    let is_on = |timer: &String| {
        let place = folder.join(timer).display().to_string();
        found.iter().any(|s| s.place == place && s.is_on == Some(true))
    };
    if !all.is_empty() || !timers.iter().all(is_on) {
        all.push(run(&["systemctl", manager(by), "daemon-reload"]));
        let mut enable = vec!["systemctl", manager(by), "enable", "--now"];
        enable.extend(timers.iter().map(String::as_str));
        all.push(run(&enable));
    }
    // What an earlier version wrote for each watcher goes once the round is started: no moment is without one of them.
    all.extend(taken_away(by, folder, shipped::unneeded(by, wanted)));
    if by == By::User && super::lingers() != Some(true) {
        all.push(run(&LINGER));
    }
    Ok(all)
}

/// Keeps the systemd of this user when the last session ends. Without polkit only root may do it.
const LINGER: [&str; 2] = ["loginctl", "enable-linger"];

/// A command as a person has to run it where it was refused to us.
fn by_hand(command: &[String]) -> String {
    let user = super::name_of(rustix::process::geteuid().as_raw());
    match user.filter(|_| *command == LINGER) {
        Some(user) => format!("sudo {} {user}", command.join(" ")),
        None => command.join(" "),
    }
}

/// What taking away would change: only what we wrote.
///
/// # Errors
/// The crontab cannot be read, or our lines in it have no end.
pub fn remove(by: By, folder: Option<&Path>) -> Result<Vec<Change>> {
    let Some(folder) = folder else {
        let old = present()?;
        let text = shipped::without(&old)?;
        return Ok(if text == old { Vec::new() } else { vec![Change::Crontab { text }] });
    };
    Ok(taken_away(by, folder, shipped::names(by)))
}

/// What takes those of these files away that we wrote: their timers are switched off first.
fn taken_away(by: By, folder: &Path, names: Vec<PathBuf>) -> Vec<Change> {
    let ours = names.into_iter().map(|name| folder.join(name));
    let ours: Vec<PathBuf> = ours.filter(|path| is_ours(path).is_some()).collect();
    if ours.is_empty() {
        return Vec::new();
    }
    let timers: Vec<&str> =
        ours.iter().filter_map(|p| p.file_name()?.to_str()).filter(|n| n.ends_with(".timer")).collect();
    let mut all = Vec::new();
    if !timers.is_empty() {
        all.push(run(&[&["systemctl", manager(by), "disable", "--now"], timers.as_slice()].concat()));
    }
    all.extend(ours.iter().map(|path| Change::Remove { path: path.clone() }));
    all.push(run(&["systemctl", manager(by), "daemon-reload"]));
    all
}

/// What a file of Watchbill says; `None` where there is none, or where another program or user wrote it.
fn is_ours(path: &Path) -> Option<String> {
    let meta = path.symlink_metadata().ok()?;
    untrusted_file::text(path).filter(|text| meta.is_file() && text.starts_with(MARK))
}

/// Carries changes out: all files or none of them, then the commands. Gives those commands that are still to be run by hand,
/// with the reason where one failed.
///
/// # Errors
/// A file or the crontab could not be written; then nothing was changed, unless `crontab` ran out of time.
pub fn carry_out(changes: &[Change], is_there: bool) -> Result<(Vec<String>, Option<String>)> {
    files(changes)?;
    let (mut left, mut why) = (Vec::new(), None);
    // In their order: a timer is switched off while its file is still there.
    for change in changes {
        match change {
            Change::Crontab { text } => set_crontab(text)?,
            Change::Remove { path } => {
                fs::remove_file(path).map_err(|e| Error::io(path.display(), &e))?;
                // A folder of drop-ins that is empty now; any other is not, or is nobody's to remove.
                let folder = path.parent().filter(|f| f.extension().is_some_and(|x| x == "d"));
                let _ = folder.map(fs::remove_dir);
            }
            Change::Run { .. } => commands(std::slice::from_ref(change), is_there, &mut left, &mut why),
            Change::Write { .. } => {}
        }
    }
    Ok((left, why))
}

fn commands(changes: &[Change], is_there: bool, left: &mut Vec<String>, why: &mut Option<String>) {
    for change in changes {
        let Change::Run { command } = change else { continue };
        let done = match (is_there && left.is_empty(), command.split_first()) {
            (true, Some((name, args))) => Tool::new(name).args(args).run().and_then(|said| {
                if said.is_ok {
                    Ok(())
                } else {
                    Err(format!("{}: {}", command.join(" "), said.err.trim()).into())
                }
            }),
            _ => Err("".into()),
        };
        if let Err(said) = done.map_err(String::from) {
            left.push(if said.is_empty() { command.join(" ") } else { by_hand(command) });
            *why = why.take().or(Some(said).filter(|s| !s.is_empty()));
        }
    }
}

/// Writes all of them beside their places first; where one cannot be put there, those before it are restored (best
/// effort: a restore that fails is not reported).
fn files(changes: &[Change]) -> Result<()> {
    let mut new = Vec::new();
    for change in changes {
        let Change::Write { path, text } = change else { continue };
        let wrong = |e: &std::io::Error| Error::io(path.display(), e);
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(|e| wrong(&e))?;
        let file = beside(folder, text, 0o644).map_err(|e| wrong(&e))?;
        file.as_file().sync_all().map_err(|e| wrong(&e))?;
        new.push((path, file, fs::read(path).ok()));
    }
    let mut done: Vec<(&PathBuf, Option<Vec<u8>>)> = Vec::new();
    for (path, file, old) in new {
        if let Err(e) = file.persist(path) {
            for (path, old) in done {
                let _ = old.map_or_else(|| fs::remove_file(path), |old| fs::write(path, old));
            }
            return Err(Error::io(path.display(), &e.error).hint("nothing was changed"));
        }
        done.push((path, old));
    }
    Ok(())
}

fn set_crontab(text: &str) -> Result<()> {
    let call = match text.is_empty() {
        true => Tool::new("crontab").args(&["-r"]),
        false => Tool::new("crontab").args(&["-"]).input(text),
    };
    let wrong = |why: &str| Error::new(Kind::Io, "crontab", why);
    match call.run() {
        Ok(said) if said.is_ok => Ok(()),
        Ok(said) => Err(wrong(said.err.trim()).hint("the crontab is as it was before")),
        // It may have been written before the time was up.
        Err(why) => Err(wrong(&why.to_string()).hint("look at it with `crontab -l`")),
    }
}
