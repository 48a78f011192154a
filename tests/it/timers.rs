//! `watchbill timers`: units and crontab lines that start what is there, written whole, and taken away again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dry::unchanged;
use crate::support::{TestBoard, dead_pid, now, program, ran};
use crate::tools;

/// A home with Hermes where it is by default, and nothing that starts a watcher.
fn home() -> TestBoard {
    let b = TestBoard::new();
    fs::create_dir(b.path().join(".hermes")).unwrap();
    for name in ["kanban", "kanban.db", "kanban.db-wal", "kanban.db-shm"] {
        let _ = fs::rename(b.path().join(name), b.path().join(".hermes").join(name));
    }
    TestBoard { db: b.path().join(".hermes/kanban.db"), ..b }
}

/// `watchbill timers` as a user at a prompt would call it: nothing names the root.
fn command(b: &TestBoard, args: &[&str]) -> Command {
    let mut command = tools::watchbill(b, &[&["timers"], args].concat());
    command.env_remove("HERMES_HOME").env_remove("XDG_STATE_HOME");
    command
}

fn timers(b: &TestBoard, args: &[&str]) -> crate::support::Ran {
    ran(&mut command(b, args))
}

fn units(b: &TestBoard) -> PathBuf {
    b.path().join(".config/systemd/user")
}

/// Names in a folder and what is in them.
fn all(folder: &Path) -> Vec<(String, String)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<(String, String)> = entries
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_file())
        .map(|p| (p.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(p).unwrap()))
        .collect();
    all.sort();
    all
}

/// The commands that were run since last asked.
fn told(b: &TestBoard) -> Vec<String> {
    let file = b.path().join("told");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(file);
    text.lines()
        .filter(|l| !l.contains(" show") && !l.contains("show-user") && !l.ends_with(" -l"))
        .map(str::to_owned)
        .collect()
}

const ENABLE: &str = "systemctl --user enable --now watchbill-run.timer";

#[test]
fn user_units_are_written_switched_on_and_taken_away() {
    let b = home();
    assert_eq!(timers(&b, &["status"]).code, 1, "nothing starts them");
    told(&b);
    fs::write(b.path().join("linger"), "no\n").unwrap();
    unchanged(&b, "timers install -n", || {
        let said = timers(&b, &["install", "--as", "user", "-n"]).ok();
        assert_eq!(said.lines().filter(|l| l.starts_with("would write ")).count(), 2, "{said}");
        assert!(said.contains(&format!("would run {ENABLE}\nwould run loginctl enable-linger\n")), "{said}");
    });
    assert_eq!(told(&b), [""; 0], "and nothing is run");
    let said = timers(&b, &["install", "--as", "user"]).ok();
    assert!(said.starts_with("wrote ") && !said.contains("would"), "{said}");
    assert_eq!(told(&b), ["systemctl --user daemon-reload", ENABLE, "loginctl enable-linger"]);
    let written = all(&units(&b));
    assert_eq!(written.len(), 2);
    for (name, text) in &written {
        assert!(text.starts_with("# Written by `watchbill timers install`"), "{name}");
        if name.ends_with(".service") {
            let root = format!("\nEnvironment=HERMES_HOME={}\n", b.path().join(".hermes").display());
            let start = format!("\nExecStart={} ", program("watchbill"));
            assert!(text.contains(&root) && text.contains(&start) && text.contains(" --metrics /"), "{text}");
        }
    }
    // Once more changes nothing; a file that was changed is put right.
    assert_eq!(timers(&b, &["install", "--as", "user"]).ok(), "nothing to do\n");
    assert_eq!((told(&b), all(&units(&b))), (Vec::new(), written.clone()));
    let run = units(&b).join("watchbill-run.service");
    fs::write(&run, "# Written by `watchbill timers install`, long ago\n[Service]\n").unwrap();
    timers(&b, &["install", "--as", "user"]).ok();
    assert_eq!(all(&units(&b)), written);
    told(&b);

    // What others wrote stays.
    fs::write(units(&b).join("backup.timer"), "[Timer]\n").unwrap();
    fs::write(units(&b).join("watchbill-mine.timer"), "[Timer]\n").unwrap();
    let said = timers(&b, &["remove", "-n"]).ok();
    assert_eq!(said.matches("would remove ").count(), 2, "{said}");
    assert_eq!(all(&units(&b)).len(), 4);
    timers(&b, &["remove"]).ok();
    assert_eq!(told(&b), [ENABLE.replace("enable", "disable"), "systemctl --user daemon-reload".into()]);
    let left: Vec<String> = all(&units(&b)).into_iter().map(|(name, _)| name).collect();
    assert_eq!(left, ["backup.timer", "watchbill-mine.timer"]);
    assert_eq!(timers(&b, &["remove"]).ok(), "nothing to do\n");
}

#[test]
fn lingering_that_is_off_is_said_each_time_and_who_may_switch_it_on() {
    let b = home();
    let file = |name: &str, text: &str| fs::write(b.path().join(name), text).unwrap();
    timers(&b, &["install", "--as", "user"]).ok();
    assert_eq!(told(&b).len(), 2, "it lingers already");
    // No polkit: only root may do it.
    file("linger", "no\n");
    file("no-polkit", "");
    for _ in 0..2 {
        let done = timers(&b, &["install", "--as", "user", "-q"]);
        assert_eq!(done.code, 1, "{done:?}");
        let advice = done.out.lines().last().unwrap().trim();
        assert!(advice.starts_with("sudo loginctl enable-linger "), "{done:?}");
        assert_eq!(done.out.lines().count(), 3, "only what is left: {done:?}");
    }
    let status = timers(&b, &["status"]);
    assert!(status.code == 1 && status.out.contains("lingering is off"), "{status:?}");
    fs::remove_file(b.path().join("no-polkit")).unwrap();
    assert_eq!(timers(&b, &["install", "--as", "user"]).ok(), "ran loginctl enable-linger\n");
    assert_eq!(timers(&b, &["install", "--as", "user"]).ok(), "nothing to do\n");
}

#[test]
fn a_timer_has_the_settings_that_are_in_force_here() {
    let b = home();
    let set = [
        ("TZ", "Europe/Berlin"),
        ("CLAUDE_CONFIG_DIR", "/srv/claude"),
        ("WATCHBILL_HEAL_GRACE", "5m"),
        ("OPENCODE_SERVER_PASSWORD", "do-not-tell"),
    ];
    for (by, quoted) in [("cron", "TZ=Europe/Berlin "), ("user", "Environment=\"TZ=Europe/Berlin\"")] {
        let mut install = command(&b, &["install", "--as", by, "-n"]);
        let said = ran(install.envs(set)).ok();
        let plain = quoted.replace('"', "");
        assert!(said.contains(quoted) || said.contains(&plain), "{said}");
        assert!(said.contains("CLAUDE_CONFIG_DIR=/srv/claude"), "{said}");
        assert!(said.contains("WATCHBILL_HEAL_GRACE=5m"), "{said}");
        assert!(!said.contains("do-not-tell"), "{said}");
    }
}

#[test]
fn where_hermes_is_not_no_timer_asks_for_it() {
    let b = home();
    let elsewhere = b.path().join("elsewhere");
    fs::rename(b.path().join(".hermes"), &elsewhere).unwrap();
    let config = b.path().join("only-this.toml");
    fs::write(&config, format!("board.db = {:?}\n", elsewhere.join("kanban.db"))).unwrap();
    let config = config.to_str().unwrap();
    let said = timers(&b, &["install", "--as", "cron", "-n", "--config", config]).ok();
    assert!(said.contains("WATCHBILL_CONFIG=") && !said.contains("HERMES_HOME="), "{said}");
}

#[test]
fn a_line_break_in_a_path_is_refused_and_nothing_is_written() {
    for (name, below) in [("HERMES_HOME", "evil\nExecStartPre=/bin/touch x"), ("XDG_CONFIG_HOME", "a\rb")] {
        let b = home();
        let folder = b.path().join(below);
        fs::create_dir_all(folder.join("kanban")).unwrap();
        if name == "HERMES_HOME" {
            fs::copy(&b.db, folder.join("kanban.db")).unwrap();
        }
        let told_before = told(&b);
        for args in [&["--as", "user", "--unit-dir", "UNITS"][..], &["--as", "cron"]] {
            let units = b.path().join("units");
            let args: Vec<&str> =
                args.iter().map(|a| if *a == "UNITS" { units.to_str().unwrap() } else { a }).collect();
            let done = ran(command(&b, &[&["install"], &args[..]].concat()).env(name, &folder)).fails(2);
            assert!(done.contains(&format!("{name}: ")) && done.contains("control character"), "{done}");
            assert_eq!(done.lines().count(), 1, "{done}");
            assert!(!units.exists(), "{args:?}");
        }
        assert_eq!((told(&b), told_before.len()), (Vec::new(), 0), "nothing was run");
    }
}

#[test]
fn a_pass_as_the_unit_has_it_works_and_is_seen() {
    let b = home();
    b.add("t_1", "ready");
    b.run_it("t_1", Some(dead_pid()), 3_600);
    timers(&b, &["install", "--as", "user"]).ok();
    assert!(timers(&b, &["status"]).ok().contains("no pass on record"));
    for (name, text) in all(&units(&b)).into_iter().filter(|(name, _)| name.ends_with(".service")) {
        let line = |key: &str| text.lines().find_map(|l| l.strip_prefix(key)).unwrap();
        let words: Vec<&str> = line("ExecStart=").split(' ').collect();
        let mut pass = Command::new(words[0]);
        // What systemd gives a unit of a user.
        pass.args(&words[1..]).env_clear().env("HOME", b.path()).env("PATH", "/usr/bin:/bin");
        let (key, value) = line("Environment=").split_once('=').unwrap();
        ran(pass.env(key, value).env("WATCHBILL_HOST_PID_NAMESPACE", "same")).ok();
        assert!(!name.is_empty());
    }
    assert_eq!(b.task("t_1", "status"), "ready");
    assert!(b.path().join(".local/state/watchbill/watchbill.html").exists());
    let said = timers(&b, &["status"]).ok();
    assert_eq!(
        (said.matches("; last pass ").count(), said.matches("s ago, exit 0\n").count()),
        (4, 4),
        "{said}"
    );
    let late = timers(&b, &["status", "--json", "--now", &(now() + 1_000).to_string()]);
    let whole: serde_json::Value = serde_json::from_str(&late.out).unwrap();
    assert_eq!(late.code, 1, "what is late is not started as needed");
    assert_eq!(
        (&whole["watchers"][0]["overdue"], &whole["watchers"][0]["starters"][0]["by"]),
        (&true.into(), &"user".into())
    );
}

#[test]
fn without_systemd_the_commands_are_said() {
    let b = home();
    fs::write(b.path().join("no-systemd"), "").unwrap();
    let r = timers(&b, &["install", "--as", "user"]);
    assert_eq!((r.code, all(&units(&b)).len()), (1, 2), "{r:?}");
    assert!(r.out.contains("systemd does not answer here. Still to be run:"), "{r:?}");
    assert!(r.out.contains(&format!("    {ENABLE}\n")), "{r:?}");
    assert_eq!(told(&b), [""; 0]);
    // With -q nothing but that.
    let quiet = home();
    fs::write(quiet.path().join("no-systemd"), "").unwrap();
    let r = timers(&quiet, &["install", "--as", "user", "-q"]);
    assert_eq!((r.code, all(&units(&quiet)).len()), (1, 2), "{r:?}");
    assert!(r.out.starts_with("systemd does not answer here. Still to be run:\n"), "{r:?}");
    assert!(
        !r.out.contains("write ") && !r.out.contains("wrote ") && r.out.contains(&format!("    {ENABLE}\n")),
        "{r:?}"
    );
    // One that answers and refuses is quoted.
    fs::remove_file(b.path().join("no-systemd")).unwrap();
    fs::write(b.path().join("broken-systemd"), "").unwrap();
    let r = timers(&b, &["install", "--as", "user"]);
    assert!(r.code == 1 && r.out.contains("Failed to enable unit. Still to be run:"), "{r:?}");
}

#[test]
fn a_crontab_gets_its_lines_and_keeps_its_own() {
    let b = home();
    fs::write(b.path().join("no-systemd"), "").unwrap();
    let theirs = "MAILTO=anna\n0 4 * * * backup\n";
    fs::write(b.path().join("crontab"), theirs).unwrap();
    let crontab = || fs::read_to_string(b.path().join("crontab")).unwrap();
    // Where no systemd answers, cron is what there is.
    // A person who tries it sees what would be written.
    let said = timers(&b, &["install", "-n"]).ok();
    assert!(said.starts_with("would write the crontab\n"), "{said}");
    assert!(said.contains("\n    0 4 * * * backup\n    # watchbill timers: begin"), "{said}");
    assert_eq!(crontab(), theirs);
    timers(&b, &["install"]).ok();
    let with = crontab();
    assert!(with.starts_with(theirs) && with.matches(" --metrics ").count() == 1, "{with}");
    assert_eq!(timers(&b, &["install"]).ok(), "nothing to do\n");
    timers(&b, &["status"]).ok();
    // The line works in the environment cron has, and is quiet about what is not news.
    b.add("t_1", "ready");
    b.run_it("t_1", Some(dead_pid()), 3_600);
    let job = with
        .lines()
        .find(|l| l.contains(" run "))
        .unwrap()
        .splitn(6, ' ')
        .nth(5)
        .unwrap()
        .replace("\\%", "%");
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", &job]).env_clear().env("HOME", b.path()).env("PATH", "/usr/bin:/bin");
    let worked = ran(sh.env("WATCHBILL_HOST_PID_NAMESPACE", "same"));
    assert!(worked.out.starts_with("t_1 requeue: "), "{worked:?}");
    assert_eq!(ran(&mut sh).out, "");
    timers(&b, &["remove"]).ok();
    assert_eq!(crontab(), theirs);
    fs::remove_file(b.path().join("crontab")).unwrap();
    timers(&b, &["install"]).ok();
    timers(&b, &["remove"]).ok();
    assert!(!b.path().join("crontab").exists(), "nothing was in it, so there is none");
    // A crontab that cron refuses is not installed.
    fs::write(b.path().join("crontab"), "refuse me\n").unwrap();
    let refused = timers(&b, &["install"]).fails(74);
    assert!(refused.contains("bad minute") && refused.contains("as it was before"), "{refused}");
    assert_eq!(crontab(), "refuse me\n");
    // What cannot be written back to the byte is not touched: cron takes Latin-1, and a line cut in the middle is another job.
    let long = format!("# {}\n", "x".repeat(1 << 20)).into_bytes();
    for theirs in [b"0 4 * * * tar cf /b/M\xfcller.tar /home/M\xfcller\n".to_vec(), long] {
        fs::write(b.path().join("crontab"), &theirs).unwrap();
        for what in ["install", "remove"] {
            for how in [&["--as", "cron"][..], &[]] {
                let refused = timers(&b, &[&[what], how].concat()).fails(1);
                assert!(refused.contains("cannot be read in full, or is not UTF-8"), "{refused}");
                assert!(fs::read(b.path().join("crontab")).unwrap() == theirs, "{what} changed it");
            }
        }
    }
    // The units beside it are removed all the same.
    fs::remove_file(b.path().join("no-systemd")).unwrap();
    let _ = timers(&b, &["install", "--as", "user"]);
    assert_eq!(all(&units(&b)).len(), 2);
    let refused = timers(&b, &["remove"]).fails(1);
    assert!(refused.contains("cannot be read in full, or is not UTF-8"), "{refused}");
    assert_eq!(all(&units(&b)), []);
}

/// Nobody knows which of the lines below our first one are ours once our last one is gone.
#[test]
fn a_crontab_whose_block_has_no_end_is_left_as_it_is() {
    let b = home();
    fs::write(b.path().join("no-systemd"), "").unwrap();
    timers(&b, &["install", "--as", "cron"]).ok();
    let file = b.path().join("crontab");
    let end = "# watchbill timers: end\n";
    let whole = fs::read_to_string(&file).unwrap();
    let broken = format!("{}0 4 * * * backup\n", whole.replace(end, ""));
    fs::write(&file, &broken).unwrap();
    let all = [
        &["remove"][..],
        &["remove", "--as", "cron", "-n"],
        &["install"],
        &["install", "--as", "cron", "-n"],
    ];
    for args in all {
        let said = timers(&b, args).fails(1);
        assert!(
            said.contains("no line `# watchbill timers: end` follows") && said.contains("nothing was done"),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), broken, "{args:?}");
    }
    // As it is advised.
    fs::write(&file, broken.replace("0 4 * * * backup", &format!("{end}0 4 * * * backup"))).unwrap();
    timers(&b, &["remove"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "0 4 * * * backup\n");
}

#[test]
fn system_units_run_as_the_owner_of_the_board() {
    let b = home();
    let folder = b.path().join("units");
    let r = timers(&b, &["install", "--as", "system", "--unit-dir", folder.to_str().unwrap()]);
    assert_eq!(r.code, 1, "the commands are left: {r:?}");
    assert!(r.out.contains("    systemctl --system daemon-reload\n"), "{r:?}");
    assert_eq!(all(&folder).len(), 2);
    assert!(folder.join("watchbill-.service.d/hardening.conf").is_file());
    let heal = fs::read_to_string(folder.join("watchbill-run.service")).unwrap();
    let me = rustix::process::geteuid();
    assert_eq!(heal.contains(&format!("\nUser={}\n", me.as_raw())), !me.is_root(), "{heal}");
    assert!(heal.contains(&format!("\nReadWritePaths=-{}\n", b.path().join(".hermes").display())), "{heal}");
    assert!(heal.contains(" --metrics /var/lib/watchbill/metrics\n"), "{heal}");
    assert_eq!(timers(&b, &["remove", "--as", "system", "--unit-dir", folder.to_str().unwrap()]).code, 1);
    assert_eq!((all(&folder).len(), folder.join("watchbill-.service.d").exists()), (0, false));
}

/// The address is not asked: what a unit needs to reach it is known without.
#[test]
fn system_units_of_a_board_on_a_server_have_its_address_a_network_and_the_password() {
    let b = home();
    let folder = b.path().join("units");
    let url = "postgres://luna@db.example/agents";
    let args = ["install", "--as", "system", "--unit-dir", folder.to_str().unwrap()];
    let on_server = [&args[..], &["--db", url]].concat();
    let install = |args: &[&str], passwords: Option<&Path>| {
        let mut command = command(&b, args);
        command.env("PGUSER", "luna").envs(passwords.map(|file| ("PGPASSFILE", file)));
        let r = ran(&mut command);
        assert_eq!(r.code, 1, "the commands are left: {r:?}");
    };
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let server = "watchbill-.service.d/server.conf";
    install(&on_server, None);
    let run = read("watchbill-run.service");
    assert!(run.contains(&format!(" run --db {url} --metrics ")), "{run}");
    assert!(run.contains("\nEnvironment=PGUSER=luna\n") && !run.contains("ReadWritePaths=-/"), "{run}");
    let me = rustix::process::geteuid();
    assert_eq!(run.contains(&format!("\nUser={}\n", me.as_raw())), !me.is_root(), "{run}");
    let conf = read(server);
    for line in ["PrivateNetwork=no", "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK"] {
        assert!(conf.lines().any(|l| l == line), "{line}: {conf}");
    }
    // A unit that is to load what is not there does not start.
    assert!(!conf.contains("LoadCredential="), "{conf}");
    let passwords = b.path().join(".pgpass");
    fs::write(&passwords, "db.example:5432:agents:luna:geheim\n").unwrap();
    install(&on_server, None);
    let given = format!("\nLoadCredential=watchbill-postgres:{}\n", passwords.display());
    assert!(read(server).ends_with(&given) && !read(server).contains("geheim"), "{}", read(server));
    let other = b.path().join("passwords");
    fs::rename(&passwords, &other).unwrap();
    install(&on_server, Some(&other));
    assert!(read(server).ends_with(&format!(":{}\n", other.display())), "{}", read(server));
    #[cfg(feature = "real")]
    if std::env::var("WATCHBILL_UNITS").map_or(true, |v| v != "skip") {
        let mut analyze = Command::new("systemd-analyze");
        analyze.args(["--system", "verify", "--recursive-errors=no", "--man=no"]);
        analyze.args(["./watchbill-run.service", "./watchbill-run.timer"]).current_dir(&folder);
        let r = ran(analyze.env("XDG_RUNTIME_DIR", b.path()).env("SYSTEMD_LOG_LEVEL", "info"));
        assert_eq!((r.code, r.err.trim()), (0, ""), "{r:?}");
    }

    // A timer of a user has its home, but not what this environment names.
    let mut user = command(&b, &["install", "--as", "user", "--db", url]);
    ran(user.env("PGPASSFILE", &other).env("PGUSER", "luna")).ok();
    let run = fs::read_to_string(units(&b).join("watchbill-run.service")).unwrap();
    for line in [format!("Environment=PGPASSFILE={}", other.display()), "Environment=PGUSER=luna".into()] {
        assert!(run.lines().any(|l| l == line), "{line}: {run}");
    }
    assert!(!units(&b).join(server).exists());

    // A board in a file needs none of it, and has none of it any more.
    install(&args, Some(&other));
    assert!(!folder.join(server).exists() && folder.join("watchbill-.service.d/hardening.conf").exists());
    let run = read("watchbill-run.service");
    assert!(!run.contains("PGUSER") && !run.contains("postgres://"), "{run}");
    install(&on_server, None);
    assert!(folder.join(server).exists());
    let _ = timers(&b, &["remove", "--as", "system", "--unit-dir", folder.to_str().unwrap()]);
    assert_eq!((all(&folder).len(), folder.join("watchbill-.service.d").exists()), (0, false));
}

#[test]
fn what_is_in_the_way_stops_it_before_anything_is_done() {
    let b = home();
    fs::create_dir_all(units(&b)).unwrap();
    fs::write(units(&b).join("watchbill-run.timer"), "[Timer]\n").unwrap();
    let said = timers(&b, &["install", "--as", "user"]).fails(1);
    assert!(said.contains("watchbill-run.timer") && said.contains("nothing was done"), "{said}");
    assert_eq!((all(&units(&b)).len(), told(&b)), (1, Vec::new()));
    fs::remove_file(units(&b).join("watchbill-run.timer")).unwrap();
    // A folder where a file must be: nothing of the others is left.
    fs::create_dir(units(&b).join("watchbill-run.timer")).unwrap();
    assert_eq!(timers(&b, &["install", "--as", "user"]).code, 1);
    assert_eq!(all(&units(&b)).len(), 0);
    // No board, no timers: they would fail every two minutes.
    fs::remove_dir(units(&b).join("watchbill-run.timer")).unwrap();
    fs::remove_file(&b.db).unwrap();
    assert!(timers(&b, &["install", "--as", "user"]).fails(66).contains("no board found"));
    assert_eq!(all(&units(&b)).len(), 0);
}

#[test]
fn what_was_named_is_pinned() {
    let mut b = home();
    b.config.push_str("# a comment\n");
    let elsewhere = TestBoard::own();
    let metrics = b.path().join("textfile collector");
    let (db, metrics) = (elsewhere.db.to_str().unwrap(), metrics.to_str().unwrap());
    timers(&b, &["install", "--as", "user", "--db", db, "--metrics", metrics]).ok();
    let heal = fs::read_to_string(units(&b).join("watchbill-run.service")).unwrap();
    assert!(heal.contains(&format!(" run --db {db} --metrics \"{metrics}\"\n")), "{heal}");
    let config = format!("\nEnvironment=WATCHBILL_CONFIG={}\n", b.path().join("watchbill.toml").display());
    assert!(heal.contains(&config), "{heal}");
    // Another systemd that starts the same is told.
    fs::write(b.path().join("crontab"), crate::tools::CRON).unwrap();
    let r = timers(&b, &["install", "--as", "user", "--db", db]);
    assert!(
        r.err.contains(
            "heal, synthesize-distress, route-blocked, budget-check are started by crontab as well"
        ),
        "{r:?}"
    );
    // So does a worker's environment.
    let mut inside = command(&b, &["install", "--as", "user"]);
    ran(inside.env("HERMES_KANBAN_DB", db)).ok();
    let heal = fs::read_to_string(units(&b).join("watchbill-run.service")).unwrap();
    assert!(heal.contains(&format!(" run --db {db} ")), "{heal}");
}

#[cfg(feature = "real")]
#[test]
fn systemd_and_cron_accept_what_is_written() {
    if std::env::var("WATCHBILL_UNITS").is_ok_and(|v| v == "skip") {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "left out, because WATCHBILL_UNITS=skip: timers");
        return;
    }
    // Names that need every quote there is.
    let b = home();
    let metrics = b.path().join("it's \"100%\" $HOME");
    let metrics = metrics.to_str().unwrap();
    let verify = |manager: &str, folder: &Path| {
        let names = all(folder).into_iter().map(|(name, _)| format!("./{name}"));
        let mut analyze = Command::new("systemd-analyze");
        analyze
            .args([manager, "verify", "--recursive-errors=no", "--man=no"])
            .args(names)
            .current_dir(folder);
        let r = ran(analyze.env("XDG_RUNTIME_DIR", b.path()).env("SYSTEMD_LOG_LEVEL", "info"));
        assert_eq!((r.code, r.err.trim()), (0, ""), "{r:?}");
    };
    timers(&b, &["install", "--as", "user", "--metrics", metrics]).ok();
    verify("--user", &units(&b));
    let folder = b.path().join("units");
    let _ = timers(
        &b,
        &["install", "--as", "system", "--metrics", metrics, "--unit-dir", folder.to_str().unwrap()],
    );
    verify("--system", &folder);
    let r = ran(Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--threshold=20"])
        .arg("./watchbill-run.service")
        .current_dir(&folder));
    // Under root's own user it is less; a board of another user is told by User= above.
    assert!(r.code == 0 || rustix::process::geteuid().is_root(), "{r:?}");
    timers(&b, &["remove", "--as", "user"]).ok();
    timers(&b, &["install", "--as", "cron", "--metrics", metrics]).ok();
    let debian = ran(Command::new("crontab").arg("-n").arg(b.path().join("crontab")));
    let unknown = debian.err.contains("invalid option") || debian.err.contains("usage");
    let r =
        if unknown { ran(Command::new("crontab").arg("-T").arg(b.path().join("crontab"))) } else { debian };
    assert_eq!(r.code, 0, "{r:?}");
}

/// Where sessions are spawned they are looked at as well: every 30 s by systemd, every minute by cron.
#[test]
fn a_board_with_sessions_has_them_looked_at() {
    let b = home();
    b.add("t_0000000a", "ready");
    let run = b.run_it("t_0000000a", None, 60);
    b.sql(&format!(
        "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
           VALUES ('t_0000000a', {run}, 'coord.spawned', '{{}}', strftime('%s', 'now'))"
    ));
    let ask = |args: &[&str]| {
        ran(tools::watchbill(&b, args).env_remove("HERMES_HOME").env_remove("XDG_STATE_HOME")).out
    };
    // Nothing looks at them: known where it counts.
    let doctor = || {
        let said = ask(&["doctor", "--json"]);
        let whole: serde_json::Value = serde_json::from_str(&said).unwrap();
        let about = |f: &serde_json::Value| f["about"] == "coord-detect";
        let ids = whole["findings"].as_array().unwrap().iter().filter(|f| about(f)).map(|f| f["id"].clone());
        ids.collect::<Vec<_>>()
    };
    // Heal and budget-check read the process and the log of the others.
    let is_of = |runtime: &str| {
        b.sql(&format!("UPDATE task_events SET payload = '{runtime}' WHERE kind = 'coord.spawned'"))
    };
    for runtime in ["claude", "codex", "of-tomorrow"] {
        is_of(&format!("{{\"runtime\":\"{runtime}\"}}"));
        assert_eq!(doctor(), [""; 0], "{runtime}");
    }
    is_of("{\"runtime\":\"opencode\"}");
    assert_eq!(doctor(), ["timers-missing"]);
    is_of("{}");
    let missing = doctor();
    timers(&b, &["install", "--as", "user"]).ok();
    let enable = told(&b).into_iter().find(|l| l.contains(" enable ")).unwrap();
    assert_eq!(enable, format!("{ENABLE} watchbill-coord-detect.timer"));
    assert_eq!(missing, ["timers-missing"]);
    let unit = |name: &str| fs::read_to_string(units(&b).join(name)).unwrap();
    let service = unit("watchbill-coord-detect.service");
    let start = format!("\nExecStart={} coord detect --board default --record -q\n", program("watchbill"));
    assert!(service.contains(&start), "{service}");
    assert!(unit("watchbill-coord-detect.timer").contains("\nOnCalendar=*:*:10,40\n"));
    assert_eq!((doctor(), all(&units(&b)).len()), (vec!["timers-installed".into(), "pass-never".into()], 4));
    // A pass that came too late is seen where monitoring looks.
    fs::write(b.path().join("last"), (now() - 200).to_string()).unwrap();
    assert_eq!(doctor(), ["timers-installed", "pass-overdue"]);
    let check = ask(&["check"]);
    assert!(check.contains("coord-detect: last pass 3m ago"), "{check}");
    let status = timers(&b, &["status"]).out;
    assert!(status.contains("coord-detect         every 30s  on: "), "{status}");
    assert_eq!(timers(&b, &["install", "--as", "user"]).ok(), "nothing to do\n");
    timers(&b, &["remove"]).ok();
    assert_eq!(all(&units(&b)), []);

    // As it is written it works: cron has it once a minute.
    timers(&b, &["install", "--as", "cron"]).ok();
    let crontab = fs::read_to_string(b.path().join("crontab")).unwrap();
    let line = crontab.lines().find(|l| l.contains(" coord detect ")).unwrap();
    assert!(line.starts_with("* * * * * sleep 10; out=$(HERMES_HOME="), "{line}");
    let job = line.splitn(6, ' ').nth(5).unwrap().replace("\\%", "%").replace("sleep 10; ", "");
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", &job]).env_clear().env("HOME", b.path()).env("PATH", "/usr/bin:/bin");
    let looked = ran(&mut sh);
    assert_eq!((looked.code, looked.out.as_str(), looked.err.as_str()), (0, "", ""), "{looked:?}");
    assert_eq!(doctor(), ["timers-installed"], "cron tells nobody when it was");

    // A system unit may speak to the servers of this machine.
    let folder = b.path().join("units");
    let left = timers(&b, &["install", "--as", "system", "--unit-dir", folder.to_str().unwrap()]);
    assert!(left.code == 1 && left.out.contains("watchbill-coord-detect.timer\n"), "{left:?}");
    let network = fs::read_to_string(folder.join("watchbill-coord-detect.service.d/network.conf")).unwrap();
    assert!(network.contains("\nIPAddressAllow=localhost\n"), "{network}");
}

/// Nothing tells of passes that never came but the time since they were installed.
#[test]
fn what_is_installed_and_never_comes_needs_a_person() {
    let b = home();
    let ask = |args: &[&str], seconds: i64| {
        let at = (now() + seconds).to_string();
        let args = [args, &["--now", &at]].concat();
        ran(tools::watchbill(&b, &args).env_remove("HERMES_HOME").env_remove("XDG_STATE_HOME"))
    };
    let never = "heal, synthesize-distress, route-blocked, budget-check: no pass of it is on record, and it was installed";
    let stamp = b.path().join(".local/state/watchbill/timers-installed");
    timers(&b, &["install", "--as", "cron", "-n"]).ok();
    assert!(!stamp.exists(), "a dry run writes nothing");
    for by in ["cron", "user"] {
        timers(&b, &["install", "--as", by]).ok();
        assert_eq!(stamp.exists(), by == "cron", "{by}");
        let soon = ask(&["status"], 300);
        assert!(!soon.out.contains("on record"), "{by}: {soon:?}");
        assert_eq!(ask(&["timers", "status"], 300).code, 0, "{by}");
        let status = ask(&["status"], 3_600);
        assert!(status.out.contains(never), "{by}: {status:?}");
        let check = ask(&["check"], 3_600);
        assert!(
            check.code == 2 && check.out.contains(never) && check.out.contains(" overdue=4;"),
            "{by}: {check:?}"
        );
        let doctor = ask(&["doctor", "-q"], 3_600);
        assert!(doctor.code == 1 && doctor.out.contains("error    pass-never"), "{by}: {doctor:?}");
        let listed = ask(&["timers", "status"], 3_600);
        let late = listed.out.matches("no pass on record, installed 1h ago (overdue)").count();
        assert!(listed.code == 1 && late == 4, "{by}: {listed:?}");
        timers(&b, &["remove", "--as", by]).ok();
    }
    assert!(!stamp.exists(), "and taken away with the lines");
    // Passes that are run by hand alone are not missed.
    assert!(!ask(&["status"], 3_600).out.contains("on record"));
}

/// With a target for notices, they are sent by a unit or a crontab line of their own, which alone has the network.
#[test]
fn whoever_is_to_be_told_gets_a_timer() {
    let ids_of = |b: &TestBoard, about: &str| {
        let mut doctor = tools::watchbill(b, &["doctor", "--json"]);
        let said = ran(doctor.env_remove("HERMES_HOME").env_remove("XDG_STATE_HOME")).out;
        let whole: serde_json::Value = serde_json::from_str(&said).unwrap();
        let found = whole["findings"].as_array().unwrap().iter().filter(|f| f["about"] == about);
        found.map(|f| f["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let b = home();
    timers(&b, &["install", "--as", "user"]).ok();
    assert_eq!((all(&units(&b)).len(), ids_of(&b, "notify").len()), (2, 0), "nobody is to be told");
    let b = TestBoard { config: "[notify.own]\ncommand = ['true']\n".into(), ..b };
    let ids = |about: &str| ids_of(&b, about);
    assert_eq!(ids("notify"), ["timers-missing"]);
    assert_eq!(ids("notify own"), ["notify-ready"]);
    timers(&b, &["install", "--as", "user"]).ok();
    let enable = told(&b).into_iter().rfind(|l| l.contains(" enable ")).unwrap();
    assert_eq!(enable, format!("{ENABLE} watchbill-notify.timer"));
    let service = fs::read_to_string(units(&b).join("watchbill-notify.service")).unwrap();
    let record = b.path().join(".local/state/watchbill/metrics/notify.prom");
    let start = format!("\nExecStart={} notify --metrics {}\n", program("watchbill"), record.display());
    assert!(service.contains(&start), "{service}");
    assert_eq!(ids("notify"), ["timers-installed", "pass-never"]);
    timers(&b, &["remove"]).ok();
    assert_eq!(all(&units(&b)), []);

    timers(&b, &["install", "--as", "cron"]).ok();
    let crontab = fs::read_to_string(b.path().join("crontab")).unwrap();
    let line = crontab.lines().find(|l| l.contains(" notify ")).unwrap();
    assert!(line.starts_with("*/2 * * * * sleep 40; out=$("), "{line}");
    let job = line.splitn(6, ' ').nth(5).unwrap().replace("\\%", "%").replace("sleep 40; ", "");
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", &job]).env_clear().env("HOME", b.path()).env("PATH", "/usr/bin:/bin");
    let passed = ran(&mut sh);
    assert_eq!((passed.code, passed.err.as_str()), (0, ""), "{passed:?}");
    assert_eq!(ids("notify"), ["timers-installed", "pass-recent"]);
    timers(&b, &["remove"]).ok();

    let folder = b.path().join("units");
    let left = timers(&b, &["install", "--as", "system", "--unit-dir", folder.to_str().unwrap()]);
    assert!(left.code == 1 && left.out.contains("watchbill-notify.timer\n"), "{left:?}");
    let network = fs::read_to_string(folder.join("watchbill-notify.service.d/network.conf")).unwrap();
    assert!(network.contains("\nPrivateNetwork=no\n"), "{network}");
}

/// The units that an earlier version wrote are taken away once the new one is on; what others wrote stays, and is told.
#[test]
fn four_units_become_one() {
    let b = home();
    let contrib = Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib/systemd");
    let names = shared::base::registry::NAMES;
    let write = |name: &str, mark: &str, end: &str| {
        let file = format!("watchbill-{name}.{end}");
        let text = fs::read_to_string(contrib.join(&file)).unwrap();
        fs::write(units(&b).join(&file), format!("{mark}{text}")).unwrap();
        fs::create_dir_all(b.path().join("on")).unwrap();
        if end == "timer" {
            fs::write(b.path().join("on").join(file), "").unwrap();
        }
    };
    fs::create_dir_all(units(&b)).unwrap();
    for end in ["service", "timer"] {
        names.iter().for_each(|name| write(name, "# Written by `watchbill timers install`.\n", end));
        write("route-blocked", "", end);
    }
    let gone: Vec<&str> = names.iter().copied().filter(|n| *n != "route-blocked").collect();
    let disable = gone.iter().map(|n| format!(" watchbill-{n}.timer")).collect::<String>();
    let disable = format!("systemctl --user disable --now{disable}");
    // The stand-ins are written by the first call.
    timers(&b, &["status"]).ok();
    unchanged(&b, "timers install -n", || {
        let said = timers(&b, &["install", "--as", "user", "-n"]).ok();
        assert_eq!(
            (said.matches("would write ").count(), said.matches("would remove ").count()),
            (2, 6),
            "{said}"
        );
        assert!(said.contains(&format!("would run {ENABLE}\nwould run {disable}\n")), "{said}");
    });
    told(&b);
    let r = timers(&b, &["install", "--as", "user"]);
    assert_eq!(r.code, 0, "{r:?}");
    let reload = "systemctl --user daemon-reload";
    assert_eq!(told(&b), [reload, ENABLE, &disable, reload]);
    let left: Vec<String> = all(&units(&b)).into_iter().map(|(name, _)| name).collect();
    let theirs = ["watchbill-route-blocked.service", "watchbill-route-blocked.timer"];
    assert_eq!(left, [theirs[0], theirs[1], "watchbill-run.service", "watchbill-run.timer"]);
    assert!(r.err.contains("route-blocked is started by ") && r.err.contains(theirs[1]), "{r:?}");
    assert_eq!(r.err.lines().count(), 1, "{r:?}");
    assert_eq!(timers(&b, &["install", "--as", "user"]).ok(), "nothing to do\n");

    // A crontab that has the four lines of an earlier version has one.
    let old = format!(
        "0 4 * * * backup\n# watchbill timers: begin.\n{}# watchbill timers: end\n",
        crate::tools::CRON
    );
    fs::write(b.path().join("crontab"), old).unwrap();
    timers(&b, &["install", "--as", "cron"]).ok();
    let crontab = fs::read_to_string(b.path().join("crontab")).unwrap();
    let lines: Vec<&str> = crontab.lines().filter(|l| !l.starts_with('#')).collect();
    assert!(lines.len() == 2 && lines[1].contains("watchbill run --metrics "), "{crontab}");
}

/// What each watcher did in a round is told of that watcher, whatever systemd says of the whole.
#[test]
fn a_round_is_judged_watcher_by_watcher() {
    let b = home();
    b.add("t_1", "ready");
    timers(&b, &["install", "--as", "user"]).ok();
    let state = b.path().join(".local/state/watchbill/metrics");
    fs::create_dir_all(&state).unwrap();
    let file = |name: &str, text: &str| fs::write(b.path().join(name), text).unwrap();
    let at = now();
    let record = |name: &str, ago: i64, exit: u8| {
        let text = format!(
            "# HELP watchbill_\nwatchbill_last_pass_timestamp_seconds{{program=\"{name}\"}} {}\n\
             watchbill_last_pass_exit_code{{program=\"{name}\"}} {exit}\n",
            at - ago
        );
        fs::write(state.join(format!("{name}.prom")), text).unwrap();
    };
    let moment = at.to_string();
    let status = || {
        let r = timers(&b, &["status", "--json", "--now", &moment]);
        let whole: serde_json::Value = serde_json::from_str(&r.out).unwrap();
        let each = whole["watchers"].as_array().unwrap().iter();
        assert!(whole["watchers"][0]["starters"][0]["round"] == true, "{whole:#}");
        let each = each.map(|w| (w["exit"].as_u64(), w["overdue"] == true)).collect::<Vec<_>>();
        (r.code, each)
    };
    let doctor = || {
        let mut c = tools::watchbill(&b, &["doctor", "-q", "--now", &moment]);
        let said = ran(c.env_remove("HERMES_HOME").env_remove("XDG_STATE_HOME")).out;
        let lines = said.lines().filter(|l| l.contains("pass-") || l.contains("timers-"));
        lines.map(|l| l.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    // The round began 60 s ago; heal ended by a bug, budget-check was not due.
    file("last", &(at - 60).to_string());
    file("result", "exit-code");
    file("status", "1");
    record("heal", 60, 70);
    record("synthesize-distress", 59, 0);
    record("route-blocked", 58, 0);
    record("budget-check", 500, 0);
    let fine = (Some(0), false);
    assert_eq!(status(), (0, vec![(Some(70), false), fine, fine, fine]));
    assert_eq!(doctor(), ["error pass-failed heal:"]);
    // Rounds begin, and one watcher has made no pass in them for a while.
    record("heal", 60, 0);
    record("route-blocked", 600, 0);
    file("result", "success");
    file("status", "0");
    assert_eq!(status(), (1, vec![fine, fine, (Some(0), true), fine]));
    assert_eq!(doctor(), ["error pass-overdue route-blocked:"]);
    // The program is gone: none of them is made.
    file("last", &(at - 5).to_string());
    file("result", "exit-code");
    file("status", "203");
    assert_eq!(doctor().len(), 4, "{:?}", doctor());
    // Switched off: each of them has nothing that starts it.
    fs::remove_file(b.path().join("on/watchbill-run.timer")).unwrap();
    assert_eq!(doctor().iter().filter(|l| l.starts_with("error timers-off")).count(), 4, "{:?}", doctor());
}
