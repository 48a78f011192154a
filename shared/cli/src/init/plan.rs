//! What `init` writes and runs: first as a plan that can be shown, then that and nothing else.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{BoardSeen, InitArgs, SCHEMA, Seen};
use crate::doctor::look::is_writable;
use crate::timers::{self, Done, TimersArgs};
use crate::{notify, print, print_json};
use base::atomic_file::beside;
use base::error::{Error, Kind, Result};
use base::redact::redact;
use base::time::words;
use base::wrap::wrapped;
use config::edit::{self, Addition};
use config::{SYSTEM_FILE, user_file};
use ops::report::{printable, say as say_to};
use ops::setup::{Answers, Places, Receiver};
use ops::timers::{By, ROUND};

const NAME: &str = "watchbill init";
/// Mails a message; written beside the configuration where no package brought it.
const MAILER: &str = include_str!("../../../../contrib/notify/mail");
/// Where a package puts it.
const PACKAGED: &str = "/usr/share/watchbill/notify/mail";

/// A file beside the configuration.
struct Beside {
    path: PathBuf,
    text: String,
    mode: u32,
}

/// What is to be written and run.
pub(super) struct Plan {
    /// The configuration file.
    file: PathBuf,
    additions: Vec<Addition>,
    others: Vec<Beside>,
    timers: Option<timers::Plan>,
    notify: bool,
    /// Boards that the watchers could not write, whose workers they could not see, or that stay unknown, each as a sentence.
    flaws: Vec<String>,
}

impl Plan {
    pub(super) fn of(
        args: &InitArgs,
        timers_args: &TimersArgs,
        seen: &Seen,
        answers: &Answers,
    ) -> Result<Plan> {
        let notify = answers.tell.is_some() || !seen.config.notify.is_empty();
        let timers = match args.no_timers {
            true => None,
            false => Some(timers::Plan::of(timers_args, &seen.config, notify)?),
        };
        let file = place(args, timers.as_ref())?;
        let folder = at(&file);
        let name = answers.tell.as_ref().map_or("", Receiver::name);
        let given = args.tell_file.as_deref().map(std::path::absolute).transpose();
        let given = given.map_err(|e| Error::io("--tell-file", &e))?;
        let secret = given.clone().unwrap_or_else(|| folder.join(format!("notify-{name}.secret")));
        let packaged = Path::new(PACKAGED);
        let mailer = if packaged.exists() { packaged.to_path_buf() } else { folder.join("notify-mail") };
        let mut others = Vec::new();
        match &answers.tell {
            Some(Receiver::Mail(_)) if mailer != packaged => {
                others.push(Beside { path: mailer.clone(), text: MAILER.into(), mode: 0o755 });
            }
            Some(receiver @ Receiver::Url { url, .. }) if receiver.is_secret() && given.is_none() => {
                others.push(Beside { path: secret.clone(), text: format!("{url}\n"), mode: 0o600 });
            }
            _ => {}
        }
        let additions = answers.additions(Places { mailer: &mailer, secret: &secret });
        let mut flaws = timers.as_ref().map_or_else(Vec::new, |timers| locked(timers, seen));
        flaws.extend(seen.stays_unknown());
        let plan = Plan { file, additions, others, timers, notify, flaws };
        // What cannot be added is said before anything is asked or done.
        if !plan.additions.is_empty() {
            plan.text()?;
        }
        Ok(plan)
    }

    /// The configuration file as it is now, with the keys that are to be added.
    fn text(&self) -> Result<String> {
        let old = match fs::read_to_string(&self.file) {
            Ok(old) => old,
            Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
            Err(e) => return Err(Error::io(self.file.display(), &e)),
        };
        edit::add(&self.file, &old, &self.additions)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.additions.is_empty() && self.timers.as_ref().is_none_or(|timers| timers.changes.is_empty())
    }

    /// What would be written and run.
    pub(super) fn preview(&self, timers_args: &TimersArgs) -> String {
        let mut out = String::new();
        if !self.additions.is_empty() {
            let lines = edit::lines(&self.additions);
            let lines =
                lines.lines().map(|line| format!("    {}\n", printable(line)).replace("    \n", "\n"));
            let _ = writeln!(out, "would add to {}:\n\n{}", self.file.display(), lines.collect::<String>());
        }
        for Beside { path, .. } in &self.others {
            let _ = writeln!(out, "would write {}", path.display());
        }
        for change in self.timers.iter().flat_map(|timers| &timers.changes) {
            let _ = writeln!(out, "would {}", printable(&change.to_string()));
            out.extend(change.crontab_lines().iter().map(|line| format!("    {}\n", printable(line))));
        }
        let warnings = self.warnings();
        let warnings = warnings.iter().chain(&self.flaws);
        warnings.for_each(|what| out.push_str(&wrapped("", &format!("warning: {what}"))));
        if self.is_empty() {
            out.push_str(&self.idle());
        } else if self.notify {
            out.push_str("would send a test message\n");
        }
        if timers_args.common.quiet { String::new() } else { out + "\n" }
    }

    /// That nothing is to be done, and how a message is tested then.
    fn idle(&self) -> String {
        let test = if self.notify { "no test message: `watchbill notify --test` sends one\n" } else { "" };
        format!("nothing to do\n{test}")
    }

    /// Writes, starts, and sends a test message.
    pub(super) fn carry_out(
        &self,
        args: &InitArgs,
        timers_args: &TimersArgs,
        version: &str,
        seen: &Seen,
    ) -> Result<u8> {
        let is_quiet = args.common.json || args.common.quiet;
        let say = |text: &str| if is_quiet { Ok(0) } else { print(text) };
        let owner = self.timers.as_ref().and_then(timers::Plan::user);
        for Beside { path, text, mode } in &self.others {
            write(path, text, *mode, owner)?;
            say(&format!("wrote {}\n", path.display()))?;
        }
        if !self.additions.is_empty() {
            // The operator may have edited it since the questions were asked.
            write(&self.file, &self.text()?, 0o644, None)?;
            say(&format!("wrote {}\n", self.file.display()))?;
        }
        let mut done = Done::default();
        if let Some(timers) = &self.timers {
            done = Done::of(timers_args, timers.by, &timers.changes)?;
            if !timers.changes.is_empty() {
                say(&done.text(timers_args, &timers.changes))?;
            }
        }
        if self.is_empty() {
            say(&self.idle())?;
        }
        let warnings = self.warnings();
        timers::complain(&warnings);
        for what in &self.flaws {
            let _ = say_to(&mut std::io::stderr().lock(), '4', NAME, what);
        }
        let mut told = Vec::new();
        if self.notify && !self.is_empty() {
            told = notify::test_all(&args.common, &args.common.load()?.config)?;
            told.iter().for_each(notify::Told::complain);
            say(&redact(&told.iter().filter_map(|t| t.line(false)).collect::<String>()))?;
        }
        let is_idle = self.timers.as_ref().is_some_and(|timers| !timers.is_started());
        let exit = done.code().max(u8::from(is_idle || told.iter().any(notify::Told::is_failed)));
        if args.common.json {
            let told: Vec<Value> = told.iter().map(notify::Told::json).collect();
            return print_json(&self.json(args, version, seen, &done, (&warnings, &told), exit))
                .map(|_| exit);
        }
        if self.timers.is_some() && exit == 0 {
            say(&format!(
                "\nThe first pass comes within {}. `watchbill status` shows what needs you, `watchbill doctor` whether all is in place.\n",
                words(ROUND)
            ))?;
        }
        Ok(exit)
    }

    /// What else starts the watchers, or that nothing does. systemd and cron are asked.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.timers.as_ref().map_or_else(Vec::new, timers::Plan::warnings)
    }

    pub(super) fn json(
        &self,
        args: &InitArgs,
        version: &str,
        seen: &Seen,
        done: &Done,
        (warnings, told): (&[String], &[Value]),
        exit: u8,
    ) -> Value {
        let warnings: Vec<&String> = warnings.iter().chain(&self.flaws).collect();
        let timers = self.timers.as_ref().map(|timers| {
            json!({
                "as": timers.by, "changes": timers.changes, "left": done.left, "why": done.why,
                "warnings": warnings,
            })
        });
        json!({
            "schema": SCHEMA, "version": version, "dry_run": args.dry_run, "found": seen.json(),
            "config": {"file": self.file, "added": edit::lines(&self.additions)},
            "timers": timers, "test": told, "exit": exit,
        })
    }
}

/// The configuration file that is written: the one named, else that of the user who runs the watchers.
fn place(args: &InitArgs, timers: Option<&timers::Plan>) -> Result<PathBuf> {
    if let Some(file) = &args.common.config {
        return std::path::absolute(file).map_err(|e| Error::io(file.display(), &e));
    }
    if timers.is_some_and(|timers| timers.by == By::System) {
        return Ok(SYSTEM_FILE.into());
    }
    user_file(&std::env::vars_os().collect()).ok_or_else(|| {
        Error::new(Kind::Usage, "configuration", "neither XDG_CONFIG_HOME nor HOME is set")
            .hint("name --config")
    })
}

/// What is wrong with the boards for the user who runs the watchers.
fn locked(timers: &timers::Plan, seen: &Seen) -> Vec<String> {
    let me = rustix::process::geteuid().as_raw();
    let user = if timers.by == By::System { timers.user().unwrap_or(0) } else { me };
    let one = |board: &BoardSeen| {
        let places = [board.id.file().map(Path::to_owned), board.id.folder()];
        let place = places.iter().flatten().find(|place| may_write(place, user, me) == Some(false));
        let owner = board.id.file().and_then(|file| file.metadata().ok()).map(|meta| meta.uid());
        warning(&board.id.name(), user, place.map(PathBuf::as_path), owner)
    };
    seen.boards.iter().filter_map(one).collect()
}

/// What is wrong with a board for the user who would run the watchers. `locked`: what that user cannot write. `owner`: whose its file is.
fn warning(board: &str, user: u32, locked: Option<&Path>, owner: Option<u32>) -> Option<String> {
    if let Some(place) = locked {
        let place = place.display();
        return Some(format!("user {user} would run the watchers and cannot write board {board}: {place}"));
    }
    let owner = owner.filter(|owner| *owner != user && user != 0)?;
    Some(format!(
        "user {user} would run the watchers, and board {board} belongs to user {owner}: the environment of that user's workers cannot be \
         read, and its group may lose the right to write; run this as user {owner}"
    ))
}

/// Whether a user may write a file or folder; `None` where that cannot be told. `me`: who asks.
fn may_write(place: &Path, user: u32, me: u32) -> Option<bool> {
    if user == me {
        return Some(is_writable(place));
    }
    let meta = place.metadata().ok()?;
    by_mode(meta.uid(), meta.mode(), user)
}

/// The same of another user, by the owner and the mode. Who is in a group is not known here.
fn by_mode(owner: u32, mode: u32, user: u32) -> Option<bool> {
    match (user, mode & 0o002 != 0, mode & 0o020 != 0) {
        (0, _, _) => Some(true),
        _ if user == owner => Some(mode & 0o200 != 0),
        (_, true, _) => Some(true),
        (_, false, true) => None,
        (_, false, false) => Some(false),
    }
}

/// The folder of a file.
fn at(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Writes a file whole, in the place of the one that is there, whose mode and owner stay. `owner`: whose file a new one becomes.
fn write(path: &Path, text: &str, mode: u32, owner: Option<u32>) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    // A link leads to where the configuration really is.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = at(&real);
    let wrong = |e: &std::io::Error| Error::io(path.display(), e);
    fs::create_dir_all(folder).map_err(|e| wrong(&e))?;
    let old = real.metadata().ok();
    let mode = old.as_ref().map_or(mode, |meta| meta.permissions().mode() & 0o7777);
    let file = beside(folder, text, mode).map_err(|e| wrong(&e))?;
    file.as_file().sync_all().map_err(|e| wrong(&e))?;
    let (user, group) = old.map_or((owner, None), |meta| (Some(meta.uid()), Some(meta.gid())));
    if user.is_some() {
        chown(file.path(), user, group).map_err(|e| wrong(&e).hint("run this as the user who owns it"))?;
    }
    file.persist(&real).map_err(|e| wrong(&e.error)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{by_mode, warning};

    #[test]
    fn a_board_of_another_user_is_no_board_to_watch() {
        let said = |user, locked: Option<&str>, owner| warning("night", user, locked.map(Path::new), owner);
        assert!(
            said(1_001, Some("/b"), Some(1_000)).is_some_and(|w| w.ends_with("cannot write board night: /b"))
        );
        let shared = said(1_001, None, Some(1_000)).unwrap();
        assert!(
            shared.contains("belongs to user 1000") && shared.ends_with("run this as user 1000"),
            "{shared}"
        );
        for (user, owner) in [(1_000, Some(1_000)), (0, Some(1_000)), (1_000, None)] {
            assert_eq!(said(user, None, owner), None);
        }
    }

    #[test]
    fn who_may_write_is_told_by_owner_and_mode() {
        for (owner, mode, user, want) in [
            (1_000, 0o755, 1_000, Some(true)),
            (1_000, 0o555, 1_000, Some(false)),
            (1_000, 0o755, 1_001, Some(false)),
            (1_000, 0o775, 1_001, None),
            (1_000, 0o777, 1_001, Some(true)),
            (1_000, 0o700, 0, Some(true)),
        ] {
            assert_eq!(by_mode(owner, mode, user), want, "{owner} {mode:o} {user}");
        }
    }
}
