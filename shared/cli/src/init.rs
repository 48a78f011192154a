//! `watchbill init`: from nothing to protected. It looks at what is there, asks what only a person knows, writes that into the
//! configuration, has the watchers started and sends a test message.

mod ask;

use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, IsTerminal, stdin, stdout};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use self::ask::Terminal;
use super::timers::{self, Action, As, Done, TimersArgs};
use super::{Common, notify, print, print_json};
use ::board::{self, BoardId, Mode, Status};
use base::atomic_file::beside;
use base::error::{Error, Kind, Result};
use base::redact::redact;
use base::time::{Time, words};
use base::untrusted_file;
use config::edit::{self, Addition};
use config::{Config, Env, SYSTEM_FILE, user_file};
use host::Host;
use logs::provider;
use ops::report::printable;
use ops::setup::{Answers, Found, Gap, Places, Receiver};
use ops::timers::{By, ROUND};
use policy::cards::writer::orchestrators;
use policy::runtime::{self, Dispatcher};

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.init/1";
/// Mails a message; written beside the configuration where no package brought it.
const MAILER: &str = include_str!("../../../contrib/notify/mail");
/// Where a package puts it.
const PACKAGED: &str = "/usr/share/watchbill/notify/mail";

#[derive(Debug, Args)]
#[command(
    after_help = "At a terminal it asks for what no flag says, shows what it would write and run, and asks once more before it does so. \
                  Elsewhere, and with --yes, it asks nothing. Keys that are set stay as they are; done again, it changes nothing.\n\n\
                  Exit codes:\n  0   done, or nothing to do\n  1   commands are left to be run by hand, or the test message did not \
                  arrive\n  2   wrong usage\n  66  no such board, no systemd and no cron\n  70  a bug of ours\n  74  disk or output \
                  failed\n  77  not permitted\n  78  bad configuration"
)]
pub(super) struct InitArgs {
    /// The profile that takes the cards and decides about blocked work
    #[arg(long, value_name = "PROFILE")]
    orchestrator: Option<String>,
    /// Who takes the work of a profile while its provider refuses it, first one first (may be repeated)
    #[arg(long = "fallback", value_name = "PROFILE=NAME,...", value_parser = read_fallback)]
    fallbacks: Vec<(String, Vec<String>)>,
    /// Whom to tell what needs a person: you@example.org, a URL, or telegram:CHAT
    #[arg(long, value_name = "WHERE", value_parser = Receiver::parse)]
    tell: Option<Receiver>,
    /// A file whose first line is the URL to tell, or the token of the bot, where that is a secret
    #[arg(long, value_name = "FILE")]
    tell_file: Option<PathBuf>,
    /// Who starts the watchers [default: the systemd that answers, of the machine for root, else of this user; else cron]
    #[arg(long = "as", value_name = "WHO")]
    by: Option<As>,
    /// Write the configuration alone, and have nothing started
    #[arg(long, conflicts_with = "by")]
    no_timers: bool,
    /// Ask nothing
    #[arg(short, long)]
    yes: bool,
    /// Say what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

fn read_fallback(text: &str) -> std::result::Result<(String, Vec<String>), String> {
    let (of, to) = text.split_once('=').ok_or("write PROFILE=NAME, or PROFILE=NAME,NAME")?;
    let to = ask::names(to);
    if of.trim().is_empty() || to.is_empty() {
        return Err("write PROFILE=NAME, or PROFILE=NAME,NAME".into());
    }
    Ok((of.trim().to_owned(), to))
}

/// One board that was found.
struct BoardSeen {
    id: BoardId,
    /// Open tasks, or why they could not be counted.
    open: Result<usize>,
    dispatcher: Option<Dispatcher>,
}

/// What is there, before anything is asked.
struct Seen {
    config: Config,
    boards: Vec<BoardSeen>,
    found: Found,
}

pub(super) fn run(args: &InitArgs, version: &str) -> Result<u8> {
    let seen = look(args)?;
    let timers_args = timers_args(args);
    let mut answers = from_flags(args, &seen)?;
    let is_quiet = args.common.json || args.common.quiet;
    if !is_quiet {
        print(&seen.text())?;
    }
    let is_asking = !args.yes && !args.common.json && stdin().is_terminal() && stdout().is_terminal();
    let mut terminal = Terminal { answers: stdin().lock(), questions: stdout() };
    if is_asking {
        ask_all(&mut terminal, &seen, &mut answers)?;
    }
    let plan = Plan::of(args, &timers_args, &seen, &answers)?;
    if is_asking && !args.dry_run && !plan.is_empty() {
        terminal.say(&plan.preview(&timers_args))?;
        if !terminal.is_yes("Do this?")? {
            return terminal.say("Nothing was changed.\n").map(|()| 0);
        }
    }
    drop(terminal);
    if args.dry_run {
        return match args.common.json {
            true => print_json(&plan.json(args, version, &seen, &Done::default(), &[], 0)).map(|_| 0),
            false => print(&plan.preview(&timers_args)).map(|_| 0),
        };
    }
    plan.carry_out(args, &timers_args, version, &seen)
}

/// The configuration as it is; a file that is still to be made says nothing.
fn load(common: &Common) -> Result<Config> {
    let mut variables: Env = std::env::vars_os().collect();
    let given = common.config.as_deref().filter(|file| file.exists());
    if given.is_none() && common.config.is_some() {
        variables.remove(std::ffi::OsStr::new("WATCHBILL_CONFIG"));
        let mut config = Config::load(None, &variables)?.config;
        config.notify.clear();
        return Ok(config);
    }
    Ok(Config::load(given, &variables)?.config)
}

fn look(args: &InitArgs) -> Result<Seen> {
    let common = &args.common;
    let config = load(common)?;
    let host = Host::here(&config.host, Time::of_clock())?;
    let mut found = Found::default();
    let mut boards = Vec::new();
    let mut named = None;
    for id in common.boards(&config)? {
        let board = board::open(&id, Mode::Look, config.board.busy_timeout);
        let is_own = board.as_ref().is_ok_and(|board| board.is_own());
        let open = board.and_then(|mut board| board.glance(&Status::OPEN).map(|rows| rows.len()));
        let runtime = runtime::of(&id, is_own, &host);
        let root = id.root.as_deref().filter(|_| !is_own);
        for name in &runtime.profiles {
            let profile = provider::of(root, name, &config);
            let profile =
                profile.unwrap_or_else(|| provider::Profile { name: name.clone(), ..Default::default() });
            found.profiles.entry(name.clone()).or_insert(profile);
        }
        named = named.or(runtime.orchestrator);
        boards.push(BoardSeen { id, open, dispatcher: (!is_own).then_some(runtime.dispatcher) });
    }
    // A board that is named wrong is a slip; one of several that cannot be read is `doctor`'s to tell.
    if let Some(Err(why)) = boards.iter().map(|b| &b.open).min_by_key(|open| open.is_err()) {
        return Err(why.clone());
    }
    found.orchestrators = orchestrators(&config, named);
    Ok(Seen { config, boards, found })
}

impl Seen {
    fn text(&self) -> String {
        let mut out = String::new();
        let mut row = |name: &str, what: &str| {
            // Writing to a text never fails.
            let _ = writeln!(out, "{name:13}{}", printable(what));
        };
        for BoardSeen { id, open, .. } in &self.boards {
            let tasks = match open {
                Ok(1) => "1 open task".to_owned(),
                Ok(n) => format!("{n} open tasks"),
                Err(e) => e.what.clone(),
            };
            row("board", &format!("{} ({tasks}): {}", id.name(), id.path.display()));
        }
        for profile in self.found.profiles.values() {
            let model = profile.model.as_deref().map(|model| format!(", {model}")).unwrap_or_default();
            let to = match profile.fallbacks.as_slice() {
                [] => String::new(),
                to => format!("; its work may go to {}", to.join(", ")),
            };
            row("profile", &format!("{}: {}{model}{to}", profile.name, profile.id()));
        }
        match self.found.orchestrator() {
            Some(name) if !self.found.profiles.is_empty() => row("orchestrator", name),
            Some(_) => {}
            None => row(
                "orchestrator",
                &format!("none: there is no profile {}", self.found.orchestrators.join(", nor ")),
            ),
        }
        if let Some(dispatcher) = self.boards.iter().find_map(|board| board.dispatcher.as_ref()) {
            row("dispatcher", &said(dispatcher));
        }
        let targets: Vec<&str> = self.config.notify.keys().map(String::as_str).collect();
        let targets = if targets.is_empty() { "nobody".to_owned() } else { targets.join(", ") };
        row("told", &targets);
        out.push('\n');
        out
    }

    fn json(&self) -> Value {
        let boards = self
            .boards
            .iter()
            .map(|b| json!({"name": b.id.name(), "path": b.id.path, "open": b.open.as_ref().ok()}));
        let profiles = self.found.profiles.values();
        let profiles = profiles.map(|p| json!({"name": p.name, "provider": p.id().to_string(), "model": p.model, "fallbacks": p.fallbacks}));
        json!({
            "boards": boards.collect::<Vec<_>>(),
            "profiles": profiles.collect::<Vec<_>>(),
            "orchestrator": self.found.orchestrator(),
            "dispatcher": self.boards.iter().find_map(|b| b.dispatcher.as_ref()).map(said),
            "targets": self.config.notify.keys().collect::<Vec<_>>(),
        })
    }

    /// Who takes the cards, with what was answered.
    fn orchestrator<'a>(&'a self, answers: &'a Answers) -> Option<&'a str> {
        answers.orchestrator.as_deref().or_else(|| self.found.orchestrator())
    }
}

/// A dispatcher, in a few words.
fn said(dispatcher: &Dispatcher) -> String {
    match dispatcher {
        Dispatcher::Alive(pid) => format!("process {pid}"),
        Dispatcher::Ticked => "seen lately".into(),
        Dispatcher::Absent => "none; ready work waits until a gateway runs".into(),
        Dispatcher::Unknown(why) => format!("cannot be seen: {why}"),
    }
}

/// What the flags say, checked against what is there.
fn from_flags(args: &InitArgs, seen: &Seen) -> Result<Answers> {
    let wrong = |flag: &str, why: String| Error::new(Kind::Usage, flag, why);
    let is_set = |flag: &str, what: &str| {
        wrong(flag, format!("the configuration says {what}")).hint("change it there")
    };
    let mut answers = Answers::default();
    if let Some(name) = &args.orchestrator {
        seen.found.check_orchestrator(name).map_err(|why| wrong("--orchestrator", why))?;
        match seen.config.distress.orchestrator.as_ref() {
            Some(old) if old == name => {}
            Some(old) => return Err(is_set("--orchestrator", old)),
            None => answers.orchestrator = Some(name.clone()),
        }
    }
    for (of, to) in &args.fallbacks {
        let orchestrator = seen.orchestrator(&answers);
        seen.found.check_fallbacks(of, to, orchestrator).map_err(|why| wrong("--fallback", why))?;
        let old = seen.config.profiles.get(of).map(|keys| &keys.fallbacks).filter(|old| !old.is_empty());
        match old {
            Some(old) if old == to => {}
            Some(old) => return Err(is_set("--fallback", &format!("{of}={}", old.join(",")))),
            None => drop(answers.fallbacks.insert(of.clone(), to.clone())),
        }
    }
    answers.tell = receiver(args)?;
    if let Some(receiver) = &answers.tell
        && seen.config.notify.contains_key(receiver.name())
    {
        answers.tell = None;
    }
    Ok(answers)
}

/// Whom the flags say to tell.
fn receiver(args: &InitArgs) -> Result<Option<Receiver>> {
    let wrong = |flag: &str, why: &str| Error::new(Kind::Usage, flag, why);
    match (&args.tell, &args.tell_file) {
        (Some(receiver), None) if receiver.is_secret() => {
            Err(wrong("--tell", "this URL is a secret, and everybody here can read a command line")
                .hint("write it into a file of yours, and name that with --tell-file"))
        }
        (Some(Receiver::Telegram { .. }), None) => Err(wrong("--tell", "a bot of Telegram has a token")
            .hint("name a file that holds it with --tell-file")),
        (Some(Receiver::Telegram { .. }) | None, Some(file)) => {
            let text = untrusted_file::text(file).ok_or_else(|| {
                Error::new(Kind::NoInput, file.display(), "cannot be read")
                    .hint("its first line is the URL or the token")
            })?;
            let first = text.lines().next().unwrap_or_default().trim();
            match &args.tell {
                Some(telegram) if !first.is_empty() => Ok(Some(telegram.clone())),
                Some(_) => Err(wrong("--tell-file", "its first line is empty")),
                None => match Receiver::parse(first) {
                    Ok(receiver @ Receiver::Url { .. }) => Ok(Some(receiver)),
                    _ => Err(wrong("--tell-file", "its first line is no URL")),
                },
            }
        }
        (Some(_), Some(_)) => {
            Err(wrong("--tell-file", "is for a URL or a token alone").hint("leave --tell out"))
        }
        (tell, None) => Ok(tell.clone()),
    }
}

type Console<'t> = Terminal<std::io::StdinLock<'t>, std::io::Stdout>;

/// Asks for what neither the flags nor the configuration say.
fn ask_all(terminal: &mut Console<'_>, seen: &Seen, answers: &mut Answers) -> Result<()> {
    let found = &seen.found;
    if seen.orchestrator(answers).is_none() {
        let name = terminal.ask(
            "Which profile decides about blocked work?\n  a name (Enter: default):",
            |line| {
                let name = if line.is_empty() { "default" } else { line };
                found.check_orchestrator(name).map(|()| name.to_owned())
            },
        )?;
        answers.orchestrator = Some(name);
    }
    let orchestrator = seen.orchestrator(answers).map(str::to_owned);
    let open = |gap: &Gap| gap.profiles.iter().any(|name| !answers.fallbacks.contains_key(name));
    for gap in found.gaps(orchestrator.as_deref()).into_iter().filter(open).collect::<Vec<_>>() {
        let question = format!(
            "When {} refuses work, who may take that of {}?\n  one or more of {} (Enter: nobody):",
            gap.provider,
            gap.profiles.join(", "),
            gap.candidates.join(", ")
        );
        let to = terminal.ask(&question, |line| {
            let to = ask::names(line);
            let checks =
                gap.profiles.iter().map(|of| found.check_fallbacks(of, &to, orchestrator.as_deref()));
            checks.collect::<std::result::Result<Vec<()>, String>>().map(|_| to)
        })?;
        for of in gap.profiles {
            answers.fallbacks.entry(of).or_insert_with(|| to.clone());
        }
    }
    if seen.config.notify.is_empty() && answers.tell.is_none() {
        let question = "Whom to tell what needs a person?\n  you@example.org, or a URL of ntfy, Slack, Discord, ... (Enter: nobody):";
        answers.tell = terminal.ask(question, |line| match line {
            "" => Ok(None),
            line => match Receiver::parse(line)? {
                Receiver::Telegram { .. } => {
                    Err("write the bot's token into a file, and give --tell telegram:CHAT --tell-file FILE"
                        .into())
                }
                receiver => Ok(Some(receiver)),
            },
        })?;
    }
    Ok(())
}

fn timers_args(args: &InitArgs) -> TimersArgs {
    TimersArgs {
        action: Action::Install,
        by: args.by,
        dry_run: args.dry_run,
        metrics: None,
        unit_dir: None,
        common: args.common.clone(),
    }
}

/// A file beside the configuration.
struct Beside {
    path: PathBuf,
    text: String,
    mode: u32,
}

/// What is to be written and run.
struct Plan {
    /// The configuration file.
    file: PathBuf,
    additions: Vec<Addition>,
    others: Vec<Beside>,
    timers: Option<timers::Plan>,
    notify: bool,
}

impl Plan {
    fn of(args: &InitArgs, timers_args: &TimersArgs, seen: &Seen, answers: &Answers) -> Result<Plan> {
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
        let plan = Plan { file, additions, others, timers, notify };
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

    fn is_empty(&self) -> bool {
        self.additions.is_empty() && self.timers.as_ref().is_none_or(|timers| timers.changes.is_empty())
    }

    /// What would be written and run.
    fn preview(&self, timers_args: &TimersArgs) -> String {
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
        }
        if self.is_empty() {
            out.push_str("nothing to do\n");
        } else if self.notify {
            out.push_str("would send a test message\n");
        }
        if timers_args.common.quiet { String::new() } else { out + "\n" }
    }

    /// Writes, starts, and sends a test message.
    fn carry_out(&self, args: &InitArgs, timers_args: &TimersArgs, version: &str, seen: &Seen) -> Result<u8> {
        let is_quiet = args.common.json || args.common.quiet;
        let say = |text: &str| if is_quiet { Ok(0) } else { print(text) };
        let owner = self.timers.as_ref().and_then(timers::Plan::user);
        for Beside { path, text, mode } in &self.others {
            write(path, text, *mode, owner)?;
            say(&format!("wrote {}\n", path.display()))?;
        }
        if !self.additions.is_empty() {
            // Somebody may have edited it since the questions were asked.
            write(&self.file, &self.text()?, 0o644, None)?;
            say(&format!("wrote {}\n", self.file.display()))?;
        }
        let mut done = Done::default();
        if let Some(timers) = &self.timers {
            done = Done::of(timers_args, timers.by, &timers.changes)?;
            if !timers.changes.is_empty() || self.is_empty() {
                say(&done.text(timers_args, &timers.changes))?;
            }
            timers.warn();
        }
        let mut told = Vec::new();
        if self.notify && !self.is_empty() {
            told = notify::test_all(&args.common, &args.common.load()?.config)?;
            told.iter().for_each(notify::Told::complain);
            say(&redact(&told.iter().filter_map(|t| t.line(false)).collect::<String>()))?;
        }
        let exit = done.code().max(u8::from(told.iter().any(notify::Told::is_failed)));
        if args.common.json {
            let told: Vec<Value> = told.iter().map(notify::Told::json).collect();
            return print_json(&self.json(args, version, seen, &done, &told, exit)).map(|_| exit);
        }
        if let Some(timers) = self.timers.as_ref().filter(|_| exit == 0) {
            let first = match timers.is_started() {
                true => format!("The first pass comes within {}. ", words(ROUND)),
                false => String::new(),
            };
            say(&format!(
                "\n{first}`watchbill status` shows what needs you, `watchbill doctor` whether all is in place.\n"
            ))?;
        }
        Ok(exit)
    }

    fn json(
        &self,
        args: &InitArgs,
        version: &str,
        seen: &Seen,
        done: &Done,
        told: &[Value],
        exit: u8,
    ) -> Value {
        let timers = self.timers.as_ref().map(
            |timers| json!({"as": timers.by, "changes": timers.changes, "left": done.left, "why": done.why}),
        );
        json!({
            "schema": SCHEMA, "version": version, "dry_run": args.dry_run, "found": seen.json(),
            "config": {"file": self.file, "added": edit::lines(&self.additions)},
            "timers": timers, "test": told, "exit": exit,
        })
    }
}

/// The configuration file that is written: the one named, else that of whoever runs the watchers.
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

/// The folder of a file.
fn at(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Writes a file whole, in the place of the one that is there, whose mode and owner stay. `owner`: whose file a new one becomes.
fn write(path: &Path, text: &str, mode: u32, owner: Option<u32>) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    // A link leads to where the configuration really is, or is to be.
    let real = path.canonicalize().or_else(|_| path.read_link().map(|to| at(path).join(to)));
    let real = real.unwrap_or_else(|_| path.to_path_buf());
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
