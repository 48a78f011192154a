//! systemd and cron start what is there, as the right user sees it. What needs neither of them is looked at here in any
//! case; their own word on these files is in the second tier, since not every machine with a Rust toolchain has them.

use std::path::Path;
use std::process::Command;

use super::{place, programs, text, watchers};
use crate::support::{Ran, TestBoard, program, ran};

const HARDENING: &str = "watchbill-.service.d/hardening.conf";
const NETWORK: &str = "watchbill-coord-detect.service.d/network.conf";
const TARGETS: &str = "watchbill-notify.service.d/network.conf";

/// What is started by a timer: the unit's name behind `watchbill-`, its command, and its page.
fn started() -> Vec<(String, String, String)> {
    let watchers = watchers().into_iter().map(|name| (name.clone(), name.clone(), name));
    let sessions = ("coord-detect".into(), "coord detect --record -q".into(), "detect".into());
    let round = ("run".into(), "watchbill run".into(), "run".into());
    let notify = ("notify".into(), "watchbill notify".into(), "notify".into());
    watchers.chain([round, sessions, notify]).collect()
}

/// The names of those units.
fn names() -> Vec<String> {
    started().into_iter().map(|(name, ..)| name).collect()
}

/// `Key=value` lines of a unit.
fn keys(unit: &str) -> Vec<(String, String)> {
    let lines = unit.lines().filter(|l| !l.starts_with('#'));
    lines.filter_map(|l| l.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

/// The job lines of the crontab, five fields and a command: that of a round, which runs, and those that an operator may want
/// beside it or in its place.
fn jobs() -> Vec<(Vec<String>, String)> {
    let job = |l: &str| {
        let mut words = l.splitn(6, ' ').map(str::to_owned);
        let fields: Vec<String> = words.by_ref().take(5).collect();
        (fields, words.next().unwrap_or_default())
    };
    text("contrib/cron/watchbill")
        .lines()
        .map(|l| l.strip_prefix('#').unwrap_or(l))
        .filter(|l| l.starts_with(|c: char| c == '*' || c.is_ascii_digit()))
        .map(job)
        .collect()
}

/// What `sh` makes of a job in the environment cron gives it.
fn as_cron(job: &str, board: &TestBoard) -> Ran {
    // cron turns `\%` back into a plain one before it runs the line.
    // The job's turn in its round is nothing to wait for here.
    let line =
        job.replace("\\%", "%").replace("sleep 10; ", "").replace("sleep 20; ", "").replace("sleep 40; ", "");
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(line)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("SHELL", "/bin/sh");
    ran(command.env("HOME", board.path()).env("WATCHBILL_HOST_PID_NAMESPACE", "same"))
}

/// A home with a board of Hermes' shape in `.hermes`, and the programs where `cargo install` puts them.
fn home() -> TestBoard {
    let board = TestBoard::new();
    let bin = board.path().join(".cargo/bin");
    std::fs::create_dir_all(&bin).unwrap();
    for name in programs() {
        std::os::unix::fs::symlink(program(&name), bin.join(name)).unwrap();
    }
    std::fs::create_dir(board.path().join(".hermes")).unwrap();
    board
}

#[test]
fn every_watcher_has_service_timer_and_cron_line() {
    let jobs = jobs();
    for (name, command, page) in started() {
        let service = keys(&text(&format!("contrib/systemd/watchbill-{name}.service")));
        let value = |key: &str| service.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
        let start = value("ExecStart").unwrap();
        assert!(start.contains(&format!(" {command}")), "{start}");
        assert_eq!(value("Type"), Some("oneshot"));
        assert_eq!(value("SuccessExitStatus"), Some("75"));
        assert_eq!(value("EnvironmentFile"), Some("-/etc/default/watchbill"));
        assert!(value("Environment").unwrap().starts_with("HERMES_HOME="), "the root is pinned");
        // `journalctl -t` finds what it prints, and systemd's lines about each start and end are left out.
        let journal = [value("SyslogIdentifier"), value("SyslogLevel"), value("LogLevelMax")];
        assert_eq!(journal, [command.split(' ').next(), Some("notice"), Some("notice")]);
        assert!(value("Documentation").unwrap().ends_with(&format!("/{page}.md")));
        let timer = keys(&text(&format!("contrib/systemd/watchbill-{name}.timer")));
        for key in ["OnCalendar", "RandomizedDelaySec", "AccuracySec", "WantedBy"] {
            assert!(timer.iter().any(|(k, _)| k == key), "watchbill-{name}.timer has no {key}");
        }
        let line = jobs.iter().filter(|(_, job)| job.contains(&format!("\" {command} ")));
        assert_eq!(line.count(), 1, "cron lines of {name}");
    }
    let units = std::fs::read_dir(place("contrib/systemd")).unwrap().flatten();
    let services = units.filter(|e| e.path().extension().is_some_and(|x| x == "service")).count();
    assert_eq!((services, jobs.len()), (started().len(), started().len()), "and nothing else is started");
    // The unit of a worker has no timer and is a user unit only: a system unit would be hardened like a watcher.
    let worker = text("contrib/systemd/user/watchbill-worker@.service");
    assert!(worker.contains("exec board run --assignee %i --wait 30s -- %E/watchbill/worker-%i"));
    for line in ["Restart=always", "KillMode=mixed", "EnvironmentFile=-%E/watchbill/worker.env"] {
        assert!(worker.lines().any(|l| l == line), "{line}");
    }
    let others = std::fs::read_dir(place("contrib/systemd/user")).unwrap().count();
    assert_eq!(others, 1);
    let crontab = text("contrib/cron/watchbill");
    let runs = crontab.lines().filter(|l| l.starts_with(|c: char| c == '*' || c.is_ascii_digit()));
    let runs: Vec<&str> = runs.collect();
    assert!(runs.len() == 1 && runs[0].contains(" watchbill run "), "one line is all: {runs:?}");
}

/// From systemd 254 on each of these puts a user unit into a user namespace, where no worker's environment can be read.
#[test]
fn a_user_unit_gets_no_namespace() {
    let needs_namespace = |key: &str| {
        let begins = [
            "Private",
            "Protect",
            "ReadOnly",
            "ReadWrite",
            "Inaccessible",
            "Bind",
            "Root",
            "Mount",
            "Temporary",
        ];
        let is = [
            "NoExecPaths",
            "ExecPaths",
            "DynamicUser",
            "User",
            "Group",
            "NetworkNamespacePath",
            "IPCNamespacePath",
        ];
        begins.iter().any(|b| key.starts_with(b)) || is.contains(&key)
    };
    for name in names() {
        for (key, _) in keys(&text(&format!("contrib/systemd/watchbill-{name}.service"))) {
            assert!(!needs_namespace(&key), "watchbill-{name}.service: {key}");
        }
    }
    let hardening = keys(&text(&format!("contrib/systemd/{HARDENING}")));
    // Of two files in two folders the one whose name comes later has the last word.
    let file = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    assert!(file(HARDENING) < file(NETWORK) && file(HARDENING) < file(TARGETS));
    assert!(hardening.iter().any(|(key, _)| needs_namespace(key)), "the drop-in is where they are");
    for blind in ["ProtectProc", "ProcSubset", "PrivatePIDs", "PrivateUsers"] {
        assert!(!hardening.iter().any(|(key, _)| key == blind), "{blind} hides the workers");
    }
}

#[test]
fn the_crontab_is_one_cron_reads() {
    let file = "contrib/cron/watchbill";
    let text = text(file);
    assert!(text.ends_with('\n'), "cron refuses a last line without an end");
    assert!(!file.rsplit('/').next().unwrap().contains('.'), "a name with a dot is passed over in cron.d");
    let path = text.lines().find_map(|l| l.strip_prefix("PATH=")).unwrap();
    assert!(path.split(':').all(|p| Path::new(p).is_absolute()), "cron expands nothing in {path}");
    for (fields, job) in jobs() {
        let ok = |f: &String| f.chars().all(|c| c.is_ascii_digit() || "*/,-".contains(c)) && !f.is_empty();
        assert!(fields.len() == 5 && fields.iter().all(ok), "{fields:?}");
        assert!(!job.replace("\\%", "").contains('%'), "a bare % ends the line: {job}");
        assert!(job.contains("HERMES_HOME="), "the root is pinned: {job}");
    }
}

#[test]
fn a_cron_job_speaks_only_of_what_is_news() {
    let home = home();
    let quiet = Ran { code: 0, out: String::new(), err: String::new() };
    let config = home.path().join(".config/watchbill");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[notify.own]\ncommand = ['true']\n").unwrap();
    for (_, job) in jobs() {
        let nothing = as_cron(&job, &home);
        assert!(nothing.out.contains("no board found"), "a root without a board is news: {nothing:?}");
    }
    std::fs::remove_dir(home.path().join(".hermes")).unwrap();
    std::os::unix::fs::symlink(".", home.path().join(".hermes")).unwrap();
    let (_, job) = jobs().into_iter().next().unwrap();
    let same = |ran: &Ran| (ran.code, &*ran.out, &*ran.err) == (quiet.code, &*quiet.out, &*quiet.err);
    let idle = as_cron(&job, &home);
    assert!(same(&idle), "nothing to do: {idle:?}");

    home.add("t_1", "ready");
    home.run_it("t_1", Some(crate::support::dead_pid()), 3_600);
    std::fs::write(home.path().join("watchbill.pause"), "").unwrap();
    let paused = as_cron(&job, &home);
    assert!(same(&paused), "75 is no news: {paused:?}");
    assert_eq!(home.task("t_1", "status"), "running");
    std::fs::remove_file(home.path().join("watchbill.pause")).unwrap();
    let worked = as_cron(&job, &home);
    assert!(worked.out.starts_with("t_1 requeue: "), "{worked:?}");
}

#[cfg(feature = "real")]
mod real {
    use super::*;

    /// Whether the tools are to be used. They may be left out by this variable and in no other way.
    fn wanted() -> bool {
        let skip = std::env::var("WATCHBILL_UNITS").is_ok_and(|v| v == "skip");
        if skip {
            eprintln!("left out: WATCHBILL_UNITS=skip, systemd-analyze and crontab are not asked");
        }
        !skip
    }

    #[track_caller]
    fn tool(name: &str, package: &str, args: &[&str], dir: &Path) -> Ran {
        let mut command = Command::new(name);
        command.args(args).current_dir(dir).env("XDG_RUNTIME_DIR", dir).env("SYSTEMD_LOG_LEVEL", "info");
        match command.output() {
            Ok(out) => out.into(),
            Err(e) => {
                panic!("{name}: {e}; apt-get install {package}, or leave it out by WATCHBILL_UNITS=skip")
            }
        }
    }

    /// The units in a folder of their own, with the built programs named by their full path.
    fn units() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for drop_in in [HARDENING, NETWORK, TARGETS] {
            std::fs::create_dir(dir.path().join(drop_in).parent().unwrap()).unwrap();
            std::fs::copy(place("contrib/systemd").join(drop_in), dir.path().join(drop_in)).unwrap();
        }
        for name in names() {
            let service = text(&format!("contrib/systemd/watchbill-{name}.service"));
            let start = service.lines().find(|l| l.starts_with("ExecStart=")).unwrap();
            let ours = service.replace(start, &format!("ExecStart={}", program("watchbill")));
            std::fs::write(dir.path().join(format!("watchbill-{name}.service")), ours).unwrap();
            let timer = format!("watchbill-{name}.timer");
            std::fs::copy(place("contrib/systemd").join(&timer), dir.path().join(&timer)).unwrap();
        }
        dir
    }

    fn verify(dir: &Path, manager: &str) -> Ran {
        let mut files: Vec<String> = names()
            .iter()
            .flat_map(|n| [format!("./watchbill-{n}.service"), format!("./watchbill-{n}.timer")])
            .collect();
        if manager == "--user" {
            let worker = "watchbill-worker@.service";
            std::fs::copy(
                place("contrib/systemd/user").join(worker),
                dir.join("watchbill-worker@luna.service"),
            )
            .unwrap();
            files.push("./watchbill-worker@luna.service".into());
        }
        let mut args = vec![manager, "verify", "--recursive-errors=no", "--man=no"];
        args.extend(files.iter().map(String::as_str));
        tool("systemd-analyze", "systemd", &args, dir)
    }

    #[test]
    fn systemd_accepts_the_units() {
        if !wanted() {
            return;
        }
        let dir = units();
        for manager in ["--system", "--user"] {
            let ran = verify(dir.path(), manager);
            assert_eq!((ran.code, ran.err.trim()), (0, ""), "{manager}: {ran:?}");
        }
        // The same as they ship: `env` is there, whatever is installed.
        for name in names() {
            let service = format!("watchbill-{name}.service");
            std::fs::copy(place("contrib/systemd").join(&service), dir.path().join(&service)).unwrap();
        }
        assert_eq!(verify(dir.path(), "--user").code, 0);
        // A user unit stands alone.
        for drop_in in [HARDENING, NETWORK, TARGETS] {
            std::fs::remove_file(dir.path().join(drop_in)).unwrap();
        }
        assert_eq!(verify(dir.path(), "--user").code, 0);
    }

    #[test]
    fn systemd_would_see_a_mistake() {
        if !wanted() {
            return;
        }
        for (file, right, wrong) in [
            (HARDENING, "ProtectClock=", "ProtectClok="),
            ("watchbill-heal.service", "Type=oneshot", "Type=onshot"),
            ("watchbill-heal.timer", "OnCalendar=*:0/2:00", "OnCalendar=*:0/2:99"),
        ] {
            let dir = units();
            let text = std::fs::read_to_string(dir.path().join(file)).unwrap();
            assert!(text.contains(right), "{file}: {right}");
            std::fs::write(dir.path().join(file), text.replace(right, wrong)).unwrap();
            assert_ne!(verify(dir.path(), "--system").code, 0, "{file}: {wrong}");
        }
    }

    #[test]
    fn a_system_unit_is_hardened() {
        if !wanted() {
            return;
        }
        for name in names() {
            let dir = units();
            let unit = format!("./watchbill-{name}.service");
            // A way to the servers of this machine costs something, and one to all others more.
            let threshold = match name.as_str() {
                "coord-detect" => "--threshold=25",
                "notify" => "--threshold=30",
                _ => "--threshold=20",
            };
            let args = ["security", "--offline=yes", threshold, unit.as_str()];
            let ran = tool("systemd-analyze", "systemd", &args, dir.path());
            assert_eq!(ran.code, 0, "{}", ran.out.lines().last().unwrap_or(""));
            std::fs::remove_file(dir.path().join(HARDENING)).unwrap();
            let bare = tool("systemd-analyze", "systemd", &args, dir.path());
            assert_ne!(bare.code, 0, "the drop-in is what does it");
        }
    }

    #[test]
    fn cron_accepts_the_crontab() {
        if !wanted() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let text = text("contrib/cron/watchbill");
        let check = |text: &str| {
            std::fs::write(dir.path().join("tab"), text).unwrap();
            // Debian's cron checks with -n, cronie with -T.
            let debian = tool("crontab", "cron", &["-n", "tab"], dir.path());
            let unknown = debian.err.contains("invalid option") || debian.err.contains("usage");
            if unknown { tool("crontab", "cron", &["-T", "tab"], dir.path()) } else { debian }
        };
        let ran = check(&text);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_ne!(check(&text.replace("*/2 * * * *", "*/2 * * 99 *")).code, 0, "cron would see a mistake");
        let job = text.lines().find(|l| l.starts_with("*/2")).unwrap();
        let to_job = text.split_inclusive(job).next().unwrap();
        assert_ne!(check(to_job).code, 0, "a last line without an end is refused");
    }
}

#[test]
fn the_package_describes_itself_in_lines_that_lintian_takes() {
    let manifest = text("Cargo.toml");
    let said =
        manifest.split("extended-description = \"\"\"\n").nth(1).unwrap().split("\"\"\"").next().unwrap();
    let long: Vec<&str> = said.lines().filter(|line| line.chars().count() > 79).collect();
    assert!(!said.is_empty() && long.is_empty(), "{long:#?}");
}
