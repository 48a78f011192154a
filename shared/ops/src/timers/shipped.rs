//! The units and the crontab as they ship, with what is so on this machine put in. Pure.

use std::path::{Path, PathBuf};

use super::{By, NOTIFY, RUN, SESSIONS, WATCHED, Watched};
use base::error::{Error, Kind, Result};
use board::CREDENTIAL;
use card::shell_word;

/// How every file of Watchbill begins: only what begins so is ever replaced or taken away.
pub(crate) const MARK: &str = "# Written by `watchbill timers install`";

const BEGIN: &str = "# watchbill timers: begin";
const END: &str = "# watchbill timers: end";

/// Beside the units of the whole system.
const HARDENING: &str = "watchbill-.service.d/hardening.conf";
/// The way of [`SESSIONS`] to the servers of this machine.
const NETWORK: &str = "watchbill-coord-detect.service.d/network.conf";
/// The way of [`NOTIFY`] to its targets.
const TARGETS: &str = "watchbill-notify.service.d/network.conf";
/// The way of all units to boards on servers. By its name it is read after the others, whatever their folders.
const SERVER: &str = "watchbill-.service.d/server.conf";

/// It does not lie beside the others: those are for everybody.
const REACHES: &str = "\
# Boards on servers are reached over the network. Read after hardening.conf, which takes it away, and after network.conf, which gives
# less of it (systemd goes by the files' names).

[Service]
PrivateNetwork=no
# What was said before is added to; an empty line says it anew. Names are looked up by the last two families.
RestrictAddressFamilies=
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
IPAddressDeny=
IPAddressAllow=
";

macro_rules! shipped {
    ($name:literal) => {
        include_str!(concat!("../../../../contrib/systemd/", $name))
    };
}

const CRONTAB: &str = include_str!("../../../../contrib/cron/watchbill");

/// What is so on this machine.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The running executable.
    pub program: PathBuf,
    /// The Hermes root, which is pinned; `None` where none is known.
    pub root: Option<PathBuf>,
    /// Where the state file lies.
    pub state: PathBuf,
    /// Where each pass leaves its `--metrics`.
    pub metrics: PathBuf,
    /// Further variables that were set when this was asked for.
    pub variables: Vec<(String, String)>,
    /// Flags that say which boards.
    pub boards: Vec<String>,
    /// For each board on which sessions are spawned the flags that name it.
    pub sessions: Vec<[String; 2]>,
    /// Whether the configuration names a receiver.
    pub notify: bool,
    /// The user a system unit runs as; `None` is root.
    pub user: Option<u32>,
    /// Folders a system unit must be able to write.
    pub writable: Vec<PathBuf>,
    /// Whether a board is on a server.
    pub on_server: bool,
    /// The file with passwords of servers that a system unit is given.
    pub passwords: Option<PathBuf>,
}

impl Wanted {
    /// Whether a unit or a crontab line can hold all of it: neither has a way to quote a line break, and what is not UTF-8
    /// would be written as another name.
    ///
    /// # Errors
    /// Names the first value that cannot be written.
    pub fn check(&self) -> Result<()> {
        let paths = [("program", &self.program), ("state folder", &self.state), ("--metrics", &self.metrics)];
        let root = self.root.iter().map(|path| ("HERMES_HOME", path));
        let folders = self.writable.iter().map(|path| ("board folder", path));
        let passwords = self.passwords.iter().map(|path| ("PGPASSFILE", path));
        let paths = paths.into_iter().chain(root).chain(folders).chain(passwords);
        let paths = paths.map(|(name, path)| (name, path.to_str().unwrap_or("\u{fffd}")));
        let variables = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let boards = self.boards.iter().chain(self.sessions.iter().flatten());
        let boards = boards.map(|word| ("board", word.as_str()));
        let wrong = |text: &str| text.contains(|c: char| c.is_control() || c == '\u{fffd}');
        match paths.chain(variables).chain(boards).find(|(_, text)| wrong(text)) {
            None => Ok(()),
            Some((name, text)) => {
                let what = format!("{text:?} has a control character or is not UTF-8; no timer can hold it");
                Err(Error::new(Kind::Usage, name, what).hint("rename the folder or name another one"))
            }
        }
    }

    fn variables(&self) -> Vec<(String, String)> {
        let root = self.root.iter().map(|root| ("HERMES_HOME".to_owned(), root.display().to_string()));
        root.chain(self.variables.iter().cloned()).collect()
    }

    /// What is to be started.
    fn watched(&self) -> impl Iterator<Item = Watched> {
        let sessions = (!self.sessions.is_empty()).then_some(SESSIONS);
        std::iter::once(RUN).chain(sessions).chain(self.notify.then_some(NOTIFY))
    }

    /// The commands that do one pass: one, or one for each board with sessions.
    fn commands(&self, watched: Watched) -> Vec<Vec<String>> {
        if watched.program == NOTIFY.program {
            let file = self.metrics.join(format!("{}.prom", NOTIFY.program));
            return vec![self.words(NOTIFY, &file)];
        }
        if watched.program != SESSIONS.program {
            return vec![self.words(RUN, &self.metrics)];
        }
        let one = |board: &[String; 2]| {
            let [flag, name] = board.each_ref().map(String::as_str);
            let words = ["coord", "detect", flag, name, "--record", "-q"].map(str::to_owned);
            std::iter::once(self.program.display().to_string()).chain(words).collect()
        };
        self.sessions.iter().map(one).collect()
    }

    /// The words of the command of `watchbill` that does one pass over all boards.
    fn words(&self, watched: Watched, metrics: &Path) -> Vec<String> {
        let mut words = vec![self.program.display().to_string(), watched.program.to_owned()];
        words.extend(self.boards.iter().cloned());
        words.extend(["--metrics".to_owned(), metrics.display().to_string()]);
        words
    }
}

/// The names of the timers.
pub fn timers(wanted: &Wanted) -> Vec<String> {
    wanted.watched().map(|w| format!("watchbill-{}.timer", w.program)).collect()
}

/// What was written and is needed no more: what an earlier version wrote in the place of [`RUN`], a service and a timer for each watcher; and the
/// way to servers.
pub(crate) fn unneeded(by: By, wanted: &Wanted) -> Vec<PathBuf> {
    let old = WATCHED.into_iter().flat_map(|w| ["service", "timer"].map(|end| unit(w.program, end)));
    let server = (by == By::System && !wanted.on_server).then(|| SERVER.into());
    old.chain(server).collect()
}

/// The name of every file that may have been written below the folder of units.
pub(crate) fn names(by: By) -> Vec<PathBuf> {
    let all = [RUN].into_iter().chain(WATCHED).chain([SESSIONS, NOTIFY]);
    let units = all.flat_map(|w| ["service", "timer"].map(|end| unit(w.program, end)));
    let beside =
        [HARDENING, NETWORK, TARGETS, SERVER].into_iter().filter(|_| by == By::System).map(PathBuf::from);
    units.chain(beside).collect()
}

fn unit(program: &str, end: &str) -> PathBuf {
    PathBuf::from(format!("watchbill-{program}.{end}"))
}

/// Every file that is to be there, in the order of [`names`], and what it says.
pub(crate) fn units(by: By, wanted: &Wanted) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for watched in wanted.watched() {
        let [service, timer] = watched.units;
        let text = self::service(service, watched, by, wanted);
        all.push((unit(watched.program, "service"), marked(&text)));
        all.push((unit(watched.program, "timer"), marked(timer)));
    }
    if by == By::System {
        all.push((HARDENING.into(), marked(shipped!("watchbill-.service.d/hardening.conf"))));
        let network = || (NETWORK.into(), marked(shipped!("watchbill-coord-detect.service.d/network.conf")));
        all.extend((!wanted.sessions.is_empty()).then(network));
        let targets = || (TARGETS.into(), marked(shipped!("watchbill-notify.service.d/network.conf")));
        all.extend(wanted.notify.then(targets));
        all.extend(wanted.on_server.then(|| (SERVER.into(), marked(&reaches(wanted)))));
    }
    all
}

/// [`REACHES`], and the passwords. systemd reads them: neither the user of a unit nor what is taken from root must be able to.
fn reaches(wanted: &Wanted) -> String {
    let path = wanted.passwords.iter().map(|path| path.display().to_string().replace('%', "%%"));
    let given = path.map(|path| format!("LoadCredential={CREDENTIAL}:{path}\n"));
    format!("{REACHES}{}", given.collect::<String>())
}

fn marked(text: &str) -> String {
    format!("{MARK}. `watchbill timers remove` takes it away. Changes belong into `systemctl edit`.\n{text}")
}

fn service(shipped: &str, watched: Watched, by: By, wanted: &Wanted) -> String {
    let mut out: Vec<String> = Vec::new();
    for line in shipped.lines() {
        if line.starts_with("Environment=") {
            let variables = wanted.variables().into_iter();
            out.extend(
                variables.map(|(name, value)| format!("Environment={}", quoted(&format!("{name}={value}")))),
            );
        } else if line.starts_with("ExecStart=") {
            // What is said above it is about where programs are looked for.
            while out.last().is_some_and(|l| l.starts_with('#')) {
                out.pop();
            }
            for words in wanted.commands(watched) {
                let words = words.iter().map(|w| quoted(w).replace('$', "$$"));
                out.push(format!("ExecStart={}", words.collect::<Vec<_>>().join(" ")));
            }
            if by == By::System {
                out.extend(wanted.user.map(|user| format!("User={user}")));
                let folders = wanted.writable.iter();
                out.extend(
                    folders.map(|f| format!("ReadWritePaths={}", quoted(&format!("-{}", f.display())))),
                );
            }
        } else {
            out.push(line.to_owned());
        }
    }
    out.join("\n") + "\n"
}

/// A word as a unit has it (systemd.syntax(7)): quoted where it must be, and `%` does not begin a specifier.
fn quoted(word: &str) -> String {
    let word = word.replace('%', "%%");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:,+@%$".contains(c);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => word,
        false => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// A crontab with our block in it, at its end, in the place of an earlier one.
///
/// # Errors
/// The earlier one has no end.
pub(crate) fn crontab(old: &str, wanted: &Wanted) -> Result<String> {
    let mut text = without(old)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!(
        "{BEGIN}. `watchbill timers remove` takes this away, and install writes it anew.\n"
    ));
    let set = wanted.variables().into_iter().map(|(name, value)| format!("{name}={} ", shell_word(&value)));
    let set = set.collect::<String>();
    for watched in wanted.watched() {
        let job = job_of(watched);
        // The shipped line has the command between these two.
        let (before, rest) = job.split_once("out=$(").unwrap_or((job, ""));
        let after = rest.split_once(" 2>&1)").map_or("", |(_, after)| after);
        for words in wanted.commands(watched) {
            let words = words.iter().map(|w| shell_word(w)).collect::<Vec<_>>().join(" ");
            let command = format!("{set}{words}").replace('%', "\\%");
            text.push_str(&format!("{before}out=$({command} 2>&1){after}\n"));
        }
    }
    text.push_str(&format!("{END}\n"));
    Ok(text)
}

/// Our lines of a crontab.
pub(crate) fn block(crontab: &str) -> Vec<&str> {
    let ours = crontab.lines().skip_while(|line| !line.starts_with(BEGIN)).skip(1);
    ours.take_while(|line| *line != END).collect()
}

/// The shipped line of a program; all but that of [`RUN`] stand behind a `#`.
fn job_of(watched: Watched) -> &'static str {
    let begins = |l: &str| l.starts_with(|c: char| c == '*' || c.is_ascii_digit());
    let lines = CRONTAB.lines().map(|l| l.strip_prefix('#').unwrap_or(l)).filter(|l| begins(l));
    let starts = |l: &&str| {
        let jobs = super::line::jobs(l, None);
        match watched.program == RUN.program {
            true => jobs.iter().any(|job| job.round),
            false => jobs.iter().any(|job| !job.round && job.program == watched.program),
        }
    };
    lines.into_iter().find(starts).unwrap_or("")
}

/// A crontab without our block.
///
/// # Errors
/// The block has no end, so that nobody knows which of the lines behind its first one are ours.
pub(crate) fn without(crontab: &str) -> Result<String> {
    let (mut kept, mut is_ours, mut has_end) = (String::new(), false, true);
    for line in crontab.split_inclusive('\n') {
        let begins = line.starts_with(BEGIN);
        has_end &= !(begins && is_ours);
        is_ours |= begins;
        if !is_ours {
            kept.push_str(line);
        }
        is_ours &= !line.starts_with(END);
    }
    if is_ours || !has_end {
        let what = format!(
            "no line `{END}` follows the line `{BEGIN}`, so lines of yours may be among ours; nothing was done"
        );
        return Err(Error::new(Kind::Partial, "crontab", what).hint(
            "with crontab -e, write that line below the last line of Watchbill, or delete those of Watchbill",
        ));
    }
    Ok(kept)
}

/// Where systemd looks for what is written here.
pub fn folder(by: By, env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    match by {
        By::System => Some(Path::new("/etc/systemd/system").to_path_buf()),
        By::User => super::own(env, "XDG_CONFIG_HOME", ".config").map(|p| p.join("systemd/user")),
        By::Cron => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::line;
    use super::*;

    fn wanted(program: &str, root: &str) -> Wanted {
        Wanted {
            program: program.into(),
            root: Some(root.into()),
            state: "/home/anna/state".into(),
            metrics: "/home/anna/state/metrics".into(),
            variables: vec![("WATCHBILL_CONFIG".into(), "/home/anna/my config.toml".into())],
            boards: Vec::new(),
            sessions: Vec::new(),
            notify: false,
            user: Some(1_000),
            writable: vec![root.into()],
            on_server: false,
            passwords: None,
        }
    }

    #[test]
    fn watchers_come_as_often_as_is_said() {
        assert!(SESSIONS.units[1].contains("\nOnCalendar=*:*:10,40\n") && SESSIONS.every == 30);
        assert!(job_of(SESSIONS).starts_with("* * * * * ") && job_of(SESSIONS).contains(" coord detect "));
        for w in WATCHED.into_iter().chain([RUN]) {
            let (job, timer) = (job_of(w), w.units[1]);
            let calendar = timer.lines().find_map(|l| l.strip_prefix("OnCalendar=*:")).unwrap();
            let minutes = calendar.split(':').next().unwrap();
            let turns = if minutes == "0/2" { 30 } else { minutes.split(',').count() };
            let in_cron = job.split(' ').next().unwrap();
            let by_cron = if in_cron == "*/2" { 30 } else { in_cron.split(',').count() };
            let want = usize::try_from(3_600 / w.every).unwrap();
            assert_eq!((turns, by_cron), (want, want), "{}", w.program);
            assert!(job.contains(&format!(" {} ", w.program)), "{job}");
        }
    }

    #[test]
    fn a_unit_is_the_shipped_one_with_this_machine_put_in() {
        let files = units(By::User, &wanted("/opt/100% our$/watchbill", "/home/anna/.hermes"));
        assert_eq!(files.len(), 2);
        let (name, text) = &files[0];
        assert_eq!(name, Path::new("watchbill-run.service"));
        assert!(text.starts_with(MARK));
        let keys: Vec<&str> = text.lines().filter(|l| !l.starts_with('#')).collect();
        for line in [
            "Environment=HERMES_HOME=/home/anna/.hermes",
            "Environment=\"WATCHBILL_CONFIG=/home/anna/my config.toml\"",
            "ExecStart=\"/opt/100%% our$$/watchbill\" run --metrics /home/anna/state/metrics",
            "SuccessExitStatus=75",
            "EnvironmentFile=-/etc/default/watchbill",
        ] {
            assert!(keys.contains(&line), "{line}\n{text}");
        }
        assert!(
            !text.contains("cargo") && !text.contains("User=") && !text.contains("ReadWritePaths"),
            "{text}"
        );
        let system = units(By::System, &wanted("/usr/bin/watchbill", "/srv/hermes"));
        assert_eq!(system.len(), 3);
        assert!(system[0].1.contains("\nUser=1000\nReadWritePaths=-/srv/hermes\n"), "{}", system[0].1);
    }

    #[test]
    fn system_units_reach_a_server_and_are_given_its_password() {
        let file = wanted("/usr/bin/watchbill", "/srv/hermes");
        let of = |wanted: &Wanted| -> Vec<String> {
            let files = units(By::System, wanted).into_iter();
            files.filter(|(name, _)| name == Path::new(SERVER)).map(|(_, text)| text).collect()
        };
        assert!(of(&file).is_empty(), "a file needs no network");
        assert!(unneeded(By::System, &file).contains(&SERVER.into()));
        assert!(!unneeded(By::User, &file).contains(&SERVER.into()));
        let none = Wanted { on_server: true, ..file.clone() };
        let text = of(&none).concat();
        assert!(text.starts_with(MARK) && text.contains("\nPrivateNetwork=no\n"), "{text}");
        assert!(text.contains("\nIPAddressDeny=\n") && !text.contains("LoadCredential"), "{text}");
        let some = Wanted { passwords: Some("/home/anna 100%/.pgpass".into()), ..none };
        let text = of(&some).concat();
        assert!(text.ends_with("\nLoadCredential=watchbill-postgres:/home/anna 100%%/.pgpass\n"), "{text}");
        assert!(!unneeded(By::System, &some).contains(&SERVER.into()));
        assert!(names(By::System).contains(&SERVER.into()) && !names(By::User).contains(&SERVER.into()));
        assert!(units(By::User, &some).iter().all(|(_, text)| !text.contains("LoadCredential")));
        // Whatever is read before it in the order of the names.
        let before = [HARDENING, NETWORK, TARGETS].map(|name| Path::new(name).file_name());
        assert!(before.iter().all(|name| *name < Path::new(SERVER).file_name()));
    }

    #[test]
    fn lines_behind_a_block_without_its_end_are_nobodys_to_remove() {
        let w = wanted("/opt/watchbill", "/home/anna/.hermes");
        let block = crontab("", &w).unwrap();
        let open = block.replace(&format!("{END}\n"), "");
        for broken in [
            format!("{open}0 4 * * * backup\n"),
            open.clone(),
            format!("{END}\n{open}"),
            // A second block behind it does not end it.
            format!("{open}0 4 * * * backup\n{block}"),
        ] {
            for said in [without(&broken), crontab(&broken, &w)] {
                let said = said.unwrap_err().to_string();
                assert!(
                    said.contains("no line `# watchbill timers: end` follows")
                        && said.contains("nothing was done"),
                    "{said}"
                );
            }
        }
    }

    #[test]
    fn a_crontab_gets_one_block_and_loses_it_whole() {
        let theirs = "MAILTO=anna\n0 4 * * * backup # 100%";
        let w = wanted("/opt/it's 100%/watchbill", "/home/anna/.hermes");
        let once = crontab(theirs, &w).unwrap();
        assert!(once.starts_with("MAILTO=anna\n0 4 * * * backup # 100%\n# watchbill timers: begin"));
        assert_eq!(crontab(&once, &w).unwrap(), once);
        assert_eq!(without(&once).unwrap(), format!("{theirs}\n"));
        assert_eq!(without(theirs).unwrap(), theirs);
        let jobs: Vec<&str> = once.lines().filter(|l| l.contains("/opt/")).collect();
        assert_eq!(jobs.len(), 1, "{once}");
        assert!(jobs[0].starts_with(
            "*/2 * * * * out=$(HERMES_HOME=/home/anna/.hermes WATCHBILL_CONFIG='/home/anna/my config.toml' \
             '/opt/it'\\''s 100\\%/watchbill' run --metrics /home/anna/state/metrics 2>&1)"
        ));
        assert!(
            jobs[0].ends_with("2>&1); [ $? -eq 75 ] || [ -z \"$out\" ] || printf '\\%s\\n' \"$out\""),
            "{}",
            jobs[0]
        );
        for (found, w) in line::jobs(jobs[0], None).into_iter().zip(WATCHED) {
            let metrics = PathBuf::from(format!("/home/anna/state/metrics/{}.prom", w.program));
            assert_eq!((found.program, found.metrics), (w.program, Some(metrics)));
        }
        for (name, text) in
            units(By::User, &w).iter().filter(|(name, _)| name.extension().unwrap() == "service")
        {
            let start = text.lines().find(|l| l.starts_with("ExecStart=")).unwrap();
            assert!(line::jobs(start, None).iter().all(|job| job.metrics.is_some()), "{name:?}");
        }
    }
}
