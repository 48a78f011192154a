//! What people type wrong, as a newcomer tried it: each row with its exit code and what is said about it. Rows that need another
//! user, a full disk or a signal stand below the table, or where the comment says.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Ran, TestBoard, executable, program, ran};

/// Number, program and arguments (`{db}` the board, `{dir}` its folder), exit code, and a part of what is said.
type Row = (u8, &'static str, i32, &'static str);

const ROWS: &[Row] = &[
    (1, "watchbill heel", 2, "similar subcommands exist: 'heal', 'help'"),
    (1, "watchbill reprot", 2, "a similar subcommand exists: 'report'"),
    (2, "watchbill status --db {db}", 0, "1 ready"),
    (3, "watchbill run -n --db {db}", 0, ""),
    (4, "watchbill init --db {dir}/nope", 66, "nope: no such board"),
    (4, "watchbill watch", 2, "tip: did you mean `watchbill status --watch`?"),
    (4, "watchbill version", 2, "tip: did you mean `watchbill --version`?"),
    (4, "watchbill list", 2, "tip: did you mean `board list`?"),
    (4, "watchbill start", 2, "tip: did you mean `watchbill timers install`?"),
    (4, "watchbill log", 2, "tip: did you mean `watchbill report`?"),
    (4, "watchbill timers list", 2, "invalid value 'list' for '<ACTION>'"),
    (5, "heal --dryrun", 2, "a similar argument exists: '--dry-run'"),
    (6, "board block t_ac7aa76c --worker sol", 2, "unexpected argument '--worker' found"),
    (7, "heal -n --task t_nope", 1, "--task t_nope: no such task on any of these boards"),
    (7, "heal -n --task t_ac7aa76d", 1, "did you mean t_ac7aa76c Fix the flaky login test?"),
    (8, "watchbill why ac7aa76c", 0, "t_ac7aa76c is ready"),
    (9, "watchbill why t_ac7a", 0, "t_ac7aa76c is ready"),
    (10, "board --db {db} reassign t_ac7aa76c ghost", 1, "ghost: no such profile"),
    (10, "board --db {db} reassign t_ac7aa76c sol", 0, ""),
    (10, "board --db {db} reassign t_ac7aa76c ghost --force", 0, ""),
    (10, "board --db {db} reassign t_ac7aa76c luna", 0, ""),
    (11, "board --db {db} add x --assignee ghost", 1, "one of luna, sol; or --force"),
    (11, "board --db {db} add x --assignee ghost --force", 0, "t_"),
    (
        11,
        "board --db {db} add x --assignee ../../etc --force",
        1,
        "../../etc: not the name of a profile; a-z, 0-9, - and _",
    ),
    (11, "board --db {db} add x --time-budget 0s", 2, "must be more than 0s"),
    (12, "board --db {db} list --status runing", 2, "no such state; one of triage, todo"),
    (13, "board --db {db} list --assignee nobody", 0, ""),
    (14, "board --db {db} claim --worker nova", 0, ""),
    (14, "coord --db {db} status", 0, ""),
    (15, "heal --db {dir}/nope", 66, "nope: no such board"),
    (15, "heal --db {dir}", 65, "not a file"),
    (15, "heal --db {dir}/text", 65, "file is not a database"),
    (15, "heal --db {dir}/empty", 66, "empty file"),
    (15, "heal --db {dir}/other.db", 65, "no table `tasks`"),
    (16, "heal --board nope", 66, "no such board"),
    (16, "heal --hermes-root {dir}/nope", 66, "no board found; set HERMES_HOME or --hermes-root"),
    // 17 to 20 need another user, see below; that a pass may not change is `exits::what_is_not_permitted_is_77`. 21: `board::sqlite::file`.
    (22, "heal -n --config {dir}/typo.toml", 78, "unknown key `heal.grase`; did you mean `grace`?"),
    (22, "heal -n --config {dir}/unit.toml", 78, "counts months or years, and minutes are a small `m`"),
    (23, "heal -n --config {dir}/section.toml", 78, "did you mean `fallbacks` of [profiles.NAME]?"),
    (23, "heal -n --config {dir}/top.toml", 78, "did you mean `fallbacks` of [profiles.NAME]?"),
    (24, "heal -n --config {dir}/open.toml", 78, "chmod o-w"),
    (28, "watchbill report --db {db} --since yesterday", 0, ""),
    (28, "watchbill replay --db {db} --config {dir}/new.toml --since yesterday", 1, "nothing is kept"),
    (28, "coord --db {db} detect --since yesterday", 0, ""),
    (28, "watchbill report --db {db} --since 2026-01-31", 0, ""),
    (29, "watchbill report --db {db} --since 12", 2, "--since 12: has no unit; write 12h"),
    (29, "watchbill replay --db {db} --config {dir}/new.toml --since 12", 2, "write 12h"),
    (29, "coord --db {db} detect --since 12", 2, "write 12h"),
    (30, "heal --now 3am", 2, "not RFC 3339 or epoch seconds"),
    (31, "heal --now 1800000000", 2, "changes a board only with an explicit --db; add --dry-run"),
    (32, "watchbill pause --db {db} --until 25:00", 2, "--until 25:00: not a time; write HH:MM"),
    (32, "watchbill pause --db {db} --for 5x", 2, "--for 5x: has the unknown unit \"x\"; write 90m or 12h"),
    (33, "watchbill pause --db {db} --for 0s", 2, "--for 0s: ends at once"),
    (34, "watchbill report --db {db} --html {dir}/text", 2, "holds something else than a page"),
    (34, "watchbill report --db {db} --html {dir}", 2, "is a folder"),
    (35, "watchbill report --db {db} --html {dir}/new/x.html", 0, "made the folder {dir}/new"),
    (36, "watchbill match {db}", 65, "a database, not a log"),
    (37, "heal --metrics x.prom -n", 2, "cannot be used with"),
    (38, "watchbill check -w abc", 3, "invalid value 'abc' for '--warning <N>'"),
    (39, "watchbill undo --db {db} nonsense", 1, "nonsense: looks neither like a task nor a pass"),
    // 40: `exits::a_full_disk_and_a_closed_pipe`. 41: `demo`. 43: `contrib::console`.
    (44, "watchbill why ac7aa76c t_ac7a", 0, "t_ac7aa76c is ready"),
];

fn night() -> TestBoard {
    let b = TestBoard::new();
    b.add("t_ac7aa76c", "ready");
    b.sql("UPDATE tasks SET title = 'Fix the flaky login test'");
    for profile in ["luna", "sol"] {
        fs::create_dir_all(b.path().join("profiles").join(profile)).unwrap();
    }
    let file = |name: &str, text: &str| fs::write(b.path().join(name), text).unwrap();
    file("text", &"no database, and long enough to be looked at as one would be\n".repeat(20));
    file("empty", "");
    file("new.toml", "");
    file("typo.toml", "[heal]\ngrase = \"5m\"\n");
    file("unit.toml", "[heal]\ngrace = \"15M\"\n");
    file("section.toml", "[routing.fallbacks]\nluna = [\"sol\"]\n");
    file("top.toml", "[fallbacks]\nluna = [\"sol\"]\n");
    file("open.toml", "");
    fs::set_permissions(b.path().join("open.toml"), fs::Permissions::from_mode(0o666)).unwrap();
    let other = rusqlite::Connection::open(b.path().join("other.db")).unwrap();
    other.execute_batch("CREATE TABLE notes (id INTEGER)").unwrap();
    b
}

fn filled(b: &TestBoard, text: &str) -> String {
    text.replace("{db}", b.db.to_str().unwrap()).replace("{dir}", b.path().to_str().unwrap())
}

fn typed(b: &TestBoard, line: &str) -> Ran {
    let line = filled(b, line);
    let mut words = line.split(' ');
    ran(b.command(words.next().unwrap()).args(words))
}

#[test]
fn each_is_told_what_is_wrong() {
    let b = night();
    let mut otherwise = Vec::new();
    for (n, line, code, said) in ROWS {
        let r = typed(&b, line);
        let all = format!("{}{}", r.out, r.err);
        if r.code != *code || !all.contains(&filled(&b, said)) || (*code != 0 && r.err.is_empty()) {
            otherwise.push(format!("{n}: {line}: {r:?}"));
        }
    }
    assert!(otherwise.is_empty(), "{}", otherwise.join("\n"));
}

#[test]
fn no_suggestion_changes_anything() {
    let b = night();
    for line in [
        "watchbill paus",
        "watchbill pase",
        "watchbill unpaus",
        "watchbill und",
        "watchbill undoo",
        "watchbill stat",
        "watchbill runn",
        "watchbill us",
        "watchbill timers remov",
        "watchbill timers remve",
    ] {
        let said = typed(&b, line).err;
        let tip = said.lines().find(|l| l.contains("similar")).unwrap_or("");
        for trap in ["pause", "undo", "remove"] {
            assert!(!tip.contains(trap), "{line}: {said}");
        }
        assert!(!said.contains("exist: \n") && !said.contains("exists: \n"), "{line}: {said}");
    }
    let said = typed(&b, "board block t_ac7aa76c --worker sol").err;
    assert!(!said.contains("tip:"), "{said}");
}

#[test]
fn what_is_empty_is_said_at_a_terminal() {
    let b = night();
    let at = |line: &str| {
        let mut words = line.splitn(2, ' ');
        b.on_a_terminal(&format!("{} {}", program(words.next().unwrap()), words.next().unwrap()))
    };
    assert!(at("board list --assignee nobody").contains("no tasks"));
    assert!(at("board claim --worker nova").contains("no task is ready for this worker"));
    assert!(at("coord status").contains("no sessions"));
}

#[test]
fn what_the_environment_says_wrong() {
    let b = night();
    let heal = |name: &str, value: &OsStr| ran(b.command("heal").arg("-n").env(name, value));
    let said = heal("WATCHBILL_HEAL_GRASE", OsStr::new("5m")).fails(78);
    assert!(said.contains("did you mean `WATCHBILL_HEAL_GRACE`?"), "{said}"); // 26
    // Taken for not set, it would lead to the board of ~/.hermes.
    let said = heal("HERMES_HOME", OsStr::from_bytes(b"/srv/\xff")).fails(78);
    assert!(said.contains("HERMES_HOME: is set to a path that is not UTF-8; rename the folder"), "{said}");
    let nowhere = tempfile::tempdir().unwrap();
    let mut heal = b.command("heal");
    heal.env_remove("HERMES_HOME").env("HOME", nowhere.path());
    assert!(ran(&mut heal).fails(66).contains("no board found")); // 27
    let bytes = OsStr::from_bytes(b"t_\xff");
    assert_eq!(ran(b.command("watchbill").arg("why").arg(bytes)).code, 2); // 42
}

#[test]
fn a_pause_says_what_it_replaces() {
    let b = night();
    let pause =
        |args: &[&str]| ran(b.command("watchbill").arg("pause").args(["--db", "kanban.db"]).args(args)).ok();
    assert!(
        pause(&["--reason", "disk move"]).contains("paused"),
        "a file of the present folder has one, too"
    );
    assert!(b.path().join("watchbill.pause").is_file());
    let said = pause(&[]);
    assert!(said.contains("(was: paused") && said.contains("disk move"), "{said}");
}

/// A program as nobody, copied to where nobody can reach it.
pub(crate) fn as_nobody(b: &TestBoard, name: &str, args: &[&str]) -> Ran {
    let copies = tempfile::tempdir().unwrap();
    fs::set_permissions(copies.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = copies.path().join(name);
    executable(&copy, fs::read(program(name)).unwrap());
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy).args(args).current_dir("/");
    other.env_clear().env("HOME", copies.path()).env("HERMES_HOME", b.path()).stdin(Stdio::null());
    ran(&mut other)
}

/// A task in a folder of another user: it fails alone, and holds up no other.
#[test]
fn a_folder_that_may_not_be_entered_is_a_failed_start_and_holds_up_no_other() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let b = TestBoard::own();
    let folder = |name: &str, mode| {
        let path = fs::canonicalize(b.path()).unwrap().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let (secret, open) = (folder("secret", 0o700), folder("open", 0o755));
    let add = |title: &str, args: &[&str]| {
        b.hand(&[&["add", title, "--assignee", "luna"], args].concat()).ok().trim().to_owned()
    };
    let closed = add("Read the letters", &["--priority", "5", "--workspace", &secret]);
    let free = add("Light the lanterns", &["--workspace", &open]);
    assert!(Command::new("chown").args(["-R", "65534:65534"]).arg(b.path()).status().unwrap().success());
    std::os::unix::fs::chown(&secret, Some(0), Some(0)).unwrap();
    let said = as_nobody(
        &b,
        "board",
        &["--db", b.db.to_str().unwrap(), "run", "--assignee", "luna", "--", "/bin/true"],
    );
    let line = format!(
        "board: {closed}: workspace: [Errno 13] Permission denied: '{secret}'; counted as a failed start"
    );
    assert_eq!((said.code, said.err.trim(), said.out), (0, &*line, format!("{free} done\n")));
}

/// Row 19: a board that everybody may read, in a folder that only its owner may write.
#[test]
fn another_user_may_look_at_a_board_and_changes_nothing() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let b = night();
    let db = b.db.to_str().unwrap();
    fs::set_permissions(b.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let files = || {
        let all = fs::read_dir(b.path()).unwrap().flatten().map(|e| e.file_name());
        all.collect::<std::collections::BTreeSet<_>>()
    };
    let looks = |what: &str| {
        let before = files();
        for (program, args, code, said) in [
            ("heal", &["-n", "-v", "--db", db][..], 0, "looked at 1 open"),
            ("watchbill", &["why", "t_ac7aa76c", "--db", db], 0, "t_ac7aa76c is ready"),
            ("watchbill", &["report", "-v", "--db", db], 0, "1 ready"),
            ("watchbill", &["status", "--db", db], 0, "1 ready"),
            ("watchbill", &["check", "--db", db], 2, "not writable: "),
            ("board", &["--db", db, "list"], 0, "Fix the flaky login test"),
        ] {
            let ran = as_nobody(&b, program, args);
            assert!(ran.code == code && ran.out.contains(said), "{what} {program} {args:?}: {ran:?}");
        }
        assert_eq!(files(), before, "{what}");
        let changes = as_nobody(&b, "board", &["--db", db, "reassign", "t_ac7aa76c", "sol"]);
        assert!(changes.fails(77).contains("folder"), "{what}");
    };
    // No process has it open; then one has, with news that are only in the log.
    fs::remove_file(b.path().join("kanban.db-wal")).ok();
    fs::remove_file(b.path().join("kanban.db-shm")).ok();
    looks("closed");
    let open = b.open();
    open.execute_batch("PRAGMA wal_autocheckpoint = 0; UPDATE tasks SET title = title || ' soon'").unwrap();
    assert!(b.path().join("kanban.db-wal").metadata().unwrap().len() > 0);
    looks("open");
    let listed = as_nobody(&b, "board", &["--db", db, "list"]).out;
    assert!(listed.contains("Fix the flaky login test soon"), "{listed}");
}

#[test]
fn what_another_user_may_not_see_is_said_to_be_so() {
    // Root may do everything; without it nobody else can be played.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let b = night();
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(b.path(), 0o700);
    let said = as_nobody(&b, "heal", &["-n"]).fails(77); // 17
    assert!(
        said.contains(&format!(
            "{}: permission denied; run this as the user who owns it",
            b.path().display()
        )),
        "{said}"
    );
    mode(b.path(), 0o755);
    // Beside one that may be seen.
    let boards = b.path().join("kanban/boards");
    fs::create_dir_all(boards.join("side")).unwrap();
    fs::copy(&b.db, boards.join("side/kanban.db")).unwrap();
    for (hidden, named) in
        [(boards.clone(), boards.display().to_string()), (boards.join("side"), "side".into())]
    {
        mode(&hidden, 0o000);
        let said = as_nobody(&b, "watchbill", &["check"]);
        assert!(said.code == 3 || said.code == 2, "{said:?}");
        let line = said.out.to_lowercase();
        assert!(said.out.contains(&named) && line.contains("permission denied"), "{said:?}");
        mode(&hidden, 0o755);
    }
    fs::remove_dir_all(&boards).unwrap();
    fs::create_dir_all(boards.join("side")).unwrap();
    std::os::unix::fs::symlink("/nowhere/kanban.db", boards.join("side/kanban.db")).unwrap();
    let said = as_nobody(&b, "watchbill", &["check"]);
    assert!(said.code != 0 && said.out.contains("side"), "{said:?}");
    fs::remove_dir_all(&boards).unwrap();
    // A board without a name is called by its path, once.
    let alone = b.path().join("alone.db");
    fs::copy(&b.db, &alone).unwrap();
    mode(&alone, 0o600);
    let said = as_nobody(&b, "watchbill", &["check", "--db", alone.to_str().unwrap()]).out; // 18
    let denied = format!("WATCHBILL CRITICAL - {}: permission denied", alone.display());
    assert!(said.starts_with(&denied) && said.matches("alone.db").count() == 1, "{said}");
    let said = as_nobody(&b, "watchbill", &["pause", "--db", b.db.to_str().unwrap()]).fails(77); // 20
    assert!(
        said.contains("watchbill.pause: cannot be written; nothing was changed; run this as the user"),
        "{said}"
    );
    assert!(!b.path().join("watchbill.pause").exists());
}

#[test]
fn a_board_whose_file_is_lost_is_missed_beside_another_one() {
    let b = night();
    let look =
        |program: &str, args: &[&str]| ran(b.command(program).env_remove("HERMES_KANBAN_DB").args(args));
    let side = b.path().join("kanban/boards/side");
    fs::create_dir_all(&side).unwrap();
    fs::copy(&b.db, side.join("kanban.db")).unwrap();
    b.add("t_0000beef", "running");
    b.run_it("t_0000beef", Some(std::process::id().into()), 60);
    let _ = look("heal", &[]);
    let kept = b.path().join("away.db");
    fs::rename(&b.db, &kept).unwrap();
    for _ in 0..2 {
        let said = look("watchbill", &["check"]);
        assert!(said.code != 0 && said.out.contains("default"), "{said:?}");
        assert_ne!(look("heal", &["-n"]).code, 0);
        // Empty, as some programs leave it.
        fs::write(&b.db, "").unwrap();
    }
    fs::rename(&kept, &b.db).unwrap();
    assert_eq!(look("heal", &["-n"]).code, 0);
    // With its folder it is missed too, until the operator says that this is meant.
    fs::remove_dir_all(&side).unwrap();
    let said = look("heal", &["-n"]);
    assert!(said.code == 1 && said.err.contains("watchbill forget"), "{said:?}");
    assert_eq!(look("watchbill", &["forget", "--board", "side"]).code, 0);
    assert_eq!(look("heal", &["-n"]).code, 0);
}
