//! Reading the host itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::process::getpid;
use rustix::system::uname;
use rustix::time::{ClockId, clock_gettime};

use super::{Host, HostFacts, HostPolicy, PidNamespace, Process};
use base::error::{Error, Kind, Result};
use base::time::Time;

/// The first pid namespace always has this inode (`PROC_PID_INIT_INO`, linux/proc_ns.h).
pub(super) const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";
/// The first time namespace always has this inode (`PROC_TIME_INIT_INO`, linux/proc_ns.h).
const INITIAL_TIME_NAMESPACE: &str = "time:[4026531834]";
/// `AT_CLKTCK` of the auxiliary vector (linux/auxvec.h).
const AT_CLKTCK: usize = 17;

/// See [`Host::here`].
pub(super) fn read(proc: PathBuf, policy: &HostPolicy, now: Time) -> Result<Host> {
    let ours = getpid().as_raw_nonzero().to_string();
    let itself = fs::read_link(proc.join("self")).map_err(|e| Error::io(proc.join("self").display(), &e))?;
    if itself != Path::new(&ours) {
        return Err(Error::new(Kind::Config, proc.display(), "shows the processes of another pid namespace")
            .hint("mount the /proc of this one"));
    }
    let computed = now.plus(-boot_clock());
    // The kernel's own figure differs only if `now` is not the wall clock. The earlier one is the one that
    // calls fewer attempts older than the boot and fewer processes younger than their claim.
    let told = text(&proc, "stat").ok().and_then(|s| kernel_boot_time(&s));
    let namespace = fs::read_link(proc.join("self/ns/pid"));
    let namespace = namespace.map_or_else(|_| String::new(), |l| l.to_string_lossy().into_owned());
    let facts = HostFacts {
        hostname: uname().nodename().to_string_lossy().into_owned(),
        boot_id: text(&proc, "sys/kernel/random/boot_id")?.trim().to_owned(),
        boot_time: told.map_or(computed, |told| told.min(computed)),
        init_ticks: fs::read(proc.join("1/stat")).ok().and_then(|s| Process::parse(1, &s, b"", None)?.ticks),
        initial_pid_namespace: namespace == INITIAL_PID_NAMESPACE,
        pid_namespace: namespace,
        sees_all: text(&proc, "self/mountinfo").is_ok_and(|t| shows_everybody(&t)),
        // A kernel before 5.6 has none.
        is_time_shifted: fs::read_link(proc.join("self/ns/time"))
            .is_ok_and(|namespace| namespace != Path::new(INITIAL_TIME_NAMESPACE)),
    };
    let auxv = proc.join("self/auxv");
    let bytes = fs::read(&auxv).map_err(|e| Error::io(auxv.display(), &e))?;
    let hertz = ticks_per_second(&bytes)
        .ok_or_else(|| Error::new(Kind::Io, auxv.display(), "does not tell the clock ticks per second"))?;
    // Where this process is pid 1 itself, the namespace was made for it alone and no worker runs in it, whatever the
    // configuration says (systemd's PrivatePIDs=, a container for one pass).
    let same_namespace = policy.pid_namespace == PidNamespace::Same && ours != "1";
    let (aliases, name) = (policy.aliases.clone(), policy.name.clone());
    Ok(Host { proc, board: None, aliases, name, same_namespace, hertz, facts, own: OnceLock::new() })
}

/// 12 hex digits made of the machine id in that file. The id itself is not to be shown to others (machine-id(5)).
pub(super) fn machine(file: &Path) -> Result<String> {
    let id = fs::read_to_string(file).unwrap_or_default();
    let id = id.trim();
    if id.len() != 32 || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Error::new(Kind::Config, file.display(), "holds no machine id")
            .hint("set host.name to a name that no other host of the board has"));
    }
    let hash = base::hash::fnv(b"watchbill ".iter().copied().chain(id.bytes()));
    Ok(format!("{:012x}", hash & 0xffff_ffff_ffff))
}

/// Seconds since boot, suspended time included: the clock process starts are counted by.
pub(super) fn boot_clock() -> i64 {
    clock_gettime(ClockId::Boottime).tv_sec
}

/// Seconds of this boot in which the machine was suspended.
pub(super) fn slept() -> i64 {
    boot_clock() - clock_gettime(ClockId::Monotonic).tv_sec
}

fn text(proc: &Path, name: &str) -> Result<String> {
    let path = proc.join(name);
    fs::read_to_string(&path).map_err(|e| Error::io(path.display(), &e))
}

fn kernel_boot_time(stat: &str) -> Option<Time> {
    stat.lines().find_map(|l| l.strip_prefix("btime "))?.trim().parse().ok().map(Time)
}

fn ticks_per_second(auxv: &[u8]) -> Option<u64> {
    const WORD: usize = size_of::<usize>();
    let word = |bytes: &[u8]| bytes.try_into().ok().map(usize::from_ne_bytes);
    let mut pairs = auxv.chunks_exact(2 * WORD);
    let value =
        pairs.find(|pair| word(&pair[..WORD]) == Some(AT_CLKTCK)).and_then(|pair| word(&pair[WORD..]))?;
    u64::try_from(value).ok().filter(|n| *n > 0)
}

/// Whether the topmost mount at `/proc` is a whole process file system without `hidepid` or `subset`
/// (proc(5); `hidepid` is a word since Linux 5.8).
fn shows_everybody(mountinfo: &str) -> bool {
    let at_proc = |line: &&str| line.split(' ').nth(4) == Some("/proc");
    let Some((mount, kind)) = mountinfo.lines().rfind(at_proc).and_then(|l| l.split_once(" - ")) else {
        return false;
    };
    let whole = mount.split(' ').nth(3) == Some("/");
    let mut kind = kind.split(' ');
    let is_proc = kind.next() == Some("proc");
    let options = kind.nth(1).unwrap_or_default();
    let hides = |option: &str| match option.split_once('=') {
        Some(("hidepid", level)) => !matches!(level, "0" | "off"),
        Some(("subset", _)) => true,
        _ => false,
    };
    whole && is_proc && !options.split(',').any(hides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_told_by_its_id_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("machine-id");
        let of = |text: &str| {
            fs::write(&at, text).unwrap();
            machine(&at).map_err(|e| e.to_string())
        };
        let one = of("0123456789abcdef0123456789abcdef\n").unwrap();
        assert!(one.len() == 12 && one.bytes().all(|b| b.is_ascii_hexdigit()), "{one}");
        assert_eq!(of("0123456789abcdef0123456789abcdef").unwrap(), one);
        assert_ne!(of("1123456789abcdef0123456789abcdef").unwrap(), one);
        for none in ["", "uninitialized\n", "0123"] {
            assert!(of(none).unwrap_err().contains("host.name"), "{none}");
        }
        fs::remove_file(&at).unwrap();
        assert!(machine(&at).unwrap_err().to_string().contains("holds no machine id"));
    }

    #[test]
    fn who_is_shown() {
        for (mounts, everybody) in [
            ("22 27 0:21 / /proc rw,relatime - proc proc rw", true),
            ("22 27 0:21 / /proc rw shared:5 master:1 - proc proc rw,hidepid=off", true),
            ("22 27 0:21 / /proc rw - proc proc rw,gid=4,hidepid=0", true),
            ("22 27 0:21 / /proc rw - proc proc rw,hidepid=1", false),
            ("22 27 0:21 / /proc rw - proc proc rw,gid=4,hidepid=invisible", false),
            ("22 27 0:21 / /proc rw - proc proc rw,hidepid=4", false),
            ("22 27 0:21 / /proc rw - proc proc rw,subset=pid", false),
            ("22 27 0:21 /12 /proc rw - proc proc rw", false),
            ("22 27 0:21 / /proc rw - tmpfs proc rw", false),
            ("22 27 0:21 / /mnt/proc rw - proc proc rw", false),
            ("22 27 0:21 / /proc rw - proc proc rw\n30 22 0:9 / /proc rw - proc proc rw,hidepid=2", false),
            ("22 27 0:21 / /proc rw - proc proc rw,hidepid=2\n30 22 0:9 / /proc rw - proc proc rw", true),
            (
                "22 27 0:21 / /proc rw - proc proc rw\n31 22 0:8 / /proc/sys/fs/binfmt_misc rw - autofs x rw",
                true,
            ),
            ("22 27 0:21 / /proc rw", false),
            ("", false),
        ] {
            assert_eq!(shows_everybody(mounts), everybody, "{mounts}");
        }
    }

    #[test]
    fn ticks_and_boot_time() {
        let vector = |pairs: &[usize]| pairs.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
        assert_eq!(ticks_per_second(&vector(&[6, 4096, 17, 100, 0, 0])), Some(100));
        assert_eq!(ticks_per_second(&vector(&[6, 17, 17, 0])), None);
        assert_eq!(ticks_per_second(&vector(&[6, 4096, 17])), None);
        assert_eq!(ticks_per_second(b""), None);
        assert_eq!(kernel_boot_time("cpu 1\nbtime 1795000000\n"), Some(Time(1_795_000_000)));
        assert_eq!(kernel_boot_time("cpu 1\n"), None);
    }

    #[test]
    fn this_very_host() {
        let now = Time::of_clock();
        let policy = HostPolicy { aliases: vec!["old-name".into()], ..HostPolicy::default() };
        let host = Host::here(&policy, now).unwrap();
        let python = std::process::Command::new("python3")
            .args(["-c", "import socket,os;print(socket.gethostname(),os.sysconf('SC_CLK_TCK'))"])
            .output()
            .unwrap();
        let told = format!("{} {}\n", host.facts().hostname, host.hertz);
        assert_eq!(String::from_utf8_lossy(&python.stdout), told);
        assert!(
            host.is_here("old-name") && host.is_here(&host.facts().hostname) && !host.is_here("elsewhere")
        );
        assert!((host.wall_minus_boot(now) - host.facts().boot_time.0).abs() <= 5);
        // A given time that lies in the future must not make this boot younger than it is.
        let future = Host::here(&policy, now.plus(86_400)).unwrap();
        assert!((future.facts().boot_time.since(host.facts().boot_time)).abs() <= 5);
        // Nor must a clock that was set forward since an earlier pass; one that was set back says an earlier time itself.
        let begun = host.facts().boot_time;
        for (known, want) in [(begun.plus(-3_600), begun.plus(-3_600)), (begun.plus(3_600), begun)] {
            assert_eq!(host.clone().begun_by(known).facts().boot_time, want);
        }
    }

    #[test]
    fn a_proc_of_another_namespace_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("0", dir.path().join("self")).unwrap();
        let e = read(dir.path().into(), &HostPolicy::default(), Time(0)).unwrap_err();
        assert_eq!(e.kind, Kind::Config);
        assert!(e.to_string().contains("another pid namespace"), "{e}");
    }
}
