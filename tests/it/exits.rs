//! Every exit code, and every file that is not a board Watchbill may read or write.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal};

use crate::support::{TestBoard, dead_pid, executable, now, program, ran, until};

fn broken(b: &TestBoard) {
    b.add("t_000000a1", "ready");
    b.run_it("t_000000a1", Some(dead_pid()), 900);
}

/// Root may do everything, so rights are tested as nobody; the programs are copied to where nobody can reach them.
fn as_nobody(b: &TestBoard, args: &[&str]) -> crate::support::Ran {
    let open = |p: &Path| fs::set_permissions(p, fs::Permissions::from_mode(0o755)).unwrap();
    open(b.path());
    let heal = b.path().join("heal-copy");
    executable(&heal, fs::read(program("heal")).unwrap());
    let mut as_other = std::process::Command::new("setpriv");
    as_other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&heal).args(args);
    as_other.env_clear().envs(b.environment()).stdin(Stdio::null());
    ran(&mut as_other)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn nothing_to_do_prints_nothing_and_exits_0() {
    let b = TestBoard::new();
    let r = b.heal(&[]);
    assert_eq!((r.code, r.out.as_str(), r.err.as_str()), (0, "", ""));
}

#[test]
fn help_and_version_exit_0_and_wrong_usage_2() {
    let b = TestBoard::new();
    assert!(b.heal(&["--help"]).ok().contains("--dry-run"));
    assert!(b.heal(&["--version"]).ok().starts_with("heal 0."));
    for args in [&["--no-such"][..], &["--now", "yesterday"], &["-v", "-q"], &["surplus"]] {
        assert_eq!(b.heal(args).code, 2, "{args:?}");
    }
    assert!(b.heal(&["--now", "5"]).fails(2).contains("--db"));
    assert!(b.heal(&["--board", "No Slug"]).fails(2).contains("slug"));
    assert!(b.heal(&["--task", "everything"]).fails(2).contains("not a task id"));
}

#[test]
fn one_program_has_seven_names() {
    let b = TestBoard::new();
    broken(&b);
    let db = b.db.to_str().unwrap();
    let one = b.heal(&["-n", "--db", db]).ok();
    let two = ran(b.command("watchbill").args(["heal", "-n", "--db", db])).ok();
    assert_eq!(one, two);
    assert!(one.contains("requeue"), "{one}");
}

#[test]
fn no_board_is_66_always() {
    let b = TestBoard::new();
    let missing = b.path().join("missing.db");
    assert!(b.heal(&["--db", missing.to_str().unwrap()]).fails(66).contains("no such board"));
    assert!(!missing.exists(), "looking must not make one");
    let empty = b.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    assert!(b.heal(&["--db", empty.to_str().unwrap()]).fails(66).contains("empty file"));
    assert_eq!(fs::metadata(&empty).unwrap().len(), 0);
    let nowhere = tempfile::tempdir().unwrap();
    let r = ran(b.command("heal").env("HERMES_HOME", nowhere.path()));
    assert!(r.fails(66).contains("no board found"));
    let r = ran(b.command("heal").env_remove("HERMES_HOME").env("HOME", nowhere.path()));
    assert!(r.fails(66).contains("--hermes-root"));
    assert!(b.heal(&["--board", "unknown"]).fails(66).contains("no such board"));
}

#[test]
fn what_is_no_board_is_65_and_stays_as_it_is() {
    let b = TestBoard::new();
    let file = b.path().join("other.db");
    let at = file.to_str().unwrap();
    fs::write(
        &file,
        "hello, I am a text file and long enough to be looked at as a database header would be\n".repeat(20),
    )
    .unwrap();
    let before = fs::read(&file).unwrap();
    assert!(b.heal(&["--db", at]).fails(65).contains("other.db"));
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(
        b.heal(&["--db", b.path().to_str().unwrap()]).fails(65),
        format!("heal: {}: not a file", b.path().display())
    );

    fs::remove_file(&file).unwrap();
    let conn = rusqlite::Connection::open(&file).unwrap();
    conn.execute_batch("CREATE TABLE notes (id INTEGER)").unwrap();
    drop(conn);
    assert!(b.heal(&["--db", at]).fails(65).contains("no table `tasks`"));
    fs::remove_file(&file).unwrap();
    let conn = rusqlite::Connection::open(&file).unwrap();
    conn.execute_batch("CREATE TABLE tasks (id INTEGER, status TEXT)").unwrap();
    drop(conn);
    assert!(b.heal(&["--db", at]).fails(65).contains("no column"));
}

#[test]
fn a_root_whose_boards_are_stored_elsewhere_is_65_in_one_line() {
    let b = TestBoard::new();
    let root = b.path().join("elsewhere");
    fs::create_dir(&root).unwrap();
    let heal = || ran(b.command("heal").env_remove("HERMES_KANBAN_DB").arg("--hermes-root").arg(&root));
    assert!(heal().fails(66).contains("no board found"));
    fs::write(root.join("config.yaml"), "kanban: {storage: {backend: postgres}}\n").unwrap();
    assert!(
        heal().fails(65).contains("its boards are stored in postgres, and only SQLite files can be read")
    );
    fs::write(root.join("config.yaml"), "kanban: {storage: {backend: sqlite}}\n").unwrap();
    assert!(heal().fails(66).contains("no board found"));
}

#[test]
fn an_old_file_of_a_root_whose_boards_are_stored_elsewhere_is_65_and_stays_as_it_is() {
    let b = TestBoard::new();
    broken(&b);
    let config = |backend: &str| {
        let text = format!("kanban: {{storage: {{backend: {backend}}}}}\n");
        fs::write(b.path().join("config.yaml"), text).unwrap();
    };
    config("postgres");
    let before = b.dump();
    let told = format!(
        "{}: an old file: Hermes stores these boards in postgres, and only SQLite files can be read",
        b.db.display()
    );
    for name in shared::base::registry::NAMES.iter().copied() {
        let by_root = ran(b.command(name).env_remove("HERMES_KANBAN_DB").arg("--hermes-root").arg(b.path()));
        assert_eq!(by_root.fails(65), format!("{name}: {told}"));
        assert_eq!(ran(b.command(name).arg("--db").arg(&b.db)).fails(65), format!("{name}: {told}"));
    }
    let other = |program: &str, args: &[&str]| ran(b.command(program).args(args).arg("--db").arg(&b.db));
    assert!(other("board", &["list"]).fails(65).contains(&told));
    assert!(other("watchbill", &["doctor"]).out.contains("stores these boards in postgres"));
    assert_eq!(b.dump(), before);
    config("sqlite");
    assert!(b.heal(&["-n"]).ok().contains("t_000000a1 requeue"));
    // A board of our own has nothing to do with it.
    config("postgres");
    let own = b.path().join("own.db");
    ran(b.command("board").arg("--db").arg(&own).arg("init")).ok();
    ran(b.command("heal").arg("--db").arg(&own).arg("--hermes-root").arg(b.path())).ok();
}

#[test]
fn a_board_without_runs_is_read_but_never_written() {
    let b = TestBoard::new();
    broken(&b);
    b.sql("DROP TABLE task_runs");
    let before = b.dump_without_runs();
    assert!(b.heal(&["-n"]).ok().contains("t_000000a1 requeue"));
    assert!(b.heal(&[]).fails(65).contains("too old to write"));
    assert_eq!(b.dump_without_runs(), before);
}

#[test]
fn a_busy_board_is_75_and_nothing_happens() {
    let b = TestBoard {
        config: "[host]\npid_namespace = \"same\"\n[board]\nbusy_timeout = \"1s\"\n".into(),
        ..TestBoard::new()
    };
    broken(&b);
    let before = b.dump();
    let other = b.open();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(b.heal(&[]).fails(75).contains("busy"));
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(b.dump(), before);
    assert!(b.heal(&[]).ok().contains("requeue"));
}

#[test]
fn a_held_dispatch_lock_is_75_and_a_stuck_one_is_a_finding() {
    let b = TestBoard::new();
    broken(&b);
    b.add("t_000000a2", "ready");
    let lock = b.path().join("kanban.db.dispatch.lock");
    assert!(!lock.exists());
    let held = fs::File::create(&lock).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let before = b.dump();
    let said = b.heal(&[]).fails(75);
    assert!(said.contains(&std::process::id().to_string()), "names who holds it: {said}");
    assert_eq!(b.dump(), before);

    // Five minutes later the same process still holds it.
    let (db, later) = (b.db.to_str().unwrap().to_owned(), (now() + 301).to_string());
    let r = b.heal(&["--db", &db, "--now", &later]);
    assert_eq!(r.code, 1, "{r:?}");
    assert!(r.err.contains("dispatcher-wedged") && r.out.contains("t_000000a1 requeue"), "{r:?}");
    assert_eq!(b.task("t_000000a1", "status"), "ready");
}

#[test]
fn a_stuck_dispatcher_is_told_by_a_pass_that_has_nothing_to_do() {
    let b = TestBoard::new();
    b.add("t_000000a1", "ready");
    let held = fs::File::create(b.path().join("kanban.db.dispatch.lock")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let (db, at) = (b.db.to_str().unwrap().to_owned(), now());
    let pass = |later: i64| b.heal(&["--db", &db, "--now", &(at + later).to_string()]);
    assert_eq!(pass(0).ok(), "", "a tick holds it for a moment");
    let r = pass(301);
    assert_eq!(r.code, 1, "{r:?}");
    assert!(r.err.contains("dispatcher-wedged") && r.err.contains(&std::process::id().to_string()), "{r:?}");
    // Once it lets go, it counts afresh.
    flock(&held, FlockOperation::Unlock).unwrap();
    assert_eq!(pass(302).ok(), "");
    flock(&held, FlockOperation::LockExclusive).unwrap();
    assert_eq!(pass(303).ok(), "");
}

#[test]
fn without_a_lock_file_none_is_made() {
    let b = TestBoard::new();
    broken(&b);
    b.heal(&[]).ok();
    assert!(!b.path().join("kanban.db.dispatch.lock").exists());
}

#[test]
fn a_pause_stops_a_pass_under_way() {
    let b = TestBoard::new();
    // Sixteen transactions: on a busy machine a pass is through four of them before it is stopped.
    let all = 1_600;
    b.add("t_00000000", "ready");
    b.run_it("t_00000000", Some(dead_pid()), 60);
    b.sql(&format!(
        "CREATE TEMP TABLE n AS
           WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {all} - 1)
           SELECT i, printf('t_%08x', i) AS id, (SELECT max(id) FROM task_runs) + i AS run FROM n;
         INSERT INTO task_runs (id, task_id, profile, status, claim_lock, claim_expires, worker_pid, started_at)
           SELECT run, n.id, profile, status, claim_lock, claim_expires, worker_pid, started_at FROM n, task_runs;
         INSERT INTO tasks (id, title, assignee, status, created_at, claim_lock, claim_expires, worker_pid, started_at, current_run_id)
           SELECT n.id, title, assignee, status, created_at, claim_lock, claim_expires, worker_pid, started_at, run FROM n, tasks;
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
           SELECT n.id, iif(run_id IS NULL, NULL, run), kind, payload, created_at FROM n, task_events;"
    ));
    let at = (now() + 900).to_string();
    let mut heal = b.command("heal");
    heal.arg("--db").arg(&b.db).args(["--now", &at]);
    let heal = heal.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let send = |signal: Signal| {
        let pid = Pid::from_raw(i32::try_from(heal.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    };
    let ready = || b.value("SELECT count(*) FROM tasks WHERE status = 'ready'").parse::<i64>().unwrap();
    until("the first transaction", || ready() > 0);
    send(Signal::STOP);
    fs::write(b.path().join("watchbill.pause"), "").unwrap();
    send(Signal::CONT);
    let out = heal.wait_with_output().unwrap();
    let (said, why) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
    assert_eq!(out.status.code(), Some(75), "{why}");
    assert!(why.contains("paused"), "{why}");
    let done = ready();
    assert!(done > 0 && done < all, "{done} of {all}");
    assert_eq!(said.matches(" requeue: ").count(), usize::try_from(done).unwrap(), "what was done is told");
}

#[test]
fn a_pause_is_75_and_said_once() {
    let b = TestBoard::new();
    broken(&b);
    let before = b.dump();
    let pause = b.path().join("watchbill.pause");
    fs::write(&pause, "").unwrap();
    assert!(b.heal(&[]).fails(75).contains("paused"));
    let again = b.heal(&[]);
    assert_eq!((again.code, again.err.as_str()), (75, ""));
    assert!(b.heal(&["-v"]).fails(75).contains("paused"));
    let looked = b.heal(&["-n"]);
    assert!(
        looked.code == 0 && looked.out.contains("requeue") && looked.err.contains("paused"),
        "{looked:?}"
    );
    assert_eq!(b.dump(), before);
    fs::remove_file(&pause).unwrap();
    b.heal(&[]).ok();
    fs::write(&pause, "").unwrap();
    assert!(b.heal(&[]).fails(75).contains("paused"), "a new pause is said again");
}

/// A program under a limit of its process, as `ulimit` sets it.
pub fn limited(b: &TestBoard, limit: &str, name: &str, args: &[&str]) -> crate::support::Ran {
    let inner = b.command(name);
    let mut outer = Command::new("/bin/sh");
    outer.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]).arg(inner.get_program());
    outer.args(args).env_clear().stdin(Stdio::null());
    outer.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    ran(&mut outer)
}

#[test]
fn a_file_that_may_not_grow_is_74_in_one_line() {
    let b = TestBoard::own();
    let db = b.db.to_str().unwrap();
    let ran = limited(&b, "-f 0", "board", &["--db", db, "add", "Light the lanterns"]);
    assert_eq!(ran.code, 74, "{ran:?}");
    assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
    assert!(ran.err.contains("could not be read or written"), "{ran:?}");
}

#[test]
fn too_many_open_files_are_no_damaged_board() {
    let b = TestBoard::own();
    let db = b.db.to_str().unwrap();
    let mut told = 0;
    // From where not even the configuration can be read on to where all goes well.
    for limit in 4..16 {
        let ran = limited(&b, &format!("-n {limit}"), "watchbill", &["doctor", "--db", db]);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(!said.contains("restore it from a copy"), "{limit}: {said}");
        told +=
            u32::from(said.contains("board-unreadable") && said.contains("raise the limit of open files"));
        let ran = limited(&b, &format!("-n {limit}"), "board", &["--db", db, "add", "Light the lanterns"]);
        assert!(!ran.err.contains("needs to write in the board's folder"), "{limit}: {}", ran.err);
    }
    assert!(told > 0);
}

#[test]
fn a_full_disk_and_a_closed_pipe() {
    let b = TestBoard::new();
    broken(&b);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let r = ran_into(&b, &["-n"], full.into());
    assert_eq!(r.code, 74, "{r:?}");
    assert!(r.err.contains("stdout"), "{r:?}");
    for args in [&["-n"][..], &["-n", "--json", "-v"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let r = ran_into(&b, args, writer.into());
        assert_eq!((r.code, r.err.as_str()), (0, ""), "{args:?}");
    }
    // Closed from the start, as `heal >&-` does.
    let line = format!("exec {} -n >&-", program("heal"));
    let r = ran(std::process::Command::new("sh").args(["-c", &line]).env_clear().envs(b.environment()));
    assert!(matches!(r.code, 0 | 74), "{r:?}");
    assert_eq!(b.task("t_000000a1", "status"), "running");
}

fn ran_into(b: &TestBoard, args: &[&str], out: Stdio) -> crate::support::Ran {
    let child = b.command("heal").args(args).stdout(out).stderr(Stdio::piped()).spawn().unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn what_is_not_permitted_is_77() {
    let b = TestBoard::new();
    broken(&b);
    if !is_root() {
        fs::set_permissions(b.path(), fs::Permissions::from_mode(0o555)).unwrap();
        assert_eq!(b.heal(&[]).code, 77);
        fs::set_permissions(b.path(), fs::Permissions::from_mode(0o755)).unwrap();
        return;
    }
    // A file nobody may read, then a folder nobody may write.
    fs::set_permissions(&b.db, fs::Permissions::from_mode(0o600)).unwrap();
    let before = fs::read(&b.db).unwrap();
    let r = as_nobody(&b, &["--db", b.db.to_str().unwrap()]);
    assert_eq!(r.code, 77, "{r:?}");
    fs::set_permissions(&b.db, fs::Permissions::from_mode(0o644)).unwrap();
    let r = as_nobody(&b, &["--db", b.db.to_str().unwrap()]);
    assert_eq!(r.code, 77, "{r:?}");
    assert!(r.err.contains("folder"), "{r:?}");
    assert_eq!(fs::read(&b.db).unwrap(), before);
}

#[test]
fn bad_configuration_is_78_in_one_line() {
    let mut b = TestBoard::new();
    for (text, says) in [
        ("[heal]\nmax_resetz = 3\n", "max_resets"),
        ("[heel]\n", "heal"),
        ("[heal]\ngrace = \"15M\"\n", "grace"),
        ("[heal]\nmax_resets = \"many\"\n", "max_resets"),
        ("nonsense", "watchbill.toml"),
    ] {
        b.config = text.into();
        let said = b.heal(&[]).fails(78);
        assert!(said.contains(says), "{said}");
    }
    b.config.clear();
    assert_eq!(b.heal(&["--config", "/no/such/file.toml"]).code, 78);
    let r = ran(b.command("heal").env("WATCHBILL_HEAL_GRACE", "soon"));
    assert!(r.fails(78).contains("WATCHBILL_HEAL_GRACE"));
    let open = b.path().join("open.toml");
    fs::write(&open, "").unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(b.heal(&["--config", open.to_str().unwrap()]).code, 78);
}

#[cfg(debug_assertions)]
#[test]
fn a_bug_of_ours_is_70() {
    let b = TestBoard::new();
    let said = ran(b.command("heal").env("WATCHBILL_TEST_BUG", "1")).fails(70);
    assert!(said.contains("report it"), "{said}");
}

#[test]
fn several_boards_have_one_code() {
    let b = TestBoard::new();
    let other = TestBoard::new();
    broken(&b);
    broken(&other);
    fs::write(other.path().join("watchbill.pause"), "").unwrap();
    let (one, two) = (b.db.to_str().unwrap(), other.db.to_str().unwrap());
    let r = b.heal(&["--db", one, "--db", two]);
    assert_eq!(r.code, 0, "one passed, the other is only paused: {r:?}");
    assert!(r.out.contains("t_000000a1 requeue"), "{r:?}");
    let missing = b.path().join("none.db");
    let r = b.heal(&["--db", one, "--db", missing.to_str().unwrap()]);
    assert_eq!(r.code, 1, "{r:?}");
}

#[test]
fn rows_hermes_would_not_write_are_survived() {
    let b = TestBoard::new();
    broken(&b);
    // As an older or a broken writer leaves them: no NOT NULL, text where numbers belong, invalid JSON.
    b.sql(
        "CREATE TABLE loose AS SELECT * FROM tasks;
         DROP TABLE tasks; ALTER TABLE loose RENAME TO tasks; CREATE INDEX idx_tasks_status ON tasks(status);
         INSERT INTO tasks (id, status) VALUES ('t_000000b1', 'running');
         INSERT INTO tasks (id, status, created_at, started_at, worker_pid, claim_lock, current_run_id)
           VALUES ('t_000000b2', 'running', 'yesterday', 'x', 'pid', 7, 'one');
         INSERT INTO tasks (id, title, status, created_at) VALUES (NULL, NULL, NULL, NULL);
         INSERT INTO tasks (id, title, status, created_at, consecutive_failures, last_failure_error)
           VALUES ('t_000000b3', 'x', 'blocked', 1, 2, 'pid 1 not alive');
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES
           ('t_000000b3', 'gave_up', '{not json', 1), ('t_000000b3', 'claimed', '[1,2', 1),
           ('t_000000b1', 'claimed', 'null', 1), ('t_000000a1', 'heartbeat', '\"', 1);",
    );
    let r = b.heal(&["-v", "--json"]);
    assert_eq!(r.code, 0, "{r:?}");
    assert_eq!(b.task("t_000000a1", "status"), "ready");
    b.hand(&["list"]).ok();
    b.hand(&["show", "t_000000b3"]).ok();
}

#[test]
fn whoever_asks_for_json_gets_one_object_also_on_failure() {
    let b = TestBoard::new();
    let r = b.heal(&["--json", "--db", "/no/such/board.db"]);
    let report: serde_json::Value = serde_json::from_str(&r.out).unwrap();
    assert_eq!((r.code, report["boards"][0]["exit"].as_i64()), (66, Some(66)));
    let r = ran(b.command("heal").args(["--json"]).env("HERMES_HOME", "/no/such/root"));
    let report: serde_json::Value = serde_json::from_str(&r.out).unwrap();
    assert_eq!((r.code, report["exit"].as_i64()), (66, Some(66)));
    let r = b.hand(&["--json", "show", "t_ffffffff"]);
    let report: serde_json::Value = serde_json::from_str(&r.out).unwrap();
    assert_eq!((r.code, report["exit"].as_i64()), (1, Some(1)));
}

#[test]
fn one_executable_is_every_program_under_a_link_of_its_name() {
    let b = TestBoard::new();
    b.add("t_000000aa", "ready");
    let folder = tempfile::tempdir().unwrap();
    for (n, name) in shared::base::registry::NAMES.iter().chain(&["board", "coord"]).enumerate() {
        let link = folder.path().join(name);
        let whole = std::fs::canonicalize(crate::support::program("watchbill")).unwrap();
        if n % 2 == 0 || std::fs::hard_link(&whole, &link).is_err() {
            std::os::unix::fs::symlink(&whole, &link).unwrap();
        }
        for args in [&["--version"][..], &["--help"], &["--generate", "man"], &["--no-such-flag"]] {
            let mut linked = Command::new(&link);
            linked.env_clear().envs(b.environment()).args(args);
            let (linked, own) = (ran(&mut linked), ran(b.command(name).args(args)));
            assert_eq!(
                (linked.code, linked.out, linked.err),
                (own.code, own.out, own.err),
                "{name} {args:?}"
            );
        }
        if n < 4 {
            let mut pass = Command::new(&link);
            pass.env_clear().envs(b.environment()).args(["--db", b.db.to_str().unwrap(), "-n", "--json"]);
            assert_eq!(ran(&mut pass).json()["program"], *name);
        }
    }
    // Under any other name it is itself.
    let other = folder.path().join("healing");
    std::os::unix::fs::symlink(crate::support::program("watchbill"), &other).unwrap();
    let said = ran(Command::new(other).arg("--version")).ok();
    assert!(said.starts_with("watchbill "), "{said}");
}
