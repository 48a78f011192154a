//! `watchbill timers`: has the watchers started by systemd or cron, says whether they are, and takes it away again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::doctor::look::{Eyes, cron_runs, spawns};
use super::{Common, Here, env, one_of, print, print_json};
use ::coord::opencode::Opencode;
use base::count::pick;
use base::error::{Error, Kind, Result};
use base::time::{Time, words};
use base::worker_env::{HERMES, SHARED};
use board::{BoardId, Location, discover};
use config::Config;
use logs::agents::Homes;
use logs::cache::Cache;
use ops::doctor::{StartersSeen, WatcherSeen};
use ops::report::{printable, say};
use ops::timers::install::{self, Change};
use ops::timers::shipped::{self, Wanted};
use ops::timers::{self, By, NOTIFY, Owner, Places, ROUND, SESSIONS, Starter, WATCHED};
use policy::clock::Awake;
use policy::remedy;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.timers/1";
const NAME: &str = "watchbill timers";
/// What is so where lines of a crontab are there, and nothing reads them.
const NO_DAEMON: &str = "no cron daemon runs here: nothing is started until one does";
/// Where systemd keeps the state of system units (`StateDirectory=watchbill` of hardening.conf).
const SYSTEM_STATE: &str = "/var/lib/watchbill";

fn after_help() -> String {
    let each = WATCHED.map(|w| format!("{} every {}", w.program, words(w.every))).join(", ");
    format!(
        "install starts `watchbill run` every {}. Each round looks at every board that exists at that time, unless --db or --board name some: {each}. \
         A second install changes nothing. \
         remove deletes only what install wrote.\n\n\
         Exit codes:\n  0   done, or nothing to do; status: the watchers run on time\n  1   you must run the printed commands, \
         a file exists that install did not write, or no cron daemon runs; status: heal, synthesize-distress or \
         route-blocked is not scheduled, is overdue or failed, or lingering is off\n  2   wrong usage\n  66  no such board, no systemd and no cron\n  \
         70  a bug in watchbill\n  74  disk or output failed\n  77  not permitted\n  78  bad configuration",
        words(ROUND)
    )
}

#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub(super) struct TimersArgs {
    /// The action
    pub(super) action: Action,
    /// Schedule with this [default: the systemd that answers, of the machine for root, else of this user; else cron]
    #[arg(long = "as", value_name = "WHO", value_parser = one_of(&By::ALL, whose))]
    pub(super) by: Option<By>,
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    pub(super) dry_run: bool,
    /// Let the passes write their metrics files to this folder [default: metrics in the state folder]
    #[arg(long, value_name = "DIR")]
    pub(super) metrics: Option<PathBuf>,
    /// Write the units to this folder, and print the commands to run
    #[arg(long, value_name = "DIR")]
    pub(super) unit_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Action {
    /// Write and enable units or crontab lines
    Install,
    /// Show what starts each watcher, and when it last ran
    Status,
    /// Remove what install wrote
    Remove,
}

pub(super) fn whose(by: By) -> Option<&'static str> {
    Some(match by {
        By::User => "The systemd of this user",
        By::System => "The systemd of the machine",
        By::Cron => "The crontab of this user",
    })
}

pub(super) fn run(args: &TimersArgs) -> Result<u8> {
    match args.action {
        Action::Install => install(args),
        Action::Status => status(args),
        Action::Remove => remove(args),
    }
}

fn install(args: &TimersArgs) -> Result<u8> {
    let config = args.common.load()?.config;
    let plan = Plan::of(args, &config, !config.notify.is_empty())?;
    carry_out(args, plan.by, &plan.changes, Some(&plan))
}

/// What installing changes.
pub(super) struct Plan {
    /// Who starts the watchers then.
    pub(super) by: By,
    /// What is to be changed; nothing where all is in place.
    pub(super) changes: Vec<Change>,
    folder: Option<PathBuf>,
    wanted: Wanted,
}

impl Plan {
    /// `notify`: there are people to be told.
    pub(super) fn of(args: &TimersArgs, config: &Config, notify: bool) -> Result<Plan> {
        let by = args.by.map_or_else(choose, Ok)?;
        let wanted = wanted(args, by, config, notify)?;
        let folder = folder(args, by)?;
        let changes = install::install(by, folder.as_deref(), &wanted)?;
        Ok(Plan { by, changes, folder, wanted })
    }

    /// The user who runs what is installed, where that is another one than this.
    pub(super) fn user(&self) -> Option<u32> {
        self.wanted.user.filter(|_| self.by == By::System)
    }

    /// Whether what was installed is started: there is no cron without its daemon.
    pub(super) fn is_started(&self) -> bool {
        self.by != By::Cron || cron_runs() != Some(false)
    }

    /// That no cron daemon is there to start the programs, and what else starts them. One line each.
    pub(super) fn warnings(&self) -> Vec<String> {
        let Plan { by, folder, wanted, .. } = self;
        let mut warnings = Vec::new();
        if !self.is_started() {
            warnings.push(NO_DAEMON.to_owned());
        }
        let others = timers::look(&Places::of(&env), &Owner::of(wanted.root.as_deref()), None);
        // What we wrote ourselves, and what is of another user, does the work once.
        let ours = |s: &Starter| {
            let names = shipped::timers(wanted);
            let is_written =
                |f: &PathBuf| names.iter().any(|name| f.join(name).display().to_string() == s.place);
            let in_crontab = s.round || [SESSIONS.program, NOTIFY.program].contains(&s.program);
            s.by == *by && folder.as_ref().map_or(in_crontab, is_written)
        };
        let is_double = |s: &&Starter| !ours(s) && s.is_on != Some(false) && s.other_user.is_none();
        let mut doubles: Vec<(&str, Vec<&str>)> = Vec::new();
        for s in others.iter().filter(is_double) {
            match doubles.iter_mut().find(|(place, _)| *place == s.place) {
                Some((_, programs)) => programs.push(s.program),
                None => doubles.push((&s.place, vec![s.program])),
            }
        }
        for (place, programs) in doubles {
            let is = pick(programs.len(), "is", "are");
            let programs = programs.join(", ");
            warnings.push(format!(
                "{programs} {is} started by {place} as well; take that away, or each pass is done twice"
            ));
        }
        warnings
    }
}

/// Prints warnings on standard error.
pub(super) fn complain(warnings: &[String]) {
    for what in warnings {
        let _ = say(&mut std::io::stderr().lock(), '4', NAME, what);
    }
}

fn remove(args: &TimersArgs) -> Result<u8> {
    let one = |by: By| -> Result<(By, Vec<Change>)> {
        let folder = folder(args, by)?;
        Ok((by, install::remove(by, folder.as_deref())?))
    };
    let is_root = rustix::process::geteuid().is_root();
    let mut unread = None;
    let all = match args.by {
        Some(by) => vec![one(by)?],
        // Where there is no cron there is nothing of Watchbill in it. Units of the machine are root's to remove.
        None => By::ALL
            .into_iter()
            .filter(|by| *by != By::System || is_root || args.unit_dir.is_some())
            .filter_map(|by| match one(by) {
                Err(e) if e.kind == Kind::Partial => {
                    unread = Some(e);
                    None
                }
                other => other.ok(),
            })
            .collect(),
    };
    let mut some: Vec<_> = all.into_iter().filter(|(_, changes)| !changes.is_empty()).collect();
    if some.is_empty() && unread.is_none() {
        some.push((args.by.unwrap_or(By::User), Vec::new()));
    }
    let codes =
        some.iter().map(|(by, changes)| carry_out(args, *by, changes, None)).collect::<Result<Vec<_>>>()?;
    unread.map_or(Ok(codes.into_iter().max().unwrap_or(0)), Err)
}

/// Does it, or says what would be done; 1 where commands are left to be run by hand, or nothing starts what was installed. `installed`: what
/// is installed, if anything is.
fn carry_out(args: &TimersArgs, by: By, changes: &[Change], installed: Option<&Plan>) -> Result<u8> {
    let common = &args.common;
    let done = Done::of(args, by, changes)?;
    let warnings = installed.map_or_else(Vec::new, Plan::warnings);
    let is_idle = !args.dry_run && installed.is_some_and(|plan| !plan.is_started());
    let code = done.code().max(u8::from(is_idle));
    if common.json {
        let whole = json!({
            "schema": SCHEMA, "as": by, "dry_run": args.dry_run, "changes": changes, "left": done.left, "why": done.why,
            "warnings": warnings, "exit": code,
        });
        print_json(&whole)?;
    } else {
        print(&done.text(args, changes))?;
    }
    complain(&warnings);
    Ok(code)
}

/// What became of changes.
#[derive(Default)]
pub(super) struct Done {
    /// Commands that are still to be run by hand.
    pub(super) left: Vec<String>,
    /// Why they are.
    pub(super) why: Option<String>,
}

impl Done {
    /// Carries them out, but for a dry run.
    pub(super) fn of(args: &TimersArgs, by: By, changes: &[Change]) -> Result<Done> {
        if args.dry_run {
            return Ok(Done::default());
        }
        let runs = changes.iter().any(|c| matches!(c, Change::Run { .. }));
        let is_there = args.unit_dir.is_none() && runs && install::answers(by);
        let (left, why) = install::carry_out(changes, is_there)?;
        let place = Cache::place(&env);
        let is_crontab = |c: &&Change| matches!(c, Change::Crontab { .. });
        if let Some((change, state)) =
            changes.iter().find(is_crontab).zip(place.as_deref().and_then(Path::parent))
        {
            let now = args.common.now.unwrap_or_else(Time::of_clock);
            install::note_installed(state, (!change.crontab_lines().is_empty()).then_some(now));
        }
        Ok(Done { left, why })
    }

    /// 1 where commands are left.
    pub(super) fn code(&self) -> u8 {
        u8::from(!self.left.is_empty())
    }

    /// What was done or would be, line by line, and what is left.
    pub(super) fn text(&self, args: &TimersArgs, changes: &[Change]) -> String {
        let (common, left) = (&args.common, &self.left);
        let mut out = String::new();
        let is_left = |c: &Change| matches!(c, Change::Run { command } if left.iter().any(|l| l.contains(&command.join(" "))));
        for change in changes.iter().filter(|c| !is_left(c) && !common.quiet) {
            let said = if args.dry_run { format!("would {change}") } else { change.done() };
            // Writing to a text never fails.
            let _ = writeln!(out, "{}", printable(&said));
            if let Change::Write { text, .. } | Change::Crontab { text } = change
                && (common.verbose || args.dry_run)
            {
                out.extend(text.lines().map(|line| format!("    {}\n", printable(line))));
            }
        }
        if changes.is_empty() && !common.quiet {
            out.push_str("nothing to do\n");
        }
        if !left.is_empty() {
            let why = self.why.as_deref().unwrap_or("systemd does not answer here");
            let gap = if common.quiet { "" } else { "\n" };
            let _ = writeln!(out, "{gap}{}. Still to be run:\n", printable(why));
            out.extend(left.iter().map(|command| format!("    {command}\n")));
        }
        out
    }
}

/// What can start something here.
fn choose() -> Result<By> {
    let systemd = if rustix::process::geteuid().is_root() { By::System } else { By::User };
    if install::answers(systemd) {
        return Ok(systemd);
    }
    install::present().map(|_| By::Cron).map_err(|e| {
        // Cron is here, and its crontab is not to be written.
        if e.kind == Kind::Partial {
            return e;
        }
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
fn wanted(args: &TimersArgs, by: By, config: &Config, notify: bool) -> Result<Wanted> {
    let common = &args.common;
    // A timer that watches nothing would fail every two minutes; better now.
    let ids = common.boards(config)?;
    let program = this_program()?;
    if program.to_string_lossy().ends_with(" (deleted)") {
        return Err(
            Error::new(Kind::NoInput, program.display(), "was replaced while it runs").hint("start it again")
        );
    }
    let whole =
        |path: &Path| std::path::absolute(path).map_err(|e| Error::new(Kind::Usage, path.display(), e));
    let text = |path: &Path| whole(path).map(|p| p.display().to_string());
    let mut boards = Vec::new();
    let located = |db: &Path| match Location::read(db.as_os_str()) {
        Ok(Location::Server(address)) => Ok(address),
        _ => text(db),
    };
    for db in &common.db {
        boards.extend(["--db".to_owned(), located(db)?]);
    }
    for slug in &common.board {
        boards.extend(["--board".to_owned(), slug.clone()]);
    }
    let given = common.hermes_root.as_deref().or(config.board.hermes_root.as_deref());
    let on_server = ids.iter().any(|id| id.file().is_none());
    if boards.is_empty() && given.is_none() {
        // The first one first; see discover.
        let pinned = [(HERMES.db, "--db"), (SHARED.db, "--db"), ("HERMES_KANBAN_BOARD", "--board")];
        if let Some((flag, value)) = pinned.iter().find_map(|(name, flag)| Some((*flag, env(name)?))) {
            boards
                .extend([flag.to_owned(), if flag == "--db" { located(Path::new(&value))? } else { value }]);
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
    let mut variables: Vec<(String, String)> = Vec::new();
    if let Some(file) = &common.config {
        variables.push(("WATCHBILL_CONFIG".into(), text(file)?));
    }
    // The stamps in the logs of agents are of the zone that is set here.
    let mut pinned = vec!["TZ"];
    if by != By::System {
        pinned.extend(["XDG_CONFIG_HOME", "XDG_STATE_HOME"]);
        // Where the sessions of agents lie. No password: it would stand in a crontab.
        pinned.extend(Homes::variables().chain(Opencode::PLACES));
    }
    variables.extend(pinned.into_iter().filter_map(|name| Some((name.to_owned(), env(name)?))));
    variables.extend(config::variables(&std::env::vars_os().collect()));
    let mut passwords = None;
    if on_server {
        variables.extend(env("PGUSER").map(|role| ("PGUSER".into(), role)));
        let named = env("PGPASSFILE").map(|file| whole(Path::new(&file))).transpose()?;
        match by {
            // What is not there is not loaded, and a unit that is told to load it does not start.
            By::System => {
                // Root's units have no home, and so not its configuration.
                let file = if common.config.is_none() {
                    config::user_file(&std::env::vars_os().collect())
                } else {
                    None
                };
                let file = file.filter(|file| file.is_file() && !Path::new(config::SYSTEM_FILE).exists());
                variables.extend(file.map(|file| ("WATCHBILL_CONFIG".into(), file.display().to_string())));
                let own = || Some(Path::new(&env("HOME")?).join(".pgpass"));
                passwords = named.or_else(own).filter(|file| file.is_file());
            }
            By::User | By::Cron => {
                variables.extend(named.map(|file| ("PGPASSFILE".into(), file.display().to_string())))
            }
        }
    }
    // One that is not there is not what is watched, and named in a timer it would be asked for.
    let is_meant = |root: &PathBuf| given.is_some() || root.exists();
    let root = discover::root(given, &env).filter(is_meant).map(|root| whole(&root)).transpose()?;
    use std::os::unix::fs::MetadataExt;
    let now = common.now.unwrap_or_else(Time::of_clock);
    let with_sessions = ids.iter().filter(|id| spawns(id, config, now)).map(named_board);
    let sessions = with_sessions.collect::<Vec<_>>();
    let owner = ids.first().and_then(|id| match id.file() {
        Some(file) => file.metadata().ok().map(|m| m.uid()),
        // Nobody here owns it.
        None => Some(rustix::process::geteuid().as_raw()),
    });
    let mut writable: Vec<PathBuf> =
        ids.iter().filter_map(BoardId::folder).map(|folder| whole(&folder)).collect::<Result<_>>()?;
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
        notify,
        // Who owns the board runs the workers.
        user: owner.filter(|uid| *uid != 0),
        writable,
        on_server,
        passwords,
    };
    wanted.check()?;
    Ok(wanted)
}

/// This executable under its own name: one that is several programs, each by a link, is `watchbill` by one of them.
fn this_program() -> Result<PathBuf> {
    const NAME: &str = "watchbill";
    let exe = std::env::current_exe().map_err(|e| Error::io("this executable", &e))?;
    if exe.file_name().is_some_and(|name| name == NAME) {
        return Ok(exe);
    }
    let called = std::env::args_os().next().map(PathBuf::from).filter(|called| called.is_absolute());
    let beside = exe.parent().map(|dir| dir.join(NAME));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|dir| dir.join(NAME)).filter(|link| link.is_absolute());
    let is_ours = |link: &PathBuf| {
        link.file_name().is_some_and(|name| name == NAME) && link.canonicalize().is_ok_and(|at| at == exe)
    };
    let link = called.into_iter().chain(in_path).chain(beside).find(is_ours);
    Ok(link.unwrap_or(exe))
}

/// The flag that names one board to a program that works on one.
fn named_board(id: &BoardId) -> [String; 2] {
    match &id.slug {
        Some(slug) => ["--board".into(), slug.clone()],
        None => ["--db".into(), id.address()],
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
    let awake = |here: Here| Awake::of(&Cache::open(place.clone()), &here.host, now);
    let awake = Here::look(common, &config).map_or_else(|_| Awake::default(), awake);
    let all = eyes.watchers(spawns, !config.notify.is_empty(), awake);
    let warnings = warnings(&all, eyes.starters(), now);
    let is_well = |w: &WatcherSeen| w.is_started() && !w.is_overdue(now) && !w.is_failing();
    let code = u8::from(!warnings.is_empty() || all.iter().any(|w| w.watched.is_needed && !is_well(w)));
    if common.json {
        let one = |w: &WatcherSeen| {
            json!({
                "program": w.watched.program, "every": w.watched.every, "starters": w.starters, "last": w.last(now),
                "exit": w.exit(), "overdue": w.is_overdue(now),
            })
        };
        let whole = json!({
            "schema": SCHEMA, "now": now, "exit": code, "watchers": all.iter().map(one).collect::<Vec<_>>(),
            "warnings": warnings,
        });
        print_json(&whole)?;
    } else if !common.quiet {
        let lines = all.iter().map(|w| line(w, now));
        print(&lines.chain(warnings.iter().map(|what| format!("{what}\n"))).collect::<String>())?;
    }
    Ok(code)
}

/// What keeps all that is installed from being started, or soon will.
fn warnings(all: &[WatcherSeen], seen: StartersSeen, now: Time) -> Vec<String> {
    let mut warnings = Vec::new();
    if seen.lingers == Some(false) && all.iter().any(|w| w.is_started_by(By::User)) {
        let linger = "lingering is off: timers of a user stop when the last session ends; sudo loginctl enable-linger $USER";
        warnings.push(linger.to_owned());
    }
    // Whatever its process is called: where passes come it runs.
    if all.iter().any(|w| w.is_stuck(seen.cron_runs) && !w.came(now)) {
        warnings.push(format!("{NO_DAEMON}; {}", remedy::NO_CRON));
    }
    warnings
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
        true => "not scheduled".to_owned(),
        false => w.starters.iter().map(how).collect::<Vec<_>>().join(", "),
    };
    let last = w.last(now).map_or_else(
        || match w.ahead(now) {
            Some(at) => format!("no pass since the clock was set back (one on record of {at}, overdue)"),
            None => match w.installed().filter(|_| w.is_overdue(now)) {
                Some(since) => {
                    format!("no pass on record, installed {} ago (overdue)", words(now.since(since)))
                }
                None => "no pass on record".to_owned(),
            },
        },
        |at| {
            let exit = w.exit().map_or_else(String::new, |exit| format!(", exit {exit}"));
            let late = if w.is_overdue(now) { " (overdue)" } else { "" };
            format!("last pass {} ago{late}{exit}", words(now.since(at)))
        },
    );
    format!("{:20} every {:4} {by}; {last}\n", w.watched.program, words(w.watched.every))
}
