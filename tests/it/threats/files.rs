//! What a worker or another user puts where a file of Watchbill or Hermes should lie.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::{WATCHERS, in_time, pipe};
use crate::support::TestBoard;

#[test]
fn a_pipe_in_the_place_of_a_settings_file_holds_nobody() {
    let b = TestBoard::new();
    b.crash_loop("t_00000001");
    fs::create_dir_all(b.path().join("kanban/boards/x")).unwrap();
    fs::create_dir_all(b.path().join("profiles/luna/logs")).unwrap();
    for place in [
        "kanban/boards/x/board.json",
        "kanban/current",
        "config.yaml",
        "profiles/luna/config.yaml",
        "profiles/luna/logs/agent.log",
    ] {
        pipe(&b.path().join(place));
    }
    for watcher in WATCHERS.iter().copied() {
        let mut command = b.command(watcher);
        command.arg("-n");
        // What they need of these and cannot read they say.
        let said = in_time(command);
        let told = said.err.contains("not a regular file");
        assert_eq!(
            (said.code, told),
            (i32::from(watcher != "budget-check"), watcher != "budget-check"),
            "{watcher}: {said:?}"
        );
        // Pinned to one board, as Hermes pins its workers, it is asked which one is current.
        let mut command = b.command(watcher);
        command.env("HERMES_KANBAN_DB", &b.db);
        assert_eq!(in_time(command).code, i32::from(watcher != "budget-check"), "{watcher}");
    }
    assert_eq!(b.task("t_00000001", "status"), "blocked", "a limit may stand in that log");
    fs::remove_file(b.path().join("profiles/luna/logs/agent.log")).unwrap();
    assert_eq!(in_time(b.command("heal")).code, 1);
    assert_eq!(b.task("t_00000001", "status"), "ready", "and the work was done");
    let mut command = b.command("board");
    command.arg("list");
    assert!(in_time(command).ok().contains("t_00000001"));
}

/// A board with work, and the place of our memory.
fn remembers() -> (TestBoard, PathBuf) {
    let b = TestBoard::new();
    b.crash_loop("t_00000001");
    let folder = b.path().join("state/watchbill");
    fs::create_dir_all(&folder).unwrap();
    (b, folder.join("state.db"))
}

#[test]
fn a_memory_that_leads_elsewhere_is_neither_read_nor_written() {
    let (b, state) = remembers();
    fs::set_permissions(&b.db, Permissions::from_mode(0o644)).unwrap();
    symlink(&b.db, &state).unwrap();
    let told = b.heal(&[]);
    assert!(
        told.code == 1 && told.err.contains("a symbolic link; nothing of this pass is remembered"),
        "{told:?}"
    );
    assert_eq!(b.task("t_00000001", "status"), "ready", "the board comes first");
    let tables = "SELECT count(*) FROM sqlite_master WHERE name IN ('clock', 'sightings', 'logs', 'shared')";
    assert_eq!((b.value(tables).as_str(), b.value("PRAGMA user_version").as_str()), ("0", "0"));
    assert_eq!(fs::metadata(&b.db).unwrap().permissions().mode() & 0o777, 0o644);

    let (b, state) = remembers();
    let notes = b.path().join("notes");
    fs::write(&notes, "mine").unwrap();
    fs::set_permissions(&notes, Permissions::from_mode(0o644)).unwrap();
    symlink(&notes, &state).unwrap();
    assert!(b.heal(&[]).err.contains("a symbolic link"));
    assert_eq!(fs::read_to_string(&notes).unwrap(), "mine");
    assert_eq!(fs::metadata(&notes).unwrap().permissions().mode() & 0o777, 0o644);
    assert!(state.is_symlink(), "what is not ours is left where it is");

    let (b, state) = remembers();
    pipe(&state);
    let told = in_time(b.command("heal"));
    assert!(told.code == 1 && told.err.contains("not a regular file"), "{told:?}");
    assert_eq!(b.task("t_00000001", "status"), "ready");

    let (b, state) = remembers();
    fs::set_permissions(state.parent().unwrap(), Permissions::from_mode(0o777)).unwrap();
    let told = b.heal(&[]);
    assert!(told.code == 1 && told.err.contains("every user can write its folder"), "{told:?}");
    assert!(!state.exists());
}

#[test]
fn files_of_the_board_that_lead_elsewhere_are_not_followed() {
    for end in ["-wal", "-shm"] {
        let b = TestBoard::new();
        b.crash_loop("t_00000001");
        let before = b.dump();
        let (victim, beside) = (b.path().join("victim"), b.path().join(format!("kanban.db{end}")));
        fs::write(&victim, "mine").unwrap();
        let _ = fs::remove_file(&beside);
        symlink(&victim, &beside).unwrap();
        b.heal(&[]).fails(77);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        fs::remove_file(&beside).unwrap();
        assert_eq!(b.dump(), before);
    }
    // The dispatcher's lock: neither a link nor a pipe counts as one.
    for make in [|at: &std::path::Path| symlink("/dev/null", at).unwrap(), pipe] {
        let b = TestBoard::new();
        b.crash_loop("t_00000001");
        make(&b.path().join("kanban.db.dispatch.lock"));
        assert_eq!(in_time(b.command("heal")).code, 0);
        assert_eq!(b.task("t_00000001", "status"), "ready");
    }
}

#[test]
fn what_is_no_plain_file_is_no_board() {
    let b = TestBoard::new();
    let at = b.path().join("odd.db");
    pipe(&at);
    for db in [at.to_str().unwrap(), "/dev/zero", "/dev/null", b.path().to_str().unwrap()] {
        for watcher in WATCHERS.iter().copied() {
            let mut command = b.command(watcher);
            command.args(["--db", db]);
            assert_eq!(in_time(command).code, 65, "{watcher} {db}");
        }
    }
    // Found below the root, it is passed over, and the others get their pass.
    b.crash_loop("t_00000001");
    fs::create_dir_all(b.path().join("kanban/boards/x")).unwrap();
    pipe(&b.path().join("kanban/boards/x/kanban.db"));
    assert_eq!(in_time(b.command("heal")).code, 0);
    assert_eq!(b.task("t_00000001", "status"), "ready");
}

#[test]
fn whatever_has_the_name_of_a_pause_is_one() {
    for make in [
        |at: &std::path::Path| symlink("/no/such/place", at).unwrap(),
        |at: &std::path::Path| fs::create_dir(at).unwrap(),
        pipe,
    ] {
        let b = TestBoard::new();
        b.crash_loop("t_00000001");
        make(&b.path().join("watchbill.pause"));
        let before = b.dump();
        for watcher in &WATCHERS[..3] {
            assert_eq!(in_time(b.command(watcher)).code, 75, "{watcher}");
        }
        // A user who can write the folder can stop Watchbill. Each dry run tells it.
        assert!(b.heal(&["-n"]).err.contains("paused"));
        assert_eq!(b.dump(), before);
    }
}

#[test]
fn a_plan_that_others_can_write_is_not_carried_out() {
    let b = TestBoard::new();
    b.crash_loop("t_00000001");
    let plan = b.path().join("plan.json");
    fs::write(&plan, b.heal(&["--dry-run", "--json"]).ok()).unwrap();
    let at = plan.to_str().unwrap();
    let before = b.dump();
    fs::set_permissions(&plan, Permissions::from_mode(0o666)).unwrap();
    assert!(b.heal(&["--plan", at]).fails(77).contains("every user can write it"));
    fs::set_permissions(&plan, Permissions::from_mode(0o644)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&plan, Some(65_534), None).unwrap();
        assert!(b.heal(&["--plan", at]).fails(77).contains("owned by user 65534"));
        std::os::unix::fs::chown(&plan, Some(0), None).unwrap();
    }
    assert_eq!(b.dump(), before);
    assert!(b.heal(&["--plan", at]).ok().contains("reset"), "the same plan as one's own");
}

#[test]
fn an_environment_that_points_elsewhere_meets_no_board() {
    let b = TestBoard::new();
    b.crash_loop("t_00000001");
    let before = b.dump();
    for (name, value, code) in [
        ("HERMES_KANBAN_DB", "/etc/passwd", 65),
        ("HERMES_KANBAN_DB", "/dev/zero", 65),
        ("HERMES_HOME", "/no/such/root", 66),
        ("HERMES_KANBAN_HOME", "/no/such/root", 66),
        ("WATCHBILL_CONFIG", "/dev/zero", 78),
        ("WATCHBILL_HEAL_GRACE", "-1s", 78),
        ("WATCHBILL_HEAL_MAX_RESETS", "99999999999", 78),
    ] {
        let mut command = b.command("heal");
        command.env(name, value);
        let told = in_time(command);
        assert_eq!(told.code, code, "{name}={value} {told:?}");
    }
    assert_eq!(b.dump(), before);
    // A slug is not a path, and where no memory can be the pass does its work without one, and ends with 1.
    let mut command = b.command("heal");
    command.env("HERMES_KANBAN_BOARD", "../../x").env("XDG_STATE_HOME", "/dev/null");
    let told = in_time(command);
    assert!(told.code == 1 && told.out.contains("reset"), "{told:?}");
}

#[test]
fn a_git_that_stands_first_in_the_path_is_not_run() {
    let b = TestBoard::new();
    let (evil, tree, mark) = (b.path().join("evil"), b.path().join("tree"), b.path().join("ran"));
    fs::create_dir(&evil).unwrap();
    crate::support::executable(&evil.join("git"), format!("#!/bin/sh\ntouch {}\n", mark.display()));
    let made = std::process::Command::new("git").args(["init", "-q"]).arg(&tree).status().unwrap();
    assert!(made.success());
    fs::write(tree.join("new.rs"), "").unwrap();
    b.add("t_00000001", "ready");
    b.run_it("t_00000001", None, 900);
    b.sql(&format!(
        "UPDATE tasks SET workspace_kind = 'dir', workspace_path = '{}', body = '## Scope' || char(10) || 'In scope: src/**'",
        tree.display()
    ));
    let mut command = b.command("budget-check");
    command
        .arg("-v")
        .env("PATH", format!("{}:/usr/bin:/bin", evil.display()))
        .env("GIT_DIR", "/no/such/place");
    command.env("GIT_EXTERNAL_DIFF", evil.join("git")).env("GIT_EXEC_PATH", &evil);
    let told = in_time(command).ok();
    assert!(told.contains("new.rs"), "the tree was looked at: {told}");
    assert!(!mark.exists(), "and not by that program");
}
