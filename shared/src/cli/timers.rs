//! `watchbill timers`: has the watchers started by systemd or cron, says whether they are, and takes it away again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::doctor::look::Eyes;
use super::{Common, env, print, print_json};
use crate::board::{self, BoardId, EventKind, Mode, discover};
use crate::cache::Cache;
use crate::config::Config;
use crate::doctor::WatcherSeen;
use crate::error::{Error, Kind, Result};
use crate::report::{printable, say};
use crate::time::{Time, words};
use crate::timers::install::{self, Change};
use crate::timers::shipped::{self, Wanted};
use crate::timers::{self, By, Owner, Places, Starter, WATCHED};

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.timers/1";
const NAME: &str = "watchbill timers";
/// How far back spawned sessions are looked for: seconds, and events of a board.
const SPAWNED_LATELY: (i64, u32) = (30 * 86_400, 200_000);
/// Where systemd keeps the state of system units (`StateDirectory=watchbill` of hardening.conf).
const SYSTEM_STATE: &str = "/var/lib/watchbill";

fn after_help() -> String {
    let each = WATCHED.map(|w| format!("{} every {}", w.program, words(w.every))).join(", ");
    format!(
        "install has the watchers started, on the boards that are found now: {each}. Done again, it changes nothing. \
         remove takes away what install wrote, and nothing else.\n\n\
         Exit codes:\n  0   done, or nothing to do; status: all that is needed is started\n  1   commands are left to be run by hand, \
         or a file of somebody else is in the way; status: something is not started\n  2   wrong usage\n  66  no such board, no systemd and no cron\n  \
         70  a bug of ours\n  74  disk or output failed\n  77  not permitted\n  78  bad configuration"
    )
}

#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub(super) struct TimersArgs {
    /// What to do
    action: Action,
    /// Who starts them [default: the systemd that answers, of the machine for root, else of this user; else cron]
    #[arg(long = "as", value_name = "WHO")]
    by: Option<As>,
    /// Say what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Where the passes leave the files of their --metrics [default: metrics in the folder of the state file]
    #[arg(long, value_name = "DIR")]
    metrics: Option<PathBuf>,
    /// Write units into this folder, and only say which commands are to be run
    #[arg(long, value_name = "DIR")]
    unit_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Write units or crontab lines, and switch them on
    Install,
    /// Say what starts each watcher, and when it last did its work
    Status,
    /// Take away what install wrote
    Remove,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum As {
    /// The systemd of this user
    User,
    /// The systemd of the machine
    System,
    /// The crontab of this user
    Cron,
}

impl From<As> for By {
    fn from(who: As) -> By {
        match who {
            As::User => By::User,
            As::System => By::System,
            As::Cron => By::Cron,
        }
    }
}

pub(super) fn run(args: &TimersArgs) -> Result<u8> {
    match args.action {
        Action::Install => install(args),
        Action::Status => status(args),
        Action::Remove => remove(args),
    }
}

fn install(args: &TimersArgs) -> Result<u8> {
    let by = args.by.map_or_else(choose, |by| Ok(by.into()))?;
    let wanted = wanted(args, by)?;
    let folder = folder(args, by)?;
    let changes = install::install(by, folder.as_deref(), &wanted)?;
    let code = carry_out(args, by, &changes)?;
    let others = timers::look(&Places::of(&env), &Owner::of(wanted.root.as_deref()));
    let is_double = |s: &&Starter| s.by != by && s.is_on != Some(false) && s.other_user.is_none();
    for s in others.iter().filter(is_double) {
        let what = format!(
            "{} is started by {} as well; take that away, or each pass is done twice",
            s.program, s.place
        );
        let _ = say(&mut std::io::stderr().lock(), '4', NAME, &what);
    }
    Ok(code)
}

fn remove(args: &TimersArgs) -> Result<u8> {
    let one = |by: By| -> Result<(By, Vec<Change>)> {
        let folder = folder(args, by)?;
        Ok((by, install::remove(by, folder.as_deref())?))
    };
    let is_root = rustix::process::geteuid().is_root();
    let all = match args.by {
        Some(by) => vec![one(by.into())?],
        // Where there is no cron there is nothing of ours in it. Units of the machine are root's to remove.
        None => [By::User, By::System, By::Cron]
            .into_iter()
            .filter(|by| *by != By::System || is_root || args.unit_dir.is_some())
            .filter_map(|by| one(by).ok())
            .collect(),
    };
    let mut some: Vec<_> = all.into_iter().filter(|(_, changes)| !changes.is_empty()).collect();
    if some.is_empty() {
        some.push((args.by.map_or(By::User, By::from), Vec::new()));
    }
    let codes = some.iter().map(|(by, changes)| carry_out(args, *by, changes)).collect::<Result<Vec<_>>>()?;
    Ok(codes.into_iter().max().unwrap_or(0))
}

/// Does it, or says what would be done; 1 where commands are left to be run by hand.
fn carry_out(args: &TimersArgs, by: By, changes: &[Change]) -> Result<u8> {
    let common = &args.common;
    let runs = changes.iter().any(|c| matches!(c, Change::Run { .. }));
    let is_there = args.unit_dir.is_none() && runs && install::answers(by);
    let (left, why) = match args.dry_run {
        true => (Vec::new(), None),
        false => install::carry_out(changes, is_there)?,
    };
    let code = u8::from(!left.is_empty());
    if common.json {
        let whole = json!({
            "schema": SCHEMA, "as": by, "dry_run": args.dry_run, "changes": changes, "left": left, "why": why, "exit": code,
        });
        print_json(&whole)?;
        return Ok(code);
    }
    let mut out = String::new();
    let is_left = |c: &Change| matches!(c, Change::Run { command } if left.iter().any(|l| l.contains(&command.join(" "))));
    let would = if args.dry_run { "would " } else { "" };
    for change in changes.iter().filter(|c| !is_left(c) && !common.quiet) {
        // Writing to a text never fails.
        let _ = writeln!(out, "{would}{}", printable(&change.to_string()));
        if let Change::Write { text, .. } | Change::Crontab { text } = change
            && common.verbose
        {
            out.extend(text.lines().map(|line| format!("    {}\n", printable(line))));
        }
    }
    if changes.is_empty() && !common.quiet {
        out.push_str("nothing to do\n");
    }
    if !left.is_empty() {
        let why = why.unwrap_or_else(|| "systemd does not answer here".into());
        let gap = if common.quiet { "" } else { "\n" };
        let _ = writeln!(out, "{gap}{}. Still to be run:\n", printable(&why));
        out.extend(left.iter().map(|command| format!("    {command}\n")));
    }
    print(&out)?;
    Ok(code)
}

/// Whoever can start something here.
fn choose() -> Result<By> {
    let systemd = if rustix::process::geteuid().is_root() { By::System } else { By::User };
    if install::answers(systemd) {
        return Ok(systemd);
    }
    install::present().map(|_| By::Cron).map_err(|e| {
        Error::new(Kind::NoInput, "systemd, cron", format!("neither answers here ({e})"))
            .hint("--as user, system or cron writes what they need all the same")
    })
}

fn folder(args: &TimersArgs, by: By) -> Result<Option<PathBuf>> {
    if by == By::Cron {
        return Ok(None);
    }
    let nowhere = || {
        Error::new(Kind::Usage, "--as user", "neither XDG_CONFIG_HOME nor HOME is set")
            .hint("name --unit-dir")
    };
    args.unit_dir.clone().or_else(|| shipped::folder(by, &env)).map(Some).ok_or_else(nowhere)
}

/// What is so here and now: a timer has next to nothing of this environment, so it is pinned.
fn wanted(args: &TimersArgs, by: By) -> Result<Wanted> {
    let common = &args.common;
    let config = common.load()?.config;
    // A timer that watches nothing would fail every two minutes; better now.
    let ids = common.boards(&config)?;
    let program = std::env::current_exe().map_err(|e| Error::io("this executable", &e))?;
    if program.to_string_lossy().ends_with(" (deleted)") {
        return Err(
            Error::new(Kind::NoInput, program.display(), "was replaced while it runs").hint("start it again")
        );
    }
    let whole =
        |path: &Path| std::path::absolute(path).map_err(|e| Error::new(Kind::Usage, path.display(), e));
    let text = |path: &Path| whole(path).map(|p| p.display().to_string());
    let mut boards = Vec::new();
    for db in &common.db {
        boards.extend(["--db".to_owned(), text(db)?]);
    }
    for slug in &common.board {
        boards.extend(["--board".to_owned(), slug.clone()]);
    }
    let given = common.hermes_root.as_deref().or(config.board.hermes_root.as_deref());
    if boards.is_empty() && given.is_none() {
        // As Hermes itself reads them, the first one first; see discover.
        let pinned = [("HERMES_KANBAN_DB", "--db"), ("HERMES_KANBAN_BOARD", "--board")];
        if let Some((flag, value)) = pinned.iter().find_map(|(name, flag)| Some((*flag, env(name)?))) {
            boards.extend([flag.to_owned(), if flag == "--db" { text(Path::new(&value))? } else { value }]);
        }
    }
    let state = match by {
        By::System => PathBuf::from(SYSTEM_STATE),
        By::User | By::Cron => {
            let place = Cache::place(&env).and_then(|p| p.parent().map(Path::to_path_buf));
            place.ok_or_else(|| Error::new(Kind::Usage, "state", "neither XDG_STATE_HOME nor HOME is set"))?
        }
    };
    let named = args.metrics.as_deref().map(whole).transpose()?;
    let mut variables = Vec::new();
    if let Some(file) = &common.config {
        variables.push(("WATCHBILL_CONFIG", text(file)?));
    }
    if by != By::System {
        let xdg = ["XDG_CONFIG_HOME", "XDG_STATE_HOME"];
        variables.extend(xdg.into_iter().filter_map(|name| Some((name, env(name)?))));
    }
    let root = discover::root(given, &env).map(|root| whole(&root)).transpose()?;
    use std::os::unix::fs::MetadataExt;
    let now = common.now.unwrap_or_else(Time::of_clock);
    let with_sessions = ids.iter().filter(|id| spawns(id, &config, now)).map(named_board);
    let sessions = with_sessions.collect::<Vec<_>>();
    let owner = ids.first().and_then(|id| id.path.metadata().ok()).map(|m| m.uid());
    let mut writable: Vec<PathBuf> = ids.iter().map(|id| whole(&id.folder())).collect::<Result<_>>()?;
    writable.extend(named.clone());
    writable.dedup();
    let wanted = Wanted {
        program,
        root,
        metrics: named.unwrap_or_else(|| state.join("metrics")),
        state,
        variables,
        boards,
        sessions,
        // Who owns the board runs the workers.
        user: owner.filter(|uid| *uid != 0),
        writable,
    };
    wanted.check()?;
    Ok(wanted)
}

/// Whether sessions were spawned for tasks of a board in the last 30 days. A board that cannot be read says nothing.
pub(super) fn spawns(id: &BoardId, config: &Config, now: Time) -> bool {
    let board = board::open(id, Mode::Look, config.board.busy_timeout);
    let turns = board.and_then(|mut board| board.turns(now.plus(-SPAWNED_LATELY.0), SPAWNED_LATELY.1));
    turns.is_ok_and(|all| all.iter().any(|(_, e)| e.kind == EventKind::SessionSpawned))
}

/// The flag that names one board to a program that works on one.
fn named_board(id: &BoardId) -> [String; 2] {
    match &id.slug {
        Some(slug) => ["--board".into(), slug.clone()],
        None => ["--db".into(), id.file()],
    }
}

fn status(args: &TimersArgs) -> Result<u8> {
    let common = &args.common;
    let now = common.now.unwrap_or_else(Time::of_clock);
    let place = Cache::place(&env);
    let config = common.load()?.config;
    let state = place.as_deref().and_then(Path::parent);
    let eyes = Eyes::new(state, args.metrics.as_deref(), common.root(&config).as_deref());
    let spawns = common.boards(&config).is_ok_and(|ids| ids.iter().any(|id| spawns(id, &config, now)));
    let all = eyes.watchers(spawns);
    let stops = eyes.lingers() == Some(false) && all.iter().any(|w| w.is_started_by(By::User));
    let is_well = |w: &WatcherSeen| w.is_started() && !w.is_overdue(now) && !w.is_failing();
    let code = u8::from(stops || all.iter().any(|w| w.watched.is_needed && !is_well(w)));
    if common.json {
        let one = |w: &WatcherSeen| {
            json!({
                "program": w.watched.program, "every": w.watched.every, "starters": w.starters, "last": w.last(),
                "exit": w.exit(), "overdue": w.is_overdue(now),
            })
        };
        let whole = json!({
            "schema": SCHEMA, "now": now, "exit": code, "watchers": all.iter().map(one).collect::<Vec<_>>(),
        });
        print_json(&whole)?;
    } else if !common.quiet {
        let linger = "lingering is off: timers of a user stop when the last session ends; sudo loginctl enable-linger $USER\n";
        let lines = all.iter().map(|w| line(w, now)).collect::<String>();
        print(&format!("{lines}{}", if stops { linger } else { "" }))?;
    }
    Ok(code)
}

fn line(w: &WatcherSeen, now: Time) -> String {
    let how = |s: &Starter| {
        let state = match s.is_on {
            Some(true) => "on",
            Some(false) => "off",
            None => "there",
        };
        let user = s.other_user.as_deref().map(|user| format!(" of another user ({user})"));
        printable(&format!("{state}: {}{}", s.place, user.unwrap_or_default()))
    };
    let by = match w.starters.is_empty() {
        true => "nothing starts it".to_owned(),
        false => w.starters.iter().map(how).collect::<Vec<_>>().join(", "),
    };
    let last = w.last().map_or_else(
        || "no pass on record".to_owned(),
        |at| {
            let exit = w.exit().map_or_else(String::new, |exit| format!(", exit {exit}"));
            let late = if w.is_overdue(now) { " (overdue)" } else { "" };
            format!("last pass {} ago{late}{exit}", words(now.since(at)))
        },
    );
    format!("{:20} every {:4} {by}; {last}\n", w.watched.program, words(w.watched.every))
}
