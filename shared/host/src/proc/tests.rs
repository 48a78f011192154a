use std::process::{Child, Command};

use super::*;

#[test]
fn what_works_for_another_task_says_so_in_its_environment() {
    for (var, is) in [
        ("WATCHBILL_HARNESS=1", true),
        ("HERMES_KANBAN_TASK=t_2", true),
        ("WATCHBILL_TASK=t_2", true),
        ("HERMES_KANBAN_TASK=t_1", false),
        ("WATCHBILL_TASK=", false),
        ("WATCHBILL_TASKS=t_2", false),
        ("A=t_2", false),
    ] {
        assert_eq!(is_of_another(var.as_bytes(), "t_1"), is, "{var}");
    }
}

#[test]
fn stat_lines() {
    let line = |name: &str, state: &str, flags: u64| {
        format!("42 ({name}) {state} 7 42 42 0 -1 {flags} 1 2 3 4 5 6 7 8 20 0 1 0 147908 299 39 1844 1 1\n")
    };
    let stat = |zombie, kernel| {
        Some(Stat { zombie, stopped: false, parent: 7, group: 42, terminal: false, kernel, ticks: 147_908 })
    };
    let stopped = stat(false, false).map(|s| Stat { stopped: true, ..s });
    for (text, expected) in [
        (line("head", "R", 4_194_304), stat(false, false)),
        (line("a) R 1 (b", "S", 0), stat(false, false)),
        (line("x", "Z", 0), stat(true, false)),
        (line("x", "X", 0), stat(true, false)),
        (line("x", "T", 0), stopped),
        (line("x", "t", 0), stat(false, false)),
        (line("kworker/0:1", "I", 0x0420_8060), stat(false, true)),
        ("42 (x) R 7 42".into(), None),
        ("42 (x) R seven 42 42 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 147908".into(), None),
        ("".into(), None),
        ("42 x R".into(), None),
    ] {
        assert_eq!(parse_stat(&text), expected, "{text}");
    }
}

#[test]
fn what_a_child_started_is_its_group_what_was_adopted_and_what_descends_from_them() {
    let stat = |parent: i64, group: i64, zombie: bool| Stat {
        zombie,
        stopped: false,
        parent,
        group,
        terminal: false,
        kernel: false,
        ticks: 9,
    };
    // 10 is this process, 20 its child.
    let all = BTreeMap::from([
        (1, stat(0, 1, false)),
        (10, stat(1, 10, false)),
        (20, stat(10, 20, false)),
        (21, stat(20, 20, false)),
        (22, stat(21, 22, false)),
        (23, stat(22, 22, true)),
        (24, stat(1, 20, false)),
        (30, stat(10, 30, false)),
        (31, stat(30, 30, false)),
        (40, stat(1, 40, false)),
        (41, stat(40, 40, false)),
    ]);
    for (adopter, want) in [(None, vec![21, 22, 23, 24]), (Some(10), vec![21, 22, 23, 24, 30, 31])] {
        let found = family(&all, 20, adopter, &|_| false);
        assert_eq!(found.iter().map(|p| p.pid).collect::<Vec<_>>(), want, "{adopter:?}");
        assert!(found.iter().all(|p| p.has_ended == (p.pid == 23)));
    }
    // The harness of another task and what it started are not its.
    let found = family(&all, 20, Some(10), &|pid| pid == 30 || pid == 22);
    assert_eq!(found.iter().map(|p| p.pid).collect::<Vec<_>>(), [21, 24]);
    // The child was collected: its group is left.
    let mut all = all;
    all.remove(&20);
    assert_eq!(family(&all, 20, None, &|_| false).len(), 4);
}

fn shown(cmdline: &[u8], environ: &[u8]) -> Process {
    let command = command(cmdline);
    Process {
        command,
        asked: asked(cmdline),
        marks: marks(environ, spoken(environ, None)),
        ..Process::default()
    }
}

#[test]
fn command_lines() {
    for (cmdline, task) in [
        (&b"python\0hermes\0chat\0-q\0work kanban task t_1\0"[..], Some("t_1")),
        (b"hermes\0kanban\0task\0t_1", Some("t_1")),
        (b"kanban task t_1\n", Some("t_1")),
        (b"hermes\0chat\0-q\0work kanban task t_1\0--again\0", None),
        (b"hermes\0chat\0-q\0work kanban task t_1\0-Q\0", Some("t_1")),
        (b"grep\0kanban task t_1\0", Some("t_1")),
        (b"hermes\0chat\0-q\0work kanban task \0", None),
        (b"heal\0--task\0t_1\0", None),
        (b"xkanban task t_1", None),
        (b"task t_1", None),
        (b"\0\0", None),
        (b"", None),
    ] {
        assert_eq!(shown(cmdline, b"").worker_of(), task, "{}", cmdline.escape_ascii());
    }
}

/// Hermes 0.13 to 0.22 name the task in the environment of each worker that they start, and begin it with these arguments.
#[test]
fn a_worker_whose_environment_can_be_read_names_its_task_there_too() {
    let (plain, goal) = (
        &b"python\0-m\0hermes_cli.main\0-p\0luna\0chat\0-q\0work kanban task t_1\0"[..],
        &b"hermes\0-p\0luna\0chat\0-q\0work kanban task t_1\0-Q\0"[..],
    );
    let (named, other) = (&b"A=1\0HERMES_KANBAN_TASK=t_1\0"[..], &b"HERMES_KANBAN_TASK=t_2\0"[..]);
    for (cmdline, environ, task) in [
        (plain, named, Some("t_1")),
        (goal, named, Some("t_1")),
        (plain, b"busy\0\0\0", Some("t_1")),
        (goal, b"", Some("t_1")),
        (plain, b"A=1\0", None),
        (plain, other, None),
        (b"grep\0kanban task t_1\0", b"A=1\0", None),
        (b"grep\0work kanban task t_1\0", named, None),
        (b"grep\0-q\0work kanban task t_1\0", named, None),
        (b"less\0kanban\0task\0t_1\0", named, None),
        (b"grep\0kanban task t_1\0", b"", Some("t_1")),
    ] {
        let seen = shown(cmdline, environ);
        assert_eq!(seen.worker_of(), task, "{} {}", cmdline.escape_ascii(), environ.escape_ascii());
    }
    // The pid that the board recorded was started by Hermes, whatever became of its environment.
    assert_eq!(shown(plain, b"A=1\0").worker_by_line(), Some("t_1"));
    assert_eq!(shown(b"grep\0kanban task t_1\0", b"A=1\0").worker_by_line(), None);
}

#[test]
fn environments() {
    for (environ, run, kin) in [
        (&b""[..], Some(7), Kin::Unreadable),
        (b"busy\0\0\0", Some(7), Kin::Unreadable),
        (b"A=1\0", Some(7), Kin::Stranger),
        (b"XHERMES_KANBAN_TASK=t_1\0", Some(7), Kin::Stranger),
        (b"HERMES_KANBAN_TASK=t_12\0HERMES_KANBAN_RUN_ID=7\0", Some(7), Kin::Stranger),
        (b"HERMES_KANBAN_TASK=t_1\0HERMES_KANBAN_RUN_ID=7\0", Some(7), Kin::ThisRun),
        (b"HERMES_KANBAN_RUN_ID=7\0HERMES_KANBAN_TASK=t_1", Some(7), Kin::ThisRun),
        (b"HERMES_KANBAN_TASK=t_1\0HERMES_KANBAN_RUN_ID=71\0", Some(7), Kin::OtherRun),
        (b"HERMES_KANBAN_TASK=t_1\0HERMES_KANBAN_RUN_ID=\0", Some(7), Kin::SameTask),
        (b"HERMES_KANBAN_TASK=t_1\0", Some(7), Kin::SameTask),
        (b"HERMES_KANBAN_TASK=t_1\0HERMES_KANBAN_RUN_ID=71\0", None, Kin::ThisRun),
        (b"WATCHBILL_TASK=t_1\0WATCHBILL_RUN=7\0", Some(7), Kin::ThisRun),
        (b"WATCHBILL_TASK=t_1\0WATCHBILL_RUN=71\0", Some(7), Kin::OtherRun),
        (b"WATCHBILL_TASK=t_1\0HERMES_KANBAN_RUN_ID=7\0", Some(7), Kin::SameTask),
        (b"WATCHBILL_TASK=t_1\0WATCHBILL_RUN=7\0HERMES_KANBAN_TASK=\0", Some(7), Kin::ThisRun),
        (b"WATCHBILL_TASK=t_1\0WATCHBILL_RUN=7\0HERMES_KANBAN_TASK=t_2\0", Some(7), Kin::Stranger),
    ] {
        assert_eq!(shown(b"x", environ).kin("t_1", run), kin, "{}", environ.escape_ascii());
    }
}

#[test]
fn the_first_variable_of_a_name_counts() {
    for (environ, value) in [
        (&b"A=1"[..], Some(&b"1"[..])),
        (b"A=1\0A=2\0", Some(b"1")),
        (b"BA=1\0A=2\0", Some(b"2")),
        (b"X=A=1\0A=2", Some(b"2")),
        (b"AA=1\0", None),
        (b"A\0A=", Some(b"")),
        (b"\0A=1=2\0", Some(b"1=2")),
        (b"A", None),
        (b"", None),
    ] {
        assert_eq!(variable(environ, "A"), value, "{}", environ.escape_ascii());
    }
}

fn pid(child: &Child) -> i64 {
    i64::from(child.id())
}

fn root() -> &'static Path {
    Path::new("/proc")
}

#[test]
fn probes_of_real_processes() {
    let mut child = Command::new("sleep").arg("600").env("HERMES_KANBAN_TASK", "t_probe").spawn().unwrap();
    // Until exec the child still shows this test's own command line.
    let shown = (0..5_000).find_map(|_| match ProcFs::any(root()).probe(pid(&child)) {
        Probe::Present(p) if p.command.as_deref() == Some("sleep 600") => Some(p),
        _ => None,
    });
    assert_eq!(shown.unwrap().kin("t_probe", None), Kin::ThisRun);

    child.kill().unwrap();
    wait_for(|| ProcFs::any(root()).probe(pid(&child)) == Probe::Exited);
    child.wait().unwrap();
    assert_eq!(ProcFs::any(root()).probe(pid(&child)), Probe::Absent);
}

#[test]
fn numbers_that_lead_no_process() {
    for odd in [0, -1, -500, i64::from(i32::MAX) + 1, i64::MAX, i64::MIN] {
        assert!(matches!(ProcFs::any(root()).probe(odd), Probe::Unclear(_)), "{odd}");
    }
    // Above the largest pid_max a kernel allows.
    assert_eq!(ProcFs::any(root()).probe(4_194_305), Probe::Absent);

    // A thread's number, which kill(0) takes for a living process.
    let (tell, told) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let itself = fs::read_link("/proc/thread-self").unwrap();
        tell.send(itself.file_name().unwrap().to_str().unwrap().parse::<i64>().unwrap()).unwrap();
        ended.recv().ok();
    });
    assert_eq!(ProcFs::any(root()).probe(told.recv().unwrap()), Probe::Absent);
    drop(end);
    thread.join().unwrap();

    // A session's number whose leader is dead while a member lives on.
    let script = "import os,subprocess\nos.setsid()\n\
        print(subprocess.Popen(['sleep','60'],stdout=-3,stderr=-3).pid,flush=True)";
    let leader =
        Command::new("python3").args(["-c", script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let leader_pid = pid(&leader);
    let member = String::from_utf8(leader.wait_with_output().unwrap().stdout).unwrap();
    let free = ProcFs::any(root()).probe(leader_pid);
    let member = Pid::from_raw(member.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(member, rustix::process::Signal::KILL).unwrap();
    assert_eq!(free, Probe::Absent);
}

/// Waits for the kernel to do what it was told, for at most ten seconds.
fn wait_for(mut done: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("waited in vain");
}

/// A folder that looks like `/proc` with these processes: pid, parent, command line, environment.
fn fake(processes: &[(i64, i64, &str, Option<&str>)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (pid, parent, command, environ) in processes {
        let dir = root.path().join(pid.to_string());
        fs::create_dir(&dir).unwrap();
        let stat = format!("{pid} (x) S {parent} 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 900 1 1");
        fs::write(dir.join("stat"), stat).unwrap();
        fs::write(dir.join("cmdline"), command).unwrap();
        fs::write(dir.join("status"), format!("Name:\tx\nTgid:\t{pid}\nUid:\t{0}\t{0}\n", getuid().as_raw()))
            .unwrap();
        match environ {
            Some(environ) => fs::write(dir.join("environ"), environ).unwrap(),
            // A folder cannot be read as a file, not even by root.
            None => fs::create_dir(dir.join("environ")).unwrap(),
        }
    }
    root
}

#[test]
fn a_scan_keeps_what_was_asked_for() {
    let me = i64::from(getpid().as_raw_nonzero().get());
    // Numbers above the largest pid_max, so that none can be ours.
    let root = fake(&[
        (5_000_021, 0, "init", Some("A=1")),
        (5_000_011, 5_000_021, "sleep 1", Some("HERMES_KANBAN_TASK=t_1\0HERMES_KANBAN_RUN_ID=7")),
        (5_000_012, 5_000_021, "hermes work kanban task t_1", None),
        (5_000_013, 5_000_021, "hermes work kanban task t_2", None),
        (5_000_014, 5_000_021, "sleep 2", None),
        (me, 5_000_011, "heal", Some("HERMES_KANBAN_TASK=t_1\0HERMES_KANBAN_RUN_ID=7")),
    ]);
    fs::create_dir(root.path().join("5000077")).unwrap();
    // A zombie, and a thread of the kernel that runs as we do.
    for (pid, state, flags) in [(5_000_015, 'Z', 0), (5_000_016, 'I', KERNEL_THREAD)] {
        let dir = root.path().join(pid.to_string());
        fs::create_dir(&dir).unwrap();
        let stat = format!("{pid} (x) {state} 1 1 1 0 -1 {flags} 1 2 3 4 5 6 7 8 20 0 1 0 900 1 1");
        fs::write(dir.join("stat"), stat).unwrap();
        fs::write(dir.join("cmdline"), "").unwrap();
        fs::write(dir.join("environ"), "").unwrap();
        fs::write(dir.join("status"), format!("Uid:\t{0}\t{0}\n", getuid().as_raw())).unwrap();
    }
    fs::create_dir(root.path().join("sys")).unwrap();
    let found = ProcFs::any(root.path()).scan(&BTreeSet::from(["t_1"]));
    let mut pids: Vec<i64> = found.marked.iter().map(|p| p.pid).collect();
    pids.sort_unstable();
    let expected = vec![me, 5_000_011, 5_000_012];
    assert_eq!(pids, expected);
    assert_eq!(found.own, BTreeSet::from([me, 0, 5_000_011, 5_000_021]));
    let veiled: BTreeSet<i64> = found.veiled.iter().map(|v| v.0).collect();
    assert_eq!(veiled, BTreeSet::from([5_000_012, 5_000_013, 5_000_014]));
    assert_eq!((found.gap, found.denied), (None, false));
}

#[test]
fn what_the_system_itself_runs_is_no_worker() {
    let root = fake(&[(1, 0, "init", None), (2, 0, "", None), (40, 1, "sleep 1", None)]);
    let of = |pid| is_of_system(root.path(), pid);
    assert_eq!([1, 2, 40, 77].map(of), [false; 4], "in a container the first process may be a worker");
    for pid in [2, 77] {
        let dir = root.path().join(pid.to_string());
        fs::create_dir_all(&dir).unwrap();
        let stat = format!("{pid} (k) I 2 0 0 0 -1 {KERNEL_THREAD} 1 2 3 4 5 6 7 8 20 0 1 0 900 1 1");
        fs::write(dir.join("stat"), stat).unwrap();
    }
    assert_eq!([1, 2, 40, 77, 78].map(of), [true, true, false, true, false]);
}

#[test]
fn a_process_of_another_board_is_none_of_this_ones() {
    let boards = tempfile::tempdir().unwrap();
    let at = |name: &str| boards.path().join(name);
    for name in ["a.db", "b.db"] {
        fs::write(at(name), "").unwrap();
    }
    std::os::unix::fs::symlink(at("a.db"), at("link.db")).unwrap();
    let marks = |db: &str| format!("HERMES_KANBAN_TASK=t_1\0HERMES_KANBAN_RUN_ID=1\0HERMES_KANBAN_DB={db}");
    let shown = |name: &str| marks(at(name).to_str().unwrap());
    let all = ["a.db", "link.db", "b.db", "gone.db"].map(shown);
    let relative = marks("b.db");
    let none = "HERMES_KANBAN_TASK=t_1\0HERMES_KANBAN_RUN_ID=1";
    let root = fake(&[
        (5_000_011, 1, "sleep 1", Some(&all[0])),
        (5_000_012, 1, "sleep 1", Some(&all[1])),
        (5_000_013, 1, "sleep 1", Some(&relative)),
        (5_000_014, 1, "sleep 1", Some(none)),
        (5_000_015, 1, "hermes work kanban task t_1", Some(&all[2])),
        (5_000_016, 1, "sleep 1", Some(&all[3])),
    ]);
    for entry in fs::read_dir(root.path()).unwrap().flatten() {
        std::os::unix::fs::symlink("/", entry.path().join("root")).unwrap();
    }
    let found = |board: Option<&str>| {
        let board = board.map(|name| Place::File(at(name)));
        let found = ProcFs { root: root.path(), board: board.as_ref() }.scan(&BTreeSet::from(["t_1"]));
        let kin = |p: &Process| p.worker_of() == Some("t_1") || p.kin("t_1", Some(1)) == Kin::ThisRun;
        let mut pids: Vec<i64> = found.marked.iter().filter(|p| kin(p)).map(|p| p.pid - 5_000_000).collect();
        pids.sort_unstable();
        pids
    };
    assert_eq!(found(None), [11, 12, 13, 14, 15, 16]);
    // A file that is not there may be this board under the name it had before.
    assert_eq!(found(Some("a.db")), [11, 12, 13, 14, 16]);
    assert_eq!(found(Some("link.db")), [11, 12, 13, 14, 16]);
    assert_eq!(found(Some("b.db")), [13, 14, 15, 16]);
    assert_eq!(found(Some("gone.db")), [11, 12, 13, 14, 15, 16]);
    let board = Place::File(at("a.db"));
    let unclear = ProcFs { root: root.path(), board: Some(&board) }.scan(&BTreeSet::from(["t_1"])).marked;
    let unclear: Vec<i64> = unclear.iter().filter(|p| p.is_unclear).map(|p| p.pid - 5_000_000).collect();
    assert_eq!(unclear, [16], "and that one is never stopped");
}

#[test]
fn a_process_of_a_board_in_a_server_is_told_by_its_address() {
    let (ours, theirs) = ("postgres://db.lan/agents", "postgres://db.lan/others");
    let file = tempfile::NamedTempFile::new().unwrap();
    let by_us = |db: &str| format!("WATCHBILL_TASK=t_1\0WATCHBILL_RUN=1\0WATCHBILL_DB={db}");
    let by_hermes =
        |db: &str| format!("HERMES_KANBAN_TASK=t_1\0HERMES_KANBAN_RUN_ID=1\0HERMES_KANBAN_DB={db}");
    let path = file.path().to_str().unwrap();
    // What a worker of the server started as a worker of the file.
    let both = format!("{}\0{}", by_us(ours), by_hermes(path).replace("t_1", "t_2"));
    let environments = [
        by_us(ours),
        by_us(theirs),
        by_us(path),
        by_hermes(path),
        by_hermes("").replace("\0HERMES_KANBAN_DB=", ""),
        both,
    ];
    let root = fake(&[
        (5_000_011, 1, "sleep 1", Some(&environments[0])),
        (5_000_012, 1, "sleep 1", Some(&environments[1])),
        (5_000_013, 1, "sleep 1", Some(&environments[2])),
        (5_000_014, 1, "hermes work kanban task t_1", Some(&environments[3])),
        (5_000_015, 1, "sleep 1", Some(&environments[4])),
        (5_000_016, 1, "sleep 1", Some(&environments[5])),
    ]);
    for entry in fs::read_dir(root.path()).unwrap().flatten() {
        std::os::unix::fs::symlink("/", entry.path().join("root")).unwrap();
    }
    let found = |board: Option<Place>, task: &str| {
        let found = ProcFs { root: root.path(), board: board.as_ref() }.scan(&BTreeSet::from([task]));
        assert!(found.marked.iter().all(|p| !p.is_unclear));
        let mut pids: Vec<i64> = found.marked.iter().map(|p| p.pid - 5_000_000).collect();
        pids.sort_unstable();
        pids
    };
    let server = |address: &str| Some(Place::Server(address.to_owned()));
    assert_eq!(found(server(ours), "t_1"), [11, 15, 16]);
    assert_eq!(found(server(theirs), "t_1"), [12, 15]);
    // A watcher may log in as another role than the worker.
    assert_eq!(found(server("postgres://ops@db.lan/agents"), "t_1"), [11, 15, 16]);
    assert_eq!(found(server("postgres://ops@db.lan/agents@2"), "t_1"), [15]);
    let file = || Some(Place::File(file.path().to_owned()));
    assert_eq!(found(file(), "t_1"), [13, 14, 15]);
    assert_eq!((found(file(), "t_2"), found(server(ours), "t_2")), (vec![16], vec![]));
    assert_eq!(found(None, "t_1"), [11, 12, 13, 14, 15]);
}

#[test]
fn an_environment_that_is_there_a_moment_later_is_read_then() {
    let root = fake(&[
        (5_000_011, 1, "sleep 1", Some("")),
        (5_000_012, 1, "sleep 2", Some("")),
        (5_000_013, 1, "sleep 3", Some("")),
        (5_000_014, 1, "sleep 4", None),
    ]);
    let tasks = BTreeSet::from(["t_1"]);
    let veiled = |s: &Scan| s.veiled.iter().map(|v| v.0).collect::<BTreeSet<i64>>();
    let mut found = ProcFs::any(root.path()).scan(&tasks);
    assert_eq!(veiled(&found).len(), 4);
    // One was replaced by the worker, one ended, and the number of one belongs to another process by now.
    fs::write(root.path().join("5000011/environ"), "HERMES_KANBAN_TASK=t_1\0").unwrap();
    fs::remove_file(root.path().join("5000012/stat")).unwrap();
    let stat = fs::read_to_string(root.path().join("5000013/stat")).unwrap();
    fs::write(root.path().join("5000013/stat"), stat.replace(" 900 ", " 901 ")).unwrap();
    // Who began before is let be.
    let mut older = found.clone();
    ProcFs::any(root.path()).settle(&mut older, &tasks, 901);
    assert_eq!((veiled(&older).len(), older.marked.len()), (4, 0));
    ProcFs::any(root.path()).settle(&mut found, &tasks, 900);
    assert_eq!(veiled(&found), BTreeSet::from([5_000_014]));
    assert_eq!(found.marked.iter().map(|p| p.pid).collect::<Vec<_>>(), [5_000_011]);
}

/// Waiting for what is refused for good cost each pass a tenth of a second wherever any process of its user hides.
#[test]
fn only_an_empty_environment_is_waited_for() {
    let fails = |kind: io::ErrorKind| Err(io::Error::from(kind));
    assert!(is_refused(&fails(io::ErrorKind::PermissionDenied)));
    for waited in
        [Ok(Vec::new()), Ok(b"A=1".to_vec()), fails(io::ErrorKind::NotFound), fails(io::ErrorKind::Other)]
    {
        assert!(!is_refused(&waited), "{waited:?}");
    }
}

/// Started without any variable, as by `env -i`, it was the youngest process with an environment that shows nothing: it waited for
/// itself, and no attempt without a pid was gone.
#[test]
fn a_pass_without_an_environment_does_not_wait_for_itself_or_who_started_it() {
    let me = i64::from(getpid().as_raw_nonzero().get());
    let processes = [(5_000_021, 1, "cron", Some("")), (me, 5_000_021, "heal", Some(""))];
    let root = fake(&processes);
    let ourselves = |root: &Path| std::os::unix::fs::symlink(me.to_string(), root.join("self")).unwrap();
    let tasks = BTreeSet::from(["t_1"]);
    // A `/proc` of another namespace, in which our number is another process.
    assert_eq!(ProcFs::any(root.path()).scan(&tasks).veiled.len(), 2);
    ourselves(root.path());
    let mut found = ProcFs::any(root.path()).scan(&tasks);
    // Who started us may be in the middle of exec all the same, so that is not known to be nobody's.
    assert_eq!((found.veiled.as_slice(), found.marked.len()), (&[(5_000_021, 900)][..], 0));
    // To wait for it is to look at it again.
    fs::write(root.path().join("5000021/environ"), "HERMES_KANBAN_TASK=t_1\0").unwrap();
    ProcFs::any(root.path()).settle(&mut found, &tasks, 0);
    assert_eq!((found.veiled.len(), found.marked.len()), (1, 0));
    // What hides our own environment from us hides that of a worker, too.
    let hidden = fake(&[(me, 1, "heal", None)]);
    ourselves(hidden.path());
    assert_eq!(ProcFs::any(hidden.path()).scan(&tasks).veiled, [(me, 900)]);
}

#[test]
fn it_is_looked_at_again_soon_and_for_a_tenth_of_a_second() {
    let waits: Vec<Duration> = waits().collect();
    assert_eq!(waits[0], Duration::from_micros(200), "an exec takes about so long");
    let all: Duration = waits.iter().sum();
    assert!((100..=110).contains(&all.as_millis()), "{all:?}");
}

#[test]
fn a_scan_says_where_it_failed() {
    let gap = |root: &Path| ProcFs::any(root).scan(&BTreeSet::from(["t_1"])).gap;
    let root = fake(&[(11, 1, "sleep", Some("A=1"))]);
    assert!(gap(&root.path().join("nowhere")).unwrap().contains("nowhere"));
    fs::write(root.path().join("11/stat"), "11 (x").unwrap();
    assert!(gap(root.path()).unwrap().contains("unknown shape"));
    fs::remove_file(root.path().join("11/stat")).unwrap();
    assert_eq!(gap(root.path()), None, "a process that ended meanwhile is no gap");
    fs::write(root.path().join("11/stat"), "").unwrap();
    assert!(gap(root.path()).is_some());
}

#[test]
fn a_shell_of_a_person_has_a_terminal() {
    for (terminal, want) in [("34816 11", true), ("-1 11", true), ("0 -1", false)] {
        let stat =
            format!("11 (a) b) S 1 11 11 {terminal} 0 1 2 3 4 5 6 7 8 20 0 1 0 147908 299 39 1844 1 1\n");
        assert_eq!(parse_stat(&stat).unwrap().terminal, want, "{stat}");
    }
}

#[test]
fn numbers_in_namespaces_below_ours() {
    for (status, inside) in [
        ("Name:\tsh\nNSpid:\t21368\t170\nVmPeak:\t1 kB\n", Some(170)),
        ("NSpid:\t21368\t170\t4\n", Some(4)),
        ("NSpid:\t21368\n", None),
        ("NSpid:\n", None),
        ("Name:\tsh\n", None),
    ] {
        assert_eq!(innermost(status), inside, "{status}");
    }
}
