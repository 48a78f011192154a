use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use super::*;
use crate::{HostFacts, HostPolicy, PidNamespace};
use base::time::Time;

/// A python process that has a WAL board open, does one thing per line it is sent, and says "ok" after each.
struct Writer(Child, BufReader<std::process::ChildStdout>);

impl Writer {
    fn on(db: &Path) -> Writer {
        let script = "import sqlite3,sys,os\n\
            db=sys.argv[1]\nc=sqlite3.connect(db,isolation_level=None)\n\
            c.execute('pragma journal_mode=wal')\nc.execute('create table if not exists t(a)')\n\
            c.execute('insert into t values(1)')\nprint('ok',flush=True)\n\
            for line in sys.stdin:\n exec(line)\n print('ok',flush=True)\n";
        let mut command = Command::new("python3");
        command.args(["-c", script]).arg(db).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut writer = Writer(child, out);
        writer.wait();
        writer
    }

    fn pid(&self) -> i64 {
        i64::from(self.0.id())
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
        self.wait();
    }

    fn wait(&mut self) {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        assert_eq!(line, "ok\n");
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The real host. The policy says "same": these processes share our namespace, in a container too.
fn host() -> Host {
    let policy = HostPolicy { pid_namespace: PidNamespace::Same, ..HostPolicy::default() };
    Host::here(&policy, Time::of_clock()).unwrap()
}

/// The answer, once no writer of another test is just about to end.
fn split(host: &Host, db: &Path) -> Split {
    let mut answers = (0..10_000).map(|_| host.split(db));
    answers.find(|s| !matches!(s, Split::Unknown(_))).unwrap()
}

#[test]
fn boards_of_real_processes() {
    let host = host();
    let dir = tempfile::tempdir().unwrap();
    let (db, other, link) =
        (dir.path().join("kanban.db"), dir.path().join("other.db"), dir.path().join("link.db"));
    assert_eq!(split(&host, &db), Split::Whole, "no board, nobody writing");
    std::os::unix::fs::symlink(&db, &link).unwrap();

    let mut writer = Writer::on(&db);
    let mut stranger = Writer::on(&other);
    assert_eq!(split(&host, &db), Split::Whole);
    stranger.tell("os.unlink(db+'-wal'); os.unlink(db+'-shm')");
    assert_eq!(split(&host, &db), Split::Whole, "another board's split is not ours");
    assert_eq!(split(&host, &other), Split::Split { pids: vec![stranger.pid()] });

    writer.tell("os.unlink(db+'-wal'); os.unlink(db+'-shm')");
    let lost = Split::Split { pids: vec![writer.pid()] };
    assert_eq!(split(&host, &db), lost);
    assert_eq!(split(&host, &link), lost, "by the name SQLite resolves");

    // The healthy newcomer makes new files; the first one still writes into the old.
    let newcomer = Writer::on(&db);
    assert_eq!(split(&host, &db), lost);
    drop(writer);
    assert_eq!(split(&host, &db), Split::Whole);
    drop(newcomer);
}

/// What the last one to close a board does, drawn out.
#[test]
fn who_is_just_closing_the_board_splits_nothing() {
    let host = host();
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("kanban.db");
    let mut writer = Writer::on(&db);
    writer.tell("os.unlink(db+'-wal'); os.unlink(db+'-shm')");
    assert!(matches!(host.split_now(&db), Split::Split { .. }));
    writer.tell("import threading; threading.Timer(0.3, lambda: os._exit(0)).start()");
    assert_eq!(split(&host, &db), Split::Whole);
}

#[test]
fn what_hermes_does_to_its_own_locks() {
    let host = host();
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("kanban.db");
    let mut hermes = Writer::on(&db);
    // Hermes 0.19 after each commit: this drops its locks on the board file, not the one on the -shm.
    hermes.tell("open(db,'rb').close()");
    assert_eq!(split(&host, &db), Split::Whole);
    hermes.tell("os.unlink(db+'-wal'); os.unlink(db+'-shm')");
    assert_eq!(split(&host, &db), Split::Split { pids: vec![hermes.pid()] });
}

#[test]
fn a_board_that_was_deleted() {
    let host = host();
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("kanban.db");
    let mut writer = Writer::on(&db);
    writer.tell("os.unlink(db)");
    assert_eq!(split(&host, &db), Split::Split { pids: vec![writer.pid()] });
    writer.tell("os.unlink(db+'-wal'); os.unlink(db+'-shm')");
    let _second = Writer::on(&db);
    assert_eq!(split(&host, &db), Split::Split { pids: vec![writer.pid()] }, "and made anew");
}

#[test]
fn holders_that_cannot_be_asked() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("kanban.db");
    fs::write(&db, "").unwrap();
    fs::write(dir.path().join("kanban.db-shm"), "").unwrap();
    let shm = Inode::of(&dir.path().join("kanban.db-shm")).unwrap();
    let lock = |pid: i64, number: u64, bytes: &str, major: u32| {
        format!("1: POSIX ADVISORY READ {pid} {major:02x}:{:02x}:{number} {bytes}\n", shm.minor)
    };
    let (device, elsewhere) = (shm.major, shm.number + 1_000_000);
    let proc = tempfile::tempdir().unwrap();
    let facts = HostFacts {
        hostname: "h".into(),
        boot_id: "b".into(),
        boot_time: Time(0),
        init_ticks: Some(1),
        initial_pid_namespace: true,
        pid_namespace: "pid:[1]".into(),
        sees_all: true,
        is_time_shifted: false,
    };
    let mut host = Host {
        proc: proc.path().into(),
        board: None,
        aliases: vec![],
        name: None,
        same_namespace: false,
        hertz: 100,
        facts,
        own: std::sync::OnceLock::new(),
    };
    // Pid 5 ended meanwhile, pid 6 cannot be read, pid 7 has lost the board's files.
    fs::create_dir(proc.path().join("6")).unwrap();
    fs::write(proc.path().join("6/fd"), "").unwrap();
    fs::create_dir_all(proc.path().join("7/fd")).unwrap();
    let lost = format!("{}-wal (deleted)", fs::canonicalize(&db).unwrap().display());
    std::os::unix::fs::symlink(lost, proc.path().join("7/fd/4")).unwrap();

    let unknown = |s: &Split| matches!(s, Split::Unknown(_));
    let cases = [
        ("ended", lock(5, elsewhere, "128 128", device), false),
        ("unreadable", lock(6, elsewhere, "128 128", device), true),
        ("unreadable, but on the present -shm", lock(6, shm.number, "128 128", device), false),
        ("unreadable, on another disk", lock(6, elsewhere, "128 128", device + 7), false),
        ("unreadable, another byte", lock(6, elsewhere, "120 120", device), false),
        ("unreadable, lock page", lock(6, elsewhere, "1073741826 1073742335", device), false),
        ("nobody's", lock(-1, elsewhere, "128 128", device), true),
        ("not a line", "1: POSIX ADVISORY".into(), true),
    ];
    for (name, text, expected) in cases {
        fs::write(proc.path().join("locks"), text).unwrap();
        let split = host.split(&db);
        assert_eq!(unknown(&split), expected, "{name}: {split:?}");
        assert!(expected || split == Split::Whole, "{name}: {split:?}");
    }
    let both = lock(6, elsewhere, "128 128", device) + &lock(7, elsewhere, "128 128", device);
    fs::write(proc.path().join("locks"), both).unwrap();
    assert_eq!(host.split(&db), Split::Split { pids: vec![7] }, "better knowledge wins");
    // Without a log there is no dead-man switch, only the lock page of the board file itself.
    fs::write(proc.path().join("locks"), lock(7, elsewhere, "1073741826 1073742335", device)).unwrap();
    assert_eq!(host.split(&db), Split::Split { pids: vec![7] });
    assert!(unknown(&host.split(&dir.path().join("no/such/folder.db"))));
    host.facts.initial_pid_namespace = false;
    assert!(unknown(&host.split(&db)));
}
