use std::os::fd::AsFd;

use rustix::fs::{FlockOperation, flock};

use super::*;
use crate::{HostFacts, HostPolicy, PidNamespace};
use base::time::Time;

const TEXT: &str = "\
1: POSIX  ADVISORY  READ 5992 fe:00:10012449 128 128
2: POSIX  ADVISORY  READ 5992 fe:00:10010647 1073741826 1073742335
3: FLOCK  ADVISORY  WRITE 77 00:2a:12 0 EOF
3: -> FLOCK  ADVISORY  WRITE 78 00:2a:12 0 EOF
4:          -> FLOCK  ADVISORY  WRITE 79 00:2a:12 0 EOF
5: OFDLCK ADVISORY  READ -1 00:06:43 0 EOF
6: LEASE  ACTIVE    READ 9 08:01:7 0 EOF
7: FLOCK  ADVISORY  READ -1 08:01:9 0 EOF
8: POSIX  ADVISORY  WRITE 5 <none>:0 0 EOF

";

#[test]
fn reads_lock_lines() {
    let lock = |kind, write, pid, (major, minor, number), start, end| {
        let inode = Inode { major, minor, number };
        Lock { kind, write, pid, inode, start, end }
    };
    assert_eq!(
        parse(TEXT).unwrap(),
        vec![
            lock(Kind::Posix, false, 5992, (254, 0, 10_012_449), 128, Some(128)),
            lock(Kind::Posix, false, 5992, (254, 0, 10_010_647), 1_073_741_826, Some(1_073_742_335)),
            lock(Kind::Flock, true, 77, (0, 42, 12), 0, None),
            lock(Kind::Flock, false, -1, (8, 1, 9), 0, None),
        ]
    );
    for bad in
        ["1: FLOCK", "1: FLOCK ADVISORY WRITE x 08:01:9 0 EOF", "1: POSIX ADVISORY WRITE 5 0801:9 0 EOF"]
    {
        assert!(parse(bad).unwrap_err().to_string().contains(bad), "{bad}");
    }
}

/// A host whose `/proc` is a folder with these locks and nothing else.
fn host(locks: &str) -> (tempfile::TempDir, Host) {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("locks"), locks).unwrap();
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
    let host = Host {
        proc: root.path().into(),
        board: None,
        aliases: vec![],
        name: None,
        same_namespace: false,
        hertz: 100,
        facts,
        own: std::sync::OnceLock::new(),
    };
    (root, host)
}

#[test]
fn whose_lock_it_is() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let Inode { major, minor, number } = Inode::of(file.path()).unwrap();
    let here = format!("{major:02x}:{minor:02x}:{number}");
    let held = |place: &str, pid: i64| format!("1: FLOCK  ADVISORY  WRITE {pid} {place} 0 EOF\n");
    let cases = [
        (held(&here, 5) + &held(&here, 4) + &held(&here, 5), Holders::Pids(vec![4, 5])),
        (held(&format!("{major:02x}:{minor:02x}:{}", number + 1), 5), Holders::Nobody),
        (held(&format!("fd:77:{number}"), 5), Holders::Nobody),
        (held(&here, 5).replace("FLOCK ", "-> FLOCK "), Holders::Nobody),
        (held(&here, 5).replace("FLOCK ", "POSIX "), Holders::Nobody),
        (String::new(), Holders::Nobody),
    ];
    for (text, expected) in cases {
        assert_eq!(host(&text).1.flock_holders(file.path()), expected, "{text}");
    }
    for text in [held(&here, -1), held(&here, 0), "1: FLOCK ADVISORY".into()] {
        assert!(matches!(host(&text).1.flock_holders(file.path()), Holders::Unknown(_)), "{text}");
    }
    let (root, mut inner) = host(&held(&here, 5));
    assert_eq!(inner.flock_holders(&root.path().join("no-such-file")), Holders::Nobody);
    assert_eq!(inner.flock_holders(&file.path().join("below")), Holders::Nobody);
    inner.facts.initial_pid_namespace = false;
    assert!(matches!(inner.flock_holders(file.path()), Holders::Unknown(_)));
    inner.same_namespace = true;
    assert_eq!(inner.flock_holders(file.path()), Holders::Pids(vec![5]));
    fs::remove_file(root.path().join("locks")).unwrap();
    assert!(matches!(inner.flock_holders(file.path()), Holders::Unknown(_)));
}

#[test]
fn one_file_under_two_devices() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let inode = Inode::of(file.path()).unwrap();
    let anonymous = Inode { major: 0, minor: 41, ..inode };
    let lock = Lock {
        kind: Kind::Flock,
        write: true,
        pid: 5,
        inode: Inode { minor: 99, ..anonymous },
        start: 0,
        end: None,
    };
    let (root, host) = host("");
    let holds = |file| host.holds(&lock, file, Path::new("x"));
    assert_eq!(holds(Inode { major: 8, ..inode }), Ok(false), "a disk's number is never another's");
    assert!(holds(anonymous).unwrap_err().to_string().contains("files of pid 5"));
    fs::create_dir_all(root.path().join("5/fd")).unwrap();
    std::os::unix::fs::symlink("/dev/null", root.path().join("5/fd/0")).unwrap();
    assert_eq!(holds(anonymous), Ok(false));
    // What decides is the file behind the link, by the same numbers stat gives for the path.
    std::os::unix::fs::symlink(file.path(), root.path().join("5/fd/3")).unwrap();
    let ours = Lock { inode: Inode { minor: inode.minor + 1, ..inode }, ..lock.clone() };
    if inode.major == 0 {
        assert_eq!(host.holds(&ours, inode, Path::new("x")), Ok(true));
    }
    assert!(host.open_files(5).unwrap().iter().any(|(fd, _)| Inode::of(fd).unwrap() == inode));
}

#[test]
fn a_real_lock() {
    let policy = HostPolicy { pid_namespace: PidNamespace::Same, ..HostPolicy::default() };
    let host = Host::here(&policy, Time::of_clock()).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(host.flock_holders(file.path()), Holders::Nobody);
    flock(file.as_file().as_fd(), FlockOperation::LockExclusive).unwrap();
    assert_eq!(host.flock_holders(file.path()), Holders::Pids(vec![i64::from(std::process::id())]));
    flock(file.as_file().as_fd(), FlockOperation::Unlock).unwrap();
    assert_eq!(host.flock_holders(file.path()), Holders::Nobody);
}

/// The kernel goes on by position where one call did not take the whole list: a lock released in between made it skip
/// one that is still held.
#[test]
fn a_lock_stays_seen_while_others_come_and_go() {
    let policy = HostPolicy { pid_namespace: PidNamespace::Same, ..HostPolicy::default() };
    let host = Host::here(&policy, Time::of_clock()).unwrap();
    let ours = tempfile::NamedTempFile::new().unwrap();
    let us = Holders::Pids(vec![i64::from(std::process::id())]);
    let ended = std::sync::atomic::AtomicBool::new(false);
    // Few locks fit into one call, 400 do not.
    for others in [3, 400] {
        ended.store(false, std::sync::atomic::Ordering::Relaxed);
        std::thread::scope(|s| {
            let (busy, ready) = std::sync::mpsc::channel();
            let ended = &ended;
            s.spawn(move || {
                let files: Vec<fs::File> = (0..others).map(|_| tempfile::tempfile().unwrap()).collect();
                let all = |how| files.iter().for_each(|f| flock(f.as_fd(), how).unwrap());
                all(FlockOperation::LockExclusive);
                busy.send(()).unwrap();
                while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                    all(FlockOperation::Unlock);
                    all(FlockOperation::LockExclusive);
                }
            });
            ready.recv().unwrap();
            flock(ours.as_file().as_fd(), FlockOperation::LockExclusive).unwrap();
            let seen: Vec<Holders> = (0..600).map(|_| host.flock_holders(ours.path())).collect();
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
            let missed: Vec<&Holders> = seen.iter().filter(|who| **who != us).collect();
            assert!(missed.is_empty(), "{} times, beside {others} locks: {missed:?}", missed.len());
        });
        flock(ours.as_file().as_fd(), FlockOperation::Unlock).unwrap();
    }
}
