//! What starts the watchers: timers of systemd and lines of crontabs, as they are found on this machine.

pub mod install;
mod line;
pub mod shipped;
mod tool;
mod units;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use self::tool::Tool;
use base::for_each_watcher;
use base::named_enum::named_enum;
use base::registry::NAMES;
use base::time::Time;
use watch::{self, Spec, Watcher};

/// A program that timers start, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched {
    /// Which.
    pub program: &'static str,
    /// Seconds between two passes, as the units and the crontab have it.
    pub every: i64,
    /// Whether work waits for ever where nothing starts it: it changes work, or ends what another one leaves to it.
    pub is_needed: bool,
    /// Whether a pass leaves a record by its `--metrics`; else only systemd knows when it was.
    pub is_recorded: bool,
    /// The command that does a pass.
    pub command: &'static str,
    /// What is not done where nothing starts it.
    pub without: &'static str,
    /// The page that its timer has it make by `--html`, in the folder of the state file.
    pub page: Option<&'static str>,
    /// Its service and its timer, as they ship.
    units: [&'static str; 2],
}

macro_rules! units {
    ($program:literal) => {
        [
            include_str!(concat!("../../../contrib/systemd/watchbill-", $program, ".service")),
            include_str!(concat!("../../../contrib/systemd/watchbill-", $program, ".timer")),
        ]
    };
}

macro_rules! watched {
    ($($module:ident::$watcher:ident, $constant:ident = $program:literal, $flags:ident;)*) => {
        /// All watchers, in the order of a round.
        pub const WATCHED: [Watched; NAMES.len()] =
            [$(Watched::of($program, watch::$module::$watcher::SPEC, units!($program))),*];
    };
}
for_each_watcher!(watched);

/// Seconds between two rounds of `watchbill run`: the shortest interval of a watcher.
pub const ROUND: i64 = shortest();

const fn shortest() -> i64 {
    let (mut least, mut i) = (WATCHED[0].every, 1);
    while i < WATCHED.len() {
        if WATCHED[i].every < least {
            least = WATCHED[i].every;
        }
        i += 1;
    }
    least
}

/// `coord detect --record`, by the name of its unit: only where agent sessions are spawned. cron starts it once a minute.
pub const SESSIONS: Watched = Watched {
    program: "coord-detect",
    every: 30,
    is_needed: false,
    is_recorded: false,
    command: "coord detect",
    without: "claims of agent sessions run out while they work, and no card tells what is wrong with one",
    page: None,
    units: units!("coord-detect"),
};

/// `watchbill notify`, by the name of its unit: only where the configuration names a receiver.
pub const NOTIFY: Watched = Watched {
    program: "notify",
    every: ROUND,
    is_needed: true,
    is_recorded: true,
    command: "watchbill notify",
    without: "nobody is told what needs a person",
    page: None,
    units: units!("notify"),
};

/// `watchbill run`, by the name of its unit: all watchers, one after the other. What it starts are [`WATCHED`].
pub const RUN: Watched = Watched {
    program: "run",
    every: ROUND,
    is_needed: true,
    is_recorded: true,
    command: "watchbill run",
    without: "no watcher makes a pass",
    page: None,
    units: units!("run"),
};

impl Watched {
    const fn of(program: &'static str, spec: Spec, units: [&'static str; 2]) -> Watched {
        let Spec { acts, every, without, page, .. } = spec;
        Watched { program, every, is_needed: acts, is_recorded: true, command: program, without, page, units }
    }

    /// Seconds after which a pass is missing: three were left out, and the machine had a minute more.
    pub fn overdue(self) -> i64 {
        3 * self.every + 60
    }

    /// When a round has it make its next pass, where that is not now. A last pass that lies in the future says nothing.
    pub fn next(self, last: Option<Time>, now: Time) -> Option<Time> {
        let last = last.filter(|at| self.every > ROUND && *at <= now)?;
        Some(last.plus(self.every)).filter(|next| *next > now)
    }
}

named_enum! {
    /// What starts programs.
    pub enum By {
        /// Timers of the user's own systemd.
        User = "user",
        /// Timers of the machine's systemd.
        System = "system",
        /// A crontab.
        Cron = "cron",
    }
}

/// Something that starts one watcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Starter {
    /// The watcher.
    pub program: &'static str,
    /// What starts it.
    pub by: By,
    /// The file that says so; `crontab` for the one of this user.
    pub place: String,
    /// Whether it does so now; `None` where nobody could be asked.
    pub is_on: Option<bool>,
    /// When it last did, as systemd itself remembers it.
    pub last: Option<Time>,
    /// How that ended, as systemd itself remembers it.
    pub ended: Option<Ended>,
    /// The user it runs as, where that is another one than the user of these boards.
    pub other_user: Option<String>,
    /// The file its `--metrics` names.
    pub metrics: Option<PathBuf>,
    /// Whether it starts a round of all watchers (`watchbill run`).
    pub round: bool,
    /// Since when it is there as it is, at the latest, where that is known.
    #[serde(skip)]
    pub since: Option<Time>,
}

impl Starter {
    /// One of which nobody was asked yet.
    fn of(job: line::Job, by: By, place: String) -> Starter {
        Starter {
            program: job.program,
            by,
            place,
            is_on: None,
            last: None,
            ended: None,
            other_user: None,
            metrics: job.metrics,
            round: job.round,
            since: None,
        }
    }
}

/// How the last start of a service ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// `Result=` of systemd: `success`, `exit-code`, `timeout`, `resources` and others (systemd.exec(5)).
    pub result: String,
    /// The exit code of the program, or one of systemd's own from 200 on; 0 where it was never started.
    pub status: u8,
}

/// Whose boards are watched. A timer of another user does not watch them, whatever program it starts.
#[derive(Debug, Clone)]
pub struct Owner {
    /// This user and the owner of the Hermes root.
    users: Vec<u32>,
    /// The Hermes root.
    root: Option<PathBuf>,
}

impl Owner {
    /// This user, and who owns the Hermes root.
    pub fn of(root: Option<&Path>) -> Owner {
        use std::os::unix::fs::MetadataExt;
        let me = rustix::process::geteuid().as_raw();
        let owner = root.and_then(|r| r.metadata().ok()).map(|m| m.uid());
        Owner { users: std::iter::once(me).chain(owner).collect(), root: root.map(Path::to_path_buf) }
    }

    /// The other user a program runs as: `user` by name or number, with `home` as its `HERMES_HOME`. `None` where it is this
    /// one, or works on the same root.
    fn other(&self, user: &str, home: Option<&str>) -> Option<String> {
        let same_root = home.is_some_and(|home| self.root.as_deref() == Some(Path::new(home)));
        let is_one = |uid: &u32| uid.to_string() == user || name_of(*uid).as_deref() == Some(user);
        (!same_root && !self.users.iter().any(is_one)).then(|| user.to_owned())
    }
}

/// The name of a user, by the name service of this machine.
pub(crate) fn name_of(uid: u32) -> Option<String> {
    let said = Tool::new("id").args(&["-un", &uid.to_string()]).said()?;
    Some(said.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Whether this user's systemd outlives the user's sessions; `None` where nobody can say.
pub fn lingers() -> Option<bool> {
    let me = rustix::process::getuid().as_raw();
    let asked =
        Tool::new("loginctl").args(&["show-user", &me.to_string(), "--property=Linger", "--value"]).said();
    // logind knows only users who are logged in or linger; the mark of lingering is a file (loginctl(1)).
    let marked = || Some(Path::new("/var/lib/systemd/linger").join(name_of(me)?).exists());
    asked.map(|said| said.trim() == "yes").or_else(|| marked().filter(|there| *there))
}

/// What the daemons are called that start programs by a crontab.
const CRON_DAEMONS: [&str; 6] = ["cron", "crond", "fcron", "dcron", "bcron-sched", "systemd-cron"];

/// Whether a cron daemon runs; `None` where processes of root are hidden from us. `proc`: where the kernel shows processes.
pub fn cron_runs(proc: &Path) -> Option<bool> {
    let name = |folder: &Path| std::fs::read_to_string(folder.join("comm")).ok();
    name(&proc.join("1"))?;
    let all = std::fs::read_dir(proc).ok()?.flatten().filter_map(|entry| name(&entry.path()));
    Some(all.into_iter().any(|name| CRON_DAEMONS.contains(&name.trim_end())))
}

/// Where to look.
pub struct Places {
    /// Folders of user units, the strongest first.
    pub(crate) user: Vec<PathBuf>,
    /// Folders of system units.
    pub(crate) system: Vec<PathBuf>,
    /// `/etc/crontab` and the files of `/etc/cron.d`.
    pub(crate) crontabs: Vec<PathBuf>,
    /// For `%h` and `$HOME`.
    pub(crate) home: Option<PathBuf>,
}

impl Places {
    /// As systemd.unit(5), the XDG base directories and cron(8) have them.
    pub fn of(env: &dyn Fn(&str) -> Option<String>) -> Places {
        let (config, data) =
            (own(env, "XDG_CONFIG_HOME", ".config"), own(env, "XDG_DATA_HOME", ".local/share"));
        let shared = |kind: &str| {
            let roots = ["/etc", "/run", "/usr/local/lib", "/usr/lib"];
            roots.map(|root| Path::new(root).join("systemd").join(kind)).to_vec()
        };
        let own = [config, data].into_iter().flatten().map(|p| p.join("systemd/user"));
        let more = std::fs::read_dir("/etc/cron.d").into_iter().flatten().flatten().map(|e| e.path());
        Places {
            user: own.chain(shared("user")).collect(),
            system: shared("system"),
            crontabs: std::iter::once(PathBuf::from("/etc/crontab")).chain(more).collect(),
            home: env("HOME").map(PathBuf::from),
        }
    }
}

/// A folder of the XDG base directories: what the variable says, where that is a whole path, else a place in the home.
fn own(env: &dyn Fn(&str) -> Option<String>, variable: &str, rest: &str) -> Option<PathBuf> {
    let set = env(variable).map(PathBuf::from).filter(|p| p.is_absolute());
    set.or_else(|| Some(PathBuf::from(env("HOME")?).join(rest)))
}

/// When the file of this name, or the link, was last changed or put there.
fn changed(path: &Path) -> Option<Time> {
    use std::os::unix::fs::MetadataExt;
    path.symlink_metadata().ok().map(|m| Time(m.ctime()))
}

/// The folder of all crontabs, whose time changes with each of them. The file of a user is hidden from that user.
const CRONTABS: [&str; 2] = ["/var/spool/cron/crontabs", "/var/spool/cron"];

/// Everything on this machine that starts a watcher, as far as this user can see it. `installed`: when the lines of this user's crontab
/// were written, where that is known.
pub fn look(places: &Places, owner: &Owner, installed: Option<Time>) -> Vec<Starter> {
    let mut all = units::look(By::User, &places.user, places.home.as_deref(), owner);
    // A system unit's %h is another home; what it starts names whole paths or none.
    all.extend(units::look(By::System, &places.system, None, owner));
    let written = || installed.or_else(|| CRONTABS.iter().find_map(|folder| changed(Path::new(folder))));
    let own = Tool::new("crontab").args(&["-l"]).said();
    let own = own.map(|text| ("crontab".to_owned(), text, false, written()));
    let file =
        |p: &PathBuf| Some((p.display().to_string(), base::untrusted_file::text(p)?, true, changed(p)));
    let files = places.crontabs.iter().filter_map(file);
    for (place, text, has_users, since) in own.into_iter().chain(files) {
        for line in text.lines() {
            for job in line::jobs(line, places.home.as_deref()) {
                let user = line::user(line).filter(|_| has_users);
                let other_user = user.and_then(|user| owner.other(user, job.root.as_deref()));
                let starter = Starter::of(job, By::Cron, place.clone());
                all.push(Starter { is_on: Some(true), other_user, since, ..starter });
            }
        }
    }
    all.sort_by_key(|s| (WATCHED.iter().position(|w| w.program == s.program), s.by));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cron_daemon_is_known_by_its_name() {
        let proc = tempfile::tempdir().unwrap();
        let process = |pid: &str, name: &str| {
            std::fs::create_dir(proc.path().join(pid)).unwrap();
            std::fs::write(proc.path().join(pid).join("comm"), name).unwrap();
        };
        process("77", "cron\n");
        assert_eq!(cron_runs(proc.path()), None, "whose processes are hidden, nobody knows");
        process("1", "systemd\n");
        assert_eq!(cron_runs(proc.path()), Some(true));
        std::fs::write(proc.path().join("77/comm"), "crontab\n").unwrap();
        assert_eq!(cron_runs(proc.path()), Some(false));
    }

    #[test]
    fn a_watcher_waits_for_its_interval_and_never_for_a_record_from_the_future() {
        let one = |name: &str| WATCHED.into_iter().find(|w| w.program == name).unwrap();
        let (heal, page, now) = (one("heal"), one("budget-check"), Time(1_000_000));
        for (watched, ago, next) in [
            (heal, Some(1), None),
            (page, None, None),
            (page, Some(0), Some(900)),
            (page, Some(899), Some(1)),
            (page, Some(900), None),
            (page, Some(-1), None),
        ] {
            let last = ago.map(|ago| now.plus(-ago));
            assert_eq!(watched.next(last, now), next.map(|n| now.plus(n)), "{} {ago:?}", watched.program);
        }
        assert_eq!(ROUND, 120);
    }
}
