//! `watchbill init`: what it finds, asks, writes, starts and sends, and what it does not touch.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::dry::unchanged;
use crate::support::{Ran, TestBoard, executable, ran};
use crate::tools;

/// A home with Hermes where it is by default, and four profiles of two providers. Nothing is configured.
fn home(profiles: &[(&str, &str)]) -> TestBoard {
    let b = TestBoard::new();
    let root = b.path().join(".hermes");
    fs::create_dir(&root).unwrap();
    for name in ["kanban", "kanban.db", "kanban.db-wal", "kanban.db-shm"] {
        let _ = fs::rename(b.path().join(name), root.join(name));
    }
    for (name, provider) in profiles {
        let folder = root.join("profiles").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.yaml"), format!("model:\n  provider: {provider}\n  default: m-1\n"))
            .unwrap();
    }
    TestBoard { db: root.join("kanban.db"), ..b }
}

const PROFILES: [(&str, &str); 4] = [("luna", "moon"), ("mona", "moon"), ("sol", "sun"), ("monday", "sun")];

/// A call at a prompt: nothing names the root.
fn command(b: &TestBoard, args: &[&str]) -> Command {
    let mut command = tools::watchbill(b, &[&["init"], args].concat());
    command.env_remove("HERMES_HOME").env_remove("XDG_STATE_HOME").env_remove("WATCHBILL_CONFIG");
    command
}

fn init(b: &TestBoard, args: &[&str]) -> Ran {
    ran(&mut command(b, args))
}

fn config(b: &TestBoard) -> PathBuf {
    b.path().join(".config/watchbill/config.toml")
}

/// The configuration that was written; empty where there is none.
fn written(b: &TestBoard) -> String {
    fs::read_to_string(config(b)).unwrap_or_default()
}

#[test]
fn flags_alone_set_everything_up_and_a_second_time_changes_nothing() {
    let b = home(&PROFILES);
    // The tools lie there before the folder is compared.
    init(&b, &["--help"]).ok();
    executable(
        &b.path().join("tools/sendmail"),
        format!("#!/bin/sh\necho \"$@\" >>{0}/mails; cat >>{0}/mails\n", b.path().display()),
    );
    let flags = [
        "--orchestrator",
        "monday",
        "--fallback",
        "luna=sol",
        "--fallback",
        "mona=sol",
        "--tell",
        "me@example.org",
        "--as",
        "user",
    ];
    let mut planned = String::new();
    unchanged(&b, "init -n", || planned = init(&b, &[flags.as_slice(), &["-n"]].concat()).ok());
    for part in [
        "profile      luna: moon, m-1\n",
        "orchestrator none: there is no profile tuesday\n",
        "told         nobody\n",
        "    [distress]\n    orchestrator = \"monday\"\n\n    [profiles.luna]\n    fallbacks = [\"sol\"]\n",
        "would write ",
        "would run systemctl --user enable --now watchbill-run.timer watchbill-notify.timer\n",
        "would send a test message\n",
    ] {
        assert!(planned.contains(part), "{part:?}: {planned}");
    }

    let said = init(&b, &flags).ok();
    let want = format!(
        "[distress]\norchestrator = \"monday\"\n\n[profiles.luna]\nfallbacks = [\"sol\"]\n\n[profiles.mona]\nfallbacks = \
         [\"sol\"]\n\n[notify.mail]\ncommand = [\"{}/.config/watchbill/notify-mail\", \"me@example.org\"]\n",
        b.path().display()
    );
    assert_eq!(written(&b), want);
    assert!(said.contains("mail: sent: ") && said.contains("The first pass comes within 2m."), "{said}");
    let mail = fs::read_to_string(b.path().join("mails")).unwrap();
    assert!(mail.starts_with("-i -- me@example.org\n") && mail.contains("\nSubject: "), "{mail}");
    assert!(b.path().join(".config/systemd/user/watchbill-run.timer").exists());
    assert!(b.path().join(".config/systemd/user/watchbill-notify.timer").exists());

    let again = init(&b, &flags).ok();
    assert!(
        again.contains("\nnothing to do\nno test message: `watchbill notify --test` sends one\n"),
        "{again}"
    );
    assert!(again.contains("orchestrator monday\n") && again.contains("its work may go to sol\n"), "{again}");
    assert_eq!(fs::read_to_string(b.path().join("mails")).unwrap(), mail, "no second message");
    assert_eq!(written(&b), want);
}

#[test]
fn what_is_configured_stays_word_for_word() {
    let b = home(&PROFILES);
    let own = "# ours\n[distress]\norchestrator = \"monday\" # she knows\n[profiles.luna]\nmodel = \"m-2\"\n";
    fs::create_dir_all(config(&b).parent().unwrap()).unwrap();
    fs::write(config(&b), own).unwrap();
    fs::set_permissions(config(&b), fs::Permissions::from_mode(0o640)).unwrap();
    let dotfiles = b.path().join("dotfiles.toml");
    fs::rename(config(&b), &dotfiles).unwrap();
    std::os::unix::fs::symlink(&dotfiles, config(&b)).unwrap();
    init(&b, &["--orchestrator", "monday", "--fallback", "luna=sol", "--no-timers"]).ok();
    let want = own.replace("[profiles.luna]\n", "[profiles.luna]\nfallbacks = [\"sol\"]\n");
    assert_eq!(fs::read_to_string(&dotfiles).unwrap(), want, "the link still leads there");
    assert!(config(&b).is_symlink());
    assert_eq!(dotfiles.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    for (flags, why) in [
        (["--orchestrator", "sol"], "--orchestrator: the configuration says monday; change it there"),
        (["--fallback", "luna=mona"], "--fallback: mona works with the same provider as luna"),
        (["--fallback", "luna=sol,monday"], "--fallback: monday decides about cards"),
    ] {
        let said = init(&b, &[flags.as_slice(), &["--no-timers"]].concat());
        assert!(said.code == 2 && said.err.contains(why), "{said:?}");
    }
    let told = format!("{want}[notify.mail]\ncommand = [\"/bin/true\", \"you@example.org\"]\n");
    fs::write(&dotfiles, &told).unwrap();
    let other = init(&b, &["--tell", "other@example.org", "--no-timers"]);
    let why = "--tell: the configuration says [notify.mail] command = [\"/bin/true\", \"you@example.org\"]; change it there";
    assert!(other.code == 2 && other.err.contains(why), "{other:?}");
    assert_eq!(fs::read_to_string(&dotfiles).unwrap(), told);
    fs::write(&dotfiles, &want).unwrap();
    // Where it leads nowhere, the disk that it leads to may not be mounted: a person mends the link first.
    fs::remove_file(&dotfiles).unwrap();
    let said = init(&b, &["--orchestrator", "monday", "--no-timers"]);
    assert!(said.code == 78 && said.err.contains("a link to what is not there; mend the link"), "{said:?}");
    assert!(config(&b).is_symlink() && !dotfiles.exists());
    // A table that is written as a value is a person's to change.
    let inline = "profiles = { luna = { model = \"m\" } }\n";
    fs::write(&dotfiles, inline).unwrap();
    let said = init(&b, &["--fallback", "luna=sol", "--no-timers"]);
    assert!(
        said.code == 78 && said.err.contains("write them by hand: [profiles.luna]; fallbacks = [\"sol\"]"),
        "{said:?}"
    );
    assert_eq!(fs::read_to_string(&dotfiles).unwrap(), inline);
}

#[test]
fn a_secret_comes_from_a_file_and_goes_nowhere_else() {
    let b = home(&PROFILES);
    let url = "https://hooks.slack.com/services/T0/B0/hush";
    let said = init(&b, &["--no-timers", "--tell", url]);
    assert!(
        said.code == 2 && said.err.contains("this URL is a secret") && said.err.contains("--tell-file"),
        "{said:?}"
    );
    let said = init(&b, &["--no-timers", "--tell", "telegram:-100"]);
    assert!(said.code == 2 && said.err.contains("--tell-file"), "{said:?}");
    let file = b.path().join("secret");
    let named = file.display().to_string();
    assert_eq!(init(&b, &["--no-timers", "--tell-file", &named]).code, 66);
    fs::write(&file, "\n").unwrap();
    assert_eq!(init(&b, &["--no-timers", "--tell-file", &named]).code, 2);
    assert_eq!(written(&b), "");

    fs::write(&file, format!("{url}\n")).unwrap();
    let planned = init(&b, &["--no-timers", "--tell-file", &named, "-n"]).ok();
    assert!(!planned.contains("hush"), "{planned}");
    let want = format!("[notify.slack]\nformat = \"slack\"\nurl_file = \"{named}\"\n");
    assert!(
        planned
            .contains(&want.replace("\n", "\n    ").replace("[notify", "    [notify").trim_end().to_owned()),
        "{planned}"
    );
    fs::write(&file, "123:token\n").unwrap();
    let telegram = ["--no-timers", "--tell", "telegram:-100", "--tell-file", &named, "-n", "--json"];
    let planned = init(&b, &telegram).json();
    let added = planned["config"]["added"].as_str().unwrap();
    assert!(
        added.contains("chat = \"-100\"") && added.contains("token_file = ") && !added.contains("123:token"),
        "{added}"
    );
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let b = home(&PROFILES);
    for (flags, code, why) in [
        (&["--orchestrator", "ghost"][..], 2, "there is no profile ghost; there are luna, mona, monday, sol"),
        (&["--fallback", "luna"], 2, "write PROFILE=NAME"),
        (&["--fallback", "luna=ghost"], 2, "there is no profile ghost"),
        (&["--tell", "nobody"], 2, "write an address like you@example.org"),
        (&["--tell", "/bin/page"], 2, "as [notify.NAME] with command = [\"PROGRAM\", \"ARGUMENT\"]"),
        (&["--board", "nope"], 66, "no such board"),
        (&["--hermes-root", "/nope"], 66, "no board found"),
        (&["--as", "cron"], 2, "cannot be used with"),
    ] {
        let said = init(&b, &[&["--no-timers"], flags].concat());
        assert!(said.code == code && said.err.contains(why), "{flags:?}: {said:?}");
        assert_eq!(written(&b), "");
    }
}

#[test]
fn a_second_url_is_refused_and_the_same_one_is_nothing_to_do() {
    let b = home(&PROFILES);
    let tell = |url: &str| init(&b, &["--no-timers", "--tell", url]);
    assert_ne!(tell("json:http://127.0.0.1:9/x").code, 2, "the test message may fail");
    let before = written(&b);
    assert!(before.contains("http://127.0.0.1:9/x"), "{before}");
    assert_eq!(tell("json:http://127.0.0.1:9/x").code, 0, "it is said already");
    let said = tell("json:http://127.0.0.1:9/other").fails(2);
    assert!(
        said.contains("http://127.0.0.1:9/x") && said.contains("add another [notify.NAME] table"),
        "{said}"
    );
    assert_eq!(written(&b), before);
}

#[test]
fn no_first_pass_is_promised_where_nothing_starts_one() {
    let b = home(&PROFILES);
    let said = init(&b, &["--as", "cron"]);
    let is_idle = said.err.contains("no cron daemon runs here");
    assert_eq!(said.out.contains("The first pass comes within 2m."), !is_idle, "{said:?}");
    assert!(said.code == 0 && !is_idle, "{said:?}");

    let b = home(&PROFILES);
    init(&b, &["--help"]).ok();
    fs::write(b.path().join("tools/proc/9/comm"), "crontab\n").unwrap();
    let planned = init(&b, &["--as", "cron", "--orchestrator", "monday", "-n"]);
    assert!(planned.code == 0 && planned.out.contains("warning: no cron daemon runs here"), "{planned:?}");
    let said = init(&b, &["--as", "cron", "--orchestrator", "monday"]);
    assert!(said.code == 1 && said.err.contains("no cron daemon runs here"), "{said:?}");
    assert!(!said.out.contains("The first pass"), "{said:?}");
    let again = init(&b, &["--as", "cron", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&again.out).unwrap();
    let warns = said["timers"]["warnings"][0].as_str().is_some_and(|w| w.contains("no cron daemon"));
    assert!(warns && said["exit"] == 1, "{again:?}");
    assert!(written(&b).contains("monday") && b.path().join("crontab").exists(), "all was written: {said:?}");
}

#[test]
fn the_plan_shows_the_lines_of_the_crontab_and_nothing_of_others() {
    let b = home(&PROFILES);
    fs::write(b.path().join("crontab"), "MAILTO=anna\n@daily backup\n").unwrap();
    let planned = init(&b, &["--as", "cron", "--tell", "http://127.0.0.1:9/x", "-n"]).ok();
    let lines = planned.split("would write the crontab\n").nth(1).unwrap();
    let lines: Vec<&str> = lines.lines().take_while(|line| line.starts_with("    ")).collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("    */2 * * * * ")), "{planned}");
    assert!(lines[0].contains("watchbill run ") && lines[1].contains("watchbill notify "), "{planned}");
    assert!(!planned.contains("backup"), "{planned}");
}

#[test]
fn a_board_that_the_watchers_could_not_write_is_told_before_anything_is_done() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let b = home(&PROFILES);
    let root = b.path().join(".hermes");
    let night = root.join("kanban/boards/night");
    fs::create_dir_all(&night).unwrap();
    fs::copy(&b.db, night.join("kanban.db")).unwrap();
    for (place, user) in
        [(b.db.clone(), 1_001), (root, 1_001), (night.join("kanban.db"), 1_002), (night, 1_002)]
    {
        std::os::unix::fs::chown(place, Some(user), Some(user)).unwrap();
    }
    // The owner of the first board runs system units.
    let planned = init(&b, &["--as", "system", "-n"]).ok();
    assert!(
        planned.contains("warning: user 1001 would run the watchers and cannot write board night:\n"),
        "{planned}"
    );
    assert!(!planned.contains("board default: "), "{planned}");
    let planned = init(&b, &["--as", "cron", "-n"]).ok();
    assert!(!planned.contains("warning"), "root may: {planned}");
}

#[test]
fn one_json_object_tells_what_was_found_and_done() {
    let b = home(&PROFILES);
    let said = init(&b, &["--json", "--orchestrator", "monday", "--as", "cron"]).json();
    assert_eq!(said["schema"], "watchbill.init/1");
    assert_eq!((&said["exit"], &said["dry_run"]), (&Value::from(0), &Value::from(false)));
    assert_eq!(said["found"]["profiles"][0]["provider"], "moon");
    assert_eq!(said["found"]["orchestrator"], Value::Null);
    assert_eq!(said["config"]["added"], "[distress]\norchestrator = \"monday\"\n");
    assert_eq!(said["config"]["file"], config(&b).to_str().unwrap());
    assert_eq!(said["timers"]["changes"][0]["do"], "crontab");
    assert_eq!(said["test"], Value::Array(Vec::new()), "nobody is to be told");
    let crontab = fs::read_to_string(b.path().join("crontab")).unwrap();
    assert!(said["timers"]["left"].as_array().unwrap().is_empty());
    assert!(crontab.contains("watchbill run ") && !crontab.contains("watchbill notify "), "{crontab}");
}

#[test]
fn a_test_message_that_does_not_arrive_is_said() {
    let b = home(&PROFILES);
    let said = init(&b, &["--no-timers", "--tell", "http://127.0.0.1:9/x"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("webhook: 127.0.0.1:9 takes no connection"), "{said:?}");
    assert_eq!(written(&b), "[notify.webhook]\nurl = \"http://127.0.0.1:9/x\"\n");
}

/// The mailer of `init` says what is missing, the line what to run then, and `status` does not forget it.
#[test]
fn a_mail_that_cannot_be_sent_is_told_with_what_to_do() {
    let b = home(&PROFILES);
    init(&b, &["--help"]).ok();
    let sendmail = b.path().join("tools/sendmail");
    executable(&sendmail, "#!/bin/sh\necho no relay >&2; exit 75\n");
    let said = init(&b, &["--no-timers", "--tell", "me@example.org"]);
    assert_eq!(said.code, 1, "{said:?}");
    let again = "mend that, then: watchbill notify --test --target mail";
    assert!(said.err.contains(": no relay; ") && said.err.contains(again), "{said:?}");
    let watchbill = |args: &[&str]| {
        let mut command = tools::watchbill(&b, args);
        ran(command.env_remove("HERMES_HOME").env_remove("XDG_STATE_HOME").env_remove("WATCHBILL_CONFIG"))
    };
    let status = watchbill(&["status"]).ok();
    assert!(status.contains("! notify mail: a test message failed, for "), "{status}");
    assert!(status.contains("\n    do: watchbill notify --test --target mail\n"), "{status}");
    assert!(watchbill(&["check"]).out.contains("notify mail: a test message failed"));
    // A machine may have one where the `PATH` of the test does not hide it.
    if ["/usr/bin", "/bin", "/usr/sbin", "/usr/lib"]
        .iter()
        .all(|dir| !PathBuf::from(dir).join("sendmail").exists())
    {
        fs::remove_file(&sendmail).unwrap();
        let said = watchbill(&["notify", "--test", "--target", "mail"]).fails(1);
        let want = "there is no sendmail here: install a package that has it, such as msmtp-mta";
        assert!(said.contains(want), "{said}");
    }
    executable(&sendmail, "#!/bin/sh\ncat >/dev/null\n");
    assert!(watchbill(&["notify", "--test"]).ok().starts_with("mail: sent: "));
    assert!(!watchbill(&["status"]).ok().contains("notify mail"));
}

/// A board outside of any Hermes root, where nothing names one.
#[test]
fn a_board_that_only_db_names_is_written_so_that_it_is_found_again() {
    let b = TestBoard::new();
    let night = b.path().join("night");
    for name in ["board.db", "other.db"] {
        fs::create_dir_all(&night).unwrap();
        ran(b.command("board").arg("init").arg(night.join(name))).ok();
    }
    let watchbill = |args: &[&str]| {
        let mut command = tools::watchbill(&b, args);
        command.env_remove("HERMES_HOME").env_remove("XDG_STATE_HOME").env_remove("WATCHBILL_CONFIG");
        ran(command.current_dir(b.path()))
    };
    let said = watchbill(&["status"]).fails(66);
    assert!(said.contains("name a board with --db, or set board.db in the configuration"), "{said}");

    let flags = ["init", "--no-timers", "--db", "night/board.db"];
    let key = format!("db = \"{}\"\n", night.join("board.db").display());
    let planned = watchbill(&[&flags[..], &["-n"]].concat()).ok();
    assert!(
        planned.contains(&format!("    [board]\n    {key}")) && !planned.contains("nothing to do"),
        "{planned}"
    );
    assert_eq!(written(&b), "");
    watchbill(&flags).ok();
    assert_eq!(written(&b), format!("[board]\n{key}"));
    for command in [["status"], ["run"], ["report"]] {
        assert_eq!(watchbill(&command).code, 0, "{command:?}");
    }
    let again = watchbill(&flags).ok();
    assert!(again.ends_with("\nnothing to do\n"), "{again}");

    // The key names one board.
    let other = night.join("other.db").display().to_string();
    let said = watchbill(&["init", "--no-timers", "--db", &other]);
    let want = format!("{other}: found with --db alone; the configuration says board.db = ");
    assert!(said.code == 0 && said.err.contains(&want), "{said:?}");
    assert_eq!(written(&b), format!("[board]\n{key}"));

    // What is found anyway needs no key.
    let b = home(&PROFILES);
    let db = b.db.display().to_string();
    assert!(
        init(&b, &["--no-timers", "--orchestrator", "monday", "--db", &db, "-n"]).ok().contains("monday")
    );
    init(&b, &["--no-timers", "--db", &db]).ok();
    assert_eq!(written(&b), "");
}

/// Answers one question after the other; `EOF` ends the input.
fn at_a_terminal(b: &TestBoard, answers: &str, args: &[&str]) -> String {
    let keys = answers.split('|').filter(|_| !answers.is_empty());
    let keys = keys.map(|a| if a == "EOF" { "\u{4}".to_owned() } else { format!("{a}\n") });
    let seen = crate::terminal::typed(&command(b, args), &keys.collect::<Vec<_>>(), r"[:\]] \Z");
    format!("{}\nEND {} {}\n", seen.text, seen.code, seen.left)
}

#[test]
fn at_a_terminal_it_asks_for_what_only_a_person_knows() {
    let b = home(&PROFILES);
    let answers = "tuesday|monday|mona|sol||slack:http://127.0.0.1:9/hush|";
    // No is an answer, and so is the end of the input.
    for (last, end) in [("n", "\nEND 0 0\n"), ("EOF", "\nEND 2 0\n")] {
        let said = at_a_terminal(&b, &format!("{answers}{last}"), &["--as", "cron"]);
        assert!(said.ends_with(end), "{said}");
        assert!(!b.path().join(".config").exists() && !b.path().join("crontab").exists(), "{said}");
    }
    let said = at_a_terminal(&b, &format!("{answers}y"), &["--as", "cron"]);
    for part in [
        "Which profile decides about blocked work?",
        "  there is no profile tuesday; there are luna, mona, monday, sol",
        "When moon refuses work, who may take that of luna, mona?\n  one or more of sol (Enter: nobody): mona\n",
        "mona works with the same provider as luna",
        "When sun refuses work, who may take that of sol?\n  one or more of luna, mona (Enter: nobody): \n",
        "would write ",
    ] {
        assert!(said.contains(part), "{part:?}: {said}");
    }
    // Nobody listens there: the message fails, and what was written stays.
    assert!(said.contains("watchbill notify: slack: 127.0.0.1:9 takes no connection"), "{said}");
    assert!(said.ends_with("\nEND 1 0\n"), "{said}");
    let secret = b.path().join(".config/watchbill/notify-slack.secret");
    assert_eq!(secret.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&secret).unwrap(), "http://127.0.0.1:9/hush\n");
    let config = written(&b);
    assert!(!config.contains("hush") && config.contains("url_file = "), "{config}");
    assert!(
        config.contains("[profiles.mona]\nfallbacks = [\"sol\"]\n") && !config.contains("profiles.sol"),
        "{config}"
    );
    // Now only what is still open is asked: nothing.
    let said = at_a_terminal(&b, "", &["--as", "cron", "--fallback", "sol=luna", "--yes"]);
    assert!(said.contains("wrote ") && !said.contains('?'), "{said}");
}

#[test]
fn where_there_are_many_profiles_numbers_stand_for_names() {
    let names: Vec<String> = (1..=12).map(|n| format!("sol{n:02}")).collect();
    let mut profiles = vec![("luna", "moon"), ("monday", "sun")];
    profiles.extend(names.iter().map(|name| (name.as_str(), "sun")));
    let b = home(&profiles);
    let said = at_a_terminal(&b, "13|3, sol12|luna||y", &["--as", "cron", "--orchestrator", "monday"]);
    assert!(
        said.contains("  one or more of 1 sol01, 2 sol02, ") && said.contains("there is no number 13"),
        "{said}"
    );
    assert!(
        said.contains("who may take that of sol01, sol02, ") && said.contains("sol08 and 4 more?"),
        "{said}"
    );
    assert!(written(&b).contains("[profiles.luna]\nfallbacks = [\"sol03\", \"sol12\"]\n"), "{said}");
}
