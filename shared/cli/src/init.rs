//! `watchbill init`: from nothing to protected. It looks at what is there, asks what only a person knows, writes that into the
//! configuration, has the watchers started and sends a test message.

mod ask;
mod plan;

use std::fmt::Write as _;
use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use self::ask::Terminal;
use self::plan::Plan;
use super::timers::{Action, Done, TimersArgs, whose};
use super::{Common, one_of, print, print_json};
use ::board::{self, BoardId, Location, Mode, Status};
use base::error::{Error, Kind, Result};
use base::time::Time;
use base::untrusted_file;
use config::{Config, Env};
use host::Host;
use logs::provider;
use ops::report::printable;
use ops::setup::{Answers, Found, Gap, Receiver};
use ops::timers::By;
use policy::cards::writer::orchestrators;
use policy::runtime::{self, Dispatcher};

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.init/1";

#[derive(Debug, Args)]
#[command(
    after_help = "At a terminal it asks for what no flag says, shows what it would write and run, and asks once more before it does so. \
                  Elsewhere, and with --yes, it asks nothing. Keys that are set stay as they are; done again, it changes nothing.\n\n\
                  Exit codes:\n  0   done, or nothing to do\n  1   commands are left to be run by hand, the test message did not \
                  arrive, or no cron daemon runs\n  2   wrong usage\n  66  no such board, no systemd and no cron\n  70  a bug in watchbill\n  74  disk or output \
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
    #[arg(long = "as", value_name = "WHO", value_parser = one_of(&By::ALL, whose))]
    by: Option<By>,
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
    /// Boards that nothing but `--db` names, by their whole paths.
    only_named: Vec<Location>,
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
            true => {
                print_json(&plan.json(args, version, &seen, &Done::default(), (&plan.warnings(), &[]), 0))
                    .map(|_| 0)
            }
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
    let host = Host::here(&config.host.policy(), Time::of_clock())?;
    let mut found = Found::default();
    let mut boards = Vec::new();
    let mut named = None;
    for id in common.boards(&config)? {
        let board = board::open(&id, Mode::Look, config.board.busy_timeout);
        let is_own = board.as_ref().is_ok_and(|board| board.is_own());
        let open = board.and_then(|mut board| board.glance(&Status::OPEN).map(|rows| rows.len()));
        let runtime = runtime::of(&id, is_own, &host);
        let root = id.root.as_deref().filter(|_| !is_own);
        for name in runtime.profiles.names() {
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
    let only_named = only_named(common, &config, &boards);
    Ok(Seen { config, boards, found, only_named })
}

/// The boards that a command without `--db` would not find.
fn only_named(common: &Common, config: &Config, boards: &[BoardSeen]) -> Vec<Location> {
    if common.db.is_empty() {
        return Vec::new();
    }
    let bare = Common { db: Vec::new(), board: Vec::new(), hermes_root: None, ..common.clone() };
    // Where there is none at all, that is an error.
    let others = bare.boards(config).unwrap_or_default();
    let place = |id: &BoardId| match id.whole() {
        Location::File(path) => Location::File(path.canonicalize().unwrap_or(path)),
        server @ Location::Server(_) => server,
    };
    let is_found = |id: &BoardId| others.iter().any(|other| place(other) == place(id));
    boards.iter().filter(|b| !is_found(&b.id)).map(|b| b.id.whole()).collect()
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
            row("board", &format!("{} ({tasks}): {}", id.name(), id.at));
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

    /// The board that the configuration is to name, so that it is found without `--db`.
    fn to_configure(&self) -> Option<&Location> {
        let is_text = |at: &&Location| at.as_os_str().to_str().is_some();
        let is_open = self.config.board.db.is_none() && self.only_named.len() == 1;
        self.only_named.first().filter(is_text).filter(|_| is_open)
    }

    /// Boards that stay unknown to a command without `--db`, and why, as a sentence.
    fn stays_unknown(&self) -> Option<String> {
        if self.only_named.is_empty() || self.to_configure().is_some() {
            return None;
        }
        let names: Vec<String> = self.only_named.iter().map(ToString::to_string).collect();
        let why = match &self.config.board.db {
            Some(at) => format!("the configuration says board.db = {at}"),
            None => "board.db names one board, as text".to_owned(),
        };
        Some(format!("{}: found with --db alone; {why}", names.join(", ")))
    }

    fn json(&self) -> Value {
        let boards = self
            .boards
            .iter()
            .map(|b| json!({"name": b.id.name(), "path": b.id.at, "open": b.open.as_ref().ok()}));
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
    let mut answers = Answers { board: seen.to_configure().cloned(), ..Answers::default() };
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
        && let Some(old) = seen.config.notify.get(receiver.name())
    {
        if let Some(told) = receiver.differs_from(old) {
            let what = format!("[notify.{}] {told}", receiver.name());
            return Err(is_set("--tell", &what).hint("change it there, or add another [notify.NAME] table"));
        }
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
                Some(_) => Err(wrong("--tell-file", "its first line is empty").hint("write the token there")),
                None => match Receiver::parse(first) {
                    Ok(receiver @ Receiver::Url { .. }) => Ok(Some(receiver)),
                    _ => Err(wrong("--tell-file", "its first line is not a URL")
                        .hint("write the whole URL there; a bot of Telegram needs --tell telegram:CHAT too")),
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
            ask::some(&gap.profiles),
            ask::choices(&gap.candidates)
        );
        let to = terminal.ask(&question, |line| {
            let to = ask::chosen(line, &gap.candidates)?;
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
